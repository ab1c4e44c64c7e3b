"""Show the lines that a session has printed, as they were then."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.errors import NotFoundError
from code_intel.index.corpus import SECRET_REASON, refusal
from code_intel.operations.past_code import past_code
from code_intel.operations.standing import Standing
from code_intel.session.state import SessionCall
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.ui.current_files import CurrentFiles
from code_intel.ui.language import N_
from code_intel.ui.pages.code import Line, number_of
from code_intel.ui.pages.sessions.steps import seen_lines
from code_intel.ui.pages.sessions.timeline import STEPS_PER_PAGE, read_timeline
from code_intel.ui.project import project_of
from code_intel.ui.rendering import render, url

SHORT = 10
"""Digits of a commit that are shown."""


@dataclass(frozen=True)
class SeenText:
    """What a call printed of a file, as it was then.

    Attributes:
        file: The file.
        lines: The lines whose text was found, by their number then.
        missing: First and last of the lines whose text was not found.
        commits: The commits that have lines which the file no longer has.
        standing: Where all of the lines stand now.
        call: The call that printed them.
        at: When it did, in ISO 8601.
        back: The address of its step in the story.
    """

    file: str
    lines: Sequence[Line]
    missing: Sequence[tuple[int, int]]
    commits: Sequence[str]
    standing: Standing
    call: SessionCall
    at: str
    back: str


async def show(request: Request) -> Response:
    """Show what a call of a session printed of a file."""
    context, step = project_of(request).context, number_of(request, "step")
    name, file = request.path_params["name"], request.query_params.get("file", "")
    found = await run_in_thread(seen_text, context, name, step, file)
    return render(request, "sessions/seen.html", {"seen": found})


def seen_text(context: GatewayContext, name: str, seq: int, file: str) -> SeenText:
    """Return what a call of a session printed of a file; this blocks.

    Raises:
        NotFoundError: The session has no such call, or the call printed nothing of the file.
    """
    found = read_timeline(context, name)
    session = found.session
    call = next((each for each in session.calls if each.seq == seq), None) if session else None
    prints = [each for each in call.printed if each.file == file] if call else []
    if session is None or call is None or not prints or refusal(file) == SECRET_REASON:
        raise NotFoundError(
            N_("The session has printed no lines of this file in this step."),
            hint=N_("Go back to the session, and use its links."),
        )
    files = CurrentFiles(context)
    past = past_code(context.root, file, prints, files.text(file), session.commit or "")
    steps = enumerate(found.steps)
    number = next(n for n, step in steps if any(item.seq == seq for item in step.items))
    return SeenText(
        file,
        [Line(number, past.lines[number]) for number in sorted(past.lines)],
        [(run.first, run.last) for run in seen_lines(past.missing)],
        [commit[:SHORT] for commit in past.commits],
        _worst([files.standing(file, run.prints) for run in seen_lines(prints)]),
        call,
        found.steps[number].at,
        url(f"/sessions/{name}", page=number // STEPS_PER_PAGE + 1) + f"#step-{number + 1}",
    )


def _worst(found: Sequence[Standing]) -> Standing:
    """Return where all lines stand: the state of those that have changed most."""
    states = [each.state for each in found]
    state = next((state for state in ("gone", "changed", "moved") if state in states), "unchanged")
    return Standing(state, found[0].first, found[-1].last)


ROUTES = (Route("/sessions/{name}/seen", show),)
