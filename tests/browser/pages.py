"""List the pages of `code-intel ui`, with an example of each."""

from pathlib import Path
from urllib.parse import quote

from code_intel.config import KNOWLEDGE_FOLDER, Settings, load_settings
from code_intel.learned.files.trash import folder_of
from code_intel.learned.proposals.review_file import read_review
from code_intel.session import journal
from code_intel.tools.context.gateway import sessions_of

PAGES = {
    "overview": "/",
    "warnings": "/doctor",
    "map": "/map",
    "map, nothing found": "/map?q=nowhere",
    "map, filtered": "/map?state=changed&sort=-since",
    "entry": "/map/entry?file={entry}",
    "entry of a note": "/map/entry?file={note}",
    "broken entry": "/map/entry?file={broken}",
    "entry in conflict": "/map/entry?file={conflict}",
    "history of an entry": "/map/history?file={entry}",
    "neighbours of an entry": "/map/near?file={entry}",
    "confirming": "/map/change?change=confirm&file={changed}",
    "confirming a draft": "/map/draft?term=session+token&symbol=TokenIssuer.issue",
    "renaming": "/map/change?change=rename&file={entry}",
    "deleting": "/map/change?change=delete&file={entry}",
    "editing": "/map/edit?file={entry}",
    "merging": "/map/edit?file={conflict}",
    "review": "/map/review",
    "proposals": "/map/proposals",
    "proposal, edited": "/map/proposals?number={proposal}&edit=1",
    "trash": "/map/trash",
    "file in the trash": "/map/trash/file?name={trashed}",
    "restoring": "/map/restore?name={trashed}",
    "ask": "/ask?q=shipping+fee&why_not=src/cart/cart.py",
    "sessions": "/sessions",
    "session": "/sessions/{session}",
    "last session": "/sessions/{last_session}",
    "code seen by a session": "/sessions/{session}/seen?step={step}&file={seen}",
    "plans": "/plans",
    "plan": "/plans/{plan}",
    "knowledge": "/plans/knowledge",
    "knowledge page": "/plans/knowledge/page?name={knowledge}",
    "commands": "/commands",
    "commands, searched": "/commands?q=commit",
    "command": "/commands/show?{command}",
    "command, run again": "/commands/run?{command}",
    "quality": "/quality",
    "code": "/code?file=src/auth/service.py&start=25&end=33",
    "missing page": "/nowhere",
}
"""The path of each page by name; braces stand for what the project has (`places`)."""
HOSTILE_PAGES = {
    "overview": "/",
    "map": "/map",
    "map, searched": "/map?q=%3Cscript x-hacked%3E",
    "map, hostile filter": "/map?q=%22%3E%3Cimg x-hacked src=x onerror=alert(1)%3E",
    "entry": "/map/entry?file={hostile_entry}",
    "history of an entry": "/map/history?file={hostile_entry}",
    "neighbours of an entry": "/map/near?file={hostile_entry}",
    "confirming": "/map/change?change=confirm&file={hostile_entry}",
    "editing": "/map/edit?file={hostile_entry}",
    "review": "/map/review",
    "proposal": "/map/proposals?number=1001",
    "proposal, edited": "/map/proposals?number=1002&edit=1",
    "ask": "/ask?q=hostile+script&why_not=%3Cimg x-hacked src=x onerror=alert(2)%3E",
    "sessions": "/sessions",
    "session": "/sessions/{hostile_session}",
    "plans": "/plans",
    "plan": "/plans/{hostile_plan}",
    "commands": "/commands",
    "commands, searched": "/commands?q=%3Cimg x-hacked src=x onerror=alert(2)%3E",
    "command": "/commands/show?c1=climpt-git&c2=hostile-0&c3=text",
    "code": "/code?file={hostile_file}",
    "missing file": "/code?file=%3Cimg x-hacked src=x onerror=alert(2)%3E",
    "missing entry": "/map/entry?file=%3Cimg x-hacked src=x onerror=alert(2)%3E",
    "missing session": "/sessions/%3Cimg x-hacked src=x onerror=alert(2)%3E",
    "missing plan": "/plans/%3Cimg x-hacked src=x onerror=alert(2)%3E",
}
"""Pages of a project with hostile texts that show some."""


def places(root: Path) -> dict[str, str]:
    """Return the names in a project that paths of pages contain, quoted for a URL."""
    settings = load_settings(root)
    files = sorted(settings.agreements.glob("*.md"))
    knowledge = settings.plans_dir / KNOWLEDGE_FOLDER

    def file_with(text: str) -> str:
        found = (path for path in files if text in path.read_text("utf-8"))
        return next((path.relative_to(root).as_posix() for path in found), "")

    found = {
        "entry": file_with('symbol: "AuthService.login"'),
        "note": file_with('kind: "convention"'),
        "broken": file_with('symbol: "toggleTheme"'),
        "conflict": file_with("<<<<<<<"),
        "changed": file_with('symbol: "StockKeeper.Reserve"'),
        "hostile_entry": file_with('symbol: "planted_1"'),
        "hostile_file": _first(root, "src/hostile/1 *").relative_to(root).as_posix(),
        "trashed": _first(folder_of(settings), "*").name,
        "proposal": str(read_review(settings).items[0].number),
        "knowledge": _first(knowledge, "*.md").name,
        **_sessions(settings),
        **_plans(settings.plans_dir / "cache" / "plans"),
    }
    quoted = {name: quote(value) for name, value in found.items()}
    return quoted | {"command": "c1=climpt-git&c2=group-commit&c3=unstaged-changes"}


def _first(folder: Path, pattern: str) -> Path:
    """Return the first file that matches; the folder itself if none does."""
    return next(iter(sorted(folder.glob(pattern))), folder)


def _sessions(settings: Settings) -> dict[str, str]:
    """Return the first session and the last one, one with hostile text, and a call that printed."""
    names = [file.stem for file in sorted((settings.state / "sessions").glob("*.jsonl"))]
    sessions = {name: journal.inspect(sessions_of(settings), name) for name in names}
    seen = next(call for call in sessions[names[0]].calls if call.printed)
    hostile = next((name for name in names if "x-hacked" in sessions[name].query), "")
    return {
        "session": names[0],
        "last_session": names[-1],
        "hostile_session": hostile,
        "step": str(seen.seq),
        "seen": seen.printed[0].file,
    }


def _plans(folder: Path) -> dict[str, str]:
    """Return a plan, and one with hostile text."""
    goals = {file.stem: file.read_text("utf-8") for file in sorted(folder.glob("*-*.json"))}
    hostile = [name for name, text in goals.items() if "x-hacked" in text]
    return {
        "plan": next(name for name in goals if name not in hostile),
        "hostile_plan": hostile[0] if hostile else "",
    }
