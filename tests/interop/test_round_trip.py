"""What is read in a dialect is written in it as it was, and reads the same again."""

from __future__ import annotations

import copy
import json

import pytest
from dialect_files import FILES
from hypothesis import given
from hypothesis import strategies as st

from stenolith.interop import read_messages, write_messages
from stenolith.model.message import message_from_dict, message_to_dict


@pytest.mark.parametrize("dialect", FILES)
@given(data=st.data())
def test_a_well_formed_file_is_written_back_as_it_was(dialect, data):
    messages = data.draw(FILES[dialect])
    before = copy.deepcopy(messages)
    reading = read_messages(json.dumps(messages), dialect=dialect)
    assert reading.problems == ()
    assert write_messages(reading.messages, dialect) == before


@pytest.mark.parametrize("dialect", FILES)
@given(data=st.data())
def test_every_dialect_survives_the_canonical_form(dialect, data):
    reading = read_messages(json.dumps(data.draw(FILES[dialect])), dialect=dialect)
    stored = json.dumps([message_to_dict(message) for message in reading.messages])
    again = tuple(message_from_dict(value) for value in json.loads(stored))
    assert again == reading.messages
    assert read_messages(stored, dialect="canonical").messages == reading.messages
    assert write_messages(again, dialect) == write_messages(reading.messages, dialect)


@pytest.mark.parametrize("second", FILES)
@pytest.mark.parametrize("first", FILES)
def test_one_dialects_spelling_does_not_leak_into_another(first, second):
    odd = [{"role": "user", "content": [{"type": "text", "text": "x", "odd_block_key": 1}], "odd_key": 2}]
    written = json.dumps(write_messages(read_messages(json.dumps(odd), dialect=first).messages, second))
    assert ("odd_key" in written) is (first == second)
    assert ("odd_block_key" in written) is (first == second)


@pytest.mark.parametrize("second", FILES)
def test_an_unknown_part_that_is_a_text_is_never_taken_for_words(second):
    odd = [{"role": "assistant", "content": "a", "tool_calls": ["not a call"]}]
    found = read_messages(json.dumps(odd), dialect="openai-chat").messages
    again = read_messages(json.dumps(write_messages(found, second)), dialect=second).messages
    assert [message.text() for message in again] == ["a"]
    assert "not a call" in json.dumps([message_to_dict(message) for message in again])
