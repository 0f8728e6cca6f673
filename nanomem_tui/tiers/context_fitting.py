"""Which findings are given within a budget of tokens: the best first, none twice, a long one shortened; and the block
that a model is given of them, fenced and labelled as data, as the block of recall is.

Owns the budget, the reason for each finding that is left out, and the form of the block: what is in it is hostile, so
nothing can end the fence, begin a line of its own or hide a character, and what reads as an order is left out.

Two texts are near-duplicates when their letters agree to `NEAR` per cent (rapidfuzz, without case, width and white
space), and when the second one has no word that the first has not: at most a slip of one letter in a longer word, and
words that say nothing. Numbers, names and denials must be the same: `web-1` is never `web-2`, and `is not` never `is`.

One scale for what all tiers say of a task: how near it is to the words, how new, how important.

    match     = lexical + (1 - lexical) * nearness
    relevance = match * tier * (1 + 0.15 * recency + 0.15 * importance) / 1.3

`lexical`: the share of the task's words that a finding holds, each by how rare it is among the findings, a word less
where it stands once in a text that is long for its kind. `nearness`: in meaning, where that was asked. `recency` halves
in 30 days, by whole days, so that an answer stays the same for a day. Words that no finding holds count as much as the
others do on average. A finding that shares only common words with the task, and no more than half of its words, has no
bearing on it unless it is near in meaning. Owns the ranking; must not know where findings come from. Equal ones: the
newest first, then by source.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.text import clusters, counted, one_line, without_lone_surrogates
from nanomem_tui.language import injection
from nanomem_tui.language.statements import statement
from nanomem_tui.language.tokens import fold, query_weights, query_words, tokens
from nanomem_tui.memory.recall.recall import MAX_QUERY
from nanomem_tui.memory.safety import FENCE_CLOSE, FENCE_OPEN
from nanomem_tui.memory.turns.prompt import HEAD, LEFT_OUT, plain, plain_lines
from nanomem_tui.store.word_index import saturated

# What context assembly speaks of, as values: the task, what a tier has to say of it, what is given and what is not.

TIERS = ("operational", "working", "longterm", "knowledge")
"""What is searched, in this order."""
USUAL_TOKENS = 4_000
"""Tokens of context that are assembled for a task where nobody says how many."""
NAME_WEIGHT = 1.5
"""What a word counts that is part of a name: of a metric, a file, a host, an id, a thing in quotation marks."""
MOST_WORDS = 32
UNRELATED = "shares only common words with the task"
"""Why a finding that has no bearing on the task is left out."""
MARK = " […]"
"""Stands where a text was cut."""
_CONTEXT_VALUES_NAME = re.compile(r"[`'\"“«]([^`'\"”»\n]{2,60})[`'\"”»]|(?<!\w)(~?/?\w[\w.:/@%+-]*\w)")
_TELLING = re.compile(r"[_./:@+%-]|\d|[a-z][A-Z]")
Nothing: Mapping[str, Any] = MappingProxyType({})


class Task(NamedTuple):
    """What is to be done: its words with what each counts, as tokens; as they were written; and the names in it."""

    text: str
    words: Mapping[str, float]
    written: Mapping[str, str]
    names: tuple[str, ...]

    @property
    def question(self) -> str:
        """The words that tell most, those of names first and then the longest: an index looks up a dozen."""
        ranked = sorted(self.words, key=lambda word: (-self.words[word], -len(self.written.get(word, word))))
        return " ".join(self.written.get(word, word) for word in ranked)


class TierHit(NamedTuple):
    """What a tier has to say of a task. `said` is what is compared with others: the content without its time.

    `at`: UTC ISO; `importance` and `nearness` (in meaning, 0: not known) go from 0 to 1; `place` is where it stands,
    for what is not told by kind and id; `heading`: words above it that it is found by too.
    """

    tier: str
    kind: str
    id: str
    content: str
    said: str
    at: str = ""
    importance: float = 0.5
    nearness: float = 0.0
    place: str = ""
    heading: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What it is about: a record is one, in whatever tier it is, and a metric is one, whenever it was measured."""
        return self.kind, self.place if self.kind == "metric" else self.id

    @property
    def source(self) -> str:
        """Where it comes from, in a line: `working/decision/d0`, `knowledge/nginx.conf(5)#upstream`."""
        return one_line(f"{self.tier}/{self.place or f'{self.kind}/{self.id}'}")


