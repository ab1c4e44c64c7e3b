"""Parse the answer of an upstream, which may be any program, even a hostile one.

Our own answers are accepted, and those of the original devrag: JSON in a text. Up to version 1.1.0,
its keys were `DocumentName`, `ChunkContent`, `Similarity` and `Position`; newer versions use ours.
Invalid parts are dropped and counted.
"""

import fnmatch
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, cast, get_args

from mcp.types import CallToolResult, TextContent

from code_intel.chunking.agreement_values import role_word
from code_intel.errors import UpstreamError
from code_intel.records import (
    MAX_HIT_EVIDENCE,
    AgreementHit,
    FileReference,
    Freshness,
    Hit,
    NoteHit,
    NoteKind,
    SearchAnswer,
    Validity,
)
from code_intel.servers.upstream.trouble import SAID_FIELD, quoted

State = Literal["fresh", "stale", "building", "missing"]
DEVRAG_1_1 = {
    "document": "DocumentName",
    "chunk": "ChunkContent",
    "similarity": "Similarity",
    "position": "Position",
}
"""Our key -> the key of devrag up to 1.1.0."""
MAX_CHUNK_CHARS = 20_000
MAX_HIT_TEXT_CHARS = 4096
"""Maximum length of any other field, such as a path."""
MAX_LIST_ITEMS = 50
MAX_ANSWER_HITS = 100
MAX_NOTE_LINES = 4
"""Limit of the lines of a note, the title included."""
_DIGEST = re.compile(r"[0-9a-f]{16}")
"""The digest of a symbol; see `records.Symbol`."""
_KIND = re.compile(r"[a-z]{1,20}")

Naming = Callable[[str], str]
"""Converts an upstream's name for a document to the project's."""


def content_of(result: CallToolResult) -> Mapping[str, Any]:
    """Return the object that a tool answered with, structured or as JSON in its first text.

    Raises:
        UpstreamError: The tool refused, or its answer is not an object.
    """
    content: object = result.structured_content
    if content is None:
        text = next((part.text for part in result.content if isinstance(part, TextContent)), "")
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            content = {"message": text} if result.is_error else None
    if isinstance(content, list):
        content = {"results": content}
    if not isinstance(content, Mapping):
        raise UpstreamError("its answer is not an object")
    if result.is_error:
        said = quoted(_text(content.get("message"))) or "it gives no reason"
        hint = quoted(_text(content.get("hint")))
        raise UpstreamError(
            "it refused", hint=hint or None, code="refused", details={SAID_FIELD: said}
        )
    return content


def answer_of(
    data: Mapping[str, Any], *, top_k: int = MAX_ANSWER_HITS, naming: Naming = str
) -> tuple[SearchAnswer, Counter[str]]:
    """Parse a search answer.

    Returns:
        The answer with at most `top_k` hits, and how many parts were dropped, by kind.

    Raises:
        UpstreamError: It has no list of results.
    """
    results = data.get("results", data.get("Results", ...))
    if results is None:  # how Go writes an empty list
        results = []
    if not isinstance(results, list):
        raise UpstreamError("it answered without a list of results")
    dropped: Counter[str] = Counter()
    hits = [_hit(item, naming, dropped) for item in results[:MAX_ANSWER_HITS]]
    dropped["hits beyond what was asked for"] += max(0, len(results) - max(top_k, MAX_ANSWER_HITS))
    index = data.get("index")
    answer = SearchAnswer(
        tuple(hit for hit in hits if hit is not None)[:top_k],
        _freshness(index if isinstance(index, Mapping) else {}),
        truncated=data.get("truncated") is True,
    )
    return answer, +dropped


def with_notes(answer: SearchAnswer, name: str, dropped: Counter[str]) -> SearchAnswer:
    """Add notes on what the upstream's index lacks and on dropped parts.

    The upstream's own notes are untrusted, so only their kind is kept.
    """
    kinds = {note.partition(":")[0].strip() for note in answer.index.degraded}
    safe_kinds = sorted({kind if _KIND.fullmatch(kind) else "other" for kind in kinds})
    notes = [f"{kind}: incomplete, {name} says" for kind in safe_kinds]
    notes += [f"{name}: {count} x {kind}" for kind, count in sorted(dropped.items())]
    return replace(answer, index=replace(answer.index, degraded=tuple(notes)))


def filtered(answer: SearchAnswer, directory: str, file_pattern: str) -> SearchAnswer:
    """Keep the hits below a folder whose file names match, because some servers cannot filter."""
    folder = PurePosixPath(directory or ".")

    def matches(hit: Hit) -> bool:
        path = PurePosixPath(hit.document)
        return path.is_relative_to(folder) and fnmatch.fnmatch(path.name, file_pattern or "*")

    return replace(answer, hits=tuple(filter(matches, answer.hits)))


