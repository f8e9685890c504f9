"""A memory in a home of its own, on either database, without an embedder."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from stenolith import Memory
from stenolith.settings import Settings


@pytest.fixture
async def memory(settings: Settings) -> AsyncIterator[Memory]:
    async with Memory.open(settings=settings) as opened:
        yield opened
