"""Read and write knowledge pages: Markdown files with the findings of a query plan.

The front matter contains the goal, the result, and the digest of each file, so that the index alone
shows whether a page is out of date. Each finding has a heading. The fence of an excerpt has more
backticks than the excerpt contains, so that no text can become part of the page's structure
(docs/decisions/0041).
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from code_intel.chunking import front_matter
from code_intel.foundation.redaction import masked
from code_intel.foundation.text import visible

MAX_PAGE_BYTES = 8000
MAX_GOAL_CHARS = 500
MAX_SLUG_BYTES = 80
MAX_EXCERPT_LINES, MAX_EXCERPT_CHARS = 8, 480
DIGEST_CHARS = 16
"""Number of hex digits of a file's SHA-256 in a page."""

PAGE_NAME = re.compile(r"[^/\\\x00-\x1f]{1,90}-[0-9a-f]{8}(?:[0-9a-f]{8})?\.md")
"""Matches the file name of a page."""
_NO_LETTER = re.compile(r"[\W_]+")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])\Z", re.IGNORECASE)
_TICKS = re.compile(r"`+")
_PLACE = re.compile(r"(.+)@([0-9a-f]{16})?\Z")


@dataclass(frozen=True, slots=True)
class PageFinding:
    """A location that a plan found, with the reason in one line; a part of `text` is shown."""

    path: str
    start_line: int
    end_line: int
    symbol: str
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class PageFrontMatter:
    """The front matter of a page; `files` are pairs of path and digest, which may be empty."""

    goal: str
    plan_id: str
    status: str
    confidence: float
    created: str
    files: tuple[tuple[str, str], ...] = ()
    matched: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()


def render(front: PageFrontMatter, findings: Sequence[PageFinding], words: Sequence[str]) -> str:
    """Return a page of at most `MAX_PAGE_BYTES`, with secrets masked; equal input gives equal text.

    Args:
        front: Its front matter; files of findings that do not fit are left out.
        findings: Best first; those that do not fit are left out.
        words: Words that the excerpts should show.
    """
    sections: list[str] = []
    text = _page(front, findings[:0], sections)
    for count, finding in enumerate(findings, 1):
        section = _section(finding, words)
        longer = _page(front, findings[:count], [*sections, section])
        if len(longer.encode("utf-8", "replace")) > MAX_PAGE_BYTES:
            break
        sections.append(section)
        text = longer
    return text


def read(text: str) -> PageFrontMatter | None:
    """Return the front matter of a page, or None if the text is not a page."""
    try:
        parts = front_matter.parse(text, front_matter.load)
    except ValueError:
        return None
    values = parts[0] if parts else {}
    if values.get("doc_type") != "knowledge":
        return None
    try:
        confidence = float(str(values.get("confidence", "0")))
    except ValueError:
        return None
    if not 0 <= confidence <= 1:
        return None
    places = (_PLACE.match(item) for item in _strings(values.get("files")))
    return PageFrontMatter(
        goal=_string(values.get("goal")),
        plan_id=_string(values.get("plan_id")),
        status=_string(values.get("status")),
        confidence=confidence,
        created=_string(values.get("created")),
        files=tuple((found[1], found[2] or "") for found in places if found),
        matched=_strings(values.get("matched")),
        unmatched=_strings(values.get("unmatched")),
    )


def file_name(goal: str, digits: int = 8) -> str:
    """Return the file name of a goal's page: readable, unique and valid on all systems."""
    goal = normalized_goal(goal)
    key = hashlib.sha256(goal.encode()).hexdigest()[:digits]
    slug = _NO_LETTER.sub("-", goal).strip("-").encode()[:MAX_SLUG_BYTES].decode(errors="ignore")
    slug = unicodedata.normalize("NFC", slug.casefold()).strip("-") or "goal"
    return f"{'_' if _RESERVED.match(slug) else ''}{slug}-{key}.md"


def normalized_goal(goal: str) -> str:
    """Return a goal for comparison: in NFC, with single spaces and masked secrets."""
    text = goal.encode("utf-8", "replace").decode()
    return masked(unicodedata.normalize("NFC", " ".join(text.split())))


def displayed_goal(goal: str) -> str:
    """Return a goal as its page shows it."""
    return visible(normalized_goal(goal))[:MAX_GOAL_CHARS]


def _page(front: PageFrontMatter, findings: Iterable[PageFinding], sections: Sequence[str]) -> str:
    paths = {finding.path for finding in findings}
    goal = displayed_goal(front.goal)
    values: dict[str, object] = {
        "doc_type": "knowledge",
        "schema": 1,
        "goal": goal,
        "plan_id": front.plan_id,
        "status": front.status,
        "confidence": Decimal(f"{front.confidence:.3f}"),
        "created": front.created,
        "matched": tuple(map(_one_line, front.matched)),
        "unmatched": tuple(map(_one_line, front.unmatched)),
        "files": tuple(f"{masked(path)}@{digest}" for path, digest in front.files if path in paths),
    }
    return front_matter.dumps(values, "\n".join([f"# {goal}\n", *sections]))


def _section(finding: PageFinding, words: Sequence[str]) -> str:
    path = finding.path if finding.path.isprintable() else visible(finding.path)
    lines = f":{finding.start_line}-{finding.end_line}" if finding.start_line else ""
    symbol = f" {_inline_code(finding.symbol)}" if finding.symbol else ""
    excerpt = _excerpt(finding.text, words)
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(excerpt)), default=0))
    heading = f"## {_inline_code(path + lines)}{symbol}"
    return f"{heading}\n\n{_one_line(finding.reason)}\n\n{fence}\n{excerpt}\n{fence}\n"


def _excerpt(text: str, words: Sequence[str]) -> str:
    """Return some lines, from the one before the first that contains any of the words."""
    folded = [word.casefold() for word in words]
    lines = visible(masked(text), "\n\t").split("\n")
    hits = (at for at, line in enumerate(lines) if any(word in line.casefold() for word in folded))
    first = max(0, next(hits, 0) - 1)
    return "\n".join(lines[first : first + MAX_EXCERPT_LINES])[:MAX_EXCERPT_CHARS].rstrip()


def _one_line(text: str) -> str:
    return visible(masked(" ".join(text.encode("utf-8", "replace").decode().split())))


def _inline_code(text: str) -> str:
    text = _one_line(text)
    ticks = "`" * (1 + max(map(len, _TICKS.findall(text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _strings(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
