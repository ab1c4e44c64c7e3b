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


def changed_since(folder: Path, since: str, files: Sequence[str]) -> bool | None:
    """Whether any of `files` differs from HEAD or was committed since `since` (ISO 8601).

    None where git cannot tell.
    """
    if not files:
        return False
    try:
        status = run(folder, "status", "--porcelain", "--untracked-files=all", "-z", "--", *files)
        if status is None:
            return None
        return bool(status) or bool(
            run(folder, "log", "-1", "--format=%H", f"--since={since}", "--", *files)
        )
    except TimeoutError:
        return None
