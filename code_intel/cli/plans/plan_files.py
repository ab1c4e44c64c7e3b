"""Find a query plan by its id, and remove files of query plans."""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.cli.id_prefix import IdKind, resolve_prefix
from code_intel.cli.output import emit
from code_intel.cli.project import add_project
from code_intel.config import Settings
from code_intel.errors import CodeIntelError, NotFoundError, UsageError
from code_intel.index.facade import Index
from code_intel.index.sync import sync_document
from code_intel.planning import place
from code_intel.planning.catalog import Catalog
from code_intel.planning.keeping import PLANS
from code_intel.planning.knowledge import PAGES

PLAN_FILE_KINDS: Mapping[str, Catalog[Any]] = {"plans": PLANS, "knowledge": PAGES}
SHORT = 8
"""Number of digits of an id that are shown."""
PLAN = IdKind("plan", "See `code-intel plans list`.", "`code-intel plan GOAL` creates one.")


class Removal(NamedTuple):
    """A file to remove, and the reason."""

    kind: str
    name: str
    reason: str
    bytes: int


def add_removal_options(parser: argparse.ArgumentParser) -> None:
    """Add `--dry-run` and `--project`."""
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be removed; remove nothing"
    )
    add_project(parser)


def remove_and_report(
    args: argparse.Namespace, settings: Settings, removals: Sequence[Removal]
) -> None:
    """Remove files, unless `--dry-run` is given, and print them.

    Raises:
        StorageError: A file could not be removed; others may have been.
    """
    problem = ""
    if not args.dry_run:
        removals = _remove_files(place.root_of(settings), removals)
        problem = _unindex_pages(settings, removals)
    data = {
        "removed": [each._asdict() for each in removals],
        "dry_run": args.dry_run,
        "problem": problem,
    }
    emit(args, data, _removal_text(removals, dry_run=args.dry_run, problem=problem))


def _remove_files(root: Path, removals: Sequence[Removal]) -> list[Removal]:
    """Remove files; return those that existed."""
    removed = {
        (kind, name)
        for kind, catalog in PLAN_FILE_KINDS.items()
        if (names := [each.name for each in removals if each.kind == kind])
        for name in catalog.remove(root, names)
    }
    return [each for each in removals if (each.kind, each.name) in removed]


def _unindex_pages(settings: Settings, removals: Iterable[Removal]) -> str:
    """Remove deleted pages from the index; return the problem if that failed, or an empty text."""
    root, index = place.root_of(settings), settings.forest
    pages = [PAGES.path(root, each.name) for each in removals if each.kind == PAGES.kind]
    if not pages or not index.db_path.exists():
        return ""
    try:
        with Index(index) as forest, forest.store.batch():
            for page in pages:
                with suppress(NotFoundError, UsageError):  # the page is not indexed
                    sync_document(forest.store, index, page)
    except CodeIntelError as error:
        return f"Searches may find the pages until the next sync: {error.message} {error.hint}"
    return ""


def _removal_text(removals: Sequence[Removal], *, dry_run: bool, problem: str) -> str:
    """Return the report: a line per file, the total, and the problem, if there is one."""
    lines = [f"{each.kind}/{each.name}: {each.reason}" for each in removals]
    size = sum(each.bytes for each in removals) / 1024
    verb = "would be removed" if dry_run else "removed"
    lines.append(f"{len(removals)} {verb}, {size:,.0f} KiB." if removals else "Nothing to remove.")
    lines += [problem] if problem else []
    return "\n".join(lines)


def resolve_plan(root: Path, text: str) -> str:
    """Return the id of the plan that `text` names: an id, the beginning of one, or `last`.

    Raises:
        NotFoundError: No plan matches.
        UsageError: Several plans match; the error names two.
    """
    listing = PLANS.listing(root)
    plans = [kept.content.id for kept in listing.latest()]
    prefix = text.strip().lower()
    if prefix == "last":
        matches = plans[:1]
    else:
        ids = [*plans, *(name.removesuffix(".json") for name in listing.damaged)]
        matches = [one for one in ids if prefix and one.startswith(prefix)]
    return resolve_prefix(matches, text, PLAN, any_exist=bool(plans))
