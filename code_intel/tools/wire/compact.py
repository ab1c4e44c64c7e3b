"""Shorten the data of the gateway's answers for models, which many clients give the data as JSON.

Tools return complete data, which terminals and other tools use. The gateway sends it without empty
fields and without values that only programs need. It sends code as numbered lines, because JSON
escapes the line endings within a text (docs/decisions/0051).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

OMITTED = {"line_content": ("submatches",), "chunk": ("similarity", "position")}
"""Fields that a model does not need in a row with this field."""
CODE = ("chunk", "text")
"""Fields that contain code, if `start_line` is beside them."""
_LINE_ENDING = re.compile(r"\r\n|\r|\n")


def compact(data: Mapping[str, Any]) -> dict[str, Any]:
    r"""Return the data of an answer without `OMITTED` and empty fields, with code in lines.

    >>> compact({"path": "a.py", "start_line": 8, "text": "x = 1\ny = 2\n", "symbol": ""})
    {'path': 'a.py', 'start_line': 8, 'lines': ['8: x = 1', '9: y = 2']}
    """
    omitted = {field for key, fields in OMITTED.items() if key in data for field in fields}
    shown: dict[str, Any] = {}
    for key, value in data.items():
        if key in CODE and data.get("start_line") and isinstance(value, str):
            shown["lines"] = numbered(data["start_line"], value)
        elif key not in omitted and not _is_empty(value):
            shown[key] = _compact(value)
    return shown


def numbered(first: int, text: str) -> list[str]:
    """Return the lines of a text, each with its number, counted from `first`."""
    lines = _LINE_ENDING.split(text.removesuffix("\n").removesuffix("\r"))
    return [f"{number}: {line}" for number, line in enumerate(lines, first)]


def _compact(value: Any) -> Any:
    if isinstance(value, Mapping):
        return compact(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_compact(item) for item in value]
    return value


def _is_empty(value: object) -> bool:
    """Return whether a value says nothing; False and 0 do."""
    return value is None or value in ("", [], {}, ())
