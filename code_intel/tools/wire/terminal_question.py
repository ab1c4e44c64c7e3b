"""Define a question that a person asks in a terminal."""

from typing import NamedTuple

from code_intel.records import PLACES_PER_FILE


class TerminalQuestion(NamedTuple):
    """A query, and how it is searched.

    Attributes:
        query: The words.
        top_k: Maximum number of files.
        per_file: Maximum number of places of one file.
        corpus: `map` or `forest`, or empty for the map first.
        own: Whether to add the best page of a query plan.
    """

    query: str
    top_k: int = 5
    per_file: int = PLACES_PER_FILE
    corpus: str = ""
    own: bool = False
