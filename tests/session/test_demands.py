"""READY demands evidence in proportion to the risk, and never more than there is."""

from typing import Any

import pytest

from code_intel.errors import RequirementError
from code_intel.session.phases import Event, Intent, Phase
from code_intel.session.replay import apply
from code_intel.session.risk import ChangeFacts, Risk, assess_change, provisional_risk
from code_intel.session.state import JournalRecord, Session
from code_intel.session.understanding.claims import Claim, NewSymbol, Understanding
from code_intel.session.understanding.demands import (
    ClaimFacts,
    UseFacts,
    lacks,
    uses_to_list,
)
from code_intel.session.understanding.denials import denial as denial_in
from code_intel.session.understanding.judging import EvidenceFacts, submit_evidence
from session.sessions import after, first_record, framed

CLAIM = Claim("login", "src/auth.py", "checks the password of a login", "if not password:")
FACTS = ClaimFacts(
    "login",
    "src/auth.py",
    first=10,
    last=19,
    printed=frozenset(range(10, 20)),
    quote_stands=True,
    speaks_of=frozenset({"target_feature"}),
    slot_lines={"target_feature": 12},
    uses=2,
    references_seen=True,
    callers=(UseFacts("src/form.py", 3, printed=True), UseFacts("src/api.py", 8, printed=True)),
    tests=(UseFacts("tests/test_auth.py", 5, printed=True),),
)
"""A claim that meets every demand, and its facts."""
UNREAD_CALLER = (UseFacts("src/form.py", 3, printed=True), UseFacts("src/api.py", 8))
LEVELS = (Risk.LOW, Risk.MEDIUM, Risk.HIGH)


def by_evidence(intent: Intent = Intent.MODIFY) -> Session:
    record = first_record(intent)
    session = apply(None, record._replace(data={**record.data, "demands": "evidence"}))
    return framed(session, target_feature="ログイン", observed_issue="エラー画面が真っ白になる")


@pytest.mark.parametrize(
    ("facts", "claim", "demand", "since"),
    [
        ({}, {}, "", Risk.LOW),
        ({"file": ""}, {}, "defined", Risk.LOW),
        ({"file": "", "places": ("a.py:1", "b.py:2")}, {}, "defined", Risk.LOW),
        ({"is_new": True}, {}, "made_since", Risk.LOW),
        ({"printed": frozenset()}, {}, "read", Risk.LOW),
        ({"printed": frozenset(range(11, 20))}, {}, "read_enough", Risk.LOW),
        ({"printed": frozenset(range(10, 19))}, {}, "read_enough", Risk.LOW),
        ({"printed": frozenset({10}), "was_printed": True}, {}, "read", Risk.LOW),
        ({"last": 200, "printed": frozenset({10, *range(90, 109)})}, {}, "", Risk.LOW),
        ({"last": 200, "printed": frozenset({10, *range(90, 108)})}, {}, "read_enough", Risk.LOW),
        ({"printed": frozenset(), "readable": False}, {}, "", Risk.LOW),
        ({}, {"quote": ""}, "quote", Risk.LOW),
        ({}, {"explanation": ""}, "quote", Risk.LOW),
        ({"quote_stands": False}, {}, "quote", Risk.LOW),
        ({"quote_stands": False, "quote_is_unread": True}, {}, "quote", Risk.LOW),
        ({"plausible": False, "missing_link": "x"}, {}, "plausible", Risk.LOW),
        ({"speaks_of": frozenset({"observed_issue"})}, {}, "feature_quote", Risk.HIGH),
        ({"speaks_of": frozenset({"desired_action"})}, {}, "", Risk.LOW),
        ({"speaks_of": frozenset(), "slot_lines": {}}, {}, "feature_code", Risk.MEDIUM),
    ],
)
@pytest.mark.covers(
    "rule.evidence_need.LOW",
    "rule.evidence_need.MEDIUM",
    "rule.evidence_need.HIGH",
    "rule.evidence_need.long",
)
def test_demand_holds_from_its_risk_on(
    facts: dict[str, Any], claim: dict[str, Any], demand: str, since: Risk
) -> None:
    for risk in LEVELS:
        found = list(lacks(CLAIM._replace(**claim), FACTS._replace(**facts), risk))
        expected = [demand] if demand and LEVELS.index(risk) >= LEVELS.index(since) else []
        assert [lack.demand for lack in found] == expected, risk
        assert all(lack.why and lack.then for lack in found)


