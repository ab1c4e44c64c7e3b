"""Define a question that a person asks in a terminal, and how it is sent to the gateway."""

import json
from typing import NamedTuple

from code_intel.records import PLACES_PER_FILE
from code_intel.tools.wire.printed import Form

TERMINAL = "terminal"
"""The name of the client in a request to the gateway."""
EVERY_REPOSITORY = "*"
"""The name of a repository that means all of them."""


class TerminalQuestion(NamedTuple):
    """A query, and how it is searched.

    Attributes:
        query: The words.
        top_k: Maximum number of files.
        per_file: Maximum number of places of one file.
        corpus: `map` or `forest`, or empty for the map first.
        own: Whether to add the best page of a query plan.
        explain: Whether to say what each row of the ranking gave to each hit of the forest.
        why_not: A file, to say where it lost instead of showing the hits; or empty.
        repositories: The repositories to search instead of the project; `*` for all of them.
    """

    query: str
    top_k: int = 5
    per_file: int = PLACES_PER_FILE
    corpus: str = ""
    own: bool = False
    explain: bool = False
    why_not: str = ""
    repositories: tuple[str, ...] = ()


class TerminalRequest(NamedTuple):
    """A question to the gateway.

    Attributes:
        question: The question.
        form: How the answer is printed.
        folder: The current folder of the terminal.
        sync: The command that updates the index.
        settings: The digest of the settings in the environment of the terminal.
    """

    question: TerminalQuestion
    form: Form
    folder: str
    sync: str
    settings: str

    def encode(self) -> bytes:
        """Return the request as JSON; escapes keep bytes that are no UTF-8."""
        return json.dumps(self).encode()


def decode_request(data: bytes) -> TerminalRequest:
    """Return the request of a terminal.

    Raises:
        ValueError, TypeError: It is malformed.
    """
    question, form, *rest = json.loads(data)
    asked = TerminalQuestion(*question)
    asked = asked._replace(repositories=tuple(asked.repositories))  # JSON has lists only
    return TerminalRequest(asked, Form(*form), *rest)
