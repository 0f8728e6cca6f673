"""What a line claims: which subject has which value, so that a newer claim can take the place of an older one.

Owns reading `key: value`, `X is Y`, `prefers X`, `lives in X` and the same in Chinese, and the values that a correction
calls wrong. Careful by intent: `sure` only where a subject has one value at a time; nobody has one allergy or one job
title by grammar alone. Pure functions over text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from nanomem_tui.dream.details import details, without_notes
from nanomem_tui.dream.polarity import has_denial, undenied
from nanomem_tui.tokens import fold

_I = re.IGNORECASE
_MAX_VALUE = 80


@dataclass(frozen=True, slots=True)
class Claim:
    """`subject` (folded) has `value`, which begins at `start` in the line. `sure`: it has one value at a time.

    `several`: it may well have many beside each other, as a note or an allergy has."""

    subject: str
    value: str
    start: int
    sure: bool = True
    several: bool = False


_KEYED = re.compile(r"\**(?P<subject>[^:：*`/]{1,40}?)\**\s*[:：]\**\s*(?P<value>(?!//).+)")
_SAID = re.compile(r"\bI\b|\b[Mm]y\b|(?:\S+\s+){3}\S+[.!]$")
_IS = re.compile(
    r"(?P<subject>(?:[\w'’«»「」-]+ ){1,6}?)"
    r"(?P<verb>is now called |is now |is called |is named |is |are now |are |moved to |migrated to |changed to )"
    r"(?P<value>\S.*)",
    _I,
)
_PREFERS = re.compile(
    r"(?:(?:the )?user )?(?:now )?prefers? (?P<value>(?:[\w-]+ ){1,3}[\w-]+)(?=$|[.,;(]| over | to | than )", _I
)
_PLACE = re.compile(
    r"(?:(?:the )?user )?(?:now )?(?P<verb>lives? in|(?:is )?based in|moved to|works? (?:at|for)) "
    r"(?P<value>(?:the )?(?-i:[^a-z\s]).*)",
    _I,
)
"""Where the user lives and works, by a name: nobody lives at another place who lives `in fear` or works `at home`."""
_CHINESE_PLACE = re.compile(r"(?:用户|我)?(?:现在|目前)?(?:居住在|住在)(?P<value>.+)")
_CHINESE_IS = re.compile(
    r"(?:用户的?|我的?)?(?P<subject>[^\s，。：:（(]{1,8}?)(?P<verb>改为|改成|是|叫做?|为|使用|采用)(?!了|否)"
    r"\s*(?P<value>.+)"
)
_OPEN_SUBJECTS = frozenset(
    "user users i he she it they we you this that there which who what 用户 我 他 她 它 这 那 不".split()
)
_ANYBODYS = frozenset("port host url version status owner path name id date type model size price ci db os ip".split())
"""What has one value, and does not say of whom or what."""
_LISTED = frozenset(
    "note notes goal rule fact lesson decision todo reminder example warning tip info update next idea question issue "
    "bug".split()
)
_OTHERWISE = {
    "年龄": "age", "年纪": "age", "岁数": "age", "time zone": "timezone", "时区": "timezone", "生日": "birthday",
    "出生日期": "birthday", "date of birth": "birthday", "城市": "city", "所在城市": "city", "居住城市": "city",
    "current city": "city", "home city": "city", "身高": "height", "体重": "weight", "血型": "blood type",
    "email": "e-mail", "邮箱": "e-mail", "电话号码": "电话", "手机号": "手机", "手机号码": "手机",
}  # fmt: skip
"""What is called by two names."""
PERSONAL = frozenset(("age", "timezone", "birthday", "lives in", "city", "height", "weight", "blood type"))
"""What the user has one of, in whatever file it stands."""
NEAR = {"lives in": "city", "city": "lives in"}
"""What may mean the same, and may not: somebody lives in a country too."""
_ONE = re.compile(
    r"(?:name|time ?zone|host|server|port|address|birthday|version|deadline|e-?mail|number|phone|branch|database|"
    r"language|url|domain|budget|limit|theme|editor|location|city|password|currency|model|owner|manager|\bage|height|"
    r"weight|blood type|"
    r"名字|姓名|时区|语言|生日|邮箱|电话|手机|地址|密码|端口|版本|数据库|服务器|跳板机|主机|域名|缩进|日期|时间)$",
    _I,
)
_OF = re.compile(r" (?:of|for) .*")
_BARE = re.compile(
    r"(?P<subject>(?:[\w'’-]+ ){0,3}?(?:age|height|weight|budget|deadline|phone(?: number)?|limit|salary|port|version)|"
    r"[\u3400-\u9fff]{0,6}?(?:年龄|身高|体重|预算|截止日期|电话|手机|端口|版本))"
    r"(?:(?<=\w) |(?<=[\u3400-\u9fff]))(?P<value>\+?\d[\d.,:/-]*"
    r"(?: ?(?:cm|kg|lbs?|euros?|dollars?|EUR|USD|CNY|元|欧元|美元|[€$£%]|[KMGT]B))?)(?: years(?: old)?|岁)?[.。]?",
    _I,
)
"""An attribute and a number, with nothing between them: `Age 31`."""
_AGED = re.compile(
    r"(?:(?:(?:the )?user|I) (?:is|am) |I['’]m )?(?:now )?(?P<value>\d{1,3}) years old[.!]?|"
    r"(?:用户|我)?(?:今年|现在|\d{4}年)?(?P<years>\d{1,3}) ?岁了?。?",
    _I,
)
_OF_ONE = re.compile(
    r"(?P<who>[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)?) (?:"
    r"(?:lives in|is based in|now lives in) (?P<place>(?:the )?[^a-z\s].*)|is (?:now )?(?P<age>\d{1,3}) years old[.!]?)"
)
"""What is told of somebody named: where they live, how old they are."""
_STEM = re.compile(
    r"^(?:(?:the user['’]s|the|my|our|your|user['’]s|users['’]) |用户的|我的|"
    r"用户(?=年龄|时区|城市|生日|身高|体重|血型))",
    _I,
)
_MONTH = r"(?:(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* )?"
_UNSETTLED = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|might|could|unsure|if|used to)\b|[?？]\W*$|可能|也许|或许|如果|曾经|过去|"
    r"[(（](?:until|till|before|"
    rf"formerly|previously|former|old|此前|之前|原|曾|旧|以前) ?{_MONTH}[\d\s./年月日-]*[)）]|"
    r"[^\s:：]\s+(?:until|till|before) \d|\b(?:formerly|previously)[.]?$|"
    r"(?:[:：]|\bis) (?:still |not yet )?(?:unknown|unclear|undecided|not known|tbd|tba|n/a)[.]?$|"
    r"(?:[:：]|是|为)\s*(?:未知|不明|待定|不详|不清楚)。?$",
    _I,
)
"""What says of itself that it is not certain, or is no more: nothing that is so now gives way to it."""
_NEXT = re.compile(r"\s*[,;，；。]\s*(?=[^\W\d][^:：,;，；]{0,30}[:：]\s*[^\s/])")
_MORE = re.compile(
    r"[,;，；。]\s*|(?<=[^\W_]{3})\.\s|\s*[(（](?!as of \d)|"
    r"\s(?:with|as|since|because|where|which|who|near|while|but|at|in|on|from|for|until|and|to)\s"
)
"""What ends a value: what stands behind says more, and nobody takes it back with the value."""
_LIMITED = re.compile(
    r"\b(?:during|every|only|sometimes|part[- ]time|weekends?|weekdays?|when|while|temporar\w+|usually|mostly|often|"
    r"for (?:now|the (?:summer|winter|week|month|moment|time)|(?:a|one|two|\d+) (?:day|week|month|year)s?)|until|if|"
    r"(?:on|in) (?:the )?(?:mon|tues|wednes|thurs|fri|satur|sun)days?|"
    r"in (?:the )?(?:summer|winter|spring|autumn|fall|holidays))\b|"
    r"有时|周末|暂时|临时|期间",
    _I,
)
_SEVERAL = re.compile(r"\s(?:and|&)\s|、|以及")
_OLD_VALUES = re.compile(
    r"(?:[,，;；(（]\s*(?:not|was recorded as|recorded as|was|formerly|previously|no longer)\b|"
    r"\s(?:instead of|rather than)\b|[,，;；(（]?\s*(?:而?不是|而非|不再是|此前记为|之前记为|原为|原来是|以前是))"
    r"\s*[:：]?\s*(?P<old>[^,，;；()（）。]{1,80})[)）]?\s*[.。]?$",
    _I,
)


@lru_cache(maxsize=16384)
def claim_of(text: str) -> Claim | None:
    """The subject and value of a line, None when it claims nothing of that form, or nothing that is certain now."""
    if len(text) > 4 * _MAX_VALUE or _UNSETTLED.search(_OLD_VALUES.sub("", text)):
        return None
    return _personal(text) or _keyed(text) or _bare(text) or _equation(text) or _chinese(text)


def parts_of(text: str) -> list[str]:
    """The parts of a line that each give a key its value: `Name: Ana` and `City: Porto` of `Name: Ana; City: Porto`."""
    return _NEXT.split(text) if text.count(":") + text.count("：") > 1 else [text]


def is_anybodys(subject: str) -> bool:
    """Whether a subject says what it is, and not whose: `city`, `port`, `cat`."""
    one_word = " " not in subject and (subject.isascii() or len(subject) <= 2)
    return one_word or subject in PERSONAL or subject.startswith("prefers ") or _ONE.fullmatch(subject) is not None


def cut(value: str) -> tuple[str, str]:
    """(a value, what stands behind it and says more): `Porto` and ` with her mother` of `Porto with her mother`."""
    end = _MORE.search(value, 1)
    return (value[: end.start()], value[end.start() :]) if end else (value, "")


def is_limited(value: str) -> bool:
    """Whether what is said is so only at times or for a while: beside it another value is so as well."""
    return _LIMITED.search(value) is not None


def of_one_kind(one: str, other: str) -> bool:
    """Whether two values can be each other's: names and numbers, or plain words; no city is `noisy`."""
    return _is_told(one) == _is_told(other) or not (one + other).isascii()


