"""Diagnose an index without changing it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from code_intel.config import IndexConfig
from code_intel.embedding.engine import same_space
from code_intel.errors import BusyError, CodeIntelError, NotFoundError
from code_intel.foundation import mounts
from code_intel.foundation.text import counted
from code_intel.index import walk
from code_intel.index.database import Database
from code_intel.index.lease import IndexerLease
from code_intel.index.skipped import SkippedFiles, grouped, kept
from code_intel.index.store import Store

_MAX_NAMES = 5


@dataclass(frozen=True, slots=True)
class IndexFinding:
    """One result of a diagnosis.

    Attributes:
        level: `info`: no action is needed; `warning`: the index works with limits; `error`: the
            index does not work.
        what: What was found, in one sentence.
        remedy: What to do, in one sentence; empty for `info`.
    """

    level: Literal["info", "warning", "error"]
    what: str
    remedy: str = ""


def examine(
    config: IndexConfig, *, model: str | None = None, command: str = "code-intel sync"
) -> list[IndexFinding]:
    """Return the findings about the index of `config`.

    Args:
        config: The configuration of the index.
        model: The identity of the model in use, if known.
        command: The command line that builds the index, which remedies name.
    """
    return [
        *_files(config, _last_skipped(config)),
        *network_disk_findings(config),
        *_database(config, model, command),
        *_indexer(config),
    ]


def _last_skipped(config: IndexConfig) -> tuple[SkippedFiles, ...]:
    """Return what the last sync skipped, which includes what only reading a file shows."""
    with suppress(CodeIntelError), Store(Database(config.db_path, readonly=True)) as store:
        return kept(store)
    return ()


def _files(config: IndexConfig, last: Sequence[SkippedFiles]) -> list[IndexFinding]:
    try:
        scan = walk.scan(config)
    except CodeIntelError as error:
        return [IndexFinding("error", error.message, error.hint)]
    if not scan.files and config.corpus == "map":
        return [IndexFinding("info", "The map is empty: there are no agreements yet.")]
    remedy = f"Correct document_patterns in {config.path.name}, or create the folder."
    found = [IndexFinding("warning", warning, remedy) for warning in scan.warnings]
    if not scan.files:
        what = f"No file matches document_patterns in {config.path.name}."
        found.append(IndexFinding("warning", what, "Correct them, or add files."))
    reasons = {group.reason for group in grouped(scan.skipped)}
    unread = (group for group in last if group.reason not in reasons)
    return found + [
        IndexFinding("info", each.sentence()) for each in (*grouped(scan.skipped), *unread)
    ]


def network_disk_findings(config: IndexConfig) -> list[IndexFinding]:
    """Return a warning if the database of `config` is on a network disk."""
    if not mounts.is_network(config.db_path):
        return []
    name, kind = config.db_path.name, mounts.file_system_of(config.db_path)
    what = f"{name} is on a network disk ({kind}): it is slow, and readers wait for writers."
    remedy = f"Set db_path in {config.path.name} to a path on a local disk."
    return [IndexFinding("warning", what, remedy)]


def _database(config: IndexConfig, model: str | None, command: str) -> list[IndexFinding]:
    name, sync = config.db_path.name, f"Run `{command}`."
    try:
        with Store(Database(config.db_path, readonly=True, command=command)) as store:
            problems = store.check()
            if problems:
                IndexerLease(config.db_path).require_check()
                remedy = f"{sync} It rebuilds the index."
                return [IndexFinding("error", f"{name}: {what}", remedy) for what in problems]
            return _contents(store, model, sync)
    except NotFoundError:
        return [IndexFinding("warning", f"{name} does not exist yet.", sync)]
    except BusyError as error:
        return [IndexFinding("warning", error.message, error.hint)]
    except CodeIntelError as error:
        return [IndexFinding("error", error.message, error.hint)]


def _contents(store: Store, model: str | None, sync: str) -> list[IndexFinding]:
    found = [IndexFinding("info", f"Indexed: {counted(store.document_count(), 'document')}.")]
    active, newest = store.generations.active(), store.generations.newest()
    if newest != active:
        processed, total = store.generations.progress(newest.identity)
        what = f"{processed:,} of {total:,} vectors of {newest.identity} are ready."
        what = f"{what} Until all are, searches use {active.identity}."
        found.append(IndexFinding("warning", what, sync))
    elif model is not None and active.identity and not same_space(model, active.identity):
        what = f"The vectors were computed by {active.identity}, but the model in use is {model}."
        found.append(IndexFinding("warning", what, sync))
    pending = store.pending_count()
    if pending:
        what = f"{counted(pending, 'chunk')} without a vector can only be found by words."
        found.append(IndexFinding("warning", what, sync))
    for path, position, reason in store.generations.refused(newest)[:_MAX_NAMES]:
        what = f"{path}, chunk {position}, has no vector: {reason}."
        found.append(
            IndexFinding("warning", what, "It can only be found by words, until its text changes.")
        )
    return found


def _indexer(config: IndexConfig) -> list[IndexFinding]:
    lease = IndexerLease(config.db_path)
    if lease.is_free():
        return [IndexFinding("info", "No process is indexing in the background.")]
    pid = lease.holder()
    what = f"{f'Process {pid}' if pid else 'A process'} is indexing"
    if overdue := lease.overdue():
        what = f"{what} and has shown no progress for {overdue / 60:.0f} min."
        return [IndexFinding("warning", what, "If it hangs, end it; another process takes over.")]
    return [IndexFinding("info", f"{what}.")]
