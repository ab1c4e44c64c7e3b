"""How far something holds of each file found: pure functions of the board, 0 for what is not named.

What a measure is worth is not said here but in the table of `signals`.
"""

import math
import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from posixpath import basename

from code_intel.chunking.words import words
from code_intel.forest.ranking.copies import derived
from code_intel.forest.ranking.evidence import File
from code_intel.forest.ranking.paths import Kind, relative
from code_intel.forest.ranking.question import Question
from code_intel.forest.ranking.state import Board

Values = Mapping[str, float]
Measure = Callable[[Board], Values]

SHARES = (1.0, 0.5, 0.25)
"""What the best chunks of a file count for: one good chunk beats many middling ones (saturation)."""
WHOLE = math.inf
"""Scale from 0: two hits that are nearly as good must not become 1 and 0 for being the only two."""
READ = 40
"""Files whose best chunk is read for the words of the question."""
SHORTEST = 3
"""Letters of a word that is looked for within a text."""
NEAR = 40
"""Files from the top that are looked at for copies: below them nobody looks."""
TOP = 10
"""Files from the top whose imports are followed."""

_VERSION = re.compile(r"v(\d+)")
_HEADER = re.compile(r"\.h(?:h|pp|xx)?$")


def scaled(of: Callable[[File, Question], float], spread: float) -> Measure:
    """Return a measure as 0 to 1 over the files found; see `scale`."""

    def measure(board: Board) -> Values:
        return scale({file.path: of(file, board.question) for file in board.files}, spread)

    return measure


def plain(of: Callable[[File, Question], float]) -> Measure:
    """Return a measure that is 0 to 1 as it is."""
    return lambda board: {file.path: of(file, board.question) for file in board.files}


def scale(values: Values, spread: float) -> dict[str, float]:
    """Return values as 0..1: 1 is the best, 0 the least or `spread` below the best, if that is lower.

    A measure of 0 found nothing and stays 0.
    """
    found = [value for value in values.values() if value > 0]
    most = max(found, default=0.0)
    width = min(most, max(spread, most - min(found, default=0.0)))
    return {
        key: 1.0 - (most - value) / width if value > 0 else 0.0 for key, value in values.items()
    }


# --- of one file


def meaning(file: File, _: Question) -> float:
    """Return the mean cosine of the best chunks, weighted: sums would favour long files.

    A plain mean of five depends on how many chunks the index was asked for; this hardly does.
    """
    cosines = file.cosines.values()
    return _best(cosines) / sum(SHARES[: len(cosines)]) if cosines else 0.0


def body(file: File, _: Question) -> float:
    """Return the BM25 of the best chunks."""
    return _best(file.body.values())


def names(file: File, _: Question) -> float:
    """Return the BM25 of symbol names and path, of the best chunk."""
    return max(file.names.values(), default=0.0)


def defines(file: File, _: Question) -> float:
    """Return how far the file defines what the question names."""
    return max(file.defines.values(), default=0.0)


def stem(file: File, question: Question) -> float:
    """Return the share of the question's words that the file's own name is made of."""
    named = _words_of(basename(file.path).partition(".")[0])
    return len(named.intersection(question.terms)) / len(question.terms) if question.terms else 0.0


@lru_cache(maxsize=1 << 14)
def _words_of(name: str) -> frozenset[str]:
    return frozenset(words(name))


def _best(values: Collection[float]) -> float:
    """Return the best value, plus half the second, plus a quarter of the third."""
    pairs = zip(sorted(values, reverse=True), SHARES, strict=False)
    return sum(value * share for value, share in pairs)


# --- of a file among the others


def coverage(board: Board) -> Values:
    """Return the share of the question's words that a file's best chunk has, be it within others."""
    wanted = [term for term in board.question.terms if len(term) >= SHORTEST]
    found = [(max(file.body, key=file.body.__getitem__), file) for file in board.files if file.body]
    found.sort(key=lambda pair: (-pair[1].body[pair[0]], pair[1].path))
    values = {}
    for chunk, file in found[:READ] if wanted else ():
        text = next(row.text for row in file.rows if row.id == chunk).casefold()
        values[file.path] = sum(term in text for term in wanted) / len(wanted)
    return values


def of_kind(kind: Kind) -> Measure:
    """Return whether a path is of a kind that the question does not ask for."""
    return lambda board: {path: 1.0 for path, kinds in board.kinds.items() if kind in kinds}


def older(board: Board) -> Values:
    """Return the files in a version's folder (`v3/`) beside one of a later version."""
    asked = set(board.question.terms)
    latest: dict[str, int] = {}
    versions: list[tuple[str, str, int]] = []
    for file in board.files:
        above = ""
        for part in relative(file.path, board.bases).lower().split("/")[:-1]:
            if match := _VERSION.fullmatch(part):
                number = int(match[1])
                latest[above] = max(latest.get(above, 0), number)
                if part not in asked:
                    versions.append((file.path, above, number))
            above += part + "/"
    return {path: 1.0 for path, above, number in versions if number < latest[above]}


def used(board: Board) -> Values:
    """Return the score of the best file that imports a file, less where everybody does.

    What the files that answer best have in common is often what answers better. A header is in every
    file of its project and says nothing; and who asks for tests does not want what they import.
    """
    if board.graph is None or board.question.topics & {"tests", "examples"}:
        return {}
    values: dict[str, float] = {}
    for file in board.best(TOP):
        for target in board.graph.outbound(file.path):
            if board.scores.get(target, 0.0) > 0 and not _HEADER.search(target):
                common = math.sqrt(1 + len(board.graph.inbound(target)))
                value = board.scores[file.path] / common
                values[target] = max(values.get(target, 0.0), value)
    return values


def copy(board: Board) -> Values:
    """Return the files near the top that repeat a better one."""
    return dict.fromkeys(derived(board.best(NEAR), board.standing()), 1.0)
