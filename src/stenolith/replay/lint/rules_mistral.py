"""What Mistral's own API rejects: the chat shape with stricter ids, order and counts.

Error texts: ``spec/replay.md`` section 4.5; the checks of order follow mistral-common 1.13.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from stenolith.replay.lint.body import lone_surrogates, pack
from stenolith.replay.lint.rule import Finding, Rule, is_blank, is_json, misfits, word, words
from stenolith.replay.lint.rules_chat import Chat, not_nine, users_after_tools
from stenolith.replay.policy import Reasoning

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# What may follow a role; a user after a tool has a rule of its own.
_AFTER: Final = {
    "system": {"user", "assistant", "system"},
    "user": {"assistant", "system", "user"},
    "assistant": {"assistant", "user", "tool"},
    "tool": {"assistant", "tool", "user"},
}


def _user_after_tool(seen: Chat) -> Iterator[Finding]:
    if seen.policy.separator_after_tool:
        yield from users_after_tools(seen)


def _last(seen: Chat) -> Iterator[Finding]:
    if not seen.roles or (seen.roles[-1] == "assistant" and seen.messages[-1].get("prefix") is True):
        return
    if seen.roles[-1] not in {"user", "tool"} and len(seen.roles) > 1:
        yield seen.find(len(seen.roles) - 1, role=seen.roles[-1])


def _counts(seen: Chat) -> Iterator[Finding]:
    answers = seen.answers
    for index, calls in enumerate(seen.calls):
        if calls and len(answers[index]) != len(calls):
            yield seen.find(index)


def _unknown(seen: Chat) -> Iterator[Finding]:
    answers, ids = seen.answers, seen.answer_ids
    for index, calls in enumerate(seen.calls):
        open_ids = {call.id for call in calls}
        for at in answers[index] if calls else ():
            if ids[at] not in open_ids:
                yield seen.find(at, id=ids[at])
            open_ids.discard(ids[at])


def _both(seen: Chat) -> Iterator[Finding]:
    if seen.policy.content_xor_tool_calls:
        for index, calls in enumerate(seen.calls):
            if calls and _has_content(seen, index):
                yield seen.find(index)


def _neither(seen: Chat) -> Iterator[Finding]:
    calls = seen.calls
    for index, role in enumerate(seen.roles):
        if role == "assistant" and not calls[index] and not _has_content(seen, index):
            yield seen.find(index)


def _has_content(seen: Chat, index: int) -> bool:
    content = seen.messages[index].get("content")
    return not is_blank(content) if isinstance(content, str) else bool(content)


def _order(seen: Chat) -> Iterator[Finding]:
    before = ""
    for index, role in enumerate(seen.roles):
        if role not in _AFTER.get(before, _AFTER["system"]):
            yield seen.find(index, role=role, before=before or "start")
        before = role


def _chunks(seen: Chat) -> Iterator[Finding]:
    if seen.policy.reasoning is Reasoning.CHUNKS:
        return
    for index, message in enumerate(seen.messages):
        for at, chunk in _listed(message):
            if isinstance(chunk, dict) and chunk.get("type") == "thinking":
                yield Finding(f"messages[{index}].content[{at}]")


def _listed(message: Mapping[str, Any]) -> Iterable[tuple[int, Any]]:
    """Return the numbered chunks of a content that is a list; most are one text."""
    content = message.get("content")
    return enumerate(content) if type(content) is list else ()


def _names(seen: Chat) -> Iterator[Finding]:
    named = [call.function.get("name") for call in seen.every_call]
    bad = misfits(words(named), _NAME)
    for call, name in zip(seen.every_call, named, strict=True) if bad else ():
        if word(name) in bad:
            yield Finding(call.path, {"name": name})
    for index in seen.results:
        told = seen.messages[index].get("name")
        if told is not None and not _NAME.fullmatch(word(told)):
            yield seen.find(index, name=told)


def _arguments(seen: Chat) -> Iterator[Finding]:
    return (Finding(call.path) for call in seen.every_call if not is_json(call.function.get("arguments")))


def _pictures_in_results(seen: Chat) -> Iterator[Finding]:
    for index in seen.results:
        for at, chunk in _listed(seen.messages[index]):
            if isinstance(chunk, dict) and chunk.get("type") != "text":
                yield Finding(f"messages[{index}].content[{at}]", {"kind": chunk.get("type")})


def _encoding(seen: Chat) -> Iterator[Finding]:
    return lone_surrogates(seen.payload, pack(seen.payload, "messages"))


def _nothing(seen: Chat) -> Iterator[Finding]:
    if not seen.messages:
        yield Finding("messages")


RULES: Final[tuple[Rule[Chat], ...]] = (
    Rule(
        code="W-MIS-1",
        text="Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.",
        check=not_nine,
    ),
    Rule(code="W-MIS-2", text="Unexpected role 'user' after role 'tool'", check=_user_after_tool),
    Rule(
        code="W-MIS-3",
        text="Expected last role User or Tool (or Assistant with prefix True) for serving but got {role}",
        check=_last,
    ),
    Rule(code="W-MIS-4", text="Not the same number of function calls and responses", check=_counts),
    Rule(code="W-MIS-5", text="Unexpected tool call id {id} in tool results", check=_unknown),
    Rule(
        code="W-MIS-6",
        text="Assistant message must have either content or tool_calls, but not both.",
        check=_both,
    ),
    Rule(code="W-MIS-7", text="Unexpected role '{role}' after role '{before}'", check=_order),
    Rule(code="W-MIS-8", text="Reasoning input is not enabled for this model", check=_chunks),
    Rule(code="W-MIS-9", text="Assistant message must have either content or tool_calls", check=_neither),
    Rule(
        code="W-MIS-10",
        text="Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, "
        "with a maximum length of 64.",
        check=_names,
    ),
    Rule(code="W-MIS-11", text="Function arguments must be a JSON string", check=_arguments),
    Rule(
        code="W-MIS-12",
        text="Unexpected content chunk types in tool message: ['{kind}']",
        check=_pictures_in_results,
    ),
    Rule(code="W-MIS-13", text="Conversation must have at least one message", check=_nothing),
    Rule(code="W-MIS-14", text="The request body is not valid JSON: no low surrogate in string", check=_encoding),
)
