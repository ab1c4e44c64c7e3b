"""Implement the tool `sync` of the index servers."""

import threading
from typing import Any

import anyio
from anyio import from_thread

from code_intel.foundation.text import counted, visible
from code_intel.index.report import SyncReport
from code_intel.tools.context.corpus_service import CorpusService
from code_intel.tools.context.gateway import run_in_thread
from code_intel.tools.declaration import Answer
from code_intel.tools.wire.answers import index_data


async def sync(service: CorpusService) -> Answer:
    """Update the index from the files now."""
    stop = threading.Event()
    # Vectors of the forest take too long to wait for, and without a model none are computed.
    words_only = service.index.config.corpus == "forest" or not service.embedder.available()[0]

    def report_progress(done: int, total: int) -> None:
        from_thread.run(service.report, done, total, "files")

    try:
        report = await run_in_thread(
            service.index.complete,
            words_only=words_only,
            progress=report_progress,
            stop=stop.is_set,
        )
    except anyio.get_cancelled_exc_class():
        stop.set()
        raise
    service.index.request_scan()
    data = report_data(report) | {"index": index_data(await run_in_thread(service.index.freshness))}
    return Answer(data, report_text(report))


def report_data(report: SyncReport) -> dict[str, Any]:
    """Return the result of a sync as data."""
    return {
        "added": report.added,
        "updated": report.updated,
        "deleted": report.deleted,
        "unchanged": report.unchanged,
        "failed": len(report.failed),
        "skipped": len(report.skipped),
        "masked": report.masked,
        "failures": report.failed,
        "warnings": report.warnings,
    }


def report_text(report: SyncReport) -> str:
    """Return the result of a sync as text."""
    counts = (
        f"{report.added} added, {report.updated} updated, {report.deleted} deleted, "
        f"{report.unchanged} unchanged, {len(report.skipped)} skipped"
    )
    if report.masked:
        counts += f", {counted(report.masked, 'secret value')} masked"
    failures = [f"  failed: {visible(name)}: {reason}" for name, reason in report.failed.items()]
    return "\n".join([counts, *failures, *(f"  note: {warning}" for warning in report.warnings)])
