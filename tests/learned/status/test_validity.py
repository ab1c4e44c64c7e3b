"""The status of an agreement: its symbol counts first, then confirmation, then age."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.learned.files.agreements import AgreementEntry, Problem
from code_intel.learned.files.merge_agreements import when
from code_intel.learned.status.agreement_status import HIDDEN_BY_REJECTION
from code_intel.learned.status.validity import (
    NO_SYMBOL_FACTS,
    SCORE_CAP,
    SERVED,
    SymbolFacts,
    judge,
    lookup_name,
)
from code_intel.records import READY_SCORE, Agreement, Definition, FileReference, Validity
from learned.builders import NOW

LOGIN = Agreement(
    "ログイン機能",
    "AuthService.login()",
    evidence=("e",),
    learned_at="2026-02-20T00:00:00+00:00",
    confirmed=True,
    digest="d1",
)


def entry_of(agreement: Agreement) -> AgreementEntry:
    return AgreementEntry(Path("x.md"), agreement, "0")


def facts(*digests: str, complete: bool = True) -> SymbolFacts:
    return SymbolFacts(complete, tuple(
        Definition("login", "AuthService.login", "method", "a.py", 3, 5, "", "python", digest)
        for digest in digests
    ))  # fmt: skip


def status(
    agreement: Agreement = LOGIN,
    known: SymbolFacts | None = None,
    *,
    confirmed: bool = True,
    days: int = 0,
    expire_days: int = 30,
    used: datetime | None = None,
) -> Validity:
    return judge(
        entry_of(agreement),
        facts("d1") if known is None else known,
        confirmed=confirmed,
        now=NOW + timedelta(days=days),
        expire_days=expire_days,
        last_confirmed_use=used,
    )[0]


@pytest.mark.covers("rule.validity.valid")
def test_unchanged_symbol_is_valid_at_any_age() -> None:
    assert status() == status(days=10_000) == "valid"


@pytest.mark.covers("rule.validity.changed")
def test_one_equal_definition_of_several_is_enough() -> None:
    assert status(known=facts("d2", "d3")) == "changed"
    assert status(known=facts("d2", "d1")) == "valid"


def test_only_definitions_in_its_own_files_count() -> None:
    mine = replace(LOGIN, files=(FileReference("b.py", 3),))
    here = Definition("login", "AuthService.login", "method", "b.py", 3, 5, "", "python", "d2")
    known = SymbolFacts(complete=True, definitions=(*facts("d1").definitions, here))
    assert status(mine, known) == "changed"
    assert status(replace(mine, digest="d2"), known) == "valid"


def test_moved_symbol_is_valid_if_one_definition_proves_it() -> None:
    gone = replace(LOGIN, files=(FileReference("gone.py", 1),))
    there = facts("d1").definitions[0]
    known = SymbolFacts(complete=True, definitions=(replace(there, body="b1"),))
    entry = entry_of(gone)
    judged = judge(entry, known, confirmed=True, now=NOW, expire_days=30)
    assert judged == ("valid", ("Its symbol has moved to a.py:3, unchanged.",))
    assert status(gone, facts("d1")) == "changed"  # so short that another one may say the same
    twice = replace(known, definitions=known.definitions * 2)
    assert status(gone, twice) == "changed"
    assert status(gone, facts("d2")) == "changed"


HEIR = Definition("enter", "AuthService.enter", "method", "a.py", 3, 5, "", "python", "d9", "b1")


def test_proven_rename_is_a_change_that_names_the_new_symbol() -> None:
    known = SymbolFacts(complete=True, heirs=(HEIR,))
    agreed = replace(LOGIN, body="b1")
    validity, reasons = judge(entry_of(agreed), known, confirmed=True, now=NOW, expire_days=30)
    assert validity == "changed"
    assert reasons == ("Its symbol was renamed to AuthService.enter (a.py:3), with the same text.",)
    assert known.heir == HEIR


def test_existing_name_or_two_heirs_prove_no_rename() -> None:
    agreed = replace(LOGIN, body="b1")
    assert SymbolFacts(True, facts("d2").definitions, (HEIR,)).heir is None  # noqa: FBT003 - by position
    two = SymbolFacts(complete=True, heirs=(HEIR, replace(HEIR, qualified="Door.enter")))
    validity, reasons = judge(entry_of(agreed), two, confirmed=True, now=NOW, expire_days=30)
    assert validity == "broken"
    assert "Door.enter" in reasons[0]


@pytest.mark.covers("rule.validity.broken")
def test_symbol_missing_in_a_complete_index_is_broken() -> None:
    assert status(known=facts()) == "broken"


@pytest.mark.covers("rule.validity.unchecked")
def test_incomplete_index_proves_nothing() -> None:
    assert status(known=facts(complete=False)) == "unchecked"
    assert status(known=facts("d2", complete=False)) == "unchecked"
    assert status(known=NO_SYMBOL_FACTS) == "unchecked"


@pytest.mark.covers("rule.validity.expired")
def test_unproven_agreement_expires_after_thirty_days_without_use() -> None:
    unproven = replace(LOGIN, digest="")
    assert status(unproven) == "valid"
    assert status(unproven, days=22) == "expired"
    assert status(unproven, days=22, expire_days=0) == "valid"
    assert status(unproven, days=22, used=NOW) == "valid"
    assert status(unproven, days=50, used=NOW) == "expired"
    assert status(replace(unproven, learned_at="")) == "expired"
    by_hand = entry_of(replace(unproven, learned_at=""))
    _, reasons = judge(by_hand, facts("d1"), confirmed=True, now=NOW, expire_days=30)
    assert "map confirm" in reasons[0]  # and no use is said to have failed


TIMES = st.datetimes(timezones=st.timezones() | st.none())


@settings(deadline=None)
@given(TIMES, st.datetimes(timezones=st.just(UTC)), st.none() | TIMES, st.integers(0, 36500))
def test_proven_symbols_and_future_times_never_expire(
    learned: datetime, now: datetime, used: datetime | None, days: int
) -> None:
    used = used.replace(tzinfo=used.tzinfo or UTC) if used else None
    told = {"confirmed": True, "now": now, "expire_days": days, "last_confirmed_use": used}
    proven = entry_of(replace(LOGIN, learned_at=learned.isoformat()))
    assert judge(proven, facts("d1"), **told)[0] == "valid"  # type: ignore[arg-type]
    assert proven.agreement is not None
    unproven = entry_of(replace(proven.agreement, digest=""))
    future = when(learned.isoformat()) >= now or (used is not None and used >= now)
    if future or not days:
        assert judge(unproven, facts("d1"), **told)[0] == "valid"  # type: ignore[arg-type]


@pytest.mark.covers("rule.validity.unconfirmed")
def test_unconfirmed_comes_after_broken_and_changed() -> None:
    assert status(confirmed=False) == "unconfirmed"
    assert status(confirmed=False, known=NO_SYMBOL_FACTS) == "unconfirmed"
    assert status(confirmed=False, known=facts()) == "broken"
    assert status(confirmed=False, known=facts("d2")) == "changed"


def test_every_reason_is_given() -> None:
    entry = entry_of(replace(LOGIN, digest=""))
    validity, reasons = judge(
        entry, NO_SYMBOL_FACTS, confirmed=False, now=NOW + timedelta(days=99), expire_days=30
    )
    assert (validity, len(reasons)) == ("unconfirmed", 3)
    assert judge(entry_of(LOGIN), facts("d1"), confirmed=True, now=NOW, expire_days=30)[1] == ()


@pytest.mark.covers("rule.validity: conflict invalid")
@pytest.mark.parametrize("problem", ["invalid", "conflict"])
def test_unreadable_file_has_the_status_of_its_problem(problem: Problem) -> None:
    entry = AgreementEntry(Path("x.md"), None, "0", problem, "why")
    judged = judge(entry, facts("d1"), confirmed=True, now=NOW, expire_days=30)
    assert judged == (problem, ("why",))


def test_tables_cover_every_status() -> None:
    every = set(get_args(Validity)) - {"superseded", "rejected"}  # of decisions, and in lists
    assert set(SCORE_CAP) == every
    assert every - SERVED == {"broken", "conflict", "invalid"}
    assert SCORE_CAP["changed"] < READY_SCORE
    assert all(SCORE_CAP[validity] == 0 for validity in every - SERVED)
    assert every - HIDDEN_BY_REJECTION == {"broken", "changed", "conflict", "invalid"}


@settings(deadline=None)
@given(st.booleans(), st.booleans(), st.lists(st.sampled_from(["d1", "d2"])), st.integers(-99, 999))
def test_only_confirmed_and_unchanged_agreements_allow_ready(
    confirmed: bool,  # noqa: FBT001 - hypothesis passes them by position
    complete: bool,  # noqa: FBT001
    digests: list[str],
    days: int,
) -> None:
    known = facts(*digests, complete=complete)
    found = status(known=known, confirmed=confirmed, days=days)
    assert (found == "valid") == (confirmed and complete and "d1" in digests)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("AuthService.login()", "AuthService.login"),
        ("login(user, pw)", "login"),
        ("Auth::login", "Auth.login"),
        ("Auth#login", "Auth.login"),
        ("AuthService", "AuthService"),
    ],
)
def test_symbol_is_looked_up_without_its_call(symbol: str, name: str) -> None:
    assert lookup_name(symbol) == name
