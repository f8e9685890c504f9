"""Rules without a model: what they learn from words, and what they refuse to learn.

``utterances.jsonl`` was written before the rules.  They were tuned on its "dev" half alone; the first
run on the "held_out" half gave 48 right of 50 drafts and 48 of 50 expected, and only errors of principle
were mended then ("this incident" is not "this time", "the docs say you must" is reported).
"""

from __future__ import annotations

import json
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenolith.distill.rules import Utterance, extract
from stenolith.model.atom import Kind

SHANGHAI = ZoneInfo("Asia/Shanghai")
MONDAY = "2026-08-03T10:00"
LABELLED = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data/utterances.jsonl").read_text("utf-8").splitlines()
]


def at(local, zone=SHANGHAI):
    return int(datetime.fromisoformat(local).replace(tzinfo=zone).timestamp() * 1000)


def learn(text, local=MONDAY, zone=SHANGHAI, **more):
    moment = {"timestamp": at(local, zone) if local else None}
    return extract([Utterance(**{"record_id": "r1", "role": "user", "text": text, **moment, **more})], zone)


def only(text, local=MONDAY, **more):
    (draft,) = learn(text, local, **more)
    return draft


def days(draft, zone=SHANGHAI):
    if draft.occurred_start is None:
        return None
    ends = (datetime.fromtimestamp(ms / 1000, zone).date() for ms in (draft.occurred_start, draft.occurred_end))
    first, last = map(str, ends)
    return first if first == last else f"{first}/{last}"


def is_right(draft, label):
    about = {"subject": draft.subject, "attribute": draft.attribute}
    return (
        draft.kind in label["kind"].split("|")
        and all(words.casefold() in draft.text.casefold() for words in label["contains"])
        and all(about[name] == label[name] for name in about if name in label)
        and ("date" not in label or days(draft) == label["date"])
    )


def test_the_labelled_set_is_two_hundred_and_half_traps():
    assert len(LABELLED) == 200
    assert Counter((row["split"], bool(row["expect"])) for row in LABELLED) == {
        (split, learns): 50 for split in ("dev", "held_out") for learns in (True, False)
    }


def test_at_least_nineteen_of_twenty_drafts_are_right():
    tally: Counter[str] = Counter()
    for row in LABELLED:
        said = Utterance(record_id=row["id"], role=row["role"], text=row["text"], timestamp=row["timestamp"])
        open_ = list(row["expect"])
        tally["expected"] += len(open_)
        for draft in extract([said], SHANGHAI):
            found = next((label for label in open_ if is_right(draft, label)), None)
            tally["made"] += 1
            tally["right"] += found is not None
            if found is not None:
                open_.remove(found)
    precision, recall = tally["right"] / tally["made"], tally["right"] / tally["expected"]
    print(f"\nrules on 200 labelled utterances: precision {precision:.3f}, recall {recall:.3f} ({dict(tally)})")
    assert precision >= 0.95
    assert recall >= 0.85


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("旧的鉴权模块先不要重构，移动端还在使用它。", Kind.CONSTRAINT, ["鉴权模块", "不要重构", "移动端还在使用"]),
        ("我希望使用简体中文回答。", Kind.PREFERENCE, ["简体中文回答"]),
        ("项目后端使用TypeScript。", Kind.FACT, ["后端", "TypeScript"]),
        ("新接口统一使用v3协议。", Kind.DECISION, ["新接口", "v3协议"]),
        ("2026年8月3日完成了MemoryCore部署。", Kind.EVENT, ["2026年8月3日", "MemoryCore部署"]),
        ("修改Pipeline后需要检查空闲定时器是否仍能触发。", Kind.LESSON, ["Pipeline", "空闲定时器"]),
    ],
)
def test_the_seed_examples_get_their_kinds(text, kind, words):
    draft = only(text)
    assert draft.kind is kind
    assert all(word in draft.text for word in words)
    assert draft.sources[0].quote == text


def test_a_draft_carries_its_evidence_and_its_speaker():
    text = "Morning all!\nI only drink oat milk.   Booking the train."
    draft = only(text, speaker="ana")
    assert (draft.text, draft.speaker, draft.subject, draft.role) == ("I only drink oat milk.", "ana", "user", "user")
    (source,) = draft.sources
    assert (source.record_id, source.quote, source.timestamp) == ("r1", "I only drink oat milk.", at(MONDAY))


def test_drafts_keep_the_order_of_what_was_said():
    said = ["I live in Graz.", "Never push to main directly.", "我对花生过敏。"]
    drafts = extract([Utterance(record_id=f"r{n}", role="user", text=text) for n, text in enumerate(said)], UTC)
    assert [draft.sources[0].record_id for draft in drafts] == ["r0", "r1", "r2"]


