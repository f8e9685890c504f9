"""What the Anthropic Messages API rejects about thinking and images, and what compatible servers add.

Error texts: ``spec/replay.md`` section 4.1 (public threads and documents).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from stenolith.replay.lint import pictures
from stenolith.replay.lint.blocks import Block, Blocks
from stenolith.replay.lint.body import lone_surrogates, measure
from stenolith.replay.lint.rule import Finding, Rule, is_blank, word
from stenolith.replay.policy import Prefill
from stenolith.replay.signature import is_signature

_REQUEST: Final = 32_000_000  # bytes of one request body
_MINIMAX_ID: Final = 64
_THINKING: Final = frozenset({"thinking", "redacted_thinking"})
_FIELDS: Final = {"thinking": {"type", "thinking", "signature"}, "redacted_thinking": {"type", "data"}}


def _thinks(seen: Blocks) -> bool:
    setting = seen.payload.get("thinking")
    return isinstance(setting, dict) and word(setting.get("type")) in {"enabled", "adaptive"}


def last_is_assistant(seen: Blocks) -> bool:
    """Say whether the request ends with words put into the model's mouth."""
    return bool(seen.roles) and seen.roles[-1] == "assistant"


def _prefill(seen: Blocks) -> Iterator[Finding]:
    if last_is_assistant(seen) and (_thinks(seen) or seen.policy.prefill is Prefill.NEVER):
        yield Finding(seen.message_path(len(seen.roles) - 1))


def _signatures(seen: Blocks) -> Iterator[Finding]:
    if not seen.policy.checks_signatures:
        return
    for block in seen.blocks:
        kind = block.kind
        if kind == "thinking" and not is_signature(block.body.get("signature")):
            yield seen.find(block, field="signature", kind=kind)
        if kind == "redacted_thinking" and is_blank(block.body.get("data")):
            yield seen.find(block, field="data", kind=kind)


def _touched(seen: Blocks) -> Iterator[Finding]:
    latest = next((index for index in range(len(seen.roles) - 1, -1, -1) if seen.roles[index] == "assistant"), None)
    for block in seen.split[latest] if latest is not None else ():
        if block.kind in _THINKING and (set(block.body) - _FIELDS[block.kind] or not _whole(block)):
            yield seen.find(block)


def _whole(block: Block) -> bool:
    return block.kind != "thinking" or isinstance(block.body.get("thinking"), str)


def _unthinking(seen: Blocks) -> Iterator[Finding]:
    """Find a running tool turn that does not open with thinking. A turn begins after a user's own words."""
    at = len(seen.roles)
    running = False
    while at and seen.roles[at - 1] == "user":
        at -= 1
        running = running or any(block.kind == "tool_result" for block in seen.split[at])
    while at and not (seen.roles[at - 1] == "user" and _has_words(seen.split[at - 1])):
        at -= 1
    opening = next((blocks for blocks in seen.split[at:] if blocks and seen.roles[blocks[0].message] != "user"), None)
    if _thinks(seen) and running and opening and opening[0].kind not in _THINKING:
        yield seen.find(opening[0], kind=opening[0].kind)


def _has_words(blocks: Sequence[Block]) -> bool:
    return any(block.kind != "tool_result" for block in blocks)


def images(seen: Blocks) -> list[pictures.Embedded]:
    """Return the pictures that the request carries in itself."""
    found = [(seen.path(block), block.body) for block in seen.blocks if block.kind == "image"]
    for block, at, piece in seen.inner:
        if piece.get("type") == "image":
            found.append((f"{seen.path(block)}.content[{at}]", piece))
    sources = [(path, _source(body)) for path, body in found]
    return [
        pictures.Embedded(path, word(source.get("data")), word(source.get("media_type")))
        for path, source in sources
        if source.get("type") != "url"
    ]


def _source(body: Mapping[str, Any]) -> Mapping[str, Any]:
    source = body.get("source")
    return source if isinstance(source, dict) else {}


def _undeclared(seen: Blocks) -> Iterator[Finding]:
    if seen.policy.tools_required_in_request and seen.calls and not seen.payload.get("tools"):
        yield seen.find(seen.calls[0])


def _crowded(seen: Blocks) -> Iterator[Finding]:
    if not seen.policy.result_only_user_messages:
        return
    for index, blocks in enumerate(seen.split):
        kinds = {block.kind for block in blocks}
        if "tool_result" in kinds and kinds != {"tool_result"}:
            yield Finding(seen.message_path(index))


def _unknown_results(seen: Blocks) -> Iterator[Finding]:
    if seen.policy.result_only_user_messages:
        called = {call.id for call in seen.calls}
        yield from (seen.find(result, id=result.id) for result in seen.results if result.id not in called)


