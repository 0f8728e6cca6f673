"""What a correction plainly asks for or forbids (`always use tabs`, `never use tabs`), in English and Chinese.

Owns reading an order as its subject (the verb and its object) and whether it is wanted, so that of two orders that
only differ in that the last word holds. Careful by intent: every part of a text has to be such an order, or its words
of address; a condition is part of the object, and what points at something else (`that one`, `today`) is no order for
later. Pure functions over text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.language.simplified import simplified
from nanomem_tui.language.tokens import fold


class Stance(NamedTuple):
    """A verb with its object, and whether it is wanted."""

    subject: str
    wanted: bool


MAX_TEXT = 200
"""Characters of an order; what is longer tells more than one thing."""
_PARTS = re.compile(r"[,;.!](?:\s+|$)|[,;!](?=[㐀-鿿])|(?<=[㐀-鿿])[,;!]|[，。；！]|\s[-–—]+\s|[\n…]")
_WIDE = re.compile(r"[㐀-鿿]")

_VERBS = (
    "use write reply answer respond add put include end start begin say speak ask call make repeat apologize apologise "
    "mention show send run commit push format wrap sign cite quote translate explain summarize summarise greet address "
    "open close delete create install deploy merge rebase suggest recommend offer give keep leave round sort "
    "capitalize capitalise indent print import insert append remove"
).split()
_DOUBLED = frozenset({"put", "begin", "run", "commit", "wrap", "format"})


def _ing(verb: str) -> str:
    return f"{verb}{verb[-1]}ing" if verb in _DOUBLED else f"{verb.removesuffix('e')}ing"


_BASE = {verb: verb.replace("ise", "ize") if verb.endswith("ise") else verb for verb in _VERBS}
_ING = {_ing(verb): base for verb, base in _BASE.items()}

_LEAD = re.compile(
    r"(?:(?:nope|wrong|incorrect|actually|please|hey|ok|okay|well|sorry|but|and|oh|correction|remember(?: to)?|also|so|"
    r"then|i said(?: to)?|i meant|i told you(?: to)?|from now on|going forward|henceforth|in (?:the )?future|next time|"
    r"you (?:should|must|have to|need to)|make sure to|be sure to|that(?:'s| is| was) (?:wrong|incorrect)|"
    r"not (?:like that|true|right|correct))\b[\s:]*)+"
)
_ALONE = re.compile(r"(?:no|thanks|thank you|(?:because|i (?:hate|don't like|can't stand|like|love|prefer)) .+)?")
"""A part that changes nothing of the others."""
_ORDER = re.compile(
    r"(?:(?P<never>never(?: ever)?)|(?P<dont>do not|don't|dont|not)(?: ever)?|(?P<stop>stop|quit|avoid)|"
    r"(?P<none>no(?: more)?)|(?P<always>always))?\b(?: please)?\s*(?P<rest>.+)"
)
_REASON = re.compile(r"\s+because\s.*")
_END = re.compile(
    r"(?:^|\s+)(?:please|again|any ?more|any longer|ever|at all|from now on|instead|in (?:the )?future|going forward|"
    r"next time|thanks|thank you|always)$"
)
_PHRASES = frozenset("more problem problems worries way idea need doubt wonder rush matter".split())
"""What “no” begins a phrase with that forbids nothing."""
_POINTS = frozenset(
    "it this that these those them one ones him her there here today now tomorrow tonight yet first same such other "
    "another else so both either neither which what".split()
)
_ARTICLES = frozenset("a an the any some".split())

_LEAD_ZH = re.compile(
    r"(?:不对|错了|请|麻烦|拜托|嗯|哎|喂|好的|那么|你|您|以后|今后|往后|从现在起|从今以后|之后|下次|每次|"
    r"我说过?|记住|都|就|也|还是|一定|务必|必须|应该|总是|永远|始终|一直|一律|千万|绝对|再也|要(?!不要|是)|得(?!不)|"
    r"记得|:)+"
)
_NOT_ZH = re.compile(r"(?:不要|别|不许|不准|不能|禁止|请勿|勿|不得)(?:再|去)?")
_VERB_ZH = re.compile(
    r"(?P<use>使用|采用|用)|(?P<add>添加|加)|回答|回复|写|说|讲|叫|称呼|发送|发|放|给|问|提到|提|列出|列|翻译|解释|"
    r"总结|缩进|"
    r"引用|显示|包含|省略|跳过|运行|提交|推送|删除|修改|保留|提醒|附上|道歉|打招呼|重复"
)
_ALONE_ZH = frozenset({"", "不", "不是", "对不起"})
_BARE_ZH = frozenset({"道歉", "打招呼", "重复"})
_END_ZH = re.compile(r"(?:了|吧|啊|呀|哦|嘛|谢谢)+$")
_OPEN_ZH = re.compile(
    r"[这那它此吗么呢]|今天|现在|刚才|明天|先|一下|一次|除非|除了|如果|要不要|用不用|是不是|能不能|该不该"
)
"""What makes of an order a question, one for now, or one with an exception."""


@lru_cache(2_048)  # the same lessons are compared in every turn
def stances(text: str) -> tuple[Stance, ...]:
    """What a text orders, each subject once; nothing unless all of it is plain."""
    plain = simplified(fold(text)).replace("’", "'").strip()
    if len(plain) > MAX_TEXT or plain.endswith("?"):
        return ()
    found: dict[str, Stance] = {}
    for part in filter(None, map(str.strip, _PARTS.split(plain))):
        read = _chinese(part) if _WIDE.search(part) else _english(part)
        if read is None or (read.subject and read.subject in found):
            return ()
        if read.subject:
            found[read.subject] = read
    return tuple(found.values())


_NOTHING = Stance("", wanted=True)
"""Of a part that only addresses, or gives a reason."""


def _english(part: str) -> Stance | None:
    lead = _LEAD.match(part)
    rest = _REASON.sub("", part[lead.end() :] if lead else part).strip()
    if _ALONE.fullmatch(rest):
        return _NOTHING
    order = _ORDER.fullmatch(rest)
    if order is None:
        return None
    first, _, behind = order["rest"].partition(" ")
    verb = (_ING if order["stop"] else _BASE).get(first)
    if order["none"]:
        verb, behind = (_ING[first], behind) if first in _ING else ("use", order["rest"])
    if verb is None or (order["none"] and (first in _BASE or first in _PHRASES)):
        return None
    while ending := _END.search(behind):
        behind = behind[: ending.start()].rstrip()
    words = [word for word in re.findall(r"[^\s\"“”`]+", behind.replace(" '", " ").strip("'")) if word not in _ARTICLES]
    if _POINTS.intersection(words) or not (words or order["never"] or order["always"] or order["stop"]):
        return None  # an order without an object is one for later only where it says so
    if words and len(words[-1]) > 3 and words[-1].endswith("s") and not words[-1].endswith("ss"):
        words[-1] = words[-1][:-1]
    wanted = not (order["never"] or order["dont"] or order["stop"] or order["none"])
    return Stance(" ".join((verb, *words)), wanted)


def _chinese(part: str) -> Stance | None:
    if _OPEN_ZH.search(part):
        return None
    rest = re.sub(r"(?<=[㐀-鿿])\s+|\s+(?=[㐀-鿿])", "", part)
    lead = _LEAD_ZH.match(rest)
    rest = _END_ZH.sub("", rest[lead.end() :] if lead else rest)
    if rest in _ALONE_ZH:
        return _NOTHING
    against = _NOT_ZH.match(rest)
    rest = rest[against.end() :] if against else rest
    verb = _VERB_ZH.match(rest)
    if verb is None:
        return None
    thing = rest[verb.end() :].strip()
    if not thing and verb[0] not in _BARE_ZH:
        return None
    name = "用" if verb["use"] else "加" if verb["add"] else verb[0]
    return Stance(f"{name} {thing}".rstrip(), against is None)
