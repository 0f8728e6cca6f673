"""The Sessions screen: transcripts, search in all of them, compaction with undo, and the way to what came of them."""

import json
from typing import cast

import pytest

from nanomem_tui.agents.session_names import key_to_name
from nanomem_tui.memory.sessions import files, sessions
from nanomem_tui.screens.sessions import SessionsScreen, size_text
from nanomem_tui.widgets.bars import FilterBar
from nanomem_tui.widgets.table import LineTable
from nanomem_tui.workspace import open_workspace
from tests.screens.console import console

KEY = "telegram:20417"


def view(on):
    return cast("SessionsScreen", on.screen).view


def sessions_folder(workspace):
    with open_workspace(workspace) as ws:
        folder = ws.layout.sessions_dir
    assert folder is not None
    return folder


def write_session(workspace, key, count):
    head = {"_type": "metadata", "key": key, "created_at": "2026-01-01T00:00:00", "metadata": {"title": "A long one"}}
    lines = [json.dumps(head)]
    for number in range(count):
        role = "assistant" if number % 2 else "user"
        lines.append(json.dumps({"role": role, "content": f"message {number}", "timestamp": "2026-01-01T10:00:00"}))
    path = sessions_folder(workspace) / key_to_name(key)
    path.write_text("\n".join(lines) + "\n")
    return path


async def test_it_lists_every_session_and_shows_the_end_of_one(sample):
    async with console(sample("nb035"), "sessions", (160, 45)) as on:
        assert len(on.ids) == 39
        await on.at("discord:2600079")
        await on.shows("Caroline & Melanie #26", "51 messages")
        last = view(on).parts[-1]
        assert view(on).current is last, "a conversation is read from its end"


async def test_a_conversation_is_read_with_the_keyboard(demo):
    async with console(demo, "sessions", (80, 24)) as on:
        await on.at(KEY)
        await on.press("enter")
        await on.shows("Safe travels!", "ขอบคุณ", "> web_fetch", "= web_fetch ok")
        await on.press("g")
        await on.shows("archived", "0 of 8 messages are in summaries, 8 are not yet", "memories")
        await on.press("n", "n", "enter")
        assert "> web_fetch {}" not in on.text
        await on.press("escape")
        assert on.screen.table.has_focus


async def test_it_goes_to_the_memories_of_a_session(demo):
    async with console(demo, "sessions") as on:
        await on.at(KEY)
        await on.press("o")
        await on.until(lambda: on.screen.SCREEN == "items")
        await on.until(lambda: on.screen.query_one(FilterBar).query_text == f'session:"{KEY}"')
        await on.app.settled()
        with open_workspace(demo) as ws:
            expected = {item.id for item in ws.items.all() if item.session_key == KEY}
        assert set(on.ids) == expected
        assert expected


@pytest.mark.slow
async def test_search_in_all_transcripts_jumps_to_the_message(demo):
    async with console(demo, "sessions") as on:
        await on.press("F")
        await on.type("calendar")
        await on.shows("slack:C0LANTERN", "1 found")
        await on.press("enter")
        await on.until(lambda: view(on).current is not None and view(on).current.key == "m5", "at the tool call")
        assert on.screen.table.cursor_id == "slack:C0LANTERN"


@pytest.mark.slow
async def test_another_search_begins_at_its_first_result(demo):
    async with console(demo, "sessions") as on:
        await on.press("F")
        await on.type("a")
        await on.shows(" found")
        await on.press("down", "down")
        await on.type("ll")
        await on.shows("all", " found")
        table = on.app.screen.query_one(LineTable)
        await on.until(lambda: table.rows and all("all" in row.text.lower() for row in table.rows))
        assert table.cursor == 0


@pytest.mark.slow
async def test_search_finds_summaries_and_notes_too(demo):
    async with console(demo, "sessions") as on:
        await on.press("F")
        await on.type("Elin called")
        await on.shows("note ", " 1 found")
        await on.press("enter")
        await on.until(lambda: on.screen.SCREEN == "notes")
        await on.shows("Release notes drafted; Elin called about the weekend.")
        await on.press("F")
        await on.type("nothing of that kind anywhere")
        await on.shows("Nothing found.")
        await on.press("escape")
        assert on.screen.SCREEN == "notes"


@pytest.mark.slow
async def test_notes_and_archive_are_a_key_away_and_searched(demo):
    async with console(demo, "sessions") as on:
        await on.press("[")
        await on.shows("Release notes drafted")
        await on.press("3", "]")
        await on.until(lambda: on.screen.SCREEN == "archive")
        await on.app.settled()
        total = len(on.ids)
        with open_workspace(demo) as ws:
            assert total == ws.history.count()["entries"]
        await on.press("slash")
        await on.type("dreamt:no")
        await on.press("enter")
        assert 0 < len(on.ids) < total
        await on.press("escape", "escape")
        assert on.screen.SCREEN == "sessions"


