"""Anthropic, Bedrock and Gemini: every rule finds exactly what it is for, and lets the near miss pass."""

from __future__ import annotations

import base64
import struct
from dataclasses import replace

import pytest
from lint_rows import check_found, rows

from stenolith.replay.lint import codes, lint, rules_anthropic
from stenolith.replay.lint.rule import run
from stenolith.replay.policy import resolve

ANT, BED, GEM = "anthropic-messages", "bedrock-converse", "google-generative-ai"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ON = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


def png(width, height):
    """A PNG header: enough for everything that reads sizes from bytes."""
    return base64.b64encode(
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\0" * 9
    ).decode()


# --- Anthropic ---------------------------------------------------------------------------------------


def u(*content):
    return {
        "role": "user",
        "content": content[0] if len(content) == 1 and isinstance(content[0], str) else list(content),
    }


def a(*content):
    return {**u(*content), "role": "assistant"}


def t(text):
    return {"type": "text", "text": text}


def call(id_="c1", **more):
    return {"type": "tool_use", "id": id_, "name": "run", "input": {}, **more}


def res(id_="c1", content="r"):
    return {"type": "tool_result", "tool_use_id": id_, "content": content}


def think(signature="QUJD", **more):
    return {"type": "thinking", "thinking": "t", "signature": signature, **more}


def img(data=PIXEL, mime="image/png"):
    return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}


def ant(*messages, **more):
    return {"messages": list(messages), **more}


