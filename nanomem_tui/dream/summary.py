"""What of a conversation goes into the archive: facts, one a line, each marked as agents mark them.

Owns the values of a summary, how its lines become entries of the archive, and the rules that make one offline. Of what
was said only a person's own words count, unless the settings read the assistant too; orders to the model, secrets,
pasted texts and what was only recalled stay out, each with its reason. Relative dates stay as they were said: an entry
holds the lines of one day and carries its date. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from nanomem_tui.agents.archive import HistoryEntry, capped
from nanomem_tui.agents.transcript_edits import archivable
from nanomem_tui.agents.transcripts import Message
from nanomem_tui.core import clock
from nanomem_tui.core.settings import Settings
from nanomem_tui.core.text import counted, whole
from nanomem_tui.dream import small_talk
from nanomem_tui.dream.facts import FIRST_PERSON, MAX_FACT, NO_NAMES
from nanomem_tui.language import corrections, injection, reader, remembering, secrets
from nanomem_tui.language.detect import language_of
from nanomem_tui.language.lines import read as read_line
from nanomem_tui.language.spoken import ended, without_speaker
from nanomem_tui.language.topics import cues_of
from nanomem_tui.language.unwanted import is_unwanted
from nanomem_tui.memory import safety
from nanomem_tui.memory.turns.capture import MAX_MESSAGE, UNWANTED
from nanomem_tui.model.client import Usage

MARKS = ("permanent", "durable", "ephemeral", "correction")
ENTRY_CHARS = 1000
"""Characters of an entry where lines can be parted: an agent's own Dream reads no more of one."""
_ASKED = 160
_SENDER = 80
_STAMP = re.compile(r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})")
_NAMED = re.compile(r"\s*(?P<who>[A-Z][\w'’-]{0,30}(?: [A-Z][\w'’-]{0,30}){0,2}): +")
_LASTS, _SOON = 0.7, 0.12  # how likely a sentence has to last; one of the days to come
_NOTED = 0.5  # … and where it stands in notes, without the talk around it
_PLAIN = 0.92  # … to be taken for a statement whatever it would be in notes
_WORTH, _GOES_ON, _WORTHLESS = 0.6, 0.45, 0.3
"""How likely a sentence of talk between people has to be worth a note; one that goes on with a note; a wish."""
_FENCED = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)

Watch = Callable[[str], None]


class Line(NamedTuple):
    """One fact: its mark (of MARKS), its words, and the index of the message that says it."""

    mark: str
    text: str
    message: int

    def __str__(self) -> str:
        """The line as it stands in the archive."""
        return f"- [{self.mark}] {whole(self.text)}"


