"""How a message is read for memories, sentence by sentence, by what `language` learned in ten languages.

Owns the words of explicit wishes in English and Chinese (记住…, remember …), of which only what they ask for is kept,
and the confidence and importance that seed 001 gives the four kinds. Must not decide what is kept: it says what a
sentence is.

Where the seeds match a word anywhere (`always` in “great to see you, as always”; `remember` in “what do you remember
from it?”), a sentence has to say it as a wish or a statement: a question is never one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.language import detect, features, quotations, reader, tables
from nanomem_tui.language.sentences import split
from nanomem_tui.language.tokens import simplified, straight
from nanomem_tui.language.unwanted import is_unwanted

WEIGHTS = {
    "preference": (0.92, 0.85),
    "fact": (0.88, 0.80),
    "decision": (0.90, 0.90),
    "episodic": (0.75, 0.60),
}
"""Confidence and importance of each kind (seed 001)."""
EXPLICIT = (0.98, 0.95)
"""Confidence and importance of what a person asks to be remembered."""

KEEP = 0.45
"""How likely a sentence has to be worth keeping (`language.reader`)."""
SURE = 0.9
"""How likely the first clauses of a question or a task have to be."""
FRAGMENT, SHORT = 3, 6
"""Words and marks, or pairs of wide characters, of what says nothing alone (“Since May.”), and of what may not."""

_pattern = tables.patterns("remembering")
_COMMA = re.compile(r"[,，;]\s*")
_ENTRY = re.compile(r"^\s*(?:[-*•·–]|[（(]?\d{1,2}[.)、）:：]|[①-⑳])\s*(?=\S)")


class Said(NamedTuple):
    """What a sentence is: the words to keep, the kind, whether a person asked for it, and which words showed that."""

    text: str
    kind: str
    explicit: bool
    intent: str

    @property
    def confidence(self) -> float:
        """How sure it is that this is one, 0 to 1."""
        return EXPLICIT[0] if self.explicit else WEIGHTS[self.kind][0]

    @property
    def importance(self) -> float:
        """How much it matters, 0 to 1."""
        return max(EXPLICIT[1], WEIGHTS[self.kind][1]) if self.explicit else WEIGHTS[self.kind][1]


@lru_cache(4)  # a message is asked for them several times in one turn
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a message, without list marks, none ending within a quotation; lines that quote somebody (`>`)
    are left out."""
    joined, at, found = quotations.joined(text), 0, []
    for part in split(joined):
        at = joined.index(part, at)
        found.append(text[at : at + len(part)].lstrip("-*•· \t"))
        at += len(part)
    return tuple(part for part in found if part and not part.startswith(">"))


def _plain(sentence: str) -> str:
    """A sentence as the patterns read it; a place in it is the same place in the `straight` one."""
    return simplified(straight(sentence))


def read(sentence: str) -> Said | None:
    """What a sentence says for memory, None when nothing."""
    return next(_said((sentence,)), None)


def reading_of(sentence: str) -> reader.Reading:
    """What a sentence is, read alone."""
    return reader.read((sentence,), detect.language_of(sentence))[0]


def kind_of(text: str) -> str:
    """The kind of memory that a text would be: fact, preference, decision or episodic."""
    return reading_of(text).kind


def says_something(sentence: str) -> bool:
    """Whether a sentence alone, out of another's mouth, would be a memory or take one back."""
    reading = reading_of(sentence)
    return reading.act in ("forget", "remember") or reading.lasting >= SURE


def rules_in(text: str) -> list[str]:
    """List the sentences of a message that say how the assistant has to behave from now on."""
    return [said.text for said in said_in(text) if said.intent == "rule"]


def _said(parts: Sequence[str]) -> Iterator[Said]:
    """What the sentences of a message say for memory. A statement after a bare “remember this” is a wish; one that says
    little alone goes with the one before it."""
    wished, last = "", None
    language = detect.language_of(" ".join(parts))
    for part, reading in zip(parts, reader.read(parts, language), strict=True):
        said = _of(part, reading, wished)
        only_wishes = points_only(part) or (reading.act == "remember" and reading.lasting < KEEP)
        wished = part.strip() if only_wishes else "" if said is not None else wished
        if said is not None and last is not None and (_is_tail(part, language) or last.intent == said.intent == "rule"):
            last = last._replace(text=f"{last.text} {said.text}")
            continue
        if last is not None:
            yield last
        last = said
    if last is not None:
        yield last


