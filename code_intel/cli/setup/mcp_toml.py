"""Add, replace and remove server tables in the text of a TOML file; every other byte stays.

New tables are appended, where they are always valid. tomlkit edits files that have all servers in
one inline table. It is not used for others, since it moves keys that follow dotted keys into the
wrong table (docs/decisions/0037).
"""

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

Entries = Mapping[str, Mapping[str, Any]]


def read(text: str, key: str) -> object:
    """Return the value of `key`, an empty object if none exists.

    Raises:
        ValueError: The file is not TOML.
    """
    return tomllib.loads(text.removeprefix("\ufeff")).get(key, {})


def is_blank(text: str) -> bool:
    """Whether the file is empty."""
    return not text.strip("\ufeff \t\r\n")


def whole(key: str, entries: Entries) -> str:
    """Return a file with the entries only."""
    return "\n".join(f"{_block(key, name, entry)}\n" for name, entry in entries.items())


def merged(text: str, key: str, entries: Entries) -> str | None:
    """Return `text`, not blank, with the entries; None if that would change anything else."""
    tables = whole(key, entries).replace("\n", _line(text))
    ended = text.endswith(
        "\n"
    )  # if not, the new last line has no end either, so `without` can tell
    appended = f"{text}{_line(text)}{tables}" if ended else f"{text}{2 * _line(text)}{tables}"
    appended = appended if ended else appended.removesuffix(_line(text))
    wanted = {**_entries(text, key), **entries}
    ways = (lambda: appended, lambda: _within(text, key, entries))
    return _first(text, key, wanted, ways)


def replaced(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str | None:
    """Return `text` with one entry replaced; None if it is not as `merged` writes it."""
    present = _entries(text, key)
    both = (_block(key, name, one).replace("\n", _line(text)) for one in (present[name], entry))
    before, after = both
    return _first(text, key, {**present, name: entry}, (lambda: text.replace(before, after, 1),))


def without(text: str, key: str, names: Collection[str]) -> str | None:
    """Return `text` as it was before `merged`; None if that would change anything else."""
    present = _entries(text, key)
    wanted = {name: entry for name, entry in present.items() if name not in names}

    def cut() -> str:
        left = text
        for name in present:
            if name in names:
                left = _cut(left, _block(key, name, present[name]).replace("\n", _line(text)))
        return left

    return _first(text, key, wanted, (cut, lambda: _outside(text, key, names)))


def _cut(text: str, block: str) -> str:
    """Remove a table with the empty line that `merged` puts before it."""
    body, end, start = re.escape(block), r"\r?\n", r"(?:(?<=[\n\ufeff])|\A)"
    last, apart = rf"{end}{end}{body}\Z", rf"{start}{end}{body}(?:{end}|\Z)"
    for pattern in (last, apart, rf"{start}{body}(?:{end}|\Z)"):
        if found := re.search(pattern, text):
            return text[: found.start()] + text[found.end() :]
    return text


def _within(text: str, key: str, entries: Entries) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    servers: Any = document[key]
    for name, entry in entries.items():
        table = tomlkit.inline_table()
        table.update(entry)
        servers[name] = table
    return document.as_string()


def _outside(text: str, key: str, names: Collection[str]) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    servers: Any = document[key]
    for name in names:
        if name in servers:
            del servers[name]
    return document.as_string()


def _first(
    text: str, key: str, wanted: Mapping[str, Any], ways: Iterable[Callable[[], str]]
) -> str | None:
    """Return the first result that has the wanted entries and otherwise equals `text`."""
    for way in ways:
        try:
            new = way()
            before, after = _document(text), _document(new)
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        before.pop(key, None)
        if after.pop(key, {}) == wanted and after == before:
            return new
    return None


def _document(text: str) -> dict[str, Any]:
    return tomllib.loads(text.removeprefix("\ufeff"))


def _entries(text: str, key: str) -> dict[str, Any]:
    return dict(_document(text).get(key, {}))


def _line(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _block(key: str, name: str, entry: Mapping[str, Any]) -> str:
    rows = [f"{field} = {_value(value)}" for field, value in entry.items()]
    return "\n".join((f"[{key}.{name}]", *rows))


def _value(value: object) -> str:
    """Return a text or a list of texts as TOML, which escapes as JSON does, and DEL in addition."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
