"""Who said what a finding is about: in which session, when, and the message itself where it is still there.

Reads the transcript only when a person looks at a finding. Must not guess: a message that is merely near is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.curation.values import Evidence
from nanomem_tui.store.values import AnyRow, Item, Record, Row

if TYPE_CHECKING:
    from nanomem_tui.curation.finders.rows import Rows

_BY_SOURCE = {
    "explicit_user": "asked to remember it",
    "auto_heuristic": "taken from what was said",
    "auto_promoted": "made of lessons that several people taught",
    "crystallized": "read out of conversations",
    "manual": "entered by hand",
    "tool_result": "given back by a tool",
    "tool_feedback": "learned from a tool that failed",
    "user_feedback": "learned from a correction",
}


def said(rows: Rows, row: AnyRow) -> Sequence[Evidence]:
    """Who said a row where and when, and the message that it came from."""
    if isinstance(row, Record):
        return [Evidence(f"noted in the {row.kind}", row.about, row.at, row.session_key)]
    label = _BY_SOURCE.get(row.source, f"source: {row.source}")
    return [Evidence(label, _who(row), row.created_at, row.session_key or ""), *_message(rows, row), *_used(row)]


def _who(row: Row) -> str:
    if not isinstance(row, Item):
        return f"about {row.actor_key}" if row.actor_key else ""
    who = row.sender_id or (row.chat_id if row.scope_type == "user" else "") or ""
    named = f"{row.source_role or 'user'} {who}".strip() if who or row.source_role else ""
    return ", ".join(filter(None, (named, f"in {row.channel}" if row.channel else "")))


def _used(row: Row) -> Iterator[Evidence]:
    last = row.last_accessed_at if isinstance(row, Item) else row.last_applied_at
    if last:
        yield Evidence("recalled last" if isinstance(row, Item) else "applied last", f"{row.hits:,} times in all", last)


def _message(rows: Rows, row: Row) -> Iterator[Evidence]:
    if not isinstance(row, Item) or not row.session_key:
        return
    from nanomem_tui.core.text import one_line
    from nanomem_tui.curation.origin import message_of
    from nanomem_tui.language import secrets

    try:
        place = message_of(rows.ws, row)
        if place is None:
            return
        message = next(one for one in rows.ws.sessions.get(row.session_key).messages if one.index == place)
    except NanomemError:
        return
    text = one_line(secrets.mask_start(message.content), 400)
    yield Evidence(f"message {place}, {message.role}", text, message.timestamp, row.session_key)
