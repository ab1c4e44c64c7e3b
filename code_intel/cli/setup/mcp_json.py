"""Add, replace and remove server entries in the text of a JSON file; every other byte stays.

Users edit these files, so parsing and printing them again would change their formatting. Comments
and trailing commas are allowed, see `plain`. `merged`, `replaced` and `without` take the text of an
object whose member `key`, such as `mcpServers`, is an object or missing.
"""

import json
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_BESIDE = re.compile(r"[ \t]*(//[^\r\n]*|/\*(?:(?!\*/)[^\r\n])*\*/(?=[ \t]*[\r\n]))")
"""A comment on the rest of a line. It belongs to what precedes it."""
_OWN_LINE = re.compile(r"(?:\r?\n)?[ \t]*\Z")

Entries = Mapping[str, Mapping[str, Any]]


class Member(NamedTuple):
    """A member of an object: its name, and the offsets of name, value and end in the text."""

    name: str
    start: int
    value: int
    end: int


@lru_cache(maxsize=4)
def plain(text: str) -> str:
    """Return `text` with spaces for comments and trailing commas, so that offsets stay the same."""
    return _LAST_COMMA.sub(_blanked, _uncommented(text))


@lru_cache(maxsize=4)
def _uncommented(text: str) -> str:
    return _COMMENT.sub(_blanked, text) if "//" in text or "/*" in text else text


def _blanked(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else re.sub(r"[^\r\n]", " ", found[0])


def read(text: str, key: str) -> object:
    """Return the value of `key`, an empty object if none exists.

    Raises:
        ValueError: The file is not a JSON object.
    """
    document = json.loads(plain(text.removeprefix("\ufeff")).strip() or "{}")
    if not isinstance(document, dict):
        raise ValueError("It is not an object.")  # noqa: TRY004 - callers catch one type
    return document.get(key, {})


def is_blank(text: str) -> bool:
    """Whether the file has nothing but comments."""
    return not plain(text).strip("\ufeff \t\r\n")


def whole(key: str, entries: Entries) -> str:
    """Return a file with the entries only."""
    return json.dumps({key: entries}, ensure_ascii=False, indent=2) + "\n"


def merged(text: str, key: str, entries: Entries) -> str:
    """Return `text`, which is not blank, with the entries appended to those of `key`."""
    top = plain(text).index("{")
    servers = _member(text, top, key)
    if servers is None:
        return _appended(text, top, 1, {key: entries})
    return _appended(text, servers.value, 2, entries) if entries else text


def replaced(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return `text` with one entry replaced."""
    servers = _member(text, plain(text).index("{"), key)
    assert servers is not None  # noqa: S101 - it has that entry
    member = _member(text, servers.value, name)
    assert member is not None  # noqa: S101 - as above
    _, _, value = _block(text, 2, {name: entry}).partition(": ")
    return text[: member.value] + value + text[member.end :]


def without(text: str, key: str, names: Collection[str]) -> str:
    """Return `text` as it was before `merged`, which may have added `key` itself."""
    top = plain(text).index("{")
    servers = _member(text, top, key)
    if servers is None:
        return text
    was_there = _filled_in(text, servers.value)
    for name in names:
        text = _removed(text, servers.value, name)
    found, _ = _members(text, servers.value)
    return text if found or was_there else _removed(text, top, key)


def _member(text: str, opening: int, name: str) -> Member | None:
    found, _ = _members(text, opening)
    return next((member for member in reversed(found) if member.name == name), None)


def _members(text: str, opening: int) -> tuple[list[Member], int]:
    """Return the members of the object at an offset, and the offset of its end."""
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
    """Return the offset of the next character that is not white space."""
    while text[place] in " \t\r\n":
        place += 1
    return place


def _appended(text: str, opening: int, depth: int, members: Mapping[str, object]) -> str:
    found, _ = _members(text, opening)
    block = _block(text, depth, members)
    if not found:
        return f"{text[: opening + 1]}{block.lstrip()}{text[opening + 1 :]}"
    end = found[-1].end
    comma = _comma(text, end)
    behind = end if comma is None else comma + 1
    beside = _BESIDE.match(text, behind)
    place = beside.end() if beside else behind
    if comma is None:
        return f"{text[:end]},{text[end:place]}{_line(text)}{block}{text[place:]}"
    return f"{text[:place]}{_line(text)}{block},{text[place:]}"


def _comma(text: str, end: int) -> int | None:
    """Return the offset of the comma after a member, if there is one."""
    text = _uncommented(text)
    place = _next(text, end)
    return place if text[place] == "," else None


def _line(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _block(text: str, depth: int, members: Mapping[str, object]) -> str:
    """Return members with the file's line ends and indentation."""
    step = re.match(r"\s*\{\r?\n([ \t]+)", text.lstrip("\ufeff"))
    indent = step[1] if step else "  "
    block = json.dumps(members, ensure_ascii=False, indent=indent)[1:-1].strip("\n")
    return _line(text).join(indent * (depth - 1) + row for row in block.split("\n"))


def _filled_in(text: str, opening: int) -> bool:
    """Whether the first member is where `_appended` puts it in an empty object."""
    return text[opening + 1] == '"'


def _removed(text: str, opening: int, name: str) -> str:
    found, closing = _members(text, opening)
    names = [member.name for member in found]
    if name not in names:
        return text
    place = len(names) - 1 - names[::-1].index(name)
    if place:
        return _closed_up(text, found[place - 1], found[place])
    if len(found) > 1:
        return text[: found[0].start] + text[found[1].start :]
    rest = found[0].end if _filled_in(text, opening) else closing
    return text[: opening + 1] + text[rest:]


def _closed_up(text: str, previous: Member, member: Member) -> str:
    """Return the text without a member and one comma: its own, or the one before it."""
    before = len(_OWN_LINE.sub("", text[: member.start], 1))
    bare, own = _uncommented(text), _comma(text, member.end)
    rest = text[member.end if own is None else own + 1 :]
    if bare[before - 1] != text[before - 1] and not re.match(r"[ \t]*[\r\n]", rest):
        rest = _line(text) + rest  # otherwise it would become part of the comment before
    if own is not None:
        return text[:before] + rest
    comma = bare.index(",", previous.end)
    return text[:comma] + text[comma + 1 : before] + rest
