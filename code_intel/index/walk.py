"""Find the files that the patterns of a configuration cover.

In a git work tree, git decides what is ignored; elsewhere, nested .gitignore files and
`corpus.EXCLUDED_FOLDERS` do. Links are not followed: the target of a link is found under its own
path if a pattern covers it. Files are not opened.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from code_intel.config import IndexConfig
from code_intel.errors import StorageError, UsageError
from code_intel.foundation import git
from code_intel.foundation.spelling import spelled
from code_intel.index.corpus import CORPORA, MAX_FILE_BYTES, OwnNames, refusal
from code_intel.index.ignore import walk_folder
from code_intel.index.safe_files import real_path

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

GIT_TIMEOUT_S = 30
STOP_INTERVAL = 64
"""Files between two questions whether to stop, which would take a tenth of the time of a scan."""
EXCLUDED_BY_USER = "deleted from the index by name; index it by name to add it again"
_WILD = frozenset("*?[")
_NOT_CHECKED_OUT = b"./\0"
"""What git lists in a submodule that was never initialised: the folder itself."""


class FoundFile(NamedTuple):
    """A file to index, with its state on disk.

    Attributes:
        real: The real path.
        size: In bytes.
        mtime_ns: Time of the last change of content.
        inode: Number of the file.
        ctime_ns: Time of the last change of content or attributes; programs cannot set it.
    """

    real: str
    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int


@dataclass(slots=True)
class Scan:
    """The result of a scan.

    Names are POSIX paths relative to the config's folder, or absolute outside it.

    Attributes:
        files: The files to index, by name.
        skipped: The reasons for the other files, by name.
        warnings: One for each pattern whose folder is missing.
        missing: Those folders. Their documents must not be taken for deleted.
        stopped: Whether the scan ended early and is incomplete.
    """

    files: dict[str, FoundFile] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    missing: list[Path] = field(default_factory=list)
    stopped: bool = False

    def folders(self, config: IndexConfig) -> set[str]:
        """Return the real folders of the files, and those above them up to their pattern's."""
        bases = tuple(str(pattern.base) for pattern in patterns(config) if pattern.base.is_dir())
        found = set(bases)
        for parent in {file.real.rpartition(os.sep)[0] for file in self.files.values()}:
            folder = parent
            while folder not in found and folder.startswith(bases):
                found.add(folder)
                folder = folder.rpartition(os.sep)[0]
        return found


@dataclass(frozen=True, slots=True)
class WalkPattern:
    """A parsed pattern: a real folder or file, a glob below it, and whether ignore rules apply.

    `text` is the pattern as the configuration has it; empty for the pages of query plans.
    """

    base: Path
    glob: str
    rules: bool
    text: str = ""

    def covers(self, real: Path) -> bool:
        """Return whether the pattern covers this file, without regard to ignore rules."""
        if real == self.base:
            return True
        if not self.holds(real):
            return False
        return not self.glob or _glob(self.glob).match_file(real.relative_to(self.base).as_posix())

    def holds(self, real: Path) -> bool:
        """Return whether a file is in the pattern's folder, without regard to the glob."""
        return real.is_relative_to(self.base)


def patterns(config: IndexConfig) -> list[WalkPattern]:
    """Return a config's patterns with real paths, and a pattern for the pages of query plans."""
    return [*_configured(config), *_pages(config)]


def bases(config: IndexConfig) -> list[str]:
    """Return the base folders of the patterns as document names, except the config's own folder."""
    folder = Path(os.path.realpath(config.folder))
    found = [
        base.relative_to(folder) if base.is_relative_to(folder) else base
        for base in (pattern.base for pattern in _configured(config))
    ]
    return [base.as_posix() for base in found if base != Path()]


def scan(config: IndexConfig, stop: Callable[[], bool] = lambda: False) -> Scan:
    """Find the files that a config covers, and the reasons for skipping others.

    Raises:
        StorageError: The config's folder is missing or cannot be read, or git does not answer.
    """
    if not os.access(config.folder, os.R_OK | os.X_OK):
        raise StorageError(
            f"{config.folder} is missing or cannot be read. The index was not changed."
        )
    result = Scan()
    examiner = _Examiner(config, result)
    for pattern in patterns(config):
        if pattern.text and not pattern.base.exists():
            result.warnings.append(f"document_patterns: {pattern.text} does not exist.")
            result.missing.append(pattern.base)
            continue
        for count, real in enumerate(_candidates(pattern)):
            if count % STOP_INTERVAL == 0 and stop():
                result.stopped = True
                return result
            examiner.add(real)
    return result


