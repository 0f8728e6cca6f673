"""Which attributes a sentence gives a person or a thing, as key and value: “I live in Porto” is Home, lives in: Porto.

The sentences that say one are frames, one file of data a language (`packs/attributes-en.toml`). A frame fits a whole
clause, which begins with the one who speaks: what is said of others, asked, denied or past fits none. Whether a
sentence is meant as a statement at all is told by the reader.

People also say such things in passing, without a subject or in the middle of a longer clause (“based in Porto since
2019, vegan btw”). A phrase fits any place of a sentence up to a stop, where the subject named last is the one who
speaks and nothing before it in its clause denies it. Phrases are written as frames are.

A frame is a line `CATEGORY :: SENTENCE => KEY = VALUE`. In its sentence `[…]` may be missing, `(a|b)` is one of these,
`<kin>` a list of words, `{v:place}` a slot; the rest stands as it is, as in a regular expression. A category of `?` is
that to which the key belongs. `+` before it: the frames after it may fit too; `-` before that of a phrase: it denies
something itself (`can't eat`). In phrases brackets are as in regular expressions. A line goes on in the next one that
begins with two spaces.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, NamedTuple

from nanomem_tui.language.features import is_wide
from nanomem_tui.language.simplified import simplified

DOMAINS = {
    "Work": "Work", "Education": "Work", "Schedule": "Work", "Projects": "Work", "Tools": "Technology",
    "Infrastructure": "Technology", "Preferences": "User Preferences",
}  # fmt: skip
"""The domain of each category; of the others it is Personal."""
SEVERAL = ("things", "tongues", "eaten", "names", "nations")
"""The kinds of slots in which several things may be named, each with a fact of its own."""
OF_PEOPLE = ("person", "kin", "kins", "relative", "being", "pet", "pets")
"""The kinds of slots for those who belong to the one who speaks: the subject of such a phrase is in it."""
APART = 3
"""Words of a thing that may be named beside others; longer ones may share words."""
MOST_KEY, MOST_VALUE = 5, 14
"""Words of an attribute and of its value; in Chinese and Japanese pairs of characters."""
_MARKS = " \t,;:!?。！？，；：~…\"'“”«»„*_`"


class Attribute(NamedTuple):
    """A key with its value, where it belongs, and the clause that says so."""

    domain: str
    category: str
    key: str
    value: str
    clause: str


class Slot(NamedTuple):
    """What may stand in a place of a frame: `form`; it does not begin like `never`, and `has` is in it."""

    form: str
    never: re.Pattern[str]
    has: re.Pattern[str]


class Frame(NamedTuple):
    """A sentence with slots, and what it says."""

    sentence: re.Pattern[str]
    category: str
    key: str
    value: str
    slots: Mapping[str, str]
    goes_on: bool
    denies: bool


class End(NamedTuple):
    """A sentence by which something is so no longer, and the sentences by which it may have been said."""

    sentence: re.Pattern[str]
    before: tuple[str, ...]


class Pack:
    """The frames and the words of a language."""

    def __init__(self, language: str) -> None:
        self._is_chinese = language == "zh"
        self._body: dict[str, Any] = {}
        for part in ("attributes", "words", "phrases", "slots"):
            self._body = _merged(self._body, _body(language, part))
        self._slots: dict[str, Slot] = {}
        self._patterns: dict[str, re.Pattern[str]] = {}
        self._words: dict[str, str] = {**_common()["words"], **self._body.get("words", {})}
        self._known: dict[str, str] = self._body.get("attributes", {})
        self._words["any"] = "|".join(self._known.values())

    def plain(self, text: str) -> str:
        """Return a text as the patterns are written, of the same length: Chinese in simplified characters."""
        return simplified(text) if self._is_chinese else text

    @property
    def is_spaced(self) -> bool:
        """Whether the language puts spaces between words."""
        return bool(self._body.get("spaced", True))

    def pattern(self, name: str) -> re.Pattern[str]:
        """Return a pattern of the pack; one that is not there is found nowhere."""
        if name not in self._patterns:
            self._patterns[name] = self._compiled(self._body.get(name, "(?!)"))
        return self._patterns[name]

    @cached_property
    def shared(self) -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
        """With what a clause begins (its first group), and how one goes on that is about the same."""
        rows = self._body.get("shared", [])
        return [(self._compiled(subject), self._compiled(goes_on)) for subject, goes_on in rows]

    @cached_property
    def dropped(self) -> tuple[str, re.Pattern[str]]:
        """The subject that a sentence may leave out, and how it begins then (`grew up in …`)."""
        subject, verbs = self._body.get("dropped", ("", "(?!)"))
        return subject, self._compiled(verbs)

    def slot(self, kind: str) -> Slot:
        """Return what may stand in a kind of slot."""
        if kind not in self._slots:
            parts = self._body.get("slots", {}).get(kind) or _common()["slots"][kind]
            form, never, has = (parts.get(name, default) for name, default in _SLOT.items())
            self._slots[kind] = Slot(self._form(form), self._compiled(never), self._compiled(has))
        return self._slots[kind]

    @cached_property
    def frames(self) -> list[Frame]:
        """What a person says plainly."""
        return self._frames("frames")

    @cached_property
    def phrases(self) -> list[Frame]:
        """What a person says in passing, in any place of a sentence."""
        return self._frames("phrases", "(?=<stop>)")

    @cached_property
    def asked(self) -> list[Frame]:
        """What needs no `my` where a person asks for it to be remembered."""
        return self._frames("asked")

    @cached_property
    def ends(self) -> list[End]:
        """By what sentences something is so no longer."""
        rows = (line.split(" => ") for line in _lines(self._body.get("ends", "")))
        return [End(self._sentence(one), tuple(before.split(" / "))) for one, before in rows]

    @cached_property
    def turned(self) -> list[tuple[re.Pattern[str], str]]:
        """How a question to a person becomes a statement of that person, as replacements; `@` is nothing."""
        return self._replacements("turned")

    @cached_property
    def replies(self) -> list[tuple[re.Pattern[str], str]]:
        """What an answer says to each question, as a statement with `{answer}` in it."""
        return self._replacements("replies")

    @cached_property
    def written(self) -> list[tuple[re.Pattern[str], str]]:
        """How people write what is spelled otherwise, as replacements."""
        return self._replacements("written")

    def _replacements(self, table: str) -> list[tuple[re.Pattern[str], str]]:
        rows = (line.split(" => ") for line in _lines(self._body.get(table, "")))
        return [(self._compiled(said), meant.replace("@", "")) for said, meant in rows]

    @cached_property
    def forms(self) -> dict[str, str]:
        """The forms in which keys are named, each with that as which it is kept."""
        return dict(pair.split("=") for pair in self._body.get("forms", "").split())

    def category_of(self, key: str) -> str:
        """Return the category to which a key belongs."""
        plain = self.plain(key)
        return next((name for name, pattern in self._categories if pattern.search(plain)), "General")

    @cached_property
    def _categories(self) -> list[tuple[str, re.Pattern[str]]]:
        edges = (r"(?<!\w)", r"(?!\w)") if self.is_spaced else ("", "")
        return [(name, self._compiled(f"{edges[0]}(?:{words}){edges[1]}")) for name, words in self._known.items()]

    def _frames(self, table: str, end: str = "<end>") -> list[Frame]:
        found = []
        for line in _lines(self._body.get(table, "")):
            category, _, rest = line.partition(" :: ")
            sentence, _, says = rest.rpartition(" => ")
            key, _, value = says.partition(" = ")
            slots = dict(_SLOTS.findall(sentence))
            goes_on, denies, category = category[0] == "+", category[0] == "-", category.lstrip("+-")
            found.append(Frame(self._sentence(sentence, end), category, key, value, slots, goes_on, denies))
        return found

    def _sentence(self, sentence: str, end: str = "<end>") -> re.Pattern[str]:
        is_phrase = end != "<end>"
        if is_phrase and self._body.get("glued") and not sentence.endswith("}"):  # it ends within a word
            end = ""
        form = sentence if is_phrase else sentence.replace("[", "(?:").replace("]", ")?")
        form = _SLOTS.sub(lambda found: f"(?P<{found[1]}>{self.slot(found[2]).form})", form)
        start = r"(?:(?<!\w)|(?=,))" if self.is_spaced and is_phrase else ""
        return self._compiled(f"{start}(?:{form}){end}")

    def _form(self, form: str) -> str:
        """A pattern with the lists of words that it names."""
        form = form.replace("\n", "")
        while _NAMED.search(form):
            form = _NAMED.sub(lambda found: f"(?:{self._named(found[1])})", form)
            form = form.replace("\n", "")
        return form

    def _named(self, name: str) -> str:
        """The form of a list of words, a slot or a pattern."""
        slot = self._body.get("slots", {}).get(name) or {}
        return self._words.get(name) or slot.get("form") or str(self._body[name])

    def _compiled(self, form: str) -> re.Pattern[str]:
        return re.compile(self._form(form), re.IGNORECASE)


_SLOT = {"form": r".{1,200}?", "never": r"(?!)", "has": r""}
_SLOTS = re.compile(r"\{(\w+):(\w+)\}")
_NAMED = re.compile(r"(?<!\(\?)(?<!P)<(\w+)>")


def _lines(table: str) -> list[str]:
    """The lines of a table; one that begins with two spaces goes on with that before it."""
    return [line for one in table.replace("\n  ", "").splitlines() if (line := one.strip()) and line[0] != "#"]


@lru_cache(1)
def _common() -> dict[str, Any]:
    return _body("common")


def _body(language: str, part: str = "attributes") -> dict[str, Any]:
    file = _file(language, part)
    return tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}


def _merged(body: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Both of two bodies, with the tables in them merged as well; `more` goes before."""
    tables = {name: {**body[name], **more[name]} for name in more if isinstance(body.get(name), dict)}
    return {**body, **more, **tables}


