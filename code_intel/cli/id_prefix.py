"""Which of the things a list names is meant by the beginning of a name."""

from collections.abc import Sequence
from typing import NamedTuple

from code_intel.errors import NotFoundError, UsageError
from code_intel.session.story import plain

_SHOWN = 32
"""Characters of what is no name: no more than a session's has, never a secret."""


class IdKind(NamedTuple):
    """What is looked for: its noun, and what to do where there is none of that name, or none at all."""

    noun: str
    lists: str
    begins: str


def resolve_prefix(found: Sequence[str], text: str, kind: IdKind, *, some: bool) -> str:
    """Return the only one that was found for `text`; `some` says whether there are any at all.

    Raises:
        NotFoundError: There is none.
        UsageError: Several begin like this; names two.
    """
    if not found:
        missing = f"No {kind.noun} is called {plain(text)[:_SHOWN]}."
        raise NotFoundError(
            missing if some else f"There are no {kind.noun}s yet.",
            hint=kind.lists if some else kind.begins,
            details={"field": "id"},
        )
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} {kind.noun}s begin like this, {found[0]} and {found[1]} among them.",
            hint="Give more of it.",
            details={"field": "id"},
        )
    return found[0]
