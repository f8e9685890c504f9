"""Wrong calls, odd names, broken files, full disks: a clear sentence, the right exit code, nothing lost or half written."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from stage import MINUTE, Stage, said

from shell import Done, Shell
from stenolith import InvalidInput, Memory, Scope, StenolithError
from stenolith.settings import Settings

U1 = Scope(user="u1", session_key="chat")
SOURCE = str(Path(__file__).parents[2] / "src")
ODD_NAMES = (
    "__proto__",
    "new\nline",
    "😀",
    "../../etc",
    "a/b\\c",
    "..",
    "CON",
    "k" * 10_000,
    " ",
    "%2E",
    "a:b*c?",
    "-",
)


def _is_clear(done: Done, code: int, words: str) -> None:
    """One line for a person, the exit code of the contract, and no traceback."""
    assert done.code == code, done.err
    assert words in done.err, done.err
    assert "Traceback" not in done.err
    assert "Error:" not in done.err
    assert done.out == ""


# -- every command as a person sees it -------------------------------------------------------------------------------


def test_every_command_speaks_to_people_and_to_programs(shell: Shell, tmp_path: Path) -> None:
    turn = json.dumps([{"role": "user", "content": "I prefer tea.", "timestamp": 1785657600000}])
    assert shell("capture", "-", "--session", "s", stdin=turn).code == 0
    atom = shell("remember", "I like dark roast", "--json").json
    other = shell("remember", "Rule R7 blocks deploys", "--json").json
    assert shell("work", "--until-idle").code == 0
    (tmp_path / "more.json").write_text(turn)
    (tmp_path / "body.json").write_text('{"messages": [{"role": "user", "content": "hi"}]}')
    commands: list[list[object]] = [
        ["remember", "I like light roast"],
        ["correct", atom["id"], "I like medium roast"],
        ["correct", "--query", "rule R7", "Rule R7 is gone"],
        ["history", atom["id"]],
        ["show", atom["id"]],
        ["recall", "roast"],
        ["recall", ""],
        *(["search", layer, "roast"] for layer in ("memories", "conversations", "scenes")),
        *(["list", layer] for layer in ("atoms", "scenes", "sessions", "records")),
        ["scene", "Personal-notes"],
        ["persona"],
        ["import", tmp_path / "more.json"],
        ["export"],
        ["replay", "--session", "s", "--provider", "anthropic"],
        ["display", "--session", "s"],
        ["lint", tmp_path / "body.json", "--api", "openai-chat"],
        ["work"],
        ["jobs"],
        ["jobs", "dead"],
        ["doctor"],
        ["rebuild"],
        ["stats"],
        ["forget", other["id"]],
    ]
    for words in commands:
        for form in ([], ["--json"]):
            done = shell(*words, *form)
            gone = form and words[:2] in (["forget", other["id"]], ["correct", atom["id"]])  # done by the first form
            assert done.code == (1 if gone else 0), (words, done.err)
            assert "Traceback" not in done.err
            if form and not gone and words[0] != "export":
                json.loads(done.out)


WRONG: list[tuple[list[str], str]] = [
    (["recall", "tea", "--limit", "99999999999999999999"], "limit runs from 1 to 1000"),
    (["recall", "tea", "--limit", "0"], "limit runs from 1 to 1000"),
    (["recall", "tea", "--limit", "abc"], "limit"),
    (["recall", "tea", "--budget", "0"], "budget is 1 or more characters"),
    (["recall", "tea", "--deadline", "-1"], "deadline is 1 or more ms"),
    (["search", "memories", "tea", "--limit", "1001"], "limit runs from 1 to 1000"),
    (["list", "atoms", "--limit", "10001"], "limit runs from 1 to 10000"),
    (["list", "atoms", "--cursor", "nonsense"], "cursor"),
    (["list", "records", "--cursor", "nonsense"], "cursor"),
    (["list", "sessions", "--cursor", "nonsense"], "cursor"),
    (["list", "scenes", "--cursor", "-5"], "cursor"),
    (["list", "scenes", "--cursor", "9" * 5000], "cursor"),
    (["list", "records", "--status", "active"], "status is nothing that records have"),
    (["list", "scenes", "--status", "asleep"], "live, archived"),
    (["list", "atoms", "--as-of", "gibberish"], "is no time"),
    (["list", "atoms", "--as-of", "2026-08-03T25:00"], "is no time"),
    (["list", "atoms", "--as-of", "2026-02-30"], "is no time"),
    (["list", "atoms", "--as-of", "-5"], "is no time"),
    (["remember", "I like x", "--priority", "101"], "priority runs from 0 to 100"),
    (["remember", "I like x", "--expires", "2001-01-01"], "past"),
    (["remember", "  "], "empty"),
    (["remember", "I like x", "--user", ""], "scope"),
    (["remember", "caf\udce9 is good"], "not UTF-8"),
    (["remember", "I like x", "--home", ""], "--home is empty"),
    (["recall", "tea", "--config", "/nowhere.toml"], "there is no file"),
    (["capture", "nowhere.json", "--session", "s"], "No such file"),
    (["capture", "-", "--session", "s", "--mark", "-1"], "--mark counts messages"),
    (["forget"], "deletes nothing"),
    (["import"], "at least one file"),
]


@pytest.mark.parametrize(("words", "sentence"), WRONG, ids=lambda value: " ".join(value)[:60] if value else "")
def test_a_wrong_call_is_answered_in_one_sentence_and_stores_nothing(
    shell: Shell, words: list[str], sentence: str
) -> None:
    shell("remember", "I prefer tea")
    before = shell("export").out
    _is_clear(shell(*words), 2, sentence)
    assert shell("export").out == before


@pytest.mark.parametrize("when", ["today", "tomorrow", "今天", "下周", "next week", "9999-12-31", "99999999999999"])
def test_as_of_takes_words_and_means_the_end_of_what_they_name(shell: Shell, when: str) -> None:
    atom = shell("remember", "I prefer tea", "--json").json
    for words in (["list", "atoms"], ["search", "memories", "tea"], ["recall", "tea"]):
        found = shell(*words, "--as-of", when, "--json").json
        assert [item["id"] for item in found["items"]] == [atom["id"]], words
    for before in ("昨天", "last week", "上周", "2020-01-01", "0001-01-01"):
        assert shell("list", "atoms", "--as-of", before, "--json").json["items"] == []


# -- names and words -------------------------------------------------------------------------------------------------


async def test_odd_names_are_only_names(stage: Stage) -> None:
    scopes = [Scope(user=name, session_key=name) for name in ODD_NAMES]
    for number, scope in enumerate(scopes):
        await stage.say(f"I prefer tea number {number}.", scope=scope)
        await stage.memory.remember(f"Likes cup {number}", scope=scope)
    await stage.work()
    home = stage.settings.home.resolve()
    for number, scope in enumerate(scopes):
        assert await stage.texts(scope) == [f"I prefer tea number {number}.", f"Likes cup {number}"]
        assert len(await stage.records(scope)) == 2
        assert (await stage.memory.recall("tea cup", scope=scope)).items
    for path in home.parent.rglob("*.md"):
        assert path.resolve().is_relative_to(home), path
    assert len(list(home.rglob("Personal-notes.md"))) == len(ODD_NAMES)
    assert (await stage.memory.doctor())["healthy"]
    await stage.memory.forget([], scope=Scope(user=ODD_NAMES[0]), user=True)
    assert await stage.records(scopes[0]) == []
    assert len(await stage.records(scopes[1])) == 2


async def test_nul_and_half_characters_are_kept_as_well_as_text_can(stage: Stage) -> None:
    odd = [
        said("user", "I prefer \x00tea\x00.", 1),
        said("user", "half \ud83d of a smile", 2, speaker="a\ud83d", id="\udc00"),
    ]
    report = await stage.memory.capture(odd, scope=U1)
    assert [record.message_text for record in report.recorded] == ["I prefer tea.", "half \ufffd of a smile"]
    assert (await stage.memory.capture(odd, scope=U1)).new_messages == 0
    atom = await stage.memory.remember("whole \ud83d\ude00 and half \ude00", scope=U1, key="\ud83d")
    assert atom["text"] == "whole 😀 and half \ufffd"
    await stage.work()
    for question in ("half \ud83d", "\x00tea", "\ud83d"):
        await stage.memory.recall(question, scope=U1)
        await stage.memory.search("conversations", question, scope=U1)
    assert (await stage.export(U1, "odd.jsonl")).decode()
    for bad in (Scope(user="\ud83d"), Scope(session_key="\udc00")):
        with pytest.raises(InvalidInput, match="no valid text"):
            await stage.memory.capture(odd, scope=bad)
    assert (await stage.memory.doctor())["healthy"]


def test_a_memory_cannot_move_the_cursor_or_turn_words_around(shell: Shell) -> None:
    text = "I prefer \x1b[31mred\x1b[0m \x07 tea \u202egnp.exe"
    shell("capture", "-", "--session", "s", stdin=json.dumps([{"role": "user", "content": text}]))
    for words in (["list", "records"], ["search", "conversations", "tea"], ["recall", "red tea"]):
        out = shell(*words).out
        assert "tea" in out
        assert not {"\x1b", "\x07", "\u202e"} & set(out), words
    assert text.replace("\x07", "") in shell("list", "records", "--json").json["items"][0]["text"].replace("\x07", "")


async def test_a_message_of_five_megabytes_is_one_record(plain: Settings) -> None:
    async with Stage(plain) as stage:
        words = "the gateway listens on port 443. " * 160_000
        started = time.monotonic()
        report = await stage.memory.capture([said("user", words, 1)], scope=U1)
        assert len(report.recorded) == 1
        await stage.work()
        found = await stage.memory.recall("gateway port", scope=U1, deadline_ms=5000)
        assert [item.id for item in found.items] == [report.recorded[0].record_id]
        assert len(found.dynamic) < 10_000
        assert time.monotonic() - started < 30


# -- times -----------------------------------------------------------------------------------------------------------

TIMES: list[Any] = [
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-12:00",
    -5000,
    10**30,
    1e308,
    "NaN",
    True,
    1_785_657_600_000,
]


def test_impossible_times_are_no_times_and_poison_nothing(shell: Shell) -> None:
    messages = [
        {"role": "user", "content": f"I use tool{n} for job{n} since yesterday.", "timestamp": at}
        for n, at in enumerate(TIMES)
    ]
    done = shell("capture", "-", "--session", "s", "--json", stdin=json.dumps(messages))
    assert len(done.json["recorded"]) == len(TIMES)
    assert all(0 <= record["timestamp"] < 32_503_680_000_000 for record in done.json["recorded"])
    again = shell("capture", "-", "--session", "s", "--json", stdin=json.dumps(messages))
    assert again.json["new_messages"] == 0
    later = [{"role": "user", "content": "and one more thing", "timestamp": 1_785_657_700_000}]
    assert shell("capture", "-", "--session", "s", "--json", stdin=json.dumps(later)).json["new_messages"] == 1
    assert shell("work", "--until-idle").code == 0
    assert shell("list", "records").code == 0
    assert shell("doctor").code == 0


async def test_a_clock_that_goes_back_loses_nothing(stage: Stage) -> None:
    at = stage.clock()
    for number in range(5):
        stage.clock.advance(-90 * MINUTE)
        await stage.say(f"message {number}", "answer", scope=U1, at=at - number * 3_600_000)
        await stage.work()
    texts = [record["text"] for record in await stage.records(U1) if record["role"] == "user"]
    assert texts == [f"message {number}" for number in range(5)]
    assert (await stage.memory.doctor())["healthy"]


def test_another_time_zone_between_two_runs_changes_no_record(shell: Shell, monkeypatch) -> None:
    turn = json.dumps([{"role": "user", "content": "I prefer tea.", "timestamp": 1785657600000}])
    for zone in ("Pacific/Kiritimati", "America/New_York", "Asia/Kathmandu", "UTC"):
        monkeypatch.setenv("STENOLITH_TIMEZONE", zone)
        assert shell("capture", "-", "--session", zone, stdin=turn).code == 0
        assert shell("doctor").code == 0
    before = shell("list", "records", "--json").out
    assert shell("rebuild", "all").code == 0
    assert shell("list", "records", "--json").out == before
    assert shell("doctor").code == 0


# -- files -----------------------------------------------------------------------------------------------------------


def test_an_import_says_of_each_file_why_it_could_not_be_read(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "packed.json.gz").write_bytes(gzip.compress(b'[{"role": "user", "content": "zip"}]'))
    (tmp_path / "empty.json").write_bytes(b"")
    (tmp_path / "wide.json").write_bytes("[]".encode("utf-16"))
    (tmp_path / "latin.json").write_bytes('[{"role": "user", "content": "caf\xe9"}]'.encode("latin-1"))
    (tmp_path / "binary.json").write_bytes(bytes(range(256)) * 10)
    (tmp_path / "half.json").write_bytes(b'[{"role": "user", "content": "whole"}, {"role": "us')
    (tmp_path / "good.json").write_text('[{"role": "user", "content": "good"}]')
    wanted = {
        "folder": "this is a folder",
        "pipe": "no regular file",
        "packed.json.gz": "compressed (gzip)",
        "empty.json": "empty",
        "wide.json": "UTF-8",
        "latin.json": "UTF-8",
        "binary.json": "not",
        "half.json": "nothing behind this point can be read",
        "missing.json": "there is no such file",
    }
    for name, words in wanted.items():
        done = shell("import", tmp_path / name)
        assert done.code == 2, (name, done.err)
        assert words in done.err, (name, done.err)
        assert "line 0" not in done.err
        assert "line 1: line 1" not in done.err
        assert "Traceback" not in done.err
    report = shell("import", *(tmp_path / name for name in wanted), tmp_path / "good.json", "--json")
    assert report.code == 3
    assert report.json["recorded"] == 1
    assert {Path(error["file"]).name for error in report.json["errors"]} == set(wanted)
    packed = shell("capture", tmp_path / "packed.json.gz", "--session", "s")
    _is_clear(packed, 2, "compressed (gzip)")


def test_an_import_reads_standard_input(shell: Shell) -> None:
    lines = '{"role": "user", "content": "one"}\n{"role": "user", "content": "tw'
    done = shell("import", "-", "--session", "piped", "--json", stdin=lines)
    assert (done.code, done.json["recorded"]) == (3, 1)
    assert [error["line"] for error in done.json["errors"]] == [2]
    assert shell("list", "records", "--session", "piped", "--json").json["items"][0]["text"] == "one"


def test_an_export_that_cannot_be_written_says_where(shell: Shell, tmp_path: Path) -> None:
    shell("remember", "I prefer tea")
    _is_clear(shell("export", "--out", "/proc/stenolith.jsonl"), 1, "/proc/stenolith.jsonl cannot be written")
    (tmp_path / "there").write_text("x")
    _is_clear(shell("export", "--out", tmp_path / "there"), 2, "exists already")
    assert (tmp_path / "there").read_text() == "x"


@pytest.mark.parametrize("harm", ["torn", "deleted", "no folder", "junk", "a file in its place"])
def test_harm_to_the_daily_files_is_named_and_mended_and_costs_no_record(shell: Shell, harm: str) -> None:
    turn = '[{"role": "user", "content": "I prefer tea."}]'
    shell("capture", "-", "--session", "one", stdin=turn)
    folder = shell.home / "conversations"
    (day,) = folder.glob("*.jsonl")
    if harm == "torn":
        day.write_bytes(day.read_bytes()[:-20])
    elif harm == "junk":
        day.write_bytes(day.read_bytes() + b'\x00\x00\x00{"half": ')
    else:
        for path in folder.iterdir():
            path.unlink()
        if harm != "deleted":
            folder.rmdir()
        if harm == "a file in its place":
            folder.write_text("x")
    done = shell("doctor")
    assert done.code == 1
    assert "Traceback" not in done.err
    done = shell("capture", "-", "--session", "two", "--json", stdin=turn)
    assert done.code == 0
    if harm == "a file in its place":
        assert done.json["warnings"]
        folder.unlink()
    assert shell("doctor", "--fix").code == 0
    assert shell("doctor").code == 0
    (day,) = folder.glob("*.jsonl")
    lines = [json.loads(line) for line in day.read_text().splitlines()]
    assert [line["sessionKey"] for line in lines] == ["one", "two"]


@pytest.mark.parametrize("content", [b"garbage, no database", b"SQLite format 3\x00" + b"\x00" * 5000])
def test_a_broken_database_says_what_to_do_and_is_not_touched(shell: Shell, content: bytes) -> None:
    shell.home.mkdir(mode=0o700)
    (shell.home / "memory.db").write_bytes(content)
    done = shell("list", "atoms")
    assert done.code == 1
    assert str(shell.home / "memory.db") in done.err
    assert "Traceback" not in done.err
    assert (shell.home / "memory.db").read_bytes() == content


def test_records_come_back_when_only_the_daily_files_are_left(shell: Shell) -> None:
    shell("capture", "-", "--session", "one", stdin='[{"role": "user", "content": "I prefer tea."}]')
    for path in shell.home.glob("memory.db*"):
        path.unlink()
    assert shell("rebuild", "records", "--json").json["restored"] == 1
    assert [item["text"] for item in shell("list", "records", "--json").json["items"]] == ["I prefer tea."]


# -- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("toml", "sentence"),
    [
        (b"[recal]\ndeadline_ms = 3\n", "there is no recal; did you mean recall?"),
        (b"[recall]\ndeadline = 3\n", "did you mean recall.deadline_ms?"),
        (b'[recall]\ndeadline_ms = "soon"\n', "recall.deadline_ms"),
        (b"this is = not [toml\n", "stenolith.toml cannot be read"),
        (b"\xff\xfe", "stenolith.toml cannot be read"),
        (b'timezone = "Mars/Olympus"\n', "IANA"),
    ],
)
def test_a_misspelt_setting_is_named_with_its_file(shell: Shell, monkeypatch, toml: bytes, sentence: str) -> None:
    shell("remember", "I prefer tea")
    for name in ("STENOLITH_TIMEZONE", "STENOLITH_RECALL__DEADLINE_MS"):
        monkeypatch.delenv(name)
    (shell.home / "stenolith.toml").write_bytes(toml)
    done = shell("recall", "tea")
    _is_clear(done, 2, sentence)
    assert "stenolith.toml" in done.err


@pytest.mark.parametrize(
    ("name", "value", "code", "sentence"),
    [
        ("STENOLITH_RECALL__DEADLINE_MS", "abc", 2, "recall.deadline_ms"),
        ("STENOLITH_RECALL", "abc", 2, "STENOLITH_RECALL names a group of settings"),
        ("STENOLITH_TIMEZONE", "../../etc/passwd", 2, "IANA"),
        ("STENOLITH_EMBEDDER__KIND", "foo", 2, "embedder.kind"),
        ("STENOLITH_DATABASE", "mysql://x", 2, "postgresql://"),
        ("STENOLITH_DATABASE", "postgresql://nobody@127.0.0.1:1/none", 1, "nothing answers"),
        ("STENOLITH_RECAL__LIMIT", "3", 0, "STENOLITH_RECAL__LIMIT is no setting; did you mean recall.limit?"),
        ("STENOLITH_TIMEZON", "UTC", 0, "did you mean timezone?"),
        ("STENOLITH_TIMEZONE", "", 0, ""),
        ("STENOLITH_SOMETHING", "1", 0, ""),
    ],
)
def test_a_wrong_variable_is_named(shell: Shell, monkeypatch, name: str, value: str, code: int, sentence: str) -> None:
    shell("remember", "I prefer tea")
    monkeypatch.setenv(name, value)
    done = shell("list", "atoms", "--json")
    assert done.code == code, done.err
    assert sentence in done.err
    assert "Traceback" not in done.err


def test_an_empty_home_is_not_the_folder_one_is_in(shell: Shell, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("STENOLITH_HOME", "")
    assert shell("remember", "I prefer tea").code == 0
    assert not (tmp_path / "memory.db").exists()
    assert (tmp_path / "data" / "stenolith" / "memory.db").exists()


async def test_an_empty_home_is_refused_in_the_library(monkeypatch, tmp_path: Path) -> None:
    from stenolith.settings import load

    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="name a folder"):
        load(home="")


# -- disks, other users, other processes -----------------------------------------------------------------------------

AS_OTHERS = """
import json, os, resource, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests in the background has it ignored
from stenolith.cli.app import run
import stenolith.engine, stenolith.engine.importing, stenolith.interop, stenolith.capture.turn, stenolith.settings
import stenolith.cli.memory, stenolith.cli.reading, stenolith.cli.transfer, stenolith.cli.upkeep, stenolith.store.sqlite
import zoneinfo, rich.progress, rich.text, asyncio, sqlite3, email, lzma, bz2
home, user, room, *words = json.loads(sys.argv[1])
zoneinfo.ZoneInfo("UTC")
if room:
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
if user and os.geteuid() == 0:
    os.setgroups([]); os.setgid(user); os.setuid(user)
