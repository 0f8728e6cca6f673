"""Recall: which items a message brings back, for whom, and why each one, or why not.

Owns the question and its answer: words, corrected spelling, backend, visibility before any cut, ranking by a profile,
caps and budget with the reason of every cut. Reads only: that an item was recalled is recorded by the turn.
"""

from __future__ import annotations

import contextlib
import heapq
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NanomemError
from nanomem_tui.core.settings import Settings
from nanomem_tui.language import cues, times_asked
from nanomem_tui.language.times_asked import Span, TimeAsked
from nanomem_tui.language.tokens import (
    alike,
    index_tokens,
    is_english,
    light_words,
    query_weights,
    query_words,
    search_weights,
    tokens,
)
from nanomem_tui.memory import retention
from nanomem_tui.memory.recall import scoring
from nanomem_tui.memory.recall.meaning import ByMeaning, Near, NearestItems
from nanomem_tui.memory.recall.scoring import MAX_DISTANCE, PROFILES, Scored, ScoreParts
from nanomem_tui.memory.scopes import Audience, LayerOf, is_waiting, visible_layers
from nanomem_tui.store import item_index, lookup, word_index
from nanomem_tui.store.database import full_text
from nanomem_tui.store.item_index import Candidate, ItemIndex, rate
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.values import Hit, Item, Lesson
from nanomem_tui.store.word_index import Statistics, drop_common_characters, idf, trust

if TYPE_CHECKING:
    from nanomem_tui.memory.recall.times import Times


# The question as a value: its words with weights, and corrected spelling. What an index has is passed in as functions.

REPLY_WEIGHT = 0.5
"""What a word counts that stands only in the message replied to."""

LIGHT = 0.5
"""What a word counts that tells little of what a question is about, beside others."""

FAINT = 0.2
"""What a word counts that tells the time that is asked for: `yesterday` is no word that a memory of then must hold."""

LONGER_WEIGHT = 0.6
"""What a word counts that begins like one of the message which no row holds."""

MAX_QUERY = 20_000
"""Characters of a message that are looked at."""


class Question(NamedTuple):
    """What is asked: a message, what it replies to, for whom, and within which bounds (None: those of the settings).

    `whole`: a search by a person, without the budget of a prompt and the cap on the user layer. `session_key`: the
    session within the chat of the audience. `within`: only memories that were said in these days, or are about them.
    """

    text: str
    reply_to: str = ""
    audience: Audience = Audience()
    scope: str = "all"
    kinds: tuple[str, ...] = ()
    limit: int | None = None
    max_chars: int | None = None
    profile: str | None = None
    weights: Mapping[str, float] | None = None
    whole: bool = False
    session_key: str = ""
    within: Span | None = None


def question_text(question: Question) -> str:
    """Return the whole text of a question."""
    text = f"{question.text}\n{question.reply_to}" if question.reply_to else question.text
    return text[:MAX_QUERY]


def written_words(question: Question) -> dict[str, str]:
    """Its words as they were written, by token."""
    return query_words(question_text(question))


def weighted_words(question: Question) -> dict[str, float]:
    """Return the words of a question with their weights; those of the message replied to count less."""
    words = _weights(question.text[:MAX_QUERY])
    if question.reply_to:
        for word, weight in _weights(question.reply_to[:MAX_QUERY]).items():
            words.setdefault(word, REPLY_WEIGHT * weight)
    return words


def discount_time_words(
    words: Mapping[str, float], telling: Collection[str] | None, total: int, rows_with: Callable[[str], int]
) -> Mapping[str, float]:
    """Lower words that only name a time to a share of the best `telling` one (None: no time is named)."""
    if telling is None:
        return words
    worth = {word: idf(total, rows_with(word)) for word in words}
    best = max((words[word] * worth[word] for word in words if word in telling and rows_with(word)), default=0.0)
    most = {word: FAINT * best / worth[word] if best and worth[word] else weight for word, weight in words.items()}
    return {word: weight if word in telling else min(FAINT * weight, most[word]) for word, weight in words.items()}


def _weights(text: str) -> dict[str, float]:
    """Return the words of a text with what each counts: those that tell little count less, where there are others."""
    words, light = search_weights(text), light_words(english=is_english(text))
    if light.issuperset(words):
        return words
    return {word: LIGHT * weight if word in light else weight for word, weight in words.items()}


