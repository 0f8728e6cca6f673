"""A heading that a Dream made goes with the last line under it, and stays as long as a line needs it."""

import json

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.operations import Change, new_key, new_operation
from nanomem_tui.dreams.edits import LineEdit
from nanomem_tui.dreams.review import LAYER, WAITING, StoredEdit
from tests.store.git_samples import git, needs_git, small

pytestmark = needs_git
START = "# User\n\n## Work\n- a job\n\n## Pets\n- a cat\n"
NUTS, PILLS = "- User is allergic to peanuts", "- User is allergic to penicillin"


@pytest.fixture
def workspace(tmp_path):
    """With a `USER.md` of two sections, committed by the agent's owner."""
    found = small(tmp_path).workspace
    (found / "USER.md").write_text(START)
    git(found, "commit", "-q", "-am", "by hand")
    (found / "memory/history.jsonl").write_text("")
    return found


def user(workspace):
    return (workspace / "USER.md").read_text()


def dream(workspace, *said, day="2026-04-03"):
    """A Dream over new entries."""
    file = workspace / "memory/history.jsonl"
    first = 21 + len(file.read_text().splitlines())
    rows = ({"cursor": n, "timestamp": f"{day} 00:02", "content": text} for n, text in enumerate(said, first))
    with file.open("a") as history:
        history.writelines(json.dumps(row) + "\n" for row in rows)
    with open_workspace(workspace) as ws:
        return ws.dream.run()


def taken_back(workspace, done, way):
    assert done.operation is not None
    assert done.sha is not None
    with open_workspace(workspace) as ws:
        ws.undo(done.operation.id) if way == "undo" else ws.dream.revert(done.sha)


@pytest.mark.parametrize("first", ["undo", "restore"])
@pytest.mark.parametrize("second", ["undo", "restore"])
def test_a_heading_stays_for_a_later_line_and_goes_with_the_last(workspace, first, second):
    pills, nuts = dream(workspace, f"- [permanent] {PILLS[2:]}"), dream(workspace, f"- [permanent] {NUTS[2:]}")
    assert user(workspace) == f"{START}\n## Health\n{PILLS}\n{NUTS}\n"
    taken_back(workspace, pills, first)
    assert user(workspace) == f"{START}\n## Health\n{NUTS}\n"
    taken_back(workspace, nuts, second)
    assert user(workspace) == START
    with open_workspace(workspace) as ws:
        ws.redo() if second == "undo" else ws.undo()
    assert user(workspace) == f"{START}\n## Health\n{NUTS}\n"


@pytest.mark.parametrize("way", ["undo", "restore"])
def test_a_persons_line_keeps_the_heading(workspace, way):
    pills = dream(workspace, f"- [permanent] {PILLS[2:]}")
    (workspace / "USER.md").write_text(f"{user(workspace)}- by hand\n")
    taken_back(workspace, pills, way)
    assert user(workspace) == f"{START}\n## Health\n- by hand\n"


@pytest.mark.parametrize("way", ["undo", "restore"])
def test_a_persons_heading_stays(workspace, way):
    (workspace / "USER.md").write_text(f"{START}\n## Health\n- by hand\n")
    pills = dream(workspace, f"- [permanent] {PILLS[2:]}")
    (workspace / "USER.md").write_text(user(workspace).replace("- by hand\n", ""))
    taken_back(workspace, pills, way)
    assert user(workspace) == f"{START}\n## Health\n"


def test_a_heading_goes_with_the_line_that_a_later_dream_removes(workspace):
    dream(workspace, "- [permanent] User is on a diet without salt until 2026-04-10")
    made = user(workspace)
    assert made.startswith(START + "\n## ")
    later = dream(workspace, "- [permanent] User works with Lea on Mondays", day="2026-05-03")
    assert "without salt" not in user(workspace)
    assert user(workspace) == START.replace("- a job\n", "- a job\n- User works with Lea on Mondays\n")
    taken_back(workspace, later, "undo")
    assert user(workspace) == made


def test_a_heading_of_the_owner_stays_when_a_dream_removes_its_last_line(workspace):
    (workspace / "USER.md").write_text(f"{START}\n## Diet\n- without salt until 2026-04-10\n")
    dream(workspace, "- [permanent] User works with Lea on Mondays", day="2026-05-03")
    assert user(workspace).endswith("- a cat\n\n## Diet\n")


def test_a_heading_goes_with_the_last_line_that_a_person_lets_go_in_the_inbox(workspace):
    dream(workspace, f"- [permanent] {PILLS[2:]}")
    with open_workspace(workspace) as ws:
        edit = LineEdit("remove", "USER.md", line=10, old=PILLS, evidence=(21,))
        hunk = StoredEdit(new_key(WAITING), edit, "waits", "2026-04-04T00:00:00+00:00", "model")
        ws.perform(new_operation("dream.run", "Dream", [Change(LAYER, hunk.id, None, hunk.value)], actor="dream"))
        assert ws.dream.review.preview([hunk.id])["USER.md"][1] == START
        ws.dream.review.accept([hunk.id])
        assert user(workspace) == START
        ws.undo()
    assert user(workspace) == f"{START}\n## Health\n{PILLS}\n"


def test_a_heading_that_a_later_edit_set_above_older_lines_is_taken_back(workspace):
    with open_workspace(workspace) as ws:
        done = ws.documents.edit("USER.md", START.replace("- a cat", "### Cats\n- a cat"))
        ws.documents.edit("USER.md", f"{user(workspace)}- another\n")
        ws.undo(done.id)
    assert user(workspace) == f"{START}- another\n"
