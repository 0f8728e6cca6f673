"""Whether a clause of the entries that an edit cites bears out what the edit writes or takes away.

Each statement of a new line needs a clause that says as much, denied alike, of the same person or thing; a removal one
that takes the line back. Errs towards a person: what two clauses give only together, or one gives of another, waits.
Pure functions over text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nanomem_tui.dream import rewording
from nanomem_tui.dream.clauses import (
    Clause,
    before,
    capitals,
    clauses,
    content,
    core,
    missing,
    names,
    of_same,
    owners,
    subjects,
)  # fmt: skip
from nanomem_tui.dream.edits import LineEdit
from nanomem_tui.dream.evidence import plain
from nanomem_tui.dream.polarity import denies, leaves_open
from nanomem_tui.formats.history import marks

ENOUGH = 0.6
"""The share of a statement's words that one clause must hold."""

DENIED = "the entries that it cites say the opposite"
SCATTERED = "the entries that it cites do not say it in one statement"
ANOTHER = "the entries that it cites say it of another"
NOTHING = "the entries that it cites say nothing of what it removes"
STILL = "the entries that it cites do not say that it is over"
SUPPOSED = "the entries that it cites say it only of a case that may come, or as a possibility"
COUNTED = "the entries that it cites say it of another number or day"
OVER = "the entries that it cites say that it is over"
CONDITION = "the entries that it cites say it only under a condition that it leaves out"
UNCUT = "the entries that it cites do not say it word by word, and nanomem cannot read its script"
_GONE = re.compile(
    r"\b(?:gone|sold|cancel\w*|moved?|(?:is|are|was|were|all) over|(?:in the|is) past|finished|done|delete[sd]?|"
    r"removed?|forget|obsolete|outdated|expired|died|closed|ended|dropped|decommissioned|retired|replaced|changed|"
    r"used to|(?:was|were|had) once|once (?:was|had)|lost|recovered|scrapped|shut down|broke up|given up|gave up)\b|"
    r"取消|删|不再|卖|结束|过期|搬走|离开|停|作废|完成",
    re.IGNORECASE,
)
_GIVES = re.compile(r"\b(?:sold|moved?|gave|given|switched|changed|replaced)\b", re.IGNORECASE)
_TAIL = re.compile(r"\s(?:to|by|with)\s[^,;]*$", re.IGNORECASE)
_ENDED = re.compile(
    r"\b(?:sold|left|quit|lost|stolen|cancel\w*|moved|deleted?|removed?|forget)\b|卖|删|搬|离", re.IGNORECASE
)
"""What ends in one word that somebody has, does or is somewhere."""
_BESIDES = core(
    "asked asks remember please told mentioned said correction update note wrong false true fact anymore actually "
    "today yesterday spring summer autumn winter want decided recently finally completely entirely good longer"
) | frozenset("再了已经上个月今昨天年掉了过也现目前他她让请忘记说")
_ASKS = re.compile(
    r"(?:(?:the )?user(?:['’]s)?\b|I\b|my\b|please\b|always\b|never\b|don['’]?t\b|do not\b|avoid\b|stop\b|prefers?\b|"
    r"(?:dis)?likes?\b|wants?\b|be\b|keep\b|use\b|repl(?:y|ies)\b|respond\b|answers?\b|speak\b|write\b|talk\b|"
    r"address\b|call (?:me|the user)\b|(?:short|brief|concise|formal|informal) \w+|"
    r"(?:the )?(?:assistant|agent|bot|nanobot|you) (?:should|must|is to|shall)\b)|"
    r"请|(?:用户|我)(?:的|希望|要求|喜欢|偏好|想|让|说|要|讨厌|不)|以后|今后|不要|别|一律|总是|始终|回复|回答",
    re.IGNORECASE,
)
_HEAD_CJK = re.compile("[\u3400-\u9fff]{2}")
_KEYED = re.compile("[:：]")
_HOMES = frozenset(("citi", "city", "home", "locat", "location", "resid", "town", "住", "居", "城", "市"))
_LIVES = re.compile(r"\b(?:moved|moves|lives?|living|relocated|based)\b|搬|住", re.IGNORECASE)


