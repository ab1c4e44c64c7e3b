"""Update both indexes: words first, then vectors.

The two indexes are the map (agreements) and the forest (source). With `--words-only`, the next
server that starts computes the vectors. Files that cannot be read are listed, but the command
succeeds. Skipped files are counted; `code-intel doctor` names some of them with the reason. If you
stop the command, everything indexed so far is kept.
"""

import argparse
import sys
from datetime import UTC, datetime
from typing import Any

from code_intel.cli.output import Advance, emit, progress
from code_intel.config import find_root, load_settings, require_single_project
from code_intel.foundation.text import counted
from code_intel.index.report import SyncReport
from code_intel.index.skipped import grouped
from code_intel.learned.files.changes import sync
from code_intel.tools.context.corpus_service import CorpusService, open_project
from code_intel.tools.documents.sync import report_data, report_text


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "project", nargs="?", help="the project (default: the one that contains this folder)"
    )
    parser.add_argument("--words-only", action="store_true", help="do not compute vectors now")


def run(args: argparse.Namespace) -> int:
    """Update both indexes; return 0 even if some files failed."""
    from pathlib import Path

    folder = Path(args.project).expanduser() if args.project else None
    settings = load_settings(require_single_project(find_root(folder)))
    if note := sync(settings, datetime.now(UTC)).note:
        _print_note(note)
    data: dict[str, Any] = {"project": str(settings.root)}
    lines = []
    services = open_project(settings)
    try:
        with progress() as advance:
            reports = [(service, update_words(service, advance)) for service in services]
            if not args.words_only:
                for service, report in reports:
                    report.warnings += compute_vectors(service, advance)
        for service, report in reports:
            corpus, index = service.index.config.corpus, service.index.freshness()
            skipped = grouped(report.skipped)
            data[corpus] = report_data(report) | {
                "files": index.files,
                "pending": index.pending,
                "skipped_files": [group._asdict() for group in skipped],
            }
            pending = f", {counted(index.pending, 'vector')} to come" if index.pending else ""
            counts, *notes = report_text(report).split("\n")
            lines += [f"{corpus}: {counted(index.files, 'file')}{pending} ({counts})", *notes]
            lines += [f"  {group.sentence()}" for group in skipped]
    finally:
        for service in services:
            service.index.close()
    emit(args, data, "\n".join(lines))
    return 0


def update_words(service: CorpusService, advance: Advance) -> SyncReport:
    """Update the word index of one corpus; return the report."""
    what = f"{service.index.config.corpus}: words"
    return service.index.complete(
        words_only=True, progress=lambda done, total: advance(done, total, what), say=_print_note
    )


def compute_vectors(service: CorpusService, advance: Advance) -> list[str]:
    """Compute the missing vectors of one corpus; return warnings."""
    usable, reason = service.embedder.available()
    if not usable:
        return [f"no vectors: {reason}"]
    what = f"{service.index.config.corpus}: vectors"
    report = service.index.complete(
        progress=lambda done, total: advance(done, total, what), say=_print_note
    )
    return report.warnings


def _print_note(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
