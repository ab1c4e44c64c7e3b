"""Show one entry of the map: what it says, its evidence in the current code, and its history."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.chunking.decode import decode
from code_intel.foundation.redaction import masked
from code_intel.index.safe_files import read_plain
from code_intel.learned.files.file_history import history_of
from code_intel.learned.files.frames import SlotPairs, frames_of
from code_intel.learned.files.merge_agreements import when
from code_intel.learned.history.experience import AgreementExperience
from code_intel.learned.history.state import open_state
from code_intel.learned.recall.map_search import MIN_SHOWN_SCORE
from code_intel.learned.recall.recall import fold
from code_intel.learned.status.agreement_status import AgreementStatus
from code_intel.records import READY_SCORE
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import split_lines
from code_intel.tools.search.explained_map import neighbours
from code_intel.ui.diff import compare
from code_intel.ui.language import N_
from code_intel.ui.map_cache import shown_once
from code_intel.ui.map_entries import MapEntry
from code_intel.ui.pages.code import Line
from code_intel.ui.pages.map.changes import changes_of
from code_intel.ui.pages.map.editing import is_editable
from code_intel.ui.pages.map.entry_code import CodeOfEntry, code_of_entry
from code_intel.ui.pages.map.two_steps import is_index_older, notice_of
from code_intel.ui.project import OpenProject, project_of
from code_intel.ui.rendering import render

EVENTS: Mapping[str, str] = MappingProxyType(
    {
        "offered": N_("found by a search"),
        "accepted": N_("led to a success"),
        "confirmed": N_("confirmed"),
        "rejected": N_("rejected"),
        "failed": N_("relied on, and failed"),
    }
)
"""What sessions and people do with an agreement; see `AgreementExperience.kind`."""
NEVER = when("")
MAX_EVENTS = 50
MAX_NAMED_SESSIONS = 5
"""Limit of the sessions that are named for one alias."""
_SESSION = re.compile(r"[\w-]+\Z")


@dataclass(frozen=True)
class Alias:
    """An alias: the sessions that confirmed it, latest first, and when the first one did.

    An alias without sessions was written by a person, or by a session of another machine.
    """

    text: str
    sessions: tuple[str, ...] = ()
    since: datetime = NEVER
    is_certain: bool = False


@dataclass(frozen=True)
class UseOfAgreement:
    """What this machine knows about the use of an agreement.

    Attributes:
        last_use: When it last led to a success.
        aliases: Its aliases.
        events: What sessions and people did with it, latest first.
        more: How many events are not in `events`.
    """

    last_use: datetime = NEVER
    aliases: tuple[Alias, ...] = ()
    events: tuple[AgreementExperience, ...] = ()
    more: int = 0


@dataclass(frozen=True)
class EntryPage:
    """Everything that the page of an entry shows.

    Attributes:
        entry: The entry.
        said: Its evidence, and the code of its symbol.
        use: What this machine knows about the use of an agreement.
        frames: The query frames for which an agreement succeeded.
        text: The lines of its file, with secrets masked.
        sessions: The names of sessions that it mentions and that still exist.
    """

    entry: MapEntry
    said: CodeOfEntry
    use: UseOfAgreement
    frames: tuple[SlotPairs, ...] = ()
    text: tuple[Line, ...] = ()
    sessions: frozenset[str] = field(default_factory=frozenset)


async def show(request: Request) -> Response:
    """Show an entry."""
    project = project_of(request)
    page = await run_in_thread(_read, project, request.query_params.get("file", ""))
    files = page.entry.files if page.entry.agreement else ()
    data = {
        "page": page,
        "is_index_older": await run_in_thread(is_index_older, project, files),
        "entry": page.entry,
        "events": EVENTS,
        "changes": changes_of(page.entry),
        "is_editable": is_editable(page.entry),
        "notice": notice_of(request),
    }
    return render(request, "map/entry.html", data)


async def history(request: Request) -> Response:
    """Show how the file of an entry has changed in git."""
    file = request.query_params.get("file", "")
    data = await run_in_thread(_read_history, project_of(request), file)
    return render(request, "map/history.html", data)


async def near(request: Request) -> Response:
    """Show the agreements for which the term of another one may be mistaken."""
    project, file = project_of(request), request.query_params.get("file", "")
    entry = (await run_in_thread(project.map_entries)).named(file)
    status = entry.source
    key = status.entry.key if isinstance(status, AgreementStatus) else None
    found = await neighbours(project.context, key) if key else []
    by_path = {each.path: each for each in (await run_in_thread(project.map_entries)).rows}
    rows = [
        (by_path[each.candidate.entry.path], each.score)
        for each in found
        if each.score >= MIN_SHOWN_SCORE and each.candidate.entry.path in by_path
    ]
    return render(request, "map/near.html", {"entry": entry, "rows": rows, "ready": READY_SCORE})


def _read(project: OpenProject, file: str) -> EntryPage:
    entry, context = project.map_entry(file), project.context
    agreement, note = entry.agreement, entry.note
    evidence = agreement.evidence if agreement else note.evidence if note else ()
    files = entry.files if agreement else ()
    use = _use_of(context, entry)
    mentioned = {event.session_id for event in use.events}
    mentioned |= {name for alias in use.aliases for name in alias.sessions}
    mentioned |= {said.session_id for said in (agreement, note) if said}
    return EntryPage(
        entry,
        code_of_entry(context, entry.symbol, files, evidence),
        use,
        frames_of(agreement.frame) if agreement else (),
        _text_of(entry),
        frozenset(name for name in mentioned if _exists(context, name)),
    )


def _use_of(context: GatewayContext, entry: MapEntry) -> UseOfAgreement:
    agreement, status = entry.agreement, entry.source
    if agreement is None or not isinstance(status, AgreementStatus) or not status.entry.key:
        return UseOfAgreement()
    key = status.entry.key
    with open_state(context.settings.state, create=False) as state:
        seen, events = state.sightings_of(key), state.experiences_of(key)
    found: dict[str, list[tuple[str, str]]] = {}
    for alias, session, at in seen:
        found.setdefault(alias, []).append((session, at))
    aliases = [
        Alias(
            alias,
            tuple(session for session, _ in reversed(sightings)),
            when(sightings[0][1]) if sightings else NEVER,
            fold(alias) in status.certain_aliases,
        )
        for alias in agreement.aliases
        for sightings in [found.get(fold(alias), [])]
    ]
    memory = context.map_cache.snapshot(context.settings).memory
    latest = tuple(reversed(events[-MAX_EVENTS:]))
    return UseOfAgreement(
        memory.uses.get(key, NEVER), tuple(aliases), latest, len(events) - len(latest)
    )


def _text_of(entry: MapEntry) -> tuple[Line, ...]:
    """Return the lines of an entry's file; the line of a problem is marked."""
    try:
        text = decode(read_plain(entry.path))
    except OSError:  # deleted meanwhile, or not a file
        return ()
    problem = entry.source.entry.line if isinstance(entry.source, AgreementStatus) else 0
    lines = split_lines(masked(text or ""))
    return tuple(Line(number, line, number == problem) for number, line in enumerate(lines, 1))


def _exists(context: GatewayContext, session: str) -> bool:
    return bool(_SESSION.match(session)) and context.sessions.journal(session).is_file()


def _read_history(project: OpenProject, file: str) -> dict[str, Any]:
    entry = project.map_entries().named(file)
    found = history_of(entry.path)
    commits = [(commit, compare(commit.before, commit.after)) for commit in found.commits]
    return {"entry": entry, "commits": commits, "problem": found.problem}


ROUTES = (
    Route("/map/entry", shown_once(show)),
    Route("/map/history", shown_once(history)),
    Route("/map/near", shown_once(near)),
)
