"""Find, read and check the registries of a project (seed 000; docs/decisions/0044).

A file is read at each call, and checked again after a change. Nothing is written: a project without
a config has the default one.
"""

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from code_intel.errors import RegistryError
from code_intel.registry import checking, place, reading
from code_intel.registry.bm25 import BM25Index
from code_intel.registry.checking import MalformedRegistry, reason_of
from code_intel.registry.records import DEFAULT_AGENT, Registry
from code_intel.registry.sources.discovery import ClientCommands, client_commands, folders

MAX_REGISTRY_BYTES = 8 * 1024 * 1024
MAX_CONFIG_BYTES = 256 * 1024
MAX_CACHED_BYTES = 4 * MAX_REGISTRY_BYTES
"""Bytes of the files in memory, the latest first; each needs about eight times its size."""
NOT_FOUND = "File not found"
"""Seed 001's words."""
CREATE_HINT = f"Create it (docs/command-registry.md), or name another file in {place.CONFIG}."
DEFAULT_REGISTRIES: Mapping[str, str] = MappingProxyType({DEFAULT_AGENT: place.REGISTRY})
"""The registries without a config (seed 000)."""

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, eq=False)
class LoadedRegistry:
    """A registry with the indexes of its words, which are built at their first use."""

    registry: Registry

    @cached_property
    def index(self) -> BM25Index:
        """The BM25 index of its words."""
        return BM25Index(self.registry.commands)

    @cached_property
    def reading(self) -> BM25Index:
        """The BM25 index of its stems and their English (see `reading`)."""
        return BM25Index(self.registry.commands, tokenize=reading.description_terms)


class Registries:
    """The registries of one project, for any number of threads.

    Args:
        root: The project.
        home: Another folder to look in; default: the user's home.
    """

    def __init__(self, root: Path, home: Path | None = None) -> None:
        self._within = place.roots(root, home)
        self._kept: dict[str, tuple[Path, bytes, Any]] = {}
        self._joined: tuple[LoadedRegistry | None, ClientCommands, LoadedRegistry] | None = None
        self._lock = threading.Lock()

    def agents(self) -> tuple[str, ...]:
        """Return the names of all agents, in the order of the config.

        Raises:
            RegistryError: The config cannot be used.
        """
        with self._lock:
            owner = [DEFAULT_AGENT] if folders(self._within[0]) else []
            return tuple(dict.fromkeys((*self._config(), *owner)))

    def of(self, agent: str = DEFAULT_AGENT) -> LoadedRegistry:
        """Return the current registry of an agent; the default agent's has the clients' prompts.

        Raises:
            RegistryError: There is no such agent, or the config or registry cannot be used; it
                names the file and, in `details`, the entry and the field.
        """
        with self._lock:
            if agent != DEFAULT_AGENT or not folders(self._within[0]):
                return self._registered(agent)
            is_there = agent in self._config() and os.path.lexists(self._path(agent))
            own = self._registered(agent) if is_there else None
            found = client_commands(self._within[0])
            if self._joined is None or self._joined[0] is not own or self._joined[1] != found:
                self._joined = own, found, _joined(self._within[0], own, found)
            return self._joined[2]

    def _registered(self, agent: str) -> LoadedRegistry:
        """Return the registry in the file of an agent; raise RegistryError as `of`."""
        path = self._path(agent)
        return self._read(
            agent,
            path,
            MAX_REGISTRY_BYTES,
            lambda data: LoadedRegistry(checking.registry(data, agent, path)),
        )

    def _config(self) -> Mapping[str, str]:
        path = place.first(place.CONFIG, self._within)
        if path is None:
            return DEFAULT_REGISTRIES
        return self._read(place.CONFIG, path, MAX_CONFIG_BYTES, checking.registries)

    def _path(self, agent: str) -> Path:
        """Return the path of an agent's registry; if it is not there, where it should be."""
        config = self._config()
        named_in = place.first(place.CONFIG, self._within) or self._within[0] / place.CONFIG
        if agent not in config:
            known = ", ".join(config) or "none"
            raise RegistryError(
                f"There is no such agent. Agents: {known}.",
                hint=f"Use one of them, or add the agent to {place.CONFIG}.",
                details={
                    "path": place.shown(named_in, self._within),
                    "details": f"registries has no such agent; agents: {known}",
                },
            )
        paths = place.candidates(config[agent], self._within)
        if not paths:
            outside = f"registries.{agent} is outside the project and the home folder"
            raise self._error(named_in, outside)
        return place.first(config[agent], self._within) or paths[0]

    def _read(self, key: str, path: Path, most: int, made: Callable[[bytes], ResultT]) -> ResultT:
        """Return what is made of a file's content; the former result if it is unchanged."""
        try:
            _, data = place.content(path, self._within, most)
            kept = self._kept.pop(key, None)
            if kept is None or kept[:2] != (path, data):
                kept = path, data, made(data)
        except FileNotFoundError:
            raise self._error(path, NOT_FOUND, CREATE_HINT) from None
        except (MalformedRegistry, OSError) as error:
            raise self._error(path, reason_of(error)) from None
        self._kept[key] = kept
        while sum(len(data) for _, data, _ in self._kept.values()) > MAX_CACHED_BYTES:
            del self._kept[next(iter(self._kept))]  # a config may name a hundred large ones
        value: ResultT = kept[2]
        return value

    def _error(self, path: Path, reason: str, hint: str | None = None) -> RegistryError:
        shown = place.shown(path, self._within)
        said = place.mentioned(path, self._within, "A registry that the config names")
        return RegistryError(
            f"{said} cannot be used: {reason}.",
            hint=hint,
            details={"path": shown, "details": reason},
        )


def _joined(root: Path, own: LoadedRegistry | None, found: ClientCommands) -> LoadedRegistry:
    """Return a registry with the clients' prompts; a command of the registry goes first."""
    registry = own.registry if own else Registry(DEFAULT_AGENT, root / found.folders[0], ())
    names = {command.key for command in registry.commands}
    added = tuple(command for command in found.commands if command.key not in names)
    hidden = [
        f"The prompt file of {one.name} is left out: the registry has a command of its name"
        for one in found.commands
        if one.key in names
    ]
    joined = replace(
        registry,
        commands=registry.commands + added,
        notes=(*registry.notes, *found.notes, *hidden),
        folders=found.folders,
    )
    return LoadedRegistry(joined)