def _file(language: str, part: str = "attributes") -> Traversable:
    return resources.files(__package__).joinpath("packs", f"{part}-{language}.toml")


@lru_cache(16)
def pack(language: str) -> Pack:
    """Return the pack of a language, of English where there is none."""
    return Pack(language) if _file(language).is_file() else pack("en")


def attributes(sentence: str, language: str, *, asked: bool = False) -> list[Attribute]:
    """Return what a sentence says, clause by clause: of each by the first frame that fits. `asked`: a person asked for
    it to be remembered.

    >>> attributes("I live in Porto and my dog's name is Rex", "en")[1][1:4]
    ('Pets', "dog's name", 'Rex')
    """
    words = pack(language)
    while (shorter := _without("instead", sentence, words)) != sentence:  # `not Olga but Elena` says Elena
        sentence = shorter
    found = [one for clause in clauses(sentence, language) for one in _of_clause(clause, words, asked=asked)]
    for one in _in_passing(_written(sentence, words), words):
        if not any(_is_same(one, other) for other in found):
            found.append(one)
    return found


def _in_passing(sentence: str, words: Pack) -> Iterator[Attribute]:
    """What a sentence says in any place of it, of the one who speaks."""
    plain = words.plain(sentence)
    for phrase in words.phrases:
        for found in phrase.sentence.finditer(plain):
            start = found.end() - len(found[0].lstrip(" ,，、"))
            slot = min((found.start(name) for name in phrase.slots if found[name]), default=found.end())
            of_people = any(kind in OF_PEOPLE for kind in phrase.slots.values())
            if _is_own(plain, start if of_people else slot, words) and not _is_denied(
                plain, start if phrase.denies or of_people else slot, words
            ):
                yield from _facts(phrase, found, sentence, words)


