"""`nanomem dream versions` and `dream restore --as-of` on a real agent's history."""

import subprocess

import pytest

MEMORY = "memory/MEMORY.md"


@pytest.fixture
def nb035(home):
    """The workspace of a nanobot 0.3.5: 22 commits, 20 of them Dreams."""
    return home("nb035")


def git(workspace, *words):
    return subprocess.run(["git", *words], cwd=workspace, capture_output=True, text=True, check=True).stdout


def test_the_versions_of_a_file_newest_first(nb035, run):
    rows = run("dream", "versions", "MEMORY.md", "--json").json
    assert [row["sha"] for row in rows] == git(nb035, "log", "--first-parent", "--format=%H", "--", MEMORY).split()
    assert list(rows[0]) == ["id", "sha", "at", "who", "message", "file", "added", "removed"]
    assert rows[0]["file"] == MEMORY
    assert run("dream", "versions", MEMORY, "--limit", "2", "--offset", "1", "--json").json == rows[1:3]
    (nb035 / MEMORY).write_text((nb035 / MEMORY).read_text() + "- new\n")
    now = run("dream", "versions", "MEMORY.md", "--limit", "1", "--json").json[0]
    assert (now["id"], now["sha"], now["added"], now["removed"]) == ("now", None, 1, 0)
    assert run("dream", "versions", "MEMORY.md").out.splitlines()[1].startswith("now ")


def test_a_file_as_of_a_commit(nb035, run):
    sha = run("dream", "versions", "USER.md", "--json").json[-1]["sha"]
    then = git(nb035, "show", f"{sha}:USER.md")
    found = run("dream", "versions", "USER.md", sha[:8], "--json").json
    assert (found["id"], found["file"], found["text"]) == (sha, "USER.md", then)
    assert run("dream", "versions", "USER.md", sha[:8]).out.splitlines() == then.splitlines()
    assert run("dream", "versions", "history.jsonl").code == 2
    assert run("dream", "versions", "USER.md", "0000dead").code == 2


def test_a_file_is_brought_back_as_of_a_commit(nb035, run):
    file, others = nb035 / "USER.md", [nb035 / "SOUL.md", nb035 / MEMORY]
    before, kept = file.read_bytes(), [other.read_bytes() for other in others]
    newest, *_, sha = (row["sha"] for row in run("dream", "versions", "USER.md", "--json").json)
    line = ["dream", "restore", sha[:8], "--file", "USER.md", "--as-of"]
    plan = run(*line, "--dry-run", "--json").json
    assert (plan["operation"], plan["as_of"], [found["path"] for found in plan["files"]]) == (None, True, ["USER.md"])
    assert newest in plan["later_commits"]
    assert "lost" in plan["note"]
    refused = run(*line)
    assert (refused.code, file.read_bytes()) == (2, before)
    assert "--yes" in refused.err
    assert run(*line, "--yes", "--json").json["operation"]["kind"] == "dream.restore"
    assert file.read_text() == git(nb035, "show", f"{sha}:USER.md")
    assert [other.read_bytes() for other in others] == kept
    assert run(*line, "--yes").code == 1
    run("undo")
    assert file.read_bytes() == before


def test_a_version_goes_with_one_file_and_nothing_else(nb035, run):
    sha = run("dream", "versions", "USER.md", "--json").json[-1]["sha"]
    for more in ([], ["--file", "USER.md", "--hunk", "1"], ["--file", "USER.md", "--whole"]):
        result = run("dream", "restore", sha, "--as-of", *more)
        assert (result.code, result.err.count("\n")) == (2, 1)


def test_where_no_dream_ran_there_is_no_version(nb035, run, ramfirst):
    assert run("dream", "versions", "USER.md", "--json").json == []
