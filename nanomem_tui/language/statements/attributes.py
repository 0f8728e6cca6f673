"""Which attributes a sentence gives a person or a thing, as key and value: “I live in Porto” is Home, lives in: Porto.

The sentences that say one are frames, one file of data a language (`packs/attributes-en.toml`). A frame fits a whole
clause, which begins with the one who speaks: what is said of others, asked, denied or past fits none. Whether a
sentence is meant as a statement at all is told by the reader.

People also say such things in passing, without a subject or in the middle of a longer clause (“based in Porto since
2019, vegan btw”). A phrase fits any place of a sentence up to a stop, where the subject named last is the one who
speaks and nothing before it in its clause denies it. Phrases are written as frames are, in `packs/phrases-en.toml`;
those of a language that has many go on in `packs/passing-en.toml`.

How a frame is written is told in `packs/attributes-common.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from nanomem_tui.language.classify import is_wide, language_of
from nanomem_tui.language.pack_files import expand, table
from nanomem_tui.language.tokens import simplified, straight

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
_PAUSE = re.compile(r"(?<!\d),|,(?!\d)|(?<=[\u4e00-\u9fff])(?<![叫是在为用姓：]) (?=[\u4e00-\u9fff])")
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


class Pack:
    """The frames, the words and the patterns of a language."""

    def __init__(self, language: str) -> None:
        body: dict[str, Any] = {}
        for part in ("attributes", "words", "phrases", "passing", "slots"):
            body = _merged(body, table(f"{part}-{language}"))
        common = table("attributes-common")
        self._body = body
        self._is_chinese = language == "zh"
        self._kinds: dict[str, Any] = {**common["slots"], **body.get("slots", {})}
        self._known: dict[str, str] = body.get("attributes", {})
        words = {**common["words"], **body.get("words", {}), "any": "|".join(self._known.values())}
        forms = {kind: parts["form"] for kind, parts in self._kinds.items() if parts.get("form")}
        named = {**body, **forms, **{name: form for name, form in words.items() if form}}
        self._named = {name: f"(?:{form})" for name, form in named.items() if isinstance(form, str)}
        self.is_spaced: bool = body.get("spaced", True)
        """Whether the language puts spaces between words."""
        self.forms: dict[str, str] = dict(pair.split("=") for pair in body.get("forms", "").split())
        """The forms in which keys are named, each with that as which it is kept."""
        self._patterns: dict[str, re.Pattern[str]] = {}
        self._slots: dict[str, Slot] = {}
        self._frames: dict[str, list[Frame]] = {}
        self._replaced: dict[str, list[tuple[re.Pattern[str], str]]] = {}

    def plain(self, text: str) -> str:
        """Return a text as the patterns are written, of the same length: Chinese in simplified characters, with the
        commas of Chinese, for which many type a blank."""
        return _PAUSE.sub("，", simplified(text)) if self._is_chinese else text

    def pattern(self, name: str) -> re.Pattern[str]:
        """Return a pattern; one that the language has not is found nowhere."""
        if name not in self._patterns:
            self._patterns[name] = self._compiled(self._body.get(name, "(?!)"))
        return self._patterns[name]

    def _compiled(self, form: str) -> re.Pattern[str]:
        """A form as a pattern, with the lists of words, slots and patterns that it names."""
        return re.compile(expand(form, self._named), re.IGNORECASE)

    def slot(self, kind: str) -> Slot:
        """Return what may stand in a kind of slot."""
        if kind not in self._slots:
            parts = self._kinds[kind]
            never, has = self._compiled(parts.get("never", "(?!)")), self._compiled(parts.get("has", ""))
            self._slots[kind] = Slot(parts.get("form", r".{1,200}?"), never, has)
        return self._slots[kind]

    def frames(self, table: str) -> list[Frame]:
        """Return the frames of a table: `frames` for what a person says plainly, `phrases` for what is said in any
        place of a sentence, `asked` for what needs no `my` where a person asks for it to be remembered."""
        if table not in self._frames:
            self._frames[table] = [self._frame(line, table == "phrases") for line in self._lines(table)]
        return self._frames[table]

    def _frame(self, line: str, is_phrase: bool) -> Frame:
        category, _, rest = line.partition(" :: ")
        sentence, _, says = rest.rpartition(" => ")
        key, _, value = says.partition(" = ")
        pattern = self._phrase(sentence) if is_phrase else self._sentence(sentence)
        slots = dict(_SLOTS.findall(sentence))
        return Frame(pattern, category.lstrip("+-"), key, value, slots, category[0] == "+", category[0] == "-")

    @cached_property
    def ends(self) -> list[tuple[re.Pattern[str], list[str]]]:
        """The sentences by which something is so no longer, each with those by which it may have been said."""
        rows = (line.split(" => ") for line in self._lines("ends"))
        return [(self._sentence(sentence), before.split(" / ")) for sentence, before in rows]

    def replaced(self, table: str, text: str) -> str:
        """Return a text with the replacements of a table made in it; `@` is nothing."""
        for pattern, meant in self.replacements(table):
            text = pattern.sub(meant, text)
        return text

    def replacements(self, table: str) -> list[tuple[re.Pattern[str], str]]:
        """Return the replacements of a table: `written` for what is spelled otherwise, `turned` for what makes a
        question to a person a statement of theirs, `replies` for what an answer to a question says."""
        if table not in self._replaced:
            rows = (line.split(" => ") for line in self._lines(table))
            self._replaced[table] = [(self._compiled(said), meant.replace("@", "")) for said, meant in rows]
        return self._replaced[table]

    @cached_property
    def shared(self) -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
        """With what a clause begins (its first group), and how one goes on that is about the same."""
        return [(self._compiled(subject), self._compiled(goes_on)) for subject, goes_on in self._body.get("shared", [])]

    @cached_property
    def dropped(self) -> tuple[str, re.Pattern[str]]:
        """The subject that a sentence may leave out, and how it begins then (`grew up in …`)."""
        subject, verbs = self._body.get("dropped", ("", "(?!)"))
        return subject, self._compiled(verbs)

    def category_of(self, key: str) -> str:
        """Return the category to which a key belongs."""
        plain = self.plain(key)
        return next((name for name, pattern in self._categories if pattern.search(plain)), "General")

    @cached_property
    def _categories(self) -> list[tuple[str, re.Pattern[str]]]:
        start, end = (r"(?<!\w)", r"(?!\w)") if self.is_spaced else ("", "")
        return [(name, self._compiled(f"{start}(?:{words}){end}")) for name, words in self._known.items()]

    def _lines(self, table: str) -> list[str]:
        """The lines of a table; one that begins with two spaces goes on with that before it."""
        body = self._body.get(table, "") + self._body.get(f"more_{table}", "")
        lines = map(str.strip, body.replace("\n  ", "").splitlines())
        return [line for line in lines if line and line[0] != "#"]

    def _sentence(self, sentence: str) -> re.Pattern[str]:
        return self._compiled(f"(?:{self._filled(sentence.replace('[', '(?:').replace(']', ')?'))})<end>")

    def _phrase(self, phrase: str) -> re.Pattern[str]:
        start = r"(?:(?<!\w)|(?=,))" if self.is_spaced else ""
        is_within = self._body.get("glued") and not phrase.endswith("}")  # it ends within a word
        return self._compiled(f"{start}(?:{self._filled(phrase)}){'' if is_within else '(?=<stop>)'}")

    def _filled(self, form: str) -> str:
        return _SLOTS.sub(lambda found: f"(?P<{found[1]}>{self.slot(found[2]).form})", form)


_SLOTS = re.compile(r"\{(\w+):(\w+)\}")


def _merged(body: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Both of two bodies, with the tables in them merged as well; `more` goes before."""
    tables = {name: {**body[name], **more[name]} for name in more if isinstance(body.get(name), dict)}
    return {**body, **more, **tables}


