"""A file of agreements for another project.

The import has exactly what was exported, unconfirmed.
"""

import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.chunking.agreement import canonical
from code_intel.config import Settings, load_settings
from code_intel.errors import StorageError, UsageError
from code_intel.learned.files import pairs
from code_intel.learned.files.agreements import find, key_of, load_all, make_key
from code_intel.learned.files.exchange import Arrival, arrive, dump, read
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import learn
from code_intel.learned.status.validity import is_confirmed
from code_intel.records import Agreement, FileReference
from learned.test_agreement_format import AGREEMENTS
from planted import pieces, planted
from privileges import without_root

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
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


def project(folder: Path) -> Settings:
    return load_settings(folder, {})


def file(*rows: object) -> bytes:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    return (HEADER + "".join(f"{line}\n" for line in lines)).encode()


def tree(config: Settings) -> dict[str, bytes]:
    found = (path for path in config.root.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in found if ".db" not in path.name}


def brief(found: list[Arrival]) -> list[tuple[int, str, str]]:
    return [(item.line, item.fate, item.field) for item in found]


def test_only_what_another_project_can_use_is_in_the_file() -> None:
    header, row = map(json.loads, dump([LOGIN]).splitlines())
    assert header == {"format": "code-intel agreements", "version": 1}
    assert row == {
        "nl_term": KEY[0],
        "symbol": KEY[1],
        "aliases": ["サインイン"],
        "evidence": ["one", "two\nlines"],
        "files": ["src/auth.py:4", "docs/a b.md"],
    }


def test_files_outside_of_the_project_are_nobody_elses_business() -> None:
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
def test_what_arrives_is_what_was_sent_or_is_named(sent: list[Agreement]) -> None:
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
def test_twice_is_once_and_a_dry_run_says_what_a_run_does(sent: list[Agreement]) -> None:
    data = dump(sent).encode()
    with tempfile.TemporaryDirectory() as folder:
        config = project(Path(folder))
        said = arrive(config, data, now=NOW, dry=True)
        assert list(config.root.iterdir()) == []
        assert arrive(config, data, now=NOW) == said
        after = tree(config)
        again = arrive(config, data, now=NOW + timedelta(days=1))
        assert {item.fate for item in again} <= {"known", "repeated", "malformed"}
        assert tree(config) == after
        keys = {key_of(item.agreement) for item in said if item.agreement and item.fate == "import"}
        assert {entry.key for entry in load_all(config.agreements)} == keys
        assert {pair.key for pair in pairs.load(pairs.path_of(config)).pairs} == keys


def test_everything_that_arrives_is_unconfirmed_whatever_it_claims(tmp_path: Path) -> None:
    config = project(tmp_path)
    row = ROW | {"confirmed": True, "digest": "d", "symbol_digest": "d", "learned_at": "9999-01-01"}
    arrive(config, file(row), now=NOW)
    entry = find(config.agreements, ("送料", "fee"))
    assert entry
    assert entry.agreement
    said = entry.agreement
    assert (said.confirmed, said.digest, said.learned_at) == (False, "", NOW.isoformat())
    with open_state(config.state) as state:
        assert not is_confirmed(config, entry, state)


def test_what_was_confirmed_here_stays_confirmed_with_its_own_words(tmp_path: Path) -> None:
    config = project(tmp_path)
    learn(config, LOGIN, confirmed=True, now=NOW)
    before = tree(config)
    (item,) = arrive(config, dump([replace(LOGIN, evidence=("other",))]).encode(), now=NOW)
    assert item.fate == "known"
    assert tree(config) == before
    with open_state(config.state) as state:
        entry = find(config.agreements, KEY)
        assert entry
        assert is_confirmed(config, entry, state)


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
        (ROW | {"nl_term": "  "}, "nl_term"),
        (ROW | {"nl_term": LONG}, "nl_term"),
        (ROW | {"nl_term": "a\u202eb"}, "nl_term"),
        (ROW | {"nl_term": "a\ud800b"}, "nl_term"),
        (ROW | {"symbol": "a\u200bb"}, "symbol"),
        (ROW | {"symbol": ["s"]}, "symbol"),
        (ROW | {"evidence": "e"}, "evidence"),
        (ROW | {"evidence": []}, "evidence"),
        (ROW | {"evidence": ["\u200b"]}, "evidence"),
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
def test_a_malformed_line_is_named_and_keeps_out_no_other(
    tmp_path: Path, row: object, field: str
) -> None:
    config = project(tmp_path)
    good = ROW | {"nl_term": "good"}
    found = arrive(config, file(row, good), now=NOW)
    assert brief(found) == [(2, "malformed", field), (3, "import", "")]
    assert found[0].reason.endswith(".")
    assert [entry.key for entry in load_all(config.agreements)] == [("good", "fee")]


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
    (entry,) = load_all(config.agreements)
    assert entry.agreement
    assert entry.agreement.evidence == (text, "e")
    assert entry.agreement.aliases == (" ".join(text.split()),)
    assert not entry.agreement.confirmed
    assert entry.path.parent == config.agreements


