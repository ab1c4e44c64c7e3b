"""Find the lines that match a regular expression, in the files as they are on disk now.

Files that git ignores, binary files and files that may hold secrets are not searched. Exits with 1
if nothing was found. The options are those of grep and ripgrep.
"""

import argparse
import re
from collections.abc import Iterable, Iterator

from code_intel.cli.code.found_lines import FoundLine, Spans, print_found
from code_intel.cli.code.places import SCOPE, FoundPlaces, Question, find_places, shown
from code_intel.cli.project import add_project
from code_intel.cli.tool_call import ToolOption, add_options
from code_intel.tools.code.search_text import search_text

MAX_MATCHES = 1000
GREP_OPTIONS = (
    ToolOption("-t/--type", "file_type", "TYPE", "only files of this type, such as py or ts"),
    ToolOption("-C/--context", "context_lines", "N", "lines around each match, at most 10"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("pattern", help="a regular expression, in the syntax of ripgrep")
    parser.add_argument("path", nargs="*", help=SCOPE)
    parser.add_argument(
        "-i", "--ignore-case", action="store_true", help="ignore upper and lower case"
    )
    parser.add_argument("-w", "--word-regexp", action="store_true", help="match whole words only")
    parser.add_argument(
        "-F", "--fixed-strings", action="store_true", help="the pattern is text, not an expression"
    )
    parser.add_argument(
        "-l", "--files-with-matches", action="store_true", help="print the names of files only"
    )
    add_options(parser, search_text, GREP_OPTIONS)
    add_project(parser)


def run(args: argparse.Namespace) -> int:
    """Print the lines; return 1 without any."""
    pattern = expression(args)
    question = Question(
        search_text,
        GREP_OPTIONS,
        {
            "pattern": pattern,
            "case_sensitive": not args.ignore_case,
            "max_results": MAX_MATCHES,
        },
        "matches",
        "line_number",
        f"No line matches {shown(args.pattern)}.",
        "Narrow with a path or --type.",
    )
    found = find_places(args, question)
    if args.files_with_matches:
        files = dict.fromkeys(row["file"] for row in found.rows)
        lines = [FoundLine(found.names[file], "") for file in files]
    else:
        lines = list(_lines(found))
    data = {**found.data, "pattern": args.pattern}
    print_found(args, data, lines, found.notes, _matches(pattern, ignore_case=args.ignore_case))
    return 0 if found.rows else 1


def expression(args: argparse.Namespace) -> str:
    """Return the regular expression that the options describe; ripgrep gives -w this meaning."""
    pattern: str = re.escape(args.pattern) if args.fixed_strings else args.pattern
    if not args.word_regexp:
        return pattern
    return rf"\b{{start-half}}(?:{pattern})\b{{end-half}}"


def _lines(found: FoundPlaces) -> Iterator[FoundLine]:
    """Yield the matches with the lines around them, each line once; `--` parts distant ones."""
    numbered: dict[tuple[str, int], tuple[str, bool]] = {}
    for row in found.rows:
        file, number, before = row["file"], row["line_number"], row.get("before", ())
        around = (*before, row["line_content"], *row.get("after", ()))
        for line, text in enumerate(around, number - len(before)):
            if line == number or (file, line) not in numbered:
                numbered[file, line] = text, line == number
    has_context = len(numbered) > len(found.rows)
    last = None
    for (file, line), (text, is_match) in sorted(numbered.items()):
        if has_context and last and last != (file, line - 1):
            yield FoundLine("--", "")
        sign = ":" if is_match else "-"
        yield FoundLine(f"{found.names[file]}{sign}{line}{sign}", text)
        last = file, line


def _matches(pattern: str, *, ignore_case: bool) -> Spans:
    """Return a function that finds the matches in a line, to mark them."""

    def spans(text: str) -> Iterable[tuple[int, int]]:
        import re2

        plain = pattern.replace(r"\b{start-half}", r"\b").replace(r"\b{end-half}", r"\b")
        try:
            compiled = re2.compile(f"(?i){plain}" if ignore_case else plain)
        except re2.error:  # a form that only ripgrep knows; its lines are not marked
            return ()
        return (found.span() for found in compiled.finditer(text) if found.end() > found.start())

    return spans