Q, DONE = u("q"), u("next")
SMALL = png(100, 100)
ANTHROPIC = [
    # code, bad payload, path, words of the message, near miss, provider, model
    ("W-ANT-1", ant(Q, a("x"), u(res("zz"))), "messages[2].content[0]", "unexpected `tool_use_id` found in `tool_result` blocks: zz", ant(Q, a(call("zz")), u(res("zz")))),
    ("W-ANT-1", ant(Q, a(call()), u(res()), a("x"), u(res("c0"))), "messages[4].content[0]", "messages.4.content.0:", ant(Q, a(call()), u(res()), u(t("x")))),
    ("W-ANT-2", ant(Q, a(call(), call("c2")), u(res("c2"))), "messages[1].content[0]", "without `tool_result` blocks immediately after: c1", ant(Q, a(call(), call("c2")), u(res("c2")), u(res()))),
    ("W-ANT-3", ant(Q, a(call()), u(t("x"), res())), "messages[2].content[1]", "must have a corresponding `tool_result` block in the next message", ant(Q, a(call()), u(res(), t("x")))),
    ("W-ANT-4", ant(Q, a(call()), u(res()), a(call()), u(res("c2"))), None, "`tool_use` ids must be unique", ant(Q, a(call()), u(res()), a(call("c2")), u(res("c2")))),
    ("W-ANT-4", ant(Q, a(call()), u(res(), res())), "messages[2].content[1]", "each tool_use must have a single result", ant(Q, a(call(), call("c2")), u(res(), res("c2")))),
    ("W-ANT-5", ant(Q, a(call("a|b")), u(res("a|b"))), "messages[1].content[0]", "messages.1.content.0.tool_use.id: String should match pattern", ant(Q, a(call("a_b-1")), u(res("a_b-1")))),
    ("W-ANT-6", ant(Q, a(t(""))), "messages[1].content[0]", "text content blocks must be non-empty", ant(Q, a(t(".")))),
    ("W-ANT-6", ant(u(t(" \n"))), "messages[0].content[0]", "must contain non-whitespace text", ant(u(t(" x")))),
    ("W-ANT-6", ant(Q, a(call()), u(res(content=[t(" ")]))), "messages[2].content[0].content[0]", "non-whitespace", ant(Q, a(call()), u(res(content=[])))),
    ("W-ANT-6", ant(Q, system=[t("")]), "system[0]", "non-empty", ant(Q, system=[t("s")])),
    ("W-ANT-7", ant(Q, a(), u("x")), "messages[1]", "messages.1: all messages must have non-empty content", ant(Q, a())),
    ("W-ANT-7", ant(u("")), "messages[0]", "messages.0:", ant(u("x"))),
    ("W-ANT-8", ant(Q, a("x ")), "messages[1]", "cannot end with trailing whitespace", ant(Q, a("x "), u("y"))),
    ("W-ANT-9", ant(Q, a("x"), **ON), "messages[1]", "does not support assistant message prefill", ant(Q, a("x"))),
    ("W-ANT-9", ant(Q, a("x")), "messages[1]", "must end with a user message", ant(Q, a("x"), u("(continue)")), "anthropic", "claude-opus-4-6"),
    ("W-ANT-10", ant(Q, a(think(""), t("x")), u("y")), "messages[1].content[0]", "Invalid `signature` in `thinking` block", ant(Q, a(think(), t("x")), u("y"))),
    ("W-ANT-10", ant(Q, a(think("QUJDR"), t("x")), u("y")), "messages[1].content[0]", "messages.1.content.0:", ant(Q, a({**think(), "thinking": ""}, t("x")), u("y"))),
    ("W-ANT-10", ant(Q, a({"type": "redacted_thinking", "data": " "}, t("x")), u("y")), "messages[1].content[0]", "`redacted_thinking`", ant(Q, a({"type": "redacted_thinking", "data": "D"}, t("x")), u("y"))),
    ("W-ANT-11", ant(Q, a(think(cache_control={}), t("x")), u("y")), "messages[1].content[0]", "cannot be modified", ant(Q, a(think(cache_control={}), t("x")), u("y"), a("z"), u("w"))),
    ("W-ANT-12", ant(Q, a(t("x"), call()), u(res()), **ON), "messages[1].content[0]", "but found `text`", ant(Q, a(think(), call()), u(res()), **ON)),
    ("W-ANT-12", ant(Q, a(call()), u(res()), **ON), "messages[1].content[0]", "found `tool_use`", ant(Q, a(call()), u(res()), a("x"), u("y"), **ON)),
    ("W-ANT-13", ant(), "messages", "at least one message is required", ant(Q)),
    ("W-ANT-13", ant(a("x"), u("y")), "messages[0]", "first message", ant(u("(session bootstrap)"), a("x"), u("y"))),
    ("W-ANT-14", ant(u(img("iVBO" * 1_310_721))), "messages[0].content[0]", "image exceeds 5 MB maximum: 5242884 bytes > 5242880 bytes", ant(u(img("iVBO" * 1_310_720)))),
    ("W-ANT-14", ant(u(img(png(8001, 10)))), "messages[0].content[0]", "max allowed size: 8000 pixels", ant(u(img(png(8000, 10))))),
    ("W-ANT-14", ant(u(*[img(SMALL)] * 20, img(png(10, 2001)))), "messages[0].content[20]", "many-image requests: 2000 pixels", ant(u(*[img(SMALL)] * 19, img(png(10, 2001))))),
    ("W-ANT-14", ant(u(img(PIXEL, "image/jpeg"))), "messages[0].content[0]", "image/jpeg: it is image/png", ant(u(img()))),
    ("W-ANT-14", ant(u(img("@@@@"))), "messages[0].content[0]", "no known image type", ant(u(img(mime="image/png")))),
    ("W-ANT-14", ant(Q, a(call()), u(res(content=[img(PIXEL, "image/bmp")]))), "messages[2].content[0].content[0]", "image/bmp", ant(Q, a(call()), u(res(content=[img()])))),
    ("W-ANT-14", ant(u(*[img(SMALL)] * 101)), "messages[0].content[100]", "101 > 100", ant(u(*[img(SMALL)] * 100))),
    ("W-ANT-14", ant(u("x" * 32_000_001)), "messages", "maximum size", ant(u("x" * 31_000_000))),
    ("W-ANT-15", ant(u("a\ud83d b")), "messages[0].content", "no low surrogate in string", ant(u("a\U0001f600 b"))),
    ("W-ANT-15", ant(Q, a(call(input={"k\udc00": 1})), u(res())), None, "not valid JSON", ant(Q, a(call(input={"k": 1})), u(res()))),
    ("W-ANT-17", ant(Q, {"role": "system", "content": "s"}, u("x")), "messages[1]", 'Unexpected role "system"', ant(Q, system="s")),
    ("W-ANT-18", ant(Q, a(call(name="my tool")), u(res())), "messages[1].content[0]", "tool_use.name", ant(Q, a(call(name="my_tool")), u(res()))),
    ("W-ANT-18", ant(Q, a(call(input="{}")), u(res())), "messages[1].content[0]", "valid dictionary", ant(Q, a(call(input={})), u(res()))),
    ("W-ANT-19", ant(u({"text": "x"})), "messages[0].content[0]", "messages.0.content.0: Input tag", ant(u({"type": "document", "source": {}}))),
    ("W-MMX-1", ant(Q, a(call()), u(res(), t("x"))), "messages[2]", "tool call result does not follow tool call (2013)", ant(Q, a(call()), u(res()), u("x")), "minimax", "MiniMax-M2.5"),
    ("W-MMX-3", ant(Q, a(call("c" * 65)), u(res("c" * 65))), "messages[1].content[0]", "tool call id is invalid (2013)", ant(Q, a(call("c" * 64)), u(res("c" * 64))), "minimax", "MiniMax-M2.5"),
    ("W-KIM-1", ant(Q, a(call()), u(res()), a("x"), u("y"), **ON), "messages[1]", "reasoning_content is missing in assistant tool call message at index 1", ant(Q, {**a(call()), "reasoning_content": " "}, u(res()), a("x"), u("y"), **ON), "kimi", "kimi-for-coding"),
]  # fmt: skip


