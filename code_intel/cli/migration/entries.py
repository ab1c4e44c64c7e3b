"""Plan the change of `.mcp.json`: add our servers, and replace the original's of the same names.

What happens to an entry depends on the program that it starts. The user's own entries are kept.
v3.7's single `devrag` is kept while the original devrag is installed; if it starts this program or
a missing one, it becomes a server of the forest (docs/decisions/0035).
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
from code_intel.cli.setup.changes import FileChange, current, name_in
from code_intel.config import STATE_FOLDER
from code_intel.errors import ConfigError

(CLAUDE,) = clients.chosen(["claude"])
"""The only client that the original supports."""
SINGLE = "devrag"
"""The name of v3.7's index server."""
ORIGINAL_SERVER = "code_intel_server.py"

Kind = Literal["absent", "server", "ours", "original", "gone", "own"]
"""What an entry starts: `absent` nothing, `server` the original gateway, `ours` this package,
`original` the original devrag, `gone` a missing devrag, `own` another program."""
Role = Literal["gateway", "index", "single", "other"]
Action = Literal["add", "replace", "point", "keep"]

_STAYS = (
    "keeps using the original devrag and its database; devrag-forest serves the same documents, so"
    " remove it when nothing uses it"
)
DECISIONS: Mapping[tuple[Role, Kind], tuple[Action, str]] = MappingProxyType(
    {
        ("gateway", "absent"): ("add", ""),
        ("gateway", "server"): ("replace", "it started the original gateway"),
        ("index", "absent"): ("add", ""),
        ("index", "original"): ("replace", "it started the original devrag"),
        ("index", "gone"): ("replace", "the devrag that it started is missing"),
        ("single", "original"): ("keep", _STAYS),
        ("single", "ours"): ("point", "it starts this program, now with the forest's config"),
        ("single", "gone"): (
            "point",
            "the devrag that it started is missing, so it serves the forest",
        ),
        ("other", "server"): ("keep", "starts the original gateway under another name"),
    }
)
"""What happens to an entry, and why. All other entries are the user's own and are kept."""
_ROLES: Mapping[str, Role] = MappingProxyType(
    {"code-intel": "gateway", "devrag-map": "index", "devrag-forest": "index", SINGLE: "single"}
)
_DEVRAG = re.compile(r"devrag(?:-[a-z0-9_-]+)?(?:\.exe)?\Z", re.IGNORECASE)
_ORIGINAL_ENV = frozenset({"PYTHONPATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"})
"""Variables of the original that would make this program load other modules and libraries."""


@dataclass(frozen=True, slots=True)
class Servers:
    """The change of `.mcp.json`; `single_config` is the config of v3.7's single devrag."""

    change: FileChange
    single_config: Path | None
    found: tuple[Note, ...]
    left: tuple[Note, ...]


def servers(root: Path) -> Servers:
    """Return the change of a project's `.mcp.json`.

    Raises:
        ConfigError: It is not a JSON file with an object `mcpServers`.
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
        if role == "index" and _is_portable(present, name):
            action, why = "keep", ""
        if action == "add":
            added[name] = _entry(name, root)
        elif action == "keep":
            left += [Note(CLAUDE.file, f"{name} {why}")] if why else []
        elif (new := _updated_entry(name, given, root)) != given:
            changed[name] = new
            words.append(f"{name}: {why}")
    after = _new_content(before, changed, added)
    adds = [f"adds {', '.join(added)}"] if added else []
    return Servers(
        FileChange(path, before, after, "; ".join([*words, *adds])),
        single_config=_given_config(present.get(SINGLE), root),
        found=(*left, *(Note(CLAUDE.file, word) for word in words)),
        left=tuple(left),
    )


def kind_of(given: object, root: Path) -> Kind:
    """Return what an entry starts; its paths are relative to the project."""
    if given is None:
        return "absent"
    if not isinstance(given, dict) or not isinstance(command := given.get("command"), str):
        return "own"
    if any(_base_name(word) == ORIGINAL_SERVER for word in (command, *_arguments(given))):
        return "server"
    if not _DEVRAG.match(_base_name(command)) or "${" in command:  # only the client can resolve it
        return "own"
    place = shutil.which(command if _base_name(command) == command else str(root / command))
    if place is None:
        return "gone"
    return "ours" if clients.belongs_to_package(place) else "original"


def _is_portable(present: Mapping[str, Any], name: str) -> bool:
    """Return whether `init` wrote an entry with a bare program name, which others can use too."""
    both = (clients.GATEWAY, name)
    return all(clients.is_ours(CLAUDE, one, present.get(one)) for one in both) and not any(
        Path(present[one]["command"]).is_absolute() for one in both
    )


def _entry(name: str, root: Path) -> dict[str, Any]:
    return clients.entry(CLAUDE, name, clients.program(CLAUDE, name), str(root))


def _present(path: Path, before: bytes | None) -> Mapping[str, Any]:
    """Return the entries of the file."""
    try:
        found = mcp_json.read((before or b"").decode(), CLAUDE.key)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ConfigError(
            f"{path} is not a JSON file with an object {CLAUDE.key}. Nothing was changed.",
            hint="Correct it, then run `code-intel migrate` again.",
        )
    return found


def _updated_entry(name: str, given: Any, root: Path) -> dict[str, Any]:
    """Return an entry that starts this program and keeps the other fields of the old entry."""
    if name == SINGLE:
        fresh = _entry("devrag-forest", root)
    else:
        fresh = _entry(name, root)
        config = _given_config(given, root)
        usual = {root / folder / Path(fresh["args"][-1]) for folder in ("", STATE_FOLDER)}
        if config and config.is_file() and config not in usual:
            fresh = fresh | {"args": ["--config", name_in(root, config)]}
    old = _object_at(given, "env")
    env = {key: value for key, value in old.items() if key not in _ORIGINAL_ENV}
    rest = {key: value for key, value in given.items() if key not in {"env", *fresh}}
    return fresh | rest | ({"env": env} if env else {})


def _given_config(given: object, root: Path) -> Path | None:
    """Return the configuration that a devrag entry names, relative to the project."""
    words = _arguments(given) if isinstance(given, dict) else []
    for number, word in enumerate(words):
        option, _, value = word.partition("=")
        if option in {"--config", "-config"}:
            value = value or next(iter(words[number + 1 :]), "")
            return Path(os.path.normpath(root / value)) if value else None
    return None


def _new_content(
    before: bytes | None, changed: Mapping[str, Any], added: Mapping[str, Any]
) -> bytes | None:
    """Return the file with entries changed and added; keep every other byte."""
    if not changed and not added:
        return before
    if before is None:
        return mcp_json.new_text(CLAUDE.key, added).encode()
    text = client_files.with_entries(CLAUDE, before.decode(), changed, added)
    assert text is not None  # noqa: S101 - only TOML may be unsafe to edit
    return text.encode()


def _arguments(given: Mapping[str, Any]) -> list[str]:
    words = given.get("args")
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else []


def _object_at(given: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = given.get(key)
    return found if isinstance(found, dict) else {}


def _base_name(word: str) -> str:
    return re.split(r"[\\/]", word)[-1]
