"""Operations on a project that `benchmarks/fault_sweep.py` interrupts, and what must then hold.

After every fault: what was acknowledged before is there; what the operation acknowledged is there,
too; the database has no problem, and none was set aside; the next start completes the work, so that
the index equals one that was never interrupted; and `doctor` has only information.

A sync that is lost breaks the promise of the disk. After it, a database may be damaged. It must
then be set aside and built again, and agreements from before must still be there. A file that was
just written may be empty; the next call replaces it.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from code_intel.config import Settings, load_settings
from code_intel.embedding.cache import VectorCache
from code_intel.embedding.lazy import LazyEmbedder
from code_intel.errors import CodeIntelError, StorageError
from code_intel.index import schema
from code_intel.index.database import Database
from code_intel.index.doctor import examine
from code_intel.index.facade import Index
from code_intel.index.store import Store
from code_intel.learned.files import agreements
from code_intel.learned.files.changes import sync
from code_intel.learned.history.state import open_state
from code_intel.learned.learn import learn
from code_intel.records import Agreement, FileReference
from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.documents.operations import delete
from faulty_disk import TAKEN, leftovers
from index.samples import HashEmbedder
from learned.builders import NOW, agreements_of, pairs_of

SIZE = 384
FIRST, SECOND = HashEmbedder("hash-1", SIZE), HashEmbedder("hash-2", SIZE)
FEE = Agreement("送料計算", "shipping_fee", ("fee of a zone",), (FileReference("a0.py", 1),))
TAX = Agreement("消費税", "tax_rate", ("rate of a year",), aliases=("税率",))
NEW = Agreement("ログイン機能", "AuthService", ("login checks it",), intent="MODIFY")
FILES = 8
CHOSEN = {"kept.cfg": True, "a3.py": False}
"""What the user decided about single documents."""


class Work(NamedTuple):
    """An operation on the project in a folder.

    Attributes:
        run: What is interrupted.
        prepare: Changes the project before it.
        promises: Yields what is missing that was acknowledged: before (always), and by `run`, if
            the second argument is true.
        embedder: What computes the vectors in the end.
    """

    run: Callable[[Path], object]
    prepare: Callable[[Path], object] = lambda _: None
    promises: Callable[[Path, bool], Iterator[str]] = lambda _root, _taken: iter(())
    embedder: HashEmbedder = FIRST


def settings_of(root: Path) -> Settings:
    return load_settings(root, {})


def make_project(root: Path) -> None:
    """Make an indexed project with a confirmed agreement, an unconfirmed one and choices."""
    root.mkdir(parents=True)
    for number in range(FILES):
        write_source(root, number, "first")
    (root / "kept.cfg").write_text("[fees]\nzone = 3\n", encoding="utf-8")
    settings = settings_of(root)
    learn(settings, FEE, confirmed=True, now=NOW)
    learn(settings, TAX, confirmed=False, now=NOW)
    complete(root)
    with opened(root) as forest:
        for path, wanted in CHOSEN.items():
            forest.store.choose(path, wanted)
    complete(root)


def write_source(root: Path, number: int, word: str) -> None:
    body = f'"""Compute the {word} fee."""\n\n\n' + "".join(
        f"def {word}_fee_{number}_{part}(order):\n    return order.{word} * {part}\n\n\n"
        for part in range(6)
    )
    (root / f"a{number}.py").write_text(body, encoding="utf-8")


def opened(root: Path, embedder: HashEmbedder = FIRST) -> Index:
    cache = VectorCache(root.with_name("cache"))
    return Index(settings_of(root).forest, embedder=embedder, cache=cache)


def complete(root: Path, embedder: HashEmbedder = FIRST) -> None:
    """Do what the next start does: settle the map, and complete both indexes."""
    settings = settings_of(root)
    sync(settings, NOW)
    for config in (settings.map, settings.forest):
        cache = VectorCache(root.with_name("cache"))
        with closing(cache), Index(config, embedder=embedder, cache=cache) as index:
            index.complete()


# --- works


def learn_new(root: Path) -> None:
    settings = settings_of(root)
    learned = learn(settings, NEW, confirmed=True, now=NOW)
    with Index(settings.map, embedder=FIRST) as index:
        index.refresh(learned.agreement_file)


def edit(root: Path) -> None:
    for number in range(0, FILES, 2):
        write_source(root, number, "second")
    (root / "a1.py").unlink()
    write_source(root, FILES, "new")


def sync_forest(root: Path) -> None:
    with opened(root) as forest:
        forest.complete()


OPEN: list[Index] = []
"""Indexes that stay open, as in a server. Closing the last connection would flush everything."""


def delete_indexes(root: Path) -> None:
    for path in (*root.rglob("vectors-*.db*"), *root.with_name("cache").iterdir()):
        path.unlink()


def choose(root: Path) -> None:
    forest = opened(root)
    OPEN.append(forest)
    forest.refresh("extra.dat", named=True, force=True)


def unchoose(root: Path) -> None:
    settings, forest = settings_of(root), opened(root)
    OPEN.append(forest)
    service = CorpusService(settings, forest, forest, LazyEmbedder(settings))
    delete(service, "a2.py", remove_file=False)


def make_older(root: Path) -> None:
    """Give the forest's index the version before the current one."""
    with closing(apsw.Connection(str(settings_of(root).forest.db_path))) as database:
        database.execute("DROP TABLE vectors")
        database.pragma("user_version", schema.SCHEMA_VERSION - 1)


