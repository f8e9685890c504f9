"""The one retry after a refusal (spec/replay.md 3.14): classify, plan, sanitise again."""

from __future__ import annotations

import pytest
from notation import SIG, A, U, rs, show, target, think

from stenolith.replay.pipeline import policy_for, sanitise
from stenolith.replay.plan import Options, Plan
from stenolith.replay.recovery import RepairHint, Retry, classify
from stenolith.replay.retries import retry_plan


def planned(route, **more):
    asked = target(route, **more)
    return Plan(target=asked, policy=policy_for(asked), options=Options(nonce="n"))


def again(plan, *messages):
    return show(sanitise(messages, plan.target, plan.policy, plan.options))


def test_a_refused_signature_is_retried_without_thinking():
    text = "messages.1.content.0: Invalid `signature` in `thinking` block"
    hint = classify("anthropic", 400, text, output_started=False)
    plan = retry_plan(planned("ANT"), hint)
    assert again(plan, U("q"), A(think("t", SIG), "a"), U("z")) == 'U"q"|A"a"|U"z"'
    assert plan.options.nonce == "n"


def test_refused_encrypted_content_is_retried_without_it():
    hint = classify("openai", 400, "The encrypted content could not be verified.", output_started=False)
    plan = retry_plan(planned("RSP"), hint)
    assert again(plan, U("q"), A(rs("rs_1", encrypted_content="E"), "a"), U("z")) == 'U"q"|A"a"|U"z"'


@pytest.mark.parametrize("retry", list(Retry))
def test_every_retry_is_a_plan_for_the_same_target(retry):
    plan = retry_plan(planned("OLD", thinking=True), RepairHint(code="x", retry=retry))
    assert plan.target.model == planned("OLD").target.model


def test_a_refusal_without_a_retry_is_shown():
    assert retry_plan(planned("ANT"), RepairHint(code="W-ANT-5")) is None


def test_a_refused_prefill_ends_with_the_user():
    plan = retry_plan(planned("OLD"), RepairHint(code="W-ANT-9", retry=Retry.END_WITH_USER))
    assert again(plan, U("q"), A("a")) == 'U"q"'


def test_refused_images_get_smaller_limits():
    before = planned("ANT").policy.image_limits
    after = retry_plan(planned("ANT"), RepairHint(code="W-ANT-14", retry=Retry.SHRINK_IMAGES)).policy.image_limits
    assert after.max_side < before.max_side
    assert after.max_bytes < before.max_bytes
