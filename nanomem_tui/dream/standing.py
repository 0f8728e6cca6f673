"""Of edits that a person chose, those that the files as they are now still allow: the others wait, with the reason.

Owns that one line which somebody changed meanwhile does not cost the decisions about the others. Writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.core.errors import BadInput, Conflict
from nanomem_tui.dream.edits import TITLES, LineEdit, apply_edits, rebased
from nanomem_tui.dream.guards import Refusal
from nanomem_tui.dream.review import possible, reworded

if TYPE_CHECKING:
    from nanomem_tui.dream.result import DreamResult
    from nanomem_tui.dream.run import DreamRunner

_TRIES = 3  # somebody may write between the look and the change


def no_line(edit: LineEdit, text: str) -> str:
    """Why `text` cannot be the words of an edit; "" when it can."""
    try:
        possible(reworded(edit, text))
    except BadInput as error:
        return error.what
    return ""


class Standing(NamedTuple):
    """The edits that can be made, in their order, the texts that come of them, and those that cannot."""

    edits: tuple[LineEdit, ...]
    files: Mapping[str, str]
    stale: tuple[Refusal, ...]


def standing(files: Mapping[str, str], edits: Iterable[LineEdit], passed: Sequence[LineEdit] = ()) -> Standing:
    """What of `edits` can be made on `files`, each on top of those before it; `passed` are those that were proposed
    beside them and are not to be made now."""
    texts = dict(files)
    made: list[LineEdit] = []
    stale: list[Refusal] = []
    for edit in edits:
        try:
            possible(edit)
            there = rebased(edit, texts, passed)
            texts = apply_edits(texts, [there])
        except (BadInput, Conflict) as error:
            stale.append(Refusal(edit, error.what))
        else:
            made.append(there)
    return Standing(tuple(made), texts, tuple(stale))


def apply_standing(
    runner: DreamRunner,
    read: Callable[[str], str | None],
    proposed: DreamResult,
    chosen: Sequence[LineEdit],
    waiting: Sequence[Refusal] = (),
    rejected: Sequence[Refusal] = (),
) -> tuple[DreamResult, tuple[Refusal, ...]]:
    """`DreamRunner.apply` with those of the chosen edits that can be made, and the others, which wait beside `waiting`.

    `read` gives the text of a memory file. Raises what `apply` does, Conflict only for what is no such edit.
    """
    passed = [one.edit for one in (*waiting, *rejected)]
    for left in range(_TRIES, 0, -1):
        found = standing({name: read(name) or "" for name in TITLES}, chosen, passed)
        try:
            return runner.apply(proposed, found.edits, [*waiting, *found.stale], rejected), found.stale
        except Conflict:
            if left == 1:
                raise
    raise AssertionError("unreachable")
