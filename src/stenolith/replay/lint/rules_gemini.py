"""What Gemini's generateContent rejects.

Error texts: ``spec/replay.md`` section 4.3 (public threads and documents).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from stenolith.replay.lint.blocks import Block, Blocks, Names
from stenolith.replay.lint.body import lone_surrogates
from stenolith.replay.lint.rule import Finding, Rule, entries, misfits, word, words
from stenolith.replay.policy import Policy
from stenolith.replay.signature import is_base64, is_signature

NAMES: Final = Names(
    messages="contents",
    content="parts",
    call="functionCall",
    result="functionResponse",
)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
_OBJECTS: Final = {"functionCall": "args", "functionResponse": "response"}
_DATA: Final = (
    "functionCall",
    "functionResponse",
    "inlineData",
    "fileData",
    "executableCode",
    "codeExecutionResult",
    "text",
)

_BESIDE_TEXT: Final = frozenset(_DATA) - {"text"}


def read(contents: Sequence[Mapping[str, Any]]) -> list[list[Block]]:
    """Split contents into parts; the kind of a part is the field that is set."""
    return [
        [Block(index, at, _kind(body), body) for at, body in enumerate(entries(content.get("parts")))]
        for index, content in enumerate(contents)
    ]


def _kind(body: Mapping[str, Any]) -> str:
    if "text" in body and _BESIDE_TEXT.isdisjoint(body):  # as most
        return "text"
    for kind in _DATA:
        if kind in body:
            return kind
    return ""


@dataclass(frozen=True, kw_only=True)
class Contents(Blocks):
    """A request body seen as Gemini's contents."""

    @cached_property
    def paired(self) -> list[tuple[Block, Any]]:
        """The calls and the results in order, each with its value."""
        return [(block, block.body[block.kind]) for block in self.blocks if block.kind in _OBJECTS]

    @cached_property
    def unfit(self) -> list[Block]:
        """The parts whose thought signature cannot be one."""
        return [
            block
            for block in self.blocks
            if "thoughtSignature" in block.body
            and block.body["thoughtSignature"] is not None
            and not is_signature(block.body["thoughtSignature"])
        ]


def view(payload: Mapping[str, Any], policy: Policy) -> Contents:
    """Return the request body as the rules see it."""
    return Contents(payload=payload, policy=policy, names=NAMES, read=read)


def _early_calls(seen: Blocks) -> Iterator[Finding]:
    roles = seen.roles
    for index in seen.calls_in:
        if roles[index] != "model" or index == 0 or roles[index - 1] != "user":
            yield Finding(seen.message_path(index))


def _stray_responses(seen: Blocks) -> Iterator[Finding]:
    calls = seen.calls_in
    return (Finding(seen.message_path(at)) for at in seen.results_in if not calls.get(at - 1))


def _counts(seen: Blocks) -> Iterator[Finding]:
    results = seen.results_in
    for index, number in seen.calls_in.items():
        if number != results.get(index + 1, 0):
            yield Finding(seen.message_path(index))


def _unsigned(seen: Blocks) -> Iterator[Finding]:
    """Find unsigned steps of the current turn: everything after the last text of the user."""
    if not seen.policy.requires_thought_signature:
        return
    spoken = [block.message for block in seen.blocks if block.kind == "text" and seen.roles[block.message] == "user"]
    for index in range(max(spoken, default=-1) + 1, len(seen.roles)):
        calls = [block for block in seen.split[index] if block.kind == "functionCall"]
        if calls and not calls[0].body.get("thoughtSignature"):
            yield seen.find(calls[0])


def _not_base64(seen: Contents) -> Iterator[Finding]:
    return (seen.find(block) for block in seen.unfit if not is_base64(word(block.body["thoughtSignature"])))


def _corrupted(seen: Contents) -> Iterator[Finding]:
    return (seen.find(block) for block in seen.unfit if is_base64(word(block.body["thoughtSignature"])))


