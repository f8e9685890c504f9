"""Session-file repair on bytes (replay.md §3.16, T67-T75)."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenolith.interop import read_messages, repair
from stenolith.interop.session_disk import Disk

HEADER = b'{"type":"session","version":3,"id":"s1","timestamp":"2026-08-01T00:00:00.000Z","cwd":"/"}\n'
USER = b'{"type":"message","id":"a","parentId":null,"timestamp":"2026-08-01T00:00:01.000Z","message":{"role":"user","content":"hello"}}\n'
AGENT = b'{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":[{"type":"text","text":"hi"}],"stopReason":"stop","usage":{"input":0}}}\n'
BAD = b'{"type":"message","id":"x","parentId":"a","mess\n'
# Numbers that a float cannot hold, a repeated key, blanks and escapes: nothing of it may change.
EXACT = b'{"type":"message","id":"e","parentId":"b" , "n":12345678901234567890123,"f":1.10,"n":1e400,"message":{"role":"user","content":"\\u4f60 \\/ x"}}\n'


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "session.jsonl"

    def write(*lines):
        path.write_bytes(b"".join(lines))
        path.chmod(0o600)
        return path

    return write


def entry(message, **more):
    return json.dumps({"type": "message", "id": "m", "parentId": "a", **more, "message": message}).encode() + b"\n"


def user(content):
    return entry({"role": "user", "content": content})


def beside(path):
    return sorted(other.name[len(path.name) :] for other in path.parent.iterdir() if other != path)


def contents(path):
    return [json.loads(line).get("message", {}).get("content") for line in path.read_bytes().splitlines()[1:]]


def test_t67_a_bad_line_is_dropped_and_the_others_stay_byte_for_byte(session):
    path = session(HEADER, USER, BAD, EXACT, AGENT)
    report = repair(path)
    assert report.to_dict() == {
        "repaired": True, "reason": None, "dropped_lines": 1, "rewritten": {},
        "quarantine": f"{path}.rejected-lines", "backup": None,
    }  # fmt: skip
    assert path.read_bytes() == HEADER + USER + EXACT + AGENT
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert beside(path) == [".rejected-lines"]
    quarantine = Path(report.quarantine)
    assert quarantine.read_bytes() == BAD
    assert stat.S_IMODE(quarantine.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], "empty session file"),
        ([b"\n \n"], "empty session file"),
        ([b"\0" * 300], "empty session file"),
        ([b"{broken\n"], "empty session file"),
        ([USER, AGENT, BAD], "invalid session header"),
        ([b'{"type":"session","version":3}\n', USER], "invalid session header"),
        ([HEADER.replace(b"3", b"4", 1), BAD], "unsupported session version 4"),
        ([HEADER.replace(b"3", b'"x"', 1), BAD], "unsupported session version x"),
    ],
)
def test_t68_what_is_no_session_is_left_alone(session, lines, reason):
    path = session(*lines)
    before, when = path.read_bytes(), path.stat().st_mtime_ns
    report = repair(path)
    assert (report.repaired, report.reason) == (False, reason)
    assert (path.read_bytes(), path.stat().st_mtime_ns, beside(path)) == (before, when, [])


def test_t68_a_missing_file_says_so(tmp_path):
    assert repair(tmp_path / "none.jsonl").reason == "missing session file"
    assert repair(tmp_path).reason == "failed to read session file: not a regular file"


def test_t69_line_endings_alone_are_no_damage(session):
    crlf = [line.replace(b"\n", b"\r\n") for line in (HEADER, USER, AGENT)]
    path = session(*crlf)
    assert repair(path).repaired is False
    path = session(*crlf, BAD.replace(b"\n", b"\r\n"))
    assert repair(path).repaired is True
    assert path.read_bytes() == b"".join(crlf)


@pytest.mark.parametrize(
    ("content", "repaired"),
    [
        ("", "(continue)"),
        (" \n", "(continue)"),
        (None, "(continue)"),
        ([], [{"type": "text", "text": "(continue)"}]),
        ([{"type": "text", "text": " "}, {"type": "text", "text": ""}], [{"type": "text", "text": "(continue)"}]),
        ([{"type": "text", "text": " "}, {"type": "text", "text": "x"}], [{"type": "text", "text": "x"}]),
        (
            [{"type": "text"}, {"type": "image", "data": "QUJD", "mimeType": "image/png"}],
            [{"type": "image", "data": "QUJD", "mimeType": "image/png"}],
        ),
    ],
)
def test_t70_a_blank_user_asks_to_continue(session, content, repaired):
    path = session(HEADER, user(content), AGENT)
    report = repair(path)
    assert (report.repaired, report.dropped_lines, report.rewritten) == (True, 0, {"blank-user": 1})
    assert contents(path)[0] == repaired
    assert beside(path) == []


def test_t71_a_delivered_reply_at_the_end_stays(session):
    path = session(HEADER, USER, AGENT)
    before, when = path.read_bytes(), path.stat().st_mtime_ns
    assert repair(path).to_dict() == {
        "repaired": False,
        "reason": None,
        "dropped_lines": 0,
        "rewritten": {},
        "quarantine": None,
        "backup": None,
    }
    assert (path.read_bytes(), path.stat().st_mtime_ns, beside(path)) == (before, when, [])


def test_t72_values_that_are_no_entries_are_dropped_and_counted(session):
    path = session(HEADER, b"[1,2]\n", USER, b"null\n", b"42\n", b'"x"\n')
    report = repair(path)
    assert (report.repaired, report.dropped_lines) == (True, 4)
    assert path.read_bytes() == HEADER + USER
    assert Path(report.quarantine).read_bytes() == b'[1,2]\nnull\n42\n"x"\n'


@pytest.mark.parametrize(
    "message", [{"role": None}, {"role": ""}, {"role": " "}, {"role": 5}, {"content": "x"}, None, "text", []]
)
def test_t73_a_message_without_a_role_is_dropped(session, message):
    path = session(HEADER, USER, entry(message), AGENT)
    report = repair(path)
    assert (report.repaired, report.dropped_lines) == (True, 1)
    assert path.read_bytes() == HEADER + USER + AGENT


# ---- T74: the disk fails ----
class Failing(Disk):
    """A disk that fails in one of its operations."""

    def __init__(self, operation):
        self.operation = operation

    def _fail(self, operation):
        if operation == self.operation:
            raise PermissionError(13, "Permission denied")

    def copy(self, source, target, like):
        self._fail("copy")
        super().copy(source, target, like)

    def sync(self, stream):
        self._fail("sync")
        super().sync(stream)

    def replace(self, source, target):
        self._fail("replace")
        super().replace(source, target)

    def remove(self, path):
        self._fail("remove")
        super().remove(path)


@pytest.mark.parametrize("operation", ["copy", "sync", "replace"])
def test_t74_regression_issue_127222_when_it_cannot_be_replaced_the_original_stays_and_nothing_is_left(
    session, operation
):
    path = session(HEADER, USER, BAD)
    report = repair(path, disk=Failing(operation))
    assert (report.repaired, report.reason, report.dropped_lines) == (False, "repair failed: Permission denied", 1)
    assert path.read_bytes() == HEADER + USER + BAD
    assert beside(path) == []
    assert report.backup is None


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_t67_the_mode_is_kept_whatever_the_umask(session, mode):
    path = session(HEADER, USER, BAD)
    path.chmod(mode)
    before = os.umask(0o077)
    try:
        assert repair(path).repaired
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode


class Diary(Disk):
    """A disk that notes what is made durable, and when the new file takes the old one's place."""

    def __init__(self):
        self.pages = []
        self.names = {}

    def create(self, path, like):
        stream = super().create(path, like)
        self.names[stream.fileno()] = path.suffix.split("-")[0]
        return stream

    def sync(self, stream):
        super().sync(stream)
        self.pages.append(f"sync {self.names.get(stream.fileno(), 'quarantine')}")

    def replace(self, source, target):
        super().replace(source, target)
        self.pages.append("replace")

    def settle(self, folder):
        super().settle(folder)
        self.pages.append("settle")

    def remove(self, path):
        super().remove(path)
        self.pages.append("remove backup")


