"""Move one agreement or note to the trash. Commit the deletion to share it with your team.

An agreement that only a draft holds (`map list` lists drafts) has no file. It is removed from the
draft, and cannot be restored.

To mark an agreement as wrong and keep its file, use `code-intel map reject`.

--json: `pair` (for a note `kind` and `title`), `files` {file, trash}, `dry_run`, `map_sync`.
`trash` is the name for `map trash restore`; it is empty in a dry run.
"""

import argparse

from code_intel.cli.map.context import add_dry_run, print_answer
from code_intel.operations.map.delete import delete_agreement, delete_note_named


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("term", help="the agreement's term, or the note's title or file name")
    parser.add_argument(
        "symbol", nargs="?", default="", help="the agreement's symbol; omitted for a note"
    )
    add_dry_run(parser)


def run(args: argparse.Namespace) -> int:
    """Delete the agreement or note."""
    dry = args.dry_run
    if args.symbol:
        print_answer(
            args, lambda context: delete_agreement(context, args.term, args.symbol, dry=dry)
        )
    else:
        print_answer(args, lambda context: delete_note_named(context, args.term, dry=dry))
    return 0
