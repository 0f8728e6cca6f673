"""The Items screen: what is believed is seen, found and corrected by keys, and every correction can be taken back."""

import contextlib
import json
import os
import sqlite3
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents.session_file import Message
from nanomem_tui.agents.session_names import key_to_name
from nanomem_tui.background import look_at_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, DiskFull
from nanomem_tui.memory.scopes import scope_label
from nanomem_tui.review.finders.rows import find_origin
from nanomem_tui.screens.base.editable_rows import EditableRowsScreen
from nanomem_tui.screens.base.forms import read_fields
from nanomem_tui.screens.sessions import SessionsScreen
from nanomem_tui.store.values import Item
from nanomem_tui.widgets.dialogs import EditScreen
from tests.screens.console import console

Sample = Callable[[str], Path]


def texts(on):
    return [row.text for row in on.screen.table.rows]


def stored(workspace):
    with open_workspace(workspace) as ws:
        return {item.id: item.text for item in ws.items.all()}


async def test_every_item_is_listed_newest_first_and_a_filter_narrows_until_esc(sample):
    workspace = sample("ramfirst")
    async with console(workspace, "items") as on:
        assert len(on.ids) == 156
        assert on.ids == list(stored(workspace))
        await on.shows("156", "Kind", "Hits", "Age")
        await on.press("slash")
        await on.type("staging")
        await on.until(lambda: on.ids and all("staging" in text for text in texts(on)), "only staging")
        await on.shows(" of 156")
        await on.press("escape")
        await on.until(lambda: len(on.ids) == 156, "all rows")


async def test_columns_leave_as_the_width_shrinks(demo):
    async with console(demo, "items", (200, 30)) as on:
        assert all(title in on.text for title in ("Kind", "Scope", "Hits", "Age"))
        await on.resize(62, 24)
        assert "Age" in on.text
        assert "Scope " not in on.text.replace("Scopes", "")


@pytest.mark.slow
async def test_a_row_is_disabled_its_detail_says_so_and_undo_takes_it_back(demo):
    async with console(demo, "items") as on:
        first = on.ids[0]
        await on.shows(first, "importance", "No change by nanomem yet.")
        await on.press("x")
        await on.shows("disable “", "u undoes it")
        await on.shows("History (1)", "enabled: yes → no", "Disabled: kept, never recalled")
        assert on.screen.table.cursor_row.enabled is False
        assert on.screen.sign(on.screen.table.cursor_row) == "-"
        on.screen.filter_by("enabled:no")
        await on.until(lambda: on.ids == [first], "the disabled item")
        on.screen.filter_by("")
        await on.until(lambda: len(on.ids) > 1)
        await on.press("u")
        await on.shows("undo: disable")
        assert on.screen.table.cursor_row.enabled
        assert on.ids[0] == first
        await on.press("ctrl+r")
        assert not on.screen.table.cursor_row.enabled


@pytest.mark.slow
async def test_a_change_made_while_the_app_looks_can_be_undone_and_redone_at_once(demo, monkeypatch):
    seen, go_on = threading.Event(), threading.Event()

    def slow_look(*args):
        state = look_at_workspace(*args)
        seen.set()
        assert go_on.wait(60)
        return state

    async with console(demo, "items") as on:
        monkeypatch.setattr("nanomem_tui.app.look_at_workspace", slow_look)
        on.app.check_workspace()
        await on.until(seen.is_set)
        await on.pilot.press("x", "u", "ctrl+r")
        await on.shows("redo: disable")
        go_on.set()
        await on.press("u")
        await on.shows("undo: disable")


async def test_one_row_is_deleted_at_once_and_the_cursor_stands_on_the_next(demo):
    async with console(demo, "items") as on:
        before = on.ids
        await on.press("j", "d")
        assert on.ids == [before[0], *before[2:]]
        assert on.screen.table.cursor_id == before[2]
        await on.press("u")
        assert on.ids == before
        assert on.screen.table.cursor_id == before[1]
        await on.press("G", "d")
        assert on.ids == before[:-1], "the last row can be deleted as well"
        assert on.screen.table.cursor_id == before[-2]


