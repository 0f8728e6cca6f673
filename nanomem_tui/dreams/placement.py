"""Place a fact in the memory files: which section it belongs to, and which line it repeats or replaces.

Owns the outline of the memory files, the choice among its sections, and the relation of a fact to the lines near it.
Both choices are learned from labelled lines (`scripts/language/teach_places.py`). Must not know why a fact is written.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.agents import markdown
from nanomem_tui.dreams import edits
from nanomem_tui.dreams.edits import details, opens_list, unaccounted_details
from nanomem_tui.dreams.entries import MEMORY, SOUL, USER, Fact
from nanomem_tui.language import classify, sentences
from nanomem_tui.language.classify import (
    cues_of,
    is_wide,
    language_of,
    names_of_heading,
    title_of,
    topics_of_heading,
    topics_of_line,
    without_paths,
)
from nanomem_tui.language.statements import compare
from nanomem_tui.language.statements.compare import pack, shares_of
from nanomem_tui.language.statements.pair_features import LIGHT, difference, leaves_open, limits
from nanomem_tui.language.statements.statement import (
    denied_value,
    exchanged,
    is_of,
    meaning,
    statement,
    subject_of,
    without_denied,
)
from nanomem_tui.language.statements.values import Value, values
from nanomem_tui.language.tokens import fold, tokens

PLACES_MODEL_VERSION = 4
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


class SectionPlace(NamedTuple):
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


class SectionCandidate(NamedTuple):
    """A section for a fact, and what speaks for it or against it."""

    section: Section
    features: set[str]


@lru_cache(16384)
def stems(text: str) -> frozenset[str]:
    """Return the words of a text that say what it is about, each cut to its beginning."""
    common = classify.pack(language_of(text)).common
    words = (word for word in tokens(text) if len(word) > 1 and word not in common and not word.isdigit())
    return frozenset(map(_stem, words))


@lru_cache(16384)
def _subject_stems(text: str) -> frozenset[str]:
    """Return the stems of a text without what says only when, how often, or that something begins."""
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
    """Return the beginning of a word, without what its forms end in."""
    if not word.isalpha() or len(word) < _SHORT or "\u3040" <= word[0] <= "\u9fff":
        return word
    return word[: min(_LENGTH, len(word) - (2 if "\u0400" <= word[0] <= "\u04ff" and len(word) > _SHORT else 1))]


class Outline:
    """The sections of the memory files as they are now."""

    def __init__(self, files: Mapping[str, str], owner: str = "") -> None:
        self._owner = owner
        self._files: dict[str, str] = {}
        self._of: dict[str, tuple[Section, ...]] = {}
        self._named: dict[str, frozenset[str]] = {}
        self.read(files)

    def read(self, files: Mapping[str, str]) -> None:
        """Take over the files as they are now."""
        for name, text in files.items():
            if self._files.get(name) is not text:
                self._files[name], self._of[name] = text, _sections_of(name, text)
                self._named[name] = _names(text) - stems(self._owner)
        self._sections = [section for sections in self._of.values() for section in sections]
        self._found = Counter(word for one in self._sections for word in one.heading.union(*one.lines))

    def find_place(self, fact: Fact) -> SectionPlace:
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
        return SectionPlace(best.file, best.title, self._is_sure(fact, best, share, max(rivals, default=0.0)))

    def _is_sure(self, fact: Fact, best: Section, share: float, second: float) -> bool:
        """Return whether a section is so surely the right one for a fact, and no other one, that nobody has to look."""
        if best.file == SOUL:
            is_of_somebody = subject_of(fact.text) != "" or not topics_of_line(fact.text).isdisjoint(_OF_SOMEBODY)
            is_rule = fact.kinds.get("rule", 0.0) >= _SURELY_RULE
            return fact.mark is not None and is_rule and not is_of_somebody and not is_doubtful(fact.text)
        if fact.mark == "permanent":
            return True
        is_first = best.is_new and not self._of.get(best.file)  # a file without sections
        is_taste = best.file == USER and fact.kinds.get("preference", 0.0) >= _TASTE
        if is_first or (is_taste and "preferences" in best.topics):
            return is_taste or fact.mark is not None
        may_be_made = not best.is_new or (best.file == USER and fact.mark is not None)
        return share >= _SURE and share >= second + _CLEARLY and may_be_made

    def candidates(self, fact: Fact) -> list[SectionCandidate]:
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
            found.append(SectionCandidate(one, features))
        return found

    def _facts_of(self, fact: Fact, about: frozenset[str], words: frozenset[str]) -> Iterator[str]:
        """Yield what of a fact says which file it belongs to."""
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
        """Yield the sections that could be made for a fact: of its subjects, of its kind, and for notes."""
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
    """Yield what a section is about, held against what a fact is about."""
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
    """Return whether a line that belongs to a section would be wrong in another one: not in one for the same."""
    return section.file != SOUL and not section.is_new and section.topics.isdisjoint(best.topics)


def is_doubtful(text: str) -> bool:
    """Return whether a line is only supposed, heard, a joke, or said by a stranger."""
    return not (cues_of(text) | statement(text).marks).isdisjoint(_DOUBTFUL)


def _is_of_another_project(section: Section, names: frozenset[str], fact: Fact) -> bool:
    """Return whether a section is of a project with a name, and a fact begins with another name."""
    if "projects" not in section.topics or not names or names & (section.names | section.heading):
        return False
    named = edits.heading_subjects(section.title)
    return bool(named) and not named & edits.meaningful_words(f"{fact.under} {fact.text}")


@lru_cache(4096)
def _called(title: str) -> frozenset[str]:
    """Return the words of a title that name somebody or something."""
    return stems(" ".join(names_of_heading(title)))


@lru_cache(4096)
def means_of(text: str) -> frozenset[str]:
    """Return what the words of a text mean, in any language: `kin:son`, `do:drink`."""
    return frozenset(mean for token in statement(text).tokens for mean in token.notions) - LIGHT


def _names(text: str) -> frozenset[str]:
    """Return the words of the names in a file."""
    return frozenset[str]().union(*map(_names_of_line, text.split("\n")))


@lru_cache(16384)
def _names_of_line(line: str) -> frozenset[str]:
    return frozenset[str]().union(*map(stems, edits.details(line)))


@lru_cache(32)
def _sections_of(name: str, text: str) -> tuple[Section, ...]:
    """Return the sections of a file that may take a line: not its title, where others follow, and no list of boxes."""
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
    """Return how many of the lines have each of what is found in them, from 0 to 1."""
    found = [set(one) for one in of_lines]
    counts = Counter(name for one in found for name in one)
    return {name: count / len(found) for name, count in counts.items()}


# The lines of the memory files as statements: list lines and rows of tables, each with what it stands under.

LONGEST = 2_000
"""Characters of a line beyond which it is no statement, and compared with nothing."""
_MOST = 12  # lines that are looked at for one statement
FIELD = re.compile(
    r"(?P<key>\*\*[^*]+\*\*\s*[:：]|\*\*[^*]+[:：]\*\*|[^\s:：|*][^:：|*]{0,40}[:：](?!(?<=\d:)\d))(?P<gap>\s*)(?P<value>\S.*)"
)
_BOX = ("[ ]", "[x]", "[X]")


@dataclass(slots=True, eq=False)
class KnownLine:
    """One line: all of it, its marks before the text, its text, and the headings and list lines over it.

    `section`: the title of its section. `head`: the cells of the table's head, for a row.
    """

    file: str
    number: int
    whole: str
    lead: str
    text: str
    under: str
    section: str
    head: tuple[str, ...] = ()

    @property
    def statement(self) -> str:
        """What it says, without marks of Markdown: a row as its cells."""
        if self.head:
            pairs = zip(self.head[1:], cells(self.whole)[1:], strict=False)
            return ", ".join([cells(self.whole)[0], *(f"{name}: {cell}" for name, cell in pairs if cell)])
        return self.text.replace("**", "").replace("`", "")

    @property
    def field(self) -> re.Match[str] | None:
        """The key and the value of `**Name**: Ana` or `Name: Ana`."""
        return None if self.head else FIELD.fullmatch(self.text)


def cells(row: str) -> list[str]:
    """Return the cells of a row of a table."""
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


class Lines:
    """The lines of all files, found by their words."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files: dict[str, dict[tuple[str, str, str, int], KnownLine]] = {}
        self._texts: dict[str, str] = {}
        self._by_word: dict[str, dict[KnownLine, None]] = {}
        self._by_text: dict[str, dict[KnownLine, None]] = {}
        self.read(files)

    @property
    def all(self) -> list[KnownLine]:
        """All lines."""
        return [line for lines in self._files.values() for line in lines.values()]

    def read(self, files: Mapping[str, str]) -> None:
        """Take over the files as they are now; lines that stay the same are not read again."""
        for name, text in files.items():
            if self._texts.get(name) is text:
                continue
            self._texts[name] = text
            before, now, seen = self._files.get(name, {}), {}, Counter[tuple[str, str, str]]()
            for line in _known_of(name, text):
                place = (line.whole, line.under, line.section)
                seen[place] += 1
                key = (*place, seen[place])
                if (same := before.get(key)) is not None:
                    same.number = line.number
                    now[key] = same
                else:
                    now[key] = line
                    self._by_text.setdefault(fold(line.text), {})[line] = None
                    for word in stems(line.statement):
                        self._by_word.setdefault(word, {})[line] = None
            for key in before.keys() - now.keys():
                self._by_text[fold(before[key].text)].pop(before[key], None)
                for word in stems(before[key].statement):
                    self._by_word[word].pop(before[key], None)
            self._files[name] = now
        self._count = sum(map(len, self._files.values()))

    def same(self, text: str) -> list[KnownLine]:
        """Return the lines with the very words of a text."""
        return list(self._by_text.get(fold(text), ()))

    def near(self, text: str, owner: str = "") -> list[tuple[KnownLine, float]]:
        """Return the lines with words of a text, and what share of the shorter one's words they have in common: rare
        words count more, the owner's name nothing. The likeliest come first."""
        said = stems(text) - stems(owner)
        weights = {word: self._weight(word) for word in said}
        shared: dict[KnownLine, float] = {}
        for word, weight in weights.items():
            for line in self._by_word.get(word, ()):
                shared[line] = shared.get(line, 0.0) + weight
        whole = sum(weights.values())
        found = []
        for line, common in shared.items():
            own = sum(map(self._weight, stems(line.statement) - stems(owner)))
            found.append((line, common / (min(own, whole) or 1.0)))
        return sorted(found, key=lambda pair: -pair[1])[:_MOST]

    def _weight(self, word: str) -> float:
        return math.log(1 + (self._count + 1) / (len(self._by_word.get(word, ())) + 0.5))


