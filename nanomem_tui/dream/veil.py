"""Secrets stay here: the texts as a model may see them, and its edits put back on the lines as they are.

Owns that no secret of an entry or a memory file is in a question. Each stands masked, line by line, so that numbers of
lines stay true; an edit that comes back names masked lines, and is made to name the real ones. A secret that stands in
the line keeps its place there; a model can bring none anywhere else. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from nanomem_tui.agents.archive import HistoryEntry
from nanomem_tui.core.text import whole
from nanomem_tui.dream import titles
from nanomem_tui.dream.edits import LineEdit
from nanomem_tui.dream.guards import Refusal, holding
from nanomem_tui.language import secrets


class Veil:
    """The memory files with each secret masked, and the way back. `files` have the lines of the real ones."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._real: dict[str, str] = {}  # of each mask what it stands for, within one line
        self.files = {name: self._masked(text) for name, text in files.items()}

    def lifted(self, edits: Iterable[LineEdit]) -> tuple[list[LineEdit], list[Refusal]]:
        """(the edits on the real lines, those that would write a mask where no secret stood)."""
        made: list[LineEdit] = []
        refused: list[Refusal] = []
        for edit in edits:
            real = self.lift(edit)
            if kinds := hidden(real.new, real.section):
                refused.append(Refusal(real, holding(kinds)))
            else:
                made.append(real)
        return made, refused

    def lift(self, edit: LineEdit) -> LineEdit:
        """The edit on the real line: what is masked in `old` is as it stands, also where `new` keeps it."""
        held = _masks(edit.old)
        heads = set() if titles.made(edit, self.files) else _masks(edit.section)  # a heading as it stands
        if not held and not heads:
            return edit
        return replace(edit, old=self._put(edit.old, held), new=self._put(edit.new, held),
                       supersedes=self._put(edit.supersedes, held), section=self._put(edit.section, heads))  # fmt: skip

    def _put(self, text: str, held: set[str]) -> str:
        real = {mask: self._real.get(mask, mask) for mask in held}
        return secrets.mask_pattern().sub(lambda mask: real.get(mask[0], mask[0]), text)

    def _masked(self, text: str) -> str:
        parts, last = [], 0
        for secret in secrets.find(text):
            parts.append(text[last : secret.start])
            name = f"[{secret.kind} #{secret.fingerprint}]"
            lines = re.split(r"(\r?\n)", text[secret.start : secret.end])
            parts += [self._mask(name, line) if line and at % 2 == 0 else line for at, line in enumerate(lines)]
            last = secret.end
        return "".join((*parts, text[last:]))

    def _mask(self, name: str, value: str) -> str:
        """A mask that stands for `value` alone: a fingerprint is short, and a key may have several lines."""
        mask, number = name, 1
        while self._real.setdefault(mask, value) != value:
            number += 1
            mask = f"{name[:-1]}.{number}]"
        return mask


@lru_cache(4096)
def hide(text: str) -> str:
    """`text` as a model may see it."""
    return secrets.mask(text)


def hide_entries(entries: Sequence[HistoryEntry]) -> list[HistoryEntry]:
    """The entries as a model may see them."""
    return [entry._replace(content=hide(whole(entry.content)), timestamp=whole(entry.timestamp)) for entry in entries]


def unmasked(text: str) -> str:
    """`text` without the masks in it."""
    return secrets.mask_pattern().sub(" ", text)


def hidden(*texts: str) -> tuple[str, ...]:
    """The kinds of secrets that are masked in `texts`."""
    return tuple(sorted({found["kind"] for text in texts for found in secrets.mask_pattern().finditer(text)}))


def on_its_line(edit: LineEdit, files: Mapping[str, str]) -> LineEdit:
    """An edit that was kept masked, naming the line as it stands, with the secret also where the new line keeps it.

    As it is when nothing in its line is masked, or when no one line of its file is what was masked.
    """
    if not secrets.is_masked(edit.old):
        return edit
    lines = {line.removesuffix("\r") for line in files.get(edit.file, "").split("\n")}
    there = [line for line in lines if secrets.mask(line) == edit.old]
    if edit.old in lines or len(there) != 1:
        return edit
    old, new = there[0], edit.new
    for secret in secrets.find(old):
        new = new.replace(f"[{secret.kind} #{secret.fingerprint}]", old[secret.start : secret.end])
    return replace(edit, old=old, new=new)


def brought(edit: LineEdit, title: str) -> set[str]:
    """The kinds of secrets, masked or plain, that the edit of a model would write where none stood: in its line, or in
    the heading `title` that it makes."""
    masks = {mask for text in (edit.new, title) for mask in _masks(text)} - _masks(edit.old)
    plain = {secret.kind for text in (edit.new, title) for secret in secrets.find(text)}
    return {*hidden(*masks), *plain}


def _masks(text: str) -> set[str]:
    return {found[0] for found in secrets.mask_pattern().finditer(text)}
