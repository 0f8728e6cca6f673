"""Restores: a three-way revert that keeps later edits, and the agent's own way when asked for."""

from __future__ import annotations

import pytest

from nanomem_tui.core.errors import Conflict, NotFound, NothingToDo, Refused
from nanomem_tui.dreams.revert import Side
from nanomem_tui.store.files.presence import Presence
from tests.dreams.pipeline import Bench
from tests.store.git_samples import git, needs_git, sample, small, write

pytestmark = needs_git
KEYS = ("SOUL.md", "USER.md", "memory/MEMORY.md")


def dreamt(tmp_path):
    """Three Dreams by the agent: USER and SOUL, then MEMORY, then USER again."""
    paths = small(tmp_path)
    write(paths.workspace, {"USER.md": "# User\n- a\n- breed\n- c\n"})
    git(paths.workspace, "commit", "-q", "-a", "-m", "dream: start")
    for number, files in enumerate(
        (
            {"USER.md": "# User\n- a\n- bread\n- c\n- added\n", "SOUL.md": "# Soul\n- calm\n- kind\n"},
            {"memory/MEMORY.md": "# M\n- fact\n"},
            {"USER.md": "# User\n- first\n- a\n- bread\n- c\n- added\n- later\n"},
        ),
        3,
    ):
        write(paths.workspace, {**files, "memory/.dream_cursor": f"{number}0"})
        git(paths.workspace, "commit", "-q", "-a", "-m", "dream: manual run")
    on = Bench(paths)
    on.remember(*(f"- fact {number}" for number in range(60)))
    return on


@pytest.fixture
def on(tmp_path):
    return dreamt(tmp_path)


def sha(on, back):
    return on.dreams.commits()[back].sha


def test_an_older_dream_is_taken_back_and_every_later_one_kept(on):
    preview = on.dreams.revert_preview(sha(on, 2))
    assert [(f.path, f.after) for f in preview.files] == [
        ("SOUL.md", "# Soul\n- calm\n"),
        ("USER.md", "# User\n- first\n- a\n- breed\n- c\n- later\n"),
    ]
    assert [commit.sha for commit in preview.later_commits] == [sha(on, 0)]
    assert preview.note == "1 later commit of these files is kept"
    assert (preview.cursor_now, preview.cursor_after, preview.rewound) == (50, 50, 0)
    operation = on.dreams.revert(sha(on, 2)[:8])
    assert (operation.kind, operation.actor) == ("dream.restore", "human")
    assert on.texts() == {
        "SOUL.md": "# Soul\n- calm\n",
        "USER.md": "# User\n- first\n- a\n- breed\n- c\n- later\n",
        "memory/MEMORY.md": "# M\n- fact\n",
    }
    assert on.paths.dream_cursor.read_text() == "50"
    assert git(on.paths.workspace, "log", "-1", "--format=%an|%s").strip() == (
        f"nanomem|nanomem: take back dream {sha(on, 3)[:8]}"
    )


def test_a_restore_is_undone_like_any_change(on):
    before = on.texts()
    on.dreams.revert(sha(on, 2))
    on.undo()
    assert on.texts() == before


def test_one_file_or_one_hunk_is_taken_back(tmp_path):
    on = dreamt(tmp_path)
    on.dreams.revert(sha(on, 2), "SOUL.md")
    assert on.texts()["SOUL.md"] == "# Soul\n- calm\n"
    assert "- bread" in (on.texts()["USER.md"] or "")
    on = dreamt(tmp_path / "hunk")
    lines = "".join(f"- line {number}\n" for number in range(30))
    write(on.paths.workspace, {"memory/MEMORY.md": lines})
    git(on.paths.workspace, "commit", "-q", "-a", "-m", "dream: base")
    write(on.paths.workspace, {"memory/MEMORY.md": lines.replace("line 3\n", "X\n").replace("line 25\n", "Y\n")})
    git(on.paths.workspace, "commit", "-q", "-a", "-m", "dream: two hunks")
    on.dreams.revert(sha(on, 0), "MEMORY.md", 1)
    assert on.texts()["memory/MEMORY.md"] == lines.replace("line 3\n", "X\n")
    for file, hunk in (("USER.md", None), ("memory/MEMORY.md", 2), (None, -1)):
        with pytest.raises(NotFound):
            on.dreams.revert(sha(on, 1), file, hunk)


