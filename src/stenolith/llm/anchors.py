"""Sentences about nothing in particular: a row that is nearer to a question than any of them is near.

Written for this purpose, half Chinese, half English, over everyday life and work.  Their vectors
are made once for each model (`stenolith.store.vectors.Vectors.put_anchors`).
"""

from __future__ import annotations

from typing import Final

ANCHORS: Final = (
    "The meeting was moved to Thursday afternoon.",
    "I prefer tea to coffee in the morning.",
    "她上周搬到了上海的新公寓。",
    "请把报告的格式改成表格。",
    "The server runs out of memory under load.",
    "We decided to postpone the release by a week.",
    "孩子的家长会在下个月初。",
    "Our dog needs a walk twice a day.",
    "数据库的备份每天凌晨两点开始。",
    "Use tabs, not spaces, in this repository.",
    "The train to the coast takes three hours.",
    "他在一个小乐队里拉小提琴。",
    "旧文件先不要删除，等确认以后再说。",
    "Her birthday is on the third of March.",
    "预算超过了原来的计划。",
    "The recipe needs two eggs and some butter.",
    "页面上的按钮颜色不对。",
    "I started learning to swim last summer.",
    "会议记录放在共享文件夹里。",
    "The contract ends in December.",
    "他每个周末都去爬山。",
    "Please answer in short sentences.",
    "新来的同事负责测试。",
    "今天的天气很好，适合出门。",
    "That sounds great, thanks for telling me!",
    "哈哈，真的吗？太有意思了。",
    "I don't know yet, let me think about it.",
    "这个问题我们下次再讨论吧。",
    "How have you been lately?",
    "请帮我写一段简短的介绍。",
    "Can you show me how this works?",
    "这本书讲的是一个家庭的故事。",
)
