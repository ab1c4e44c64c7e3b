"""Notes of a migration report."""

from typing import NamedTuple


class Note(NamedTuple):
    """A file's name relative to the project, and a clause about it."""

    file: str
    text: str
