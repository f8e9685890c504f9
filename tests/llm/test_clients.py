"""The two clients against a server on loopback: what they send, what they take, how they fail."""

from __future__ import annotations

import asyncio
import json
import logging
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stenolith.errors import InvalidInput, ModelUnavailable
from stenolith.llm.anthropic import AnthropicModel
from stenolith.llm.http import Again, Reply, decide_retry
from stenolith.llm.keys import FILE_VARIABLE, USUAL, VARIABLE, read_key, variables
from stenolith.llm.openai import Manners, OpenAIModel, Target
from stenolith.llm.port import Obstacle, Prompt, Unanswerable
from stenolith.llm.schema import TEXT, record
from stenolith.testing.fake_openai import USAGE, Asked, FakeServer, Fault, Spoken, fake_server

KEY = "sk-test-4f9aTHISISNOTAKEY"
PROMPT = Prompt(name="extract", system="Be brief.", user="Say hello.", schema=record(text=TEXT), deadline_ms=2000)
SAID = '{"text": "hello"}'


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [VARIABLE, FILE_VARIABLE, *USUAL.values()]:
        monkeypatch.delenv(name, raising=False)


async def _never_sleep(_seconds: float) -> None:
    return


def _openai(server: FakeServer) -> OpenAIModel:
    return OpenAIModel(Target(url=server.openai_url, model="m"), _never_sleep)


def _anthropic(server: FakeServer) -> AnthropicModel:
    return AnthropicModel(Target(url=server.anthropic_url, model="m"), _never_sleep)


CLIENTS: list[Callable[[FakeServer], Any]] = [_openai, _anthropic]


def _then(*answers: Any) -> Callable[[Asked], Any]:
    left = list(answers)
    return lambda _asked: left.pop(0) if len(left) > 1 else left[0]


@pytest.mark.parametrize("client", CLIENTS)
async def test_an_answer_comes_with_what_the_server_counted(client: Callable[[FakeServer], Any]) -> None:
    async with fake_server(lambda _: SAID) as server:
        answer = await client(server).complete(PROMPT)
    assert json.loads(answer.text) == {"text": "hello"}
    assert (answer.usage.input, answer.usage.output) == USAGE
    assert not answer.truncated


async def test_the_openai_side_is_asked_for_the_schema_with_the_key_in_a_header(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    async with fake_server(lambda _: SAID) as server:
        await _openai(server).complete(PROMPT)
    asked = server.asked[0]
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body["response_format"]["json_schema"] == {"name": "extract", "schema": PROMPT.schema, "strict": True}
    assert asked.body["temperature"] == 0
    assert asked.body["max_tokens"] == 4096
    assert [message["role"] for message in asked.body["messages"]] == ["system", "user"]


async def test_the_anthropic_side_forces_the_answer_into_a_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    async with fake_server(lambda _: SAID) as server:
        await _anthropic(server).complete(PROMPT)
    asked = server.asked[0]
    assert asked.path == "/v1/messages"
    assert asked.headers["x-api-key"] == KEY
    assert asked.headers["anthropic-version"] == "2023-06-01"
    assert asked.body["tool_choice"] == {"type": "tool", "name": "extract"}
    assert asked.body["tools"][0]["input_schema"] == PROMPT.schema
    assert asked.body["max_tokens"] == 4096


@pytest.mark.parametrize(
    ("refusals", "form"),
    [
        (["'response_format.type' must be 'json_object'"], "json_object"),
        (["unknown parameter response_format", "response_format is not supported"], None),
    ],
)
async def test_a_refused_schema_is_asked_for_in_a_weaker_form_which_is_remembered(
    refusals: list[str], form: str | None
) -> None:
    faults = [Fault(status=400, message=refusal) for refusal in refusals]
    async with fake_server(_then(*faults, SAID)) as server:
        model = _openai(server)
        await model.complete(PROMPT)
        assert len(server.asked) == len(refusals) + 1
        await model.complete(PROMPT)
        assert len(server.asked) == len(refusals) + 2, "the second call knows the server's manners"
    last = server.asked[-1].body
    assert last.get("response_format", {}).get("type") == form
    assert '"additionalProperties"' in last["messages"][0]["content"], "the schema stands in the words instead"


async def test_a_new_name_for_the_bound_and_a_refused_temperature_are_learned() -> None:
    faults = [
        Fault(status=400, message="Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        Fault(status=400, message="Unsupported value: 'temperature' does not support 0"),
    ]
    async with fake_server(_then(*faults, SAID)) as server:
        await _openai(server).complete(PROMPT)
    assert "temperature" not in server.asked[-1].body
    assert "max_tokens" not in server.asked[-1].body


def test_manners_end_somewhere() -> None:
    seen: list[Manners] = []
    manners: Manners | None = Manners()
    while manners is not None:
        seen.append(manners)
        manners = manners.after("no")
    assert len(seen) == 4
    assert seen[-1] == Manners(form="plain", limit="")


async def test_a_model_that_refuses_forced_tools_is_asked_for_plain_json() -> None:
    refusal = Fault(status=400, message="Thinking may not be enabled when tool_choice forces tool use.")
    async with fake_server(_then(refusal, f"Here you are: {SAID}")) as server:
        model = _anthropic(server)
        answer = await model.complete(PROMPT)
        await model.complete(PROMPT)
    assert answer.text.endswith(SAID)
    assert len(server.asked) == 3
    assert "tools" not in server.asked[-1].body


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This model's maximum context length is 4096 tokens. Please reduce the length of the messages."),
        (400, "prompt is too long: 208310 tokens > 200000 maximum; the context window is full"),
        (413, "request_too_large: Request too large"),
    ],
)
async def test_a_text_beyond_the_context_is_no_outage(
    client: Callable[[FakeServer], Any], status: int, message: str
) -> None:
    async with fake_server(_then(Fault(status=status, message=message))) as server:
        with pytest.raises(Unanswerable) as caught:
            await client(server).complete(PROMPT)
    assert caught.value.obstacle is Obstacle.TOO_LONG


