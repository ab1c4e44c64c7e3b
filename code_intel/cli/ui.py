"""Serve a page to look at the project in a browser: its map, searches, sessions and plans.

The page is served on this machine only. The command prints a link that opens it in one browser,
and opens the link unless `--no-open` is given. It runs until Ctrl-C. docs/ui.md describes the page.

--json: `url`, printed when the page can be opened.
"""

import argparse
import json
from typing import NoReturn

from code_intel.cli.project import add_project, project_of


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--port",
        type=int,
        default=0,
        metavar="N",
        help="serve on this port (default: a free one)",
    )
    parser.add_argument("--no-open", action="store_true", help="do not open a browser")
    parser.add_argument(
        "--read-only", action="store_true", help="refuse all changes to files and decisions"
    )
    add_project(parser)


def run(args: argparse.Namespace) -> NoReturn:
    """Serve until a signal."""
    settings = project_of(args)
    from code_intel.ui.serving import open_address, serve_ui

    def print_link(link: str) -> None:
        if args.json:
            print(json.dumps({"url": link}), flush=True)

    serve_ui(
        settings,
        open_address(args.port),
        readonly=args.read_only,
        opens=not args.no_open,
        ready=print_link,
    )