def test_lines_that_a_later_dream_changed_are_a_conflict_and_nothing_is_written(on):
    write(on.paths.workspace, {"USER.md": "# User\n- first\n- a\n- breads\n- c\n- later\n"})
    preview = on.dreams.revert_preview(sha(on, 2))
    found = [(c.path, c.line, c.now, c.then) for c in preview.conflicts]
    assert found == [("USER.md", 4, ("- breads\n",), ("- breed\n",))]
    assert preview.problem == "later edits changed the same lines: USER.md:4"
    before = on.texts()
    with pytest.raises(Conflict) as caught:
        on.dreams.revert(sha(on, 2))
    assert (caught.value.where, "(4)" in caught.value.what) == ("USER.md", True)
    assert on.texts() == before
    on.dreams.revert(sha(on, 2), "SOUL.md")
    assert on.texts()["SOUL.md"] == "# Soul\n- calm\n"


def test_a_person_settles_such_lines_for_what_stands_now_or_for_what_stood_then(on):
    write(on.paths.workspace, {"USER.md": "# User\n- first\n- a\n- baguette\n- c\n- added\n- later\n"})
    older = sha(on, 2)
    assert on.dreams.revert_preview(older).conflicts
    sides: tuple[tuple[Side, str], ...] = (("now", "- baguette"), ("then", "- breed"))
    for side, line in sides:
        preview = on.dreams.revert_preview(older, settle=side)
        assert not preview.conflicts
        assert {f.path: f.after for f in preview.files} == {
            "SOUL.md": "# Soul\n- calm\n",
            "USER.md": f"# User\n- first\n- a\n{line}\n- c\n- later\n",
        }
        before = on.texts()
        on.dreams.revert(older, settle=side)
        assert on.texts()["USER.md"] == f"# User\n- first\n- a\n{line}\n- c\n- later\n"
        on.undo()
        assert on.texts() == before


def rewritten(tmp_path):
    """A Dream reworded a line of a file, which later came to hold something else altogether."""
    on = dreamt(tmp_path)
    for message, text in (
        ("dream: shrunk", "REWRITE\n- shrunk\n"),
        ("dream: reworded", "REWRITE\n- shrunk (by the gateway)\n"),
        ("revert: all of it", "# M\n\n## Home\n- Cat: Luna\n- Light: bedroom\n"),
        ("dream: more", "# M\n\n## Home\n- Cat: Luna\n- Light: bedroom\n- Plants: three\n"),
    ):
        write(on.paths.workspace, {"memory/MEMORY.md": text})
        git(on.paths.workspace, "commit", "-q", "-a", "-m", message)
    return on


def test_a_dream_of_which_later_edits_left_nothing_is_no_conflict(tmp_path):
    on = rewritten(tmp_path)
    preview = on.dreams.revert_preview(sha(on, 2))
    assert (preview.files, preview.conflicts) == ((), ())
    assert preview.problem == "nothing of it is in force any more"
    with pytest.raises(NothingToDo):
        on.dreams.revert(sha(on, 2))


def test_what_settling_for_the_lines_of_before_takes_of_later_changes_is_said(tmp_path):
    on = rewritten(tmp_path)
    preview = on.dreams.revert_preview(sha(on, 2), settle="then")
    assert preview.note == f"5 lines that came later are lost, of 2 later commits ({sha(on, 0)[:8]}, {sha(on, 1)[:8]})"
    assert [preview.loses(commit) for commit in preview.later_commits] == [True, True]
    assert preview.to_json()["lost"] == {"lines": 5, "commits": [sha(on, 0), sha(on, 1)], "uncommitted": False}
    write(on.paths.workspace, {"memory/MEMORY.md": "- Cat: Luna\n- by hand\n"})
    preview = on.dreams.revert_preview(sha(on, 2), settle="then")
    assert preview.note == (
        "1 line that came later is lost, of an edit that no commit holds yet; 2 later commits of these files are kept"
    )


def test_one_edit_of_a_block_is_taken_back_alone(on):
    write(on.paths.workspace, {"memory/MEMORY.md": "# M\n- fact\n- one\n- two\n\n## Home\n- three\n"})
    git(on.paths.workspace, "commit", "-q", "-a", "-m", "dream: a block")
    edits = on.dreams.revert_preview(sha(on, 0)).edits
    assert [(edit.number, edit.words) for edit in edits] == [
        (1, "+ - one"), (2, "+ - two"), (3, "+ - three"),
    ]  # fmt: skip
    on.dreams.revert(sha(on, 0), edit=2)
    assert on.texts()["memory/MEMORY.md"] == "# M\n- fact\n- one\n\n## Home\n- three\n"
    assert on.done[-1].label.endswith(", edit 2")
    with pytest.raises(NothingToDo):
        on.dreams.revert(sha(on, 1), edit=2)
    with pytest.raises(NotFound, match="no such edit"):
        on.dreams.revert(sha(on, 1), edit=5)


