"""A person's machine with a clone: real git, and the product's own functions for the work there."""

import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from code_intel.cli.setup.init import apply, setup
from code_intel.config import Settings, load_settings
from code_intel.index.facade import Index
from code_intel.learned.files import agreements, pairs
from code_intel.learned.files.agreements import Key, make_key
from code_intel.learned.files.changes import sync
from code_intel.learned.files.rename import rename
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import confirm, learn, reconfirm
from code_intel.learned.recall import map_search
from code_intel.learned.status.agreement_status import standings
from code_intel.records import Agreement, FileReference

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LOGIN = make_key("ログイン機能", "AuthService.login")
SEARCH = make_key("検索結果の一覧", "list_results")
EXPORT = make_key("ユーザーの書き出し", "export_users")
FOLDER = ".code-intel/agreements"
WHO = (
    *("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"),
    *("-c", "protocol.file.allow=always", "-c", "advice.detachedHead=false", "-c", "gc.auto=0"),
)


class Said(NamedTuple):
    """What the map says under one key."""

    status: str
    evidence: frozenset[str]
    aliases: frozenset[str]


class Conflict(Exception):  # noqa: N818 - what git ends with, and no error of the test
    """Git stopped and asks people."""


def git(folder: Path, *words: str, **environ: str) -> str:
    """Return git's output, without any configuration of the machine.

    Raise `Conflict` if it fails.
    """
    known = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(folder)}
    known |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_EDITOR": "true", "LC_ALL": "C.UTF-8", **environ}
    done = subprocess.run(
        ["git", "-C", str(folder), *WHO, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=known,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise Conflict(done.stdout + done.stderr)
    return done.stdout.strip()


@dataclass(frozen=True)
class Machine:
    """One work tree.

    Attributes:
        root: Its folder, where the project is.
        given: Settings beside those of the project.
    """

    root: Path
    given: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    @cached_property
    def settings(self) -> Settings:
        return replace(load_settings(self.root, {}), **self.given)  # type: ignore[arg-type]

    @property
    def folder(self) -> Path:
        return self.settings.agreements

    @property
    def trash(self) -> list[str]:
        """Kinds of what lies in the trash."""
        return sorted(path.suffix for path in (self.settings.state / "trash").glob("*"))

    def git(self, *words: str, at: Path | None = None, **environ: str) -> str:
        return git(at or self.root, *words, **environ)

    def conflicts(self, *words: str) -> set[str]:
        """Return the files of agreements with conflicts that people must resolve; empty if there
        are none.
        """
        with suppress(Conflict):
            self.git(*words)
        listed = self.git("-c", "core.quotePath=false", "ls-files", "-u", "--", FOLDER)
        return {Path(line.partition("\t")[2]).name for line in listed.splitlines()}

    def commit(self, message: str = "agreed") -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def branch(self, name: str, start: str = "main") -> None:
        self.git("checkout", "-q", "-b", name, start)

    def to(self, name: str) -> None:
        self.git("checkout", "-q", name)

    def learn(self, key: Key, evidence: str, *, hours: int = 0, confirmed: bool = True) -> Path:
        """Let a session succeed."""
        at = NOW + timedelta(hours=hours)
        told = Agreement(
            *key, (evidence,), (FileReference("src/app.py", 3),), session_id=f"s{hours}"
        )
        return learn(self.settings, told, confirmed=confirmed, now=at).agreement_file

    def alias(self, key: Key, words: str, *, hours: int = 0) -> None:
        """Let a session that asked in other words succeed."""
        at, ignored = NOW + timedelta(hours=hours), ("seen",)
        given = {"alias": words, "session_id": f"s{hours}", "evidence": ignored, "files": ()}
        reconfirm(self.settings, key, digest="", now=at, **given)  # type: ignore[arg-type]

    def confirm(self, key: Key) -> None:
        confirm(self.settings, key, now=NOW)

    def rename(self, key: Key, **to: str) -> Key:
        return rename(self.settings, key, now=NOW, **to).key  # type: ignore[arg-type]

    def file(self, key: Key) -> Path:
        """Return the file of an agreement."""
        return agreements.existing(agreements.look(self.folder), key)[0].path

    def edit(self, key: Key, before: str, after: str) -> None:
        """Edit a file as people do, in their editor."""
        path = self.file(key)
        text = path.read_bytes().decode()
        assert before in text
        path.write_bytes(text.replace(before, after).encode())

    def said(self) -> dict[Key, Said]:
        """Return what `list_agreements` shows of what can be read."""
        with Index(self.settings.forest, readonly=True) as forest:
            found = standings(self.settings, forest)
        return {
            agreements.key_of(told): Said(
                each.validity, frozenset(told.evidence), frozenset(told.aliases)
            )
            for each in found
            if (told := each.entry.agreement)
        }

    def status(self, key: Key) -> str:
        found = self.said().get(key)
        return found.status if found else "gone"

    def listed(self) -> dict[str, str]:
        """Return file and status of everything that is listed."""
        with Index(self.settings.forest, readonly=True) as forest:
            found = standings(self.settings, forest)
        return {each.entry.path.name: each.validity for each in found}

    def served(self, query: str, *, sync: bool = True) -> list[str]:
        """Return the texts that a search of the map returns by words alone, with or without a new
        index.
        """
        with (
            Index(self.settings.map) as index,
            Index(self.settings.forest, readonly=True) as forest,
        ):
            if sync:
                index.complete(words_only=True)
            found = map_search.search(self.settings, index, forest, query, None, "", top_k=50)
        return [hit.chunk for hit in found.hits]

    def pairs(self) -> dict[Key, str]:
        """Return what learned_pairs.json says of each key once it is generated."""
        sync(self.settings, NOW)
        file = pairs.load(pairs.path_of(self.settings))
        return {pair.key: pair.code_evidence for pair in file.pairs}

    def confirmed_here(self) -> int:
        """Return how many contents this machine remembers as confirmed."""
        with open_state(self.settings.state, create=False) as state:
            return len(state.confirmed())

    def is_clean(self) -> bool:
        """Whether git sees nothing that is not committed; asked after the map was read."""
        self.said()
        self.pairs()
        return not self.git("status", "--porcelain", "--untracked-files=all")

    def is_settled(self) -> bool:
        """Whether each agreement has its pair, and generating them again changes nothing."""
        keys = {entry.key for entry in agreements.load_all(self.folder) if entry.key}
        return self.pairs().keys() == keys and not sync(self.settings, NOW).steps


def made(root: Path, *learned: Key, **given: object) -> Machine:
    """Make a project in git, set up, with agreements merged on `main`."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "--template=", "-b", "main")
    (root / "src").mkdir()
    (root / "src" / "app.py").write_text("def login(): ...\n", encoding="utf-8")
    apply(setup(root))
    machine = Machine(root, given)
    for key in learned:
        machine.learn(key, f"first of {key[1]}")
    machine.commit("begun")
    return machine


def cloned(machine: Machine, root: Path, *options: str, **given: object) -> Machine:
    """Clone a machine's repository, as another person does."""
    git(root.parent, "clone", "-q", *options, f"file://{machine.root}", str(root))
    return Machine(root, given)
