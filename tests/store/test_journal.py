from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenolith.model.identity import Scope, new_id
from stenolith.store.database import Database
from stenolith.store.journal import CatchUp, Journal, Rebuilt
from stenolith.store.journal_file import DamagedLine, JournalLine, parse
from stenolith.store.owners import Owners
from stenolith.store.records import Record, Records

DAY = "2026-09-01"
# The two lines that seed 000 shows, to the letter.
SEED = (
    (
        '{"sessionKey":"sess_001","sessionId":"sess_001","teamId":"default","userId":"default","agentId":"default",'
        '"recordedAt":"2026-09-01T08:00:00.000Z","id":"msg_1785ab3f","role":"user",'
        '"content":"别重构旧鉴权模块，移动端还在用","timestamp":1785657600000}'
    ),
    (
        '{"sessionKey":"sess_001","sessionId":"sess_001","teamId":"default","userId":"default","agentId":"default",'
        '"recordedAt":"2026-09-01T08:00:01.000Z","id":"msg_1785cd21","role":"assistant",'
        '"content":"明白，我会在改动前先确认影响范围","timestamp":1785657601000}'
    ),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "conversations"


@pytest.fixture
def journal(database: Database, folder: Path) -> Journal:
    return Journal(database, folder)


@pytest.fixture
async def made(database: Database) -> Callable[..., Record]:
    """Makes records that are not stored yet, one position after the other."""
    owner = await Owners(database).intern(Scope())
    seq = iter(range(1, 10_000))

    def make(text: str = "hello", day: str = DAY, **given_: object) -> Record:
        record = Record(
            record_id=new_id("rec"),
            session_key="sess_001",
            session_id="sess_001",
            team_id="default",
            user_id="default",
            agent_id="default",
            task_id="",
            role="user",
            message_text=text,
            recorded_at=f"{day}T08:00:00.000Z",
            timestamp=1785657600000,
            owner_id=owner,
            session_ref=1,
            seq=next(seq),
            message_id="msg_x",
            speaker="",
            timestamp_source="host",
            distillable=True,
            journal_day=day,
        )
        return replace(record, **given_)

    return make


async def unjournaled(database: Database) -> int:
    rows = await database.fetch("SELECT COUNT(*) AS n FROM l0_conversations WHERE journaled = 0")
    return int(rows[0]["n"])


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def held(folder: Path, pattern: str = "*.jsonl") -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob(pattern)}


def texts(folder: Path, day: str = DAY) -> list[str]:
    return [json.loads(line)["content"] for line in (folder / f"{day}.jsonl").read_text(encoding="utf-8").splitlines()]


async def test_a_line_is_the_seeds_line_to_the_byte(
    database: Database, journal: Journal, folder: Path, made: Callable[..., Record]
) -> None:
    said = made(record_id="msg_1785ab3f", message_text="别重构旧鉴权模块，移动端还在用")
    answer = made(
        record_id="msg_1785cd21",
        message_text="明白，我会在改动前先确认影响范围",
        role="assistant",
        recorded_at="2026-09-01T08:00:01.000Z",
        timestamp=1785657601000,
    )
    await Records(database).append([said, answer])
    assert await journal.append([said, answer]) == []
    assert (folder / f"{DAY}.jsonl").read_bytes().decode() == "\n".join(SEED) + "\n"
    assert await unjournaled(database) == 0
    assert (mode(folder / f"{DAY}.jsonl"), mode(folder)) == (0o600, 0o700)


@pytest.mark.parametrize("line", SEED)
def test_a_seed_line_reads_and_writes_back(line: str) -> None:
    assert parse(line.encode()).to_bytes() == line.encode() + b"\n"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_words_stay_on_one_line_and_come_back(words: str) -> None:
    line = replace(parse(SEED[0].encode()), message_text=words)
    assert line.to_bytes().count(b"\n") == 1
    assert parse(line.to_bytes()) == line


