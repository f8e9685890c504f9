"""Which thinking may go back to a model: its own, whole, and only where its wire wants it.

``spec/replay.md`` sections 3.5.3 and 3.6. The latest assistant gets no mercy: an invalid signature
is never worth sending, and the caller is told to turn thinking off for the request instead.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from stenolith.errors import InvalidInput
from stenolith.model.message import Message, Origin, Part, Text, Thinking, ToolCall
from stenolith.replay.copies import noted
from stenolith.replay.plan import REASONING_OMITTED, Plan, is_blank, last_user, with_parts
from stenolith.replay.policy import Reasoning, parse_api
from stenolith.replay.report import Change, Line, Passed
from stenolith.replay.roles import ASSISTANT
from stenolith.replay.signature import is_signature

WITHHELD: Final = "withheld"
"""The key in a message's ``extra`` that says: its thinking was refused and must not be replayed."""
FIELDS: Final = frozenset({"reasoning_content", "reasoning", "reasoning_text"})
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_STANDARD: Final = str.maketrans("-_", "+/")
_DATED: Final = re.compile(r"[-@]20\d{6}$")


class Signature(StrEnum):
    """What a thinking signature is (section 1.3)."""

    MISSING = "missing"
    FIELD = "field"
    ITEM = "item"
    OPAQUE = "opaque"


# Plain names: until Python 3.12 reading a member off its enum is slow (`roles`).
_MISSING: Final = Signature.MISSING
_FIELD: Final = Signature.FIELD
_ITEM: Final = Signature.ITEM
_OPAQUE: Final = Signature.OPAQUE
_SIGNED: Final = Reasoning.SIGNED
_ITEMS: Final = Reasoning.ITEMS
_THOUGHTS: Final = Reasoning.THOUGHTS
_LENIENT: Final = frozenset({Reasoning.NONE, Reasoning.ITEMS})
_ELSEWHERE: Final = frozenset({_FIELD, _ITEM})
_NO_FIELD: Final = frozenset({_ITEM, _OPAQUE})
_NO_THOUGHT: Final = frozenset({_ITEM})


def signature_kind(signature: str | None) -> Signature:
    """Tell the four things apart that hosts keep under the same name."""
    if signature is None or is_blank(signature):
        return _MISSING
    if signature in FIELDS:
        return _FIELD
    if signature.startswith(("{", "rs_")):
        return _ITEM
    return _OPAQUE


def reasoning_item(part: Part) -> dict[str, Any] | None:
    """Return the Responses item that a thinking part carries, or None when it carries none."""
    if type(part) is not Thinking or part.signature is None or not part.signature.startswith("{"):
        return None
    return _read_item(part.signature)


@lru_cache(maxsize=64)  # several passes look at the same few items of a turn
def _read_item(signature: str) -> dict[str, Any] | None:
    try:
        item = json.loads(signature)
    except (ValueError, RecursionError):
        return None
    return item if isinstance(item, dict) and str(item.get("type", "")).startswith("reasoning") else None


def is_foreign(origin: Origin | None, plan: Plan) -> bool:
    """Return whether another model wrote a message; an unknown writer counts as the target itself."""
    if origin is None:
        return False
    target = plan.target
    pairs = ((origin.provider, target.provider), (_model(origin.model), _model(target.model)))
    if any(told and asked and told.strip().lower() != asked.strip().lower() for told, asked in pairs):
        return True
    return bool(origin.api) and _wire(origin.api) != target.api.value


def _model(name: str) -> str:
    return _DATED.sub("", name.strip())


def _wire(api: str) -> str:
    try:
        return parse_api(api).value
    except InvalidInput:
        return api


def foreign_check(plan: Plan) -> Callable[[Message], bool]:
    """Return a question that remembers its answers: transcripts name few models.

    What its own provider refused once and a host has withheld since is as good as another model's (section 3.14).
    """
    known: dict[Origin, bool] = {}

    def ask(message: Message) -> bool:
        if message.extra and message.extra.get(WITHHELD) is True:
            return True
        origin = message.origin
        if origin is None:
            return False
        found = known.get(origin)
        if found is None:
            found = known[origin] = is_foreign(origin, plan)
        return found

    return ask


