"""Lines on which two appends met, or which begin torn or with NUL bytes: every whole object in them is read, `doctor
--fix` gives each a line of its own, and undo brings the file back byte for byte."""

import json

import pytest

GOOD = b'{"cursor": 9, "timestamp": "2026-05-09 10:00", "content": "the last"}\n'


def entry(cursor, content):
    return json.dumps({"cursor": cursor, "timestamp": "2026-05-01 10:00", "content": content}).encode()


ONE, TWO, THREE = entry(1, "n8n runs on {5888}"), entry(2, 'says "yes" {} {'), entry(3, "the wiki")


@pytest.fixture
def archive(workspace):
    path = workspace / "memory" / "history.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    (workspace / "SOUL.md").write_text("# Soul\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "cursors", "is_lossless"),
    [
        (ONE + TWO, [1, 2], True),
        (ONE + b" \t" + TWO + THREE, [1, 2, 3], True),
        (ONE + b"\r" + TWO + b"\r", [1, 2], True),
        (b"\0" * 40 + ONE, [1], True),
        (ONE + b"\0" * 40 + TWO, [1, 2], True),
        (b"\xef\xbb\xbf" + ONE + b"\xef\xbb\xbf" + TWO, [1, 2], True),
        (ONE + b"half a word", [1], False),
        (ONE + b", " + TWO, [1, 2], True),
        (ONE[:20] + TWO, [2], False),
        (ONE[:-5] + b"\xc3" + TWO, [2], False),
        (ONE + TWO[:30], [1], False),
    ],
)
def test_every_object_of_a_line_is_read_and_doctor_keeps_it_on_a_line_of_its_own(
    run, archive, line, cursors, is_lossless
):
    before = line + b"\n" + GOOD
    archive.write_bytes(before)
    listed = [one["cursor"] for one in run("history", "list", "--json").json]
    assert sorted(listed) == [*cursors, 9]
    told = run("doctor")
    assert "memory/history.jsonl:1" in told.out
    assert run("doctor", "--fix", "--yes").code == 0
    lines = [json.loads(one) for one in archive.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines()]
    assert [one["cursor"] for one in lines] == [*cursors, 9]
    [quarantine] = [*archive.parents[2].rglob("quarantine")] or [archive.parent / "none"]
    kept = [path.read_bytes() for path in quarantine.iterdir()] if quarantine.is_dir() else []
    assert kept == ([] if is_lossless else [before])
    assert run("undo").code == 0
    assert archive.read_bytes() == before
    assert run("redo").code == 0
    assert archive.read_bytes() != before


@pytest.mark.parametrize("cut", range(len(TWO)))
def test_a_line_torn_at_any_place_takes_nothing_of_the_whole_object_behind_it(run, archive, cut):
    archive.write_bytes(TWO[:cut] + THREE + b"\n" + GOOD)
    assert [one["text"] for one in run("history", "list", "--json").json] == ["the last", "the wiki"]


def test_what_an_object_holds_is_no_entry_of_its_own(run, archive):
    nested = b'{"cursor": 1, "timestamp": "t", "content": "a", "more": ' + TWO
    archive.write_bytes(
        b"[" + ONE + b"," + TWO + b"]\n" + nested + b"}, \n" + nested.replace(b'"more"', b'more"') + b"}\n" + GOOD
    )
    assert [one["cursor"] for one in run("history", "list", "--json").json] == [9, 1, 2, 1]


def test_undo_of_a_repair_keeps_what_was_appended_since(run, archive):
    archive.write_bytes(ONE + TWO)
    assert run("doctor", "--fix", "--yes").code == 0
    assert archive.read_bytes() == ONE + b"\n" + TWO + b"\n"
    with archive.open("ab") as file:
        file.write(GOOD)
    assert run("undo").code == 0
    assert archive.read_bytes() == ONE + TWO + b"\n" + GOOD


