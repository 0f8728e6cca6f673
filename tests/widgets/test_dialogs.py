"""Dialogs ask before harm is done, never by accident, and text typed into them stays text."""

from __future__ import annotations

from typing import Any, cast

import pytest
from textual import events
from textual.app import App

from nanomem_tui.actions import ACTIONS, SCREENS, Context, actions_on
from nanomem_tui.background import waiting_words
from nanomem_tui.core.errors import BadInput, Conflict
from nanomem_tui.widgets.bars import FilterBar, LineBar, LineInput, say, say_error
from nanomem_tui.widgets.dialogs import AskScreen, ConfirmScreen, EditScreen, FormField, FormScreen, SafeTextArea
from nanomem_tui.widgets.help import HelpScreen, PaletteScreen, help_document
from nanomem_tui.widgets.table import LineTable
from nanomem_tui.widgets.text_view import Body, Preview

UNSET: Any = "nothing yet"


class DialogApp(App[None]):
    ENABLE_COMMAND_PALETTE = False

    def __init__(self):
        super().__init__()
        self.answer: Any = UNSET
        self.told: list[Any] = []

    def compose(self):
        yield FilterBar()

    def ask(self, screen):
        def answered(answer):
            self.answer = answer

        self.push_screen(screen, answered)

    def on_filter_bar_filter_changed(self, event):
        self.told.append(event.query)

    def on_filter_bar_filter_left(self, event):
        self.told.append(("left", event.cleared))


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["y"], True),
        (["n"], False),
        (["escape"], False),
        (["enter"], UNSET),
        (["d"], UNSET),
        (["d", "enter", "space", "d"], UNSET),
    ],
)
async def test_only_yes_confirms(keys, answer):
    app = DialogApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(ConfirmScreen("Delete 2 items [/foo]", [Body("one [/bar] \x1b[2J"), Body("two")], opened_by="d"))
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        assert app.answer is answer


async def test_the_key_that_opened_it_never_confirms():
    app = DialogApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(ConfirmScreen("Copy", [Body("x")], opened_by="y"))
        await pilot.pause()
        await pilot.press("y", "y")
        assert app.answer is UNSET
        await pilot.press("Y")
        assert app.answer is True


async def test_what_cannot_be_undone_wants_a_typed_word():
    app = DialogApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(ConfirmScreen("Reset lessons", [Body("61 lessons")], "This can't be undone.", word="reset"))
        await pilot.pause()
        await pilot.press("y", "enter")
        assert app.answer is UNSET
        app.screen.query_one(LineInput).value = "reset"
        await pilot.press("enter")
        await pilot.pause()
        assert app.answer is True


async def test_what_is_refused_cannot_be_confirmed():
    app = DialogApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(ConfirmScreen("Compact", [Body("x")], refused="an agent is running"))
        await pilot.pause()
        await pilot.press("y", "Y", "enter")
        assert app.answer is UNSET
        await pilot.press("escape")
        assert app.answer is False


async def test_editing_saves_what_was_typed():
    app = DialogApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(EditScreen("Edit", "likes tea"))
        await pilot.pause()
        await pilot.press(*" qjd?", "ctrl+s")
        await pilot.pause()
        assert app.answer == "likes tea qjd?"


async def test_an_untouched_text_is_no_change_even_when_it_holds_controls():
    app = DialogApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(EditScreen("Edit", "evil \x1b[2J"))
        await pilot.pause()
        assert app.screen.query_one(SafeTextArea).text == "evil ␛[2J"
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert app.answer is None


async def test_leaving_an_edited_text_asks_once():
    app = DialogApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(EditScreen("Edit", "likes tea"))
        await pilot.pause()
        await pilot.press("x", "escape")
        assert app.answer is UNSET
        await pilot.press("escape")
        await pilot.pause()
        assert app.answer is None


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
async def test_a_pasted_line_end_is_a_new_line_whichever_way_a_terminal_sends_it(end):
    app = DialogApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(EditScreen("Edit", ""))
        await pilot.pause()
        app.post_message(events.Paste(f"one{end}two{end}{end}three"))
        await pilot.pause()
        assert app.screen.query_one(SafeTextArea).text == "one\ntwo\n\nthree"


async def test_pasted_controls_become_pictures():
    app = DialogApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(EditScreen("Edit", ""))
        await pilot.pause()
        area = app.screen.query_one(SafeTextArea)
        app.post_message(events.Paste("a\x1b[31m\u202eb"))
        await pilot.pause()
        assert area.text == "a␛[31m⟨U+202E⟩b"


async def test_asking_for_one_line():
    app = DialogApp()
    async with app.run_test(size=(60, 20)) as pilot:
        app.ask(AskScreen("Find in all transcripts"))
        await pilot.pause()
        await pilot.press(*"tea", "enter")
        await pilot.pause()
        assert app.answer == "tea"


async def test_help_lists_every_key_and_why_not_now():
    text = help_document(Context("items"), intro="What the agent believes.").plain()
    assert text.startswith("What the agent believes.")
    for action in ACTIONS:
        assert (action.help_on("items") in text) is (action.on("items")), action.name
    assert "Not now: there is no row here." in text
    assert "[nanomem memory edit ID]" in text
    app = DialogApp()
    async with app.run_test(size=(60, 20)) as pilot:
        app.ask(HelpScreen(Context("items")))
        await pilot.pause()
        await pilot.press("G")
        assert app.screen.query_one(Preview).scroll_offset.y > 0
        await pilot.press("question_mark")
        await pilot.pause()
        assert app.answer is None


