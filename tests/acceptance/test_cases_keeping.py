# ruff: noqa: N802  # the cases keep the names that the specification gives them
"""Cases C08, C09, C14-C17, C21, C26: what is kept, whose it is, and what is gone for good."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest
from stage import MINUTE, Stage, said

from stenolith import InvalidInput, Memory, NotFound, Scope, Turn
from stenolith.model.atom import AtomDraft, Kind, Source
from stenolith.model.fence import Fence, render
from stenolith.settings import Settings, load
from stenolith.store.atom_rows import Filing
from stenolith.testing.embedder import HashEmbedder

U1 = Scope(user="u1", session_key="chat")
SOURCE = str(Path(__file__).parents[2] / "src")


async def test_C08_a_recalled_memory_that_comes_back_is_not_captured_again(stage: Stage) -> None:
    await stage.memory.remember("Prefers dark roast", scope=U1)
    await stage.work()
    for turn in range(20):
        block = (await stage.memory.recall("coffee, dark roast", scope=U1)).dynamic
        assert "Prefers dark roast" in block
        question = f"Which beans should I buy this time ({turn})?"
        report = await stage.say(f"{block}\n{question}", "You prefer dark roast, so take the Sumatra.", scope=U1)
        assert report.recorded[0].message_text == question
        await stage.work()
        assert [text for text in await stage.texts(U1) if "roast" in text] == ["Prefers dark roast"]
    raw = (await stage.memory.sessions.raw(U1))[-2].text()
    assert "Prefers dark roast" in raw


async def test_C08_a_user_who_types_the_tag_himself_loses_only_a_well_formed_block(stage: Stage) -> None:
    block = render(Fence.MEMORY, [("", ["Prefers dark roast"])])
    typed = [
        "What does <stenolith-memory> mean in my prompt?",
        "I close it with </stenolith-memory> and open it with <stenolith-memory version='2'>, right?",
        "<stenolith-memory>\nno note inside, I typed this myself",
    ]
    for text in typed:
        report = await stage.say(text, scope=U1)
        assert [record.message_text for record in report.recorded] == [text]
    report = await stage.say(f"before\n{block}\nbetween </stenolith-memory> after", scope=U1)
    (record,) = report.recorded
    assert "Prefers" not in record.message_text
    assert record.message_text.split() == ["before", "between", "</stenolith-memory>", "after"]


async def test_C09_hosts_that_resend_the_whole_history_and_restarts_add_nothing(settings: Settings) -> None:
    at = 1_785_657_600_000
    turns = [said("assistant" if n % 2 == 0 else "user", f"I live in town {n}.", at + n * 1000) for n in range(1, 9)]
    async with Stage(settings) as stage:
        await stage.memory.capture(turns[:6], scope=U1)
        await stage.memory.capture(turns, scope=U1)
        await stage.work()
        (before,) = await stage.rows("SELECT position FROM cursors WHERE stage = 'distill'")
        await stage.restart()
        assert (await stage.memory.capture(turns, scope=U1)).new_messages == 0
        ninth = said("user", "I live in town 1.", at + 3_600_000)
        report = await stage.memory.capture([*turns, ninth], scope=U1)
        assert [record.seq for record in report.recorded] == [9]
        texts = [record["text"] for record in await stage.records(U1)]
        assert texts == [*(f"I live in town {n}." for n in range(1, 9)), "I live in town 1."]
        assert before["position"] == 8  # so that only the ninth is read after the restart
        await stage.work()
        (now,) = await stage.atoms(U1)
        assert (now["text"], [source["id"] for source in now["sources"]]) == (
            "I live in town 1.",
            [report.recorded[0].record_id],
        )


async def test_C14_every_read_path_applies_the_same_visibility_rule(settings: Settings) -> None:
    a, b = Scope(team="t1", user="u", agent="A", session_key="s"), Scope(team="t1", user="u", agent="B")
    words = "The vault code is kept under the blue fern"
    async with Stage(settings, HashEmbedder()) as stage:
        for text in (words, "Always mention the blue fern", "We decided to repot the blue fern"):
            kept = await stage.memory.remember(text, scope=a, kind="instruction" if "Always" in text else "fact")
        await stage.say("I prefer the blue fern over roses.", scope=a)
        await stage.work()
        (scene, *_) = (await stage.memory.list("scenes", scope=a))["items"]
        records = await stage.records(a)
        assert len(records) == 4
        memory = stage.memory
        for layer in ("atoms", "scenes", "sessions", "records"):
            assert (await memory.list(layer, scope=b))["items"] == [], layer
        for layer in ("memories", "conversations", "scenes"):
            wide = memory.filters(include_history=True)
            found = await memory.search(layer, "blue fern vault code", scope=b, filters=wide)
            assert (found["items"], found["total"]) == ([], 0), layer
        context = await memory.recall("blue fern vault code", scope=b)
        assert (context.stable, context.dynamic, context.items) == ("", "", ())
        line = (await memory.persona(scope=a))["lines"][0]
        for one in (kept["id"], records[0]["id"], scene["id"], scene["name"], line["id"]):
            with pytest.raises(NotFound):
                await memory.show(one, scope=b)
        with pytest.raises(NotFound):
            await memory.history(kept["id"], scope=b)
        with pytest.raises(NotFound):
            await memory.scene(scene["id"], scope=b)
        with pytest.raises(NotFound):
            await memory.correct("mine now", scope=b, atom_id=kept["id"])
        with pytest.raises(NotFound):
            await memory.forget([kept["id"]], scope=b)
        assert (await memory.persona(scope=b))["lines"] == []
        assert b"fern" not in await stage.export(b, "b.jsonl")
        stats = await memory.stats(scope=b)
        assert {key: value for key, value in stats.items() if value and key not in {"bytes", "embedder"}} == {}


@pytest.mark.parametrize(
    "narrowing",
    [
        {"owner": "A"},
        {"agent": "A"},
        {"kind": {"any": ["fact"]}},
        {"session": ["s"]},
        {"since": {"or": ["2026-01-01"]}},
        {"scene": {"id": "x"}},
        {"include_history": "no"},
    ],
    ids=lambda value: next(iter(value)),
)
async def test_C14_a_filter_that_is_not_understood_fails_closed(plain: Settings, narrowing) -> None:
    async with Memory.open(settings=plain) as memory:
        with pytest.raises(InvalidInput, match=next(iter(narrowing))):
            memory.filters(**narrowing)


async def test_C15_deleted_means_gone_from_every_store_at_once(settings: Settings) -> None:
    meaning = HashEmbedder(synonyms={"cabinet": "locker", "azure": "blue"})
    paths = ("locker code is on the blue card", "cabinet azure card", "card")
    async with Stage(settings, meaning) as stage:
        other = await stage.memory.remember("The locker stands beside the red door", scope=U1)
        gone = await stage.memory.remember("Locker code is on the blue card", scope=U1, kind="instruction")
        await stage.work()
        before = await _rows(stage)
        (scene, *_) = (await stage.memory.list("scenes", scope=U1))["items"]
        assert "blue card" in (await stage.memory.persona(scope=U1))["markdown"]
        assert gone["id"] in [item.id for item in (await stage.memory.recall(paths[0], scope=U1)).items]
        await stage.memory.forget([gone["id"]], scope=U1)
        after = await _rows(stage)
        # The statement that was made to be remembered goes with the atom that rests on it.
        assert after == {name: count - 1 for name, count in before.items()}
        for _ in range(2):
            for words in paths:
                context = await stage.memory.recall(words, scope=U1)
                assert "blue card" not in context.stable + context.dynamic
                for layer in ("memories", "conversations", "scenes"):
                    every = stage.memory.filters(include_history=True)
                    found = await stage.memory.search(layer, words, scope=U1, filters=every)
                    assert "blue card" not in json.dumps(found), (layer, words)
            assert "blue card" not in (await stage.memory.persona(scope=U1))["markdown"]
            assert "blue card" not in (await stage.memory.scene(scene["id"], scope=U1))["markdown"]
            assert b"blue card" not in await stage.export(U1, "export.jsonl")
            with pytest.raises(NotFound):
                await stage.memory.show(gone["id"], scope=U1)
            for file in settings.home.rglob("*"):
                assert not file.is_file() or b"blue card" not in file.read_bytes(), file
            await stage.restart()
            await stage.work()
        assert await stage.texts(U1) == [other["text"]]
        (entry,) = await stage.rows("SELECT action, target, detail FROM audit")
        assert (entry["action"], entry["target"], entry["detail"]) == ("forget", gone["id"], "{}")


async def test_C15_a_scene_that_is_called_after_forgotten_words_is_called_otherwise(stage: Stage) -> None:
    await stage.say("The zeppelin hangar needs a new roof.", scope=U1)
    told = ("The zeppelin hangar uses helium", "The zeppelin hangar opens in May")
    gone = [(await stage.memory.remember(text, scope=U1))["id"] for text in told]
    kept = await stage.memory.remember("The hangar has a red door", scope=U1)
    await stage.work()
    before = (await stage.memory.list("scenes", scope=U1))["items"]
    assert "zeppelin" in str(before).lower()
    await stage.memory.forget(gone, scope=U1)
    for layer in ("scenes", "atoms"):
        assert "zeppelin" not in str((await stage.memory.list(layer, scope=U1))["items"]).lower()
    await stage.work()
    (scene,) = (await stage.memory.list("scenes", scope=U1))["items"]
    assert (scene["title"], scene["lines"]) == ("hangar", 1)
    assert (await stage.memory.show(kept["id"], scope=U1))["scene"] == scene["id"]


async def _rows(stage: Stage) -> dict[str, int]:
    found = {}
    for table in ("search_rows", "vectors"):
        for layer in ("atom", "record"):
            sql = f"SELECT COUNT(*) AS n FROM {table} WHERE layer = '{layer}'"
            found[f"{table} {layer}"] = int((await stage.rows(sql))[0]["n"])
    return found


async def test_C15_words_of_a_conversation_are_named_and_go_when_they_are_named(stage: Stage) -> None:
    await stage.say("I'm allergic to peanuts.", "Noted.", scope=U1)
    await stage.work()
    (atom,) = await stage.atoms(U1)
    report = await stage.memory.forget([atom["id"]], scope=U1)
    assert report["evidence"] == [source["id"] for source in atom["sources"]]
    assert (await stage.memory.forget(report["evidence"], scope=U1))["records"] == 1
    assert [record["text"] for record in await stage.records(U1)] == ["Noted."]
    assert "peanuts" not in "".join(message.text() for message in await stage.memory.sessions.raw(U1))


@pytest.mark.parametrize("what", ["record", "session"])
async def test_C15_a_host_that_resends_its_history_does_not_bring_forgotten_words_back(stage: Stage, what: str) -> None:
    at = stage.clock()
    turns = [said("user" if n % 2 else "assistant", f"I live in town {n}.", at + n * MINUTE) for n in range(1, 7)]
    report = await stage.memory.capture(turns, scope=U1)
    if what == "record":
        await stage.memory.forget([report.recorded[2].record_id], scope=U1)
    else:
        await stage.memory.forget([], scope=U1)
    stage.clock.advance(10 * MINUTE)
    fresh = [said("user", "I live in Graz.", stage.clock()), said("assistant", "Noted.", stage.clock() + 5)]
    await stage.memory.capture([*turns, *fresh], scope=U1)
    texts = [record["text"] for record in await stage.records(U1)]
    assert "I live in town 3." not in texts
    assert texts[-2:] == ["I live in Graz.", "Noted."]
    if what == "session":
        assert len(texts) == 2
    # Who says it again, says it anew.
    await stage.say("I live in town 3.", scope=U1)
    assert "I live in town 3." in [record["text"] for record in await stage.records(U1)]


async def test_C16_deleting_one_owner_hurts_nobody_else(stage: Stage) -> None:
    rules = Scope(user="shared", agent="team-rules")
    u1s1, u1s2 = Scope(user="u1", session_key="s1"), Scope(user="u1", session_key="s2")
    u1a1 = Scope(user="u1", agent="a1", session_key="s1")
    u1a2 = Scope(user="u1", agent="a2", session_key="s1")
    u2 = Scope(user="u2", session_key="s1")
    everyone = (u1s1, u1s2, u1a1, u1a2, u2, rules)
    for number, scope in enumerate(everyone):
        await stage.say(f"I live in town {number}.", scope=Scope(**{**_named(scope), "session_key": "s1"}))
    await stage.say("I prefer tea.", scope=u1s2)
    await stage.work()
    before = {scope: await stage.export(scope, f"{at}.jsonl") for at, scope in enumerate(everyone)}
    await stage.memory.forget([], scope=u1s1)
    left = [record["text"] for record in await stage.records(Scope(user="u1"))]
    assert left == ["I prefer tea."]
    for at, scope in enumerate(everyone[2:]):
        assert await stage.export(scope, f"after-{at}.jsonl") == before[scope]
    await stage.memory.forget([], scope=Scope(user="u1", agent="a1"), user=True)
    assert await stage.records(u1a1) == []
    for at, scope in enumerate((u1a2, u2, rules)):
        assert await stage.export(scope, f"later-{at}.jsonl") == before[scope]
    with pytest.raises(NotFound):
        await stage.memory.forget([], scope=Scope(user="u2", session_key="nowhere"))
    with pytest.raises(InvalidInput, match="deletes nothing"):
        await stage.memory.forget([], scope=Scope(user="u2"))
    assert await stage.export(u2, "u2.jsonl") == before[u2]
    await stage.memory.forget([], scope=Scope(user="u1"), user=True)
    assert await stage.records(u1a2) == []
    assert await stage.export(u2, "u2-again.jsonl") == before[u2]


def _named(scope: Scope) -> dict[str, str]:
    return {"team": scope.team, "user": scope.user, "agent": scope.agent, "session_key": scope.session_key}


async def test_C17_export_is_complete_and_comes_back(settings: Settings, tmp_path: Path) -> None:
    first, second = settings, load(home=tmp_path / "two", timezone="UTC", embedder={"kind": "none"})
    owner = Scope(user="u1")
    async with Stage(first) as stage:
        await _live(stage, owner)
        lines = (await stage.export(owner, "first.jsonl")).splitlines()
    counts = json.loads(lines[0])["counts"]
    assert (counts["atom"], counts["session"], counts["persona"]) == (1203, 31, 1)
    assert counts["scene"] >= 4
    assert counts["tombstone"] >= 1
    states = {json.loads(line).get("status") for line in lines if b'"type":"atom"' in line}
    assert states == {"active", "superseded", "expired", "withdrawn"}
    async with Stage(second) as stage:
        report = await stage.memory.import_files([tmp_path / "first.jsonl"], scope=owner, format_name="stenolith")
        assert report["restored"]["atom"] == 1203
        assert (await stage.export(owner, "second.jsonl")).splitlines() == lines
        assert (await stage.memory.doctor())["healthy"]
        again = await stage.memory.import_files([tmp_path / "first.jsonl"], scope=owner, format_name="stenolith")
        assert again["restored"] == {}


WORDS = (
    ("tokens", "cookies", "certificates", "passkeys"),
    ("compost", "shade", "moisture", "mulch"),
    ("rigging", "varnish", "ballast", "anchors"),
    ("firewood", "sourdough", "yeast", "bricks"),
)


async def _live(stage: Stage, owner: Scope) -> None:
    """Fill a memory with 1,203 atoms in every state, 30 sessions, scenes, and a persona."""
    house = stage.memory._house
    topics = ("gateway login", "garden fern", "sailing boat", "bread oven")
    for session in range(30):
        topic, scope = topics[session % 4], Scope(user="u1", session_key=f"s{session}")
        words = WORDS[session % 4]
        (record, *_) = (await stage.say(f"I prefer to do the {topic} myself.", "Good.", scope=scope)).recorded
        owner_id = await house.owners.intern(owner)
        async with house.database.transaction():
            for number in range(40):
                text = f"The {topic} needs {words[number % 4]} and {words[number % 3]}, see {session} dash {number}"
                cited = (Source(record_id=record.record_id, quote=text),)
                draft = AtomDraft(kind=Kind.FACT, text=text, subject=topic, sources=cited)
                await house.atoms.add(owner_id, draft, Filing(normal_form=text.lower()))
    soon = stage.clock() + 1000
    await stage.memory.remember("Only today: the gateway login is down", scope=owner, expires_at=soon)
    fixed = await stage.memory.remember("Bread oven heats to 200", scope=owner)
    await stage.memory.correct("Bread oven heats to 250", scope=owner, atom_id=fixed["id"])
    gone = await stage.memory.remember("Locker code 4711", scope=owner)
    await stage.memory.forget([gone["id"]], scope=owner)
    (one, *_) = await stage.atoms(owner)
    await house.atoms.withdraw(owner_id, [one["id"]], "its evidence fell")
    await stage.work()
    every = await house.atoms.export(owner_id, "", 10_000)
    surplus = [atom.id for atom, _ in every if atom.origin == "rules" and atom.text.startswith("I prefer")]
    await stage.memory.forget(surplus[: len(every) - 1203], scope=owner)
    await stage.work()


WRITER = """
import asyncio, sys
from stenolith import Memory, Message, Role, Scope, Text
from stenolith.settings import load

