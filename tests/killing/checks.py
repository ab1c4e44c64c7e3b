"""What must hold after processes were killed."""

import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

import kept_plans
from code_intel.config import IndexConfig
from code_intel.errors import CodeIntelError
from code_intel.index.facade import Index
from code_intel.index.store import Store
from code_intel.learned.files import agreements
from code_intel.learned.files.changes import sync
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import learn
from code_intel.operations.doctor import examine_project
from code_intel.planning import keeping, knowledge, place
from code_intel.records import Agreement
from code_intel.session import journal
from code_intel.session.phases import Intent
from code_intel.tools.context.client_sessions import write_binding
from code_intel.tools.context.gateway import sessions_of
from killing.scene import ABSENT, CONFIRMED, MARK, THERE, Scene, State, Thing
from programs import git

OLD = 7200
"""Seconds by which temporary files are made older, so that the next writer removes them."""
CONTENT = (
    "SELECT path, digest, language, lines, problem FROM documents",
    "SELECT path, position, text, card_digest FROM chunks JOIN documents d ON d.id = document_id",
    "SELECT path, qualified, body, s.digest FROM symbols s JOIN documents d ON d.id = document_id",
    "SELECT path, position, target FROM imports JOIN documents d ON d.id = document_id",
    "SELECT term, doc, cnt FROM word_terms",
)


def faults(scene: Scene, observed: Path) -> Iterator[str]:
    """Yield what is wrong, and write the states of all things to a file; runs in a child."""
    os.environ.update(scene.env)
    settings = scene.settings
    yield from locks(scene)
    yield from _unharmed_git(scene)
    make_leftovers_old(scene.place)
    yield from _databases(scene)
    states = _states(scene)
    yield from _broken_promises(scene, states)
    try:
        now = agreements.look(settings.agreements)
        if bad := [entry.path.name for entry in now.entries if entry.agreement is None]:
            yield f"agreements cannot be read: {bad}"
        learn(settings, Agreement("check", "shipping_fee", ("it",)), confirmed=False)
        for config in (settings.map, settings.forest):
            yield from _index(config, scene.place / "fresh")
        plan_root = place.root_of(settings)
        keeping.save(plan_root, kept_plans.plan())
        knowledge.write(plan_root, kept_plans.plan())
        _, handle = journal.create(sessions_of(settings), Intent.MODIFY, "check")
        write_binding(settings, "check", handle)
        if sync(settings, datetime.now(UTC)).steps and sync(settings, datetime.now(UTC)).steps:
            yield "pairs are not settled"
    except CodeIntelError as error:
        yield f"the next start fails: {error.message}"
        return
    yield from _doctor(scene)
    left = [*scene.place.rglob("*.tmp"), *scene.place.rglob("*.part")]
    if left:
        yield f"files were left: {[str(path.relative_to(scene.place)) for path in left]}"
    aside = [*scene.place.rglob("*-bak*"), *scene.place.rglob("*corrupt-*")]
    if aside:
        yield f"databases were set aside: {[path.name for path in aside]}"
    rows = [[*thing, state] for thing, state in states.items()]
    observed.write_text(json.dumps(rows), encoding="utf-8")


def make_leftovers_old(folder: Path) -> None:
    """Give the temporary files of killed processes an age at which the next writer removes them."""
    for file in (*folder.rglob("*.tmp"), *folder.rglob("*.part")):
        os.utime(file, (time.time() - OLD,) * 2)


def processes(mark: str) -> list[str]:
    """Return the processes that run with a mark in their environment."""
    found = []
    wanted = f"{MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                state = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if state[0] != "Z":
                    found.append(f"{folder.name} {words}")
        except OSError:
            continue
    return found


def locks(scene: Scene) -> Iterator[str]:
    """Yield the locks that are held."""
    for path in scene.place.rglob("*.lock"):
        if ".git" in path.parts:
            yield f"git was left locked: {path}"
            continue
        handle = os.open(path, os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield f"{path.name} is held"
        finally:
            os.close(handle)


def sockets(folder: Path) -> list[str]:
    """Return the sockets below a folder."""
    return [path.name for path in folder.rglob("*") if stat.S_ISSOCK(path.lstat().st_mode)]


def _unharmed_git(scene: Scene) -> Iterator[str]:
    if git(scene.root, "rev-parse", "HEAD") != scene.head:
        yield "HEAD has moved"
    lines = git(scene.root, "status", "--porcelain").splitlines()
    if changed := [line for line in lines if not line.startswith("??")]:
        yield f"tracked files changed: {changed}"
    if problems := git(scene.root, "fsck", "--no-dangling", "--no-progress"):
        yield f"git fsck: {problems}"


def _databases(scene: Scene) -> Iterator[str]:
    for config in (scene.settings.map, scene.settings.forest):
        try:
            with Store.open(config.db_path, dimensions=config.dimensions) as store:
                yield from (f"{config.db_path.name}: {what}" for what in store.check())
        except CodeIntelError as error:
            yield f"{config.db_path.name} cannot be opened: {error.message}"


def _broken_promises(scene: Scene, states: dict[Thing, State]) -> Iterator[str]:
    """Yield what was acknowledged and is not there, or there in part."""
    for thing, allowed in scene.allowed.items():
        state = states.get(thing, None if thing[0] == "choice" else ABSENT)
        if state not in allowed:
            yield f"{thing} is {state}, not {allowed}"
    for old, new in scene.swapped:
        both = [states.get(("agreement", term), ABSENT) for term in (old, new)]
        if both.count(ABSENT) != 1:
            yield f"of {old} and {new} not one is there: {both}"


def _states(scene: Scene) -> dict[Thing, State]:
    settings = scene.settings
    with open_state(settings.state, create=False) as state:
        digests = state.confirmed()
    states: dict[Thing, State] = {
        ("agreement", key[0]): CONFIRMED if entry.digest in digests else THERE
        for key, entry in agreements.look(settings.agreements).by_key.items()
    }
    with Store.open(settings.forest.db_path, dimensions=settings.forest.dimensions) as store:
        states |= {("choice", path): wanted for path, wanted in store.choices().items()}
    for file in journal.journal_files(sessions_of(settings)):
        states["session", file.name] = THERE
    return states


def _index(config: IndexConfig, place: Path) -> Iterator[str]:
    """Complete an index, and compare it with one that is built in an empty file."""
    place.mkdir(exist_ok=True)
    for file in place.iterdir():
        file.unlink()
    fresh = replace(config, db_path=place / config.db_path.name)
    with Index(config) as index:
        index.complete(words_only=True)
        choices = index.store.choices()
    with Index(fresh) as index:
        for path, wanted in choices.items():
            index.store.choose(path, wanted)
        index.complete(words_only=True)
    for sql in CONTENT:
        old, new = (_rows(each.db_path, sql) for each in (config, fresh))
        if old != new:
            more, fewer = [r for r in old if r not in new], [r for r in new if r not in old]
            yield (
                f"{config.corpus}: {sql.partition(' FROM ')[2][:20]} differs from a fresh index: "
                f"{len(more)} more, {len(fewer)} fewer: {(more + fewer)[:1]!r:.300}"
            )


def _rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE)) as database:
        return sorted(database.execute(sql), key=repr)


def _doctor(scene: Scene) -> Iterator[str]:
    """Yield the findings of `doctor` without a model."""
    for row in examine_project(scene.settings).data["findings"]:
        is_expected = row["area"] == "embedding" or "without a vector" in row["what"]
        if row["level"] != "info" and not is_expected:
            yield f"doctor: {row['area']}: {row['what']}"