async def test_keys_typed_fast_each_act_on_what_the_one_before_left(demo):
    async with console(demo, "items") as on:
        before = on.ids
        await on.pilot.press("d", "d", "d")
        await on.until(lambda: on.ids == before[3:], "three rows gone")


@pytest.mark.slow
async def test_several_rows_are_shown_before_they_are_deleted(demo):
    async with console(demo, "items") as on:
        before = on.ids
        await on.press("space", "space", "d", "n")
        assert on.ids == before
        assert len(on.screen.table.selected) == 2
        await on.press("d")
        await on.shows("Delete 2 items", "You can undo this with u.")
        await on.press("d", "enter")  # neither confirms
        assert on.ids == before
        await on.press("y")
        assert on.ids == before[2:]
        assert not on.screen.table.selected
        await on.press("u")
        assert set(on.ids) == set(before)


@pytest.mark.slow
async def test_an_edit_is_kept_and_one_that_is_left_twice_changes_nothing(demo):
    async with console(demo, "items") as on:
        item = on.screen.table.cursor_row
        before = texts(on)
        await on.pilot.press("e")
        await on.type("x")
        await on.press("escape")
        await on.shows("again drops it")
        await on.press("escape")
        assert texts(on) == before
        await on.pilot.press("e")
        await on.type(" indeed")
        await on.press("ctrl+s")
        await on.shows("edit “")
        assert on.screen.table.cursor_row.text == item.text + " indeed"
    assert stored(demo)[item.id] == item.text + " indeed"


@pytest.mark.slow
async def test_what_could_not_be_saved_is_offered_again_as_it_was_typed(demo, monkeypatch):
    async with console(demo, "items") as on:

        def full(*_args, **_named):
            raise DiskFull("no space left", "ledger", "free some space")

        monkeypatch.setattr(on.app.ws.store.writer, "perform", full)
        await on.pilot.press("a")
        await on.type("a long thought")
        await on.press("ctrl+s")
        await on.until(lambda: "a long thought" in on.text and isinstance(on.app.screen, EditScreen))
        monkeypatch.undo()
        await on.press("ctrl+s")
        await on.until(lambda: texts(on)[0] == "a long thought")


@pytest.mark.slow
async def test_an_edit_of_what_another_changed_meanwhile_is_offered_again(demo):
    async with console(demo, "items") as on:
        row = on.screen.table.cursor_row
        await on.pilot.press("e")
        await on.type(" mine")
        with open_workspace(demo) as other:
            other.items.edit(row.id, text="theirs")
            await on.press("ctrl+s")
            await on.shows("somebody changed the text meanwhile", "theirs")
            await on.until(lambda: isinstance(on.app.screen, EditScreen) and f"{row.text} mine" in on.text)
            assert on.app.ws.items.get(row.id).text == "theirs"
        await on.press("ctrl+s")
        await on.until(lambda: on.app.ws.items.get(row.id).text == f"{row.text} mine")
    assert stored(demo)[row.id] == f"{row.text} mine"


@pytest.mark.slow
async def test_a_new_item_stands_on_top_under_the_cursor_and_can_be_pinned(demo):
    async with console(demo, "items") as on:
        await on.pilot.press("G", "a")
        await on.type("the boiler is serviced in May")
        await on.press("ctrl+s")
        assert texts(on)[0] == "the boiler is serviced in May"
        assert on.screen.table.cursor == 0
        await on.press("p")
        assert on.screen.sign(on.screen.table.cursor_row) == "^"
        await on.shows("Pinned: no compaction removes it")


def _alike(one, two):
    return (one.scope_key, one.kind) == (two.scope_key, two.kind)