# --- Bedrock -----------------------------------------------------------------------------------------


def bt(text):
    return {"text": text}


def bcall(id_="c1", name="run", input_=None):
    return {"toolUse": {"toolUseId": id_, "name": name, "input": {} if input_ is None else input_}}


def bres(id_="c1", *content):
    return {"toolResult": {"toolUseId": id_, "content": list(content or [bt("r")]), "status": "success"}}


def bimg(data=PIXEL, kind="png"):
    return {"image": {"format": kind, "source": {"bytes": data}}}


def bthink(signature):
    return {"reasoningContent": {"reasoningText": {"text": "t", "signature": signature}}}


TOOLS = {"toolConfig": {"tools": [{"toolSpec": {"name": "run", "inputSchema": {"json": {}}}}]}}


def bu(*content):
    return {"role": "user", "content": list(content)}


def ba(*content):
    return {"role": "assistant", "content": list(content)}


BQ, BX = bu(bt("q")), bu(bt("x"))
BEDROCK = [
    ("W-BED-1", ant(BQ, ba(), BX), "messages[1]", "Message object at messages.1 is empty", ant(BQ, ba(bt("a")), BX)),
    ("W-BED-2", ant(bu(bt(" "))), "messages[0].content[0]", "at messages.0.content.0 is blank", ant(bu(bt(".")))),
    ("W-BED-2", ant(BQ, ba(bcall()), bu(bres("c1", bt(""))), **TOOLS), "messages[2].content[0].toolResult.content[0]", "is blank", ant(BQ, ba(bcall()), bu(bres()), **TOOLS)),
    ("W-BED-3", ant(BQ, BX), "messages[1]", "must alternate between user and assistant roles", ant(BQ, ba(bt("a")), BX)),
    ("W-BED-4", ant(ba(bt("a")), BX), "messages[0]", "must start with a user message", ant(BQ, ba(bt("a")), BX)),
    ("W-BED-5", ant(BQ, ba(bcall(), bcall("c2")), bu(bres()), **TOOLS), "messages[1].content[1]", "Expected toolResult blocks at messages.2.content for the following Ids: c2", ant(BQ, ba(bcall(), bcall("c2")), bu(bres("c2"), bres()), **TOOLS)),
    ("W-BED-5", ant(BQ, ba(bcall()), bu(bres(), bres()), **TOOLS), "messages[2].content[1]", "exceeds the number of toolUse blocks", ant(BQ, ba(bcall(), bcall("c2")), bu(bres(), bres("c2")), **TOOLS)),
    ("W-BED-6", ant(BQ, ba(bcall()), bu(bres())), "messages[1].content[0]", "The toolConfig field must be defined", ant(BQ, ba(bcall()), bu(bres()), **TOOLS)),
    ("W-BED-7", ant(BQ, ba(bcall("a|b")), bu(bres("a|b")), **TOOLS), "messages[1].content[0]", "[a-zA-Z0-9_.:-]+", ant(BQ, ba(bcall("a.b:c")), bu(bres("a.b:c")), **TOOLS)),
    ("W-BED-7", ant(BQ, ba(bcall(name="a.b")), bu(bres()), **TOOLS), "messages[1].content[0]", "toolUse.name", ant(BQ, ba(bcall(name="a_b")), bu(bres()), **TOOLS)),
    ("W-BED-8", ant(bu({"document": {"name": "d", "source": {}}})), "messages[0].content[0]", "A text block must be included", ant(bu(bt("x"), {"document": {"name": "d", "source": {}}}))),
    ("W-BED-8", ant(bu(bt("x"), {"document": {"name": "a.pdf", "source": {}}})), "messages[0].content[1]", "document file name", ant(bu(bt("x"), {"document": {"name": "a (1)", "source": {}}}))),
    ("W-BED-9", ant(BQ, ba(bt("a"))), "messages[1]", "prefill", ant(BQ, ba(bt("a")), BX)),
    ("W-BED-10", ant(bu(bimg(kind="jpeg"))), "messages[0].content[0]", "image/png, not image/jpeg", ant(bu(bimg()))),
    ("W-BED-10", ant(bu(bimg(kind="bmp"))), "messages[0].content[0]", "image/bmp", ant(bu(bimg()))),
    ("W-BED-10", ant(bu(bimg("iVBO" * 1_310_721))), "messages[0].content[0]", "3.75 MB", ant(bu(bimg("iVBO" * 1_310_720)))),
    ("W-BED-10", ant(bu(bimg(png(10, 8001)))), "messages[0].content[0]", "8000 pixels", ant(bu(bimg(png(10, 8000))))),
    ("W-BED-10", ant(bu(*[bimg(SMALL)] * 21)), "messages[0].content[20]", "21 > 20", ant(bu(*[bimg(SMALL)] * 20))),
    ("W-BED-11", ant(BQ, ba(bcall(input_="{}")), bu(bres()), **TOOLS), "messages[1].content[0]", "must be an object", ant(BQ, ba(bcall(input_={"a": 1})), bu(bres()), **TOOLS)),
    ("W-BED-12", ant(BQ, ba(bthink(""), bt("a")), BX), "messages[1].content[0]", "Invalid `signature`", ant(BQ, ba(bthink("QUJD"), bt("a")), BX), "amazon-bedrock", "us.anthropic.claude-opus-4-6-v1"),
    ("W-BED-13", ant(BQ, ba(bcall()), bu(bres()), ba(bcall()), bu(bres()), **TOOLS), "messages[3].content[0]", "duplicate Ids: c1", ant(BQ, ba(bcall()), bu(bres()), ba(bcall("c2")), bu(bres("c2")), **TOOLS)),
    ("W-BED-15", ant(bu({})), "messages[0].content[0]", "tagged union structure messages.0.content.0", ant(bu({"cachePoint": {"type": "default"}}))),
    ("W-BED-14", ant(bu(bt("\ud83d"))), "messages[0].content[0].text", "surrogate", ant(bu(bt("\U0001f600")))),
]  # fmt: skip


