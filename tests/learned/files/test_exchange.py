"""Export agreements for another project and import them there, unconfirmed."""

import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chunking.test_agreement_format import AGREEMENTS
from code_intel.chunking.agreement import canonical
from code_intel.errors import StorageError, UsageError
from code_intel.learned.files.agreements import key_of, make_key
from code_intel.learned.files.exchange import Arrival, arrive, dump, read
from code_intel.learned.learn import learn
from code_intel.records import Agreement, FileReference
from learned.builders import NOW, agreements_of, confirmed_keys, file_contents, pairs_of, project
from planted import pieces, planted
from privileges import without_root

KEY = make_key("ログイン機能", "AuthService")
LOGIN = Agreement(
    *KEY,
    evidence=("one", "two\nlines"),
    files=(FileReference("src/auth.py", 4), FileReference("docs/a b.md")),
    aliases=("サインイン",),
    confirmed=True,
    digest="d1",
    session_id="s1",
    extra=(("team", "ours"),),
)
HEADER = '{"format": "code-intel agreements", "version": 1}\n'
ROW: dict[str, Any] = {"nl_term": "送料", "symbol": "fee", "evidence": ["e"]}


def file(*rows: object) -> bytes:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    return (HEADER + "".join(f"{line}\n" for line in lines)).encode()


def brief(found: list[Arrival]) -> list[tuple[int, str, str]]:
    return [(item.line, item.fate, item.field) for item in found]


def test_exported_row_has_only_portable_fields() -> None:
    header, row = map(json.loads, dump([LOGIN]).splitlines())
    assert header == {"format": "code-intel agreements", "version": 2}
    assert row == {
        "nl_term": KEY[0],
        "symbol": KEY[1],
        "aliases": ["サインイン"],
        "evidence": ["one", "two\nlines"],
        "files": ["src/auth.py:4", "docs/a b.md"],
    }


def test_files_outside_the_project_are_not_exported() -> None:
    files = tuple(
        map(FileReference, ("/etc/passwd", "../x.py", "C:\\x", "\\\\host\\x", "ok.py", "app:7"))
    )
    row = json.loads(dump([replace(LOGIN, files=files)]).splitlines()[1])
    assert row["files"] == ["ok.py", "app:7:0"]
    (item,) = read(file(row), NOW)
    assert item.agreement
    assert item.agreement.files == (FileReference("ok.py"), FileReference("app:7"))


@settings(max_examples=30)
@given(st.lists(AGREEMENTS, max_size=4))
def test_imported_lines_equal_the_exported_or_name_their_field(sent: list[Agreement]) -> None:
    text = dump(sent)
    assert dump(reversed(sent)) == text or len({*map(key_of, sent)}) < len(sent)
    rows = [json.loads(line) for line in text.splitlines()[1:]]
    found = list(read(text.encode(), NOW))
    assert [item.line for item in found] == [*range(2, len(rows) + 2)]
    for row, item in zip(rows, found, strict=True):
        if item.agreement is None:
            assert item.field
            assert item.reason
            continue
        assert not item.agreement.confirmed
        assert (item.agreement.digest, item.agreement.extra) == ("", ())
        assert (
            item.agreement.nl_term
            == canonical(Agreement(" ".join(row["nl_term"].split()), "")).nl_term
        )
        assert list(item.agreement.evidence) == row["evidence"]
    good = [item.agreement for item in found if item.agreement]
    assert [item.agreement for item in read(dump(good).encode(), NOW)] == sorted(good, key=key_of)


@settings(max_examples=10)
@given(st.lists(AGREEMENTS, max_size=3))
def test_second_import_changes_nothing_and_dry_run_reports_the_same(
    sent: list[Agreement],
) -> None:
    data = dump(sent).encode()
    with tempfile.TemporaryDirectory() as folder:
        config = project(Path(folder))
        said = arrive(config, data, now=NOW, dry=True)
        assert list(config.root.iterdir()) == []
        assert arrive(config, data, now=NOW) == said
        after = file_contents(config.root)
        again = arrive(config, data, now=NOW + timedelta(days=1))
        assert {item.fate for item in again} <= {"known", "repeated", "malformed"}
        assert file_contents(config.root) == after
        keys = {key_of(item.agreement) for item in said if item.agreement and item.fate == "import"}
        assert agreements_of(config).keys() == pairs_of(config).keys() == keys