def test_a_line_of_the_references_first_version_belongs_to_default() -> None:
    old = {
        "sessionKey": "k",
        "recordedAt": "2026-09-01T08:00:00.000Z",
        "id": "m",
        "role": "user",
        "content": "x",
        "timestamp": 1,
    }
    line = parse(json.dumps(old).encode())
    assert (line.session_id, line.team_id, line.user_id, line.agent_id) == ("", "default", "default", "default")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[1]", "not an object"),
        ('{"sessionKey":"k","id":"m","role":"user"}', "missing or wrong: content"),
        ('{"sessionKey":"k","id":7,"role":"user","content":"x"}', "missing or wrong: id"),
        ('{"sessionKey":"k","id":"m","role":"user","content":"x","timestamp":true}', "missing or wrong: timestamp"),
    ],
)
def test_a_damaged_line_says_what_is_wrong(raw: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse(raw.encode())


async def test_days_have_files_of_their_own_and_lines_keep_their_order(
    database: Database, journal: Journal, folder: Path, made: Callable[..., Record]
) -> None:
    records = [made(str(n), day="2026-09-02" if n % 2 else DAY) for n in range(10)]
    await Records(database).append(records)
    for start in (0, 5):
        assert await journal.append(records[start : start + 5]) == []
    assert texts(folder) == ["0", "2", "4", "6", "8"]
    assert texts(folder, "2026-09-02") == ["1", "3", "5", "7", "9"]


async def test_an_append_that_fails_warns_and_is_caught_up(
    database: Database, journal: Journal, folder: Path, made: Callable[..., Record]
) -> None:
    record = made("kept")
    await Records(database).append([record])
    (folder / f"{DAY}.jsonl").mkdir(parents=True)
    warnings = await journal.append([record])
    assert len(warnings) == 1
    assert "will be caught up" in warnings[0]
    assert await unjournaled(database) == 1
    (folder / f"{DAY}.jsonl").rmdir()
    assert await journal.catch_up() == CatchUp(written=1)
    assert texts(folder) == ["kept"]
    assert await journal.catch_up() == CatchUp()


async def test_a_crash_between_file_and_mark_writes_nothing_twice(
    database: Database, journal: Journal, folder: Path, made: Callable[..., Record]
) -> None:
    records = [made("a"), made("b"), made("c")]
    await Records(database).append(records)
    await journal.append(records[:2])
    await database.fetch("UPDATE l0_conversations SET journaled = 0")
    assert await journal.catch_up() == CatchUp(written=1, already=2)
    assert texts(folder) == ["a", "b", "c"]


async def test_what_another_process_has_caught_up_is_not_appended_again(
    database: Database, journal: Journal, folder: Path, made: Callable[..., Record]
) -> None:
    record = made("once")
    await Records(database).append([record])
    assert await Journal(database, folder).catch_up() == CatchUp(written=1)
    assert await journal.append([record]) == []
    assert texts(folder) == ["once"]


async def test_a_record_that_was_rolled_back_gets_no_line(
    journal: Journal, folder: Path, made: Callable[..., Record]
) -> None:
    assert await journal.append([made("never stored")]) == []
    assert not (folder / f"{DAY}.jsonl").exists()


async def test_a_torn_last_line_is_set_aside_and_written_again(
    database: Database, journal: Journal, folder: Path, made: Callable[..., Record]
) -> None:
    records = [made(text) for text in ("first", "x" * 200_000, "third")]
    await Records(database).append(records)
    await journal.append(records[:2])
    path = folder / f"{DAY}.jsonl"
    path.write_bytes(path.read_bytes()[:-7])
    await database.fetch("UPDATE l0_conversations SET journaled = 0 WHERE record_id = :one", one=records[1].record_id)
    warnings = await journal.append([records[2]])
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{DAY}.jsonl ended in a torn line of ")
    assert texts(folder) == ["first", "third"]
    assert (folder / f"{DAY}.jsonl.damaged").read_bytes().startswith(b'{"sessionKey"')
    assert await journal.catch_up() == CatchUp(written=1)
    assert all(day.agrees for day in await journal.verify())


async def test_a_whole_line_that_only_lost_its_line_break_is_kept(
    database: Database, journal: Journal, folder: Path, made: Callable[..., Record]
) -> None:
    records = [made("first"), made("second")]
    await Records(database).append(records)
    await journal.append(records[:1])
    path = folder / f"{DAY}.jsonl"
    path.write_bytes(path.read_bytes()[:-1])
    assert await journal.append(records[1:]) == []
    assert texts(folder) == ["first", "second"]


async def test_verify_names_every_way_in_which_the_sides_can_differ(
    database: Database, journal: Journal, folder: Path, made: Callable[..., Record]
) -> None:
    good, lost, changed, twice = [made(text) for text in ("good", "lost", "changed", "twice")]
    await Records(database).append([good, lost, changed, twice, made("fine", day="2026-08-31")])
    await journal.catch_up()
    assert [(day.day, day.records, day.lines, day.agrees) for day in await journal.verify()] == [
        ("2026-08-31", 1, 1, True),
        (DAY, 4, 4, True),
    ]
    path = folder / f"{DAY}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    stranger = SEED[0].encode() + b"\n"
    path.write_bytes(lines[0] + b"{torn\n" + lines[2].replace(b"changed", b"CHANGED") + lines[3] * 2 + stranger)
    (folder / "2026-09-03.jsonl").write_bytes(stranger)
    (folder / "notes.jsonl").write_text("not a day file")
    first, second, third = await journal.verify()
    assert first.agrees
    assert (second.missing_in_file, second.missing_in_database) == ((lost.record_id,), ("msg_1785ab3f",))
    assert (second.differing, second.repeated) == ((changed.record_id,), (twice.record_id,))
    assert [(bad.file, bad.number, bad.reason) for bad in second.damaged] == [(f"{DAY}.jsonl", 2, "not JSON")]
    assert (third.day, third.records, third.missing_in_database) == ("2026-09-03", 0, ("msg_1785ab3f",))


async def test_a_rebuild_makes_the_files_from_the_database(
    database: Database, journal: Journal, folder: Path, made: Callable[..., Record]
) -> None:
    records = [made("a"), made("b"), made("c", day="2026-09-02")]
    await Records(database).append(records)
    await journal.catch_up()
    before = held(folder)
    path = folder / f"{DAY}.jsonl"
    path.write_bytes(b"{torn\n" + SEED[0].encode() + b"\n" + path.read_bytes()[:30])
    (folder / "2026-09-02.jsonl").unlink()
    (folder / "2026-09-09.jsonl").write_bytes(SEED[1].encode() + b"\n")
    assert await journal.rebuild_files() == Rebuilt(days=3, lines=3, dropped=2, set_aside=2)
    assert held(folder) == before
    assert (folder / f"{DAY}.jsonl.damaged").read_bytes().startswith(b"{torn\n")
    assert all(day.agrees for day in await journal.verify())


async def test_deleted_words_are_gone_from_the_day_and_from_what_was_set_aside(
    database: Database, journal: Journal, folder: Path, made: Callable[..., Record]
) -> None:
    kept, secret = made("kept"), made("the locker code")
    await Records(database).append([kept, secret])
    await journal.catch_up()
    path = folder / f"{DAY}.jsonl"
    (folder / f"{DAY}.jsonl.damaged").write_text("the locker code, torn")
    await database.fetch("DELETE FROM l0_conversations WHERE record_id = :one", one=secret.record_id)
    assert await journal.rebuild_files([DAY, DAY], erase=True) == Rebuilt(days=1, lines=1, dropped=1)
    assert b"locker" not in b"".join(held(folder, "*").values())
    assert texts(folder) == ["kept"]
    await database.fetch("DELETE FROM l0_conversations")
    await journal.rebuild_files([DAY], erase=True)
    assert not path.exists()


async def test_a_rebuild_counts_as_journaling(
    database: Database, journal: Journal, folder: Path, made: Callable[..., Record]
) -> None:
    await Records(database).append([made("a"), made("b")])
    assert await journal.rebuild_files() == Rebuilt(days=1, lines=2)
    assert await unjournaled(database) == 0
    assert await journal.catch_up() == CatchUp()


async def test_lines_can_be_read_back_with_damaged_ones_in_their_place(
    database: Database, journal: Journal, folder: Path, made: Callable[..., Record]
) -> None:
    await Records(database).append([made("a"), made("b", day="2026-09-02")])
    await journal.catch_up()
    path = folder / f"{DAY}.jsonl"
    path.write_bytes(b"\xff\xfe\n" + path.read_bytes())
    read = list(journal.read_lines())
    assert [(day, type(line)) for day, line in read] == [
        (DAY, DamagedLine),
        (DAY, JournalLine),
        ("2026-09-02", JournalLine),
    ]
    assert read[0][1] == DamagedLine(file=f"{DAY}.jsonl", number=1, reason="not JSON", raw=b"\xff\xfe\n")


async def test_more_lines_than_a_page_are_all_caught_up(
    database: Database, journal: Journal, folder: Path, made: Callable[..., Record]
) -> None:
    await Records(database).append([made(str(n)) for n in range(4_100)])
    assert await journal.catch_up() == CatchUp(written=4_100)
    assert texts(folder) == [str(n) for n in range(4_100)]
    assert (await journal.verify())[0].agrees


async def test_writers_that_meet_write_every_line_once(
    database: Database, folder: Path, made: Callable[..., Record]
) -> None:
    """Two processes append while a third catches up; the lock file serves all of them."""
    first, second, third = [Journal(database, folder) for _ in range(3)]
    records = [made(str(n)) for n in range(40)]

    async def capture(journal: Journal, share: list[Record]) -> list[str]:
        warnings = []
        for record in share:
            await Records(database).append([record])
            warnings += await journal.append([record])
        return warnings

    async def catch_up() -> list[str]:
        for _ in range(10):
            await third.catch_up()
        return []

    warnings = await asyncio.gather(capture(first, records[::2]), capture(second, records[1::2]), catch_up())
    assert warnings == [[], [], []]
    assert sorted(texts(folder), key=int) == [str(n) for n in range(40)]
    assert [(day.agrees, day.lines) for day in await third.verify()] == [(True, 40)]
