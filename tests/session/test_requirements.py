"""submit_understanding has requirements; what is missing decides the next phase."""

import pytest

from code_intel.errors import RequirementError
from code_intel.session import steps
from code_intel.session.frame import SlotSource
from code_intel.session.guidance import SEARCH_FIRST
from code_intel.session.learning import symbols_to_learn
from code_intel.session.phases import Intent, Phase
from code_intel.session.requirements import (
    Submission,
    UnderstandingFacts,
    consistency_errors,
    has_evidence,
    missing,
    submit_understanding,
)
from code_intel.session.risk import Risk
from code_intel.session.state import Session, Step
from code_intel.session.understanding.counts_guidance import REQUIREMENT_REMEDIES
from session.sessions import (
    FACTS,
    FILES,
    SYMBOLS,
    after,
    confirmed,
    explored,
    found,
    framed,
    low_risk,
    mapped,
    started,
    submission,
    understood,
)

ERROR_PAGE = "AuthService は失敗するとエラー画面を出す"


def high_risk() -> Session:
    session = framed(started(), target_feature="ログイン", observed_issue="エラー画面が真っ白")
    return session._replace(risk=Risk.HIGH)


def refusal(
    session: Session, claim: Submission, facts: UnderstandingFacts = FACTS
) -> RequirementError:
    with pytest.raises(RequirementError) as caught:
        submit_understanding(session, claim, facts)
    return caught.value


def test_a_complete_submission_leads_to_ready_and_opens_its_files() -> None:
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
def test_an_incomplete_submission_leads_to_semantic(claim: Submission, lacking: str) -> None:
    session = explored(low_risk())
    verdict = submit_understanding(session, claim, FACTS)
    assert verdict.missing == (lacking,)
    doubted = after(session, verdict.step)
    assert doubted.phase is Phase.SEMANTIC
    assert doubted.missing == (lacking,)


@pytest.mark.parametrize(
    ("entries", "have"),
    [
        (("AuthService.login", "AuthService.login()", " authservice.LOGIN "), 1),
        (("au", "th", "Serv"), 0),
        (("AuthService", "service.py:AuthService"), 1),
    ],
)
def test_an_entry_point_counts_once_and_by_a_whole_name(
    entries: tuple[str, ...], have: int
) -> None:
    session = explored(high_risk())
    claim = submission(5, 2, 4, 2)._replace(
        symbols_identified=("AuthService", *SYMBOLS[1:]), entry_points=entries
    )
    assert f"entry_points: {have}/2" in missing(session, claim, FACTS)


def test_empty_and_repeated_patterns_do_not_count() -> None:
    claim = submission(5, 2, 4)._replace(
        existing_patterns=("..", "--", "aaa", "aa AA", "Errors raise", "errors  raise")
    )
    assert "existing_patterns: 1/2" in missing(explored(high_risk()), claim, FACTS)


@pytest.mark.parametrize("intent", [Intent.INVESTIGATE, Intent.EXPLORE])
def test_reading_needs_one_symbol_and_one_file(intent: Intent) -> None:
    session = explored(started(intent))
    verdict = submit_understanding(session, submission(1, 0, 1, 0), FACTS)
    assert verdict.next_phase is Phase.READY


@pytest.mark.covers("rule.need.HIGH")
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
    session = confirmed(session, evidence=ERROR_PAGE)
    verdict = submit_understanding(session, submission(5, 2, 4, 2), FACTS)
    assert (verdict.missing, verdict.next_phase) == ((), Phase.READY)


def test_without_a_frame_a_writing_session_does_not_reach_ready_by_understanding() -> None:
    session = explored(started())
    lacking = missing(session, submission(5, 2, 4, 2), FACTS)
    assert lacking == [
        "slot_evidence: target_feature not evidenced",
        "slot_evidence: observed_issue not evidenced",
    ]


