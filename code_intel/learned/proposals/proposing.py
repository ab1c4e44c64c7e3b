"""Propose agreements for a project: gather, ask the past, and rank by how sure."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from code_intel.chunking.agreement import split_symbol
from code_intel.embedding.engine import Embedder
from code_intel.errors import EmbeddingError
from code_intel.foundation.redaction import masked
from code_intel.learned.files.agreements import Key, make_key
from code_intel.learned.proposals.changes import (
    MAX_COMMITS,
    History,
    IsSource,
    Report,
    read_history,
)
from code_intel.learned.proposals.composing import Proposal, compose
from code_intel.learned.proposals.current import CurrentCode
from code_intel.learned.proposals.owners import owner_of
from code_intel.learned.proposals.past_requests import Rights, ask_past
from code_intel.learned.proposals.review_file import ReviewItem
from code_intel.learned.proposals.texts import text_proposals
from code_intel.learned.recall.calibration import Calibration
from code_intel.learned.recall.glossary import content_words

MIN_SURE = 0.6
"""Share of right answers that must be expected of a proposal; a lower one leaves it out."""
UNTESTED = 0.5
"""Share that is assumed without answers to earlier requests."""


class Proposed(NamedTuple):
    """The proposals, the surest first.

    Attributes:
        proposals: The proposals.
        current: The code that they are about.
        commits: The number of commits that were read.
        left_out: The number of proposals that are expected to be wrong more often than right.
        unchecked: Why earlier requests were not asked; empty if they were.
    """

    proposals: Sequence[Proposal]
    current: CurrentCode
    commits: int
    left_out: int
    unchecked: str = ""


def propose(
    root: Path,
    paths: Sequence[str],
    is_source: IsSource,
    embedder: Embedder | None,
    constants: Calibration | None,
    known: Collection[Key],
    report: Report,
    limit: int = MAX_COMMITS,
) -> Proposed:
    """Propose agreements for a project; write nothing.

    Args:
        root: The project.
        paths: Its files.
        is_source: Returns whether a path is code of the project itself.
        embedder: The map's model; None without one.
        constants: The constants of the map's score with this model, if it is calibrated.
        known: Agreements that exist, and proposals that were refused; they are left out.
        report: Receives the progress.
        limit: Number of the latest commits that are read.

    Raises:
        CodeIntelError: git failed.
    """
    current = CurrentCode(root)
    history = read_history(root, current, is_source, report, limit)
    found = compose(history.changes, current)
    found += text_proposals(current, paths, is_source, [each.place for each in found])
    found = list({each.key: each for each in reversed(found)}.values())[::-1]
    rights, why = _asked(history, found, embedder, constants, report)
    owner = owner_of(current)
    ranked = [_owned(each._replace(sure=sureness(each, rights)), owner(each.place.path))
              for each in found]  # fmt: skip
    kept = [each for each in ranked if rights is None or rights.share(each) >= MIN_SURE]
    kept.sort(key=lambda each: (-each.sure, -len(each.commits), each.key))
    new = [each for each in kept if make_key(*each.key) not in known]
    return Proposed(new, current, history.commits, len(ranked) - len(kept), why)


def review_items(found: Proposed) -> Iterator[ReviewItem]:
    """Yield the proposals as the review file keeps them, numbered from 1."""
    for number, each in enumerate(found.proposals, start=1):
        symbol = found.current.symbol(each.place)
        assert symbol is not None  # noqa: S101 - only current symbols are proposed
        yield ReviewItem(
            number,
            each.agreement,
            each.sure,
            (symbol.start_line, symbol.end_line),
            tuple(zip(each.commits, each.titles, strict=True)),
            each.sources,
            masked(found.current.code(each.place)),
        )


def sureness(proposal: Proposal, rights: Rights | None) -> float:
    """Return how sure a proposal is, from 0 to 1.

    The share of right answers to expect counts. It is lowered if the term's commit changed more
    than the symbol, if few sources say the same, or if the code shares no word with the term.
    """
    expected = rights.share(proposal) if rights else UNTESTED
    agreement = proposal.agreement
    said = frozenset().union(*map(content_words, (split_symbol(agreement.symbol), *proposal.said)))
    is_named = any(word in said for word in content_words(agreement.nl_term))
    count = len(proposal.commits) + len(proposal.sources)
    signs = (proposal.share, 1 - 0.5**count, float(is_named))
    return expected * (1 + sum(signs) / len(signs)) / 2


def _asked(
    history: History,
    proposals: Sequence[Proposal],
    embedder: Embedder | None,
    constants: Calibration | None,
    report: Report,
) -> tuple[Rights | None, str]:
    """Return the answers to earlier requests, or why they are missing."""
    if embedder is None:
        return None, "No embedding model is installed."
    if constants is None:
        return None, "The embedding model is not calibrated: run `code-intel calibrate`."
    try:
        rights = ask_past(history, proposals, embedder, constants, report)
    except EmbeddingError as error:
        return None, error.message
    return (rights, "") if rights.answers else (None, "No earlier request has an answer.")


def _owned(proposal: Proposal, owner: str) -> Proposal:
    if not owner:
        return proposal
    return proposal._replace(agreement=replace(proposal.agreement, extra=(("owner", owner),)))
