"""Edits of Dreams that wait for a person, or that one rejected, and notes of entries that wait for a model, as a layer
of operations: one small file each, in a folder of ours.

Owns the folder, and how an edit is read back: what is no such edit is a problem, never a crash. A hunk comes with the
Dream that proposed it and goes with the decision, so undoing either puts it where it was; a rejection stays. Decides
nothing.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.core import atomic
from nanomem_tui.core.errors import Conflict, NanomemError, Problem, from_os_error
from nanomem_tui.core.operations import Change, Operation, Value
from nanomem_tui.core.paths import Paths
from nanomem_tui.dream.edits import TITLES, LineEdit

LAYER = "hunk"
WAITING, REJECTED, UNREAD = "hunk", "rejected", "unread"
"""How the keys begin of an edit that waits, of one that a person rejected, and of a note of entries nobody read."""

_NAME = re.compile(rf"({WAITING}|{REJECTED}|{UNREAD})_\d{{1,16}}_\d{{1,16}}")
_TEXTS = ("op", "file", "section", "old", "new", "to_file", "supersedes", "why")
_OPS = ("add", "replace", "remove", "move")


class Hunk(NamedTuple):
    """An edit that waits, or was rejected: why it was not made, when it was proposed (UTC ISO), by which Dreamer."""

    id: str
    edit: LineEdit
    why: str
    at: str
    dreamer: str

    @property
    def value(self) -> dict[str, Any]:
        """As it is recorded and kept."""
        return {"edit": self.edit.to_json(), "why": self.why, "at": self.at, "dreamer": self.dreamer}

    def to_json(self) -> dict[str, Any]:
        """The hunk as a JSON object."""
        return {"id": self.id, **self.value}


def identity(edit: LineEdit, dreamer: str) -> tuple[object, ...]:
    """What an edit asks for and by which entries, wherever the line stands by now.

    The rules clear lines away on the word of whatever entry is the newest: of that the entries do not count.
    """
    evidence = () if dreamer == "rules" and edit.op == "remove" else edit.evidence
    return edit.op, edit.file, edit.to_file, edit.old, edit.new, evidence


class HunkLayer:
    """The layer `hunk` of operations. Keys are ids of hunks; a value is what `Hunk.value` gives, None for none."""

    name = LAYER

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._folder = paths.review

    def read(self) -> tuple[list[Hunk], list[Problem]]:
        """What waits, oldest first, and the files that are no waiting edit."""
        return self._read(self._folder)

    def rejected(self) -> list[Hunk]:
        """What a person rejected, oldest first."""
        return self._read(self._folder / REJECTED)[0]

    def unread(self) -> dict[str, tuple[int, ...]]:
        """The cursors of the entries that could not be read, by the key of the note."""
        found: dict[str, tuple[int, ...]] = {}
        for name in self._names(self._folder / UNREAD):
            with contextlib.suppress(NanomemError, ValueError):  # a note of nobody's
                cursors = (self._value(name) or {}).get("entries", ())
                found[name] = tuple(cursor for cursor in cursors if isinstance(cursor, int))
        return found

    def _names(self, folder: Path) -> list[str]:
        """The keys in a folder. Raises OSError."""
        try:
            return sorted(path.stem for path in folder.iterdir() if path.suffix == ".json")
        except FileNotFoundError:
            return []

    def _read(self, folder: Path) -> tuple[list[Hunk], list[Problem]]:
        try:
            names = self._names(folder)
        except OSError as error:
            found = from_os_error(error, "reading what waits for review")
            return [], [Problem(found.what, str(folder), fix=found.fix)]
        hunks, problems = [], []
        for name in names:
            try:
                value = self._value(name)
                hunk = _hunk(name, value) if value is not None else None
            except (NanomemError, ValueError) as error:
                what = error.what if isinstance(error, NanomemError) else str(error)
                problems.append(Problem(f"no waiting edit ({what})", f"review/{name}.json", fix="move it away"))
            else:
                hunks += [hunk] if hunk else []
        return sorted(hunks, key=lambda hunk: (hunk.at, hunk.id)), problems

    def count(self) -> int:
        """How many files wait, without a look at them."""
        try:
            return sum(1 for path in self._folder.iterdir() if _NAME.fullmatch(path.stem) and path.suffix == ".json")
        except OSError:
            return 0

    def check(self, changes: Sequence[Change]) -> None:
        """Raise Conflict when a hunk is not as a decision found it; one that is gone may go again."""
        for change in changes:
            now = self._value(change.key)
            if now != _plain(change.before) and (now is not None or change.after is not None):
                raise Conflict("it was decided meanwhile", change.key, "see `nanomem inbox list`")

    def begun(self, changes: Sequence[Change]) -> bool:
        """Whether any of it is as the operation wants it."""
        return any(self._value(change.key) == _plain(change.after) for change in changes)

    def stands(self, change: Change) -> bool:
        """Whether the change is made. Reads only."""
        if self._value(change.key) == _plain(change.after):
            return True
        waiting = {identity(hunk.edit, hunk.dreamer): hunk.id for hunk in self.read()[0]}
        return change.after is not None and _waits(change, waiting)

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Keep or remove each; what waits already is not kept twice. Raises the errors of `from_os_error`."""
        waiting = {identity(hunk.edit, hunk.dreamer): hunk.id for hunk in self.read()[0]}
        try:
            for change in changes:
                path = self._path(change.key)
                if change.after is None:
                    path.unlink(missing_ok=True)
                elif not _waits(change, waiting):
                    atomic.make_folder(path.parent)
                    atomic.write_atomic(path, json.dumps(_plain(change.after), ensure_ascii=False).encode())
        except OSError as error:
            raise from_os_error(error, "keeping what waits for review") from error

    def _path(self, key: str) -> Path:
        if not _NAME.fullmatch(key):
            raise NanomemError("not the name of a waiting edit", key)
        apart = next((name for name in (REJECTED, UNREAD) if key.startswith(name)), "")
        return self._folder / apart / f"{key}.json"

    def _value(self, key: str) -> dict[str, Any] | None:
        try:
            data = atomic.read_stable(self._path(key))
        except FileNotFoundError:
            return None
        return _object(json.loads(data))


