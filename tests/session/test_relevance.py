"""The evidence that confirms a symbol depends on its likeness (docs/decisions/0032)."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.errors import SessionError, UsageError
from code_intel.session import steps
from code_intel.session.phases import Intent, Phase
from code_intel.session.relevance import (
    BANDS,
    NO_BAND,
    ConfirmationVerdict,
    SymbolLocation,
    band_of,
    confirm_symbols,
    implementing_symbols,
)
from code_intel.session.risk import Risk, assess_risk
from code_intel.session.state import Session
from session.sessions import (
    SYMBOLS,
    after,
    explored,
    framed,
    low_risk,
    map_answer,
    mapped,
    started,
    understood,
)

PLACES = {"AuthService": [SymbolLocation("src/auth.py", 10, 40)]}


def confirm(
    session: Session, evidence: str, score: float | None, **more: Any
) -> ConfirmationVerdict:
    scores = {} if score is None else {"AuthService": score}
    return confirm_symbols(
        session, ["AuthService"], evidence, defined=SYMBOLS, scores=scores, locations=PLACES, **more
    )


@pytest.mark.parametrize(
    ("likeness", "name"),
    [
        (1.0, "high"),
        (0.6, "high"),
        (0.5999, "gray"),
        (0.3, "gray"),
        (0.2999, "low"),
        (0.0, "low"),
        (None, ""),
        (math.nan, ""),
        (-0.1, ""),
        (1.1, ""),
    ],
)
def test_a_likeness_has_a_band(likeness: float | None, name: str) -> None:
    assert band_of(likeness).name == name


def test_a_lower_band_requires_more() -> None:
    asks = [(band.needs_mention, band.needs_lookup, band.raises_risk) for band in BANDS]
    assert asks == sorted(asks)
    assert NO_BAND[1:] == BANDS[1][1:]


NAMED = "AuthService は資格情報を確かめる"


@pytest.mark.covers("rule.band.high", "rule.band.gray", "rule.band.low", "rule.band.none")
@pytest.mark.parametrize(
    ("score", "looked", "evidence", "says"),
    [
        (0.9, False, "確かめている", ""),
        (0.5, False, NAMED, ""),
        (0.5, False, "確かめている", "mentions neither"),
        (None, False, NAMED, ""),
        (None, False, "確かめている", "is unknown"),
        (0.1, True, NAMED, ""),
        (0.1, False, NAMED, "no call of this session has looked it up"),
        (0.1, True, "確かめている", "mentions neither"),
    ],
)
def test_each_band_requires_its_evidence(
    score: float | None, evidence: str, says: str, *, looked: bool
) -> None:
    session = explored(low_risk()) if looked else low_risk()
    if not says:
        verdict = confirm(session, evidence, score)
        symbol = mapped(after(session, verdict.step))
        assert (symbol.confirmed, symbol.confidence) == (True, 0.7 if score is None else score)
        return
    with pytest.raises(UsageError, match=says) as caught:
        confirm(session, evidence, score)
    assert "confirm_symbol_relevance again" in caught.value.hint
    assert caught.value.details["field"] == "code_evidence"


@pytest.mark.parametrize(
    ("evidence", "names"),
    [
        ("AuthServiceが確かめる", True),
        ("`authservice` checks", True),
        ("src/auth.py:34 で確かめる", True),
        ("auth.py の 10 行目", True),
        ("src/auth.py:9", False),
        ("src/auth.py", False),
        ("line 34", False),
        ("src/form.py:34", False),
        ("AuthServices check", False),
        ("my_AuthService checks", False),
    ],
)
def test_evidence_names_a_symbol_by_its_name_or_one_of_its_lines(
    evidence: str, *, names: bool
) -> None:
    if names:
        assert confirm(low_risk(), evidence, 0.4).bands
        return
    with pytest.raises(UsageError, match="mentions neither"):
        confirm(low_risk(), evidence, 0.4)


@pytest.mark.parametrize("evidence", ["", " ", "..", "→", "x", "あ" * 2001])
def test_evidence_without_words_is_refused(evidence: str) -> None:
    with pytest.raises(UsageError) as caught:
        confirm(low_risk(), evidence, 0.9)
    assert caught.value.details["field"] == "code_evidence"


@pytest.mark.parametrize(
    "evidence",
    [f"{NAMED}, and has nothing to do with the login", f"{NAMED}。ログインとは無関係"],
)
def test_evidence_that_denies_the_link_is_refused(evidence: str) -> None:
    with pytest.raises(UsageError, match="denies") as caught:
        confirm(low_risk(), evidence, 0.9)
    assert caught.value.details["field"] == "code_evidence"


def test_unproven_symbols_are_returned_with_their_next_step() -> None:
    verdict = confirm_symbols(
        low_risk(),
        ["AuthService", "LoginForm", "Ghost"],
        NAMED,
        defined=SYMBOLS,
        scores={"AuthService": 0.5, "LoginForm": 0.1},
    )
    assert list(verdict.bands) == ["AuthService"]
    assert verdict.not_found == ("Ghost",)
    (left,) = verdict.unproven
    assert (left.name, left.band) == ("LoginForm", "low")
    assert left.then == "Look up LoginForm with find_definitions"


def test_without_a_frame_nothing_is_confirmed() -> None:
    with pytest.raises(SessionError) as caught:
        confirm(started(), NAMED, 0.9)
    assert caught.value.error == "no_query_frame"


@pytest.mark.covers("rule.risk.unsure")
@pytest.mark.parametrize(
    ("score", "risk"), [(0.9, Risk.LOW), (0.5, Risk.MEDIUM), (None, Risk.MEDIUM)]
)
def test_an_unsure_symbol_raises_the_risk_by_one_step_once(score: float | None, risk: Risk) -> None:
    session = low_risk()
    for _ in range(3):
        verdict = confirm(session, NAMED, score)
        session = after(session, verdict.step)
        assert verdict.risk is session.risk is risk
    sure = after(session, confirm(session, NAMED, 1.0).step)
    assert sure.risk is risk


def test_the_order_of_frame_and_confirmation_does_not_matter_for_the_risk() -> None:
    issue = {"observed_issue": "エラー"}  # short, which is MEDIUM
    first = framed(after(low_risk(), confirm(low_risk(), NAMED, 0.5).step), **issue)
    then = framed(low_risk(), **issue)
    assert first.risk is after(then, confirm(then, NAMED, 0.5).step).risk is Risk.HIGH


def test_the_risk_of_a_read_only_session_is_at_most_medium() -> None:
    session = framed(started(Intent.INVESTIGATE), target_feature="ログイン")
    assert after(session, confirm(session, NAMED, 0.5).step).risk is Risk.MEDIUM
    assert assess_risk(Intent.QUESTION, session.frame, unsure=True) is Risk.MEDIUM


def test_a_confirmation_in_ready_raises_the_risk_and_keeps_the_phase() -> None:
    session = understood(explored(low_risk()))
    ready = after(session, confirm(session, NAMED, 0.5).step)
    assert (ready.phase, ready.risk) == (Phase.READY, Risk.MEDIUM)
    back = after(ready, steps.revert("again"))
    assert (back.phase, back.risk) == (Phase.EXPLORATION, Risk.MEDIUM)


def test_a_confirmation_never_lowers_the_confidence() -> None:
    session = explored(low_risk())
    session = after(session, confirm(session, NAMED, 0.85).step)
    again = mapped(after(session, confirm(session, NAMED, 0.1).step))
    assert (again.confidence, again.source.value) == (0.85, "FACT")


@given(st.lists(st.floats(0, 1) | st.none(), min_size=1, max_size=6))
def test_confirmations_raise_the_risk_by_one_step_at_most(
    likenesses: list[float | None],
) -> None:
    order = list(Risk)
    session = explored(low_risk())
    for likeness in likenesses:
        before = session.risk
        session = after(session, confirm(session, NAMED, likeness).step)
        assert order.index(session.risk) >= order.index(before)
    assert order.index(session.risk) <= 1
    assert session.unsure == (session.risk is Risk.MEDIUM)


@pytest.mark.parametrize(
    ("term", "symbol", "known"),
    [
        ("login", "AuthService.login", True),
        ("shipping fee", "shippingFee", True),
        ("ログイン", "AuthService.login", False),
        ("ログイン", "ログイン処理", True),
        ("決済", "AuthService", False),
    ],
)
def test_a_symbol_that_shares_a_word_implements_the_feature(
    term: str, symbol: str, *, known: bool
) -> None:
    session = framed(started(query=f"{term} が動かない"), target_feature=term)
    assert bool(implementing_symbols(session, [symbol])) is known
    assert implementing_symbols(session, [symbol], learned={symbol}) == [symbol]
    assert implementing_symbols(session, [symbol], scores={symbol: 0.6}) == [symbol]
    assert bool(implementing_symbols(session, [symbol], scores={symbol: 0.59})) is known
    assert implementing_symbols(started(), [symbol], learned={symbol}) == []


def test_the_symbol_of_a_confident_map_hit_needs_no_evidence() -> None:
    session = low_risk()
    ready = after(session, map_answer(session))
    verdict = confirm(ready, "そこにある", 0.1)
    assert verdict.bands["AuthService"].name == "high"
    assert verdict.risk is Risk.LOW
    back = after(ready, steps.revert("not that"))
    with pytest.raises(UsageError):
        confirm(back, "そこにある", 0.1)
