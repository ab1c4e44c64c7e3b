"""List the imports of a file, one target per imported name.

`from a import b, c` gives `a.b` and `a.c`, `use a::{b, c}` gives `a::b` and `a::c`. Only the whole
project shows whether `a.b` is a file or a name in `a` (docs/decisions/0022).
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
"""A file with more imports is a table of data."""
MAX_TARGET_CHARS = 1000
"""Longer targets are not file names."""
MAX_BRACE_DEPTH = 64
"""Code written by hand is not nested deeper."""
MAX_MODULES = 200
"""How many modules within a file are considered."""

_COMMENT = re.compile(r"//[^\n]*|/\*(?:.*?\*/|.*)", re.DOTALL)
_KEYWORD = re.compile(r"^(?:(?:import|use|function|const) )+")
_ALIAS = re.compile(r" as .*| ?=>.*")
_PART = re.compile(r"[{},]|[^{},]+")
_EVERYTHING = frozenset({"self", "*", "_", "given"})


def targets(
    matches: "Sequence[Captures]", text_of: "Callable[[Node], str]", language: Language
) -> tuple[str, ...]:
    """Return the targets in order of appearance, each once."""
    found: dict[int, tuple[str, bool]] = {}
    for match in matches:
        for kind in ("import", "relative", "reexport"):
            for node in match.get(kind, ()):
                _, reexported = found.get(node.start_byte, ("", False))
                text = _written(text_of(node), kind)
                if "within" in match:
                    text = _joined(text_of(match["within"][0]), text)
                found[node.start_byte] = text, reexported or kind == "reexport"
    modules = _modules(matches) if language.import_separator == "::" else ()
    each: dict[str, None] = {}
    for start, (text, reexported) in found.items():
        for target in (
            _spread(text, language.import_separator)
            if language.import_separator
            else (text.strip("\"'` "),)
        ):
            seen = _inside(target, start, modules)
            if 0 < len(seen) <= MAX_TARGET_CHARS and len(each) < MAX_TARGETS:
                each[f"{REEXPORT}{seen}" if reexported else seen] = None
    return tuple(each)


def _written(text: str, kind: str) -> str:
    bare = text.strip("\"'` \t")
    return f"./{bare}" if kind == "relative" and not bare.startswith((".", "/")) else bare


def _joined(module: str, name: str) -> str:
    """Return the path of a name in a module: `.` and `a` give `.a`."""
    plain = "".join(module.split())
    return f"{plain}{name}" if plain.endswith(".") else f"{plain}.{name}"


def _spread(text: str, joint: str) -> Iterator[str]:
    """Yield the single targets of `a.{b, c as d, e.{f, _}}`; wildcards are left out."""
    before, piece = [""], ""
    for part in (*_PART.findall(_COMMENT.sub("", text)), ","):
        if len(before) > MAX_BRACE_DEPTH:
            return
        if part == "{":
            before.append(before[-1] + piece)
            piece = ""
        elif part in {",", "}"}:
            if piece:
                yield _whole(before[-1] + piece, joint)
            piece = ""
            if part == "}" and len(before) > 1:
                before.pop()
        else:
            plain = " ".join(part.split()).rstrip("; ")
            piece = _ALIAS.sub("", _KEYWORD.sub("", plain))


def _whole(path: str, joint: str) -> str:
    """Return a path without a wildcard at its end."""
    outer, _, last = path.rpartition(joint)
    return "".join((outer if outer and last in _EVERYTHING else path).split())


def _modules(matches: "Sequence[Captures]") -> Sequence[tuple[int, int]]:
    nodes = (node for match in matches for node in match.get("package", ()))
    spans = sorted({(node.start_byte, node.end_byte) for node in nodes})
    return spans[:MAX_MODULES]


def _inside(target: str, start: int, modules: Sequence[tuple[int, int]]) -> str:
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