def _known_of(name: str, text: str) -> tuple[KnownLine, ...]:
    found: list[KnownLine] = []
    rows = [line.removesuffix("\r") for line in text.split("\n")]
    bullets = {bullet.line: bullet for bullet in markdown.bullets(text)}
    within = markdown.blocks(text)
    own = next((part for part in markdown.sections(text) if part.level), None)
    headings = {part.start_line: part for part in markdown.sections(text) if part.level}
    above: list[tuple[int, str]] = []  # headings over the line, by level
    over: list[tuple[int, str]] = []  # list lines over the line, by indent
    opened, title, head = "", "", tuple[str, ...]()
    for number, whole in enumerate(rows, 1):
        if part := headings.get(number):
            title = part.title
            above = [one for one in above if one[0] < part.level]
            above += [(part.level, part.title)] if part is not own or part.level > 1 else []
            over, opened, head = [], "", ()
        elif bullet := bullets.get(number):
            over = [one for one in over if one[0] < bullet.indent]
            under = " ".join([*(one for _, one in above), opened, *(one for _, one in over)])
            over.append((bullet.indent, bullet.text))
            if bullet.text and len(bullet.text) <= LONGEST and not bullet.text.startswith(_BOX):
                lead = whole[: len(whole.rstrip()) - len(bullet.text)]
                found.append(KnownLine(name, number, whole, lead, bullet.text, under, title))
        elif whole.lstrip().startswith("|") and number - 1 not in within:
            if head and len(whole) <= LONGEST and set(whole) - set("|-: "):
                found.append(KnownLine(name, number, whole, "", whole, " ".join(one for _, one in above), title, head))
            head = head or tuple(cells(whole))
        elif whole.strip() and not whole[:1].isspace():
            opened, over, head = (whole.strip() if opens_list(whole) else ""), [], ()
    return tuple(found)


