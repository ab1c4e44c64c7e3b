"""The clients that `init` knows: which file of a project each reads, and what an entry in it looks like.

Formats are those of docs/clients.md. How a client says which project a server is for decides what an
entry needs (docs/decisions/0037): some start servers in the project or name it in their environment,
some take a working folder, some put a variable into what they start.
"""

import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from code_intel.config import FOREST_CONFIG, MAP_CONFIG
from code_intel.errors import UsageError

DESKTOP = "/usr/local/bin:/usr/bin:/bin"
"""Where a program that no shell has started finds others."""
GATEWAY = "code-intel"
COMMANDS = "climpt"
"""The server of prompt commands, by the name that clients know it by (docs/decisions/0044)."""


class Server(NamedTuple):
    """A server: its program, its words, and the config that is the last of them."""

    program: str
    words: tuple[str, ...]
    config: str = ""


SERVERS: Mapping[str, Server] = MappingProxyType(
    {
        GATEWAY: Server("code-intel", ("serve",)),
        "devrag-map": Server("devrag", ("--config",), MAP_CONFIG),
        "devrag-forest": Server("devrag", ("--config",), FOREST_CONFIG),
    }
)
"""What every project gets."""
KNOWN: Mapping[str, Server] = MappingProxyType(
    {**SERVERS, COMMANDS: Server("code-intel", ("commands",))}
)
"""What a project may have; the server of commands where it has a registry, or on request."""


class Client(NamedTuple):
    """One row of the table.

    Attributes:
        name: As in `--client`.
        file: What it reads, relative to the project.
        key: Which object in it has the servers.
        tool: What it calls a tool, with `{server}` and `{tool}`.
        longest: How long that may be.
        note: What to do next, for people.
        format: How the file is written.
        fixed: What every entry begins with.
        told: How a server learns of its project: empty, by itself; `cwd`, by that key, absolute;
            else by a variable that the client replaces.
        finds: Where it looks for programs: None is PATH; without a shell that is short.
        expands: What it takes for a variable, also where a path has it.
    """

    name: str
    file: str
    key: str
    tool: str
    longest: int
    note: str
    format: Literal["json", "toml"] = "json"
    fixed: Mapping[str, str] = MappingProxyType({})
    told: str = ""
    finds: str | None = None
    expands: str = ""


_STDIO: Mapping[str, str] = MappingProxyType({"type": "stdio"})
_BRACED = r"\$\{"
_WORKSPACE = "${workspaceFolder}"
_THIS_MACHINE = "names this machine's folder: keep it out of git, or run init on each machine."

CLIENTS = (
    Client(
        "claude",
        ".mcp.json",
        key="mcpServers",
        fixed=_STDIO,
        expands=_BRACED,
        tool="mcp__{server}__{tool}",
        longest=64,
        note="Start Claude Code in the project and approve the servers once; /mcp shows them.",
    ),
    Client(
        "codex",
        ".codex/config.toml",
        format="toml",
        key="mcp_servers",
        told="cwd",
        finds=DESKTOP,
        tool="mcp__{server}__{tool}",
        longest=64,
        note="Codex reads this file in a project that it trusts; `codex mcp list` shows the servers. It "
        + _THIS_MACHINE,
    ),
    Client(
        "cursor",
        ".cursor/mcp.json",
        key="mcpServers",
        fixed=_STDIO,
        told=_WORKSPACE,
        finds=DESKTOP,
        expands=_BRACED,
        tool="{server}:{tool}",
        longest=60,
        note="Restart Cursor, then switch the servers on in its settings, under MCP.",
    ),
    Client(
        "vscode",
        ".vscode/mcp.json",
        key="servers",
        fixed=_STDIO,
        told=_WORKSPACE,
        finds=DESKTOP,
        expands=_BRACED,
        tool="mcp_{server}_{tool}",
        longest=64,
        note="In VS Code run “MCP: List Servers”, start them and say that you trust them.",
    ),
    Client(
        "gemini",
        ".gemini/settings.json",
        key="mcpServers",
        told="cwd",
        expands=r"\$\w|\$\{",
        tool="mcp_{server}_{tool}",
        longest=63,
        note="Gemini CLI starts them in a folder that it trusts; `gemini mcp list` shows them. The file "
        + _THIS_MACHINE,
    ),
)
"""Every client; a new one is a row here and a section of docs/clients.md."""
DEFAULT = "claude"
ALL = "all"


