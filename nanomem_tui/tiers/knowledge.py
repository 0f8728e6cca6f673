"""The knowledge base: add, refresh, remove and search documents, which are kept in chunks.

Search rates a chunk by BM25 over its text, its section and its title, and by how much of the question its whole
document holds; several shelves are searched as one. Words that most chunks hold are looked up only where nothing rarer
is asked for. The score of a hit is the share of the question that it holds, from 0 to 1. Every change is one operation.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core import atomic, clock, files
from nanomem_tui.core.atomic import sha256
from nanomem_tui.core.errors import BadInput, Conflict, NanomemError, NotFound, NothingToDo, Problem, Refused
from nanomem_tui.core.operations import Actor, Change, Operation, Perform, Value, new_operation
from nanomem_tui.core.text import counted, quoted
from nanomem_tui.language.tokens import query_weights, query_words, tokens
from nanomem_tui.store.word_index import idf, trust
from nanomem_tui.store.work import knowledge as stored
from nanomem_tui.store.work.records import note, set_note
from nanomem_tui.store.work.search import Row, Shelf
from nanomem_tui.store.work.values import KINDS, Chunk, Document, KnowledgeDocument, KnowledgeHit
from nanomem_tui.store.work.work_store import WorkStore
from nanomem_tui.tiers import knowledge_sources as sources_of
from nanomem_tui.tiers.knowledge_sources import ALL_MANUALS, OF_PACKAGE, Found, ManualPage, Tell, no_progress

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from nanomem_tui.store.forgotten import Forgotten


K1, B = 0.9, 0.7
"""How soon a repeated word stops to count, and how much a long chunk is held back."""
TITLE, SECTION = 0.8, 0.5
"""What a word in the title, or in the section, adds to how often it is in the text."""
DOCUMENT = 0.3
"""What the words of the question that a document holds anywhere count beside those of the chunk itself."""
CANDIDATES = 500
"""Chunks that are rated, the best by the index alone."""
SAME_SECTION, SAME_DOCUMENT = 0.9, 0.85
"""What a chunk counts after another one of the same section, or of the same document."""
SPREAD = 60
"""Chunks beside those that are asked for that are looked at for that."""
SHARE = 0.5
"""What a word that means about the same counts beside the one that was asked for."""
COMMON = 5
"""A word that more than this part of all chunks holds finds none by itself, where a rarer one is asked for."""


class _Asked(NamedTuple):
    """A word of the question: how it was written, what it is worth, and what stands for it, each with its share."""

    written: str
    worth: float
    in_title: float
    variants: Mapping[str, float]


def search(shelves: Sequence[Shelf], question: str, limit: int, kinds: Sequence[str] = ()) -> list[KnowledgeHit]:
    """Return the best chunks of all shelves, best first; of `kinds` of documents alone where they are named."""
    total = sum(shelf.count() for shelf in shelves)
    asked = _asked(shelves, question, total)
    wanted = _wanted(shelves, asked, total)
    rows = [row for shelf in shelves for row in shelf.best(wanted, kinds, CANDIDATES)]
    return _with_shares(_spread(_rated(rows, asked), limit), asked, len(query_weights(question)))


def _with_shares(hits: Sequence[KnowledgeHit], asked: Sequence[_Asked], words: int) -> list[KnowledgeHit]:
    """Return the hits with the share of the question that each holds as their score, never more than that of a better
    one.

    Of `words` that no chunk holds each counts as the others do on average; a word said often counts once.
    """
    worth = {one.written: one.worth for one in asked}
    whole = sum(worth.values()) * words / max(1, len(worth))
    found, least = [], 1.0
    for hit in hits:
        held = sum(min(worth[word], part) for word, part in hit.parts.items() if word in worth)
        least = min(least, held / whole)
        factor = least / (sum(hit.parts.values()) or 1.0)
        parts = {name: round(part * factor, 4) for name, part in hit.parts.items()}
        found.append(hit._replace(score=round(least, 6), parts=parts))
    return found


def _rows_with(shelves: Sequence[Shelf], word: str) -> int:
    return sum(shelf.rows_with(word) for shelf in shelves)


def _asked(shelves: Sequence[Shelf], question: str, total: int) -> list[_Asked]:
    """Return the words of a question that some chunk holds, or holds the nearest one to."""
    written = query_words(question)
    documents = sum(shelf.documents() for shelf in shelves)
    found: dict[str, _Asked] = {}
    for word, weight in query_weights(question).items():
        known, share = word, 1.0
        variants = {other: SHARE for other in _alike().get(word, ()) if other != word and _rows_with(shelves, other)}
        if not _rows_with(shelves, word):
            near = _nearest(shelves, word) if not variants else set()
            if near:
                known = max(sorted(near), key=lambda one: _rows_with(shelves, one))
                share = trust(word)
            elif not variants:
                continue
        if _rows_with(shelves, known):
            variants[known] = share
        held = max(_rows_with(shelves, one) for one in variants)
        titled = max(sum(shelf.titles_with(one) for shelf in shelves) for one in variants)
        worth = weight * idf(total, held)
        found.setdefault(known, _Asked(written.get(word, word), worth, weight * idf(documents, titled), variants))
    return list(found.values())


def _nearest(shelves: Sequence[Shelf], word: str) -> set[str]:
    """Return the words that one was probably meant to be; its last letter may stand there because of the slip alone."""
    for written in (word, word.rstrip("e")):
        if near := {one for shelf in shelves if (one := shelf.nearest(written))}:
            return near
    return set()


def _wanted(shelves: Sequence[Shelf], asked: Sequence[_Asked], total: int) -> list[str]:
    held = {word: _rows_with(shelves, word) for one in asked for word in one.variants}
    by_rarity = sorted(held, key=lambda word: (held[word], word))
    return [word for word in by_rarity if held[word] * COMMON <= max(total, 50)] or by_rarity[:1]


def _rated(rows: Sequence[Row], asked: Sequence[_Asked]) -> list[KnowledgeHit]:
    wanted = {word for one in asked for word in one.variants}
    texts = [tokens(row.chunk.text) for row in rows]
    mean = max(1.0, sum(map(len, texts)) / max(1, len(texts)))

    @cache
    def held(text: str) -> frozenset[str]:
        return frozenset(tokens(text)) & wanted

    found: list[tuple[Row, dict[str, float]]] = []
    of_document: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row, text in zip(rows, texts, strict=True):
        times = Counter(word for word in text if word in wanted)
        heads = held(row.chunk.section), held(f"{row.title} {row.about}")
        parts = _parts(times, *heads, asked, 1 - B + B * len(text) / mean)
        of_document[row.document_id] |= Counter(parts)
        found.append((row, parts))
    hits = []
    for row, parts in found:
        told = {**parts, "whole document": DOCUMENT * sum(of_document[row.document_id].values())}
        at = (row.id, row.document_id, row.kind, row.title, row.source)
        shown = {name: round(part, 4) for name, part in told.items() if part}
        hits.append(KnowledgeHit(*at, *row.chunk, round(sum(told.values()), 6), shown))
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def _parts(
    times: Mapping[str, int], section: frozenset[str], title: frozenset[str], asked: Sequence[_Asked], length: float
) -> dict[str, float]:
    """Return what each word of the question that a chunk holds is worth."""
    parts: dict[str, float] = {}
    for one in asked:
        often = sum(
            share * (times.get(word, 0) / length + SECTION * (word in section)) for word, share in one.variants.items()
        )
        titled = max((share for word, share in one.variants.items() if word in title), default=0.0)
        if often or titled:
            parts[one.written] = one.worth * often * (K1 + 1) / (often + K1) + TITLE * one.in_title * titled
    return parts


def _spread(hits: Sequence[KnowledgeHit], limit: int) -> list[KnowledgeHit]:
    """Return the best `limit` hits, best first; what more of the same section and document says counts less each time,
    and what was said already, in a document that was added in another way, is no hit."""
    left = list(hits[: limit + SPREAD])
    chosen: list[KnowledgeHit] = []
    sections: Counter[tuple[str, str]] = Counter()
    documents: Counter[str] = Counter()
    said: set[tuple[str, str]] = set()

    def worth(hit: KnowledgeHit) -> float:
        again = SAME_SECTION ** sections[hit.document_id, hit.section] * SAME_DOCUMENT ** documents[hit.document_id]
        return hit.score * again

    while left and len(chosen) < limit:
        best = max(left, key=worth)  # of equal ones the first
        left.remove(best)
        if (best.section, best.text) in said:
            continue
        said.add((best.section, best.text))
        chosen.append(best._replace(score=round(worth(best), 6)))
        sections[best.document_id, best.section] += 1
        documents[best.document_id] += 1
    return chosen


# -- words that mean about the same ------------------------------------------------------------------------------------

_ALIKE = """
delete remove erase discard drop unlink
wipe shred overwrite destroy
folder directory
show display print list output
big large huge
bigger larger greater size
small little
shrink reduce truncate smaller
computer machine host system
remote server
program command process
task job
launch start begin
boot startup
stop halt terminate kill end quit abort
pause suspend
resume continue
restart reload reread
interrupted partial partially broken incomplete
password passphrase
change modify alter edit update
copy duplicate
clone mirror
find search locate look
download fetch retrieve
upload send transmit post
receive accept
upgrade update
move rename
rights permission access mode
allow permit grant
forbid deny prevent refuse prohibit block
user account
root superuser administrator
several multiple many
owner own
bandwidth rate speed throughput
slow delay
fast quick
memory ram
cpu processor core
disk drive
device partition
volume filesystem
schedule cron periodic
run execute invoke
same identical equal
different differ difference
compare diff
link connect connection
attach join
detach disconnect
tunnel forward
network interface
address ip
certificate cert
verify check validate
insecure invalid untrusted
secure encrypted
encrypt cipher
website site web
page document
recursive recursively tree
compress pack zip gzip
extract unpack decompress uncompress expand
archive tarball
priority nice niceness
lower decrease
higher increase raise grow
parallel concurrent concurrently simultaneous simultaneously
repeat duplicate
recent latest newest last
old older
previous earlier prior
later afterwards
backup save
undo revert restore
discard throw
automatic automatically
manual manually
log journal
message entry
limit restrict maximum
count number
ignore skip omit
hide suppress
keep retain preserve
temporary temp
put set
second other another
combine merge
squash fixup
split divide
part piece chunk
sort order
time clock
zone timezone
date day
background daemon
logout hangup hangup
login log
driver module
load insert
uninstall purge
configuration config settings
option flag switch
environment variable
error failure fail
exit status
quiet silent
line row
column field
character letter
text string
match pattern
regex regular
replace substitute
beginning start head
bottom tail
bigger exceed
space room
free available unused
used usage
capture dump sniff
packet traffic
listen listening
socket port
firewall filter
lock exclusive mutex
instance copy
wait block sleep
timeout duration
trace debug
child descendant
place location position
name label
bind assign affinity
unmount umount
symbolic symlink
immutable unchangeable
read view
permanent persistent
reboot restart
power shutdown
uncommitted dirty
bug regression
history past
"""
"""Words of documentation that mean about the same, a group on a line: a question asks to delete what a page tells how
to remove. Everyday words of computing, written for no document in particular."""


@cache
def _alike() -> Mapping[str, Mapping[str, None]]:
    """Tokens that mean about the same, by each of them."""
    alike: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for line in _ALIKE.split("\n"):
        stems = dict.fromkeys(tokens(line))
        for stem in stems:
            alike[stem] |= stems
    return alike


# The knowledge base: documents in chunks, added, brought up to date, searched, taken away; each change undoable.

OURS = "nanomem"
"""The kind of the pages of this package, and the word that asks for them."""
MOST_UNREAD = 2_000
"""Places that could not be read and are remembered, the newest."""
_MANUAL = re.compile(r"\(([0-9nl]\w*)\)$")
LONGEST_QUESTION = 4_000
"""Characters of a question that are looked at."""
NAME = "knowledge"
BATCH = 20
"""Documents that are written in one transaction, so that nobody who records something waits for a long addition."""
PACKED = 1_000_000
"""Characters of documents that are kept in one file of the backups."""


class AddedDocuments(NamedTuple):
    """What adding came to: the operation (None: nothing changed), how many documents are new, changed and as they were,
    and what could not be read."""

    operation: Operation | None
    new: tuple[KnowledgeDocument, ...]
    changed: tuple[KnowledgeDocument, ...]
    unchanged: int
    problems: tuple[Problem, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the counts and documents as the command line prints them."""
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
        """Return the contents as the command line prints them."""
        unread = [{"where": where, "why": why} for where, why in self.unread.items()]
        return {**self._asdict(), "unread": unread}


