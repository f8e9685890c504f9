"""The order of turns: failed ones closed, neighbours merged, the first and the last as the wire wants them.

``spec/replay.md`` sections 3.4.4, 3.10 and 3.12.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from stenolith.model.message import Message, StopReason, Text
from stenolith.replay.marks import join_segments
from stenolith.replay.mirrors import is_unpaid
from stenolith.replay.plan import (
    BOOTSTRAP,
    CONTINUE,
    FAILURES,
    GENERATED,
    TURN_FAILED,
    Continuation,
    Plan,
    has_calls,
    has_words,
    holding,
    is_generated,
    is_runtime_context,
    spoken,
    with_parts,
)
from stenolith.replay.policy import Prefill
from stenolith.replay.reasoning import foreign_check
from stenolith.replay.report import Change, Line, Passed
from stenolith.replay.roles import ASSISTANT, SYSTEM, USER

_FAILED: Final = frozenset({StopReason.ERROR, StopReason.ABORTED})


def close_failed_turns(lines: Sequence[Line], _: Plan) -> Passed:
    """Give failed turns without content a closing sentence; drop other empty assistants (section 3.4.4).

    A failed turn that vanished would leave its request open, and the model would run it again
    together with the next one (issue 125942). At the very end `end_with_user` takes it away.
    """
    kept: list[Line] = []
    changes: list[Change] = []
    for line in lines:
        message = line.message
        sound = message.parts and message.stop_reason not in _FAILED
        if message.role is not ASSISTANT or sound or has_calls(message):
            kept.append(line)
        elif _has_failed(message) and not has_words(message.parts):
            kept.append(with_parts(line, [Text(text=TURN_FAILED)]))
            changes.append(Change(rule="failed-turn", index=line.at, action="replaced", detail=spoken(message)))
        elif message.parts:
            kept.append(line)
        else:
            changes.append(Change(rule="empty-turn", index=line.at, action="dropped", detail=message.error or ""))
    return kept, changes


def _has_failed(message: Message) -> bool:
    unpaid = message.stop_reason is StopReason.STOP and not message.parts and is_unpaid(message)
    return message.stop_reason in _FAILED or unpaid


def merge_turns(lines: Sequence[Line], plan: Plan) -> Passed:
    """Merge neighbouring assistants, and neighbouring users, where the policy wants alternation (3.10.1-2)."""
    wanted = {ASSISTANT: plan.policy.merges_assistants, USER: plan.policy.merges_users}
    if not any(wanted.values()):
        return lines, ()
    foreign = foreign_check(plan)
    kept: list[Line] = []
    changes: list[Change] = []
    for line in lines:
        before = kept[-1] if kept else None
        if before is None or not wanted.get(line.message.role) or not _mergeable(before.message, line.message):
            kept.append(line)
            continue
        pair = (before.message, line.message)
        if line.message.role is USER:
            joined = _joined_users(*pair)
        else:
            joined = _joined_assistants(*pair, keep_first=foreign(line.message) and not foreign(before.message))
        kept[-1] = Line(before.at, joined)
        changes.append(Change(rule="merge", index=line.at, action="merged", detail=f"into message {before.at}"))
    return kept, changes


def _mergeable(first: Message, second: Message) -> bool:
    """Runtime context stays a message of its own: what it is depends on its mark."""
    return first.role is second.role and not any(
        is_runtime_context(message) or is_generated(message) for message in (first, second)
    )


def _joined_users(first: Message, second: Message) -> Message:
    same = first.provenance == second.provenance
    return holding(
        second,
        (*first.parts, *second.parts),
        id=first.id,
        timestamp=_later(first, second),
        provenance=second.provenance if same else None,
        speaker=second.speaker if first.speaker == second.speaker else "",
        display=first.display or second.display,
        extra=join_segments(first, second),
    )


def _joined_assistants(first: Message, second: Message, *, keep_first: bool) -> Message:
    """Merge two assistants; the writer of whatever thinking is left stays the writer."""
    kept = all(message.extra.get("before_compaction") is True for message in (first, second))
    return holding(
        second,
        (*first.parts, *second.parts),
        id=first.id,
        origin=first.origin if keep_first else second.origin,
        timestamp=_later(first, second),
        usage=second.usage if second.usage is not None else first.usage,
        stop_reason=second.stop_reason or (None if first.stop_reason in _FAILED else first.stop_reason),
        error=second.error if second.error is not None else first.error,
        extra={"before_compaction": True} if kept else {},
    )


def _later(first: Message, second: Message) -> int | None:
    known = [message.timestamp for message in (first, second) if message.timestamp is not None]
    return max(known, default=None)


def limit_history(lines: Sequence[Line], plan: Plan) -> Passed:
    """Keep the last user turns, cut at a user; leading summaries and system messages stay (3.10.4)."""
    limit = plan.options.history_turns
    if not limit or limit < 0:
        return lines, ()
    starts = [at for at in range(len(lines)) if _starts_turn(lines, at)]
    if len(starts) < limit:
        return lines, ()
    cut = starts[-limit]
    head = 0
    while head < cut and _is_preface(lines[head].message):
        head += 1
    if head == cut:
        return lines, ()
    changes = [
        Change(rule="history-limit", index=line.at, action="dropped", detail=spoken(line.message))
        for line in lines[head:cut]
    ]
    return [*lines[:head], *lines[cut:]], changes


def _is_preface(message: Message) -> bool:
    return message.role is SYSTEM or (message.role is USER and "summary" in message.extra)


def _starts_turn(lines: Sequence[Line], at: int) -> bool:
    message = lines[at].message
    if message.role is not USER or _is_preface(message) or is_generated(message):
        return False
    before = lines[at - 1].message if at else None
    return before is None or before.role is not USER or _is_preface(before)


def open_with_user(lines: Sequence[Line], plan: Plan) -> Passed:
    """Put a user first where the wire demands one (3.10.3), and somebody to speak where nobody is left."""
    head = next((at for at, line in enumerate(lines) if line.message.role is not SYSTEM), len(lines))
    if head == len(lines):
        return [*lines, _invented(0, CONTINUE, None)], [
            Change(rule="bootstrap", index=0, action="added", detail=CONTINUE)
        ]
    first = lines[head]
    policy = plan.policy
    if first.message.role is USER or not (policy.user_first or policy.apply_google_turn_ordering):
        return lines, ()
    opening = _invented(first.at, BOOTSTRAP, first.message.timestamp)
    change = Change(rule="bootstrap", index=first.at, action="added", detail=BOOTSTRAP)
    return [*lines[:head], opening, *lines[head:]], [change]


def _invented(at: int, text: str, timestamp: int | None, **extra: Any) -> Line:
    return Line(at, Message(role=USER, parts=(Text(text=text),), timestamp=timestamp, extra=extra))


def end_with_user(lines: Sequence[Line], plan: Plan) -> Passed:
    """Take trailing assistants off the request where it may not end with one (section 3.12).

    A failed turn's closing sentence never ends a request (PR 74160). With
    `Continuation.CONTINUE` the last words stay and a user asks to go on.
    """
    end = len(lines)
    strict = _forbids_prefill(plan)
    while end > 0 and lines[end - 1].message.role is ASSISTANT and not has_calls(lines[end - 1].message):
        if not strict and not _only_failed(lines[end - 1].message):
            break
        if strict and plan.options.continuation is Continuation.CONTINUE and not _only_failed(lines[end - 1].message):
            return _asked_on(lines[:end])
        end -= 1
    changes = [
        Change(rule="prefill", index=line.at, action="dropped", detail=spoken(line.message)) for line in lines[end:]
    ]
    return (lines[:end], changes) if changes else (lines, ())


def _asked_on(lines: Sequence[Line]) -> Passed:
    last = lines[-1]
    asked = _invented(last.at, CONTINUE, last.message.timestamp, **{GENERATED: "continuation"})
    return [*lines, asked], [Change(rule="prefill", index=last.at, action="added", detail=CONTINUE)]


def _forbids_prefill(plan: Plan) -> bool:
    rule = plan.policy.prefill
    return rule is Prefill.NEVER or (rule is Prefill.UNLESS_THINKING and plan.target.thinking)


def _only_failed(message: Message) -> bool:
    return all(type(part) is Text and part.text in FAILURES for part in message.parts)
