"""Index the files that a watch names, without a scan of all others, if that is certain to suffice.

What a scan would do with a file depends on its name, its state on disk and the ignore rules of git.
`git ls-files`, which a scan asks about everything, answers for single names, too. A change of the
rules or of folders, a file outside git and a mass deletion need a scan.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from code_intel.config import IndexConfig
from code_intel.index import walk
from code_intel.index.corpus import EXCLUDED_FOLDERS, TOOL_MARKERS, OwnNames, is_page
from code_intel.index.deletions import MIN_MASS_DELETION
from code_intel.index.report import SyncReport
from code_intel.index.store import Store
from code_intel.index.sync import index_files

MAX_FOLDERS = 20
"""New files in more folders need a scan: git is asked once for each folder."""
MAX_NEW_FOLDERS = 1_000
"""Below one new folder; a scan finds the others when they hold files."""
RULES = frozenset({".gitignore", ".gitmodules", ".git", *TOOL_MARKERS})
"""Files that decide about others."""


class ChangedFiles:
    """Files of one index that may have changed.

    Args:
        store: Open for writing.
        config: Which files to index.

    Attributes:
        ignored: The names that git ignores, as far as they were asked about.
        folders: New folders that git does not ignore, with those below them.
    """

    def __init__(self, store: Store, config: IndexConfig) -> None:
        self.ignored: set[str] = set()
        self.folders: set[str] = set()
        self._store = store
        self._config = config
        self._own = OwnNames(config)
        self._folder = os.path.realpath(config.folder)

    def sync(self, paths: Iterable[str], watched: frozenset[str], stop: Callable[[], bool]) -> bool:
        """Index the files of these real paths; return False if the disk must be scanned.

        Args:
            paths: Files and folders that changed, were created or deleted.
            watched: The folders that were there before.
            stop: Polled before each file.
        """
        names = {walk.document_name(real, self._folder): real for real in sorted(set(paths))}
        names = {name: real for name, real in names.items() if self._is_candidate(name)}
        if any(real in watched or Path(real).name in RULES for real in names.values()):
            return False
        known, report = self._store.file_states(names), SyncReport()
        try:
            states = {name: walk.examine(real, name, self._config) for name, real in names.items()}
        except OSError:
            return False
        new = {
            name: real
            for name, real in names.items()
            if name not in known and states[name] and not is_page(name)
        }
        gone = [name for name in known if not isinstance(states[name], walk.FoundFile)]
        if len(gone) >= MIN_MASS_DELETION or any(os.path.lexists(names[name]) for name in gone):
            return False
        wanted = self._wanted(new)
        if wanted is None:
            return False
        found = [(n, s) for n, s in states.items() if isinstance(s, walk.FoundFile)]
        found = [(name, state) for name, state in found if name in wanted or name not in new]
        if found:
            index_files(self._store, self._config, found, known, report, stop)
        with self._store.batch():
            for name in gone:
                self._store.delete_document(name)
        return not report.failed

    def _is_candidate(self, name: str) -> bool:
        return not (self._own.holds(name) or self._own.is_plan_file(name))

    def _wanted(self, new: Mapping[str, str]) -> set[str] | None:
        """Return those of the new files that a scan would find; None if only a scan can tell."""
        if not new:
            return set()
        patterns, choices = walk.patterns(self._config), self._store.choices()
        by_folder: dict[Path, dict[str, str]] = {}
        for name, real in new.items():
            by_folder.setdefault(Path(real).parent, {})[Path(real).name] = name
        bases = [pattern.base for pattern in patterns if pattern.rules]
        if len(by_folder) > MAX_FOLDERS or any(map(walk.is_ignored, bases)):
            return None
        wanted: set[str] = set()
        for folder, names in by_folder.items():
            listed = walk.listed_by_git(folder, names)
            if listed is None or self._has_new_folder(folder, names):
                return None
            for own, name in names.items():
                if own not in listed:
                    self.ignored.add(new[name])
                elif choices.get(name, True) and any(p.covers(folder / own) for p in patterns):
                    wanted.add(name)
        return wanted

    def _has_new_folder(self, parent: Path, names: Iterable[str]) -> bool:
        """Return whether one of these is a folder that git does not ignore; note those below it."""
        new = [parent / name for name in names]
        new = [path for path in new if path.is_dir() and not path.is_symlink()]
        new = [path for path in new if not walk.is_ignored(path)]
        self.folders.update(folder for path in new for folder in _folders_below(path))
        return bool(new)


def _folders_below(top: Path) -> Iterator[str]:
    """Yield a new folder and those below it, except other repositories and generated folders."""
    for count, (folder, below, files) in enumerate(os.walk(top)):
        if count == MAX_NEW_FOLDERS:
            return
        if ".git" in files or ".git" in below:
            below.clear()
            continue
        below[:] = [name for name in below if name not in EXCLUDED_FOLDERS]
        yield folder
