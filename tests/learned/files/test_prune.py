"""Prune agreements for proven reasons, restore them, and confirm all that can be confirmed."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from code_intel.chunking.agreement import render
from code_intel.config import Settings
from code_intel.errors import NotFoundError
from code_intel.index.facade import Index
from code_intel.learned.files import trash
from code_intel.learned.files.agreements import find
from code_intel.learned.files.changes import sync
from code_intel.learned.files.confirm import candidates, confirm_all
from code_intel.learned.files.prune import prune
from code_intel.learned.files.restore import restore
from code_intel.learned.history.feedback import note
from code_intel.learned.learn import learn
from code_intel.learned.status.agreement_status import standings
from code_intel.records import Agreement, FileReference
from learned.builders import NOW, agreements_of, file_contents, pairs_of, project, rewrite

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
    config = project(tmp_path)
    for item, confirmed in (
        (agreement("holds", "keeps"), True),
        (agreement("gone", "vanished"), True),
        (agreement("aged", "other", OLD), True),
        (agreement("young", "keeps"), False),
        (agreement("stale", "keeps", OLD), False),
    ):
        learn(config, item, confirmed=confirmed, now=datetime.fromisoformat(item.learned_at))
    twin = render(replace(agreement("holds", "keeps"), evidence=("another",)))
    (config.agreements / "twin.md").write_text(twin, encoding="utf-8")
    sync(config, NOW)
    return config


@pytest.fixture
def forest(config: Settings) -> Iterator[Index]:
    with Index(config.forest) as index:
        index.complete(words_only=True)
        yield index


def terms(config: Settings) -> set[str]:
    """Return the terms of the agreements, which are those of the pairs."""
    keys = agreements_of(config).keys()
    assert keys == pairs_of(config).keys()
    return {term for term, _ in keys}


def statuses(config: Settings, forest: Index) -> dict[str, str]:
    """Return the status of each agreement by its term."""
    found = standings(config, forest, now=NOW)
    return {each.entry.key[0]: each.validity for each in found if each.entry.key}


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
def test_chosen_reasons_move_agreements_and_their_pairs(
    config: Settings, forest: Index, reasons: tuple[str, ...], goes: set[str]
) -> None:
    before = file_contents(config.root)
    said = prune(config, forest, reasons, now=NOW, dry=True)
    assert file_contents(config.root) == before
    done = prune(config, forest, reasons, now=NOW)
    assert done == said
    assert {item.entry.key[0] for item in done if item.entry.key} == goes
    assert terms(config) == EVERYTHING - goes
    assert {kept.origin for kept in trash.contents(config)} == {
        name for item in done for name in item.files
    }
    assert not sync(config, NOW).steps
    assert not prune(config, forest, reasons, now=NOW)


def test_pruned_agreements_are_restored_unchanged(config: Settings, forest: Index) -> None:
    before = {path.name: path.read_bytes() for path in config.agreements.glob("*.md")}
    prune(config, forest, ("broken", "expired", "unconfirmed"), now=NOW)
    for kept in trash.contents(config):
        restore(config, kept.name, now=NOW)
    assert {path.name: path.read_bytes() for path in config.agreements.glob("*.md")} == before
    assert terms(config) == EVERYTHING
    wanted = {"gone": "broken", "aged": "expired", "stale": "unconfirmed"}
    assert statuses(config, forest).items() >= wanted.items()


def test_all_agreements_can_be_pruned_at_once(config: Settings, forest: Index) -> None:
    (config.root / "a.py").write_text("", encoding="utf-8")
    forest.complete(words_only=True)
    assert len(prune(config, forest, now=NOW)) == 5
    assert terms(config) == set()
    assert not sync(config, NOW).steps


def test_of_two_files_of_a_key_one_stays_with_both_claims(config: Settings, forest: Index) -> None:
    (done,) = prune(config, forest, ("twin",), now=NOW)
    entry = find(config.agreements, ("holds", "keeps"))
    assert entry
    assert entry.agreement
    assert (entry.other_paths, set(entry.agreement.evidence)) == ((), {"e", "another"})
    assert [kept.origin for kept in trash.contents(config)] == list(done.files)
    assert terms(config) == EVERYTHING
    assert not prune(config, forest, ("twin",), now=NOW)


def test_incomplete_index_prunes_nothing(config: Settings) -> None:
    before = file_contents(config.root)
    with Index(config.forest) as index:
        for dry in (True, False):
            with pytest.raises(NotFoundError, match="incomplete") as refused:
                prune(config, index, now=NOW, dry=dry)
            assert "sync" in refused.value.hint
        assert file_contents(config.root) == before
        assert len(prune(config, index, ("unconfirmed",), now=NOW)) == 1


def test_index_without_files_prunes_nothing(config: Settings) -> None:
    (config.root / "a.py").unlink()
    for path in config.root.glob("*.md"):
        path.unlink()
    with Index(config.forest) as index:
        index.complete(words_only=True)
        if not index.freshness().files:
            with pytest.raises(NotFoundError, match="no files"):
                prune(config, index, now=NOW)
    assert terms(config) == EVERYTHING


def test_confirm_all_leaves_out_agreements_with_an_obstacle(
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
    assert {statuses(config, forest)[term] for term, _ in done} == {"valid"}
    again = candidates(standings(config, forest, now=NOW), forest)
    assert {item.entry.key[0] for item in again if item.entry.key} == {
        "changed", "doubted", "missing",
    }  # fmt: skip
    assert not sync(config, NOW).steps


def test_candidate_edited_since_is_not_confirmed(config: Settings, forest: Index) -> None:
    found = candidates(standings(config, forest, now=NOW), forest)
    young = next(item for item in found if item.entry.key == ("young", "keeps"))
    rewrite(young.entry.path, lambda text: text.replace("- e\n", "- forged\n"))
    assert confirm_all(config, [young], now=NOW) == []
    assert b"confirmed: true" not in young.entry.path.read_bytes()
