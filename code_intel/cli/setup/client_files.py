"""A client's file: our entries merged into it, mended or taken out; everything else as it was, to the byte."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from code_intel.cli.setup import clients, mcp_json, mcp_toml
from code_intel.cli.setup.changes import Change, check_writable, content
from code_intel.cli.setup.clients import COMMANDS, KNOWN, SERVERS, Client
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
Entries = Mapping[str, Mapping[str, Any]]
BROKEN = "{path} is no {kind} with an object {key}; it was left as it is."
ODD = "{path} has its servers in a form that cannot be changed safely; it was left as it is."


def entries_for(client: Client, root: Path) -> dict[str, dict[str, Any]]:
    """Return the entries that `init` may write for a project today."""
    return {
        name: clients.entry(client, name, clients.program(client, name), str(root))
        for name in KNOWN
    }


def merge(client: Client, root: Path, *, commands: bool = False) -> Change:
    """Return what puts our entries into a client's file; those that start nothing any more are mended.

    Args:
        client: Whose file.
        root: The project.
        commands: With the server of prompt commands, which goes in where nothing has its name.

    Raises:
        ConfigError: The file is not what it should be, or nobody may write it; the hint has what to add.
    """
    path = root / client.file
    known = entries_for(client, root)
    wanted = {n: entry for n, entry in known.items() if commands or n in SERVERS}
    whole = _bytes(client, _whole(client, wanted))
    before = content(path)
    if before is None:
        return check_writable(Change(path, None, whole), root)
    read = _read(client, before)
    if read is None:
        raise _by_hand(BROKEN, client, path, wanted)
    text, present = read
    stale = [
        name
        for name in KNOWN
        if clients.is_ours(client, name, present.get(name))
        and clients.is_stale(client, name, present[name], str(root))
    ]
    missing = [name for name in wanted if name not in present]
    new = with_entries(client, text, {n: known[n] for n in stale}, {n: known[n] for n in missing})
    if new is None:
        raise _by_hand(ODD, client, path, wanted)
    mended = f"mends {', '.join(stale)}" if stale else ""
    return check_writable(Change(path, before, new.encode(), mended), root)


def lost(client: Client, root: Path) -> str:
    """Return where the programs are that a client's file calls by names it does not find; or nothing."""
    read = _read(client, content(root / client.file) or b"")
    present = read[1] if read else {}
    ours = (n for n in KNOWN if clients.is_ours(client, n, present.get(n)))
    return clients.folder() if any(clients.is_lost(client, present[n]) for n in ours) else ""


def foreign_commands(client: Client, root: Path) -> bool:
    """Whether a client's file has another program under the name of the server of prompt commands."""
    read = _read(client, content(root / client.file) or b"")
    return read is not None and clients.is_foreign(COMMANDS, read[1].get(COMMANDS))


def with_entries(client: Client, text: str, stale: Entries, missing: Entries) -> str | None:
    """Return the text with some entries exchanged and some added; None where that is not safe."""
    kind = FORMATS[client.format]
    for name, entry in stale.items():
        mended = kind.replaced(text, client.key, name, entry)
        if mended is None:
            return None
        text = mended
    if not missing:
        return text
    if kind.is_blank(text):
        return _filled(client, text, missing)
    return kind.merged(text, client.key, missing)


def without(client: Client, path: Path, before: bytes) -> bytes | None:
    """Return the file without our entries; None if it has nothing else and `merge` made it.

    Raises:
        ConfigError: It names our servers, and cannot be read or changed safely.
    """
    if not any(name.encode() in before for name in SERVERS):
        return before  # whatever else it is
    names = f"{', '.join(SERVERS)}, and {COMMANDS} where it starts code-intel"
    by_hand = f"Take {names}, out of {client.key} by hand, then call this again."
    read = _read(client, before)
    if read is None:
        raise ConfigError(_said(BROKEN, client, path), hint=by_hand)
    text, present = read
    ours = [name for name in KNOWN if clients.is_ours(client, name, present.get(name))]
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
        raise ConfigError(_said(ODD, client, path), hint=by_hand)
    return left.encode()


def _filled(client: Client, text: str, entries: Entries) -> str:
    """Return a blank file with the entries; its last line tells how it ended before."""
    whole = _whole(client, entries)
    closed = not text.strip("\ufeff") or text.endswith("\n")
    return text + whole.removesuffix("\n") if closed else f"{text}\n{whole}"


def _whole(client: Client, entries: Entries) -> str:
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


def _read(client: Client, before: bytes) -> tuple[str, dict[str, Any]] | None:
    """Return a file's text and its servers; None if it is not written as it should be."""
    try:
        text = before.decode()
        present = FORMATS[client.format].read(text, client.key)
    except (ValueError, RecursionError):
        return None
    return (text, cast("dict[str, Any]", present)) if isinstance(present, dict) else None


def _said(message: str, client: Client, path: Path) -> str:
    return message.format(path=path, kind=client.format.upper(), key=client.key)


def _by_hand(message: str, client: Client, path: Path, ours: Entries) -> ConfigError:
    add = json.dumps(ours, ensure_ascii=False) if client.format == "json" else _whole(client, ours)
    hint = f"Mend it, or add these to {client.key} by hand: {add}"
    return ConfigError(_said(message, client, path), hint=hint)