async def test_the_palette_finds_by_name_and_says_why_not():
    app = DialogApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(PaletteScreen(Context("items", can_undo=True)))
        await pilot.pause()
        await pilot.press(*"undo")
        assert app.screen.query_one(LineTable).cursor_id == "items undo"
        await pilot.press("enter")
        await pilot.pause()
        assert app.answer.action.name == "undo"
        app.answer = UNSET
        app.ask(PaletteScreen(Context("items")))
        await pilot.pause()
        await pilot.press(*"merge", "enter")
        assert app.answer is UNSET
        await pilot.press("escape")
        await pilot.pause()
        assert app.answer is None


@pytest.mark.parametrize(
    ("screen", "typed", "found"),
    [
        ("status", "backup", "status backup"),
        ("items", "backup", "status backup"),
        ("status", "back up", "status backup"),
        ("status", "fix", "status mend"),
        ("items", "undo", "items undo"),
    ],
)
async def test_the_palette_finds_by_the_name_that_a_person_types(screen, typed, found):
    app = DialogApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(PaletteScreen(Context(screen)))
        await pilot.pause()
        await pilot.press(*("space" if letter == " " else letter for letter in typed))
        assert app.screen.query_one(LineTable).cursor_id == found


async def test_the_palette_has_the_actions_of_all_screens_and_the_way_to_them():
    app = DialogApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(PaletteScreen(Context("status")))
        await pilot.pause()
        palette = cast("PaletteScreen", app.screen)
        table = palette.query_one(LineTable)
        offered = {(choice.screen, choice.action.name) for choice in table.rows}
        assert offered >= {(s, a.name) for s in SCREENS for a in actions_on(s, "screen")}
        await pilot.press(*"take back", "down")
        found = {
            choice.screen: table.render_line(y).text
            for y, choice in enumerate(table.rows, 1)
            if choice.action.name == "dream_restore"
        }
        assert " 5 t " in found["dream"]
        assert " U t " in found["ledger"]


def form(check=dict):
    fields = [FormField("kind", "fact", "one of these"), FormField("importance", "", "0 to 1")]
    return FormScreen("Fields", fields, check)


async def test_a_form_gives_only_what_was_changed():
    app = DialogApp()
    async with app.run_test(size=(60, 20)) as pilot:
        app.ask(form())
        await pilot.pause()
        await pilot.press("tab", *"0.3", "enter")
        await pilot.pause()
        assert app.answer == {"importance": "0.3"}
        app.ask(form())
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert app.answer is None


async def test_a_form_says_what_it_cannot_take_and_stays():
    def check(typed):
        raise BadInput("no kind “x”", "kind", "one of these")

    app = DialogApp()
    async with app.run_test(size=(60, 20)) as pilot:
        app.ask(form(check))
        await pilot.pause()
        await pilot.press("x", "enter")
        await pilot.pause()
        assert app.answer is UNSET
        assert app.screen.query_one("#dialog-keys", LineBar).text.strip() == "no kind “x” (one of these)"
        assert app.screen.query_one("#field-kind", LineInput).value == "x"
        await pilot.press("escape")
        await pilot.pause()
        assert app.answer is None


async def test_the_filter_bar_tells_what_is_typed():
    app = DialogApp()
    async with app.run_test(size=(80, 24)) as pilot:
        bar = app.query_one(FilterBar)
        assert not bar.display
        bar.open()
        await pilot.pause()
        await pilot.press(*"kind:q")
        await pilot.pause()
        assert app.told[-1] == "kind:q"
        await pilot.press("enter")
        await pilot.pause()
        assert app.told[-1] == ("left", False)
        assert bar.is_open
        bar.open()
        await pilot.press("escape")
        await pilot.pause()
        assert ("left", True) in app.told
        assert not bar.is_open
        assert bar.query_text == ""


async def test_nothing_blinks():
    app = DialogApp()
    async with app.run_test(size=(80, 24)) as pilot:
        assert not app.query_one(LineInput).cursor_blink
        app.ask(EditScreen("Edit", "x"))
        await pilot.pause()
        assert not app.screen.query_one(SafeTextArea).cursor_blink


async def test_a_notice_is_never_markup():
    app = DialogApp()
    async with app.run_test(size=(80, 24)) as pilot:
        say(app, "deleted [/foo] \x1b[2J")
        say_error(app, Conflict("changed meanwhile [/x]", "USER.md", "reload (f5)"))
        say_error(app, ValueError("[bold"))
        await pilot.pause()
        notices = list(app._notifications)
        assert [notice.message for notice in notices] == [
            "deleted [/foo] ␛[2J",
            "USER.md (reload (f5))",
            "that did not work (ValueError: [bold)",
        ]
        assert notices[1].title == "changed meanwhile [/x]"


def test_help_says_what_the_words_of_the_status_bar_mean():
    text = help_document(Context("items")).plain()
    for words in (waiting_words(3, only_exports=False), waiting_words(3, only_exports=True)):
        assert words.replace("3", "N") in text