class LeftOut(NamedTuple):
    """Something said that is not archived as a fact, and why; a secret is masked."""

    message: int
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Summary:
    """What was made of the messages before `end`. `raw`: no summary, but the dump that takes its place; `note` says
    why, or what else a person should know."""

    end: int
    lines: tuple[Line, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    raw: str = ""
    note: str = ""
    usage: Usage = field(default_factory=Usage)

    @property
    def text(self) -> str:
        """All of it as one text."""
        return whole(self.raw) or "\n".join(map(str, self.lines))


class Summariser(Protocol):
    """Makes a summary of a slice of a conversation."""

    @property
    def name(self) -> str:
        """How it is called in logs and settings."""

    def summarise(self, messages: Sequence[Message], ends: Sequence[int], watch: Watch) -> Summary:
        """The summary of `messages`, or of those before one of `ends`, the places where they may be parted; the last
        of these is behind them. Raises whatever `watch` raises."""


class RulesSummariser:
    """Fixed rules: the same messages always give the same lines."""

    name = "rules"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def summarise(self, messages: Sequence[Message], ends: Sequence[int], watch: Watch) -> Summary:
        """The facts of all messages."""
        wanted = archivable(messages)
        kept = {message.index for message in rememberable(wanted)}
        roles = {"user", "assistant"} if self._settings.capture_assistant else {"user"}
        senders = {_sender(message) for message in wanted if message.role == "user"} - {""}
        is_talk = _is_small_talk([message.content for message in wanted if message.role == "user"])
        lines: dict[str, Line] = {}
        left_out: list[LeftOut] = []
        for number, message in enumerate(wanted):
            if number % 500 == 0:
                watch(f"reading message {number:,} of {len(wanted):,}")
            if message.index not in kept:
                asked = message.role == "user" and is_unwanted(message.content)
                left_out += [LeftOut(message.index, _short(message.content), UNWANTED)] if asked else []
            elif message.role in roles:
                said, not_said = self._said(message, _sender(message) if len(senders) > 1 else "", is_talk=is_talk)
                left_out += not_said
                for line in said:
                    lines.setdefault(safety.normal(line.text), line)
        ended = [ending(wanted)] if wanted else []
        return Summary(ends[-1], (*lines.values(), *ended), tuple(left_out))

    def _said(self, message: Message, sender: str, *, is_talk: bool) -> tuple[list[Line], list[LeftOut]]:
        """The facts of one message, and what is left out of it for a reason that is worth telling."""
        text, index = message.content, message.index
        speaker, text = _speaker(text)
        sender = speaker or sender
        if not text.strip():
            return [], []
        if len(text) > MAX_MESSAGE:
            return [], [LeftOut(index, _short(text), f"more than {MAX_MESSAGE:,} characters: pasted, not said")]
        if safety.is_recalled(text):
            return [], [LeftOut(index, _short(text), "it was recalled, not said")]
        correction = corrections.detect(text, self._settings)
        corrects = correction is not None and not correction.is_standing
        facts = _facts(_FENCED.sub("\n", text), corrects=corrects, is_talk=is_talk)
        if why := injection.reason(text):  # what stands beside an order is part of it
            return [], [LeftOut(index, _short(text), f"the message {why}")]
        guarded = bool(facts) and bool(secrets.find(text))
        lines: list[Line] = []
        left_out: list[LeftOut] = []
        told: dict[str, Line] = {}
        for mark, what, alone in facts:
            said = told.get(mark)
            if why := refused(what) if guarded else _too_long(what):
                left_out.append(LeftOut(index, _short(what), why))
            elif said is not None and not alone and len(said.text) + len(what) < MAX_FACT:
                # "It took two hours." says nothing without the sentence before it.
                told[mark] = lines[lines.index(said)] = said._replace(text=f"{said.text} {what}")
            else:
                lines.append(Line(mark, f"{sender} said: {what}" if sender else what, index))
                told[mark] = lines[-1]
        return lines, left_out


def _sender(message: Message) -> str:
    """Who sent a message, on one line; "" when nobody says."""
    found = message.raw.get("sender_id")
    return "" if found is None else " ".join(str(found).split())[:_SENDER]


def _speaker(text: str) -> tuple[str, str]:
    """(who says it, what is said) of a message that names its speaker, `Andrew: …`; ("", all of it) of any other."""
    found = _NAMED.match(text)
    if found is None or found["who"].casefold() in NO_NAMES or not FIRST_PERSON.search(text[found.end() :]):
        return "", text
    return found["who"], text[found.end() :]


def _too_long(text: str) -> str:
    return f"longer than {MAX_FACT} characters" if len(text) > MAX_FACT else ""


def refused(text: str) -> str:
    """Why a fact must not be archived; "" when it may."""
    if why := _too_long(text):
        return why
    if kinds := {secret.kind for secret in secrets.find(text)}:
        return f"it holds a secret: {', '.join(sorted(kinds))}"
    if why := injection.reason(text):
        return why
    return "it was recalled, not said" if safety.is_recalled(text) else ""


def _is_small_talk(texts: Iterable[str]) -> bool:
    """Whether messages are talk between people."""
    return small_talk.is_small_talk([reading for text in texts for _, reading in _read(text[:MAX_MESSAGE])])


@lru_cache(1024)  # a message is read to tell what conversation it is of, and again for what it says
def _read(text: str) -> Sequence[tuple[str, reader.Reading]]:
    """The sentences of a message, and what each is."""
    sentences = remembering.sentences(text)
    return tuple(zip(sentences, reader.read(sentences, language_of(text)), strict=True)) if sentences else ()


def _facts(text: str, *, corrects: bool, is_talk: bool) -> list[tuple[str, str, bool]]:
    """(mark, words, whether they stand for themselves) of each sentence of a message that tells what lasts."""
    found = []
    before, is_last_kept = "", False  # what was said last, where it is not kept
    for sentence, reading in _read(text):
        words = " ".join(without_speaker(sentence, capital=False).split())
        worth = small_talk.is_worth_a_note(words, reading) if is_talk else 1.0
        is_wish = _is_wish(sentence, reading.act) and worth >= _WORTHLESS
        if reading.act in ("question", "forget"):
            continue
        least = _GOES_ON if is_last_kept and small_talk.points_back(words) else _WORTH
        lasts = worth >= least if is_talk else _lasts(words, reading)
        if is_wish or (reading.act == "correction" and corrects) or lasts:
            if corrects or (ended(words) and not is_wish):
                mark = "correction"
            elif is_wish:
                mark = "permanent"
            else:
                mark = "ephemeral" if _is_soon(words, reading) else "durable"
            is_alone = is_wish or not small_talk.points_back(words)
            if is_talk and not is_alone and not is_last_kept:  # it says nothing without what was said before it
                if not before:
                    continue
                words, is_alone = f"{before} {words}", True
            found.append((mark, words, is_alone))
            before, is_last_kept = "", True
        else:
            before = "" if reading.act in ("question", "order", "chatter") else words
            is_last_kept = False
    return found


def _is_wish(sentence: str, act: str) -> bool:
    """Whether a person says in so many words that something is to be remembered, or holds from now on."""
    said = remembering.read(sentence) if act == "remember" else None
    if said is not None and said.explicit and said.intent not in ("remember", "rule"):
        return True
    return act == "rule" and corrections.is_for_good(sentence) and read_line(f"- {sentence}").label == "rule"


def _is_soon(words: str, reading: reader.Reading) -> bool:
    return reading.kind == "episodic" and "today" in cues_of(words)


def _lasts(words: str, reading: reader.Reading) -> bool:
    """Whether a sentence tells what lasts: plainly, or as it would be noted, without the talk around it."""
    act, _, lasting = reading
    if act not in ("rule", "remember", "chatter", "moment") and lasting >= _PLAIN:
        return True
    if (_is_soon(words, reading) and lasting >= _SOON) or (act == "fact" and lasting >= _NOTED and ended(words)):
        return True
    return lasting >= _LASTS and read_line(f"- {words}").lasting >= _NOTED


def rememberable(messages: Sequence[Message]) -> list[Message]:
    """The messages without what a person asked not to be remembered, and without the answers to that."""
    kept: list[Message] = []
    asked = False
    for message in messages:
        asked = is_unwanted(message.content) if message.role == "user" else asked
        kept += [] if asked else [message]
    return kept


def ending(messages: Sequence[Message]) -> Line:
    """Where the conversation stood: what an agent needs to go on."""
    first, last = stamp(messages[0].timestamp), stamp(messages[-1].timestamp)
    span = f", {first} to {last}" if first and last else ""
    asked = next((m for m in reversed(messages) if m.role == "user" and m.content.strip()), None)
    text = f"{counted(len(messages), 'message')} archived{span}"
    if asked is not None and not (
        injection.reason(asked.content) or safety.is_recalled(asked.content) or is_unwanted(asked.content)
    ):
        text += f"; asked last: {_short(asked.content)}"
    return Line("ephemeral", text, messages[-1].index)


def _short(text: str) -> str:
    line = " ".join(secrets.mask(text[:MAX_MESSAGE]).split())
    return line if len(line) <= _ASKED else f"{line[:_ASKED].rstrip()}…"


def stamp(timestamp: str) -> str:
    """The minute of a message as the archive has it, `YYYY-MM-DD HH:MM` of here; "" when it is no time."""
    found = _STAMP.match(timestamp)
    if found is None:
        return ""
    if timestamp.endswith("Z") or "+" in timestamp[16:] or "-" in timestamp[16:]:
        moment = clock.parse(timestamp)
        return clock.local_naive(moment)[:16].replace("T", " ") if moment else ""
    return f"{found[1]} {found[2]}"


def entries_of(
    summary: Summary, messages: Sequence[Message], key: str, otherwise: str, extra: dict[str, Any]
) -> list[HistoryEntry]:
    """The entries of a summary, cursor 0, oldest first: lines of one day together, ENTRY_CHARS at most where lines can
    be parted. `otherwise` is the timestamp of what has none; `extra` keys go with each."""
    stamps: dict[int, str] = {}
    known = otherwise
    for message in messages:
        known = stamps[message.index] = stamp(message.timestamp) or known
    if summary.raw:
        return [HistoryEntry(0, known, capped(summary.text), key, 0, extra)]
    entries: list[HistoryEntry] = []
    for line in sorted(summary.lines, key=lambda line: line.message):
        at, text = stamps.get(line.message, known), str(line)
        last = entries[-1] if entries else None
        if last and last.timestamp[:10] == at[:10] and len(last.content) + 1 + len(text) <= ENTRY_CHARS:
            entries[-1] = last._replace(timestamp=max(last.timestamp, at), content=f"{last.content}\n{text}")
        else:
            entries.append(HistoryEntry(0, at, capped(text), key, 0, extra))
    return entries
