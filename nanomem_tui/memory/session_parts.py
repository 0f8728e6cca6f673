"""A part of a transcript: a long one is never held whole, and its file is read a piece at a time.

Must not know where transcripts lie, nor which of them a person may see.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from nanomem_tui.agents.jsonl import text_of
from nanomem_tui.agents.transcripts import Session, messages_in, parse_session
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.files import Stamp, chunks, read_log
from nanomem_tui.memory import session_files

if TYPE_CHECKING:
    from nanomem_tui.agents.transcripts import Compacted, Message
    from nanomem_tui.memory.session_files import SessionFile, Summary

AT_ONCE = 2_000
"""Messages of a longer one that are held where no number is asked for."""


def of_whole(whole: Session, start: int | None, many: int | None) -> tuple[Session, int]:
    """So many messages from an index on (None: the last ones, or all), and how many there are."""
    total = len(whole.messages)
    first = (max(0, total - many) if many is not None else 0) if start is None else start
    return replace(whole, messages=whole.messages[first : None if many is None else first + many]), total


def of_long(path: Path, summary: Summary, key: str, start: int | None, many: int | None) -> tuple[Session, int]:
    """The same of a file that is not held whole, of which `summary` says what there is. Raises the errors of
    `from_os_error`."""
    count = AT_ONCE if many is None and start is None else many
    first = max(0, summary.messages - (count or 0)) if start is None else start
    last = summary.messages if count is None else first + count
    messages = tuple(islice(_from(path, first), max(0, last - first)))
    head = summary.header or {}
    metadata = head.get("metadata")
    part = Session(
        key=key,
        created_at=text_of(head.get("created_at")),
        updated_at=text_of(head.get("updated_at")),
        metadata=metadata if isinstance(metadata, dict) else {},
        last_archived=summary.last_archived,
        last_consolidated=summary.last_archived,
        has_provider_state=False,
        messages=messages,
        problems=(),
        has_metadata=summary.header is not None,
    )
    return part, summary.messages


def compacted(file: SessionFile, keep: int) -> Compacted:
    """The transcript cut down to its last `keep` messages; a long one is not held where its last part tells the cut.
    Raises BadInput for a `keep` below 1."""
    if keep < 1:
        raise BadInput("a session keeps at least one message", str(keep))
    from nanomem_tui.agents.transcript_edits import compact_long
    from nanomem_tui.agents.transcripts import compact

    if file.stamp[1] <= session_files.WHOLE:
        return compact(read_log(file.path), keep)
    shown = _shown.get(file.path)
    if shown is not None and shown[:2] == (file.stamp, keep):
        return shown[2]
    found = compact_long(lambda: chunks(file.path), keep)
    if found is None:
        return compact(read_log(file.path), keep)
    _shown[file.path] = file.stamp, keep, found
    return found


_shown: dict[Path, tuple[Stamp, int, Compacted]] = {}
"""Of each long transcript the cut that was shown last, for who says yes to it."""


def _from(path: Path, start: int) -> Iterator[Message]:
    """The messages from an index on."""
    first = 0
    for chunk in chunks(path):
        count = messages_in(chunk)
        if first + count > start:
            for message in parse_session(chunk, "", "").messages:
                if first + message.index >= start:
                    yield replace(message, index=first + message.index)
        first += count
