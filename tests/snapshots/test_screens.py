"""Pictures of every screen: small and large, in full colour, in the terminal's own colours, and without colour."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from nanomem_tui import app, open_workspace
from nanomem_tui.app import NanomemApp
from nanomem_tui.core import clock, config, paths
from nanomem_tui.memory.turns.traces import Injected
from nanomem_tui.opening import Opening
from tests.snapshots.conftest import MOMENT
from tests.snapshots.waiting import steady

pytestmark = pytest.mark.slow

Compare = Callable[..., bool]
Keys = tuple[str, ...]

SCREENS = ("items", "lessons", "sessions", "wal", "dream", "recall", "knowledge", "tiers", "status")
SMALL, LARGE = (80, 24), (160, 45)
SIZES = {"80x24": SMALL, "160x45": LARGE}
COLOURS = {"COLORTERM": "truecolor", "TERM": "xterm-256color"}
LOOKS: dict[str, dict[str, str]] = {
    "dark": COLOURS,
    "ansi": {**COLOURS, "SSH_CONNECTION": "1 2 3 4"},
    "no-colour": {**COLOURS, "NO_COLOR": "1"},
}
LOOKED_AT = ("COLORTERM", "TERM", "NO_COLOR", "SSH_CONNECTION", "SSH_TTY", "COLORFGBG")


class Pictured(NanomemApp):
    """The console of a picture."""

    CSS_PATH = Path(app.__file__).with_name("app.tcss")


@pytest.fixture
def look(monkeypatch):
    """`look("ansi")`: the environment of a terminal."""

    def set_look(name):
        for variable in LOOKED_AT:
            monkeypatch.delenv(variable, raising=False)
        for variable, value in LOOKS[name].items():
            monkeypatch.setenv(variable, value)

    return set_look


@contextmanager
def console(workspace, screen):
    """The console on a workspace, closed at the end."""
    found = paths.find_workspace(workspace)
    opening = Opening(found, config.load(found))
    yield Pictured(opening, first_screen=screen)
    if opening.opened is not None:
        opening.opened.close()


def after(*keys):
    """Press keys, then wait until all is on the screen."""

    async def run(pilot):
        app = pilot.app
        assert isinstance(app, NanomemApp)
        await steady(app, pilot)
        for key in keys:
            await pilot.press(key)
            await steady(app, pilot)  # a screen under a window is drawn no more: its scroll bar must have followed
        app.check_workspace()  # the status bar knows what was read by now
        await steady(app, pilot)

    return run


def compare(snap_compare, workspace, screen, size, keys=()):
    with console(workspace, screen) as app:
        return snap_compare(app, terminal_size=size, run_before=after(*keys))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("screen", SCREENS)
def test_dark(snap_compare, pictured, look, screen, size):
    look("dark")
    assert compare(snap_compare, pictured, screen, SIZES[size])


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", ["ansi", "no-colour"])
def test_few_colours(snap_compare, pictured, look, name, screen):
    look(name)
    assert compare(snap_compare, pictured, screen, SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", ["ansi", "no-colour"])
def test_few_colours_large(snap_compare, pictured, look, name, screen):
    look(name)
    assert compare(snap_compare, pictured, screen, LARGE)


VIEWS: dict[str, tuple[str, Keys]] = {
    "transcript": ("sessions", ("enter", "g", "n", "n", "enter")),
    "compaction": ("sessions", ("c", "4", "enter")),
    "notes": ("notes", ()),
    "archive": ("archive", ("enter",)),
    "turns": ("wal", ("j", "enter")),
    "diff": ("dream", ("enter",)),
    "take-back": ("dream", ("t",)),
    "versions": ("dream", ("j", "V", "tab")),
    "files": ("files", ("j", "enter")),
    "help": ("dream", ("question_mark",)),
    "fields": ("items", ("i",)),
    "palette": ("items", ("colon",)),
    "reply-to": ("recall", ("slash", *"why", "enter", "Q", *"database", "enter")),
    "inbox": ("inbox", ()),
    "finding": ("inbox", ("j", "j", "enter")),
    "all-like": ("inbox", ("G", "ampersand")),
    "fact": ("knowledge", ("G", "enter")),
    "fact-form": ("knowledge", ("j", "j", "e")),
    "journal": ("journal", ("enter",)),
    "reflections": ("reflections", ()),
    "usage": ("usage", ("enter",)),
    "metrics": ("tiers", ("j", "tab")),
    "tasks": ("tiers", ("j", "j", "j", "j", "enter")),
    "task": ("tiers", ("j", "j", "j", "j", "enter", "enter")),
    "decision": ("tiers", (*"jjjjjjj", "enter", "enter")),
    "configuration": ("tiers", ("G", "k", "k", "enter", "enter")),
    "counters": ("status", ("slash", *"Counters", "enter", "tab")),
}


@pytest.mark.parametrize("view", VIEWS)
def test_what_a_key_leads_to(snap_compare, pictured, look, view):
    look("dark")
    screen, keys = VIEWS[view]
    assert compare(snap_compare, pictured, screen, SMALL, keys)


REVIEWED: dict[str, Keys] = {
    "decided": ("T", "+", "-"),
    "evidence": ("T", "j", "enter"),
    "apply": ("T", "+", "r"),
}


def reviewed(*keys):
    """Press keys, and let go of what is said for a while."""

    async def run(pilot):
        await after(*keys)(pilot)
        assert isinstance(pilot.app, NanomemApp)
        pilot.app.say_busy("")
        await pilot.pause()

    return run


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("view", REVIEWED)
def test_a_review(snap_compare, pictured, look, view, size):
    look("dark")
    with console(pictured, "dream") as app:
        assert snap_compare(app, terminal_size=SIZES[size], run_before=reviewed(*REVIEWED[view]))


@pytest.mark.parametrize("name", ["ansi", "no-colour"])
def test_a_review_in_few_colours(snap_compare, pictured, look, name):
    look(name)
    with console(pictured, "dream") as app:
        assert snap_compare(app, terminal_size=SMALL, run_before=reviewed("T", "+", "-"))


@pytest.mark.parametrize("screen", ["journal", "reflections", "usage"])
def test_what_stands_behind_knowledge(snap_compare, pictured, look, screen):
    look("dark")
    assert compare(snap_compare, pictured, screen, LARGE)


def test_versions(snap_compare, pictured, look):
    look("dark")
    assert compare(snap_compare, pictured, "versions", LARGE, ("j",))


ASKED: Keys = ("slash", *"which", "space", *"database", "enter", "right_square_bracket", "greater_than_sign")


@pytest.fixture
def few_results(monkeypatch):
    """So few that something is cut."""
    monkeypatch.setenv("NANOMEM_RECALL_MAX_RESULTS", "1")


@pytest.mark.parametrize("size", SIZES)
def test_an_answer(snap_compare, pictured, few_results, look, size):
    look("dark")
    assert compare(snap_compare, pictured, "recall", SIZES[size], ASKED)


@pytest.mark.parametrize("name", ["ansi", "no-colour"])
def test_an_answer_in_few_colours(snap_compare, pictured, few_results, look, name):
    look(name)
    assert compare(snap_compare, pictured, "recall", SMALL, (*ASKED, "tab"))


@pytest.mark.parametrize("size", SIZES)
def test_real_turns(snap_compare, pictured, look, size):
    look("dark")
    with open_workspace(pictured) as ws:
        items = tuple(item.id for item in ws.items.all() if "window" in item.text)
        told = {"channel": "telegram", "chat_id": "20417", "sender_id": "mira", "chars": 1204}
        for hours, text in ((5, "Which seat shall I book?"), (2, "Good night")):
            at = clock.iso(MOMENT - timedelta(hours=hours))
            turn = Injected(f"turn_{hours}", at, "telegram:20417", user=text, items=items if hours > 2 else (), **told)
            ws.traces.injections.began(turn)
        ws.traces.injections.ended("turn_5", clock.iso(MOMENT - timedelta(hours=5)), items, ())
    assert compare(snap_compare, pictured, "injections", SIZES[size], ("j",))


@pytest.fixture
def worked(pictured):
    """A home whose agent recorded some of its work, in several scripts."""
    with open_workspace(pictured) as ws:
        for record_id, day, resolution in (("i1", 20, "raised keepalive to 64"), ("i2", 27, "重启服务之后恢复正常 🔥")):
            said = {"description": "The database was slow", "resolution": resolution, "symptoms": ["ช้ามาก", "504"]}
            ws.records.store("incident", {**said, "timestamp": clock.iso(MOMENT - timedelta(days=day))}, record_id)
        said = {"context": "Which database for the orders", "chosen": "PostgreSQL", "reasoning": "It is known. " * 80}
        ws.records.store("decision", {**said, "timestamp": clock.iso(MOMENT - timedelta(days=3))}, "d1")
    return pictured


NEEDED: Keys = ("slash", *"slow", "space", *"database", "enter", *["less_than_sign"] * 4, "right_square_bracket")


@pytest.mark.parametrize("size", [(60, 20), SMALL, LARGE])
def test_context_for_a_task(snap_compare, worked, look, size, monkeypatch):
    look("dark")
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert compare(snap_compare, worked, "context", size, NEEDED)


@pytest.mark.parametrize("name", ["ansi", "no-colour"])
def test_context_in_few_colours(snap_compare, worked, look, name, monkeypatch):
    look(name)
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert compare(snap_compare, worked, "context", SMALL, (*NEEDED, "tab"))
