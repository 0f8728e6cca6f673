"""The archive changed as a whole: HISTORY.md migrated, old entries let go, both taken back byte for byte."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui import open_workspace
from nanomem_tui.core.atomic import quarantined
from nanomem_tui.core.errors import Conflict, NothingToDo, Refused
from nanomem_tui.core.operations import new_operation
from tests.store.homes import agent_runs

OLD = """# History

[2026-01-02 03:04] Moved the database.

It took two hours, and the keyword is harbour.

[2026-01-03 05:06] [RAW] 2 messages
[2026-01-03T05:00] USER: hello
[2026-01-03T05:01] ASSISTANT: 你好

[2026-01-04 07:08]
- [permanent] Prefers window seats
"""


def entry(cursor, content="text", **more):
    value = {"cursor": cursor, "timestamp": "2026-01-02 03:04", "content": content, **more}
    return json.dumps(value, ensure_ascii=False) + "\n"


def files(folder):
    """The agent's own files: bytes, and the time of the one that its time dates."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "nanomem" not in path.parts:
            found[path.name] = (path.read_bytes(), path.stat().st_mtime_ns if path.name.startswith("HISTORY") else 0)
    return found


@pytest.fixture
def memory(tmp_path):
    folder = tmp_path / "agent" / "workspace" / "memory"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def ws(memory):
    with open_workspace(memory.parent) as workspace:
        yield workspace


@pytest.fixture
def old(memory):
    (memory / "HISTORY.md").write_text(OLD, encoding="utf-8")


@pytest.fixture
def running(monkeypatch):
    """From its call on an agent runs."""
    return partial(agent_runs, monkeypatch)


# -- HISTORY.md


def test_an_old_archive_is_migrated_with_its_dates(ws, memory, old):
    os.utime(memory / "HISTORY.md", (1_700_000_000, 1_700_000_000))
    before = files(memory)
    plan = ws.history_changes.migration()
    assert files(memory) == before, "a preview writes nothing"
    assert (plan.entries, plan.first, plan.last, plan.undated) == (3, "2026-01-02 03:04", "2026-01-04 07:08", 0)
    ws.history_changes.migrate()
    rows = [json.loads(line) for line in (memory / "history.jsonl").read_bytes().splitlines()]
    assert [(row["cursor"], row["timestamp"]) for row in rows] == [
        (1, "2026-01-02 03:04"), (2, "2026-01-03 05:06"), (3, "2026-01-04 07:08"),
    ]  # fmt: skip
    assert rows[0]["content"] == "Moved the database.\n\nIt took two hours, and the keyword is harbour."
    assert rows[1]["content"].endswith("[2026-01-03T05:01] ASSISTANT: 你好")
    assert (memory / ".cursor").read_text() == (memory / ".dream_cursor").read_text() == "3"
    assert files(memory)["HISTORY.md.bak"] == before["HISTORY.md"]
    assert not (memory / "HISTORY.md").exists()
    assert ws.history.count() == {"entries": 3, "unprocessed": 0, "cursor": 3, "dream_cursor": 3}
    after = files(memory)
    ws.undo()
    assert files(memory) == before
    ws.redo()
    assert files(memory) == after


def test_what_is_not_dated_gets_the_time_of_the_file(ws, memory):
    (memory / "HISTORY.md").write_text("Before any stamp.\n\n" + OLD, encoding="utf-8")
    assert ws.history_changes.migration().undated == 1


def test_the_backup_takes_a_name_that_is_free(ws, memory, old):
    (memory / "HISTORY.md.bak").write_text("older")
    (memory / "HISTORY.md.bak.2").write_text("old")
    ws.history_changes.migrate()
    assert (memory / "HISTORY.md.bak.3").read_text(encoding="utf-8") == OLD
    assert (memory / "HISTORY.md.bak").read_text() == "older"


def test_there_may_be_nothing_to_migrate(ws, memory):
    with pytest.raises(NothingToDo):
        ws.history_changes.migrate()
    (memory / "HISTORY.md").write_text("# History\n")
    with pytest.raises(NothingToDo):
        ws.history_changes.migrate()


