"""Add, repair and remove our entries in a client's file, and keep every other byte."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from code_intel.cli.setup import blank_files, clients, mcp_json, mcp_toml
from code_intel.cli.setup.changes import FileChange, check_writable, content
from code_intel.cli.setup.clients import COMMANDS_SERVER, KNOWN, SERVERS, Client
from code_intel.errors import ConfigError


class Format(NamedTuple):
    """The functions that read and edit a file format; see `mcp_json` and `mcp_toml`."""

    read: Callable[[str, str], object]
    is_blank: Callable[[str], bool]
    new_text: Callable[..., str]
    merged: Callable[..., str | None]
    replaced: Callable[..., str | None]
    removed: Callable[..., str | None]


def _format(module: Any) -> Format:
    return Format(*(getattr(module, name) for name in Format._fields))


FORMATS: Mapping[str, Format] = MappingProxyType(
    {"json": _format(mcp_json), "toml": _format(mcp_toml)}
)
Entries = Mapping[str, Mapping[str, Any]]
BROKEN = "{path} is not a {kind} file with an object {key}. It was not changed."
UNSAFE = "{path} defines its servers in a form that cannot be edited safely. It was not changed."


def entries_for(client: Client, root: Path) -> dict[str, dict[str, Any]]:
    """Return the entries that `init` writes for a project."""
    return {
        name: clients.entry(client, name, clients.program(client, name), str(root))
        for name in KNOWN
    }


def merge(client: Client, root: Path, *, commands: bool = False) -> FileChange:
    """Return the change that adds our entries to a client's file and repairs stale ones.

    Args:
        client: The client.
        root: The project.
        commands: Whether to add the server of prompt commands, unless an entry has its name.

    Raises:
        ConfigError: The file cannot be edited or is read-only; the hint gives the entries to add.
    """
    path = root / client.file
    known = entries_for(client, root)
    wanted = {n: entry for n, entry in known.items() if commands or n in SERVERS}
    new_content = _encode(client, _new_text(client, wanted))
    before = content(path)
    if before is None:
        return check_writable(FileChange(path, None, new_content), root)
    read = _read(client, before)
    if read is None:
        raise _manual_edit_error(BROKEN, client, path, wanted)
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
        raise _manual_edit_error(UNSAFE, client, path, wanted)
    repaired = f"repairs {', '.join(stale)}" if stale else ""
    return check_writable(FileChange(path, before, new.encode(), repaired), root)


def is_set_up(client: Client, root: Path) -> bool:
    """Return whether the client's file has an entry named like the gateway."""
    read = _read(client, content(root / client.file) or b"")
    return read is not None and clients.GATEWAY in read[1]


def missing_program_folder(client: Client, root: Path) -> str:
    """Return the folder of our programs if the client cannot find them; else an empty text."""
    read = _read(client, content(root / client.file) or b"")
    present = read[1] if read else {}
    ours = (n for n in KNOWN if clients.is_ours(client, n, present.get(n)))
    return clients.folder() if any(clients.is_not_found(client, present[n]) for n in ours) else ""


def has_other_commands_server(client: Client, root: Path) -> bool:
    """Return whether an entry named like the prompt-command server starts another program."""
    read = _read(client, content(root / client.file) or b"")
    entry = read[1].get(COMMANDS_SERVER) if read else None
    return clients.is_other_program(COMMANDS_SERVER, entry)


def with_entries(client: Client, text: str, stale: Entries, missing: Entries) -> str | None:
    """Return the text with some entries replaced and some added; None if that is not safe."""
    file_format = FORMATS[client.format]
    for name, entry in stale.items():
        new = file_format.replaced(text, client.key, name, entry)
        if new is None:
            return None
        text = new
    if not missing:
        return text
    if file_format.is_blank(text):
        return blank_files.filled(text, _new_text(client, missing))
    return file_format.merged(text, client.key, missing)


def removed(client: Client, path: Path, before: bytes) -> bytes | None:
    """Return the file without our entries; None if it then contains nothing and `merge` created it.

    Raises:
        ConfigError: It names our servers, but cannot be read or edited safely.
    """
    if not any(name.encode() in before for name in SERVERS):
        return before
    names = f"{', '.join(SERVERS)}, and {COMMANDS_SERVER} if it starts code-intel,"
    hint = f"Remove {names} from {client.key} by hand, then run the command again."
    read = _read(client, before)
    if read is None:
        raise ConfigError(_message(BROKEN, client, path), hint=hint)
    text, present = read
    ours = [name for name in KNOWN if clients.is_ours(client, name, present.get(name))]
    if not ours:
        return before
    if len(ours) == len(present):
        new_text = _new_text(client, {name: present[name] for name in present})
        if text == new_text:
            return None
        rest = blank_files.emptied(text, new_text, FORMATS[client.format].is_blank)
        if rest is not None:
            return rest.encode()
    left = FORMATS[client.format].removed(text, client.key, ours)
    if left is None:
        raise ConfigError(_message(UNSAFE, client, path), hint=hint)
    return left.encode()


def _new_text(client: Client, entries: Entries) -> str:
    return FORMATS[client.format].new_text(client.key, entries)


def _encode(client: Client, text: str) -> bytes:
    """Return the text as UTF-8.

    Raises:
        ConfigError: The project's path is not valid Unicode.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ConfigError(
            f"The path of the project is not valid UTF-8 and cannot be written to {client.file}.",
            hint="Rename its folders.",
            details={"field": "project"},
        ) from None


def _read(client: Client, before: bytes) -> tuple[str, dict[str, Any]] | None:
    """Return a file's text and its servers; None if it cannot be read."""
    try:
        text = before.decode()
        present = FORMATS[client.format].read(text, client.key)
    except (ValueError, RecursionError):
        return None
    return (text, cast("dict[str, Any]", present)) if isinstance(present, dict) else None


def _message(message: str, client: Client, path: Path) -> str:
    return message.format(path=path, kind=client.format.upper(), key=client.key)


def _manual_edit_error(message: str, client: Client, path: Path, ours: Entries) -> ConfigError:
    is_json = client.format == "json"
    entries = json.dumps(ours, ensure_ascii=False) if is_json else _new_text(client, ours)
    hint = f"Correct the file, or add these entries to {client.key} by hand: {entries}"
    return ConfigError(_message(message, client, path), hint=hint)
