"""Turn a message's text into the words that were said.

What is certainly injected goes (`stenolith.capture.injected` has the definition, one table
`stenolith.capture.fences` the wrappers), inline pictures become ``[image]``, NUL is dropped, runs
of three and more line breaks become two, and the ends are trimmed. Nothing else is touched:
brackets, slashes, JSON and code of the person's own survive.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from stenolith.capture.code import without_code
from stenolith.capture.injected import cut, find_injected
from stenolith.capture.noise import Skip, skip_reason, worth_distilling
from stenolith.model.message import Role

__all__ = ["Cleaned", "Skip", "clean", "strip_injected", "worth_distilling"]

_IMAGE = re.compile(r"data:image/[A-Za-z0-9.+-]+(?:;[A-Za-z0-9=._-]+)*;base64,[A-Za-z0-9+/_-]{4,}={0,2}")
_MANY_BREAKS = re.compile(r"(?:\r?\n){3,}")
# Each pass shortens the text; one pass is the rule, two are needed when a wrapper stood behind a
# stamp. The bound only keeps a text that was made to be slow from taking quadratic time.
_PASSES: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """The words of a message.

    *text* is what was said, *search_text* the same without an assistant's fenced code. *removed*
    names the rules that took something, in the order they first did. *skip* says why the message
    makes no record, or is None.
    """

    text: str
    search_text: str
    removed: tuple[str, ...] = ()
    skip: Skip | None = None


def clean(text: str, *, role: Role, original: str | None = None) -> Cleaned:
    """Return the words of one message.

    *original* is the text as typed, remembered before a host added context; it replaces a user's
    *text* (rule ``restored``) and is cleaned too, because a person can paste a block back.
    Pure and idempotent: cleaning the returned text changes nothing.
    """
    restored = role is Role.USER and original is not None and bool(original.strip())
    given = original if restored and original is not None else text
    plain, rules = strip_injected(given)
    if restored and given.strip() != text.strip():
        rules = ("restored", *rules)
    emptied = not plain and any(rule not in {"nul", "restored"} for rule in rules)
    return Cleaned(
        text=plain,
        search_text=_tidy(without_code(plain)) if role is Role.ASSISTANT else plain,
        removed=rules,
        skip=Skip.INJECTED if emptied else skip_reason(plain, role),
    )


def strip_injected(text: str) -> tuple[str, tuple[str, ...]]:
    """Return *text* without what is certainly injected, and the names of the rules that applied."""
    rules: dict[str, None] = {}
    if "\0" in text:
        text = text.replace("\0", "")
        rules["nul"] = None
    if "data:image/" in text:
        text, count = _IMAGE.subn("[image]", text)
        rules |= {"image": None} if count else {}
    text = _tidy(text)
    for _ in range(_PASSES):
        spans = find_injected(text)
        if not spans:
            break
        rules |= dict.fromkeys(span.fence.name for span in spans)
        text = _tidy(cut(text, spans))
    return text, tuple(rules)


def _tidy(text: str) -> str:
    return (_MANY_BREAKS.sub("\n\n", text) if "\n\n" in text or "\r" in text else text).strip()
