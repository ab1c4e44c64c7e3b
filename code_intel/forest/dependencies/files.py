"""Resolve imports that are file paths: C, C++, HTML, CSS, shell."""

import re
from posixpath import basename, dirname

from code_intel.forest.dependencies.paths import ancestors, join_path, nearest
from code_intel.forest.dependencies.project import Lookups

_names = str.split
_STANDARD = frozenset(
    _names("""
    assert.h complex.h ctype.h errno.h fcntl.h fenv.h float.h inttypes.h iso646.h limits.h locale.h
    math.h pthread.h setjmp.h signal.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h
    stdlib.h stdnoreturn.h string.h tgmath.h threads.h time.h uchar.h unistd.h wchar.h wctype.h""")
)
"""Headers of C and POSIX. `#include <…>` with such a name never means a header of the project."""
_INCLUDED = frozenset({"include", "inc", "includes", "src", "lib"})
_VARIABLE = re.compile(r"^(?:.*[)}]|\$\w+)/")
_PUBLIC = ("public", "static", "src", "assets")


def include(lookups: Lookups, path: str, target: str) -> tuple[str, ...]:
    """Return the header beside the including file, else the nearest one with a matching path."""
    angled = target.startswith("<")
    name = target.strip("<>").strip()
    if not angled and (found := lookups.first([join_path(dirname(path), name)])):
        return found
    if angled and name in _STANDARD:
        return ()
    tail = join_path("", name)
    while tail.startswith("../"):
        tail = tail.removeprefix("../")
    ending = lookups.ending(tail)
    if angled and "/" not in tail:
        ending = [file for file in ending if _is_served(lookups, dirname(file))]
    return nearest(ending, path)


def _is_served(lookups: Lookups, folder: str) -> bool:
    return folder in lookups.project.tops or basename(folder) in _INCLUDED


def header(target: str) -> str:
    """Return the header as written."""
    return target.strip("<>")


def resolve_link(lookups: Lookups, path: str, target: str) -> tuple[str, ...]:
    """Return the file that a page or style sheet links to, relative to it or to a served folder."""
    name = re.split(r"[?#]", target, maxsplit=1)[0]
    if not name or "://" in name or name.startswith(("//", "data:")):
        return ()
    if not name.startswith("/"):
        return lookups.first(join_path(dirname(path), f"{name}{end}") for end in ("", ".css"))
    roots = (join_path(folder, served) for folder in ancestors(path) for served in ("", *_PUBLIC))
    return lookups.first(join_path(root, name.lstrip("/")) for root in roots)


def resolve_sourced(lookups: Lookups, path: str, target: str) -> tuple[str, ...]:
    """Return the sourced script in the file's folder or an outer one; ignore leading variables."""
    name = _VARIABLE.sub("", target)
    found = lookups.first(join_path(folder, name) for folder in ancestors(path) if name)
    return found or (nearest(lookups.ending(join_path("", name)), path) if "/" in name else ())


def no_package(target: str) -> str:  # noqa: ARG001 - signature of `Resolver.package`
    """Return an empty text, because a path names no package."""
    return ""