class KnowledgeBase:
    """The documents of one workspace."""

    def __init__(
        self,
        database: WorkStore,
        backups: Path,
        perform: Perform,
        settle: Callable[[], None],
        gone: Callable[[], Forgotten],
    ) -> None:
        """`settle` finishes what a killed process left half done; `gone`: what is forgotten, and kept out."""
        self._gone = gone
        self._settle = settle
        self.layer = KnowledgeLayer(database, backups)
        self._database = database
        self._backups = backups
        self._perform = perform
        self._own: Connection | None = None
        self._lock = threading.Lock()

    # -- looking ------------------------------------------------------------------------------------------------------

    def search(self, query: str, n_results: int = 5, sources: Sequence[str] = ()) -> list[KnowledgeHit]:
        """Return the chunks that answer a question best, best first, each with a score from 0 to 1.

        `sources`: kinds of documents (KINDS), none: all. The pages of this package are searched only where the question
        names nanomem or `sources` does, as examples in them would answer anything. Raises BadInput for a kind that does
        not exist.
        """
        for kind in sources:
            if kind not in KINDS:
                raise BadInput("no such source", kind, f"one of {', '.join(KINDS)}")
        question = query[:LONGEST_QUESTION]
        is_wanted = OURS in (sources or tokens(question))
        with self._own_pages() if is_wanted else nullcontext() as pages:  # they take some tenths of a second to read
            shelves = [Shelf(pages)] if pages is not None else []
            found = self._database.ask(lambda kept: search([Shelf(kept), *shelves], question, n_results, sources), None)
            return search(shelves, question, n_results, sources) if found is None else found

    def documents(self, *, own: bool = True) -> list[KnowledgeDocument]:
        """Return every document: those that were added, in their order, then the pages of this package."""
        kept = self._kept()
        if not own:
            return kept
        with self._own_pages() as pages:
            return [*kept, *stored.documents(pages)]

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

    def is_untouched(self) -> bool:
        """Return whether nobody has added or taken away a document, nor declined to index what is installed."""

        def load_rows(connection: Connection) -> bool:
            is_declined = note(connection, stored.DECLINED) is not None
            return not (stored.documents(connection) or is_declined or stored.removed(connection))

        return self._database.ask(load_rows, True)

    def decline(self) -> None:
        """Remember that somebody declined to index what is installed."""
        self._database.write(lambda connection: set_note(connection, stored.DECLINED, ""))

    def get(self, document_id: str) -> KnowledgeDocument:
        """Find a document by its id, the beginning of one, or its title. Raises NotFound or BadInput."""
        every = self.documents()
        found = [one for one in every if document_id in {one.id, one.title}]
        found = found or [one for one in every if document_id and one.id.startswith(document_id)]
        if len(found) > 1:
            raise BadInput(f"{counted(len(found), 'document')} begin so", document_id, "write more of the id")
        if not found:
            raise NotFound("no such document", document_id, "see `nanomem knowledge list`")
        return found[0]

    def chunks(self, document_id: str) -> list[tuple[str, Chunk]]:
        """Return the chunks of a document with their ids, in its order. Raises NotFound or BadInput."""
        one = self.get(document_id)
        if one.kind == OURS:
            with self._own_pages() as pages:
                return stored.chunks(pages, one.id)
        return self._database.read(lambda connection: stored.chunks(connection, one.id))

    def _kept(self) -> list[KnowledgeDocument]:
        return self._database.ask(stored.documents, [])

    def _unread(self) -> dict[str, str]:
        return self._database.ask(lambda connection: stored.noted(connection, stored.UNREAD), None) or {}

    @contextmanager
    def _own_pages(self) -> Any:
        """The pages of this package in memory, for one at a time."""
        with self._lock:
            if self._own is None:
                made = stored.in_memory()
                for page in sources_of.own_pages():
                    stored.put(made, _described(page, None, {}), page.chunks)
                self._own = made
            yield self._own

    # -- changing -----------------------------------------------------------------------------------------------------

    def add(
        self, found: Found, label: str = "", *, tell: Tell = no_progress, dry_run: bool = False, actor: Actor = "human"
    ) -> AddedDocuments:
        """Keep documents; of one that is there only what changed is written. One operation for all of them.

        `tell` is told how far it is. `dry_run`: nothing goes to the backups.
        """
        if not dry_run:
            self._settle()
        before = {one.id: one for one in self._kept()}
        wanted = {document_id(one): one for one in found.documents}
        fresh = {key: one for key, one in wanted.items() if key not in before or before[key].hash != content_hash(one)}
        unchanged = len(wanted) - len(fresh)
        if gone := self._gone():
            for key, one in list(fresh.items()):
                try:
                    gone.refuse([one.title, "\n".join(chunk.text for chunk in one.chunks)], one.source)
                except Refused as error:
                    found.left_out(error.what, one.source, fix=error.fix)
                    del fresh[key]
        places: dict[str, list[Any]] = {}
        for data, documents in pack(list(fresh.values())):
            name = sha256(data) if dry_run else atomic.put_blob(self._backups, data)
            places |= {document_id(one): [name, part] for part, one in enumerate(documents)}
        after = {key: _described(one, before.get(key), {"kept": places[key]}) for key, one in fresh.items()}
        changes = [
            Change(NAME, key, value_of(before[key]) if key in before else None, value_of(one))
            for key, one in after.items()
        ]
        operation = None
        if changes:
            done = new_operation("knowledge", label or _label(after, before), changes, actor=actor)
            self.layer.tell = tell
            try:
                operation = self._perform(done)
            finally:
                self.layer.tell = no_progress
            if any(map(_package, after.values())) and not any(map(_package, before.values())) and not dry_run:
                self._note_packages()
        if not dry_run:
            self._note_unread(found)
        new = tuple(one for key, one in after.items() if key not in before)
        changed = tuple(one for key, one in after.items() if key in before)
        return AddedDocuments(operation, new, changed, unchanged, tuple(found.problems))

    def add_text(
        self, text: str, source: str, title: str = "", *, dry_run: bool = False, actor: Actor = "human"
    ) -> AddedDocuments:
        """Keep a text with where it is from: a solution that proved useful. One with the same title is replaced.

        Raises BadInput.
        """
        document = sources_of.text_document(text, source, title)
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

    def sync(self, *, tell: Tell = no_progress, dry_run: bool = False) -> AddedDocuments:
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
            _take(found, partial(sources_of.read_path, Path(folder)), folder)
        if any(one.meta.get("of") == ALL_MANUALS for one in kept):
            _take(found, lambda: sources_of.all_manuals(tell), "man pages")
        packages = {name for one in kept if (name := _package(one))}
        if packages:
            known = self._database.read(lambda connection: stored.noted(connection, stored.PACKAGES))
            before = None if known is None else set(known)
            _take(found, lambda: sources_of.new_packages(packages, before, tell), "packages")
        removed: set[str] = self._database.ask(stored.removed, set())
        wanted = Found([one for one in found.documents if document_id(one) not in removed], found.problems)
        done = self.add(wanted, "bring the knowledge base up to date", tell=tell, dry_run=dry_run)
        if self._database.exists and not dry_run:
            now, read = clock.iso(clock.now()), {one.meta.get("path") for one in found.documents}
            gone |= {one.id for one in kept if one.kind == "man" and one.meta.get("path") not in read}
            ids = [one.id for one in kept if one.id not in gone]
            self._database.write(lambda connection: stored.set_checked(connection, ids, now))
            if packages:
                self._note_packages()
        return done

    def _read_again(self, kept: Sequence[KnowledgeDocument], found: Found, tell: Tell) -> set[str]:
        """Read the files of documents again; the ids of those whose file is gone."""
        gone: set[str] = set()
        pages: dict[Path, ManualPage] = {}
        for number, one in enumerate(kept):
            tell("Reading again", number, len(kept))
            path = one.meta.get("path")
            if not path or (one.kind == "package"):
                continue
            try:
                if one.kind == "man":
                    page = sources_of.manual_in(Path(path))
                    if one.meta.get("of") != ALL_MANUALS:  # those are read with all the others
                        pages[page.path] = page
                elif one.kind == "page":
                    found.documents.append(sources_of.saved_page(Path(path)))
                elif "of" not in one.meta:
                    found.documents.extend(sources_of.read_path(Path(path)).documents)
                elif not os.path.exists(path):
                    raise NotFound("no such file", path)
            except NanomemError as error:
                gone.add(one.id)
                fix = f"nanomem knowledge remove {one.id}"
                found.left_out(f"cannot be read again ({error.what})", path, fix=fix)
        again = sources_of.read_manuals(pages.values(), "", tell)
        before = {one.meta.get("path"): one for one in kept if one.kind == "man"}
        documents = [_as_before(page, before.get(page.meta["path"])) for page in again.documents]
        found.take(Found(documents, again.problems))
        return gone

    def _note_unread(self, found: Found) -> None:
        before = self._unread()
        read = {str(one.meta.get("path", "")) for one in found.documents}
        unread = {where: why for where, why in before.items() if where not in read}
        unread |= {problem.where: problem.what for problem in found.problems}
        if unread != before:
            kept = dict(list(unread.items())[-MOST_UNREAD:])
            self._database.write(lambda connection: stored.set_noted(connection, stored.UNREAD, kept))

    def _note_packages(self) -> None:
        names = sources_of.installed_packages()
        self._database.write(lambda connection: stored.set_noted(connection, stored.PACKAGES, names))


