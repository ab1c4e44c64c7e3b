"""Resolve the unambiguous beginning of an id."""

from collections.abc import Sequence
from typing import NamedTuple

from code_intel.errors import NotFoundError, UsageError
from code_intel.session.story import plain

_SHOWN = 32
"""Characters of an unknown id that an error repeats. It may be a secret."""


class IdKind(NamedTuple):
    """The noun of a kind of id, and the hints for an unknown id and for an empty list."""

    noun: str
    unknown: str
    empty: str


def resolve_prefix(found: Sequence[str], text: str, kind: IdKind, *, some: bool) -> str:
    """Return the only id that was found.

    Args:
        found: The ids that begin with `text`.
        text: What the user typed.
        kind: The kind of id.
        some: Whether there are any ids at all.

    Raises:
        NotFoundError: None exists.
        UsageError: Several begin like this; the error names two.
    """
    if not found:
        missing = f"No {kind.noun} is called {plain(text)[:_SHOWN]}."
        raise NotFoundError(
            missing if some else f"There are no {kind.noun}s yet.",
            hint=kind.unknown if some else kind.empty,
            details={"field": "id"},
        )
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} {kind.noun}s begin like this, among them {found[0]} and {found[1]}.",
            hint="Give more characters of the id.",
            details={"field": "id"},
        )
    return found[0]
