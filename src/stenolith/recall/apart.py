"""Pure work on much text runs in a thread, so that nobody else waits for it; little work is done at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")
AT_ONCE: Final = 5_000
"""Characters that are scanned for orders without a thread: up to ten milliseconds; a thread costs a tenth of one."""


async def apart(chars: int, work: Callable[[], T]) -> T:
    """Return what *work* on *chars* characters returns."""
    return work() if chars <= AT_ONCE else await asyncio.to_thread(work)
