"""Convert records to JSON and back, checking each field against its type.

The records of `planning.records` are the schema. A field that is missing in an older file has its
default, and unknown keys are ignored, so that older versions read newer files.
"""

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from pydantic.alias_generators import to_camel

from code_intel.errors import StorageError
from code_intel.planning.records import Expected, Iteration, QueryPlan, Strategy

RecordT = TypeVar("RecordT")

SEED_NAMES: Mapping[tuple[type, str], str] = MappingProxyType(
    {
        (QueryPlan, "id"): "planId",
        (QueryPlan, "expected"): "expectedResults",
        (QueryPlan, "mode"): "evaluationMode",
        (QueryPlan, "stop"): "stopReason",
        (QueryPlan, "final"): "finalResults",
        (QueryPlan, "milliseconds"): "totalTime",
        (QueryPlan, "knowledge"): "structuredKnowledgePath",
        (Expected, "patterns"): "contentPatterns",
        (Strategy, "initial"): "initialMode",
        (Strategy, "refinement"): "refinementMethod",
        (Strategy, "rules"): "expansionRules",
        (Iteration, "number"): "iterationNumber",
        (Iteration, "results"): "actualResults",
    }
)
"""What seed 003 calls a field otherwise than in camel case."""


class Unreadable(ValueError):  # noqa: N818 - why a document is not what it should be
    """Names the field and what was expected there."""


def as_json(value: object) -> Any:
    """Return a record, or what is in one, as JSON data in the order of its fields."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {_wire(type(value), name): as_json(getattr(value, name)) for name in value._fields}
    if is_dataclass(value) and not isinstance(value, type):
        return {
            _wire(type(value), each.name): as_json(getattr(value, each.name))
            for each in fields(value)
        }
    if isinstance(value, tuple):
        return [as_json(item) for item in value]
    return value


def record(kind: type[RecordT], document: object, where: str = "") -> RecordT:
    """Return a record of that kind.

    Raises:
        Unreadable: A field is missing or not of its type; names it, such as `iterations[2].query`.
    """
    if not isinstance(document, dict):
        raise Unreadable(f"{where or 'the file'} must be an object")
    given: dict[str, Any] = {}
    for name, (hint, is_needed) in _schema(cast("Any", kind)).items():
        key = _wire(cast("Any", kind), name)
        place = f"{where}.{key}" if where else key
        if key in document:
            given[name] = _value(hint, document[key], place)
        elif is_needed:
            raise Unreadable(f"{place} is missing")
    return kind(**given)


def dumps(document: Mapping[str, Any]) -> bytes:
    """Return readable JSON; text that is not UTF-8 becomes question marks."""
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    return f"{text}\n".encode("utf-8", "replace")


def loads(data: bytes, version: int, name: str) -> dict[str, Any]:
    """Return the document of a file.

    Raises:
        StorageError: It is no JSON object of that version; says what to do with the file.
    """
    try:
        document = json.loads(data)
        if not isinstance(document, dict):
            raise Unreadable("it is not a JSON object")
    except (ValueError, RecursionError) as error:
        raise damaged(name, str(error)) from None
    if document.get("version") != version:
        raise damaged(name, f"version must be {version}")
    return document


def parsed(kind: type[RecordT], data: bytes, version: int, name: str) -> RecordT:
    """Return the record that a file of that version keeps.

    Raises:
        StorageError: It is damaged: names the file and the field.
    """
    try:
        return record(kind, loads(data, version, name))
    except Unreadable as error:
        raise damaged(name, str(error)) from None


def damaged(name: str, reason: str) -> StorageError:
    """Return the error that a kept file cannot be read."""
    return StorageError(
        f"{name} cannot be read: {reason}.",
        hint="Delete the file. It is a cache, and planning creates it again.",
        details={"file": name},
    )


@cache
def _wire(kind: type, name: str) -> str:
    return SEED_NAMES.get((kind, name)) or to_camel(name)


@cache
def _schema(kind: type) -> dict[str, tuple[Any, bool]]:
    """Return (type, whether it must be there) by field."""
    hints = get_type_hints(kind)
    if hasattr(kind, "_fields"):
        defaults = kind._field_defaults  # type: ignore[attr-defined]  # of every named tuple
        return {name: (hints[name], name not in defaults) for name in kind._fields}
    return {
        each.name: (hints[each.name], each.default is MISSING and each.default_factory is MISSING)
        for each in fields(kind)
    }


def _value(hint: Any, given: object, place: str) -> Any:
    origin = get_origin(hint)
    if origin is tuple:
        if not isinstance(given, list):
            raise Unreadable(f"{place} must be a list")
        inner = get_args(hint)[0]
        return tuple(_value(inner, item, f"{place}[{i}]") for i, item in enumerate(given))
    if origin is Literal:
        if given not in get_args(hint):
            raise Unreadable(f"{place} must be one of {', '.join(map(str, get_args(hint)))}")
        return given
    if origin in {Union, UnionType}:
        if given is None and NoneType in get_args(hint):
            return None
        return _value(next(a for a in get_args(hint) if a is not NoneType), given, place)
    if is_dataclass(hint) or hasattr(hint, "_fields"):
        return record(hint, given, place)
    return _scalar(hint, given, place)


def _scalar(hint: Any, given: object, place: str) -> Any:
    if hint is float and type(given) in {int, float}:
        with suppress(OverflowError):  # JSON has whole numbers of any length
            number = float(given)  # type: ignore[arg-type]  # one of the two
            if math.isfinite(number):
                return number
    elif type(given) is hint:
        return given
    raise Unreadable(f"{place} must be a {_KINDS.get(hint, hint.__name__)}")


_KINDS = {str: "text", int: "whole number", float: "finite number", bool: "truth value"}