def heading_names(line: KnownLine) -> frozenset[str]:
    """Return the names in the headings over a line: they say whom or what it is about."""
    learned = classify.pack(language_of(line.under))
    return frozenset(w for w in edits.heading_subjects(line.under) if w not in learned.weights or w in learned.names)


# What may not be taken for the same, nor for another value of the same, whatever the judge of statements says.

_NUMBERED = re.compile(r"(?:The |the )?(?P<what>[^\W\d]+) #?\d[\w.-]*")
_SIGN = re.compile(r"[<>≤≥]=?|(?<![\w\d])[-−](?=\d)")
_ENDS = frozenset({"not", "end", "past", "formerly", "wrong", "lack"})
"""Limits by which a statement may say that something else is so now."""
_OWNED = re.compile(r"\b([^\W\d_][\w-]*)['’]s? ([^\W\d_][\w-]*)|([\u3400-\u9fff]{1,4})的([\u3400-\u9fff]{1,2})")
_PHRASE = re.compile(r"(?:The |the )?([\w ]{3,60}?) (?:is|are|was|were) ")
_USER_OF = re.compile(r"(?:The |the )?([\w ]{3,60}?) (?:uses|runs|has|needs) ")
_THING = re.compile(r"(?:The |the )([^\W\d_]\w*) of ")
_OF = re.compile(r"\bof ([A-Z]\w+)")
_VETOES_SELVES = ("user", "我", "用户", "it", "that", "there", "he", "she", "let", "what")


