"""`.mcp.json`: entries put in and taken out of its text, every other byte left as it is.

People write this file by hand; parsing and printing it anew would reformat what is theirs. Comments and
a comma behind the last member are theirs, too, though JSON has neither: see `plain`. All other functions
take the text of an object whose `mcpServers`, if any, is an object.
"""

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

SERVERS = "mcpServers"
_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)


class Member(NamedTuple):
    """A member of an object: its name, and where name, value and end are in the text."""

    name: str
    start: int
    value: int
    end: int


def plain(text: str) -> str:
    """Return `text` with spaces for comments and for commas behind last members; every place stays."""
    for pattern in (_COMMENT, _LAST_COMMA):
        text = pattern.sub(_blanked, text)
    return text


def _blanked(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else re.sub(r"[^\r\n]", " ", found[0])


def merged(text: str, entries: Mapping[str, Mapping[str, Any]]) -> str:
    """Return `text` with the entries appended to `mcpServers`, in their order."""
    top = plain(text).index("{")
    if _servers(text) is None:
        return _appended(text, top, 1, SERVERS, entries)
    for name, entry in entries.items():
        servers = _servers(text)
        assert servers is not None  # noqa: S101 - it was there
        text = _appended(text, servers.value, 2, name, entry)
    return text


def without(text: str, names: Collection[str]) -> str:
    """Return `text` as it was before `merged`: an `mcpServers` that came with the entries goes too."""
    servers = _servers(text)
    if servers is None:
        return text
    was_there = _filled_in(text, servers.value)
    for name in names:
        text = _removed(text, servers.value, name)
    found, _ = _members(text, servers.value)
    return text if found or was_there else _removed(text, plain(text).index("{"), SERVERS)


def _servers(text: str) -> Member | None:
    found, _ = _members(text, plain(text).index("{"))
    return next((member for member in reversed(found) if member.name == SERVERS), None)


def _members(text: str, opening: int) -> tuple[list[Member], int]:
    """Return the members of the object that opens there, and where it closes."""
    text = plain(text)
    decoder = json.JSONDecoder()
    found = []
    place = _next(text, opening + 1)
    while text[place] != "}":
        name, after = decoder.raw_decode(text, place)
        value = _next(text, _next(text, after) + 1)
        _, end = decoder.raw_decode(text, value)
        found.append(Member(name, place, value, end))
        place = _next(text, end)
        if text[place] == ",":
            place = _next(text, place + 1)
    return found, place


def _next(text: str, place: int) -> int:
    """Return the place of the next character that is no white space."""
    while text[place] in " \t\r\n":
        place += 1
    return place


def _appended(text: str, opening: int, depth: int, name: str, value: object) -> str:
    found, _ = _members(text, opening)
    line = "\r\n" if "\r\n" in text else "\n"
    step = re.match(r"\s*\{\r?\n([ \t]+)", text.lstrip("\ufeff"))
    indent = step[1] if step else "  "
    block = json.dumps({name: value}, ensure_ascii=False, indent=indent)[1:-1].strip("\n")
    block = line.join(indent * (depth - 1) + row for row in block.split("\n"))
    if found:
        return f"{text[: found[-1].end]},{line}{block}{text[found[-1].end :]}"
    return f"{text[: opening + 1]}{block.lstrip()}{text[opening + 1 :]}"


def _filled_in(text: str, opening: int) -> bool:
    """Whether the first member stands where `_appended` puts it in an object that was empty."""
    return text[opening + 1] == '"'


def _removed(text: str, opening: int, name: str) -> str:
    found, closing = _members(text, opening)
    names = [member.name for member in found]
    if name not in names:
        return text
    place = len(names) - 1 - names[::-1].index(name)
    if place:
        return text[: found[place - 1].end] + text[found[place].end :]
    if len(found) > 1:
        return text[: found[0].start] + text[found[1].start :]
    rest = found[0].end if _filled_in(text, opening) else closing
    return text[: opening + 1] + text[rest:]
