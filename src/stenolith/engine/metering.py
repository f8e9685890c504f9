"""The language model of a home, with its bills kept in the home."""

from __future__ import annotations

from stenolith.engine.wiring import House
from stenolith.llm.budget import Entry, Meter, Terms
from stenolith.llm.port import LanguageModel, Usage
from stenolith.store.usage import Account, ModelUsage, Spending


class HomeLedger:
    """Books calls in the database, so that all processes of a home share one budget."""

    def __init__(self, usage: ModelUsage) -> None:
        self._usage = usage

    async def spent(self, day: str, /) -> Usage:
        """Return what everybody's calls of one day cost."""
        spent = await self._usage.of_day(day)
        return Usage(input=spent.tokens_in, output=spent.tokens_out, cost=spent.cost)

    async def book(self, entry: Entry, /) -> None:
        """Add one call."""
        account = Account(day=entry.day, owner_id=entry.owner_id, kind=entry.kind, model=entry.model)
        spent = Spending(
            calls=1,
            failed=int(entry.failed),
            tokens_in=entry.usage.input,
            tokens_out=entry.usage.output,
            cost=entry.usage.cost,
        )
        await self._usage.add(account, spent)


def metered(house: House, model: LanguageModel) -> Meter:
    """Put a home's budget before *model*."""
    wanted = house.settings.llm
    terms = Terms(
        input_price=wanted.input_price,
        output_price=wanted.output_price,
        tokens_per_day=wanted.tokens_per_day,
        cost_per_day=wanted.cost_per_day,
        concurrency=wanted.concurrency,
    )
    return Meter(model, HomeLedger(ModelUsage(house.database)), terms, house.settings.zone, house.now)
