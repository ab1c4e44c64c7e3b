"""Choose the places of the source that an answer shows, within a token budget."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from code_intel.chunking.languages import row_of
from code_intel.forest.ranking.closeness import ASIDE
from code_intel.forest.ranking.paths import kinds_of
from code_intel.forest.ranking.question import RankedQuestion, read
from code_intel.index.corpus import is_page
from code_intel.records import Definition, Hit
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.place_answers import ShownPlace
from code_intel.tools.context.places import (
    AROUND_TOKENS,
    Match,
    Place,
    QuestionWords,
    find_match,
    show_around,
    show_symbol,
    words_of,
)
from code_intel.tools.context.uses.relations import relations

MAX_SHOWN_PLACES = 5
SYMBOL_SHARES = (1000, 500)
"""Maximum tokens of the first places, which are shown as whole symbols with their relations if they
fit. Of 80 commits, the first place is in a changed file for 45, and the second for 11."""
OTHER_CHUNK = 0.5
"""Factor for the score of a file's further chunks. They come before another file only if its score
is much lower. On 240 commits, the changed file is shown for .808 instead of .812 of them."""
MAX_WHOLE_LINES = 80
"""A symbol with more lines is rarely shown whole, so a symbol within it is a place of its own."""
PLACE_TOKENS = 40
"""Tokens of a place beside its lines and relations."""


async def places_of_hits(
    context: GatewayContext,
    hits: Sequence[Hit],
    question: str,
    budget: int,
    *,
    limit: int = MAX_SHOWN_PLACES,
    with_relations: bool = True,
) -> list[ShownPlace]:
    """Return the best places of the forest's hits, at most `limit`; see `code_first`.

    Each may use half of the remaining budget, or an even share if that is more.
    """
    words = words_of(question)
    ordered = code_first(sorted(_passages(hits), key=lambda hit: -(hit.score or 0.0)), question)
    matches = await run_in_thread(lambda: _matches(context, ordered, words, limit))
    shown: list[ShownPlace] = []
    for index, match in enumerate(matches):
        share = max(budget // 2, budget // (len(matches) - index))
        if index < len(SYMBOL_SHARES) and match.definition is not None:
            share = min(share, SYMBOL_SHARES[index])
            place = await _whole(
                context, match.definition, words, share, match.score, with_relations=with_relations
            )
        else:
            lines = min(max(share - PLACE_TOKENS, 0), AROUND_TOKENS)
            place = ShownPlace(show_around(match, lines))
        if place is not None:
            shown.append(place)
            budget = max(budget - place.cost, 0)
    return shown


async def places_of_symbols(
    context: GatewayContext,
    definitions: Sequence[Definition],
    budget: int,
    *,
    with_relations: bool = True,
) -> list[ShownPlace]:
    """Return whole symbols, as far as the budget allows."""
    shown: list[ShownPlace] = []
    for index, definition in enumerate(definitions):
        share = max(budget // 2, budget // (len(definitions) - index))
        place = await _whole(
            context, definition, QuestionWords(), share, with_relations=with_relations
        )
        if place is not None:
            shown.append(place)
            budget = max(budget - place.cost, 0)
    return shown


async def _whole(
    context: GatewayContext,
    definition: Definition,
    words: QuestionWords,
    budget: int,
    score: float = 0.0,
    *,
    with_relations: bool = True,
) -> ShownPlace | None:
    """Return a symbol; None if it is gone."""
    related = await relations(context, definition) if with_relations else None
    bare = Place(definition.file, definition.qualified, definition.line, definition.end_line, ())
    left = max(budget - ShownPlace(bare, related).cost, 0)
    place = await run_in_thread(
        partial(show_symbol, context, definition, words=words, budget=left, score=score)
    )
    return None if place is None else ShownPlace(place, related)


def _matches(
    context: GatewayContext, hits: Sequence[Hit], words: QuestionWords, limit: int
) -> list[Match]:
    """Return the first matches in different symbols, or different lines outside symbols."""
    found: list[Match] = []
    for hit in hits:
        match = find_match(context, hit, words)
        if match is not None and not any(_overlap(match, other) for other in found):
            found.append(match)
        if len(found) == limit:
            break
    return found


def code_first(hits: Sequence[Hit], question: str) -> list[Hit]:
    """Return the best hit, then those in code, then those in tests, documents and other files.

    Files that the question asks for keep their place.
    """
    asked = read(question)
    return [*hits[:1], *sorted(hits[1:], key=lambda hit: _is_aside(hit.document, asked))]


def _is_aside(path: str, asked: RankedQuestion) -> bool:
    is_code = row_of(path).complete or bool(asked.topics)
    return not is_code or any(kind.name in ASIDE for kind in kinds_of(path, asked))


def _passages(hits: Sequence[Hit]) -> Iterator[Hit]:
    """Yield the hits, and one for each further chunk of their files."""
    for hit in hits:
        if is_page(hit.document):
            continue
        yield hit
        for other in hit.others:
            yield replace(other, score=(other.score or 0.0) * OTHER_CHUNK)


def _overlap(one: Match, other: Match) -> bool:
    """Return whether two matches would show the same lines."""
    if one.source.path != other.source.path:
        return False
    if one.definition is None or other.definition is None:
        return one.first <= other.line <= one.last
    outer, inner = sorted((one.definition, other.definition), key=lambda d: d.line - d.end_line)
    is_inside = outer.line <= inner.line and inner.end_line <= outer.end_line
    return outer == inner or (is_inside and outer.end_line - outer.line < MAX_WHOLE_LINES)
