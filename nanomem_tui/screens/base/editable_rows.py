"""Change rows on Items, Lessons, Facts and records: preview large changes, and update the changed rows in place.

A subclass names its part of the workspace and how a row reads in one line.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from textual import on

from nanomem_tui.core import clock, files
from nanomem_tui.core.errors import Conflict, NanomemError, NotFound, NothingToDo, Refused
from nanomem_tui.core.operations import Change, Operation
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.screens.base.console import show_turns_of
from nanomem_tui.screens.base.list_screen import ListDetailScreen
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.text_view import Block, Body, Heading, Spans

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace


# -- What is said where a row was deleted while somebody edited it. Changes nothing -----------------------------------

LOOKED_AT = 5
"""Operations that touched the row, the newest first, among which the one that deleted it is."""


def deleted_meanwhile(ws: Workspace, noun: str, key: str) -> NotFound:
    """That it was deleted, and what brings it back where that is known."""
    entries = [entry for entry in ws.log(LOOKED_AT, key=key) if not entry.undone]
    by = next((one.operation.id for one in entries if any(map(_deletes, one.operation.changes_of(key)))), "")
    return NotFound(f"this {noun} was deleted meanwhile", key, f"`nanomem undo {by}` brings it back" if by else "")


def _deletes(change: Change) -> bool:
    return change.after is None or bool(change.after.get("is_deleted"))


Row = TypeVar("Row", bound=Any)

MANY = 20  # rows that are changed together without asking
SAID = 46  # cells of what was done, so that the way back is to be seen beside it
PATCHED = 2_000  # changed rows that are put into the list in place; more are read again, in a thread
PLACED = 2_000_000  # steps that new rows may take to find their places in the list
LISTED = 200  # rows that a preview names one by one
LOGGED = 30  # operations that a detail tells of
WHO = 28  # cells of who did one
FACT_NAMES = ("domain", "category", "sub_category")


class EditableRowsScreen(WorkspaceScreen[Row], Generic[Row]):
    """A screen of rows that can be edited, switched off, deleted and compacted, each as one operation."""

    LAYER = ""
    NOUN = ""

    def service(self) -> Any:
        """Return what changes these rows: `ws.items` (memory/items.py), `ws.lessons` (memory/lessons.py) …"""
        raise NotImplementedError

    def headline(self, row: Row) -> str:
        """A row in one line."""
        raise NotImplementedError

    def edit_form(self, row: Row) -> str:
        """The text that a person edits."""
        raise NotImplementedError

    def save_form(self, row: Row, text: str) -> Operation:
        """Save the edited text; in a thread."""
        raise NotImplementedError

    def again(self, row: Row, now: Row, text: str) -> str:
        """What is offered again: the edit of `row` that could not be saved, because the row is `now` another one."""
        return text

    def foreign(self, row: Row) -> bool:
        """Whether the row belongs to another system and can only be read."""
        return False

    def row_id(self, row: Row) -> str:
        """The id of the row."""
        return str(row.id)

    def row_read_only(self, row: Row) -> str:
        """Whose row it is, and how to have it."""
        if not self.foreign(row):
            return ""
        whose = row.source.removeprefix("foreign:")
        return f"read-only: a row of {whose}, which its agent owns; : import takes it over"

    def own_targets(self) -> list[Row]:
        """The rows an action means that are ours to change. Raises Refused when none of them is."""
        rows = self.targets()
        own = [row for row in rows if not self.foreign(row)]
        if rows and not own:
            raise Refused(self.row_read_only(rows[0]))
        if len(own) < len(rows):
            left = len(rows) - len(own)
            are = "is left as it is" if left == 1 else "are left as they are"
            say(self, f"{counted(left, 'row')} of another system {are}", "warning")
        return own

    # Reading

    @on(ListDetailScreen.LoadFailed)
    def _cannot_be_changed(self, event: ListDetailScreen.LoadFailed) -> None:
        """What cannot be read is not written to: say why before a person types something for it."""
        self.console.state = self.console.state._replace(read_only=str(getattr(event.error, "what", event.error)))
        self.refresh_context()

    @on(ListDetailScreen.RowsLoaded)
    def _can_be_changed(self) -> None:
        if self.console.state.read_only:
            self.console.state = self.console.state._replace(read_only="")

    # Changes

    async def done(self, operations: Sequence[Operation]) -> None:
        """Say what was done and how to take it back."""
        for operation in operations:
            say(self, f"{one_line(operation.label, SAID)} (u undoes it)")

    async def do_toggle(self) -> None:
        """Disable or enable: all of the rows become what the first one is not."""
        rows = self.own_targets()
        enabled = not rows[0].enabled
        touched = [row for row in rows if bool(row.enabled) is not enabled]
        verb = "Enable" if enabled else "Disable"
        await self.change_rows("toggle", verb, touched, lambda ids: self.service().set_enabled(ids, enabled))

    async def change_rows(
        self, action: str, verb: str, rows: Sequence[Row], work: Callable[[list[str]], Operation], most: int = MANY
    ) -> None:
        """Do `work` with the ids of `rows`: at once, but after a look at them when they are more than `most`."""
        ids = [row.id for row in rows]

        async def do(_yes: bool = True) -> None:
            await self.done(await self.change(lambda ws: work(ids)))
            if most == 1:
                self.table.clear_selection()

        if len(rows) > most:
            self.confirm(
                f"{verb} {counted(len(rows), self.NOUN)}", self.listed(rows), do, opened_by=self.key_of(action)
            )
        else:
            await do()

    async def do_delete(self) -> None:
        """Delete one row at once, several after a look at them."""
        await self.change_rows("delete", "Delete", self.own_targets(), lambda ids: self.service().delete(ids), most=1)

    def do_edit(self) -> None:
        """Edit the row at the cursor here."""
        self._edit(self._row_to_edit())

    def _edit(self, row: Row, typed: str | None = None, why: str = "") -> None:
        self.ask_text(f"Edit {row.id}", self.edit_form(row), lambda text: self.save(row, text), typed, why)

    def ask_text(
        self,
        title: str,
        before: str,
        then: Callable[[str], Awaitable[None]],
        typed: str | None = None,
        why: str = "",
    ) -> None:
        """Let a person edit `before` and do `then` with it; what can't be saved is offered again, as it was typed."""
        from nanomem_tui.widgets.dialogs import EditScreen

        async def answered(text: str | None) -> None:
            if not text:
                return
            try:
                await then(text)
            except NanomemError as error:
                self.ask_text(title, before, then, text, error.line())

        self.ask(EditScreen(title, before, typed=typed, why=why), answered)

    async def do_edit_external(self) -> None:
        """Edit the row at the cursor in the person's own editor."""
        row = self._row_to_edit()
        before = self.edit_form(row)
        after = self.edit_outside(before)
        if after == before:
            say(self, "Nothing was changed")
        else:
            await self.save(row, after)

    async def save(self, row: Row, text: str) -> None:
        """Save an edited row. When somebody changed it meanwhile both texts are told, and what was typed is offered
        again: saved once more it replaces theirs."""
        try:
            await self.done(await self.change(lambda ws: self.save_form(row, text)))
        except NothingToDo:
            say(self, "Nothing was changed")
        except Conflict as error:
            now = self._now(row.id)
            if now is None:
                raise
            self._edit(now, self.again(row, now, text), error.line())
        except NotFound:
            if self._now(row.id) is not None:
                raise
            gone = await self.console.in_thread(lambda ws: deleted_meanwhile(ws, self.NOUN, row.id))
            self.offer_gone(row, text, gone)

    def offer_gone(self, row: Row, text: str, gone: NotFound) -> None:
        """Offer again what was typed for a row that was deleted meanwhile: it can be saved once that is back."""
        self._edit(row, text, gone.line())

    def _row_to_edit(self) -> Row:
        row = self.table.cursor_row
        if row is None:
            raise NotFound("there is no row here")
        if self.foreign(row):
            raise Refused(self.row_read_only(row))
        return row

    def cap(self) -> int:
        """How many rows the settings keep at most."""
        raise NotImplementedError

    def do_compact(self) -> None:
        """Ask how many rows stay at most, show what would go, then do it."""
        from nanomem_tui.widgets.dialogs import AskScreen, typed_number

        async def preview(answer: str | None) -> None:
            await self._preview_compaction(typed_number(answer) or 0)

        def wrong(answer: str) -> str:
            wanted = "Type a whole number, as in 300; 0 removes duplicates only"
            return wanted if typed_number(answer) is None else ""

        title = f"Keep at most how many of {counted(len(self.listing.rows), self.NOUN)}"
        self.ask(AskScreen(title, str(self.cap()), wrong=wrong), preview)

    async def _preview_compaction(self, limit: int) -> None:
        plan = await self.console.in_thread(lambda ws: self.service().compact_preview(limit))
        title = f"Compact: {len(plan.removed):,} of {len(plan.removed) + len(plan.kept):,} {self.NOUN}s would go"
        if not plan.removed:
            beyond = f", and not more than {counted(plan.limit, self.NOUN)}" if plan.limit else ""
            say(self, f"Nothing to compact: no duplicates{beyond}")
            return
        blocks: list[Block] = [Body("Duplicates and what is beyond the limit; pinned and disabled rows stay.", "dim")]
        for row, reason in plan.removed[:LISTED]:
            blocks.append(Spans((("- ", "bad"), (one_line(self.headline(row), 200), ""), (f"  {reason}", "dim")), 2))
        blocks += _more(len(plan.removed))

        async def compact(_yes: bool) -> None:
            await self.done(await self.change(lambda ws: self.service().compact(limit)))

        self.confirm(title, blocks, compact, opened_by=self.key_of("compact"))

    def listed(self, rows: Sequence[Row]) -> list[Block]:
        """Rows in a preview, one line each."""
        blocks: list[Block] = [
            Spans((("- ", "bad"), (one_line(self.headline(row), 200), "")), 2) for row in rows[:LISTED]
        ]
        return blocks + _more(len(rows))

    def do_injected(self) -> None:
        """The real turns that were given the row at the cursor, or that saved it."""
        row = self.table.cursor_row
        if row is not None:
            show_turns_of(self.console, self.NOUN, row.id)

    # What changed

    def operations_done(self, operations: Sequence[Operation]) -> None:
        """Put what changed into the rows that are shown, in place: the next key finds the list as it is now."""
        keys = [change.key for one in operations for change in one.changes if change.layer == self.LAYER]
        if not keys or self._loading or len(keys) > PATCHED:
            self.reload()
            return
        now: dict[str, Row | None] = {key: self._now(key) for key in keys}
        rows, missing = _patched(self.listing.rows, now)
        if len(missing) * len(rows) > PLACED:
            self.reload()
            return
        for row in missing:
            rows.insert(self._place_of(row, rows), row)
        self.listing.set_rows(rows)
        self._step_off(now)
        self._show_changed(rows, now, missing)
        self.table.keep_selected(lambda row_id: now.get(row_id, True) is not None)
        self._say_totals()
        self.refresh_detail()

    def _show_changed(self, rows: list[Row], now: dict[str, Row | None], missing: list[Row]) -> None:
        """Show `rows`, some of which are `now` other ones or gone; `missing` came (back)."""
        if missing:
            self._changed = frozenset(row.id for row in missing)
            self._make_view()
            if len(missing) == 1:
                self.show_row(missing[0].id)
        else:
            shown = (
                rows if not self.listing.filter and not self.listing.sorted_by else _patched(self.table.rows, now)[0]
            )
            alive = [key for key, row in now.items() if row is not None]
            self.table.set_rows(shown, alive, self.why_none())

    def _now(self, key: str) -> Row | None:
        """The row as it is now; None when it is gone, or waits in the inbox."""
        try:
            row = self.service().get(key)
        except NanomemError:
            return None
        return None if row.waits else row

    def _step_off(self, now: dict[str, Row | None]) -> None:
        """Move the cursor off a row that goes, to the next one that stays."""
        table, at = self.table, self.table.cursor
        stays = [
            index for index in range(at, len(table.rows)) if now.get(self.row_id(table.rows[index]), True) is not None
        ]
        before = [index for index in range(at) if now.get(self.row_id(table.rows[index]), True) is not None]
        if stays or before:
            table.move_cursor(stays[0] if stays else before[-1])

    def _place_of(self, row: Row, rows: Sequence[Row]) -> int:
        """Where a row that came (back) belongs: newest first."""
        for index, other in enumerate(rows):
            if self.foreign(other) or (other.updated_at, other.id) < (row.updated_at, row.id):
                return index
        return len(rows)

    # What a row has been through

    def history_blocks(self, row: Row) -> list[Block]:
        """The operations that touched a row, newest first; why they cannot be told, where a server is away."""
        if self.foreign(row):
            return []
        try:
            entries = self.service().history(row.id)
        except NanomemError as error:
            return [Heading("History"), Body(f"It cannot be read now: {error.line()}", "warn")]
        if not entries:
            return [Heading("History"), Body("No change by nanomem yet.", "dim")]
        blocks: list[Block] = [Heading(f"History ({len(entries)})")]
        for entry in entries[:LOGGED]:
            operation = entry.operation
            at = clock.parse(operation.at)
            when = f"{at.astimezone():%Y-%m-%d %H:%M}" if at else operation.at
            undone = [(" taken back", "warn")] if entry.undone else []
            who = (f"{one_line(operation.who, WHO)} ", "accent")
            blocks.append(Spans(((f"{when} ", "dim"), who, (operation.label, ""), *undone), 2))
            for change in operation.changes_of(row.id):
                blocks += _before_and_after(change)
        return blocks


