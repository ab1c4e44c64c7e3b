"""Call the page of a project without a browser, through all its checks."""

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from httpx2 import Response
from starlette.testclient import TestClient

from code_intel.config import load_settings
from code_intel.servers.http.address import listen
from code_intel.servers.http.guard import Policy
from code_intel.ui.access import OPEN_PATH, Access
from code_intel.ui.application import build_app
from code_intel.ui.project import OpenProject

_TOKEN = re.compile(r"token=([\w-]+)")
_TAGS = re.compile(r"<[^>]*>")


class PlainAddresses(TestClient):
    """A client that takes the random path off the addresses in its answers."""

    home = ""

    def request(self, *args: Any, **kwargs: Any) -> Response:  # type: ignore[explicit-override]
        """Send a request; see `TestClient`."""
        answer = super().request(*args, **kwargs)
        path = self.home.encode()
        answer._content = answer.content.replace(b'"' + path + b"/", b'"/')  # noqa: SLF001
        if "location" in answer.headers:
            answer.headers["location"] = answer.headers["location"].removeprefix(self.home)
        return answer


class PageClient:
    """A browser without JavaScript that has opened the page.

    Attributes:
        project: The project of the page.
        access: What the page lets in.
        client: Sends requests, and takes the random path off the addresses in the answers.
    """

    def __init__(self, project: OpenProject, access: Access, client: PlainAddresses) -> None:
        self.project = project
        self.access = access
        self.client = client

    @property
    def raw(self) -> TestClient:
        """The same client, whose answers are as the server sent them."""
        self.client.home = ""
        return self.client

    def get(self, path: str, status: int = 200) -> str:
        """Return the HTML of a page, which must have the status."""
        return html_of(self.client.get(path), status)

    def text(self, path: str, status: int = 200) -> str:
        """Return the text of a page as a person reads it."""
        return text_of(self.get(path, status))

    def post(self, path: str, *, follow: bool = True, **fields: str) -> Response:
        """Send a form with the CSRF token, and follow its redirect."""
        data = {"csrf": self.access.csrf, **fields}
        return self.client.post(path, data=data, follow_redirects=follow)


def html_of(answer: Response, status: int = 200) -> str:
    """Return the HTML of an answer, which must have the status."""
    assert answer.status_code == status, text_of(answer.text)
    return str(answer.text)


def text_of(page: str) -> str:
    """Return the text of HTML, with its white space as single spaces."""
    return " ".join(html.unescape(_TAGS.sub(" ", page.replace("<wbr>", ""))).split())


@contextmanager
def opened_page(
    root: Path, *, readonly: bool = False, language: str = "en"
) -> Iterator[PageClient]:
    """Serve the page of a project in this process, opened by its link."""
    with closed_page(root, readonly=readonly, language=language) as page:
        token = _TOKEN.search(page.access.link)
        assert token
        page.client.get(f"{OPEN_PATH}?token={token[1]}")
        yield page


@contextmanager
def closed_page(
    root: Path, *, readonly: bool = False, language: str = "en"
) -> Iterator[PageClient]:
    """Serve the page of a project in this process, not opened yet."""
    address = listen("127.0.0.1", 0)
    with address.socket:
        project = OpenProject(load_settings(root), readonly)
        access = Access(address.port, readonly=readonly)
        app = build_app(project, access, Policy(address))
        headers = {"accept-language": language}
        base = f"http://127.0.0.1:{address.port}{access.path}"
        client = PlainAddresses(app, base, headers=headers)
        client.home = access.path
        try:
            yield PageClient(project, access, client)
        finally:
            project.close()
