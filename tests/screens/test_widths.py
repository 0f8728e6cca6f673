"""Every painted line is as wide as the screen, whatever is written in it, by the widths of a real terminal."""

import pytest
from wcwidth import wcswidth

from nanomem_tui.actions import SCREENS
from nanomem_tui.workspace import open_workspace
from tests.screens.console import console

#: Of Indic scripts with spacing marks no two terminals have the same widths: each of their cells is placed by itself.
TEXTS = (
    "记住：女儿小满每周三要接，不要忘记带水杯和外套。",
    "ﾊﾝｶｸと全角ＡＢＣ、混ぜて書く。",
    "한국어 문장과 ㅎㅏㄴ 그리고 한",
    "สวัสดีชาวโลก ทำน้ำแข็ง กำลังดี",
    "السَّلَامُ عَلَيْكُمْ وَرَحْمَةُ ٱللَّٰهِ",
    "Zu\u0308rich, cafe\u0301, a\u0301\u0302\u0303\u0304b, Z̸̡̛a̷l̵g̴o̶",
    "👨‍👩‍👧‍👦 🧑🏽‍🤝‍🧑🏿 🏳️‍🌈 🇯🇵🇩🇪 ❤️ 1️⃣ ☺︎ 👍🏽 ™️",
    "\x1b[31mred\x07 \u202eback\u2066 \u200bzero\u00adsoft [/red] tab\there",
)
TYPED = {"?": "", ":": "é", "J": "记住", "/": "ทำ", "e": "한👨‍👩", "|": "名", "'": ""}
SIZES = ((60, 20), (80, 24), pytest.param((160, 45), marks=pytest.mark.slow))


@pytest.fixture
def written(demo):
    with open_workspace(demo) as ws:
        for number, text in enumerate(TEXTS):
            ws.items.add(text)
            ws.lessons.add(text, text[::-1])
            ws.journal.add(text, "2026-02-15")
            named = text if text.isprintable() else "plain"
            ws.facts.set(named[:30], f"key{number}", text, domain=named[:12])
    return demo


def check(on, where):
    width = on.app.size.width
    for y, strip in enumerate(on.app.screen._compositor.render_strips()):
        assert wcswidth(strip.text) == width, f"{where}, line {y}: {strip.text!r}"


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
async def test_no_line_is_wider_or_narrower_than_the_screen(written, size):
    async with console(written, "items", size) as on:
        for screen in SCREENS:
            on.app.go(screen)
            await on.app.settled(60)
            await on.pilot.pause()
            check(on, screen)
            for key in ("down", "tab", "w", "tab"):
                await on.press(key)
                check(on, f"{screen} {key}")
        await on.press("1", "g")
        for opens, typed in TYPED.items():
            on.screen.filter_by("postgres")  # a dialog may cut a sign of two cells behind it: that is the library's
            await on.app.settled(60)
            await on.press(opens)
            for char in typed:
                await on.pilot.press(char)
            await on.app.settled(60)
            await on.pilot.pause()
            check(on, f"{opens} {typed}")
            await on.press("escape", "escape")
