"""Anthropic's Messages API: the answer is forced into the arguments of one tool.

A server that refuses a forced tool (some models think first, some gateways know no tools) is asked
for plain JSON instead, which is remembered.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final

from stenolith.errors import ModelUnavailable
from stenolith.llm.http import TOO_LONG, Reply, Sleep, Wire
from stenolith.llm.keys import read_key
from stenolith.llm.openai import Target
from stenolith.llm.port import Completion, Obstacle, Prompt, Unanswerable, Usage

URL: Final = "https://api.anthropic.com"
VERSION: Final = "2023-06-01"
"""The version header of https://docs.anthropic.com/en/api/versioning."""


class AnthropicModel:
    """A language model behind Anthropic's API or a gateway that speaks it."""

    def __init__(self, target: Target, sleep: Sleep = asyncio.sleep) -> None:
        self._target = target
        base = target.url.rstrip("/").removesuffix("/v1")
        self._wire = Wire(base, lambda: _headers(target.url), sleep)
        self._forced = True
        self._temperature = True

    @property
    def model_id(self) -> str:
        """The protocol and the model's name."""
        return f"anthropic/{self._target.model}"

    async def complete(self, prompt: Prompt, /) -> Completion:
        """Return one answer; see `stenolith.llm.port.LanguageModel`."""
        while True:
            reply = await self._wire.post("/v1/messages", self._body(prompt), prompt.deadline_ms)
            if reply.status < 300:
                return self._read(reply)
            if reply.status == 413 or TOO_LONG.search(reply.complaint):
                raise Unanswerable(f"the text is too long for {self.model_id}", Obstacle.TOO_LONG)
            if not self._soften(reply.complaint):
                raise self._wire.failure(reply)

    def _soften(self, complaint: str) -> bool:
        """Leave out what the server complains about; False when nothing is left to leave out."""
        if self._temperature and "temperature" in complaint:
            self._temperature = False
            return True
        softened, self._forced = self._forced, False
        return softened

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        schema = json.dumps(prompt.schema, ensure_ascii=False)
        system = prompt.system if self._forced else f"{prompt.system}\n\nThe JSON Schema of the answer:\n{schema}"
        body: dict[str, Any] = {
            "model": self._target.model,
            "max_tokens": prompt.max_tokens or self._target.max_tokens,
            "system": system,
            "messages": [{"role": "user", "content": prompt.user}],
        }
        if self._temperature:
            body["temperature"] = 0
        if self._forced:
            tool = {"name": prompt.name, "description": "Give the answer.", "input_schema": prompt.schema}
            body |= {"tools": [tool], "tool_choice": {"type": "tool", "name": prompt.name}}
        return body

    def _read(self, reply: Reply) -> Completion:
        try:
            blocks = [block for block in reply.body["content"] if isinstance(block, Mapping)]
            ending = reply.body.get("stop_reason")
        except (KeyError, TypeError, AttributeError):
            raise ModelUnavailable(f"{self._wire.where} answered something that is no message") from None
        if ending == "refusal":
            raise Unanswerable(f"{self.model_id} refuses to read the text", Obstacle.REFUSED)
        if ending == "model_context_window_exceeded":
            raise Unanswerable(f"the text is too long for {self.model_id}", Obstacle.TOO_LONG)
        return Completion(
            text=_answer(blocks), model=self.model_id, usage=_usage(reply.body), truncated=ending == "max_tokens"
        )


def _headers(url: str) -> dict[str, str]:
    key = read_key(url)
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


def _answer(blocks: list[Mapping[str, Any]]) -> str:
    """Return the tool's arguments as JSON, else the text."""
    for block in blocks:
        if block.get("type") == "tool_use" and block.get("input") is not None:
            return json.dumps(block["input"], ensure_ascii=False)
    return "".join(str(block.get("text") or "") for block in blocks if block.get("type") == "text")


def _usage(body: Mapping[str, Any]) -> Usage:
    """Count what was read, cached or not, and written."""
    found = body.get("usage")
    counts = found if isinstance(found, Mapping) else {}
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    read = [counts.get(name) for name in names]
    written = counts.get("output_tokens")
    return Usage(
        input=sum(count for count in read if isinstance(count, int)), output=written if isinstance(written, int) else 0
    )