def correct_spelling(
    words: Mapping[str, float],
    as_written: Mapping[str, str],
    known: Callable[[str], bool],
    nearest: Callable[[str], str | None],
    longer: Callable[[str], Sequence[str]],
) -> tuple[dict[str, float], dict[str, tuple[str, ...]]]:
    """Return the words with those that no row holds replaced by what may be meant, and what was replaced by which
    tokens.

    The nearest word that is held, and those that begin like it (`postgres`: `postgresql`), which count less.
    """
    found: dict[str, float] = {}
    replaced: dict[str, tuple[str, ...]] = {}
    for word, weight in words.items():
        is_known = known(word)
        if not is_known and word not in as_written:
            continue  # a part of a word, or words joined that nobody wrote so
        meant = {word: weight} if is_known else _meant(word, weight, as_written[word], known, nearest, longer)
        if meant and word not in meant:
            replaced[as_written.get(word, word)] = tuple(meant)
        for other, counts in (meant or {word: weight}).items():
            found[other] = max(counts, found.get(other, 0.0))
    return found, replaced


def split_compound(word: str, known: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the two known words that one is made of (`vscode`: `vs`, `code`), longest shorter half first."""
    ways = (tokens(f"{word[:at]} {word[at:]}") for at in range(2, len(word) - 1))
    found = [tuple(way) for way in ways if len(way) == 2 and all(map(known, way))]
    return max(found, key=lambda way: min(map(len, way)), default=())


def describe_corrections(replaced: Mapping[str, Sequence[str]], texts: Iterable[str]) -> dict[str, str]:
    """Return what was corrected to which words, as the texts that were found write them."""
    left = {token for meant in replaced.values() for token in meant}
    forms: dict[str, str] = {}
    for text in texts if left else ():
        words = query_words(text, len(text))
        forms |= {token: words[token] for token in left & words.keys()}
        left -= words.keys()
        if not left:
            break
    return {word: ", ".join(forms.get(token, token) for token in meant) for word, meant in replaced.items()}


def _meant(
    word: str,
    weight: float,
    as_written: str,
    known: Callable[[str], bool],
    nearest: Callable[[str], str | None],
    longer: Callable[[str], Sequence[str]],
) -> dict[str, float]:
    """Return what an unknown word may mean, with weights: the nearest one and longer forms."""
    near = nearest(word)
    forms = (longer(as_written) or longer(word)) if as_written.isalpha() else ()
    found = dict.fromkeys(forms, LONGER_WEIGHT * weight)
    if near is None:
        return found or dict.fromkeys(split_compound(as_written, known), weight)
    return {near: trust(word) * weight, **{form: counts for form, counts in found.items() if form != near}}


# What of a ranked answer is given, and why the rest is cut: so many, so many of the user layer, so many characters.


class CutItem(NamedTuple):
    """An item that fits the question and is not given, and why; `is_unrelated`: it has no bearing on the message."""

    hit: Hit
    why: str
    is_unrelated: bool = False


class Bounds(NamedTuple):
    """Hits that are given, characters of them all, and hits of the user layer; `whole`: only the first counts."""

    limit: int
    budget: int
    of_user: int
    whole: bool = False

    def cut(self, hits: Sequence[Hit]) -> tuple[list[Hit], list[CutItem]]:
        """Return what is given, in its order, and what is cut."""
        kept: list[Hit] = []
        cut: list[CutItem] = []
        used = users = 0
        for hit in hits:
            why = ""
            if len(kept) >= self.limit:
                why = f"over maxResults {self.limit}"
            elif not self.whole and hit.layer == "user" and users >= self.of_user:
                why = f"user layer full ({self.of_user})"
            elif not self.whole and used + len(hit.item.text) > self.budget:
                why = f"over the budget of {self.budget} characters"
            if why:
                cut.append(CutItem(hit, why))
                continue
            kept.append(hit)
            used += len(hit.item.text)
            users += hit.layer == "user"
        return kept, cut


__all__ = ["CutItem", "Question", "Recall", "Recalled"]

SPARE = 5
"""Rows that are ranked beyond those asked for, to be shown as cut."""

NEAREST = 200
"""Rows that are asked for by meaning, and then by words too, so that both may say something of each."""

RELATED_FACTS = 5
"""Facts put before the model as near in meaning."""
SHORT = 10
"""Characters of a message that is too short to be about anything (seed 003)."""

SEED001_OF_USER, ANY = 2, 1_000_000
"""Items of the user layer that are given where the settings do not say how many: in seed 001, and in our profile."""

AUDIENCES = 64

ASKING = 160
"""Characters of a message that asks for a time; a longer one tells of several."""

WEEK, MONTH = 7, 31
"""Days of a time up to which it tells what is meant: by itself, and beside a word in common."""


class Recalled(NamedTuple):
    """The answer: hits best first, what was cut, misspelt words with what was meant, the words that were looked for,
    which backend found them, the milliseconds it took, why meaning had no part in it though it was to (empty: it had,
    or was not), and the time that the question names."""

    hits: tuple[Hit, ...]
    cut: tuple[CutItem, ...]
    corrected: Mapping[str, str]
    words: tuple[str, ...]
    backend: str
    ms: float
    note: str = ""
    time: TimeAsked | None = None


class _Pool(NamedTuple):
    """What a backend found: candidates, the words it looked for, what was corrected, its name, whether it may have
    more, what is known of the words, and which of them stand for others (`added`)."""

    candidates: list[Candidate]
    words: Mapping[str, float]
    corrected: dict[str, tuple[str, ...]]
    backend: str
    more: bool
    statistics: Statistics = Statistics(0, 1.0, {})
    added: frozenset[str] = frozenset()


class Recall:
    """Answers questions from the items of one workspace. Every method may be called from any thread."""

    def __init__(
        self, store: MemoryStore, settings: Settings, meaning: Callable[[], NearestItems] | None = None
    ) -> None:
        """`meaning`: gives what finds by meaning; used only where the settings say so."""
        self._store = store
        self._settings = settings
        self.by_meaning = ByMeaning(meaning, settings)
        self.index = ItemIndex(store.snapshot)
        self._times: Times | None = None
        self._shown: OrderedDict[object, list[bool]] = OrderedDict()
        self._thread: threading.Thread | None = None

    # -- getting ready ------------------------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Whether the RAM index is built."""
        return self.index.ready

    def warm(self, *, background: bool = True) -> None:
        """Load the rows and build the RAM index, by default on a thread that embeds items too."""
        if background:
            self.by_meaning.warm()
        if self.ready:
            return
        if not background:
            self._store.load("item")
            self.index.build()
        elif self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._build_quietly, name="nanomem-index", daemon=True)
            self._thread.start()

    def _build_quietly(self) -> None:
        with contextlib.suppress(NanomemError):  # whoever asks is told
            self._store.load("item")
            self.index.build(pause=0.001)

    # -- asking -------------------------------------------------------------------------------------------------

    def ask(self, question: Question, *, beside: Iterable[Item] = ()) -> Recalled:
        """Return the best items for a question. `beside`: rows of elsewhere that are ranked with ours."""
        started = time.perf_counter()
        profile = _one_of(question.profile or self._settings.recall_profile, tuple(PROFILES), "--profile")
        weights = self.weights(profile, question.weights)
        layer_of = self._layers(question, profile)
        near, asked_time = Near({}), None
        if profile == "default":
            if times_asked.may_name(question.text):
                asked_time = times_asked.asked(question.text, self.times.today())
            near = self._near(question, layer_of)
            hits, pool = self._ranked(question, weights, layer_of, list(beside), near, asked_time)
        else:
            rows = [row for row in (*self._visible(question, layer_of), *beside) if layer_of(row)]
            hits, pool = self._as_seed(question, profile, weights, layer_of, rows)
        unrelated: list[CutItem] = []
        if profile == "default" and not question.whole:
            distances = near.distances if near.is_taught else {}
            hits, unrelated = self._related_to(question, pool, hits, distances, asked_time)
        kept, cut = self._bounds(question, profile).cut(hits)
        words = tuple(weighted_words(question)) if pool.corrected else tuple(pool.words)
        ms = (time.perf_counter() - started) * 1000
        corrected = describe_corrections(pool.corrected, (hit.item.text for hit in hits))
        spelt = MappingProxyType(corrected)
        return Recalled(tuple(kept), (*cut, *unrelated), spelt, words, pool.backend, ms, near.why, asked_time)

    def _related_to(
        self,
        question: Question,
        pool: _Pool,
        hits: Sequence[Hit],
        distances: Mapping[str, float],
        asked_time: TimeAsked | None,
    ) -> tuple[list[Hit], list[CutItem]]:
        """Return the hits that have a bearing on the message, and those that have none."""
        is_meant, may_share = _timely(question, asked_time)
        if asked_time is not None:
            question = question._replace(text=asked_time.subject)
        asked = self._message(question, pool)
        of = {one.item.id: one.of for one in pool.candidates if one.of is not None}
        held = self._held([of.get(hit.item.id, hit.item) for hit in hits], pool)
        rows = [(words, hit.score, distances.get(hit.item.id)) for hit, words in zip(hits, held, strict=True)]
        near = scoring.fused_shares(distances.items()) if distances else {}
        clear = [near.get(hit.item.id, 0.0) >= scoring.OBVIOUS for hit in hits] if near else []
        chances = scoring.bearing_chances(asked, rows, by_meaning=bool(distances), clear=clear)
        least = scoring.least_chance(asked, by_meaning=bool(distances))
        if question.within is not None and times_asked.tells_nothing(question.text):
            chances = [max(chance, least) for chance in chances]  # nothing but the days is asked for
        if asked_time is not None:
            timely = [is_meant or (may_share and scoring.coverage(asked, words) > 0) for words in held]
            chances = [
                max(chance, least) if is_timely and _is_timed(hit) else chance
                for hit, chance, is_timely in zip(hits, chances, timely, strict=True)
            ]
        judged = [
            (hit._replace(parts=hit.parts.judged(chance)) if isinstance(hit.parts, ScoreParts) else hit, chance)
            for hit, chance in zip(hits, chances, strict=True)
        ]
        why = f"has little to do with the message: chance {{chance:.2f}}, given from {least:g} on"
        cut = [CutItem(hit, why.format(chance=chance), is_unrelated=True) for hit, chance in judged if chance < least]
        kept = [(hit, words) for (hit, chance), words in zip(judged, held, strict=True) if chance >= least]
        # What is of the time that is asked for counts as the newest: that tells which of two values is meant.
        said = [(words, f"{'~' * _is_timed(hit)}{hit.item.updated_at}") for hit, words in kept]
        return [kept[place][0] for place in scoring.newer_first(asked, said)], cut

    def _message(self, question: Question, pool: _Pool) -> scoring.Message:
        written = {word: pool.corrected.get(word, (token,)) for token, word in written_words(question).items()}
        return scoring.read_message(question_text(question), pool.words, written, pool.statistics)

    def _held(self, rows: Sequence[Item], pool: _Pool) -> list[frozenset[str]]:
        """Return the words of those looked for that each row holds."""
        if pool.backend == "ram" and self.ready:
            with self._store.snapshot.lock:
                known = self.index.current().terms((row.id for row in rows), pool.words)
            return [frozenset(known[row.id]) if row.id in known else _words_of(row, pool) for row in rows]
        return [_words_of(row, pool) for row in rows]

    def related(self, question: Question, found: Recalled | None = None) -> list[Hit]:
        """Return the facts nearest in meaning that were not `found` (seed 003); by default only with a bearing."""
        known = {hit.item.id for hit in found.hits} if found is not None else set[str]()
        if len(question.text.strip()) <= SHORT or not {*(question.kinds or ("fact",))} & {"fact"}:
            return []
        asked = question._replace(kinds=("fact",), limit=RELATED_FACTS + len(known))
        layer_of = self._layers(asked, "default")
        distances = self._near(asked, layer_of).distances
        items = self._store.snapshot.items
        rows = [(distance, items[key]) for key, distance in distances.items() if key in items and key not in known]
        if found is not None and (question.profile or self._settings.recall_profile) == "default":
            bears = {cut.hit.item.id for cut in found.cut if not cut.is_unrelated}
            rows = [(distance, row) for distance, row in rows if row.id in bears]
        return [
            Hit(row, 1 - distance, {"distance": distance}, layer)
            for distance, row in sorted(rows, key=lambda one: (one[0], one[1].id))[:RELATED_FACTS]
            if distance < MAX_DISTANCE and (layer := layer_of(row)) is not None
        ]

    def weights(self, profile: str | None = None, changed: Mapping[str, float] | None = None) -> dict[str, float]:
        """Return the weights of a profile (None: that of the settings), with some changed. Raises BadInput."""
        name = _one_of(profile or self._settings.recall_profile, tuple(PROFILES), "--profile")
        known = scoring.weights_of(name, by_meaning=self.by_meaning.wanted)
        for name in changed or ():
            _one_of(name, tuple(known), "--weight")
        return {**known, **(changed or {})}

    def why_not(self, question: Question, item_id: str) -> str:
        """Return why an item is not among the hits of a question, in words; empty when it is."""
        recalled = self.ask(question)
        if any(hit.item.id == item_id for hit in recalled.hits):
            return ""
        for cut in recalled.cut:
            if cut.hit.item.id == item_id:
                return cut.why
        row = self._store.load("item").items.get(item_id)
        return self._why_never(question, row) or self._why_behind(question, recalled, item_id)

    def _why_never(self, question: Question, row: Item | None) -> str:
        """Return why a row cannot be an answer at all; empty when it could."""
        if row is None:
            return "there is no such item"
        if row.is_deleted:
            return "deleted"
        if is_waiting(row):
            return "waits in the inbox to be accepted"
        if not row.enabled:
            return "disabled"
        if self._expired(row, clock.iso(clock.now())):
            return "expired"
        if question.within is not None and not self.times.test([question.within])(row):
            return f"neither said in these days nor about them: {times_asked.in_words(question.within)}"
        profile = question.profile or self._settings.recall_profile
        if question.kinds and row.kind not in question.kinds:
            return f"another kind: {row.kind}"
        if self._layers(question, profile)(row) is None:
            return f"not visible here: {row.scope_type} scope {row.scope_key}".rstrip()
        return ""

    def _why_behind(self, question: Question, recalled: Recalled, item_id: str) -> str:
        everything = self.ask(question._replace(limit=1_000_000, max_chars=1_000_000_000, whole=True))
        ranks = {hit.item.id: rank for rank, hit in enumerate(everything.hits, 1)}
        if item_id not in ranks:
            near = self.by_meaning.near(question_text(question), 1, {item_id})
            far, most = near.distances.get(item_id), MAX_DISTANCE
            return "shares no word with the message" + (f", and distance {far:.2f} is over {most:g}" if far else "")
        hit = everything.hits[ranks[item_id] - 1]
        least = min((hit.score for hit in recalled.hits), default=0.0)
        return f"rank {ranks[item_id]} of {len(ranks)}: score {hit.score:.3f}, the last one given has {least:.3f}"

    # -- who sees what ------------------------------------------------------------------------------------------

    def _layers(self, question: Question, profile: str) -> LayerOf:
        """Return the layer of an item for the question; None where kind or scope forbids it."""
        of_profile = profile != "seed001" or question.whole  # a turn of seed 001 knows a chat and a user layer only
        with_global = question.scope == "global" or of_profile
        layer_of = visible_layers(
            question.audience,
            question.scope,
            with_global=with_global,
            private_in_groups=self._settings.private_in_groups,
            session_key=question.session_key,
        )
        kinds, within = frozenset(question.kinds), question.within
        of_kind = (lambda item: layer_of(item) if item.kind in kinds else None) if kinds else layer_of
        if within is None:
            return of_kind
        is_within = self.times.test([within])
        return lambda item: of_kind(item) if is_within(item) else None

    def _shown_groups(self, question: Question, layer_of: LayerOf) -> list[bool] | None:
        """By group of the index, whether the question may see it; None: everything. Kept for the next question."""
        if question.audience.is_owner and question.scope == "all" and not question.kinds:
            return None
        if question.within is not None:  # who may see a group has nothing to do with time
            layer_of = self._layers(question._replace(within=None), "default")
        key = (question.audience, question.scope, question.kinds, question.session_key)
        shown = self._shown.setdefault(key, [])
        self._shown.move_to_end(key)
        while len(self._shown) > AUDIENCES:
            self._shown.popitem(last=False)
        for group in self.index.current().groups(len(shown)):
            shown.append(layer_of(item_index.example_of(group)) is not None)
        return shown

    # -- the time that is asked for -----------------------------------------------------------------------------

    @property
    def times(self) -> Times:
        """The days of the items; made when a question first names a time."""
        if self._times is None:
            from nanomem_tui.memory.recall.times import Times

            self._times = Times(self._store.paths)
        return self._times

    def _of_time(
        self, question: Question, asked_time: TimeAsked | None, pool: _Pool, layer_of: LayerOf, beside: Sequence[Item]
    ) -> list[Candidate]:
        """Return visible items of the time that is asked for and not in the pool: the newest, rated by words."""
        from nanomem_tui.memory.recall.times import MOST

        if asked_time is not None:
            spans = asked_time.spans
        elif question.within is not None and not pool.words:
            spans = (question.within,)
        else:
            return []
        known, is_of_it = {one.item.id for one in pool.candidates}, self.times.test(spans)

        def is_wanted(row: Item) -> bool:
            return row.enabled and row.id not in known and layer_of(row) is not None and is_of_it(row)

        found = None
        if not self._store.loaded:
            found = lookup.full_text(self._store, lambda index, _: [*filter(is_wanted, index.every())])
        if found is None:
            found = [*filter(is_wanted, self._visible(question, layer_of))]
        found = sorted([*found, *filter(is_wanted, beside)], key=lambda row: (row.updated_at, row.id), reverse=True)[
            :MOST
        ]
        rated = {one.item.id: one for one in item_index.rate(found, pool.words, pool.statistics)}
        return [rated.get(row.id) or Candidate(row, 0.0) for row in found]

    # -- finding ------------------------------------------------------------------------------------------------

    def _near(self, question: Question, layer_of: LayerOf) -> Near:
        """Return what is near the question, of what it may see: that is decided before anything is cut."""
        if not self.by_meaning.wanted or (question.whole and not self.by_meaning.is_chosen):
            return Near({})  # a person who searches looks for words, unless they chose otherwise
        if question.within is not None and not question.text.strip():
            return Near({})
        snapshot, moment = self._store.load("item"), clock.iso(clock.now())
        with snapshot.lock:
            if self.ready:
                self.index.current()
                shown = self._shown_groups(question, layer_of)
                within = None if shown is None else self.index.current().keys_of(shown)
            else:
                within = {key for key, row in snapshot.items.items() if row.enabled and layer_of(row) is not None}
        limit = max(NEAREST, self._limit(question) + SPARE)
        while True:
            near = self.by_meaning.near(question_text(question), limit, within)
            rows = [snapshot.items.get(key) for key in near.distances]
            alive = [row.id for row in rows if row is not None and layer_of(row) and not self._expired(row, moment)]
            if len(alive) == len(rows) or len(rows) < limit or len(alive) >= NEAREST // 2:
                return near._replace(distances={key: near.distances[key] for key in alive})
            limit *= 4

    def _ranked(
        self,
        question: Question,
        weights: Mapping[str, float],
        layer_of: LayerOf,
        beside: Sequence[Item],
        near: Near,
        asked_time: TimeAsked | None,
    ) -> tuple[list[Hit], _Pool]:
        limit = self._limit(question)
        now = clock.now()
        moment, today = clock.iso(now), now.date()
        words = weighted_words(question)
        telling = None if asked_time is None else search_weights(f"{asked_time.subject} {question.reply_to}").keys()
        slack = 1 - 1 / (1 + sum(abs(weights[name]) for name in PROFILES["default"]))
        wanted, far = limit + SPARE if limit else 0, MAX_DISTANCE
        while True:
            many = max(wanted, NEAREST) if near.distances and wanted else wanted
            many = ANY if asked_time is not None else many
            pool = self._pool(question, words, many, layer_of, beside, slack, telling)
            of_time = self._of_time(question, asked_time, pool, layer_of, beside)
            alive = [one for one in (*pool.candidates, *of_time) if not self._expired(one.item, moment)]
            if question.within is not None:
                alive = [one for one in alive if layer_of(one.item) is not None]
            alive += scoring.semantic_candidates(alive, near.distances, self._store.snapshot.items, far)
            if not pool.more or self._usable(question, alive, layer_of) >= limit:
                break
            wanted *= 4
        is_of_time = self.times.test(asked_time.spans) if asked_time is not None else None
        if is_of_time is not None:
            alive = _best_of_both(alive, is_of_time, max(NEAREST, SPARE * wanted))
        last, wanted = wanted, wanted if asked_time is None and question.within is None else len(alive)
        asked = tuple(pool.words)
        if not near.distances:
            scored = scoring.rank_default(alive, wanted, weights, today, asked, pool.added)
        else:
            weights = {**weights, "vector": weights["vector"] * near.read}
            total = self._message(question, pool).total
            scored = scoring.rank_fused(alive, near.distances, wanted, weights, today, asked, total, far, pool.added)
            pool = pool._replace(backend="hybrid")
        if question.within is not None and not pool.words:  # nothing else was asked
            scored.sort(key=lambda one: (one.item.updated_at, one.item.id), reverse=True)
        if asked_time is not None and is_of_time is not None:
            from nanomem_tui.memory.recall import times

            scored = times.rank_by_time(scored, asked_time, is_of_time, weights, today)
        return _hits(scored[:last], layer_of), pool

    def _usable(self, question: Question, alive: Sequence[Candidate], layer_of: LayerOf) -> int:
        """Return how many of the candidates may be given: of the user layer only so many."""
        if question.whole or question.audience.is_owner:
            return len(alive)
        of_user = sum(1 for one in alive if layer_of(one.item) == "user")
        return len(alive) - of_user + min(of_user, self._most_of_user("default"))

    def _pool(
        self,
        question: Question,
        words: Mapping[str, float],
        wanted: int,
        layer_of: LayerOf,
        beside: Sequence[Item],
        slack: float,
        telling: Collection[str] | None = None,
    ) -> _Pool:
        """Return every row that may be among the `wanted` best; `telling`: words that name no time."""
        if not self._in_ram():
            found = self._full_text(words, written_words(question), layer_of, beside, telling)
            if found is not None:
                return found
        store = self._store
        store.load("item")
        self.index.build()  # before the lock is held: it may have to wait for the thread that builds
        with store.snapshot.lock:
            index = self.index.current()
            words = discount_time_words(words, telling, len(index), index.rows_with)
            words = drop_common_characters(words, len(index), index.rows_with)
            corrected: dict[str, tuple[str, ...]] = {}
            if not all(map(index.has, words)):
                words, corrected = correct_spelling(
                    words, written_words(question), index.has, self.index.nearest, self.index.longer
                )
            asked = words
            words = word_index.add_similar_words(words, len(index), index.mean, index.rows_with)
            statistics = index.statistics(words)
            found_rows = self.index.best(words, wanted, self._shown_groups(question, layer_of), slack)
            more = len(found_rows) >= wanted > 0
            items = store.snapshot.items
            found_rows = retention.replace_superseded(
                found_rows, lambda ids: {key: items[key] for key in ids if key in items}
            )
        if beside:
            found_rows += item_index.rate(filter(layer_of, beside), words, statistics)
        return _Pool(found_rows, words, corrected, "ram", more, statistics, frozenset(words.keys() - asked.keys()))

    def _in_ram(self) -> bool:
        """Return whether the RAM index is to be used: it is ready, or nothing else is there and it is soon made."""
        if self._settings.recall_backend == "sqlite_fts":
            return False
        if self.ready:
            return True
        return self._store.loaded and len(self._store.snapshot.items) <= 2000

    def _full_text(
        self,
        words: Mapping[str, float],
        written: Mapping[str, str],
        layer_of: LayerOf,
        beside: Sequence[Item],
        telling: Collection[str] | None = None,
    ) -> _Pool | None:
        """Return what the database's index and unsaved rows hold; None where there is no index."""

        def accept(item: Item) -> bool:
            return (item.enabled or item_index.is_replaced(item)) and layer_of(item) is not None

        def find(index: full_text.FullText, pending: lookup.Pending) -> _Pool:
            asked = index.statistics(words)
            known = discount_time_words(words, telling, asked.total, asked.rows_with.__getitem__)
            terms = drop_common_characters(known, asked.total, asked.rows_with.__getitem__)

            def is_held(word: str) -> bool:
                rows = asked.rows_with.get(word)
                return (index.statistics([word]).rows_with[word] if rows is None else rows) > 0

            terms, corrected = correct_spelling(terms, written, is_held, index.nearest, index.longer)
            statistics = index.statistics([*terms, *(other for word in terms for other in alike(word))])
            given = terms.keys()
            terms = word_index.add_similar_words(
                terms, statistics.total, statistics.mean, statistics.rows_with.__getitem__
            )
            rows = pending(index.candidates(terms, accept))
            rows = [row for row in rows if accept(row)] + list(filter(layer_of, beside))
            rated = retention.replace_superseded(
                rate(rows, terms, statistics),
                lambda ids: {row.id: row for row in pending([*index.rows(ids).values()])},
            )
            return _Pool(rated, terms, corrected, "sqlite_fts", False, statistics, frozenset(terms.keys() - given))

        return lookup.full_text(self._store, find)

    # -- the seeds ----------------------------------------------------------------------------------------------

    def _visible(self, question: Question, layer_of: LayerOf) -> list[Item]:
        snapshot = self._store.load("item")
        with snapshot.lock:
            rows = list(snapshot.items.values())
        return [row for row in rows if row.enabled and layer_of(row) is not None]

    def _as_seed(
        self, question: Question, profile: str, weights: Mapping[str, float], layer_of: LayerOf, rows: Sequence[Item]
    ) -> tuple[list[Hit], _Pool]:
        now = clock.now()
        moment = clock.iso(now)
        rows = [row for row in rows if not self._expired(row, moment)]
        text = question_text(question)
        pool = _Pool([], query_weights(text), {}, "ram", more=False)
        if profile == "seed000":
            return _hits(scoring.rank_seed000(text, rows, weights, now), layer_of), pool
        everything = [row for row in self._store.snapshot.items.values() if not row.is_deleted]
        values = scoring.seed001_bm25(text, everything)
        rated = sorted(
            ((row, values[row.id]) for row in rows if row.id in values),
            key=lambda one: (-one[1], one[0].updated_at),
            reverse=True,
        )
        limit, of_user = self._limit(question), self._most_of_user(profile)
        if not question.whole:
            user = [one for one in rated if layer_of(one[0]) == "user"][:of_user]
            chat = [one for one in rated if layer_of(one[0]) != "user"][:limit]
            rated = chat + user
        return _hits(
            scoring.rank_seed001(text, rated[: None if not question.whole else limit], weights, now), layer_of
        ), pool

    def _expired(self, item: Item, moment: str) -> bool:
        if item.expires_at is None or item.expires_at > moment or retention.expiry(item, self._settings) is None:
            return False
        at, now = clock.parse(item.expires_at), clock.parse(moment)
        return at is not None and now is not None and at <= now

    # -- bounds -------------------------------------------------------------------------------------------------

    def _limit(self, question: Question) -> int:
        return self._settings.recall_max_results if question.limit is None else max(0, question.limit)

    def _most_of_user(self, profile: str) -> int:
        most = self._settings.recall_user_layer_results
        return most if most >= 0 else SEED001_OF_USER if profile == "seed001" else ANY

    def _bounds(self, question: Question, profile: str) -> Bounds:
        budget = self._settings.recall_max_prompt_chars if question.max_chars is None else question.max_chars
        return Bounds(self._limit(question), budget, self._most_of_user(profile), question.whole)


