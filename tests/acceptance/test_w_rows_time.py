# ruff: noqa: N802  # the rows keep the names that the specification gives them
"""W20, W21: offsets and local days are right for every hour of a year, in five zones.

The clock changes of 2026 stand here by hand, from the laws that made them; nothing below asks the
library for a zone's offset.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from reader import ME, model, shown, with_model
from stage import DAY, ms, said

from stenolith import Memory
from stenolith.distill.windows import Part, Speech, days_of, write_parts
from stenolith.engine.moments import read_moment
from stenolith.llm.budget import day_of, until_tomorrow_ms
from stenolith.model.dates import resolve
from stenolith.settings import Settings
from stenolith.store.indexing import day_words
from stenolith.testing.clock import FrozenClock

HOUR = 3_600_000
START, END = ms("2026-01-01T00:00:00+00:00"), ms("2027-01-01T00:00:00+00:00")
# Offset in minutes since an instant (UTC): at the start of the year, then at each change of the clocks.
CHANGES = {
    "America/New_York": [("2026-01-01T00:00", -300), ("2026-03-08T07:00", -240), ("2026-11-01T06:00", -300)],
    "Europe/Amsterdam": [("2026-01-01T00:00", 60), ("2026-03-29T01:00", 120), ("2026-10-25T01:00", 60)],
    "Pacific/Auckland": [("2026-01-01T00:00", 780), ("2026-04-04T14:00", 720), ("2026-09-26T14:00", 780)],
    "Australia/Lord_Howe": [("2026-01-01T00:00", 660), ("2026-04-04T15:00", 630), ("2026-10-03T15:30", 660)],
    "Asia/Kolkata": [("2026-01-01T00:00", 330)],
}
ZONES = sorted(CHANGES)
_SINCE = {zone: [ms(f"{at}+00:00") for at, _ in table] for zone, table in CHANGES.items()}


def offset(zone: str, at: int) -> int:
    """Return the offset in milliseconds that a zone has at an instant."""
    place = bisect_right(_SINCE[zone], at) - 1
    return CHANGES[zone][max(place, 0)][1] * 60_000


def local(zone: str, at: int) -> datetime:
    """Return what a clock on the wall says, without a zone."""
    return datetime.fromtimestamp((at + offset(zone, at)) / 1000, UTC).replace(tzinfo=None)


def midnight(zone: str, day: datetime) -> int:
    """Return the instant at which a local day begins."""
    naive = int(day.replace(hour=0, minute=0, tzinfo=UTC).timestamp() * 1000)
    (found,) = {naive - own for _, minutes in CHANGES[zone] if offset(zone, naive - (own := minutes * 60_000)) == own}
    return found


def signed(minutes: int) -> str:
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def hours() -> Iterator[int]:
    return iter(range(START, END, HOUR))


def around_changes(zone: str) -> list[int]:
    """Return the hours next to clock changes and month ends: where the reference went wrong."""
    found = [since + step * HOUR for since in _SINCE[zone][1:] for step in range(-26, 27, 4)]
    found += [at + step * HOUR for at in range(START, END, DAY) for step in (-13, 11) if _is_month_end(at)]
    return sorted(at for at in found if START <= at < END)


def _is_month_end(at: int) -> bool:
    return datetime.fromtimestamp(at / 1000, UTC).day == 1


@pytest.mark.parametrize("zone", ZONES)
def test_W20_the_offset_in_a_prompt_is_right_for_every_hour_of_a_year(zone: str) -> None:
    for at in hours():
        speech = Speech(record_id="rec_1", role="user", text="Hello there.", timestamp=at)
        part = Part(number=1, speech=speech, text=speech.text)
        told = json.loads(write_parts([part], ZoneInfo(zone)))["time"]
        wall = local(zone, at)
        assert told == f"{wall:%Y-%m-%dT%H:%M}{signed(offset(zone, at) // 60_000)} {wall:%a}"
        assert days_of([part], ZoneInfo(zone)) == f"{wall:%Y-%m-%d} ({wall:%A})"


@pytest.mark.parametrize("zone", ZONES)
def test_W21_days_begin_and_end_at_local_midnight_for_every_hour_of_a_year(zone: str) -> None:
    place = ZoneInfo(zone)
    for at in hours():
        today = local(zone, at)
        edges = [midnight(zone, today + timedelta(days=step)) for step in (-1, 0, 1)]
        (yesterday, now) = resolve("昨天 and today", at, place)
        assert (yesterday.start_ms, yesterday.end_ms, now.start_ms, now.end_ms) == (*edges[:2], *edges[1:])
        assert (yesterday.label, now.label) == tuple(f"{today + timedelta(days=step):%Y-%m-%d}" for step in (-1, 0))
        assert until_tomorrow_ms(at, place) == edges[2] - at
        assert day_of(at, place) == f"{today:%Y-%m-%d}"
        assert day_words(at, place).startswith(f"{today.day} {today:%B}")


@pytest.mark.parametrize("zone", ZONES)
def test_W21_a_day_that_is_typed_is_the_local_day_with_its_true_length(zone: str) -> None:
    lengths = set()
    for at in range(START + DAY, END - DAY, DAY):
        day = local(zone, at)
        start, end = read_moment(f"{day:%Y-%m-%d}", at, ZoneInfo(zone))
        assert (start, end) == (midnight(zone, day), midnight(zone, day + timedelta(days=1)))
        lengths.add((end - start) // 60_000)
        wall = f"{day:%Y-%m-%d}T12:30"
        assert read_moment(wall, at, ZoneInfo(zone))[0] == ms(
            f"{wall}{signed(offset(zone, start + 12 * HOUR) // 60_000)}"
        )
    change = {"Asia/Kolkata": 0, "Australia/Lord_Howe": 30}.get(zone, 60)
    assert lengths == {24 * 60 - change, 24 * 60, 24 * 60 + change}


def test_W21_the_days_of_the_report() -> None:
    """Pacific/Auckland, 2026-09-27: the day begins at 12:00Z and has 23 hours; the reference said 11:00Z."""
    start, end = read_moment("2026-09-27", START, ZoneInfo("Pacific/Auckland"))
    assert (start, end - start) == (ms("2026-09-26T12:00:00+00:00"), 23 * HOUR)


@pytest.mark.parametrize("zone", ZONES)
async def test_W20_W21_a_home_files_prompts_and_finds_by_the_local_day(zone: str, settings: Settings) -> None:
    """Daily file, prompt, label and filter agree on the day in which something was said."""
    settings = settings.model_copy(update={"timezone": zone})
    clock, scripted = FrozenClock(START), model(lambda _: {"scenes": []})
    moments = around_changes(zone)
    async with Memory.open(settings=with_model(settings), model=scripted, now=clock) as memory:
        for number, at in enumerate(moments):
            clock.advance(at - clock())
            await memory.capture([said("user", f"Reading number {number} was taken.", at)], scope=ME)
        await memory.work(kinds=["distill"])
        told = {one["text"]: one["time"] for prompt in scripted.prompts("extract") for one in shown(prompt)}
        for number, at in enumerate(moments):
            text, wall = f"Reading number {number} was taken.", local(zone, at)
            assert told[text] == f"{wall:%Y-%m-%dT%H:%M}{signed(offset(zone, at) // 60_000)} {wall:%a}"
            file = settings.home / "conversations" / f"{wall:%Y-%m-%d}.jsonl"
            assert text in [json.loads(line)["content"] for line in file.read_text().splitlines()]
            within = memory.filters(since=f"{wall:%Y-%m-%d}", until=f"{wall:%Y-%m-%d}")
            found = await memory.search("conversations", f"reading number {number}", scope=ME, filters=within, limit=50)
            days = {f"{local(zone, item['occurred']):%Y-%m-%d}" for item in found["items"]}
            assert days == {f"{wall:%Y-%m-%d}"}
            assert text in [item["text"] for item in found["items"]]


async def test_W21_what_expires_on_a_day_of_23_hours_expires_at_its_end(settings: Settings) -> None:
    """Retention counts in local days, and the clock it asks is the one of the home."""
    clock = FrozenClock(ms("2026-03-28T12:00:00+01:00"))
    chosen = settings.model_copy(update={"timezone": "Europe/Amsterdam"})
    async with Memory.open(settings=chosen, now=clock) as memory:
        last = memory.moment("2026-03-30") - 1
        kept = await memory.remember("The clocks change tonight.", scope=ME, expires_at=last)
        clock.advance(ms("2026-03-29T23:59:59+02:00") - clock())
        await memory.work()
        assert [atom["id"] for atom in (await memory.list("atoms", scope=ME))["items"]] == [kept["id"]]
        clock.advance(1000)
        assert (await memory.list("atoms", scope=ME))["items"] == []
