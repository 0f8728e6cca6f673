"""Read history entries: which lines are worth remembering, and what facts they state; the protocol of a Dreamer.

`language.sentences` says what a line of `history.jsonl` is; a line of a chat is read as a message. Must not know what
the memory files hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Protocol

from nanomem_tui.agents.archive import TRUNCATED_SUFFIX, HistoryEntry, marked_lines
from nanomem_tui.core.text import indent
from nanomem_tui.dreams import edits
from nanomem_tui.dreams.edits import LineEdit
from nanomem_tui.dreams.guards import Refusal
from nanomem_tui.language import classify, dates, injection, secrets
from nanomem_tui.language import sentences as language_sentences
from nanomem_tui.language.classify import language_of
from nanomem_tui.language.sentences import split
from nanomem_tui.language.statements import statement
from nanomem_tui.model.client import Usage

# -- The lines of a history entry as statements of their own: mark, text, and what a line stands under ----------------

_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_NAME = r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2}"
SPEECH = re.compile(rf"(?P<who>{_NAME}) (?:said|says|wrote|asked|replied): ?(?P<what>.*)")
"""Who said what: `Gina said: …`."""
_TITLE = re.compile(r"#{1,6}[ \t]+|\*\*[^*]+\*\*[:：]?")
_ENDS = (":", "：")
_VERB = (
    r"(?:is|are|was|were|has|have|had|likes?|loves?|hates?|dislikes?|wants?|needs?|uses?|owns?|keeps?|speaks?|prefers?|"
    r"plays?|eats?|drinks?|knows?|lives?|works?|runs?|visited|bought|moved|will|can|must)"
)
_GOES_ON = re.compile(rf"\b(?:to|of|in|at|on|for|from|with|by|{_VERB})$", re.IGNORECASE)
"""How a line ends that what stands under it goes on with."""
_TOLD = re.compile(r"\b(?:said|says|mentioned|told|shared|asked|wrote|stated|noted|added|learned|discussed|covered)\b")
_OPENS = frozenset("the a an here next things what some other also this these that those".split())


class EntryLine(NamedTuple):
    """One line without its mark and bullet. `under`: the lines that it is an entry of, as `Trip to Porto:`; of whom or
    what they say it is, its text says as well."""

    mark: str | None
    text: str
    is_bullet: bool
    under: str = ""


class _Above(NamedTuple):
    """A line that others are entries of: how far it is indented, its mark, its words, and where it is in the list."""

    indent: int
    mark: str | None
    text: str
    of: str
    number: int


def lines_of(content: str) -> list[EntryLine]:
    """Split an entry into statements. A line that opens a list, `Kestrel:`, begins each line of that list."""
    lines: list[EntryLine] = []
    above: list[_Above] = []
    opened: set[int] = set()
    for raw in content.split("\n"):
        is_bullet = _BULLET.match(raw) is not None
        depth = indent(raw) if is_bullet else -1
        for own, text in marked_lines(raw):
            plain = " ".join(text.split())
            before = SPEECH.fullmatch(lines[-1].text) if lines and own is None and not is_bullet else None
            if before and lines[-1].mark and not before["what"]:
                lines[-1] = lines[-1]._replace(text=f"{lines[-1].text} {plain}")
                continue
            above = [one for one in above if one.indent < depth]
            over = above[-1] if above else None
            if over is not None and (over.text.endswith(_ENDS) or re.fullmatch(_NAME, _head(over.text))):
                opened.add(over.number)
            said = _joined(over.of, plain) if over else plain
            mark = own or (over.mark if over and over.indent >= 0 else None)
            if is_bullet or plain.endswith(_ENDS) or _TITLE.match(plain):
                of = _subject_of(plain, over.of if over else "", is_bullet=is_bullet)
                above.append(_Above(depth, mark, plain, of, len(lines)))
            lines.append(EntryLine(mark, said, is_bullet, " ".join(one.text for one in above if one.indent < depth)))
    return [line for number, line in enumerate(lines) if number not in opened]


def _subject_of(plain: str, over: str, *, is_bullet: bool) -> str:
    """Return what the lines under a line begin with: of whom or what they are. A line of the list says it itself, a
    title or what opens a list where it names somebody or something; "" else."""
    head = _head(plain)
    if not edits.heading_subjects(head) or (not is_bullet and not _names(head)):
        return over
    return _joined(over, head)


def _head(plain: str) -> str:
    """Return the words of a line without the marks of a title or a list."""
    return _NUMBER.sub("", re.sub(r"^#{1,6}[ \t]+", "", plain), count=1).replace("**", "").rstrip(" :：")


def _names(head: str) -> bool:
    """Return whether a line above a list names whom or what that is about: `Kestrel`, `The user is allergic to`."""
    first = head.partition(" ")[0].casefold()
    if SPEECH.fullmatch(f"{head}:"):
        return True
    if _TOLD.search(head):
        return False
    if re.match(r"(?:the )?user(?:['’]s)?\b", head, re.IGNORECASE):
        return True
    named = re.match(rf"{_NAME}(?:['’]s)?(?![\w'’])", head)
    goes_on = named and (named.end() == len(head) or _GOES_ON.search(head) or head[named.end() - 2 :][:1] in "'’")
    return first not in _OPENS and bool(goes_on or not head.isascii())


def _joined(head: str, text: str) -> str:
    """Join a list line to its `head` as one statement; a colon would make it the value of `head`."""
    if not head:
        return text
    if SPEECH.fullmatch(f"{head}:"):
        return f"{head}: {text}"
    goes_on = re.fullmatch(_NAME, head) or _GOES_ON.search(head) or re.match(rf"{_VERB}\b", text)
    return f"{head} {text}" if goes_on else f"{head} – {text}"


SOUL, USER, MEMORY = "SOUL.md", "USER.md", "memory/MEMORY.md"
MAX_FACT = 600
MAX_HELD = 1900
"""Characters of a line that waits for a person: what is longer waits in parts."""
MAX_READ = 20_000
"""The longest line that is read, in characters: nobody notes more in one."""
ALWAYS_KEPT = ("permanent", "correction")
KEEP_MARKS = (*ALWAYS_KEPT, "durable")
"""Marks by which the agent asks that a line is kept."""
DUMP = "a dump of messages, no summary"
"""Why the rules could not read a line: what it says is known to nobody."""
ORDER = "it reads like an order to the agent"
OTHERS = "somebody else said it in a conversation"
WHOM = "it is not clear of whom or what it tells"
UNSURE = "it is not clear whether it lasts"
LEAST = {"permanent": 0.12, "correction": 0.12, "durable": 0.3, None: 0.75}
"""How likely a line has to last, by its mark, to be written."""
ASKED = 0.45
"""How likely a line without a mark has to last that a person is asked."""

_LONG = 160  # a bullet that is longer is read sentence by sentence
_FILE_MARK = re.compile(r"\[(SOUL|USER|MEMORY)(?:\.md)?\]\s*")
_FILES = {"SOUL": SOUL, "USER": USER, "MEMORY": MEMORY}
_FENCED = re.compile(r"^[ \t]*(?:[-*+] )?(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"^\d{1,3}[.)]\s+")
_NAMED = re.compile(r"(?P<who>[^\W\d_][\w'’-]*(?: [A-Z][\w'’-]*){0,2})[:：] ?(?P<what>.+)")
_FOREIGN = {"永久": "permanent", "постоянно": "permanent", "навсегда": "permanent", "更正": "correction"}
_USER = frozenset({"user", "owner", "human", "用户", "пользователь", "nutzer", "usuario", "utilisateur", "utente"})
FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|[Mm]e|[Mm]yself|[Ww]e|[Oo]ur)\b|我")
NO_NAMES = frozenset(
    "user assistant agent bot note notes fact rule lesson decision preference preferences correction project status "
    "goal goals plan todo reminder name timezone language health work home family".split()
)


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of an entry that may be worth remembering, with the cursor of its entry as evidence.

    `label`: what `language.sentences` says that it is; `kinds`: how likely each label is. `file`: the file that the
    line itself names. `person`: said by somebody else in a conversation, `Name: what was said`. `under`: the lines
    of the entry that it is in a list under. `held`: why a person has to look at it first; secrets in `text` are masked
    then.
    """

    text: str
    cursor: int
    mark: str | None = None
    label: str = "project"
    kinds: Mapping[str, float] = field(default_factory=dict)
    file: str = ""
    person: bool = False
    under: str = ""
    held: str = ""

    def __post_init__(self) -> None:
        if not self.kinds:
            object.__setattr__(self, "kinds", {self.label: 1.0})


