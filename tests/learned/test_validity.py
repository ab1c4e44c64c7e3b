"""Validity before age, and what confirmed means."""

import os
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_intel.chunking.agreement import render
from code_intel.config import Settings, load_settings
from code_intel.learned.files.agreements import AgreementEntry, Problem, load, load_all, write
from code_intel.learned.files.merge_agreements import when
from code_intel.learned.history.state import open_state
from code_intel.learned.status.validity import (
    NO_SYMBOL_FACTS,
    READY_ALLOWED,
    SCORE_CAP,
    SERVED,
    SymbolFacts,
    is_confirmed,
    judge,
    lookup_name,
    trust_of,
)
from code_intel.records import READY_SCORE, Agreement, Definition, FileReference, Validity

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
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
def test_a_confirmed_agreement_whose_symbol_is_unchanged_is_valid_at_any_age() -> None:
    assert status() == status(days=10_000) == "valid"


@pytest.mark.covers("rule.validity.changed")
def test_a_changed_span_is_changed_and_one_equal_definition_is_enough() -> None:
    assert status(known=facts("d2", "d3")) == "changed"
    assert status(known=facts("d2", "d1")) == "valid"


def test_of_equal_names_only_the_one_in_its_own_files_counts() -> None:
    mine = replace(LOGIN, files=(FileReference("b.py", 3),))
    here = Definition("login", "AuthService.login", "method", "b.py", 3, 5, "", "python", "d2")
    known = SymbolFacts(complete=True, definitions=(*facts("d1").definitions, here))
    assert status(mine, known) == "changed"
    assert status(replace(mine, digest="d2"), known) == "valid"


def test_a_symbol_that_moved_is_as_agreed_where_one_definition_alone_proves_it() -> None:
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


def test_a_rename_that_is_proven_is_a_change_and_says_the_new_name() -> None:
    known = SymbolFacts(complete=True, heirs=(HEIR,))
    agreed = replace(LOGIN, body="b1")
    validity, reasons = judge(entry_of(agreed), known, confirmed=True, now=NOW, expire_days=30)
    assert validity == "changed"
    assert reasons == ("Its symbol was renamed to AuthService.enter (a.py:3), with the same text.",)
    assert known.heir == HEIR


def test_a_name_that_is_still_there_or_two_heirs_prove_no_rename() -> None:
    agreed = replace(LOGIN, body="b1")
    assert SymbolFacts(True, facts("d2").definitions, (HEIR,)).heir is None  # noqa: FBT003 - by position
    two = SymbolFacts(complete=True, heirs=(HEIR, replace(HEIR, qualified="Door.enter")))
    validity, reasons = judge(entry_of(agreed), two, confirmed=True, now=NOW, expire_days=30)
    assert validity == "broken"
    assert "Door.enter" in reasons[0]


@pytest.mark.covers("rule.validity.broken")
def test_a_symbol_gone_from_a_complete_index_is_broken() -> None:
    assert status(known=facts()) == "broken"


@pytest.mark.covers("rule.validity.unchecked")
def test_an_incomplete_index_proves_nothing() -> None:
    assert status(known=facts(complete=False)) == "unchecked"
    assert status(known=facts("d2", complete=False)) == "unchecked"
    assert status(known=NO_SYMBOL_FACTS) == "unchecked"


@pytest.mark.covers("rule.validity.expired")
def test_without_proof_an_agreement_expires_after_thirty_days_without_use() -> None:
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


def test_a_time_in_the_future_expires_nothing() -> None:
    assert status(replace(LOGIN, digest="", learned_at="2999-01-01T00:00:00+00:00")) == "valid"


TIMES = st.datetimes(timezones=st.timezones() | st.none())


@settings(deadline=None)
@given(TIMES, st.datetimes(timezones=st.just(UTC)), st.none() | TIMES, st.integers(0, 36500))
def test_whatever_the_clocks_say_a_proven_symbol_stays_valid_and_no_future_expires(
    learned: datetime, now: datetime, used: datetime | None, days: int
) -> None:
    """Clocks set back, years beyond 2038, offsets and times without one."""
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
def test_what_nobody_confirmed_is_unconfirmed() -> None:
    assert status(confirmed=False) == "unconfirmed"
    assert status(confirmed=False, known=NO_SYMBOL_FACTS) == "unconfirmed"
    assert status(confirmed=False, known=facts()) == "broken"
    assert status(confirmed=False, known=facts("d2")) == "changed"


def test_every_reason_is_given_and_a_valid_one_has_none() -> None:
    entry = entry_of(replace(LOGIN, digest=""))
    validity, reasons = judge(
        entry, NO_SYMBOL_FACTS, confirmed=False, now=NOW + timedelta(days=99), expire_days=30
    )
    assert (validity, len(reasons)) == ("unconfirmed", 3)
    assert judge(entry_of(LOGIN), facts("d1"), confirmed=True, now=NOW, expire_days=30)[1] == ()


