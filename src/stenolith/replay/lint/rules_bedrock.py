"""What Bedrock's Converse API rejects. Image bytes are base64 text in our JSON.

Error texts: ``spec/replay.md`` section 4.4; patterns and enums from the botocore service model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from stenolith.replay.lint import pictures
from stenolith.replay.lint.blocks import Block, Blocks, Names, repeated, unanswered, untyped
from stenolith.replay.lint.body import lone_surrogates
from stenolith.replay.lint.rule import Finding, Rule, entries, is_blank, misfits, word, words
from stenolith.replay.policy import Policy, Prefill
from stenolith.replay.signature import is_signature

NAMES: Final = Names(
    messages="messages",
    content="content",
    call="toolUse",
    result="toolResult",
)
_ID: Final = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_DOCUMENT: Final = re.compile(r"(?!.*\s\s)[a-zA-Z0-9\s\-()\[\]]{1,200}")
_PAIRED: Final = frozenset({"toolUse", "toolResult"})
_KINDS: Final = ("toolUse", "toolResult", "reasoningContent", "image", "document", "video", "audio", "text")


def read(messages: Sequence[Mapping[str, Any]]) -> list[list[Block]]:
    """Split messages into blocks. The kind of one is the member that is set, its body that member's value."""
    return [
        [_block(index, at, entry) for at, entry in enumerate(entries(message.get("content")))]
        for index, message in enumerate(messages)
    ]


def _block(index: int, at: int, entry: Mapping[str, Any]) -> Block:
    kind = next(iter(entry)) if len(entry) == 1 else _kind(entry)
    body = entry.get(kind)
    if not isinstance(body, dict):
        return Block(index, at, kind, entry if kind == "text" else {"text": body})
    return Block(index, at, kind, body, word(body.get("toolUseId")) if kind in _PAIRED else "")


def _kind(entry: Mapping[str, Any]) -> str:
    return next((kind for kind in _KINDS if kind in entry), next(iter(entry), ""))


def view(payload: Mapping[str, Any], policy: Policy) -> Blocks:
    """Return the request body as the rules see it."""
    return Blocks(payload=payload, policy=policy, names=NAMES, read=read, find_images=images)


def _empty(seen: Blocks) -> Iterator[Finding]:
    for index, blocks in enumerate(seen.split):
        if not blocks:
            yield Finding(seen.message_path(index), {"message": index})


def _blank(seen: Blocks) -> Iterator[Finding]:
    hollow = [piece for _, _, piece in seen.inner if "text" in piece and is_blank(piece["text"])]
    for block in seen.blocks:
        if block.kind == "text" and is_blank(block.body.get("text")):
            yield seen.find(block)
        if hollow and block.kind == "toolResult":
            yield from _blank_inside(seen, block)
    for at, piece in enumerate(entries(seen.payload.get("system"))):
        if "text" in piece and is_blank(piece["text"]):
            yield Finding(f"system[{at}]")


def _blank_inside(seen: Blocks, result: Block) -> Sequence[Finding]:
    return [
        Finding(f"{seen.path(result)}.toolResult.content[{at}]")
        for at, piece in enumerate(entries(result.body.get("content")))
        if "text" in piece and is_blank(piece["text"])
    ]


def _alternation(seen: Blocks) -> Iterator[Finding]:
    before = None
    for index, role in enumerate(seen.roles):
        if role == before:
            yield Finding(seen.message_path(index))
        before = role


def _first(seen: Blocks) -> Iterator[Finding]:
    if not seen.roles or seen.roles[0] != "user":
        yield Finding("messages[0]" if seen.roles else "messages")


def _surplus(seen: Blocks) -> Iterator[Finding]:
    if seen.in_step and len({(seen.turn_of[call.message], call.id) for call in seen.calls}) == len(seen.calls):
        return
    spent: set[tuple[int, str]] = set()
    strays = {(block.message, block.at) for block in seen.strays}
    turn_of = seen.turn_of
    for result in seen.results:
        key = turn_of[result.message], result.id
        if key in spent or (strays and (result.message, result.at) in strays):
            yield seen.find(result)
        spent.add(key)


def _no_config(seen: Blocks) -> Iterator[Finding]:
    config = seen.payload.get("toolConfig")
    if (seen.calls or seen.results) and not (isinstance(config, dict) and config.get("tools")):
        yield seen.find((seen.calls or seen.results)[0])


def _ids(seen: Blocks) -> Iterator[Finding]:
    blocks = (*seen.calls, *seen.results)
    bad = misfits([block.id for block in blocks], _ID)
    for block in blocks if bad else ():
        if block.id in bad:
            yield seen.find(block, kind=block.kind, field="toolUseId", pattern="[a-zA-Z0-9_.:-]+")


def _names(seen: Blocks) -> Iterator[Finding]:
    names = words([call.body.get("name") for call in seen.calls])
    bad = misfits(names, _NAME)
    for call, name in zip(seen.calls, names, strict=True) if bad else ():
        if name in bad:
            yield seen.find(call, kind="toolUse", field="name", pattern="[a-zA-Z0-9_-]+")


def _bare_documents(seen: Blocks) -> Iterator[Finding]:
    first = {block.message: block for block in reversed(seen.blocks) if block.kind == "document"}
    for index in sorted(first):
        if not any(block.kind == "text" for block in seen.split[index]):
            yield seen.find(first[index])


