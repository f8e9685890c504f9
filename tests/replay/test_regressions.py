"""One test for each public regression of spec/replay.md section 6 that concerns replay."""

from __future__ import annotations

import base64
import io
import json
import re
from itertools import pairwise

import pytest
from notation import (
    ANY,
    FAILED,
    ROUTES,
    SIG,
    SIG2,
    A,
    R,
    U,
    call,
    call_ids,
    clean,
    details,
    origin,
    rs,
    send,
    show,
    target,
    think,
)
from PIL import Image as Pillow

from stenolith.model.message import Image, Origin, Text
from stenolith.model.provenance import Provenance, ProvenanceKind
from stenolith.replay.pipeline import replay
from stenolith.replay.plan import Options
from stenolith.replay.policy import Reasoning, resolve
from stenolith.replay.recovery import Retry, classify, is_transcript_error


@pytest.mark.parametrize("route", ANY)
def test_regression_issue_9769_an_abort_in_a_tool_call_never_bricks_a_session(route):
    # a synthetic result was stored, its call was not
    send(route, U("q"), A("said", stop="aborted"), R("c1", "inserted", error=True, synthetic=True), U("go on"))


@pytest.mark.parametrize("issue", [8536, 5497, 9958, 9964])
def test_regression_issue_8536_5497_9958_9964_results_stand_behind_their_own_call(issue):
    stored = [
        U("q"),
        A(call("c1")),
        R("c1", "one"),
        A("text"),
        R("c1", "one", synthetic=True),
        A(call("c2")),
        R("c1"),
        U("z"),
    ]
    send("ANT", *stored)
    send("BED", *stored)


@pytest.mark.parametrize("route", ANY)
def test_regression_issue_10310_a_kill_in_a_tool_leaves_no_dangling_call(route):
    assert "R? " in show(clean(route, U("q"), A(call("c1"))))
    send(route, U("q"), A(call("c1")))


@pytest.mark.parametrize("route", ANY)
def test_regression_issue_16823_several_corruptions_in_one_transcript(route):
    stored = [
        U("q"), R("x", "no call"), A(call("c1"), call("c2")), R("c2", "two"), U("go"), A(call("c1")), A(stop="error"),
        R("", "no id"), U("go"), A(call("c3"), stop="aborted"), U("z"),
    ]  # fmt: skip
    send(route, *stored)


def test_regression_issue_21985_a_phantom_result_does_not_survive():
    found = clean("ANT", U("q"), A("text only", stop="tool_use"), R("", "Tool  not found"), U("z"))
    assert "R" not in show(found)


@pytest.mark.parametrize("issue", [50059, 69846])
def test_regression_issue_50059_69846_partial_json_is_no_call(issue):
    found = clean("ANT", U("q"), A("p", call("c1", arguments={}, partial='{"path": "a\n')), U("z"))
    assert show(found) == 'U"q"|A"p"|U"z"'
    assert '{"path": "a' in details(found)


def test_regression_issue_109443_ids_that_restart_lose_no_result():
    stored = [U("q"), A(call("c1")), R("c1", "one"), U("u"), A(call("c1")), R("c1", "two"), U("z")]
    assert re.findall(r'R \w+ "(\w+)"', show(clean("CC", *stored))) == ["one", "two"]


def test_regression_pull_110956_two_kimi_calls_on_responses_stay_two():
    stored = [
        U("q"),
        A(call("functions.read:0"), call("functions.read_0")),
        R("functions.read:0", "a"),
        R("functions.read_0", "b"),
    ]
    found = clean("RSP", *stored)
    assert len(set(call_ids(found))) == 2
    send("RSP", *stored)


@pytest.mark.parametrize("issue", [84730, 51593])
def test_regression_issue_84730_51593_moonshot_gets_no_duplicate_id(issue):
    stored = [U("q"), A(call("exec:1")), R("exec:1", "a"), A(call("exec:1")), R("exec:1", "b"), U("z")]
    first, second = call_ids(clean("KIM", *stored))
    assert first == "exec:1"
    assert re.fullmatch("call_[0-9a-f]{24}", second)