def test_what_is_no_longer_in_force_says_so_and_exits_1(on):
    target = sha(on, 2)
    on.dreams.revert(target)
    assert on.dreams.revert_preview(target).problem == "nothing of it is in force any more"
    with pytest.raises(NothingToDo) as caught:
        on.dreams.revert(target)
    assert caught.value.exit_code == 1


def test_a_dream_that_only_moved_the_cursor_has_nothing_to_take_back(tmp_path):
    on = Bench(small(tmp_path))
    on.remember("- [ephemeral] rain", first=21)
    result = on.dreams.run()
    assert result.sha is not None
    with pytest.raises(NothingToDo, match="moved the cursor only"):
        on.dreams.revert(result.sha)
    on.dreams.revert(result.sha, rewind_cursor=True)
    assert on.paths.dream_cursor.read_text() == "20"


def test_the_cursor_moves_only_when_asked_and_its_cost_is_shown(on):
    preview = on.dreams.revert_preview(sha(on, 1), rewind_cursor=True)
    assert (preview.cursor_now, preview.cursor_after, preview.rewound) == (50, 30, 20)
    assert "20 history entries are dreamed again" in preview.note
    on.presence = Presence(True, 1, "nanobot gateway", dreaming=True)
    with pytest.raises(Refused):
        on.dreams.revert(sha(on, 1), rewind_cursor=True)
    on.presence = Presence()
    on.dreams.revert(sha(on, 1), rewind_cursor=True)
    assert on.paths.dream_cursor.read_text() == "30"
    assert git(on.paths.workspace, "show", "HEAD:memory/.dream_cursor") == "30"


def test_a_whole_restore_is_the_agents_time_travel_and_lists_what_it_loses(on):
    preview = on.dreams.revert_preview(sha(on, 2), whole=True)
    assert [commit.sha for commit in preview.later_commits] == [sha(on, 0), sha(on, 1)]
    assert preview.note.startswith("2 later commits of these files are lost; the cursor goes back from 50 to 20")
    on.dreams.revert(sha(on, 2), whole=True, rewind_cursor=False)
    assert on.texts() == {
        "SOUL.md": "# Soul\n- calm\n", "USER.md": "# User\n- a\n- breed\n- c\n", "memory/MEMORY.md": "# M\n",
    }  # fmt: skip
    assert on.paths.dream_cursor.read_text() == "50"
    on.undo()
    on.dreams.revert(sha(on, 4), whole=True)
    assert on.paths.dream_cursor.read_text() == "20"
    with pytest.raises(Refused):
        on.dreams.revert(sha(on, 4), "USER.md", whole=True)


def test_a_restore_never_moves_the_cursor_forward(on):
    on.paths.dream_cursor.write_text("5")
    for named in ({"whole": True}, {"rewind_cursor": True}):
        preview = on.dreams.revert_preview(sha(on, 2), **named)
        assert (preview.cursor_now, preview.cursor_after, preview.rewound) == (5, 5, 0)
        assert "the cursor stays at 5: before that run it was at 20" in preview.note
    on.dreams.revert(sha(on, 2), whole=True)
    assert on.paths.dream_cursor.read_text() == "5"


def test_a_file_that_the_dream_made_goes_and_one_that_it_removed_comes_back(on):
    on.paths.soul.unlink()
    git(on.paths.workspace, "commit", "-q", "-a", "-m", "dream: remove")
    target = sha(on, 0)
    on.dreams.revert(target)
    assert on.texts()["SOUL.md"] == "# Soul\n- calm\n- kind\n"
    git(on.paths.workspace, "rm", "-q", "SOUL.md")
    git(on.paths.workspace, "commit", "-q", "-m", "x")
    write(on.paths.workspace, {"SOUL.md": "# New\n"})
    git(on.paths.workspace, "add", "-f", "SOUL.md")
    git(on.paths.workspace, "commit", "-q", "-m", "dream: make")
    on.dreams.revert(sha(on, 0))
    assert not on.paths.soul.exists()


def test_the_first_commit_cannot_be_taken_back(on):
    with pytest.raises(Refused, match="first commit"):
        on.dreams.revert(sha(on, 5))


