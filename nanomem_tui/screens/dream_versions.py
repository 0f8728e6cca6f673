"""The Versions screen, behind Dream: a memory file as it was after every change, and the way back to any of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from textual import on
from textual.widget import Widget

from nanomem_tui.dream.blamed import who_made
from nanomem_tui.dream.versions import NOW
from nanomem_tui.errors import Refused
from nanomem_tui.memory.filters import Kind
from nanomem_tui.paths import TRACKED_FILES
from nanomem_tui.screens.diff_dialog import DiffDialog, Shown, restore_shown
from nanomem_tui.screens.rows import age_of, when
from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.store import merge
from nanomem_tui.text import counted
from nanomem_tui.widgets.bars import TitleBar
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.diff import DiffLine, diff_texts
from nanomem_tui.widgets.document import Block, Body, Document, Field, Heading, Spans
from nanomem_tui.widgets.toast import say
from nanomem_tui.widgets.version_view import MARKS, VersionLine, VersionView

if TYPE_CHECKING:
    from nanomem_tui.app import NanomemApp
    from nanomem_tui.store.git_values import Commit

WHO: Mapping[str, str] = {"nanomem dream": "dream", "agent dream": "dream", "person": "human"}
ALL_LINES = 10**9
PAGE = 50  # commits that are shown before the rest is counted
ONLY_IT, AS_THEN = "only it", "as then"


class VersionRow(NamedTuple):
    """One version: its commit (`NOW`: the files as they are), and the lines added and removed by file."""

    sha: str
    parent: str | None
    at: str
    who: str
    subject: str
    counts: Mapping[str, tuple[int, int]]


class ShownVersion(NamedTuple):
    """What the right pane shows."""

    file: str
    lines: tuple[VersionLine, ...]
    above: tuple[Block, ...]


class VersionsScreen(WorkspaceScreen[VersionRow]):
    """Every version of a memory file."""

    SCREEN = "versions"
    FLASHES = False
    EMPTY = "No version of the memory files is kept yet. The first Dream, or the first edit here, begins it."
    HELP = (
        "A memory file as it was after each change, the newest first; those that left it alone are dim. Up and down "
        "move through time, in the text left and right do. l shows the next file, n the next change, t brings a "
        "version back."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {"id": "text", "who": "text", "file": "text", "age": "age"}

    def __init__(self) -> None:
        super().__init__()
        self._file = TRACKED_FILES[-1]
        self._shown = ""

    # The list

    def columns(self) -> Sequence[Column[VersionRow]]:
        """When, who, and what it did to the file."""
        return (
            Column("age", "Age", lambda row: age_of(row.at) if row.sha else "now", width=6, align="right", tone="dim"),
            Column("who", "Who", lambda row: row.who, width=7, tone="accent", sort=lambda row: row.who),
            Column("lines", "+/-", self._counts, width=8, align="right"),
            Column("subject", "Subject", lambda row: row.subject, min_width=18),
            Column("sha", "Commit", lambda row: row.sha[:8], width=8, priority=1, tone="dim"),
        )  # fmt: skip

    def _counts(self, row: VersionRow) -> str:
        return "+{} -{}".format(*row.counts[self._file]) if self._file in row.counts else ""

    def row_id(self, row: VersionRow) -> str:
        """The id of the commit."""
        return row.sha or "now"

    def load(self) -> Iterable[Sequence[VersionRow]]:
        """Every commit, the newest first, and before them the files as they are now, where no commit holds them."""
        commits = self.ws.dream.commits()
        rows: list[VersionRow] = []
        if commits:
            counts = {}
            for path in TRACKED_FILES:
                head, now = (self.ws.dream.versions.text(sha, path) for sha in (commits[0].sha, NOW))
                if head != now:
                    counts[path] = merge.count_changes(head or "", now or "")
            if counts:
                rows = [VersionRow(NOW, commits[0].sha, "", "outside", "not committed yet", counts)]
        for start in range(0, len(commits), PAGE):  # their lines are counted, which takes its time
            rows += map(_row, commits[start : start + PAGE])
            yield rows
            rows = []

    def search_text(self, row: VersionRow) -> str:
        """Words are searched in the subject."""
        return row.subject

    def field(self, row: VersionRow, name: str) -> Any:
        """The fields of the filter language."""
        if name == "file":
            return {part for path in row.counts for part in (path, path.rpartition("/")[2])}
        return {"id": row.sha, "who": row.who, "age": row.at}[name]

    def dimmed(self, row: VersionRow) -> bool:
        """It left the file alone."""
        return self._file not in row.counts

    def _say_totals(self) -> None:
        super()._say_totals()
        total = sum(1 for row in self.listing.rows if self._file in row.counts)
        self.query_one(TitleBar).set_right(f"{self._file} · {counted(total, 'version')}")

    # The detail

    def make_detail(self) -> Widget:
        """The text of a version."""
        return VersionView(id="detail")

    @property
    def view(self) -> VersionView:
        """The text of a version."""
        return self.query_one("#detail", VersionView)

    def detail(self, row: VersionRow) -> ShownVersion:
        """The file as of then, against the version before and against now."""
        file, versions = self._file, self.ws.dream.versions
        then, now = versions.text(row.sha, file), versions.text(NOW, file)
        before = versions.text(row.parent, file) if row.parent else None
        lines = version_lines(before, then, now)
        above: list[Block] = [Spans(((file, "heading"), (f"  as of {when(row.at)}" if row.sha else "  now", "dim")))]
        said = row.subject if row.subject.startswith(row.who) else f"{row.who}: {row.subject}"
        above.append(Field("by", f"{said} ({row.sha[:8]})" if row.sha else said))
        above.append(Field("then", _told(lines, then, now)))
        above += [Body(MARKS, "dim"), Body("")]
        return ShownVersion(file, lines, tuple(above))

    def show_detail(self, detail: Any) -> None:
        """Moving through time stays at the place; another file is shown from its top."""
        if isinstance(detail, ShownVersion):
            same, self._shown = detail.file == self._shown, detail.file
            self.view.show(detail.lines, detail.above, keep_place=same)
        elif isinstance(detail, Document):
            self._shown = ""
            self.view.show((), ())

    @on(VersionView.Travel)
    def _travel(self, event: VersionView.Travel) -> None:
        event.stop()
        self.table.move_by(-event.step)

    def copy_text(self) -> str:
        """The file as of then."""
        return "\n".join(row.line.text for row in self.view.version if row.line.sign != "-")

    # Actions

    def show_file(self, file: str) -> None:
        """Show the versions of another file."""
        self._file = file
        self._make_view()
        self.table.refresh()
        self.refresh_detail()

    def do_next_list(self) -> None:
        """To the next memory file."""
        self.show_file(TRACKED_FILES[(TRACKED_FILES.index(self._file) + 1) % len(TRACKED_FILES)])

    def do_next_hunk(self) -> None:
        """To the next change, also from the list."""
        self.view.action_next_hunk()

    def do_previous_hunk(self) -> None:
        """To the change before, also from the list."""
        self.view.action_previous_hunk()

    def do_dream_restore(self) -> None:
        """Show what bringing the file back would change, then do it."""
        row, file = self.table.cursor_row, self._file
        if row is None:
            return
        if not row.sha:
            raise Refused("that is the file as it is now", file, "choose an older version")
        short = row.sha[:8]
        ways = [(f"{file} as of {short}; what came after it in this file is lost", AS_THEN)]
        if file in row.counts and row.parent:
            ways.append((f"Take back only what {short} did in {file}; later edits stay", ONLY_IT))

        def read(way: str) -> Shown:
            if way == ONLY_IT:
                return restore_shown(self.ws.dream.restore_preview(row.sha, file))
            return self._as_then(row, file)

        async def restore(way: str | None) -> None:
            done = await self.change(
                lambda ws: (
                    ws.dream.restore(row.sha, file) if way == ONLY_IT else ws.dream.versions.bring_back(row.sha, file)
                )
            )
            for operation in done:
                say(self, f"{operation.label} (u undoes it)")

        self.ask(DiffDialog(f"Bring back {file} of {short}", ways, read, "do it"), restore)

    def _as_then(self, row: VersionRow, file: str) -> Shown:
        versions = self.ws.dream.versions
        then, now = versions.text(row.sha, file), versions.text(NOW, file)
        if then is None or then == now:
            return Shown(refused="there was no such file then" if then is None else "the file is as it was then")
        later = self.listing.rows[: self.listing.rows.index(row)]
        below: list[Block] = [Heading("Later changes of this file: lost")]
        below += [
            Spans(((f"{other.sha[:8] or 'now'} {when(other.at)} ", "dim"), (other.subject, "bad")), 2)
            for other in later
            if file in other.counts
        ]
        return Shown([diff_texts(file, now or "", then)], below=below)

    def operations_done(self, operations: Sequence[Any]) -> None:
        """There is a new version."""
        self.forget_detail()
        self.reload()

    def do_back(self) -> None:
        """From the list, with nothing to clear, back to the Dreams."""
        if self._pane == "list" and not self.table.selected and not self.listing.filter.source and not self._zoomed:
            self.console.go("dream")
        else:
            super().do_back()


def version_lines(before: str | None, then: str | None, now: str | None) -> tuple[VersionLine, ...]:
    """Every line of a file as it was `then`, with those that differ from `before`, and which are no longer there."""
    gone: set[int] = set()
    for edit in merge.edits(_lines(then), _lines(now)):
        gone.update(range(edit.start + 1, edit.stop + 1))
    hunks = diff_texts("", before or "", then or "", ALL_LINES).hunks
    lines = hunks[0].lines if hunks else [DiffLine(" ", text, n) for n, text in enumerate(_lines(then), 1)]
    return tuple(VersionLine(line, line.sign != "-" and line.number in gone) for line in lines)


def _lines(text: str | None) -> list[str]:
    lines = (text or "").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _told(lines: Sequence[VersionLine], then: str | None, now: str | None) -> str:
    """How the version compares, in a sentence."""
    if then is None:
        return "there was no such file"
    came = sum(1 for row in lines if row.line.sign == "+")
    went = sum(1 for row in lines if row.line.sign == "-")
    total = len(lines) - went
    gone = sum(1 for row in lines if row.gone)
    new = len(_lines(now)) - (total - gone)
    since = f"since then {gone:,} went and {new:,} came" if gone or new else "as it is now"
    return f"{counted(total, 'line')}, +{came} -{went} against the version before; {since}"


def _row(commit: Commit) -> VersionRow:
    who = who_made(commit.raw)
    counts = {stat.path: (stat.added, stat.removed) for stat in commit.files if stat.path in TRACKED_FILES}
    return VersionRow(commit.sha, commit.parent, commit.at, WHO.get(who, who), commit.subject, counts)


def show_versions(console: NanomemApp, sha: str, file: str = "") -> None:
    """Show a memory file as of a commit; without a `file`, the one that was shown last."""
    console.go("versions", sha)
    if file in TRACKED_FILES:
        screen = cast("VersionsScreen", console.get_screen("versions"))
        screen.call_later(screen.show_file, file)
