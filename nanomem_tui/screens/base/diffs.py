"""Diffs on the screens of Dreams: values for the diff view, the dialog that takes a change back, the screen that
shows one, and what a Dream did in words.

The values are made from those of the workspace; pure, and quick enough for a thread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from textual import events, work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget

from nanomem_tui.agents.git import FileDiff as StoredDiff
from nanomem_tui.core.errors import NanomemError, shown_error
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.dreams import log as dream_log
from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.bars import say
from nanomem_tui.widgets.dialogs import Dialog
from nanomem_tui.widgets.diff_view import DiffLine, DiffView, FileDiff, Hunk, Sign, spans_of
from nanomem_tui.widgets.text_view import Block, Body, Document, Heading, Line, Spans, lay_out, side_by_side
from nanomem_tui.widgets.theme import glyphs

if TYPE_CHECKING:
    from textual.screen import Screen

    from nanomem_tui.agents import git
    from nanomem_tui.agents.archive import HistoryEntry
    from nanomem_tui.core import merge
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.dreams.revert import RestoreConflict, RevertPreview, Side
    from nanomem_tui.dreams.run import DreamResult
    from nanomem_tui.model.client import Usage
    from nanomem_tui.screens.base.workspace_screen import WorkspaceScreen


Evidence = Callable[["merge.Hunk"], tuple[str, ...]]

SHOWN_ENTRIES = 60
ENTRY_CHARACTERS = 240
EVIDENCE_CHARACTERS = 160
_DIFF_BLOCK = re.compile(r"\n*^```diff$.*?(?:^```$|\Z)\n*", re.DOTALL | re.MULTILINE)
_SIGNS: Mapping[str, Sign] = {"equal": " ", "delete": "-", "insert": "+"}


def message_beside(message: str, files: Sequence[object]) -> str:
    """The message of a commit without the diff that agents write into it, when the real one follows."""
    return (_DIFF_BLOCK.sub("\n", message) if files else message).strip("\n")


def no_evidence(_hunk: merge.Hunk) -> tuple[str, ...]:
    """Nothing is known about why."""
    return ()


def file_diff(file: git.FileDiff, evidence: Evidence = no_evidence) -> FileDiff:
    """One file of a commit: the very hunks that a restore counts."""
    note = file.damage or ("new file" if file.before is None else "file removed" if file.after is None else "")
    section = _Sections(file.after or "")
    hunks = [
        Hunk(
            tuple(DiffLine(_SIGNS[line.tag], line.text, line.new or line.old or 0) for line in hunk.lines),
            f"line {_changed(hunk)}{section.at(_changed(hunk))}",
            evidence(hunk),
        )
        for hunk in file.hunks
    ]
    return FileDiff(file.path, tuple(hunks), note)


def _changed(hunk: merge.Hunk) -> int:
    """The number that the first changed line has in the new text, or would have."""
    first = next(index for index, line in enumerate(hunk.lines) if line.tag != "equal")
    return hunk.lines[first].new or hunk.new_start + first


class _Sections:
    """Under which heading of a Markdown text a line stands."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")

    def at(self, number: int) -> str:
        """``, Title`` for the line of that number, counted from 1."""
        before = (line for line in reversed(self._lines[:number]) if line.startswith("#"))
        title = next(before, "").lstrip("# ")
        return f", {title}" if title else ""


def evidence_among(entries: Sequence[HistoryEntry]) -> Evidence:
    """Which of `entries` say what a hunk adds: those that hold an added line word for word, white space aside."""
    texts = [(entry, " ".join(entry.content.casefold().split())) for entry in entries]

    def texts_of(hunk: merge.Hunk) -> tuple[str, ...]:
        added = [_statement(line.text) for line in hunk.lines if line.tag == "insert"]
        found = [entry for entry, text in texts if any(line and line in text for line in added)]
        return tuple(entry_line(entry) for entry in found)

    return texts_of


def _statement(line: str) -> str:
    """What a line of a memory file says, without its bullet."""
    words = " ".join(line.casefold().split()).lstrip("-*+# ")
    return words if len(words) >= 8 else ""


def entry_line(entry: HistoryEntry, limit: int = EVIDENCE_CHARACTERS) -> str:
    """A summary in one line: number, when, who with, what."""
    session = f" {entry.session_key}" if entry.session_key else ""
    return f"#{entry.cursor} {entry.timestamp}{session}: {one_line(entry.content, limit)}"


