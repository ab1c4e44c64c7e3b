"""Resolve the unambiguous beginning of an id."""

from collections.abc import Sequence
from typing import NamedTuple

from code_intel.errors import NotFoundError, UsageError
from code_intel.session.story import plain

MAX_ID_CHARS_SHOWN = 32
"""Characters of an unknown id that an error repeats. It may be a secret."""


class IdKind(NamedTuple):
    """What an id identifies, and the hints for an unknown id and for an empty list."""

    noun: str
    unknown_hint: str
    empty_hint: str


def resolve_prefix(matches: Sequence[str], text: str, kind: IdKind, *, any_exist: bool) -> str:
    """Return the only matching id.

    Args:
        matches: The ids that begin with `text`.
        text: What the user typed.
        kind: The kind of id.
        any_exist: Whether there are any ids of this kind.

    Raises:
        NotFoundError: No id matches.
        UsageError: Several ids match; the error names two.
    """
    if not matches:
        message = f"No {kind.noun} has the id {plain(text)[:MAX_ID_CHARS_SHOWN]}."
        raise NotFoundError(
            message if any_exist else f"There are no {kind.noun}s yet.",
            hint=kind.unknown_hint if any_exist else kind.empty_hint,
            details={"field": "id"},
        )
    if len(matches) > 1:
        raise UsageError(
            f"{len(matches)} {kind.noun}s begin like this, such as {matches[0]} and {matches[1]}.",
            hint="Give more characters of the id.",
            details={"field": "id"},
        )
    return matches[0]
