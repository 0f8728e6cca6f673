"""The Recall screen: what a message recalls, for a chat or a person, why each item, why not another, and the block.

The engine ranks in threads: no key waits for it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input

from nanomem_tui.actions import Context
from nanomem_tui.core.text import cell_width, counted, one_line
from nanomem_tui.language.tokens import query_words, tokens
from nanomem_tui.memory.recall.meaning import is_wanted
from nanomem_tui.memory.recall.recall import REPLY_WEIGHT
from nanomem_tui.memory.recall.scoring import PROFILES
from nanomem_tui.memory.turns import prompt
from nanomem_tui.screens.base.console import show_turns_of
from nanomem_tui.screens.base.editable_rows import format_time
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.screens.recall.answer import (
    Answer,
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
    share,
)
from nanomem_tui.widgets.bars import LineBar, LineInput, say
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.plots import meter
from nanomem_tui.widgets.text_view import Block, Body, Document, Field, Heading, Span, Spans
from nanomem_tui.widgets.theme import UNICODE, Glyphs, glyphs

if TYPE_CHECKING:
    from nanomem_tui.memory.recall.regressions import Checked
    from nanomem_tui.memory.scopes import Audience
    from nanomem_tui.memory.turns.request import Begun
    from nanomem_tui.memory.turns.traces import Injected
    from nanomem_tui.screens.recall.answer import Asker
    from nanomem_tui.store.values import Item
    from nanomem_tui.workspace import Workspace


# The lines above the Recall screen: the message and what it replies to, told at each key; who asks, by which profile
# and weights.

FRAME = 6  # cells around who asks


class AskedBar(LineBar):
    """Who asks, the profile, and each weight; the one that the keys turn stands out."""

    def __init__(self) -> None:
        super().__init__(id="asked")
        self._asked, self._weight = Asked(), ""

    def show(self, asked: Asked, weight: str) -> None:
        """Show `asked`; `weight` is the one that is turned."""
        self._asked, self._weight = asked, weight
        self.fit()

    def fit(self) -> None:
        """Who asks, and the weights in as many words as there is room for."""
        who = audience_words(self._asked.audience)
        weights: list[Span] = []
        used = 0
        for was, letters in ((True, 0), (False, 0), (False, 3)):
            weights = weight_parts(self._asked, self._weight, was=was, letters=letters)
            used = sum(cell_width(text) for text, _ in weights) + FRAME
            if used + cell_width(one_line(who)) <= self.size.width:
                break
        who = one_line(who, max(self.size.width - used, 8))
        self.set_parts([(" as ", "dim"), (who, "key"), ("  ", ""), *weights])


class AskLine(Horizontal):
    """A name and a field of one line."""

    DEFAULT_CSS = """
    AskLine { height: 1; }
    AskLine > LineBar { width: 10; }
    """

    def __init__(self, name: str, hint: str, *, id: str) -> None:
        super().__init__(id=id)
        self._said = name
        self._hint = hint

    def compose(self) -> ComposeResult:
        """The two of them."""
        name = LineBar()
        name.set_parts([(f" {self._said} ", "key")])
        yield name
        yield LineInput(placeholder=self._hint, id=f"ask-{self.id}")

    @property
    def field(self) -> LineInput:
        """Where it is typed."""
        return self.query_one(LineInput)


class AskBar(Vertical):
    """The message, what it replies to, and who asks. Enter, tab and the down key go to the answer; esc clears the field
    first. The line of the reply is there while it is typed, or holds something.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "clear", "clear", show=False),
        Binding("down,tab", "keep", "to the list", show=False),
    ]
    DEFAULT_CSS = """
    AskBar { height: auto; background: $panel; }
    AskBar #reply { display: none; }
    AskBar.-reply #reply { display: block; }
    """

    class MessageChanged(Message):
        """The message is now `text`, and replies to `reply_to`; several in a row become one."""

        def __init__(self, text: str, reply_to: str) -> None:
            super().__init__()
            self.text = text
            self.reply_to = reply_to

        def can_replace(self, message: Message) -> bool:
            """Only what was typed last matters."""
            return isinstance(message, AskBar.MessageChanged)

    class Left(Message):
        """The person went back to the list."""

    def compose(self) -> ComposeResult:
        """The fields, and the line below them."""
        yield AskLine("Message", "/ and the words of a message, as the agent would get it", id="message")
        yield AskLine("Reply to", "the words of the message that it replies to", id="reply")
        yield AskedBar()

    def _line(self, name: str) -> AskLine:
        return self.query_one(f"#{name}", AskLine)

    def show(self, asked: Asked, weight: str) -> None:
        """Show who asks and how it is ranked."""
        self.query_one(AskedBar).show(asked, weight)

    def open(self, name: str = "message") -> None:
        """Let the person type: the `message`, or what it is a `reply` to. What stands there is selected: other words
        take its place, and a key that moves the cursor keeps it."""
        if name == "reply":
            self.add_class("-reply")
        field = self._line(name).field
        field.focus()
        field.select_all()

    def set_text(self, text: str, reply_to: str = "") -> None:
        """Another message, as if it had been typed."""
        self._line("message").field.value = one_line(text)
        self._line("reply").field.value = one_line(reply_to)
        self._fit()

    def _fit(self) -> None:
        self.set_class(bool(self._line("reply").field.value), "-reply")

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.MessageChanged(self._line("message").field.value, self._line("reply").field.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_keep()

    def action_keep(self) -> None:
        """To the answer."""
        self._fit()
        self.post_message(self.Left())

    def action_clear(self) -> None:
        """Nothing in this field any more."""
        for line in self.query(AskLine):
            if line.field.has_focus:
                line.field.value = ""
        self.action_keep()


def weight_parts(asked: Asked, weight: str, *, was: bool = True, letters: int = 0) -> list[Span]:
    """The profile and its weights: the chosen one in brackets, a changed one with a star and what it `was`.

    `letters`: how many of each name; 0 for all.
    """
    parts: list[Span] = [(f"by {asked.profile}", "key"), (" ", "")]
    for name, value in asked.weights.items():
        changed = name in asked.changed
        before = f" was {asked.usual[name]:.3f}" if was and changed else ""
        text = f"{name[: letters or None]} {value:.3f}{'*' if changed else ''}{before}"
        tone = "warn" if changed else "key" if name == weight else "dim"
        parts.append((f"[{text}]" if name == weight else f" {text} ", tone))
    return parts


MOST = 10.0  # of a weight


Row = TypeVar("Row")


class AskScreen(WorkspaceScreen[Row], Generic[Row]):
    """A list that answers what is typed in the `BAR` above it, for whoever is chosen to ask."""

    BAR: ClassVar[type[AskBar]] = AskBar
    FLASHES = False  # another question brings other rows: nothing went away

    def __init__(self) -> None:
        super().__init__()
        self._one_at_a_time = threading.Lock()

    def compose(self) -> ComposeResult:
        """The bar stands above the panes."""
        parts = iter(super().compose())
        yield next(parts)
        yield self.BAR()
        yield from parts

    def ask_about(self, **changes: Any) -> None:
        """Ask something else: fields of `Asked`. The list follows without waiting."""
        raise NotImplementedError

    def field(self, row: Row, name: str) -> Any:
        """There is no filter here: the question is typed in its place."""
        return None

    def say_given(self, asked: str, given: int, cut: str) -> None:
        """Say how many rows are given and how many are `cut`, where something is asked."""
        selected = len(self.table.selected)
        parts = [f"{given} given", cut] if asked.strip() else []
        self.say_counts(" · ".join([*parts, *([f"{selected} selected"] if selected else [])]))
        self.refresh_context()

    @on(AskBar.Left)
    def _bar_left(self) -> None:
        self.show_pane("list")

    def filter_by(self, query: str) -> None:
        """Ask `query`."""
        self.query_one(self.BAR).set_text(query)

    def do_filter(self) -> None:
        """Type the question."""
        self._type_in("message")

    def _type_in(self, name: str) -> None:
        if self._pane == "detail":
            self.show_pane("list")
        self.query_one(self.BAR).open(name)

    def do_asker(self) -> None:
        """Choose who asks."""
        from nanomem_tui.screens.recall.answer import asker_screen

        async def chosen(asker: Asker | None) -> None:
            if asker is not None:
                self.ask_about(audience=asker.audience)
                say(self, f"Asked by {audience_words(asker.audience)}")

        self.ask(asker_screen(lambda: self.ws, audience_named), chosen)


class RecallScreen(AskScreen[RecallRow]):
    """Ask as the agent asks."""

    SCREEN = "recall"
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

    # The frame

    def compose(self) -> ComposeResult:
        """It begins with the profile of the settings."""
        settings = self.console.opening.loaded.settings
        profile = settings.recall_profile if settings.recall_profile in PROFILES else "default"
        self._asked = self._asked._replace(profile=profile, by_meaning=is_wanted(settings))
        self._weight = next(iter(self._asked.usual))
        yield from super().compose()

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
        turns = self.ws.traces.injections.of_item(row.item.id) if row.item is not None else []
        return document(row, turns, glyphs(self))

    def copy_text(self) -> str:
        """The text of the item, or the block."""
        row = self.table.cursor_row
        return "" if row is None else self.search_text(row) if row.item else self.detail(row).plain()

    def _say_totals(self) -> None:
        rows = self.table.rows
        given, cut = (sum(row.where == where for row in rows) for where in ("given", "cut"))
        self.say_given(self._asked.text, given, f"{cut} cut")

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

    def do_reply_to(self) -> None:
        """Type what the message replies to."""
        self._type_in("reply")

    def do_back(self) -> None:
        """To the list; then without selection, without the item asked about, without the message."""
        if self._pane == "detail" or self._zoomed or self.table.selected:
            super().do_back()
        elif self._asked.chosen:
            self.ask_about(chosen="")
        else:
            self.query_one(AskBar).set_text("")

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
        from nanomem_tui.screens.recall.answer import item_screen

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

    def do_injected(self) -> None:
        """The real turns that were given the item."""
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
        from nanomem_tui.screens.recall.answer import CheckedScreen

        say(self, "Asking the saved questions …")
        done: list[Checked] = await self.console.in_thread(_check)
        say(self, f"{counted(len(done), 'saved question')} asked")
        self.app.push_screen(CheckedScreen(done))


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


# What the Recall screen tells of one row: the score in its parts, the matched words, why not, and the model's block.

MARKED = 4_000  # characters of an item in which matched words stand out
METER = 8  # cells of the bar of a part
BY_MEANING = "score = (lexical + vector) × (1 + importance + recency + hits)"
TIMED = "score = (lexical + time) × (1 + importance + recency + hits)"
TIMED_BY_MEANING = "score = (lexical + vector + time) × (1 + importance + recency + hits)"
HOW = {
    "default": "score = lexical × (1 + importance + recency + hits)",
    "seed000": "score = overlap + coverage + recency + hits",
    "seed001": "score = fts + importance + recency",
}

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_LATIN = re.compile(r"[\x00-\u024f]+")


def document(row: RecallRow, turns: Sequence[Injected], signs: Glyphs = UNICODE) -> Document:
    """All there is to tell of a row; `turns` are the real ones that were given its item, newest first."""
    blocks: list[Block] = [Body(row.why)] if row.item is None else list(_recall_detail_item(row, turns, signs))
    if row.item is None and row.answer.foreign:
        rows = counted(row.answer.foreign, "row")
        blocks.append(Body(f"{rows} of another system must be imported before recall gives them (: import).", "warn"))
    if row.answer.begun is not None:
        blocks += _answer_blocks(row.answer, row.answer.begun)
    return Document(tuple(blocks), copy=row.item.text if row.item is not None else _block(row.answer))


def _recall_detail_item(row: RecallRow, turns: Sequence[Injected], signs: Glyphs) -> Iterator[Block]:
    item, hit = row.item, row.hit
    assert item is not None
    terms = hit.parts.get("terms", ()) if hit is not None else ()
    spans = marked(item.text[:MARKED], terms)
    yield Spans(tuple(spans))
    if len(item.text) > MARKED:
        yield Body(f"… {len(item.text) - MARKED:,} more characters", "dim")
    if row.where == "given":
        yield Body(f"Given: number {row.rank} of {len(row.answer.begun.hits) if row.answer.begun else 0}.", "good")
    elif row.where == "cut":
        yield Body(f"Found, and cut: {row.why}.", "warn")
    else:
        yield Body(f"Not recalled: {row.why}.", "bad")
    if hit is not None:
        yield Heading(f"Score {hit.score:.4f} by profile {row.answer.asked.profile}")
        yield from _parts(row, signs)
        seen = dict.fromkeys(text.casefold() for text, tone in spans if tone) or terms
        yield Field("matched", ", ".join(map(str, seen)) or "no word")
        if alike := hit.parts.get("alike"):
            yield Field("which stand for", ", ".join(f"{asked} ({held})" for held, asked in alike.items()))
        if "replaced" in hit.parts:
            yield Field("matched in", f"{hit.parts['replaced']}, in whose place it stands")
        yield Field("layer", hit.layer)
    else:
        yield Heading("The item")
    scope = item.scope_type if item.scope_type == "global" else f"{item.scope_type} {item.scope_key}"
    fields = (
        ("kind", item.kind),
        ("scope", scope),
        ("updated", format_time(item.updated_at)),
        ("hits", f"{item.hits:,}"),
    )
    yield from (Field(name, value) for name, value in fields)
    yield injected_field(turns)
    yield Field("id", item.id)


def _parts(row: RecallRow, signs: Glyphs) -> Iterator[Block]:
    """Each part: its number, its bar, its weight."""
    asked, hit = row.answer.asked, row.hit
    assert hit is not None
    weights, before = asked.weights, asked.usual
    lines = []
    for name in row.answer.parts:
        value = float(hit.parts.get(name, 0.0))
        weight = f"weight {weights[name]:.3f}" if name in weights else ""
        if name in asked.changed:
            weight += f" (profile {before[name]:.3f})"
        bar = meter(share(value, row.answer.most[name]), METER, signs)
        lines.append(f"{name:<11}{value:>8.4f} {bar} {weight}".rstrip())
    yield Body("\n".join(lines), keep=True)
    how = BY_MEANING if "vector" in hit.parts else HOW[asked.profile]
    if "time" in row.answer.parts:
        how = TIMED_BY_MEANING if "vector" in hit.parts else TIMED
    yield Body(how if signs.eighths else how.replace("×", "x"), "dim")
    if "distance" in hit.parts:
        yield Field("distance", f"{hit.parts['distance']:.3f} in meaning, 0 is the same")
    if "bearing" in hit.parts:
        yield Field("bearing", f"chance {hit.parts['bearing']:.2f} that it has to do with the message")


def injected_field(turns: Sequence[Injected]) -> Field:
    """How often something was put before the model, and when last."""
    if not turns:
        return Field("real turns", "given to none that the log knows")
    return Field("real turns", f"in {counted(len(turns), 'turn')}, last {format_time(turns[0].at)} (I shows them)")


def _answer_blocks(answer: Answer, begun: Begun) -> Iterator[Block]:
    """What does not depend on the row: spelling, lessons, the block."""
    found = begun.found
    if begun.problem:
        yield Body(f"Nothing is given: {begun.problem}.", "warn")
        return
    if found is not None:
        yield Heading("The question")
        yield Field("words", ", ".join(query_words(answer.asked.text).values()) or "none that say anything")
        replied = query_words(answer.asked.reply_to).values()
        if replied:
            yield Field("replies to", f"{', '.join(replied)}: each counts {REPLY_WEIGHT:g} of a word of the message")
        if found.time is not None:
            yield Field("time", found.time.line())
        for written, meant in found.corrected.items():
            yield Field("spelling", f"{written} is read as {meant}", "warn")
        yield Field("found by", f"{found.backend} in {found.ms:,.1f} ms" if answer.asked.text else "")
        if found.note:
            yield Field("meaning", f"has no part in it: {found.note}", "warn")
    if begun.related:
        yield Heading(f"Related facts ({len(begun.related)})")
        lines = (f"{prompt.item_line(hit.item)[2:]} (distance {hit.parts['distance']:.2f})" for hit in begun.related)
        yield from (Spans(((line, ""),), 2) for line in lines)
    if begun.older:
        yield Heading(f"Earlier in this conversation ({len(begun.older)})")
        lines = (line for excerpt in begun.older for line in excerpt.line.split("\n"))
        yield from (Spans(((line.removeprefix("- "), ""),), 2) for line in lines)
    yield Heading(f"Lessons chosen ({len(begun.lessons)})")
    yield from (Spans(((prompt.lesson_line(lesson), ""),), 2) for lesson in begun.lessons)
    if not begun.lessons:
        yield Body("None fits the message.", "dim")
    yield Heading(f"The block that the model gets ({len(begun.block):,} characters)")
    yield Body(begun.block) if begun.block else Body("None: there is nothing to tell it.", "dim")


def _block(answer: Answer) -> str:
    return answer.begun.block if answer.begun is not None else ""


# Words that matched


def marked(text: str, terms: Iterable[str]) -> list[Span]:
    """`text` in spans; the words and characters that `terms` stand for stand out."""
    wanted = frozenset(map(str, terms))
    spans: list[Span] = []
    at = 0
    for start, end in _joined(sorted(_places(text, wanted))) if wanted else ():
        spans += [(text[at:start], ""), (text[start:end], "added-word")]
        at = end
    return [span for span in (*spans, (text[at:], "")) if span[0]]


def _places(text: str, wanted: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Words by their token; scripts without spaces by the characters of the term."""
    for match in _WORD.finditer(text):
        word = match.group()
        found = tokens(word)
        if word.casefold() in wanted or (len(found) == 1 and found[0] in wanted):
            yield match.span()
        elif len(found) > 1:  # Latin letters beside a script without spaces
            for part in _LATIN.finditer(word):
                if wanted.intersection(tokens(part.group())):
                    yield match.start() + part.start(), match.start() + part.end()
    lowered = text.casefold()
    if len(lowered) != len(text):
        return
    for term in wanted:
        if not term.isascii() and (len(term) == 1 or len(tokens(term)) > 1):
            yield from (found.span() for found in re.finditer(re.escape(term), lowered))


def _joined(places: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Places in order, those that touch made one."""
    found: list[tuple[int, int]] = []
    for start, end in places:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found