def is_not_same(line: KnownLine, text: str, owner: str) -> bool:
    """Return whether a line certainly does not say what a text says."""
    one, other = line.statement, text
    language = language_of(f"{one} {other}")
    if another_subject(line, text, owner) or _goes_on(one, other):
        return True
    own = topics_of_line(other) - topics_of_line(one) - topics_of_heading(line.under)
    if own & {"health", "family"} or {mean for mean in means_of(other) - means_of(one) if mean.startswith("kin:")}:
        return True
    return bool(difference(one, other, language, f"{owner} {line.under}").why)


def is_no_change(line: KnownLine, text: str, owner: str) -> bool:
    """Return whether a text certainly gives no other value of what a line says."""
    one, other = line.statement, without_denied(text)
    if another_subject(line, text, owner) or limits(other) - limits(one) - _ENDS:
        return True
    if not line.head and leaves_open(other) != leaves_open(one):
        return True
    if not line.field and is_wide(one) != is_wide(other):
        return True
    if {*_SIGN.findall(one)} != {*_SIGN.findall(other)}:
        return True
    kin = {mean for mean in means_of(one) - means_of(other) if mean.startswith("kin:")}
    if kin and not kin & means_of(" ".join(one.split()[:1])):  # `Ana has a sister with 2 cats`
        return True
    wrong = fold(denied_value(text))
    at = fold(line.text).find(wrong) if wrong else -1
    if at >= 0 and re.match(r"\s+[^\W\d_]{4}", fold(line.text)[at + len(wrong) :]):
        return True  # `VS Code` of `VS Code extensions`
    if line.field and not stems(line.field["key"]) & stems(other) and stems(line.field["value"]) & stems(other):
        return True  # `Timezone: Europe/Berlin`, and who moves to Berlin
    return False if line.field or line.head else another_number(one, other)