def _is_own(text: str, upto: int, words: Pack) -> bool:
    """Whether the subject named last before a place of a text is the one who speaks, in words that are not reported."""
    others, own = (
        max((one.end() for one in words.pattern(name).finditer(text, 0, upto)), default=-1)
        for name in ("others", "own")
    )
    return others <= own and words.pattern("reports").search(text, 0, upto) is None


def _is_denied(text: str, upto: int, words: Pack) -> bool:
    """Whether the clause denies, before that place, what is said there."""
    clause = max((one.end() for one in words.pattern("breaks").finditer(text, 0, upto)), default=0)
    return words.pattern("denied").search(text, clause, upto) is not None


def _is_same(one: Attribute, other: Attribute) -> bool:
    """Whether two attributes of a sentence say the same: their values are in its words, or one has none there and the
    keys are."""
    text = one.clause.casefold()
    keys, values = ([getattr(said, part).casefold() for said in (one, other)] for part in ("key", "value"))
    if all(value in text for value in values):
        return values[0] in values[1] or values[1] in values[0]
    crossed = (keys, (keys[0], values[1]), (values[0], keys[1]))
    return any(first in text and second in text and (first in second or second in first) for first, second in crossed)


def ended(sentence: str, language: str) -> list[Attribute]:
    """Return what a sentence says to be so no longer: each attribute that may have been said."""
    words = pack(language)
    found = []
    for clause in clauses(sentence, language):
        for before in _before(clause, words):
            found += [one._replace(clause=clause) for one in attributes(before, language)]
    return found


def is_one_statement(sentence: str, language: str) -> bool:
    """Whether a sentence is one clause, beside those that say what is so no longer, and leads to nothing else."""
    words = pack(language)
    found = [one for one in clauses(sentence, language) if not _before(one, words)]
    return len(found) == 1 and _MORE.search(_without("instead", found[0], words)) is None


_MORE = re.compile(r"[,;:，；：—–(（\"“«]|\s-\s|\n")
"""Marks of a clause that says more than one thing, or quotes somebody."""


def clauses(sentence: str, language: str) -> list[str]:
    """Return the clauses of a sentence without what only opens them. One that goes on about the subject of the clause
    before it begins with that too."""
    words = pack(language)
    rest = _without("opening", _written(sentence, words), words)
    dropped, verbs = words.dropped
    rest = f"{dropped}{rest}" if verbs.match(rest) else rest
    found: list[str] = []
    shared: list[tuple[str, re.Pattern[str]]] = []
    for part in _split("split", rest, words):
        clause = _without("opening", part, words).strip()
        said = words.plain(clause)
        if subject := next((subject for subject, goes_on in shared if goes_on.match(said)), ""):
            clause = f"{subject} {clause}" if words.is_spaced else f"{subject}{clause}"
        else:
            begun = ((subject.match(said), goes_on) for subject, goes_on in words.shared)
            shared = [(begins[1], goes_on) for begins, goes_on in begun if begins is not None]
        found += [clause] if clause else []
    return found