@pytest.mark.parametrize(
    ("facts", "files", "since"),
    [
        ({}, [], Risk.LOW),
        ({"references_seen": False, "callers": UNREAD_CALLER}, ["src/api.py"], Risk.MEDIUM),
        ({"references_seen": False, "uses": 0, "callers": ()}, [], Risk.LOW),
        ({"callers": UNREAD_CALLER}, ["src/api.py"], Risk.HIGH),
        ({"callers": ()}, [], Risk.LOW),
        ({"tests": (UseFacts("tests/test_auth.py", 5),)}, ["tests/test_auth.py"], Risk.HIGH),
        ({"tests": ()}, [], Risk.LOW),
    ],
)
@pytest.mark.covers(
    "rule.evidence_need.MEDIUM", "rule.evidence_need.HIGH", "rule.evidence_need.uses"
)
def test_answer_lists_the_uses_that_were_not_printed(
    facts: dict[str, Any], files: list[str], since: Risk
) -> None:
    known = FACTS._replace(**facts)
    for risk in LEVELS:
        expected = files if LEVELS.index(risk) >= LEVELS.index(since) else []
        assert [use.file for use in uses_to_list(CLAIM, known, risk)] == expected, risk
        assert not list(lacks(CLAIM, known, risk))


@pytest.mark.covers("rule.evidence_need.MEDIUM")
def test_refusal_of_a_quote_names_a_line_that_speaks_of_the_feature() -> None:
    (lack,) = lacks(CLAIM, FACTS._replace(speaks_of=frozenset()), Risk.HIGH)
    assert lack.demand == "feature_quote"
    assert "Quote src/auth.py:12" in lack.then
    unread = FACTS._replace(
        last=200,
        printed=frozenset(range(10, 40)),
        speaks_of=frozenset(),
        slot_lines={"target_feature": 90},
    )
    (lack,) = lacks(CLAIM, unread, Risk.MEDIUM)
    assert 'snippets_get(path="src/auth.py", start_line=90, end_line=90)' in lack.then


def test_several_implausible_symbols_are_told_once_what_the_search_ranks_first() -> None:
    unfit = FACTS._replace(plausible=False, missing_link="x", first_hits=("src/auth.py: login",))
    facts = EvidenceFacts(
        (unfit, unfit._replace(name="logout")), (ChangeFacts("login", Intent.MODIFY),) * 2
    )
    with pytest.raises(RequirementError) as refused:
        submit_evidence(by_evidence(), Understanding((CLAIM, Claim("logout"))), facts)
    assert refused.value.details["first_hits"] == ["src/auth.py: login"]
    assert refused.value.hint.count("code that the search ranks first") == 1


@pytest.mark.covers("rule.prints.changed")
def test_refusal_says_which_lines_to_read_again() -> None:
    facts = FACTS._replace(was_printed=True, printed=frozenset({10, 11, 12, 17, 18, 19}))
    (lack,) = lacks(CLAIM, facts, Risk.LOW)
    assert "has changed since it was printed" in lack.why
    assert "src/auth.py:13-16" in lack.then
    assert 'snippets_get(path="src/auth.py", start_line=13, end_line=16)' in lack.then


