"""Pruning moves expired entries to the trash on request, for a proven reason, and loses nothing."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from code_intel.chunking.agreement import render
from code_intel.config import Settings, load_settings
from code_intel.errors import NotFoundError
from code_intel.index.facade import Index
from code_intel.learned.files import pairs, trash
from code_intel.learned.files.agreements import find, load_all
from code_intel.learned.files.changes import sync
from code_intel.learned.files.confirm import candidates, confirm_all
from code_intel.learned.files.pairs import load
from code_intel.learned.files.prune import prune
from code_intel.learned.files.restore import restore
from code_intel.learned.history.feedback import note
from code_intel.learned.learn import learn
from code_intel.learned.status.agreement_status import standings
from code_intel.records import Agreement, FileReference

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
OLD = NOW - timedelta(days=40)
SOURCE = """def keeps(order):
    return order.total + order.fee


def other(order):
    return order.total
"""


def agreement(term: str, symbol: str, at: datetime = NOW, digest: str = "") -> Agreement:
    files = (FileReference("a.py", 1),)
    return Agreement(term, symbol, ("e",), files, learned_at=at.isoformat(), digest=digest)


@pytest.fixture
def config(tmp_path: Path) -> Settings:
    """A project with one agreement for each reason, and one for none."""
    (tmp_path / "a.py").write_text(SOURCE, encoding="utf-8")
    config = load_settings(tmp_path, {})
    for item, confirmed in (
        (agreement("holds", "keeps"), True),
        (agreement("gone", "vanished"), True),
        (agreement("aged", "other", OLD), True),
        (agreement("young", "keeps"), False),
        (agreement("stale", "keeps", OLD), False),
    ):
        learn(config, item, confirmed=confirmed, now=datetime.fromisoformat(item.learned_at))
    (config.agreements / "twin.md").write_text(
        render(replace(agreement("holds", "keeps"), evidence=("another",))), encoding="utf-8"
    )
    sync(config, NOW)
    return config


@pytest.fixture
def forest(config: Settings) -> Iterator[Index]:
    with Index(config.forest) as index:
        index.complete(words_only=True)
        yield index


def terms(config: Settings) -> set[str]:
    return {entry.agreement.nl_term for entry in load_all(config.agreements) if entry.agreement}


def paired(config: Settings) -> set[str]:
    return {pair.nl_term for pair in load(pairs.path_of(config)).pairs}


def tree(config: Settings) -> dict[str, bytes]:
    found = (path for path in config.state.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in found if ".db" not in path.name}


EVERYTHING = {"holds", "gone", "aged", "young", "stale"}


@pytest.mark.parametrize(
    ("reasons", "goes"),
    [
        (("broken", "expired"), {"gone", "aged"}),
        (("broken",), {"gone"}),
        (("expired",), {"aged"}),
        (("unconfirmed",), {"stale"}),
        ((), set[str]()),
    ],
)
def test_what_a_reason_says_goes_with_its_pair(
    config: Settings, forest: Index, reasons: tuple[str, ...], goes: set[str]
) -> None:
    before = tree(config)
    said = prune(config, forest, reasons, now=NOW, dry=True)
    assert tree(config) == before
    done = prune(config, forest, reasons, now=NOW)
    assert done == said
    assert {item.entry.key[0] for item in done if item.entry.key} == goes
    assert (terms(config), paired(config)) == (EVERYTHING - goes, EVERYTHING - goes)
    assert {kept.origin for kept in trash.contents(config)} == {
        name for item in done for name in item.files
    }
    assert not sync(config, NOW).steps
    assert not prune(config, forest, reasons, now=NOW)


def test_what_was_pruned_comes_back_as_it_was(config: Settings, forest: Index) -> None:
    before = {path.name: path.read_bytes() for path in config.agreements.glob("*.md")}
    prune(config, forest, ("broken", "expired", "unconfirmed"), now=NOW)
    for kept in trash.contents(config):
        restore(config, kept.name, now=NOW)
    assert {path.name: path.read_bytes() for path in config.agreements.glob("*.md")} == before
    assert paired(config) == EVERYTHING
    worth = {s.entry.key[0]: s.validity for s in standings(config, forest, now=NOW) if s.entry.key}
    assert (worth["gone"], worth["aged"], worth["stale"]) == ("broken", "expired", "unconfirmed")


def test_nearly_all_may_go_at_once(config: Settings, forest: Index) -> None:
    (config.root / "a.py").write_text("", encoding="utf-8")
    forest.complete(words_only=True)
    assert len(prune(config, forest, now=NOW)) == 5
    assert (terms(config), paired(config)) == (set(), set())
    assert not sync(config, NOW).steps


def test_of_twins_one_file_stays_and_says_what_both_said(config: Settings, forest: Index) -> None:
    (done,) = prune(config, forest, ("twin",), now=NOW)
    entry = find(config.agreements, ("holds", "keeps"))
    assert entry
    assert entry.agreement
    assert (entry.also, set(entry.agreement.evidence)) == ((), {"e", "another"})
    assert [kept.origin for kept in trash.contents(config)] == list(done.files)
    assert terms(config) == paired(config) == EVERYTHING
    assert not prune(config, forest, ("twin",), now=NOW)


def test_nothing_is_pruned_by_an_index_that_is_not_complete(config: Settings) -> None:
    before = tree(config)
    with Index(config.forest) as index:
        for dry in (True, False):
            with pytest.raises(NotFoundError, match="incomplete") as refused:
                prune(config, index, now=NOW, dry=dry)
            assert "sync" in refused.value.hint
        assert tree(config) == before
        assert len(prune(config, index, ("unconfirmed",), now=NOW)) == 1


def test_an_index_without_a_single_file_proves_nothing(config: Settings) -> None:
    (config.root / "a.py").unlink()
    for path in config.root.glob("*.md"):
        path.unlink()
    with Index(config.forest) as index:
        index.complete(words_only=True)
        if not index.freshness().files:
            with pytest.raises(NotFoundError, match="no files"):
                prune(config, index, now=NOW)
    assert terms(config) == EVERYTHING


def test_all_that_nobody_confirmed_is_confirmed_but_what_speaks_against_it(
    config: Settings, forest: Index
) -> None:
    learn(config, agreement("changed", "keeps", digest="d"), confirmed=False, now=NOW)
    learn(config, agreement("doubted", "other"), confirmed=False, now=NOW)
    learn(config, agreement("missing", "nothing"), confirmed=False, now=NOW)
    note(config, ("doubted", "other"), "rejected", detail="person", now=NOW)
    found = candidates(standings(config, forest, now=NOW), forest)
    obstacles = {item.entry.key[0]: item.obstacle for item in found if item.entry.key}
    assert {term for term, obstacle in obstacles.items() if not obstacle} == {
        "holds", "young", "stale",
    }  # fmt: skip
    assert "changed" in obstacles["changed"]
    assert "rejected" in obstacles["doubted"]
    assert "does not define" in obstacles["missing"]
    done = confirm_all(config, found, now=NOW)
    assert {term for term, _ in done} == {"holds", "young", "stale"}
    worth = {s.entry.key[0]: s.validity for s in standings(config, forest, now=NOW) if s.entry.key}
    assert {worth[term] for term, _ in done} == {"valid"}
    again = candidates(standings(config, forest, now=NOW), forest)
    assert {item.entry.key[0] for item in again if item.entry.key} == {
        "changed", "doubted", "missing",
    }  # fmt: skip
    assert not sync(config, NOW).steps


def test_what_was_edited_since_it_was_chosen_is_not_confirmed(
    config: Settings, forest: Index
) -> None:
    found = candidates(standings(config, forest, now=NOW), forest)
    young = next(item for item in found if item.entry.key == ("young", "keeps"))
    text = young.entry.path.read_text("utf-8")
    young.entry.path.write_text(text.replace("- e\n", "- forged\n"), encoding="utf-8")
    assert confirm_all(config, [young], now=NOW) == []
    assert b"confirmed: true" not in young.entry.path.read_bytes()
