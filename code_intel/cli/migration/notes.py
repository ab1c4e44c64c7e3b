"""A file, and what is to be said of it."""

from typing import NamedTuple


class Note(NamedTuple):
    """A file's name relative to the project, and a sentence or half of one."""

    file: str
    text: str