class ContextChunk(NamedTuple):
    """A piece of context: where it comes from, what it says, its relevance from 0 to 1, its tokens.

    `whole`: the tokens of all that there is, where this was shortened, else 0. `parts`: what the relevance is made of.
    `why`: why it was found and is left out; empty for what is given.
    """

    source: str
    content: str
    relevance: float
    tokens: int
    tier: str
    kind: str
    id: str
    at: str = ""
    whole: int = 0
    parts: Mapping[str, Any] = Nothing
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the chunk as the command line prints it; of one that is left out only where it is from and why."""
        if self.why:
            return {"source": self.source, "relevance": self.relevance, "why": self.why}
        row = self._asdict() | {"whole": self.whole or None, "parts": dict(self.parts)}
        return {name: value for name, value in row.items() if value not in ("", None)}


class Context(NamedTuple):
    """The answer: chunks best first, their tokens together, never more than `max_tokens`, what counted them, what was
    left out, and what else is to be known, in words."""

    task: Task
    chunks: tuple[ContextChunk, ...]
    total_tokens: int
    max_tokens: int
    counted_by: str
    tiers: tuple[str, ...] = TIERS
    cut: tuple[ContextChunk, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def nothing(self) -> str:
        """Why there is no chunk, in a sentence; empty where there is one."""
        if self.chunks:
            return ""
        fitting = sum(one.why != UNRELATED for one in self.cut)
        if fitting:
            known = "1 thing is" if fitting == 1 else f"{fitting:,} things are"
            return f"{known} known for that task, and none fits into {counted(self.max_tokens, 'token')}: allow more."
        if self.cut:
            found = "1 thing" if len(self.cut) == 1 else f"Each of {len(self.cut):,} things"
            return f"Nothing is known for that task. {found} found shares only common words with it."
        return "Nothing is known for that task."

    def to_json(self) -> dict[str, Any]:
        """Return the answer as the command line prints it."""
        return {
            "chunks": [chunk.to_json() for chunk in self.chunks],
            "total_tokens": self.total_tokens,
            "max_tokens": self.max_tokens,
            "counted_by": self.counted_by,
            "tiers": list(self.tiers),
            "words": list(self.task.written.values()),
            "names": list(self.task.names),
            "cut": [one.to_json() for one in self.cut],
            "notes": list(self.notes),
        }


def read_task(text: str) -> Task:
    """Return what a person or an agent says is to be done, read. Raises BadInput where nothing is said."""
    text = without_lone_surrogates(text).strip()[:MAX_QUERY]
    if not text:
        raise BadInput("no task", "", "say what is to be done")
    names = list(dict.fromkeys(name for name in map(_name, _CONTEXT_VALUES_NAME.finditer(text)) if name))
    of_names = {token for name in names for token in tokens(name)}
    weights = query_weights(text, 4 * MOST_WORDS)
    words = {word: weight * (NAME_WEIGHT if word in of_names else 1.0) for word, weight in weights.items()}
    kept = sorted(words, key=lambda word: -words[word])[:MOST_WORDS]
    written = query_words(text, 4 * MOST_WORDS)
    return Task(
        text,
        {word: words[word] for word in words if word in kept},
        {word: said for word, said in written.items() if word in kept},
        tuple(names[:MOST_WORDS]),
    )


def _name(match: re.Match[str]) -> str:
    if match[1]:
        return match[1].strip()
    return match[2] if _TELLING.search(match[2]) else ""


def parse_tiers(names: Sequence[str]) -> tuple[str, ...]:
    """Return the tiers of these names, in their order; none given: all. Raises BadInput for one that there is not."""
    plain = {name: "".join(letter for letter in name.lower() if letter.isalpha()) for name in names}
    wrong = next((name for name, known in plain.items() if known not in TIERS), None)
    if wrong is not None:
        raise BadInput("no such tier", one_line(wrong, 40), f"one of {', '.join(TIERS)}")
    return tuple(tier for tier in TIERS if not names or tier in plain.values())


LEAST = 24
"""Tokens that a part of a finding has at least."""
SHARE = 0.5
"""Of the budget, that one finding may take while others wait."""
FLOOR = 0.05
"""Of the best relevance: what has less to do with the task is left out, whatever room there is."""
_ENDS = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")

Count = Callable[[str], int]


class Fitted(NamedTuple):
    """What is given, best first, and what is not."""

    chunks: list[ContextChunk]
    cut: list[ContextChunk]


class Budget:
    """Room for so many tokens. `cost`: the tokens of a finding of a source with that content."""

    def __init__(self, room: int, count: Count, cost: Callable[[str, str], int]) -> None:
        self.room = room
        self._most = max(LEAST, int(room * SHARE))
        self._count, self._cost = count, cost
        self._given: list[ContextChunk] = []
        self._cut: list[ContextChunk] = []
        self._said: list[ComparedText] = []
        self._keys: dict[tuple[str, str], str] = {}

    def fit(self, ranked: Sequence[Ranked]) -> Fitted:
        """Return the findings, best first, that there is room for."""
        least = max((one.relevance for one in ranked if one.is_related), default=0.0) * FLOOR
        for place, one in enumerate(ranked):
            alone = place + 1 == len(ranked)
            why = self._useless(one, least) or self._take(one, self.room if alone else min(self._most, self.room))
            if why:
                self._cut.append(_chunk(one, one.finding.content, why=why))
        self._lengthen(ranked)
        return Fitted(self._given, self._cut)

    def _useless(self, one: Ranked, least: float) -> str:
        """Return why a finding is not wanted though there may be room; empty when it is."""
        finding = one.finding
        if not one.is_related:
            return UNRELATED
        if one.relevance < least:
            return f"too little to do with the task: less than a twentieth of the best, which has {least / FLOOR:.2f}"
        if finding.key in self._keys:
            return f"the same as {self._keys[finding.key]}"
        if self.room < LEAST and self._given:
            return "the budget is full"
        found = read_text(finding.said)
        known = find_alike(found, self._said)
        if known is not None:
            place, share = known
            return f"says what {self._given[place].source} says ({share:.0f} % the same)"
        self._said.append(found)
        return ""

    def _take(self, one: Ranked, most: int) -> str:
        """Give a finding in at most that many tokens; why that cannot be."""
        made = self._made(one, most)
        if made is None:
            self._said.pop()
            whole = self._cost(one.finding.source, one.finding.content)
            return f"{counted(whole, 'token')}, and {self.room:,} are left" if whole > self.room else "no room"
        self.room -= self._cost(made.source, made.content)
        self._keys[one.finding.key] = made.source
        self._given.append(made)
        return ""

    def _made(self, one: Ranked, most: int) -> ContextChunk | None:
        found = one.finding

        def fits(text: str) -> bool:
            return self._cost(found.source, text) <= most

        content = found.content
        if not fits(content):
            content = shorten(content, one.parts["terms"], fits) if most >= LEAST else ""
        whole = self._count(found.content) if content != found.content else 0
        return _chunk(one, content, self._count(content), whole) if content else None

    def _lengthen(self, ranked: Sequence[Ranked]) -> None:
        """What was shortened for others that took less, or did not come, gets the room that is left."""
        found = {(one.finding.source, one.finding.id): one for one in ranked}
        for place, chunk in enumerate(self._given):
            if chunk.whole and self.room >= LEAST:
                cost = self._cost(chunk.source, chunk.content)
                longer = self._made(found[chunk.source, chunk.id], cost + self.room)
                more = self._cost(longer.source, longer.content) - cost if longer is not None else 0
                if longer is not None and more > 0:
                    self.room -= more
                    self._given[place] = longer


def _chunk(one: Ranked, content: str, tokens: int = 0, whole: int = 0, why: str = "") -> ContextChunk:
    found = one.finding
    about = (found.tier, found.kind, found.id, found.at)
    return ContextChunk(found.source, content, one.relevance, tokens, *about, whole, one.parts, why)


def shorten(text: str, terms: Collection[str], fits: Callable[[str], bool]) -> str:
    """Return the beginning of a text that `fits`, cut at the end of a line or a sentence, else within one, with a mark
    where it is cut. Where the first of the `terms` is behind the cut: its first line, and then from the sentence on
    that holds it. Empty where nothing fits."""
    pieces = _pieces(text)
    part = _beginning(pieces, "", fits)
    wanted = frozenset(terms)
    if wanted and not wanted & {*tokens(part)}:
        start = next((place for place, piece in enumerate(pieces) if wanted & {*tokens(piece)}), 0)
        heads = (f"{pieces[0].rstrip()}{MARK}\n", f"{MARK.strip()} ") if start else ()
        part = next((later for head in heads if (later := _beginning(pieces[start:], head, fits))), part)
    return part


def _pieces(text: str) -> list[str]:
    """A text in its lines and sentences, each with what ends it."""
    edges = [0, *(match.end() for match in _ENDS.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(edges) if end > start]


def _beginning(pieces: Sequence[str], mark: str, fits: Callable[[str], bool]) -> str:
    """As many pieces as fit, behind a mark; of the first one a part where not even that fits."""

    def upto(number: int) -> str:
        body = "".join(pieces[:number]).rstrip()
        return mark + body + (MARK if number < len(pieces) else "")

    many = bisect_right(range(1, len(pieces) + 1), False, key=lambda number: not fits(upto(number)))
    if many:
        return upto(many)
    letters = list(clusters(pieces[0])) if pieces else []

    def cut(number: int) -> str:
        body = "".join(letters[:number])
        words = body.rpartition(" ")[0]
        return mark + (words if len(words) > len(body) // 2 else body).rstrip() + MARK

    some = bisect_right(range(1, len(letters) + 1), False, key=lambda number: not fits(cut(number)))
    return cut(some) if some else ""


# -- what is said already ---------------------------------------------------------------------------------------------

NEAR = 90.0
"""Per cent of the letters that agree."""
SLIP = 5
"""Letters that a word has at least, in which one may differ."""
MOST = 4_000
"""Characters that are compared; of longer texts the rest has to be equal."""

_NUMBERS = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"[_/@\\]|\w[.:]\w|[a-z][A-Z]")
_SIGNS = ".,;:!?()[]{}<>\"'“”‘’«»"


class ComparedText(NamedTuple):
    """A text as it is compared: its letters, what must be the same, its words, and those that may be names."""

    folded: str
    telling: tuple[tuple[str, int], ...]
    words: frozenset[str]
    capital: frozenset[str]
    rest: str = ""


def read_text(text: str) -> ComparedText:
    """A text, read to be compared."""
    head = text[:MOST]
    telling: Counter[str] = Counter(_NUMBERS.findall(head))
    capital: list[str] = []
    before = "."
    for written in head.split():
        word = written.strip(_SIGNS)
        if word[:1].isupper():
            capital.append(word)
        if _NAME.search(word) or (word[:1].isupper() and before[-1] not in ".!?:"):
            telling[word.casefold()] += 1
        before = written
    telling["not"] = statement.denials(head)
    words = frozenset(word for word in tokens(head) if len(word) != 2 or word.isascii())
    return ComparedText(
        fold(head), tuple(sorted(telling.items())), words, frozenset(tokens(" ".join(capital))), text[MOST:]
    )


def find_alike(one: ComparedText, others: Sequence[ComparedText]) -> tuple[int, float] | None:
    """Return the first of the `others` that says what `one` says: its place, and the per cent of letters that agree."""
    from rapidfuzz import fuzz

    for place, other in enumerate(others):
        if one.telling != other.telling or one.rest != other.rest:
            continue
        share = fuzz.ratio(one.folded, other.folded, score_cutoff=NEAR)
        if share and _held(one, other):
            return place, share
    return None


def _held(one: ComparedText, other: ComparedText) -> bool:
    """Return whether the other holds every word of one, with at most a slip in each that is no name."""
    from rapidfuzz.distance import OSA

    more = [word for word in other.words - one.words - other.capital if len(word) >= SLIP]
    return all(
        len(word) >= SLIP
        and word not in one.capital
        and any(OSA.distance(word, near, score_cutoff=1) <= 1 for near in more)
        for word in one.words - other.words
    )


# -- the block that a model is given ----------------------------------------------------------------------------------

_PARTS = re.compile(r"[/#>]+")
"""What stands between the parts of a source."""
_BELOW = 400
"""Characters of a text that are read together with its heading."""
FRAME = f"{FENCE_OPEN}\n{HEAD}\n\n{FENCE_CLOSE}"
"""The block without anything in it."""


def render(chunks: Iterable[ContextChunk]) -> str:
    """Return the block of these chunks, best first; empty where there is none."""
    lines = [render_entry(chunk.source, chunk.content) for chunk in chunks]
    return "\n".join([FENCE_OPEN, HEAD, "", *lines, FENCE_CLOSE]) if lines else ""


@lru_cache(1024)
def render_entry(source: str, content: str) -> str:
    """One chunk in the block: where it comes from, and what it says, the lines after the first one indented."""
    said = LEFT_OUT if injection.reason(content) else plain_lines(content).replace("\n", "\n  ")
    tier = source.partition("/")[0]
    named = plain(source) if not _orders(source, content) else f"{tier}/{LEFT_OUT}" if tier in TIERS else LEFT_OUT
    return f"- [{named}] {said}"


def instructing_reason(source: str, content: str) -> str:
    """Return why a chunk reads as an order to a model, or where it comes from does; empty when neither does."""
    return injection.reason(content) or _orders(source, content)


def _orders(source: str, content: str) -> str:
    """Return why a source reads as an order, alone or with what stands below it: titles are hostile text too."""
    written = _PARTS.sub(" ", source)
    below = "" if injection.reason(content) else content[:_BELOW]
    return injection.reason(written) or injection.reason(f"{written} {below}")


# -- one scale for what all tiers say ---------------------------------------------------------------------------------

TIER_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"operational": 1.0, "working": 1.0, "longterm": 0.95, "knowledge": 0.9}
)
"""What a tier counts: what happens now a little more than what was, and that more than what stands in books."""
RECENCY, IMPORTANCE = 0.15, 0.15
HALF_LIFE = 30.0
"""Days after which a finding is half as new."""
MOST_SHARED = 0.5
"""The share of a task's words up to which common words alone make no connection."""
LEAST_NEAR = 0.2
"""The nearness in meaning from which on a finding needs no words of the task."""
MOST_READ = 8_000
"""Characters of a finding that are read for the words in it."""


