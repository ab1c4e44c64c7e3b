"""Review the proposals of the review file in a terminal."""

import sys
from collections.abc import Callable

from code_intel.errors import CodeIntelError
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import visible
from code_intel.learned.proposals.review_file import ReviewItem, read_review
from code_intel.operations.map.proposals import (
    confirm_proposal,
    described,
    edited,
    refuse_proposal,
)
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.declaration import Answer

QUESTION = "Right? [y]es, [n]o, [e]dit, [s]kip, [q]uit: "
ANSWERS = {"y": "yes", "n": "no", "e": "edit", "s": "skip", "q": "quit"}

Ask = Callable[[str], str]


async def review(context: GatewayContext, ask: Ask | None = None) -> Answer:
    """Ask about each proposal of the review file; stop at the end of the input."""
    ask = ask or _ask
    counts = dict.fromkeys(("confirmed", "refused", "skipped"), 0)
    items = (await run_in_thread(read_review, context.settings)).items
    for position, item in enumerate(items, start=1):
        _show(f"\n{position} of {len(items)}\n{described(context, item)}")
        choice, chosen = _chosen(item, ask)
        if choice == "quit":
            break
        if choice == "skip":
            counts["skipped"] += 1
        elif choice == "no":
            await refuse_proposal(context, item.number)
            counts["refused"] += 1
        else:
            counts["confirmed" if await _confirmed(context, chosen) else "skipped"] += 1
    text = ", ".join(f"{what} {count}" for what, count in counts.items())
    commit = " Commit the files of the agreements to share them." if counts["confirmed"] else ""
    return Answer(
        {**counts, "open": len(items) - sum(counts.values())}, f"\n{text.capitalize()}.{commit}"
    )


async def _confirmed(context: GatewayContext, item: ReviewItem) -> bool:
    """Add and confirm a proposal; say why if that is not possible."""
    try:
        answer = await confirm_proposal(context, item)
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
    term = ask(f"Term [{visible(item.agreement.nl_term)}]: ").strip()
    sentence = ask("Evidence to put first [none]: ").strip()
    new = edited(item, term, sentence)
    _show(f"{new.agreement.nl_term} → {new.agreement.symbol}")
    return new


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