def _is_told(value: str) -> bool:
    """Whether a value is more than plain words: a name, a number, an address."""
    first = value.strip("*`\"'").removeprefix("the ")[:1]
    return first.isupper() or any(letter.isdigit() for letter in value) or bool(details(value))


def are_several(value: str) -> bool:
    """Whether a value names more than one thing: `English and German`."""
    return _SEVERAL.search(value) is not None


def _personal(text: str) -> Claim | None:
    if match := _PREFERS.match(text):
        value = current_value(match["value"])
        return Claim(f"prefers {fold(value).split()[-1].removesuffix('s')}", value, match.start("value"))
    if match := _PLACE.match(text):
        verb = match["verb"].lower()
        moved = verb == "moved to"  # somebody moves to another team, and a team to another tool
        sure = not moved or (match["value"][:1].isupper() and match.start("verb") > 0)
        return _claim("works at" if verb.startswith("work") else "lives in", match, sure=sure)
    if match := _CHINESE_PLACE.match(text):
        return _claim("lives in", match)
    if match := _AGED.fullmatch(text):
        return _claim("age", match, "value" if match["value"] else "years")
    if (match := _OF_ONE.fullmatch(text)) and fold(match["who"]).split()[0] not in _OPEN_SUBJECTS:
        who = fold(match["who"])
        return _claim(f"{who} lives in", match, "place") if match["place"] else _claim(f"{who}'s age", match, "age")
    return None


