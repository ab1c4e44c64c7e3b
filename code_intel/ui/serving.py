"""Serve the page on the loopback until a signal."""

import sys
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import NoReturn

from code_intel.config import Settings
from code_intel.errors import CodeIntelError
from code_intel.foundation import durable
from code_intel.servers.http.address import LOOPBACK, Address, listen
from code_intel.servers.http.guard import Policy
from code_intel.servers.http.limits import Limits
from code_intel.servers.http.web import StoppableServer, serve_until_signal, web_config
from code_intel.ui.access import Access
from code_intel.ui.application import build_app
from code_intel.ui.project import OpenProject

MAX_BODY_BYTES = 1 << 20
"""Limit of a form; the largest has the text of one file of the map."""
MAX_CONNECTIONS = 64


def open_address(port: int) -> Address:
    """Return the listening socket of the page.

    Raises:
        UsageError: The port is invalid or taken.
    """
    return listen(LOOPBACK, port, field="port")


def serve_ui(
    settings: Settings,
    address: Address,
    *,
    readonly: bool,
    opens: bool,
    ready: Callable[[str], None],
) -> NoReturn:
    """Serve the page of a project; never returns.

    Args:
        settings: The project.
        address: The socket.
        readonly: Whether to refuse all writes.
        opens: Whether to open the page in the person's browser.
        ready: Called with the link when the page can be opened.
    """
    access = Access(address.port, readonly=readonly, say=_say)
    project = OpenProject(settings, readonly)
    policy = Policy(address, limits=Limits(body_bytes=MAX_BODY_BYTES, connections=MAX_CONNECTIONS))
    web = StoppableServer(web_config(build_app(project, access, policy), policy.limits))
    _say(f"open {access.link}")
    ready(access.link)
    threading.Thread(target=_read_ahead, args=(project,), name="read ahead", daemon=True).start()
    if opens:
        _open_browser(settings, access)

    async def serve() -> None:
        with address.socket:
            await web.serve(sockets=[address.socket])

    def close() -> None:
        project.close()
        durable.remove(_private_page(settings, access))

    serve_until_signal(web, serve, close)


def _say(line: str) -> None:
    print(f"code-intel: {line}", file=sys.stderr, flush=True)  # noqa: T201 - its only output


def _read_ahead(project: OpenProject) -> None:
    """Read the map before the first page needs it: 10,000 agreements take seconds."""
    with suppress(CodeIntelError):  # a page says what is wrong
        project.map_entries()


def _open_browser(settings: Settings, access: Access) -> None:
    """Open the link in the person's browser, if there is one with windows.

    Other users can see the arguments of a browser's process, so it gets a private file that leads
    to the link.
    """
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return
    if isinstance(browser, webbrowser.GenericBrowser) and not isinstance(
        browser, webbrowser.BackgroundBrowser
    ):
        return  # it would take over the terminal
    page = _private_page(settings, access)
    durable.make_folder(page.parent, 0o700)
    target = escape(access.link, quote=True)
    durable.remove(page)
    durable.create(page, f'<meta http-equiv="refresh" content="0;url={target}">'.encode(), 0o600)
    browser.open(page.as_uri())


def _private_page(settings: Settings, access: Access) -> Path:
    return settings.state_dir / "ui" / f"open-{access.port}.html"
