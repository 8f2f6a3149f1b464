"""Requests, replies and retries, without a transport.

An operation is a generator: it yields requests and pauses, receives replies, and returns its result. The synchronous
and the asynchronous client run the same operations, and differ in the few lines that send a request and wait.
"""

from __future__ import annotations

import email.utils
import json
import random
import time
import urllib.parse
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from .problem_codes import QueryInFlight, RateLimited
from .problems import ConnectionFailed, SottoError, UnexpectedResponse, problem_from
from .progress import SentFile
from .values import Json

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """A request to the service. Each one may be repeated: see decision 48."""

    method: str
    path: str
    body: Json = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    file: SentFile | None = None
    """A file, which is sent as a form in place of the body."""
    watch: Watch | None = None
    """What to do until the response arrives, for which there is then no time limit."""


@dataclass(frozen=True)
class Watch:
    """A request that is sent again and again while another one is under way."""

    request: Request
    look: Callable[[Reply], None]
    """Receives each response."""
    pause_seconds: float


@dataclass(frozen=True)
class Reply:
    """A response of the service. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    url: str

    def json(self) -> Any:
        """Return the body.

        Raises:
            UnexpectedResponse: if the body is not JSON.

        """
        try:
            return json.loads(self.content)
        except ValueError:
            raise UnexpectedResponse(f"the body of the response (status {self.status}) is not JSON") from None

    @property
    def replayed(self) -> bool:
        """True if the service sent a stored answer."""
        return self.headers.get("idempotent-replayed") == "true"


@dataclass(frozen=True)
class Lost:
    """A request without a response. `reason` is the class of the error, which contains no data and no key."""

    reason: str
    sent: bool
    """False if no connection could be opened."""


@dataclass(frozen=True)
class Pause:
    """Time to wait before the next step."""

    seconds: float


Operation: TypeAlias = Generator[Request | Pause, Reply | Lost | None, T]
"""Steps that a client performs, and their result."""


@dataclass(frozen=True)
class Retries:
    """Limits on repeats of a request."""

    attempts: int = 5
    """Attempts if the connection is lost."""
    longest_wait_seconds: float = 60
    """Time to wait in all, between the attempts at one request."""
    first_pause_seconds: float = 0.25
    longest_pause_seconds: float = 8
    chance: Callable[[], float] = random.random

    def pause_after(self, outcome: Reply | Lost, attempt: int, waited_seconds: float) -> float | None:
        """Return the seconds to wait before the next attempt, or None if the outcome is final."""
        if isinstance(outcome, Lost):
            if attempt >= self.attempts:
                return None
        elif not _may_pass(outcome):
            return None
        backoff = min(self.longest_pause_seconds, self.first_pause_seconds * 2 ** (attempt - 1))
        # Jitter, so that many clients that were refused together do not return together.
        pause = backoff * (0.5 + self.chance() / 2)
        if isinstance(outcome, Reply):
            pause = max(pause, _retry_after_seconds(outcome))
        return pause if waited_seconds + pause <= self.longest_wait_seconds else None


def exchange(request: Request, retries: Retries) -> Operation[Reply]:
    """Send a request, repeat it while that can help, and return the response.

    Raises:
        Problem: of the class of its code, if the service refused or failed.
        ConnectionFailed: if no response arrived.
        UnexpectedResponse: if something other than the service answered.

    """
    attempt, waited_seconds = 1, 0.0
    while True:
        outcome = yield request
        assert outcome is not None
        if isinstance(outcome, Reply) and 200 <= outcome.status < 300:
            return outcome
        pause = retries.pause_after(outcome, attempt, waited_seconds)
        if pause is None:
            raise _failure(outcome, attempt)
        yield Pause(pause)
        attempt, waited_seconds = attempt + 1, waited_seconds + pause


def _may_pass(reply: Reply) -> bool:
    if reply.status == 409:
        return _document(reply).get("code") == QueryInFlight.code
    if reply.status == 429:
        # Waiting helps against a rate limit. Of other quotas, only a Retry-After tells that it does.
        return "retry-after" in reply.headers or _document(reply).get("code") == RateLimited.code
    return reply.status in (502, 503, 504)


def _retry_after_seconds(reply: Reply) -> float:
    value = reply.headers.get("retry-after", "")
    if value.isdigit():
        return float(value)
    moment = email.utils.parsedate_tz(value)
    return 0 if moment is None else max(0.0, email.utils.mktime_tz(moment) - time.time())


def _document(reply: Reply) -> Mapping[str, Any]:
    try:
        document = json.loads(reply.content)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _with_whole_type(document: Mapping[str, Any], url: str) -> Mapping[str, Any]:
    """Return a problem document with its type as a whole address. The service states it relative to its own."""
    try:
        return {**document, "type": urllib.parse.urljoin(url, document.get("type", ""))}
    except (TypeError, ValueError):
        return document


def _failure(outcome: Reply | Lost, attempts: int) -> SottoError:
    if isinstance(outcome, Lost):
        what = "the connection was lost" if outcome.sent else "the service cannot be reached"
        times = "once" if attempts == 1 else f"{attempts} times"
        return ConnectionFailed(f"{what} ({outcome.reason}; tried {times})")
    document = _document(outcome)
    if outcome.status >= 400 and "code" in document:
        return problem_from(_with_whole_type(document, outcome.url))
    if 300 <= outcome.status < 400:
        return UnexpectedResponse(
            f"the address redirects (status {outcome.status}); redirects are not followed, because the key must "
            "reach no other address. Connect to the final address."
        )
    return UnexpectedResponse(f"the response (status {outcome.status}) is not from a Sotto service")
