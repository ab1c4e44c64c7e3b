"""One row a language: which documents an import means, and which package where it means none."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from code_intel.forest.dependencies import ecmascript, files, namespaces, python, rust
from code_intel.forest.dependencies.project import Project

Resolve = Callable[[Project, str, str], tuple[str, ...]]
"""(project, importing path, target) -> documents; pure."""


class Resolver(NamedTuple):
    """How a language's imports are read.

    Attributes:
        resolve: Which documents a target means.
        package: The name of what is no document, or nothing.
        by_folder: Whether all files of a folder mean the same by a target.
        by_name: Whether an import may name what a file defines, whatever the file is called.
    """

    resolve: Resolve
    package: Callable[[str], str]
    by_folder: bool = True
    by_name: bool = False


def _unknown(project: Project, path: str, target: str) -> tuple[str, ...]:  # noqa: ARG001 - as every resolver
    return ()


_ECMASCRIPT = Resolver(ecmascript.resolve, ecmascript.package)
_JVM = Resolver(namespaces.jvm, namespaces.jvm_package)
_C = Resolver(files.include, files.header)
_LINKED = Resolver(files.linked, files.nothing)
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
        "bash": Resolver(files.sourced, files.nothing),
        "html": _LINKED,
        "css": _LINKED,
        "swift": _NAMED,
        "csharp": _NAMED,
    }
)
"""By the name of a language; Swift and C# import modules and namespaces, which no file is called after."""


def follows(language: str) -> bool:
    """Whether imports of a language lead to documents; those of others are only named, or not read."""
    return language in RESOLVERS and RESOLVERS[language].resolve is not _unknown


def is_named(language: str) -> bool:
    """Whether files of a language are imported by what they define."""
    return language in RESOLVERS and RESOLVERS[language].by_name
