"""Run git commands that only read: no shell, no stdin, a timeout, and None on failure."""

import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

GIT_TIMEOUT_S = 5.0
"""Time limit of a command."""
POLL_INTERVAL_S = 0.2
"""Interval at which a slow command is checked for cancellation."""
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
"""Disables locks, network access, prompts and translations."""
_NO_PROGRAMS = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "log.showSignature=false")
"""Disables programs that a repository's own configuration, which is not trusted, would run."""
_COMPARING_OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "status": ("--ignore-submodules=dirty",),
        "diff": ("--ignore-submodules=dirty", "--no-ext-diff", "--no-textconv"),
    }
)
"""Options of commands that compare contents, and so run filters; they skip submodules."""
_HOOK_VARIABLES = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"}
)
"""Variables that git sets for a hook; they would override `-C folder`."""
_REPOSITORY_SCOPES = frozenset({"local", "worktree"})
_DISABLE_FILTER = ("clean=", "process=", "required=false")
TRUNKS = ("main", "master", "trunk")
"""Names of the trunk where no remote has a default branch."""


_running: "set[subprocess.Popen[bytes]]" = set()
_starting = threading.RLock()
"""Held while a process starts, since `kill_all` cannot kill it before it is in `_running`."""


def kill_all() -> None:
    """Kill the running commands and start no more; only for a process that is about to exit."""
    _starting.acquire(timeout=POLL_INTERVAL_S)
    for process in tuple(_running):
        process.kill()


def run(folder: Path, *arguments: str, timeout: float = GIT_TIMEOUT_S) -> bytes | None:
    """Return the output of `git -C folder …`; None without git or a repository, or after an error.

    Programs that the repository itself configures are not run (docs/decisions/0039).

    Raises:
        TimeoutError: It took longer than `timeout` seconds.
    """
    name, *rest = arguments
    filters = _filters(folder) if name in _COMPARING_OPTIONS else ()
    if any("=" in filter_name for filter_name in filters):
        return None  # git has no syntax to disable it
    no_filters = (f"{each}.{setting}" for each in filters for setting in _DISABLE_FILTER)
    options = [text for setting in (*_NO_PROGRAMS, *no_filters) for text in ("-c", setting)]
    command = ["git", "-C", str(folder), *options, name, *_COMPARING_OPTIONS.get(name, ()), *rest]
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
            output = _output(process, timeout)
        finally:
            process.kill()
            _running.discard(process)
    return output if process.returncode == 0 else None


def _output(process: "subprocess.Popen[bytes]", timeout: float) -> bytes:
    """Return the output of a process; stop early if the call of this worker thread is cancelled."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return process.communicate(timeout=min(timeout, POLL_INTERVAL_S))[0]
        except subprocess.TimeoutExpired as error:
            if time.monotonic() >= deadline:
                raise TimeoutError(f"git did not answer within {timeout:.0f} seconds.") from error
        from anyio import from_thread  # only commands that are slow need it

        with suppress(RuntimeError):  # not a worker thread of anyio
            from_thread.check_cancelled()


def _filters(folder: Path) -> set[str]:
    """Return the filters that the repository itself configures, as `filter.name`."""
    programs = r"^filter\..*\.(clean|process)$"
    listed = run(folder, "config", "--show-scope", "--name-only", "-z", "--get-regexp", programs)
    fields = os.fsdecode(listed or b"").split("\0")
    pairs = zip(fields[::2], fields[1::2], strict=False)
    return {key.rpartition(".")[0] for scope, key in pairs if scope in _REPOSITORY_SCOPES}


def _environment() -> dict[str, str]:
    ours = os.environ  # noqa: TID251 - passed on, not read
    return {key: value for key, value in ours.items() if key not in _HOOK_VARIABLES} | _ENVIRONMENT


class Ref(NamedTuple):
    """A branch: its full name, its commit, and its target if it is symbolic."""

    name: str
    commit: str
    target: str = ""


def trunk(folder: Path, named: str = "") -> tuple[str, ...]:
    """Return the commits of the trunk: that of the remote branch, then that of the local one.

    Args:
        folder: A folder in the repository.
        named: A branch, `main` or `origin/main`; empty: the default branch of `origin` or of the
            only remote, else `main`, `master` or `trunk`, else the only local branch if there is
            no remote.

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
    """Return the full names that the trunk may have, whether or not they exist."""
    if named:
        short = named.removeprefix("refs/").removeprefix("heads/").removeprefix("remotes/")
        return f"refs/remotes/{short}", f"refs/remotes/origin/{short}", f"refs/heads/{short}"
    targets = {ref.name: ref.target for ref in refs}
    names = targets.keys()
    remotes = {name.split("/")[2] for name in names if name.startswith("refs/remotes/")}
    home = f"refs/remotes/{remotes.pop() if len(remotes) == 1 else 'origin'}/"
    # A remote branch may be called HEAD; only a symbolic one names the default branch.
    if (default := targets.get(f"{home}HEAD", "")).startswith(home):
        return default, f"refs/heads/{default.removeprefix(home)}"
    for name in TRUNKS:
        both = f"{home}{name}", f"refs/heads/{name}"
        if names & set(both):
            return both
    only = [name for name in names if name.startswith("refs/heads/")]
    return tuple(only) if len(only) == len(names) == 1 else ()


