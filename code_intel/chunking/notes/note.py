"""Read and write the text of a note: a convention, a decision or a warning of the project.

A note is a Markdown file whose front matter says `kind:` (docs/decisions/0083). People write free
text; code-intel writes the same few sections for everything, so that equal notes are equal files.
For all texts ``read(render(note)) == canonical(note)``.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast, get_args

from code_intel.chunking import agreement_body as md
from code_intel.chunking import agreement_values as values_of
from code_intel.chunking import front_matter
from code_intel.chunking.agreement import AgreementProblem, name_part
from code_intel.chunking.headings import HEADINGS
from code_intel.foundation.text import hidden_character, without_hidden
from code_intel.records import Language, Note, NoteKind

NOTE_KINDS = frozenset(get_args(NoteKind))
MAX_TITLE_CHARS = 200
EXPECTED_KINDS = "agreement, convention, decision or warning"

_LISTS = ("files", "symbols", "supersedes")
_KNOWN = frozenset({"doc_type", "schema", "kind", "title", "status", "learned_at", "session_id"})
_KNOWN |= {"confirmed", *_LISTS}
_TITLES = tuple(
    (name, re.compile(rf"(?:{names})\s*+(?:[(（][^()（）]*[)）]\s*+)?[:：]?", re.IGNORECASE))
    for name, names in (
        ("context", "背景|コンテキスト|経緯|context(?: and problem statement)?"),
        ("decision", "決定(?:事項)?|decision(?: outcome| and .*)?"),
        ("consequences", "結果|影響|consequences"),
        ("evidence", "根拠|(?:code )?evidence"),
    )
)
_BLOCK = re.compile(
    r"\ufeff?\s*-{3,}[ \t]*\r?\n.*?^(?:-{3,}|\.{3})[ \t]*\r?$", re.DOTALL | re.MULTILINE
)
_KIND = re.compile(r"^kind[ \t]*[:：][ \t]*[\"']?([^\s\"'#]+)", re.IGNORECASE | re.MULTILINE)
_STRUCTURE = re.compile(r"[#`~<=>|]")
"""The first character of a line that Markdown or git may read as structure."""


def kind_of(text: str) -> str:
    r"""Return the kind that the front matter names, in lower case; empty without one.

    >>> kind_of("---\nkind: Convention\n---\n"), kind_of("kind: none")
    ('convention', '')
    """
    block = _BLOCK.match(text)
    found = _KIND.search(block[0]) if block else None
    return found[1].strip().lower() if found else ""


def canonical(note: Note) -> Note:
    """Return the note as a file stores it: visible text, distinct items, and a title on one line.

    Only a decision has a context, consequences and notes that it supersedes.
    """
    is_decision = note.kind == "decision"
    return replace(
        note,
        title=" ".join(_text(note.title).split()),
        text=_paragraphs(note.text),
        context=_paragraphs(note.context) if is_decision else "",
        consequences=_paragraphs(note.consequences) if is_decision else "",
        files=_names(note.files),
        symbols=_names(note.symbols),
        evidence=tuple(dict.fromkeys(i for i in map(_text, note.evidence) if i.strip())),
        supersedes=_names(note.supersedes) if is_decision else (),
        status=_text(note.status).strip().lower(),
        session_id=_text(note.session_id),
    )


def render(note: Note, language: Language = "ja") -> str:
    """Return the file's text; equal notes give equal text."""
    note = canonical(note)
    titles = HEADINGS[language]
    text = _escaped(note.text)
    sections = [(titles.evidence, "".join(map(md.bullet, note.evidence)))]
    if note.kind == "decision":
        sections = [
            (titles.context, _escaped(note.context)),
            (titles.decision, text),
            (titles.consequences, _escaped(note.consequences)),
            *sections,
        ]
        text = ""
    parts = [f"# {md.one_line(note.title)}\n", text]
    parts += [f"## {title}\n\n{body}" for title, body in sections if body]
    return front_matter.dumps(_metadata(note), "\n".join(part for part in parts if part))


def read(text: str, name: str = "") -> Note:
    """Return the note in `text`; `name` is its title if the text has none.

    Raises:
        AgreementProblem: It contains merge markers, or is not a note.
    """
    if any(map(md.is_conflict_marker, md.lines_of(text))):
        raise AgreementProblem("conflict", "It has merge conflict markers.")
    try:
        parts = front_matter.parse("\n".join(md.lines_of(text)), front_matter.load)
        note = _from_values(*parts, name) if parts else None
    except ValueError as error:
        key = error.key if isinstance(error, front_matter.FrontMatterFault) else ""
        raise AgreementProblem("invalid", str(error), field=key) from None
    if note is None:
        raise AgreementProblem("invalid", "It does not start with a closed front matter block.")
    return note


