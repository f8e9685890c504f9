"""Dates in words, Chinese and English: "昨天", "上周三", "two weeks ago", "on March 5th".

A small grammar of our own.  Each row of `_ROWS` is a pattern and the function that reads it as a
half-open range of calendar days; part of the day ("晚上", "evening") narrows one day to hours.
Ranges become milliseconds only at the end, through the zone, so a day is 23 or 25 hours long
where clocks change.  Recurring times ("every Monday", "每周三") are not dates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, time, timedelta, tzinfo
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Words that name a time, and the time they name.

    *start_index* and *end_index* bound *text* in what was read; *start_ms* and *end_ms* are a
    half-open range of epoch milliseconds; *label* says the same without "yesterday"
    (``2026-08-02``, ``2026-08-02 evening``, ``2026-07``, ``2025``, ``2026-07-27/2026-08-02``).
    *bare* marks a name that fits many dates ("Friday", "in March", "3月5日"): which one is a guess
    from the direction.
    """

    start_index: int
    end_index: int
    start_ms: int
    end_ms: int
    text: str
    label: str = ""
    bare: bool = False


_Days = tuple[date, date]
_Reader = Callable[[re.Match[str], date, bool], "_Days | None"]

_CN: Final = {"零": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_EN_WORDS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_EN: Final = {"a": 1, "an": 1, **{word: value for value, word in enumerate(_EN_WORDS, 1)}}
_FEW: Final = (2, 6)  # "a few", "几": our reading of a vague count
_UNITS: Final = {
    **dict.fromkeys(("天", "日", "day"), "day"),
    **dict.fromkeys(("周", "星期", "礼拜", "week"), "week"),
    **dict.fromkeys(("周末", "weekend"), "weekend"),
    **dict.fromkeys(("月", "month"), "month"),
    **dict.fromkeys(("季度", "quarter"), "quarter"),
    **dict.fromkeys(("年", "year"), "year"),
}
_CN_RELATIVE: Final = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2}
_CN_YEARS: Final = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2}
_CN_DAYS: Final = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3}
_EN_RELATIVE: Final = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1, "before last": -2}
_EN_DAYS: Final = {
    "the day before yesterday": -2,
    "yesterday": -1,
    "today": 0,
    "tonight": 0,
    "tomorrow": 1,
    "the day after tomorrow": 2,
}
_STEPS: Final = {**_CN_RELATIVE, **_CN_YEARS, **_CN_DAYS, **_EN_RELATIVE, **_EN_DAYS}
_WEEKDAYS: Final = {
    **{word: index for index, word in enumerate("一二三四五六日")},
    "天": 6,
    **{word: index for index, word in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))},
}
_MONTHS: Final = {
    word: index
    for index, word in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
_THIRDS: Final = {"初": 0, "early": 0, "中": 1, "mid": 1, "底": 2, "末": 2, "late": 2}
# First hour and hour after the last.  Morning begins at five so that an early run is not a night.
_HOURS: Final = {
    **dict.fromkeys(("凌晨",), (0, 6)),
    **dict.fromkeys(("早上", "清晨", "早晨", "上午", "早", "晨", "morning"), (5, 12)),
    **dict.fromkeys(("中午", "noon"), (11, 14)),
    **dict.fromkeys(("下午", "afternoon"), (12, 18)),
    **dict.fromkeys(("傍晚", "晚上", "夜里", "晚", "夜", "evening", "night"), (18, 24)),
}


def resolve(text: str, at_ms: int, zone: tzinfo, *, forward: bool = False) -> list[Span]:
    """Return the times that *text* names, in order, seen from *at_ms* in *zone*.

    A name without a year or week ("Friday", "三月") means the last one that has begun; with
    *forward* the first that has not ended.  "last Friday" is the last one before today, "next
    Friday" the Friday of next week, weeks begin on Monday, "two weeks ago" is that whole week.
    Impossible dates and dates outside the calendar are left out.
    """
    if _HINT.search(text) is None:
        return []
    try:
        today = datetime.fromtimestamp(at_ms / 1000, zone).date()
    except (OverflowError, ValueError, OSError):
        return []
    found = sorted(_read(text, today, zone, forward=forward), key=lambda span: (span.start_index, -span.end_index))
    kept: list[Span] = []
    for span in found:
        if not kept or span.start_index >= kept[-1].end_index:
            kept.append(span)
    return kept


def _read(text: str, today: date, zone: tzinfo, *, forward: bool) -> Iterator[Span]:
    for pattern, reader, bare in _ROWS:
        for match in pattern.finditer(text):
            try:
                days = reader(match, today, forward)
                found = _span(match, days, zone, bare=bare) if days else None
            except (ValueError, OverflowError):  # "2月30日", "9999 years ago"
                continue
            if found:
                yield found


def _span(match: re.Match[str], days: _Days, zone: tzinfo, *, bare: bool) -> Span:
    first, after = days
    end, part = match.end(), "evening" if match[0].lower() == "tonight" else ""
    more = _PART.match(match.string, end) if after - first == timedelta(days=1) else None
    if more:
        end, part = more.end(), more[0].removeprefix("的").split()[-1]
    opens, closes = _HOURS.get(part.lower(), (0, 24))
    return Span(
        start_index=match.start(),
        end_index=end,
        start_ms=_ms(first, opens, zone),
        end_ms=_ms(after, 0, zone) if closes == 24 else _ms(first, closes, zone),
        text=match.string[match.start() : end],
        label=f"{_label(days)} {part}".strip(),
        bare=bare,
    )


def _ms(day: date, hour: int, zone: tzinfo) -> int:
    # An hour that a clock change skips is read with the offset before the change (PEP 495, fold=0):
    # a midnight that does not exist then falls on the first moment of its day.
    return int(datetime.combine(day, time(hour), zone).astimezone(UTC).timestamp() * 1000)


def _label(days: _Days) -> str:
    first, after = days
    last = after - timedelta(days=1)
    if first == last:
        return first.isoformat()
    if (first.month, first.day, last.month, last.day) == (1, 1, 12, 31) and first.year == last.year:
        return str(first.year)
    if first.day == 1 and days == _unit(first, "month", 0):
        return first.isoformat()[:7]
    return f"{first.isoformat()}/{last.isoformat()}"


def _unit(today: date, unit: str, steps: int) -> _Days:
    """Return the calendar day, week, weekend, month, quarter or year *steps* away from today's."""
    monday = today - timedelta(days=today.weekday())
    if unit == "day":
        first, after = today + timedelta(days=steps), today + timedelta(days=steps + 1)
    elif unit == "week":
        first, after = monday + timedelta(weeks=steps), monday + timedelta(weeks=steps + 1)
    elif unit == "weekend":
        first, after = monday + timedelta(weeks=steps, days=5), monday + timedelta(weeks=steps + 1)
    else:
        size = {"month": 1, "quarter": 3, "year": 12}[unit]
        start = (today.year * 12 + today.month - 1) // size * size
        first, after = _month(start + steps * size), _month(start + (steps + 1) * size)
    return first, after


def _month(count: int) -> date:
    return date(count // 12, count % 12 + 1, 1)


def _third(days: _Days, word: str | None) -> _Days:
    """Narrow a month to its first ten days, second ten days or the rest; a year to its ends."""
    index = _THIRDS.get((word or "")[:1], _THIRDS.get((word or "").lower()))
    if index is None:
        return days
    first, after = days
    if after - first > timedelta(days=31):
        return (first, _month(first.year * 12 + (2, 8, 0)[index])) if index == 0 else (date(first.year, 11, 1), after)
    return first + timedelta(days=index * 10), after if index == 2 else first + timedelta(days=index * 10 + 10)


def _counts(word: str) -> tuple[int, int] | None:
    """Read a count such as 3, 三, 十二, a, two, few as the least and most it can mean."""
    word = word.strip().lower()
    if word in {"几", "few", "a few", "several"}:
        return _FEW
    if word.startswith(("couple", "a couple")):
        return 2, 2
    if word.isdigit():
        return (int(word), int(word)) if len(word) < 5 else None
    value = _EN.get(word) or _chinese(word)
    return (value, value) if value else None


def _chinese(word: str) -> int:
    tens, mark, ones = word.rpartition("十")
    if any(sign not in _CN for sign in tens + ones) or len(tens) > 1 or len(ones) > 1:
        return 0
    return (_CN.get(tens, 1) * 10 if mark else 0) + _CN.get(ones, 0)


def _number(word: str) -> int:
    counts = _counts(word)
    return counts[0] if counts else 0


def _nearest(options: list[_Days], today: date, *, forward: bool) -> _Days | None:
    """Pick the last range that has begun, or going forward the first that has not ended."""
    if forward:
        return next((days for days in options if days[1] > today), None)
    return next((days for days in reversed(options) if days[0] <= today), None)


def _day_of(year: int, month: int, day: int) -> _Days:
    first = date(year, month, day)
    return first, first + timedelta(days=1)


def _in_year(year: int, match: re.Match[str]) -> _Days:
    """Read the month, day and third that *match* holds, in *year*."""
    parts = match.groupdict()
    name = (parts.get("m") or "").lower()
    if not name:
        return _third((date(year, 1, 1), date(year + 1, 1, 1)), parts.get("third"))
    month = _MONTHS.get(name[:3]) or _number(name)
    if parts.get("d"):
        return _day_of(year, month, _number(parts["d"]))
    return _third(_unit(date(year, month, 1), "month", 0), parts.get("third"))


def _dated(match: re.Match[str], today: date, forward: bool) -> _Days | None:
    """Read a date with or without a year: 2026年8月3日, 去年三月, 3月5日, March 5th, in March 2026."""
    forward = forward or (match.groupdict().get("rel") or "").lower() in {"next", "by", "until"}
    word = match.groupdict().get("y") or ""
    if word in _STEPS:
        return _in_year(today.year + _STEPS[word], match)
    if word:
        return _in_year(int(word), match)
    options = []
    for year in range(max(MINYEAR, today.year - 8), min(MAXYEAR, today.year + 9)):
        try:  # February 29 exists in leap years only
            options.append(_in_year(year, match))
        except ValueError:
            continue
    return _nearest(options, today, forward=forward)


def _stepped(match: re.Match[str], today: date, _forward: bool) -> _Days | None:
    """Read "last month", "上上周", "下周三", "上个月5号", "本月底"."""
    parts = match.groupdict()
    steps, unit = _STEPS[parts["rel"].lower()], _UNITS[parts["unit"].lower()]
    days = _unit(today, unit, steps)
    if parts.get("w") == "末":
        return _unit(today, "weekend", steps)
    if parts.get("w"):
        return _unit(days[0], "day", _WEEKDAYS[parts["w"]])
    if parts.get("d"):
        return _day_of(days[0].year, days[0].month, _number(parts["d"]))
    return _third(days, parts.get("third"))


def _day_word(match: re.Match[str], today: date, _forward: bool) -> _Days | None:
    return _unit(today, "day", _STEPS[match["day"].lower()])


def _weekday(match: re.Match[str], today: date, forward: bool) -> _Days | None:
    """Read "last Monday", "this Friday", "on Friday", "周三", "周末"."""
    parts = match.groupdict()
    rel, name = (parts.get("rel") or "").lower(), parts["w"].lower()[:3]
    if _RECURRING.search(match.string, 0, match.start()):
        return None
    if name in {"末", "wee"}:
        return _nearest([_unit(today, "weekend", step) for step in (-1, 0, 1)], today, forward=forward)
    monday, index = today - timedelta(days=today.weekday()), _WEEKDAYS[name]
    if rel in {"this", "next", "coming"}:
        return _unit(monday, "day", index + 7 * (rel == "next"))
    options = [_unit(monday, "day", index + 7 * step) for step in (-1, 0, 1)]
    if rel:
        return _nearest(options, today - timedelta(days=1), forward=False)
    return _nearest(options, today, forward=forward)


def _ago(match: re.Match[str], today: date, forward: bool) -> _Days | None:
    """Read "3天前", "two weeks ago", "a few days ago", "三周后", "in two days"."""
    counts, way = _counts(match["n"]), match["way"].lower()
    if counts is None or (way in {"后", "in"} and not forward):
        return None  # "三天后他来了" and "done in two days" do not count from now
    unit, sign = _UNITS[match["unit"].lower()], -1 if way in {"前", "ago"} else 1
    near, far = (_unit(today, unit, sign * count) for count in counts)
    return (far[0], near[1]) if sign < 0 else (near[0], far[1])


def _window(match: re.Match[str], today: date, _forward: bool) -> _Days | None:
    """Read "最近三天", "the past two weeks": from that long ago to the end of today."""
    counts = _counts(match["n"])
    if counts is None:
        return None
    size = {"day": 1, "week": 7, "weekend": 7}.get(_UNITS[match["unit"].lower()])
    start = today - timedelta(days=size * counts[1]) if size else _months_back(today, match["unit"], counts[1])
    return start, today + timedelta(days=1)


def _months_back(today: date, unit: str, count: int) -> date:
    months = {"month": 1, "quarter": 3, "year": 12}[_UNITS[unit.lower()]] * count
    first, after = _unit(today, "month", -months)
    return min(first.replace(day=1) + timedelta(days=today.day - 1), after - timedelta(days=1))


_N: Final = r"(?:\d{1,2}|[一二两三四五六七八九十]{1,3})"
_REL: Final = r"(?<![马以晚早线])(?P<rel>上上|下下|上|下|这|本)个?"
_MONTH_DAY: Final = rf"(?:(?P<m>{_N})月份?(?:(?P<d>{_N})[日号])?)?(?:(?P<third>初(?!中)|中旬|底|末))?"
_CN_COUNT: Final = rf"(?P<n>\d{{1,4}}|几|{_N})个?(?P<unit>天|周|星期|礼拜|月|季度|年)"
_YEAR: Final = r"(?P<y>(?:19|20)\d\d)"
_REST: Final = (
    "jan(?:uary)?|feb(?:ruary)?|apr(?:il)?|june?|july?|aug(?:ust)?"
    "|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_MONTH: Final = rf"(?P<m>(?-i:May|Mar(?:ch)?)|{_REST})"  # "it may", "they march": those two need their capital
_THIRD: Final = r"(?:(?P<third>early|mid|late)[ -])?"
_NTH: Final = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_WEEKDAY: Final = r"(?P<w>(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
_EN_COUNT: Final = rf"(?P<n>\d{{1,4}}|{'|'.join(_EN)}|(?:a )?few|several|(?:a )?couple(?: of)?)"
_EN_UNIT: Final = r"(?P<unit>day|weekend|week|month|quarter|year)s?\b"

# Pattern, reader, bare.  Where two match, the one that begins first wins, then the longer one.
_TABLE: Final[tuple[tuple[str, _Reader, bool], ...]] = (
    (rf"(?<!\d){_YEAR}年{_MONTH_DAY}", _dated, False),
    (rf"(?P<y>大前年|前年|去年|今年|明年|后年)的?(?:年(?=[初底末]))?{_MONTH_DAY}", _dated, False),
    (rf"(?<![\d./-]){_YEAR}(?P<sep>[-/.])(?P<m>\d{{1,2}})(?P=sep)(?P<d>\d{{1,2}})(?!\d|[./-]\d)", _dated, False),
    (rf"(?<![\d年每./个第一二三四五六七八九十])(?={_N}月)(?>{_MONTH_DAY})(?![天饼])", _dated, True),
    (rf"{_REL}(?P<unit>月|季度)(?![亮经饼光薪租票])(?:(?P<d>{_N})[日号]|(?P<third>初|中旬|底|末))?", _stepped, False),
    (rf"{_REL}(?P<unit>周|星期|礼拜)(?P<w>[一二三四五六日天末])?(?![围期末年])", _stepped, False),
    (
        r"(?<![\d一二两三四五六七八九十每单双半几个上下这本])(?:周|星期|礼拜)(?P<w>[一二三四五六日天末])(?![次个年岁天期])",
        _weekday,
        True,
    ),
    (
        r"(?P<day>大前|(?<![目以之提当从眼面先])前|昨|今|(?<![说声证表发聪透])明)(?:[天日](?![天气性])|(?=[晚晨夜早]))",
        _day_word,
        False,
    ),
    (r"(?P<day>大后|(?<![然以之最今往随先])后)天(?![天气性])", _day_word, False),
    (rf"(?<![\d第十百]){_CN_COUNT}(?:之|以)?(?P<way>前|后)(?![端台来])", _ago, False),
    (rf"(?:最近|过去|近)(?:的|这)?{_CN_COUNT}(?![前后])", _window, False),
    (
        r"\b(?P<day>the day before yesterday|the day after tomorrow|yesterday|today|tonight|tomorrow)\b",
        _day_word,
        False,
    ),
    (r"\b(?P<day>last)(?= night\b)", _day_word, False),
    (r"\b(?P<day>this)(?= (?:morning|afternoon|evening)\b)", _day_word, False),
    (rf"\b(?P<rel>last|past|previous|this|next) {_EN_UNIT}", _stepped, False),
    (r"\bthe (?P<unit>weekend|week|month|quarter|year) (?P<rel>before last)\b", _stepped, False),
    (rf"\b(?P<rel>last|past|this|next|coming) {_WEEKDAY}", _weekday, False),
    (rf"\b(?:on )?(?<!every )(?<!each ){_WEEKDAY}", _weekday, True),
    (rf"\b{_EN_COUNT} {_EN_UNIT} (?P<way>ago|from now)\b", _ago, False),
    (rf"\b(?P<way>in) {_EN_COUNT} {_EN_UNIT}", _ago, False),
    (rf"\b(?:last|past) {_EN_COUNT} {_EN_UNIT}", _window, False),
    (rf"\b{_MONTH}\.? {_NTH},? {_YEAR}\b", _dated, False),
    (rf"\b{_NTH}(?: of)? {_MONTH}\.?,? {_YEAR}\b", _dated, False),
    (rf"\b(?:on )?{_MONTH}\.? {_NTH}\b(?![:%]|\.\d)", _dated, True),
    (rf"\b(?:on )?(?:the )?{_NTH}(?: of)? {_MONTH}\b(?! \d{{4}})", _dated, True),
    (rf"\b{_THIRD}{_MONTH} {_YEAR}\b", _dated, False),
    (
        rf"\b(?P<rel>in|since|during|by|until|last|this|next) {_THIRD}(?P<m>may|mar(?:ch)?|{_REST})\b(?! \d)",
        _dated,
        True,
    ),
    (rf"\b(?:in|since|during) {_YEAR}\b(?!-)", _dated, False),
)
_ROWS: Final = tuple((re.compile(pattern, re.IGNORECASE), reader, bare) for pattern, reader, bare in _TABLE)
_RECURRING: Final = re.compile(  # "每周二和周四", "every Monday and Thursday"
    r"每[周个](?:星期|礼拜)?[^，。]{0,6}[和与及、到至]$|\bevery \w+day(?:,| and| or| to)(?: \w+day(?: and| or))? $",
    re.IGNORECASE,
)
_PART: Final = re.compile(
    r"的?(?:凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|(?<=[昨今明前])[晚早晨夜])"
    r"|,?\s+(?:in the )?(?:morning|noon|afternoon|evening|night)\b",
    re.IGNORECASE,
)
_HINT: Final = re.compile(
    r"[天日周月年昨今]|明[晚早]|前晚|星期|礼拜|季度|(?:19|20)\d\d|days?\b|tomorrow|week|month|quarter|year|ago|night|noon|morning|evening|"
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
    re.IGNORECASE,
)
