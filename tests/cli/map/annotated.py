"""Read workflow commands as the runner of GitHub Actions does."""

import re
from typing import NamedTuple

_COMMAND = re.compile(r"::(?P<level>error|warning) (?P<properties>.*?)::(?P<message>.*)")
_DATA = (("%0D", "\r"), ("%0A", "\n"), ("%25", "%"))
_PROPERTY = (*_DATA[:2], ("%3A", ":"), ("%2C", ","), _DATA[2])


class Annotation(NamedTuple):
    """An annotation of a line of a file."""

    level: str
    file: str
    line: int
    title: str
    message: str


def annotations(printed: str) -> list[Annotation]:
    """Return the annotations in the output of a step, each line of which must be one."""
    return [_annotation(line) for line in printed.splitlines()]


def _annotation(line: str) -> Annotation:
    found = _COMMAND.fullmatch(line)
    assert found, line
    pairs = (item.partition("=") for item in found["properties"].split(","))
    given = {name: _unescaped(value, _PROPERTY) for name, _, value in pairs}
    message = _unescaped(found["message"], _DATA)
    return Annotation(found["level"], given["file"], int(given["line"]), given["title"], message)


def _unescaped(text: str, escapes: tuple[tuple[str, str], ...]) -> str:
    for escape, char in escapes:
        text = text.replace(escape, char)
    return text
