"""What an upstream answered, read with care: it may not be ours, nor mean us well.

Understood are our own answers and those of the original devrag: JSON in a text, whose keys were
`DocumentName`, `ChunkContent`, `Similarity`, `Position` up to its version 1.1.0 and have our names since.
What cannot be believed is left out and counted, never passed on.
"""

import fnmatch
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, cast

from mcp.types import CallToolResult, TextContent

from code_intel.errors import UpstreamError
from code_intel.records import AgreementHit, FileReference, Freshness, Hit, SearchAnswer, Validity
from code_intel.servers.upstream_words import SAID, quoted

STATUSES = frozenset(
    {"valid", "changed", "broken", "unchecked", "expired", "conflict", "invalid", "unconfirmed"}
)
STATES = frozenset({"fresh", "stale", "building", "missing"})
V1_1 = {
    "document": "DocumentName",
    "chunk": "ChunkContent",
    "similarity": "Similarity",
    "position": "Position",
}
"""Our key -> devrag's until 1.1.0."""
MAX_CHUNK = 20_000
"""Characters of a chunk."""
MAX_TEXT = 4096
"""Characters of any other text, such as a path."""
MAX_ITEMS = 50
"""Items of a list."""
MOST_HITS = 100
MAX_DEPTH = 20

Place = Callable[[str], str]
"""From a document's name, as an upstream says it, to ours."""


def content_of(result: CallToolResult) -> Mapping[str, Any]:
    """Return the object a tool answered with, structured or as JSON in its first text.

    Raises:
        UpstreamError: The tool refused, or the answer is no object.
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
        raise UpstreamError("it answered with something else than an object")
    if result.is_error:
        said = quoted(_text(content.get("message"))) or "it does not say why"
        hint = quoted(_text(content.get("hint")))
        raise UpstreamError("it refused", hint=hint or None, code="refused", details={SAID: said})
    return content


def scrubbed(value: object, depth: int = 0) -> Any:
    """Return a JSON value without what no file, index or terminal could carry back: NUL, half pairs."""
    if isinstance(value, str):
        return (
            value.encode("utf-8", "replace")
            .decode("utf-8")
            .replace("\0", "\N{REPLACEMENT CHARACTER}")
        )
    if depth > MAX_DEPTH:
        return None
    if isinstance(value, Mapping):
        return {str(key): scrubbed(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [scrubbed(item, depth + 1) for item in value]
    return value


def answer_of(
    data: Mapping[str, Any], *, most: int = MOST_HITS, place: Place = str
) -> tuple[SearchAnswer, Counter[str]]:
    """Read a search answer.

    Returns:
        The answer, at most `most` hits, and what was left out of it, by kind.

    Raises:
        UpstreamError: There are no results in it.
    """
    results = data.get("results", data.get("Results", ...))
    if results is None:  # an empty list, as Go writes it
        results = []
    if not isinstance(results, list):
        raise UpstreamError("it answered without a list of results")
    bad: Counter[str] = Counter()
    hits = [_hit(item, place, bad) for item in results[:MOST_HITS]]
    bad["hits beyond what was asked for"] += max(0, len(results) - max(most, MOST_HITS))
    index = data.get("index")
    answer = SearchAnswer(
        tuple(hit for hit in hits if hit is not None)[:most],
        _freshness(index if isinstance(index, Mapping) else {}),
        truncated=data.get("truncated") is True,
    )
    return answer, +bad


def below(answer: SearchAnswer, directory: str, file_pattern: str) -> SearchAnswer:
    """Keep the hits below a folder whose file name matches, for a server that cannot choose them itself."""
    folder = PurePosixPath(directory or ".")
    kept = tuple(
        hit
        for hit in answer.hits
        if PurePosixPath(hit.document).is_relative_to(folder)
        and (not file_pattern or fnmatch.fnmatch(PurePosixPath(hit.document).name, file_pattern))
    )
    return replace(answer, hits=kept)


def placed(root: Path, cwd: Path, document: str) -> str:
    """Return a document's name relative to the project, when such a file is there.

    A server names files as it sees them, from its own folder; a file that is not here keeps its name.
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


def _hit(item: object, place: Place, bad: Counter[str]) -> Hit | None:
    if not isinstance(item, Mapping):
        bad["hits that are no objects"] += 1
        return None
    given = {**{ours: item[old] for ours, old in V1_1.items() if old in item}, **item}
    document = _text(given.get("document"))
    if not document:
        bad["hits without a document"] += 1
        return None
    for name in ("score", "similarity"):
        if given.get(name) is not None and _unit(given[name]) is None:
            bad[f"a {name} that is no number of 0 to 1"] += 1
    return Hit(
        document=place(document),
        chunk=_text(given.get("chunk"), MAX_CHUNK),
        position=_whole(given.get("position")),
        similarity=_unit(given.get("similarity")) or 0.0,
        score=_unit(given.get("score")),
        symbol=_text(given.get("symbol")),
        start_line=_whole(given.get("start_line")),
        end_line=_whole(given.get("end_line")),
        why=_texts(given.get("why")),
        agreement=_agreement(given.get("agreement")),
    )


def _agreement(value: object) -> AgreementHit | None:
    if not isinstance(value, Mapping):
        return None
    status = value.get("status")
    known = isinstance(status, str) and status in STATUSES
    return AgreementHit(
        nl_term=_text(value.get("nl_term")),
        symbol=_text(value.get("symbol")),
        status=cast("Validity", status) if known else "unchecked",
        files=tuple(_file(text) for text in _texts(value.get("files"))),
        reasons=_texts(value.get("reasons")),
        learned_at=_text(value.get("learned_at")),
    )


def _file(text: str) -> FileReference:
    path, found, line = text.rpartition(":")
    if found and line.isdecimal() and len(line) < 10:  # noqa: PLR2004 - digits of a line number
        return FileReference(path, int(line))
    return FileReference(text)


def _freshness(value: Mapping[str, Any]) -> Freshness:
    state = value.get("state")
    known = isinstance(state, str) and state in STATES
    return Freshness(
        state=cast("Any", state) if known else "fresh",
        files=_whole(value.get("files")),
        pending=_whole(value.get("pending")),
        degraded=_texts(value.get("degraded")),
    )


def _unit(value: object) -> float | None:
    """Return a number of 0 to 1, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 and math.isfinite(value) else None


def _whole(value: object) -> int:
    """Return a whole number that fits 31 bits, or 0."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31
    return cast("int", value) if good else 0


def _text(value: object, longest: int = MAX_TEXT) -> str:
    """Return a text, cut; empty for anything else."""
    return value[:longest] if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(_text(item) for item in value[:MAX_ITEMS] if isinstance(item, str))