@pytest.mark.slow
async def test_a_compaction_shows_what_it_keeps_and_can_be_undone(demo):
    path = sessions_folder(demo) / key_to_name(KEY)
    before = path.read_bytes()
    async with console(demo, "sessions") as on:
        await on.at(KEY)
        await on.press("c")
        await on.shows("Keep how many of the 8 messages", "300")
        await on.press("4", "enter")
        await on.shows("8 → 4", "(4 go)", "bytes", "begins with", "Yes please")
        await on.press("n")
        assert path.read_bytes() == before
        await on.press("c", "4", "enter", "y")
        await on.until(lambda: path.read_bytes() != before)
        assert path.read_bytes().splitlines()[1:] == before.splitlines()[5:]
        await on.shows("u undoes it")
        await on.press("u")
        await on.until(lambda: path.read_bytes() == before)


@pytest.mark.slow
async def test_selected_sessions_are_compacted_together(demo):
    folder = sessions_folder(demo)
    async with console(demo, "sessions") as on:
        await on.at(KEY)
        await on.press("space", "space", "c")
        await on.shows("Keep how many messages of each of 2 sessions")
        await on.press("4", "enter")
        await on.shows("Compact 2 of 2 sessions", KEY, "slack:C0LANTERN")
        await on.press("y")
        paths = [folder / key_to_name(key) for key in (KEY, "slack:C0LANTERN")]
        await on.until(lambda: [len(path.read_bytes().splitlines()) for path in paths] == [5, 5])


async def test_a_hit_is_seen_in_a_narrow_list(demo):
    write_session(demo, "cli:late", 1)
    path = sessions_folder(demo) / key_to_name("cli:late")
    with path.open("a") as file:
        file.write(json.dumps({"role": "user", "content": "long before " * 30 + "the needle and after"}) + "\n")
    async with console(demo, "sessions", (60, 20)) as on:
        await on.press("F")
        await on.type("needle")
        await on.shows("1 found", "needle")
        assert on.text.count("needle") == 2, "what was typed, and the hit"


@pytest.mark.slow
async def test_a_number_is_asked_for_and_the_reason_said_when_there_is_nothing_to_cut(demo):
    async with console(demo, "sessions") as on:
        await on.at(KEY)
        await on.press("c")
        await on.shows("Keep how many of the 8 messages")
        await on.press("enter")
        await on.shows("Nothing to cut: it has 8 messages, and 300 would be kept", "Keep how many")
        await on.type("abc")
        await on.press("enter")
        await on.shows("Type a number: a session keeps at least one message", "Keep how many")
        await on.press("escape", "c", "minus", "2", "enter")
        await on.shows("a session keeps at least one message", "Keep how many")
        await on.press("escape", "c", "4", "enter")
        await on.shows("8 → 4")


@pytest.mark.slow
async def test_a_turn_in_flight_refuses_the_compaction(demo):
    path = sessions_folder(demo) / key_to_name(KEY)
    sidecar = path.with_name(path.name.removesuffix(".jsonl") + ".checkpoint.json")
    sidecar.write_text("{}")
    async with console(demo, "sessions") as on:
        await on.at(KEY)
        assert on.screen.sign(on.screen.table.cursor_row) == "~"
        await on.shows("in flight")
        await on.press("c", "4", "enter")
        await on.shows("Not now:")
        await on.press("y")
        assert len(path.read_bytes().splitlines()) == 9


async def test_what_the_agent_writes_appears(demo):
    path = sessions_folder(demo) / key_to_name(KEY)
    async with console(demo, "sessions") as on:
        await on.at(KEY)
        with path.open("a") as file:
            file.write(json.dumps({"role": "user", "content": "one more thing"}) + "\n")
        on.app.check_workspace()
        await on.until(lambda: view(on).parts[-1].plain() == "one more thing")
        assert on.screen.table.cursor_id == KEY


@pytest.mark.slow
async def test_ten_thousand_messages_open_at_once(demo):
    write_session(demo, "cli:long", 10_000)
    async with console(demo, "sessions") as on:
        await on.at("cli:long")
        await on.press("tab")
        await on.shows("message 9999")
        await on.press("g")
        await on.shows("-- 2026-01-01 --", "message 0")
        await on.press("escape", "F")
        await on.type("message 5000")
        await on.shows("1 found")
        await on.press("enter")
        await on.until(lambda: view(on).current is not None and view(on).current.key == "m5000")


