"""An archive whose cursors are out of order: what stands behind an outlier is still dreamt on, each entry once."""

import json

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import NothingToDo, Refused

FACTS = ("The router is a Fritzbox", "The plumber is Otto", "Backups go to the NAS", "The gate code is 7788",
         "The boat is in Kiel", "The shed key hangs in the hall", "The server is called alpha9",
         "The attic has no heating")  # fmt: skip


def append(folder, *cursors, first=0):
    """Append an entry for each of `cursors` with the next fact, as an agent does."""
    with (folder / "memory" / "history.jsonl").open("a", encoding="utf-8") as file:
        for number, cursor in enumerate(cursors, first):
            row = {
                "cursor": cursor,
                "timestamp": f"2026-03-0{number + 1} 10:00",
                "content": f"- [permanent] {FACTS[number]}",
            }
            if cursor is None:
                del row["cursor"]
            file.write(json.dumps(row) + "\n")


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "workspace"
    (found / "memory").mkdir(parents=True)
    (found / "memory" / "MEMORY.md").write_text("# Memory\n")
    return found


def waiting(folder):
    with open_workspace(folder) as ws:
        number = ws.dream.status()["unprocessed"]
        assert ws.history.count()["unprocessed"] == number
        return int(number)


def dream(folder, **named):
    with open_workspace(folder) as ws:
        return ws.dream.run(**named).read


def held(folder):
    text = (folder / "memory" / "MEMORY.md").read_text("utf-8")
    return [fact for fact in FACTS if fact in text]


def cursor(folder):
    return (folder / "memory" / ".dream_cursor").read_text().strip()


def test_an_entry_behind_an_outlier_waits_and_is_dreamt_on_once(folder):
    append(folder, 1, 900, 3)
    assert dream(folder) == 3
    assert (waiting(folder), cursor(folder)) == (0, "3")
    append(folder, 4, first=3)
    assert waiting(folder) == 1
    assert dream(folder) == 1
    assert (held(folder), waiting(folder)) == (list(FACTS[:4]), 0)
    with open_workspace(folder) as ws, pytest.raises(NothingToDo):
        ws.dream.run()


def test_an_outlier_that_the_agent_has_read_to_hides_nothing_behind_it(folder):
    append(folder, 1, 900, 3, 4)
    (folder / "memory" / ".dream_cursor").write_text("900")
    assert waiting(folder) == 2
    assert dream(folder) == 2
    assert waiting(folder) == 0
    append(folder, 5, first=4)
    assert (waiting(folder), dream(folder), waiting(folder)) == (1, 1, 0)
    assert held(folder) == [FACTS[2], FACTS[3], FACTS[4]]


@pytest.mark.slow
@pytest.mark.parametrize("cursors", [(1, 2, 3, 2, 4), (5, 6, 7, 1, 2), (3, 3, 3), (1, 2, 2, 3), (9, 1, 8, 2, 7, 3)])
@pytest.mark.parametrize("size", [1, 2, 20])
def test_every_entry_is_read_whatever_the_numbers_and_the_batch(cursors, size, folder):
    append(folder, *cursors)
    reads = 0
    for _ in range(20):
        if not waiting(folder):
            break
        reads += dream(folder, max_batch_size=size)
    assert (waiting(folder), reads) == (0, len(cursors))
    assert held(folder) == list(FACTS[: len(cursors)])


def test_a_number_that_comes_again_behind_what_was_read_is_a_new_entry(folder):
    append(folder, 1, 2)
    dream(folder)
    append(folder, 2, first=2)
    assert (waiting(folder), dream(folder), waiting(folder)) == (1, 1, 0)
    assert FACTS[2] in held(folder)


def test_an_archive_that_counts_from_one_again_is_dreamt_on(folder):
    append(folder, 41, 42, 43)
    dream(folder)
    append(folder, 1, 2, first=3)
    assert (waiting(folder), dream(folder), waiting(folder)) == (2, 2, 0)
    assert cursor(folder) == "43", "an agent that dreams by numbers does not begin again"


def test_undo_gives_the_entries_back_also_where_the_cursor_stood_still(folder):
    append(folder, 41, 42, 43)
    dream(folder)
    append(folder, 1, first=3)
    dream(folder)
    with open_workspace(folder) as ws:
        ws.undo()
    assert waiting(folder) == 1
    assert dream(folder) == 1
    assert waiting(folder) == 0


@pytest.mark.parametrize("bad", ["4", -4, None, True, 4.0])
def test_a_line_without_a_number_is_skipped_as_by_the_agent_and_named(bad, folder):
    append(folder, 1, bad, 3)
    with open_workspace(folder) as ws:
        result = ws.dream.run()
        assert (result.read, result.unreadable) == (2, (2,))
    append(folder, 4, first=3)
    assert (waiting(folder), dream(folder)) == (1, 1)


def test_a_dream_cursor_far_ahead_is_still_refused_and_said(folder):
    append(folder, 1, 900, 3)
    (folder / "memory" / ".dream_cursor").write_text("99999")
    with open_workspace(folder) as ws, pytest.raises(Refused, match="ahead of the last entry"):
        ws.dream.run()


def test_compaction_of_the_archive_keeps_what_waits_behind_an_outlier(folder):
    append(folder, 1, 900, 3, 4)
    (folder / "memory" / ".dream_cursor").write_text("900")
    with open_workspace(folder) as ws:
        ws.history_changes.compact(keep=0)
    assert waiting(folder) == 2


def test_the_result_names_the_entries_that_it_read(folder):
    append(folder, 41, 42, 43, 44)

    def span(make):
        with open_workspace(folder) as ws:
            return str(make(ws).span)

    assert span(lambda ws: ws.dream.run(dry_run=True)) == "41 to 44"
    assert span(lambda ws: ws.dream.run(max_batch_size=3)) == "41 to 43"