class Ranked(NamedTuple):
    """A finding with its relevance (0 to 1), what that is made of, and whether it has a bearing on the task."""

    finding: TierHit
    relevance: float
    parts: Mapping[str, Any]
    is_related: bool = True


def rank(findings: Sequence[TierHit], words: Mapping[str, float], today: date) -> list[Ranked]:
    """Return the findings that have to do with the words or are near in meaning, best first."""
    held = [Counter(tokens(f"{one.heading}\n{one.said[:MOST_READ]}")) for one in findings]
    lengths = [sum(counts.values()) for counts in held]
    means = _means(findings, lengths)
    holders = Counter(word for counts in held for word in words if word in counts)
    many = len(findings)
    worth = {word: words[word] * math.log(1 + many / holders[word]) for word in words if holders[word]}
    unknown = sum(words[word] for word in words if not holders[word])
    known = sum(words[word] for word in worth)
    every = sum(worth.values()) * (1 + unknown / known) if known else 0.0
    ranked = []
    for one, counts, length in zip(findings, held, lengths, strict=True):
        mean = means[one.kind]
        terms = [word for word in worth if word in counts]
        found = sum(worth[word] * min(1.0, saturated(counts[word], length, mean)) for word in terms)
        lexical = found / every if every else 0.0
        match = lexical + (1 - lexical) * one.nearness
        if match > 0:
            made = _ranked(one, match, lexical, terms, today)
            ranked.append(made._replace(is_related=_is_related(one, terms, words)))
    ranked.sort(key=lambda entry: entry.finding.source)
    ranked.sort(key=lambda entry: entry.finding.at, reverse=True)
    return sorted(ranked, key=lambda entry: -entry.relevance)


