"""Which lines a new fact contradicts: the one whose place it takes, and those of which only a person can tell.

Owns what makes two lines rivals: the same subject and attribute with another value. A line gives way where it is the
only one that can be meant; what stands under the heading of another, in another file or beside others, is left as it
is, and named. Must not make an edit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from nanomem_tui.dream import corrected, details, titles
from nanomem_tui.dream.claims import (
    NEAR,
    PERSONAL,
    Amount,
    Claim,
    amount_of,
    amounts,
    are_several,
    as_it_is,
    claim_of,
    cut,
    is_anybodys,
    is_limited,
    of_one_kind,
    old_value,
    parts_of,
)
from nanomem_tui.dream.corrected import Corrected
from nanomem_tui.dream.facts import Fact, is_speech
from nanomem_tui.dream.lines import Line, Lines
from nanomem_tui.tokens import fold

_OF = re.compile(r"(?P<what>.+?) (?:of|for) (?:the )?(?P<who>.+)|(?P<who_zh>.+)的(?P<what_zh>.+)")
_VALUES = re.compile(
    r"(?<![\w.#:/-])(?<!\bno )(?<!\bnumber )(?<!\bnr )(?<!\border )(?<!\bticket )(?<!\bissue )(?<!\bpr )"
    r"\d+(?:[.,:]\d+)*(?![\w-]*[\d/-])|"
    r"\b(?:red|orange|yellow|green|blue|purple|violet|pink|brown|black|white|gr[ae]y)\b|"
    r"[红橙黄绿蓝紫粉棕黑白灰]色"
)
"""What a line may have another of and say the same else: an amount, a time of day, a colour; no date, and no id."""
_DATED = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:19|20)\d\d)\b|年(?!龄)|月|周|星期"
)
_HAPPENED = re.compile(
    r"(?:\w+ )?(?!(?:decided|agreed|called|based|needed|used|named)\b)"
    r"(?:\w+ed|ran|went|paid|bought|spent|met|saw|ate|got|took|made|won|lost|sold|sent|gave|did)\b"
)
"""What happened once, and may again with another value."""
_STATES = re.compile(r"\b(?:is|are)\b|[是为]")
_OWNED = re.compile(r"['’]s |的|. lives in$")
"""In a subject that names whose it is: under whatever heading."""
_NAMED = re.compile(
    r"(?!(?:The |A |An )?User\b)[A-Z][\w-]+(?: [A-Z][\w-]+)?(?:['’]s\b| (?:is|was|has|had|no longer|now|does|did|doesn|"
    r"isn|will|can|never|also|still|(?<!s )[a-z]+s)\b)"
)
"""What begins with the name of the one it is said of."""
_VERBS = "has|have|is at|was upgraded to|is upgraded to|got"
_KEY = "k: "  # what stands before a value, where its line is cut into parts
_MOST_BESIDE = 3  # lines of one subject that are named as rivals: what stands there more often is a list


def known(line: Line) -> str:
    """The reason why a fact is left alone that a line holds already."""
    return f"known: {line.file}:{line.number}"


def put(text: str, old: str, new: str) -> str:
    """`text` with the first `old` (whatever its case) replaced by `new`."""
    at = text.casefold().find(old.casefold())
    return text[:at] + new + text[at + len(old) :] if at >= 0 else text


def other_value(lines: Lines, fact: Fact, claim: Claim, wrong: str, file: str) -> Corrected | str | None:
    """The one line that gives the subject of a claim another value; why not when a line says it; None when none does.

    `wrong` is the value that a correction names. Any other fact is looked for in `file`, or wherever it stands where
    the user has one of it, and not among the lines under a heading that says of whom or what they are.
    """
    claiming = lines.claiming(claim.subject)
    owned = _OWNED.search(claim.subject) is not None
    owned = owned or (wrong != "" and not is_anybodys(claim.subject))
    same = [(line, other) for line, other in claiming if owned or of_the_same(lines, line, fact)]
    headed = [] if claiming else _under_its_name(lines, claim)
    for line, other in same or headed:
        if fold(other.value) == fold(claim.value) or details.says(claim.value, other.value):
            return known(line)
    named = [(line, other) for line, other in same if wrong and details.holds(fold(other.value), fold(wrong))]
    corrects = fact.mark == "correction"
    if corrects or claim.sure:
        for line, other in same or headed:
            if fold(cut(other.value)[0]) == fold(claim.value) and not is_limited(other.value):
                return known(line)
    file = "" if corrects or claim.subject in PERSONAL else file
    alone = headed or [(line, other) for line, other in same if file in ("", line.file)]
    if len(named) == 1:
        line, other = named[0]
        if fold(other.value) == fold(wrong):
            return _taken(line, other, claim)
        new = corrected.with_value(line.text, wrong, as_it_is(fact.text), fact.text)
        new = new or corrected.put(line.text, wrong, claim.value)
        return Corrected(line, new, wrong) if new else None
    return _taken(*alone[0], claim) if len(alone) == 1 and _gives_way(alone[0][1], claim, corrects) else None


def of_the_same(lines: Lines, line: Line, fact: Fact) -> bool:
    """Whether what a line stands under is what the fact names or stands under, if either names anything."""
    under, of = lines.under(line), titles.scope(fact.under)
    if fact.person or _NAMED.match(fact.text):  # `People` says no more of whom it is
        under -= titles.others()
    return not of - under - details.words(line.text) and not under - of - details.words(fact.text)


def _gives_way(old: Claim, new: Claim, corrects: bool) -> bool:
    """Whether of two values of a subject only one can be so: it has one at a time, or a correction says it in the form
    of the other, as one room for another."""
    if corrects and (alike := _VALUES.sub("\0", fold(new.value))) == _VALUES.sub("\0", fold(old.value)):
        return "\0" in alike
    if not of_one_kind(old.value, new.value) or is_limited(new.value):
        return False
    many = are_several(old.value) or are_several(new.value)
    return old.sure and new.sure and (corrects or not many)


def _taken(line: Line, other: Claim, claim: Claim) -> Corrected | None:
    """The line with the new value; None where words would go with the old one that the new one does not take back. What
    they tell by names and numbers the guards see."""
    value = line.text[other.start :]
    old = other.value if len(parts_of(claim.value)) > 1 else parts_of(f"{_KEY}{other.value}")[0].removeprefix(_KEY)
    remark = value[len(old) :] if value.startswith(old) else ""  # on what it was before, or of another: that stays
    main, more = cut(old)
    if more[:1] in (";", "；", "。", ".") and value.startswith(old):
        old, remark, more = main, more + remark, ""
    if details.words(more) - details.words(claim.value) and not details.unaccounted(more, claim.value):
        return None
    return Corrected(line, line.text[: other.start] + claim.value + remark, main)


def _under_its_name(lines: Lines, claim: Claim) -> list[tuple[Line, Claim]]:
    """The lines that give an attribute under the heading of the one whose attribute the claim names: `Falcon deadline`
    is the `Deadline` under `Falcon`."""
    words = claim.subject.split()
    splits = [(" ".join(words[at:]), " ".join(words[:at])) for at in range(1, len(words))]
    if of := _OF.fullmatch(claim.subject):
        splits.append((of["what"] or of["what_zh"], of["who"] or of["who_zh"]))
    found = []
    for what, who in splits:
        wanted = titles.scope(who)
        near = lines.claiming(what) if wanted else []
        found += [(line, other) for line, other in near if wanted <= lines.under(line)]
    return found


def other_amount(lines: Lines, fact: Fact, file: str) -> Corrected | str | None:
    """The only line of its file that tells another amount of the same for the same name; why not when it tells it."""
    told = _amounts(lines, fact, file)
    if len(told) != 1:
        return None
    line, was, now = told[0]
    if not of_the_same(lines, line, fact) or not _has(line.text, was, fact):
        return None
    if was.number == now.number:
        return known(line)
    wrong = old_value(fact.text)
    return Corrected(line, put(line.text, was.text, now.text), was.text) if was.text.startswith(wrong) else None


def _has(text: str, was: Amount, fact: Fact) -> bool:
    """Whether a line tells the amount of the very one that it begins with: `srv3: Debian 12, 16 GB RAM`."""
    who, _ = amount_of(fact.text) or ("", was)
    listed, told = r"[:：,]\s*(?:.*,\s*)?", rf"\s(?:now )?(?:{_VERBS}) (?:now )?(?:.*(?:,|\band) )?"
    form = rf"(?:the )?{re.escape(who)}\s*(?:{listed}|{told}){re.escape(was.text)}(?!\w)"
    return re.match(form, text, re.IGNORECASE) is not None


def _amounts(lines: Lines, fact: Fact, file: str) -> list[tuple[Line, Amount, Amount]]:
    """The lines that tell how much of the same somebody has of whom the fact tells it, as it was and as it is now."""
    told = amount_of(fact.text)
    if told is None:
        return []
    who, now = told
    return [
        (line, was, now)
        for line in lines.sharing(details.words(who))
        if line.file == file and details.holds(fold(line.text), fold(who)) and not _owns(line.text, who)
        for was in amounts(line.text)
        if was.unit == now.unit and (not was.what or not now.what or was.what == now.what)
    ]


def _owns(text: str, who: str) -> bool:
    """Whether a text speaks of what is another's: `Ana's sister` for Ana."""
    return re.search(rf"\b{re.escape(who)}['’]s?(?!\w)", text, re.IGNORECASE) is not None


def beside(lines: Lines, fact: Fact, file: str) -> Sequence[Line]:
    """The lines that may not hold any more when the fact does, and beside which it would stand unseen."""
    if fact.person:
        return ()
    claim = claim_of(fact.text)
    if claim is not None and claim.several and fact.text[: claim.start].rstrip("* ").endswith((":", "：")):
        return ()
    told = [line for line, was, now in _amounts(lines, fact, file) if was.number != now.number]
    found = told or _claiming_otherwise(lines, fact, claim) or _but_for_a_value(lines, fact)
    return found if len(found) <= _MOST_BESIDE else ()


def _claiming_otherwise(lines: Lines, fact: Fact, claim: Claim | None) -> Sequence[Line]:
    """The lines that claim another value of the same, also behind what they, or the fact, say of another."""
    if claim is not None and not claim.several:
        same = [*lines.claiming(claim.subject), *lines.claiming(NEAR.get(claim.subject, ""))]
        others = [line for line, other in same if not other.several and _differ(claim.value, other.value)]
        sure = claim.sure or any(other.sure for _, other in same)
        found = others if sure or len(same) == 1 else []
        if found or not claim.sure:
            return [line for line in found if not _of_two(lines, line, fact)]
    claims = [claim_of(part) for part in parts_of(fact.text)]
    behind = [(line, told) for told in claims if told for line in lines.claiming(told.subject, behind=True)]
    behind += [(line, told) for told in claims[1:] if told for line in lines.claiming(told.subject)]
    return list(
        dict.fromkeys(
            line for (line, other), told in behind if told.sure and other.sure and _differ(told.value, other.value)
        )
    )


def _of_two(lines: Lines, line: Line, fact: Fact) -> bool:
    """Whether the line and the fact each stand under one of their own."""
    under, of = lines.under(line), titles.scope(fact.under)
    return bool(under and of) and not under & of


def _differ(one: str, other: str) -> bool:
    """Whether neither value says what the other says, and more."""
    first, second = details.words(one), details.words(other)
    return fold(one) != fold(other) and not (first and second and (first <= second or second <= first))


def _but_for_a_value(lines: Lines, fact: Fact) -> Sequence[Line]:
    """The one line that says the same of another amount, time of day or colour."""
    form = _form(fact.text)
    if not form:
        return ()
    found = [line for line in lines.alike(fact.text) if _form(line.text) == form and not is_speech(line.text)]
    return found if len(found) == 1 else ()


@lru_cache(maxsize=16384)
def _form(text: str) -> str:
    """A line without its only value; "" for one with none or more than one, or that says hardly more than it."""
    plain = fold(text).strip(" .。!")
    if _DATED.search(plain) or _HAPPENED.match(plain):
        return ""
    form, count = _VALUES.subn("\0", plain)
    return form if count == 1 and len(details.words(form)) > (0 if _STATES.search(form) else 1) else ""
