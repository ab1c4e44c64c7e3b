"""What submit_understanding asks for, and where each shortfall leads."""

import pytest

from code_intel.errors import PhaseError, RequirementError
from code_intel.session import steps
from code_intel.session.frame import SlotSource
from code_intel.session.phases import Intent, Phase
from code_intel.session.requirements import (
    Submission,
    UnderstandingFacts,
    is_confusable,
    missing,
    slot_evidenced,
    submit_understanding,
)
from code_intel.session.risk import Risk
from code_intel.session.state import Session, Step
from session.sessions import (
    FACTS,
    FILES,
    SYMBOLS,
    after,
    explored,
    framed,
    low_risk,
    started,
    submission,
)


def high_risk() -> Session:
    session = framed(started(), target_feature="ログイン", observed_issue="エラー画面が真っ白")
    return session._replace(risk=Risk.HIGH)


def test_everything_met_leads_to_ready_and_opens_the_files() -> None:
    session = explored(low_risk())
    verdict = submit_understanding(session, submission(), FACTS)
    assert (verdict.missing, verdict.confidence, verdict.next_phase) == ((), "high", Phase.READY)
    ready = after(session, verdict.step)
    assert ready.phase is Phase.READY
    assert ready.ready_by == "understanding"
    assert ready.explored_files == FILES[:2]
    assert [symbol.source for symbol in ready.symbols] == [SlotSource.FACT] * 3


@pytest.mark.parametrize(
    ("claim", "lacking"),
    [
        (submission(symbols=2), "symbols_identified: 2/3"),
        (submission(entries=0), "entry_points: 0/1"),
        (submission(files=1), "files_analyzed: 1/2"),
        (submission(patterns=0), "existing_patterns: 0/1"),
    ],
)
def test_too_little_leads_to_semantic_and_is_counted(claim: Submission, lacking: str) -> None:
    session = explored(low_risk())
    verdict = submit_understanding(session, claim, FACTS)
    assert verdict.missing == (lacking,)
    doubted = after(session, verdict.step)
    assert doubted.phase is Phase.SEMANTIC
    assert doubted.missing == (lacking,)


@pytest.mark.parametrize("intent", [Intent.INVESTIGATE, Intent.EXPLORE])
def test_reading_needs_one_symbol_and_one_file(intent: Intent) -> None:
    session = explored(started(intent))
    verdict = submit_understanding(session, submission(1, 0, 1, 0), FACTS)
    assert verdict.next_phase is Phase.READY


@pytest.mark.parametrize("intent", [Intent.IMPLEMENT, Intent.MODIFY, Intent.DELETE])
def test_high_risk_asks_for_more_and_can_reach_ready(intent: Intent) -> None:
    session = explored(high_risk()._replace(intent=intent))
    assert missing(session, submission(), FACTS) == [
        "symbols_identified: 3/5",
        "entry_points: 1/2",
        "files_analyzed: 2/4",
        "existing_patterns: 1/2",
        "slot_evidence: target_feature not evidenced",
        "slot_evidence: observed_issue not evidenced",
    ]
    step, _ = steps.confirm_symbols(
        session,
        ["AuthService"],
        "AuthService.login() で失敗するとエラー画面を出す",
        defined=SYMBOLS,
    )
    session = after(session, step)
    verdict = submit_understanding(session, submission(5, 2, 4, 2), FACTS)
    assert verdict.missing == ()
    assert verdict.next_phase is Phase.READY


def test_without_a_frame_a_writing_session_does_not_reach_ready_by_understanding() -> None:
    session = explored(started())
    lacking = missing(session, submission(5, 2, 4, 2), FACTS)
    assert lacking == [
        "slot_evidence: target_feature not evidenced",
        "slot_evidence: observed_issue not evidenced",
    ]


@pytest.mark.parametrize("tool", ["find_definitions", "find_references"])
@pytest.mark.parametrize("failure", [{"ok": False, "found": 3}, {"ok": True, "found": 0}])
def test_a_required_tool_counts_only_when_it_found_something(
    tool: str, failure: dict[str, int]
) -> None:
    other = ({"find_definitions", "find_references"} - {tool}).pop()
    session = after(
        low_risk(),
        steps.called(other, "AuthService", found=1, files=FILES),
        steps.called(tool, "nonsense", ok=bool(failure["ok"]), found=failure["found"]),
    )
    with pytest.raises(RequirementError) as caught:
        submit_understanding(session, submission(), FACTS)
    error = caught.value.as_dict()
    assert error["missing_requirements"] == [f"required_tools: missing {tool}"]
    assert "Use the tools" in error["hint"]
    assert error["unseen_files"] == []
    assert error["current_phase"] == "EXPLORATION"


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        (Submission(("AuthService", "AuthService ")), "AuthService  is listed twice"),
        (Submission(("login",) * 5), "login is listed twice"),
        (Submission(("login", "login()")), "is listed twice"),
        (Submission(("ｌogin", "login")), "is listed twice"),
        (Submission(("a",)), "too short"),
        (Submission(("",)), "too short"),
        (Submission(("login", "log\u200bin")), "control character"),
        (Submission(("login",), ("",)), "too short"),
        (Submission(("login",), ("x.login",), ("src/auth.py", "./src/auth.py")), "listed twice"),
        (Submission(("login",), ("Payment.pay",)), "names none of symbols_identified"),
        (Submission(("login",), (), ("src/nowhere.py",)), "does not exist"),
        (Submission(("login",), (), (), ("a pattern",)), "at least one of files_analyzed"),
    ],
)
def test_a_formal_slip_is_refused_and_moves_nothing(claim: Submission, says: str) -> None:
    session = explored(low_risk())
    with pytest.raises(RequirementError) as caught:
        submit_understanding(session, claim, FACTS)
    assert any(says in error for error in caught.value.details["consistency_errors"])


