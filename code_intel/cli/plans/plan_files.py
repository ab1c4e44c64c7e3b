"""The three kinds of files that plans leave, and how the words of `code-intel plans` name them."""

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
from code_intel.planning.keeping import PLANS, Entry, damage, entries
from code_intel.planning.knowledge import PAGES
from code_intel.planning.queries import QUERIES

KINDS: Mapping[str, Catalog] = {each.kind: each for each in (PLANS, QUERIES, PAGES)}
SHORT = 8
"""Digits of an id that a list shows; more where several begin alike is the reader's business."""
PLAN = IdKind("plan", "`code-intel plans list` lists them.", "`code-intel plan GOAL` makes one.")


class Removal(NamedTuple):
    """A file that goes, of which kind, why, and its size."""

    kind: str
    name: str
    reason: str
    bytes: int

    @property
    def data(self) -> dict[str, Any]:
        """As JSON."""
        return self._asdict()


def remove_files(root: Path, doomed: Iterable[Removal]) -> list[Removal]:
    """Remove files; return those that were still there.

    Raises:
        StorageError: The disk refused; what was removed is gone.
    """
    wanted = list(doomed)
    gone = {
        (kind, name)
        for kind, catalog in KINDS.items()
        if (names := [each.name for each in wanted if each.kind == kind])
        for name in catalog.remove(root, names)
    }
    return [each for each in wanted if (each.kind, each.name) in gone]


def unindex_pages(settings: Settings, gone: Iterable[Removal]) -> str:
    """Let no search find the pages that are gone; return why one still may, as a sentence, else nothing."""
    root, index = place.root_of(settings), settings.forest
    pages = [PAGES.path(root, each.name) for each in gone if each.kind == PAGES.kind]
    if not pages or not index.db_path.exists():
        return ""
    try:
        with Index(index) as forest, forest.store.batch():
            for page in pages:
                with suppress(NotFoundError, UsageError):  # it is in no index
                    sync_document(forest.store, index, page)
    except CodeIntelError as error:
        return f"Searches may show the pages until the next sync: {error.message} {error.hint}"
    return ""


def removal_text(doomed: Sequence[Removal], *, dry: bool, problem: str = "") -> str:
    """Return what goes as text: a line a file, the sum, and what went wrong."""
    lines = [f"{each.kind}/{each.name}: {each.reason}" for each in doomed]
    size = sum(each.bytes for each in doomed) / 1024
    verb = "would be removed" if dry else "removed"
    lines.append(f"{len(doomed)} {verb}, {size:,.0f} KiB." if doomed else "Nothing to remove.")
    lines += [problem] if problem else []
    return "\n".join(lines)


def resolve_plan(root: Path, text: str) -> str:
    """Return the id of the one plan that is resolve_plan by an id, the beginning of one, or `last`.

    Raises:
        NotFoundError: There is none.
        UsageError: Several begin like this; names two.
    """
    kept: list[Entry] = entries(root)
    wanted = text.strip().lower()
    if wanted == "last":
        found = [entry.id for entry in kept[:1]]
    else:
        ids = [entry.id for entry in kept] + [name.removesuffix(".json") for name in damage(root)]
        found = [one for one in ids if wanted and one.startswith(wanted)]
    return resolve_prefix(found, text, PLAN, some=bool(kept))
