"""Read YAML front matter of untrusted files safely, and write it deterministically.

Tags, anchors, aliases, deep nesting and duplicate keys are refused, so that a file can neither run
code nor use a lot of memory. Each string is written in quotes and on one line, so that no string
can end the block (docs/decisions/0007). `front_matter_in_place` changes values in a block and keeps
the rest of the file as it is.
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
"""Function that returns the values of a block, or raises a ValueError with the reason."""


class Scalar(str):
    """The text of a scalar.

    Attributes:
        value: The number, boolean or None that YAML reads; the text for other scalars, also dates.
    """

    __slots__ = ("value",)
    value: object


class NotYaml(ValueError):  # noqa: N818 - a finding, not an error of the program
    """The block is not YAML, or not a mapping.

    For YAML that is not allowed, `load` raises a plain ValueError.
    """


def parse(text: str, load: Loader) -> tuple[dict[str, Any], str] | None:
    """Return the values of the front matter and the body, or None without a complete block.

    Raises:
        ValueError: `load` refused the block.
    """
    import frontmatter

    handler = _handler()(load)
    values, body = frontmatter.parse(text, handler=handler)
    return (values, body) if handler.closed else None


def dumps(values: Mapping[str, object], body: str) -> str:
    """Return a text that consists of front matter with `values` and of `body`; see `dump`."""
    import frontmatter

    post = frontmatter.Post(body, _handler()(load))
    post.metadata = dict(values)
    return f"{frontmatter.dumps(post)}\n"


def load(block: str) -> dict[str, Any]:
    """Return the mapping in `block`: values are `Scalar`, list or dict.

    Raises:
        ValueError: The block is refused; the message is a sentence.
    """
    import yaml

    if len(block.encode()) > MAX_FRONT_MATTER_BYTES:
        raise ValueError(f"The front matter is larger than {MAX_FRONT_MATTER_BYTES // 1024} KiB.")
    loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_events(yaml.parse(block, Loader=loader))
        node = yaml.compose(block, Loader=loader)
    except yaml.YAMLError as error:
        raise NotYaml(_why(error)) from None
    if not isinstance(node, yaml.MappingNode):
        raise NotYaml("The front matter is not a list of keys and values, such as `symbol: x`.")
    values = _value(node)
    return values if isinstance(values, dict) else {}


def dump(values: Mapping[str, object]) -> str:
    """Return `values` as lines of YAML: one per key, and one per item of a tuple."""
    return "".join(_entry(key, value) for key, value in values.items())


def quote(text: str) -> str:
    """Return `text` as a double-quoted scalar on one line, with invisible characters escaped."""
    plain = text.isprintable() and "\\" not in text and '"' not in text
    return f'"{text}"' if plain else '"' + "".join(_escaped(char) for char in text) + '"'


def visible(char: str) -> bool:
    """Return whether `char` is visible; the ideographic space counts as visible."""
    return char.isprintable() or char == "\u3000"


@cache
def _handler() -> Any:
    """Return the handler for python-frontmatter; defined late, because YAML imports slowly."""
    from frontmatter.default_handlers import YAMLHandler

    class Handler(YAMLHandler):
        """Read with the given function instead of the YAML loader, and write with `dump`."""

        FM_BOUNDARY = _BOUNDARY

        def __init__(self, load: Loader) -> None:
            super().__init__()
            self._load = load
            self.closed = False

        def split(self, text: str) -> tuple[str, str]:  # type: ignore[explicit-override]  # typing.override needs 3.12
            if not text.startswith("---"):  # the library would search the whole text
                raise ValueError(text[:3])
            return super().split(text)

        def load(self, fm: str, **_: object) -> dict[str, Any]:  # type: ignore[explicit-override]  # typing.override needs 3.12
            self.closed = True
            return self._load(fm)

        def export(self, metadata: dict[str, object], **_: object) -> str:  # type: ignore[explicit-override]  # typing.override needs 3.12
            return dump(metadata).rstrip("\n")

    return Handler


def _check_events(events: Any) -> None:
    """Raise a ValueError for anchors, tags and deep nesting.

    The stream of events is flat. The functions that read it afterwards are recursive.
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


def _why(error: Any) -> str:
    """Return the parser's error as a sentence, with the line in the file and a remedy."""
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    mark = getattr(error, "problem_mark", None)
    place = f"line {mark.line + 2}: " if mark else ""
    return f"The front matter is not YAML: {place}{problem}. Put strings in quotes."


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
            raise ValueError("The front matter has a key that is not a string.")  # noqa: TRY004 - one kind of refusal
        if key.value in values:
            raise ValueError(f"The front matter has the key {key.value} twice.")
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
    """Return a float as YAML 1.1 requires it: with a decimal point before the exponent."""
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
