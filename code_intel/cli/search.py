"""Search the map first and, if it has no answer, the forest.

The map holds the project's agreements: which term refers to which symbol. The forest is the index
of its source. The search belongs to no session and is not recorded. Without a query, the command
asks an example question about the project. It exits with 1 if nothing is likely. With `-` it reads
one query per line from standard input and prints one JSON object per line.
"""

import argparse
import json
import sys
from dataclasses import replace
from typing import Any

from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of, require_index, terminal_of
from code_intel.cli.setup.question import example_question
from code_intel.errors import CodeIntelError
from code_intel.forest.ranking.places import PLACES_PER_FILE, places_of
from code_intel.forest.ranking.question import read
from code_intel.records import VERIFICATION_SCORE, SearchAnswer
from code_intel.tools.context.corpus_service import CorpusService, open_project
from code_intel.tools.wire.answers import excerpt, fit, hit_data, hits_text, index_data, index_text
from code_intel.tools.wire.reader import in_terminal

NOTHING_LIKELY = "Nothing likely. Use other words, or `code-intel grep` for exact text."
PREVIEW_LINES = 5
"""Lines of each place in a terminal."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "query", nargs="*", help="a question, words or a symbol; - reads standard input"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--map", action="store_true", help="search the agreements only")
    where.add_argument("--forest", action="store_true", help="search the source only")
    parser.add_argument(
        "--top-k", type=hit_count, default=5, metavar="N", help="number of files (default: 5)"
    )
    parser.add_argument(
        "--per-file",
        type=hit_count,
        default=PLACES_PER_FILE,
        metavar="N",
        help=f"number of places of one file (default: {PLACES_PER_FILE})",
    )
    parser.add_argument(
        "--include",
        choices=("own",),
        help="also show the best page that a query plan has written",
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the hits; return 1 if nothing was found."""
    settings = project_of(args)
    require_index(settings)
    services = open_project(settings, readonly=True)
    try:
        if args.query == ["-"]:
            for line in filter(None, map(str.strip, sys.stdin)):
                data = _answer_line(services, line, args)
                print(json.dumps(data, ensure_ascii=False), flush=True)
            return 0
        query = " ".join(args.query) if args.query else example_question(services[1].index)
        corpus, answer = ask(services, query, args)
        question = "" if args.query else f"Question: {query}\n"
        data = {"query": query, **_data(corpus, answer)}
        with in_terminal(terminal_of(settings, {})):
            text = question + _text(corpus, answer)
        emit(args, data, text, marks=read(query).terms)
        return 0 if answer.hits else 1
    finally:
        for service in services:
            service.index.close()


def _answer_line(
    services: tuple[CorpusService, CorpusService], query: str, args: argparse.Namespace
) -> dict[str, Any]:
    """Return the answer to one line; an error becomes the answer to its line."""
    try:
        return _data(*ask(services, query, args))
    except CodeIntelError as error:
        return error.as_dict()


def ask(
    services: tuple[CorpusService, CorpusService], query: str, args: argparse.Namespace
) -> tuple[str, SearchAnswer]:
    """Return the corpus that answered, and its answer."""
    map_service, forest_service = services
    if not args.forest:
        answer = map_service.search(query, args.top_k)
        best = next((hit.score for hit in answer.hits if hit.agreement), None) or 0.0
        if args.map or best >= VERIFICATION_SCORE:
            return "map", answer
    found = forest_service.search(query, args.top_k, own=args.include == "own")
    hits = places_of(forest_service.index.store, query, found.hits, args.per_file)
    return "forest", replace(found, hits=tuple(hits))


def _data(corpus: str, answer: SearchAnswer) -> dict[str, Any]:
    shown, cut = fit(answer.hits)
    return {
        "source": corpus,
        "status": "PREVIOUS_SUCCESS" if corpus == "map" else "HYPOTHESIS",
        "results": [hit_data(hit, text) for hit, text in shown],
        "truncated": cut,
        "index": index_data(answer.index),
    } | ({} if shown else {"message": NOTHING_LIKELY})


def _text(corpus: str, answer: SearchAnswer) -> str:
    shown = [excerpt(hit, PREVIEW_LINES) for hit in answer.hits]
    heading = "Agreements:" if corpus == "map" else "Source (unverified):"
    body = f"{heading}\n{hits_text(shown)}" if shown else NOTHING_LIKELY
    return body + index_text(answer.index)


def hit_count(text: str) -> int:
    """Read the value of `--top-k`."""
    if not text.isdecimal() or not 1 <= int(text) <= 100:  # noqa: PLR2004 - the tools' limits
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 100")
    return int(text)