@pytest.mark.covers("rule.validity: conflict invalid")
@pytest.mark.parametrize("problem", ["invalid", "conflict"])
def test_an_unreadable_file_is_what_its_problem_says(problem: Problem) -> None:
    entry = AgreementEntry(Path("x.md"), None, "0", problem, "why")
    judged = judge(entry, facts("d1"), confirmed=True, now=NOW, expire_days=30)
    assert judged == (problem, ("why",))


def test_the_tables_cover_every_validity() -> None:
    every = set(get_args(Validity))
    assert set(SCORE_CAP) == every
    assert every - SERVED == {"broken", "conflict", "invalid"}
    assert {"valid"} == READY_ALLOWED
    assert SCORE_CAP["changed"] < READY_SCORE
    assert all(SCORE_CAP[validity] == 0 for validity in every - SERVED)


@settings(deadline=None)
@given(st.booleans(), st.booleans(), st.lists(st.sampled_from(["d1", "d2"])), st.integers(-99, 999))
def test_only_what_is_confirmed_and_defined_now_leads_to_ready(
    confirmed: bool,  # noqa: FBT001 - hypothesis passes them by position
    complete: bool,  # noqa: FBT001
    digests: list[str],
    days: int,
) -> None:
    known = facts(*digests, complete=complete)
    found = status(known=known, confirmed=confirmed, days=days)
    assert (found in READY_ALLOWED) == (confirmed and complete and "d1" in digests)


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
def test_a_symbol_is_looked_up_without_its_call(symbol: str, name: str) -> None:
    assert lookup_name(symbol) == name


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(
        ["git", "-C", str(folder), *who, *words],
        stdin=subprocess.DEVNULL,
        check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(folder)},
    )


def committed(folder: Path, agreement: Agreement = LOGIN, *init: str) -> tuple[Settings, Path]:
    """Return a project in a subfolder of a repository, as in a monorepo, with one agreement."""
    project = folder / "packages" / "日本 語"
    (project / ".code-intel").mkdir(parents=True)
    config = load_settings(project, {})
    path = write(config.agreements, agreement)
    git(folder, "init", "-q", *init)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "agreed")
    return config, path


def confirmed(config: Settings, path: Path) -> bool:
    with open_state(config.state) as state:
        return is_confirmed(config, load(path), state)


def test_what_is_committed_and_says_confirmed_is_confirmed(tmp_path: Path) -> None:
    assert confirmed(*committed(tmp_path))


def test_a_repository_with_long_object_ids_counts_as_well(tmp_path: Path) -> None:
    assert confirmed(*committed(tmp_path, LOGIN, "--object-format=sha256"))


def test_other_line_ends_in_the_working_tree_are_the_same_content(tmp_path: Path) -> None:
    config, path = committed(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert confirmed(config, path)


def test_a_commit_that_does_not_claim_it_confirms_nothing(tmp_path: Path) -> None:
    assert not confirmed(*committed(tmp_path, replace(LOGIN, confirmed=False)))


def test_one_changed_byte_or_no_commit_confirms_nothing(tmp_path: Path) -> None:
    config, path = committed(tmp_path)
    path.write_bytes(path.read_bytes() + b"\n")
    assert not confirmed(config, path)
    git(tmp_path, "add", "-A")
    assert not confirmed(config, path)
    other = write(config.agreements, replace(LOGIN, symbol="Other"))
    assert not confirmed(config, other)


def test_without_trust_in_git_a_commit_confirms_nothing(tmp_path: Path) -> None:
    config, path = committed(tmp_path)
    assert not confirmed(replace(config, trust_git=False), path)


def test_outside_a_repository_the_claim_is_worth_nothing(tmp_path: Path) -> None:
    config = load_settings(tmp_path, {})
    assert not confirmed(config, write(config.agreements, LOGIN))


def test_the_store_of_this_machine_confirms_a_content_and_no_other(tmp_path: Path) -> None:
    config = load_settings(tmp_path, {})
    path = write(config.agreements, replace(LOGIN, confirmed=False))
    with open_state(config.state) as state:
        state.confirm(load(path).digest, NOW)
    assert confirmed(config, path)
    path.write_text(render(replace(LOGIN, evidence=("forged",))), encoding="utf-8")
    assert not confirmed(config, path)


def test_a_committed_file_vouches_for_no_twin_of_its_key(tmp_path: Path) -> None:
    config, path = committed(tmp_path)
    forged = replace(LOGIN, evidence=("forged",), learned_at="2020-01-01T00:00:00+00:00")
    (config.agreements / "twin.md").write_text(render(forged), encoding="utf-8")
    entries = load_all(config.agreements)
    assert [entry.path for entry in entries] == [path]
    assert not trust_of(config, frozenset()).confirms(entries[0])
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "both")
    assert trust_of(config, frozenset()).confirms(entries[0])
