"""Tool `submit_understanding`."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

from pydantic import Field

from code_intel.errors import UsageError
from code_intel.forest.grep import confined
from code_intel.session import requirements
from code_intel.session.phases import NEXT_STEP
from code_intel.session.requirements import Submission, Understanding, UnderstandingFacts
from code_intel.session.state import Session, Step
from code_intel.tools.declaration import Answer, SessionId
from code_intel.tools.desk import Desk, thread
from code_intel.tools.symbol_facts import agreed_symbols, defined_symbols, symbol_scores

Names = list[str]


async def submit_understanding(
    desk: Desk,
    symbols_identified: Annotated[
        Names, Field(description="Symbols that matter, as the code spells them.")
    ],
    entry_points: Annotated[
        Names, Field(description="Functions or methods the flow starts from.")
    ] = [],
    files_analyzed: Annotated[
        Names, Field(description="Files you have read, relative to the project.")
    ] = [],
    existing_patterns: Annotated[Names, Field(description="Conventions of the code to keep.")] = [],
    notes: str = "",
    session_id: SessionId = None,
) -> Answer:
    """Say what you have understood (phase EXPLORATION); the server checks it against index and disk.

    When everything the risk asks for is there, leads to READY. What is short or still a hypothesis
    leads to SEMANTIC; formal slips and unused tools are refused and nothing moves.
    """
    submission = Submission(
        tuple(symbols_identified),
        tuple(entry_points),
        tuple(files_analyzed),
        tuple(existing_patterns),
        notes,
    )
    async with desk.session(session_id, "submit_understanding") as held:
        defined = await defined_symbols(desk, symbols_identified)
        feature = held.session.own_words
        facts = UnderstandingFacts(
            defined=frozenset(defined),
            existing_files=frozenset(await thread(_existing, desk.root, files_analyzed)),
            learned=frozenset(await agreed_symbols(desk, feature, symbols_identified)),
            scores=await symbol_scores(desk, feature, defined),
        )

        def judgement(session: Session) -> tuple[Understanding, list[Step]]:
            verdict = requirements.submit_understanding(session, submission, facts)
            return verdict, [verdict.step]

        verdict = await held.decide(judgement)
        session = held.session
    message = f"{session.phase}. {NEXT_STEP[session.phase]}"
    if verdict.missing:
        message += " Missing: " + "; ".join(verdict.missing) + "."
    data = {
        "success": True,
        "session_id": session.id,
        "next_phase": session.phase.value,
        "evaluated_confidence": verdict.confidence,
        "risk_level": session.risk.value,
        "missing_requirements": list(verdict.missing),
        "unknown_symbols": list(verdict.unknown_symbols),
        "confusable_symbols": list(verdict.confusable),
        "mapped_symbols_count": len(session.symbols),
        "mapped_symbols": [
            {"name": s.name, "source": s.source.value, "confidence": s.confidence}
            for s in session.symbols
        ],
        "explored_files": list(session.explored_files),
        "message": message,
        "hint": NEXT_STEP[session.phase],
    }
    return Answer(data, message)


def _existing(root: Path, files: list[str]) -> set[str]:
    """Return those of `files` that exist inside the project, links followed."""
    found = set()
    for file in files:
        with suppress(UsageError):
            if (root / confined(root, file)).is_file():
                found.add(file)
    return found