def unborne(edit: LineEdit, said: str, around: frozenset[str]) -> str:
    """Why no clause of `said` bears out the new line; "" when one does, statement by statement.

    `around` are the words that a clause need not have in common with the line: of its heading, and the owner's name.
    """
    if not rewording.uncut(plain(edit.new), plain(edit.old), said):
        return UNCUT
    told = clauses(said)
    was = clauses(plain(edit.old)) if edit.old else ()
    whole = content(edit.new) | content(edit.old) | around
    sure = _asserted(told)
    for one in clauses(plain(edit.new)):
        if why := _unborne(one, was, told, whole, around):
            return why
        if sure != told and not _open(one) and _unborne(one, was, sure, whole, around):
            return SUPPOSED
    if edit.op != "replace":
        return ""
    why = _taken(edit, told, around)
    if not why and sure != told and not any(map(_open, clauses(plain(edit.new)))) and _taken(edit, sure, around):
        return SUPPOSED
    return why


def only_supposed(new: str, said: str) -> bool:
    """Whether a statement of a new line is nearest to what `said` only supposes, and does not say so itself."""
    told = clauses(said)
    for one in clauses(plain(new)):
        best = _best(one.words, told) if not _open(one) else []
        left = missing(one.words, best[-1].words) if best else one.words
        if best and 2 * len(left) <= len(one.words) and not any(clause.asserted for clause in best):
            return True
    return False


def _asserted(told: Sequence[Clause]) -> Sequence[Clause]:
    """What of the clauses is said to be so; the same ones where nothing is only supposed."""
    return tuple(
        one if one.asserted == one.text else one._replace(text=one.asserted, words=core(one.asserted))
        for one in told
        if one.asserted.strip() or one.asserted == one.text
    )


def _open(one: Clause) -> bool:
    """Whether a statement says itself that it is a wish, a possibility, or holds under a condition."""
    return one.asserted != one.text or leaves_open(one.text)


def _unborne(
    one: Clause, was: Sequence[Clause], told: Sequence[Clause], whole: frozenset[str], around: frozenset[str]
) -> str:
    wanted = core(rewording.bare(one.text)) or core(one.text)
    if rewording.is_date(one.text):
        return _undated(one, was, told, whole)
    stood = (other for other in was if other.denied == one.denied and wanted <= other.words)
    if not wanted or any(not _swapped(one.text, other.text) for other in stood):
        return ""
    fresh = wanted - frozenset[str]().union(*(other.words for other in was if other.denied == one.denied)) or wanted
    best = _best(one.words, told)
    if not best or len(fresh) - len(missing(fresh, best[-1].words)) < ENOUGH * len(fresh):
        near = _best(fresh, told)
        if not near or len(fresh) - len(missing(fresh, near[-1].words)) < ENOUGH * len(fresh):
            return SCATTERED
        best = near
    alike = frozenset[str]().union(*(clause.words for clause in told if clause.denied == one.denied))
    otherwise = frozenset[str]().union(*(clause.words for clause in told if clause.denied != one.denied))
    only = [word for word in missing(fresh, alike) if not missing((word,), otherwise)]
    if best[-1].denied != one.denied or only:
        return DENIED
    if one.denied and missing(fresh - around, best[-1].words):
        return SCATTERED  # what is denied is denied in one breath
    about = subjects(one.text)
    same = [clause.words for clause in told if clause.denied == one.denied and about and about <= clause.words]
    if missing((names(one.text) | about) & fresh, best[-1].words.union(around, *same)):
        return ANOTHER
    if missing(subjects(best[-1].text), whole) or _swapped(one.text, best[-1].text):
        return ANOTHER
    return _unshown(one, was, told, best, whole, around)


