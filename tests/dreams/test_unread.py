"""What the rules cannot read, dumps of messages, is noted by the Dream that passes it and read by a model."""

import pytest

from nanomem_tui.cli.planned import change_lines
from nanomem_tui.core.errors import ModelError, NothingToDo
from nanomem_tui.core.operations import Change, new_operation
from nanomem_tui.dreams.schedule import describe_dream
from tests.dreams.dreaming import Dreaming, edit, fact, step, study
from tests.dreams.test_run import fresh
from tests.model.server import status

RAW = "[RAW] 2 messages\n[2026-05-01T10:00] USER: I am allergic to penicillin\n[2026-05-01T10:01] ASSISTANT: noted"
DUMP = "[RAW] 1 messages\n[2026-05-01T10:00] USER: I have a new job at the harbour and two cats."


def unread(on):
    return [entry.cursor for entry in on.dreams.queue().unread]


@pytest.mark.parametrize("content", [RAW, DUMP])
def test_an_entry_that_the_rules_cannot_read_waits_for_a_model_and_is_named(tmp_path, content):
    on = fresh(tmp_path)
    on.remember(content, "- [durable] User plays chess")
    result = on.dreams.run()
    assert (result.read, result.cursor_after, result.unread, result.to_json()["unread"]) == (2, 2, (1,), [1])
    assert (unread(on), on.dreams.status()["unread"], on.review.waiting()) == ([1], 1, [])
    assert (
        "1 entry the rules could not read (#1: prose, or a dump of messages): waits for a Dream by a model"
        in describe_dream(result)
    )
    on.undo()
    assert (unread(on), on.dreams.status()["unprocessed"]) == ([], 2)


def test_a_title_a_question_and_small_talk_are_read(tmp_path):
    on = fresh(tmp_path)
    on.remember("Summary of the session\n## Decisions\n- [durable] User plays chess", "Hi!", "How are you?")
    assert (on.dreams.run().unread, unread(on)) == ((), [])


def test_many_entries_are_one_note_and_what_is_not_read_changes_nothing_else(tmp_path):
    on = fresh(tmp_path)
    on.remember(*(f"{DUMP} It was day {number}." for number in range(60)))
    before = on.texts()
    while on.dreams.status()["unprocessed"]:
        result = on.dreams.run()
    assert result.unchanged.startswith("nothing changed; 20 entries the rules could not read (#41, #42, ")
    assert (len(unread(on)), on.texts(), on.review.waiting(), on.hunks.count()) == (60, before, [], 0)
    assert len(list((on.paths.review / "unread").iterdir())) == 3
    with pytest.raises(NothingToDo, match="60 entries the rules could not read"):
        on.dreams.run()


def test_a_dry_run_notes_nothing(tmp_path):
    on = fresh(tmp_path)
    on.remember(RAW)
    assert on.dreams.run(dry_run=True).unread == (1,)
    assert (unread(on), on.dreams.status()["unprocessed"]) == ([], 1)


def test_a_model_reads_what_the_rules_could_not_when_nothing_is_new(tmp_path):
    penicillin = "- User is allergic to penicillin"
    on = Dreaming(tmp_path, (RAW, DUMP), study(fact("penicillin", 21)), step(edit("add", 21, new=penicillin)))
    assert on.bench.dreams.run(dreamer="rules").unread == (21, 22)
    result = on.run()
    assert (result.read, result.remaining, result.again, on.cursor) == (2, 0, (21, 22), "22")
    assert penicillin in on.user
    assert unread(on.bench) == []
    assert "Entries 21 to 22 again." in on.bench.dreams.commits()[0].message
    on.bench.undo()
    assert (unread(on.bench), penicillin in on.user) == ([21, 22], False)


def test_new_entries_come_first_and_those_that_fit_are_read_again(tmp_path):
    on = Dreaming(tmp_path, (RAW, DUMP), study())
    on.bench.dreams.run(dreamer="rules")
    on.bench.remember("- [durable] User plays chess", first=23)
    with on.server:
        new = on.bench.dreams.run(dreamer="model")
        assert (new.again, on.cursor, unread(on.bench)) == ((), "23", [21, 22])
        again = on.bench.dreams.run(dreamer="model", max_batch_size=1)
    assert (again.again, again.remaining, unread(on.bench)) == ((21,), 1, [22])


def test_a_model_that_fails_leaves_them_waiting(tmp_path):
    on = Dreaming(tmp_path, (RAW,), status(400, "no"))
    on.bench.dreams.run(dreamer="rules")
    on.fails(ModelError)
    assert unread(on.bench) == [21]


def test_what_is_no_longer_in_the_archive_waits_no_more_and_a_broken_note_is_none(tmp_path):
    on = fresh(tmp_path)
    on.remember(RAW, DUMP)
    on.dreams.run()
    (note,) = (on.paths.review / "unread").iterdir()
    on.paths.history.write_bytes(on.paths.history.read_bytes().split(b"\n", 1)[1])
    assert unread(on) == [2]
    note.write_text("[")
    assert unread(on) == []


def test_an_undo_says_what_waits_no_longer():
    change = Change("hunk", "unread_1_1", {"entries": [1, 2]}, None)
    lines = change_lines([new_operation("undo", "undo", [change])])
    assert lines[1] == "  2 entries no longer wait for a model"