def test_regression_issue_34294_kimi_ids_keep_their_shape():
    stored = [U("q"), A(call("functions.read:0")), R("functions.read:0", "a"), U("z")]
    assert call_ids(clean("KIM", *stored)) == ["functions.read:0"]


@pytest.mark.parametrize("route", ["OAI", "MMX"])
def test_regression_issue_56021_no_invented_id_reaches_the_wire(route):
    sent = send(route, U("q"), R("zzz_1", "lost"), R("zzz_1", "lost too"), A("a"), U("z"))
    assert "zzz" not in json.dumps(sent.payload)
    assert "lost too" in details(sent)


@pytest.mark.parametrize("issue", [75271, 78883, 76329])
def test_regression_issue_75271_78883_76329_the_stored_reply_survives_the_prefill_rule(issue):
    stored = [U("q"), A("delivered")]
    found = clean("ANT", *stored, thinking=True)
    assert show(found) == 'U"q"'
    assert stored[1].text() == "delivered"
    assert "delivered" in details(found)


def test_regression_pull_74160_a_failure_sentence_never_ends_a_request():
    for text in [FAILED, "[assistant turn failed before producing content]"]:
        assert show(clean("OLD", U("q"), A(text))) == 'U"q"'


@pytest.mark.parametrize("route", ANY)
def test_regression_issue_75313_a_request_always_has_a_user(route):
    found = show(clean(route, A("hi"), U("  ")))
    assert 'U"(continue)"' in found
    send(route, U("  "))
    send(route)


@pytest.mark.parametrize("route", ["BED", "ANT"])
def test_regression_issue_71572_an_empty_error_turn_is_no_death_loop(route):
    stored = [U("q")]
    for _ in range(5):
        stored += [A(stop="error"), U("again")]
        send(route, *stored)


def test_regression_issue_141187_words_sent_out_of_band_are_in_the_context():
    mirror = A("sent by a command", origin=Origin(provider="openclaw", api="", model="delivery-mirror"))
    assert "sent by a command" in show(clean("OAI", U("q"), mirror, U("z")))


def test_regression_pull_88687_a_mirror_is_known_by_its_flag():
    row = A("a", origin=origin("OAI"), extra={"mirror": True})
    assert show(clean("OAI", U("q"), A("a"), row, U("z"))) == 'U"q"|A"a"|U"z"'


@pytest.mark.parametrize("issue", [90108, 85912, 94711, 102797])
def test_regression_issue_90108_85912_94711_102797_stale_signatures_are_not_sent(issue):
    summary = U("so far", extra={"summary": "compaction"}, timestamp=5000)
    stored = [summary, A(think("t", SIG), call("c1"), timestamp=4100), R("c1", "x")]
    sent = send("ANT", *stored, thinking=True)
    assert SIG not in json.dumps(sent.payload)
    assert sent.hints.disable_thinking


def test_regression_issue_92201_one_truncated_signature_does_not_poison_the_session():
    torn = SIG[:-3]
    assert len(torn) % 4 == 1
    sent = json.dumps(send("ANT", U("q"), A(think("t", torn), "a"), U("u"), A(think("", SIG2), "b"), U("z")).payload)
    assert torn not in sent
    assert SIG2 in sent


def test_regression_issue_101836_no_user_turn_is_dropped_with_a_bad_signature():
    stored = [U("first"), A(think("t", "corrupt!")), U("second"), A(think("t", SIG), "a"), U("third")]
    assert re.findall('U"(.*?)"', show(clean("ANT", *stored))) == ["first", "second", "third"]


def test_regression_issue_94228_prior_thinking_can_be_left_out():
    stored = [U("q"), A(think("t", SIG), "a"), U("u"), A(think("t2", SIG2), call("c1")), R("c1", "x")]
    found = show(clean("ANT", *stored, options=Options(drop_prior_thinking=True)))
    assert found == 'U"q"|A"a"|U"u"|A<t2>+[c1 read]|R c1 "x"'


def test_regression_issue_84430_an_aborted_streams_thinking_is_not_sent():
    found = clean("ANT", U("q"), A(think("half a thought"), stop="aborted"), U("z"))
    assert "half" not in show(found)
    send("ANT", U("q"), A(think("half a thought"), stop="aborted"), U("z"))


