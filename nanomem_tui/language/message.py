"""A message, read once: what its writer says, sentence by sentence, and what of it is another's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

from nanomem_tui.language import pack_files, quotations, remembering
from nanomem_tui.language.remembering import Said
from nanomem_tui.language.sentences import split
from nanomem_tui.language.tokens import tokens

# What of a message was pasted and not said: a mail that somebody got, a document to translate, the text of a file, a
# copy out of a chat, what stands in quotation marks.

WHY = "in something pasted, not said"

_pattern = pack_files.patterns("pasted")
_INLINE = "b|i|u|s|em|strong|small|sup|sub|span|br|p|code|kbd|a"
_ENCLOSED = re.compile(
    rf"<(?!(?:{_INLINE})\b)(?P<tag>[a-z][\w-]{{1,30}})\b[^<>\n]{{0,200}}>.*?(?:</(?P=tag)\s*>|\Z)|"
    r"(?P<quotes>\"\"\"|'''|```|~~~|“““).*?(?:(?P=quotes)|”””|\Z)",
    re.IGNORECASE | re.DOTALL,
)
"""Between tags that only a document has, and between three quotation marks."""
_ANSWERED = re.compile(r"\s*>(?:[\s>]|[^\W\d_]|$)")
"""How a mail program begins the lines that are answered."""
_ENTRY = re.compile(r"\s*(?:[-*•·–]|[（(]?\d{1,2}[.)、）])\s*")
_WORD = re.compile(r"[^\W_㐀-䶿一-鿿぀-ヿ가-힯]+")
_WIDE = re.compile(r"[㐀-䶿一-鿿぀-ヿ가-힯]")
FEW = 4
"""Words of a quotation that says something; two wide characters are one."""
LONG = 4_000
"""Characters of a quotation beyond which nobody looks at what it says."""
LEFT_OUT = "“…”"
"""What stands where somebody else is quoted."""
AROUND = 400
"""Characters before a quotation that tell whose it is."""
REPORTED = "what a page, a mail or a document says, not who tells it"


class OwnAndPasted(NamedTuple):
    """What a person says in a message, and what else stands in it."""

    said: str
    pasted: str


@lru_cache(8)  # a message is asked for them several times in one turn
def parts(text: str) -> OwnAndPasted:
    """Tell the two apart; nearly every message is said from its beginning to its end."""
    pasted: list[str] = []

    def cut(found: re.Match[str]) -> str:
        pasted.append(found[0].strip(found["quotes"] and "\"'`~“”"))
        return "\n"

    lines = _without_rest(_ENCLOSED.sub(cut, text).split("\n"), pasted)
    pasted += filter(_ANSWERED.match, lines)
    own = "\n".join(line for line in lines if not _ANSWERED.match(line))
    said = _without_quoted(_without_reported(own, pasted), pasted)
    return OwnAndPasted(said, "\n".join(pasted)) if pasted or len(said) < len(text) else OwnAndPasted(text, "")


def _without_rest(lines: list[str], told: list[str]) -> list[str]:
    """What is left without the end of a message that is all another's; what is given to be worked on goes nowhere."""
    log = quotations.begins(lines)
    last = max((at for at, line in enumerate(lines) if line.strip()), default=-1)
    for at, line in enumerate(lines):
        if at == log:
            told.append("\n".join(lines[at:]))
            return lines[:at]
        if at < last and _begins_others(line):
            told.append("\n".join(lines[at + 1 :]))
            if _pattern("marked").match(line) is None:
                return lines[: at + 1]
            is_wrapped = at > 0 and _pattern("marked").match(f"{lines[at - 1]} {line}") is not None
            return lines[: at - is_wrapped]
        work = _pattern("worked_on").match(line)
        if work is not None and not _pattern("own").search(work[0]):
            return [*lines[:at], line[: work.end()]]
    return lines


def _without_quoted(text: str, told: list[str]) -> str:
    """What is left without the quotations that say something, unless the sentence around one says that in own words.

    A plain sentence stays where it stands, for it says nothing by itself; that it was quoted is told.
    """
    kept, at = [], 0
    for start, end in quotations.spans(text):
        quoted, lead = quotations.inside(text, (start, end)), _lead(text[max(0, start - AROUND) : start])
        speaks, several = _speaks(quoted), len(split(quoted)) > 1
        words = len(_WORD.findall(quoted)) + len(_WIDE.findall(quoted)) // 2
        own = _own(lead)
        if own == "asked" or not (speaks or words >= FEW or (several and words > 1)):
            continue
        if speaks or (several and not own) or own == "theirs":
            kept += [text[at:start], LEFT_OUT]
            at = end
        if speaks or own != "said":
            told.append(quoted if several else text[start:end])
    return "".join((*kept, text[at:]))


def _speaks(quoted: str) -> bool:
    """Whether something quoted would be a memory, or take one back, had a person said it. What is as long as that is no
    word of one's own in any case."""
    return len(quoted) > LONG or any(map(remembering.says_something, remembering.sentences(quoted)))


@lru_cache(64)
def _own(lead: str) -> Literal["asked", "said", "theirs", ""]:
    """What a sentence itself says of what it leads to: that it is to be remembered or done (“remember: …”), something
    else (“I prefer …”), something of what another one wrote (“I like this mail: …”), or nothing."""
    told = f"{lead} {LEFT_OUT}"
    said = remembering.read(told) if lead else None
    if said is None:
        return ""
    if said.explicit and (said.text != told or _pattern("points").search(lead) is None):
        return "asked"  # a wish has the words that it wants
    return "theirs" if said.explicit or _pattern("others").search(lead) else "said"


