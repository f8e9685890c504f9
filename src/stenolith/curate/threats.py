"""Recognise memory text that looks like an order to a model, hides characters or breaks out of a fence.

A hit is a flag, never a deletion: a person may have said such a sentence and may want to find it again.
Rendering escapes everything anyway; the flags decide what is shown as a warning and what is not injected.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

QUARANTINE: Final = frozenset({"instruction", "exfiltration"})
"""Flags with which a memory is kept and findable, but should never be injected on its own."""
LONGEST: Final = 50_000
"""Characters of a text that are scanned: a pasted file of megabytes must not hold up a recall."""

_RUN: Final = re.compile(r"\s{2,}")
_BIDI: Final = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_INVISIBLE: Final = re.compile(
    r"[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0"
    r"\U000e0000-\U000e007f\U000e0100-\U000e01ef\ud800-\udfff]|(?<=[!-~])[\u200c\u200d](?=[!-~])"
)
_LINE_END: Final = frozenset("\n\u2028\u2029")
_NOT: Final = r"(?<!never )(?<!not )(?<!n't )(?<!cannot )(?<!nobody may )(?<![不别勿得要能许可止准])"
_FENCE: Final = re.compile(
    r"<\s?/?\s?(?:stenolith-[\w-]+|relevant-(?:memories|scenes)|user-persona|scene-navigation|memory-context|memor(?:y|ies)"
    r"|current_task_context|reference-context|system-reminder|supermemory[\w-]*|hindsight[\w-]*)\b"
    r"|\[/?memory context\]",
    re.IGNORECASE,
)
_ROLE: Final = re.compile(
    r"(?:^|[\n\u2028\u2029])[#>*\s]{0,8}(?:system|assistant|developer|tool|human|系统|助手)\s?[:：]"
    r"|<\|[\w ]{2,24}\|>|\[/?INST\]|<</?SYS>>|</?(?:system|assistant|developer|instructions?|tool_result)>"
    r"|##\s?(?:new )?instructions?\b",
    re.IGNORECASE,
)
_INSTRUCTION: Final = re.compile(
    _NOT + r"(?:"
    r"\b(?:ignore|disregard|forget|override|bypass|skip)\b[^.\n]{0,40}\b(?:instructions?|prompts?|rules|guidelines"
    r"|guardrails?|safety|approvals?|confirmations?|restrictions?|polic(?:y|ies)|system message)\b"
    r"|\byou are now (?:an?|the|in|my|free|unrestricted)\b|\bfrom now on,? you are\b"
    r"|\b(?:developer|dan|god|jailbreak) mode\b"
    r"|\b(?:reveal|print|repeat|leak|output|show)\b[^.\n]{0,30}\b(?:system prompt"
    r"|hidden instructions?|api keys?|passwords?)\b"
    r"|\b(?:do not|don't|never) (?:tell|inform|alert|warn)\b[^.\n]{0,12}\bthe user\b|\bnew instructions?\s?:"
    r"|\bwithout (?:asking|telling|informing) (?:the )?user\b"
    r"|(?:忽略|无视|忘记|忘掉|跳过|绕过|推翻)[^。\n]{0,20}(?:指令|指示|提示词|系统消息|规则|限制|审批|安全检查|守则)"
    r"|你现在(?:是一个|是一名|扮演|进入)|从现在开始你(?:是|扮演)"
    r"|(?:泄露|透露|输出|打印|复述)[^。\n]{0,12}(?:系统提示|提示词|密钥|密码)"
    r"|(?:不要|别|不准|禁止)(?:告诉|通知|提醒)用户|不(?:经|用|必)(?:用户)?(?:确认|同意|批准)(?:就|直接|即可))",
    re.IGNORECASE,
)
_EXFILTRATION: Final = re.compile(
    r"\b(?:curl|wget)\b[^\n]{0,200}(?:\$\{?\w{0,40}(?:KEY|TOKEN|SECRET|PASS)|\|\s*(?:ba|z)?sh\b)"
    r"|\b(?:cat|less|more|tail|head|cp|scp)\b[^\n]{0,60}(?:\.ssh/id_|\.aws/credentials|\.netrc|\.env\b|/etc/shadow)"
    r"|(?:\b(?:send|post|upload|forward|exfiltrate)\b|发送|上传|转发|发到)[^.。\n]{0,60}"
    r"(?:keys?|tokens?|secrets?|passwords?|credentials|conversation|memor(?:y|ies)|密钥|密码|令牌|对话|记忆)[^。\n]{0,60}https?://",
    re.IGNORECASE,
)


def scan(text: str) -> tuple[str, ...]:
    """Return what is suspicious about *text*: ``bidi exfiltration fence instruction invisible role``, sorted.

    Letters are compared in their compatibility form with invisible characters removed, so full-width
    or split spellings do not hide an order.  Of a very long text the beginning is read, which is more than
    any prompt shows of it.
    """
    text = text[:LONGEST]
    seen = set()
    if _BIDI.search(text):
        seen.add("bidi")
    if _INVISIBLE.search(text):
        seen.add("invisible")
    plain = _close_up(unicodedata.normalize("NFKC", _BIDI.sub("", _INVISIBLE.sub("", text))))
    rules = {"fence": _FENCE, "role": _ROLE, "instruction": _INSTRUCTION, "exfiltration": _EXFILTRATION}
    seen |= {flag for flag, rule in rules.items() if rule.search(plain)}
    return tuple(sorted(seen))


def _close_up(text: str) -> str:
    """Make one sign of each run of blanks: a rule then never has to try how many of them belong to which part."""
    return _RUN.sub(lambda run: " " if _LINE_END.isdisjoint(run.group()) else "\n", text)


def visible(text: str) -> str:
    """Return *text* on one line, without invisible, bidirectional and control characters."""
    bare = _BIDI.sub("", _INVISIBLE.sub("", text))
    return " ".join("".join(" " if unicodedata.category(sign) == "Cc" else sign for sign in bare).split())
