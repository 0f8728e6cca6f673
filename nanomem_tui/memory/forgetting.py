"""What a person asks to be forgotten: which memory is meant, and its deletion as a proposal that waits in the inbox.

Owns how like a memory has to be, and what a proposal is: an item of the inbox that names the one to delete. Deletes
nothing: accepting does, and that is undone as one change. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.operations import new_key
from nanomem_tui.core.settings import Settings
from nanomem_tui.language import wishes
from nanomem_tui.language.features import is_wide
from nanomem_tui.language.message import Message
from nanomem_tui.memory import superseded
from nanomem_tui.memory.capture import MAX_MESSAGE, Captured, Known, Origin, Row, reads
from nanomem_tui.memory.scopes import waiting
from nanomem_tui.store.values import Item

LABEL = "forget: "
"""How the words of a proposal begin; then those of the memory."""
WHY = "a person asked to forget it"
WHY_PAST = "a person says that it is so no longer"


def target_of(row: object) -> str:
    """The id of the item that a proposal would delete; empty for every other row."""
    held = row.meta.get("inbox") if isinstance(row, Item) and not row.enabled else None
    return str(held.get("forgets", "")) if isinstance(held, dict) else ""


def named(clauses: Iterable[Sequence[wishes.Name]], rows: Collection[Item]) -> list[Item]:
    """The memories that hold most of the words of a clause, rare ones counted twice, or half of them with a rare one:
    of several words the memory that holds the most, of equal ones the shortest and newest; of a single word all. Words
    that such wishes have often need not be there, and name nothing alone beside others."""
    found: dict[str, Item] = {}
    for names in clauses:
        own = [name for name in names if not name.is_usual]
        near: list[tuple[int, int, str, Item]] = []
        for row, shared in zip(rows, wishes.standing_in(names, [row.text for row in rows]), strict=True):
            has, lacks = _weight(shared), _weight(name for name in own if name not in shared)
            is_sure = has > lacks or (has == lacks and (is_wide(names[0].word) or any(one.is_rare for one in shared)))
            if shared and is_sure and not (own and all(one.is_usual for one in shared)):
                near.append((has, -len(row.text), row.updated_at, row))
        near.sort(key=lambda one: one[:3], reverse=True)
        found |= {row.id: row for *_, row in (near if len(own or names) == 1 else near[:1])}
    return list(found.values())


def _weight(names: Iterable[wishes.Name]) -> int:
    return sum(1 + name.is_rare for name in names)


def proposals(
    message: Message,
    origin: Origin,
    settings: Settings,
    of_scope: Callable[[str], Iterable[Item]],
    known: Known,
    now: datetime | None = None,
) -> Captured:
    """The proposals to delete what a message of a person asks to be forgotten: for each the memories of this
    chat or this person that are meant. Raises BadInput for a malformed chat or sender."""
    audience = origin.audience
    if not reads("user", settings) or audience.channel not in settings.capture_channels:
        return Captured()
    if len(message.text) > MAX_MESSAGE:
        return Captured()
    asked = [clauses for one in message.forgetting if (clauses := wishes.named(one))]
    keys = dict.fromkeys(key for key in (audience.chat_key, audience.user_key) if key) if asked else ()
    active = [row for key in keys for row in of_scope(key) if row.enabled and not row.is_deleted]
    found = [row for clauses in asked for row in named(clauses, active)]
    rows: dict[str, Row] = {}
    for row in found:
        if len(rows) < settings.capture_max_entries_per_turn:
            rows.setdefault(row.id, _proposal(row, origin, known, clock.iso(now or clock.now())))
    return Captured(tuple(rows.values()), durable=bool(rows))


def _proposal(target: Item, origin: Origin, known: Known, at: str) -> Row:
    words = f"{LABEL}{target.text}"
    again = known(target.scope_key, words)
    if again is not None and target_of(again) == target.id:
        return Row(again._replace(hits=again.hits + 1, updated_at=at), again, WHY)
    row = Item(
        id=new_key("ltm"),
        text=words,
        kind=target.kind,
        scope_type=target.scope_type,
        scope_key=target.scope_key,
        channel=origin.audience.channel,
        chat_id=origin.audience.chat_id,
        sender_id=origin.audience.sender_id,
        session_key=origin.session_key,
        source="explicit_user",
        source_message_id=origin.message_id,
        source_role="user",
        created_at=at,
        updated_at=at,
        hits=1,
    )
    return Row(waiting(row, WHY, finding="forget", forgets=target.id), None, WHY)


def accepted(proposal: Item, items: Mapping[str, Item]) -> list[tuple[Item, Item]]:
    """The rows before and after a proposal is accepted: it goes, and the memory that it names, if that is still there,
    with those in whose place that one stands: they say what was so before.

    Raises BadInput when the memory says something else by now.
    """
    target = items.get(target_of(proposal))
    gone = [(proposal, proposal._replace(is_deleted=True))]
    if target is None or target.is_deleted:
        return gone
    if f"{LABEL}{target.text}" != proposal.text:
        fix = f"reject this, or delete {target.id} as it is now"
        raise BadInput("that memory says something else by now", proposal.id, fix)
    before = superseded.earlier(target, items)
    return [*gone, *((row, row._replace(is_deleted=True)) for row in (target, *before))]
