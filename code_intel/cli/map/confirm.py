"""Confirm that an agreement or a note holds for the current code. Commit its file to share it.

A note (a convention, a decision or a warning) is named by its title or file.

An agreement may also be a draft: what a session changed that recorded no outcome (`map list` lists
drafts). Confirming it writes its file and records the session's success. --all leaves drafts out.

--all confirms every unconfirmed agreement whose symbol the index defines, such as those of a
migration or an import. It leaves out agreements that were rejected, whose code has changed since
they were written, or whose names contain look-alike letters.

--json: for a note `kind`, `title`, `file`; for one agreement `pair`, `agreement_file`,
`definition`; with --all `agreements` {file, nl_term, symbol, confirmed, definition, reason},
`confirmed`, `left_out`; in all cases `problem`, `dry_run`, `map_sync`.
"""

import argparse
from functools import partial

from code_intel.cli.map.context import add_dry_run, print_answer, run_on_current_source
from code_intel.cli.output import emit
from code_intel.cli.project import as_project_path, project_of
from code_intel.errors import UsageError
from code_intel.operations.map.confirm import (
    confirm_agreement,
    confirm_every_agreement,
    confirm_note_named,
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "term", nargs="?", default="", help="the agreement's term, or the note's title or file"
    )
    parser.add_argument(
        "symbol", nargs="?", default="", help="the agreement's symbol; omitted for a note"
    )
    parser.add_argument("--all", action="store_true", help="all unconfirmed agreements")
    parser.add_argument(
        "--file", default="", metavar="PATH", help="the file that is meant, if several define it"
    )
    add_dry_run(parser)


def run(args: argparse.Namespace) -> int:
    """Confirm one agreement, or all."""
    _require_one_or_all(args)
    settings, dry = project_of(args), args.dry_run
    if args.all:
        work = partial(confirm_every_agreement, dry=dry)
        answer = run_on_current_source(settings, work, dry=dry)
        emit(args, answer.data, answer.text)
    elif not args.symbol:
        print_answer(
            args, lambda context: confirm_note_named(context, args.term, dry=dry), current=True
        )
    else:
        file = args.file and as_project_path(settings.root, args.file)
        print_answer(
            args,
            lambda context: confirm_agreement(context, args.term, args.symbol, file=file, dry=dry),
            current=True,
        )
    return 0


def _require_one_or_all(args: argparse.Namespace) -> None:
    """Require either --all or a term and a symbol.

    Raises:
        UsageError: Both were given, or the term or the symbol is missing.
    """
    if args.all and args.term:
        raise UsageError("--all takes no term.", details={"field": "all"})
    if not args.all and not args.term:
        raise UsageError(
            "term is missing.",
            code="missing_argument",
            hint="Run `code-intel map confirm TERM SYMBOL`, `code-intel map confirm TITLE` for a "
            "note, or `code-intel map confirm --all`.",
            details={"field": "term"},
        )
