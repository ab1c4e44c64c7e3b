"""Show the current code of the symbols that the map's agreements name."""

from collections.abc import Iterable
from typing import NamedTuple

from code_intel.learned.status.validity import lookup_name
from code_intel.records import AgreementHit, Definition
from code_intel.session import short_circuit
from code_intel.session.understanding.reading import is_read
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.place_answers import ShownPlace
from code_intel.tools.context.places import Place
from code_intel.tools.context.source_file import project_path_of
from code_intel.tools.context.symbol_facts import nearest
from code_intel.tools.search.found_places import places_of_symbols
from code_intel.tools.search.map_then_forest import Lookup
from code_intel.tools.search.map_verdict import symbol_now

CANDIDATE_SHARE = 3
"""The part of the budget, as 1/n, for the code of agreements that score too low."""
WEAK_SHARE = 12
"""The same for the code of weak candidates: the head of each symbol."""
MAX_DEFINITIONS_SHOWN = 3
"""Limit of the definitions to show if several files define a symbol and none is the agreement's."""


class AgreedCode(NamedTuple):
    """The code of the agreements that answer, else of the best candidates.

    Attributes:
        places: The code, with what is related to it; of candidates, only of the fair ones.
        found: What the map answered, without READY if the code of its symbol is not shown.
        weak: The head of the code of the other candidates, which comes after the forest's places.
    """

    places: list[ShownPlace]
    found: Lookup
    weak: tuple[ShownPlace, ...] = ()


async def agreed_code(
    context: GatewayContext, found: Lookup, budget: int, *, with_relations: bool = True
) -> AgreedCode:
    """Show the code of the agreements that answer, else of the best candidates, at most three."""
    fair, weak = await run_in_thread(_agreed_definitions, context, found)
    share = budget if found.is_hit else budget // CANDIDATE_SHARE
    shown = await places_of_symbols(context, fair, share, with_relations=with_relations)
    heads = await places_of_symbols(context, weak, budget // WEAK_SHARE, with_relations=False)
    rest = tuple(item for item in heads if item.place.lines)
    best = found.judged.best if found.judged else None
    if found.judged is None or best is None or best.agreement is None or not found.is_hit:
        return AgreedCode(shown, found, rest)
    meant = await run_in_thread(_definitions_of, context, best.agreement)
    if any(_shows(context, item.place, meant) for item in shown):
        return AgreedCode(shown, found, rest)
    verdict = short_circuit.unshown(found.judged.verdict)
    unshown = found._replace(judged=found.judged._replace(verdict=verdict))
    return AgreedCode(shown, unshown, rest)


def _shows(context: GatewayContext, place: Place, definitions: Iterable[Definition]) -> bool:
    """Return whether a place shows so much of one of the definitions that it counts as read."""
    lines = range(place.first, place.last + 1)
    return any(
        place.symbol == definition.qualified
        and place.file == project_path_of(context, definition.file)
        and is_read(definition.line, definition.end_line, lines)
        for definition in definitions
    )


def _agreed_definitions(
    context: GatewayContext, found: Lookup
) -> tuple[list[Definition], list[Definition]]:
    """Return where the symbols of the agreements to show are defined: fair ones, and the others."""
    rows: dict[Definition, bool] = {}
    for hit in found.known:
        for row in _definitions_of(context, hit.agreement) if hit.agreement else ():
            rows.setdefault(row, found.is_fair(hit))
    fair = [row for row, is_fair in rows.items() if is_fair]
    return fair, [row for row, is_fair in rows.items() if not is_fair]


def _definitions_of(context: GatewayContext, agreement: AgreementHit) -> list[Definition]:
    """Return the definition in the agreement's file; all if several files have one."""
    name = lookup_name(symbol_now(agreement))
    found = context.forest.store.definitions(name, exact=True, limit=50)
    meant = nearest(found, [file.path for file in agreement.files])
    own = {file.path for file in agreement.files} & {definition.file for definition in meant}
    return meant[:1] if own else meant[:MAX_DEFINITIONS_SHOWN]
