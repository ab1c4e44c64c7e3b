"""Hypotheses are confirmed by evidence from calls, or rejected."""

import pytest

from code_intel.errors import PhaseError, RequirementError
from code_intel.session import steps
from code_intel.session.evidence import (
    CallEvidence,
    ForestReason,
    HypothesisAnswer,
    VerificationFacts,
    VerificationVerdict,
    allowed_reasons,
    corroborate,
    submit_semantic,
    submit_verification,
)
from code_intel.session.learning import symbols_to_learn
from code_intel.session.phases import Intent, Phase
from code_intel.session.requirements import Submission, UnderstandingFacts
from code_intel.session.state import Hypothesis, Session, SessionCall, Step
from session.sessions import (
    FILES,
    KNOWN,
    after,
    confirmed,
    explored,
    found,
    low_risk,
    map_answer,
    mapped,
    submission,
    understood,
)

FIRST, SECOND = "login() は AuthService を呼ぶ", "AuthService が失敗するとエラー画面になる"
PROOF = CallEvidence("find_definitions", "AuthService", "src/auth.py:3 にある", (FILES[0],))


def settle(session: Session, answers: list[HypothesisAnswer]) -> VerificationVerdict:
    """Submit answers where an agreement says which symbol implements the feature."""
    return submit_verification(session, answers, KNOWN)


def lacking(
    session: Session, answers: list[HypothesisAnswer], facts: VerificationFacts = KNOWN
) -> RequirementError:
    """Return the refusal of a verification."""
    with pytest.raises(RequirementError) as caught:
        submit_verification(session, answers, facts)
    return caught.value


def doubted() -> Session:
    return understood(explored(low_risk()), submission(symbols=2))


def verifying(*calls: Step) -> Session:
    """Return a session that verifies `FIRST` and `SECOND`, after `calls`."""
    session = doubted()
    step = submit_semantic(session, [(FIRST, "high"), (SECOND, "low")], "no_definition_found")
    return after(session, step, *calls)


def proven(session: Session) -> Session:
    return after(
        session, found("find_definitions", "AuthService", FILES[0], symbols=["AuthService"])
    )


def both(first: str, second: str) -> list[HypothesisAnswer]:
    return [HypothesisAnswer(FIRST, first, PROOF), HypothesisAnswer(SECOND, second, PROOF)]


def one(claim: CallEvidence, beside: CallEvidence = PROOF) -> list[HypothesisAnswer]:
    """Return answers that confirm `FIRST` by `claim` and reject `SECOND`."""
    return [
        HypothesisAnswer(FIRST, "confirmed", claim),
        HypothesisAnswer(SECOND, "rejected", beside),
    ]


@pytest.mark.covers(
    "rule.reason: no_definition_found no_reference_found no_similar_implementation",
    "rule.reason: architecture_unknown context_fragmented",
)
@pytest.mark.parametrize(
    ("missing", "reasons"),
    [
        (["required_tools: missing query"], set()),
        (["symbols_identified: 1/3"], {ForestReason.NO_DEFINITION_FOUND}),
        (
            ["entry_points: 0/1"],
            {ForestReason.NO_DEFINITION_FOUND, ForestReason.NO_REFERENCE_FOUND},
        ),
        (["existing_patterns: 0/1"], {ForestReason.NO_SIMILAR_IMPLEMENTATION}),
        (["files_analyzed: 0/1"], set()),
        (["unverified_symbols: X"], {ForestReason.NO_DEFINITION_FOUND}),
    ],
)
def test_a_reason_must_match_what_is_missing(
    missing: list[str], reasons: set[ForestReason]
) -> None:
    always = {ForestReason.ARCHITECTURE_UNKNOWN, ForestReason.CONTEXT_FRAGMENTED}
    assert set(allowed_reasons(missing)) == reasons | always


@pytest.mark.covers("error.invalid_devrag_reason")
def test_a_wrong_reason_is_refused_with_the_valid_ones() -> None:
    with pytest.raises(RequirementError) as caught:
        submit_semantic(doubted(), [(FIRST, "high")], "no_reference_found")
    error = caught.value.as_dict()
    assert error["error"] == "invalid_devrag_reason"
    assert "no_definition_found" in error["valid_reasons"]