def _unshown(
    one: Clause, was: Sequence[Clause], told: Sequence[Clause], best: Sequence[Clause], whole: frozenset[str],
    around: frozenset[str],
) -> str:  # fmt: skip
    """Why no single clause says all of a statement; the reason against the one nearest to it."""
    old = [other for other in was if other.denied == one.denied]
    stamps = [clause.text for clause in told if rewording.is_stamp(clause.text)]
    why = SCATTERED
    for at, clause in enumerate(told):
        if clause.denied != one.denied or rewording.is_date(clause.text) or not clause.text.strip():
            continue  # a remark on when is no statement, whatever its sentence began with
        near = told[at + 1].text if at + 1 < len(told) else "", told[at - 1].text if at else ""
        found = _short(one, old, clause, [other for other in told if other is not clause], stamps, near, whole, around)
        if not found:
            return ""
        why = found if clause in best else why
    return why


def _short(
    one: Clause, old: Sequence[Clause], clause: Clause, others: Sequence[Clause], stamps: Sequence[str],
    near: tuple[str, str], whole: frozenset[str], around: frozenset[str],
) -> str:  # fmt: skip
    """What of a statement a clause does not say; "" when it says all of it, of the same one."""
    kept = "; ".join(other.text for other in old)
    known = frozenset[str]().union(around, *(other.words for other in old))
    known = known if core(one.text) - known else around
    if not of_same(one.text, clause.text, whole | around):
        return ANOTHER
    left = rewording.unsaid(one.text, known, clause.text, clause.words)
    if left and not _added(left, one, clause, others, whole | around):
        return SCATTERED
    if not rewording.tells(clause.text, rewording.kinds(one.text) - rewording.kinds(kept)):
        return SCATTERED
    if rewording.miscounts(one.text, kept, clause.text) or rewording.misdates(one.text, kept, clause.text, stamps):
        return COUNTED
    if not one.denied and rewording.is_over(one.text, clause.text):
        return OVER
    return CONDITION if rewording.drops_condition(one.text, clause.text, *near) else ""


def _added(left: frozenset[str], one: Clause, clause: Clause, others: Sequence[Clause], around: frozenset[str]) -> bool:
    """Whether another clause says the words that are left, in the same way of the same one and nothing else: of two
    nuts that somebody is allergic to, or where somebody lives who works."""
    if missing(core(clause.text), one.words | around):
        return False
    for other in others:
        alike = rewording.kinds(other.text) <= rewording.kinds(one.text) or rewording.places(other.text)
        same = other.denied == one.denied and of_same(one.text, other.text, around)
        if alike and same and not missing(left, other.words) and not missing(core(other.text), one.words | around):
            return True
    return False


def _undated(one: Clause, was: Sequence[Clause], told: Sequence[Clause], whole: frozenset[str]) -> str:
    """Why no clause that has to do with the line has the day that is all of a statement, and was not told on it."""
    stamps = [clause.text for clause in told if rewording.is_stamp(clause.text)]
    kept = "; ".join(other.text for other in was)
    near = [clause.text for clause in told if clause.words & whole] or stamps
    return COUNTED if all(rewording.misdates(one.text, kept, text, stamps) for text in near) else ""


def _best(wanted: frozenset[str], told: Sequence[Clause]) -> list[Clause]:
    """The clauses that hold most of the words, none where no clause holds any."""
    held = [(len(wanted) - len(missing(wanted, clause.words)), clause) for clause in told]
    most = max((count for count, _ in held), default=0)
    return [clause for count, clause in held if count == most] if most else []


def _swapped(one: str, other: str) -> bool:
    """Whether the words that two statements share come in another order around `from` and `to`, or as who and whom."""
    if owners(one) and owners(other) and not owners(one) & owners(other):
        return True
    heads = [found[0] for found in map(_HEAD_CJK.match, (one, other)) if found]
    if len(heads) == 2 and other.find(heads[0]) > 0 and one.find(heads[1]) > 0:
        return True
    if bool(_KEYED.search(one)) != bool(_KEYED.search(other)) or (" by " in one) != (" by " in other):
        return False
    first, second = capitals(one), capitals(other)
    return [word for word in first if word in second] != [word for word in second if word in first]


