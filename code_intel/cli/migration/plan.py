"""What a migration does to a project: a list of changes computed from the disk alone.

The same disk gives the same plan, so a dry run prints what the run does, and a run that was killed is
completed by the next one (seed 004 §6, docs/decisions/0035).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from code_intel.cli.migration.configs import Config, forest_config, map_config
from code_intel.cli.migration.entries import Servers, servers
from code_intel.cli.migration.knowledge import Knowledge, knowledge
from code_intel.cli.migration.notes import Note
from code_intel.cli.setup import ignore_block
from code_intel.cli.setup.changes import Change, check_inside, current
from code_intel.config import STATE_FOLDER
from code_intel.foundation import state_folder

LEFTOVERS = (
    ("vectors.db", "the original devrag's database; not read, indexes are built anew"),
    (".code-intel/chroma", "the index of v3.9 and later; not read, indexes are built anew"),
    (".code-intel/sync_state.json", "says what that index held; not read"),
    (".code-intel/.last_sync", "says when that index was built; not read"),
    (".code-intel/context.yml", "settings of v1.1 and later; not used"),
    (".code-intel/verifiers", "prompts of v1.x; not used"),
    (".code-intel/doc_research", "prompts of v1.x; not used"),
    (".code-intel/review_prompts", "prompts of v1.x; not used"),
    (".code-intel/interventions", "prompts of v1.x; not used"),
    (".claude/commands/code.md", "tells the agent of another version's tools; read it again"),
)
"""What the original leaves in a project, by where it is, and what becomes of it: nothing."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything there is to do, and to say.

    Attributes:
        root: The project.
        agreements: Where its agreements are, or will be.
        found: What says that there is, or was, something to migrate.
        changes: One a file, in the order in which they are made; those that keep a file left out.
        left: What stays as it is, and why.
        problems: What could not be migrated; people have to look at it.
        learned: How many agreements are made.
    """

    root: Path
    agreements: Path
    found: tuple[Note, ...] = ()
    changes: tuple[Change, ...] = ()
    left: tuple[Note, ...] = ()
    problems: tuple[Note, ...] = ()
    learned: int = 0


def plan(root: Path) -> Plan:
    """Return what is to be done to a project; nothing where nothing is found of an earlier version.

    Raises:
        ConfigError: A configuration file cannot be used, or leads out of the project; it names the file.
        StorageError: A file or folder cannot be read.
    """
    entries = servers(root)
    the_map = map_config(root)
    the_forest = forest_config(root, entries.single_config)
    known = knowledge(root, the_map.agreements)
    leftovers = [Note(name, why) for name, why in LEFTOVERS if (root / name).exists()]
    found = [*known.found, *the_map.found, *the_forest.found, *entries.found, *leftovers]
    if not found:
        return Plan(root, the_map.agreements)
    changes = _changes(root, known, [the_map, the_forest], entries)
    return Plan(
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
) -> Iterable[Change]:
    """Return every change: what was learned first, what starts the servers last."""
    yield from known.agreements  # their folder may be anywhere, as the map's config says
    ours = [
        *known.pairs,
        *(config.change for config in configs),
        _state_ignored(root / STATE_FOLDER / state_folder.GITIGNORE_NAME),
        _ignored(root, configs),
        entries.change,
    ]
    yield from (check_inside(change, root) for change in ours)


def _state_ignored(path: Path) -> Change:
    before = current(path)
    return Change(path, before, ignore_block.hiding(before), "keeps out of git what can be rebuilt")


def _ignored(root: Path, configs: Iterable[Config]) -> Change:
    """Hide the databases that will lie in the project from git."""
    hidden = root / STATE_FOLDER
    inside = [
        config.database.relative_to(root).as_posix()
        for config in configs
        if config.database.is_relative_to(root)
        and not (config.database.is_relative_to(hidden) and config.database.suffix == ".db")
    ]
    path = root / ".gitignore"
    before = current(path)
    after = ignore_block.merged(before, list(map(ignore_block.pattern, inside)))
    return Change(path, before, after, "keeps the databases out of git")
