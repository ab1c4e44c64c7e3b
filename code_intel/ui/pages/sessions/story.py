"""Show the story of a session as a time line."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.chunking.agreement_body import encodable
from code_intel.errors import CodeIntelError, NotFoundError
from code_intel.learned.files.agreements import make_key
from code_intel.learned.history.drafts import OutcomeDraft, read_draft
from code_intel.learned.recall.candidates import document_of
from code_intel.operations.sessions import (
    state_of,
    write_permission,
)
from code_intel.operations.standing import Standing
from code_intel.session.heads import SESSION_NAME_PATTERN
from code_intel.session.story import duration
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.ui.current_files import CurrentFiles
from code_intel.ui.language import N_
from code_intel.ui.pages.code import number_of
from code_intel.ui.pages.paging import ListPage, page_of
from code_intel.ui.pages.sessions.steps import SeenLines, TimelineStep
from code_intel.ui.pages.sessions.timeline import STEPS_PER_PAGE, Timeline, read_timeline
from code_intel.ui.project import project_of
from code_intel.ui.rendering import render, url

Pair = tuple[str, str]


class Drafted(NamedTuple):
    """An agreement of a draft.

    Attributes:
        pair: Its term and symbol.
        command: The command that confirms it.
        address: The page that does so.
    """

    pair: Pair
    command: str
    address: str


@dataclass(frozen=True)
class SessionPage:
    """A session and a part of its time line.

    Attributes:
        name: The name of the session.
        state: `open`, `ended`, `expired` or `broken`.
        timeline: The whole time line.
        steps: The steps of this page.
        standings: Where the printed lines of this page stand now.
        quotes: Where its quotes stand now, by file and quote.
        entries: The files of the agreements that it names, by term and symbol.
        draft: The draft of its outcome, if there is one.
        drafted: The agreements of the draft.
        duration: How long the session took.
        permission: What it may write now.
    """

    name: str
    state: str
    timeline: Timeline
    steps: ListPage[TimelineStep]
    standings: Mapping[SeenLines, Standing]
    quotes: Mapping[Pair, Standing]
    entries: Mapping[Pair, str]
    draft: OutcomeDraft | None
    drafted: Sequence[Drafted]
    duration: str
    permission: str

    def address(self, page: int) -> str:
        """Return the address of another part of the time line."""
        return url(f"/sessions/{self.name}", page=page)


async def show(request: Request) -> Response:
    """Show a session."""
    name, page = request.path_params["name"], number_of(request, "page") or 1
    found = await run_in_thread(read_page, project_of(request).context, name, page)
    data = {"found": found, "session": found.timeline.session}
    return render(request, "sessions/show.html", data)


def read_page(context: GatewayContext, name: str, page: int) -> SessionPage:
    """Return a session and a page of its time line; this blocks.

    Raises:
        NotFoundError: There is no such session.
    """
    paths, hours = context.sessions, context.settings.session_hours
    if not SESSION_NAME_PATTERN.fullmatch(name) or not paths.journal(name).exists():
        raise NotFoundError(
            N_("There is no session of this name."),
            hint=N_("Choose one of the list of sessions."),
        )
    found = read_timeline(context, name)
    steps = page_of(found.steps, page, STEPS_PER_PAGE)
    state = state_of(found.session, found.broken, hours)
    draft, files = read_draft(context.settings, name), CurrentFiles(context)
    items = [item for step in steps.rows for item in step.items]
    entries = _entries(context, _pairs(steps.rows, draft))
    return SessionPage(
        name,
        state,
        found,
        steps,
        {seen: files.standing(seen.file, seen.prints) for item in items for seen in item.seen},
        {
            (item.files[0], item.quote): files.quoted(item.files[0], item.quote)
            for item in items
            if item.quote and item.files
        },
        entries,
        draft,
        [_drafted(pair, entries) for pair in _pairs_of_draft(draft)],
        _duration(found),
        write_permission(found.session, state),
    )


def _duration(found: Timeline) -> str:
    if found.session is None:
        return ""
    began, used = map(datetime.fromisoformat, (found.session.started_at, found.session.updated_at))
    return duration((used - began).total_seconds())


def _drafted(pair: Pair, entries: Mapping[Pair, str]) -> Drafted:
    term, symbol = make_key(*pair)
    address = url("/map/draft", term=term, symbol=symbol)
    if pair in entries:
        address = url("/map/change", change="confirm", file=entries[pair])
    return Drafted(pair, f"code-intel map confirm {shlex.join(pair)}", address)


def _pairs_of_draft(draft: OutcomeDraft | None) -> list[Pair]:
    """Return the term and symbol of each agreement of a draft."""
    return [(each.nl_term, each.symbol) for each in draft.agreements] if draft else []


def _pairs(steps: Iterable[TimelineStep], draft: OutcomeDraft | None) -> set[Pair]:
    """Return the term and symbol of each agreement that steps or a draft name."""
    found = set(_pairs_of_draft(draft))
    for step in steps:
        if pair := step.values.get("pair"):
            found.add(pair)
        found.update(step.values.get("pairs", ()))
    return found


def _entries(context: GatewayContext, pairs: Iterable[Pair]) -> dict[Pair, str]:
    """Return the file of each agreement that the map has, by term and symbol."""
    pairs = list(pairs)
    if not pairs:
        return {}
    try:
        known = context.map_cache.snapshot(context.settings).known.by_key
    except CodeIntelError:  # the story needs no links
        return {}
    found = {pair: known.get(make_key(*pair)) for pair in pairs}
    return {
        pair: encodable(document_of(context.map, entry.path))
        for pair, entry in found.items()
        if entry
    }


ROUTES = (Route("/sessions/{name}", show),)
