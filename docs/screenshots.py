"""Take the screenshots of docs/ui.md: `python docs/screenshots.py`, with Chromium installed.

The pages are those of the demo project of the tests, which is built for it. The times of its
sessions differ in each run, so take new ones only when a page has changed.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from playwright.sync_api import Browser, sync_playwright  # noqa: E402 - the path is set above

from browser.pages import places  # noqa: E402
from browser.served_page import ServedPage, serving_page  # noqa: E402
from browser.visits import FLAGS  # noqa: E402
from demo_project import built, environment  # noqa: E402
from projects import BIN  # noqa: E402

IMAGES = ROOT / "docs" / "images"
WIDTH, MAX_HEIGHT = 1100, 1400
SHOTS = {
    "overview": ("/", "light"),
    "map": ("/map", "light"),
    "entry": ("/map/entry?file={entry}", "light"),
    "change": ("/map/change?change=confirm&file={changed}", "light"),
    "ask": ("/ask?q=shopping+cart+total&why_not=src/auth/service.py", "light"),
    "session": ("/sessions/{session}", "light"),
    "plan": ("/plans/{plan}", "dark"),
    "command": ("/commands/show?c1=climpt-git&c2=group-commit&c3=unstaged-changes", "light"),
    "quality": ("/quality", "dark"),
}
"""The pages of the images: the path, with names of `browser.pages.places`, and the colours."""


def main() -> None:
    """Build the demo project, serve it, and write one image for each page."""
    program = subprocess.run([ROOT / ".ci" / "browser"], capture_output=True, check=True, text=True)
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("STATE", "CACHE"):
            os.environ[f"CODE_INTEL_{name}_DIR"] = f"{scratch}/{name.lower()}"
        shop = built(Path(scratch) / "shop")
        model = {"CODE_INTEL_EMBEDDING": "auto"}
        sync = [str(BIN / "code-intel"), "sync"]
        subprocess.run(sync, cwd=shop, env={**environment(shop), **model}, check=True)
        with sync_playwright() as playwright, serving_page(shop, env=model) as served:
            path = program.stdout.strip()
            browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
            take(browser, served)
            browser.close()


def take(browser: Browser, served: ServedPage) -> None:
    """Write the images."""
    context = browser.new_context(
        locale="en-US", viewport={"width": WIDTH, "height": 800}, timezone_id="UTC"
    )
    page = context.new_page()
    page.goto(served.link)
    page.wait_for_url("**/")
    names = places(served.root)
    for name, (path, colours) in SHOTS.items():
        page.emulate_media(color_scheme="dark" if colours == "dark" else "light")
        page.goto(f"{served.home}{path.format_map(names)}")
        if name == "overview":
            page.locator("#findings #warnings :is(ul, .good)").wait_for()
        # The footer names a folder of this machine.
        height = min(page.evaluate('document.querySelector("footer").offsetTop'), MAX_HEIGHT)
        page.screenshot(
            path=IMAGES / f"{name}.png",
            full_page=True,
            clip={"x": 0, "y": 0, "width": WIDTH, "height": height},
        )
        print(IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