def _of(part: str, reading: reader.Reading, wished: str) -> Said | None:
    """What one sentence says, as it was read. `wished`: the words before it that asked for it to be remembered."""
    plain = _plain(part)
    if _only_leads(part):
        return None
    wish = _wish(plain)
    if wish is not None:
        what = _wanted(wish, part)
        intent = straight(part)[: wish.start("what")].strip(" :：,，")
        return Said(what, kind_of(what), explicit=True, intent=intent) if what else None
    if reading.act == "forget" or is_unwanted(plain):
        return None
    asks = _pattern("asks").search(plain) or _pattern("indirect").match(plain)
    if (asks and reading.act != "remember") or (reading.act in ("question", "order") and reading.lasting < KEEP):
        return _before_a_question(part)
    if reading.act != "quoted" and (reading.lasting >= KEEP or (wished and reading.act == "moment")):
        explicit = bool(wished) or reading.act in ("remember", "rule")
        return Said(part.strip(), reading.kind, explicit, wished or reading.act)
    return None


def _before_a_question(part: str) -> Said | None:
    """The statement that a question or a task follows in the same sentence (“I don't eat pork, so what …?”)."""
    for comma in reversed([*_COMMA.finditer(part)]):
        head = part[: comma.start()].strip()
        reading = reader.read((head,), detect.language_of(part))[0]
        if reading.act in reader.LASTING and reading.lasting >= SURE:
            return Said(head, reading.kind, reading.act == "rule", reading.act)
    return None


def _only_leads(part: str) -> bool:
    """Whether a sentence only leads to what follows (“my sister wrote me:”), or is torn off the head of a mail."""
    tokens = features.tokens(part)
    is_torn = sum(map(str.isalpha, tokens)) < 3 and "0" in tokens and not features.is_wide(part)
    return is_torn or part.rstrip().endswith((":", "："))


def _is_tail(part: str, language: str) -> bool:
    """Whether a sentence is short and says nothing that lasts without the one before it (“Twice a week.”)."""
    size = len(part) // 2 if features.is_wide(part) else len(features.tokens(part))
    return size <= FRAGMENT or (size <= SHORT and reader.read((part,), language)[0].lasting < KEEP)


def _wish(sentence: str) -> re.Match[str] | None:
    """The sentence as a wish that something be remembered, with `what`; a question is none but for politeness."""
    plain = _plain(sentence)
    wish = _pattern("remember").match(plain) or _pattern("remember_zh").match(plain)
    is_asked = wish is not None and _pattern("asks").search(plain) is not None
    return None if is_asked and reading_of(sentence).act != "remember" else wish


def _wanted(wish: re.Match[str], sentence: str) -> str:
    """What a wish asks to be remembered, as the sentence writes it; empty when it only points at it."""
    what = straight(sentence)[slice(*wish.span("what"))].strip()
    what = what[: len(_pattern("tag").sub("", simplified(what)))]
    what = what[found.end() :].strip() if (found := _pattern("pointed").match(simplified(what))) is not None else what
    bare = what.strip(" .。!！?？:：,，")
    return "" if not bare or _pattern("pointer").fullmatch(simplified(bare)) else what


def points_only(sentence: str) -> bool:
    """Whether a sentence asks to remember something and does not say what (“remember this”)."""
    wish = _wish(sentence)
    return wish is not None and not _wanted(wish, sentence)


def said_in(text: str) -> tuple[Said, ...]:
    """Everything that a message says for memory: the entries of a list that it asks to be remembered, then what its
    sentences say."""
    entries, rest = _listed(text)
    return (*entries, *_said(sentences(rest)))


def without_lists(text: str) -> str:
    """A message without the lists that it asks to be remembered."""
    return _listed(text)[1]


@lru_cache(4)
def _listed(text: str) -> tuple[tuple[Said, ...], str]:
    """The entries under each line that only asks to remember what follows, and the message without them."""
    found: list[Said] = []
    rest: list[str] = []
    head, marked = "", None
    for line in text.splitlines():
        plain = line.strip()
        mark = _ENTRY.match(line)
        if head and plain and not plain.startswith(">") and marked in (None, mark is not None):
            marked = mark is not None
            entry = (line[mark.end() :] if mark else line).strip()
            found.append(Said(entry, kind_of(entry), explicit=True, intent=head))
        elif not (head and not plain and marked is not False):
            head, marked = (plain.rstrip(":："), None) if _asks_for_list(plain) else ("", None)
            rest += [] if head else [line]
    return (tuple(found), "\n".join(rest)) if found else ((), text)


def _asks_for_list(line: str) -> bool:
    head = _pattern("bare_head").match(_plain(line)) if len(line) <= 120 and not is_unwanted(line) else None
    if head is None:
        return False
    what = (head["what"] or head["zh"] or "").strip()
    if what and _pattern("pointer").fullmatch(what) is None:
        return False
    return line.endswith((":", "：")) or "follow" in what.lower()


def asks_to_forget(sentence: str) -> bool:
    """Whether a sentence takes something back: what it tells is not what is so."""
    return reading_of(sentence).act == "forget"


def without_greeting(text: str) -> str:
    """Return a text without the words with which people begin, and which say nothing of what follows (“hi, also …”)."""
    return _pattern("lead").sub("", text)


def is_question(sentence: str) -> bool:
    """Whether a sentence asks."""
    return _pattern("asks").search(simplified(sentence)) is not None or reading_of(sentence).act == "question"
