"""Prove agreements of others by the project's own index (docs/decisions/0086 and 0098).

They come from a shared map, which is an upstream behind a URL, or from other repositories. What
they say is untrusted: the digest is only compared with the digest that the local index computed for
the symbol, and texts and files do not count.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from code_intel.foundation.text import hidden_character
from code_intel.learned.files.agreements import AgreementEntry, Key, make_key
from code_intel.learned.history.experience import NO_OBJECTIONS
from code_intel.learned.status.agreement_status import AgreementStatus
from code_intel.learned.status.definitions import facts_of
from code_intel.learned.status.snapshot import NOW
from code_intel.learned.status.validity import lookalike, own_definitions
from code_intel.records import Agreement, AgreementHit, Definition, FileReference, Hit
from code_intel.tools.context.gateway import GatewayContext

PROVEN = "The shared map confirms it, and its symbol has the same code in this project."
DIFFERENT = "The shared map has it, but its symbol has other code in this project."
PROVEN_ELSEWHERE = "Another repository has it, and its symbol has the same code in this project."
DIFFERENT_ELSEWHERE = "Another repository has it, but its symbol has other code in this project."
COMPLETE = frozenset({"fresh", "stale"})
"""States of an index that covers every file."""


def shared_standings(
    context: GatewayContext, hits: Iterable[Hit], *, since: float = NOW
) -> Mapping[Key, AgreementStatus]:
    """Return the status of each agreement that others say is valid, by its key.

    It is `valid` if the local index proves it, else `unchecked`. Agreements whose symbol this
    project does not define are left out, and so are the project's own ones.
    """
    upstream = context.settings.upstreams.get("devrag-map")
    is_shared = upstream is not None and bool(upstream.url)
    hits = [hit for hit in hits if hit.foreign or is_shared]
    if not hits or context.forest.freshness().state not in COMPLETE:
        return {}
    objections = context.map_cache.snapshot(context.settings, since=since).objections
    found: dict[Key, AgreementStatus] = {}
    for hit in hits:
        agreed = _agreement(hit.agreement) if hit.agreement else None
        if agreed is None:
            continue
        facts = facts_of(context.forest, agreed)
        if not facts.definitions:
            continue
        key = make_key(agreed.nl_term, agreed.symbol)
        place = _same_code(agreed, own_definitions(agreed, facts) or facts.definitions)
        if place and hit.foreign and not place.body:  # so short that it says nothing
            place = None
        reasons = (PROVEN_ELSEWHERE, DIFFERENT_ELSEWHERE) if hit.foreign else (PROVEN, DIFFERENT)
        files = (FileReference(place.file, place.line),) if place else ()
        entry = Agreement(agreed.nl_term, agreed.symbol, files=files, digest=agreed.digest)
        found[key] = AgreementStatus(
            AgreementEntry(Path(), entry, ""),
            validity="valid" if place else "unchecked",
            reasons=(reasons[place is None],),
            confirmed=place is not None,
            objections=objections.get(key, NO_OBJECTIONS),
        )
    return found


def is_proven(shared: Mapping[Key, AgreementStatus], key: Key) -> bool:
    """Return whether the local index proves what a shared map says of an agreement."""
    return key in shared and shared[key].validity == "valid"


def _agreement(hit: AgreementHit) -> Agreement | None:
    """Return what can be compared; None if the shared map does not say that it is valid.

    Names that a person cannot read exactly can be confirmed only in the project.
    """
    agreement = Agreement(hit.nl_term, hit.symbol, files=hit.files, digest=hit.digest)
    is_legible = not hidden_character(hit.nl_term + hit.symbol) and not lookalike(agreement)
    return agreement if hit.status == "valid" and hit.digest and is_legible else None


def _same_code(agreement: Agreement, definitions: Iterable[Definition]) -> Definition | None:
    """Return the definition with the agreed digest, if exactly one file has one."""
    same = [found for found in definitions if found.digest == agreement.digest]
    return same[0] if len({found.file for found in same}) == 1 else None
