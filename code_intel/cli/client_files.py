"""A client's file: our entries merged into it, mended or taken out; everything else as it was, to the byte."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from code_intel.cli import clients, mcp_json, mcp_toml
from code_intel.cli.changes import Change, check_writable, content
from code_intel.cli.clients import SERVERS, Client
from code_intel.errors import ConfigError


class Format(NamedTuple):
    """How a file is read and written; texts come in and go out, each function has its module's meaning."""

    read: Callable[[str, str], object]
    is_blank: Callable[[str], bool]
    whole: Callable[..., str]
    merged: Callable[..., str | None]
    replaced: Callable[..., str | None]
    without: Callable[..., str | None]


def _format(module: Any) -> Format:
    return Format(*(getattr(module, name) for name in Format._fields))


FORMATS: Mapping[str, Format] = MappingProxyType(
    {"json": _format(mcp_json), "toml": _format(mcp_toml)}
)
BROKEN = "{path} is no {kind} with an object {key}; it was left as it is."
ODD = "{path} has its servers in a form that cannot be changed safely; it was left as it is."


def merge(client: Client, root: Path) -> Change:
    """Return what puts our entries into a client's file; those that start nothing any more are mended.

    Raises:
        ConfigError: The file is not what it should be, or nobody may write it; the hint has what to add.
    """
    path = root / client.file
    wanted = _wanted(client, root)
    before = content(path)
    if before is None:
        return check_writable(Change(path, None, _bytes(client, _whole(client, wanted))))
    text, present = _read(client, path, before, root)
    kind = FORMATS[client.format]
    stale = [
        name
        for name in SERVERS
        if clients.is_ours(client, name, present.get(name))
        and clients.is_stale(client, name, present[name], str(root))
    ]
    missing = {name: entry for name, entry in wanted.items() if name not in present}
    new: str | None = text
    for name in stale:
        new = new and kind.replaced(new, client.key, name, wanted[name])
    if missing and new is not None:
        new = (
            _filled(client, new, missing)
            if kind.is_blank(new)
            else kind.merged(new, client.key, missing)
        )
    if new is None:
        raise _by_hand(ODD, client, path, root)
    mended = f"mends {', '.join(stale)}" if stale else ""
    return check_writable(Change(path, before, new.encode(), mended))


def without(client: Client, path: Path, before: bytes) -> bytes | None:
    """Return the file without our entries; None if it has nothing else and `merge` made it.

    Raises:
        ConfigError: The file is not what it should be.
    """
    text, present = _read(client, path, before, path.parent)
    ours = [name for name in SERVERS if clients.is_ours(client, name, present.get(name))]
    if not ours:
        return before
    if len(ours) == len(present):
        whole = _whole(client, {name: present[name] for name in present})
        if text == whole:
            return None
        for alone in ("\n" + whole, whole.removesuffix("\n")):  # as `_filled` writes it
            if text.endswith(alone) and FORMATS[client.format].is_blank(
                rest := text.removesuffix(alone)
            ):
                return rest.encode()
    left = FORMATS[client.format].without(text, client.key, ours)
    if left is None:
        raise ConfigError(
            ODD.format(path=path), hint=f"Take {', '.join(ours)} out of {client.key} by hand."
        )
    return left.encode()


def _filled(client: Client, text: str, entries: Mapping[str, Any]) -> str:
    """Return a blank file with the entries; its last line tells how it ended before."""
    whole = _whole(client, entries)
    closed = not text.strip("\ufeff") or text.endswith("\n")
    return text + whole.removesuffix("\n") if closed else f"{text}\n{whole}"


def _wanted(client: Client, root: Path) -> dict[str, dict[str, Any]]:
    return {
        name: clients.entry(client, name, clients.program(client, name), str(root))
        for name in SERVERS
    }


def _whole(client: Client, entries: Mapping[str, Any]) -> str:
    return FORMATS[client.format].whole(client.key, entries)


def _bytes(client: Client, text: str) -> bytes:
    """Return a text as it is written.

    Raises:
        ConfigError: The project's path is no text.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ConfigError(
            f"The path of the project is no text, and {client.file} can have nothing else.",
            hint="Give its folders names that are UTF-8.",
            details={"field": "project"},
        ) from None


def _read(client: Client, path: Path, before: bytes, root: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = before.decode()
        present = FORMATS[client.format].read(text, client.key)
    except (ValueError, RecursionError):
        text, present = "", None
    if not isinstance(present, dict):
        raise _by_hand(BROKEN, client, path, root)
    return text, cast("dict[str, Any]", present)


def _by_hand(message: str, client: Client, path: Path, root: Path) -> ConfigError:
    ours = _wanted(client, root)
    add = json.dumps(ours, ensure_ascii=False) if client.format == "json" else _whole(client, ours)
    kind = client.format.upper()
    return ConfigError(
        message.format(path=path, kind=kind, key=client.key),
        hint=f"Mend it, or add these to {client.key} by hand: {add}",
    )
