"""Implement the tool `submit_understanding`."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from code_intel.session.requirements import Submission
from code_intel.session.understanding.claims import Claim, NewSymbol, Understanding
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.guidance import with_guidance
from code_intel.tools.context.project_files import FileList, spelled_files
from code_intel.tools.declaration import BY_NAME, UNLISTED, Answer, SessionId, from_json
from code_intel.tools.session.submit_counts import submit_counts
from code_intel.tools.session.submit_evidence import submit_evidence

MAX_ITEMS = 200
Names = Annotated[list[Annotated[str, Field(max_length=300)]], Field(max_length=MAX_ITEMS)]


class ClaimItem(BaseModel):
    """A symbol that the change rests on."""

    symbol: Annotated[str, Field(max_length=300)]
    file: Annotated[str, Field(max_length=1000)] = ""
    explanation: Annotated[str, Field(description="One sentence: why.")] = ""
    quote: Annotated[str, Field(max_length=4000, description="Its code, verbatim.")] = ""


class NewSymbolItem(BaseModel):
    """A symbol to add."""

    name: Annotated[str, Field(max_length=300)]
    file: Annotated[str, Field(max_length=1000)]
    beside: Annotated[str, Field(max_length=1000, description="A symbol or file.")] = ""


async def submit_understanding(
    context: GatewayContext,
    symbols_identified: Annotated[
        list[
            Annotated[str, Field(max_length=300)] | Annotated[ClaimItem, BeforeValidator(from_json)]
        ],
        Field(
            max_length=MAX_ITEMS, description="What the change rests on.", json_schema_extra=BY_NAME
        ),
    ],
    new_symbols: Annotated[
        list[Annotated[NewSymbolItem, BeforeValidator(from_json)]],
        Field(max_length=MAX_ITEMS, description="What does not exist yet."),
    ] = [],
    entry_points: Annotated[Names, Field(description="Optional.", json_schema_extra=UNLISTED)] = [],
    files_analyzed: Annotated[
        FileList, Field(description="Optional.", json_schema_extra=UNLISTED)
    ] = [],
    existing_patterns: Annotated[
        Names, Field(description="Optional.", json_schema_extra=UNLISTED)
    ] = [],
    notes: Annotated[str, Field(json_schema_extra=UNLISTED)] = "",
    session_id: SessionId = None,
) -> Answer:
    """Submit what the change rests on: symbols, each with a sentence and a quote of printed code.

    In EXPLORATION, it leads to READY or says which lines to read; an empty list leads to SEMANTIC.
    In READY, it adds symbols, or opens the file whose path is the symbol. A symbol that `map` has
    shown accepts that agreement: a success makes the request its alias.
    """
    claims = [
        Claim(item) if isinstance(item, str) else Claim(**item.model_dump())
        for item in symbols_identified
    ]
    async with context.session(session_id, "submit_understanding") as locked:
        if locked.session.demands == "counts":
            files = await run_in_thread(spelled_files, context.root, files_analyzed)
            given = Submission(
                tuple(claim.symbol for claim in claims),
                tuple(entry_points),
                tuple(files),
                tuple(existing_patterns),
                notes,
            )
            answer = await submit_counts(context, locked, given)
            return await with_guidance(context, locked.session, answer)
        added = [NewSymbol(**item.model_dump()) for item in new_symbols]
        named = [*(claim.file for claim in claims), *(new.file for new in added)]
        paths = iter(await run_in_thread(spelled_files, context.root, named))
        submitted = Understanding(
            tuple(claim._replace(file=next(paths)) for claim in claims),
            tuple(new._replace(file=next(paths)) for new in added),
            notes,
        )
        answer = await submit_evidence(context, locked, submitted)
        return await with_guidance(context, locked.session, answer)
