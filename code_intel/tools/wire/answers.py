"""How answers look: hits as data and as short text, cut to a token budget.

A search answer fits 2,000 tokens by default; what was cut says so, and how to get the rest
(docs/decisions/0014). Tokens are estimated, not counted: four ASCII characters or one other
character a token, which overestimates for the models in use.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from code_intel.foundation.text import counted, visible
from code_intel.records import Definition, FileReference, Freshness, Hit
from code_intel.tools.wire.suspicion import NOTE, flags_of

BUDGET = 2000
"""Tokens a search answer may take."""
CAP = 8000
"""Tokens the rows of any answer may take, so that all of it stays below 10,000."""
NONE_YET = "Nothing found in what is indexed so far; ask again in some seconds."
HARD_CAP = 10_000
"""Tokens no answer of any tool exceeds."""
NAMING = 6
"""Tokens of a hit's place and lines."""
LEAST = ((400, 3, 1000), (40, 3, 160), (0, 1, 80))
"""From how many tokens on at least how many lines of a chunk are shown, of at most how many characters."""


def tokens(text: str) -> int:
    """Estimate the tokens of a text."""
    ascii_count = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return -(-ascii_count // 4) + len(text) - ascii_count


def fit(
    hits: Sequence[Hit], budget: int = BUDGET, *, cut: bool = False
) -> tuple[list[tuple[Hit, str]], bool]:
    """Cut the chunks of `hits` to whole lines so that all together fit `budget`.

    Every hit keeps its place, and the line that names it is paid for first; better hits keep more text, since
    each takes at most half of what is left beyond its fair share.

    Returns:
        (hit, text to show) pairs, and whether anything was cut, here or, as `cut` says, before.
    """
    shown: list[tuple[Hit, str]] = []
    left = max(0, budget - sum(_named(hit) for hit in hits))
    for place, hit in enumerate(hits):
        share = left if place == len(hits) - 1 else max(left // 2, left // (len(hits) - place))
        text = _head(hit.chunk, share)
        cut = cut or text != hit.chunk
        left = max(0, left - sum(map(_line_cost, text.splitlines(keepends=True))))
        shown.append((hit, text))
    return shown, cut


def _named(hit: Hit) -> int:
    """Return the tokens of the line that names a hit."""
    return tokens(f"{hit.document} {hit.symbol}") + NAMING


def _line_cost(line: str) -> int:
    return tokens(line) + 1  # it is indented


def _head(text: str, budget: int) -> str:
    """Return the first lines of `text` within `budget` tokens, at least a few while there is some."""
    fewest, longest = next(row[1:] for row in LEAST if budget >= row[0])
    kept: list[str] = []
    spent = 0
    for line in text.splitlines(keepends=True):
        spent += _line_cost(line)
        if spent > budget and len(kept) >= fewest:
            break
        kept.append(line[:longest])
    return "".join(kept)


def within(rows: Iterable[Mapping[str, Any]], budget: int = CAP) -> list[Mapping[str, Any]]:
    """Return the first rows whose JSON fits `budget` tokens, at least one."""
    kept: list[Mapping[str, Any]] = []
    for row in rows:
        budget -= tokens(json.dumps(row, ensure_ascii=False))
        if budget < 0 and kept:
            break
        kept.append(row)
    return kept


def bounded(data: Mapping[str, Any], cap: int = HARD_CAP) -> dict[str, Any]:
    """Return `data` within `cap` tokens, and say that it was cut.

    The longest list is halved until it fits; where no list is left, texts are.
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


def bounded_text(text: str, cap: int = HARD_CAP) -> str:
    """Return `text` within about `cap` tokens; what is missing is named."""
    return text if tokens(text) <= cap else text[:cap] + "\n… (cut: ask for less at once)"


def _shortened(node: Any, most: int) -> Any:
    """Return a JSON value with no text, and no key, longer than `most` characters."""
    if isinstance(node, dict):
        return {key[:most]: _shortened(value, most) for key, value in node.items()}
    if isinstance(node, list):
        return [_shortened(item, most) for item in node]
    return node[:most] if isinstance(node, str) else node


def _lists(node: object) -> Iterator[list[Any]]:
    """Yield every list of two items or more within a JSON value."""
    if isinstance(node, dict):
        for value in node.values():
            yield from _lists(value)
    elif isinstance(node, list):
        if len(node) > 1:
            yield node
        for value in node:
            yield from _lists(value)


HIT_FIELDS = ("document", "chunk", "similarity", "position", "score", "agreement", "symbol",
              "start_line", "end_line", "why", "flags")  # fmt: skip
"""Every field that `hit_data` may return."""


def hit_data(hit: Hit, text: str) -> dict[str, Any]:
    """Return a hit's fields on the wire (devrag's names first, then ours)."""
    data: dict[str, Any] = {
        "document": hit.document,
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
            "learned_at": hit.agreement.learned_at,
            **({"renamed_to": hit.agreement.renamed_to} if hit.agreement.renamed_to else {}),
        }
    else:
        data |= {"symbol": hit.symbol, "start_line": hit.start_line, "end_line": hit.end_line}
    return data | {"why": list(hit.why), **flags_of(*_words_of(hit, text))}


def logged_hits(hits: Iterable[Hit]) -> list[dict[str, Any]]:
    """Return hits as a session's journal keeps them: `document`, `symbol`, `score`, `status`."""
    return [
        {
            "document": hit.document,
            "symbol": hit.agreement.symbol if hit.agreement else hit.symbol,
            "score": None if hit.score is None else round(hit.score, 4),
            "status": hit.agreement.status if hit.agreement else "HYPOTHESIS",
        }
        for hit in hits
    ]


def _words_of(hit: Hit, text: str) -> tuple[str, ...]:
    """Return every text of a hit that somebody wrote."""
    found = hit.agreement
    agreed = (found.nl_term, found.symbol, *found.reasons) if found else ()
    return (text, hit.document, hit.symbol, *agreed)


def files_data(files: Iterable[FileReference]) -> list[str]:
    """Return file references as `path:line`, or `path` where the line is not known."""
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
    """Return a row that says where something is defined as one line."""
    return f"{visible(row['file'])}:{row['line']}  {row['kind']} {visible(row['name'])}"


def index_data(index: Freshness) -> dict[str, Any]:
    """Return the `index` field of every search answer."""
    return {
        "state": index.state,
        "files": index.files,
        "pending": index.pending,
        "degraded": list(index.degraded),
    }


def cut_text(*, cut: bool) -> str:
    """Return how to see more of what was cut, or nothing."""
    return "\nTexts are cut: a smaller top_k shows more of each." if cut else ""


def index_text(index: Freshness) -> str:
    """Return what a reader must know of the index's state, or nothing when all is well."""
    notes = [note.rstrip(".") for note in index.degraded]
    if index.state != "fresh":
        notes.append(f"the index is {index.state}")
    if index.pending:
        notes.append(f"{counted(index.pending, 'chunk')} still without a vector")
    return f"\nNote: {'; '.join(notes)}." if notes else ""


def hits_text(shown: Sequence[tuple[Hit, str]]) -> str:
    """Return hits as a person would list them, each with the start of its text.

    Only the map's scores are shown: those of the forest are relative, its best hit always has 1.
    """
    lines = [_hit_text(place, hit, text) for place, (hit, text) in enumerate(shown, 1)]
    flagged = any(flags_of(*_words_of(hit, text)) for hit, text in shown)
    return "\n".join([NOTE, *lines] if flagged else lines)


def _hit_text(place: int, hit: Hit, text: str) -> str:
    if hit.agreement is not None:
        score = "" if hit.score is None else f"  {hit.score:.2f}"
        found = hit.agreement
        files = ", ".join(files_data(found.files)) or "no files"
        now = f" (now {found.renamed_to})" if found.renamed_to else ""
        why = "".join(f"\n   {visible(reason)}" for reason in found.reasons)
        head = f"{place}. {found.nl_term} → {found.symbol}{now}  [{found.status}]{score}"
        return f"{visible(head)}\n   {visible(files)}{why}"
    lines = f":{hit.start_line}-{hit.end_line}" if hit.start_line else ""
    name = f"  {visible(hit.symbol)}" if hit.symbol else ""
    return f"{place}. {visible(hit.document)}{lines}{name}\n{_indent(text)}"


def _indent(text: str) -> str:
    # Not by splitlines: U+2028 begins a line for a terminal, and none of the file's.
    lines = visible(text.rstrip(), keep="\n\r\t").replace("\r\n", "\n").split("\n")
    return "\n".join(f"   {line}" for line in lines)
