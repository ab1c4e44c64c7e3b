"""A real repository that is edited, and what its files contained at which time.

An answer is right if what it shows was in the file at some moment between the question and the
answer. So each version of a file has the time at which it may first, and may last, have been read.
"""

import ast
import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import contains
from pathlib import Path
from time import monotonic
from typing import Literal, NamedTuple

WHO = ("-c", "user.name=Day", "-c", "user.email=day@example.invalid", "-c", "gc.auto=0")
BRANCHES = ("main", "feature")
CHANGED_BY_BRANCH = 40
"""Files that differ between the branches."""
MARK = re.compile(r"^# day \w+\n", re.MULTILINE)
Agreement = Literal["now", "before", "never"]
"""What an answer shows is in the file, was there earlier, or never was."""


@dataclass
class Version:
    """The lines of a file (None: there was no file), and when they may have been read."""

    lines: list[str] | None
    begins: float
    ends: float = float("inf")


class Function(NamedTuple):
    """A function of a Python file, and where a statement can be put before its last one."""

    file: str
    name: str
    first: int
    last: int
    before: int
    indent: int


@dataclass
class Tree:
    """The files of a repository that git knows. Only this object changes them."""

    root: Path
    random: random.Random
    versions: dict[str, list[Version]] = field(default_factory=dict)
    reserved: set[str] = field(default_factory=set)
    branch: str = BRANCHES[0]
    edits: int = 0
    switches: int = 0
    moving: bool = False
    """Whether git is writing files whose new lines are not known yet."""

    def __post_init__(self) -> None:
        for file in self._git("ls-files").splitlines():
            self.versions[file] = [Version(self._on_disk(file), 0.0)]

    def python_files(self) -> list[str]:
        """Return the Python files that are on disk and that no session is about to change."""
        return [
            file
            for file, versions in self.versions.items()
            if file.endswith(".py") and versions[-1].lines and file not in self.reserved
        ]

    def functions(self, file: str) -> Iterator[Function]:
        """Yield functions of moderate length whose name occurs once in the file."""
        lines = self.versions[file][-1].lines or []
        try:
            module = ast.parse("\n".join(lines))
        except (SyntaxError, ValueError):
            return
        found = []
        owners = [("", module.body)]
        owners += [(f"{n.name}.", n.body) for n in module.body if isinstance(n, ast.ClassDef)]
        for prefix, body in owners:
            for node in body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    end = node.body[-1]
                    if 4 <= (node.end_lineno or 0) - node.lineno <= 30 and not node.decorator_list:
                        place = (node.lineno, node.end_lineno or 0, end.lineno, end.col_offset)
                        found.append(Function(file, prefix + node.name, *place))
        names = [each.name for each in found]
        yield from (each for each in found if names.count(each.name) == 1)

    def edit(self) -> str:
        """Put a line with a new word into a file, or another one in its place; return the word."""
        file = self.random.choice(self.python_files())
        word = f"dayword{self.edits:06d}"
        text = MARK.sub("", self.text(file))
        lines = text.splitlines(keepends=True)
        lines.insert(self.random.choice((0, len(lines))), f"# day {word}\n")
        self.write(file, "".join(lines))
        return word

    def text(self, file: str) -> str:
        """Return the text of a file."""
        return (self.root / file).read_bytes().decode()

    def write(self, file: str, text: str) -> None:
        """Save a file in place, or as editors do: write another one, and rename it."""
        self.edits += 1
        path, begins = self.root / file, monotonic()
        if self.random.random() < 0.5:
            path.write_bytes(text.encode())
        else:
            other = path.with_name(f".{path.name}.swp")
            other.write_bytes(text.encode())
            Path(other).replace(path)
        self._changed(file, begins)

    def delete(self) -> tuple[str, str]:
        """Delete a file; return its name and its text."""
        file = self.random.choice(self.python_files())
        text, begins = self.text(file), monotonic()
        self.reserved.add(file)
        (self.root / file).unlink()
        self._changed(file, begins)
        return file, text

    def restore(self, file: str, text: str) -> None:
        """Put a deleted file back."""
        self.write(file, text)
        self.reserved.discard(file)

    def commit(self, message: str) -> None:
        """Commit what is on disk."""
        self._git("add", "-A", "--", *[f for f, v in self.versions.items() if v[-1].lines])
        self._git("commit", "-qm", message, "--allow-empty", "--no-verify")

    def make_branches(self) -> None:
        """Create the second branch, on which some files have a function more."""
        self._git("checkout", "-qb", BRANCHES[1])
        files = self.python_files()
        for file in self.random.sample(files, min(CHANGED_BY_BRANCH, len(files) // 2)):
            stem = re.sub(r"\W", "_", file)
            self.write(
                file, f"{self.text(file)}\n\ndef of_feature_{stem}():\n    return {stem!r}\n"
            )
        self.commit("Work on the feature")
        self.branch = BRANCHES[1]

    def switch(self) -> None:
        """Commit, and go to the other branch."""
        self.commit("Save")
        self.branch = BRANCHES[self.branch == BRANCHES[0]]
        names = self._git("diff", "--name-only", "HEAD", self.branch).splitlines()
        self.moving, begins = True, monotonic()
        self._git("checkout", "-q", self.branch)
        for file in names:
            self._changed(file, begins)
        self.switches += 1
        self.moving = False

    def shows(self, file: str, first: int, lines: Sequence[str], since: float) -> Agreement:
        """Return when a file had these lines at this place: the last one may be cut."""
        held = [v for v in self.versions.get(file, ()) if _has(v.lines, first, lines)]
        if any(version.ends >= since for version in held):
            return "now"
        return "before" if held else "never"

    def age(self, file: str, since: float) -> float:
        """Return for how long the newest version of a file had been on disk at a time."""
        return min(since - v.begins for v in self.versions.get(file, ()) if v.begins < since)

    def _changed(self, file: str, begins: float) -> None:
        lines, ends = self._on_disk(file), monotonic()
        versions = self.versions.setdefault(file, [])
        for version in versions[-1:]:
            version.ends = min(version.ends, ends)
        versions.append(Version(lines, begins))
        del versions[:-50]

    def _on_disk(self, file: str) -> list[str] | None:
        try:
            return (self.root / file).read_bytes().decode("utf-8", "replace").split("\n")
        except OSError:
            return None

    def _git(self, *words: str) -> str:
        return git(self.root, *words)


def _has(lines: list[str] | None, first: int, shown: Sequence[str]) -> bool:
    if lines is None or first < 1:
        return False
    there = [line.rstrip("\r") for line in lines[first - 1 : first - 1 + len(shown)]]
    if there == list(shown):
        return True
    # Long lines are divided, or cut to the budget; so is the last one.
    parts = [line.removesuffix("…").rstrip() for line in shown]
    return len(there) == len(parts) and all(map(contains, there, parts))


def git(root: Path, *words: str) -> str:
    """Run git; return its output."""
    ran = subprocess.run(
        ["git", "-C", str(root), *WHO, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if ran.returncode:
        raise RuntimeError(f"git {' '.join(words)[:200]}: {ran.stderr}")
    return ran.stdout


def symbol_words(name: str) -> str:
    """Return the words of a symbol's name, as a person would say them."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)
    return " ".join(part.lower() for part in parts)
