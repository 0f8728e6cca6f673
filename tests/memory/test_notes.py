"""Daily notes and Markdown mirrors."""

import pytest

from nanomem_tui.core.errors import NotFound
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.memory.notes import Notes


@pytest.fixture
def memory(tmp_path):
    memory = tmp_path / "memory"
    (memory / "episodic").mkdir(parents=True)
    return memory


@pytest.fixture
def notes(memory):
    return Notes(find_workspace(memory.parent))


def test_the_mirrors_of_the_sample(samples):
    notes = Notes(find_workspace(samples / "ftswal" / "home" / ".nanobot"))
    names = [note.name for note in notes.list()]
    assert len(names) == 11
    assert names[0] == "episodic/2026-02-17.md"
    assert names[-3:] == ["semantic/decisions.md", "semantic/facts.md", "semantic/preferences.md"]
    assert notes.problems() == []
    hits = notes.search("BERLIN timezone")
    assert hits[0] == ("semantic/facts.md", 3, "- [2026-02-10 13:47:00 UTC] my timezone is Europe/Berlin (15)")
    assert notes.search("BERLIN timezone", limit=2) == hits[:2]


def test_the_daily_note_of_the_sample(samples):
    notes = Notes(find_workspace(samples / "ramfirst" / "home" / ".nanobot"))
    (note,) = notes.list()
    assert (note.name, note.date, note.size) == ("2026-02-21.md", "2026-02-21", 24)
    assert notes.read(note.name) == "# 2026-02-21\n\ndaily note"


def test_other_markdown_in_memory_is_no_note(memory, notes):
    for name in ("MEMORY.md", "HISTORY.md", "2026-13-01.md", "2026-1-1.md", ".2026-01-01.md", "2026-01-01.txt"):
        (memory / name).write_text("x")
    (memory / "2026-01-01.md").write_text("今天下雨")
    assert [note.name for note in notes.list()] == ["2026-01-01.md"]
    assert notes.search("下雨") == [("2026-01-01.md", 1, "今天下雨")]


@pytest.mark.parametrize("name", ["../USER.md", "/etc/passwd", "MEMORY.md", "episodic/../../USER.md", ""])
def test_a_name_never_leads_out_of_the_notes(memory, notes, name):
    (memory.parent / "USER.md").write_text("private")
    (memory / "MEMORY.md").write_text("private")
    with pytest.raises(NotFound):
        notes.read(name)


def test_links_are_not_followed(memory, notes, tmp_path):
    (tmp_path / "secret").write_text("private")
    (memory / "2026-01-01.md").symlink_to(tmp_path / "secret")
    assert notes.list() == []
    [problem] = notes.problems()
    assert problem.text().startswith("memory/2026-01-01.md: a link lies in the place of a note, and is not read")


def test_bad_bytes_are_shown_and_reported(memory, notes):
    (memory / "2026-01-01.md").write_bytes(b"one\ntwo \xff\n")
    assert notes.read("2026-01-01.md") == "one\ntwo \ufffd\n"
    (problem,) = notes.problems()
    assert (problem.where, problem.line) == ("memory/2026-01-01.md", 2)


def test_a_changed_note_is_read_again(memory, notes):
    path = memory / "episodic" / "2026-01-01.md"
    path.write_text("one")
    assert notes.read("episodic/2026-01-01.md") == "one"
    path.write_text("another")
    assert notes.read("episodic/2026-01-01.md") == "another"


def test_a_workspace_without_notes(tmp_path):
    (tmp_path / "SOUL.md").write_text("x")
    notes = Notes(find_workspace(tmp_path))
    assert (notes.list(), notes.search("x"), notes.problems()) == ([], [], [])
