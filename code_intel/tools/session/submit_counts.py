"""Judge submit_understanding by counts, as earlier versions did (`[gate] demands = "counts"`)."""

from collections.abc import Sequence

from code_intel.session import requirements
from code_intel.session.guidance import next_step
from code_intel.session.requirements import Submission, UnderstandingFacts, UnderstandingVerdict
from code_intel.session.state import Session, Step
from code_intel.tools.context.gateway import GatewayContext, LockedSession, run_in_thread
from code_intel.tools.context.project_files import existing_files
from code_intel.tools.context.reading import seen_code
from code_intel.tools.context.symbol_facts import (
    agreed_symbols,
    can_read_symbols,
    canonical_names,
    created_since,
    defines_code,
    definitions_of,
    is_all_code_indexed,
    seen_symbols,
    symbol_scores,
)
from code_intel.tools.declaration import Answer


async def submit_counts(
    context: GatewayContext, locked: LockedSession, given: Submission
) -> Answer:
    """Judge a submission by the number of its symbols, entry points, files and patterns."""
    symbols = await canonical_names(context, given.symbols_identified)
    submission = given._replace(symbols_identified=tuple(symbols))
    facts = await _facts(context, locked.session, symbols, given.files_analyzed)

    def judgement(session: Session) -> tuple[UnderstandingVerdict, list[Step]]:
        verdict = requirements.submit_understanding(session, submission, facts)
        return verdict, [verdict.step]

    return _answer(locked, await locked.decide(judgement))


async def _facts(
    context: GatewayContext, session: Session, symbols: Sequence[str], files: Sequence[str]
) -> UnderstandingFacts:
    """Return the facts by which to check a submission, from the index, the map and the disk."""
    defined, opened = await seen_symbols(context, session, symbols)
    seen = await seen_code(context, session, await definitions_of(context, symbols))
    feature = session.own_words
    defines = await defines_code(context, [*files, *session.seen_files])
    return UnderstandingFacts(
        defined=seen.read.union(defined),
        opened=frozenset(opened),
        existing_files=frozenset(await run_in_thread(existing_files, context.root, files)),
        new_names=await created_since(context, session, symbols, files),
        learned=frozenset(await agreed_symbols(context, feature, symbols)),
        scores=await symbol_scores(context, feature, defined),
        symbols_readable=defines and can_read_symbols([*files, *session.seen_files]),
        nothing_defined=not defines and await is_all_code_indexed(context),
        read=seen.read,
        referenced=seen.referenced,
    )


def _answer(locked: LockedSession, verdict: UnderstandingVerdict) -> Answer:
    session = locked.session
    message = f"{session.phase}. {next_step(session)}"
    if verdict.missing:
        message += f" Missing: {'; '.join(verdict.missing)}. {verdict.hint}"
    return locked.answer(
        message,
        next_phase=session.phase.value,
        evaluated_confidence=verdict.confidence,
        risk_level=session.risk.value,
        missing_requirements=list(verdict.missing),
        consistency_errors=[],
        consistency_hint="",
        unknown_symbols=list(verdict.unknown_symbols),
        unseen_files=list(verdict.unseen_files),
        confusable_symbols=list(verdict.confusable),
        mapped_symbols_count=len(session.symbols),
        mapped_symbols=[
            {"name": s.name, "source": s.source.value, "confidence": s.confidence}
            for s in session.symbols
        ],
        explored_files=list(session.explored_files),
        hint=verdict.hint or next_step(session),
    )
