"""Define the clients that `init` supports: the file that each reads, and its format of entries.

docs/clients.md describes the files. A server must learn which project it serves. Some clients start
servers in the project or name it in their environment; others accept a working folder, or replace a
variable in the command line (docs/decisions/0037).
"""

import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from code_intel.cli.setup.client_hooks import CLAUDE_CODE, CODEX, CURSOR, GEMINI, HookFile
from code_intel.config import FOREST_CONFIG, MAP_CONFIG, active_environments
from code_intel.config.client_files import CLIENT_FILES
from code_intel.errors import UsageError

DESKTOP = "/usr/local/bin:/usr/bin:/bin"
"""The PATH of programs that are started from a desktop, not from a shell."""
GATEWAY = "code-intel"
COMMANDS_SERVER = "climpt"
"""The name of the server of prompt commands in clients (docs/decisions/0044)."""


class Server(NamedTuple):
    """A server: its program, its arguments, and the config to add to them."""

    program: str
    arguments: tuple[str, ...]
    config: str = ""


SERVERS: Mapping[str, Server] = MappingProxyType(
    {
        GATEWAY: Server("code-intel", ("serve",)),
        "devrag-map": Server("devrag", ("--config",), MAP_CONFIG),
        "devrag-forest": Server("devrag", ("--config",), FOREST_CONFIG),
    }
)
"""The servers of every project."""
KNOWN: Mapping[str, Server] = MappingProxyType(
    {**SERVERS, COMMANDS_SERVER: Server("code-intel", ("commands",))}
)
"""All servers. That of prompt commands is added on request or if the project has a registry."""


class Client(NamedTuple):
    """A client.

    Attributes:
        name: Its name in `--client`.
        file: The file that it reads, relative to the project.
        key: The object in the file that contains the servers.
        tool: The format of its tool names, with `{server}` and `{tool}`.
        max_tool_chars: The maximum length of such a name.
        note: The next step for the user.
        format: The format of the file.
        fixed: The first fields of every entry.
        project: How a server learns its project: empty if it finds it itself; `cwd` if that field
            contains an absolute path; else a variable that the client replaces.
        path: The PATH in which it looks for programs; None for that of the shell.
        expands: A pattern of the variables that it replaces in paths.
        hooks: Its hook file, if it has hooks.
    """

    name: str
    file: str
    key: str
    tool: str
    max_tool_chars: int
    note: str
    format: Literal["json", "toml"] = "json"
    fixed: Mapping[str, str] = MappingProxyType({})
    project: str = ""
    path: str | None = None
    expands: str = ""
    hooks: HookFile | None = None


_STDIO: Mapping[str, str] = MappingProxyType({"type": "stdio"})
_BRACED = r"\$\{"
_WORKSPACE = "${workspaceFolder}"
_THIS_MACHINE = "contains a path of this machine. Keep it out of git, or run init on each machine."

CLIENTS = (
    Client(
        "claude",
        CLIENT_FILES["claude"],
        key="mcpServers",
        fixed=_STDIO,
        expands=_BRACED,
        tool="mcp__{server}__{tool}",
        max_tool_chars=64,
        note="Start Claude Code in the project and approve the servers once. /mcp shows them.",
        hooks=CLAUDE_CODE,
    ),
    Client(
        "codex",
        CLIENT_FILES["codex"],
        format="toml",
        key="mcp_servers",
        project="cwd",
        path=DESKTOP,
        tool="mcp__{server}__{tool}",
        max_tool_chars=64,
        note="Codex reads this file in trusted projects; `codex mcp list` shows the servers. It "
        + _THIS_MACHINE,
        hooks=CODEX,
    ),
    Client(
        "cursor",
        CLIENT_FILES["cursor"],
        key="mcpServers",
        fixed=_STDIO,
        project=_WORKSPACE,
        path=DESKTOP,
        expands=_BRACED,
        tool="{server}:{tool}",
        max_tool_chars=60,
        note="Restart Cursor, then enable the servers in its settings, under MCP.",
        hooks=CURSOR,
    ),
    Client(
        "vscode",
        CLIENT_FILES["vscode"],
        key="servers",
        fixed=_STDIO,
        project=_WORKSPACE,
        path=DESKTOP,
        expands=_BRACED,
        tool="mcp_{server}_{tool}",
        max_tool_chars=64,
        note="In VS Code run “MCP: List Servers”, start the servers and trust them.",
    ),
    Client(
        "gemini",
        CLIENT_FILES["gemini"],
        key="mcpServers",
        project="cwd",
        expands=r"\$\w|\$\{",
        tool="mcp_{server}_{tool}",
        max_tool_chars=63,
        note="Gemini CLI starts them in trusted folders; `gemini mcp list` shows them. The file "
        + _THIS_MACHINE,
        hooks=GEMINI,
    ),
)
"""All clients. A new client needs a row here and a section in docs/clients.md."""
DEFAULT_CLIENT = "claude"
ALL_CLIENTS = "all"
NO_CLIENT = "none"
"""No file of a client is changed, as for a client whose plugin has the servers and hooks."""


