"""The Review screen, behind Dream: what a dry run proposes, decided on line by line, and applied as one commit.

Owns the decisions until they are applied or dropped; until then nothing is written. The edits are those of the dry
run: no model is asked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import work

from nanomem_tui.actions import Context
from nanomem_tui.core.errors import BadInput, NanomemError, NothingToDo, Refused
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.dreams.edits import TITLES
from nanomem_tui.dreams.review import apply_standing, no_line, possible, reworded
from nanomem_tui.memory.filters import Kind
from nanomem_tui.screens.diff_dialog import DiffDialog, Shown
from nanomem_tui.screens.diff_screen import DiffScreen, ShownDiff
from nanomem_tui.screens.dream_hunks import (
    Decision,
    Proposed,
    accepted,
    applied_shown,
    decided,
    hunk_shown,
    looked_at,
    place,
    rejected,
    rows_of,
    run_blocks,
)
from nanomem_tui.screens.dreaming import Running, in_words, result_words
from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.bars import TitleBar
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.confirm import ConfirmScreen
from nanomem_tui.widgets.document import Body
from nanomem_tui.widgets.prompt import EditScreen
from nanomem_tui.widgets.toast import say

if TYPE_CHECKING:
    from nanomem_tui.app import NanomemApp
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.dreams.guards import Refusal
    from nanomem_tui.dreams.run import DreamResult
    from nanomem_tui.workspace import Workspace

INBOX = "inbox"  # where edits go that nobody decided on
SIGNS: Mapping[str, str] = {
    "accepted": "+",
    "reworded": "+",
    "rejected": "-",
    "refused": "!",
    "stale": "!",
    "open": "?",
}


class ReviewScreen(DiffScreen[Proposed]):
    """The edits that a dry run proposes."""

    SCREEN = "review"
    BEHIND = "dream"
    FLASHES = False  # what changes here is what the person decides
    EMPTY = (
        "Nothing is proposed. T tries a Dream: what it would change is shown here, to accept or reject line by line."
    )
    HELP = (
        "What a Dream would change, edit by edit, with the history entries that ask for it. + accepts, - rejects, "
        "again takes that back; e accepts with other words; r applies what is accepted, as one commit. Nothing is "
        "written before that, and esc leaves it so. What the guards refused has a ! before it and says why."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {"file": "text", "op": "text", "is": "text", "entry": "number"}

    def __init__(self) -> None:
        super().__init__()
        self._result: DreamResult | None = None
        self._rows: list[Proposed] = []
        self._before: list[list[Proposed]] = []  # the decisions before each step, for undo
        self._why_none: NanomemError | None = None
        self._why_empty = ""

    # The list

    def columns(self) -> Sequence[Column[Proposed]]:
        """What was decided, where, what, from which entries, and why the guards refused some."""
        refused: Column[Proposed] = Column("why", "Why refused", lambda row: row.refused, min_width=22, priority=4,
                                           tone="warn")  # fmt: skip
        return (
            Column("state", "Is", lambda row: row.state, width=8, tone="accent", sort=lambda row: row.state),
            Column("op", "Edit", lambda row: row.edit.op, width=7, priority=2, sort=lambda row: row.edit.op),
            Column("file", "File", lambda row: (row.edit.to_file or row.edit.file).rpartition("/")[2], width=9,
                   priority=3, tone="dim", sort=lambda row: row.edit.to_file or row.edit.file),
            Column("text", "Line", lambda row: row.text, min_width=24),
            Column("evidence", "From", _cursors, width=11, priority=1, tone="dim"),
            *([refused] if any(row.refused for row in self._rows) else []),
        )  # fmt: skip

    def row_id(self, row: Proposed) -> str:
        """Its number in the dry run."""
        return str(row.number)

    def load(self) -> Iterable[Sequence[Proposed]]:
        """The rows as they are decided; the error of a dry run that gave none."""
        if self._why_none is not None:
            raise self._why_none
        yield list(self._rows)

    def nothing(self) -> str:
        """What a dry run is at, that it gave nothing, or how to make one."""
        if self._dreaming is not None:
            return self._dreaming.words()
        if self._result is None:
            return self._why_empty or self.EMPTY
        read = counted(self._result.read, "entry", "entries")
        why = self._result.unchanged
        return f"No edit proposed from {read}: {why}. r lets the cursor pass them, esc leaves it where it is."

    def search_text(self, row: Proposed) -> str:
        """Words are searched in both lines and in the reasons."""
        return f"{row.edit.old}\n{row.edit.new}\n{row.edit.why}\n{row.refused}"

    def field(self, row: Proposed, name: str) -> Any:
        """The fields of the filter language."""
        if name == "entry":
            return max(row.edit.evidence, default=0)
        return {"file": place(row.edit), "op": row.edit.op, "is": row.state}[name]

    def sign(self, row: Proposed) -> str:
        """What was decided, or that the guards refused it."""
        return SIGNS[row.state]

    def dimmed(self, row: Proposed) -> bool:
        """What is rejected."""
        return row.decision == "reject"

    def workspace_context(self) -> Context:
        """A decision can be undone as well."""
        context = super().workspace_context()
        return replace(context, can_undo=context.can_undo or bool(self._before))

    def _say_totals(self) -> None:
        super()._say_totals()
        if self._rows:
            shown, total = len(self.table.rows), len(self._rows)
            part = f"{shown:,} shown · " if shown != total else ""
            self.query_one(TitleBar).set_right(f"{part}{decided(self._rows):,} of {total:,} decided")

    # The detail

    def detail(self, row: Proposed) -> ShownDiff:
        """The line in its surroundings, and the entries that ask for it."""
        assert self._result is not None
        entries = self.ws.history.of(row.edit.evidence) if row.edit.evidence else {}
        before = self._rows[: row.number]
        return ShownDiff(self.row_id(row), hunk_shown(row, before, _texts(self.ws), entries, self._result))

    def shown_for_none(self) -> Shown:
        """What was read."""
        return Shown(above=run_blocks(self._result) if self._result is not None and not self._rows else [])

    # A dry run

    async def begin(self) -> None:
        """Show what was proposed as it was left; try a Dream where nothing was, or another Dream was quicker."""
        result = self._result
        if self._dreaming is not None:
            return
        if result is None or await self.console.in_thread(lambda ws: _cursor(ws) != result.cursor_before):
            self._try()
        else:
            say(self, f"As you left it: {decided(self._rows)} of {len(self._rows)} decided; T tries a Dream anew")

    def do_dream_review(self) -> None:
        """Try a Dream anew, after a question when decisions would go."""
        self.none_runs()
        number = decided(self._rows)
        if not number:
            self._try()
            return

        async def again(_yes: bool) -> None:
            self._try()

        blocks = [Body(f"{counted(number, 'decision')} that were not applied would be gone.")]
        self.ask(ConfirmScreen("Try a Dream anew", blocks, "No file is changed by it.",
                               opened_by=self.key_of("dream_review")), again)  # fmt: skip

    @work(group="dream", exit_on_error=False)
    async def _try(self) -> None:
        """Beside the keys: a dry run, whose edits become the rows."""
        self._why_empty = ""
        self._take(None)
        try:
            result = await self.beside_the_keys(self._dry_run, Running("reading"))
        except (NothingToDo, Refused) as error:
            self._why_empty = in_words(error, error.fix)
            self._take(None)
        except NanomemError as error:
            self._take(None, error)
        else:
            self._take(result)
            edits = counted(len(self._rows), "edit") if self._rows else "No edit"
            say(self, f"{edits} proposed from {counted(result.read, 'entry', 'entries')}; nothing is changed yet")

    async def _dry_run(self, run: Running) -> DreamResult:
        return await self.console.in_thread(lambda ws: ws.dream.run(dry_run=True, watch=run.step))

    def say_progress(self, words: str) -> None:
        """In the list as well, where there is nothing else yet."""
        super().say_progress(words)
        if not self._rows:
            self.table.show_loading(words)

    def _take(self, result: DreamResult | None, why_none: NanomemError | None = None) -> None:
        """Show another dry run, or none."""
        self._result, self._why_none = result, why_none
        self._rows = rows_of(result) if result is not None else []
        self._before.clear()
        self.table.set_columns(self.columns())
        self.table.clear_selection()
        self.forget_detail()
        self.reload()

    # Deciding

    def do_accept(self) -> None:
        """Accept what is meant; all of it accepted already: open again. What cannot be a line stays as it is."""
        rows, errors = [], []
        for row in self.targets():
            try:
                possible(row.edit)
                rows.append(row)
            except BadInput as error:
                errors.append((row, error))
        if errors and not rows:
            raise errors[0][1]
        self._decide("accept", rows)
        if errors:
            row, why = errors[0]
            more = f" and {counted(len(errors) - 1, 'more edit')}" if len(errors) > 1 else ""
            say(self, f"Not accepted: {one_line(row.text, 60)} ({why.what}){more}", "warning")

    def do_reject(self) -> None:
        """Reject what is meant; all of it rejected already: open again."""
        self._decide("reject", self.targets())

    def _decide(self, decision: Decision, rows: Sequence[Proposed]) -> None:
        again = all(row.decision == decision for row in rows)
        self._change({row.number: row._replace(decision="" if again else decision) for row in rows})
        if len(rows) == 1 and not self.table.selected and not again:
            self.table.move_by(1)
        self.table.clear_selection()

    def do_edit(self) -> None:
        """Accept the one at the cursor with other words."""
        row = self.table.cursor_row
        if row is None:
            return
        if row.edit.op == "remove":
            raise Refused("a removal has no words", "", "accept or reject it")

        async def accept(text: str | None) -> None:
            if text is None:
                return
            edit = reworded(row.edit, text)
            possible(edit)
            self._change({row.number: row._replace(edit=edit, decision="accept", worded=True)})

        def wrong(text: str) -> str:
            return no_line(row.edit, text)

        title = f"Accept with other words: {place(row.edit)}"
        self.ask(EditScreen(title, row.edit.new or row.edit.old, wrong=wrong), accept)

    def _change(self, changed: Mapping[int, Proposed]) -> None:
        self._before.append(self._rows)
        self._show_rows([changed.get(row.number, row) for row in self._rows])

    def _show_rows(self, rows: list[Proposed]) -> None:
        self._rows = looked_at(rows, _texts(self.ws))
        self.listing.set_rows(list(self._rows))
        self._make_view()
        self.refresh_detail()

    async def do_undo(self) -> None:
        """Undo the last decision; without one, the last change that was made in this console."""
        if not self._before:
            await self.console.do_undo()
            return
        decided_on, before = self._rows, self._before.pop()
        self._show_rows(before)
        back = next(
            (
                old
                for old, new in zip(before, decided_on, strict=False)
                if (old.decision, old.edit) != (new.decision, new.edit)
            ),
            None,
        )
        if back is not None:
            self.show_row(self.row_id(back))
        say(self, f"{decided(self._rows)} of {len(self._rows)} decided")

    # Applying

    def do_dream_run(self) -> None:
        """Show what the accepted edits change, and make them after a yes."""
        self.none_runs()
        result = self._result
        if result is None:
            raise NothingToDo("nothing is proposed", "", "T tries a Dream")
        self._show_rows(self._rows)  # a line may have gone meanwhile
        rows = list(self._rows)
        number = len(rows) - decided(rows)
        fates = [("Apply; the open edits wait", INBOX), ("Apply; the open edits are let go", "")]
        choices = fates if number else fates[1:]

        def read(fate: str) -> Shown:
            return applied_shown(rows, _texts(self.ws), result, fate == INBOX)

        async def apply(fate: str | None) -> None:
            await self._apply(result, rows, fate == INBOX)

        self.ask(DiffDialog("Apply what is accepted", choices, read, "apply"), apply)

    async def _apply(self, proposed: DreamResult, rows: Sequence[Proposed], keep: bool) -> None:
        waiting = [row.waiting for row in rows if keep and not row.decision]
        results: list[DreamResult] = []
        late: list[Refusal] = []

        def make(ws: Workspace) -> list[Operation]:
            gone = rejected(rows, proposed, keep)
            result, stale = apply_standing(ws.dream.runner, ws.documents.read, proposed, accepted(rows), waiting, gone)
            results.append(result)
            late.extend(stale)
            return [operation for result in results if (operation := result.operation)]

        await self.change(make)
        self._take(None)
        self.console.go("dream")
        shown = self.console.get_screen("dream")
        if isinstance(shown, WorkspaceScreen) and results[0].sha:
            if shown.is_mounted:
                shown.reload()
            shown.show_row(results[0].sha)
        said = result_words(results[0], len(results[0].refused))
        if late:
            said = f"{counted(len(late), 'accepted edit')} to the inbox: {late[0].why}. {said}"
        say(self.console.main_screen, said, "warning" if late else "information")

    def operations_done(self, operations: Sequence[Operation]) -> None:
        """What is proposed stays as it is; its surroundings may be others."""
        self.refresh_detail()

    def leave(self) -> bool:
        """To the Dreams, and nothing is changed."""
        left = super().leave()
        if decided(self._rows):
            say(self.console.main_screen, "Nothing was changed; T goes back to what you decided")
        return left


def show_review(console: NanomemApp) -> None:
    """Show what a dry run proposes; one is made when none was."""
    console.go("review")
    screen = cast("ReviewScreen", console.get_screen("review"))
    screen.call_later(screen.begin)


def _cursors(row: Proposed) -> str:
    return " ".join(f"#{cursor}" for cursor in row.edit.evidence)


def _cursor(ws: Workspace) -> int:
    return int(ws.dream.status()["cursor"])


def _texts(ws: Workspace) -> dict[str, str]:
    return {name: ws.documents.read(name) or "" for name in TITLES}
