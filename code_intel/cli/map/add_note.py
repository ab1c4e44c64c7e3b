"""Add a convention, a decision or a warning for `code-intel map add --kind`."""

import argparse
from datetime import UTC, datetime
from functools import partial

from code_intel.chunking.notes.note import render
from code_intel.cli.map.context import print_answer
from code_intel.errors import UsageError
from code_intel.foundation.text import visible
from code_intel.learned.notes.change_notes import add_note, checked_note
from code_intel.learned.notes.note_status import note_statuses
from code_intel.records import Note
from code_intel.tools.context.freshness import DRY_RUN, refresh_map
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer

DECISION_FIELDS = ("context", "consequences", "supersedes")


def configure_note(parser: argparse.ArgumentParser) -> None:
    """Declare the options for notes."""
    parser.add_argument(
        "--text", default="", help="the text of a note; of a decision, what was decided"
    )
    parser.add_argument("--context", default="", metavar="TEXT", help="the context of a decision")
    parser.add_argument(
        "--consequences", default="", metavar="TEXT", help="the consequences of a decision"
    )
    parser.add_argument(
        "--supersedes",
        action="append",
        default=[],
        metavar="TITLE",
        help="the title or file of a decision that this one replaces; may be repeated",
    )
    parser.add_argument(
        "--symbol",
        action="append",
        default=[],
        dest="symbols",
        metavar="NAME",
        help="a symbol that a note concerns; may be repeated",
    )


def add_note_of(args: argparse.Namespace) -> int:
    """Add the note that the arguments describe."""
    _require_note_fields(args)
    note = Note(
        args.kind,
        args.term,
        args.text or (args.term if args.kind != "decision" else ""),
        context=args.context,
        consequences=args.consequences,
        files=tuple(args.file),
        symbols=tuple(args.symbols),
        evidence=tuple(args.evidence),
        supersedes=tuple(args.supersedes),
    )
    print_answer(args, lambda context: _add(context, note, dry=args.dry_run), current=True)
    return 0


def _require_note_fields(args: argparse.Namespace) -> None:
    """Refuse options that this kind does not have.

    Raises:
        UsageError: An option does not fit the kind.
    """
    if args.symbol:
        raise UsageError(
            f"A {args.kind} has a title only, not a term and a symbol.",
            hint="Put the title in quotes. Use --symbol for a symbol that it concerns.",
            details={"field": "symbol"},
        )
    for field in ("role", *(DECISION_FIELDS if args.kind != "decision" else ())):
        if getattr(args, field):
            raise UsageError(f"A {args.kind} has no {field}.", details={"field": field})


async def _add(context: GatewayContext, note: Note, *, dry: bool) -> Answer:
    settings = context.settings
    done = await run_in_thread(partial(add_note, settings, note, cache=context.map_cache, dry=dry))
    map_sync = DRY_RUN if dry or done.kept else await refresh_map(context, done.path)
    reasons = [] if dry else await run_in_thread(_reasons, context, note)
    data = {
        "kind": note.kind,
        "title": note.title,
        "file": done.path.name,
        "created": done.created,
        "kept": done.kept,
        "reasons": reasons,
        "dry_run": dry,
        **map_sync.data,
    }
    if dry:
        shown = checked_note(note, datetime.now(UTC))
        head = f"Would be written to {done.path.name}:\n\n{render(shown, settings.language)}"
    elif done.kept:
        head = f"Not changed: {done.path.name} has this {note.kind} already."
    else:
        head = f"{'Added' if done.created else 'Updated'}: {note.kind} “{note.title}” "
        head += f"({done.path.name})."
    return Answer(data, visible("\n".join([head, *reasons]), "\n"))


def _reasons(context: GatewayContext, note: Note) -> list[str]:
    """Return why the new note has its status."""
    found = context.map_cache.snapshot(context.settings)
    statuses = note_statuses(context.forest, found)
    return [
        reason
        for status in statuses
        if (status.note.kind, status.note.title) == (note.kind, note.title)
        for reason in status.reasons
    ]
