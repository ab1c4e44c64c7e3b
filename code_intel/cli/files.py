"""Find files by the words that they contain. `search` also finds them by meaning."""

import argparse

from code_intel.cli.output import emit
from code_intel.cli.project import add_project
from code_intel.cli.tool_call import ToolOption, add_options, run_tool
from code_intel.tools.search.files_search import files_search

FILES_OPTIONS = (
    ToolOption("--top-k", "top_k", "N", "number of files"),
    ToolOption("--boost", "boost_profile", about="kind of file to rank higher"),
    ToolOption("--directory", "directory", "FOLDER"),
    ToolOption("--pattern", "file_pattern", "GLOB"),
    ToolOption("--language", "language", "NAME"),
    ToolOption(
        "--cursor", "cursor", "C", "`next_cursor` of the previous answer, for the next page"
    ),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("query", nargs="+", help="words to find; put a phrase in quotes")
    add_options(parser, files_search, FILES_OPTIONS)
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the files; return 1 if nothing was found."""
    inputs = {"query": " ".join(args.query)}
    answer = run_tool(args, files_search, FILES_OPTIONS, inputs, paths=["directory"])
    emit(args, answer.data, answer.text)
    return 0 if answer.data["results"] else 1
