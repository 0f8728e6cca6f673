"""How a message is read for memories, sentence by sentence, by what `language` learned in ten languages.

Owns the words of explicit wishes in English and Chinese (记住…, remember …), of which only what they ask for is kept,
and the confidence and importance that seed 001 gives the four kinds. A sentence that hardly lasts (`LEAST_LASTING`) is
no statement; which of the others become memories, `memory/turns/capture.py` decides.

Where the seeds match a word anywhere (`always` in “great to see you, as always”; `remember` in “what do you remember
from it?”), a sentence has to say it as a wish or a statement: a question is never one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.language import classify, pack_files, quotations
from nanomem_tui.language.sentences import split
from nanomem_tui.language.tokens import simplified, straight, tokens

# -- Whether a person asks that something not be remembered, in English and Chinese -----------------------------------

_unwanted_pattern = pack_files.patterns("unwanted")


@lru_cache(16)  # a message is asked several times in one turn
def is_unwanted(message: str) -> bool:
    """Whether a message says that it, or something in it, is not to be remembered."""
    plain = simplified(" ".join(message.replace("’", "'").split()))
    if not (_unwanted_pattern("keeping").search(plain) and _unwanted_pattern("refusing").search(plain)):
        return False
    return any(_is_wish(plain, found) for found in _unwanted_pattern("wish").finditer(plain))


def _is_wish(plain: str, found: re.Match[str]) -> bool:
    if found["order"] is None:
        return True
    before = plain[: found.start()]
    if _unwanted_pattern("told").search(before) and not found["order"].startswith(("not to", "without")):
        return False
    return not (before.lower().endswith("you ") and _unwanted_pattern("reproach").match(found[0]))


WEIGHTS = {
    "preference": (0.92, 0.85),
    "fact": (0.88, 0.80),
    "decision": (0.90, 0.90),
    "episodic": (0.75, 0.60),
}
"""Confidence and importance of each kind (seed 001)."""
EXPLICIT = (0.98, 0.95)
"""Confidence and importance of what a person asks to be remembered."""

LEAST_LASTING = 0.45
"""How likely a sentence has to be worth keeping (`language.classify`)."""
SURE = 0.9
"""How likely the first clauses of a question or a task have to be."""
FRAGMENT, SHORT = 3, 6
"""Words and marks, or pairs of wide characters, of what says nothing alone (“Since May.”), and of what may not."""

_pattern = pack_files.patterns("remembering")
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
    """Split a message into sentences, without list marks, quoted lines (`>`) and ends within quotations."""
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
    return next(_statements((sentence,)), None)


def reading_of(sentence: str) -> classify.Reading:
    """What a sentence is, read alone."""
    return classify.read((sentence,), classify.language_of(sentence))[0]


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


def _statements(parts: Sequence[str]) -> Iterator[Said]:
    """What the sentences of a message say for memory. A statement after a bare “remember this” is a wish; one that says
    little alone goes with the one before it."""
    wished, last = "", None
    language = classify.language_of(" ".join(parts))
    for part, reading in zip(parts, classify.read(parts, language), strict=True):
        said = _read_part(part, reading, wished)
        only_wishes = points_only(part) or (reading.act == "remember" and reading.lasting < LEAST_LASTING)
        wished = part.strip() if only_wishes else "" if said is not None else wished
        if said is not None and last is not None and (_is_tail(part, language) or last.intent == said.intent == "rule"):
            last = last._replace(text=f"{last.text} {said.text}")
            continue
        if last is not None:
            yield last
        last = said
    if last is not None:
        yield last


def _read_part(part: str, reading: classify.Reading, wished: str) -> Said | None:
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
    if (asks and reading.act != "remember") or (
        reading.act in ("question", "order") and reading.lasting < LEAST_LASTING
    ):
        return _before_a_question(part)
    if reading.act != "quoted" and (reading.lasting >= LEAST_LASTING or (wished and reading.act == "moment")):
        explicit = bool(wished) or reading.act in ("remember", "rule")
        return Said(part.strip(), reading.kind, explicit, wished or reading.act)
    return None


def _before_a_question(part: str) -> Said | None:
    """The statement that a question or a task follows in the same sentence (“I don't eat pork, so what …?”)."""
    for comma in reversed([*_COMMA.finditer(part)]):
        head = part[: comma.start()].strip()
        reading = classify.read((head,), classify.language_of(part))[0]
        if reading.act in classify.LASTING and reading.lasting >= SURE:
            return Said(head, reading.kind, reading.act == "rule", reading.act)
    return None


def _only_leads(part: str) -> bool:
    """Whether a sentence only leads to what follows (“my sister wrote me:”), or is torn off the head of a mail."""
    tokens = classify.tokens(part)
    is_torn = sum(map(str.isalpha, tokens)) < 3 and "0" in tokens and not classify.is_wide(part)
    return is_torn or part.rstrip().endswith((":", "："))


def _is_tail(part: str, language: str) -> bool:
    """Whether a sentence is short and says nothing that lasts without the one before it (“Twice a week.”)."""
    size = len(part) // 2 if classify.is_wide(part) else len(classify.tokens(part))
    return size <= FRAGMENT or (size <= SHORT and classify.read((part,), language)[0].lasting < LEAST_LASTING)


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
    """Return all that a message says for memory: the entries of its lists first, then its sentences."""
    entries, rest = _listed(text)
    return (*entries, *_statements(sentences(rest)))


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


# -- What a wish to forget names: of “scratch the note about my therapist” it is the therapist ------------------------

USUAL, USUAL_KOREAN, USUAL_RUN = 18, 8, 4
"""How much, in steps of the weights that were learned, a word and the parts of it, or a run of Chinese or Japanese
characters, make of a sentence a wish to forget for it to be one of the words of such wishes."""
MOST = 40
"""Clauses of a wish, and names in one, that are looked for."""
_CLAUSE = re.compile(r"[,;:，；：、。!！?？\n()（）…–—]+|\s-\s")
_REASON = re.compile(r"(?<=\w )(?:because|weil|porque|parce que|perché|потому что)\b.*|(?<=\w)因[为為].*", re.DOTALL)
_RUN = re.compile(r"[^\W_]+")
_APART = re.compile("['’]")
_WORD_OF_TWO = re.compile(r"(?=([゠-ヿ]{2}|[㐀-鿿]{2}))")
_HIRAGANA, _HANGUL, _CYRILLIC = re.compile("[぀-ゟ]"), re.compile("[가-힯]"), re.compile("[Ѐ-ӿ]")


class Name(NamedTuple):
    """A word that names what is meant. `is_rare`: it is rare in its language, so that it names one thing. `is_usual`:
    such wishes have it often, whatever they name (“erase”, “the note”, but also “my salary”)."""

    word: str
    is_rare: bool = False
    is_usual: bool = False


def named(wish: str) -> list[list[Name]]:
    """Return for each clause of a wish to forget the words that may name what is meant; in Chinese and Japanese runs of
    two characters, else single ones.

    >>> named("scratch the note about my therapist")[0][-1]
    Name(word='therapist', is_rare=True, is_usual=False)
    """
    learned = classify.pack(classify.language_of(wish))
    clauses = [clause for part in _CLAUSE.split(_REASON.sub("", wish)) if (clause := part.strip())]
    found = [_of_characters(one, learned) if classify.is_wide(one) else _of_words(one, learned) for one in clauses]
    return [names[:MOST] for names in found if names][:MOST]


def _of_words(clause: str, learned: classify.Pack) -> list[Name]:
    found: list[Name] = []
    for word in classify.tokens(clause):
        if word[0].isalnum() and learned.common.isdisjoint((word, word.partition("'")[0])):
            pull = _pull((word, *classify.parts_of(word)), learned)
            is_usual = word in learned.forgetting or pull >= (USUAL_KOREAN if _HANGUL.match(word) else USUAL)
            found.append(Name(word, word in learned.names or word not in learned.weights, is_usual))
    return found


def _pull(found: Iterable[str], learned: classify.Pack) -> int:
    """How much these features make of a sentence a wish to forget."""
    at = learned.labels.index("forget")
    return sum(learned.weights[one][at] - classify.ZERO for one in found if one in learned.weights)


def _of_characters(clause: str, learned: classify.Pack) -> list[Name]:
    """What is left of a clause without the longest runs that such wishes have, in runs of two characters; in Japanese
    without those that join words, and with the words that such wishes have."""
    rest = clause.rstrip("了吧啊呀啦")
    for length in (3, 2, 1):
        for run in (clause[at : at + length] for at in range(len(clause) - length + 1)):
            rest = rest.replace(run, " " * length) if run in learned.forgetting else rest
    runs = _RUN.findall(rest)
    found = [Name(run, run not in learned.weights) for run in runs if run.isascii()]
    wide = [run for run in runs if not run.isascii()]
    for run in [one for one in wide if len(one) > 1] or wide:
        pairs = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
        usual = [_pull([pair], learned) >= USUAL_RUN for pair in pairs]
        for at, pair in enumerate(pairs):
            found.append(Name(pair, pair not in learned.weights, any(usual[max(at - 1, 0) : at + 2])))
    if not _HIRAGANA.search(clause):
        return found
    found = [name for name in found if not _HIRAGANA.search(name.word)]
    known = [name.word for name in found]
    return found + [Name(run, is_usual=True) for run in dict.fromkeys(_WORD_OF_TWO.findall(clause)) if run not in known]


def standing_in(names: Sequence[Name], texts: Sequence[str]) -> list[list[Name]]:
    """Return for each text those of the names that stand in it, if in another form (`психолога`, `психологу`)."""
    held = [
        frozenset(tokens(text) + (tokens(apart) if (apart := _APART.sub(" ", text)) != text else [])) for text in texts
    ]
    by_start: dict[str, list[str]] = {}
    for word in frozenset[str]().union(*held):
        by_start.setdefault(word[:2], []).append(word)
    forms = {name: [_forms(word, by_start) for word in tokens(name.word.rpartition("'")[2])] for name in names}
    return [[name for name in names if forms[name] and not any(map(words.isdisjoint, forms[name]))] for words in held]


def _forms(word: str, by_start: Mapping[str, Iterable[str]]) -> list[str]:
    return [other for other in by_start.get(word[:2], ()) if other == word or _is_form(word, other)]


def _is_form(one: str, other: str) -> bool:
    """Whether two words are likely forms of one."""
    short, long = sorted((len(one), len(other)))
    same = next((at for at, (letter, wanted) in enumerate(zip(one, other, strict=False)) if letter != wanted), short)
    if _HANGUL.match(one):
        return same >= 2 and same >= short - 1
    if _CYRILLIC.match(one):
        return same >= 3 and long - same <= 2
    return (
        (same >= 5 and 5 * same >= 3 * long) or other in (f"{one}s", f"{one}es") or one in (f"{other}s", f"{other}es")
    )
