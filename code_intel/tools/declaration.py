"""Declare a tool once: its signature defines the schema, command-line options and documentation.

    async def search_map(
        context: GatewayContext,
        query: Annotated[str, Field(min_length=1, description="…")],
        top_k: Annotated[int, Field(ge=1, le=50, description="…")] = 10,
    ) -> Answer:
        '''What it does, when to use it, what it returns.'''

The first parameter is the context in which the tool runs; it is not part of the schema. Everything
derived from a signature is built when first needed and cached, because building thirty schemas
takes longer than a handshake (docs/decisions/0012).
"""

import functools
import inspect
import json
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, create_model

from code_intel.errors import UsageError
from code_intel.foundation.redaction import masked_data
from code_intel.foundation.text import visible, without_hidden
from code_intel.records import (
    FAIR_SCORE,
    READY_SCORE,
    VERIFICATION_SCORE,
    VERY_GOOD_SCORE,
    WEAK_SCORE,
)
from code_intel.session.relevance import GRAY, HIGH

THRESHOLDS: Mapping[str, float] = MappingProxyType(
    {
        "ready": READY_SCORE,
        "verification": VERIFICATION_SCORE,
        "high_likeness": HIGH.minimum,
        "gray_likeness": GRAY.minimum,
        "very_good": VERY_GOOD_SCORE,
        "fair": FAIR_SCORE,
        "weak": WEAK_SCORE,
    }
)
"""Numbers that tool descriptions contain as placeholders, such as `{ready}`."""
UNLISTED: dict[str, JsonValue] = {"unlisted": True}
"""Extra of a parameter that is accepted, but not listed: few callers need it.

Under the demands of counts, it is listed."""
BY_NAME: dict[str, JsonValue] = {"by_name": True}
"""Extra of a parameter that is listed without its description, because its name says it."""
MAX_ITEMS = 1000
MAX_KEY_CHARS = 60
"""Maximum length of an argument's key in a message."""
MAX_FIELD_CHARS = 120
"""Maximum length of the path to a value in the arguments; inner keys beyond it are omitted."""
MAX_PROBLEM_CHARS = 400
"""Maximum length of a message about a value, because the message may contain the value."""
MAX_CALL_BYTES = 1 << 20
MAX_ARGUMENT_DEPTH = 32
_TYPE_NAME = re.compile(r"^[A-Z]|[^\w]|^(?:str|int|float|bool|none|list|dict)$")
"""Names of types in the location of a pydantic error; names of parameters begin in lower case."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a tool: `data` for programs, and a short `text` for the model.

    If `is_exact` is set, the text is JSON or a prompt, and notes are added only to the data.
    `remark` is a second text, so that the first one stays exact.
    """

    data: Mapping[str, Any]
    text: str
    is_exact: bool = False
    remark: str = ""

    def noting(self, *notes: str) -> "Answer":
        """Return the answer with `notes` among its warnings."""
        if not notes:
            return self
        warnings = [*self.data.get("warnings", ()), *notes]
        text = self.text if self.is_exact else "\n".join((self.text, *notes))
        return replace(self, data={**self.data, "warnings": warnings}, text=text)


