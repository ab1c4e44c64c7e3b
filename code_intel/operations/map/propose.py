"""Propose agreements from the history, the documents and the tests of a project."""

from typing import Any

from code_intel.chunking.languages import row_of
from code_intel.config.own_files import is_own
from code_intel.forest.ranking.closeness import ASIDE
from code_intel.forest.ranking.paths import PATH_KINDS
from code_intel.foundation.text import counted
from code_intel.learned.files.agreements import look
from code_intel.learned.proposals.changes import MAX_COMMITS, Report
from code_intel.learned.proposals.proposing import Proposed, propose, review_items
from code_intel.learned.proposals.review_file import (
    REVIEW_FILE,
    ReviewItem,
    refused_pairs,
    write_review,
)
from code_intel.learned.recall.calibration import of_project
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.declaration import Answer

DEFAULT_LIMIT = 30
ASIDE_KINDS = ASIDE | {"stub"}
"""Kinds of files whose symbols are not proposed."""


def is_source(path: str) -> bool:
    """Return whether a path is code of the project itself, by its name."""
    lowered = f"/{path.lower()}"
    return (
        row_of(path).complete
        and not is_own(path)
        and not any(kind.pattern.search(lowered) for kind in PATH_KINDS if kind.name in ASIDE_KINDS)
    )


def propose_agreements(
    context: GatewayContext,
    *,
    limit: int = DEFAULT_LIMIT,
    commits: int = MAX_COMMITS,
    dry: bool = False,
    advance: Report,
) -> Answer:
    """Find proposals, write them to the review file, and return the first ones; this blocks.

    Args:
        context: The project.
        limit: The number of proposals to return.
        commits: The number of latest commits to read.
        dry: Whether to write nothing.
        advance: Called with the progress.
    """
    found = _found(context, commits, advance)
    items = [*review_items(found)]
    if not dry:
        write_review(context.settings, items)
    shown = items[:limit]
    data = {
        "proposals": [item.data for item in shown],
        "found": len(items),
        "commits": found.commits,
        "left_out": found.left_out,
        "unchecked": found.unchecked,
        "review_file": REVIEW_FILE,
        "dry_run": dry,
    }
    return Answer(data, _text(shown, found, len(items), dry=dry))


def _found(context: GatewayContext, commits: int, advance: Report) -> Proposed:
    settings, embedder = context.settings, context.embedder
    is_available, _ = embedder.available()
    known = {*look(settings.agreements).by_key, *refused_pairs(settings)}
    return propose(
        settings.root,
        [row.path for row in context.forest.store.documents()],
        is_source,
        embedder if is_available else None,
        of_project(settings, embedder.identity) if is_available else None,
        known,
        advance,
        commits,
    )


def _text(shown: list[ReviewItem], found: Proposed, count: int, *, dry: bool) -> str:
    head = f"{counted(count, 'proposal')} from {counted(found.commits, 'commit')}."
    if found.left_out:
        head += f" Left out, because earlier requests speak against them: {found.left_out}."
    if found.unchecked:
        head += f" Not tested on earlier requests. {found.unchecked}"
    lines = [head, *(line for item in shown for line in ("", *_lines(item)))]
    if count > len(shown):
        lines += ["", f"… and {count - len(shown)} more; --limit shows more."]
    if dry:
        lines += ["", "Dry run: nothing was written."]
    elif count:
        lines += ["", "Next: `code-intel map propose --review`, or `--accept N…` to add some."]
    return "\n".join(lines)


def _lines(item: ReviewItem) -> list[str]:
    data: dict[str, Any] = item.data
    first = f"{item.number}. {item.agreement.nl_term} → {item.agreement.symbol}"
    sources = [*(f"{commit[:8]} {title}" for commit, title in item.commits), *item.sources]
    owner = f", owner {item.owner}" if item.owner else ""
    return [
        first,
        f"   {data['definition']}, sure {item.sure:.2f}{owner}",
        *(f"   - {source}" for source in sources[:4]),
    ]
