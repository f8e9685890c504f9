"""What OpenAI chat completions and the many servers that speak it reject.

Error texts: ``spec/replay.md`` section 4.2 (public threads and documents).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from stenolith.replay.lint.rule import Finding, Rule, entries, is_blank, lone_surrogates, packed, word
from stenolith.replay.policy import DuplicateStyle, IdMode, Policy, Reasoning

ID_MAX: Final = 40
NINE: Final = re.compile(r"[a-zA-Z0-9]{9}")
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_REASONING: Final = ("reasoning_content", "reasoning", "reasoning_text", "reasoning_details")
_SYSTEM: Final = frozenset({"system", "developer"})


class Call(NamedTuple):
    """One entry of ``tool_calls`` and its place."""

    message: int
    at: int
    id: str
    body: Mapping[str, Any]

    @property
    def path(self) -> str:
        """Where the call stands."""
        return f"messages[{self.message}].tool_calls[{self.at}]"

    @property
    def function(self) -> Mapping[str, Any]:
        """Name and arguments."""
        value = self.body.get("function")
        return value if isinstance(value, dict) else {}


@dataclass(frozen=True, kw_only=True)
class Chat:
    """A request body seen as a list of messages with tool calls beside their content.

    Not slotted: the parsed views are kept on the instance.
    """

    payload: Mapping[str, Any]
    policy: Policy

    @cached_property
    def messages(self) -> list[Mapping[str, Any]]:
        """The messages as they stand."""
        return entries(self.payload.get("messages"))

    @cached_property
    def roles(self) -> list[str]:
        """The role of every message; the old ``function`` role stands as it is."""
        return [word(message.get("role")) for message in self.messages]

    @cached_property
    def calls(self) -> list[list[Call]]:
        """The tool calls of every message."""
        found = []
        for index, message in enumerate(self.messages):
            bodies = enumerate(entries(message.get("tool_calls")))
            found.append([Call(index, at, word(body.get("id")), body) for at, body in bodies])
        return found

    @cached_property
    def answers(self) -> list[list[int]]:
        """For every message, the indexes of the tool messages that directly follow it."""
        found: list[list[int]] = [[] for _ in self.messages]
        owner = None
        for index, role in enumerate(self.roles):
            if role == "tool" and owner is not None:
                found[owner].append(index)
            elif role != "tool":
                owner = index
        return found

    def answer_id(self, index: int) -> str:
        """Return the id that a tool message answers."""
        return word(self.messages[index].get("tool_call_id"))

    def find(self, index: int, **facts: Any) -> Finding:
        """Return a finding at a message."""
        return Finding(f"messages[{index}]", {"message": index, **facts})


def _all_calls(seen: Chat) -> Iterator[Call]:
    return (call for calls in seen.calls for call in calls)


def _unanswered(seen: Chat) -> Iterator[Finding]:
    for index, calls in enumerate(seen.calls):
        answered = {seen.answer_id(at) for at in seen.answers[index]}
        missing = [call.id for call in calls if call.id not in answered]
        if missing:
            yield seen.find(index, ids=", ".join(missing))


def _orphans(seen: Chat) -> Iterator[Finding]:
    owned = {at for index, answers in enumerate(seen.answers) for at in answers if _answers(seen, index, at)}
    return (seen.find(index) for index, role in enumerate(seen.roles) if role == "tool" and index not in owned)


def _answers(seen: Chat, index: int, at: int) -> bool:
    return any(call.id == seen.answer_id(at) for call in seen.calls[index])


def _long_ids(seen: Chat) -> Iterator[Finding]:
    for call in _all_calls(seen):
        if len(call.id) > ID_MAX:
            yield Finding(call.path, {"field": f"{call.path}.id", "size": len(call.id)})
    for index, role in enumerate(seen.roles):
        if role == "tool" and len(seen.answer_id(index)) > ID_MAX:
            yield seen.find(index, field=f"messages[{index}].tool_call_id", size=len(seen.answer_id(index)))


def _bad_names(seen: Chat) -> Iterator[Finding]:
    for call in _all_calls(seen):
        if _NAME.fullmatch(word(call.function.get("name"))) is None:
            yield Finding(call.path, {"path": call.path})


def _empty_calls(seen: Chat) -> Iterator[Finding]:
    for index, message in enumerate(seen.messages):
        if "tool_calls" in message and not seen.calls[index]:
            yield seen.find(index)


def _bad_arguments(seen: Chat) -> Iterator[Finding]:
    for call in _all_calls(seen):
        if not is_json(call.function.get("arguments")):
            yield Finding(f"{call.path}.function.arguments", {"path": call.path})


def is_json(value: Any) -> bool:
    """Say whether *value* is text that holds JSON."""
    try:
        json.loads(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return isinstance(value, str)


def _no_content(seen: Chat) -> Iterator[Finding]:
    for index, message in enumerate(seen.messages):
        if message.get("content") is None and not seen.calls[index]:
            yield seen.find(index)


def _empty_assistant(seen: Chat) -> Iterator[Finding]:
    for index, message in enumerate(seen.messages):
        content = message.get("content")
        empty = is_blank(content) if isinstance(content, str) else content == []
        if seen.roles[index] == "assistant" and empty and not seen.calls[index]:
            yield seen.find(index)


def _repeated(seen: Chat) -> Iterator[Finding]:
    known: set[str] = set()
    for call in _all_calls(seen):
        if seen.policy.duplicate_tool_call_id_style is DuplicateStyle.OPENAI and call.id in known:
            yield Finding(call.path, {"id": call.id})
        known.add(call.id)


def _silent(seen: Chat) -> Iterator[Finding]:
    policy = seen.policy
    if policy.reasoning is not Reasoning.FIELD or not policy.reasoning_required:
        return
    for index, calls in enumerate(seen.calls):
        if calls and not isinstance(seen.messages[index].get(policy.reasoning_field), str):
            yield seen.find(index, field=policy.reasoning_field)


def _unsupported(seen: Chat) -> Iterator[Finding]:
    allowed = {seen.policy.reasoning_field} if seen.policy.reasoning is Reasoning.FIELD else set()
    for index, message in enumerate(seen.messages):
        for field in _REASONING:
            if field in message and field not in allowed:
                yield Finding(f"messages[{index}].{field}", {"message": index, "field": field})


def _alternation(seen: Chat) -> Iterator[Finding]:
    """Find the first break, as the template does: system, then user and assistant in turn, calls aside."""
    if not seen.policy.separator_after_tool:
        return
    expected = "user"
    for index, role in enumerate(seen.roles):
        if role == "tool" or (role == "assistant" and seen.calls[index]) or (index == 0 and role in _SYSTEM):
            continue
        if role != expected:
            yield seen.find(index, role=role)
            return
        expected = "assistant" if role == "user" else "user"


def _user_after_tool(seen: Chat) -> Iterator[Finding]:
    for index in range(1, len(seen.roles)):
        after = seen.roles[index - 1 : index + 1] == ["tool", "user"]
        if after and (seen.policy.separator_after_tool or seen.policy.requires_assistant_after_tool_result):
            yield seen.find(index)


def _no_user(seen: Chat) -> Iterator[Finding]:
    if seen.policy.user_first and seen.roles and "user" not in seen.roles:
        yield Finding("messages")


def _not_nine(seen: Chat) -> Iterator[Finding]:
    if seen.policy.tool_call_id_mode is IdMode.STRICT9:
        yield from not_nine(seen)


def not_nine(seen: Chat) -> Iterator[Finding]:
    """Find call and result ids that are not exactly nine letters and digits."""
    for call in _all_calls(seen):
        if NINE.fullmatch(call.id) is None:
            yield Finding(call.path, {"id": call.id})
    for index, role in enumerate(seen.roles):
        if role == "tool" and NINE.fullmatch(seen.answer_id(index)) is None:
            yield seen.find(index, id=seen.answer_id(index))


def _bad_roles(seen: Chat) -> Iterator[Finding]:
    known = _SYSTEM | {"user", "assistant", "tool", "function"}
    return (seen.find(index, role=role) for index, role in enumerate(seen.roles) if role not in known)


def _nothing(seen: Chat) -> Iterator[Finding]:
    if not seen.messages:
        yield Finding("messages")


def _encoding(seen: Chat) -> Iterator[Finding]:
    return lone_surrogates(seen.payload, packed(seen.payload))


RULES: Final[tuple[Rule[Chat], ...]] = (
    Rule(
        code="W-CHT-1",
        text="An assistant message with 'tool_calls' must be followed by tool messages responding to each "
        "'tool_call_id'. The following tool_call_ids did not have response messages: {ids}",
        check=_unanswered,
    ),
    Rule(
        code="W-CHT-2",
        text="Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
        "with 'tool_calls'.",
        check=_orphans,
    ),
    Rule(
        code="W-CHT-3",
        text="Invalid '{field}': string too long. Expected a string with maximum length 40, "
        "but got a string with length {size} instead.",
        check=_long_ids,
    ),
    Rule(
        code="W-CHT-4",
        text="Invalid '{path}.function.name': string does not match pattern. "
        "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
        check=_bad_names,
    ),
    Rule(code="W-CHT-5", text="[] is too short - 'messages.{message}.tool_calls'", check=_empty_calls),
    Rule(
        code="W-CHT-6",
        text="Invalid type for '{path}.function.arguments': expected a JSON string.",
        check=_bad_arguments,
    ),
    Rule(code="W-CHT-7", text="Invalid value for 'content': expected a string, got null.", check=_no_content),
    Rule(code="W-CHT-8", text="Invalid value: '{role}'. Supported values are the known roles.", check=_bad_roles),
    Rule(code="W-CHT-9", text="[] is too short - 'messages'", check=_nothing),
    Rule(code="W-CHT-10", text="The request body is not valid JSON: no low surrogate in string", check=_encoding),
    Rule(
        code="W-DSK-1",
        text="Missing `{field}` field in the assistant message at message index {message}",
        check=_silent,
    ),
    Rule(code="W-KIM-2", text="tool call id {id} is duplicated", check=_repeated),
    Rule(code="W-KIM-3", text='messages with role "assistant" must not be empty', check=_empty_assistant),
    Rule(
        code="W-GRQ-1",
        text="messages.{message}.assistant.{field}: property 'messages.{message}.assistant.{field}' is unsupported",
        check=_unsupported,
    ),
    Rule(
        code="W-TPL-1",
        text="After the optional system message, conversation roles must alternate user and assistant roles "
        "except for tool calls and results.",
        check=_alternation,
    ),
    Rule(code="W-TPL-2", text="Unexpected role 'user' after role 'tool'", check=_user_after_tool),
    Rule(
        code="W-TPL-3",
        text="Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.",
        check=_not_nine,
    ),
    Rule(code="W-QWN-1", text="No user query found in messages.", check=_no_user),
)
