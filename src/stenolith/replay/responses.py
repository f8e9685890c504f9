"""OpenAI Responses items: reasoning travels with what follows it, or not at all (``spec/replay.md`` 3.11).

Whether an item is the target's own is read off each message, so a switch of models needs no state:
an item that was foreign in one run is foreign in the next.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from stenolith.model.message import Message, Part, Text, Thinking, ToolCall
from stenolith.replay.identifiers import rename_calls
from stenolith.replay.plan import Plan, with_parts
from stenolith.replay.policy import Reasoning
from stenolith.replay.reasoning import foreign_check, reasoning_item
from stenolith.replay.report import Change, Line, Passed
from stenolith.replay.roles import ASSISTANT


def fit_reasoning_items(lines: Sequence[Line], plan: Plan) -> Passed:
    """Keep only reasoning items that the server will take, each directly before its follower."""
    if plan.policy.reasoning is not Reasoning.ITEMS:
        return lines, ()
    kept: list[Line] = []
    changes: list[Change] = []
    seen: set[str] = set()
    for line in lines:
        message = line.message
        if not _has_items(message):
            kept.append(line)
            continue
        parts, lost = _fitted(message, plan, seen)
        changes += [Change(rule="reasoning-item", index=line.at, action="dropped", detail=text) for text in lost]
        if parts and tuple(parts) != message.parts:
            kept.append(with_parts(line, parts))
        elif parts:
            kept.append(line)
    return kept, changes


def _has_items(message: Message) -> bool:
    if message.role is ASSISTANT:
        for part in message.parts:
            if reasoning_item(part) is not None:
                return True
    return False


def _fitted(message: Message, plan: Plan, seen: set[str]) -> tuple[list[Part], list[str]]:
    """Walk backwards: a reasoning item stays when what stands behind it is neither gone nor another item."""
    found: list[Part] = []
    lost: list[str] = []
    follower = False
    for part in reversed(message.parts):
        item = reasoning_item(part)
        if item is None or type(part) is not Thinking:
            found.append(part)
            follower = follower or type(part) is not Thinking
            continue
        sendable = _sendable(part, item, message, plan) if follower else None
        if sendable is None:
            lost.append(part.text or str(item.get("id", "")))
            continue
        found.append(sendable)
        follower = False
    return _without_repeats(found[::-1], seen, lost), lost[::-1]


def _without_repeats(parts: list[Part], seen: set[str], lost: list[str]) -> list[Part]:
    """Drop items whose id was sent before: the server refuses duplicates (W-RSP-8, pi issue 5148)."""
    kept: list[Part] = []
    for part in parts:
        item = reasoning_item(part)
        name = str(item.get("id", "")) if item else ""
        if item and name in seen and isinstance(part, Thinking):
            lost.append(part.text or name)
            continue
        seen.update({name} if name else ())
        kept.append(part)
    return kept


def _sendable(part: Thinking, item: dict[str, Any], message: Message, plan: Plan) -> Thinking | None:
    """Return *part* as it may be sent: encrypted content only decrypts for the account that made it (3.11.5)."""
    encrypted = bool(item.get("encrypted_content"))
    theirs = message.extra.get("account")
    other_account = bool(theirs and plan.target.account and theirs != plan.target.account)
    if encrypted and not other_account and not plan.options.drop_encrypted:
        return part
    if not plan.policy.store_items:
        return None
    if not encrypted:
        return part
    if not item.get("summary") and not item.get("content"):
        return None
    bare = {key: value for key, value in item.items() if key != "encrypted_content"}
    return replace(part, signature=json.dumps(bare, ensure_ascii=False))


def fit_item_ids(lines: Sequence[Line], plan: Plan) -> Passed:
    """Take item ids off texts and calls that their reasoning item no longer precedes (3.11.2, 3.11.3, 3.11.7)."""
    if plan.policy.reasoning is not Reasoning.ITEMS:
        return lines, ()
    foreign = foreign_check(plan)
    kept: list[Line] = []
    changes: list[Change] = []
    seen: set[str] = set()
    for line in lines:
        message = line.message
        if not _has_signed_text(message):
            kept.append(line)
            continue
        bare = foreign(message) or not plan.policy.store_items
        parts = _with_text_ids(message.parts, bare, seen)
        if parts == message.parts:
            kept.append(line)
            continue
        kept.append(with_parts(line, parts))
        changes.append(
            Change(rule="item-id", index=line.at, action="removed", detail="message id without its reasoning")
        )
    renamed, more = rename_calls(kept, lambda message, ids: _call_ids(message, ids, plan))
    return renamed, [*changes, *more]


def _has_signed_text(message: Message) -> bool:
    if message.role is ASSISTANT:
        for part in message.parts:
            if type(part) is Text and part.signature is not None:
                return True
    return False


def _with_text_ids(parts: Sequence[Part], bare: bool, seen: set[str]) -> tuple[Part, ...]:
    found: list[Part] = []
    led = False
    for part in parts:
        if type(part) is Text and part.signature is not None:
            name = text_item(part.signature).get("id")
            keep = led and not bare and name not in seen
            seen.update({name} if keep and name else ())
            found.append(part if keep else replace(part, signature=_phase_only(part.signature)))
        else:
            found.append(part)
        led = reasoning_item(part) is not None
    return tuple(found)


def text_item(signature: str) -> dict[str, Any]:
    """Return ``id`` and ``phase`` of a text signature, which is a bare id or a JSON object (section 1.3)."""
    if not signature.startswith("{"):
        return {"id": signature}
    try:
        found = json.loads(signature)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _phase_only(signature: str) -> str | None:
    phase = text_item(signature).get("phase")
    return json.dumps({"v": 1, "phase": phase}, separators=(",", ":")) if isinstance(phase, str) else None


def _call_ids(message: Message, ids: list[str], plan: Plan) -> list[str]:
    """Return the turn's call ids; all lose their item half when any stands before every reasoning item."""
    if "|" not in "".join(ids):
        return ids
    led, apart = False, not plan.policy.store_items
    for part in message.parts:
        led = led or reasoning_item(part) is not None
        apart = apart or (type(part) is ToolCall and "|" in part.id and not led)
    return [name.partition("|")[0] if apart else name for name in ids]
