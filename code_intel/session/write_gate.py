"""May this session write to that file (docs/decisions/0008).

Only in READY, only files that were explored, by their real path; of an empty project, new files
where they were announced. What a shell command writes, the gate cannot see.
"""

import os
import unicodedata
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from code_intel.session.guidance import next_step
from code_intel.session.phases import LOOK, Phase
from code_intel.session.state import Session

PROTECTED = (".code-intel/*", ".mcp.json", "devrag-*.json", ".claude/settings*.json")
"""Patterns of paths below the root that no agent writes, explored or not: the record of what was
earned, what decides which files are indexed and served, and whether anybody asks here before a write. `.git` is one at any depth."""

WRITABLE = ".code-intel/agreements/*"
"""What people and agents may edit of the protected folder: knowledge, reviewed in git."""


class WriteVerdict(NamedTuple):
    """An answer of check_write_target.

    Attributes:
        allowed: Whether it may be written.
        error: Empty, or one of `read_only_intent`, `not_ready`, `nothing_explored`,
            `path_outside_root`, `protected_path`, `other_spelling`, `file_not_explored`,
            `new_files_not_allowed`, `folder_not_explored`.
        explored_files: What may be written, relative to the root.
        hint: What to do next, in one sentence; empty when allowed.
    """

    allowed: bool
    error: str
    explored_files: tuple[str, ...]
    hint: str


class _Target(NamedTuple):
    """A write as the disk sees it: `lexical` as written, `real` with every link resolved."""

    session: Session
    root: Path
    lexical: Path
    real: Path
    allow_new: bool


class Rule(NamedTuple):
    """A named reason to deny; an empty hint stands for the phase's next step."""

    error: str
    denies: Callable[[_Target], bool]
    hint: str = ""


def check_write(
    session: Session, root: Path, file_path: str, *, allow_new: bool = True
) -> WriteVerdict:
    """Judge one write; `file_path` is absolute or relative to `root`. Never raises for a path."""
    try:
        real_root = _real(root)
        # Path would drop the `.` and keep the `..`; the kernel reads the text as it is.
        joined = os.path.join(real_root, file_path)  # noqa: PTH118 - see above
        target = _Target(
            session, real_root, Path(os.path.normpath(joined)), _real(joined), allow_new
        )
        rule = next((rule for rule in RULES if rule.denies(target)), None)
    except (OSError, ValueError):  # a NUL, a name too long, a loop of links
        rule = UNUSABLE
    explored = session.explored_files
    if rule is None:
        return WriteVerdict(allowed=True, error="", explored_files=explored, hint="")
    hint = rule.hint or next_step(session)
    return WriteVerdict(allowed=False, error=rule.error, explored_files=explored, hint=hint)


def _is_outside(target: _Target) -> bool:
    # `link/../x` is one file to the reader and another to the kernel.
    return _real(target.lexical) != target.real or target.root not in target.real.parents


def _is_protected(target: _Target) -> bool:
    named = target.lexical if target.lexical.is_relative_to(target.root) else target.real
    return any(belongs_to_us(path.relative_to(target.root)) for path in (named, target.real))


def belongs_to_us(inside: Path) -> bool:
    """Say whether a path below the root is one that no agent writes, by itself or by a program."""
    parts = [part.casefold() for part in inside.parts]
    if ".git" in parts or parts == [".code-intel"]:
        return True
    # fnmatch lets `*` cross folders: that of devrag-*.json must not.
    text = "/".join(parts)
    return any(
        fnmatchcase(text, pattern) and (len(parts) == 1 or "/" in pattern) for pattern in PROTECTED
    ) and not fnmatchcase(text, WRITABLE)


def _is_unexplored(target: _Target) -> bool:
    return os.path.lexists(target.lexical) and not _is_explored(target)


def _is_new(target: _Target) -> bool:
    return not os.path.lexists(target.lexical) and not _is_explored(target)


def _is_twin(target: _Target) -> bool:
    """Whether it would be a second file beside one whose name differs in its Unicode form alone."""
    from code_intel.spelling import spelled  # a hook has no other use for it

    return _is_new(target) and os.path.lexists(spelled(target.lexical))


