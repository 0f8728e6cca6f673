"""The Recall screen: what a message would bring back, as a chat or a person, why each item, why not, and the block.

Wires the message line, the weights and the list to the engine, which ranks in threads: no key waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from textual import on
from textual.app import ComposeResult

from nanomem_tui.actions import Context
from nanomem_tui.core.text import counted
from nanomem_tui.memory.recall.meaning import is_wanted
from nanomem_tui.memory.recall.scoring import PROFILES
from nanomem_tui.screens.recall_bar import AskBar
from nanomem_tui.screens.recall_rows import (
    Asked,
    RecallRow,
    answer,
    audience_named,
    audience_words,
    bars_of,
    bars_title,
    bars_width,
    parts_of,
    rows_of,
    rule_of,
)
from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.bars import TitleBar
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.look import glyphs
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from nanomem_tui.memory.recall.regressions import Checked
    from nanomem_tui.memory.scopes import Audience
    from nanomem_tui.screens.recall_pick import Asker
    from nanomem_tui.store.values import Item
    from nanomem_tui.widgets.document import Document
    from nanomem_tui.workspace import Workspace

MOST = 10.0  # of a weight


class RecallScreen(WorkspaceScreen[RecallRow]):
    """Ask as the agent asks."""

    SCREEN = "recall"
    FLASHES = False  # another message brings other rows: nothing went away
    EMPTY = "Type / and a message: what the agent would be given for it, and why."
    HELP = (
        "What a message brings back: nothing is written by asking. / types the message, Q what it replies to, A "
        "chooses who asks, P the profile. Above the rule is what the model gets, below it what was cut, and why. Each "
        "part of a score has a bar. ] chooses a weight, > and < turn it: for this screen only. Signs: ? the item that "
        "you asked about."
    )

    def __init__(self) -> None:
        super().__init__()
        self._asked = Asked()
        self._weight = ""
        self._one_at_a_time = threading.Lock()

    # The frame

    def compose(self) -> ComposeResult:
        """The message and who asks stand above the panes; it begins with the profile of the settings."""
        settings = self.console.opening.loaded.settings
        profile = settings.recall_profile if settings.recall_profile in PROFILES else "default"
        self._asked = self._asked._replace(profile=profile, by_meaning=is_wanted(settings))
        self._weight = next(iter(self._asked.usual))
        parts = iter(super().compose())
        yield next(parts)
        yield AskBar()
        yield from parts

    def on_mount(self) -> None:
        """Show who asks."""
        self._show_asked()

    # The list

    def columns(self) -> Sequence[Column[RecallRow]]:
        """Score, a bar for each part, through which layer, what."""
        parts, signs = parts_of(self._asked), glyphs(self)
        return (
            Column("rank", "#", lambda row: str(row.rank or rule_of(row, 2, signs)), width=2, priority=3,
                   align="right", tone="dim"),
            Column("score", "Score", lambda row: f"{row.hit.score:.3f}" if row.hit else rule_of(row, 6, signs),
                   width=6, align="right"),
            Column("parts", bars_title(parts), lambda row: bars_of(row, signs), width=bars_width(parts), priority=2,
                   tone="accent"),
            Column("layer", "Layer", lambda row: row.hit.layer if row.hit else rule_of(row, 6, signs), width=6,
                   priority=4, tone="dim"),
            Column("text", "What is recalled", lambda row: row.text, min_width=20),
        )  # fmt: skip

    def row_id(self, row: RecallRow) -> str:
        """The item's id."""
        return row.id

    def search_text(self, row: RecallRow) -> str:
        """The text of the item."""
        return row.item.text if row.item is not None else row.why

    def field(self, row: RecallRow, name: str) -> Any:
        """There is no filter here: the message is typed in its place."""
        return None

    def sign(self, row: RecallRow) -> str:
        """The item that was asked about."""
        return "?" if row.is_chosen else "-" if row.where == "rule" else ""

    def dimmed(self, row: RecallRow) -> bool:
        """What the model does not get."""
        return row.where != "given" and not row.is_chosen

    def load(self) -> Iterable[Sequence[RecallRow]]:
        """Ask; a question that was overtaken by the next key is not asked any more."""
        turn, asked = self._load_turn, self._asked
        with self._one_at_a_time:
            if turn != self._load_turn:
                return
            ws = self.ws
            ws.recall.warm()
            found = answer(ws, asked)
            chosen = _item(ws, asked.chosen) if asked.chosen else None
        yield rows_of(found, chosen)

    def facts(self, row: RecallRow) -> frozenset[str]:
        """Whether the row is an item."""
        return frozenset({"item"}) if row.item is not None else frozenset()

    def workspace_context(self) -> Context:
        """With what is asked."""
        context = super().workspace_context()
        has = {name for name, true in (("message", self._asked.text.strip()), ("turned", self._asked.changed)) if true}
        return Context(**{**_fields(context), "has": context.has | has})

    def detail(self, row: RecallRow) -> Document:
        """The score in its parts, and the block."""
        from nanomem_tui.screens.recall_detail import document

        turns = self.ws.traces.injections.of_item(row.item.id) if row.item is not None else []
        return document(row, turns, glyphs(self))

    def copy_text(self) -> str:
        """The text of the item, or the block."""
        row = self.table.cursor_row
        return "" if row is None else self.search_text(row) if row.item else self.detail(row).plain()

    def _say_totals(self) -> None:
        rows = self.table.rows
        given, cut = (sum(row.where == where for row in rows) for where in ("given", "cut"))
        parts = [f"{given} given", f"{cut} cut"] if self._asked.text.strip() else []
        if self.table.selected:
            parts.append(f"{len(self.table.selected)} selected")
        self.query_one(TitleBar).set_right(" · ".join(parts))
        self.refresh_context()

    # What is asked

    def ask_about(self, **changes: Any) -> None:
        """Ask something else: fields of `Asked`. The list follows without waiting."""
        asked = self._asked._replace(**changes)
        if asked == self._asked:
            return
        other_parts = parts_of(asked) != parts_of(self._asked)
        self._from_top = asked[:3] != self._asked[:3]  # another question
        self._asked = asked
        if other_parts:
            self.table.set_columns(self.columns())
        self._show_asked()
        if not self._asked.text.strip() and not asked.chosen:
            self.table.clear_selection()
        self.reload()

    def _show_asked(self) -> None:
        self.query_one(AskBar).show(self._asked, self._weight)

    @on(AskBar.MessageChanged)
    def _message_changed(self, event: AskBar.MessageChanged) -> None:
        self.ask_about(text=event.text, reply_to=event.reply_to)

    @on(AskBar.Left)
    def _message_left(self) -> None:
        self.show_pane("list")

    def filter_by(self, query: str) -> None:
        """Ask for `query` as a message."""
        self.query_one(AskBar).set_text(query)

    def do_filter(self) -> None:
        """Type the message."""
        if self._pane == "detail":
            self.show_pane("list")
        self.query_one(AskBar).open()

    def do_reply_to(self) -> None:
        """Type what the message replies to."""
        if self._pane == "detail":
            self.show_pane("list")
        self.query_one(AskBar).open("reply")

    def do_back(self) -> None:
        """To the list; then without selection, without the item asked about, without the message."""
        if self._pane == "detail" or self._zoomed or self.table.selected:
            super().do_back()
        elif self._asked.chosen:
            self.ask_about(chosen="")
        else:
            self.query_one(AskBar).set_text("")

    def do_asker(self) -> None:
        """Choose who asks."""
        from nanomem_tui.screens.recall_pick import asker_screen

        async def chosen(asker: Asker | None) -> None:
            if asker is not None:
                self.ask_about(audience=asker.audience)
                say(self, f"Asked by {audience_words(asker.audience)}")

        self.ask(asker_screen(lambda: self.ws, audience_named), chosen)

    def do_profile(self) -> None:
        """The next profile, with its own weights."""
        names = tuple(PROFILES)
        profile = names[(names.index(self._asked.profile) + 1) % len(names)]
        self._weight = next(iter(self._asked._replace(profile=profile).usual))
        self.ask_about(profile=profile, changed=MappingProxyType({}))

    # Weights

    def do_next_weight(self, step: int = 1) -> None:
        """To the next weight."""
        names = tuple(self._asked.usual)
        self._weight = names[(names.index(self._weight) + step) % len(names)]
        self._show_asked()

    def do_previous_weight(self) -> None:
        """To the weight before."""
        self.do_next_weight(-1)

    def do_more_weight(self, sign: int = 1) -> None:
        """Let the weight count more, by a step that fits its profile."""
        usual = self._asked.usual[self._weight]
        step = 0.005 if usual < 0.1 else 0.05
        value = round(min(max(self._asked.weights[self._weight] + sign * step, 0.0), MOST), 6)
        changed = {**self._asked.changed, self._weight: value}
        if value == usual:
            del changed[self._weight]
        self.ask_about(changed=MappingProxyType(changed))

    def do_less_weight(self) -> None:
        """Let the weight count less."""
        self.do_more_weight(-1)

    def do_reset_weights(self) -> None:
        """The weights of the profile again."""
        self.ask_about(changed=MappingProxyType({}))

    # Why not

    def do_why_not(self) -> None:
        """Choose an item and see why it is not recalled."""
        from nanomem_tui.screens.recall_pick import item_screen

        async def chosen(item: Item | None) -> None:
            if item is not None:
                self.why_not(item.id)

        self.ask(item_screen(lambda: self.ws), chosen)

    def ask_as(self, audience: Audience, text: str) -> None:
        """Ask as somebody, as if `text` had been typed."""
        self.ask_about(audience=audience)
        self.query_one(AskBar).set_text(text)

    def why_not(self, item_id: str) -> None:
        """Ask about an item: it stays in the list, with its reason, whatever is asked next."""
        self.ask_about(chosen=item_id)
        self.show_row(item_id)
        if not self._asked.text.strip():
            self.call_after_refresh(self.do_filter)

    # Elsewhere

    def open_row(self, row: RecallRow) -> None:
        """Enter: to the item; on the rule to the block."""
        if row.item is None:
            self.show_pane("detail")
        else:
            self.console.go("items", row.item.id)

    def do_open(self) -> None:
        """Enter in the detail: to the item too."""
        row = self.table.cursor_row
        if row is not None and row.item is not None:
            self.console.go("items", row.item.id)

    def do_next_list(self) -> None:
        """To what real turns were given."""
        self.console.go("injections")

    def do_injected(self) -> None:
        """The real turns that were given the item."""
        from nanomem_tui.screens.recall_log import show_turns_of

        row = self.table.cursor_row
        if row is not None and row.item is not None:
            show_turns_of(self.console, "item", row.item.id)

    # Saved questions

    async def do_keep_recall(self) -> None:
        """Save the message with what it must find."""
        expect = [row.item.id for row in self.targets() if row.item is not None]
        if await self.console.in_thread(lambda ws: _save(ws, self._asked, expect)):
            way = "Saved, to be asked with the usual weights" if self._asked.changed else "Saved"
            say(self, f"{way}: it must find {counted(len(expect), 'item')}")
        else:
            say(self, "That question is saved already")

    async def do_check_recall(self) -> None:
        """Ask every saved question again."""
        from nanomem_tui.screens.recall_check import CheckedScreen

        say(self, "Asking the saved questions …")
        done: list[Checked] = await self.console.in_thread(_check)
        say(self, f"{counted(len(done), 'saved question')} asked")
        self.app.push_screen(CheckedScreen(done))


def why_not(console: Any, item_id: str) -> None:
    """Go to the Recall screen and ask about an item there."""
    console.go("recall")
    screen = cast("RecallScreen", console.get_screen("recall"))
    screen.call_later(screen.why_not, item_id)


def _fields(context: Context) -> dict[str, Any]:
    return {name: getattr(context, name) for name in Context.__slots__}


def _item(ws: Workspace, item_id: str) -> Item | None:
    """The item, also a deleted one; None when there is none."""
    return ws.store.load("item").items.get(item_id)


def _save(ws: Workspace, asked: Asked, expect: Sequence[str]) -> bool:
    """Save the question; False when it is saved already."""
    from nanomem_tui.memory.recall import regressions

    path = regressions.saved_file(ws.paths.data, ws.id)
    question = asked.question._replace(profile=None, weights=None)
    if regressions.is_saved(path, question, expect):
        return False
    regressions.save(path, question, expect)
    return True


def _check(ws: Workspace) -> list[Checked]:
    from nanomem_tui.memory.recall import regressions

    saved = regressions.load(regressions.saved_file(ws.paths.data, ws.id))
    return regressions.check(saved, ws.recall.ask, ws.recall.why_not)
