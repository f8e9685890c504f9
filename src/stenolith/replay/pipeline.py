"""Stored transcript in, provider payload out: the passes in their one order, then the wire and its linter."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from stenolith.model.message import Image, Message, Thinking, ToolResult
from stenolith.replay import (
    context,
    heartbeats,
    identifiers,
    images,
    lint,
    marks,
    mirrors,
    normalise,
    pairing,
    reasoning,
    responses,
    shapes,
    tools,
    turns,
    wire,
)
from stenolith.replay.plan import Options, Pass, Plan, has_calls, last_user
from stenolith.replay.policy import Policy, Reasoning, Target, resolve
from stenolith.replay.report import Change, Hints, Line, Passed, Replayed, Sanitised
from stenolith.replay.roles import ASSISTANT

_PICTURE: Final = frozenset({Image})


def limit_images(lines: Sequence[Line], plan: Plan) -> Passed:
    """Bring pictures within the target's limits (section 3.5.1)."""
    if not any(map(_shows_picture, lines)):
        return lines, ()
    messages, changes = images.limit([line.message for line in lines], plan.policy.image_limits)
    kept = [Line(line.at, message) for line, message in zip(lines, messages, strict=True)]
    return kept, [_shifted(change, lines) for change in changes]


def _shows_picture(line: Line) -> bool:
    for part in line.message.parts:
        if type(part) is Image:
            return True
        if type(part) is ToolResult and not _PICTURE.isdisjoint(map(type, part.content)):
            return True
    return False


def _shifted(change: Change, lines: Sequence[Line]) -> Change:
    if not 0 <= change.index < len(lines):
        return change
    at = lines[change.index].at
    return Change(rule=change.rule, index=at, action=change.action, detail=change.detail)


PASSES: Final[tuple[Pass, ...]] = (
    # Shape first: every later pass trusts that a part stands in a message of its role.
    shapes.settle_parts,
    shapes.remove_surrogates,
    shapes.render_notes,
    # Runtime context goes before blank users are looked for: a text may hold nothing else.
    context.place_runtime_context,
    context.remove_runtime_context,
    normalise.drop_blank_users,
    # Rows that are no turns must be gone before anybody asks what stands beside what.
    mirrors.drop_mirrors,
    normalise.drop_silent_replies,
    normalise.drop_incomplete_reasoning,
    limit_images,
    # The marker is put on the first text, and a picture that cannot be sent becomes one.
    marks.mark_provenance,
    normalise.drop_blank_text,
    # Thinking: what can never be sent, then what may not be sent any more.
    reasoning.drop_unfit_thinking,
    reasoning.clean_thought_signatures,
    reasoning.drop_past_thinking,
    # Tools: results to their calls first, so that a call that must go is known to have had one.
    pairing.adopt_results,
    heartbeats.drop_heartbeats,
    tools.check_calls,
    tools.settle_failed_calls,
    # Again: a turn may have been cut off in its only call.
    normalise.drop_incomplete_reasoning,
    pairing.fill_missing_results,
    turns.close_failed_turns,
    # Items need the final parts of a turn, ids the final calls.
    responses.fit_reasoning_items,
    responses.fit_item_ids,
    identifiers.assign_ids,
    mirrors.drop_repeats,
    # Turns: limit before merging, because a summary that was merged is no longer one.
    turns.limit_history,
    turns.merge_turns,
    reasoning.fill_unseen_turns,
    # Last what looks at the ends: everything that can drop a message has run.
    turns.end_with_user,
    turns.open_with_user,
)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Hold back the cyclic collector: passes make no cycles, and its walks cost a third of a long replay."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def sanitise(
    messages: Sequence[Message], target: Target, policy: Policy | None = None, options: Options | None = None
) -> Sanitised:
    """Return *messages* fit for *target*: the stored transcript is not touched.

    Deterministic (no clock, no chance), linear, and idempotent: its own output comes back as it is.
    Every change is a line of the report, and whatever text leaves stands in its detail.
    """
    plan = Plan(target=target, policy=policy or policy_for(target), options=options or Options())
    with _uncollected():
        return _sanitised(messages, plan)


def _sanitised(messages: Sequence[Message], plan: Plan) -> Sanitised:
    lines, changes = _run(messages, plan)
    kept = tuple([line.message for line in lines])
    return Sanitised(messages=kept, changes=tuple(changes), hints=_hints(lines, plan))


def _run(messages: Sequence[Message], plan: Plan) -> tuple[Sequence[Line], list[Change]]:
    lines: Sequence[Line] = [Line(at, message) for at, message in enumerate(messages)]
    changes: list[Change] = []
    for run in PASSES:
        lines, found = run(lines, plan)
        changes += found
    return lines, changes


def policy_for(target: Target) -> Policy:
    """Return the policy of a target without overrides."""
    return resolve(target.provider, target.api, target.model)


def replay(
    messages: Sequence[Message], target: Target, policy: Policy | None = None, options: Options | None = None
) -> Replayed:
    """Return the provider payload for *messages*, the report of every change, hints, and lint violations."""
    plan = Plan(target=target, policy=policy or policy_for(target), options=options or Options())
    with _uncollected():  # by a call of its own: nothing but the result is left when the collector comes back
        return _replayed(messages, plan)


def _replayed(messages: Sequence[Message], plan: Plan) -> Replayed:
    target = plan.target
    lines, changes = _run(messages, plan)
    sent = wire.convert([line.message for line in lines], target, plan.policy)
    found = lint.lint(target.api, sent.payload, provider=target.provider, model=target.model)
    return Replayed(
        payload=sent.payload,
        report=(*changes, *(_shifted(change, lines) for change in sent.changes)),
        hints=_hints(lines, plan).join(sent.hints),
        violations=tuple(found),
    )


def _hints(lines: Sequence[Line], plan: Plan) -> Hints:
    needs_tools = plan.policy.tools_required_in_request and plan.target.tools is None
    return Hints(
        disable_thinking=plan.target.thinking and not _thinks_first(lines, plan),
        tool_config_required=needs_tools and any(has_calls(line.message) for line in lines),
    )


def _thinks_first(lines: Sequence[Line], plan: Plan) -> bool:
    """Return whether the running tool turn opens with thinking, as W-ANT-12 wants while thinking is on."""
    if plan.policy.reasoning is not Reasoning.SIGNED:
        return True
    turn = [line.message for line in lines[last_user(lines) + 1 :] if line.message.role is ASSISTANT]
    return not turn or not has_calls(turn[-1]) or isinstance(turn[0].parts[0], Thinking)
