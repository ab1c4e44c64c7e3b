"""Show what a change of the map would do to files, make it, and undo it.

`preview` runs the operation itself in a dry run, so what it shows is computed by the functions that
write. `apply` makes the change only if the files are as they were shown.
"""

import hashlib
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from code_intel.chunking.agreement_body import encodable
from code_intel.errors import ConflictError
from code_intel.learned.files.undo import undo as undo_recorded
from code_intel.learned.recording import FileChange as RecordedFile
from code_intel.learned.recording import Recording, digests_of, raw_digest, recorded
from code_intel.operations.map.current import refresh_whole_map
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer


class Operation(Protocol):
    """A change of the map with all its arguments, such as `partial(confirm_agreement, …)`."""

    def __call__(self, *, dry: bool) -> Awaitable[Answer]:
        """Make the change, or return what it would do."""


class FileChange(NamedTuple):
    """A file before and after a change.

    Attributes:
        path: The file, relative to the project; absolute if it is outside.
        before: Its text; None if there is no file. Bytes that are not UTF-8 are surrogates.
        after: Its text after the change; None if it is removed.
        digest: The hex SHA-256 of its bytes before; empty if there is no file.
        is_trash: Whether it is in the trash.
    """

    path: str
    before: str | None
    after: str | None
    digest: str
    is_trash: bool


class Preview(NamedTuple):
    """What a change would do.

    Attributes:
        answer: The answer of the dry run. If `files` is empty, its text says what changes: a
            rejection changes only the state store.
        files: The files that would change, without learned_pairs.json, which follows from them.
        token: A digest of the names and contents before, also of the files that were read; `apply`
            takes it.
    """

    answer: Answer
    files: tuple[FileChange, ...]
    token: str


class Applied(NamedTuple):
    """A change that was made.

    Attributes:
        answer: The answer of the operation.
        files: The files that have changed.
        recording: What `undo` needs. It cannot be stored; keep it in memory.
    """

    answer: Answer
    files: tuple[FileChange, ...]
    recording: Recording


async def preview(
    context: GatewayContext, operation: Operation, read: Sequence[Path] = ()
) -> Preview:
    """Return what an operation would change; nothing is written.

    Args:
        context: The project.
        operation: The operation, such as `partial(rename_agreement, context, term, symbol, to=…)`.
        read: Files that a person has read to decide, even if the operation does not change them.

    Raises:
        CodeIntelError: The operation is not possible.
    """
    seen = await run_in_thread(digests_of, read)
    return _preview(context, *await _planned(operation), seen)


async def apply(
    context: GatewayContext, operation: Operation, token: str, read: Sequence[Path] = ()
) -> Applied:
    """Make a change, if it changes the files that were shown and they are as they were shown.

    Args:
        context: The project.
        operation: The same operation as for `preview`.
        token: The token of the preview.
        read: The same files as for `preview`.

    Raises:
        ConflictError: A file has changed since, and nothing was written. Show the preview again.
        CodeIntelError: The operation is not possible, or failed.
    """
    seen = await run_in_thread(digests_of, read)
    answer, planned = await _planned(operation)
    if _preview(context, answer, planned, seen).token != token:
        raise ConflictError("The map has changed since the change was shown. Nothing was written.")
    expected = {
        path: raw_digest(each.before)
        for path, each in planned.files.items()
        if not _is_trash(context, path)
    }
    with recorded(seen | expected) as recording:
        answer = await operation(dry=False)
    return Applied(answer, _changes(context, recording.files.values()), recording)


async def undo(context: GatewayContext, applied: Applied) -> Answer:
    """Put back what was there before a change.

    A file gets its earlier bytes, and a rejection or confirmation is withdrawn. What a session has
    noted in its journal stays.

    Raises:
        ConflictError: A file has changed since; nothing was written.
        CodeIntelError: A file could not be written.
    """
    work = partial(undo_recorded, context.settings, applied.recording, context.map_cache)
    await run_in_thread(work)
    files = [each.path for each in applied.files if not each.is_trash]
    map_sync = await refresh_whole_map(context) if files else None
    data = {"undone": files, **(map_sync.data if map_sync else {})}
    return Answer(data, f"Undone: {', '.join(files) or 'no file had changed'}.")


async def _planned(operation: Operation) -> tuple[Answer, Recording]:
    with recorded() as recording:
        answer = await operation(dry=True)
    return answer, recording


def _preview(
    context: GatewayContext, answer: Answer, planned: Recording, seen: Mapping[Path, str]
) -> Preview:
    files = _changes(context, planned.files.values())
    shown = [f"{each.path}\0{each.digest}" for each in files if not each.is_trash]
    shown += [f"{_shown_path(context, path)}\0{digest}" for path, digest in seen.items()]
    token = hashlib.sha256("\n".join(shown).encode("utf-8", "replace")).hexdigest()
    return Preview(answer, files, token)


def _changes(context: GatewayContext, files: Iterable[RecordedFile]) -> tuple[FileChange, ...]:
    return tuple(
        FileChange(
            _shown_path(context, each.path),
            _text(each.before),
            _text(each.after),
            raw_digest(each.before),
            _is_trash(context, each.path),
        )
        for each in files
        if each.before != each.after
    )


def _shown_path(context: GatewayContext, path: Path) -> str:
    root = context.settings.root
    return encodable((path.relative_to(root) if path.is_relative_to(root) else path).as_posix())


def _is_trash(context: GatewayContext, path: Path) -> bool:
    return path.is_relative_to(context.settings.state / "trash")


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "surrogateescape")
