"""How long Claude Code takes until its first request, and whether our tools are in it.

    python benchmarks/client_start.py [--rounds 10]

Runs the real Claude Code in print mode against a local stand-in for its API, in a small project
that `code-intel init` has set up, and in the same project without our servers and hooks, in turn.
The table has the median seconds until the first request of the conversation, and how many of these
requests name our tools. A request that names none is answered by the hook of the prompt meanwhile.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent / "tests"
BIN = Path(sys.executable).parent
PROMPT = "The shipping fee of an order abroad is wrong when the total is high."
OPENED = "code-intel opened a session for this prompt"
sys.path.insert(0, str(TESTS))

from e2e.messages_api import MessagesApi, messages_api  # noqa: E402 - see sys.path above


class TimedApi(MessagesApi):
    """A stand-in that notes when the first request of the conversation came in."""

    first = 0.0

    # typing.override needs 3.12.
    def answer(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:  # type: ignore[explicit-override]
        """Return the model's next turn."""
        before = len(self.requests)
        content = super().answer(request)
        if not before and self.requests:
            self.first = time.perf_counter()
        return content


def ask(program: str, project: Path, environ: Mapping[str, str]) -> tuple[float, str]:
    """Return the seconds until the first request, and that request as text."""
    with messages_api(TimedApi()) as api:
        started = time.perf_counter()
        subprocess.run(
            [program, "-p", PROMPT, "--allowedTools", "Read"],
            cwd=project,
            env={**environ, "ANTHROPIC_BASE_URL": api.url},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        assert isinstance(api, TimedApi)
        return api.first - started, json.dumps(api.requests[0])


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    installer = [str(HERE.parent / ".ci" / "client"), "claude-code"]
    program = subprocess.run(installer, stdout=subprocess.PIPE, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        environ = dict(os.environ) | {
            "HOME": folder,
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        projects = {"without code-intel": home / "bare", "with code-intel": home / "shop"}
        for project in projects.values():
            shutil.copytree(TESTS / "repos" / "shop", project)
            subprocess.run(["git", "init", "-q", project], check=True)
        for words in (["init"], ["sync"]):
            command = [str(BIN / "code-intel"), *words, str(projects["with code-intel"])]
            subprocess.run(command, env=environ, check=True, capture_output=True)
        found: dict[str, list[tuple[float, str]]] = {name: [] for name in projects}
        for turn in range(args.rounds + 1):
            for name, project in projects.items():
                result = ask(program.strip(), project, environ)
                if turn:  # the first round warms the disk cache
                    found[name].append(result)
    print(f"{'':<22}{'seconds':>8}{'tools':>8}{'context':>9}   of {args.rounds} first requests")
    for name, results in found.items():
        tools = sum("mcp__code-intel__start_session" in request for _, request in results)
        context = sum(OPENED in request for _, request in results)
        seconds = statistics.median(spent for spent, _ in results)
        print(f"{name:<22}{seconds:>8.2f}{tools:>8}{context:>9}")


if __name__ == "__main__":
    main()
