"""Questions to git: an argument vector, no stdin, a deadline, and None for a git that cannot say."""

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from anyio import from_thread

DEADLINE = 5.0
"""Seconds a question may take."""
STEP = 0.2
"""Seconds until a git that takes long is looked after."""
_NEUTRAL = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
"""No lock, no network, no question, no translation."""
_INERT = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "log.showSignature=false")
"""Programs that a repository's own configuration has git run; whoever unpacks one has not read it."""
_COMPARING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "status": ("--ignore-submodules=dirty",),
        "diff": ("--ignore-submodules=dirty", "--no-ext-diff", "--no-textconv"),
    }
)
"""Questions that compare contents, and so run filters: not in repositories within this one, and see `_filters`."""
_LOCAL = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"})
"""What a hook is called with: it would make any folder that repository's."""
_OWN_SCOPES = frozenset({"local", "worktree"})
_NO_FILTER = ("clean=", "process=", "required=false")
TRUNKS = ("main", "master", "trunk")
"""Names of trunks where no remote says which branch is its default."""


_running: "set[subprocess.Popen[bytes]]" = set()
_starting = threading.RLock()
"""Held while a git is started: until that is over, nobody knows what to end."""


def kill_all() -> None:
    """End what is still being asked, and let nobody ask any more: for a process that is about to end."""
    _starting.acquire(timeout=STEP)
    for process in tuple(_running):
        process.kill()


def run(folder: Path, *arguments: str, deadline: float = DEADLINE) -> bytes | None:
    """Return what `git -C folder …` prints, or None: no git, no repository, an error.

    Nothing runs that the repository itself configures (docs/decisions/0039).

    Raises:
        TimeoutError: It took longer than `deadline` seconds.
    """
    word, *rest = arguments
    filters = _filters(folder) if word in _COMPARING else ()
    if any("=" in name for name in filters):
        return None  # no option can name it
    without = (*_INERT, *(f"{name}.{no}" for name in filters for no in _NO_FILTER))
    options = [text for setting in without for text in ("-c", setting)]
    command = ["git", "-C", str(folder), *options, word, *_COMPARING.get(word, ()), *rest]
    with _starting:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
            )
        except OSError:
            return None
        _running.add(process)
    with process:
        try:
            answer = _answer(process, deadline)
        finally:
            process.kill()
            _running.discard(process)
    return answer if process.returncode == 0 else None


def _answer(process: "subprocess.Popen[bytes]", deadline: float) -> bytes:
    """Return what a git says before it ends; who asks on a worker thread may give up meanwhile."""
    ends = time.monotonic() + deadline
    while True:
        try:
            return process.communicate(timeout=min(deadline, STEP))[0]
        except subprocess.TimeoutExpired as error:
            if time.monotonic() >= ends:
                raise TimeoutError(f"git did not answer within {deadline:.0f} seconds.") from error
        with suppress(RuntimeError):  # not on such a thread
            from_thread.check_cancelled()


def _filters(folder: Path) -> set[str]:
    """Return the filters that only the repository itself configures, and not its user, as `filter.name`."""
    programs = r"^filter\..*\.(clean|process)$"
    listed = run(folder, "config", "--show-scope", "--name-only", "-z", "--get-regexp", programs)
    said = os.fsdecode(listed or b"").split("\0")
    own = (key for scope, key in zip(said[::2], said[1::2], strict=False) if scope in _OWN_SCOPES)
    return {key.rpartition(".")[0] for key in own}


def _environment() -> dict[str, str]:
    known = os.environ  # noqa: TID251 - passed on, not read
    return {name: value for name, value in known.items() if name not in _LOCAL} | _NEUTRAL


class Ref(NamedTuple):
    """A branch: its full name, its commit, and what it stands for where it is symbolic."""

    name: str
    commit: str
    target: str = ""


def trunk(folder: Path, named: str = "") -> tuple[str, ...]:
    """Return the commits a team's trunk is at: the remote's, then that of the local branch of its name.

    Args:
        folder: In the repository.
        named: A branch, `main` or `origin/main`; empty: the default branch of `origin` or of the only
            remote, else `main`, `master` or `trunk`, else a local branch that is alone and has no remote.

    Raises:
        TimeoutError: Git did not answer in time.
    """
    shown = "--format=%(refname)%00%(objectname)%00%(symref)"
    listed = run(folder, "for-each-ref", shown, "refs/heads", "refs/remotes") or b""
    refs = [Ref(*line.split("\0")) for line in os.fsdecode(listed).splitlines()]
    commits = {ref.name: ref.commit for ref in refs}
    wanted = _trunk_names(refs, named)
    return tuple(dict.fromkeys(commits[name] for name in wanted if name in commits))