def drop_unfit_thinking(lines: Sequence[Line], plan: Plan) -> Passed:
    """Drop thinking that the target did not write, or whose signature it would reject (3.6.1, 3.6.2, 3.6.5)."""
    foreign = foreign_check(plan)
    stale = _staleness(lines)
    judges = [[_Judge(plan, foreign=theirs, stale=old) for old in (False, True)] for theirs in (False, True)]
    lenient = plan.policy.reasoning in _LENIENT and not plan.options.drop_all_thinking
    kept: list[Line] = []
    changes: list[Change] = []
    for at, line in enumerate(lines):
        message = line.message
        if not _thinks(message) or (lenient and not foreign(message)):
            kept.append(line)
            continue
        judge = judges[foreign(message)][stale(at, message)]
        reasons = [judge.objection(part) if type(part) is Thinking else "" for part in message.parts]
        if not any(reasons):
            kept.append(line)
            continue
        parts: list[Part] = []
        for part, reason in zip(message.parts, reasons, strict=True):
            parts += _as_text(part, reason, plan) if reason else [part]
            if reason:
                changes.append(noted(reason, line.at, "dropped", getattr(part, "text", "")))
        kept.append(with_parts(line, filled(parts)))
    return kept, changes


def _thinks(message: Message) -> bool:
    if message.role is ASSISTANT:
        for part in message.parts:
            if type(part) is Thinking:
                return True
    return False


class _Judge:
    """Says why the thinking of a message cannot be sent: of a foreign or an own one, a stale or a fresh one."""

    __slots__ = ("foreign", "plan", "stale", "wire")

    def __init__(self, plan: Plan, *, foreign: bool, stale: bool) -> None:
        self.plan, self.foreign, self.stale = plan, foreign, stale
        self.wire = plan.policy.reasoning

    def objection(self, part: Thinking) -> str:
        """Return the rule that forbids *part*, or nothing."""
        if self.plan.options.drop_all_thinking:
            return "retry-without-thinking"
        if self.foreign:
            return "foreign-thinking"
        wire = self.wire
        if wire is _SIGNED:
            return self._signed(part)
        if wire in _LENIENT:
            return ""
        if part.redacted or signature_kind(part.signature) in (_NO_THOUGHT if wire is _THOUGHTS else _NO_FIELD):
            return "foreign-thinking"
        torn = self.plan.policy.whole_signatures and not _is_whole(part.signature)
        return "invalid-signature" if torn else ""

    def _signed(self, part: Thinking) -> str:
        if self.stale:
            return "stale-signature"
        if not part.redacted and is_signature(part.signature):  # which no field name and no item is
            return ""
        kind = signature_kind(part.signature)
        if kind in _ELSEWHERE:
            return "foreign-thinking"
        return "" if part.redacted and kind is _OPAQUE else "invalid-signature"


def _is_whole(signature: str | None) -> bool:
    return signature is not None and len(signature) % 4 == 0 and _BASE64.fullmatch(signature) is not None


def _as_text(part: Part, reason: str, plan: Plan) -> list[Part]:
    wanted = plan.policy.foreign_thinking_as_text and reason == "foreign-thinking"
    if not wanted or type(part) is not Thinking or is_blank(part.text) or part.redacted:
        return []
    return [Text(text=part.text)]


def filled(parts: Sequence[Part]) -> Sequence[Part]:
    """Return *parts*, or a placeholder when no thinking and nothing else is left."""
    return parts or [Text(text=REASONING_OMITTED)]


def _staleness(lines: Sequence[Line]) -> Callable[[int, Message], bool]:
    """Return a question whether a message was written before the newest compaction.

    Order decides where it is known (kept entries are marked, and what stands before a summary is
    older); otherwise clocks do.
    """
    summaries = [at for at, line in enumerate(lines) if line.message.extra.get("summary") == "compaction"]
    newest = summaries[-1] if summaries else -1
    stamp = lines[newest].message.timestamp if summaries else None

    def ask(at: int, message: Message) -> bool:
        if at < newest or message.extra.get("before_compaction") is True:
            return True
        return stamp is not None and message.timestamp is not None and message.timestamp < stamp

    return ask


def clean_thought_signatures(lines: Sequence[Line], plan: Plan) -> Passed:
    """Drop thought signatures that the target cannot have issued (section 3.5.3)."""
    policy = plan.policy
    if policy.preserve_signatures or policy.reasoning is Reasoning.ITEMS:
        return lines, ()
    foreign = foreign_check(plan)
    bare = policy.sanitize_thought_signatures
    usual, strict = _acceptance(plan, bare=False), _acceptance(plan, bare=True)
    kept: list[Line] = []
    changes: list[Change] = []
    for line in lines:
        message = line.message
        if not _is_signed(message, bare):
            kept.append(line)
            continue
        accepts = strict if bare and foreign(message) else usual
        unfit = [part for part in message.parts if _is_badly_signed(part, accepts)]
        if not unfit:
            kept.append(line)
            continue
        kept.append(with_parts(line, [_without_bad_signature(part, accepts) for part in message.parts]))
        changes += [noted("thought-signature", line.at, "removed", _signature(part)) for part in unfit]
    return kept, changes