def chosen(names: list[str] | None) -> tuple[Client, ...]:
    """Return the clients that a line names, in the order of the table.

    Args:
        names: As given, each maybe several with commas between; `all` is every one.

    Raises:
        UsageError: There is none of that name.
    """
    wanted = {one.strip().lower() for name in names or [DEFAULT] for one in name.split(",")}
    known = [client.name for client in CLIENTS]
    if unknown := sorted(wanted - {*known, ALL}):
        raise UsageError(
            f"There is no client {', '.join(map(repr, unknown))}.",
            hint=f"Name one of {', '.join(known)}, or {ALL}; docs/clients.md says how others are set up.",
            details={"field": "client"},
        )
    return tuple(client for client in CLIENTS if ALL in wanted or client.name in wanted)


def program(client: Client, server: str) -> str:
    """Return the command of a server: bare where the client will find it, else absolute."""
    bare = KNOWN[server].program
    found = shutil.which(bare, path=client.finds)
    return bare if found and is_of_package(found) else _beside(bare)


def is_of_package(place: str) -> bool:
    """Whether a program is this package's, of whatever installation; the original devrag stands alone."""
    places = (Path(place), Path(os.path.realpath(place)))
    return any(path.with_name(Path(_beside(GATEWAY)).name).is_file() for path in places)


def folder() -> str:
    """Return where the programs of this installation are."""
    return str(Path(sys.executable).parent)


def _beside(bare: str) -> str:
    """Return where a program of this installation is."""
    suffix = ".exe" if os.name == "nt" else ""
    return str(Path(sys.executable).with_name(bare + suffix))


def entry(client: Client, server: str, command: str, folder: str) -> dict[str, Any]:
    """Return what a server's entry has, for a project in an absolute `folder`."""
    _, words, config = KNOWN[server]
    variable = client.told if client.told.startswith("$") else ""
    if config:
        words = (*words, f"{variable}/{config}" if variable else config)
    shape: dict[str, Any] = {**client.fixed, "command": command, "args": list(words)}
    if variable and not config:
        shape["env"] = {"CODE_INTEL_ROOT": variable}
    return shape | ({"cwd": folder} if client.told == "cwd" else {})


def is_ours(client: Client, server: str, found: object) -> bool:
    """Whether an entry is one that `init` writes, wherever program and project were then."""
    if not isinstance(found, dict):
        return False
    command, folder = found.get("command"), found.get("cwd", "")
    if not (isinstance(command, str) and isinstance(folder, str)):
        return False
    last = PurePath(command).name.removesuffix(".exe")
    placed = command == last or Path(command).is_absolute()
    return (
        placed
        and last == KNOWN[server].program
        and (not folder or Path(folder).is_absolute())
        and found == entry(client, server, command, folder)
    )


def is_foreign(server: str, found: object) -> bool:
    """Whether an entry by the name of a server starts another program, or is not to be understood."""
    if not isinstance(found, dict):
        return found is not None
    last = PurePath(str(found.get("command", ""))).name.removesuffix(".exe")
    return (last, found.get("args")) != (KNOWN[server].program, list(KNOWN[server].words))


def is_stale(client: Client, server: str, found: Mapping[str, Any], folder: str) -> bool:
    """Whether an entry of ours starts nothing any more, or is for another folder."""
    command = str(found["command"])
    gone = Path(command).is_absolute() and not os.access(command, os.X_OK)
    return gone or found != entry(client, server, command, folder)


def is_lost(client: Client, found: Mapping[str, Any]) -> bool:
    """Whether an entry of ours calls its program by a name under which the client does not find it."""
    command = str(found["command"])
    return not Path(command).is_absolute() and shutil.which(command, path=client.finds) is None


def misread(client: Client, entries: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a path in the entries that the client takes for something with a variable, or nothing."""
    written = [str(one.get(key, "")) for one in entries.values() for key in ("command", "cwd")]
    return next(
        (text for text in written if client.expands and re.search(client.expands, text)), ""
    )
