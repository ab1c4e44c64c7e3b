"""What submit_understanding claims, and the formal slips its author can correct without exploring."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from code_intel.session.paths import plain_path
from code_intel.session.wording import fold, fold_symbol, says_something, symbol_parts
from code_intel.text import hidden_character

LEAST_NAME = 2  # characters; a shorter symbol is contained in everything


class Submission(NamedTuple):
    """What submit_understanding claims."""

    symbols_identified: tuple[str, ...]
    entry_points: tuple[str, ...] = ()
    files_analyzed: tuple[str, ...] = ()
    existing_patterns: tuple[str, ...] = ()
    notes: str = ""


class UnderstandingFacts(NamedTuple):
    """What the index and the disk say about a submission; keys are the submission's own spelling.

    Attributes:
        defined: Symbols that our own index defines, where the session has looked.
        opened: Those of them that a file defines which the session has opened (`Session.opened_files`).
        existing_files: Files that exist inside the root.
        made: Symbols and files that are there only since the session began.
        learned: Symbols that a valid agreement pairs with the target feature.
        scores: Calibrated likeness of target feature and symbol, 0 to 1, where known.
        symbols_readable: Whether the index can know symbols here. False when none of the analysed
            files is in a language whose symbols it reads, or, with no file named, it defines
            nothing at all.
        nothing_defined: Whether it defines nothing at all, whatever was analysed.
    """

    defined: frozenset[str] = frozenset()
    opened: frozenset[str] = frozenset()
    existing_files: frozenset[str] = frozenset()
    made: frozenset[str] = frozenset()
    learned: frozenset[str] = frozenset()
    scores: Mapping[str, float] = MappingProxyType({})
    symbols_readable: bool = True
    nothing_defined: bool = False

    def exists(self, file: str) -> bool:
        """Whether a file of the submission exists, however it was spelled."""
        return file in self.existing_files or plain_path(file) in map(
            plain_path, self.existing_files
        )


def consistency_errors(submission: Submission, facts: UnderstandingFacts) -> list[str]:
    """Return the formal slips of a submission: what its author can correct without exploring."""
    return [
        error
        for check in (_bad_texts, _duplicates, _unknown_files, _stray_entries, _loose_patterns)
        for error in check(submission, facts)
    ]


def is_confusable(name: str) -> bool:
    """Whether a name mixes Latin letters with look-alikes of another alphabet."""
    scripts = {unicodedata.name(char, "").split(" ")[0] for char in name if char.isalpha()}
    return "LATIN" in scripts and bool(scripts & {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"})


def names(submission: Submission) -> tuple[str, ...]:
    """Return the symbols as folded names, each once."""
    names = (fold_symbol(name) for name in submission.symbols_identified)
    return tuple(dict.fromkeys(name for name in names if name))


def names_one(entry: str, names: tuple[str, ...]) -> bool:
    """Whether an entry point, `auth.login()` or `AuthService.login`, speaks of one of `names`."""
    parts = [fold(part) for part in re.split(r"[.(:/#\s]+", entry)]
    words = [fold(word) for name in names for word in symbol_parts(name)]
    return any(
        part in word or word in part
        for part in parts
        if len(part) >= LEAST_NAME
        for word in words
        if len(word) >= LEAST_NAME
    )


def starts_at(entry: str, name: str) -> bool:
    """Whether an entry point is a symbol: it has the symbol's own name, or its scope's, as a whole."""
    parts = {fold(part) for part in re.split(r"[.(:/#\s]+", entry)}
    return any(fold(part) in parts for part in symbol_parts(name) if len(part) >= LEAST_NAME)


def shown(text: str) -> str:
    """Return `text` with everything but plain letters of its own alphabet escaped if it deceives."""
    if hidden_character(text) or is_confusable(text):
        return text.encode("ascii", "backslashreplace").decode("ascii")
    return text


def _bad_texts(submission: Submission, facts: UnderstandingFacts) -> Iterator[str]:
    del facts
    fields = ("symbols_identified", "entry_points", "files_analyzed", "existing_patterns")
    for field in fields:
        for text in getattr(submission, field):
            if len(text.strip()) < LEAST_NAME or not says_something(text):
                yield f"{field}: {text!r} is too short to name anything"
            elif field != "existing_patterns" and hidden_character(text):
                yield f"{field}: {text!a} contains a control character"


def _duplicates(submission: Submission, facts: UnderstandingFacts) -> Iterator[str]:
    del facts
    for field, key in (("symbols_identified", fold_symbol), ("files_analyzed", plain_path)):
        seen: set[str] = set()
        for text in getattr(submission, field):
            if key(text) in seen:
                yield f"{field}: {shown(text)} is listed twice"
            seen.add(key(text))


def _unknown_files(submission: Submission, facts: UnderstandingFacts) -> Iterator[str]:
    for file in submission.files_analyzed:
        if not facts.exists(file):
            yield f"files_analyzed: {shown(file)} does not exist in the project"


def _stray_entries(submission: Submission, facts: UnderstandingFacts) -> Iterator[str]:
    del facts
    for entry in submission.entry_points:
        if not names_one(entry, submission.symbols_identified):
            yield (
                f"entry_points: {shown(entry)} names none of symbols_identified; list the symbol in "
                "both, or in neither"
            )


def _loose_patterns(submission: Submission, facts: UnderstandingFacts) -> Iterator[str]:
    del facts
    if submission.existing_patterns and not submission.files_analyzed:
        yield "existing_patterns: needs at least one of files_analyzed"
