"""A statement as it is compared with another: its content words with what they mean, its marks (not, no longer, now,
also, maybe, …), who it is about, and its values. Read alike in ten languages; the words are data
(`packs/notions.json`).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple

from nanomem_tui.language.detect import language_of
from nanomem_tui.language.values import Value, values

UNSPACED = ("zh", "ja")
"""Languages that are written without spaces between words."""
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*[\d]*|\w*\d\w*")
_RUN = re.compile(r"[\u3400-\u9fff々]|[\u30a0-\u30ff]+|[\u3041-\u309f]+|[A-Za-zÀ-ÿ0-9][A-Za-zÀ-ÿ0-9_.-]*")
_ELISION = re.compile(
    r"\b(?:l|d|j|m|t|s|n|c|qu|un|all|dell|nell|sull|dall|quest|jusqu|lorsqu)['’](?=\w)", re.IGNORECASE
)
_SHORT = (
    (re.compile(r"\bcan['’]?t\b|\bcannot\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon['’]t\b", re.IGNORECASE), "will not"),
    (re.compile(r"n['’]t\b", re.IGNORECASE), " not"),
    (re.compile(r"['’](?:s|m|re|ve|ll|d)\b", re.IGNORECASE), " "),
)
_NUMBER_SIGN = re.compile(r"\b(?:no|nr|n|núm|№)\.?\s?[°º]?\s?(?=\d)", re.IGNORECASE)
_MORE = {"fr": "plus", "pt": "mais", "it": "più", "es": "más", "de": "mehr", "ru": "больше", "en": "longer"}
"""The word that makes `no longer` of a denial."""
_FALSE_CJK = (
    "别人 不错 不同 不过， 不但 不仅 未来 特别 分别 差不多 区别 性别 不锈钢 不好意思 "
    "没关系 个别 级别 无线 对不起 告别 无人机 别墅 无锡 未婚 要不 不少 少ない 危ない "
    "つまらない まず 必ず いずれ ずっと 少なく 無料 無線 無印 今年 みずほ しずく みず "
    "すず たなか 先生 新潟 新宿 新幹線 新聞 上海 今井 大学生 家人 大家 专家 国家 国会 "
    "新加坡 新疆 了解 新竹"
).split()
"""Words in which a character does not mean what it means alone."""


_DENYING = frozenset("不没沒")
_OBJECTS = frozenset("me us mir mich uns mí moi mim nos ci mi m мне меня нам нас мной".split())
"""Words of the speaker that are no subject."""


_POSSESSIVES = frozenset(
    "my our mein meine unser mi mis mon ma mes notre nos meu minha mio mia mój мой моя моё мои наш".split()
)


class Token(NamedTuple):
    """A content word: as it is compared (in lower case, without ending), what it means, whether it is a name."""

    stem: str
    notions: tuple[str, ...]
    is_name: bool
    at: int


class Statement(NamedTuple):
    """A statement in the parts that are compared."""

    language: str
    normal: str
    tokens: tuple[Token, ...]
    marks: frozenset[str]
    denials: int
    who: frozenset[str]
    subject: str
    values: tuple[Value, ...]
    asks: bool


class _Words(NamedTuple):
    """The words of one language: those that mean something, by the whole word and by its beginning, as phrases, and
    the small words, which mean nothing by themselves."""

    whole: dict[str, tuple[str, ...]]
    begins: dict[str, tuple[str, ...]]
    ends: dict[str, tuple[str, ...]]
    phrases: re.Pattern[str]
    of_phrase: dict[str, tuple[str, ...]]
    small: frozenset[str]


@lru_cache(16)
def _words(language: str) -> _Words:
    """Load the words of a language."""
    body = _notions()
    unspaced = language in UNSPACED
    tables: list[dict[str, tuple[str, ...]]] = [{}, {}, {}, {}]
    for notion, by_language in body["notions"].items():
        for entry in by_language.get(language, "").split():
            if entry.endswith("_") or entry.startswith("_"):
                continue
            word = entry.replace("_", " ").strip("*-").lower()
            if unspaced or " " in word:
                at = 3
            elif entry.endswith("*"):
                at = 1
            else:
                at = 0
                if language == "ko" and len(word) > 1:
                    tables[2][word] = (*tables[2].get(word, ()), notion)
            tables[at][word] = (*tables[at].get(word, ()), notion)
            if language == "zh" and notion.startswith("mark:") and len(word) > 1 and not _DENYING.isdisjoint(word):
                tables[at][word] = tuple({*tables[at][word], "mark:not"})
    if unspaced:
        tables[3].update(dict.fromkeys(_FALSE_CJK, ()))
    ordered = sorted(tables[3], key=len, reverse=True)
    pattern = ""
    if not unspaced:
        pattern = r"(?<!\w)(?:" + "|".join(map(re.escape, ordered)) + r")(?!\w)"
    small = frozenset(body["small"].get(language, "").split())
    return _Words(
        tables[0], tables[1], tables[2], re.compile(pattern if ordered and pattern else r"(?!)"), tables[3], small
    )


@lru_cache(1)
def _notions() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("packs", "notions.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@lru_cache(8192)
def _meaning(word: str, language: str) -> tuple[str, ...]:
    """What a word means: by the whole of it, else by the longest beginning or ending that is known."""
    known = _words(language)
    found = known.whole.get(word)
    if found is not None:
        return found
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


def meaning(word: str, language: str) -> tuple[str, ...]:
    """Return what a word means, `kin:son`, `day:mon`; nothing where it is not known."""
    return _meaning(word, language)


def is_of_speaker(word: str, language: str) -> bool:
    """Whether a word stands for the speaker: I, we, user."""
    return word not in _POSSESSIVES and "who:me" in _meaning(word, language)


@lru_cache(16384)
def familiarity(word: str, language: str) -> float:
    """How much a word shows that a text is in a language: most as a small word of it."""
    known = _words(language)
    if word in known.small:
        return 1.0
    return 0.7 if word in known.whole else 0.4 if _meaning(word, language) else 0.0


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
    denials = marks.count("not")
    if language == "fr" and "ne" not in plain.lower().split() and not re.search(r"\bn['’ ]", plain.lower()):
        denials = 0 if "plus" in plain.lower().split() and denials == 0 else denials
        marks = [mark for mark in marks if mark != "end" or " plus" not in plain.lower()] if denials == 0 else marks
    if denials and language in _MORE and re.search(rf"\b{_MORE[language]}\b", plain.lower()):
        marks.append("end")
    if "change" in marks and "formerly" not in marks:
        marks = [mark for mark in marks if mark != "past"]  # it was moved
    asks = text.rstrip().endswith(("?", "？"))
    normal = re.sub(r"[\W_]+", "" if language in UNSPACED else " ", plain.lower()).strip()
    return Statement(
        language,
        normal,
        tuple(tokens),
        frozenset(marks),
        denials,
        frozenset(who),
        _subject(tokens, who, plain, language),
        found,
        asks,
    )


def _plain(text: str, language: str) -> str:
    """The text with its short forms written out."""
    text = text.replace("’", "'").replace("**", "").replace("`", "")
    text = _NUMBER_SIGN.sub("", text)
    if language == "en":
        for pattern, written in _SHORT:
            text = pattern.sub(written, text)
    elif language in ("fr", "it"):
        text = _ELISION.sub(lambda found: f"{found[0][:-1]} ", text)
    return text.strip()


def _subject(tokens: list[Token], who: list[str], plain: str, language: str) -> str:
    """Whom a statement is about: `me`, `kin:…`, `he` for he or she, `name` for a first word in capitals, or nothing."""
    first = min(tokens, key=lambda token: token.at, default=None)
    if first is not None and first.notions and first.notions[0].startswith(("kin:", "pet:")) and first.at < 16:
        return first.notions[0]
    opening = plain[:40].lower()
    if "me" in who and (language in UNSPACED or _is_early(opening, language)):
        return "me"
    word = opening.split(" ", 1)[0].strip(",.:")
    if word in _THIRD.get(language, "").split() or opening[:1] in ("他", "她", "彼"):
        return "he"
    if first is not None and first.at < 2 and not first.notions and language not in UNSPACED and plain[:1].isupper():
        return "name"
    return "me" if "me" in who else ""


def _is_early(opening: str, language: str) -> bool:
    """Whether one of the first three words is of the speaker."""
    return any("who:me" in _meaning(word, language) and word not in _OBJECTS for word in _WORD.findall(opening)[:3])


_THIRD = {
    "en": "he she they his her their", "de": "er sie seine ihre ihr sein", "es": "él ella su sus",
    "fr": "il elle ils elles son sa", "pt": "ele ela eles elas seu sua", "it": "lui lei loro suo sua",
    "ru": "он она они его её ее их",
}  # fmt: skip
"""Words for somebody that is not named, by language."""


def _spaced(text: str, language: str, found: tuple[Value, ...]) -> Iterator[tuple[str, tuple[str, ...], bool, int]]:
    """The words of a text with spaces, without those in values."""
    known = _words(language)
    lower = text.lower()
    spans = [(one.start, one.end) for one in found]
    for match in known.phrases.finditer(lower):
        notions = known.of_phrase[match[0]]
        if not any(start < match.end() and match.start() < end for start, end in spans):
            yield match[0], notions, False, match.start()
            spans.append((match.start(), match.end()))
    for match in _WORD.finditer(lower) if len(lower) == len(text) else _WORD.finditer(text):
        start, word = match.start(), match[0].lower()
        if any(left <= start < right for left, right in spans):
            continue
        notions = _meaning(word, language)
        if not notions and word in known.small:
            continue
        if not notions and "-" in word:
            notions = _meaning(word.replace("-", ""), language) or _meaning(word.rpartition("-")[2], language)
        is_name = (
            text[start : start + 1].isupper()
            and start > 0
            and not notions
            and text[start - 2 : start] not in (". ", "! ")
        )
        yield _stem(word, language), notions, is_name, start


@lru_cache(8192)
def _stem(word: str, language: str) -> str:
    """A word without the endings that a language bends it with; roughly, as words of two texts are held together."""
    if language == "en" and word.isascii():
        from nanomem_tui.language.stemming import stem

        return stem(word)
    if language == "ko":
        while len(word) > 2 and (shorter := _KOREAN_END.sub("", word)) != word and shorter:
            word = shorter
        return word
    if not word.isascii() and word[0] < "\u0400":
        return "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))
    return word


_KOREAN_END = re.compile(
    r"(?:에서는|에서|에게|한테|으로|까지|부터|마다|이랑|하고|라고|입니다|이에요|예요|이다|이야|이고|습니다|니다|어요|아요|해요|했다|한다|하다|된다|됐다"
    r"|은|는|이|가|을|를|에|의|로|와|과|도|만|랑|다|요)$"
)


@lru_cache(2)
def _sizes(language: str) -> dict[str, tuple[int, ...]]:
    """How long the known words are that begin with a character, the longest first."""
    found: dict[str, set[int]] = {}
    for word in _words(language).of_phrase:
        found.setdefault(word[0], set()).add(len(word))
    return {first: tuple(sorted(sizes, reverse=True)) for first, sizes in found.items()}


def _phrases(text: str, language: str) -> Iterator[tuple[int, str]]:
    """The longest known words of a text without spaces, from its beginning on."""
    known, sizes = _words(language).of_phrase, _sizes(language)
    at = 0
    while at < len(text):
        for size in sizes.get(text[at], ()):
            if (word := text[at : at + size]) in known:
                yield at, word
                at += size - 1
                break
        at += 1


def _unspaced(text: str, language: str, found: tuple[Value, ...]) -> Iterator[tuple[str, tuple[str, ...], bool, int]]:
    """The words and characters of a Chinese or Japanese text, without those in values."""
    known = _words(language)
    taken = {at for one in found for at in range(one.start, one.end)}
    rest, at = [], 0
    for start, word in _phrases(text, language):
        if start in taken:
            continue
        rest.append((at, start))
        at = start + len(word)
        yield word, known.of_phrase[word], False, start
    rest.append((at, len(text)))
    for start, end in rest:
        for match in _RUN.finditer(text, start, end):
            word = match[0]
            if word in known.small or match.start() in taken:
                continue
            if "\u3041" <= word[0] <= "\u309f":
                if len(word) < 3 or all(char in known.small for char in word):
                    continue
            yield word.lower(), (), False, match.start()