# --- Gemini ------------------------------------------------------------------------------------------


def gu(*parts):
    return {"role": "user", "parts": list(parts)}


def gm(*parts):
    return {"role": "model", "parts": list(parts)}


def gcall(name="run", signature=None, args=None):
    part = {"functionCall": {"name": name, "args": {} if args is None else args}}
    return {**part, "thoughtSignature": signature} if signature else part


def gres(name="run"):
    return {"functionResponse": {"name": name, "response": {"output": "r"}}}


def gem(*contents):
    return {"contents": list(contents)}


GQ = gu(bt("q"))
THREE = ("google", "gemini-3-pro")
GEMINI = [
    ("W-GEM-1", gem(GQ, gm(bt("a")), gm(gcall()), gu(gres())), "contents[2]", "function call turn comes immediately after a user turn", gem(GQ, gm(gcall()), gu(gres()), gm(gcall()), gu(gres()))),
    ("W-GEM-2", gem(GQ, gm(bt("a")), gu(gres())), "contents[2]", "function response turn comes immediately after a function call turn", gem(GQ, gm(bt("a"), gcall()), gu(gres()))),
    ("W-GEM-3", gem(GQ, gm(gcall(), gcall()), gu(gres())), "contents[1]", "number of function response parts is equal", gem(GQ, gm(gcall(), gcall()), gu(gres(), gres()))),
    ("W-GEM-3", gem(GQ, gm(gcall()), GQ), "contents[1]", "equal to the number of function call parts", gem(GQ, gm(gcall()), gu(gres()), GQ)),
    ("W-GEM-4", gem(GQ, gm(gcall()), gu(gres())), "contents[1].parts[0]", "missing a thought_signature", gem(GQ, gm(gcall(signature="QUJD"), gcall()), gu(gres(), gres())), *THREE),
    ("W-GEM-4", gem(GQ, gm(gcall(signature="QUJD")), gu(gres()), gm(gcall()), gu(gres())), "contents[3].parts[0]", "missing a thought_signature", gem(GQ, gm(gcall()), gu(gres()), gm(bt("a")), GQ), *THREE),
    ("W-GEM-5", gem(GQ, gm(gcall(signature="not b64!")), gu(gres())), "contents[1].parts[0]", "contents[1].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed", gem(GQ, gm(gcall(signature="A-_z")), gu(gres()))),
    ("W-GEM-5", gem(GQ, gm(gcall(signature="msg_123")), gu(gres())), "contents[1].parts[0]", "Corrupted thought signature.", gem(GQ, gm(gcall(signature="skip_thought_signature_validator")), gu(gres()))),
    ("W-GEM-6", gem({"role": "assistant", "parts": [bt("a")]}), "contents[0]", "valid role: user, model", gem(GQ)),
    ("W-GEM-6", gem(GQ, gm(bt("a"))), "contents[1]", "end with a user role", gem(GQ, gm(bt("a")), GQ)),
    ("W-GEM-7", gem(gu()), "contents[0]", "contents.parts must not be empty", gem(gu(bt(" ")))),
    ("W-GEM-7", gem(gu(bt(""))), "contents[0].parts[0]", "must have a text parameter", gem(GQ, gm({"text": "", "thoughtSignature": "QUJD"}), GQ)),
    ("W-GEM-7", gem(gu({})), "contents[0].parts[0]", "must have a text parameter", gem(gu({"inlineData": {"mimeType": "image/png", "data": PIXEL}}))),
    ("W-GEM-7", gem(), "contents", "contents is not specified", gem(GQ)),
    ("W-GEM-8", gem(GQ, gm(gcall("1run")), gu(gres())), "contents[1].parts[0]", "Must start with a letter or an underscore", gem(GQ, gm(gcall("mcp.srv:tool-x")), gu(gres()))),
    ("W-GEM-9", gem(GQ, gm(gcall(args="{}")), gu(gres())), "contents[1].parts[0]", "expected an object", gem(GQ, gm(gcall(args={"a": 1})), gu(gres()))),
    ("W-GEM-10", gem(gm(bt("a")), GQ), "contents[0]", "starts with a user", gem(GQ, gm(bt("a")), GQ)),
    ("W-GEM-11", gem(gu(bt("\ud83d"))), "contents[0].parts[0].text", "surrogate", gem(gu(bt("\U0001f600")))),
]  # fmt: skip


