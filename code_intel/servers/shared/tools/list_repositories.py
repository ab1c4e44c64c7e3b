"""Implement the tool `list_repositories`."""

from code_intel.servers.shared.tools.context import SharedContext
from code_intel.tools.declaration import Answer
from code_intel.tools.wire.paging import Cursor, page, start_of

REPOSITORIES_PER_PAGE = 100


async def list_repositories(context: SharedContext, cursor: Cursor = "") -> Answer:
    """List the repositories that the token may read, with their branches and commits."""
    start = start_of(cursor, "list_repositories")
    caller = context.caller
    heads = await context.run(caller.services.index.heads, caller.principal.may_read)
    part = page(
        heads,
        start,
        lambda head: {
            "repository": head.repository,
            "branch": head.branch,
            "commit": head.commit,
            "generation": head.generation,
        },
        "list_repositories",
        limit=REPOSITORIES_PER_PAGE,
    )
    lines = part.lines(
        lambda row: f"{row['repository']}@{row['branch']}  {row['commit'][:12]}",
        "repositories",
        len(heads),
    )
    text = "\n".join(lines) or "The token may read no repository of this server."
    return Answer({"repositories": part.rows, "total": len(heads), **part.data()}, text)