def _lead(before: str) -> str:
    """What stands of a sentence before its quotation; of an entry of a list, the line above the list."""
    lines = before.rstrip(" \t").split("\n")
    while len(lines) > 1 and (_ENTRY.fullmatch(lines[-1]) or not lines[-1].strip()):
        lines.pop()
        while len(lines) > 1 and _ENTRY.match(lines[-1]):
            lines.pop()
        if not lines[-1].rstrip().endswith((":", "：")):
            return ""
    line = lines[-1].rstrip()
    return "" if line.endswith(tuple(".!?。！？")) else (split(line) or [""])[-1]


def _without_reported(text: str, told: list[str]) -> str:
    """What is left without what pages, mails and documents say, which goes to `told`: behind a colon all that follows,
    in quotation marks what stands in them, else the sentence."""
    kept, at = [], 0
    for found in _pattern("reported").finditer(text):
        if found.start() < at or _pattern("own").search(found[0]):
            continue
        behind = text[found.end() :]
        if (quoted := quotations.spans(behind)[:1]) and not quoted[0][0]:
            length = quoted[0][1]
        elif found[0].rstrip().endswith((":", "：")):
            length = len(behind)
        else:
            first = split(behind)[0]
            length = behind.index(first) + len(first)
        kept.append(text[at : found.end()])
        told.append(behind[:length])
        at = found.end() + length
    return "".join((*kept, text[at:]))


def reports(text: str) -> bool:
    """Whether some of a message is what a page, a mail or a document says."""
    return any(not _pattern("own").search(found[0]) for found in _pattern("reported").finditer(text))


def _begins_others(line: str) -> bool:
    """Whether what stands behind a line is not the person's own."""
    announces = line.rstrip().endswith((":", "：")) and _pattern("announced").search(line) is not None
    return (announces or _pattern("marked").match(line) is not None) and _pattern("own").search(line) is None


class Message:
    """What a message says. Each part is worked out when it is first asked for, and kept.

    >>> read("I moved to Lisbon. Forget the note about Porto.").forgetting
    ('Forget the note about Porto.',)
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def is_unwanted(self) -> bool:
        """Whether its writer asks that nothing of it be remembered."""
        return remembering.is_unwanted(self.text)

    @cached_property
    def _parts(self) -> OwnAndPasted:
        return parts(self.text)

    @property
    def own(self) -> str:
        """What its writer says."""
        return self._parts.said

    @property
    def others(self) -> str:
        """What stands in it of mails, pages, logs and other people; "" for nothing."""
        return self._parts.pasted

    @cached_property
    def reports(self) -> bool:
        """Whether some of it is what a page, a mail or a document says."""
        return reports(self.text)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The sentences of its writer."""
        return remembering.sentences(self.own)

    @cached_property
    def statements(self) -> tuple[Said, ...]:
        """What its writer says for memory."""
        return remembering.said_in(self.own)

    @cached_property
    def forgetting(self) -> tuple[str, ...]:
        """The sentences that ask to forget something."""
        return tuple(filter(remembering.asks_to_forget, self.sentences))

    @cached_property
    def pointing(self) -> tuple[str, ...]:
        """The sentences that ask to remember something and do not say what (“remember this”)."""
        return tuple(filter(remembering.points_only, remembering.sentences(remembering.without_lists(self.own))))


@lru_cache(8)
def read(text: str) -> Message:
    """Return the message; whoever asks for the same text again has what was worked out of it before."""
    return Message(text)


# What a message asks to be done later, and that something is done: how the pending items of a session fill and empty.

LONGEST = 1_000
"""Characters of a message that is read; a longer one is something pasted."""
FEW_WORDS = 8
"""Words of a message that says "done" and names nothing that waits, and is still about what waits longest."""
_todos_pattern = pack_files.patterns("todos")


def asked(text: str) -> str:
    """Return what a message asks to be done later, empty where it asks for nothing."""
    own = _todos_own(text)
    if not own or _todos_pattern("todo").search(own) is None or read(text).is_unwanted:
        return ""
    if _todos_pattern("question").search(own) and _todos_pattern("asked_for").search(own) is None:
        return ""  # "what is on my todo list?"
    return own


def finished(text: str, waiting: Sequence[str]) -> str:
    """Return the one of the pending items that a message says to be done or not needed, empty where it says so of none:
    the one that shares most words with the message, else the oldest."""
    own = _todos_own(text)
    if not own or not waiting or asked(own) or _todos_pattern("question").search(own):
        return ""
    says_done = _todos_pattern("done").search(own) is not None and _todos_pattern("not_done").search(own) is None
    if not says_done and _todos_pattern("done_alone").fullmatch(own) is None:
        return ""
    said = frozenset(tokens(_todos_pattern("done").sub(" ", own)))
    shared = [len(said & frozenset(tokens(_todos_pattern("todo").sub(" ", item)))) for item in waiting]
    if max(shared) > 0:
        return waiting[shared.index(max(shared))]
    return waiting[0] if len(own.split()) <= FEW_WORDS else ""


def _todos_own(text: str) -> str:
    """What a person says in a message, on one line; nothing of a message that is too long."""
    return " ".join(read(text).own.split()) if len(text) <= LONGEST else ""
