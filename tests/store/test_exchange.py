"""Sharing files with a RAM-first agent, which loads them once and then writes what it has in RAM."""

import json
import os

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents.snapshot_files import LESSON_TYPES, MEMORY_TYPES
from nanomem_tui.core.errors import NotFound
from tests.store.homes import Agent, item, make_home

AGENT_KEYS = ["id", "text", "source", "session_key", "created_at", "updated_at", "hits"]


def test_the_next_flush_of_a_running_agent_undoes_nothing(tmp_path):
    workspace = make_home(tmp_path)
    agent = Agent(workspace)
    with open_workspace(workspace) as ws:
        ws.lessons.set_enabled(["lesson_1"], False)
        ws.lessons.edit("lesson_2", better_action="our wording", confidence=9)
        ws.items.delete(["ltm_1"])
        ws.items.edit("ltm_2", text="our text")
        ws.items.set_enabled(["ltm_3"], False)
        added = ws.items.add("ours alone")[1]
        own_lesson = ws.lessons.add("ours", "also ours").changes[0].key
    agent.items["ltm_9"] = item(9, "learned meanwhile")
    agent.items["ltm_4"]["hits"] = 7
    agent.items["ltm_2"]["hits"] = 3
    agent.lessons["lesson_2"]["hits"] = 4
    for _ in range(2):
        agent.flush()
        with open_workspace(workspace) as ws:
            assert not ws.lessons.get("lesson_1").enabled
            assert (ws.lessons.get("lesson_2").better_action, ws.lessons.get("lesson_2").confidence) == (
                "our wording",
                9,
            )
            assert ws.lessons.get("lesson_2").hits == 4
            assert ws.lessons.get(own_lesson).trigger == "ours"
            with pytest.raises(NotFound):
                ws.items.get("ltm_1")
            assert (ws.items.get("ltm_2").text, ws.items.get("ltm_2").hits) == ("our text", 3)
            assert not ws.items.get("ltm_3").enabled
            assert ws.items.get(added.id).text == "ours alone"
            assert ws.items.get("ltm_9").text == "learned meanwhile"
            assert ws.items.get("ltm_4").hits == 7
            assert not [row for row in ws.items.all() if "conflict" in row.meta]
            ws.items.set_pinned(["ltm_4"], not ws.items.get("ltm_4").pinned)
        rows = {row["id"]: row for row in agent.read_items()}
        assert rows.keys() == {"ltm_2", "ltm_4", "ltm_9", added.id}
        assert rows["ltm_2"]["text"] == "our text"
        assert rows["ltm_2"]["hits"] == 3
        assert [row["enabled"] for row in agent.read_lessons()] == [False, True, True, True]


def test_a_console_repairs_the_file_that_a_stale_flush_wrote(tmp_path, monkeypatch):
    monkeypatch.setenv("NANOMEM_FLUSH_INTERVAL_SECONDS", "0")
    workspace = make_home(tmp_path)
    agent = Agent(workspace)
    with open_workspace(workspace) as console:
        console.lessons.set_enabled(["lesson_1"], False)
        console.flush()
        assert console.checkpoint_if_due() is None
        agent.flush()
        assert not console.refresh() & {"lessons"}, "no row changed"
        result = console.checkpoint_if_due()
        assert result is not None
        assert result.exported == ("LESSONS.jsonl",)
        assert agent.read_lessons()[0]["enabled"] is False


def test_after_its_restart_the_agent_may_change_what_it_loaded_from_us(tmp_path):
    workspace = make_home(tmp_path)
    agent = Agent(workspace)
    with open_workspace(workspace) as ws:
        added = ws.items.add("made by a person")[1]
    agent.load()
    agent.flush()
    agent.items[added.id]["text"] = "reworded by the agent"
    agent.items[added.id]["hits"] = 3
    del agent.items["ltm_1"]
    agent.flush()
    with open_workspace(workspace) as ws:
        assert (ws.items.get(added.id).text, ws.items.get(added.id).hits) == ("reworded by the agent", 3)
        with pytest.raises(NotFound):
            ws.items.get("ltm_1")