def test_secrets_are_masked_on_both_ways(tmp_path: Path) -> None:
    plant = planted()["GitHub classic"]
    config = project(tmp_path)
    arrive(config, file(ROW | {"evidence": [plant.text], "files": [plant.text]}), now=NOW)
    learn(config, Agreement("b", "B", (plant.text,)), confirmed=False, now=NOW)
    agreed = (entry.agreement for entry in load_all(config.agreements))
    said = dump(agreement for agreement in agreed if agreement).encode()
    kept = b"".join(tree(config).values()) + said
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
        (b'{"format": "code-intel agreements", "version": 2}', "version 2"),
        (b" " * (64 * 1024 * 1024 + 1), "larger than 64 MiB"),
    ],
)
def test_what_is_no_export_is_refused_as_a_whole(tmp_path: Path, data: bytes, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as refused:
        arrive(project(tmp_path), data)
    assert refused.value.details == {"field": "file"}
    assert list(tmp_path.iterdir()) == []


def test_a_line_of_a_megabyte_is_one_malformed_line(tmp_path: Path) -> None:
    found = arrive(project(tmp_path), file(ROW | {"more": "x" * 1024 * 1024}, ROW), now=NOW)
    assert [item.fate for item in found] == ["malformed", "import"]


def test_windows_line_ends_blank_lines_and_unknown_keys_do_no_harm(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + file(ROW | {"since": "v9"}).replace(b"\n", b"\r\n\r\n")
    assert brief(arrive(project(tmp_path), data, now=NOW)) == [(3, "import", "")]


def test_a_term_and_symbol_come_once_and_a_file_in_the_way_stays(tmp_path: Path) -> None:
    config = project(tmp_path)
    (name,) = [path.name for path in _files(config, ROW)]
    config.agreements.joinpath(name).write_text("<<<<<<< mine\n", encoding="utf-8")
    pairs.path_of(config).unlink()
    (config.state / "state.db").unlink()
    other = ROW | {"nl_term": "other"}
    found = arrive(config, file(ROW, other, other | {"evidence": ["f"]}), now=NOW)
    assert [item.fate for item in found] == ["blocked", "import", "repeated"]
    assert config.agreements.joinpath(name).read_text("utf-8") == "<<<<<<< mine\n"


def _files(config: Settings, row: object) -> list[Path]:
    arrive(config, file(row), now=NOW)
    return list(config.agreements.glob("*.md"))


def test_what_somebody_learns_while_a_large_file_comes_in_is_not_lost(tmp_path: Path) -> None:
    config = project(tmp_path)
    rows = [ROW | {"nl_term": f"term {number}"} for number in range(450)]
    data = file(*rows, ROW | {"nl_term": "term 7"})
    with ThreadPoolExecutor(1) as other:
        coming = other.submit(arrive, config, data, now=NOW)
        learn(config, LOGIN, confirmed=True, now=NOW)
        fates = [item.fate for item in coming.result()]
    assert fates == ["import"] * 450 + ["repeated"]
    known = {pair.key for pair in pairs.load(pairs.path_of(config)).pairs}
    assert known == {entry.key for entry in load_all(config.agreements)}
    assert len(known) == 451


def test_one_file_imported_by_two_at_once_comes_in_once(tmp_path: Path) -> None:
    config = project(tmp_path)
    data = file(*(ROW | {"nl_term": f"term {number}"} for number in range(20)))
    with ThreadPoolExecutor(2) as both:
        found = [*both.map(lambda _: arrive(config, data, now=NOW), range(2))]
    fates = [{item.fate for item in each} for each in found]
    assert sorted(map(sorted, fates)) == [["import"], ["known"]]
    assert len(list(config.agreements.glob("*.md"))) == 20


def test_a_folder_that_cannot_be_written_takes_nothing_in_and_says_so(tmp_path: Path) -> None:
    config = project(tmp_path)
    learn(config, LOGIN, confirmed=True, now=NOW)
    before = tree(config)
    config.agreements.chmod(0o555)
    try:
        with without_root(), pytest.raises(StorageError) as refused:
            arrive(config, file(ROW), now=NOW)
    finally:
        config.agreements.chmod(0o755)
    assert refused.value.hint
    assert tree(config) == before
    assert [item.fate for item in arrive(config, file(ROW), now=NOW)] == ["import"]
