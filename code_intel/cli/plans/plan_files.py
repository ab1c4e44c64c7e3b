"""Resolve, remove and report the files of query plans."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.cli.id_prefix import IdKind, resolve_prefix
from code_intel.config import Settings
from code_intel.errors import CodeIntelError, NotFoundError, UsageError
from code_intel.index.facade import Index
from code_intel.index.sync import sync_document
from code_intel.planning import place
from code_intel.planning.catalog import Catalog
from code_intel.planning.keeping import PLANS, PlanEntry, damage, entries
from code_intel.planning.knowledge import PAGES
from code_intel.planning.queries import QUERIES

PLAN_FILE_KINDS: Mapping[str, Catalog] = {each.kind: each for each in (PLANS, QUERIES, PAGES)}
SHORT = 8
"""Digits of an id that a list shows."""
PLAN = IdKind("plan", "See `code-intel plans list`.", "`code-intel plan GOAL` makes one.")


class Removal(NamedTuple):
    """A file to remove, and the reason."""

    kind: str
    name: str
    reason: str
    bytes: int

    @property
    def data(self) -> dict[str, Any]:
        """As JSON."""
        return self._asdict()


def remove_files(root: Path, removals: Iterable[Removal]) -> list[Removal]:
    """Remove files; return those that existed.

    Raises:
        StorageError: The disk refused; some files may be gone.
    """
    wanted = list(removals)
    removed = {
        (kind, name)
        for kind, catalog in PLAN_FILE_KINDS.items()
        if (names := [each.name for each in wanted if each.kind == kind])
        for name in catalog.remove(root, names)
    }
    return [each for each in wanted if (each.kind, each.name) in removed]


def unindex_pages(settings: Settings, removals: Iterable[Removal]) -> str:
    """Remove deleted pages from the index; return a sentence if that failed, else an empty text."""
    root, index = place.root_of(settings), settings.forest
    pages = [PAGES.path(root, each.name) for each in removals if each.kind == PAGES.kind]
    if not pages or not index.db_path.exists():
        return ""
    try:
        with Index(index) as forest, forest.store.batch():
            for page in pages:
                with suppress(NotFoundError, UsageError):  # it is not indexed
                    sync_document(forest.store, index, page)
    except CodeIntelError as error:
        return f"Searches may find the pages until the next sync: {error.message} {error.hint}"
    return ""


def removal_text(removals: Sequence[Removal], *, dry: bool, problem: str = "") -> str:
    """Return the report: a line per file, the total, and the problem, if any."""
    lines = [f"{each.kind}/{each.name}: {each.reason}" for each in removals]
    size = sum(each.bytes for each in removals) / 1024
    verb = "would be removed" if dry else "removed"
    lines.append(f"{len(removals)} {verb}, {size:,.0f} KiB." if removals else "Nothing to remove.")
    lines += [problem] if problem else []
    return "\n".join(lines)


def resolve_plan(root: Path, text: str) -> str:
    """Return the id of the plan that an id, the beginning of one, or `last` names.

    Raises:
        NotFoundError: None exists.
        UsageError: Several begin like this; the error names two.
    """
    stored: list[PlanEntry] = entries(root)
    wanted = text.strip().lower()
    if wanted == "last":
        found = [entry.id for entry in stored[:1]]
    else:
        ids = [entry.id for entry in stored] + [name.removesuffix(".json") for name in damage(root)]
        found = [one for one in ids if wanted and one.startswith(wanted)]
    return resolve_prefix(found, text, PLAN, some=bool(stored))