def _best_of_both(found: Iterable[Candidate], is_of_time: Callable[[Item], bool], many: int) -> list[Candidate]:
    """Return the best by words of those of a time, and of those that are not: nobody sees more of either."""
    parts: tuple[list[Candidate], list[Candidate]] = ([], [])
    for one in found:
        parts[is_of_time(one.item)].append(one)
    return [one for part in parts for one in heapq.nlargest(many, part, key=lambda one: one.score)]


def _timely(question: Question, asked_time: TimeAsked | None) -> tuple[bool, bool]:
    """Return whether every memory of the time that is asked for has a bearing, and whether one has that shares a
    telling word.

    The first where a question asks for nothing else, or for what a person did, or will do, within a few days. Neither
    for a long message, which only tells of times, nor for a year: that says little of what is meant.
    """
    if asked_time is None or asked_time.only:
        return asked_time is not None, asked_time is not None
    days = sum(span.days for span in asked_time.spans)
    is_short = len(question.text) <= ASKING and days <= MONTH
    is_question = question.text.rstrip().endswith(("?", "？")) and cues.is_of_people(question.text)
    is_meant = is_question and days <= WEEK and (asked_time.looks < 0 or not asked_time.is_now)
    return is_short and is_meant, is_short


def _is_timed(hit: Hit) -> bool:
    return isinstance(hit.parts, ScoreParts) and hit.parts.is_timed


