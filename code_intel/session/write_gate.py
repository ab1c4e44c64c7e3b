"""Decide whether a session may write a file (docs/decisions/0008 and 0059).

It may do so only in READY, and only to open files, compared by real path, and to new files beside
them; also to announced files. Under the demands of evidence, `open_files` says which files are
open; under those of counts, the explored files are. The gate does not see what a shell command
writes. Git shows that afterwards, and `is_unpermitted` decides what is reported (0062).
"""

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from code_intel.foundation.text import visible
from code_intel.session.guidance import next_step
from code_intel.session.open_files import (
    WriteFacts,
    how_to_open,
    is_related,
    open_files,
    why_closed,
)
from code_intel.session.phases import Event, Phase
from code_intel.session.state import JournalRecord, Session
from code_intel.session.understanding.counts_guidance import LOOK_AND_ADD

PROTECTED = (".code-intel/*", ".mcp.json", "devrag-*.json", ".claude/settings*.json")
"""Paths below the root that no agent may write, even if explored; so is `.git` at any depth.

These files hold session journals, and decide what is indexed and served and whether the client asks
before a write.
"""

WRITABLE = ".code-intel/agreements/*"
"""The part of the protected folder that people and agents may edit; git shows the changes."""


class NamedFiles(NamedTuple):
    """Files that may be written only if the request names them.

    Attributes:
        patterns: A path below the root, or the name of a file in any folder, in lower case.
        words: Words of a request that name them, besides the path and the name of the file.
    """

    patterns: tuple[str, ...]
    words: tuple[str, ...] = ()


NAMED_ONLY: tuple[NamedFiles, ...] = (
    NamedFiles(
        (
            "claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md",
            ".cursorrules", ".windsurfrules", "copilot-instructions.md",
        )
    ),
    NamedFiles((".envrc", ".gitmodules")),
    NamedFiles(
        (
            ".husky/*", ".githooks/*", "hooks/*", ".pre-commit-config.yaml",
            ".pre-commit-config.yml", "lefthook.yml", ".lefthook.yml",
        ),
        ("hook", "hooks", "pre-commit", "フック"),
    ),
    NamedFiles(
        (
            ".github/workflows/*", ".github/actions/*", ".gitlab-ci.yml", ".circleci/*",
            ".travis.yml", "jenkinsfile", "azure-pipelines.yml", ".buildkite/*", ".drone.yml",
            "bitbucket-pipelines.yml", "appveyor.yml", ".appveyor.yml", ".woodpecker/*",
            ".woodpecker.yml", ".ci/*",
        ),
        (
            "ci", "workflow", "workflows", "pipeline", "github actions", "ワークフロー",
            "パイプライン",
        ),
    ),
)  # fmt: skip
"""Instructions of agents, and files that run programs: an edit takes effect outside the code."""


class WriteVerdict(NamedTuple):
    """An answer of check_write_target.

    Attributes:
        allowed: Whether the file may be written.
        error: Empty, or one of `read_only_intent`, `not_ready`, `nothing_explored`,
            `path_outside_root`, `protected_path`, `not_named`, `other_spelling`,
            `file_not_related`, `file_not_explored`, `new_files_not_allowed`,
            `folder_not_explored`.
        explored_files: The files that may be written, relative to the root.
        hint: The next step; empty if allowed.
        file: The path relative to the root, with all links resolved; empty if denied.
        closed_file: The same of a file that a session may open by reading or quoting it.
        why_closed: Why that file is closed; empty if it is not related to the change.
    """

    allowed: bool
    error: str
    explored_files: tuple[str, ...]
    hint: str
    file: str = ""
    closed_file: str = ""
    why_closed: str = ""


class _Target(NamedTuple):
    """A path to write: `lexical` as given, and `real` with all links resolved.

    `open` are the files that may be written; `facts` is None under the demands of counts.
    """

    session: Session
    root: Path
    lexical: Path
    real: Path
    allow_new: bool
    client_files: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    facts: WriteFacts | None = None

    @property
    def file(self) -> str:
        """Its real path relative to the root."""
        return self.real.relative_to(self.root).as_posix()


