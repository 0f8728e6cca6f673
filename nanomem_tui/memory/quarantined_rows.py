"""Quarantined items and lessons: captured or imported, inactive until a person accepts or rejects them.

Owns the decision as one operation for any number of rows: accept activates them, reject removes them, and undo puts
either back into the inbox. Must not judge a text; of a secret it has only what was stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NotFound, NothingToDo, Refused
from nanomem_tui.core.operations import Change, Operation, Perform, new_operation
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.language import secrets
from nanomem_tui.memory import edit_conflicts, retention, safety
from nanomem_tui.memory.items import KnownFacts, SameTextIndex, check_text
from nanomem_tui.memory.retention import forget_target
from nanomem_tui.memory.scopes import SCOPE_OF_KIND, Audience, accept_held, hold_for_review, is_waiting, key_for
from nanomem_tui.store import lookup, values
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item, Lesson, Row, dumped, lesson_key


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


class QuarantinedRows:
    """The quarantined items and lessons of one workspace; of Dreams' edits too: `review.quarantine.Quarantine`."""

    def __init__(self, store: MemoryStore, perform: Perform) -> None:
        self._store = store
        self._perform = perform
        self._known = KnownFacts(store)

    def list(self) -> list[Waiting]:
        """Return everything that waits, the newest first."""
        return [
            waiting_row(row) for row in sorted(self._rows(), key=lambda row: (row.created_at, row.id), reverse=True)
        ]

    def count(self) -> int:
        """Return how many items and lessons wait."""
        groups = (*lookup.item_groups(self._store), *lookup.lesson_groups(self._store))
        return sum(int(group[-1]) for group in groups)

    def get(self, row_id: str) -> Waiting:
        """Return what waits under that id, or under the one id that begins so."""
        rows = {row.id: row for row in self._rows()}
        near = [rows[row_id]] if row_id in rows else [rows[key] for key in rows if row_id and key.startswith(row_id)]
        if len(near) > 1:
            raise BadInput(f"{len(near)} things in the inbox begin with that id", row_id, "give more of it")
        if near:
            return waiting_row(near[0])
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
        from nanomem_tui.memory.turns import capture  # and what reads texts: 60 ms, which no list has to wait for

        if text is not None and len(found) != 1:
            raise BadInput("one text for several things", ", ".join(one.id for one in found), "accept them one by one")
        now = clock.now()
        changes: list[Change] = []
        items: list[Item] = []
        for one in found:
            row = one.row
            if isinstance(row, Item) and forget_target(row):
                if text is not None:
                    raise BadInput("what is to be forgotten has no words", row.id, "accept or reject it")
                pairs = capture.accept_forget(row, self._store.snapshot.items)
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
        from nanomem_tui.memory import notes

        changes += notes.mirror_changes(self._store.paths, self._store.settings, items)
        words = text if text is not None else found[0].text
        return self._perform(new_operation("inbox.accept", f"accept {_decision_label(found, words)}", changes))

    def reject(self, ids: Sequence[str]) -> Operation:
        """Take what waits away, as one operation; `undo` puts it back into the inbox. Raises what `get` does."""
        with self._store.deciding.alone():
            found = self._named(ids)
            changes = [change_of(one.layer, one.row, one.row._replace(is_deleted=True)) for one in found]
            return self._perform(
                new_operation("inbox.reject", f"reject {_decision_label(found, found[0].text)}", changes)
            )

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
        one = values.identity_of_item(row)
        known = self._known.get(one) if one is not None else None
        return known.item if known is not None else None

    def _expires(self, row: Item) -> str | None:

        return retention.expires_at(row.kind, clock.now(), self._store.settings) if row.expires_at else None


def waiting_row(row: Row) -> Waiting:
    """A row that waits, with what its free fields say of it."""
    held = row.meta.get("inbox")
    why = held.get("why") if isinstance(held, dict) else held
    return Waiting(row, str(why or "held for a person"), row.created_at, describe_origin(row))


def describe_origin(row: Row) -> str:
    """Return who said a thing and where, in words: `user ana in telegram 42, session telegram:42`."""
    session = f"session {row.session_key}" if row.session_key else ""
    if isinstance(row, Lesson):
        return ", ".join(filter(None, (f"{row.source} {row.actor_key}".strip(), session)))
    held = row.meta.get("inbox")
    by = str(held.get("by", "")) if isinstance(held, dict) else ""
    who = " ".join(filter(None, (row.source_role or by or row.source, row.sender_id)))
    place = " ".join(filter(None, (row.channel, row.chat_id)))
    return ", ".join(filter(None, (f"{who} in {place}" if place else who, session)))


def _accepted_item(row: Item, text: str | None, at: str, expires: str | None) -> Item:

    words = secrets.mask(row.text) if text is None else check_text(text)
    return values.with_value(accept_held(row)._replace(text=words, updated_at=at, expires_at=expires))


