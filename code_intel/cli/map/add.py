"""Add an agreement or a note. Searches find it at once; it stays unconfirmed until `map confirm`.

An agreement says which symbol a term means: `map add TERM SYMBOL --evidence TEXT`. A note is a
convention, a decision or a warning: `map add --kind convention TITLE --text TEXT --file GLOB`. With
--file and --symbol, conventions and warnings are shown to agents that may write these files.

--json: for an agreement as the tool add_agreement; for a note `kind`, `title`, `file`, `created`,
`kept`, `reasons`, `map_sync`; in both cases `dry_run` in a dry run.
"""

import argparse
from datetime import UTC, datetime
from typing import Any

from code_intel.chunking.agreement import file_name, render
from code_intel.cli.map.add_note import DECISION_FIELDS, add_note_of, configure_note
from code_intel.cli.map.context import add_dry_run, print_answer
from code_intel.cli.project import as_project_path, project_of
from code_intel.cli.tool_call import ToolOption, with_option_names
from code_intel.errors import UsageError
from code_intel.learned.learn import checked
from code_intel.operations.map.notes import KINDS
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer
from code_intel.tools.search.add_agreement import add_agreement, drafted, missing_files, remarks

ADD_OPTIONS = (
    ToolOption("TERM", "nl_term"),
    ToolOption("--evidence", "code_evidence"),
    ToolOption("--file", "related_files"),
    ToolOption("--role", "role"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("term", help="the term that people use, or the title of a note")
    parser.add_argument("symbol", nargs="?", default="", help="the symbol that the term means")
    parser.add_argument("--kind", choices=KINDS, default="agreement", help="what to add")
    parser.add_argument(
        "--evidence",
        action="append",
        default=[],
        metavar="TEXT",
        help="what in the code shows that; an agreement needs it, and a note may have several",
    )
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="PATH[:LINE]",
        help="a file that supports it, or a glob of files that a note concerns; may be repeated",
    )
    parser.add_argument(
        "--role", default="", metavar="WORD", help="its part in the feature, such as entry or test"
    )
    configure_note(parser)
    add_dry_run(parser)


def run(args: argparse.Namespace) -> int:
    """Add the agreement or note."""
    if args.kind != "agreement":
        return add_note_of(args)
    evidence = _required(args)
    work = _preview if args.dry_run else add_agreement
    root = project_of(args).root
    files = [as_project_path(root, file) for file in args.file]
    with with_option_names(add_agreement, ADD_OPTIONS):
        print_answer(
            args,
            lambda context: work(context, args.term, args.symbol, evidence, files, role=args.role),
            current=True,
        )
    return 0


def _required(args: argparse.Namespace) -> str:
    """Return the evidence of an agreement.

    Raises:
        UsageError: The symbol or the evidence is missing, or an option is only for notes.
    """
    for field, name in (("symbol", "symbol"), ("evidence", "--evidence")):
        if not getattr(args, field):
            raise UsageError(
                f"{name} is missing.",
                code="missing_argument",
                hint="Run `code-intel map add TERM SYMBOL --evidence TEXT`, or name a --kind.",
                details={"field": field},
            )
    for field in ("text", "symbols", *DECISION_FIELDS):
        if getattr(args, field):
            raise UsageError(
                f"An agreement has no {field}.",
                hint="Name a --kind: convention, decision or warning.",
                details={"field": field},
            )
    return "\n".join(args.evidence)


async def _preview(
    context: GatewayContext,
    term: str,
    symbol: str,
    evidence: str,
    files: list[str],
    *,
    role: str,
) -> Answer:
    """Return the answer of a dry run: the file that would be written."""
    agreement = checked(
        await drafted(context, term, symbol, evidence, files, role), datetime.now(UTC)
    )
    data: dict[str, Any] = {
        "agreement_file": file_name(agreement.nl_term, agreement.symbol),
        "pair": {"nl_term": agreement.nl_term, "symbol": agreement.symbol},
        "symbol_defined": bool(agreement.digest),
        "dry_run": True,
        "missing_files": missing_files(context.root, agreement),
    }
    notes = "".join(f"\n{note}" for note in remarks(context.root, agreement))
    text_of_file = render(agreement, language=context.settings.language)
    text = f"Would be written to {data['agreement_file']}:\n\n{text_of_file}{notes}"
    return Answer(data, text)
