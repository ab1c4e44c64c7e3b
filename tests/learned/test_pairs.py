"""learned_pairs.json: both versions are read, nothing in it is lost."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.errors import StorageError
from code_intel.learned.pairs import VERSION, Pair, PairsFile, add, dump, load, parse, update
from code_intel.text import hidden_character

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PAIR = {
    "nl_term": "ログイン機能",
    "symbol": "AuthService",
    "similarity": 0.85,
    "code_evidence": "AuthService.login() handles authentication",
    "session_id": "session_20250112_143000",
    "learned_at": "2025-01-12T14:35:00",
}


def document(**changes: Any) -> dict[str, Any]:
    return {"version": 1, "updated_at": "2025-01-12T14:35:00", "pairs": [PAIR]} | changes


def put(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return path


def test_a_missing_file_is_empty(tmp_path: Path) -> None:
    assert load(tmp_path / "learned_pairs.json") == PairsFile(exists=False)


@pytest.mark.covers("rule.pairs.versions")
@pytest.mark.parametrize("version", [1, 2])
def test_both_versions_are_read_and_naive_times_become_utc(version: int) -> None:
    extra = {"agreement_file": "login_auth.md"} if version > 1 else {}
    content = document(version=version, pairs=[PAIR | extra])
    (pair,) = parse(json.dumps(content).encode()).pairs
    assert pair == Pair(
        nl_term="ログイン機能",
        symbol="AuthService",
        similarity=0.85,
        code_evidence="AuthService.login() handles authentication",
        session_id="session_20250112_143000",
        learned_at="2025-01-12T14:35:00+00:00",
        agreement_file=extra.get("agreement_file", ""),
    )


def test_an_aware_time_and_a_null_evidence_are_kept_as_they_are() -> None:
    item = PAIR | {"learned_at": "2025-01-12T14:35:00+09:00", "code_evidence": None}
    (pair,) = parse(json.dumps(document(pairs=[item])).encode()).pairs
    assert (pair.learned_at, pair.code_evidence) == ("2025-01-12T14:35:00+09:00", "")


@pytest.mark.covers("rule.pairs: versions unknown_keys")
def test_adding_writes_version_2_and_keeps_keys_it_does_not_know(tmp_path: Path) -> None:
    path = put(
        tmp_path / "learned_pairs.json",
        document(team={"a": [1]}, pairs=[PAIR | {"votes": 3}, {"not": "a pair"}, 7]),
    )
    add(path, Pair("b", "B", learned_at=NOW.isoformat()), now=NOW)
    add(path, Pair("ログイン機能", "AuthService", similarity=0.9), now=NOW)
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written["version"] == VERSION == 2
    assert written["team"] == {"a": [1]}
    assert written["updated_at"] == NOW.isoformat()
    assert written["embedding_model"] == "intfloat/multilingual-e5-small"
    first, second, *strange = written["pairs"]
    assert (first["similarity"], first["votes"], second["nl_term"]) == (0.9, 3, "b")
    assert strange == [{"not": "a pair"}, 7]
    assert "ログイン機能" in path.read_text(encoding="utf-8")


def test_of_two_pairs_with_one_key_the_newest_counts() -> None:
    newer = PAIR | {"learned_at": "2025-06-01T00:00:00", "similarity": 0.5}
    for items in ([PAIR, newer], [newer, PAIR]):
        (pair,) = parse(json.dumps(document(pairs=items)).encode()).pairs
        assert pair.similarity == 0.5


def test_a_change_of_nothing_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "learned_pairs.json"
    add(path, Pair("a", "A"), now=NOW)
    before = path.read_bytes()
    update(path, lambda pairs: pairs, now=NOW.replace(year=2027))
    assert path.read_bytes() == before


WHOLE = json.dumps(document(version=2), ensure_ascii=False).encode()
DAMAGED = {
    "empty": b"",
    "a list": b"[]",
    "cut": WHOLE[:-20],
    "duplicate key": b'{"version": 2, "pairs": [], "pairs": []}',
    "duplicate key in a pair": b'{"pairs": [{"nl_term": "a", "nl_term": "b", "symbol": "c"}]}',
    "pairs of another type": b'{"version": 2, "pairs": {}}',
    "version of another type": b'{"version": "2", "pairs": []}',
    "not UTF-8": b'{"pairs": ["\xff"]}',
    "NaN": b'{"pairs": [], "x": NaN}',
    "deep": b"[" * 100_000,
    "conflict": b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> b\n",
}


@pytest.mark.covers("rule.pairs.damaged")
@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_file_is_moved_aside_whole(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "learned_pairs.json"
    path.write_bytes(data)
    assert load(path).damage
    add(path, Pair("a", "A"), now=NOW)
    assert (tmp_path / "learned_pairs.json.corrupt-20260301T120000").read_bytes() == data
    assert [pair.key for pair in load(path).pairs] == [("a", "A")]


def test_a_file_cut_anywhere_is_damaged_and_never_an_exception() -> None:
    assert all(parse(WHOLE[:end]).damage for end in range(len(WHOLE)))
    assert not parse(WHOLE).damage


def test_of_a_file_with_a_byte_order_mark_everything_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "learned_pairs.json"
    path.write_bytes(b"\xef\xbb\xbf" + WHOLE)
    assert load(path).damage
    update(path, lambda pairs: pairs, now=NOW)
    assert path.read_bytes().startswith(b"{")
    assert [pair.symbol for pair in load(path).pairs] == ["AuthService"]
    assert list(tmp_path.glob("*.corrupt-*"))


def test_setting_aside_twice_in_a_second_overwrites_nothing(tmp_path: Path) -> None:
    path = tmp_path / "learned_pairs.json"
    for content in (b"one", b"two"):
        path.write_bytes(content)
        update(path, lambda pairs: pairs, now=NOW)
    assert {file.read_bytes() for file in tmp_path.glob("*.corrupt-*")} == {b"one", b"two"}


def test_a_newer_version_is_read_and_never_written(tmp_path: Path) -> None:
    path = put(tmp_path / "learned_pairs.json", document(version=99))
    before = path.read_bytes()
    assert load(path).read_only
    assert len(load(path).pairs) == 1
    with pytest.raises(StorageError, match="version 99"):
        add(path, Pair("a", "A"), now=NOW)
    assert path.read_bytes() == before


def test_a_file_that_cannot_be_read_is_not_empty(tmp_path: Path) -> None:
    (tmp_path / "learned_pairs.json").mkdir()
    with pytest.raises(StorageError, match="cannot be read"):
        load(tmp_path / "learned_pairs.json")


def test_a_pair_whose_names_hide_characters_is_kept_and_not_read(tmp_path: Path) -> None:
    hidden = [PAIR | {"nl_term": "a\u202eb"}, PAIR | {"symbol": "A\x1b[31m"}]
    path = put(tmp_path / "learned_pairs.json", document(pairs=hidden))
    assert load(path).pairs == ()
    add(path, Pair("a", "A"), now=NOW)
    written = json.loads(path.read_text(encoding="utf-8"))["pairs"]
    assert written[1:] == hidden


WORDS = st.text(min_size=1).filter(lambda text: text.strip() and not hidden_character(text))


@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            Pair, nl_term=WORDS, symbol=WORDS, similarity=st.floats(0, 1), code_evidence=st.text()
        ),
        unique_by=lambda pair: pair.key,
    )
)
def test_what_is_written_is_read_back(pairs: list[Pair]) -> None:
    file = PairsFile(pairs=tuple(pairs), extra=(("x", [None, "y"]),))
    assert parse(dump(file)) == file
    assert parse(dump(replace(file, version=1))).version == VERSION


ADDER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from code_intel.learned.pairs import Pair, add
for number in range(50):
    add(Path(sys.argv[1]), Pair(f"{sys.argv[2]}-{number}", "S"), now=datetime.now(UTC))
"""


@pytest.mark.covers("rule.pairs.no_loss")
def test_four_processes_that_add_fifty_pairs_each_lose_none(tmp_path: Path) -> None:
    path = tmp_path / "learned_pairs.json"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ADDER, str(path), str(number)],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.DEVNULL,
        )
        for number in range(4)
    ]
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    expected = {(f"{process}-{number}", "S") for process in range(4) for number in range(50)}
    assert {pair.key for pair in load(path).pairs} == expected
