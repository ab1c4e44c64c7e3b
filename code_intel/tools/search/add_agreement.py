"""Implement the tool `add_agreement`."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from code_intel.chunking.agreement_values import EXPECTED_FORMS, role_word
from code_intel.errors import UsageError
from code_intel.forest.text.grep import confined
from code_intel.foundation.text import code_point, hidden_character, visible
from code_intel.learned.files.agreements import Key
from code_intel.learned.learn import LearningResult, learn
from code_intel.learned.recall.recall import fold
from code_intel.learned.status.validity import lookalike
from code_intel.records import Agreement, FileReference
from code_intel.tools.context.freshness import refresh_map
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.symbol_facts import (
    definitions_of,
    nearest,
    require_one_file,
    sole_body,
)
from code_intel.tools.declaration import Answer


async def add_agreement(
    context: GatewayContext,
    nl_term: Annotated[
        str, Field(min_length=1, max_length=200, description="The term that people use.")
    ],
    symbol: Annotated[
        str, Field(min_length=1, max_length=300, description="The symbol that the term means.")
    ],
    code_evidence: Annotated[
        str, Field(min_length=1, max_length=2000, description="What in the code proves it.")
    ],
    related_files: Annotated[
        list[str], Field(description="Files that support it, as `path` or `path:line`.")
    ] = [],
    role: Annotated[
        str,
        Field(max_length=40, description="Its part in the feature: entry, core, storage, test."),
    ] = "",
) -> Answer:
    """Record an agreement: which symbol a term means in this project.

    Searches find it immediately, but it cannot lead to READY (permission to write) until it is
    confirmed. Use it for what people already know; record_outcome adds what a session has learned.
    """
    agreement = await drafted(context, nl_term, symbol, code_evidence, related_files, role)
    learned: LearningResult = await run_in_thread(
        learn, context.settings, agreement, confirmed=False, cache=context.map_cache
    )
    map_sync = await refresh_map(context, learned.agreement_file)
    pair = dict(zip(("nl_term", "symbol"), learned.key, strict=True))
    arrow = " → ".join(pair.values())
    if learned.kept:
        message = f"Not added: {arrow} is confirmed already, and stays as it is."
    else:
        message = f"{'Added' if learned.created else 'Updated'}: {arrow} (unconfirmed)."
    beside = await run_in_thread(_confirmed_beside, context, learned.key)
    if beside:
        message += " A confirmed agreement of this term comes before it (confirmed_beside)."
    message += "".join(f" {note}" for note in remarks(context.root, agreement))
    message += f" {learned.note}" if learned.note else ""
    data = {
        "success": True,
        "agreement_file": learned.agreement_file.name,
        "created": learned.created,
        "pair": pair,
        "confirmed_beside": beside,
        "symbol_defined": bool(agreement.digest),
        "missing_files": missing_files(context.root, agreement),
        **map_sync.data,
        "message": message,
    }
    return Answer(data, message)


def _confirmed_beside(context: GatewayContext, key: Key) -> list[str]:
    """Return the symbols of the other confirmed agreements of a term."""
    snapshot = context.map_cache.snapshot(context.settings)
    return [
        entry.agreement.symbol
        for entry in snapshot.known.entries
        if entry.agreement
        and entry.key != key
        and fold(entry.agreement.nl_term) == fold(key[0])
        and snapshot.trust.confirms(entry)
    ]


async def drafted(
    context: GatewayContext,
    nl_term: str,
    symbol: str,
    code_evidence: str,
    related_files: Sequence[str],
    role: str = "",
) -> Agreement:
    """Return a new agreement with the symbol's current digest from the index; write nothing.

    Raises:
        UsageError: The role is not one word; a related file is outside the project or contains an
            invisible character; or
            several files define the symbol, and none of them is a related file.
    """
    if role and not role_word(role):
        raise UsageError(
            "role must be one word.",
            hint=f"Write {EXPECTED_FORMS['role']}.",
            details={"field": "role"},
        )
    files = [await run_in_thread(_reference, context.root, text) for text in related_files]
    found = await definitions_of(context, [symbol])
    definitions = found.get(symbol, [])
    require_one_file(symbol, definitions, [file.path for file in files], "related_files")
    definitions = nearest(definitions, [file.path for file in files])
    if not files:
        files = [FileReference(d.file, d.line) for d in definitions[:1]]
    return Agreement(
        nl_term,
        symbol,
        evidence=(code_evidence,),
        files=tuple(files),
        digest=definitions[0].digest if definitions else "",
        body=await sole_body(context, definitions),
        role=role_word(role),
    )


def remarks(root: Path, agreement: Agreement) -> Iterator[str]:
    """Yield warnings about an added agreement, one sentence each."""
    if not agreement.digest:
        yield (
            f"{agreement.symbol} is not defined in the index; "
            "the agreement has the status broken until it is."
        )
    if missing := missing_files(root, agreement):
        yield (
            f"Files not found: {', '.join(map(visible, missing))}. "
            "Check the paths; they are relative to the project."
        )
    if strange := lookalike(agreement):
        yield strange


def missing_files(root: Path, agreement: Agreement) -> list[str]:
    """Return the files of an agreement that do not exist in the working tree."""
    return [
        file.path
        for file in agreement.files
        # Path.is_file raises if the name is too long.
        if not os.path.isfile(root / file.path)  # noqa: PTH113
    ]


def file_reference(text: str) -> FileReference:
    """Read `path:line` or `path`."""
    path, found, line = text.rpartition(":")
    return FileReference(path, int(line)) if found and line.isdecimal() else FileReference(text)


def _reference(root: Path, text: str) -> FileReference:
    """Parse a related file. It need not exist, but must be inside the project.

    Raises:
        UsageError: It is outside the project or contains an invisible character.
    """
    if hidden := hidden_character(text):
        raise UsageError(
            f"related_files contains an invisible character, {code_point(hidden)}.",
            hint="Remove control, bidirectional and zero-width characters from the paths.",
            details={"field": "related_files"},
        )
    file = file_reference(text)
    try:
        confined(root, file.path, "related_files")
    except UsageError as error:
        if error.error != UsageError.code:
            raise
    return file