def test_t74_everything_is_durable_before_it_is_relied_on(session):
    disk = Diary()
    assert repair(session(HEADER, USER, BAD), disk=disk).repaired
    assert disk.pages == ["sync .bak", "sync .rejected", "sync .tmp", "replace", "settle", "remove backup"]


def test_t74_a_quarantine_from_before_is_as_it_was(session):
    path = session(HEADER, USER, BAD)
    quarantine = path.with_name(f"{path.name}.rejected-lines")
    quarantine.write_bytes(b"old\n")
    repair(path, disk=Failing("replace"))
    assert quarantine.read_bytes() == b"old\n"
    repair(path)
    assert quarantine.read_bytes() == b"old\n" + BAD


def test_t74_a_backup_that_cannot_be_removed_is_reported(session):
    path = session(HEADER, USER, BAD)
    report = repair(path, disk=Failing("remove"))
    assert (report.repaired, report.reason) == (True, None)
    assert path.read_bytes() == HEADER + USER
    assert Path(report.backup).read_bytes() == HEADER + USER + BAD
    assert Path(report.backup).name.startswith(f"{path.name}.bak-{os.getpid()}-")
    assert stat.S_IMODE(Path(report.backup).stat().st_mode) == 0o600


@contextlib.contextmanager
def somebody():
    """Act as a user without rights: root may write into read-only folders."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.name != "posix", reason="folders have modes on POSIX")
def test_t74_a_read_only_folder():
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "session.jsonl"
        path.write_bytes(HEADER + USER + BAD)
        path.chmod(0o644)
        path.parent.chmod(0o555)
        with somebody():
            report = repair(path)
        path.parent.chmod(0o755)
        assert (report.repaired, report.reason) == (False, "repair failed: Permission denied")
        assert path.read_bytes() == HEADER + USER + BAD
        assert beside(path) == []


def test_t75_the_second_run_finds_nothing(session):
    path = session(b"\xef\xbb\xbf", HEADER, user(""), BAD, b"\xff{}\n", USER[:-1] + AGENT, b"\0" * 5000)
    assert repair(path).repaired is True
    once = path.read_bytes()
    assert repair(path).to_dict() == {
        "repaired": False,
        "reason": None,
        "dropped_lines": 0,
        "rewritten": {},
        "quarantine": None,
        "backup": None,
    }
    assert path.read_bytes() == once


# ---- damage of bytes ----
@pytest.mark.parametrize(
    ("lines", "after", "dropped", "rewritten"),
    [
        ([b"\xef\xbb\xbf", HEADER, USER], HEADER + USER, 0, {"bom": 1}),
        ([HEADER, USER, b"\0" * 284], HEADER + USER, 0, {"nul": 1}),
        ([HEADER, USER[:-1], b"\0" * 70_000], HEADER + USER[:-1], 0, {"nul": 1}),
        ([HEADER, USER, b"\0" * 9 + AGENT], HEADER + USER + AGENT, 0, {"nul": 1}),
        ([HEADER, USER, b"\0\0\n", AGENT], HEADER + USER + AGENT, 0, {"nul": 1}),
        ([HEADER, USER[:-1] + AGENT], HEADER + USER + AGENT, 0, {"glued": 1}),
        ([HEADER, USER[:-1] + b" \0" + EXACT], HEADER + USER + EXACT, 0, {"glued": 1, "nul": 1}),
        ([HEADER[:-1] + USER[:-1] + BAD, AGENT], HEADER + USER + AGENT, 1, {"glued": 1}),
        ([HEADER, USER, AGENT[:40]], HEADER + USER, 1, {}),
        ([HEADER, USER, b"\n", b"  \n", AGENT], None, 0, {}),
        ([HEADER, USER[:-1]], None, 0, {}),
        ([HEADER, EXACT, b'{"type":"custom","data":' + b"[" * 5000 + b"]" * 5000 + b"}\n"], None, 0, {}),
        ([HEADER, EXACT.replace(b"1e400", b"9" * 5000)], None, 0, {}),
        ([HEADER, EXACT.replace(b"1e400", b"NaN")], HEADER, 1, {}),
    ],
)  # fmt: skip
def test_damage_of_bytes(session, lines, after, dropped, rewritten):
    path = session(*lines)
    report = repair(path)
    assert (report.dropped_lines, report.rewritten, report.repaired) == (dropped, rewritten, after is not None)
    assert path.read_bytes() == (after if after is not None else b"".join(lines))


def test_bytes_that_are_not_utf8_cost_one_character_and_the_original_is_set_aside(session):
    line = USER.replace(b"hello", b"caf\xe9 ok")
    path = session(HEADER, line)
    report = repair(path)
    assert (report.dropped_lines, report.rewritten) == (0, {"utf-8": 1})
    assert contents(path) == ["caf\ufffd ok"]
    assert Path(report.quarantine).read_bytes() == line


def test_control_characters_in_a_text_are_escaped(session):
    path = session(HEADER, USER.replace(b"hello", b"a\tb"))
    assert repair(path).rewritten == {"control-characters": 1}
    assert contents(path) == ["a\tb"]


def test_a_truncated_last_line_is_set_aside(session):
    path = session(HEADER, USER, AGENT[:100])
    report = repair(path)
    assert Path(report.quarantine).read_bytes() == AGENT[:100] + b"\n"


# ---- entries ----
@pytest.mark.parametrize(
    ("message", "content"),
    [
        ({"role": "assistant", "content": [], "stopReason": "error"}, [{"type": "text", "text": "[assistant turn failed before producing content]"}]),
        ({"role": "assistant", "content": [], "stopReason": "stop", "usage": {"input": 0}}, None),
        ({"role": "assistant", "content": [], "stopReason": "length"}, None),
        ({"role": "user", "content": [{"type": "image", "data": "@@@", "mimeType": "image/png"}, {"type": "text", "text": "x"}]},
         [{"type": "text", "text": "[image omitted: corrupted base64 payload]"}, {"type": "text", "text": "x"}]),
        ({"role": "toolResult", "toolCallId": "c", "content": [{"type": "image", "data": "图", "mimeType": "image/png"}]},
         [{"type": "text", "text": "[image omitted: corrupted base64 payload]"}]),
        ({"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "AAAAA"}}]},
         [{"type": "text", "text": "[image omitted: corrupted base64 payload]"}]),
        ({"role": "user", "content": [{"type": "image", "data": "data:image/png;base64,QUJD", "mimeType": "image/png"}]}, None),
        ({"role": "user", "content": [{"type": "image", "data": "QU-_\nQQ==", "mimeType": "image/png"}]}, None),
    ],
)  # fmt: skip
def test_what_providers_refuse_is_mended_on_disk(session, message, content):
    path = session(HEADER, USER, entry(message))
    report = repair(path)
    assert report.repaired is (content is not None)
    assert contents(path)[1] == (message["content"] if content is None else content)


def test_a_mended_line_keeps_all_its_other_characters(session):
    line = b'{ "type":"message","id":"e","n":12345678901234567890123,"n":1.10,"message":{"x":1e400,"content":[ {"type":"text","text":" "},{"b":2 ,"b":1.50}] ,"role":"user"}}\n'
    path = session(HEADER, line)
    repair(path)
    assert path.read_bytes() == HEADER + line.replace(
        b'[ {"type":"text","text":" "},{"b":2 ,"b":1.50}]', b'[{"b":2 ,"b":1.50}]'
    )


def call(name, api="openai-chatgpt-responses", entry_id="c", **more):
    message = {
        "role": "assistant",
        "provider": "openai",
        "api": api,
        "content": [{"type": "toolCall", "id": "call_1", "name": name, "arguments": {}}],
        "stopReason": "toolUse",
        "timestamp": 5,
        **more,
    }
    return entry(message, id=entry_id, parentId="a", timestamp="2026-08-01T00:00:02.000Z")


MIRROR = {
    "role": "assistant",
    "provider": "openclaw",
    "model": "delivery-mirror",
    "content": [{"type": "text", "text": "sent"}],
}
RESULT = {"role": "toolResult", "toolCallId": "call_1", "content": [{"type": "text", "text": "ok"}]}


def test_a_lost_result_is_written_on_the_living_branch(session):
    path = session(
        HEADER,
        USER,
        call("exec"),
        entry({"role": "user", "content": "next"}, id="d", parentId="c"),
        entry({"role": "user", "content": "more"}, id="e", parentId="d"),
    )
    report = repair(path)
    assert report.rewritten == {"aborted-result": 1}
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert lines[3]["parentId"] == "c"
    assert lines[3]["id"].startswith("repair-")
    assert lines[3]["message"] == {
        "role": "toolResult",
        "toolCallId": "call_1",
        "toolName": "exec",
        "isError": True,
        "content": [{"type": "text", "text": "aborted"}],
        "details": {"openclawSyntheticMissingToolResult": True},
        "timestamp": 5,
    }
    assert [line["parentId"] for line in lines[4:]] == [lines[3]["id"], "d"]
    assert [message.text() or message.role.value for message in read_messages(path.read_bytes()).messages] == [
        "hello",
        "assistant",
        "tool",
        "next",
        "more",
    ]
    assert repair(path).repaired is False


@pytest.mark.parametrize(
    ("lines", "inserted"),
    [
        ([call("message", api="anthropic-messages"), entry(MIRROR, id="d", parentId="c"), user("x")], 1),
        ([call("exec", api="anthropic-messages"), entry(MIRROR, id="d", parentId="c"), user("x")], 0),
        ([call("message", api="anthropic-messages"), user("y"), entry(MIRROR, id="d", parentId="c"), user("x")], 0),
        ([call("exec"), entry(RESULT, id="d", parentId="c"), user("x")], 0),
        ([call("exec"), user("y"), entry(RESULT, id="d", parentId="c"), user("x")], 0),
        ([call("exec")], 0),
        ([call("exec", stopReason="aborted"), user("x")], 0),
        ([call("exec", api="openai-responses"), user("x")], 0),
        ([call("exec"), user("x"), call("exec", entry_id="f"), entry(RESULT, id="g", parentId="f"), user("z")], 1),
    ],
)
def test_only_lost_results_that_a_host_needs_are_written(session, lines, inserted):
    path = session(HEADER, USER, *lines)
    assert repair(path).rewritten.get("aborted-result", 0) == inserted


# ---- around the file ----
def test_a_dry_run_counts_and_writes_nothing(session):
    path = session(HEADER, user(""), BAD)
    before, when = path.read_bytes(), path.stat().st_mtime_ns
    report = repair(path, dry_run=True)
    assert (report.repaired, report.reason, report.dropped_lines, report.rewritten) == (
        False,
        "dry run",
        1,
        {"blank-user": 1},
    )
    assert (path.read_bytes(), path.stat().st_mtime_ns, beside(path)) == (before, when, [])


def test_a_link_is_followed_inside_its_folder_and_stays_a_link(session, tmp_path):
    path = session(HEADER, USER, BAD)
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    assert repair(link).repaired is True
    assert link.is_symlink()
    assert path.read_bytes() == HEADER + USER


def test_links_that_lead_to_each_other_are_refused_in_words(tmp_path):
    (tmp_path / "a.jsonl").symlink_to("b.jsonl")
    (tmp_path / "b.jsonl").symlink_to("a.jsonl")
    report = repair(tmp_path / "a.jsonl")
    assert report.reason.startswith("failed to read session file: ")  # its words depend on the Python


def test_a_reason_quotes_no_more_than_a_line(session):
    path = session(HEADER.replace(b'"version":3', b'"version":' + b"9" * 5000), USER)
    assert len(repair(path).reason) < 100


def test_a_sound_file_is_read_once_until_it_is_written(session):
    path = session(HEADER, *[USER] * 20_000)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    first, second = (_seconds(lambda: repair(path)) for _ in range(2))
    assert second < first / 10
    with path.open("ab") as stream:
        stream.write(BAD)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    assert repair(path).dropped_lines == 1


def _seconds(work):
    start = time.process_time()
    assert work().reason is None
    return time.process_time() - start


def test_a_link_out_of_the_store_is_refused(session, tmp_path):
    path = session(HEADER, USER, BAD)
    store = tmp_path / "store"
    store.mkdir()
    link = store / "link.jsonl"
    link.symlink_to(path)
    assert "link out of its folder" in repair(link).reason
    assert path.read_bytes() == HEADER + USER + BAD
    assert repair(link, root=tmp_path).repaired is True


class Appending(Disk):
    """A disk on which somebody else appends to the file, at one moment of the first so many repairs."""

    def __init__(self, path, moment, times):
        self.path, self.moment, self.times = path, moment, times

    def _append(self, moment):
        if moment == self.moment and self.times:
            self.times -= 1
            with self.path.open("ab") as stream:
                stream.write(AGENT)

    def copy(self, source, target, like):
        super().copy(source, target, like)
        self._append("copy")

    def replace(self, source, target):
        self._append("replace")
        super().replace(source, target)


@pytest.mark.parametrize("moment", ["copy", "replace"])
def test_what_is_appended_meanwhile_is_not_lost(session, moment):
    path = session(HEADER, BAD, USER)
    report = repair(path, disk=Appending(path, moment, 1))
    assert report.repaired is True
    assert path.read_bytes() == HEADER + USER + AGENT
    assert beside(path) == [".rejected-lines"]
    assert Path(report.quarantine).read_bytes() == BAD


def test_a_file_that_never_rests_is_left_alone(session):
    path = session(HEADER, BAD, USER)
    report = repair(path, disk=Appending(path, "copy", 99))
    assert (report.repaired, report.reason) == (False, "repair failed: the file is being written")
    assert path.read_bytes() == HEADER + BAD + USER + AGENT * 3
    assert beside(path) == []


@pytest.mark.parametrize(
    ("body", "repaired"),
    [
        (json.dumps({"pid": os.getpid()}), False),
        (json.dumps({"pid": 2**22 + 5}), True),
        ("not json", False),
    ],
    ids=["alive", "dead", "unreadable"],
)
def test_a_lock_of_a_living_process_is_respected(session, body, repaired):
    path = session(HEADER, USER, BAD)
    lock = path.with_name(f"{path.name}.lock")
    lock.write_text(body)
    report = repair(path)
    assert report.repaired is repaired
    assert lock.exists() is not repaired
    if not repaired:
        assert report.reason == "repair failed: another process is writing the file"
        os.utime(lock, (0, 0))
        assert repair(path).repaired is (body != "not json")


def test_regression_issue_119887_nul_bytes_behind_sound_records_are_dropped(session):
    sound = [HEADER, *[USER, AGENT] * 3][:7]
    path = session(*sound, b"\0" * 284)
    assert repair(path).repaired is True
    assert path.read_bytes() == b"".join(sound)
    assert repair(path).repaired is False


def test_regression_issue_80960_at_most_three_backups_are_left(session):
    path = session(HEADER, USER, BAD)
    for stamp in (11, 7, 9, 10):
        path.with_name(f"{path.name}.bak-1-{stamp}").write_bytes(b"")
    path.with_name(f"{path.name}.bak-mine").write_bytes(b"")
    assert repair(path).repaired is True
    assert beside(path) == [".bak-1-10", ".bak-1-11", ".bak-1-9", ".bak-mine", ".rejected-lines"]


def test_what_the_quarantine_cannot_hold_stays_in_the_backup(session):
    path = session(HEADER, USER, b"{" + b"x" * (17 << 20) + b"\n", BAD)
    report = repair(path)
    assert report.repaired is True
    assert Path(report.quarantine).read_bytes() == BAD
    assert Path(report.backup).stat().st_size > 17 << 20


def test_memory_holds_a_line_not_the_file(session):
    text = b"x" * 20_000
    path = session(HEADER, BAD)
    with path.open("ab") as stream:
        for number in range(2500):
            stream.write(USER.replace(b'"a"', b'"%d"' % number).replace(b"hello", text))
    assert path.stat().st_size > 50_000_000
    tracemalloc.start()
    try:
        report = repair(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (report.repaired, report.dropped_lines) == (True, 1)
    assert peak < 5_000_000


damage = st.sampled_from([
    USER, AGENT, EXACT, BAD, user(""), user([]), b"\n", b"\0\0\n", b"null\n", USER[:-1], b"\xff\n", b"}{\n", b"[1]\n", entry({"role": ""}),
    call("exec"), entry(RESULT), entry(MIRROR), AGENT.replace(b"\n", b"\r\n"), USER.replace(b"hello", b"\xe9"), USER.replace(b"hello", b"\x01"),
])  # fmt: skip


@given(st.lists(damage, max_size=8), st.booleans(), st.integers(0, 3))
def test_a_repaired_file_is_sound_and_keeps_every_sound_line(tmp_path_factory, lines, bom, nuls):
    path = tmp_path_factory.mktemp("s") / "s.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" * bom + HEADER + b"".join(lines) + b"\0" * nuls)
    before = path.read_bytes()
    report = repair(path)
    after = path.read_bytes()
    assert report.repaired is (after != before)
    for line in after.splitlines():
        assert not line.strip() or isinstance(json.loads(line, parse_constant=str), dict)
    sound = {AGENT, EXACT} & set(before.splitlines(keepends=True))
    assert sound <= {line.replace(b"\r\n", b"\n") for line in after.splitlines(keepends=True)} | {
        after.splitlines(keepends=True)[-1] + b"\n"
    }
    assert repair(path).repaired is False
    assert path.read_bytes() == after
