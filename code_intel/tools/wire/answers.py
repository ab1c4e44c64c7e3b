"""Format hits as data and as short text, and cut answers to a token budget.

A search answer fits 2,000 tokens by default. A cut answer says so, and how to get the rest
(docs/decisions/0014). Tokens are estimated: four ASCII characters, or one other character, count as
a token. The models in use count fewer.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from code_intel.forest.matched_lines import lines_around
from code_intel.foundation.text import counted, visible
from code_intel.records import PAGE_TAG, Definition, FileReference, Freshness, Hit
from code_intel.tools.wire.note_rows import note_fields
from code_intel.tools.wire.reader import file_name, stale_text
from code_intel.tools.wire.suspicion import NOTE, flags_of

RowT = TypeVar("RowT")

MAX_SEARCH_TOKENS = 2000
"""Maximum tokens of a search answer."""
MAX_ROW_TOKENS = 8000
"""Maximum tokens of an answer's rows, so that the answer stays below `MAX_ANSWER_TOKENS`."""
NOTHING_LIKELY = "Nothing likely. Use other words, or search_text for exact text."
"""Text of an answer without hits of the forest."""
NO_HITS_YET = "Nothing found so far, but the index is being built. Try again in a few seconds."
MAX_ANSWER_TOKENS = 10_000
"""Maximum tokens of any answer."""
NAME_TOKENS = 35
"""Estimated tokens of the names and numbers of a hit's fields, as JSON."""
COMMIT_DIGITS = 12
"""Digits of a commit's object name in an answer."""
EXCERPT_CHARS = 160
"""Maximum characters of a line in an excerpt."""
MAX_NAMES = 4
"""Maximum symbols in the label of a hit."""
MIN_LINES = ((400, 3, 1000), (40, 3, 160), (0, 1, 80))
"""Rows of (minimum budget, minimum lines, maximum line length); the first that applies is used."""


def tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    ascii_count = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return -(-ascii_count // 4) + len(text) - ascii_count


def size_of(data: Mapping[str, Any]) -> int:
    """Estimate the tokens of data as a model gets it, which is JSON."""
    return min(tokens(json.dumps(data, ensure_ascii=False)), MAX_ANSWER_TOKENS)


def fit(
    hits: Sequence[Hit], budget: int = MAX_SEARCH_TOKENS, *, cut: bool = False
) -> tuple[list[tuple[Hit, str]], bool]:
    """Cut the chunks of `hits` to whole lines so that together they fit `budget`.

    The names of all hits come first. Then each hit in order may use half of the remaining budget,
    or an even share if that is more, so that better hits show more text.

    Returns:
        (hit, text to show) pairs, and whether a text was cut, now or before (`cut`). The lines of
        such a hit are those of the text.
    """
    shown: list[tuple[Hit, str]] = []
    remaining = max(0, budget - sum(_name_cost(hit) for hit in hits))
    for index, hit in enumerate(hits):
        share = max(remaining // 2, remaining // (len(hits) - index))
        part = _part(hit, share)
        cut = cut or part[1] != hit.chunk
        remaining = max(0, remaining - sum(map(_line_cost, part[1].splitlines(keepends=True))))
        shown.append(part)
    return shown, cut


def _name_cost(hit: Hit) -> int:
    """Return the tokens of a hit without its text."""
    return tokens(f"{hit.document} {hit.symbol} {hit.why}") + NAME_TOKENS


def _line_cost(line: str) -> int:
    # As JSON, a line has its number, and quotes around and escaped within it.
    return tokens(json.dumps(line, ensure_ascii=False)) + 2


def excerpt(hit: Hit, limit: int) -> tuple[Hit, str]:
    """Return a number of lines around the match, and the hit with their numbers."""
    lines = hit.chunk.splitlines(keepends=True)
    return _around(hit, lines, [1] * len(lines), limit, 1, EXCERPT_CHARS)


def _part(hit: Hit, budget: int) -> tuple[Hit, str]:
    """Return the lines around the match within `budget` tokens, and the hit with their numbers.

    See `MIN_LINES`. A long line is cut, that of the match around it.
    """
    min_lines, max_chars = next(row[1:] for row in MIN_LINES if budget >= row[0])
    lines = hit.chunk.splitlines(keepends=True)
    return _around(hit, lines, [_line_cost(line) for line in lines], budget, min_lines, max_chars)


def _around(
    hit: Hit,
    lines: Sequence[str],
    costs: Sequence[int],
    budget: int,
    min_lines: int,
    max_chars: int,
) -> tuple[Hit, str]:
    if not lines:
        return hit, hit.chunk
    center = min(max(hit.line - hit.start_line, 0), len(lines) - 1)
    first, last = lines_around(costs, center, budget)
    last = max(last, min(first + min_lines, len(lines)) - 1)
    kept = [
        _clipped(lines[at], hit.column if at == center else 0, max_chars)
        for at in range(first, last + 1)
    ]
    if hit.start_line and (first, last) != (0, len(lines) - 1):
        start = hit.start_line + first
        hit = replace(hit, start_line=start, end_line=start + last - first)
    return hit, "".join(kept)


def _clipped(line: str, column: int, max_chars: int) -> str:
    """Return a line cut to `max_chars`, from somewhat before the column on; it ends as before."""
    text = line.rstrip("\r\n")
    start = max(0, min(column - max_chars // 4, len(text) - max_chars))
    return text[start : start + max_chars] + line[len(text) :]


def within(rows: Iterable[RowT], budget: int = MAX_ROW_TOKENS) -> list[RowT]:
    """Return the first rows whose JSON fits `budget` tokens, but at least one."""
    kept: list[RowT] = []
    for row in rows:
        budget -= tokens(json.dumps(row, ensure_ascii=False))
        if budget < 0 and kept:
            break
        kept.append(row)
    return kept


def bounded(data: Mapping[str, Any], cap: int = MAX_ANSWER_TOKENS) -> dict[str, Any]:
    """Return `data` cut to `cap` tokens, with the field `truncated` if it was cut.

    Halve the longest list until the data fits; if no list is left, halve the texts.
    """
    if tokens(json.dumps(data, ensure_ascii=False)) <= cap:
        return dict(data)
    cut: dict[str, Any] = json.loads(json.dumps(data, ensure_ascii=False))
    longest_text = cap
    while tokens(json.dumps(cut, ensure_ascii=False)) > cap:
        longest = max(_lists(cut), key=lambda found: tokens(json.dumps(found)), default=None)
        if longest is not None:
            del longest[(len(longest) + 1) // 2 :]
        else:
            cut = _shortened(cut, longest_text)
            longest_text //= 2
    return cut | {"truncated": True}


def bounded_text(text: str, cap: int = MAX_ANSWER_TOKENS) -> str:
    """Return `text` cut to about `cap` tokens, with a note if it was cut."""
    return text if tokens(text) <= cap else text[:cap] + "\n… (cut; request less per call)"


def _shortened(node: Any, max_chars: int) -> Any:
    """Return a JSON value with texts and keys cut to `max_chars`."""
    if isinstance(node, dict):
        return {key[:max_chars]: _shortened(value, max_chars) for key, value in node.items()}
    if isinstance(node, list):
        return [_shortened(item, max_chars) for item in node]
    return node[:max_chars] if isinstance(node, str) else node


def _lists(node: object) -> Iterator[list[Any]]:
    """Yield every list with at least two items within a JSON value."""
    if isinstance(node, dict):
        for value in node.values():
            yield from _lists(value)
    elif isinstance(node, list):
        if len(node) > 1:
            yield node
        for value in node:
            yield from _lists(value)


MAX_EVIDENCE_CHARS = 400
"""Limit of each evidence of an agreement in a hit."""

HIT_FIELDS = ("document", "chunk", "similarity", "position", "score", "agreement", "note", "symbol",
              "start_line", "end_line", "why", "flags")  # fmt: skip
"""Every field that `hit_data` may return if only one project was searched."""


def hit_data(hit: Hit, text: str) -> dict[str, Any]:
    """Return a hit's fields on the wire: those of devrag, then those that only code-intel has."""
    data: dict[str, Any] = {
        "document": hit.document,
        **({"repository": hit.repository} if hit.repository else {}),
        **({"commit": hit.commit[:COMMIT_DIGITS]} if hit.commit else {}),
        "chunk": text,
        "similarity": round(hit.similarity, 4),
        "position": hit.position,
        "score": None if hit.score is None else round(hit.score, 4),
    }
    if hit.agreement is not None:
        data["agreement"] = {
            "nl_term": hit.agreement.nl_term,
            "symbol": hit.agreement.symbol,
            "status": hit.agreement.status,
            "files": files_data(hit.agreement.files),
            "reasons": list(hit.agreement.reasons),
            "evidence": [item[:MAX_EVIDENCE_CHARS] for item in hit.agreement.evidence],
            "learned_at": hit.agreement.learned_at,
            **({"renamed_to": hit.agreement.renamed_to} if hit.agreement.renamed_to else {}),
            **({"role": hit.agreement.role} if hit.agreement.role else {}),
            **({"digest": hit.agreement.digest} if hit.agreement.digest else {}),
        }
    elif hit.note is not None:
        data["note"] = note_fields(hit.note)
    else:
        data |= {"symbol": hit.symbol, "start_line": hit.start_line, "end_line": hit.end_line}
    return data | {"why": list(hit.why), **flags_of(*_texts_of(hit, text))}


def logged_hits(hits: Iterable[Hit]) -> list[dict[str, Any]]:
    """Return hits as the session's journal stores them."""
    return [
        {
            "document": hit.document,
            "symbol": hit.agreement.symbol if hit.agreement else hit.symbol,
            "score": None if hit.score is None else round(hit.score, 4),
            "status": _status_of(hit),
            **({"origin": f"{hit.repository}@{hit.commit}"} if hit.foreign else {}),
        }
        for hit in hits
    ]


def _status_of(hit: Hit) -> str:
    found = hit.agreement or hit.note
    return found.status if found else "HYPOTHESIS"


def _texts_of(hit: Hit, text: str) -> tuple[str, ...]:
    """Return all texts of a hit that come from files or commits."""
    agreement = hit.agreement
    agreed = (
        (agreement.nl_term, agreement.symbol, *agreement.reasons, *agreement.evidence)
        if agreement
        else ()
    )
    noted = (hit.note.title, *hit.note.reasons) if hit.note else ()
    return (text, hit.document, hit.symbol, *hit.why, *agreed, *noted)


def files_data(files: Iterable[FileReference]) -> list[str]:
    """Return file references as `path:line`, or `path` if the line is unknown."""
    return [f"{file.path}:{file.line}" if file.line else file.path for file in files]


def definition_data(definition: Definition) -> dict[str, Any]:
    """Return a definition's fields on the wire."""
    return {
        "name": definition.qualified,
        "file": definition.file,
        "line": definition.line,
        "end_line": definition.end_line,
        "kind": definition.kind,
        "scope": definition.qualified.rpartition(".")[0],
        "signature": definition.signature,
        "language": definition.language,
        **flags_of(definition.signature, definition.qualified, definition.file),
    }


def definition_line(row: Mapping[str, Any]) -> str:
    """Format a row of `definition_data` as one line."""
    line = f"{file_name(row['file'])}:{row['line']}  {row['kind']} {visible(row['name'])}"
    return f"{line}  {visible(row['signature'])}" if row.get("signature") else line


def index_data(index: Freshness) -> dict[str, Any]:
    """Return the `index` field of every search answer."""
    return {
        "state": index.state,
        "files": index.files,
        "pending": index.pending,
        "degraded": list(index.degraded),
    } | ({"shared": index.shared} if index.shared else {})


def cut_text(*, cut: bool) -> str:
    """Return a note that texts are cut, or an empty text."""
    return "\nTexts are cut. A smaller top_k shows more of each." if cut else ""


def index_text(index: Freshness) -> str:
    """Return a note on the index's state, or an empty text if the index is complete."""
    notes = [note.rstrip(".") for note in index.degraded]
    if index.state != "fresh":
        notes.append(f"the index is {index.state}")
    if index.pending:
        notes.append(f"{counted(index.pending, 'chunk')} without vectors so far")
    remedy = "" if index.state != "stale" or "code-intel sync" in " ".join(notes) else stale_text()
    return f"\nNote: {'; '.join(notes)}.{remedy}" if notes else ""


def hits_text(shown: Sequence[tuple[Hit, str]]) -> str:
    """Format hits as a numbered list, each with the start of its text.

    Scores of the forest are relative to its best hit, which has 1.
    """
    lines = [_hit_text(number, hit, text) for number, (hit, text) in enumerate(shown, 1)]
    flagged = any(flags_of(*_texts_of(hit, text)) for hit, text in shown)
    return "\n".join([NOTE, *lines] if flagged else lines)


def _hit_text(number: int, hit: Hit, text: str) -> str:
    score = "" if hit.score is None else f"  {hit.score:.2f}"
    if (found := hit.agreement) is not None:
        files = ", ".join(map(file_name, files_data(found.files))) or "no files"
        renamed = f" (now {found.renamed_to})" if found.renamed_to else ""
        evidence = (f"根拠: {item[:MAX_EVIDENCE_CHARS]}" for item in found.evidence)
        reasons = "".join(f"\n   {visible(line)}" for line in (*found.reasons, *evidence))
        role = f" ({found.role})" if found.role else ""
        head = f"{number}. {found.nl_term} → {found.symbol}{renamed}{role}  [{found.status}]{score}"
        head += f" (from {hit.repository}@{hit.commit[:COMMIT_DIGITS]})" if hit.foreign else ""
        return f"{visible(head)}\n   {files}{reasons}"
    if hit.note is not None:
        head = f"{number}. {hit.note.kind}: {hit.note.title}  [{hit.note.status}]{score}"
        below = "".join(f"\n   {visible(line)}" for line in (*hit.note.reasons, *hit.note.lines))
        return f"{visible(head)}\n   {file_name(hit.document)}{below}"
    lines = f":{hit.start_line}-{hit.end_line}" if hit.start_line else ""
    names = [name for name in (hit.symbol, *hit.symbols) if name]
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    label = f"  {visible(', '.join(names[:MAX_NAMES]))}{more}" if names else ""
    if PAGE_TAG in hit.why:
        label += f"  [page of a query plan: {', '.join(hit.why)}]"
    file = visible(hit.document) if hit.foreign else file_name(hit.document)
    repository = f"{visible(hit.repository)}: " if hit.repository else ""
    return f"{number}. {repository}{file}{lines}{label}{score}\n{_indent(text)}"


def _indent(text: str) -> str:
    # splitlines would also split at U+2028, which is not a line ending in the file.
    lines = visible(text.rstrip(), keep="\n\r\t").replace("\r\n", "\n").split("\n")
    return "\n".join(f"   {line}" for line in lines)
