"""Run a tool that finds places of the code on the paths of a command line."""

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from code_intel.cli.code.found_lines import Spans
from code_intel.cli.project import project_of, terminal_of
from code_intel.cli.tool_call import ToolFunction, ToolOption, run_tool, words_of
from code_intel.foundation.text import visible
from code_intel.records import Freshness
from code_intel.tools.wire.answers import index_text
from code_intel.tools.wire.reader import advice, file_name, in_terminal

SCOPE = "only in these folders or files (default: the whole project)"


class FoundPlaces(NamedTuple):
    """What a command found.

    Attributes:
        rows: The places, each once.
        data: The answer of the tool; with several paths, all answers in one.
        names: The names of the files for the terminal.
        notes: What a person should know about the answer.
    """

    rows: Sequence[Mapping[str, Any]]
    data: Mapping[str, Any]
    names: Mapping[str, str]
    notes: Sequence[str]


class Question(NamedTuple):
    """What to ask a tool.

    Attributes:
        tool: The tool's function.
        options: The options of the command that are inputs of the tool.
        inputs: Further inputs.
        field: The field of the answer with the places.
        number: The field of a place with its line.
        nothing: What to say if there are no places.
        narrow: What to do if there are more.
    """

    tool: ToolFunction
    options: Sequence[ToolOption]
    inputs: Mapping[str, Any]
    field: str
    number: str
    nothing: str
    narrow: str


def find_places(args: argparse.Namespace, question: Question) -> FoundPlaces:
    """Run the tool on each path of the command line, or on the whole project."""
    answers = [
        run_tool(
            args,
            question.tool,
            question.options,
            {**question.inputs, "path": path},
            paths=["path"] if args.path else (),
            rows=question.field,
        ).data
        for path in args.path or ["."]
    ]
    rows = {
        (row["file"], row[question.number]): row for data in answers for row in data[question.field]
    }
    data = answers[0]
    if len(answers) > 1:
        data = _joined(answers, question, list(rows.values()))
    with in_terminal(terminal_of(project_of(args), words_of(question.options))):
        names = {file: file_name(file) for file, _ in rows}
        notes = list(_notes(data, question))
    return FoundPlaces(list(rows.values()), data, names, notes)


def _joined(
    answers: Sequence[Mapping[str, Any]], question: Question, rows: list[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return several answers as one."""
    data = {**answers[0], "path": [each["path"] for each in answers], question.field: rows}
    data |= {key: len(rows) for key in ("total", "total_matches") if key in data}
    data["truncated"] = any(each["truncated"] for each in answers)
    warnings = [text for each in answers for text in each.get("warnings", ())]
    return data | ({"warnings": list(dict.fromkeys(warnings))} if warnings else {})


def _notes(data: Mapping[str, Any], question: Question) -> Iterator[str]:
    if not data[question.field]:
        yield question.nothing
    if data["truncated"]:
        yield f"There are more. {question.narrow}"
    yield from map(advice, data.get("warnings", ()))
    index = data.get("index", {"state": "fresh"})
    if index["state"] != "fresh":
        yield index_text(Freshness(**{**index, "degraded": tuple(index["degraded"])})).strip()


def named(symbol: str) -> Spans:
    """Return a function that finds the last part of a symbol's name in a text."""
    name = re.split(r"[.:#]+", symbol.strip(".:#() "))[-1]
    pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)" if name else r"(?!)")

    def spans(text: str) -> Iterable[tuple[int, int]]:
        return (found.span() for found in pattern.finditer(text))

    return spans


def shown(text: str) -> str:
    """Return what a user typed, for a message."""
    return visible(text)[:200]
