"""Ask a server of the shared index over HTTP, with limits of time and size.

A question must not wait for a server that does not answer. So each call has a time limit that
holds for all of it, name resolution included, and after a failure `Breaker` lets no call through
for a while. Nothing that the server says becomes part of a message, except a status.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar, cast

from code_intel import __version__
from code_intel.config import SharedConfig
from code_intel.config.shared import TOKEN_VARIABLE
from code_intel.errors import UpstreamError
from code_intel.shared.deadlines import TIMEOUT_HEADER
from code_intel.shared.routes import VERSION, AnswerT, QuestionT, Route
from code_intel.shared.wire import MAX_BODY_BYTES, TooLargeError, WireError, pack, unpack

if TYPE_CHECKING:  # importing it takes 0.1 s
    import httpx2

T = TypeVar("T")

CALL_TIMEOUT_S = 1.0
"""Time limit of a call to a server that has not answered for `ALIVE_S`."""
ALIVE_S = 60.0
FIRST_PAUSE_S, MAX_PAUSE_S = 10.0, 300.0
"""How long no call is made after the first failure, and after many."""
STATUS_TEXTS = {
    HTTPStatus.BAD_REQUEST: "the server does not accept the request; use its version of code-intel",
    HTTPStatus.UNAUTHORIZED: f"the server does not accept the token in {TOKEN_VARIABLE}",
    HTTPStatus.FORBIDDEN: f"the token in {TOKEN_VARIABLE} does not allow this",
    HTTPStatus.NOT_FOUND: "the server has no such repository that the token may read",
    HTTPStatus.CONFLICT: "the server has other data than this push expects",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "the server accepts less in one request",
    HTTPStatus.TOO_MANY_REQUESTS: "the token has made too many requests for now",
}
TOO_LARGE = 413
"""The HTTP status of a request that must be sent in parts."""
UNANSWERABLE = frozenset({200, 401, 403})
"""Statuses after which no question is asked for a while: the next answer would be as useless."""
RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request may succeed later."""


class SharedIndexError(UpstreamError):
    """The server of the shared index did not answer, or its answer cannot be used.

    Attributes:
        status: The HTTP status, or 0 without an answer.
        is_temporary: Whether the same request may succeed later.
        retry_after_s: How long the server asks to wait, or 0.
    """

    code = "shared_failed"
    remedy = f"Check shared.url and {TOKEN_VARIABLE}. Without the server, the local index answers."

    def __init__(
        self, message: str, *, status: int = 0, is_temporary: bool = True, retry_after_s: float = 0
    ) -> None:
        super().__init__(f"shared: {message}")
        self.reason = message
        self.status = status
        self.is_temporary = is_temporary
        self.retry_after_s = retry_after_s


@dataclass
class Breaker:
    """Lets no call through for a while after failures, so that questions do not wait.

    Attributes:
        clock: A monotonic clock in seconds.
        failures: Failures since the last success.
        opens_at: When the next call is let through.
        reason: Why the last call failed.
    """

    clock: Callable[[], float] = time.monotonic
    failures: int = 0
    opens_at: float = 0.0
    reason: str = ""

    def check(self) -> None:
        """Refuse a call while the server is left alone.

        Raises:
            SharedIndexError: It is.
        """
        if self.failures and self.clock() < self.opens_at:
            raise SharedIndexError(self.reason)

    def fail(self, reason: str, pause: float = 0.0) -> None:
        """Record a failure; the server may say how long to wait."""
        pause = pause or min(FIRST_PAUSE_S * 2 ** min(self.failures, 10), MAX_PAUSE_S)
        self.failures, self.reason = self.failures + 1, reason
        self.opens_at = self.clock() + pause

    def succeed(self) -> None:
        """Record a success."""
        self.failures, self.reason = 0, ""