def _waits(change: Change, waiting: Mapping[tuple[object, ...], str]) -> bool:
    """Whether the same edit waits under another id: of a Dream that read the same entries."""
    if change.after is None or not change.key.startswith(f"{WAITING}_"):
        return False
    hunk = _hunk(change.key, change.after)
    return waiting.get(identity(hunk.edit, hunk.dreamer), hunk.id) != hunk.id


def _object(value: object) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise ValueError("no object")


def _plain(value: Value | None) -> dict[str, Any] | None:
    """The value as JSON gives it back: a list where a tuple was."""
    plain: dict[str, Any] | None = json.loads(json.dumps(value if value is None else dict(value)))
    return plain


def _hunk(name: str, value: Mapping[str, Any]) -> Hunk:
    """Raises ValueError for what is no waiting edit."""
    said = edit_of(_object(value.get("edit")))
    return Hunk(name, said, *(str(value.get(key) or "") for key in ("why", "at", "dreamer")))


def keepable(edit: LineEdit) -> bool:
    """Whether it can wait for a person: what no file of a Dream can hold is told, and not kept."""
    try:
        edit_of(edit.to_json())
    except ValueError:
        return False
    return True


def edit_of(said: Mapping[str, Any]) -> LineEdit:
    """The edit that `LineEdit.to_json` gave. Raises ValueError for anything else."""
    known = {field.name for field in fields(LineEdit)}
    texts = {key: said[key] for key in _TEXTS if key in said}
    evidence, line = said.get("evidence", ()), said.get("line")
    right = all(isinstance(text, str) for text in texts.values()) and isinstance(evidence, (list, tuple))
    if not right or set(said) - known - {"reason"} or texts.get("op") not in _OPS:
        raise ValueError("not the fields of an edit")
    if (
        any(name not in TITLES for name in filter(None, (texts.get("file"), texts.get("to_file"))))
        or "file" not in texts
    ):
        raise ValueError("of a file that no Dream may change")
    if not all(isinstance(cursor, int) for cursor in evidence) or not isinstance(line, (int, type(None))):
        raise ValueError("not the fields of an edit")
    return LineEdit(**texts, line=line, evidence=tuple(evidence))