def project_name(root: Path, cwd: Path, document: str) -> str:
    """Return a document's name relative to the project if that file exists, else unchanged.

    A server names files relative to its own folder.
    """
    for name in dict.fromkeys((document, document.replace("\\", "/"))):
        for base in (cwd, root):
            try:
                path = (base / name).resolve()
                if path.is_file() and path.is_relative_to(root.resolve()):
                    return path.relative_to(root.resolve()).as_posix()
            except (OSError, ValueError):
                continue
    return document


def _hit(item: object, naming: Naming, dropped: Counter[str]) -> Hit | None:
    if not isinstance(item, Mapping):
        dropped["hits that are not objects"] += 1
        return None
    fields = {**{ours: item[old] for ours, old in DEVRAG_1_1.items() if old in item}, **item}
    document = _text(fields.get("document"))
    if not document:
        dropped["hits without a document"] += 1
        return None
    for name in ("score", "similarity"):
        if fields.get(name) is not None and _fraction(fields[name]) is None:
            dropped[f"a {name} that is not a number from 0 to 1"] += 1
    return Hit(
        document=naming(document),
        chunk=_text(fields.get("chunk"), MAX_CHUNK_CHARS),
        position=_integer(fields.get("position")),
        similarity=_fraction(fields.get("similarity")) or 0.0,
        score=_fraction(fields.get("score")),
        symbol=_text(fields.get("symbol")),
        start_line=_integer(fields.get("start_line")),
        end_line=_integer(fields.get("end_line")),
        why=_texts(fields.get("why")),
        agreement=_agreement(fields.get("agreement")),
        note=_note(fields.get("note"), _text(fields.get("chunk"))),
    )


def _agreement(value: object) -> AgreementHit | None:
    if not isinstance(value, Mapping):
        return None
    status = value.get("status")
    digest = _text(value.get("digest"))
    return AgreementHit(
        nl_term=_text(value.get("nl_term")),
        symbol=_text(value.get("symbol")),
        status=cast("Validity", status) if status in get_args(Validity) else "unchecked",
        files=tuple(_file(text) for text in _texts(value.get("files"))),
        reasons=_texts(value.get("reasons")),
        learned_at=_text(value.get("learned_at")),
        evidence=_texts(value.get("evidence"))[:MAX_HIT_EVIDENCE],
        role=role_word(_text(value.get("role"))),
        digest=digest if _DIGEST.fullmatch(digest) else "",
    )


def _note(value: object, chunk: str) -> NoteHit | None:
    """Return a note of a shared map; the first line of the chunk is its title."""
    if not isinstance(value, Mapping) or value.get("kind") not in get_args(NoteKind):
        return None
    status = value.get("status")
    return NoteHit(
        kind=cast("NoteKind", value.get("kind")),
        title=_text(value.get("title")),
        status=cast("Validity", status) if status in get_args(Validity) else "unchecked",
        lines=tuple(chunk.split("\n")[1:MAX_NOTE_LINES]),
        reasons=_texts(value.get("reasons")),
        files=_texts(value.get("files")),
        symbols=_texts(value.get("symbols")),
    )


def _file(text: str) -> FileReference:
    path, separator, line = text.rpartition(":")
    if separator and line.isdecimal() and len(line) < 10:  # noqa: PLR2004 - digits of a line number
        return FileReference(path, int(line))
    return FileReference(text)


def _freshness(value: Mapping[str, Any]) -> Freshness:
    state = value.get("state")
    return Freshness(
        state=cast("State", state) if state in get_args(State) else "fresh",
        files=_integer(value.get("files")),
        pending=_integer(value.get("pending")),
        degraded=_texts(value.get("degraded")),
    )


def _fraction(value: object) -> float | None:
    """Return a number from 0 to 1, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 and math.isfinite(value) else None


def _integer(value: object) -> int:
    """Return a whole number that fits in 31 bits, or 0 for anything else."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_valid = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31
    return cast("int", value) if is_valid else 0


def _text(value: object, max_chars: int = MAX_HIT_TEXT_CHARS) -> str:
    """Return a text, cut, without NUL characters and lone surrogates; "" for anything else."""
    if not isinstance(value, str):
        return ""
    text = value[:max_chars].encode("utf-8", "replace").decode("utf-8")
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(_text(item) for item in value[:MAX_LIST_ITEMS] if isinstance(item, str))
