"""What calls may cost: a bill for each, a limit a day, and how many run at once.

A spent budget pauses work until the next day begins; it never drops any.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from typing import Final, Protocol

from stenolith.errors import ModelUnavailable
from stenolith.llm.port import Completion, LanguageModel, Prompt, Unanswerable, Usage
from stenolith.model.clock import Clock
from stenolith.model.text import estimate_tokens

_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Prices for a million tokens in any one currency, and the most that a day may cost; 0 means no limit."""

    input_price: float = 0.0
    output_price: float = 0.0
    tokens_per_day: int = 0
    cost_per_day: float = 0.0
    concurrency: int = 2

    def bill(self, usage: Usage) -> Usage:
        """Return *usage* with its cost."""
        cost = (usage.input * self.input_price + usage.output * self.output_price) / _MILLION
        return replace(usage, cost=usage.cost or cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One call in the ledger: on which day of the configured zone, for whom, and what it cost."""

    day: str
    owner_id: int
    kind: str
    model: str
    usage: Usage
    failed: bool = False


class Ledger(Protocol):
    """Where bills are kept, for all processes of a home."""

    async def spent(self, day: str, /) -> Usage:
        """Return what everybody's calls of one day cost."""

    async def book(self, entry: Entry, /) -> None:
        """Add one call."""


class Meter:
    """Stands before a model: looks at the budget, lets a few calls through at once, and books each.

    Calls that run side by side may pass the limit by what they cost themselves.
    """

    def __init__(self, model: LanguageModel, ledger: Ledger, terms: Terms, zone: tzinfo, now: Clock) -> None:
        self._model = model
        self._ledger = ledger
        self._terms = terms
        self._zone = zone
        self._now = now
        self._room = asyncio.Semaphore(terms.concurrency)

    def for_job(self, owner_id: int, kind: str) -> LanguageModel:
        """Return the model whose calls are billed to an owner and a kind of job."""
        return _Metered(self, owner_id, kind)

    @property
    def model_id(self) -> str:
        """The model's."""
        return self._model.model_id

    async def complete(self, prompt: Prompt, owner_id: int, kind: str) -> Completion:
        """Ask the model when the budget allows. Raises `ModelUnavailable` when it is spent."""
        async with self._room:
            await self._check()
            try:
                answer = await self._model.complete(prompt)
            except (ModelUnavailable, Unanswerable):
                await self._book(owner_id, kind, Usage(), failed=True)
                raise
            usage = self._terms.bill(_counted(answer, prompt))
            await self._book(owner_id, kind, usage, failed=False)
            return replace(answer, usage=usage)

    async def _check(self) -> None:
        terms, now = self._terms, self._now()
        if not terms.tokens_per_day and not terms.cost_per_day:
            return
        spent = await self._ledger.spent(day_of(now, self._zone))
        tokens = spent.input + spent.output
        over_tokens = terms.tokens_per_day and tokens >= terms.tokens_per_day
        over_cost = terms.cost_per_day and spent.cost >= terms.cost_per_day
        if over_tokens or over_cost:
            said = f"{terms.tokens_per_day} tokens" if over_tokens else f"{terms.cost_per_day:g}"
            raise ModelUnavailable(
                f"today's budget for the language model ({said}) is spent; work goes on at midnight",
                retry_after_ms=until_tomorrow_ms(now, self._zone),
            )

    async def _book(self, owner_id: int, kind: str, usage: Usage, *, failed: bool) -> None:
        day = day_of(self._now(), self._zone)
        await self._ledger.book(
            Entry(day=day, owner_id=owner_id, kind=kind, model=self.model_id, usage=usage, failed=failed)
        )


class _Metered:
    """One job's view of the model."""

    def __init__(self, meter: Meter, owner_id: int, kind: str) -> None:
        self._meter = meter
        self._owner_id = owner_id
        self._kind = kind

    @property
    def model_id(self) -> str:
        return self._meter.model_id

    async def complete(self, prompt: Prompt, /) -> Completion:
        return await self._meter.complete(prompt, self._owner_id, self._kind)


def day_of(now_ms: int, zone: tzinfo) -> str:
    """Return the calendar day of a moment (epoch ms), as ISO 8601."""
    return datetime.fromtimestamp(now_ms / 1000, tz=zone).date().isoformat()


def until_tomorrow_ms(now_ms: int, zone: tzinfo) -> int:
    """Return how many milliseconds the day still has; a day with a clock change has 23 or 25 hours."""
    here = datetime.fromtimestamp(now_ms / 1000, tz=zone)
    tomorrow = datetime.combine(here.date() + timedelta(days=1), datetime.min.time(), zone)
    return max(1, int(tomorrow.timestamp() * 1000) - now_ms)


def _counted(answer: Completion, prompt: Prompt) -> Usage:
    """Return what the provider counted, else an estimate: a server that counts nothing is not free."""
    if answer.usage.input or answer.usage.output:
        return answer.usage
    read = estimate_tokens(prompt.system) + estimate_tokens(prompt.user)
    return replace(answer.usage, input=read, output=estimate_tokens(answer.text))
