"""Search the map first and, if it has no answer, the forest.

The map holds the project's agreements: which term refers to which symbol. The forest is the index
of its source. The search belongs to no session and is not recorded. Without a query, the command
asks an example question about the project. It exits with 1 if nothing is likely. With `-` it reads
one query per line from standard input and prints one JSON object per line. A gateway of the project
that runs answers a query at once; otherwise the command opens the indexes and the model itself.

`--all` searches the source of this project, of all projects of its workspace (`code-intel
workspace`) and of the repositories on the server of the shared index (docs/shared.md), in one
ranking. `--repo NAME` searches that repository only; it may be repeated, and `shop` is enough for
`team/shop` if no other name ends so. Agreements are not searched. A checkout on this machine comes
before the same repository on the server. If the server does not answer, a note says so. A search of
all takes 200 repositories at most: those of this machine, then those of the same team. Each hit
shows its repository, in JSON as `repository` and `commit`; `document` is a name in that repository.

The ranking of the source is a table of signals. `--explain` prints the points that each signal gave
to a file; they add up to its score. In JSON, a result has them as `ranking` (`row`, `points`,
`factor`). `--why-not` names the step at which a file lost: the index, the searches, the floor, a
reduction or the limit. For a file that is shown, it names the signals by which the first file is
ahead. In JSON, `why_not` has the step as `lost`, which is empty if the file is shown, the `reasons`
as sentences, and the ranks and signals of the `file`, and of the `first` and the `last` file that
are shown.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from code_intel.cli.output import form_of
from code_intel.cli.project import add_project, project_of, require_index, terminal_of
from code_intel.config import Settings
from code_intel.errors import CodeIntelError, UsageError
from code_intel.foundation.gateway_socket import (
    HookOutput,
    HookRequest,
    NoGatewayError,
    ask_gateway,
)
from code_intel.records import PLACES_PER_FILE
from code_intel.tools.wire.terminal_question import (
    EVERY_REPOSITORY,
    TERMINAL,
    TerminalQuestion,
    TerminalRequest,
)

if TYPE_CHECKING:  # imported late, because `--help` and errors need none of it
    from code_intel.tools.search.terminal_search import Services

DEFAULT_TOP_K = 5
GATEWAY_TIMEOUT_S = 2.0
"""Seconds after which this process searches itself; several times what its own search takes."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "query", nargs="*", help="a question, words or a symbol; - reads standard input"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--map", action="store_true", help="search the agreements only")
    where.add_argument("--forest", action="store_true", help="search the source only")
    parser.add_argument(
        "--top-k",
        type=hit_count,
        default=DEFAULT_TOP_K,
        metavar="N",
        help=f"number of files (default: {DEFAULT_TOP_K})",
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
    parser.add_argument(
        "--explain",
        action="store_true",
        help="say what each signal of the ranking gave to each hit of the source",
    )
    parser.add_argument(
        "--repo",
        action="append",
        metavar="NAME",
        help="search this repository of the workspace or the server instead; may be repeated",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="search this project, and all others of the workspace and the server",
    )
    parser.add_argument(
        "--why-not", metavar="FILE", help="say where a file of the source lost, instead of the hits"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the hits; return 1 if nothing was found."""
    if args.map and args.why_not:
        raise UsageError(
            "--map and --why-not exclude each other: only files of the source are ranked.",
            details={"field": "why_not"},
        )
    _check_repositories(args)
    settings = project_of(args)
    require_index(settings)
    if args.query == ["-"]:
        return _answer_lines(settings, args)
    if args.query and (output := _ask_gateway(settings, args)) is not None:
        print(output.stdout, end="", flush=True)
        return int(output.exit_code)
    with _opened(settings) as services:
        return _search(settings, services, args)


def _check_repositories(args: argparse.Namespace) -> None:
    """Refuse options that only one project has."""
    given = "--all" if args.all else "--repo" if args.repo else ""
    others = {"--map": args.map, "--why-not": args.why_not, "--include": args.include}
    other = next((name for name, value in others.items() if value), "")
    if given and other:
        raise UsageError(
            f"{given} and {other} exclude each other: only the source of other repositories is"
            " searched.",
            details={"field": given.lstrip("-")},
        )


def _ask_gateway(settings: Settings, args: argparse.Namespace) -> HookOutput | None:
    """Return the answer of the gateway that runs for this project, or None."""
    terminal = terminal_of(settings, {})
    question = _question(" ".join(args.query), args)
    request = TerminalRequest(
        question, form_of(args), str(terminal.folder), terminal.sync, settings.search_digest
    )
    with suppress(NoGatewayError, OSError, ValueError):
        sent = HookRequest(TERMINAL, enforces=False, event=request.encode())
        return ask_gateway(settings.root, sent, GATEWAY_TIMEOUT_S)
    return None


@contextmanager
def _opened(settings: Settings) -> "Iterator[Services]":
    """Open the map and the forest for reading."""
    from code_intel.tools.context.corpus_service import open_project

    services = open_project(settings, readonly=True)
    try:
        yield services
    finally:
        for service in services:
            service.index.close()


def _search(settings: Settings, services: "Services", args: argparse.Namespace) -> int:
    """Print the answer to one query; return 1 if nothing was found."""
    from code_intel.tools.search.terminal_search import answer

    query, heading = " ".join(args.query), ""
    if not query:
        from code_intel.cli.setup.question import example_question

        query = example_question(services[1].index)
        heading = f"Question: {query}\n"
    found = answer(services, _question(query, args))
    print(found.printed(form_of(args), terminal_of(settings, {}), heading), flush=True)
    return found.exit_code


def _answer_lines(settings: Settings, args: argparse.Namespace) -> int:
    """Answer each line of standard input."""
    with _opened(settings) as services:
        for line in filter(None, map(str.strip, sys.stdin)):
            data = _answer_line(services, _question(line, args))
            print(json.dumps(data, ensure_ascii=False), flush=True)
    return 0


def _answer_line(services: "Services", question: TerminalQuestion) -> dict[str, Any]:
    """Return the answer to one line; an error becomes the answer to its line."""
    from code_intel.tools.search.terminal_search import answer

    try:
        return answer(services, question).data
    except CodeIntelError as error:
        return error.as_dict()


def _question(query: str, args: argparse.Namespace) -> TerminalQuestion:
    corpus = "map" if args.map else "forest" if args.forest else ""
    return TerminalQuestion(
        query,
        args.top_k,
        args.per_file,
        corpus,
        own=args.include == "own",
        explain=args.explain,
        why_not=_path(args.why_not or ""),
        repositories=(EVERY_REPOSITORY,) if args.all else tuple(args.repo or ()),
    )


def _path(name: str) -> str:
    """Return the absolute path of a file that exists; another name is looked up in the index."""
    return os.path.abspath(name) if name and os.path.lexists(name) else name  # noqa: PTH100


def hit_count(text: str) -> int:
    """Read the value of `--top-k`."""
    if not text.isdecimal() or not 1 <= int(text) <= 100:  # noqa: PLR2004 - the tools' limits
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 100")
    return int(text)