def test_what_the_agent_removed_goes_unless_a_person_touched_it(tmp_path):
    workspace = make_home(tmp_path)
    agent = Agent(workspace)
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_1", text="kept for its new text")
        ws.items.set_enabled(["ltm_2"], False)
        ws.lessons.set_enabled(["lesson_1"], False)
    for key in ("ltm_1", "ltm_2", "ltm_3"):
        del agent.items[key]
    del agent.lessons["lesson_1"], agent.lessons["lesson_2"]
    agent.flush()
    with open_workspace(workspace) as ws:
        assert {row.id for row in ws.items.all()} == {"ltm_1", "ltm_2", "ltm_4"}
        assert {row.id for row in ws.lessons.all()} == {"lesson_1", "lesson_3"}
        ws.items.set_pinned(["ltm_4"], True)
    with open_workspace(workspace) as ws:
        assert [e.operation.actor for e in ws.log()][:2] == ["human", "agent"]


def test_both_changed_a_text_and_a_person_settles_it(tmp_path):
    workspace = make_home(tmp_path)
    agent = Agent(workspace)
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_1", text="ours")
        ws.lessons.edit("lesson_1", trigger="ours")
    agent.items["ltm_1"]["text"] = "theirs"
    agent.lessons["lesson_1"]["trigger"] = "theirs"
    agent.flush()
    with open_workspace(workspace) as ws:
        row = ws.items.get("ltm_1")
        assert (row.text, row.meta) == ("ours", {"conflict": {"text": "theirs"}})
        assert ws.lessons.get("lesson_1").meta == {"conflict": {"trigger": "theirs"}}
        ws.items.edit("ltm_1", text="ours")
        assert ws.items.get("ltm_1").meta == {}


@pytest.mark.parametrize("cut", [0.0, 0.3, 0.7, 0.99])
def test_an_incomplete_file_removes_nothing(tmp_path, cut):
    workspace = make_home(tmp_path)
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_1"], True)
    for name in ("LTM_SNAPSHOT.json", "LESSONS.jsonl"):
        path = workspace / "memory" / name
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * cut)])
    torn = (workspace / "memory" / "LTM_SNAPSHOT.json").read_bytes()
    with open_workspace(workspace) as ws:
        assert len(ws.items.all()) == 4
        assert len(ws.lessons.all()) >= (0 if cut == 0 else 3)
        assert any(problem.where.endswith("LTM_SNAPSHOT.json") for problem in ws.problems())
        ws.items.set_pinned(["ltm_1"], False)
    assert len(Agent(workspace).items) == 4, "the file is whole again"
    kept = [path.read_bytes() for path in (workspace.parent / "nanomem" / "quarantine").iterdir()]
    assert torn in kept


def test_a_torn_line_costs_that_line_only(tmp_path):
    workspace = make_home(tmp_path)
    path = workspace / "memory" / "LESSONS.jsonl"
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], lines[1][:40], lines[2], b""]))
    with open_workspace(workspace) as ws:
        assert {row.id for row in ws.lessons.all()} == {"lesson_1", "lesson_3"}
        assert [problem.line for problem in ws.problems()] == [2]
        ws.lessons.set_enabled(["lesson_3"], False)
    assert path.read_bytes().split(b"\n")[0] == lines[0], "what was not touched is byte for byte as it was"


def test_untouched_rows_stay_byte_for_byte_and_unknown_keys_stay(tmp_path):
    workspace = make_home(tmp_path)
    agent = Agent(workspace)
    agent.items["ltm_1"] = {"hits": 2.0, "id": "ltm_1", "text": "odd  form", "mood": {"b": 1, "a": [None]}}
    agent.items["ltm_2"]["text"] = "emoji 🧠, line\u2028separator, \u0000 and tab\t"
    agent.items["ltm_3"]["x_new_in_this_release"] = [1, 2]
    agent.lessons["lesson_1"] = {"id": "lesson_1", "trigger": "only this", "weird": True, "enabled": 1}
    agent.flush()
    snapshot, lessons = (workspace / "memory" / name for name in ("LTM_SNAPSHOT.json", "LESSONS.jsonl"))
    before, before_lessons = snapshot.read_bytes(), lessons.read_bytes()
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_3", text="changed")
        ws.lessons.edit("lesson_2", bad_action="changed")
    expected = before.replace(b'"item number 3"', b'"changed"')
    got = snapshot.read_bytes()
    assert _without_times(got, "ltm_3") == _without_times(expected, "ltm_3")
    assert got.count(b'"x_new_in_this_release"') == 1
    assert lessons.read_bytes().split(b"\n")[0] == before_lessons.split(b"\n")[0]
    assert lessons.read_bytes().split(b"\n")[2] == before_lessons.split(b"\n")[2]
    assert list(json.loads(got)["items"][3]) == AGENT_KEYS


