"""A diff names every change with a sign, marks the changed words, and its cursor stands on a hunk."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from textual.app import App

from nanomem_tui.widgets.diff_view import DiffView, diff_texts, spans_of
from nanomem_tui.widgets.text_view import Body

BEFORE = "# User\n- likes tea at nine\n- lives in Paris\n" + "keep\n" * 8 + "## Work\n- old job in a bank\n"
AFTER = (
    "# User\n- likes coffee at nine\n- lives in Paris\n" + "keep\n" * 8 + "## Work\n- new job in a school\n- 喜欢咖啡\n"
)
TEXT = st.lists(st.sampled_from(["a", "b c", "b d", "", "漢字"]), max_size=12).map("\n".join)


def test_hunks_know_their_place_and_counts():
    diff = diff_texts("USER.md", BEFORE, AFTER)
    assert [hunk.title for hunk in diff.hunks] == ["line 1, User", "line 11, User"]
    assert diff.counts == (3, 2)
    assert diff_texts("NEW.md", "", "x\n").note == "new file"
    assert diff_texts("OLD.md", "x\n", "").note == "file removed"
    assert diff_texts("SAME.md", AFTER, AFTER).hunks == ()


def test_the_changed_words_stand_out():
    hunk = diff_texts("USER.md", BEFORE, AFTER).hunks[0]
    lines = {line.sign + line.text: spans for line, spans in spans_of(hunk)}
    assert ("tea", "removed-word") in lines["-- likes tea at nine"]
    assert ("coffee", "added-word") in lines["+- likes coffee at nine"]
    assert lines[" # User"] == [("# User", "")]


@given(TEXT, TEXT)
def test_nothing_is_lost_in_a_diff(before, after):
    diff = diff_texts("F.md", before, after, context=100)
    for hunk in diff.hunks:
        spans = list(spans_of(hunk))
        assert [line for line, _ in spans] == list(hunk.lines)
        assert all("".join(text for text, _ in parts) == line.text for line, parts in spans)
    if diff.hunks:
        new = [line.text for line in diff.hunks[0].lines if line.sign != "-"]
        old = [line.text for line in diff.hunks[0].lines if line.sign != "+"]
        assert "\n".join(new) == after.removesuffix("\n")
        assert "\n".join(old) == before.removesuffix("\n")


class DiffApp(App[None]):
    def __init__(self):
        super().__init__()
        self.told: list[int] = []

    def compose(self):
        yield DiffView()

    def on_diff_view_hunk_highlighted(self, event):
        self.told.append(event.index)


async def test_the_cursor_walks_from_hunk_to_hunk():
    app = DiffApp()
    async with app.run_test(size=(50, 30)) as pilot:
        view = app.query_one(DiffView)
        view.focus()
        hostile = diff_texts("E\x1b[2J[/foo].md", "", "evil \x1b]0;x\x07 [/bar]\n")
        view.show([diff_texts("USER.md", BEFORE, AFTER), hostile], [Body("abc123")])
        await pilot.pause()
        shown = [view.render_line(y).text.rstrip() for y in range(30)]
        assert "USER.md  +3 -2" in shown
        assert "▸ line 1, User" in shown
        assert "  - - likes tea at nine" in shown
        assert "  + - 喜欢咖啡" in [line.strip("\n") for line in shown]
        assert "  + evil ␛]0;x␇ [/bar]" in shown
        await pilot.press("n", "n", "n")
        assert view.hunk_index == 2
        assert view.current is not None
        assert view.current[0].path.startswith("E")
        await pilot.press("N")
        assert app.told == [1, 2, 1]


async def test_an_empty_diff_has_no_hunk():
    app = DiffApp()
    async with app.run_test(size=(50, 10)) as pilot:
        view = app.query_one(DiffView)
        view.focus()
        view.show([], [Body("nothing changed")])
        await pilot.press("n", "N", "j", "G")
        assert view.hunk_index is None
        assert view.render_line(0).text.startswith("nothing changed")
