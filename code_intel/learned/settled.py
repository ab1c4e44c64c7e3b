"""Both sides brought together and nobody else at them: where whoever changes agreements begins.

So nothing is written over an edit of either side, and what is decided upon stays true until it is written.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from code_intel.config import Settings
from code_intel.learned import journal
from code_intel.learned.reconcile import reconcile_locked
from code_intel.learned.state import State, open_state


@contextmanager
def settled(settings: Settings, now: datetime) -> Iterator[tuple[State, float]]:
    """Hold `journal.lock_path`; yield the store, and since when a look at the folder is good enough.

    Of thousands of files one look is enough (see `Folder.look`).

    Raises:
        StorageError: A side is there but cannot be read or written.
        BusyError: Another process is writing for longer than `journal.PATIENCE`.
    """
    with journal.alone(settings), open_state(settings.state) as state:
        began = time.monotonic()
        changed = reconcile_locked(settings, state, now=now).has_changed
        yield state, time.monotonic() if changed else began