def _is_in_unexplored_folder(target: _Target) -> bool:
    if not _is_new(target):
        return False
    folder = target.lexical.parent
    while not os.path.lexists(folder):
        folder = folder.parent
    if _has_link(folder, target.root):
        return True
    if target.real.parent in {path.parent for path in _planned(target)}:
        return False
    # An explored file at the top opens the top itself, not every new tree below it.
    if _real(folder) == target.root and target.real.parent != target.root:
        return True
    return _real(folder) not in {path.parent for path in _explored(target)}


def _has_link(folder: Path, root: Path) -> bool:
    """Whether a link lies between `root` and `folder`: its files live somewhere else."""
    while _real(folder) != root:
        if folder.is_symlink() or folder == folder.parent:
            return True
        folder = folder.parent
    return False


def _is_explored(target: _Target) -> bool:
    """Whether it is an explored file: the same real path, or the same file on a caseless disk."""
    return not target.real.is_dir() and any(
        path == target.real or _is_same_file(path, target.real) for path in _explored(target)
    )


def _is_same_file(one: Path, other: Path) -> bool:
    """Whether two spellings of a path are one file; a hard link of another name is not."""
    alike = _caseless(one) == _caseless(other)
    return alike and one.exists() and other.exists() and one.samefile(other)


def _explored(target: _Target) -> list[Path]:
    """Return the real paths of the explored files that lie inside the root."""
    return _inside(target, target.session.explored_files)


def _planned(target: _Target) -> list[Path]:
    """Return the real paths of the files that were announced."""
    return _inside(target, target.session.planned_files)


def _inside(target: _Target, files: Iterable[str]) -> list[Path]:
    """Return where the files really are, but none that has become a link since it was looked at."""
    paths = (Path(os.path.normpath(target.root / file)) for file in files)
    return [path for path in paths if target.root in path.parents and _real(path) == path]


def _real(path: Path | str) -> Path:
    return Path(os.path.realpath(path))


def _caseless(path: Path) -> str:
    return unicodedata.normalize("NFC", str(path)).casefold()


_LOOK_AND_ADD = f"look at the file with {LOOK}, then call add_explored_files."

UNUSABLE = Rule(
    "path_outside_root", lambda _: True, "Call check_write_target with a file inside the project."
)

RULES: tuple[Rule, ...] = (
    Rule(
        "read_only_intent",
        lambda target: not target.session.intent.writes,
        "This session only reads; to write, call start_session with intent IMPLEMENT, MODIFY or DELETE.",
    ),
    Rule("not_ready", lambda target: target.session.phase is not Phase.READY),
    Rule("path_outside_root", _is_outside, UNUSABLE.hint),
    Rule(
        "protected_path",
        _is_protected,
        "This belongs to git, to code-intel (its state, .mcp.json, devrag-*.json) or to its client "
        "(.claude/settings.json), and decides what is indexed, served and asked: leave it alone, or ask the user to change it.",
    ),
    Rule(
        "nothing_explored",
        lambda target: not (target.session.explored_files or target.session.planned_files),
        f"No file was explored in this session; {_LOOK_AND_ADD}",
    ),
    Rule(
        "other_spelling",
        _is_twin,
        "A file of this name is there in another Unicode form, and this would be a second one: write to "
        "the path that the search tools return.",
    ),
    Rule(
        "file_not_explored",
        _is_unexplored,
        f"Not explored in this session; {_LOOK_AND_ADD}",
    ),
    Rule(
        "new_files_not_allowed",
        lambda target: _is_new(target) and not target.allow_new,
        "There is no such file: call check_write_target with one that exists, or with allow_new_files to "
        "create it.",
    ),
    Rule(
        "folder_not_explored",
        _is_in_unexplored_folder,
        "Create new files below a folder that holds an explored file, not through a link: look at a "
        f"file there with {LOOK}, then call add_explored_files.",
    ),
)
"""Reasons to deny, in the order in which they are told."""
