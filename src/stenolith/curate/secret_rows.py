"""The two tables of secrets: formats with their own prefix, and values that a word gives away.

`VENDORS` are key formats as their vendors document them; they are looked for only inside long unbroken
runs.  `NAMED` are values behind a word ("password is …"); a row is tried only where its word stands.
Every repetition is bounded or possessive, so the time stays linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from stenolith.curate import plausible


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Values that a word gives away: *pattern* is tried where one of *hints* (lower case) stands.

    The secret is the last group that matched; *accept* decides whether it is one.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    accept: Callable[[re.Match[str]], bool]


VENDORS: Final[tuple[tuple[str, str], ...]] = (
    ("anthropic_key", r"sk-ant-[\w-]{12,}"),
    ("openai_key", r"sk-(?=[\w-]{0,60}?[0-9A-Z])(?=[\w-]{0,40}?[A-Za-z0-9]{12})[\w-]{16,}"),
    ("stripe_key", r"(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{10,}"),
    ("aws_key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("google_key", r"AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}"),
    ("github_token", r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"),
    ("gitlab_token", r"gl(?:pat|dt|rt|ptt|cbt)-[\w-]{16,}"),
    ("slack_token", r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}"),
    ("sendgrid_key", r"SG\.[\w-]{16,64}\.[\w-]{16,}"),
    ("twilio_key", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("registry_token", r"npm_[A-Za-z0-9]{30,}|pypi-[\w-]{40,}|dckr_pat_[\w-]{20,}|rubygems_[0-9a-f]{40,}"),
    ("model_key", r"(?:hf|r8|gsk|tvly)_[A-Za-z0-9]{24,}|(?:xai|pplx|nvapi)-[\w-]{24,}|dapi[0-9a-f]{32}"),
    ("cloud_key", r"do[opr]_v1_[0-9a-f]{40,}|LTAI[A-Za-z0-9]{12,24}(?![A-Za-z0-9])|AKID[A-Za-z0-9]{24,}"),
    ("vault_token", r"hv[sb]\.[\w-]{20,}|dp\.(?:pt|st|sa)\.[\w-]{30,}|AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    ("service_token", r"(?:shp(?:at|ca|pa|ss)|ntn|figd|glsa|sntrys|lin_api|sbp|PMAK|NRAK|tskey|ATATT3)[_-]?[\w-]{24,}"),
    ("telegram_token", r"\d{8,10}:AA[\w-]{30,}"),
    ("jwt", r"eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*){0,3}|eyJ(?:hbGci|0eXAi|raWQi)[\w-]*"),
)
VENDOR: Final = re.compile("(?<![A-Za-z0-9_-])(?:" + "|".join(f"(?P<{kind}>{rule})" for kind, rule in VENDORS) + ")")
RUN: Final = re.compile(r"[A-Za-z0-9_.:-]{14,}")

_VALUE: Final = r"[!#-&(-;=?-\[\]-_a-~\u00a1-\u024f]"  # printable, without quotes, backtick and angle brackets
_NEXT: Final = rf"(?:(?![&,;]\s?[\w-]{{1,40}}=)(?:{_VALUE}|'(?=\w)))"
_QUOTED: Final = (
    r"\\?\"(?P<a>(?:[^\"\\\n]|\\[^\"\n]){1,200})\\?\"|\\?'(?P<b>[^'\n]{1,200}?)\\?'|`(?P<c>[^`\n]{1,200})`"
    r"|[“‘「『](?P<d>[^”’」』\n]{1,200})[”’」』]"
)
_ENDS: Final = r"(?<![.,;:)}\]])"
_ANY: Final = rf"(?:{_QUOTED}|[\"'`“‘「『\\]{{0,2}}(?P<v>{_VALUE}(?<![:=&,;(]){_NEXT}{{0,200}}{_ENDS}))"
_CODE: Final = r"[\"'`“‘「『\\]{0,2}(?P<v>[A-Za-z0-9_+/.~-]{8,300}={0,2})"
_WHICH: Final = (
    r"(?:\s(?:for|of|on|to|at|in)\s[^\n.,;:=]{1,40}?(?=\s{1,4}(?:is|was|to|=)\s|\s{0,4}[:：=]))?"  # for the staging API
)
_SIGN: Final = r"[\"'\\)\]]{0,3}[ \t]{0,8}(?P<sign>:=|=>|==?|[:：]|->|→)\s{0,8}"
_STATES: Final = (
    r"(?P<states>[ \t]{1,4}(?:(?:is|was|are|will be|(?:changed|set|reset) to|should be)\b:?"
    r"|(?P<to>to:?)(?!\s+(?:the|our|my|your|an?|this|that|log|continue|access)\b))[ \t]{1,4})"
)
_SPACE: Final = r"(?P<space>[ \t]{1,4})"
_SAYS: Final = (
    r"(?:[（(][^）)\n]{0,20}[）)])?(?:现在|目前|暂时|已经|已|就|都|还|先|统一|默认|被){0,3}"
    r"(?P<states>是|为|改成|改为|换成|设为|设成|设置为|设置成|重置为|重置成|用的是|用)?了?(?P<sign>\s{0,4}[:：=])?\s{0,4}"
)
_EXTRA_KEY: Final = re.compile(
    r"(?:api|access|secret|private|auth|account|master|encryption|signing|license)[ _-]?$", re.IGNORECASE
)


def _is_flag(match: re.Match[str]) -> bool:
    return re.search(r"--[\w-]{0,20}$", match.string[max(0, match.start() - 22) : match.start()]) is not None


def _follows_word(match: re.Match[str]) -> bool:
    return re.match(r" [^\W\d_]", match.string[match.end() : match.end() + 2]) is not None


def _value(match: re.Match[str]) -> str:
    return match[match.lastgroup or 0]


def _accept_password(match: re.Match[str]) -> bool:
    value, how = _value(match), match.groupdict()
    spaced = any(sign.isspace() for sign in value)
    if match.lastgroup != "v":
        bare = not how.get("sign") and not how.get("states")
        return len(value) >= (4 if bare else 3) and not (bare and spaced) and not plausible.is_stand_in(value)
    if how.get("sign") or _is_flag(match):
        prose = how.get("sign") in {":", "："} and _follows_word(match)
        return plausible.is_password(value, before_word=prose)
    if how.get("to") and value.isalpha():
        return False
    if how.get("states"):
        return plausible.is_stated_password(value, before_word=_follows_word(match))
    return plausible.is_bare_password(value)


def _accept_chinese(match: re.Match[str]) -> bool:
    value = _value(match)
    after = match.string[match.end() : match.end() + 1]
    if value.isdigit() and after and after in "年月日号位个次天条分秒":
        return False
    if value.isalpha() and after and "\u4e00" <= after <= "\u9fff":
        return False
    return _accept_password(match) or (len(value) >= 6 and plausible.is_token(value, at_least=6))


def _accept_token(match: re.Match[str]) -> bool:
    if match.string[match.end() : match.end() + 1] == "(":
        return False  # a call
    bare = match.groupdict().get("space") is not None and not _is_flag(match)
    return plausible.is_token(_value(match), at_least=16 if bare else 8)


def _accept_key(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - 12) : match.start()]
    return _accept_token(match) if _EXTRA_KEY.search(before) else plausible.is_random(_value(match))


def _accept_header(match: re.Match[str]) -> bool:
    value = _value(match)
    if match.groupdict().get("scheme"):
        return not plausible.is_stand_in(value)
    return value.startswith("eyJ") or plausible.is_token(value, at_least=8)


def _accept_real(match: re.Match[str]) -> bool:
    return not plausible.is_stand_in(_value(match))


def _accept_cookie(match: re.Match[str]) -> bool:
    return re.search(r"=[^;]*\d", _value(match)) is not None and "[REDACTED" not in _value(match)


def _accept_always(_match: re.Match[str]) -> bool:
    return True


def _named(kind: str, hints: str, rule: str, accept: Callable[[re.Match[str]], bool]) -> Named:
    return Named(kind=kind, hints=tuple(hints.split("|")), pattern=re.compile(rule, re.IGNORECASE), accept=accept)


_GAP: Final = r"(?:\s|\\n|\\r|>)*+"  # line breaks may be escaped (JSON) or quoted (mail)
_HOW: Final = rf"{_WHICH}(?:{_SIGN}|{_STATES}|{_SPACE})"
NAMED: Final = (
    _named(
        "private_key",
        "-----begin",
        r"(?P<v>-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
        rf"(?:{_GAP}(?:(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]*+|[A-Za-z0-9+/=]{{16,}}+))*+"
        rf"(?:{_GAP}(?=[A-Za-z0-9+/]{{0,15}}[0-9+/=])[A-Za-z0-9+/=]{{4,15}}+(?![A-Za-z]))?+"
        rf"(?:{_GAP}[A-Za-z0-9+/=]{{0,15}}{_GAP}-----END [A-Z0-9 ]{{0,30}}PRIVATE KEY(?: BLOCK)?-----)?)",
        _accept_always,
    ),
    _named(
        "bearer",
        "authorization",
        r"authorization[\"'\\]{0,3}\s{0,4}[:=]\s{0,4}[\"'\\]{0,2}"
        r"(?:(?P<scheme>bearer|basic|token|digest|apikey|negotiate)\s{1,4})?(?P<v>[^\s\"'\\,;…]{6,4000})",
        _accept_header,
    ),
    _named("bearer", "bearer", r"bearer\s{1,4}(?P<v>[\w.~+/-]{8,4000}={0,2})", _accept_header),
    _named("cookie", "cookie:", r"cookie:\s{0,4}(?P<v>[^\r\n\"']{8,2000})", _accept_cookie),
    _named("url_password", "://", r"://[^\s/:@\"'<>?#]{0,128}:(?P<v>[^\s/\"'<>?#]{1,200})@(?=[\w\[])", _accept_real),
    _named(
        "password",
        "passw|passphrase|passcode|pwd",
        rf"(?:password|passwd|passphrase|passcode|pwd){_HOW}{_ANY}",
        _accept_password,
    ),
    _named("password", "密码|口令", rf"(?:密码|口令){_SAYS}{_ANY}", _accept_chinese),
    _named("password", "pass:|pass=", rf"(?<![a-z])pass[:=]\s{{0,4}}{_CODE}", _accept_token),
    _named(
        "password", "mysql", r"mysql(?:dump|admin)?(?:(?!\s-p)[^\n]){0,120}\s-p(?P<v>[^\s\"']{4,100})", _accept_real
    ),
    _named("password", "sshpass", rf"sshpass\s{{1,4}}-p\s{{0,4}}{_ANY}", _accept_real),
    _named(
        "password",
        "curl",
        r"curl(?:(?!\s-u|\s--user)[^\n]){0,200}\s(?:-u|--user)\s{1,4}[\"']?[^\s:\"']{1,80}:(?P<v>[^\s\"']{3,100})",
        _accept_real,
    ),
    _named(
        "otp",
        "验证码|动态码",
        r"(?:验证码|动态码)\s{0,2}(?:是|为|[:：])\s{0,4}(?P<v>\d{4,8})(?!\d|位|个|年)",
        _accept_always,
    ),
    _named(
        "otp",
        "code is|pin",
        r"(?:(?<=verification )code is|(?<![a-z])pin(?: code)?(?: is|:))\s{0,4}(?P<v>\d{4,8})(?!\d)",
        _accept_always,
    ),
    _named("secret", "secret|credential", rf"(?:secret|credential)s?{_HOW}{_CODE}", _accept_token),
    _named(
        "secret",
        "token",
        rf"(?<!page)(?<!page_)(?<!continuation)(?<!continuation_)(?<!publickey)token{_HOW}{_CODE}",
        _accept_token,
    ),
    _named("secret", "密钥|令牌|凭证", rf"(?:密钥|令牌|凭证){_SAYS}{_CODE}", _accept_token),
    _named("secret", "key", rf"key{_HOW}{_CODE}", _accept_key),
    _named("secret", "sig=|signature=", r"sig(?:nature)?=(?P<v>[A-Za-z0-9%+/_-]{20,200}={0,2})", _accept_token),
)
