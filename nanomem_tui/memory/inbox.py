"""The inbox: what was captured or imported and stays inactive until a person decides (docs/decisions, 0017).

Owns the decision, as one operation of a person for as many things as it names: accept makes them active, reject takes
them away, and undo puts either back into the inbox. Must not judge a text; of a secret it has only what was stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NotFound, NothingToDo
from nanomem_tui.core.operations import Change, Operation, Perform, new_operation
from nanomem_tui.core.text import counted
from nanomem_tui.memory import labels
from nanomem_tui.memory.known_facts import KnownFacts
from nanomem_tui.memory.scopes import accepted
from nanomem_tui.store import reading, values
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item, Lesson, Row, lesson_key


class Waiting(NamedTuple):
    """A thing that waits: the row, why, since when (UTC ISO), and who said it where, in words."""

    row: Row
    why: str
    since: str
    origin: str

    @property
    def id(self) -> str:
        """The id of the row."""
        return self.row.id

    @property
    def layer(self) -> str:
        """`item` or `lesson`."""
        return "item" if isinstance(self.row, Item) else "lesson"

    @property
    def text(self) -> str:
        """The words that would be remembered; of a lesson what triggers it, and what to do then."""
        row = self.row
        return row.text if isinstance(row, Item) else f"{row.trigger}: {row.better_action}"


class Inbox:
    """What waits in one workspace."""

    def __init__(self, store: MemoryStore, perform: Perform) -> None:
        self._store = store
        self._perform = perform
        self._known = KnownFacts(store)

    def list(self) -> list[Waiting]:
        """Everything that waits, the newest first."""
        return [of(row) for row in sorted(self._rows(), key=lambda row: (row.created_at, row.id), reverse=True)]

    def count(self) -> int:
        """How many items and lessons wait."""
        groups = (*reading.item_groups(self._store), *reading.lesson_groups(self._store))
        return sum(int(group[-1]) for group in groups)

    def get(self, row_id: str) -> Waiting:
        """What waits under that id, or under the one id that begins so. Raises NotFound, BadInput, or NothingToDo for
        an item or lesson that does not wait."""
        rows = {row.id: row for row in self._rows()}
        near = [rows[row_id]] if row_id in rows else [rows[key] for key in rows if row_id and key.startswith(row_id)]
        if len(near) > 1:
            raise BadInput(f"{len(near)} things in the inbox begin with that id", row_id, "give more of it")
        if near:
            return of(near[0])
        snapshot = self._store.snapshot
        known = snapshot.items.get(row_id) or snapshot.lessons.get(row_id)
        if known is not None and not known.is_deleted:
            raise NothingToDo("it does not wait in the inbox", row_id)
        raise NotFound("nothing of that id waits in the inbox", row_id, "see `nanomem inbox list`")

    def accept(self, ids: Sequence[str], text: str | None = None) -> Operation:
        """Make what waits active, as one operation: recalled, exported and mirrored from now on. A secret that an older
        version stored with it is masked. What a person asked to forget is deleted; another value of a fact that is
        known becomes its value, and the old one its history.

        `text`: the words to remember instead of those of the one thing that is named; of a lesson what to do. The time
        of an item begins anew. Raises what `get` does, and BadInput for a text with several ids or an empty one.
        """
        with self._store.deciding.alone():
            return self._accept(self._named(ids), text)

    def _accept(self, found: Sequence[Waiting], text: str | None) -> Operation:
        from nanomem_tui.memory import forgetting  # and what reads texts: 60 ms, which no list has to wait for

        if text is not None and len(found) != 1:
            raise BadInput("one text for several things", ", ".join(one.id for one in found), "accept them one by one")
        now = clock.now()
        changes: list[Change] = []
        items: list[Item] = []
        for one in found:
            row = one.row
            if isinstance(row, Item) and forgetting.target_of(row):
                if text is not None:
                    raise BadInput("what is to be forgotten has no words", row.id, "accept or reject it")
                pairs = forgetting.accepted(row, self._store.snapshot.items)
                changes += [change_of("item", before, after) for before, after in pairs]
            elif isinstance(row, Item) and (known := self._known_fact(row)) is not None:
                after = _accepted_item(row, text, clock.iso(now), known.expires_at)
                items.append(updated := values.with_value_of(known, after))
                changes += [change_of("item", known, updated), change_of("item", row, row._replace(is_deleted=True))]
            elif isinstance(row, Item):
                after = _accepted_item(row, text, clock.iso(now), self._expires(row))
                items.append(after)
                changes.append(change_of("item", row, after))
            else:
                changes.append(change_of("lesson", row, _accepted_lesson(row, text, clock.iso(now))))
        from nanomem_tui.memory import mirrors

        changes += mirrors.changes(self._store.paths, self._store.settings, items)
        words = text if text is not None else found[0].text
        return self._perform(new_operation("inbox.accept", f"accept {_told(found, words)}", changes))

    def reject(self, ids: Sequence[str]) -> Operation:
        """Take what waits away, as one operation; `undo` puts it back into the inbox. Raises what `get` does."""
        with self._store.deciding.alone():
            found = self._named(ids)
            changes = [change_of(one.layer, one.row, one.row._replace(is_deleted=True)) for one in found]
            return self._perform(new_operation("inbox.reject", f"reject {_told(found, found[0].text)}", changes))

    def _rows(self) -> Sequence[Row]:
        snapshot = self._store.load()
        with snapshot.lock:
            rows: Sequence[Row] = [*snapshot.items.values(), *snapshot.lessons.values()]
        return [row for row in rows if not row.enabled and not row.is_deleted and row.waits]

    def _named(self, ids: Sequence[str]) -> Sequence[Waiting]:
        found = list({one.id: one for one in map(self.get, ids)}.values())
        if not found:
            raise NothingToDo("nothing is named", "inbox", "see `nanomem inbox list`")
        return found

    def _known_fact(self, row: Item) -> Item | None:
        """The row of the fact that one which waits gives another value; None when it is new, or no fact."""
        one = values.identity_of_item(row)
        known = self._known.get(one) if one is not None else None
        return known.item if known is not None else None

    def _expires(self, row: Item) -> str | None:
        from nanomem_tui.memory import retention

        return retention.expires_at(row.kind, clock.now(), self._store.settings) if row.expires_at else None


def of(row: Row) -> Waiting:
    """A row that waits, with what its free fields say of it."""
    held = row.meta.get("inbox")
    why = held.get("why") if isinstance(held, dict) else held
    return Waiting(row, str(why or "held for a person"), row.created_at, origin(row))


def origin(row: Row) -> str:
    """Who said a thing and where, in words: `user ana in telegram 42, session telegram:42`."""
    session = f"session {row.session_key}" if row.session_key else ""
    if isinstance(row, Lesson):
        return ", ".join(filter(None, (f"{row.source} {row.actor_key}".strip(), session)))
    held = row.meta.get("inbox")
    by = str(held.get("by", "")) if isinstance(held, dict) else ""
    who = " ".join(filter(None, (row.source_role or by or row.source, row.sender_id)))
    place = " ".join(filter(None, (row.channel, row.chat_id)))
    return ", ".join(filter(None, (f"{who} in {place}" if place else who, session)))


def _accepted_item(row: Item, text: str | None, at: str, expires: str | None) -> Item:
    from nanomem_tui.language import secrets
    from nanomem_tui.memory.items import checked

    words = secrets.mask(row.text) if text is None else checked(text)
    return values.with_value(accepted(row)._replace(text=words, updated_at=at, expires_at=expires))


def _accepted_lesson(row: Lesson, text: str | None, at: str) -> Lesson:
    from nanomem_tui.language import secrets
    from nanomem_tui.memory.items import checked

    trigger, bad = secrets.mask(row.trigger), secrets.mask(row.bad_action)
    words = secrets.mask(row.better_action) if text is None else checked(text)
    same = (trigger, words) == (row.trigger, row.better_action)
    key = row.key if same else lesson_key(trigger, words, row.scope, row.session_key)
    return accepted(row)._replace(trigger=trigger, bad_action=bad, better_action=words, key=key, updated_at=at)


def _told(found: Sequence[Waiting], words: str) -> str:
    return labels.told(words) if len(found) == 1 else counted(len(found), "thing") + " of the inbox"
