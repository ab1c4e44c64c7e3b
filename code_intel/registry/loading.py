"""Find, read and check the registries of a project (seed 000; docs/decisions/0044).

An unchanged file is not read again, a changed one is read at the next call. Nothing is written: a
project without a config has the default one.
"""

import hashlib
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from code_intel.errors import RegistryError
from code_intel.index.safe_files import open_resolved
from code_intel.registry import checking, place, reading
from code_intel.registry.bm25 import BM25Index
from code_intel.registry.checking import MalformedRegistry
from code_intel.registry.records import DEFAULT_AGENT, Registry

ALL_AGENTS = "*"
"""Stands for every agent where all registries are reloaded."""
MAX_REGISTRY_BYTES = 8 * 1024 * 1024
MAX_CONFIG_BYTES = 256 * 1024
MAX_CACHED_BYTES = 4 * MAX_REGISTRY_BYTES
"""Bytes of the files in memory, the latest first; each needs about eight times its size."""
DEFAULT_REGISTRIES: Mapping[str, str] = MappingProxyType({DEFAULT_AGENT: place.REGISTRY})
"""The registries without a config (seed 000)."""
SETTLED_AFTER_S = 2.0
"""Seconds: a file may change again within the time resolution of its disk (FAT: 2 s)."""

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, eq=False)
class LoadedRegistry:
    """A registry and the digest of its file's content."""

    registry: Registry
    digest: str

    @cached_property
    def index(self) -> BM25Index:
        """The BM25 index of its words, built at the first use."""
        return BM25Index(self.registry.commands)

    @cached_property
    def reading(self) -> BM25Index:
        """The BM25 index of its stems and their English (see `reading`)."""
        return reading.index(self.registry.commands)


class _Stamp(NamedTuple):
    """Metadata of a file that differ after a change."""

    real: Path
    device: int
    inode: int
    size: int
    modified: int
    changed: int


class _CachedFile(NamedTuple):
    path: Path
    stamp: _Stamp
    digest: str
    is_settled: bool
    value: Any


