"""What is said when map or forest did not answer: which, why, since when, and what to do meanwhile.

The other half answers in its place. A map that was not heard has not missed: nothing opens in the
session, no phase moves, and READY is earned by understanding or verification alone (docs/decisions/0018).
"""

from collections.abc import Awaitable, Iterable
from dataclasses import asdict
from typing import Any, NamedTuple

from code_intel.errors import UpstreamError
from code_intel.records import Hit, SearchAnswer, UpstreamStatus
from code_intel.session.state import Session
from code_intel.tools.desk import Desk

MEANWHILE = (
    "Go on with find_definitions, find_references and search_text, which ask the project itself."
)


class Silent(NamedTuple):
    """A half that did not answer, and how it is doing now."""

    error: UpstreamError
    status: UpstreamStatus

    @property
    def hint(self) -> str:
        """What to do about it."""
        if self.status.where == "in process":
            return self.error.hint
        if self.status.state == "failed":
            table = f"[upstreams.{self.status.name}] in .code-intel/config.toml"
            return f"Correct {table} and start this server anew."
        again = self.status.retry_in
        when = f" in {again:g} s" if again else ""
        return f"It is tried again by itself{when}; `code-intel doctor` tests it."

    @property
    def data(self) -> dict[str, Any]:
        """One item of the field `unavailable`."""
        told = {**status_data(self.status), "error": self.error.message, "hint": self.hint}
        told.pop("said", None)
        return told | self.error.details

    @property
    def text(self) -> str:
        """The same as a sentence or two."""
        return f"No answer from {self.error.message.rstrip('.')} (since {self.status.since}). {self.hint}"


async def look(desk: Desk, session_id: str | None, tool: str) -> tuple[Session | None, str | None]:
    """Return the session as it is and its handle, if there is one and its phase allows the tool.

    The session is held again to note what came: nobody waits for a slow server with the lock.
    """
    async with desk.perhaps(session_id, tool) as held:
        return (held.session, held.handle) if held else (None, None)


async def heard(
    desk: Desk, half: int, work: Awaitable[SearchAnswer]
) -> tuple[SearchAnswer | None, tuple[Silent, ...]]:
    """Return the answer of a half (0: the map, 1: the forest), or what is to be said of its silence."""
    try:
        return await work, ()
    except UpstreamError as error:
        return None, (Silent(error, desk.searcher.states()[half]),)


def returned(hits: Iterable[Hit]) -> list[dict[str, Any]]:
    """Return hits as a session keeps them, best first: `document`, `symbol`, `score`, `status`."""
    return [
        {
            "document": hit.document,
            "symbol": hit.agreement.symbol if hit.agreement else hit.symbol,
            "score": None if hit.score is None else round(hit.score, 4),
            "status": hit.agreement.status if hit.agreement else "HYPOTHESIS",
        }
        for hit in hits
    ]


def neither(silent: tuple[Silent, ...]) -> UpstreamError:
    """Return the error for a question that nobody answered."""
    return UpstreamError(
        not_heard(silent),
        hint=f"{silent[0].hint} {MEANWHILE}",
        details={"unavailable": [one.data for one in silent]},
    )


def not_heard(silent: tuple[Silent, ...]) -> str:
    """Say who did not answer, in words of ours alone: the reasons may quote a stranger."""
    names = " and ".join(one.status.name for one in silent)
    return f"No answer from {names}; unavailable says why, and what to do."


def unavailable(silent: tuple[Silent, ...]) -> dict[str, Any]:
    """Return the field `unavailable`, where there is something to say."""
    return {"unavailable": [one.data for one in silent]} if silent else {}


def status_data(status: UpstreamStatus) -> dict[str, Any]:
    """Return a status on the wire; what is empty is left out."""
    data = asdict(status) | {"ignored": dict(status.ignored)}
    return {key: value for key, value in data.items() if value not in ("", None, {}, 0)}


def status_text(data: dict[str, Any]) -> str:
    """Return a status (of `status_data`) as one line."""
    parts = [f"{data['where']}, {data['state']} since {data['since']}"]
    if data.get("error"):
        last = "its last error: " if data["state"] == "ready" else ""
        parts.append(f"{last}{data['error']}")
    if data.get("said"):
        parts.append(f"in its own words “{data['said']}”")
    if data.get("retry_in"):
        parts.append(f"tried again in {data['retry_in']:g} s")
    if data.get("restarts"):
        parts.append(f"restarted {data['restarts']} x")
    parts += [f"{count} x {kind} ignored" for kind, count in data.get("ignored", {}).items()]
    return "; ".join(parts)
