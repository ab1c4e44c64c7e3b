"""Read names and folders from manifests; invalid JSON or TOML is ignored.

`go.mod` defines a module, `Cargo.toml` a crate, `package.json` a package with its entries,
`tsconfig.json` aliases of paths, and `composer.json` the folders of namespaces.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from posixpath import basename, dirname
from typing import Any, NamedTuple

from code_intel.config.reading import toml_values
from code_intel.forest.dependencies.paths import join_path

_NAMED = re.compile(
    r"(?:^|/)(?:go\.mod|Cargo\.toml|(?:package|composer|jsconfig|tsconfig[^/]*)\.json)$"
)
_CRATE_ENTRIES = ("src/main.rs", "src/lib.rs")
MAX_EXTENDS = 5
"""Maximum length of a chain of configurations that extend each other."""

_MODULE = re.compile(r"^[ \t]*module[ \t]+\"?([^\s\"]+)", re.MULTILINE)
_JSONC = re.compile(r'"(?:[^"\\\n]|\\.)*"?|//[^\n]*|/\*(?:.*?\*/|.*)|,(?=\s*[}\]])', re.DOTALL)
"""Matches strings, comments and trailing commas; an unterminated comment extends to the end."""
_ENTRIES = ("source", "types", "typings", "module", "main")


class Package(NamedTuple):
    """A JavaScript package: its folder, and files by subpath patterns with at most one `*`."""

    folder: str
    entries: tuple[tuple[str, tuple[str, ...]], ...]
    internal: tuple[tuple[str, tuple[str, ...]], ...]


class Manifests:
    """The content of all manifests.

    Attributes:
        modules: Folders of Go modules by module path, the longest path first.
        crates: Root files of Rust crates by crate name, in which `-` is replaced with `_`.
        entries: Root files of Rust crates by the folder of that file.
        crate_folders: Folders of Rust crates.
        packages: JavaScript packages by name.
        package_at: JavaScript packages by folder, including those without a name.
        aliases: TypeScript's pairs of a pattern and its paths, by folder.
        namespaces: Folders of PHP namespaces; the empty namespace matches any class.
        asked: Files of Rust crates that were looked for.
    """

    def __init__(self, texts: Mapping[str, str], files: Collection[str]) -> None:
        self.modules: dict[str, str] = {}
        self.crates: dict[str, str] = {}
        self.entries: dict[str, str] = {}
        self.crate_folders: set[str] = set()
        self.packages: dict[str, Package] = {}
        self.package_at: dict[str, Package] = {}
        self.aliases: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {}
        self.namespaces: dict[str, list[str]] = {}
        self.asked: set[str] = set()
        self._add_unnamed_crates(files)
        configs: dict[str, Mapping[str, Any]] = {}
        for path in sorted(texts, key=lambda path: (path.count("/"), path), reverse=True):
            name, folder = basename(path), dirname(path)
            if name == "go.mod":
                self.modules |= dict.fromkeys(_MODULE.findall(texts[path])[:1], folder)
            elif name == "Cargo.toml":
                self._add_crate(folder, _toml(texts[path]), files)
            elif name == "package.json":
                self._add_package(folder, _json(texts[path]))
            elif name == "composer.json":
                self._add_namespaces(folder, _json(texts[path]))
            else:
                configs[path] = _json(texts[path])
        for path in sorted(configs):
            known = self.aliases.get(dirname(path), ())
            self.aliases[dirname(path)] = known + tuple(_aliases(path, configs))
        self.modules = dict(sorted(self.modules.items(), key=lambda item: -len(item[0])))

    def concern(self, path: str) -> bool:
        """Return whether manifests may mean others if this file is added or deleted."""
        return is_manifest(path) or path.endswith(_CRATE_ENTRIES) or path in self.asked

    def _add_unnamed_crates(self, files: Iterable[str]) -> None:
        for path in files:
            if path.endswith(_CRATE_ENTRIES):
                folder = dirname(dirname(path))
                self._add_crate(folder, {"package": {"name": basename(folder)}}, {path})

    def _add_crate(self, folder: str, data: Mapping[str, Any], files: Collection[str]) -> None:
        library = _mapping(data, "lib")
        programs = data.get("bin")
        programs = programs if isinstance(programs, list) else ()
        tables = [program for program in programs if isinstance(program, dict)]
        paths = [*(table.get("path") for table in tables), *_CRATE_ENTRIES, library.get("path")]
        entries = [join_path(folder, path) for path in paths if isinstance(path, str)]
        known = [path for path in entries if path in files]
        self.asked.update(entries)
        self.crate_folders.add(folder)
        self.entries |= {dirname(path): path for path in known}
        for name in (_mapping(data, "package").get("name"), library.get("name")):
            if isinstance(name, str) and known:
                self.crates[name.replace("-", "_")] = known[-1]

    def _add_package(self, folder: str, data: Mapping[str, Any]) -> None:
        name = data.get("name")
        exports = data.get("exports")
        entries: dict[str, tuple[str, ...]] = {}
        if isinstance(exports, dict) and all(str(key).startswith(".") for key in exports):
            entries = {key[1:]: tuple(_strings(value)) for key, value in exports.items()}
        main = [data[key] for key in _ENTRIES if isinstance(data.get(key), str)]
        whole = entries.get("", tuple(_strings(exports)) if not entries else ())
        entries[""] = (*whole, *main)
        internal = {key: tuple(_strings(v)) for key, v in _mapping(data, "imports").items()}
        package = Package(folder, tuple(entries.items()), tuple(internal.items()))
        self.package_at[folder] = package
        if isinstance(name, str) and name:
            self.packages[name] = package

    def _add_namespaces(self, folder: str, data: Mapping[str, Any]) -> None:
        for part in ("autoload", "autoload-dev"):
            for prefix, where in _mapping(_mapping(data, part), "psr-4").items():
                places = [join_path(folder, place) for place in _strings(where)]
                self.namespaces.setdefault(prefix.strip("\\"), []).extend(places)


def match_wildcard(pattern: str, name: str) -> str | None:
    """Return the part of a name that matches the `*` of a pattern; None if it does not match."""
    before, star, after = pattern.partition("*")
    if not star:
        return "" if name == pattern else None
    if len(name) < len(pattern) - 1 or not (name.startswith(before) and name.endswith(after)):
        return None
    return name[len(before) : len(name) - len(after)]


def is_manifest(path: str) -> bool:
    """Return whether a path has the name of a manifest."""
    return path.endswith((".mod", ".toml", ".json")) and _NAMED.search(path) is not None


def _aliases(
    path: str, configs: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the aliases of a configuration, then those of the configurations that it extends."""
    for _ in range(MAX_EXTENDS):
        data = configs.get(path, {})
        options = _mapping(data, "compilerOptions")
        base = options.get("baseUrl")
        start = join_path(dirname(path), base if isinstance(base, str) else ".")
        for pattern, places in _mapping(options, "paths").items():
            yield pattern, tuple(join_path(start, place) for place in _strings(places))
        if isinstance(base, str):
            yield "*", (join_path(start, "*"),)
        extended = next((s for s in _strings(data.get("extends")) if s.startswith(".")), "")
        if not extended:
            return
        path = join_path(dirname(path), extended)
        path = path if path in configs else f"{path}.json"


def _json(text: str) -> Mapping[str, Any]:
    """Parse JSON with comments and trailing commas, as in tsconfig.json."""
    plain = _JSONC.sub(lambda found: found[0] if found[0].startswith('"') else "", text)
    try:
        data = json.loads(plain)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _toml(text: str) -> Mapping[str, Any]:
    try:
        return toml_values(text)
    except ValueError:
        return {}


def _mapping(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = data.get(key)
    return found if isinstance(found, dict) else {}


def _strings(value: object, deepest: int = 8) -> Iterator[str]:
    """Yield every string in a value, in order."""
    if deepest < 0:
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item, deepest - 1)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, deepest - 1)
