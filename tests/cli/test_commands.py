"""The command line keeps to its contract: JSON to the letter, exit codes, plain words."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stenolith.cli.app import COMMANDS

CONSTRAINT = "旧的鉴权模块先不要重构，移动端还在使用它。"
TURN = json.dumps(
    [
        {"role": "user", "content": CONSTRAINT, "timestamp": 1785657600000},
        {"role": "assistant", "content": "明白，本次只新增v3接口。", "timestamp": 1785657601000},
    ]
)


def _learned(shell):
    shell("capture", "-", "--session", "s1", stdin=TURN)
    assert shell("work", "--until-idle", "--json").code == 0
    return shell("list", "atoms", "--json").json["items"][0]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(shell, command: str) -> None:
    done = shell(command, "--help")
    assert done.code == 0
    inner = ["jobs"] if command == "jobs" else []
    text = shell("jobs", "list", "--help").out if inner else done.out
    assert "Example" in text
    assert "--json" in text


def test_the_list_of_commands_says_what_each_does(shell) -> None:
    text = shell("--help").out
    for name, (_, summary) in COMMANDS.items():
        assert name in text
        assert summary[:40] in text


def test_capture_reports_what_was_recorded_and_why_not(shell) -> None:
    first = shell("capture", "-", "--session", "s1", "--json", stdin=TURN).json
    assert first["recorded"][0].keys() == {"id", "message_id", "role", "text", "timestamp"}
    assert [record["text"] for record in first["recorded"]] == [CONSTRAINT, "明白，本次只新增v3接口。"]
    assert (first["new_messages"], first["aligned_by"], first["skipped"]) == (2, "first", [])
    again = shell("capture", "-", "--session", "s1", "--json", stdin=TURN).json
    assert (again["recorded"], again["new_messages"], again["aligned_by"]) == ([], 0, "content")
    assert {item["reason"] for item in again["skipped"]} == {"already stored"}


def test_the_daily_file_has_exactly_the_keys_of_the_seed(shell) -> None:
    shell("capture", "-", "--session", "s1", stdin=TURN)
    (file,) = (shell.home / "conversations").glob("*.jsonl")
    line = json.loads(file.read_text("utf-8").splitlines()[0])
    assert list(line) == [
        "sessionKey",
        "sessionId",
        "teamId",
        "userId",
        "agentId",
        "recordedAt",
        "id",
        "role",
        "content",
        "timestamp",
    ]
    assert (line["sessionKey"], line["content"], line["timestamp"]) == ("s1", CONSTRAINT, 1785657600000)


def test_show_walks_from_an_atom_to_the_words(shell) -> None:
    atom = _learned(shell)
    assert atom["kind"] == "constraint"
    tree = shell("show", atom["id"], "--json").json
    assert [child["text"] for child in tree["children"]] == [CONSTRAINT]
    assert tree["children"][0]["timestamp"] == 1785657600000
    assert CONSTRAINT in shell("show", atom["scene"]).out


def test_recall_gives_context_items_and_report(shell) -> None:
    _learned(shell)
    found = shell("recall", "这次能不能顺便重构鉴权", "--json").json
    assert found.keys() == {"stable", "dynamic", "items", "report"}
    assert found["report"].keys() == {"arms", "degraded", "dropped"}
    assert found["report"]["arms"][0].keys() == {"name", "status", "ms", "hits", "reason"}
    keys = {"id", "layer", "kind", "text", "score", "sources", "occurred", "status"}
    assert keys <= found["items"][0].keys()
    assert found["items"][0]["text"] == CONSTRAINT
    assert CONSTRAINT in found["dynamic"]
    nothing = shell("recall", "quantum chromodynamics lattice", "--json").json
    assert (nothing["items"], nothing["report"]["degraded"]) == ([], [])


def test_remember_twice_is_one_atom_and_forgetting_leaves_no_word(shell) -> None:
    one = shell("remember", "Locker code is on the blue card", "--json").json
    two = shell("remember", "locker code is on the blue card.", "--json").json
    assert one["id"] == two["id"]
    assert len(two["sources"]) == 2
    sources = [source["id"] for source in two["sources"]]
    report = shell("forget", one["id"], *sources, "--json").json
    assert (report["atoms"], report["records"]) == (1, 2)
    for file in shell.home.rglob("*.jsonl"):
        assert b"blue card" not in file.read_bytes()
    assert shell("search", "memories", "locker card", "--json").json["items"] == []
    assert shell("search", "conversations", "locker card", "--json").json["items"] == []
    assert "blue card" not in shell("export").out
    for file in shell.home.rglob("*"):
        data = file.read_bytes() if file.is_file() else b""
        assert b"blue card" not in data, file
        assert b"locker" not in data.lower(), file


def test_forgetting_reaches_scenes_persona_and_every_file_at_once(shell) -> None:
    atom = _learned(shell)
    shell("remember", "以后都用简体中文回答", "--kind", "instruction")
    shell("work", "--until-idle")
    assert any(CONSTRAINT.encode() in file.read_bytes() for file in shell.home.rglob("*.md"))
    shell("forget", "--session", "s1")
    for words in (["scene", atom["scene"]], ["persona"], ["export"], ["search", "scenes", "鉴权"], ["recall", "鉴权"]):
        assert "鉴权" not in shell(*words).out, words
    for file in shell.home.rglob("*"):
        if file.suffix in {".md", ".jsonl"}:
            assert "鉴权".encode() not in file.read_bytes(), file
    shell("rebuild", "all")
    shell("work", "--until-idle")
    assert shell("search", "memories", "鉴权", "--json").json["items"] == []
    assert shell("doctor").code == 0


def test_correcting_by_id_and_by_query_replaces_and_says_what(shell) -> None:
    old = shell("remember", "Stack: Django, PostgreSQL, Redis", "--json").json
    new = shell("correct", "--query", "stack postgres", "Stack: Django, MySQL, Redis", "--json").json
    assert new["superseded"] == [old["id"]]
    assert shell("list", "atoms", "--status", "superseded", "--json").json["items"][0]["id"] == old["id"]
    third = shell("correct", new["id"], "Stack: Django, SQLite", "--json").json
    versions = shell("history", third["id"], "--json").json["items"]
    assert [version["version"] for version in versions] == [1, 2, 3]
    missed = shell("correct", "--query", "zebra quagga okapi", "nothing of the sort", "--json")
    assert missed.code == 1
    assert "nothing was changed" in missed.err
    assert len(shell("list", "atoms", "--json").json["items"]) == 1


def test_what_held_then_can_be_asked_of_every_reading_command(shell) -> None:
    atom = _learned(shell)
    new = shell("correct", atom["id"], "鉴权模块现在可以重构了", "--json").json
    shell("work", "--until-idle")
    then = ["--as-of", "2026-08-15", "--json"]
    assert [item["id"] for item in shell("list", "atoms", *then).json["items"]] == [atom["id"]]
    assert shell("show", new["id"], *then).json["id"] == atom["id"]
    assert [item["id"] for item in shell("recall", "鉴权 重构", *then).json["items"]][:1] == [atom["id"]]
    assert [item["id"] for item in shell("search", "memories", "鉴权 重构", *then).json["items"]] == [atom["id"]]
    assert shell("persona", *then).json["lines"] == []
    assert shell("scene", new["scene"] or atom["scene"], *then).code == 1
    assert [item["id"] for item in shell("list", "atoms", "--json").json["items"]] == [new["id"]]


def test_what_replaced_a_memory_is_found_by_old_words_only_where_the_filter_allows_it(shell) -> None:
    old = shell("remember", "Stack: Django, PostgreSQL, Redis", "--kind", "decision", "--json").json
    shell("correct", old["id"], "Everything moved to Elixir and Mnesia")
    words = ["search", "memories", "django postgresql"]
    assert [item["kind"] for item in shell(*words, "--json").json["items"]] == ["decision"]
    assert shell(*words, "--kind", "fact", "--json").json["items"] == []
    assert shell(*words, "--until", "2020-01-01", "--json").json["items"] == []


def test_jobs_alone_lists_the_queue(shell) -> None:
    shell("capture", "-", "--session", "s1", stdin=TURN)
    assert [item["kind"] for item in shell("jobs", "--json").json["items"]] == ["distill"]


def test_a_job_that_waits_after_a_failure_says_when_and_why_and_can_be_run_at_once(shell, monkeypatch) -> None:
    for name, value in {"KIND": "openai", "URL": "http://127.0.0.1:9/v1", "MODEL": "m"}.items():
        monkeypatch.setenv(f"STENOLITH_LLM__{name}", value)
    shell("capture", "-", "--session", "s1", stdin=TURN)
    assert shell("work", "--json").code == 3
    assert shell("work", "--json").json == {"done": {}, "failed": {}, "dead": {}, "pending": 1}
    (job,) = shell("jobs", "--json").json["items"]
    people = shell("jobs").out
    assert job["error"] in people
    assert "due 20" in people
    assert shell("jobs", "retry", job["id"]).code == 0
    for name in ("KIND", "URL", "MODEL"):
        monkeypatch.delenv(f"STENOLITH_LLM__{name}")
    assert shell("work", "--kinds", "distill", "--json").json["done"] == {"distill": 1}
    assert shell("jobs", "retry", job["id"]).code == 1


def test_a_key_of_the_caller_replaces(shell) -> None:
    shell("remember", "Standup is at nine", "--key", "standup")
    shell("remember", "Standup is at ten", "--key", "standup")
    assert [item["text"] for item in shell("list", "atoms", "--json").json["items"]] == ["Standup is at ten"]


def test_importing_twice_records_nothing(shell, tmp_path: Path) -> None:
    seed = {"sessions": [{"sessionKey": "k", "sessionId": "i", "conversations": [json.loads(TURN)]}]}
    file = tmp_path / "seed.json"
    file.write_text(json.dumps(seed), "utf-8")
    first = shell("import", file, "--json").json
    assert first.keys() == {"sessions", "messages", "recorded", "skipped", "errors"}
    assert (first["sessions"], first["messages"], first["recorded"]) == (1, 2, 2)
    second = shell("import", file, "--json").json
    assert (second["messages"], second["recorded"], second["skipped"]) == (2, 0, {"already stored": 2})


def test_an_export_comes_back_byte_for_byte(shell, tmp_path: Path) -> None:
    atom = _learned(shell)
    shell("remember", "I prefer tea")
    shell("correct", atom["id"], "鉴权模块九月起可以重构了")
    gone = shell("remember", "A secret wish", "--json").json
    shell("forget", gone["id"])
    shell("work", "--until-idle")
    first = tmp_path / "first.jsonl"
    assert shell("export", "--out", first).code == 0
    assert first.stat().st_mode & 0o777 == 0o600
    other = tmp_path / "other"
    done = shell("import", first, "--format", "stenolith", "--home", other, "--json").json
    assert done["recorded"] == 4  # the forgotten statement is gone with the atom that rested on it
    second = tmp_path / "second.jsonl"
    shell("export", "--out", second, "--home", other)
    assert second.read_bytes() == first.read_bytes()
    assert shell("doctor", "--home", other).code == 0
    damaged = first.read_bytes().replace(b"tea", b"gin")
    (tmp_path / "damaged.jsonl").write_bytes(damaged)
    refused = shell("import", tmp_path / "damaged.jsonl", "--format", "stenolith", "--home", tmp_path / "third")
    assert refused.code == 2
    assert "checksum" in refused.err


def test_one_session_is_exported_and_comes_back_losslessly(shell, tmp_path: Path) -> None:
    shell("capture", "-", "--session", "s1", stdin=TURN)
    shell("capture", "-", "--session", "s2", stdin=TURN.replace("旧", "老"))
    shell("export", "--session", "s1", "--out", tmp_path / "s1.jsonl")
    other = tmp_path / "other"
    shell("import", tmp_path / "s1.jsonl", "--format", "stenolith", "--home", other)
    assert [item["session_key"] for item in shell("list", "sessions", "--home", other, "--json").json["items"]] == [
        "s1"
    ]
    again = shell("export", "--session", "s1", "--home", other).out
    assert again == (tmp_path / "s1.jsonl").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["capture", "-"], "--session"),
        (["capture", "missing.json", "--session", "s"], "missing.json"),
        (["recall"], "QUERY"),
        (["search", "bogus", "x"], "memories"),
        (["remember", "x", "--kind", "poem"], "fact"),
        (["remember", "x", "--priority", "101"], "0 to 100"),
        (["list", "atoms", "--limit", "0"], "limit"),
        (["list", "atoms", "--status", "sleepy"], "active"),
        (["recall", "x", "--as-of", "someday"], "2026-08-03"),
        (["forget"], "what to forget"),
        (["work", "--kinds", "dishes"], "distill"),
        (["rebuild", "rome"], "indexes"),
        (["import"], "file"),
        (["replay", "-"], "provider"),
        (["lint", "-", "--api", "telegraph"], "openai-chat"),
        (["--home"], "home"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_a_wrong_call_says_what_where_and_what_to_do(shell, words: list[str], said: str) -> None:
    done = shell(*words, stdin="[]")
    assert done.code == 2, done.err
    assert said in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


@pytest.mark.parametrize("data", [b"", b"not json", b"\xff\xfe\x00", b"[1, 2", b'{"messages": 7}', b'"text"', b"42"])
def test_bad_input_stores_nothing(shell, data: bytes) -> None:
    done = shell("capture", "-", "--session", "s", stdin=data)
    assert done.code == 2
    assert "Traceback" not in done.err
    assert shell("stats", "--json").json["messages"] == 0


def test_a_reading_command_makes_no_home(shell, tmp_path: Path) -> None:
    done = shell("list", "atoms", "--home", tmp_path / "typo")
    assert done.code == 2
    assert not (tmp_path / "typo").exists()


def test_scopes_do_not_see_each_other(shell) -> None:
    mine = shell("remember", "Drinks oat milk only", "--user", "ana", "--json").json
    for words in (
        ["list", "atoms"],
        ["list", "records"],
        ["list", "sessions"],
        ["search", "memories", "oat milk"],
        ["search", "conversations", "oat milk"],
    ):
        assert shell(*words, "--user", "ben", "--json").json["items"] == [], words
    assert shell("recall", "oat milk", "--user", "ben", "--json").json["items"] == []
    assert "oat" not in shell("export", "--user", "ben").out
    for command in ("show", "history"):
        assert shell(command, mine["id"], "--user", "ben").code == 1
    assert shell("forget", mine["id"], "--user", "ben").code == 1
    assert shell("correct", mine["id"], "No milk", "--user", "ben").code == 1
    assert len(shell("list", "atoms", "--user", "ana", "--json").json["items"]) == 1


def test_forgetting_a_user_hurts_nobody_else(shell) -> None:
    for user in ("ana", "ben"):
        shell("capture", "-", "--session", "s1", "--user", user, stdin=TURN)
    shell("work", "--until-idle")
    report = shell("forget", "--user", "ana", "--json").json
    assert (report["atoms"], report["records"], report["sessions"]) == (1, 2, 1)
    assert shell("stats", "--user", "ana", "--json").json["messages"] == 0
    assert shell("stats", "--user", "ben", "--json").json["messages"] == 2
    assert len(shell("list", "atoms", "--user", "ben", "--json").json["items"]) == 1
    assert shell("doctor").code == 0


def test_doctor_finds_and_mends_what_a_crash_left(shell) -> None:
    shell("capture", "-", "--session", "s1", stdin=TURN)
    (file,) = (shell.home / "conversations").glob("*.jsonl")
    whole = file.read_bytes()
    file.write_bytes(whole.splitlines(keepends=True)[0] + b'{"sessionKey": "s1", "conte')
    sick = shell("doctor", "--json")
    assert sick.code == 1
    assert not sick.json["healthy"]
    assert shell("doctor", "--fix", "--json").json["healthy"]
    assert shell("doctor").code == 0
    assert file.read_bytes() == whole


def test_records_come_back_from_the_daily_files(shell) -> None:
    import apsw

    shell("capture", "-", "--session", "s1", stdin=TURN)
    before = shell("list", "records", "--json").json["items"]
    connection = apsw.Connection(str(shell.home / "memory.db"))
    connection.execute("DELETE FROM l0_conversations")
    connection.close()
    assert shell("list", "records", "--json").json["items"] == []
    assert shell("rebuild", "records", "--json").json["restored"] == 2
    assert shell("list", "records", "--json").json["items"] == before
    found = shell("search", "conversations", "鉴权", "--json").json["items"]
    assert found[0]["id"] == before[0]["id"]


def test_rebuilding_indexes_changes_no_answer(shell) -> None:
    _learned(shell)
    before = shell("search", "memories", "鉴权 重构", "--json").json
    done = shell("rebuild", "all", "--json").json
    assert (done["atoms"], done["lines"]) == (1, 2)
    assert shell("search", "memories", "鉴权 重构", "--json").json == before


def test_backup_and_restore_give_the_same_memory(shell, tmp_path: Path) -> None:
    _learned(shell)
    assert shell("backup", tmp_path / "b.zip").code == 0
    assert shell("backup", tmp_path / "b.zip").code == 2
    assert shell("restore", tmp_path / "b.zip", "--home", tmp_path / "new").code == 0
    assert shell("export", "--home", tmp_path / "new").out == shell("export").out
    refused = shell("restore", tmp_path / "b.zip", "--home", tmp_path / "new")
    assert refused.code == 2
    assert "not empty" in refused.err


def test_replay_gives_a_payload_that_lints_clean_and_changes_nothing(shell, tmp_path: Path) -> None:
    file = tmp_path / "crashed.json"
    call = {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    messages = [{"role": "user", "content": "列一下文件"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    file.write_text(json.dumps(messages), "utf-8")
    before = file.read_bytes()
    for api in (
        "openai-chat",
        "openai-responses",
        "anthropic-messages",
        "google-generative-ai",
        "bedrock-converse",
        "mistral-conversations",
    ):
        done = shell("replay", file, "--provider", "x", "--api", api)
        assert done.code == 0, done.out
        assert done.json["violations"] == []
        payload = tmp_path / f"{api}.json"
        payload.write_text(json.dumps(done.json["payload"]), "utf-8")
        assert shell("lint", payload, "--api", api, "--json").json == {"violations": []}
    assert file.read_bytes() == before
    sanitised = shell("replay", file, "--provider", "anthropic", "--messages").json
    file.write_text(json.dumps(sanitised["messages"]), "utf-8")
    assert shell("replay", file, "--provider", "anthropic", "--messages").json["messages"] == sanitised["messages"]
    explained = shell("replay", "-", "--provider", "anthropic", "--model", "claude-opus-4-6", "--explain").json
    assert explained["flags"]["preserve_signatures"] is True


def test_a_stored_session_is_replayed_and_displayed(shell) -> None:
    shell("capture", "-", "--session", "s1", stdin=TURN)
    payload = shell("replay", "--session", "s1", "--provider", "anthropic").json["payload"]
    assert payload["messages"][0]["content"][0]["text"] == CONSTRAINT
    shown = shell("display", "--session", "s1", "--json").json["messages"]
    assert [message["role"] for message in shown] == ["user", "assistant"]
    assert shell("display", "--session", "nobody").code == 1


def test_the_program_itself_prints_utf8_json_and_nothing_else(tmp_path: Path) -> None:
    env = {"STENOLITH_EMBEDDER__KIND": "none", "LANG": "C", "PATH": ""}
    command = [sys.executable, "-m", "stenolith", "capture", "-", "--session", "s", "--json", "--home", str(tmp_path)]
    done = subprocess.run(command, input=TURN.encode(), capture_output=True, env=env, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.decode("utf-8"))["recorded"][0]["text"] == CONSTRAINT
    assert done.stderr == b""


def test_an_option_takes_several_words_or_is_repeated(shell) -> None:
    _learned(shell)
    for words in (("--kinds", "distill", "embed"), ("--kinds", "distill", "--kinds", "embed")):
        assert shell("work", *words, "--json").code == 0
    limits = ("image_max_count=2", "request_max_bytes=9000")
    for words in (("--limits", *limits), ("--limits", limits[0], "--limits", limits[1])):
        assert shell("replay", "-", "--provider", "anthropic", *words, stdin=TURN).code == 0


def test_what_people_read_is_no_python(shell) -> None:
    _learned(shell)
    text = shell("stats").out
    assert "atoms: active 1" in text
    assert not set("{}[]'") & set(text)


def test_the_demo_shows_every_line_whole_and_its_json_has_every_layer(shell) -> None:
    found = shell("demo", "--json").json
    assert {"records", "atoms", "scenes", "persona", "recall"} <= found.keys()
    lines = [line["text"] for line in found["persona"]["lines"]]
    shown = re.sub(r"[\s│•]", "", shell("demo").out)
    assert [text for text in lines if re.sub(r"\s", "", text) not in shown] == []
