"""Collect the facts by which symbols are judged: plausible for a request, and speaking of it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from code_intel.chunking.lexicon import english
from code_intel.chunking.words import words
from code_intel.forest.ranking.closeness import FIRST_HITS, RequestSearch, search_request
from code_intel.forest.ranking.history import CommitHistory
from code_intel.foundation import git
from code_intel.index.store import Store
from code_intel.index.walk import bases
from code_intel.records import Definition
from code_intel.session.plausibility import PlausibilityFacts
from code_intel.session.state import Session
from code_intel.session.wording import content_words, fold
from code_intel.tools.context.corpus_service import EmbeddedQuery
from code_intel.tools.context.forest_service import forest_service
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.source_file import index_path_of

MAX_COMMITS = 1000
"""Number of the last commits that are read."""
MIN_PART_CHARS = 4
"""Shorter words stand in unrelated names by chance."""
_FEATURE = frozenset({"target_feature"})


class ClaimedSymbol(NamedTuple):
    """A symbol that a change is to rest on, with the quote of its code."""

    definition: Definition
    quote: str = ""


async def plausibility_facts(
    context: GatewayContext, session: Session, claims: Sequence[ClaimedSymbol]
) -> list[PlausibilityFacts]:
    """Return the facts of each claim, after one search for the request and one for each slot."""
    return await run_in_thread(facts_of, context, session, claims) if claims else []


def request_of(session: Session) -> str:
    """Return the words of the whole request: the query, and slots that it does not contain."""
    words = [session.query]
    for part in parts_of(session):
        if fold(part) not in fold(" ".join(words)):
            words.append(part)
    return ". ".join(words)


def parts_of(session: Session) -> list[str]:
    """Return the quote of each filled slot."""
    slots = session.frame.slots if session.frame else ()
    return list(dict.fromkeys(slot.quote for slot in slots))


def facts_of(
    context: GatewayContext, session: Session, claims: Iterable[ClaimedSymbol]
) -> list[PlausibilityFacts]:
    """Search, and read the symbols from the local index; this blocks."""
    service = forest_service(context)
    texts = (request_of(session), *parts_of(session))
    questions = [service.question(text) for text in texts]
    store = context.forest.store
    spelled = {token: word for word in re.findall(r"\w+", texts[0]) for token in words(word)}
    with store.snapshot():  # the active vectors may be replaced at any time
        request, *parts = (service.comparable(question) for question in questions)
        found = search_request(
            store,
            texts[0],
            request.vector,
            [(text, part.vector) for text, part in zip(texts[1:], parts, strict=True)],
            bases=bases(context.forest.config),
            history=_history(context, session.commit),
        )
        return [_facts(store, found, request, claim, spelled) for claim in claims]


def _facts(
    store: Store,
    found: RequestSearch,
    request: EmbeddedQuery,
    claim: ClaimedSymbol,
    spelled: Mapping[str, str],
) -> PlausibilityFacts:
    """Return the facts of a claim, with words as the request spells them."""
    definition = claim.definition
    close = found.closeness(
        definition, _text_of(store, definition), store.doc_of(definition), claim.quote
    )
    return PlausibilityFacts(
        symbol=definition.qualified,
        file=definition.file,
        rank=close.file_rank,
        file_score=close.file_score,
        part_score=close.part_score,
        file_words=close.file_words,
        history=close.history,
        linked=close.linked,
        in_part=close.in_part,
        words=tuple(spelled.get(token, token) for token in close.words),
        covered=close.covered,
        rare=tuple(spelled.get(token, token) for token in found.weights),
        first=found.first_names[:FIRST_HITS],
        has_vectors=request.vector is not None,
    )


def _history(context: GatewayContext, commit: str | None) -> CommitHistory | None:
    """Return the commits before the session; it must not make its own code plausible."""
    if not commit:
        return None

    def read(_: object) -> CommitHistory:
        found = git.commits(context.root, commit, MAX_COMMITS) or ()
        return CommitHistory(
            each._replace(files=tuple(index_path_of(context, file) for file in each.files))
            for each in found
        )

    return context.forest.store.cached("commits", commit, read)


def _text_of(store: Store, definition: Definition) -> str:
    """Return the code of a symbol as it is indexed."""
    text = "".join(row.text for row in store.chunks_of([definition.file]))
    return "\n".join(text.splitlines()[definition.line - 1 : definition.end_line])


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
    said = content_words(
        " ".join((quote, definition.qualified, context.forest.store.doc_of(definition)))
    )
    spoken = frozenset(
        name
        for name, asked in words_of_slots(session).items()
        if said & asked or _is_in_name(asked, definition.name)
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
    """Return whether the search for one slot finds a symbol, also in another language.

    A request in English of which the project has no rare word is not about its code: the first hits
    are then merely the least unlike.
    """
    return links.in_part and (bool(links.rare) or not request_of(session).isascii())
