"""Plan a migration: a list of changes that depends only on the files of the project.

The same files give the same plan, so a dry run prints what a run would do (seed 004 §6,
docs/decisions/0035).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from code_intel.cli.migration.configs import Config, forest_config, map_config
from code_intel.cli.migration.entries import Servers, servers
from code_intel.cli.migration.knowledge import Knowledge, knowledge
from code_intel.cli.migration.notes import Note
from code_intel.cli.setup import ignore_block
from code_intel.cli.setup.changes import FileChange, check_inside, current
from code_intel.config import STATE_FOLDER
from code_intel.foundation import state_folder

LEFTOVERS = (
    (
        "vectors.db",
        "the original devrag's database; not used, `code-intel sync` builds new indexes",
    ),
    (
        ".code-intel/chroma",
        "the index of v3.9 and later; not used, `code-intel sync` builds new indexes",
    ),
    (".code-intel/sync_state.json", "state of that index; not used"),
    (".code-intel/.last_sync", "build time of that index; not used"),
    (".code-intel/context.yml", "settings of v1.1 and later; not used"),
    (".code-intel/verifiers", "prompts of v1.x; not used"),
    (".code-intel/doc_research", "prompts of v1.x; not used"),
    (".code-intel/review_prompts", "prompts of v1.x; not used"),
    (".code-intel/interventions", "prompts of v1.x; not used"),
    (".claude/commands/code.md", "describes another version's tools; review it"),
)
"""Files of the original that are kept, with a note for the report."""


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """The changes of a migration, and its report.

    Attributes:
        root: The project.
        agreements: The folder of its agreements.
        found: What an earlier version left.
        changes: The changes, in order, without unchanged files.
        left: What is kept, and why.
        problems: What could not be migrated and needs attention.
        learned: The number of new agreements.
    """

    root: Path
    agreements: Path
    found: tuple[Note, ...] = ()
    changes: tuple[FileChange, ...] = ()
    left: tuple[Note, ...] = ()
    problems: tuple[Note, ...] = ()
    learned: int = 0


def plan(root: Path) -> MigrationPlan:
    """Return the plan for a project; it is empty if nothing of an earlier version is found.

    Raises:
        ConfigError: A configuration file cannot be used or leads out of the project; the error
            names it.
        StorageError: A file or folder cannot be read.
    """
    entries = servers(root)
    the_map = map_config(root)
    the_forest = forest_config(root, entries.single_config)
    known = knowledge(root, the_map.agreements)
    leftovers = [Note(name, why) for name, why in LEFTOVERS if (root / name).exists()]
    found = [*known.found, *the_map.found, *the_forest.found, *entries.found, *leftovers]
    if not found:
        return MigrationPlan(root, the_map.agreements)
    changes = _changes(root, known, [the_map, the_forest], entries)
    return MigrationPlan(
        root,
        the_map.agreements,
        found=tuple(found),
        changes=tuple(change for change in changes if change.before != change.after),
        left=(*known.left, *the_map.left, *the_forest.left, *entries.left, *leftovers),
        problems=known.problems,
        learned=len(known.agreements),
    )


def _changes(
    root: Path, known: Knowledge, configs: Iterable[Config], entries: Servers
) -> Iterable[FileChange]:
    """Yield every change: agreements first, the file that starts the servers last."""
    yield from known.agreements  # these may be outside the project, if the map's config says so
    ours = [
        *known.pairs,
        *(config.change for config in configs),
        _state_gitignore_change(root / STATE_FOLDER / state_folder.GITIGNORE_NAME),
        _gitignore_change(root, configs),
        entries.change,
    ]
    yield from (check_inside(change, root) for change in ours)


def _state_gitignore_change(path: Path) -> FileChange:
    before = current(path)
    after = ignore_block.with_state_lines(before)
    return FileChange(path, before, after, "keeps derived files out of git")


def _gitignore_change(root: Path, configs: Iterable[Config]) -> FileChange:
    """Return the change that hides the project's databases from git."""
    state = root / STATE_FOLDER
    database_names = [
        config.database.relative_to(root).as_posix()
        for config in configs
        if config.database.is_relative_to(root)
        and not (config.database.is_relative_to(state) and config.database.suffix == ".db")
    ]
    path = root / ".gitignore"
    before = current(path)
    after = ignore_block.merged(before, list(map(ignore_block.pattern, database_names)))
    return FileChange(path, before, after, "keeps the databases out of git")