def _bad_roles(seen: Blocks) -> Iterator[Finding]:
    return (Finding(seen.message_path(at)) for at, role in enumerate(seen.roles) if role not in {"user", "model"})


def _last(seen: Blocks) -> Iterator[Finding]:
    if seen.roles and seen.roles[-1] == "model":
        yield Finding(seen.message_path(len(seen.roles) - 1))


def _first(seen: Blocks) -> Iterator[Finding]:
    if seen.roles and seen.roles[0] == "model":
        yield Finding(seen.message_path(0))


def _no_parts(seen: Blocks) -> Iterator[Finding]:
    return (Finding(seen.message_path(at)) for at, blocks in enumerate(seen.split) if not blocks)


def _empty_parts(seen: Blocks) -> Iterator[Finding]:
    for block in seen.blocks:
        hollow = block.kind == "text" and not block.body["text"] and not block.body.get("thoughtSignature")
        if not block.kind or hollow:
            yield seen.find(block)


def _nothing(seen: Blocks) -> Iterator[Finding]:
    if not seen.messages:
        yield Finding("contents")


def _names(seen: Contents) -> Iterator[Finding]:
    names = words([value.get("name") if isinstance(value, dict) else "" for _, value in seen.paired])
    bad = misfits(names, _NAME)
    return (seen.find(block) for (block, _), name in zip(seen.paired, names, strict=True) if name in bad)


def _payloads(seen: Contents) -> Iterator[Finding]:
    for block, value in seen.paired:
        field = _OBJECTS[block.kind]
        if isinstance(value, dict) and field in value and not isinstance(value[field], dict):
            yield seen.find(block, field=field)


def _encoding(seen: Blocks) -> Iterator[Finding]:
    return lone_surrogates(seen.payload, seen.packed)


RULES: Final[tuple[Rule[Contents], ...]] = (
    Rule(
        code="W-GEM-1",
        text="Please ensure that function call turn comes immediately after a user turn "
        "or after a function response turn.",
        check=_early_calls,
    ),
    Rule(
        code="W-GEM-2",
        text="Please ensure that function response turn comes immediately after a function call turn.",
        check=_stray_responses,
    ),
    Rule(
        code="W-GEM-3",
        text="Please ensure that the number of function response parts is equal to the number of "
        "function call parts of the function call turn.",
        check=_counts,
    ),
    Rule(
        code="W-GEM-4",
        text="Function call is missing a thought_signature in functionCall parts. This is required for tools "
        "to work correctly, and missing thought_signature may lead to degraded model performance.",
        check=_unsigned,
    ),
    Rule(
        code="W-GEM-5",
        text="Invalid value at 'contents[{message}].parts[{at}].thought_signature' (TYPE_BYTES), "
        "Base64 decoding failed",
        check=_not_base64,
    ),
    Rule(code="W-GEM-5", text="Corrupted thought signature.", check=_corrupted),
    Rule(code="W-GEM-6", text="Please use a valid role: user, model.", check=_bad_roles),
    Rule(code="W-GEM-6", text="Please ensure that single turn requests end with a user role", check=_last),
    Rule(code="W-GEM-7", text="contents.parts must not be empty.", check=_no_parts),
    Rule(code="W-GEM-7", text="Unable to submit request because it must have a text parameter", check=_empty_parts),
    Rule(code="W-GEM-7", text="GenerateContentRequest.contents: contents is not specified", check=_nothing),
    Rule(
        code="W-GEM-8",
        text="Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), "
        "underscores (_), dots (.) or dashes (-), with a maximum length of 64.",
        check=_names,
    ),
    Rule(
        code="W-GEM-9",
        text="Invalid value at 'contents[{message}].parts[{at}].{field}': expected an object",
        check=_payloads,
    ),
    Rule(code="W-GEM-10", text="Please ensure that the conversation starts with a user turn.", check=_first),
    Rule(code="W-GEM-11", text="The request body is not valid JSON: no low surrogate in string", check=_encoding),
)