@pytest.mark.parametrize(
    "hypotheses",
    [
        [],
        [("  ", "high")],
        [("a\nb is true", "high")],
        [(FIRST, "certain")],
        [(FIRST, "high"), (f" {FIRST} ", "low")],
        [("x" * 2000, "high")],
        [("空の値を受け入れている", "high")],
        [("it is so", "high")],
    ],
)
def test_unusable_hypotheses_are_refused(hypotheses: list[tuple[str, str]]) -> None:
    with pytest.raises(RequirementError) as caught:
        submit_semantic(doubted(), hypotheses, "architecture_unknown")
    assert caught.value.details["missing_requirements"]


def test_one_confirmed_leads_to_ready_with_the_files_the_call_found() -> None:
    session = proven(verifying())
    verdict = settle(session, both("confirmed", "rejected"))
    assert (verdict.confirmed, verdict.rejected) == ((FIRST,), (SECOND,))
    assert verdict.corroborated == (True, True)
    ready = after(session, verdict.step)
    assert (ready.phase, ready.ready_by) == (Phase.READY, "verification")
    assert FILES[0] in ready.explored_files


def test_all_rejected_leads_back_to_exploration() -> None:
    session = verifying()
    verdict = settle(session, both("rejected", "rejected"))
    back = after(session, verdict.step)
    assert (back.phase, back.hypotheses) == (Phase.EXPLORATION, ())


def test_a_confirmation_needs_a_call_made_in_this_phase() -> None:
    # find_definitions was called, but before this phase
    refusal = lacking(verifying(), both("confirmed", "rejected"))
    assert "in this phase" in refusal.details["missing_requirements"][0]


@pytest.mark.covers("rule.evidence.own_hypothesis")
def test_a_confirmation_needs_a_call_about_its_own_hypothesis() -> None:
    session = verifying(found("search_text", "import", *FILES[:2]))
    claim = PROOF._replace(tool="search_text", target="import")
    refusal = lacking(session, one(claim, claim))
    assert "unrelated to the hypothesis" in refusal.details["missing_requirements"][0]
    call = found("find_definitions", "sign_in", symbols=["AuthService.sign_in"])
    claim = PROOF._replace(target="sign_in")
    assert settle(after(session, call), one(claim, claim)).next_phase is Phase.READY


def test_a_japanese_hypothesis_may_use_words_found_in_the_code() -> None:
    session = after(doubted(), found("search_text", "税計算", FILES[0]))
    text = "税計算が切り捨てている"
    step = submit_semantic(session, [(text, "high")], "architecture_unknown")
    assert [item.text for item in after(session, step).hypotheses] == [text]


@pytest.mark.covers("rule.evidence.files")
@pytest.mark.parametrize(
    "files",
    [
        ("./src/auth.py",),
        ("/p/src/auth.py",),
        ("src/x/../auth.py",),
        (FILES[0], "src/secret.py"),
    ],
)
def test_a_confirmation_opens_the_named_files_that_a_call_has_found(files: tuple[str, ...]) -> None:
    session = proven(verifying())._replace(explored_files=())
    ready = after(session, settle(session, one(PROOF._replace(files=files))).step)
    assert ready.explored_files == (FILES[0],)


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ([HypothesisAnswer(FIRST, "confirmed", PROOF)], f"unanswered: {SECOND}"),
        (
            [*both("confirmed", "rejected"), HypothesisAnswer("other", "rejected", PROOF)],
            "unknown hypothesis",
        ),
        (
            [*both("confirmed", "rejected"), HypothesisAnswer(FIRST, "rejected", PROOF)],
            "answered twice",
        ),
        (both("maybe", "rejected"), "status"),
        (
            [HypothesisAnswer(FIRST, "rejected", PROOF._replace(tool="repo_pack"))],
            "not an evidence tool",
        ),
        ([HypothesisAnswer(FIRST, "rejected", PROOF._replace(result=" "))], "must not be empty"),
        ([HypothesisAnswer(FIRST, "rejected", PROOF._replace(target=""))], "must not be empty"),
        ([], "unanswered"),
    ],
)
def test_every_hypothesis_needs_one_answer_with_complete_evidence(
    answers: list[HypothesisAnswer], says: str
) -> None:
    refusal = lacking(proven(verifying()), answers)
    assert any(says in item for item in refusal.details["missing_requirements"])


def test_hypotheses_are_compared_folded() -> None:
    session = proven(verifying())
    answers = [
        HypothesisAnswer(
            "ｌｏｇｉｎ()  は AUTHSERVICE を呼ぶ".replace("  ", " "), "confirmed", PROOF
        ),
        HypothesisAnswer(SECOND, "rejected", PROOF),
    ]
    assert settle(session, answers).next_phase is Phase.READY