class SharedClient:
    """The connection to one server. Thread-safe; nothing is sent before the first call.

    Attributes:
        config: The server, the token and the name of the repository.
        breaker: Refuses calls after failures.
        sent_bytes: Bytes of the bodies sent so far.
        received_bytes: Bytes of the bodies received so far.
    """

    def __init__(self, config: SharedConfig) -> None:
        self.config = config
        self.breaker = Breaker()
        self.sent_bytes = 0
        self.received_bytes = 0
        self._http: httpx2.Client | None = None
        self._lock = threading.Lock()
        self._answered = -ALIVE_S

    def ask(
        self,
        route: Route[QuestionT, AnswerT],
        question: QuestionT,
        seconds: float,
        *,
        is_urgent: bool = True,
    ) -> AnswerT:
        """Make a call once, unless the server failed a short while ago.

        Args:
            route: The request.
            question: The body; None for a request without one.
            seconds: The time limit.
            is_urgent: Whether a person waits: then the limit is a second if the server has not
                answered in the last minute, because it may be gone.

        Raises:
            SharedIndexError: There is no usable answer in time.
        """
        self.breaker.check()
        if is_urgent and time.monotonic() > self._answered + ALIVE_S:
            seconds = min(seconds, CALL_TIMEOUT_S)
        try:
            result = self.call(route, question, seconds)
        except SharedIndexError as error:
            if error.is_temporary or error.status in UNANSWERABLE:
                self.breaker.fail(error.reason, error.retry_after_s)
            raise
        self.breaker.succeed()
        self._answered = time.monotonic()
        return result

    def call(
        self, route: Route[QuestionT, AnswerT], question: QuestionT, seconds: float
    ) -> AnswerT:
        """Make a call; see `ask`."""
        try:
            body = b"" if question is None else pack(question, MAX_BODY_BYTES)
        except TooLargeError:
            raise _too_large() from None

        def answered() -> AnswerT:
            data = self._exchange(route.path, body, seconds)
            self.sent_bytes += len(body)
            self.received_bytes += len(data)
            return unpack(data, route.answer)

        try:
            return _within(seconds, answered)
        except WireError as error:
            reason = f"the answer of the server cannot be used. {error.message}".removesuffix(".")
            status = TOO_LARGE if isinstance(error, TooLargeError) else HTTPStatus.OK
            raise SharedIndexError(reason, status=status, is_temporary=False) from None

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._http is not None:
                self._http.close()
                self._http = None

    def _exchange(self, path: str, body: bytes, seconds: float) -> bytes:
        """Send a body and return that of the answer.

        Raises:
            SharedIndexError: The server does not answer, or refuses.
        """
        import httpx2

        deadline = time.monotonic() + seconds
        data = bytearray()
        try:
            with self._client().stream(
                "POST" if body else "GET",
                f"{self.config.url}{VERSION}{path}",
                content=body,
                headers=self._headers(seconds),
                timeout=httpx2.Timeout(seconds),
                follow_redirects=False,
            ) as response:
                _check_status(response, has_token=bool(self.config.token))
                for part in response.iter_raw():
                    data += part
                    if len(data) > MAX_BODY_BYTES:
                        raise SharedIndexError(
                            "its answer is too large", is_temporary=False, status=TOO_LARGE
                        )
                    if time.monotonic() > deadline:
                        raise _no_answer(seconds)
        except httpx2.TimeoutException:
            raise _no_answer(seconds) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            raise SharedIndexError(
                f"the server cannot be reached ({type(error).__name__})"
            ) from None
        return bytes(data)

    def _headers(self, seconds: float) -> dict[str, str]:
        token = self.config.token
        return {
            "content-type": "application/json",
            "content-encoding": "gzip",
            "accept-encoding": "gzip",
            "user-agent": f"code-intel/{__version__}",
            TIMEOUT_HEADER: str(round(seconds * 1000)),
        } | ({"authorization": f"Bearer {token}"} if token else {})

    def _client(self) -> "httpx2.Client":
        import httpx2

        with self._lock:
            if self._http is None:
                self._http = httpx2.Client()
            return self._http


def _check_status(response: "httpx2.Response", *, has_token: bool) -> None:
    """Refuse every status but 200.

    Raises:
        SharedIndexError: The status differs.
    """
    status = response.status_code
    if status == HTTPStatus.OK:
        return
    text = STATUS_TEXTS.get(HTTPStatus(status)) if status in set(HTTPStatus) else None
    if status == HTTPStatus.UNAUTHORIZED and not has_token:
        text = f"the server needs a token, and {TOKEN_VARIABLE} is not set"
    if response.is_redirect:
        text = "the server redirects, which is not followed; correct shared.url"
    wait = 0.0
    with suppress(ValueError):
        wait = min(max(float(response.headers.get("retry-after", "0")), 0.0), MAX_PAUSE_S)
    raise SharedIndexError(
        text or f"the server answers with HTTP {status}",
        status=status,
        is_temporary=status in RETRIED,
        retry_after_s=wait,
    )


def _too_large() -> SharedIndexError:
    return SharedIndexError("the request is too large", is_temporary=False, status=TOO_LARGE)


def _no_answer(seconds: float) -> SharedIndexError:
    return SharedIndexError(f"the server does not answer within {seconds:g} s")


def _within(seconds: float, work: Callable[[], T]) -> T:
    """Return the result of `work`; abandon it after `seconds`.

    The time limits of the HTTP client begin after name resolution, and again with each part.

    Raises:
        SharedIndexError: It took longer, or failed.
    """
    results: SimpleQueue[Any] = SimpleQueue()

    def run() -> None:
        try:
            results.put(work())
        except BaseException as error:  # noqa: BLE001 - raised by the caller
            results.put(error)

    threading.Thread(target=run, name="shared-index", daemon=True).start()
    from queue import Empty

    try:
        found = results.get(timeout=seconds)
    except Empty:
        raise _no_answer(seconds) from None
    if isinstance(found, BaseException):
        raise found
    return cast(T, found)
