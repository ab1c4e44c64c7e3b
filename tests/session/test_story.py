"""A session's story: what happened, in its order, a line each, whatever the journal holds."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.foundation.text import hidden_character
from code_intel.session import evidence, short_circuit, steps
from code_intel.session.evidence import CallEvidence, HypothesisAnswer
from code_intel.session.phases import Event, Intent, Phase
from code_intel.session.relevance import confirm_symbols
from code_intel.session.replay import JOURNAL_VERSION, apply
from code_intel.session.requirements import submit_understanding
from code_intel.session.state import JournalRecord, Session, Step
from code_intel.session.story import DESCRIPTIONS, Story, StoryLine, describe, duration, with_notes
from planted import pieces, planted
from session.sessions import FACTS, FILES, KNOWN, SYMBOLS, map_facts, submission

QUERY = "ログインできない。エラー画面が真っ白になる。直してほしい。"
FRAME = ("target_feature", "observed_issue", "desired_action")
VALUES = ("ログイン", "エラー画面が真っ白になる", "直してほしい")


class Writer:
    """A journal in memory: every step is applied to the session as it would be on disk."""

    def __init__(self, intent: Intent = Intent.MODIFY, query: str = QUERY) -> None:
        data = {
            "version": JOURNAL_VERSION,
            "name": "session_20260102_030405_00000001",
            "seal": "0" * 64,
            "intent": intent.value,
            "query": query,
            "root": "/p",
        }
        self.records = [JournalRecord(1, "2026-01-02T03:00:00+00:00", Event.STARTED, data)]
        self.session: Session = apply(None, self.records[0])

    def add(self, *made: Step) -> "Writer":
        for step in made:
            seq = len(self.records) + 1
            at = f"2026-01-02T{3 + seq // 60:02}:{seq % 60:02}:00+00:00"
            record = JournalRecord(seq, at, step.event, json.loads(json.dumps(step.data)))
            self.session = apply(self.session, record)
            self.records.append(record)
        return self

    def framed(self) -> "Writer":
        slots = {
            name: {"value": value, "quote": value}
            for name, value in zip(FRAME, VALUES, strict=True)
        }
        return self.add(*steps.set_frame(self.session, slots))

    def explored(self) -> "Writer":
        return self.add(
            steps.called(
                "find_definitions", "AuthService", found=1, files=FILES[:1], symbols=["AuthService"]
            ),
            steps.called("find_references", "AuthService", found=3, files=FILES[1:]),
        )

    def told(self) -> list[tuple[str, str]]:
        return said(describe(self.records))


def said(story: Story) -> list[tuple[str, str]]:
    return [(line.what, line.text) for line in story.lines]


def whole() -> Writer:
    """The long way: doubted, supposed, verified, learned."""
    writer = Writer().framed().explored()
    short = submission(symbols=1, files=1, patterns=0)
    writer.add(submit_understanding(writer.session, short, FACTS).step)
    writer.add(
        evidence.submit_semantic(
            writer.session, [("AuthService checks it", "high")], "context_fragmented"
        )
    )
    writer.add(steps.called("search_text", "AuthService", found=2, files=FILES[:1]))
    proof = CallEvidence("search_text", "AuthService", "it is called there", FILES[:1])
    answers = [HypothesisAnswer("AuthService checks it", "confirmed", proof)]
    writer.add(evidence.submit_verification(writer.session, answers, KNOWN).step)
    writer.add(steps.add_explored(writer.session, FILES[1:2], FILES))
    writer.add(steps.learned("ログイン", "AuthService"))
    return writer.add(steps.outcome("success", {"root_cause": "no check", "failure_point": None}))


def test_every_event_can_be_told() -> None:
    assert DESCRIPTIONS.keys() | {Event.CALLED} == set(Event)


def test_the_long_way_is_told_as_it_was() -> None:
    assert whole().told() == [
        ("asked", f"MODIFY: {QUERY}"),
        (
            "framed",
            "; ".join(f"{name} “{value}” (FACT)" for name, value in zip(FRAME, VALUES, strict=True))
            + "; risk LOW",
        ),
        ("found", "find_definitions AuthService: 1 in src/auth.py"),
        ("found", "find_references AuthService: 3 in src/form.py, src/users.py and 1 more"),
        (
            "claimed",
            "symbols: AuthService (FACT); entry points: AuthService.run(); files: src/auth.py",
        ),
        ("doubted", "symbols_identified: 1/3; files_analyzed: 1/2; existing_patterns: 0/1"),
        ("phase", "EXPLORATION → SEMANTIC after 5 min"),
        (
            "supposed",
            (
                "“AuthService checks it” (high), because of context_fragmented "
                "(symbols_identified: 1/3; files_analyzed: 1/2; existing_patterns: 0/1)"
            ),
        ),
        ("phase", "SEMANTIC → VERIFICATION after 1 min"),
        ("found", "search_text AuthService: 2 in src/auth.py"),
        ("confirmed", "“AuthService checks it” by search_text AuthService: it is called there"),
        ("phase", "VERIFICATION → READY after 2 min"),
        ("opened", "src/form.py"),
        ("learned", "ログイン → AuthService"),
        ("ended", "success: no check"),
    ]


def test_each_line_says_when_and_in_which_phase() -> None:
    writer = whole()
    story = describe(writer.records)
    assert story.session == writer.session
    assert [line.at for line in story.lines] == sorted(line.at for line in story.lines)
    phases = [line.phase for line in story.lines]
    assert phases[0] == Phase.EXPLORATION
    assert phases[-1] == Phase.READY
    moves = [line.text.split(" → ")[1].split()[0] for line in story.lines if line.what == "phase"]
    assert moves == ["SEMANTIC", "VERIFICATION", "READY"]


def test_calls_of_one_tool_in_a_row_are_one_line() -> None:
    writer = Writer().add(
        *[steps.called("find_definitions", "Cart", found=1, files=["a.py"])] * 3,
        steps.called("find_definitions", "Nothing"),
        steps.called("find_definitions", "Broken", ok=False),
        steps.called("search_text", "x"),
        *[steps.called("find_definitions", f"Name{n}", found=1) for n in range(9)],
    )
    assert writer.told()[1:] == [
        ("found", "find_definitions Cart: 1 in a.py (3 times); Nothing: nothing; Broken: failed"),
        ("found", "search_text x: nothing"),
        ("found", "find_definitions " + "; ".join(f"Name{n}: 1" for n in range(6)) + " and 3 more"),
    ]


def test_a_command_that_was_executed_is_not_told_as_a_search_that_found_nothing() -> None:
    writer = Writer().add(
        steps.called("command_execute", "docs write guide"),
        steps.called("command_execute", "docs write notes", ok=False),
    )
    told = ("executed", "command_execute docs write guide; docs write notes: failed")
    assert writer.told()[1:] == [told]


@pytest.mark.parametrize(
    ("score", "told"),
    [
        (0.95, "answers “ログイン” with ログイン機能 → AuthService (0.95)"),
        (0.75, "answers “ログイン” with ログイン機能 → AuthService (0.75)"),
        (0.2, "no answer to “ログイン”; search_forest is allowed"),
    ],
)
def test_what_the_map_said_is_told_with_its_score(score: float, told: str) -> None:
    writer = Writer().framed()
    verdict = short_circuit.judge(map_facts(writer.session, score))
    step = short_circuit.map_step(
        writer.session,
        verdict,
        query="ログイン",
        nl_term="ログイン機能",
        symbol="AuthService",
        score=score,
    )
    assert step is not None
    assert ("map", told) in writer.add(step).told()


def test_a_hit_that_a_guard_held_back_says_which() -> None:
    writer = Writer().framed()
    facts = map_facts(writer.session)._replace(confirmed=False)
    step = short_circuit.map_step(
        writer.session,
        short_circuit.judge(facts),
        query="ログイン",
        nl_term="t",
        symbol="S",
        score=0.95,
    )
    assert step is not None
    what, text = writer.add(step).told()[2]
    assert (what, text.partition("; ")[2]) == (
        "map",
        "not READY because the agreement is not confirmed",
    )


def test_rejections_ways_back_and_failures_are_told() -> None:
    writer = Writer().framed().explored()
    writer.add(submit_understanding(writer.session, submission(symbols=1), FACTS).step)
    writer.add(
        evidence.submit_semantic(writer.session, [("it is Cart", "low")], "context_fragmented")
    )
    proof = CallEvidence("search_text", "Cart", "nowhere")
    writer.add(
        evidence.submit_verification(
            writer.session, [HypothesisAnswer("it is Cart", "rejected", proof)]
        ).step
    )
    writer.add(submit_understanding(writer.session, submission(symbols=1), FACTS).step)
    writer.add(steps.revert("wrong track"))
    analysis = {"root_cause": "", "failure_point": "SEMANTIC", "user_feedback_summary": "no"}
    told = writer.add(steps.outcome("failure", analysis)).told()
    assert (
        "rejected",
        "“it is Cart” by search_text Cart: nowhere, which matches no call",
    ) in told
    assert ("phase", "VERIFICATION → EXPLORATION after 1 min") in told
    assert ("reverted", "wrong track") in told
    assert told[-1] == ("ended", "failure: failed in SEMANTIC; no")


def test_a_question_is_told_to_write_nothing() -> None:
    assert ("phase", "READY from the start: the session is read-only") in Writer(
        Intent.QUESTION
    ).told()


def test_nothing_is_hidden_and_no_secret_is_told() -> None:
    plant = planted()["GitHub classic"]
    text = f"one\ntwo\u202e\x1b[2J {plant.text}"
    writer = Writer(query=text).add(steps.called("search_text", text))
    for _, line in writer.told():
        assert "one two\\u202e\\x1b[2J" in line
        assert not [
            piece for secret in plant.secrets for piece in pieces(secret) if piece in line.lower()
        ]


def test_what_cannot_be_replayed_ends_the_story_and_says_why() -> None:
    writer = whole()
    writer.records[5] = writer.records[5]._replace(data={})
    story = describe(writer.records)
    assert story.session is not None
    assert (story.session.seq, story.session.phase) == (5, Phase.SEMANTIC)
    assert said(story) == writer.told()
    assert said(story)[-1][0] == "phase"
    assert "Event 6 (supposed)" in story.broken
    assert describe([]) == Story((), None)


def test_an_event_of_another_shape_is_named_at_least() -> None:
    writer = Writer()
    step = Step(Event.UNDERSTOOD, {"symbols": [], "files": [], "missing": [], "patterns": 7})
    assert ("understood", "") in writer.add(step).told()


def test_notes_from_elsewhere_stand_where_they_belong() -> None:
    story = describe(whole().records)
    note = StoryLine("2026-01-02T03:02:30.5+00:00", "", "refused", "too early")
    late = StoryLine("2027-01-01T00:00:00+00:00", "", "decided", "late")
    lines = with_notes(story, [late, note]).lines
    assert [line for line in lines if line.what not in {"refused", "decided"}] == list(story.lines)
    assert lines[2] == note._replace(phase="EXPLORATION")
    assert lines[-1] == late._replace(phase="READY")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0 s"),
        (-5, "0 s"),
        (0.4, "0 s"),
        (59.6, "1 min"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (90_061, "1 d 1 h"),
    ],
)
def test_a_duration_is_told_in_its_two_largest_units(seconds: float, told: str) -> None:
    assert duration(seconds) == told


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.integers(0, 12),
    st.sampled_from(list(Event)),
    st.dictionaries(st.text(max_size=5), values, max_size=3),
)
def test_whatever_a_journal_holds_is_told_without_failing(
    keep: int, event: Event, data: dict[str, Any]
) -> None:
    records = whole().records[:keep]
    records.append(JournalRecord(keep + 1, "2026-01-02T09:00:00+00:00", event, data))
    story = describe(records)
    assert (
        said(story)[: len(told_of(records[:-1]))] == told_of(records[:-1]) or event is Event.CALLED
    )
    assert not any(hidden_character(line.text) for line in story.lines)


def told_of(records: Iterable[JournalRecord]) -> list[tuple[str, str]]:
    return said(describe(records))


def test_a_confirmation_that_raised_the_risk_says_why() -> None:
    writer = Writer().framed()
    confirmed = confirm_symbols(
        writer.session, SYMBOLS[:1], "AuthService だ", defined=SYMBOLS, scores={SYMBOLS[0]: 0.4}
    )
    writer.add(confirmed.step)
    told = writer.told()
    assert told[-2][0] == "confirmed"
    assert told[-1] == (
        "risk",
        "MEDIUM: low likeness of the target feature and AuthService",
    )
