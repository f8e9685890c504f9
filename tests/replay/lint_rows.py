"""Rows of the linter's tables as tests: what a rule finds, and the near miss that passes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from stenolith.replay.lint import lint


def rows(*tables: tuple[str, Iterable[Sequence[Any]]]) -> Iterator[Any]:
    """Give each row of ``(api, table)`` an id; a row may end with provider and model."""
    for api, table in tables:
        for code, bad, path, words, good, *who in table:
            provider, model = who or ("", "")
            yield pytest.param(api, provider, model, (code, bad, path, words, good), id=f"{code}-{words[:24]}")


def check_found(api: str, provider: str, model: str, row: Sequence[Any]) -> None:
    """Check that the bad payload breaks the named rule, there, and no other."""
    code, bad, path, words, _ = row
    found = lint(api, bad, provider=provider, model=model)
    mine = [violation for violation in found if violation.code == code and words in violation.message]
    assert len(mine) >= 1, found
    if path is not None:
        assert {violation.code for violation in found} == {code}, found
        assert mine[0].path == path
