"""Put files into the order of what they are about, as vectors have it.

A candidate is `FILE` or `FILE:12-40`; `-` reads one a line from standard input:
`rg -l token | code-intel rerank "when does a session expire" -`.
"""

import argparse
import sys

from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.cli.tool_call import call
from code_intel.tools.search.semantic_rerank import MAX_CANDIDATES, semantic_rerank


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("query", help="what they should be about")
    parser.add_argument(
        "candidates",
        nargs="+",
        metavar="FILE",
        help=f"{MAX_CANDIDATES} at most; - reads them, one a line",
    )
    parser.add_argument("--top-k", type=int, default=10, metavar="N", help="files (default 10)")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Answer; 1 when there was nothing to compare them by."""
    candidates = args.candidates
    if candidates == ["-"]:
        candidates = [line.strip() for line in sys.stdin if line.strip()]
    given = {"query": args.query, "candidates": candidates, "top_k": args.top_k}
    answer = call(project_of(args), semantic_rerank, given)
    emit(args, answer.data, answer.text)
    return 0 if answer.data["reranked"] else 1