def scan_folder(config: IndexConfig, folder: Path) -> Scan:
    """Find the files below a real folder, without regard to the globs of the patterns."""
    result = Scan()
    examiner = _Examiner(config, result)
    for real in _candidates(WalkPattern(folder, "", CORPORA[config.corpus].ignore_rules)):
        examiner.add(real)
    return result


def apply_choices(scan: Scan, config: IndexConfig, choices: Mapping[str, bool]) -> None:
    """Apply the user's choices about single documents to a scan; they override the patterns."""
    if not choices:
        return
    real_folder = os.path.realpath(config.folder)
    examiner = _Examiner(config, scan)
    for name, wanted in choices.items():
        if not wanted:
            if scan.files.pop(name, None) is not None:
                scan.skipped[name] = EXCLUDED_BY_USER
        elif name not in scan.files:
            real = os.path.normpath(os.path.join(real_folder, name))  # noqa: PTH118 - as walked
            if any(pattern.holds(Path(real)) for pattern in patterns(config)):
                examiner.add(real, name)


def locate(config: IndexConfig, path: str | Path) -> tuple[str, Path]:
    """Return (document name, real path) of a file that a caller names; it need not exist.

    Links are resolved first. The globs of the patterns do not apply.

    Raises:
        UsageError: The file is in none of the config's folders, or its name is not valid text.
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
    """Return whether a pattern covers this file, without regard to ignore rules."""
    return any(pattern.covers(real) for pattern in patterns(config))


def document_name(real: str, folder: str) -> str:
    """Return a document's name: relative to `folder`, a real path, or absolute outside it."""
    inside = folder.rstrip(os.sep) + os.sep
    name = real.removeprefix(inside)
    return name if os.sep == "/" else name.replace(os.sep, "/")


def examine(real: str, name: str, config: IndexConfig) -> FoundFile | str | None:
    """Return the file, or the reason to skip it, or None if it does not exist or is not covered.

    Raises:
        OSError: The file cannot be examined (no permission, input/output error).
    """
    return _Examiner(config).examine(real, name)


class _Examiner:
    """Examines the files of one scan; what all of them need is computed once.

    Args:
        config: The configuration of the index.
        result: Where the files are added.
    """

    def __init__(self, config: IndexConfig, result: Scan | None = None) -> None:
        self._config = config
        self._result = result or Scan()
        self._suffixes = CORPORA[config.corpus].suffixes
        self._own = OwnNames(config)
        self._folder = os.path.realpath(config.folder)
        self._is_real: dict[str, bool] = {"": True}

    def add(self, real: str, name: str = "") -> None:
        """Add a file to the result, or the reason to skip it."""
        name = name or document_name(real, self._folder)
        try:
            # git also lists tracked files in a folder that has been replaced with a link.
            is_real = self._has_real_path(real.rpartition(os.sep)[0])
            found = self.examine(real, name) if is_real else "below a link"
        except OSError as error:
            found = f"unreadable: {error.strerror}"
        if isinstance(found, FoundFile):
            self._result.files[name] = found
        elif found:
            self._result.skipped[name.encode("utf-8", "backslashreplace").decode()] = found

    def examine(self, real: str, name: str) -> FoundFile | str | None:
        """Return the same as `examine` of this module."""
        if self._own.is_own_file(name) or self._own.is_plan_file(name):
            return None
        if self._suffixes and not name.lower().endswith(self._suffixes):
            return None
        try:
            info = os.lstat(real)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if stat.S_ISLNK(info.st_mode):
            return _link_problem(real, self._config)
        if stat.S_ISDIR(info.st_mode):
            return "folder cannot be listed"
        return _skip_reason(name, info) or FoundFile(
            real, info.st_size, info.st_mtime_ns, info.st_ino, info.st_ctime_ns
        )

    def _has_real_path(self, folder: str) -> bool:
        """Return whether no part of an absolute path is a link."""
        unknown = []
        while (is_real := self._is_real.get(folder)) is None:
            unknown.append(folder)
            folder = folder.rpartition(os.sep)[0]
        for below in reversed(unknown):
            is_real = is_real and not os.path.islink(below)  # noqa: PTH114
            self._is_real[below] = is_real
        return is_real


