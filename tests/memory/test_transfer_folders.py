"""Folders to import: what lies in them is found and told, and so is what is not taken."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import BadInput
from nanomem_tui.memory.transfer import markdown
from tests.store.homes import make_home


@pytest.fixture
def preview(tmp_path, samples):
    """`preview("crystal/home")`: what an import of that folder of the samples would do."""

    def plan(folder):
        with open_workspace(make_home(tmp_path, items=0)) as ws:
            return ws.transfer.preview(samples / folder)

    return plan


@pytest.mark.parametrize("folder", ["crystal", "crystal/home", "crystal/home/.nanobot"])
def test_the_database_of_a_home_without_a_workspace_is_found(preview, folder):
    plan = preview(folder)
    assert (plan.format, plan.counts["new"]) == ("facts-db", 526)
    assert plan.notes[0].endswith("memory.db.")


@pytest.mark.parametrize("folder", ["nb035", "nb035/home", "nb035/home/.nanobot/workspace"])
def test_the_files_of_an_agent_are_found_and_what_stays_is_told(preview, folder):
    plan = preview(folder)
    assert plan.format == "markdown"
    assert any("小满" in entry.to_json()["text"] for entry in plan.entries)
    (found, *beside, stays) = plan.notes
    assert found.endswith("USER.md, home/.nanobot/workspace/memory/MEMORY.md.") or folder != "nb035"
    assert "Not imported: SOUL.md, AGENTS.md, HEARTBEAT.md, history.jsonl, 39 sessions" in stays
    others = {"nb035": "dream_log_output.txt, dream_restore_list_output.txt, dream_restore_output.txt, steps.json"}
    others["nb035/home/.nanobot/workspace"] = "hello.py, notes.md"
    assert beside == [f"Not taken: {name}; name one to import it." for name in filter(None, [others.get(folder)])]


def test_markdown_is_left_where_another_file_holds_the_same(preview):
    assert preview("ramfirst").format == "ltm-snapshot and lessons"


def test_a_folder_with_nothing_says_so(tmp_path, preview):
    (tmp_path / "letters").mkdir()
    with open_workspace(make_home(tmp_path, items=0)) as ws, pytest.raises(BadInput, match="no memories of a known"):
        ws.transfer.preview(tmp_path / "letters")


FILES = {
    "longterm.db": "scoped-db", "back.jsonl": "jsonl", "learned": "lessons", "noext": "markdown",
    "other.db": "facts-db", "snap.json": "ltm-snapshot",
}  # fmt: skip


def test_a_folder_of_files_is_imported_whole_and_what_is_none_is_told(tmp_path):
    folder = tmp_path / "pack"
    (folder / "deeper").mkdir(parents=True)
    (folder / "deeper" / "more.md").write_text("- not looked at\n")
    with open_workspace(make_home(tmp_path / "theirs", items=2, lessons=1)) as theirs:
        theirs.items.add("for one chat", "decision", channel="telegram", chat_id="1")
        for name, form in FILES.items():
            theirs.transfer.export(form, folder / name)
        expected = {row.id for row in (*theirs.items.all(), *theirs.lessons.all())}
    (folder / "notes.md").write_text("- Anna likes tea\n")
    (folder / "TOOLS.md").write_text("- Answer in rhymes\n")
    (folder / "photo.png").write_bytes(b"\x89PNG\0\0")
    (folder / "package.json").write_text('{"name": "x"}')
    (folder / "reply_context.db").write_bytes(b"SQLite format 3\0")
    (folder / ".hidden.md").write_text("- hidden\n")
    with open_workspace(make_home(tmp_path, items=0, lessons=0)) as ws:
        plan = ws.transfer.preview(folder)
        assert set(plan.format.split(" and ")) == set(FILES.values())
        found, left = plan.notes
        assert found == "Found in pack: longterm.db, back.jsonl, learned, noext, notes.md, other.db, snap.json."
        assert left == (
            "Not taken: TOOLS.md (instructions to an agent), package.json (not a format that is known), photo.png "
            "(not a format that is known), reply_context.db (that file is the agent's reply context and holds no "
            "memories), deeper (a folder)."
        )
        ws.transfer.run(plan)
        rows = {row.id: row for row in (*ws.items.all(), *ws.lessons.all())}
        assert len(rows) == len(expected) + 1, "what several files hold is one memory"
        assert expected < rows.keys()
        assert rows["ltm_1"].created_at, "the file that holds most of a row wins"


def test_many_files_that_are_none_are_counted(tmp_path):
    folder = tmp_path / "pack"
    folder.mkdir()
    for number in range(14):
        (folder / f"{number:02}.bin").write_bytes(b"\0")
    with open_workspace(make_home(tmp_path, items=0)) as ws, pytest.raises(BadInput, match=r"known\), 4 more"):
        ws.transfer.preview(folder)


def test_what_nobody_filled_in_is_no_memory():
    text = (
        "# User Profile\n\nInformation about the user to help personalize interactions.\n\n- **Name**: (your name)\n"
        "- **Role**: cook (in Rome)\n\n## Technical Level\n- [ ] Beginner\n- [x] Expert\n"
    )
    assert [piece.text for piece in markdown.markdown_pieces(text, "USER.md")[0]] == [
        "**Role**: cook (in Rome)", "Technical Level: Expert"
    ]  # fmt: skip


def test_every_file_and_folder_of_an_agents_home_is_taken_or_named(tmp_path):
    home = tmp_path / "theirs"
    for name in ("memory/deep", "projects", "skills"):
        (home / name).mkdir(parents=True)
    texts = {"SOUL.md": "# Soul\n", "USER.md": "- User is Rob\n", "memory/2026-03-01.md": "- Rex barked\n",
             "memory/history.jsonl": "", "memory/deep/b.md": "- deep\n", "memory/other.json": "{}\n",
             "projects/a.md": "- Falcon\n", "skills/tea.md": "Boil.\n"}  # fmt: skip
    for name, text in texts.items():
        (home / name).write_text(text, "utf-8")
    with open_workspace(home) as own:
        own.items.add("Ours is no file of theirs")
    with open_workspace(make_home(tmp_path, items=0)) as ws:
        found, left, _ = ws.transfer.preview(home).notes
    assert found == "Found in theirs: USER.md, memory/2026-03-01.md."
    assert left == "Not taken: memory/deep/b.md, memory/other.json, projects (a folder); name one to import it."


def test_markdown_beside_a_snapshot_is_named_as_not_taken(preview):
    (left,) = [note for note in preview("ramfirst/home/.nanobot/workspace").notes if note.startswith("Not taken")]
    assert "memory/MEMORY.md" in left