@dataclass(frozen=True, slots=True)
class Skipped:
    """One line that is not remembered, and why; a `fact` is one that says something to remember."""

    cursor: int
    text: str
    why: str
    mark: str | None = None
    """The agent's own mark of the line: `durable`, `ephemeral` …"""
    fact: bool = False

    @property
    def reason(self) -> str:
        """`why` after the mark, in brackets as the agent writes it, unless `why` names the mark."""
        return f"[{self.mark}] {self.why}" if self.mark and self.why != f"marked {self.mark}" else self.why

    @property
    def unread(self) -> bool:
        """Whether nobody knows what it says."""
        return self.why == DUMP

    def to_json(self) -> dict[str, Any]:
        """Return the line as a JSON object."""
        return {"cursor": self.cursor, "text": self.text, "mark": self.mark, "reason": self.why, "fact": self.fact}


def skipped_summary(skipped: Sequence[Skipped]) -> str:
    """Return how many lines change nothing, and how many of them the agent had marked to be kept."""
    count = f"Skipped {len(skipped):,} {'line' if len(skipped) == 1 else 'lines'}"
    kept = [(mark, sum(line.mark == mark for line in skipped)) for mark in KEEP_MARKS]
    named = ", ".join(f"{number:,} marked {mark}" for mark, number in kept if number)
    named = named.replace(" marked", " of them marked", 1)
    return f"{count}, {named}" if named else count


