"""Ways of working that people state in many words and in two languages: rows, so that they can be counted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

WORKING: Final = "working style"
COLLABORATION: Final = "collaboration"
PREFERENCES: Final = "preferences"
STANDING: Final = "standing instructions"
SECTIONS: Final = (WORKING, COLLABORATION, PREFERENCES, STANDING)
"""The parts of a persona, in the order in which they are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trait:
    """One way of working: *key* is stable, *pattern* recognises its wordings."""

    key: str
    section: str
    pattern: re.Pattern[str]


def _trait(key: str, section: str, *wordings: str) -> Trait:
    return Trait(key=key, section=section, pattern=re.compile("|".join(wordings), re.IGNORECASE))


TRAITS: Final = (
    _trait(
        "understand before changing",
        WORKING,
        r"调用链|先.{0,6}(?:理解|看懂|读懂|弄懂|弄清|搞清|吃透).{0,16}(?:再|然后)",
        r"\bcall (?:chain|graph|path)s?\b",
        r"\bunderstand\b.{0,40}\bbefore\b.{0,30}\b(?:chang|touch|edit|modif|refactor)",
    ),
    _trait(
        "compatibility",
        WORKING,
        r"兼容|不(?:要|能)破坏(?:旧|老|现有)",
        r"\b(?:backwards?|forwards?)[ -]compatib|\bcompatibility\b|\bbreaking changes?\b|\bdo(?:n't| not) break\b",
    ),
    _trait(
        "reversibility",
        WORKING,
        r"回滚|可逆|可回退|回退方案|单独回退",
        r"\broll(?:ed)?[ -]?backs?\b|\breversib|\brevert(?:ed|ible|able)?\b",
    ),
    _trait(
        "small steps",
        WORKING,
        r"小步|增量(?:改|修|式|的)|一步一步|小的?(?:PR|提交|改动)|拆成小",
        r"\bsmall(?:er)? (?:steps?|commits?|prs?|pull requests?|changes?|diffs?)\b|\bincremental",
    ),
    _trait(
        "tests",
        WORKING,
        r"先(?:写|跑|补).{0,4}测试|测试先行",
        r"\btests? first\b|\btdd\b|\b(?:write|run|add)\b.{0,16}\btests?\b.{0,12}\b(?:first|before)\b",
    ),
    _trait("backups", WORKING, r"备份", r"\bback(?:ed)?[ -]?ups?\b"),
    _trait(
        "conclusion first",
        COLLABORATION,
        r"先.{0,6}结论|结论(?:在前|先行|放前面)|开门见山",
        r"\b(?:conclusions?|answers?) first\b|\bbottom line\b|\btl;?dr\b",
        r"\b(?:start|begin|lead)s? with the (?:conclusion|answer|result)",
    ),
    _trait(
        "short answers",
        COLLABORATION,
        r"(?:回答|回复|说话|解释).{0,6}(?:简短|简洁|简单点|精简|短一?点)|(?:别|不要?)(?:太)?啰嗦|言简意赅",
        r"\b(?:short|concise|brief|terse) (?:answers?|repl|responses?)|\bwithout (?:any )?preamble",
        r"\bkeep (?:it|answers|replies) (?:short|brief|concise)",
    ),
    _trait(
        "impact first",
        COLLABORATION,
        r"影响范围|影响面|高风险",
        r"\bblast radius\b|\b(?:explain|state|say|show|list)\b.{0,20}\b(?:impact|risks?)\b",
    ),
    _trait(
        "ask first",
        COLLABORATION,
        r"先(?:问|跟我确认|和我确认|征求)|(?:动手|执行|修改|删除)(?:之)?前.{0,4}(?:问|确认)",
        r"\bask (?:me )?(?:first|before)\b|\b(?:check|confirm) with me\b",
    ),
)


def traits_of(text: str) -> list[Trait]:
    """Return the ways of working that *text* speaks of; often none."""
    return [trait for trait in TRAITS if trait.pattern.search(text)]
