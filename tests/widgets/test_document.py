"""A document becomes lines that fit, hides nothing, and shows hostile text as text."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App

from nanomem_tui.widgets.text_view import SHOWN_CHARACTERS, Body, Document, Field, Heading, Preview, Spans, lay_out


def plain(lines):
    return ["".join(text for text, _ in line) for line in lines]


def test_fields_headings_and_texts_become_lines():
    blocks = (Field("kind", "fact"), Field("text", "one two three four five"), Heading("More"), Body("a\nb", indent=2))
    assert plain(lay_out(blocks, 28)) == [
        "kind         fact",
        "text         one two three",
        "             four five",
        "",
        "More",
        "  a",
        "  b",
    ]


def test_spans_wrap_with_their_tones():
    lines = lay_out((Spans((("key  ", "accent"), ("what the key does", "dim")), indent=5),), 14)
    assert plain(lines) == ["key  what the", "     key does"]
    assert lines[0] == (("key  ", "accent"), ("what the", "dim"))
    assert lines[1][-1] == ("key does", "dim")


def test_a_long_text_is_cut_and_says_how_much_more_there_is():
    lines = plain(lay_out((Body("x" * 1_000_000),), 80))
    assert lines[-1] == f"… {1_000_000 - SHOWN_CHARACTERS:,} more of 1,000,000 characters"
    assert Document((Body("x" * 1_000_000),)).plain() == "x" * 1_000_000


def test_kept_lines_are_not_wrapped():
    assert plain(lay_out((Body("a long line of a plot", keep=True),), 10)) == ["a long line of a plot"]
    assert plain(lay_out((Body("a long line of a plot"),), 10, wrapped=False)) == ["a long line of a plot"]


@given(st.text(max_size=200), st.integers(24, 60))
def test_any_text_fits_and_holds_no_control(text, width):
    blocks = (Field("label", text), Heading(text), Body(text), Spans(((text, ""),), 3))
    for line in plain(lay_out(blocks[:1] + blocks[2:], width)):
        assert cell_len(line) <= width
        assert not [char for char in line if ord(char) < 32 or 0x7F <= ord(char) < 0xA0]


class PreviewApp(App[None]):
    def compose(self):
        yield Preview()


async def test_the_preview_scrolls_and_toggles_wrapping():
    app = PreviewApp()
    async with app.run_test(size=(40, 10)) as pilot:
        preview = app.query_one(Preview)
        preview.focus()
        preview.show(Document((Body("\n".join(f"line {n} " + "word " * 20 for n in range(50))),)))
        await pilot.pause()
        assert preview.render_line(0).text.startswith("line 0")
        await pilot.press("G")
        assert "word" in preview.render_line(9).text
        await pilot.press("g", "j")
        assert preview.scroll_offset.y == 1
        preview.toggle_wrap()
        await pilot.press("g")
        assert len(preview.lines) == 50
        assert preview.render_line(1).text.startswith("line 1")
        await pilot.press("right")
        assert not preview.render_line(1).text.startswith("line 1")
        await pilot.press("left")
        assert preview.render_line(1).text.startswith("line 1")


async def test_markup_in_a_text_is_only_text():
    app = PreviewApp()
    async with app.run_test(size=(40, 10)) as pilot:
        preview = app.query_one(Preview)
        preview.show(Document((Heading("[/foo]"), Body("[@click=app.quit]x[/] \x1b[2J\x9b"))))
        await pilot.pause()
        assert preview.render_line(0).text.startswith("[/foo]")
        assert preview.render_line(1).text.startswith("[@click=app.quit]x[/] ␛[2J\\x9b")
