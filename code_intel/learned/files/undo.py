"""Undo a recorded change of the map, if nothing has changed since."""

from datetime import UTC, datetime

from code_intel.config import Settings
from code_intel.foundation import durable
from code_intel.learned.files.changes import changing
from code_intel.learned.recording import Recording, raw_digest, require_digests
from code_intel.learned.status.snapshot import SnapshotCache


def undo(settings: Settings, done: Recording, cache: SnapshotCache | None = None) -> None:
    """Put the earlier contents of the files back, and undo the changes of the state store.

    Args:
        settings: The project.
        done: The recorded change.
        cache: A cache of the agreements, for servers.

    Raises:
        ConflictError: A file or the state store has changed since; nothing was written.
        StorageError: A file could not be written.
        BusyError: Another process holds the lock.
    """
    with changing(settings, datetime.now(UTC), cache) as change:
        trash = settings.state / "trash"
        require_digests(
            {
                path: raw_digest(each.after)
                for path, each in done.files.items()
                if not path.is_relative_to(trash)  # it may have been emptied
            }
        )
        with change.state.transaction():
            for changeset in reversed(done.states):
                change.state.undo(changeset)
        for path, each in done.files.items():
            if each.before is not None:
                durable.replace(path, each.before)
        for path, each in done.files.items():
            if each.before is None:
                durable.remove(path)
        change.generate()
    for step in reversed(done.undo_steps):
        step()