def entries_read(entries: Sequence[HistoryEntry], known: bool) -> list[Block]:
    """The summaries that a Dream went through, below its diff."""
    if not known:
        return [Heading("Entries it read"), Body("Not known: this commit does not carry the cursor.", "dim")]
    blocks: list[Block] = [Heading(f"Entries it read ({len(entries):,})")]
    for entry in entries[:SHOWN_ENTRIES]:
        session = f" {entry.session_key}" if entry.session_key else ""
        text = one_line(entry.content, ENTRY_CHARACTERS)
        blocks.append(Spans(((f"#{entry.cursor} ", "accent"), (f"{entry.timestamp}{session} ", "dim"), (text, "")), 2))
    if len(entries) > SHOWN_ENTRIES:
        blocks.append(Body(f"… and {len(entries) - SHOWN_ENTRIES:,} more", "dim"))
    return blocks


# A dialog that shows a diff and asks: what applying the edits of a Dream would do, or taking one back, part by part.

Choice = TypeVar("Choice")


class ProposalShown(NamedTuple):
    """What a diff dialog shows. `refused` says why there is nothing to confirm; "" when there is something."""

    files: Sequence[FileDiff] = ()
    above: Sequence[Block] = ()
    below: Sequence[Block] = ()
    conflicts: Sequence[RestoreConflict] = ()
    refused: str = ""


class ProposalView(DiffView):
    """A diff with what stands below it, and conflicts with both sides beside each other."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.below: tuple[Block, ...] = ()
        self.conflicts: tuple[RestoreConflict, ...] = ()

    def show_all(self, shown: ProposalShown, keep_place: bool = False) -> None:
        """Show all of it."""
        self.below, self.conflicts = tuple(shown.below), tuple(shown.conflicts)
        self.files, self.blocks = (), ()
        self._laid_out_at = -1
        self.show(shown.files, shown.above, keep_place)

    def lay_out(self, width: int, wrapped: bool) -> list[Line]:
        """Blocks and files, then conflicts, then the rest."""
        lines = super().lay_out(width, wrapped)
        for conflict in self.conflicts:
            title = f"Conflict in {conflict.path}, line {conflict.line}"
            lines += [(), *lay_out((Spans(((title, "bad"),)),), width)]
            now, then = _sides(conflict)
            lines += side_by_side(
                [Spans((("as it is now", "label"),)), *now], [Spans((("as it was before", "label"),)), *then],
                width, glyphs(self).separator,
            )  # fmt: skip
        if self.below:
            lines += [(), *lay_out(self.below, width, wrapped)]
        return lines


def _sides(conflict: RestoreConflict) -> tuple[list[Block], list[Block]]:
    """The lines of both sides, the words that differ standing out."""
    lines = [DiffLine("-", text) for text in conflict.now] + [DiffLine("+", text) for text in conflict.then]
    sides: dict[str, list[Block]] = {"-": [], "+": []}
    for line, parts in spans_of(Hunk(tuple(lines))):
        sides[line.sign].append(Spans(tuple(parts), 2))
    none: list[Block] = [Body("(no line)", "dim")]
    return sides["-"] or none, sides["+"] or none


class DiffDialog(Dialog["Choice | None"], Generic[Choice]):
    """Shows what each of `choices` would do, read by `read` in a thread; ``y`` takes the one shown, tab the next.

    A choice is (its words, its value). `first` stands above them all.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "close", show=False),
        Binding("tab,right,l", "other(1)", "other", show=False, priority=True),
        Binding("shift+tab,left,h", "other(-1)", "other", show=False, priority=True),
    ]

    class Read(Message):
        """From the reading thread: what a choice would do."""

        def __init__(self, number: int, shown: ProposalShown) -> None:
            super().__init__()
            self.number = number
            self.shown = shown

    def __init__(
        self,
        title: str,
        choices: Sequence[tuple[str, Choice]],
        read: Callable[[Choice], ProposalShown],
        verb: str,
        first: Sequence[Block] = (),
    ) -> None:
        super().__init__(title, tall=True)
        self._choices = choices
        self._read = read
        self._verb = verb
        self._first = tuple(first)
        self._number = 0
        self._known: dict[int, ProposalShown] = {}

    def inside(self) -> list[Widget]:
        """The diff."""
        return [ProposalView()]

    @property
    def view(self) -> ProposalView:
        """The diff."""
        return self.query_one(ProposalView)

    @property
    def chosen(self) -> Choice:
        """The value of the choice that is shown."""
        return self._choices[self._number][1]

    def on_mount(self) -> None:
        """Read the first choice."""
        self.view.focus()
        self._show()

    def _show(self) -> None:
        shown = self._known.get(self._number)
        what = self._choices[self._number][0]
        if shown is None:
            self.view.show_all(ProposalShown(above=[Spans(((what, "heading"),)), Body("Reading …", "dim")]))
            self.say_keys([(" esc", "key"), (" back", "")])
            self._read_in_thread(self._number)
            return
        several = len(self._choices) > 1
        said: list[Block] = [*self._first, *([Spans(((what, "heading"),))] if several or self._first else [])]
        if shown.refused:
            said.append(Body(f"{shown.refused[:1].upper()}{shown.refused[1:]}.", "bad"))
            said += [Body("tab shows another way.", "dim")] if several else []
        self.view.show_all(shown._replace(above=[*said, *shown.above]))
        self.say_keys(self.keys())

    def keys(self) -> list[tuple[str, str]]:
        """How to say yes, no, and something else."""
        shown = self._known.get(self._number)
        keys: list[tuple[str, str]] = []
        if shown is not None and not shown.refused:
            keys += [(" y", "key"), (f" {self._verb} ", "")]
        if len(self._choices) > 1:
            keys += [(" tab", "key"), (f" other way ({self._number + 1} of {len(self._choices)}) ", "")]
        return [*keys, (" n N", "key"), (" hunks ", ""), (" esc", "key"), (" no", "")]

    @work(thread=True, exclusive=True, group="detail", exit_on_error=False)
    def _read_in_thread(self, number: int) -> None:
        try:
            shown = self._read(self._choices[number][1])
        except NanomemError as error:
            shown = ProposalShown(refused=error.line())
        except Exception as error:  # noqa: BLE001 - the dialog says what went wrong
            shown = ProposalShown(refused=shown_error(error).line())
        self.post_message(self.Read(number, shown))

    def on_diff_dialog_read(self, event: Read) -> None:
        """A choice was read."""
        event.stop()
        self._known[event.number] = event.shown
        if event.number == self._number:
            self._show()

    def on_key(self, event: events.Key) -> None:
        """Yes, unless there is nothing to say yes to."""
        shown = self._known.get(self._number)
        if event.character == "y" and shown is not None and not shown.refused:
            event.stop()
            self.dismiss(self.chosen)

    def action_other(self, step: int) -> None:
        """Show another choice."""
        if len(self._choices) > 1:
            self._number = (self._number + step) % len(self._choices)
            self._show()

    def action_close(self) -> None:
        """Leave everything as it is."""
        self.dismiss(None)


