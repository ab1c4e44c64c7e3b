"""Write entries of a project's map, as sessions and people leave them."""

from collections.abc import Sequence
from pathlib import Path

from code_intel.config import load_settings
from code_intel.learned.learn import learn
from code_intel.records import Agreement, FileReference
from code_intel.tools.context.corpus_service import open_project
from code_intel.ui.rendering import url

LOGIN = ("login", "AuthService.login")


def agree(
    root: Path,
    term: str,
    symbol: str,
    *evidence: str,
    confirmed: bool = True,
    aliases: Sequence[str] = (),
    session: str = "",
) -> Path:
    """Write an agreement about a symbol as it is in the indexed code; return its file."""
    settings = load_settings(root)
    _, service = open_project(settings, readonly=True)
    with service.index as forest:
        found = forest.store.definitions(symbol, exact=True, limit=1)
    agreement = Agreement(
        term,
        symbol,
        evidence=evidence or (f"`{symbol}` does it",),
        files=tuple(FileReference(each.file, each.line) for each in found),
        digest=found[0].digest if found else "",
        body=found[0].body if found else "",
        aliases=tuple(aliases),
        session_id=session,
    )
    return learn(settings, agreement, confirmed=confirmed).agreement_file


def entry_page(file: Path, root: Path) -> str:
    """Return the address of the page of an entry."""
    return url("/map/entry", file=file.relative_to(root).as_posix())
