"""`nanomem files`: the memory files are shown and edited from the command line as they are in the console."""

import pytest


@pytest.fixture
def place(workspace):
    (workspace / "SOUL.md").write_text("# Soul\n\nCalm.\n", "utf-8")
    (workspace / "USER.md").write_text("# User\n\n- Tea\n- 長崎\n", "utf-8")
    return workspace


def test_they_are_listed_and_shown(place, run):
    listed = {row["id"]: row["lines"] for row in run("files", "list", "--json").json}
    assert listed["USER.md"] == 4
    assert run("files", "show", "user.md").out == "# User\n\n- Tea\n- 長崎\n\n"
    assert run("files", "show", "USER.md", "--json").json == {"id": "USER.md", "text": "# User\n\n- Tea\n- 長崎\n"}


def test_an_edit_is_made_and_taken_back(place, run, tmp_path):
    before = (place / "USER.md").read_bytes()
    source = tmp_path / "new.md"
    source.write_text("# User\n\n- Coffee\n- 長崎\n", "utf-8")
    planned = run("files", "edit", "USER.md", "--from", source, "--dry-run")
    assert (planned.code, (place / "USER.md").read_bytes()) == (0, before)
    assert run("files", "edit", "USER.md", "--from", source).out == "edit USER.md\n"
    assert (place / "USER.md").read_bytes() == source.read_bytes()
    assert run("files", "edit", "USER.md", "--from", source).out == "Nothing changed.\n"
    assert run("undo").code == 0
    assert (place / "USER.md").read_bytes() == before


def test_an_editor_gets_the_file_and_what_an_agent_wrote_meanwhile_stays(place, run, tmp_path, monkeypatch):
    agent = f"printf -- '- Agent\\n' >> '{place}/USER.md'"
    script = tmp_path / "editor.sh"
    script.write_text(f"#!/bin/sh\nsed -i 's/Soul/Soul!/;s/# User/# The user/' \"$1\"\n{agent}\n", "utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(script))
    monkeypatch.delenv("VISUAL", raising=False)
    assert run("files", "edit", "USER.md").code == 0
    assert (place / "USER.md").read_text("utf-8") == "# The user\n\n- Tea\n- 長崎\n- Agent\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("files", "show", "../../etc/passwd"), "not a file with versions"),
        (("files", "show", "MEMORY.md"), "there is no such file"),
        (("files", "edit", "USER.md", "--from", "/nowhere/file"), "nanomem: there is no such file: /nowhere/file\n"),
        (("files", "edit", "USER.md", "--from", "/"), "nanomem: that is a folder, and a file is needed: /\n"),
        (("files", "edit", "config.json", "--from", "-"), "not a file with versions"),
    ],
)
def test_what_cannot_be_is_one_line(place, run, line, said):
    result = run(*line)
    assert result.code == 2
    assert said in result.err
    assert result.err.count("\n") == 1


def test_bytes_that_are_no_text_are_refused(place, run, tmp_path):
    source = tmp_path / "raw"
    source.write_bytes(b"ok \xff")
    result = run("files", "edit", "SOUL.md", "--from", source)
    assert result.code == 2
    assert "byte 3 is no UTF-8" in result.err


def test_a_link_that_leads_out_is_named_and_hides_no_other(place, run, tmp_path):
    (place / "SOUL.md").rename(tmp_path / "soul.md")
    (place / "SOUL.md").symlink_to(tmp_path / "soul.md")
    listed = run("files", "list", "--json")
    assert listed.code == 0
    problems = {row["id"]: row["problem"] for row in listed.json}
    assert problems == {"SOUL.md": "a link that leads out of the workspace", "USER.md": ""}
    assert "leads out of the workspace" in run("files", "list").out
    assert "SOUL.md: a link that leads out of the workspace" in run("doctor").out
