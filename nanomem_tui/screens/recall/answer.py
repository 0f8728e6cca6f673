"""What the Recall screen shows, as values: the question, the answer and its rows; and the dialogs that pick an asker
or an item.

The engine ranks and cuts (in a thread); rows only show it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, NamedTuple, TypeVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from nanomem_tui.core.errors import BadInput, NanomemError, shown_error
from nanomem_tui.core.text import counted, quoted
from nanomem_tui.language.times_asked import names_time
from nanomem_tui.memory.recall.recall import Question
from nanomem_tui.memory.recall.scoring import weights_of
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.memory.sessions.sessions import BESIDE
from nanomem_tui.memory.turns.request import check_message
from nanomem_tui.screens.base.editable_rows import format_age
from nanomem_tui.screens.base.list_screen import Listing, View
from nanomem_tui.store.values import Hit, Item
from nanomem_tui.widgets.bars import LineInput
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.dialogs import PAGE_KEYS, ChoosingDialog, Dialog
from nanomem_tui.widgets.plots import meter
from nanomem_tui.widgets.table import LineTable
from nanomem_tui.widgets.text_view import Block, Body, Document, Preview, Spans
from nanomem_tui.widgets.theme import UNICODE, Glyphs

if TYPE_CHECKING:
    from nanomem_tui.memory.recall.regressions import Checked
    from nanomem_tui.memory.turns.request import Begun
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
    check_message(asked.text)
    if asked.reply_to.strip():
        check_message(asked.reply_to, "reply to")
    begun = ws.engine.ask(asked.question)
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


# -- What became of the saved questions: the losses first, each with its reason ---------------------------------------


class CheckedScreen(Dialog[None]):
    """The saved questions, asked again."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "close", "close", show=False)]

    def __init__(self, checked: Sequence[Checked]) -> None:
        lost = sum(bool(one.lost) for one in checked)
        super().__init__(f"{counted(len(checked), 'saved question')}, {lost:,} with a loss", tall=True)
        self._checked = checked

    def inside(self) -> list[Widget]:
        """One text."""
        return [Preview()]

    def on_mount(self) -> None:
        """Fill it in."""
        preview = self.query_one(Preview)
        preview.show(Document(tuple(checked_blocks(self._checked))))
        preview.focus()

    def action_close(self) -> None:
        """Back to the screen."""
        self.dismiss(None)


def checked_blocks(checked: Sequence[Checked]) -> list[Block]:
    """Questions with a loss first, what was lost and why; then the others."""
    blocks: list[Block] = []
    for one in sorted(checked, key=lambda one: not one.lost):
        question = one.regression.question
        who = "" if question.audience.is_owner else f"  as {audience_words(question.audience)}"
        state = ("LOST  ", "bad") if one.lost else ("found ", "good")
        count = f"  {len(one.found)} of {len(one.regression.expect)}"
        blocks.append(Spans((state, (quoted(question.text, 200), ""), (count, "dim"), (who, "dim")), 6))
        blocks += [Spans((("      ", ""), (key, "accent"), (f"  {why}", "warn")), 8) for key, why in one.lost]
    return blocks or [Body("No question was saved yet: M saves one.", "dim")]


# -- Choosing one of many by typing, for the Recall screen: who asks, or the item that is asked about -----------------

Row = TypeVar("Row")

SOME_TURNS = 2_000  # the newest, among which people are looked for
_SCOPE = re.compile(r"channel:([^:]+):(chat|user):(.+)", re.DOTALL)


class PickScreen(ChoosingDialog[Row], Generic[Row]):
    """A field and a list; the result is the row chosen, or None. `typed` makes a row of what was typed, if it can."""

    BINDINGS: ClassVar[list[BindingType]] = PAGE_KEYS

    class Loaded(Message):
        """From the loading thread: the rows, or why there are none."""

        def __init__(self, rows: Sequence[object], error: Exception | None = None) -> None:
            super().__init__()
            self.rows = rows
            self.error = error

    class Found(Message):
        """From the searching thread: the rows to show."""

        def __init__(self, view: View[object]) -> None:
            super().__init__()
            self.view = view

    def __init__(
        self,
        title: str,
        columns: Sequence[Column[Row]],
        row_id: Callable[[Row], str],
        text: Callable[[Row], str],
        load: Callable[[], Sequence[Row]],
        *,
        typed: Callable[[str], Row | None] = lambda text: None,
        hint: str = "type to find",
    ) -> None:
        super().__init__(title, tall=True)
        self._columns = columns
        self._row_id = row_id
        self._load = load
        self._typed = typed
        self._hint = hint
        self._listing: Listing[Row] = Listing(row_id, text, lambda row, name: None, {})
        self._error = ""
        self._loading = True

    @property
    def rows_to_come(self) -> bool:
        """Whether the rows of what was typed are still read or looked for."""
        return self._loading or self._listing.view_to_come

    def inside(self) -> list[Widget]:
        """The field and the list."""
        table: LineTable[Row] = LineTable(self._columns, self._row_id)
        table.can_focus = False
        return [LineInput(placeholder=self._hint), table]

    def keys(self) -> list[tuple[str, str]]:
        """How to choose."""
        return [(" enter", "key"), (" choose ", ""), (" ↑ ↓", "key"), (" move ", ""), (" esc", "key"), (" back", "")]

    def on_mount(self) -> None:
        """The rows come."""
        self._load_in_thread()

    @work(thread=True, group="view", exit_on_error=False)
    def _load_in_thread(self) -> None:
        try:
            self.post_message(self.Loaded(self._load()))
        except Exception as error:  # noqa: BLE001 - said in place of the rows
            self.post_message(self.Loaded((), error))

    @on(Loaded)
    def _loaded(self, event: PickScreen.Loaded) -> None:
        event.stop()
        self._error = shown_error(event.error).line() if event.error is not None else ""
        self._loading = False
        self._listing.set_rows(event.rows)  # type: ignore[arg-type] # those that `load` gave
        self._search()

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._listing.set_query(event.value):
            self._search()

    def _search(self) -> None:
        self._search_in_thread(self._listing.next_turn())

    @work(thread=True, exclusive=True, group="view", exit_on_error=False)
    def _search_in_thread(self, turn: int) -> None:
        for view in self._listing.views(turn):
            self.post_message(self.Found(view))  # type: ignore[arg-type] # a view of rows, whatever they are

    @on(Found)
    def _found(self, event: PickScreen.Found) -> None:
        event.stop()
        view: View[Row] = event.view  # type: ignore[assignment] # one of ours
        if not self._listing.accept(view):
            return
        typed = self._typed(self._listing.filter.source)
        known = typed is not None and self._row_id(typed) in {self._row_id(row) for row in view.rows}
        rows = view.rows if typed is None or known else [typed, *view.rows]
        self.table.set_rows(rows, empty=self._error or "Nothing of that name.", from_top=True)