async def main(home, name, count):
    async with Memory.open(settings=load(home=home, timezone="UTC", embedder={"kind": "none"})) as memory:
        for n in range(int(count)):
            said = Message(role=Role.USER, parts=(Text(text=f"writer {name} says message number {n}"),), timestamp=n + 1)
            await memory.capture([said], scope=Scope(session_key=name))
            print(n, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""
READER = """
import asyncio, sys
from stenolith import Memory, Scope
from stenolith.settings import load

async def main(home):
    async with Memory.open(settings=load(home=home, timezone="UTC", embedder={"kind": "none"})) as memory:
        print("ready", flush=True)
        while True:
            found = await memory.recall("writer message number", scope=Scope(), deadline_ms=5000)
            assert not [arm for arm in found.report.arms if arm.status == "failed"], found.report
            await asyncio.sleep(0.1)

asyncio.run(main(*sys.argv[1:]))
"""
WRITES = int(os.environ.get("STENOLITH_TEST_WRITES", "25"))
"""250 in the specification; the default run has less time."""


def _start(program: str, *words: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), *words], env=environment, stdout=pipe, stderr=pipe, text=True
    )


async def test_C21_several_processes_on_one_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    # Nobody has made the home: the first to come migrates it while the others want to write.
    writers = {name: _start(WRITER, str(home), name, str(WRITES)) for name in ("gateway", "mcp", "hook", "cli")}
    fifth = _start(WRITER, str(home), "fifth", "5")
    readers = [_start(READER, str(home)) for _ in range(2)]
    victim = writers["hook"]
    acknowledged = {"hook": 0}
    for line in victim.stdout:
        acknowledged["hook"] = int(line) + 1
        if acknowledged["hook"] == WRITES // 3:
            victim.send_signal(signal.SIGKILL)
    victim.communicate()
    for name, process in {**writers, "fifth": fifth}.items():
        if name == "hook":
            continue
        out, err = process.communicate(timeout=100)
        assert (process.returncode, err) == (0, ""), err
        acknowledged[name] = len(out.split())
    for reader in readers:
        reader.terminate()
        _, err = reader.communicate(timeout=10)
        assert "Error" not in err, err
    database = sqlite3.connect(home / "memory.db")
    try:
        rows = dict(database.execute("SELECT session_key, COUNT(*) FROM l0_conversations GROUP BY session_key"))
        (indexed,) = database.execute("SELECT COUNT(*) FROM search_rows").fetchone()
        (sound,) = database.execute("PRAGMA integrity_check").fetchone()
        (content,) = database.execute("SELECT SUM(LENGTH(body)) FROM messages").fetchone()
    finally:
        database.close()
    # The one that was killed may have written one message that it had not yet spoken of.
    assert rows.pop("hook") - acknowledged.pop("hook") in {0, 1}
    assert rows == acknowledged == {"gateway": WRITES, "mcp": WRITES, "cli": WRITES, "fifth": 5}
    assert sound == "ok"
    assert content > 0
    async with Stage(load(home=home, timezone="UTC", embedder={"kind": "none"})) as stage:
        assert indexed == await stage.count("l0_conversations")
        assert (await stage.memory.doctor(fix=True))["healthy"]
        assert (await stage.memory.doctor())["healthy"]


