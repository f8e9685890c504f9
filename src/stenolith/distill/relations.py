"""When two claims can be about one thing: whose they are, of what property, and in which words.

A model's ruling that one claim ends another is believed only where code finds the same property of the same thing.
Where it finds none the new claim is added beside the old one: two lines too many are mended by the next
statement, a line too few is lost.
"""

from __future__ import annotations

import re
from typing import Final, Protocol

from stenolith.distill.claims import words_of
from stenolith.distill.properties import CHANGES, TASTE, properties_of, value_kinds
from stenolith.distill.subjects import plain
from stenolith.distill.topics import GENERIC
from stenolith.model.atom import Atom, AtomDraft
from stenolith.model.stopwords import CJK_STOP_CHARS, ENGLISH_STOP_WORDS
from stenolith.model.text import has_cjk, terms

_VAGUE_NAMES: Final = """
    preference preferences like likes dislike dislikes taste habit habits fact facts info information note notes
    detail details general other misc hobby hobbies interest interests skill skills pet pets allergy allergies food
    drink drinks sport sports book books film films music tool tools activity activities friend friends plan plans
    rule rules constraint decision 偏好 喜好 习惯 信息 其他 备注 爱好 兴趣 技能 宠物 过敏 食物 饮食 饮料 运动 工具
    朋友 计划 规则 约束 决定
"""
_VAGUE: Final = frozenset(_VAGUE_NAMES.split())
"""Names of properties that hold many values at once, or say nothing: sharing one is no conflict."""
_CLASS_NOUNS: Final = """
    project team servic modul system compani repo compon app server packag product featur file group person thing
    项目 团队 服务 模块 系统 公司 仓库 组件 应用 产品 功能 文件 小组 部门
"""
_CLASSES: Final = frozenset(_CLASS_NOUNS.split())
_CLASS_EN: Final = r"(?:project|team|service|module|system|repo|component|app|server|package|product)s?"
_CLASS_CN: Final = "(?:项目|团队|服务|模块|系统|仓库|组件|应用|产品|小组|部门)"
_QUALIFIED: Final = re.compile(
    rf"\b([\w-]+) {_CLASS_EN}\b|\b{_CLASS_EN} ([A-Z][\w-]*)|{_CLASS_CN}\s*([A-Za-z0-9][\w.-]*)"
    rf"|([A-Za-z0-9][\w.-]*)\s*{_CLASS_CN}|([一-鿿]{{2}}){_CLASS_CN}",
    re.ASCII,
)
_PURPOSE: Final = re.compile(
    r"\bfor (?:the |our |my |all )?"
    r"(?!(?:now|good|ever|example|years?|months?|weeks?|days?|an?)\b)([a-z][\w-]*)"
    r"|用[来于]([一-鿿]{2})",
    re.IGNORECASE | re.ASCII,
)
"""What something is used for: Redis for caching is not Redis for sessions."""
_DETERMINERS: Final = """
    the a an our my your this that his her its their every each new old main same whole no any user mobile
    我们 咱们 他们 这个 那个 本次 整个 所有 用户 目前 现在 以后
"""
_NO_NAMES: Final = frozenset(_DETERMINERS.split())
_PLAIN_VERBS: Final = """
    run listen serv go come call name use make live stay move belong own lead stand keep hold take give get have
    start stop say tell know think want need like love
"""
_VERBS: Final = frozenset(_PLAIN_VERBS.split())
_DIGITS: Final = re.compile(r"\d+")
_MEALS: Final = frozenset({"drink", "eat", "every", "daili"})
_COUNTS: Final = CJK_STOP_CHARS | frozenset("一两几只个条台辆位份")


class Claim(Protocol):
    """What an atom and a draft have in common."""

    @property
    def text(self) -> str:
        """The sentence."""

    @property
    def subject(self) -> str:
        """Whom or what it is about."""

    @property
    def attribute(self) -> str:
        """Which property, or empty."""

    @property
    def speaker(self) -> str:
        """Who said it, where several speak."""


def same_subject(one: Claim, other: Claim) -> bool:
    """Say whether two claims are about the same; "I" is somebody else when another speaker says it."""
    return one.subject.casefold() == other.subject.casefold() and same_speaker(one, other)


def same_speaker(one: Claim, other: Claim) -> bool:
    """Say whether two claims can be one: "I" is somebody else when another speaker says it."""
    subject = one.subject.casefold()
    personal = subject == "user" or subject.startswith("user's ")
    return not personal or not one.speaker or not other.speaker or one.speaker == other.speaker


def same_property(one: Claim, other: Claim) -> bool:
    """Say whether two claims about the same subject name one property, in any words for it."""
    mine, theirs = (set(terms(_property(claim))) for claim in (one, other))
    return bool(mine) and bool(theirs) and (mine <= theirs or theirs <= mine)