@pytest.mark.parametrize(
    ("change", "risk", "why"),
    [
        ({}, Risk.LOW, "nothing raises it"),
        ({"intent": Intent.DELETE}, Risk.HIGH, "DELETE"),
        ({"using_files": 11}, Risk.HIGH, "11 files"),
        ({"using_files": 10}, Risk.MEDIUM, "10 files"),
        ({"using_files": 2}, Risk.MEDIUM, "2 files"),
        ({"using_files": 1}, Risk.LOW, ""),
        ({"public": True, "using_files": 1}, Risk.HIGH, "no test touches it"),
        ({"public": True, "using_files": 1, "tests": 1}, Risk.MEDIUM, "no agreement names it"),
        ({"public": True, "using_files": 1, "tests": 1, "in_map": True}, Risk.LOW, ""),
        ({"uncovered": ("cookie",)}, Risk.MEDIUM, "cookie"),
        ({"using_files": 99, "intent": Intent.EXPLORE}, Risk.LOW, "only reads"),
    ],
)
@pytest.mark.covers("rule.risk.change")
def test_risk_follows_from_facts_and_says_why(change: dict[str, Any], risk: Risk, why: str) -> None:
    facts = ChangeFacts("login", **({"intent": Intent.MODIFY} | change))
    level, reason = assess_change([facts])
    assert level is risk
    assert why in reason
    quiet = ChangeFacts("other", Intent.MODIFY)
    assert assess_change([quiet, facts])[0] is risk


@pytest.mark.covers("rule.risk.provisional")
def test_risk_is_provisional_until_the_submission() -> None:
    assert provisional_risk(Intent.DELETE)[0] is Risk.HIGH
    assert {provisional_risk(i)[0] for i in Intent if i is not Intent.DELETE} == {Risk.MEDIUM}
    session = by_evidence()
    assert session.risk is Risk.MEDIUM  # a missing desired_action raises nothing
    assert session.is_risk_provisional
    ready = judged(session, CLAIM, facts=FACTS, change={"using_files": 1})
    assert (ready.risk, ready.is_risk_provisional) == (Risk.LOW, False)


def judged(
    session: Session, *claims: Claim, facts: ClaimFacts, change: dict[str, Any] | None = None
) -> Session:
    """Return the session after a submission in which every claim has the same facts."""
    changes = ChangeFacts("login", session.intent, **(change or {}))
    known = EvidenceFacts((facts,) * len(claims), (changes,) * len(claims))
    return after(session, submit_evidence(session, Understanding(claims), known).step)


@pytest.mark.covers("rule.evidence_need.confirms", "transition.EXPLORATION.understood")
def test_accepted_claim_is_confirmed_and_opens_its_file() -> None:
    session = judged(by_evidence(), CLAIM, facts=FACTS)
    assert session.phase is Phase.READY
    (symbol,) = session.symbols
    assert (symbol.confirmed, symbol.file, symbol.quote) == (True, "src/auth.py", CLAIM.quote)
    assert session.explored_files == ("src/auth.py",)
    used = judged(by_evidence(), CLAIM, facts=FACTS._replace(users=("src/form.py",)))
    assert used.explored_files == ("src/auth.py", "src/form.py")
    assert "login" in session.corroborated_symbols


@pytest.mark.covers("rule.evidence_need.padding")
def test_implausible_symbol_beside_a_plausible_one_is_not_counted() -> None:
    pad = Claim("render", "src/page.py", "draws the page", "return page")
    implausible = FACTS._replace(name="render", file="src/page.py", plausible=False)
    session = by_evidence()
    facts = EvidenceFacts(
        (FACTS, implausible), (ChangeFacts("login", Intent.MODIFY), ChangeFacts("x", Intent.MODIFY))
    )
    verdict = submit_evidence(session, Understanding((CLAIM, pad)), facts)
    assert verdict.accepted == ("login",)
    assert [lack.symbol for lack in verdict.left_out] == ["render"]
    ready = after(session, verdict.step)
    assert [symbol.name for symbol in ready.symbols] == ["login"]
    assert ready.explored_files == ("src/auth.py",)
    alone = EvidenceFacts((implausible,), facts.changes[1:])
    with pytest.raises(RequirementError, match="not a plausible place"):
        submit_evidence(session, Understanding((pad,)), alone)


