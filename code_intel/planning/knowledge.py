"""Write the findings of plans as searchable pages: `cache/knowledge/{topic}-{8 hex}.md` (seed 003).

There is one page per goal, of its latest plan. `chunking.knowledge_page` has the format, the
forest's walk finds the files.
"""

import hashlib
from dataclasses import asdict
from pathlib import Path

from code_intel.chunking import knowledge_page as page
from code_intel.chunking.knowledge_page import PageFinding, PageFrontMatter
from code_intel.errors import StorageError
from code_intel.index.safe_files import read_document
from code_intel.planning import outcome, place
from code_intel.planning.catalog import Catalog
from code_intel.planning.records import QueryPlan, Result, damaged

MAX_FINDINGS = 8


def write(root: Path, plan: QueryPlan, project: Path | None = None) -> Path | None:
    """Write the page of a plan; return its file, None for a plan that failed or found nothing.

    An existing page stays if it is better and its files are unchanged. `project` is the folder of
    the documents, by default the folder around the root. See `Catalog.put`.
    """
    project = root.parent if project is None else project
    found, status = plan.final[:MAX_FINDINGS], outcome.status(plan)
    if status == "failed" or not found:
        return None
    digests = {result.document: digest_of(project, result.document) for result in found}
    matched, unmatched = outcome.met(plan)
    front = PageFrontMatter(
        goal=plan.goal,
        plan_id=plan.id,
        status=status,
        confidence=min(1.0, max(0.0, outcome.confidence(plan))),
        created=plan.created,
        files=tuple(digests.items()),
        matched=matched,
        unmatched=unmatched,
    )

    def digest(path: str) -> str:
        # A page may be forged: outside the project, only files that our search found are read.
        return digests.get(path, "") if Path(path).is_absolute() else digest_of(project, path)

    name, known = _slot(root, plan.goal)
    this = (status == "success", round(front.confidence, 3))
    is_better = known and known.files and (known.status == "success", known.confidence) > this
    if known and is_better and all(digest(path) == before for path, before in known.files):
        return PAGES.path(root, name)
    text = page.render(front, [_finding(each, plan) for each in found], (*matched, *unmatched))
    return PAGES.put(root, name, text.encode("utf-8", "replace"))


def page_of(root: Path, goal: str) -> Path | None:
    """Return the page of a goal, or None."""
    name, known = _slot(root, goal)
    return PAGES.path(root, name) if known else None


def remove(root: Path, plan: QueryPlan) -> Path | None:
    """Remove the page of a plan that has failed since; return its file, or None."""
    name, known = _slot(root, plan.goal)
    is_own = known is not None and known.plan_id == plan.id
    return PAGES.path(root, name) if is_own and PAGES.remove(root, [name]) else None


def digest_of(project: Path, document: str) -> str:
    """Return the first digits of a file's SHA-256, empty where it cannot be read."""
    try:
        data = read_document(project, document)
    except (OSError, ValueError):
        return ""
    return hashlib.sha256(data).hexdigest()[: page.DIGEST_CHARS]


def _finding(result: Result, plan: QueryPlan) -> PageFinding:
    folded = result.text.casefold()
    has = [word for word in plan.expected.keywords if word.casefold() in folded]
    why = ", ".join(tag for tag in result.why if not tag.startswith("-"))
    parts = (f"has {', '.join(has)}" if has else "", f"found by {why}" if why else "")
    return PageFinding(
        path=result.document,
        start_line=result.start_line,
        end_line=result.end_line,
        symbol=result.symbol,
        reason="; ".join(filter(None, parts)) or "found by the query",
        text=result.text,
    )


def _slot(root: Path, goal: str) -> tuple[str, PageFrontMatter | None]:
    """Return the name of a goal's page and its front matter; a collision gets 16 digits."""
    name = page.file_name(goal)
    known = _read(root, name)
    if known and known.goal != page.displayed_goal(goal):
        name = page.file_name(goal, digits=page.DIGEST_CHARS)
        known = _read(root, name)
    return name, known


def _read(root: Path, name: str) -> PageFrontMatter | None:
    try:
        return PAGES.read(root, name)
    except (FileNotFoundError, StorageError):
        return None


def _parsed(data: bytes, name: str) -> PageFrontMatter:
    front = page.read(data.decode("utf-8", "replace"))
    if front is None:
        raise damaged(name, "it is not a page of a plan")
    return front


PAGES = Catalog("knowledge", place.KNOWLEDGE, page.PAGE_NAME, _parsed, asdict)
