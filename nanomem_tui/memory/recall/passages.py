"""Rank passages of ordered sources: the turns of sessions, a journal, an archive. Neighbours of a passage count too.

Owns the ranking of passages by their own words and those of their neighbours, of the whole session, by who speaks, and
by what the question waits for; by meaning too, where the caller can tell which passages are near. Knows no file and no
vector: whoever has the passages adds them. Items have no neighbours; `recall` ranks them.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from nanomem_tui.language import cues
from nanomem_tui.language.tokens import is_common, is_of_talk, is_part, query_words, search_weights, tokens
from nanomem_tui.memory.recall import scoring
from nanomem_tui.memory.recall.recall import split_compound
from nanomem_tui.store.word_index import Statistics, Vocabulary, WordIndex, drop_common_characters, nearest

# -- By which names the speakers of a chat are addressed: a transcript calls them `user` and `assistant` --------------

SURE = 3
"""How often somebody is addressed by a name before it counts: a capital behind a comma may be a place."""

SHARE = 0.2
"""How often, beside the commonest name of the same speaker, another one is used for them (`Mel`, `Melanie`)."""

INTRODUCED = 3
"""What it counts when somebody says their own name."""


class SpeakerNames:
    """The names of speakers, taken from how others address them.

    >>> names = Addressed()
    >>> for _ in range(3):
    ...     names.add(0, 1, 0, "Thanks, Ana!")
    >>> names.speakers("ana")
    {0: {0}}
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
        self._names: dict[str, dict[int, set[int]]] = {}

    def add(self, chat: int, speaker: int, other: int, text: str) -> None:
        """Take note of a passage of `speaker`, who spoke after `other` (negative: after nobody)."""
        for name in cues.called(text) if other >= 0 else ():
            if not all(map(is_common, tokens(name))):  # "Hello, World!"
                self._count(chat, other, name, 1)
        for name in cues.introduced(text):
            self._count(chat, speaker, name, INTRODUCED)

    def _count(self, chat: int, speaker: int, name: str, times: int) -> None:
        counts = self._counts[chat, speaker]
        for token in tokens(name):
            counts[token] += times
            if counts[token] >= max(SURE, SHARE * max(counts.values())):
                self._names.setdefault(token, {}).setdefault(chat, set()).add(speaker)

    def names(self) -> list[str]:
        """Return all names, as words of the index."""
        return list(self._names)

    def speakers(self, token: str) -> dict[int, set[int]]:
        """By chat, the speakers whose name that word is."""
        return self._names.get(token, {})


AFTER, AFTER_2 = 0.5, 0.2
BEFORE, BEFORE_2 = 0.3, 0.2
"""The share of a passage's score that its neighbours get: one and two places after it, one and two before."""

FAINT = 0.3
"""A passage gives nothing to its neighbours when its score is less than this share of the best one."""

ANSWER = 0.5
"""What the next passage gets beside, when this one asks: the answer says little of the question again."""

ASKING = -0.2
"""What a passage loses that itself asks."""

SUBJECT, SUBJECT_FLAT = 0.7, 0.3
"""What a passage gains whose speaker the question names."""

SESSION = 0.3
"""The weight of the share of the question that the whole session covers."""

ROUND = 0.7
"""The weight of the share of the question that a round covers, what was asked and its answer: where the answer is long,
one says half of what the other leaves out."""

WHEN = 0.4
"""What a passage gains for a time that it tells, when the question waits for one."""

DATED = 0.3
"""What a passage gains when the day of its session is that of the question."""

TIMED, ONLY_TIMED = 0.3, 2.0
"""What a passage gains that is of the time that the question names, as a share of the best score; the second where
nothing but a time is asked."""

LENGTH = 0.05
"""Longer passages tell more: the weight of the logarithm of their words."""

RELATED = 0.6
"""The weight of words that share most of their letters with one of the question (`counselor`, `counseling`)."""

OF_TALK = 0.25
"""What a word about the conversation itself counts (`mention`)."""

NEAREST = 200
"""Passages that are asked for by meaning."""

