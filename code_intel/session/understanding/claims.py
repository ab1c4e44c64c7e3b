"""Define the claims of submit_understanding, and find the malformed ones."""

from collections.abc import Iterator
from typing import NamedTuple

from code_intel.foundation.text import hidden_character, mixed_word
from code_intel.session.paths import may_be_planned
from code_intel.session.wording import fold_symbol, says_something

MIN_SYMBOL_CHARS = 2
"""A shorter name is contained in everything."""
MAX_EXPLANATION_CHARS = 2000


class Claim(NamedTuple):
    """A symbol that the change rests on.

    Attributes:
        symbol: Its name, qualified if the index knows it.
        file: The file that defines it; may be empty if only one does.
        explanation: A sentence that says why the change rests on it.
        quote: Lines of its code, verbatim.
    """

    symbol: str
    file: str = ""
    explanation: str = ""
    quote: str = ""

    @property
    def key(self) -> str:
        """Its name without arguments."""
        return fold_symbol(self.symbol)


class NewSymbol(NamedTuple):
    """A symbol that does not exist yet; `beside` is the symbol or file that it will join."""

    name: str
    file: str
    beside: str = ""


class Understanding(NamedTuple):
    """What submit_understanding submits under the demands of evidence."""

    claims: tuple[Claim, ...] = ()
    new_symbols: tuple[NewSymbol, ...] = ()
    notes: str = ""


def problems(submitted: Understanding) -> Iterator[str]:
    """Yield the formal errors of a submission, which can be corrected without reading code."""
    for claim in submitted.claims:
        yield from _bad_name("symbols_identified", claim.symbol)
        if hidden_character(claim.file):
            yield f"symbols_identified: the file of {escaped(claim.key)} has a control character"
        if len(claim.explanation) > MAX_EXPLANATION_CHARS:
            yield (
                f"symbols_identified: the explanation of {escaped(claim.key)} has more than "
                f"{MAX_EXPLANATION_CHARS} characters"
            )
    for new in submitted.new_symbols:
        yield from _bad_name("new_symbols", new.name)
        if not new.file.strip() or not may_be_planned(new.file):
            yield f"new_symbols: {escaped(new.file)} is no file of the project"


def _bad_name(field: str, name: str) -> Iterator[str]:
    if len(name.strip()) < MIN_SYMBOL_CHARS or not says_something(name):
        yield f"{field}: {escaped(name)!r} is too short"
    elif hidden_character(name):
        yield f"{field}: {name!a} contains a control character"


def escaped(text: str) -> str:
    """Return a text with escapes if it has hidden or look-alike characters."""
    if hidden_character(text) or mixed_word(text):
        return text.encode("ascii", "backslashreplace").decode("ascii")
    return text
