"""Which files do a config's patterns mean?

Inside a git work tree git itself decides what is ignored; elsewhere nested .gitignore files and
`corpus.EXCLUDED_FOLDERS` do. Links are never followed: one that stays inside the patterns points at
a file found anyway, one that leaves them is refused. Nothing is opened here, and nothing created.
"""

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pathspec import GitIgnoreSpec

from code_intel.config import IndexConfig
from code_intel.errors import StorageError, UsageError
from code_intel.foundation import git
from code_intel.foundation.spelling import spelled
from code_intel.index.corpus import (
    CORPORA,
    LARGEST,
    is_kept,
    is_own,
    refusal,
)
from code_intel.index.ignore import walk_folder
from code_intel.index.reading import real_path

GIT_SECONDS = 30
KEPT_OUT = "deleted from the index by name; index it to have it back"
_WILD = frozenset("*?[")
_NOT_CHECKED_OUT = b"./\0"
"""What git lists inside a submodule that was never initialised: the folder itself."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file to be indexed: where it is, and what the disk says of it."""

    real: str
    size: int
    mtime_ns: int
    inode: int
    touched_ns: int
    """Of content or attributes, as the system counts; unlike `mtime_ns` no program can set it back."""


@dataclass(slots=True)
class Scan:
    """What a walk saw; names are POSIX, relative to the config's folder, absolute outside it.

    Attributes:
        files: Name to file.
        skipped: Name to reason.
        warnings: Patterns that name nothing.
        missing: Real folders of such patterns: what was indexed from there is not known to be gone.
        stopped: Whether it ended early; what it did not see says nothing then.
    """

    files: dict[str, Found] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    missing: list[Path] = field(default_factory=list)
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern taken apart: a real folder or file, a glob below it (empty: everything), whether git's rules count."""

    base: Path
    glob: str
    rules: bool

    def covers(self, real: Path) -> bool:
        """Whether the pattern means this file, ignore rules aside."""
        if real == self.base:
            return True
        if not self.holds(real):
            return False
        return not self.glob or _glob(self.glob).match_file(real.relative_to(self.base).as_posix())

    def holds(self, real: Path) -> bool:
        """Whether a file is in the pattern's folder, whatever its glob says."""
        return real.is_relative_to(self.base)


def patterns(config: IndexConfig) -> list[Pattern]:
    """Return the config's patterns, resolved against the folder it is in, and that of plans' pages."""
    return [*_given(config), *_pages(config)]


def bases(config: IndexConfig) -> list[str]:
    """Return the folders the patterns start from, as documents name them; the config's own left out."""
    folder = Path(os.path.realpath(config.folder))
    found = [
        base.relative_to(folder) if base.is_relative_to(folder) else base
        for base in (pattern.base for pattern in _given(config))
    ]
    return [base.as_posix() for base in found if base != Path()]


def scan(config: IndexConfig, stop: Callable[[], bool] = lambda: False) -> Scan:
    """Find the files of a config; what is skipped is named with its reason.

    Raises:
        StorageError: The config's own folder is gone or unreadable, or git does not answer: that
            says nothing about files.
    """
    if not os.access(config.folder, os.R_OK | os.X_OK):
        raise StorageError(
            f"{config.folder} is gone or cannot be read; the index is kept as it is."
        )
    result = Scan()
    real_folder = os.path.realpath(config.folder)
    straight: dict[str, bool] = {}
    for number, pattern in enumerate(patterns(config)):
        if not pattern.base.exists() and number < len(config.patterns):
            text = config.patterns[number]
            result.warnings.append(f"document_patterns: {text} does not exist.")
            result.missing.append(pattern.base)
            continue
        for real in _candidates(pattern):
            if stop():
                result.stopped = True
                return result
            _judge(real, document_name(real, real_folder), config, result, straight)
    return result