# -- What the screens share whose right pane is a diff: Dream and Review ----------------------------------------------

Row = TypeVar("Row")


class ShownDiff(NamedTuple):
    """What the right pane shows for a row."""

    row_id: str
    shown: ProposalShown


class DiffScreen(WorkspaceScreen[Row], Generic[Row]):
    """A list of changes, each with its diff; `detail` gives a `ShownDiff`."""

    def __init__(self) -> None:
        super().__init__()
        self._shown = ""  # the id of the row whose diff is in the pane

    def make_detail(self) -> Widget:
        """A diff."""
        return ProposalView(id="detail")

    @property
    def view(self) -> ProposalView:
        """The diff."""
        return self.query_one("#detail", ProposalView)

    def show_detail(self, detail: Any) -> None:
        """From its top; the place stays when it is the same row, read again."""
        if isinstance(detail, ShownDiff):
            same, self._shown = detail.row_id == self._shown, detail.row_id
            self.view.show_all(detail.shown, keep_place=same)
        elif isinstance(detail, Document):
            self._shown = ""
            self.view.show_all(self.shown_for_none())

    def shown_for_none(self) -> ProposalShown:
        """What the pane shows without a row."""
        return ProposalShown()

    def do_next_hunk(self) -> None:
        """To the next hunk, also from the list."""
        self.view.action_next_hunk()

    def do_previous_hunk(self) -> None:
        """To the hunk before, also from the list."""
        self.view.action_previous_hunk()


# Taking a commit back on any screen that shows one: what each way would do as a diff, then the one that is chosen.