def _keyed(text: str) -> Claim | None:
    match = _KEYED.fullmatch(text)
    subject = _subject(match["subject"]) if match else ""
    if match is None or not subject or subject[-1].isdigit():
        return None
    plural = subject.endswith("s") and not subject.endswith(("ss", "us"))
    said = _SAID.search(match["value"]) is not None  # `Gina: I lost my job.` is no value that Gina has
    several = subject in _LISTED or plural or said
    return _claim(subject, match, sure=not several and subject not in _ANYBODYS, several=several)


def _bare(text: str) -> Claim | None:
    match = _BARE.fullmatch(text)
    subject = _subject(match["subject"]) if match else ""
    return _claim(subject, match, sure=subject not in _ANYBODYS) if match and subject else None


def _equation(text: str) -> Claim | None:
    match = _IS.fullmatch(text)
    subject = _subject(match["subject"]) if match else ""
    if match is None or not subject or subject.split()[0] in _OPEN_SUBJECTS:
        return None
    plain = match["verb"].lower().strip() in ("is", "are")
    one = not plain or _ONE.search(_OF.sub("", subject)) is not None
    value = match["value"]
    told = not plain or _is_told(value) or not value.isascii()  # the server is down, and its name another
    return _claim(subject, match, sure=one and told, several=not one)


