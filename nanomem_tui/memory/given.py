"""What a turn was given, item by item: the words that the model had then, and what became of each since.

Reads the injection log, the rows and the operations since; the log of turns names ids, not words, so the words of then
are those before the first change after the turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import NotFound
from nanomem_tui.memory.superseded import mark_of

if TYPE_CHECKING:
    from nanomem_tui.memory.injections import Injected
    from nanomem_tui.store.values import Row
    from nanomem_tui.workspace import Workspace

How = Literal["given", "saved", "learned", "held"]
SINCE_LIMIT = 1_000
"""Operations of one row that are looked through."""


class Given(NamedTuple):
    """An item or a lesson of a turn. `text`: its words now, empty when it is gone; `then`: the words that the model
    had, where they were others and are known; `since`: what became of it, in words, or empty. `near`: given because it
    is near in meaning."""

    what: str
    id: str
    text: str
    how: How = "given"
    then: str = ""
    since: str = ""
    near: bool = False


def given_of(ws: Workspace, turn: Injected) -> list[Given]:
    """What the turn was given, then what it saved, learned and left in the inbox. Raises the store's errors."""
    near = frozenset(turn.related)
    found = [_given(ws, turn, "item", key, "given", key in near) for key in turn.items]
    found += [_given(ws, turn, "lesson", key, "given") for key in turn.lessons]
    found += [_given(ws, turn, "item", key, "saved") for key in turn.saved]
    found += [_given(ws, turn, "lesson", key, "learned") for key in turn.learned]
    lessons = ws.store.load("item").lessons
    found += [_given(ws, turn, "lesson" if key in lessons else "item", key, "held") for key in turn.held]
    return found


def turn_named(ws: Workspace, name: str) -> Injected:
    """The turn of that id, or the one whose id begins so; without a name the newest. Raises NotFound."""
    turns = ws.traces.injections.turns(None if name else 1)
    if not name:
        if not turns:
            raise NotFound("no turn yet", "", "the log begins with the first turn of an agent: `nanomem attach`")
        return turns[0]
    near = [turn for turn in turns if turn.turn == name] or [turn for turn in turns if turn.turn.startswith(name)]
    if len(near) != 1:
        what = f"{len(near):,} turns begin so" if near else "no such turn"
        raise NotFound(what, name, "see `nanomem turn list`")
    return near[0]


def _given(ws: Workspace, turn: Injected, what: str, key: str, how: How, near: bool = False) -> Given:
    snapshot = ws.store.load("item")
    row: Row | None = (snapshot.items if what == "item" else snapshot.lessons).get(key)
    is_gone = row is None or row.is_deleted
    as_it_was = row is not None and row.enabled and not is_gone and not _is_after(row.updated_at, turn.at)
    was = {} if as_it_was else _fields_then(ws, turn, key)
    fields = {} if row is None else row._asdict()
    now, then = "" if is_gone else _words(what, fields), _words(what, {**fields, **was})
    return Given(what, key, now, how, then if then != now else "", _since(row, was, now != then), near)


def _since(row: Row | None, was: Mapping[str, Any], reworded: bool) -> str:
    """What became of a row since the turn, of which `was` holds the fields that changed."""
    if row is None or row.is_deleted:
        return "deleted since"
    if row.waits:
        return "waits in the inbox"
    if not row.enabled and was.get("enabled", False):
        mark = mark_of(row)
        return f"superseded since by {mark.by}" if mark is not None else "switched off since"
    return "edited since" if reworded else ""


def _words(what: str, fields: Mapping[str, Any]) -> str:
    if what == "item":
        return str(fields.get("text") or "")
    return f"{fields['trigger']}: {fields.get('better_action') or ''}" if fields.get("trigger") else ""


def _fields_then(ws: Workspace, turn: Injected, key: str) -> dict[str, Any]:
    """The fields of a row that changed since the turn, with the values that they had when it began."""
    was: dict[str, Any] = {}
    for entry in ws.log(SINCE_LIMIT, key=key):
        if not _is_after(entry.operation.at, turn.at):
            break
        for change in entry.operation.changes:
            if change.key == key and change.before:
                was.update(change.before)
    return was


def _is_after(at: str, moment: str) -> bool:
    one, other = clock.parse(at), clock.parse(moment)
    return one is not None and other is not None and one > other
