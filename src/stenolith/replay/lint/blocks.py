"""The shape that Anthropic, Bedrock and Gemini share: messages that hold lists of typed blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Final, NamedTuple

from stenolith.replay.lint.body import Packed, pack
from stenolith.replay.lint.pictures import Embedded
from stenolith.replay.lint.rule import Finding, entries, words
from stenolith.replay.policy import Policy

_ASKS: Final = frozenset({"assistant", "model"})
_TELLS: Final = frozenset({"user"})


@dataclass(slots=True, eq=False)
class Block:
    """One block and its place; *at* is None when the content is one string.

    *id* is that of a call, or of the call that a result answers. Nobody changes one; it is not frozen
    because a long transcript has hundreds of thousands, and making a frozen value takes twice the time.
    """

    message: int
    at: int | None
    kind: str
    body: Mapping[str, Any]
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What one API calls its parts: the list, the blocks, a call and a result."""

    messages: str
    content: str
    call: str
    result: str


class Blank(NamedTuple):
    """A text that shows nothing, and its place."""

    path: str
    text: str


def no_images(_: Blocks) -> list[Embedded]:
    """Return nothing: the pictures of this api are not judged."""
    return []


def no_blanks(_: Blocks) -> list[Blank]:
    """Return nothing: this api takes blank texts."""
    return []


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """A request body seen as turns of blocks. *read* splits messages into their blocks.

    Not slotted: the parsed views are kept on the instance.
    """

    payload: Mapping[str, Any]
    policy: Policy
    names: Names
    read: Callable[[Sequence[Mapping[str, Any]]], list[list[Block]]]
    find_images: Callable[[Blocks], list[Embedded]] = no_images
    find_blanks: Callable[[Blocks], list[Blank]] = no_blanks

    @cached_property
    def messages(self) -> list[Mapping[str, Any]]:
        """The messages as they stand."""
        return entries(self.payload.get(self.names.messages))

    @cached_property
    def roles(self) -> list[str]:
        """The role of every message; empty where there is none."""
        return words([message.get("role") for message in self.messages])

    @cached_property
    def split(self) -> list[list[Block]]:
        """The blocks of every message."""
        return self.read(self.messages)

    @cached_property
    def blocks(self) -> list[Block]:
        """All blocks in order."""
        return list(chain.from_iterable(self.split))

    @cached_property
    def calls(self) -> list[Block]:
        """All tool calls in order."""
        kind = self.names.call
        return [block for block in self.blocks if block.kind == kind]

    @cached_property
    def results(self) -> list[Block]:
        """All tool results in order."""
        kind = self.names.result
        return [block for block in self.blocks if block.kind == kind]

    @cached_property
    def inner(self) -> list[tuple[Block, int, Mapping[str, Any]]]:
        """The blocks inside results: result, number, block."""
        return [
            (block, at, piece) for block in self.results for at, piece in enumerate(entries(block.body.get("content")))
        ]

    @cached_property
    def calls_in(self) -> Counter[int]:
        """How many calls each message holds."""
        return Counter([block.message for block in self.calls])

    @cached_property
    def results_in(self) -> Counter[int]:
        """How many results each message holds."""
        return Counter([block.message for block in self.results])

    @cached_property
    def turn_of(self) -> list[int]:
        """For every message the number of its turn: neighbouring messages of one role are one turn."""
        found: list[int] = []
        turn, before = -1, None
        for role in self.roles:
            turn += role != before
            before = role
            found.append(turn)
        return found

    @cached_property
    def called(self) -> dict[int, set[str]]:
        """For every turn of the assistant the ids of its calls."""
        return self._by_turn(self.calls, _ASKS)

    @cached_property
    def answered(self) -> dict[int, set[str]]:
        """For every turn of the user the ids that its results answer."""
        return self._by_turn(self.results, _TELLS)

    def _by_turn(self, blocks: Sequence[Block], roles: frozenset[str]) -> dict[int, set[str]]:
        found: dict[int, set[str]] = {}
        role_of, turn_of = self.roles, self.turn_of
        for block in blocks:
            at = block.message
            if role_of[at] in roles:
                turn = turn_of[at]
                if turn in found:
                    found[turn].add(block.id)
                else:
                    found[turn] = {block.id}
        return found

    @cached_property
    def in_step(self) -> bool:
        """Whether the results answer the calls of the turn before one by one, in their order, as nearly always."""
        roles, turn_of = self.roles, self.turn_of
        asked = [(turn_of[call.message] + 1, call.id) for call in self.calls]
        told = [(turn_of[result.message], result.id) for result in self.results]
        if asked != told:
            return False
        return _ASKS.issuperset([roles[call.message] for call in self.calls]) and _TELLS.issuperset(
            [roles[result.message] for result in self.results]
        )

    @cached_property
    def strays(self) -> list[Block]:
        """The results whose call is not in the turn before."""
        if self.in_step:
            return []
        called, roles, turn_of = self.called, self.roles, self.turn_of
        return [
            block
            for block in self.results
            if roles[block.message] != "user" or block.id not in called.get(turn_of[block.message] - 1, ())
        ]

    @cached_property
    def blanks(self) -> list[Blank]:
        """The texts that show nothing."""
        return self.find_blanks(self)

    @cached_property
    def images(self) -> list[Embedded]:
        """The pictures in the payload."""
        return self.find_images(self)

    @cached_property
    def packed(self) -> Packed:
        """The whole payload packed: for a look at its size and its text."""
        return pack(self.payload, self.names.messages)

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


def orphans(seen: Blocks) -> Iterator[Finding]:
    """Find results whose call is not in the turn before."""
    return (seen.find(result, id=result.id) for result in seen.strays)


def unanswered(seen: Blocks) -> Iterator[Finding]:
    """Find calls whose result is not in the turn after."""
    if seen.in_step:
        return
    answered, turn_of = seen.answered, seen.turn_of
    for call in seen.calls:
        if call.id not in answered.get(turn_of[call.message] + 1, ()):
            yield seen.find(call, id=call.id, next=call.message + 1)


def repeated(seen: Blocks, blocks: Sequence[Block]) -> Iterator[Finding]:
    """Find blocks whose id an earlier one has."""
    if len({block.id for block in blocks}) == len(blocks):
        return
    known: set[str] = set()
    for block in blocks:
        if block.id in known:
            yield seen.find(block, id=block.id)
        known.add(block.id)


def untyped(seen: Blocks) -> Iterator[Finding]:
    """Find blocks of no type at all."""
    return (seen.find(block) for block in seen.blocks if not block.kind)