def _chinese(text: str) -> Claim | None:
    match = _CHINESE_IS.fullmatch(text)
    subject = _subject(match["subject"]) if match else ""
    if match is None or not subject or subject in _OPEN_SUBJECTS:
        return None
    sure = match["verb"] in ("改为", "改成") or _ONE.search(subject) is not None
    return _claim(subject, match, sure=sure, several=not sure)


def _claim(
    subject: str, match: re.Match[str], group: str = "value", *, sure: bool = True, several: bool = False
) -> Claim | None:
    value = current_value(match[group])
    sure = sure and len(value) <= _MAX_VALUE
    return Claim(subject, value, match.start(group), sure, several) if value else None


def _subject(text: str) -> str:
    subject = fold(_STEM.sub("", text.strip())).strip(" *_'\"’")
    return _OTHERWISE.get(subject, subject)


def current_value(text: str) -> str:
    """A value without remarks on what it was or is not: `Europe/Berlin, not Europe/London` is `Europe/Berlin`."""
    return _OLD_VALUES.sub("", without_notes(text).strip()).strip(" .,。，;；")


_NO_LONGER = re.compile(
    r"(?P<who>.{0,60}?)\b(?:no longer|not any ?more|(?:does|do|is|are)(?: not|n['’]t) any ?more) "
    r"(?P<old>[^,;.]{3,60})[.]?(?=$|[,;]|\s)",
    _I,
)
_CLAUSES = re.compile(r"[.;,!。；，！]\s*")
_REMARK = re.compile(r"\s*[(（][^()（）]*[)）]")
_NOW = re.compile(r"\s+now(?=,? (?:not|instead of|rather than)\b)", _I)
_AMOUNT = re.compile(
    r"(?P<number>\d+(?:[.,]\d+)?) ?(?P<unit>[KMGTP]i?B|GHz|MHz|cores?|CPUs?|vCPUs?|GPUs?|disks?|nodes?|cats?|dogs?|"
    r"children|kids|years old|employees|people|[€$£]|euros?|dollars?|EUR|USD|km|kg)\b"
    r"(?: (?:of )?(?P<what>[A-Za-z]{2,12})\b)?",
    _I,
)
_HAS = re.compile(
    r"(?:the )?(?P<who>[\w.-]+(?: [\w.-]+)?) (?:now )?(?:has|have|is at|was upgraded to|is upgraded to|got)(?: now)? "
    rf"{_AMOUNT.pattern}(?: now)?[.]?",
    _I,
)


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of what (`number` of `unit`, `what` where it is told) something has; `text` as it stands."""

    text: str
    number: str
    unit: str
    what: str


def amounts(text: str) -> list[Amount]:
    """The amounts that a line tells."""
    return [
        Amount(f[0] if not f["what"] else f[0][: f.start("what") - f.start()].removesuffix("of ").rstrip(),
               f["number"], fold(f["unit"]).removesuffix("s"), fold(f["what"] or ""))
        for f in _AMOUNT.finditer(text)
    ]  # fmt: skip


def amount_of(text: str) -> tuple[str, Amount] | None:
    """(who, how much) of a line that says nothing but that somebody has an amount: `srv3 has 32 GB`."""
    found = _HAS.fullmatch(as_it_is(text))
    return (found["who"], amounts(text)[0]) if found else None


def as_it_is(text: str) -> str:
    """What a text says to be so now, without what it calls wrong: `Uses Zed` of `Uses Zed instead of VS Code`."""
    return _OLD_VALUES.sub("", settled(text)).strip(" .。")


def settled(text: str) -> str:
    """`text` without the `now` before the value that it calls wrong: `prefers aisle seats now, not window seats`."""
    return _NOW.sub("", text)


def ended(text: str) -> tuple[str, str]:
    """(who, what no longer holds) of `Anna no longer works at ACME`; ("", "") when nothing is said to have ended."""
    found = _NO_LONGER.match(text)
    return (found["who"].strip(), found["old"].strip()) if found else ("", "")


def denials(text: str) -> list[str]:
    """What `text` denies, clause by clause, as if it were so: `is allergic to penicillin` of one who is not."""
    return [undenied(clause) for clause in _CLAUSES.split(text) if has_denial(clause)]


def main_part(text: str) -> str:
    """`text` without the remarks in brackets."""
    return _REMARK.sub("", text).strip()


def old_value(text: str) -> str:
    """The value that a correction says is wrong, "" when it names none."""
    match = _OLD_VALUES.search(text)
    return match["old"].strip(" .\"'“”「」") if match else ""