MEANT = 0.6
"""The weight of meaning beside that of words, which have the rest."""

PASSED_ON = 0.7
"""How much of what a passage gets for its meaning counts for its neighbours too: less than what words give."""

FAR = 0.9
"""Cosine distance from which on a passage is not near: a turn says less than a fact, and its neighbours say more."""

MOST_MEANINGS = 10_000
MOST_KINDS = 64
"""Kinds of questions of which the share of each passage is kept."""

SHORT = 60
"""Words of a passage up to which all of what neighbours give counts, and its length speaks for it: a long answer has
something of every question."""

USER = "user"
"""The speaker who begins a round, where speakers are roles."""

AROUND = 2
"""Neighbours on each side of a passage that a hit names: those that give and get."""


Nearest = Callable[[str, int], Iterable[tuple[int, float]]]
"""Tells the places of the passages nearest to a text in meaning, so many of them, and their cosine distance."""


class AskedTime(NamedTuple):
    """The time that a question names: whether a passage was said then or is about it, the question without the words
    that say so, and whether it asks for nothing else."""

    fits: Callable[[Passage], bool]
    rest: str
    only: bool = False


class Passage(NamedTuple):
    """One passage of an ordered source: its key, text, session, speaker, and time (ISO, empty: unknown).

    `chat`: what its session is a part of, where speakers are roles: who is meant by a role is known of one chat.
    `sender`: who of them it is, by the id that the source has, empty where it tells none.
    """

    key: str
    text: str
    session: str = ""
    speaker: str = ""
    at: str = ""
    chat: str = ""
    sender: str = ""


class PassageHit(NamedTuple):
    """A passage that was found, its score, and what that is the sum of: its own words, those of its neighbours, its
    session, its length, and the rest: who speaks, whether it asks, and whether it tells what the question waits for.
    `place` is its number among all. What `explained` adds: `terms`, the words of the question that it holds, corrected
    and reduced as they are indexed; `before` and `after`, its neighbours, at most `AROUND`, in their order. `vector` is
    what it gets for its own meaning; None where nobody was asked about that; `time` what it gets for being of the time
    that the question names."""

    passage: Passage
    score: float
    words: float
    near: float  # its round too
    session: float
    length: float
    place: int = -1
    terms: tuple[str, ...] = ()
    before: tuple[Passage, ...] = ()
    after: tuple[Passage, ...] = ()
    vector: float | None = None
    time: float | None = None

    @property
    def parts(self) -> dict[str, float]:
        """The parts of the score by name."""
        known = {"words": self.words, "near": self.near, "session": self.session, "length": self.length}
        if self.vector is not None:
            known["vector"] = self.vector
        if self.time is not None:
            known["time"] = self.time
        return {**known, "cues": self.score - sum(known.values())}


class _Scores(NamedTuple):
    """By place: the score of its own words, of its own meaning, of both with its neighbours, and in all; by session its
    bonus, by round that; by place what it gets for its time."""

    own: dict[int, float]
    meant: dict[int, float]
    base: dict[int, float]
    whole: dict[int, float]
    bonus: list[float]
    rounds: dict[int, float]
    timed: Mapping[int, float] = MappingProxyType({})


class _Asked(NamedTuple):
    """A question as the index takes it: groups of equally meant words with their weight, those of names that speakers
    of some chats have, and the numbers of the speakers who are spoken of."""

    groups: list[dict[str, float]]
    names: list[tuple[dict[str, float], frozenset[int]]]
    scale: float
    subject: frozenset[int]
    waits: cues.Waits


