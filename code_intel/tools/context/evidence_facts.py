"""Gather the facts by which claims with quotes are judged: index, files, prints, search, map."""

import re
from collections.abc import Iterable, Sequence
from functools import partial

from code_intel.index.corpus import priority
from code_intel.learned.status.agreement_status import standings
from code_intel.records import Definition
from code_intel.session.paths import plain_path
from code_intel.session.plausibility import (
    PlausibilityFacts,
    first_hits,
    is_plausible,
    missing_link,
)
from code_intel.session.risk import ChangeFacts
from code_intel.session.state import Session
from code_intel.session.understanding.claims import Claim, NewSymbol, Understanding
from code_intel.session.understanding.demands import (
    MAX_CALLERS,
    MAX_TESTS,
    ClaimFacts,
    UseFacts,
)
from code_intel.session.understanding.judging import EvidenceFacts
from code_intel.session.wording import as_written, content_words, symbol_parts
from code_intel.tools.context.claimed_code import NO_LINES, ClaimedCode, Lines, code_of
from code_intel.tools.context.freshness import refresh_changed
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.plausible import (
    ClaimedSymbol,
    plausibility_facts,
    request_of,
    spoken_slots,
    words_of_slots,
)
from code_intel.tools.context.prints import current_lines
from code_intel.tools.context.project_files import existing_files
from code_intel.tools.context.quoted_code import stands
from code_intel.tools.context.source_file import index_path_of, project_path_of
from code_intel.tools.context.symbol_facts import (
    created_since,
    defines_code,
    definitions_of,
    is_all_code_indexed,
)
from code_intel.tools.context.uses.relations import TESTS, Relation, relations

MAX_RELATED = 200
"""Maximum uses of a symbol to read."""
MAX_REFRESHED = 50


async def evidence_facts(
    context: GatewayContext, session: Session, submitted: Understanding
) -> tuple[Understanding, EvidenceFacts]:
    """Return a submission with each symbol spelled as in the index, and the facts about it."""
    lines = await run_in_thread(current_lines, context, session)
    besides = [_as_claim(context, session, new) for new in submitted.new_symbols]
    claims = _distinct(submitted.claims)
    names = [claim.symbol for claim in (*claims, *besides)]
    found = await _definitions(context, names, list(lines)[:MAX_REFRESHED])
    codes = [
        await run_in_thread(code_of, context, session, claim, found.get(claim.symbol, ()), lines)
        for claim in (*claims, *besides)
    ]
    claims = [
        claim._replace(symbol=code.definition.qualified) if code and code.readable else claim
        for claim, code in zip(claims, codes, strict=False)
    ]
    everything = [*claims, *besides]
    judged = await _plausibility(context, session, everything, codes)
    added = await created_since(context, session, names) if session.intent.writes else frozenset()
    rows = [
        await _symbol_facts(context, session, claim, code, found.get(name, ()), lines, links)
        for claim, name, code, links in zip(everything, names, codes, judged, strict=True)
    ]
    symbols = [
        facts._replace(is_new=name in added) for (facts, _), name in zip(rows, names, strict=True)
    ]
    size = len(claims)
    defines = await defines_code(context, [*lines, *(claim.file for claim in claims)])
    facts = EvidenceFacts(
        symbols=tuple(symbols[:size]),
        changes=await _changes(context, session, rows[:size], judged[:size]),
        neighbours=tuple(symbols[size:]),
        existing_files=frozenset(
            await run_in_thread(
                existing_files, context.root, [new.file for new in submitted.new_symbols]
            )
        ),
        nothing_defined=not defines and await is_all_code_indexed(context),
    )
    return submitted._replace(claims=tuple(claims)), facts


def _distinct(claims: Iterable[Claim]) -> list[Claim]:
    """Return the claims without repetitions; of several for one symbol, the first with a quote."""
    found: dict[tuple[str, str], Claim] = {}
    for claim in claims:
        key = claim.key, plain_path(claim.file)
        if key not in found or not found[key].quote:
            found[key] = claim
    return list(found.values())


async def _definitions(
    context: GatewayContext, names: Sequence[str], printed: Iterable[str]
) -> dict[str, list[Definition]]:
    """Return the definitions of each name in the current files.

    A file that was printed may be so new that the index does not know it yet.
    """
    new = [index_path_of(context, file) for file in printed]
    await run_in_thread(refresh_changed, context, new)
    found = await definitions_of(context, names)
    files = dict.fromkeys(d.file for rows in found.values() for d in rows)
    await run_in_thread(
        partial(refresh_changed, context, list(files)[:MAX_REFRESHED], exactly=True)
    )
    return await definitions_of(context, names)


def _as_claim(context: GatewayContext, session: Session, new: NewSymbol) -> Claim:
    """Return what a new symbol will join as a claim: a file, or a symbol.

    A symbol is looked for in the new symbol's own file, if that exists.
    """
    beside, own = (
        session.relative(name) if name.strip() else "" for name in (new.beside, new.file)
    )
    existing = existing_files(context.root, [beside, own])
    if beside in existing:
        return Claim("", beside)
    return Claim(new.beside, own if own in existing else "")


async def _plausibility(
    context: GatewayContext,
    session: Session,
    claims: Sequence[Claim],
    codes: Sequence[ClaimedCode | None],
) -> list[PlausibilityFacts | None]:
    """Return what links each claim to the request; None for code that is not certain."""
    asked = [
        ClaimedSymbol(code.definition, claim.quote)
        for claim, code in zip(claims, codes, strict=True)
        if code
    ]
    answers = iter(await plausibility_facts(context, session, asked))
    return [next(answers) if code else None for code in codes]


