"""Turn the last commits of a repository into requests, in the form of the real tasks.

A commit's message is the request; the source files that it changed, and the functions that git's
hunk headers name, are the answer. The tree is the one before the first of them.
"""

import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.plausibility_cases import is_source

MAX_COMMITS = 2000
MAX_FILES = 4
MAX_CHARS = 400
MIN_WORDS = 4

_NOISE = re.compile(
    r"\(?#\d+\)?|^(?:bump|merge|release|version|revert)\b.*|co-authored-by:.*", re.IGNORECASE
)
_ASIDE = re.compile(r"\[|(?:docs|chore|style|typo|format|apply|drop|bump)\b", re.IGNORECASE)
"""Begins the messages of commits that say nothing about the code that they change."""


class CommitRequests(NamedTuple):
    """The commit whose tree is to be searched, and the requests that came after it."""

    base: str
    requests: list[dict[str, Any]]


def commit_requests(repo: Path, name: str, count: int, *, before: str = "HEAD") -> CommitRequests:
    """Return the last `count` commits before a commit that change one to four source files."""
    found: list[dict[str, Any]] = []
    commits = _git(repo, "rev-list", "--no-merges", f"-n{MAX_COMMITS}", before).split()
    base = before
    for commit in commits:
        if len(found) == count:
            break
        message = _message(repo, commit)
        changed = _git(
            repo, "diff-tree", "-r", "--no-commit-id", "--name-only", "--diff-filter=M", commit
        ).splitlines()
        files = [path for path in changed if is_source(path)]
        if _ASIDE.match(message) or not (
            0 < len(files) <= MAX_FILES and len(message.split()) >= MIN_WORDS
        ):
            continue
        patch = _git(repo, "show", "--format=", "-U0", commit, "--", *files)
        hunks = dict.fromkeys(re.findall(r"^@@ [^@]* @@ (.+)$", patch, re.MULTILINE))
        relevant = [{"path": path} for path in files]
        found.append(
            {"repo": name, "commit": commit[:12], "query": message, "relevant": relevant}
            | {"hunks": list(hunks)}
        )
        base = f"{commit}~1"
    return CommitRequests(_git(repo, "rev-parse", base).strip(), found)


def _message(repo: Path, commit: str) -> str:
    lines = _git(repo, "show", "-s", "--format=%s%n%b", commit).splitlines()
    kept = [text for line in lines if (text := re.sub(_NOISE, "", line.strip()).strip(" .*-"))]
    return ". ".join(kept)[:MAX_CHARS]


def _git(repo: Path, *arguments: str) -> str:
    """Return what git prints."""
    command = ["git", "-C", str(repo), *arguments]
    done = subprocess.run(command, capture_output=True, check=True)
    return done.stdout.decode(errors="replace")