def below(config: IndexConfig, folder: Path) -> Scan:
    """Find the files below a real folder, whatever the globs of the patterns say."""
    result = Scan()
    real_folder = os.path.realpath(config.folder)
    straight: dict[str, bool] = {}
    for real in _candidates(Pattern(folder, "", CORPORA[config.corpus].ignore_rules)):
        _judge(real, document_name(real, real_folder), config, result, straight)
    return result


def heed(scan: Scan, config: IndexConfig, choices: Mapping[str, bool]) -> None:
    """Apply to a scan what the user has said of single documents, which goes over the patterns."""
    real_folder = os.path.realpath(config.folder)
    for name, wanted in choices.items():
        if not wanted:
            if scan.files.pop(name, None) is not None:
                scan.skipped[name] = KEPT_OUT
        elif name not in scan.files:
            real = os.path.normpath(os.path.join(real_folder, name))  # noqa: PTH118 - as walked
            if any(pattern.holds(Path(real)) for pattern in patterns(config)):
                _judge(real, name, config, scan, {})


def locate(config: IndexConfig, path: str | Path) -> tuple[str, Path]:
    """Return (document name, real path) of a file that a caller names; it need not exist.

    Links are resolved first, so none leads out; the globs of the patterns do not matter here.

    Raises:
        UsageError: The file is in no folder of the config's patterns, or its name is no text.
    """
    if not _is_utf8(str(path)) or "\0" in str(path):
        raise UsageError("path is not valid text.", details={"field": "path"})
    try:
        real = spelled(real_path(config.folder / path))
    except OSError as error:
        raise UsageError(f"{path} cannot be resolved.", details={"field": "path"}) from error
    if not any(pattern.holds(real) for pattern in patterns(config)):
        raise UsageError(
            f"path not within any configured document directory: {path}",
            code="path_outside_root",
            hint=f"Name a file below a folder of document_patterns in {config.path.name}.",
            details={"field": "path"},
        )
    return document_name(str(real), os.path.realpath(config.folder)), real


def is_covered(config: IndexConfig, real: Path) -> bool:
    """Whether a pattern means this file, ignore rules aside."""
    return any(pattern.covers(real) for pattern in patterns(config))


def document_name(real: str, folder: str) -> str:
    """Return how a document is called: relative to `folder` (real) inside it, else absolute."""
    inside = folder.rstrip(os.sep) + os.sep
    return real.removeprefix(inside).replace(os.sep, "/")


def examine(real: str, name: str, config: IndexConfig) -> Found | str | None:
    """Return the file, or why it is skipped, or None when it is not ours to index or gone.

    Raises:
        OSError: The disk does not say (no permission, input/output error).
    """
    suffixes = CORPORA[config.corpus].suffixes
    if is_own(name, config.db_path.name, config.corpus) or is_kept(name, config):
        return None
    if suffixes and not name.lower().endswith(suffixes):
        return None
    try:
        info = os.lstat(real)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(info.st_mode):
        return _leaves(real, config)
    if stat.S_ISDIR(info.st_mode):
        return "folder cannot be listed"
    reason = _reason(name, info)
    return reason or Found(real, info.st_size, info.st_mtime_ns, info.st_ino, info.st_ctime_ns)


def _reason(name: str, info: os.stat_result) -> str:
    if not stat.S_ISREG(info.st_mode):
        return "not a regular file"
    if not _is_utf8(name):
        return "name is not valid UTF-8"
    if info.st_size > LARGEST:
        return "larger than 1 MiB"
    return refusal(name)


def _judge(
    real: str, name: str, config: IndexConfig, result: Scan, straight: dict[str, bool]
) -> None:
    parent = real.rpartition(os.sep)[0] or os.sep
    if parent not in straight:
        # git lists what its index holds, also below a folder that has become a link since.
        straight[parent] = os.path.realpath(parent) == parent
    shown = name.encode("utf-8", "backslashreplace").decode()
    if not straight[parent]:
        result.skipped[shown] = "below a link"
        return
    try:
        found = examine(real, name, config)
    except OSError as error:
        result.skipped[shown] = f"unreadable: {error.strerror}"
        return
    if isinstance(found, Found):
        result.files[name] = found
    elif found:
        result.skipped[shown] = found


