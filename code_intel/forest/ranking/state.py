"""Hold the state of a ranking: files, question, situation and scores."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from code_intel.chunking.languages import row_of
from code_intel.forest.dependencies.graph import Graph
from code_intel.forest.ranking.evidence import File
from code_intel.forest.ranking.paths import PathKind, asked_kinds_of, kinds_of
from code_intel.forest.ranking.question import RankedQuestion
from code_intel.index.rows import CommitHit


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known besides the question. The first four attributes map documents to 0..1.

    Attributes:
        editing: Files that are being edited, or that the caller named.
        needed: Files that import one of those, or are imported by one.
        near: Files in the same folder as one of those.
        recent: Files that changed recently.
        weights: Factors of a scoring profile, by name of the signal; 1 if missing.
    """

    editing: Mapping[str, float] = field(default_factory=dict)
    needed: Mapping[str, float] = field(default_factory=dict)
    near: Mapping[str, float] = field(default_factory=dict)
    recent: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)


NO_SITUATION = Situation()
ReadTexts = Callable[[Collection[int]], Mapping[int, str]]
"""Returns the texts of chunks by id."""


@dataclass(slots=True)
class RankingState:
    """The state of one ranking.

    Attributes:
        files: The files that any search found, by path.
        question: The question.
        bases: Indexed folders; paths are classified relative to them.
        graph: The import graph.
        situation: What is known besides the question.
        commits: The earlier commits that are most like the question, by path.
        read: Reads texts from the index; by default, files have all their texts.
        scores: Scores by path; files without evidence have none.
        why: Tags by path.
        kinds: Kinds of file that the question does not ask for, by path.
        asked_kinds: Kinds of file that it asks for, by path.
    """

    files: Sequence[File]
    question: RankedQuestion
    bases: Sequence[str] = ()
    graph: Graph | None = None
    situation: Situation = NO_SITUATION
    commits: Mapping[str, CommitHit] = field(default_factory=dict)
    read: ReadTexts = lambda chunks: {}  # noqa: ARG005 - see above
    scores: dict[str, float] = field(default_factory=dict)
    why: dict[str, list[str]] = field(default_factory=dict)
    kinds: dict[str, Sequence[PathKind]] = field(init=False, default_factory=dict)
    asked_kinds: dict[str, Sequence[PathKind]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Classify every path."""
        for file in self.files:
            place = (file.path, self.question, self.bases)
            kinds = kinds_of(*place)
            self.kinds[file.path] = [kind for kind in kinds if not _is_source(file, kind)]
            self.asked_kinds[file.path] = asked_kinds_of(*place)

    def read_texts(self, wanted: Iterable[tuple[File, int]]) -> None:
        """Read the texts of chunks, all at once, into the `texts` of their files."""
        missing = {chunk: file for file, chunk in wanted if chunk not in file.texts}
        for chunk, text in self.read(missing.keys()).items() if missing else ():
            missing[chunk].texts[chunk] = text

    def has_vectors(self) -> bool:
        """Return whether the question was compared with vectors."""
        return any(file.cosines for file in self.files)

    def path_factors(self) -> dict[str, float]:
        """Return the factor of each path by its kinds, 0 to 1."""
        return {path: prod(kind.factor for kind in kinds) for path, kinds in self.kinds.items()}

    def best(self, limit: int) -> list[File]:
        """Return the best files so far, best first, ties by path."""
        found = [file for file in self.files if self.scores.get(file.path, 0.0) > 0]
        return sorted(found, key=lambda file: (-self.scores[file.path], file.path))[:limit]


def _is_source(file: File, kind: PathKind) -> bool:
    """Return whether a file is not of a kind although its folder says so.

    Code that defines symbols in a folder named `doc` is the source of a package of that name.
    """
    if kind.name != "docs":
        return False
    return row_of(file.path).complete and any(row.names for row in file.rows)
