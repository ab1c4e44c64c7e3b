"""Read YAML front matter of untrusted files safely, and write it deterministically.

Tags, anchors, aliases, deep nesting and duplicate keys are rejected, so that a file can neither run
code nor use much memory. Each string is written in quotes and on one line, so that no string can
end the block (docs/decisions/0007). `front_matter_in_place` changes values in an existing block and
keeps every other byte.
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any

MAX_FRONT_MATTER_BYTES = 64 * 1024
MAX_YAML_DEPTH = 8
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_PLAIN_TYPES = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_BOUNDARY = re.compile(r"^(?:-{3,}|\.{3})[ \t]*$", re.MULTILINE)
"""A line that begins or ends a block. YAML, and therefore Pandoc, also allows `...` at the end."""
_NULL = "tag:yaml.org,2002:null"


Loader = Callable[[str], dict[str, Any]]
"""Returns the values of a block, or raises a ValueError with the reason."""


class Scalar(str):
    """The text of a scalar.

    Attributes:
        value: The number, boolean or None that YAML reads, or the text of any other scalar.
    """

    __slots__ = ("value",)
    value: object


class FrontMatterFault(ValueError):  # noqa: N818 - a finding, not a defect
    """A value or line of the block cannot be used.

    Attributes:
        key: The key of the value, or empty.
        line: The line of the file, counted from 1; 0 if unknown.
    """

    def __init__(self, reason: str, *, key: str = "", line: int = 0) -> None:
        super().__init__(reason)
        self.key, self.line = key, line


class NotYaml(FrontMatterFault):
    """The block is not YAML, or not a mapping.

    For valid YAML that is not allowed, `load` raises another ValueError.
    """


def parse(text: str, load: Loader) -> tuple[dict[str, Any], str] | None:
    """Return the values of the front matter and the body, or None without a complete block.

    Raises:
        ValueError: `load` rejected the block.
    """
    import frontmatter

    handler = _handler()(load)
    values, body = frontmatter.parse(text, handler=handler)
    return (values, body) if handler.closed else None


def dumps(values: Mapping[str, object], body: str) -> str:
    """Return a text with `values` as front matter, followed by `body`; see `dump`."""
    import frontmatter

    post = frontmatter.Post(body, _handler()(load))
    post.metadata = dict(values)
    return f"{frontmatter.dumps(post)}\n"


def load(block: str) -> dict[str, Any]:
    """Return the mapping in `block`: values are `Scalar`, list or dict.

    Raises:
        ValueError: The block is rejected; the message is a sentence.
    """
    import yaml

    if len(block.encode()) > MAX_FRONT_MATTER_BYTES:
        raise ValueError(f"The front matter is larger than {MAX_FRONT_MATTER_BYTES // 1024} KiB.")
    loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_events(yaml.parse(block, Loader=loader))
        node = yaml.compose(block, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise NotYaml(_parse_error(error), line=mark.line + 2 if mark else 0) from None
    if not isinstance(node, yaml.MappingNode):
        raise NotYaml("The front matter is not a list of keys and values, such as `symbol: x`.")
    values = _value(node)
    return values if isinstance(values, dict) else {}


def dump(values: Mapping[str, object]) -> str:
    """Return `values` as lines of YAML: one per key, and one per item of a tuple."""
    return "".join(_dump_entry(key, value) for key, value in values.items())


def quote(text: str) -> str:
    """Return `text` as a double-quoted scalar on one line, with invisible characters escaped."""
    plain = text.isprintable() and "\\" not in text and '"' not in text
    return f'"{text}"' if plain else '"' + "".join(_escape(char) for char in text) + '"'


def is_visible(char: str) -> bool:
    """Return whether `char` is printable or an ideographic space."""
    return char.isprintable() or char == "\u3000"


@cache
def _handler() -> Any:
    """Return the handler for python-frontmatter, which is slow to import."""
    from frontmatter.default_handlers import YAMLHandler

    class Handler(YAMLHandler):
        """Read with the given function instead of the YAML loader, and write with `dump`."""

        FM_BOUNDARY = _BOUNDARY

        def __init__(self, load: Loader) -> None:
            super().__init__()
            self._load = load
            self.closed = False

        # typing.override needs 3.12.
        def split(self, text: str) -> tuple[str, str]:  # type: ignore[explicit-override]
            if not text.startswith("---"):  # the library would search the whole text
                raise ValueError(text[:3])
            return super().split(text)

        # typing.override needs 3.12.
        def load(self, fm: str, **_: object) -> dict[str, Any]:  # type: ignore[explicit-override]
            self.closed = True
            return self._load(fm)

        # typing.override needs 3.12.
        def export(  # type: ignore[explicit-override]
            self, metadata: dict[str, object], **_: object
        ) -> str:
            return dump(metadata).rstrip("\n")

    return Handler


def _check_events(events: Any) -> None:
    """Raise a ValueError for anchors, tags and deep nesting.

    The functions that read the block afterwards are recursive; the stream of events is flat.
    """
    depth = 0
    for event in events:
        kind = type(event).__name__
        if kind == "AliasEvent" or getattr(event, "anchor", None):
            raise ValueError(
                "The front matter uses YAML anchors, which are not allowed. "
                "Put a string that begins with & or * in quotes."
            )
        if getattr(event, "tag", None):
            raise ValueError(
                "The front matter uses YAML tags, which are not allowed. "
                "Put a string that begins with ! in quotes."
            )
        depth += kind.endswith("StartEvent") and kind[0] in "MS" and kind != "StreamStartEvent"
        depth -= kind in {"MappingEndEvent", "SequenceEndEvent"}
        if depth > MAX_YAML_DEPTH:
            raise ValueError("The front matter is nested too deeply.")


def _parse_error(error: Any) -> str:
    """Return a sentence about the parser's error, with the line in the file and a remedy."""
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    mark = getattr(error, "problem_mark", None)
    line = f"line {mark.line + 2}: " if mark else ""
    return f"The front matter is not YAML: {line}{problem}. Put strings in quotes."


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
            # Callers catch one type.
            raise ValueError("The front matter has a key that is not a string.")  # noqa: TRY004
        if key.value in values:
            reason = f"The front matter has the key {key.value} twice."
            raise FrontMatterFault(reason, key=str(key.value))
        values[str(key.value)] = _value(value)
    return values


def _typed(node: Any) -> object:
    """Return a number, boolean or None as YAML reads it, and any other scalar as text."""
    import yaml

    if node.tag == _NULL:
        return None
    if node.tag not in _PLAIN_TYPES:
        return str(node.value)
    try:
        return yaml.constructor.SafeConstructor().construct_object(node)
    except (ValueError, OverflowError):
        return str(node.value)


def _dump_entry(key: str, value: object) -> str:
    name = key if _PLAIN_KEY.match(key) else quote(key)
    if isinstance(value, tuple):
        return f"{name}:\n" + "".join(f"  - {_dump_value(item)}\n" for item in value)
    return f"{name}: {_dump_value(value)}\n"


def _dump_value(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return _dump_float(value)
    if isinstance(value, int | Decimal):
        return str(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_dump_value(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{quote(str(k))}: {_dump_value(v)}" for k, v in value.items()) + "}"
    return quote(str(value))


def _dump_float(value: float) -> str:
    """Return a float with a decimal point before the exponent, as YAML 1.1 requires."""
    special = {"nan": ".nan", "inf": ".inf", "-inf": "-.inf"}
    text = repr(value)
    return special.get(text) or (text.replace("e", ".0e") if "." not in text else text)


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if is_visible(char):
        return char
    code = ord(char)
    # The BMP ends there.
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004