class OrderedRecall:
    """Passages in the order in which they were added, session by session or mixed. Not thread-safe by itself.

    `roles` are speakers whose name in a question is a plain word (`user`): only who asks can say that they are meant.
    """

    def __init__(self, passages: Iterable[Passage] = (), roles: Collection[str] = ()) -> None:
        self._roles = frozenset(roles)
        self._forgotten: set[int] = set()
        self._index = WordIndex()
        self._passages: list[Passage] = []
        self._next: list[int] = []
        self._previous: list[int] = []
        self._shapes: list[int] = []
        self._worth: list[float] = []
        self._room: list[float] = []
        self._session_of: list[int] = []
        self._round_of: list[int] = []
        self._long_rounds: set[int] = set()
        self._chat_of: list[int] = []
        self._chats: dict[str, int] = {}
        self._addressed = SpeakerNames()
        self._speaker_of: list[int] = []
        self._places: list[list[int]] = []
        self._days: list[date | None] = []
        self._sessions: dict[str, int] = {}
        self._speakers: dict[tuple[str, str, str], int] = {}
        self._with_role: dict[str, frozenset[int]] = {}
        self._names: dict[str, int] = {}
        self._named: re.Pattern[str] | None = None
        self._words = Vocabulary()
        self._meanings: dict[str, dict[str, float]] = {}
        self._kinds: dict[tuple[bool, frozenset[int]], tuple[list[float], list[float]]] = {}
        for passage in passages:
            self.add(passage)

    def __len__(self) -> int:
        return len(self._passages)

    @property
    def passages(self) -> Sequence[Passage]:
        """All of them by place, those that are forgotten too."""
        return self._passages

    @property
    def names(self) -> list[str]:
        """The names that speakers are known by, as words of the index: those of passages, and what others call them."""
        return [*self._names, *self._addressed.names()]

    def statistics(self, words: Iterable[str]) -> Statistics:
        """Return what is known of the passages as a whole, and of these words in them."""
        return self._index.statistics(words)

    def add(self, passage: Passage) -> None:
        """Add a passage behind the others of its session."""
        place = len(self._passages)
        self._meanings.clear()
        session = self._sessions.setdefault(passage.session, len(self._places))
        if session == len(self._places):
            self._places.append([])
            self._days.append(_day(passage.at))
            self._chat_of.append(self._chats.setdefault(passage.chat, len(self._chats)))
        before = self._places[session][-1] if self._places[session] else -1
        self._places[session].append(place)
        if before >= 0:
            self._next[before] = place
        self._previous.append(before)
        self._next.append(-1)
        self._passages.append(passage)
        self._session_of.append(session)
        speaker = self._speaker(passage)
        self._speaker_of.append(speaker)
        if passage.chat:
            other = self._speaker_of[before] if before >= 0 else -1
            self._addressed.add(self._chat_of[session], speaker, other if other != speaker else -1, passage.text)
        self._shapes.append(cues.shape(passage.text))
        row = str(place)
        self._words.add(self._index.put(row, passage.text, 0))
        length = max(1, self._index.length(row))
        self._worth.append(LENGTH * math.log1p(min(length, SHORT)))
        self._room.append(min(1.0, SHORT / length))
        self._round_of.append(place if before < 0 or self._asks(before, place) else self._round_of[before])
        if length > SHORT:
            self._long_rounds.add(self._round_of[place])

    def _asks(self, before: int, place: int) -> bool:
        speaker = self._passages[place].speaker
        return speaker not in self._roles or (speaker == USER and self._passages[before].speaker != USER)

    def forget(self, session: str) -> None:
        """Find nothing of a session any more; a passage that is added to it later begins it anew.

        What it held still takes memory and counts among how common a word is: make a new index when that is much.
        """
        number = self._sessions.pop(session, None)
        if number is not None:
            self._forgotten.add(number)

    def _speaker(self, passage: Passage) -> int:
        """Return the number of who speaks; a role and its sender are somebody else in each chat."""
        name = passage.speaker
        key = (name, passage.chat, passage.sender) if name in self._roles else (name, "", "")
        number = self._speakers.setdefault(key, len(self._speakers))
        if number == len(self._speakers) - 1:
            self._named = None
            self._with_role[name] = self._with_role.get(name, frozenset()) | {number}
        if name and name not in self._roles:
            for word in tokens(name):
                self._names.setdefault(word, number)
        return number

    def search(
        self,
        query: str,
        limit: int = 20,
        speaker: str = "",
        nearest: Nearest | None = None,
        time: AskedTime | None = None,
        keep: Callable[[Passage], bool] | None = None,
    ) -> list[PassageHit]:
        """Return the best passages for a question, best first; equal ones in their order. `speaker`: whose words are
        meant. `nearest`: what else is near, by meaning. `time`: the time that it names. `keep`: only these are found;
        all of them, the newest first, where the question has no word."""
        asked = self._asked(query, time)
        if speaker in self._with_role:
            asked = asked._replace(subject=self._with_role[speaker])
        if keep is not None and not query.strip():
            return self._newest(keep, limit)
        scores = self._score(asked, self._meant(query, nearest), time)
        found = scores.whole if keep is None else [one for one in scores.whole if keep(self._passages[one])]
        best = heapq.nlargest(limit, found, key=scores.whole.__getitem__)
        return [self._hit(place, scores, by_meaning=nearest is not None) for place in best]

    def _hit(self, place: int, scores: _Scores, *, by_meaning: bool) -> PassageHit:
        words, meant = scores.own.get(place, 0.0), scores.meant.get(place, 0.0)
        near = scores.base[place] - words - meant + scores.rounds.get(self._round_of[place], 0.0)
        session = scores.bonus[self._session_of[place]]
        score, worth, vector = scores.whole[place], self._worth[place], meant if by_meaning else None
        time = scores.timed.get(place)
        return PassageHit(self._passages[place], score, words, near, session, worth, place, vector=vector, time=time)

    def _newest(self, keep: Callable[[Passage], bool], limit: int) -> list[PassageHit]:
        places = (place for place in self._there() if keep(self._passages[place]))
        newest = sorted(places, key=lambda place: (self._passages[place].at, place), reverse=True)[:limit]
        return [PassageHit(self._passages[place], 0.0, 0.0, 0.0, 0.0, 0.0, place) for place in newest]

    def _there(self) -> Iterable[int]:
        forgotten, session_of = self._forgotten, self._session_of
        return (place for place in range(len(self._passages)) if session_of[place] not in forgotten)

    def explained(self, query: str, hits: Iterable[PassageHit]) -> list[PassageHit]:
        """Hits for that question, found before anything was added or forgotten, with their words and neighbours."""
        found = list(hits)
        words = dict.fromkeys(word for group in self._asked(query).groups for word in group)
        terms = self._index.terms((str(hit.place) for hit in found), words)
        return [
            hit._replace(
                terms=tuple(terms[str(hit.place)]),
                before=self._along(self._previous, hit.place)[::-1],
                after=self._along(self._next, hit.place),
            )
            for hit in found
        ]

    def _along(self, ways: list[int], place: int) -> tuple[Passage, ...]:
        """Return the next neighbours one way."""
        found: list[Passage] = []
        while len(found) < AROUND and (place := ways[place]) >= 0:
            found.append(self._passages[place])
        return tuple(found)

    def sessions(self, query: str, limit: int = 10, nearest: Nearest | None = None) -> list[tuple[str, float]]:
        """Return the best sessions for a question with their scores, best first: by their two best passages."""
        scores = self._score(self._asked(query), self._meant(query, nearest))
        found: dict[int, list[float]] = {}
        for place, score in scores.whole.items():
            found.setdefault(self._session_of[place], []).append(score)
        names = {number: name for name, number in self._sessions.items()}
        ranked = sorted(
            (
                (sum(heapq.nlargest(2, values)) / 2 + scores.bonus[session], names[session])
                for session, values in found.items()
            ),
            reverse=True,
        )
        return [(name, score) for score, name in ranked[:limit]]

    # -- reading a question -------------------------------------------------------------------------------------

    def _asked(self, query: str, time: AskedTime | None = None) -> _Asked:
        written = query_words(query)
        telling = written if time is None else query_words(time.rest)
        weighted = {
            word: weight * (OF_TALK if is_of_talk(word) or (word in written and word not in telling) else 1.0)
            for word, weight in search_weights(query).items()
            if word in written or is_part(word) or self._index.has(word)
        }
        if not query.isascii():
            weighted = drop_common_characters(weighted, len(self), self._index.rows_with)
        words = {self._name_meant(word): weight for word, weight in weighted.items()}
        named = {self._names[word] for word in words if word in self._names}
        called = {word: of for word in words if word not in self._names and (of := self._addressed.speakers(word))}
        subject = frozenset(named if len(named) == 1 else ()) | _alone(called.values())
        names = [(self._meaning(word, words[word]), frozenset(of)) for word, of in called.items()]
        groups = [
            self._meaning(word, weight)
            for word, weight in words.items()
            if word not in self._names and word not in called
        ]
        if not any(self._index.has(word) for group in groups for word in group):
            groups += [self._meaning(word, 1.0) for word in words if word in self._names or word in called]
            names = []
        total = sum(next(iter(group.values())) for group in groups)
        return _Asked(groups, names, 1 / total if total else 1.0, subject, cues.waits_for(query))

    def _name_meant(self, word: str) -> str:
        if word in self._names or self._index.has(word):
            return word
        return nearest(word, self.names, lambda _: 1) or word

    def _meaning(self, word: str, share: float) -> dict[str, float]:
        """Return the words that a word of a question stands for, with weights, itself or its correction first."""
        known = self._meanings.get(word)
        if known is not None:
            return known
        index = self._index
        if is_part(word):
            return {word: index.idf(word) * share}
        there = word if index.has(word) else self._words.nearest(word, index.rows_with) or word
        if not index.has(there) and (parts := split_compound(word, index.has)):
            return {part: index.idf(part) * share / 2 for part in parts}
        weight = index.idf(there) * share
        meaning = {there: weight}
        for other, alike in self._words.related(there):
            meaning[other] = RELATED * alike * min(weight, index.idf(other))
        if len(self._meanings) >= MOST_MEANINGS:
            self._meanings.clear()
        self._meanings[word] = meaning
        return meaning

    def _meant(self, query: str, nearest: Nearest | None) -> dict[int, float]:
        """Return how near passages are in meaning, 1 for the nearest; speakers' names are left out of the question."""
        if nearest is None:
            return {}
        if self._named is None:
            names = "|".join(re.escape(name) for name, _, _ in self._speakers if name and name not in self._roles)
            self._named = re.compile(rf"\b(?:{names or '(?!)'})\b(?:['’]s)?")
        text = " ".join(self._named.sub(" ", query).split())
        near = scoring.fused_shares(nearest(text or query, NEAREST), FAR)
        return {place: share for place, share in near.items() if self._session_of[place] not in self._forgotten}

    # -- ranking ------------------------------------------------------------------------------------------------

    def _score(self, asked: _Asked, near: Mapping[int, float], time: AskedTime | None = None) -> _Scores:
        """Return the scores of all passages that share a word with the question, are near it, or beside one that is."""
        own: dict[int, float] = {}
        bonus = [0.0] * len(self._places)
        rounds: dict[int, float] = {}
        index, session_at = self._index, self._session_of.__getitem__
        for group in asked.groups:
            places = list(index.add_scores(group, asked.scale, own))
            share = asked.scale * next(iter(group.values()))
            for session in set(map(session_at, places)):
                bonus[session] += SESSION * share
            if self._long_rounds:
                for number in self._long_rounds.intersection(map(self._round_of.__getitem__, places)):
                    rounds[number] = rounds.get(number, 0.0) + ROUND * share
        for group, chats in asked.names:
            self._add_of_others(group, chats, asked.scale, own)
        if self._forgotten:
            own = {place: score for place, score in own.items() if session_at(place) not in self._forgotten}
        meant: dict[int, float] = {}
        if near:
            most = MEANT * max(own.values(), default=1.0)
            meant = {place: most * share for place, share in near.items()}
            own = {place: (1 - MEANT) * score for place, score in own.items()}
        base = self._spread({**own, **{place: own.get(place, 0.0) + PASSED_ON * meant[place] for place in meant}})
        for place, score in meant.items():
            base[place] += (1 - PASSED_ON) * score
        if asked.waits.months:
            self._add_dated(asked.waits, base, bonus)
        if time is None:
            return _Scores(own, meant, base, self._weigh(base, asked, bonus, rounds), bonus, rounds)
        of_time = [place for place in self._there() if time.fits(self._passages[place])]
        base = {**dict.fromkeys(of_time, 0.0), **base}
        whole = self._weigh(base, asked, bonus, rounds)
        worth = (ONLY_TIMED if time.only else TIMED) * max(whole.values(), default=0.0)
        whole |= {place: whole[place] + worth for place in of_time}
        return _Scores(own, meant, base, whole, bonus, rounds, dict.fromkeys(of_time, worth))

    def _add_of_others(
        self, group: Mapping[str, float], chats: Collection[int], scale: float, own: dict[int, float]
    ) -> None:
        """Add the score of a name in chats where it is no speaker's."""
        found: dict[int, float] = {}
        self._index.add_scores(group, scale, found)
        for place, score in found.items():
            if self._chat_of[self._session_of[place]] not in chats:
                own[place] = own.get(place, 0.0) + score

    def _add_dated(self, waits: cues.Waits, base: dict[int, float], bonus: list[float]) -> None:
        """Raise the sessions of the days that the question names; their passages may be what is asked, without a word
        in common."""
        for session, day in enumerate(self._days):
            fits = waits.fits(day) if day and session not in self._forgotten else 0.0
            if fits:
                bonus[session] += DATED * fits
                for place in self._places[session]:
                    base.setdefault(place, 0.0)

    def _spread(self, own: Mapping[int, float]) -> dict[int, float]:
        """Return the scores with the shares that go to neighbours in the same session."""
        base = dict(own)
        get, after, before, shapes, room = base.get, self._next, self._previous, self._shapes, self._room
        least = FAINT * max(own.values(), default=0.0)
        for place, score in own.items():
            if score < least:
                continue
            near = after[place]
            if near >= 0:
                share = AFTER + ANSWER if shapes[place] & cues.QUESTION else AFTER
                base[near] = get(near, 0.0) + room[near] * share * score
                near = after[near]
                if near >= 0:
                    base[near] = get(near, 0.0) + room[near] * AFTER_2 * score
            near = before[place]
            if near >= 0:
                base[near] = get(near, 0.0) + room[near] * BEFORE * score
                near = before[near]
                if near >= 0:
                    base[near] = get(near, 0.0) + room[near] * BEFORE_2 * score
        return base

    def _weigh(
        self, base: Mapping[int, float], asked: _Asked, bonus: list[float], rounds: Mapping[int, float]
    ) -> dict[int, float]:
        times, more = self._tables(asked.waits.time, asked.subject)
        session_of, round_of = self._session_of, self._round_of
        whole = {place: score * times[place] + more[place] + bonus[session_of[place]] for place, score in base.items()}
        for place in whole if rounds else ():
            whole[place] += rounds.get(round_of[place], 0.0)
        return whole

    def _tables(self, waits_for_time: bool, subject: frozenset[int]) -> tuple[list[float], list[float]]:
        """By place, what a score is multiplied by and what is added to it, for one kind of question."""
        if len(self._kinds) >= MOST_KINDS:
            self._kinds.clear()
        times, more = self._kinds.setdefault((waits_for_time, subject), ([], []))
        if len(times) < len(self._passages):
            other, ours = _factors(waits_for_time)
            for place in range(len(times), len(self._passages)):
                is_subject = self._speaker_of[place] in subject
                shape = self._shapes[place]
                if self._room[place] < 1:  # it tells much, though it asks too
                    shape &= ~cues.QUESTION
                times.append((ours if is_subject else other)[shape])
                more.append(self._worth[place] + SUBJECT_FLAT if is_subject else self._worth[place])
        return times, more


