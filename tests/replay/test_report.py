"""Whatever text leaves the payload stands in the report: the cuts that are easily forgotten."""

from __future__ import annotations

import json

import pytest
from notation import ANY, A, R, U, call, clean, details, send, show

from stenolith.interop import read_messages
from stenolith.model.message import Opaque, ToolCall
from stenolith.replay.display import display


@pytest.mark.parametrize("route", ANY)
def test_a_text_that_lost_half_a_character_is_told_as_it_was(route):
    sent = send(route, U("a\ud83d b"), A(call("c1", arguments={"k": "v\udfff"})), R("c1", "r\ud800"), U("z"))
    assert {"a\\ud83d b", "r\\ud800"} <= {change.detail for change in sent.report}
    assert "v\\udfff" in details(sent)


@pytest.mark.parametrize("route", ["BED", "RSP"])
def test_a_text_that_lost_a_control_character_is_told_as_it_was(route):
    sent = send(route, U("ring\x07 the bell"), A("ok"), U("z"))
    assert "ring the bell" in json.dumps(sent.payload)
    assert "ring\x07 the bell" in {change.detail for change in sent.report}


@pytest.mark.parametrize("route", ANY)
def test_what_a_tool_returned_in_a_form_we_do_not_know_is_worded(route):
    found = {
        "type": "search_result",
        "source": "https://x",
        "title": "Doc",
        "content": [{"type": "text", "text": "words"}],
    }
    result = {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": [found, {"type": "tool_reference", "tool_name": "t"}],
    }
    stored = read_messages(
        json.dumps(
            [
                {"role": "user", "content": "q"},
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}}],
                },
                {"role": "user", "content": [result]},
            ]
        )
    ).messages
    sent = send(route, *stored)
    told = json.dumps(sent.payload)
    assert "[search_result]\\nDoc\\nwords" in told
    assert "[unsupported content omitted: tool_reference]" in told
    assert "https://x" in details(sent)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"type": "document", "title": "T", "source": {"type": "text", "data": "plain"}}, "[document]\nT\nplain"),
        ({"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}}, "[resource]\ninside"),
        ({"type": "document", "source": {"type": "base64", "data": "QUJD"}}, "[unsupported content omitted: document]"),
        ({"type": "image_url", "image_url": {"url": "https://x/a.png"}}, "[image_url]\nhttps://x/a.png"),
        ({"type": "image", "source": {"type": "url", "url": "https://x/a.png"}}, "[image]\nhttps://x/a.png"),
        ({"type": "input_image", "image_url": "https://x/a.png"}, "[input_image]\nhttps://x/a.png"),
        (
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"},
            "[input_file]\na.pdf",
        ),
        ({"type": "file", "file": {"filename": "a.pdf", "file_data": "QUJD"}}, "[file]\na.pdf"),
        ({"type": "x", "text": "  "}, "[unsupported content omitted: x]"),
    ],
)
def test_what_a_person_sent_in_a_form_we_do_not_know_is_worded(value, words):
    sent = send("ANT", U("look", Opaque(kind=value["type"], value=value)))
    assert sent.payload["messages"][0]["content"][1]["text"] == words
    assert str(value) in details(sent)


def test_of_a_deleted_message_only_its_place_is_left():
    gone = Opaque(kind="forgotten", value=None)
    stored = [U(gone), A("a"), U("q"), A(gone), U("z")]
    assert show(clean("ANT", *stored)) == 'U"[deleted]"|A"a"|U"q"|A"[deleted]"|U"z"'
    assert [message.text() for message in display(stored)] == ["a", "q", "z"]


def test_arguments_without_end_in_the_wrong_message_are_no_error():
    deep: dict[str, object] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    sent = send("ANT", U("q", ToolCall(id="c", name="read", arguments=deep)))
    assert "[nested too deeply]" in details(sent)
