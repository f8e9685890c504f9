"""The shape that Anthropic, Bedrock and Gemini share: messages that hold lists of typed blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

from stenolith.replay.lint.rule import Finding, entries, word
from stenolith.replay.policy import Policy


class Block(NamedTuple):
    """One block and its place; *at* is None when the content is one string.

    A named tuple because a long transcript has hundreds of thousands.
    """

    message: int
    at: int | None
    kind: str
    body: Mapping[str, Any]


class Turn(NamedTuple):
    """Neighbouring messages of one role: the server merges them before it looks at them."""

    role: str
    first: int
    blocks: list[Block]


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What one API calls its parts: the list, the blocks, a call and a result."""

    messages: str
    content: str
    call: str
    result: str
    call_id: str
    result_id: str


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """A request body seen as turns of blocks. *read* splits one message into its blocks."""

    payload: Mapping[str, Any]
    policy: Policy
    names: Names
    read: Callable[[int, Mapping[str, Any]], list[Block]]

    @cached_property
    def messages(self) -> list[Mapping[str, Any]]:
        """The messages as they stand."""
        return entries(self.payload.get(self.names.messages))

    @cached_property
    def roles(self) -> list[str]:
        """The role of every message; empty where there is none."""
        return [word(message.get("role")) for message in self.messages]

    @cached_property
    def split(self) -> list[list[Block]]:
        """The blocks of every message."""
        return [self.read(index, message) for index, message in enumerate(self.messages)]

    @cached_property
    def blocks(self) -> list[Block]:
        """All blocks in order."""
        return [block for blocks in self.split for block in blocks]

    @cached_property
    def calls(self) -> list[Block]:
        """All tool calls in order."""
        return [block for block in self.blocks if block.kind == self.names.call]

    @cached_property
    def results(self) -> list[Block]:
        """All tool results in order."""
        return [block for block in self.blocks if block.kind == self.names.result]

    @cached_property
    def turns(self) -> list[Turn]:
        """Neighbouring messages of one role as one."""
        found = []
        for role, group in groupby(range(len(self.roles)), key=self.roles.__getitem__):
            indexes = list(group)
            found.append(Turn(role, indexes[0], [block for index in indexes for block in self.split[index]]))
        return found

    def path(self, block: Block) -> str:
        """Return where *block* stands."""
        place = self.message_path(block.message)
        return place if block.at is None else f"{place}.{self.names.content}[{block.at}]"

    def message_path(self, index: int) -> str:
        """Return where a message stands."""
        return f"{self.names.messages}[{index}]"

    def find(self, block: Block, **facts: Any) -> Finding:
        """Return a finding at *block*; its numbers are always among the facts."""
        return Finding(self.path(block), {"message": block.message, "at": block.at or 0, **facts})

    def id(self, block: Block) -> str:
        """Return the id of a call or of the call that a result answers."""
        return word(block.body.get(self.names.call_id if block.kind == self.names.call else self.names.result_id))


def neighbours(turns: Sequence[Turn]) -> Iterator[tuple[Turn | None, Turn, Turn | None]]:
    """Yield every turn with the one before and the one after."""
    for at, turn in enumerate(turns):
        before = turns[at - 1] if at else None
        after = turns[at + 1] if at + 1 < len(turns) else None
        yield before, turn, after


def of_kind(turn: Turn | None, role: str, kind: str) -> list[Block]:
    """Return the blocks of one kind when the turn has that role."""
    return [block for block in turn.blocks if block.kind == kind] if turn is not None and turn.role == role else []


def repeated(seen: Blocks, blocks: Sequence[Block]) -> Iterator[Finding]:
    """Find blocks whose id an earlier one has."""
    known: set[str] = set()
    for block in blocks:
        if seen.id(block) in known:
            yield seen.find(block, id=seen.id(block))
        known.add(seen.id(block))


def untyped(seen: Blocks) -> Iterator[Finding]:
    """Find blocks of no type at all."""
    return (seen.find(block) for block in seen.blocks if not block.kind)
