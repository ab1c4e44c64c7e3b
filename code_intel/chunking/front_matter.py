"""YAML front matter from files that anyone may have written: read safely, written deterministically.

Tags, anchors, aliases, deep nesting and duplicate keys are refused, so that a file can neither run
code nor grow in memory. Every scalar that we write is a quoted one-line string, so that no text can
end the block (docs/decisions/0007). A block that people wrote is changed in place: only the values that
are given anew, every other byte stays.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

MAX_BYTES = 64 * 1024
MAX_DEPTH = 8
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_PLAIN_TYPES = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_OPENING = re.compile(r"\ufeff?-{3,}[ \t]*(\r\n|\n|\r)")
_CLOSING = re.compile(r"^-{3,}[ \t]*\r?$", re.MULTILINE)
_PLAIN_TEXT = re.compile(r"\w[\w./+-]*(?: [\w./+-]+)*\Z")
_STRING = "tag:yaml.org,2002:str"
_NULL = "tag:yaml.org,2002:null"


class Scalar(str):
    """A scalar as it was written; `value` is what YAML takes it for, strings and dates verbatim."""

    __slots__ = ("value",)
    value: object


def split(text: str) -> tuple[str, str] | None:
    """Return front matter and body, or None when `text` does not start with a closed block."""
    from frontmatter.default_handlers import YAMLHandler

    handler = YAMLHandler()
    if not handler.detect(text):
        return None
    try:
        block, body = handler.split(text)
    except ValueError:
        return None
    return str(block), str(body)


def load(block: str) -> dict[str, Any]:
    """Return the mapping in `block`: values are `Scalar`, list or dict.

    Raises:
        ValueError: Why it cannot be used, as a sentence.
    """
    import yaml

    if len(block.encode()) > MAX_BYTES:
        raise ValueError(f"The front matter is larger than {MAX_BYTES // 1024} KiB.")
    loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _refuse_tricks(yaml.parse(block, Loader=loader))
        node = yaml.compose(block, Loader=loader)
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise ValueError(f"The front matter is not YAML: {problem}.") from None
    if not isinstance(node, yaml.MappingNode):
        raise ValueError("The front matter is not a list of keys and values.")  # noqa: TRY004 - one kind of refusal
    values = _value(node)
    return values if isinstance(values, dict) else {}


def dump(values: Mapping[str, object]) -> str:
    """Return `values` as YAML lines; a non-empty tuple takes a line an item, an empty one its key."""
    return "".join(_entry(key, value) for key, value in values.items())


def has_block(text: str) -> bool:
    """Say whether a text starts with a closed block, whatever is in it."""
    return _place(text) is not None


def inserted(text: str, values: Mapping[str, object]) -> str:
    """Return `text` with a new block in front of it; texts and lists of texts."""
    line = "\r\n" if "\r\n" in text.partition("\n")[0] + "\n" else "\n"
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    rows = [f"{key}: {_written(value)}" for key, value in values.items()]
    return mark + line.join(["---", *rows, "---", "", ""]) + text.removeprefix(mark)


def merged(text: str, values: Mapping[str, object]) -> str:
    """Return `text` with these values in its block, in a new one if it has none.

    Other keys, their order, and comments stay as they are.

    Raises:
        ValueError: Why the block cannot be changed, as a sentence.
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


def quote(text: str) -> str:
    """Return `text` as a double-quoted scalar on one line, everything invisible escaped."""
    plain = text.isprintable() and "\\" not in text and '"' not in text
    return f'"{text}"' if plain else '"' + "".join(_escaped(char) for char in text) + '"'


def visible(char: str) -> bool:
    """Say whether a reader can see `char` for what it is; the ideographic space counts."""
    return char.isprintable() or char == "\u3000"