class WriteRule(NamedTuple):
    """A reason to deny a write; without a hint, the session's next step is given."""

    error: str
    denies: Callable[[_Target], bool]
    hint: str | Callable[[_Target], str] = ""


def check_write(
    session: Session,
    root: Path,
    file_path: str,
    *,
    allow_new: bool = True,
    client_files: Iterable[str] = (),
    facts: WriteFacts | None = None,
) -> WriteVerdict:
    """Judge one write; never raise for a path.

    Args:
        session: The session.
        root: The project.
        file_path: The file, absolute or relative to `root`.
        allow_new: Whether the file may be created.
        client_files: The files in which clients read their settings, relative to `root`.
        facts: What the change rests on and what was printed; None under the demands of counts.
    """
    opened = session.explored_files if facts is None else open_files(session, facts)
    target = None
    try:
        real_root = _real_path(root)
        # Path would normalize the text; the kernel reads it as it is.
        joined = os.path.join(real_root, file_path)  # noqa: PTH118 - see above
        target = _Target(
            session,
            real_root,
            Path(os.path.normpath(joined)),
            _real_path(joined),
            allow_new,
            tuple(client_files),
            opened,
            facts,
        )
        rule = next((rule for rule in WRITE_RULES if rule.denies(target)), None)
    except (OSError, ValueError):  # a NUL, a name too long, a loop of links
        rule = UNUSABLE
    if rule is None and target is not None:
        return WriteVerdict(
            allowed=True, error="", explored_files=opened, hint="", file=target.file
        )
    rule = rule or UNUSABLE
    hint = rule.hint(target) if callable(rule.hint) and target else rule.hint
    closed = target.file if target and facts and rule.hint is _how_to_open else ""
    return WriteVerdict(
        allowed=False,
        error=rule.error,
        explored_files=opened,
        hint=visible(str(hint)) or next_step(session),
        closed_file=closed,
        why_closed=visible(why_closed(closed, facts)) if closed and facts else "",
    )


def hints_of(verdicts: Iterable[WriteVerdict], facts: WriteFacts | None) -> list[str]:
    """Return the next steps for several files, each once."""
    refused = [verdict for verdict in verdicts if not verdict.allowed]
    closed = list(dict.fromkeys(each.closed_file for each in refused if each.closed_file))
    others = [each.hint for each in refused if not each.closed_file]
    opening = [visible(how_to_open(closed, facts))] if closed and facts else []
    return list(dict.fromkeys((*opening, *others)))


def real_files(root: Path, files: Iterable[str]) -> list[str]:
    """Return the paths of files relative to `root`, with links resolved; without those outside."""
    real_root = _real_path(root)
    found = []
    for file in files:
        with suppress(OSError, ValueError):
            # As in check_write.
            path = _real_path(os.path.join(real_root, file))  # noqa: PTH118
            found.append(path.relative_to(real_root).as_posix())
    return found


def _is_outside(target: _Target) -> bool:
    # The kernel does not read `link/../x` as a person does.
    return _real_path(target.lexical) != target.real or target.root not in target.real.parents


def _is_protected(target: _Target) -> bool:
    path = target.lexical if target.lexical.is_relative_to(target.root) else target.real
    return any(is_protected(each.relative_to(target.root)) for each in (path, target.real))


def _is_not_named(target: _Target) -> bool:
    """Return whether the target configures clients, hooks or CI, and the request is silent on it.

    The settings of a client are named by their path or folder, since their names are common.
    """
    request = target.session.query.casefold()
    inside = {path for path in (target.lexical, target.real) if path.is_relative_to(target.root)}
    for path in inside:
        text = path.relative_to(target.root).as_posix().casefold()
        name = text.rpartition("/")[2]
        for words in _names_of(text, name, target.client_files):
            if not any(_is_in(word, request) for word in words):
                return True
    return False