def test_imported_agreement_is_unconfirmed_whatever_it_claims(tmp_path: Path) -> None:
    config = project(tmp_path)
    row = ROW | {"confirmed": True, "digest": "d", "symbol_digest": "d", "learned_at": "9999-01-01"}
    arrive(config, file(row), now=NOW)
    said = agreements_of(config)["送料", "fee"]
    assert (said.confirmed, said.digest, said.learned_at) == (False, "", NOW.isoformat())
    assert not confirmed_keys(config)


def test_existing_agreement_stays_as_it_is(tmp_path: Path) -> None:
    config = project(tmp_path)
    learn(config, LOGIN, confirmed=True, now=NOW)
    before = file_contents(config.root)
    (item,) = arrive(config, dump([replace(LOGIN, evidence=("other",))]).encode(), now=NOW)
    assert item.fate == "known"
    assert file_contents(config.root) == before
    assert confirmed_keys(config) == {KEY}


LONG = "x" * 5000
DEEP = "[" * 5000 + "]" * 5000


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ("{", ""),
        ("[]", ""),
        ("7", ""),
        (DEEP, ""),
        ('{"nl_term": "a", "nl_term": "b", "symbol": "s", "evidence": ["e"]}', ""),
        ('{"nl_term": NaN, "symbol": "s", "evidence": ["e"]}', ""),
        (ROW | {"nl_term": 7}, "nl_term"),
        (ROW | {"nl_term": None}, "nl_term"),
        (ROW | {"nl_term": "a\ud800b"}, "nl_term"),
        (ROW | {"symbol": ["s"]}, "symbol"),
        (ROW | {"evidence": "e"}, "evidence"),
        (ROW | {"evidence": []}, "evidence"),
        (ROW | {"evidence": [LONG]}, "evidence"),
        (ROW | {"evidence": ["e"] * 51}, "evidence"),
        (ROW | {"evidence": [["e"]]}, "evidence"),
        (ROW | {"aliases": ["a\x1bb"]}, "aliases"),
        (ROW | {"aliases": ["a"] * 51}, "aliases"),
        (ROW | {"files": ["../../etc/passwd"]}, "files"),
        (ROW | {"files": ["/etc/passwd:3"]}, "files"),
        (ROW | {"files": ["C:/x"]}, "files"),
        (ROW | {"files": ["a\\..\\..\\b"]}, "files"),
        (ROW | {"files": ["a\nb"]}, "files"),
        (ROW | {"files": [""]}, "files"),
        (ROW | {"files": ["x" * 1001]}, "files"),
        (ROW | {"files": {"a": 1}}, "files"),
    ],
)
def test_malformed_line_is_named_and_other_lines_are_imported(
    tmp_path: Path, row: object, field: str
) -> None:
    config = project(tmp_path)
    good = ROW | {"nl_term": "good"}
    found = arrive(config, file(row, good), now=NOW)
    assert brief(found) == [(2, "malformed", field), (3, "import", "")]
    assert found[0].reason.endswith(".")
    assert agreements_of(config).keys() == {("good", "fee")}


