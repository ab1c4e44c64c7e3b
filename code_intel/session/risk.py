"""Assess the risk of a session from its query frame (seed 004 §5).

The risk is the higher of two levels: one depends on which slots are empty, the other on how many
are. It is one step higher if it is not certain that a confirmed symbol is the right one
(`relevance.BANDS`).
"""

from enum import StrEnum
from types import MappingProxyType

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
