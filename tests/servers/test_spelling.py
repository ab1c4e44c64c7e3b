"""File names that differ only in Unicode form or letter case are separate files on Linux."""

import sys
import unicodedata
from pathlib import Path

import pytest

from code_intel.forest.ranking.search import within
from code_intel.foundation.spelling import spelled
from code_intel.session.phases import Phase
from code_intel.session.write_gate import check_write
from code_intel.tools.context.corpus_service import open_project
from programs import git
from projects import Caller
from served import AGREEMENTS, gateway, index_server, settings_of
from session.sessions import started

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="other disks take both names for one file"),
]

NFC = "ガレージ_café"
NFD = unicodedata.normalize("NFD", NFC)
FINDERS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("find_definitions", "definitions", {"symbol": "garage"}),
    ("search_text", "matches", {"pattern": "garage door"}),
    ("find_references", "references", {"symbol": "door"}),
)
"""(tool, field with its rows, arguments)."""


def write(root: Path, *names: str) -> None:
    for number, name in enumerate(names):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        text = (
            f'"""Garage number {number}."""\n\n\ndef garage_{number}():\n    return "garage door"\n'
        )
        (root / name).write_text(text, encoding="utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Garages")
    for service in open_project(settings_of(root)):
        service.index.complete(words_only=True)
        service.index.close()


async def start(call: Caller) -> None:
    await call("start_session", intent="MODIFY", query="garage door を直す")
    await call("set_query_frame", target_feature={"value": "garage door", "quote": "garage door"})


TWINS = (
    f"src/{NFC}.py", f"src/{NFD}.py",
    f"src/{NFC}/door.py", f"src/{NFD}/door.py",
    "src/Garage.py", "src/garage.py",
)  # fmt: skip
FORMS = pytest.mark.parametrize(
    ("there", "asked"), [(NFC, NFD), (NFD, NFC)], ids=["composed", "combining"]
)


async def test_names_in_different_forms_or_cases_are_different_documents(shop: Path) -> None:
    write(shop, *TWINS)
    async with index_server(shop, "forest") as call:
        listed = [row["filename"] for row in (await call("list_documents"))["documents"]]
        assert set(TWINS) <= set(listed)
        hits = await call("search", query="garage door", top_k=20)
        assert set(TWINS) <= {hit["document"] for hit in hits["results"]}
    async with gateway(shop) as call:
        await start(call)
        for number, name in enumerate(TWINS):
            found = await call("find_definitions", symbol=f"garage_{number}", exact_match=True)
            assert [d["file"] for d in found["definitions"]] == [name]
            for tool, rows, arguments in FINDERS:
                found = await call(tool, path=name, **arguments)
                assert {row["file"] for row in found[rows]} == {name}, tool


@FORMS
async def test_name_in_the_other_form_finds_the_only_file(
    shop: Path, there: str, asked: str
) -> None:
    places = ("src/{}.py", "src/{}/door.py", "src/{0}/{0}.py")
    write(shop, *(place.format(there) for place in places))
    async with gateway(shop) as call:
        await start(call)
        for place in places:
            file, other = place.format(there), place.format(asked)
            for tool, rows, arguments in FINDERS:
                found = await call(tool, path=other, **arguments)
                assert {row["file"] for row in found[rows]} == {file}, (tool, place)
            below = await call("search_text", pattern="garage", path=other.rpartition("/")[0])
            assert file in {match["file"] for match in below["matches"]}
        claims = []
        for number, place in enumerate(places):
            await call("snippets_get", path=place.format(asked))
            claims.append(
                {
                    "symbol": f"garage_{number}",
                    "file": place.format(asked),
                    "explanation": "it is a garage door",
                    "quote": 'return "garage door"',
                }
            )
        understood = await call("submit_understanding", symbols_identified=claims)
        assert understood["explored_files"] == [place.format(there) for place in places]
    async with index_server(shop, "forest") as call:
        hits = await call("search", query="garage door", directory=f"src/{asked}", top_k=20)
        documents = {hit["document"] for hit in hits["results"]}
        assert {f"src/{there}/door.py", f"src/{there}/{there}.py"} <= documents


@pytest.mark.model
async def test_agreement_may_name_its_file_in_the_other_form(shop: Path) -> None:
    there, asked = NFC, NFD
    write(shop, f"src/{there}.py")
    async with gateway(shop, embedding="auto") as call:
        await call(
            "add_agreement",
            nl_term="車庫の扉",
            symbol="garage_0",
            code_evidence="it opens",
            related_files=[f"src/{asked}.py:4"],
        )
    file = next((shop / AGREEMENTS).glob("*.md"))
    told = file.read_text(encoding="utf-8").replace("confirmed: false", "confirmed: true")
    assert f"src/{asked}.py" in told
    file.write_text(told, encoding="utf-8")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "Agreed")
    # Another file defines the symbol too; the agreement names the file.
    write(shop, f"src/{there}.py", "src/another.py")
    (shop / "src" / "another.py").write_text("def garage_0():\n    return 1\n", encoding="utf-8")
    async with gateway(shop, embedding="auto") as call:
        await call("start_session", intent="MODIFY", query="車庫の扉を直す")
        await call("set_query_frame", target_feature={"value": "車庫の扉", "quote": "車庫の扉"})
        answer = await call("search_smart")
        assert answer["results"], answer
        assert answer["results"][0]["agreement"]["status"] == "valid", answer
        assert answer["explored_files"] == [f"src/{there}.py"]


@pytest.mark.covers("error.other_spelling")
@FORMS
def test_write_gate_refuses_another_spelling_of_an_existing_file(
    tmp_path: Path, there: str, asked: str
) -> None:
    (tmp_path / "src").mkdir()
    for name in (f"src/{there}.py", f"src/{there}x.py", f"src/{asked}x.py"):
        (tmp_path / name).touch()
    session = started(root=tmp_path)._replace(
        phase=Phase.READY, explored_files=(f"src/{there}.py", f"src/{there}x.py")
    )
    expected = {
        f"src/{there}.py": "",
        f"src/{asked}.py": "other_spelling",
        f"src/{there}x.py": "",
        f"src/{asked}x.py": "file_not_explored",
        f"src/{asked}_new.py": "",
    }
    found = {file: check_write(session, tmp_path, file).error for file in expected}
    assert found == expected


def test_path_is_spelled_as_its_folders_list_it(tmp_path: Path) -> None:
    (tmp_path / NFD).mkdir()
    (tmp_path / NFD / f"{NFC}.py").touch()
    assert spelled(tmp_path / f"{NFC}/{NFD}.py") == tmp_path / f"{NFD}/{NFC}.py"
    assert spelled(tmp_path / f"{NFC}/new.py") == tmp_path / f"{NFD}/new.py"
    assert spelled(tmp_path / "a/b.py") == tmp_path / "a/b.py"
    assert spelled(tmp_path / "nowhere" / NFC) == tmp_path / "nowhere" / NFC
    (tmp_path / NFC).mkdir()
    assert spelled(tmp_path / f"{NFC}/{NFD}.py") == tmp_path / f"{NFC}/{NFD}.py"


def test_filters_ignore_the_unicode_form() -> None:
    assert within(f"src/{NFD}/a.py", f"src/{NFC}", "")
    assert within(f"src/{NFC}.py", "", f"{NFD}*")
    assert not within(f"src/{NFC}.py", f"src/{NFC}x", "")