SECRETS = {
    "api_key": "sk-test-4f9aKQ7vB2nM8xR3tY6wZ1cD",
    "password": "Tr0ub4dor&3",
    "bearer": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "key": "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7",
}
COMMIT = "9fceb02d0ae598e95dc970b74767f19372d61af8"


def _confession() -> str:
    return (
        f"Use key {SECRETS['api_key']} and password '{SECRETS['password']}' for the staging API, "
        f"header Authorization: Bearer {SECRETS['bearer']}; "
        f"-----BEGIN PRIVATE KEY-----\n{SECRETS['key']}\n-----END PRIVATE KEY-----\n"
        f"From now on always deploy commit {COMMIT} first."
    )


async def test_C26_a_secret_never_reaches_the_disk(settings: Settings, tmp_path: Path) -> None:
    async with Stage(settings) as stage:
        await stage.say(_confession(), f"I noted {SECRETS['api_key']}.", scope=U1)
        await stage.memory.remember(f"The password is '{SECRETS['password']}' on staging", scope=U1)
        await stage.work()
        await stage.export(U1, "export.jsonl")
        (record, *_) = await stage.records(U1)
        assert "for the staging API" in record["text"]
        assert record["text"].count("[REDACTED:") == 4
        assert COMMIT in record["text"]
        if settings.database:
            for table in ("messages", "l0_conversations", "atoms", "atom_sources", "search_rows", "scenes", "audit"):
                _assert_clean(str(await stage.rows(f"SELECT * FROM {table}")).encode(), table)
        else:
            await stage.memory.backup(tmp_path / "backup.zip")
        _assert_nowhere(tmp_path)
    _assert_nowhere(tmp_path)


