"""Tool `add_agreement`."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from code_intel.errors import UsageError
from code_intel.forest.text.grep import confined
from code_intel.foundation.text import code_point, hidden_character, visible
from code_intel.learned.learn import Learned, learn
from code_intel.learned.status.validity import lookalike
from code_intel.records import Agreement, FileReference
from code_intel.tools.context.freshness import refresh_map
from code_intel.tools.context.gateway import GatewayContext, thread
from code_intel.tools.context.symbol_facts import definitions_of, nearest, sole_body
from code_intel.tools.declaration import Answer


async def add_agreement(
    context: GatewayContext,
    nl_term: Annotated[
        str, Field(min_length=1, max_length=200, description="The words people use.")
    ],
    symbol: Annotated[
        str, Field(min_length=1, max_length=300, description="The symbol they mean.")
    ],
    code_evidence: Annotated[
        str, Field(min_length=1, max_length=2000, description="What in the code shows it.")
    ],
    related_files: Annotated[
        list[str], Field(description="Files it rests on, `path` or `path:line`.")
    ] = [],
) -> Answer:
    """Add an agreement by hand. It is served at once, but unconfirmed: it never leads to READY by itself.

    Use record_outcome for what a session has earned; this is for what people know already.
    """
    agreement = await drafted(context, nl_term, symbol, code_evidence, related_files)
    learned: Learned = await thread(learn, context.settings, agreement, confirmed=False)
    map_sync = await refresh_map(context, learned.agreement_file)
    pair = dict(zip(("nl_term", "symbol"), learned.key, strict=True))
    said = " → ".join(pair.values())
    message = f"{'Added' if learned.created else 'Updated'}: {said} (unconfirmed)."
    message += "".join(f" {note}" for note in remarks(context.root, agreement))
    message += f" {learned.note}" if learned.note else ""
    data = {
        "success": True,
        "agreement_file": learned.agreement_file.name,
        "created": learned.created,
        "pair": pair,
        "symbol_defined": bool(agreement.digest),
        "missing_files": missing_files(context.root, agreement),
        **map_sync.data,
        "message": message,
    }
    return Answer(data, message)


async def drafted(
    context: GatewayContext,
    nl_term: str,
    symbol: str,
    code_evidence: str,
    related_files: Sequence[str],
) -> Agreement:
    """Return the agreement about a symbol as the index knows it now; nothing is written.

    Raises:
        UsageError: A related file is outside the project, or has a character that nobody sees.
    """
    files = [await thread(_reference, context.root, text) for text in related_files]
    found = await definitions_of(context, [symbol])
    definitions = nearest(found.get(symbol, []), [file.path for file in files])
    if not files:
        files = [FileReference(d.file, d.line) for d in definitions[:1]]
    return Agreement(
        nl_term,
        symbol,
        evidence=(code_evidence,),
        files=tuple(files),
        digest=definitions[0].digest if definitions else "",
        body=await sole_body(context, definitions),
    )


def remarks(root: Path, agreement: Agreement) -> Iterator[str]:
    """Yield what whoever adds an agreement should know of it, as sentences."""
    if not agreement.digest:
        yield (
            f"{agreement.symbol} is not defined in the index; "
            "the agreement is listed as broken until it is."
        )
    if missing := missing_files(root, agreement):
        yield f"Not there: {', '.join(map(visible, missing))}. Check the spelling, relative to the project."
    if strange := lookalike(agreement):
        yield strange


def missing_files(root: Path, agreement: Agreement) -> list[str]:
    """Return the files of an agreement that are not in the project, which another branch may have."""
    return [
        file.path
        for file in agreement.files
        if not os.path.isfile(root / file.path)  # noqa: PTH113 - unlike Path.is_file it takes a name too long
    ]


def file_reference(text: str) -> FileReference:
    """Read `path:line` or `path`."""
    path, found, line = text.rpartition(":")
    return FileReference(path, int(line)) if found and line.isdecimal() else FileReference(text)


def _reference(root: Path, text: str) -> FileReference:
    """Read one related file, which may be missing yet but never lies outside the project.

    Raises:
        UsageError: It is elsewhere, or has a character that nobody sees.
    """
    if hidden := hidden_character(text):
        raise UsageError(
            f"related_files has a character that cannot be seen, {code_point(hidden)}.",
            hint="Name files without control, bidirectional and zero-width characters.",
            details={"field": "related_files"},
        )
    file = file_reference(text)
    try:
        confined(root, file.path, "related_files")
    except UsageError as error:
        if error.error != UsageError.code:
            raise
    return file
