"""The Dream screen: what Dreams and people changed in the memory files, why, and how to revert it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

from textual import work

from nanomem_tui.agents.git import Commit
from nanomem_tui.core.errors import NanomemError, NothingToDo, Refused
from nanomem_tui.core.paths import DREAM_CURSOR
from nanomem_tui.core.text import counted, one_line
from nanomem_tui.dreams.log import DreamRun, as_mapping, run_of, who_made
from nanomem_tui.memory.filters import Kind
from nanomem_tui.model.client import Usage
from nanomem_tui.screens.base.console import Running, show_blame, show_review, show_versions
from nanomem_tui.screens.base.diffs import (
    DiffScreen,
    Evidence,
    ProposalShown,
    RevertPart,
    ShownDiff,
    entries_read,
    entry_line,
    evidence_among,
    file_diff,
    message_beside,
    result_words,
    revert,
    usage_words,
)
from nanomem_tui.screens.base.editable_rows import format_time
from nanomem_tui.screens.base.list_screen import View
from nanomem_tui.widgets.bars import say, say_error
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.dialogs import ConfirmScreen
from nanomem_tui.widgets.diff_view import DiffLine, FileDiff, Hunk
from nanomem_tui.widgets.text_view import Block, Body, Field, Heading, Spans

if TYPE_CHECKING:
    from nanomem_tui.agents.archive import HistoryEntry
    from nanomem_tui.core import merge
    from nanomem_tui.core.operations import Operation
    from nanomem_tui.dreams.revert import RestoreEdit, RevertPreview
    from nanomem_tui.dreams.run import DreamResult
    from nanomem_tui.workspace import Workspace


# What the ledger holds of a Dream of ours, as cells and blocks: who dreamt, what it took, what was refused and why.

Meta = Mapping[str, Any]
Runs = Mapping[str, DreamRun]

WORDS = 200  # characters of a line that was refused


def run_columns(runs: Runs) -> list[Column[Commit]]:
    """Columns for what some of the `runs` (by commit) have: edits refused, tokens, cost."""
    columns = []
    if any(run.refused for run in runs.values()):
        columns.append(_column("refused", "Refused", 7, 6, runs, lambda run: run.refused, "{:,}"))
    if any(run.tokens for run in runs.values()):
        columns.append(_column("tokens", "Tokens", 7, 7, runs, lambda run: run.tokens, "{:,}"))
    if any(run.cost for run in runs.values()):
        columns.append(_column("cost", "Cost", 7, 8, runs, lambda run: run.cost, "{:.4f}"))
    return columns


def _column(key: str, title: str, width: int, priority: int, runs: Runs, value: Any, form: str) -> Column[Commit]:
    def render(row: Commit) -> str:
        found = value(runs[row.sha]) if row.sha in runs else None
        return form.format(found) if found else ""

    def sort(row: Commit) -> float:
        return (value(runs[row.sha]) or 0) if row.sha in runs else -1

    return Column(key, title, render, width=width, priority=priority, align="right", tone="dim", sort=sort)


def evidence_recorded(
    meta: Meta, of: Callable[[Collection[int]], Mapping[int, HistoryEntry]], otherwise: Evidence
) -> Evidence:
    """The entries that the Dream itself named for the lines of a hunk; for a hunk without any what `otherwise` says.
    `of` gives entries by their cursors."""
    named: dict[str, list[int]] = {}
    for edit in _objects(meta.get("edits")):
        for line in (edit.get("new"), edit.get("old")):
            if isinstance(line, str) and line.strip():
                cursors = edit.get("evidence")
                named.setdefault(line.strip(), []).extend(cursors if isinstance(cursors, (list, tuple)) else ())

    entries = of({cursor for cursors in named.values() for cursor in cursors})

    def behind(hunk: merge.Hunk) -> tuple[str, ...]:
        changed = [line.text.strip() for line in hunk.lines if line.tag != "equal"]
        cursors = sorted({cursor for line in changed for cursor in named.get(line, ())})
        found = tuple(entry_line(entries[cursor]) for cursor in cursors if cursor in entries)
        return found or otherwise(hunk)

    return behind


def told_above(meta: Meta) -> list[Block]:
    """Who dreamt, what it took, and how many edits were not made."""
    usage = usage_of(as_mapping(meta.get("usage")))
    blocks: list[Block] = [Field("dreamer", f"nanomem, {meta.get('dreamer') or 'rules'}")]
    if usage.calls:
        blocks.append(Field("it took", usage_words(usage)))
    refused, rejected = (len(_objects(meta.get(key))) for key in ("refused", "rejected"))
    if refused:
        blocks.append(Field("not made", f"{counted(refused, 'edit')}, each with its reason below", "warn"))
    if rejected:
        blocks.append(Field("rejected", f"{counted(rejected, 'edit')}, by a person"))
    return blocks


def told_below(meta: Meta) -> list[Block]:
    """What the model made of the entries, and the edits and facts that changed nothing, with the reasons."""
    blocks: list[Block] = []
    analysis = meta.get("analysis")
    if isinstance(analysis, str) and analysis.strip():
        blocks += [Heading("What the Dreamer made of them"), Body(analysis.strip())]
    refused, rejected = _objects(meta.get("refused")), _objects(meta.get("rejected"))
    if refused:
        blocks.append(Heading(f"Not made ({len(refused):,})"))
        for edit in refused:
            blocks += [_line(edit), Spans((("    ", ""), (str(edit.get("reason") or ""), "warn")), 4)]
    if rejected:
        blocks += [Heading(f"Rejected by a person ({len(rejected):,})"), *map(_line, rejected)]
    if left := _objects(meta.get("left")):
        blocks.append(Heading(f"Found, and no edit made of it ({len(left):,})"))
        for fact in left:
            words = one_line(str(fact.get("text") or ""), WORDS)
            where, why = f"  #{fact.get('cursor')} ", f"  {fact.get('reason') or ''}"
            blocks.append(Spans(((where, "dim"), (words, ""), (why, "dim")), 4))
    return blocks


def usage_of(meta: Meta) -> Usage:
    """What a model took, as the ledger holds it; what is no number there is none here."""

    def number(name: str) -> float:
        found = meta.get(name)
        return found if isinstance(found, (int, float)) else 0

    cost = meta.get("cost")
    return Usage(
        calls=int(number("calls")),
        tokens_in=int(number("tokens_in")),
        tokens_out=int(number("tokens_out")),
        cost=float(cost) if isinstance(cost, (int, float)) else None,
        seconds=float(number("seconds")),
        model=str(meta.get("model") or ""),
        estimated=meta.get("estimated") is True,
    )


def _line(edit: Meta) -> Block:
    words = one_line(str(edit.get("new") or edit.get("old") or ""), WORDS)
    return Spans(((f"  {edit.get('op') or 'edit'} ", "dim"), (words, ""), (f"  {edit.get('file') or ''}", "dim")), 4)


def _objects(value: object) -> Sequence[Meta]:
    found: Iterable[object] = value if isinstance(value, (list, tuple)) else ()
    return [one for one in found if isinstance(one, Mapping)]


PAGE = 50  # commits that are shown before the rest is counted
ONLY_DREAMS = "who:dream"


class DreamScreen(DiffScreen[Commit]):
    """The commits of the memory files."""

    SCREEN = "dream"
    EMPTY = "No Dream has run yet, and no version of the memory files is kept. r runs a Dream."
    HELP = (
        "Every change of SOUL, USER and MEMORY, the newest first. r runs a Dream, T shows what it would do, t takes "
        "back what the cursor is on: the run, or in the diff a hunk or a file of it."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "id": "text", "who": "text", "file": "text", "age": "age", "added": "number", "removed": "number",
        "entries": "number", "refused": "number", "tokens": "number",
    }  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._metas: Mapping[str, Meta] = {}
        self._runs: dict[str, DreamRun] = {}
        self._columns = 0
        self._why_none = ""

    # The list

    def columns(self) -> Sequence[Column[Commit]]:
        """When, who, what and how much."""
        return (
            aged("Age", lambda row: row.at, align="right", tone="dim"),
            Column("who", "Who", _who, width=13, priority=2, tone="accent", sort=_who),
            Column("lines", "+/-", _lines, width=8, align="right", sort=lambda row: sum(_counts(row))),
            Column("entries", "Entries", lambda row: "" if row.entries is None else f"{row.entries:,}", width=7,
                   priority=5, align="right", sort=lambda row: row.entries or 0),
            Column("files", "Files", _files, width=18, priority=3),
            *run_columns(self._runs),
            Column("subject", "Subject", lambda row: row.subject, min_width=15, sort=lambda row: row.subject),
            Column("sha", "Commit", lambda row: row.short, width=8, priority=1, tone="dim"),
        )  # fmt: skip

    def row_id(self, row: Commit) -> str:
        """The id of the commit."""
        return row.sha

    def load(self) -> Iterable[Sequence[Commit]]:
        """All of them, the newest first; what is counted late is counted here, not while a row is drawn."""
        commits, recorded = self.ws.dream.commits(), self.ws.dream.recorded()
        self._metas = {row.sha: meta for row in commits if row.is_dream and (meta := recorded.meta_of(row)) is not None}
        self._runs = {row.sha: run_of(row, self._metas[row.sha]) for row in commits if row.sha in self._metas}
        for start in range(0, len(commits), PAGE):
            page = commits[start : start + PAGE]
            for commit in page:
                _ = commit.files, commit.entries
            yield page

        self._why_none = "" if commits else self.ws.dream.why_none()

    def nothing(self) -> str:
        """Say why no versions are kept where that is known."""
        return self._why_none or self.EMPTY

    def search_text(self, row: Commit) -> str:
        """Words are searched in the message."""
        return row.message

    def field(self, row: Commit, name: str) -> Any:
        """The fields of the filter language."""
        if name == "file":
            return {path for stat in row.files for path in (stat.path, stat.path.rpartition("/")[2])}
        added, removed = _counts(row)
        run = self._runs.get(row.sha)
        who = {row.actor, _who(row), *filter(None, [run.dreamer if run else ""])}
        values = {
            "id": row.sha, "who": who, "age": row.at, "added": added, "removed": removed,
            "refused": run.refused if run else None, "tokens": run.tokens if run else None,
        }  # fmt: skip
        return values.get(name, row.entries)

    def _show_view(self, view: View[Commit]) -> None:
        columns = self.columns()
        if len(columns) != self._columns:  # some are for what our own Dreams have
            self._columns = len(columns)
            self.table.set_columns(columns)
        super()._show_view(view)

    # The detail

    def detail(self, row: Commit) -> ShownDiff:
        """The message, the diff with its evidence, and the entries that were read."""
        ws = self.ws
        commit, diffs = ws.dream.show(row.sha)
        entries, known = _entries(ws, commit)
        meta = self._metas.get(row.sha, {})
        evidence = evidence_among(entries)
        if meta:
            evidence = evidence_recorded(meta, ws.history.entries_of, evidence)
        files = [file_diff(diff, evidence) for diff in diffs if diff.path != DREAM_CURSOR]
        above: list[Block] = [Body(message_beside(commit.message, files)), *_state(ws, commit)]
        above += [Field("commit", f"{commit.short} by {commit.author}"), Field("when", format_time(commit.at))]
        if commit.cursor_after is not None:
            before = "not kept" if commit.cursor_before is None else commit.cursor_before
            above.append(Field("cursor", f"{before} → {commit.cursor_after}"))
        above += told_above(meta) if meta else []
        below = [*told_below(meta), *entries_read(entries, known)] if commit.is_dream else []
        return ShownDiff(row.sha, ProposalShown(files, above, below))

    def copy_text(self) -> str:
        """The id of the commit, as commands take it; the hunk while the diff is in focus."""
        current = self.view.current if self.view.has_focus else None
        if current is not None:
            return "\n".join(f"{line.sign}{line.text}" for line in current[1].lines)
        row = self.table.cursor_row
        return "" if row is None else row.sha

    # Actions

    def do_blame(self) -> None:
        """Who wrote the lines: of the file that the diff is at, else those that this commit wrote and that stand."""
        row = self.table.cursor_row
        current = self.view.current if self.view.has_focus else None
        if current is not None:
            added = next((line.text for line in current[1].lines if line.sign == "+"), "")
            show_blame(self.console, current[0].path, added)
        elif row is not None:
            show_blame(self.console, commit=row.sha)

    def do_versions(self) -> None:
        """The file that the diff is at as of this commit, and before and after it."""
        row, current = self.table.cursor_row, self.view.current if self.view.has_focus else None
        if row is not None:
            changed = [stat.path for stat in row.files if stat.path != DREAM_CURSOR]
            show_versions(self.console, row.sha, current[0].path if current else next(iter(changed), ""))

    def do_only_dreams(self) -> None:
        """Hide what people changed, or show it again."""
        self.filter_by("" if self.listing.filter.source == ONLY_DREAMS else ONLY_DREAMS)

    async def do_dream_run(self) -> None:
        """Say what waits, then run a Dream."""
        self.none_runs()
        blocks, refused = await self.console.in_thread(_before_run)

        async def run(_yes: bool) -> None:
            self._run()

        self.ask(
            ConfirmScreen("Run a Dream", blocks, "One commit, which t or u takes back.",
                          opened_by=self.key_of("dream_run"), refused=refused), run,
        )  # fmt: skip

    def do_dream_review(self) -> None:
        """Show what a Dream would change, to decide on it edit by edit."""
        self.none_runs()
        show_review(self.console)

    @work(group="dream", exit_on_error=False)
    async def _run(self) -> None:
        """Beside the keys: what goes on is said each second, esc stops it before anything is written."""
        results: list[DreamResult] = []

        async def dream(run: Running) -> None:
            def work(ws: Workspace) -> list[Operation]:
                result = ws.dream.run(watch=run.step)
                results.append(result)
                return [result.operation] if result.operation else []

            await self.change(work)

        try:
            most = self.ws.settings.dream_max_batch_size
            await self.beside_the_keys(dream, Running(f"a Dream over at most {most:,} entries"))
        except NanomemError as error:
            say_error(self, error)
        if results:
            if results[0].sha:
                self.show_row(results[0].sha)
            say(self, result_words(results[0], len(results[0].refused)))

    async def do_dream_restore(self) -> None:
        """Show what taking back would do, part by part, then do it."""
        row = self.table.cursor_row
        if row is None:
            return
        title = f"Take back {row.short} {row.subject}"
        gone, more, preview = await self.console.in_thread(lambda ws: _gone(ws, row))
        parts = self._parts(row, preview)
        if gone and not more:
            self.app.push_screen(ConfirmScreen(title, gone, refused="There is nothing to take back."))
        else:
            revert(self, row.sha, title, parts[-1:] if gone else parts, "take it back", gone)

    def _parts(self, row: Commit, preview: RevertPreview | None) -> list[tuple[str, RevertPart]]:
        """What can be taken back, what the cursor is on first: in the diff the hunk, then its edits one by one."""
        what = "this run" if row.is_dream else "this change"
        parts = [(f"All of {what}; later edits stay", RevertPart())]
        if preview is not None and preview.conflicts:
            parts += [
                (f"All of {what}; lines that were changed since stay as they are now", RevertPart(settle="now")),
                (f"All of {what}; lines that were changed since as they were before it", RevertPart(settle="then")),
            ]
        number, current = self.view.hunk_index, self.view.current
        if current is not None and number is not None and self._shown == row.sha:
            file = current[0]
            before = sum(len(other.hunks) for other in self.view.files[: self.view.files.index(file)])
            hunks = hunk_parts(file, number - before)
            hunks += edit_parts(preview.edits if preview else (), file.path, file.hunks[number - before])
            whole_file = (f"All that it changed in {file.path}", RevertPart(file.path))
            parts = [*hunks, whole_file, *parts] if self.view.has_focus else [*parts, whole_file, *hunks]
        return [*parts, (f"Back to before {what}; later changes are lost", RevertPart(whole=True))]


def _who(row: Commit) -> str:
    return who_made(row)


def hunk_parts(file: FileDiff, shown: int) -> list[tuple[str, RevertPart]]:
    """Each run of changed lines in a hunk as it is shown, with the lines around it: alone it can be taken back."""
    runs = [run for hunk in file.hunks[:shown] for run in _runs(hunk)]
    own = list(_runs(file.hunks[shown]))
    found = []
    for number, lines in enumerate(own, len(runs)):
        words = f": {lines[-1].sign} {one_line(lines[-1].text, 60)}" if len(own) > 1 else ""
        found.append((f"Hunk {number + 1} of {file.path}{words}", RevertPart(file.path, number)))
    return found


def edit_parts(edits: Sequence[RestoreEdit], path: str, hunk: Hunk) -> list[tuple[str, RevertPart]]:
    """Each of the `edits` of a commit that a hunk shows, where it shows several: alone it can be taken back."""
    lines = {(line.sign, line.text) for line in hunk.lines}
    own = [
        edit
        for edit in edits
        if edit.path == path
        and (any(("-", text) in lines for text in edit.removed) or any(("+", text) in lines for text in edit.added))
    ]
    return [
        (f"Only one edit: {one_line(edit.words, 60)}", RevertPart(edit=edit.number)) for edit in own if len(own) > 1
    ]


def _runs(hunk: Hunk) -> Iterator[list[DiffLine]]:
    """The changed lines of a hunk, in runs without a kept line between them."""
    for changed, lines in groupby(hunk.lines, lambda line: line.sign != " "):
        if changed:
            yield list(lines)


def _before_run(ws: Workspace) -> tuple[list[Block], str]:
    """What a Dream would read, and why it can't be run now, "" when it can."""
    state = ws.dream.status()
    if stops := state["problem"] or state["ahead"]:
        return [Body(f"Cannot dream: {stops['what']}.")], f"What to do: {stops['fix']}."
    size = ws.settings.dream_max_batch_size
    by_model = ws.settings.dreamer == "model"
    who = "by a language model: minutes" if by_model else "by rules, without a model"
    blocks: list[Block] = [
        Field("waiting", f"{state['unprocessed']:,} entries since the last Dream (#{state['cursor']})"),
        Field("it reads", f"the oldest {min(size, state['unprocessed']):,} of them, {who}"),
        Body("T shows first what it would change, to accept or reject edit by edit.", "dim"),
    ]
    if unread := state["unread"]:
        then = "read again when nothing is new" if by_model else "they wait for a Dream by a model"
        blocks.insert(2, Field("not read", f"{counted(unread, 'entry', 'entries')} by the rules: {then}"))
    if names := ", ".join(state["unversioned"]):
        waits = "." if ws.dream.outer_repository() else ": what would change there waits in the inbox."
        blocks.append(Body(f"No version of {names} is kept here{waits}", "warn"))
    if state["running"]:
        return blocks, "The agent is dreaming now: wait until it is done."
    to_read = state["unprocessed"] or (unread and by_model)
    return blocks, "" if to_read else "Nothing to dream about: no entry is new since the last Dream."


