"""Move an agreement or a note to the trash."""

import shlex
from functools import partial

from code_intel.chunking.agreement_body import encodable
from code_intel.foundation.text import visible
from code_intel.learned.files import agreements, trash
from code_intel.learned.files.delete import DeletedFile, delete
from code_intel.learned.history.drafts import remove_agreement
from code_intel.learned.notes.change_notes import delete_note
from code_intel.operations.map.current import refresh_whole_map
from code_intel.operations.map.drafts import DraftedAgreement, drafted_agreements
from code_intel.operations.map.notes import note_named
from code_intel.tools.context.freshness import DRY_RUN
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer


async def delete_agreement(
    context: GatewayContext, term: str, symbol: str, *, dry: bool = False
) -> Answer:
    """Move an agreement to the trash; take one that only a draft holds from the draft.

    Raises:
        NotFoundError: No readable agreement has this term and symbol.
    """
    settings, key = context.settings, agreements.make_key(term, symbol)
    drafted = await run_in_thread(drafted_agreements, settings)
    if found := next((each for each in drafted if each.key == key), None):
        return await run_in_thread(partial(_delete_drafted, context, found, dry=dry))
    done: list[DeletedFile] = await run_in_thread(
        partial(delete, settings, key, dry=dry, cache=context.map_cache)
    )
    map_sync = DRY_RUN if dry else await refresh_whole_map(context)
    rows = [
        {
            "file": encodable(agreements.relative(settings.agreements, path)),
            "trash": encodable(copy.relative_to(trash.folder_of(settings)).as_posix())
            if copy
            else "",
        }
        for path, copy in done
    ]
    term, symbol = key
    data = {
        "pair": {"nl_term": term, "symbol": symbol},
        "files": rows,
        "dry_run": dry,
        **map_sync.data,
    }
    head = "Would be moved to the trash" if dry else "Moved to the trash"
    lines = [f"{head}: {term} → {symbol} ({visible(', '.join(row['file'] for row in rows))})."]
    if not dry:
        undo = (f"`code-intel map trash restore {shlex.quote(row['trash'])}`" for row in rows)
        lines.append(f"To undo: {', '.join(undo)}.")
    return Answer(data, "\n".join(lines))


async def delete_note_named(context: GatewayContext, title: str, *, dry: bool = False) -> Answer:
    """Move the note with a title or file name to the trash.

    Raises:
        UsageError: It does not exist, or several have the title, or it is a decision record.
    """
    settings = context.settings
    entry = await run_in_thread(note_named, context, title)
    copy = await run_in_thread(partial(delete_note, settings, entry, dry=dry))
    map_sync = DRY_RUN if dry else await refresh_whole_map(context)
    trashed = encodable(copy.relative_to(trash.folder_of(settings)).as_posix()) if copy else ""
    file = encodable(agreements.relative(settings.agreements, entry.path))
    data = {
        "kind": entry.note.kind,
        "title": entry.note.title,
        "files": [{"file": file, "trash": trashed}],
        "dry_run": dry,
        **map_sync.data,
    }
    head = "Would be moved to the trash" if dry else "Moved to the trash"
    lines = [visible(f"{head}: {entry.note.kind} “{entry.note.title}” ({file}).")]
    if trashed:
        lines.append(f"To undo: `code-intel map trash restore {shlex.quote(trashed)}`.")
    return Answer(data, "\n".join(lines))


def _delete_drafted(context: GatewayContext, drafted: DraftedAgreement, *, dry: bool) -> Answer:
    term, symbol = drafted.key
    if not dry:
        remove_agreement(context.settings, drafted.draft.session, drafted.key)
    data = {"pair": {"nl_term": term, "symbol": symbol}, "files": [], "dry_run": dry}
    head = f"{'Would be removed' if dry else 'Removed'} from the draft of {drafted.draft.session}"
    return Answer(data, visible(f"{head}: {term} → {symbol}."))