@pytest.mark.parametrize("name", ["nb035", "v0_1_5"])
@pytest.mark.slow
def test_every_dream_of_a_real_agent_restores_conflicts_or_says_it_is_gone(tmp_path, name):
    on = Bench(sample(name, tmp_path))
    start = on.texts()
    outcomes = set()
    for run in on.dreams.runs():
        before, commits = on.texts(), len(on.dreams.commits())
        try:
            preview = on.dreams.revert_preview(run.sha)
            on.dreams.revert(run.sha)
        except (Conflict, NothingToDo, Refused) as error:
            outcomes.add(type(error).__name__)
            assert on.texts() == before
            assert len(on.dreams.commits()) == commits
            continue
        outcomes.add("restored")
        assert {f.path: f.after for f in preview.files} == {k: v for k, v in on.texts().items() if v != before[k]}
        on.undo()
        assert on.texts() == start
    assert "restored" in outcomes
    assert git(on.paths.workspace, "fsck", "--strict") == ""


def test_taking_back_a_dream_of_nb035_that_is_in_force_keeps_the_rest_byte_for_byte(tmp_path):
    """af4387c8 stands although a later Dream was taken back whole: only its own lines may change."""
    on = Bench(sample("nb035", tmp_path))
    with pytest.raises(NothingToDo):
        on.dreams.revert("9847f2a3")  # the agent has taken it back already
    for run in on.dreams.runs():
        try:
            preview = on.dreams.revert_preview(run.sha)
        except Refused:
            continue
        if not preview.conflicts and preview.files:
            _, diffs = on.dreams.show(run.sha)
            own = {line for d in diffs for h in d.hunks for row in h.lines if row.tag != "equal" for line in [row.text]}
            for file in preview.files:
                changed = {row.text for hunk in file.hunks for row in hunk.lines if row.tag != "equal"}
                assert changed <= own


def memory_of_five(tmp_path):
    """A Dream that changed MEMORY.md in three places, at the second of which three lines side by side."""
    on = dreamt(tmp_path)
    file = "memory/MEMORY.md"
    before = "# M\n- one\n- two\n- three\n"
    for text in (before, "# M\n- one\n- new\n- two\n- tea\n- rain\n- snow\n- three\n- last\n"):
        write(on.paths.workspace, {file: text})
        git(on.paths.workspace, "commit", "-q", "-a", "-m", "dream: places")
    return on


def test_each_run_of_changed_lines_is_a_hunk_that_goes_alone(tmp_path):
    on = memory_of_five(tmp_path)
    newest, file = sha(on, 0), "memory/MEMORY.md"
    after = on.texts()[file] or ""
    for number, lines in enumerate(("- new\n", "- tea\n- rain\n- snow\n", "- last\n")):
        assert on.dreams.revert_preview(newest, file, number).files[0].after == after.replace(lines, "")
    with pytest.raises(NotFound, match="no such hunk") as caught:
        on.dreams.revert(newest, file, 3)
    assert caught.value.fix == "memory/MEMORY.md has 3 hunks in that commit"


def test_one_edited_line_keeps_neither_its_neighbours_nor_the_other_hunks(tmp_path):
    on = memory_of_five(tmp_path)
    newest, file = sha(on, 0), "memory/MEMORY.md"
    edited = (on.texts()[file] or "").replace("- rain\n", "- rain in May\n")
    write(on.paths.workspace, {file: edited})
    found = on.dreams.revert_preview(newest)
    assert [(one.now, one.then) for one in found.conflicts] == [(("- rain in May\n",), ())]
    now = on.dreams.revert_preview(newest, settle="now")
    assert now.files[0].after == "# M\n- one\n- two\n- rain in May\n- three\n"
    then = on.dreams.revert_preview(newest, settle="then")
    assert then.files[0].after == "# M\n- one\n- two\n- three\n"
    on.dreams.revert(newest, file, 2)
    assert on.texts()[file] == edited.replace("- last\n", "")


def test_lines_that_a_dream_reworded_side_by_side_go_back_one_by_one(on):
    texts = ("# M\n- likes tea\n- lives in Bremen\n", "# M\n- likes black tea\n- owns a cat\n- lives in Berlin\n")
    for text in texts:
        write(on.paths.workspace, {"memory/MEMORY.md": text})
        git(on.paths.workspace, "commit", "-q", "-a", "-m", "dream: reworded")
    write(on.paths.workspace, {"memory/MEMORY.md": texts[1].replace("Berlin", "Berlin, Kreuzberg")})
    found = on.dreams.revert_preview(sha(on, 0), settle="now")
    assert found.files[0].after == "# M\n- likes tea\n- lives in Berlin, Kreuzberg\n"
