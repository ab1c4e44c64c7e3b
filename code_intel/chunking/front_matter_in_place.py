"""Change values in existing front matter; every other byte stays."""

import re
from collections.abc import Mapping
from typing import Any

from code_intel.chunking.front_matter import load, quote

_OPENING = re.compile(r"\ufeff?-{3,}[ \t]*(\r\n|\n|\r)")
_CLOSING = re.compile(r"^(?:-{3,}|\.{3})[ \t]*\r?$", re.MULTILINE)
_PLAIN_TEXT = re.compile(r"\w[\w./+-]*(?: [\w./+-]+)*\Z")
_STRING = "tag:yaml.org,2002:str"


def has_block(text: str) -> bool:
    """Return whether a text starts with a closed block."""
    return _place(text) is not None


def inserted(text: str, values: Mapping[str, object]) -> str:
    """Return `text` after a new block; values are strings or lists of strings."""
    line = "\r\n" if "\r\n" in text.partition("\n")[0] + "\n" else "\n"
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    rows = [f"{key}: {_written(value)}" for key, value in values.items()]
    return mark + line.join(["---", *rows, "---", "", ""]) + text.removeprefix(mark)


def merged(text: str, values: Mapping[str, object]) -> str:
    """Return `text` with these values in its block, or in a new block.

    Other keys, their order and comments stay.

    Raises:
        ValueError: The block cannot be changed; the message is a sentence.
    """
    place = _place(text)
    if place is None:
        return inserted(text, values)
    start, end = place
    block = text[start:end]
    expected = _loaded(block) | dict(values)
    line = "\r\n" if text[:start].endswith("\r\n") else "\n"
    for key, value in values.items():
        block = _with(block, key, _written(value), line)
    if _loaded(block) != expected:
        raise ValueError("The front matter cannot be changed without touching its other keys.")
    return text[:start] + block + text[end:]


def _place(text: str) -> tuple[int, int] | None:
    """Return start and end of the content of the block; None if there is no closed block."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    return (opening.end(), closing.start()) if opening and closing else None


def _loaded(block: str) -> dict[str, Any]:
    """Return the values of a block, which may have only comments."""
    lines = (line.strip() for line in block.splitlines())
    return load(block) if any(line and not line.startswith("#") for line in lines) else {}


def _with(block: str, key: str, value: str, line: str) -> str:
    """Return a valid block with the value of one key replaced, or with the key appended."""
    import yaml

    # The loader in Python, because its marks count characters.
    node = yaml.compose(block, Loader=yaml.SafeLoader)
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    if isinstance(node, yaml.MappingNode) and node.flow_style:
        raise ValueError("The front matter is written in braces. Write it as lines.")
    for name, old in pairs:
        if name.value != key:
            continue
        start, end = old.start_mark.index, _end(old, block)
        if old.start_mark.line != name.end_mark.line or start == end:
            start = block.index(":", name.end_mark.index) + 1
            return f"{block[:start]} {value}{block[max(start, end) :]}"
        return f"{block[:start]}{value}{block[end:]}"
    ended = not block or block.endswith(("\n", "\r"))
    return f"{block}{'' if ended else line}{key}: {value}{line}"


def _end(node: Any, block: str) -> int:
    """Return the end of a value; the end mark of a block collection is the next token."""
    children = getattr(node, "value", None)
    if isinstance(children, list) and children and not node.flow_style:
        last = children[-1]
        return _end(last[1] if isinstance(last, tuple) else last, block)
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    return start + len(block[start:end].rstrip())


def _written(value: object) -> str:
    """Return a string or a list of strings as YAML, unquoted where the value stays the same."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_written, value)) + "]"
    text = str(value)
    return text if _PLAIN_TEXT.match(text) and _is_text(text) else quote(text)


def _is_text(scalar: str) -> bool:
    import yaml

    node = yaml.compose(scalar, Loader=yaml.SafeLoader)
    return isinstance(node, yaml.ScalarNode) and node.tag == _STRING and node.value == scalar
