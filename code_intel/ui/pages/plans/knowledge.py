"""List the knowledge pages, and show one as text."""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.config import Settings
from code_intel.errors import NotFoundError
from code_intel.operations.plans import (
    KnowledgePage,
    knowledge_names,
    knowledge_pages,
    knowledge_text,
    plan_listing,
)
from code_intel.tools.context.gateway import run_in_thread
from code_intel.ui.language import N_
from code_intel.ui.pages.code import number_of
from code_intel.ui.pages.paging import ListPage, place_of_page
from code_intel.ui.project import project_of
from code_intel.ui.rendering import render, url

PAGE_SIZE = 25


@dataclass(frozen=True)
class KnowledgeList:
    """A page of the knowledge pages.

    Attributes:
        listed: The knowledge pages.
        damaged: Files that cannot be read, with the reason.
        plans: The ids of the plans that are still kept.
    """

    listed: ListPage[KnowledgePage]
    damaged: Mapping[str, str]
    plans: frozenset[str]


async def show_list(request: Request) -> Response:
    """Show the list."""
    page = number_of(request, "page") or 1
    found = await run_in_thread(read_pages, project_of(request).settings, page)
    return render(request, "plans/knowledge.html", {"found": found, "address": _address})


async def show(request: Request) -> Response:
    """Show a knowledge page."""
    settings, name = project_of(request).settings, request.query_params.get("name", "")
    page, text = await run_in_thread(read_knowledge, settings, name)
    return render(request, "plans/page.html", {"page": page, "text": text})


def read_pages(settings: Settings, page: int) -> KnowledgeList:
    """Return a page of the knowledge pages; this blocks. Only their files are compared."""
    names, damaged = knowledge_names(settings)
    page, pages, start = place_of_page(page, len(names), PAGE_SIZE)
    rows = knowledge_pages(settings, names[start : start + PAGE_SIZE])
    plans = plan_listing(settings).rows
    ids = frozenset(name.removesuffix(".json") for name in plans)
    return KnowledgeList(ListPage(rows, page, pages, start, len(names)), damaged, ids)


def read_knowledge(settings: Settings, name: str) -> tuple[KnowledgePage, str]:
    """Return a knowledge page and its text without the front matter; this blocks.

    Raises:
        NotFoundError: There is no such page.
    """
    found = knowledge_pages(settings, [name])
    if not found:
        raise NotFoundError(
            N_("There is no knowledge page of this name."), hint=N_("Choose one of the list.")
        )
    _, has_front_matter, body = knowledge_text(settings, name).partition("\n---\n")
    return found[0], body.strip("\n") if has_front_matter else ""


def _address(page: int) -> str:
    return url("/plans/knowledge", page=page)


ROUTES = (Route("/plans/knowledge", show_list), Route("/plans/knowledge/page", show))