def _written(sentence: str, words: Pack) -> str:
    """A sentence as it is spelled in the frames, without what is said by the way."""
    sentence = pack("common").pattern("aside").sub("", sentence.replace("’", "'"))
    for written, meant in words.written:
        sentence = written.sub(meant, sentence)
    return " ".join(sentence.split())


def _split(name: str, text: str, words: Pack) -> Iterator[str]:
    """The parts of a text between the places where a pattern of the pack is found."""
    at = 0
    for found in words.pattern(name).finditer(words.plain(text)):
        yield text[at : found.start()]
        at = found.end()
    yield text[at:]


def _before(clause: str, words: Pack) -> list[str]:
    """What was so, if a clause says that it is so no longer: the clauses that may have said it; else nothing."""
    plain = words.plain(clause).strip(" .!~。！,，;；")
    for end in words.ends:
        if (found := end.sentence.fullmatch(plain)) is not None:
            return [before.format(**found.groupdict()) for before in end.before]
    return []


def _of_clause(clause: str, words: Pack, *, asked: bool) -> Iterator[Attribute]:
    plain = words.plain(clause)
    for frame in (*words.frames, *(words.asked if asked else ())):
        found = frame.sentence.fullmatch(plain)
        facts = list(_facts(frame, found, clause, words)) if found is not None else []
        yield from facts
        if facts and not frame.goes_on:
            return


def _facts(frame: Frame, found: re.Match[str], clause: str, words: Pack) -> Iterator[Attribute]:
    many = next((name for name, kind in frame.slots.items() if kind in SEVERAL), "")
    groups = {name: clause[slice(*found.span(name))] for name in frame.slots if found[name]}
    groups = {
        name: text if frame.slots[name] == "names" else _trimmed(text, words)  # each name is trimmed alone
        for name, text in groups.items()
    }
    for name, kind in frame.slots.items():
        if name in groups and name != many and not _fits(words.plain(groups[name]), words.slot(kind)):
            return
    for thing in _parts(groups[many], words.slot(frame.slots[many]), words) if many in groups else [""]:
        filled = {**dict.fromkeys(frame.slots, ""), **groups, many: thing}
        key, value = (" ".join(shape.format(**filled).split()) for shape in (frame.key, frame.value))
        key = words.forms.get(key.lower(), key)
        plain = words.plain(f"{key}: {value}")
        if not key or not value or words.pattern("never").search(plain):
            continue
        if "attribute" in frame.slots.values() and not _is_attribute(key, value, words):
            continue
        category = words.category_of(key) if frame.category == "?" else frame.category
        yield Attribute(DOMAINS.get(category, "Personal"), category, key, value, clause)


def _fits(text: str, slot: Slot) -> bool:
    return slot.never.match(text) is None and slot.has.search(text) is not None


def _is_attribute(key: str, value: str, words: Pack) -> bool:
    """Whether `my KEY is VALUE` states what somebody or something is, and not how it fares now."""
    if _size(key) > MOST_KEY or _size(value) > MOST_VALUE:
        return False
    if words.pattern("not_key").fullmatch(words.plain(key)) or words.pattern("not_value").match(words.plain(value)):
        return False
    if words.pattern("attribute").fullmatch(words.plain(key)):
        return True
    return _size(key) <= APART and words.pattern("telling").search(words.plain(value)) is not None


def _size(text: str) -> int:
    return (len(text) + 1) // 2 if is_wide(text) else len(text.split())


def _parts(text: str, slot: Slot, words: Pack) -> Sequence[str]:
    """What is named together, each alone; nothing where one is no thing (`how it looks and feels`)."""
    parts = [part for one in _split("joints", text, words) if (part := _trimmed(one, words))]
    if not all(_fits(words.plain(part), slot) for part in parts):
        return []
    return parts if all(_size(part) <= APART for part in parts) else [text]


def _trimmed(text: str, words: Pack) -> str:
    """The words of a value up to where the sentence goes on with something else, without marks around them."""
    cut = words.pattern("tail").search(words.plain(text))
    text = text[: cut.start()] if cut is not None else text
    while (shorter := _without("trim", text.strip(_MARKS), words)) != text:
        text = shorter
    return text.removesuffix(".") if not re.search(r"\b\w\.$", text) else text


def _without(name: str, text: str, words: Pack) -> str:
    """A text without the first place where a pattern of the pack is found."""
    found = words.pattern(name).search(words.plain(text))
    return text[: found.start()] + text[found.end() :] if found is not None else text
