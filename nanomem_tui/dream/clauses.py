"""The clauses of what was said: the words of each, whether it denies or supposes, and whom it is about.

Owns cutting a text where one statement ends and the next begins, so that `allergic to nuts, not to milk` says two
things. Knows no edit and decides nothing. Pure functions over text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.dream import details
from nanomem_tui.dream.polarity import asserted, denies, is_denial, opens_condition
from nanomem_tui.dream.veil import unmasked
from nanomem_tui.formats.history import marks
from nanomem_tui.language.tokens import fold, tokens

_I = re.IGNORECASE
OPEN = frozenset(
    tokens(
        "user users person agent assistant prefer prefers preference like likes love loves enjoy enjoys want "
        "wants use uses using used has have had live lives living work works working move moved moves go "
        "goes went get got is are was be been now currently recently since also new named called name said "
        "says wish need needs makes make made own owns keep keeps start started year month week day date "
        "time located based relocated resides goal plan plans"
    )
)
_LINKS = frozenset(
    tokens(
        "switched changed updated raised lowered cut set corrected became becomes rescheduled postponed delayed "
        "shifted decision decided note fact reminder update correction todo agreed increased reduced grew bought chose "
        "eats eat drinks drink takes plays speaks drives sleeps studies runs hates dislikes avoids visited joined "
        "always usually often sometimes stopped "
        "chosen sold lost gave cancelled canceled finished closed removed deleted gone "
        "today yesterday tomorrow finally actually later longer anymore favourite favorite remember please correct "
        "maybe perhaps possibly suppose supposing imagine considering if "
        "instead replaced renamed migrated upgraded extended confirmed told mentioned actual current latest value"
    )
)
"""Words that open a statement and are not whom or what it is about."""

_PREFERRED = re.compile(r"(\bprefer\w*\b[^.;,\n]{0,80}?) (?:over|than) ", _I)
_VERB = (
    r"(?:he|she|it|they|we|I|is|are|was|were|has|have|had|does|do|did|will|would|can|should|also|now|likes?|loves?|"
    r"prefers?|enjoys?|works?|lives?|wants?|needs?|uses?|leads?|drinks?|eats?|plays?|owns?|speaks?|runs?|moved|became)\b"
)
_CUTS = re.compile(
    r"[.!?;,](?:\s+|$)|[，。；！？()（）]|\s[-–—]\s|\s+(?:but|while|whereas|although|though|yet|however)\s+|"
    rf"\s+and\s+(?=(?:{_VERB}|[A-Z][\w-]*(?: [A-Z][\w-]*)? {_VERB}|(?:not|no|never|dislikes?|hates?|avoids?|left|"
    r"stopped|quit)\b))|\s+(?=(?:instead of|rather than|because|due to)\b)|(?=而不是|而非|因为|由于)|但是?",
)
_REASON = re.compile(r"\W*(?:because|due to|since|as)\b|因为|由于", _I)
_CJK = "\u3400-\u9fff"
_IS_CJK = re.compile(f"[{_CJK}]")
_SAYS = re.compile(rf"\b{_VERB}|[喜爱是有在住用吃喝要会能对改去搬]", _I)
_FRAGMENT = 4  # words, or characters of a script without spaces, that a mere item of a list has at most
_VALUE = re.compile(r"(?<![\w.-])(?:\d+(?:[-./:]\d+)+|\d|[A-Za-z]{1,2}[+-](?!\w))(?![\w-])")
_CAPITAL = re.compile(r"\b[A-Z][\w-]+|\b\d[\w.:/-]*\w")
_NAMED = 2  # words of one that is only named
_PARTICLES = frozenset("的了是在和与及或也都就还这那有个们为以于之其而被把对从到由用户我他她它说")
_OWNED = re.compile(r"\b([^\W\d_][\w-]*)['’]s?(?!\w)")
_OF_CJK = re.compile(f"([{_CJK}]{{2,4}})的")
_LEAD_CJK = re.compile(f"([{_CJK}]{{2,4}}?)(?=[对是在不没未喜爱说住搬改的有要叫吃喝也已从去:：]|负责)")
_OWNS = re.compile(
    r"\b(?P<who>[^\W\d_][\w-]*)(?:['’]s|(?<=s)['’])\s+(?P<what>(?:[\w-]+\s+){0,2}?[\w-]+)"
    rf"(?=\s*(?:['’]|[:：,;.(]|$)|\s+(?:{_VERB}|(?:in|at|on|of|for|from|to|with|by|about|since|and)\b))|"
    r"\W*(?P<my>(?:The |the |A |a )?[Uu]ser['’]s|[Mm]y|[Oo]ur)\s+(?P<mine>(?:[\w-]+\s+){0,2}?[\w-]+)"
    rf"(?=\s*(?:['’]|[:：,;.(]|$)|\s+(?:{_VERB}|(?:in|at|on|of|for|from|to|with|by|about|since|and)\b))",
)
_OWNS_CJK = re.compile(
    f"(?P<who>[{_CJK}]{{2,4}}?)的(?P<what>[{_CJK}]{{1,5}}?)(?=[是在不没未有喜爱说住搬改要叫吃喝对也已从去用:：]|[^{_CJK}]|$)|"
    "(?:我|用户)(?P<mine>(?:的?)(?:爸爸?|妈妈?|父亲|母亲|哥哥?|弟弟?|姐姐?|妹妹?|妻子|老婆|丈夫|老公|儿子|女儿|朋友|同事|老板))"
)
_OTHER = re.compile(r"\b(?:other|another|second|former|previous)\b|另|别的", _I)
_NOUN_PHRASE = re.compile(r"\W*(?:the|an?|my|our|his|her|their|your)\s+(?P<rest>.*)", _I)
_WHEN_CJK = re.compile("[上下这]个?[月周]|[昨今明前]天|[去今明]年|现在|目前|最近|已经?|刚刚?|不再|再也|[最很都]")
_USER_CJK = re.compile("我(?![的们爸妈父母哥弟姐妹儿女老朋])|用户(?!的)")
_FIRST = re.compile(r"\W*(?:(?:The|A|An|My|Our|Now|So)\s+)?([A-Z][\w-]*)")


class Clause(NamedTuple):
    """One statement as it stands, what `words` say what it is about, and whether it denies.

    `words` hold those with which its sentence began, where the clause has no beginning of its own. `asserted` is what
    of it is said to be so: "" for what is only supposed.
    """

    text: str
    words: frozenset[str]
    denied: bool
    asserted: str


@lru_cache(512)
def clauses(said: str) -> tuple[Clause, ...]:
    """The statements of all lines of a text, in order."""
    return tuple(clause for _, text in marks(said) for clause in _of_line(text))


def _of_line(text: str) -> Iterable[Clause]:
    opened = last = frozenset[str]()
    before = supposed = False
    for number, (part, goes_on) in enumerate(_parts(_PREFERRED.sub(r"\1, not ", text))):
        words = core(part)
        if number and len(part.split()) <= _NAMED and _is_item(part.lower()) and not (":" in part or denies(part)):
            words |= last  # `a new owner, Anna`
        last = words
        supposed = (supposed and goes_on) or opens_condition(part)
        if not words and not denies(part):
            continue
        denied = denies(part) or (before and _is_item(part) and not _REASON.match(part))
        own = number == 0 or _FIRST.match(part) is not None
        yield Clause(part, words if own else words | opened, denied, "" if supposed else asserted(part))
        if own:
            opened = frozenset(word for word in core(_opening(part)))
        before = denied


def _parts(text: str) -> Iterable[tuple[str, bool]]:
    """The parts between the cuts, each with whether it goes on with the sentence of the one before."""
    end, goes_on = 0, False
    for cut in _CUTS.finditer(text):
        yield text[end : cut.start()], goes_on
        end, goes_on = cut.end(), cut[0].strip() in (",", "，", "and")
    yield text[end:], goes_on


def _is_item(part: str) -> bool:
    """Whether a part goes on with the list that the part before it began: `nuts` of `no milk, nuts`."""
    size = len(_IS_CJK.findall(part)) or len(part.split())
    return size <= _FRAGMENT and not _SAYS.search(part) and _FIRST.match(part) is None


def _opening(part: str) -> str:
    """The words with which a sentence begins: before its verb or colon, three at most."""
    if found := _LEAD_CJK.match(part.strip()):
        return found[1]
    head = re.split(rf"[:：]|\b(?:{_VERB}|not\b|never\b)", part, maxsplit=1, flags=_I)[0]
    return " ".join(head.split()[:3])


@lru_cache(4096)
def core(text: str) -> frozenset[str]:
    """The words that say what a text is about; of scripts without spaces the characters."""
    values = frozenset(fold(value) for value in _VALUE.findall(text))
    return values | frozenset(
        word
        for word in content(_VALUE.sub(" ", text)) - _PARTICLES
        if not (len(word) == 2 and _IS_CJK.match(word)) and not is_denial(word)
    )


def content(text: str) -> frozenset[str]:
    """The words of a line that say what it is about; of scripts without spaces the pairs of characters too."""
    return frozenset(word for word in details.words(unmasked(text)) - OPEN if len(word) > 1 or not word.isascii())


def capitals(text: str) -> list[str]:
    """The words with a capital, and the numbers, in their order, folded."""
    return [fold(word) for word in _CAPITAL.findall(text)]


def subjects(text: str) -> frozenset[str]:
    """The words of whom or what a clause is about: what owns something in it, and the name with which it begins."""
    bare = _WHEN_CJK.sub("", text).strip()
    lead = None if _USER_CJK.match(bare) else _LEAD_CJK.match(bare)
    found = [match[1] for match in (_FIRST.match(text), lead) if match]
    return (owners(text) | core(" ".join(found))) - _LINKS


def owners(text: str) -> frozenset[str]:
    """The words of what owns something in a text: of `Bob` in `Bob's phone`."""
    found = [match[1] for owned in (_OWNED, _OF_CJK) for match in owned.finditer(text)]
    return core(" ".join(found)) - _LINKS


def of_same(one: str, other: str, around: frozenset[str] = frozenset()) -> bool:
    """Whether the statement `one` is of whom or what `other` is about: with what `other` is owned by, and what of it.

    `Ana is diabetic` is not of the same as `Ana's mother is diabetic`. `around` are the words that either need not
    have: of what the statements stand under.
    """
    there = core(one) | around
    if _OTHER.search(other) and not _OTHER.search(one):
        return False
    if missing(subjects(other) | _noun_phrase(other), there):
        return False
    for owner, owned in _owned(other):
        of_owner = not owner or not missing(owner, there)
        if of_owner and owned and missing(owned, there) == owned:
            return False
    return not missing(subjects(one), core(other) | around) or not subjects(one) & names(one)


def _owned(text: str) -> Iterable[tuple[frozenset[str], frozenset[str]]]:
    """The words of each owner in a text, none for the user, and those of what is theirs."""
    at = 0
    while found := _OWNS.search(text, at):
        if found["my"] is not None:
            if not text[: found.start()].strip():
                yield frozenset(), core(found["mine"])
            at = found.start("mine")
        else:
            yield core(found["who"]), core(found["what"])
            at = found.start("what")
    for found in _OWNS_CJK.finditer(text):
        yield core(found["who"] or ""), core(found["what"] or found["mine"])


def _noun_phrase(text: str) -> frozenset[str]:
    """The words of what a clause is about that begins with an article, up to its verb."""
    found = _NOUN_PHRASE.match(text)
    parts = re.split(rf"\s+(?={_VERB})|[:：]", found["rest"], maxsplit=1) if found else []
    return core(parts[0]) - _LINKS if len(parts) > 1 and len(parts[0].split()) <= _FRAGMENT + 2 else frozenset()


def before(text: str, values: frozenset[str]) -> frozenset[str]:
    """The words of a clause before the first of `values`: what has the value."""
    found: list[str] = []
    for word in re.split(r"[\s:：]+", text):
        if core(word) & values:
            break
        found.append(word)
    return core(" ".join(found)) - _LINKS


def names(text: str) -> frozenset[str]:
    """The words of the names in a text."""
    told = (detail for detail in details.details(text) if not any(letter.isdigit() for letter in detail))
    return core(" ".join(told)) - _LINKS


_NEARLY = 4  # letters that two forms of a word have in common at least


def missing(wanted: Iterable[str], there: frozenset[str]) -> frozenset[str]:
    """The words of which no form is there."""
    near: dict[str, list[str]] = {}
    for word in there:
        near.setdefault(word[:_NEARLY], []).append(word)
    return frozenset(
        word
        for word in wanted
        if word not in there and not any(_alike(word, other) for other in near.get(word[:_NEARLY], ()))
    )


def _alike(word: str, other: str) -> bool:
    """Whether two words are forms of one: much the same beginning, no number."""
    shortest = min(len(word), len(other))
    common = max(_NEARLY, shortest - 2)
    return shortest > _NEARLY and word[:common] == other[:common] and word.isalpha() and other.isalpha()