def _leaves(link: str, config: IndexConfig) -> str | None:
    target = Path(os.path.realpath(link))
    inside = any(target.is_relative_to(pattern.base) for pattern in patterns(config))
    return None if inside else "a link that leaves the folder"


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _given(config: IndexConfig) -> list[Pattern]:
    rules = CORPORA[config.corpus].ignore_rules
    return [_pattern(config.path.parent, text, rules) for text in config.patterns]


def _pages(config: IndexConfig) -> list[Pattern]:
    """Return where plans' pages are, if there are any and no link is on the way."""
    pages = config.knowledge
    if pages is None or not CORPORA[config.corpus].pages or not pages.is_dir():
        return []
    anchor = config.folder if pages.is_relative_to(config.folder) else pages.parents[1]
    real = Path(os.path.realpath(anchor)) / pages.relative_to(anchor)
    return [Pattern(real, "*.md", rules=False)] if os.path.realpath(pages) == str(real) else []


def _pattern(folder: Path, text: str, rules: bool) -> Pattern:  # noqa: FBT001 - the row's, handed on
    given = _at_home(text)
    parts = given.parts
    wild = next((i for i, part in enumerate(parts) if _WILD & set(part)), len(parts))
    if "[" in text and (folder / given).exists():
        wild = len(parts)  # brackets may be part of a name
    base = Path(os.path.realpath(folder.joinpath(*parts[:wild])))
    return Pattern(base, "/".join(parts[wild:]), rules)


def _at_home(text: str) -> Path:
    return Path(os.path.expanduser(text))  # noqa: PTH111 - Path.expanduser fails without a home


def _glob(glob: str) -> GitIgnoreSpec:
    # Left to itself it takes RE2 where that is installed, which fails on names that are no UTF-8.
    return GitIgnoreSpec.from_lines([f"/{glob}"], backend="simple")


def _candidates(pattern: Pattern) -> Iterator[str]:
    if not pattern.base.is_dir():
        yield str(pattern.base)
        return
    listed = git_files(pattern.base) if pattern.rules else None
    below = walk_folder(pattern.base, rules=pattern.rules) if listed is None else listed
    wanted = _glob(pattern.glob) if pattern.glob else None
    base = str(pattern.base).rstrip(os.sep)
    for relative in below:
        if wanted is None or wanted.match_file(relative):
            yield f"{base}{os.sep}{relative}".rstrip("/")


def git_files(base: Path) -> list[str] | None:
    """List what git does not ignore, relative to `base`; None where git does not say."""
    if _git(base, "check-ignore", "-q", ".") == b"":
        return None  # the owner named an ignored folder on purpose
    listed = _git(base, "ls-files", "-co", "--exclude-standard", "-z")
    if listed is None or listed == _NOT_CHECKED_OUT:
        return None
    files: list[str] = []
    for name in dict.fromkeys(filter(None, os.fsdecode(listed).split("\0"))):
        real = f"{base}{os.sep}{name}"  # a Path for each would take as long as all the rest
        if os.path.isdir(real) and not os.path.islink(real):  # noqa: PTH112, PTH114 - so for that
            inner = Path(real)  # a submodule, or a repository in this one
            if git.is_second_tree(inner, base):
                continue
            relative, listed_inside = name.rstrip("/"), git_files(inner)
            if listed_inside is None:
                listed_inside = list(walk_folder(inner, rules=True))
            files += (f"{relative}/{file}" for file in listed_inside)
        else:
            files.append(name)
    return files


def _git(base: Path, *arguments: str) -> bytes | None:
    """Return git's output, or None when it fails or is not there.

    Raises:
        StorageError: It hangs.
    """
    try:
        return git.run(base, *arguments, deadline=GIT_SECONDS)
    except TimeoutError as error:
        # Walking without git's rules now would forget and find other files than a moment ago.
        raise StorageError(f"{error} It was asked for the files of {base}.") from error
