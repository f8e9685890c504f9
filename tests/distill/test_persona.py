"""The persona's gate: what stands, what waits and why, what goes when its evidence goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenolith.distill.persona import Gate, judge
from stenolith.model.atom import Atom, AtomStatus, Kind, Source
from stenolith.model.identity import is_id
from stenolith.model.persona import PersonaLine, PersonaStatus

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = 1_786_000_000_000
SENTENCES = [
    "我习惯先理解完整调用链再动手改代码。",
    "改代码之前我要先把调用链看完。",
    "I like to understand the call chain before I change anything.",
]


def said(number: int, text: str, when: str, kind: Kind = Kind.PREFERENCE, **more: object) -> Atom:
    stamp = int(datetime.fromisoformat(when).timestamp() * 1000)
    plain = Atom(
        id=f"atm_{number:026d}", kind=kind, text=text, priority=60, subject="user", attribute="", speaker="", role="user",
        session_key="dev", session_id="s1", status=AtomStatus.ACTIVE, version=1, root_id=f"atm_{number:026d}",
        supersedes=None, superseded_by=None, reason="", recorded_at=stamp, valid_from=stamp, valid_until=None,
        occurred_start=None, occurred_end=None, expires_at=None, origin="rules", provenance={},
        sources=(Source(record_id=f"rec_{number:026d}", quote=text, timestamp=stamp),),
    )  # fmt: skip
    return replace(plain, **more)


def thrice(days: Sequence[str] = ("2026-07-06", "2026-07-10", "2026-07-24"), **more: object) -> list[Atom]:
    return [said(n, SENTENCES[n], f"{day}T10:0{n}:00+08:00", **more) for n, day in enumerate(days)]


SCENES = {f"atm_{n:026d}": "auth" if n % 2 else "core" for n in range(50)}


def decide(
    atoms: Sequence[Atom],
    existing: Sequence[PersonaLine] = (),
    scenes: dict[str, str] | None = None,
    gate: Gate | None = None,
    now: int = NOW,
) -> list[PersonaLine]:
    return judge(atoms, SCENES if scenes is None else scenes, existing, gate=gate or Gate(), zone=SHANGHAI, now_ms=now)  # fmt: skip


def test_three_statements_of_two_scenes_on_three_days_stand() -> None:
    (line,) = decide(thrice())
    assert line.status is PersonaStatus.STANDING
    assert line.section == "working style"
    assert line.text == 'Has said repeatedly: "I like to understand the call chain before I change anything"'
    assert line.atoms == tuple(f"atm_{n:026d}" for n in range(3))
    assert (line.missing, line.version, line.updated_at) == ("", 1, NOW)
    assert is_id(line.id, "psn")


def test_the_most_recent_wording_is_quoted() -> None:
    atoms = thrice()
    later = said(9, "改登录代码前先看调用链。", "2026-08-01T09:00:00+08:00")
    (line,) = decide([later, *atoms])
    assert line.text == "多次说过：「改登录代码前先看调用链」"


MISSING = [
    (["2026-07-06", "2026-07-10"], {}, "还差 1 条表述、1 天"),
    (["2026-07-06", "2026-07-06", "2026-07-06"], {}, "two more days"),
    (["2026-07-06", "2026-07-06", "2026-07-10"], {}, "one more day"),
    (["2026-07-06", "2026-07-10", "2026-07-24"], {f"atm_{n:026d}": "one" for n in range(3)}, "one more scene"),
    (
        ["2026-07-06", "2026-07-06", "2026-07-10"],
        {f"atm_{n:026d}": "one" for n in range(3)},
        "one more day and one more scene",
    ),
    (["2026-07-06"], {}, "还差 2 条表述、2 天、1 个场景"),
]


@pytest.mark.parametrize(("days", "scenes", "missing"), MISSING, ids=[row[2] for row in MISSING])
def test_below_the_gate_a_candidate_says_what_is_missing(days: list[str], scenes: dict[str, str], missing: str) -> None:
    (line,) = decide(thrice(days), scenes=scenes or None)
    assert (line.status, line.missing) == (PersonaStatus.CANDIDATE, missing)


def test_days_are_counted_in_the_zone() -> None:
    times = ["2026-07-06T23:30:00+08:00", "2026-07-07T00:30:00+08:00", "2026-07-08T12:00:00+08:00"]
    atoms = [said(n, SENTENCES[n], when) for n, when in enumerate(times)]
    assert [line.status for line in decide(atoms)] == [PersonaStatus.STANDING]
    in_utc = judge(atoms, SCENES, [], gate=Gate(), zone=ZoneInfo("UTC"), now_ms=NOW)
    assert [line.missing for line in in_utc] == ["one more day"]


def test_one_statement_repeated_on_many_days_is_still_one_statement() -> None:
    sources = tuple(Source(record_id=f"rec_{n}", timestamp=NOW - n * 86_400_000) for n in range(5))
    (line,) = decide([said(1, SENTENCES[0], "2026-07-06T10:00:00+08:00", sources=sources)])
    assert line.missing == "还差 2 条表述、1 个场景"


NOT_OWN = [
    {"subject": "assistant"},
    {"subject": "project"},
    {"role": "assistant"},
    {"speaker": "bot-b"},
    {"speaker": "ben"},
    {"kind": Kind.FACT},
    {"kind": Kind.EVENT},
    {"status": AtomStatus.SUPERSEDED},
    {"status": AtomStatus.WITHDRAWN},
    {"expires_at": NOW + 1},
    {"task_only": True},
    {"provenance": {"kind": "inter_session"}},
    {"provenance": {"flags": ["instruction"]}},
    {"provenance": {"flags": ["task_only"]}},
]


@pytest.mark.parametrize("more", NOT_OWN, ids=str)
def test_only_the_users_own_lasting_words_count(more: dict[str, object]) -> None:
    assert decide(thrice(**more)) == []


def test_a_named_speaker_counts_when_the_gate_knows_the_name() -> None:
    atoms = thrice(speaker="ana")
    assert decide(atoms) == []
    assert len(decide(atoms, gate=Gate(speakers=frozenset({"", "ana"})))) == 1


def test_a_standing_instruction_needs_one_clear_statement() -> None:
    order = said(1, "每次上线前先准备好回滚方案。", "2026-07-21T09:00:00+08:00", Kind.INSTRUCTION)
    (line,) = decide([order], scenes={})
    assert (line.section, line.status, line.text) == (
        "standing instructions",
        PersonaStatus.STANDING,
        "每次上线前先准备好回滚方案。",
    )


def test_the_newest_order_about_the_language_of_answers_holds() -> None:
    first = said(1, "我希望你以后用英文回答", "2026-07-06T09:00:00+08:00", attribute="reply_language")
    second = said(2, "以后回复都用中文", "2026-07-29T16:00:00+08:00", Kind.INSTRUCTION, attribute="reply_language")
    assert [line.text for line in decide([first, second])] == ["以后回复都用中文"]


def test_an_order_that_a_standing_trait_says_is_not_said_twice() -> None:
    order = said(5, "每次改代码前先看调用链。", "2026-08-02T09:00:00+08:00", Kind.INSTRUCTION)
    (line,) = decide([*thrice(), order])
    assert (line.section, line.status) == ("working style", PersonaStatus.STANDING)
    assert order.id in line.atoms


def test_orders_alone_make_no_trait() -> None:
    orders = [replace(atom, kind=Kind.INSTRUCTION) for atom in thrice()]
    assert {line.section for line in decide(orders)} == {"standing instructions"}


def test_repeated_wishes_are_found_without_a_row_for_them() -> None:
    atoms = [
        said(1, "我喜欢用深色主题的终端", "2026-07-06T10:00:00+08:00"),
        said(2, "终端还是深色主题舒服", "2026-07-08T10:00:00+08:00"),
        said(3, "请把终端设成深色主题", "2026-07-10T10:00:00+08:00"),
        said(4, "我喜欢绿茶", "2026-07-10T10:00:00+08:00"),
    ]
    lines = decide(atoms)
    assert [(line.status, len(line.atoms)) for line in lines] == [
        (PersonaStatus.STANDING, 3),
        (PersonaStatus.CANDIDATE, 1),
    ]


def test_the_same_evidence_again_changes_nothing() -> None:
    atoms = [*thrice(), said(7, "我更喜欢先看结论再看细节", "2026-07-14T10:00:00+08:00")]
    lines = decide(atoms)
    assert decide(atoms, lines, now=NOW + 5) == lines
    assert decide(atoms[::-1], lines, now=NOW + 5) == lines


def test_new_evidence_keeps_the_line_and_raises_its_version() -> None:
    lines = decide(thrice())
    later = said(9, "改登录代码前先看调用链。", "2026-08-01T09:00:00+08:00")
    (line,) = decide([*thrice(), later], lines, now=NOW + 5)
    assert (line.id, line.version, line.updated_at) == (lines[0].id, 2, NOW + 5)


def test_a_line_falls_back_when_evidence_is_deleted_and_no_longer_quotes_it() -> None:
    lines = decide(thrice())
    (line,) = decide(thrice()[:2], lines, now=NOW + 5)
    assert (line.id, line.status, line.version) == (lines[0].id, PersonaStatus.CANDIDATE, 2)
    assert "call chain" not in line.text
    (line,) = decide([], [line], now=NOW + 6)
    assert (line.status, line.text, line.atoms) == (PersonaStatus.WITHDRAWN, "", ())
    assert line.missing == "its evidence was deleted"
    assert decide([], [line]) == []


def test_a_line_whose_oldest_evidence_is_deleted_keeps_its_identity() -> None:
    atoms = [*thrice(), said(9, "改登录代码前先看调用链。", "2026-08-01T09:00:00+08:00")]
    lines = decide(atoms)
    (line,) = decide(atoms[1:], lines, now=NOW + 5)
    assert (line.id, line.status) == (lines[0].id, PersonaStatus.STANDING)


def test_a_line_whose_evidence_was_replaced_is_withdrawn_with_its_words() -> None:
    lines = decide(thrice())
    old = [replace(atom, status=AtomStatus.SUPERSEDED) for atom in thrice()]
    (line,) = decide(old, lines)
    assert (line.status, line.text, line.missing) == (
        PersonaStatus.WITHDRAWN,
        lines[0].text,
        "its evidence was replaced",
    )


def _many(count: int) -> list[Atom]:
    topics = [
        "tabs in makefiles",
        "green tea breaks",
        "dark terminal themes",
        "ascii diagrams here",
        "numbered list items",
    ]
    return [
        said(t * 3 + n, f"I enjoy {topics[t]}", f"2026-07-{6 + n * 3 + t:02d}T10:00:00+08:00", root_id=f"r{t}{n}")
        for t in range(count)
        for n in range(3)
    ]


def test_only_some_traits_begin_to_stand_in_one_revision() -> None:
    atoms = _many(5)
    first = decide(atoms)
    assert sum(line.status is PersonaStatus.STANDING for line in first) == 3
    assert {line.missing for line in first if line.status is PersonaStatus.CANDIDATE} == {"the next revision"}
    second = decide(atoms, first)
    assert all(line.status is PersonaStatus.STANDING for line in second)
    assert {line.id for line in second} == {line.id for line in first}


def test_candidates_are_bounded() -> None:
    words = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"]
    atoms = [said(n, f"I enjoy {word} music", "2026-07-06T10:00:00+08:00") for n, word in enumerate(words)]
    assert len(decide(atoms)) == len(words)
    assert len(decide(atoms, gate=Gate(max_candidates=4))) == 4


_TEXTS = st.sampled_from(
    [*SENTENCES, "我更喜欢能随时回滚的小步改动", "I prefer small commits", "我喜欢绿茶", "always run the tests first"]
)
_ROWS = st.lists(st.tuples(_TEXTS, st.integers(1, 28), st.sampled_from(list(Kind)), st.booleans()), max_size=15)


@given(_ROWS, st.integers(0, 15))
def test_whatever_stands_has_its_evidence_and_judging_settles(
    rows: list[tuple[str, int, Kind, bool]], kept: int
) -> None:
    atoms = [
        said(
            n,
            text,
            f"2026-07-{day:02d}T10:00:00+08:00",
            kind,
            status=AtomStatus.ACTIVE if live else AtomStatus.WITHDRAWN,
        )
        for n, (text, day, kind, live) in enumerate(rows)
    ]
    lines = decide(atoms[:kept])
    for _revision in range(3):
        lines = decide(atoms, lines)
    assert decide(atoms, lines, now=NOW + 5) == [line for line in lines if line.status is not PersonaStatus.WITHDRAWN]
    by_id = {atom.id: atom for atom in atoms}
    assert len({line.id for line in lines}) == len(lines)
    for line in lines:
        if line.status is PersonaStatus.STANDING and line.section != "standing instructions":
            cited = [by_id[key] for key in line.atoms]
            assert len(cited) >= 3
            assert len({SCENES[atom.id] for atom in cited}) >= 2
            assert len({atom.valid_from // 86_400_000 for atom in cited}) >= 3
            assert all(atom.status is AtomStatus.ACTIVE for atom in cited)
