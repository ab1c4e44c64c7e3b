"""Add, replace and remove members of an object or an array in the text of a JSON file.

Users edit these files, so parsing and printing them again would change their formatting. Every
other byte stays. Comments and trailing commas are allowed. An object or array is given by the
offset of its opening bracket. The members of an array are named by their positions.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_COMMENT_BEHIND = re.compile(r"[ \t]*(//[^\r\n]*|/\*(?:(?!\*/)[^\r\n])*\*/(?=[ \t]*[\r\n]))")
"""A comment on the rest of a line. It belongs to the member before it."""
_LINE_START = re.compile(r"(?:\r?\n)?[ \t]*\Z")

Members = Mapping[str, object] | Sequence[object]


class Member(NamedTuple):
    """A member of an object or array: its name or position, and the offsets of its parts."""

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


def first_object(text: str) -> int:
    """Return the offset of the document's object."""
    return as_strict_json(text).index("{")


def find_member(text: str, opening: int, name: str) -> Member | None:
    """Return a member, the last one if several have the name."""
    members, _ = members_of(text, opening)
    return next((member for member in reversed(members) if member.name == name), None)


def members_of(text: str, opening: int) -> tuple[list[Member], int]:
    """Return the members of the object or array at an offset, and the offset of its end."""
    text = as_strict_json(text)
    decoder = json.JSONDecoder()
    members: list[Member] = []
    offset = _skip_space(text, opening + 1)
    while text[offset] not in "}]":
        name, value_start = str(len(members)), offset
        if text[opening] == "{":
            name, after = decoder.raw_decode(text, offset)
            value_start = _skip_space(text, _skip_space(text, after) + 1)
        _, end = decoder.raw_decode(text, value_start)
        members.append(Member(name, offset, value_start, end))
        offset = _skip_space(text, end)
        if text[offset] == ",":
            offset = _skip_space(text, offset + 1)
    return members, offset


def appended(text: str, opening: int, depth: int, members: Members) -> str:
    """Return the text with members appended to the object or array, which is `depth` levels in."""
    present, _ = members_of(text, opening)
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


def with_value(text: str, member: Member, depth: int, value: object) -> str:
    """Return the text with another value of an object's member."""
    _, _, written = _block(text, depth, {member.name: value}).partition(": ")
    return text[: member.value_start] + written + text[member.end :]


def follows_bracket(text: str, opening: int) -> bool:
    """Return whether the first member directly follows the bracket, as if it was once empty."""
    return text[opening + 1] in '"{'


def without_member(text: str, opening: int, name: str) -> str:
    """Return the text without a member, if there is one; its comma goes with it."""
    members, closing = members_of(text, opening)
    names = [member.name for member in members]
    if name not in names:
        return text
    index = len(names) - 1 - names[::-1].index(name)
    if index:
        return _without_later_member(text, members[index - 1], members[index])
    if len(members) > 1:
        return text[: members[0].start] + text[members[1].start :]
    rest = members[0].end if follows_bracket(text, opening) else closing
    return text[: opening + 1] + text[rest:]


def _skip_space(text: str, offset: int) -> int:
    """Return the offset of the next character that is not white space."""
    while text[offset] in " \t\r\n":
        offset += 1
    return offset


def _comma(text: str, end: int) -> int | None:
    """Return the offset of the comma after a member, if there is one."""
    text = _uncommented(text)
    offset = _skip_space(text, end)
    return offset if text[offset] == "," else None


def _line_ending(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _block(text: str, depth: int, members: Members) -> str:
    """Return the text of members, with the file's line endings and indentation."""
    indentation = re.match(r"\s*\{\r?\n([ \t]+)", text.lstrip("\ufeff"))
    indent = indentation[1] if indentation else "  "
    block = json.dumps(members, ensure_ascii=False, indent=indent)[1:-1].strip("\n")
    return _line_ending(text).join(indent * (depth - 1) + row for row in block.split("\n"))


def _without_later_member(text: str, previous: Member, member: Member) -> str:
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
