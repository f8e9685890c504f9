"""Any server that speaks OpenAI's ``/chat/completions``: hosted ones, vLLM, llama.cpp, Ollama, LM Studio.

They differ in what they accept.  A server that refuses a parameter is asked again without it, and
what it accepts is remembered for as long as the client lives.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from stenolith.errors import ModelUnavailable
from stenolith.llm.http import FILTERED, TOO_LONG, Reply, Sleep, Wire
from stenolith.llm.keys import read_key
from stenolith.llm.port import Completion, Obstacle, Prompt, Unanswerable, Usage

URL: Final = "https://api.openai.com/v1"
Form = Literal["json_schema", "json_object", "plain"]
Limit = Literal["max_completion_tokens", "max_tokens", ""]
_FORMS: Final[tuple[Form, ...]] = ("json_schema", "json_object", "plain")
_LIMIT_NAME: Final = re.compile(r"max_(?:completion_)?tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Which model to ask. *url* is the base address; *max_tokens* bounds an answer."""

    url: str
    model: str
    max_tokens: int = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """What a server accepts: the form of the answer, the name of its bound, a temperature."""

    form: Form = "json_schema"
    limit: Limit = "max_completion_tokens"
    temperature: bool = True

    def after(self, complaint: str) -> Manners | None:
        """Return other manners to try after *complaint* (in small letters), or None when none is left."""
        if self.limit and _LIMIT_NAME.search(complaint):
            return replace(self, limit="max_tokens" if self.limit == "max_completion_tokens" else "")
        if self.temperature and "temperature" in complaint:
            return replace(self, temperature=False)
        if self.form != "plain":
            return replace(self, form=_FORMS[_FORMS.index(self.form) + 1])
        # Strict servers refuse an unknown parameter without naming it.
        return replace(self, limit="") if self.limit else None


class OpenAIModel:
    """A language model behind an OpenAI-compatible server."""

    def __init__(self, target: Target, sleep: Sleep = asyncio.sleep) -> None:
        self._target = target
        self._wire = Wire(target.url, lambda: _headers(target.url), sleep)
        known = target.url.rstrip("/") == URL
        self._manners = Manners(limit="max_completion_tokens" if known else "max_tokens")

    @property
    def model_id(self) -> str:
        """The protocol and the model's name; the address may change with the machine."""
        return f"openai/{self._target.model}"

    async def complete(self, prompt: Prompt, /) -> Completion:
        """Return one answer; see `stenolith.llm.port.LanguageModel`."""
        manners = self._manners
        while True:
            reply = await self._wire.post("/chat/completions", self._body(prompt, manners), prompt.deadline_ms)
            if reply.status < 300 and not _error(reply):
                self._manners = manners
                return self._read(reply)
            self._refuse(reply)
            softer = manners.after(reply.complaint)
            if softer is None:
                raise self._wire.failure(reply)
            manners = softer

    def _body(self, prompt: Prompt, manners: Manners) -> dict[str, Any]:
        system = prompt.system
        if manners.form != "json_schema":
            system += f"\n\nThe JSON Schema of the answer:\n{json.dumps(prompt.schema, ensure_ascii=False)}"
        body: dict[str, Any] = {
            "model": self._target.model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": prompt.user}],
        }
        if manners.form == "json_schema":
            shape = {"name": prompt.name, "schema": prompt.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        elif manners.form == "json_object":
            body["response_format"] = {"type": "json_object"}
        if manners.temperature:
            body["temperature"] = 0
        if manners.limit:
            body[manners.limit] = prompt.max_tokens or self._target.max_tokens
        return body

    def _refuse(self, reply: Reply) -> None:
        """Raise when the request was refused for what it says, or by a gateway that answers 200 to everything."""
        if reply.status == 413 or TOO_LONG.search(reply.complaint):
            raise Unanswerable(f"the text is too long for {self.model_id}", Obstacle.TOO_LONG)
        if FILTERED.search(reply.complaint):
            raise Unanswerable(f"{self.model_id} refuses to read the text", Obstacle.REFUSED)
        if reply.status < 300:
            error = _error(reply)
            code = error.get("code") if isinstance(error, Mapping) else None
            raise self._wire.failure(replace(reply, status=code if isinstance(code, int) else 502))

    def _read(self, reply: Reply) -> Completion:
        try:
            choice = reply.body["choices"][0]
            message, ending = choice["message"], choice.get("finish_reason")
            text = _text(message.get("content"))
        except (KeyError, IndexError, TypeError, AttributeError):
            raise ModelUnavailable(f"{self._wire.where} answered something that is no chat completion") from None
        if ending == "content_filter" or message.get("refusal"):
            raise Unanswerable(f"{self.model_id} refuses to read the text", Obstacle.REFUSED)
        return Completion(text=text, model=self.model_id, usage=_usage(reply.body), truncated=ending == "length")


def _headers(url: str) -> dict[str, str]:
    key = read_key(url)
    return {"authorization": f"Bearer {key}"} if key else {}


def _error(reply: Reply) -> Any:
    """Return the error inside an answer, for gateways that send it with status 200."""
    return reply.body.get("error") if isinstance(reply.body, Mapping) else None


def _text(content: Any) -> str:
    """Read the content: a text, or a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return str(content or "")


def _usage(body: Mapping[str, Any]) -> Usage:
    found = body.get("usage")
    counts = found if isinstance(found, Mapping) else {}
    read, written = counts.get("prompt_tokens"), counts.get("completion_tokens")
    return Usage(input=read if isinstance(read, int) else 0, output=written if isinstance(written, int) else 0)