def test_old_entries_go_behind_those_that_are_there_and_come_back_out_whole(ws, memory, old):
    (memory / "HISTORY.md.bak").write_text("[2025-12-01 08:00] A blue ferry.\n")
    (memory / "history.jsonl").write_text(entry(7, "- Daily scan.") + entry(8, "Moved the database."))
    (memory / ".dream_cursor").write_text("8")
    before = files(memory)
    plan = ws.history_changes.migration()
    assert (plan.entries, plan.behind, plan.dreamed, files(memory)) == (4, 2, False, before)
    ws.history_changes.migrate()
    rows = [json.loads(line) for line in (memory / "history.jsonl").read_bytes().splitlines()]
    assert [(row["cursor"], row["timestamp"]) for row in rows[2:]] == [
        (9, "2025-12-01 08:00"), (10, "2026-01-02 03:04"), (11, "2026-01-03 05:06"), (12, "2026-01-04 07:08"),
    ]  # fmt: skip
    assert (memory / ".cursor").read_text() == (memory / ".dream_cursor").read_text() == "12"
    assert files(memory)["HISTORY.md.bak.2"] == before["HISTORY.md"]
    assert not (memory / "HISTORY.md").exists()
    assert ws.history.old() == []
    with pytest.raises(NothingToDo):
        ws.history_changes.migrate()
    ws.undo()
    assert files(memory) == before


def test_no_entry_that_waits_for_a_dream_is_passed_over_by_a_migration_behind_it(ws, memory, old):
    (memory / "history.jsonl").write_text(entry(1))
    assert ws.history_changes.migration().dreamed
    ws.history_changes.migrate()
    assert not (memory / ".dream_cursor").exists()
    assert ws.history.count()["unprocessed"] == 4
    with (memory / "history.jsonl").open("a") as file:
        file.write(entry(5, "later"))
    (memory / ".cursor").write_text("5")
    before = files(memory)
    with pytest.raises(Conflict):  # the agent built upon it
        ws.undo()
    assert files(memory) == before


def test_only_what_is_missing_is_taken_from_an_archive_that_an_agent_split(ws, memory):
    """An agent that migrates makes an entry of each paragraph, dated by the file."""
    (memory / "HISTORY.md.bak").write_text(OLD + "\n[2026-01-05 08:00] Lost on the way.\n", encoding="utf-8")
    split = ("Moved the database.", "It took two hours, and the keyword is harbour.", "[RAW] 2 messages",
             "USER: hello", "ASSISTANT: 你好", "- [permanent] Prefers window seats")  # fmt: skip
    lines = "".join(entry(number, text) for number, text in enumerate(split, 1))
    (memory / "history.jsonl").write_text(lines.removesuffix("\n"), encoding="utf-8")
    assert [(one.id, one.entry.content) for one in ws.history.old()] == [("HISTORY.md.bak:14", "Lost on the way.")]
    ws.history_changes.migrate()
    assert [found.content for found in ws.history.entries()] == ["Lost on the way.", *reversed(split)]
    assert (memory / "HISTORY.md.bak").exists()


def test_a_backup_brings_a_lost_archive_back(ws, memory):
    (memory / "HISTORY.md.bak").write_text(OLD, encoding="utf-8")
    before = files(memory)
    assert ws.history_changes.migration().entries == 3
    ws.history_changes.migrate()
    assert ws.history.count()["entries"] == 3
    ws.undo()
    assert files(memory) == before


def test_an_empty_archive_is_no_archive(ws, memory, old):
    (memory / "history.jsonl").write_text("")
    ws.history_changes.migrate()
    ws.undo()
    assert (memory / "history.jsonl").read_bytes() == b""


def test_nothing_is_migrated_beside_an_agent(ws, memory, old, running):
    before = files(memory)
    running()
    assert ws.history_changes.migration().refused
    with pytest.raises(Refused):
        ws.history_changes.migrate()
    assert files(memory) == before


def test_a_migration_that_was_built_upon_is_not_taken_back(ws, memory, old):
    ws.history_changes.migrate()
    with (memory / "history.jsonl").open("a") as file:
        file.write(entry(4))
    before = files(memory)
    with pytest.raises(Conflict):
        ws.undo()
    assert files(memory) == before


# -- compaction


def fill(memory, many, dreamt):
    (memory / "history.jsonl").write_text("".join(entry(n, f"entry {n} ÿ") for n in range(1, many + 1)), "utf-8")
    (memory / ".cursor").write_text(str(many))
    (memory / ".dream_cursor").write_text(str(dreamt))


