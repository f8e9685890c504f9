"""Scenes: what belongs together, what a dossier says, and the laws of regrouping."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenolith.distill.markdown import Citation, render_directory, render_persona, render_scene
from stenolith.distill.scenes import SceneAction, SceneChange, SceneSettings, group, scene_of
from stenolith.distill.titles import slug
from stenolith.model.atom import Atom, AtomStatus, Kind, Source
from stenolith.model.identity import is_id
from stenolith.model.persona import PersonaLine, PersonaStatus
from stenolith.model.scene import Scene, Section

DAY = 24 * 3_600_000
T0 = 1_785_722_400_000  # 2026-08-03T10:00:00+08:00, the seed's own time
SHANGHAI = ZoneInfo("Asia/Shanghai")
SETTINGS = SceneSettings(zone=SHANGHAI)


def atom(number: int, text: str, kind: Kind = Kind.FACT, **more: object) -> Atom:
    when = T0 + number * 60_000
    plain = Atom(
        id=f"atm_{number:026d}", kind=kind, text=text, priority=60, subject="project", attribute="", speaker="",
        role="user", session_key="dev", session_id="s1", status=AtomStatus.ACTIVE, version=1,
        root_id=f"atm_{number:026d}", supersedes=None, superseded_by=None, reason="", recorded_at=when, valid_from=when,
        valid_until=None, occurred_start=None, occurred_end=None, expires_at=None, origin="rules", provenance={},
        sources=(Source(record_id=f"rec_{number:026d}", quote=text, timestamp=when),),
    )  # fmt: skip
    return replace(plain, **more)


def regroup(atoms: Sequence[Atom], scenes: Sequence[Scene] = (), settings: SceneSettings = SETTINGS) -> list[Scene]:
    return apply(scenes, group(atoms, scenes, vectors=None, now_ms=T0 + DAY, settings=settings))


def apply(scenes: Sequence[Scene], changes: Sequence[SceneChange]) -> list[Scene]:
    by_id = {scene.id: scene for scene in scenes}
    for change in changes:
        by_id.pop(change.scene.id, None)
        if change.action is not SceneAction.REMOVE:
            by_id[change.scene.id] = change.scene
    return list(by_id.values())


AUTH = [
    atom(1, "旧的鉴权模块先不要重构，移动端还在使用它。", Kind.CONSTRAINT, subject="旧鉴权模块", priority=80),
    atom(2, "新接口统一使用v3认证，新旧鉴权暂时并行。", Kind.DECISION, subject="新接口", priority=70),
    atom(3, "旧移动端仍然使用legacy-auth登录。", subject="移动端"),
    atom(4, "旧移动端的下线时间尚未确认。", subject="移动端"),
    atom(5, "2026-08-02完成了v3鉴权接口的基础实现。", Kind.EVENT),
]
CORE = [
    atom(11, "2026-08-03完成了MemoryCore部署。", Kind.EVENT, session_id="s2"),
    atom(12, "修改MemoryCore的Pipeline后要检查空闲定时器。", Kind.LESSON, session_id="s2"),
    atom(13, "MemoryCore的配置统一放在config目录。", Kind.DECISION, session_id="s2"),
]
LIFE = [
    atom(21, "我对花生过敏。", subject="user", session_id="s3", priority=95),
    atom(22, "我们十月去京都旅行。", Kind.EVENT, session_id="s3"),
]


def test_two_projects_and_a_private_life_are_three_kinds_of_scenes() -> None:
    scenes = regroup([*AUTH, *CORE, *LIFE])
    home = scene_of(scenes)
    auth, core, life = ({home[a.id] for a in atoms} for atoms in (AUTH, CORE, LIFE))
    assert len(core) == len(life) == 1
    assert auth.isdisjoint(core | life)
    assert core.isdisjoint(life)
    titles = {scene.id: scene.title for scene in scenes}
    assert "MemoryCore" in titles[core.pop()]
    assert titles[life.pop()] == "个人与偏好"
    assert any("鉴权" in titles[key] for key in auth)


def test_a_scene_has_the_sections_of_the_seed_and_every_line_cites() -> None:
    atoms = [replace(a, subject="旧鉴权模块") for a in AUTH]
    (scene,) = regroup(atoms)
    assert [(line.section, line.text) for line in scene.lines] == [
        ("background", "旧移动端仍然使用legacy-auth登录。"),
        ("constraints", "旧的鉴权模块先不要重构，移动端还在使用它。"),
        ("decisions", "新接口统一使用v3认证，新旧鉴权暂时并行。"),
        ("events", "2026-08-02完成了v3鉴权接口的基础实现。"),
        ("open points", "旧移动端的下线时间尚未确认。"),
    ]
    assert [line.atoms for line in scene.lines] == [(atoms[at].id,) for at in (2, 0, 1, 4, 3)]
    assert scene.summary.startswith("旧的鉴权模块先不要重构，移动端还在使用它。")
    assert (scene.version, scene.archived) == (1, False)
    assert is_id(scene.id, "scn")


def test_the_same_atoms_again_change_nothing() -> None:
    atoms = [*AUTH, *CORE, *LIFE]
    scenes = regroup(atoms)
    assert group(atoms, scenes, vectors=None, now_ms=T0 + 9 * DAY, settings=SETTINGS) == []
    assert regroup(atoms) == scenes


def test_the_order_in_which_atoms_are_given_does_not_matter() -> None:
    atoms = [*AUTH, *CORE, *LIFE]
    expected = sorted(regroup(atoms), key=lambda scene: scene.id)
    for seed in range(5):
        shuffled = random.Random(seed).sample(atoms, len(atoms))
        assert sorted(regroup(shuffled), key=lambda scene: scene.id) == expected


def test_a_new_atom_renames_nothing_and_joins_its_project() -> None:
    scenes = regroup([*AUTH, *CORE])
    fresh = atom(30, "MemoryCore的备份每天凌晨两点跑。", session_id="s9", session_key="other")
    later = regroup([*AUTH, *CORE, fresh], scenes)
    assert {(s.id, s.name, s.title) for s in later} == {(s.id, s.name, s.title) for s in scenes}
    home = scene_of(later)
    assert home[fresh.id] == home[CORE[0].id]
    grown = next(scene for scene in later if scene.id == home[fresh.id])
    assert grown.version == 2


def test_a_successor_takes_the_place_of_its_predecessor_and_says_what_was_before() -> None:
    scenes = regroup([*AUTH, *CORE])
    old = replace(CORE[2], status=AtomStatus.SUPERSEDED, superseded_by="atm_new", valid_until=T0 + DAY)
    new = atom(
        40, "统一改用环境变量。", Kind.DECISION, id="atm_new", root_id=old.root_id, supersedes=old.id, session_id="s8"
    )
    later = regroup([*AUTH, *CORE[:2], old, new], scenes)
    home = scene_of(later)
    assert home["atm_new"] == scene_of(scenes)[old.id]
    scene = next(scene for scene in later if scene.id == home["atm_new"])
    (line,) = [line for line in scene.lines if line.section == Section.DECISIONS]
    assert line.text == "统一改用环境变量。（至 2026-08-04：MemoryCore的配置统一放在config目录。）"
    assert line.atoms == ("atm_new", old.id)


def test_history_is_told_in_the_language_of_the_line() -> None:
    old = atom(
        1,
        "We use Postgres.",
        Kind.DECISION,
        status=AtomStatus.SUPERSEDED,
        superseded_by=f"atm_{2:026d}",
        valid_until=T0,
    )
    new = atom(2, "We use SQLite.", Kind.DECISION, root_id=old.id, supersedes=old.id)
    (scene,) = regroup([old, new])
    assert [line.text for line in scene.lines] == ["We use SQLite. (until 2026-08-03: We use Postgres.)"]


@pytest.mark.parametrize("status", [AtomStatus.WITHDRAWN, AtomStatus.EXPIRED, AtomStatus.SUPERSEDED])
def test_an_atom_that_does_not_hold_is_in_no_line(status: AtomStatus) -> None:
    scenes = regroup([*AUTH, *CORE])
    gone = replace(CORE[1], status=status)
    later = regroup([*AUTH, CORE[0], gone, CORE[2]], scenes)
    assert gone.id not in scene_of(later)
    assert all("空闲定时器" not in f"{line.text}{scene.summary}" for scene in later for line in scene.lines)


def test_a_deleted_atom_leaves_no_trace_and_the_last_one_takes_the_scene_with_it() -> None:
    scenes = regroup([*AUTH, *CORE])
    later = regroup([*AUTH, *CORE[:1]], scenes)
    assert all("空闲定时器" not in str(scene) for scene in later)
    changes = group(AUTH, later, vectors=None, now_ms=T0 + DAY, settings=SETTINGS)
    assert [change.action for change in changes] == [SceneAction.REMOVE]
    assert changes[0].scene.id == scene_of(later)[CORE[0].id]


def test_two_scenes_that_turn_out_to_be_about_the_same_subject_become_the_older_one() -> None:
    first, second = atom(1, "网关 alpha", subject="网关"), atom(2, "网关 beta", subject="网关")
    scenes = [*regroup([first]), *(replace(s, created_at=T0 + 2 * DAY) for s in regroup([second]))]
    assert len(scenes) == 2
    changes = group([first, second], scenes, vectors=None, now_ms=T0 + 3 * DAY, settings=SETTINGS)
    assert sorted((change.action.value, change.scene.id, change.into) for change in changes) == [
        ("remove", scenes[1].id, scenes[0].id),
        ("update", scenes[0].id, ""),
    ]
    assert group([first, second], apply(scenes, changes), vectors=None, now_ms=T0, settings=SETTINGS) == []


def test_statements_that_contradict_each_other_stay_as_an_open_point() -> None:
    first = atom(1, "网关的缓存是Redis。", subject="网关", attribute="cache")
    second = atom(2, "网关的缓存是Memcached。", subject="网关", attribute="cache")
    (scene,) = regroup([first, second])
    (line,) = scene.lines
    assert line.section == Section.OPEN
    assert line.text == "尚无定论：网关的缓存是Redis。 ↔ 网关的缓存是Memcached。"
    assert line.atoms == (first.id, second.id)


def test_the_same_words_make_one_line_that_cites_both() -> None:
    first, second = atom(1, "MemoryCore部署在两台机器上。"), atom(2, "MemoryCore部署在两台机器上")
    (scene,) = regroup([first, second])
    assert [line.atoms for line in scene.lines] == [(first.id, second.id)]


def test_a_long_scene_keeps_what_matters_and_cites_the_rest() -> None:
    atoms = [atom(n, f"MemoryCore note number {n}x.", priority=90 if n == 3 else 50) for n in range(80)]
    (scene,) = regroup(atoms)
    assert len(scene.lines) == 60
    assert {cited for line in scene.lines for cited in line.atoms} == {a.id for a in atoms}
    assert "MemoryCore note number 3x." in [line.text for line in scene.lines]
    assert "21 more notes" in [line.text for line in scene.lines]
    assert group(atoms, [scene], vectors=None, now_ms=T0, settings=SETTINGS) == []


def test_the_coldest_scenes_are_archived_and_come_back_when_spoken_of() -> None:
    atoms = [
        atom(n * 10_000, f"Project{n}X uses tool{n}y.", subject=f"Project{n}X", session_id=f"s{n}") for n in range(20)
    ]
    scenes = regroup(atoms)
    assert len(scenes) == 20
    cold = {scene.title for scene in scenes if scene.archived}
    assert cold == {f"Project{n}X" for n in range(5)}
    fresh = atom(999_999, "Project0X has a new owner.", subject="Project0X", session_id="s99")
    later = regroup([*atoms, fresh], scenes)
    assert {scene.title for scene in later if scene.archived} == {f"Project{n}X" for n in range(1, 6)}
    assert len(later) == 20


def test_archiving_is_no_change_of_content() -> None:
    atoms = [
        atom(n, f"{name} moved.", subject=name, session_id=name)
        for n, name in enumerate(["Apollo", "Borealis", "Cygnus"])
    ]
    scenes = regroup(atoms)
    narrow = replace(SETTINGS, max_live=1)
    changes = group(atoms, scenes, vectors=None, now_ms=T0 + 9 * DAY, settings=narrow)
    assert [(change.scene.archived, change.scene.updated_at) for change in changes] == [(True, T0 + DAY)] * 2


def test_vectors_join_what_shares_no_word() -> None:
    words = ["oranges", "lemons", "limes", "pears", "nails", "screws", "bolts", "rivets"]
    atoms = [
        atom(n, f"{word} arrived", subject=word, session_id=f"s{n}", session_key=f"k{n}")
        for n, word in enumerate(words)
    ]
    fruit, metal = (1.0, 0.0, 0.2), (0.0, 1.0, 0.2)
    vectors = {a.id: fruit if n < 4 else metal for n, a in enumerate(atoms)}
    near = apply([], group(atoms, [], vectors=vectors, now_ms=T0, settings=SETTINGS))
    assert len(near) == 2
    assert len(regroup(atoms)) == 8


def test_a_tokenizer_of_the_callers_own_decides_what_words_are() -> None:
    atoms = [atom(1, "aa xx"), atom(2, "bb xx", session_id="s2", session_key="k2")]
    one = apply([], group(atoms, [], vectors=None, now_ms=T0, terms=lambda text: text.split()))
    assert len(one) == 1


def test_what_three_private_notes_share_becomes_a_scene_of_its_own() -> None:
    runs = [atom(n, f"跑步{n}0公里。", Kind.EVENT, subject="user", session_id=f"s{n}") for n in range(1, 4)]
    scenes = regroup([*runs, *LIFE])
    home = scene_of(scenes)
    assert len({home[a.id] for a in runs}) == 1
    assert home[runs[0].id] != home[LIFE[0].id]
    assert group([*runs, *LIFE], scenes, vectors=None, now_ms=T0, settings=SETTINGS) == []


_WORDS = [
    "鉴权",
    "模块",
    "MemoryCore",
    "部署",
    "v3",
    "接口",
    "legacy-auth",
    "queue",
    "coffee",
    "跑步",
    "Redis",
    "回滚",
    "编辑器",
    "Zed",
]
_ATOMS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4),
        st.sampled_from(list(Kind)),
        st.sampled_from(["user", "project", "网关", "MemoryCore"]),
        st.integers(1, 4),
        st.sampled_from([AtomStatus.ACTIVE] * 4 + [AtomStatus.SUPERSEDED, AtomStatus.WITHDRAWN]),
    ),
    max_size=30,
).map(
    lambda rows: [
        atom(n * 50, " ".join(words), kind, subject=subject, session_id=f"s{session}", status=status)
        for n, (words, kind, subject, session, status) in enumerate(rows)
    ]
)


@given(_ATOMS, st.integers(0, 30))
def test_every_living_atom_is_in_exactly_one_scene_and_regrouping_is_idempotent(atoms: list[Atom], split: int) -> None:
    tight = SceneSettings(max_live=3, max_lines=5)
    scenes = regroup(atoms[:split], (), tight)
    names = {scene.id: (scene.name, scene.title) for scene in scenes}
    scenes = regroup(atoms, scenes, tight)
    assert group(atoms, scenes, vectors=None, now_ms=T0, settings=tight) == []
    cited = [key for scene in scenes for line in scene.lines for key in line.atoms]
    assert sorted(cited) == sorted(a.id for a in atoms if a.status is AtomStatus.ACTIVE)
    assert all(1 <= len(scene.lines) <= 5 for scene in scenes)
    assert sum(not scene.archived for scene in scenes) <= 3
    assert len({scene.name.casefold() for scene in scenes}) == len(scenes)
    assert all(names.get(scene.id, (scene.name, scene.title)) == (scene.name, scene.title) for scene in scenes)


SLUGS = [
    ("移动端鉴权兼容", "移动端鉴权兼容"),
    ("MemoryCore 部署", "MemoryCore-部署"),
    ("MemoryCore · 空闲定时器", "MemoryCore-空闲定时器"),
    ("v2 → v3 数据迁移", "v2-v3-数据迁移"),
    ("Daily Rhythm in Shanghai", "Daily-Rhythm-in-Shanghai"),
    ("Coffee (Yirgacheffe)", "Coffee-Yirgacheffe"),
    ("../../etc/passwd", "etc-passwd"),
    ("a\u00a0b\u3000c", "a-b-c"),
    ("C:\\temp", "C-temp"),
    ("😀", "scene"),
    ("...", "scene"),
    ("CON", "scene-CON"),
    ("Edit", "scene-Edit"),
    ("nul.txt", "scene-nul.txt"),
    ("ｖ３接口", "v3接口"),
    ("x" * 100, "x" * 48),
    ("漢" * 300, "漢" * 48),
    ("हिन्दी परियोजना", "हिन्दी-परियोजना"),
    ("โครงการ ภาษาไทย", "โครงการ-ภาษาไทย"),
    ("مشروع الأوركسترا", "مشروع-الأوركسترا"),
    ("פרויקט \u202eאוריון", "פרויקט-אוריון"),
    ("Проект «Орион»", "Проект-Орион"),
    ("한국어 프로젝트", "한국어-프로젝트"),
    ("日本語のプロジェクト", "日本語のプロジェクト"),
    ("Cafe\u0301", "Café"),
    ("🚀 Launch ✈️", "Launch"),
    ("👩\u200d💻 team", "team"),
    ("a\u200bb", "a-b"),
]


@pytest.mark.parametrize(("title", "name"), SLUGS)
def test_a_name_is_safe_as_a_file_name(title: str, name: str) -> None:
    assert slug(title, []) == name


def test_a_clash_of_names_gets_a_number_without_regard_to_case() -> None:
    assert slug("Auth", ["auth"]) == "Auth-2"
    assert slug("Auth", ["auth", "AUTH-2"]) == "Auth-3"
    assert slug("Café", ["cafe\u0301"]) == "Café-2"
    assert slug("STRASSE", ["straße"]) == "STRASSE-2"
    assert slug("x" * 300, ["x" * 48, f"{'x' * 48}-2"]) == f"{'x' * 48}-3"


@pytest.mark.parametrize("title", ["", "🚀", "हिन्दी", "../..", "x" * 5000, "\u202e", "a\u0301" * 100, "edit", "con"])
def test_a_name_is_its_own_name(title: str) -> None:
    name = slug(title, [])
    assert slug(name, []) == name
    assert 0 < len(name) <= 48 + len("scene-")


def test_a_scene_renders_to_markdown_with_footnotes() -> None:
    atoms = [replace(a, subject="旧鉴权模块") for a in AUTH[:3]]
    scene = replace(regroup(atoms)[0], title="移动端鉴权兼容")
    page = render_scene(scene, {a.id: a for a in atoms}, SHANGHAI)
    assert page.text == (
        f"<!-- stenolith scene {scene.id} revision 1; `stenolith scene edit` makes changes count -->\n"
        "\n"
        "# 移动端鉴权兼容\n"
        "\n"
        "> 旧的鉴权模块先不要重构，移动端还在使用它。 新接口统一使用v3认证，新旧鉴权暂时并行。\n"
        "\n"
        "## 背景\n"
        "\n"
        "- 旧移动端仍然使用legacy-auth登录。 [^1]\n"
        "\n"
        "## 约束与偏好\n"
        "\n"
        "- 旧的鉴权模块先不要重构，移动端还在使用它。 [^2]\n"
        "\n"
        "## 已做决策\n"
        "\n"
        "- 新接口统一使用v3认证，新旧鉴权暂时并行。 [^3]\n"
        "\n"
        "[^1]: atm_00000000000000000000000003 (fact, 2026-08-03)\n"
        "[^2]: atm_00000000000000000000000001 (constraint, 2026-08-03)\n"
        "[^3]: atm_00000000000000000000000002 (decision, 2026-08-03)\n"
    )
    assert page.citations == (
        Citation(line=9, atoms=(atoms[2].id,)),
        Citation(line=13, atoms=(atoms[0].id,)),
        Citation(line=17, atoms=(atoms[1].id,)),
    )
    lines = page.text.splitlines()
    assert all(lines[citation.line - 1].startswith("- ") for citation in page.citations)


def test_an_english_scene_has_english_headings_and_line_breaks_do_not_break_lists() -> None:
    (scene,) = regroup([atom(1, "Never publish\n# without a changelog.", Kind.CONSTRAINT, subject="shelfmark")])
    text = render_scene(scene, {}, SHANGHAI).text
    assert "## Constraints and wishes\n\n- Never publish # without a changelog. [^1]\n" in text
    assert text.endswith("[^1]: atm_00000000000000000000000001\n")


def test_the_directory_lists_live_scenes_oldest_first() -> None:
    scenes = [
        Scene(id="scn_b", name="MemoryCore-部署", title="MemoryCore 部署", summary="两台机器。", terms=(), lines=(), version=1, created_at=T0 + 1, updated_at=T0 + DAY),
        Scene(id="scn_a", name="auth", title="Auth", summary="Keep it.", terms=(), lines=(), version=1, created_at=T0, updated_at=T0),
        Scene(id="scn_c", name="old", title="Old", summary="", terms=(), lines=(), version=1, created_at=T0, updated_at=T0, archived=True),
    ]  # fmt: skip
    expected = "- **Auth** (`auth`): Keep it. [2026-08-03, 0]\n- **MemoryCore 部署** (`MemoryCore-部署`): 两台机器。 [2026-08-04, 0]"
    assert render_directory(scenes, SHANGHAI) == expected
    assert render_directory(scenes[::-1], SHANGHAI) == expected
    assert render_directory([]) == ""


def test_the_persona_shows_what_stands_then_candidates_with_what_is_missing() -> None:
    lines = [
        PersonaLine(id="p0", section="standing instructions", text="Answer in Chinese.", atoms=("a3",), status=PersonaStatus.STANDING),
        PersonaLine(id="p1", section="working style", text="Small steps.", atoms=("a1", "a2"), status=PersonaStatus.STANDING),
        PersonaLine(id="p2", section="working style", text="Tests first.", atoms=("a2",), status=PersonaStatus.CANDIDATE, missing="one more day"),
        PersonaLine(id="p3", section="working style", text="", atoms=(), status=PersonaStatus.WITHDRAWN),
    ]  # fmt: skip
    page = render_persona(lines)
    assert page.text == (
        "# Persona\n\n## Working style\n\n- Small steps. [^1][^2]\n\n"
        "## Standing instructions\n\n- Answer in Chinese. [^3]\n\n"
        "## Candidates (not enough evidence)\n\n- Tests first. — one more day [^2]\n\n[^1]: a1\n[^2]: a2\n[^3]: a3\n"
    )
    assert page.citations == (
        Citation(line=5, atoms=("a1", "a2")),
        Citation(line=9, atoms=("a3",)),
        Citation(line=13, atoms=("a2",)),
    )
