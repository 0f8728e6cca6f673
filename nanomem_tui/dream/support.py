"""Whether the entries that an edit of a model cites say what the edit does: what it writes, what it takes away.

A model may name any entry for any line. What an entry says is `language.compare`'s to tell; here is what each kind of
edit needs. Errs towards a person: a good edit in words of its own waits, a made-up one is not written. Pure.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache

from nanomem_tui.agents.archive import marks
from nanomem_tui.dream import details, tidy, titles
from nanomem_tui.dream.edits import LineEdit
from nanomem_tui.dream.veil import unmasked
from nanomem_tui.language import compare, dates, injection, lines, vetoes
from nanomem_tui.language.tokens import fold

SOUL = "SOUL.md"
OTHER_LANGUAGE = "it is written in another language than its entries"
_WISH = 0.25
"""How likely a line has to be one."""
UNASKED = "no entry that it cites is a wish of the user for how the agent behaves"
LEAST_RELATED = 0.6
"""How sure it has to be that a new line is another value of the line in whose place it comes, or its denial."""
_ONE_SCRIPT = {"HIRAGANA": "CJK", "KATAKANA": "CJK"}  # what is written together


def unsupported(edit: LineEdit, said: str, today: str, text: str, around: str = "") -> str:
    """Why a person must look at the edit; "" when `said`, the entries that it cites, bear it out.

    `today` is the newest day of the history; `text` that of the file before the edit; `around` what the line stands
    under, and the name of the owner.
    """
    said = unmasked(said)
    if edit.op in ("add", "replace"):
        new = unmasked(edit.new)
        if _is_foreign(new, said) and details.missing(details.words(new), details.words(said)):
            return OTHER_LANGUAGE
        return _unsaid(plain(new), said, plain(unmasked(edit.old)), around) or _lost(edit, said) or _unasked(edit, said)
    if edit.op == "move" and edit.to_file not in ("", edit.file):
        return _moved(edit, said) or _unasked(edit, said)
    if edit.op == "remove" and not _may_go(edit, today, text):
        language = compare.language_of_both(said, edit.old)
        why = vetoes.takes_back(said, plain(edit.old), language, around)
        return OTHER_LANGUAGE if why and _is_foreign(edit.old, said) else why
    return ""


def _unsaid(new: str, said: str, old: str, around: str) -> str:
    """Why the entries do not say a new line; of one that goes on where the old one ends, what it adds to that."""
    why = compare.held(said, new, around).why
    added = new.removeprefix(old).strip(" ,;.，；。、") if old and new.startswith(old) else ""
    return compare.held(said, added, f"{around} {old}").why if why and len(added.split()) > 1 else why


def _lost(edit: LineEdit, said: str) -> str:
    """Why a line must not be replaced: no entry speaks of it, and the new line neither updates nor denies it."""
    old, new = plain(edit.old), plain(edit.new)
    lost = details.words(old) - details.words(new)
    if not lost or not details.missing(lost, details.words(said)) or _of_one_field(old, new):
        return ""
    shares = compare.shares_of(old, new)
    if vetoes.have_one_value(old, new) or 1 - shares["different"] - shares["unsure"] >= LEAST_RELATED:
        return ""
    return f"the entries that it cites say nothing of {', '.join(as_written(old, lost)[:4])}"


def _of_one_field(old: str, new: str) -> bool:
    """Whether two lines are fields of one name: `City: Porto` and `City: Rome`."""
    keys = [fold(one.replace("：", ":").partition(":")[0].strip("* ")) for one in (old, new)]
    return keys[0] == keys[1] and all(":" in one.replace("：", ":") for one in (old, new))


def _is_wish(text: str) -> bool:
    """Whether a line of an entry says how the agent has to behave, or what its user likes."""
    shares = lines.read(text).shares
    return shares["rule"] + shares["preference"] >= _WISH and not injection.reason(text)


def _unasked(edit: LineEdit, said: str) -> str:
    """Whether nobody asked for what is written of how the agent behaves: of that only its user decides."""
    if SOUL not in (edit.to_file or edit.file, edit.to_file):
        return ""
    wanted = details.words(edit.new or edit.old)
    told = [text for _, text in marks(said)]
    held = [(len(wanted) - len(details.missing(wanted, details.words(one))), one) for one in told]
    most = max((count for count, _ in held), default=0)
    asked = most and all(_is_wish(one) for count, one in held if count == most)
    return "" if asked else UNASKED


def unsaid_heading(title: str, new: str, said: str) -> str:
    """Why no edit may make the heading `title` above the line `new`; "" when it is a general one, or `said`."""
    unsaid = details.missing(titles.telling(unmasked(title)), details.words(said) | details.words(new))
    if unsaid or vetoes.denies(title):
        words = ", ".join(as_written(title, unsaid)[:4]) if unsaid else title
        return f"it would make a heading, and no entry that it cites says {words}"
    return ""


def _moved(edit: LineEdit, said: str) -> str:
    """Whether the entries speak of the line that goes to another file: of half of what it is about."""
    about = details.words(edit.old)
    if 2 * len(details.missing(about, details.words(said))) <= len(about):
        return ""
    nothing = f"the entries that it cites do not ask to move it to {edit.to_file}"
    return OTHER_LANGUAGE if _is_foreign(edit.old, said) else nothing


def _may_go(edit: LineEdit, today: str, text: str) -> bool:
    """Whether a line may go without evidence: it is empty, over, or twice in its list."""
    return not details.words(edit.old) or dates.is_over(edit.old, today) or tidy.has_copy(text, edit)


def plain(line: str) -> str:
    """What a line says, without bullet, mark and white space around it."""
    found = marks(line)
    return found[0][1] if found else ""


def as_written(text: str, words: frozenset[str]) -> list[str]:
    """The words as the line has them."""
    written = [word.strip("*`_\"'()[].,;:!") for word in text.split()]
    found = [word for word in dict.fromkeys(written) if words & details.words(word)]
    return found or sorted(words)


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
