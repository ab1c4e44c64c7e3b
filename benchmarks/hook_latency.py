"""How much longer each hook takes than the start of a bare interpreter, with a gateway that runs.

    python benchmarks/hook_latency.py [--source FOLDER] [--rounds 40] [--words-only] [--no-gateway]

Copies a project, indexes it, starts `code-intel serve` as a client does, and runs `code-intel hook`
for each event, in turn with a bare interpreter. The table has the medians and 95th percentiles of
the difference, in milliseconds, and their limits.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
SHOP = HERE.parent / "tests" / "repos" / "shop"
CHANGED = "Stop after a change"
"""A source file changes before this event."""
LIMITS = {"UserPromptSubmit": (300, 300)}
OTHER_LIMITS = (60, 150)
START: list[dict[str, Any]] = [
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "benchmark", "version": "0"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]
WARM: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "search_smart", "arguments": {"query": "where is the stock reserved"}},
}


def events(project: Path, prompt: str, session: str) -> dict[str, Mapping[str, Any]]:
    """Return one event of each kind; the file is the first source file of the project."""
    file = source_file(project)
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines()[:60]
    base = {"session_id": session, "cwd": str(project), "permission_mode": "default"}
    read = {
        "type": "text",
        "file": {
            "filePath": str(file),
            "content": "\n".join(lines),
            "numLines": len(lines),
            "startLine": 1,
            "totalLines": len(text.splitlines()),
        },
    }
    edit = {"file_path": str(file), "old_string": lines[0], "new_string": lines[0] + " "}
    found = re.search(r"^\s*def (\w+)", text, re.MULTILINE)
    assert found is not None
    name = found[1]
    rows: dict[str, Mapping[str, Any]] = {
        "SessionStart": {"source": "startup"},
        "UserPromptSubmit": {"prompt": prompt},
        "PostToolUse Read": {
            "tool_name": "Read",
            "tool_input": {"file_path": str(file)},
            "tool_response": read,
        },
        "PreToolUse Grep": {"tool_name": "Grep", "tool_input": {"pattern": name}},
        "PreToolUse Bash": {"tool_name": "Bash", "tool_input": {"command": f"rg -n {name} ."}},
        "PreToolUse Edit": {"tool_name": "Edit", "tool_input": edit},
        "Stop": {"stop_hook_active": False},
        CHANGED: {"stop_hook_active": False},
        "SessionEnd": {"reason": "exit"},
    }
    return {
        label: base | {"hook_event_name": label.split()[0]} | dict(own)
        for label, own in rows.items()
    }


def source_file(project: Path) -> Path:
    """Return the first source file of the project."""
    return next(path for path in sorted(project.rglob("*.py")) if path.stat().st_size > 1000)


def put_into_git(project: Path) -> None:
    """Commit the project, so that Stop can tell what has changed."""
    who = ("-c", "user.name=Benchmark", "-c", "user.email=benchmark@example.invalid")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "The project")):
        subprocess.run(["git", "-C", str(project), *words], check=True)


@contextmanager
def gateway(project: Path, environ: Mapping[str, str]) -> Iterator[None]:
    """Run a gateway whose model is loaded and which answers hooks."""
    command = [str(BIN / "code-intel"), "serve"]
    with subprocess.Popen(
        command,
        cwd=project,
        env=dict(environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in (*START, WARM, WARM | {"id": 3}):
            server.stdin.write(json.dumps(message).encode() + b"\n")
            server.stdin.flush()
            if "id" in message:
                server.stdout.readline()
        yield
        server.stdin.close()
        server.wait(timeout=30)


def seconds(command: list[str], event: bytes, project: Path, environ: Mapping[str, str]) -> float:
    """Run a command and return how long it took."""
    started = time.perf_counter()
    done = subprocess.run(
        command, input=event, cwd=project, env=dict(environ), capture_output=True, check=False
    )
    assert done.returncode in {0, 2}, done.stderr
    return time.perf_counter() - started


def measure(
    project: Path, environ: Mapping[str, str], prompt: str, rounds: int
) -> dict[str, list[float]]:
    """Return, for each event, the differences to a bare interpreter in milliseconds."""
    bare, hook = [sys.executable, "-c", "pass"], [str(BIN / "code-intel"), "hook", "claude-code"]
    found: dict[str, list[float]] = {}
    for turn in range(rounds + 1):
        for label, event in events(project, prompt, f"session-{turn // 10}").items():
            if label == CHANGED:
                with source_file(project).open("a", encoding="utf-8") as file:
                    file.write("\n")
            without = seconds(bare, b"", project, environ)
            data = json.dumps(event).encode()
            difference = seconds(hook, data, project, environ) - without
            if turn:  # the first round warms the disk cache
                found.setdefault(label, []).append(1000 * difference)
    return found


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, default=SHOP)
    parser.add_argument("--prompt", default="Fix reserve: an order of zero items must be refused.")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--words-only", action="store_true", help="index without vectors")
    parser.add_argument("--no-gateway", action="store_true", help="let each hook work by itself")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        project = home / "project"
        shutil.copytree(
            args.source, project, ignore=shutil.ignore_patterns(".venv", ".git", "*.db*")
        )
        put_into_git(project)
        environ = dict(os.environ) | {
            "CODE_INTEL_CACHE_DIR": str(home / "cache"),
            "CODE_INTEL_STATE_DIR": str(home / "state"),
        }
        sync = ["sync", str(project), *(["--words-only"] if args.words_only else [])]
        for command in (["init", str(project)], sync):
            subprocess.run(
                [str(BIN / "code-intel"), *command], env=environ, check=True, capture_output=True
            )
        if args.no_gateway:
            found = measure(project, environ, args.prompt, args.rounds)
        else:
            with gateway(project, environ):
                found = measure(project, environ, args.prompt, args.rounds)
    print(f"{'event':<22}{'p50':>8}{'limit':>8}{'p95':>8}{'limit':>8}   ms over a bare interpreter")
    for label, values in found.items():
        half, high = LIMITS.get(label, OTHER_LIMITS)
        top = statistics.quantiles(values, n=20)[-1]
        print(f"{label:<22}{statistics.median(values):>8.0f}{half:>8}{top:>8.0f}{high:>8}")


if __name__ == "__main__":
    main()
