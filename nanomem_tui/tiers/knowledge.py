"""The knowledge base: documents in chunks, added, brought up to date, searched, taken away; each change undoable.

Owns what adding again changes, and what a sync looks at. The pages of this package need no adding: they are read into
memory when something is searched. Must not know a format, nor how hits are ranked.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui import clock
from nanomem_tui.errors import BadInput, NanomemError, NotFound, NothingToDo, Problem
from nanomem_tui.operations import Actor, Change, Operation, Perform, new_operation
from nanomem_tui.store import blobs, knowledge_rows
from nanomem_tui.store.atomic import sha256
from nanomem_tui.store.knowledge_index import shelf_of
from nanomem_tui.store.knowledge_values import KINDS, Chunk, Document, KnowledgeDocument, KnowledgeHit
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_store import TierStore
from nanomem_tui.text import counted, quoted
from nanomem_tui.tiers import knowledge_files, knowledge_manuals, knowledge_packages
from nanomem_tui.tiers.knowledge_files import Found
from nanomem_tui.tiers.knowledge_layer import NAME, KnowledgeLayer, Tell, content_hash, pack, quiet, value_of
from nanomem_tui.tiers.knowledge_search import search
from nanomem_tui.tokens import tokens

OURS = "nanomem"
"""The kind of the pages of this package, and the word that asks for them."""
MOST_UNREAD = 2_000
"""Places that could not be read and are remembered, the newest."""
_MANUAL = re.compile(r"\(([0-9nl]\w*)\)$")
LONGEST_QUESTION = 4_000
"""Characters of a question that are looked at."""


class Added(NamedTuple):
    """What adding came to: the operation (None: nothing changed), how many documents are new, changed and as they were,
    and what could not be read."""

    operation: Operation | None
    new: tuple[KnowledgeDocument, ...]
    changed: tuple[KnowledgeDocument, ...]
    unchanged: int
    problems: tuple[Problem, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The counts and documents as the command line prints them."""
        return {
            "new": [document.to_json() for document in self.new],
            "changed": [document.to_json() for document in self.changed],
            "unchanged": self.unchanged,
            "problems": [problem.to_json() for problem in self.problems],
        }


class Contents(NamedTuple):
    """What the documents that were added are: how many of each kind, of which manual sections, packages and folders,
    when they were last read, and what could not be read, with the reason by place."""

    documents: int
    chunks: int
    kinds: Mapping[str, int]
    sections: Mapping[str, int]
    packages: tuple[str, ...]
    folders: tuple[str, ...]
    last_read: str
    unread: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """The contents as the command line prints them."""
        unread = [{"where": where, "why": why} for where, why in self.unread.items()]
        return {**self._asdict(), "unread": unread}


