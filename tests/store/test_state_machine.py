"""Two stores on one database against a plain dict: changes, undo, redo, counters, looks, crashes and clock jumps.

The model keeps, for each operation, the fields that it changed, and knows nothing of revisions or transactions.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from nanomem_tui.core import clock
from nanomem_tui.core.errors import Conflict, NanomemError, NotFound
from nanomem_tui.core.operations import Change, new_operation
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Item
from tests.store.stores import Store, open_store

KEYS = ["a", "b", "c"]
NUMBERS = itertools.count()
FIELDS = ("text", "pinned", "enabled", "is_deleted")


class Done(NamedTuple):
    """An operation of the model: which fields of which thing it changed, and whether it is undone."""

    id: str
    key: str
    before: dict[str, Any] | None
    after: dict[str, Any]
    undone: bool = False


class Stores(RuleBasedStateMachine):
    """The stores are two processes; a crash drops one of them without closing it."""

    def __init__(self) -> None:
        super().__init__()
        self.temporary = tempfile.TemporaryDirectory(prefix="nanomem-machine-")
        self.folder = Path(self.temporary.name) / f"machine_{os.getpid()}_{next(NUMBERS)}"
        self.folder.mkdir()
        self.stores = [open_store(self.folder), open_store(self.folder)]
        self.rows: dict[str, dict[str, Any]] = {}
        self.log: list[Done] = []
        self.hits = dict.fromkeys(KEYS, 0)
        self.unsaved: list[dict[str, int]] = [{}, {}]
        self.text = 0
        self.now = datetime(2026, 3, 1, tzinfo=UTC)

    def teardown(self) -> None:
        for store in self.stores:
            store.database.close()
        self.temporary.cleanup()

    # -- rules --------------------------------------------------------------------------------------------------

    @rule(who=st.integers(0, 1), key=st.sampled_from(KEYS))
    def add(self, who: int, key: str) -> None:
        self.text += 1
        item = Item(key, f"text {self.text}", created_at=self._at(), updated_at=self._at())
        operation = new_operation("add", f"add {key}", [change_of("item", None, item)])
        if key in self.rows and not self.rows[key]["is_deleted"]:
            with pytest.raises(Conflict):
                self.stores[who].perform(operation)
            return
        self.stores[who].perform(operation, durable=self.text % 2 == 0)
        self.rows[key] = {name: getattr(item, name) for name in FIELDS}
        self._done(operation.id, key, None, self.rows[key])

    @rule(who=st.integers(0, 1), key=st.sampled_from(KEYS), what=st.sampled_from(FIELDS))
    def change(self, who: int, key: str, what: str) -> None:
        """By who has looked, and sees what there is."""
        store = self.stores[who]
        store.refresh()
        row = store.snapshot.items.get(key)
        if row is None or row.is_deleted:
            return
        self.text += 1
        value = f"text {self.text}" if what == "text" else not getattr(row, what)
        change = change_of("item", row, row._replace(updated_at=self._at(), **{what: value}))
        operation = store.perform(new_operation("edit", f"edit {what} of {key}", [change]))
        before = {what: self.rows[key][what]}
        self.rows[key][what] = value
        self._done(operation.id, key, before, {what: value})

    @rule(who=st.integers(0, 1), key=st.sampled_from(KEYS))
    def change_without_a_look(self, who: int, key: str) -> None:
        """By who knows only an older row: refused when any field that he changes is another one now."""
        store = self.stores[who]
        row = store.load().items.get(key)
        if row is None or row.is_deleted:
            return
        self.text += 1
        change = change_of("item", row, row._replace(text=f"text {self.text}", updated_at=self._at()))
        knows_all = row.revision == self._revision(key)
        with contextlib.nullcontext() if knows_all else pytest.raises(Conflict):
            operation = store.perform(new_operation("edit", f"edit {key}", [change]))
            before, after = {"text": self.rows[key]["text"]}, {"text": f"text {self.text}"}
            self.rows[key].update(after)
            self._done(operation.id, key, before, after)

    @rule(who=st.integers(0, 1), number=st.integers(0, 30))
    def undo(self, who: int, number: int) -> None:
        if not self.log:
            return
        place = number % len(self.log)
        done = self.log[place]
        row = self.rows[done.key]
        deletes = done.before is not None and "is_deleted" in done.before
        later = any(other.key == done.key for other in self.log[place + 1 :])
        stands = all(row[name] == value for name, value in done.after.items())
        gone = row["is_deleted"] and not deletes
        if done.undone or gone or not stands:
            with pytest.raises(NanomemError):
                self.stores[who].undo(done.id)
            return
        try:
            self.stores[who].undo(done.id)
        except Conflict:
            assert deletes, "only a delete compares more than its own fields"
            assert later
            return
        row.update({"is_deleted": True} if done.before is None else done.before)
        self.log[place] = done._replace(undone=True)

    @rule(who=st.integers(0, 1), key=st.sampled_from(KEYS))
    def touch_what_is_not_there(self, who: int, key: str) -> None:
        with pytest.raises(NotFound):
            self.stores[who].perform(
                new_operation("edit", "nothing", [Change("item", f"{key}{key}", {"text": "x"}, {"text": "y"})])
            )

    @rule(who=st.integers(0, 1), key=st.sampled_from(KEYS), hits=st.integers(1, 3))
    def count(self, who: int, key: str, hits: int) -> None:
        if key in self.stores[who].load().items:
            self.stores[who].snapshot.count("item", key, hits, self._at())
            self.unsaved[who][key] = self.unsaved[who].get(key, 0) + hits

    @rule(who=st.integers(0, 1))
    def save_counts(self, who: int) -> None:
        self.stores[who].save_counts()
        for key, hits in self.unsaved[who].items():
            self.hits[key] += hits
        self.unsaved[who] = {}

    @rule(who=st.integers(0, 1))
    def crash(self, who: int) -> None:
        """Counters that were not saved are lost; nothing else is."""
        self.stores[who].database.close()
        self.stores[who] = open_store(self.folder)
        self.unsaved[who] = {}

    @rule(days=st.integers(-400, 400))
    def jump(self, days: int) -> None:
        self.now += timedelta(days=days)

    # -- what always holds --------------------------------------------------------------------------------------

    @invariant()
    def both_see_the_same_at_once(self) -> None:
        for store in self.stores:
            store.refresh()
            seen = {key: {name: getattr(item, name) for name in FIELDS} for key, item in store.snapshot.items.items()}
            assert seen == self.rows

    @invariant()
    def counters_add_up(self) -> None:
        with open_again(self.folder) as store:
            assert {key: item.hits for key, item in store.load().items.items()} == {
                key: self.hits[key] for key in self.rows
            }

    @invariant()
    def the_log_knows_what_stands(self) -> None:
        entries = {entry.operation.id: entry.undone for entry in self.stores[0].log(1_000)}
        assert {done.id: entries[done.id] for done in self.log} == {done.id: done.undone for done in self.log}
        seqs = [entry.position for entry in self.stores[1].log(1_000)]
        assert seqs == sorted(seqs, reverse=True)

    # -- helpers ------------------------------------------------------------------------------------------------

    def _at(self) -> str:
        self.now += timedelta(seconds=1)
        return clock.iso(self.now)

    def _done(self, op_id: str, key: str, before: dict[str, Any] | None, after: dict[str, Any]) -> None:
        self.log.append(Done(op_id, key, before, dict(after)))

    def _revision(self, key: str) -> int:
        with open_again(self.folder) as store:
            return store.load().items[key].revision


@contextlib.contextmanager
def open_again(folder: Path) -> Any:
    store: Store = open_store(folder)
    try:
        yield store
    finally:
        store.database.close()


TestStores = Stores.TestCase
