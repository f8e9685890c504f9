"""A model's server on loopback: OpenAI's and Anthropic's endpoints, with the faults that real ones have."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

_REASONS: Final = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 429: "Too Many Requests", 503: "Unavailable"}
USAGE: Final = (120, 30)
"""Tokens read and written that every answer claims."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request: its path, its headers in small letters, its body."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def words(self) -> str:
        """What the user's side of the prompt says."""
        return str(self.body["messages"][-1]["content"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An answer that is none: a status with a message and headers; status 0 breaks the connection off."""

    status: int
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    after_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """The model's words and why it stopped, in the words of the protocol (empty: as usual)."""

    text: str
    ending: str = ""


Brain = Callable[[Asked], str | Mapping[str, Any] | Spoken | Fault]


class FakeServer:
    """Answers with what *brain* says; *asked* holds the requests in order."""

    def __init__(self, brain: Brain) -> None:
        self._brain = brain
        self.asked: list[Asked] = []
        self.port = 0

    @property
    def openai_url(self) -> str:
        """The base address of the OpenAI-compatible side."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def anthropic_url(self) -> str:
        """The base address of the Anthropic side."""
        return f"http://127.0.0.1:{self.port}"

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one request and close the connection."""
        try:
            asked = await _request(reader)
            self.asked.append(asked)
            said = self._brain(asked)
            if isinstance(said, Fault):
                await asyncio.sleep(said.after_s)
                if said.status:
                    writer.write(_response(said.status, {"error": {"message": said.message}}, said.headers))
            else:
                writer.write(_response(200, _answer(asked, said), {}))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def fake_server(brain: Brain) -> AsyncIterator[FakeServer]:
    """Serve on a free port of loopback until the block ends."""
    fake = FakeServer(brain)
    server = await asyncio.start_server(fake.handle, "127.0.0.1", 0)
    fake.port = server.sockets[0].getsockname()[1]
    try:
        yield fake
    finally:
        server.close()
        await server.wait_closed()


async def _request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = [line.partition(":") for line in head[1:] if line]
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(path=head[0].split(" ")[1], headers=headers, body=json.loads(body or b"{}"))


def _response(status: int, body: Mapping[str, Any], headers: Mapping[str, str]) -> bytes:
    content = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'X')}", f"content-length: {len(content)}", "connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


def _answer(asked: Asked, said: str | Mapping[str, Any] | Spoken) -> dict[str, Any]:
    spoken = said if isinstance(said, Spoken) else Spoken(text=said if isinstance(said, str) else json.dumps(said))
    read, written = USAGE
    if not asked.path.endswith("/messages"):
        message = {"role": "assistant", "content": spoken.text}
        choice = {"index": 0, "message": message, "finish_reason": spoken.ending or "stop"}
        return {"choices": [choice], "usage": {"prompt_tokens": read, "completion_tokens": written}}
    tools = asked.body.get("tools")
    block: dict[str, Any] = {"type": "text", "text": spoken.text}
    if tools and spoken.text.startswith("{"):
        block = {"type": "tool_use", "id": "toolu_1", "name": tools[0]["name"], "input": json.loads(spoken.text)}
    usage = {"input_tokens": read, "output_tokens": written}
    return {"role": "assistant", "content": [block], "stop_reason": spoken.ending or "tool_use", "usage": usage}
