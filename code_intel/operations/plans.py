"""List and show query plans and knowledge pages, and remove their files."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.chunking import decode
from code_intel.chunking.knowledge_page import PageFrontMatter
from code_intel.config import Settings
from code_intel.errors import CodeIntelError, NotFoundError, UsageError
from code_intel.index.facade import Index
from code_intel.index.safe_files import read_document
from code_intel.index.sync import sync_document
from code_intel.operations.id_prefix import IdKind, resolve_prefix
from code_intel.operations.standing import standing_of_quote
from code_intel.planning import keeping, knowledge, outcome, place
from code_intel.planning.catalog import Catalog, KeptFile, Listing
from code_intel.planning.keeping import PLANS
from code_intel.planning.knowledge import PAGES
from code_intel.planning.records import MAP_SOURCE, QueryPlan
from code_intel.session.listing import FileState, file_state
from code_intel.tools.context.prints import split_lines

PLAN_FILE_KINDS: Mapping[str, Catalog[Any]] = {"plans": PLANS, "knowledge": PAGES}
PLAN = IdKind("plan", "See `code-intel plans list`.", "`code-intel plan GOAL` creates one.")


MAX_COMPARED = 8192
"""Results of plans of which a process remembers whether their file has changed."""


class Removal(NamedTuple):
    """A file to remove, and the reason."""

    kind: str
    name: str
    reason: str
    bytes: int


class KnowledgePage(NamedTuple):
    """A stored knowledge page.

    Attributes:
        name: Its file name.
        path: Its file.
        front: Its front matter.
        used: When it was last of use, in ISO 8601.
        bytes: Its size.
        changed: The files that have changed since, or are gone. Files outside the project are not
            read, because a page may be forged.
    """

    name: str
    path: Path
    front: PageFrontMatter
    used: str
    bytes: int
    changed: tuple[str, ...]

    @property
    def is_stale(self) -> bool:
        """Whether a file that the page describes has changed."""
        return bool(self.changed)


def plan_listing(settings: Settings) -> Listing[QueryPlan]:
    """Return the stored plans; `latest()` gives the last used first, and `damaged` the others."""
    return PLANS.listing(place.root_of(settings))


def plan_row(kept: KeptFile[QueryPlan]) -> dict[str, Any]:
    """Return what lists say of a stored plan."""
    return {**keeping.summary(kept.content), "used": kept.used, "bytes": kept.bytes}


def load_plan(settings: Settings, text: str) -> QueryPlan:
    """Return the plan that an id, the beginning of one, or `last` names.

    Raises:
        NotFoundError: No plan matches.
        UsageError: Several plans match.
        StorageError: The plan is damaged.
    """
    root = place.root_of(settings)
    return keeping.load(root, resolve_plan(root, text))


def plan_file(settings: Settings, plan: QueryPlan) -> Path:
    """Return the file of a stored plan."""
    return place.root_of(settings) / place.PLANS / f"{plan.id}.json"


def plan_data(settings: Settings, plan: QueryPlan) -> dict[str, Any]:
    """Return a stored plan with `savedAt`, and the files that each query was the first to find."""
    data = {**json.loads(keeping.rendered(plan)), "savedAt": str(plan_file(settings, plan))}
    for row, files in zip(data["iterations"], outcome.added(plan), strict=True):
        row["added"] = list(files)
    return data


def changed_documents(settings: Settings, plan: QueryPlan) -> tuple[str, ...]:
    """Return the documents of the final results whose text has changed since, or that are gone.

    Documents of another index, or outside the project, are not judged.
    """
    if not is_of_project(plan):
        return ()
    folder = settings.forest.folder
    return tuple(
        each.document
        for each in plan.final
        if each.text.strip()
        and not Path(each.document).is_absolute()
        and not _stands(folder, each.document, file_state(folder / each.document), each.text)
    )


def is_of_project(plan: QueryPlan) -> bool:
    """Return whether a plan searched the forest or the map, not another index."""
    return plan.source == MAP_SOURCE or plan.source.startswith("forest,")


def knowledge_names(settings: Settings) -> tuple[list[str], dict[str, str]]:
    """Return the names of knowledge pages, the last used first; and why others are unreadable."""
    found = PAGES.listing(place.root_of(settings))
    rows = found.rows
    return sorted(rows, key=lambda name: (rows[name].used_ns, name), reverse=True), found.damaged


def knowledge_pages(settings: Settings, names: Sequence[str] | None = None) -> list[KnowledgePage]:
    """Return knowledge pages, and which of their files have changed.

    Args:
        settings: The project.
        names: The names of the pages; by default all, the last used first.
    """
    root = place.root_of(settings)
    rows = PAGES.listing(root).rows
    wanted = knowledge_names(settings)[0] if names is None else names
    return [_page(settings, root, name, rows[name]) for name in wanted if name in rows]


def knowledge_text(settings: Settings, name: str) -> str:
    """Return the text of a knowledge page.

    Raises:
        NotFoundError: There is no such page.
    """
    root = place.root_of(settings)
    if not PAGES.names.fullmatch(name):
        raise NotFoundError(f"There is no knowledge page {name[:100]}.")
    path = PAGES.path(root, name)
    try:
        return read_document(path.parent, name).decode("utf-8", "replace")
    except OSError as error:
        raise NotFoundError(f"There is no knowledge page {name[:100]}.") from error


def remove_files(settings: Settings, removals: Sequence[Removal]) -> tuple[list[Removal], str]:
    """Remove files; return those that existed, and a problem with the index or an empty text.

    Raises:
        StorageError: A file could not be removed; others may have been.
    """
    done = _remove_files(place.root_of(settings), removals)
    return done, _unindex_pages(settings, done)


def resolve_plan(root: Path, text: str) -> str:
    """Return the id of the plan that `text` names: an id, the beginning of one, or `last`.

    Raises:
        NotFoundError: No plan matches.
        UsageError: Several plans match; the error names two.
    """
    listing = PLANS.listing(root)
    plans = [kept.content.id for kept in listing.latest()]
    prefix = text.strip().lower()
    if prefix == "last":
        matches = plans[:1]
    else:
        ids = [*plans, *(name.removesuffix(".json") for name in listing.damaged)]
        matches = [one for one in ids if prefix and one.startswith(prefix)]
    return resolve_prefix(matches, text, PLAN, any_exist=bool(plans))


def _page(
    settings: Settings, root: Path, name: str, kept: KeptFile[PageFrontMatter]
) -> KnowledgePage:
    changed = tuple(
        path
        for path, before in kept.content.files
        if not Path(path).is_absolute()
        and knowledge.digest_of(settings.forest.folder, path) != before
    )
    return KnowledgePage(name, PAGES.path(root, name), kept.content, kept.used, kept.bytes, changed)


@lru_cache(maxsize=MAX_COMPARED)
def _stands(folder: Path, document: str, state: FileState, text: str) -> bool:
    """Return whether a document in this state still has a text."""
    del state
    try:
        now = decode(read_document(folder, document))
    except (OSError, ValueError):
        return False
    return now is not None and standing_of_quote(text, split_lines(now)).state != "changed"


def _remove_files(root: Path, removals: Sequence[Removal]) -> list[Removal]:
    """Remove files; return those that existed."""
    removed = {
        (kind, name)
        for kind, catalog in PLAN_FILE_KINDS.items()
        if (names := [each.name for each in removals if each.kind == kind])
        for name in catalog.remove(root, names)
    }
    return [each for each in removals if (each.kind, each.name) in removed]


def _unindex_pages(settings: Settings, removals: Iterable[Removal]) -> str:
    """Remove deleted pages from the index; return the problem if that failed, or an empty text."""
    root, index = place.root_of(settings), settings.forest
    pages = [PAGES.path(root, each.name) for each in removals if each.kind == PAGES.kind]
    if not pages or not index.db_path.exists():
        return ""
    try:
        with Index(index) as forest, forest.store.batch():
            for page in pages:
                with suppress(NotFoundError, UsageError):  # the page is not indexed
                    sync_document(forest.store, index, page)
    except CodeIntelError as error:
        return f"Searches may find the pages until the next sync: {error.message} {error.hint}"
    return ""