@pytest.mark.parametrize(
    ("client", "ending"), [(_openai, "content_filter"), (_anthropic, "refusal")], ids=["openai", "anthropic"]
)
async def test_a_refusal_is_about_the_text(client: Callable[[FakeServer], Any], ending: str) -> None:
    async with fake_server(lambda _: Spoken(text="", ending=ending)) as server:
        with pytest.raises(Unanswerable) as caught:
            await client(server).complete(PROMPT)
    assert caught.value.obstacle is Obstacle.REFUSED


@pytest.mark.parametrize(
    ("client", "ending"), [(_openai, "length"), (_anthropic, "max_tokens")], ids=["openai", "anthropic"]
)
async def test_an_answer_that_was_cut_off_says_so(client: Callable[[FakeServer], Any], ending: str) -> None:
    async with fake_server(lambda _: Spoken(text='["a', ending=ending)) as server:
        assert (await client(server).complete(PROMPT)).truncated


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("status", "says"),
    [
        (401, f"refuses the key (401): set {VARIABLE}"),
        (403, f"refuses the key (403): set {VARIABLE}"),
        (404, "check llm.url and llm.model"),
        (402, "asks for payment"),
        (418, "answered 418"),
    ],
)
async def test_an_error_says_what_to_do_and_never_the_key(
    client: Callable[[FakeServer], Any],
    status: int,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    caplog.set_level(logging.DEBUG)
    echo = Fault(status=status, message=f"Incorrect API key provided: {KEY}. You said: {PROMPT.user}")
    async with fake_server(_then(echo)) as server:
        with pytest.raises(ModelUnavailable) as caught:
            await client(server).complete(PROMPT)
    assert says in str(caught.value)
    assert KEY not in repr(caught.value) + repr(caught.value.__cause__) + str(caught.value.facts) + caplog.text
    assert PROMPT.user not in str(caught.value)
    assert len(server.asked) == 1, "what does not pass by itself is not tried again"


@pytest.mark.parametrize("client", CLIENTS)
async def test_overload_is_tried_three_times_and_then_reported(client: Callable[[FakeServer], Any]) -> None:
    async with fake_server(_then(Fault(status=503), Fault(status=0), SAID)) as server:
        assert json.loads((await client(server).complete(PROMPT)).text) == {"text": "hello"}
        assert len(server.asked) == 3
    async with fake_server(_then(Fault(status=503))) as server:
        with pytest.raises(ModelUnavailable, match="answered 503"):
            await client(server).complete(PROMPT)
        assert len(server.asked) == 3


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_wait_beyond_the_deadline_is_handed_to_the_queue(client: Callable[[FakeServer], Any]) -> None:
    async with fake_server(_then(Fault(status=429, headers={"Retry-After": "90"}))) as server:
        with pytest.raises(ModelUnavailable, match="asks to wait") as caught:
            await client(server).complete(PROMPT)
    assert caught.value.facts["retry_after_ms"] == 90_000
    assert len(server.asked) == 1


@pytest.mark.parametrize("client", CLIENTS)
async def test_the_deadline_ends_a_call(client: Callable[[FakeServer], Any]) -> None:
    slow = Prompt(name="x", system="", user="", schema={}, deadline_ms=60)
    async with fake_server(_then(Fault(status=503, after_s=0.15))) as server:
        with pytest.raises(ModelUnavailable, match=r"did not answer within 0\.06 s|ReadTimeout"):
            await client(server).complete(slow)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("body", ["<html>sorry</html>", "[]", "{}", '{"choices": [], "content": 7}'])
async def test_what_is_no_answer_is_an_outage(client: Callable[[FakeServer], Any], body: str) -> None:
    class Odd(FakeServer):
        async def handle(self, reader: Any, writer: Any) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n{body}".encode())
            await writer.drain()
            writer.close()

    odd = Odd(lambda _: "")
    server = await asyncio.start_server(odd.handle, "127.0.0.1", 0)
    odd.port = server.sockets[0].getsockname()[1]
    try:
        with pytest.raises(ModelUnavailable, match="answered something"):
            await client(odd).complete(PROMPT)
    finally:
        server.close()
        await server.wait_closed()


async def test_a_gateway_that_hides_an_error_in_an_answer_is_found_out() -> None:
    class Hiding(FakeServer):
        async def handle(self, reader: Any, writer: Any) -> None:
            await reader.readuntil(b"\r\n\r\n")
            body = '{"error": {"code": 429, "message": "slow down"}}'
            writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n{body}".encode())
            await writer.drain()
            writer.close()

    hiding = Hiding(lambda _: "")
    server = await asyncio.start_server(hiding.handle, "127.0.0.1", 0)
    hiding.port = server.sockets[0].getsockname()[1]
    try:
        with pytest.raises(ModelUnavailable, match="asks to wait"):
            await _openai(hiding).complete(PROMPT)
    finally:
        server.close()
        await server.wait_closed()


async def test_nobody_there_is_an_outage() -> None:
    model = OpenAIModel(Target(url="http://user:secret@127.0.0.1:1/v1", model="m"), _never_sleep)
    with pytest.raises(ModelUnavailable, match=r"^127\.0\.0\.1:1 cannot be reached"):
        await model.complete(PROMPT)


@pytest.mark.parametrize(
    ("reply", "tries", "left_ms", "expected"),
    [
        (Reply(status=503), 1, 10_000, Again(after_ms=500)),
        (Reply(status=503), 2, 10_000, Again(after_ms=1000)),
        (Reply(status=503), 3, 10_000, None),
        (Reply(status=0), 1, 10_000, Again(after_ms=500)),
        (Reply(status=529), 1, 10_000, Again(after_ms=500)),
        (Reply(status=429, retry_after_ms=3000), 1, 10_000, Again(after_ms=3000)),
        (Reply(status=429, retry_after_ms=3000), 1, 2000, None),
        (Reply(status=429, text='{"code": "insufficient_quota"}'), 1, 10_000, None),
        (Reply(status=503), 1, 400, None),
        (Reply(status=400), 1, 10_000, None),
        (Reply(status=401), 1, 10_000, None),
        (Reply(status=200), 1, 10_000, None),
    ],
)
def test_a_retry_is_a_value(reply: Reply, tries: int, left_ms: int, expected: Again | None) -> None:
    assert decide_retry(reply, tries, left_ms) == expected


@pytest.mark.parametrize(
    ("url", "names"),
    [
        ("https://api.openai.com/v1", (VARIABLE, "OPENAI_API_KEY")),
        ("https://api.anthropic.com", (VARIABLE, "ANTHROPIC_API_KEY")),
        ("https://openrouter.ai/api/v1", (VARIABLE, "OPENROUTER_API_KEY")),
        ("http://127.0.0.1:8080/v1", (VARIABLE,)),
        ("https://api.openai.com.evil.example/v1", (VARIABLE,)),
    ],
)
def test_a_providers_own_variable_goes_to_that_provider_alone(
    url: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in USUAL.values():
        monkeypatch.setenv(variable, KEY)
    assert variables(url) == names
    assert read_key(url) == (KEY if len(names) > 1 else "")


def test_a_key_file_must_be_its_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    file.chmod(0o600)
    monkeypatch.setenv(FILE_VARIABLE, str(file))
    assert read_key("http://127.0.0.1/v1") == KEY
    file.chmod(0o644)
    with pytest.raises(InvalidInput, match="chmod 600") as caught:
        read_key("http://127.0.0.1/v1")
    assert KEY not in str(caught.value)
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    file.unlink()
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_key("http://127.0.0.1/v1")


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_wrong_key_file_is_an_outage_that_somebody_ends(
    client: Callable[[FakeServer], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "none"))
    async with fake_server(lambda _: SAID) as server:
        with pytest.raises(ModelUnavailable, match="cannot be read"):
            await client(server).complete(PROMPT)
    assert server.asked == []


@pytest.mark.parametrize("bad", ["sk with blanks", "sk\nx-evil: 1", "密钥"])
def test_what_cannot_be_a_key_is_refused_without_being_shown(bad: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, bad)
    with pytest.raises(InvalidInput, match="no key") as caught:
        read_key("http://127.0.0.1/v1")
    assert bad not in str(caught.value)
