"""Where a new line goes: the file by what the line is, the section whose lines are alike, else a new heading.

Owns the outline of the memory files and the choice among its sections. Must not know which lines are written, or why.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.dream import details
from nanomem_tui.dream.facts import MEMORY, SOUL, USER, Fact
from nanomem_tui.formats import markdown
from nanomem_tui.language import lines, reader
from nanomem_tui.language.detect import language_of
from nanomem_tui.language.spoken import is_of, subject_of
from nanomem_tui.language.tokens import tokens
from nanomem_tui.language.topics import names_of_heading, title_of, topics_of_heading, topics_of_line

_LIKELY = {
    "person": {USER: 2.0},
    "preference": {USER: 4.0},
    "rule": {SOUL: 4.5},
    "decision": {MEMORY: 1.6},
    "project": {MEMORY: 2.4},
    "event": {MEMORY: 0.7},
}
"""How much a file is to be preferred for a line, by what the line is."""
_HOME = {"person": "identity", "preference": "preferences", "rule": "style", "decision": "decisions"}
_SUBJECTS = {USER: ("family", "health", "work"), MEMORY: ("servers", "school", "money", "clients", "home", "projects")}
_PERSONAL = frozenset({"family", "health", "identity"})
"""Subjects of USER.md; of others a section may be anywhere."""
_PREFERRED = 0.8  # how likely a line is a preference, to go where these are
_BY_FILE = 1.5  # how much the file counts beside what a section has in common with a line
_CLEAR = 0.7  # how far ahead of the next one a section has to be
_ALIKE = 2.2  # how much a line has to have in common with a section to go there
_SHORT, _LENGTH = 4, 5  # letters of a word that is kept whole but for one, and of any other
_READ = 12  # lines of a section by which it is known what kind they are


class Place(NamedTuple):
    """A file, and the title of a section of it that is there or will be. `sure`: whether something speaks for it."""

    file: str
    section: str
    sure: bool = True


class _Section(NamedTuple):
    """A section: its title, the topics of it, the words of its title, and those of each of its lines."""

    file: str
    title: str
    topics: frozenset[str]
    heading: frozenset[str]
    lines: tuple[frozenset[str], ...]
    labels: Mapping[str, float]


@lru_cache(16384)
def stems(text: str) -> frozenset[str]:
    """Return the words of a text that say what it is about, each cut to its beginning."""
    common = reader.pack(language_of(text)).common
    words = (word for word in tokens(text) if len(word) > 1 and word not in common and not word.isdigit())
    return frozenset(map(_stem, words))


def _stem(word: str) -> str:
    """The beginning of a word, without what its forms end in."""
    if not word.isalpha() or len(word) < _SHORT or "\u3040" <= word[0] <= "\u9fff":
        return word
    return word[: min(_LENGTH, len(word) - (2 if "\u0400" <= word[0] <= "\u04ff" and len(word) > _SHORT else 1))]


class Outline:
    """The sections of the memory files as they are now."""

    def __init__(self, files: Mapping[str, str], owner: str = "") -> None:
        self._owner = owner
        self._files: dict[str, str] = {}
        self._of: dict[str, tuple[_Section, ...]] = {}
        self._found = Counter[str]()
        self._named: dict[str, frozenset[str]] = {}
        self.read(files)

    def read(self, files: Mapping[str, str]) -> None:
        """Take over the files as they are now."""
        for name, text in files.items():
            if self._files.get(name) is not text:
                self._files[name] = text
                before, now = self._of.get(name, ()), _sections_of(name, text)
                for section in before:
                    if section not in now:
                        self._found.subtract(_words_of(section))
                for section in now:
                    if section not in before:
                        self._found.update(_words_of(section))
                self._of[name] = now
                if name != SOUL:
                    self._named[name] = _names(text) - stems(self._owner)
        self._sections = [section for sections in self._of.values() for section in sections]

    def place(self, fact: Fact) -> Place:
        """Return where a fact goes."""
        if fact.person:
            return self._home(fact, MEMORY, "people")
        about = topics_of_line(fact.text)
        likely = {fact.file: 50.0} if fact.file else self._likely(fact, about)
        words = stems(f"{fact.under} {fact.text}") - stems(self._owner)
        scored = sorted(
            (
                (alike + _BY_FILE * likely.get(section.file, 0.0), alike, section.file, section.title)
                for section in self._sections
                if section.file != SOUL or SOUL in likely
                for alike in (self._alike(section, words, about, fact.label),)
            ),
            reverse=True,
        )
        if scored and scored[0][1] >= _ALIKE:
            clear = len(scored) == 1 or scored[0][0] - scored[1][0] >= _CLEAR
            return Place(*scored[0][2:], clear and scored[0][2] != SOUL)
        file = max(likely, key=likely.__getitem__)
        if file == MEMORY and (name := " ".join(fact.under.strip("*#:： ").split())) and names_of_heading(name):
            return Place(file, name)
        here = self._of.get(file, ())
        if not here and markdown.bullets(self._files.get(file, "")):
            return Place(file, "")  # a file that is one list
        sure = bool(fact.file) or (file != SOUL and (not here or fact.kinds.get("preference", 0.0) >= _PREFERRED))
        topic = "style" if file == SOUL else _HOME.get(fact.label, "")
        own = next((one for one in _SUBJECTS.get(file, ()) if one in about), "")
        return self._home(fact, file, own or topic or "notes", topic)._replace(sure=sure)

    def _likely(self, fact: Fact, about: frozenset[str]) -> dict[str, float]:
        """How likely each file is: by what the line may be, and by whom it is about."""
        likely = {USER: 0.0, MEMORY: 0.0}
        for label, share in fact.kinds.items():
            for file, weight in _LIKELY[label].items():
                likely[file] = likely.get(file, 0.0) + share * weight
        if is_of(fact.text, self._owner) or about & _PERSONAL:
            likely[USER] += 1.2
        elif not stems(fact.text) & self._named[USER]:
            known = stems(subject_of(fact.text)) & self._named[MEMORY]
            likely[USER] -= 2.5 if known or fact.label not in ("person", "event") else 0.0
        return {file: weight for file, weight in likely.items() if file != SOUL or weight > 2.2}

    def _home(self, fact: Fact, file: str, topic: str, other: str = "") -> Place:
        """The section of a topic, or a general one, or a new heading."""
        here = self._of.get(file, ())
        for wanted in dict.fromkeys(
            (topic, other, *(("notes", "projects") if file == MEMORY and topic != "people" else ()))
        ):
            if found := next((section for section in here if wanted in section.topics), None):
                return Place(file, found.title)
        if not any(text.strip() for text in (self._files.get(file, ""),)):
            return Place(file, title_of(topic, fact.text))
        return Place(file, title_of(topic, f"{self._files.get(file, '')[:400]} {fact.text}"))

    def _alike(self, section: _Section, words: frozenset[str], about: frozenset[str], label: str) -> float:
        """How much a line has in common with a section: words of its heading, of its lines, its subject, its kind."""
        best = max((self._weight(words & line) for line in section.lines), default=0.0)
        heading = self._weight(words & section.heading)
        topics = 4.0 if about & section.topics else 0.0
        topics += 1.0 if "family" in about & section.topics else 0.0
        own = 2.0 if label != "person" and _HOME.get(label) in section.topics else 0.0
        return best + 1.2 * heading + topics + own + section.labels.get(label, 0.0)

    def _weight(self, words: Iterable[str]) -> float:
        count = len(self._sections)
        return sum(math.log(1 + count / found) for word in words if (found := self._found[word]) > 0)


def _names(text: str) -> frozenset[str]:
    """The words of the names in a file."""
    return frozenset[str]().union(*map(_names_of_line, text.split("\n")))


@lru_cache(16384)
def _names_of_line(line: str) -> frozenset[str]:
    return frozenset[str]().union(*map(stems, details.details(line)))


def _words_of(section: _Section) -> frozenset[str]:
    return section.heading.union(*section.lines)


@lru_cache(32)
def _sections_of(name: str, text: str) -> tuple[_Section, ...]:
    """The sections of a file that may take a line: not its title, where others follow, and no list of boxes."""
    found = []
    for part in markdown.sections(text):
        if part.level <= 1:
            continue
        filled = [line for line in part.lines if line.strip()]
        if filled and all(line.lstrip()[:6] in ("- [ ] ", "- [x] ", "- [X] ") for line in filled):
            continue
        labels = Counter(lines.read(line, part.title).label for line in filled[:_READ])
        whole = sum(labels.values()) or 1
        found.append(
            _Section(
                name,
                part.title,
                topics_of_heading(part.title),
                stems(part.title),
                tuple(stems(line) for line in filled),
                {label: count / whole for label, count in labels.items()},
            )
        )
    return tuple(found)
