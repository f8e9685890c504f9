"""A model's ruling may end a claim only where the property is the same: labelled pairs in English, Chinese and both."""

from __future__ import annotations

from typing import Any

import pytest
from test_arbiter import atom, draft, rule

from stenolith.distill.arbiter import settle
from stenolith.distill.relations import related
from stenolith.model.atom import Kind

# new statement, known statement: one property of one thing, with another value
CONFLICTS = (
    ("Lives in Linz", "Lives in Graz"),
    ("I moved to Linz", "I live in Graz"),
    ("Works at Globex", "Works at Acme"),
    ("Works as a nurse", "Works as a teacher"),
    ("My cat is now called Max", "My cat is called Milo"),
    ("I don't like tea any more", "I like tea"),
    ("Cannot stand spicy noodles any more", "Loves spicy noodles"),
    ("Has given up coffee", "Drinks coffee"),
    ("I never eat peanuts", "I eat peanuts"),
    ("The gateway listens on port 9443", "The gateway runs on port 8443"),
    ("We moved to MySQL", "Our database is Postgres"),
    ("Uses VS Code now", "Uses Vim"),
    ("We deploy on Mondays", "We deploy on Fridays"),
    ("The stand-up is at 10:30", "The stand-up is at 9:15"),
    ("My car is blue", "My car is red"),
    ("Has 3 cats", "Has 2 cats"),
    ("Earns 60k a year", "Earns 50k a year"),
    ("The billing team is led by Bo", "The billing team is led by Kim"),
    ("The release ships in May", "The release ships in March"),
    ("The Orion project is paused", "The Orion project is in progress"),
    ("No longer vegetarian, eats meat", "Is vegetarian"),
    ("The old login module may be refactored", "The old login module must not be refactored"),
    ("Answer in English", "Answer in Chinese"),
    ("我搬到北京了", "我住在上海"),
    ("用户在字节工作", "用户在腾讯工作"),
    ("项目 A 的负责人换成 Wang 了", "项目 A 的负责人是 Li"),
    ("项目 A 改用 MySQL 了", "项目 A 用 Postgres"),
    ("不喜欢喝茶了", "喜欢喝茶"),
    ("戒了咖啡", "每天喝咖啡"),
    ("网关的端口改成 9443", "网关端口是 8443"),
    ("周三开例会", "周一开例会"),
    ("猫改名叫团子", "猫的名字是煤球"),
    ("旧鉴权模块可以重构了", "旧鉴权模块先不要重构"),
    ("默认分支是 main", "默认分支是 master"),
    ("我开始吃肉了，不再素食", "我是素食者"),
    ("用户搬到林茨了", "Lives in Graz"),
    ("改用 MySQL 了", "Our database is Postgres"),
    ("Lives in Linz now", "用户住在格拉茨"),
    ("不再用 Zellij 了", "Uses Zellij"),
    ("网关端口是 9443", "The gateway runs on port 8443"),
)
# what shares a word, or nothing, and is no conflict
UNRELATED = (
    ("I like tea", "I like my red car"),
    ("I like tea", "I like cars"),
    ("Likes hiking", "Likes chess"),
    ("I love Graz", "I work in Graz"),
    ("Tea keeps the user awake", "Likes tea"),
    ("Has a cat", "Has a car"),
    ("Has a dog named Rex", "Has a cat named Milo"),
    ("My cat Milo likes the blue cushion", "My cat is called Milo"),
    ("My cat likes the blue cushion", "My bicycle is blue"),
    ("Allergic to peanuts", "Allergic to penicillin"),
    ("Drinks oat milk", "Drinks coffee"),
    ("The gateway logs go to Loki", "The gateway runs on port 8443"),
    ("The gateway has 5 engineers", "The gateway has 3 nodes"),
    ("The search service runs on port 9443", "The billing service runs on port 8443"),
    ("The search team is led by Bo", "The billing team is led by Kim"),
    ("We deploy to Hetzner", "We deploy on Fridays"),
    ("Team lunch is on Tuesday", "Team meeting is on Monday"),
    ("Works from home on Fridays", "Works at Acme"),
    ("Uses Postgres", "Uses Vim for notes"),
    ("The project is called Orion", "The project uses Postgres"),
    ("Never lends the car", "Has a red car"),
    ("Bo lives in Linz", "Kim lives in Graz"),
    ("The build is green", "My bicycle is green"),
    ("项目 B 的负责人是 Li", "项目 A 用 Postgres"),
    ("项目 B 的负责人是 Wang", "项目 A 的负责人是 Li"),
    ("项目 B 用 MySQL", "项目 A 用 Postgres"),
    ("我喜欢喝茶", "我喜欢红色的车"),
    ("用户喜欢爬山", "用户喜欢下棋"),
    ("我住在上海", "我喜欢上海"),
    ("养了一只狗", "养了一只猫"),
    ("对花生过敏", "对青霉素过敏"),
    ("网关的日志写到 Loki", "网关端口是 8443"),
    ("搜索服务的端口是 9443", "计费服务的端口是 8443"),
    ("周三去健身", "周一开例会"),
    ("这个项目用 Redis 做缓存", "这个项目的负责人是 Li"),
    ("项目 A 用 Postgres", "I like tea"),
    ("Works at Acme", "用户喜欢喝茶"),
    ("用户住在格拉茨", "Likes Vim"),
    ("The deploy needs two reviewers", "部署在周五"),
    ("MySQL 的端口是 3306", "Lives in Graz"),
)


def pair(new: str, old: str) -> tuple[Any, Any]:
    return draft(new), atom(1, old)


@pytest.mark.parametrize(("new", "old"), CONFLICTS)
def test_another_value_of_the_same_property_takes_the_place_of_the_old_one(new: str, old: str) -> None:
    fresh, known = pair(new, old)
    assert related(fresh, known)
    assert related(known, fresh)
    assert settle(fresh, rule("supersede", known), [known]).action == "replace"


@pytest.mark.parametrize(("new", "old"), UNRELATED)
@pytest.mark.parametrize("action", ["supersede", "update", "merge", "skip"])
def test_a_wrong_ruling_retires_nothing_that_is_not_related_and_is_counted(new: str, old: str, action: Any) -> None:
    fresh, known = pair(new, old)
    verdict = settle(fresh, rule(action, known), [known])
    assert (verdict.action, verdict.targets, verdict.note) == ("add", (), f"added, no {action}")
    if action == "supersede":
        assert not related(known, fresh)


@pytest.mark.parametrize("attribute", ["preference", "likes", "偏好", "hobby", "Preferences"])
def test_a_name_that_fits_everything_relates_nothing(attribute: str) -> None:
    new, old = draft("I like tea", attribute=attribute), atom(1, "I like cars", attribute=attribute)
    assert settle(new, rule("supersede", old), [old]).note == "added, no supersede"


@pytest.mark.parametrize(("mine", "theirs"), [("database", "数据库"), ("端口", "port"), ("home city", "city")])
def test_one_property_has_many_names(mine: str, theirs: str) -> None:
    new, old = draft("It is that.", attribute=mine), atom(1, "It was this.", attribute=theirs)
    assert settle(new, rule("supersede", old), [old]).action == "replace"


def test_history_does_not_end_however_alike_the_words() -> None:
    new, old = draft("Lives in Linz"), atom(1, "Lived in Graz as a child", kind=Kind.EVENT)
    assert settle(new, rule("supersede", old), [old]).action == "add"
