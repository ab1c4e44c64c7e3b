"""Review the proposals of the review file in a terminal, and add those that are accepted."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from code_intel.cli.map.confirm import confirm_agreement
from code_intel.errors import CodeIntelError, NotFoundError
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import visible
from code_intel.learned.learn import checked, learn
from code_intel.learned.proposals.current import CurrentCode, Place
from code_intel.learned.proposals.review_file import (
    PROPOSE_FIRST,
    ReviewItem,
    close_item,
    read_review,
)
from code_intel.records import Agreement, Definition, FileReference
from code_intel.tools.context.freshness import refresh_map
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.symbol_facts import definitions_of, nearest, sole_body
from code_intel.tools.declaration import Answer

QUESTION = "Right? [y]es, [n]o, [e]dit, [s]kip, [q]uit: "
ANSWERS = {"y": "yes", "n": "no", "e": "edit", "s": "skip", "q": "quit"}

Ask = Callable[[str], str]


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
        Added(item, "" if dry else await _add(context, item, agreement))
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


async def review(context: GatewayContext, ask: Ask | None = None) -> Answer:
    """Ask about each proposal of the review file; stop at the end of the input."""
    ask = ask or _ask
    counts = dict.fromkeys(("confirmed", "refused", "skipped"), 0)
    items = (await run_in_thread(read_review, context.settings)).items
    for position, item in enumerate(items, start=1):
        _show(f"\n{position} of {len(items)}\n{_described(context, item)}")
        choice, chosen = _chosen(item, ask)
        if choice == "quit":
            break
        if choice == "skip":
            counts["skipped"] += 1
        elif choice == "no":
            await run_in_thread(partial(close_item, context.settings, item.number, refused=True))
            counts["refused"] += 1
        else:
            counts["confirmed" if await _confirmed(context, chosen) else "skipped"] += 1
    text = ", ".join(f"{what} {count}" for what, count in counts.items())
    commit = " Commit the files of the agreements to share them." if counts["confirmed"] else ""
    return Answer(
        {**counts, "open": len(items) - sum(counts.values())}, f"\n{text.capitalize()}.{commit}"
    )


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


async def _add(context: GatewayContext, item: ReviewItem, agreement: Agreement) -> str:
    """Write an agreement, unconfirmed, and close its proposal; return the name of its file."""
    learned = await run_in_thread(partial(learn, context.settings, agreement, confirmed=False))
    await run_in_thread(partial(close_item, context.settings, item.number, refused=False))
    await refresh_map(context, learned.agreement_file)
    return learned.agreement_file.name


async def _confirmed(context: GatewayContext, item: ReviewItem) -> bool:
    """Add and confirm a proposal; say why if that is not possible."""
    try:
        agreement = await agreement_now(context, item)
        await _add(context, item, agreement)
        pair = agreement.nl_term, agreement.symbol
        answer = await confirm_agreement(context, *pair, file=item.path, dry=False)
    except CodeIntelError as error:
        _show(f"{error.message} {error.hint}".strip())
        return False
    _show(answer.text)
    return True


def _chosen(item: ReviewItem, ask: Ask) -> tuple[str, ReviewItem]:
    """Return what to do with a proposal, and the proposal as it was edited."""
    while True:
        try:
            choice = ANSWERS.get(ask(QUESTION).strip().lower()[:1], "")
            if choice != "edit":
                if choice:
                    return choice, item
                continue
            item = _edited(item, ask)
        except EOFError:
            return "quit", item
        except CodeIntelError as error:
            _show(error.message)


def _edited(item: ReviewItem, ask: Ask) -> ReviewItem:
    """Ask for another term and another sentence of evidence; an empty answer keeps the old one.

    Raises:
        UsageError: The new text is too long or contains invisible characters.
    """
    agreement = item.agreement
    term = ask(f"Term [{visible(agreement.nl_term)}]: ").strip()
    sentence = ask("Evidence to put first [none]: ").strip()
    evidence = (sentence, *agreement.evidence) if sentence else agreement.evidence
    new = replace(agreement, nl_term=term or agreement.nl_term, evidence=evidence)
    found = checked(new, datetime.now(UTC))
    _show(f"{found.nl_term} → {found.symbol}")
    return replace(item, agreement=replace(found, learned_at=""))


def _files_now(item: ReviewItem, definition: Definition) -> tuple[FileReference, ...]:
    first, *others = item.agreement.files
    return (replace(first, line=definition.line), *others)


def _described(context: GatewayContext, item: ReviewItem) -> str:
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


def _show(text: str) -> None:
    print(visible(masked(text), keep="\n\t"), flush=True)


def _ask(question: str) -> str:
    """Print a question, and return a line of the input.

    Raises:
        EOFError: The input has ended.
    """
    print(question, end="", flush=True)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line