@pytest.mark.parametrize(
    ("keep", "dreamt", "kept"),
    [(50, 120, 50), (50, 0, 120), (50, 100, 50), (10, 100, 20), (0, 120, 0), (200, 120, 120), (50, -5, 120)],
)
def test_the_oldest_go_and_never_what_dream_has_not_read(ws, memory, keep, dreamt, kept):
    fill(memory, 120, dreamt)
    before = (memory / "history.jsonl").read_bytes()
    plan = ws.history_changes.compaction(keep)
    assert (plan.kept, plan.removed) == (kept, 120 - kept)
    if kept == 120:
        with pytest.raises(NothingToDo):
            ws.history_changes.compact(keep)
        return
    ws.history_changes.compact(keep)
    lines = before.splitlines(keepends=True)
    assert (memory / "history.jsonl").read_bytes() == b"".join(lines[120 - kept :])
    assert ((memory / ".cursor").read_text(), (memory / ".dream_cursor").read_text()) == ("120", str(dreamt))
    ws.undo()
    assert (memory / "history.jsonl").read_bytes() == before


def test_without_a_cursor_of_dream_nothing_goes(ws, memory):
    fill(memory, 30, 30)
    (memory / ".dream_cursor").unlink()
    with pytest.raises(NothingToDo, match="30 of them not read"):
        ws.history_changes.compact(10)


def test_cursors_go_on_when_nothing_is_kept(ws, memory):
    fill(memory, 9, 9)
    (memory / ".cursor").unlink()
    before = files(memory)
    ws.history_changes.compact(0)
    assert ((memory / "history.jsonl").read_bytes(), (memory / ".cursor").read_text()) == (b"", "9")
    ws.undo()
    assert files(memory) == before


def test_kept_lines_stay_as_they_are_and_bad_ones_are_kept_elsewhere(ws, memory):
    odd = b'{"content":"spaced",  "cursor": 3, "timestamp":"2026-01-02 03:04","extra":{"a":[1]}}\n'
    bad = [b'{"cursor": 2, "timest\n', b"\xff\xfe not text\n", b'{"cursor": true, "timestamp": "x", "content": "x"}\n']
    late = b"broken, and Dream has not come so far\n"
    data = b"".join([entry(1).encode(), bad[0], bad[1], odd, bad[2], entry(4).encode(), late, entry(6).encode()])
    (memory / "history.jsonl").write_bytes(data)
    (memory / ".dream_cursor").write_text("4")
    plan = ws.history_changes.compaction(3)
    assert (plan.removed, plan.kept, plan.unreadable, plan.left, plan.waiting) == (1, 3, 3, 1, 1)
    ws.history_changes.compact(3)
    assert (memory / "history.jsonl").read_bytes() == b"".join([odd, entry(4).encode(), late, entry(6).encode()])
    assert [path.read_bytes() for path in quarantined(ws.paths.quarantine)] == [b"".join(bad)]
    ws.undo()
    assert (memory / "history.jsonl").read_bytes() == data


def test_a_last_line_without_its_end_is_never_glued_to(ws, memory):
    fill(memory, 3, 3)
    (memory / "history.jsonl").write_bytes((memory / "history.jsonl").read_bytes()[:-1])
    ws.history_changes.compact(1)
    assert (memory / "history.jsonl").read_text("utf-8") == entry(3, "entry 3 ÿ")


def test_a_compaction_is_taken_back_under_what_came_after_it(ws, memory):
    fill(memory, 10, 10)
    before = (memory / "history.jsonl").read_text("utf-8")
    ws.history_changes.compact(4)
    with (memory / "history.jsonl").open("a") as file:
        file.write(entry(11))
    ws.undo()
    assert (memory / "history.jsonl").read_text("utf-8") == before + entry(11)
    ws.redo()
    assert [one.cursor for one in ws.history.in_order()] == [7, 8, 9, 10, 11]


def test_a_file_that_was_rewritten_since_is_left_alone(ws, memory):
    fill(memory, 10, 10)
    ws.history_changes.compact(4)
    (memory / "history.jsonl").write_text(entry(9) + entry(10))
    with pytest.raises(Conflict):
        ws.undo()
    assert (memory / "history.jsonl").read_text() == entry(9) + entry(10)


