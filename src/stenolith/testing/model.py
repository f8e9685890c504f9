"""A language model for tests: says what a script tells it to, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stenolith.errors import ModelUnavailable
from stenolith.llm.port import Completion, Prompt, Usage
from stenolith.model.text import estimate_tokens

Said = str | Mapping[str, Any] | Sequence[Any] | Completion | BaseException
"""A text as it is, a value as JSON, a completion, or an error to raise."""
Script = Sequence[Said] | Callable[[Prompt], Said]


class ScriptedModel:
    """Answers prompts from *scripts*: by the prompt's name, else from the script named ``*``.

    A list is said item by item; a prompt after its end is a mistake of the test and raises
    `AssertionError`.  A function is asked every time.  *asked* holds the prompts in order, and *delay_s* makes
    every answer slow.
    """

    def __init__(self, scripts: Mapping[str, Script] | Script, *, delay_s: float = 0.0, name: str = "scripted") -> None:
        self._scripts: Mapping[str, Script] = scripts if isinstance(scripts, Mapping) else {"*": scripts}
        self._at = dict.fromkeys(self._scripts, 0)
        self._name = name
        self.delay_s = delay_s
        self.asked: list[Prompt] = []

    @property
    def model_id(self) -> str:
        """The name."""
        return self._name

    def prompts(self, name: str) -> list[Prompt]:
        """Return what was asked under one name."""
        return [prompt for prompt in self.asked if prompt.name == name]

    async def complete(self, prompt: Prompt, /) -> Completion:
        """Say the next line of the script."""
        self.asked.append(prompt)
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        said = self._next(prompt)
        if isinstance(said, BaseException):
            raise said
        if isinstance(said, Completion):
            return said
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        read = estimate_tokens(prompt.system) + estimate_tokens(prompt.user)
        return Completion(text=text, model=self._name, usage=Usage(input=read, output=estimate_tokens(text)))

    def _next(self, prompt: Prompt) -> Said:
        name = prompt.name if prompt.name in self._scripts else "*"
        if name not in self._scripts:
            raise AssertionError(f"the script has nothing for {prompt.name!r}")
        script = self._scripts[name]
        if callable(script):
            return script(prompt)
        self._at[name] += 1
        if self._at[name] > len(script):
            raise AssertionError(f"the script for {name!r} ends after {len(script)} answers")
        return script[self._at[name] - 1]


class TroubledModel:
    """Another model that can be switched off, as a server that is down would be: set *broken* at any time."""

    def __init__(self, inner: ScriptedModel, *, broken: bool = False) -> None:
        self._inner = inner
        self.broken = broken
        self.refused = 0

    @property
    def model_id(self) -> str:
        """The inner model's."""
        return self._inner.model_id

    async def complete(self, prompt: Prompt, /) -> Completion:
        """Answer, or be away."""
        if self.broken:
            self.refused += 1
            raise ModelUnavailable("the model is out of order")
        return await self._inner.complete(prompt)
