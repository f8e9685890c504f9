"""The kinds of background work: how long one may take, how many at once, and what a failure means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from stenolith.errors import InvalidInput, ModelUnavailable, StoreUnavailable
from stenolith.store.jobs import RetryDecision

DISTILL: Final = "distill"
"""Records of one session become atoms. Key: the session."""
SCENES: Final = "scenes"
"""Atoms of one owner are sorted into scenes. Key: empty; wait some seconds, so that many turns share one run."""
PERSONA: Final = "persona"
"""The owner's portrait is judged anew. Key: empty; rare."""
EMBED: Final = "embed"
"""Vectors of one owner and layer are computed. Key: the layer."""
JOURNAL: Final = "journal"
"""Lines of the day files are caught up. Key: empty."""

MAX_ATTEMPTS: Final = 5
FIRST_WAIT_MS: Final = 5_000
LONGEST_WAIT_MS: Final = 600_000
OUTAGE_WAIT_MS: Final = 30_000
"""How long to wait for a model that is down; an outage uses up no attempt."""
BUSY_WAIT_MS: Final = 5_000
"""How long to wait for a store that another process keeps locked."""

RetryRule = Callable[[int, BaseException], RetryDecision | None]
"""Decides after a failure from the attempt's number, counted from 1, and the error; None: give up."""


def decide_retry(attempt: int, error: BaseException, max_attempts: int = MAX_ATTEMPTS) -> RetryDecision | None:
    """Return what to do after a failure: wait 5, 15, 45, … s, at most ten minutes, or give up (None).

    A model or a store that does not answer is nobody's fault: the attempt does not count, so an
    outage of any length loses no work.  What cannot be read will not get better, so it is given up
    at once.  ``error.facts["retry_after_ms"]`` of a `ModelUnavailable` is obeyed.
    """
    match error:
        case ModelUnavailable():
            asked = error.facts.get("retry_after_ms")
            return RetryDecision(after_ms=asked if isinstance(asked, int) else OUTAGE_WAIT_MS, counts=False)
        case StoreUnavailable():
            return RetryDecision(after_ms=BUSY_WAIT_MS, counts=False)
        case InvalidInput():
            return None
        case _ if attempt >= max_attempts:
            return None
        case _:
            return RetryDecision(after_ms=min(FIRST_WAIT_MS * 3 ** (attempt - 1), LONGEST_WAIT_MS))


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSpec:
    """One kind of work.

    A job is stopped after *ceiling_ms* and counts as failed.  A job whose worker died *max_attempts*
    times is given up without being tried again, for it may be what kills them.  *concurrency* is how
    many one worker runs at once.
    """

    kind: str
    ceiling_ms: int
    concurrency: int = 1
    max_attempts: int = MAX_ATTEMPTS
    retry: RetryRule = decide_retry


def stage(kind: str, ceiling_ms: int, concurrency: int = 1, max_attempts: int = MAX_ATTEMPTS) -> StageSpec:
    """Return a stage whose retry rule knows its number of attempts."""
    return StageSpec(
        kind=kind,
        ceiling_ms=ceiling_ms,
        concurrency=concurrency,
        max_attempts=max_attempts,
        retry=partial(decide_retry, max_attempts=max_attempts),
    )


STAGES: Final[Mapping[str, StageSpec]] = {
    spec.kind: spec
    for spec in (
        stage(DISTILL, 300_000, concurrency=4),
        stage(SCENES, 300_000, concurrency=2),
        stage(PERSONA, 300_000),
        stage(EMBED, 600_000),
        stage(JOURNAL, 120_000),
    )
}
"""The stages with their defaults."""


def staffed(concurrency: Mapping[str, int]) -> Mapping[str, StageSpec]:
    """Return the stages with other numbers of jobs at once; kinds that are not named keep theirs.

    Raises `InvalidInput` for an unknown kind.
    """
    if unknown := concurrency.keys() - STAGES.keys():
        raise InvalidInput(f"kinds of jobs are {', '.join(STAGES)}; got {', '.join(sorted(unknown))}")
    return {kind: replace(spec, concurrency=concurrency.get(kind, spec.concurrency)) for kind, spec in STAGES.items()}
