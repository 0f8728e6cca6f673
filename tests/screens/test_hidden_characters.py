"""Editing in the console: what was not typed over keeps its bytes, whatever cannot be seen in it."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.text import editable, typed_over
from tests.screens.console import console

HIDDEN = (
    "# User\n\n- Mira\n- abc\u200f \u05e9\u05dc\u05d5\u05dd\n- Donau\xadschiff\n- \ufeffbom\n- x \x1b[31m y\n- end\n"
)
TEXTS = [
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "Donau\u00adschiff",
    "abc\u200f \u05e9\u05dc\u05d5\u05dd",
    "x\u202eabc\u202c y",
    "a\ufeffb",
    "one\r\ntwo",
    "red \x1b[31mred\x9b",
    "\u2764\ufe0f a\u3164b e\u0301",
    "a\u2028b\u2029c\x85d\x0be",
    "says ⟨U+200F⟩ of \u200f and ␍ of \r!",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "typed"),
    [
        (HIDDEN.encode(), b"- last\n"),
        (b"\xef\xbb\xbf" + HIDDEN.replace("\n", "\r\n").encode(), b"- last\r\n"),
        (b"\xff\xfe" + HIDDEN.encode("utf-16-le"), "- last\n".encode("utf-16-le")),
    ],
)
async def test_a_line_that_is_added_to_a_file_changes_no_other(demo, data, typed):
    path = demo / "USER.md"
    path.write_bytes(data)
    async with console(demo, "files") as on:
        await on.at("USER.md")
        await on.press("e")
        await on.type("- last")
        await on.press("enter", "ctrl+s")
        await on.until(lambda: path.read_bytes() == data + typed)
        await on.press("u")
        await on.until(lambda: path.read_bytes() == data)


async def test_what_is_typed_at_the_end_of_an_item_changes_nothing_before_it(demo):
    with open_workspace(demo) as ws:
        key = ws.items.add("\n".join(TEXTS))[0].changes[0].key
    async with console(demo, "items") as on:
        await on.at(key)
        await on.press("e")
        await on.type(" END")
        await on.press("ctrl+s")
        await on.until(lambda: on.screen.ws.items.get(key).text.endswith("END"))
        assert on.screen.ws.items.get(key).text == "\n".join(TEXTS) + " END"


@pytest.mark.parametrize("text", TEXTS)
def test_only_what_was_typed_over_becomes_another(text):
    shown = editable(text)
    assert typed_over(text, shown, f"so {shown} END") == f"so {text} END"
    twice = f"{text}\n{text}"
    assert typed_over(twice, editable(twice), f"{shown}\n{shown[1:]}") == f"{text}\n{text[1:]}"
    other = f"- a\n- {text}\n- c"
    moved = editable(other).split("\n")
    assert typed_over(other, editable(other), "\n".join(["- c", *moved[1:-1], "- a"])).startswith(f"- c\n- {text}\n- a")


def test_a_picture_that_is_deleted_is_gone_and_its_neighbour_stays():
    before = "\u200f\u200ex\u200f"
    shown = editable(before)
    assert typed_over(before, shown, shown.removeprefix(editable("\u200f"))) == "\u200ex\u200f"
    assert typed_over(before, shown, "x") == "x"


def test_new_lines_end_as_the_others_do():
    assert typed_over("a\r\nb\r\n", "a\nb\n", "a\nnew\nb\n") == "a\r\nnew\r\nb\r\n"
    assert typed_over("a\r\nb\nc", "a\nb\nc", "a\nnew\nb\nc") == "a\r\nnew\nb\nc"
