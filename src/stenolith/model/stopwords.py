"""Words that a question has and an answer has not: left out of queries, kept in the index."""

from __future__ import annotations

import re
from typing import Final

_ENGLISH: Final = """
    a about after again all also am an and any are as at be been before being but by can could did do does doing done
    for from had has have having he her hers him his how i if in into is it its itself just let me might mine my myself
    no nor not of off on once only or other our ours out over own please same shall she should so some such than that
    the their theirs them then there these they this those through to too under until up us very was we were what when
    where which while who whom whose why will with would you your yours
"""
_PHRASES: Final = """
    什么时候 什么时间 什么地方 什么样 什么 为什么 为何 怎么样 怎么办 怎么 怎样 如何 哪里 哪儿 哪个 哪些
    哪位 哪一 谁的 多少 几个 是不是 有没有 能不能 可不可以 会不会 要不要 是否 可以 请问 告诉我 帮我 一下
    还记得 记得 知道 关于 这个 那个 这次 上次 我们 你们 他们 她们 时候 一个 なに なぜ どこ どの いつ
    です ます ですか
"""

ENGLISH_STOP_WORDS: Final = frozenset(_ENGLISH.split())

# Function characters: a pair made only of them says nothing.
CJK_STOP_CHARS: Final = frozenset(
    "的了是在和与或及吗呢吧啊呀嘛么之也都就又而但且则我你您他她它们这那哪谁啥怎什几把被给让从对向于着过很还有没会能要个请"
    "のはがをにへともでやかねよこそれあどなだすしま"
)

# Alone between digits (2026年8月2日) these ask for nothing.
CJK_DATE_UNITS: Final = frozenset("年月日号點点时分秒")

# Question phrases and courtesies, longest first so that the long one wins.
CJK_PHRASES: Final = re.compile("|".join(sorted(_PHRASES.split(), key=len, reverse=True)))