@pytest.mark.slow
async def test_a_search_from_the_narrow_list_arrives_at_the_message_also_near_the_end(demo):
    write_session(demo, "cli:long", 200)
    async with console(demo, "sessions", (80, 24)) as on:
        for number in (199, 196, 183):
            await on.press("F")
            await on.type(f"message {number}")
            await on.shows(" 1 found")
            await on.press("enter")
            await on.until(lambda: view(on).has_focus, "the transcript is shown")
            await on.press("left")  # all that the pane's new height led to is done
            assert view(on).current is not None
            assert view(on).current.key == f"m{number}"
            assert f"message {number}" in on.text
            await on.press("escape", "escape")


@pytest.mark.slow
async def test_of_a_very_long_one_a_part_is_shown_and_any_message_is_reached(demo, monkeypatch):
    monkeypatch.setattr(files, "WHOLE", 10_000)
    monkeypatch.setattr(sessions, "AT_ONCE", 40)
    write_session(demo, "cli:long", 400)
    async with console(demo, "sessions", (160, 50)) as on:
        await on.at("cli:long")
        await on.shows("message 399")
        assert [part.key for part in view(on).parts if part.key.startswith("m")] == [f"m{n}" for n in range(360, 400)]
        await on.press("tab", "g")
        await on.shows("A long one: #360 to #399 of 400 messages are here.")
        for number in (111, 395, 123):
            await on.press("escape", "F")
            await on.type(f"message {number}")
            await on.shows("1 found")
            await on.press("enter")
            await on.until(lambda number=number: view(on).current is not None and view(on).current.key == f"m{number}")


async def test_damage_is_said_and_the_rest_is_readable(sample):
    async with console(sample("torn"), "sessions", (160, 45)) as on:
        await on.at("cli:direct")
        assert on.screen.sign(on.screen.table.cursor_row) == "!"
        await on.shows("1 problem")
        await on.press("tab", "g")
        await on.shows("Problems (1)")
        assert len([part for part in view(on).parts if part.key.startswith("m")]) == 139


async def test_a_file_that_cannot_be_shown_says_why(demo):
    folder = sessions_folder(demo)
    (folder / key_to_name("cli:linked")).symlink_to("/etc/hostname")
    async with console(demo, "sessions") as on:
        await on.shows("hidden")
        row = next(row for row in on.screen.table.rows if row.key == "cli:linked")
        await on.at(on.screen.row_id(row))
        await on.shows("This transcript cannot be shown")


@pytest.mark.slow
async def test_letters_typed_into_a_field_are_no_keys(demo):
    async with console(demo, "sessions") as on:
        await on.press("slash")
        await on.type("qcoflu")
        assert on.screen.query_one(FilterBar).query_text == "qcoflu"
        assert on.screen.SCREEN == "sessions"
        await on.press("escape", "F")
        await on.type("qcoflu")
        await on.shows("qcoflu", "Nothing found.")


def test_sizes_read_well():
    assert [size_text(size) for size in (0, 999, 1_000, 27_123, 1_440_000, 3_000_000_000)] == [
        "0", "999", "1.0k", "27k", "1.4M", "3.0G",
    ]  # fmt: skip


async def test_an_archive_that_cannot_be_read_is_no_empty_one(sample):
    workspace = sample("nb035")
    history = workspace / "memory" / "history.jsonl"
    history.unlink()
    history.mkdir()
    async with console(workspace, "archive") as on:
        await on.shows("memory/history.jsonl")
        assert "No summaries yet" not in on.text


@pytest.mark.slow
async def test_an_imported_conversation_stands_among_them_and_is_only_read(demo, tmp_path, samples):
    source = samples / "crystal/home/.nanobot/memory.db"
    async with console(demo, "sessions", (140, 40)) as on:
        before = set(on.ids)
        with open_workspace(demo) as other:
            other.transfer.run(other.transfer.preview(source))
        on.app.check_workspace()
        await on.until(lambda: len(on.ids) == len(before) + 7)
        await on.at("telegram:26")
        await on.shows("= telegram:26", "38 messages", "imported")
        await on.press("c")
        await on.shows("an imported conversation is only read")
        await on.press("F")
        await on.type("charity race rewarding")
        await on.shows("That charity race sounds great", "2 found")
        await on.press("enter")
        await on.until(lambda: on.app.screen is on.screen and on.screen.table.cursor_id == "telegram:26")
        await on.shows("That charity race sounds great")


async def test_followed_new_messages_appear_as_the_agent_writes_them(demo):
    path = write_session(demo, "telegram:4711", 60)
    async with console(demo, "sessions") as on:
        await on.at("telegram:4711")
        await on.press("f")
        await on.shows("following (f stops)", "message 59")
        with path.open("a") as file:
            file.write(json.dumps({"role": "user", "content": "a new question \x1b]0;x\x07"}) + "\n")
        on.app.check_workspace()
        await on.shows("a new question")
        assert view(on).current is view(on).parts[-1]
        assert "\x1b" not in on.text
        await on.press("f")
        await on.until(lambda: "following" not in on.text)
