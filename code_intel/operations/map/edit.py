"""Edit the text of an agreement or a note, and resolve a merge conflict in it."""

from functools import partial
from typing import Any, NamedTuple

from code_intel.chunking.agreement_body import encodable
from code_intel.errors import NotFoundError
from code_intel.foundation.text import visible
from code_intel.learned.files.agreements import AgreementEntry
from code_intel.learned.files.conflict import Sides, sides_of
from code_intel.learned.files.edit import EditedFile, SideName, edit, keep_side, load_file
from code_intel.tools.context.freshness import DRY_RUN, refresh_map
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer


class Conflict(NamedTuple):
    """A file with a merge conflict: the file as it is, and its sides."""

    file: EditedFile
    sides: Sides


def file_of(context: GatewayContext, file: str) -> EditedFile:
    """Return the text and the digest of a file of the agreements folder; this blocks.

    Args:
        context: The project.
        file: Its name, as answers give it in `file`.

    Raises:
        NotFoundError: The folder has no such file.
    """
    return load_file(context.settings, file, context.map_cache)


def conflict_of(context: GatewayContext, file: str) -> Conflict:
    """Return the sides of a file with conflict markers; this blocks.

    Write the chosen side with `keep_side_of`, or another text with `edit_agreement`.

    Raises:
        NotFoundError: The folder has no such file, or the file has no complete conflict.
    """
    found = file_of(context, file)
    sides = sides_of(found.path, found.text)
    if sides is None:
        raise NotFoundError(
            f"{visible(found.path.name)} has no complete merge conflict.",
            hint="Edit the text of the file.",
            details={"field": "file"},
        )
    return Conflict(found, sides)


async def edit_agreement(
    context: GatewayContext, file: str, new_text: str, expected_digest: str, *, dry: bool = False
) -> Answer:
    """Replace the whole text of an agreement or a note.

    A confirmed agreement must be confirmed again, as after an edit with any other program.

    Args:
        context: The project.
        file: The name of the file, as answers give it in `file`.
        new_text: The new text.
        expected_digest: The `digest` of `file_of`, as it was shown.
        dry: Whether to write nothing.

    Raises:
        ConflictError: The file has changed since it was shown; nothing was written.
        UsageError: The text is not valid, or cannot be written without loss; the error names the
            field.
        NotFoundError: The folder has no such file.
    """
    work = partial(
        edit,
        context.settings,
        file,
        new_text,
        expected_digest,
        dry=dry,
        cache=context.map_cache,
    )
    return await _answer(context, file, await run_in_thread(work), dry=dry)


async def keep_side_of(
    context: GatewayContext,
    file: str,
    side: SideName,
    expected_digest: str,
    *,
    dry: bool = False,
) -> Answer:
    """Replace a file with conflict markers by one of its sides; for the rest, see `edit_agreement`.

    Raises:
        UsageError: The file has no complete conflict, or the side is not valid.
    """
    cache = context.map_cache
    work = partial(keep_side, context.settings, file, side, expected_digest, dry=dry, cache=cache)
    return await _answer(context, file, await run_in_thread(work), dry=dry)


async def _answer(
    context: GatewayContext, file: str, entry: AgreementEntry, *, dry: bool
) -> Answer:
    map_sync = DRY_RUN if dry else await refresh_map(context, entry.path)
    data: dict[str, Any] = {"file": encodable(file), "dry_run": dry, **map_sync.data}
    if entry.key:
        data |= {"pair": {"nl_term": entry.key[0], "symbol": entry.key[1]}}
    elif entry.note:
        data |= {"kind": entry.note.kind, "title": entry.note.title}
    head = "Would be written" if dry else "Written"
    return Answer(data, visible(f"{head}: {file}. Confirm it again, if it holds."))
