"""The borrowed validators really do refuse: each is shown one good payload and several bad ones."""

from __future__ import annotations

import pytest
from validators import validate

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def _ant(*blocks, role="assistant"):
    return {"messages": [{"role": "user", "content": "q"}, {"role": role, "content": list(blocks)}]}


def _chat(*messages):
    return {"messages": list(messages)}


def _call(id_="abcdefghi", arguments="{}"):
    return {"id": id_, "type": "function", "function": {"name": "run", "arguments": arguments}}


def _mis(*messages):
    return {"messages": [{"role": "user", "content": "q"}, *messages]}


def _bed(*blocks, role="user", **more):
    return {"messages": [{"role": role, "content": list(blocks)}], **more}


def _use(id_="t1", name="run"):
    return {"toolUse": {"toolUseId": id_, "name": name, "input": {}}}


def _picture(kind="png", data=PIXEL):
    return {"image": {"format": kind, "source": {"bytes": data}}}


ANT, CHT, RSP = "anthropic-messages", "openai-chat", "openai-responses"
GEM, BED, MIS = "google-generative-ai", "bedrock-converse", "mistral-conversations"
OPENED = {"role": "assistant", "tool_calls": [_call()]}
RESULT = {"role": "tool", "tool_call_id": "abcdefghi", "content": "r"}

GOOD = [
    (ANT, _ant({"type": "text", "text": "a"}, {"type": "tool_use", "id": "c1", "name": "run", "input": {}})),
    (ANT, {"system": "s", "messages": []}),
    (CHT, _chat({"role": "user", "content": "q"}, OPENED, RESULT)),
    (RSP, {"input": [{"type": "function_call_output", "call_id": "call_1", "output": "x"}]}),
    (GEM, {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "systemInstruction": {"parts": [{"text": "s"}]}}),
    (BED, _bed({"text": "q"}, _picture(), _use())),
    (MIS, _mis(OPENED, RESULT)),
]

BAD = [
    (ANT, _ant({"type": "thinking", "thinking": "t"}), "'signature'): Field required"),
    (ANT, _ant({"type": "tool_use", "id": "c1", "name": "run"}), "'input'): Field required"),
    (ANT, _ant({"type": "invented", "text": "a"}), "Input should be 'text'"),
    (
        ANT,
        _ant(
            {"type": "image", "source": {"type": "base64", "media_type": "image/bmp", "data": PIXEL}},
            role="user",
        ),
        "image/jpeg",
    ),
    (ANT, {"system": [{"type": "image"}], "messages": []}, "anthropic-system"),
    (CHT, _chat({"role": "assistant", "tool_calls": [_call(arguments={})]}), "string"),
    (CHT, _chat({"role": "tool", "content": "r"}), "tool_call_id"),
    (RSP, {"input": [{"type": "invented", "id": "x"}]}, "responses"),
    (GEM, {"contents": [{"role": "user", "parts": [{"text": "q", "extra": 1}]}]}, "Extra inputs"),
    (GEM, {"contents": [{"role": "model", "parts": [{"text": "q", "thoughtSignature": "not b64!"}]}]}, "base64"),
    (GEM, {"contents": [], "systemInstruction": {"pieces": []}}, "Extra inputs"),
    (BED, _bed(_use(id_="a|b")), "does not match"),
    (BED, _bed(_use(name="n" * 65)), "longer than 64"),
    (BED, _bed(_picture(kind="bmp")), "is not one of"),
    (BED, _bed(_picture(data="@@")), "bedrock"),
    (BED, _bed({"text": "a", "toolUse": _use()["toolUse"]}), "one of the following"),
    (BED, _bed({"text": "a"}, toolConfig={"tools": []}), "Invalid length"),
    (
        MIS,
        _mis({"role": "assistant", "tool_calls": [_call("call_1")]}, {**RESULT, "tool_call_id": "call_1"}),
        "length of 9",
    ),
    (MIS, _mis(OPENED, {"role": "user", "content": "n"}), "Not the same number"),
    (MIS, _mis({"role": "assistant", "content": "a"}), "Expected last role"),
    (MIS, _mis(OPENED, {**RESULT, "tool_call_id": "ihgfedcba"}), "Unexpected tool call id"),
]


@pytest.mark.parametrize(("api", "payload"), GOOD)
def test_a_good_payload_is_accepted(api, payload):
    assert validate(api, payload) == []


@pytest.mark.parametrize(("api", "payload", "word"), BAD)
def test_a_known_bad_payload_is_refused(api, payload, word):
    found = validate(api, payload)
    assert found
    assert word in " ".join(found)


def test_the_old_mistral_validator_refuses_content_beside_calls():
    payload = _mis({**OPENED, "content": "a"}, RESULT)
    assert validate(MIS, payload) == []
    assert "not both" in validate(MIS, payload, old_mistral=True)[0]