def _place(text: str) -> tuple[int, int] | None:
    """Return where the content of the block begins and ends; None when there is no closed block."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    return (opening.end(), closing.start()) if opening and closing else None


def _loaded(block: str) -> dict[str, Any]:
    """Return the values of a block, in which there may be nothing but comments."""
    lines = (line.strip() for line in block.splitlines())
    return load(block) if any(line and not line.startswith("#") for line in lines) else {}


def _with(block: str, key: str, value: str, line: str) -> str:
    """Return a sound block with the value of one key replaced, or the key appended."""
    import yaml

    # The loader in Python: its marks count characters.
    node = yaml.compose(block, Loader=yaml.SafeLoader)
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    if isinstance(node, yaml.MappingNode) and node.flow_style:
        raise ValueError("The front matter stands in braces; write it as lines.")
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
    """Return where a value ends; the mark of a block collection is where the next token begins."""
    children = getattr(node, "value", None)
    if isinstance(children, list) and children and not node.flow_style:
        last = children[-1]
        return _end(last[1] if isinstance(last, tuple) else last, block)
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    return start + len(block[start:end].rstrip())


def _written(value: object) -> str:
    """Return a text, or a list of texts, as people write it: plain where YAML reads the same back."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_written, value)) + "]"
    text = str(value)
    return text if _PLAIN_TEXT.match(text) and _is_text(text) else quote(text)


def _is_text(scalar: str) -> bool:
    import yaml

    node = yaml.compose(scalar, Loader=yaml.SafeLoader)
    return isinstance(node, yaml.ScalarNode) and node.tag == _STRING and node.value == scalar


def _refuse_tricks(events: Any) -> None:
    """Walk the event stream, which is flat, before anything recursive looks at it."""
    depth = 0
    for event in events:
        kind = type(event).__name__
        if kind == "AliasEvent" or getattr(event, "anchor", None):
            raise ValueError("The front matter uses YAML anchors, which are not allowed.")
        if getattr(event, "tag", None):
            raise ValueError("The front matter uses YAML tags, which are not allowed.")
        depth += kind.endswith("StartEvent") and kind[0] in "MS" and kind != "StreamStartEvent"
        depth -= kind in {"MappingEndEvent", "SequenceEndEvent"}
        if depth > MAX_DEPTH:
            raise ValueError("The front matter is nested too deeply.")


def _value(node: Any) -> Any:
    import yaml

    if isinstance(node, yaml.SequenceNode):
        return [_value(item) for item in node.value]
    if not isinstance(node, yaml.MappingNode):
        scalar = Scalar(node.value)
        scalar.value = _typed(node)
        return scalar
    values: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise ValueError("The front matter has a key that is not a word.")  # noqa: TRY004 - one kind of refusal
        if key.value in values:
            raise ValueError(f"The front matter gives {key.value} twice.")
        values[str(key.value)] = _value(value)
    return values


def _typed(node: Any) -> object:
    """Return number, truth value or None where YAML sees one, else the text."""
    import yaml

    if node.tag == _NULL:
        return None
    if node.tag not in _PLAIN_TYPES:
        return str(node.value)
    try:
        return yaml.SafeLoader("").construct_object(node)
    except (ValueError, OverflowError):
        return str(node.value)


def _entry(key: str, value: object) -> str:
    name = key if _PLAIN_KEY.match(key) else quote(key)
    if isinstance(value, tuple):
        return f"{name}:\n" + "".join(f"  - {_flow(item)}\n" for item in value)
    return f"{name}: {_flow(value)}\n"


def _flow(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, int | Decimal):
        return str(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{quote(str(k))}: {_flow(v)}" for k, v in value.items()) + "}"
    return quote(str(value))


def _number(value: float) -> str:
    """Return a float as YAML 1.1 reads it back: with a point in the mantissa."""
    special = {"nan": ".nan", "inf": ".inf", "-inf": "-.inf"}
    text = repr(value)
    return special.get(text) or (text.replace("e", ".0e") if "." not in text else text)


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if visible(char):
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - the BMP ends there
