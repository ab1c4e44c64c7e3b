"""Say which files of a set-up to commit, and which belong to this machine only."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from code_intel.cli.setup import clients
from code_intel.cli.setup.changes import FileChange, name_in
from code_intel.foundation import git


class Sharing(NamedTuple):
    """The files that differ from the last commit, relative to the project.

    Attributes:
        commit: Those that the team needs.
        local: Those that contain paths of this machine.
    """

    commit: tuple[str, ...] = ()
    local: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return what to tell the user."""
        lines = []
        if self.local:
            names = ", ".join(self.local)
            lines.append(f"Keep out of git, because of paths of this machine: {names}.")
        if self.commit:
            lines.append("To share the set-up with your team, commit these files:")
            lines.append(f"  git add -- {' '.join(map(shlex.quote, self.commit))}")
        return lines


def sharing(root: Path, changes: Sequence[FileChange]) -> Sharing:
    """Return the files of a set-up that the user should and should not commit; none without git."""
    if git.run(root, "rev-parse", "--is-inside-work-tree") is None:
        return Sharing()
    written = [one for one in changes if one.after is not None and not one.is_derived]
    names = {name_in(root, one.path): one for one in written if _is_new(root, one)}
    names = {name: one for name, one in names.items() if not _is_ignored(root, name)}
    places = (str(root), clients.folder())
    marks = [json.dumps(place, ensure_ascii=False)[1:-1].encode() for place in places]
    local = [
        name for name, one in names.items() if any(mark in (one.after or b"") for mark in marks)
    ]
    return Sharing(tuple(sorted({*names} - {*local})), tuple(sorted(local)))


def _is_new(root: Path, change: FileChange) -> bool:
    return git.run(root, "show", f"HEAD:./{name_in(root, change.path)}") != change.after


def _is_ignored(root: Path, name: str) -> bool:
    return git.run(root, "check-ignore", "-q", "--", name) is not None