def _strange_ids(seen: Blocks) -> Iterator[Finding]:
    if seen.policy.result_only_user_messages:
        yield from (seen.find(call) for call in seen.calls if not 0 < len(call.id) <= _MINIMAX_ID)


def _silent_calls(seen: Blocks) -> Iterator[Finding]:
    if not (seen.policy.reasoning_required and _thinks(seen)):
        return
    for index in sorted({call.message for call in seen.calls}):
        thought = any(block.kind in _THINKING for block in seen.split[index])
        if not thought and not isinstance(seen.messages[index].get("reasoning_content"), str):
            yield Finding(seen.message_path(index), {"message": index})


def _heavy(seen: Blocks) -> Iterator[Finding]:
    if seen.packed.size < _REQUEST // 2:  # escapes at most double a text
        return
    total = measure(seen.payload, seen.names.messages)
    if total > _REQUEST:
        yield Finding("messages", {"total": total})


def _limits(seen: Blocks) -> pictures.Limits:
    policy = seen.policy
    return replace(
        pictures.ANTHROPIC,
        count=policy.image_max_count,
        many=policy.image_many_count,
        many_side=policy.image_many_side,
    )


def _misnamed(seen: Blocks) -> Iterator[Finding]:
    return pictures.misnamed(seen.images, _limits(seen))


def _too_long(seen: Blocks) -> Iterator[Finding]:
    return pictures.too_long(seen.images, _limits(seen))


def _too_wide(seen: Blocks) -> Iterator[Finding]:
    return pictures.too_wide(seen.images, _limits(seen))


def _too_wide_among_many(seen: Blocks) -> Iterator[Finding]:
    return pictures.too_wide_among_many(seen.images, _limits(seen))


def _too_many(seen: Blocks) -> Iterator[Finding]:
    return pictures.too_many(seen.images, _limits(seen))


def _encoding(seen: Blocks) -> Iterator[Finding]:
    return lone_surrogates(seen.payload, seen.packed)


RULES: Final[tuple[Rule[Blocks], ...]] = (
    Rule(
        code="W-ANT-9",
        text="This model does not support assistant message prefill. The conversation must end with a user message.",
        check=_prefill,
    ),
    Rule(
        code="W-ANT-10",
        text="messages.{message}.content.{at}: Invalid `{field}` in `{kind}` block",
        check=_signatures,
    ),
    Rule(
        code="W-ANT-11",
        text="messages.{message}.content.{at}: `thinking` or `redacted_thinking` blocks in the latest assistant "
        "message cannot be modified. These blocks must remain as they were in the original response.",
        check=_touched,
    ),
    Rule(
        code="W-ANT-12",
        text="messages.{message}.content.{at}: Expected `thinking` or `redacted_thinking`, but found `{kind}`. "
        "When `thinking` is enabled, a final `assistant` message must start with a thinking block",
        check=_unthinking,
    ),
    Rule(
        code="W-ANT-14",
        text="{place}.image.source.base64: image exceeds 5 MB maximum: {size} bytes > {limit} bytes",
        check=_too_long,
    ),
    Rule(
        code="W-ANT-14",
        text="{place}: At least one of the image dimensions exceed max allowed size: {side} pixels",
        check=_too_wide,
    ),
    Rule(
        code="W-ANT-14",
        text="{place}: At least one of the image dimensions exceed max allowed size for many-image requests: "
        "{side} pixels",
        check=_too_wide_among_many,
    ),
    Rule(
        code="W-ANT-14",
        text="{place}: Image does not match the provided media type {mime}: it is {real}",
        check=_misnamed,
    ),
    Rule(code="W-ANT-14", text="Too many images in the request: {count} > {limit}", check=_too_many),
    Rule(
        code="W-ANT-14",
        text="Request exceeds the maximum size: {total} bytes > 32000000 bytes",
        check=_heavy,
    ),
    Rule(
        code="W-ANT-15",
        text="The request body is not valid JSON: no low surrogate in string: line 1 column {column}",
        check=_encoding,
    ),
    Rule(
        code="W-ANT-16",
        text="messages.{message}.content.{at}: `tools` must be defined when the history has `tool_use` blocks",
        check=_undeclared,
    ),
    Rule(
        code="W-MMX-1",
        text="invalid params, tool call result does not follow tool call (2013)",
        check=_crowded,
    ),
    Rule(code="W-MMX-2", text="invalid params, tool result's tool id({id}) not found (2013)", check=_unknown_results),
    Rule(code="W-MMX-3", text="tool call id is invalid (2013)", check=_strange_ids),
    Rule(
        code="W-KIM-1",
        text="thinking is enabled but reasoning_content is missing in assistant tool call message at index {message}",
        check=_silent_calls,
    ),
)
