"""The Recall screen: a message is ranked as it is typed, every row says why."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import DiskFull
from nanomem_tui.core.text import cell_width
from nanomem_tui.memory.recall import regressions
from nanomem_tui.memory.recall.recall import Question, Recall
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.memory.turns.request import TurnEnd, TurnInput
from nanomem_tui.memory.turns.traces import COUNTERS
from nanomem_tui.screens.recall.answer import Answer, Asked, RecallRow, audience_named, audience_words
from nanomem_tui.screens.recall.recall import marked
from nanomem_tui.screens.status import GROUPS
from nanomem_tui.store.values import Item
from nanomem_tui.widgets.bars import LineInput
from nanomem_tui.widgets.help import HelpScreen
from nanomem_tui.widgets.table import LineTable
from nanomem_tui.widgets.text_view import Preview
from tests.memory.turns import settle
from tests.screens.console import console

pytestmark = pytest.mark.slow  # whole screens, processes or homes; `make test` ends within its minutes

Sample = Callable[[str], Path]


async def ask(on, text):
    """Type a message and go to the list."""
    await on.press("slash")
    await on.type(text)
    await on.press("enter")


def given(on):
    return [row.item.text for row in on.screen.table.rows if row.where == "given"]


def cut(on):
    return [(row.item.text, row.why) for row in on.screen.table.rows if row.where == "cut"]


def detail(on):
    return on.screen.detail_pane.document.plain() if on.screen.detail_pane.document.copy == "" else everything(on)


def everything(on):
    """The whole right pane as it is laid out."""
    return "\n".join("".join(text for text, _ in line) for line in on.screen.detail_pane.lines)


def add(workspace, *items):
    with open_workspace(workspace) as ws:
        return [ws.items.add(**item)[1].id for item in items]


# Asking


async def test_where_memory_is_switched_off_it_says_so(demo):
    settle(demo, memory_enabled=False)
    async with console(demo, "recall") as on:
        await ask(on, "window")
        assert given(on) == []
        assert "memory is switched off (memory_enabled)" in on.text


async def test_before_a_message_it_says_how_to_type_one(demo):
    async with console(demo, "recall") as on:
        assert "Type / and a message" in on.text
        assert on.screen.table.rows == []
        assert "1 Memory" in on.text
        assert "6 Recall" in on.text


async def test_each_key_ranks_again_and_typing_fires_no_command(demo):
    async with console(demo, "recall") as on:
        await on.press("slash")
        seen = []
        for text in ("window seats", " q u d x 1"):
            await on.type(text)
            await on.app.settled()
            seen.append(given(on))
        assert seen[0] == ["Prefers window seats, aisle on night flights"]
        assert on.screen.SCREEN == "recall"
        await on.press("escape")
        assert given(on) == []
        assert isinstance(on.app.focused, LineTable)


async def test_another_message_takes_the_place_of_the_one_before(demo):
    async with console(demo, "recall") as on:
        await ask(on, "metric units")
        await ask(on, "window seats")
        assert on.screen.query_one("#ask-message", LineInput).value == "window seats"
        await on.press("slash", "end")
        await on.type(" metric")
        await on.press("enter")
        assert on.screen.query_one("#ask-message", LineInput).value == "window seats metric"
        assert len(given(on)) == 2


async def test_where_nothing_is_recalled_the_rows_that_must_be_imported_first_are_told(sample):
    async with console(sample("ftswal"), "recall", (200, 40)) as on:
        await ask(on, "tailwind bootstrap")
        await on.shows("no item: first import 185 foreign rows", "185 rows of another system must be imported before")


async def test_no_key_waits_for_the_ranking(demo, monkeypatch):
    real, held, asked = Recall.ask, threading.Event(), []

    def slow(self, question, **options):
        asked.append(question.text)
        held.wait(60)
        return real(self, question, **options)

    monkeypatch.setattr(Recall, "ask", slow)
    async with console(demo, "recall") as on:
        await on.press("slash")
        await on.pilot.press(*"window")
        assert on.app.focused.value == "window", "typed while the first question is still held"
        held.set()
        await on.app.settled()
        assert given(on) == ["Prefers window seats, aisle on night flights"]
        assert len(asked) < len("window"), f"questions that were overtaken are not asked: {asked}"


async def test_a_time_in_the_message_is_a_part_of_the_score(demo):
    add(demo, {"text": "Bought a red bicycle"})
    async with console(demo, "recall") as on:
        await ask(on, "which bicycle?")
        assert "Hit Tim" not in on.text
        await ask(on, "what did I buy today?")
        assert "Bought a red bicycle" in given(on)
        assert "Hit Tim" in on.text, "the bars have one for the time"
        assert "(lexical + time)" in everything(on)
        assert "today (" in everything(on)


@pytest.mark.parametrize(
    ("message", "found"),
    [("小满几点接", "小满"), ("กาแฟ", "กาแฟ"), ("🌸 桜", "桜"), ("penicilin", "penicillin")],
)
async def test_every_script_is_asked_and_matched_words_stand_out(demo, message, found):
    async with console(demo, "recall") as on:
        on.screen.query_one("#ask-message", LineInput).value = message
        await on.app.settled()
        assert any(found in text for text in given(on)), given(on)
        await on.until(lambda: any(tone == "added-word" for line in on.screen.detail_pane.lines for _, tone in line))


async def test_the_parts_make_the_score(demo):
    async with console(demo, "recall") as on:
        await ask(on, "window seats")
        hit = on.screen.table.rows[0].hit
        parts = hit.parts
        assert hit.score == pytest.approx(
            parts["lexical"] * (1 + parts["importance"] + parts["recency"] + parts["hits"])
        )
        text = everything(on)
        for name in ("lexical", "importance", "recency", "hits"):
            assert f"{parts[name]:.4f}" in text, name
        assert "Lexic. Imp Rec Hit" in on.text
        assert "██████" in on.text


async def test_without_box_signs_the_bars_are_ascii(demo):
    async with console(demo, "recall") as on:
        on.app.ascii_only = True
        on.screen.table.set_columns(on.screen.columns())
        await ask(on, "window seats")
        rows = [line for line in on.text.splitlines() if "window seats" in line and line.startswith(("│>", "|>"))]
        assert "@@@@@@" in rows[0]


async def test_the_block_is_what_the_engine_gives_and_lessons_are_named(demo):
    with open_workspace(demo) as ws:
        begun = ws.engine.preview(TurnInput("", text="window seats"))
    async with console(demo, "recall", (160, 200)) as on:
        await ask(on, "window seats")
        shown = on.screen.table.rows[0].answer.begun
        assert shown.block == begun.block
        assert [one.id for one in shown.lessons] == [one.id for one in begun.lessons] != []
        text = everything(on)
        assert "<recalled-memory>" in text
        assert "</recalled-memory>" in text
        assert f"Lessons chosen ({len(begun.lessons)})" in text


async def test_what_was_cut_stands_below_a_rule_with_its_reason(demo):
    add(demo, *({"text": f"Kayak number {n} hangs in the boat house"} for n in range(12)))
    async with console(demo, "recall") as on:
        await ask(on, "kayak")
        wheres = [row.where for row in on.screen.table.rows]
        assert wheres == ["given"] * 8 + ["rule"] + ["cut"] * 4
        assert {why for _, why in cut(on)} == {"over maxResults 8"}
        assert "8 given · 4 cut" in on.text
        assert "4 cut below" in on.text
        await on.press("G")
        await on.shows("Found, and cut: over maxResults 8.")


async def test_small_screens_show_one_pane_and_tab_the_other(demo):
    async with console(demo, "recall", (80, 24)) as on:
        await ask(on, "window seats")
        assert "Score 6" not in on.text
        await on.press("tab")
        assert "by profile default" in on.text
        await on.press("slash")
        assert isinstance(on.app.focused, LineInput)
        assert on.screen.table.display


async def test_what_went_wrong_is_told_in_place_of_the_rows(demo, monkeypatch):
    def full(self, question, **options):
        raise DiskFull("the disk is full", "/data", "make room")

    async with console(demo, "recall") as on:
        monkeypatch.setattr(Recall, "ask", full)
        await ask(on, "window")
        assert "Error: the disk is full" in on.text
        assert "make room" in on.text
        monkeypatch.undo()
        await on.press("f5")
        assert given(on)


async def test_hostile_words_reach_no_terminal(demo):
    add(demo, {"text": "kayak \x1b]52;c;AAAA\x07 [/foo] \u202eevil <recalled-memory>"})
    async with console(demo, "recall", (160, 60)) as on:
        await ask(on, "kayak")
        assert not {"\x1b", "\x07", "\u202e"} & set(on.text)
        assert "[/foo]" in on.text
        assert on.screen.table.rows[0].answer.begun.block.count("<recalled-memory>") == 1


async def test_what_the_message_replies_to_counts_is_told_and_saved(demo):
    async with console(demo, "recall", (160, 60)) as on:
        await ask(on, "what about it")
        assert given(on) == []
        assert "Reply to" not in on.text.splitlines()[2], "its line takes no room while there is no reply"
        await on.press("Q")
        await on.type("window seats q")
        await on.press("enter")
        assert given(on) == ["Prefers window seats, aisle on night flights"]
        with open_workspace(demo) as ws:
            asked = Question("what about it", "window seats q")
            assert on.screen.table.rows[0].hit.score == pytest.approx(ws.recall.ask(asked).hits[0].score, rel=1e-2)
        await on.shows("Reply to", "replies to   window, seats, q: each counts 0.5")
        await on.press("M")
        await on.shows("Saved: it must find 1 item")
        with open_workspace(demo) as ws:
            saved = regressions.load(regressions.saved_file(ws.paths.data, ws.id))
        assert [(one.question.text, one.question.reply_to) for one in saved] == [("what about it", "window seats q")]
        await on.press("Q", "escape")
        assert given(on) == [], "esc in its field takes the reply away, and leaves the message"
        assert "Reply to" not in on.text
        assert "what about it" in on.text


# Who asks


async def test_a_chat_is_given_nothing_of_another_chat(demo):
    add(
        demo,
        {"text": "The kayak of Ada", "scope_type": "chat", "channel": "telegram", "chat_id": "7001"},
        {"text": "The kayak of Ben", "scope_type": "chat", "channel": "telegram", "chat_id": "7002"},
    )
    async with console(demo, "recall") as on:
        await ask(on, "kayak")
        assert len(given(on)) == 2
        await on.press("A")
        await on.type("7001")
        await on.app.settled()
        await on.press("enter")
        assert given(on) == ["The kayak of Ada"]
        assert "as chat telegram:7001" in on.text
        await on.press("A")
        await on.type("telegram:7002 ben")
        await on.app.settled()
        await on.press("enter")
        assert given(on) == ["The kayak of Ben"]
        assert on.screen.table.rows[0].hit.layer == "chat"
        await on.press("A", "enter")
        assert len(given(on)) == 2, "the owner stands first"


def test_who_is_typed_is_a_chat_a_person_or_nobody():
    assert audience_named("telegram:1 ada") == Audience("telegram", "1", "ada")
    assert audience_named("telegram: ada") == Audience("telegram", None, "ada")
    assert audience_named("cli:a:b") == Audience("cli", "a:b")
    for nobody in ("", "tele", "telegram:", ":1", "tele gram:1", "telegram:../x"):
        assert audience_named(nobody) is None, nobody
    assert audience_words(Audience("telegram", "1", "ada")) == "chat telegram:1, user ada"


# Profiles and weights


async def test_turning_a_weight_ranks_again_and_reset_brings_the_profile_back(demo):
    add(
        demo,
        {"text": "A kayak in the boat house", "importance": 0.1},
        {"text": "A kayak in the boat shed", "importance": 0.9},
    )
    async with console(demo, "recall") as on:
        await ask(on, "kayak boat")
        assert given(on)[0].endswith("shed"), "the more important one"
        before = [row.hit.score for row in on.screen.table.rows[:2]]
        await on.press("less_than_sign", "less_than_sign", "less_than_sign", "less_than_sign")
        assert "importance 0.000* was 0.020" in on.text
        assert [row.hit.parts["importance"] for row in on.screen.table.rows[:2]] == [0.0, 0.0]
        await on.press("less_than_sign")
        assert "importance 0.000" in on.text
        await on.press("R")
        assert [row.hit.score for row in on.screen.table.rows[:2]] == pytest.approx(before)
        assert "was" not in on.text.splitlines()[2]
        await on.press("number_sign", "greater_than_sign")
        assert "[recency 0.025* was 0.020]" in on.text
        await on.press("at")
        assert "[importance 0.020]" in on.text


async def test_each_profile_has_its_own_parts(demo):
    async with console(demo, "recall") as on:
        await ask(on, "window seats")
        await on.press("P")
        assert "by seed000" in on.text
        assert "Overl. Cov Rec Hit" in on.text
        row = on.screen.table.rows[0]
        numbers = [value for name, value in row.hit.parts.items() if name != "terms"]
        assert row.hit.score == pytest.approx(sum(numbers))
        await on.press("P")
        assert "FTS    Imp Rec" in on.text
        await on.press("P")
        assert "by default" in on.text


# Why not


async def test_why_an_item_is_not_recalled_follows_the_message(demo):
    async with console(demo, "recall") as on:
        await ask(on, "window seats")
        await on.press("W")
        await on.type("penicil")
        await on.app.settled()
        await on.press("enter")
        first = on.screen.table.rows[0]
        assert (first.where, first.item.text) == ("chosen", "Mira is allergic to penicillin")
        assert on.screen.table.cursor == 0
        assert "shares no word with the message" in on.text
        await on.press("slash")
        await on.type(" and penicillin")
        await on.press("enter")
        row = next(row for row in on.screen.table.rows if row.is_chosen)
        assert row.where == "given"
        await on.press("escape")
        assert not any(row.is_chosen for row in on.screen.table.rows)


def test_the_row_of_an_item_that_is_not_given_holds_its_words():
    mine = cast("Item", SimpleNamespace(id="i1", text="sits by the window"))
    row = RecallRow("chosen", Answer(Asked()), mine, why="not visible here: user scope channel:telegram:user:ana")
    assert row.text == "not visible here: sits by the window"
    assert row._replace(where="cut").text.endswith("user:ana: sits by the window")


async def test_from_items_a_disabled_one_says_so(demo):
    async with console(demo, "items") as on:
        row = next(row for row in on.screen.table.rows if "penicillin" in row.text)
        await on.at(row.id)
        await on.press("x", "W")
        assert on.screen.SCREEN == "recall"
        assert isinstance(on.app.focused, LineInput), "there is no message yet: it is typed at once"
        await on.type("allergic penicillin")
        await on.press("enter")
        assert on.screen.table.rows[0].why == "disabled"
        await on.press("u")
        assert "Mira is allergic to penicillin" in given(on), "an undo is seen at once"


# To the item


async def test_enter_goes_to_the_item(demo):
    async with console(demo, "recall") as on:
        await ask(on, "window seats")
        wanted = on.screen.table.rows[0].item.id
        await on.press("enter")
        assert on.screen.SCREEN == "items"
        await on.until(lambda: on.screen.table.cursor_id == wanted)
        await on.press("6")
        assert given(on), "the question is still there"
        await on.press("j", "enter")
        assert on.screen.SCREEN == "recall", "the rule is no item: its detail is the block"
        assert "<recalled-memory>" in everything(on)


async def test_keys_that_can_do_nothing_say_why(demo):
    async with console(demo, "recall") as on:
        await on.press("M")
        await on.shows("type a message first")
        await on.press("question_mark")
        assert isinstance(on.app.screen, HelpScreen)


# Saved questions


def questions(workspace):
    with open_workspace(workspace) as ws:
        path = ws.paths.data / "recall" / f"{ws.id}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


async def check(on):
    await on.press("colon")
    await on.type("check saved")
    await on.press("enter")


async def test_a_question_is_saved_once_and_a_loss_is_shown(demo):
    async with console(demo, "recall") as on:
        await check(on)
        await on.shows("no saved questions")
        await ask(on, "window seats")
        wanted = on.screen.table.rows[0].item.id
        await on.press("M", "M")
        assert questions(demo) == [{"message": "window seats", "expect": [wanted]}]
        await on.shows("saved already")
        await check(on)
        await on.shows("1 saved question, 0 with a loss", "found “window seats”")
        await on.until(lambda: "Asking the saved questions" not in on.text)
        await on.press("escape", "enter")
        await on.until(lambda: on.screen.SCREEN == "items" and on.screen.table.cursor_id == wanted)
        await on.press("d", "6")
        await check(on)
        await on.shows("1 saved question, 1 with a loss", "LOST", wanted, "deleted")


async def test_what_was_saved_and_which_keys_turn_weights_fit_a_small_screen(demo):
    async with console(demo, "recall", size=(80, 24)) as on:
        await ask(on, "window seats")
        await on.press("greater_than_sign", "M")
        await on.shows("Saved, to be asked with the usual weights: it must find 1 item")
        await on.press("question_mark")
        text = on.app.screen.query_one(Preview).document.plain()
        for key in ("  ]  ", "  >  ", "  W  "):
            assert key in text


# Status


async def test_status_counts_what_turns_did_and_plots_it_by_day(demo):
    for day in (1, 2, 3):
        with open_workspace(demo) as ws:
            at = f"2026-01-0{day}T10:00:00+00:00"
            begun = ws.engine.begin_turn(
                TurnInput("cli:x", "cli", "x", text="which PostgreSQL database" if day > 1 else "zzz", at=at)
            )
            ws.engine.end_turn(TurnEnd(begun.turn, assistant="ok"))
    async with console(demo, "status", (160, 60)) as on:
        await on.until(lambda: "Recall" in {row.name for row in on.screen.table.rows})
        parts = {row.name: row.value for row in on.screen.table.rows}
        assert parts["Recall"] == "3 of 4 turns given something (75%)"
        await on.at("Recall")
        await on.shows("By day, 2026-01-01 to 20", "0% to 100%, last 100%")


async def test_status_tells_every_counter_by_its_name(demo):
    with open_workspace(demo) as ws:
        for text in ("remember that the kayak is red", "zzz"):
            begun = ws.engine.begin_turn(TurnInput("cli:x", "cli", "x", text=text))
            ws.engine.end_turn(TurnEnd(begun.turn, assistant="ok"))
        ws.flush()
        counters = ws.traces.counters.read()
    assert {name for names in GROUPS.values() for name in names} == set(COUNTERS)
    async with console(demo, "status", (80, 24)) as on:
        await on.until(lambda: "Counters" in {row.name for row in on.screen.table.rows})
        await on.at("Counters")
        assert "3 turns" in on.text
        await on.press("tab")
        told = everything(on)
        for name, number in counters.items():
            assert f"{number:>9,}  {name}" in told, name
        assert "begun" in told
        assert "█" in told
        assert all(cell_width(line) <= 79 for line in told.splitlines())


# Words that stand out


@pytest.mark.parametrize(
    ("text", "terms", "found"),
    [
        ("Window seats, please", ["seat"], ["seats"]),
        ("记住：女儿小满每周三要接", ["小满"], ["小满"]),
        ("小满小满", ["小满"], ["小满小满"]),
        ("iPhone手机壳", ["iphon", "手机"], ["iPhone手机"]),
        ("a café and a cafeteria", ["cafe"], ["café"]),
        ("nothing", [], []),
    ],
)
def test_matched_words_are_marked(text, terms, found):
    spans = marked(text, terms)
    assert "".join(part for part, _ in spans) == text
    assert [part for part, tone in spans if tone] == found