def facts_of(entry: HistoryEntry, owner: str = "") -> tuple[list[Fact], list[Skipped]]:
    """Return the facts of one entry in order, those included that are `held`, and the lines left out with the reason.

    `owner`: the name of the person whose memory it is.
    """
    if entry.raw:
        return [], [Skipped(entry.cursor, entry.content[:80], DUMP)]
    found = _found(entry.cursor, entry.timestamp, entry.content.removesuffix(TRUNCATED_SUFFIX), owner)
    return [one for one in found if isinstance(one, Fact)], [one for one in found if isinstance(one, Skipped)]


@lru_cache(4096)  # a Dream asks of what later entries say, time and again
def _found(cursor: int, timestamp: str, content: str, owner: str) -> tuple[Fact | Skipped, ...]:
    result: list[Fact | Skipped] = []
    about, before, is_person, language = "", "", False, language_of(content)
    for line in lines_of(_FENCED.sub("", content)):
        here = ""
        for found in _read(line, cursor, owner):
            here = _person(found.text, language) or here
            about = here or about
            if isinstance(found, Skipped):
                result.append(found)
                continue
            other = "" if about == owner or found.person else about
            told, held = statement.with_subject(found.text, other) if other else found.text, found.held
            if told != found.text and not here and not (found.mark and before == other):
                # It may tell of the one whom an earlier line names, or of the owner.
                told, held = (told if found.mark else found.text), held or WHOM
            elif told == found.text and not found.person and statement.with_subject(told, before) != told:
                told = statement.with_subject(told, before)
                held = held or ("" if found.mark and is_person else WHOM)
            if statement.points_back(told) and not found.person:
                held = held or WHOM
            before = statement.subject_of(found.text) if language != "de" else ""
            before = "" if before == owner else before
            is_person = found.label == "person"
            result += _checked(replace(found, text=dates.absolute(told, timestamp), held=held))
    return tuple(result)