class Registries:
    """The registries of one project, for any number of threads.

    Args:
        root: The project.
        home: Another folder to look in; default: the user's home.
        recent: Age in seconds up to which a file is read again and compared.
    """

    def __init__(
        self, root: Path, home: Path | None = None, *, recent: float = SETTLED_AFTER_S
    ) -> None:
        self._within = place.roots(root, home)
        self._recent = recent
        self._kept: dict[str, _CachedFile] = {}
        self._lock = threading.RLock()

    def agents(self) -> tuple[str, ...]:
        """Return the names of all agents, in the order of the config.

        Raises:
            RegistryError: The config cannot be used.
        """
        with self._lock:
            return tuple(self._config())

    def of(self, agent: str = DEFAULT_AGENT) -> LoadedRegistry:
        """Return the current registry of an agent.

        Raises:
            RegistryError: There is no such agent, or the config or registry cannot be used; it
                names the file and, in `details`, the entry and the field.
        """
        with self._lock:
            path, written = self._place(agent)
            if path is None:
                missing = place.candidates(written, self._within)[0]
                hint = (
                    f"Create it (docs/command-registry.md), or name another file in {place.CONFIG}."
                )
                raise self._error(missing, "File not found", hint)

            def made(data: bytes, digest: str) -> LoadedRegistry:
                return LoadedRegistry(checking.registry(data, agent, path), digest)

            return self._read(agent, path, MAX_REGISTRY_BYTES, made)

    def reload(self, agent: str = DEFAULT_AGENT) -> LoadedRegistry:
        """Read the registry of an agent, even if its file is unchanged.

        Raises:
            RegistryError: As in `of`.
        """
        with self._lock:
            self._kept.pop(agent, None)
            return self.of(agent)

    def reload_all(self) -> Iterator[tuple[str, LoadedRegistry | RegistryError]]:
        """Read the registry of each agent anew; yield it, or why it cannot be used.

        They are read one after the other, because all may need too much memory.

        Raises:
            RegistryError: The config cannot be used.
        """
        with self._lock:
            self._kept.clear()
        for agent in self.agents():
            try:
                yield agent, self.of(agent)
            except RegistryError as error:
                yield agent, error

    def _config(self) -> Mapping[str, str]:
        path = place.first(place.CONFIG, self._within)
        if path is None:
            return DEFAULT_REGISTRIES
        return self._read(
            place.CONFIG,
            path,
            MAX_CONFIG_BYTES,
            lambda data, _: checking.registries(data),
        )

    def _place(self, agent: str) -> tuple[Path | None, str]:
        """Return the file of an agent's registry, if there is one, and its path in the config."""
        config = self._config()
        path = place.first(place.CONFIG, self._within) or self._within[0] / place.CONFIG
        if agent not in config:
            known = ", ".join(config) or "none"
            raise RegistryError(
                f"There is no such agent. Agents: {known}.",
                hint=f"Use one of them, or add the agent to {place.CONFIG}.",
                details={
                    "path": place.shown(path, self._within),
                    "details": f"registries has no such agent; agents: {known}",
                },
            )
        if not place.candidates(config[agent], self._within):
            raise self._error(
                path, f"registries.{agent} is outside the project and the home folder"
            )
        return place.first(config[agent], self._within), config[agent]

    def _read(
        self, key: str, path: Path, most: int, made: Callable[[bytes, str], ResultT]
    ) -> ResultT:
        """Return the content of a file or its problem, from memory if the file is unchanged."""
        try:
            value = self._known(key, path, most, made)
        except MalformedRegistry as error:
            raise self._error(path, str(error)) from None
        except OSError as error:
            raise self._error(path, _said(error)) from None
        if isinstance(value, MalformedRegistry):
            raise self._error(path, str(value))
        return value

    def _known(
        self, key: str, path: Path, most: int, made: Callable[[bytes, str], ResultT]
    ) -> ResultT | MalformedRegistry:
        real = place.confined(path, self._within)
        if real is None:
            raise MalformedRegistry("It is outside the project and the home folder")
        kept = self._kept.get(key)
        if kept and kept.path != path:
            kept = None
        value: ResultT | MalformedRegistry
        # The stamps are of one moment.
        if kept and kept.is_settled and kept.stamp == _stamp(real, os.stat(real)):  # noqa: PTH116
            value = kept.value
            return value
        data, stamp = _content(real, most)
        digest = hashlib.sha256(data).hexdigest()
        value = kept.value if kept and kept.digest == digest else _outcome(made, data, digest)
        latest = max(stamp.modified, stamp.changed) / 1e9
        is_settled = abs(time.time() - latest) > self._recent
        self._kept.pop(key, None)
        self._kept[key] = _CachedFile(path, stamp, digest, is_settled, value)
        while sum(kept.stamp.size for kept in self._kept.values()) > MAX_CACHED_BYTES:
            del self._kept[next(iter(self._kept))]  # a config may name a hundred large ones
        return value

    def _error(self, path: Path, reason: str, hint: str | None = None) -> RegistryError:
        shown = place.shown(path, self._within)
        said = place.mentioned(path, self._within, "A registry that the config names")
        return RegistryError(
            f"{said} cannot be used: {reason}.",
            hint=hint,
            details={"path": shown, "details": reason},
        )


def _outcome(
    made: Callable[[bytes, str], ResultT], data: bytes, digest: str
) -> ResultT | MalformedRegistry:
    try:
        return made(data, digest)
    except MalformedRegistry as error:
        return MalformedRegistry(str(error))  # without the frames in which it was raised


def _content(real: Path, most: int) -> tuple[bytes, _Stamp]:
    """Return the bytes of a regular file at one moment, and its stamp at that moment."""
    for _ in range(2):
        with os.fdopen(open_resolved(str(real)), "rb") as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise MalformedRegistry("It is not a regular file")
            if before.st_size > most:
                raise MalformedRegistry(f"It is larger than {most // 1024:,} KiB")
            data = file.read(most + 1)
            after = os.fstat(file.fileno())
        if _stamp(real, before) == _stamp(real, after) and len(data) == after.st_size:
            return data, _stamp(real, after)
    raise MalformedRegistry("It changed while it was being read")


def _stamp(real: Path, found: os.stat_result) -> _Stamp:
    return _Stamp(
        real, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    )


def _said(error: OSError) -> str:
    """Return an operating system error as text, in seed 001's words if it has some."""
    return (
        "File not found" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
    )
