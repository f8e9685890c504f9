"""What happened, or is planned: a verb of consequence beside a date that can be known."""

from __future__ import annotations

import re
from datetime import tzinfo
from typing import Final

from stenolith.distill.dates import Span, found_dates
from stenolith.distill.subjects import PEOPLE_EN

_DONE_CN: Final = re.compile(
    r"(?:完成|部署|上线|发布|迁移|迁到|合并|修复|修好|升级|换成|换掉|切到|切换|离职|入职|辞职|搬到|搬家|搬进|结婚|"
    r"离婚|订婚|领证|出生|去世|买|卖|去|参加|跑完|签|宕机|挂|故障|回滚|中断|崩溃|面试|体检|手术|住院|出院|毕业|开业|"
    r"见|吃|看|拿到|通过|提交|学会|领养|生|退|来|回|遇到|约|拜访|旅行|出差|订|收到|交付|验收|立项|重构|下线|关停|"
    r"泄露|丢|开源|考|报名|爬|做|开始|启动|重启|停|写完|讲|办)[^，。]{0,12}?(?:了|完(?![美全整善])|过|成功|好了)|"
    r"(?:完成|部署|"
    r"上线|发布|宕机|离职|入职|毕业|结婚|出差|手术|住院|开源|交付|迁到|搬到|换成|回滚)"
)
_OTHERS_CN: Final = re.compile(
    r"(?:^|[，,])(?:他|她|它|他们|她们|客户|老板|领导|同事|朋友|有人|对方|那家伙|隔壁|周杰伦|特朗普|政府|苹果公司)"
)
_PLAN_CN: Final = re.compile(
    r"(?:我|我们|咱们)[^，。]{0,14}?(?:要|会|得|准备|计划|打算|约了|预约了?|订了|安排了|去|飞|"
    r"有)[^，。]{0,14}?(?:出差|面试|手术|体检|看牙|看病|复查|结婚|婚礼|搬家|考试|开会|会议|出发|旅行|旅游|度假|上线|"
    r"发布|发版|迁移|入职|离职|答辩|比赛|演讲|参加|去|飞|回|见|机票|航班|火车|高铁|酒店|生日|聚会|培训|评审|演示)"
    r"|[^，。]{1,20}(?:上线|发布|发版|截止|到期|交付|验收|开学|开业|封版|割接)|我[^，。]{0,6}要(?:做|考|上课|值班|汇报)"
)
_PAST: Final = (
    r"(?:\w{2,}(?<!ne)ed|went|got|bought|met|saw|took|made|had|ran|began|flew|drove|gave|left|won|lost|found|built|"
    r"wrote|broke|came|ate|sold|sent|taught|swam|rode|spent|rewrote|rebuilt|overhauled|cut over|shipped|"
    r"rolled out|became|caught|held|hit|paid|"
    r"quit|set up|shut down|put|chose|grew|adopted)"
)
_ADVERBS: Final = r"(?:(?:just|finally|also|already|successfully|all|both|recently|actually|then|even) )*"
_DONE_EN: Final = re.compile(
    rf"(?:^|[\W_])(?:I|we|my {PEOPLE_EN}|my \w+ and I|\w+ and I|the team)(?:'ve|’ve| have)? {_ADVERBS}(?!wanted|"
    rf"needed|liked|loved|hated|preferred|used to|tried to|asked|wondered|noticed|thought|happened|seemed|hoped|"
    rf"had to|had a look|got (?:it|this|an? error|stuck|confused)|ran (?:it|this)|saw (?:it|this|"
    rf"that)){_PAST}\b(?! (?:it|this|that|them|him|her|these|those)\b)|^(?:finally |just )?(?:finished|completed|"
    rf"shipped|released|deployed|moved|bought|launched|merged|migrated|started|passed|visited|ran|got|signed|"
    rf"graduated|adopted|fixed)\b"
    r"|^(?:the|our) [\w -]{2,40}? (?:(?:was|were|got) (?:\w+ly )?(?!failing)\w+ed|went (?:down|live)|crashed|broke|"
    r"failed|ran out|died|outage)\b",
    re.IGNORECASE,
)
_PLAN_EN: Final = re.compile(
    r"^(?:booking|taking|flying|catching|visiting|going to|moving|meeting|leaving|attending)\b|"
    r"(?:^|[\W_])(?:(?:I|we)(?:'m|'re|’m|’re| am| are) (?:flying|going|travell?ing|moving|starting|meeting|leaving|"
    r"visiting|having|taking|seeing|running|presenting|releasing|shipping|launching|migrating|getting|speaking|"
    r"attending|driving|(?:planning|going|scheduled|booked|set|due) to|off to|away|on (?:vacation|holiday|leave))|"
    r"(?:I|we)(?:'ll|’ll| will) (?:fly|go|travel|move|start|meet|leave|visit|be (?:away|in|on|out)|have|take|ship|"
    r"release|launch|migrate|present|attend)|(?:I|we) (?:have|fly|leave|start|move|travel|launch|ship|release) |"
    r"my [\w ]{2,24}? (?:starts?|begins?|is|are|gets married|graduates)\b|(?:the|our) [\w -]{2,30} (?:goes live|"
    r"ships|launches|is scheduled|is planned|is due|takes place|starts)\b)",
    re.IGNORECASE,
)
_NOW_CN: Final = re.compile(
    r"(?:刚刚?|终于|已经)[^，。]{0,12}?(?:部署|上线|发布|完成|合并|修复|升级|通过|拿到|签)[^，。]{0,12}?(?:了|完|好)"
)
_NOW_EN: Final = re.compile(
    r"(?:^|[\W_])(?:I|we)(?:'ve|’ve| have)? (?:just|finally) (?:shipped|released|deployed|launched|finished|merged|"
    r"passed|signed|moved|bought|completed|migrated)\b(?!\s*(?:[.!,;-]|$|it\b|this\b))",
    re.IGNORECASE,
)
_OFTEN: Final = re.compile(
    r"\b(?:usual(?:ly)?|normally|typically|generally|always|every)\b|每|一般|通常|平时|固定", re.IGNORECASE
)
_TRIFLE: Final = re.compile(
    r"(?:今天|刚才|今早|今晚)(?:先|就|好|有点|很|真|太|的天气|心情)|\btoday (?:was|is|has been) (?:a )?(?:good|bad|"
    r"long|nice|rough|fine)\b"
)
_PRAISE: Final = re.compile(r"(?:太|最|真是?)[^，。]{1,6}了|适合[^，。]{0,4}了")  # the 了 of "太好了" completes nothing
_SOON: Final = re.compile(r"后|\bin (?:\d|a |an |two|three|four|five|six)", re.IGNORECASE)
_JUST: Final = re.compile(r"刚|\bjust\b", re.IGNORECASE)


