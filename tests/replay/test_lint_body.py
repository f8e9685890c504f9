"""The request body is looked at in slices: what is found must not depend on where one ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stenolith.replay.lint.body import lone_surrogates, measure, pack

SLICE = 512  # messages looked at together


def request(count: int, **more: Any) -> dict[str, Any]:
    texts = ["plain", 'quoted "words"\n', "好的", "", "\x00\x1f"]
    return {
        "system": "be brief",
        "messages": [{"role": "user", "content": texts[at % 5]} for at in range(count)],
        **more,
    }


@pytest.mark.parametrize("count", [0, 1, 2, SLICE - 1, SLICE, SLICE + 1, 2 * SLICE, 2 * SLICE + 1])
def test_the_measured_size_is_that_of_the_json_text(count: int) -> None:
    body = request(count, tools=[{"name": "read"}])
    assert measure(body, "messages") == len(json.dumps(body, ensure_ascii=False).encode())


@pytest.mark.parametrize("body", [{}, {"messages": "none"}, {"messages": None}, {"messages": ({"role": "user"},)}])
def test_a_body_without_a_list_of_messages_is_measured_whole(body: dict[str, Any]) -> None:
    assert measure(body, "messages") == len(json.dumps(body))


@pytest.mark.parametrize("count", [1, SLICE, SLICE + 1, 3 * SLICE])
def test_the_packed_size_is_near_that_of_the_json_text(count: int) -> None:
    body = request(count)
    text = len(json.dumps(body, ensure_ascii=False).encode())
    assert text / 2 < pack(body, "messages").size < 2 * text


@pytest.mark.parametrize("at", [0, SLICE - 1, SLICE, 2 * SLICE])
def test_half_a_character_is_found_in_whatever_slice_it_stands(at: int) -> None:
    body = request(2 * SLICE + 1)
    assert not pack(body, "messages").halves
    body["messages"][at]["content"] = "a\ud83d b"
    assert [found.path for found in lone_surrogates(body, pack(body, "messages"))] == [f"messages[{at}].content"]


def test_half_a_character_is_found_beside_the_messages() -> None:
    body = request(3, system="\udc00")
    assert [found.path for found in lone_surrogates(body, pack(body, "messages"))] == ["system"]


def test_what_is_no_json_value_is_shown_by_its_name() -> None:
    body = {"messages": [{"role": "user", "content": object}]}
    assert pack(body, "messages").size > 0
    assert measure(body, "messages") == len(json.dumps(body, default=repr))
