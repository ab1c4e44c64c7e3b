"""Visit pages in Chromium as people see them, and note what must not happen there."""

import json
import re
from dataclasses import dataclass, field
from importlib import resources
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request

from browser.served_page import PATIENCE_S, ServedPage

FLAGS = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
HEIGHT = 800
REPORT = """addEventListener("securitypolicyviolation", event => console.error(
    `CSP: ${event.effectiveDirective} blocked ${event.blockedURI} ${event.sample}`));"""
SERIOUS = {"serious", "critical"}
AXE = resources.files("axe_playwright_python").joinpath("axe.min.js")
FIND = """async () => (await axe.run(document, {resultTypes: ["violations"], preload: false}))
    .violations.map(({id, impact, help, nodes}) =>
        ({id, impact, help, nodes: nodes.map(node => node.html)}))"""


@dataclass(frozen=True)
class Look:
    """How a person sees a page: language and colours of the browser, width, and scripts."""

    language: str = "en-GB"
    dark: bool = False
    width: int = 1280
    scripts: bool = True


ENGLISH = Look()
WITHOUT_SCRIPTS = Look(scripts=False)
LOOKS = {
    "English, light and wide": ENGLISH,
    "Japanese, dark and wide": Look(language="ja-JP", dark=True),
    "Japanese, light and narrow": Look(language="ja-JP", width=360),
    "English, dark and narrow": Look(dark=True, width=360),
}
"""Every pair of language, colours and width."""


@dataclass
class Watch:
    """What went wrong on the pages of a test: errors, blocked content, foreign requests, dialogs.

    `origins` are the servers of the test. `allowed` are patterns of problems that it causes on
    purpose.
    """

    origins: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)

    def allow(self, pattern: str) -> None:
        """Expect a problem that matches."""
        self.allowed.append(pattern)

    def found(self) -> list[str]:
        """Return the problems that the test does not expect."""
        return [
            problem
            for problem in self.problems
            if not any(re.search(pattern, problem) for pattern in self.allowed)
        ]

    def begin(self, page: Page) -> None:
        """Note what happens on a page."""
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.problems.append(f"script: {error}"))
        page.on("request", self._request)
        page.on("dialog", self._dialog)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.problems.append(f"console: {message.text} ({message.location['url']})")

    def _request(self, request: Request) -> None:
        if not request.url.startswith(tuple(f"{origin}/" for origin in self.origins)):
            self.problems.append(f"request: {request.url}")

    def _dialog(self, dialog: Dialog) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@dataclass
class Visitor:
    """Opens pages of one server, each in its own context with the cookie of the first visit."""

    browser: Browser
    served: ServedPage
    watch: Watch
    contexts: list[BrowserContext] = field(default_factory=list)

    def open(self, path: str = "/", look: Look = ENGLISH) -> Page:
        """Open a page with a look; the first visit of a server goes through its link."""
        context = self.browser.new_context(
            locale=look.language,
            color_scheme="dark" if look.dark else "light",
            viewport={"width": look.width, "height": HEIGHT},
            java_script_enabled=look.scripts,
            reduced_motion="reduce",
            timezone_id="UTC",
        )
        context.set_default_timeout(1000 * PATIENCE_S)
        self.contexts.append(context)
        if look.scripts:
            context.add_init_script(REPORT)
        if self.served.cookies:
            context.add_cookies(self.served.cookies)
        else:
            context.request.get(self.served.link)
            self.served.cookies += context.cookies()
        page = context.new_page()
        self.watch.begin(page)
        page.goto(f"{self.served.home}{path}")
        return page

    def close(self) -> None:
        """Close everything that was opened."""
        for context in self.contexts:
            context.close()


def origin_of(link: str) -> str:
    """Return scheme, host and port of a link."""
    parts = urlsplit(link)
    return f"{parts.scheme}://{parts.netloc}"


def axe(page: Page) -> list[str]:
    """Return the serious and critical faults that axe-core finds, with the elements."""
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate(FIND)
    return [
        f"{fault['id']} ({fault['impact']}): {fault['help']}: {json.dumps(fault['nodes'][:3])}"
        for fault in found
        if fault["impact"] in SERIOUS
    ]
