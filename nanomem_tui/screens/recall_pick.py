"""Choosing one of many by typing, for the Recall screen: who asks, or the item that is asked about.

Owns the dialog and the search in it. What the rows are, a caller's function says, in a thread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, TypeVar

from textual import on, work
from textual.binding import BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from nanomem_tui.core.errors import BadInput, in_words
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.memory.sessions.imported import BESIDE
from nanomem_tui.screens.listing import Listing, View
from nanomem_tui.screens.recall_rows import audience_words
from nanomem_tui.screens.rows import age_of
from nanomem_tui.widgets.choosing import PAGE_KEYS, ChoosingDialog
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.filter_bar import LineInput
from nanomem_tui.widgets.line_table import LineTable

if TYPE_CHECKING:
    from nanomem_tui.store.values import Item
    from nanomem_tui.workspace import Workspace

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
        self._error = in_words(event.error).line() if event.error is not None else ""
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
        Column("last", "Last", lambda asker: age_of(asker.last) if asker.last else "", width=6, priority=2,
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
        Column("age", "Age", lambda item: age_of(item.updated_at), width=6, priority=1, align="right", tone="dim"),
    ]
    return PickScreen(
        "Why is not recalled …", columns, lambda item: item.id, lambda item: item.text, load,
        hint="type words of the item",
    )  # fmt: skip
