"""Sessions over their budget are archived by themselves: after a turn, by the schedule, and never against an undo."""

import json
import os
import subprocess
import sys
import threading

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import Conflict
from nanomem_tui.memory.sessions.files import SessionLayer
from nanomem_tui.memory.turns.request import turn_end
from tests.store.homes import agent_runs

KEY = "telegram:7"
BUDGET = {"NANOMEM_CONSOLIDATE_BUDGET_TOKENS": "400"}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The workspace of an agent that keeps no sessions, so that nanomem writes them; a small budget."""
    for name, value in BUDGET.items():
        monkeypatch.setenv(name, value)
    place = tmp_path / "home" / "workspace"
    place.mkdir(parents=True)
    return place


@pytest.fixture
def ws(place):
    with open_workspace(place) as opened:
        yield opened


def body(number, key=KEY):
    text = f"I moved to City{number} last week, and like it there more than in the town before"
    return {"session_key": key, "text": text, "assistant": f"Noted: City{number}."}


def told(ws, turns, key=KEY):
    for number in turns:
        ws.engine.whole_turn(turn_end(body(number, key), whole=True))


def consolidations(ws):
    return [entry for entry in ws.log(100) if entry.operation.kind == "session.consolidate"]


def archive(place):
    file = place / "memory" / "history.jsonl"
    return file.read_text() if file.exists() else ""


def messages(ws, key=KEY):
    return [message.content for message in ws.sessions.get(key).messages if not message.boundary]


def archived(ws, key=KEY):
    return ws.sessions.get(key).last_archived


@pytest.mark.slow
def test_a_session_of_ours_over_its_budget_is_archived_after_a_turn(ws, place):
    told(ws, range(5))
    ws.consolidate_if_due()
    assert (consolidations(ws), archive(place)) == ([], "")
    told(ws, range(5, 20))
    before = messages(ws)
    assert consolidations(ws) == [], "a turn itself does none of it"
    ws.consolidate_if_due()
    (entry,) = consolidations(ws)
    assert (entry.operation.actor, entry.undone) == ("compaction", False)
    assert "City0" in archive(place)
    assert "City19" not in archive(place)
    assert messages(ws) == before, "the transcript keeps every message"
    told(ws, range(20, 22))
    ws.consolidate_if_due()
    assert len(consolidations(ws)) == 1, "there is room again"
    told(ws, range(22, 40))
    ws.consolidate_if_due()
    assert len(consolidations(ws)) == 2
    assert archive(place).count("City0 ") == 1, "nothing is archived twice"


@pytest.mark.slow
def test_it_is_undone_after_the_session_went_on_and_stays_undone(ws, place):
    told(ws, range(20))
    ws.consolidate_if_due()
    (entry,) = consolidations(ws)
    told(ws, range(20, 23))
    ws.undo(entry.operation.id)
    assert (archive(place), archived(ws)) == ("", 0)
    assert len(messages(ws)) == 46
    told(ws, range(23, 40))
    ws.consolidate_if_due()
    ws.consolidator.consolidate_due()
    assert [entry.undone for entry in consolidations(ws)] == [True], "nobody does again what a person took back"
    ws.consolidator.consolidate(KEY)
    told(ws, range(40, 60))
    ws.consolidate_if_due()
    assert [entry.undone for entry in consolidations(ws)] == [False, False, True], "until a person does it"


def test_a_plain_undo_takes_back_what_a_person_did(ws):
    ws.items.add("Ana likes tea")
    told(ws, range(20))
    ws.consolidate_if_due()
    assert [operation.undoes for operation in ws.undo()] != [consolidations(ws)[0].operation.id]
    assert [entry.undone for entry in consolidations(ws)] == [False]


@pytest.mark.parametrize("schedule", ["own", "all", "off"])
def test_the_setting_says_whose_sessions(place, monkeypatch, schedule):
    monkeypatch.setenv("NANOMEM_CONSOLIDATE_SCHEDULE", schedule)
    with open_workspace(place) as ws:
        told(ws, range(20))
        ws.consolidate_if_due()
        assert len(consolidations(ws)) == (schedule != "off")


def agents_session(place):
    """A session that the agent wrote, over its budget."""
    folder = place / "sessions"
    folder.mkdir()
    head = {"_type": "metadata", "key": KEY, "created_at": "2026-01-01T10:00:00", "updated_at": "2026-01-01T10:00:00",
            "metadata": {}, "last_consolidated": 0}  # fmt: skip
    rows = []
    for number in range(20):
        at = f"2026-01-01T10:{number:02}:00"
        rows += [{"role": "user", "content": body(number)["text"], "timestamp": at},
                 {"role": "assistant", "content": body(number)["assistant"], "timestamp": at}]  # fmt: skip
    file = folder / "telegram_7.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in (head, *rows)))
    return file


@pytest.mark.parametrize(("schedule", "runs", "done"), [("own", False, 0), ("all", False, 1), ("all", True, 0)])
def test_a_session_of_the_agent_only_where_the_setting_says_so_and_the_agent_does_not_run(
    place, monkeypatch, schedule, runs, done
):
    file = agents_session(place)
    before = file.read_bytes()
    monkeypatch.setenv("NANOMEM_CONSOLIDATE_SCHEDULE", schedule)
    with open_workspace(place) as ws:
        if runs:
            agent_runs(monkeypatch)
        assert len(ws.consolidator.consolidate_due()) == done
        assert (file.read_bytes() == before) == (not done)
        assert ws.consolidator.consolidate_due() == []


@pytest.mark.slow
def test_one_turn_on_the_command_line_does_it_after_its_answer(place):
    with open_workspace(place) as ws:
        told(ws, range(20))
        assert consolidations(ws) == []
    done = subprocess.run(
        [sys.executable, "-m", "nanomem_tui", "--workspace", place, "turn"],
        input=json.dumps(body(20)), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)
    with open_workspace(place) as ws:
        assert len(consolidations(ws)) == 1


@pytest.mark.slow
def test_an_engine_that_stays_does_it_between_turns_and_loses_no_message(place):
    serving = subprocess.Popen(
        [sys.executable, "-m", "nanomem_tui", "--workspace", str(place), "turn", "serve"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ},
    )  # fmt: skip
    assert serving.stdin is not None
    assert serving.stdout is not None
    with serving, open_workspace(place) as ws:
        stop = threading.Event()

        def beside():  # another process of ours, such as a console, consolidates the same sessions
            while not stop.wait(0.05):
                ws.refresh()
                try:
                    ws.consolidator.consolidate_due()
                except Exception:
                    continue

        thread = threading.Thread(target=beside)
        thread.start()
        for number in range(50):
            serving.stdin.write(json.dumps({"do": "turn", **body(number)}) + "\n")
            serving.stdin.flush()
            assert "error" not in json.loads(serving.stdout.readline())
        stop.set()
        thread.join()
        serving.stdin.close()
        assert serving.wait(60) == 0
        ws.consolidator.consolidate_due()  # each of the two may have left it to the other
        said = messages(ws)
        assert [text for text in said if text.startswith("Noted")] == [f"Noted: City{n}." for n in range(50)]
        assert archived(ws) > 0


def test_one_that_failed_because_the_session_went_on_was_not_taken_back_and_is_tried_again(ws, monkeypatch):
    told(ws, range(20))

    def meanwhile(*_):
        raise Conflict("the session went on meanwhile", KEY)

    with monkeypatch.context() as patched:
        patched.setattr(SessionLayer, "apply", meanwhile)
        assert ws.consolidator.consolidate_due() == []
    assert archived(ws) == 0
    assert len(ws.consolidator.consolidate_due()) == 1
    assert archived(ws) > 0


@pytest.mark.slow
def test_the_schedule_does_it_and_says_so(place):
    with open_workspace(place) as ws:
        told(ws, range(20))
        told(ws, range(20), "telegram:8")
    done = subprocess.run(
        [sys.executable, "-m", "nanomem_tui", "--workspace", place, "dream", "schedule", "--once"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stdout.count("messages of session telegram:") == 2
    with open_workspace(place) as ws:
        assert len(consolidations(ws)) == 2
