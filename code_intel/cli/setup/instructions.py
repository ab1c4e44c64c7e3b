"""Add and remove our section in the files of instructions that agents read."""

import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from code_intel.cli.setup.changes import FileChange, check_writable, content
from code_intel.cli.setup.clients import Client
from code_intel.cli.setup.marked_block import BlockMarks, with_block, without_block

READERS = MappingProxyType(
    {"CLAUDE.md": ("claude",), "AGENTS.md": ("codex", "cursor", "vscode"), "GEMINI.md": ("gemini",)}
)
"""The clients that read each file (docs/decisions/0065)."""
MARKS = BlockMarks(b"<!-- code-intel: begin -->", b"<!-- code-intel: end -->", gap=b"\n")
SECTION = """\
## Finding and changing code

The MCP server `code-intel` searches this project: its map (agreements on which symbol a term means)
and its forest (the index of the source).

- A task that changes code: call `start_session` with the request before you search. It shows what
  was agreed, or the best places.
- A question about code: `search_smart`, `find_definitions` or `find_references` instead of grep.
- Several places to read: `snippets_get`.
- A write that was refused: `check_write_target` says what to read first.
- The task is done: `record_outcome`, so that the next session finds the place at once.
"""
_IMPORT = re.compile(rb"^@(?:\./)?AGENTS\.md\s*$", re.MULTILINE)
"""A line by which CLAUDE.md includes AGENTS.md."""
without_section = partial(without_block, marks=MARKS)


def merge(root: Path, chosen: Sequence[Client], *, creates: bool) -> Iterator[FileChange]:
    """Yield the changes that add our section to the files that exist.

    Args:
        root: The project.
        chosen: The clients.
        creates: Whether to create the files that these clients read.
    """
    names = {client.name for client in chosen}
    files = [
        root / name
        for name, readers in READERS.items()
        if (root / name).is_file() or (creates and names & set(readers))
    ]
    for path in files:
        before = content(path)
        if not (is_link_to_other(path, files) or _imports_other(before, files)):
            after = with_block(before, MARKS, SECTION.encode().splitlines())
            yield check_writable(FileChange(path, before, after), root)


def files_with_section(root: Path) -> list[Path]:
    """Return the files that may have our section; of links to one file, the file."""
    files = [root / name for name in READERS if (root / name).is_file()]
    return [path for path in files if not is_link_to_other(path, files)]


def is_link_to_other(path: Path, files: Sequence[Path]) -> bool:
    """Return whether a file is a link to another of the files."""
    others = (os.path.realpath(one) for one in files if one != path)
    return path.is_symlink() and os.path.realpath(path) in others


def _imports_other(before: bytes | None, files: Sequence[Path]) -> bool:
    has_agents = any(one.name == "AGENTS.md" for one in files)
    return has_agents and bool(_IMPORT.search(before or b""))