async def test_C26_the_words_as_typed_hide_their_secrets_too(settings: Settings, tmp_path: Path) -> None:
    """A host that hands over what was typed, beside the prompt that it made of it, hands over the secret twice."""
    async with Stage(settings) as stage:
        prompt = said("user", f"You are a helper.\n\nUser: {_confession()}", 1)
        turn = Turn(messages=(prompt,), mark=0, original=_confession())
        (record,) = (await stage.memory.capture(turn, scope=U1)).recorded
        assert record.message_text.startswith("Use key [REDACTED:")
        assert record.message_text.count("[REDACTED:") == 4
        for table in ("messages", "l0_conversations", "search_rows"):
            _assert_clean(str(await stage.rows(f"SELECT * FROM {table}")).encode(), table)
    _assert_nowhere(tmp_path)


async def test_C26_a_fragment_of_a_secret_finds_nothing(stage: Stage) -> None:
    await stage.say(_confession(), f"I noted {SECRETS['api_key']}.", scope=U1)
    await stage.memory.remember(f"The password is '{SECRETS['password']}' on staging", scope=U1)
    await stage.work()
    for fragment in ("4f9aKQ7vB2nM8xR3tY6wZ1cD", "Tr0ub4dor", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "Tr0ub4dor&3"):
        for layer in ("memories", "conversations"):
            assert (await stage.memory.search(layer, fragment, scope=U1))["items"] == [], fragment


def _assert_nowhere(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            _assert_clean(file.read_bytes(), str(file))
        if file.suffix == ".zip":
            with zipfile.ZipFile(file) as archive:
                for name in archive.namelist():
                    _assert_clean(archive.read(name), name)


def _assert_clean(data: bytes, where: str) -> None:
    for kind, secret in SECRETS.items():
        assert secret.encode() not in data, (kind, where)


async def test_C26_ordinary_sentences_are_untouched_and_the_policy_is_an_explicit_setting(tmp_path: Path) -> None:
    ordinary = f"The password policy asks for twelve characters; see commit {COMMIT} and issue 4711."
    strict = load(home=tmp_path / "strict", timezone="UTC", embedder={"kind": "none"})
    open_ = load(home=tmp_path / "open", timezone="UTC", embedder={"kind": "none"}, capture={"redact_secrets": False})
    assert strict.capture.redact_secrets
    async with Stage(strict) as stage:
        assert [one.message_text for one in (await stage.say(ordinary, scope=U1)).recorded] == [ordinary]
    async with Stage(open_) as stage:
        kept = (await stage.say(_confession(), scope=U1)).recorded[0].message_text
        assert SECRETS["api_key"] in kept