def _without_times(data, key):
    """The lines of a snapshot without the file's own time and that of one item."""
    lines = data.split(b"\n")
    start = next(n for n, line in enumerate(lines) if key.encode() in line)
    return [
        line
        for n, line in enumerate(lines)
        if not line.startswith(b'  "updated_at"') and not (start < n < start + 6 and b"updated_at" in line)
    ]


def test_the_agents_normalisation_of_a_long_text_is_no_change(tmp_path):
    workspace = make_home(tmp_path)
    agent = Agent(workspace)
    long = "a  long\ttext " * 40
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_1", text=long)
    agent.load()
    agent.items["ltm_1"]["text"] = " ".join(agent.items["ltm_1"]["text"].split())[:280]
    agent.items["ltm_1"]["hits"] += 1
    agent.flush()
    with open_workspace(workspace) as ws:
        row = ws.items.get("ltm_1")
        assert (row.text, row.hits, row.meta) == (long.strip(), 2, {})
        ws.items.set_pinned(["ltm_2"], True)
    assert len(agent.read_items()[0]["text"]) == 280, "and is not written back and forth"


def test_a_row_beyond_the_cap_of_the_export_is_not_taken_for_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("nanomem_tui.store.files.agent.EXPORTED_ITEMS", 2)
    workspace = make_home(tmp_path)
    agent = Agent(workspace)
    with open_workspace(workspace) as ws:
        ws.items.set_pinned(["ltm_1"], True)
    assert [row["id"] for row in agent.read_items()] == ["ltm_1", "ltm_4"]
    agent.load()
    agent.items["ltm_4"]["hits"] = 9
    agent.flush()
    with open_workspace(workspace) as ws:
        assert len(ws.items.all()) == 4
        assert ws.items.get("ltm_4").hits == 9


def test_an_agent_that_writes_between_our_look_and_our_write_wins_and_is_merged(tmp_path, monkeypatch):
    workspace = make_home(tmp_path)
    agent = Agent(workspace)
    fsync, hasty = os.fsync, [True]

    def and_flush(handle):
        fsync(handle)
        if hasty and "LTM_SNAPSHOT" in os.readlink(f"/proc/self/fd/{handle}"):  # ours is written, and not there yet
            hasty.clear()
            agent.items["ltm_8"] = item(8, "in the last moment")
            agent.flush()

    monkeypatch.setattr(os, "fsync", and_flush)
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_1", text="ours")
        assert ws.flush().exported == ("LTM_SNAPSHOT.json",)
        assert ws.items.get("ltm_8").text == "in the last moment"
    rows = {row["id"]: row["text"] for row in agent.read_items()}
    assert (rows["ltm_1"], rows["ltm_8"]) == ("ours", "in the last moment")


def test_hostile_values_stop_nothing(tmp_path):
    workspace = make_home(tmp_path)
    agent = Agent(workspace)
    snapshot = workspace / "memory" / "LTM_SNAPSHOT.json"
    rows = [
        {"id": "ltm_a", "text": "huge", "hits": 10**30},
        {"id": "ltm_b", "text": "endless", "hits": float("inf")},
        {"id": "ltm_c", "text": "no number", "hits": float("nan"), "created_at": 5, "session_key": ["x"]},
        {"id": "ltm_d", "text": "half \ud83d a character", "source": "\ud800", "updated_at": "\udfff"},
        {"id": "ltm_\ud800", "text": "an id that is no UTF-8"},
        {"id": "ltm_e", "text": "\x1b]52;c;AAAA\x07\x00[/foo]"},
        {"id": "ltm_f", "text": "times", "created_at": "0001-01-01T00:00:00", "updated_at": "9999-12-31T23:59:59"},
    ]
    snapshot.write_text(json.dumps({"version": 1, "items": rows}))
    with (workspace / "memory" / "LESSONS.jsonl").open("ab") as file:
        file.write(json.dumps({"id": "lesson_x", "trigger": "\ud800", "hits": -(10**25), "confidence": "9"}).encode())
    with open_workspace(workspace) as ws:
        assert {row.id for row in ws.items.all()} == {f"ltm_{c}" for c in "abcdef"}
        assert any("surrogate" in problem.what for problem in ws.problems())
        ws.items.edit("ltm_e", text="plain")
        ws.lessons.set_enabled(["lesson_x"], False)
        ws.flush()
    with open_workspace(workspace) as ws:
        assert ws.items.get("ltm_d").text == "half \ufffd a character"
        assert ws.items.get("ltm_a").hits == 0
    after = {row["id"]: row for row in agent.read_items()}
    assert after["ltm_d"] == rows[3], "what we did not touch keeps its escapes"
    assert after["ltm_a"]["hits"] == 10**30