sys.exit(run([*words, "--home", home]))
"""
NOBODY = 65534


def _elsewhere(home: Path, *words: str, user: int = 0, room: int = 0, **more: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": SOURCE, "STENOLITH_TIMEZONE": "UTC", "STENOLITH_EMBEDDER__KIND": "none"}
    call = json.dumps([str(home), user, room, *words])
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(AS_OTHERS), call],
        env=environment,
        stdout=pipe,
        stderr=pipe,
        text=True,
        **more,
    )


def _finished(process: subprocess.Popen[str]) -> Done:
    out, err = process.communicate(timeout=60)
    return Done(process.returncode, out, err)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
@pytest.mark.parametrize("words", [["list", "atoms"], ["remember", "I like cats"]])
def test_the_home_of_somebody_else_is_refused_in_words(shell: Shell, words: list[str]) -> None:
    shell("remember", "I prefer tea")
    done = _finished(_elsewhere(shell.home, *words, user=NOBODY))
    assert done.code in {1, 2}
    assert str(shell.home) in done.err
    assert "Traceback" not in done.err
    assert shell("list", "atoms", "--json").json["items"][0]["text"] == "I prefer tea"


def _talks(path: Path, sessions: int) -> int:
    with path.open("w") as handle:
        for number in range(sessions):
            messages = [
                {
                    "role": "user",
                    "content": f"talk {number} message {n} about gateways",
                    "timestamp": 1 + number * 100 + n,
                }
                for n in range(40)
            ]
            handle.write(json.dumps({"sessionKey": f"s{number}", "messages": messages}) + "\n")
    return sessions * 40


def test_a_full_disk_stops_an_import_in_words_and_keeps_what_was_imported(shell: Shell, tmp_path: Path) -> None:
    total = _talks(tmp_path / "talks.jsonl", 60)
    done = _finished(_elsewhere(shell.home, "import", str(tmp_path / "talks.jsonl"), "--json", room=1_500_000))
    assert done.code in {1, 3}, done.err
    assert "disk" in done.err + done.out
    assert "Traceback" not in done.err
    kept = len(shell("list", "records", "--limit", 10_000, "--json").json["items"])
    assert 0 < kept < total
    again = shell("import", tmp_path / "talks.jsonl", "--json")
    assert (again.code, again.json["recorded"]) == (0, total - kept)
    assert len(shell("list", "records", "--limit", 10_000, "--json").json["items"]) == total
    assert shell("doctor", "--fix").code == 0
    assert shell("doctor").code == 0


def test_ctrl_c_in_an_import_keeps_what_was_imported_and_a_second_run_ends_it(shell: Shell, tmp_path: Path) -> None:
    total = _talks(tmp_path / "talks.jsonl", 150)
    process = _elsewhere(shell.home, "import", str(tmp_path / "talks.jsonl"))
    days, until = shell.home / "conversations", time.monotonic() + 30
    while not list(days.glob("*.jsonl")) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    done = _finished(process)
    assert (done.code, done.err) == (130, "stopped; what was finished is kept, and the command can be run again\n")
    kept = len(shell("list", "records", "--limit", 10_000, "--json").json["items"])
    assert 0 < kept < total
    assert shell("import", tmp_path / "talks.jsonl", "--json").json["recorded"] == total - kept
    assert shell("doctor", "--fix").code == 0


def test_two_imports_of_one_file_at_once_record_each_message_once(shell: Shell, tmp_path: Path) -> None:
    total = _talks(tmp_path / "talks.jsonl", 12)
    both = [_elsewhere(shell.home, "import", str(tmp_path / "talks.jsonl"), "--json") for _ in range(2)]
    reports = [_finished(process) for process in both]
    assert [report.code for report in reports] == [0, 0], [report.err for report in reports]
    assert sum(report.json["recorded"] for report in reports) == total
    texts = [item["text"] for item in shell("list", "records", "--limit", 10_000, "--json").json["items"]]
    assert len(texts) == len(set(texts)) == total
    assert shell("doctor").code == 0


async def test_an_error_does_not_repeat_a_whole_book(plain: Settings) -> None:
    book = "gateway " * 50_000
    async with Memory.open(settings=plain) as memory:
        for wrong in (
            memory.correct("x", scope=U1, query=book),
            memory.show(book, scope=U1),
            memory.scene(book, scope=U1),
            memory.remember(book, scope=U1),
        ):
            with pytest.raises(StenolithError) as caught:
                await wrong
            assert len(str(caught.value)) < 300
        assert (await memory.recall(book, scope=U1)).items == ()
        assert (await memory.list("records", scope=U1))["items"] == []


async def test_hostile_values_in_the_library_are_refused_in_words(plain: Settings) -> None:
    async with Memory.open(settings=plain) as memory:
        for wrong in (
            memory.recall("x", scope=U1, limit=0),
            memory.recall("x", scope=U1, budget=0),
            memory.recall("x", scope=U1, deadline_ms=0),
            memory.remember("I like x", scope=U1, kind="nonsense"),
            memory.remember("I like x", scope=U1, priority=-1),
            memory.remember("I like x", scope=U1, expires_at=1),
            memory.remember("", scope=U1),
            memory.list("atoms", scope=U1, limit=0),
            memory.search("nothing", "x", scope=U1),
            memory.rebuild("everything"),
            memory.capture([said("user", "x", 1)], scope=Scope()),
            memory.recall("x", scope=Scope(user="")),
        ):
            with pytest.raises(InvalidInput):
                await wrong
