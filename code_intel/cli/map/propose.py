"""Propose agreements for a map that has few: which symbol a term means, and what says so.

The proposals come from the history (commits and merged branches whose message says what they are
for, with the symbols that they changed), from headings of documents, decisions and tests that name
one symbol, and from documented symbols. They are tested on the history: the messages of earlier
commits are put to them as requests, and proposals that name wrong files more often than right ones
are left out. Without an embedding model, this test is left out, and the answer says so.

The proposals are written to `.code-intel/proposals.json`, the surest first, each with its evidence
and the symbol's code. Nothing else is written. `--review` shows one proposal after the other and
asks: y adds the agreement and confirms it, n refuses it for good, e edits the term and the
evidence, s skips it, q ends. `--accept` adds proposals as unconfirmed agreements. Pairs that exist
or were refused are not proposed again.

--json: `proposals` {number, nl_term, symbol, sure, definition, evidence, files, commits {commit,
title}, sources, owner, code}, `found`, `commits`, `left_out`, `unchecked`, `review_file`,
`dry_run`; with --accept `accepted` {number, nl_term, symbol, agreement_file}, `dry_run`.
"""

import argparse
from collections.abc import Awaitable
from typing import Any

from code_intel.chunking.languages import row_of
from code_intel.cli.map.context import add_dry_run, run_on_current_source
from code_intel.cli.map.propose_review import accept, review
from code_intel.cli.output import Advance, emit, progress
from code_intel.cli.project import project_of
from code_intel.config.own_files import is_own
from code_intel.errors import UsageError
from code_intel.forest.ranking.closeness import ASIDE
from code_intel.forest.ranking.paths import PATH_KINDS
from code_intel.foundation.text import counted
from code_intel.learned.files.agreements import look
from code_intel.learned.proposals.changes import MAX_COMMITS
from code_intel.learned.proposals.proposing import Proposed, propose, review_items
from code_intel.learned.proposals.review_file import (
    REVIEW_FILE,
    ReviewItem,
    read_review,
    refused_pairs,
    write_review,
)
from code_intel.learned.recall.calibration import of_project
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer

DEFAULT_LIMIT = 30
ASIDE_KINDS = ASIDE | {"stub"}
"""Kinds of files whose symbols are not proposed."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--limit",
        type=int,
        default=DEFAULT_LIMIT,
        metavar="N",
        help="proposals to print; default 30",
    )
    parser.add_argument(
        "--commits",
        type=int,
        default=MAX_COMMITS,
        metavar="N",
        help=f"latest commits to read; default {MAX_COMMITS}",
    )
    parser.add_argument(
        "--review", action="store_true", help="ask about each proposal of the review file"
    )
    parser.add_argument(
        "--accept",
        type=int,
        nargs="+",
        metavar="N",
        help="add these proposals of the review file, unconfirmed",
    )
    add_dry_run(parser)


def run(args: argparse.Namespace) -> int:
    """Propose, review or accept."""
    _check(args)
    settings = project_of(args)
    if args.review or args.accept:
        read_review(settings)  # before the source is indexed

    def work(context: GatewayContext) -> Awaitable[Answer]:
        if args.review:
            return review(context)
        if args.accept:
            return accept(context, args.accept, dry=args.dry_run)
        return _propose(context, args)

    answer = run_on_current_source(settings, work, dry=args.dry_run)
    emit(args, answer.data, answer.text)
    return 0


def is_source(path: str) -> bool:
    """Return whether a path is code of the project itself, by its name."""
    lowered = f"/{path.lower()}"
    return (
        row_of(path).complete
        and not is_own(path)
        and not any(kind.pattern.search(lowered) for kind in PATH_KINDS if kind.name in ASIDE_KINDS)
    )


def _check(args: argparse.Namespace) -> None:
    for field in ("limit", "commits"):
        if getattr(args, field) < 1:
            raise UsageError(f"--{field} must be at least 1.", details={"field": field})
    if args.review and (args.accept or args.dry_run or args.json):
        raise UsageError(
            "--review takes none of --accept, --dry-run and --json.", details={"field": "review"}
        )


async def _propose(context: GatewayContext, args: argparse.Namespace) -> Answer:
    with progress() as advance:
        found = await run_in_thread(_found, context, args.commits, advance)
    items = [*review_items(found)]
    if not args.dry_run:
        await run_in_thread(write_review, context.settings, items)
    shown = items[: args.limit]
    data = {
        "proposals": [item.data for item in shown],
        "found": len(items),
        "commits": found.commits,
        "left_out": found.left_out,
        "unchecked": found.unchecked,
        "review_file": REVIEW_FILE,
        "dry_run": args.dry_run,
    }
    return Answer(data, _text(shown, found, len(items), dry=args.dry_run))


def _found(context: GatewayContext, commits: int, advance: Advance) -> Proposed:
    settings, embedder = context.settings, context.embedder
    is_available, _ = embedder.available()
    known = {*look(settings.agreements).by_key, *refused_pairs(settings)}
    return propose(
        settings.root,
        [row.path for row in context.forest.store.documents()],
        is_source,
        embedder if is_available else None,
        of_project(settings, embedder.identity) if is_available else None,
        known,
        advance,
        commits,
    )


def _text(shown: list[ReviewItem], found: Proposed, count: int, *, dry: bool) -> str:
    head = f"{counted(count, 'proposal')} from {counted(found.commits, 'commit')}."
    if found.left_out:
        head += f" Left out, because earlier requests speak against them: {found.left_out}."
    if found.unchecked:
        head += f" Not tested on earlier requests. {found.unchecked}"
    lines = [head, *(line for item in shown for line in ("", *_lines(item)))]
    if count > len(shown):
        lines += ["", f"… and {count - len(shown)} more; --limit shows more."]
    if dry:
        lines += ["", "Dry run: nothing was written."]
    elif count:
        lines += ["", "Next: `code-intel map propose --review`, or `--accept N…` to add some."]
    return "\n".join(lines)


def _lines(item: ReviewItem) -> list[str]:
    data: dict[str, Any] = item.data
    first = f"{item.number}. {item.agreement.nl_term} → {item.agreement.symbol}"
    sources = [*(f"{commit[:8]} {title}" for commit, title in item.commits), *item.sources]
    owner = f", owner {item.owner}" if item.owner else ""
    return [
        first,
        f"   {data['definition']}, sure {item.sure:.2f}{owner}",
        *(f"   - {source}" for source in sources[:4]),
    ]
