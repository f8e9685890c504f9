"""Runtime context inside texts: our memory blocks and nonce marks, OpenClaw's delimiters and headers, metadata.

A host composes a prompt from what a person typed and what the runtime adds. Only the former is
transcript; what leaked into stored text or was parroted by a model is cut here
(``spec/replay.md`` section 3.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from stenolith.model.fence import NOTES, parse
from stenolith.model.message import Message, Part, Text
from stenolith.model.provenance import ProvenanceKind
from stenolith.replay.plan import Plan, is_generated, is_runtime_context, with_parts
from stenolith.replay.report import Change, Line, Passed
from stenolith.replay.roles import ASSISTANT, TOOL, USER

LEGACY_OPEN: Final = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"
LEGACY_CLOSE: Final = "<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"
_LEGACY_SAFE: Final = {
    LEGACY_OPEN: "[[OPENCLAW_INTERNAL_CONTEXT_BEGIN]]",
    LEGACY_CLOSE: "[[OPENCLAW_INTERNAL_CONTEXT_END]]",
}
_MEMORY: Final = "<stenolith-"
_OWN: Final = re.compile(r"⟦(/?)ctx:([0-9A-Za-z_-]+)⟧")
_DATE: Final = r"\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)? [^\]\n]{1,16}\] "
_STAMP: Final = re.compile(rf"\A(?:{_DATE})+")
_HEADER: Final = re.compile(
    rf"^(?:{_DATE})*OpenClaw runtime context (?:for the immediately preceding user message\."
    r"|for the active user request in this turn[^\n]*|\(internal\):)[ \t]*\n"
    r"This context is runtime-generated, not user-authored\. Keep internal details private\.",
    re.MULTILINE,
)
_METADATA: Final = re.compile(
    rf"^(?:{_DATE})*(?:Conversation info|Sender|Thread starter|Replied message|Forwarded message(?: context)?"
    r"|Chat history[^\n(]*) \(untrusted(?: metadata|, for context)\):[ \t]*\n"
    r"```json\n(?:(?!```)[^\n]*\n)*```[ \t]*(?:\n|\Z)",
    re.MULTILINE,
)
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Whose text is read: *composed* by a runtime, else typed; *nonce* names our own store's marks.

    *current*: the words are being answered, and the memory that was recalled for them belongs to them.
    """

    composed: bool = False
    nonce: str = ""
    current: bool = False


def wrap_context(text: str, nonce: str) -> str:
    """Return *text* between our own marks, each alone on its line; marks inside it are disarmed."""
    for mark, safe in _LEGACY_SAFE.items():
        text = text.replace(mark, safe)
    disarmed = _OWN.sub(r"[\1ctx:\2]", text)
    return f"⟦ctx:{nonce}⟧\n{disarmed}\n⟦/ctx:{nonce}⟧"


def strip_context(text: str, author: Author | None = None) -> str:
    """Return *text* without runtime context.

    Blocks are cut where their marks stand alone on a line outside fenced code; nesting counts. A
    block without an end is cut to the end of a *composed* text and left alone in a typed one, so
    that nobody who pastes a mark loses the rest of a message. Other text is returned unchanged.
    """
    author = author or Author()
    cut = text if author.current or _MEMORY not in text else _cut_memory(text)
    cut = _cut_blocks(cut, author) if LEGACY_OPEN in cut or "⟦ctx:" in cut else cut
    if "(untrusted" in cut:
        cut = _METADATA.sub("", cut)
    cut = text if cut == text else cut.strip()
    if "OpenClaw runtime context" in cut:
        cut = _cut_header(cut, author)
    if cut.startswith("["):
        cut = _STAMP.sub("", cut)
    return text if cut == text else cut.strip()


def _cut_memory(text: str) -> str:
    """Return *text* without the blocks that recall wrote: they were right for one question, and are found anew."""
    for block in reversed(parse(text)):
        if NOTES[block.fence] in text[block.start : block.end]:
            text = text[: block.start].rstrip() + "\n\n" + text[block.end :].lstrip()
    return text


def _cut_header(text: str, author: Author) -> str:
    found = _HEADER.search(text)
    typed_around_it = found is not None and found.start() > 0 and not author.composed
    return text if found is None or typed_around_it else text[: found.start()]


def _cut_blocks(text: str, author: Author) -> str:
    lines = text.split("\n")
    ends = _block_ends(lines, author)
    kept: list[str] = []
    at, fence = 0, ""
    while at < len(lines):
        if at in ends and not fence:
            kept += [""] if kept and kept[-1] else []
            at = ends[at] + 1
            at += at < len(lines) and not lines[at]
            continue
        fence = _fence_after(lines[at], fence)
        kept.append(lines[at])
        at += 1
    return "\n".join(kept)


