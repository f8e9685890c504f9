"""Broken model output costs a retry, not the facts (C18), and what cannot be used says why."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from stenolith.errors import ModelUnavailable
from stenolith.llm.port import Completion, Obstacle, Prompt, Unanswerable, Usage
from stenolith.llm.repair import is_schema, read_json, strip_reasoning
from stenolith.llm.structured import structured
from stenolith.testing.model import ScriptedModel


class Facts(BaseModel):
    memories: list[dict[str, Any]]


PROMPT = Prompt(name="facts", system="s", user="What is there?", schema={})
GOOD = '{"memories": [{"text": "Has a cat"}]}'

REPAIRED = {
    "plain": GOOD,
    "fenced, with prose around": f"Here are the facts:\n```json\n{GOOD}\n```\nHope this helps!",
    "fence without a name": f"```\n{GOOD}\n```",
    "fence that is not closed": f"```json\n{GOOD}",
    "prose around": f"Sure! {GOOD} Anything else?",
    "prose with brackets before": f"As asked in [1] (see {{x}}): {GOOD}",
    "reasoning before": f'<think>Maybe {{"memories": []}}? No.</think>{GOOD}',
    "reasoning without its beginning": f"well, let me see</think>\n{GOOD}",
    "reasoning in capitals": f"<Thinking>hm</Thinking>\n{GOOD}",
    "trailing comma": '{"memories": [{"text": "Has a cat"},]}',
    "single quotes": "{'memories': [{'text': 'Has a cat'}]}",
    "line breaks inside a string": '{"memories": [{"text":\n "Has a cat"}\n]}',
    "comments": '{"memories": [{"text": "Has a cat"}] /* done */}',
}


@pytest.mark.parametrize("said", REPAIRED.values(), ids=REPAIRED.keys())
async def test_a_usable_answer_is_read_at_once(said: str) -> None:
    model = ScriptedModel([said])
    answer = await structured(model, PROMPT, Facts)
    assert answer.value.memories == [{"text": "Has a cat"}]
    assert answer.calls == 1
    assert not answer.truncated


async def test_half_of_a_character_is_dropped_and_the_rest_kept() -> None:
    answer = await structured(ScriptedModel(['{"memories":[{"text":"养了一只猫 \\ud83d"}]}']), PROMPT, Facts)
    assert answer.value.memories[0]["text"].strip() == "养了一只猫"
    whole = await structured(ScriptedModel(['{"memories":[{"text":"猫 \\ud83d\\ude3a \\u0000"}]}']), PROMPT, Facts)
    assert whole.value.memories[0]["text"].rstrip() == "猫 😺"


async def test_a_cut_off_answer_keeps_what_was_finished_and_says_so() -> None:
    said = '{"memories": [{"text": "Has a cat"}, {"text": "Lives in Gr'
    answer = await structured(ScriptedModel([said]), PROMPT, Facts)
    assert answer.value.memories[0] == {"text": "Has a cat"}
    assert answer.truncated
    told = Completion(text=GOOD, model="m", truncated=True)
    assert (await structured(ScriptedModel([told]), PROMPT, Facts)).truncated


UNUSABLE = {
    "prose": "You have reached your monthly limit",
    "schema echoed": '{"$defs": {"Memory": {}}, "properties": {"memories": {"type": "array"}}, "type": "object"}',
    "schema by its properties": '{"type": "object", "properties": {"memories": {"type": "array"}}}',
    "another object": '{"error": {"message": "quota"}}',
    "nothing": "",
    "prose with empty brackets": "I found {} nothing [] here",
    "wrong type": '{"memories": "none"}',
    "a number": "42",
}


@pytest.mark.parametrize("said", UNUSABLE.values(), ids=UNUSABLE.keys())
async def test_an_unusable_answer_is_asked_for_once_more_with_the_error(said: str) -> None:
    model = ScriptedModel([said, GOOD])
    answer = await structured(model, PROMPT, Facts)
    assert answer.value.memories == [{"text": "Has a cat"}]
    assert answer.calls == 2
    assert "could not be used" in model.asked[1].user
    assert model.asked[1].user.startswith(PROMPT.user)
    assert answer.usage.input > model.asked[0].user.count(" ")


@pytest.mark.parametrize("said", UNUSABLE.values(), ids=UNUSABLE.keys())
async def test_twice_unusable_is_said_without_the_words_of_the_answer(said: str) -> None:
    model = ScriptedModel([said, said])
    with pytest.raises(Unanswerable) as caught:
        await structured(model, PROMPT, Facts)
    assert caught.value.obstacle is Obstacle.UNREADABLE
    assert "monthly limit" not in str(caught.value)
    assert len(model.asked) == 2


async def test_an_answer_that_is_cut_off_before_it_says_anything_is_too_long() -> None:
    cut = Completion(text="<think>hm, let me", model="m", truncated=True, usage=Usage(output=5))
    with pytest.raises(Unanswerable) as caught:
        await structured(ScriptedModel([cut, cut]), PROMPT, Facts)
    assert caught.value.obstacle is Obstacle.TOO_LONG


async def test_an_outage_is_no_unusable_answer() -> None:
    with pytest.raises(ModelUnavailable):
        await structured(ScriptedModel([ModelUnavailable("down")]), PROMPT, Facts)


async def test_the_bill_covers_both_calls() -> None:
    first = Completion(text="no", model="m", usage=Usage(input=10, output=1, cost=0.5))
    second = Completion(text=GOOD, model="m", usage=Usage(input=20, output=2, cost=0.25))
    answer = await structured(ScriptedModel([first, second]), PROMPT, Facts)
    assert answer.usage == Usage(input=30, output=3, cost=0.75)


def test_a_schema_is_told_from_an_answer() -> None:
    assert is_schema({"$schema": "x"})
    assert not is_schema({"memories": []})
    assert not is_schema([1])


def test_text_without_reasoning_stays_as_it_is() -> None:
    assert strip_reasoning("a <b> c") == "a <b> c"


@given(st.text(alphabet='{}[]",:\\ \nab1`<think>/', max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    for found in read_json(text):
        assert isinstance(found.value, dict | list)


def test_a_very_long_text_of_brackets_is_read_in_reasonable_time() -> None:
    assert list(read_json("[" * 20_000)) == []
    list(read_json('{"a": ' * 5_000))