def document_id(document: Document) -> str:
    """Return the id of a document: made of where it is from, so that the same one is found again."""
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


def _as_before(document: Document, before: KnowledgeDocument | None) -> Document:
    """A document that was read again is a part of what it was a part of."""
    part_of = {"of": before.meta["of"]} if before is not None and "of" in before.meta else {}
    return document._replace(meta={**document.meta, **part_of})


def _package(one: KnowledgeDocument) -> str:
    part_of = str(one.meta.get("of", ""))
    return part_of.removeprefix(OF_PACKAGE) if part_of.startswith(OF_PACKAGE) else ""


def _take(found: Found, read: Callable[[], Found], what: str) -> None:
    """Add what is read; what was told when it was added needs no word with every sync."""
    try:
        more = read()
    except NanomemError as error:
        found.left_out(error.what, what)
    else:
        found.take(Found(more.documents, [problem for problem in more.problems if problem.severity != "note"]))


def _label(after: dict[str, KnowledgeDocument], before: dict[str, KnowledgeDocument]) -> str:
    if len(after) == 1:
        key, one = next(iter(after.items()))
        verb, where = ("bring", "up to date in") if key in before else ("add", "to")
        return f"{verb} {quoted(one.title)} {where} the knowledge base"
    return f"add {counted(len(after), 'document')} to the knowledge base"