def _alone(called: Iterable[Mapping[int, Collection[int]]]) -> frozenset[int]:
    """Return the speakers whom a question names, in each chat where it names one alone."""
    of_chat: dict[int, set[int]] = {}
    for chats in called:
        for chat, speakers in chats.items():
            of_chat.setdefault(chat, set()).update(speakers)
    return frozenset(speaker for speakers in of_chat.values() if len(speakers) == 1 for speaker in speakers)


@lru_cache(8)
def _factors(waits_for_time: bool) -> tuple[list[float], list[float]]:
    """By shape, what the score of a passage is multiplied by: when another speaks, and when the subject does."""
    other = []
    for shape in range(cues.SHAPES):
        times = 2 if shape & cues.TIMES else 1 if shape & cues.TIME else 0
        other.append(1 + (ASKING if shape & cues.QUESTION else 0.0) + (WHEN * times if waits_for_time else 0.0))
    return other, [factor + SUBJECT for factor in other]


def _day(at: str) -> date | None:
    try:
        return date.fromisoformat(at[:10])
    except ValueError:
        return None


# Passages kept in RAM for recall, by the file they are from: added where a file grew, made anew where it changed.

MOST_PASSAGES = 50_000
MOST_CHARACTERS = 16_000_000
"""What one source may keep in RAM, the newest of it."""

