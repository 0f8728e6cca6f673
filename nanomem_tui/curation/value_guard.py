"""Whether two texts that read alike say the same: what differs in them that makes each a fact of its own.

Owns the verdict. `same` is what may be offered for merging without a look: each word of one stands in the other, at the
same place. A number, a name, a date, a colour, a unit, a denial, another person, an opposite, a condition or another
word makes two texts `different`, however alike they are; `near` is all between, for a person to judge. Errs towards
different. Pure functions over text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from nanomem_tui.curation import guard_words as known
from nanomem_tui.curation.statements import Statement, Token, read
from nanomem_tui.stemming import stem
from nanomem_tui.text import counted

Verdict = Literal["same", "near", "different"]

SOFT = frozenset({"spelling", "form", "more", "order", "many"})
"""Kinds of differences that leave it to a person; every other one makes two facts."""
SLIP = 8
"""Letters that a word has at least in which a doubled or a swapped letter is a slip and no other word."""
MANY, MOST_CHARACTERS = 2_500, 250_000
"""Words, and characters of a script without spaces, of one text times those of the other, beyond which two texts that
differ are not looked at closely: they are different."""
_ROLES = frozenset("from to over than not before after and or for by into against".split())
_LINKS = frozenset("to from in out on off up down for and or with by user you we it your our its read write".split())
"""Words that stand against another one, and mean little where only one text has them."""
_REAL = frozenset("planing planning scaring scarring staring starring striping stripping discreet discrete".split())


class Difference(NamedTuple):
    """What one text has in place of what the other has, "" where it has nothing there, and of what kind that is:
    number, name, colour, day, unit, denial, person, opposite, condition, tense, question, word …"""

    kind: str
    one: str
    other: str

    @property
    def tells(self) -> bool:
        """Whether it makes two facts of the texts."""
        return self.kind not in SOFT

    def words(self) -> str:
        """The difference as a person reads it: `number: 3 against 5`."""
        kind = {"more": "says more", "form": "another form", "many": "one and many"}.get(self.kind, self.kind)
        if self.one and self.other:
            return f"{kind}: {self.one} against {self.other}"
        return f"{kind}: {self.one or self.other}"


def judge(one: str, other: str) -> tuple[Verdict, tuple[Difference, ...]]:
    """Whether two texts say the same, and what differs. Alike both ways round, but for the order of the words."""
    left, right = read(one), read(other)
    found = tuple(_differences(left, right))
    if any(difference.tells for difference in found):
        return "different", found
    if not found or (len(found) == 1 and found[0].kind == "spelling" and _is_slip(*found[0][1:])):
        return "same", found
    return "near", found


def same(one: str, other: str) -> bool:
    """Whether one of the two may go without a look."""
    return judge(one, other)[0] == "same"


def differing(one: str, other: str) -> tuple[Difference, ...]:
    """What makes two facts of two texts; nothing where none of the differences does."""
    return tuple(difference for difference in judge(one, other)[1] if difference.tells)


def _differences(left: Statement, right: Statement) -> Iterator[Difference]:
    if left.asks != right.asks:
        yield Difference("question", "?" if left.asks else "", "?" if right.asks else "")
    if [token.word for token in left.tokens] == [token.word for token in right.tokens]:
        yield from _of_forms(left.tokens, right.tokens)
        return
    spaced = [[token for token in side.tokens if not token.unspaced] for side in (left, right)]
    yield from _of_words(*spaced)
    runs = ["".join(token.word if token.unspaced else "\n" for token in side.tokens) for side in (left, right)]
    if runs[0].strip("\n") or runs[1].strip("\n"):
        yield from _of_characters(*(run.replace("\n", "") for run in runs))


def _of_forms(left: Sequence[Token], right: Sequence[Token]) -> Iterator[Difference]:
    """Of texts with the same words: one and many of a thing, and names that differ in an s."""
    for one, other in zip(left, right, strict=True):
        if one.cut == other.cut:
            continue
        is_verb = one.word in known.VERBS
        if any(token.one and (token.one == 1 or not is_verb) for token in (one, other)):
            yield Difference("number", one.written, other.written)
        elif (one.capital or other.capital) and not is_verb:
            yield Difference("name", one.written, other.written)


def _of_words(left: Sequence[Token], right: Sequence[Token]) -> Iterator[Difference]:
    counts = [Counter(token.word for token in side) for side in (left, right)]
    only = [_missing(side, counts[1 - at]) for at, side in enumerate((left, right))]
    if not only[0] and not only[1]:
        words = [[token.word for token in side] for side in (left, right)]
        if words[0] != words[1]:
            names = sum(token.capital and token.word not in known.VERBS for token in left)
            turned = bool(_ROLES & {*words[0]}) or names > 1
            yield Difference("roles" if turned else "order", " ".join(words[0]), " ".join(words[1]))
        return
    if len(only[0]) * len(only[1]) > MANY:
        yield Difference("word", counted(len(only[0]), "word"), counted(len(only[1]), "word"))
        return
    rest: list[list[Token]] = [[], list(only[1])]
    for token in only[0]:
        found = next((other for other in rest[1] if _alike(token, other)), None)
        if found is None:
            rest[0].append(token)
        else:
            rest[1].remove(found)
            yield Difference(_alike(token, found), token.written, found.written)
    yield from _unmatched(*rest)


def _missing(side: Sequence[Token], there: Counter[str]) -> list[Token]:
    left = Counter(there)
    found = []
    for token in side:
        if left[token.word]:
            left[token.word] -= 1
        else:
            found.append(token)
    return found


def _alike(one: Token, other: Token) -> str:
    """How two words that differ are forms of one: `form`, `tense` or `spelling`; "" where they are not."""
    if not (one.word.isalpha() and other.word.isalpha()):
        return ""
    if _kind(one) or _kind(other):
        return ""
    if stem(one.word) == stem(other.word):
        return "tense" if one.word.endswith("ed") != other.word.endswith("ed") else "form"
    if min(len(one.word), len(other.word)) < 5 or one.capital or other.capital:
        return ""
    from rapidfuzz.distance import OSA

    return "spelling" if OSA.distance(one.word, other.word, score_cutoff=1) <= 1 else ""


def _is_slip(one: str, other: str) -> bool:
    """Whether two written words are one, with a letter doubled, or two letters swapped, within it."""
    short, long = sorted((one, other), key=len)
    if len(short) < SLIP or {one, other} & _REAL:
        return False
    at = next((n for n, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if not 0 < at < len(short) - 2:
        return False
    if len(short) == len(long):
        return short[at : at + 2] == long[at : at + 2][::-1] and short[at + 2 :] == long[at + 2 :]
    return short[at:] == long[at + 1 :] and long[at] == long[at - 1]


def _unmatched(left: Sequence[Token], right: Sequence[Token]) -> Iterator[Difference]:
    """What each side has alone, by kind; words of one kind stand against each other."""
    open_ = list(right)
    for token in left:
        kind = _kind(token)
        rival = next((other for other in open_ if _rivals(token, other)), None)
        if rival is not None:
            open_.remove(rival)
            yield Difference(_rivals(token, rival), token.written, rival.written)
        elif kind:
            yield Difference(kind, token.written, "")
        elif open_ and not any(_kind(other) for other in open_[:1]):
            yield Difference("word", token.written, open_.pop(0).written)
        else:
            yield Difference("more", token.written, "")
    for token in open_:
        yield Difference(_kind(token) or "more", "", token.written)


def _kind(token: Token) -> str:
    """Of what kind a word is that only one text has, where that makes it another fact; "" for one that only adds."""
    word = token.word
    if any(char.isdigit() for char in word):
        return "number" if not any(char.isalpha() for char in word) else "code"
    if word.rstrip(",") in known.DENIALS or word in {"no,", "not,", "yes,"}:
        return "denial"
    if word in known.CONDITIONS:
        return "condition"
    if word in known.PAST or word in known.FUTURE or word in known.DISTANT:
        return "tense"
    if word in known.GROUP_OF:
        return _group_name(known.GROUP_OF[word]) if word not in _LINKS else ""
    if not word.isalpha() and word != "-":
        return "code"
    return "name" if token.capital and not token.first and word not in known.VERBS else ""


def _rivals(one: Token, other: Token) -> str:
    """Of what kind both are, where one stands against the other; "" where they do not."""
    both = known.GROUP_OF.get(one.word, frozenset()) & known.GROUP_OF.get(other.word, frozenset())
    if both:
        return _group_name(both)
    kinds = _kind(one), _kind(other)
    return kinds[0] if kinds[0] == kinds[1] else ""


def _group_name(groups: Iterable[int]) -> str:
    return next((known.NAMES_OF_GROUPS[n] for n in sorted(groups) if n in known.NAMES_OF_GROUPS), "opposite")


def _of_characters(left: str, right: str) -> Iterator[Difference]:
    """Of texts in a script without spaces: what is replaced is another word, what is added tells by its characters."""
    if left == right:
        return
    if Counter(left) == Counter(right):
        yield Difference("roles", left, right)
        return
    if len(left) * len(right) > MOST_CHARACTERS:
        yield Difference("word", counted(len(left), "character"), counted(len(right), "character"))
        return
    found = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    sides = {tag for tag, *_ in found}
    for tag, a, b, c, d in found:
        if tag == "equal":
            continue
        one, other = left[a:b], right[c:d]
        kinds = (known.CJK_TELLING.get(char) for char in one + other)
        kind = next((kind for kind in kinds if kind), "")
        if not kind and any(word in one + other for word in _UNCUT_DENIALS):
            kind = "denial"
        if not kind and (right[d : d + 1] or " ") in "元里斤" and one + other:
            kind = "unit"
        alone = not (one and other) and not {"insert", "delete"} <= sides
        yield Difference(kind or ("more" if alone else "word"), one, other)


_UNCUT_DENIALS = ("ไม่", "ない", "なく", "ません", "た", "เลิก", "เคย", "จะ")
