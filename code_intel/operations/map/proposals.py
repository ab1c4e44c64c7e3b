"""Accept, edit and refuse the proposals of the review file."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from code_intel.errors import NotFoundError
from code_intel.learned.learn import checked, learn
from code_intel.learned.proposals.current import CurrentCode, Place
from code_intel.learned.proposals.review_file import (
    PROPOSE_FIRST,
    ReviewItem,
    close_item,
    read_review,
)
from code_intel.learned.recording import recorded
from code_intel.operations.map.confirm import confirm_agreement
from code_intel.records import Agreement, Definition, FileReference
from code_intel.tools.context.freshness import refresh_map
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.symbol_facts import definitions_of, nearest, sole_body
from code_intel.tools.declaration import Answer


class Added(NamedTuple):
    """An agreement that was added, and its file."""

    item: ReviewItem
    file: str


async def accept(context: GatewayContext, numbers: Sequence[int], *, dry: bool) -> Answer:
    """Add proposals as unconfirmed agreements; add none if one of them cannot be added.

    Raises:
        NotFoundError: There is no review file or no such proposal, or its symbol is gone.
    """
    review = await run_in_thread(read_review, context.settings)
    items = [review.item(number) for number in dict.fromkeys(numbers)]
    agreements = [await agreement_now(context, item) for item in items]
    done = [
        Added(item, await _add(context, item, agreement, dry=dry))
        for item, agreement in zip(items, agreements, strict=True)
    ]
    rows = [
        {
            "number": item.number,
            "nl_term": item.agreement.nl_term,
            "symbol": item.agreement.symbol,
            "agreement_file": file,
        }
        for item, file in done
    ]
    head = "Would be added" if dry else "Added"
    lines = [f"{head} (unconfirmed): {row['nl_term']} → {row['symbol']}" for row in rows]
    if not dry:
        lines.append(
            "Confirm them with `code-intel map confirm`, or merge them with `confirmed: true`."
        )
    return Answer({"accepted": rows, "dry_run": dry}, "\n".join(lines))


async def agreement_now(context: GatewayContext, item: ReviewItem) -> Agreement:
    """Return the agreement of a proposal, for the symbol's current code.

    Raises:
        NotFoundError: The file does not define the symbol any more.
    """
    found = await definitions_of(context, [item.agreement.symbol])
    meant = nearest(found.get(item.agreement.symbol, []), [item.path])
    if not meant or meant[0].file != item.path:
        raise NotFoundError(
            f"{item.agreement.symbol} is no longer defined in {item.path}.", hint=PROPOSE_FIRST
        )
    return replace(
        item.agreement,
        files=_files_now(item, meant[0]),
        digest=meant[0].digest,
        body=await sole_body(context, meant),
    )


async def confirm_proposal(
    context: GatewayContext, item: ReviewItem, *, dry: bool = False
) -> Answer:
    """Add the agreement of a proposal, confirm it, and close the proposal.

    Args:
        context: The project.
        item: The proposal, which may be `edited`.
        dry: Whether to write nothing.

    Raises:
        NotFoundError: The file does not define the symbol any more.
        CodeIntelError: The agreement could not be added or confirmed.
    """
    agreement = await agreement_now(context, item)
    pair = agreement.nl_term, agreement.symbol
    with recorded():  # the steps of a dry run build on each other
        await _add(context, item, agreement, dry=dry)
        return await confirm_agreement(context, *pair, file=item.path, dry=dry)


async def refuse_proposal(context: GatewayContext, number: int, *, dry: bool = False) -> Answer:
    """Close a proposal, so that its pair is not proposed again. Only the review file changes.

    Raises:
        NotFoundError: There is no review file or no such proposal.
    """
    item = (await run_in_thread(read_review, context.settings)).item(number)
    if not dry:
        await run_in_thread(partial(close_item, context.settings, number, refused=True))
    data = {"number": number, "dry_run": dry}
    head = "Would be refused" if dry else "Refused"
    return Answer(data, f"{head}: {item.agreement.nl_term} → {item.agreement.symbol}.")


def edited(item: ReviewItem, term: str, sentence: str) -> ReviewItem:
    """Return a proposal with another term and another first sentence of evidence.

    An empty text changes nothing.

    Raises:
        UsageError: A text is too long or contains invisible characters.
    """
    agreement = item.agreement
    evidence = (sentence, *agreement.evidence) if sentence else agreement.evidence
    new = replace(agreement, nl_term=term or agreement.nl_term, evidence=evidence)
    found = checked(new, datetime.now(UTC))
    return replace(item, agreement=replace(found, learned_at=""))


def _files_now(item: ReviewItem, definition: Definition) -> tuple[FileReference, ...]:
    first, *others = item.agreement.files
    return (replace(first, line=definition.line), *others)


def described(context: GatewayContext, item: ReviewItem) -> str:
    """Return a proposal with its sources and the current code as text; this blocks."""
    agreement = item.agreement
    code = CurrentCode(context.root).code(Place(item.path, agreement.symbol))
    owner = f", owner {item.owner}" if item.owner else ""
    sources = [*(f"{commit[:8]} {title}" for commit, title in item.commits), *item.sources]
    return "\n".join(
        [
            f"{agreement.nl_term} → {agreement.symbol}",
            f"{item.path}:{item.lines[0]}-{item.lines[1]}, sure {item.sure:.2f}{owner}",
            *(f"  - {source}" for source in sources),
            "",
            code or f"{agreement.symbol} is no longer defined in {item.path}.",
            "",
        ]
    )


async def _add(
    context: GatewayContext, item: ReviewItem, agreement: Agreement, *, dry: bool
) -> str:
    """Write an agreement, unconfirmed, and close its proposal; return the name of its file.

    In a dry run, the name is empty.
    """
    cache = context.map_cache
    work = partial(learn, context.settings, agreement, confirmed=False, cache=cache, dry=dry)
    learned = await run_in_thread(work)
    if dry:
        return ""
    await run_in_thread(partial(close_item, context.settings, item.number, refused=False))
    await refresh_map(context, learned.agreement_file)
    return learned.agreement_file.name
