"""Merge and compare the claims of agreements with one key, and date them. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from code_intel.chunking.agreement import canonical
from code_intel.records import Agreement


def unite(agreements: Sequence[Agreement]) -> Agreement:
    """Return one agreement of several with the same key: the newest wins, nothing said is lost.

    Evidence, files and aliases are united; it claims to be confirmed only if all of them do.
    """
    newest, *others = sorted(agreements, key=lambda item: when(item.learned_at), reverse=True)
    everything = (newest, *others)
    return canonical(
        replace(
            newest,
            evidence=_distinct(line for item in everything for line in item.evidence),
            files=tuple(dict.fromkeys(file for item in everything for file in item.files)),
            aliases=_distinct(alias for item in everything for alias in item.aliases),
            frame=newest.frame or next((item.frame for item in others if item.frame), ()),
            confirmed=all(item.confirmed for item in everything),
        )
    )


def adds(one: Agreement, other: Agreement) -> bool:
    """Return whether `one` claims something that `other` does not.

    Numbers, lines and times are not claims.
    """
    return not (
        set(one.evidence) <= set(other.evidence)
        and {file.path for file in one.files} <= {file.path for file in other.files}
        and set(one.aliases) <= set(other.aliases)
        and set(one.frame) <= set(other.frame)
    )


def is_time(text: str) -> bool:
    """Say whether an agreement may give `text` as its time; an empty one is not known."""
    try:
        return not text or bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def when(learned_at: str) -> datetime:
    """Return a time with an offset, UTC where none exists; the earliest of all for no time."""
    if not learned_at or not is_time(learned_at):
        return datetime.min.replace(tzinfo=UTC)
    time = datetime.fromisoformat(learned_at)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
