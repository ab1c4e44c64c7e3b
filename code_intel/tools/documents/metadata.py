"""Write devrag's five metadata fields into the front matter of Markdown files.

The file is edited (`chunking.front_matter_in_place`), replaced atomically, and indexed again.
Other fields, such as those of an agreement, are kept.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from code_intel.chunking import front_matter_in_place as front_matter
from code_intel.errors import BusyError, CodeIntelError, NotFoundError, StorageError, UsageError
from code_intel.foundation import durable
from code_intel.index.corpus import MAX_FILE_BYTES
from code_intel.index.safe_files import read_resolved
from code_intel.learned.files import changes
from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.documents.operations import locate


def _empty_as_none(value: object) -> object:
    """Convert an empty text, which some clients send for an omitted argument, to None."""
    return None if value == "" else value


def _joined(value: object) -> object:
    """Convert a list of tags to a comma-separated text."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    return value


Domain = Annotated[
    Literal["frontend", "backend", "mobile", "infrastructure", "other"] | None,
    BeforeValidator(_empty_as_none),
]
DocType = Annotated[
    Literal["spec", "design", "api", "guide", "note", "other"] | None,
    BeforeValidator(_empty_as_none),
]
Language = Annotated[
    Literal["go", "typescript", "python", "rust", "java", "kotlin", "swift", "other"] | None,
    BeforeValidator(_empty_as_none),
]
Tags = Annotated[str, BeforeValidator(_joined)]
Project = str
FIELDS = ("domain", "docType", "language", "tags", "project")
"""The fields, in the order in which devrag writes them."""
SPELLINGS = {"doc_type": "docType", "doc-type": "docType", "doctype": "docType"}
FAILED = "frontmatter_failed"
"""devrag's error code for a file that cannot be changed."""
MARKDOWN = (".md", ".markdown")


def fields(given: Mapping[str, object]) -> dict[str, str | list[str]]:
    """Return the non-empty fields to write, with the tags as a list.

    Raises:
        UsageError: No field is given, or a value is not a text.
    """
    found: dict[str, str | list[str]] = {}
    for name in FIELDS:
        value = given.get(name)
        if name == "tags":
            items = value.split(",") if isinstance(value, str) else value or []
            if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
                raise UsageError("tags is not a text or a list of texts.", details={"field": name})
            value = [item.strip() for item in items if item.strip()]
        elif not isinstance(value, str | None):
            raise UsageError(f"{name} is not a text.", details={"field": name})
        if value:
            found[name] = value
    if not found:
        raise UsageError(f"Pass at least one of {', '.join(FIELDS)}.", code="missing_argument")
    return found


def from_json(text: str) -> dict[str, object]:
    """Parse the fields of `--params`.

    Raises:
        UsageError: The text is not a JSON object, or it contains an unknown field.
    """
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"params is not JSON: {error}.", code="invalid_json", details={"field": "params"}
        ) from None
    if not isinstance(given, dict):
        raise UsageError(
            "params is not a JSON object.", code="invalid_json", details={"field": "params"}
        )
    folded = {name.lower(): name for name in FIELDS} | SPELLINGS
    found: dict[str, object] = {
        folded.get(str(name).lower(), str(name)): value for name, value in given.items()
    }
    if unknown := sorted(found.keys() - set(FIELDS)):
        raise UsageError(
            f"params has no field {unknown[0]}.",
            hint=f"Fields: {', '.join(FIELDS)}.",
            details={"field": "params"},
        )
    return found


def write(
    service: CorpusService, path: str, values: Mapping[str, str | list[str]], *, update: bool
) -> dict[str, Any]:
    """Write fields into a file's front matter, and index the file again.

    Args:
        service: The corpus of the file.
        path: A Markdown file below a configured folder.
        values: The result of `fields`.
        update: Whether to merge them into existing front matter, or to refuse such a file.

    Raises:
        UsageError: The file is outside the configured folders, not Markdown, or cannot be edited.
        StorageError: The file cannot be read or written.
        NotFoundError: There is no such file.
        BusyError: Another program changed the file at the same time.
    """
    name, real = locate(service, path)
    if not name.lower().endswith(MARKDOWN):
        raise UsageError(f"{name} is not Markdown.", details={"field": "path"})
    with durable.locked(_lock(service)):
        _change(real, name, values, update=update)
    indexed = False
    # The file may be excluded from the index, but it was written.
    with suppress(CodeIntelError):
        service.index.refresh(path)
        indexed = True
    return {
        "success": True,
        "message": f"The front matter of {name} was {'updated' if update else 'added'}.",
        "file": name,
        "indexed": indexed,
    }


def _lock(service: CorpusService) -> Path:
    """Return the lock file for changes; for the map, it is the lock that learning uses."""
    config = service.index.config
    if config.corpus == "map":
        return changes.lock_path(service.settings)
    return config.db_path.with_name(f"{config.db_path.name}.lock")


def _change(real: Path, name: str, values: Mapping[str, str | list[str]], *, update: bool) -> None:
    before = _read(real, name)
    try:
        text = before.decode("utf-8")
        if not update and front_matter.has_block(text):
            raise UsageError(
                f"{name} already has front matter.",
                code=FAILED,
                hint="Use update_frontmatter to merge fields into it.",
            )
        after = front_matter.merged(text, values).encode()
    except UnicodeDecodeError:
        raise UsageError(
            f"{name} is not UTF-8 text.", code=FAILED, hint="Save it as UTF-8 and call again."
        ) from None
    except ValueError as error:
        raise UsageError(
            f"{name}: {error}", code=FAILED, hint="Correct it by hand and call again."
        ) from None
    if after != before:
        if _read(real, name) != before:
            raise BusyError(f"{name} was changed by another program at the same time.")
        durable.sweep(real.parent)
        durable.replace(real, after)


def _read(real: Path, name: str) -> bytes:
    try:
        data, _ = read_resolved(os.path.realpath(real))
    except FileNotFoundError:
        raise NotFoundError(
            f"{name} does not exist.", code="read_failed", details={"field": "path"}
        ) from None
    except OSError as error:
        raise StorageError(
            f"{real} cannot be read: {error.strerror or error}.", code="read_failed"
        ) from error
    if len(data) > MAX_FILE_BYTES:
        raise UsageError(f"{real} is larger than 1 MiB.", details={"field": "path"})
    return data
