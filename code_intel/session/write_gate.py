"""May this session write to that file? (docs/decisions/0008)

Only in READY, only files that were explored, by their real path. What a shell command writes,
the gate cannot see.
"""

from pathlib import Path
from typing import NamedTuple

from code_intel.session.state import Session


class WriteVerdict(NamedTuple):
    """An answer of check_write_target.

    Attributes:
        allowed: Whether it may be written.
        error: Empty, or `not_ready`, `read_only_intent`, `path_outside_root`, `protected_path`,
            `nothing_explored`, `file_not_explored`, `folder_not_explored`, `new_files_not_allowed`.
        explored_files: What may be written, relative to the root.
        hint: What to do next, in one sentence.
    """

    allowed: bool
    error: str
    explored_files: tuple[str, ...]
    hint: str


def check_write(
    session: Session, root: Path, file_path: str, *, allow_new: bool = True
) -> WriteVerdict:
    """Judge one write; never raises for a path, whatever it holds."""
