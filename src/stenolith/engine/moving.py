"""Moving a whole home between SQLite and PostgreSQL, verified table by table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stenolith.engine.wiring import DATABASE, open_database
from stenolith.errors import InvalidInput
from stenolith.settings import Settings
from stenolith.store.migrations import migrate
from stenolith.store.transfer import Copied, migrate_home


async def move_home(settings: Settings, to: str, on_table: Callable[[Copied], None] | None = None) -> dict[str, Any]:
    """Copy the home's tables to the empty database *to*: a PostgreSQL URL, or ``sqlite`` for the home's own file.

    Daily files and Markdown stay in the home, which both databases share.  The source is left as it
    is; set ``database`` to use the copy.  Raises `InvalidInput` when the target is not empty.
    """
    url = "" if to == "sqlite" else to
    if url == settings.database:
        raise InvalidInput(f"this home is already kept there: {url or settings.home / DATABASE}")
    source = await open_database(settings.database, settings.home)
    try:
        await migrate(source)
        target = await open_database(url, settings.home)
        try:
            await migrate(target)
            tables = await migrate_home(source, target, on_table)
        finally:
            await target.close()
    finally:
        await source.close()
    copied = [{"table": one.table, "rows": one.rows, "checksum": one.checksum} for one in tables]
    return {"tables": copied, "rows": sum(one.rows for one in tables)}
