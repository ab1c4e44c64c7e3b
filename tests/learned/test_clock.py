"""Clocks that go back, jump or have no zone.

Nothing learned is lost, expires early or gets a wrong weight.
"""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from code_intel.config import Settings, load_settings
from code_intel.learned.files import pairs
from code_intel.learned.files.agreements import load, make_key
from code_intel.learned.files.merge_agreements import when
from code_intel.learned.files.pairs import load as load_pairs
from code_intel.learned.history.experience import weigh
from code_intel.learned.history.feedback import note
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import confirm, learn
from code_intel.learned.status.validity import NO_SYMBOL_FACTS, judge
from code_intel.records import Agreement

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
YEAR = timedelta(days=365)
KEY = make_key("ログイン機能", "AuthService")
LOGIN = Agreement(*KEY, evidence=("one",))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(tmp_path, {})


def is_young(settings: Settings, now: datetime, learned_at: str = "") -> bool:
    """Whether the agreement is not too old, once `learned_at` was written into it."""
    (path,) = settings.agreements.glob("*.md")
    if learned_at:
        text = path.read_text(encoding="utf-8")
        old = next(line for line in text.splitlines() if line.startswith("learned_at:"))
        path.write_text(text.replace(old, f'learned_at: "{learned_at}"'), encoding="utf-8")
    with open_state(settings.state) as state:
        use = state.last_uses().get(KEY)
    _, reasons = judge(
        load(path), NO_SYMBOL_FACTS, confirmed=True, now=now, expire_days=30, last_confirmed_use=use
    )
    return not any("not used successfully" in reason for reason in reasons)


def test_a_clock_set_back_a_year_expires_nothing_and_orders_nothing_wrongly(
    settings: Settings,
) -> None:
    learn(settings, LOGIN, confirmed=True, now=NOW)
    note(settings, KEY, "rejected", words="a", session_id="s1", now=NOW)
    note(settings, KEY, "accepted", words="a", session_id="s2", now=NOW - YEAR)
    with open_state(settings.state) as state:
        assert weigh(state.contested(), NOW - YEAR) == {}
    learn(settings, LOGIN, confirmed=True, now=NOW - YEAR)
    assert is_young(settings, NOW - YEAR)
    assert len(load_pairs(pairs.path_of(settings)).pairs) == 1


def test_age_counts_from_the_last_use_whatever_the_clock_showed(settings: Settings) -> None:
    learn(settings, LOGIN, confirmed=True, now=NOW - YEAR)
    assert not is_young(settings, NOW)
    note(settings, KEY, "accepted", session_id="s1", now=NOW - timedelta(days=29))
    assert is_young(settings, NOW)
    assert not is_young(settings, NOW + timedelta(days=2))


@pytest.mark.parametrize("year", [2038, 2039, 2107, 9998])
def test_later_years_are_years_like_any_other(settings: Settings, year: int) -> None:
    then = datetime(year, 1, 19, 3, 14, 8, tzinfo=UTC)
    learn(settings, LOGIN, confirmed=True, now=then)
    note(settings, KEY, "accepted", session_id="s1", now=then)
    confirm(settings, KEY, now=then + timedelta(days=1))
    assert is_young(settings, then + timedelta(days=2))
    with open_state(settings.state) as state:
        assert state.last_uses() == {KEY: then + timedelta(days=1)}


def test_an_hour_that_comes_twice_or_never_is_told_apart_by_its_offset(settings: Settings) -> None:
    zone = ZoneInfo("Europe/Berlin")
    autumn = datetime(2026, 10, 25, 2, 30, tzinfo=zone)
    again = autumn.replace(fold=1)
    for number, now in enumerate((again, autumn)):  # reported in the wrong order
        note(settings, KEY, "accepted", session_id=f"s{number}", now=now)
    with open_state(settings.state) as state:
        first, second = (found.at for found in state.experiences())
    assert first.astimezone(UTC) - second.astimezone(UTC) == timedelta(hours=1)
    learn(settings, LOGIN, confirmed=True, now=datetime(2026, 3, 29, 2, 30, tzinfo=zone))
    assert is_young(settings, datetime(2026, 4, 28, 2, 29, tzinfo=zone))


@pytest.mark.parametrize(
    ("stamp", "young"),
    [
        ("2026-02-20T12:00:00", True),
        ("2026-02-20T12:00:00+14:00", True),
        ("2025-02-20T12:00:00", False),
        ("2999-01-01T00:00:00", True),
        ("2026-02-20", True),
    ],
)
def test_stamps_without_a_zone_are_utc_and_stamps_of_the_future_expire_nothing(
    settings: Settings, stamp: str, *, young: bool
) -> None:
    learn(settings, LOGIN, confirmed=True, now=NOW - YEAR)
    with open_state(settings.state) as state:
        state.use(KEY, NOW - YEAR)
    assert is_young(settings, NOW, stamp) == young


def test_any_zone_names_the_same_moment() -> None:
    for hours in range(-12, 15):
        zone = timezone(timedelta(hours=hours))
        assert when(NOW.astimezone(zone).isoformat()) == NOW
