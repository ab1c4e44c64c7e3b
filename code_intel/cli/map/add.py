"""Add an agreement. Searches find it at once; agents must verify it until it is confirmed."""

import argparse
from datetime import UTC, datetime
from typing import Any

from code_intel.chunking.agreement import file_name, render
from code_intel.cli.map.context import add_dry_run, print_answer
from code_intel.cli.project import as_project_path, project_of
from code_intel.cli.tool_call import ToolOption, with_option_names
from code_intel.learned.learn import checked
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
    parser.add_argument("term", help="the term that people use")
    parser.add_argument("symbol", help="the symbol that it means")
    parser.add_argument(
        "--evidence", required=True, metavar="TEXT", help="what in the code shows that"
    )
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="PATH[:LINE]",
        help="a file that supports it; may be repeated",
    )
    parser.add_argument(
        "--role", default="", metavar="WORD", help="its part in the feature, such as entry or test"
    )
    add_dry_run(parser)


def run(args: argparse.Namespace) -> int:
    """Add the agreement."""
    work = _preview if args.dry_run else add_agreement
    root = project_of(args).root
    files = [as_project_path(root, file) for file in args.file]
    with with_option_names(add_agreement, ADD_OPTIONS):
        print_answer(
            args,
            lambda context: work(
                context, args.term, args.symbol, args.evidence, files, role=args.role
            ),
            current=True,
        )
    return 0


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
