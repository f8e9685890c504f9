"""What calls cost is booked per day, owner, job and model; a spent budget pauses until midnight."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from stenolith.errors import InvalidInput, ModelUnavailable
from stenolith.llm.anthropic import AnthropicModel
from stenolith.llm.budget import Entry, Meter, Terms, day_of, until_tomorrow_ms
from stenolith.llm.choose import choose_model
from stenolith.llm.openai import OpenAIModel
from stenolith.llm.port import Completion, Prompt, Usage
from stenolith.settings import LlmSettings
from stenolith.testing.clock import FrozenClock
from stenolith.testing.model import ScriptedModel

PROMPT = Prompt(name="x", system="be brief", user="say one two three", schema={})
SHANGHAI = ZoneInfo("Asia/Shanghai")


class Book:
    def __init__(self) -> None:
        self.entries: list[Entry] = []

    async def spent(self, day: str, /) -> Usage:
        return sum((entry.usage for entry in self.entries if entry.day == day), Usage())

    async def book(self, entry: Entry, /) -> None:
        self.entries.append(entry)


def _answer(read: int = 100, written: int = 50) -> Completion:
    return Completion(text="{}", model="m", usage=Usage(input=read, output=written))


async def test_a_call_is_billed_to_its_owner_and_job() -> None:
    book, clock = Book(), FrozenClock()
    terms = Terms(input_price=2.0, output_price=10.0)
    meter = Meter(ScriptedModel([_answer()]), book, terms, UTC, clock)
    answer = await meter.for_job(7, "distill").complete(PROMPT)
    assert answer.usage == Usage(input=100, output=50, cost=pytest.approx(0.0007))
    (entry,) = book.entries
    assert (entry.day, entry.owner_id, entry.kind, entry.model) == ("2026-08-02", 7, "distill", "scripted")
    assert entry.usage.cost == pytest.approx(0.0007)


async def test_a_server_that_counts_nothing_is_not_free() -> None:
    book = Book()
    meter = Meter(ScriptedModel([_answer(0, 0)]), book, Terms(), UTC, FrozenClock())
    await meter.for_job(1, "distill").complete(PROMPT)
    assert book.entries[0].usage.input > 5


async def test_a_failed_call_is_booked_as_failed() -> None:
    book = Book()
    meter = Meter(ScriptedModel([ModelUnavailable("down")]), book, Terms(), UTC, FrozenClock())
    with pytest.raises(ModelUnavailable, match="down"):
        await meter.for_job(1, "distill").complete(PROMPT)
    assert book.entries[0].failed


@pytest.mark.parametrize(
    "terms", [Terms(tokens_per_day=200), Terms(cost_per_day=0.5, input_price=1e6)], ids=["tokens", "money"]
)
async def test_a_spent_budget_pauses_until_midnight_and_then_goes_on(terms: Terms) -> None:
    clock = FrozenClock(int(datetime(2026, 8, 2, 22, 0, tzinfo=SHANGHAI).timestamp() * 1000))
    model = ScriptedModel([_answer(150, 50), _answer()])
    meter = Meter(model, Book(), terms, SHANGHAI, clock)
    await meter.for_job(1, "distill").complete(PROMPT)
    with pytest.raises(ModelUnavailable, match=r"budget .* is spent; work goes on at midnight") as caught:
        await meter.for_job(2, "scenes").complete(PROMPT)
    assert caught.value.facts["retry_after_ms"] == 2 * 3_600_000
    assert len(model.asked) == 1, "nothing is asked beyond the budget"
    clock.advance(2 * 3_600_000)
    await meter.for_job(2, "scenes").complete(PROMPT)


async def test_no_more_calls_run_at_once_than_allowed() -> None:
    running, most = 0, 0

    class Slow:
        model_id = "slow"

        async def complete(self, _prompt: Prompt, /) -> Completion:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.01)
            running -= 1
            return _answer()

    meter = Meter(Slow(), Book(), Terms(concurrency=2), UTC, FrozenClock())
    await asyncio.gather(*(meter.for_job(1, "distill").complete(PROMPT) for _ in range(6)))
    assert most == 2


def test_a_day_ends_at_local_midnight_also_when_clocks_change() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    noon = int(datetime(2026, 3, 29, 0, 30, tzinfo=berlin).timestamp() * 1000)
    assert day_of(noon, berlin) == "2026-03-29"
    assert until_tomorrow_ms(noon, berlin) == 22.5 * 3_600_000  # a day of 23 hours
    autumn = int(datetime(2026, 10, 25, 0, 30, tzinfo=berlin).timestamp() * 1000)
    assert until_tomorrow_ms(autumn, berlin) == 24.5 * 3_600_000


def test_the_settings_choose_the_client() -> None:
    assert choose_model(LlmSettings()) is None
    assert isinstance(choose_model(LlmSettings(kind="openai", model="m")), OpenAIModel)
    assert isinstance(choose_model(LlmSettings(kind="anthropic", model="m")), AnthropicModel)
    with pytest.raises(InvalidInput, match=r"needs llm\.model"):
        choose_model(LlmSettings(kind="openai"))


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://host/v1", "http://", "http://[", "http://host:99999/v1"])
def test_what_is_no_address_is_refused_when_a_home_is_opened(url: str) -> None:
    with pytest.raises(InvalidInput, match="address"):
        choose_model(LlmSettings(kind="openai", model="m", url=url))
