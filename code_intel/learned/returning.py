"""Pairs that come back from the trash with their agreements, as when a branch is checked out again.

An agreement carries everything but what other programs have put into its pair: those keys come from the trash.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from code_intel import durable
from code_intel.chunking.agreement import file_name
from code_intel.config import Settings
from code_intel.errors import StorageError
from code_intel.learned import trash
from code_intel.learned.agreements import Key
from code_intel.learned.pairs import Pair


class Returned(NamedTuple):
    """A pair, and its file in the trash."""

    pair: Pair
    path: Path


def returned(settings: Settings, keys: Collection[Key]) -> dict[Key, Returned]:
    """Return of each key the pair that went to the trash last, if one did; looks at the trash once."""
    wanted = {Path(file_name(*key)).stem: key for key in keys}
    found: dict[Key, Returned] = {}
    with suppress(StorageError):
        for kept in trash.contents(settings) if wanted else ():
            key = wanted.get(Path(kept.origin).stem) if kept.is_pair else None
            pair = trash.pair_of(kept) if key else None
            if key and pair and pair.key == key:
                found[key] = Returned(pair, kept.path)
    return found


def clear(back: Mapping[Key, Returned], now: Mapping[Key, Pair]) -> None:
    """Take out of the trash what is in learned_pairs.json again, word for word."""
    for key, (pair, path) in back.items():
        if pair == now.get(key):
            with suppress(StorageError):
                durable.remove(path)
