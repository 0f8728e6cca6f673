"""The Pictures screen, behind Status: what the memory looks like over time and by kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from textual.widget import Widget

from nanomem_tui.memory.filters import Kind
from nanomem_tui.review.charts import Picture, pictures
from nanomem_tui.screens.workspace_screen import WorkspaceScreen
from nanomem_tui.widgets.columns import Column
from nanomem_tui.widgets.document import Document, Line
from nanomem_tui.widgets.look import glyphs
from nanomem_tui.widgets.picture import drawn, in_one_line
from nanomem_tui.widgets.preview import Preview

SMALL = 14  # cells
MOST_WIDE = 120  # cells of a plot
HEIGHT = 20  # lines at most


class PicturePane(Preview):
    """One picture as wide and as high as the pane."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.picture: Picture | None = None

    def show_picture(self, picture: Picture | None) -> None:
        """Show it; nothing is painted when it is what is shown already."""
        if picture != self.picture:
            self.picture = picture
            self.lay_out_again()

    def lay_out(self, width: int, wrapped: bool) -> list[Line]:
        """The picture, which a narrow pane makes narrow."""
        if self.picture is None:
            return []
        height = min(max(self.size.height, 1), HEIGHT)
        return drawn(self.picture, min(width, MOST_WIDE), height, glyphs(self))


class PicturesScreen(WorkspaceScreen[Picture]):
    """The pictures of one memory."""

    SCREEN = "pictures"
    BEHIND = "status"
    FLASHES = False
    HELP = "What the memory looks like over time and by kind. Each picture says in a sentence what it comes to."
    FILTER_FIELDS: ClassVar[Mapping[str, Kind]] = {"name": "text"}

    def columns(self) -> Sequence[Column[Picture]]:
        """What it shows, small, and what it comes to."""
        return (
            Column("title", "Picture", lambda row: row.title, width=18),
            Column("small", "", lambda row: in_one_line(row, SMALL, glyphs(self)), width=SMALL, priority=1,
                   tone="accent", written=lambda row: ""),
            Column("said", "What it comes to", lambda row: row.said, min_width=30),
        )  # fmt: skip

    def row_id(self, row: Picture) -> str:
        """Its name."""
        return row.name

    def load(self) -> Iterable[Sequence[Picture]]:
        """One after the other, those that are quick first."""
        for picture in pictures(self.ws):
            yield [picture]

    def search_text(self, row: Picture) -> str:
        """What is said of it."""
        return f"{row.title}\n{row.said}"

    def field(self, row: Picture, name: str) -> Any:
        """Only its name."""
        return row.name

    def dimmed(self, row: Picture) -> bool:
        """There is nothing to draw."""
        return not row.labels

    def detail(self, row: Picture) -> Picture:
        """The picture itself."""
        return row

    def make_detail(self) -> Widget:
        """A plot."""
        return PicturePane(id="detail")

    def show_detail(self, detail: Any) -> None:
        """From its top."""
        if isinstance(detail, Picture):
            self.query_one(PicturePane).show_picture(detail)
        elif isinstance(detail, Document):
            self.query_one(PicturePane).show_picture(None)

    def do_next_list(self) -> None:
        """Back to the health of every part."""
        self.console.go("status")
