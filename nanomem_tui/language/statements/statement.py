"""A statement as it is compared with another: its content words with what they mean, its marks (not, no longer, now,
also, maybe, …), who it is about, and its values. Read alike in ten languages; the words are data
(`packs/notions.json`, `packs/statement.toml`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import NamedTuple

from nanomem_tui.language import pack_files
from nanomem_tui.language.classify import cues_of, language_of
from nanomem_tui.language.statements.values import Value, values
from nanomem_tui.language.tokens import without_accents

UNSPACED = ("zh", "ja")
"""Languages that are written without spaces between words."""
_pattern = pack_files.patterns("statement")
_table = partial(pack_files.table, "statement")


class Token(NamedTuple):
    """A content word: as it is compared (in lower case, without ending), what it means, whether it is a name."""

    stem: str
    notions: tuple[str, ...]
    is_name: bool
    at: int


class Statement(NamedTuple):
    """A statement in the parts that are compared.

    `value_at`: where what it gives as a value begins, `Lisbon` of “my home is Lisbon” and “Home: Lisbon”, 0 where it
    has no such form; `has_several`: it is of what one has several of, hobbies, allergies.
    """

    language: str
    normal: str
    tokens: tuple[Token, ...]
    marks: frozenset[str]
    denials: int
    who: frozenset[str]
    subject: str
    values: tuple[Value, ...]
    asks: bool
    value_at: int = 0
    has_several: bool = False

    @property
    def words(self) -> list[str]:
        """Its words in their order; its characters in a language without spaces."""
        return [*self.normal] if self.language in UNSPACED else self.normal.split()

    @property
    def ordered(self) -> list[Token]:
        """Its content words in their order."""
        return sorted(self.tokens, key=lambda token: token.at)

    @property
    def first(self) -> Token | None:
        """The content word that it begins with."""
        return self.ordered[0] if self.tokens else None

    @property
    def kin(self) -> frozenset[str]:
        """Those of the family that it names: `kin:son`."""
        return frozenset(who for who in self.who if who.startswith("kin:"))


class _Words(NamedTuple):
    """The words of one language: those that mean something, by the whole word, by its beginning and its end, and as
    phrases, of which the longest has so many characters; and the small words, which mean nothing by themselves."""

    whole: dict[str, tuple[str, ...]]
    begins: dict[str, tuple[str, ...]]
    ends: dict[str, tuple[str, ...]]
    phrases: dict[str, tuple[str, ...]]
    phrase: re.Pattern[str]
    longest: int
    small: frozenset[str]


@lru_cache(16)
def _words(language: str) -> _Words:
    """Load the words of a language."""
    body = pack_files.table("notions")
    unspaced = language in UNSPACED
    whole: dict[str, tuple[str, ...]] = {}
    begins: dict[str, tuple[str, ...]] = {}
    ends: dict[str, tuple[str, ...]] = {}
    phrases: dict[str, tuple[str, ...]] = {}
    for notion, by_language in body["notions"].items():
        for entry in by_language.get(language, "").split():
            word = entry.replace("_", " ").strip("*-").lower()
            table = phrases if unspaced or " " in word else begins if entry.endswith("*") else whole
            table[word] = (*table.get(word, ()), notion)
            if language == "ko" and table is whole and len(word) > 1:
                ends[word] = (*ends.get(word, ()), notion)
            if language == "zh" and notion.startswith("mark:") and len(word) > 1 and not {*"不没沒"}.isdisjoint(word):
                table[word] = tuple({*table[word], "mark:not"})
    if unspaced:
        phrases.update(dict.fromkeys(_table()["false_cjk"].split(), ()))
    ordered = sorted(() if unspaced else phrases, key=len, reverse=True)
    phrase = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, ordered))})(?!\w)" if ordered else r"(?!)")
    longest = max(map(len, phrases), default=0)
    return _Words(whole, begins, ends, phrases, phrase, longest, frozenset(body["small"].get(language, "").split()))


@lru_cache(8192)
def meaning(word: str, language: str) -> tuple[str, ...]:
    """Return what a word means, `kin:son`, `day:mon`, by the whole of it, else by the longest beginning or ending that
    is known; nothing where it is not known."""
    known = _words(language)
    if word in known.whole:
        return known.whole[word]
    for length in range(len(word), 1, -1):
        if (found := known.begins.get(word[:length])) is not None:
            return found if length > 2 or len(word) < 6 or language == "ko" else ()
    if language == "ko":
        one = known.begins.get(word[:1], ())
        if one and all(notion.startswith("mark:") for notion in one):
            return one
        for length in range(len(word) - 1, 1, -1):
            if (found := known.ends.get(word[-length:]) or known.ends.get(word[:length])) is not None:
                return found
    return ()


def is_of_speaker(word: str, language: str) -> bool:
    """Whether a word stands for the speaker: I, we, user."""
    return word not in pack_files.words("statement", "possessives") and "who:me" in meaning(word, language)


@lru_cache(16384)
def familiarity(word: str, language: str) -> float:
    """How much a word shows that a text is in a language: most as a small word of it."""
    known = _words(language)
    if word in known.small:
        return 1.0
    return 0.7 if word in known.whole else 0.4 if meaning(word, language) else 0.0


@lru_cache(4096)  # one memory is compared with many
def statement(text: str, language: str = "") -> Statement:
    """Read a statement. `language`: the code of its language, found out when empty."""
    language = language or language_of(text)
    plain = _plain(text, language)
    found = tuple(values(plain, language))
    words = _unspaced if language in UNSPACED else _spaced
    tokens: list[Token] = []
    marks: list[str] = []
    who: list[str] = []
    for stem, notions, is_name, at in words(plain, language, found):
        kept = []
        for notion in notions:
            if notion.startswith("mark:"):
                marks.append(notion[5:])
            elif notion.startswith("who:"):
                who.append(notion[4:])
            else:
                kept.append(notion)
        if (kept or not notions) and stem:
            tokens.append(Token(stem, tuple(kept), is_name, at))
            who += [one for one in kept if one.startswith("kin:")]
    denials, lower = marks.count("not"), plain.lower()
    if language == "fr" and not denials and " plus" in lower and not re.search(r"\bne(?!\S)|\bn['’ ]", lower):
        marks = [mark for mark in marks if mark != "end"]  # plus is more, not no longer
    no_longer = _table()["no_longer"].get(language, "(?!)")
    if denials and re.search(rf"\b{no_longer}\b", lower):
        marks.append("end")
    if "change" in marks and "formerly" not in marks:
        marks = [mark for mark in marks if mark != "past"]  # it was moved
    slot = _pattern(f"slot_{language}" if language in ("zh", "ja", "ko") else "slot").match(plain)
    normal = re.sub(r"[\W_]+", "" if language in UNSPACED else " ", lower).strip()
    return Statement(
        language=language,
        normal=normal,
        tokens=tuple(tokens),
        marks=frozenset(marks),
        denials=denials,
        who=frozenset(who),
        subject=_subject(tokens, who, plain, language),
        values=found,
        asks=text.rstrip().endswith(("?", "？")),
        value_at=slot.end() if slot else 0,
        has_several=slot is not None and "several" in cues_of(slot[0]),
    )


def _plain(text: str, language: str) -> str:
    """The text with its short forms written out."""
    text = text.replace("’", "'").replace("**", "").replace("`", "")
    text = _pattern("number_sign").sub("", text)
    for short, written in _table()["written"].get(language, ()):
        text = re.sub(short, written, text, flags=re.IGNORECASE)
    return text.strip()


def _subject(tokens: list[Token], who: list[str], plain: str, language: str) -> str:
    """Whom a statement is about: `me`, `kin:…`, `he` for he or she, `name` for a first word in capitals, or nothing."""
    first = min(tokens, key=lambda token: token.at, default=None)
    if first is not None and first.notions and first.notions[0].startswith(("kin:", "pet:")) and first.at < 16:
        return first.notions[0]
    opening = plain[:40].lower()
    three = (
        word for word in _pattern("word").findall(opening)[:3] if word not in pack_files.words("statement", "objects")
    )
    if "me" in who and (language in UNSPACED or any("who:me" in meaning(word, language) for word in three)):
        return "me"
    third = tuple(_table()["third"].get(language, "").split())
    if opening.startswith(third) if language in UNSPACED else opening.split(" ", 1)[0].strip(",.:") in third:
        return "he"
    if first is not None and first.at < 2 and not first.notions and language not in UNSPACED and plain[:1].isupper():
        return "name"
    return "me" if "me" in who else ""


def _spaced(text: str, language: str, found: tuple[Value, ...]) -> Iterator[tuple[str, tuple[str, ...], bool, int]]:
    """The words of a text with spaces, without those in values."""
    known = _words(language)
    lower = text.lower()
    taken = {at for one in found for at in range(one.start, one.end)}
    for match in known.phrase.finditer(lower):
        if taken.isdisjoint(range(*match.span())):
            yield match[0], known.phrases[match[0]], False, match.start()
            taken.update(range(*match.span()))
    for match in _pattern("word").finditer(lower if len(lower) == len(text) else text):
        start, word = match.start(), match[0].lower()
        if start in taken:
            continue
        notions = meaning(word, language)
        if not notions and word in known.small:
            continue
        if not notions and "-" in word:
            notions = meaning(word.replace("-", ""), language) or meaning(word.rpartition("-")[2], language)
        has_capital = start > 0 and text[start : start + 1].isupper()
        is_name = has_capital and not notions and text[start - 2 : start] not in (". ", "! ")
        yield _stem(word, language), notions, is_name, start


@lru_cache(8192)
def _stem(word: str, language: str) -> str:
    """A word without the endings that a language bends it with; roughly, as words of two texts are held together."""
    if language == "en" and word.isascii():
        from nanomem_tui.language.tokens import stem

        return stem(word)
    if language == "ko":
        while len(word) > 2 and (shorter := _pattern("korean_end").sub("", word)) != word and shorter:
            word = shorter
        return word
    return without_accents(word) if word[0] < "\u0400" else word


def _unspaced(text: str, language: str, found: tuple[Value, ...]) -> Iterator[tuple[str, tuple[str, ...], bool, int]]:
    """The words and characters of a Chinese or Japanese text, without those in values."""
    known = _words(language)
    taken = {at for one in found for at in range(one.start, one.end)}
    rest, at, behind = [], 0, 0
    while at < len(text):
        sizes = range(known.longest, 0, -1)
        word = next((word for size in sizes if (word := text[at : at + size]) in known.phrases), "")
        if word and at not in taken:
            rest.append((behind, at))
            behind = at + len(word)
            yield word, known.phrases[word], False, at
        at += len(word) or 1
    for start, end in (*rest, (behind, len(text))):
        for match in _pattern("run").finditer(text, start, end):
            word = match[0]
            is_kana = "\u3041" <= word[0] <= "\u309f"
            is_small = word in known.small or (is_kana and (len(word) < 3 or all(char in known.small for char in word)))
            if not is_small and match.start() not in taken:
                yield word.lower(), (), False, match.start()


# How a statement is put, in ten languages: who is said to have said it, whom it is of, what it says is not so. The
# words are data (`packs/spoken.toml`).

_NAME = re.compile(r"[A-ZÀ-ÞА-ЯЁ][\w-]+")
_spoken_pattern = pack_files.patterns("spoken")


def without_speaker(text: str, *, capital: bool = True) -> str:
    """Return a statement without the words that say who said it; its first letter large, unless `capital` is false.

    >>> without_speaker("User mentioned that she moved to Porto")
    'She moved to Porto'
    """
    while (found := _spoken_pattern("says").match(text)) is not None:
        text = text[found.end() :]
        text = text[:1].upper() + text[1:] if capital else text
    return text


def denied_value(text: str) -> str:
    """Return what a statement says is not so; "" where it does not say.

    >>> denied_value("The office is in Osaka, not in Kyoto"), denied_value("Der Preis ist nicht 10, sondern 12")
    ('in Kyoto', '10')
    """
    found = _spoken_pattern("not_but").search(text) or _spoken_pattern("but_not").search(text)
    return found["wrong"].strip() if found else ""


def without_denied(text: str) -> str:
    """Return a statement without `, not X` at its end.

    >>> without_denied("The office is in Osaka, not in Kyoto")
    'The office is in Osaka'
    """
    found = _spoken_pattern("but_not").search(text)
    return text[: found.start()].rstrip().rstrip(",.。") if found else text


def exchanged(text: str) -> tuple[str, str]:
    """Return (what a statement says is so no more, what is so instead), each "" where it does not say.

    >>> exchanged("The office is in Osaka since May, not in Kyoto"), exchanged("CI: moved from Jenkins to Buildkite")
    (('in Kyoto', 'in Osaka since May'), ('Jenkins', 'Buildkite'))
    """
    if found := _spoken_pattern("not_but").search(text):
        return _cut(found["wrong"]), _cut(found["right"])
    if found := _spoken_pattern("but_not").search(text):
        wrong, said = _cut(found["wrong"]), text[: found.start()].rstrip(" ,;，；")
        words = wrong.split()
        at = said.find(f" {words[0]} ") if len(words) > 1 else -1
        if at >= 0:  # they begin alike: `with Otis, not with Kone`
            return wrong, said[at + 1 :]
        key, _, value = said.rpartition(": ")
        if key and len(value.split()) <= len(words) + 1:  # `Owner: Lena, not Tom`
            return wrong, _cut(value)
        last = _cut(said).split()[-1]
        return (wrong, last) if len(words) == 1 and (wrong[:1].isupper() and last[:1].isupper()) else ("", "")
    if (found := _spoken_pattern("moved").search(text)) and "change" in statement(text).marks | cues_of(text):
        wrong, right = found["a"] or found["c"], _cut(found["b"] or found["d"])
        return wrong, right.split()[0] if wrong.isdigit() else right
    return "", ""


def _cut(text: str) -> str:
    """A value without since when it is so, and why."""
    found = _spoken_pattern("since").search(text)
    text = (text[: found.start()] if found and found.start() else text).strip(" .。!")
    return _spoken_pattern("now").sub("", text)


def ended(text: str) -> bool:
    """Whether a statement takes back what was so before."""
    return _spoken_pattern("ended").search(text) is not None


def names_given(user: str) -> list[str]:
    """Return what a file about the user says they are called, field by field."""
    return [found[1] for found in _spoken_pattern("name").finditer(user)]


def name_told(text: str) -> str:
    """Return how a statement says that the user is called; "" where it says something else, or more.

    >>> name_told("User's name is Ana (Anastasia)"), name_told("User is called Ana and lives in Porto")
    ('Ana', '')
    """
    found = _spoken_pattern("name_told").fullmatch(text.strip())
    name = found["called"] if found else ""
    return name if len(name.split()) <= 3 else ""


def owner_of(user: str) -> str:
    """Return the name that a file about the user gives them; "" where it gives none.

    >>> owner_of("# User\\n- **Name**: Ana")
    'Ana'
    """
    return next((re.split(r"[\s,;，]", name)[0].strip("*") for name in names_given(user)), "")


def subject_of(text: str) -> str:
    """Return the name that a statement begins with; "" where it begins with another word."""
    text = text.strip("*_ ")
    found = _NAME.match(text)
    if (
        found is None
        or found[0].isupper()
        or any(_spoken_pattern(kind).fullmatch(found[0]) for kind in ("pronoun", "opens"))
    ):
        return ""
    is_name = familiarity(found[0].lower(), language_of(text)) <= 0.4
    return found[0] if is_name and text[found.end() : found.end() + 1] in (" ", "'", "’") else ""


def with_subject(text: str, name: str) -> str:
    """Return a statement with a name in the place of the pronoun that it begins with.

    >>> with_subject("He is allergic to penicillin", "Eirik")
    'Eirik is allergic to penicillin'
    """
    found = _spoken_pattern("pronoun").match(text)
    if found is None or found["cjk"] or not name:
        return text
    ends = "'s" if found["whose"] or found["is"] else ""
    return f"{name}{ends}{text[found.end() :]}"


def points_back(text: str) -> bool:
    """Whether a statement begins with a word for something that was named before it.

    >>> points_back("It's 7.4 knots, not 7.2")
    True
    """
    return _spoken_pattern("points").match(text.strip("*_ ")) is not None


def is_of(text: str, owner: str) -> bool:
    """Whether a statement begins with the owner: by name, as the user, a pronoun, or no subject at all."""
    plain = text.strip("*_ -")
    if owner and owner.casefold() in plain[: len(owner) + 24].casefold():
        return True
    return _spoken_pattern("own").match(plain) is not None


def of_oneself(text: str) -> str:
    """Return the first words by which somebody tells of themselves; "" where there are none.

    >>> of_oneself("Since May I work in Oslo")
    'I work'
    """
    found = _spoken_pattern("oneself").search(text)
    return found[0].strip() if found else ""


def refuses(text: str) -> bool:
    """Whether a text denies something, or says that somebody will not or can not have it."""
    return denials(text) > 0 or _spoken_pattern("refuses").search(text) is not None


def denials(text: str) -> int:
    """Return how many words of a text deny something."""
    return len(_spoken_pattern("denies").findall(text))