@pytest.mark.parametrize(
    ("tool", "target", "ok", "found", "expected"),
    [
        ("find_definitions", "AuthService", True, 1, True),
        ("find_definitions", "authservice ", True, 1, True),
        ("find_definitions", "AuthService", False, 1, False),
        ("find_definitions", "AuthService", True, 0, False),
        ("find_definitions", "Auth", True, 1, False),
        ("find_references", "AuthService", True, 1, False),
    ],
)
def test_evidence_must_match_a_successful_call(
    tool: str, target: str, *, ok: bool, found: int, expected: bool
) -> None:
    call = SessionCall(9, Phase.VERIFICATION, tool, target, ok, found)
    assert corroborate(PROOF, [call]) is expected


def test_a_confirmation_that_denies_itself_is_refused() -> None:
    denied = PROOF._replace(result="it has nothing to do with the login")
    assert "denies itself" in str(lacking(proven(verifying()), one(denied)).as_dict())
    text = "login is not about AuthService"
    step = submit_semantic(doubted(), [(text, "high")], "no_definition_found")
    answers = [HypothesisAnswer(text, "confirmed", PROOF)]
    assert "denies itself" in str(lacking(proven(after(doubted(), step)), answers).as_dict())


def likely(*calls: Step) -> Session:
    """Return a session in which the map led to VERIFICATION, after `calls`."""
    session = low_risk()
    return after(session, map_answer(session, 0.75, files=FILES[:1]), *calls)


def of_map(session: Session, status: str, claim: CallEvidence) -> list[HypothesisAnswer]:
    """Return the answer to the hypothesis of a map hit."""
    (hypothesis,) = session.hypotheses
    return [HypothesisAnswer(hypothesis.text, status, claim)]


def test_a_likely_map_hit_becomes_the_hypothesis_to_verify() -> None:
    session = proven(likely())
    assert session.explored_files == ("src/auth.py",)
    ready = after(session, settle(session, of_map(session, "confirmed", PROOF)).step)
    assert (ready.ready_by, ready.explored_files) == ("verification", ("src/auth.py",))
    assert (mapped(ready).confirmed, mapped(ready).evidence) == (True, PROOF.result)
    assert "AuthService" in symbols_to_learn(ready)


@pytest.mark.covers("rule.evidence_need.hypothesis_read")
def test_an_agreed_hypothesis_is_confirmed_only_if_its_code_was_read() -> None:
    session = low_risk()._replace(demands="evidence")
    session = proven(after(session, map_answer(session, 0.75, files=FILES[:1])))
    answers = of_map(session, "confirmed", PROOF)
    call = 'snippets_get(path="src/auth.py", start_line=3, end_line=9)'
    refusal = lacking(session, answers, KNOWN._replace(unread={"AuthService": call}))
    assert "AuthService was not printed" in str(refusal)
    assert call in refusal.hint
    assert submit_verification(session, answers, KNOWN).next_phase is Phase.READY


@pytest.mark.covers("rule.evidence.unagreed")
def test_an_unconfirmed_agreement_needs_the_evidence_of_any_hypothesis() -> None:
    session = low_risk()
    step = map_answer(session, status="unconfirmed", confirmed=False)
    session = proven(after(session, step))
    answers, nothing = of_map(session, "confirmed", PROOF), VerificationFacts()
    refusal = lacking(session, answers, nothing)
    keys = [item.split(":")[0] for item in refusal.details["missing_requirements"]]
    assert keys == ["required_tools", "nl_symbol_mapping"]
    assert refusal.hint.startswith("Call find_references for the symbol")
    session = after(session, found("find_references", "AuthService"))
    assert lacking(session, answers, nothing).hint.startswith("Call confirm_symbol_relevance")
    assert submit_verification(confirmed(session), answers).next_phase is Phase.READY


@pytest.mark.covers("rule.short_circuit.refuted")
def test_a_rejected_map_hit_opens_the_forest_and_does_not_come_back() -> None:
    session = likely()
    back = after(session, settle(session, of_map(session, "rejected", PROOF)).step)
    assert back.phase is Phase.EXPLORATION
    assert back.map_missed
    assert back.explored_files == ()
    assert back.symbol("AuthService") is None
    assert after(back, map_answer(back)).phase is Phase.EXPLORATION


