"""What SOUL.md, USER.md and MEMORY.md say, statement by statement, and whether a text says only what one of them says.

Two texts say the same when each content word of one stands in the other: numbers exactly, denials as often, other words
but for their ending or one slip (rapidfuzz). Errs towards different: what adds a word adds something.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.language import spoken
from nanomem_tui.language.met_words import is_worth_knowing
from nanomem_tui.language.stemming import stem
from nanomem_tui.language.tokens import fold

LEAST = 2
"""Content words that a statement has at least: one word alone is in too many texts."""
LEAST_CHARACTERS = 4
"""The same for a script without spaces."""
SLIP = 6
"""Letters that a word has at least in which one may differ."""


class Statement(NamedTuple):
    """One statement of a boot file: the file, its line from 1, the line, its content words in order, and those of the
    headings above it."""

    file: str
    line: int
    text: str
    words: tuple[str, ...]
    above: frozenset[str]


class Book:
    """The statements of all boot files, found by their words."""

    def __init__(self, files: Iterable[tuple[str, str]]) -> None:
        texts = list(files)
        self.names = frozenset(word for _, text in texts for word in _names(text))
        self._by_word: dict[str, list[Statement]] = {}
        self._by_run: dict[str, Statement] = {}
        self._known: set[str] = set()
        self._strange = _Strange(self._strangeness)
        for name, text in texts:
            for statement, bare in self._statements(name, text):
                self._known.update(statement.words, statement.above)
                if run := _run(bare, self.names):
                    self._by_run.setdefault(run, statement)
                for word in set(statement.words):
                    self._by_word.setdefault(word, []).append(statement)

    def find(self, text: str) -> Statement | None:
        """The statement that says all that `text` says; None where none does."""
        if not self._by_word and not self._by_run:
            return None
        wide = not text.isascii() and _WIDE.search(text) is not None
        if wide and (found := self._by_run.get(_run(text, self.names))) is not None:
            return found
        words = self._content(text)
        if words is None or len(set(words)) < LEAST:
            return None
        candidates = {id(one): one for word in words for one in self._by_word.get(word, ())}
        return next((one for one in candidates.values() if self._same(words, one)), None)

    def _content(self, text: str) -> tuple[str, ...] | None:
        """The content words of a text; None as soon as two of them stand in no boot file: most texts end here."""
        if sum(map(self._strange.__getitem__, text.split())) > 1:
            return None
        return self._words(text)

    def _strangeness(self, text: str) -> int:
        """How many content words stand in no boot file; one that cannot be a slip counts twice."""
        strange = 0
        for word in _each(text):
            if word in LIGHT or word in self.names or word in ROLES:
                continue
            kept = stem(word)
            if kept not in self._known and kept not in SOFT:
                strange += 1 if len(word) >= SLIP and word.isalpha() else 2
        return strange

    def _same(self, words: Sequence[str], said: Statement) -> bool:
        wanted, there = set(words), set(said.words)
        missing = wanted - there - said.above
        if sum(word in DENIALS for word in words) != sum(word in DENIALS for word in said.words):
            return False
        more = there - wanted
        if not _part(wanted) or not _part(there) or _part(wanted) == _part(there):
            missing, more = missing - SOFT.keys(), more - SOFT.keys()
        if len(missing) > 1 or len(more) > len(missing):
            return False
        if missing and not _slip(next(iter(missing)), more):
            return False
        if len(wanted & there) < LEAST - bool(missing):
            return False
        return not there & ROLES or _in_order(words, said.words)

    def _statements(self, name: str, text: str) -> Iterator[tuple[Statement, str]]:
        headings: list[tuple[int, frozenset[str]]] = []
        fenced = False
        for number, line in enumerate(_COMMENT.sub(_blank_lines, text).split("\n"), 1):
            if line.lstrip().startswith(("```", "~~~")):
                fenced = not fenced
                continue
            if fenced or not line.strip():
                continue
            if heading := _HEADING.match(line):
                level = len(heading[1])
                headings = [one for one in headings if one[0] < level]
                headings.append((level, frozenset(self._words(heading[2]))))
                continue
            above = frozenset().union(*(words for _, words in headings))
            yield from self._clauses(name, number, line, above)

    def _clauses(self, name: str, number: int, line: str, above: frozenset[str]) -> Iterator[tuple[Statement, str]]:
        bare = _MARKUP.sub("", _BULLET.sub("", line)).strip()
        parts = [bare, *(_CLAUSE.split(bare) if _CLAUSE.search(bare) else ())]
        for part in dict.fromkeys(parts):
            words = self._words(part)
            if len(set(words)) >= LEAST or (len(_run(part, self.names)) >= LEAST_CHARACTERS):
                yield Statement(name, number, line.strip(), words, above), part

    def _words(self, text: str) -> tuple[str, ...]:
        return _without_roles([stem(word) for word in _each(text) if word not in LIGHT and word not in self.names])


class _Strange(dict[str, int]):
    """How strange words are to a book: each is judged once for all texts that hold it."""

    def __init__(self, judge: Callable[[str], int]) -> None:
        self._judge = judge

    def __missing__(self, word: str) -> int:
        judged = self._judge(word)
        if is_worth_knowing(word, len(self)):
            self[word] = judged
        return judged


def _each(text: str) -> Iterator[str]:
    for found in _WORD.finditer(fold(text).replace("’", "'")):
        word = found[0]
        if word.endswith("n't"):
            yield "not"
        else:
            yield word.removesuffix("'s")


def _names(text: str) -> Iterator[str]:
    """How the user is called in a boot file, each word of the name."""
    for name in spoken.names_given(text):
        yield from (word.removesuffix("'s") for word in _WORD.findall(fold(name)))


def _run(text: str, names: frozenset[str]) -> str:
    """A text of a script without spaces as it is compared: signs, particles, and who it is about left out."""
    if text.isascii() or not _WIDE.search(text):
        return ""
    bare = spoken.without_roles(re.sub(r"[\W_]+", "", fold(text)))
    for name in names:
        if not name.isascii():
            bare = bare.replace(name, "")
    return bare if len(bare) >= LEAST_CHARACTERS else ""


def _without_roles(words: Sequence[str]) -> tuple[str, ...]:
    """The words; `from` and `to` only where both are there, and say which is which."""
    return tuple(words) if set(words) >= ROLES else tuple(word for word in words if word not in ROLES)


def _part(words: Iterable[str]) -> frozenset[str]:
    """What somebody, or something, does in these words: to work, to live, to run, to be called."""
    return frozenset(SOFT[word] for word in words if word in SOFT)


def _slip(word: str, others: Iterable[str]) -> bool:
    from rapidfuzz.distance import OSA

    if len(word) < SLIP or not word.isalpha():
        return False
    return any(len(other) >= SLIP and OSA.distance(word, other, score_cutoff=1) <= 1 for other in others)


def _in_order(words: Sequence[str], said: Sequence[str]) -> bool:
    shared = set(words) & set(said)
    return [word for word in words if word in shared] == [word for word in said if word in shared]


def _blank_lines(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


LIGHT = frozenset(
    "a an the this that these those is are was were be been being am 's of in on at for with by as and or it its "
    "he she they them his her their i me my mine we our us you your user user's users has have had does do did "
    "also so than likes like liked prefers prefer preferred wants want loves love enjoys enjoy uses use used "
    "using goes go going called named which who please should must will would can always currently now very "
    "really just here there about remember note assistant agent all every each".split()
)
"""Words that add nothing to a statement about the user."""
ROLES = frozenset(("from", "to"))
SOFT = {
    stem(word): kind
    for kind, many in (
        ("work", "work job duty employed profession"), ("live", "live based home residence"),
        ("run", "run hosted host stand kept"), ("name", "name title"),
    )
    for word in many.split()
}  # fmt: skip
"""Words that a statement may do without, where the other one has them, or another one of the same kind."""
DENIALS = frozenset("not no never none neither nor without hate dislike avoid stop except".split())
_WORD = re.compile(r"[^\W_]+(?:['.:/@_]+[^\W_]+)*(?:'s)?|\+")
_WIDE = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s*)?|^\s*>\s?")
_MARKUP = re.compile(r"\*\*|__|`|(?<!\w)\*|\*(?!\w)")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_CLAUSE = re.compile(r"(?<=[.;!?])\s+|[；。！？]")


@lru_cache(8)
def book_of(files: tuple[tuple[str, str], ...]) -> Book:
    """The statements of these files, each its name and its text."""
    return Book(files)