def _before_and_after(change: Change) -> list[Block]:
    """The fields of a row before and after one change."""
    if change.before is None or change.after is None:
        return []
    blocks: list[Block] = []
    before, after = {**change.before, **_names(change.before)}, {**change.after, **_names(change.after)}
    for name, value in after.items():
        if name not in {"updated_at", "meta_json", "key"} and before.get(name) != value:
            label, *both = format_change(name, before.get(name), value)
            old, new = (one_line(one, 160) for one in both)
            blocks.append(Spans((("    ", ""), (label, "dim"), (old, "removed"), (" → ", "dim"), (new, "added")), 6))
    return blocks


def _names(patch: Mapping[str, object]) -> dict[str, object]:
    """The names of a fact that are among the free fields of a recorded row; its key and value stand in the text."""
    try:
        fact = files.loads(str(patch.get("meta_json") or "{}")).get("fact")
    except (ValueError, AttributeError):
        return {}
    return {name: fact.get(name) for name in FACT_NAMES} if isinstance(fact, dict) else {}


def format_change(name: str, old: object, new: object) -> tuple[str, str, str]:
    """What a recorded field is called, and its value before and after, in words: a row goes, or comes back."""
    if name == "is_deleted" and bool(old) is not bool(new):
        return ("", "there", "deleted") if new else ("", "deleted", "back")
    return f"{name}: ", format_value(name, old), format_value(name, new)