class KnowledgeBase:
    """The documents of one workspace."""

    def __init__(
        self,
        database: TierStore,
        workspace_id: str,
        backups: Path,
        perform: Perform,
        settle: Callable[[], None],
    ) -> None:
        """`settle` finishes what a killed process left half done."""
        self._settle = settle
        self.layer = KnowledgeLayer(database, workspace_id, backups)
        self._database = database
        self._workspace_id = workspace_id
        self._backups = backups
        self._perform = perform
        self._own: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    # -- looking ------------------------------------------------------------------------------------------------------

    def search(
        self, query: str, n_results: int = 5, sources: Sequence[str] = (), *, own: bool | None = None
    ) -> list[KnowledgeHit]:
        """Return the chunks that answer a question best, best first, each with a score from 0 to 1.

        `sources`: kinds of documents (KINDS), none: all. `own`: whether the pages of this package are searched; None:
        only where the question names nanomem or `sources` does, as examples in them would answer anything. Raises
        BadInput for a kind that does not exist.
        """
        for kind in sources:
            if kind not in KINDS:
                raise BadInput("no such source", kind, f"one of {', '.join(KINDS)}")
        question = query[:LONGEST_QUESTION]
        if own is None:
            own = OURS in sources or OURS in tokens(question)
        is_wanted = own and (not sources or OURS in sources)
        with self._own_pages() if is_wanted else nullcontext() as pages:  # they take some tenths of a second to read
            shelves = [shelf_of(pages, "")] if pages is not None else []
            if not self._database.exists:
                return search(shelves, question, n_results, sources)

            def look(connection: Connection) -> list[KnowledgeHit]:
                kept = shelf_of(connection, self._workspace_id)
                return search([kept, *shelves], question, n_results, sources)

            return self._database.read(look)

    def documents(self, *, own: bool = True) -> list[KnowledgeDocument]:
        """Every document: those that were added, in their order, then the pages of this package."""
        kept = self._kept()
        if not own:
            return kept
        with self._own_pages() as pages:
            return [*kept, *knowledge_rows.documents(pages, "")]

    def contents(self) -> Contents:
        """Return what the documents that were added are."""
        kept = self._kept()
        sections = [match[1] for one in kept if one.kind == "man" and (match := _MANUAL.search(one.title))]
        folders = {str(one.meta["of"]) for one in kept if one.kind == "file" and "of" in one.meta}
        return Contents(
            len(kept),
            sum(one.chunks for one in kept),
            dict(Counter(one.kind for one in kept).most_common()),
            dict(sorted(Counter(sections).items())),
            tuple(sorted({name for one in kept if (name := _package(one))})),
            tuple(sorted(folders)),
            max((one.checked_at for one in kept), default=""),
            self._unread(),
        )

    def _unread(self) -> dict[str, str]:
        if not self._database.exists:
            return {}
        return self._database.read(lambda connection: knowledge_rows.unread(connection, self._workspace_id))

    def is_untouched(self) -> bool:
        """Whether nobody has added or taken away a document, nor declined to index what is installed."""
        if not self._database.exists:
            return True

        def look(connection: Connection) -> bool:
            return knowledge_rows.is_empty(connection, self._workspace_id) and not (
                knowledge_rows.is_declined(connection, self._workspace_id)
                or knowledge_rows.removed(connection, self._workspace_id)
            )

        return self._database.read(look)

    def decline(self) -> None:
        """Remember that somebody declined to index what is installed."""
        self._database.write(lambda connection: knowledge_rows.note_declined(connection, self._workspace_id))

    def get(self, document_id: str) -> KnowledgeDocument:
        """The document of that id, of the one id that begins so, or of that title. Raises NotFound or BadInput."""
        every = self.documents()
        found = [one for one in every if document_id in {one.id, one.title}]
        found = found or [one for one in every if document_id and one.id.startswith(document_id)]
        if len(found) > 1:
            raise BadInput(f"{counted(len(found), 'document')} begin so", document_id, "write more of the id")
        if not found:
            raise NotFound("no such document", document_id, "see `nanomem knowledge list`")
        return found[0]

    def chunks(self, document_id: str) -> list[tuple[str, Chunk]]:
        """The chunks of a document with their ids, in its order. Raises NotFound or BadInput."""
        one = self.get(document_id)
        if one.kind == OURS:
            with self._own_pages() as pages:
                return knowledge_rows.chunks(pages, "", one.id)
        return self._database.read(lambda connection: knowledge_rows.chunks(connection, self._workspace_id, one.id))

    def _kept(self) -> list[KnowledgeDocument]:
        if not self._database.exists:
            return []
        return self._database.read(lambda connection: knowledge_rows.documents(connection, self._workspace_id))

    @contextmanager
    def _own_pages(self) -> Any:
        """The pages of this package in memory, for one at a time."""
        with self._lock:
            if self._own is None:
                made = knowledge_rows.in_memory()
                for page in knowledge_files.own_pages():
                    knowledge_rows.put(made, "", _described(page, None, {}), page.chunks)
                self._own = made
            yield self._own

    # -- changing -----------------------------------------------------------------------------------------------------

    def add(
        self, found: Found, label: str = "", *, tell: Tell = quiet, dry_run: bool = False, actor: Actor = "human"
    ) -> Added:
        """Keep documents; of one that is there only what changed is written. One operation for all of them.

        `tell` is told how far it is. `dry_run`: nothing goes to the backups.
        """
        if not dry_run:
            self._settle()
        before = {one.id: one for one in self._kept()}
        wanted = {document_id(one): one for one in found.documents}
        fresh = {key: one for key, one in wanted.items() if key not in before or before[key].hash != content_hash(one)}
        unchanged = len(wanted) - len(fresh)
        places: dict[str, list[Any]] = {}
        for data, documents in pack(list(fresh.values())):
            name = sha256(data) if dry_run else blobs.put(self._backups, data)
            places |= {document_id(one): [name, part] for part, one in enumerate(documents)}
        after = {key: _described(one, before.get(key), {"kept": places[key]}) for key, one in fresh.items()}
        changes = [
            Change(NAME, key, value_of(before[key]) if key in before else None, value_of(one))
            for key, one in after.items()
        ]
        operation = None
        if changes:
            done = new_operation("knowledge", label or _label(after, before), changes, actor=actor)
            with self._telling(tell):
                operation = self._perform(done)
            if any(map(_package, after.values())) and not any(map(_package, before.values())) and not dry_run:
                self._note_packages()
        if not dry_run:
            self._note_unread(found)
        new = tuple(one for key, one in after.items() if key not in before)
        changed = tuple(one for key, one in after.items() if key in before)
        return Added(operation, new, changed, unchanged, tuple(found.problems))

    def add_text(
        self, text: str, source: str, title: str = "", *, dry_run: bool = False, actor: Actor = "human"
    ) -> Added:
        """Keep a text with where it is from: a solution that proved useful. One with the same title is replaced.

        Raises BadInput.
        """
        document = knowledge_files.text_document(text, source, title)
        return self.add(Found([document], []), dry_run=dry_run, actor=actor)

    def remove(self, ids: Sequence[str]) -> Operation:
        """Take documents away; no sync brings them back. Raises NotFound or BadInput."""
        self._settle()
        found = {one.id: one for one in map(self.get, ids)}
        for one in found.values():
            if one.kind == OURS:
                raise BadInput("a page of nanomem itself stays", one.title, "search with --source to leave it out")
        if not found:
            raise NothingToDo("nothing was changed")
        titles = [one.title for one in found.values()]
        label = f"remove {quoted(titles[0])}" if len(titles) == 1 else f"remove {counted(len(titles), 'document')}"
        changes = [Change(NAME, key, value_of(one), None) for key, one in found.items()]
        return self._perform(new_operation("knowledge", f"{label} from the knowledge base", changes))

    def sync(self, *, tell: Tell = quiet, dry_run: bool = False) -> Added:
        """Bring the knowledge base up to date: files that changed are read again, and what is new is added of folders,
        of packages where one was added before (those installed since), and of man pages where all were added before.

        What somebody took away stays away; a document whose file is gone stays, and is told.
        """
        if not dry_run:
            self._settle()
        kept = self._kept()
        found = Found([], [])
        gone = self._read_again(kept, found, tell)
        for folder in sorted({one.meta["of"] for one in kept if one.kind == "file" and "of" in one.meta}):
            _take(found, lambda folder=folder: knowledge_files.added(Path(folder)), folder)
        if any(one.meta.get("of") == knowledge_manuals.ALL for one in kept):
            _take(found, lambda: knowledge_manuals.every(tell), "man pages")
        packages = {name for one in kept if (name := _package(one))}
        if packages:
            known = self._database.read(lambda connection: knowledge_rows.packages(connection, self._workspace_id))
            _take(found, lambda: knowledge_packages.news(packages, known, tell), "packages")
        removed = self._removed()
        wanted = Found([one for one in found.documents if document_id(one) not in removed], found.problems)
        done = self.add(wanted, "bring the knowledge base up to date", tell=tell, dry_run=dry_run)
        if self._database.exists and not dry_run:
            now, ids = clock.iso(clock.now()), [one.id for one in kept if one.id not in gone]

            def compared(connection: Connection) -> None:
                knowledge_rows.begin(connection, self._workspace_id)  # a newer release may cut words in another way
                knowledge_rows.checked(connection, self._workspace_id, ids, now)

            self._database.write(compared)
            if packages:
                self._note_packages()
        return done

    def _read_again(self, kept: Sequence[KnowledgeDocument], found: Found, tell: Tell) -> set[str]:
        """Read the files of documents again; the ids of those whose file is gone."""
        gone: set[str] = set()
        for number, one in enumerate(kept):
            tell("Reading again", number, len(kept))
            path = one.meta.get("path")
            if not path or (one.kind == "package"):
                continue
            try:
                if one.kind == "man":
                    found.documents.append(_as_before(knowledge_manuals.reread(Path(path)), one))
                elif one.kind == "page":
                    found.documents.append(knowledge_files.saved_page(Path(path)))
                elif "of" not in one.meta:
                    found.documents.extend(knowledge_files.added(Path(path)).documents)
                elif not os.path.exists(path):
                    raise NotFound("no such file", path)
            except NanomemError as error:
                gone.add(one.id)
                fix = f"nanomem knowledge remove {one.id}"
                found.problems.append(Problem(f"cannot be read again ({error.what})", path, None, fix, "warning"))
        return gone

    def _note_unread(self, found: Found) -> None:
        """Remember what could not be read; what could be read now is no longer part of it."""
        before = self._unread()
        read = {str(one.meta.get("path", "")) for one in found.documents}
        unread = {where: why for where, why in before.items() if where not in read}
        unread |= {problem.where: problem.what for problem in found.problems}
        if unread != before:
            kept = dict(list(unread.items())[-MOST_UNREAD:])
            self._database.write(lambda connection: knowledge_rows.note_unread(connection, self._workspace_id, kept))

    def _note_packages(self) -> None:
        names = knowledge_packages.installed()
        self._database.write(lambda connection: knowledge_rows.note_packages(connection, self._workspace_id, names))

    def _removed(self) -> set[str]:
        if not self._database.exists:
            return set()
        return self._database.read(lambda connection: knowledge_rows.removed(connection, self._workspace_id))

    @contextmanager
    def _telling(self, tell: Tell) -> Any:
        self.layer.tell = tell
        try:
            yield
        finally:
            self.layer.tell = quiet