def _accepted_lesson(row: Lesson, text: str | None, at: str) -> Lesson:

    trigger, bad = secrets.mask(row.trigger), secrets.mask(row.bad_action)
    words = secrets.mask(row.better_action) if text is None else check_text(text)
    same = (trigger, words) == (row.trigger, row.better_action)
    key = row.key if same else lesson_key(trigger, words, row.scope, row.session_key)
    return accept_held(row)._replace(trigger=trigger, bad_action=bad, better_action=words, key=key, updated_at=at)


def _decision_label(found: Sequence[Waiting], words: str) -> str:
    return edit_conflicts.quote_start(words) if len(found) == 1 else counted(len(found), "thing") + " of the inbox"


# What an agent proposes to remember through a server: it waits in the inbox, and only a person makes it a memory.

KINDS = tuple(SCOPE_OF_KIND)
MAX_TEXT, MAX_WHY = 1_000, 300
"""Characters of a proposal, and of its reason."""
MOST_WAITING, MOST_AN_HOUR = 50, 20
"""Proposals that wait at once, and that are made within an hour."""
SOURCE = "mcp"


class Proposed(NamedTuple):
    """What became of a proposal: the item it is, and whether that was there before (waiting, or remembered)."""

    item: Item
    known: bool = False


class Proposals:
    """What agents propose in one workspace, for one audience."""

    def __init__(self, store: MemoryStore, perform: Perform, audience: Audience) -> None:
        self._store = store
        self._perform = perform
        self._audience = audience
        self._same_texts = SameTextIndex(store)

    def add(self, text: str, kind: str = "fact", why: str = "") -> Proposed:
        """Put a text into the inbox; one that waits already or is remembered is left as it is. A secret is not stored.

        Raises BadInput for a text or kind that cannot be, Refused beyond the caps or for what a person switched off.
        """
        words, reason = _checked(text, why)
        if kind not in KINDS:
            raise BadInput("unknown kind", one_line(kind, 60), f"one of {', '.join(KINDS)}")
        with self._store.deciding.alone():
            self._store.load("item")
            scope, key = self._scope(kind)
            duplicate = self._same_texts.find(key, words)
            if duplicate is not None and not duplicate.enabled and not is_waiting(duplicate):
                raise Refused("a person switched that memory off", "text", "it is for a person to switch it on again")
            if duplicate is not None:
                return Proposed(duplicate, known=True)
            self._refuse_floods()
            held = safety.reason_to_hold(text) or safety.reason_to_hold(why)
            item = self._row(words, kind, (scope, key), reason, held)
            label = f"propose {edit_conflicts.quote_start(item.text)}"
            self._perform(new_operation("inbox.propose", label, [change_of("item", None, item)], actor="agent"))
            return Proposed(item)

    def _scope(self, kind: str) -> tuple[str, str]:
        """Return where it would be kept, as what is captured: for the chat or the person; of neither: for everybody."""
        audience, scope = self._audience, SCOPE_OF_KIND[kind]
        if audience.chat_id is None:
            scope = "global" if audience.sender_id is None or scope == "global" else "user"
        return scope, key_for(scope, audience, self._store.workspace_id)

    def _refuse_floods(self) -> None:
        hour_ago = clock.iso(clock.now() - timedelta(hours=1))
        with self._store.snapshot.lock:
            ours = [row for row in self._store.snapshot.items.values() if row.source == SOURCE]
        if sum(not row.is_deleted and not row.enabled and row.waits for row in ours) >= MOST_WAITING:
            fix = "a person decides first: `nanomem inbox list`"
            raise Refused(f"{MOST_WAITING} proposals wait in the inbox already", "", fix)
        if sum(row.created_at > hour_ago for row in ours) >= MOST_AN_HOUR:
            raise Refused(f"{MOST_AN_HOUR} proposals were made within the last hour", "", "propose less, or later")

    def _row(self, words: str, kind: str, scope: tuple[str, str], reason: str, held: str) -> Item:
        item = retention.new_item(
            words, kind, scope, self._audience, clock.now(), self._store.settings,
            importance=0.7, source=SOURCE, meta_json=dumped({"proposed_because": reason} if reason else {}),
        )  # fmt: skip
        why = "proposed by an agent" + (f": {reason}" if reason else "")
        return hold_for_review(item, f"{held}; {why}" if held else why, by=SOURCE, finding="origin")


def _checked(text: str, why: str) -> tuple[str, str]:
    """Return the words and the reason as they may be stored, without their secrets. Raises BadInput."""
    for value, most, where in ((text, MAX_TEXT, "text"), (why, MAX_WHY, "why")):
        if len(value) > most:
            raise BadInput(f"{len(value):,} characters", where, f"give at most {most:,}")
    words = check_text(secrets.mask(text), "text")
    if safety.is_recalled(text):
        raise BadInput("that was recalled, it is known", "text", "propose only what is new")
    return words, one_line(check_text(secrets.mask(why), "why")) if why.strip() else ""