# -- audit logs -------------------------------------------------------------------------------------------------------


def _events(workspace, name):
    return [json.loads(line) for line in (workspace / "memory" / name).read_bytes().split(b"\n") if line]


def test_changes_are_appended_to_the_audit_logs_in_the_agents_form(tmp_path):
    workspace = make_home(tmp_path)
    (workspace / "memory" / "LTM_AUDIT.jsonl").write_bytes(b'{"type": "memory_add", "at": "2026-02-13T09:17:0')
    with open_workspace(workspace) as ws:
        added = ws.items.add("remembered")[1]
        ws.items.edit("ltm_1", text="new words")
        ws.items.delete(["ltm_2"])
        ws.undo()
        ws.lessons.set_enabled(["lesson_1"], False)
        ws.lessons.set_enabled(["lesson_1"], True)
        ws.lessons.edit("lesson_2", trigger="new trigger")
        ws.lessons.delete(["lesson_3"])
        ws.lessons.reset()
    lines = (workspace / "memory" / "LTM_AUDIT.jsonl").read_bytes().split(b"\n")
    assert lines[0].endswith(b"09:17:0"), "a torn tail stays a line of its own"
    events = [json.loads(line) for line in lines[1:] if line]
    assert [(e["type"], e["id"]) for e in events] == [
        ("memory_add", added.id),
        ("memory_update", "ltm_1"),
        ("memory_delete", "ltm_2"),
        ("memory_add", "ltm_2"),
    ]
    assert events[0]["text"] == "remembered"
    assert (events[1]["before"], events[1]["after"]) == ("item number 1", "new words")
    assert (events[3]["text"], events[3]["source"]) == ("item number 2", "explicit_user")
    lessons = _events(workspace, "LESSONS_AUDIT.jsonl")
    assert [e["type"] for e in lessons] == [
        "lesson_disable",
        "lesson_enable",
        "lesson_update",
        "lesson_delete",
        "lesson_reset",
    ]
    assert lessons[-1]["removed"] == 2
    assert {e["type"] for e in [*events, *lessons]} <= {*MEMORY_TYPES, *LESSON_TYPES}
    assert all(not str(e["at"]).endswith("+00:00") for e in events), "naive local times, as the agent writes them"


def test_what_another_process_commits_while_lines_are_written_is_in_the_audit_log_too(tmp_path, monkeypatch):
    workspace = make_home(tmp_path)
    monkeypatch.setenv("NANOMEM_AUDIT", "on")
    ws, other = open_workspace(workspace), open_workspace(workspace)
    other.items.set_pinned(["ltm_3"], True)
    real = ws.store.files.append_audit

    def meanwhile(*said):
        other.items.delete(["ltm_2"])
        return real(*said)

    monkeypatch.setattr(ws.store.files, "append_audit", meanwhile)
    ws.items.delete(["ltm_1"])
    ws.flush()
    other.close()
    ws.close()
    assert [e["id"] for e in _events(workspace, "LTM_AUDIT.jsonl")][-2:] == ["ltm_1", "ltm_2"]


def test_a_failed_audit_write_shows_and_is_made_good(tmp_path):
    workspace = make_home(tmp_path)
    log = workspace / "memory" / "LTM_AUDIT.jsonl"
    log.unlink()
    log.symlink_to(workspace / "elsewhere.jsonl")
    (workspace / "elsewhere.jsonl").write_bytes(b"")
    with open_workspace(workspace) as ws:
        ws.lessons.delete(["lesson_1"])
        ws.items.delete(["ltm_1"])
        ws.flush()
        assert [(p.where, "audit log" in p.what) for p in ws.problems()] == [("LTM_AUDIT.jsonl", True)]
        assert ws.status()["problems"][0]["where"] == "LTM_AUDIT.jsonl"
        log.unlink()
        log.write_bytes(b"")
        ws.flush()
        assert ws.problems() == []
    assert [e["id"] for e in _events(workspace, "LTM_AUDIT.jsonl")] == ["ltm_1"]
    assert [e["id"] for e in _events(workspace, "LESSONS_AUDIT.jsonl")] == ["lesson_1"], "and nothing twice"


