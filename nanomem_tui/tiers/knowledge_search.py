"""The search of the knowledge base: which chunks answer a question best, of several shelves as if they were one.

A chunk is rated by BM25 over its text, its section and its title, and by how much of the question its whole document
holds. Words that most chunks hold are looked up only where nothing rarer is asked for. The score of a hit is the share
of the question that it holds, from 0 to 1, whatever the size of the shelves. Must not know a file.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from nanomem_tui.language.tokens import query_weights, query_words, tokens
from nanomem_tui.store.word_index import idf, trust
from nanomem_tui.store.work.search import Row, Shelf
from nanomem_tui.store.work.values import KnowledgeHit

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
    """The best chunks of all shelves, best first; of `kinds` of documents alone where they are named."""
    total = sum(shelf.count() for shelf in shelves)
    asked = _asked(shelves, question, total)
    wanted = _wanted(shelves, asked, total)
    rows = [row for shelf in shelves for row in shelf.best(wanted, kinds, CANDIDATES)]
    return _with_shares(_spread(_rated(rows, asked), limit), asked, len(query_weights(question)))


def _with_shares(hits: Sequence[KnowledgeHit], asked: Sequence[_Asked], words: int) -> list[KnowledgeHit]:
    """The hits with the share of the question that each holds as their score, never more than that of a better one.

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
    """The words of a question that some chunk holds, or holds the nearest one to."""
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
    """The words that one was probably meant to be; its last letter may stand there because of the slip alone."""
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
    """What each word of the question that a chunk holds is worth."""
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
    """The best `limit` hits, best first; what more of the same section and document says counts less each time, and
    what was said already, in a document that was added in another way, is no hit."""
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
