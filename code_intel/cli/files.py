"""Find files by the words in them; `search` finds by meaning as well."""

import argparse
from typing import get_args

from code_intel.cli.output import emit
from code_intel.cli.project import add_project, project_of
from code_intel.cli.tool_call import call
from code_intel.forest.bundles.boosts import BoostProfile
from code_intel.tools.search.files_search import files_search


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("query", nargs="+", help="words; quote what belongs together")
    parser.add_argument("--top-k", type=int, default=20, metavar="N", help="files (default 20)")
    parser.add_argument(
        "--boost",
        choices=get_args(BoostProfile),
        default="default",
        help="which kind of file stands in front: source (default), documents (docs), none",
    )
    parser.add_argument("--directory", default="", metavar="FOLDER", help="only below this folder")
    parser.add_argument("--pattern", default="", metavar="GLOB", help="only names of this glob")
    parser.add_argument("--language", default="", help="only in this language")
    parser.add_argument("--cursor", default="", metavar="C", help="go on where an answer ended")
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Answer; 1 when nothing was found."""
    given = {
        "query": " ".join(args.query),
        "top_k": args.top_k,
        "boost_profile": args.boost,
        "directory": args.directory,
        "file_pattern": args.pattern,
        "language": args.language,
        "cursor": args.cursor,
    }
    answer = call(project_of(args), files_search, given)
    emit(args, answer.data, answer.text)
    return 0 if answer.data["results"] else 1
