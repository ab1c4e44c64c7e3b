"""Rules of ARCHITECTURE.md that no other tool checks."""

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "code_intel").glob("**/*.py"))
SQL_MODULES = {
    "index/history/commits.py",
    "index/store.py",
    "index/schema.py",
    "index/database.py",
    "index/generations.py",
    "index/nearest/matrix.py",
    "index/opening.py",
    "embedding/cache.py",
    "learned/history/state.py",
    "learned/history/state_versions.py",
}


TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}


def relative(path: Path) -> str:
    return path.relative_to(ROOT / "code_intel").as_posix()


MAX_MODULES = 25


def test_a_folder_has_few_modules() -> None:
    counts = Counter(relative(module).rpartition("/")[0] for module in MODULES)
    assert {f: n for f, n in counts.items() if n > MAX_MODULES} == {}


def test_only_the_named_modules_contain_sql() -> None:
    sql = re.compile(
        r'"\s*(SELECT .* FROM|INSERT (OR \w+ )?INTO|UPDATE \w+ SET|DELETE FROM|CREATE \w+|PRAGMA) '
    )
    speakers = {relative(path) for path in MODULES if sql.search(path.read_text(encoding="utf-8"))}
    assert speakers <= SQL_MODULES


def test_only_the_named_modules_call_milvus() -> None:
    packages = {"pymilvus", "milvus_lite", "grpc", "dotenv"}
    callers = {
        relative(module)
        for module in MODULES
        for node in ast.walk(TREES[module])
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        if name.partition(".")[0] in packages
    }
    assert callers == {f"shared/milvus/{name}.py" for name in ("connection", "engine")}


def test_no_module_has_a_vague_name() -> None:
    vague = re.compile(r"(^|/)(utils?|helpers?|managers?|common|misc)(\.py|/)")
    assert [relative(path) for path in MODULES if vague.search(relative(path))] == []


STARTERS = {"run", "Popen", "open_process", "run_process", "check_output", "check_call", "call"}
"""Functions of `subprocess` and `anyio` that start a program."""
STARTING_MODULES = {
    "embedding/model_process.py",
    "foundation/git.py",
    "foundation/processes.py",
    "index/reading/readers.py",
}


def test_only_the_named_modules_start_programs_and_never_with_the_stdin_of_a_client() -> None:
    starts: set[str] = set()
    for module in MODULES:
        for node in ast.walk(TREES[module]):
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
    assert starts == STARTING_MODULES


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


def test_only_durable_changes_files() -> None:
    found = {
        (relative(module), ast.unparse(node.func).rpartition(".")[2])
        for module in MODULES
        if relative(module) != "foundation/durable.py"
        for node in ast.walk(TREES[module])
        if isinstance(node, ast.Call) and changes(node)
    }
    assert found <= NO_FILES
