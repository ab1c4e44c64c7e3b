"""Let one call at a time work on a plan, across processes.

Two calls that continue the same plan would overwrite each other's results. The lock is a file
beside the plan; it ends with its process (docs/decisions/0041).
"""

from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout  # noqa: TID251 - a lock that is held for long

from code_intel.errors import StorageError
from code_intel.foundation import durable
from code_intel.planning import keeping, place


class Turn:
    """The right to go on with one plan, which is kept or is to be.

    Args:
        root: See `place.root_of`.
        plan_id: Its id.
    """

    def __init__(self, root: Path, plan_id: str) -> None:
        self._root = root
        self._id = plan_id
        self._lock: FileLock | None = None

    def take(self) -> bool:
        """Try to take the lock; return whether it was free. A disk without locks stores no plan.

        Raises:
            UsageError: The id is not a UUID; its field is `planId`.
        """
        try:
            path = keeping.file_of(self._root, self._id).with_suffix(".lock")
            place.prepared(self._root, place.PLANS)
            lock = FileLock(path, thread_local=False)
            lock.acquire(blocking=False)
        except Timeout:
            return False
        except (StorageError, OSError):
            return True
        self._lock = lock
        return True

    def give_up(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            with suppress(StorageError):  # Windows removes no file that is open
                durable.remove(Path(self._lock.lock_file), flushed=False)
            self._lock.release()
            self._lock = None
