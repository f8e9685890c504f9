"""What any host hands over after one exchange, before it is cleaned, aligned and recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from stenolith.model.message import Message, Role, Text, mended

LATEST_MS: Final = 32_503_680_000_000
"""The year 3000: a message from later was not sent by a working clock."""


class TurnKind(StrEnum):
    """What set a turn going. Only an interactive turn was asked for by a person."""

    INTERACTIVE = "interactive"
    CRON = "cron"
    HEARTBEAT = "heartbeat"
    SUBAGENT = "subagent"
    FLUSH = "flush"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One exchange as its host sees it.

    *messages* is whatever the host holds: the whole session, its tail, or this turn alone; every
    role is legal, since the transcript keeps tool and system messages too. *mark* says how many
    of them the host held before this turn, so ``messages[mark:]`` is the turn; None when the host
    does not know. *original* is the question as typed, remembered before the host added context.
    *failed* marks a turn that was interrupted or ended in an error. *started* and *ended* are
    epoch milliseconds or None; *host* and *run* name the program and its run, for the record only.
    A message's timestamp must be the host's own or None, never the time of the capture:
    `stenolith.capture.align` tells a repetition from a resend by it.
    """

    messages: tuple[Message, ...]
    mark: int | None = None
    original: str | None = None
    failed: bool = False
    kind: TurnKind = TurnKind.INTERACTIVE
    started: int | None = None
    ended: int | None = None
    host: str = ""
    run: str = ""

    @property
    def distillable(self) -> bool:
        """Say whether memories may be drawn from this turn; failed and unattended ones are only recorded."""
        return not self.failed and self.kind is TurnKind.INTERACTIVE

    def original_at(self, index: int) -> str | None:
        """Return the words as typed for ``messages[index]``, or None when they are not known for it."""
        return self.original if index == self._question() else None

    def _question(self) -> int | None:
        """Find the message that *original* was typed for.

        The first user message of this turn that contains the typed words; without such a one,
        the first user message after the mark (the host rewrote the words). Without a mark only a
        message that contains the words is certain, and the last one is this turn's.
        """
        typed = (self.original or "").strip()
        if not typed:
            return None
        marked = self.mark is not None and 0 <= self.mark < len(self.messages)
        asked = _questions(self.messages, self.mark or 0 if marked else 0)
        holding = [index for index in asked if typed in self.messages[index].text()]
        if marked:
            return next(iter(holding or asked), None)
        return holding[-1] if holding else None


def _questions(messages: Sequence[Message], start: int) -> list[int]:
    return [index for index in range(start, len(messages)) if messages[index].role is Role.USER]


def sound(message: Message) -> Message:
    """Return *message* as it can be stored and reckoned with: names as valid text, and a time that can be one.

    A time outside of 1970 to 3000 would make every other message of its session look old; what the host
    gave is kept as ``timestamp_given``.
    """
    fixed = replace(message, speaker=mended(message.speaker), id=mended(message.id))
    if message.timestamp is None or 0 <= message.timestamp < LATEST_MS:
        return fixed
    return replace(fixed, timestamp=None, extra={**message.extra, "timestamp_given": str(message.timestamp)})


def from_texts(user: str, assistant: str, *, started: int | None = None, ended: int | None = None) -> Turn:
    """Make a turn for a host that has only two strings; a blank side is left out.

    *started* and *ended* (epoch milliseconds) stamp the question and the answer. Give them when
    you can: without times an identical exchange that is handed over again can only be told from a
    repeated one by the mark, which says here that both messages are new.
    """
    sides = ((Role.USER, user, started), (Role.ASSISTANT, assistant, ended))
    messages = tuple(
        Message(role=role, parts=(Text(text=text),), timestamp=stamp) for role, text, stamp in sides if text.strip()
    )
    return Turn(messages=messages, mark=0, started=started, ended=ended)
