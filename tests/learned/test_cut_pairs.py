"""learned_pairs.json, cut off after any byte, as a crash of another program or of the machine leaves it."""

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from code_intel.config import Settings, load_settings
from code_intel.learned import agreements, journal
from code_intel.learned.learn import learn
from code_intel.learned.pairs import load, parse
from code_intel.learned.reconcile import reconcile
from code_intel.records import Agreement
from programs import quick_folder

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as folder:  # there is a file for each byte
        yield folder


def two_pairs(folder: Path) -> tuple[Settings, bytes]:
    """Return a project with two pairs, keys that are not ours on both levels, and the file's bytes."""
    settings = load_settings(folder)
    for term, symbol in (("送料", "fee"), ("税", "Tax")):
        learn(settings, Agreement(term, symbol, ("é「{",)), confirmed=True, now=NOW)
    path = journal.pairs_path(settings)
    document = json.loads(path.read_text(encoding="utf-8"))
    for number, pair in enumerate(document["pairs"]):
        pair["票"] = [number, {"x": None}]
    document["チーム"] = {"pairs": [1]}
    path.write_text(json.dumps(document, ensure_ascii=False, indent=1), encoding="utf-8")
    assert not reconcile(settings, now=NOW).has_changed
    return settings, path.read_bytes()


def set_aside(settings: Settings) -> bytes:
    """Return what was set aside, and take it away."""
    (aside,) = settings.state.glob("learned_pairs.json.corrupt-*")
    data = aside.read_bytes()
    aside.unlink()
    return data


@pytest.mark.covers("rule.pairs.damaged")
def test_with_agreements_every_pair_is_there_again_and_what_is_whole_is_kept(folder: Path) -> None:
    settings, data = two_pairs(folder)
    path = journal.pairs_path(settings)
    whole = parse(data)
    files = {file: file.read_bytes() for file in settings.agreements.iterdir()}
    seen: set[tuple[Any, ...]] = set()
    for end in range(len(data)):
        path.write_bytes(data[:end])
        prefix = parse(data[:end])
        notes = reconcile(settings, now=NOW).notes
        now = load(path)
        assert any("damaged" in note for note in notes), end
        assert set_aside(settings) == data[:end]
        assert {pair.key for pair in now.pairs} == {pair.key for pair in whole.pairs}
        kept = {pair.key: pair.extra for pair in prefix.pairs}
        assert {pair.key: pair.extra for pair in now.pairs} == {
            p.key: () for p in whole.pairs
        } | kept
        assert now.extra == prefix.extra
        assert {file: file.read_bytes() for file in settings.agreements.iterdir()} == files
        seen.add((len(kept), len(now.extra)))
    assert seen == {(0, 0), (1, 0), (2, 0), (2, 1)}


@pytest.mark.covers("rule.pairs.damaged")
def test_without_agreements_every_pair_that_is_whole_becomes_one(folder: Path) -> None:
    settings, data = two_pairs(folder)
    path = journal.pairs_path(settings)
    counts = set()
    for end in range(len(data)):
        shutil.rmtree(settings.state)
        settings.state.mkdir()
        path.write_bytes(data[:end])
        wanted = {pair.key: pair.extra for pair in parse(data[:end]).pairs}
        reconcile(settings, now=NOW)
        assert set_aside(settings) == data[:end]
        assert {pair.key: pair.extra for pair in load(path).pairs} == wanted
        assert set(agreements.look(settings.agreements).by_key) == wanted.keys()
        counts.add(len(wanted))
    assert counts == {0, 1, 2}


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"\xef\xbb\xbf{}", b'{"pairs": [], "pairs": []}', b"\x00" * 300, b"null", b"{}{}"],
)
def test_a_file_that_says_nothing_is_rebuilt_from_the_agreements(folder: Path, data: bytes) -> None:
    settings, before = two_pairs(folder)
    path = journal.pairs_path(settings)
    path.write_bytes(data)
    reconcile(settings, now=NOW)
    assert {pair.key for pair in load(path).pairs} == {pair.key for pair in parse(before).pairs}
    assert set_aside(settings) == data


def test_a_folder_in_its_place_is_told_and_costs_nothing(folder: Path) -> None:
    from code_intel.learned.refresh import refresh

    settings, _ = two_pairs(folder)
    path = journal.pairs_path(settings)
    path.unlink()
    path.mkdir()
    (note,) = refresh(settings, now=NOW).notes
    assert "learned_pairs.json cannot be read" in note
    assert len(agreements.load_all(settings.agreements)) == 2
    path.rmdir()
    reconcile(settings, now=NOW)
    assert len(load(path).pairs) == 2
