"""Documents by name: what devrag's tools and commands do to single files (docs/decisions/0017).

Paths are relative to the config's folder, or absolute; links are resolved before anything is decided.
Everything here blocks.
"""

import stat
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from code_intel.errors import NotFoundError, UsageError
from code_intel.foundation import durable
from code_intel.foundation.text import counted
from code_intel.index import walk
from code_intel.index.report import SyncReport
from code_intel.index.sync import UNFIT, sync_document
from code_intel.learned.files import trash
from code_intel.tools.context.corpus_service import CorpusService

FILEPATH = "Path of the file, relative to the configuration or absolute."
DOCUMENT = "Name of the document, as list_documents has it."
FILENAME = "The same, by its other name."


def one_of(**given: str) -> str:
    """Return the one argument of several that is given.

    Raises:
        UsageError: None is, or more than one.
    """
    said = {name: value for name, value in given.items() if value.strip()}
    names = list(given)
    if len(said) != 1 and len(set(said.values())) != 1:
        what = "is required" if not said else "is enough"
        raise UsageError(
            f"{', '.join(names[:-1])} or {names[-1]} {what}.",
            code=None if said else "missing_argument",
            details={"field": names[0]},
        )
    return next(iter(said.values()))


def index(service: CorpusService, path: str, *, force: bool = False) -> dict[str, Any]:
    """Index one file now, words and vectors; it stays indexed until it is deleted by name.

    Raises:
        UsageError: It is outside the configured folders, or never indexed; says why.
        NotFoundError: There is no such file.
    """
    name, real = locate(service, path)
    _refuse_folder(name, real)
    report = service.index.refresh(path, named=True, force=force)
    return _done(f"{name} is indexed.", file=name) | _warnings(report)


def reindex(service: CorpusService, path: str) -> dict[str, Any]:
    """Parse one file again though nothing has changed; the old document answers until then.

    Raises:
        UsageError: It is outside the configured folders, or never indexed; says why.
        NotFoundError: There is no such file; what is indexed of it stays.
    """
    name, real = locate(service, path)
    _refuse_folder(name, real)
    if _kind(real) != stat.S_IFREG:
        raise NotFoundError(f"{name} is not there.", details={"field": "path"})
    store = service.index.store
    named = store.document(name) is None or not walk.is_covered(service.index.config, real)
    report = service.index.refresh(path, named=named, force=True)
    return _done(f"{name} is indexed anew.", filename=name) | _warnings(report)


def delete(service: CorpusService, path: str, *, remove_file: bool) -> dict[str, Any]:
    """Take one document out of the index, and with `remove_file` the file off the disk.

    A file that stays is kept out of the index until it is indexed by name. A removed file of the map
    goes to the trash: agreements are what nothing can rebuild.

    Raises:
        UsageError: It is outside the configured folders; or it is a link, and would be removed.
        NotFoundError: There is no such document.
        StorageError: The file cannot be removed; the index is as it was.
    """
    store = service.index.store
    name, real = document(service, path)
    removed = remove_file and _removed(service, path, real)
    with store.batch():
        store.delete_document(name)
        store.choose(name, None if remove_file else False)
    what = f"{name} is deleted from the index"
    how = " and from the disk." if removed else "."
    if _kind(real):
        how = "; the file stays."
    return _done(what + how, filename=name, file_deleted=removed)


def document(service: CorpusService, path: str) -> tuple[str, Path]:
    """Return name and real path of a document that is indexed, or was deleted by name.

    Raises:
        UsageError: It is outside the configured folders.
        NotFoundError: There is no such document.
    """
    store = service.index.store
    name, real = locate(service, path)
    if store.document(name) is None and name not in store.choices():
        raise NotFoundError(
            f"{name} is not indexed.",
            hint="list_documents (`devrag list`) names what is.",
            details={"field": "path"},
        )
    return name, real


