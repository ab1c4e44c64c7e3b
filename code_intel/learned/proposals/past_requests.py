"""Ask the proposals the requests of earlier commits, and count the right answers.

The messages of the commits are requests whose answer is known: the files that were changed. Each is
put to the proposals that do not rest on its own commit, through the map's own score. So the history
says how far a proposal can be trusted, without labels (docs/decisions/0084).
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from code_intel.chunking.agreement import card as card_text
from code_intel.embedding.engine import Embedder
from code_intel.learned.proposals.changes import History, Report
from code_intel.learned.proposals.composing import Proposal
from code_intel.learned.recall.calibration import Calibration
from code_intel.learned.recall.candidates import MAX_CANDIDATES
from code_intel.learned.recall.recall import Card, recall

MAX_REQUESTS = 600
"""Number of the latest requests that are asked."""
BLOCK_TEXTS = 32
"""Number of texts after which progress is reported."""
COUNTED_SCORE = 0.6
"""Score from which an answer counts. It is below VERIFICATION, so that there are enough answers."""
PRIOR, PRIOR_ANSWERS = 0.5, 2.0
FILE_ANSWERS, SYMBOL_ANSWERS, OWN_ANSWERS = 8.0, 2.0, 2.0
"""Number of answers as which the next wider estimate counts."""

Scored = list[tuple[float, int]]
"""Scores with the numbers of the proposals, best first."""


class Rights(NamedTuple):
    """Right and wrong answers: in all (key None), by file, by symbol and by proposal."""

    right: Counter[object]
    wrong: Counter[object]

    @property
    def answers(self) -> int:
        """The number of answers."""
        return self.right[None] + self.wrong[None]

    def share(self, proposal: Proposal) -> float:
        """Return the share of right answers to expect from a proposal.

        Its own answers count beside those for its symbol, its file and the whole project.
        """
        place, found = proposal.place, PRIOR
        for key, weight in (
            (None, PRIOR_ANSWERS),
            (place.path, FILE_ANSWERS),
            (place, SYMBOL_ANSWERS),
            (proposal.key, OWN_ANSWERS),
        ):
            right, wrong = self.right[key], self.wrong[key]
            found = (right + weight * found) / (right + wrong + weight)
        return found


def ask_past(
    history: History,
    proposals: Sequence[Proposal],
    embedder: Embedder,
    constants: Calibration,
    report: Report,
) -> Rights:
    """Return how often the proposals are right about the files of earlier commits.

    Raises:
        EmbeddingError: There is no model.
    """
    rights = Rights(Counter(), Counter())
    asked = history.requests[:MAX_REQUESTS]
    if not asked or not proposals:
        return rights
    texts = [request.text for request in asked]
    skipped = [
        frozenset(at for at, each in enumerate(proposals) if request.commit in each.commits)
        for request in asked
    ]
    found = scores(texts, proposals, embedder, constants, report, skipped)
    for request, answers in zip(asked, found, strict=True):
        for score, number in answers:
            if score < COUNTED_SCORE:
                break
            proposal = proposals[number]
            counts = rights.right if is_right(proposal, request.files) else rights.wrong
            counts.update((None, proposal.place.path, proposal.place, proposal.key))
    return rights


def scores(
    texts: Sequence[str],
    proposals: Sequence[Proposal],
    embedder: Embedder,
    constants: Calibration,
    report: Report,
    skipped: Sequence[frozenset[int]] = (),
) -> list[Scored]:
    """Return the proposals that the map would compare with each text, with their scores.

    Args:
        texts: Requests.
        proposals: The proposals, as a map.
        embedder: The map's model.
        constants: Its constants.
        report: Receives the progress.
        skipped: For each text, the numbers of the proposals that it is not put to.

    Raises:
        EmbeddingError: There is no model.
    """
    import numpy as np

    cards = [card_text(each.agreement) for each in proposals]
    total = len(cards) + len(texts)
    rows = []
    for start in range(0, len(cards), BLOCK_TEXTS):
        report(start, total, "earlier requests")
        rows.append(embedder.passages(cards[start : start + BLOCK_TEXTS]))
    vectors = np.concatenate(rows)
    passages = constants.space.passages(vectors)
    found = []
    for at, text in enumerate(texts):
        if at % BLOCK_TEXTS == 0:
            report(len(cards) + at, total, "earlier requests")
        query = embedder.queries([text])[0]
        cosines = passages @ constants.space.queries(query.reshape(1, -1))[0]
        without = skipped[at] if skipped else frozenset()
        order = [place for place in np.argsort(-cosines).tolist() if place not in without]
        places = sorted(order[:MAX_CANDIDATES])
        asked = [Card(proposals[place].agreement, vectors[place]) for place in places]
        matches = recall(text, query, asked, constants)
        found.append([(match.score, places[match.card]) for match in matches])
    report(total, total, "earlier requests")
    return found


def is_right(proposal: Proposal, files: frozenset[str]) -> bool:
    """Return whether a proposal names one of some files."""
    return any(file.path in files for file in proposal.agreement.files)