def test_an_export_without_permission_is_a_problem_and_no_failure(tmp_path, monkeypatch):
    workspace = make_home(tmp_path)
    real = os.open

    def deny(path, flags, *more, **named):
        if flags & os.O_CREAT and "LTM_SNAPSHOT.json" in str(path):
            raise PermissionError(13, "denied", str(path))
        return real(path, flags, *more, **named)

    with open_workspace(workspace) as ws:
        ws.items.delete(["ltm_1"])
        monkeypatch.setattr(os, "open", deny)
        ws.flush()
        assert [p.where for p in ws.problems()] == ["LTM_SNAPSHOT.json"]
        monkeypatch.setattr(os, "open", real)
        ws.flush()
        assert ws.problems() == []
    assert "ltm_1" not in Agent(workspace).items
    assert not list((workspace / "memory").glob(".*.nanomem-*")), "nothing of ours is left lying about"


def test_no_file_is_made_where_the_agent_keeps_none(sample_copy):
    workspace = sample_copy("nb035") / "home" / ".nanobot" / "workspace"
    with open_workspace(workspace) as ws:
        ws.items.add("on a workspace without seed 000's files")
        ws.lessons.add("a trigger", "an action")
    assert not list(workspace.rglob("LTM_*")) + list(workspace.rglob("LESSONS*"))
    with open_workspace(workspace) as ws:
        assert len(ws.items.all()) == 1


def test_export_off_leaves_the_agents_files_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("NANOMEM_EXPORT", "off")
    workspace = make_home(tmp_path)
    before = (workspace / "memory" / "LTM_SNAPSHOT.json").read_bytes()
    with open_workspace(workspace) as ws:
        ws.items.delete(["ltm_1"])
    assert (workspace / "memory" / "LTM_SNAPSHOT.json").read_bytes() == before
    with open_workspace(workspace) as ws:
        assert len(ws.items.all()) == 3
        assert ws.checkpoint_if_due() is None


def test_an_agent_started_on_an_older_export_takes_back_nothing(tmp_path):
    workspace = make_home(tmp_path)
    agent = Agent(workspace)
    with open_workspace(workspace) as ws:
        ws.items.edit("ltm_1", text="first")
        ws.items.delete(["ltm_2"])
        ws.lessons.set_enabled(["lesson_1"], False)
        ws.items.set_enabled(["ltm_3"], False)
    agent.load()
    with open_workspace(workspace) as ws:
        ws.undo(count=4)
        ws.items.edit("ltm_4", text="and this")
    agent.flush()
    with open_workspace(workspace) as ws:
        assert [ws.items.get(f"ltm_{n}").text for n in (1, 2, 3)] == [f"item number {n}" for n in (1, 2, 3)]
        assert ws.items.get("ltm_4").text == "and this"
        assert ws.lessons.get("lesson_1").enabled
        assert not any(row.meta for row in ws.items.all())


def test_what_belongs_to_one_chat_or_person_reaches_the_agent_with_its_session_alone(tmp_path):
    workspace = make_home(tmp_path)
    agent = Agent(workspace)
    with open_workspace(workspace) as ws:
        told = ws.items.add("for all")[1]
        ws.items.add("for one chat", scope_type="chat", channel="telegram", chat_id="7")
        ws.items.add("for one person", scope_type="user", channel="telegram", sender_id="8")
        ws.scopes.move(["ltm_1"], ws.scopes.named("telegram:7"))
    written = {row["text"]: row["session_key"] for row in agent.read_items()}
    assert written["for all"] == ""
    assert (written["for one chat"], written["for one person"]) == ("telegram:7", "telegram:8")
    assert (written["item number 1"], written["item number 2"]) == ("telegram:7", "")
    agent = Agent(workspace)  # it starts again and writes what it has
    agent.flush()
    with open_workspace(workspace) as ws:
        assert ws.items.get("ltm_1").scope_key == "channel:telegram:chat:7"
        assert ws.items.get(told.id).scope_type == "global"
        assert len(ws.items.all()) == len(agent.read_items())