@dataclass(frozen=True)
class Tool:
    """A tool that clients can call.

    Attributes:
        run: The function; its name is the tool's name, its docstring the description.
        read_only: Whether it changes nothing but the session's journal.
        destructive: Whether it may delete what cannot be restored.
        verbatim: Parameters in which secrets are not masked.
        aliases: Other names by which it can be called; it is listed and recorded by its own name.
        open_world: Whether it may start programs, which may use the network.
        lists_all: Whether `tools/list` shows `UNLISTED` parameters, too.
    """

    run: Callable[..., Awaitable[Answer]]
    read_only: bool = True
    destructive: bool = False
    verbatim: frozenset[str] = frozenset()
    aliases: tuple[str, ...] = ()
    open_world: bool = False
    lists_all: bool = False

    @property
    def name(self) -> str:
        """The name on the wire."""
        return self.run.__name__

    @property
    def description(self) -> str:
        """The docstring without its indentation, with the numbers of `THRESHOLDS`."""
        text = inspect.getdoc(self.run) or ""
        for name, value in THRESHOLDS.items():
            text = text.replace(f"{{{name}}}", f"{value:g}")
        return text

    @functools.cached_property
    def model(self) -> type[BaseModel]:
        """The pydantic model of the arguments."""
        hints = get_type_hints(self.run, include_extras=True)
        _, *parameters = inspect.signature(self.run).parameters.values()
        fields: dict[str, Any] = {
            p.name: (hints[p.name], ... if p.default is inspect.Parameter.empty else p.default)
            for p in parameters
        }
        return create_model(self.name, __config__=ConfigDict(extra="ignore"), **fields)

    @functools.cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, as short as possible; see `_resolved`."""
        return _resolved(self.model.model_json_schema())

    @functools.cached_property
    def listed_schema(self) -> dict[str, Any]:
        """The schema as `tools/list` shows it; see `_listed`."""
        shown: dict[str, Any] = _listed(self.schema, everything=self.lists_all)
        return shown

    def arguments(self, given: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Check and convert the arguments of a call.

        Some clients send arrays, objects, numbers and booleans as JSON strings; these are parsed
        unless the parameter is a string. An optional argument that is null counts as omitted.

        Returns:
            The arguments by parameter name, and the names of unknown arguments, which are ignored.

        Raises:
            UsageError: An argument is invalid; the error names the first such field.
        """
        _check_size(given)
        fields = self.model.model_fields
        known = {
            name: _coerce(value, fields[name].annotation)
            for name, value in given.items()
            if name in fields and (value is not None or fields[name].is_required())
        }
        for name, value in known.items():
            _check_text(name, value)
            if fields[name].is_required() and name not in self.verbatim:
                _check_not_blank(name, value)
        verbatim = {name: known[name] for name in self.verbatim if name in known}
        try:
            checked = self.model.model_validate(masked_data(known) | verbatim)
        except ValidationError as error:
            raise _usage_error(self, error) from None
        return {name: getattr(checked, name) for name in fields}, self.unknown(given)

    def unknown(self, given: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the names of arguments that the tool does not have.

        `session_id` always counts as known, because clients pass it to every tool.
        """
        known = {*self.model.model_fields, "session_id"}
        return tuple(sorted(name for name in given if name not in known))


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """Return `schema` with references resolved, and without what a reader does not need.

    Generated titles, empty defaults and the null of optional arguments are omitted, because every
    listed tool is part of the model's context (docs/decisions/0034).
    """
    definitions = schema.pop("$defs", {})

    def resolve(node: Any) -> Any:
        if isinstance(node, list):
            return [resolve(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            target = {**definitions[node["$ref"].rsplit("/", 1)[-1]]}
            target.pop("description", None)  # the parameter has its own
            node = {**target, **{k: v for k, v in node.items() if k != "$ref"}}
        kept = {k: v for k, v in node.items() if k != "title" or not isinstance(v, str)}
        return _without_null({k: resolve(v) for k, v in kept.items()})

    resolved: dict[str, Any] = resolve(schema)
    resolved.setdefault("properties", {})
    for field in resolved["properties"].values():
        if field.get("default") in _EMPTY_DEFAULTS:
            field.pop("default", None)
    resolved.pop("additionalProperties", None)
    return resolved


_LIMITS = frozenset({"minLength", "maxLength", "minItems", "maxItems"})
_OBVIOUS_MINIMUMS = (0, 1)
_OBVIOUS_MAXIMUM = 1_000_000
_EMPTY_DEFAULTS: tuple[object, ...] = (None, "", [], {}, False)
_OBVIOUS_DEFAULTS: tuple[object, ...] = (*_EMPTY_DEFAULTS, ".")


def _listed(schema: Any, *, everything: bool) -> Any:
    """Return a schema without what a caller can do without.

    This omits limits of length, obvious limits and defaults (such as the first of several
    choices), descriptions of `BY_NAME`, and `UNLISTED` parameters unless `everything` is listed. A
    call that exceeds a limit is refused with an error that explains it.
    """
    if isinstance(schema, list):
        return [_listed(item, everything=everything) for item in schema]
    if not isinstance(schema, dict):
        return schema
    shown = {
        key: _listed(value, everything=everything)
        for key, value in schema.items()
        if key not in _LIMITS
    }
    if shown.keys() & BY_NAME.keys():
        shown.pop("description", None)
        shown = {key: value for key, value in shown.items() if key not in BY_NAME}
    if shown.get("minimum") in _OBVIOUS_MINIMUMS:
        del shown["minimum"]
    if isinstance(shown.get("maximum"), int) and shown["maximum"] > _OBVIOUS_MAXIMUM:
        del shown["maximum"]
    if "default" in shown and _is_obvious(shown["default"], shown.get("enum", ())):
        del shown["default"]
    if "properties" in shown:
        shown["properties"] = {
            name: {key: value for key, value in field.items() if key not in UNLISTED}
            for name, field in shown["properties"].items()
            if everything or not field.keys() & UNLISTED.keys()
        }
    return shown


def _is_obvious(default: object, choices: Sequence[object]) -> bool:
    if isinstance(default, dict):
        return all(_is_obvious(value, ()) for value in default.values())
    return default in _OBVIOUS_DEFAULTS or default in choices[:1]


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an optional value without its alternative null."""
    options = [option for option in node.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == len(node.get("anyOf", ())):
        return node
    others = {key: value for key, value in node.items() if key != "anyOf"}
    return {**options[0], **others} if len(options) == 1 else {"anyOf": options, **others}


def _check_size(given: Mapping[str, Any]) -> None:
    """Refuse arguments that are too large or nested too deeply."""
    try:
        text = json.dumps(given, default=str, ensure_ascii=False)
    except RecursionError:
        raise UsageError(
            "The arguments are nested too deeply.", details={"field": "arguments"}
        ) from None
    if len(text) > MAX_CALL_BYTES or len(text.encode("utf-8", "replace")) > MAX_CALL_BYTES:
        raise UsageError("The call is larger than 1 MiB.", hint="Send less in one call.")


def _coerce(value: object, annotation: object) -> object:
    """Parse a JSON string unless the parameter is a string."""
    if not isinstance(value, str) or _accepts_text(annotation):
        return value
    try:
        return json.loads(value, parse_constant=lambda _: math.nan)
    except (ValueError, RecursionError):
        return value


def from_json(value: object) -> object:
    """Parse a JSON string that contains an array or an object (a validator for fields)."""
    if not isinstance(value, str) or value.strip()[:1] not in {"[", "{"}:
        return value
    parsed = _coerce(value, list)
    _check_text("the JSON within an argument", parsed)
    return parsed


def _accepts_text(annotation: object) -> bool:
    if get_origin(annotation) is Annotated:
        return _accepts_text(get_args(annotation)[0])
    if get_origin(annotation) is not None and not isinstance(annotation, type):
        parts = get_args(annotation)
        if get_origin(annotation) in {list, tuple, dict, set}:
            return False
        return any(part is str or isinstance(part, str) or _accepts_text(part) for part in parts)
    return annotation is str


def _check_text(name: str, value: object, depth: int = 0) -> None:
    """Refuse text that cannot be stored in a file or an index without changes."""
    if depth > MAX_ARGUMENT_DEPTH:
        raise UsageError(f"{name} is nested too deeply.", details={"field": name})
    if isinstance(value, str):
        if "\x00" in value or any("\ud800" <= char <= "\udfff" for char in value):
            raise UsageError(
                f"{name} contains a NUL or an unpaired surrogate.", details={"field": name}
            )
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _check_text(_field_path(name, key), item, depth + 1)
    elif isinstance(value, list):
        if len(value) > MAX_ITEMS:
            raise UsageError(f"{name} has more than {MAX_ITEMS} items.", details={"field": name})
        for item in value:
            _check_text(name, item, depth + 1)


def _field_path(name: str = "", *keys: object) -> str:
    """Return the path to a value in the arguments, such as `parameter.key.key`, shortened."""
    for key in keys:
        longer = f"{name}.{visible(str(key)[:MAX_KEY_CHARS])}"
        if len(longer) > MAX_FIELD_CHARS:
            return f"{name.removesuffix('.…')}.…"
        name = longer
    return name


def _check_not_blank(name: str, value: object) -> None:
    """Refuse a required text without visible characters."""
    if isinstance(value, str) and value and not without_hidden(value).strip():
        raise UsageError(f"{name} is blank.", details={"field": name})


def _usage_error(tool: Tool, error: ValidationError) -> UsageError:
    first = error.errors(include_url=False)[0]
    parts = (str(part) for part in first["loc"])
    field = _field_path(*(part for part in parts if not _TYPE_NAME.search(part))) or "arguments"
    problem = ": " + first["msg"].removeprefix("Value error, ")[:MAX_PROBLEM_CHARS]
    if first["type"] == "missing":
        problem = " is required"
    elif first["type"] == "model_type":
        problem = " is an object"  # pydantic would name the class
    return UsageError(
        f"{tool.name}: {field}{problem}.",
        hint=f"Correct {field} and call {tool.name} again.",
        details={"field": field},
    )


SessionId = Annotated[str | None, Field()]
"""The handle that start_session returned; default: the last session of the connection."""