@pytest.mark.covers("rule.need.tools")
@pytest.mark.parametrize("tool", ["find_definitions", "find_references"])
@pytest.mark.parametrize("failure", [{"ok": False, "found": 3}, {"ok": True, "found": 0}])
def test_a_required_tool_counts_only_if_it_found_something(
    tool: str, failure: dict[str, int]
) -> None:
    other = ({"find_definitions", "find_references"} - {tool}).pop()
    session = after(
        low_risk(),
        steps.called(other, "AuthService", found=1, files=FILES),
        steps.called(tool, "nonsense", ok=bool(failure["ok"]), found=failure["found"]),
    )
    error = refusal(session, submission()).as_dict()
    assert error["missing_requirements"] == [f"required_tools: missing {tool}"]
    assert "Use the tools" in error["hint"]
    assert error["unseen_files"] == []
    assert error["current_phase"] == "EXPLORATION"


@pytest.mark.covers("rule.slip: duplicate unknown_file stray_entry loose_pattern short")
@pytest.mark.parametrize(
    ("claim", "says"),
    [
        (Submission(("AuthService", "AuthService ")), "AuthService  is listed twice"),
        (Submission(("login",) * 5), "login is listed twice"),
        (Submission(("login", "login()")), "is listed twice"),
        (Submission(("ｌogin", "login")), "is listed twice"),
        (Submission(("a",)), "too short"),
        (Submission(("",)), "too short"),
        (submission()._replace(existing_patterns=("--",)), "is too short"),
        (submission()._replace(existing_patterns=("→→",)), "is too short"),
        (Submission(("login", "log\u200bin")), "control character"),
        (Submission(("login",), ("",)), "too short"),
        (Submission(("login",), ("x.login",), ("src/auth.py", "./src/auth.py")), "listed twice"),
        (Submission(("login",), ("Payment.pay",)), "names none of symbols_identified"),
        (Submission(("login",), (), ("src/nowhere.py",)), "does not exist"),
        (Submission(("login",), (), (), ("a pattern",)), "at least one file in files_analyzed"),
    ],
)
def test_a_formal_error_is_refused(claim: Submission, says: str) -> None:
    details = refusal(explored(low_risk()), claim).details
    assert any(says in error for error in details["consistency_errors"])
    assert "submit_understanding again" in details["consistency_hint"]


def test_an_undefined_symbol_is_not_counted_and_stays_a_hypothesis() -> None:
    session = explored(low_risk())
    claim = submission(3)._replace(symbols_identified=(*SYMBOLS[:3], "SessionFactory"))
    verdict = submit_understanding(session, claim, FACTS)
    assert verdict.missing == ("unverified_symbols: SessionFactory",)
    assert verdict.unknown_symbols == ("SessionFactory",)
    assert verdict.next_phase is Phase.SEMANTIC
    symbol = mapped(after(session, verdict.step), "SessionFactory")
    assert symbol.source is SlotSource.HYPOTHESIS


@pytest.mark.covers("rule.need.made_since")
def test_code_added_since_a_writing_session_began_is_not_counted() -> None:
    new_names = FACTS._replace(new_names=frozenset({SYMBOLS[0], FILES[0]}))
    claim = submission()
    lacking = missing(explored(low_risk()), claim, new_names)
    assert {"symbols_identified: 2/3", "files_analyzed: 1/2"} <= set(lacking)
    assert f"made_since: {SYMBOLS[0]}, {FILES[0]}" in lacking
    assert not any(item.startswith(("unverified_symbols", "files_seen")) for item in lacking)
    reading = explored(low_risk(Intent.INVESTIGATE))
    assert missing(reading, claim, new_names) == []


def test_a_symbol_of_a_forest_hit_counts_once_its_definition_was_found() -> None:
    session = after(explored(low_risk()), found("search_forest", "ログイン", symbols=["login"]))
    assert "unverified_symbols: login" in missing(session, submission(), FACTS)
    in_an_opened_file = FACTS._replace(opened=frozenset({"login"}))
    assert missing(session, submission(), in_an_opened_file) == []
    session = after(session, found("find_definitions", "login", symbols=["login"]))
    assert missing(session, submission(), FACTS) == []


NOTHING_KNOWN = FACTS._replace(learned=frozenset())