@pytest.mark.parametrize("issue", [1126, 19582, 58967])
def test_regression_issue_1126_19582_58967_reasoning_needs_its_follower(issue):
    items = send("RSP", U("q"), A(rs("rs_1"), stop="aborted"), U("z")).payload["input"]
    assert not any(item.get("type") == "reasoning" for item in items)


def test_regression_issue_80452_a_message_without_its_reasoning_has_no_id():
    lone = A(Text(text="a", signature="msg_1"), origin=origin("RSP"))
    items = send("RSP", U("q"), lone, U("z")).payload["input"]
    assert not any("id" in item for item in items)


def test_regression_issue_81058_self_hosted_reasoning_models_keep_their_reasoning():
    told = resolve("vllm", "openai-completions", "qwen3-thinking", model_meta={"reasoning": True})
    assert not told.drop_reasoning_from_history
    assert told.reasoning is Reasoning.FIELD
    assert resolve("vllm", "openai-completions", "qwen3").drop_reasoning_from_history


@pytest.mark.parametrize("issue", [71050, 71160, 73417, 83135, 91558, 82161, 70565, 71491])
@pytest.mark.parametrize("route", ["DS", "KIM"])
def test_regression_issue_71050_and_its_family_every_tool_message_carries_reasoning(issue, route):
    stored = [U("q"), A(think("t1"), call("c1")), R("c1", "x"), A(call("c2")), R("c2", "y")]
    for message in send(route, *stored, thinking=True).payload["messages"]:
        assert message["role"] != "assistant" or isinstance(message.get("reasoning_content"), str)


@pytest.mark.parametrize("issue", [77336, 71697, 25956])
def test_regression_issue_77336_71697_25956_mistral_templates_alternate(issue):
    stored = [U("a"), U("b"), A("x"), A("y"), U("c"), A(call("c1")), R("c1", "r"), U("d")]
    messages = send("MIS", *stored).payload["messages"]
    roles = [message["role"] for message in messages if message["role"] != "tool" and not message.get("tool_calls")]
    assert all(first != second for first, second in pairwise(roles))


def test_regression_issue_65315_and_its_family_a_parroted_context_is_cut():
    block = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nprivate\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"
    for stored in [A(f"ok\n{block}"), A(block, "ok"), A(f"{block}\nok")]:
        assert show(clean("OAI", U("q"), stored, U("z"))) == 'U"q"|A"ok"|U"z"'


def test_regression_pull_83755_the_marker_is_not_in_the_stored_text():
    stored = U("do it", provenance=Provenance(kind=ProvenanceKind.INTER_SESSION, session="agent:a"))
    assert "[Inter-session message]" in show(clean("OAI", stored))
    assert stored.text() == "do it"


def test_regression_issue_125942_a_failed_request_stays_closed():
    found = clean("ANT", U("delete the files"), A(stop="error"), U("what time is it?"))
    assert show(found) == f'U"delete the files"|A"{FAILED}"|U"what time is it?"'


@pytest.mark.parametrize("route", ANY)
def test_regression_issue_146331_the_current_input_and_results_are_never_dropped(route):
    stored = [U("q"), A(call("c1")), R("c1", "answer"), A(stop="error"), U("current input")]
    sent = json.dumps(send(route, *stored).payload)
    assert "current input" in sent
    assert "answer" in sent


def test_regression_pi_5148_no_item_is_sent_twice_after_a_switch():
    turn = A(rs("rs_1"), Text(text="a", signature="msg_1"), call("call_1|fc_1"))
    stored = [U("q"), turn, R("call_1|fc_1", "x"), U("u"), turn, R("call_1|fc_1", "y"), U("z")]
    items = [item["id"] for item in send("RSP", *stored).payload["input"] if "id" in item]
    assert len(items) == len(set(items))


def test_regression_pydantic_ai_2327_bedrock_gets_as_many_results_as_calls():
    stored = [U("q"), A(call("c1"), call("c2")), R("c2", "two"), U("z")]
    messages = send("BED", *stored).payload["messages"]
    assert sum("toolResult" in block for block in messages[2]["content"]) == 2


