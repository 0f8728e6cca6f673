"""Whether the entries that an edit of a model cites say what the edit does: its words, its denials, what it takes away.

A model may name any entry for any line. Names and numbers are held against the entries elsewhere; here it is the other
words. Errs towards a person: a good edit in words of its own waits, a made-up one is not written. Words of another
script than that of the entries cannot be held against them: such an edit waits, and that is the reason given. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import replace
from functools import lru_cache

from nanomem_tui.dream import details, evidence, rewording, tidy, titles, witness
from nanomem_tui.dream.clauses import content, missing
from nanomem_tui.dream.edits import LineEdit
from nanomem_tui.dream.polarity import denies
from nanomem_tui.dream.veil import unmasked
from nanomem_tui.language import dates
from nanomem_tui.language.tokens import fold, tokens

SOUL = "SOUL.md"
ENOUGH = 0.6
"""The share of an edit's new words that the entries it cites must hold."""

OTHER_LANGUAGE = "it is written in another language than its entries"
_ATTRIBUTE = re.compile(
    r"\**(?P<key>[^:：*`/]{1,40}?)\**\s*[:：]\**\s*(?!//)\S.*|"
    r"(?:(?:the )?user )?(?:now )?(?:(?P<home>lives? in|(?:is )?based in)|(?P<job>works? (?:at|for))) "
    r"(?:the )?(?-i:[^a-z\s]).*|"
    r"(?:用户|我)?(?:现在|目前)?(?P<cjk>居住在|住在).+",
    re.IGNORECASE,
)
"""A field, or where somebody lives or works: what has one value at a time."""
_ONE_SCRIPT = {"HIRAGANA": "CJK", "KATAKANA": "CJK"}  # what is written together


def unsupported(edit: LineEdit, said: str, today: str, text: str, around: str = "") -> str:
    """Why a person must look at the edit; "" when `said`, the entries that it cites, bear it out.

    `today` is the newest day of the history; `text` that of the file before the edit; `around` what the line stands
    under, and the name of the owner.
    """
    near = details.words(around)
    edit = replace(edit, old=rewording.in_digits(edit.old), new=rewording.in_digits(edit.new))
    said = rewording.in_digits(said)
    if edit.op in ("add", "replace"):
        if _is_foreign(edit.new, said) and missing(details.words(unmasked(edit.new)), details.words(said)):
            return OTHER_LANGUAGE
        why = _unsaid(edit, said) or _lost(edit, said) or witness.unborne(edit, said, near)
        if why and witness.only_supposed(edit.new, said):
            return witness.SUPPOSED
        return why or _unasked(edit, said)
    if edit.op == "move" and edit.to_file not in ("", edit.file):
        return _moved(edit, said) or _unasked(edit, said)
    if edit.op == "remove" and not _may_go(edit, today, text) and (why := witness.kept(edit, said, near)):
        return OTHER_LANGUAGE if _is_foreign(edit.old, said) else why
    return ""


def _unasked(edit: LineEdit, said: str) -> str:
    """Whether nobody asked for what is written of how the agent behaves: of that only its user decides."""
    new = edit.new or edit.old
    if SOUL not in (edit.to_file or edit.file, edit.to_file) or witness.asked_of_agent(new, said):
        return ""
    return "no entry that it cites is a wish of the user for how the agent behaves"


def unsaid_heading(title: str, new: str, said: str) -> str:
    """Why no edit may make the heading `title` above the line `new`; "" when it is a general one, or `said`."""
    unsaid = missing(titles.telling(unmasked(title)), details.words(said) | details.words(new))
    if unsaid or denies(title):
        words = ", ".join(as_written(title, unsaid)[:4]) if unsaid else title
        return f"it would make a heading, and no entry that it cites says {words}"
    return ""


def _moved(edit: LineEdit, said: str) -> str:
    """Whether the entries speak of the line that goes to another file: of half of what it is about."""
    about = content(edit.old) or details.words(edit.old)
    if 2 * len(missing(about, details.words(said))) <= len(about):
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
    wanted = (content(rewording.bare(edit.new)) or content(edit.new)) - details.words(edit.old)
    unsaid = missing(wanted, details.words(said))
    if not wanted or len(wanted) - len(unsaid) >= ENOUGH * len(wanted):
        return ""
    return f"the entries that it cites do not say {', '.join(as_written(edit.new, unsaid)[:4])}"


def _lost(edit: LineEdit, said: str) -> str:
    """Whether words of the line go of which no entry speaks."""
    old = content(edit.old)
    lost = old - details.words(edit.new)
    if not lost or (len(lost) * 2 <= len(old) and content(edit.new) - details.words(edit.old)):
        return ""
    if _of_one_attribute(evidence.plain(edit.old), evidence.plain(edit.new)):
        return ""
    there = details.words(said)
    if len(missing(lost, there)) < len(lost) or len(missing(old - lost, there)) < len(old - lost):
        return ""
    return f"the entries that it cites say nothing of {', '.join(as_written(edit.old, lost)[:4])}"


def _may_go(edit: LineEdit, today: str, text: str) -> bool:
    """Whether a line may go whatever is said: it says nothing, is over, or stands in its list twice."""
    about = content(edit.old) or details.words(edit.old)
    return not about or dates.is_over(edit.old, today) or tidy.has_copy(text, edit)


def as_written(text: str, words: frozenset[str]) -> list[str]:
    """The words as the line has them."""
    written = [word.strip("*`_\"'()[].,;:!") for word in text.split()]
    found = [word for word in dict.fromkeys(written) if words & frozenset(tokens(word))]
    return found or sorted(words)


def _of_one_attribute(one: str, other: str) -> bool:
    """Whether two lines each give one attribute a value: `City: Porto` and `City: Rome`, two homes, two jobs."""
    found, then = _ATTRIBUTE.fullmatch(one), _ATTRIBUTE.fullmatch(other)
    if not (found and then) or found.lastgroup != then.lastgroup:
        return False
    return found.lastgroup != "key" or fold(found["key"]) == fold(then["key"])
