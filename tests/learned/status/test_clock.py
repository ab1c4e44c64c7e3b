"""Clocks that go back, jump or have no zone: nothing is lost or expires early."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from code_intel.config import Settings
from code_intel.learned.files.agreements import load, make_key
from code_intel.learned.history.experience import weigh
from code_intel.learned.history.feedback import note
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import confirm, learn
from code_intel.learned.status.validity import NO_SYMBOL_FACTS, judge
from code_intel.records import Agreement
from learned.builders import NOW, pairs_of, project, rewrite

YEAR = timedelta(days=365)
KEY = make_key("ログイン機能", "AuthService")
LOGIN = Agreement(*KEY, evidence=("one",))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return project(tmp_path)


def is_expired(settings: Settings, now: datetime) -> bool:
    (path,) = settings.agreements.glob("*.md")
    with open_state(settings.state) as state:
        use = state.last_uses().get(KEY)
    _, reasons = judge(
        load(path), NO_SYMBOL_FACTS, confirmed=True, now=now, expire_days=30, last_confirmed_use=use
    )
    return any("not used successfully" in reason for reason in reasons)


def test_clock_set_back_a_year_expires_nothing_and_keeps_the_order(settings: Settings) -> None:
    learn(settings, LOGIN, confirmed=True, now=NOW)
    note(settings, KEY, "rejected", words="a", session_id="s1", now=NOW)
    note(settings, KEY, "accepted", words="a", session_id="s2", now=NOW - YEAR)
    with open_state(settings.state) as state:
        assert weigh(state.contested(), NOW - YEAR) == {}
    learn(settings, LOGIN, confirmed=True, now=NOW - YEAR)
    assert not is_expired(settings, NOW - YEAR)
    assert pairs_of(settings).keys() == {KEY}


def test_age_counts_from_the_last_use(settings: Settings) -> None:
    learn(settings, LOGIN, confirmed=True, now=NOW - YEAR)
    assert is_expired(settings, NOW)
    note(settings, KEY, "accepted", session_id="s1", now=NOW - timedelta(days=29))
    assert not is_expired(settings, NOW)
    assert is_expired(settings, NOW + timedelta(days=2))


@pytest.mark.parametrize("year", [2039, 9998])
def test_later_years_are_supported(settings: Settings, year: int) -> None:
    then = datetime(year, 1, 19, 3, 14, 8, tzinfo=UTC)
    learn(settings, LOGIN, confirmed=True, now=then)
    note(settings, KEY, "accepted", session_id="s1", now=then)
    confirm(settings, KEY, now=then + timedelta(days=1))
    assert not is_expired(settings, then + timedelta(days=2))
    with open_state(settings.state) as state:
        assert state.last_uses() == {KEY: then + timedelta(days=1)}


def test_repeated_hour_is_distinguished_by_its_offset(settings: Settings) -> None:
    zone = ZoneInfo("Europe/Berlin")
    autumn = datetime(2026, 10, 25, 2, 30, tzinfo=zone)
    again = autumn.replace(fold=1)
    for number, now in enumerate((again, autumn)):  # reported in the wrong order
        note(settings, KEY, "accepted", session_id=f"s{number}", now=now)
    with open_state(settings.state) as state:
        first, second = (found.at for found in state.experiences())
    assert first.astimezone(UTC) - second.astimezone(UTC) == timedelta(hours=1)
    learn(settings, LOGIN, confirmed=True, now=datetime(2026, 3, 29, 2, 30, tzinfo=zone))
    assert not is_expired(settings, datetime(2026, 4, 28, 2, 29, tzinfo=zone))


@pytest.mark.parametrize(
    ("stamp", "expired"),
    [
        ("2026-02-20T12:00:00+14:00", False),
        ("2025-02-20T12:00:00", True),
        ("2999-01-01T00:00:00", False),
        ("2026-02-20", False),
    ],
)
def test_times_without_a_zone_are_utc_and_future_times_do_not_expire(
    settings: Settings, stamp: str, *, expired: bool
) -> None:
    file = learn(settings, LOGIN, confirmed=True, now=NOW - YEAR).agreement_file
    with open_state(settings.state) as state:
        state.use(KEY, NOW - YEAR)
    rewrite(file, lambda text: text.replace((NOW - YEAR).isoformat(), stamp))
    assert is_expired(settings, NOW) == expired
