"""Two texts beside each other, or below each other where that can't be read."""

from nanomem_tui.core.text import cell_width
from nanomem_tui.widgets.text_view import Body, side_by_side


def text(line):
    return "".join(part for part, _ in line)


def test_with_room_there_are_two_columns():
    lines = side_by_side([Body("one\ntwo\nthree")], [Body("un")], 70, "│")
    assert [text(line).rstrip() for line in lines] == [
        "one" + " " * 30 + " │ un",
        "two" + " " * 30 + " │",
        "three" + " " * 28 + " │",
    ]


def test_wide_letters_do_not_move_the_second_column():
    lines = side_by_side([Body("记住：小满每周三要接 🎉 ชอบกาแฟ")], [Body("POST")], 80, "│")
    before, _, _ = text(lines[0]).partition("│")
    assert cell_width(before) == (80 - 3) // 2 + 1


def test_without_room_they_are_stacked():
    assert [text(line) for line in side_by_side([Body("one")], [Body("two")], 60, "|")] == ["one", "two"]
