"""Read from the source of tests which requirements they cover.

    @pytest.mark.covers("tool.search_text", "field.search_text: pattern path")

The second stands for `field.search_text.pattern` and `field.search_text.path`.
`transition.READY.*` stands for every requirement with this prefix. Only literal ids count, and
only on a test that runs. A test does not count if it is skipped or expected to fail, if another
test of its name replaces it, or if pytest does not collect it.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from contract.manifest import requirements

TESTS = Path(__file__).resolve().parents[1]
_NEVER = re.compile(r"mark\.(?:skip|xfail)\b|mark\.skipif\((?:True|1)\b")
"""Marks that exclude a test. A test that is skipped on some machines only still runs on others."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Mark(NamedTuple):
    """An id that a test names; `spoken` has the words of its module outside the marks."""

    id: str
    test: str
    spoken: frozenset[str]


class Marks(NamedTuple):
    """Marks that count, and hollow ones with the reason."""

    good: tuple[Mark, ...]
    hollow: tuple[str, ...]


@cache
def collect(folder: Path = TESTS) -> Marks:
    """Return the marks of all tests below a folder."""
    good: list[Mark] = []
    hollow: list[str] = []
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder)
        if "repos" in name.parts:
            continue
        found = marks_in(path.read_text(encoding="utf-8"), name.as_posix())
        good += found.good
        hollow += found.hollow
    return Marks(tuple(good), tuple(hollow))


def marks_in(source: str, name: str) -> Marks:
    """Return the marks of one module."""
    if "mark.covers" not in source:
        return Marks((), ())
    tree = ast.parse(source)
    calls = list(_marks_of(tree))
    functions = {node.name: node for node in tree.body if isinstance(node, Function)}
    spoken = _spoken(tree)
    off = "module is skipped" if _is_skipped(tree.body) else ""
    good: list[Mark] = []
    hollow: list[str] = []
    placed: set[ast.AST] = set()
    for test in tree.body:
        if not isinstance(test, Function):
            continue
        why = off or _why_not(test, functions, name)
        for call in (each for part in test.decorator_list for each in _marks_of(part)):
            placed.add(call)
            where = f"{name}::{test.name}"
            ids = [arg.value for arg in call.args if isinstance(arg, ast.Constant)]
            if why or not ids or len(ids) < len(call.args) or call.keywords:
                hollow.append(f"{where}: {why or 'ids must be literal texts'}")
                continue
            good += [Mark(each, where, spoken) for text in ids for each in ids_of(str(text))]
    hollow += [
        f"{name}:{call.lineno}: is on no test" for call in calls if call not in placed
    ]  # a variable, a class, a function within another
    return Marks(tuple(good), tuple(hollow))


def ids_of(text: str) -> list[str]:
    """Return the ids that one text of a mark stands for."""
    if text.endswith(".*"):
        return [one.id for one in requirements() if one.id.startswith(text[:-1])]
    owner, names, rest = text.partition(": ")
    return [f"{owner}.{name}" for name in rest.split()] if names else [text]


def _why_not(test: Function, functions: dict[str, Function], module: str) -> str:
    """Return why a test proves nothing, or the empty string."""
    if not test.name.startswith("test_") or not Path(module).name.startswith("test_"):
        return "is no test"
    if functions[test.name] is not test:
        return "is replaced by another of its name"
    if any(_NEVER.search(ast.unparse(decorator)) for decorator in test.decorator_list):
        return "is skipped or expected to fail"
    if _is_skipped(test.body):
        return "skips itself"
    return "" if _asserts(test, functions) else "asserts nothing"


def _asserts(test: Function, functions: dict[str, Function]) -> bool:
    """Return whether a test, or a function of its module that it calls, asserts anything."""
    for node in ast.walk(test):
        match node:
            case ast.Assert():
                return True
            case ast.Call(func=ast.Name(id=name)) if name in functions and name != test.name:
                if _asserts(functions[name], {k: v for k, v in functions.items() if k != name}):
                    return True
            case ast.Call() if ast.unparse(node.func) == "pytest.raises":
                return True
            case _:
                pass
    return False


def _is_skipped(body: list[ast.stmt]) -> bool:
    """Return whether statements or a `pytestmark` skip unconditionally."""
    texts = [ast.unparse(node) for node in body if isinstance(node, ast.Expr | ast.Assign)]
    return any(
        text.startswith("pytest.skip(")
        or (text.startswith("pytestmark") and bool(_NEVER.search(text)))
        for text in texts
    )


def _marks_of(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.covers":
            yield node


def _spoken(tree: ast.Module) -> frozenset[str]:
    """Return every name and every word of the texts, except in marks."""
    marks = {id(part) for call in _marks_of(tree) for part in ast.walk(call)}
    words: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in marks:
            continue
        match node:
            case ast.Constant(value=str(text)):
                words.add(text)
                words.update(text.replace(".", " ").split())
            case ast.keyword(arg=str(name)) | ast.Name(id=name):
                words.add(name)
            case ast.Attribute(attr=name):
                words.add(name)
            case _:
                pass
    return frozenset(words)
