"""Write the text of answers for their reader: an agent, or a person in a terminal.

An agent calls tools, and names files relative to the project. A person runs commands, and stands in
a folder. The data of an answer is the same for both (docs/decisions/0075).
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

from code_intel.foundation.text import visible


class Terminal(NamedTuple):
    """What a text for a terminal depends on.

    Attributes:
        root: The folder that names of files are relative to.
        folder: The current folder.
        words: Names of tools and their inputs, and what they are called in the terminal.
        sync: The command that updates the index.
    """

    root: Path
    folder: Path
    words: Mapping[str, str]
    sync: str


_terminal: ContextVar[Terminal | None] = ContextVar("terminal", default=None)
_LOCATED = re.compile(r"(?P<file>.+?)(?P<rest>:\d+(?:-\d+)?(?:  .*)?)?", re.DOTALL)


@contextmanager
def in_terminal(terminal: Terminal) -> Iterator[None]:
    """Write texts for a terminal within this context."""
    token = _terminal.set(terminal)
    try:
        yield
    finally:
        _terminal.reset(token)


def is_terminal() -> bool:
    """Return whether texts are written for a terminal."""
    return _terminal.get() is not None


def file_name(name: str) -> str:
    """Return the name of a file of the project, as the reader would name it.

    Lines after the name, as in `a.py:3-9  text`, are kept.
    """
    terminal = _terminal.get()
    if terminal is None or terminal.root == terminal.folder:
        return visible(name)
    located = _LOCATED.fullmatch(name)
    file, rest = (located["file"], located["rest"] or "") if located else (name, "")
    return visible(os.path.relpath(terminal.root / file, terminal.folder) + rest)


def advice(text: str) -> str:
    """Return a text of this program with the names that its reader uses.

    The text must not contain text of users or files.
    """
    terminal = _terminal.get()
    return text if terminal is None else in_words(text, terminal.words)


def in_words(text: str, words: Mapping[str, str]) -> str:
    """Replace whole words and phrases.

    >>> in_words("Raise top_k, or set max_top_k.", {"top_k": "--top-k"})
    'Raise --top-k, or set max_top_k.'
    """
    longest_first = sorted(words, key=len, reverse=True)
    pattern = "|".join(rf"{re.escape(word)}{_END * word[-1].isalnum()}" for word in longest_first)
    return (
        re.sub(rf"(?<![\w-])(?:{pattern})", lambda found: words[found[0]], text) if words else text
    )


def stale_text() -> str:
    """Return what a person does about an index that is out of date; agents need do nothing."""
    terminal = _terminal.get()
    return "" if terminal is None else f" Results may be out of date. Run `{terminal.sync}`."


_END = r"(?!\w)"
