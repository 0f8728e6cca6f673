"""The Review screen, behind Dream: decide on each line that a dry run proposes, then apply them as one commit.

Nothing is written before that. The edits are those of the dry run: no model is asked again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from textual import work

from nanomem_tui.actions import Context
from nanomem_tui.core.errors import BadInput, NanomemError, NothingToDo, Refused
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.dreams.edits import TITLES, LineEdit, apply_edits, details, meaningful_words, plain_line, rebase
from nanomem_tui.dreams.guards import Refusal
from nanomem_tui.dreams.review import WAITS, check_possible, reason_no_line, reword
from nanomem_tui.dreams.run import apply_applicable, find_applicable
from nanomem_tui.language import secrets
from nanomem_tui.language.tokens import fold
from nanomem_tui.memory.filters import Kind
from nanomem_tui.screens.base.console import Running
from nanomem_tui.screens.base.diffs import (
    DiffDialog,
    DiffScreen,
    ProposalShown,
    ShownDiff,
    error_sentence,
    result_words,
    usage_words,
)
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.dialogs import ConfirmScreen, EditScreen
from nanomem_tui.widgets.diff_view import FileDiff, diff_texts
from nanomem_tui.widgets.text_view import Block, Body, Field, Heading, Span, Spans

if TYPE_CHECKING:
    from nanomem_tui.agents.archive import HistoryEntry
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.dreams.run import DreamResult
    from nanomem_tui.workspace import Workspace


# Edits that a dry run proposed, as rows that a person decides on, and what the right pane tells of one.

Decision = Literal["", "accept", "reject"]

CONTEXT = 3  # lines around a change
ENTRY_CHARACTERS = 4_000
SHARED = "added-word"  # the tone of words that an entry shares with the line
SHOWN_SKIPPED = 60
_PIECE = re.compile(
    r"(?P<dense>[\u0e00-\u0eff\u1780-\u17ff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+)"
    r"|[^\W_]+(?:[.'’:/@_-][^\W_]+)*"
)


class Proposed(NamedTuple):
    """One proposed edit: `edit` as it would be made, `words` whether a person worded it, `refused` why the guards did
    not let it through ("" when they did), what was decided, and `stale` why the files as they are now do not allow it.
    """

    number: int
    edit: LineEdit
    refused: str = ""
    decision: Decision = ""
    worded: bool = False
    stale: str = ""

    @property
    def state(self) -> str:
        """What was decided, in a word."""
        if self.stale and self.decision != "reject":
            return "stale"
        if self.decision == "accept":
            return "reworded" if self.worded else "accepted"
        return "rejected" if self.decision else "refused" if self.refused else "open"

    @property
    def text(self) -> str:
        """The line that it is about, in one: the new one, of a removal the old one."""
        return plain_line(self.edit.new or self.edit.old) or (self.edit.new or self.edit.old)

    @property
    def waiting(self) -> Refusal:
        """As what waits for another day."""
        return Refusal(self.edit, self.refused or WAITS)


def rows_of(result: DreamResult) -> list[Proposed]:
    """All that a dry run proposed: what the guards let through, then what they refused, secrets masked."""
    held = [(replace(one.edit, new=secrets.mask(one.edit.new)), one.why) for one in result.refused]
    found = [(edit, "") for edit in result.edits] + held
    return [Proposed(number, edit, why) for number, (edit, why) in enumerate(found)]


def accepted(rows: Iterable[Proposed]) -> list[LineEdit]:
    """The edits to make."""
    return [row.edit for row in rows if row.decision == "accept"]


def rejected(rows: Iterable[Proposed], result: DreamResult, keep: bool) -> list[Refusal]:
    """The edits that a person let go, as they were proposed; those still open too unless they are to be kept."""
    proposed = rows_of(result)
    gone = [row.number for row in rows if row.decision == "reject" or not (row.decision or keep)]
    return [Refusal(proposed[number].edit, proposed[number].refused) for number in gone]


def looked_at(rows: Sequence[Proposed], files: Mapping[str, str]) -> list[Proposed]:
    """The rows, those marked stale whose line is not in the files any more; `files` are those of now."""
    return [row._replace(stale=_based(row, rows[: row.number], files)[1]) for row in rows]


def decided(rows: Sequence[Proposed]) -> int:
    """How many are decided."""
    return sum(1 for row in rows if row.decision)


def describe_place(edit: LineEdit) -> str:
    """Where an edit is made: the file, and the section where one is named."""
    target = edit.to_file or edit.file
    there = f"{target}, {edit.section}" if edit.section else target
    return f"{edit.file} to {there}" if edit.op == "move" else there


def hunk_shown(
    row: Proposed,
    before: Sequence[Proposed],
    files: Mapping[str, str],
    entries: Mapping[int, HistoryEntry],
    result: DreamResult,
) -> ProposalShown:
    """The diff of an edit in its surroundings, what it rests on, and the Dream that it is part of.

    `before` are the rows that stand before it, `files` the memory files as they are now.
    """
    above: list[Block] = [
        Spans(((f"{row.edit.op} in {describe_place(row.edit)}", "heading"), (f"  {row.state}", "dim")))
    ]
    if row.refused:
        above.append(Body(f"The guards refused it: {row.refused}. A person may accept it all the same.", "warn"))
    if row.edit.why:
        above.append(Field("why", row.edit.why))
    if row.edit.supersedes:
        above.append(Field("supersedes", row.edit.supersedes))
    diffs, problem = _diffs(row, before, files)
    if problem:
        above.append(Body(problem, "bad"))
        pairs = (("-", row.edit.old, "removed"), ("+", row.edit.new, "added"))
        above += [Spans(((f"{sign} {text}", tone),), 2) for sign, text, tone in pairs if text]
    return ProposalShown(diffs, above, [*evidence_blocks(row.edit, entries), *run_blocks(result)])


def _diffs(row: Proposed, before: Sequence[Proposed], files: Mapping[str, str]) -> tuple[list[FileDiff], str]:
    """What the edit changes, alone, or where that cannot be, on top of those before it that are not rejected."""
    texts, problem = _based(row, before, files)
    if texts is None:
        return [], problem
    start, end = texts
    changed = [name for name, text in end.items() if start.get(name, "") != text]
    return [diff_texts(name, start.get(name, ""), end[name], CONTEXT) for name in changed], ""


_Texts = Mapping[str, str]


def _based(row: Proposed, before: Sequence[Proposed], files: _Texts) -> tuple[tuple[_Texts, _Texts] | None, str]:
    """(the files before and after the edit, why there are none)."""
    lead = [other.edit for other in before if other.decision != "reject" and not other.refused]
    let_go = [other.edit for other in before if other.decision == "reject"]
    problem = ""
    for base in ([], lead):
        try:
            start = find_applicable(files, base, let_go).files
            return (start, apply_edits(start, [rebase(row.edit, start, let_go)])), ""
        except NanomemError as error:
            problem = error_sentence(error)
    return None, problem


def evidence_blocks(edit: LineEdit, entries: Mapping[int, HistoryEntry]) -> list[Block]:
    """The history entries that an edit rests on, the words that they share with its line marked."""
    if not edit.evidence:
        return [Heading("Evidence"), Body("It names no entry: it only tidies up what the file says.", "dim")]
    blocks: list[Block] = [Heading(f"Evidence ({counted(len(edit.evidence), 'entry', 'entries')})")]
    line = edit.new or edit.old
    for cursor in edit.evidence:
        entry = entries.get(cursor)
        if entry is None:
            blocks.append(Spans(((f"#{cursor} ", "accent"), ("is not in the archive any more", "dim")), 2))
            continue
        session = f" {entry.session_key}" if entry.session_key else ""
        blocks.append(Spans(((f"#{cursor} ", "accent"), (f"{entry.timestamp}{session}", "dim")), 2))
        shown = entry.content[:ENTRY_CHARACTERS]
        blocks += [Spans((("  ", ""), *parts), 4) for parts in _best_first(shown, line)]
        if len(entry.content) > len(shown):
            blocks.append(Body(f"  … {len(entry.content) - len(shown):,} more characters", "dim"))
    return blocks


def _best_first(content: str, line: str) -> list[list[Span]]:
    """The lines of an entry, before the others the one that shares most with `line`, which is not dim."""
    found = [marked(text, line) for text in content.split("\n") if text.strip()]
    shares = [sum(len(text) for text, tone in parts if tone == SHARED) for parts in found]
    best = shares.index(max(shares)) if any(shares) else None
    if best is None:
        return found
    top = [(text, tone if tone == SHARED else "") for text, tone in found[best]]
    return [top, *found[:best], *found[best + 1 :]]


def marked(text: str, line: str) -> list[Span]:
    """`text` in parts, the words that `line` holds as well standing out."""
    wanted = meaningful_words(plain_line(line) or line)
    told, folded = set(details(line)), fold(line)
    parts: list[Span] = []
    end = 0
    for start, stop in _matches(text, wanted, told, folded):
        parts += [(text[end:start], "dim")] if end < start else []
        parts.append((text[start:stop], SHARED))
        end = stop
    return [*parts, (text[end:], "dim")] if end < len(text) else parts


def _matches(text: str, wanted: frozenset[str], told: set[str], folded: str) -> Iterable[tuple[int, int]]:
    for match in _PIECE.finditer(text):
        start, piece = match.start(), match[0]
        if match["dense"]:  # scripts without spaces: pairs of characters that stand in both
            pairs = [n for n, pair in enumerate(pairwise(piece)) if "".join(pair) in folded]
            hits = {at for n in pairs for at in (n, n + 1)}
            yield from ((start + at, start + at + 1) for at in sorted(hits))
        elif fold(piece) in told or ((found := meaningful_words(piece)) and found <= wanted):
            yield start, match.end()


def run_blocks(result: DreamResult) -> list[Block]:
    """What was read for the whole of it, by whom, what was left out, and the analysis."""
    span = "#{} to #{}".format(*result.ends)
    waits = f"; {result.remaining:,} wait behind them" if result.remaining else ""
    blocks: list[Block] = [
        Heading("This dry run"),
        Field("it read", f"{counted(result.read, 'entry', 'entries')}, {span}{waits}"),
        Field("dreamer", usage_words(result.usage) if result.usage.calls else result.dreamer),
    ]
    if result.unreadable:
        from nanomem_tui.dreams.run import describe_passed_over

        blocks.append(Body(describe_passed_over(result.unreadable), "bad"))
    blocks += [Body(note, "warn") for note in result.notes]
    if result.analysis.strip():
        blocks += [Heading("What the Dreamer made of them"), Body(result.analysis.strip())]
    return [*blocks, *_skipped_blocks(result)]


def _skipped_blocks(result: DreamResult) -> list[Block]:
    if not result.skipped:
        return []
    from nanomem_tui.dreams.entries import skipped_summary

    blocks: list[Block] = [Heading(skipped_summary(result.skipped))]
    for line in result.skipped[:SHOWN_SKIPPED]:
        reason = (f"{line.reason}: ", "dim")
        blocks.append(Spans(((f"#{line.cursor} ", "accent"), reason, (one_line(line.text, 200), "dim")), 2))
    if len(result.skipped) > SHOWN_SKIPPED:
        blocks.append(Body(f"… and {len(result.skipped) - SHOWN_SKIPPED:,} more", "dim"))
    return blocks


def applied_shown(rows: Sequence[Proposed], files: Mapping[str, str], result: DreamResult, keep: bool) -> ProposalShown:
    """What applying the accepted edits would change; `keep`: those still open wait in the inbox."""
    passed = [row.edit for row in rows if row.decision != "accept"]
    found, open_ones = find_applicable(files, accepted(rows), passed), len(rows) - decided(rows)
    made = found.edits
    diffs = [diff_texts(name, files[name], text, CONTEXT) for name, text in found.files.items() if files[name] != text]
    counts = ", ".join("{} +{} -{}".format(diff.path, *diff.counts) for diff in diffs)
    rejected = sum(1 for row in rows if row.decision == "reject")
    said = f"{counted(len(made), 'edit')} accepted, {rejected:,} rejected, {open_ones:,} open"
    above: list[Block] = [Body(f"{said}: {counts or 'no file changes'}.", "" if counts else "warn")]
    for one in found.stale:
        words = one_line(plain_line(one.edit.new or one.edit.old) or one.edit.old, 200)
        above.append(Body(f"Accepted, but {one.why}; it waits in the inbox: {words}", "bad"))
    if open_ones:
        above.append(Body("The open ones " + ("wait in the inbox." if keep else "are let go."), "warn"))
    moves = f"The cursor moves from {result.cursor_before} to {result.cursor_after}"
    above.append(Body(f"{moves}: these entries are dreamt about no more. One commit, which u takes back.", "dim"))
    return ProposalShown(diffs, above)


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
        if self._under_way is not None:
            return self._under_way.words()
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
        return {"file": describe_place(row.edit), "op": row.edit.op, "is": row.state}[name]

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
            self.say_counts(f"{part}{decided(self._rows):,} of {total:,} decided")

    # The detail

    def detail(self, row: Proposed) -> ShownDiff:
        """The line in its surroundings, and the entries that ask for it."""
        assert self._result is not None
        entries = self.ws.history.entries_of(row.edit.evidence) if row.edit.evidence else {}
        before = self._rows[: row.number]
        return ShownDiff(self.row_id(row), hunk_shown(row, before, _texts(self.ws), entries, self._result))

    def shown_for_none(self) -> ProposalShown:
        """What was read."""
        return ProposalShown(above=run_blocks(self._result) if self._result is not None and not self._rows else [])

    # A dry run

    async def begin(self) -> None:
        """Show what was proposed as it was left; try a Dream where nothing was, or another Dream was quicker."""
        result = self._result
        if self._under_way is not None:
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
            self._why_empty = error_sentence(error, error.fix)
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
                check_possible(row.edit)
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
            edit = reword(row.edit, text)
            check_possible(edit)
            self._change({row.number: row._replace(edit=edit, decision="accept", worded=True)})

        def wrong(text: str) -> str:
            return reason_no_line(row.edit, text)

        title = f"Accept with other words: {describe_place(row.edit)}"
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

        def read(fate: str) -> ProposalShown:
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
            result, stale = apply_applicable(
                ws.dream.runner, ws.documents.read, proposed, accepted(rows), waiting, gone
            )
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


def _cursors(row: Proposed) -> str:
    return " ".join(f"#{cursor}" for cursor in row.edit.evidence)


def _cursor(ws: Workspace) -> int:
    return int(ws.dream.status()["cursor"])


def _texts(ws: Workspace) -> dict[str, str]:
    return {name: ws.documents.read(name) or "" for name in TITLES}
