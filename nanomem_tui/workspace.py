"""Workspace: one agent's memory, composed of its parts. What screens, commands and servers call.

Opening reads only paths and settings; each part is made when it is first used.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanomem_tui.agents.releases import unsupported_agent
from nanomem_tui.core import config, paths
from nanomem_tui.core.errors import (
    CorruptDatabase,
    NanomemError,
    NotFound,
    NothingToDo,
    NotYetWritten,
    Problem,
    StoreError,
)
from nanomem_tui.core.operations import Actor, Operation, new_operation
from nanomem_tui.core.paths import DREAM_CURSOR, TRACKED_FILES
from nanomem_tui.memory.turns.traces import Traces, own_sessions_folder
from nanomem_tui.store import forgotten
from nanomem_tui.store.database import operation_log
from nanomem_tui.store.database.operation_log import LogEntry, OwnChanges
from nanomem_tui.store.forgotten import Forgotten
from nanomem_tui.store.memory_store import CheckpointResult, MemoryStore

if TYPE_CHECKING:
    from nanomem_tui.agents.archive import ReadTo
    from nanomem_tui.agents.git_history import GitHistory
    from nanomem_tui.agents.releases import Layout
    from nanomem_tui.core.operations import Change, Layer
    from nanomem_tui.dreams.blame import Blames
    from nanomem_tui.dreams.service import Dreams
    from nanomem_tui.dreams.session_archive import Consolidator
    from nanomem_tui.memory.facts.crystallize import Crystallizer
    from nanomem_tui.memory.facts.facts import Facts
    from nanomem_tui.memory.facts.journal import Journal, Reflections
    from nanomem_tui.memory.facts.search import MemorySearch
    from nanomem_tui.memory.facts.usage import Usage
    from nanomem_tui.memory.items import Items
    from nanomem_tui.memory.lessons import Lessons
    from nanomem_tui.memory.notes import Notes
    from nanomem_tui.memory.quarantined_rows import QuarantinedRows
    from nanomem_tui.memory.recall.conversations import Conversations
    from nanomem_tui.memory.recall.excerpts import ExcerptSearch
    from nanomem_tui.memory.recall.recall import Recall
    from nanomem_tui.memory.sessions.archive import History
    from nanomem_tui.memory.sessions.archive_changes import HistoryChanges
    from nanomem_tui.memory.sessions.sessions import Sessions
    from nanomem_tui.memory.transfer.service import Transfer
    from nanomem_tui.memory.turns.engine import Engine
    from nanomem_tui.memory.turns.wal_states import WalStates
    from nanomem_tui.model.client import Usage as Spent
    from nanomem_tui.review.conflicts import Conflicts
    from nanomem_tui.review.duplicates import Duplicates
    from nanomem_tui.review.findings import Finder
    from nanomem_tui.review.inbox import Inbox
    from nanomem_tui.review.leaks import Scopes
    from nanomem_tui.review.moments import Moments
    from nanomem_tui.review.pairs import Pairs
    from nanomem_tui.review.quarantine import Quarantine
    from nanomem_tui.store.files.layer import FileLayer
    from nanomem_tui.store.files.presence import Presence, Watch
    from nanomem_tui.store.files.user import Habits
    from nanomem_tui.store.memory_store import Checkpointer
    from nanomem_tui.store.values import Item
    from nanomem_tui.store.work.work_store import WorkStore
    from nanomem_tui.tiers.context import ContextAssembly
    from nanomem_tui.tiers.knowledge import KnowledgeBase
    from nanomem_tui.tiers.lifecycle import Lifecycle
    from nanomem_tui.tiers.operational import Collector, Operational
    from nanomem_tui.tiers.records import TierRecords
    from nanomem_tui.tiers.semantic import KnowledgeBase as AsyncKnowledgeBase
    from nanomem_tui.tiers.semantic import Memory
    from nanomem_tui.vectors.collection import PassageVectors
    from nanomem_tui.vectors.records import RecordMeaning
    from nanomem_tui.vectors.semantic_search import SemanticSearch

HISTORY = 200
"""The newest operations of a thing among which that is looked for which an undo goes back to."""


def open_workspace(path: Path | str | None = None, config_file: Path | str | None = None) -> Workspace:
    """Return the workspace at `path` (default: the agent's own); a folder that is named may be empty: what is written
    first makes it a workspace. `config_file`: the agent's configuration where it is not the usual one. Raises
    WorkspaceMissing, NotAWorkspace, AccessDenied, BadInput, InvalidConfig. Changes no byte."""
    found = paths.find_workspace(path, starting=path is not None, config=config_file)
    return Workspace(found, config.load(found))


class Workspace(AbstractContextManager["Workspace"]):
    """One agent's memory. Use as a context manager: leaving it flushes what waits, or warns that it could not."""

    def __init__(self, found: paths.Paths, loaded: config.Loaded) -> None:
        self.paths = found
        self.settings = loaded.settings
        self.configuration = loaded
        self.id = paths.workspace_id(found)
        self.store = MemoryStore(found, self.id, loaded.settings)
        self.store.register = self._register
        self.own_changes = OwnChanges()
        self.store.after_checkpoint = self.traces.checkpointed
        self._opened = time.time_ns()  # when, in nanoseconds
        self._layout: tuple[object, Layout] | None = None
        self._checkpointer: Checkpointer | None = None

    # -- the parts, each made when it is first used ---------------------------------------------------------------

    @property
    def layout(self) -> Layout:
        """Which agent wrote this home, and where its sessions lie: an agent that begins, or that is upgraded, while
        this is open brings other folders."""
        from nanomem_tui.agents import releases as agents_layout
        from nanomem_tui.memory.turns.wal_states import wal_folder

        ours = own_sessions_folder(self.paths, self.id)
        stamp = agents_layout.sessions_stamp(self.paths, ours)
        if self._layout is None or self._layout[0] != stamp:
            found = agents_layout.detect(self.paths, wal_folder(self.paths, self.settings.wal_state_dir))
            if found.sessions_dir is None and ours.is_dir():
                found = found._replace(sessions_dir=ours)
            self._layout = (stamp, found)
        return self._layout[1]

    @cached_property
    def items(self) -> Items:
        """Long-term items."""
        from nanomem_tui.memory.items import Items
        from nanomem_tui.memory.transfer import foreign

        items = Items(self.store, foreign.find_databases(self.paths, self.settings), self.perform, lambda: self.recall)
        self.store.before_checkpoint = items.compact_if_over_cap
        return items

    @cached_property
    def facts(self) -> Facts:
        """Items with a domain, a category and a key."""
        from nanomem_tui.memory.facts.facts import Facts

        return Facts(self.store, self.items, self.perform)

    @cached_property
    def memory_search(self) -> MemorySearch:
        """Facts by domain and category, and everything by meaning: what an agent's tool of that name finds."""
        from nanomem_tui.memory.facts.search import MemorySearch

        return MemorySearch(self.store, self.settings, self.items, self.facts, self.recall, lambda: self.meaning)

    @cached_property
    def lessons(self) -> Lessons:
        """Self-improvement lessons."""
        from nanomem_tui.memory.lessons import Lessons

        return Lessons(self.store, self.perform)

    @cached_property
    def journal(self) -> Journal:
        """Daily journal entries."""
        from nanomem_tui.memory.facts.journal import Journal

        return Journal(self.store, self.perform)

    @cached_property
    def reflections(self) -> Reflections:
        """What followed from tools that failed."""
        from nanomem_tui.memory.facts.journal import Reflections

        return Reflections(self.store, self.lessons, self.perform)

    @cached_property
    def usage(self) -> Usage:
        """What language models used."""
        from nanomem_tui.memory.facts.usage import Usage

        return Usage(self.store, self.perform)

    def _spent(self, source: str, used: Spent) -> None:
        self.usage.spent(source, used)

    @cached_property
    def crystallizer(self) -> Crystallizer:
        """Facts out of what people said."""
        from nanomem_tui.memory.facts.crystallize import Crystallizer

        return Crystallizer(
            self.store, self.paths, lambda: self.sessions, self.facts, partial(self._spent, "crystallize")
        )

    @cached_property
    def tier_database(self) -> WorkStore:
        """Where the records of an agent's work lie, and the knowledge base."""
        from nanomem_tui.store.first_edition import takeover

        return takeover.open_work(self.paths, self.id, self.settings.database_url, self.settings.flush_interval_seconds)

    @cached_property
    def records(self) -> TierRecords:
        """Work records of the agent."""
        from nanomem_tui.tiers.records import TierRecords

        def log(key: str) -> Sequence[LogEntry]:
            return self.store.journal.log(10_000, key=key)

        return TierRecords(self.tier_database, self.perform, log, lambda: self.record_meaning)

    @cached_property
    def record_meaning(self) -> RecordMeaning:
        """What is near in meaning among the records."""
        from nanomem_tui.vectors.records import record_meaning_of

        return record_meaning_of(self.tier_database, self.store, self.settings, self.meaning.maker)

    @cached_property
    def knowledge(self) -> KnowledgeBase:
        """Documents in chunks: man pages, documentation, what was told to be known."""
        from nanomem_tui.tiers.knowledge import KnowledgeBase

        return KnowledgeBase(self.tier_database, self.paths.backups, self.perform, self.store.settle, self._forgotten)

    @property
    def memory(self) -> Memory:
        """The records of an agent's work for a program with an event loop (seed 004)."""
        from nanomem_tui.tiers.semantic import Memory

        return Memory(lambda: self.records)

    @property
    def knowledge_base(self) -> AsyncKnowledgeBase:
        """The documents for a program with an event loop (seed 004)."""
        from nanomem_tui.tiers.semantic import KnowledgeBase

        return KnowledgeBase(lambda: self.knowledge)

    @cached_property
    def operational(self) -> Operational:
        """What happens now."""
        from nanomem_tui.tiers.operational import Operational

        return Operational(self.records, self.settings, self._forgotten)

    def _forgotten(self) -> Forgotten:
        return forgotten.load(self.paths)

    @cached_property
    def collector(self) -> Collector:
        """What this machine does, where the settings ask for it."""
        from nanomem_tui.tiers.operational import Collector

        return Collector(self.operational, self.settings)

    @cached_property
    def context(self) -> ContextAssembly:
        """What is to be known for a task, out of every tier."""
        from nanomem_tui.memory.recall.meaning import HYBRID
        from nanomem_tui.tiers.context import ContextAssembly
        from nanomem_tui.tiers.context import ContextSources as Sources

        meaning = (lambda: self.record_meaning) if self.settings.recall_backend in HYBRID else None
        sources = Sources(
            lambda: self.records, lambda: self.operational, lambda: self.engine, lambda: self.knowledge, meaning
        )
        return ContextAssembly(sources, self.settings)

    @cached_property
    def lifecycle(self) -> Lifecycle:
        """What becomes of records as they grow old."""
        from nanomem_tui.tiers.lifecycle import KIND, Lifecycle

        return Lifecycle(
            self.tier_database,
            self.id,
            self.paths.data,
            self.settings,
            self.perform,
            self.store.settle,
            lambda: self.store.journal.newest(KIND, "compaction"),
        )

    @cached_property
    def inbox(self) -> QuarantinedRows:
        """Quarantined items and lessons; `triage` has all that needs a decision, `quarantine` edits of Dreams too."""
        from nanomem_tui.memory.quarantined_rows import QuarantinedRows

        return QuarantinedRows(self.store, self.perform)

    @cached_property
    def sessions(self) -> Sessions:
        """The agent's conversations."""
        from nanomem_tui.memory.sessions.sessions import ImportedChats, Sessions

        own = own_sessions_folder(self.paths, self.store.workspace_id)

        def archive(key: str, removed: int, actor: Actor) -> None:
            self.consolidator.archive_first(key, removed, actor=actor)

        imported = ImportedChats(self.store)
        return Sessions(self.paths, lambda: self.layout, self.perform, self.agent, imported, own, archive)

    @cached_property
    def wal(self) -> WalStates:
        """WAL state files of the scoped system."""
        from nanomem_tui.memory.turns.wal_states import WalStates

        return WalStates(self.paths, self.settings.wal_state_dir, self.traces)

    @cached_property
    def history(self) -> History:
        """The archive of summaries."""
        from nanomem_tui.memory.sessions.archive import History

        return History(self.paths, self.read_to)

    def read_to(self) -> ReadTo | None:
        """Up to which entry the last Dream of ours read; None where no operation says so."""
        from nanomem_tui.agents.archive import ReadTo

        for entry in self.store.journal.log(100, key=DREAM_CURSOR):
            if entry.operation.kind in ("dream.run", "dream.pass") and not entry.undone:
                said = entry.operation.meta.get("read_to")
                return ReadTo(*said) if isinstance(said, list | tuple) and len(said) == len(ReadTo._fields) else None
        return None

    @cached_property
    def history_changes(self) -> HistoryChanges:
        """The archive migrated and compacted."""
        from nanomem_tui.memory.sessions.archive_changes import HistoryChanges

        return HistoryChanges(self.paths, self.documents, self.perform, self.agent)

    @cached_property
    def notes(self) -> Notes:
        """Daily notes and Markdown mirrors."""
        from nanomem_tui.memory.notes import Notes

        return Notes(self.paths)

    @cached_property
    def conversations(self) -> Conversations:
        """What was said and noted, recalled by passages."""
        from nanomem_tui.memory.recall.conversations import Conversations
        from nanomem_tui.memory.recall.meaning import HYBRID

        hybrid = self.settings.recall_backend in HYBRID and self.settings.embedding_backend != "endpoint"
        vectors = (lambda: self.passage_vectors) if hybrid else None
        return Conversations(self.sessions, self.history, self.notes, vectors)

    @cached_property
    def reach(self) -> ExcerptSearch:
        """What a model is told of conversations, archive and notes, by who asks."""
        from nanomem_tui.memory.recall.excerpts import ChatPassages, ExcerptSearch

        chats = ChatPassages(self.sessions, self.history, self.paths)
        return ExcerptSearch(
            lambda: self.conversations, chats, self.settings, self.id, lambda: forgotten.load(self.paths)
        )

    @cached_property
    def passage_vectors(self) -> PassageVectors:
        """The vectors of what was said and noted; no endpoint is sent whole conversations."""
        from nanomem_tui.vectors.collection import PassageVectors

        return PassageVectors(self.meaning.maker, self.paths.vectors)

    @cached_property
    def documents(self) -> FileLayer:
        """SOUL.md, USER.md and MEMORY.md."""
        from nanomem_tui.store.files.layer import FileLayer

        return FileLayer(self.paths, self.git, perform=self.perform)

    @cached_property
    def transfer(self) -> Transfer:
        """Import and export."""
        from nanomem_tui.memory.transfer.service import Transfer

        def former_values(facts: Sequence[Item]) -> dict[str, list[dict[str, Any]]]:
            from nanomem_tui.memory.facts import facts as facts_facts

            return facts_facts.earlier_values(self.store, facts)

        return Transfer(
            self.store,
            self.paths,
            self.settings,
            self.perform,
            lambda: self.sessions,
            former_values,
            self.tier_database,
        )

    @cached_property
    def recall(self) -> Recall:
        """What a message brings back."""
        from nanomem_tui.memory.recall.recall import Recall

        return Recall(self.store, self.settings, lambda: self.meaning)

    @cached_property
    def meaning(self) -> SemanticSearch:
        """What is near in meaning."""
        from nanomem_tui.vectors.semantic_search import semantic_search_of

        return semantic_search_of(self.store, self.settings)

    @cached_property
    def traces(self) -> Traces:
        """What turns leave beside rows: counters, the injection log, recovered turns, transcripts of ours."""
        return Traces(self.paths, self.id, self.settings, lambda: self.layout.sessions_dir)

    @cached_property
    def engine(self) -> Engine:
        """The turns of an agent. Raises InvalidConfig when the session state cannot lie where the settings say."""
        from nanomem_tui.memory.turns.engine import Engine

        def compact(key: str) -> object:
            return self.sessions.compact_full(key, self.settings)

        return Engine(self.store, self.settings, self.recall, self.perform, self.traces, compact, lambda: self.reach)

    @cached_property
    def dream(self) -> Dreams:
        """Dream runs, their history and their restore."""
        from nanomem_tui.dreams.service import Dreams

        return Dreams(
            self.paths, self.git, self.documents, self.perform, self.agent, self.settings, self._blames,
            self.store.settle, partial(self._spent, "dream"), self.read_to,
        )  # fmt: skip

    @cached_property
    def consolidator(self) -> Consolidator:
        """Sessions summarised into the archive."""
        from nanomem_tui.dreams import session_archive as made

        ours = own_sessions_folder(self.paths, self.id)
        spent = partial(self._spent, "consolidate")
        given = (self.paths, self.sessions, self.perform, self.agent, self.settings, self.store.settle, spent, ours)
        return made.Consolidator(*given, lambda key: self.store.journal.is_taken_back(made.KIND, key))

    def _blames(self, git: Callable[[], GitHistory | None]) -> Blames:
        from nanomem_tui.dreams.blame import Blames

        def changes(file: str) -> list[Operation]:
            return [entry.operation for entry in self.store.journal.log(1_000_000, key=file)]

        return Blames(self.paths, git, self.documents, self.history, changes, lambda: self.sessions)

    def git(self) -> GitHistory | None:
        """Return the history of the memory files, None where there is none."""
        if not self.paths.is_versioned:
            return None
        from nanomem_tui.agents.git_history import GitHistory

        return GitHistory.open(self.paths)

    @cached_property
    def _watch(self) -> Watch:
        from nanomem_tui.memory.transfer import foreign
        from nanomem_tui.memory.turns import wal_states
        from nanomem_tui.store.files.presence import Watch

        state = wal_states.wal_folder(self.paths, self.settings.wal_state_dir)
        databases = foreign.find_databases(self.paths, self.settings)
        return Watch(
            self.paths,
            lambda: self.layout.sessions_dir,
            since=self._opened,
            state_folder=state,
            databases=databases,
        )

    def agent(self) -> Presence:
        """Return whether an agent runs on this workspace now."""
        from nanomem_tui.store.files import presence

        return presence.find_running_agent(self.paths, self.layout.sessions_dir)

    # -- the parts that ask a person ------------------------------------------------------------------------------

    @cached_property
    def quarantine(self) -> Quarantine:
        """What is quarantined: items, lessons and edits of Dreams."""
        from nanomem_tui.review.quarantine import Quarantine

        return Quarantine(self)

    @cached_property
    def triage(self) -> Inbox:
        """The inbox: everything that needs a person's decision."""
        from nanomem_tui.review.inbox import Inbox

        def find_all() -> Sequence[Finder]:
            from nanomem_tui.review.finders import finders

            return finders(self)

        return Inbox(self, self.quarantine, find_all)

    @cached_property
    def habits(self) -> Habits:
        """Bookmarks, named filters and macros of a person."""
        from nanomem_tui.store.files.user import Habits

        return Habits(self.paths)

    @cached_property
    def pairs(self) -> Pairs:
        """How memories stand to each other, for duplicates and conflicts."""
        from nanomem_tui.review.pairs import Pairs

        return Pairs(self.store)

    @cached_property
    def duplicates(self) -> Duplicates:
        """Items that say what another one says."""
        from nanomem_tui.memory.recall.meaning import HYBRID
        from nanomem_tui.review.duplicates import Duplicates, NearInMeaning
        from nanomem_tui.review.findings import Marks

        meaning = NearInMeaning(lambda: self.meaning) if self.settings.recall_backend in HYBRID else None
        return Duplicates(self.store, Marks(self.store).all, self.perform, meaning, self.pairs)

    @cached_property
    def scopes(self) -> Scopes:
        """Who sees what, what leaks, and items that move from one scope to another."""
        from nanomem_tui.review.leaks import Scopes

        return Scopes(self)

    @cached_property
    def moments(self) -> Moments:
        """The past: rows as they were at any moment, and the way back."""
        from nanomem_tui.review.moments import Moments

        return Moments(self)

    @cached_property
    def conflicts(self) -> Conflicts:
        """Memories that contradict each other."""
        from nanomem_tui.review.conflicts import Conflicts
        from nanomem_tui.review.findings import Marks

        return Conflicts(self.store, Marks(self.store), self.perform, self.id, self.pairs)

    # -- changing -------------------------------------------------------------------------------------------------

    def perform(self, operation: Operation, durable: bool = True) -> Operation:
        """Check, record and apply one operation; every change of every part goes through here.

        Not `durable`: a power cut may cost it until the next checkpoint, nothing else does.
        """
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
        self.store.layers[layer] = self._layer(layer)

    def _layer(self, name: str) -> Layer:
        """Return what applies changes of that kind. Raises NotFound for a kind that this release does not know."""
        if name == "file":
            return self.documents
        if name == "session":
            from nanomem_tui.agents.releases import named_folders
            from nanomem_tui.memory.sessions.files import SessionLayer

            ours = own_sessions_folder(self.paths, self.id)
            return SessionLayer(lambda: named_folders(self.paths, self.layout), self.paths.backups, self.agent, ours)
        if name == "history":
            from nanomem_tui.store.files.history import HistoryLayer

            return HistoryLayer(self.paths, self.agent)
        if name == "tier":
            from nanomem_tui.store.work.layer import TierLayer

            return TierLayer(self.tier_database)
        if name == "lifecycle":
            return self.lifecycle.layer
        if name == "pending":
            return self.traces.pending
        if name == "mirror":
            from nanomem_tui.memory.notes import MirrorLayer

            return MirrorLayer(self.paths)
        if name == "hunk":
            from nanomem_tui.dreams.review import StoredEditLayer

            return StoredEditLayer(self.paths)
        if name == "knowledge":
            return self.knowledge.layer
        raise NotFound("no such kind of thing", name, "it was written by a newer nanomem")

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
                    self.own_changes.next_undo(journal.find) if own else journal.first_answer(operation_log.undo_target)
                )
                if found is None:
                    break
                done.append(self._undo(found, keys))
            if not done:
                raise operation_log.no_more_own() if own else operation_log.nothing_to_undo(self.log(1_000))
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
        changes = self._inverse_of(operation.only(wanted))
        return self.perform(new_operation("undo", label, changes, undoes=operation.id, meta=meta))

    def _inverse_of(self, operation: Operation) -> Sequence[Change]:
        """Return the changes that take back an operation, with the headings that come or go with the lines under
        them."""
        from nanomem_tui.memory.undo import undo_changes

        changes = undo_changes(operation, self.store, self._newest_touching)
        if all(change.layer != "file" or change.key == DREAM_CURSOR for change in changes):
            return changes
        from nanomem_tui.dreams import edits as dreams_edits

        return [
            dreams_edits.undo_change(change, self.documents.read(change.key), self.dream.own_headings)
            if change.layer == "file" and change.key in TRACKED_FILES
            else change
            for change in changes
        ]

    def _newest_touching(self, key: str) -> Sequence[LogEntry]:
        """Return the newest operations that touched a thing; none where the server that has them is away."""
        try:
            return self.log(HISTORY, key=key)
        except StoreError:
            return ()

    def redo(self, count: int = 1, *, own: bool = False) -> list[Operation]:
        """Do again what was undone last, `count` times; `own`: only what this workspace object undid.

        Raises NothingToDo or Conflict.
        """
        with self.store.deciding.alone():
            done: list[Operation] = []
            journal = self.store.journal
            for _ in range(max(1, count)):
                undo = (
                    self.own_changes.next_redo(journal.find) if own else journal.first_answer(operation_log.redo_target)
                )
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
        if entry.operation.kind == operation_log.REPAIRED:
            raise operation_log.explain_repair(entry.operation)
        if operation_log.is_final(entry.operation):
            what = "nothing brings that back: it took texts out for good, or its own were taken out"
            raise NothingToDo(what, op_id, "`nanomem log` says which `forget` or `scrub` it was")
        if entry.operation.kind in operation_log.BOOKKEEPING:
            fix = "`nanomem redo` takes back the last undo; else name the operation that it undid"
            raise NotFound(f"that only says something about another operation ({entry.operation.kind})", op_id, fix)
        return entry

    def leading(self, work: str) -> AbstractContextManager[bool]:
        """Return whether this process does a piece of work for all that share the memory, on whichever machines; held
        until the end. Raises the store's errors."""
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
        """Return what the status bar shows: `dirty`, `last_at` (UTC ISO or empty), `last_ms`, `degraded`."""
        store = self.store
        return {"dirty": store.dirty, "last_at": store.last_at, "last_ms": store.last_ms, "degraded": store.degraded}

    def refresh(self) -> set[str]:
        """Return which layers changed on disk since the last call, or the opening; rows that others changed come into
        RAM."""
        changed = set(self._watch.changed_layers())
        if self.store.server is not None and self.tier_database.has_news():
            changed.add("tiers")
        rows = self.store.refresh()
        of_rows = {"items", "lessons", "records"}
        of_others = {"items"} if "foreign" in changed else set()  # rows of another system's database are listed too
        return (changed - of_rows - {"foreign"}) | (of_rows if rows else of_others)

    @property
    def degraded(self) -> str:
        """Why changes cannot be acknowledged now; empty when all is well."""
        return self.store.degraded

    def problems(self) -> list[Problem]:
        """Return what could not be read, of everything that was looked at so far."""
        from nanomem_tui.agents.releases import missing_sessions

        found = [*self.configuration.problems, *self.paths.problems(), *self.store.problems()]
        names = ("items", "sessions", "wal", "history", "notes", "documents", "engine", "meaning", "operational",
                 "record_meaning", "collector", "habits")  # fmt: skip
        found += filter(None, [missing_sessions(self.layout), unsupported_agent(self.layout)])
        parts: list[Any] = [*map(self.__dict__.get, names), self.store.layers.get("mirror")]
        for part in filter(None, parts):
            found += part.problems()
        return found

    def status(self) -> dict[str, Any]:
        """Return the object of `memory status`: counts of every part, checkpoint, agent and problems."""
        from nanomem_tui.status import status

        return status(self)

    def doctor(self) -> list[Problem]:
        """Return the health of every file and table. Reads only."""
        from nanomem_tui.dreams import run
        from nanomem_tui.memory import doctor as memory_doctor
        from nanomem_tui.review.finders import rows as finders_rows
        from nanomem_tui.tiers import lifecycle as tiers
        from nanomem_tui.tiers import operational as tiers_operational
        from nanomem_tui.vectors import semantic_search

        known = [*self.configuration.problems, *self.paths.problems(), *tiers_operational.missing_parts(self.settings)]
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
            partial(run.unfinished_problems, self),
            partial(semantic_search.find_problems, self.store, self.settings),
        )
        again = partial(finders_rows.forgotten_problems, self.paths, self.layout)
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
    """Return the free fields that an undo or a redo of an operation keeps: none of its commit message, which was its
    own."""
    return {name: value for name, value in operation.meta.items() if name in ("removed", "kept")}