def another_number(one: str, other: str) -> bool:
    """Return whether two texts begin with another number of the same thing: `Ticket 12`, `Ticket 13`."""
    first, then = _NUMBERED.match(one), _NUMBERED.match(other)
    return first is not None and then is not None and first["what"] == then["what"] and first[0] != then[0]


def another_subject(line: KnownLine, text: str, owner: str) -> bool:
    """Return whether a line is certainly about another person or thing than a text."""
    one, other = line.statement, text
    there, said = fold(f"{line.under} {one}"), fold(other)
    owned, owns = (_owned(own) for own in (one, other))
    shared = {name for name in details(one) if name in details(other)} - {fold(who) for who, _ in (*owned, *owns)}
    selves = (*_VETOES_SELVES, fold(owner), *fold(owner).split())
    if any(what not in there or (who not in there and who not in selves) for who, what in owns):
        return True
    if any(what not in said and (not shared or fold(subject_of(other)) == who) for who, what in owned):
        return True
    first, then = (subject_of(own) for own in (one, other))
    if then and fold(then) not in selves and fold(then) not in there and not line.field:
        return True
    if first and fold(first) not in selves and fold(first) not in said and not then and is_of(other, owner):
        return True
    words = _begun(_PHRASE, one, other)
    if words[0] - words[1] and words[1] - words[0]:
        return True
    users = _begun(_USER_OF, one, other)
    if len(users[0] ^ users[1]) > 1:
        return True
    things = [_THING.match(own) for own in (one, other)]
    if all(things) and len({fold(thing[1]) for thing in things if thing}) > 1:
        return True
    whose = [set(_OF.findall(own)) for own in (one, other)]
    return bool(whose[0] and whose[1] and not whose[0] & whose[1])


def _begun(pattern: re.Pattern[str], one: str, other: str) -> tuple[set[str], set[str]]:
    """Return the words with which two texts begin before what a pattern has of both; none where it has not both."""
    first, then = pattern.match(one), pattern.match(other)
    return (set(fold(first[1]).split()), set(fold(then[1]).split())) if first and then else (set(), set())


def _owned(text: str) -> list[tuple[str, str]]:
    """(who, what) of each thing in a text that is somebody's."""
    found = _OWNED.findall(text)
    return [(fold(who or wide), fold(what or thing)) for who, what, wide, thing in found]


def _goes_on(one: str, other: str) -> bool:
    """Return whether one text is another one that goes on within a word of a script without spaces."""
    rest = other[len(one) :].strip(" 。.") if other.startswith(one) else ""
    return bool(rest) and bool(re.match("[\u3400-\u9fff]", rest)) and not unaccounted_details(one, other)


# How a new statement stands to a line of the memory files: it says the same, changes the line, or has nothing to do
# with it. Learned from labelled lines (`scripts/language/teach_places.py`).

LINES_MODEL_VERSION = 2
"""Changes when the features do: the pack is made anew."""
_STEPS = (0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95)
_MARKS = ("not", "end", "change", "now", "new", "also", "formerly", "past", "future", "hedge", "if")
_CUES = ("change", "lasting", "done", "agreed", "past", "today")
_SELVES = frozenset({"user", "he", "she"})


class LineCandidate(NamedTuple):
    """A line that a fact may repeat or change, and what speaks for it or against it."""

    line: KnownLine
    features: set[str]


class Relation(NamedTuple):
    """How likely it is that a fact says the same as a line, and that it changes the line, each from 0 to 1."""

    line: KnownLine
    same: float
    changes: float


def relations(fact: Fact, near: Sequence[tuple[KnownLine, float]], place: SectionPlace, owner: str) -> list[Relation]:
    """Return how a fact stands to the lines that are near it (`Lines.near`); `place`: where it would go."""
    learned = pack("relations")
    found = ((one.line, learned.shares(one.features)) for one in candidates(fact, near, place, owner))
    return [Relation(line, shares["same"], shares["changes"]) for line, shares in found]