def _person(text: str, language: str) -> str:
    """Return the name of the person that a text begins with, "" where it begins with no name of a person."""
    name = statement.subject_of(text)
    is_known = name.lower() in classify.pack(language).names
    return name if is_known and language_sentences.read(text).label in ("person", "event", "moment") else ""


def _checked(fact: Fact) -> list[Fact]:
    """A fact as it may be written: with a secret or too long for a line it is held, in parts that a file can take."""
    text, held = fact.text, fact.held
    if kinds := {secret.kind for secret in secrets.find(text)}:
        text, held = secrets.mask(text), f"it holds a secret: {', '.join(sorted(kinds))}"
    elif len(text) > MAX_FACT and not held:
        held = f"longer than {MAX_FACT} characters"
    return [replace(fact, text=part, held=held) for part in (_parts(text) if held else (text,))]


def _parts(text: str) -> list[str]:
    """A held line as lines that a file can take, cut between sentences where that is possible."""
    parts = [""]
    for sentence in split(text, spaced=True):
        for at in range(0, len(sentence), MAX_HELD):
            piece = sentence[at : at + MAX_HELD]
            if parts[-1] and len(parts[-1]) + 1 + len(piece) > MAX_HELD:
                parts.append(piece)
            else:
                parts[-1] = f"{parts[-1]} {piece}".strip()
    return list(filter(None, parts))


def _read(line: EntryLine, cursor: int, owner: str) -> Iterator[Fact | Skipped]:
    """Yield the facts of one line, or why there are none."""
    mark, text, file = line.mark, line.text, ""
    if len(text) > MAX_READ:
        yield Skipped(cursor, f"{secrets.mask(text[:80])}…", f"longer than {MAX_READ:,} characters", mark)
        return
    if mark in ("ephemeral", "skip", "SKILL"):
        why = "a skill, not a memory" if mark == "SKILL" else f"marked {mark}"
        yield Skipped(cursor, secrets.mask(text), why, mark)
        return
    if named := _FILE_MARK.match(text):
        file, text = _FILES[named[1]], text[named.end() :]
    parts = language_sentences.parted(text)
    mark = (
        mark
        or next((_FOREIGN[one] for one in parts.marks if one in _FOREIGN), None)
        or next((one for one in parts.marks if one in KEEP_MARKS), None)
    )
    if speaker := _speaker(parts.text, mark, owner):
        yield from _facts_in(*speaker, mark, cursor, owner, line.under)
        return
    fact = Fact("", cursor, mark, file=file, under=line.under)
    if len(text) > MAX_FACT and mark in KEEP_MARKS:
        yield replace(fact, text=text)  # too long for a line: it is held
        return
    if line.is_bullet and len(text) <= _LONG:
        yield _judged(text, f"- {text}", fact)
        return
    found = [_judged(one, one, fact) for one in split(text)] or [_judged(text, text, fact)]
    kept = [one for one in found if isinstance(one, Fact)]
    if len(kept) == len(found) and mark in KEEP_MARKS and not any(one.held for one in kept):
        yield replace(kept[0], text=" ".join(one.text for one in kept))
    else:
        yield from kept or found[:1]


def _judged(text: str, shown: str, fact: Fact) -> Fact | Skipped:
    """Return a fact, a fact held for a person, or why a text is left out. `shown` is what is read."""
    mark = fact.mark
    reading = language_sentences.read(f"[{mark}] {shown}" if mark and not shown.startswith("- ") else shown)
    plain = _NUMBER.sub("", statement.without_speaker(language_sentences.parted(text).text)).strip()
    lasting, label = reading.lasting, max(language_sentences.LASTING, key=reading.shares.__getitem__)
    kinds = {one: reading.shares[one] / lasting for one in language_sentences.LASTING}
    found = replace(fact, text=plain, label=label, kinds=kinds)
    if not any(letter.isalnum() for letter in plain) or len(plain) < 2:
        return Skipped(fact.cursor, text, "nothing said", mark)
    if injection.reason(text):
        return replace(found, held=ORDER)
    if reading.label == "instruction" and reading.share > 0.6 and mark is None:
        return replace(found, held=ORDER)
    if plain.endswith(("?", "？")) and mark not in ALWAYS_KEPT:
        return Skipped(fact.cursor, secrets.mask(text), "a question", mark)
    if lasting >= LEAST.get(mark, LEAST[None]):
        return found
    if mark is None and lasting >= ASKED:
        return replace(found, held=UNSURE)
    return Skipped(fact.cursor, secrets.mask(text), reading.label, mark)


