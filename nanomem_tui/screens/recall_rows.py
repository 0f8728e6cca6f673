"""What the Recall screen shows, as values: what is asked, the answer, and its rows.

Asks the engine (in a thread) and makes rows of what it says; it must not rank, cut or judge by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from nanomem_tui.core.errors import BadInput, NanomemError
from nanomem_tui.core.text import counted
from nanomem_tui.language.times_asked import names_time
from nanomem_tui.memory.recall.recall import Question
from nanomem_tui.memory.recall.scoring import weights_of
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.memory.turns.values import message
from nanomem_tui.store.values import Hit, Item
from nanomem_tui.widgets.plots import meter
from nanomem_tui.widgets.signs import UNICODE, Glyphs

if TYPE_CHECKING:
    from nanomem_tui.memory.turns.values import Begun
    from nanomem_tui.workspace import Workspace

Where = Literal["given", "cut", "chosen", "rule"]

RULE = "rule"
"""The id of the row between what is given and what is cut; no item has it."""

FIRST, OTHERS = 6, 3
"""Cells of the bar of the first part of a score, and of each of the others."""

SHORT = {"lexical": "Lexic.", "overlap": "Overl.", "fts": "FTS", "coverage": "Cov", "importance": "Imp",
         "recency": "Rec", "hits": "Hit", "vector": "Vec", "time": "Time"}  # fmt: skip


class Asked(NamedTuple):
    """What a person wants to know: the message, what it replies to, who says it, how it is ranked, and the item that is
    asked about.

    `by_meaning`: meaning is asked too. `changed` are the weights that differ from the profile; `chosen` an item's id,
    or empty.
    """

    text: str = ""
    reply_to: str = ""
    audience: Audience = Audience()
    profile: str = "default"
    by_meaning: bool = False
    changed: Mapping[str, float] = MappingProxyType({})
    chosen: str = ""

    @property
    def question(self) -> Question:
        """As recall takes it."""
        return Question(self.text, self.reply_to, self.audience, profile=self.profile, weights=self.changed or None)

    @property
    def weights(self) -> dict[str, float]:
        """Every weight by name, the changed ones as they are now."""
        return {**self.usual, **self.changed}

    @property
    def usual(self) -> dict[str, float]:
        """Every weight as the profile has it."""
        return weights_of(self.profile, by_meaning=self.by_meaning, timed=names_time(self.text))


class Answer(NamedTuple):
    """What the engine said. `most` is the full length of each part's bar; `why_not` is about the item chosen; `foreign`
    are the rows of another system that are not ours yet, counted where nothing was found."""

    asked: Asked
    begun: Begun | None = None
    most: Mapping[str, float] = MappingProxyType({})
    why_not: str = ""
    foreign: int = 0

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts of a score, the first one first."""
        return parts_of(self.asked)


class RecallRow(NamedTuple):
    """A row of the list: an item that is given, cut or asked about, or the rule between them."""

    where: Where
    answer: Answer
    item: Item | None = None
    hit: Hit | None = None
    rank: int = 0
    why: str = ""

    @property
    def id(self) -> str:
        """The item's."""
        return self.item.id if self.item is not None else RULE

    @property
    def is_chosen(self) -> bool:
        """Whether this is the item that was asked about."""
        return self.item is not None and self.item.id == self.answer.asked.chosen

    @property
    def text(self) -> str:
        """What the list says of it."""
        if self.item is None:
            return self.why
        why = self.why.partition(": ")[0] if self.where == "chosen" else self.why  # the detail has all of it
        return f"{why}: {self.item.text}" if why else self.item.text


def parts_of(asked: Asked) -> tuple[str, ...]:
    """The names of the parts that a profile makes a score of; our own begins with one that has no weight."""
    names = tuple(asked.usual)
    return ("lexical", *names) if asked.profile == "default" else names


