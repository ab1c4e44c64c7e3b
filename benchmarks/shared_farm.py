"""Run what a shared index consists of: Milvus Lite, instances, and build farms that push."""

import contextlib
import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from code_intel.cli.main import main  # noqa: E402 - see sys.path above
from code_intel.foundation.durable import make_folder  # noqa: E402
from code_intel.shared.milvus import SharedIndex  # noqa: E402
from milvus_server import MilvusServer, free_port, milvus_server  # noqa: E402
from programs import git  # noqa: E402
from projects import BIN  # noqa: E402
from servers.shared.shared_processes import process  # noqa: E402

MARKED_FILES = 5
"""Files of a repository that each version changes; each defines `version_marker`."""
MARKER = "version_marker"
NO_LIMITS = 10_000_000
PUSH_S = 600


@dataclass
class Repository:
    """A repository of real source, of which each version changes some files.

    Attributes:
        name: Its name in the shared index.
        folder: Its working tree.
        pushed: The last version whose push has reported success.
        begun: The last version whose push has begun.
    """

    name: str
    folder: Path
    pushed: int = 0
    begun: int = 0

    def next_version(self) -> None:
        """Commit the next version."""
        self.begun += 1
        for number in range(MARKED_FILES):
            file = self.folder / f"marked{number}.py"
            text = f'"""Version."""\n\n\ndef {MARKER}(k={self.begun}):\n    return {self.begun}\n'
            file.write_text(text, encoding="utf-8")
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-qm", f"Version {self.begun}")


@dataclass
class Farm:
    """A running shared index.

    Attributes:
        folder: Where everything is.
        engine: Milvus Lite.
        ports: The ports of the instances.
        repositories: The repositories that are pushed.
    """

    folder: Path
    engine: MilvusServer
    ports: tuple[int, ...]
    repositories: list[Repository] = field(default_factory=list)
    _running: dict[int, ExitStack] = field(default_factory=dict)
    _processes: dict[int, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    @property
    def tokens(self) -> Path:
        """The token file of the instances."""
        return self.folder / "tokens.json"

    def token(self, *grants: str) -> tuple[str, str]:
        """Create a token; return it and its id."""
        words = [word for grant in grants for word in ("--grant", grant)]
        limit = ["--requests-per-minute", str(NO_LIMITS)]
        command = ["shared", "token", "create", "load", *words, *limit]
        made = json.loads(_output(*command, "--tokens", str(self.tokens), "--json"))
        return made["token"], made["id"]

    def revoke(self, token_id: str) -> None:
        """Revoke a token."""
        _output("shared", "token", "revoke", token_id, "--tokens", str(self.tokens))

    def start_instance(self, port: int) -> None:
        """Start an instance, and wait until it listens."""
        stack = ExitStack()
        served = stack.enter_context(
            process(
                self.folder / f"instance{self.ports.index(port)}",
                self.engine.address,
                self.tokens,
                port=port,
            )
        )
        self._running[port], self._processes[port] = stack, served.process

    def kill_instance(self, port: int) -> None:
        """End an instance at once."""
        self._processes[port].kill()
        self._processes[port].wait()
        self._running.pop(port).close()

    def close(self) -> None:
        """End all instances."""
        for stack in self._running.values():
            stack.close()

    def push(self, repository: Repository, token: str) -> "subprocess.Popen[bytes]":
        """Start to push the current version, through one of the instances."""
        port = random.choice(self.ports)
        env = {
            **os.environ,
            "CODE_INTEL_CACHE_DIR": str(self.folder / "cache"),
            "CODE_INTEL_EMBEDDING": "off",
            "CODE_INTEL_SHARED_URL": f"http://127.0.0.1:{port}",
            "CODE_INTEL_SHARED_TOKEN": token,
        }
        with (self.folder / "pushes.log").open("ab") as log:
            return subprocess.Popen(
                [str(BIN / "code-intel"), "push", "--words-only"],
                cwd=repository.folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def push_until_done(self, repository: Repository, token: str) -> int:
        """Push until it succeeds; return how many attempts failed."""
        for failed in range(20):
            if self.push(repository, token).wait(PUSH_S) == 0:
                repository.pushed = repository.begun
                return failed
        said = (self.folder / "pushes.log").read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"{repository.name} cannot be pushed: {said[-2000:]}")

    def chunks(self) -> int:
        """Return how many chunks all repositories have."""
        with SharedIndex.open(self.engine.address) as index:
            heads = index.heads(lambda _repository: True)
            found = [index.generation(head.generation) for head in heads]
        return sum(each.chunks for each in found if each)

    def is_ready(self, port: int) -> bool:
        """Return whether an instance and its engine answer."""
        try:
            return httpx2.get(f"http://127.0.0.1:{port}/readyz", timeout=10).status_code == 200
        except httpx2.HTTPError:
            return False

    def wait_until_ready(self, ports: Sequence[int]) -> None:
        """Wait until instances and their engine answer."""
        while not all(map(self.is_ready, ports)):
            pass


def farm(folder: Path, stack: ExitStack, *, repositories: int, files: int) -> Farm:
    """Start the engine and two instances, and make the repositories."""
    (folder / "cache").mkdir(parents=True)
    engine = stack.enter_context(milvus_server(folder / "milvus"))
    made = Farm(folder, engine, (free_port(), free_port()))
    made.token("read:none")
    stack.callback(made.close)
    sources = sorted((ROOT / "code_intel").rglob("*.py"))
    for number in range(repositories):
        own = [sources[(number * files + i) % len(sources)] for i in range(files)]
        made.repositories.append(_repository(folder / "repositories", f"team/r{number}", own))
    for port in made.ports:
        made.start_instance(port)
    made.wait_until_ready(made.ports)
    return made


def _repository(parent: Path, name: str, sources: Sequence[Path]) -> Repository:
    folder = parent / name
    for source in sources:
        target = folder / source.relative_to(ROOT / "code_intel")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    make_folder(folder / ".code-intel")  # with its .gitignore
    config = f'[shared]\nrepository = "{name}"\n'
    (folder / ".code-intel" / "config.toml").write_text(config, encoding="utf-8")
    git(folder, "init", "-q", "-b", "main")
    return Repository(name, folder)


def _output(*words: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(words)
    assert code == 0, out.getvalue()
    return out.getvalue()
