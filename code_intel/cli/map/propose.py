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
from functools import partial

from code_intel.cli.map.context import add_dry_run, run_on_current_source
from code_intel.cli.map.propose_review import review
from code_intel.cli.output import emit, progress
from code_intel.cli.project import project_of
from code_intel.errors import UsageError
from code_intel.learned.proposals.changes import MAX_COMMITS
from code_intel.learned.proposals.review_file import read_review
from code_intel.operations.map.proposals import accept
from code_intel.operations.map.propose import DEFAULT_LIMIT, propose_agreements
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer


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
        work = partial(
            propose_agreements,
            limit=args.limit,
            commits=args.commits,
            dry=args.dry_run,
            advance=advance,
        )
        return await run_in_thread(work, context)