def answer(ws: Workspace, asked: Asked) -> Answer:
    """Ask the engine; in a thread. Raises BadInput for a message or somebody that cannot be."""
    if not asked.text.strip():
        return Answer(asked, why_not="no message yet" if asked.chosen else "")
    message(asked.text)
    if asked.reply_to.strip():
        message(asked.reply_to, "reply to")
    begun = ws.engine.look(asked.question)
    found = [*begun.hits, *(cut.hit for cut in begun.cut)]
    weights = asked.weights
    most = {
        name: max([float(hit.parts.get(name, 0.0)) for hit in found] + [weights.get(name, 0.0) if number else 0.0])
        for number, name in enumerate(parts_of(asked))
    }
    shown = {hit.item.id for hit in found}
    is_missing = asked.chosen and asked.chosen not in shown
    why = begun.problem or ws.recall.why_not(asked.question, asked.chosen) if is_missing else ""
    return Answer(asked, begun, most, why, 0 if found else _foreign(ws))


def _foreign(ws: Workspace) -> int:
    """How many rows of another system wait to be imported; none where its database cannot be read."""
    try:
        return len(ws.items.foreign())
    except NanomemError:
        return 0


def rows_of(answer: Answer, chosen: Item | None) -> list[RecallRow]:
    """The item that was asked about where it is not found, then what is given, the rule, and what was cut."""
    rows: list[RecallRow] = []
    begun = answer.begun
    if chosen is not None and answer.why_not:
        rows.append(RecallRow("chosen", answer, chosen, why=answer.why_not))
    if begun is None:
        return rows
    rows += [RecallRow("given", answer, hit.item, hit, rank) for rank, hit in enumerate(begun.hits, 1)]
    rows.append(RecallRow("rule", answer, why=begun.problem or _rule(begun, answer.foreign)))
    after = len(begun.hits) + 1
    rows += [
        RecallRow("cut", answer, cut.hit.item, cut.hit, rank, cut.why) for rank, cut in enumerate(begun.cut, after)
    ]
    return rows


def _rule(begun: Begun, foreign: int) -> str:
    """What the model gets in all, and how much was cut: short, for a narrow list."""
    if foreign:
        return f"no item: first import {counted(foreign, 'foreign row')}"
    if not begun.block:
        return "nothing is recalled"
    said = [f"{len(begun.cut):,} cut below" if begun.cut else "nothing cut" if begun.hits else "no item"]
    said.append(f"{len(begun.block):,} characters")
    if begun.lessons:
        said.append(counted(len(begun.lessons), "lesson"))
    return ", ".join(said)


def bars_title(parts: Sequence[str]) -> str:
    """The heading above the bars."""
    return " ".join(SHORT[name][: _cells(number)].ljust(_cells(number)) for number, name in enumerate(parts)).rstrip()


def bars_width(parts: Sequence[str]) -> int:
    """The cells of all bars together."""
    return sum(_cells(number) + 1 for number, _ in enumerate(parts)) - 1


def bars_of(row: RecallRow, signs: Glyphs = UNICODE) -> str:
    """A bar for each part of the score, each as long as its share of the most there can be, or is."""
    if row.hit is None:
        return rule_of(row, bars_width(row.answer.parts), signs)
    parts = row.hit.parts
    return " ".join(
        meter(share(parts.get(name, 0.0), row.answer.most[name]), _cells(number), signs)
        for number, name in enumerate(row.answer.parts)
    )


def rule_of(row: RecallRow, width: int, signs: Glyphs = UNICODE) -> str:
    """What a column says where there is no hit: the rule goes on through it."""
    return signs.rule * width if row.where == "rule" else ""


def share(value: float, most: float) -> float:
    """`value` as a part of the most; 0 where there is nothing."""
    return value / most if most > 0 else 0.0


def _cells(number: int) -> int:
    return OTHERS if number else FIRST


def audience_words(audience: Audience) -> str:
    """Who asks, in words."""
    if audience.is_owner:
        return "the owner"
    chat = f"chat {audience.channel}:{audience.chat_id}" if audience.chat_id else f"channel {audience.channel}"
    return f"{chat}, user {audience.sender_id}" if audience.sender_id else chat


def audience_named(text: str) -> Audience | None:
    """The one that `channel:chat sender` names; the chat or the sender may be missing. None: it names nobody (yet)."""
    place, _, sender = text.strip().partition(" ")
    channel, colon, chat = place.partition(":")
    named = Audience(channel, chat or None, sender.strip() or None)
    if not colon or not (named.chat_id or named.sender_id):
        return None
    try:
        _ = named.chat_key, named.user_key
    except BadInput:
        return None
    return named