def test_a_cursor_beyond_the_archive_lets_no_entry_go(ws, memory):
    lines = [json.dumps({"cursor": n, "timestamp": "2026-01-02 03:04", "content": f"entry {n}"}) for n in range(1, 9)]
    (memory / "history.jsonl").write_text("".join(f"{line}\n" for line in lines))
    (memory / ".dream_cursor").write_text("999")
    assert (ws.history_changes.compaction(2).removed, ws.history_changes.compaction(2).waiting) == (0, 8)
    (memory / ".cursor").write_text("999")  # the agent gave as many: those entries are gone already
    assert ws.history_changes.compaction(2).removed == 6


def test_the_archive_is_not_compacted_beside_an_agent(ws, memory, running):
    fill(memory, 10, 10)
    done = ws.history_changes.compact(4)
    running()
    assert ws.history_changes.compaction(2).refused
    with pytest.raises(Refused):
        ws.history_changes.compact(2)
    with pytest.raises(Refused):
        ws.undo(done.id)
    assert len(ws.history.in_order()) == 4


def test_a_link_is_not_followed(ws, memory, tmp_path):
    (tmp_path / "elsewhere").write_text(entry(1) + entry(2))
    (memory / "history.jsonl").symlink_to(tmp_path / "elsewhere")
    (memory / ".dream_cursor").write_text("2")
    with pytest.raises(Refused):
        ws.history_changes.compact(1)
    assert (tmp_path / "elsewhere").read_text() == entry(1) + entry(2)


def test_what_is_no_file_is_not_waited_for(ws, memory):
    os.mkfifo(memory / "history.jsonl")
    with pytest.raises(Refused):
        ws.history_changes.compact(1)
    os.mkfifo(memory / "HISTORY.md")
    with pytest.raises(Refused):
        ws.history_changes.migrate()


def test_bytes_that_are_no_text_are_shown_and_kept_in_the_backup(ws, memory):
    old = b"[2026-01-02 03:04] caf" + b"\xe9 au lait\n"
    (memory / "HISTORY.md").write_bytes(old)
    assert ws.history_changes.migration().unreadable == 1
    ws.history_changes.migrate()
    assert ws.history.get(1).content == "caf\ufffd au lait"
    assert (memory / "HISTORY.md.bak").read_bytes() == old


@given(
    lines=st.lists(st.one_of(st.integers(0, 40), st.sampled_from([b"", b"{", b"\xff", b"null", b'{"cursor":1}']))),
    dreamt=st.integers(-1, 50),
    keep=st.integers(0, 12),
)
def test_whatever_is_in_the_archive(tmp_path_factory, lines, dreamt, keep):
    memory = tmp_path_factory.mktemp("any") / "home" / "workspace" / "memory"
    memory.mkdir(parents=True)
    raw = [entry(line).encode() if isinstance(line, int) else line + b"\n" for line in lines]
    data = b"".join(raw)
    (memory / "history.jsonl").write_bytes(data)
    (memory / ".dream_cursor").write_text(str(dreamt))
    with open_workspace(memory.parent) as ws:
        waiting = [line for line in raw if line.startswith(b'{"cursor": ') and json.loads(line)["cursor"] > dreamt]
        entries = [one.cursor for one in ws.history.in_order()]
        try:
            ws.history_changes.compact(keep)
        except NothingToDo:
            assert (memory / "history.jsonl").read_bytes() == data
            return
        after = (memory / "history.jsonl").read_bytes()
        if max(entries, default=0) >= dreamt >= 0:
            assert all(line in after for line in waiting), "nothing goes that Dream has not read"
        kept = [one.cursor for one in ws.history.in_order()]
        assert kept == entries[len(entries) - len(kept) :], "the newest stay, in order"
        assert len(kept) >= min(keep, len(entries))
        aside = b"".join(path.read_bytes() for path in quarantined(ws.paths.quarantine))
        there = after.split(b"\n") + aside.split(b"\n")
        assert all(line.strip() in there for line in raw if not line.startswith(b'{"cursor": '))
        ws.undo()
        assert (memory / "history.jsonl").read_bytes() == data


# -- the one-liners that people search the archive with


