"""What a file imports, as its text says it: one target a name.

A target that stands for several is spread: `from a import b, c` is `a.b` and `a.c`, `use a::{b, c}` is
`a::b` and `a::c`. Whether `a.b` is a file or a name inside `a` only the whole project knows
(docs/decisions/0022).
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
"""What a target begins with that the file passes on to those who import it."""
MOST = 2000
"""Targets of a file; more are a table of data."""
LONGEST = 1000
"""Characters of a target; longer ones name no file."""
DEEPEST = 64
"""Braces within braces; what is deeper nobody wrote by hand."""
MODULES = 200
"""Modules within a file whose bounds are remembered."""

_COMMENT = re.compile(r"//[^\n]*|/\*(?:.*?\*/|.*)", re.DOTALL)
_KEYWORD = re.compile(r"^(?:(?:import|use|function|const) )+")
_ALIAS = re.compile(r" as .*| ?=>.*")
_PART = re.compile(r"[{},]|[^{},]+")
_EVERYTHING = frozenset({"self", "*", "_", "given"})


def targets(
    matches: "Sequence[Captures]", text_of: "Callable[[Node], str]", language: Language
) -> tuple[str, ...]:
    """Return the targets in order of appearance, each once.

    Args:
        matches: What the row's query found.
        text_of: A node's text.
        language: The row.
    """
    found: dict[int, tuple[str, bool]] = {}
    for match in matches:
        for kind in ("import", "relative", "reexport"):
            for node in match.get(kind, ()):
                _, passed = found.get(node.start_byte, ("", False))
                text = _written(text_of(node), kind)
                if "within" in match:
                    text = _joined(text_of(match["within"][0]), text)
                found[node.start_byte] = text, passed or kind == "reexport"
    modules = _modules(matches) if language.joint == "::" else ()
    each: dict[str, None] = {}
    for start, (text, passed) in found.items():
        for target in _spread(text, language.joint) if language.joint else (text.strip("\"'` "),):
            said = _inside(target, start, modules)
            if 0 < len(said) <= LONGEST and len(each) < MOST:
                each[f"{REEXPORT}{said}" if passed else said] = None
    return tuple(each)


def _written(text: str, kind: str) -> str:
    bare = text.strip("\"'` \t")
    return f"./{bare}" if kind == "relative" and not bare.startswith((".", "/")) else bare


def _joined(module: str, name: str) -> str:
    """Return the path of a name that is imported from a module: `.` and `a` are `.a`."""
    plain = "".join(module.split())
    return f"{plain}{name}" if plain.endswith(".") else f"{plain}.{name}"


def _spread(text: str, joint: str) -> Iterator[str]:
    """Yield the single targets of `a.{b, c as d, e.{f, _}}`; what names everything is left out."""
    before, piece = [""], ""
    for part in (*_PART.findall(_COMMENT.sub("", text)), ","):
        if len(before) > DEEPEST:
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
    """Return a path up to where it names everything below."""
    outer, _, last = path.rpartition(joint)
    return "".join((outer if outer and last in _EVERYTHING else path).split())


def _modules(matches: "Sequence[Captures]") -> Sequence[tuple[int, int]]:
    nodes = (node for match in matches for node in match.get("package", ()))
    spans = sorted({(node.start_byte, node.end_byte) for node in nodes})
    return spans[:MODULES]


def _inside(target: str, start: int, modules: Sequence[tuple[int, int]]) -> str:
    """Return a target as seen from its file: in `mod tests { use super::x; }` that is the file itself."""
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
