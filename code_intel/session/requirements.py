"""What a session must have understood before it may write (seed 004 §4.5, docs/decisions/0008).

Three ends: a formal slip or an unused tool is refused and nothing moves; what is short or still a
hypothesis leads to SEMANTIC; everything met leads to READY.
"""

from collections.abc import Mapping
from typing import NamedTuple

from code_intel.session.phases import Phase
from code_intel.session.state import Session, Step

REQUIRED_TOOLS = ("find_definitions", "find_references")
NL_SCORE = 0.6  # calibrated similarity from which a symbol carries a feature's name


class Submission(NamedTuple):
    """What submit_understanding claims."""

    symbols_identified: tuple[str, ...]
    entry_points: tuple[str, ...] = ()
    files_analyzed: tuple[str, ...] = ()
    existing_patterns: tuple[str, ...] = ()
    notes: str = ""


class UnderstandingFacts(NamedTuple):
    """What the index and the disk say about a submission; keys are the submission's own spelling.

    Attributes:
        defined: Symbols that our own index defines.
        existing_files: Files that exist inside the root.
        learned: Symbols that a valid agreement pairs with the target feature.
        scores: Calibrated similarity of target feature and symbol, 0 to 1, where known.
    """

    defined: frozenset[str] = frozenset()
    existing_files: frozenset[str] = frozenset()
    learned: frozenset[str] = frozenset()
    scores: Mapping[str, float] = {}


class Understanding(NamedTuple):
    """A verdict; append `step`, then the session is in `next_phase`.

    Attributes:
        confidence: `high` when nothing is missing, else `low`.
        missing: `key: have/need` and the like.
        unknown_symbols: Symbols that the index does not define: kept as HYPOTHESIS, not counted.
        confusable: Those of them that mix look-alike alphabets.
    """

    step: Step
    next_phase: Phase
    confidence: str
    missing: tuple[str, ...]
    unknown_symbols: tuple[str, ...] = ()
    confusable: tuple[str, ...] = ()


def submit_understanding(
    session: Session, submission: Submission, facts: UnderstandingFacts
) -> Understanding:
    """Judge a submission.

    Raises:
        PhaseError: The session is not in EXPLORATION.
        RequirementError: A formal slip (`consistency_errors`) or a required tool not used;
            details carry `missing_requirements`.
    """


def missing(session: Session, submission: Submission, facts: UnderstandingFacts) -> list[str]:
    """Return what a submission lacks, as `key: have/need`; empty when everything is met."""


def slot_evidenced(session: Session, slot: str) -> bool:
    """Whether this session has found something for a slot, or confirmed a symbol for it."""
