"""What a text is about: topic words without the words that every note has, and how rare each of them is."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import lru_cache
from typing import Final

from stenolith.distill.subjects import category
from stenolith.model.atom import Atom
from stenolith.model.text import query_terms

Tokenizer = Callable[[str], Sequence[str]]
"""Gives the topic words of a text, in order, in the form in which they compare."""

_NAMES: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z]+[a-z][A-Z]\w*|[A-Za-z]\w*(?:[-_][A-Za-z]\w*)+)(?![A-Za-z])", re.ASCII
)
_LETTER: Final = re.compile(r"[^\W\d_]")
_NOBODY: Final = frozenset({"", "user", "project", "assistant", "agent", "我", "用户"})
_NAME_WEIGHT: Final = 3.0

# Words and character pairs that say how something is said, not what about. English words are stems.
_GENERIC: Final = """
    user prefer want like love hate need use alway never must should don't doesn't isn't can't cannot won't plan decid
    today yesterday tomorrow week month year day time now later first last next new old good bad better best make made
    get got keep go went work thing one two three also still already much many more most less ok pleas thank actual
    realli instead again everi everyth anyth someth enjoy rather favourit favorit
    用户 希望 喜欢 讨厌 更喜 欢用 需要 使用 必须 不要 不能 不许 不准 不再 禁止 暂时 先不 以后 以前 现在
    目前 今天 昨天 明天 上周 下周 本周 周末 已经 完成 开始 一直 总是 每次 每天 决定 打算 准备 计划 因为
    所以 但是 如果 还是 不是 就是 可以 应该 统一 一下 一些 一次 一点 一个 两个 所有 任何 其他 这些 那些
    时候 时间 之前 之后 然后 最后 最近 觉得 习惯 偏好 认为 仍然 依赖 问题 东西 事情 情况 方面 出现 进行
    处理 改成 改为 换成 换到 改用 全部 新增 修改 发现 原因 不用 不会 没有 比较 更好 的话
"""
GENERIC: Final = frozenset(_GENERIC.split())


@lru_cache(maxsize=16_384)  # regrouping reads all atoms of an owner, and nearly all of them were read before
def topic_terms(text: str) -> tuple[str, ...]:
    """Return the distinct topic words of *text*, in order: search terms without generic ones, numbers and dates."""
    return tuple(word for word in query_terms(text).words if word not in GENERIC and _LETTER.search(word))


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """The topic words of an owner's atoms and how rare each word is among them (natural logarithm)."""

    words: Mapping[str, tuple[str, ...]]
    names: Mapping[str, frozenset[str]]
    rarity: Mapping[str, float]

    def weights(self, atom_id: str) -> dict[str, float]:
        """Return the weight of each word of an atom.

        Names count three times: its subject, names in its text, and the one that its channel is called after.
        """
        mine = self.names[atom_id]
        return {
            word: self.rarity[word] * (_NAME_WEIGHT if word in mine else 1.0)
            for word in self.words[atom_id]
            if self.rarity[word] > 0
        }


def read_corpus(atoms: Sequence[Atom], terms: Tokenizer) -> Corpus:
    """Count the topic words of *atoms*.

    A word that stands in more than a third of at least twelve atoms separates nothing and weighs nothing.
    """
    words: dict[str, tuple[str, ...]] = {}
    names: dict[str, frozenset[str]] = {}
    for atom in atoms:
        named = list(terms(atom.subject)) if is_named(atom) else []
        named += [word for name in names_in(atom.text) for word in terms(name)]
        said = terms(atom.text)
        channel = set(terms(atom.session_key))
        named += [word for word in said if word in channel]
        names[atom.id] = frozenset(named)
        words[atom.id] = tuple(dict.fromkeys([*named, *said]))
    seen = Counter(word for mine in words.values() for word in mine)
    total = len(atoms)
    rarity = {word: _rarity(count, total) for word, count in seen.items()}
    return Corpus(words=words, names=names, rarity=rarity)


def _rarity(count: int, total: int) -> float:
    if total >= 12 and count * 3 > total:
        return 0.0
    return math.log(1 + total / count)


def is_named(atom: Atom) -> bool:
    """Say whether an atom is about a named thing (a module, a tool) and not about people or "the project"."""
    subject = atom.subject.casefold()
    return subject not in _NOBODY and not subject.startswith(("user's ", "user 's"))


def names_in(text: str) -> list[str]:
    """Return the words of *text* that are names by their spelling: MemoryCore, legacy-auth, session_key.

    Well-known tools (SQLite, TypeScript) are left out: every project has them.
    """
    return [name for name in _NAMES.findall(text) if not category(name)]


def told_at(atom: Atom) -> int:
    """Return when an atom was said (epoch ms): its first dated source, else when it began to hold."""
    times = [source.timestamp for source in atom.sources if source.timestamp is not None]
    return min(times) if times else atom.valid_from


def day_of(when_ms: int, zone: tzinfo) -> str:
    """Return the day of a moment (epoch ms) as ISO, or an empty text for a moment that no calendar has."""
    try:
        return datetime.fromtimestamp(when_ms / 1000, tz=zone).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return ""
