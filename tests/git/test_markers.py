"""Files that git has left with both sides in them are listed, and nothing in them is served."""

import json
import shutil
from pathlib import Path

import pytest

from code_intel.chunking.agreement import AgreementProblem, read, render
from code_intel.config import load_settings
from code_intel.errors import ConfigError
from code_intel.learned.files import pairs
from code_intel.learned.files.changes import sync
from code_intel.records import Agreement
from git.machine import EXPORT, LOGIN, NOW, SEARCH, made
from served import gateway, index_server

CANARY = "CanaryQv3"
PAIR = Agreement(*LOGIN, (f"{CANARY} is ours", "a second line"), aliases=("サインイン",))


def conflicted(text: str, line: str, other: str, *, width: int = 7, base: bool = False) -> str:
    """Return a text in which one line is in conflict with another."""
    middle = f"{'|' * width} 1234567\nbefore\n" if base else ""
    ours, theirs = f"{'<' * width} HEAD\n{line}\n", f"{'=' * width}\n{other}\n{'>' * width} side\n"
    assert f"{line}\n" in text
    return text.replace(f"{line}\n", ours + middle + theirs)


@pytest.mark.parametrize("width", [7, 8, 9, 15])
@pytest.mark.parametrize("base", [False, True])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("line", [f"- {CANARY} is ours", "confirmed: false"])
def test_markers_of_any_width_are_a_conflict(
    line: str, ends: str, width: int, *, base: bool
) -> None:
    """Git makes them longer where it merges a file under two names (`git help attributes`)."""
    text = conflicted(render(PAIR), line, f"{line}!", width=width, base=base)
    with pytest.raises(AgreementProblem) as problem:
        read(text.replace("\n", ends))
    assert problem.value.kind == "conflict"


@pytest.mark.parametrize("width", [7, 8])
def test_conflict_within_the_ancestor_of_aliases_is_united(width: int) -> None:
    """The ancestor of two branches that were merged crosswise is a conflict itself."""
    inner = (
        "<<<<<<<<< Temporary merge branch 1\n- a\n=========\n- b\n"
        ">>>>>>>>> Temporary merge branch 2\n"
    )
    text = conflicted(render(PAIR), '  - "サインイン"', '  - "ログオン"', width=width, base=True)
    assert read(text.replace("before\n", inner)).aliases == ("サインイン", "ログオン")


@pytest.mark.anyio
@pytest.mark.covers("rule.validity.conflict")
async def test_no_server_answers_text_of_a_file_in_conflict(
    indexed_shop: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(indexed_shop, tmp_path / "shop"))
    folder = root / ".code-intel" / "agreements"
    good = Agreement(*SEARCH, ("the list is made here",))
    (folder / "search.md").write_text(render(good), encoding="utf-8")
    for name, width in (("login.md", 7), ("renamed.md", 8)):
        text = conflicted(render(PAIR), f"- {CANARY} is ours", f"- {CANARY} is theirs", width=width)
        (folder / name).write_text(text, encoding="utf-8")
    questions = (f"{CANARY} theirs", "ログイン機能", "AuthService.login", "<<<<<<< HEAD")
    async with index_server(root, "map") as devrag:
        await devrag("sync")
        for question in questions:
            told = await devrag("search", query=question)
            within = await devrag("search", query=question, file_pattern="*.md")
            assert CANARY not in json.dumps([told["results"], within["results"]])
            assert told["index"]["degraded"][-1].startswith("agreements: 2 in conflict")
    async with gateway(root) as ask:
        for question in questions:
            for tool in ("search_map", "search_smart", "search_forest"):
                answer = await ask(tool, query=question)
                told = {name: rows for name, rows in answer.items() if name != "query"}
                assert CANARY not in json.dumps(told, ensure_ascii=False), (tool, told)
        known = await ask("search_map", query="ログイン機能")
        assert known["index"]["degraded"][-1].endswith("`code-intel map list`")
        listed = await ask("list_agreements")
    assert {row["file"]: row["status"] for row in listed["agreements"]} == {
        "login.md": "conflict",
        "renamed.md": "conflict",
        "search.md": "broken",  # and not served, either
    }
    assert CANARY not in json.dumps(listed)


def test_committed_pairs_with_markers_are_generated_again(tmp_path: Path) -> None:
    mine = made(tmp_path / "mine", LOGIN)
    path = pairs.path_of(mine.settings)
    for name, key in (("one", SEARCH), ("two", EXPORT)):
        mine.branch(name)
        mine.learn(key, f"told on {name}")
        mine.git("add", "-f", str(path))
        mine.commit()
        mine.git("checkout", "-q", "main")
    mine.to("one")
    assert (
        mine.conflicts("merge", "-q", "two") == set()
    )  # of agreements; the one file they share is
    assert "<<<<<<<" in path.read_text(encoding="utf-8")
    assert "damaged" in sync(mine.settings, NOW).note
    assert mine.pairs().keys() == mine.said().keys() == {LOGIN, SEARCH, EXPORT}
    assert len(list(mine.settings.state.glob("*.corrupt-*"))) == 1
    assert "<<<<<<<" not in path.read_text(encoding="utf-8")
    assert mine.trash == []


@pytest.mark.parametrize(
    "name", ["devrag-map.json", "devrag-forest.json", ".code-intel/config.toml"]
)
def test_configuration_with_markers_is_refused_by_name(tmp_path: Path, name: str) -> None:
    mine = made(tmp_path / "mine", LOGIN)
    path = mine.root / name
    before = path.read_text(encoding="utf-8") if path.exists() else "expire_days = 3\n"
    path.write_text(f"<<<<<<< HEAD\n{before}=======\n{before}>>>>>>> side\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=Path(name).name):
        load_settings(mine.root, {})
    path.write_text(before, encoding="utf-8")
    assert mine.status(LOGIN) == "unchecked"