def is_at_work(folder: Path) -> bool:
    """Return whether git is changing files now, which is when it locks its index."""
    try:
        lock = run(folder, "rev-parse", "--git-path", "index.lock")
    except TimeoutError:
        return True
    return lock is not None and (folder / os.fsdecode(lock).rstrip("\n")).exists()


def is_second_tree(folder: Path, base: Path) -> bool:
    """Return whether a folder is a different work tree of the repository of `base`.

    Raises:
        TimeoutError: Git did not answer in time.
    """
    if not (folder / ".git").is_file():
        return False
    outputs = [run(each, "rev-parse", "--git-common-dir") for each in (base, folder)]
    if None in outputs:
        return False
    one, other = (
        os.path.realpath(each / os.fsdecode(output or b"").rstrip("\n"))
        for each, output in zip((base, folder), outputs, strict=True)
    )
    return one == other


def dirty_files(folder: Path, files: Sequence[str] = ()) -> dict[str, bool] | None:
    """Return the files that differ from HEAD or are untracked, each with whether git tracks it.

    Names are relative to `folder`, tracked files first. If `files` is given, only these are
    checked. Returns None if git fails.
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
    """Return whether a commit after `since` (ISO 8601) changed any of `files`."""
    try:
        log = run(folder, "log", "-1", "--format=%H", f"--since={since}", "--", *files)
    except TimeoutError:
        return False
    return bool(log)


def files_committed_since(folder: Path, since: str) -> set[str] | None:
    """Return the files below `folder` that commits after `since` (ISO 8601) changed.

    Merges do not count. Returns None if git fails.
    """
    options = ("--format=", "--name-only", "--no-renames", "--relative", "-z")
    try:
        listed = run(folder, "log", *options, f"--since={since}")
    except TimeoutError:
        return None
    if listed is None:
        return None
    return {os.fsdecode(name) for name in listed.split(b"\0") if name}


def head(folder: Path) -> str | None:
    """Return the commit of HEAD, empty before the first commit; None if git fails."""
    try:
        found = run(folder, "rev-parse", "--verify", "--quiet", "HEAD")
        inside = found or run(folder, "rev-parse", "--show-prefix")
    except TimeoutError:
        return None
    return None if inside is None else (found or b"").decode().strip()


class Commit(NamedTuple):
    """The message of a commit, and the files that it changed.

    Attributes:
        message: The whole message.
        files: Names relative to the folder that was asked about; those outside are left out.
        id: The object name, 40 or 64 hexadecimal digits.
        author: The author's name.
    """

    message: str
    files: tuple[str, ...]
    id: str = ""
    author: str = ""


_TREELESS = (b" tree:0", b" tree:1")
_NAMES_OF_COMMITS = ("--name-only", "--no-renames", "--relative", "-z")
_COMMIT_FORMAT = "--format=%x00%H%x00%an%x00%B%x00"


def commits(folder: Path, commit: str, limit: int) -> list[Commit] | None:
    """Return the last `limit` commits before and at `commit`, without merges; None if git fails."""
    last = (f"-n{limit}", "--no-merges", "--end-of-options", commit)
    return _logged(folder, *_NAMES_OF_COMMITS, _COMMIT_FORMAT, *last)


def lacks_trees(folder: Path) -> bool:
    """Return whether a repository is a partial clone without folders of earlier commits.

    Git would fetch them, one commit at a time.
    """
    try:
        filters = run(folder, "config", "--get-regexp", r"^remote\..*\.partialclonefilter$")
    except TimeoutError:
        return True
    return any(line.endswith(_TREELESS) for line in (filters or b"").splitlines())


def commit_ids(folder: Path, limit: int) -> list[str] | None:
    """Return the last `limit` commits of HEAD without merges, latest first; None if git fails."""
    try:
        listed = run(folder, "rev-list", "--no-merges", f"-n{limit}", "HEAD")
    except TimeoutError:
        return None
    return None if listed is None else listed.decode().split()


def commits_of(folder: Path, ids: Sequence[str]) -> list[Commit] | None:
    """Return the commits with these object names, in this order; None if git fails."""
    options = (*_NAMES_OF_COMMITS, _COMMIT_FORMAT, "--no-walk=unsorted", "--end-of-options")
    return _logged(folder, *options, *ids)


def _logged(folder: Path, *arguments: str) -> list[Commit] | None:
    try:
        listed = run(folder, "log", *arguments)
    except TimeoutError:
        return None
    return None if listed is None else list(_commits(listed))


def _commits(listed: bytes) -> Iterator[Commit]:
    """Yield the commits of a log: each an empty field, three fields, an empty field, and files.

    None of them can contain NUL, and no file name is empty. An author's name or a message can be.
    """
    fields = [*listed.split(b"\0"), b""]
    start = 0
    while start + 5 < len(fields):
        commit, author, message = fields[start + 1 : start + 4]
        first = start + 5
        start = fields.index(b"", first)
        # git writes a line end between the message and the first name.
        names = b"\0".join(fields[first:start]).removeprefix(b"\n").split(b"\0")
        yield Commit(
            message.decode(errors="replace"),
            tuple(os.fsdecode(name) for name in names if name),
            commit.decode(),
            author.decode(errors="replace"),
        )


def changed_names(folder: Path, commit: str) -> list[str] | None:
    """Return the files below `folder` whose content differs from a commit, untracked ones included.

    Ignored files and changes of mode alone do not count. An empty `commit` stands for the time
    before the first one. Returns None if git fails.
    """
    untracked = ("ls-files", "-z", "--others", "--exclude-standard")
    tracked = ("diff", "--numstat", "--no-renames", "--relative", "-z", commit)
    try:
        listed = [
            run(folder, *untracked),
            run(folder, *(tracked if commit else ("ls-files", "-z"))),
        ]
    except TimeoutError:
        return None
    if None in listed:
        return None
    new, changed = (
        [os.fsdecode(row) for row in (out or b"").split(b"\0") if row] for out in listed
    )
    if commit:
        rows = (row.split("\t", 2) for row in changed)
        changed = [name for added, deleted, name in rows if (added, deleted) != ("0", "0")]
    return list(dict.fromkeys((*changed, *new)))


def changed_from(folder: Path, commit: str, files: Sequence[str]) -> dict[str, bytes] | None:
    """Return those of `files` that differ from a commit, each with its content in the commit.

    The content is empty for a file that is not in the commit. An empty `commit` stands for the time
    before the first one. Returns None if git fails.
    """
    if not files:
        return {}
    tracked = ("diff", "--name-only", "--no-renames", "--relative", "-z", commit)
    try:
        listed = [
            run(folder, "ls-files", "-z", "--others", "--", *files),
            run(folder, *(tracked if commit else ("ls-files", "-z")), "--", *files),
        ]
        names = [os.fsdecode(name) for out in listed for name in (out or b"").split(b"\0") if name]
        old = {name: run(folder, "show", f"{commit}:./{name}") if commit else b"" for name in names}
    except TimeoutError:
        return None
    return None if None in listed else {name: content or b"" for name, content in old.items()}
