"""The one retry after a refusal, as a plan: what `recovery.classify` proposes, applied (``spec/replay.md`` 3.14)."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from stenolith.replay.plan import Plan
from stenolith.replay.policy import Policy, Prefill
from stenolith.replay.recovery import RepairHint, Retry


def retry_plan(plan: Plan, hint: RepairHint) -> Plan | None:
    """Return the plan of the request that may still go through; None when sending again is useless.

    The caller applies it once: a second refusal is shown, never retried. `Retry.DECLARE_TOOLS` is for
    the caller to do, so the plan comes back as it is.
    """
    return _changed(plan, hint.retry) if hint.retry is not None else None


def _changed(plan: Plan, retry: Retry) -> Plan:
    target, policy, options = plan.target, plan.policy, plan.options
    match retry:
        case Retry.DROP_THINKING:
            options = replace(options, drop_all_thinking=True)
        case Retry.DROP_ENCRYPTED:
            options = replace(options, drop_encrypted=True)
        case Retry.DISABLE_THINKING:
            target = replace(target, thinking=False)
        case Retry.END_WITH_USER:
            policy = replace(policy, prefill=Prefill.NEVER)
        case Retry.SHRINK_IMAGES:
            policy = _with_smaller_images(policy)
        case Retry.DECLARE_TOOLS:
            pass
        case _ as never:
            assert_never(never)
    return Plan(target=target, policy=policy, options=options)


def _with_smaller_images(policy: Policy) -> Policy:
    side = policy.image_max_side // 2
    return replace(policy, image_max_side=side, image_many_side=side, image_max_bytes=policy.image_max_bytes // 4)