def _is_signed(message: Message, thoroughly: bool) -> bool:
    if message.role is ASSISTANT:
        for part in message.parts:
            if (thoroughly or type(part) is Text) and getattr(part, "signature", None):
                return True
    return False


def _signature(part: Part) -> str:
    return str(getattr(part, "signature", ""))


def _acceptance(plan: Plan, *, bare: bool) -> Callable[[Part, str], bool]:
    """Return which signature a part may keep: none of another model's on a base64 wire (3.13.3)."""
    if bare:
        return lambda _, __: False
    if not plan.policy.sanitize_thought_signatures:
        return lambda part, signature: type(part) is not Text or not signature.startswith("msg_")
    if plan.policy.reasoning is Reasoning.THOUGHTS:
        return lambda _, signature: is_signature(signature) and _decodes(signature)
    return lambda _, signature: is_signature(signature)


def _decodes(signature: str) -> bool:
    """Return whether Google's decoder takes the text: one alphabet, and no bits left over at its end."""
    letters = signature.rstrip("=")
    if ("-" in letters or "_" in letters) and ("+" in letters or "/" in letters):
        return False
    tail = letters[len(letters) // 4 * 4 :]
    if not tail:
        return True
    tail = tail.translate(_STANDARD)
    return base64.b64encode(base64.b64decode(tail.ljust(4, "="))).decode().rstrip("=") == tail


def _is_badly_signed(part: Part, accepts: Callable[[Part, str], bool]) -> bool:
    signature = getattr(part, "signature", None)
    return signature is not None and not accepts(part, signature)


def _without_bad_signature(part: Part, accepts: Callable[[Part, str], bool]) -> Part:
    if not isinstance(part, Text | ToolCall | Thinking) or not _is_badly_signed(part, accepts):
        return part
    return replace(part, signature=None)


def drop_past_thinking(lines: Sequence[Line], plan: Plan) -> Passed:
    """Drop the thinking of finished turns where the policy says so (3.6.3, 3.6.4).

    What stands after the last user always stays: providers want it on every step of a running tool
    turn. ``drop_thinking_blocks`` spares the latest assistant wherever it stands.
    """
    policy = plan.policy
    every = policy.drop_reasoning_from_history or plan.options.drop_prior_thinking
    if not every and not policy.drop_thinking_blocks:
        return lines, ()
    end = last_user(lines)
    if not every:
        assistants = [at for at, line in enumerate(lines) if line.message.role is ASSISTANT]
        end = min(end, assistants[-1] if assistants else 0)
    kept: list[Line] = []
    changes: list[Change] = []
    for line in lines[: max(end, 0)]:
        message = line.message
        if not _thinks(message):
            kept.append(line)
            continue
        parts = [part for part in message.parts if type(part) is not Thinking]
        lost = "\n".join([part.text for part in message.parts if type(part) is Thinking])
        kept.append(with_parts(line, filled(parts)))
        changes.append(noted("past-thinking", line.at, "dropped", lost))
    return [*kept, *lines[max(end, 0) :]], changes


def _only_thinks(message: Message) -> bool:
    parts = message.parts
    return not parts or (type(parts[-1]) is Thinking and all(type(part) is Thinking for part in parts))


def _is_seen(message: Message, plan: Plan) -> bool:
    """Return whether the target's wire has a place for any thinking of a turn that holds nothing else."""
    wire = plan.policy.reasoning
    if wire is _ITEMS:
        return any(reasoning_item(part) is not None for part in message.parts)
    if wire is _SIGNED:
        return bool(message.parts)
    return wire is not Reasoning.NONE and any(type(p) is Thinking and not is_blank(p.text) for p in message.parts)


def fill_unseen_turns(lines: Sequence[Line], plan: Plan) -> Passed:
    """Give turns that hold only thinking the wire does not carry a placeholder: no empty message is sent."""
    kept: list[Line] = []
    changes: list[Change] = []
    for line in lines:
        message = line.message
        if message.role is not ASSISTANT or not _only_thinks(message) or _is_seen(message, plan):
            kept.append(line)
            continue
        lost = "\n".join(part.text for part in message.parts if type(part) is Thinking)
        kept.append(with_parts(line, filled([])))
        changes.append(Change(rule="unseen-thinking", index=line.at, action="replaced", detail=lost))
    return kept, changes
