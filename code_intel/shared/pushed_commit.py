"""Say what a push may send of a checkout: files of the commit, as they are in the commit."""

from collections.abc import Mapping
from typing import NamedTuple

from code_intel.config import IndexConfig
from code_intel.errors import ConflictError, NotFoundError
from code_intel.foundation import git, revisions
from code_intel.foundation.text import counted
from code_intel.index.rows import DocumentRow
from code_intel.index.store import Store
from code_intel.index.walk import is_covered
from code_intel.shared.fields import is_document

SHOWN_NAMES = 5
UNTRACKED = "not tracked by git, or marked to differ from it"
ODD_NAME = "has a name with control characters"
UNREADABLE = "could not be read"


class PushedCommit(NamedTuple):
    """The commit to push.

    Attributes:
        id: The object name.
        branch: The branch that will point to it.
        files: The indexed files of the commit, by path.
        left_out: How many indexed files are left out, by reason.
    """

    id: str
    branch: str
    files: Mapping[str, DocumentRow]
    left_out: Mapping[str, int]


def commit_of(
    store: Store, config: IndexConfig, branch: str, unreadable: Mapping[str, str]
) -> PushedCommit:
    """Return the commit that is checked out, with its indexed files.

    Args:
        store: The index, up to date with the disk.
        config: Which files it covers.
        branch: The branch to push.
        unreadable: Files that the last sync could not read.

    Raises:
        NotFoundError: There is no commit.
        ConflictError: Files that git tracks and the index covers differ from the commit.
    """
    folder = config.folder
    head, tracked, dirty = git.head(folder), revisions.tracked(folder), git.dirty_files(folder)
    if not head or tracked is None or dirty is None:
        raise NotFoundError(
            "There is no commit to push.", hint="Run it in a git repository with a commit."
        )
    changed = [name for name, known in dirty.items() if known and is_covered(config, folder / name)]
    if changed:
        shown = ", ".join(changed[:SHOWN_NAMES])
        more = len(changed) - SHOWN_NAMES
        raise ConflictError(
            f"{counted(len(changed), 'file')} of the commit changed on the disk: {shown}"
            f"{f' and {more} more' if more > 0 else ''}.",
            hint="Commit or undo the changes, then push again. A push is the index of a commit.",
        )
    files: dict[str, DocumentRow] = {}
    left_out: dict[str, int] = {}
    for row in store.documents():
        why = UNTRACKED if row.path not in tracked else ""
        why = why or ("" if is_document(row.path) else ODD_NAME)
        why = why or (UNREADABLE if row.path in unreadable else "")
        if why:
            left_out[why] = left_out.get(why, 0) + 1
        else:
            files[row.path] = row
    return PushedCommit(head, branch, files, left_out)
