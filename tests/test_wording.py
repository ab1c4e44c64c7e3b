"""Numbers stand with their nouns as people say them: `1 file`, never `1 files` (`code_intel.text.counted`)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from code_intel.text import counted

ROOT = Path(__file__).resolve().parents[1] / "code_intel"
PLURAL = re.compile(r" (?:[a-z]+ed |more |other |secret |top |bad )?([a-z]+s)\b")
NOT_PLURAL = frozenset(
    [
        "as",
        "becomes",
        "contains",
        "does",
        "ends",
        "executes",
        "gives",
        "goes",
        "has",
        "is",
        "its",
        "knows",
        "leads",
        "makes",
        "means",
        "ms",
        "names",
        "needs",
        "says",
        "speaks",
        "stands",
        "starts",
        "stays",
        "takes",
        "this",
        "was",
        "works",
    ]
)
"""What may stand behind a name instead: a verb, mostly."""
NEVER_ONE = {
    "times times)": "of more than one",
    "depth files, through": "over more than one",
    "{least} results": "a share of what is wanted",
    "{} names were looked for": "there are more than that",
    "{:,} commands have": "of all",
    "{total:,} vectors of": "of all",
    "total vectors of": "of all",
    "numbers": "dimensions of a vector",
    "{} seconds; ": "a fixed deadline",
    "{:g} seconds; ": "a fixed deadline",
    "deadline seconds": "a fixed deadline",
    "{} characters are cut": "a fixed length",
}
"""Numbers and what follows them, and why that is not about one."""


def sentences(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield (line, what stands before the number's place, what stands behind it) of every text that is put together."""
    tree = ast.parse(path.read_text("utf-8"))
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for value, text in zip(node.values, node.values[1:], strict=False):
                if isinstance(value, ast.FormattedValue) and isinstance(text, ast.Constant):
                    yield node.lineno, ast.unparse(value.value), str(text.value)
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts
        ):
            for place in re.finditer(r"\{\w*(?::,)?\}", node.value):
                yield node.lineno, place.group(), node.value[place.end() :]


def mistakes(path: Path) -> list[str]:
    """Return every number that would say `1 files`; constants in capitals are more than one."""
    found = []
    for line, number, text in sentences(path):
        plural = PLURAL.match(text)
        if not plural or plural[1] in NOT_PLURAL or number.split(".")[-1].isupper():
            continue
        if "counted(" not in number and not any(
            known in f"{number} {text.lstrip()}" for known in NEVER_ONE
        ):
            found.append(f"{path.name}:{line}: {number}{text[:40]}")
    return found


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: path.name)
def test_a_number_before_its_plural_is_counted(path: Path) -> None:
    assert mistakes(path) == []


def test_the_rule_finds_what_it_forbids(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(
        'x = f"{len(a)} files gone"\ny = "{} more results"\nz = f"{n:,} bytes"\n', "utf-8"
    )
    assert len(mistakes(file)) == 3
    file.write_text(
        'x = f"{counted(len(a), \'file\')} gone"\ny = f"{name} is not here"\nz = f"{MOST} files"\n',
        "utf-8",
    )
    assert mistakes(file) == []


def test_numbers_are_said_with_their_nouns() -> None:
    assert [counted(n, "file") for n in (0, 1, 2, -1, 2000)] == [
        "0 files", "1 file", "2 files", "-1 file", "2,000 files",
    ]  # fmt: skip
    assert [counted(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]
