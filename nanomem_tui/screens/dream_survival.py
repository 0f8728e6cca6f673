"""The Survival screen, behind Dream: how much of what each Dream wrote still stands, as a number and as a curve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from textual.widget import Widget

from nanomem_tui.core.text import counted
from nanomem_tui.dreams.blame import plain
from nanomem_tui.dreams.versions import Lasting
from nanomem_tui.memory.filters import Kind
from nanomem_tui.screens.rows import when
from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.bars import TitleBar
from nanomem_tui.widgets.columns import Column, aged
from nanomem_tui.widgets.curve import curve, small_curve
from nanomem_tui.widgets.document import Block, Body, Document, Field, Heading, Line, Spans, lay_out
from nanomem_tui.widgets.look import glyphs
from nanomem_tui.widgets.preview import Preview

SPARK = 14  # cells
HEIGHT = 7  # lines of the curve
MOST_WIDE = 72  # cells of the curve


@dataclass(frozen=True, slots=True)
class Survived:
    """A Dream, what it said in its commit, what became of its lines, and the commits that took some away, by id."""

    lasting: Lasting
    subject: str
    takers: Mapping[str, str]


class Told(NamedTuple):
    """What the right pane shows: a curve, and what stands above and below it."""

    shares: Sequence[float] = ()
    above: tuple[Block, ...] = ()
    below: tuple[Block, ...] = ()


class CurvePane(Preview):
    """A curve as wide as the pane, between words."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.told = Told()

    def show_told(self, told: Told) -> None:
        """Show it from its top; nothing is painted when it is what is shown already."""
        if told != self.told:
            self.told = told
            self.lay_out_again()

    def lay_out(self, width: int, wrapped: bool) -> list[Line]:
        """The words, the curve, the words."""
        told = self.told
        lines = lay_out(told.above, width, wrapped)
        if told.shares:
            drawn = curve(told.shares, min(width, MOST_WIDE), HEIGHT, glyphs(self))
            lines += [((text, "accent"),) for text in drawn]
        below = lay_out(told.below, width, wrapped)
        return [*lines, *([()] if below else []), *below]


class SurvivalScreen(WorkspaceScreen[Survived]):
    """The Dreams with what is left of them."""

    SCREEN = "survival"
    BEHIND = "dream"
    FLASHES = False
    EMPTY = "No Dream has written a line yet."
    HELP = (
        "Of the lines that each Dream added, those that still stand, after every later version and now. A line that "
        "moved stands; one that was reworded is gone. enter shows the lines; t goes to the way back."
    )
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {
        "id": "text", "age": "age", "added": "number", "stand": "number", "share": "number",
    }  # fmt: skip

    def columns(self) -> Sequence[Column[Survived]]:
        """When, how many lines, how many stand, and the way there."""
        return (
            aged("Age", lambda row: row.lasting.at, align="right", tone="dim"),
            Column("added", "Added", lambda row: f"{row.lasting.added:,}", width=6, align="right",
                   sort=lambda row: row.lasting.added),
            Column("stand", "Stand", lambda row: f"{row.lasting.standing:,}", width=6, align="right",
                   sort=lambda row: row.lasting.standing),
            Column("share", "Share", _share, width=6, align="right", sort=lambda row: row.lasting.share),
            Column("curve", "Since then", self._spark, width=SPARK, priority=1, tone="accent"),
            Column("subject", "Subject", lambda row: row.subject, min_width=16),
            Column("sha", "Commit", lambda row: row.lasting.sha[:8], width=8, priority=2, tone="dim"),
        )  # fmt: skip

    def _spark(self, row: Survived) -> str:
        """The curve in one line."""
        return small_curve(row.lasting.curve(), SPARK, glyphs(self)) if row.lasting.added else ""

    def row_id(self, row: Survived) -> str:
        """The id of the commit."""
        return row.lasting.sha

    def load(self) -> Iterable[Sequence[Survived]]:
        """All Dreams, the newest first."""
        found = self.ws.dream.versions.survival()
        subjects = {commit.sha: commit.subject for commit in self.ws.dream.commits()}
        yield [
            Survived(one, subjects.get(one.sha, ""), {sha: subjects[sha] for sha in _takers(one) & subjects.keys()})
            for one in found
        ]

    def search_text(self, row: Survived) -> str:
        """Words are searched in the lines."""
        return "\n".join((row.subject, *(fate.text for fate in row.lasting.lines)))

    def field(self, row: Survived, name: str) -> Any:
        """The fields of the filter language; `share` in percent."""
        one = row.lasting
        values = {"id": one.sha, "age": one.at, "added": one.added, "stand": one.standing}
        return values.get(name, round(100 * one.share))

    def dimmed(self, row: Survived) -> bool:
        """Nothing was added, or nothing of it stands."""
        return not row.lasting.standing

    def _say_totals(self) -> None:
        super()._say_totals()
        added = sum(row.lasting.added for row in self.listing.rows)
        if added and len(self.table.rows) == len(self.listing.rows):
            stand = sum(row.lasting.standing for row in self.listing.rows)
            dreams = counted(len(self.listing.rows), "Dream")
            self.query_one(TitleBar).set_right(f"{dreams} · {stand:,} of {added:,} lines stand ({stand / added:.0%})")

    def detail(self, row: Survived) -> Told:
        """The curve and the lines."""
        one = row.lasting
        later = counted(one.versions - one.number - 1, "later version")
        blocks: list[Block] = [
            Body(row.subject),
            Field("when", when(one.at)),
            Field("added", counted(one.added, "line")),
            Field("stand", f"{one.standing:,} ({one.share:.0%})" if one.added else "nothing to lose"),
        ]
        if one.added:
            blocks.append(Heading(f"Lines that stand, after it and {later}"))
        return Told(tuple(one.curve()) if one.added else (), tuple(blocks), tuple(_lines(row)))

    def make_detail(self) -> Widget:
        """A curve with words above and below."""
        return CurvePane(id="detail")

    def show_detail(self, detail: Any) -> None:
        """From its top."""
        if isinstance(detail, Told):
            self.query_one(CurvePane).show_told(detail)
        elif isinstance(detail, Document):
            self.query_one(CurvePane).show_told(Told())

    # Actions

    def do_dream_restore(self) -> None:
        """To the Dream itself, where it can be taken back."""
        row = self.table.cursor_row
        if row is not None:
            self.console.go("dream", row.lasting.sha)
            self.do_elsewhere("dream", "dream_restore")


def _takers(one: Lasting) -> set[str]:
    return {fate.gone for fate in one.lines if fate.gone is not None}


def _share(row: Survived) -> str:
    return f"{row.lasting.share:.0%}" if row.lasting.added else "-"


def _lines(row: Survived) -> Iterable[Block]:
    standing = [fate for fate in row.lasting.lines if fate.gone is None]
    gone = [fate for fate in row.lasting.lines if fate.gone is not None]
    if standing:
        yield Heading(f"Stand ({len(standing):,})")
        yield from (Spans((("  ", ""), (plain(fate.text), "")), 4) for fate in standing)
    if gone:
        yield Heading(f"Gone ({len(gone):,})")
    for fate in gone:
        yield Spans((("- ", "removed"), (plain(fate.text), "removed")), 4)
        by = f"{fate.gone[:8]} {row.takers.get(fate.gone, '')}" if fate.gone else "an edit that no commit holds yet"
        yield Spans((("    with ", "label"), (by, "dim")), 4)
