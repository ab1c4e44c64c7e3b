"""Choose what the hooks of each client do: by option, by a question, or by default."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from code_intel.cli.setup import client_files, hook_files
from code_intel.cli.setup.clients import DEFAULT_CLIENT, Client
from code_intel.cli.setup.hook_files import HookMode

QUESTION = """\
Hooks make {names} ask the map for each prompt, and count what the agent reads itself.
  advise   adds context and comments; blocks nothing
  enforce  also denies writes to code that the session has not read
  off      no hooks
Hooks [advise]: """
DEFAULT_MODE: HookMode = "advise"


def modes(
    root: Path, chosen: Sequence[Client], given: HookMode | None, *, asks: bool = False
) -> dict[str, HookMode]:
    """Return the mode of each client whose hooks are to be written.

    A client that has our hooks keeps their mode. A client that was set up without them stays
    without them, so that the user is asked once.

    Args:
        root: The project.
        chosen: The clients.
        given: The mode that the user gave.
        asks: Whether the user can be asked; else only Claude Code gets hooks by default.
    """
    able = [client for client in chosen if client.hooks]
    if given:
        return {client.name: given for client in able}
    present = {client.name: hook_files.mode_of(client, root) for client in able}
    found = {name: mode for name, mode in present.items() if mode}
    new = [
        client
        for client in able
        if client.name not in found and not client_files.is_set_up(client, root)
    ]
    if new and asks:
        answer = _ask(new)
        return found | {client.name: answer for client in new}
    return found | {client.name: DEFAULT_MODE for client in new if client.name == DEFAULT_CLIENT}


def _ask(new: Sequence[Client]) -> HookMode:
    """Ask on stderr until the answer is a mode; an empty one means the default."""
    names = ", ".join(client.name for client in new)
    while True:
        sys.stderr.write(QUESTION.format(names=names))
        sys.stderr.flush()
        answer = sys.stdin.readline().strip().casefold()
        if not answer:
            return DEFAULT_MODE
        for mode in get_args(HookMode):
            if answer == mode:
                return mode  # type: ignore[no-any-return]
