"""What ARCHITECTURE.md promises and no other tool checks."""

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "code_intel").glob("**/*.py"))
MAY_SPEAK_SQL = {
    "index/store.py",
    "index/schema.py",
    "index/database.py",
    "index/generations.py",
    "index/matrix.py",
    "index/opening.py",
    "embedding/cache.py",
    "learned/history/state.py",
    "learned/history/state_versions.py",
}


def relative(path: Path) -> str:
    return path.relative_to(ROOT / "code_intel").as_posix()


MAX_MODULES = 25


def test_a_folder_has_few_modules() -> None:
    counts = Counter(relative(module).rpartition("/")[0] for module in MODULES)
    assert {f: n for f, n in counts.items() if n > MAX_MODULES} == {}


def test_sql_is_spoken_in_the_named_modules_alone() -> None:
    sql = re.compile(
        r'"\s*(SELECT .* FROM|INSERT (OR \w+ )?INTO|UPDATE \w+ SET|DELETE FROM|CREATE \w+|PRAGMA) '
    )
    speakers = {relative(path) for path in MODULES if sql.search(path.read_text(encoding="utf-8"))}
    assert speakers <= MAY_SPEAK_SQL


def test_no_module_has_a_name_that_says_nothing() -> None:
    vague = re.compile(r"(^|/)(utils?|helpers?|managers?|common|misc)(\.py|/)")
    assert [relative(path) for path in MODULES if vague.search(relative(path))] == []


STARTERS = {"run", "Popen", "open_process", "run_process", "check_output", "check_call", "call"}
"""What starts a program, of `subprocess` and `anyio`."""
MAY_START = {"foundation/git.py", "foundation/processes.py"}


def test_programs_start_in_the_named_modules_and_read_nothing_that_a_client_says() -> None:
    starts: set[str] = set()
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and (node.func.value.id, node.func.attr) != ("anyio", "run")
                and node.func.value.id in {"subprocess", "anyio"}
                and node.func.attr in STARTERS
            ):
                starts.add(relative(module))
                given = {keyword.arg for keyword in node.keywords}
                assert "stdin" in given, f"{relative(module)}:{node.lineno}"
                assert "shell" not in given, f"{relative(module)}:{node.lineno}"
    assert starts == MAY_START


CHANGES = {
    "write_text",
    "write_bytes",
    "unlink",
    "rmdir",
    "mkdir",
    "touch",
    "chmod",
    "rename",
    "symlink_to",
    "hardlink_to",
}
"""Methods of paths that change a disk. Ruff's table of banned functions has those of modules."""
NO_FILES = {("index/lease.py", "touch")}
"""Methods of these names that belong to something else."""


def changes(call: ast.Call) -> bool:
    """Whether a call may change a file through a path."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="os" | "durable"))):
            return False
        case ast.Call(func=ast.Name(id="open"), args=[_, ast.Constant(value=mode), *_]):
            return bool(set(str(mode)) & set("wax+"))
        case ast.Call(func=ast.Attribute(attr="open"), args=[ast.Constant(value=mode), *_]):
            return bool(set(str(mode)) & set("wax+"))
        case ast.Call(func=ast.Attribute(attr="replace"), args=[_], keywords=[]):
            return True  # of a text it has two arguments, of a record it has names
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in CHANGES
        case _:
            return False


def test_files_are_changed_in_durable_alone() -> None:
    found = {
        (relative(module), ast.unparse(node.func).rpartition(".")[2])
        for module in MODULES
        if relative(module) != "foundation/durable.py"
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and changes(node)
    }
    assert found <= NO_FILES
