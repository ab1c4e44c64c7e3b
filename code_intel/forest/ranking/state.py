"""What ranking works on: the files found, the question, what the caller has at hand, and the scores so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from code_intel.forest.dependencies import Graph
from code_intel.forest.ranking.evidence import File
from code_intel.forest.ranking.paths import Kind, kinds_of
from code_intel.forest.ranking.question import Question


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known besides the question; each maps a document to how far it holds, 0 to 1.

    Attributes:
        editing: Being edited, or named by the caller.
        needed: Imports what is being edited, or is imported by it.
        near: In the same folder, or next to it.
        recent: Changed lately.
        weights: What a scoring profile makes of a signal's weight, by the signal's name; 1 if not named.
    """

    editing: Mapping[str, float] = field(default_factory=dict)
    needed: Mapping[str, float] = field(default_factory=dict)
    near: Mapping[str, float] = field(default_factory=dict)
    recent: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)


NOWHERE = Situation()
"""Nothing is known besides the question."""


@dataclass(slots=True)
class Board:
    """A ranking while it is made.

    Attributes:
        files: What any search found, by path.
        question: What is asked.
        bases: Folders that were indexed; paths are judged relative to them.
        graph: Who imports whom.
        situation: What the caller has at hand.
        scores: By path; what has no evidence has no score.
        why: Tags by path.
        kinds: What a path alone says of a file that the question does not ask for.
    """

    files: Sequence[File]
    question: Question
    bases: Sequence[str] = ()
    graph: Graph | None = None
    situation: Situation = NOWHERE
    scores: dict[str, float] = field(default_factory=dict)
    why: dict[str, list[str]] = field(default_factory=dict)
    kinds: Mapping[str, Sequence[Kind]] = field(init=False)

    def __post_init__(self) -> None:
        """Judge every path once."""
        self.kinds = {
            file.path: kinds_of(file.path, self.question, self.bases) for file in self.files
        }

    def has_vectors(self) -> bool:
        """Whether the question was asked by meaning, too."""
        return any(file.cosines for file in self.files)

    def standing(self) -> dict[str, float]:
        """Return what a path alone makes of each file, 0 to 1."""
        return {path: prod(kind.factor for kind in kinds) for path, kinds in self.kinds.items()}

    def best(self, most: int) -> list[File]:
        """Return the best files so far, best first; equals by path."""
        found = [file for file in self.files if self.scores.get(file.path, 0.0) > 0]
        return sorted(found, key=lambda file: (-self.scores[file.path], file.path))[:most]