def chosen(names: list[str] | None) -> tuple[Client, ...]:
    """Return the clients with these names, in the order of the table.

    Args:
        names: Names of clients, or lists of them separated by commas; `all` means every client,
            and `none` alone means none.

    Raises:
        UsageError: A name is unknown.
    """
    wanted = {one.strip().lower() for name in names or [DEFAULT_CLIENT] for one in name.split(",")}
    if wanted == {NO_CLIENT}:
        return ()
    known = [client.name for client in CLIENTS]
    if unknown := sorted(wanted - {*known, ALL_CLIENTS}):
        raise UsageError(
            f"Unknown client: {', '.join(map(repr, unknown))}.",
            hint=f"Name one of {', '.join(known)}, {ALL_CLIENTS}, or {NO_CLIENT} alone;"
            " see docs/clients.md.",
            details={"field": "client"},
        )
    return tuple(client for client in CLIENTS if ALL_CLIENTS in wanted or client.name in wanted)


def program(client: Client, server: str) -> str:
    """Return the program of a server: its bare name if the client finds it, else its path."""
    bare = KNOWN[server].program
    found = _found_without_environment(bare, client.path)
    return bare if found and belongs_to_package(found) else _program_path(bare)


def needs_environment(client: Client) -> bool:
    """Return whether the client would find our programs only in an activated environment."""
    found = shutil.which(GATEWAY, path=client.path)
    return found is not None and _found_without_environment(GATEWAY, client.path) is None


def own_program() -> str:
    """Return the path of this installation's `code-intel`."""
    return _program_path(GATEWAY)


def _found_without_environment(bare: str, path: str | None) -> str | None:
    """Return the path of a program on a PATH, leaving out the environments that are activated.

    A client that is started from another shell does not find their programs.
    """
    active = [os.path.realpath(folder) for folder in active_environments()]
    folders = os.get_exec_path() if path is None else path.split(os.pathsep)
    kept = [one for one in folders if os.path.realpath(Path(one).parent) not in active]
    return shutil.which(bare, path=os.pathsep.join(kept)) if kept else None


def belongs_to_package(path_of_program: str) -> bool:
    """Return whether a program belongs to this package, and so has `code-intel` beside it."""
    paths = (Path(path_of_program), Path(os.path.realpath(path_of_program)))
    return any(path.with_name(Path(_program_path(GATEWAY)).name).is_file() for path in paths)


def folder() -> str:
    """Return the folder of this installation's programs."""
    return str(Path(sys.executable).parent)


def _program_path(bare: str) -> str:
    """Return the path of a program in this installation."""
    suffix = ".exe" if os.name == "nt" else ""
    return str(Path(sys.executable).with_name(bare + suffix))


def entry(client: Client, server: str, command: str, folder: str) -> dict[str, Any]:
    """Return a server's entry for the project in an absolute `folder`."""
    _, arguments, config = KNOWN[server]
    variable = client.project if client.project.startswith("$") else ""
    if config:
        arguments = (*arguments, f"{variable}/{config}" if variable else config)
    shape: dict[str, Any] = {**client.fixed, "command": command, "args": list(arguments)}
    if variable and not config:
        shape["env"] = {"CODE_INTEL_ROOT": variable}
    return shape | ({"cwd": folder} if client.project == "cwd" else {})


def is_ours(client: Client, server: str, found: object) -> bool:
    """Return whether an entry is one that `init` writes, in any program and project folder."""
    if not isinstance(found, dict):
        return False
    command, folder = found.get("command"), found.get("cwd", "")
    if not (isinstance(command, str) and isinstance(folder, str)):
        return False
    last = PurePath(command).name.removesuffix(".exe")
    is_plausible_path = command == last or Path(command).is_absolute()
    return (
        is_plausible_path
        and last == KNOWN[server].program
        and (not folder or Path(folder).is_absolute())
        and found == entry(client, server, command, folder)
    )


def is_other_program(server: str, found: object) -> bool:
    """Return whether an entry named like a server starts another program or is invalid."""
    if not isinstance(found, dict):
        return found is not None
    last = PurePath(str(found.get("command", ""))).name.removesuffix(".exe")
    return (last, found.get("args")) != (KNOWN[server].program, list(KNOWN[server].arguments))


def is_stale(client: Client, server: str, found: Mapping[str, Any], folder: str) -> bool:
    """Return whether our entry starts a missing program or names another folder."""
    command = str(found["command"])
    is_missing = Path(command).is_absolute() and not os.access(command, os.X_OK)
    return is_missing or found != entry(client, server, command, folder)


def is_not_found(client: Client, found: Mapping[str, Any]) -> bool:
    """Return whether our entry names a program that the client cannot find."""
    command = str(found["command"])
    is_name = not Path(command).is_absolute()
    return is_name and _found_without_environment(command, client.path) is None


def path_with_variable(client: Client, entries: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a path in which the client would expand a variable, or an empty text."""
    values = [str(one.get(key, "")) for one in entries.values() for key in ("command", "cwd")]
    return next((text for text in values if client.expands and re.search(client.expands, text)), "")
