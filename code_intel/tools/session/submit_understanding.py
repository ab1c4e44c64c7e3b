"""Implement the tool `submit_understanding`."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from code_intel.session import requirements
from code_intel.session.guidance import next_step
from code_intel.session.requirements import Submission, UnderstandingFacts, UnderstandingVerdict
from code_intel.session.state import Session, Step
from code_intel.tools.context.gateway import GatewayContext, LockedSession, run_in_thread
from code_intel.tools.context.project_files import FileList, existing_files, spelled_files
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
from code_intel.tools.declaration import Answer, SessionId

Names = Annotated[list[Annotated[str, Field(max_length=300)]], Field(max_length=200)]


async def submit_understanding(
    context: GatewayContext,
    symbols_identified: Annotated[
        Names, Field(description="The relevant symbols, spelled as in the code.")
    ],
    entry_points: Annotated[
        Names, Field(description="Functions or methods where execution starts.")
    ] = [],
    files_analyzed: Annotated[
        FileList,
        Field(description="Files that you have looked at."),
    ] = [],
    existing_patterns: Annotated[
        Names, Field(description="Conventions of the code to follow.")
    ] = [],
    notes: str = "",
    session_id: SessionId = None,
) -> Answer:
    """Submit what you have understood, in EXPLORATION. It is checked against the index and files.

    Leads to READY (files may be written) if it meets all requirements for the session's risk, and
    to SEMANTIC if something is missing or unproven. A submission that is malformed, or made before
    using the required tools, is refused and does not change the phase.
    """
    symbols = await canonical_names(context, symbols_identified)
    files_analyzed = await run_in_thread(spelled_files, context.root, files_analyzed)
    submission = Submission(
        tuple(symbols),
        tuple(entry_points),
        tuple(files_analyzed),
        tuple(existing_patterns),
        notes,
    )
    async with context.session(session_id, "submit_understanding") as locked:
        facts = await _facts(context, locked.session, symbols, files_analyzed)

        def judgement(session: Session) -> tuple[UnderstandingVerdict, list[Step]]:
            verdict = requirements.submit_understanding(session, submission, facts)
            return verdict, [verdict.step]

        verdict = await locked.decide(judgement)
    return _answer(locked, verdict)


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