@pytest.mark.covers("rule.evidence_need.padding")
def test_symbol_that_was_printed_in_part_is_left_out_beside_one_that_was_read() -> None:
    partly = FACTS._replace(name="render", printed=frozenset({10}))
    facts = EvidenceFacts((FACTS, partly), (ChangeFacts("login", Intent.MODIFY),))
    claims = (CLAIM, Claim("render", "", "draws the page", "return page"))
    verdict = submit_evidence(by_evidence(), Understanding(claims), facts)
    assert verdict.accepted == ("login",)
    assert [lack.line for lack in verdict.left_out] == [
        "read_enough: render was printed only in part"
    ]


@pytest.mark.covers("rule.evidence_need.never_printed")
def test_claim_about_code_that_was_never_printed_is_refused_by_name() -> None:
    unread = FACTS._replace(name="render", printed=frozenset())
    facts = EvidenceFacts((FACTS, unread), (ChangeFacts("login", Intent.MODIFY),))
    with pytest.raises(RequirementError, match="render was never printed") as caught:
        submit_evidence(by_evidence(), Understanding((CLAIM, Claim("render"))), facts)
    assert "snippets_get" in caught.value.hint


@pytest.mark.covers("rule.evidence_need.slots")
def test_high_risk_wants_a_quote_for_each_slot_that_the_code_has_words_of() -> None:
    session = by_evidence()
    high = {"using_files": 11}
    with_words = FACTS._replace(slot_lines={"target_feature": 12, "observed_issue": 15})
    with pytest.raises(RequirementError, match="no quote that speaks of observed_issue") as caught:
        judged(session, CLAIM, facts=with_words, change=high)
    assert "Quote src/auth.py:15" in caught.value.hint
    assert judged(session, CLAIM, facts=FACTS, change=high).phase is Phase.READY
    assert judged(session, CLAIM, facts=with_words).phase is Phase.READY


NEW = NewSymbol("logout", "src/auth.py", "login")


@pytest.mark.parametrize(
    ("new", "neighbour", "why"),
    [
        (NEW, FACTS, ""),
        (NEW._replace(file="src/auth_new.py"), FACTS, ""),
        (NEW._replace(file="lib/auth.py"), FACTS, "not beside src/auth.py"),
        (NEW, FACTS._replace(printed=frozenset()), r"login \(beside logout\) was never printed"),
        (NEW, FACTS._replace(plausible=False), "not a plausible place"),
        (NEW, FACTS._replace(file=""), "not defined"),
        (NEW._replace(beside=""), ClaimFacts(""), "names nothing"),
        (NEW._replace(file="../auth.py"), FACTS, "no file of the project"),
    ],
)
@pytest.mark.covers("rule.evidence_need.new_symbols")
def test_new_symbol_needs_its_neighbour_to_be_read(
    new: NewSymbol, neighbour: ClaimFacts, why: str
) -> None:
    facts = EvidenceFacts(neighbours=(neighbour,), existing_files=frozenset({"src/auth.py"}))
    submitted = Understanding((), (new,))
    session = by_evidence(Intent.IMPLEMENT)
    if why:
        with pytest.raises(RequirementError, match=why):
            submit_evidence(session, submitted, facts)
        return
    verdict = submit_evidence(session, submitted, facts)
    assert verdict.notes[0] == f"New code is accepted: logout in {new.file} beside login."
    ready = after(session, verdict.step)
    assert ready.phase is Phase.READY
    assert ready.explored_files == ("src/auth.py",)
    assert ready.planned_files == (() if new.file == "src/auth.py" else (new.file,))


