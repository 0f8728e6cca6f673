"""Review the edits of a Dream one by one: list what waits, accept it (as it is or reworded), or reject it.

Owns the small files that keep waiting and rejected edits (`HunkLayer`), and the decision as one operation of a person:
the lines change and the edit leaves the queue together, and undo restores both. A person may accept what the guards
refused; what cannot be a line of a file stays impossible. A rejected edit is never proposed again.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.core import atomic, clock
from nanomem_tui.core.errors import BadInput, Conflict, NanomemError, NotFound, NothingToDo, Problem, from_os_error
from nanomem_tui.core.operations import Change, Operation, Perform, Value, new_key, new_operation
from nanomem_tui.core.text import counted, quoted, without_lone_surrogates
from nanomem_tui.dreams import guards
from nanomem_tui.dreams.edits import TITLES, LineEdit, Owned, apply_edits, drop_empty_headings, owns_none, rebase
from nanomem_tui.dreams.guards import Refusal, on_its_line
from nanomem_tui.language import secrets
from nanomem_tui.store.files.layer import FileLayer

if TYPE_CHECKING:
    from nanomem_tui.core.paths import Paths


# Edits of Dreams that wait for a person, or that one rejected, and notes of entries that wait for a model, as a layer
# of operations: one small file each, in a folder of ours.

LAYER = "hunk"
WAITING, REJECTED, UNREAD = "hunk", "rejected", "unread"
"""How the keys begin of an edit that waits, of one that a person rejected, and of a note of entries nobody read."""

_NAME = re.compile(rf"({WAITING}|{REJECTED}|{UNREAD})_\d{{1,16}}_\d{{1,16}}")
_TEXTS = ("op", "file", "section", "old", "new", "to_file", "supersedes", "why")
_OPS = ("add", "replace", "remove", "move")


class StoredEdit(NamedTuple):
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
        """Return the hunk as a JSON object."""
        return {"id": self.id, **self.value}


def edit_identity(edit: LineEdit, dreamer: str) -> tuple[object, ...]:
    """Return what an edit asks for and by which entries, wherever the line stands by now.

    The rules clear lines away on the word of whatever entry is the newest: of that the entries do not count.
    """
    evidence = () if dreamer == "rules" and edit.op == "remove" else edit.evidence
    return edit.op, edit.file, edit.to_file, edit.old, edit.new, evidence


class StoredEditLayer:
    """The layer `hunk` of operations. Keys are ids of hunks; a value is what `Hunk.value` gives, None for none."""

    name = LAYER

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._folder = paths.review

    def read(self) -> tuple[list[StoredEdit], list[Problem]]:
        """Return what waits, oldest first, and the files that are no waiting edit."""
        return self._read(self._folder)

    def rejected(self) -> list[StoredEdit]:
        """Return what a person rejected, oldest first."""
        return self._read(self._folder / REJECTED)[0]

    def unread(self) -> dict[str, tuple[int, ...]]:
        """Return the cursors of the entries that could not be read, by the key of the note."""
        found: dict[str, tuple[int, ...]] = {}
        for name in self._names(self._folder / UNREAD):
            with contextlib.suppress(NanomemError, ValueError):  # a note of nobody's
                cursors = (self._value(name) or {}).get("entries", ())
                found[name] = tuple(cursor for cursor in cursors if isinstance(cursor, int))
        return found

    def _names(self, folder: Path) -> list[str]:
        """Return the keys in a folder. Raises OSError."""
        try:
            return sorted(path.stem for path in folder.iterdir() if path.suffix == ".json")
        except FileNotFoundError:
            return []

    def _read(self, folder: Path) -> tuple[list[StoredEdit], list[Problem]]:
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
        """Return how many files wait, without a look at them."""
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
        """Return whether any of it is as the operation wants it."""
        return any(self._value(change.key) == _plain(change.after) for change in changes)

    def stands(self, change: Change) -> bool:
        """Return whether the change is made. Reads only."""
        if self._value(change.key) == _plain(change.after):
            return True
        waiting = {edit_identity(hunk.edit, hunk.dreamer): hunk.id for hunk in self.read()[0]}
        return change.after is not None and _waits(change, waiting)

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Keep or remove each; what waits already is not kept twice. Raises the errors of `from_os_error`."""
        waiting = {edit_identity(hunk.edit, hunk.dreamer): hunk.id for hunk in self.read()[0]}
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
    """Return whether the same edit waits under another id: of a Dream that read the same entries."""
    if change.after is None or not change.key.startswith(f"{WAITING}_"):
        return False
    hunk = _hunk(change.key, change.after)
    return waiting.get(edit_identity(hunk.edit, hunk.dreamer), hunk.id) != hunk.id


def _object(value: object) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise ValueError("no object")


def _plain(value: Value | None) -> dict[str, Any] | None:
    """Return the value as JSON gives it back: a list where a tuple was."""
    plain: dict[str, Any] | None = json.loads(json.dumps(value if value is None else dict(value)))
    return plain


