"""Which messages of an import stand in a transcript of the agent already: no second copy of a conversation is made.

Reads transcripts; must not change anything.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.memory.sessions import Sessions
from nanomem_tui.memory.transfer.values import ImportRow
from nanomem_tui.store.values import Record


def find(sessions: Callable[[], Sessions], rows: Iterable[ImportRow]) -> dict[str, str]:
    """The ids of the messages of chats that the agent's own transcript of the same key holds whole, with that key."""
    chats: dict[str, list[Record]] = defaultdict(list)
    for row in rows:
        if isinstance(row, Record) and row.kind == "message":
            chats[row.about].append(row)
    found: dict[str, str] = {}
    for chat, messages in chats.items():
        said = Counter((str(row.meta.get("role")), row.text.strip()) for row in messages)
        if said <= _said(sessions(), chat):
            found.update(dict.fromkeys((row.id for row in messages), chat))
    return found


def _said(sessions: Sessions, key: str) -> Counter[tuple[str, str]]:
    """What was said in the agent's transcript of that key; nothing where there is none, or where it cannot be read."""
    try:
        session = sessions.of_agent(key)
    except NanomemError:
        return Counter()
    return Counter((message.role, message.content.strip()) for message in session.messages)
