"""Measure the replay of long transcripts: CPU seconds, and seconds per message at growing lengths.

Run ``python bench/replay.py``; the targets are 100,000 messages in under 2 s of CPU and a session of
2,000 messages in under 40 ms (spec/replay.md P9, issue 3).
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable

from stenolith.model.message import Message, Role, StopReason, Text, Thinking, ToolCall, ToolResult
from stenolith.replay import lint, wire
from stenolith.replay.pipeline import PASSES, policy_for, replay, sanitise
from stenolith.replay.plan import Plan
from stenolith.replay.policy import Api, Target
from stenolith.replay.report import Line

SIGNATURE = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7"
TARGETS = {
    "anthropic": Target(provider="anthropic", api=Api.ANTHROPIC, model="claude-opus-4-6"),
    "responses": Target(provider="openai", api=Api.OPENAI_RESPONSES, model="gpt-5.4"),
    "chat": Target(provider="groq", api=Api.OPENAI_CHAT, model="llama-3.3-70b"),
    "google": Target(provider="google", api=Api.GOOGLE, model="gemini-3-pro"),
    "bedrock": Target(provider="amazon-bedrock", api=Api.BEDROCK, model="us.anthropic.claude-opus-4-6-v1"),
    "mistral": Target(provider="mistral", api=Api.MISTRAL, model="mistral-large-latest"),
}


def session(count: int) -> list[Message]:
    """Return a working session: a question, two tool steps, an answer; some results are missing."""
    found: list[Message] = []
    turn = 0
    while len(found) < count:
        turn += 1
        found += [
            Message(role=Role.USER, parts=(Text(text=f"Please look at file {turn} and say what it does."),)),
            step(f"toolu_{turn}a", f"src/{turn}.py"),
            answer(f"toolu_{turn}a", turn),
            step(f"toolu_{turn}b", f"tests/{turn}.py"),
            *([answer(f"toolu_{turn}b", turn)] if turn % 50 else []),
            Message(
                role=Role.ASSISTANT,
                parts=(Text(text="It parses one line at a time. " * 4),),
                stop_reason=StopReason.STOP,
            ),
        ]
    return found[:count]


def step(name: str, path: str) -> Message:
    parts = (
        Thinking(text="Let me read it.", signature=SIGNATURE),
        ToolCall(id=name, name="read", arguments={"path": path}),
    )
    return Message(role=Role.ASSISTANT, parts=parts, stop_reason=StopReason.TOOL_USE)


def answer(name: str, turn: int) -> Message:
    content = (Text(text=f"def line_{turn}(text):\n    return text.split()\n" * 5),)
    return Message(role=Role.TOOL, parts=(ToolResult(id=name, name="read", content=content),))


def cpu(run: Callable[[], object], times: int = 3) -> float:
    """Return the best of some runs, in seconds of CPU."""
    found = []
    for _ in range(times):
        gc.collect()
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


def profile(messages: list[Message], target: Target) -> None:
    """Print what each pass takes, with the collector held back as `replay` does."""
    gc.collect()
    gc.disable()
    plan = Plan(target=target, policy=policy_for(target))
    lines = [Line(at, message) for at, message in enumerate(messages)]
    for run in PASSES:
        start = time.process_time()
        lines, _ = run(lines, plan)
        print(f"    {run.__name__:28s} {(time.process_time() - start) * 1e6 / len(messages):6.2f} us per message")
    start = time.process_time()
    sent = wire.convert([line.message for line in lines], target, plan.policy)
    print(f"    {'convert':28s} {(time.process_time() - start) * 1e6 / len(messages):6.2f} us per message")
    start = time.process_time()
    lint.lint(target.api, sent.payload, provider=target.provider, model=target.model)
    print(f"    {'lint':28s} {(time.process_time() - start) * 1e6 / len(messages):6.2f} us per message")
    gc.enable()


def main() -> None:
    short, long = session(2000), session(100_000)
    for name, target in TARGETS.items():
        lone = cpu(lambda target=target: replay(short, target), 7)
        half = cpu(lambda target=target: replay(long[:50_000], target))
        whole = cpu(lambda target=target: replay(long, target))
        passes = cpu(lambda target=target: sanitise(long, target))
        print(
            f"{name:10s} 2,000: {lone * 1e3:5.1f} ms   50,000: {half:5.2f} s   100,000: {whole:5.2f} s"
            f"   (passes alone {passes:5.2f} s)"
        )
        if "--passes" in sys.argv:
            profile(long, target)


if __name__ == "__main__":
    main()