@pytest.mark.slow
async def test_selected_rows_become_one(demo):
    async with console(demo, "items") as on:
        every = on.screen.table.rows
        rows = next([one, two] for at, one in enumerate(every) for two in every[at + 1 :] if _alike(one, two))
        before = len(on.ids)
        for row in rows:
            await on.at(row.id)
            await on.press("space")
        await on.press("m")
        await on.shows("Merge 2 items into the newest", "stays", "goes")
        await on.press("y")
        kept = max(rows, key=lambda row: row.updated_at)
        assert len(on.ids) == before - 1
        assert kept.id in on.ids
        assert next(row for row in on.screen.table.rows if row.id == kept.id).hits == sum(row.hits for row in rows)


@pytest.mark.slow
async def test_what_differs_in_scope_is_not_merged_and_it_is_said_what_to_do(
    demo,
):
    with open_workspace(demo) as ws:
        ws.items.add("the gate code is on the fridge")
        ws.items.add("the gate code is on the fridge!", scope_type="chat", channel="telegram", chat_id="42")
    async with console(demo, "items", (200, 60)) as on:
        before = on.ids
        await on.press("space", "space", "m")
        await on.shows(
            "fact, telegram:42", "fact, global", "They differ in scope or kind", "press i to give the selected"
        )
        await on.press("y", "escape")
        assert on.ids == before


@pytest.mark.slow
async def test_s_sorts_by_the_next_column_and_compaction_shows_its_reasons_first(demo):
    async with console(demo, "items") as on:
        newest = on.ids
        orders = []
        for _ in range(4):
            await on.press("s")
            orders.append(on.screen.listing.sorted_by)
        assert set(orders) == {"text", "kind", "hits", ""}
        assert on.ids == newest
        before = len(on.ids)
        await on.press("c", "enter")
        await on.shows("would go", "same text as")
        await on.press("y")
        assert len(on.ids) < before
        await on.press("u")
        assert len(on.ids) == before


@pytest.mark.slow
async def test_rows_of_another_system_can_only_be_read(sample):
    async with console(sample("ftswal"), "items") as on:
        assert len(on.ids) == 185
        assert on.screen.sign(on.screen.table.cursor_row) == "="
        await on.shows("A row of longterm.db: it can be read here", "expires", "(in ")
        for key in ("x", "d", "e", "p"):
            await on.press(key)
            await on.shows("read-only: a row of", "takes it over")
            await on.press("escape")
            await on.until(lambda: "takes it over" not in on.text, "esc ends the notice")
        assert " d delete" not in on.text.splitlines()[-1]
        assert len(on.ids) == 185


async def test_what_the_agent_writes_appears_and_keeps_the_cursor(sample):
    workspace = sample("ramfirst")
    file = workspace / "memory" / "LTM_SNAPSHOT.json"
    async with console(workspace, "items") as on:
        await on.press("j", "j")
        at = on.screen.table.cursor_id
        body = json.loads(file.read_bytes())
        body["items"].append({**body["items"][0], "id": "ltm_9999999999999_1", "text": "the agent learned this"})
        file.write_text(json.dumps(body, indent=2, ensure_ascii=False))
        on.app.check_workspace()
        await on.until(lambda: "the agent learned this" in texts(on), "the new row")
        assert on.screen.table.cursor_id == at


async def test_o_goes_to_the_conversation_it_came_from_or_says_that_it_is_not_known(demo):
    with open_workspace(demo) as ws:
        ws.items.add("nobody knows from where")
    async with console(demo, "items") as on:
        await on.press("o")
        await on.shows("where this came from is not known")
        known = next(row for row in on.screen.table.rows if row.session_key)
        await on.at(known.id)
        await on.press("o")
        await on.until(lambda: on.screen.SCREEN == "sessions" and on.screen.table.cursor_id == known.session_key)


async def test_y_copies_safe_text_and_says_how(demo, monkeypatch):
    monkeypatch.delenv("TMUX", raising=False)
    async with console(demo, "items") as on:
        await on.press("y")
        await on.shows("OSC 52")
        assert on.app.clipboard == on.screen.table.cursor_row.text


