"""Shorten the data of the gateway's answers for models, which many clients give the data as JSON.

Tools return complete data, which terminals and other tools use. The gateway sends it without empty
fields and without values that only programs need. It sends code as an array of lines, because JSON
escapes the line endings within a text, and lines that a search found by file (docs/decisions/0051).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

OMITTED = {
    "chunk": ("similarity", "position"),
    "cached_pairs": ("cache_note",),
    "nl_term": ("digest",),
}
"""Fields that a model does not need in a row with this field, such as a repeated note."""
CODE = ("chunk", "text")
"""Fields that contain code, if `start_line` is beside them."""
FOUND_LINES = {
    "matches": ("line_number", "line_content"),
    "references": ("line", "content"),
    "elsewhere": ("line", "content"),
}
"""Fields with lines of files, and their fields for the number and the text of a line."""
LINE_LABELS = ("repository", "commit", "file", "certainty", "symbol")
"""Fields by which lines of files are grouped."""
_LINE_ENDING = re.compile(r"\r\n|\r|\n")


def compact(data: Mapping[str, Any]) -> dict[str, Any]:
    r"""Return the data of an answer without `OMITTED` and empty fields, with code in lines.

    >>> compact({"path": "a.py", "start_line": 8, "text": "x = 1\ny = 2\n", "symbol": ""})
    {'path': 'a.py', 'start_line': 8, 'lines': ['x = 1', 'y = 2']}
    """
    omitted = {field for key, fields in OMITTED.items() if key in data for field in fields}
    shown: dict[str, Any] = {}
    for key, value in data.items():
        if key in CODE and data.get("start_line") and isinstance(value, str):
            shown["lines"] = lines_of(value)
        elif key in FOUND_LINES and value:
            shown[key] = by_file(value, *FOUND_LINES[key])
        elif key not in omitted and not _is_empty(value):
            shown[key] = _compact(value)
    return shown


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, without their endings."""
    return _LINE_ENDING.split(text.removesuffix("\n").removesuffix("\r"))


def by_file(rows: Sequence[Mapping[str, Any]], number: str, text: str) -> list[dict[str, Any]]:
    """Return found lines by file and its other labels, each line once, with its number.

    As in grep, `:` follows the number of a found line, and `-` that of a line around one.

    >>> row = {"file": "a.py", "line": 8, "content": "f()", "after": ["g()"]}
    >>> by_file([row], "line", "content")
    [{'file': 'a.py', 'lines': ['8: f()', '9- g()']}]
    """
    found = []
    for labels, group in groupby(rows, key=_labels):
        rows_of_file = list(group)
        lines: dict[int, str] = {}
        for row in rows_of_file:
            lines |= {
                at: f"{at}- {line}" for at, line in _around(row, row[number]) if at not in lines
            }
        lines |= {row[number]: f"{row[number]}: {row[text]}" for row in rows_of_file}
        flags = sorted({flag for row in rows_of_file for flag in row.get("flags", ())})
        shown = {**labels, "lines": [lines[at] for at in sorted(lines)]}
        found.append(shown | ({"flags": flags} if flags else {}))
    return found


def _labels(row: Mapping[str, Any]) -> dict[str, Any]:
    return {field: row[field] for field in LINE_LABELS if row.get(field)}


def _around(row: Mapping[str, Any], number: int) -> Iterator[tuple[int, str]]:
    before = row.get("before", ())
    yield from enumerate(before, number - len(before))
    yield from enumerate(row.get("after", ()), number + 1)


def _compact(value: Any) -> Any:
    if isinstance(value, Mapping):
        return compact(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_compact(item) for item in value]
    return value


def _is_empty(value: object) -> bool:
    """Return whether a value says nothing; False and 0 do."""
    return value is None or value in ("", [], {}, ())
