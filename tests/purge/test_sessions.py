"""`nanomem forget --session` and `--person`: what is theirs goes, and nothing that only reads like it."""

import json
from collections.abc import Callable

import pytest

from nanomem_tui.agents.session_names import key_to_lossy_name, key_to_own_name
from tests.cli.conftest import Result
from tests.purge import planted

Run = Callable[..., Result]
KEY = "telegram:12345"


def _lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.slow
def test_lessons_and_memories_of_others_stay_as_they_are(home, run):
    workspace = home("ramfirst")
    lessons, snapshot = (workspace / "memory" / name for name in ("LESSONS.jsonl", "LTM_SNAPSHOT.json"))
    before, items = _lines(lessons), json.loads(snapshot.read_bytes())["items"]
    own = {str(one["id"]) for one in [*before, *items] if one.get("session_key") == KEY}
    others = {path: path.read_bytes() for path in (workspace.parent / "sessions").glob("*") if "12345" not in path.name}
    assert run("forget", "--session", KEY, "--yes").code in (0, 1)
    assert _lines(lessons) == [one for one in before if one["session_key"] != KEY]
    left = {one["id"] for one in json.loads(snapshot.read_bytes())["items"]}
    assert left == {one["id"] for one in items} - own
    assert {path: path.read_bytes() for path in others} == others
    assert not (workspace.parent / "sessions" / "telegram_12345.jsonl").exists()
    shown = {one["id"] for one in run("memory", "list", "--json", "--limit", "1000").json}
    assert not shown & own


@pytest.mark.slow
def test_copies_of_it_go_where_nothing_says_whose_they_are(home, run):
    workspace = home("nb035")
    session = next((workspace.parent / "sessions").rglob("Y2xpOmRpcmVjdA.jsonl"))
    other = next(path for path in session.parent.glob("*.jsonl") if path != session)
    both, mine = "Totally! Bye Nate, see you soon!", "My zeppelin hangar is in Friedrichshafen."
    for path, text in ((session, both), (session, mine), (other, both)):
        with path.open("a") as file:
            file.write(json.dumps({"role": "user", "content": text, "timestamp": "2026-02-15T09:00:00"}) + "\n")
    history = workspace / "memory" / "history.jsonl"
    with history.open("a") as file:
        for cursor, told in ((900, f"- Sam said: {mine}"), (901, f"- Sam said: {both}")):
            file.write(json.dumps({"cursor": cursor, "timestamp": "2026-02-15 09:00", "content": told}) + "\n")
        entry = {"cursor": 902, "timestamp": "2026-02-15 09:00", "content": f"again: {mine}", "session_key": "a:b"}
        file.write(json.dumps(entry) + "\n")
    document = workspace / "memory" / "MEMORY.md"
    document.write_text(f"# M\n\n- {mine}\n- tea is green\n")
    assert run("forget", "--session", "cli:direct", "--yes").code in (0, 1)
    told = {one["cursor"]: one["content"] for one in _lines(history) if one["cursor"] in (900, 901, 902)}
    assert told == {900: "- Sam said: [forgotten].", 901: f"- Sam said: {both}", 902: f"again: {mine}"}
    assert both in other.read_text()
    assert mine in document.read_text()  # a document says what was learned, not what was said


def test_a_line_of_a_document_goes_with_the_memory_that_it_holds(home, run):
    workspace = home("ramfirst")
    items = json.loads((workspace / "memory" / "LTM_SNAPSHOT.json").read_bytes())["items"]
    mine = {one["text"] for one in items if one.get("session_key") == KEY and len(one["text"]) > 20}
    theirs = {one["text"] for one in items if one.get("session_key") != KEY and len(one["text"]) > 20}
    goes, stays = (min(texts).splitlines()[0] for texts in (mine - theirs, theirs - mine))
    document = workspace / "memory" / "MEMORY.md"
    document.write_text(f"# M\n\n- {goes}\n- {stays}\n")
    assert run("forget", "--session", KEY, "--yes").code in (0, 1)
    assert document.read_text() == f"# M\n\n- {stays}\n"


def test_a_rehearsal_names_all_that_goes_where_there_is_no_database_yet(home, run):
    workspace = home("ramfirst")
    items = json.loads((workspace / "memory" / "LTM_SNAPSHOT.json").read_bytes())["items"]
    lessons = _lines(workspace / "memory" / "LESSONS.jsonl")
    own = [str(one["id"]) for one in [*items, *lessons] if one.get("session_key") == KEY]
    told = run("forget", "--session", KEY, "--dry-run", "--full").out
    assert not [key for key in own if key not in told]
    assert "Goes: file sessions/telegram_12345.jsonl" in told
    assert " lines go as a whole or in part; found " in told
    said = run("forget", "--session", KEY, "--dry-run", "--json").json["said"]
    assert sum(len(lines) for where, lines in said.items() if "AUDIT" not in where) == len(own)


