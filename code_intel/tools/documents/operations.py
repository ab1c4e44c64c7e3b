"""Index, reindex and delete single documents, for devrag's tools and commands.

Paths are absolute or relative to the folder of the config. Links are resolved first. All functions
block (docs/decisions/0017).
"""

import stat
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from code_intel.errors import NotFoundError, UsageError
from code_intel.foundation import durable
from code_intel.foundation.text import counted
from code_intel.index import walk
from code_intel.index.report import SyncReport
from code_intel.index.sync import INDEX_FAILED, sync_document
from code_intel.learned.files import trash
from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.declaration import UNLISTED

FILEPATH = "Relative to the config."
DOCUMENT = "Its name in list_documents."
FilenameAlias = Annotated[str, Field(description="Alias of filename.", json_schema_extra=UNLISTED)]


def one_of(**arguments: str) -> str:
    """Return the only argument that is given.

    Raises:
        UsageError: No argument is given, or several with different values.
    """
    given = {name: value for name, value in arguments.items() if value.strip()}
    names = list(arguments)
    if len(set(given.values())) != 1:
        choice = f"{', '.join(names[:-1])} or {names[-1]}"
        raise UsageError(
            f"Pass only one of {choice}." if given else f"{choice} is required.",
            code=None if given else "missing_argument",
            details={"field": names[0]},
        )
    return next(iter(given.values()))


def index(service: CorpusService, path: str, *, force: bool = False) -> dict[str, Any]:
    """Index the words and vectors of one file now; it stays indexed until it is deleted by name.

    Raises:
        UsageError: The file is outside the configured folders, or of a kind that is not indexed.
        NotFoundError: There is no such file.
    """
    name, real = locate(service, path)
    _refuse_folder(name, real)
    report = service.index.refresh(path, named=True, force=force)
    return _done(f"{name} was indexed.", file=name) | _warnings(report)


def reindex(service: CorpusService, path: str) -> dict[str, Any]:
    """Index one file again, even if it is unchanged.

    Raises:
        UsageError: The file is outside the configured folders, or of a kind that is not indexed.
        NotFoundError: There is no such file; its document stays in the index.
    """
    name, real = locate(service, path)
    _refuse_folder(name, real)
    if _kind(real) != stat.S_IFREG:
        raise NotFoundError(f"{name} does not exist.", details={"field": "path"})
    store = service.index.store
    named = store.document(name) is None or not walk.is_covered(service.index.config, real)
    report = service.index.refresh(path, named=named, force=True)
    return _done(f"{name} was indexed again.", filename=name) | _warnings(report)


def delete(service: CorpusService, path: str, *, remove_file: bool) -> dict[str, Any]:
    """Delete one document from the index and, with `remove_file`, its file from the disk.

    A file that is kept is not indexed again until it is indexed by name. A removed file of the map
    goes to the trash, because agreements cannot be rebuilt.

    Raises:
        UsageError: It is outside the configured folders, or a link whose file should be removed.
        NotFoundError: There is no such document.
        StorageError: The file cannot be removed; the index is unchanged.
    """
    store = service.index.store
    name, real = document(service, path)
    removed = remove_file and _remove(service, path, real)
    with store.batch(flushed=True):
        store.delete_document(name)
        store.choose(name, None if remove_file else False)
    rest = "; the file was removed." if removed else "."
    if _kind(real):
        rest = "; the file was kept."
    return _done(f"{name} was deleted from the index{rest}", filename=name, file_deleted=removed)


def document(service: CorpusService, path: str) -> tuple[str, Path]:
    """Return the name and the real path of a document that is indexed or was deleted by name.

    Raises:
        UsageError: It is outside the configured folders.
        NotFoundError: There is no such document.
    """
    store = service.index.store
    name, real = locate(service, path)
    if store.document(name) is None and name not in store.choices():
        raise NotFoundError(
            f"{name} is not indexed.",
            hint="list_documents (`devrag list`) shows the indexed documents.",
            details={"field": "path"},
        )
    return name, real


def index_files(service: CorpusService, paths: Iterable[str], *, force: bool) -> dict[str, Any]:
    """Index the words of several files; report those that cannot be indexed, and continue.

    Raises:
        StorageError: The index cannot be written.
        BusyError: Another process has been writing it for more than five seconds.
    """
    return _index_all(service, {path: path for path in paths}, lambda _: True, force=force)


def index_folder(
    service: CorpusService, path: str, *, force: bool, stop: Callable[[], bool] = lambda: False
) -> dict[str, Any]:
    """Index the words of all files below a folder that are not ignored; see `index_files`.

    Files that were deleted by name are skipped.

    Raises:
        UsageError: The folder is outside the configured folders, or not a folder.
    """
    config = service.index.config
    name, real = locate(service, path)
    if _kind(real) != stat.S_IFDIR:
        raise UsageError(f"{name} is not a folder.", details={"field": "directory"})
    scan = walk.scan_folder(config, real)
    choices = service.index.store.choices()
    wanted = {name: found.real for name, found in scan.files.items() if choices.get(name, True)}

    def is_not_covered(real: str) -> bool:
        return not walk.is_covered(config, Path(real))

    data = _index_all(service, wanted, is_not_covered, force=force, stop=stop)
    data["files_skipped"] += len(scan.skipped) + len(scan.files) - len(wanted)
    failures = {row["file"]: row["error"] for row in data["results"] if not row["success"]}
    del data["results"], data["success_count"], data["error_count"]
    return data | {"directory": name, "failures": failures}


def locate(service: CorpusService, path: str) -> tuple[str, Path]:
    """Return the document name and the real path of a file that may be missing."""
    if not path.strip():
        raise UsageError("path is empty.", details={"field": "path"})
    return walk.locate(service.index.config, path)


def _index_all(
    service: CorpusService,
    files: dict[str, str],
    is_named: Callable[[str], bool],
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
                service.index.store, service.index.config, path, named=is_named(path), force=force
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
        "message": (
            f"{counted(total.added, 'file')} added, {total.updated} updated, {failed} failed."
        ),
        "files_indexed": total.added + total.updated,
        "files_added": total.added,
        "files_updated": total.updated,
        "files_skipped": total.unchanged,
        "files_failed": failed,
        "success_count": len(results) - failed,
        "error_count": failed,
        "results": results,
    }


def _remove(service: CorpusService, path: str, real: Path) -> bool:
    """Remove a file from the disk; return whether there was one."""
    if (service.index.config.folder / path).is_symlink():
        raise UsageError(
            f"{path} is a link, so nothing was removed.",
            hint="Pass the path of the file itself.",
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
            code=INDEX_FAILED,
            hint="Use index_code (`devrag index-code`) with `directory`.",
            details={"field": "path"},
        )


def _kind(real: Path) -> int:
    """Return the file type of a path (see `stat.S_IFMT`), or 0 if it cannot be read."""
    try:
        return stat.S_IFMT(real.lstat().st_mode)
    except OSError:
        return 0


def _done(message: str, **more: Any) -> dict[str, Any]:
    return {"success": True, "message": message, **more}


def _warnings(report: SyncReport) -> dict[str, Any]:
    return {"warnings": report.warnings} if report.warnings else {}
