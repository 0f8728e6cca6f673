"""Macros: recorded actions, previewed before they are repeated, and performed as one operation.

Owns what of an action is recorded and how it is repeated, with or without a console. A macro is rehearsed first on a
workspace where nothing is written; one undo takes all of it back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from nanomem_tui.core.errors import BadInput, NanomemError, NothingToDo, Refused
from nanomem_tui.core.operations import Change, Operation, new_operation
from nanomem_tui.core.text import counted
from nanomem_tui.memory import filters
from nanomem_tui.memory.scopes import scope_of_key
from nanomem_tui.review.findings import FINDING_FIELDS, Decision, DecisionDetails, Finding, finding_field, finding_text
from nanomem_tui.review.queue import DECISION_VERBS, TriagedMemory
from nanomem_tui.store.files.user import Macro, Step
from nanomem_tui.store.values import ROW_LAYERS, Item, Lesson


class Rehearsal(TriagedMemory, Protocol):
    """A memory of which nothing is changed: what would be done is collected."""

    done: list[Operation]


CURSOR, SELECTION, SHOWN = "cursor", "selection", "shown"
MOST_IDS = 200
"""Rows of a step by their ids; more of them are named by a filter."""
_LAYERS = {"items": "item", "knowledge": "item", "lessons": "lesson"}
_FACT_FIELDS = ("kind", "importance", "scope_type", "scope_key", "channel", "chat_id", "sender_id")
_VALUES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "items": {
        "toggle": ("enabled",), "pin": ("pinned",), "delete": (), "merge": (),
        "edit": ("text",), "edit_external": ("text",), "fields": _FACT_FIELDS,
    },
    "knowledge": {"toggle": ("enabled",), "delete": ()},
    "lessons": {
        "toggle": ("enabled",), "delete": (),
        "edit": ("trigger", "better_action", "bad_action", "scope", "session_key", "confidence"),
        "edit_external": ("trigger", "better_action", "bad_action", "scope", "session_key", "confidence"),
    },
}  # fmt: skip
"""The actions that a macro can hold, by screen, with the fields that they set."""
INBOX = "inbox"
_DECISIONS: Mapping[str, Decision] = {
    "accept": "keep", "reject": "reject", "merge": "merge", "toggle": "disable", "delete": "delete", "split": "split",
    "snooze": "snooze",
}  # fmt: skip
"""The decisions of the inbox that a macro can hold, by action. To give other words is none: they are of one row."""


class Planned(NamedTuple):
    """A step as it would be done: on which rows, what it would change in words ("" for nothing)."""

    step: Step
    ids: tuple[str, ...]
    label: str


class Plan(NamedTuple):
    """What a macro would do: step by step, and all of it as one operation (None: it would change nothing)."""

    macro: Macro
    steps: tuple[Planned, ...]
    operation: Operation | None
    texts: Mapping[str, str]
    """The words of the rows that would change, as they are now, by id."""


def can_hold(screen: str, action: str) -> bool:
    """Return whether a macro can hold that action."""
    return action in (_DECISIONS if screen == INBOX else _VALUES.get(screen, {}))


def record_step(action: str, screen: str, rows: str, query: str, operation: Operation) -> Step | None:
    """Return the step that did `operation`; None for what a macro cannot hold, also an edit that gave rows different
    words."""
    if not can_hold(screen, action):
        return None
    if screen == INBOX:
        return Step(action, screen, rows, query, _moved(operation) if action == "split" else {})
    wanted = _VALUES[screen][action]
    changes = [change for change in operation.changes if change.layer == _LAYERS[screen] and change.after]
    if not changes:
        return None
    found = [
        {name: (change.after or {})[name] for name in wanted if name in (change.after or {})} for change in changes
    ]
    if wanted and (not found[0] or any(one != found[0] for one in found)):
        return None
    values = {name: bool(value) if name in ("enabled", "pinned") else value for name, value in found[0].items()}
    return Step(action, screen, rows, query, values)


def _moved(operation: Operation) -> dict[str, Any]:
    """To which scope the items of an operation went; empty where each went where it belongs."""
    places = {
        scope_of_key(str(change.after.get("scope_type")), str(change.after["scope_key"])).name
        for change in operation.changes
        if change.layer == "item" and change.after and "scope_key" in change.after
    }
    return {"scope": places.pop()} if len(places) == 1 else {}


def describe_step(step: Step) -> str:
    """A step in words."""
    verb = step.action
    if step.screen == INBOX:
        verb = DECISION_VERBS[_DECISIONS[step.action]] if step.action in _DECISIONS else step.action
        if step.action == "split":
            verb = f"move to {step.values['scope']}" if step.values.get("scope") else "move where it belongs"
    elif step.action == "toggle":
        verb = "enable" if step.values.get("enabled") else "disable"
    elif step.action == "pin" and not step.values.get("pinned"):
        verb = "unpin"
    if step.action in ("edit", "edit_external", "fields"):
        verb = f"set {', '.join(f'{name} {value}' for name, value in step.values.items())}"
    if step.rows == SHOWN:
        rows = f"all that “{step.filter}” lets through" if step.filter else "all there are"
    elif step.rows == CURSOR:
        rows = "the row at the cursor"
    elif step.rows == SELECTION:
        rows = "the selected rows"
    else:
        rows = counted(len(step.rows.split()), "named row")
    return f"{verb}: {rows} of {step.screen}"


def needs_rows(macro: Macro) -> bool:
    """Return whether somebody has to say which rows it is for."""
    return any(step.rows in (CURSOR, SELECTION) for step in macro.steps)


def plan(ws: TriagedMemory, rehearsal: Rehearsal, macro: Macro, rows: Sequence[str] = ()) -> Plan:
    """Return what `macro` would do now; `rows`: the ids that stand for the cursor and the selection. Changes nothing
    but the `rehearsal` of the workspace, a fresh one.

    Raises BadInput where rows are needed and none are given, and what a step does, with its number.
    """
    if needs_rows(macro) and not rows:
        raise BadInput(f"“{macro.name}” is for the row at the cursor", "macro", "name the rows: --row ID")
    steps = []
    for number, step in enumerate(macro.steps, 1):
        try:
            steps.append(_rehearsed(rehearsal, step, rows))
        except NothingToDo:
            steps.append(Planned(step, (), ""))
        except NanomemError as error:
            where = " ".join(filter(None, (f"step {number}: {describe_step(step)}", error.where)))
            raise Refused(error.what, where, error.fix) from error
    operation = _joined(macro, rehearsal.done)
    return Plan(macro, tuple(steps), operation, {} if operation is None else _texts(ws, operation))


def run(ws: TriagedMemory, made: Plan) -> Operation:
    """Do what was planned, as one operation. Raises NothingToDo, and Conflict when something of it changed since."""
    if made.operation is None:
        raise NothingToDo(f"“{made.macro.name}” changes nothing here")
    with ws.store.deciding.alone():
        return ws.perform(made.operation)


def _texts(ws: TriagedMemory, operation: Operation) -> dict[str, str]:
    found = {}
    for change in operation.changes:
        row = ws.store.load().table(change.layer).get(change.key)
        if isinstance(row, Item | Lesson):
            found[change.key] = row.text if isinstance(row, Item) else f"{row.trigger} → {row.better_action}"
    return found


# One step


def _rehearsed(ws: Rehearsal, step: Step, rows: Sequence[str]) -> Planned:
    if not can_hold(step.screen, step.action):
        raise BadInput(f"no macro can do `{step.action}` on {step.screen}", step.screen)
    ids = _ids(ws, step, rows)
    if not ids:
        return Planned(step, (), "")
    before = len(ws.done)
    operation = _do(step.screen)(ws, step, ids)
    touched = [change.key for one in ws.done[before:] for change in one.changes]
    return Planned(step, tuple(dict.fromkeys(touched)), operation.label)


def _ids(ws: TriagedMemory, step: Step, rows: Sequence[str]) -> list[str]:
    if step.rows == CURSOR:
        return list(rows[:1])
    if step.rows == SELECTION:
        return list(rows)
    if step.rows != SHOWN:
        return step.rows.split()
    if step.screen == INBOX:
        return [one.id for one in _findings(ws, step)]
    if step.screen == "lessons":
        return [row.id for row in _lessons(ws, step.filter)]
    return [row.id for row in _items(ws, step)]


def _findings(ws: TriagedMemory, step: Step) -> Sequence[Finding]:
    """Return the findings that a filter lets through and about which the decision can be made."""
    from nanomem_tui.review.queue import is_possible

    rows = [one for one in ws.triage.findings() if is_possible(one, _DECISIONS[step.action], several=True)]
    return filters.filter_rows(rows, step.filter, FINDING_FIELDS, finding_text, finding_field)


def _items(ws: TriagedMemory, step: Step) -> Sequence[Item]:
    rows: Sequence[Item] = ws.items.all()
    if step.screen == "knowledge":
        rows = [fact.item for fact in ws.facts.all()]
    return filters.filter_rows(rows, step.filter, filters.ITEM_FIELDS, lambda row: row.text, filters.item_field)


def _lessons(ws: TriagedMemory, query: str) -> Sequence[Lesson]:
    part = ws.lessons

    def field(row: Lesson, name: str) -> Any:
        return filters.lesson_field(row, name, part.effective, lambda one: one.id in part.faded((one,)))

    return filters.filter_rows(part.all(), query, filters.LESSON_FIELDS, filters.lesson_text, field)


def _do(screen: str) -> Callable[[TriagedMemory, Step, list[str]], Operation]:
    if screen == INBOX:
        return _on_inbox
    return _on_lessons if screen == "lessons" else _on_items


def _on_inbox(ws: TriagedMemory, step: Step, ids: list[str]) -> Operation:
    how = DecisionDetails(scope=str(step.values.get("scope") or "") or None)
    return ws.triage.take(ws.triage.named(ids), _DECISIONS[step.action], how).operation


def _on_items(ws: TriagedMemory, step: Step, ids: list[str]) -> Operation:
    if step.action == "toggle":
        return ws.items.set_enabled(ids, bool(step.values.get("enabled")))
    if step.action == "pin":
        return ws.items.set_pinned(ids, bool(step.values.get("pinned")))
    if step.action == "delete":
        return ws.items.delete(ids)
    if step.action == "merge":
        return ws.items.merge(ids)
    from nanomem_tui.memory.items import edit_items

    return edit_items(ws.store, ws.perform, ids, step.values)


def _on_lessons(ws: TriagedMemory, step: Step, ids: list[str]) -> Operation:
    if step.action == "toggle":
        return ws.lessons.set_enabled(ids, bool(step.values.get("enabled")))
    if step.action == "delete":
        return ws.lessons.delete(ids)
    done = None
    for lesson_id in ids:
        try:
            done = ws.lessons.edit(lesson_id, **step.values)
        except NothingToDo:
            continue
    if done is None:
        raise NothingToDo("nothing to change", ", ".join(ids))
    return done


# All steps as one


def _joined(macro: Macro, done: Sequence[Operation]) -> Operation | None:
    """Return the operations as one: of each row what it was before the first, and what it is after the last."""
    by_row: dict[tuple[str, str], Change] = {}
    meta: dict[str, Any] = {}
    for operation in done:
        meta |= operation.meta
        for change in operation.changes:
            if change.layer not in ROW_LAYERS:
                raise Refused(f"a macro changes no {change.layer}", macro.name)
            place = change.layer, change.key
            by_row[place] = _both(by_row[place], change) if place in by_row else change
    changes = [change for change in map(_differing, by_row.values()) if change is not None]
    if not changes:
        return None
    label = f"macro {macro.name}: {counted(len(changes), 'row')}"
    return new_operation("macro", label, changes, meta={**meta, "macro": macro.name, "steps": len(macro.steps)})


def _both(first: Change, second: Change) -> Change:
    before = None if first.before is None else {**(second.before or {}), **first.before}
    return Change(first.layer, first.key, before, {**(first.after or {}), **(second.after or {})})


def _differing(change: Change) -> Change | None:
    """Without the fields that are in the end what they were; None where none is left but the time of the change."""
    before, after = change.before, change.after
    if before is None or after is None:
        return change
    names = [name for name in after if name not in before or before[name] != after[name]]
    if not set(names) - {"updated_at"}:
        return None
    return Change(
        change.layer,
        change.key,
        {name: before[name] for name in names if name in before},
        {name: after[name] for name in names},
    )
