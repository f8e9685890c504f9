"""One POST to a model's server: deadline, retries decided by a pure function, errors as plain sentences.

No sentence holds a key, a prompt or an answer: servers echo parts of all three in their errors.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from stenolith.errors import InvalidInput, ModelUnavailable
from stenolith.llm.keys import variables

TRIES: Final = 3
FIRST_WAIT_MS: Final = 500
KEY_WAIT_MS: Final = 300_000
"""How long a queue waits after a refused key: somebody has to change something first."""
_AGAIN: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})  # 529: Anthropic is overloaded
_ABOUT_PROMPT: Final = frozenset({400, 413, 422})
TOO_LONG: Final = re.compile(
    r"context[ _]length|context window|context size|maximum context|(?:prompt|input) is too long|"
    r"request[ _]too[ _]large|too many (?:input )?tokens|reduce the length|string_above_max_length"
)
"""How servers say, in small letters, that a prompt does not fit."""
FILTERED: Final = re.compile(r"content_filter|content_policy|content management policy|safety")
Headers = Callable[[], Mapping[str, str]]
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a server answered; *status* 0 means that it did not, and *text* is then the reason's name."""

    status: int
    body: Any = None
    text: str = ""
    retry_after_ms: int | None = None

    @property
    def complaint(self) -> str:
        """The server's words about a refused request, in small letters, for matching and nothing else."""
        return self.text.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Ask once more after *after_ms*."""

    after_ms: int


def decide_retry(reply: Reply, tries: int, left_ms: int) -> Again | None:
    """Return whether to ask again after *tries* attempts with *left_ms* until the deadline.

    What passes by itself (overload, a broken connection) is tried three times, after 0.5 and 1 s or
    when the server says so, if that is before the deadline.
    """
    if reply.status not in _AGAIN | {0} or tries >= TRIES or "insufficient_quota" in reply.complaint:
        return None
    wait = FIRST_WAIT_MS * 2 ** (tries - 1) if reply.retry_after_ms is None else reply.retry_after_ms
    return Again(after_ms=wait) if wait < left_ms else None


class Wire:
    """Talks to one server. *headers* is asked for every call, so that a changed key is seen."""

    def __init__(self, url: str, headers: Headers, sleep: Sleep = asyncio.sleep) -> None:
        self._url = url
        self._headers = headers
        self._sleep = sleep
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
        self.where = f"{parts.hostname or '?'}{port}"

    async def post(self, path: str, body: Mapping[str, Any], deadline_ms: int) -> Reply:
        """Return an answer of 2xx, or the server's complaint about this very request (400, 413, 422).

        Raises `ModelUnavailable` for everything else.
        """
        try:
            headers = self._headers()
        except InvalidInput as error:  # a wrong key file is mended, and then the work goes on
            raise ModelUnavailable(str(error), retry_after_ms=KEY_WAIT_MS) from None
        try:
            async with asyncio.timeout(deadline_ms / 1000):
                reply = await self._insist(path, body, headers, deadline_ms)
        except TimeoutError:
            raise ModelUnavailable(f"{self.where} did not answer within {deadline_ms / 1000:g} s") from None
        if 200 <= reply.status < 300 or reply.status in _ABOUT_PROMPT:
            return reply
        raise self.failure(reply)

    async def _insist(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str], deadline_ms: int) -> Reply:
        clock = asyncio.get_running_loop().time
        end, tries = clock() + deadline_ms / 1000, 0
        while True:
            reply = await self._ask(path, body, headers, end - clock())
            tries += 1
            again = decide_retry(reply, tries, int((end - clock()) * 1000))
            if again is None:
                return reply
            await self._sleep(again.after_ms / 1000)

    async def _ask(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str], left_s: float) -> Reply:
        address = self._url.rstrip("/") + path
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", errors="replace")
        sent = {**headers, "content-type": "application/json"}
        try:
            async with httpx2.AsyncClient(timeout=max(left_s, 0.001)) as client:
                answer = await client.post(address, content=content, headers=sent)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return Reply(status=0, text=type(error).__name__)
        return _read(answer.status_code, answer.text, answer.headers)

    def failure(self, reply: Reply) -> ModelUnavailable:
        """Return the error that says in one sentence what is wrong and what to do."""
        facts = {} if reply.retry_after_ms is None else {"retry_after_ms": reply.retry_after_ms}
        match reply.status:
            case 0:
                sentence = f"{self.where} cannot be reached ({reply.text})"
            case 401 | 403:
                names = " or ".join(variables(self._url))
                sentence = f"{self.where} refuses the key ({reply.status}): set {names}"
                facts = {"retry_after_ms": KEY_WAIT_MS}
            case 404:
                sentence = f"{self.where} has no such address or model (404): check llm.url and llm.model"
            case 402:
                sentence = f"{self.where} asks for payment (402)"
            case 429 if "insufficient_quota" in reply.complaint:
                sentence = f"{self.where} says that the account has no quota left (429)"
                facts = {"retry_after_ms": KEY_WAIT_MS, **facts}
            case 429:
                sentence = f"{self.where} asks to wait (429)"
            case _:
                sentence = f"{self.where} answered {reply.status}"
        return ModelUnavailable(sentence, **facts)


def _read(status: int, text: str, headers: Mapping[str, str]) -> Reply:
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    return Reply(status=status, body=body, text=text, retry_after_ms=_retry_after(headers))


def _retry_after(headers: Mapping[str, str]) -> int | None:
    """Read ``retry-after-ms``, or ``Retry-After`` as seconds or as a date (RFC 9110, section 10.2.3)."""
    for name, scale in (("retry-after-ms", 1), ("retry-after", 1000)):
        try:
            return max(0, int(float(headers[name]) * scale))
        except (KeyError, ValueError, OverflowError):
            continue
    try:
        due = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    aware = due if due.tzinfo else due.replace(tzinfo=UTC)
    return max(0, int((aware - datetime.now(UTC)).total_seconds() * 1000))