def format_value(name: str, value: object) -> str:
    """The value of a recorded field in words: switches are yes or no, nothing is a dash."""
    if value in (None, "", "{}"):
        return "-"
    if name in {"enabled", "pinned", "is_deleted"}:
        return "yes" if value else "no"
    return str(value)


def _patched(rows: Sequence[Row], now: dict[str, Row | None]) -> tuple[list[Row], list[Row]]:
    """The rows with what changed put in place, and the changed rows that were not among them."""
    left = dict(now)
    patched: list[Row] = []
    for row in rows:
        if row.id in left:
            new = left.pop(row.id)
            if new is not None:
                patched.append(new)
        else:
            patched.append(row)
    return patched, [row for row in left.values() if row is not None]


def _more(count: int) -> list[Block]:
    return [Body(f"… and {count - LISTED:,} more", "dim")] if count > LISTED else []


def format_age(text: str | None) -> str:
    """How long ago an ISO time was."""
    return clock.age_text(clock.parse(text))


def format_time(text: str | None) -> str:
    """An ISO time as local time with its age, or how far off it is; "-" when there is none."""
    moment, now = clock.parse(text), clock.now()
    if moment is None:
        return text or "-"
    far = f"in {clock.age_text(now - (moment - now))}" if moment > now else f"{clock.age_text(moment)} ago"
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S} ({far})"
