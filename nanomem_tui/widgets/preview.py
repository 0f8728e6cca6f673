"""The detail pane: fields, headings and texts of one row, read-only, scrollable, wrapped or not."""

from __future__ import annotations

from nanomem_tui.widgets.document import Body, Document, Line, lay_out
from nanomem_tui.widgets.text_view import TextView


class Preview(TextView):
    """Shows a `Document`. Texts are untrusted; long ones are cut at a stated size."""

    DEFAULT_CSS = "Preview { padding: 0 0 0 1; }"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.document = Document()

    def show(self, document: Document, keep_place: bool = False) -> None:
        """Show `document`, from its top unless `keep_place`; nothing is painted when it is what is shown already."""
        if document != self.document:
            self.document = document
            self.lay_out_again(keep_place)

    def say(self, text: str) -> None:
        """Show one quiet sentence instead of a document."""
        self.show(Document((Body(text, "dim"),)))

    def lay_out(self, width: int, wrapped: bool) -> list[Line]:
        """The lines of the document."""
        return lay_out(self.document.blocks, width, wrapped)