@pytest.mark.covers("rule.evidence.map_symbol")
@pytest.mark.parametrize(
    ("tool", "target", "symbols"),
    [
        ("search_text", "import", ()),
        ("search_text", "AuthService|import", ()),
        ("search_text", "AuthServices", ()),
        ("find_definitions", "AuthServiceFactory", ("AuthServiceFactory",)),
        ("query", "does AuthService price the cart", ()),
        ("query", "does AuthService price the cart", ("CartService.price",)),
    ],
)
def test_a_map_hit_is_confirmed_by_evidence_about_its_own_symbol_only(
    tool: str, target: str, symbols: tuple[str, ...]
) -> None:
    session = likely(found(tool, target, *FILES, symbols=symbols))
    claim = CallEvidence(tool, target, "it is there")
    assert "AuthService itself" in lacking(session, of_map(session, "confirmed", claim)).message


def test_a_question_that_found_the_symbol_of_a_map_hit_confirms_it() -> None:
    question = "does AuthService price the cart"
    session = likely(found("query", question, symbols=["AuthService"]))
    answers = of_map(session, "confirmed", CallEvidence("query", question, "it is there"))
    assert settle(session, answers).next_phase is Phase.READY


def test_reverting_a_map_hit_closes_its_files() -> None:
    back = after(likely(), steps.revert("not that"))
    assert (back.phase, back.explored_files) == (Phase.EXPLORATION, ())
    assert back.short_circuit == {}


def test_submissions_out_of_phase_are_refused() -> None:
    with pytest.raises(PhaseError):
        submit_semantic(low_risk(), [(FIRST, "high")], "architecture_unknown")
    with pytest.raises(PhaseError):
        settle(low_risk(), both("confirmed", "rejected"))


@pytest.mark.parametrize("target", [".", "e", " ", "a|", "\\w+", "[a-z]+", "(login)?"])
def test_a_target_that_matches_everything_is_no_evidence(target: str) -> None:
    session = verifying(found("search_text", target, *FILES))
    lacking(session, one(CallEvidence("search_text", target, "seen", FILES)))


def test_evidence_found_in_too_many_files_confirms_but_opens_none() -> None:
    many = tuple(f"src/{number}.py" for number in range(31))
    session = verifying(found("search_text", "login", *many))
    answers = one(CallEvidence("search_text", "login", "everywhere", many))
    after_it = after(session, settle(session, answers).step)
    assert after_it.explored_files == session.explored_files


def test_a_map_hit_whose_files_are_gone_opens_where_its_symbol_is_defined() -> None:
    session = proven(likely()._replace(explored_files=()))
    claim = CallEvidence("find_definitions", "AuthService", "still there")
    ready = after(session, settle(session, of_map(session, "confirmed", claim)).step)
    assert ready.explored_files == FILES[:1]


def test_a_confirmation_that_names_no_files_opens_those_its_call_has_found() -> None:
    session = verifying(found("search_text", "login", "src/z.py"))
    answers = one(CallEvidence("search_text", "login", "one line"))
    assert "src/z.py" in after(session, settle(session, answers).step).explored_files


NEW = "src/shop.py is where the cart will live"


def green_field(intent: Intent = Intent.IMPLEMENT) -> Session:
    """A session in VERIFICATION that has found an empty project."""
    session = after(low_risk(intent), steps.called("search_text", "cart"))
    facts = UnderstandingFacts(symbols_readable=False, nothing_defined=True)
    session = understood(session, Submission(()), facts)
    session = after(session, submit_semantic(session, [(NEW, "high")], "architecture_unknown"))
    return after(session, steps.called("search_text", "shop"))


def test_in_an_empty_project_an_empty_search_opens_the_announced_files() -> None:
    session = green_field()
    claim = CallEvidence(
        "search_text",
        "shop",
        "nothing exists yet",
        ("src/shop.py", "/p/main.py", "../x.py", ".github/x.yml", "/etc/passwd", "src/.env", ""),
    )
    verdict = settle(session, [HypothesisAnswer(NEW, "confirmed", claim)])
    ready = after(session, verdict.step)
    assert (ready.phase, ready.explored_files) == (Phase.READY, ())
    assert ready.planned_files == ("src/shop.py", "main.py")


def test_an_empty_search_is_no_evidence_without_announced_files_or_with_code() -> None:
    bare = CallEvidence("search_text", "shop", "nothing exists yet")
    named = bare._replace(files=("src/shop.py",))
    for session, claim in ((green_field(), bare), (green_field(Intent.MODIFY), named)):
        lacking(session, [HypothesisAnswer(NEW, "confirmed", claim)])


