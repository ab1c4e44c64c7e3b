"""Read architecture decision records: files in the forms of Nygard and of MADR.

Such a file has a title, a status, and a section with the decision. Other files of the folder, such
as its index or a template, are no records (docs/decisions/0083).
"""

import re
from collections.abc import Mapping
from typing import Any

from code_intel.chunking import agreement_body as md
from code_intel.chunking import front_matter
from code_intel.chunking.notes.note import canonical, sections_of
from code_intel.records import Note

NO_RECORDS = re.compile(
    r"(?:readme|index|contents|(?:.*[-_ ])?template)(?:\.[a-z]{2})?", re.IGNORECASE
)
"""Names of files, without ending, that are in a folder of records but not records."""

_STATUS_LINE = re.compile(
    r"^[-*\s]*(?:\*\*)?(?:status|ステータス|状態)(?:\*\*)?\s*[:：](?:\*\*)?\s*(.+)$",
    re.IGNORECASE | re.MULTILINE,
)
_STATUS_SECTION = re.compile(
    r"^##\s+(?:\d+\.?\s+)?(?:status|ステータス|状態)\s*$\n+([^#]*)", re.IGNORECASE | re.MULTILINE
)
_STATUSES = (
    (
        "superseded",
        re.compile(r"super[sc]eded|deprecated|obsolete|廃止|置き換え|非推奨", re.IGNORECASE),
    ),
    ("rejected", re.compile(r"rejected|declined|却下|不採用", re.IGNORECASE)),
    ("proposed", re.compile(r"proposed|draft|pending|in discussion|提案|検討中", re.IGNORECASE)),
    ("accepted", re.compile(r"accepted|approved|adopted|承認|採用|決定済", re.IGNORECASE)),
)
"""The first row that a record's words match is its status."""
_SUPERSEDES = re.compile(
    r"(?:super[sc]edes|replaces)\b:?\s*(?:\[[^\]]*\]\(([^)\s]+)\)|(?:ADR[- ]?)?#?(\d+))",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"^[-*\s]*(?:\*\*)?date(?:\*\*)?\s*:(?:\*\*)?\s*(\d{4}-\d{2}-\d{2})",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBER = re.compile(r"(?:ADR[-\s]?)?\d{1,5}[.:：)\s-]+\s*", re.IGNORECASE)


def read(text: str, name: str) -> Note | None:
    """Return the decision in a file, or None if the file is not a decision record.

    Args:
        text: The content of the file.
        name: The name of the file without its ending.
    """
    if NO_RECORDS.fullmatch(name):
        return None
    lines = md.lines_of(text)
    values, body = _parsed("\n".join(lines))
    title, parts = sections_of(body)
    if not title or not parts.get("decision", "").strip():
        return None
    about = _status_text(values, body)
    return canonical(
        Note(
            kind="decision",
            title=title_of(title),
            text=parts["decision"],
            context=parts.get("context", ""),
            consequences=parts.get("consequences", ""),
            status=next((word for word, is_it in _STATUSES if is_it.search(about)), ""),
            supersedes=tuple(
                (found[1] or found[2]).rpartition("/")[2] for found in _SUPERSEDES.finditer(about)
            ),
            learned_at=_date(values, body),
        )
    )


def title_of(heading: str) -> str:
    """Return a heading without the number of the record.

    >>> title_of("0041 Keep plans in files"), title_of("12. Use SQLite"), title_of("ADR-3: Use Go")
    ('Keep plans in files', 'Use SQLite', 'Use Go')
    """
    return _NUMBER.sub("", heading, count=1) if _NUMBER.match(heading) else heading


def _parsed(text: str) -> tuple[Mapping[str, Any], str]:
    try:
        parts = front_matter.parse(text, front_matter.load)
    except ValueError:
        parts = None
    return parts or ({}, text)


def _status_text(values: Mapping[str, Any], body: str) -> str:
    """Return what the record says about its status."""
    given = values.get("status")
    section = _STATUS_SECTION.search(body)
    line = _STATUS_LINE.search(body)
    texts = (
        given if isinstance(given, str) else "",
        section[1] if section else "",
        line[1] if line else "",
    )
    return "\n".join(texts)


def _date(values: Mapping[str, Any], body: str) -> str:
    given = values.get("date")
    found = re.match(r"\d{4}-\d{2}-\d{2}", given) if isinstance(given, str) else None
    written = _DATE.search(body)
    day = found[0] if found else written[1] if written else ""
    return f"{day}T00:00:00+00:00" if day else ""
