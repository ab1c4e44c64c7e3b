"""Events that only note something: each function returns the `Step` to append.

Events that need a judgement come from requirements, evidence and short_circuit.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from code_intel.session.state import Session, Step

MOST_LISTED = 100  # files or symbols kept of one call: a journal line stays small


def set_frame(session: Session, slots: Mapping[str, Mapping[str, Any] | None]) -> tuple[Step, ...]:
    """Validate a query frame and note it; set again, it may only raise the risk.

    Returns:
        One step, or two when the higher risk takes an earned READY back.

    Raises:
        SessionError: `validation_failed`, see `frame.validate_frame`.
    """


def called(
    tool: str,
    target: str,
    *,
    ok: bool = True,
    found: int = 0,
    files: Iterable[str] = (),
    symbols: Iterable[str] = (),
    slot: str = "",
) -> Step:
    """Note a tool call; `found` is the number of results, `files` relative to the root."""


def confirm_symbols(
    session: Session,
    symbols: Iterable[str],
    evidence: str,
    *,
    defined: Iterable[str],
    scores: Mapping[str, float] | None = None,
) -> tuple[Step, tuple[str, ...]]:
    """Confirm that symbols carry out the target feature.

    Args:
        session: The session.
        symbols: Names to confirm.
        evidence: What in the code shows it; must say something.
        defined: Those that our own index defines.
        scores: Calibrated similarity of target feature and symbol, 0 to 1, where known.

    Returns:
        The step, and the names that were not confirmed because the index does not define them.

    Raises:
        UsageError: No evidence, or no symbol that the index defines; names the field.
    """


def add_explored(session: Session, files: Iterable[str], existing: Iterable[str]) -> Step:
    """Add files to what may be written in READY: existing ones that a call of this session found.

    Raises:
        UsageError: A file does not exist, or no call has found it.
    """


def revert(reason: str) -> Step:
    """Go back to EXPLORATION."""


def learned(nl_term: str, symbol: str) -> Step:
    """Note that a pair was learned, so that it is not learned twice."""


def outcome(result: str, analysis: Mapping[str, Any]) -> Step:
    """Note an outcome: `success`, `failure` or `partial`.

    Raises:
        UsageError: Another word.
    """
