"""A small project on which servers and commands are killed, and what must be there afterwards."""

import os
import secrets
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from code_intel.config import Settings, load_settings
from command_projects import SEVEN, stocked
from faulty_disk import tree
from programs import TESTS, git
from served import make_shop

MARK = "CODE_INTEL_KILLS"
"""Marks the processes of a scene in their environments, and those that they start."""
SYMBOLS = ("AuthService.login", "shipping_fee")
GROWN = 12
State = str | int | bool | None
Thing = tuple[str, str]
"""A kind and a name: an agreement by its term, a choice by its path, a session, a plan."""
ABSENT, THERE, CONFIRMED = "absent", "there", "confirmed"


@dataclass
class Scene:
    """A project, the environment of its processes, and the states that each thing may have.

    Attributes:
        place: The folder of everything.
        model: Whether the processes embed with the model.
        allowed: What was acknowledged, and for calls that were cut off both what was and what would
            be. `swapped` has pairs of terms of which exactly one is there.
        busy: Terms that a call of the current round changes.
    """

    place: Path
    model: bool
    mark: str = field(default_factory=lambda: secrets.token_hex(8))
    allowed: dict[Thing, set[State]] = field(default_factory=dict)
    swapped: list[tuple[str, str]] = field(default_factory=list)
    busy: set[str] = field(default_factory=set)
    folders: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the project, with vectors, a registry of commands and sources that change."""
        before = dict(os.environ)
        os.environ.update(self.env)
        try:
            make_shop(self.root)
            stocked(self.root, *(each for each in SEVEN if each["c2"] == "group-commit"))
        finally:
            os.environ.clear()
            os.environ.update(before)
        git(self.root, "add", "-A")
        git(self.root, "commit", "-qm", "Commands")
        self.head = git(self.root, "rev-parse", "HEAD")
        for number in range(GROWN):
            self.write_source(number, 0)
        self.run("sync")

    @property
    def root(self) -> Path:
        """The project."""
        return self.place / "shop" / "p"

    @property
    def env(self) -> dict[str, str]:
        """The environment of its processes."""
        return {
            **os.environ,
            MARK: self.mark,
            "PYTHONPATH": str(TESTS.parent),
            "CODE_INTEL_STATE_DIR": str(self.place / "state"),
            "CODE_INTEL_CACHE_DIR": str(self.place / "cache"),
            "CODE_INTEL_EMBEDDING": "auto" if self.model else "off",
        }

    @property
    def settings(self) -> Settings:
        """The settings, without a model."""
        return load_settings(self.root, {**self.env, "CODE_INTEL_EMBEDDING": "off"})

    def run(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        """Run a command that is not killed."""
        return subprocess.run(
            [sys.executable, "-m", "code_intel", *words],
            cwd=self.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )

    def write_source(self, number: int, turn: int) -> None:
        """Write a file of functions that differ in every turn."""
        body = "".join(
            f"def task_{number}_{part}(order, price):\n    '''Move order {part} in {turn}.'''\n"
            f"    return order.total(price, {turn * 10 + part})\n\n\n"
            for part in range(8)
        )
        path = self.root / "src" / f"grown_{number}.py"
        path.write_text(body, encoding="utf-8")

    def expect(self, states: Mapping[Thing, State], *, sure: bool) -> None:
        """Note what a call may have changed or, if it was acknowledged, what it has changed."""
        for thing, state in states.items():
            if sure:
                self.allowed[thing] = {state}
            else:
                self.allowed.setdefault(thing, {None if thing[0] == "choice" else ABSENT}).add(
                    state
                )

    def terms(self) -> list[str]:
        """Return the terms that are surely there, and that no call of this round changes."""
        return sorted(
            name
            for (kind, name), states in self.allowed.items()
            if kind == "agreement" and ABSENT not in states and name not in self.busy
        )


def clean_tree(root: Path) -> dict[str, bytes]:
    """Return a migrated project's files, without the folder of copies."""
    return {name: data for name, data in tree(root).items() if "/backup/" not in name}
