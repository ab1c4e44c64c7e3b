"""List the imports of a file, one target per imported name.

`from a import b, c` gives `a.b` and `a.c`, `use a::{b, c}` gives `a::b` and `a::c`. Whether
`a.b` is a file or a name in `a` can only be decided with the whole project (docs/decisions/0022).
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from code_intel.chunking.languages import Language

if TYPE_CHECKING:
    from tree_sitter import Node

    from code_intel.chunking.tree import Captures

REEXPORT = "export:"
"""Prefix of a target that the file re-exports."""
MAX_TARGETS = 2000
"""Further imports are ignored; such a file is a table of data."""
MAX_TARGET_CHARS = 1000
"""Longer targets are ignored; they are not file names."""
MAX_BRACE_DEPTH = 64
"""Deeper braces are ignored; code is not nested so deeply by hand."""
MAX_MODULES = 200
"""Maximum number of modules within a file that are considered."""

_COMMENT = re.compile(r"//[^\n]*|/\*(?:.*?\*/|.*)", re.DOTALL)
_KEYWORD = re.compile(r"^(?:(?:import|use|function|const) )+")
_ALIAS = re.compile(r" as .*| ?=>.*")
_PART = re.compile(r"[{},]|[^{},]+")
_EVERYTHING = frozenset({"self", "*", "_", "given"})


def targets(
    matches: "Sequence[Captures]", text_of: "Callable[[Node], str]", language: Language
) -> tuple[str, ...]:
    """Return the distinct targets in order of appearance."""
    found: dict[int, tuple[str, bool]] = {}
    for match in matches:
        for kind in ("import", "relative", "reexport"):
            for node in match.get(kind, ()):
                _, reexported = found.get(node.start_byte, ("", False))
                text = _import_text(text_of(node), kind)
                if "within" in match:
                    text = _name_in_module(text_of(match["within"][0]), text)
                found[node.start_byte] = text, reexported or kind == "reexport"
    modules = _module_spans(matches) if language.import_separator == "::" else ()
    distinct: dict[str, None] = {}
    for start, (text, reexported) in found.items():
        for target in (
            _expand_braces(text, language.import_separator)
            if language.import_separator
            else (text.strip("\"'` "),)
        ):
            path = _relative_to_file(target, start, modules)
            if 0 < len(path) <= MAX_TARGET_CHARS and len(distinct) < MAX_TARGETS:
                distinct[f"{REEXPORT}{path}" if reexported else path] = None
    return tuple(distinct)


def _import_text(text: str, kind: str) -> str:
    bare = text.strip("\"'` \t")
    return f"./{bare}" if kind == "relative" and not bare.startswith((".", "/")) else bare


def _name_in_module(module: str, name: str) -> str:
    """Return the path of a name in a module: `.` and `a` give `.a`."""
    plain = "".join(module.split())
    return f"{plain}{name}" if plain.endswith(".") else f"{plain}.{name}"


def _expand_braces(text: str, separator: str) -> Iterator[str]:
    """Yield each target of `a.{b, c as d, e.{f, _}}`, without wildcards."""
    prefixes, piece = [""], ""
    for part in (*_PART.findall(_COMMENT.sub("", text)), ","):
        if len(prefixes) > MAX_BRACE_DEPTH:
            return
        if part == "{":
            prefixes.append(prefixes[-1] + piece)
            piece = ""
        elif part in {",", "}"}:
            if piece:
                yield _without_wildcard(prefixes[-1] + piece, separator)
            piece = ""
            if part == "}" and len(prefixes) > 1:
                prefixes.pop()
        else:
            plain = " ".join(part.split()).rstrip("; ")
            piece = _ALIAS.sub("", _KEYWORD.sub("", plain))


def _without_wildcard(path: str, separator: str) -> str:
    """Return a path without a wildcard at its end."""
    outer, _, last = path.rpartition(separator)
    return "".join((outer if outer and last in _EVERYTHING else path).split())


def _module_spans(matches: "Sequence[Captures]") -> Sequence[tuple[int, int]]:
    nodes = (node for match in matches for node in match.get("package", ()))
    spans = sorted({(node.start_byte, node.end_byte) for node in nodes})
    return spans[:MAX_MODULES]


def _relative_to_file(target: str, start: int, modules: Sequence[tuple[int, int]]) -> str:
    """Return a target relative to its file: `mod tests { use super::x; }` means the file itself."""
    if not modules or not target.startswith(("super", "self")):
        return target
    opened = modules[: bisect_right(modules, (start, start))]
    depth = sum(start < end for _, end in opened)
    steps = target.split("::")
    while depth and steps[:1] == ["super"]:
        steps, depth = steps[1:], depth - 1
    if steps[:1] != ["super"] and target.startswith("super"):
        steps.insert(0, "self")
    return "::".join(steps)