def _is_related(one: TierHit, terms: Sequence[str], words: Mapping[str, float]) -> bool:
    """Return whether a finding is near in meaning, or shares a telling word or most words with the task."""
    if one.nearness >= LEAST_NEAR or not all(map(is_common, terms)):
        return True
    return sum(words[word] for word in terms) > MOST_SHARED * sum(words.values())


def _means(findings: Sequence[TierHit], lengths: Sequence[int]) -> dict[str, float]:
    sums: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    for one, length in zip(findings, lengths, strict=True):
        sums[one.kind] += length
        numbers[one.kind] += 1
    return {key: max(1.0, sums[key] / number) for key, number in numbers.items()}


def _ranked(one: TierHit, match: float, lexical: float, terms: Sequence[str], today: date) -> Ranked:
    tier, new = TIER_WEIGHTS[one.tier], _recency(one.at, today)
    whole = 1 + RECENCY + IMPORTANCE
    relevance = match * tier * (1 + RECENCY * new + IMPORTANCE * one.importance) / whole
    parts: dict[str, Any] = {
        "lexical": round(lexical, 4),
        "vector": round(one.nearness, 4),
        "recency": round(new, 4),
        "importance": round(one.importance, 4),
        "tier": tier,
        "terms": tuple(terms),
    }
    if not one.nearness:
        del parts["vector"]
    return Ranked(one, round(min(1.0, relevance), 4), MappingProxyType(parts))


