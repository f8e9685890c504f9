"""Properties that have one value at a time, found in the words of a claim; and values that can take each other's place.

Tables of ours for English and Chinese, grown from the labelled pairs in ``tests/distill/test_relations.py``.
"""

from __future__ import annotations

import re
from typing import Final

from stenolith.distill.subjects import TOOL, category

TASTE: Final = "taste"
"""The one property of these that may hold many values: a like ends a dislike of the same thing only."""
_SINGLE: Final = {
    TASTE: r"\b(?:likes?|loves?|enjoys?|prefers?|preferred|hates?|dislikes?|detests?|fond of|favou?rites?|fan of"
    r"|(?:can't|cannot|can not) stand)\b|喜欢|最爱|热爱|爱[吃喝听看]|讨厌|偏爱|更喜|受不了|不爱",
    "home": r"\b(?:liv(?:es?|ed|ing) (?:in|at|near)|resid(?:es?|ing)|based in|moved? (?:to|from)|moving to|relocat\w+"
    r"|home (?:city|town|is)|hometown)\b|住在|住到|搬[到去家]|定居|家在",
    "employer": r"\b(?:work(?:s|ing|ed)? (?:at|for)|employ(?:er|ed)|joined|job at)\b"
    r"|在[^，。]{1,12}(?:工作|上班|任职|就职)|入职|跳槽|就职于",
    "job": r"\b(?:work(?:s|ing) as|job (?:title|is)|profession|occupation)\b"
    r"|职业|当[^，。]{0,6}(?:师|员|经理)|的职位",
    "name": r"\b(?:(?:is|was|are|got|been) now |(?:is|was|are|got|been|now) )?(?:called|named|renamed)\b|\bname is\b"
    r"|名字|名叫|叫做|改名|叫(?=\s*[A-Z一-鿿])",
    "birth": r"\b(?:born|birthday)\b|生日|出生",
    "lead": r"\b(?:led by|leads?|leader|lead is|in charge of|responsible for|owned by|owner|maintain(?:ed|er|s)"
    r"|belongs? to)\b|负责人|负责|归[^，。]{1,8}管|带队|组长|维护者",
    "port": r"\bports?\b|端口",
    "version": r"\bversions?\b|版本",
    "deadline": r"\b(?:deadline|due|ships?|shipping|releas(?:e|es|ed)|launch(?:es|ed)?|goes live)\b"
    r"|截止|上线|发布|交付|到期",
    "branch": r"\b(?:default|main) branch\b|默认分支|主分支",
    "timezone": r"\btime ?zones?\b|时区",
    "budget": r"\bbudgets?\b|预算",
    "price": r"\b(?:prices?|costs?)\b|价格|售价|费用",
    "salary": r"\b(?:salary|earns?|is paid)\b|工资|薪水|月薪|年薪",
    "email": r"\be-?mail\b|邮箱",
    "phone": r"\bphone\b|电话|手机号",
    "address": r"\baddress\b|地址",
    "timeout": r"\btime-?outs?\b|超时",
    "marriage": r"\b(?:married|engaged|single|divorced|dating)\b|已婚|结婚|离婚|单身|订婚",
    "diet": r"\b(?:vegetarian|vegan|eats? (?:no )?meat|carnivore)\b|素食|吃素|吃肉|荤",
    "status": r"\b(?:on hold|paused|in progress|cancell?ed|abandoned|finished|is done|is active|resumed)\b"
    r"|暂停|进行中|已完成|取消|恢复",
    "reply language": r"\b(?:answer|reply|respond)\w* (?:\w+ ){0,2}in [A-Z]\w+"
    r"|[用以说][^，。]{0,3}[中英日法德]文?[^，。]{0,3}(?:回答|回复)",
    "age": r"\b(?:years old|aged? \d+)\b|岁",
}
_PROPERTIES: Final = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _SINGLE.items()}
_NAMED_TOOL: Final = re.compile(TOOL, re.IGNORECASE)
CHANGES: Final = re.compile(
    r"\b(?:no longer|any ?more|any longer|stop(?:s|ped)?|quit|g[ai]ve[ns]? up|never|instead|changed|switched|replaced"
    r"|dropped|cancell?ed|abandoned|sold|gone)\b"
    r"|不再|不(?=[^，。是知]{0,8}了)|戒|停|改[成为用到]|换[成到]|取消|别再|不[喝吃用要去想做养]|没有(?=[^，。]{0,4}了)|卖[掉了]|放弃",
    re.IGNORECASE,
)
"""What says that something came to an end."""
_VALUES: Final = {
    "weekday": r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|(?:周|星期|礼拜)[一二三四五六日天]",
    "month": r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b"
    r"|[一二三四五六七八九十]{1,2}月|\d{1,2}\s*月",
    "hour": r"\b\d{1,2}(?::\d\d)?\s*(?:am|pm)\b|\b\d{1,2}:\d\d\b|\bnoon\b|\bmidnight\b"
    r"|[\d一二三四五六七八九十]+点|中午|半夜",
    "colour": r"\b(?:red|blue|green|yellow|black|white|gr[ae]y|brown|orange|purple|pink)\b|[红蓝绿黄黑白灰棕橙紫粉]色?",
    "number": r"\d[\d.,:%]*\w*",
}
_KINDS: Final = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _VALUES.items()}


def properties_of(text: str) -> dict[str, str]:
    """Return the properties that a claim tells, by name, each with the words before it: whose it is."""
    found = {}
    for name, pattern in _PROPERTIES.items():
        if match := pattern.search(text):
            found[name] = text[: match.start()]
    for match in _NAMED_TOOL.finditer(text):
        if kind := category(match[0]):
            found.setdefault(f"tool: {kind}", text[: match.start()])
    return found


def value_kinds(one: str, other: str) -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    """Return the kinds of values that both claims hold and of which they hold different ones."""
    found = {}
    for name, pattern in _KINDS.items():
        mine, theirs = (frozenset(match.casefold() for match in pattern.findall(text)) for text in (one, other))
        if mine and theirs and mine != theirs:
            found[name] = (mine, theirs)
    return found
