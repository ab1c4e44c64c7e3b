"""Define attempts: a story, a script, and the result that must not be reached."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from code_intel.session.state import Demands
from hostile.agent import Agent

CATEGORIES = (
    "padding",
    "invented files and symbols",
    "one-character quotes",
    "replayed evidence",
    "another session's id",
    "basename twins",
    "symlink swaps",
    "self-reported success",
    "parallel calls",
    "restarts in mid-session",
    "a truncated, edited or replaced journal",
    "searching without looking",
    "the wrong intent or phase",
    "what files say",
    "quotes without understanding",
)


class Ready(NamedTuple):
    """READY, in the session of this handle."""

    handle: str

    async def won(self, agent: Agent) -> bool:
        return await agent.phase(self.handle) == "READY"


class Write(NamedTuple):
    """Permission to write to any of these files."""

    handle: str
    files: tuple[str, ...]

    async def won(self, agent: Agent) -> bool:
        return any([await agent.may_write(self.handle, file) for file in self.files])


class Agreed(NamedTuple):
    """Any agreement that leads other sessions to READY."""

    async def won(self, agent: Agent) -> bool:
        listed = await agent("list_agreements")
        return any(row["status"] == "valid" for row in listed.get("agreements", ()))


Prize = Ready | Write | Agreed
Script = Callable[[Agent], Awaitable[Prize]]


class Attempt(NamedTuple):
    """One scripted attempt.

    Attributes:
        category: One of `CATEGORIES`.
        story: What it tries; it names the attempt.
        refusal: A reason that some answer must give for giving less than requested.
        script: What it does.
        embedding: The engine of its server.
        demands: The rules of its gate.
    """

    category: str
    story: str
    refusal: str
    script: Script
    embedding: str
    demands: Demands = "evidence"


def attempts(
    category: str,
    scripts: Mapping[str, tuple[str, Script]],
    embedding: str = "off",
    demands: Demands = "evidence",
) -> tuple[Attempt, ...]:
    """Return the attempts of one category; `scripts` has refusal and script by story."""
    return tuple(
        Attempt(category, story, refusal, script, embedding, demands)
        for story, (refusal, script) in scripts.items()
    )
