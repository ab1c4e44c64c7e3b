"""Search the index; `-` reads one query a line from standard input and answers one JSON object a line."""

import argparse
import json
import sys
from typing import Any

from code_intel.cli.devrag.options import add_output, refusal
from code_intel.cli.search import hits_wanted
from code_intel.errors import CodeIntelError
from code_intel.tools.declaration import Answer
from code_intel.tools.search import found
from code_intel.tools.shelf import Shelf, open_shelf


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("query", help="a question, words or a symbol; - reads lines")
    parser.add_argument(
        "--top-k", type=hits_wanted, metavar="N", help="hits (default: search_top_k)"
    )
    parser.add_argument("--directory", "--path", default="", help="only below this folder")
    parser.add_argument(
        "--file-pattern", default="", help="only files whose name matches this glob"
    )
    add_output(parser)


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """Answer one query, or one a line."""
    shelf = open_shelf(args.config, readonly=True)
    try:
        if args.query != "-":
            answer = _ask(shelf, args.query, args)
            return 0, dict(answer.data), answer.text
        for line in filter(None, map(str.strip, sys.stdin)):
            print(json.dumps(_envelope(shelf, line, args), ensure_ascii=False), flush=True)
        return 0, None, ""
    finally:
        shelf.index.close()


def _envelope(shelf: Shelf, query: str, args: argparse.Namespace) -> dict[str, Any]:
    """Return the answer to one line; an error answers that line and ends nothing."""
    try:
        return {"status": "ok", "data": dict(_ask(shelf, query, args).data)}
    except CodeIntelError as error:
        return refusal(error)


def _ask(shelf: Shelf, query: str, args: argparse.Namespace) -> Answer:
    limit = args.top_k or shelf.index.config.top_k
    return found(query, shelf.search(query, limit, args.directory, args.file_pattern))
