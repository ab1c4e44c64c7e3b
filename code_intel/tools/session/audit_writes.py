"""Collect from git and the journals what a session wrote without permission."""

from collections.abc import Collection, Sequence

from code_intel.foundation.git import dirty_files, files_committed_since, head
from code_intel.foundation.text import visible
from code_intel.index.corpus import EXCLUDED_FOLDERS, GENERATED_REASON, refusal
from code_intel.session.journal import journal_files, read_intact
from code_intel.session.state import Session
from code_intel.session.write_gate import ChangeFacts, is_unpermitted, permitted_files
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.session.edits import Edits

MAX_OTHER_SESSIONS = 10
"""Maximum number of other sessions whose permissions are read, the last used first."""
SHOWN_FILES = 5
"""Number of files that a message names."""


def permitted_changes(context: GatewayContext, session: Session, edits: Edits) -> tuple[str, ...]:
    """Return the changed files that the write gate has allowed in this session; this blocks."""
    allowed = permitted_files(read_intact(context.sessions, session.name).records)
    return tuple(file for file in edits.files or () if file in allowed)


def unpermitted_changes(
    context: GatewayContext, session: Session, edits: Edits, permitted: Collection[str]
) -> tuple[str, ...]:
    """Return the files that were written without permission; this blocks.

    Nothing is reported if git cannot tell what has changed.
    """
    others = [file for file in edits.files or () if file not in permitted]
    facts = _facts(context, session, others) if others else {}
    return tuple(file for file in others if is_unpermitted(facts[file]))


def unpermitted_note(files: Sequence[str]) -> str:
    """Return a sentence about files that were written without permission; empty without files."""
    if not files:
        return ""
    return (
        f"Written without permission of the gate: {listed_files(files)} (by a shell command, a "
        "subagent, a tool that was not checked, or a person)."
    )


def listed_files(files: Sequence[str]) -> str:
    """Return the first files, and how many more there are."""
    more = f" and {len(files) - SHOWN_FILES} more" if len(files) > SHOWN_FILES else ""
    return ", ".join(map(visible, files[:SHOWN_FILES])) + more


def _facts(
    context: GatewayContext, session: Session, files: Sequence[str]
) -> dict[str, ChangeFacts]:
    elsewhere = _permitted_elsewhere(context, session)
    # None: git cannot tell, so that every file counts as changed in the work tree.
    dirty = dirty_files(context.root)
    committed = None
    if head(context.root) != session.commit:
        committed = files_committed_since(context.root, session.started_at)
    return {
        file: ChangeFacts(
            permitted_elsewhere=file in elsewhere,
            generated=_is_generated(file, is_tracked=dirty is None or dirty.get(file, True)),
            fetched=dirty is not None
            and committed is not None
            and file not in dirty
            and file not in committed,
        )
        for file in files
    }


def _is_generated(file: str, *, is_tracked: bool) -> bool:
    folders = file.split("/")[:-1]
    in_folder = not is_tracked and not EXCLUDED_FOLDERS.isdisjoint(folders)
    return in_folder or refusal(file) == GENERATED_REASON


def _permitted_elsewhere(context: GatewayContext, session: Session) -> frozenset[str]:
    """Return what other sessions were allowed to write since this one began."""
    names = [each.name for each in journal_files(context.sessions) if each.name != session.name]
    return frozenset[str]().union(
        *(
            permitted_files(read_intact(context.sessions, name).records, session.started_at)
            for name in names[:MAX_OTHER_SESSIONS]
        )
    )