ROWS = list(rows((ANT, ANTHROPIC), (BED, BEDROCK), (GEM, GEMINI)))


@pytest.mark.parametrize(("api", "provider", "model", "row"), ROWS)
def test_a_rule_finds_what_it_names_and_nothing_else(api, provider, model, row):
    check_found(api, provider, model, row)


@pytest.mark.parametrize(("api", "provider", "model", "row"), ROWS)
def test_the_near_miss_passes(api, provider, model, row):
    assert lint(api, row[4], provider=provider, model=model) == []


def test_minimax_names_a_result_whose_call_is_nowhere():
    found = lint(ANT, ant(Q, a("x"), u(res("zz"))), provider="minimax", model="MiniMax-M2")
    assert [violation.code for violation in found] == ["W-ANT-1", "W-MMX-2"]
    assert found[1].message == "invalid params, tool result's tool id(zz) not found (2013)"


def test_a_proxy_wants_declared_tools_and_anthropic_does_not():
    payload = ant(Q, a(call()), u(res()))
    proxy = replace(resolve("litellm", ANT, "claude-opus-4-6"), tools_required_in_request=True)
    found = run(rules_anthropic.RULES, rules_anthropic.view(payload, proxy))
    assert [(violation.code, violation.path) for violation in found] == [("W-ANT-16", "messages[1].content[0]")]
    declared = rules_anthropic.view({**payload, "tools": [{"name": "run"}]}, proxy)
    assert run(rules_anthropic.RULES, declared) == []
    assert lint(ANT, payload, provider="anthropic") == []


def test_every_documented_rule_of_these_wires_has_a_row():
    wanted = {
        ANT: {f"W-ANT-{n}" for n in range(1, 17)} | {"W-MMX-1", "W-MMX-2", "W-MMX-3", "W-KIM-1"},
        BED: {f"W-BED-{n}" for n in range(1, 13)},
        GEM: {f"W-GEM-{n}" for n in range(1, 9)},
    }
    for api, expected in wanted.items():
        assert expected <= set(codes()[api])


@pytest.mark.parametrize("api", [ANT, BED, GEM])
@pytest.mark.parametrize(
    "junk",
    [
        None,
        5,
        "x",
        [None, 5, "x", {}],
        [{"role": 5, "content": 7, "parts": 3}],
        [{"role": "user", "content": [None, 5, {"type": [], "content": {}}], "parts": [None, {"text": 5}]}],
    ],
)
def test_junk_is_a_violation_and_never_an_exception(api, junk):
    assert lint(api, {"messages": junk, "contents": junk})
