"""Run the work of a `code-intel map` subcommand with the project's indexes, outside any session."""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory  # noqa: TID251 - outside the project

from code_intel.cli.output import PROGRESS_DELAY_S, elapsed_time, emit, progress
from code_intel.cli.project import add_project, project_of
from code_intel.config import Settings
from code_intel.errors import CodeIntelError, StorageError, UsageError
from code_intel.foundation.text import counted
from code_intel.learned.files.agreements import make_key
from code_intel.learned.status.agreement_status import AgreementStatus, standings
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.freshness import MapSync
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer

Work = Callable[[GatewayContext], Awaitable[Answer]]
MAX_DAYS = 100_000
"""Limit of --older-than; beyond it dates overflow."""


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """Declare --dry-run and the project of a command that changes the map."""
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would change; write nothing"
    )
    add_project(parser)


def require_days(days: int) -> None:
    """Refuse an impossible --older-than.

    Raises:
        UsageError: It is negative or too large.
    """
    if not 0 <= days <= MAX_DAYS:
        raise UsageError(
            f"--older-than is a number of days, 0 to {MAX_DAYS:,}.",
            details={"field": "older_than"},
        )


def print_answer(args: argparse.Namespace, work: Work, *, current: bool = False) -> Answer:
    """Run the work of a command in its project, and print and return the answer.

    A dry run, and a command without --dry-run, may not write.

    Args:
        args: The command's arguments.
        work: The work.
        current: Whether to update the word index of the source first, except in a dry run.
    """
    dry = getattr(args, "dry_run", True)
    answer = run_in_project(project_of(args), work, readonly=dry, current=current and not dry)
    emit(args, answer.data, answer.text)
    return answer


def run_in_project(
    settings: Settings, work: Work, *, readonly: bool = False, current: bool = False
) -> Answer:
    """Run work with the project's indexes open; report long work on stderr.

    Args:
        settings: The project.
        work: The work.
        readonly: Whether the project may not be written.
        current: Whether to update the word index of the source first, so that the work sees the
            current code.
    """
    with elapsed_time():
        return asyncio.run(_done(settings, work, readonly=readonly, current=current))


def run_without_writing(settings: Settings, work: Work) -> Answer:
    """Run work that writes nothing but the updated word index of the source.

    If the disk is read-only, the index is built in a temporary folder.
    """
    try:
        return run_in_project(settings, work, current=True)
    except StorageError:
        with TemporaryDirectory(prefix="code-intel-") as folder:
            elsewhere = replace(settings.forest, db_path=Path(folder) / "forest.db")
            return run_in_project(replace(settings, forest=elsewhere), work, current=True)


def run_on_current_source(settings: Settings, work: Work, *, dry: bool) -> Answer:
    """Run work that needs the current code; a dry run writes nothing."""
    return (
        run_without_writing(settings, work) if dry else run_in_project(settings, work, current=True)
    )


async def find_standing(context: GatewayContext, term: str, symbol: str) -> AgreementStatus | None:
    """Return an agreement and its status without writing anything; None if none exists."""
    key = make_key(term, symbol)
    found = await run_in_thread(standings, context.settings, context.forest)
    return next((known for known in found if known.entry.key == key), None)


async def refresh_whole_map(context: GatewayContext, *, words_only: bool = True) -> MapSync:
    """Update the map's index; if that fails, return that it was deferred, with the reason."""
    try:
        report = await run_in_thread(partial(context.map.complete, words_only=words_only))
    except CodeIntelError as error:
        return MapSync("deferred", error.message)
    pending = context.map.freshness().pending
    notes = [*report.warnings, *([f"{counted(pending, 'vector')} to come"] if pending else [])]
    return MapSync(reason=notes[0] if notes else "")


async def _done(settings: Settings, work: Work, *, readonly: bool, current: bool) -> Answer:
    map_service, forest_service = open_project(settings, readonly=readonly)
    context = GatewayContext(
        settings, None, map_service.index, forest_service.index, map_service.embedder
    )
    try:
        if current:
            await run_in_thread(_index_words, context)
        return await work(context)
    finally:
        map_service.index.close()
        forest_service.index.close()


def _index_words(context: GatewayContext) -> None:
    began = time.monotonic()
    with progress() as advance:

        def later(done: int, total: int) -> None:
            if time.monotonic() - began > PROGRESS_DELAY_S:
                advance(done, total, "forest: words")

        context.forest.complete(words_only=True, progress=later)