@lru_cache(16)
def pack(language: str) -> Pack:
    """Return the pack of a language, of English where there is none."""
    return Pack(language if table(f"attributes-{language}") else "en")


def attributes(sentence: str, language: str, *, asked: bool = False) -> list[Attribute]:
    """Return what a sentence says, clause by clause: of each by the first frame that fits. `asked`: a person asked for
    it to be remembered.

    >>> attributes("I live in Porto and my dog's name is Rex", "en")[1][1:4]
    ('Pets', "dog's name", 'Rex')
    """
    words, sentence = pack(language), " ".join(sentence.split())
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
    for phrase in words.frames("phrases"):
        for found in phrase.sentence.finditer(plain):
            start = found.end() - len(found[0].lstrip(" ,，、"))
            slot = min((found.start(name) for name in phrase.slots if found[name]), default=found.end())
            of_people = any(kind in OF_PEOPLE for kind in phrase.slots.values())
            denied = start if phrase.denies or of_people else slot
            upto = start + 1 if of_people and words.pattern("own").match(plain, start) else start if of_people else slot
            if _is_own(plain, upto, words) and not _is_denied(plain, denied, words):
                yield from _facts(phrase, found, sentence, words)


def _is_own(text: str, upto: int, words: Pack) -> bool:
    """Whether the subject named last before a place of a text is the one who speaks, in words that are not reported."""
    is_reported = words.pattern("reports").search(text, 0, upto) is not None
    begun = words.pattern("begins").match(text, upto)  # `Rex is old, and our cat Tom` names its own
    own = begun.end() if begun is not None else _last("own", text, upto, words)
    return not is_reported and _last("others", text, upto, words) <= own