def candidates(
    fact: Fact, near: Sequence[tuple[KnownLine, float]], place: SectionPlace, owner: str
) -> list[LineCandidate]:
    """Return what speaks for and against each of the lines that are near a fact."""
    text = without_denied(fact.text)
    common = set(_of_fact(fact))
    found = []
    keys = [stems(line.field["key"]) if line.field else frozenset[str]() for line, _ in near]
    for n, (line, alike) in enumerate(near):
        features = {*common, *_of_pair(line, fact, text, alike, owner)}
        features.add(f"rank {min(n, 3)}")
        features.add(f"first by {_step(alike - near[1][1]) if n == 0 and len(near) > 1 else 'no'}")
        here = (line.file, line.section) == (place.file, place.section)
        features.add(f"here {here} {place.sure}" if here else f"file {line.file == place.file} {place.sure}")
        features.add(f"in {line.file}")
        if keys[n] and sum(keys[n] <= other for other in keys) > 1:
            features.add("key of several")
        features |= (
            {f"{one} & change" for one in features if one.startswith(("alike", "newer", "field", "kind"))}
            if ("fact changes" in common)
            else set()
        )
        found.append(LineCandidate(line, features))
    return found


def _step(share: float) -> float:
    return max((step for step in _STEPS if share >= step), default=0.0)


def tells_change(fact: Fact) -> bool:
    """Return whether a fact itself says that something is otherwise than before."""
    is_marked = fact.mark == "correction" or bool(denied_value(fact.text)) or "change" in cues_of(fact.text)
    return is_marked or bool(statement(fact.text).marks & {"change", "end", "now", "formerly"})


def _of_fact(fact: Fact) -> Iterator[str]:
    """Yield what a fact says of itself: that something changed, ended, is also so."""
    marks = statement(fact.text).marks
    cues = cues_of(fact.text)
    yield "always"
    yield from (f"marks {mark}" for mark in _MARKS if mark in marks)
    yield from (f"cue {cue}" for cue in _CUES if cue in cues)
    if tells_change(fact):
        yield "fact changes"
    if fact.mark:
        yield f"mark {fact.mark}"
    yield f"is {fact.label}"


def _of_pair(line: KnownLine, fact: Fact, text: str, alike: float, owner: str) -> Iterator[str]:
    """Yield what a line and a fact have in common, and what only one of them has."""
    shares = shares_of(line.statement, fact.text)
    for name in ("same", "newer", "denial", "different"):
        yield from (f"{name} {step}" for step in _STEPS if shares.get(name, 0.0) >= step)
    sure = shares["newer"] + shares["denial"]
    yield from (f"changed {step}" for step in _STEPS if sure >= step)
    yield from (f"alike {step}" for step in _STEPS if alike >= step)
    said, there = stems(text) - stems(owner), stems(line.statement) - stems(owner)
    yield from (f"holds {step}" for step in _STEPS if len(said & there) >= step * (len(said) or 1))
    yield from (f"held {step}" for step in _STEPS if len(said & there) >= step * (len(there) or 1))
    yield f"shared {min(len(said & there), 4)}"
    yield f"more {min(len(said - there), 4)}"
    yield from _of_values(line, text)
    wrong = stems(denied_value(fact.text))
    if wrong:
        yield "wrong there" if wrong <= stems(line.statement) else "wrong elsewhere"
    names = {name for name in edits.details(text) if name != fold(owner)}
    known = fold(f"{line.under} {line.text}")
    yield f"other names {min(sum(name not in known for name in names), 3)}"
    yield f"same names {min(sum(name in known for name in names), 3)}"
    first, then = fold(subject_of(line.statement)), fold(subject_of(text))
    if first and then and first not in _SELVES and then not in _SELVES:
        yield f"subject {first == then}"
    elif then and then != fold(owner):
        yield f"subject there {then in known}"
    yield from _of_field(line, said, text)
    yield f"row {bool(line.head)}"
    means = means_of(line.statement), means_of(text)
    yield from (f"both {mean.partition(':')[0]}" for mean in means[0] & means[1])
    groups = [{mean.partition(":")[0] for mean in one - (means[0] & means[1])} for one in means]
    yield from (f"other {group}" for group in groups[0] & groups[1])
    if another_subject(line, text, owner):
        yield "another subject"
    if is_not_same(line, text, owner):
        yield "not the same"
    if leaves_open(line.statement) != leaves_open(fact.text):
        yield "one is open"
    if edits.says_all(text, line.text):
        yield "says it"