def test_an_invented_symbol_is_listed_not_counted_and_stays_a_hypothesis() -> None:
    session = explored(low_risk())
    claim = submission(3)._replace(symbols_identified=(*SYMBOLS[:3], "SessionFactory"))
    verdict = submit_understanding(session, claim, FACTS)
    assert verdict.missing == ("unverified_symbols: SessionFactory",)
    assert verdict.unknown_symbols == ("SessionFactory",)
    assert verdict.next_phase is Phase.SEMANTIC
    mapped = after(session, verdict.step).symbol("SessionFactory")
    assert mapped is not None
    assert mapped.source is SlotSource.HYPOTHESIS


def test_what_the_index_or_the_disk_does_not_know_is_not_counted() -> None:
    session = explored(low_risk())
    claim = submission()._replace(symbols_identified=("login", "x", "y"))
    facts = FACTS._replace(defined=frozenset({"login", "x", "y"}), existing_files=frozenset())
    assert missing(session, claim, facts)[:3] == [
        "symbols_identified: 1/3",
        "entry_points: 0/1",
        "files_analyzed: 0/2",
    ]


def test_a_look_alike_symbol_is_flagged_and_shown_escaped() -> None:
    session = explored(low_risk())
    claim = submission()._replace(symbols_identified=(*SYMBOLS[:3], "\u0410uth"))
    verdict = submit_understanding(session, claim, FACTS)
    assert verdict.confusable == ("\u0410uth",)
    assert verdict.missing == ("unverified_symbols: \\u0410uth",)
    assert not is_confusable("認証Service")


def test_what_only_the_forest_named_counts_once_a_definition_was_found() -> None:
    session = after(
        explored(low_risk()), steps.called("search_forest", "ログイン", found=1, symbols=["login"])
    )
    assert "unverified_symbols: login" in missing(session, submission(), FACTS)
    session = after(session, steps.called("find_definitions", "login", found=1, symbols=["login"]))
    assert missing(session, submission(), FACTS) == []


NOTHING_KNOWN = FACTS._replace(learned=frozenset())


def test_a_japanese_feature_needs_some_bridge_to_english_symbols() -> None:
    session = explored(low_risk())
    lacking = missing(session, submission(), NOTHING_KNOWN)
    assert [item.split(":")[0] for item in lacking] == ["nl_symbol_mapping"]


@pytest.mark.parametrize("score", [0.6, 0.95])
def test_a_calibrated_score_is_a_bridge(score: float) -> None:
    facts = NOTHING_KNOWN._replace(scores={"LoginForm": score})
    assert missing(explored(low_risk()), submission(), facts) == []
    assert missing(
        explored(low_risk()), submission(), NOTHING_KNOWN._replace(scores={"LoginForm": 0.59})
    )


def test_a_confirmed_symbol_is_a_bridge_before_the_submission() -> None:
    session = explored(low_risk())
    step, unknown = steps.confirm_symbols(
        session, ["LoginForm", "Ghost"], "LoginForm は入力を送る", defined=SYMBOLS
    )
    assert unknown == ("Ghost",)
    assert missing(after(session, step), submission(), NOTHING_KNOWN) == []


def test_a_shared_word_is_a_bridge() -> None:
    session = explored(
        framed(
            started(),
            target_feature="login",
            observed_issue="エラー画面が真っ白になる",
            desired_action="直してほしい",
        )
    )
    assert missing(session, submission(), NOTHING_KNOWN) == []


@pytest.mark.parametrize(
    ("call", "evidenced"),
    [
        (steps.called("search_text", "エラー画面", found=2), True),
        (steps.called("search_text", "エラー画面", found=0), False),
        (steps.called("search_text", "エラー画面", ok=False, found=2), False),
        (steps.called("search_text", "決済", found=2), False),
        (steps.called("query", "anything", found=2, slot="observed_issue"), True),
        (steps.called("search_forest", "エラー画面", found=2, symbols=["AuthService"]), True),
        (steps.called("search_forest", "エラー画面", found=2, symbols=["LoginForm"]), False),
        (steps.called("search_map", "エラー画面", found=2), False),
    ],
)
def test_a_slot_is_evidenced_by_what_a_call_found_for_it(call: Step, *, evidenced: bool) -> None:
    session = after(explored(low_risk()), call)
    assert slot_evidenced(session, "observed_issue") is evidenced


def test_files_are_kept_relative_however_they_were_spelled() -> None:
    session = explored(low_risk())
    claim = submission()._replace(files_analyzed=("./src/auth.py", "/p/src/form.py"))
    facts = FACTS._replace(existing_files=frozenset(claim.files_analyzed))
    ready = after(session, submit_understanding(session, claim, facts).step)
    assert ready.explored_files == FILES[:2]


def test_understanding_is_submitted_in_exploration_only() -> None:
    session = explored(low_risk())
    ready = after(session, submit_understanding(session, submission(), FACTS).step)
    with pytest.raises(PhaseError):
        submit_understanding(ready, submission(), FACTS)


def test_adding_a_fact_again_lowers_nothing() -> None:
    session = explored(low_risk())
    step, _ = steps.confirm_symbols(
        session, ["AuthService"], "見た", defined=SYMBOLS, scores={"AuthService": 0.85}
    )
    session = after(session, step)
    session = after(session, submit_understanding(session, submission(), FACTS).step)
    symbol = session.symbol("AuthService")
    assert symbol is not None
    assert (symbol.confidence, symbol.confirmed, symbol.evidence) == (0.85, True, "見た")


def test_facts_are_empty_unless_handed_in() -> None:
    session = explored(low_risk())
    with pytest.raises(RequirementError):
        submit_understanding(session, submission(), UnderstandingFacts())
