"""A host that does everything hosts do, for up to two hundred turns: each message once, in order."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from stenolith.capture.align import Known, align, alignment_digest
from stenolith.model.message import Message, Role, Text, Thinking, ToolCall, ToolResult

NOON = 1_780_000_000_000
TAIL = 400
BLOCK = "<relevant-memories>\n- likes tea\n</relevant-memories>\n\n"
STAMP = "[Mon 2026-11-30 05:22 UTC] "

WORDS = st.sampled_from(["ok", "go on", "thanks", "why?"]) | st.integers(0, 10**9).map("question {}".format)
ANSWERS = st.sampled_from(["Done.", "Sure.", "Let me see"]) | st.integers(0, 10**9).map("answer {}".format)
SENDS = st.sampled_from(["all", "all, marked", "delta, marked"])
DRIFTS = st.sampled_from([-20_000, 0, 20_000])


@dataclass(frozen=True)
class Held:
    """A message as its host holds it, when it was said, and its number (None for a summary)."""

    message: Message
    said: int
    number: int | None = None


class Host:
    """The host on one side, the store on the other."""

    def __init__(self):
        self.held: list[Held] = []
        self.known: list[Known] = []
        self.stored: list[int] = []
        self.said = 0
        self.owed: list[int] = []
        self.mark = 0
        self.now = NOON

    def say(self, role, *parts):
        self.now += 7_000
        message = Message(role=role, parts=parts, timestamp=self.now, id="same" if role is Role.ASSISTANT else "")
        self.held.append(Held(message, self.now, self.said))
        self.owed.append(self.said)
        self.said += 1

    def turn(self, words, answer, tool):
        self.mark = len(self.held)
        self.now += 100_000
        self.say(Role.USER, Text(text=words))
        if tool:
            call = ToolCall(id=f"call_{self.said}", name="ls", arguments={})
            self.say(Role.ASSISTANT, Thinking(text="hm"), call)
            self.say(Role.TOOL, ToolResult(id=call.id, content=(Text(text="a b c"),)))
        self.say(Role.ASSISTANT, Thinking(text="so", signature="s"), Text(text=answer))

    def capture(self, how):
        delta = how == "delta, marked"
        sent = self.held[self.mark :] if delta else self.held
        mark = {"all": None, "all, marked": self.mark, "delta, marked": 0}[how]
        tail = self.known[-TAIL:]
        clock = max((row.timestamp for row in tail if row.timestamp is not None), default=None)
        found = align([entry.message for entry in sent], tail, mark=mark, clock=clock)
        for index in found.new:
            entry = sent[index]
            if entry.number is not None:
                self.stored.append(entry.number)
                self.owed.remove(entry.number)
            message = entry.message
            self.known.append(Known(digest=alignment_digest(message), timestamp=message.timestamp, host_id=message.id))

    def reload(self, drift):
        """Restart: clocks move, block lists become strings, thinking goes, the mark is forgotten."""
        self.mark = len(self.held)
        self.held = [replace(entry, message=_reloaded(entry.message, entry.said + drift)) for entry in self.held]

    def pollute(self):
        """Put memories in front of what users said, as a host that stores its prompts does."""
        self.held = [replace(entry, message=_polluted(entry.message)) for entry in self.held]

    def compact(self, kept, summary):
        """Drop the head, up to the last exchanges, for a summary. Only what was captured may go."""
        keep = max(kept, len(self.owed))
        if len(self.held) <= keep:
            return
        first = self.held[0].said
        text = Text(text=f"summary up to {self.said}")
        old = Held(Message(role=Role.USER, parts=(text,), timestamp=first), first)
        self.held = [*([old] if summary else []), *self.held[-keep:]]
        self.mark = len(self.held)

    def hide(self, place):
        """Hide one message that was captured, not among the last three."""
        if len(self.held) > 6 + len(self.owed):
            del self.held[place % (len(self.held) - 4 - len(self.owed))]
            self.mark = min(self.mark, len(self.held))

    def edit(self, place):
        """Change the words of one captured message, not among the last three."""
        if len(self.held) > 6 + len(self.owed):
            at = place % (len(self.held) - 4 - len(self.owed))
            changed = replace(self.held[at].message, parts=(Text(text=f"edited {place}"),))
            self.held[at] = replace(self.held[at], message=changed)

    def check(self):
        assert self.stored == sorted(set(self.stored))
        assert self.stored == [number for number in range(self.said) if number not in self.owed]


def _reloaded(message, stamp):
    text = message.text()
    rest = [part for part in message.parts if not isinstance(part, Text | Thinking)]
    parts = (*([Text(text=text)] if text else []), *rest)
    return replace(message, parts=parts or message.parts, timestamp=stamp)


def _polluted(message):
    if message.role is not Role.USER or message.text().startswith("["):
        return message
    return replace(message, parts=(Text(text=STAMP + BLOCK + message.text()),))


class Machine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.host = Host()

    @initialize(words=WORDS, answer=ANSWERS)
    def begin(self, words, answer):
        self.host.turn(words, answer, tool=False)
        self.host.capture("all")

    @rule(words=WORDS, answer=ANSWERS, tool=st.booleans(), how=SENDS)
    def turn(self, words, answer, tool, how):
        self.host.turn(words, answer, tool)
        self.host.capture(how)

    @rule(words=WORDS, answer=ANSWERS, marked=st.booleans())
    def turn_after_a_failed_capture(self, words, answer, marked):
        self.host.turn(words, answer, tool=False)
        self.host.turn(answer, words, tool=False)
        self.host.capture("all, marked" if marked else "all")

    @rule(how=SENDS)
    def send_again(self, how):
        """A single exchange that comes again 20 s later may be either, so it is not asked for."""
        if self.host.mark < len(self.host.held):
            self.host.capture(how)
        elif len(self.host.held) > 3:
            self.host.capture("all")

    @rule(drift=DRIFTS)
    def restart(self, drift):
        self.host.reload(drift)

    @rule()
    def store_prompts(self):
        self.host.pollute()

    @rule(kept=st.integers(2, 9), summary=st.booleans())
    def compact(self, kept, summary):
        self.host.compact(kept, summary)

    @rule(place=st.integers(0, 400))
    def hide(self, place):
        self.host.hide(place)

    @rule(place=st.integers(0, 400))
    def edit(self, place):
        self.host.edit(place)

    @invariant()
    def each_message_is_stored_once_in_order(self):
        self.host.check()


TestMachine = Machine.TestCase
TestMachine.settings = settings(stateful_step_count=50)


@pytest.mark.parametrize("seed", range(6))
def test_two_hundred_turns_leave_each_message_once_and_in_order(seed):
    choose = random.Random(seed)
    host = Host()
    for number in range(200):
        words = choose.choice(["ok", "go on", f"question {number}"])
        answer = choose.choice(["Done.", "Sure.", f"answer {number}"])
        host.turn(words, answer, tool=choose.random() < 0.3)
        host.capture(choose.choice(["all", "all, marked", "delta, marked"]))
        match choose.randrange(12):
            case 0:
                host.reload(choose.choice([-20_000, 0, 20_000]))
            case 1:
                host.compact(choose.randrange(2, 12), summary=True)
            case 2:
                host.capture("all")
            case 3:
                host.hide(choose.randrange(400))
            case 4:
                host.edit(choose.randrange(400))
            case 5:
                host.pollute()
        host.check()
    assert len(host.stored) == host.said
