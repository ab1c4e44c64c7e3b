"""Assess the risk of a session.

Under the demands of evidence, it follows from facts about the submitted symbols (`RISK_RULES`,
docs/decisions/0054); until they are submitted, it is provisional.

Under the demands of counts, it follows from the query frame (seed 004 §5): it is the higher of two
levels, of which one depends on which slots are empty, and the other on how many are. It is one step
higher if it is not certain that a confirmed symbol is the right one (`relevance.BANDS`).
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from code_intel.session.frame import SLOTS, Frame, SlotSource, display_width
from code_intel.session.phases import Intent


class Risk(StrEnum):
    """A risk level; compare levels with `higher`."""

    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"


UNFRAMED_RISK = MappingProxyType({True: Risk.HIGH, False: Risk.LOW})
"""The level of a session without a frame, by whether it may write."""
_ORDER = (Risk.LOW, Risk.MEDIUM, Risk.HIGH)
_SHORT_ISSUE_COLUMNS = 10


def higher(one: Risk, other: Risk) -> Risk:
    """Return the higher of two levels."""
    return max(one, other, key=_ORDER.index)


def assess_risk(intent: Intent, frame: Frame | None, *, unsure: bool = False) -> Risk:
    """Return the risk level of a session.

    A read-only session never exceeds MEDIUM. `unsure` raises the level by one step, however many
    symbols are unsure.
    """
    if frame is None:
        return UNFRAMED_RISK[intent.writes]
    level = higher(_by_content(intent, frame), _by_count(frame))
    if unsure:
        level = _ORDER[min(_ORDER.index(level) + 1, len(_ORDER) - 1)]
    return level if intent.writes else min(level, Risk.MEDIUM, key=_ORDER.index)


def _by_content(intent: Intent, frame: Frame) -> Risk:
    changes_code = intent in {Intent.MODIFY, Intent.DELETE}
    issue = frame.value("observed_issue")
    if frame.value("desired_action") and not issue:
        return Risk.HIGH
    if changes_code and not frame.value("target_feature"):
        return Risk.HIGH
    if issue and display_width(issue) < _SHORT_ISSUE_COLUMNS:
        return Risk.MEDIUM
    if any(slot.source is SlotSource.HYPOTHESIS for slot in frame.slots):
        return Risk.MEDIUM
    return Risk.LOW


def _by_count(frame: Frame) -> Risk:
    missing = len(SLOTS) - len(frame.slots)
    if missing >= 3:  # noqa: PLR2004 - from the table in seed 004
        return Risk.HIGH
    return Risk.MEDIUM if missing == 2 else Risk.LOW  # noqa: PLR2004 - as above


def at_least(one: Risk, other: Risk) -> bool:
    """Return whether `one` is `other` or higher."""
    return _ORDER.index(one) >= _ORDER.index(other)


def provisional_risk(intent: Intent) -> tuple[Risk, str]:
    """Return the risk before a submission, under the demands of evidence, and its reason."""
    if intent is Intent.DELETE:
        return Risk.HIGH, "the intent is DELETE"
    return Risk.MEDIUM, "provisional until submit_understanding names the code"


class ChangeFacts(NamedTuple):
    """What the index says about one symbol of a submission.

    Attributes:
        symbol: Its name.
        intent: The session's intent.
        using_files: Number of files that use it.
        public: Whether code outside its file may use it.
        tests: Number of tests that touch it.
        in_map: Whether an agreement names it.
        uncovered: Content words of the request that no quote of the submission covers.
    """

    symbol: str
    intent: Intent
    using_files: int = 0
    public: bool = False
    tests: int = 0
    in_map: bool = False
    uncovered: tuple[str, ...] = ()


class RiskRule(NamedTuple):
    """A row of `RISK_RULES`; `reason` is formatted with the fields of `ChangeFacts`."""

    level: Risk
    holds: Callable[[ChangeFacts], bool]
    reason: str


MANY_FILES = 10
"""A symbol used in more files is a HIGH risk."""
SHOWN_WORDS = 3

RISK_RULES: tuple[RiskRule, ...] = (
    RiskRule(Risk.LOW, lambda facts: not facts.intent.writes, "the session only reads"),
    RiskRule(Risk.HIGH, lambda facts: facts.intent is Intent.DELETE, "the intent is DELETE"),
    RiskRule(
        Risk.HIGH,
        lambda facts: facts.using_files > MANY_FILES,
        "{symbol} is used in {using_files} files",
    ),
    RiskRule(
        Risk.HIGH,
        lambda facts: facts.public and facts.using_files > 0 and not facts.tests,
        "{symbol} is public and used, and no test touches it",
    ),
    RiskRule(
        Risk.MEDIUM,
        lambda facts: facts.using_files > 1,
        "{symbol} is used in {using_files} files",
    ),
    RiskRule(
        Risk.MEDIUM,
        lambda facts: facts.public and not facts.in_map,
        "{symbol} is public, and no agreement names it",
    ),
    RiskRule(
        Risk.MEDIUM,
        lambda facts: bool(facts.uncovered),
        "no quote covers these words of the request: {words}",
    ),
)
"""The risk at a submission: the first row that holds for a symbol; LOW if none does."""
LOW_REASON = "nothing raises it"


def assess_change(changes: Sequence[ChangeFacts]) -> tuple[Risk, str]:
    """Return the highest risk of the submitted symbols, and its reason."""
    found = [_assess(facts) for facts in changes]
    return max(found, key=lambda item: _ORDER.index(item[0]), default=(Risk.LOW, LOW_REASON))


def _assess(facts: ChangeFacts) -> tuple[Risk, str]:
    rule = next((rule for rule in RISK_RULES if rule.holds(facts)), None)
    if rule is None:
        return Risk.LOW, LOW_REASON
    words = ", ".join(facts.uncovered[:SHOWN_WORDS])
    return rule.level, rule.reason.format(words=words, **facts._asdict())
