"""Find the slots of a session's frame of which code and its quote speak."""

from code_intel.chunking.lexicon import english
from code_intel.records import Definition
from code_intel.session.plausibility import PlausibilityFacts
from code_intel.session.state import Session
from code_intel.session.wording import content_words, fold
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.plausible import request_of

MIN_PART_CHARS = 4
"""Shorter words stand in unrelated names by chance."""
_FEATURE = frozenset({"target_feature"})


def spoken_slots(
    context: GatewayContext,
    session: Session,
    definition: Definition,
    quote: str,
    links: PlausibilityFacts | None,
) -> frozenset[str]:
    """Return the slots with a word of the quote, or of the symbol's name or documentation.

    Words may be run together in a name: `ltrim` in `f_ltrimstr`.
    A symbol that the search for one slot finds speaks of the feature without a common word.
    """
    words = content_words(
        " ".join((quote, definition.qualified, context.forest.store.doc_of(definition)))
    )
    spoken = frozenset(
        name
        for name, asked in words_of_slots(session).items()
        if words & asked or _is_in_name(asked, definition.name)
    )
    return spoken | (_FEATURE if links and _is_found_by_meaning(session, links) else frozenset())


def words_of_slots(session: Session) -> dict[str, frozenset[str]]:
    """Return the content words of each slot; of a session without a frame, of `query`.

    Japanese words count also in English.
    """
    slots = session.frame.slots if session.frame else ()
    asked = {slot.name: f"{slot.value} {slot.quote}" for slot in slots} or {"query": session.query}
    return {name: _words_of(value) for name, value in asked.items()}


def _is_in_name(asked: frozenset[str], name: str) -> bool:
    folded = fold(name)
    return any(len(word) >= MIN_PART_CHARS and word in folded for word in asked)


def _words_of(text: str) -> frozenset[str]:
    translated = " ".join(word for row in english(text) for word in row)
    return content_words(text) | content_words(translated)


def _is_found_by_meaning(session: Session, links: PlausibilityFacts) -> bool:
    """Return whether the search for one slot finds a symbol, be it in another language.

    A request in English of which the project has no rare word is not about its code: the first hits
    are then merely the least unlike.
    """
    return links.in_part and (bool(links.rare) or not request_of(session).isascii())