@pytest.mark.parametrize("change", [{"role": "assistant"}, {"role": "tool"}, {"role": "system"}, {"failed": True}])
def test_only_people_in_turns_that_succeeded_teach_anything(change):
    text = "I prefer dark roast. We decided to use Postgres. 我住在杭州。"
    assert len(learn(text)) == 3
    assert learn(text, **change) == []


@pytest.mark.parametrize(
    ("text", "words", "happened"),
    [
        ("Yesterday I went to the night market.", "On 2023-05-07 I went to the night market.", "2023-05-07"),
        (
            "I went to the night market last week.",
            "I went to the night market in the week of 2023-05-01.",
            "2023-05-01/2023-05-07",
        ),
        (
            "My sister got married two weekends ago",
            "My sister got married on the weekend of 2023-04-29",
            "2023-04-29/2023-04-30",
        ),
        ("昨天我去了夜市", "2023-05-07我去了夜市", "2023-05-07"),
        ("我上个月离职了", "我2023年4月离职了", "2023-04-01/2023-04-30"),
        ("We shipped 4.2 on 2023-05-02", "We shipped 4.2 on 2023-05-02", "2023-05-02"),
        ("I'm flying to Tokyo next Friday", "I'm flying to Tokyo on 2023-05-19", "2023-05-19"),
    ],
)
def test_relative_days_belong_to_the_message(text, words, happened):
    draft = only(text, "2023-05-08T09:00")
    assert (draft.kind, draft.text, days(draft)) == (Kind.EVENT, words, happened)


def test_the_zone_decides_which_day_yesterday_was():
    moment = at("2026-08-03T01:00")  # still August 2 in New York
    for zone, day in ((SHANGHAI, "2026-08-02"), (ZoneInfo("America/New_York"), "2026-08-01")):
        (draft,) = extract(
            [Utterance(record_id="r", role="user", text="I went to the dentist yesterday", timestamp=moment)], zone
        )
        assert days(draft, zone) == day


def test_without_a_time_relative_days_teach_nothing_and_absolute_ones_do():
    assert learn("I went to the dentist yesterday", None) == []
    assert learn("MySQL换成了PostgreSQL，上个月的事", None) == []
    assert days(only("We shipped 4.2 on 2026-05-12", None)) == "2026-05-12"
    assert only("I live in Graz", None).sources[0].timestamp is None


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("I use Neovim", ("user", "editor")),
        ("我现在改用Zed了", ("user", "editor")),
        ("Our database is Postgres", ("project", "database")),
        ("MySQL换成了PostgreSQL", ("project", "database")),
        ("The database of the billing service is no longer Postgres", ("billing service", "database")),
        ("We went with Postgres for the billing service", ("billing service", "database")),
        ("我们的默认分支是trunk", ("project", "default branch")),
        ("Our default branch is trunk", ("project", "default branch")),
        ("以后都用英文回复我", ("user", "reply_language")),
        ("I want your answers in German", ("user", "reply_language")),
        ("旧的鉴权模块先不要重构，移动端还在用", ("旧鉴权模块", "重构")),
        ("旧鉴权模块现在可以重构了", ("旧鉴权模块", "重构")),
        ("I love spicy noodles.", ("user", "taste: spicy noodles")),
        ("Honestly, I can't stand spicy noodles any more.", ("user", "taste: spicy noodles")),
        ("I moved to Linz", ("user", "residence")),
        ("我同事的老家是天津", ("user's 同事", "")),
        ("My wife is allergic to cats", ("user's wife", "")),
        ("We use SQLite for tests", ("project", "")),
    ],
)
def test_subject_and_property_are_one_pair_however_it_is_said(text, about):
    draft = only(text)
    assert (draft.subject, draft.attribute) == about


@pytest.mark.parametrize(
    ("text", "corrects"),
    [
        ("Actually we use MySQL", True),
        ("我们不再用Jenkins了", True),
        ("I no longer use Docker Desktop", True),
        ("从现在起都用英文回复", True),
        ("I switched to Zed", True),
        ("We use MySQL now", True),
        ("We use MySQL", False),
        ("我住在杭州", False),
    ],
)
def test_a_correction_is_marked_as_one(text, corrects):
    assert only(text).corrects is corrects


