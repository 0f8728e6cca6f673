"""How a text says something: that it is so, that it is not so, or only what would be if it were so.

Owns the words that deny and the words that suppose, in English and Chinese, for all who compare what two texts say.
Knows no line, no entry and no edit. Pure functions over text.
"""

from __future__ import annotations

import re

_I = re.IGNORECASE
_NOT = r"\b(?:not|no|never|without|cannot)\b|n['’]t\b|[不没无未]"
"""What denies wherever it stands."""
_DENIES = re.compile(
    rf"{_NOT}|\b(?:nor|stopped|stops|quit|left|leaves|ended|former|formerly|avoids?|dislikes?|hates?|refuse[sd]?|"
    r"anymore|none|nothing(?=\s+\w)|nobody|neither|isn|doesn|rejects?|rejected|declined|denied|denies|failed|hardly|"
    r"rarely|seldom|false|untrue|wrong|lacks?|instead of|rather than)\b|"
    r"[無别勿非]|避免|讨厌|拒绝|停止|取消|戒|离开|离职|ไม่|เลิก",
    _I,
)
_NO_DENIAL = re.compile(
    r"\b(?:not only|left[- ]hand\w*|no\. ?\d+)\b|[特分级类性识告区差]别|别[名的墅致]|非[常洲]|未来|无[锡线论]|"
    r"不[同错久断少]|没错",
    _I,
)


def denies(text: str) -> bool:
    """Whether a text denies something, in whatever words: `dislikes`, `left`, `instead of`."""
    return _DENIES.search(_NO_DENIAL.sub(" ", text)) is not None


def is_denial(word: str) -> bool:
    """Whether a single word does nothing but deny."""
    return _DENIES.fullmatch(word) is not None


_PLAIN = re.compile(
    r"\b(?i:as if|if (?:you ask me|I (?:remember|recall)(?: (?:right|correctly|well))?|I['’]m not (?:mistaken|wrong)|"
    r"(?:at all )?possible|needed|necessary|any|you (?:like|want|can|wish|please|don['’]t mind))|"
    r"(?:said|says|promised|agreed|decided|confirmed|announced)\b[^,;.]{0,30}\bwould)\b|"
    r"如有(?:需要|必要)|如果(?:可以|可能|方便|需要)(?:的话)?|不可能|尽可能|可能性|考虑到"
)
"""What looks like a supposition and is none."""
_IF = re.compile(
    r"\b(?i:if|unless|assuming|suppos(?:e|ing)|provided that|let['’]s say|hypothetically|in theory|theoretically)\b|"
    r"^\W*(?i:imagine(?= (?:that|if|we|I|you|he|she|they|it|a|an|the|my|our|being|having)\b)|"
    r"were (?:I|we|he|she|they) to\b|should (?:I|we|he|she|they|it) )|"
    r"如果|假如|假设|假使|假若|设想|要是|倘若|若是|万一|除非|的话(?=\W*$)"
)
_ASKS = re.compile(
    r"\b(?:(?:asked|asks|told|tells)(?: \w+){1,3}|ask\w*|inquire\w*|wonder\w*|"
    r"knows?|knew|see|check\w*|sure|doubt\w*|tells?|told|find out|clear|curious|"
    r"test\w*|even)\W*$",
    _I,
)
"""Behind this an `if` is a `whether`, or changes nothing: what stands before it is so."""
_MIGHT = re.compile(
    r"\b(?i:might|maybe|perhaps|possibly|considering(?! (?:it|them|him|her|that|the)\b)|"
    r"(?:thinking|thinks) (?:of|about)|toy(?:s|ing) with|tempted to|"
    r"could(?! not\b| you\b)|would(?!(?: (?:really|also|still))? (?:like|love|prefer|rather|hate)\b))\b|"
    r"\b(?i:wish(?:es|ed)?(?: that)? (?:I|he|she|we|they|it|you)|if only)\b|"
    r"\bmay(?= [a-z])|可能|也许|或许|说不定|没准|考虑|想过|会不会|要不要"
)
_AND = re.compile(r"\s(?:and|but|or)\s|[、，]", _I)
_OPEN = re.compile(
    r"\b(?:when|whenever|once|until|in case|should|plan\w*|want\w*|wish\w*|hop(?:e|es|ing)|ideas?|options?|possib\w*|"
    r"potential\w*|interest\w*|unsure|undecided|consider\w*|think\w*|thought|hypothe\w*|ask\w*|wonder\w*|would|"
    r"could)\b|打算|想|计划|希望|时候|时(?![区间])|[?？]",
    _I,
)


def asserted(text: str) -> str:
    """What of a clause is said to be so: all of it, what stands before a supposition that does not touch it, or ""."""
    bare = _PLAIN.sub(lambda found: "." * len(found[0]), text)
    supposed = _IF.search(bare)
    if supposed is not None:
        before = text[: supposed.start()]
        text = before if _ASKS.search(before) else ""
    doubt = _MIGHT.search(bare[: len(text)])
    if doubt is None:
        return text
    joints = list(_AND.finditer(text, 0, doubt.start()))
    return text[: joints[-1].start()] if joints else ""


def opens_condition(text: str) -> bool:
    """Whether a clause begins with `if`, so that what follows it holds only then."""
    found = _IF.search(_PLAIN.sub(".", text))
    return found is not None and (not text[: found.start()].strip(" \"'“‘(") or "的话" in found[0])


def leaves_open(text: str) -> bool:
    """Whether a text itself says that something is a wish, a plan, a possibility or a condition."""
    return asserted(text) != text or _OPEN.search(text) is not None
