"""`nanomem record KIND`: each kind listed, shown with its links, searched, added, corrected, deleted; all undoable."""

import io
import json
import sqlite3
from contextlib import closing
from types import SimpleNamespace

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.store.work.kinds import RECORD_KINDS
from nanomem_tui.tiers.records import NewRecord

LEAST = {
    "goal": {"description": "Keep the site up"},
    "task": {"description": "Restart nginx"},
    "tool-call": {"tool_name": "fs.read", "input": {"path": "/etc/hosts"}},
    "agent-state": {"agent_name": "system-agent", "state": {"busy": True}},
    "decision": {"context": "nginx 502", "chosen": "reload", "reasoning": "less disruptive"},
    "pattern": {"trigger": "nginx down", "action": "restart nginx"},
    "procedure": {"name": "restart", "description": "Restart nginx"},
    "incident": {"description": "nginx answers 502"},
    "config-change": {"file_path": "/etc/nginx/nginx.conf", "content": "worker_processes 4;"},
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty workspace, which is the default one."""
    found = tmp_path / "home" / "workspace"
    found.mkdir(parents=True)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(found))
    return found


@pytest.fixture
def aios(place, samples, run):
    """Both databases of another system's agent, imported."""
    assert run("memory", "import", samples / "aios", "--yes").code == 0


def given(run, kind, record_id="", **fields):
    line = ["record", kind, "add", "--data", json.dumps({**LEAST[kind], **fields}), "--json"]
    result = run(*line, *(["--id", record_id] if record_id else []))
    assert result.code == 0, result.err
    return str(result.json["record"]["id"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", RECORD_KINDS)
def test_every_kind_goes_the_whole_way(kind, place, run):
    record_id = given(run, kind)
    [listed] = run("record", kind, "list", "--json").json
    assert list(listed)[:3] == ["id", "kind", "tier"]
    assert (listed["id"], listed["kind"], listed["origin"]) == (record_id, kind, "manual")
    assert LEAST[kind].items() <= listed.items()
    word = next(value for value in LEAST[kind].values() if isinstance(value, str)).split()[0]
    assert [hit["id"] for hit in run("record", kind, "search", word, "--json").json] == [record_id]
    name = next(name for name, value in LEAST[kind].items() if isinstance(value, str) and name != "agent_name")\
        if kind != "agent-state" else "state"  # fmt: skip
    changed = run("record", kind, "edit", record_id, "--data", json.dumps({name: "other"}), "--json").json
    assert changed["record"][name] == "other"
    assert run("record", kind, "show", record_id, "--json").json[name] == "other"
    assert [one["label"].split()[0] for one in run("record", kind, "history", record_id, "--json").json] == [
        "edit", "add",
    ]  # fmt: skip
    assert run("record", kind, "delete", record_id, "--yes").code == 0
    assert run("record", kind, "list", "--json").json == []
    run("undo", "2")
    assert run("record", kind, "show", record_id, "--json").json[name] == LEAST[kind][name]
    run("undo")
    assert run("record", kind, "show", record_id).code == 2


@pytest.mark.slow
def test_a_list_narrows_pages_and_tells_how_many_there_are(aios, run):
    rows = run("record", "goal", "list", "--json").json
    assert len(rows) == 40
    assert rows == sorted(rows, key=lambda row: (row["created_at"], row["id"]), reverse=True)
    narrow = ("record", "goal", "list", "--where", "status=completed", "--where", "priority=2")
    found = run(*narrow, "--json").json
    assert found == [row for row in rows if (row["status"], row["priority"]) == ("completed", 2)]
    assert run("record", "goal", "list", "--limit", "3", "--offset", "2", "--json").json == rows[2:5]
    since = ("record", "goal", "list", "--since", "2026-02-13T20:00:00+00:00", "--until", "2026-02-14T00:00:00+00:00")
    assert [row["id"] for row in run(*since, "--json").json] == ["g1", "g2", "g3", "g4"]
    assert run(*since, "--limit", "1").out.endswith("1 of 4 goals\n")
    assert run("record", "goal", "list", "--tier", "longterm", "--json").json == []
    assert len(run("record", "procedure", "list", "--tier", "longterm", "--json").json) == 20
    assert len(run("record", "tool_calls", "list", "--where", "success=yes", "--json").json) == 120
    assert run("record", "tool-call", "list", "--where", "success=no", "--json").json == []
    assert len(run("record", "goal", "list", "--where", "result=", "--json").json) == sum(
        row["result"] is None for row in rows
    )


@pytest.mark.slow
def test_a_goal_shows_its_tasks_and_their_tool_calls(aios, run):
    shown = run("record", "goal", "show", "g0", "--json").json
    tasks = [one for one in shown["links"] if one["relation"] == "task"]
    assert [one["id"] for one in tasks] == ["t0_0", "t0_1", "t0_2"]
    assert [(one["relation"], one["id"]) for one in tasks[0]["links"]] == [("tool call", "tc0_0")]
    lines = run("record", "goal", "show", "g0").out.splitlines()
    assert any(line.split()[:3] == ["task", "t0_0", "2026-02-14"] for line in lines)
    assert any(line.startswith("↳ tool call") and "tc0_0" in line for line in lines)
    assert [one["id"] for one in run("record", "tool-call", "show", "tc0_0", "--json").json["links"]] == ["t0_0"]


def test_of_many_tasks_of_a_goal_the_newest_are_named_and_that_is_said(place, run):
    goal = given(run, "goal")
    with open_workspace(place) as ws:
        ws.records.store_many(NewRecord("task", {"description": "one more", "goal_id": goal}) for _ in range(50))
    assert run("record", "goal", "show", goal).out.endswith("Of its tasks the newest 50 are named.\n")
    given(run, "task", "task_50", goal_id=goal, agent="ana")
    assert len(run("record", "task", "list", "--where", f"goal_id={goal}", "--json").json) == 51
    assert len(run("record", "task", "list", "--where", "agent=", "--json").json) == 50


def test_a_long_value_is_shown_in_full_below_its_name(place, run):
    record_id = given(run, "config-change", content="user www;\n\tworkers 4;", reason="x" * 300)
    lines = run("record", "config-change", "show", record_id).out.splitlines()
    assert lines[lines.index("content:") + 1] == "  user www;"
    assert "x" * 300 in "".join(line.strip() for line in lines)


def test_what_is_asked_for_in_json_can_be_added_again(place, run, monkeypatch):
    data = json.dumps({"id": "mine", **LEAST["incident"], "symptoms": ["502", {"since": None}]})
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data.encode()), isatty=lambda: False))
    assert run("record", "incident", "add", "--data", "-", "--json").json["record"]["symptoms"] == [
        "502", {"since": None},
    ]  # fmt: skip
    assert run("record", "incident", "show", "mine").code == 0
    assert run("record", "incident", "add", "--data", data).code == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("record foo list", "no such kind of record: foo. Fix: one of goal, task, tool-call"),
        ("record metric list", "not recorded one by one: metric"),
        ("record goal frobnicate", "no command 'frobnicate'"),
        ("record goal add --data {nope", "no JSON"),
        ("record goal add --data [1]", "not a JSON object"),
        ("record goal add --data {}", "a goal needs `description`"),
        ('record goal add --data {"description":"x","colour":1}', "a goal has no field `colour`. Fix: its fields: "),
        ('record goal add --data {"description":5}', "`description` of a goal cannot be 5. Fix: give a text"),
        ('record goal add --data {"description":"x","priority":"high"}', "cannot be 'high'. Fix: give a whole"),
        ('record goal add --data {"description":"x","created_at":"soon"}', "give a time, like"),
        ('record goal add --data {"description":"x","id":7}', "`id` is no text"),
        ('record goal edit g0 --data {"description":null}', "a goal needs `description`"),
        ("record goal show nobody", "no such goal"),
        ("record goal list --where colour=red", "no FIELD=VALUE of a goal"),
        ("record goal list --where priority=high", "give a whole number"),
        ("record goal list --where metadata=x", "cannot be compared"),
        ("record goal list --since someday", "is no time"),
        ("record goal delete g0", "add --yes to do it"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(place, line, said, run):
    given(run, "goal", "g0")
    result = run(*line.split(" "))
    assert result.code == 2
    [told] = result.err.splitlines()
    assert said in told
    assert len(run("record", "goal", "list", "--json").json) == 1


NEVER = [
    ("goal", {"status": "running"}, "`status` of a goal cannot be 'running'. Fix: give one of pending, planning, "),
    ("task", {"status": ""}, "cannot be ''. Fix: give one of"),
    ("goal", {"priority": -1}, "`priority` of a goal cannot be -1. Fix: give 0 or more"),
    ("goal", {"description": " \n"}, "a goal needs `description`. Fix: give it"),
    ("goal", {"created_at": 9999}, "cannot be 9999. Fix: give a time, like"),
    ("goal", {"created_at": "9999-01-01"}, "Fix: give a time before 2200"),
    ("task", {"duration_ms": -1}, "Fix: give 0 or more"),
    ("pattern", {"success_rate": 1.5}, "`success_rate` of a pattern cannot be 1.5. Fix: give 0 to 1"),
    ("pattern", {"success_rate": -0.1}, "Fix: give 0 to 1"),
    ("pattern", {"uses": -3}, "Fix: give 0 or more"),
    ("procedure", {"steps": "stop"}, "`steps` of a procedure cannot be 'stop'. Fix: give a list"),
    ("procedure", {"tags": {"a": 1}}, "Fix: give a list of texts"),
    ("procedure", {"tags": [1]}, "Fix: give a list of texts"),
]


@pytest.mark.parametrize(("kind", "fields", "said"), NEVER)
def test_what_no_record_says_is_neither_added_nor_put_into_one(kind, fields, said, place, run):
    record_id = given(run, kind)
    before = run("record", kind, "list", "--json").json
    whole = json.dumps({**LEAST[kind], **fields})
    for line in (("add", "--data", whole), ("edit", record_id, "--data", json.dumps(fields))):
        result = run("record", kind, *line)
        assert (result.code, result.out) == (2, ""), line
        [told] = result.err.splitlines()
        assert said in told
    assert run("record", kind, "list", "--json").json == before


def test_a_configuration_is_recorded_with_its_content_which_may_be_empty(place, run):
    result = run("record", "config-change", "add", "--data", '{"file_path": "/etc/motd"}')
    assert result.code == 2
    assert "a config-change needs `content`. Fix: give it, empty where there is nothing in it" in result.err
    assert run("record", "config-change", "add", "--data", '{"file_path": "/etc/motd", "content": ""}').code == 0


@pytest.mark.slow
def test_what_another_system_says_in_its_own_words_comes_in_and_can_be_edited(place, sample_copy, run):
    theirs = sample_copy("aios") / "working.db"
    with closing(sqlite3.connect(theirs)) as connection, connection:
        connection.execute("UPDATE goals SET status = 'running', priority = -5 WHERE id = 'g0'")
    assert run("memory", "import", theirs, "--yes").code == 0
    (goal,) = run("record", "goal", "list", "--where", "status=running", "--json").json
    assert (goal["id"], goal["priority"]) == ("g0", -5)
    same = json.dumps({"status": "running", "result": "better"})
    assert run("record", "goal", "edit", "g0", "--data", same).code == 0
    assert run("record", "goal", "edit", "g0", "--data", '{"status": "started"}').code == 2
    assert run("record", "goal", "edit", "g0", "--data", '{"status": "in_progress"}').code == 0


REFERENCES = [
    ("task", "goal_id", "no such goal (`goal_id` of a task): g9. Fix: nanomem record goal list shows the ids"),
    ("task", "procedure_id", "no such procedure (`procedure_id` of a task): g9"),
    ("tool-call", "task_id", "no such task (`task_id` of a tool-call): g9"),
    ("decision", "task_id", "no such task (`task_id` of a decision): g9"),
    ("pattern", "created_from", "no such goal or task (`created_from` of a pattern): g9"),
]


@pytest.mark.parametrize(("kind", "field", "said"), REFERENCES)
def test_a_record_that_refers_to_one_that_does_not_exist_is_refused(kind, field, said, place, run):
    given(run, "incident")
    result = run("record", kind, "add", "--id", "mine", "--data", json.dumps({**LEAST[kind], field: "g9"}))
    assert (result.code, result.out) == (2, "")
    [told] = result.err.splitlines()
    assert said in told
    assert run("record", kind, "list", "--json").json == []
    assert run("record", kind, "add", "--data", json.dumps({**LEAST[kind], field: "g9"}), "--dry-run").code == 2


@pytest.mark.parametrize(("kind", "field", "said"), REFERENCES)
def test_an_edit_that_refers_to_one_that_does_not_exist_is_refused_and_what_an_agent_stored_stays_editable(
    kind, field, said, place, run
):
    given(run, kind, "mine")
    result = run("record", kind, "edit", "mine", "--data", json.dumps({field: "g9"}))
    assert (result.code, said in result.err) == (2, True)
    assert run("record", kind, "show", "mine", "--json").json[field] is None
    with open_workspace(place) as ws:
        ws.records.store(kind, {field: "g9"}, "mine")
    other = next(name for name in LEAST[kind] if name != "input")
    edited = run("record", kind, "edit", "mine", "--data", json.dumps({other: "else", field: "g9"}))
    assert (edited.code, edited.err) == (0, "")


def test_a_reference_to_a_deleted_record_is_refused_until_it_is_back(place, run):
    goal = given(run, "goal")
    run("record", "goal", "delete", goal, "--yes")
    line = ("record", "task", "add", "--data", json.dumps({**LEAST["task"], "goal_id": goal}))
    assert run(*line).code == 2
    run("undo")
    assert run(*line).code == 0


def test_a_record_that_names_one_that_is_there_says_nothing(place, run):
    task = given(run, "task", goal_id=given(run, "goal"), procedure_id=given(run, "procedure"))
    given(run, "pattern", created_from=task)
    given(run, "tool-call", task_id=task)


@pytest.mark.parametrize(
    ("data", "name"),
    [('{"description": "one", "description": "two"}', "description"), ('{"metadata": {"a": 1, "a": 2}}', "a")],
)
def test_a_name_that_is_given_twice_is_refused(data, name, place, run):
    given(run, "goal", "g0")
    for line in (("add",), ("edit", "g0")):
        result = run("record", "goal", *line, "--data", data)
        assert (result.code, result.err) == (2, f"nanomem: `{name}` is given twice: --data. Fix: give it once\n")


@pytest.mark.slow
def test_a_change_is_rehearsed(aios, place, run):
    def files():
        every = (path for path in place.parent.rglob("*") if path.is_file())
        return {path: path.read_bytes() for path in every if path.suffix not in (".db-wal", ".db-shm")}

    before = files()
    added = run("record", "goal", "add", "--data", '{"description": "tea", "metadata": {"a": 1}}', "--dry-run")
    assert added.out.splitlines()[:2] == ["Would add goal “tea”", "  description: “tea”"]
    edited = run("record", "goal", "edit", "g0", "--data", '{"result": "better", "metadata": {"b": [2]}}', "--dry-run")
    assert edited.out.splitlines()[1:] == ["  result: “ok” → “better”", '  metadata: {} → {"b": [2]}']
    assert "Would delete:" in run("record", "goal", "delete", "g0", "g1", "--dry-run").out
    body = run("record", "goal", "edit", "g0", "--data", '{"result": "better"}', "--dry-run", "--json").json
    assert body["dry_run"] is True
    assert body["record"]["result"] == "better"
    assert files() == before


@pytest.mark.slow
def test_an_edit_that_changes_nothing_says_so(aios, run):
    result = run("record", "goal", "edit", "g0", "--data", '{"result": "ok"}')
    assert (result.code, result.out) == (0, "Nothing changed.\n")


@pytest.mark.slow
def test_what_changed_is_told_field_by_field(aios, run):
    run("record", "goal", "edit", "g0", "--data", '{"result": "better"}')
    first, second, *rest = run("record", "goal", "history", "g0").out.splitlines()
    assert first.endswith("human: edit goal “Goal 0: Hey Mel! Good to see you! How ha…”")
    assert second == "  result: “ok” → “better”"
    assert rest[0].split("  ")[1].startswith("import: import 1 agent state")
    assert len(run("record", "goal", "history", "g0", "--limit", "1", "--json").json) == 1


def test_the_history_tells_each_step_also_one_that_was_taken_back(place, run):
    goal = given(run, "goal", priority=1)
    assert run("record", "goal", "edit", goal, "--data", '{"priority": 3}').code == 0
    for step in ("undo", "redo", "undo"):
        assert run(step).code == 0
    steps = run("record", "goal", "history", goal, "--json").json
    assert [one["label"].split()[0] for one in steps] == ["undo:", "redo:", "undo:", "edit", "add"]
    assert [one["undone"] for one in steps] == [False, False, False, True, False]
    assert [(one["before"], one["after"]) for one in steps[:4]] == [
        ({"priority": 3}, {"priority": 1}), ({"priority": 1}, {"priority": 3}),
        ({"priority": 3}, {"priority": 1}), ({"priority": 1}, {"priority": 3}),
    ]  # fmt: skip
    lines = run("record", "goal", "history", goal).out.splitlines()
    assert [line for line in lines if line.endswith("(taken back)")] == [lines[6]]
    assert lines[7] == "  priority: 1 → 3"


def test_help_names_the_fields_and_an_example_of_each_kind(run):
    told = run("record", "decision", "add", "--help").out
    assert "nanomem record decision add --data" in told
    assert "context* (text)" in told
    for kind, field in (("pattern", "success_rate (real, 0 to 1)"), ("config-change", "content* (text)")):
        assert field in " ".join(run("record", kind, "add", "--help").out.split())
    assert "{" not in told.replace('{"context"', "")
    assert "incident" in run("record", "--help").out


def test_where_nothing_was_recorded_there_is_nothing_and_no_file_is_made(workspace, run):
    assert run("record", "goal", "list", "--json").json == []
    assert run("record", "goal", "search", "x", "--json").json == []
    assert run("record", "goal", "list").out == "0 goals\n"
    assert list(workspace.rglob("tiers.*")) == []
