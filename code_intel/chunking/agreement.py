"""The agreement file: its text, its card, its name. Pure; the disk is `learned`'s business.

One Markdown file says: this term means that symbol, and here is the evidence (seed 004 §3.1, §9.2;
docs/decisions/0007). The front matter carries identity and numbers, the body what people read and
edit. The law is ``read(render(a)) == canonical(a)``, whatever the texts contain: front matter scalars
are quoted, and in the body a line that could be mistaken for structure is indented under its bullet,
with numeric character references (``&#10;``) for what Markdown would swallow.
"""

import hashlib
import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal

from code_intel.chunking import agreement_body as md
from code_intel.chunking import front_matter
from code_intel.errors import CodeIntelError
from code_intel.records import Agreement, FileReference
from code_intel.text import code_point, hidden_character, without_hidden

SCHEMA = 1
NAME_BYTES = 60
"""Most UTF-8 bytes of term and of symbol in a file name, so that no file system refuses it."""

_KNOWN = frozenset({
    "doc_type", "schema", "nl_term", "symbol", "symbol_normalized", "similarity", "intent",
    "session_id", "learned_at", "confirmed", "aliases", "symbol_digest", "symbol_body",
})  # fmt: skip
_UNSAFE_IN_NAMES = re.compile(r'[<>:"/\\|?*\s]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:[._ ]|$)", re.IGNORECASE)


class AgreementProblem(CodeIntelError):  # noqa: N818 - a finding about a file, listed more often than raised
    """Why a text is not a usable agreement: `conflict` (merge markers) or `invalid`."""

    code = "agreement_unreadable"
    remedy = "Correct the file by hand, or learn the agreement again."

    def __init__(self, kind: Literal["invalid", "conflict"], reason: str) -> None:
        reason = without_hidden(reason)
        super().__init__(reason, code=f"agreement_{kind}")
        self.kind: Literal["invalid", "conflict"] = kind
        self.reason = reason


def canonical(agreement: Agreement) -> Agreement:
    """Return the agreement as its file can hold it: NFC words, sorted aliases, nothing blank twice.

    Characters that nobody sees are dropped from what is said, and a file with one in its path is not
    named; in term, symbol and aliases they stay, and `read` refuses them.
    """
    term = unicodedata.normalize("NFC", md.encodable(agreement.nl_term))
    aliases = {unicodedata.normalize("NFC", md.encodable(alias)) for alias in agreement.aliases}
    similarity = agreement.similarity if math.isfinite(agreement.similarity) else 0.0
    files = (
        FileReference(file.path, max(file.line, 0))
        for file in agreement.files
        if file.path and not hidden_character(file.path)
    )
    evidence = map(_said, agreement.evidence)
    frame = ((_said(slot), _said(value)) for slot, value in agreement.frame)
    return replace(
        agreement,
        nl_term=term,
        symbol=md.encodable(agreement.symbol),
        evidence=tuple(dict.fromkeys(item for item in evidence if item.strip())),
        files=tuple(dict.fromkeys(files)),
        similarity=round(min(max(similarity, 0.0), 1.0), 3),
        intent=_said(agreement.intent),
        session_id=_said(agreement.session_id),
        aliases=tuple(sorted(alias for alias in aliases if alias.strip())),
        digest=_said(agreement.digest),
        body=_said(agreement.body),
        frame=tuple((slot, value) for slot, value in frame if slot.strip() and value.strip()),
    )


def render(agreement: Agreement, *, notes: str = "") -> str:
    """Return the file's text; equal agreements give equal text.

    Args:
        agreement: What to write; `canonical` is applied.
        notes: Sections of the old text that are not ours, as `notes_of` returned them.
    """
    agreement = canonical(agreement)
    parts = [
        f"---\n{front_matter.dump(_metadata(agreement))}---\n",
        f"# {md.heading(agreement.nl_term)} → {md.heading(agreement.symbol)}\n",
        f"**シンボル（分解）**: {md.heading(split_symbol(agreement.symbol))}\n",
        _section("根拠 (Code Evidence)", (md.bullet(item) for item in agreement.evidence)),
        _section("関連ファイル", (f"- `{md.location(file)}`\n" for file in agreement.files)),
        _section("セッション情報", _session_lines(agreement)),
        f"{notes.strip(chr(10))}\n" if notes.strip() else "",
    ]
    return "\n".join(part for part in parts if part)


def read(text: str) -> Agreement:
    """Return the agreement in `text`, in any of the three historic forms.

    Raises:
        AgreementProblem: Merge markers outside the list of aliases, or not an agreement.
    """
    lines = md.united(md.lines_of(text))
    if lines is None:
        raise AgreementProblem("conflict", "It has merge conflict markers.")
    parts = front_matter.split("\n".join(lines))
    if parts is None:
        raise AgreementProblem("invalid", "It does not start with a closed front matter block.")
    try:
        values = front_matter.load(parts[0])
        return canonical(_from_values(values, parts[1]))
    except ValueError as error:
        raise AgreementProblem("invalid", str(error)) from None


def notes_of(text: str) -> str:
    """Return what a file says besides, verbatim: people's own sections, and text above ours."""
    parts = front_matter.split("\n".join(md.lines_of(text)))
    if parts is None:
        return ""
    above = md.preamble(parts[1])
    notes = ["\n".join(lines).strip("\n") for name, lines in md.sections(parts[1]) if not name]
    return "\n\n".join([f"## メモ\n\n{above}"] * bool(above.strip()) + notes)


def card(agreement: Agreement) -> str:
    """Return what is embedded for the agreement: ``term → split symbol. evidence``."""
    evidence = " ".join(" ".join(item.split()) for item in agreement.evidence)
    term = " ".join(agreement.nl_term.split())
    return f"{term} → {split_symbol(agreement.symbol)}. {evidence}".strip()


def card_of(text: str) -> str | None:
    """Return the card of an agreement's text, None for any other text."""
    try:
        return card(read(text))
    except AgreementProblem:
        return None


def split_symbol(symbol: str) -> str:
    """Return the words of a symbol: ``AuthService.login()`` gives ``Auth Service login``."""
    from code_intel.chunking.words import split_identifier

    return split_identifier(re.sub(r"\([^)]*\)", " ", symbol))


def file_name(nl_term: str, symbol: str) -> str:
    """Return the name of a new agreement's file: readable, unique, legal on every file system."""
    term = unicodedata.normalize("NFC", md.encodable(nl_term))
    symbol = md.encodable(symbol)
    key = hashlib.sha256(f"{term}\0{symbol}".encode()).hexdigest()[:8]
    stem = f"{_name_part(term, 'term')}_{_name_part(symbol, 'symbol')}"
    return f"{'_' if _RESERVED.match(stem) else ''}{stem}-{key}.md"


def _said(text: str) -> str:
    return without_hidden(md.encodable(text))


def _metadata(agreement: Agreement) -> dict[str, object]:
    values: dict[str, object] = {
        "doc_type": "agreement",
        "schema": SCHEMA,
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
    }
    values |= {key: value for key, value in agreement.extra if key not in _KNOWN}
    # Last, with unchanging lines around it: two branches that add aliases conflict here alone.
    return values | {"aliases": agreement.aliases}


def _from_values(values: dict[str, Any], body: str) -> Agreement:
    _check_kind(values)
    sections: dict[str, list[str]] = {}
    for name, lines in md.sections(body):
        sections.setdefault(name, []).extend(lines[1:])
    session = [*sections.get("session", []), *sections.get("frame", [])]
    intent, frame = md.session(session)
    return Agreement(
        nl_term=_required(values, "nl_term"),
        symbol=_required(values, "symbol"),
        evidence=tuple(md.items(sections.get("evidence", []))),
        files=tuple(md.files(sections.get("files", []))),
        similarity=_similarity(values),
        intent=_word(values, "intent") or intent,
        session_id=_word(values, "session_id"),
        learned_at=_time(values),
        confirmed=_truth(values),
        aliases=_aliases(values),
        digest=_word(values, "symbol_digest"),
        body=_word(values, "symbol_body"),
        frame=frame,
        extra=tuple((key, _plain(value)) for key, value in values.items() if key not in _KNOWN),
    )


def _check_kind(values: dict[str, Any]) -> None:
    if _word(values, "doc_type") not in {"agreement", ""}:
        raise ValueError(f"doc_type is {values['doc_type']}, not agreement.")
    schema = getattr(values.get("schema"), "value", None)
    if isinstance(schema, int) and schema > SCHEMA:
        raise ValueError(f"schema {schema} was written by a newer version.")


def _word(values: dict[str, Any], key: str) -> str:
    value = values.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"{key} must be one piece of text.")  # noqa: TRY004 - one kind of refusal
    return "" if getattr(value, "value", value) is None else str(value)