def seed_archive(ws, memory):
    (memory / "HISTORY.md").write_text(OLD, encoding="utf-8")
    ws.history_changes.migrate()
    return memory.parent


def test_grep_finds_what_we_wrote(ws, memory):
    workspace = seed_archive(ws, memory)
    done = subprocess.run(
        ["grep", "-i", "KEYWORD", "memory/history.jsonl"], cwd=workspace, capture_output=True, check=True
    )
    assert [json.loads(line)["cursor"] for line in done.stdout.splitlines()] == [1]


def test_a_line_holds_what_jq_selects_by(ws, memory):
    """`jq -r 'select(.content | test("keyword"; "i")) | .content' | tail -20`, step by step: one JSON object a line."""
    workspace = seed_archive(ws, memory)
    rows = [json.loads(line) for line in (workspace / "memory/history.jsonl").read_text("utf-8").split("\n") if line]
    assert all(isinstance(row["content"], str) for row in rows)
    found = "".join(f"{row['content']}\n" for row in rows if re.search("keyword", row["content"], re.IGNORECASE))
    assert found.splitlines()[-20:] == ["Moved the database.", "", "It took two hours, and the keyword is harbour."]
    if jq := shutil.which("jq"):
        line = [jq, "-r", 'select(.content | test("keyword"; "i")) | .content', "memory/history.jsonl"]
        done = subprocess.run(line, cwd=workspace, capture_output=True, check=True, encoding="utf-8")
        assert done.stdout == found


def test_python_finds_what_we_wrote(ws, memory):
    workspace = seed_archive(ws, memory)
    line = (
        "import json; [print(json.loads(l).get('content','')) for l in "
        "open('memory/history.jsonl','r',encoding='utf-8') if l.strip() and 'keyword' in l.lower()][-20:]"
    )
    done = subprocess.run([sys.executable, "-c", line], cwd=workspace, capture_output=True, check=True, text=True)
    assert "the keyword is harbour" in done.stdout


# -- the layer


def test_entries_are_taken_back_only_while_they_are_the_last(ws, memory):
    from nanomem_tui.agents.archive import HistoryEntry
    from nanomem_tui.store.files.history import append_changes, read_archive

    fill(memory, 2, 1)
    with (memory / "history.jsonl").open("ab") as file:
        file.write(b'{"cursor": 3, "timest')
    before = (memory / ".cursor").read_bytes()
    entries = [HistoryEntry(n, "2026-02-03 04:05", f"new {n} \u2028", "cli:direct") for n in (3, 4)]

    def add():
        changes = append_changes(entries, read_archive(ws.paths).counter)
        ws.perform(new_operation("test", "append two", changes))

    add()
    assert [one.cursor for one in ws.history.in_order()] == [1, 2, 3, 4]
    assert (memory / ".cursor").read_text() == "4"
    assert [path.read_bytes() for path in quarantined(ws.paths.quarantine)] == [b'{"cursor": 3, "timest']
    assert ws.history.problems() == []
    with pytest.raises(Conflict):
        ws.perform(
            new_operation("test", "the same cursors", append_changes([entries[1]._replace(content="other")], None))
        )
    ws.undo()
    assert [one.cursor for one in ws.history.in_order()] == [1, 2]
    assert (memory / ".cursor").read_bytes() == before
    ws.redo()
    assert (memory / ".cursor").read_text() == "4"
    with (memory / "history.jsonl").open("a") as file:
        file.write(entry(5))
    with pytest.raises(Conflict, match="after it"):
        ws.undo()
    fill(memory, 2, 1)
    add()
    (memory / ".dream_cursor").write_text("3")
    with pytest.raises(Conflict, match="Dream has read it"):
        ws.undo()


def test_dates_that_are_none_or_go_back_are_counted_before_it_is_migrated(ws, memory):
    text = "[2026-02-01 10:00] one\n\n[2026-13-45 99:00] two\n\n[2026-01-01 10:00] three\n"
    (memory / "HISTORY.md").write_text(text)
    plan = ws.history_changes.migration()
    assert (plan.entries, plan.unreadable, plan.bad_dates, plan.out_of_order) == (3, 0, (3,), (5,))
    assert (plan.first, plan.last) == ("2026-01-01 10:00", "2026-02-01 10:00")
