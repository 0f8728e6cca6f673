"""The parts of a workspace, each made when it is first used.

Owns which part needs which. Must not change anything or read more than paths and settings.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nanomem_tui import layers
from nanomem_tui.core import config, paths
from nanomem_tui.core.operations import Actor, Operation
from nanomem_tui.curation_parts import CurationParts
from nanomem_tui.memory.turns.injections import Traces, own_sessions_folder
from nanomem_tui.store import forgotten
from nanomem_tui.store.forgotten import Forgotten
from nanomem_tui.store.memory_store import MemoryStore

if TYPE_CHECKING:
    from nanomem_tui.agents.archive import ReadTo
    from nanomem_tui.agents.git_history import GitHistory
    from nanomem_tui.agents.layout import Layout
    from nanomem_tui.dreams.blame import Blames
    from nanomem_tui.dreams.consolidate import Consolidator
    from nanomem_tui.dreams.service import Dreams
    from nanomem_tui.memory.facts.crystallize import Crystallizer
    from nanomem_tui.memory.facts.facts import Facts
    from nanomem_tui.memory.facts.journal import Journal, Reflections
    from nanomem_tui.memory.facts.search import MemorySearch
    from nanomem_tui.memory.facts.usage import Usage
    from nanomem_tui.memory.inbox import Inbox
    from nanomem_tui.memory.items import Items
    from nanomem_tui.memory.lessons import Lessons
    from nanomem_tui.memory.notes import Notes
    from nanomem_tui.memory.recall.conversations import Conversations
    from nanomem_tui.memory.recall.reach import Reach
    from nanomem_tui.memory.recall.recall import Recall
    from nanomem_tui.memory.sessions.archive import History
    from nanomem_tui.memory.sessions.archive_changes import HistoryChanges
    from nanomem_tui.memory.sessions.sessions import Sessions
    from nanomem_tui.memory.transfer.service import Transfer
    from nanomem_tui.memory.turn_log import WalStates
    from nanomem_tui.memory.turns.engine import Engine
    from nanomem_tui.model.client import Usage as Spent
    from nanomem_tui.store.files.layer import FileLayer
    from nanomem_tui.store.files.presence import Presence, Watch
    from nanomem_tui.store.operations import LogEntry
    from nanomem_tui.store.values import Item
    from nanomem_tui.store.work.records import WorkStore
    from nanomem_tui.tiers.collector import Collector
    from nanomem_tui.tiers.context import ContextAssembly
    from nanomem_tui.tiers.knowledge import KnowledgeBase
    from nanomem_tui.tiers.lifecycle import Lifecycle
    from nanomem_tui.tiers.operational import Operational
    from nanomem_tui.tiers.records import TierRecords
    from nanomem_tui.tiers.semantic import KnowledgeBase as AsyncKnowledgeBase
    from nanomem_tui.tiers.semantic import Memory
    from nanomem_tui.vectors.collection import PassageVectors
    from nanomem_tui.vectors.meaning import Meaning
    from nanomem_tui.vectors.records import RecordMeaning


class Parts(CurationParts):
    """What one agent's memory is composed of."""

    def __init__(self, found: paths.Paths, loaded: config.Loaded, opened: int) -> None:
        """`opened`: when the workspace was opened, in nanoseconds."""
        self.paths = found
        self.settings = loaded.settings
        self.configuration = loaded
        self.id = paths.workspace_id(found)
        self.store = MemoryStore(found, self.id, loaded.settings)
        self._opened = opened
        self._layout: tuple[object, Layout] | None = None

    @abstractmethod
    def perform(self, operation: Operation) -> Operation:
        """Check, record and apply one operation; every change of every part goes through here."""

    @abstractmethod
    def keep(self, operation: Operation, durable: bool) -> Operation:
        """Perform; not `durable`: a power cut may cost it until the next checkpoint, nothing else does."""

    @property
    def layout(self) -> Layout:
        """Which agent wrote this home, and where its sessions lie: an agent that begins, or that is upgraded, while
        this is open brings other folders."""
        from nanomem_tui.agents import layout as agents_layout
        from nanomem_tui.memory.turn_log import usual_or_named

        ours = own_sessions_folder(self.paths, self.id)
        stamp = agents_layout.sessions_stamp(self.paths, ours)
        if self._layout is None or self._layout[0] != stamp:
            found = agents_layout.detect(self.paths, usual_or_named(self.paths, self.settings.wal_state_dir))
            if found.sessions_dir is None and ours.is_dir():
                found = found._replace(sessions_dir=ours)
            self._layout = (stamp, found)
        return self._layout[1]

    @cached_property
    def items(self) -> Items:
        """Long-term items."""
        from nanomem_tui.memory import foreign
        from nanomem_tui.memory.items import Items

        items = Items(self.store, foreign.sources(self.paths, self.settings), self.perform, lambda: self.recall)
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
        """What was noted of days."""
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

    @cached_property
    def crystallizer(self) -> Crystallizer:
        """Facts out of what people said."""
        from nanomem_tui.memory.facts.crystallize import Crystallizer

        def spent(used: Spent) -> None:
            self.usage.spent("crystallize", used)

        return Crystallizer(self.store, self.paths, lambda: self.sessions, self.facts, spent)

    @cached_property
    def tier_database(self) -> WorkStore:
        """Where the records of an agent's work lie, and the knowledge base."""
        from nanomem_tui.store import takeover

        return takeover.open_work(self.paths, self.id, self.settings.database_url, self.settings.flush_interval_seconds)

    @cached_property
    def records(self) -> TierRecords:
        """What the agent recorded of its work."""
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

        old_files = self.paths.data / "operational" / self.id
        return Operational(self.records, self.settings, old_files, self.paths.quarantine, self._forgotten)

    def _forgotten(self) -> Forgotten:
        return forgotten.load(self.paths)

    @cached_property
    def collector(self) -> Collector:
        """What this machine does, where the settings ask for it."""
        from nanomem_tui.tiers.collector import Collector

        return Collector(self.operational, self.settings)

    @cached_property
    def context(self) -> ContextAssembly:
        """What is to be known for a task, out of every tier."""
        from nanomem_tui.memory.recall.meaning import HYBRID
        from nanomem_tui.tiers.context import ContextAssembly
        from nanomem_tui.tiers.context import Parts as Sources

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
    def inbox(self) -> Inbox:
        """What waits for a person."""
        from nanomem_tui.memory.inbox import Inbox

        return Inbox(self.store, self.perform)

    @cached_property
    def sessions(self) -> Sessions:
        """The agent's conversations."""
        from nanomem_tui.memory.sessions.imported import ImportedChats
        from nanomem_tui.memory.sessions.sessions import Sessions

        own = own_sessions_folder(self.paths, self.store.workspace_id)

        def archive(key: str, removed: int, actor: Actor) -> None:
            self.consolidator.archive_first(key, removed, actor=actor)

        imported = ImportedChats(self.store)
        return Sessions(self.paths, lambda: self.layout, self.perform, self.agent, imported, own, archive)

    @cached_property
    def wal(self) -> WalStates:
        """WAL state files of the scoped system."""
        from nanomem_tui.memory.turn_log import WalStates

        return WalStates(self.paths, self.settings.wal_state_dir, self.traces)

    @cached_property
    def history(self) -> History:
        """The archive of summaries."""
        from nanomem_tui.memory.sessions.archive import History

        return History(self.paths, self.read_to)

    def read_to(self) -> ReadTo | None:
        """Up to which entry the last Dream of ours read; None where no operation says so."""
        from nanomem_tui.agents.archive import ReadTo
        from nanomem_tui.core.paths import DREAM_CURSOR

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
    def reach(self) -> Reach:
        """What a model is told of conversations, archive and notes, by who asks."""
        from nanomem_tui.memory.recall.reach import ChatPassages, Reach

        chats = ChatPassages(self.sessions, self.history, self.paths)
        return Reach(lambda: self.conversations, chats, self.settings, self.id, lambda: forgotten.load(self.paths))

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

        def earlier(facts: Sequence[Item]) -> dict[str, list[dict[str, Any]]]:
            from nanomem_tui.memory.facts import facts as facts_facts

            return facts_facts.earlier(self.store, facts)

        return Transfer(
            self.store, self.paths, self.settings, self.perform, lambda: self.sessions, earlier, self.tier_database
        )

    @cached_property
    def recall(self) -> Recall:
        """What a message brings back."""
        from nanomem_tui.memory.recall.recall import Recall

        return Recall(self.store, self.settings, lambda: self.meaning)

    @cached_property
    def meaning(self) -> Meaning:
        """What is near in meaning."""
        from nanomem_tui.vectors.meaning import meaning_of

        return meaning_of(self.store, self.settings)

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

        return Engine(self.store, self.settings, self.recall, self.keep, self.traces, compact, lambda: self.reach)

    @cached_property
    def dream(self) -> Dreams:
        """Dream runs, their history and their restore."""
        return layers.dreams_of(self, self._blames)

    @cached_property
    def consolidator(self) -> Consolidator:
        """Sessions summarised into the archive."""
        from nanomem_tui.dreams import consolidate as made

        def spent(used: Spent) -> None:
            self.usage.spent("consolidate", used)

        ours = own_sessions_folder(self.paths, self.id)
        given = (self.paths, self.sessions, self.perform, self.agent, self.settings, self.store.settle, spent, ours)

        return made.Consolidator(*given, lambda key: self.store.journal.is_taken_back(made.KIND, key))

    def _blames(self, git: Callable[[], GitHistory | None]) -> Blames:
        from nanomem_tui.dreams.blame import Blames

        def changes(file: str) -> list[Operation]:
            return [entry.operation for entry in self.store.journal.log(1_000_000, key=file)]

        return Blames(self.paths, git, self.documents, self.history, changes, lambda: self.sessions)

    def git(self) -> GitHistory | None:
        """The history of the memory files, None where there is none."""
        if not self.paths.is_versioned:
            return None
        from nanomem_tui.agents.git_history import GitHistory

        return GitHistory.open(self.paths)

    @cached_property
    def _watch(self) -> Watch:
        return layers.watch_of(self, self._opened)

    def agent(self) -> Presence:
        """Whether an agent runs on this workspace now."""
        from nanomem_tui.store.files import presence

        return presence.look(self.paths, self.layout.sessions_dir)
