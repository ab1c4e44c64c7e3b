"""One place writes: whatever changes a file of a project goes through `code_intel/durable.py` (decision 0038)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "code_intel"

OF_OS = {
    "open", "write", "pwrite", "writev", "fsync", "fdatasync", "truncate", "ftruncate", "replace", "rename",
    "renames", "link", "symlink", "unlink", "remove", "removedirs", "rmdir", "mkdir", "makedirs", "mkfifo",
    "mknod", "chmod", "fchmod", "chown", "sendfile", "copy_file_range",
}  # fmt: skip
"""Functions of `os` that change a disk, or open a file so that it can be changed."""
OF_PATHS = {
    "write_text", "write_bytes", "unlink", "rmdir", "mkdir", "touch", "chmod", "rename", "symlink_to",
    "hardlink_to", "copy_into", "move_into",
}  # fmt: skip
"""Methods that only paths have; `replace` is told from that of texts and times by its arguments."""
OF_LIBRARIES = {"shutil", "tempfile", "fileinput", "mmap", "dbm", "shelve", "zipfile", "tarfile"}
HARMLESS = {("shutil", "which"), ("shutil", "get_terminal_size")}
LOCKS_AND_DATABASES = {"FileLock", "Connection", "connect"}

ALLOWED = {
    ("durable.py", "*"): "the one place",
    ("session/files.py", "os.open"): "opens journals that are there; `durable.extend` writes",
    ("servers/http_tokens.py", "os.open"): "reads a file of tokens",
    ("index/reading.py", "os.open"): "reads, folder by folder",
    ("config/reading.py", "os.open"): "reads, and never waits",
    ("servers/wire.py", "os.open"): "the null device, in place of standard streams",
    ("cli/main.py", "os.open"): "the null device, in place of standard output",
    ("servers/upstream_child.py", "os.write"): "a pipe to the program it guards",
    ("learned/journal.py", "rename"): "of the state store, no file",
    ("index/role.py", "FileLock"): "a lock that is held for as long as the process leads",
    ("planning/turns.py", "FileLock"): "a lock that is held for as long as a call works on a plan",
    (
        "servers/upstream_report.py",
        "FileLock",
    ): "a lock that is held for as long as the gateway runs",
    ("learned/state.py", "Connection"): "SQLite writes its own files",
    ("embedding/cache.py", "Connection"): "SQLite writes its own files",
    ("index/opening.py", "Connection"): "SQLite writes its own files",
    ("index/migration.py", "Connection"): "SQLite writes its own files",
}
"""Who else may, what, and why."""


def named(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def is_writing_mode(call: ast.Call, position: int) -> bool:
    """Whether `open` is asked for more than reading, or for what nobody can tell from the text."""
    given = [argument.value for argument in call.keywords if argument.arg == "mode"]
    given += call.args[position : position + 1]
    return any(
        not isinstance(mode, ast.Constant) or bool(set(str(mode.value)) & set("wax+"))
        for mode in given
    )


def of_name(what: ast.Name, call: ast.Call) -> bool:
    return what.id in LOCKS_AND_DATABASES or (what.id == "open" and is_writing_mode(call, 1))


def of_attribute(what: ast.Attribute, call: ast.Call) -> bool:
    owner = named(what.value)
    if owner in {"os", "durable"}:
        return owner == "os" and what.attr in OF_OS
    if owner in OF_LIBRARIES:
        return (owner, what.attr) not in HARMLESS
    if what.attr == "open":  # a path's, or a method of ours, which is given no text first
        return is_writing_mode(call, 0) and all(isinstance(a, ast.Constant) for a in call.args[:1])
    if what.attr == "replace":
        return len(call.args) == 1 and not call.keywords
    return what.attr in OF_PATHS | LOCKS_AND_DATABASES


def of_call(call: ast.Call) -> str | None:
    """Return what a call does to a disk, None for one that does nothing to it."""
    what = call.func
    if isinstance(what, ast.Name):
        return what.id if of_name(what, call) else None
    if isinstance(what, ast.Attribute) and of_attribute(what, call):
        of_module = named(what.value) in {"os", *OF_LIBRARIES}
        return f"{named(what.value)}.{what.attr}" if of_module else what.attr
    return None


def writers(text: str) -> Iterator[str]:
    """Return what in a module changes a disk; a function handed on, such as `os.replace`, counts too."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (found := of_call(node)):
            yield found
        elif isinstance(node, ast.Attribute) and named(node.value) == "os":
            if node.attr in OF_OS - {"open"}:
                yield f"os.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and node.module in {"os", *OF_LIBRARIES}:
            yield from (f"{node.module}.{one.name}" for one in node.names if one.name in OF_OS)


@pytest.mark.parametrize(
    "text",
    [
        "os.replace(a, b)", "move = os.rename", "open(p, 'w')", "open(p, mode='xb')", "open(p, mode)",
        "path.open('a')", "path.write_text('x')", "path.unlink(missing_ok=True)", "path.rename(other)",
        "path.replace(other)", "shutil.rmtree(p)", "tempfile.mkstemp()", "from os import unlink",
        "path.mkdir()", "os.open(p, os.O_RDONLY)", "apsw.Connection(p)", "FileLock(p)",
    ],
)  # fmt: skip
def test_whatever_writes_is_seen(text: str) -> None:
    assert list(writers(text))


@pytest.mark.parametrize(
    "text",
    [
        "open(p)", "path.open('rb')", "text.replace('a', 'b')", "dataclasses.replace(x, y=1)",
        "time.replace(tzinfo=UTC)", "durable.replace(path, data)", "durable.remove(path)",
        "shutil.which('git')", "os.stat(p)", "Store.open(path, dimensions=3)", "anyio.open_process(x)",
    ],
)  # fmt: skip
def test_whoever_reads_is_not(text: str) -> None:
    assert list(writers(text)) == []


def test_only_one_module_changes_files_and_every_exception_is_needed() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), what)
        for path in sorted(ROOT.glob("**/*.py"))
        for what in writers(path.read_text(encoding="utf-8"))
    }
    elsewhere = {(file, what) for file, what in found if file != "durable.py"}
    assert elsewhere - ALLOWED.keys() == set()
    assert ALLOWED.keys() - elsewhere == {("durable.py", "*")}
    assert len(found) - len(elsewhere) >= 10