def _of_values(line: KnownLine, text: str) -> Iterator[str]:
    """Values of both: equal ones, others of the same kind, and those that only one has."""
    ours, theirs = values(line.statement), values(text)
    bases = {str(value.base) for value in ours}
    fresh = [value for value in theirs if str(value.base) not in bases]
    kinds = {value.kind for value in ours}
    for value in fresh:
        yield f"kind {value.kind}" if value.kind in kinds else f"only {value.kind}"
        yield "kind of both" if value.kind in kinds else "kind of one"
    yield f"values {min(len(ours), 2)} {min(len(theirs), 2)} {min(len(fresh), 2)}"
    if theirs and not fresh:
        yield "values there"


def _of_field(line: KnownLine, said: frozenset[str], text: str) -> Iterator[str]:
    """Yield which words of a field's key and value the new statement has."""
    field = line.field
    if not field:
        yield "no field"
        return
    key, value = stems(field["key"]), stems(field["value"])
    yield "field"
    yield f"field key {bool(key) and key <= said}"
    yield f"field key some {bool(key & said)}"
    yield f"field value {'all' if value and value <= said else 'some' if value & said else 'none'}"
    if ":" in text[:40] or "：" in text[:20]:
        yield "both fields"


# How a line is written that a newer statement changes: a field keeps its key, a row its cells, a list of several
# things all but the one that changed.

_MUCH = 2  # words that a line may not lose unseen
_FEW = 3  # words by which a statement may say more than the value that changed
_LINK = re.compile(
    r"(?:\s*[:：=]\s*|\s+(?:is|are|has changed to|changed to|ist|es|est|é|è|теперь|—)\s+(?:now\s+)?|\s*[是为]\s*)"
)


def rewrite_line(line: KnownLine, text: str) -> tuple[str, str]:
    """Return (the line as it is to be, the value that it loses) where `text` is the newer statement."""
    wrong, right = exchanged(text)
    if wrong and right and (found := _instead(line.whole, line.lead, wrong, right)):
        return found, wrong
    said = without_denied(text)
    if not {*said.split()} - {*denied_value(text).split()} - {*line.text.split()}:  # it says only that it is so no more
        said = text
    if line.head:
        return _row(line, said)
    if swapped := _swapped(line.text, said):
        return f"{line.lead}{swapped[0]}", swapped[1]
    if field := line.field:
        value = _value_for(field["key"], said)
        if value or field["key"].startswith("*"):
            return f"{line.lead}{field['key']}{field['gap']}{value or said.rstrip('.。')}", field["value"]
        if not stems(field["key"]) & stems(said):
            said = f"{field['key']}{field['gap']}{said.rstrip('.。')}"
    return f"{line.lead}{said}", line.text


def loses_much(line: KnownLine, new: str) -> bool:
    """Return whether much of what a line says would be gone with a new one in its place."""
    old = stems(line.statement)
    lost = old - stems(new)
    if is_wide(line.statement):  # pairs of characters, of which a word has several
        return len(lost) > _MUCH and 2 * len(lost) > len(old)
    return len(lost) >= _MUCH


