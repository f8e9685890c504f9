"""The example conversations are what the demo promises: long, mixed, and full of traps."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from stenolith.curate.secrets import redact
from stenolith.demo import handed_over, sessions
from stenolith.distill.persona import Gate, judge
from stenolith.distill.rules import Utterance, extract
from stenolith.distill.scenes import group, scene_of
from stenolith.model.atom import Atom, AtomDraft, AtomStatus
from stenolith.model.persona import PersonaStatus

SHANGHAI = ZoneInfo("Asia/Shanghai")


def _messages() -> list[dict[str, Any]]:
    return [message for session in sessions() for turn in session["turns"] for message in turn["messages"]]


def _ms(stamp: str) -> int:
    return int(datetime.fromisoformat(stamp).timestamp() * 1000)


def test_there_are_enough_sessions_messages_and_weeks() -> None:
    stamps = [_ms(message["timestamp"]) for message in _messages()]
    assert len(sessions()) >= 12
    assert len(stamps) >= 120
    assert all(before < after for before, after in pairwise(stamps))
    assert 28 <= (stamps[-1] - stamps[0]) / 86_400_000 <= 35
    assert len({session["session_id"] for session in sessions()}) == len(sessions())


def test_the_sentences_of_the_seed_are_said_at_the_time_of_the_seed() -> None:
    said = {message["content"]: message for message in _messages()}
    first = said["旧的鉴权模块先不要重构，移动端还在使用它。"]
    assert (first["role"], first["timestamp"]) == ("user", "2026-08-03T10:00:00+08:00")
    assert said["明白，本次只新增v3接口，不修改旧鉴权流程。"]["role"] == "assistant"


def test_the_traps_are_there() -> None:
    texts = [message["content"] or "" for message in _messages()]
    assert sum("<stenolith-memory" in text for text in texts) == 1
    assert sum("<relevant-memories>" in text for text in texts) == 1
    assert sum(bool(redact(text).found) for text in texts) == 1
    assert sum(bool(turn.get("failed")) for session in sessions() for turn in session["turns"]) == 1
    assert {session["resends"] for session in sessions()} == {True, False}
    calls = [call["id"] for message in _messages() for call in message.get("tool_calls", ())]
    assert calls == [message["tool_call_id"] for message in _messages() if message["role"] == "tool"]
    assert len(calls) >= 5


def test_a_host_that_resends_hands_over_everything_so_far() -> None:
    resending = next(session for session in sessions() if session["resends"])
    turns = list(handed_over(resending))
    assert all(after.messages[: after.began] == before.messages for before, after in pairwise(turns))
    assert turns[-1].messages == [message for turn in resending["turns"] for message in turn["messages"]]
    lean = next(session for session in sessions() if not session["resends"])
    assert [turn.messages for turn in handed_over(lean)] == [turn["messages"] for turn in lean["turns"]]
    assert {turn.began for turn in handed_over(lean)} == {0}


def _kept(session: dict[str, Any], number: int, draft: AtomDraft) -> Atom:
    when = draft.sources[0].timestamp or 0
    identity = f"atm_{number:026d}"
    return Atom(
        id=identity, kind=draft.kind, text=draft.text, priority=draft.priority, subject=draft.subject,
        attribute=draft.attribute, speaker="", role="user", session_key=session["session_key"],
        session_id=session["session_id"], status=AtomStatus.ACTIVE, version=1, root_id=identity, supersedes=None,
        superseded_by=None, reason="", recorded_at=when, valid_from=when, valid_until=None,
        occurred_start=draft.occurred_start, occurred_end=draft.occurred_end, expires_at=draft.expires_at, origin="rules",
        provenance={}, sources=draft.sources,
    )  # fmt: skip


def _atoms() -> list[Atom]:
    found: list[Atom] = []
    for session in sessions():
        for turn in session["turns"]:
            for message in turn["messages"]:
                if message["role"] != "user" or "memor" in message["content"][:20]:
                    continue
                words = Utterance(
                    record_id="rec_1", role="user", text=message["content"], timestamp=_ms(message["timestamp"]),
                    failed=bool(turn.get("failed")),
                )  # fmt: skip
                found += [_kept(session, len(found) + n, draft) for n, draft in enumerate(extract([words], SHANGHAI))]
    return found


def test_the_rules_find_enough_and_exactly_one_trait_stands() -> None:
    atoms = _atoms()
    assert len(atoms) >= 25
    scenes = [change.scene for change in group(atoms, [], vectors=None, now_ms=atoms[-1].recorded_at)]
    assert 4 <= len(scenes) <= 15
    home = scene_of(scenes)
    (seed,) = [atom for atom in atoms if atom.text.startswith("旧的鉴权模块先不要重构")]
    assert "legacy-auth" in next(scene.title for scene in scenes if scene.id == home[seed.id])
    lines = judge(atoms, home, [], gate=Gate(), zone=SHANGHAI, now_ms=atoms[-1].recorded_at)
    traits = [
        line for line in lines if line.status is PersonaStatus.STANDING and line.section != "standing instructions"
    ]
    assert [line.text for line in traits] == ["多次说过：「我习惯先把整个调用链看完再动手」"]
    assert sum(line.status is PersonaStatus.CANDIDATE for line in lines) >= 3