@pytest.mark.covers("rule.evidence.feature_known")
@pytest.mark.parametrize("intent", [Intent.IMPLEMENT, Intent.MODIFY, Intent.DELETE])
def test_verification_also_needs_a_symbol_that_implements_the_feature(intent: Intent) -> None:
    session = proven(verifying()._replace(intent=intent))
    answers = both("confirmed", "rejected")
    refusal = lacking(session, answers, VerificationFacts())
    assert refusal.details["missing_requirements"] == [
        "nl_symbol_mapping: no known symbol implements 'ログイン'"
    ]
    assert refusal.hint.startswith("Call confirm_symbol_relevance")
    assert submit_verification(confirmed(session), answers).next_phase is Phase.READY


def test_a_symbol_that_the_evidence_has_found_may_implement_the_feature() -> None:
    session = proven(verifying())
    facts = VerificationFacts(scores={"AuthService": 0.6})
    answers = both("confirmed", "rejected")
    assert submit_verification(session, answers, facts).next_phase is Phase.READY
    lacking(session, answers, VerificationFacts(scores={"AuthService": 0.59}))


def test_a_read_only_session_and_a_rejection_need_no_such_symbol() -> None:
    session = proven(verifying())
    reading = session._replace(intent=Intent.INVESTIGATE)
    assert submit_verification(reading, both("confirmed", "rejected")).next_phase is Phase.READY
    assert submit_verification(session, both("rejected", "rejected")).rejected == (FIRST, SECOND)


def test_verification_needs_a_target_feature() -> None:
    session = proven(verifying()._replace(frame=None))
    refusal = lacking(session, both("confirmed", "rejected"))
    assert "names no target_feature" in refusal.message
    assert refusal.hint.startswith("Call set_query_frame")


def test_without_readable_symbols_a_hypothesis_must_mention_the_feature() -> None:
    unread = VerificationFacts(symbols_readable=False)
    session = proven(verifying())
    refusal = lacking(session, both("confirmed", "rejected"), unread)
    assert "no confirmed hypothesis mentions 'ログイン'" in refusal.message
    said = "ログインは AuthService にある"
    session = session._replace(hypotheses=(Hypothesis(said),))
    verdict = submit_verification(session, [HypothesisAnswer(said, "confirmed", PROOF)], unread)
    assert verdict.next_phase is Phase.READY


@pytest.mark.parametrize("target", ["import|login", r"\w+login|import"])
def test_every_alternative_of_an_expression_must_concern_the_hypothesis(target: str) -> None:
    session = verifying(found("search_text", target, FILES[0]))
    claim = CallEvidence("search_text", target, "seen")
    assert "unrelated to the hypothesis" in lacking(session, one(claim, claim)).message


def test_a_reason_is_kept_with_what_was_missing() -> None:
    session = doubted()
    step = submit_semantic(session, [(FIRST, "high")], "no_definition_found")
    assert step.data["reason"] == "no_definition_found"
    assert step.data["missing"] == ["symbols_identified: 2/3"]


@pytest.mark.covers("rule.evidence.code_opened")
def test_ready_by_files_without_symbols_opens_no_code_before_a_symbol_is_known() -> None:
    said = "README.md に ログイン の説明がある"
    look = found("search_text", "ログイン", "README.md")
    facts = UnderstandingFacts(existing_files=frozenset({"README.md"}), symbols_readable=False)
    claim = Submission((), (), ("README.md",))
    session = understood(after(low_risk(), look), claim, facts)
    step = submit_semantic(session, [(said, "high")], "architecture_unknown")
    session = after(session, step, look)
    proof = CallEvidence("search_text", "ログイン", "一行", ("README.md",))
    unread = VerificationFacts(symbols_readable=False)
    answers = [HypothesisAnswer(said, "confirmed", proof)]
    session = after(session, submit_verification(session, answers, unread).step)
    assert (session.phase, session.explored_files) == (Phase.READY, ("README.md",))
    code = ["src/auth.py"]
    session = after(session, found("search_text", "login", *code))
    with pytest.raises(RequirementError) as caught:
        steps.add_explored(session, code, code, code)
    assert caught.value.hint.startswith("Call confirm_symbol_relevance")
    assert steps.add_explored(confirmed(session), code, code, code).data["files"] == code
    assert steps.add_explored(session, code, code).data["files"] == code  # a file without symbols
