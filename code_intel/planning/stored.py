"""Convert the records of `planning.records` to JSON and back, by pydantic.

A field that is missing in an older file has its default, and unknown keys are ignored, so that
older versions read newer files.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from code_intel.config.reading import printable_key
from code_intel.errors import StorageError
from code_intel.planning.records import StoredRecord

RecordT = TypeVar("RecordT")
_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}


def _adapter(kind: type[RecordT]) -> TypeAdapter[RecordT]:
    """Return the converter of a kind of record, built on first use."""
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def as_json(record: StoredRecord) -> Any:
    """Return a record as JSON data in the order of its fields."""
    return _adapter(type(record)).dump_python(record, mode="json")


def parsed(kind: type[RecordT], data: bytes, name: str) -> RecordT:
    """Return the record that a file keeps.

    Raises:
        StorageError: It is damaged: names the file and the field, such as `iterations[2].query`.
    """
    try:
        return _adapter(kind).validate_json(data)
    except ValidationError as error:
        raise damaged(name, ": ".join(filter(None, first_problem(error)))) from None


def built(kind: type[RecordT], values: Mapping[str, Any]) -> RecordT:
    """Return a record of values by their names in JSON; other names are ignored."""
    return _adapter(kind).validate_python(values, strict=False)


def first_problem(error: ValidationError) -> tuple[str, str]:
    """Return the first field that is wrong, empty for the whole, and what it should be."""
    first = error.errors(include_url=False, include_input=False)[0]
    parts = (f"[{at}]" if isinstance(at, int) else f".{printable_key(at)}" for at in first["loc"])
    return "".join(parts).removeprefix("."), first["msg"]


def dumps(document: Mapping[str, Any]) -> bytes:
    """Return readable JSON; text that is not UTF-8 becomes question marks."""
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    return f"{text}\n".encode("utf-8", "replace")


def damaged(name: str, reason: str) -> StorageError:
    """Return the error that a kept file cannot be read."""
    return StorageError(
        f"{name} cannot be read: {reason}.",
        hint="Delete the file. It is a cache, and planning creates it again.",
        details={"file": name},
    )