def sections_of(body: str) -> tuple[str, dict[str, str]]:
    """Return the title of a text, and its text by section; the text above the sections is ""."""
    title, preamble, found = md.titled_sections(body)
    named: dict[str, str] = {"": "\n".join(preamble)}
    for heading, lines in found:
        name = next((name for name, is_it in _TITLES if is_it.fullmatch(heading)), "")
        whole = "\n".join(lines) if name else "\n".join([f"## {heading}", *lines])
        earlier = named.get(name, "").strip("\n")
        named[name] = "\n\n".join(filter(None, (earlier, whole.strip("\n"))))
    return title, named


def file_name(note: Note) -> str:
    """Return the name of a new note's file: readable, unique, valid on all systems."""
    title = unicodedata.normalize("NFC", canonical(note).title)
    key = hashlib.sha256(f"{note.kind}\0{title}".encode()).hexdigest()[:8]
    return f"{note.kind}_{name_part(title, 'note')}-{key}.md"


def _from_values(values: Mapping[str, Any], body: str, name: str) -> Note:
    kind = str(values.get("kind", "")).strip().lower()
    if kind not in NOTE_KINDS:
        reason = f"kind is “{kind[:40]}”. Write {EXPECTED_KINDS}."
        raise front_matter.FrontMatterFault(reason, key="kind")
    title, parts = sections_of(body)
    title = values_of.text_value(values, "title") or title or name
    if not title.strip():
        reason = "title is missing. Write it in the front matter, or as a heading `# …`."
        raise front_matter.FrontMatterFault(reason, key="title")
    if hidden_character(title):
        reason = "title has an invisible character. Remove it."
        raise front_matter.FrontMatterFault(reason, key="title")
    above = parts[""]
    is_decision = kind == "decision"
    named = {key: parts.get(key, "") for key in ("context", "decision", "consequences")}
    if not is_decision:
        above = "\n\n".join(filter(None, (above, *named.values())))
    return canonical(
        Note(
            kind=cast("NoteKind", kind),
            title=title,
            text=_unescaped((named["decision"] if is_decision else "") or above),
            context=_unescaped(named["context"]),
            consequences=_unescaped(named["consequences"]),
            **{key: _list(values, key) for key in _LISTS},
            evidence=tuple(md.items(parts.get("evidence", "").split("\n"))),
            status=values_of.text_value(values, "status"),
            session_id=values_of.text_value(values, "session_id"),
            learned_at=values_of.learned_at(values),
            confirmed=values_of.confirmed(values) if "confirmed" in values else None,
        )
    )


def _metadata(note: Note) -> dict[str, object]:
    values: dict[str, object] = {
        "doc_type": "note",
        "schema": values_of.SCHEMA,
        "kind": note.kind,
        "title": note.title,
        "files": note.files,
        "symbols": note.symbols,
        "supersedes": note.supersedes,
        "status": note.status,
        "session_id": note.session_id,
        "learned_at": note.learned_at,
    }
    kept = {key: value for key, value in values.items() if value}
    return kept if note.confirmed is None else kept | {"confirmed": note.confirmed}


def _list(values: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return a list of texts, from a list or from a text with commas."""
    given = values.get(key, [])
    items = given if isinstance(given, list) else re.split(r"[,、，\n]", str(given))
    if isinstance(given, dict) or not all(isinstance(item, str) for item in items):
        reason = f"{key} is not a list of texts. Write one per line after a hyphen."
        raise front_matter.FrontMatterFault(reason, key=key)
    texts = [str(item).strip() for item in items]
    if any(map(hidden_character, texts)):
        reason = f"{key} has an invisible character. Remove it."
        raise front_matter.FrontMatterFault(reason, key=key)
    return tuple(filter(None, texts))


def _text(text: str) -> str:
    return without_hidden(md.encodable(text))


def _names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in names if (name := " ".join(_text(each).split()))))


def _paragraphs(text: str) -> str:
    """Return text without space at the ends of lines, and at most one blank line between two."""
    lines = [line.rstrip() for line in md.lines_of(_text(text))]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def _escaped(text: str) -> str:
    """Return text of which no line is structure; `_unescaped` reverses it."""
    return "".join(f"{line}\n" for line in map(_escaped_line, text.split("\n"))) if text else ""


def _escaped_line(line: str) -> str:
    line = line.replace("&#", "&#38;#")
    start = len(line) - len(line.lstrip())
    if _STRUCTURE.match(line, start):
        return f"{line[:start]}&#{ord(line[start])};{line[start + 1 :]}"
    return line


def _unescaped(text: str) -> str:
    return md.decoded(text)
