"""Reasons to ask the forest, hypotheses, and the evidence that settles them (seed 004 §5.1).

Evidence counts when the session's own call log bears it out: `corroborate`.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from code_intel.session.phases import Phase
from code_intel.session.state import Call, Session, Step

EVIDENCE_TOOLS = (
    "find_definitions",
    "find_references",
    "search_text",
    "analyze_structure",
    "query",
)


class Reason(StrEnum):
    """Why exploration was not enough; `devrag_reason` on the wire."""

    NO_DEFINITION_FOUND = "no_definition_found"
    NO_REFERENCE_FOUND = "no_reference_found"
    NO_SIMILAR_IMPLEMENTATION = "no_similar_implementation"
    ARCHITECTURE_UNKNOWN = "architecture_unknown"
    CONTEXT_FRAGMENTED = "context_fragmented"


class Evidence(NamedTuple):
    """What an answer rests on."""

    tool: str
    target: str
    result: str
    files: tuple[str, ...] = ()


class Answer(NamedTuple):
    """One answer of submit_verification; `status` is `confirmed` or `rejected`."""

    hypothesis: str
    status: str
    evidence: Evidence


class Verification(NamedTuple):
    """A verdict; append `step`, then the session is in `next_phase`."""

    step: Step
    next_phase: Phase
    confirmed: tuple[str, ...]
    rejected: tuple[str, ...]
    corroborated: tuple[bool, ...]


def allowed_reasons(missing: Iterable[str]) -> tuple[Reason, ...]:
    """Return the reasons that fit what the last submission lacked."""


def submit_semantic(session: Session, hypotheses: Sequence[tuple[str, str]], reason: str) -> Step:
    """Take (text, confidence) hypotheses into VERIFICATION; confidence is high, medium or low.

    Raises:
        PhaseError: The session is not in SEMANTIC.
        RequirementError: `invalid_devrag_reason` with `valid_reasons`; or no usable hypothesis.
    """


def corroborate(evidence: Evidence, calls: Iterable[Call]) -> bool:
    """Whether one of `calls` is the evidence: same tool and target, succeeded, found something."""


def calls_since_phase(session: Session) -> tuple[Call, ...]:
    """Return the calls made since the session entered its current phase."""


def submit_verification(session: Session, answers: Sequence[Answer]) -> Verification:
    """Settle every hypothesis: one confirmed leads to READY, all rejected back to EXPLORATION.

    Raises:
        PhaseError: The session is not in VERIFICATION.
        RequirementError: An unanswered or unknown hypothesis, evidence of the wrong form, or a
            confirmation that no call of this phase bears out; details list them.
    """
