"""Serve a shared index to a team, whose requests are recorded on their way."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import Response

from code_intel.cli.main import main
from code_intel.config import Settings, load_settings
from code_intel.shared.milvus import SharedIndex
from code_intel.shared.wire import inflated
from lying_servers import lying_server
from programs import git
from projects import BIN
from servers.shared.instances import Instance, instance

MANY = {"requests_per_minute": 1_000_000, "burst": 1_000_000}


@dataclass
class Record:
    """The requests that clients sent, in order: the path and the body, without compression."""

    requests: list[tuple[str, bytes]] = field(default_factory=list)
    before: Callable[[str], None] = lambda path: None  # noqa: ARG005 - nothing by default
    """Called with the path of a request, before the server gets it."""
    after: Callable[[str, bytes], bytes] = lambda path, body: body  # noqa: ARG005
    """Returns what the client gets instead of the body of an answer."""

    def bodies(self, path: str) -> list[Any]:
        """Return what was sent to one path."""
        return [json.loads(body) for sent, body in self.requests if sent.endswith(path)]

    def pushed_files(self) -> list[str]:
        """Return the paths of the files that were sent."""
        return [file[0] for body in self.bodies("/push/files") for file in body[2]]

    def everything(self) -> bytes:
        return b"\n".join(body for _, body in self.requests)


@contextmanager
def recorded(url: str, record: Record) -> Iterator[str]:
    """Pass requests on to a server, and record them; yield the address."""

    async def pass_on(request: Request) -> Response:
        body = await request.body()
        record.requests.append((request.url.path, inflated(body)))
        record.before(request.url.path)
        headers = {
            name: value
            for name, value in request.headers.items()
            if name not in {"host", "content-length"}
        }
        async with httpx2.AsyncClient(timeout=60) as client:
            address = f"{url}{request.url.path}"
            found = await client.request(request.method, address, content=body, headers=headers)
        kept = {"content-type", "retry-after"}
        answered = {name: value for name, value in found.headers.items() if name in kept}
        content = record.after(request.url.path, found.content)
        return Response(content, found.status_code, answered)

    with lying_server(pass_on) as address:
        yield address


@dataclass
class Team:
    """A team with a shared index.

    Attributes:
        running: The instance of the server.
        url: Its address, where requests are recorded.
        record: The requests.
        folder: The folder of the team's checkouts.
        patch: Changes the environment of the test.
    """

    running: Instance
    url: str
    record: Record
    folder: Path
    patch: pytest.MonkeyPatch

    def use(self, *grants: str, name: str = "developer", embedding: str = "off") -> None:
        """Let the following commands be of a member with these grants and an own cache."""
        self.patch.setenv("CODE_INTEL_SHARED_TOKEN", self.running.token(*grants))
        self.patch.setenv("CODE_INTEL_SHARED_URL", self.url)
        self.patch.setenv("CODE_INTEL_CACHE_DIR", str(self.folder / name / "cache"))
        self.patch.setenv("CODE_INTEL_STATE_DIR", str(self.folder / name / "state"))
        self.patch.setenv("CODE_INTEL_EMBEDDING", embedding)
        self.patch.setenv("NO_PROXY", "127.0.0.1")

    def repository(self, name: str, files: Mapping[str, str]) -> Path:
        """Create a repository with one commit, and a remote of that name."""
        root = self.folder / name
        write(root, files)
        git(root, "init", "-qb", "main")
        git(root, "remote", "add", "origin", f"git@git.example.com:{name}.git")
        commit(root)
        return root

    def clone(self, root: Path, name: str, *options: str) -> Path:
        """Clone a repository; the remote keeps its name."""
        to = self.folder / "clones" / name
        to.parent.mkdir(exist_ok=True)
        git(self.folder, "clone", "-q", *options, f"file://{root}", str(to))
        git(to, "remote", "set-url", "origin", git(root, "remote", "get-url", "origin").strip())
        return to


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def commit(root: Path, files: Mapping[str, str] | None = None) -> str:
    """Commit everything; return the object name."""
    write(root, files or {})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Change")
    return git(root, "rev-parse", "HEAD").strip()


def settings_of(root: Path) -> Settings:
    return load_settings(root, os.environ)


def run(capsys: pytest.CaptureFixture[str], *words: str, code: int | None = 0) -> dict[str, Any]:
    """Run a command in this process; return its JSON."""
    capsys.readouterr()
    ended = main([*words, "--json"])
    out = capsys.readouterr().out
    assert code is None or ended == code, out
    found: dict[str, Any] = json.loads(out)
    return found


def start(*words: str) -> "subprocess.Popen[str]":
    """Start a command in a process of its own."""
    return subprocess.Popen(
        [str(BIN / "code-intel"), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


@contextmanager
def team(folder: Path, index: SharedIndex, patch: pytest.MonkeyPatch) -> Iterator[Team]:
    """Serve an index to a team."""
    record = Record()
    with (
        instance(folder / "server", index, limits=MANY) as running,
        recorded(f"http://127.0.0.1:{running.port}", record) as url,
    ):
        yield Team(running, url, record, folder, patch)
