"""Show the lines that a session has printed, as they were then.

The journal keeps a digest of printed lines, not their text. The text is shown if the file, or an
earlier version of it in git, has lines with this digest.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from code_intel.chunking import decode
from code_intel.errors import NotFoundError
from code_intel.foundation import git
from code_intel.index.corpus import MAX_FILE_BYTES, SECRET_REASON, refusal
from code_intel.operations.standing import Standing
from code_intel.session import journal
from code_intel.session.state import Print, SessionCall
from code_intel.tools.context.gateway import GatewayContext, run_in_thread
from code_intel.tools.context.prints import place_of, split_lines
from code_intel.ui.current_files import CurrentFiles
from code_intel.ui.language import N_
from code_intel.ui.pages.code import Line, number_of
from code_intel.ui.pages.sessions.timeline import seen_lines, timeline
from code_intel.ui.project import project_of
from code_intel.ui.rendering import render

MAX_VERSIONS = 30
"""Versions of a file in git that are compared, the newest first."""
NOW = "now"
"""The source of lines that stand in the file on disk."""
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
SHORT = 10
"""Digits of a commit that are shown."""


@dataclass(frozen=True)
class SeenText:
    """What a call printed of a file, as it was then.

    Attributes:
        file: The file.
        lines: The lines whose text was found, by their number then.
        missing: First and last of the lines whose text was not found.
        commits: The commits that have some of the lines, as they were then.
        standing: Where all of the lines stand now.
        call: The call that printed them.
        at: When it did, in ISO 8601.
    """

    file: str
    lines: tuple[Line, ...]
    missing: tuple[tuple[int, int], ...]
    commits: tuple[str, ...]
    standing: Standing
    call: SessionCall
    at: str


async def show(request: Request) -> Response:
    """Show what a call of a session printed of a file."""
    context = project_of(request).context
    name, file = request.path_params["name"], request.query_params.get("file", "")
    step, first = number_of(request, "step"), number_of(request, "first")
    found = await run_in_thread(seen_text, context, name, step, file)
    data = {"name": name, "seen": found, "first": first, "short": SHORT}
    return render(request, "sessions/seen.html", data)


def seen_text(context: GatewayContext, name: str, seq: int, file: str) -> SeenText:
    """Return what a call of a session printed of a file; this blocks.

    Raises:
        NotFoundError: The session has no such call, or the call printed nothing of the file.
    """
    records = journal.read_intact(context.sessions, name).records
    session = timeline(records).session
    call = next((each for each in session.calls if each.seq == seq), None) if session else None
    prints = [each for each in call.printed if each.file == file] if call else []
    if session is None or call is None or not prints or refusal(file) == SECRET_REASON:
        raise NotFoundError(
            N_("The session has printed no lines of this file in this step."),
            hint=N_("Go back to the session, and use its links."),
        )
    texts: dict[int, str] = {}
    left, commits = prints, []
    files = CurrentFiles(context)
    current = files.text(file)
    for source, lines in _versions(context.root, session.commit or "", file, current):
        missing = [each for each in left if not _take(each, lines, texts)]
        if len(missing) < len(left) and source != NOW:
            commits.append(source)
        left = missing
        if not left:
            break
    return SeenText(
        file,
        tuple(Line(number, texts[number]) for number in sorted(texts)),
        tuple((run.first, run.last) for run in seen_lines(left)),
        tuple(commits),
        _worst([files.standing(file, run.prints) for run in seen_lines(prints)]),
        call,
        next(record.at for record in records if record.seq == seq),
    )


def _worst(found: Sequence[Standing]) -> Standing:
    """Return where all lines stand: the state of those that have changed most."""
    states = [each.state for each in found]
    state = next((state for state in ("gone", "changed", "moved") if state in states), "unchanged")
    return Standing(state, found[0].first, found[-1].last)


def _take(item: Print, lines: Sequence[str], texts: dict[int, str]) -> bool:
    """Note the text of a printed block if a version of the file has it; return whether it does."""
    place = place_of(item, lines)
    for number, now in enumerate(place, item.first):
        texts[number] = lines[now - 1]
    return bool(place)


def _versions(
    root: Path, commit: str, file: str, current: Sequence[str]
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the versions of a file with their source: on disk, when the session began, in git."""
    yield NOW, current
    seen: set[str] = set()
    starts = [commit] if _COMMIT.fullmatch(commit) else []
    for each in starts:
        seen.add(each)
        yield each, _version(root, each, file)
    for start in (*starts, "HEAD"):
        for each in _commits(root, start, file):
            if each not in seen:
                seen.add(each)
                yield each, _version(root, each, file)


def _commits(root: Path, start: str, file: str) -> list[str]:
    """Return the last commits that changed a file; [] if git cannot tell."""
    options = ("--format=%H", f"--max-count={MAX_VERSIONS}", start, "--", f":(literal){file}")
    return _run(root, "log", *options).decode("ascii", "replace").split()


def _version(root: Path, commit: str, file: str) -> list[str]:
    """Return the lines of a file in a commit; [] if it is not there or not shown."""
    data = _run(root, "cat-file", "blob", f"{commit}:./{file}")
    text = decode(data) if len(data) <= MAX_FILE_BYTES else None
    return [] if text is None else split_lines(text)


def _run(root: Path, *arguments: str) -> bytes:
    try:
        return git.run(root, *arguments) or b""
    except TimeoutError:
        return b""


ROUTES = (Route("/sessions/{name}/seen", show),)