def _names_of(path: str, name: str, client_files: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield, for each rule that guards a path, the words that name it in a request."""
    for row in NAMED_ONLY:
        if any(fnmatchcase(path if "/" in each else name, each) for each in row.patterns):
            yield (path, name, *row.words)
    for file in client_files:
        folder = file.casefold().partition("/")[0]
        if path == file.casefold() or ("/" in file and path.startswith(f"{folder}/")):
            yield path, folder


def _is_in(word: str, request: str) -> bool:
    """Return whether a request contains a word; ASCII words must stand alone."""
    if not word.isascii():
        return word in request
    return bool(re.search(rf"(?<![\w.]){re.escape(word)}(?!\w)", request, re.ASCII))


def is_guarded(inside: Path, client_files: Iterable[str]) -> bool:
    """Return whether a path below the root may be written only if a request names it."""
    text = inside.as_posix().casefold()
    return any(_names_of(text, inside.name.casefold(), client_files))


def is_protected(inside: Path) -> bool:
    """Return whether a path below the root is protected from agents and the programs they run."""
    parts = [part.casefold() for part in inside.parts]
    if ".git" in parts or parts == [".code-intel"]:
        return True
    # In fnmatch, `*` also matches `/`, which it must not do in devrag-*.json.
    text = "/".join(parts)
    return any(
        fnmatchcase(text, pattern) and (len(parts) == 1 or "/" in pattern) for pattern in PROTECTED
    ) and not fnmatchcase(text, WRITABLE)


def _is_unexplored(target: _Target) -> bool:
    return os.path.lexists(target.lexical) and not _is_explored(target)


def _is_new(target: _Target) -> bool:
    return not os.path.lexists(target.lexical) and not _is_explored(target)


def _has_other_spelling(target: _Target) -> bool:
    """Return whether a file exists whose name differs only in its Unicode form."""
    from code_intel.foundation.spelling import spelled  # no hook needs it otherwise

    return _is_new(target) and os.path.lexists(spelled(target.lexical))


def _is_in_unexplored_folder(target: _Target) -> bool:
    if not _is_new(target):
        return False
    folder = target.lexical.parent
    while not os.path.lexists(folder):
        folder = folder.parent
    if _has_link(folder, target.root):
        return True
    if target.real.parent in {path.parent for path in _planned_paths(target)}:
        return False
    if target.facts and target.file in target.facts.new_tests:
        return target.real.parent != _real_path(folder)
    # An explored file at the root allows new files there, but no new folders.
    if _real_path(folder) == target.root and target.real.parent != target.root:
        return True
    beside = [file for file in target.open if not _is_change_log(file, target)]
    return _real_path(folder) not in {path.parent for path in _paths_inside(target, beside)}


def _is_change_log(file: str, target: _Target) -> bool:
    """Return whether a file is open because it lists changes, which says nothing of its folder."""
    return target.facts is not None and (
        (known := target.facts.files.get(file)) is not None and known.relation == "lists"
    )


def _has_link(folder: Path, root: Path) -> bool:
    """Return whether there is a link between `root` and `folder`."""
    while _real_path(folder) != root:
        if folder.is_symlink() or folder == folder.parent:
            return True
        folder = folder.parent
    return False


def _is_explored(target: _Target) -> bool:
    """Return whether the target is open, ignoring case if the file system does."""
    return not target.real.is_dir() and any(
        path == target.real or _is_same_file(path, target.real) for path in _explored_paths(target)
    )


def _is_same_file(one: Path, other: Path) -> bool:
    """Return whether two spellings of a path are the same file; hard links are not."""
    is_alike = _casefold(one) == _casefold(other)
    return is_alike and one.exists() and other.exists() and one.samefile(other)


def _explored_paths(target: _Target) -> list[Path]:
    """Return the real paths of the open files inside the root."""
    return _paths_inside(target, target.open)


def _planned_paths(target: _Target) -> list[Path]:
    """Return the real paths of the announced files."""
    return _paths_inside(target, target.session.planned_files)


def _paths_inside(target: _Target, files: Iterable[str]) -> list[Path]:
    """Return the real paths of files, without those that have become links."""
    paths = (Path(os.path.normpath(target.root / file)) for file in files)
    return [path for path in paths if target.root in path.parents and _real_path(path) == path]


def _real_path(path: Path | str) -> Path:
    return Path(os.path.realpath(path))


def _casefold(path: Path) -> str:
    return unicodedata.normalize("NFC", str(path)).casefold()


def _is_unrelated(target: _Target) -> bool:
    facts = target.facts
    return facts is not None and _is_unexplored(target) and not is_related(target.file, facts)


def _how_to_open(target: _Target) -> str:
    if target.facts is None:
        return f"This file was not explored in this session; {LOOK_AND_ADD}"
    return how_to_open([target.file], target.facts)


def _how_to_create(target: _Target) -> str:
    start = "Create new files in a folder that contains an explored file, not through a link. "
    if target.facts is None:
        return f"{start}To open a file of another folder, {LOOK_AND_ADD}"
    return (
        f"{start}To create this one, call submit_understanding with new_symbols: its name, its "
        "file, and in beside the existing code that it will join."
    )


UNUSABLE = WriteRule(
    "path_outside_root", lambda _: True, "Call check_write_target with a file inside the project."
)

WRITE_RULES: tuple[WriteRule, ...] = (
    WriteRule(
        "read_only_intent",
        lambda target: not target.session.intent.writes,
        "This session is read-only. To write, call start_session with intent IMPLEMENT, MODIFY "
        "or DELETE.",
    ),
    WriteRule("not_ready", lambda target: target.session.phase is not Phase.READY),
    WriteRule("path_outside_root", _is_outside, UNUSABLE.hint),
    WriteRule(
        "protected_path",
        _is_protected,
        "This file belongs to git, to code-intel (its state, .mcp.json, devrag-*.json) or to the "
        "client (.claude/settings.json). Leave it unchanged, or ask the user to change it.",
    ),
    WriteRule(
        "not_named",
        _is_not_named,
        "This file configures a client, an agent, hooks or CI, and the request does not name it. "
        "Leave it unchanged. If the user wants it changed, call start_session with a request that "
        "names the file.",
    ),
    WriteRule(
        "nothing_explored",
        lambda target: target.facts is None and not (target.open or target.session.planned_files),
        f"No file was explored in this session; {LOOK_AND_ADD}",
    ),
    WriteRule(
        "other_spelling",
        _has_other_spelling,
        "A file of this name exists in another Unicode form. Write to the path that the search "
        "tools return.",
    ),
    WriteRule("file_not_related", _is_unrelated, _how_to_open),
    WriteRule("file_not_explored", _is_unexplored, _how_to_open),
    WriteRule(
        "new_files_not_allowed",
        lambda target: _is_new(target) and not target.allow_new,
        "There is no such file. Call check_write_target with an existing file, or with "
        "allow_new_files to create it.",
    ),
    WriteRule(
        "folder_not_explored",
        _is_in_unexplored_folder,
        _how_to_create,
    ),
)
"""Reasons to deny a write, in the order in which they are reported."""


class ChangeFacts(NamedTuple):
    """The facts about one file that has changed since a session began.

    Attributes:
        permitted: Whether the write gate has allowed it, in any phase of the session.
        permitted_elsewhere: Whether it has done so in another session meanwhile.
        generated: Whether a tool writes it: a lock file, or an untracked file in a folder such as
            `__pycache__`.
        fetched: Whether its content came with a commit that is older than the session, such as by
            `git pull` or `git switch`.
    """

    permitted: bool = False
    permitted_elsewhere: bool = False
    generated: bool = False
    fetched: bool = False


EXPLANATIONS: tuple[Callable[[ChangeFacts], bool], ...] = (
    lambda facts: facts.permitted,
    lambda facts: facts.permitted_elsewhere,
    lambda facts: facts.generated,
    lambda facts: facts.fetched,
)
"""Reasons why a changed file is not reported. A person may still have written a reported one."""


def is_unpermitted(facts: ChangeFacts) -> bool:
    """Return whether a changed file is reported as written without permission."""
    return not any(explains(facts) for explains in EXPLANATIONS)


def permitted_files(records: Iterable[JournalRecord], since: str = "") -> frozenset[str]:
    """Return the files that the write gate has allowed, also before a return to EXPLORATION.

    `since` is an ISO 8601 time in UTC. A record of another version may lack its files.
    """
    rows = (each.data for each in records if each.event is Event.PERMITTED and each.at >= since)
    return frozenset(str(file) for row in rows for file in row.get("files", ()))
