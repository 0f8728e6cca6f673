"""Repair transcripts: remove lines that cannot be read, split lines with several objects, rescue files not found.

An agent skips an unreadable line and still counts its offsets with it: messages behind it are then taken for archived,
or are repeated (FORMATS.md, "Session transcripts"). Every repair can be undone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.agents.jsonl import text_of
from nanomem_tui.agents.releases import folder_name
from nanomem_tui.agents.session_names import MAX_NAME, key_to_name
from nanomem_tui.agents.transcripts import prepend_messages, without_unreadable
from nanomem_tui.core import atomic, files
from nanomem_tui.core.atomic import sha256
from nanomem_tui.core.errors import BadInput, Conflict, NotFound, NothingToDo, Refused
from nanomem_tui.core.files import read_log
from nanomem_tui.core.operations import Change, Operation, new_operation
from nanomem_tui.core.text import counted
from nanomem_tui.memory.sessions.files import (
    NO_METADATA,
    SessionFile,
    Summary,
    hidden_reason,
    kept_value,
    key_of,
    refusal,
)

if TYPE_CHECKING:
    from nanomem_tui.agents.releases import Layout
    from nanomem_tui.memory.parts import Memory


class Broken(NamedTuple):
    """A transcript that holds lines which cannot be read, or several objects on a line (`shared`), or that is in UTF-16
    or UTF-32 (`wide`): whose it is, its file, and how many such lines."""

    key: str
    file: SessionFile
    lines: int
    shared: int = 0
    wide: bool = False


def find_broken(ws: Memory) -> Iterator[Broken]:
    """Yield those that the agent finds. One that cannot be read at all is left to the doctor."""
    for file, summary, unreadable in ws.sessions.summaries():
        hidden = unreadable or file.link or not file.current or hidden_reason(file, summary.header, ws.layout)
        if not hidden and summary.problems:
            data = read_log(file.path)
            found, wide = without_unreadable(data), files.is_wide(data)
            if found.lines or found.shared or wide:
                yield Broken(key_of(file.path.name, summary.header), file, found.lines, found.shared, wide)


def repair_changes(ws: Memory, one: Broken) -> list[Change]:
    """Return the change that takes those lines out and parts those that are shared; the file as it was is kept."""
    data = read_log(one.file.path)
    found = without_unreadable(data)
    if (found.lines, found.shared) != (one.lines, one.shared):
        raise Conflict("the session changed meanwhile", one.key, "look at it again and repeat it")
    backups, name = ws.paths.backups, one.file.path.name
    before, after = (kept_value(name, atomic.put_blob(backups, body), found.messages) for body in (data, found.data))
    return [Change("session", one.key, before, after)]


# Bringing back sessions that an agent no longer finds: each gets the file name that the agent of today looks for.

NOBODYS = "it does not say whose it is: no metadata line with a key"
SAY = "`nanomem session rescue {} --key KEY` says whose it is, and brings it back"


class Rescue(NamedTuple):
    """What can be done for one transcript that the agent does not find. `path` is absolute, `name` what its file will
    be called; `joined` messages of another transcript of that key follow its own. `refused` says why nothing can be
    done now, "" when it can."""

    key: str
    path: str
    name: str
    messages: int
    reason: str
    joined: int = 0
    refused: str = ""


class _Plan(NamedTuple):
    """What is told, the file that the transcript has now, and the one that it is joined to."""

    told: Rescue
    file: SessionFile
    other: SessionFile | None


def plan_rescues(ws: Memory, keys: Mapping[str, str] | None = None) -> list[Rescue]:
    """Return what `rescue` would do for each transcript that the agent does not find, refused ones too."""
    return [plan.told for plan in _plans(ws, keys or {})]


def find_ownerless(ws: Memory, name: str) -> str:
    """Return the path of the one transcript of that file name (or path) that does not say whose it is."""
    for file, summary, _ in ws.sessions.summaries():
        if name in (file.path.name, str(file.path)):
            if known := text_of((summary.header or {}).get("key")):
                raise Refused(f"it says whose it is: {known}", name, "leave --key out")
            return str(file.path)
    raise NotFound("no transcript has that file name", name, "`nanomem session rescue --dry-run` shows the files")


def rescue(ws: Memory, paths: Collection[str] | None = None, keys: Mapping[str, str] | None = None) -> Operation:
    """Bring back what the agent does not find, as one operation; `keys`: owners of nameless files, by path."""
    found = [plan for plan in _plans(ws, keys or {}) if paths is None or plan.told.path in paths]
    plans = [plan for plan in found if not plan.told.refused]
    if not plans and found:
        agent = ws.agent()
        first = found[0].told
        way = SAY.format(Path(first.path).name) if first.refused == NOBODYS else ""
        raise Refused(first.refused, first.key, "stop the agent first" if agent.running else way)
    if not plans:
        raise NothingToDo("the agent finds every session", "")
    changes = [change for plan in plans for change in _changes(ws, plan)]
    return ws.perform(new_operation("session.rescue", f"rescue {counted(len(plans), 'session')}", changes))


def has_new_names(layout: Layout) -> bool:
    """Return whether the agent looks for sessions by new names, and may miss old ones."""
    return layout.session_naming == "base64url" and layout.sessions_dir is not None


def _plans(ws: Memory, keys: Mapping[str, str]) -> list[_Plan]:
    """One for each transcript that is not found. Where agents look by the old names, none is lost."""
    layout = ws.layout
    if not has_new_names(layout):
        return []
    found, agent = ws.sessions.summaries(), ws.agent()
    visible = {
        key_of(file.path.name, summary.header): (file, summary.messages)
        for file, summary, unreadable in found
        if not unreadable and file.current and not hidden_reason(file, summary.header, layout)
    }
    plans: list[_Plan] = []
    taken: set[str] = set()
    for file, summary, unreadable in found:
        reason = unreadable or hidden_reason(file, summary.header, layout)
        if not reason or NO_METADATA in reason:
            continue
        told = keys.get(str(file.path), "")
        key = told or key_of(file.path.name, summary.header)
        other, joined = visible.get(key, (None, 0))
        refused = unreadable or _refused(file, summary, key, told, taken, layout) or refusal(file.path, agent)
        refused = refused or (refusal(other.path, agent) if other is not None else "")
        taken.add(key)
        name = "" if refused else key_to_name(key)
        would = Rescue(key, str(file.path), name, summary.messages, reason, joined, refused)
        plans.append(_Plan(would, file, other))
    return plans


def _changes(ws: Memory, plan: _Plan) -> list[Change]:
    """Return what brings one transcript back: a new name, or its messages in front of the other's."""
    one, file, other = plan
    data = read_log(file.path)
    old = {"path": file.path.name, "sha256": sha256(data), "messages": one.messages}
    if folder := folder_name(ws.paths, ws.layout, file.path.parent):
        old["folder"] = folder
    if other is None:
        return [Change("session", one.key, old, {"path": one.name, "sha256": old["sha256"], "messages": one.messages})]
    later = read_log(other.path)
    whole = prepend_messages(later, data)
    backups = ws.paths.backups
    before = {"path": other.path.name, "sha256": sha256(later), "blob": atomic.put_blob(backups, later)}
    after = {"path": other.path.name, "sha256": sha256(whole), "blob": atomic.put_blob(backups, whole)}
    return [
        Change(
            "session", one.key, {**before, "messages": one.joined}, {**after, "messages": one.joined + one.messages}
        ),
        Change("session", f"{one.key} ({file.path.name})", {**old, "blob": atomic.put_blob(backups, data)}, None),
    ]


