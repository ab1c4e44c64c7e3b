"""What the user of this machine has approved of the tables `[upstreams.…]`.

`config.toml` comes with the repository, so a table in it is only a proposal. Nothing in it is
started, contacted, read or replaced by variables before the user has approved exactly this
definition, with `code-intel upstreams approve` (docs/decisions/0100).

An approval is a line of a file in the user's state folder. A file that the project or another user
could have written does not count.
"""

import hashlib
import json
import os
import shlex
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from code_intel.config.confinement import could_be_written_by
from code_intel.config.reading import read_regular_file
from code_intel.foundation.state_folder import project_digest

APPROVED_UPSTREAMS = "approved-upstreams"
"""The file in the user's state folder with approvals: per line, the digest of a project (see
`state_folder.project_digest`), the name of an upstream and the digest of its definition."""
HARMLESS_KEYS = frozenset({"start_seconds", "call_seconds"})
"""Keys that an approval does not cover."""
NOT_APPROVED = "the user has not approved its definition in config.toml on this machine"
REVIEW = "The user must review it with `{command}`, and then restart the servers of the project."
INSIDE_PROJECT = "approvals do not count, because the state folder is inside the project"
MOVE_STATE = "Set CODE_INTEL_STATE_DIR to a folder outside the project, and restart the servers."


class Approvals(NamedTuple):
    """The approved definitions of a project, by the name of the upstream.

    Attributes:
        root: The project.
        digests: Digests of definitions, by name.
        problem: Why no approval counts, or empty.
        remedy: What to do about the problem.
    """

    root: Path
    digests: Mapping[str, str]
    problem: str = ""
    remedy: str = ""

    def refusal(self, name: str, digest: str) -> tuple[str, str]:
        """Return why a definition is not used and what to do, or two empty texts if it is."""
        if self.problem:
            return self.problem, self.remedy
        if self.digests.get(name) == digest:
            return "", ""
        return NOT_APPROVED, REVIEW.format(command=approve_command(self.root, name))


def approve_command(root: Path, name: str) -> str:
    """Return the command that shows a definition and approves it."""
    return f"code-intel upstreams approve {name} --project {shlex.quote(str(root))}"


def definition_digest(name: str, definition: Mapping[str, Any]) -> str:
    """Return the digest of what a table would start, contact and send, with the table's name.

    Args:
        name: The upstream.
        definition: The keys of the table as they are written, before variables are replaced.
    """
    covered = {key: value for key, value in definition.items() if key not in HARMLESS_KEYS}
    text = json.dumps([name, covered], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def read_approvals(root: Path, state: Path) -> Approvals:
    """Return the approvals of a project, from the user's state folder."""
    if could_be_written_by(root, state):
        return Approvals(root, {}, INSIDE_PROJECT, MOVE_STATE)
    file = state / APPROVED_UPSTREAMS
    try:
        if problem := _problem(file):
            remedy = f"Remove {file}, and approve the upstreams again."
            return Approvals(root, {}, f"approvals do not count, because {problem}", remedy)
        rows = approved_rows(file)
    except FileNotFoundError:
        return Approvals(root, {})
    except (OSError, ValueError):
        return Approvals(root, {}, f"{file} cannot be read", f"Correct or remove {file}.")
    own = project_digest(root)
    return Approvals(root, {name: digest for project, name, digest in rows if project == own})


def approved_rows(file: Path) -> list[tuple[str, str, str]]:
    """Return the approvals of all projects: project, name and digest.

    Raises:
        OSError: The file is missing or cannot be read.
        ValueError: It is not text.
    """
    rows = (line.split() for line in read_regular_file(file).decode("ascii").splitlines())
    width = len(("project", "name", "digest"))
    return [(row[0], row[1], row[2]) for row in rows if len(row) == width]


def _problem(file: Path) -> str:
    """Return why someone other than the user may have written a file, or the empty string."""
    found = file.lstat()
    if not stat.S_ISREG(found.st_mode):
        return f"{file} is not a regular file"
    if os.name != "posix":
        return ""
    if found.st_uid != os.geteuid():
        return f"{file} belongs to another user"
    return f"other users may change {file}" if found.st_mode & 0o022 else ""