SAID = 46  # cells of what was done, so that the way back is to be seen beside it


class RevertPart(NamedTuple):
    """What of a commit is taken back: all of it, a file, a hunk of it; `whole` also loses what came later. `settle`:
    which side is taken of lines that later edits changed as well. `as_of`: the file as it was after it, instead.
    `edit`: one of its edits, counted from 1.
    """

    file: str | None = None
    hunk: int | None = None
    whole: bool = False
    settle: Side | None = None
    as_of: bool = False
    edit: int | None = None


def revert(
    screen: WorkspaceScreen[Any],
    sha: str,
    title: str,
    parts: Sequence[tuple[str, RevertPart]],
    verb: str,
    first: Sequence[Block] = (),
) -> None:
    """Show what each of `parts` (its words, itself) of a commit would do, and do the one that a person says yes to."""

    def read(part: RevertPart) -> ProposalShown:
        return _shown(screen.ws.dream.revert_preview(sha, **part._asdict()))

    async def restore(part: RevertPart | None) -> None:
        if part is None:
            return
        for operation in await screen.change(lambda ws: ws.dream.revert(sha, **part._asdict())):
            say(screen, f"{operation.label} (u undoes it)")

    screen.ask(DiffDialog(title, parts, read, verb, first), restore)


def announce_undo(at: Screen[Any], operation: Operation) -> None:
    """Say what was undone; of a Dream that its entries will be read again, for as long as it takes to see that."""
    label = one_line(operation.label, SAID)
    if note := dream_log.describe_rewind([operation]):
        say(at, f"{note[:1].upper()}{note[1:]} (^r does it again)", "warning", label)
    else:
        say(at, f"{label} (^r does it again)")


def _shown(preview: RevertPreview) -> ProposalShown:
    """What a restore would do, in words and as a diff."""
    files = [file_diff(StoredDiff(file.path, file.before, file.after)) for file in preview.files]
    above: list[Block] = []
    loses = preview.loses_later or preview.lost.lines > 0
    if preview.note:
        above.append(Body(preview.note[:1].upper() + preview.note[1:] + ".", "warn" if loses else ""))
    if preview.conflicts:
        above.append(Body("Both sides stand below. tab takes one of them, or one hunk of it.", "bad"))
    below: list[Block] = []
    if preview.later_commits:
        whose = "this file" if preview.as_of else "these files"
        fate = "lost" if preview.loses_later else "kept, but for lines of those in red" if loses else "kept"
        below.append(Heading(f"Later changes of {whose}: {fate}"))
        for commit in preview.later_commits:
            named = (f"{commit.short} {commit.at[:16].replace('T', ' ')} ", "dim")
            below.append(Spans((named, (commit.subject, "bad" if preview.loses(commit) else "dim")), 2))
    return ProposalShown(files, above, below, preview.conflicts, preview.problem)


# What a Dream did, in words


def result_words(result: DreamResult, waiting: int = 0) -> str:
    """What a Dream did, in a sentence; `waiting` of its edits are in the inbox."""
    total = counted(result.read + result.remaining, "entry", "entries")
    read = f"{result.read:,} of {total}" if result.remaining else total  # short: the status bar may cut the end
    held = f", {counted(waiting, 'edit')} in the inbox" if waiting else ""
    if not result.files:
        return f"Dream: read {read}; {result.unchanged}{held}"
    files = result.files.items()
    counts = ", ".join(f"{name.rpartition('/')[2]} +{added} -{removed}" for name, (added, removed) in files)
    return f"Dream: {counts} from {read}{held} (u undoes it)"


def usage_words(usage: Usage) -> str:
    """What a model took: `qwen3, 2 questions, 3,120 tokens in, 240 out, 4.1 s, cost 0.0012`."""
    about = "about " if usage.estimated else ""
    cost = "" if usage.cost is None else f", cost {usage.cost:.4f}"
    tokens = f"{about}{usage.tokens_in:,} tokens in, {usage.tokens_out:,} out"
    return f"{usage.model}, {counted(usage.calls, 'question')}, {tokens}, {usage.seconds:.1f} s{cost}"


def error_sentence(error: NanomemError, fix: str = "") -> str:
    """What went wrong, as a sentence, and what to do."""
    told = f"{error.what}: {fix}" if fix else error.what
    return f"{told[:1].upper()}{told[1:]}."
