"""Interrupt a step of a session at its n-th write. This is a program, since it forks.

    python interrupted.py FOLDER

It writes a JSON object for each point and way: the result of the step, the session afterwards,
and the result of the next step.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from code_intel.errors import CodeIntelError
from code_intel.session import journal, steps
from code_intel.session.heads import SessionPaths, session_paths
from code_intel.session.listing import list_sessions
from code_intel.session.phases import Intent
from faulty_disk import WAYS, changes, outcome


def stepped(place: SessionPaths, handle: str, targets: list[str]) -> object:
    """Return the targets of a session's calls, or its error."""
    try:
        session = journal.load(place, handle)
    except CodeIntelError as error:
        return error.error
    return [call.target for call in session.calls[len(targets) :]]


def tell(what: dict[str, Any]) -> None:
    """Write a line for the test."""
    sys.stdout.write(json.dumps(what) + "\n")


def sweep_step(folder: Path) -> None:
    """Interrupt a step of two lines at each of its changes."""
    place = session_paths(folder, folder / "sessions", folder / "state")
    _, handle = journal.create(place, Intent.MODIFY, "fix the login")
    kept: list[str] = []

    def work() -> object:
        two = (steps.called("query", text, found=1) for text in ("one", "two"))
        return journal.append(place, handle, *two)

    points = changes(work)
    kept += ["one", "two"]
    for way in WAYS:
        for point in range(1, points + 1):
            came = outcome(work, point, way)
            found = stepped(place, handle, kept)
            kept += found if isinstance(found, list) else []
            journal.append(place, handle, steps.called("query", "next", found=1))
            again = stepped(place, handle, kept)
            warned = journal.load(place, handle).warnings
            kept += ["next"]
            said = {"work": "step", "way": way, "point": point, "came": came}
            tell({**said, "found": found, "next": again, "warned": warned})


def sweep_start(folder: Path) -> None:
    """Interrupt the start of a session at each of its changes, in a project without any."""

    def start(place: SessionPaths) -> object:
        return journal.create(place, Intent.MODIFY, "fix the login")

    def empty() -> SessionPaths:
        new = Path(tempfile.mkdtemp(dir=folder))
        return session_paths(new, new / "sessions", new / "state")

    points = changes(lambda: start(empty()))
    for way in WAYS:
        for point in range(1, points + 1):
            place = empty()
            came = outcome(lambda: start(place), point, way)  # noqa: B023 - done before the next
            found = [one.state for one in list_sessions(place)]
            _, handle = journal.create(place, Intent.MODIFY, "fix the login")
            again = [one.state for one in list_sessions(place)]
            used = journal.append(place, handle, steps.called("query", "next", found=1)).seq
            said = {"work": "start", "way": way, "point": point, "came": came}
            tell({**said, "found": found, "next": again, "used": used})


if __name__ == "__main__":
    for sweep in (sweep_step, sweep_start):
        place = Path(sys.argv[1]) / sweep.__name__
        place.mkdir()
        sweep(place)