@pytest.mark.covers("rule.need.feature_named")
def test_a_writing_session_needs_a_symbol_known_to_implement_the_feature() -> None:
    session, claim = explored(low_risk()), submission()
    lacking = missing(session, claim, NOTHING_KNOWN)
    assert [item.split(":")[0] for item in lacking] == ["nl_symbol_mapping"]
    assert missing(session, claim, NOTHING_KNOWN._replace(scores={"LoginForm": 0.59})) == lacking
    assert missing(session, claim, NOTHING_KNOWN._replace(scores={"LoginForm": 0.6})) == []
    assert missing(confirmed(session, "LoginForm"), claim, NOTHING_KNOWN) == []
    shared_word = framed(session, target_feature="login")
    assert missing(shared_word, claim, NOTHING_KNOWN) == []


@pytest.mark.covers("rule.need.slot_evidence")
@pytest.mark.parametrize(
    ("call", "evidenced"),
    [
        (steps.called("search_text", "エラー画面", found=2), True),
        (steps.called("search_text", "エラー画面", found=0), False),
        (steps.called("search_text", "エラー画面", ok=False, found=2), False),
        (steps.called("search_text", "決済", found=2), False),
        (steps.called("get_symbols", "anything", found=2, slot="observed_issue"), True),
        (steps.called("query", "エラー画面が真っ白になる", found=2), False),
        (steps.called("search_forest", "エラー画面", found=2, symbols=["AuthService"]), True),
        (steps.called("search_forest", "エラー画面", found=2, symbols=["LoginForm"]), False),
        (steps.called("search_map", "エラー画面", found=2), False),
    ],
)
def test_a_slot_is_evidenced_by_the_results_of_a_call(call: Step, *, evidenced: bool) -> None:
    session = after(explored(low_risk()), call)
    assert has_evidence(session, "observed_issue") is evidenced


def test_files_are_recorded_relative_to_the_root() -> None:
    session = explored(low_risk())
    claim = submission()._replace(files_analyzed=("./src/auth.py", "/p/src/form.py"))
    facts = FACTS._replace(existing_files=frozenset(claim.files_analyzed))
    assert understood(session, claim, facts).explored_files == FILES[:2]


@pytest.mark.covers("rule.need.never_lowered")
def test_adding_a_fact_again_keeps_its_confidence() -> None:
    session = understood(confirmed(explored(low_risk()), evidence="見た", score=0.85))
    symbol = mapped(session)
    assert (symbol.confidence, symbol.confirmed, symbol.evidence) == (0.85, True, "見た")


LATE = "src/late.py"


def many(count: int) -> list[str]:
    return [LATE, *(f"src/{number}.py" for number in range(count - 1))]


@pytest.mark.parametrize(
    ("call", "opens"),
    [
        (found("search_text", "late", LATE), True),
        (found("search_text", ".", LATE), False),
        (steps.called("search_text", "late", ok=False, found=1, files=[LATE]), False),
        (found("search_forest", "late", LATE), False),
        (found("context_bundle", "late", LATE), False),
        (found("files_search", "late", LATE), False),
        (found("semantic_rerank", "late", LATE), False),
        (found("search_forest", "x y", LATE, symbols=["AuthService"]), True),
        (found("search_forest", "x y", *many(6), symbols=["AuthService"]), False),
        (found("search_text", "import", *many(31)), False),
        (found("search_text", "import", *many(30)), True),
    ],
)
def test_a_file_counts_if_a_call_returned_it_with_few_others(call: Step, *, opens: bool) -> None:
    session = after(explored(low_risk()), call)
    claim = submission()._replace(files_analyzed=(FILES[0], LATE))
    facts = FACTS._replace(existing_files=frozenset({FILES[0], LATE}))
    verdict = submit_understanding(session, claim, facts)
    assert verdict.unseen_files == (() if opens else (LATE,))
    assert verdict.next_phase is (Phase.READY if opens else Phase.SEMANTIC)
    assert (LATE in after(session, verdict.step).explored_files) == opens
    if not opens:
        assert verdict.missing == ("files_analyzed: 1/2", f"files_seen: {LATE} returned by no call")
        for tool in ("find_definitions", "find_references", "search_text (path="):
            assert tool in verdict.hint


