"""Record the decisions and conventions that a session reports, if their evidence can be checked."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from code_intel.errors import CodeIntelError
from code_intel.foundation.text import visible
from code_intel.learned.notes.change_notes import add_note
from code_intel.records import Note
from code_intel.session.paths import plain_path
from code_intel.session.state import Session
from code_intel.session.wording import fold
from code_intel.tools.context.freshness import refresh_map
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.project_files import existing_files
from code_intel.tools.context.quoted_code import quoted_code
from code_intel.tools.context.symbol_facts import definitions_of
from code_intel.tools.declaration import UNLISTED, from_json

MAX_NOTES = 10
MIN_QUOTE_CHARS = 8
"""Shortest words of the user that count as evidence."""
NO_EVIDENCE = (
    "its evidence names no file or symbol of the project, quotes no printed code and no words of "
    "the request. Name one, such as `src/errors.py`"
)
_QUOTED = re.compile(r"`([^`]+)`|「([^」]+)」|\"([^\"]+)\"")
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+(?::\d+)?|[\w-]+\.\w{1,8}(?::\d+)?")

Texts = Annotated[
    list[Annotated[str, Field(max_length=4000)]], Field(max_length=50), BeforeValidator(from_json)
]


class ConventionItem(BaseModel):
    """How this project does something."""

    title: Annotated[str, Field(max_length=200, description="The rule, in one line.")]
    evidence: Annotated[
        Texts, Field(description="Files, symbols, quotes that show it.", min_length=1)
    ]
    text: Annotated[str, Field(max_length=8000, json_schema_extra=UNLISTED)] = ""
    files: Annotated[Texts, Field(description="Globs of what it concerns.")] = []
    symbols: Annotated[Texts, Field(json_schema_extra=UNLISTED)] = []

    def note(self, session: Session) -> Note:
        """Return the item as a note."""
        return Note(
            "convention",
            self.title,
            self.text or self.title,
            files=tuple(self.files),
            symbols=tuple(self.symbols),
            evidence=tuple(self.evidence),
            session_id=session.name,
        )


class DecisionItem(BaseModel):
    """What was decided, and why."""

    title: Annotated[str, Field(max_length=200)]
    decision: Annotated[str, Field(max_length=8000)]
    evidence: Annotated[Texts, Field(min_length=1)]
    context: Annotated[str, Field(max_length=8000)] = ""
    consequences: Annotated[str, Field(max_length=8000, json_schema_extra=UNLISTED)] = ""
    supersedes: Annotated[Texts, Field(json_schema_extra=UNLISTED)] = []
    files: Annotated[Texts, Field(json_schema_extra=UNLISTED)] = []
    symbols: Annotated[Texts, Field(json_schema_extra=UNLISTED)] = []

    def note(self, session: Session) -> Note:
        """Return the item as a note."""
        return Note(
            "decision",
            self.title,
            self.decision,
            context=self.context,
            consequences=self.consequences,
            files=tuple(self.files),
            symbols=tuple(self.symbols),
            evidence=tuple(self.evidence),
            supersedes=tuple(self.supersedes),
            session_id=session.name,
        )


async def learn_notes(
    context: GatewayContext,
    session: Session,
    items: Sequence[ConventionItem | DecisionItem],
) -> list[dict[str, Any]]:
    """Write notes, unconfirmed; return a row for each, with the error if it was not written."""
    rows: list[dict[str, Any]] = []
    for item in items:
        note = item.note(session)
        row: dict[str, Any] = {"kind": note.kind, "title": note.title}
        rows.append(row)
        if not await _is_supported(context, session, note.evidence):
            row["error"] = NO_EVIDENCE
            continue
        try:
            done = await run_in_thread(add_note, context.settings, note, cache=context.map_cache)
        except CodeIntelError as error:
            row["error"] = error.message.rstrip(".")
            continue
        row |= {"file": done.path.name, "status": "kept" if done.kept else "unconfirmed"}
        if not done.kept:
            await refresh_map(context, done.path)
    return rows


def notes_sentence(rows: Sequence[dict[str, Any]]) -> str:
    """Return what was recorded, as sentences; empty without rows."""
    written = [row for row in rows if row.get("status") == "unconfirmed"]
    parts = []
    if written:
        names = ", ".join(f"{row['kind']} in {row['file']}" for row in written)
        parts.append(f"Recorded, unconfirmed: {names}.")
    parts += [
        f"Kept as it is: {row['kind']} in {row['file']}."
        for row in rows
        if row.get("status") == "kept"
    ]
    parts += [
        f"Not recorded: {row['kind']} {number}, {row['error']}."
        for number, row in enumerate(rows, 1)
        if "error" in row
    ]
    return visible(" ".join(parts))


async def _is_supported(context: GatewayContext, session: Session, evidence: Sequence[str]) -> bool:
    """Return whether some evidence can be checked: a file, a symbol, printed code, user's words."""
    quotes = [next(filter(None, found)) for item in evidence for found in _QUOTED.findall(item)]
    paths = [plain_path(path) for item in evidence for path in _PATH.findall(item)]
    paths += [plain_path(quote) for quote in quotes if " " not in quote]
    if await run_in_thread(existing_files, context.root, paths):
        return True
    names = [
        quote.removesuffix("()") for quote in quotes if quote.isprintable() and " " not in quote
    ]
    if any((await definitions_of(context, names)).values()):
        return True
    said = fold(session.all_words)
    spoken = [fold(text) for text in (*quotes, *evidence)]
    if any(len(text) >= MIN_QUOTE_CHARS and text in said for text in spoken):
        return True
    return bool(await quoted_code(context, session, [*quotes, *evidence]))
