"""The archive of summaries of every release, and what Dream has not read yet."""

import json

import pytest

from nanomem_tui.core.errors import NotFound
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.memory.sessions.archive import History


@pytest.fixture
def memory(tmp_path):
    (tmp_path / "memory").mkdir()
    return tmp_path / "memory"


@pytest.fixture
def history(memory):
    return History(find_workspace(memory.parent))


def entry(cursor, content="text", **more):
    return json.dumps({"cursor": cursor, "timestamp": "2026-01-02 03:04", "content": content, **more}) + "\n"


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("nb035", {"entries": 282, "unprocessed": 80, "cursor": 282, "dream_cursor": 202}),
        ("v0_1_5", {"entries": 149, "unprocessed": 5, "cursor": 149, "dream_cursor": 144}),
        ("ramfirst", {"entries": 0, "unprocessed": 0, "cursor": 0, "dream_cursor": 0}),
    ],
)
def test_the_samples_are_counted(samples, name, counts):
    history = History(find_workspace(samples / name / "home" / ".nanobot"))
    assert history.count() == counts
    assert history.problems() == []


def test_the_newest_come_first_a_page_at_a_time(samples):
    history = History(find_workspace(samples / "nb035" / "home" / ".nanobot"))
    assert [found.cursor for found in history.entries(limit=3)] == [282, 281, 280]
    assert [found.cursor for found in history.entries(limit=2, offset=280)] == [2, 1]
    assert len(history.entries()) == 282
    assert history.entries(limit=0) == history.entries(offset=999) == []


def test_search_finds_words_in_any_case_and_chinese(samples):
    history = History(find_workspace(samples / "nb035" / "home" / ".nanobot"))
    found = history.search("数据库 WINDOW")
    assert found
    assert all("数据库" in hit.content and "window" in hit.content.lower() for hit in found)
    assert [hit.cursor for hit in found] == sorted((hit.cursor for hit in found), reverse=True)
    assert history.search("数据库 WINDOW", limit=1) == found[:1]
    assert history.search("") == history.search("no such words anywhere") == []


def test_an_entry_by_its_cursor(memory, history):
    (memory / "history.jsonl").write_text(entry(1) + entry(2, "first") + entry(2, "second"))
    assert history.get(2).content == "second"
    with pytest.raises(NotFound):
        history.get(3)


def test_bad_lines_cost_themselves(memory, history):
    lines = entry(1).encode() + b"\xff\n" + entry(-2).encode() + entry(3).encode() + b'{"cursor": 4'
    (memory / "history.jsonl").write_bytes(lines)
    assert [found.cursor for found in history.entries()] == [3, 1]
    assert [problem.line for problem in history.problems()] == [2, 3, 5]


@pytest.mark.parametrize(("text", "unprocessed"), [(None, 3), ("", 3), ("x", 3), ("2\n", 1), ("-5", 3), ("99", 0)])
def test_unprocessed_is_what_dream_will_read(memory, history, text, unprocessed):
    (memory / "history.jsonl").write_text(entry(1) + entry(2) + entry(3))
    if text is not None:
        (memory / ".dream_cursor").write_text(text)
    assert history.count()["unprocessed"] == unprocessed
    waiting = history.read_between(history.count()["dream_cursor"], 3)
    assert [found.cursor for found in waiting] == [1, 2, 3][3 - unprocessed :]


def test_the_cursor_is_the_last_one_given(memory, history):
    (memory / "history.jsonl").write_text(entry(1))
    (memory / ".cursor").write_text("7")
    assert history.count()["cursor"] == 7
    (memory / ".cursor").write_text("junk")
    assert history.count()["cursor"] == 1


def test_what_the_agent_appends_appears(memory, history):
    (memory / "history.jsonl").write_text(entry(1))
    assert history.count()["entries"] == 1
    with (memory / "history.jsonl").open("a") as file:
        file.write(entry(2))
    assert history.entries(limit=1)[0].cursor == 2


def test_the_oldest_release_kept_markdown(memory, history):
    (memory / "HISTORY.md").write_text("[2025-12-01 10:00] first\n\nmore of it\n\n[2025-12-02 11:00] second\n")
    assert [(found.cursor, found.timestamp) for found in history.entries()] == [
        (2, "2025-12-02 11:00"),
        (1, "2025-12-01 10:00"),
    ]
    assert "more of it" in history.get(1).content
    assert history.count() == {"entries": 2, "unprocessed": 0, "cursor": 2, "dream_cursor": 2}
    (memory / "history.jsonl").write_text("")
    assert history.count()["entries"] == 2
    (memory / "history.jsonl").write_text(entry(9))
    assert [found.cursor for found in history.entries()] == [9]


def test_a_link_is_not_followed(memory, history, tmp_path):
    (tmp_path / "elsewhere").write_text(entry(1))
    (memory / "history.jsonl").symlink_to(tmp_path / "elsewhere")
    assert history.entries() == []
    assert len(history.problems()) == 1


def test_what_lies_beside_the_archive_is_searched_and_named(memory, history):
    (memory / "history.jsonl").write_text(entry(1, "A daily scan."))
    (memory / "HISTORY.md").write_text("[2026-01-03 08:00] A flat in Lumpini.\n\n[2026-01-02 03:04] A daily scan.\n")
    (memory / "HISTORY.md.bak.2").write_text("[2025-12-01 08:00] A blue ferry.\n")
    assert [one.id for one in history.search_old("FERRY")] == ["HISTORY.md.bak.2:1"]
    assert [one.id for one in history.search_old("a -ferry")] == ["HISTORY.md:1"], "the scan is in the archive"
    assert history.get_old("HISTORY.md:1").entry.timestamp == "2026-01-03 08:00"
    with pytest.raises(NotFound):
        history.get_old("HISTORY.md:3")
    named = {problem.where: problem.severity for problem in history.problems()}
    assert named == {"memory/HISTORY.md.bak.2": "note", "memory/HISTORY.md": "warning"}


def test_the_backup_of_a_whole_migration_is_no_problem(memory, history):
    (memory / "history.jsonl").write_text(entry(1, "A daily scan."))
    (memory / "HISTORY.md.bak").write_text("# History\n\n[2026-01-02 03:04] A daily scan.\n")
    assert (history.problems(), history.search_old("scan")) == ([], [])
    assert [found.cursor for found in history.search("scan")] == [1]
