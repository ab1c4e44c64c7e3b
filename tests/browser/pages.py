"""List the pages of `code-intel ui`, with an example of each."""

from pathlib import Path
from urllib.parse import quote

from code_intel.config import load_settings
from code_intel.learned.files.agreements import look
from code_intel.learned.files.trash import folder_of

PAGES = {
    "overview": "/",
    "map": "/map",
    "map, nothing found": "/map?q=nowhere",
    "map, filtered": "/map?state=changed&sort=-since",
    "entry": "/map/entry?file={entry}",
    "note": "/map/entry?file={note}",
    "broken entry": "/map/entry?file={broken}",
    "conflict": "/map/entry?file={conflict}",
    "review": "/map/review",
    "trash": "/map/trash",
    "trashed file": "/map/trash/file?name={trashed}",
    "sessions": "/sessions",
    "session": "/sessions/{session}",
    "last session": "/sessions/{last_session}",
    "code": "/code?file=src/auth/service.py&start=25&end=33",
    "ask": "/ask?q=shipping+fee&why_not=src/cart/cart.py",
    "missing page": "/nowhere",
}
"""The path of each page by name; braces stand for what the project has (`places`)."""
HOSTILE_PAGES = {
    "map": "/map",
    "map, searched": "/map?q=%3Cscript x-hacked%3E",
    "hostile filter": "/map?q=%22%3E%3Cimg x-hacked src=x onerror=alert(1)%3E",
    "entry": "/map/entry?file={hostile_entry}",
    "review": "/map/review",
    "sessions": "/sessions",
    "session": "/sessions/{last_session}",
    "code": "/code?file={hostile_file}",
    "ask": "/ask?q=hostile+script&why_not=%3Cimg x-hacked src=x onerror=alert(2)%3E",
    "missing file": "/code?file=%3Cimg x-hacked src=x onerror=alert(2)%3E",
}
"""Pages of a project with hostile texts that show some."""


def places(root: Path) -> dict[str, str]:
    """Return the names in a project that paths of pages contain, quoted for a URL."""
    settings = load_settings(root)
    sessions = sorted((settings.state / "sessions").glob("*.jsonl"))
    plans = sorted((settings.plans_dir / "cache" / "plans").glob("*-*.json"))
    files = [entry.path.as_posix() for entry in look(settings.agreements).entries]
    found = {
        "session": sessions[0].stem,
        "last_session": sessions[-1].stem,
        "plan": plans[0].stem,
        "trashed": next(iter(sorted(folder_of(settings).iterdir()))).name,
        "hostile_file": next(iter(sorted((root / "src").glob("hostile/1 *"))), root).as_posix(),
        "hostile_entry": next((name for name in files if "/1 " in name), ""),
        "note": next(
            path.as_posix()
            for path in sorted(settings.agreements.glob("*.md"))
            if 'kind: "convention"' in path.read_text("utf-8")
        ),
        **{
            name: next(file for file in files if symbol in file)
            for name, symbol in (
                ("entry", "AuthService.login"),
                ("broken", "toggleTheme"),
                ("conflict", "PaymentGateway.refund"),
            )
        },
    }
    return {name: quote(value.removeprefix(f"{root.as_posix()}/")) for name, value in found.items()}
