"""Calls of a session, as functions that return the steps to append or raise the refusal."""

from collections.abc import Callable, Iterable

from code_intel.session import steps
from code_intel.session.evidence import (
    CallEvidence,
    HypothesisAnswer,
    submit_semantic,
    submit_verification,
)
from code_intel.session.relevance import confirm_symbols
from code_intel.session.requirements import Submission, UnderstandingFacts, submit_understanding
from code_intel.session.short_circuit import judge, map_step
from code_intel.session.state import Session, Step
from session.sessions import FACTS, FILES, SYMBOLS, map_facts, quoted, submission

UNKNOWN = FACTS._replace(learned=frozenset())
EMPTY = UnderstandingFacts(symbols_readable=False, nothing_defined=True)
GUESS = "AuthService が ログイン を行う"


def called(tool: str) -> Callable[[Session], Iterable[Step]]:
    return lambda _: [
        steps.called(tool, "AuthService", found=2, files=FILES[:2], symbols=SYMBOLS[:1])
    ]


def from_map(score: float) -> Callable[[Session], Iterable[Step | None]]:
    return lambda session: [
        map_step(
            session,
            judge(map_facts(session, score)),
            query=session.own_words,
            nl_term="ログイン",
            symbol="AuthService",
            score=score,
            symbol_defined=True,
            files=FILES[:1],
        )
    ]


def confirmed(score: float | None) -> Callable[[Session], Iterable[Step]]:
    scores = {} if score is None else {"AuthService": score}
    return lambda session: [
        confirm_symbols(session, SYMBOLS[:1], "AuthService だ", defined=SYMBOLS, scores=scores).step
    ]


def understood(claim: Submission, facts: UnderstandingFacts) -> Callable[[Session], Iterable[Step]]:
    return lambda session: [submit_understanding(session, claim, facts).step]


def verified(status: str) -> Callable[[Session], Iterable[Step]]:
    proof = CallEvidence("find_definitions", "AuthService", "there", FILES[:1])
    return lambda session: [
        submit_verification(
            session, [HypothesisAnswer(item.text, status, proof) for item in session.hypotheses]
        ).step
    ]


MOVES: dict[str, Callable[[Session], Iterable[Step | None]]] = {
    "frame": lambda s: steps.set_frame(s, quoted(target_feature="ログイン")),
    "another feature": lambda s: steps.set_frame(s, quoted(target_feature="エラー画面")),
    "issue": lambda s: steps.set_frame(s, quoted(observed_issue="エラー画面が真っ白")),
    "short issue": lambda s: steps.set_frame(s, quoted(observed_issue="真っ白")),
    "action": lambda s: steps.set_frame(s, quoted(desired_action="直してほしい")),
    "definitions": called("find_definitions"),
    "references": called("find_references"),
    "text": called("search_text"),
    "forest": called("search_forest"),
    "map misses": from_map(0.1),
    "map is likely": from_map(0.75),
    "map is confident": from_map(0.95),
    "confirm high": confirmed(0.9),
    "confirm gray": confirmed(0.4),
    "confirm low": confirmed(0.1),
    "confirm unmeasured": confirmed(None),
    "understand": understood(submission(), UNKNOWN),
    "understand much": understood(submission(5, 2, 4, 2), UNKNOWN),
    "understand little": understood(submission(1, 0, 1, 0), UNKNOWN),
    "nothing there": understood(Submission(()), EMPTY),
    "suppose": lambda s: [submit_semantic(s, [(GUESS, "high")], "architecture_unknown")],
    "confirm the guess": verified("confirmed"),
    "reject the guess": verified("rejected"),
    "explore": lambda s: [steps.add_explored(s, FILES[:1], FILES)],
    "revert": lambda _: [steps.revert("again")],
    "learned": lambda _: [steps.learned("ログイン", "AuthService")],
    "outcome": lambda _: [steps.outcome("success", {})],
}
