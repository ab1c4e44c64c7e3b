"""Read and write the format of learned_pairs.json without losing anything in it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.errors import StorageError
from code_intel.foundation.text import hidden_character
from code_intel.learned.files.pairs import (
    PAIRS_VERSION,
    Pair,
    PairsFile,
    dump,
    load,
    model_name,
    parse,
    set_aside,
)
from learned.builders import NOW

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


def test_missing_file_is_empty(tmp_path: Path) -> None:
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


def test_time_with_an_offset_is_kept_and_missing_evidence_is_empty() -> None:
    item = PAIR | {"learned_at": "2025-01-12T14:35:00+09:00", "code_evidence": None}
    (pair,) = parse(json.dumps(document(pairs=[item])).encode()).pairs
    assert (pair.learned_at, pair.code_evidence) == ("2025-01-12T14:35:00+09:00", "")


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
def test_of_two_pairs_with_one_key_the_newest_counts(older: str, newer: str) -> None:
    one, other = ({**PAIR, "learned_at": at, "votes": at} for at in (older, newer))
    for items in ([one, other], [other, one]):
        (pair,) = parse(json.dumps(document(pairs=items)).encode()).pairs
        assert pair.extra == (("votes", newer),)


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
    "too large a number": b'{"pairs": [], "x": -1e999}',
    "deep": b"[" * 100_000,
    "conflict": b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> b\n",
}


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
    other_items=({"not": "a pair"}, "note"),
    extra=(("チーム", {"pairs": [1], "deep": [[{}]]}), ("count", 123)),
    updated_at=NOW.isoformat(),
)


@pytest.mark.covers("rule.pairs.damaged")
@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED.keys())
def test_damage_is_reported_without_an_exception(data: bytes) -> None:
    assert parse(data).damage
    assert parse(data).pairs == ()


@pytest.mark.covers("rule.pairs.damaged")
def test_file_cut_after_any_byte_is_damaged() -> None:
    data = dump(RICH)
    assert parse(data) == RICH
    for end in range(len(data) - 1):  # without its last line end it is whole
        assert parse(data[:end]).damage, end


def test_file_names_the_model_that_is_used() -> None:
    assert model_name("multilingual-e5-small") == "intfloat/multilingual-e5-small"
    assert model_name("cl-nagoya/ruri-v3-30m") == "cl-nagoya/ruri-v3-30m"


@pytest.mark.covers("rule.pairs: versions unknown_keys")
def test_unknown_keys_and_items_are_kept() -> None:
    items = [PAIR | {"votes": 3, "symbol_normalized": "mine"}, {"not": "a pair"}, 7]
    given = document(team={"a": [1]}, pairs=items)
    written = json.loads(dump(parse(json.dumps(given).encode())))
    assert written["version"] == PAIRS_VERSION == 2
    assert written["team"] == {"a": [1]}
    assert written["embedding_model"] == "intfloat/multilingual-e5-small"
    first, *strange = written["pairs"]
    assert list(first)[:3] == ["nl_term", "symbol", "symbol_normalized"]
    assert (first["symbol_normalized"], first["votes"]) == ("Auth Service", 3)
    assert strange == [{"not": "a pair"}, 7]


def test_pair_with_invisible_characters_is_kept_but_not_read() -> None:
    hidden = [PAIR | {"nl_term": "a\u202eb"}, PAIR | {"symbol": "A\x1b[31m"}]
    file = parse(json.dumps(document(pairs=hidden)).encode())
    assert (file.pairs, list(file.other_items)) == ((), hidden)
    assert json.loads(dump(file))["pairs"] == hidden


def test_secrets_are_masked_except_in_generated_content() -> None:
    data = json.dumps(document(token="ghp_" + "a1B2" * 9, pairs=[])).encode()
    file = parse(data)
    assert "a1B2" not in dump(file).decode()
    assert parse(data, {file.digest}).extra != file.extra


def test_setting_aside_twice_in_a_second_keeps_both_files(tmp_path: Path) -> None:
    path = tmp_path / "learned_pairs.json"
    for content in (b"one", b"two"):
        path.write_bytes(content)
        set_aside(path, NOW)
    assert {file.read_bytes() for file in tmp_path.glob("*.corrupt-*")} == {b"one", b"two"}


def test_unreadable_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "learned_pairs.json").mkdir()
    with pytest.raises(StorageError, match="cannot be read"):
        load(tmp_path / "learned_pairs.json")


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
def test_written_file_is_read_back(pairs: list[Pair]) -> None:
    file = PairsFile(pairs=tuple(pairs), extra=(("x", [None, "y"]),))
    assert parse(dump(file)) == file
    document = json.loads(dump(file))
    assert dump(file) == f"{json.dumps(document, ensure_ascii=False, indent=2)}\n".encode()
    assert parse(dump(replace(file, version=1))).version == PAIRS_VERSION
