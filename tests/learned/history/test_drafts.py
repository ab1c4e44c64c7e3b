"""Drafts of outcomes: private, bounded, and never in the way if they are damaged."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from code_intel.config import Settings
from code_intel.errors import StorageError
from code_intel.foundation import durable
from code_intel.learned.history.drafts import (
    MAX_DRAFT_BYTES,
    MAX_DRAFTS,
    RETENTION_S,
    OutcomeDraft,
    close_draft,
    read_draft,
    read_drafts,
    remove_agreement,
    remove_draft,
    write_draft,
)
from code_intel.records import Agreement, FileReference
from served import settings_of

AGREED = Agreement(
    "送料の計算",
    "shipping_fee",
    ("A session changed `shipping_fee` for this request.",),
    (FileReference("src/cart/shipping.py", 9),),
    intent="MODIFY",
    session_id="session_1",
    digest="d1",
    frame=(("query", "送料を直して"),),
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return the settings of a project with a state folder of its own."""
    root = tmp_path / "project"
    durable.make_folder(root / ".code-intel")
    return replace(settings_of(root), state_dir=tmp_path / "state")


def draft(session: str = "session_1", at: str = "2026-11-24T00:00:00+00:00") -> OutcomeDraft:
    return OutcomeDraft(session, f"{session}.secret", at, ("a.py",), (), (AGREED,), "mark")


def files(settings: Settings) -> list[Path]:
    return sorted((settings.state_dir / "drafts").rglob("*.json"))


def test_what_is_written_is_read(settings: Settings) -> None:
    write_draft(settings, draft())
    assert read_draft(settings, "session_1") == draft()
    write_draft(settings, draft(at="2026-11-24T00:00:01+00:00"))
    assert len(read_drafts(settings)) == 1


def test_a_draft_is_private_and_outside_the_project(settings: Settings) -> None:
    write_draft(settings, draft())
    (file,) = files(settings)
    assert file.stat().st_mode & 0o077 == 0
    assert file.parent.stat().st_mode & 0o077 == 0
    assert not file.is_relative_to(settings.root)


def test_drafts_are_listed_the_newest_first_without_damaged_ones(settings: Settings) -> None:
    write_draft(settings, draft("session_1"))
    write_draft(settings, draft("session_2", "2026-11-24T01:00:00+00:00"))
    write_draft(settings, draft("session_3", "2026-11-24T02:00:00+00:00"))
    files(settings)[2].write_text('{"session": "session_3"', encoding="utf-8")
    assert [each.session for each in read_drafts(settings)] == ["session_2", "session_1"]
    assert read_draft(settings, "session_3") is None


def test_a_draft_ends_with_its_last_agreement(settings: Settings) -> None:
    other = replace(AGREED, symbol="ZONES")
    write_draft(settings, draft()._replace(agreements=(AGREED, other)))
    remove_agreement(settings, "session_1", ("送料の計算", "ZONES"))
    assert read_drafts(settings)[0].agreements == (AGREED,)
    remove_agreement(settings, "session_1", ("送料の計算", "shipping_fee"))
    assert files(settings) == []
    remove_agreement(settings, "session_1", ("送料の計算", "shipping_fee"))


def test_what_does_not_exist_is_neither_closed_nor_removed(settings: Settings) -> None:
    close_draft(settings, "session_1")
    remove_draft(settings, "session_1")
    assert not (settings.state_dir / "drafts").exists()


def test_old_and_superfluous_drafts_are_deleted(settings: Settings) -> None:
    write_draft(settings, draft("session_0"))
    (old,) = files(settings)
    past = time.time() - RETENTION_S - 60
    os.utime(old, (past, past))
    for number in range(1, MAX_DRAFTS + 1):
        (old.parent / f"session_{number}.json").write_bytes(b"{}")
    write_draft(settings, draft("session_last"))
    assert len(files(settings)) == MAX_DRAFTS
    assert not old.exists()
    assert read_draft(settings, "session_last") is not None


def test_a_draft_that_is_too_long_is_refused(settings: Settings) -> None:
    write_draft(settings, draft())
    with pytest.raises(StorageError, match="is longer than"):
        write_draft(settings, draft()._replace(files=("x" * MAX_DRAFT_BYTES,)))
    assert read_draft(settings, "session_1") == draft()
