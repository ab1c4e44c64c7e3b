"""Provide what the commands that remove files of query plans share: options and the report."""

import argparse
from collections.abc import Sequence

from code_intel.cli.output import emit
from code_intel.cli.project import add_project
from code_intel.config import Settings
from code_intel.operations.plans import Removal, remove_files


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
        removals, problem = remove_files(settings, removals)
    data = {
        "removed": [each._asdict() for each in removals],
        "dry_run": args.dry_run,
        "problem": problem,
    }
    emit(args, data, _removal_text(removals, dry_run=args.dry_run, problem=problem))


def _removal_text(removals: Sequence[Removal], *, dry_run: bool, problem: str) -> str:
    """Return the report: a line per file, the total, and the problem, if there is one."""
    lines = [f"{each.kind}/{each.name}: {each.reason}" for each in removals]
    size = sum(each.bytes for each in removals) / 1024
    verb = "would be removed" if dry_run else "removed"
    lines.append(f"{len(removals)} {verb}, {size:,.0f} KiB." if removals else "Nothing to remove.")
    lines += [problem] if problem else []
    return "\n".join(lines)
