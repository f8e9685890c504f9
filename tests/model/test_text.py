"""What counts as a search term, and where text may be cut."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenolith.model.text import cut, estimate_tokens, has_cjk, query_terms, terms

# Text, and terms that a search for it must find.
FOUND = [
    ("把用户身份校验放到网关", ["用户", "身份", "校验", "网关"]),
    ("这位同事的花名是小云", ["花名", "小云", "同事"]),
    ("步2 重跑gen-itgc后50条悬空引用清零", ["步", "2", "重跑", "gen-itgc", "gen", "itgc", "50", "悬空", "引用"]),
    ("设备清单在 NAS 上", ["设备", "清单", "nas"]),
    ("session_key getUserName HTTPServer", ["session_key", "session", "key", "getusername", "user", "http", "server"]),
    ("py311 OAuth2 50GB v1.2.3", ["py311", "py", "311", "oauth2", "50gb", "gb", "v1.2.3"]),
    ("C++ and C# and 1,234 and 100%", ["c++", "c#", "1234", "100%", "100"]),
    ("naïve café Straße", ["naiv", "cafe", "strass"]),
    ("refactoring refactored refactors", ["refactor"]),
    ("Caroline's plan won't fail", ["carolin", "plan", "will", "fail"]),
    ("２０２６年 ｆｕｌｌｗｉｄｔｈ ｶﾀｶﾅ", ["2026", "fullwidth", "カタ", "カナ"]),
    ("サーバーの設定を変える", ["サー", "設定", "変え"]),
    ("서버 주소는 설정에 있다", ["서버", "주소", "설정"]),
    ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    ("user@example.com at 10:30 on 2026-06-01", ["user@example.com", "10:30", "2026-06-01", "2026", "06", "01"]),
    ("don't O'Brien", ["do", "o'brien", "brien"]),
]


@pytest.mark.parametrize(("text", "expected"), FOUND)
def test_words_identifiers_and_their_parts_are_terms(text: str, expected: list[str]) -> None:
    found = terms(text)
    assert [term for term in expected if term not in found] == []


# Question, the words that remain, the single characters that stand alone.
ASKED = [
    ("我的花名是什么", ["花名"], []),
    ("目的是什么", ["目的"], []),
    ("猫", [], ["猫"]),
    ("我的", ["我的"], []),
    ("what did I do?", ["what", "did", "i", "do"], []),
    ("Where did Caroline move from?", ["carolin", "move"], []),
    ("2026年8月2日", ["2026", "8", "2"], []),
    ("用户 NAS", ["用户", "nas"], []),
    ("Tr0ub4dor", ["tr0ub4dor", "tr", "ub", "dor"], []),
    ("4f9isIn7", ["4f9isin7"], []),
    ("May 8th", ["may", "8th", "8", "th"], []),
    ("_", [], []),
    ("%", [], []),
    ("", [], []),
]


@pytest.mark.parametrize(("text", "words", "starts"), ASKED)
def test_a_question_asks_without_the_words_that_every_sentence_has(
    text: str, words: list[str], starts: list[str]
) -> None:
    asked = query_terms(text)
    assert (list(asked.words), list(asked.starts)) == (words, starts)
    assert bool(asked) is bool(words or starts)


@pytest.mark.parametrize(("text", "count"), [("session_key", 1), ("用户 NAS", 2), ("the gateway's port", 2), ("", 0)])
def test_an_identifier_is_asked_for_once(text: str, count: int) -> None:
    assert query_terms(text).asked == count


def test_the_pairs_of_a_question_are_its_fallback() -> None:
    assert query_terms("北大 API 在哪里").fallback == ("北大",)


@given(st.text(max_size=200))
def test_terms_hold_no_blanks_and_never_fail(text: str) -> None:
    for term in terms(text):
        assert term
        assert term.split() == [term]
        assert len(term) <= 64
        term.encode()
    query_terms(text)
    assert estimate_tokens(text) >= 0


@given(st.text(alphabet=st.sampled_from("网关用户鉴权模块移动端ab1 _-。"), max_size=60))
def test_every_pair_of_a_query_run_is_in_the_text_that_holds_it(text: str) -> None:
    held = set(terms("前" + text + "后")) | set(terms(text))
    asked = query_terms(text)
    assert set(asked.words) <= held
    assert all(any(term.startswith(char) for term in held) for char in asked.starts)


@given(st.text(max_size=80))
def test_terms_do_not_depend_on_the_unicode_form(text: str) -> None:
    assert terms(text) == terms(unicodedata.normalize("NFC", text))


@given(st.text(max_size=120), st.integers(min_value=0, max_value=130))
def test_a_cut_never_exceeds_its_limit(text: str, limit: int) -> None:
    short = cut(text, limit)
    assert len(short) <= limit or short == text
    assert short == text or short == "" or short.endswith("…")


def test_a_cut_leaves_letters_and_emoji_whole() -> None:
    family = "👨\u200d👩\u200d👧"
    assert cut(f"ab{family}cd", 5) == "ab…"
    assert cut("cafe\u0301s and more", 5) == "caf…"
    assert cut("unchanged", 9) == "unchanged"


def test_scripts_without_blanks_are_recognised() -> None:
    assert [has_cjk(text) for text in ("网关", "サーバー", "서버", "gateway", "café", "")] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]


# Counted with the o200k tokenizer family's usual rates; the rule has to stay within a third of them.
@pytest.mark.parametrize(
    ("text", "count"),
    [("The quick brown fox jumps over the lazy dog.", 10), ("旧的鉴权模块先不要重构，移动端还在使用它。", 20), ("", 0)],
)
def test_the_token_estimate_is_near(text: str, count: int) -> None:
    assert abs(estimate_tokens(text) - count) <= count / 3


def test_cutting_a_text_into_terms_takes_time_in_proportion() -> None:
    def taken(count: int) -> float:
        said = "用户{0}说移动端还在使用旧的鉴权模块 so keep session_key_{0} as it is for now. "
        text = "".join(said.format(number) for number in range(count))
        runs = []
        for _ in range(3):
            start = time.thread_time()
            terms(text)
            runs.append(time.thread_time() - start)
        return min(runs)

    # Eight times the text: linear work takes eight times as long, quadratic work sixty-four times.
    assert taken(4000) < 24 * taken(500)