def _required(values: dict[str, Any], key: str) -> str:
    value = _word(values, key)
    if not value.strip():
        raise ValueError(f"{key} is missing.")
    return _readable(key, value)


def _readable(key: str, word: str) -> str:
    """Return a word that is served as a name, so everybody must see what it is."""
    if hidden := hidden_character(word):
        raise ValueError(f"{key} has a character that cannot be seen, {code_point(hidden)}.")
    return word


def _similarity(values: dict[str, Any]) -> float:
    try:
        number = float(_word(values, "similarity") or 0)
    except ValueError:
        number = math.nan
    if not 0.0 <= number <= 1.0:
        raise ValueError("similarity must be a number from 0 to 1.")
    return number


def _time(values: dict[str, Any]) -> str:
    """Return the time with an offset; one without is taken as UTC, the same on every machine."""
    text = _word(values, "learned_at")
    try:
        time = datetime.fromisoformat(text) if text else None
    except ValueError:
        raise ValueError("learned_at must be an ISO 8601 time.") from None
    return text if time is None or time.tzinfo else time.replace(tzinfo=UTC).isoformat()


def _truth(values: dict[str, Any]) -> bool:
    value = getattr(values.get("confirmed"), "value", values.get("confirmed"))
    if value is None or isinstance(value, bool):
        return bool(value)
    raise ValueError("confirmed must be true or false.")


def _aliases(values: dict[str, Any]) -> tuple[str, ...]:
    given = values.get("aliases")
    items = given if isinstance(given, list) else [_word(values, "aliases")]
    if not all(isinstance(item, str) for item in items):
        raise ValueError("aliases must be a list of words.")
    return tuple(_readable("aliases", str(item)) for item in items)


def _plain(value: Any) -> object:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value.value if isinstance(value, front_matter.Scalar) else value


def _section(title: str, lines: Iterable[str]) -> str:
    body = "".join(lines)
    return f"## {title}\n\n{body}" if body else ""


def _session_lines(agreement: Agreement) -> Iterable[str]:
    if agreement.intent:
        yield f"- Intent: {md.heading(agreement.intent)}\n"
    if agreement.frame:
        yield "- 成功時の QueryFrame:\n"
        yield from (md.slot(name, value, "  ") for name, value in agreement.frame)


def _name_part(text: str, default: str) -> str:
    readable = "".join(char if front_matter.visible(char) else "_" for char in text)
    readable = _UNSAFE_IN_NAMES.sub("_", readable.removesuffix("()"))
    cut = unicodedata.normalize("NFC", readable).encode()[:NAME_BYTES].decode(errors="ignore")
    return cut.strip("._ ") or default
