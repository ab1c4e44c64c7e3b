"""Write the findings of plans as searchable pages: `cache/knowledge/{topic}-{8 hex}.md` (seed 003).

There is one page per goal. A failed plan writes none; a better or newer result replaces the page
(docs/decisions/0041). `chunking.knowledge_page` has the format, the forest's walk finds the files.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from code_intel.chunking import knowledge_page as page
from code_intel.chunking.knowledge_page import PageFinding, PageFrontMatter
from code_intel.errors import StorageError
from code_intel.index.safe_files import read_inside
from code_intel.planning import outcome, place
from code_intel.planning.catalog import Catalog
from code_intel.planning.records import QueryPlan, Result
from code_intel.planning.stored import damaged

MAX_FINDINGS = 8
_RANKS = ("partial", "success")


def write(root: Path, plan: QueryPlan, project: Path | None = None) -> Path | None:
    """Write the page of a plan; return its file, None for a plan that failed or found nothing.

    An existing page stays if it is better and its files are unchanged.

    Args:
        root: See `place.root_of`.
        plan: A plan that has ended.
        project: The folder of the documents; default: the folder around the root.

    Raises:
        StorageError: The disk failed; the old page remains.
        BusyError: Another process holds the lock.
    """
    project = root.parent if project is None else project
    found = tuple(_best(plan))
    status = outcome.status(plan)
    if status not in _RANKS or not found:
        return None
    digests = {result.document: digest_of(project, result.document) for result in found}
    front = _front(plan, status, tuple(digests.items()))
    name, known = _slot(root, plan.goal)
    if known and _is_better(known, front) and _stands(known, project, digests):
        return PAGES.path(root, name)
    words = (*front.matched, *front.unmatched)
    text = page.render(front, [_finding(each, plan) for each in found], words)
    return PAGES.put(root, name, text.encode("utf-8", "replace"))


def changed(front: PageFrontMatter, digest: Callable[[str], str]) -> tuple[str, ...]:
    """Return the files of a page that have changed; `digest` is empty for a missing file."""
    return tuple(path for path, before in front.files if digest(path) != before)


def _stands(known: PageFrontMatter, project: Path, digests: Mapping[str, str]) -> bool:
    """Return whether a page names files and all of them are unchanged.

    Outside the project only files that our own search found are read, because a page may be
    forged.
    """

    def digest(path: str) -> str:
        return digests.get(path, "") if Path(path).is_absolute() else digest_of(project, path)

    return bool(known.files) and not changed(known, digest)


def digest_of(project: Path, document: str) -> str:
    """Return the first digits of a file's SHA-256, empty where it cannot be read."""
    try:
        if Path(document).is_absolute():
            data = place.read(Path(document))
        else:
            data = read_inside(project, document)
    except (OSError, StorageError, ValueError):
        return ""
    return hashlib.sha256(data).hexdigest()[: page.DIGEST_CHARS]


def _best(plan: QueryPlan) -> Iterator[Result]:
    """Return the best result of each of the first files."""
    seen: set[str] = set()
    for result in plan.final:
        if result.document not in seen and len(seen) < MAX_FINDINGS:
            seen.add(result.document)
            yield result


def _front(plan: QueryPlan, status: str, files: tuple[tuple[str, str], ...]) -> PageFrontMatter:
    matched, unmatched = outcome.met(plan)
    return PageFrontMatter(
        goal=plan.goal,
        plan_id=plan.id,
        status=status,
        confidence=min(1.0, max(0.0, outcome.confidence(plan))),
        created=plan.created,
        files=files,
        matched=matched,
        unmatched=unmatched,
    )


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
        return page.read(PAGES.read(root, name).decode("utf-8", "replace"))
    except (FileNotFoundError, StorageError):
        return None


def _is_better(old: PageFrontMatter, new: PageFrontMatter) -> bool:
    rank = {status: at for at, status in enumerate(_RANKS)}
    return (rank.get(old.status, -1), old.confidence) > (rank[new.status], round(new.confidence, 3))


def _described(name: str, data: bytes) -> dict[str, Any]:
    front = page.read(data.decode("utf-8", "replace"))
    if front is None:
        raise damaged(name, "it is not a page of a plan")
    return {
        "goal": front.goal,
        "planId": front.plan_id,
        "status": front.status,
        "confidence": front.confidence,
        "created": front.created,
        "files": [path for path, _ in front.files],
    }


PAGES = Catalog(
    "knowledge",
    place.KNOWLEDGE,
    page.PAGE_NAME,
    _described,
    {
        "goal": str,
        "planId": str,
        "status": str,
        "confidence": float,
        "created": str,
        "files": list,
    },
)
