"""What the OpenAI Responses API rejects.

Error texts: ``spec/replay.md`` section 4.2 (public threads and documents).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from stenolith.replay.lint.body import lone_surrogates, pack
from stenolith.replay.lint.rule import Finding, Rule, entries, is_blank, is_json, misfits, word, words
from stenolith.replay.policy import Policy

_MAX: Final = 64
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ID: Final = re.compile(r"[A-Za-z0-9_-]+")
_ENCRYPTED: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_PREFIX: Final = {"function_call": "fc", "reasoning": "rs", "message": "msg"}
_OWN: Final = frozenset({"message", "function_call"})


@dataclass(frozen=True, kw_only=True)
class Items:
    """A request body seen as a list of items. Not slotted: the parsed views are kept on the instance."""

    payload: Mapping[str, Any]
    policy: Policy

    @cached_property
    def items(self) -> list[Mapping[str, Any]]:
        """The items as they stand."""
        return entries(self.payload.get("input"))

    @cached_property
    def kinds(self) -> list[str]:
        """The type of every item; a bare role makes a message, and only an assistant's is the model's own."""
        return [_kind(item) for item in self.items]

    @cached_property
    def calls(self) -> list[tuple[int, str]]:
        """Index and ``call_id`` of every call."""
        return self._ids("function_call")

    @cached_property
    def outputs(self) -> list[tuple[int, str]]:
        """Index and ``call_id`` of every output."""
        return self._ids("function_call_output")

    def _ids(self, kind: str) -> list[tuple[int, str]]:
        found = [at for at, other in enumerate(self.kinds) if other == kind]
        items = self.items
        return list(zip(found, words([items[at].get("call_id") for at in found]), strict=True))

    def find(self, at: int, **facts: Any) -> Finding:
        """Return a finding at an item."""
        return Finding(f"input[{at}]", {"at": at, "kind": self.kinds[at], "id": self.items[at].get("id"), **facts})


def _kind(item: Mapping[str, Any]) -> str:
    kind = word(item.get("type")) or ("message" if "role" in item else "")
    return "input" if kind == "message" and item.get("role") != "assistant" else kind


def _lonely_reasoning(seen: Items) -> Iterator[Finding]:
    kinds = seen.kinds
    for at, kind in enumerate(kinds):
        if kind == "reasoning":
            after = kinds[at + 1] if at + 1 < len(kinds) else ""
            if after not in _OWN and not after.endswith("_call"):
                yield seen.find(at)


def _lonely_items(seen: Items) -> Iterator[Finding]:
    """Find ids without reasoning: parallel calls share the reasoning before the first of them."""
    backed = False
    items = seen.items
    for at, kind in enumerate(seen.kinds):
        own = kind in _OWN and items[at].get("id") is not None
        if own and not backed:
            yield seen.find(at)
        backed = kind == "reasoning" or (kind == "function_call" and own and backed)


def _outputs_without_calls(seen: Items) -> Iterator[Finding]:
    first = {call: at for at, call in reversed(seen.calls)}
    for at, call in seen.outputs:
        if first.get(call, at) >= at:
            yield seen.find(at, call=call)


def _calls_without_outputs(seen: Items) -> Iterator[Finding]:
    answered = Counter([call for _, call in seen.outputs])
    for at, call in seen.calls:
        left = answered.get(call, 0)
        if left < 1:
            yield seen.find(at, call=call)
        answered[call] = left - 1


def _long_ids(seen: Items) -> Iterator[Finding]:
    for at, item in enumerate(seen.items):
        name = item.get("call_id")
        if type(name) is str and len(name) > _MAX:
            yield seen.find(at, field="call_id", size=len(name))


def _blank_ids(seen: Items) -> Iterator[Finding]:
    return (seen.find(at) for at, call in (*seen.calls, *seen.outputs) if is_blank(call))


def _prefixes(seen: Items) -> Iterator[Finding]:
    for at, item in enumerate(seen.items):
        if item.get("id") is not None:
            wanted = _PREFIX.get(seen.kinds[at])
            if wanted and not word(item["id"]).startswith(wanted):
                yield seen.find(at, prefix=wanted)


def _not_stored(seen: Items) -> Iterator[Finding]:
    if seen.payload.get("store") is not False:
        return
    for at, (kind, item) in enumerate(zip(seen.kinds, seen.items, strict=True)):
        bare = kind == "reasoning" and item.get("id") is not None and not item.get("encrypted_content")
        if bare or kind == "item_reference":
            yield seen.find(at)


def _encrypted(seen: Items) -> Iterator[Finding]:
    for at, item in enumerate(seen.items):
        value = item.get("encrypted_content")
        if value is not None and _ENCRYPTED.fullmatch(word(value)) is None:
            yield seen.find(at)


def _repeated(seen: Items) -> Iterator[Finding]:
    known: set[str] = set()
    for at, item in enumerate(seen.items):
        name = word(item.get("id"))
        if name and name in known and seen.kinds[at] != "item_reference":
            yield seen.find(at)
        known.add(name)


def _bad_item_ids(seen: Items) -> Iterator[Finding]:
    for at, item in enumerate(seen.items):
        name = item.get("id")
        if name is not None and (_ID.fullmatch(word(name)) is None or len(word(name)) > _MAX):
            yield seen.find(at)


def _names(seen: Items) -> Iterator[Finding]:
    items = seen.items
    names = words([items[at].get("name") for at, _ in seen.calls])
    bad = misfits(names, _NAME)
    return (seen.find(at) for (at, _), name in zip(seen.calls, names, strict=True) if name in bad)


def _arguments(seen: Items) -> Iterator[Finding]:
    for at, kind in enumerate(seen.kinds):
        if kind == "function_call" and not is_json(seen.items[at].get("arguments")):
            yield seen.find(at)


def _nothing(seen: Items) -> Iterator[Finding]:
    if not seen.items and not word(seen.payload.get("input")):
        yield Finding("input")


def _untyped(seen: Items) -> Iterator[Finding]:
    for at, kind in enumerate(seen.kinds):
        if not kind or (kind == "input" and seen.items[at].get("role") not in ("user", "system", "developer")):
            yield seen.find(at)


def _encoding(seen: Items) -> Iterator[Finding]:
    return lone_surrogates(seen.payload, pack(seen.payload, "input"))


RULES: Final[tuple[Rule[Items], ...]] = (
    Rule(
        code="W-RSP-1",
        text="Item '{id}' of type 'reasoning' was provided without its required following item.",
        check=_lonely_reasoning,
    ),
    Rule(
        code="W-RSP-2",
        text="Item '{id}' of type '{kind}' was provided without its required 'reasoning' item.",
        check=_lonely_items,
    ),
    Rule(
        code="W-RSP-3",
        text="No tool call found for function call output with call_id {call}.",
        check=_outputs_without_calls,
    ),
    Rule(code="W-RSP-4", text="No tool output found for function call {call}.", check=_calls_without_outputs),
    Rule(
        code="W-RSP-5",
        text="Invalid `input[{at}].{field}`: string too long. Expected a string with maximum length 64, "
        "but got a string with length {size} instead.",
        check=_long_ids,
    ),
    Rule(code="W-RSP-5", text="Invalid 'input[{at}].call_id': empty string.", check=_blank_ids),
    Rule(
        code="W-RSP-5",
        text="Invalid 'input[{at}].id': '{id}'. Expected an ID that begins with '{prefix}'.",
        check=_prefixes,
    ),
    Rule(
        code="W-RSP-6",
        text="Item with id '{id}' not found. Items are not persisted when `store` is set to false.",
        check=_not_stored,
    ),
    Rule(
        code="W-RSP-7",
        text="The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
        check=_encrypted,
    ),
    Rule(code="W-RSP-8", text="Duplicate item found with id {id}", check=_repeated),
    Rule(
        code="W-RSP-8",
        text="Invalid 'input[{at}].id': '{id}'. Expected letters, numbers, underscores or dashes, at most 64.",
        check=_bad_item_ids,
    ),
    Rule(
        code="W-RSP-9",
        text="Invalid 'input[{at}].name': string does not match pattern. "
        "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
        check=_names,
    ),
    Rule(code="W-RSP-10", text="Invalid type for 'input[{at}].arguments': expected a JSON string.", check=_arguments),
    Rule(code="W-RSP-11", text="Missing required parameter: 'input'.", check=_nothing),
    Rule(code="W-RSP-13", text="Invalid value at 'input[{at}]': no known item type or role.", check=_untyped),
    Rule(code="W-RSP-12", text="The request body is not valid JSON: no low surrogate in string", check=_encoding),
)
