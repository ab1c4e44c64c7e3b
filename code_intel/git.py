"""Questions to git: an argument vector, no stdin, a deadline, and None for a git that cannot say."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

DEADLINE = 5.0
"""Seconds a question may take."""
_NEUTRAL = {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


def run(folder: Path, *arguments: str, deadline: float = DEADLINE) -> bytes | None:
    """Return what `git -C folder …` prints, or None: no git, no repository, an error.

    Raises:
        TimeoutError: It took longer than `deadline` seconds.
    """
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=deadline,
            check=True,
            env={**os.environ, **_NEUTRAL},  # noqa: TID251 - passed on, not read
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"git did not answer within {deadline:.0f} seconds.") from error
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout


def dirty_files(folder: Path, files: Sequence[str] = ()) -> tuple[str, ...] | None:
    """Return the files that differ from HEAD or are new, relative to `folder`; of `files`, if any.

    None where git cannot tell.
    """
    flags = ("--porcelain", "--untracked-files=all", "--no-renames", "-z")
    try:
        top = run(folder, "rev-parse", "--show-prefix")
        listed = run(folder, "status", *flags, "--", *(files or (".",)))
    except TimeoutError:
        return None
    if top is None or listed is None:
        return None
    prefix = os.fsdecode(top).strip()
    names = (os.fsdecode(entry[3:]) for entry in listed.split(b"\0") if entry)
    return tuple(name.removeprefix(prefix) for name in names)


def committed_since(folder: Path, since: str, files: Sequence[str]) -> bool:
    """Whether a commit later than `since` (ISO 8601) touched any of `files`."""
    try:
        log = run(folder, "log", "-1", "--format=%H", f"--since={since}", "--", *files)
    except TimeoutError:
        return False
    return bool(log)