def _recency(at: str, today: date) -> float:
    """1 for what is of today, half of it after `HALF_LIFE` days; 0 for what has no time."""
    try:
        days = max(0, (today - date.fromisoformat(at[:10])).days)
    except ValueError:
        return 0.0
    return float(0.5 ** (days / HALF_LIFE))


# -- words that are too common to connect a text with a task ----------------------------------------------------------

# General words of English, those of a calendar, and the verbs that say what is asked for and not of what.
_GENERAL = """
able access act action actual actually add additional age ago allow almost alone along already always among amount
another answer anyone anything appear approximately area around attempt attention available average away
bad base basic become begin behind believe best better big bit bring bunch
call care case cause certain certainly chance change clear clearly close come common complete completely condition
consider contain continue correct couple course current currently
deal decide deep degree detail develop die different difficult direct direction double due
early easy edge effect effort either else end enough entire especially even ever every everyone everything exactly
example except expect experience extra
fact fall far fast feel felt few field final finally fine finish first five follow force form former forward found four
free full further future
general generally get give given go goal gone good great group grow guess guy
half hand happen happy hard head hear heart help high hold hope hour however huge human
idea important include increase individual information inside instead interest involve issue item
join kind know known
large last late later lead learn least leave left less let level life like likely limited line little live local long
look lose lot love low
main major make many mark matter maybe mean meet mention middle mind minute miss moment month move much must
name natural near nearly necessary need never new next nice nine none normal nothing notice number
obviously occur offer often okay old one open option order original otherwise outside overall own
part particular particularly pass past people perfect perhaps period person personal piece place plan play point
position possible present pretty previous previously probably problem process produce provide pull purpose push
question quick quickly quite
range rather reach ready real really reason receive recent recently regular relate remain require rest result return
right role round rule run
said same saw say second see seem seen sense separate series serious set seven several share short side significant
similar simple simply since single situation six size slow slowly small somebody someone something sometimes soon sorry
sort sound special specific spend stand standard stage state stay step still stuff success successful sudden suddenly
support sure
take task ten term thank thing think third though thought three thus time together told took top total toward track true
try turn twice two type
understand unit unless upon use useful usual usually
various version via view
wait want way week well went whether whole wide within without word work world worse worst worth wrong
yeah year yes yet
"""
_CALENDAR = """
today tonight tomorrow yesterday day date morning noon afternoon evening night weekend monday tuesday wednesday thursday
friday saturday sunday january february march april june july august september october november december
"""
_ASKED = """
ask check create delete describe explain find fix handle improve keep list please prepare put read remember remind
remove review say schedule send show start stop suggest summarize tell update write
"""


def is_common(token: str) -> bool:
    """Return whether a token of `tokens` tells too little to connect a text with a task."""
    return (token.isdecimal() and len(token) < 3) or token in _common()


@lru_cache(1)
def _common() -> frozenset[str]:
    return frozenset(tokens(f"{_GENERAL} {_CALENDAR} {_ASKED}"))