def make_older_state(root: Path) -> None:
    """Give the state store the first version."""
    with closing(apsw.Connection(str(settings_of(root).state / "state.db"))) as database:
        database.execute(
            "DROP TABLE experience; DROP TABLE generated;"
            "CREATE TABLE base (nl_term TEXT, symbol TEXT, pair TEXT NOT NULL,"
            " agreement TEXT NOT NULL, file TEXT NOT NULL, PRIMARY KEY (nl_term, symbol));"
            "CREATE TABLE pending (nl_term TEXT, symbol TEXT, text TEXT NOT NULL,"
            " confirmed INTEGER NOT NULL, PRIMARY KEY (nl_term, symbol))"
        )
        database.pragma("user_version", 1)


def migrate_state(root: Path) -> None:
    with open_state(settings_of(root).state) as state:
        state.confirmed()


def swap(root: Path) -> None:
    with opened(root, SECOND) as forest:
        forest.complete()


def delete_most(root: Path) -> None:
    for number in range(2, FILES):
        (root / f"a{number}.py").unlink()
    complete(root)
    complete(root)  # a doubtful deletion is done by the second scan


def vacuum(root: Path) -> None:
    with opened(root) as forest:
        forest.store.vacuum()


def confirmed(root: Path) -> set[str]:
    """Return the terms whose agreements are confirmed on this machine."""
    settings = settings_of(root)
    with open_state(settings.state, create=False) as state:
        digests = state.confirmed()
    entries = agreements.look(settings.agreements).by_key
    return {key[0] for key, entry in entries.items() if entry.digest in digests}


def choices(root: Path) -> dict[str, bool]:
    path = settings_of(root).forest.db_path
    if not path.exists():
        return {}
    with Store(Database(path, readonly=True)) as store:
        return store.choices()


def keeps_choices(root: Path, _taken: bool) -> Iterator[str]:  # noqa: FBT001
    if lost := CHOSEN.items() - choices(root).items():
        yield f"it lost the choices {lost}"


def adds_choice(path: str, *, wanted: bool) -> Callable[[Path, bool], Iterator[str]]:
    def promises(root: Path, taken: bool) -> Iterator[str]:  # noqa: FBT001
        yield from keeps_choices(root, taken)
        if taken and choices(root).get(path) is not wanted:
            yield f"it acknowledged the choice of {path}, and lost it"

    return promises


def learns(root: Path, taken: bool) -> Iterator[str]:  # noqa: FBT001
    yield from keeps_choices(root, taken)
    if taken and NEW.nl_term not in confirmed(root):
        yield "it acknowledged an agreement that is not there or not confirmed"


WORKS = {
    "learn": Work(learn_new, promises=learns),
    "sync": Work(sync_forest, edit, keeps_choices),
    "first sync": Work(sync_forest, delete_indexes),
    "add by name": Work(
        choose,
        lambda root: (root / "extra.dat").write_text("zone 7\n", "utf-8"),
        adds_choice("extra.dat", wanted=True),
    ),
    "delete by name": Work(unchoose, promises=adds_choice("a2.py", wanted=False)),
    "migrate the index": Work(sync_forest, make_older),
    "migrate the state": Work(migrate_state, make_older_state, keeps_choices),
    "swap generations": Work(swap, promises=keeps_choices, embedder=SECOND),
    "vacuum": Work(vacuum, delete_most, keeps_choices),
}


