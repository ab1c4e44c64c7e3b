"""Judge a file that a session asks to write by a quote of it (docs/decisions/0059)."""

from collections.abc import Iterator
from typing import NamedTuple

from code_intel.session.understanding.demands import IN_FIRST_HITS, Lack
from code_intel.session.understanding.denials import denial
from code_intel.session.understanding.quotes import QuotedCode

MIN_DOCUMENT_WORDS = 2
"""Rare words of the request that make a quote of a document plausible; searches for a request rank
code."""


class FileClaim(NamedTuple):
    """A file to write, a sentence that says why, and a quote of the lines that the change needs."""

    file: str
    explanation: str = ""
    quote: str = ""


class FileClaimFacts(NamedTuple):
    """What is known about a file to write.

    Attributes:
        exists: Whether the project has the file.
        is_open: Whether it may be written without a quote.
        code: The code around the quote; None if it stands in no line of the file that the session
            has printed.
        is_boilerplate: Whether the quote has only lines that stand in any file.
        is_document: Whether the file is no code.
        is_related: Whether it names a symbol that the change rests on.
    """

    exists: bool = True
    is_open: bool = False
    code: QuotedCode | None = None
    is_boilerplate: bool = False
    is_document: bool = False
    is_related: bool = False

    @property
    def is_plausible(self) -> bool:
        """Whether the quote is from a plausible place for the request."""
        if self.code is None:
            return False
        speaks = self.is_related or self.code.words >= MIN_DOCUMENT_WORDS
        return self.code.plausible or (self.is_document and speaks)


def file_lacks(claim: FileClaim, facts: FileClaimFacts) -> Iterator[Lack]:
    """Yield what a claim lacks; nothing is demanded of a file that is open.

    >>> [lack.demand for lack in file_lacks(FileClaim("a.py"), FileClaimFacts())]
    ['quote']
    """
    if facts.is_open:
        return
    read = f'snippets_get(path="{claim.file}")'
    example = f'{{"symbol": "{claim.file}", "explanation": "…", "quote": "…"}}'
    if not facts.exists:
        yield Lack("file", claim.file, "does not exist", "Name an existing file of the project")
    elif not claim.quote.strip():
        then = f"Copy a line of {read} that the change needs as its quote: {example}"
        yield Lack("quote", claim.file, "has no quote", then)
    elif not claim.explanation.strip():
        then = f"Say in one sentence why the change needs it: {example}"
        yield Lack("quote", claim.file, "has no explanation", then)
    elif words := denial(claim.explanation):
        why = f"has an explanation that denies the link (“{words}”)"
        yield Lack("denial", claim.file, why, "Leave the file out, or say why the change needs it")
    elif facts.code is None:
        why = "has a quote that does not stand in printed lines of it"
        yield Lack("quote", claim.file, why, f"Copy it verbatim from {read}")
    elif facts.is_boilerplate:
        why = "has a quote that could stand in any file"
        yield Lack("quote", claim.file, why, f"Copy a line of {read} that the change needs")
    elif not facts.is_plausible:
        yield Lack(
            "plausible",
            claim.file,
            f"is not a plausible place. {facts.code.missing_link}".strip(" ."),
            "Quote a line with words of the request, or leave the file unchanged. The search ranks "
            f"other code first; {IN_FIRST_HITS}",
            facts.code.first_hits,
        )