def _hunk(name: str, value: Mapping[str, Any]) -> StoredEdit:
    """Raises ValueError for what is no waiting edit."""
    said = edit_of(_object(value.get("edit")))
    return StoredEdit(name, said, *(str(value.get(key) or "") for key in ("why", "at", "dreamer")))


def can_wait(edit: LineEdit) -> bool:
    """Return whether it can wait for a person: what no file of a Dream can hold is told, and not kept."""
    try:
        edit_of(edit.to_json())
    except ValueError:
        return False
    return True


def edit_of(said: Mapping[str, Any]) -> LineEdit:
    """Return the edit that `LineEdit.to_json` gave. Raises ValueError for anything else."""
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


WAITS = "waits for review"


class Review:
    """The edits that wait in one workspace."""

    def __init__(self, hunks: StoredEditLayer, files: FileLayer, perform: Perform, owned: Owned = owns_none) -> None:
        self._owned = owned
        self._hunks = hunks
        self._files = files
        self._perform = perform

    def waiting(self) -> list[StoredEdit]:
        """Return what waits, oldest first."""
        return self._hunks.read()[0]

    def problems(self) -> list[Problem]:
        """Return what lies in the folder and cannot be read."""
        return self._hunks.read()[1]

    def get(self, hunk_id: str) -> StoredEdit:
        """Return the hunk of that id, or the one whose id begins so. Raises NotFound, BadInput."""
        near = [hunk for hunk in self.waiting() if hunk_id and hunk.id.startswith(hunk_id)]
        exact = [hunk for hunk in near if hunk.id == hunk_id] or near
        if not exact:
            raise NotFound("no edit of that id waits", hunk_id, "see `nanomem inbox list`")
        if len(exact) > 1:
            raise BadInput(f"{len(exact)} edits begin with that id", hunk_id, "give more of it")
        return exact[0]

    def preview(self, ids: Sequence[str], text: str | None = None) -> dict[str, tuple[str, str]]:
        """(before, after) of each file that accepting would change. Raises what `accept` does; changes nothing."""
        return self._applied(self._worded(ids, text))

    def accept(self, ids: Sequence[str], text: str | None = None) -> Operation:
        """Make the edits in their order as one operation and one commit; `text`: the line to write instead.

        Raises NotFound, Conflict when a line to change is not there any more, BadInput for what is no line.
        """
        hunks = self._worded(ids, text)
        files = [_file(self._files, name, *texts) for name, texts in self._applied(hunks).items()]
        edits = [hunk.edit for hunk in hunks]
        label = f"accept {_edits_label(edits)}"
        meta = {"commit": f"nanomem: {label}", "edits": [edit.to_json() for edit in edits]}
        return self._perform(new_operation("dream.accept", label, [*files, *self._gone(hunks)], meta=meta))

    def reject(self, ids: Sequence[str]) -> Operation:
        """Let the edits go for good, as one operation; undo brings them back. Raises NotFound, BadInput."""
        hunks = self._named(ids)
        label = f"reject {_edits_label([hunk.edit for hunk in hunks])}"
        kept = [Change(LAYER, new_key(REJECTED), None, hunk.value) for hunk in hunks]
        return self._perform(new_operation("dream.reject", label, [*self._gone(hunks), *kept]))

    def passed(self, taken: Iterable[StoredEdit]) -> list[LineEdit]:
        """Return the edits that were proposed and are not made when those are `taken`: they wait, or were rejected."""
        ids = {hunk.id for hunk in taken}
        return [hunk.edit for hunk in (*self.waiting(), *self._hunks.rejected()) if hunk.id not in ids]

    def _named(self, ids: Sequence[str]) -> list[StoredEdit]:
        found = list({hunk.id: hunk for hunk in map(self.get, ids)}.values())
        if not found:
            raise NothingToDo("nothing is named", "inbox", "see `nanomem inbox list`")
        return found

    def _worded(self, ids: Sequence[str], text: str | None) -> list[StoredEdit]:
        hunks = self._named(ids)
        if text is None:
            return hunks
        if len(hunks) != 1:
            raise BadInput("one text for several edits", ", ".join(ids), "accept them one by one")
        return [hunks[0]._replace(edit=reword(hunks[0].edit, text))]

    def _applied(self, hunks: Sequence[StoredEdit]) -> dict[str, tuple[str, str]]:
        names = {name for hunk in hunks for name in (hunk.edit.file, hunk.edit.to_file or hunk.edit.file)}
        before = {name: self._files.read(name) or "" for name in TITLES if name in names}
        made: Mapping[str, str] = before
        passed = self.passed(hunks)
        for hunk in hunks:
            edit = relocate(hunk.edit, made, passed)
            check_possible(edit)
            made = apply_edits(made, [edit])
        after = {
            name: drop_empty_headings(text, made[name], partial(self._owned, name)) for name, text in before.items()
        }
        return {name: (text, after[name]) for name, text in before.items() if after[name] != text}

    def _gone(self, hunks: Iterable[StoredEdit]) -> list[Change]:
        stored = {hunk.id: hunk for hunk in self.waiting()}
        return [Change(LAYER, hunk.id, stored[hunk.id].value, None) for hunk in hunks]


