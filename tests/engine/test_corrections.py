"""A changed mind without a model: the old claim becomes history, its neighbours stay."""

from __future__ import annotations

import pytest

from stenolith import Memory
from stenolith.model.identity import Scope
from stenolith.model.message import Message, Role, Text
from stenolith.settings import load

DAY = 86_400_000
T0 = 1_785_657_600_000
SCOPE = Scope(session_key="s")
CORRECTIONS = [
    ("The deploy day is Wednesday.", "Actually, the deploy day is Thursday, not Wednesday."),
    ("Our deploy day is Wednesday.", "Actually, our deploy day is Thursday."),
    ("我们的部署日是周三。", "其实部署日改成周四了。"),
    ("I live in Berlin.", "Actually, I live in Munich now."),
    ("I live in Berlin.", "Actually I moved to Munich last month."),
    ("We use Redis for caching.", "Actually, we switched from Redis to Valkey for caching."),
    ("We use Redis for caching.", "We no longer use Redis for caching."),
    ("我喜欢喝咖啡。", "我不再喝咖啡了，改喝茶。"),
    ("我住在北京。", "我搬到上海了，不住北京了。"),
    ("我们的数据库用的是 MySQL。", "数据库改成 PostgreSQL 了。"),
    ("My manager is Alice.", "Actually, my manager is Bob now."),
    ("The staging gateway listens on port 8080.", "Correction: the staging gateway listens on port 8443."),
    ("项目的负责人是小李。", "不对，项目的负责人是小王。"),
    ("I'm allergic to peanuts.", "Actually I'm not allergic to peanuts, it was a misdiagnosis."),
    ("我对花生过敏。", "我其实不对花生过敏，是误诊。"),
    ("I prefer dark mode.", "Actually I prefer light mode now."),
]
NEIGHBOURS = [
    "My sister is Anna.",
    "I'm allergic to penicillin.",
    "Our release branch is stable-2.",
    "The billing gateway listens on port 9090.",
    "I love hiking in the Alps.",
    "我喜欢吃辣。",
]


def said(text: str, at: int) -> list[Message]:
    return [
        Message(role=Role.USER, parts=(Text(text=text),), timestamp=at),
        Message(role=Role.ASSISTANT, parts=(Text(text="Noted."),), timestamp=at + 500),
    ]


@pytest.fixture
def quiet(tmp_path):
    return load(home=tmp_path / "home", timezone="UTC", embedder={"kind": "none"})


@pytest.mark.parametrize(("before", "after"), CORRECTIONS)
async def test_a_correction_ends_what_it_corrects_and_nothing_else(quiet, before: str, after: str) -> None:
    async with Memory.open(settings=quiet) as memory:
        for day, text in enumerate([*NEIGHBOURS, before]):
            await memory.capture(said(text, T0 + day * DAY), scope=SCOPE)
        await memory.work()
        known = {atom["text"] for atom in (await memory.list("atoms", scope=SCOPE))["items"]}
        old = known - {text for text in known if any(near.rstrip(".。") in text for near in NEIGHBOURS)}
        assert len(known) == len(NEIGHBOURS) + 1
        await memory.capture(said(after, T0 + 30 * DAY), scope=SCOPE)
        await memory.work()
        superseded = (await memory.list("atoms", scope=SCOPE, status="superseded"))["items"]
        assert {atom["text"] for atom in superseded} == old
        active = {atom["text"] for atom in (await memory.list("atoms", scope=SCOPE))["items"]}
        assert active >= known - old
        assert len(active) == len(known)
        (heir,) = active - known
        history = await memory.history(superseded[0]["id"], scope=SCOPE)
        assert [version["text"] for version in history] == [*old, heir]


OTHERS = [
    ("We use Postgres for billing.", "We no longer use Postgres for analytics."),
    ("My manager is Alice.", "Actually, my sister's manager is Bob."),
    ("I live in Berlin.", "Actually my parents moved to Munich."),
    ("项目A的负责人是小李。", "更正：项目B的负责人是小王。"),
    ("I like tea.", "I no longer like coffee."),
    ("The staging gateway listens on port 8080.", "Correction: the billing gateway listens on port 9090."),
    ("Our release day is Friday.", "Actually our deploy day is Monday."),
    ("我喜欢喝咖啡。", "我不再喝酒了。"),
    ("我们的数据库用的是 MySQL。", "缓存改成 Redis 了。"),
    ("I'm allergic to peanuts.", "Actually I'm not allergic to cats."),
    ("我对花生过敏。", "我其实不对猫过敏。"),
    ("I prefer dark mode.", "Actually I prefer tabs over spaces."),
    ("We deploy to Hetzner.", "We no longer deploy on Fridays."),
    ("Our API runs on Node 22.", "Actually, our worker runs on Python 3.12 now."),
    ("我们的部署日是周三。", "其实发布日改成周四了。"),
    ("I work at Acme.", "Actually I used to work at Initech."),
]


@pytest.mark.parametrize(("before", "after"), OTHERS)
async def test_a_correction_of_something_else_ends_nothing(quiet, before: str, after: str) -> None:
    async with Memory.open(settings=quiet) as memory:
        await memory.capture(said(before, T0), scope=SCOPE)
        await memory.capture(said(after, T0 + DAY), scope=SCOPE)
        await memory.work()
        active = {atom["text"] for atom in (await memory.list("atoms", scope=SCOPE))["items"]}
        assert before in active
        assert (await memory.list("atoms", scope=SCOPE, status="superseded"))["items"] == []


@pytest.mark.parametrize(
    "text",
    [
        "Actually, I live for music.",
        "We no longer need the meeting room today.",
        "Actually, can you use Redis for this script?",
        "其实我也不知道用什么数据库。",
        "不对，你再看看端口。",
        "Actually that was fun.",
    ],
)
async def test_what_only_sounds_like_a_correction_ends_nothing(quiet, text: str) -> None:
    stated = {before for before, _ in CORRECTIONS if before.isascii()} - {"Our deploy day is Wednesday."}
    async with Memory.open(settings=quiet) as memory:
        for day, before in enumerate(sorted(stated)):
            await memory.capture(said(before, T0 + day * DAY), scope=SCOPE)
        await memory.capture(said(text, T0 + 30 * DAY), scope=SCOPE)
        await memory.work()
        assert (await memory.list("atoms", scope=SCOPE, status="superseded"))["items"] == []
        active = {atom["text"] for atom in (await memory.list("atoms", scope=SCOPE))["items"]}
        assert stated <= active
