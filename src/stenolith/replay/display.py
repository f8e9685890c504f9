"""What a person may see of a transcript (``spec/replay.md`` section 3.15). Storage never changes.

The same projection feeds search: nobody should find runtime scaffolding, and nobody should miss what was said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from stenolith.model.message import Message, Part, Role, StopReason, Text, Thinking
from stenolith.model.provenance import ProvenanceKind
from stenolith.replay.context import Author, strip_context
from stenolith.replay.heartbeats import idle_heartbeats
from stenolith.replay.marks import BODILESS, MARKER, strip_marker
from stenolith.replay.mirrors import is_mirror
from stenolith.replay.normalise import drop_silent_replies
from stenolith.replay.plan import FAILURES, RUNTIME_CONTEXT, Plan, has_words, holding, is_blank, is_deleted
from stenolith.replay.policy import Api, Policy, Target
from stenolith.replay.report import Line

RUN_FAILED: Final = "The agent run failed before producing a reply."
FORWARDED: Final = "Forwarded from {}"
_ANNOUNCE: Final = "subagent_announce"
_AGENT: Final = re.compile(r"agent:([^:]+)(?::.*)?", re.DOTALL)
# The second line of OpenClaw's own marker, worded differently from version to version.
_ROUTED: Final = re.compile(r"[^\n]*inter-session data[^\n]*instruction[^\n]*(?:\n|\Z)", re.IGNORECASE)
# Whether a reply says nothing depends on no provider; the pass wants a plan all the same.
_ANY_PLAN: Final = Plan(target=Target(provider="", api=Api.OPENAI_CHAT, model=""), policy=Policy())


def display(messages: Sequence[Message], max_chars: int | None = None) -> tuple[Message, ...]:
    """Return the messages that a person may see, in order, as they may see them.

    Hidden are what a host marked so, runtime context, blank users, silent replies, heartbeats without news, and what
    subagents announce.  A message from another session stands on the assistant's side, its speaker naming the sender.
    A failed run says so in a sentence, never in a provider's words.  A mirror beside the same words is shown once.
    Texts longer than *max_chars* are cut.  Displaying what was displayed changes nothing.
    """
    shown: list[Message] = []
    for message in _without_heartbeats([message for message in messages if not _is_hidden(message)]):
        found = _shown(message)
        if found is None:
            continue
        if shown and _repeats(found, shown[-1]):
            shown[-1] = shown[-1] if is_mirror(found) else found
            continue
        shown.append(found)
    return tuple(shown if max_chars is None else (_cut(message, max_chars) for message in shown))


def _is_hidden(message: Message) -> bool:
    if not message.display or is_deleted(message) or message.extra.get("custom_type") == RUNTIME_CONTEXT:
        return True
    return _is_foreign(message) and message.provenance is not None and message.provenance.tool == _ANNOUNCE


def _without_heartbeats(messages: Sequence[Message]) -> list[Message]:
    idle = idle_heartbeats(messages)
    return [message for at, message in enumerate(messages) if at not in idle]


def _is_foreign(message: Message) -> bool:
    provenance = message.provenance
    if message.role is not Role.USER or provenance is None:
        return False
    return provenance.kind is ProvenanceKind.INTER_SESSION


def _shown(message: Message) -> Message | None:
    """Return *message* as a person sees it, or None when nothing is left of it."""
    if message.role is Role.USER:
        shown = _shown_user(message, foreign=_is_foreign(message))
        if shown is None or not _is_foreign(message):
            return shown
        message = replace(shown, role=Role.ASSISTANT, speaker=FORWARDED.format(_sender(message)))
    return _shown_assistant(message) if message.role is Role.ASSISTANT else message


def _shown_user(message: Message, *, foreign: bool) -> Message | None:
    parts = [part for part in (_cleaned(part, message, foreign=foreign) for part in message.parts) if part is not None]
    if not has_words(parts) and all(isinstance(part, Text) for part in parts):
        return None
    return message if tuple(parts) == message.parts else holding(message, parts)


def _cleaned(part: Part, message: Message, *, foreign: bool) -> Part | None:
    if not isinstance(part, Text):
        return part
    text = _unmarked(part.text) if foreign else part.text
    internal = message.provenance is not None and message.provenance.kind is ProvenanceKind.INTERNAL_SYSTEM
    composed = message.role is Role.ASSISTANT or internal or "custom_type" in message.extra
    text = strip_context(text, Author(composed=composed))
    if text == part.text:
        return part
    return None if is_blank(text) else replace(part, text=text)


def _unmarked(text: str) -> str:
    if not text.startswith(MARKER):
        return text
    body = _ROUTED.sub("", strip_marker(text), count=1)
    return "" if body.strip() == BODILESS else body


def _sender(message: Message) -> str:
    """Return the agent that a session key names (``agent:research:main``), or the key itself."""
    session = message.provenance.session if message.provenance else ""
    match = _AGENT.fullmatch(session)
    return match[1] if match else session or "another session"


def _shown_assistant(message: Message) -> Message | None:
    heard, _ = drop_silent_replies([Line(0, message)], _ANY_PLAN)
    if not heard:
        return None
    message = heard[0].message
    cleaned = (_cleaned(part, message, foreign=False) for part in message.parts)
    parts = [part for part in (_unsigned(part) for part in cleaned if part is not None) if part is not None]
    said = [part for part in parts if isinstance(part, Text) and not is_blank(part.text) and part.text not in FAILURES]
    failed = message.stop_reason is StopReason.ERROR or any(_is_failure(part) for part in parts)
    if failed and not said:
        parts = [*(part for part in parts if not isinstance(part, Text)), Text(text=RUN_FAILED)]
    if not parts or all(isinstance(part, Text) and is_blank(part.text) for part in parts):
        return None
    seen = message if tuple(parts) == message.parts else holding(message, parts)
    return seen if seen.error is None else replace(seen, error=None)


def _is_failure(part: Part) -> bool:
    return isinstance(part, Text) and part.text in FAILURES


def _unsigned(part: Part) -> Part | None:
    """Return thinking without the provider's signature, or None when it has no words."""
    if not isinstance(part, Thinking):
        return part
    return None if is_blank(part.text) else replace(part, signature=None)


def _repeats(message: Message, before: Message) -> bool:
    both = message.role is Role.ASSISTANT and before.role is Role.ASSISTANT
    return both and (is_mirror(message) or is_mirror(before)) and message.text() == before.text()


def _cut(message: Message, max_chars: int) -> Message:
    parts = [_cut_text(part, max_chars) if isinstance(part, Text) else part for part in message.parts]
    return message if tuple(parts) == message.parts else holding(message, parts)


def _cut_text(part: Text, max_chars: int) -> Text:
    return part if len(part.text) <= max_chars else replace(part, text=part.text[: max(0, max_chars - 1)] + "…")
