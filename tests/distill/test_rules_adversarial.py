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


# A third batch, written when the first two passed: ordinary talk.  At first 20 of the 58 statements were
# learned and seven of the sixty others believed; what stands here keeps what was mended.
STATEMENTS = [
    ("我是做嵌入式开发的，主要写C", "fact"),
    ("我们公司在用飞书，不用钉钉", "fact"),
    ("我儿子今年上小学三年级", "fact"),
    ("线上环境的密钥统一放在Vault里管理", "decision"),
    ("记住：发布窗口是每周二和周四晚上十点", "fact"),
    ("我比较喜欢函数式的写法，少用继承", "preference"),
    ("回答的时候别用emoji", "instruction"),
    ("写SQL的时候关键字要大写", "instruction"),
    ("上周五数据库主从切换失败，丢了十几条订单", "event"),
    ("我打算九月初去冰岛旅行", "event"),
    ("我们已经把日志系统从ELK迁到了Loki", "fact"),
    ("以后生成的代码都要带类型注解", "instruction"),
    ("我的工位在三楼靠窗", "fact"),
    ("我老婆是护士，经常上夜班", "fact"),
    ("不要动payment目录下的代码，那块归财务组管", "constraint"),
    ("任何涉及用户隐私的数据都不能写进日志", "constraint"),
    ("我们的代码规范要求函数不超过50行", "constraint"),
    ("我习惯用两个空格缩进", "preference"),
    ("我英语一般，遇到术语请给中文解释", "instruction"),
    ("我从2019年开始用Vim", "fact"),
    ("鉴于合规要求，所有日志必须保留180天", "constraint"),
    ("项目代号叫“北极星”", "fact"),
    ("以前用的是Vue 2，现在都换成Vue 3了", "fact"),
    ("我刚入职一家做芯片的公司", "fact"),
    ("测试环境地址是test.example.com", "fact"),
    ("My manager is Priya and she approves all releases.", "fact"),
    ("We deploy every Tuesday at 10am CET.", "fact"),
    ("I have two kids, Mia and Leo", "fact"),
    ("I'm colorblind, so don't rely on red/green in charts.", "fact"),
    ("Our API rate limit is 100 requests per minute", "fact"),
    ("Use tabs, not spaces, in this repo.", "instruction"),
    ("I drink my coffee black", "preference"),
    ("I'm learning Rust at the moment", "fact"),
    ("The main repo is at github.com/acme/core", "fact"),
    ("Please write commit messages in imperative mood.", "instruction"),
    ("I get migraines from flickering screens", "fact"),
    ("I bought a new bike last Saturday.", "event"),
    ("We don't support Internet Explorer any more.", "fact"),
    ("I'm planning to run the Berlin marathon in September", "event"),
    ("All secrets live in Vault, never in the repo.", "fact"),
    ("Tests must pass before merging.", "constraint"),
    ("Our sprint starts on Wednesdays.", "fact"),
    ("I need to leave by 5 every day to pick up my daughter", "fact"),
    ("I studied physics in Vienna", "fact"),
    ("My flight to Oslo is on August 20.", "event"),
    ("The frontend team owns the design tokens.", "fact"),
    ("I quit smoking two years ago", "event"),
    ("don't suggest restaurants with seafood, I'm allergic", "constraint"),
    ("When I say 'ship it' I mean merge and deploy to staging.", "instruction"),
    ("I can't eat gluten", "fact"),
    ("You can call me Max", "instruction"),
    ("The database password rotates every 30 days", "fact"),
    ("we've moved from REST to gRPC for internal services", "fact"),
    ("No meetings before 10 for me", "constraint"),
    ("Prefer composition over inheritance in my code", "instruction"),
    ("I hate long meetings", "preference"),
    ("I work in Berlin but live in Potsdam", "fact"),
    ("I'd prefer you answer in French", "preference"),
]
TALK = [
    "这个需求我不想做了",
    "帮我把这段代码改成用async的",
    "我觉得这个方案不太行",
    "你能不能记住我说的话",
    "我们用Redis的话会不会更快",
    "别着急，慢慢来",
    "这个bug必须今天修好",
    "把按钮改成蓝色，不要用红色",
    "为什么不能用递归",
    "我刚吃完饭",
    "代码里不要写死路径吧？",
    "明天下午开会，帮我准备一下材料",
    "我想学Rust，有什么推荐",
    "他们决定用React了",
    "我昨天没睡好",
    "昨天的日志帮我看一下",
    "今天天气真好",
    "这道题要求必须用动态规划",
    "请用三句话总结",
    "用Python写个爬虫",
    "以后再说吧",
    "每次都是这样",
    "不要废话，直接给答案",
    "I have a question about React",
    "I have a bug in my code",
    "I use this function to parse dates, why does it fail?",
    "We need to fix this by tomorrow",
    "Don't change anything else",
    "I think we should use Postgres",
    "I love this answer!",
    "never seen that error before",
    "always returns null, any idea?",
    "This must be fixed today",
    "I was told that we use Jenkins",
    "He prefers Java",
    "My code doesn't work",
    "I'm stuck on this problem",
    "I'm at home today",
    "I work on it tomorrow",
    "we use a for loop here",
    "I want a function that sorts a list",
    "Only return the JSON, no explanation",
    "Do not include any markdown in this answer",
    "I can't open the file",
    "The server is down",
    "The build runs on every push but fails",
    "I live for this kind of bug",
    "I like it",
    "I prefer the second option",
    "the port is already in use",
    "Let's use MySQL for this example",
    "In this example, users must log in first",
    "Say I work at Google, what would my commute be",
    "Write a test that must fail",
    "Why must all timestamps be UTC?",
    "I'd never use PHP lol",
    "Use the existing helper instead of writing a new one",
    "Keep the answer under 100 words",
    "the answer must be a number",
    "Your answer must be in JSON format",
]


@pytest.mark.parametrize(("text", "kind"), STATEMENTS)
def test_ordinary_statements_are_learned_with_their_kind(text, kind):
    said = Utterance(record_id="r", role="user", text=text, timestamp=MONDAY_MORNING)
    assert [draft.kind for draft in extract([said], ZoneInfo("Asia/Shanghai"))] == [kind]


@pytest.mark.parametrize("text", TALK)
def test_ordinary_requests_and_remarks_teach_nothing(text):
    said = Utterance(record_id="r", role="user", text=text, timestamp=MONDAY_MORNING)
    assert extract([said], ZoneInfo("Asia/Shanghai")) == []
