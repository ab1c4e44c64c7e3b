"""Add, replace and remove server entries in the text of a JSON file; every other byte stays.

`merged`, `replaced` and `removed` take the text of an object whose member `key`, such as
`mcpServers`, is an object or missing.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

from code_intel.cli.setup.blank_files import is_blank
from code_intel.cli.setup.json_text import (
    appended,
    as_strict_json,
    find_member,
    first_object,
    follows_bracket,
    members_of,
    with_value,
    without_member,
)

__all__ = ["is_blank", "merged", "new_text", "read", "removed", "replaced"]
Entries = Mapping[str, Mapping[str, Any]]


def read(text: str, key: str) -> object:
    """Return the value of `key`, or an empty object if it is missing.

    Raises:
        ValueError: The file is not a JSON object.
    """
    document = json.loads(as_strict_json(text.removeprefix("\ufeff")).strip() or "{}")
    if not isinstance(document, dict):
        raise ValueError("It is not an object.")  # noqa: TRY004 - callers catch one type
    return document.get(key, {})


def new_text(key: str, entries: Entries) -> str:
    """Return the text of a new file with the entries."""
    return json.dumps({key: entries}, ensure_ascii=False, indent=2) + "\n"


def merged(text: str, key: str, entries: Entries) -> str:
    """Return `text`, which is not blank, with the entries appended to those of `key`."""
    top = first_object(text)
    servers = find_member(text, top, key)
    if servers is None:
        return appended(text, top, 1, {key: entries})
    return appended(text, servers.value_start, 2, entries) if entries else text


def replaced(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return `text` with one entry replaced."""
    servers = find_member(text, first_object(text), key)
    assert servers is not None  # noqa: S101 - it has that entry
    member = find_member(text, servers.value_start, name)
    assert member is not None  # noqa: S101 - as above
    return with_value(text, member, 2, entry)


def removed(text: str, key: str, names: Collection[str]) -> str:
    """Return `text` without the entries `names`, and without `key` if `merged` added it."""
    top = first_object(text)
    servers = find_member(text, top, key)
    if servers is None:
        return text
    key_existed = follows_bracket(text, servers.value_start)
    for name in names:
        text = without_member(text, servers.value_start, name)
    entries, _ = members_of(text, servers.value_start)
    return text if entries or key_existed else without_member(text, top, key)