def _entries(ws: Workspace, commit: Commit) -> tuple[list[HistoryEntry], bool]:
    """The entries that a Dream went through, the oldest first, and whether they are known."""
    last = commit.cursor_after
    if not commit.is_dream or last is None or not any(stat.path == DREAM_CURSOR for stat in commit.files):
        return [], False
    if commit.entries is None:
        return [], False
    first = last - commit.entries
    return ws.history.read_between(first, last), True


def _state(ws: Workspace, commit: Commit) -> list[Block]:
    """Whether what the commit did is still there."""
    try:
        preview = ws.dream.revert_preview(commit.sha)
    except (Refused, NothingToDo, NanomemError) as error:
        return [Body(f"{error.what[:1].upper()}{error.what[1:]}.", "dim")]
    if preview.conflicts:
        return [Body("In part replaced by later edits of the same lines.", "warn")]
    if not preview.files and any(stat.path != DREAM_CURSOR for stat in commit.files):
        return [Body("No longer in force: later edits replaced or took back all of it.", "warn")]
    return []


def _gone(ws: Workspace, row: Commit) -> tuple[list[Block], bool, RevertPreview | None]:
    """Why nothing of a commit can be taken back, empty when something can; whether going back before it can; and what
    taking back all of it would do.
    """
    try:
        preview = ws.dream.revert_preview(row.sha)
        if preview.files or preview.conflicts:
            return [], False, preview
        whole = ws.dream.revert_preview(row.sha, whole=True).changes_anything
    except NanomemError:
        return [], False, None  # the dialog says why
    what = "this Dream" if row.is_dream else "this change"
    if all(stat.path == DREAM_CURSOR for stat in row.files):
        said = f"{what.capitalize()} moved only the cursor: there is no line to take back."
    else:
        said = f"Nothing of {what} is in the files any more: later edits replaced or took back all of it."
    left = "What is left is to go back to before it, as a whole, if you want that:"
    return [Body(said, "warn"), Body(left if whole else "The files are as they were before it.", "dim")], whole, preview


def _counts(row: Commit) -> tuple[int, int]:
    stats = [stat for stat in row.files if stat.path != DREAM_CURSOR]
    return sum(stat.added for stat in stats), sum(stat.removed for stat in stats)


def _lines(row: Commit) -> str:
    added, removed = _counts(row)
    return f"+{added} -{removed}"


def _files(row: Commit) -> str:
    names = [stat.path.rpartition("/")[2].removesuffix(".md") for stat in row.files if stat.path != DREAM_CURSOR]
    return ", ".join(names) or ("(cannot be read)" if row.damage else "(cursor only)")