def _skip_reason(name: str, info: os.stat_result) -> str:
    if not stat.S_ISREG(info.st_mode):
        return "not a regular file"
    if not _is_utf8(name):
        return "name is not valid UTF-8"
    if info.st_size > MAX_FILE_BYTES:
        return "larger than 1 MiB"
    return refusal(name)


def _link_problem(link: str, config: IndexConfig) -> str | None:
    target = Path(os.path.realpath(link))
    inside = any(target.is_relative_to(pattern.base) for pattern in patterns(config))
    return None if inside else "a link that leads out of the folder"


def _is_utf8(name: str) -> bool:
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _configured(config: IndexConfig) -> list[WalkPattern]:
    """Return the patterns, without those that lead out of the clone, perhaps by a new link."""
    rules = CORPORA[config.corpus].ignore_rules
    found = [_pattern(config.path.parent, text, rules) for text in config.patterns]
    if not config.within:
        return found
    return [each for each in found if any(map(each.base.is_relative_to, config.within))]


def _pages(config: IndexConfig) -> list[WalkPattern]:
    """Return a pattern for the pages of query plans, if their folder exists and is not a link."""
    pages = config.knowledge
    if pages is None or not CORPORA[config.corpus].pages or not pages.is_dir():
        return []
    anchor = config.folder if pages.is_relative_to(config.folder) else pages.parents[1]
    real = Path(os.path.realpath(anchor)) / pages.relative_to(anchor)
    return [WalkPattern(real, "*.md", rules=False)] if os.path.realpath(pages) == str(real) else []


def _pattern(folder: Path, text: str, rules: bool) -> WalkPattern:  # noqa: FBT001 - of the corpus
    given = _expand_home(text)
    parts = given.parts
    wildcard_index = next((i for i, part in enumerate(parts) if _WILD & set(part)), len(parts))
    if "[" in text and (folder / given).exists():
        wildcard_index = len(parts)  # the brackets are part of a name
    base = Path(os.path.realpath(folder.joinpath(*parts[:wildcard_index])))
    return WalkPattern(base, "/".join(parts[wildcard_index:]), rules, text)


def _expand_home(text: str) -> Path:
    return Path(os.path.expanduser(text))  # noqa: PTH111 - Path.expanduser fails without a home


def _glob(glob: str) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec  # imported late, because few patterns have a glob

    # The default backend is RE2 where installed, which fails on names that are not UTF-8.
    return GitIgnoreSpec.from_lines([f"/{glob}"], backend="simple")


def _candidates(pattern: WalkPattern) -> Iterator[str]:
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
    """List the files that git does not ignore, relative to `base`; None without git."""
    if is_ignored(base):
        return None  # the configuration names an ignored folder on purpose: index its files
    listed = _git(base, "ls-files", "-co", "--exclude-standard", "-z")
    if listed is None or listed == _NOT_CHECKED_OUT:
        return None
    files: list[str] = []
    for name in dict.fromkeys(filter(None, os.fsdecode(listed).split("\0"))):
        real = f"{base}{os.sep}{name}"  # creating Path objects would double the time
        if os.path.isdir(real) and not os.path.islink(real):  # noqa: PTH112, PTH114 - see above
            inner = Path(real)  # a submodule or a nested repository
            if git.is_second_tree(inner, base):
                continue
            relative, listed_inside = name.rstrip("/"), git_files(inner)
            if listed_inside is None:
                listed_inside = list(walk_folder(inner, rules=True))
            files += (f"{relative}/{file}" for file in listed_inside)
        else:
            files.append(name)
    return files


def listed_by_git(folder: Path, names: Iterable[str]) -> set[str] | None:
    """Return those files of a folder that git does not ignore; None without git.

    `git_files` would list the same of them.
    """
    literal = [f":(literal){name}" for name in names]
    listed = _git(folder, "ls-files", "-co", "--exclude-standard", "-z", "--", *literal)
    return None if listed is None else set(filter(None, os.fsdecode(listed).split("\0")))


def is_ignored(folder: Path) -> bool:
    """Return whether git ignores a folder that exists."""
    return _git(folder, "check-ignore", "-q", ".") == b""


def _git(base: Path, *arguments: str) -> bytes | None:
    """Return git's output, or None if it fails or is not installed.

    Raises:
        StorageError: git does not answer in time.
    """
    try:
        return git.run(base, *arguments, timeout=GIT_TIMEOUT_S)
    except TimeoutError as error:
        # Falling back to other ignore rules for one scan would delete and add documents.
        raise StorageError(f"{error} The files of {base} could not be listed.") from error
