"""Define how certain it is that a line refers to a symbol."""

from enum import StrEnum
from typing import NamedTuple

from code_intel.records import Definition


class Certainty(StrEnum):
    """How certain it is that a line refers to a symbol; the most certain comes first."""

    RESOLVED = "resolved"
    LIKELY = "likely"
    TEXT = "text"


_ORDER = tuple(Certainty)


class Judgement(NamedTuple):
    """What is known of one line with the name.

    Attributes:
        certainty: How certain it is that the line refers to the symbol.
        definition: The definition that it refers to, if it is resolved.
        is_other: Whether it certainly refers to something else, such as a local variable.
    """

    certainty: Certainty
    definition: Definition | None = None
    is_other: bool = False

    @property
    def rank(self) -> tuple[int, bool]:
        """What orders judgements: the most certain one comes first."""
        return _ORDER.index(self.certainty), self.is_other


NAME_ONLY = Judgement(Certainty.TEXT)
OTHER = Judgement(Certainty.TEXT, is_other=True)