def _document_names(seen: Blocks) -> Iterator[Finding]:
    for block in seen.blocks:
        if block.kind == "document" and _DOCUMENT.fullmatch(word(block.body.get("name"))) is None:
            yield seen.find(block)


def _last(seen: Blocks) -> Iterator[Finding]:
    if seen.roles and seen.roles[-1] == "assistant" and seen.policy.prefill is Prefill.NEVER:
        yield Finding(seen.message_path(len(seen.roles) - 1))


def images(seen: Blocks) -> list[pictures.Embedded]:
    """Return the pictures that the request carries in itself."""
    found = [(seen.path(block), block.body) for block in seen.blocks if block.kind == "image"]
    for block, at, piece in seen.inner:
        if "image" in piece:
            found.append((f"{seen.path(block)}.toolResult.content[{at}]", _map(piece["image"])))
    return [
        pictures.Embedded(path, word(_map(image.get("source")).get("bytes")), f"image/{image.get('format')}")
        for path, image in found
        if "s3Location" not in _map(image.get("source"))
    ]


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _misnamed(seen: Blocks) -> Iterator[Finding]:
    return pictures.misnamed(seen.images, pictures.BEDROCK)


def _too_long(seen: Blocks) -> Iterator[Finding]:
    return pictures.too_long(seen.images, pictures.BEDROCK)


def _too_wide(seen: Blocks) -> Iterator[Finding]:
    return pictures.too_wide(seen.images, pictures.BEDROCK)


def _too_many(seen: Blocks) -> Iterator[Finding]:
    return pictures.too_many(seen.images, pictures.BEDROCK)


def _inputs(seen: Blocks) -> Iterator[Finding]:
    return (seen.find(call) for call in seen.calls if not isinstance(call.body.get("input"), dict))


def _signatures(seen: Blocks) -> Iterator[Finding]:
    if not seen.policy.checks_signatures:
        return
    for block in seen.blocks:
        spoken = block.body.get("reasoningText") if block.kind == "reasoningContent" else None
        if spoken is not None and not is_signature(_map(spoken).get("signature")):
            yield seen.find(block)


def _repeated(seen: Blocks) -> Iterator[Finding]:
    return repeated(seen, seen.calls)


def _encoding(seen: Blocks) -> Iterator[Finding]:
    return lone_surrogates(seen.payload, seen.packed)


RULES: Final[tuple[Rule[Blocks], ...]] = (
    Rule(
        code="W-BED-1",
        text="The content field in the Message object at messages.{message} is empty. "
        "Add a ContentBlock object to the content field and try again.",
        check=_empty,
    ),
    Rule(
        code="W-BED-2",
        text="The text field in the ContentBlock object at {place} is blank. "
        "Add text to the text field, and try again.",
        check=_blank,
    ),
    Rule(
        code="W-BED-3",
        text="A conversation must alternate between user and assistant roles. "
        "Make sure the conversation alternates between user and assistant roles and try again.",
        check=_alternation,
    ),
    Rule(
        code="W-BED-4",
        text="A conversation must start with a user message. "
        "Try again with a conversation that starts with a user message.",
        check=_first,
    ),
    Rule(
        code="W-BED-5",
        text="Expected toolResult blocks at messages.{next}.content for the following Ids: {id}",
        check=unanswered,
    ),
    Rule(
        code="W-BED-5",
        text="The number of toolResult blocks at messages.{message}.content exceeds the number of toolUse blocks "
        "of previous turn.",
        check=_surplus,
    ),
    Rule(
        code="W-BED-6",
        text="The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        check=_no_config,
    ),
    *(
        Rule(
            code="W-BED-7",
            text="Value at 'messages.{message}.member.content.{at}.member.{kind}.{field}' failed to satisfy "
            "constraint: Member must satisfy regular expression pattern: {pattern}, length at most 64",
            check=check,
        )
        for check in (_ids, _names)
    ),
    Rule(code="W-BED-8", text="A text block must be included when using documents.", check=_bare_documents),
    Rule(
        code="W-BED-8",
        text="The document file name can only contain alphanumeric characters, single whitespace characters, "
        "hyphens, parentheses, and square brackets.",
        check=_document_names,
    ),
    Rule(
        code="W-BED-9",
        text="This model does not support assistant message prefill. The conversation must end with a user message.",
        check=_last,
    ),
    Rule(code="W-BED-10", text="The image is {real}, not {mime}; one of png, jpeg, gif, webp", check=_misnamed),
    Rule(code="W-BED-10", text="The image exceeds 3.75 MB: {size} base64 characters > {limit}", check=_too_long),
    Rule(code="W-BED-10", text="The image exceeds {side} pixels on a side", check=_too_wide),
    Rule(code="W-BED-10", text="Too many images: {count} > {limit}", check=_too_many),
    Rule(code="W-BED-11", text="toolUse.input must be an object at messages.{message}.content.{at}", check=_inputs),
    Rule(
        code="W-BED-12",
        text="messages.{message}.content.{at}: Invalid `signature` in `thinking` block",
        check=_signatures,
    ),
    Rule(
        code="W-BED-13",
        text="The toolUse blocks at messages.{message}.content contain duplicate Ids: {id}",
        check=_repeated,
    ),
    Rule(
        code="W-BED-15",
        text="Invalid number of parameters set for tagged union structure {place}. Can only set one of the known keys",
        check=untyped,
    ),
    Rule(code="W-BED-14", text="The request body is not valid JSON: no low surrogate in string", check=_encoding),
)
