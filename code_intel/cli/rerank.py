"""Order files by how close their content is to a question, using vectors.

A candidate is `FILE` or `FILE:12-40`; `-` reads one per line from standard input:
`rg -l token | code-intel rerank "when does a session expire" -`.
"""

import argparse
import sys

from code_intel.cli.output import emit
from code_intel.cli.project import add_project
from code_intel.cli.tool_call import ToolOption, add_options, run_tool
from code_intel.tools.search.semantic_rerank import MAX_CANDIDATES, semantic_rerank

RERANK_OPTIONS = (ToolOption("--top-k", "top_k", "N", "number of files"),)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("query", help="what the files should be about")
    parser.add_argument(
        "candidates",
        nargs="+",
        metavar="FILE",
        help=f"at most {MAX_CANDIDATES}; - reads them from standard input, one per line",
    )
    add_options(parser, semantic_rerank, RERANK_OPTIONS)
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the files in order; return 1 if there are no vectors."""
    candidates = args.candidates
    if candidates == ["-"]:
        candidates = [line.strip() for line in sys.stdin if line.strip()]
    inputs = {"query": args.query, "candidates": candidates}
    answer = run_tool(args, semantic_rerank, RERANK_OPTIONS, inputs, paths=["candidates"])
    emit(args, answer.data, answer.text)
    return 0 if answer.data["reranked"] else 1
