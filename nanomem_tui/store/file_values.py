"""Memory files as values of changes: their bytes, and what a change comes to beside what others did. Writes nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nanomem_tui.errors import BadInput, Conflict
from nanomem_tui.formats import encoding
from nanomem_tui.operations import Change, Value
from nanomem_tui.paths import DREAM_CURSOR

if TYPE_CHECKING:
    from nanomem_tui.store.git_history import GitHistory


def bytes_of(key: str, value: Value | None, like: bytes | None = None) -> bytes | None:
    """The bytes of a change's value, in the encoding that it names, else in that of the file as it is (`like`). Raises
    BadInput for text that is no UTF-8."""
    if value is None:
        return None
    if "raw" in value:
        import base64

        return base64.b64decode(str(value["raw"]))
    text = value.get("text")
    if not isinstance(text, str):
        raise BadInput("a file's value without text", key)
    try:
        return encoding.encode(text, str(value.get("encoding") or encoding.encoding_of(like)))
    except UnicodeEncodeError as error:
        raise BadInput("text that is no UTF-8 (a lone surrogate)", key, "remove that character") from error


def merged_with(key: str, before: bytes | None, current: bytes | None, after: bytes | None) -> bytes | None:
    """What was changed between `before` and `after`, made in `current`. Raises Conflict, naming the lines."""
    from nanomem_tui.store import merge

    fix = "look at the file and repeat the change"
    try:
        base, ours, theirs = (encoding.decode(data or b"") for data in (before, current, after))
    except UnicodeDecodeError as error:
        raise Conflict("the file changed meanwhile and holds bytes that are no UTF-8", key, fix) from error
    merged = merge.merge_lines(base, ours, theirs, keep_both=True)
    if merged.conflicts:
        lines = ", ".join(str(conflict.line) for conflict in merged.conflicts[:5])
        raise Conflict(f"the file changed meanwhile at line {lines}", key, fix)
    if not merged.text and after is None:
        return None
    return encoding.encode(merged.text, encoding.encoding_of(current or after or before))


def is_in(git: GitHistory, sha: str, changes: Sequence[Change]) -> bool:
    """Whether a commit holds what the changes make of the files, and what others made of them besides."""
    for change in changes:
        held = git.file_at(sha, change.key) if git.tracks(change.key) else None
        before, after = bytes_of(change.key, change.before, held), bytes_of(change.key, change.after, held)
        held = held if git.tracks(change.key) else after
        with contextlib.suppress(Conflict):
            if held == after or (change.key != DREAM_CURSOR and merged_with(change.key, before, held, after) == held):
                continue
        return False
    return True


def without(change: Change, current: bytes | None, target: bytes | None) -> bytes | None:
    """What others made of a file into which the change is written already, or into which it is not yet."""
    before, after = (bytes_of(change.key, value, current) for value in (change.before, change.after))
    if current != target or before == after:
        return current
    try:
        return before if current == after else merged_with(change.key, after, current, before)
    except Conflict:
        return None
