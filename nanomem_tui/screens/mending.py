"""What the doctor can put right, shown first and done after a backup; and a backup for its own sake.

Owns the questions and what is said of it. What can be put right, and how, is for `memory.repairs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanomem_tui.core.errors import Refused
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.widgets.document import Block, Body, Spans
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from nanomem_tui.memory.repairs import Repair
    from nanomem_tui.screens.status import StatusScreen
    from nanomem_tui.store.backup import Made
    from nanomem_tui.workspace import Workspace

Done = tuple["Made", list[tuple["Repair", str]]]


async def ask_to_mend(screen: StatusScreen) -> None:
    """Show what would be put right and what has to wait, and do it after a yes. Raises Refused where nothing can be."""
    from nanomem_tui.memory import repairs

    planned = await screen.console.in_thread(repairs.repairs)
    can, waits = [one for one in planned if not one.held], [one for one in planned if one.held]
    if not can:
        why = waits[0].held if waits else "nothing is broken that can be put right by itself"
        raise Refused("nothing can be put right now", why, "D says what is wrong")

    async def mend(_yes: bool) -> None:
        say(screen, "A backup is made, then it is put right …")
        made, done = await screen.console.in_thread(_mended)
        failed = [f"{one.where}: {why}" for one, why in done if why]
        if failed:
            say(screen, one_line("; ".join(failed), 150), "warning", f"{counted(len(failed), 'thing')} not put right")
        else:
            way = "; ".join(way.replace("`", "") for way in repairs.ways_back(done, made.path.name))
            say(screen, way, title=f"{counted(len(done), 'thing')} put right")
        await screen.do_doctor()

    blocks = [block for one in can for block in _blocks(one)]
    if waits:
        blocks.append(Body(f"{counted(len(waits), 'thing')} waits: {waits[0].held}", "warn"))
    reason = "A backup is made first; what cannot be read goes to the quarantine, and nothing is deleted."
    title = f"Put right {counted(len(can), 'thing')}"
    screen.confirm(title, blocks, mend, reason=reason, opened_by=screen.key_of("mend"))


async def back_up(screen: StatusScreen) -> None:
    """Make a backup beside the home, and say where."""
    say(screen, "A backup is made …")
    made = await screen.console.in_thread(lambda ws: _backup(ws, ""))
    where = str(made.path)
    say(screen, where, title=f"{counted(made.files, 'file')} backed up")


def _mended(ws: Workspace) -> Done:
    from nanomem_tui.memory import repairs

    made = _backup(ws, "before doctor --fix")
    return made, repairs.mend(ws, repairs.repairs(ws), made.path.name)


def _backup(ws: Workspace, reason: str) -> Made:
    from nanomem_tui.store import backup

    ws.flush()
    return backup.make(ws.paths, ws.layout, reason=reason)


def _blocks(one: Repair) -> list[Block]:
    return [
        Spans(((f"{one.where}: ", "accent"), (one_line(one.what, 200), "")), 2),
        Body(one_line(one.how, 200), "dim", indent=2),
    ]
