"""A home that may be read and not changed: a colleague's, a mounted backup, a full quota."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from stenolith import Memory, Message, Role, Scope, StoreUnavailable, Text
from stenolith.settings import load

READER = Path(__file__).with_name("reader_of_another.py")
CHAT = Scope(session_key="chat")
ENVIRONMENT = {"STENOLITH_TIMEZONE": "UTC", "STENOLITH_EMBEDDER__KIND": "none"}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that others may look into; those of pytest are for its user alone."""
    made = Path(tempfile.mkdtemp(prefix="stenolith-read-only-"))
    made.chmod(0o755)
    try:
        yield made
    finally:
        _allow(made, 0o755, 0o644)
        shutil.rmtree(made)


def _allow(folder: Path, folders: int, files: int) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(folders if path.is_dir() else files)


async def _fill(home: Path) -> str:
    """Make a home with a conversation, atoms, scenes and a persona, and return an atom's id."""
    async with Memory.open(home, settings=load(home=home, timezone="UTC", embedder={"kind": "none"})) as memory:
        words = ("I'm allergic to penicillin.", "We deploy the gateway to Frankfurt every Friday.")
        said = [Message(role=Role.USER, parts=(Text(text=text),), timestamp=1_785_000_000_000) for text in words]
        await memory.capture(said, scope=CHAT)
        kept = await memory.remember("Prefers dark roast", scope=CHAT)
        await memory.work()
        await memory.sessions.raw(CHAT)
        return str(kept["id"])


@pytest.fixture
async def home(folder: Path) -> tuple[Path, str]:
    atom = await _fill(folder / "home")
    shutil.copytree(folder / "home", folder / "warm")
    return folder / "home", atom


def _ask(folder: Path, commands: Sequence[Sequence[str]]) -> list[tuple[int, str, str]]:
    _allow(folder / "home", 0o555, 0o444)
    before = {path: path.stat().st_mtime_ns for path in (folder / "home").rglob("*")}
    lines = "".join(json.dumps(words) + "\n" for words in commands)
    ran = subprocess.run(
        [sys.executable, READER, folder / "warm", folder / "home"],
        input=lines,
        capture_output=True,
        text=True,
        env={**os.environ, **ENVIRONMENT},
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    after = {path: path.stat().st_mtime_ns for path in (folder / "home").rglob("*")}
    assert after == before, "a reader leaves nothing behind"
    return [tuple(json.loads(line)) for line in ran.stdout.splitlines()]


async def test_a_home_that_may_not_be_changed_is_read(home: tuple[Path, str]) -> None:
    folder, atom = home[0].parent, home[1]
    commands = [
        ["recall", "what am I allergic to?", "--json"],
        ["search", "memories", "dark roast", "--json"],
        ["list", "records", "--json"],
        ["list", "atoms", "--json"],
        ["list", "sessions", "--json"],
        ["list", "scenes", "--json"],
        ["show", atom],
        ["history", atom],
        ["persona"],
        ["stats", "--json"],
        ["jobs", "--json"],
        ["doctor"],
        ["display", "--session", "chat"],
        ["replay", "--provider", "anthropic", "--session", "chat"],
        ["export"],
    ]
    told = _ask(folder, commands)
    for words, (code, _, said) in zip(commands, told, strict=True):
        assert code == 0 or words == ["doctor"], (words, said)
        assert "is read-only for this user" in said
        assert "Traceback" not in said
    assert "penicillin" in told[0][1]
    assert json.loads(told[0][1])["report"]["degraded"] == []
    assert "dark roast" in told[1][1]
    assert told[-1][1].count("\n") > 5


async def test_what_would_change_it_says_in_one_line_that_it_cannot(home: tuple[Path, str]) -> None:
    folder, atom = home[0].parent, home[1]
    turn = folder / "turn.json"
    turn.write_text(json.dumps([{"role": "user", "content": "I moved to Graz."}]))
    commands = [
        ["remember", "Lives in Graz"],
        ["capture", str(turn), "--session", "chat"],
        ["forget", atom],
        ["correct", atom, "Prefers light roast"],
        ["work"],
        ["rebuild", "indexes"],
    ]
    for words, (code, out, said) in zip(commands, _ask(folder, commands), strict=True):
        assert code == 1, (words, out, said)
        wrong = [line for line in said.splitlines() if line.startswith("stenolith:")]
        assert len(wrong) == 1, said
        assert "read-only" in wrong[0]
        assert "Traceback" not in said


async def test_what_a_crash_left_in_the_log_is_read_too(home: tuple[Path, str]) -> None:
    """The newest writes stand in the log beside the database, and no process is there that has it open."""
    folder = home[0].parent
    writer = sqlite3.connect(home[0] / "memory.db", isolation_level=None)
    writer.execute("UPDATE atoms SET text = 'Prefers light roast' WHERE text = 'Prefers dark roast'")
    held = {name: (home[0] / name).read_bytes() for name in ("memory.db", "memory.db-wal")}
    writer.close()
    for name, data in held.items():
        (home[0] / name).write_bytes(data)
    assert len(held["memory.db-wal"]) > 0
    ((code, out, said),) = _ask(folder, [["list", "atoms", "--json"]])
    assert code == 0, said
    assert "Prefers light roast" in [item["text"] for item in json.loads(out)["items"]]


async def test_a_home_of_an_older_schema_says_what_to_do(home: tuple[Path, str]) -> None:
    folder = home[0].parent
    with sqlite3.connect(home[0] / "memory.db") as writer:
        writer.execute("DELETE FROM schema_migrations WHERE number = (SELECT MAX(number) FROM schema_migrations)")
    writer.close()
    ((code, _, said),) = _ask(folder, [["stats"]])
    assert code == 1
    assert "brought up to date" in said.splitlines()[-1]


def _flag(which: str, home: Path) -> bool:
    try:
        return not subprocess.run(
            ["chattr", which, home / "memory.db", home], capture_output=True, check=False
        ).returncode
    except FileNotFoundError:
        return False


async def test_a_program_can_ask_a_home_that_it_may_not_change(home: tuple[Path, str]) -> None:
    """As root too: a disk that is mounted read-only binds everybody. Here, the file's own flag stands for it."""
    if not _flag("+i", home[0]):
        pytest.skip("this file system has no immutable flag")
    try:
        settings = load(home=home[0], timezone="UTC", embedder={"kind": "none"})
        async with Memory.open(settings=settings) as memory:
            assert [item["text"] for item in (await memory.search("memories", "roast", scope=CHAT))["items"]]
            with pytest.raises(StoreUnavailable, match="read-only"):
                await memory.remember("Lives in Graz", scope=CHAT)
    finally:
        assert _flag("-i", home[0])
