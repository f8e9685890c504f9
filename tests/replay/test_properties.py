# ruff: noqa: N802 - the names are those of the specification
"""P1-P9 of spec/replay.md section 5: what holds for any transcript, however damaged, on every policy row.

The long profile (HYPOTHESIS_PROFILE=long) runs every transcript on every row.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from damaged import ROUTES, SIGNATURE, everything, routes, tagged, transcripts
from hypothesis import given, settings
from hypothesis import strategies as st
from validators import validate

from stenolith.model.message import (
    Message,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    canonical_json,
    message_from_dict,
    message_to_dict,
)
from stenolith.replay.pipeline import replay, sanitise
from stenolith.replay.plan import Continuation, Options
from stenolith.replay.policy import Target, parse_api, resolve

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
MANY = 2000 if LONG else 100
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

some_routes = st.just(ROUTES) if LONG else st.lists(routes, min_size=2, max_size=2, unique=True)
targets = st.fixed_dictionaries(
    {"thinking": st.booleans(), "tools": st.sampled_from([None, None, ("read", "exec"), ()])}
)
wishes = st.builds(
    Options,
    history_turns=st.sampled_from([None, None, 1, 2]),
    keep_evidence=st.booleans(),
    continuation=st.sampled_from(list(Continuation)),
    nonce=st.sampled_from(["", "abc", "other"]),
)


def at(route: tuple[str, str, str], **more: Any) -> tuple[Target, Any]:
    provider, api, model = route
    return Target(provider=provider, api=parse_api(api), model=model, **more), resolve(provider, api, model)


def leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)


def bare(text: str) -> str:
    """The characters of *text* that every wire carries."""
    return _CONTROL.sub("", text)


@settings(max_examples=MANY)
@given(transcripts, some_routes, targets)
def test_P1_the_payload_is_wire_clean_and_the_providers_validator_accepts(messages, chosen, asked):
    for route in chosen:
        target, policy = at(route, **asked)
        sent = replay(messages, target, policy)
        assert [violation.to_dict() for violation in sent.violations] == [], route
        assert validate(target.api, sent.payload) == [], route


@settings(max_examples=MANY)
@given(transcripts, some_routes, targets, wishes)
def test_P2_sanitising_twice_is_sanitising_once(messages, chosen, asked, options):
    for route in chosen:
        target, policy = at(route, **asked)
        once = sanitise(messages, target, policy, options)
        printed = canonical_json([message_to_dict(message) for message in once.messages])
        twice = sanitise([message_from_dict(value) for value in json.loads(printed)], target, policy, options)
        assert canonical_json([message_to_dict(message) for message in twice.messages]) == printed, route
        assert twice.changes == ()


@settings(max_examples=MANY)
@given(transcripts, some_routes)
def test_P3_the_input_is_not_touched(messages, chosen):
    before = [canonical_json(message_to_dict(message)) for message in messages]
    for route in chosen:
        replay(messages, *at(route))
    assert [canonical_json(message_to_dict(message)) for message in messages] == before


@settings(max_examples=MANY)
@given(transcripts.map(tagged), some_routes, targets, wishes)
def test_P4_P5_no_word_of_a_person_or_a_tool_is_lost(messages, chosen, asked, options):
    words = [part.text for message in messages if message.role is Role.USER for part in _texts(message)]
    words += [
        piece.text
        for message in messages
        for part in message.parts
        if isinstance(part, ToolResult) and not part.synthetic
        for piece in part.content
        if isinstance(piece, Text)
    ]
    for route in chosen:
        target, policy = at(route, **asked)
        sent = replay(messages, target, policy, options)
        known = [bare(text) for text in leaves(sent.payload)] + [bare(change.detail) for change in sent.report]
        everywhere = "\0".join(known)
        lost = [word for word in words if bare(word).strip() and bare(word) not in everywhere]
        assert lost == [], route


def _texts(message: Message) -> list[Text]:
    return [part for part in message.parts if isinstance(part, Text)]


@settings(max_examples=MANY)
@given(transcripts.map(tagged), some_routes, targets)
def test_P6_user_texts_stay_in_order(messages, chosen, asked):
    for route in chosen:
        target, policy = at(route, **asked)
        told = "".join(leaves(replay(messages, target, policy).payload))
        order = [int(number) for number in re.findall("«u([0-9]+)»", told)]
        assert order == sorted(set(order)), route


_SEEDED = """
import hashlib, sys
sys.path[:0] = sys.argv[1:3]
from damaged import ROUTES, SIGNATURE, everything
from stenolith.model.message import canonical_json, message_to_dict
from stenolith.replay.pipeline import replay, sanitise
from stenolith.replay.policy import Target, parse_api, resolve
found = hashlib.sha256()
for provider, api, model in ROUTES:
    target, policy = Target(provider=provider, api=parse_api(api), model=model), resolve(provider, api, model)
    found.update(canonical_json(replay(everything(), target, policy).to_dict()).encode())
    clean = sanitise(everything(), target, policy)
    found.update(canonical_json([message_to_dict(message) for message in clean.messages]).encode())
