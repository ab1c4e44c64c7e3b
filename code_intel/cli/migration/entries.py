"""`.mcp.json`: our three servers in, the original's programs of the same names out, all else as it is.

What an entry starts decides, as one table says: an entry of people's own is never touched. While the
original devrag is installed, v3.7's single `devrag` goes on with it; where that name starts this program, or
nothing any more, it is pointed at the forest (docs/decisions/0035).
"""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from code_intel.cli.migration.notes import Note
from code_intel.cli.setup import client_files, clients, mcp_json
from code_intel.cli.setup.changes import Change, current, name_in
from code_intel.config import STATE_FOLDER
from code_intel.errors import ConfigError

(CLAUDE,) = clients.chosen(["claude"])
"""The only client that the original has been written for."""
SINGLE = "devrag"
"""What v3.7 calls its one index server."""
ORIGINAL_SERVER = "code_intel_server.py"

Kind = Literal["absent", "server", "ours", "original", "gone", "own"]
"""What an entry starts: nothing, the original gateway, this package, the original devrag, a devrag that is
not there any more, something else."""
Role = Literal["gateway", "index", "single", "other"]
Action = Literal["add", "replace", "point", "keep"]

_GOES_ON = (
    "goes on with the original devrag and its own database; devrag-forest serves the same documents, so "
    "remove it when nothing asks for it"
)
DECISIONS: Mapping[tuple[Role, Kind], tuple[Action, str]] = MappingProxyType(
    {
        ("gateway", "absent"): ("add", ""),
        ("gateway", "server"): ("replace", "it started the original gateway"),
        ("index", "absent"): ("add", ""),
        ("index", "original"): ("replace", "it started the original devrag"),
        ("index", "gone"): ("replace", "the devrag that it started is not there"),
        ("single", "original"): ("keep", _GOES_ON),
        ("single", "ours"): ("point", "it starts this program: now with the forest's config"),
        ("single", "gone"): (
            "point",
            "the devrag that it started is not there: it serves the forest",
        ),
        ("other", "server"): ("keep", "starts the original gateway under a name of its own"),
    }
)
"""What is done to an entry, and why; one that is not here is people's own and stays."""
_ROLES: Mapping[str, Role] = MappingProxyType(
    {"code-intel": "gateway", "devrag-map": "index", "devrag-forest": "index", SINGLE: "single"}
)
_DEVRAG = re.compile(r"devrag(?:-[a-z0-9_-]+)?(?:\.exe)?\Z", re.IGNORECASE)
_THEIR_ENV = frozenset({"PYTHONPATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"})
"""Variables that the original needs, and that lead this program to another's modules and libraries."""


@dataclass(frozen=True, slots=True)
class Servers:
    """What becomes of `.mcp.json`; `single_config` is the file that v3.7's one devrag is given."""

    change: Change
    single_config: Path | None
    found: tuple[Note, ...]
    left: tuple[Note, ...]


def servers(root: Path) -> Servers:
    """Return what becomes of a project's `.mcp.json`.

    Raises:
        ConfigError: It is no JSON with an object `mcpServers`; nothing has changed.
    """
    path = root / CLAUDE.file
    before = current(path)
    present = _present(path, before)
    added: dict[str, Any] = {}
    changed: dict[str, Any] = {}
    words, left = [], []
    for name in dict.fromkeys((*clients.SERVERS, *present)):
        given = present.get(name)
        role = _ROLES.get(name, "other")
        action, why = DECISIONS.get((role, kind_of(given, root)), ("keep", ""))
        if role == "index" and _is_shared(present, name):
            action, why = "keep", ""
        if action == "add":
            added[name] = _entry(name, root)
        elif action == "keep":
            left += [Note(CLAUDE.file, f"{name} {why}")] if why else []
        elif (new := _renewed(name, given, root)) != given:
            changed[name] = new
            words.append(f"{name}: {why}")
    after = _text(before, changed, added)
    adds = [f"adds {', '.join(added)}"] if added else []
    return Servers(
        Change(path, before, after, "; ".join([*words, *adds])),
        single_config=_given_config(present.get(SINGLE), root),
        found=(*left, *(Note(CLAUDE.file, word) for word in words)),
        left=tuple(left),
    )


def kind_of(given: object, root: Path) -> Kind:
    """Return what an entry starts, where it would be started: in the project."""
    if given is None:
        return "absent"
    if not isinstance(given, dict) or not isinstance(command := given.get("command"), str):
        return "own"
    if any(_last(word) == ORIGINAL_SERVER for word in (command, *_arguments(given))):
        return "server"
    if not _DEVRAG.match(_last(command)) or "${" in command:  # only the client knows where that is
        return "own"
    place = shutil.which(command if _last(command) == command else str(root / command))
    if place is None:
        return "gone"
    return "ours" if clients.is_of_package(place) else "original"


def _is_shared(present: Mapping[str, Any], name: str) -> bool:
    """Whether `init` wrote an entry with a bare name, for whoever has the programs on their PATH."""
    both = (clients.GATEWAY, name)
    return all(clients.is_ours(CLAUDE, one, present.get(one)) for one in both) and not any(
        Path(present[one]["command"]).is_absolute() for one in both
    )


def _entry(name: str, root: Path) -> dict[str, Any]:
    return clients.entry(CLAUDE, name, clients.program(CLAUDE, name), str(root))


def _present(path: Path, before: bytes | None) -> Mapping[str, Any]:
    """Return the entries that there are."""
    try:
        found = mcp_json.read((before or b"").decode(), CLAUDE.key)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ConfigError(
            f"{path} is no JSON with an object {CLAUDE.key}; nothing was changed.",
            hint="Mend it, then run `code-intel migrate` again.",
        )
    return found


def _renewed(name: str, given: Any, root: Path) -> dict[str, Any]:
    """Return an entry that starts this program, keeping what is no part of starting the other one."""
    if name == SINGLE:
        fresh = _entry("devrag-forest", root)
    else:
        fresh = _entry(name, root)
        config = _given_config(given, root)
        usual = {root / folder / Path(fresh["args"][-1]) for folder in ("", STATE_FOLDER)}
        if config and config.is_file() and config not in usual:
            fresh = fresh | {"args": ["--config", name_in(root, config)]}
    env = {key: value for key, value in _table(given, "env").items() if key not in _THEIR_ENV}
    rest = {key: value for key, value in given.items() if key not in {"env", *fresh}}
    return fresh | rest | ({"env": env} if env else {})


def _given_config(given: object, root: Path) -> Path | None:
    """Return the configuration that a devrag entry names; the original takes it from the project."""
    words = _arguments(given) if isinstance(given, dict) else []
    for number, word in enumerate(words):
        option, _, value = word.partition("=")
        if option in {"--config", "-config"}:
            value = value or next(iter(words[number + 1 :]), "")
            return Path(os.path.normpath(root / value)) if value else None
    return None


def _text(before: bytes | None, changed: Mapping[str, Any], added: Mapping[str, Any]) -> bytes | None:  # fmt: skip
    """Return the file with the entries changed and added, every other byte left as it is."""
    if not changed and not added:
        return before
    if before is None:
        return mcp_json.whole(CLAUDE.key, added).encode()
    text = client_files.with_entries(CLAUDE, before.decode(), changed, added)
    assert text is not None  # noqa: S101 - that is TOML's
    return text.encode()


def _arguments(given: Mapping[str, Any]) -> list[str]:
    words = given.get("args")
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else []


def _table(given: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = given.get(key)
    return found if isinstance(found, dict) else {}


def _last(word: str) -> str:
    return re.split(r"[\\/]", word)[-1]