def _instead(whole: str, lead: str, wrong: str, right: str) -> str:
    """Return the line with the right value where it has the wrong one; "" where it has not."""
    pattern = rf"(?<![^\W_]){re.escape(wrong)}(?![^\W_])" if wrong.isascii() else re.escape(wrong)
    found = re.search(pattern, whole, re.IGNORECASE)
    if found is None or found.start() < len(lead):
        return ""
    before, after = whole[: found.start()], whole[found.end() :]
    if not before[len(lead) :].strip() and not after.strip():
        return ""
    words = right.split()  # what stands before it already is not said twice: `555` of `555 0149`
    while len(words) > 1 and before.rstrip().endswith(words[0]):
        words = words[1:]
    return f"{before}{' '.join(words)}{after}"


def _value_for(key: str, said: str) -> str:
    """Return the value that a statement gives for the key of a field, "" where that cannot be told apart."""
    words = stems(key.strip("*:： "))
    for found in _LINK.finditer(said):
        clause = re.split(r"[,;，；。]", said[: found.start()])[-1]
        if words and words == stems(clause):
            return said[found.end() :].rstrip(".。")
    return ""


def _swapped(old: str, said: str) -> tuple[str, str] | None:
    """Return the old text with its one value replaced by the new one of the same kind, and the value that went; None
    where the new text says much more than that."""
    fits = [
        (one, other)
        for one in values(old)
        for other in values(said)
        if one.kind == other.kind and one.base != other.base and _is_whole(old, one) and _is_whole(said, other)
        if one.kind != "date" or _parts(one) == _parts(other)
    ]
    near = [pair for pair in fits if _words_around(old, pair[0]) & _words_around(said, pair[1])]
    timeless = [pair for pair in fits if pair[0].kind != "date"]  # `90 EUR since May`
    fits = near if len(near) == 1 else timeless if len(timeless) == 1 else fits
    if len(fits) != 1 or statement(said).denials:
        return None
    one, other = fits[0]
    rest = said[: other.start] + " " * (other.end - other.start) + said[other.end :]
    for value in values(rest):  # since when it is so, goes without saying
        if value.kind == "date":
            rest = rest[: value.start] + " " * (value.end - value.start) + rest[value.end :]
    more = {word for word in stems(rest) - stems(old) if not cues_of(word) & {"change", "lasting"}}
    names = {name for name in edits.unaccounted_details(rest, old) if any(map(str.isalpha, name))} - {
        fold(subject_of(said))
    }
    keyed = (field := FIELD.fullmatch(old)) is not None and stems(field["key"]) <= stems(said)
    if len(more) > (1 + is_wide(said) + keyed) * _FEW or names or not (stems(rest) & stems(old)):
        return None
    return old[: one.start] + said[other.start : other.end] + old[one.end :], old[one.start : one.end]


def _parts(date: Value) -> list[bool]:
    """Return whether a date has a month and a day; the year goes without saying."""
    return [part is None for part in date.base[1:]] if isinstance(date.base, tuple) else []


def _is_whole(text: str, value: Value) -> bool:
    """Return whether a value stands for itself, and is no part of a longer one: `2027` of `2027-02` is."""
    return not re.search(r"[\d./–-]$", text[: value.start]) and not re.match(r"[./:–-]?\d", text[value.end :])


def _words_around(text: str, value: Value) -> frozenset[str]:
    """Return the words next to a value."""
    return stems(" ".join([*text[: value.start].split()[-1:], *text[value.end :].split()[:1]]))


def _row(line: KnownLine, said: str) -> tuple[str, str]:
    """A row with the one cell changed that holds another value of the same kind."""
    row = cells(line.whole)
    found: list[tuple[int, Value, Value]] = []
    after = values(said)
    for at, cell in enumerate(row[1:], 1):
        for one in values(cell):
            found += [(at, one, other) for other in after if other.kind == one.kind and other.base != one.base]
    if len(found) != 1:
        return line.whole, ""
    at, one, other = found[0]
    new = row[at][: one.start] + said[other.start : other.end] + row[at][one.end :]
    place = line.whole.index(row[at])
    return f"{line.whole[:place]}{new}{line.whole[place + len(row[at]) :]}", row[at][one.start : one.end]
