"""`code-intel ui` serves a page as a process of its own."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from code_intel.cli.main import main
from code_intel.servers.http.address import listen
from projects import BIN

LINK = re.compile(r"code-intel: open (http://127\.0\.0\.1:\d+/[\w-]+/open\?token=[\w-]+)\n")


@contextmanager
def served(root: Path, *options: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Run the command; yield its process and link."""
    command = [str(BIN / "code-intel"), "ui", "--no-open", "--project", str(root), *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        try:
            assert process.stderr
            found = LINK.fullmatch(process.stderr.readline())
            assert found
            yield process, found[1]
        finally:
            process.kill()


def test_the_printed_link_opens_the_page(shop: Path) -> None:
    with served(shop) as (_, link), httpx2.Client() as browser:
        assert "The page is open in this browser." in browser.get(link).text
        assert "<h1>Overview</h1>" in browser.get(httpx2.URL(link).join("./")).text


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it_even_while_a_browser_listens(
    shop: Path, number: signal.Signals, code: int
) -> None:
    with served(shop) as (process, link), httpx2.Client() as browser:
        browser.get(link)
        with browser.stream("GET", httpx2.URL(link).join("events")) as events:
            assert next(events.iter_lines()) == "event: freshness"
            process.send_signal(number)
            assert process.wait(timeout=30) == code


def test_events_say_how_far_an_update_is(shop: Path) -> None:
    with served(shop) as (_, link), httpx2.Client(timeout=60) as browser:
        browser.get(link)
        here = httpx2.URL(link).join("./")
        csrf = re.search(r'name="csrf" value="(\w+)"', browser.get(here).text)
        assert csrf
        with browser.stream("GET", here.join("events")) as events:
            lines = events.iter_lines()
            assert next(lines) == "event: freshness"
            (shop / "new.py").write_text("class Newcomer:\n    pass\n", encoding="utf-8")
            assert browser.post(here.join("update"), data={"csrf": csrf[1]}).status_code == 303
            assert any("20" in line for line in lines)  # the shop has 19 files


def test_json_prints_the_link_on_stdout(shop: Path) -> None:
    with served(shop, "--json") as (process, link):
        assert process.stdout
        assert json.loads(process.stdout.readline()) == {"url": link}


def test_it_names_the_option_of_a_port_that_is_taken(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def error(port: int) -> dict[str, str]:
        line = ["ui", "--no-open", "--port", str(port), "--json", "--project", str(shop)]
        assert main(line) == 2
        found: dict[str, str] = json.loads(capsys.readouterr().out)
        return found

    taken = listen("127.0.0.1", 0)
    with taken.socket:
        found = error(taken.port)
        assert found["field"] == "port"
        assert "--port 0" in found["hint"]
    assert error(65536)["message"] == "--port 65536 is not a port. Use 0 to 65535."