_STEP = 64  # passages between two looks whether anybody still waits
STRIDE = 1_000  # a beginning that moved with every passage would make the index anew each time


class Budget:
    """How much may still be kept."""

    def __init__(self) -> None:
        self._passages, self._characters = MOST_PASSAGES, MOST_CHARACTERS

    @property
    def full(self) -> bool:
        """Whether nothing more fits."""
        return self._passages <= 0 or self._characters <= 0

    def take(self, passages: list[Passage]) -> list[Passage]:
        """Return the last passages that fit; the beginning moves by `STRIDE` while they grow."""
        start = len(passages)
        while start and not self.full:
            start -= 1
            self._passages -= 1
            self._characters -= len(passages[start].text)
        return passages[-(-start // STRIDE) * STRIDE :] if start else passages


class _File:
    def __init__(self) -> None:
        self.stamp: object = None
        self.passages: list[Passage] = []


class Shelf:
    """The passages of one source in one index, by the file they are from."""

    def __init__(self, roles: Collection[str] = ()) -> None:
        self._roles = roles
        self.index = OrderedRecall(roles=roles)
        self._files: dict[str, _File] = {}
        self._dropped = 0
        self.state: object = None
        self.left_out: list[str] = []

    def get(self, name: str, stamp: object) -> list[Passage] | None:
        """Return the passages of a file when it is in that state, else None."""
        file = self._files.get(name)
        return file.passages if file is not None and file.stamp == stamp else None

    def put(self, name: str, stamp: object, passages: list[Passage], stop: Callable[[], bool]) -> bool:
        """Keep these passages of a file; what it had already stays when they begin with that. False: stopped."""
        file = self._files.get(name)
        if file is not None and file.passages is not passages:
            if passages[: len(file.passages)] != file.passages:
                self.drop(name)
                file = None
        file = file or self._files.setdefault(name, _File())
        if file.passages is not passages:
            for number, passage in enumerate(passages[len(file.passages) :], 1):
                if number % _STEP == 0 and stop():
                    file.stamp = None
                    return False
                self.index.add(passage)
                file.passages.append(passage)
        file.stamp = stamp
        return True

    def drop(self, name: str) -> None:
        """Forget a file."""
        file = self._files.pop(name, None)
        if file is not None:
            for session in {passage.session for passage in file.passages}:
                self.index.forget(session)
            self._dropped += len(file.passages)

    def keep_only(self, names: Collection[str]) -> None:
        """Forget every file but these."""
        for name in [name for name in self._files if name not in names]:
            self.drop(name)

    def tidy(self) -> None:
        """Make the index anew when most of it is forgotten."""
        if self._dropped > max(1_000, len(self.index) // 2):
            self.index = OrderedRecall((one for file in self._files.values() for one in file.passages), self._roles)
            self._dropped = 0
