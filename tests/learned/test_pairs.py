"""learned_pairs.json: both versions are read, nothing in it is lost."""

import json
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.errors import StorageError
from code_intel.learned.pairs import (
    VERSION,
    Pair,
    PairsFile,
    add,
    as_json,
    dump,
    load,
    parse,
    update,
)
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


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("2025-10-26T02:30:00+02:00", "2025-10-26T02:30:00+01:00"),  # the hour that comes twice
        ("2025-01-12T14:35:00", "2025-01-12T14:35:01"),
        ("2025-01-12T14:35:00+09:00", "2025-01-12T14:35:00"),  # without an offset it is UTC
        ("2038-01-19T03:14:07+00:00", "2038-01-19T03:14:08+00:00"),
        ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"),
        ("", "1970-01-01T00:00:00+00:00"),
        ("yesterday", "0001-01-01T00:00:01+00:00"),
    ],
)
def test_the_newest_is_the_latest_moment_in_whatever_zone_and_year(older: str, newer: str) -> None:
    one, other = ({**PAIR, "learned_at": at, "votes": at} for at in (older, newer))
    for items in ([one, other], [other, one]):
        (pair,) = parse(json.dumps(document(pairs=items)).encode()).pairs
        assert pair.extra == (("votes", newer),)


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


RICH = PairsFile(
    pairs=(
        Pair(
            "ログイン機能",
            "AuthService",
            0.85,
            "確認した「{[」",
            "s",
            extra=(("投票", {"a": [1, None]}),),
        ),
        Pair('tax "rate"', "TaxTable.rateFor()", 1.0, 'a\\"\nb', "s", agreement_file="x.md"),
        Pair(
            "送料",
            "shipping_cost",
            extra=(("n", 12), ("nested", {"nl_term": "no", "symbol": "no"})),
        ),
    ),
    strange=({"not": "a pair"}, "note"),
    extra=(("チーム", {"pairs": [1], "deep": [[{}]]}), ("count", 123)),
    updated_at=NOW.isoformat(),
)


def whole(data: bytes, end: int) -> tuple[list[Pair], list[object], dict[str, object]]:
    """Return the pairs, items and keys whose last byte is before `end`, found by where they end."""
    text = data.decode()

    def is_there(value: object, name: str = "") -> bool:
        written = json.dumps(value, ensure_ascii=False, indent=2)
        if name:
            written = f'"{name}": ' + written.replace("\n", "\n  ")
        else:
            written = written.replace("\n", "\n    ")
        place = text.index(written) + len(written)
        after = 1 if isinstance(value, int) else 0  # its last digit is known by what follows
        return len(text[: place + after].encode()) <= end

    pairs = [pair for pair in RICH.pairs if is_there(as_json(pair))]
    items = [item for item in RICH.strange if is_there(item)]
    return pairs, items, {name: value for name, value in RICH.extra if is_there(value, name)}


@pytest.mark.covers("rule.pairs.damaged")
def test_of_a_file_cut_anywhere_everything_that_is_whole_is_kept() -> None:
    data = dump(RICH)
    assert parse(data) == RICH
    counts = set()
    for end in range(len(data) - 1):  # without its last line end it is whole
        found = parse(data[:end])
        pairs, items, keys = whole(data, end)
        assert found.damage
        assert list(found.pairs) == pairs, end
        assert list(found.strange) == items, end
        assert dict(found.extra) == keys, end
        counts.add((len(pairs), len(items), len(keys)))
    assert {(0, 0, 0), (1, 0, 0), (3, 0, 0), (3, 2, 0), (3, 2, 1), (3, 2, 2)} <= counts


@settings(deadline=None)
@given(st.data())
def test_whatever_is_put_into_a_file_costs_only_what_it_is_put_into(data: st.DataObject) -> None:
    file = PairsFile(pairs=tuple(Pair(f"term {n}", f"S{n}", extra=(("n", n),)) for n in range(6)))
    lines = dump(file).split(b"\n")
    place = data.draw(st.integers(5, len(lines) - 3))
    junk = data.draw(
        st.sampled_from([b"<<<<<<< HEAD", b"}", b"]", b'"', b"\xff\xfe", b"\x00" * 50, b"{"])
    )
    found = parse(b"\n".join([*lines[:place], junk, *lines[place:]]))
    assert found.damage
    assert len(set(found.pairs) & set(file.pairs)) >= 5
    assert set(found.pairs) <= set(file.pairs)


def test_a_merge_of_two_files_keeps_the_pairs_of_both(tmp_path: Path) -> None:
    base, one, two = (
        dump(PairsFile(pairs=tuple(Pair(name, "S", code_evidence=name) for name in names)))
        for names in (["a"], ["a", "b"], ["a", "c", "d"])
    )
    for name, data in (("base", base), ("one", one), ("two", two)):
        (tmp_path / name).write_bytes(data)
    merged = subprocess.run(
        ["git", "merge-file", "-p", "one", "base", "two"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    ).stdout
    assert b"<<<<<<< one" in merged
    assert {pair.nl_term for pair in parse(merged).pairs} >= {"a", "b", "c", "d"}


@pytest.mark.parametrize(
    "data", [b"{" * 300_000, b'{"a":\n' * 100_000, b'\n{"a": "' * 100_000, b"[\n{" * 100_000]
)
def test_a_hostile_file_is_read_in_the_end(data: bytes) -> None:
    assert parse(data).damage
    assert parse(data).pairs == ()


def test_a_damaged_file_of_a_newer_version_is_not_written_either(tmp_path: Path) -> None:
    path = tmp_path / "learned_pairs.json"
    path.write_bytes(b'{"version": 99, "pairs": [{"nl_term": "a", "symbol": "A"}, {"nl')
    assert load(path).read_only
    with pytest.raises(StorageError, match="version 99"):
        add(path, Pair("b", "B"), now=NOW)
    assert [file.name for file in tmp_path.glob("*.json*") if file.suffix != ".lock"] == [path.name]


def test_a_symbol_s_words_are_written_and_what_somebody_makes_of_them_is_put_right(
    tmp_path: Path,
) -> None:
    item = PAIR | {"symbol": "HTTPServer.listenAll()", "symbol_normalized": "mine"}
    path = put(tmp_path / "learned_pairs.json", document(pairs=[item]))
    assert load(path).pairs[0].extra == ()
    add(path, Pair("b", "B"), now=NOW)
    first, _ = json.loads(path.read_text(encoding="utf-8"))["pairs"]
    assert list(first)[:3] == ["nl_term", "symbol", "symbol_normalized"]
    assert first["symbol_normalized"] == "HTTP Server listen All"


def test_what_is_remembered_of_a_pair_tells_1_from_true(tmp_path: Path) -> None:
    path = tmp_path / "learned_pairs.json"
    for votes in (1, True, 1.0, [1], [True]):
        put(path, document(pairs=[PAIR | {"votes": votes}]))
        ((name, found),) = load(path).pairs[0].extra
        assert (name, repr(found)) == ("votes", repr(votes))
        add(path, Pair("b", "B"), now=NOW)
        assert repr(json.loads(path.read_text(encoding="utf-8"))["pairs"][0]["votes"]) == repr(
            votes
        )


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
    document = json.loads(dump(file))
    assert dump(file) == f"{json.dumps(document, ensure_ascii=False, indent=2)}\n".encode()
    assert parse(dump(replace(file, version=1))).version == VERSION
