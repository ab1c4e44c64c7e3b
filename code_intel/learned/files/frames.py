"""Read and combine the query frames that an agreement keeps as one list of slots. Pure."""

from collections.abc import Iterable

SlotPairs = tuple[tuple[str, str], ...]

SLOTS = ("target_feature", "trigger_condition", "observed_issue", "desired_action")
QUERY = "query"
"""Name under which a frame keeps the user's request if no slot but the target feature is filled."""
MAX_KEPT_FRAMES = 20
"""Limit of the frames that an agreement keeps; the oldest ones are dropped."""

_ORDER = (*SLOTS, QUERY)


def frames_of(pairs: Iterable[tuple[str, str]]) -> tuple[SlotPairs, ...]:
    """Return the frames in a list of (slot, value) pairs.

    A slot that is repeated, or that comes out of order, begins the next frame.
    """
    frames: list[dict[str, str]] = []
    for name, value in pairs:
        if not frames or name in frames[-1] or _order(name) < max(map(_order, frames[-1])):
            frames.append({})
        frames[-1][name] = value
    return tuple(tuple(frame.items()) for frame in frames)


def with_frames(old: SlotPairs, new: SlotPairs) -> SlotPairs:
    """Return all frames of both lists, those of `new` last, within `MAX_KEPT_FRAMES`."""
    added = frames_of(new)
    kept = [frame for frame in frames_of(old) if frame not in added]
    frames = [*kept, *added][-MAX_KEPT_FRAMES:]
    return tuple(pair for frame in frames for pair in frame)


def _order(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)