def _trunk_names(refs: Sequence[Ref], named: str) -> tuple[str, ...]:
    """Return the full names of the branches that are the trunk, there or not."""
    if named:
        short = named.removeprefix("refs/").removeprefix("heads/").removeprefix("remotes/")
        return f"refs/remotes/{short}", f"refs/remotes/origin/{short}", f"refs/heads/{short}"
    targets = {ref.name: ref.target for ref in refs}
    names = targets.keys()
    remotes = {name.split("/")[2] for name in names if name.startswith("refs/remotes/")}
    home = f"refs/remotes/{remotes.pop() if len(remotes) == 1 else 'origin'}/"
    # A branch may be called HEAD on the remote; only a symbolic one says what the default is.
    if (default := targets.get(f"{home}HEAD", "")).startswith(home):
        return default, f"refs/heads/{default.removeprefix(home)}"
    for name in TRUNKS:
        both = f"{home}{name}", f"refs/heads/{name}"
        if names & set(both):
            return both
    only = [name for name in names if name.startswith("refs/heads/")]
    return tuple(only) if len(only) == len(names) == 1 else ()


def is_at_work(folder: Path) -> bool:
    """Whether git is changing files right now: it holds its index from before the first until after the last."""
    try:
        lock = run(folder, "rev-parse", "--git-path", "index.lock")
    except TimeoutError:
        return True
    return lock is not None and (folder / os.fsdecode(lock).rstrip("\n")).exists()


def is_second_tree(folder: Path, base: Path) -> bool:
    """Whether a folder is another work tree of the repository that `base` is in: the same files once more.

    Raises:
        TimeoutError: Git did not answer in time.
    """
    if not (folder / ".git").is_file():
        return False
    said = [run(each, "rev-parse", "--git-common-dir") for each in (base, folder)]
    if None in said:
        return False
    one, other = (
        os.path.realpath(each / os.fsdecode(place or b"").rstrip("\n"))
        for each, place in zip((base, folder), said, strict=True)
    )
    return one == other


def dirty_files(folder: Path, files: Sequence[str] = ()) -> dict[str, bool] | None:
    """Return the files that differ from HEAD or are untracked, each with whether git tracks it.

    Names are relative to `folder`. `files` limits the question. None where git cannot tell. The
    tracked ones come first.
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
    entries = [entry for entry in listed.split(b"\0") if entry]
    entries.sort(key=lambda entry: entry.startswith(b"??"))
    return {
        os.fsdecode(entry[3:]).removeprefix(prefix): not entry.startswith(b"??")
        for entry in entries
    }


def committed_since(folder: Path, since: str, files: Sequence[str]) -> bool:
    """Whether a commit later than `since` (ISO 8601) touched any of `files`."""
    try:
        log = run(folder, "log", "-1", "--format=%H", f"--since={since}", "--", *files)
    except TimeoutError:
        return False
    return bool(log)


def head(folder: Path) -> str | None:
    """Return the commit that is checked out, empty before the first one; None where git cannot tell."""
    try:
        found = run(folder, "rev-parse", "--verify", "--quiet", "HEAD")
        inside = found or run(folder, "rev-parse", "--show-prefix")
    except TimeoutError:
        return None
    return None if inside is None else (found or b"").decode().strip()


def changed_from(folder: Path, commit: str, files: Sequence[str]) -> dict[str, bytes] | None:
    """Return those of `files` that are others than in a commit, with what it has of each.

    Nothing for a file that it does not have, and of a commit that is none (the empty string). None where git
    cannot tell.
    """
    if not files:
        return {}
    known = ("diff", "--name-only", "--no-renames", "--relative", "-z", commit)
    try:
        listed = [
            run(folder, "ls-files", "-z", "--others", "--", *files),
            run(folder, *(known if commit else ("ls-files", "-z")), "--", *files),
        ]
        names = [os.fsdecode(name) for out in listed for name in (out or b"").split(b"\0") if name]
        old = {name: run(folder, "show", f"{commit}:./{name}") if commit else b"" for name in names}
    except TimeoutError:
        return None
    return None if None in listed else {name: content or b"" for name, content in old.items()}
