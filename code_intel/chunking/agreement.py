"""Read and write the text of an agreement, and compute its card and its file name.

An agreement is a Markdown file that says which symbol a term refers to, with evidence (seed 004
§3.1, §9.2; docs/decisions/0007). Its front matter contains the key and numbers, its body what
people read and edit. For all texts ``read(render(a)) == canonical(a)``: strings in the front matter
are quoted; in the body, lines that look like structure are indented under their bullet, and numeric
character references (``&#10;``) replace what Markdown would drop.
"""

import hashlib
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal

from code_intel.chunking import agreement_body as md
from code_intel.chunking import agreement_values as values_of
from code_intel.chunking import front_matter
from code_intel.chunking.headings import HEADINGS, Headings
from code_intel.errors import CodeIntelError
from code_intel.foundation.text import hidden_character, without_hidden
from code_intel.records import Agreement, FileReference, Language

NAME_BYTES = 60
"""Maximum UTF-8 bytes of the term and of the symbol in a file name."""

NO_BLOCK = (
    "It does not start with a closed front matter block. Begin it with a line `---`, then nl_term: "
    "and symbol:, each with its text in quotes, and a line `---`."
)
MAX_LINES = 20_000
"""Maximum number of lines; agreements have a few dozen, and millions would take seconds."""
_UNSAFE_IN_NAMES = re.compile(r'[<>:"/\\|?*\s]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:[._ ]|$)", re.IGNORECASE)


class AgreementProblem(CodeIntelError):  # noqa: N818 - mostly listed, not raised
    """A text is not a usable agreement: `conflict` (merge markers) or `invalid`.

    Attributes:
        kind: The kind of problem.
        reason: The problem as a sentence.
        line: The line of the problem, counted from 1; 0 if unknown.
        field: The key of the front matter that is wrong; empty if it is outside the front matter.
    """

    code = "agreement_unreadable"
    remedy = "Correct the file by hand, or learn the agreement again."

    def __init__(
        self,
        kind: Literal["invalid", "conflict"],
        reason: str,
        *,
        line: int = 0,
        field: str = "",
    ) -> None:
        reason = without_hidden(reason)
        super().__init__(reason, code=f"agreement_{kind}")
        self.kind: Literal["invalid", "conflict"] = kind
        self.reason = reason
        self.line = line
        self.field = field


def canonical(agreement: Agreement) -> Agreement:
    """Return the agreement as a file stores it: in NFC, with sorted aliases and distinct items.

    Invisible characters are removed from texts, and files with one in the path are left out. They
    are kept in term, symbol and aliases, where `read` rejects them.
    """
    term = unicodedata.normalize("NFC", md.encodable(agreement.nl_term))
    aliases = {unicodedata.normalize("NFC", md.encodable(alias)) for alias in agreement.aliases}
    similarity = agreement.similarity if math.isfinite(agreement.similarity) else 0.0
    files = (
        FileReference(file.path, max(file.line, 0))
        for file in agreement.files
        if file.path and not hidden_character(file.path)
    )
    evidence = map(_visible, agreement.evidence)
    frame = ((_visible(slot), _visible(value)) for slot, value in agreement.frame)
    return replace(
        agreement,
        nl_term=term,
        symbol=md.encodable(agreement.symbol),
        evidence=tuple(dict.fromkeys(item for item in evidence if item.strip())),
        files=tuple(dict.fromkeys(files)),
        similarity=round(min(max(similarity, 0.0), 1.0), 3),
        intent=_visible(agreement.intent),
        session_id=_visible(agreement.session_id),
        aliases=tuple(sorted(alias for alias in aliases if alias.strip())),
        digest=_visible(agreement.digest),
        body=_visible(agreement.body),
        role=values_of.role_word(_visible(agreement.role)),
        frame=tuple((slot, value) for slot, value in frame if slot.strip() and value.strip()),
        extra=tuple((md.encodable(key), _encodable(value)) for key, value in agreement.extra),
    )


def render(agreement: Agreement, *, notes: str = "", language: Language = "ja") -> str:
    """Return the file's text; equal agreements give equal text.

    `notes` are the user's own sections of the old text, from `notes_of`. `language` is that of the
    headings.
    """
    agreement = canonical(agreement)
    titles = HEADINGS[language]
    parts = [
        f"# {md.one_line(agreement.nl_term)} → {md.one_line(agreement.symbol)}\n",
        f"**{titles.split}**: {md.one_line(split_symbol(agreement.symbol))}\n",
        _section(titles.evidence, (md.bullet(item) for item in agreement.evidence)),
        _section(titles.files, (f"- `{md.location(file)}`\n" for file in agreement.files)),
        _section(titles.session, _session_lines(agreement, titles)),
        f"{notes.strip(chr(10))}\n" if notes.strip() else "",
    ]
    return front_matter.dumps(_metadata(agreement), "\n".join(part for part in parts if part))


def read(text: str) -> Agreement:
    """Return the agreement in `text`, which may have any of the three formats so far.

    Raises:
        AgreementProblem: It contains merge markers outside the aliases, or is not an agreement.
    """
    raw = md.lines_of(text)
    if len(raw) > MAX_LINES:
        raise AgreementProblem("invalid", f"It has more than {MAX_LINES} lines.")
    lines = md.resolve_alias_conflicts(raw)
    if lines is None:
        line = md.first_marker(raw)
        raise AgreementProblem("conflict", "It has merge conflict markers.", line=line)
    try:
        parts = front_matter.parse("\n".join(lines), values_of.load)
        found = canonical(_from_values(*parts)) if parts else None
    except ValueError as error:
        key = error.key if isinstance(error, front_matter.FrontMatterFault) else ""
        line = _line_of(error, raw)
        raise AgreementProblem("invalid", str(error), line=line, field=key) from None
    if found is None:
        raise AgreementProblem("invalid", NO_BLOCK)
    return found


def line_of_key(text: str, key: str) -> int:
    """Return the line, from 1, on which a file's front matter has a key; 0 if on none."""
    return values_of.line_of_key(md.lines_of(text), key)


def notes_of(text: str, language: Language = "ja") -> str:
    """Return the parts of a file that do not belong to the format, verbatim."""
    lines = md.lines_of(text)
    parts = front_matter.parse(
        "\n".join(md.resolve_alias_conflicts(lines) or lines), values_of.load
    )
    return md.notes(parts[1], HEADINGS[language].notes) if parts else ""


def card(agreement: Agreement) -> str:
    """Return the text to embed for the agreement: ``term → split symbol. evidence``."""
    evidence = " ".join(" ".join(item.split()) for item in agreement.evidence)
    term = " ".join(agreement.nl_term.split())
    return f"{term} → {split_symbol(agreement.symbol)}. {evidence}".strip()


def card_of(text: str) -> str | None:
    """Return the card of an agreement's text, or None if it is not an agreement."""
    try:
        return card(read(text))
    except AgreementProblem:
        return None


def split_symbol(symbol: str) -> str:
    """Return the words of a symbol: ``AuthService.login()`` gives ``Auth Service login``."""
    from code_intel.chunking.words import split_identifier

    return split_identifier(re.sub(r"\([^)]*\)", " ", symbol))


def file_name(nl_term: str, symbol: str) -> str:
    """Return the name of a new agreement's file: readable, unique, valid on all systems."""
    term = unicodedata.normalize("NFC", md.encodable(nl_term))
    symbol = md.encodable(symbol)
    key = hashlib.sha256(f"{term}\0{symbol}".encode()).hexdigest()[:8]
    stem = f"{name_part(term, 'term')}_{name_part(symbol, 'symbol')}"
    return f"{'_' if _RESERVED.match(stem) else ''}{stem}-{key}.md"


def _line_of(error: ValueError, lines: Sequence[str]) -> int:
    """Return the line of a fault in the front matter, from 1; 0 if unknown."""
    if not isinstance(error, front_matter.FrontMatterFault):
        return 0
    return error.line or values_of.line_of_key(lines, error.key)


def _encodable(value: object) -> object:
    if isinstance(value, dict):
        return {md.encodable(str(key)): _encodable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    return md.encodable(value) if isinstance(value, str) else value


def _visible(text: str) -> str:
    return without_hidden(md.encodable(text))


def _metadata(agreement: Agreement) -> dict[str, object]:
    values: dict[str, object] = {
        "doc_type": "agreement",
        "schema": values_of.SCHEMA,
        "nl_term": agreement.nl_term,
        "symbol": agreement.symbol,
        "symbol_normalized": split_symbol(agreement.symbol),
        "similarity": Decimal(f"{agreement.similarity:.3f}"),
        "intent": agreement.intent,
        "session_id": agreement.session_id,
        "learned_at": agreement.learned_at,
        "symbol_digest": agreement.digest,
        **({"symbol_body": agreement.body} if agreement.body else {}),
        "confirmed": agreement.confirmed,
        **({"role": agreement.role} if agreement.role else {}),
    }
    values |= {
        key: value
        for key, value in agreement.extra
        if values_of.canonical_key(key) not in values_of.KNOWN
    }
    # Aliases come last, between constant lines, so that merges conflict only in this list.
    return values | {"aliases": agreement.aliases}


def _from_values(values: dict[str, Any], body: str) -> Agreement:
    values_of.check_kind(values)
    parts = md.sections(body)
    intent, frame = md.session([*parts["session"], *parts["frame"]])
    return Agreement(
        nl_term=values_of.required(values, "nl_term"),
        symbol=values_of.required(values, "symbol"),
        evidence=tuple(md.items(parts["evidence"])),
        files=tuple(md.files(parts["files"])),
        similarity=values_of.similarity(values),
        intent=values_of.text_value(values, "intent") or intent,
        session_id=values_of.text_value(values, "session_id"),
        learned_at=values_of.learned_at(values),
        confirmed=values_of.confirmed(values),
        aliases=values_of.aliases(values),
        digest=values_of.text_value(values, "symbol_digest"),
        body=values_of.text_value(values, "symbol_body"),
        role=values_of.role(values),
        frame=frame,
        extra=values_of.unknown_values(values),
    )


def _section(title: str, lines: Iterable[str]) -> str:
    body = "".join(lines)
    return f"## {title}\n\n{body}" if body else ""


def _session_lines(agreement: Agreement, titles: Headings) -> Iterable[str]:
    if intent := md.one_line(agreement.intent):
        yield f"- Intent: {intent}\n"
    if agreement.frame:
        yield f"- {titles.frames}:\n"
        yield from (md.slot(name, value, "  ") for name, value in agreement.frame)


def name_part(text: str, default: str) -> str:
    """Return a text as part of a file name; `default` if nothing readable is left."""
    readable = "".join(char if front_matter.is_visible(char) else "_" for char in text)
    readable = _UNSAFE_IN_NAMES.sub("_", readable.removesuffix("()"))
    cut = unicodedata.normalize("NFC", readable).encode()[:NAME_BYTES].decode(errors="ignore")
    return cut.strip("._ ") or default
