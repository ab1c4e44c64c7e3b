"""The lock files in `requirements/` fit pyproject.toml, and name no index and no machine."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
PIN = re.compile(r"([a-z0-9-]+)==(\S+)(?: ; .+)? \\")
DIGEST = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WITH_MCP = {"httpx2", "jwt", "mcp_types", "opentelemetry"}
"""Packages that the product imports and that mcp brings in the version that it needs."""
WITH_PYMILVUS = {"dotenv", "grpc"}
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def pins(name: str) -> dict[str, set[str]]:
    """Return the versions of each package in a lock file; a package may have one per Python."""
    found: dict[str, set[str]] = {}
    for line in (ROOT / "requirements" / f"{name}.txt").read_text("utf-8").splitlines():
        if match := PIN.fullmatch(line):
            found.setdefault(match[1], set()).add(match[2])
    return found


WANTED = [
    *(("default", text) for text in PROJECT["dependencies"]),
    *((extra, text) for extra in sorted(EXTRAS) for text in EXTRAS[extra]),
]
"""Each requirement of pyproject.toml with the lock file that has it."""


@pytest.mark.parametrize(("name", "text"), WANTED)
def test_the_lock_has_every_dependency(name: str, text: str) -> None:
    requirement = Requirement(text)
    have = pins("default") | pins(name)
    versions = have.get(canonicalize_name(requirement.name), set())
    assert versions, f"{requirement.name} is not in requirements/{name}.txt. Run .ci/lock."
    assert all(version in requirement.specifier for version in versions), (
        f"requirements/ has {requirement.name} {versions}, pyproject.toml wants {text}. "
        "Run .ci/lock."
    )


def test_the_lock_has_a_file_for_every_extra() -> None:
    assert [lock.stem for lock in LOCKS] == sorted(["build", "default", *EXTRAS])


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_has_pins_with_digests_only(lock: Path) -> None:
    lines = lock.read_text("utf-8").splitlines()
    assert [line for line in lines if not PIN.fullmatch(line) and not DIGEST.fullmatch(line)] == []
    for number, line in enumerate(lines):
        if PIN.fullmatch(line):
            assert DIGEST.fullmatch(lines[number + 1]), line


def imported_packages() -> Iterator[tuple[str, str]]:
    """Yield each package that a module of the product imports, with the module's path."""
    for path in sorted((ROOT / "code_intel").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                yield from ((alias.name.split(".")[0], path.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module.split(".")[0], path.name


def test_the_product_imports_only_its_dependencies() -> None:
    texts = [*PROJECT["dependencies"], *EXTRAS["sentence-transformers"], *EXTRAS["shared"]]
    declared = {canonicalize_name(Requirement(text).name) for text in texts}
    of_module = packages_distributions()
    foreign = {
        (name, path)
        for name, path in imported_packages()
        if name not in sys.stdlib_module_names
        and name not in {"code_intel", *WITH_MCP, *WITH_PYMILVUS}
        if not declared & {canonicalize_name(one) for one in of_module.get(name, [name])}
    }
    assert foreign == set()