async def _symbol_facts(
    context: GatewayContext,
    session: Session,
    claim: Claim,
    code: ClaimedCode | None,
    found: Sequence[Definition],
    lines: Lines,
    links: PlausibilityFacts | None,
) -> tuple[ClaimFacts, ChangeFacts]:
    """Return the facts about one claim, and those that decide its risk."""
    change = ChangeFacts(claim.symbol, session.intent)
    if code is None:
        places = tuple(dict.fromkeys(f"{project_path_of(context, d.file)}:{d.line}" for d in found))
        name = claim.symbol or claim.file
        return ClaimFacts(name, places=places if len(places) > 1 else ()), change
    definition, printed = code.definition, lines.get(code.file, NO_LINES)
    uses = await relations(context, definition, MAX_RELATED) if code.readable else None
    callers, tests = (uses.callers, uses.tests) if uses else ((), ())
    seen = [_use(use, lines) for use in callers]
    tests_seen = [_test(session, use, lines) for use in tests[:MAX_TESTS]]
    facts = ClaimFacts(
        name=definition.qualified,
        file=code.file,
        first=definition.line,
        last=definition.end_line,
        printed=printed,
        was_printed=_was_printed(session, code, printed),
        quote_stands=stands(claim.quote, code, printed),
        quote_is_unread=stands(claim.quote, code, frozenset(code.lines)),
        readable=code.readable,
        plausible=links is None or is_plausible(links),
        missing_link=missing_link(links) if links else "",
        first_hits=first_hits(links) if links else (),
        speaks_of=spoken_slots(context, session, definition, claim.quote, links),
        slot_lines=_slot_lines(session, code, printed),
        uses=len(callers) + len(tests),
        references_seen=_looked_up(session, definition.name)
        or sum(use.printed for use in seen) >= min(len(seen), MAX_CALLERS),
        callers=tuple(seen[:MAX_CALLERS]),
        tests=tuple(tests_seen),
        users=tuple(
            dict.fromkeys(
                use.file for use in (*callers, *tests) if use.line in lines.get(use.file, NO_LINES)
            )
        ),
    )
    change = change._replace(
        symbol=definition.qualified,
        using_files=len({use.file for use in callers}),
        public=code.readable and _is_public(definition),
        tests=len(tests),
    )
    return facts, change


def _use(use: Relation, lines: Lines) -> UseFacts:
    return UseFacts(use.file, use.line, use.line in lines.get(use.file, NO_LINES), *use[2:])


def _test(session: Session, use: Relation, lines: Lines) -> UseFacts:
    """Return a use in a test, printed if an answer has listed its file."""
    listed = use.file in lines or any(use.file in call.files for call in session.calls)
    return UseFacts(use.file, use.line, listed, *use[2:])


def _was_printed(session: Session, code: ClaimedCode, printed: frozenset[int]) -> bool:
    """Return whether lines at the symbol's place were printed and are not current any more."""
    return any(
        item.file == code.file
        and not printed.issuperset(range(item.first, item.last + 1))
        and item.first <= code.definition.end_line
        and code.definition.line <= item.last
        for call in session.calls
        for item in call.printed
    )


def _slot_lines(session: Session, code: ClaimedCode, printed: frozenset[int]) -> dict[str, int]:
    """Return, for each slot, the line of the code with the most words of it; printed ones first."""
    numbers = [number for number in code.lines if number <= len(code.text)]
    words = {number: content_words(code.text[number - 1]) for number in numbers}
    found = {}
    for name, asked in words_of_slots(session).items():
        held = [number for number in numbers if asked & words[number]]
        if held:
            found[name] = max(held, key=lambda n: (n in printed, len(asked & words[n])))
    return found


def _looked_up(session: Session, name: str) -> bool:
    return any(
        call.tool == "find_references" and call.ok and symbol_parts(call.target)[-1] == name
        for call in session.calls
    )


def _is_public(definition: Definition) -> bool:
    """Return whether other files may use a symbol, by the conventions of its language."""
    parts = symbol_parts(definition.qualified)
    if any(part.startswith(("_", "#")) and not part.startswith("__") for part in parts):
        return False
    if definition.language == "go":
        return parts[-1][:1].isupper()
    if definition.language == "c" and re.match(r"\s*static\b", definition.signature):
        return False
    is_test = priority(definition.file) == TESTS
    return not is_test and not re.search(r"\b(?:private|fileprivate)\b", definition.signature)


async def _changes(
    context: GatewayContext,
    session: Session,
    rows: Sequence[tuple[ClaimFacts, ChangeFacts]],
    judged: Sequence[PlausibilityFacts | None],
) -> tuple[ChangeFacts, ...]:
    """Return what decides the risk of each claim that names certain code."""
    known = [links for links in judged if links]
    covered = {word for links in known for word in links.words}
    rare = dict.fromkeys(word for links in known for word in links.rare)
    if not any(links.first for links in known):  # the project has no word of the request
        rare = dict.fromkeys(sorted(content_words(request_of(session))))
    uncovered = as_written((word for word in rare if word not in covered), session.query)
    in_map = await _named_in_map(context) if session.intent.writes else frozenset()
    return tuple(
        change._replace(uncovered=uncovered, in_map=facts.name in in_map)
        for facts, change in rows
        if facts.is_defined
    )


async def _named_in_map(context: GatewayContext) -> frozenset[str]:
    """Return the symbols that a valid agreement names."""
    found = await run_in_thread(
        partial(standings, context.settings, context.forest, cache=context.map_cache)
    )
    return frozenset(each.symbol for each in found if each.validity == "valid")
