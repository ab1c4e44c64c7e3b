"""Where is it? Words, vectors and definitions, ranked by file.

gather -> the rows of `signals.RANKING`, in order -> one hit a file, and at most one page of a plan beside them
(`pages`). Each row is a pure function of what the index found; an unchanged index gives the same answer
(docs/decisions/0010).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from code_intel.errors import UsageError
from code_intel.forest import pages
from code_intel.forest.dependencies import graph_of
from code_intel.forest.ranking.evidence import File, gather
from code_intel.forest.ranking.question import read
from code_intel.forest.ranking.recency import recent_of
from code_intel.forest.ranking.signals import NAMES, RANKING, Signal, weight
from code_intel.forest.ranking.state import Board, Situation
from code_intel.forest.text.globs import matches
from code_intel.foundation.spelling import composed
from code_intel.index.rows import ChunkRow
from code_intel.index.store import NEIGHBOURS, Store
from code_intel.records import Hit

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

POOL = 300
"""Chunks asked of each search; the right file is nearly always among them (recall@10 is .97)."""


class Ranked(NamedTuple):
    """A file with its score, what its path alone makes of it (0 to 1), and tags that say why."""

    file: File
    score: float
    standing: float
    why: tuple[str, ...]


def search(
    store: Store,
    query: str,
    vector: "NDArray[np.float32] | None",
    *,
    top_k: int,
    directory: str = "",
    file_pattern: str = "",
    bases: Sequence[str] = (),
    situation: Situation | None = None,
    without: Collection[str] = (),
) -> list[Hit]:
    """Return the best chunk of each of the best files, best first.

    Args:
        store: The forest's index.
        query: A question, a phrase or a symbol, in any language.
        vector: The query's embedding, or None to search with words only.
        top_k: Most hits; a page of a plan that speaks to the question comes beside them.
        directory: Only documents below this folder.
        file_pattern: Only documents whose name matches this glob; their path, if it has a `/`.
        bases: Folders that were indexed, as documents name them; paths are judged relative to them.
        situation: What the caller has at hand; by default what was changed lately.
        without: Names of rows of `signals.RANKING` to leave out.
    """
    question = read(query)
    if not (
        question.terms or question.names
    ):  # any vector is near some other: `?!` is about nothing
        return []
    limit = NEIGHBOURS if directory or file_pattern else POOL
    files = gather(store, question, vector, limit)
    nearest = max((cosine for file in files for cosine in file.cosines.values()), default=0.0)
    if directory or file_pattern:
        files = [file for file in files if within(file.path, directory, file_pattern)]
    if situation is None:
        situation = Situation(recent=recent_of(store))
    board = Board(files, question, bases, graph_of(store, bases), situation)
    ranked = rank(board, without)[: max(top_k, 0)]
    best = ranked[0].score if ranked else 0.0
    hits = [_hit(each, each.score / best) for each in ranked]
    page = pages.best(store, question, vector, nearest)
    if page is None or top_k < 1 or not within(page.path, directory, file_pattern):
        return hits
    return pages.placed(hits, page, pages.tags_of(store, page))


def rank(board: Board, without: Collection[str] = ()) -> list[Ranked]:
    """Return the files that have any evidence for them, best first; equals by path.

    Args:
        board: What was found, and what is known besides; its scores are made here.
        without: Names of rows of `RANKING` to leave out, to see what they are worth.

    Raises:
        UsageError: No row has such a name.
    """
    if unknown := sorted(set(without) - NAMES):
        raise UsageError(f"The ranking has no row {unknown[0]}.", details={"field": "without"})
    board.scores, board.why = {}, {}
    for signal in RANKING:
        if signal.name not in without:
            _apply(signal, board)
    standing = board.standing()
    return [
        Ranked(
            file,
            board.scores[file.path],
            standing[file.path],
            tuple(board.why.get(file.path, ())),
        )
        for file in board.best(len(board.files))
    ]


def _apply(signal: Signal, board: Board) -> None:
    """Let one row of the table move the scores."""
    worth = signal.weight if signal.alone is None or board.has_vectors() else signal.alone
    worth *= board.situation.weights.get(signal.name, 1.0)
    sign = "" if signal.does == "adds" else "-"
    for path, value in signal.measure(board).items():
        if value <= 0:
            continue
        if signal.does == "adds":
            board.scores[path] = board.scores.get(path, 0.0) + worth * value
        elif path in board.scores:
            board.scores[path] *= 1 - (1 - worth) * value
        board.why.setdefault(path, []).append(f"{sign}{signal.name}")


def _hit(ranked: Ranked, score: float) -> Hit:
    row = best_chunks(ranked.file)[0]
    cosine = ranked.file.cosines.get(row.id)
    return Hit(
        document=row.path,
        chunk=row.text,
        position=row.position,
        similarity=0.0 if cosine is None else min(1.0, max(0.0, (1 + cosine) / 2)),
        score=min(1.0, score),
        symbol=row.symbols[0] if row.symbols else "",
        start_line=row.start_line,
        end_line=row.end_line,
        why=ranked.why,
    )


def best_chunks(file: File) -> tuple[ChunkRow, ...]:
    """Return the chunks of a file that were found, best first: by its own evidence, weighed as files are."""
    parts: tuple[tuple[Mapping[int, float], float], ...] = (
        (file.cosines, weight("meaning")),
        (file.body, weight("words")),
        (file.names, weight("names")),
        (file.defines, 2 * weight("defines")),
    )
    total = dict.fromkeys((row.id for row in file.rows), 0.0)
    for values, share in parts:
        most = max(values.values(), default=0.0)
        for chunk, value in values.items():
            total[chunk] += share * value / most if most > 0 else 0.0
    return tuple(sorted(file.rows, key=lambda row: (-total[row.id], row.position)))


def within(path: str, directory: str, file_pattern: str) -> bool:
    """Whether a document is below a folder and has a name (a path, if the glob has a `/`) of that glob.

    Letters stand for themselves, case included and Unicode form aside; only the glob has wildcards.
    """
    path, directory, file_pattern = map(composed, (path, directory, file_pattern))
    folder = directory.replace("\\", "/").removeprefix("./").rstrip("/")
    if folder not in {"", "."} and path != folder and not path.startswith(f"{folder}/"):
        return False
    subject = path if "/" in file_pattern else path.rpartition("/")[2]
    return not file_pattern or matches(subject, file_pattern)