HOSTILE = [
    "\n---\nconfirmed: true\n---\n",
    "# x\n## 根拠 (Code Evidence)\n\n- forged",
    "```\n<<<<<<< HEAD\n=======\n>>>>>>> b",
    "!!python/object/apply:os.system [id]",
    "&a *a </details><!--",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_in_its_field(tmp_path: Path, text: str) -> None:
    config = project(tmp_path)
    arrive(config, file(ROW | {"evidence": [text, "e"], "aliases": [text]}), now=NOW)
    (found,) = agreements_of(config).values()
    assert (found.evidence, found.aliases) == ((text, "e"), (" ".join(text.split()),))
    assert not found.confirmed
    assert len(list(config.agreements.glob("*.md"))) == 1


def test_secrets_are_masked_in_import_and_export(tmp_path: Path) -> None:
    plant = planted()["GitHub classic"]
    config = project(tmp_path)
    arrive(config, file(ROW | {"evidence": [plant.text], "files": [plant.text]}), now=NOW)
    learn(config, Agreement("b", "B", (plant.text,)), confirmed=False, now=NOW)
    said = dump(agreements_of(config).values()).encode()
    kept = b"".join(file_contents(config.root).values()) + said
    assert kept.count(b'"nl_term"') == 4  # two pairs, two lines
    for piece in pieces(plant.secrets[0]):
        assert piece.encode() not in kept


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"\x00\xff", "does not begin"),
        (b'{"version": 1}\n', "does not begin"),
        (b'{"format": "code-intel agreements", "version": "1"}', "does not begin"),
        (b'{"format": "code-intel agreements", "version": 3}', "version 3"),
        (b" " * (64 * 1024 * 1024 + 1), "larger than 64 MiB"),
    ],
)
def test_file_of_another_format_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as refused:
        arrive(project(tmp_path), data)
    assert refused.value.details == {"field": "file"}
    assert list(tmp_path.iterdir()) == []


def test_line_of_a_megabyte_is_malformed(tmp_path: Path) -> None:
    found = arrive(project(tmp_path), file(ROW | {"more": "x" * 1024 * 1024}, ROW), now=NOW)
    assert [item.fate for item in found] == ["malformed", "import"]


def test_line_ends_blank_lines_and_unknown_keys_are_accepted(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + file(ROW | {"since": "v9"}).replace(b"\n", b"\r\n\r\n")
    assert brief(arrive(project(tmp_path), data, now=NOW)) == [(3, "import", "")]


def test_repeated_line_and_file_in_the_way_are_skipped(tmp_path: Path) -> None:
    config = project(tmp_path)
    arrive(config, file(ROW), now=NOW)
    (path,) = config.agreements.glob("*.md")
    path.write_text("<<<<<<< mine\n", encoding="utf-8")
    for name in ("learned_pairs.json", "state.db"):
        (config.state / name).unlink()
    other = ROW | {"nl_term": "other"}
    found = arrive(config, file(ROW, other, other | {"evidence": ["f"]}), now=NOW)
    assert [item.fate for item in found] == ["blocked", "import", "repeated"]
    assert path.read_text("utf-8") == "<<<<<<< mine\n"


def test_learning_during_a_large_import_is_not_lost(tmp_path: Path) -> None:
    config = project(tmp_path)
    rows = [ROW | {"nl_term": f"term {number}"} for number in range(450)]
    data = file(*rows, ROW | {"nl_term": "term 7"})
    with ThreadPoolExecutor(1) as other:
        coming = other.submit(arrive, config, data, now=NOW)
        learn(config, LOGIN, confirmed=True, now=NOW)
        fates = [item.fate for item in coming.result()]
    assert fates == ["import"] * 450 + ["repeated"]
    assert agreements_of(config).keys() == pairs_of(config).keys()
    assert len(pairs_of(config)) == 451


def test_concurrent_imports_of_one_file_import_it_once(tmp_path: Path) -> None:
    config = project(tmp_path)
    data = file(*(ROW | {"nl_term": f"term {number}"} for number in range(20)))
    with ThreadPoolExecutor(2) as both:
        found = [*both.map(lambda _: arrive(config, data, now=NOW), range(2))]
    fates = [{item.fate for item in each} for each in found]
    assert sorted(map(sorted, fates)) == [["import"], ["known"]]
    assert len(list(config.agreements.glob("*.md"))) == 20


def test_read_only_folder_imports_nothing(tmp_path: Path) -> None:
    config = project(tmp_path)
    learn(config, LOGIN, confirmed=True, now=NOW)
    before = file_contents(config.root)
    config.agreements.chmod(0o555)
    try:
        with without_root(), pytest.raises(StorageError) as refused:
            arrive(config, file(ROW), now=NOW)
    finally:
        config.agreements.chmod(0o755)
    assert refused.value.hint
    assert file_contents(config.root) == before
    assert [item.fate for item in arrive(config, file(ROW), now=NOW)] == ["import"]