async def test_in_tmux_y_copies_by_tmux(demo, tmp_path, monkeypatch):
    program, got = tmp_path / "tmux", tmp_path / "got"
    program.write_text(f'#!/bin/sh\ncat >"{got}"\n', "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("TMUX", "/nowhere,1,0")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    async with console(demo, "items") as on:
        await on.press("y")
        await on.shows("copied to tmux's buffer")
        assert got.read_text("utf-8") == on.screen.table.cursor_row.text


@pytest.mark.slow
async def test_what_is_too_long_for_a_terminal_is_copied_to_a_file(demo, monkeypatch):
    monkeypatch.delenv("TMUX", raising=False)
    with open_workspace(demo) as ws:
        ws.items.add("長" * 40_000)
        file = ws.paths.data / "copied.txt"
    async with console(demo, "items") as on:
        await on.press("y")
        await on.shows("too many for a terminal's clipboard")
        assert file.read_text("utf-8") == on.screen.table.cursor_row.text
        assert file.stat().st_mode & 0o777 == 0o600
        await on.press("down", "colon")
        await on.type("copy to file")
        await on.press("enter")
        await on.until(lambda: file.read_text("utf-8") == on.cursor_text)


async def test_a_workspace_without_items_says_so(tmp_path):
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    async with console(workspace, "items") as on:
        await on.shows("No items yet.")
        await on.press("x", "d", "e")
        await on.shows("there is no row here")


async def test_a_database_of_a_newer_nanomem_is_explained_and_the_rest_works(demo):
    with open_workspace(demo) as ws:
        ws.items.add("something to keep")
        path = ws.paths.database
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0099'")
        connection.commit()
    async with console(demo, "items") as on:
        assert on.screen.table.state == "error"
        assert "install a newer nanomem" in " ".join(on.text.replace("│", " ").split())
        await on.press("a")  # nothing may be typed that can't be saved
        assert isinstance(on.app.screen, EditableRowsScreen)
        await on.press("3")
        await on.until(lambda: on.screen.SCREEN == "sessions" and on.ids, "the sessions")


async def test_a_damaged_database_is_said_with_what_mends_it(demo):
    with open_workspace(demo) as ws:
        ws.items.add("something to keep")
        path = ws.paths.database
    path.write_bytes(b"not a database at all" * 500)
    async with console(demo, "items") as on:
        assert on.screen.table.state == "error"
        assert "doctor --fix" in " ".join(on.text.replace("│", " ").split())


async def test_hostile_text_is_only_text(demo):
    hostile = "\x1b]52;c;aGFja2Vk\x07 [/foo] [@click=app.quit]x[/] \x9b2J \u202eevil \U000e0041"
    with open_workspace(demo) as ws:
        ws.items.add(hostile)
    async with console(demo, "items") as on:
        await on.press("enter", "tab", "y")
        assert "\x1b" not in on.text
        assert "\x9b" not in on.text
        assert "[/foo]" in on.text
        assert "\x1b" not in on.app.clipboard


async def test_long_and_wide_texts_keep_the_columns_straight(demo):
    with open_workspace(demo) as ws:
        for text in ("很长的中文句子" * 30, "ภาษาไทยที่ยาวมาก" * 20, "👩‍👩‍👧‍👦 family 🇩🇪 flag " * 10, "word " * 5000):
            ws.items.add(text)
    async with console(demo, "items", (80, 24)) as on:
        from rich.cells import cell_len

        rows = on.text.split("\n")[3:7]
        assert all(cell_len(row) <= 80 for row in rows)
        assert all("fact" in row for row in rows)


LONG = {
    "words": "one long sentence about tea and letters " * 5,
    "chinese": "很长的中文句子" * 30,
    "thai": "ภาษาไทยที่ยาวมาก" * 20,
    "emoji": "👩‍👩‍👧‍👦 family 🇩🇪 flag " * 10,
}


@pytest.mark.slow
async def test_the_text_has_nearly_half_of_the_list_at_any_width(demo):
    from rich.cells import cell_len

    with open_workspace(demo) as ws:
        for text in LONG.values():
            ws.items.add(text)
    async with console(demo, "items") as on:
        for width in (80, 100, 120, 160, 200):
            await on.resize(width, 24)
            table = on.screen.table
            assert table.shows_column("hits")
            assert table.shows_column("age")
            shown = []
            for number, text in enumerate(reversed(LONG.values()), 1):
                line = table.render_line(number).text
                assert cell_len(line) == table.virtual_size.width
                shown.append(cell_len(line[4:].split("  fact")[0].rstrip()))
                assert line[4:8].strip()[:1] == text[:1]
            assert min(shown) >= 0.45 * table.size.width - 3, shown
            assert max(shown) >= 0.45 * table.size.width, shown


def message(second, role, text, **more):
    return json.dumps({"role": role, "content": text, "timestamp": f"2026-03-01T10:00:{second:02}", **more}) + "\n"


async def test_o_goes_to_the_message_it_came_from(demo):
    folder = open_workspace(demo).layout.sessions_dir
    assert folder is not None
    lines = [json.dumps({"_type": "metadata", "key": "cli:origin", "metadata": {}}) + "\n"]
    lines += [message(number, "user", f"small talk number {number}") for number in range(20)]
    lines.insert(6, message(5, "user", "By the way: the spare key is under the blue pot", message_id="m77"))
    lines += [message(40, "assistant", "The spare key is under the blue pot, noted")]
    (folder / key_to_name("cli:origin")).write_text("".join(lines))
    snapshot = demo / "memory" / "LTM_SNAPSHOT.json"
    body = json.loads(snapshot.read_bytes())
    body["items"].append({"id": "ltm_9999999999999_1", "text": "the spare key is under the blue pot",
                          "source": "explicit_user", "session_key": "cli:origin", "hits": 0,
                          "created_at": "2026-03-01T10:00:06", "updated_at": "2026-03-01T10:00:06"})  # fmt: skip
    snapshot.write_text(json.dumps(body))
    async with console(demo, "items") as on:
        await on.at("ltm_9999999999999_1")
        await on.press("o")
        await on.until(lambda: on.screen.SCREEN == "sessions" and on.screen.table.cursor_id == "cli:origin")
        view = cast("SessionsScreen", on.screen).view
        await on.until(lambda: view.current is not None and "By the way" in view.current.plain())


def test_what_tells_a_message_is_its_id_then_the_words_then_the_time():
    said = [
        Message(0, "user", "likes long walks in the rain", "2026-03-01T10:00:00", raw={"message_id": 7}),
        Message(1, "assistant", "Noted.", "2026-03-01T10:00:05"),
        Message(2, "user", "and tea", "2026-03-01T10:05:00"),
        Message(3, "assistant", "Noted, too.", "2026-03-01T10:05:04"),
    ]
    at = clock.iso(clock.parse("2026-03-01T10:05:06") or clock.now())
    assert find_origin(said, Item("a", "anything", source_message_id="7", created_at=at)) == 0
    assert find_origin(said, Item("a", "Long walks in  the rain", created_at=at)) == 0
    assert find_origin(said, Item("a", "User drinks tea only", created_at=at)) == 2
    later = clock.iso(clock.parse("2026-03-02T10:05:06") or clock.now())
    assert find_origin(said, Item("a", "User drinks tea only", created_at=later)) is None
    assert find_origin([], Item("a", "User drinks tea only", created_at=at)) is None


async def test_o_says_when_the_message_is_not_known(demo):
    async with console(demo, "items") as on:
        known = next(row for row in on.screen.table.rows if row.session_key)
        on.app.ws.items.edit(known.id, text="something that nobody ever said there")
        on.app.opened.sessions.get(known.session_key)
        await on.at(known.id)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("nanomem_tui.review.finders.rows.AFTER", -timedelta(days=1))
            await on.press("f5", "o")
        await on.shows("Which message it came from is not known")
        assert on.screen.table.cursor_id == known.session_key


@pytest.mark.slow
async def test_kind_importance_and_scope_of_one_row_are_set_by_keys(demo):
    async with console(demo, "items") as on:
        row = on.screen.table.cursor_row
        await on.press("i")
        await on.shows("Kind, importance and scope of", "preference", "0 to 1", "telegram:@7 (a person)")
        await on.type("pref")
        await on.press("tab")
        await on.type("0.25")
        await on.press("tab")
        await on.type("telegram:")
        await on.pilot.press("at", "4", "2")
        await on.press("enter")
        now = on.app.ws.items.get(row.id)
        assert (now.kind, now.importance, now.text) == ("preference", 0.25, row.text)
        assert (now.scope_type, now.scope_key) == ("user", "channel:telegram:user:42")
        await on.shows("u undoes it")
        await on.press("u")
        back = on.app.ws.items.get(row.id)
        assert back._replace(updated_at="", revision=0) == row._replace(updated_at="", revision=0)


@pytest.mark.slow
async def test_fields_of_selected_rows_are_one_change(demo):
    async with console(demo, "items") as on:
        before = {row.id: row.kind for row in on.screen.table.rows}
        await on.press("space", "space", "space", "i")
        await on.shows("Kind, importance and scope of 3 items")
        await on.type("decision")
        await on.press("enter")
        await on.shows("edit 3 items: kind decision")
        now = {row.id: row.kind for row in on.app.ws.items.all()}
        assert {row_id for row_id in before if now[row_id] != before[row_id]} == set(on.ids[:3])
        assert {now[row_id] for row_id in on.ids[:3]} == {"decision"}
        await on.press("u")
        await on.until(lambda: {row.id: row.kind for row in on.app.ws.items.all()} == before)


@pytest.mark.parametrize(
    ("typed", "said"),
    [({"kind": "wish"}, "no kind"), ({"importance": "2"}, "0 to 1"), ({"importance": "much"}, "0 to 1"),
     ({"scope": "somewhere"}, "no scope"), ({"scope": "telegram:@"}, "no scope"), ({"scope": "a b:1"}, "channel")],
)  # fmt: skip
def test_what_cannot_be_a_field_is_refused(typed, said):
    with pytest.raises(BadInput, match=said):
        read_fields(typed, "w")


def test_a_scope_is_written_as_it_is_shown():
    for text in ("global", "telegram:42", "telegram:@7", "matrix:@@mira:example.org", "slack:C0:T1"):
        fields = read_fields({"scope": text}, "w")
        assert scope_label(Item("a", "b", **fields)) == text


async def test_a_list_at_its_top_stays_there_when_rows_come_on_top(demo):
    async with console(demo, "items", (80, 24)) as on:
        table = on.screen.table
        first = table.cursor_id
        with open_workspace(demo) as other:
            other.items.add("written by somebody else")
        on.app.check_workspace()
        await on.until(lambda: "written by somebody else" in texts(on))
        assert table.scroll_offset.y == 0
        assert table.cursor_id == first
        await on.shows("written by somebody else")


async def test_another_filter_begins_at_its_first_row(demo):
    async with console(demo, "items") as on:
        await on.press("G", "slash")
        await on.type("the")
        await on.app.settled()
        assert len(on.ids) > 2
        assert on.screen.table.cursor == 0
        await on.press("enter", "j", "j", "slash")
        assert on.screen.table.cursor == 2
        await on.press("backspace")
        assert on.screen.table.cursor == 0


@pytest.mark.slow
async def test_a_value_that_no_row_has_is_told(demo):
    async with console(demo, "items") as on:
        for typed in ("kind:prefrence", "kind:prefrence coffee"):
            await on.press("slash")
            await on.type(typed)
            await on.shows("No kind `prefrence`: there are fact")
            await on.press("escape", "escape")
