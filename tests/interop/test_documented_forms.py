"""Whatever a provider documents is read without a complaint, written as it was, and replayed to any other provider."""

from __future__ import annotations

import json
from typing import Any

import pytest
from documented_forms import FORMS

from stenolith.interop import read_messages, write_messages
from stenolith.model.message import Message, Text, ToolResult, message_from_dict, message_to_dict
from stenolith.replay.pipeline import replay
from stenolith.replay.policy import Target, parse_api, resolve

ROUTES = [
    ("anthropic", "anthropic-messages", "claude-opus-4-6"),
    ("openai", "openai-responses", "gpt-5.4"),
    ("groq", "openai-chat", "llama-3.3"),
    ("google", "google-generative-ai", "gemini-3-pro"),
    ("amazon-bedrock", "bedrock-converse", "us.anthropic.claude-opus-4-6-v1"),
    ("mistral", "mistral-conversations", "mistral-large-latest"),
]
forms = pytest.mark.parametrize(("dialect", "name", "messages"), FORMS, ids=[f"{form[0]} {form[1]}" for form in FORMS])


@forms
def test_it_is_recognised(dialect: str, name: str, messages: Any) -> None:
    assert read_messages(json.dumps(messages)).dialect == dialect


@forms
def test_it_is_written_as_it_was(dialect: str, name: str, messages: Any) -> None:
    reading = read_messages(json.dumps(messages), dialect=dialect)
    assert reading.problems == ()
    assert write_messages(reading.messages, dialect) == messages
    stored = json.dumps([message_to_dict(message) for message in reading.messages])
    assert write_messages([message_from_dict(value) for value in json.loads(stored)], dialect) == messages


@pytest.mark.parametrize("route", ROUTES, ids="/".join)
@forms
def test_it_can_be_replayed_anywhere_and_its_words_are_not_lost(
    dialect: str, name: str, messages: Any, route: tuple[str, str, str]
) -> None:
    provider, api, model = route
    target = Target(provider=provider, api=parse_api(api), model=model)
    stored = read_messages(json.dumps(messages), dialect=dialect).messages
    sent = replay(stored, target, resolve(provider, api, model))
    assert [violation.to_dict() for violation in sent.violations] == []
    told = json.dumps(sent.to_dict(), ensure_ascii=False)
    assert [word for word in _words(stored) if json.dumps(word, ensure_ascii=False)[1:-1] not in told] == []


def _words(messages: tuple[Message, ...]) -> list[str]:
    said = [part.text for message in messages for part in message.parts if isinstance(part, Text)]
    results = [part for message in messages for part in message.parts if isinstance(part, ToolResult)]
    returned = [piece.text for result in results for piece in result.content if isinstance(piece, Text)]
    return [word for word in said + returned if word.strip()]


def test_what_a_model_said_aloud_is_read_as_its_words() -> None:
    spoken = [{"role": "assistant", "content": None, "audio": {"id": "a", "transcript": "hello there"}}]
    (message,) = read_messages(json.dumps(spoken)).messages
    assert message.text() == "hello there"
    assert write_messages([message], "openai-chat") == spoken


def test_a_thought_signature_on_a_chat_call_goes_back_where_it_is_wanted() -> None:
    extra = {"google": {"thought_signature": "QUJD"}}
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}, "extra_content": extra}
    stored = read_messages(
        json.dumps(
            [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": "r"},
            ]
        )
    ).messages
    target = Target(provider="openrouter", api=parse_api("openai-chat"), model="google/gemini-3-pro")
    assert replay(stored, target).payload["messages"][1]["tool_calls"][0]["extra_content"] == extra
    native = replay(stored, Target(provider="google", api=parse_api("google"), model="gemini-3-pro"))
    assert native.payload["contents"][1]["parts"][0]["thoughtSignature"] == "QUJD"
