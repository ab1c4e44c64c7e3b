"""What ARCHITECTURE.md promises and no other tool checks."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted((ROOT / "code_intel").glob("**/*.py"))
MAY_SPEAK_SQL = {
    "index/store.py",
    "index/schema.py",
    "index/database.py",
    "index/generations.py",
    "index/neighbours.py",
    "index/migration.py",
    "index/opening.py",
    "embedding/cache.py",
    "learned/state.py",
    "learned/state_versions.py",
}


def relative(path: Path) -> str:
    return path.relative_to(ROOT / "code_intel").as_posix()


@pytest.mark.parametrize("module", MODULES, ids=relative)
def test_a_module_fits_in_one_reading(module: Path) -> None:
    assert len(module.read_text(encoding="utf-8").splitlines()) <= 350


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
MAY_START = {"git.py", "processes.py", "servers/upstream_child.py"}


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
