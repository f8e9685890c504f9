"""A model for the W-rows that learns what people say, word for word, and the settings that give it a session."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from stage import said

from stenolith import Memory, Message, Scope, Turn
from stenolith.llm.port import Prompt
from stenolith.settings import Settings
from stenolith.testing.model import Said, Script, ScriptedModel

ME = Scope(user="ana", session_key="chat")
LLM = {"kind": "openai", "model": "scripted", "url": "http://127.0.0.1:1/v1"}


def with_model(settings: Settings, **pipeline: Any) -> Settings:
    """Return *settings* of a home that learns with a model; the address is nobody's, tests give the model itself."""
    given = settings.model_dump(mode="json") | {"home": settings.home, "llm": LLM, "pipeline": pipeline}
    return Settings(**given)


def shown(prompt: Prompt) -> list[dict[str, Any]]:
    """Return the messages that a prompt offers."""
    body = prompt.user.split("<conversation>\n")[1].split("\n</conversation>")[0]
    return [json.loads(line) for line in body.split("\n") if line]


def learned(*items: dict[str, Any]) -> dict[str, Any]:
    return {"scenes": [{"name": "Talk", "memories": list(items)}]}


def parrot(prompt: Prompt, every: int = 1) -> Said:
    """Learn what people say; of numbered sentences only *every* so many-th."""
    said_by_people = [one for one in shown(prompt) if one["role"] == "user"]
    wanted = [one for one in said_by_people if every == 1 or int(one["text"].split()[0][4:]) % every == 0]
    return learned(*({"text": one["text"], "sources": [one["id"]]} for one in wanted))


def model(extract: Script = parrot, arbiter: Script | None = None, *, delay_s: float = 0.0) -> ScriptedModel:
    """Return a model that learns with *extract*, rules with *arbiter* (else keeps everything) and words nothing anew."""
    scripts: dict[str, Script] = {
        "extract": extract,
        "arbiter": arbiter or (lambda _: {"decisions": []}),
        "*": lambda _: {"edits": [], "lines": []},
    }
    return ScriptedModel(scripts, delay_s=delay_s)


def offered(scripted: ScriptedModel) -> Counter[str]:
    """Count how often each thing that a person said was shown to the model to learn from."""
    return Counter(
        one["text"] for prompt in scripted.prompts("extract") for one in shown(prompt) if one["role"] == "user"
    )


def turns(numbers: Sequence[int], at: int, step: int = 1000) -> Turn:
    """Return one capture of several exchanges, *step* milliseconds apart; each has a word of its own."""
    messages: list[Message] = []
    for place, number in enumerate(numbers):
        messages.append(said("user", sentence(number), at + place * step))
        messages.append(said("assistant", f"Noted under {number}.", at + place * step + step // 2))
    return Turn(messages=tuple(messages), mark=0)


def sentence(number: int) -> str:
    return f"Item{number} stands on shelf number {number}."


async def texts(memory: Memory, scope: Scope = ME) -> list[str]:
    """Return what is believed, in alphabetical order."""
    return sorted(atom["text"] for atom in await atoms(memory, scope))


async def atoms(memory: Memory, scope: Scope = ME, status: str | None = None) -> list[dict[str, Any]]:
    return (await memory.list("atoms", scope=scope, limit=10_000, status=status))["items"]


async def waiting(memory: Memory, kind: str = "distill") -> list[dict[str, Any]]:
    """Return the jobs of one kind that wait or run."""
    return [job for job in (await memory.jobs())["items"] if job["kind"] == kind]


async def rows(memory: Memory, sql: str, **values: Any) -> list[dict[str, Any]]:
    """Look into the database, past every door."""
    return [dict(row) for row in await memory._house.database.fetch(sql, **values)]