def happening(text: str, at_ms: int | None, zone: tzinfo) -> tuple[list[Span], Span | None] | None:
    """Return the times in an event's sentence and the one in which it took place; None: no event.

    The past needs a date that has begun, a plan one that has not ended.  Without a date only what
    "just" or "finally" got done counts, and then "just" means the day of the message.
    """
    past = found_dates(text, at_ms, zone)
    if (
        past is None
        or _TRIFLE.search(text)
        or (past and past[0].bare and _OFTEN.search(text))
        or _OTHERS_CN.search(text)
    ):
        return None
    text = _PRAISE.sub("", text)
    if past and past[0].start_ms <= (at_ms or past[0].start_ms) and (_DONE_CN.search(text) or _DONE_EN.search(text)):
        return _certain(past), past[0]
    if (past or _SOON.search(text)) and (_PLAN_CN.search(text) or _PLAN_EN.search(text)):
        ahead = found_dates(text, at_ms, zone, forward=True)
        if ahead and (at_ms is None or ahead[0].end_ms > at_ms):
            return _certain(ahead), ahead[0]
    if not past and (_NOW_CN.search(text) or _NOW_EN.search(text)):
        just = at_ms is not None and _JUST.search(text) is not None
        return [], next(iter(found_dates("today", at_ms, zone) or ()), None) if just else None
    return None


def _certain(spans: list[Span]) -> list[Span]:
    """Keep the first time, and of the others those that are no guess: "on Friday, back on Sunday"."""
    return [span for index, span in enumerate(spans) if index == 0 or not span.bare]
