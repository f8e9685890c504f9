"""What the Anthropic Messages API rejects: pairing, ids, text and order.

Error texts: ``spec/replay.md`` section 4.1 (public threads and documents).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from stenolith.replay.lint import rules_anthropic_reasoning
from stenolith.replay.lint.blocks import Blank, Block, Blocks, Names, orphans, repeated, unanswered, untyped
from stenolith.replay.lint.rule import Finding, Rule, entries, is_blank, misfits, word, words
from stenolith.replay.policy import Policy

NAMES: Final = Names(
    messages="messages",
    content="content",
    call="tool_use",
    result="tool_result",
)
_ID_FIELDS: Final = {"tool_use": "id", "tool_result": "tool_use_id"}
_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def read(messages: Sequence[Mapping[str, Any]]) -> list[list[Block]]:
    """Split messages into blocks; a string is one text block without a number."""
    found: list[list[Block]] = []
    for index, message in enumerate(messages):
        content = message.get("content")
        blocks: list[Block] = []
        if isinstance(content, str):
            blocks += [Block(index, None, "text", {"text": content})] if content else []
        for at, body in enumerate(entries(content)):
            kind = word(body.get("type"))
            field = _ID_FIELDS.get(kind)
            blocks.append(Block(index, at, kind, body, word(body.get(field)) if field else ""))
        found.append(blocks)
    return found


def view(payload: Mapping[str, Any], policy: Policy) -> Blocks:
    """Return the request body as the rules see it."""
    return Blocks(
        payload=payload,
        policy=policy,
        names=NAMES,
        read=read,
        find_images=rules_anthropic_reasoning.images,
        find_blanks=_blanks,
    )


def _late_results(seen: Blocks) -> Iterator[Finding]:
    turn, other = -1, False
    turn_of = seen.turn_of
    for block in seen.blocks:
        if turn_of[block.message] != turn:
            turn, other = turn_of[block.message], False
        if block.kind != "tool_result":
            other = True
        elif other:
            yield seen.find(block, id=block.id)


def _repeated_calls(seen: Blocks) -> Iterator[Finding]:
    return repeated(seen, seen.calls)


def _repeated_results(seen: Blocks) -> Iterator[Finding]:
    return repeated(seen, seen.results)


def _bad_ids(seen: Blocks) -> Iterator[Finding]:
    bad = misfits([block.id for block in (*seen.calls, *seen.results)], _ID)
    for block in seen.blocks if bad else ():
        if block.kind in _ID_FIELDS and block.id in bad:
            yield seen.find(block, field=f"{block.kind}.{_ID_FIELDS[block.kind]}")


def _bad_names(seen: Blocks) -> Iterator[Finding]:
    names = words([call.body.get("name") for call in seen.calls])
    bad = misfits(names, _NAME)
    return (seen.find(call) for call, name in zip(seen.calls, names, strict=True) if name in bad)


def _bad_inputs(seen: Blocks) -> Iterator[Finding]:
    return (seen.find(call) for call in seen.calls if not isinstance(call.body.get("input"), dict))


def _blanks(seen: Blocks) -> list[Blank]:
    found = [
        Blank(seen.path(block), word(block.body.get("text")))
        for block in seen.blocks
        if block.kind == "text" and is_blank(block.body.get("text"))
    ]
    for block, at, piece in seen.inner:
        if piece.get("type") == "text" and is_blank(piece.get("text")):
            found.append(Blank(f"{seen.path(block)}.content[{at}]", word(piece.get("text"))))
    for at, piece in enumerate(entries(seen.payload.get("system"))):
        if is_blank(piece.get("text")):
            found.append(Blank(f"system[{at}]", word(piece.get("text"))))
    return found


def _empty_text(seen: Blocks) -> Iterator[Finding]:
    return (Finding(blank.path) for blank in seen.blanks if not blank.text)


def _blank_text(seen: Blocks) -> Iterator[Finding]:
    return (Finding(blank.path) for blank in seen.blanks if blank.text)


def _empty_content(seen: Blocks) -> Iterator[Finding]:
    last = len(seen.messages) - 1
    for index, blocks in enumerate(seen.split):
        if not blocks and not (index == last and seen.roles[index] == "assistant"):
            yield Finding(seen.message_path(index), {"message": index})


def _trailing_space(seen: Blocks) -> Iterator[Finding]:
    last = seen.split[-1] if rules_anthropic_reasoning.last_is_assistant(seen) else []
    words = [block for block in last if block.kind == "text"][-1:]
    return (seen.find(block) for block in words if word(block.body.get("text"))[-1:].isspace())


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
        check=orphans,
    ),
    Rule(code="W-ANT-2", text=_ANSWER, check=unanswered),
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
