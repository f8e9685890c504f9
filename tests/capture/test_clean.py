"""What cleaning takes away, and what it must never take away."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stenolith.capture.clean import Skip, clean, worth_distilling
from stenolith.capture.code import code_blocks, without_code
from stenolith.capture.fences import FENCES, Place
from stenolith.model.message import Role

BEGIN = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"
END = "<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"
STAMP = "[Mon 2026-11-30 05:22 UTC] "
META = 'Conversation info (untrusted metadata):\n```json\n{"a":1}\n```'

REMOVING = [row for row in FENCES if not row.keeps]
ROW_NAMES = [row.name for row in REMOVING]


def user(text, original=None):
    return clean(text, role=Role.USER, original=original)


# --- the table, row by row -------------------------------------------------------------------------


def test_row_names_are_unique():
    assert len({row.name for row in FENCES}) == len(FENCES)


@pytest.mark.parametrize("row", REMOVING, ids=ROW_NAMES)
def test_every_known_wrapper_in_front_of_the_words_is_removed(row):
    cleaned = user(row.example + "\n\nWhich beans should I buy?")
    assert cleaned.text == "Which beans should I buy?"
    assert row.name in cleaned.removed
    assert cleaned.skip is None


@pytest.mark.parametrize("row", REMOVING, ids=ROW_NAMES)
def test_a_message_of_nothing_but_a_wrapper_is_skipped_as_injected(row):
    assert user(row.example).skip == "injected"


@pytest.mark.parametrize("row", [row for row in REMOVING if row.place is Place.LINE], ids=lambda row: row.name)
def test_every_known_block_behind_the_words_is_removed(row):
    assert user("Which beans should I buy?\n\n" + row.example).text == "Which beans should I buy?"


@pytest.mark.parametrize("row", [row for row in REMOVING if row.place is Place.HEAD], ids=lambda row: row.name)
def test_a_heading_of_the_host_behind_the_words_is_text(row):
    text = "he wrote:\n" + row.example
    assert user(text).text == text


@pytest.mark.parametrize("row", REMOVING, ids=ROW_NAMES)
def test_a_wrapper_inside_the_persons_code_block_is_text(row):
    text = "look:\n````text\n" + row.example + "\n````\nwhy?"
    assert user(text).text == text


@pytest.mark.parametrize("row", REMOVING, ids=ROW_NAMES)
def test_a_wrapper_quoted_line_by_line_is_text(row):
    text = "\n".join("> " + line for line in row.example.split("\n")) + "\nwhat is this?"
    assert user(text).text == text


@pytest.mark.parametrize("row", [row for row in REMOVING if row.closing], ids=lambda row: row.name)
def test_an_opening_without_its_closing_takes_nothing(row):
    opening = row.example.rsplit("\n", 1)[0]
    text = opening + "\nmy question stands here\n\nand goes on"
    assert user(text).text == text


@pytest.mark.parametrize("row", REMOVING, ids=ROW_NAMES)
def test_a_wrapper_behind_a_stamp_is_removed(row):
    assert user(STAMP + row.example + "\n\nq").text == "q"


# --- layers.md 2.4: what each rule is for, and the data it must not lose (W18) ---------------------

IN_OUT = [
    ("<relevant-memories>x</relevant-memories>q", "q"),
    ("<relevant-memories>\n- likes tea\n</relevant-memories>\n\nq", "q"),
    ('<history_task_context id="7">\nold\n</history_task_context>\nq', "q"),
    (META + "\nhi there", "hi there"),
    (META + "\n\nreal text", "real text"),
    (META + '\n\nSender (untrusted metadata):\n```json\n{"id": "7"}\n```\n\n' + STAMP + "now", "now"),
    ("Chat history since last reply (untrusted, for context):\n```json\n[]\n```\nq", "q"),
    ("[[reply_to_current]] ok", "ok"),
    ("¥¥[skill a]¥¥ do it", "do it"),
    ("[Tue 2026-03-24 20:21 GMT+8] hello", "hello"),
    (STAMP + "<relevant-memories>\n- a\n</relevant-memories>\n\nwhat now?", "what now?"),
    ("[media attached: /tmp/a.png (image/png) | /tmp/a.png] what is it?", "what is it?"),
    ("To send an image back, use the tool. Keep caption in the text body.\nhi", "hi"),
    ("System: [2026-01-12 12:19:17 PST] Model switched.\n\nhello", "hello"),
    ("System (untrusted): [2026-04-22 10:06:24 GMT+8] Exec completed\nSystem: more of it\n\nhello", "hello"),
    ("look data:image/png;base64,AAAA== end", "look [image] end"),
    ("a\x00b", "ab"),
    ("a\n\n\n\nb", "a\n\nb"),
    ("  padded \n", "padded"),
    # replay.md 3.1
    (f"hello\n{BEGIN}\nsecret\n{END}\nworld", "hello\n\nworld"),
    (f"a\n{BEGIN}\nx\n{BEGIN}\ny\n{END}\nz\n{END}\nb", "a\n\nb"),
    ("[Mon 2026-01-05 10:00 UTC] hi", "hi"),
    # our own fence, with attributes and with a nonce in the closing tag
    (
        '<stenolith-memory v="1" nonce="0011223344556677">\n{"n":1}\n</stenolith-memory nonce="0011223344556677">\nq',
        "q",
    ),
    ('<stenolith-profile v="1">\n# who\n</stenolith-profile>\nq', "q"),
    # one line, several wrappers
    ("<user-persona>a</user-persona><scene-navigation>b</scene-navigation>q", "q"),
    ("[[reply_to_current]] [media attached: /tmp/a.ogg (audio/ogg)] q", "q"),
    # a block that holds fence lines of its own, behind a person's forgotten fence
    ("```\nmy code\n\n<memory-context>\n```json\n{}\n```\n</memory-context>", "```\nmy code"),
    # everything OpenClaw may put in front at once
    (
        "[media attached: /tmp/a.jpg (image/jpeg) | /tmp/a.jpg]\nTo send an image back, prefer the tool. "
        "Keep caption in the text body.\nSystem: [2026-04-01 16:30:01 GMT+8] Feishu DM\n\n"
        + META
        + "\n\n"
        + STAMP
        + "继续",
        "继续",
    ),
    ("Sender: ⟦openclaw:ctx⟧\r\n```json\r\n{}\r\n```\r\n\r\nContext: ⟦openclaw:ctx⟧\n#1 hi\n\nq", "q"),
    # a nested block of another row
    ("<memory-context>\n<system-reminder>x</system-reminder>\n</memory-context>\nq", "q"),
]


@pytest.mark.parametrize(("given_text", "expected"), IN_OUT)
def test_what_a_host_adds_goes(given_text, expected):
    assert user(given_text).text == expected


SURVIVORS = [
    "[todo] buy milk",
    "[INFO] starting up",
    "[2026-11-30 05:22] standup notes",
    "[Mon 2026-01-05 10:00] standup notes",
    "/etc/hosts is broken",
    '```json\n{"session": "x"}\n```',
    'my json ```json {"session":"x"}``` end',
    "System: the fan is loud",
    "System: [draft] the fan is loud",
    "my log says\nSystem: [2026-01-12 12:19:17 PST] Model switched.\nwhy?",
    "what does <<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>> mean?",
    f"{BEGIN}\nI pasted half of it\n\nand here is my question",
    "what does <relevant-memories>x</relevant-memories> mean?",
    "`<user-persona>` opens it, `</user-persona>` closes it",
    "```xml\n<relevant-memories>\nx\n</relevant-memories>\n```\nis this right?",
    "as in:\n    <relevant-memories>indented code</relevant-memories>",
    "the tags </user-persona><scene-navigation> and </scene-navigation> are odd",
    "Input (untrusted):\n```json\n{}\n```\nhow do I check it?",
    "he said (untrusted metadata): and left",
    "To send an image back, I need your address.",
    "use [[reply_to_current]] in the answer",
    "it costs ¥¥[5]",
    "data:image/png;base64, is how it starts",
    "A[1] = [media attached]",
    "<b>bold</b> and <div>more</div>",
    "你好，<用户画像> 是什么？",
]


@pytest.mark.parametrize("text", SURVIVORS)
def test_a_persons_own_text_survives(text):
    cleaned = user(text)
    assert cleaned.text == text.strip()
    assert cleaned.removed == ()


def test_a_second_opening_takes_only_what_is_closed():
    text = "<user-persona>\nmy unfinished words\n<user-persona>\nhost\n</user-persona>\nend"
    assert user(text).text == "<user-persona>\nmy unfinished words\n\nend"


def test_a_block_pasted_back_in_front_of_the_question_is_removed_c08():
    block = '<stenolith-memory v="1">\n- Prefers dark roast\n</stenolith-memory>'
    assert user(block + "\nWhich beans should I buy?").text == "Which beans should I buy?"
    typed = "I typed <stenolith-memory> myself; what does it do?"
    assert user(block + "\n" + typed).text == typed


def test_commands_of_claude_code_become_what_was_typed():
    scaffold = "<command-message>review is running…</command-message>\n<command-name>/review</command-name>\n"
    cleaned = user(scaffold + "<command-args>the login on mobile</command-args>")
    assert " ".join(cleaned.text.split()) == "/review the login on mobile"
    assert cleaned.skip is None
    bare = (
        "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>"
    )
    assert user(bare).skip == "command"


# --- the words as typed ---------------------------------------------------------------------------


def test_the_typed_words_replace_a_users_text():
    cleaned = user("recalled: likes tea\n\nwhat now?", original="what now?")
    assert (cleaned.text, cleaned.removed) == ("what now?", ("restored",))


def test_typed_words_are_cleaned_too():
    cleaned = user("x", original="<user-persona>a</user-persona>\nwhat now?")
    assert cleaned.text == "what now?"


def test_typed_words_equal_to_the_text_are_no_change():
    assert user("what now?", original="what now? ").removed == ()


@pytest.mark.parametrize("original", [None, "", "  \n"])
def test_blank_typed_words_are_no_words(original):
    assert user("hello", original=original).text == "hello"


def test_typed_words_belong_to_users_only():
    assert clean("the answer", role=Role.ASSISTANT, original="what now?").text == "the answer"


# --- search text ----------------------------------------------------------------------------------


def test_an_assistants_fenced_code_is_left_out_of_the_search_text_only():
    text = "Do this:\n```sh\nmake\n```\nThen rest."
    cleaned = clean(text, role=Role.ASSISTANT)
    assert cleaned.text == text
    assert cleaned.search_text == "Do this:\n\nThen rest."


def test_a_users_code_is_searched():
    text = "Why?\n```sh\nmake\n```"
    assert user(text).search_text == text


CODE = [
    (
        "an inline ```triple``` backtick\nand prose\n```\ncode\n```\nend",
        "an inline ```triple``` backtick\nand prose\n\nend",
    ),
    ("```one``` on its own line\nprose\n```two``` too", "```one``` on its own line\nprose\n```two``` too"),
    ("````md\n```\ninner\n```\n````\nend", "\nend"),
    ("~~~\ncode\n```\n~~~\nend", "\nend"),
    ("```\nnever closed\nprose", "```\nnever closed\nprose"),
    ("```py\na\n```\nmid\n```\nb\n```", "\nmid\n"),
    ("   ```\n   code\n   ```\nend", "\nend"),
    ("    ```\n    indented\n", "    ```\n    indented\n"),
    ("```\na\n```` \nend", "\nend"),
]


@pytest.mark.parametrize(("text", "expected"), CODE)
def test_fences_pair_as_in_markdown(text, expected):
    assert without_code(text) == expected


@given(st.lists(st.sampled_from(["```", "````", "~~~", "```py", "x", "```a```", ""]), max_size=12))
def test_code_blocks_are_in_order_apart_and_inside(lines):
    text = "\n".join(lines)
    blocks = code_blocks(text)
    edges = [edge for block in blocks for edge in block]
    assert edges == sorted(edges)
    assert all(0 <= edge <= len(text) for edge in edges)


# --- messages that nobody said --------------------------------------------------------------------

SKIPPED = [
    ("", "empty"),
    (" \n\t", "empty"),
    ("\x00", "empty"),
    ("(session bootstrap)", "bootstrap"),
    ("A new session was started via /new or /reset. Run your Session Startup sequence.", "bootstrap"),
    ("✅ New session started · model: anthropic/claude", "bootstrap"),
    ("Pre-compaction memory flush", "memory_flush"),
    ("Pre-compaction memory flush. Store durable memories only in memory/2026-05-01.md.", "memory_flush"),
    ("NO_REPLY", "silent"),
    ('"NO_REPLY"', "silent"),
    ("`NO_REPLY`", "silent"),
    ('{"action":"NO_REPLY"}', "silent"),
    ('{ "action": "NO_REPLY" }', "silent"),
    ("HEARTBEAT_OK", "heartbeat"),
    ("**HEARTBEAT_OK**", "heartbeat"),
    ("<b>HEARTBEAT_OK</b>.", "heartbeat"),
    ("[OpenClaw heartbeat poll]", "heartbeat"),
    (
        "Read HEARTBEAT.md if it exists (workspace context). Follow it strictly. Reply HEARTBEAT_OK.\nCurrent time: 9",
        "heartbeat",
    ),
    ("System: [2026-04-09 15:09:01 UTC] Exec failed\n\n[OpenClaw heartbeat poll]", "heartbeat"),
    ("/new", "command"),
    ("/reset", "command"),
    ("/new openai/gpt-5.2", "command"),
    ("/NEW", "command"),
    ("/status@my_bot", "command"),
    ("/think: high", "command"),
    ("/model opus", "command"),
    ("/model openai/gpt-5.2", "command"),
    ("/verbose on", "command"),
    ("/exec host=gateway security=full", "command"),
    ("/compact", "command"),
    ("/clear", "command"),
    ("/undo 3", "command"),
    ("/resume", "command"),
    ("/approve 1f2e allow-once", "command"),
    (STAMP + "/new", "command"),
]


@pytest.mark.parametrize(("text", "reason"), SKIPPED)
def test_noise_is_skipped_with_its_reason(text, reason):
    assert user(text).skip == reason


SAID = [
    "/etc/hosts is broken",
    "/etc/hosts",
    "/home/ada/notes.md has my plan",
    "/new please fix the login",
    "/compact focus on the API design",
    "/btw what is a monad?",
    "/status page is down again",
    "/model is broken",
    "/think step by step about the outage",
    "/help me with this",
    "/stop it, I like that",
    "/unknown",
    "/ is the root",
    "//",
    "/deploy production",
    "A new session was started via the admin page",
    "Pre-compaction memory flush is slow, why?",
    "why does it answer NO_REPLY?",
    "hi NO_REPLY",
    "HEARTBEAT_OK means all is well, right?",
    "Read HEARTBEAT.md if it exists, please",
    "A heartbeat poll woke me",
    "(session bootstrap) failed",
]


@pytest.mark.parametrize("text", SAID)
def test_what_a_person_says_about_noise_is_no_noise(text):
    cleaned = user(text)
    assert (cleaned.text, cleaned.skip) == (text, None)


def test_only_users_type_commands():
    assert clean("/new", role=Role.ASSISTANT).skip is None


def test_reasons_are_plain_words():
    assert {reason.value for reason in Skip} == {
        "empty",
        "injected",
        "bootstrap",
        "memory_flush",
        "silent",
        "heartbeat",
        "command",
    }


@pytest.mark.parametrize("text", ["!!!", "?", "？？？", "??????????", "👍", "", "  ", "NO_REPLY", "/new", "…"])
def test_too_little_is_not_distilled(text):
    assert not worth_distilling(text)


@pytest.mark.parametrize("text", ["ok", "5", "好", "我", "a!", "!!!!!!", "旧的鉴权模块先不要重构", "why?"])
def test_words_are_distilled(text):
    assert worth_distilling(text)


# --- laws -----------------------------------------------------------------------------------------

PLAIN = st.text(st.characters(exclude_characters="<[¥⟦`~/\x00", codec="utf-8"), max_size=80).filter(
    lambda text: (
        not any(
            word in text
            for word in ("ntrusted", "To send", "OpenClaw", "Caveat", "An async", "data:image", "NO_REPLY", "HEARTBEAT")
        )
    )
)
PIECES = st.sampled_from(
    [
        *(row.example for row in FENCES),
        *(row.example.split("\n", maxsplit=1)[0] for row in FENCES),
        *(row.example.rsplit("\n", maxsplit=1)[-1] for row in FENCES),
        "```",
        "````",
        "\n",
        "\n\n\n",
        " ",
        "    ",
        "> ",
        "data:image/png;base64,QUJD",
        "data:image/png;base64,",
        "\x00",
        "words",
        "`",
    ]
)
PATCHWORK = st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=10).map("".join)
ROLES = st.sampled_from(Role)


@given(text=PATCHWORK, role=ROLES)
@example(text="[[reply_to_current]] " * 9 + "x", role=Role.ASSISTANT)
@example(text=STAMP * 9 + "x", role=Role.USER)
def test_cleaning_twice_is_cleaning_once(text, role):
    once = clean(text, role=role)
    twice = clean(once.text, role=role)
    assert twice.text == once.text
    assert twice.removed == ()
    assert twice.search_text == once.search_text


@given(PLAIN)
def test_text_without_any_marker_changes_only_at_its_ends_and_breaks(text):
    folded = text
    while "\n\n\n" in folded.replace("\r\n", "\n"):
        folded = folded.replace("\r\n", "\n").replace("\n\n\n", "\n\n")
    assert user(text).text == folded.strip()


@given(words=PLAIN, row=st.sampled_from(REMOVING), behind=st.booleans())
def test_words_wrapped_by_a_host_come_back(words, row, behind):
    bare = user(words).text
    pieces = [bare, row.example] if behind and row.place is Place.LINE else [row.example, bare]
    assert user("\n\n".join(pieces)).text == bare


@given(st.text(max_size=60))
def test_any_text_inside_our_own_fence_goes(inner):
    words = inner.replace("<", "‹")
    assert user(f'<stenolith-memory v="1">\n{words}\n</stenolith-memory>\nq').text == "q"


@pytest.mark.parametrize(
    "piece",
    [
        "<user-persona>\n",
        "```json\n",
        "Sender (untrusted metadata):\n```json\n",
        "[[reply_to_x]] ",
        "<a",
        STAMP,
        "<user-persona>x</user-persona>",
        "[media attached: ",
        "x ⟦openclaw:ctx⟧\n",
        "To send an image back, ",
        "System: [2026-01-12 12:19:17 PST] x\n",
    ],
)
def test_a_long_text_made_to_be_slow_takes_time_in_proportion(piece):
    def taken(size: int) -> float:
        text = piece * (size // len(piece))
        runs = []
        for _ in range(3):
            begin = time.thread_time()
            user(text)
            runs.append(time.thread_time() - begin)
        return min(runs)

    # Four times the text: linear work takes four times as long, quadratic work sixteen times.
    assert taken(200_000) < 10 * max(taken(50_000), 0.002)