def _speaker(text: str, mark: str | None, owner: str) -> tuple[str, str] | None:
    """(who, what was said) of a line of a chat; None of any other."""
    if said := SPEECH.fullmatch(text):
        return said["who"], said["what"]
    named = _NAMED.fullmatch(text)
    if named is None:
        return None
    who = named["who"]
    if who.casefold() in _USER or (owner and who == owner):
        return who, named["what"]
    if who.casefold() in NO_NAMES or not (mark and FIRST_PERSON.search(named["what"])):
        return None
    return who, named["what"]


def _facts_in(who: str, what: str, mark: str | None, cursor: int, owner: str, under: str) -> Iterator[Fact | Skipped]:
    """Yield what somebody says that lasts, sentence by sentence, as a message is read."""
    of_owner = who.casefold() in _USER or who == owner
    if mark is None and not of_owner:
        yield Skipped(cursor, secrets.mask(what), "chat", mark)
        return
    sentences = split(what, spaced=not of_owner)
    least = (0.8 if mark is None else 0.5) if of_owner else 0.97
    readings = classify.read(sentences, language_of(what)) if sentences else []
    kept = [
        (one, reading)
        for one, reading in zip(sentences, readings, strict=True)
        if reading.lasting >= least or (of_owner and reading.act == "remember")
    ]
    if not kept:
        yield Skipped(cursor, secrets.mask(what), readings[0].act if readings else "nothing said", mark)
        return
    text = " ".join(statement.without_speaker(one) for one, _ in kept)
    rule = any(reading.act == "rule" for _, reading in kept)
    label = "rule" if rule else {"episodic": "event", "fact": "person"}.get(kept[0][1].kind, kept[0][1].kind)
    if of_owner:
        yield Fact(text, cursor, mark, label, under=under)
    else:
        yield Fact(f"{who}: {text}", cursor, mark, "person", file=MEMORY, person=True, under=under, held=OTHERS)


# What a Dreamer is: it reads new history entries and the memory files, and returns edits of lines, never texts.

Kind = Literal["rules", "model"]
Watch = Callable[[str], None]
"""Told each step before it is done, and now and then while it waits; an error that it raises ends the Dream."""

NO_EDIT = "the model found it and made no edit of it"
"""Why a fact is left out that no edit was tried for."""


def no_watcher(_step: str) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a Dreamer wants to change, and the lines it read that change nothing, with the reason.

    `analysis` is what it made of the entries, for people. `refused` are edits that it gave up itself. `done` is the
    cursor of the last entry that it dealt with, None for all: what lies behind waits for the next Dream.
    """

    edits: tuple[LineEdit, ...]
    skipped: tuple[Skipped, ...] = ()
    analysis: str = ""
    usage: Usage = field(default_factory=Usage)
    refused: tuple[Refusal, ...] = ()
    done: int | None = None


class Dreamer(Protocol):
    """Reads new entries and the memory files; returns edits, never texts."""

    @property
    def name(self) -> str:
        """How the Dreamer is called in commits, logs and settings."""

    def propose(
        self, entries: Sequence[HistoryEntry], files: Mapping[str, str], *, steps: int, watch: Watch = no_watcher
    ) -> Proposal:
        """Return the edits, in the order of the entries that are their evidence; at most `steps` steps are taken to
        find them.

        `files` is text by name. Raises whatever `watch` raises, and the errors of what it asks (a model's endpoint).
        """
