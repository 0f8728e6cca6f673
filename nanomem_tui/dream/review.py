"""Deciding on edits of a Dream one by one: what waits, accept it (as it is or reworded), or reject it.

Owns the decision as one operation of a person: the lines change and the hunk goes, together, and undo brings both
back. A person may accept what the guards refused; what cannot be a line of a file stays impossible. What is rejected
is remembered, so that no Dream asks for it again. Proposes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NotFound, NothingToDo, Problem
from nanomem_tui.core.operations import Change, Operation, Perform, new_key, new_operation
from nanomem_tui.core.text import counted, quoted, whole
from nanomem_tui.dream import guards
from nanomem_tui.dream.edits import TITLES, LineEdit, apply_edits, rebased
from nanomem_tui.dream.guards import Refusal
from nanomem_tui.dream.headings import Owned, emptied, nobodys
from nanomem_tui.dream.hunks import LAYER, REJECTED, WAITING, Hunk, HunkLayer, identity
from nanomem_tui.dream.veil import on_its_line
from nanomem_tui.language import secrets
from nanomem_tui.store.files.layer import FileLayer

WAITS = "waits for review"


class Review:
    """The edits that wait in one workspace."""

    def __init__(self, hunks: HunkLayer, files: FileLayer, perform: Perform, owned: Owned = nobodys) -> None:
        self._owned = owned
        self._hunks = hunks
        self._files = files
        self._perform = perform

    def waiting(self) -> list[Hunk]:
        """What waits, oldest first."""
        return self._hunks.read()[0]

    def problems(self) -> list[Problem]:
        """What lies in the folder and cannot be read."""
        return self._hunks.read()[1]

    def get(self, hunk_id: str) -> Hunk:
        """The hunk of that id, or the one whose id begins so. Raises NotFound, BadInput."""
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
        label = f"accept {_told(edits)}"
        meta = {"commit": f"nanomem: {label}", "edits": [edit.to_json() for edit in edits]}
        return self._perform(new_operation("dream.accept", label, [*files, *self._gone(hunks)], meta=meta))

    def reject(self, ids: Sequence[str]) -> Operation:
        """Let the edits go for good, as one operation; undo brings them back. Raises NotFound, BadInput."""
        hunks = self._named(ids)
        label = f"reject {_told([hunk.edit for hunk in hunks])}"
        kept = [Change(LAYER, new_key(REJECTED), None, hunk.value) for hunk in hunks]
        return self._perform(new_operation("dream.reject", label, [*self._gone(hunks), *kept]))

    def passed(self, taken: Iterable[Hunk]) -> list[LineEdit]:
        """The edits that were proposed and are not made when those are `taken`: they wait, or were rejected."""
        ids = {hunk.id for hunk in taken}
        return [hunk.edit for hunk in (*self.waiting(), *self._hunks.rejected()) if hunk.id not in ids]

    def _named(self, ids: Sequence[str]) -> list[Hunk]:
        found = list({hunk.id: hunk for hunk in map(self.get, ids)}.values())
        if not found:
            raise NothingToDo("nothing is named", "inbox", "see `nanomem inbox list`")
        return found

    def _worded(self, ids: Sequence[str], text: str | None) -> list[Hunk]:
        hunks = self._named(ids)
        if text is None:
            return hunks
        if len(hunks) != 1:
            raise BadInput("one text for several edits", ", ".join(ids), "accept them one by one")
        return [hunks[0]._replace(edit=reworded(hunks[0].edit, text))]

    def _applied(self, hunks: Sequence[Hunk]) -> dict[str, tuple[str, str]]:
        names = {name for hunk in hunks for name in (hunk.edit.file, hunk.edit.to_file or hunk.edit.file)}
        before = {name: self._files.read(name) or "" for name in TITLES if name in names}
        made: Mapping[str, str] = before
        passed = self.passed(hunks)
        for hunk in hunks:
            edit = placed(hunk.edit, made, passed)
            possible(edit)
            made = apply_edits(made, [edit])
        after = {name: emptied(text, made[name], partial(self._owned, name)) for name, text in before.items()}
        return {name: (text, after[name]) for name, text in before.items() if after[name] != text}

    def _gone(self, hunks: Iterable[Hunk]) -> list[Change]:
        stored = {hunk.id: hunk for hunk in self.waiting()}
        return [Change(LAYER, hunk.id, stored[hunk.id].value, None) for hunk in hunks]


def waiting_changes(refused: Iterable[Refusal], dreamer: str) -> list[Change]:
    """The changes that keep edits for a person; of a secret only the masked words are kept."""
    return _kept(WAITING, refused, dreamer)


def rejected_changes(rejected: Iterable[Refusal], dreamer: str) -> list[Change]:
    """The changes that remember edits as rejected; of a secret only the masked words are kept."""
    return _kept(REJECTED, rejected, dreamer)


def _kept(key: str, refusals: Iterable[Refusal], dreamer: str) -> list[Change]:
    at = clock.iso(clock.now())
    hunks = (Hunk(new_key(key), masked(refusal.edit), whole(refusal.why), at, dreamer) for refusal in refusals)
    return [Change(LAYER, hunk.id, None, hunk.value) for hunk in hunks]


def asked(edit: LineEdit, dreamer: str) -> tuple[object, ...]:
    """What an edit asks for and by which entries, as it is once it is kept; see `identity`."""
    return identity(masked(edit), dreamer)


def reworded(edit: LineEdit, text: str) -> LineEdit:
    """The edit with other words: what stands before the text of a list line stays. Raises BadInput for no line."""
    words = text.strip()
    if edit.op == "remove":
        raise BadInput("a removal has no words", edit.file, "accept or reject it")
    if not words or "\n" in words or "\r" in words:
        raise BadInput("an edit is one line", edit.file)
    now = edit.new or edit.old
    lead = now[: len(now) - len(now.lstrip(" \t-*+"))]
    return replace(edit, new=words if words.startswith(("-", "*", "+", "#")) else f"{lead}{words}")


def possible(edit: LineEdit) -> None:
    """Raise BadInput for what no person may write either: bytes that are no UTF-8, control characters, no words, or a
    mark in the place of a secret that is not kept."""
    why = guards.impossible(edit)
    if why:
        raise BadInput(why, edit.file, "reject it, or give other words")
    if edit.new != edit.old and secrets.is_masked(edit.new):
        raise BadInput("a secret in it was masked and is not kept", edit.file, "give the words (--text), or reject it")


def placed(edit: LineEdit, files: Mapping[str, str], passed: Iterable[LineEdit]) -> LineEdit:
    """An edit that was kept, on its line as that is in `files` now; see `on_its_line` and `rebased`."""
    return on_its_line(rebased(on_its_line(edit, files), files, passed), files)


def masked(edit: LineEdit) -> LineEdit:
    """The edit as it is kept and told: of a secret only the kind and the fingerprint, of half a character U+FFFD.

    A line that it names is found again by what is masked in it; see `on_its_line`."""
    why, supersedes = ("" if guards.repeated(edit, text) else _told_as(text) for text in (edit.why, edit.supersedes))
    old, new, section = map(_told_as, (edit.old, edit.new, edit.section))
    return replace(edit, old=old, new=new, section=section, why=why, supersedes=supersedes)


def _told_as(text: str) -> str:
    return secrets.mask(whole(text))


def _file(files: FileLayer, name: str, before: str, after: str) -> Change:
    change = files.change(name, after)
    now: Mapping[str, Any] = change.before or {}
    return change if now.get("text", "") == before else Change(change.layer, name, {"text": before}, change.after)


def _told(edits: Sequence[LineEdit]) -> str:
    words = secrets.mask(edits[0].new or edits[0].old)
    return f"{edits[0].op} {quoted(words.lstrip(' -*+'))}" if len(edits) == 1 else counted(len(edits), "edit")
