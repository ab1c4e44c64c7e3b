"""Send a hook event to the gateway, and print its answer.

A client runs this at each call of a tool. It imports as little as possible until no gateway
answers: `pathlib`, `typing` and `argparse` would double its time (benchmarks/hook_latency.py).
"""

import os
import sys

from code_intel.foundation.gateway_socket import (
    MAX_EVENT_BYTES,
    HookOutput,
    HookRequest,
    NoGatewayError,
    ask_gateway,
    find_project,
)

DEFAULT_CLIENT = "claude-code"
CLIENTS = (DEFAULT_CLIENT, "codex", "cursor", "gemini")
PROJECT_VARIABLES = (
    "CODE_INTEL_ROOT",
    "CLAUDE_PROJECT_DIR",
    "CURSOR_PROJECT_DIR",
    "GEMINI_PROJECT_DIR",
)
"""The variables by which a client names the project; otherwise it is around the current folder."""
ENFORCE = "--enforce"


def main(argv: list[str]) -> int | None:
    """Answer the event if the arguments are those that the set-up writes; None for all others."""
    names = [each for each in argv if each != ENFORCE] or [DEFAULT_CLIENT]
    if len(names) != 1 or names[0] not in CLIENTS:
        return None
    return answer(names[0], enforces=ENFORCE in argv)


def answer(client: str, *, enforces: bool) -> int:
    """Answer the event on stdin, and return the exit code. A project without set-up is left alone.

    The client must not notice a failure, so nothing is raised.
    """
    request = HookRequest(client, enforces, sys.stdin.buffer.read(MAX_EVENT_BYTES + 1))
    environ = os.environ  # noqa: TID251 - the settings cost more than the whole hook
    if client == DEFAULT_CLIENT and "CURSOR_VERSION" in environ:
        return 0  # Cursor may run the hooks of Claude Code beside its own
    start = next(filter(None, map(environ.get, PROJECT_VARIABLES)), ".")
    root = find_project(start)
    if root is None:
        return 0
    try:
        output = _ask(root, request)
    except Exception as error:  # noqa: BLE001 - the boundary to the client
        output = _fail(root, request, error)
    sys.stdout.buffer.write(output.stdout.encode())
    sys.stderr.buffer.write(output.stderr.encode())
    return int(output.exit_code)


def _ask(root: str, request: HookRequest) -> HookOutput:
    """Return the answer of the gateway, or of this process if no gateway listens."""
    try:
        return ask_gateway(root, request)
    except NoGatewayError:
        from code_intel.cli.hook.own_process import answer_here

        return answer_here(root, request)


def _fail(root: str, request: HookRequest, error: Exception) -> HookOutput:
    """Log a failure, and return the answer: in enforce mode, a write is refused."""
    from pathlib import Path

    from code_intel.foundation.state_folder import STATE_FOLDER
    from code_intel.tools.hooks.answering import failure_output
    from code_intel.tools.hooks.failures import log_failure

    log_failure(Path(root, STATE_FOLDER), request.client, error)
    return failure_output(request, error)
