"""Measure properties of the files that were found.

A measure is a pure function of the ranking state and returns values by path; a missing path means
0. The table in `signals` contains the weights.
"""

import math
import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from posixpath import basename

from code_intel.chunking.languages import PLAIN
from code_intel.chunking.words import words
from code_intel.forest.ranking.copies import families, near_duplicates
from code_intel.forest.ranking.evidence import File
from code_intel.forest.ranking.paths import PathKind, relative
from code_intel.forest.ranking.question import RankedQuestion
from code_intel.forest.ranking.state import RankingState

Values = Mapping[str, float]
Measure = Callable[[RankingState], Values]

CHUNK_WEIGHTS = (1.0, 0.5, 0.25)
"""Weights of a file's best chunks; one good chunk beats many mediocre ones."""
SCALE_FROM_ZERO = math.inf
"""A spread with which only 0 becomes 0; otherwise two nearly equal hits could become 1 and 0."""
MAX_COVERAGE_FILES = 40
"""Number of files whose best chunk is searched for the words of the question."""
MIN_TERM_CHARS = 3
MAX_COPY_FILES = 40
"""Number of the best files that are compared with each other."""
MAX_IMPORTERS = 10
"""Number of the best files whose imports are followed."""

_VERSION = re.compile(r"v(\d+)")
_HEADER = re.compile(r"\.h(?:h|pp|xx)?$")


def scaled(measure_file: Callable[[File, RankedQuestion], float], spread: float) -> Measure:
    """Return a measure with values from 0 to 1, scaled over the files found; see `scale`."""

    def measure(state: RankingState) -> Values:
        return scale(
            {file.path: measure_file(file, state.question) for file in state.files}, spread
        )

    return measure


def unscaled(measure_file: Callable[[File, RankedQuestion], float]) -> Measure:
    """Return a measure of values that are from 0 to 1 already."""
    return lambda state: {file.path: measure_file(file, state.question) for file in state.files}


def scale(values: Values, spread: float) -> dict[str, float]:
    """Scale values to 0..1, so that the best becomes 1.

    The least value becomes 0, or the value `spread` below the best if that is lower. A value of 0
    means that nothing was found, and remains 0.

    >>> scale({"a": 4.0, "b": 2.0, "c": 0.0}, SCALE_FROM_ZERO)
    {'a': 1.0, 'b': 0.5, 'c': 0.0}
    """
    found = [value for value in values.values() if value > 0]
    best = max(found, default=0.0)
    width = min(best, max(spread, best - min(found, default=0.0)))
    return {
        key: 1.0 - (best - value) / width if value > 0 else 0.0 for key, value in values.items()
    }


# --- measures of one file


def meaning(file: File, _: RankedQuestion) -> float:
    """Return the weighted mean cosine of the best chunks; a sum would favour long files."""
    cosines = file.cosines.values()
    return _best(cosines) / sum(CHUNK_WEIGHTS[: len(cosines)]) if cosines else 0.0


def body(file: File, _: RankedQuestion) -> float:
    """Return the weighted BM25 of the best chunks."""
    return _best(file.body.values())


def names(file: File, _: RankedQuestion) -> float:
    """Return the best chunk's BM25 over symbol names and path."""
    return max(file.names.values(), default=0.0)


def defines(file: File, _: RankedQuestion) -> float:
    """Return how well the file's definitions match a name in the question, 0 to 1."""
    return max(file.defines.values(), default=0.0)


def stem(file: File, question: RankedQuestion) -> float:
    """Return the share of the question's words that occur in the file's name."""
    named = _words_of(basename(file.path).partition(".")[0])
    return len(named.intersection(question.terms)) / len(question.terms) if question.terms else 0.0


@lru_cache(maxsize=1 << 14)
def _words_of(name: str) -> frozenset[str]:
    return frozenset(words(name))


def _best(values: Collection[float]) -> float:
    """Return the sum of the best values, weighted by `CHUNK_WEIGHTS`."""
    pairs = zip(sorted(values, reverse=True), CHUNK_WEIGHTS, strict=False)
    return sum(value * weight for value, weight in pairs)


# --- measures of a file in relation to the others


def history(state: RankingState) -> Values:
    """Return how like the question the messages of a file's commits are, 0 to 1."""
    return {
        file.path: state.commits[file.path].score
        for file in state.files
        if file.path in state.commits
    }


def coverage(state: RankingState) -> Values:
    """Return the share of the question's words that a file's best chunk contains, even in parts."""
    wanted = [term for term in state.question.terms if len(term) >= MIN_TERM_CHARS]
    found = [(max(file.body, key=file.body.__getitem__), file) for file in state.files if file.body]
    found.sort(key=lambda pair: (-pair[1].body[pair[0]], pair[1].path))
    read = found[:MAX_COVERAGE_FILES] if wanted else []
    state.read_texts((file, chunk) for chunk, file in read)
    values = {}
    for chunk, file in read:
        text = file.texts[chunk].casefold()
        values[file.path] = sum(term in text for term in wanted) / len(wanted)
    return values


def of_kind(kind: PathKind) -> Measure:
    """Return a measure that is 1 for files of a kind, or `asked` if the question asks for it."""
    return lambda state: {
        path: 1.0 if kind in kinds else kind.asked
        for path, kinds in state.kinds.items()
        if kind in kinds or kind in state.asked_kinds[path]
    }


def plain(state: RankingState) -> Values:
    """Return 1 for files in no known language that are of no other kind."""
    return {
        file.path: 1.0
        for file in state.files
        if any(row.language == PLAIN.name for row in file.rows[:1])
        and not (state.kinds[file.path] or state.asked_kinds[file.path])
    }


def older(state: RankingState) -> Values:
    """Return 1 for files in the folder of a version (`v3/`) beside that of a later version."""
    question_terms = set(state.question.terms)
    latest: dict[str, int] = {}
    versions: list[tuple[str, str, int]] = []
    for file in state.files:
        above = ""
        for part in relative(file.path, state.bases).lower().split("/")[:-1]:
            if match := _VERSION.fullmatch(part):
                number = int(match[1])
                latest[above] = max(latest.get(above, 0), number)
                if part not in question_terms:
                    versions.append((file.path, above, number))
            above += part + "/"
    return {path: 1.0 for path, above, number in versions if number < latest[above]}


def used(state: RankingState) -> Values:
    """Return the score of the best importer, divided by the square root of the number of importers.

    What the best files import often answers better than they do. Headers are omitted, because they
    are imported everywhere, and so is everything if the question asks for tests or examples.
    """
    if state.graph is None or state.question.topics & {"tests", "examples"}:
        return {}
    values: dict[str, float] = {}
    for file in state.best(MAX_IMPORTERS):
        for target in state.graph.outbound(file.path):
            if state.scores.get(target, 0.0) > 0 and not _HEADER.search(target):
                common = math.sqrt(1 + len(state.graph.inbound(target)))
                value = state.scores[file.path] / common
                values[target] = max(values.get(target, 0.0), value)
    return values


def copy(state: RankingState) -> Values:
    """Return 1 for those of the best files that are near-duplicates of another one."""
    files = [file for family in families(state.best(MAX_COPY_FILES)) for file in family]
    state.read_texts((file, row.id) for file in files for row in file.rows)
    return dict.fromkeys(near_duplicates(files, state.path_factors()), 1.0)
