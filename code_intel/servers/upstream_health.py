"""How an upstream is doing, and when it is tried again.

    idle ──first question──▶ starting ──▶ ready ──lost──▶ backoff ──▶ starting …
                                 └────────of no use──────▶ failed ───▶ starting …

Distances between attempts double from half a second to half a minute and never end. A question cuts them
short, once; after that questions fail at once until an attempt has worked (docs/decisions/0018).
"""

import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

import anyio

from code_intel.errors import UpstreamError
from code_intel.records import UpstreamStatus
from code_intel.servers.upstream_words import SAID

SHORTEST, LONGEST = 0.5, 30.0
"""Seconds between attempts to connect: the first distance, doubled each time, and the last."""
PATIENT = 1
"""Failures in a row after which a question no longer waits for the next attempt."""
SHORTENED = 5.0
"""Seconds since the last attempt after which a question may start another, however long the distance."""
MISSED = 2
"""Questions in a row that may go unanswered before a server is started anew."""
REFUSALS = 3
"""Refusals in a row after which its tools are looked at again."""
QUIET = 300.0
"""Seconds without a question after which a lost upstream rests until the next one."""

State = Literal["idle", "starting", "ready", "backoff", "failed"]


class Health:
    """The state of one upstream and everything it has done wrong lately.

    Attributes:
        state: As in `UpstreamStatus`.
        error: What went wrong last, in words of ours and without secrets.
        said: The words of others about that (`upstream_words`), or empty.
        ignored: What it sent that could not be used, by kind.
        moved: Set when the state changes, then replaced.
        wanted: Set by a question.
    """

    def __init__(
        self,
        name: str,
        where: str,
        masked: Callable[[str], str] = str,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._name = name
        self._where = where
        self._masked = masked
        self._changed = changed
        self.state: State = "idle"
        self.error = self.said = ""
        self.ignored: Counter[str] = Counter()
        self.moved = anyio.Event()
        self.wanted = anyio.Event()
        self._since = _now()
        self._failing_since = ""
        self._failures = 0
        self._missed = 0
        self._refused = 0
        self._starts = 0
        self._asked_at = 0.0
        self._retry_at: float | None = None

    def status(self, ignored: Counter[str]) -> UpstreamStatus:
        """Return it as it is now; `ignored` is that of the connection that lives."""
        left = None if self._retry_at is None else self._retry_at - anyio.current_time()
        return UpstreamStatus(
            name=self._name,
            where=self._where,
            state=self.state,
            since=self._failing_since or self._since,
            error=self.error,
            said=self.said,
            retry_in=None if left is None else round(max(0.0, left), 1),
            restarts=max(0, self._starts - 1),
            ignored=tuple(sorted((self.ignored + ignored).items())),
        )

    @property
    def hopeless(self) -> bool:
        """Whether a question should not wait for it."""
        return self.state == "failed" or self._failures > PATIENT

    def say(self, state: State) -> None:
        """Change the state, and wake whoever waits for that."""
        self._starts += state == "starting"
        if state in {"starting", "ready"}:
            self._retry_at = None
        self.state = state
        self._since = _now()
        moved, self.moved = self.moved, anyio.Event()
        moved.set()
        self._changed()

    def trouble(self, why: str, said: str = "") -> None:
        """Remember what went wrong, and since when."""
        before = (self.error, self.said, self._failing_since)
        self.error = self._masked(" ".join(why.split())).rstrip(".")
        self.said = self._masked(said)
        self._failing_since = self._failing_since or _now()
        if before != (self.error, self.said, self._failing_since):
            self._changed()

    def failure(self, why: str, said: str = "", hint: str | None = None) -> UpstreamError:
        """Return the error a question ends with."""
        self.trouble(why, said)
        details = {SAID: self.said} if self.said else None
        return UpstreamError(f"{self._name}: {self.error}.", hint=hint, details=details)

    def asked(self) -> None:
        """Somebody asks."""
        self._asked_at = anyio.current_time()
        self.wanted.set()

    def answered(self) -> None:
        """It answered well: whatever was is forgiven, and stays known as the last error."""
        self._failures = self._missed = self._refused = 0
        if self._failing_since:
            self._failing_since = ""
            self._changed()

    def missed(self) -> bool:
        """Somebody waited in vain; True when it should be started anew."""
        self._missed = (self._missed + 1) % MISSED
        return self._missed == 0

    def refused(self) -> bool:
        """It answered with an error, or nonsense; True when it should be looked at again."""
        self._refused = (self._refused + 1) % REFUSALS
        return self._refused == 0

    async def pause(self, state: State, why: str, said: str = "") -> None:
        """Wait before the next attempt; shorter when somebody asks, longer when nobody does."""
        self._failures += 1
        self.trouble(why, said)
        tried = anyio.current_time()
        far = LONGEST if state == "failed" else distance(self._failures) * random.uniform(0.5, 1)
        self._retry_at = tried + far
        self.say(state)
        while (left := self._retry_at - anyio.current_time()) > 0:
            self.wanted = anyio.Event()
            with anyio.move_on_after(left):
                await self.wanted.wait()
                if state == "backoff":
                    soon = tried + (SHORTENED if self._failures > PATIENT else 0.0)
                    self._retry_at = min(self._retry_at, soon)
        if anyio.current_time() - self._asked_at > QUIET:
            self._retry_at = None
            self.wanted = anyio.Event()
            await self.wanted.wait()


def distance(failures: int) -> float:
    """Return the seconds between attempts after so many failures in a row, before chance shortens it."""
    doublings = min(failures - 1, 10)
    return float(min(LONGEST, SHORTEST * 2**doublings))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
