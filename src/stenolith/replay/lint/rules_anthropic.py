"""What the Anthropic Messages API rejects: pairing, ids, text and order.

Error texts: ``spec/replay.md`` section 4.1 (public threads and documents).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from stenolith.replay.lint import rules_anthropic_reasoning
from stenolith.replay.lint.blocks import Block, Blocks, Names, neighbours, of_kind, repeated, untyped
from stenolith.replay.lint.rule import Finding, Rule, word
from stenolith.replay.policy import Policy

NAMES: Final = Names(
    messages="messages",
    content="content",
    call="tool_use",
    result="tool_result",
    call_id="id",
    result_id="tool_use_id",
)
_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def read(index: int, message: Mapping[str, Any]) -> list[Block]:
    """Split one message into blocks; a string is one text block without a number."""
    content = message.get("content")
    if isinstance(content, str):
        return [Block(index, None, "text", {"text": content})] if content else []
    if not isinstance(content, list | tuple):
        return []
    bodies = [body if isinstance(body, Mapping) else {} for body in content]
    return [Block(index, at, word(body.get("type")), body) for at, body in enumerate(bodies)]


def view(payload: Mapping[str, Any], policy: Policy) -> Blocks:
    """Return the request body as the rules see it."""
    return Blocks(payload=payload, policy=policy, names=NAMES, read=read)


def _orphans(seen: Blocks) -> Iterator[Finding]:
    for before, turn, _ in neighbours(seen.turns):
        called = {seen.id(call) for call in of_kind(before, "assistant", "tool_use")}
        for result in (block for block in turn.blocks if block.kind == "tool_result"):
            if turn.role != "user" or seen.id(result) not in called:
                yield seen.find(result, id=seen.id(result))


def _unanswered(seen: Blocks) -> Iterator[Finding]:
    for _, turn, after in neighbours(seen.turns):
        answered = {seen.id(result) for result in of_kind(after, "user", "tool_result")}
        for call in (block for block in turn.blocks if block.kind == "tool_use"):
            if seen.id(call) not in answered:
                yield seen.find(call, id=seen.id(call))


def _late_results(seen: Blocks) -> Iterator[Finding]:
    for turn in seen.turns:
        other = False
        for block in turn.blocks:
            if block.kind == "tool_result" and other:
                yield seen.find(block, id=seen.id(block))
            other = other or block.kind != "tool_result"


def _repeated_calls(seen: Blocks) -> Iterator[Finding]:
    return repeated(seen, seen.calls)


def _repeated_results(seen: Blocks) -> Iterator[Finding]:
    return repeated(seen, seen.results)


def _bad_ids(seen: Blocks) -> Iterator[Finding]:
    for block in seen.blocks:
        if block.kind in {"tool_use", "tool_result"} and _ID.fullmatch(seen.id(block)) is None:
            field = "id" if block.kind == "tool_use" else "tool_use_id"
            yield seen.find(block, field=f"{block.kind}.{field}")


def _bad_names(seen: Blocks) -> Iterator[Finding]:
    return (seen.find(call) for call in seen.calls if _NAME.fullmatch(word(call.body.get("name"))) is None)


def _bad_inputs(seen: Blocks) -> Iterator[Finding]:
    return (seen.find(call) for call in seen.calls if not isinstance(call.body.get("input"), Mapping))


def _texts(seen: Blocks) -> Iterator[tuple[Finding, str]]:
    for block in seen.blocks:
        if block.kind == "text":
            yield seen.find(block), word(block.body.get("text"))
        if block.kind == "tool_result" and isinstance(block.body.get("content"), list):
            for at, piece in enumerate(block.body["content"]):
                if isinstance(piece, Mapping) and piece.get("type") == "text":
                    yield Finding(f"{seen.path(block)}.content[{at}]"), word(piece.get("text"))
    system = seen.payload.get("system")
    for at, piece in enumerate(system if isinstance(system, list) else []):
        yield Finding(f"system[{at}]"), word(piece.get("text")) if isinstance(piece, Mapping) else ""


def _empty_text(seen: Blocks) -> Iterator[Finding]:
    return (finding for finding, text in _texts(seen) if not text)


def _blank_text(seen: Blocks) -> Iterator[Finding]:
    return (finding for finding, text in _texts(seen) if text and not text.strip())


def _empty_content(seen: Blocks) -> Iterator[Finding]:
    last = len(seen.messages) - 1
    for index, blocks in enumerate(seen.split):
        if not blocks and not (index == last and seen.roles[index] == "assistant"):
            yield Finding(seen.message_path(index), {"message": index})


def _trailing_space(seen: Blocks) -> Iterator[Finding]:
    texts = (
        [block for block in seen.split[-1] if block.kind == "text"]
        if rules_anthropic_reasoning.last_is_assistant(seen)
        else []
    )
    if texts and word(texts[-1].body.get("text")) != word(texts[-1].body.get("text")).rstrip():
        yield seen.find(texts[-1])


def _nothing(seen: Blocks) -> Iterator[Finding]:
    if not seen.messages:
        yield Finding("messages")


def _not_user_first(seen: Blocks) -> Iterator[Finding]:
    if seen.roles and seen.roles[0] != "user":
        yield Finding(seen.message_path(0))


def _bad_roles(seen: Blocks) -> Iterator[Finding]:
    for index, role in enumerate(seen.roles):
        if role not in {"user", "assistant"}:
            yield Finding(seen.message_path(index), {"role": role})


_ANSWER: Final = (
    "messages.{message}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)

RULES: Final[tuple[Rule[Blocks], ...]] = (
    Rule(
        code="W-ANT-1",
        text="messages.{message}.content.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. "
        "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
        check=_orphans,
    ),
    Rule(code="W-ANT-2", text=_ANSWER, check=_unanswered),
    Rule(code="W-ANT-3", text=_ANSWER, check=_late_results),
    Rule(
        code="W-ANT-4",
        text="messages.{message}.content.{at}: `tool_use` ids must be unique",
        check=_repeated_calls,
    ),
    Rule(
        code="W-ANT-4",
        text="messages.{message}.content.{at}: each tool_use must have a single result. "
        "Found multiple `tool_result` blocks with id: {id}",
        check=_repeated_results,
    ),
    Rule(
        code="W-ANT-5",
        text="messages.{message}.content.{at}.{field}: String should match pattern '^[a-zA-Z0-9_-]+$'",
        check=_bad_ids,
    ),
    Rule(code="W-ANT-6", text="messages: text content blocks must be non-empty", check=_empty_text),
    Rule(code="W-ANT-6", text="messages: text content blocks must contain non-whitespace text", check=_blank_text),
    Rule(
        code="W-ANT-7",
        text="messages.{message}: all messages must have non-empty content "
        "except for the optional final assistant message",
        check=_empty_content,
    ),
    Rule(
        code="W-ANT-8",
        text="messages: final assistant content cannot end with trailing whitespace",
        check=_trailing_space,
    ),
    Rule(code="W-ANT-13", text="messages: at least one message is required", check=_nothing),
    Rule(code="W-ANT-13", text='messages: first message must use the "user" role', check=_not_user_first),
    Rule(
        code="W-ANT-17",
        text='messages: Unexpected role "{role}". The Messages API accepts a top-level `system` parameter, '
        'not "system" as an input message role.',
        check=_bad_roles,
    ),
    Rule(
        code="W-ANT-18",
        text="messages.{message}.content.{at}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'",
        check=_bad_names,
    ),
    Rule(
        code="W-ANT-18",
        text="messages.{message}.content.{at}.tool_use.input: Input should be a valid dictionary",
        check=_bad_inputs,
    ),
    Rule(
        code="W-ANT-19",
        text="{place}: Input tag found using 'type' does not match any of the expected tags",
        check=untyped,
    ),
    *rules_anthropic_reasoning.RULES,
)