def png(width, height):
    """The header of a picture, which is all that a limit on its sides looks at."""
    target = io.BytesIO()
    Pillow.new("RGB", (width, height)).save(target, "PNG")
    return Image(data=base64.b64encode(target.getvalue()).decode(), mime="image/png")


def sides(payload):
    blocks = [block for message in payload["messages"] for block in message["content"] if block["type"] == "image"]
    pictures = [Pillow.open(io.BytesIO(base64.b64decode(block["source"]["data"]))) for block in blocks]
    return [max(picture.size) for picture in pictures]


def test_regression_issue_19622_11180_6798_pi_224_one_large_picture_does_not_poison_a_session():
    noise = io.BytesIO()
    Pillow.effect_noise((3000, 2600), 100).save(noise, "PNG")
    large = Image(data=base64.b64encode(noise.getvalue()).decode(), mime="image/png")
    assert len(large.data) > 5 << 20
    sent = send("ANT", U("see", large), A("seen"), U("z"))
    assert sides(sent.payload) == [1200]
    assert len(json.dumps(sent.payload)) < 5 << 20


def test_regression_issue_72193_the_limits_of_pictures_are_the_callers():
    provider, api, model = ROUTES["ANT"]
    policy = resolve(provider, api, model, overrides={"image_max_side": 1900})
    sent = replay([U(png(1900, 10))], target("ANT"), policy)
    assert sides(sent.payload) == [1900]


def test_regression_claude_code_59133_many_pictures_keep_to_2000_pixels():
    provider, api, model = ROUTES["ANT"]
    policy = resolve(provider, api, model, overrides={"image_max_side": 8000})
    sent = replay([U(*[png(2400, 2)] * 21)], target("ANT"), policy)
    assert set(sides(sent.payload)) == {2000}
    assert sent.violations == ()


@pytest.mark.parametrize("body", [b"y" * 9, b"z" * 5])
def test_regression_python_genai_2105_both_alphabets_of_a_signature_are_whole(body):
    for signature in (base64.b64encode(b"\xff\xfe" + body), base64.urlsafe_b64encode(b"\xff\xfe" + body)):
        named = call("c1", signature=signature.decode())
        stored = [U("q"), A(named, origin=origin("GOO")), R("c1", "x"), U("z")]
        sent = send("GOO", *stored).payload["contents"][1]["parts"][0]
        assert sent["thoughtSignature"] == signature.decode()


def test_regression_vllm_6862_mistral_vibe_255_a_user_never_stands_right_behind_a_tool():
    roles = [
        message["role"] for message in send("MIS", U("q"), A(call("c1")), R("c1", "x"), U("z")).payload["messages"]
    ]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]


def test_regression_issue_149797_119266_a_wake_without_words_says_where_it_comes_from():
    relay = Provenance(kind=ProvenanceKind.INTER_SESSION, session="agent:a", tool="sessions_send")
    (message,) = clean("OAI", U(png(1, 1), provenance=relay)).messages
    assert message.text().startswith(
        "[Inter-session message] sourceSession=agent:a sourceTool=sessions_send isUser=false"
    )
    assert message.provenance == relay


def test_regression_issue_15037_a_refused_transcript_is_not_the_providers_failure():
    refusal = "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1"
    assert is_transcript_error("anthropic", 400, refusal)
    assert not is_transcript_error("anthropic", 529, "Overloaded")


def test_regression_pydantic_ai_7984_thinking_bound_to_another_prefix_is_dropped_once():
    said = (
        "messages.3.content.0: Invalid `signature` in `thinking` block: The block is bound to a different conversation."
        " Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior`"
    )
    hint = classify("anthropic", 400, said, output_started=False)
    assert hint is not None
    assert (hint.code, hint.retry) == ("W-ANT-10", Retry.DROP_THINKING)
    assert classify("anthropic", 400, said, output_started=True) is None  # half an answer is not asked for again


def test_every_route_of_these_tests_resolves():
    assert all(resolve(*route).row for route in ROUTES.values())
