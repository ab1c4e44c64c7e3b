"""Refuse tools that write over HTTP, unless `--allow-writes` was given (docs/decisions/0019)."""

from code_intel.errors import UsageError
from code_intel.tools.declaration import Tool

WRITING = frozenset({"delete_document", "add_frontmatter", "update_frontmatter"})
"""Tools of the index servers that change files of the project; the others change only the index."""


def check_permitted(tool: Tool, *, writes: bool) -> None:
    """Refuse a tool that changes files of the project, or that may start a program.

    Raises:
        UsageError: It is such a tool, and `writes` is false.
    """
    if writes or not (tool.reaches or tool.name in WRITING):
        return
    what = "runs programs on this machine" if tool.reaches else "changes files of the project"
    raise UsageError(
        f"{tool.name} {what}, which is off over HTTP.",
        hint="Do it on the machine that has the files, or start the server with --allow-writes.",
        code="writes_not_allowed",
    )