def _taken(edit: LineEdit, told: Sequence[Clause], around: frozenset[str]) -> str:
    """Whether another value takes the place of one of which no clause speaks: the subject must be the same."""
    old, new = core(edit.old), core(edit.new)
    fresh, stays = new - old, new & old
    if not fresh or not old - new:
        return ""
    best = _best(fresh, told)
    if not best:
        return SCATTERED
    clause = best[-1]
    known = old | new | around
    about = before(clause.text, fresh) | subjects(clause.text) | names(clause.text)
    if missing(about, known):
        return ANOTHER
    gone = missing(stays - around, clause.words)
    if not gone or (gone <= _HOMES and _LIVES.search(clause.text)):
        return ""
    if gone & (names(edit.old) | subjects(plain(edit.old))) - frozenset(("city", "citi")):
        return ANOTHER if gone & names(edit.old) or missing(core(clause.text), known) else ""
    return ANOTHER if missing(core(clause.text), known) else ""


def kept(edit: LineEdit, said: str, around: frozenset[str]) -> str:
    """Why the line that the edit removes stays; "" when one clause of `said` takes it back."""
    if rewording.is_uncut(edit.old):
        return "" if rewording.takes_back_uncut(plain(edit.old), said) else STILL
    told = clauses(said)
    sure = _asserted(told)
    why = _kept(edit, told, around)
    return SUPPOSED if not why and sure != told and _kept(edit, sure, around) else why


def _kept(edit: LineEdit, told: Sequence[Clause], around: frozenset[str]) -> str:
    text = plain(edit.old)
    old = core(edit.old)
    was = clauses(text)
    denied = bool(was) and was[0].denied
    why = NOTHING
    for clause in told:
        left = missing(old, clause.words)
        if left and left <= names(edit.old) - subjects(text) and old - left:
            why = f"nothing accounts for {', '.join(sorted(left))}"
        if left:
            continue
        if missing(subjects(clause.text), old | around) or not of_same(text, clause.text, around):
            why = ANOTHER
        elif (_denies(clause, denied) or _ends(clause.text, edit.old)) and _is_of(clause.text, text, old | around):
            return ""
        else:
            why = STILL
    return why


def _denies(clause: Clause, denied: bool) -> bool:
    """Whether a clause says itself the opposite of a line that denies, or does not."""
    return clause.denied != denied and (denied or denies(clause.text))


def _is_of(told: str, old: str, known: frozenset[str]) -> bool:
    """Whether a clause says nothing but what the line says, or that this is over: no other deed, only a day more."""
    if not rewording.tells(told, rewording.kinds(old)) and not (rewording.may_end(old) and _ENDED.search(told)):
        return False
    if rewording.arrives(told) & core(old):
        return False
    more = _TAIL.sub("", told) if _GIVES.search(told) else told
    return not rewording.unsaid(_GONE.sub(" ", _ENDED.sub(" ", more)), known | _BESIDES, "", frozenset())


def _ends(text: str, old: str) -> bool:
    """Whether a clause says, in words that the line does not hold itself, that something is over."""
    return any(found[0].casefold() not in old.casefold() for found in _GONE.finditer(text))


def asked_of_agent(new: str, said: str) -> bool:
    """Whether the line of `said` that has most to do with a line of how the agent behaves is one with which its user
    asks for it; what somebody else wants of the agent, or wrote somewhere, is not."""
    lines = [text for _, text in marks(said)]
    wanted = core(new) or content(new)
    held = [(len(wanted) - len(missing(wanted, core(text) | content(text))), text) for text in lines]
    most = max((count for count, _ in held), default=0)
    return most > 0 and all(_ASKS.match(text) for count, text in held if count == most)