class Asker(NamedTuple):
    """Somebody who may ask: a chat or a person, from where they are known, and when they were last heard of."""

    audience: Audience
    where: str = ""
    last: str = ""

    @property
    def id(self) -> str:
        """The words of it."""
        return audience_words(self.audience)


def askers(ws: Workspace) -> list[Asker]:
    """The owner, then every chat and person that turns, conversations or items name; the last heard of first."""
    found: dict[Audience, Asker] = {}
    for asker in _named(ws):
        known = found.get(asker.audience)
        if not asker.audience.is_owner and (known is None or asker.last > known.last) and _possible(asker.audience):
            found[asker.audience] = asker._replace(where=known.where if known else asker.where)
    return [Asker(Audience(), "sees all"), *sorted(found.values(), key=lambda asker: asker.last, reverse=True)]


def _named(ws: Workspace) -> Iterable[Asker]:
    for turn in ws.traces.injections.turns(SOME_TURNS):
        if turn.channel:
            yield Asker(Audience(turn.channel, turn.chat_id, turn.sender_id), "turns", turn.at)
    for info in ws.sessions.list():
        if not info.key.endswith(BESIDE):  # the agent's own session of that key names the same
            yield Asker(_of_key(info.key), "conversations", info.updated_at or "")
    for item in ws.items.all():
        if item.channel:
            yield Asker(Audience(item.channel, item.chat_id, item.sender_id), "items", item.updated_at)
        if item.session_key:
            yield Asker(_of_key(item.session_key), "items", item.updated_at)
        scope = _SCOPE.fullmatch(item.scope_key)
        if scope is not None:
            channel, kind, key = scope.groups()
            who = Audience(channel, key) if kind == "chat" else Audience(channel, None, key)
            yield Asker(who, "items", item.updated_at)


def _of_key(session_key: str) -> Audience:
    channel, _, chat = session_key.partition(":")
    return Audience(channel, chat) if chat else Audience()


def _possible(audience: Audience) -> bool:
    try:
        return bool(audience.chat_key or audience.user_key)
    except BadInput:
        return False


def asker_screen(ws: Callable[[], Workspace], typed: Callable[[str], Audience | None]) -> PickScreen[Asker]:
    """Choose who asks, or type it."""

    def of_typed(text: str) -> Asker | None:
        named = typed(text)
        return None if named is None else Asker(named, "typed")

    columns: list[Column[Asker]] = [
        Column("who", "Who", lambda asker: asker.id, min_width=30),
        Column("where", "Known from", lambda asker: asker.where, width=13, priority=1, tone="dim"),
        Column("last", "Last", lambda asker: format_age(asker.last) if asker.last else "", width=6, priority=2,
               align="right", tone="dim"),
    ]  # fmt: skip
    return PickScreen(
        "Who asks", columns, lambda asker: asker.id, lambda asker: asker.id, lambda: askers(ws()), typed=of_typed,
        hint="type to find, or channel:chat and a sender",
    )  # fmt: skip


def item_screen(ws: Callable[[], Workspace]) -> PickScreen[Item]:
    """Choose an item by typing words of it."""

    def load() -> list[Item]:
        return ws().items.all()

    columns: list[Column[Item]] = [
        Column("text", "Item", lambda item: item.text, min_width=30),
        Column("kind", "Kind", lambda item: item.kind, width=10, priority=2, tone="dim"),
        Column("age", "Age", lambda item: format_age(item.updated_at), width=6, priority=1, align="right", tone="dim"),
    ]
    return PickScreen(
        "Why is not recalled …", columns, lambda item: item.id, lambda item: item.text, load,
        hint="type words of the item",
    )  # fmt: skip
