"""A text as duplicates are compared: its words in one form each, without those that mean nothing by themselves.

Owns which ways to write a statement are one: width, case, signs, spelling, contractions, numbers and dates in words,
who speaks (`I` is the user), and polite endings. Two texts of one `key` say the same but for what `value_guard` looks
at. Pure functions over text.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.curation import guard_words as known
from nanomem_tui.memory.simplified import simplified

MOST = 4_000
"""Characters that are read word by word; the rest of a longer text is one word, told by its hash."""

_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0002ebef]+)"
)
_TRIM = ".,;:!?()[]{}\"'`*…“”‘’«»|。、，！？「」『』（）《》【】·"
_PAUSE = frozenset(",，、;；")
_NUMBER = re.compile(r"[-+]?\d+(?:[.,:]\d+)*")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_WITH_UNIT = re.compile(r"([-+]?\d+(?:[.,:]\d+)*)(%|°[CF]?|[a-zA-Zµ]{1,3})")
_UNITS = frozenset(
    "% ° °C °F am pm km cm mm m kg g mg ml l kb mb gb tb KB MB GB TB kB AM PM s ms min h hz Hz mhz MHz ghz GHz "
    "kw kW".split()
)
_BIG_UNITS = {"KB": "kb", "MB": "mb", "GB": "gb", "TB": "tb", "kB": "kb", "AM": "am", "PM": "pm"}
_LEAD_IN = re.compile(
    r"\s*(?:[-*+•]\s+)?(?:(?:please\s+)?(?:remember|note)(?:\s+that\b|\s*:)|(?:fyi|nb)\b\s*[:,]?|"
    r"(?:the\s+)?user\s+(?:said|says|mentioned|mentions|stated|told me|noted)\s+that\b|"
    r"请?记住\s*[:，,：]?|请?注意\s*[:，：])\s*",
    re.IGNORECASE,
)
_NUMBER_WORDS = frozenset(
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million dozen january february "
    "march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov "
    "dec".split()
)
_CJK_NUMBERS = re.compile("[年二两三四五六七八九十百千万]")
_ASKS = re.compile(
    r"\s*(?:(?:what|who|where|when|why|how|which)\s+)?(?:is|are|was|were|do|does|did|can|could|will|would|should)\s+"
    r"(?:the|i|you|we|they|he|she|it|there|this|that|my|your|any)\b",
    re.IGNORECASE,
)
_ASKED = re.compile(r"\?(?=[\s\"')]|$)")
_SPELT_OUT = re.compile(
    r"\b(?:zero|oh|one|two|three|four|five|six|seven|eight|nine)[\s-]+"
    r"(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen)\b",
    re.IGNORECASE,
)
_RAISED = str.maketrans({char: f"^{digit}" for digit, char in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")})
_CODE_START = re.compile(r"[(\"'`]*(?:\.|\*\.|!)\w")
_POLITE = re.compile(r"(?:です|だ|である|ครับ|ค่ะ|的)(?=\s|[。．.!！、，,]|$)")
_SPOKEN = (("しています", "している"), ("ています", "ている"), ("でいます", "でいる"))
_WE_SAY = frozenset("think believe say hope know mean feel prefer want mention note".split())
_IS = frozenset("it that he she there what here who where how this".split())
_OPENINGS = frozenset("is has was does doesn't isn't hasn't wasn't won't can't cannot can will should must".split())
_ADVERBS = frozenset("always never usually often sometimes rarely still only not".split())
_DETERMINERS = frozenset("a an the this that these those his her their our its your my".split())
_NEAR = 3
_AND = frozenset(("and", "or"))
_BEFORE_LISTS = frozenset(
    "to with in for of on speak like love enjoy play need use eat drink want prefer own study".split()
)


class Token(NamedTuple):
    """A word as it is compared, as it stands there (case folded), and how: `cut`: without its s; `capital`: it may be
    a name; `one`: so many words before it stands what says which one, or how many, 0 for none near;
    `unspaced`: a character of a script without spaces;
    `first`: at the beginning, where any word has a capital."""

    word: str
    written: str
    cut: bool = False
    capital: bool = False
    one: int = 0
    unspaced: bool = False
    first: bool = False


class Statement(NamedTuple):
    """A text, read: its words in order, and whether it asks."""

    tokens: tuple[Token, ...]
    asks: bool

    @property
    def key(self) -> str:
        """The words in one line: what is equal here says the same, but for names and numbers of things."""
        return " ".join(token.word for token in self.tokens) + (" ?" if self.asks else "")


@lru_cache(1024)
def read(text: str) -> Statement:
    """A text as it is compared."""
    plain, rest = text[:MOST], text[MOST:]
    if not plain.isascii():
        plain = _composed(plain)
    if (opening := _LEAD_IN.match(plain)) is not None:
        plain = plain[opening.end() :]
    if _has_number_words(plain) and not _SPELT_OUT.search(plain):
        from nanomem_tui.dream.rewording import in_digits

        plain = in_digits(plain)
    asks = _ASKED.search(plain) is not None or _ASKS.match(plain) is not None
    words = _Words(plain)
    tokens = words.tokens
    if not asks and _is_about_user(tokens, words.opening):
        tokens.insert(0, Token("user", ""))
    _sort_pair(tokens)
    if rest:
        whole = hashlib.blake2b(rest.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        tokens.append(Token(f"rest-{whole}", "the rest"))
    return Statement(tuple(tokens), asks)


def key_of(text: str) -> str:
    """The key of a text, without keeping what was read."""
    return read.__wrapped__(text).key


def has_lead_in(text: str) -> bool:
    """Whether a text begins with words that only announce it: `Remember that`."""
    return _LEAD_IN.match(text) is not None


def _has_number_words(plain: str) -> bool:
    words = plain.lower().replace("-", " ").replace(",", " ").replace(".", " ").split()
    return not _NUMBER_WORDS.isdisjoint(words) or (not plain.isascii() and _CJK_NUMBERS.search(plain) is not None)


def _composed(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text.translate(_RAISED)).replace("’", "'").replace("‘", "'").replace("−", "-")
    if _UNSPACED.search(plain) is None:
        return plain
    plain = simplified(plain)
    for written, alike in known.CJK_ALIKE:
        plain = plain.replace(written, alike)
    for polite, said in _SPOKEN:
        plain = plain.replace(polite, said)
    return _POLITE.sub("", plain)


class _Words:
    """The tokens of one text, made chunk by chunk."""

    def __init__(self, plain: str) -> None:
        self.tokens: list[Token] = []
        self._chunks = plain.split()
        letters = [char for char in plain if char.isalpha()] if plain.isupper() else []
        self._shouts = len(letters) > 3
        self._determined = 0
        self.opening = self._chunks[0].strip(_TRIM).casefold() if self._chunks else ""
        for at, chunk in enumerate(self._chunks):
            simple = _simple(chunk)
            if simple is not None:
                word, written, cut, capital = simple
                self._add(word, written, cut, capital and not self._shouts)
            elif chunk.isascii():
                self._piece(chunk, at)
            else:
                for piece in _UNSPACED.split(chunk):
                    if piece and _UNSPACED.match(piece):
                        self._characters(piece)
                    elif piece:
                        self._piece(piece, at)

    def _characters(self, piece: str) -> None:
        self.tokens += [Token(char, char, unspaced=True) for char in piece if char not in "的、。「」・"]

    def _piece(self, piece: str, at: int) -> None:
        bare = piece.strip(_TRIM) if _CODE_START.match(piece) is None else piece.rstrip(_TRIM)
        if not bare:
            before = self.tokens[-1] if self.tokens else None
            if before is not None and before.unspaced and before.word in "不没别" and piece[0] in _PAUSE:
                self.tokens.append(Token(",", ","))
            return
        if bare.strip("-–—+#•>") == "" and (at == 0 or bare in {"-", "–", "—", "•"}):
            return
        if bare.isalpha():
            self._word(bare, at, piece)
        elif bare[0].isdigit() or (bare[0] in "+-" and bare[1:2].isdigit()):
            self._number(bare)
        elif bare[0] in "vV" and _NUMBER.fullmatch(bare[1:]):
            self._number(bare[1:])
        elif "'" in bare and bare.replace("'", "").replace("-", "").isalpha():
            self._contraction(bare, at, piece)
        elif "-" in bare and bare.replace("-", "").isalpha() and bare[0] != "-":
            self._hyphened(bare, at, piece)
        elif bare == "&":
            self._word("and", at, piece)
        else:
            self._add(_as_code(bare), bare)

    def _add(self, word: str, written: str, cut: bool = False, capital: bool = False) -> None:
        tokens = self.tokens
        if tokens:
            last = tokens[-1]
            if last.word == word and len(word) > 1 and word.isalpha() and not last.unspaced:
                return
            if word == "not" and last.word == "do":
                tokens.pop()
        near = len(tokens) + 2 - self._determined if self._determined else 0
        tokens.append(Token(word, written, cut, capital, near if near <= _NEAR else 0, False, not tokens))
        if written in _DETERMINERS or word == "'s":
            self._determined = len(tokens) + 1

    def _number(self, bare: str) -> None:
        if _NUMBER.fullmatch(bare):
            found = bare.replace(",", "") if _THOUSANDS.fullmatch(bare.lstrip("+-")) else bare
            self._add(found, found)
            return
        unit = _WITH_UNIT.fullmatch(bare)
        if unit and unit[2] in _UNITS:
            self._number(unit[1])
            self._add(_BIG_UNITS.get(unit[2], unit[2]), unit[2])
        else:
            self._add(_as_code(bare), bare)

    def _hyphened(self, bare: str, at: int, piece: str) -> None:
        folded = bare.casefold()
        if folded in known.ALIKE or folded in known.GROUP_OF:
            self._word(bare, at, piece)
            return
        for part in bare.split("-"):
            if part:
                self._word(part, at, piece)

    def _contraction(self, bare: str, at: int, piece: str) -> None:
        folded = bare.casefold()
        if folded in known.ALIKE:
            for word in known.ALIKE[folded].split():
                self._add(word, word)
            return
        base, _, end = bare.rpartition("'")
        if end.casefold() == "t" and base[-1:].casefold() == "n":
            self._word(base[:-1], at, piece)
            self._add("not", "not")
        elif end.casefold() in {"s", "m", "re", ""}:
            self._word(base, at, piece)
            if end.casefold() == "s" and base.casefold() not in _IS:
                self._add("'s", "'s")
        elif end.casefold() in {"ve", "ll"}:
            self._word(base, at, piece)
            self._add("have" if end.casefold() == "ve" else "will", end)
        else:
            self._add(folded, folded, False, bare[0].isupper())

    def _word(self, bare: str, at: int, piece: str) -> None:
        folded = bare.casefold()
        if not folded:
            return
        if folded in known.SILENT and not self._means_something(bare, folded, at):
            if folded in _DETERMINERS:
                self._determined = len(self.tokens) + 1
            return
        if folded in {"my", "mine"}:
            self._add("user", "user")
            self._add("'s", "'s")
            return
        if folded == "that" and self.tokens and self.tokens[-1].word in _WE_SAY:
            return
        if folded == "really" and not any(token.word == "not" for token in self.tokens):
            return
        capital = bare[0].isupper() and not self._shouts and folded != "i"
        if capital and bare.isupper() and folded in known.ACRONYMS and at and len(bare) > 1:
            self._add(bare, bare, False, True)
            return
        if folded in {"no", "not", "yes"} and piece[-1] in _PAUSE:
            folded += ","
        alike = known.ALIKE.get(folded, folded)
        if " " in alike:
            for word in alike.split():
                self._add(word, folded)
            return
        word, cut = one_form(alike)
        self._add(word, folded, cut, capital)

    def _means_something(self, bare: str, folded: str, at: int) -> bool:
        """Whether a word that is silent elsewhere is none here: 8 am, vitamin A, a few."""
        if folded == "am":
            return bool(self.tokens) and self.tokens[-1].word[-1:].isdigit()
        if folded == "a" and self._chunks[at + 1 : at + 2] in (["few"], ["little"]):
            return True
        return folded == "a" and bare == "A" and bool(self.tokens) and not self._shouts


def _is_about_user(tokens: Sequence[Token], opening: str) -> bool:
    """Whether a statement without a subject says what the user does or is: `Prefers tea`, `Is vegan`, `Moved to Oslo`;
    not an order: `Answer in German`."""
    if not tokens or tokens[0].word == "user" or tokens[0].unspaced:
        return False
    if opening in _OPENINGS:
        return True
    verb = tokens[1] if tokens[0].word in _ADVERBS and len(tokens) > 1 else tokens[0]
    if verb.one:
        return False
    return (verb.cut and verb.word in known.VERBS) or _is_past(verb.word)


def _is_past(word: str) -> bool:
    return word.endswith("ed") and (word[:-2] in known.VERBS or word[:-1] in known.VERBS)


@lru_cache(16384)
def _simple(chunk: str) -> tuple[str, str, bool, bool] | None:
    """What becomes of a word wherever it stands: word, as written, without its s, with a capital; None where that rests
    on what is around it."""
    bare = chunk.strip(_TRIM)
    if not (bare.isascii() and bare.isalpha()) or _CODE_START.match(chunk):
        return None
    folded = bare.casefold()
    alike = known.ALIKE.get(folded, folded)
    is_acronym = len(bare) > 1 and bare.isupper() and folded in known.ACRONYMS
    if is_acronym or folded in known.SILENT or folded in _PLACED or " " in alike:
        return None
    word, cut = one_form(alike)
    return word, folded, cut, bare[0].isupper() and folded != "i"


_PLACED = frozenset("my mine that really no not yes".split())
"""Words that are read by what stands beside them."""


@lru_cache(16384)
def one_form(word: str) -> tuple[str, bool]:
    """A folded word in one spelling, without the s of a plural or of a third person; whether there was one."""
    cut = False
    if len(word) >= 4 and word[-1] == "s" and word.isascii() and word not in known.KEPT_S and word[-2] not in "su'":
        if word.endswith("ies") and len(word) > 4:
            word, cut = word[:-3] + "y", True
        elif word.endswith(("ches", "shes", "xes", "sses", "zes")):
            word, cut = word[:-2], True
        elif not word.endswith(("is", "ous")):
            word, cut = word[:-1], True
    if "our" in word and any(word.startswith(start) for start in known.OUR):
        word = word.replace("our", "or", 1)
    if len(word) > 5 and "is" in word[3:]:
        word = _ISE.sub(r"iz\1", word)
    return word, cut


_ISE = re.compile(r"(?<=...)is(e|ed|ing|er|ation)$")


def _as_code(bare: str) -> str:
    """A name of a machine or a code, of which the case counts where it is mixed."""
    letters = [char for char in bare if char.isalpha()]
    mixed = any(char.isupper() for char in letters[1:]) and any(char.islower() for char in letters)
    with_digits = any(char.isdigit() for char in bare) and any(char.isupper() for char in letters)
    if mixed or (with_digits and any(char.islower() for char in letters)):
        return bare
    return bare.casefold()


def _sort_pair(tokens: list[Token]) -> None:
    """The two ends of a list of two single words at the end in one order: who speaks A and B speaks B and A."""
    if len(tokens) < 4 or tokens[-2].word not in _AND or any(token.word in _AND for token in tokens[:-2]):
        return
    before, one, other = tokens[-4], tokens[-3], tokens[-1]
    if before.word in _BEFORE_LISTS and one.word.isalpha() and other.word.isalpha() and one.word > other.word:
        tokens[-3], tokens[-1] = other, one
