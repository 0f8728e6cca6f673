"""What is typed in one burst is done in the order it was typed: whatever saves, chooses or moves comes after the text
before it. Driven by keys within the app, and in a real terminal."""

import time
from collections.abc import Callable

import pytest
from textual import events

from nanomem_tui.memory.recall.recall import Recall
from nanomem_tui.screens.base.jump_dialog import JumpScreen
from nanomem_tui.widgets.dialogs import FormScreen
from nanomem_tui.workspace import Workspace, open_workspace
from tests.screens.console import NAMES, console
from tests.snapshots.terminal import nanomem

pytestmark = pytest.mark.slow

MORE = " near the canal"
SENT = {"end": "\x1b[F", "enter": "\r", "tab": "\t", "down": "\x1b[B", "ctrl+s": "\x13", "escape": "\x1b"}
PASTE, PASTED = "\x1b[200~", "\x1b[201~"
Read = Callable[[Workspace], object]


def items(ws):
    return "\n".join(item.text for item in ws.items.all())


def lessons(ws):
    return "\n".join(f"{lesson.better_action} {lesson.bad_action}" for lesson in ws.lessons.all())


def files(ws):
    return "\n".join(ws.documents.read(name) for name in ws.documents.names())


def burst(on, *keys):
    """All of these in one go: keys by name, other words letter by letter, what begins with `paste:` pasted."""
    for key in keys:
        if key.startswith("paste:"):
            on.app.post_message(events.Paste(key.removeprefix("paste:")))
        elif key in SENT:
            on.app.post_message(events.Key(key, None))
        else:
            for char in key:
                on.app.post_message(events.Key(NAMES.get(char, char), char))


def sent(*keys):
    """The same as a terminal sends it."""
    return "".join(
        f"{PASTE}{key.removeprefix('paste:')}{PASTED}" if key.startswith("paste:") else SENT.get(key, key)
        for key in keys
    )


EDITORS = [
    pytest.param("items", "e", "Edit", (MORE, "ctrl+s"), items, id="the editor of an item"),
    pytest.param("items", "e", "Edit", ("end", MORE, "ctrl+s"), items, id="behind a move"),
    pytest.param("items", "a", "A new item", ("Anna lives", MORE, "ctrl+s"), items, id="a new item"),
    pytest.param("items", "a", "A new item", (f"paste:Anna lives{MORE}", "ctrl+s"), items, id="what is pasted"),
    pytest.param("lessons", "e", "Edit", (MORE, "ctrl+s"), lessons, id="the editor of a lesson"),
    pytest.param("files", "e", "Edit", (MORE, "ctrl+s"), files, id="the editor of a file"),
    pytest.param(
        "knowledge", "a", "A new fact", ("home", "tab", "street", "tab", "tab", "at", "tab", f"No 5{MORE}", "ctrl+s"),
        items, id="the form of a fact",
    ),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("screen", "opens", "title", "keys", "read"), EDITORS)
async def test_what_is_typed_before_it_is_saved_is_saved(demo, screen, opens, title, keys, read):
    async with console(demo, screen) as on:
        await on.press(opens)
        await on.shows(title)
        burst(on, *keys)
        await on.until(lambda: MORE.strip() in str(read(on.app.ws)), f"“{MORE}” is kept")


@pytest.mark.slow
@pytest.mark.parametrize(("screen", "opens", "title", "keys", "read"), EDITORS)
def test_what_a_terminal_sends_in_one_burst_is_saved(demo, screen, opens, title, keys, read):
    with nanomem(demo) as terminal:
        _go_to(terminal, screen)
        terminal.press(opens, title)
        terminal.type(sent(*keys))
        terminal.hides(title)
        terminal.until(lambda: MORE.strip() in _kept(demo, read), f"“{MORE}” is kept")


def _go_to(terminal, screen):
    terminal.shows("q quit", "45")
    ways = {
        "lessons": [("2", "Reflections")],
        "knowledge": [("]", "3 facts")],
        "files": [("]", "3 facts"), ("]", "who the agent is")],
    }
    for keys, words in ways.get(screen, []):
        terminal.press(keys, words, "q quit")


def _kept(workspace, read):
    with open_workspace(workspace) as ws:
        return str(read(ws))


@pytest.mark.slow
async def test_esc_behind_what_was_typed_asks_before_it_drops_it(demo):
    async with console(demo, "items") as on:
        await on.press("e")
        burst(on, MORE, "escape")
        await on.shows("again drops it", MORE)


async def test_a_word_and_the_next_field_in_one_go(demo):
    async with console(demo, "knowledge") as on:
        await on.press("a")
        await on.until(lambda: isinstance(on.app.screen, FormScreen))
        burst(on, "home", "tab", "street", "down", "near", "enter")
        await on.shows("key and value missing", "home", "street", "near")


async def test_a_filter_and_what_it_leaves_in_one_go(demo):
    async with console(demo, "items") as on:
        burst(on, "/brb lunch", "enter", "d")
        await on.until(lambda: "brb lunch" not in items(on.app.ws))


async def test_a_command_and_a_move_in_its_list_in_one_go(demo):
    async with console(demo, "items") as on:
        burst(on, ":filters", "enter")
        await on.shows("No filter of this screen has a name")
        await on.press("escape", "colon")
        burst(on, "work:", "down")
        await on.until(lambda: on.app.screen.query_one("LineTable").cursor == 1, "the cursor is on the second")
        assert "Work: " in on.text


async def test_a_place_is_what_was_typed_however_long_it_is_looked_for(demo, monkeypatch):
    find = JumpScreen.find

    def slowly(screen, query, stop):
        for found in find(screen, query, stop):
            time.sleep(0.05)
            yield found

    monkeypatch.setattr(JumpScreen, "find", slowly)
    async with console(demo, "items") as on:
        burst(on, "Jbrb lunch", "enter")
        await on.until(lambda: on.app.screen is on.screen and on.cursor_text == "brb lunch")


@pytest.mark.slow
async def test_a_place_that_was_said_is_what_was_typed(demo):
    async with console(demo, "sessions") as on:
        burst(on, "Fcalendar", "enter")
        await on.until(lambda: on.app.screen is on.screen and "calendar" in on.text, "the message is shown")


@pytest.mark.slow
async def test_the_answer_to_a_question_is_what_a_key_means(demo, monkeypatch):
    ask = Recall.ask

    def slowly(self, *question, **options):
        time.sleep(0.2)
        return ask(self, *question, **options)

    async with console(demo, "recall") as on:
        await on.press("slash")
        await on.type("metric units")
        await on.press("enter")
        monkeypatch.setattr(Recall, "ask", slowly)
        burst(on, "/window seats", "enter", "enter")
        await on.until(lambda: on.screen.SCREEN == "items")
        await on.until(lambda: on.cursor_text.startswith("Prefers window seats"))
