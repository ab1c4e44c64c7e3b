"""docs/platforms.md names every place that is different on another system than Linux."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "code_intel"
PAGE = (ROOT / "docs" / "platforms.md").read_text("utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
BIN = Path(sys.executable).parent
SYSTEMS = ("linux", "darwin", "win32")
STUBS = Path(str(files("mypy") / "typeshed" / "stdlib"))
"""The types of the standard library, which say on which system a name exists."""
OTHER_MEANING = {
    "os.chmod", "os.getppid", "os.link", "os.readlink", "os.symlink", "os.umask", "select.select",
    "signal.SIGTERM", "signal.signal",
}  # fmt: skip
"""Names that Windows has, too, but that do something else there."""
ARGUMENTS = {"pass_fds", "preexec_fn", "process_group", "start_new_session", "umask"}
"""Arguments of `subprocess` and `anyio` that have no effect on Windows, or are refused."""
YAML = "{extends: default, rules: {line-length: {max: 110}, document-start: disable}}"
_FOLDERS = re.compile(r"/(?:bin|dev|etc|proc|run|sys|tmp|usr|var)\b")


def holds(test: ast.expr, system: str) -> bool:
    """Return whether a condition of a stub holds on a system; other conditions hold."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return all(holds(value, system) for value in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(holds(value, system) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not holds(operand, system)
        case ast.Compare(
            left=ast.Attribute(value=ast.Name("sys"), attr="platform"),
            ops=[operation],
            comparators=[ast.Constant(name)],
        ):
            return (system == name) == isinstance(operation, ast.Eq)
        case _:
            return True


def defined(body: Sequence[ast.stmt], system: str) -> Iterator[str]:
    """Yield the names that a stub defines on a system."""
    for node in body:
        match node:
            case ast.If(test=test, body=then, orelse=other):
                yield from defined(then if holds(test, system) else other, system)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.AnnAssign(target=ast.Name(name)):
                yield name
            case ast.Assign(targets=[ast.Name(name)]):
                yield name
            case ast.ImportFrom(names=names):
                yield from (alias.asname for alias in names if alias.asname)
            case _:
                pass


@cache
def names_of(module: str, system: str) -> frozenset[str]:
    """Return the names that a module of the standard library has on a system."""
    path = STUBS / f"{module}.pyi"
    path = path if path.exists() else STUBS / module / "__init__.pyi"
    if not path.exists():
        return frozenset()
    return frozenset(defined(ast.parse(path.read_bytes()).body, system))


def is_special(module: str, name: str) -> bool:
    """Return whether macOS or Windows lacks a name that Linux has, or has it for another use."""
    if f"{module}.{name}" in OTHER_MEANING | {"os.name", "sys.platform"}:
        return True
    on_linux, *others = (name in names_of(module, system) for system in SYSTEMS)
    return on_linux and not all(others)


def is_special_module(module: str) -> bool:
    """Return whether Windows does not have a module, apart from private names of its stub."""
    public = [{n for n in names_of(module, one) if n[0] != "_"} for one in SYSTEMS]
    return bool(public[0]) and not public[2]


def specials(code: str) -> set[str]:
    """Return what a module uses that depends on the system."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Import(names=names):
                found |= {alias.name for alias in names if is_special_module(alias.name)}
            case ast.ImportFrom(module=str(module), names=names, level=0):
                if is_special_module(module):
                    found.add(module)
                found |= {f"{module}.{a.name}" for a in names if is_special(module, a.name)}
            case ast.Attribute(value=ast.Name(module), attr=name) if is_special(module, name):
                found.add(module if is_special_module(module) else f"{module}.{name}")
            case ast.Call(
                func=ast.Name("getattr" | "hasattr"),
                args=[ast.Name(module), ast.Constant(str(name)), *_],
            ) if is_special(module, name):
                found.add(f"{module}.{name}")
            case ast.keyword(arg=str(name)) if name in ARGUMENTS:
                found.add(name)
            case ast.Constant(str(text)) if _FOLDERS.match(text):
                found.add(_FOLDERS.match(text)[0])  # type: ignore[index]
    return found


def named_on_the_page() -> dict[str, set[str]]:
    """Return what the table of the page says that each module uses."""
    found: dict[str, set[str]] = {}
    part = PAGE.split("## Places in the code")[1].split("\n## ")[0]
    for line in part.splitlines():
        if line.startswith("| `"):
            modules, names = (re.findall("`([^`]+)`", cell) for cell in line.split(" | ")[:2])
            for module in modules:
                found.setdefault(module, set()).update(names)
    return found


def used() -> dict[str, set[str]]:
    """Return what each module of the product uses that depends on the system."""
    found = {
        path.relative_to(PACKAGE).with_suffix("").as_posix(): specials(path.read_text("utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }
    return {module: names for module, names in found.items() if names}


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("import fcntl", "fcntl"),
        ("from pwd import getpwuid", "pwd"),
        ("import resource as r", "resource"),
        ("import os\nos.fork()", "os.fork"),
        ("import os\nos.setpriority(0, 0, 1)", "os.setpriority"),
        ("import os\nos.sched_getaffinity(0)", "os.sched_getaffinity"),  # macOS has none either
        ("from os import getuid", "os.getuid"),
        ("import signal\nsignal.SIGHUP", "signal.SIGHUP"),
        ("import socket\nhasattr(socket, 'AF_UNIX')", "socket.AF_UNIX"),
        ("import os\ngetattr(os, 'O_NOFOLLOW', 0)", "os.O_NOFOLLOW"),
        ("import subprocess\nsubprocess.run([], start_new_session=True)", "start_new_session"),
        ("import sys\nsys.platform == 'win32'", "sys.platform"),
        ("open('/proc/self/status')", "/proc"),
    ],
)
def test_what_depends_on_the_system_is_recognised(code: str, name: str) -> None:
    assert name in specials(code)


def test_what_is_the_same_everywhere_is_not_recognised() -> None:
    assert specials("import os, socket, signal\nos.replace(a, b); socket.AF_INET") == set()
    assert specials("path = '/procedures'\nimport json, pathlib, threading, subprocess") == set()


def test_the_page_names_each_place_that_depends_on_the_system() -> None:
    page, code = named_on_the_page(), used()
    assert set(code) - set(page) == set(), "name these modules in docs/platforms.md"
    assert set(page) - set(code) == set(), "these modules do not depend on the system"
    rows = [set(names) for names in page.values()]
    for module, names in code.items():
        assert names <= page[module], f"docs/platforms.md does not name all of {module}"
    stated = {name for row in rows for name in row}
    assert stated == {name for names in code.values() for name in names}


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_has_the_schema_of_its_format(file: Path) -> None:
    schema = ("--builtin-schema", "vendor.github-workflows")
    for command in (["check-jsonschema", *schema, str(file)], ["yamllint", "-d", YAML, str(file)]):
        program, *arguments = command
        done = subprocess.run(
            [str(BIN / program), *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_and_the_workflow_say_that_it_has_not_been_run() -> None:
    (workflow,) = (file for file in WORKFLOWS if file.name == "platforms.yml")
    text = workflow.read_text("utf-8")
    assert "has never been run" in text
    assert all(f"{system}-" in text for system in ("macos", "windows"))
    assert "It has been run on Linux only." in PAGE