def _is_denied(text: str, upto: int, words: Pack) -> bool:
    """Whether the clause denies, before that place, what is said there."""
    return words.pattern("denied").search(text, max(0, _last("breaks", text, upto, words)), upto) is not None


def _last(name: str, text: str, upto: int, words: Pack) -> int:
    """Where a pattern that is found last before a place of a text ends; -1 where it is not found."""
    return max((one.end() for one in words.pattern(name).finditer(text, 0, upto)), default=-1)


def _is_same(one: Attribute, other: Attribute) -> bool:
    """Whether two attributes of a sentence say the same, by their values or, where one has none, their keys."""
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
    sentence = pack("common").pattern("aside").sub("", " ".join(sentence.replace("’", "'").split()))
    return " ".join(words.replaced("written", sentence).split())


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
    for sentence, before in words.ends:
        if (found := sentence.fullmatch(plain)) is not None:
            return [one.format(**found.groupdict()) for one in before]
    return []


def _of_clause(clause: str, words: Pack, *, asked: bool) -> Iterator[Attribute]:
    for frame in (*words.frames("frames"), *(words.frames("asked") if asked else ())):
        found = frame.sentence.fullmatch(words.plain(clause))
        facts = list(_facts(frame, found, clause, words)) if found is not None else []
        yield from facts
        if facts and not frame.goes_on:
            return


def _facts(frame: Frame, found: re.Match[str], clause: str, words: Pack) -> Iterator[Attribute]:
    many = next((name for name, kind in frame.slots.items() if kind in SEVERAL), "")
    groups = {name: clause[slice(*found.span(name))] for name in frame.slots if found[name]}
    for name, text in groups.items():
        if frame.slots[name] != "names":  # each name is trimmed alone
            groups[name] = _trimmed(text, words)
        if name != many and not _fits(words.plain(groups[name]), words.slot(frame.slots[name])):
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


# What a plain yes says: “So you live in Porto, right?” makes of it “I live in Porto”. The words are data
# (`packs/attributes-en.toml`).

MAX_ANSWER = 40
"""Characters of an answer that says nothing but what was asked."""
_ENDS = ("?", "？", "吗", "吧")


def is_yes(text: str) -> bool:
    """Whether a message is a yes and nothing else.

    >>> is_yes("Yes, that's right!"), is_yes("yes but why")
    (True, False)
    """
    return pack("common").pattern("yes").fullmatch(simplified(straight(text))) is not None


def confirmed(question: str) -> str:
    """Return what a yes to a question says, as a statement of the one who says it; "" where it is no question that a
    yes answers.

    >>> confirmed("So your name is Anna, right?")
    'my name is Anna'
    """
    plain = straight(question)
    if not simplified(plain).endswith(_ENDS):
        return ""
    words = pack(language_of(question))
    for name in ("tag", "lead"):
        if (found := words.pattern(name).search(simplified(plain))) is not None:
            plain = (plain[: found.start()] + plain[found.end() :]).strip()
    plain = plain.rstrip("?？吗嗎吧 ").strip()
    return re.sub(r"\s+", " ", words.replaced("turned", plain))


def answered(question: str, answer: str) -> str:
    """Return what an answer to a question says, as a statement of the one who answers; "" where none is known.

    >>> answered("And where do you live?", "in Ghent, near the port")
    'I live in Ghent'
    """
    plain = straight(question).strip()
    if not plain.endswith(("?", "？")):
        return ""
    words = pack(language_of(question))
    said = re.split(r"[,;!?，。；：！？]\s*|[.:](?:\s+|$)", straight(answer).strip(), maxsplit=1)[0]
    said = words.pattern("answer").sub("", said).strip()
    for pattern, statement in words.replacements("replies"):
        if 0 < len(said) <= MAX_ANSWER and (found := pattern.search(simplified(plain))) is not None:
            return f"{found.expand(statement)}".replace("{answer}", said)
    return ""
