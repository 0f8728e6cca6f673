"""Whether the entries that an edit of a model cites say what the edit does: its words, its denials, what it takes away.

A model may name any entry for any line. Names and numbers are held against the entries elsewhere; here it is the other
words. Errs towards a person: a good edit in words of its own waits, a made-up one is not written. Words of another
script than that of the entries cannot be held against them: such an edit waits, and that is the reason given. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from nanomem_tui.dream import dates, details, evidence, tidy, titles
from nanomem_tui.dream.claims import claim_of
from nanomem_tui.dream.edits import LineEdit
from nanomem_tui.dream.veil import unmasked
from nanomem_tui.formats.history import marks
from nanomem_tui.tokens import fold, tokens

ENOUGH = 0.6
"""The share of an edit's new words that the entries it cites must hold."""

OTHER_LANGUAGE = "it is written in another language than its entries"
_ONE_SCRIPT = {"HIRAGANA": "CJK", "KATAKANA": "CJK"}  # what is written together
_NEARLY = 4  # letters that two forms of a word have in common at least
_OPEN = frozenset(
    tokens(
        "user users person agent assistant prefer prefers preference like likes love loves enjoy enjoys want "
        "wants use uses using used has have had live lives living work works working move moved moves go "
        "goes went get got is are was be been now currently recently since also new named called name said "
        "says wish need needs make makes made own owns keep keeps start started year month week day date "
        "time located based relocated resides goal plan plans"
    )
)
_DENIES = re.compile(
    r"\b(?:not|no|never|without|cannot|stopped|stops|quit|left|ended|former|formerly|avoids?|dislikes?|hates?|refuses?|"
    r"anymore|none|nothing|isn|doesn|won)\b|n['’]t\b|[不没无未别勿非]|ไม่|เลิก",
    re.IGNORECASE,
)
_CLAUSES = re.compile(r"[.!?;,，。；！？]\s*|\s+but\s+", re.IGNORECASE)


def unsupported(edit: LineEdit, said: str, today: str, others: str) -> str:
    """Why a person must look at the edit; "" when `said`, the entries that it cites, bear it out.

    `today` is the newest day of the history; `others` the text of the files without the line.
    """
    if edit.op in ("add", "replace"):
        if _is_foreign(edit.new, said) and _missing(details.words(unmasked(edit.new)), details.words(said)):
            return OTHER_LANGUAGE
        return _unsaid(edit, said) or _turned(edit, said) or _lost(edit, said)
    if edit.op == "move" and edit.to_file not in ("", edit.file):
        return _moved(edit, said)
    if edit.op == "remove" and not _may_go(edit, said, today, others):
        nothing = "the entries that it cites say nothing of what it removes"
        return OTHER_LANGUAGE if _is_foreign(edit.old, said) else nothing
    return ""


def unsaid_heading(title: str, new: str, said: str) -> str:
    """Why no edit may make the heading `title` above the line `new`; "" when it is a general one, or `said`."""
    missing = _missing(titles.telling(unmasked(title)), details.words(said) | details.words(new))
    if missing or _DENIES.search(title):
        words = ", ".join(_as_written(title, missing)[:4]) if missing else title
        return f"it would make a heading, and no entry that it cites says {words}"
    return ""


def _moved(edit: LineEdit, said: str) -> str:
    """Whether the entries speak of the line that goes to another file: of half of what it is about."""
    about = _content(edit.old) or details.words(edit.old)
    if 2 * len(_missing(about, details.words(said))) <= len(about):
        return ""
    nothing = f"the entries that it cites do not ask to move it to {edit.to_file}"
    return OTHER_LANGUAGE if _is_foreign(edit.old, said) else nothing


def _is_foreign(text: str, said: str) -> bool:
    """Whether no line of the entries is in the script of `text`, but for names and the like."""
    script = _script(text)
    return script != "" and script not in {_script(line) for line in said.split("\n")} - {""}


@lru_cache(1024)
def _script(text: str) -> str:
    """The script in which most words of a line are, as Unicode calls it; "" for a line without words."""
    found = Counter[str]()
    before = ""
    for letter in fold(text):
        name = unicodedata.name(letter, "").partition(" ")[0] if letter.isalpha() else ""
        script = _ONE_SCRIPT.get(name, name)
        if script and (script == "CJK" or script != before):  # a character there is a word elsewhere
            found[script] += 1
        before = script
    return max(found, key=lambda script: (found[script], script == "CJK"), default="")


def _unsaid(edit: LineEdit, said: str) -> str:
    wanted = _content(edit.new) - details.words(edit.old)
    missing = _missing(wanted, details.words(said))
    if not wanted or len(wanted) - len(missing) >= ENOUGH * len(wanted):
        return ""
    return f"the entries that it cites do not say {', '.join(_as_written(edit.new, missing)[:4])}"


def _turned(edit: LineEdit, said: str) -> str:
    """Whether the edit denies what no entry denies, or no longer denies what every entry does."""
    denies = _DENIES.search(edit.new) is not None
    if not denies and not _DENIES.search(edit.old):
        return ""
    about = (_content(edit.new) | _content(edit.old)) or details.words(edit.new)
    near = [clause for clause in _clauses(said) if len(about) - len(_missing(about, details.words(clause)))]
    if any((_DENIES.search(clause) is not None) == denies for clause in near):
        return ""
    if denies and _DENIES.search(edit.old) and details.negations(edit.old) == details.negations(edit.new):
        return ""  # it was denied before
    return "no entry that it cites denies it" if denies else "every entry that it cites denies it"


def _lost(edit: LineEdit, said: str) -> str:
    """Whether words of the line go of which no entry speaks."""
    old = _content(edit.old)
    lost = old - details.words(edit.new)
    if not lost or (len(lost) * 2 <= len(old) and _content(edit.new) - details.words(edit.old)):
        return ""
    was, now = claim_of(evidence.plain(edit.old)), claim_of(evidence.plain(edit.new))
    if was and now and was.sure and was.subject == now.subject:
        return ""  # another value of what has one at a time
    there = details.words(said)
    if len(_missing(lost, there)) < len(lost) or len(_missing(old - lost, there)) < len(old - lost):
        return ""
    return f"the entries that it cites say nothing of {', '.join(_as_written(edit.old, lost)[:4])}"


def _may_go(edit: LineEdit, said: str, today: str, others: str) -> bool:
    words = details.words(edit.old)
    about = _content(edit.old) or words
    if not about or dates.is_over(edit.old, today) or tidy.has_copy(others, edit.old):
        return True
    return len(_missing(about, details.words(said))) < len(about)


def _content(text: str) -> frozenset[str]:
    """The words of a line that say what it is about."""
    return frozenset(word for word in details.words(unmasked(text)) - _OPEN if len(word) > 1 or not word.isascii())


def _missing(wanted: Iterable[str], there: frozenset[str]) -> frozenset[str]:
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


@lru_cache(256)
def _clauses(said: str) -> tuple[str, ...]:
    return tuple(clause for _, text in marks(said) for clause in _CLAUSES.split(text) if clause.strip())


def _as_written(text: str, words: frozenset[str]) -> list[str]:
    """The words as the line has them."""
    written = [word.strip("*`_\"'()[].,;:!") for word in text.split()]
    found = [word for word in dict.fromkeys(written) if words & frozenset(tokens(word))]
    return found or sorted(words)
