"""What a memory must hold after several processes changed it: computed from what they said, not from the store.

Each process tells a step before it takes it, and how it ended before it takes the next one. The rows are a plain dict.
Of the log only the order of the operations is used, and which of the steps that nobody saw end are among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Key = tuple[str, str]
"""Of what kind a thing is, and its id: ("item", "ltm_1")."""
Row = dict[str, Any]
"""`text`, `enabled`, `pinned` and `deleted`, of a lesson without `pinned`."""
KINDS = {
    "add": ("items.add",), "edit": ("items.edit",), "enable": ("items.enable", "items.disable"),
    "pin": ("items.pin", "items.unpin"), "delete": ("items.delete",), "know": ("facts.set",),
    "teach": ("lessons.add",), "enable lesson": ("lessons.enable", "lessons.disable"),
    "delete lesson": ("lessons.delete",), "undo": ("undo",), "redo": ("redo",),
}  # fmt: skip
"""What the operations of a step are called in the log."""


class Logged(NamedTuple):
    """An operation as the log tells it; `keys`: of what it touched; `texts`: that it wrote."""

    id: str
    kind: str
    keys: tuple[str, ...]
    texts: tuple[str, ...]
    undoes: str
    redoes: str
    undo: str
    undone: bool
    label: str


@dataclass
class Step:
    """A step of a process: what it was about to do, and how that ended.

    `began`, `ended`: nanoseconds of a clock that all processes share. `end`: "did" (acknowledged, with the `id` of its
    operation, and of the `thing` that it made), "refused" (nothing was changed), "unsure" (told as failed where the
    disk or the server was), or "" where the process was killed.
    """

    do: str
    values: Mapping[str, Any]
    began: int
    ended: int = 0
    end: str = ""
    id: str = ""
    thing: str = ""
    said: str = ""

    @property
    def may_be_there(self) -> bool:
        """Whether nobody knows from outside if it was done."""
        return self.do in KINDS and self.end in {"", "unsure"}

    def is_behind(self, latest: int) -> bool:
        """Whether it ended before something began that was done before."""
        return 0 < self.ended < latest

    def fits(self, logged: Logged) -> bool:
        """Whether the log tells of this step."""
        if logged.kind not in KINDS[self.do]:
            return False
        if "text" in self.values:
            return self.values["text"] in logged.texts
        if "keys" in self.values:
            return set(self.values["keys"]) == set(logged.keys)
        return self.values.get("id") in {None, logged.undoes}


@dataclass
class Model:
    """The rows, what each operation changed in them, and what is wrong."""

    rows: dict[Key, Row]
    wrong: list[str] = field(default_factory=list)
    found: int = 0
    """How many steps that nobody saw end were done."""
    told_as_failed: int = 0
    """How many of these had been told as failed."""
    _changed: dict[str, dict[Key, tuple[Row | None, Row]]] = field(default_factory=dict)
    _undone: dict[str, bool] = field(default_factory=dict)

    def follow(self, steps: Iterable[Step], log: Sequence[Logged]) -> None:
        """Take the steps in the order of the log, oldest first."""
        steps = list(steps)
        done = {step.id: step for step in steps if step.end == "did" and step.id}
        open_ = [step for step in steps if step.may_be_there]
        ids = [logged.id for logged in log]
        self._expect(len(ids) == len(set(ids)), "an operation is in the log twice")
        for lost in done.keys() - set(ids):
            self.wrong.append(f"acknowledged, and not in the log: {done[lost]}")
        latest = 0
        for logged in log:
            fitting = [one for one in open_ if one.fits(logged)]  # of two that nobody saw end, the one that was in time
            step = done.get(logged.id) or min(fitting, key=lambda one: one.is_behind(latest), default=None)
            if step is None and self._begins(logged):
                continue
            if step is None:
                self.wrong.append(f"nobody did this: {logged}")
                continue
            if step.may_be_there:
                open_.remove(step)
                self.found += 1
                self.told_as_failed += step.end == "unsure"
            self._expect(not step.is_behind(latest), f"behind what began after its end: {step}")
            latest = max(latest, step.began)
            self._take(step, logged)
        for logged in log:
            self._expect(self._undone.get(logged.id, False) == logged.undone, f"taken back or not: {logged}")

    def there(self) -> dict[Key, Row]:
        """What a look must find."""
        return {key: without_deleted(row) for key, row in self.rows.items() if not row["deleted"]}

    def _begins(self, logged: Logged) -> bool:
        """Whether it only takes in what was in the agent's files before anybody wrote: who made the database was
        killed before it did."""
        return not self._changed and logged.kind == "agent.changed" and {key for _, key in self.rows} == {*logged.keys}

    # -- one step -----------------------------------------------------------------------------------------------------

    def _take(self, step: Step, logged: Logged) -> None:
        if step.do in {"undo", "redo"}:
            changed = self._back(logged) if step.do == "undo" else self._again(logged)
        else:
            changed = self._new(step, logged)
        for key, (_, after) in changed.items():
            self.rows[key] = {**self.rows.get(key, {}), **after}
        self._changed[logged.id] = changed

    def _new(self, step: Step, logged: Logged) -> dict[Key, tuple[Row | None, Row]]:
        """What a step that is no undo changes."""
        values = step.values
        kind = "lesson" if step.do in {"teach", "enable lesson", "delete lesson"} else "item"
        names = values.get("keys") or [step.thing or logged.keys[0]]
        keys: list[Key] = [(kind, name) for name in names]
        changed: dict[Key, tuple[Row | None, Row]] = {}
        for key in keys:
            row = self.rows.get(key)
            if step.do in {"add", "teach", "know"} and (row is None or (step.do == "know" and row["deleted"])):
                pinned = {"pinned": False} if kind == "item" else {}
                new = {"text": values["text"], "enabled": True, **pinned, "deleted": False}
                changed[key] = (None, new) if row is None else _difference(row, new)
                continue
            if row is None or row["deleted"]:
                self.wrong.append(f"changed, and was not there: {step}")
                continue
            saw = values.get("saw")
            self._expect(saw in {None, row["text"]}, f"written over {row['text']!r}, which it had not seen: {step}")
            new = {
                "edit": {"text": values.get("text")}, "know": {"text": values.get("text"), "enabled": True},
                "enable": {"enabled": values.get("on")}, "enable lesson": {"enabled": values.get("on")},
                "pin": {"pinned": values.get("on")}, "delete": {"deleted": True}, "delete lesson": {"deleted": True},
            }[step.do]  # fmt: skip
            changed[key] = _difference(row, {**row, **new})
            self._expect(changed[key][1], f"there was nothing to change: {step}, {row}")
        return changed

    def _back(self, logged: Logged) -> dict[Key, tuple[Row | None, Row]]:
        """What an undo changes: every thing of its target, of each the fields that the target changed."""
        target = self._changed.get(logged.undoes, {})
        self._expect(target, f"takes back what is not known: {logged}")
        self._expect(not self._undone.get(logged.undoes), f"taken back twice: {logged}")
        self._expect({name for _, name in target} == set(logged.keys), f"took back a part of {target}: {logged}")
        changed: dict[Key, tuple[Row | None, Row]] = {}
        for key, (before, after) in target.items():
            row = self.rows[key]
            stands = after if before is not None else {"deleted": False}
            self._expect(_holds(row, stands), f"took back over a change of somebody else: {logged}, {row}, {stands}")
            self._expect(not row["deleted"] or "deleted" in stands, f"took back in what was deleted: {logged}, {row}")
            changed[key] = _difference(row, {**row, **(before if before is not None else {"deleted": True})})
        self._undone[logged.undoes] = True
        return changed

    def _again(self, logged: Logged) -> dict[Key, tuple[Row | None, Row]]:
        """What a redo changes: what its undo did, the other way round."""
        undo = self._changed.get(logged.undo, {})
        self._expect(undo, f"does again what is not known: {logged}")
        self._expect(self._undone.get(logged.redoes), f"was not taken back: {logged}")
        self._undone[logged.redoes] = False
        changed: dict[Key, tuple[Row | None, Row]] = {}
        for key, (before, after) in undo.items():
            self._expect(_holds(self.rows[key], after), f"did again over a change of somebody else: {logged}")
            changed[key] = (after, before or {})
        return changed

    def _expect(self, true: object, what: str) -> None:
        if not true:
            self.wrong.append(what)


def without_deleted(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "deleted"}


def _difference(row: Row, new: Row) -> tuple[Row, Row]:
    names = [name for name in new if row[name] != new[name]]
    return {name: row[name] for name in names}, {name: new[name] for name in names}


def _holds(row: Row, fields: Row) -> bool:
    return all(row[name] == value for name, value in fields.items())
