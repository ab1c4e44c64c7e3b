"""What is done for nobody over HTTP, unless whoever started the server allows it (docs/decisions/0019)."""

from code_intel.errors import UsageError
from code_intel.tools.declaration import Tool

WRITING = frozenset({"delete_document", "add_frontmatter", "update_frontmatter"})
"""Tools of the index servers that change or take away what is the project's; all others change the index alone."""


def check_permitted(tool: Tool, *, writes: bool) -> None:
    """Refuse a tool that writes what is the project's, or that may start a program.

    Raises:
        UsageError: It is one, and `writes` is false.
    """
    if writes or not (tool.reaches or tool.name in WRITING):
        return
    what = "runs programs of this machine" if tool.reaches else "changes what is the project's"
    raise UsageError(
        f"{tool.name} {what}, which this server does for nobody over HTTP.",
        hint="Do it where the files are, or have it started with --allow-writes.",
        code="writes_not_allowed",
    )