def _refused(file: SessionFile, summary: Summary, key: str, told: str, taken: set[str], layout: Layout) -> str:
    refused = reason_unrescuable(file, summary, key, layout) if not told else _unnamed(key)
    if not refused and key in taken:
        return "another transcript of that key comes first; ask again after it"
    return refused


def list_unrescued(ws: Memory) -> list[str]:
    """Return the hidden sessions that `rescue` can do nothing for, with the reason."""
    planned = {plan.told.path for plan in _plans(ws, {})}
    return [
        f"{info.key}: {info.hidden_reason}"
        for info in ws.sessions.of_files()
        if info.hidden_reason and info.path not in planned
    ]


def reason_unrescuable(file: SessionFile, summary: Summary, key: str, layout: Layout) -> str:
    """Return why a transcript cannot be brought back whatever anybody waits for; "" when it can."""
    if not has_new_names(layout):
        return "the agent of this home names its files as older releases do"
    if file.link:
        return file.instead
    return _unnamed(key) if text_of((summary.header or {}).get("key")) else NOBODYS


def _unnamed(key: str) -> str:
    """Return why no file can have the name of that key."""
    try:
        name = key_to_name(key)
    except BadInput as error:
        return error.what
    return "its key is too long for a file name" if len(name) > MAX_NAME else ""
