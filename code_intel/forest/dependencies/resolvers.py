"""Map languages to the functions that resolve their imports."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from code_intel.forest.dependencies import ecmascript, files, namespaces, python, rust
from code_intel.forest.dependencies.project import Lookups

Resolve = Callable[[Lookups, str, str], tuple[str, ...]]
"""(lookups, importing path, target) → documents; a pure function of the answers of `Lookups`."""


class Resolver(NamedTuple):
    """How imports of a language are resolved.

    Attributes:
        resolve: Returns the documents of a target.
        package: Returns the package of a target that is not a document, or an empty text.
        by_folder: Whether a target means the same in all files of a folder.
        by_name: Whether imports name definitions, independently of file names.
    """

    resolve: Resolve
    package: Callable[[str], str]
    by_folder: bool = True
    by_name: bool = False


def _unknown(*_: object) -> tuple[str, ...]:
    return ()


_ECMASCRIPT = Resolver(ecmascript.resolve, ecmascript.package)
_JVM = Resolver(namespaces.jvm, namespaces.jvm_package)
_C = Resolver(files.include, files.header)
_LINKED = Resolver(files.resolve_link, files.no_package)
_NAMED = Resolver(_unknown, str)

RESOLVERS: Mapping[str, Resolver] = MappingProxyType(
    {
        "python": Resolver(python.resolve, python.package),
        "javascript": _ECMASCRIPT,
        "typescript": _ECMASCRIPT,
        "tsx": _ECMASCRIPT,
        "vue": _ECMASCRIPT,
        "svelte": _ECMASCRIPT,
        "go": Resolver(namespaces.go, namespaces.go_package),
        "rust": Resolver(rust.resolve, rust.package, by_folder=False),
        "java": _JVM,
        "kotlin": _JVM._replace(by_name=True),
        "scala": _JVM._replace(by_name=True),
        "c": _C,
        "cpp": _C,
        "ruby": Resolver(namespaces.ruby, namespaces.first_part),
        "php": Resolver(namespaces.php, namespaces.php_package),
        "lua": Resolver(namespaces.lua, namespaces.first_part),
        "bash": Resolver(files.resolve_sourced, files.no_package),
        "html": _LINKED,
        "css": _LINKED,
        "swift": _NAMED,
        "csharp": _NAMED,
    }
)
"""Resolvers by language. Swift's modules and C#'s namespaces do not match file names."""


def follows(language: str) -> bool:
    """Return whether imports of a language are resolved to documents."""
    return language in RESOLVERS and RESOLVERS[language].resolve is not _unknown


def is_named(language: str) -> bool:
    """Return whether imports of a language name definitions instead of files."""
    return language in RESOLVERS and RESOLVERS[language].by_name
