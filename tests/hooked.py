"""A project's context for the rules of hooks, without a server."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from code_intel.tools.context.corpus_service import open_project
from code_intel.tools.context.gateway import GatewayContext
from code_intel.tools.context.searchers import in_process
from code_intel.tools.hooks.events import HookEvent, Kind
from code_intel.tools.progress import ignore_progress
from served import settings_of


@contextmanager
def hook_context(root: Path, embedding: str = "off") -> Iterator[GatewayContext]:
    """Open a project as the gateway does for an event of a hook."""
    settings = replace(settings_of(root, embedding), state_dir=root.parent / "state")
    maps, forest = open_project(settings, readonly=True)
    context = GatewayContext(
        settings, in_process(maps, forest), maps.index, forest.index, maps.embedder
    )
    yield context.for_call(None, ignore_progress)
    maps.index.close()
    forest.index.close()


def prompt_event(text: str, session: str = "window") -> HookEvent:
    """Return the event of a prompt."""
    return HookEvent(Kind.PROMPT, session, text=text, client="claude-code")