@pytest.mark.parametrize(
    ("text", "priority"),
    [
        ("I'm allergic to penicillin", 95),
        ("我女儿对花生过敏", 95),
        ("任何脚本都不准直接写线上库", 90),
        ("Never restart the ingest service", 90),
        ("from now on always answer in metric units", 80),
        ("I live in Graz", 75),
        ("We decided to use Kafka", 70),
        ("I love hiking", 60),
        ("For this PR we must not touch migrations", 50),
    ],
)
def test_priorities_follow_the_table(text, priority):
    assert only(text).priority == priority


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("Until Friday nobody may merge into release/5.2", "2026-08-08T00:00"),
        ("周五之前不要合并到主干，测试还没结束", "2026-08-08T00:00"),
        ("The public API is frozen until September", "2026-09-01T00:00"),
        ("在2026年8月20日之前，支付模块不准改动", "2026-08-21T00:00"),
        ("这周不要发版，法务要求的", "2026-08-10T00:00"),
        ("Never deploy on Fridays, the team is away", None),
    ],
)
def test_a_rule_with_an_end_expires_there(text, end):
    draft = only(text)
    assert (draft.kind, draft.task_only) == (Kind.CONSTRAINT, False)
    assert draft.expires_at == (at(end) if end else None)


def test_a_rule_for_one_task_is_bound_to_it_and_ends_within_a_week():
    draft = only("For this PR we must not touch the migrations.")
    assert draft.task_only
    assert draft.expires_at == at("2026-08-10T10:00")
    assert learn("For this report only, answer with just OK when you are done.") == []


def test_a_fact_before_a_question_is_kept_without_the_question():
    assert only("我对花生过敏，这个能吃吗？").text == "我对花生过敏"
    assert only("I'm vegan, what can I cook tonight?").text == "I'm vegan"


def test_two_facts_of_a_sentence_stand_alone():
    texts = [draft.text for draft in learn("我老家在绍兴，现在住在杭州滨江")]
    assert texts == ["我老家在绍兴", "我现在住在杭州滨江"]


@pytest.mark.parametrize(
    "secret",
    [
        "Remember that the password for staging is Tr0ub4dor&3",
        "记住，数据库密码是Abc12345",
        "I use the key sk-test-4f9aABCDEFGHIJKLMNOP for staging. I live in Graz.",
        "Always send Authorization: Bearer abcdef1234567890 with requests",
        "We decided to use this:\n-----BEGIN PRIVATE KEY-----\nMIIE",
        "I live in Graz and my token is [REDACTED:token]",
    ],
)
def test_an_utterance_with_a_secret_teaches_nothing(secret):
    assert learn(secret) == []


def test_a_rule_about_passwords_is_no_secret():
    assert only("Passwords must never be logged.").kind is Kind.CONSTRAINT
    assert only("密码必须至少12位").kind is Kind.CONSTRAINT


@pytest.mark.parametrize(
    "pasted",
    [
        "```\nWe decided to use Redis.\n```",
        "> I always use tabs",
        "2026-08-02 23:11:04 ERROR we must not write to the replica",
        'Traceback (most recent call last):\n  File "a.py", line 3\nValueError: you must name it',
        "$ echo I live in Berlin",
        "I live in Graz. " * 200,
    ],
)
def test_code_quotations_logs_and_long_pastes_are_not_the_speaker(pasted):
    assert learn(pasted) == []


def test_own_words_beside_code_are_read():
    draft = only("We no longer use Jenkins.\n```yaml\nuse: jenkins\n```")
    assert draft.text == "We no longer use Jenkins."


@given(st.text(max_size=120), st.integers(min_value=-(10**15), max_value=10**15) | st.none())
def test_any_text_at_any_time_is_read_without_an_error(text, moment):
    for draft in extract([Utterance(record_id="r", role="user", text=text, timestamp=moment)], SHANGHAI):
        assert draft.text.strip() == draft.text != ""


@given(st.lists(st.sampled_from([row["text"] for row in LABELLED]), max_size=4))
def test_every_quote_is_found_in_what_was_said(texts):
    text = "\n".join(texts)
    for draft in learn(text):
        assert draft.sources[0].quote in text


@pytest.mark.parametrize("piece", ["a ", "我", "，我", "our a b ", "I really ", "turns out ", "“", "    ", "在", "x"])
def test_no_text_makes_reading_slow(piece):
    begun = time.process_time()
    learn((piece * 2000)[:2000])
    assert time.process_time() - begun < 0.5


def test_reading_is_quick():
    said = [
        Utterance(record_id=row["id"], role="user", text=row["text"], timestamp=row["timestamp"]) for row in LABELLED
    ]
    extract(said, SHANGHAI)
    best = min(_seconds(said) for _ in range(5))
    print(f"\nrules: {len(said) / best:.0f} utterances a second")
    assert len(said) / best > 1000  # 5,000 and more on an idle core; the bound leaves room for a busy one


def _seconds(said):
    begun = time.process_time()
    extract(said, SHANGHAI)
    return time.process_time() - begun
