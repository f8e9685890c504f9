"""What models cost is added up by day, owner, kind of job and model, and told apart by owner."""

from __future__ import annotations

from stenolith.model.identity import Scope
from stenolith.store.database import Database
from stenolith.store.owners import Owners
from stenolith.store.usage import Account, ModelUsage, Spending


async def test_calls_add_up_and_owners_do_not_see_each_other(database: Database) -> None:
    mine, theirs = [await Owners(database).intern(Scope(user=name)) for name in ("ana", "ben")]
    usage = ModelUsage(database)
    first = Account(day="2026-08-02", owner_id=mine, kind="distill", model="m")
    later = Account(day="2026-08-03", owner_id=mine, kind="scenes", model="m")
    foreign = Account(day="2026-08-02", owner_id=theirs, kind="distill", model="n")
    await usage.add(first, Spending(calls=1, tokens_in=100, tokens_out=20, cost=0.25))
    await usage.add(first, Spending(calls=1, failed=1))
    await usage.add(later, Spending(calls=1, tokens_in=7, tokens_out=3))
    await usage.add(foreign, Spending(calls=1, tokens_in=1, tokens_out=1, cost=0.5))
    assert await usage.of_owner(mine) == {
        first: Spending(calls=2, failed=1, tokens_in=100, tokens_out=20, cost=0.25),
        later: Spending(calls=1, tokens_in=7, tokens_out=3),
    }
    assert list(await usage.of_owner(mine, since="2026-08-03")) == [later]
    assert await usage.of_day("2026-08-02") == Spending(calls=3, failed=1, tokens_in=101, tokens_out=21, cost=0.75)
    assert await usage.of_day("1999-01-01") == Spending()
    assert (await usage.of_home())["n"] == Spending(calls=1, tokens_in=1, tokens_out=1, cost=0.5)
