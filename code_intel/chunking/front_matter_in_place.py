"""Change values in existing front matter, and keep every other byte."""

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
    return _block_span(text) is not None


def with_new_block(text: str, values: Mapping[str, object]) -> str:
    """Return `text` preceded by a new block; values are strings or lists of strings."""
    line_ending = "\r\n" if "\r\n" in text.partition("\n")[0] + "\n" else "\n"
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    rows = [f"{key}: {_to_yaml(value)}" for key, value in values.items()]
    return mark + line_ending.join(["---", *rows, "---", "", ""]) + text.removeprefix(mark)


def merged(text: str, values: Mapping[str, object]) -> str:
    """Return `text` with these values in its block, or in a new block.

    Other keys, their order and comments are kept.

    Raises:
        ValueError: The block cannot be changed; the message is a sentence.
    """
    span = _block_span(text)
    if span is None:
        return with_new_block(text, values)
    start, end = span
    block = text[start:end]
    expected = _load_block(block) | dict(values)
    line_ending = "\r\n" if text[:start].endswith("\r\n") else "\n"
    for key, value in values.items():
        block = _with_value(block, key, _to_yaml(value), line_ending)
    if _load_block(block) != expected:
        raise ValueError("The front matter cannot be changed without touching its other keys.")
    return text[:start] + block + text[end:]


def _block_span(text: str) -> tuple[int, int] | None:
    """Return the span of the block's content; None if there is no closed block."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    return (opening.end(), closing.start()) if opening and closing else None


def _load_block(block: str) -> dict[str, Any]:
    """Return the values of a block, which may contain only comments."""
    lines = (line.strip() for line in block.splitlines())
    return load(block) if any(line and not line.startswith("#") for line in lines) else {}


def _with_value(block: str, key: str, value: str, line_ending: str) -> str:
    """Return a valid block with the value of one key replaced, or with the key appended."""
    import yaml

    # The loader in Python is used because its marks count characters.
    node = yaml.compose(block, Loader=yaml.SafeLoader)
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    if isinstance(node, yaml.MappingNode) and node.flow_style:
        raise ValueError("The front matter is written in braces. Write it as lines.")
    for name, old in pairs:
        if name.value != key:
            continue
        start, end = old.start_mark.index, _value_end(old, block)
        if old.start_mark.line != name.end_mark.line or start == end:
            start = block.index(":", name.end_mark.index) + 1
            return f"{block[:start]} {value}{block[max(start, end) :]}"
        return f"{block[:start]}{value}{block[end:]}"
    ends_with_newline = not block or block.endswith(("\n", "\r"))
    return f"{block}{'' if ends_with_newline else line_ending}{key}: {value}{line_ending}"


def _value_end(node: Any, block: str) -> int:
    """Return the end of a value, because the end mark of a block collection is the next token."""
    children = getattr(node, "value", None)
    if isinstance(children, list) and children and not node.flow_style:
        last = children[-1]
        return _value_end(last[1] if isinstance(last, tuple) else last, block)
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    return start + len(block[start:end].rstrip())


def _to_yaml(value: object) -> str:
    """Return a string or a list of strings as YAML, unquoted where the value stays the same."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_to_yaml, value)) + "]"
    text = str(value)
    return text if _PLAIN_TEXT.match(text) and _is_plain_string(text) else quote(text)


def _is_plain_string(scalar: str) -> bool:
    import yaml

    node = yaml.compose(scalar, Loader=yaml.SafeLoader)
    return isinstance(node, yaml.ScalarNode) and node.tag == _STRING and node.value == scalar