@pytest.mark.parametrize(
    ("file", "neighbour", "why"),
    [
        ("src/switches.py", "src/switches.py", ""),
        ("docs/new.md", "docs/old.md", ""),
        ("docs/old.md", "docs/old.md", "not a plausible place"),
        ("lib/other.py", "lib/other.py", "not a plausible place"),
    ],
)
@pytest.mark.covers("rule.evidence_need.neighbours")
def test_neighbour_need_not_be_plausible_near_the_change_or_for_a_new_file(
    file: str, neighbour: str, why: str
) -> None:
    existing = frozenset({"src/auth.py", "src/switches.py", "docs/old.md", "lib/other.py"})
    facts = EvidenceFacts(
        (FACTS,),
        (ChangeFacts("login", Intent.MODIFY),),
        neighbours=(FACTS._replace(name="beside", file=neighbour, plausible=False),),
        existing_files=existing,
    )
    submitted = Understanding((CLAIM,), (NewSymbol("new", file, "beside"),))
    if why:
        with pytest.raises(RequirementError, match=why):
            submit_evidence(by_evidence(), submitted, facts)
        return
    assert submit_evidence(by_evidence(), submitted, facts).next_phase is Phase.READY


@pytest.mark.covers("rule.evidence_need.greenfield")
def test_empty_project_needs_only_the_new_file() -> None:
    facts = EvidenceFacts(neighbours=(ClaimFacts(""),), nothing_defined=True)
    submitted = Understanding((), (NewSymbol("todo", "todo.py"),))
    session = by_evidence(Intent.IMPLEMENT)
    ready = after(session, submit_evidence(session, submitted, facts).step)
    assert (ready.phase, ready.planned_files) == (Phase.READY, ("todo.py",))
    with pytest.raises(RequirementError, match="names nothing"):
        submit_evidence(by_evidence(Intent.MODIFY), submitted, facts)


@pytest.mark.covers("rule.evidence_need.nothing", "transition.EXPLORATION.doubted")
def test_empty_submission_leads_to_semantic() -> None:
    verdict = submit_evidence(by_evidence(), Understanding(), EvidenceFacts())
    assert (verdict.step.event, verdict.next_phase) == (Event.DOUBTED, Phase.SEMANTIC)


def test_journal_of_an_earlier_version_demands_counts() -> None:
    record: JournalRecord = first_record()
    assert apply(None, record).demands == "counts"


DENIALS = (
    "create_logger has nothing to do with the session cookie",
    "this is not about the recovery log",
    "render is unrelated to the login",
    "it isn't related to cookies at all",
    "toggleTheme is not the place where the total is computed",
    "the cart has no connection to the mail",
    "irrelevant for this request",
    "セッションのCookieとは無関係",
    "ログインとは関係がない",
    "合計金額とは関係ありません",
    "これはログインの処理ではない。",
    "この関数はカートの合計ではありません",
    "Cookieの署名に関連していない",
    "it never involves the cart",
)
"""Sentences that deny the link between a symbol and a request."""
MISSED_DENIALS = (
    "the cookie is signed elsewhere, and this only draws the page",
    "someone else's code, the login lives in another file",
    "合計は別の場所で計算される",
    "export_orders does not handle passwords",
)
"""Denials that the patterns do not recognize (decision 0054).

The last one looks like the description of a defect.
"""
HONEST = (
    "login does not check that the password is not empty",
    "returns what delivery costs by zone, and knows no weight surcharge",
    "it fails when the list is not sorted",
    "not found errors end up here",
    "数量ではなく単価で計算している",
    "空の値のときにエラーにならない",
    "パスワードが空でない場合だけ確認する",
    "カートの合計金額を数量から計算する",
    "端数を切り捨てている",
    "the theme switch, which has no caller since the redesign",
)
"""Sentences with a negation that explain the code."""


@pytest.mark.covers("rule.evidence_need.denial")
def test_denials_are_recognized_and_honest_sentences_are_not() -> None:
    assert [text for text in DENIALS if not denial_in(text)] == []
    assert [text for text in HONEST if denial_in(text)] == []
    assert [text for text in MISSED_DENIALS if denial_in(text)] == []


@pytest.mark.covers("rule.evidence_need.denial")
def test_claim_with_a_denial_is_refused() -> None:
    claim = CLAIM._replace(explanation=DENIALS[0])
    with pytest.raises(RequirementError, match="denies the link"):
        judged(by_evidence(), claim, facts=FACTS)
