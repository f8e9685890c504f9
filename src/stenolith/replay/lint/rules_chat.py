"""What OpenAI chat completions and the many servers that speak it reject.

Error texts: ``spec/replay.md`` section 4.2 (public threads and documents).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from stenolith.replay.lint.body import lone_surrogates, pack
from stenolith.replay.lint.rule import Finding, Rule, entries, is_blank, is_json, misfits, word, words
from stenolith.replay.policy import DuplicateStyle, IdMode, Policy, Reasoning

ID_MAX: Final = 40
NINE: Final = re.compile(r"[a-zA-Z0-9]{9}")
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_REASONING: Final = ("reasoning_content", "reasoning", "reasoning_text", "reasoning_details")
_SYSTEM: Final = frozenset({"system", "developer"})


@dataclass(slots=True, eq=False)
class Call:
    """One entry of ``tool_calls`` and its place; *function* holds name and arguments. Made by many, like `Block`."""

    message: int
    at: int
    id: str
    function: Mapping[str, Any]

    @property
    def path(self) -> str:
        """Where the call stands."""
        return f"messages[{self.message}].tool_calls[{self.at}]"


def _calls(index: int, message: Mapping[str, Any]) -> list[Call]:
    found: list[Call] = []
    for at, body in enumerate(entries(message.get("tool_calls"))):
        function = body.get("function")
        found.append(Call(index, at, word(body.get("id")), function if isinstance(function, dict) else {}))
    return found


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
        return words([message.get("role") for message in self.messages])

    @cached_property
    def calls(self) -> list[Sequence[Call]]:
        """The tool calls of every message."""
        return [
            _calls(index, message) if "tool_calls" in message else () for index, message in enumerate(self.messages)
        ]

    @cached_property
    def every_call(self) -> list[Call]:
        """All tool calls in order."""
        return [call for calls in self.calls for call in calls]

    @cached_property
    def answers(self) -> list[Sequence[int]]:
        """For every message, the indexes of the tool messages that directly follow it."""
        roles = self.roles
        found: list[Sequence[int]] = []
        for index, role in enumerate(roles, start=1):
            end = index
            if role != "tool":
                while end < len(roles) and roles[end] == "tool":
                    end += 1
            found.append(range(index, end) if index < end else ())
        return found

    @cached_property
    def answer_ids(self) -> list[str]:
        """For every message the id that it answers; empty where there is none."""
        return words([message.get("tool_call_id", "") for message in self.messages])

    @cached_property
    def results(self) -> list[int]:
        """The indexes of the tool messages."""
        return [index for index, role in enumerate(self.roles) if role == "tool"]

    def find(self, index: int, **facts: Any) -> Finding:
        """Return a finding at a message."""
        return Finding(f"messages[{index}]", {"message": index, **facts})


def _unanswered(seen: Chat) -> Iterator[Finding]:
    answers, ids = seen.answers, seen.answer_ids
    for index, calls in enumerate(seen.calls):
        if calls:
            answered = {ids[at] for at in answers[index]}
            missing = [call.id for call in calls if call.id not in answered]
            if missing:
                yield seen.find(index, ids=", ".join(missing))


def _orphans(seen: Chat) -> Iterator[Finding]:
    answers, ids = seen.answers, seen.answer_ids
    owned: set[int] = set()
    for index, calls in enumerate(seen.calls):
        if calls:
            called = {call.id for call in calls}
            owned.update([at for at in answers[index] if ids[at] in called])
    return (seen.find(index) for index in seen.results if index not in owned)


def _long_ids(seen: Chat) -> Iterator[Finding]:
    for call in seen.every_call:
        if len(call.id) > ID_MAX:
            yield Finding(call.path, {"field": f"{call.path}.id", "size": len(call.id)})
    ids = seen.answer_ids
    for index in seen.results:
        if len(ids[index]) > ID_MAX:
            yield seen.find(index, field=f"messages[{index}].tool_call_id", size=len(ids[index]))


def _bad_names(seen: Chat) -> Iterator[Finding]:
    names = words([call.function.get("name") for call in seen.every_call])
    bad = misfits(names, _NAME)
    for call, name in zip(seen.every_call, names, strict=True) if bad else ():
        if name in bad:
            yield Finding(call.path, {"path": call.path})


def _empty_calls(seen: Chat) -> Iterator[Finding]:
    calls = seen.calls
    for index, message in enumerate(seen.messages):
        if "tool_calls" in message and not calls[index]:
            yield seen.find(index)


def _bad_arguments(seen: Chat) -> Iterator[Finding]:
    for call in seen.every_call:
        if not is_json(call.function.get("arguments")):
            yield Finding(f"{call.path}.function.arguments", {"path": call.path})


def _no_content(seen: Chat) -> Iterator[Finding]:
    calls = seen.calls
    for index, message in enumerate(seen.messages):
        if message.get("content") is None and not calls[index]:
            yield seen.find(index)


def _empty_assistant(seen: Chat) -> Iterator[Finding]:
    messages, calls = seen.messages, seen.calls
    for index, role in enumerate(seen.roles):
        if role == "assistant" and not calls[index]:
            content = messages[index].get("content")
            if is_blank(content) if isinstance(content, str) else content == []:
                yield seen.find(index)


def _repeated(seen: Chat) -> Iterator[Finding]:
    if seen.policy.duplicate_tool_call_id_style is not DuplicateStyle.OPENAI:
        return
    known: set[str] = set()
    for call in seen.every_call:
        if call.id in known:
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
    unwanted = [field for field in _REASONING if field not in allowed]
    suspects = frozenset(unwanted)
    for index, message in enumerate(seen.messages):
        for field in () if suspects.isdisjoint(message) else unwanted:
            if field in message:
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
    policy = seen.policy
    if policy.separator_after_tool or policy.requires_assistant_after_tool_result:
        yield from users_after_tools(seen)


def users_after_tools(seen: Chat) -> Iterator[Finding]:
    """Find users that stand directly behind a tool's result."""
    roles = seen.roles
    return (seen.find(at + 1) for at in seen.results if roles[at + 1 : at + 2] == ["user"])


def _no_user(seen: Chat) -> Iterator[Finding]:
    if seen.policy.user_first and seen.roles and "user" not in seen.roles:
        yield Finding("messages")


def _not_nine(seen: Chat) -> Iterator[Finding]:
    if seen.policy.tool_call_id_mode is IdMode.STRICT9:
        yield from not_nine(seen)


def not_nine(seen: Chat) -> Iterator[Finding]:
    """Find call and result ids that are not exactly nine letters and digits."""
    ids = seen.answer_ids
    bad = misfits([*(call.id for call in seen.every_call), *(ids[at] for at in seen.results)], NINE)
    for call in seen.every_call if bad else ():
        if call.id in bad:
            yield Finding(call.path, {"id": call.id})
    for index in seen.results if bad else ():
        if ids[index] in bad:
            yield seen.find(index, id=ids[index])


def _bad_roles(seen: Chat) -> Iterator[Finding]:
    known = _SYSTEM | {"user", "assistant", "tool", "function"}
    return (seen.find(index, role=role) for index, role in enumerate(seen.roles) if role not in known)


def _nothing(seen: Chat) -> Iterator[Finding]:
    if not seen.messages:
        yield Finding("messages")


def _encoding(seen: Chat) -> Iterator[Finding]:
    return lone_surrogates(seen.payload, pack(seen.payload, "messages"))


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