# -- the layer of operations -------------------------------------------------------------------------------------------


def content_hash(document: Document) -> str:
    """Return what tells whether a document changed: what it says, and where each chunk stands."""
    body = [document.kind, document.title, document.about, [list(chunk) for chunk in document.chunks]]
    return sha256(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))[:32]


def pack(documents: Sequence[Document]) -> Iterator[tuple[bytes, Sequence[Document]]]:
    """Yield the documents in files for the backups, each with those that are in it, in order."""
    size = begins = 0
    for number, document in enumerate(documents, 1):
        size += sum(len(chunk.text) for chunk in document.chunks)
        if size >= PACKED or number == len(documents):
            held = documents[begins:number]
            body = [[list(chunk) for chunk in one.chunks] for one in held]
            yield zlib.compress(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"), 6), held
            size, begins = 0, number


def value_of(document: KnowledgeDocument) -> dict[str, Any]:
    """A document as a value of a change."""
    value = document._asdict()
    del value["id"], value["checked_at"]
    return value


class KnowledgeLayer:
    """How operations change documents."""

    name = NAME

    def __init__(self, database: WorkStore, backups: Path) -> None:
        self.tell: Tell = no_progress
        self._database = database
        self._backups = backups

    def check(self, changes: Sequence[Change]) -> None:
        """Raise Conflict when a document is not what a change starts from."""
        for found, change in self._found(changes):
            if found is None and change.before is not None:
                raise Conflict("the document is gone", change.key, "nothing was changed")
            if found is not None and change.before is None:
                raise Conflict("the document is there already", change.key, "nothing was changed")
            if found is not None and change.before is not None and found.hash != change.before["hash"]:
                fix = "look again, or undo the later change first: see `nanomem log`"
                raise Conflict("the document was changed since", change.key, fix)

    def begun(self, changes: Sequence[Change]) -> bool:
        """Return whether any document is as it is to be."""
        return any(_is(found, change.after) and not _is(found, change.before) for found, change in self._found(changes))

    def apply(self, operation: Operation, changes: Sequence[Change]) -> None:
        """Make every document what it is to be, some at a time; what is so already stays."""
        wanted = {} if operation.kind == "void" else {change.key: change for change in operation.changes}
        for at in range(0, len(changes), BATCH):
            self.tell("Indexing", at, len(changes))
            batch = [(change, self._chunks(change.after)) for change in changes[at : at + BATCH]]

            def write(connection: Connection, batch: list[tuple[Change, list[Chunk]]] = batch) -> None:
                for change, chunks in batch:
                    self._write(connection, change, chunks)
                    if wanted.get(change.key) == change:  # what could not be done took nothing away
                        gone = change.after is None
                        stored.mark_removed(connection, change.key, removed=gone)

            self._database.write(write, durable=at + BATCH >= len(changes))

    def _chunks(self, value: Value | None) -> list[Chunk]:
        if value is None:
            return []
        name, part = value["meta"]["kept"]
        return [Chunk(*chunk) for chunk in _kept_in(self._backups, str(name))[int(part)]]

    def _write(self, connection: Connection, change: Change, chunks: list[Chunk]) -> None:
        if change.after is None:
            stored.remove(connection, change.key)
        else:
            document = KnowledgeDocument(id=change.key, checked_at=clock.iso(clock.now()), **change.after)
            stored.put(connection, document, chunks)

    def _found(self, changes: Sequence[Change]) -> list[tuple[KnowledgeDocument | None, Change]]:
        def load_rows(connection: Connection) -> list[tuple[KnowledgeDocument | None, Change]]:
            return [(stored.document(connection, change.key), change) for change in changes]

        return self._database.ask(load_rows, [(None, change) for change in changes])


@lru_cache(1)
def _kept_in(backups: Path, name: str) -> list[Any]:
    """Return the documents of a file in the backups, each as its chunks. Raises BadInput."""
    try:
        found: list[Any] = files.loads(zlib.decompress(atomic.get_blob(backups, name)))
    except (zlib.error, ValueError) as error:
        raise BadInput("a recorded document is damaged", name) from error
    return found


def _is(found: KnowledgeDocument | None, value: Mapping[str, Any] | None) -> bool:
    if found is None or value is None:
        return found is None and value is None
    return found.hash == str(value["hash"])