def index_files(service: CorpusService, paths: Iterable[str], *, force: bool) -> dict[str, Any]:
    """Index the words of several files; one that cannot be indexed is named and stops nothing.

    Raises:
        StorageError: The index cannot be written.
        BusyError: Another process is writing it for more than five seconds.
    """
    return _many(service, {path: path for path in paths}, lambda _: True, force=force)


def index_folder(
    service: CorpusService, path: str, *, force: bool, stop: Callable[[], bool] = lambda: False
) -> dict[str, Any]:
    """Index the words of all files below a folder, ignore rules applied; see `index_files`.

    What was deleted by name stays out.

    Raises:
        UsageError: It is outside the configured folders, or no folder.
    """
    config = service.index.config
    name, real = locate(service, path)
    if _kind(real) != stat.S_IFDIR:
        raise UsageError(f"{name} is not a folder.", details={"field": "directory"})
    scan = walk.below(config, real)
    said = service.index.store.choices()
    wanted = {name: found.real for name, found in scan.files.items() if said.get(name, True)}

    def beyond(real: str) -> bool:
        return not walk.is_covered(config, Path(real))

    data = _many(service, wanted, beyond, force=force, stop=stop)
    data["files_skipped"] += len(scan.skipped) + len(scan.files) - len(wanted)
    failures = {row["file"]: row["error"] for row in data["results"] if not row["success"]}
    del data["results"], data["success_count"], data["error_count"]
    return data | {"directory": name, "failures": failures}


def locate(service: CorpusService, path: str) -> tuple[str, Path]:
    """Return document name and real path of a file that need not exist; see `walk.locate`."""
    if not path.strip():
        raise UsageError("path is empty.", details={"field": "path"})
    return walk.locate(service.index.config, path)


def _many(
    service: CorpusService,
    files: dict[str, str],
    named: Callable[[str], bool],
    *,
    force: bool,
    stop: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    total = SyncReport()
    results: list[dict[str, Any]] = []
    for shown, path in files.items():
        if stop():
            break
        try:
            report = sync_document(
                service.index.store, service.index.config, path, named=named(path), force=force
            )
        except (UsageError, NotFoundError) as error:
            results.append({"file": shown, "success": False, "error": error.message})
            continue
        total.added += report.added
        total.updated += report.updated
        total.unchanged += report.unchanged
        results.append({"file": shown, "success": True})
    failed = sum(not row["success"] for row in results)
    service.index.request_scan()
    return {
        "message": f"{counted(total.added, 'file')} added, {total.updated} updated, {failed} failed.",
        "files_indexed": total.added + total.updated,
        "files_added": total.added,
        "files_updated": total.updated,
        "files_skipped": total.unchanged,
        "files_failed": failed,
        "success_count": len(results) - failed,
        "error_count": failed,
        "results": results,
    }


def _removed(service: CorpusService, path: str, real: Path) -> bool:
    """Take a file off the disk; False when it is gone already."""
    if (service.index.config.folder / path).is_symlink():
        raise UsageError(
            f"{path} is a link; nothing was removed.",
            hint="Name the file itself.",
            details={"field": "path"},
        )
    if _kind(real) != stat.S_IFREG:
        return False
    if service.index.config.corpus == "map":
        trash.move(service.settings, real, now=datetime.now(UTC))
        return True
    return durable.remove(real)


def _refuse_folder(name: str, real: Path) -> None:
    if _kind(real) == stat.S_IFDIR:
        raise UsageError(
            f"{name} is a folder.",
            code=UNFIT,
            hint="index_code (`devrag index-code`) indexes a `directory`.",
            details={"field": "path"},
        )


def _kind(real: Path) -> int:
    """Return what a path names, a format of `stat`; 0 when there is nothing to be seen."""
    try:
        return stat.S_IFMT(real.lstat().st_mode)
    except OSError:
        return 0


def _done(message: str, **more: Any) -> dict[str, Any]:
    return {"success": True, "message": message, **more}


def _warnings(report: SyncReport) -> dict[str, Any]:
    return {"warnings": report.warnings} if report.warnings else {}