def _block_ends(lines: Sequence[str], author: Author) -> dict[int, int]:
    """Return, for each line that opens a block, the line that ends it; nested marks pair up."""
    open_at: dict[str, list[int]] = {}
    ends: dict[int, int] = {}
    for at, line in enumerate(lines):
        word = line.strip()
        if open_at.get(word):
            ends[open_at[word].pop()] = at
        elif closing := _closing(word, author):
            open_at.setdefault(closing, []).append(at)
    if author.composed:
        ends |= {at: len(lines) - 1 for left in open_at.values() for at in left}
    return ends


def _closing(line: str, author: Author) -> str:
    """Return the mark that ends the block which *line* opens; empty when it opens none we know."""
    if line == LEGACY_OPEN:
        return LEGACY_CLOSE
    own = _OWN.fullmatch(line)
    if own is None or own[1]:
        return ""
    known = author.composed or not author.nonce or own[2] == author.nonce
    return f"⟦/ctx:{own[2]}⟧" if known else ""


def _fence_after(line: str, fence: str) -> str:
    found = _FENCE.fullmatch(line)
    if found is None:
        return fence
    if not fence:
        return found[1]
    closes = found[1].startswith(fence) and not found[2].strip()
    return "" if closes else fence


def remove_runtime_context(lines: Sequence[Line], plan: Plan) -> Passed:
    """Cut runtime context out of user and assistant texts (section 3.1)."""
    kept: list[Line] = []
    changes: list[Change] = []
    start: int | None = None
    for at, line in enumerate(lines):
        message = line.message
        if message.role not in _SPEAKERS or not _are_suspicious(message.parts) or is_runtime_context(message):
            kept.append(line)
            continue
        start = _turn_start(lines) if start is None else start
        author = _author(message, plan, current=at >= start and message.role is USER)
        found = [strip_context(part.text, author) for part in message.parts if type(part) is Text]
        if found == [part.text for part in message.parts if type(part) is Text]:
            kept.append(line)
            continue
        kept.append(with_parts(line, _replace_texts(message.parts, iter(found))))
        changes.append(Change(rule="runtime-context", index=line.at, action="cut", detail=message.text()))
    return kept, changes


_SPEAKERS: Final = frozenset({USER, ASSISTANT})


def _are_suspicious(parts: Sequence[Part]) -> bool:
    """Return whether a text of a user or an assistant may hold context at all: nearly none does."""
    for part in parts:
        if type(part) is Text:
            text = part.text
            if LEGACY_OPEN in text or text[:1] == "[" or "⟦ctx:" in text or _MEMORY in text:
                return True
            if "(untrusted" in text or "OpenClaw runtime context" in text:
                return True
    return False


def _author(message: Message, plan: Plan, *, current: bool) -> Author:
    internal = message.provenance is not None and message.provenance.kind is ProvenanceKind.INTERNAL_SYSTEM
    composed = message.role is ASSISTANT or internal or "custom_type" in message.extra
    return Author(composed=composed, nonce=plan.options.nonce, current=current)


def _replace_texts(parts: Sequence[Part], texts: Iterator[str]) -> list[Part]:
    return [replace(part, text=next(texts)) if type(part) is Text else part for part in parts]


def place_runtime_context(lines: Sequence[Line], plan: Plan) -> Passed:
    """Keep runtime-context messages of the current turn only, behind its user message where policy says so."""
    spots = [at for at, line in enumerate(lines) if line.message.extra and is_runtime_context(line.message)]
    if not spots:
        return lines, ()
    start = _turn_start(lines)
    old = {at for at in spots if at < start}
    kept = [line for at, line in enumerate(lines) if at not in old]
    changes = [
        Change(rule="runtime-context", index=lines[at].at, action="dropped", detail=lines[at].message.text())
        for at in sorted(old)
    ]
    return (_behind_user(kept) if plan.policy.append_only_runtime_context else kept), changes


def _turn_start(lines: Sequence[Line]) -> int:
    users = [at for at, line in enumerate(lines) if line.message.role is USER and not is_generated(line.message)]
    at = users[-1] if users else 0
    while at > 0 and lines[at - 1].message.role not in {ASSISTANT, TOOL}:
        at -= 1
    return at


def _behind_user(lines: list[Line]) -> list[Line]:
    start = _turn_start(lines)
    end = start
    while end < len(lines) and lines[end].message.role is USER:
        end += 1
    asked = lines[start:end]
    behind = [line for line in asked if is_runtime_context(line.message)]
    before = [line for line in asked if not is_runtime_context(line.message)]
    return [*lines[:start], *before, *behind, *lines[end:]]
