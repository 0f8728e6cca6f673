"""The reflection that a lesson learned from a failed tool leaves (seed 003): which tool, with what, what it said, and
what follows from it.

Owns which failures are the same one: those of one tool in one session from which the same lesson follows; they are one
row that counts them. A row that a person deleted stays deleted. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from nanomem_tui.memory import learning
from nanomem_tui.memory.learning import Taught, ToolResult, shorten
from nanomem_tui.store.values import Record, dumped

KIND = "reflection"
ARGUMENTS, REFLECTION_HEAD = 500, 400
"""Characters of the arguments that are kept, and of them those at their beginning."""
_FAILED = frozenset({"learned", "confirmed", "recurred"})


def reflected(
    event: ToolResult, taught: Taught, known: Callable[[str], Record | None], at: str
) -> tuple[Record, Taught] | None:
    """The reflection of a failure, and what it taught with the lesson that names it; None where a lesson was not
    learned from it, or the reflection was deleted. `known` gives a record by its id, deleted ones too."""
    lesson = taught.lesson
    if not event.failed or taught.what not in _FAILED or lesson.source != "tool_feedback":
        return None
    row = known(str(lesson.meta.get("reflection") or "")) or known(id_of(lesson.key))
    if row is not None and row.is_deleted:
        return None
    meta = {
        **(row.meta if row else {}),
        "args": _said(event.arguments, ARGUMENTS, REFLECTION_HEAD),
        "lesson": lesson.id,
    }
    meta |= {"error": error} if (error := _said(event.failed)) else {}
    times = meta.get("times", 1)
    meta["times"] = times + 1 if row and isinstance(times, int) else 1
    first = row or Record(
        id_of(lesson.key), KIND, event.tool, lesson.better_action, lesson.session_key, "agent", created_at=at
    )
    after = first._replace(at=at, updated_at=at, meta_json=dumped(meta))
    linked = lesson._replace(meta_json=dumped({**lesson.meta, "reflection": after.id}))
    return after, taught._replace(lesson=linked)


def id_of(lesson_key: str) -> str:
    """The id of the reflection of a lesson that was learned from a tool, also of one that is learned again."""
    return f"{KIND}_{hashlib.blake2b(lesson_key.encode('utf-8', 'replace'), digest_size=10).hexdigest()}"


def _said(text: str, limit: int = learning.ACTION, head: int = learning.HEAD) -> str:
    """Arguments or an error as they are kept: without secrets, on one line, and none that order a model about."""
    from nanomem_tui.language import injection, secrets

    return "" if injection.reason(text) else shorten(secrets.mask(text), limit, head)
