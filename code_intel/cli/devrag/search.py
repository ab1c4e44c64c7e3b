"""Search the index. `-` reads queries from standard input and prints one JSON object per line."""

import argparse
import json
import sys
import unicodedata
from typing import Any

from code_intel.cli.devrag.codes import refusal
from code_intel.cli.devrag.options import add_fields, add_output, open_index, select_fields
from code_intel.cli.search import hit_count
from code_intel.errors import CodeIntelError, UsageError
from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.declaration import Answer
from code_intel.tools.documents.search import found
from code_intel.tools.wire.answers import HIT_FIELDS, MAX_ROW_TOKENS


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "query", nargs="+", help="a question, words or a symbol; - reads standard input"
    )
    parser.add_argument(
        "--top-k",
        type=hit_count,
        metavar="N",
        help="number of hits (default: the setting search_top_k)",
    )
    parser.add_argument("--directory", "--path", default="", help="only files below this folder")
    parser.add_argument(
        "--file-pattern", default="", help="only files whose name matches this glob"
    )
    add_fields(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> tuple[int, dict[str, Any] | None, str]:
    """Answer one query, or one per line."""
    with open_index(args.config, readonly=True) as service:
        if args.query != ["-"]:
            answer = _ask(service, " ".join(args.query), args)
            return 0, dict(answer.data), answer.text
        for line in filter(None, map(str.strip, sys.stdin)):
            print(json.dumps(_envelope(service, line, args), ensure_ascii=False), flush=True)
        return 0, None, ""


def _envelope(service: CorpusService, query: str, args: argparse.Namespace) -> dict[str, Any]:
    """Return the answer to one line; an error becomes the answer to its line."""
    try:
        return {"status": "ok", "data": dict(_ask(service, query, args).data)}
    except CodeIntelError as error:
        return refusal(error, "search")


def _ask(service: CorpusService, query: str, args: argparse.Namespace) -> Answer:
    """Search; cut chunks only if the answer is very long, since programs read it."""
    if not query.strip():
        raise UsageError("query is empty.", code="invalid_input", details={"field": "query"})
    if any(unicodedata.category(char) == "Cc" and char not in "\n\r\t" for char in query):
        what = "query contains control characters."
        raise UsageError(what, code="invalid_input", details={"field": "query"})
    limit = args.top_k or service.index.config.top_k
    answer = found(
        query, service.search(query, limit, args.directory, args.file_pattern), 4 * MAX_ROW_TOKENS
    )
    rows = select_fields(answer.data["results"], args.fields, HIT_FIELDS)
    return Answer({**answer.data, "results": rows}, answer.text)
