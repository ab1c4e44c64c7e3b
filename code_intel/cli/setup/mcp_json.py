"""Add, replace and remove server entries in the text of a JSON file; every other byte stays.

Users edit these files, so parsing and printing them again would change their formatting. Comments
and trailing commas are allowed. `merged`, `replaced` and `removed` take the text of an object whose
member `key`, such as `mcpServers`, is an object or missing.
"""

import json
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_COMMENT_BEHIND = re.compile(r"[ \t]*(//[^\r\n]*|/\*(?:(?!\*/)[^\r\n])*\*/(?=[ \t]*[\r\n]))")
"""A comment on the rest of a line. It belongs to the member before it."""
_LINE_START = re.compile(r"(?:\r?\n)?[ \t]*\Z")

Entries = Mapping[str, Mapping[str, Any]]


class Member(NamedTuple):
    """A member of an object: its name, and the offsets of its parts in the text."""

    name: str
    start: int
    value_start: int
    end: int


@lru_cache(maxsize=4)
def as_strict_json(text: str) -> str:
    """Replace comments and trailing commas with spaces, so that offsets stay the same."""
    return _LAST_COMMA.sub(_blanked, _uncommented(text))


@lru_cache(maxsize=4)
def _uncommented(text: str) -> str:
    return _COMMENT.sub(_blanked, text) if "//" in text or "/*" in text else text


def _blanked(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else re.sub(r"[^\r\n]", " ", match[0])


def read(text: str, key: str) -> object:
    """Return the value of `key`, or an empty object if it is missing.

    Raises:
        ValueError: The file is not a JSON object.
    """
    document = json.loads(as_strict_json(text.removeprefix("\ufeff")).strip() or "{}")
    if not isinstance(document, dict):
        raise ValueError("It is not an object.")  # noqa: TRY004 - callers catch one type
    return document.get(key, {})


def is_blank(text: str) -> bool:
    """Return whether the file contains nothing but comments."""
    return not as_strict_json(text).strip("\ufeff \t\r\n")


def new_text(key: str, entries: Entries) -> str:
    """Return the text of a new file with the entries."""
    return json.dumps({key: entries}, ensure_ascii=False, indent=2) + "\n"


def merged(text: str, key: str, entries: Entries) -> str:
    """Return `text`, which is not blank, with the entries appended to those of `key`."""
    top = as_strict_json(text).index("{")
    servers = _member(text, top, key)
    if servers is None:
        return _appended(text, top, 1, {key: entries})
    return _appended(text, servers.value_start, 2, entries) if entries else text


def replaced(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return `text` with one entry replaced."""
    servers = _member(text, as_strict_json(text).index("{"), key)
    assert servers is not None  # noqa: S101 - it has that entry
    member = _member(text, servers.value_start, name)
    assert member is not None  # noqa: S101 - as above
    _, _, value = _block(text, 2, {name: entry}).partition(": ")
    return text[: member.value_start] + value + text[member.end :]


def removed(text: str, key: str, names: Collection[str]) -> str:
    """Return `text` without the entries `names`, and without `key` if `merged` added it."""
    top = as_strict_json(text).index("{")
    servers = _member(text, top, key)
    if servers is None:
        return text
    key_existed = _follows_brace(text, servers.value_start)
    for name in names:
        text = _remove_member(text, servers.value_start, name)
    entries, _ = _members(text, servers.value_start)
    return text if entries or key_existed else _remove_member(text, top, key)


def _member(text: str, opening: int, name: str) -> Member | None:
    members, _ = _members(text, opening)
    return next((member for member in reversed(members) if member.name == name), None)


def _members(text: str, opening: int) -> tuple[list[Member], int]:
    """Return the members of the object at an offset, and the offset of its end."""
    text = as_strict_json(text)
    decoder = json.JSONDecoder()
    members = []
    offset = _skip_space(text, opening + 1)
    while text[offset] != "}":
        name, after = decoder.raw_decode(text, offset)
        value_start = _skip_space(text, _skip_space(text, after) + 1)
        _, end = decoder.raw_decode(text, value_start)
        members.append(Member(name, offset, value_start, end))
        offset = _skip_space(text, end)
        if text[offset] == ",":
            offset = _skip_space(text, offset + 1)
    return members, offset


def _skip_space(text: str, offset: int) -> int:
    """Return the offset of the next character that is not white space."""
    while text[offset] in " \t\r\n":
        offset += 1
    return offset


def _appended(text: str, opening: int, depth: int, members: Mapping[str, object]) -> str:
    present, _ = _members(text, opening)
    block = _block(text, depth, members)
    if not present:
        return f"{text[: opening + 1]}{block.lstrip()}{text[opening + 1 :]}"
    end = present[-1].end
    comma = _comma(text, end)
    after_comma = end if comma is None else comma + 1
    beside = _COMMENT_BEHIND.match(text, after_comma)
    offset = beside.end() if beside else after_comma
    if comma is None:
        return f"{text[:end]},{text[end:offset]}{_line_ending(text)}{block}{text[offset:]}"
    return f"{text[:offset]}{_line_ending(text)}{block},{text[offset:]}"


def _comma(text: str, end: int) -> int | None:
    """Return the offset of the comma after a member, if there is one."""
    text = _uncommented(text)
    offset = _skip_space(text, end)
    return offset if text[offset] == "," else None


def _line_ending(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _block(text: str, depth: int, members: Mapping[str, object]) -> str:
    """Return the text of members, with the file's line endings and indentation."""
    indentation = re.match(r"\s*\{\r?\n([ \t]+)", text.lstrip("\ufeff"))
    indent = indentation[1] if indentation else "  "
    block = json.dumps(members, ensure_ascii=False, indent=indent)[1:-1].strip("\n")
    return _line_ending(text).join(indent * (depth - 1) + row for row in block.split("\n"))


def _follows_brace(text: str, opening: int) -> bool:
    """Return whether the first member directly follows the brace, as in an object once empty."""
    return text[opening + 1] == '"'


def _remove_member(text: str, opening: int, name: str) -> str:
    members, closing = _members(text, opening)
    names = [member.name for member in members]
    if name not in names:
        return text
    index = len(names) - 1 - names[::-1].index(name)
    if index:
        return _without_member(text, members[index - 1], members[index])
    if len(members) > 1:
        return text[: members[0].start] + text[members[1].start :]
    rest = members[0].end if _follows_brace(text, opening) else closing
    return text[: opening + 1] + text[rest:]


def _without_member(text: str, previous: Member, member: Member) -> str:
    """Return the text without a member and one comma: its own or else the one before it."""
    before = len(_LINE_START.sub("", text[: member.start], 1))
    bare, own = _uncommented(text), _comma(text, member.end)
    rest = text[member.end if own is None else own + 1 :]
    if bare[before - 1] != text[before - 1] and not re.match(r"[ \t]*[\r\n]", rest):
        rest = _line_ending(text) + rest  # else it would become part of the comment
    if own is not None:
        return text[:before] + rest
    comma = bare.index(",", previous.end)
    return text[:comma] + text[comma + 1 : before] + rest
