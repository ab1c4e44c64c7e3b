"""A session is described in order, one line per event, whatever its journal holds."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_intel.foundation.text import hidden_character
from code_intel.session import evidence, steps
from code_intel.session.evidence import CallEvidence, HypothesisAnswer
from code_intel.session.phases import Event, Intent, Phase
from code_intel.session.relevance import confirm_symbols
from code_intel.session.replay import apply
from code_intel.session.requirements import submit_understanding
from code_intel.session.state import JournalRecord, Session, Step
from code_intel.session.story import DESCRIPTIONS, Story, StoryLine, describe, duration, with_notes
from planted import pieces, planted
from session.sessions import (
    FACTS,
    FILES,
    KNOWN,
    QUERY,
    SYMBOLS,
    first_record,
    found,
    map_answer,
    quoted,
    submission,
)

SLOTS = {
    "target_feature": "ログイン",
    "observed_issue": "エラー画面が真っ白になる",
    "desired_action": "直してほしい",
}


class Writer:
    """A journal in memory: each step is applied to the session as it would be on disk."""

    def __init__(self, intent: Intent = Intent.MODIFY, query: str = QUERY) -> None:
        self.records = [first_record(intent, query)]
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
        return self.add(*steps.set_frame(self.session, quoted(**SLOTS)))

    def explored(self) -> "Writer":
        return self.add(
            found("find_definitions", "AuthService", FILES[0], symbols=["AuthService"]),
            found("find_references", "AuthService", *FILES[1:]),
        )

    def doubted(self, **less: int) -> "Writer":
        """Submit an understanding that lacks something."""
        short = submission(**less)
        return self.add(submit_understanding(self.session, short, FACTS).step)

    def supposed(self, text: str, confidence: str) -> "Writer":
        hypotheses = [(text, confidence)]
        return self.add(evidence.submit_semantic(self.session, hypotheses, "context_fragmented"))

    def verified(self, status: str, proof: CallEvidence) -> "Writer":
        (hypothesis,) = self.session.hypotheses
        answers = [HypothesisAnswer(hypothesis.text, status, proof)]
        return self.add(evidence.submit_verification(self.session, answers, KNOWN).step)

    def told(self) -> list[tuple[str, str]]:
        return said(describe(self.records))


def said(story: Story) -> list[tuple[str, str]]:
    return [(line.what, line.text) for line in story.lines]


def whole() -> Writer:
    """Return a session that goes through every phase and teaches a pair."""
    writer = Writer().framed().explored().doubted(symbols=1, files=1, patterns=0)
    writer.supposed("AuthService checks it", "high")
    writer.add(found("search_text", "AuthService", FILES[0]))
    proof = CallEvidence("search_text", "AuthService", "it is called there", FILES[:1])
    writer.verified("confirmed", proof)
    writer.add(steps.add_explored(writer.session, FILES[1:2], FILES))
    writer.add(steps.learned("ログイン", "AuthService"))
    return writer.add(steps.outcome("success", {"root_cause": "no check", "failure_point": None}))


def test_every_event_has_a_description() -> None:
    assert DESCRIPTIONS.keys() | {Event.CALLED} == set(Event)


def test_a_whole_session_is_described_in_order() -> None:
    assert whole().told() == [
        ("asked", f"MODIFY: {QUERY}"),
        (
            "framed",
            "; ".join(f"{name} “{value}” (FACT)" for name, value in SLOTS.items()) + "; risk LOW",
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
        ("found", "search_text AuthService: 1 in src/auth.py"),
        ("confirmed", "“AuthService checks it” by search_text AuthService: it is called there"),
        ("phase", "VERIFICATION → READY after 2 min"),
        ("opened", "src/form.py"),
        ("learned", "ログイン → AuthService"),
        ("ended", "success: no check"),
    ]


def test_each_line_has_its_time_and_phase() -> None:
    writer = whole()
    story = describe(writer.records)
    assert story.session == writer.session
    assert [line.at for line in story.lines] == sorted(line.at for line in story.lines)
    phases = [line.phase for line in story.lines]
    assert phases[0] == Phase.EXPLORATION
    assert phases[-1] == Phase.READY
    moves = [line.text.split(" → ")[1].split()[0] for line in story.lines if line.what == "phase"]
    assert moves == ["SEMANTIC", "VERIFICATION", "READY"]


def test_consecutive_calls_of_one_tool_share_a_line() -> None:
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


def test_an_executed_command_is_described_without_results() -> None:
    writer = Writer().add(
        steps.called("command_execute", "docs write guide"),
        steps.called("command_execute", "docs write notes", ok=False),
    )
    told = ("executed", "command_execute docs write guide; docs write notes: failed")
    assert writer.told()[1:] == [told]


@pytest.mark.parametrize(
    ("score", "confirmed", "told"),
    [
        (0.95, True, "answers “ログイン” with ログイン → AuthService (0.95)"),
        (0.75, True, "answers “ログイン” with ログイン → AuthService (0.75)"),
        (0.2, True, "no answer to “ログイン”; the forest may be searched"),
        (
            0.95,
            False,
            (
                "answers “ログイン” with ログイン → AuthService (0.95); "
                "not READY because the agreement is not confirmed"
            ),
        ),
    ],
)
def test_a_map_answer_has_its_score_and_the_failed_guards(
    score: float, told: str, *, confirmed: bool
) -> None:
    writer = Writer().framed()
    writer.add(map_answer(writer.session, score, confirmed=confirmed))
    assert ("map", told) in writer.told()


def test_rejections_reverts_and_failures_are_described() -> None:
    writer = Writer().framed().explored().doubted(symbols=1).supposed("it is Cart", "low")
    writer.verified("rejected", CallEvidence("search_text", "Cart", "nowhere")).doubted(symbols=1)
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


def test_a_question_is_described_as_read_only() -> None:
    assert ("phase", "READY from the start: the session is read-only") in Writer(
        Intent.QUESTION
    ).told()


def test_hidden_characters_are_escaped_and_secrets_masked() -> None:
    plant = planted()["GitHub classic"]
    text = f"one\ntwo\u202e\x1b[2J {plant.text}"
    writer = Writer(query=text).add(steps.called("search_text", text))
    for _, line in writer.told():
        assert "one two\\u202e\\x1b[2J" in line
        assert not [
            piece for secret in plant.secrets for piece in pieces(secret) if piece in line.lower()
        ]


def test_an_invalid_record_ends_the_story_with_the_reason() -> None:
    writer = whole()
    writer.records[5] = writer.records[5]._replace(data={})
    story = describe(writer.records)
    assert story.session is not None
    assert (story.session.seq, story.session.phase) == (5, Phase.SEMANTIC)
    assert said(story) == writer.told()
    assert said(story)[-1][0] == "phase"
    assert "Event 6 (supposed)" in story.broken
    assert describe([]) == Story((), None)


def test_an_event_of_an_unknown_shape_is_described_by_its_name() -> None:
    writer = Writer()
    step = Step(Event.UNDERSTOOD, {"symbols": [], "files": [], "missing": [], "patterns": 7})
    assert ("understood", "") in writer.add(step).told()


def test_notes_are_inserted_by_time() -> None:
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
def test_a_duration_has_its_two_largest_units(seconds: float, told: str) -> None:
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
def test_any_journal_is_described_without_failing(
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


def test_a_confirmation_that_raises_the_risk_has_the_reason() -> None:
    writer = Writer().framed()
    confirmed = confirm_symbols(
        writer.session, SYMBOLS[:1], "AuthService だ", defined=SYMBOLS, scores={SYMBOLS[0]: 0.4}
    )
    writer.add(confirmed.step)
    told = writer.told()
    assert told[-2][0] == "confirmed"
    assert told[-1] == (
        "risk",
        "MEDIUM: low similarity of the target feature and AuthService",
    )