def related(one: Claim, other: Claim) -> bool:
    """Say whether a contradiction between two claims can be one: the same property of the same thing.

    Where both name a property the names decide.  Else the words do: both tell one property that has one value at a
    time (where somebody lives, who leads what, which port), or they say the same with other values, or one ends
    what the other says.  A word that both happen to have relates nothing.
    """
    if _property(one) and _property(other):
        return same_property(one, other)
    if _told_apart(one.text, other.text):
        return False
    mine, theirs = properties_of(one.text), properties_of(other.text)
    common = mine.keys() & theirs.keys()
    if any(_same_anchor(mine[name], theirs[name]) for name in common - {TASTE}):
        return True
    if common - {TASTE} or (mine and theirs and not common):
        return False
    return _same_words(one.text, other.text, taste=TASTE in common)


def touches(one: Claim, other: Claim) -> bool:
    """Say whether two claims may be told as one: they have a word in common that says what they are about."""
    if same_property(one, other):
        return True
    if _told_apart(one.text, other.text):
        return False
    return not content_of(one.text).isdisjoint(content_of(other.text))


def holds(text: str, claim: Claim) -> bool:
    """Say whether *text* still tells what *claim* told: more than two thirds of its words, and each number."""
    theirs = words_of(claim.text)
    kept = len(theirs & words_of(text))
    return 3 * kept > 2 * len(theirs) and set(_DIGITS.findall(claim.text)) <= set(_DIGITS.findall(text))


def says_all(known: Claim, new: Claim) -> bool:
    """Say whether *known* tells already what *new* tells."""
    if same_property(known, new):
        return not (content_of(known.text) - _VERBS).isdisjoint(content_of(new.text)) or not content_of(new.text)
    return not words_of(new.text) or (touches(known, new) and holds(known.text, new))


def content_of(text: str) -> frozenset[str]:
    """Return the words of *text* that tell what it is about, without "like", "project" and the like."""
    return frozenset(word for word in words_of(text) - GENERIC - _CLASSES if _COUNTS.isdisjoint(word))


def older(draft: AtomDraft, atom: Atom) -> bool:
    """Say whether *draft* was said before *atom* began to hold."""
    times = [source.timestamp for source in draft.sources if source.timestamp is not None]
    return bool(times) and max(times) < atom.valid_from


def _property(claim: Claim) -> str:
    """Return the name of a claim's property as it compares, empty for one that may hold many values."""
    name = plain(claim.attribute) or claim.attribute.casefold()
    return "" if name in _VAGUE else name


def _told_apart(one: str, other: str) -> bool:
    """Say whether both name a project, team, service or purpose, and not the same: "项目 A", "for billing"."""
    named = ((_qualifiers(one), _qualifiers(other)), (_purposes(one), _purposes(other)))
    return any(mine and theirs and mine.isdisjoint(theirs) for mine, theirs in named)


def _purposes(text: str) -> set[str]:
    return {next(filter(None, names)).casefold() for names in _PURPOSE.findall(text)}


def _qualifiers(text: str) -> set[str]:
    found = set()
    for plain_word, *names in _QUALIFIED.findall(text):
        word = (plain_word or next(filter(None, names))).casefold()
        if word not in _NO_NAMES or (len(word) == 1 and not plain_word):  # "a project", but 项目 A
            found.add(word)
    return found


def _same_anchor(one: str, other: str) -> bool:
    """Say whether what stands before the property can be one thing: the same words, or on one side none."""
    mine, theirs = _anchor(one), _anchor(other)
    if has_cjk(one) != has_cjk(other):
        mine, theirs = ({word for word in words if word.isascii()} for words in (mine, theirs))
    return not mine or not theirs or not mine.isdisjoint(theirs)


def _anchor(text: str) -> set[str]:
    """Return the words that name something; a single Chinese character is but the end of a pair."""
    idle = GENERIC | _CLASSES | _VERBS | ENGLISH_STOP_WORDS
    named = (word for word in terms(text) if word.isascii() or len(word) > 1)
    return {word for word in named if word not in idle and not set(word) <= CJK_STOP_CHARS}


def _same_words(one: str, other: str, *, taste: bool) -> bool:
    mine, theirs = (content_of(CHANGES.sub(" ", text)) - _MEALS for text in (one, other))
    shared = mine & theirs
    if not shared:
        return False
    if _other_value(one, other, mine, theirs):
        return True
    least = min(len(mine), len(theirs))
    if has_cjk(one) != has_cjk(other):
        least = min(len([word for word in words if word.isascii()]) for words in (mine, theirs))
    half = 2 * len(shared) >= least
    if taste:
        return half
    ends = CHANGES.search(one) is not None or CHANGES.search(other) is not None
    return half and (len(shared) >= 2 or (ends and len(shared) == least))


def _other_value(one: str, other: str, mine: frozenset[str], theirs: frozenset[str]) -> bool:
    """Say whether two claims say the same with other values: another day, another number, another colour."""
    for kind, (ours, yours) in value_kinds(one, other).items():
        rest = [
            {word for word in words if not _is_value(word, found)} for words, found in ((mine, ours), (theirs, yours))
        ]
        shared, least = len(rest[0] & rest[1]), min(map(len, rest))
        if shared and (2 * shared > least if kind == "number" else 2 * shared >= least):
            return True
    return False


def _is_value(word: str, values: frozenset[str]) -> bool:
    return any(word in value or value in word for value in values) or any(char.isdigit() for char in word)
