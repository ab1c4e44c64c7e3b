"""Add, replace and remove server tables in the text of a TOML file; every other byte stays.

New tables are appended, which is always valid. tomlkit edits files with all servers in one inline
table. It is not used for other files, because it moves keys that follow dotted keys into the wrong
table (docs/decisions/0037).
"""

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

Entries = Mapping[str, Mapping[str, Any]]


def read(text: str, key: str) -> object:
    """Return the value of `key`, or an empty object if it is missing.

    Raises:
        ValueError: The file is not TOML.
    """
    return tomllib.loads(text.removeprefix("\ufeff")).get(key, {})


def is_blank(text: str) -> bool:
    """Return whether the file contains only white space."""
    return not text.strip("\ufeff \t\r\n")


def new_text(key: str, entries: Entries) -> str:
    """Return the text of a new file with the entries."""
    return "\n".join(f"{_block(key, name, entry)}\n" for name, entry in entries.items())


def merged(text: str, key: str, entries: Entries) -> str | None:
    """Return `text`, which is not blank, with the entries; None if other content would change."""
    ending = _line_ending(text)
    tables = new_text(key, entries).replace("\n", ending)
    # Without a newline at the end, the new last line has none either, so that `removed` can tell.
    if text.endswith("\n"):
        appended = f"{text}{ending}{tables}"
    else:
        appended = f"{text}{2 * ending}{tables}".removesuffix(ending)
    wanted = {**_entries(text, key), **entries}
    candidates = (lambda: appended, lambda: _add_to_inline_table(text, key, entries))
    return _first_valid(text, key, wanted, candidates)


def replaced(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str | None:
    """Return `text` with one entry replaced; None if it is not as `merged` writes it."""
    present = _entries(text, key)
    entries = (present[name], entry)
    before, after = (_block(key, name, one).replace("\n", _line_ending(text)) for one in entries)
    wanted = {**present, name: entry}
    return _first_valid(text, key, wanted, (lambda: text.replace(before, after, 1),))


def removed(text: str, key: str, names: Collection[str]) -> str | None:
    """Return `text` without the entries `names`; None if other content would change."""
    present = _entries(text, key)
    wanted = {name: entry for name, entry in present.items() if name not in names}

    def cut() -> str:
        left = text
        for name in present:
            if name in names:
                block = _block(key, name, present[name]).replace("\n", _line_ending(text))
                left = _remove_table(left, block)
        return left

    candidates = (cut, lambda: _remove_from_inline_table(text, key, names))
    return _first_valid(text, key, wanted, candidates)


def _remove_table(text: str, block: str) -> str:
    """Remove a table with the empty line that `merged` puts before it."""
    body, end, start = re.escape(block), r"\r?\n", r"(?:(?<=[\n\ufeff])|\A)"
    last, apart = rf"{end}{end}{body}\Z", rf"{start}{end}{body}(?:{end}|\Z)"
    for pattern in (last, apart, rf"{start}{body}(?:{end}|\Z)"):
        if found := re.search(pattern, text):
            return text[: found.start()] + text[found.end() :]
    return text


def _add_to_inline_table(text: str, key: str, entries: Entries) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    servers: Any = document[key]
    for name, entry in entries.items():
        table = tomlkit.inline_table()
        table.update(entry)
        servers[name] = table
    return document.as_string()


def _remove_from_inline_table(text: str, key: str, names: Collection[str]) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    servers: Any = document[key]
    for name in names:
        if name in servers:
            del servers[name]
    return document.as_string()


def _first_valid(
    text: str, key: str, wanted: Mapping[str, Any], candidates: Iterable[Callable[[], str]]
) -> str | None:
    """Return the first result with the wanted entries whose other values equal those of `text`."""
    for candidate in candidates:
        try:
            new = candidate()
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


def _line_ending(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _block(key: str, name: str, entry: Mapping[str, Any]) -> str:
    rows = [f"{field} = {_value(value)}" for field, value in entry.items()]
    return "\n".join((f"[{key}.{name}]", *rows))


def _value(value: object) -> str:
    """Return a string or a list of strings as TOML, which escapes as JSON does, and also DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
