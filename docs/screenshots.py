"""Take the screenshots of docs/ui.md: `python docs/screenshots.py`, with Chromium installed.

The pages are those of the demo project of the tests, which is built for it.
"""

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from playwright.sync_api import sync_playwright  # noqa: E402 - the path is set above

IMAGES = ROOT / "docs" / "images"
SIZE = {"width": 1280, "height": 900}
SHOTS = {
    "overview": ("/", "light"),
    "map": ("/map", "light"),
    "entry": ("/map/entry?file={entry}", "light"),
    "change": ("/map/change?change=rename&file={entry}&to=ShoppingCart&new_term=basket", "light"),
    "ask": ("/ask?q=shopping+cart+total&why_not=src/auth/service.py", "light"),
    "session": ("/sessions/{session}", "light"),
    "plan": ("/plans/{plan}", "dark"),
    "quality": ("/quality", "light"),
}
"""The pages: the path, whose names in braces are in `browser.pages.places`, and the colours."""


def main() -> None:
    """Build the demo project, serve it, and write one image per page."""
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("STATE", "CACHE"):
            os.environ[f"CODE_INTEL_{name}_DIR"] = f"{scratch}/{name.lower()}"
        from browser.pages import places
        from browser.served_page import serving_page
        from browser.visits import FLAGS
        from demo_project import make_demo

        project = make_demo(Path(scratch) / "shop")
        with serving_page(project) as served, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
            for colours in ("light", "dark"):
                page = browser.new_page(viewport=SIZE, color_scheme=colours, locale="en-US")
