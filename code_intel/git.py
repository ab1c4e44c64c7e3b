"""Questions to git: an argument vector, no stdin, a deadline, and None for whatever goes wrong."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

DEADLINE = 5.0
"""Seconds; a repository slower than that is treated as no repository."""
_NEUTRAL = {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


def run(folder: Path, *arguments: str, deadline: float = DEADLINE) -> bytes | None:
    """Return what `git -C folder …` prints, or None: no git, no repository, an error, too slow."""
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=deadline,
            check=True,
            env={**os.environ, **_NEUTRAL},  # noqa: TID251 - passed on, not read
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout


def changed_since(folder: Path, since: str, files: Sequence[str]) -> bool | None:
    """Whether any of `files` differs from HEAD or was committed since `since` (ISO 8601).

    None where git cannot tell.
    """
    if not files:
        return False
    status = run(folder, "status", "--porcelain", "--untracked-files=all", "-z", "--", *files)
    if status is None:
        return None
    if status:
        return True
    commits = run(folder, "log", "-1", "--format=%H", f"--since={since}", "--", *files)
    return bool(commits)