def test_files_of_a_map_hit_count_as_seen() -> None:
    session = explored(low_risk())._replace(explored_files=("src/agreed.py",))
    claim = submission()._replace(files_analyzed=(FILES[0], "src/agreed.py"))
    facts = FACTS._replace(existing_files=frozenset(claim.files_analyzed))
    assert submit_understanding(session, claim, facts).missing == ()


@pytest.mark.parametrize("spelled", ["src/auth.py:34", "./src/auth.py:3-9", "/p/src/auth.py#L7"])
def test_a_file_may_have_a_line_number(spelled: str) -> None:
    session = explored(low_risk())
    claim = submission()._replace(files_analyzed=(spelled, FILES[1]))
    for existing in ((spelled, FILES[1]), (*FILES, "/p/src/auth.py")):
        facts = FACTS._replace(existing_files=frozenset(existing))
        ready = understood(session, claim, facts)
        assert (ready.phase, ready.explored_files) == (Phase.READY, FILES[:2])


@pytest.mark.parametrize("tool", ["find_definitions", "find_references"])
@pytest.mark.parametrize("target", ["e", ".", "au", "Auth.e", "()"])
def test_a_call_for_a_fragment_does_not_count_as_use(tool: str, target: str) -> None:
    call = steps.called(tool, target, found=9, files=FILES, symbols=["AuthService.login"])
    session = after(low_risk(), call)
    assert not session.has_used(tool)
    assert session.seen_files == frozenset()
    assert "login" not in session.corroborated_symbols


def test_a_call_with_many_results_shows_only_the_named_symbols() -> None:
    names = [f"part_{number}" for number in range(20)]
    session = after(low_risk(), found("find_definitions", "part", symbols=[*names, "Shop.part"]))
    assert "Shop.part" in session.corroborated_symbols
    assert session.corroborated_symbols.isdisjoint(names)


def test_a_short_name_counts_if_it_is_the_symbol_itself() -> None:
    session = after(
        low_risk(),
        found("find_definitions", "db", symbols=["Shop.db"]),
        found("find_references", "db", symbols=["db"]),
    )
    assert session.has_used("find_definitions")
    assert session.has_used("find_references")


@pytest.mark.parametrize("target", ["AuthService", "AuthService.login", "login", "Auth::login()"])
def test_a_search_for_references_without_results_counts_for_a_defined_symbol(target: str) -> None:
    names = ["AuthService", "AuthService.login", "Auth.login"]
    defined = found("find_definitions", "login", symbols=names)
    nowhere = steps.called("find_references", target, found=0)
    assert after(low_risk(), defined, nowhere).has_used("find_references")
    assert not after(low_risk(), nowhere).has_used("find_references")
    failed = steps.called("find_references", target, ok=False, found=0)
    assert not after(low_risk(), defined, failed).has_used("find_references")


UNREADABLE = UnderstandingFacts(symbols_readable=False)


@pytest.mark.parametrize("intent", [Intent.MODIFY, Intent.INVESTIGATE])
@pytest.mark.parametrize("results", [0, 2])
def test_where_no_symbols_can_be_read_a_search_leads_to_semantic(
    intent: Intent, results: int
) -> None:
    facts = UNREADABLE._replace(existing_files=frozenset({"main.tf"}))
    claim = Submission((), (), ("main.tf",))
    session = low_risk(intent)
    details = refusal(session, claim, facts).details
    assert "required_tools: missing search_text" in details["missing_requirements"]
    call = steps.called("search_text", "bucket", found=results, files=["main.tf"][:results])
    session = after(session, call)
    verdict = submit_understanding(session, claim, facts)
    assert verdict.next_phase is Phase.SEMANTIC
    assert "search_text" in verdict.hint
    assert not after(session, verdict.step).greenfield


