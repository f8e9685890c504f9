"""Sixty utterances made to mislead the rules, written after them: idioms, sarcasm, code, logs, mixed sentences.

When they were written, five of the fifty traps were believed and three of the ten statements missed; each
was mended for its whole kind (tag questions, dreams, trailing code comments, negated health, mixed scripts).
"""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from stenolith.distill.rules import Utterance, extract

MONDAY_MORNING = 1_785_722_400_000  # 2026-08-03T10:00+08:00

# Text; what is expected: kinds (alternatives with "|") and the words the draft holds; why.
TABLE = [
    ("I don't mind waiting for the nightly build.", [], "idiom of patience"),
    ("不是我不喜欢喝茶，就是懒得泡", [], "negated claim"),
    ("她说她喜欢住在海边", [], "reported"),
    ("我喜欢你的方案", [], "about this reply"),
    ("remind me to never deploy on Fridays again, ha", [], "reminder and joke"),
    ("let's say we use Redis and it dies at 3am", [], "supposition"),
    ("We use Postgres, don't we?", [], "tag question"),
    ("我们用的是MySQL对吧？", [], "tag question"),
    ("I like where this is going", [], "about this conversation"),
    ("I love you, Claude", [], "affection is no fact"),
    ("I'd love a dark theme one day", [], "vague wish"),
    ("谁喜欢写文档啊", [], "rhetorical question"),
    ("我要是喜欢加班我就是狗", [], "sarcastic conditional"),
    ("别提了，我昨天被老板骂了一顿", [], "passing complaint"),
    ("I must be going crazy", [], "idiom with must"),
    ("You must be joking, we never agreed on that", [], "denied decision"),
    ("There must be a bug in the parser.", [], "epistemic must"),
    ("这里必须是哪里写错了", [], "epistemic must in Chinese"),
    ("用户不能登录了，快看看", [], "bug report, not a rule"),
    ("接口不能用了", [], "broken, not forbidden"),
    ("每次点保存都报错", [], "complaint, not a standing order"),
    ("every time I open it, it crashes", [], "complaint"),
    ("It never works on my machine", [], "complaint with never"),
    ("I never said we use Kafka, Bob did", [], "denied"),
    ("客户说他们以后都用飞书沟通", [], "a customer's habit"),
    ("Bob prefers vim and I prefer not to argue about it", [], "another person's taste and an idiom"),
    ("我妈觉得我应该住在北京", [], "somebody's opinion"),
    ("我做了个梦，梦见我住在月球上", [], "dream"),
    ("In my dream I live in Paris", [], "dream"),
    ("as a joke we decided to name the server Titanic lol", [], "joke marker"),
    ("print('I live in Berlin')", [], "code"),
    ('console.log("we use redis"); // must not be null', [], "code"),
    ("commit 3f2a9c1\nAuthor: Ann <a@b.c>\nDate: Mon Aug 3\n\n    We no longer use Redis", [], "pasted git log"),
    ("[2026-08-03 10:00:01] we use fallback database sqlite", [], "log line"),
    ("$ echo 'I prefer tabs' > prefs.txt", [], "shell line"),
    ("ERROR: all values must be positive", [], "error message"),
    ("错误：所有字段都必须填写", [], "error message"),
    ("“以后都用英文回复”是什么意思", [], "quotation in a question"),
    ("He wrote: I live in Rome and I hate rain.", [], "somebody's words"),
    ("老师让我们背“我住在二楼”这句", [], "quotation"),
    ("It's not that we never test, we just test late", [], "denied"),
    ("I used to live in Munich", [], "past state; nothing about now"),
    ("我以前住在成都", [], "past state; nothing about now"),
    ("We almost decided to use Mongo", [], "not decided"),
    ("我差点决定离职", [], "not decided"),
    ("I can't say I like it", [], "negated idiom"),
    ("我没有对花生过敏", [], "negated health claim: must not be stored as an allergy"),
    ("I'm not allergic to cats.", [], "negated health claim"),
    ("I don't live in Berlin, that's my brother", [], "negated residence"),
    ("not a fan of meetings? who is", [], "rhetorical"),
    ("Ok so 我现在 base 在 Singapore, 不过 timezone 还是按北京时间来", [("fact", "Singapore")], "mixed residence"),
    ("btw 我们的 default branch 是 develop 不是 main", [("fact", "develop")], "mixed project fact"),
    ("以后 review 我的 PR 时先看 tests 再看实现", [("instruction", "tests")], "mixed standing order"),
    (
        "生产的 feature flag 不要手动改，会被 Terraform 覆盖",
        [("constraint", "feature flag", "Terraform")],
        "mixed rule with reason",
    ),
    ("我对海鲜过敏，今晚吃啥好？", [("fact", "海鲜过敏")], "fact before a question"),
    ("I'm vegan, can you suggest a dinner for tonight?", [("fact", "vegan")], "fact before a request"),
    ("Correction: we deploy to Hetzner now, no longer to AWS.", [("fact|decision", "Hetzner")], "correction"),
    ("从现在起不用叫我老师了，叫我小周就行", [("instruction", "小周")], "changed form of address"),
    (
        "Two weekends ago my wife and I moved into our new flat in Leiden.",
        [("event|fact", "Leiden")],
        "dated event with company",
    ),
    (
        "Until Friday nobody may merge into release/5.2, QA is still testing.",
        [("constraint", "release/5.2")],
        "rule with an end",
    ),
]


@pytest.mark.parametrize(("text", "expected", "why"), TABLE)
def test_misleading_words_are_read_right(text, expected, why):
    said = Utterance(record_id="r", role="user", text=text, timestamp=MONDAY_MORNING)
    drafts = extract([said], ZoneInfo("Asia/Shanghai"))
    assert len(drafts) == len(expected), (why, [draft.text for draft in drafts])
    for draft, (kinds, *words) in zip(drafts, expected, strict=True):
        assert draft.kind in kinds.split("|"), why
        assert all(word in draft.text for word in words), (why, draft.text)


def test_the_table_has_sixty_rows():
    assert len(TABLE) == 60