def waiting_changes(refused: Iterable[Refusal], dreamer: str) -> list[Change]:
    """Return the changes that keep edits for a person; of a secret only the masked words are kept."""
    return _kept(WAITING, refused, dreamer)


def rejected_changes(rejected: Iterable[Refusal], dreamer: str) -> list[Change]:
    """Return the changes that remember edits as rejected; of a secret only the masked words are kept."""
    return _kept(REJECTED, rejected, dreamer)


def _kept(key: str, refusals: Iterable[Refusal], dreamer: str) -> list[Change]:
    at = clock.iso(clock.now())
    hunks = (
        StoredEdit(new_key(key), mask_edit(refusal.edit), without_lone_surrogates(refusal.why), at, dreamer)
        for refusal in refusals
    )
    return [Change(LAYER, hunk.id, None, hunk.value) for hunk in hunks]


def kept_identity(edit: LineEdit, dreamer: str) -> tuple[object, ...]:
    """Return what an edit asks for and by which entries, as it is once it is kept; see `identity`."""
    return edit_identity(mask_edit(edit), dreamer)


def reword(edit: LineEdit, text: str) -> LineEdit:
    """Return the edit with other words; what stands before the text of a list line stays. Raises BadInput."""
    words = text.strip()
    if edit.op == "remove":
        raise BadInput("a removal has no words", edit.file, "accept or reject it")
    if not words or "\n" in words or "\r" in words:
        raise BadInput("an edit is one line", edit.file)
    now = edit.new or edit.old
    lead = now[: len(now) - len(now.lstrip(" \t-*+"))]
    return replace(edit, new=words if words.startswith(("-", "*", "+", "#")) else f"{lead}{words}")


def check_possible(edit: LineEdit) -> None:
    """Raise BadInput for what no person may write either: bytes that are no UTF-8, control characters, no words, or a
    mark in the place of a secret that is not kept."""
    why = guards.impossible_line(edit)
    if why:
        raise BadInput(why, edit.file, "reject it, or give other words")
    if edit.new != edit.old and secrets.is_masked(edit.new):
        raise BadInput("a secret in it was masked and is not kept", edit.file, "give the words (--text), or reject it")


def relocate(edit: LineEdit, files: Mapping[str, str], passed: Iterable[LineEdit]) -> LineEdit:
    """An edit that was kept, on its line as that is in `files` now; see `on_its_line` and `rebased`."""
    return on_its_line(rebase(on_its_line(edit, files), files, passed), files)


def mask_edit(edit: LineEdit) -> LineEdit:
    """Return the edit as it is kept and told: of a secret only the kind and the fingerprint, of half a character
    U+FFFD.

    A line that it names is found again by what is masked in it; see `on_its_line`."""
    why, supersedes = (
        "" if guards.repeated_secrets(edit, text) else _told_as(text) for text in (edit.why, edit.supersedes)
    )
    old, new, section = map(_told_as, (edit.old, edit.new, edit.section))
    return replace(edit, old=old, new=new, section=section, why=why, supersedes=supersedes)


def _told_as(text: str) -> str:
    return secrets.mask(without_lone_surrogates(text))


def _file(files: FileLayer, name: str, before: str, after: str) -> Change:
    change = files.change(name, after)
    now: Mapping[str, Any] = change.before or {}
    return change if now.get("text", "") == before else Change(change.layer, name, {"text": before}, change.after)


def _edits_label(edits: Sequence[LineEdit]) -> str:
    words = secrets.mask(edits[0].new or edits[0].old)
    return f"{edits[0].op} {quoted(words.lstrip(' -*+'))}" if len(edits) == 1 else counted(len(edits), "edit")


# Of edits that a person chose, those that the files as they are now still allow: the others wait, with the reason.


def reason_no_line(edit: LineEdit, text: str) -> str:
    """Return why `text` cannot be the words of an edit; "" when it can."""
    try:
        check_possible(reword(edit, text))
    except BadInput as error:
        return error.what
    return ""


def unread_entries(paths: Paths, of: Callable[[Collection[int]], Iterable[HistoryEntry]]) -> tuple[HistoryEntry, ...]:
    """Return the entries that wait for a model, the oldest first; what is no longer in the archive waits no more. `of`
    gives those of some cursors."""
    noted = {cursor for cursors in StoredEditLayer(paths).unread().values() for cursor in cursors}
    return tuple(sorted(of(noted), key=lambda entry: (entry.cursor, entry.line)))


def unread_changes(paths: Paths, unread: Sequence[int], read: Sequence[int]) -> list[Change]:
    """Return the changes that note the cursors `unread`, as far as they are not, and forget those that were `read`."""
    notes = StoredEditLayer(paths).unread()
    known = {cursor for cursors in notes.values() for cursor in cursors}
    changes = []
    for key, cursors in notes.items():
        left = [cursor for cursor in cursors if cursor not in read]
        if len(left) < len(cursors):
            changes.append(Change(LAYER, key, {"entries": list(cursors)}, {"entries": left} if left else None))
    if new := [cursor for cursor in unread if cursor not in known]:
        changes.append(Change(LAYER, new_key(UNREAD), None, {"entries": new}))
    return changes
