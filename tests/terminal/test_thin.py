"""Thin output shows what Textual's own output shows: cell by cell, with colours, whatever is typed."""

from __future__ import annotations

import asyncio
import random

import pytest
from textual import events

from nanomem_tui import open_workspace
from nanomem_tui.screens.registry import PLACES
from tests.screens.console import PATIENCE, console
from tests.terminal.watched import WatchedApp

PLAIN_WIDE = (
    "记忆是一条很长的河 北京",
    "日本語の長い文章がここに続く",
    "한국어 문장",
    "e\u0301te\u0301 a\u0308",
    "😀 laughs 🎉 twice",
)
JOINED_WIDE = ("👩‍🚀 flies, 👨‍👩‍👧 stays", "❤️ heart 1️⃣ key 🇨🇭 flag", "กำลังทำน้ำ ไทย", "क्षि हिन्दी", "مرحبا بالعالم")
KEYS = (
    *"jjjkkkgG", "down", "up", "pagedown", "pageup", "ctrl+d", "ctrl+u", "tab", "enter", "escape", "escape",
    *"1234567890", "slash", *"aeo", "backspace", "space", "v", "s", "w", "z", "question_mark", "colon", "u", "x", "d",
    "f5", "U", "n", "p",
)  # fmt: skip
SIZES = ((80, 24), (160, 45), (60, 20), (37, 11))


def with_wide_text(workspace, *texts):
    with open_workspace(workspace) as ws:
        for number in range(30):
            for text in texts:
                ws.items.add(f"{text} {number}")
        ws.flush()
    return workspace


async def play(workspace, keys, seed, kind):
    dice = random.Random(seed)
    async with console(workspace, "items", SIZES[0], kind, painted=True) as shown:
        app = shown.app
        assert isinstance(app, WatchedApp)
        for number in range(keys):
            key = dice.choice(KEYS)
            app.post_message(events.Key(key, key if len(key) == 1 else None))
            await asyncio.sleep(0.01)
            if number % 10 == 9:
                await app.settled(PATIENCE)
            if number % 60 == 59:
                await shown.pilot.resize_terminal(*dice.choice(SIZES))
        await app.settled(PATIENCE)
        return app


class WithPeers(WatchedApp):
    peers = True


@pytest.mark.slow
async def test_a_few_keys_on_wide_text_look_the_same(demo):
    app = await play(with_wide_text(demo, *PLAIN_WIDE[:2], *JOINED_WIDE[:2]), 25, 1, WatchedApp)
    assert app.frames > 10
    assert app.sent < app.sent_by_textual / 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
async def test_many_random_keys_on_wide_text_look_the_same(demo, seed):
    app = await play(with_wide_text(demo, *PLAIN_WIDE, *JOINED_WIDE), 1000, seed, WatchedApp)
    assert app.frames > 300
    assert app.sent < app.sent_by_textual / 2


@pytest.mark.slow
async def test_random_keys_look_the_same_in_a_terminal_that_others_wrote(tmp_path):
    (tmp_path / "memory").mkdir()  # that terminal drops what follows a joiner, so no demonstration here
    app = await play(with_wide_text(tmp_path, *PLAIN_WIDE), 300, 5, WithPeers)
    assert app.frames > 100


@pytest.mark.slow
async def test_no_screen_writes_anything_while_nothing_happens(demo):
    loud: list[str] = []
    async with console(demo, "items", (160, 45), WatchedApp, painted=True) as shown:
        app = shown.app
        assert isinstance(app, WatchedApp)
        for name in PLACES:
            app.go(name)
            await app.settled(PATIENCE)
            app.clear_notifications()
            for _ in range(3):  # what follows what was read may come late, once
                before = app.frames
                await asyncio.sleep(2.2)  # more than two looks at the workspace
                if app.frames == before:
                    break
            else:
                loud.append(name)
    assert loud == []