# --- what must hold


def content(root: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return what the indexes contain, without ids and times."""
    settings = settings_of(root)
    return {
        f"{config.corpus} {name}": _rows(config.db_path, sql)
        for config in (settings.map, settings.forest)
        for name, sql in CONTENT.items()
    }


CONTENT = {
    "documents": "SELECT path, digest, language, lines, problem FROM documents",
    "chunks": "SELECT d.path, c.position, c.text, c.card_digest, v.vector FROM chunks c JOIN"
    " documents d ON d.id = c.document_id LEFT JOIN vectors v ON v.chunk = c.id",
    "symbols": "SELECT d.path, s.qualified, s.start_line, s.digest FROM symbols s JOIN documents d"
    " ON d.id = s.document_id",
    "choices": "SELECT path, wanted FROM choices",
    "generations": "SELECT identity, dimensions, active FROM generations",
}


def _rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE)) as database:
        return sorted(database.execute(sql), key=repr)


def known(root: Path) -> dict[str, object]:
    """Return what the map knows."""
    settings = settings_of(root)
    pairs = {key: pair.code_evidence for key, pair in pairs_of(settings).items()}
    return {"agreements": agreements_of(settings), "pairs": pairs, "confirmed": confirmed(root)}


class Expected(NamedTuple):
    """What a work leads to on a machine without faults."""

    content: dict[str, list[tuple[Any, ...]]]
    known: dict[str, object]


def prepare_index(work: Work, start: Path, root: Path) -> Expected:
    """Make the project of a work in `start`; return what the work leads to, done in `root`."""
    make_project(start)
    work.prepare(start)
    shutil.copytree(start.parent, root.parent)
    work.run(root)
    complete(root, work.embedder)
    result = Expected(content(root), known(root))
    shutil.rmtree(root.parent)
    return result


def faults(work: Work, wanted: Expected, root: Path, came: int, way: str) -> Iterator[str]:
    """Yield what is wrong after a fault."""
    is_honest = way != "lost sync"
    yield from _lost_agreements(root)
    if is_honest:
        yield from _problems(root)
        yield from work.promises(root, came == TAKEN)
        if FEE.nl_term not in confirmed(root):
            yield "it lost a confirmation"
    if way in {"EIO", "ENOSPC", "short write"} and leftovers(root):
        yield f"it left {leftovers(root)}"
    try:
        complete(root, work.embedder)
        work.run(root)
        complete(root, work.embedder)
    except CodeIntelError as error:
        yield f"the next start fails: {error.message}"
        return
    yield from _differences(root, wanted, is_honest=is_honest)
    for config in (settings_of(root).map, settings_of(root).forest):
        for finding in examine(config, model=work.embedder.identity):
            if finding.level != "info":
                yield f"doctor: {finding.what}"
    aside = [*root.parent.rglob("*-bak*"), *root.parent.rglob("*corrupt-*")]
    names = [path.name for path in aside if "older" not in path.name]
    if is_honest and names:
        yield f"it set aside {names}"


def _lost_agreements(root: Path) -> Iterator[str]:
    there = agreements_of(settings_of(root))
    for each in (FEE, TAX):
        if agreements.key_of(each) not in there:
            yield f"it lost the agreement {each.nl_term}"


def _problems(root: Path) -> Iterator[str]:
    settings = settings_of(root)
    for config in (settings.map, settings.forest):
        try:
            with Store(Database(config.db_path, readonly=True)) as store:
                yield from (f"{config.db_path.name}: {what}" for what in store.check())
        except StorageError as error:
            if "older version" not in error.message:
                yield f"{config.db_path.name} cannot be read: {error.message}"
        except CodeIntelError:  # it does not exist yet
            pass


def _differences(root: Path, wanted: Expected, *, is_honest: bool) -> Iterator[str]:
    for name, rows in content(root).items():
        may_differ = name.endswith("choices")
        if rows != wanted.content[name] and (is_honest or not may_differ):
            yield f"{name} differ: {_first_difference(rows, wanted.content[name])}"
    if is_honest and (now := known(root)) != wanted.known:
        yield f"the map knows {now}, not {wanted.known}"


def _first_difference(one: list[Any], other: list[Any]) -> str:
    extra, missing = [r for r in one if r not in other], [r for r in other if r not in one]
    return (
        f"{len(extra)} more, {len(missing)} fewer: {json.dumps(repr((extra + missing)[:1]))[:200]}"
    )
