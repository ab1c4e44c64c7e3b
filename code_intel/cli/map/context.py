"""Run the work of a `code-intel map` subcommand with the project's indexes, outside any session."""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory  # noqa: TID251 - outside the project

from code_intel.cli.output import PROGRESS_DELAY_S, elapsed_time, emit, progress
from code_intel.cli.project import add_project, project_of, terminal_of
from code_intel.cli.terminal_words import TERMINAL_WORDS
from code_intel.config import Settings
from code_intel.errors import StorageError, UsageError
from code_intel.operations.map.current import index_words
from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer
from code_intel.tools.wire.reader import in_terminal

Work = Callable[[GatewayContext], Awaitable[Answer]]
MAX_DAYS = 100_000
"""Limit of --older-than; larger values would overflow dates."""


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """Declare --dry-run and the project of a command that changes the map."""
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would change; write nothing"
    )
    add_project(parser)


def require_days(days: int) -> None:
    """Require a valid --older-than.

    Raises:
        UsageError: The number is negative or too large.
    """
    if not 0 <= days <= MAX_DAYS:
        raise UsageError(
            f"--older-than must be a number of days from 0 to {MAX_DAYS:,}.",
            details={"field": "older_than"},
        )


def print_answer(args: argparse.Namespace, work: Work, *, current: bool = False) -> Answer:
    """Run the work of a command in its project; print and return the answer.

    The indexes are read-only in a dry run and for a command that has no --dry-run option.

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
    """Run work with the project's indexes open; show the elapsed time of long work on stderr.

    Args:
        settings: The project.
        work: The work.
        readonly: Whether to open the indexes read-only.
        current: Whether to update the word index of the source first, so that the work sees the
            current code.
    """
    with elapsed_time():
        return asyncio.run(_run(settings, work, readonly=readonly, current=current))


def run_without_writing(settings: Settings, work: Work) -> Answer:
    """Run work that only updates the word index of the source and writes nothing else.

    If the index cannot be written, it is built in a temporary folder.
    """
    try:
        return run_in_project(settings, work, current=True)
    except StorageError:
        with TemporaryDirectory(prefix="code-intel-") as folder:
            temporary = replace(settings.forest, db_path=Path(folder) / "forest.db")
            return run_in_project(replace(settings, forest=temporary), work, current=True)


def run_on_current_source(settings: Settings, work: Work, *, dry: bool) -> Answer:
    """Run work that needs the current code; in a dry run, write only the word index."""
    return (
        run_without_writing(settings, work) if dry else run_in_project(settings, work, current=True)
    )


async def _run(settings: Settings, work: Work, *, readonly: bool, current: bool) -> Answer:
    with in_terminal(terminal_of(settings, TERMINAL_WORDS)):
        return await _run_with_indexes(settings, work, readonly=readonly, current=current)


async def _run_with_indexes(
    settings: Settings, work: Work, *, readonly: bool, current: bool
) -> Answer:
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

        def report(done: int, total: int) -> None:
            if time.monotonic() - began > PROGRESS_DELAY_S:
                advance(done, total, "forest: words")

        index_words(context, report)