print(found.hexdigest())
"""


def test_P7_the_same_bytes_in_every_process():
    here = Path(__file__).parent
    paths = [str(here.parents[1] / "src"), str(here)]
    found = {
        subprocess.run(
            [sys.executable, "-c", _SEEDED, *paths],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(found) == 1


@settings(max_examples=MANY)
@given(transcripts, st.data(), some_routes)
def test_P8_ids_do_not_change_when_a_history_grows(messages, data, chosen):
    # whether a call with an illegal name stays depends on its result, and a heartbeat on its answer: both may come later
    grown = [_legal(message) for message in messages]
    cut = data.draw(st.integers(0, len(grown)))
    for route in chosen:
        before, after = (ids(sanitise(part, *at(route)).messages) for part in (grown[:cut], grown))
        assert after[: len(before)] == before, route


def _legal(message: Message) -> Message:
    return replace(message, parts=tuple(map(_legal_part, message.parts)))


def _legal_part(part: Any) -> Any:
    if isinstance(part, ToolCall):
        return replace(part, name="read")
    return Text(text="words") if isinstance(part, Text) and "HEARTBEAT" in part.text else part


def ids(messages: Any) -> list[str]:
    return [part.id for message in messages for part in message.parts if isinstance(part, ToolCall)]


@pytest.mark.parametrize("route", ROUTES, ids="/".join)
def test_P8_a_grown_history_has_the_shorter_ones_finished_turns_as_its_prefix(route):
    whole = working_session(6)
    users = [number for number, message in enumerate(whole) if message.role is Role.USER]
    after = sanitise(whole, *at(route)).messages
    for cut in users[1:]:
        before = sanitise(whole[:cut], *at(route)).messages
        finished = max(number for number, message in enumerate(before) if message.role is Role.USER)
        assert before[:finished] == after[:finished]


def working_session(turns: int) -> list[Message]:
    found: list[Message] = []
    for turn in range(turns):
        name = f"call_{turn % 2}|fc_{turn}"  # ids restart
        thought = Thinking(text="hm", signature=SIGNATURE)
        call = ToolCall(id=name, name="read", arguments={"turn": turn})
        found += [
            Message(role=Role.USER, parts=(Text(text=f"ask {turn}"),)),
            Message(role=Role.ASSISTANT, parts=(thought, Text(text="I look"), call)),
            Message(role=Role.TOOL, parts=(ToolResult(id=name, content=(Text(text=f"answer {turn}"),)),)),
            Message(role=Role.ASSISTANT, parts=(Text(text=f"done {turn}"),)),
        ]
    return found


@settings(max_examples=MANY)
@given(transcripts, some_routes)
def test_every_call_has_one_result_directly_behind_it(messages, chosen):
    for route in chosen:
        found = sanitise(messages, *at(route)).messages
        assert len(ids(found)) == len(set(ids(found))), route
        for index, message in enumerate(found):
            calls = ids([message])
            behind = found[index + 1 : index + 1 + len(calls)]
            assert [part.id for answer in behind for part in answer.parts] == calls, route
        assert sum(message.role is Role.TOOL for message in found) == len(ids(found)), route


@pytest.mark.parametrize("route", ROUTES, ids="/".join)
def test_everything_at_once_is_wire_clean_on_every_row(route):
    target, policy = at(route, thinking=True)
    sent = replay(everything(), target, policy)
    assert [violation.to_dict() for violation in sent.violations] == []
    assert validate(target.api, sent.payload) == []


def test_P9_time_grows_with_the_length_alone():
    def seconds(count: int) -> float:
        messages = everything() * (count // len(everything()))
        start = time.process_time()
        sanitise(messages, *at(ROUTES[0]))
        return time.process_time() - start

    seconds(1000)
    small = min(seconds(2000) for _ in range(3))
    assert min(seconds(8000) for _ in range(2)) < 12 * small


def test_the_report_is_data():
    sent = replay(everything(), *at(ROUTES[0]))
    assert hashlib.sha256(json.dumps(sent.to_dict()).encode())
