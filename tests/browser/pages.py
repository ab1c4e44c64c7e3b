"""List the pages of `code-intel ui`, with an example of each."""

import json
from pathlib import Path
from urllib.parse import quote

from code_intel.config import load_settings
from code_intel.learned.files.agreements import look

PAGES = {
    "overview": "/",
    "code": "/code?file=src/auth/service.py&start=25&end=33",
    "ask": "/ask?q=shipping+fee&why_not=src/cart/cart.py",
    "missing page": "/nowhere",
}
"""The path of each page by name; braces stand for what a project has (`places`)."""

HOSTILE_PAGES = {
    "code": "/code?file=src/hostile/1 %3Cscript x-hacked%3Ealert(1)%3C∕script%3E.py",
    "ask": "/ask?q=hostile+script&why_not=%3Cimg x-hacked src=x onerror=alert(2)%3E",
    "missing file": "/code?file=%3Cimg x-hacked src=x onerror=alert(2)%3E",
}
"""Pages of a project with hostile texts that show some."""


def places(root: Path) -> dict[str, str]:
    """Return the names in a project that paths of pages contain, quoted for a URL."""
    settings = load_settings(root)
    sessions = sorted(settings.state.joinpath("sessions").glob("*.jsonl"))
    plans = json.loads((settings.plans_dir / "cache/plans/index.json").read_text("utf-8"))
    entry = next(e for e in look(settings.agreements).entries if "login" in e.path.name)
    found = {"session": sessions[-1].stem, "plan": str(plans), "entry": entry.path.name}
    return {name: quote(value) for name, value in found.items()}