@pytest.mark.covers("rule.need.greenfield")
@pytest.mark.parametrize(
    ("intent", "facts", "greenfield"),
    [
        (Intent.IMPLEMENT, UNREADABLE, False),
        (Intent.IMPLEMENT, UNREADABLE._replace(nothing_defined=True), True),
        (Intent.MODIFY, UNREADABLE._replace(nothing_defined=True), False),
        (Intent.IMPLEMENT, UNREADABLE._replace(existing_files=frozenset({"main.tf"})), False),
        (
            Intent.IMPLEMENT,
            UNREADABLE._replace(existing_files=frozenset({"README.md"}), nothing_defined=True),
            True,
        ),
        (Intent.IMPLEMENT, UnderstandingFacts(existing_files=frozenset({"README.md"})), False),
    ],
)
def test_a_greenfield_session_implements_something_where_nothing_is_defined(
    intent: Intent, facts: UnderstandingFacts, *, greenfield: bool
) -> None:
    session = after(explored(low_risk(intent)), steps.called("search_text", "anything"))
    doubted = understood(session, Submission((), (), tuple(facts.existing_files)), facts)
    assert doubted.greenfield is greenfield
    assert not after(doubted, steps.revert("again")).greenfield


def test_a_formal_error_is_reported_with_the_missing_requirements() -> None:
    error = refusal(explored(low_risk()), Submission(("login", "login")))
    assert "twice" in error.message
    assert error.details["missing_requirements"]
    assert "missing_requirements" in error.hint


def test_where_no_symbols_are_read_the_refusal_asks_for_a_search_only() -> None:
    facts = UNREADABLE._replace(nothing_defined=True)
    error = refusal(low_risk(Intent.IMPLEMENT), Submission(()), facts)
    assert "missing search_text" in error.message
    assert error.hint == SEARCH_FIRST


def test_the_hint_of_a_japanese_feature_leads_to_ready() -> None:
    session = explored(high_risk())
    claim = submission(5, 2, 4, 2)
    verdict = submit_understanding(session, claim, NOTHING_KNOWN)
    assert {item.split(":")[0] for item in verdict.missing} == {
        "nl_symbol_mapping",
        "slot_evidence",
    }
    for tool in ("confirm_symbol_relevance", "revert_to_exploration"):
        assert tool in verdict.hint
    session = after(session, verdict.step, steps.revert("confirm first"))
    ready = understood(confirmed(session, evidence=ERROR_PAGE), claim, NOTHING_KNOWN)
    assert ready.phase is Phase.READY
    assert "AuthService" in symbols_to_learn(ready)


def test_every_kind_of_missing_requirement_has_a_remedy() -> None:
    claim = Submission(("Ghost", "Made"), (), ("src/errors.py",))
    session = high_risk()
    facts = FACTS._replace(learned=frozenset(), new_names=frozenset({"Made"}))
    lacking = missing(session, claim, facts)
    assert {item.split(":")[0] for item in lacking} == set(REQUIREMENT_REMEDIES)


@pytest.mark.covers("rule.need.slot_evidence")
@pytest.mark.parametrize("intent", [Intent.IMPLEMENT, Intent.MODIFY])
def test_a_high_risk_query_without_an_issue_can_reach_ready(intent: Intent) -> None:
    session = framed(started(intent), target_feature="ログイン", desired_action="直してほしい")
    assert session.risk is Risk.HIGH
    session = explored(session)
    claim = submission(5, 2, 4, 2)
    assert missing(session, claim, FACTS) == ["slot_evidence: target_feature not evidenced"]
    session = after(session, found("search_text", "ログイン", FILES[0]))
    assert understood(session, claim).phase is Phase.READY


ENTRY_SYMBOLS = ("AuthService.login", "Cart.total")


def entry_errors(entry: str) -> list[str]:
    facts = UnderstandingFacts(frozenset(ENTRY_SYMBOLS))
    errors = consistency_errors(Submission(ENTRY_SYMBOLS, (entry,)), facts)
    return [error for error in errors if error.startswith("entry_points")]


@pytest.mark.parametrize("entry", ["..", "()", "::", ". .", "a.b", "s/c", "l", "t()", "o n", "#1"])
def test_a_fragment_is_no_entry_point(entry: str) -> None:
    assert entry_errors(entry)


@pytest.mark.parametrize(
    "entry", ["AuthService.login", "login()", "auth_service.AuthService", "Cart.total(order)"]
)
def test_an_entry_point_may_be_written_in_several_ways(entry: str) -> None:
    assert not entry_errors(entry)
