"""``stenolith demo``: the whole walk on conversations that ship with stenolith, in a temporary home."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markdown import Markdown
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from stenolith.cli.options import COMMON, Common
from stenolith.cli.output import err, moment, out, print_json, say

if TYPE_CHECKING:
    from stenolith.engine.demonstration import Walk

QUESTION = "这次能不能顺便重构登录逻辑"


async def demo(*, common: Common = COMMON) -> int:
    """Run the main job on the example conversations: capture, distil, scenes, persona, recall.

    Example: stenolith demo --json
    """
    from stenolith.engine.demonstration import walk

    with tempfile.TemporaryDirectory(prefix="stenolith-demo-") as folder, err.status("living through four weeks ..."):
        found = await walk(Path(folder), QUESTION)
    if common.json:
        print_json(found.to_dict())
    else:
        _tell(found)
    return 0


def _tell(found: Walk) -> None:
    _heading("1  What was captured (L0)")
    say(f"{found.sessions} sessions, {found.offered} messages offered, {len(found.records)} recorded.")
    for reason, count in found.refused.items():
        say(f"  {count:>4} not recorded: {reason}", "dim")
    for example in found.examples:
        say(f"  {example.reason}: {example.before!r}", "dim")
        say(f"  {'kept as' if example.after else 'kept only in the transcript'}: {example.after!r}", "dim")
    _heading("2  One atom and the words it rests on (L1)")
    _tell_atom(found.atom, found.zone)
    say(f"{len(found.atoms)} atoms in all; {found.superseded} earlier ones were superseded and are kept as history.")
    _heading("3  A scene (L2)")
    _page(found.scene["markdown"])
    say("Directory: " + " · ".join(scene["title"] for scene in found.scenes), "dim")
    _heading("4  The persona and what is not one yet (L3)")
    _page(found.persona["markdown"])
    _heading(f"5  A question comes: {found.question}")
    if found.context is not None:
        say(found.context.dynamic)
        for arm in found.context.report.arms:
            say(f"  {arm.name:<22} {arm.status:<8} {arm.hits:>3} hits  {arm.ms:6.1f} ms  {arm.reason}", "dim")
    say("")
    say(f"Took {found.seconds:.1f} s. Nothing left this machine, and no key was needed.", "green")


def _page(markdown: str) -> None:
    """Show a document in a frame; long lines are folded, for a frame would cut them off."""
    out.print(Panel(Markdown(markdown), border_style="dim"), soft_wrap=False)


def _tell_atom(atom: dict[str, Any], zone: Any) -> None:
    say(f"{atom['kind']}, version {atom['version']}, {atom['status']}: {atom['text']}")
    for record in atom["children"]:
        said = moment(record["timestamp"], zone)
        say(
            f"  {said}  {record['speaker'] or record['role']} said in {record['session_key']}: {record['text']}", "cyan"
        )


def _heading(text: str) -> None:
    out.print()
    out.print(Rule(Text(text, style="bold"), align="left"))