def document_id(document: Document) -> str:
    """The id of a document: made of where it is from, so that the same one is found again."""
    from_where = document.source
    if document.kind == "solution":
        from_where = document.meta.get("said") or document.title
    name = f"{document.kind}\0{from_where}\0{document.meta.get('member', '')}"
    return f"kd_{hashlib.blake2b(name.encode('utf-8', 'replace'), digest_size=6).hexdigest()}"


def _described(document: Document, before: KnowledgeDocument | None, more: dict[str, Any]) -> KnowledgeDocument:
    now = clock.iso(clock.now())
    about = (document.title, document.source, document.about, content_hash(document), len(document.chunks))
    added_at = before.added_at if before else now
    return KnowledgeDocument(document_id(document), document.kind, *about, added_at, now, {**document.meta, **more})


def _as_before(document: Document, before: KnowledgeDocument) -> Document:
    """A document that was read again is a part of what it was a part of."""
    return document._replace(meta={**document.meta, **({"of": before.meta["of"]} if "of" in before.meta else {})})


def _package(one: KnowledgeDocument) -> str:
    """The package that a document was added as a part of; of others nothing."""
    part_of = str(one.meta.get("of", ""))
    return part_of.removeprefix(knowledge_packages.PART) if part_of.startswith(knowledge_packages.PART) else ""


def _take(found: Found, read: Any, what: str) -> None:
    """Add what is read; what was told when it was added needs no word with every sync."""
    try:
        more = read()
    except NanomemError as error:
        found.problems.append(Problem(error.what, what, severity="warning"))
        return
    found.documents.extend(more.documents)
    found.problems.extend(problem for problem in more.problems if problem.severity != "note")


def _label(after: dict[str, KnowledgeDocument], before: dict[str, KnowledgeDocument]) -> str:
    if len(after) == 1:
        key, one = next(iter(after.items()))
        verb, where = ("bring", "up to date in") if key in before else ("add", "to")
        return f"{verb} {quoted(one.title)} {where} the knowledge base"
    return f"add {counted(len(after), 'document')} to the knowledge base"
