"""Where is it? Words, vectors and definitions, ranked by file.

gather -> measure -> weigh -> penalise -> one hit a file. Each step is a pure function of what the index
found; an unchanged index gives the same answer (docs/decisions/0010).
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from code_intel.forest.copies import derived
from code_intel.forest.evidence import File, gather
from code_intel.forest.globs import matches
from code_intel.forest.paths import kinds_of
from code_intel.forest.question import Question, read
from code_intel.forest.signals import COPY, SIGNALS, scale
from code_intel.index.rows import ChunkRow
from code_intel.index.store import NEIGHBOURS, Store
from code_intel.records import Hit
from code_intel.spelling import composed

if TYPE_CHECKING:  # numpy costs a handshake 0.1 s
    import numpy as np
    from numpy.typing import NDArray

POOL = 600
"""Chunks asked of each search; the right file is nearly always among them (recall@10 is .97)."""


NEAR = 60
"""Files that are looked at for copies."""


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
) -> list[Hit]:
    """Return the best chunk of each of the best files, best first.

    Args:
        store: The forest's index.
        query: A question, a phrase or a symbol, in any language.
        vector: The query's embedding, or None to search with words only.
        top_k: Most hits.
        directory: Only documents below this folder.
        file_pattern: Only documents whose name matches this glob; their path, if it has a `/`.
        bases: Folders that were indexed, as documents name them; paths are judged relative to them.
    """
    question = read(query)
    if not (question.terms or question.names):  # any vector is near some other: `?!` is about nothing
        return []
    limit = NEIGHBOURS if directory or file_pattern else POOL
    files = [
        file
        for file in gather(store, question, vector, limit)
        if within(file.path, directory, file_pattern)
    ]
    ranked = rank(files, question, bases)[: max(top_k, 0)]
    best = ranked[0].score if ranked else 0.0
    return [_hit(each, each.score / best) for each in ranked]


def rank(files: Sequence[File], question: Question, bases: Sequence[str] = ()) -> list[Ranked]:
    """Return the files that have any evidence for them, best first; equals by path."""
    evidence: dict[str, float] = dict.fromkeys((file.path for file in files), 0.0)
    why: dict[str, list[str]] = {file.path: [] for file in files}
    for signal in SIGNALS:
        measured = {file.path: signal.measure(file, question) for file in files}
        values = measured if signal.spread is None else scale(measured, signal.spread)
        for path, value in values.items():
            evidence[path] += signal.weight * value
            if measured[path] > 0:
                why[path].append(signal.name)
    ranked = []
    for file in files:
        kinds = kinds_of(file.path, question, bases)
        standing = prod(kind.factor for kind in kinds)
        tags = (*why[file.path], *(f"-{kind.name}" for kind in kinds))
        if evidence[file.path] > 0:
            ranked.append(Ranked(file, evidence[file.path] * standing, standing, tags))
    return _demote_copies(sorted(ranked, key=_order))


def _demote_copies(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Put copies behind, among the files near the top; below them nobody looks."""
    near = ranked[:NEAR]
    copies = derived([each.file for each in near], {each.file.path: each.standing for each in near})
    demoted = [
        each._replace(score=each.score * COPY, why=(*each.why, "-copy"))
        if each.file.path in copies
        else each
        for each in ranked
    ]
    return sorted(demoted, key=_order)


def _order(ranked: Ranked) -> tuple[float, str]:
    return -ranked.score, ranked.file.path


def _hit(ranked: Ranked, score: float) -> Hit:
    row = _best_chunk(ranked.file)
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


def _best_chunk(file: File) -> ChunkRow:
    """Return the chunk to show: by the file's own evidence, weighed as files are."""
    weights = {signal.name: signal.weight for signal in SIGNALS}
    parts: tuple[tuple[Mapping[int, float], float], ...] = (
        (file.cosines, weights["meaning"]),
        (file.body, weights["words"]),
        (file.names, weights["names"]),
        (file.defines, 2 * weights["defines"]),
    )
    total = dict.fromkeys((row.id for row in file.rows), 0.0)
    for values, weight in parts:
        most = max(values.values(), default=0.0)
        for chunk, value in values.items():
            total[chunk] += weight * value / most if most > 0 else 0.0
    return min(file.rows, key=lambda row: (-total[row.id], row.position))


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
