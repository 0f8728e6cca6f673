"""What is told of transcripts: in a list, as a search result, before a compaction. Values only."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nanomem_tui.memory.matching import Neighbour, Range


class SessionInfo(NamedTuple):
    """One transcript in a list. `path` is absolute, `size` in bytes, times are UTC ISO (of the file if it names none).

    `unarchived` messages are in no summary yet. `hidden_reason` says why the agent does not find it, "" when it does.
    `checkpoint`: a turn is in flight, or was when the agent died. `other_keys` wrote into the same file. `imported`: it
    came with an import and lies in our rows, not in a file.
    """

    key: str
    path: str
    messages: int
    size: int
    created_at: str
    updated_at: str
    last_archived: int
    unarchived: int
    title: str
    hidden_reason: str
    problems: int
    checkpoint: bool
    other_keys: tuple[str, ...] = ()
    imported: bool = False


class TranscriptHit(NamedTuple):
    """A message that matches: `text` is an excerpt, `ranges` are the hits in it (start and end in characters), `before`
    and `after` are the messages around it."""

    session_key: str
    index: int  # type: ignore[assignment]  # a tuple's own `index` is never asked for
    role: str
    timestamp: str
    text: str
    ranges: tuple[Range, ...]
    before: tuple[Neighbour, ...] = ()
    after: tuple[Neighbour, ...] = ()


class SessionCompaction(NamedTuple):
    """What compacting a session would do; `refused` says why it may not be done now, "" when it may.

    `unarchived` of the removed messages are in no summary yet.
    """

    key: str
    messages: int
    keep: int
    removed: int
    kept: int
    bytes_before: int
    bytes_after: int
    refused: str = ""
    unarchived: int = 0
