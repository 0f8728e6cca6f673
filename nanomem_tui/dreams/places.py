"""Where a new line goes: the section of the memory files whose title, lines and subject are most like it, else a new
heading of its subject.

Owns the outline of the memory files and the choice among its sections, which is learned from labelled lines
(`scripts/language/teach_places.py`). Must not know which lines are written, or why.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.agents import markdown
from nanomem_tui.dreams import edits
from nanomem_tui.dreams.entries import MEMORY, SOUL, USER, Fact
from nanomem_tui.language import compare, reader, sentences
from nanomem_tui.language.detect import language_of
from nanomem_tui.language.pair_features import LIGHT
from nanomem_tui.language.spoken import is_of, subject_of
from nanomem_tui.language.statement import meaning, statement
from nanomem_tui.language.tokens import tokens
from nanomem_tui.language.topics import (
    cues_of,
    names_of_heading,
    title_of,
    topics_of_heading,
    topics_of_line,
    without_paths,
)
from nanomem_tui.language.values import values

VERSION = 4
"""Changes when the features do: the pack is made anew."""
_HOME = {"person": "identity", "preference": "preferences", "rule": "style", "decision": "decisions"}
"""The subject of a section that is made for a line of a kind which is about nothing else that is known."""
_SURE = 0.6  # how likely a section has to be right
_CLEARLY = 0.5  # … and how much likelier than any other
_NAMED = 0.25  # how likely a section has to be right to be made under a heading of its subject
_LIKELY = (0.2, 0.4)  # … to be proposed; to take a line that the agent marked, which nobody looks at
_TASTE = 0.8  # how likely a line has to be a preference, to go where these are
_SURELY_RULE = 0.8  # how likely a line has to be a rule for the assistant, to be written among its rules unseen
_OF_SOMEBODY = frozenset({"health", "family"})
_RULE = 0.5  # how likely a line has to be a rule for the assistant, to go nowhere but to its own file
_DOUBTFUL = frozenset({"stranger", "joke", "fiction", "unsure", "hearsay", "hedge", "if"})
_SHORT, _LENGTH = 4, 5  # letters of a word that is kept whole but for one, and of any other
_LITTLE = frozenset("mark freq day part do:start do:take do:make do:plan do:want do:keep do:please do:leave".split())
"""Meanings of words that tell little of what a line is about."""
_BEGINS = 3  # words of a line in which it says what it is of
_READ = 30  # lines of a section by which it is known what it is about


class Place(NamedTuple):
    """A file, and the title of a section of it that is there or will be. `sure`: whether a person need not look."""

    file: str
    section: str
    sure: bool = True


class Section(NamedTuple):
    """A section that is there, or may be made: its title, what that says and names, and of each line the words."""

    file: str
    title: str
    topics: frozenset[str]
    heading: frozenset[str]
    lines: tuple[frozenset[str], ...] = ()
    labels: Mapping[str, float] = {}
    about: Mapping[str, float] = {}
    means: Mapping[str, float] = {}
    kinds: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    is_new: bool = False


class Candidate(NamedTuple):
    """A section for a fact, and what speaks for it or against it."""

    section: Section
    features: set[str]


@lru_cache(16384)
def stems(text: str) -> frozenset[str]:
    """Return the words of a text that say what it is about, each cut to its beginning."""
    common = reader.pack(language_of(text)).common
    words = (word for word in tokens(text) if len(word) > 1 and word not in common and not word.isdigit())
    return frozenset(map(_stem, words))


@lru_cache(16384)
def _subject_stems(text: str) -> frozenset[str]:
    """The stems of a text without what says only when, how often, or that something begins."""
    text = without_paths(text)
    for value in values(text):
        if value.kind in ("date", "time"):
            text = text[: value.start] + " " * (value.end - value.start) + text[value.end :]
    language = language_of(text)
    words = (word for word in tokens(text) if not _tells_little(word, language))
    return stems(text) & frozenset(map(_stem, words))


@lru_cache(16384)
def _tells_little(word: str, language: str) -> bool:
    means = meaning(word, language)
    return any(mean in _LITTLE or mean.partition(":")[0] in _LITTLE for mean in means)


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
        self._of: dict[str, tuple[Section, ...]] = {}
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
                self._named[name] = _names(text) - stems(self._owner)
        self._sections = [section for sections in self._of.values() for section in sections]

    def place(self, fact: Fact) -> Place:
        """Return where a fact goes."""
        learned = compare.pack("places")
        scored = [(learned.shares(found.features)["yes"], found.section) for found in self.candidates(fact)]
        share, best = max(scored, key=lambda pair: pair[0])
        general = [pair for pair in scored if pair[1].is_new or "notes" in pair[1].topics]
        other, own = max(general, key=lambda pair: pair[0], default=(0.0, best))
        if share < _LIKELY[bool(fact.mark)] and other > share / 2:
            # rather a heading of its own than one that says something else
            best = own
        if best.is_new and best.file == MEMORY and share < _NAMED:  # rather a plain heading than a wrong one
            best = next((one for _, one in general if one.file == MEMORY and "notes" in one.topics), best)
        if best.is_new and best.file == MEMORY and fact.label in ("person", "preference") and not fact.person:
            made = [pair for pair in scored if pair[1].is_new and pair[1].title == best.title]
            share, best = next((pair for pair in made if pair[1].file == USER and pair[0] >= share / 2), (share, best))
        rivals = [share for share, one in scored if one is not best and _is_rival(one, best)]
        return Place(best.file, best.title, self._is_sure(fact, best, share, max(rivals, default=0.0)))

    def _is_sure(self, fact: Fact, best: Section, share: float, second: float) -> bool:
        """Whether a section is so surely the right one for a fact, and no other one, that nobody has to look."""
        if best.file == SOUL:
            is_of_somebody = subject_of(fact.text) != "" or not topics_of_line(fact.text).isdisjoint(_OF_SOMEBODY)
            is_rule = fact.kinds.get("rule", 0.0) >= _SURELY_RULE
            return fact.mark is not None and is_rule and not is_of_somebody and not doubts(fact.text)
        if fact.mark == "permanent":
            return True
        is_first = best.is_new and not self._of.get(best.file)  # a file without sections
        is_taste = best.file == USER and fact.kinds.get("preference", 0.0) >= _TASTE
        if is_first or (is_taste and "preferences" in best.topics):
            return is_taste or fact.mark is not None
        may_be_made = not best.is_new or (best.file == USER and fact.mark is not None)
        return share >= _SURE and share >= second + _CLEARLY and may_be_made

    def candidates(self, fact: Fact) -> list[Candidate]:
        """Return the sections that a fact may go to, those included that would be made, and what speaks for each."""
        about = topics_of_line(fact.text)
        words = _subject_stems(f"{fact.under} {fact.text}") - stems(self._owner)
        said = without_paths(fact.text)
        names = (_names_of_line(said) | stems(subject_of(said))) - stems(self._owner)
        first = _names_of_line(" ".join(said.split()[:_BEGINS])) - stems(self._owner) - stems("Project")
        sections = [one for one in self._sections if not _is_of_another_project(one, first, fact)]
        sections += self._made(fact, about, sections)
        if fact.person:
            sections = [one for one in sections if one.file == MEMORY and "people" in one.topics]
        elif (file := fact.file or (SOUL if fact.kinds.get("rule", 0.0) >= _RULE else "")) and any(
            one.file == file for one in sections
        ):
            sections = [one for one in sections if one.file == file]
        shared = [max(map(self._weight, (words & line for line in one.lines)), default=0.0) for one in sections]
        named = [self._weight(words & one.heading) for one in sections]
        common = {*self._facts_of(fact, about, words)}
        means = means_of(fact.text)
        kinds = {value.kind for value in values(fact.text)}
        whole = self._weight(words) + math.log(1 + 2 * len(sections)) * sum(self._found[word] <= 0 for word in words)
        known = Counter(name for one in sections for name in names & (one.names | one.heading))
        found = []
        for n, one in enumerate(sections):
            features = {f"{one.file} {feature}" for feature in common}
            features |= {f"new {feature}" for feature in common} if one.is_new else set()
            for name, all_ in (("lines", shared), ("heading", named)):
                features.update(f"{name} {step}" for step in (0.1, 1, 2, 3, 4, 6) if all_[n] >= step)
                features.update(f"{name} share {step}" for step in (0.1, 0.2, 0.4, 0.6) if all_[n] >= step * whole > 0)
                if all_[n] and all_[n] == max(all_):
                    features.add(f"{name} most")
            if called := _called(one.title):
                both = words & called
                features.add(f"called {'all' if both == called else 'part' if both else 'otherwise'}")
            for name in names & (one.names | one.heading):
                features.add("name here only" if known[name] == 1 else "name here too")
            if not names & (one.names | one.heading) and known:
                features.add("name elsewhere")
            features.update(_of_subject(one, about, means, kinds, fact))
            found.append(Candidate(one, features))
        return found

    def _facts_of(self, fact: Fact, about: frozenset[str], words: frozenset[str]) -> Iterator[str]:
        """What of a fact says which file it belongs to."""
        yield "always"
        for label, share in fact.kinds.items():
            yield from (f"{label} {step}" for step in (0.2, 0.4, 0.6, 0.8) if share >= step)
        yield from (f"about {topic}" for topic in about)
        yield from (f"means {group}" for group in {one.partition(":")[0] for one in means_of(fact.text)})
        yield "of the owner" if is_of(fact.text, self._owner) else "of something else"
        subject = stems(subject_of(fact.text))
        for name, known in self._named.items():
            if words & known:
                yield f"names of {name}"
            if subject & known:
                yield f"subject of {name}"
        if fact.person:
            yield "said by somebody"

    def _made(self, fact: Fact, about: frozenset[str], there: Sequence[Section]) -> Iterator[Section]:
        """The sections that could be made for a fact, beside those that may take it: of its subjects, of its kind, and
        for notes."""
        name = " ".join(fact.under.strip("*#:： ").split())
        if name and len(name) <= 40 and names_of_heading(name):
            yield Section(MEMORY, name, topics_of_heading(name), stems(name), is_new=True)
        topics = [*sorted(about), "people" if fact.person else _HOME.get(fact.label, "notes"), "notes"]
        for file in (USER, MEMORY, *((SOUL,) if fact.label == "rule" or fact.file == SOUL else ())):
            here = self._of.get(file, ())
            if not here and markdown.bullets(self._files.get(file, "")):
                yield Section(file, "", frozenset(), frozenset(), is_new=True)  # a file that is one list
                continue
            for topic in dict.fromkeys(topics if file != SOUL else ("style",)):
                if not any(topic in section.topics for section in there if section.file == file):
                    text = f"{self._files.get(file, '')[:400]} {fact.text}"
                    title = title_of(topic, text if self._files.get(file, "").strip() else fact.text)
                    yield Section(file, title, frozenset({topic}), frozenset(), is_new=True)

    def _weight(self, words: Iterable[str]) -> float:
        count = len(self._sections)
        return math.fsum(math.log(1 + count / found) for word in words if (found := self._found[word]) > 0)


def _of_subject(
    one: Section, about: frozenset[str], means: frozenset[str], kinds: set[str], fact: Fact
) -> Iterator[str]:
    """What a section is about, held against what a fact is about."""
    yield "new" if one.is_new else f"there {min(len(one.lines), 3)}"
    if not one.title:
        yield "one list"
    if about & one.topics:
        yield "topic"
        yield "topic new" if one.is_new else "topic there"
    yield from (f"topic {topic}" for topic in about & one.topics)
    for topic in one.topics or {"nothing"}:
        yield f"under {topic}"
        yield f"{fact.label} under {topic}"
        yield from (f"about {other} under {topic}" for other in about or {"nothing"})
        yield from (f"{group} under {topic}" for group in {mean.partition(":")[0] for mean in means})
        yield from (f"{kind} under {topic}" for kind in kinds)
    alike = max((one.about.get(topic, 0.0) for topic in about), default=0.0)
    yield from (f"lines about it {step}" for step in (0.1, 0.3, 0.6) if alike >= step)
    for group in {mean.partition(":")[0] for mean in means}:
        share = max((part for mean, part in one.means.items() if mean.startswith(f"{group}:")), default=0.0)
        yield from (f"lines mean {group} {step}" for step in (0.1, 0.4) if share >= step)
    same = max((one.means.get(mean, 0.0) for mean in means), default=0.0)
    yield from (f"lines mean it {step}" for step in (0.05, 0.2, 0.5) if same >= step)
    yield from (f"lines are {step}" for step in (0.1, 0.3, 0.6) if one.labels.get(fact.label, 0.0) >= step)
    yield from (f"kind {kind}" for kind in kinds & one.kinds)


def _is_rival(section: Section, best: Section) -> bool:
    """Whether a line that belongs to a section would be wrong in another one: not in one for the same."""
    return section.file != SOUL and not section.is_new and section.topics.isdisjoint(best.topics)


def doubts(text: str) -> bool:
    """Whether a line is only supposed, heard, a joke, or said by a stranger."""
    return not (cues_of(text) | statement(text).marks).isdisjoint(_DOUBTFUL)


def _is_of_another_project(section: Section, names: frozenset[str], fact: Fact) -> bool:
    """Whether a section is of a project with a name, and a fact begins with another name."""
    if "projects" not in section.topics or not names or names & (section.names | section.heading):
        return False
    named = edits.telling(section.title)
    return bool(named) and not named & edits.words(f"{fact.under} {fact.text}")


@lru_cache(4096)
def _called(title: str) -> frozenset[str]:
    """The words of a title that name somebody or something."""
    return stems(" ".join(names_of_heading(title)))


@lru_cache(4096)
def means_of(text: str) -> frozenset[str]:
    """Return what the words of a text mean, in any language: `kin:son`, `do:drink`."""
    return frozenset(mean for token in statement(text).tokens for mean in token.notions) - LIGHT


def _names(text: str) -> frozenset[str]:
    """The words of the names in a file."""
    return frozenset[str]().union(*map(_names_of_line, text.split("\n")))


@lru_cache(16384)
def _names_of_line(line: str) -> frozenset[str]:
    return frozenset[str]().union(*map(stems, edits.details(line)))


def _words_of(section: Section) -> frozenset[str]:
    return section.heading.union(*section.lines)


@lru_cache(32)
def _sections_of(name: str, text: str) -> tuple[Section, ...]:
    """The sections of a file that may take a line: not its title, where others follow, and no list of boxes."""
    found = []
    for part in markdown.sections(text):
        if part.level <= 1:
            continue
        filled = [line for line in part.lines if line.strip()]
        if filled and all(line.lstrip()[:6] in ("- [ ] ", "- [x] ", "- [X] ") for line in filled):
            continue
        first = filled[:_READ]
        found.append(
            Section(
                name,
                part.title,
                topics_of_heading(part.title),
                stems(part.title),
                tuple(map(_subject_stems, filled)),
                _shares([sentences.read(line, part.title).label] for line in first),
                _shares(map(topics_of_line, first)),
                _shares(map(means_of, first)),
                frozenset(value.kind for line in first for value in values(line)),
                _names("\n".join(filled)) | frozenset[str]().union(*map(_subject_stems, filled)),
            )
        )
    return tuple(found)


def _shares(of_lines: Iterable[Iterable[str]]) -> dict[str, float]:
    """How many of the lines have each of what is found in them, from 0 to 1."""
    found = [set(one) for one in of_lines]
    counts = Counter(name for one in found for name in one)
    return {name: count / len(found) for name, count in counts.items()}