def _words_of(row: Item, pool: _Pool) -> frozenset[str]:
    return frozenset(pool.words.keys() & set(index_tokens(row.text)))


def _hits(scored: Iterable[Scored], layer_of: LayerOf) -> list[Hit]:
    return [Hit(item, score, parts, layer) for item, score, parts in scored if (layer := layer_of(item)) is not None]


def _one_of(value: str, known: tuple[str, ...], where: str) -> str:
    if value not in known:
        raise BadInput(f"unknown {where.lstrip('-')} `{value}`", where, f"one of {', '.join(known)}")
    return value


# What is remembered of how answers are to be (their language, their length): of several wishes the last word holds.

_OF_ONESELF = re.compile(
    r"\b(?:i|i'[a-z]+|my|we|we'[a-z]+|our)\b|我(?!们?(?:[。！!，,.\s]|的(?:问题|消息|话))*$)", re.IGNORECASE
)
"""What a sentence tells of the one who says it, and not only of how to answer."""


def is_order(text: str) -> bool:
    """Return whether a sentence only corrects how to answer, and tells nothing of who says it."""
    from nanomem_tui.language import corrections

    found = corrections.detect(text)
    return found is not None and not found.is_empty and _OF_ONESELF.search(text.replace("’", "'")) is None


def find_overruled(items: Iterable[Item], lessons: Iterable[Lesson]) -> dict[str, str]:
    """Return items about answers that a lesson or a later item overrules, by id, with the reason."""
    from nanomem_tui.language import corrections

    said = [(one, topic) for one in items if one.kind == "preference" and (topic := _topic(one.text))]
    if not said:
        return {}
    here = {corrections.topic(one.trigger, one.better_action): one.id for one in lessons if one.scope == "session"}
    last = {topic: one for one, topic in sorted(said, key=lambda pair: (pair[0].updated_at, pair[0].id))}
    found: dict[str, str] = {}
    for one, topic in said:
        if not one.pinned and (topic in here or last[topic].id != one.id):
            found[one.id] = f"{here.get(topic) or last[topic].id} is the last word on it"
    return found


def _topic(text: str) -> str:
    from nanomem_tui.language import corrections

    found = corrections.detect(text)
    return corrections.topic(found.trigger, found.text) if found is not None else ""