def test_an_append_behind_two_objects_without_a_newline_takes_neither(run, archive):
    from nanomem_tui import open_workspace

    archive.write_bytes(ONE + TWO)
    archive.with_name(".cursor").write_text("2")
    archive.with_name(".dream_cursor").write_text("1")
    with open_workspace(archive.parent.parent) as ws:
        ws.history_changes.compact(1)
    assert archive.read_bytes() == TWO + b"\n"  # the one that Dream has read went, the one beside it stays


@pytest.mark.slow
def test_messages_on_one_line_of_a_transcript_are_two(run, home):
    workspace = home("nb035")
    path = max((workspace.parent / "sessions").glob("*/*.jsonl"), key=lambda one: one.stat().st_size)
    head = path.read_bytes().splitlines(keepends=True)[0]
    said = [
        {"role": role, "content": f'"{n}" {{}}', "timestamp": "2026-02-15T09:00:00"}
        for n, role in enumerate(["user", "assistant"] * 3)
    ]
    lines = [json.dumps(one).encode() + b"\n" for one in said]
    head = json.dumps({**json.loads(head), "last_consolidated": 2, "last_archived": 2}).encode() + b"\n"
    path.write_bytes(head + b"".join(lines))
    key = json.loads(head)["key"]
    whole = run("session", "show", key, "--json").json["messages"]
    before = head + lines[0].rstrip(b"\n") + lines[1].rstrip(b"\n") + lines[2] + b"".join(lines[3:])
    path.write_bytes(before)
    glued = run("session", "show", key, "--json").json["messages"]
    assert [one["content"] for one in glued] == [one["content"] for one in whole]
    assert "3 objects on one line" in run("doctor").out
    assert run("doctor", "--fix", "--yes").code == 0
    assert path.read_bytes() == head + b"".join(lines)
    assert run("undo").code == 0
    assert path.read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["LESSONS.jsonl", "LTM_AUDIT.jsonl", "LESSONS_AUDIT.jsonl"])
def test_lessons_and_events_on_one_line_are_all_read_and_kept(run, home, name):
    path = home("ramfirst") / "memory" / name
    lines = path.read_bytes().splitlines()
    lessons = len(run("memory", "lessons", "list", "--include-disabled", "--limit", "1000", "--json").json)
    before = lines[0] + b"".join(lines[1:3]) + b"\n" + b"\n".join(lines[3:]) + b"\n"
    path.write_bytes(before)
    again = run("memory", "lessons", "list", "--include-disabled", "--limit", "1000", "--json").json
    assert len(again) == lessons
    assert "3 objects on one line" in run("doctor").out
    run("doctor", "--fix", "--yes")
    assert path.read_bytes().splitlines() == lines
    assert run("undo").code == 0
    assert path.read_bytes() == before


def test_forgetting_one_of_two_entries_on_a_line_leaves_the_other(run, archive):
    archive.write_bytes(entry(1, "The zeppelin hangar is in Friedrichshafen") + THREE + b"\n" + GOOD)
    assert run("forget", "--text", "zeppelin hangar", "--yes").code in (0, 1)
    listed = {one["cursor"]: one["text"] for one in run("history", "list", "--json").json}
    assert listed[3] == "the wiki"
    assert "zeppelin" not in archive.read_text()


def test_undo_brings_back_all_that_doctor_changed_in_files(run, archive):
    memory = archive.parent
    files = {
        archive: ONE + TWO + b"\n" + b'{"cursor": 3, "ti',
        memory / ".cursor": b"4",
        memory / ".dream_cursor": b"99999",
        memory.parent / "USER.md": b"# User\n- caf\xe9\n",
    }
    (memory / ".cursor").write_text("4")
    for path, data in files.items():
        path.write_bytes(data)
    assert run("doctor", "--fix", "--yes").out.count("Fixed:") == 3
    assert {path: path.read_bytes() for path in files} != files
    assert run("undo").code == 0
    assert {path: path.read_bytes() for path in files} == files
