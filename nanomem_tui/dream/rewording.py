"""How a statement may be put in other words and still say the same: verbs of one kind, numbers in words, dates.

Owns what of a new line counts as said by a statement that is told: `lives in` by `moved to`, `two` by `2`; and what
does not: another verb, another number, a limit or a condition that only one of them has. Errs towards a different
statement. Knows no edit and decides nothing. Pure functions over text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from nanomem_tui.dream import titles
from nanomem_tui.dream.clauses import core, missing
from nanomem_tui.language.tokens import tokens

_I = re.IGNORECASE
_KINDS = tuple(
    (re.compile(said, _I), re.compile(told, _I))
    for said, told in (
        (
            r"\b(?:liv(?:es?|ed|ing)|resid\w+|location|home ?town|city|(?:based|located) in)\b|住|居",
            r"\b(?:liv|resid|locat|based|mov|relocat|home|city|town|flat|apartment|address|settle|born)|[搬住居城家迁]",
        ),
        (
            r"\b(?:mov(?:ed?|es|ing)|relocat\w+)\b|搬",
            r"\b(?:mov|relocat|migrat|transfer|shift|postpon|reschedul|delay)|[搬迁]",
        ),
        (
            r"\b(?:works?|worked|working|jobs?|employ\w+)\b|工作|职",
            r"\b(?:work|job|employ|join|start|hire|role|company|team|(?:is|am|was|as) an? )|['’]m an? |职|班|公司|工作",
        ),
        (
            r"\b(?:prefer\w*|likes?|loves?|enjoys?|favou?rites?)\b|喜欢|爱|偏好",
            r"\b(?:prefer|lik|lov|enjoy|favou?rite|fan\b|want|wish|please|best|most|always|hobb|interest)|[喜爱偏想要请最]",
        ),
        (
            r"\b(?:wants?|wish(?:es)?|goals?|plans?|planning)\b|想|打算|计划|希望",
            r"\b(?:want|wish|need|goal|plan|would|like|hope|intend|going to|will|aim|try)|['’]d\b|[想要将划望备请]",
        ),
        (
            r"\b(?:uses?|using)\b|使用",
            r"\b(?:(?:used?|uses|using|runs?|on|with|in|chosen?)\b|switch|migrat|decid|decis|adopt|install|mov)|[用换改选定]",
        ),
        (r"\b(?:owns?|owned)\b|拥有", r"\b(?:own|ha[sd]|have|got|bought|buy|purchas|my)\b|['’](?:s|ve)\b|[有买的]"),
        (r"\b(?:name|named|called)\b|名字|姓名|叫", r"\b(?:nam|call|renam|(?:I am|this is|is)\b)|['’]m\b|[叫名姓是]"),
        (r"\bonly\b|只|仅", r"\b(?:only|just|solely|exclusively|nothing but|no other)\b|[只仅专]"),
        (
            r"\b(?:must|required)\b|必须",
            r"\b(?:must|ha(?:s|ve) to|need|requir|mandatory|always|never|no)\b|必须|务必|要",
        ),
        (r"\b(?:months?|monthly)\b", r"\bmonth|月"),
        (r"\b(?:weeks?|weekly)\b", r"\bweek|周|星期"),
        (r"\b(?:years?|yearly|annual\w*)\b", r"\b(?:year|annual)|年"),
        (r"\b(?:days?|daily)\b", r"\b(?:day|daily|morning|evening|night)|[天日]"),
    )
)
"""Of a kind of words: how a new line says it, and how it is told. What it says of no kind must be told word by word."""

_PLACE, _ENDING = 0, frozenset(range(7))
_FILLERS = frozenset(
    tokens(
        "every each per via regularly currently still recently mostly mainly typically generally around approximately "
        "roughly including kind type way related regarding concerning today last etc occasionally full fully main "
        "primary well one job home city town hometown residence employer life lot quite really"
    )
) | frozenset(
    "现目前已经常位叫名字姓只个条张台本件套间辆家次种是使采通过进行主要一该些此所得着过会能可并且及与给将再后来时候"
)
_SAME = tuple(
    frozenset(tokens(row))
    for row in (
        "wife husband spouse married wed marriage", "kid kids child children", "phone mobile telephone cell",
        "mail email e-mail", "brief short concise succinct", "begin began begun start", "colleague coworker",
        "birthday born birth", "finish complete done end", "change changed update switch migrate replace",
        "reply answer respond response", "learn study", "photo picture", "postpone delay reschedule shift",
        "raise increase", "lower reduce cut decrease", "eat ate eaten eating", "drink drank drunk drinking",
        "speak spoke spoken speaker", "drive drove driven driving", "write wrote written", "run ran running",
        "teach taught", "teaches teacher", "choose chose chosen choice", "meet met meeting", "take took taken",
        "give gave given", "grow grew grown", "sleep slept", "sell sold", "pay paid", "sing sang sung singer",
        "swim swam", "break broke broken", "lose lost", "win won", "build built", "feel felt", "send sent",
        "buy bought purchase purchased", "see saw seen", "read reads reader", "ride rode ridden", "bike bicycle",
        "hike hikes hiking hiker", "bake bakes baking", "cook cooks cooking", "code coding", "ski skis skiing",
        "leave left", "hold held", "think thought", "know knew known", "lead led leads leader",
        "vegan veganism", "diet eat", "kilometre kilometer km", "euro euros eur €", "dollar dollars usd",
    )
)  # fmt: skip
"""Words of one meaning, and the forms of a verb that share no beginning."""

_DIGITS = dict(zip("〇零一二两三四五六七八九", (0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
_TENS_CJK = {"十": 10, "百": 100, "千": 1000, "万": 10000}
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_UNITS = {word: number for number, word in enumerate(_SMALL)} | {
    word: 10 * number
    for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
_TIMES = {"hundred": 100, "thousand": 1000, "million": 1_000_000, "dozen": 12}
_WORD = "|".join(sorted((*_UNITS, *_TIMES), key=len, reverse=True))
_NUMBER = re.compile(
    rf"\d+(?:[.,]\d+)*|\b(?:{_WORD})(?:(?:[\s-]|\sand\s)(?:{_WORD}))*\b|"
    r"[〇零一二两三四五六七八九十百千万]+"
    r"(?=[个只条张位名次天年月日号岁点分元块人家台本件杯种套间辆棵头匹双对口倍公斤米层楼周小时星期])",
    _I,
)
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|"
    r"Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_DATE = re.compile(
    r"(?<![\w.-])(?P<y1>\d{4})-(?P<m1>\d{1,2})(?:-(?P<d1>\d{1,2}))?(?![\w-])|"
    r"(?P<y2>\d{4}) ?年(?: ?(?P<m2>\d{1,2}) ?月(?: ?(?P<d2>\d{1,2}) ?[日号])?)?|"
    rf"(?:\b(?P<d3>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?)?\b(?P<m3>{_MONTH})"
    r"(?: (?P<d4>\d{1,2})(?:st|nd|rd|th)?\b(?!:))?(?:,? (?P<y3>\d{4})\b)?|"
    r"(?<![\w.:/-])(?P<y4>(?:19|20)\d\d)(?![\w:/-]|\.\d)"
)
_STAMP = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.+Z-]*)?")
_LEFT_BEHIND = re.compile(
    r"\b(?:mov\w+|relocat\w+|switch\w*|migrat\w+|transferr?\w*)\b[^.;,]*?\b(?:from|out of|away from|off)\s+"
    r"(?:the |an? )?"
    r"(?P<en>[\w-]+(?: [A-Z][\w-]*)*)|从(?P<cjk>[\u3400-\u9fff]{2,4}?)[搬迁换改转]"
)
_ARRIVES = re.compile(
    r"\b(?:mov\w+|chang\w+|switch\w*|migrat\w+|relocat\w+|replaced)\b[^.;,]*?\b(?:to|by|with|into) "
    r"(?P<to>.*?)(?= from |[.;,]|$)|[搬迁换改](?:到|去|为|成)(?P<cjk>[\u3400-\u9fff]+)",
    _I,
)
_FROM = re.compile(
    r"\b(?:from|out of|formerly|was|were|previous\w*|used to|until|before|old|ex|left|off)\b|[从离曾原前]", _I
)
_OVER = re.compile(
    r"\b(?:sold|gave (?:up|away)|given (?:up|away)|lost|died|dead|cancel\w*|scrapped|decommissioned|expired|stolen|"
    r"broke up|shut down|used to|formerly|ex-\w+)\b|卖|丢|去世|取消|过期|曾|以前",
    _I,
)
_CONDITION = re.compile(
    r"\bonly\s+(?:if|when|with|after|once|before|until|on|in|at|by|for)\b|\b(?:unless|except|excluding|provided|"
    r"as long as|until|till)\b|除非|除了|只有|仅当|只要|前提|^才|才(?:能|会|可以|行)",
    _I,
)
_OPENS = re.compile(
    r"\W*(?:(?:but )?only|unless|except|excluding|provided|as long as)\b|\W*(?:除非|除了|只有|仅|前提)", _I
)
_LATER = re.compile(r"\b(?:if|when|once|after|whenever)\b|如果|时", _I)
_USER_CJK = re.compile("用户的?|我的?")
_HIRAGANA = re.compile("[\u3040-\u309f]")
_UNCUT = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u1000-\u109f]+")
_UNCUT_DENIALS = re.compile("ไม่ได้|ไม่|เลิก|แล้ว|อีก|ต่อไป")


def unsaid(new: str, known: frozenset[str], told: str, words: frozenset[str]) -> frozenset[str]:
    """The words of the statement `new`, but for those `known`, that a statement `told` of these `words` does not say,
    neither as they are nor in words of one meaning. Numbers and dates are not among them."""
    label = new.partition(":")[0] if ":" in new else ""
    general = (core(label) - titles.telling(label)) if label else frozenset[str]()
    wanted = {word for word in core(_numberless(bare(new))) - general - _FILLERS if not _HIRAGANA.match(word)}
    there = words | core(told)
    return frozenset(
        word for word in missing(wanted, known | there) if not any(word in row and (row & there) for row in _SAME)
    )


def kinds(text: str) -> frozenset[int]:
    """The kinds of words with which a text says what it says: that somebody lives, works, likes."""
    return frozenset(number for number, (said, _) in enumerate(_KINDS) if said.search(text))


def bare(text: str) -> str:
    """A text without its words of a kind, and those for the user."""
    text = _USER_CJK.sub(" ", text)
    for number in kinds(text):
        text = _KINDS[number][0].sub(" ", text)
    return text


def in_digits(text: str) -> str:
    """A text with its numbers and whole dates in digits: `two cats since 2 March 2025` has 2 cats since 2025-03-02."""
    return _NUMBER.sub(_digits, _DATE.sub(_iso, text))


def _digits(found: re.Match[str]) -> str:
    value = _value(found[0])
    return found[0] if found[0][0].isdecimal() or value in "01" else value


def _iso(found: re.Match[str]) -> str:
    parts = _parts(found)
    return f"{parts['y']:04}-{parts['m']:02}-{parts['d']:02}" if len(parts) == 3 else found[0]


def tells(told: str, wanted: Iterable[int]) -> bool:
    """Whether a text tells all that words of these kinds say."""
    return all(_KINDS[number][1].search(told) for number in wanted)


def may_end(text: str) -> bool:
    """Whether a text says what a single word ends: that somebody lives, works, likes, wants, uses or owns."""
    return kinds(text) <= _ENDING


def places(text: str) -> bool:
    """Whether a statement tells nothing but where somebody lives."""
    return kinds(text) <= {_PLACE, _PLACE + 1} and tells(text, (_PLACE,))


def miscounts(new: str, old: str, told: str) -> bool:
    """Whether `new` has a number that neither `told` nor the line `old` has, or has it of something else."""
    fresh = _counted(new) - _counted(old)
    there = _counted(told)
    numbers, others = {number for number, _ in there}, {number for number, _ in _counted(old)}
    for number, what in fresh:
        if number not in numbers and not (number == "1" and not numbers):
            if what or number not in others:
                return True
        elif what and (number, what) not in there and any(what == other for _, other in there):
            return True
    return False


def misdates(new: str, old: str, told: str, stamps: Iterable[str]) -> bool:
    """Whether `new` has a date that neither `told`, nor the line `old`, nor one of the days `stamps` bears out:
    when it was told counts where `told` has no date."""
    own, when = _dates(told), [day for stamp in stamps for day in _dates(stamp)]
    days = [*_dates(old), *own, *(when if not own else ())]
    years = {part for day in when for part in day if part.startswith("y")}
    return any(not any(day <= other | years for other in days) for day in _dates(new))


def is_stamp(text: str) -> bool:
    """Whether a text is nothing but the time of an entry."""
    return _STAMP.fullmatch(text.strip()) is not None


def is_date(text: str) -> bool:
    """Whether a statement says nothing but when: `since 2026-05`."""
    return bool(_dates(text)) and not core(_numberless(text)) - _FILLERS


def is_over(new: str, told: str) -> bool:
    """Whether `told` says that what `new` holds is gone, or was left for something else, and `new` does not."""
    if _OVER.search(told) and not _OVER.search(new):
        return True
    left = [core(found["en"] or found["cjk"] or "") for found in _LEFT_BEHIND.finditer(told)]
    return any(words and words <= core(new) for words in left) and not _FROM.search(new)


def arrives(told: str) -> frozenset[str]:
    """The words of what is so from now on, where `told` says that something changed or moved to it."""
    return core(" ".join(found["to"] or found["cjk"] for found in _ARRIVES.finditer(told)))


def drops_condition(new: str, told: str, after: str, before: str) -> bool:
    """Whether `told`, between the statements `before` and `after` it, holds only under a condition that `new` lacks."""
    conditional = _CONDITION.search(told) or _OPENS.match(after) or (_OPENS.match(before) and _CONDITION.search(before))
    return bool(conditional) and not (_CONDITION.search(new) or _OPENS.match(new) or _LATER.search(new))


def uncut(new: str, old: str, said: str) -> bool:
    """Whether what `new` says in a script without spaces between words stands literally in a line of `said`, at least
    what it does not have in common with `old`."""
    lines = ["".join(line.split()) for line in said.split("\n")]
    for run in _UNCUT.findall(new):
        before = next((one for one in _UNCUT.findall(old) if one[:1] == run[:1]), "")
        same = next(
            (at for at, (a, b) in enumerate(zip(run, before, strict=False)) if a != b), min(len(run), len(before))
        )
        kept, changed = run[:same], run[same:]
        if not any(run in line or (kept in line and changed in line) for line in lines):
            return False
    return True


def is_uncut(text: str) -> bool:
    """Whether a text has a script without spaces between words of which the words cannot be told."""
    return _UNCUT.search(text) is not None


def takes_back_uncut(old: str, said: str) -> bool:
    """Whether a line of `said` is, but for its denial, what `old` says in a script without spaces between words."""
    runs = _UNCUT.findall(old)
    for line in said.split("\n"):
        bare = _UNCUT_DENIALS.sub("", line)
        if bare != line and all(run in bare and run not in line for run in runs):
            return True
    return False


def _numberless(text: str) -> str:
    return _NUMBER.sub(" ", _DATE.sub(" ", text))


@lru_cache(4096)
def _counted(text: str) -> frozenset[tuple[str, str]]:
    """The numbers of a text but its dates, each with the word that follows it, "" when none does."""
    bare = _DATE.sub(" ", text)
    found = set()
    for match in _NUMBER.finditer(bare):
        behind = re.match(r"[ -]?([^\W\d_]+)", bare[match.end() :])
        words = tokens(behind[1]) if behind else []
        found.add((_value(match[0]), words[0] if words else ""))
    if re.search(r"\b(?:an?|single)\b", bare, _I):
        found.add(("1", ""))
    return frozenset(found)


def _value(said: str) -> str:
    """A number as digits."""
    if said[0].isdigit():
        return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", said).lstrip("0") or "0"
    total = part = 0
    if said[0] in _DIGITS or said[0] in _TENS_CJK:
        for letter in said:
            if letter in _DIGITS:
                part = part * 10 + _DIGITS[letter]
            elif letter == "万":
                total, part = (total + part) * 10000, 0
            else:
                total, part = total + (part or 1) * _TENS_CJK[letter], 0
        return str(total + part)
    for word in re.split(r"[\s-]+", said.lower()):
        if word in _TIMES:
            part = max(part, 1) * _TIMES[word]
            if _TIMES[word] >= 1000:
                total, part = total + part, 0
        else:
            part += _UNITS.get(word, 0)
    return str(total + part)


@lru_cache(4096)
def _dates(text: str) -> tuple[frozenset[str], ...]:
    """The dates of a text, each as what is told of it: year, month, day."""
    return tuple(frozenset(f"{name}{value}" for name, value in _parts(found).items()) for found in _DATE.finditer(text))


def _parts(found: re.Match[str]) -> dict[str, int]:
    """What is told of a date: its year, month and day, by their first letters."""
    parts = {name[0]: value for name, value in found.groupdict().items() if value}
    return {
        name: int(value) if value.isdigit() else _MONTHS.index(value[:3].lower()) + 1 for name, value in parts.items()
    }
