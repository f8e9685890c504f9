"""Dates in words: what they name, and that clocks which change do not move them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenolith.model.dates import resolve

SHANGHAI = ZoneInfo("Asia/Shanghai")
MONDAY = "2026-08-03T10:00"


def at(local: str, zone: ZoneInfo = SHANGHAI) -> int:
    return int(datetime.fromisoformat(local).replace(tzinfo=zone).timestamp() * 1000)


def days(text: str, local: str = MONDAY, *, forward: bool = False) -> list[str]:
    """Return every span as "first day" or "first day..last day", read back through the zone."""
    found = []
    for span in resolve(text, at(local), SHANGHAI, forward=forward):
        first = datetime.fromtimestamp(span.start_ms / 1000, SHANGHAI).date()
        last = datetime.fromtimestamp((span.end_ms - 1) / 1000, SHANGHAI).date()
        found.append(str(first) if first == last else f"{first}..{last}")
    return found


# 2026-08-03 is a Monday.
SEEN_FROM_MONDAY = [
    ("昨天", "2026-08-02"),
    ("前天", "2026-08-01"),
    ("大前天", "2026-07-31"),
    ("今天", "2026-08-03"),
    ("今日", "2026-08-03"),
    ("明天", "2026-08-04"),
    ("后天", "2026-08-05"),
    ("昨晚", "2026-08-02"),
    ("今早", "2026-08-03"),
    ("上周", "2026-07-27..2026-08-02"),
    ("上个星期", "2026-07-27..2026-08-02"),
    ("上上周", "2026-07-20..2026-07-26"),
    ("这周", "2026-08-03..2026-08-09"),
    ("下周", "2026-08-10..2026-08-16"),
    ("上周三", "2026-07-29"),
    ("上周日", "2026-08-02"),
    ("下周三", "2026-08-12"),
    ("这周五", "2026-08-07"),
    ("周五", "2026-07-31"),
    ("周末", "2026-08-01..2026-08-02"),
    ("上周末", "2026-08-01..2026-08-02"),
    ("上个月", "2026-07-01..2026-07-31"),
    ("上月底", "2026-07-21..2026-07-31"),
    ("这个月5号", "2026-08-05"),
    ("上个季度", "2026-04-01..2026-06-30"),
    ("3天前", "2026-07-31"),
    ("三天前", "2026-07-31"),
    ("十二天前", "2026-07-22"),
    ("两周前", "2026-07-20..2026-07-26"),
    ("一个月以前", "2026-07-01..2026-07-31"),
    ("两年前", "2024-01-01..2024-12-31"),
    ("去年", "2025-01-01..2025-12-31"),
    ("前年", "2024-01-01..2024-12-31"),
    ("今年三月", "2026-03-01..2026-03-31"),
    ("去年12月", "2025-12-01..2025-12-31"),
    ("去年3月5日", "2025-03-05"),
    ("3月5日", "2026-03-05"),
    ("十月一号", "2025-10-01"),
    ("三月份", "2026-03-01..2026-03-31"),
    ("2026年8月3日", "2026-08-03"),
    ("2024年2月", "2024-02-01..2024-02-29"),
    ("2019年", "2019-01-01..2019-12-31"),
    ("最近三天", "2026-07-31..2026-08-03"),
    ("过去两周", "2026-07-20..2026-08-03"),
    ("yesterday", "2026-08-02"),
    ("the day before yesterday", "2026-08-01"),
    ("today", "2026-08-03"),
    ("tonight", "2026-08-03"),
    ("last night", "2026-08-02"),
    ("this morning", "2026-08-03"),
    ("tomorrow", "2026-08-04"),
    ("last week", "2026-07-27..2026-08-02"),
    ("the week before last", "2026-07-20..2026-07-26"),
    ("last Monday", "2026-07-27"),
    ("last Friday", "2026-07-31"),
    ("on Thursday", "2026-07-30"),
    ("this Friday", "2026-08-07"),
    ("next Friday", "2026-08-14"),
    ("last weekend", "2026-08-01..2026-08-02"),
    ("two weekends ago", "2026-07-25..2026-07-26"),
    ("this weekend", "2026-08-08..2026-08-09"),
    ("last month", "2026-07-01..2026-07-31"),
    ("last year", "2025-01-01..2025-12-31"),
    ("next month", "2026-09-01..2026-09-30"),
    ("10 days ago", "2026-07-24"),
    ("two weeks ago", "2026-07-20..2026-07-26"),
    ("a week ago", "2026-07-27..2026-08-02"),
    ("three months ago", "2026-05-01..2026-05-31"),
    ("a year ago", "2025-01-01..2025-12-31"),
    ("a few days ago", "2026-07-28..2026-08-01"),
    ("3 days from now", "2026-08-06"),
    ("in March", "2026-03-01..2026-03-31"),
    ("in October", "2025-10-01..2025-10-31"),
    ("on March 5th", "2026-03-05"),
    ("December 24", "2025-12-24"),
    ("5 May", "2026-05-05"),
    ("the 3rd of June", "2026-06-03"),
    ("March 5, 2024", "2024-03-05"),
    ("March 2024", "2024-03-01..2024-03-31"),
    ("in 2019", "2019-01-01..2019-12-31"),
    ("2026-08-03", "2026-08-03"),
    ("2026/8/3", "2026-08-03"),
    ("the past two weeks", "2026-07-20..2026-08-03"),
]


@pytest.mark.parametrize(("words", "expected"), SEEN_FROM_MONDAY)
def test_words_name_their_days_inside_a_sentence(words, expected):
    assert days(words) == [expected]
    sentence = f"我{words}去了海边。" if ord(words[-1]) > 127 else f"We met {words}, it rained."
    (span,) = resolve(sentence, at(MONDAY), SHANGHAI)
    assert sentence[span.start_index : span.end_index] == span.text
    assert days(sentence) == [expected]


@pytest.mark.parametrize(
    ("words", "local", "expected"),
    [
        ("last Monday", "2026-08-05T12:00", "2026-08-03"),
        ("next Friday", "2026-08-01T12:00", "2026-08-07"),
        ("last weekend", "2026-08-08T12:00", "2026-08-01..2026-08-02"),
        ("周末", "2026-08-09T12:00", "2026-08-08..2026-08-09"),
        ("上周日", "2026-08-09T12:00", "2026-08-02"),
        ("上个月", "2026-01-31T12:00", "2025-12-01..2025-12-31"),
        ("last month", "2026-03-31T12:00", "2026-02-01..2026-02-28"),
        ("上个月", "2024-03-31T12:00", "2024-02-01..2024-02-29"),
        ("昨天", "2026-01-01T00:10", "2025-12-31"),
        ("昨天", "2024-03-01T12:00", "2024-02-29"),
        ("last week", "2026-01-02T12:00", "2025-12-22..2025-12-28"),
        ("过去一个月", "2026-03-31T12:00", "2026-02-28..2026-03-31"),
        ("2月29日", "2026-08-03T12:00", "2024-02-29"),
        ("去年三月", "2026-01-02T09:00", "2025-03-01..2025-03-31"),
    ],
)
def test_week_month_and_year_ends_are_kept(words, local, expected):
    assert days(words, local) == [expected]


@pytest.mark.parametrize(
    ("words", "past", "ahead"),
    [
        ("on Thursday", "2026-07-30", "2026-08-06"),
        ("周五", "2026-07-31", "2026-08-07"),
        ("in October", "2025-10-01..2025-10-31", "2026-10-01..2026-10-31"),
        ("3月5日", "2026-03-05", "2027-03-05"),
        ("August 3", "2026-08-03", "2026-08-03"),
        ("until September", "2026-09-01..2026-09-30", "2026-09-01..2026-09-30"),
    ],
)
def test_a_bare_name_looks_back_unless_told_to_look_ahead(words, past, ahead):
    assert days(words) == [past]
    assert days(words, forward=True) == [ahead]


def test_a_count_ahead_is_read_only_when_looking_ahead():
    assert days("done in two days") == []
    assert days("三天后他来了") == []
    assert days("in two days", forward=True) == ["2026-08-05"]
    assert days("三天后", forward=True) == ["2026-08-06"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "目前天气不错",
        "以后天天跑步",
        "说明天气很热",
        "每周三开会",
        "一周三次",
        "每年3月体检",
        "需要3个月",
        "线上周报系统",
        "提前晚点再说",
        "五月天的歌",
        "上月亮",
        "every Monday",
        "on Mondays",
        "it may 5x the load",
        "we march 5 km",
        "version 1.2026-08-03-4",
        "2月30日",
        "9999 years ago",
        "port 2026",
        "十几天前",
        "第三天前台",
    ],
)
def test_recurring_impossible_and_lookalike_words_are_no_dates(text):
    assert days(text) == []


def test_parts_of_a_day_narrow_it_to_hours():
    def hours(text):
        (span,) = resolve(text, at(MONDAY), SHANGHAI)
        ends = (datetime.fromtimestamp(ms / 1000, SHANGHAI) for ms in (span.start_ms, span.end_ms))
        return [moment.strftime("%d %H") for moment in ends], span.label

    assert hours("昨天下午") == (["02 12", "02 18"], "2026-08-02 下午")
    assert hours("昨晚") == (["02 18", "03 00"], "2026-08-02 晚")
    assert hours("今天凌晨") == (["03 00", "03 06"], "2026-08-03 凌晨")
    assert hours("yesterday evening") == (["02 18", "03 00"], "2026-08-02 evening")
    assert hours("this morning") == (["03 05", "03 12"], "2026-08-03 morning")


def test_labels_say_the_date_without_yesterday():
    text = "上周 昨天 上个月 去年 2026年3月"
    labels = [span.label for span in resolve(text, at(MONDAY), SHANGHAI)]
    assert labels == ["2026-07-27/2026-08-02", "2026-08-02", "2026-07", "2025", "2026-03"]


# The nights in 2026 in which clocks change, from the tz database; Kathmandu has none and is UTC+05:45.
CHANGES = [
    ("America/New_York", "2026-03-08", 23),
    ("America/New_York", "2026-11-01", 25),
    ("Europe/Berlin", "2026-03-29", 23),
    ("Europe/Berlin", "2026-10-25", 25),
    ("Pacific/Auckland", "2026-04-05", 25),
    ("Pacific/Auckland", "2026-09-27", 23),
    ("Asia/Kathmandu", "2026-03-29", 24),
]


@pytest.mark.parametrize(("name", "day", "length"), CHANGES)
def test_days_keep_their_true_length_whatever_hour_they_are_seen_from(name, day, length):
    zone = ZoneInfo(name)
    midnight = datetime.fromisoformat(day).replace(tzinfo=zone)
    start = midnight.astimezone(UTC)
    end = start + timedelta(hours=length)
    assert end.astimezone(zone).strftime("%H:%M") == "00:00"
    for hour in range(-30, 60):
        now = start + timedelta(hours=hour)
        distance = (datetime.fromisoformat(day).date() - now.astimezone(zone).date()).days
        word = {-2: "前天", -1: "yesterday", 0: "今天", 1: "tomorrow", 2: "后天"}[distance]
        (span,) = resolve(word, int(now.timestamp() * 1000), zone)
        assert (span.start_ms, span.end_ms) == (start.timestamp() * 1000, end.timestamp() * 1000), (hour, word)


def test_a_midnight_that_clocks_skip_falls_on_the_first_moment_of_the_day():
    zone = ZoneInfo("America/Havana")  # 2026-03-08 begins at 01:00
    (span,) = resolve("today", int(datetime(2026, 3, 8, 12, tzinfo=zone).timestamp() * 1000), zone)
    assert datetime.fromtimestamp(span.start_ms / 1000, zone).strftime("%d %H:%M") == "08 01:00"
    assert span.end_ms - span.start_ms == 23 * 3_600_000


@pytest.mark.parametrize("moment", [-(10**18), 10**18, -(10**13)])
def test_a_moment_outside_the_calendar_gives_nothing_and_raises_nothing(moment):
    assert isinstance(resolve("yesterday and 9999 years ago", moment, SHANGHAI), list)


@given(
    st.lists(st.sampled_from([words for words, _ in SEEN_FROM_MONDAY] + ["，", " ", "每", "x", "5", "月"]), max_size=8),
    st.integers(min_value=0, max_value=4_000_000_000_000),
    st.sampled_from(["America/New_York", "Asia/Kathmandu", "Pacific/Auckland", "UTC"]),
)
def test_spans_are_ordered_disjoint_and_never_empty(pieces, moment, zone):
    text = "".join(pieces)
    reach = 0
    for span in resolve(text, moment, ZoneInfo(zone)):
        assert span.start_index >= reach
        assert span.text == text[span.start_index : span.end_index] != ""
        assert span.start_ms < span.end_ms
        reach = span.end_index
