"""Merge and compare agreements with the same key, and parse their times. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from code_intel.chunking.agreement import canonical
from code_intel.learned.files.frames import with_frames
from code_intel.records import Agreement


def merge(agreements: Sequence[Agreement]) -> Agreement:
    """Merge agreements with the same key into one.

    Evidence, files, aliases and frames are combined; other fields are those of the newest
    agreement. The result is marked as confirmed only if all of them are.
    """
    newest, *others = sorted(agreements, key=lambda item: when(item.learned_at), reverse=True)
    everything = (newest, *others)
    return canonical(
        replace(
            newest,
            evidence=_distinct(line for item in everything for line in item.evidence),
            files=tuple(dict.fromkeys(file for item in everything for file in item.files)),
            aliases=_distinct(alias for item in everything for alias in item.aliases),
            frame=_all_frames(everything),
            confirmed=all(item.confirmed for item in everything),
            role=next((item.role for item in everything if item.role), ""),
        )
    )


def claims_more(one: Agreement, other: Agreement) -> bool:
    """Return whether `one` has evidence, files, aliases or frame slots that `other` lacks."""
    return not (
        set(one.evidence) <= set(other.evidence)
        and {file.path for file in one.files} <= {file.path for file in other.files}
        and set(one.aliases) <= set(other.aliases)
        and set(one.frame) <= set(other.frame)
    )


def is_time(text: str) -> bool:
    """Return whether a text is an ISO 8601 time or empty, as `learned_at` may be."""
    try:
        return not text or bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def when(learned_at: str) -> datetime:
    """Parse `learned_at`, as UTC if it has no offset; without a time, return the earliest one."""
    if not learned_at or not is_time(learned_at):
        return datetime.min.replace(tzinfo=UTC)
    time = datetime.fromisoformat(learned_at)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _all_frames(agreements: Sequence[Agreement]) -> tuple[tuple[str, str], ...]:
    found: tuple[tuple[str, str], ...] = ()
    for item in reversed(agreements):
        found = with_frames(found, item.frame)
    return found


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
