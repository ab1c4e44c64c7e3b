"""List, show and restore the files in the trash."""

from functools import partial
from typing import Any

from code_intel.chunking.agreement_body import encodable
from code_intel.config import Settings
from code_intel.foundation.text import visible
from code_intel.learned.files import agreements, trash
from code_intel.learned.files.restore import RestoreResult, restore
from code_intel.learned.files.trash import TrashEntry
from code_intel.tools.context.freshness import DRY_RUN, refresh_map
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer


def trash_row(entry: TrashEntry) -> dict[str, Any]:
    """Return the data of one file in the trash."""
    agreement = agreements.load(entry.path).agreement
    return {
        "name": encodable(entry.name),
        "at": entry.at.isoformat(),
        "kind": "agreement" if agreement else "file",
        "was": encodable(entry.origin),
        "says": f"{agreement.nl_term} → {agreement.symbol}" if agreement else "",
    }


def list_trash(settings: Settings) -> Answer:
    """List the files in the trash, oldest first; this blocks."""
    rows = [trash_row(entry) for entry in trash.contents(settings)]
    lines = [visible(f"{row['name']}  ({row['kind']} {row['says']}".rstrip() + ")") for row in rows]
    return Answer({"trash": rows, "total": len(rows)}, "\n".join(lines) or "The trash is empty.")


def show_trashed(settings: Settings, name: str) -> Answer:
    """Return a file of the trash with its text; this blocks.

    Raises:
        NotFoundError: The trash contains no file with this name, or several.
    """
    entry = trash.named(settings, name)
    text = entry.read().decode("utf-8", "replace")
    return Answer(trash_row(entry) | {"text": text}, text.rstrip("\n"))


async def restore_trashed(context: GatewayContext, name: str, *, dry: bool = False) -> Answer:
    """Restore a file of the trash to its original location.

    Raises:
        NotFoundError: The trash contains no file with this name, or several.
        UsageError: An agreement with its term and symbol, or a file at its location, exists.
    """
    work = partial(restore, context.settings, name, dry=dry, cache=context.map_cache)
    done: RestoreResult = await run_in_thread(work)
    map_sync = DRY_RUN if dry else await refresh_map(context, done.path)
    file = encodable(done.path.relative_to(context.settings.agreements).as_posix())
    term, symbol = done.key or ("", "")
    data = {
        "agreement_file": file,
        "pair": {"nl_term": term, "symbol": symbol} if done.key else None,
        "dry_run": dry,
        **map_sync.data,
    }
    pair = f": {term} → {symbol}" if done.key else ""
    return Answer(data, f"{'Would be restored' if dry else 'Restored'}: {visible(file)}{pair}.")
