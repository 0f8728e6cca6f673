"""Workspace: one agent's memory, composed of its parts. What the screens, the command line and servers call.

Opening reads nothing but paths and settings; each part is made when it is first used.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanomem_tui import layers
from nanomem_tui.core import config, paths
from nanomem_tui.core.errors import CorruptDatabase, NanomemError, NotFound, NothingToDo, NotYetWritten, Problem
from nanomem_tui.core.operations import Operation, new_operation
from nanomem_tui.parts import Parts
from nanomem_tui.store import operations
from nanomem_tui.store.files import user
from nanomem_tui.store.memory_store import CheckpointResult
from nanomem_tui.store.operations import LogEntry, OwnChanges

if TYPE_CHECKING:
    from nanomem_tui.store.memory_store import Checkpointer


def open_workspace(path: Path | str | None = None, config_file: Path | str | None = None) -> Workspace:
    """The workspace at `path` (default: the agent's own); a folder that is named may be empty: what is written
    first makes it a workspace. `config_file`: the agent's configuration where it is not the usual one. Raises
    WorkspaceMissing, NotAWorkspace, AccessDenied, BadInput, InvalidConfig. Changes no byte."""
    found = paths.locate(path, starting=path is not None, config=config_file)
    return Workspace(found, config.load(found))


class Workspace(Parts, AbstractContextManager["Workspace"]):
    """One agent's memory. Use as a context manager: leaving it flushes what waits, or warns that it could not."""

    def __init__(self, found: paths.Paths, loaded: config.Loaded) -> None:
        super().__init__(found, loaded, time.time_ns())
        self.store.register = self._register
        self._checkpointer: Checkpointer | None = None
        self.own_changes = OwnChanges()
        self.store.after_checkpoint = self.traces.checkpointed

    # -- changing -------------------------------------------------------------------------------------------------

    def perform(self, operation: Operation) -> Operation:
        """Check, record and apply one operation; every change of every part goes through here."""
        return self.keep(operation, True)

    def keep(self, operation: Operation, durable: bool) -> Operation:
        """Perform; not `durable`: a power cut may cost it until the next checkpoint, nothing else does."""
        for change in operation.changes:
            self._register(change.layer)
        _ = self.items  # the compaction that a checkpoint may start
        done = self.store.perform(operation, durable=durable)
        if done.id:
            self.own_changes.add(done)
        return done

    def _register(self, layer: str) -> None:
        if layer in self.store.layers:
            return
        self.store.layers[layer] = layers.layer_of(self, layer)

    def log(self, limit: int = 50, offset: int = 0, key: str | None = None) -> list[LogEntry]:
        """Operations, newest first; `key`: those that touched the thing of that key."""
        return self.store.journal.log(limit, offset=offset, key=key)

    def undo(
        self, op_id: str | None = None, count: int = 1, keys: Sequence[str] | None = None, *, own: bool = False
    ) -> list[Operation]:
        """Take back the newest change that a person made, in whichever program, `count` of them, or the one of that id.

        `own`: only what was changed through this workspace object. `keys`: only what it did to these things. Raises
        NothingToDo, NotFound, or Conflict when things changed since.
        """
        with self.store.deciding.alone():
            if op_id:
                return [self._undo(self._named(op_id), keys)]
            done: list[Operation] = []
            journal = self.store.journal
            for _ in range(max(1, count)):
                found = (
                    self.own_changes.next_undo(journal.find) if own else journal.first_answer(operations.undo_target)
                )
                if found is None:
                    break
                done.append(self._undo(found, keys))
            if not done:
                raise operations.no_more_own() if own else operations.nothing_to_undo(self.log(1_000))
            return done

    def _undo(self, entry: LogEntry, keys: Sequence[str] | None) -> Operation:
        """Take back what stands of one operation, or of it what touched `keys`."""
        operation, stands = entry.operation, self.store.journal.standing(entry)
        touched = {change.key for change in operation.changes}
        if keys and not touched & set(keys):
            raise NotFound("the operation did not touch that", ", ".join(keys), "see `nanomem log --full --json`")
        wanted = [key for key in stands if keys is None or key in keys]
        if entry.undone or (touched and not wanted):
            raise NothingToDo("nothing to undo", operation.id, "it is taken back already")
        meta, label = _carried(operation), f"undo: {operation.label}"
        if len(wanted) < len(touched):
            label += f" ({len(wanted)} of {len(touched)})"
            meta |= {"keys": wanted, "rest": len(wanted) == len(stands)}
        changes = layers.taken_back(self, operation.only(wanted))
        return self.perform(new_operation("undo", label, changes, undoes=operation.id, meta=meta))

    def redo(self, count: int = 1, *, own: bool = False) -> list[Operation]:
        """Do again what was undone last, `count` times; `own`: only what this workspace object undid.

        Raises NothingToDo or Conflict.
        """
        with self.store.deciding.alone():
            done: list[Operation] = []
            journal = self.store.journal
            for _ in range(max(1, count)):
                undo = self.own_changes.next_redo(journal.find) if own else journal.first_answer(operations.redo_target)
                if undo is None:
                    break
                label = f"redo: {undo.label.removeprefix('undo: ')}"
                meta = {**_carried(undo), "undo": undo.id}
                done.append(self.perform(new_operation("redo", label, undo.inverse(), redoes=undo.undoes, meta=meta)))
            if not done:
                raise NothingToDo("nothing to redo", "", "redo follows an undo")
            return done

    def _named(self, op_id: str) -> LogEntry:
        entry = self.store.journal.find(op_id)
        if entry is None:
            raise NotFound("no such operation", op_id, "see `nanomem log`")
        if entry.operation.kind == operations.MENDED:
            raise operations.mended(entry.operation)
        if operations.is_final(entry.operation):
            what = "nothing brings that back: it took texts out for good, or its own were taken out"
            raise NothingToDo(what, op_id, "`nanomem log` says which `forget` or `scrub` it was")
        if entry.operation.kind in operations.BOOKKEEPING:
            fix = "`nanomem redo` takes back the last undo; else name the operation that it undid"
            raise NotFound(f"that only says something about another operation ({entry.operation.kind})", op_id, fix)
        return entry

    def set_setting(self, name: str, text: str) -> Path:
        """Write one setting into the user's settings file; returns the file. See `user_files.save_setting`."""
        file = paths.user_settings()
        user.save_setting(file, name, text)
        return file

    def leading(self, work: str) -> AbstractContextManager[bool]:
        """Whether this process does a piece of work for all that share the memory, on whichever machines; held until
        the end. Raises the store's errors."""
        return self.store.leading(work)

    # -- checkpoints ----------------------------------------------------------------------------------------------

    def flush(self) -> CheckpointResult:
        """A checkpoint now, with exports, and mirrors that could not be written before."""
        self._catch_up()
        return self.store.checkpoint(final=True)

    def _catch_up(self) -> None:
        mirrors: Any = self.store.layers.get("mirror")
        if mirrors is not None:
            mirrors.catch_up()

    def checkpoint_if_due(self) -> CheckpointResult | None:
        """A checkpoint when one of seed 000's triggers asks for it, else None. What happened long ago ages too, and an
        index of an older version is made anew, a part each time."""
        self._age_if_due()
        self.store.renew_index()
        return self.store.checkpoint() if self.store.due() else None

    def _age_if_due(self) -> None:
        if "operational" in self.__dict__:
            self.operational.age_if_due()

    def consolidate_if_due(self) -> None:
        """Consolidate the sessions of ours that turns of this process left over their budget: what the agent need not
        wait for. With a model as the Dreamer that is left to the schedule. Raises nothing: the schedule tries again."""
        sessions = self.traces.sessions if "traces" in self.__dict__ else None
        found = sessions.over_budget() if sessions is not None else []
        if found and self.settings.dreamer == "rules":
            with contextlib.suppress(NanomemError):
                self.consolidator.consolidate_due([session.key for session in found])
                for session in found:
                    session.looked_at()

    def _between_turns(self) -> None:
        self._age_if_due()
        self.consolidate_if_due()

    def start_collecting(self) -> None:
        """Measure this machine in a thread until `close`, where the settings ask for it."""
        if self.settings.collector_enabled:
            self.collector.start()

    def start_checkpoints(self) -> None:
        """Make checkpoints on a thread when they are due, until `stop_checkpoints` or `close`."""
        from nanomem_tui.store.memory_store import Checkpointer

        self.store.stays = True
        if self._checkpointer is None:
            self._checkpointer = Checkpointer(self.store, self._between_turns)
            self._checkpointer.start()

    def stop_checkpoints(self) -> None:
        """End the thread that `start_checkpoints` began."""
        if self._checkpointer is not None:
            self._checkpointer.stop()
            self._checkpointer = None

    def checkpoint_state(self) -> dict[str, Any]:
        """What the status bar shows: `dirty`, `last_at` (UTC ISO or empty), `last_ms`, `degraded`."""
        store = self.store
        return {"dirty": store.dirty, "last_at": store.last_at, "last_ms": store.last_ms, "degraded": store.degraded}

    def refresh(self) -> set[str]:
        """Which layers changed on disk since the last call, or the opening; rows that others changed come into RAM."""
        changed = set(self._watch.look())
        if self.store.server is not None and self.tier_database.has_news():
            changed.add("tiers")
        rows = self.store.refresh()
        of_rows = {"items", "lessons", "records"}
        return (changed - of_rows) | (of_rows if rows else set())

    @property
    def degraded(self) -> str:
        """Why changes cannot be acknowledged now; empty when all is well."""
        return self.store.degraded

    def problems(self) -> list[Problem]:
        """What could not be read, of everything that was looked at so far."""
        from nanomem_tui.agents.layout import missing_sessions, not_read

        found = [*self.configuration.problems, *self.paths.problems(), *self.store.problems()]
        names = ("items", "sessions", "wal", "history", "notes", "documents", "engine", "meaning", "operational",
                 "record_meaning", "collector", "habits")  # fmt: skip
        found += filter(None, [missing_sessions(self.layout), not_read(self.layout)])
        parts: list[Any] = [*map(self.__dict__.get, names), self.store.layers.get("mirror")]
        for part in filter(None, parts):
            found += part.problems()
        return found

    def status(self) -> dict[str, Any]:
        """The object of `memory status`: counts of every part, checkpoint, agent and problems."""
        from nanomem_tui.status import status

        return status(self)

    def doctor(self) -> list[Problem]:
        """The health of every file and table. Reads only."""
        from nanomem_tui.memory import doctor as memory_doctor
        from nanomem_tui.review.finders import sources
        from nanomem_tui.tiers import collector
        from nanomem_tui.tiers import lifecycle as tiers
        from nanomem_tui.vectors import meaning as vectors

        known = [*self.configuration.problems, *self.paths.problems(), *collector.missing(self.settings)]
        known += self.habits.problems()
        try:
            self.store.load()
        except CorruptDatabase as error:
            known += self.store.damages() or [Problem(error.what, error.where, fix=error.fix)]
            told = [*known, *self.store.problems()]
            return memory_doctor.examine(self.paths, self.layout, told, self.agent(), lambda: self.wal)
        except NanomemError as error:
            known.append(Problem(error.what, error.where, fix=error.fix))
        told = [*known, *self.store.problems()]
        named = partial(memory_doctor.named_source, self.paths, self.settings, self.transfer.preview)
        trail = partial(tiers.problems, self.tier_database, self.lifecycle, self.paths)
        held = partial(memory_doctor.stored_secrets, self.store)
        unfinished, meaning = (
            partial(layers.unfinished_changes, self),
            partial(vectors.health, self.store, self.settings),
        )
        again = partial(sources.problems, self.paths, self.layout)
        more = (self.store.damages, named, held, unfinished, meaning, trail, again)
        return memory_doctor.examine(
            self.paths, self.layout, told, self.agent(), lambda: self.wal, more, self.store.server
        )

    def close(self) -> None:
        """Flush what waits and let go of files and locks.

        Raises the store's errors when that last checkpoint fails; everything is let go of all the same, and what was
        acknowledged is in the database.
        """
        try:
            self.stop_checkpoints()
            if "collector" in self.__dict__:
                self.collector.stop()
            if "recall" in self.__dict__:
                self.recall.by_meaning.close()
            parts = ("lifecycle", "passage_vectors", "record_meaning", "meaning", "tier_database")
            for part in filter(None, map(self.__dict__.get, parts)):
                part.close()
            self.traces.close()
            self._catch_up()
        finally:
            self.store.close()

    def __exit__(self, *_: object) -> None:
        """Close. A last checkpoint that fails is a warning (NotYetWritten): every change in the block was acknowledged,
        an error here would look like one of theirs, and would hide the one that ends the block."""
        try:
            self.close()
        except NanomemError as error:
            what = f"every change is saved; counters and the agent's files are not: {error.line()}"
            warnings.warn(what, NotYetWritten, stacklevel=2)


def _carried(operation: Operation) -> dict[str, Any]:
    """The free fields that an undo or a redo of an operation keeps: none of its commit message, which was its own."""
    return {name: value for name, value in operation.meta.items() if name in ("removed", "kept")}