@pytest.mark.slow
@pytest.mark.parametrize("wish", [("--session", "nope:1"), ("--person", "nobody")])
def test_a_name_that_nothing_says_is_no_success(wish, home, run):
    home("nb035")
    for line in ((*wish, "--yes"), (*wish, "--dry-run"), ("--text", "never said", *wish, "--yes")):
        told = run("forget", *line)
        assert (told.code, told.out) == (2, "")
        assert f"is anywhere, and nothing was done: {wish[1]}. Fix: `nanomem s" in told.err
    assert run("forget", "--list", "--json").json == []
    assert run("forget", "--again", "--yes").code == 2  # nothing is kept of it


def test_where_nobody_could_look_is_told_of_an_unknown_name(home, run, tmp_path):
    outside, document = tmp_path / "outside.md", home("nb035") / "memory" / "MEMORY.md"
    document.rename(outside)
    document.symlink_to(outside)
    told = run("forget", "--person", "nobody", "--yes")
    assert (told.code, "anywhere that can be looked through (not workspace/memory/MEMORY.md)" in told.err) == (2, True)


@pytest.mark.slow
def test_what_was_forgotten_before_is_no_unknown_name(home, run):
    home("nb035")
    for _ in range(2):
        assert run("forget", "--session", "cli:direct", "--yes").code == 0
    assert run("forget", "--again", "--yes").code == 0


@pytest.mark.slow
def test_who_is_named_in_a_conversation_alone_is_known(home, run):
    session = next((home("nb035").parent / "sessions").rglob("*.jsonl"))
    with session.open("a") as file:
        file.write(json.dumps({"role": "user", "content": "Ahoy there, all of you!", "sender_id": "ned"}) + "\n")
    assert run("forget", "--person", "ned", "--yes").code == 0
    assert "Ahoy" not in session.read_text()


@pytest.mark.slow
def test_a_backup_and_a_history_that_hold_the_conversation_are_told_and_cleaned(home, run):
    workspace = home("nb035")
    head = {"_type": "metadata", "key": "telegram:99", "metadata": {}, "last_consolidated": 0}
    said = {"role": "user", "content": "My yacht is called Bathsheba the Great.", "timestamp": "2026-02-15T09:00:00"}
    folder = next((workspace.parent / "sessions").rglob("*.jsonl")).parent
    for path in (folder / "dGVsZWdyYW06OTk.jsonl", workspace / "copied.jsonl"):
        path.write_text(f"{json.dumps(head)}\n{json.dumps(said)}\n")
    planted.git(workspace, "add", "-f", "copied.jsonl")
    planted.git(workspace, "commit", "-q", "-m", "a conversation")
    planted.told_then_cleaned(workspace, run, ("--session", "telegram:99"), "Bathsheba")


def test_what_undo_needs_of_a_conversation_goes_with_it(workspace, run):
    said = "I prefer window seats, and my bike is blue."
    path = _conversation(workspace, said)
    other = _conversation(workspace, "Another chat of somebody else.", "telegram:2")
    assert run("session", "compact", "telegram:1", "--keep", "1", "--yes").code == 0
    assert run("session", "compact", "telegram:2", "--keep", "1", "--yes").code == 0
    assert planted.holding(workspace.parent, said) != []
    assert "backups/" in run("forget", "--session", "telegram:1", "--dry-run").out
    assert run("forget", "--session", "telegram:1", "--yes").code == 0
    assert (planted.holding(workspace.parent, said), path.exists()) == ([], False)
    (kept,) = [one["id"] for one in run("log", "--json").json if "compact session telegram:2" in one["label"]]
    assert run("undo", kept).code == 0  # of the other conversation nothing is lost
    assert "Another chat" in other.read_text()


TORN = [
    (0, ("session", "compact", "telegram:1", "--keep", "1", "--yes")),  # its first line, which says whose it is
    (1, ("doctor", "--fix", "--yes")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("torn", "line"), TORN)
@pytest.mark.parametrize("wish", [("--session", "telegram:1"), ("--person", "mallory")])
def test_what_was_kept_of_a_torn_conversation_goes_too(wish, torn, line, home, run):
    workspace = home("nb035")
    folder = next((workspace.parent / "sessions").rglob("*.jsonl")).parent
    path = _conversation(workspace, "The Quxwhalery is mine.", path=folder / key_to_own_name("telegram:1"))
    lines = path.read_bytes().splitlines(keepends=True)
    lines[torn] = lines[torn].rstrip(b"}\n") + b"\n"
    path.write_bytes(b"".join(lines))
    assert run(*line).code in (0, 1)
    log = run("log", "--limit", "3").out
    assert log.count("session telegram:1") + log.count(path.name) == 1
    assert run("forget", *wish, "--backups", "--yes").code == 0
    assert planted.outside_git(workspace.parent) == []


def _conversation(workspace, said, key="telegram:1", *, path=None):
    """A transcript in which mallory said something, and was answered."""
    path = path or workspace.parent / "sessions" / key_to_lossy_name(key)
    head = {"_type": "metadata", "key": key, "metadata": {}, "last_consolidated": 0}
    told = {"role": "user", "content": said, "sender_id": "mallory", "timestamp": "2026-02-15T09:00:00"}
    answer = {"role": "assistant", "content": "Noted.", "timestamp": "2026-02-15T09:00:01"}
    path.write_text("".join(f"{json.dumps(one)}\n" for one in (head, told, answer)))
    return path
