"""Whether a clause of the entries that an edit cites bears out what the edit writes or takes away.

Each statement of a new line needs a clause that says as much, denied alike, of the same person or thing; a removal one
that takes the line back. Errs towards a person: what two clauses give only together, or one gives of another, waits.
Pure functions over text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nanomem_tui.dream.clauses import Clause, before, capitals, clauses, content, core, missing, names, owners, subjects
from nanomem_tui.dream.edits import LineEdit
from nanomem_tui.dream.evidence import plain
from nanomem_tui.dream.polarity import leaves_open
from nanomem_tui.formats.history import marks

ENOUGH = 0.6
"""The share of a statement's words that one clause must hold."""

DENIED = "the entries that it cites say the opposite"
SCATTERED = "the entries that it cites do not say it in one statement"
ANOTHER = "the entries that it cites say it of another"
NOTHING = "the entries that it cites say nothing of what it removes"
STILL = "the entries that it cites do not say that it is over"
SUPPOSED = "the entries that it cites say it only of a case that may come, or as a possibility"
_GONE = re.compile(
    r"\b(?:gone|sold|cancel\w*|moved?|over|past|finished|done|delete[sd]?|removed?|forget|obsolete|outdated|expired|"
    r"died|closed|ended|dropped|decommissioned|retired|replaced|changed|used to|once|lost|recovered|scrapped|"
    r"shut down|broke up|given up|gave up)\b|取消|删|不再|卖|结束|过期|搬走|离开|停|作废|完成",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"(?:(?:the )?user(?:['’]s)?\b|I\b|my\b|please\b|always\b|never\b|don['’]?t\b|do not\b|avoid\b|stop\b|prefers?\b|"
    r"(?:dis)?likes?\b|wants?\b|be\b|keep\b|use\b|repl(?:y|ies)\b|respond\b|answers?\b|speak\b|write\b|talk\b|"
    r"address\b|call (?:me|the user)\b|(?:short|brief|concise|formal|informal) \w+|"
    r"(?:the )?(?:assistant|agent|bot|nanobot|you) (?:should|must|is to|shall)\b)|"
    r"请|(?:用户|我)(?:的|希望|要求|喜欢|偏好|想|让|说|要|讨厌|不)|以后|今后|不要|别|一律|总是|始终|回复|回答",
    re.IGNORECASE,
)
_KEYED = re.compile("[:：]")
_HOMES = frozenset(("citi", "city", "home", "locat", "location", "resid", "town", "住", "居", "城", "市"))
_LIVES = re.compile(r"\b(?:moved|moves|lives?|living|relocated|based)\b|搬|住", re.IGNORECASE)


def unborne(edit: LineEdit, said: str, around: frozenset[str]) -> str:
    """Why no clause of `said` bears out the new line; "" when one does, statement by statement.

    `around` are the words that a clause need not have in common with the line: of its heading, and the owner's name.
    """
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
    wanted = core(one.text)
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
    return ANOTHER if missing(subjects(best[-1].text), whole) or _swapped(one.text, best[-1].text) else ""


def _best(wanted: frozenset[str], told: Sequence[Clause]) -> list[Clause]:
    """The clauses that hold most of the words, none where no clause holds any."""
    held = [(len(wanted) - len(missing(wanted, clause.words)), clause) for clause in told]
    most = max((count for count, _ in held), default=0)
    return [clause for count, clause in held if count == most] if most else []


def _swapped(one: str, other: str) -> bool:
    """Whether the words that two statements share come in another order around `from` and `to`, or as who and whom."""
    if owners(one) and owners(other) and not owners(one) & owners(other):
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
    told = clauses(said)
    sure = _asserted(told)
    why = _kept(edit, told, around)
    return SUPPOSED if not why and sure != told and _kept(edit, sure, around) else why


def _kept(edit: LineEdit, told: Sequence[Clause], around: frozenset[str]) -> str:
    old = core(edit.old)
    was = clauses(plain(edit.old))
    denied = bool(was) and was[0].denied
    why = NOTHING
    for clause in told:
        left = missing(old - (names(edit.old) - subjects(plain(edit.old))), clause.words)
        about = old & (clause.words | old - missing(old, clause.words))
        whole = not missing(old, clause.words)
        most = len(about) >= ENOUGH * len(old) and not missing(core(clause.text), old | around)
        if not (whole or most or (not left and about)):
            continue
        if missing(subjects(clause.text), old | around):
            why = ANOTHER
        elif clause.denied != denied or _ends(clause.text, edit.old):
            return ""
        else:
            why = STILL
    return why


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
