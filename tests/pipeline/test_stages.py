from __future__ import annotations

import pytest

from stenolith.errors import InvalidInput, ModelUnavailable, StoreUnavailable
from stenolith.pipeline.stages import STAGES, decide_retry, staffed
from stenolith.settings import PipelineSettings
from stenolith.store.jobs import RetryDecision


@pytest.mark.parametrize(
    ("attempt", "seconds"),
    [(1, 5), (2, 15), (3, 45), (4, 135), (5, None), (6, None)],
)
def test_an_ordinary_failure_waits_three_times_longer_each_time_and_is_given_up_after_five(
    attempt: int, seconds: int | None
) -> None:
    expected = None if seconds is None else RetryDecision(after_ms=seconds * 1000)
    assert decide_retry(attempt, ValueError("x")) == expected


def test_no_wait_is_longer_than_ten_minutes() -> None:
    assert decide_retry(9, ValueError("x"), max_attempts=99) == RetryDecision(after_ms=600_000)


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (ModelUnavailable("down"), 30),
        (ModelUnavailable("busy", retry_after_ms=7_000), 7),
        (ModelUnavailable("busy", retry_after_ms="soon"), 30),
        (StoreUnavailable("locked"), 5),
    ],
)
@pytest.mark.parametrize("attempt", [1, 5, 5000])
def test_an_outage_uses_up_no_attempt(attempt: int, error: Exception, seconds: int) -> None:
    assert decide_retry(attempt, error) == RetryDecision(after_ms=seconds * 1000, counts=False)


def test_what_cannot_be_read_is_not_read_again() -> None:
    assert decide_retry(1, InvalidInput("no such field")) is None


def test_every_stage_has_a_ceiling_and_a_decision() -> None:
    assert set(STAGES) == {"distill", "scenes", "persona", "embed", "journal"}
    for kind, spec in STAGES.items():
        assert spec.kind == kind
        assert 0 < spec.ceiling_ms <= 600_000
        assert spec.retry(spec.max_attempts, ValueError("x")) is None
        assert spec.retry(spec.max_attempts - 1, ValueError("x")) is not None


def test_settings_say_how_many_jobs_of_each_kind_run_at_once() -> None:
    usual = PipelineSettings().concurrency.model_dump()
    assert usual == {kind: stage.concurrency for kind, stage in STAGES.items()}
    more = staffed({"distill": 9, "embed": 2})
    assert (more["distill"].concurrency, more["embed"].concurrency, more["scenes"].concurrency) == (9, 2, 2)
    assert more["distill"].ceiling_ms == STAGES["distill"].ceiling_ms
    with pytest.raises(InvalidInput, match="dream"):
        staffed({"dream": 1})
