"""replay, lint, repair and display at the door: whatever is handed in, a sentence, an exit code, nothing half written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shell import Done, Shell

APIS = {
    "anthropic": "anthropic-messages",
    "openai": "openai-responses",
    "google": "google-generative-ai",
    "amazon-bedrock": "bedrock-converse",
    "mistral": "mistral-conversations",
    "groq": "openai-chat",
}
SAID = '{"role": "user", "content": "look it up"}'
CALL = json.dumps({
    "role": "assistant", "content": "I look.",
    "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}}],
})  # fmt: skip
HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/"}'
DEEP = "[" * 100_000 + "]" * 100_000
UNREADABLE = {
    "empty": b"",
    "blanks": b" \n\n",
    "NUL": b"\x00" * 4000,
    "binary": bytes(range(256)) * 20,
    "UTF-16": '{"role": "user"}'.encode("utf-16"),
    "latin": '{"role": "user", "content": "café"}'.encode("latin-1"),
    "deep": DEEP.encode(),
    "deep line": f'{{"role": "user", "content": {DEEP}}}\n'.encode(),
    "big number": b'{"role": "user", "content": "x", "n": ' + b"9" * 5000 + b"}",
    "NaN": b'[{"role": "user", "content": "x", "timestamp": NaN}]',
    "a number": b"42",
    "a text": b'"hello"',
    "null": b"null",
    "no messages": b"{}",
    "no role": b'[{"content": "x"}]',
}


def is_refused(done: Done, code: int = 2) -> None:
    assert done.code == code, done.err
    assert done.err.startswith("stenolith: ")
    assert "Traceback" not in done.err
    assert "Error" not in done.err
    assert "Problem(" not in done.err
    assert len(done.err) < 400


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize("command", [["replay", "--provider", "anthropic"], ["display"]])
def test_what_holds_no_message_is_refused_in_words(shell: Shell, tmp_path: Path, command: list[str], kind: str) -> None:
    file = tmp_path / "f.jsonl"
    file.write_bytes(UNREADABLE[kind])
    done = shell(command[0], file, *command[1:])
    is_refused(done)
    assert done.out == ""
    assert file.read_bytes() == UNREADABLE[kind]


@pytest.mark.parametrize("kind", [kind for kind in UNREADABLE if kind not in {"no messages", "no role"}])
def test_what_is_no_payload_is_refused_in_words(shell: Shell, kind: str) -> None:
    done = shell("lint", "-", "--api", "openai-chat", stdin=UNREADABLE[kind])
    is_refused(done)
    assert done.out == ""


@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_is_no_session_is_not_repaired(shell: Shell, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "f.jsonl"
    file.write_bytes(UNREADABLE[kind])
    done = shell("repair", file, "--json")
    is_refused(done)
    assert done.json["reason"] in {"empty session file", "invalid session header"}
    assert [other.name for other in tmp_path.iterdir() if other.is_file()] == ["f.jsonl"]
    assert file.read_bytes() == UNREADABLE[kind]


@pytest.mark.parametrize(
    "command", [["replay", "--provider", "x"], ["lint", "--api", "openai-chat"], ["display"], ["repair"]]
)
def test_what_cannot_be_opened_is_named(shell: Shell, tmp_path: Path, command: list[str]) -> None:
    loop, other = tmp_path / "loop", tmp_path / "pool"
    loop.symlink_to(other)
    other.symlink_to(loop)
    for path in (tmp_path, tmp_path / "missing", loop):
        done = shell(command[0], path, *command[1:])
        is_refused(done)
        assert str(path.name) in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--limits", "image_max_count=²"], "write KEY=NUMBER"),
        (["--limits", "image_max_count=0"], "write KEY=NUMBER"),
        (["--limits", "image_max_count=" + "9" * 5000], "write KEY=NUMBER"),
        (["--limits", "sides=5"], "image_max_dimension"),
        (["--history", "-1"], "history counts user turns"),
        (["--continuation", "stop"], "continuation"),
        (["--api", "telegraph"], "unknown api"),
        (["--refused", "429 too many requests", "--status", "429"], "another payload would not help"),
        (["--refused", "text field in the ContentBlock object at messages.1 is blank"], "W-BED-2"),
    ],
)
def test_a_wish_that_nobody_can_fulfil_is_refused(shell: Shell, words: list[str], said: str) -> None:
    done = shell("replay", "-", "--provider", "anthropic", *words, stdin=SAID)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("tools", [DEEP, "42", '[{"no": "name"}]', "[5]", "", '{"tools": 5}'])
def test_tools_that_cannot_be_read_are_refused(shell: Shell, tmp_path: Path, tools: str) -> None:
    (tmp_path / "tools.json").write_text(tools)
    is_refused(shell("replay", "-", "--provider", "anthropic", "--tools", tmp_path / "tools.json", stdin=SAID))


def test_more_than_a_command_reads_is_refused_and_not_cut(shell: Shell, tmp_path: Path, monkeypatch) -> None:
    large = tmp_path / "large.jsonl"
    with large.open("wb") as stream:
        stream.truncate(1 << 30)
    is_refused(shell("replay", large, "--provider", "anthropic"))


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize(
    "words", [["replay", "-", "--provider", "x"], ["display", "-"], ["lint", "-", "--api", "openai-chat"]]
)
def test_a_closed_standard_input_or_output_is_named(tmp_path: Path, words: list[str], buffered: bool) -> None:
    """Also when what is left in a buffer cannot be written at the very end."""
    source = Path(__file__).parents[2] / "src"
    environment = {**os.environ, "PYTHONPATH": str(source), "STENOLITH_HOME": str(tmp_path)}
    environment["PYTHONUNBUFFERED"] = "" if buffered else "1"
    for shut, said in (("<&-", "standard input is closed"), (">/dev/full", "No space left on device")):
        line = f'echo \'[{SAID}]\' | {{ "$0" -m stenolith "$@" {shut}; }}'
        done = subprocess.run(
            ["bash", "-c", line, sys.executable, *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in {1, 2}
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_a_provider_must_be_named(shell: Shell) -> None:
    for name in ("", " "):
        is_refused(shell("replay", "-", "--provider", name, stdin=SAID))


# ---- what a crash leaves ----
@pytest.mark.parametrize("provider", APIS)
@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"{SAID}\n{CALL}\n", ""),
        (f"{SAID}\n{CALL[:-30]}", CALL[:-30]),
        (f"[{SAID}, {CALL[:-30]}", CALL[:-30]),
        (f'{{"messages": [{SAID}, {CALL[:-30]}', CALL[:-30]),
    ],
    ids=["no result", "half a line", "half an array", "half an object"],
)
def test_a_file_whose_last_call_was_cut_off_gives_a_clean_payload(
    shell: Shell, tmp_path: Path, provider: str, text: str, left: str
) -> None:
    file = tmp_path / "session.jsonl"
    file.write_text(text)
    done = shell("replay", file, "--provider", provider, "--api", APIS[provider])
    assert done.code == 0, done.err
    assert done.json["violations"] == []
    assert "look it up" in json.dumps(done.json["payload"])
    assert left in "\n".join(line["detail"] for line in done.json["report"])
    assert file.read_text() == text
    payload = tmp_path / "payload.json"
    payload.write_text(done.out)
    assert shell("lint", payload, "--api", APIS[provider], "--json").json == {"violations": []}


def test_what_could_not_be_read_leads_the_report(shell: Shell) -> None:
    done = shell("replay", "-", "--provider", "openai", stdin=f'{SAID}\n{{"role": "tool", "content": "fo\n{SAID}')
    assert done.json["report"][0] == {
        "rule": "reading",
        "index": -1,
        "action": "left out",
        "detail": 'line 2: not JSON: unterminated string starting at (character 29)\n{"role": "tool", "content": "fo',
    }
    assert "standard input, line 2: not JSON" in done.err or "-, line 2: not JSON" in done.err


# ---- wishes ----
TALK = "\n".join(json.dumps({"role": role, "content": text}) for role, text in [
    ("user", "one"), ("assistant", "1"), ("user", "two"), ("assistant", "2"),
])  # fmt: skip


def test_a_history_limit_keeps_the_last_turns_and_reports_the_others(shell: Shell) -> None:
    done = shell("replay", "-", "--provider", "groq", "--history", "1", stdin=TALK).json
    assert [message["content"] for message in done["payload"]["messages"]] == ["two"]
    assert {"one", "1", "2"} <= {line["detail"] for line in done["report"]}


def test_a_continuation_keeps_the_last_words(shell: Shell) -> None:
    done = shell("replay", "-", "--provider", "groq", "--continuation", "continue", stdin=TALK).json
    assert [message["content"] for message in done["payload"]["messages"]][-2:] == ["2", "(continue)"]
    again = shell("replay", "-", "--provider", "groq", "--messages", "--continuation", "continue", stdin=TALK).json
    twice = shell(
        "replay",
        "-",
        "--provider",
        "groq",
        "--messages",
        "--continuation",
        "continue",
        stdin=json.dumps(again["messages"]),
    )
    assert twice.json["messages"] == again["messages"]
    assert twice.json["report"] == []


THINKING = json.dumps([
    {"role": "user", "content": "q"},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "secret", "signature": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo="}, {"type": "text", "text": "a"},
    ]},
    {"role": "user", "content": "z"},
])  # fmt: skip


def test_a_refusal_gives_the_one_retry(shell: Shell) -> None:
    words = ("replay", "-", "--provider", "anthropic", "--model", "claude-opus-4-6")
    first = shell(*words, stdin=THINKING).json
    assert "secret" in json.dumps(first["payload"])
    assert "retry" not in first["hints"]
    refusal = "messages.1.content.0: Invalid `signature` in `thinking` block"
    second = shell(*words, "--refused", refusal, "--status", "400", stdin=THINKING).json
    assert second["hints"]["retry"] == "drop_thinking"
    assert "secret" not in json.dumps(second["payload"])
    assert "secret" in {line["detail"] for line in second["report"]}


def test_another_accounts_encrypted_reasoning_is_left_out(shell: Shell) -> None:
    item = json.dumps({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "QUJD"})
    parts = [{"type": "thinking", "text": "", "signature": item}, {"type": "text", "text": "a"}]
    stored = json.dumps(
        [
            {"role": "user", "parts": ["q"]},
            {"role": "assistant", "parts": parts, "extra": {"account": "mine"}},
            {"role": "user", "parts": ["z"]},
        ]
    )
    for account, sent in (("mine", True), ("", True), ("yours", False)):
        done = shell("replay", "-", "--provider", "openai", "--account", account, stdin=stored)
        assert ("QUJD" in json.dumps(done.json["payload"])) is sent


def test_what_is_shown_can_be_cut(shell: Shell) -> None:
    shown = shell("display", "-", "--max-chars", "5", "--json", stdin=SAID).json["messages"]
    assert shown[0]["parts"] == [{"type": "text", "text": "look…"}]
    is_refused(shell("display", "-", "--max-chars", "0", stdin=SAID))


@pytest.mark.parametrize(("provider", "key"), [("openai", "input"), ("google", "contents"), ("anthropic", "messages")])
def test_a_bare_array_is_linted_as_what_its_wire_calls_it(shell: Shell, provider: str, key: str) -> None:
    payload = shell("replay", "-", "--provider", provider, stdin=SAID).json["payload"]
    assert shell("lint", "-", "--api", APIS[provider], "--json", stdin=json.dumps(payload[key])).json == {
        "violations": []
    }


def test_the_sentence_about_another_session_is_the_users(shell: Shell) -> None:
    (shell.home / "stenolith.toml").write_text('[replay]\nmarker_sentence = "以下内容来自另一个会话。"\n', "utf-8")
    sender = {"kind": "inter_session", "session": "agent:a", "channel": "", "tool": ""}
    stored = json.dumps([{"role": "user", "parts": ["do it"], "provenance": sender}])
    done = shell("replay", "-", "--provider", "groq", stdin=stored).json
    assert done["payload"]["messages"][0]["content"] == (
        "[Inter-session message] sourceSession=agent:a isUser=false\n以下内容来自另一个会话。\ndo it"
    )


# ---- repair ----
def session(folder: Path) -> Path:
    file = folder / "s.jsonl"
    blank = {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "  "}}
    file.write_text(f"{HEADER}\n{json.dumps(blank)}\nbroken{{\n")
    return file


def test_a_repair_says_what_it_did_and_finds_nothing_the_second_time(shell: Shell, tmp_path: Path) -> None:
    file = session(tmp_path)
    planned = shell("repair", file, "--dry-run", "--json")
    assert (planned.code, planned.json["repaired"], planned.json["dropped_lines"]) == (0, False, 1)
    done = shell("repair", file, "--json")
    assert (done.code, done.json["repaired"], done.json["rewritten"]) == (0, True, {"blank-user": 1})
    assert Path(done.json["quarantine"]).read_text() == "broken{\n"
    assert shell("repair", file, "--json").json["repaired"] is False


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs a file system of its own")
def test_a_full_disk_leaves_the_session_as_it_was(shell: Shell, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, check=False
    ).returncode:
        pytest.skip("no right to mount")
    try:
        file = session(disk)
        with file.open("a") as stream:
            stream.write("x" * 36_000 + "\n")
        before = file.read_bytes()
        done = shell("repair", file, "--json")
        is_refused(done, 1)
        assert done.json["reason"] == "repair failed: No space left on device"
        assert file.read_bytes() == before
        assert [other.name for other in disk.iterdir()] == ["s.jsonl"]
    finally:
        subprocess.run(["umount", disk], check=True)
