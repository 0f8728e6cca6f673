"""Editing in the person's own editor: what was written there is not lost."""

import sys

import pytest


@pytest.mark.slow
def test_what_was_written_of_an_item_that_somebody_deleted_meanwhile_is_printed(workspace, run, tmp_path, monkeypatch):
    """The editor is a program that deletes the item by another process before it writes."""
    run("memory", "add", "--text", "Likes tea")
    key = run("memory", "list", "--json").json[0]["id"]
    other = [sys.executable, "-m", "nanomem_tui", "--workspace", str(workspace), "memory", "delete", key, "--yes"]
    script = tmp_path / "editor.py"
    script.write_text(
        f"import subprocess, sys\nsubprocess.run({other!r}, check=True)\nopen(sys.argv[1], 'w').write('words of mine')"
    )
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    monkeypatch.delenv("VISUAL", raising=False)
    result = run("memory", "edit", key)
    assert (result.code, "words of mine" in result.err) == (2, True)


HIDDEN = "# User\n\n- abc\u200f \u05e9\u05dc\u05d5\u05dd\n- Donau\xadschiff\n- \ufeffbom\n- x \x1b[31m y\n- old\n"


@pytest.fixture
def editor(tmp_path, monkeypatch):
    """An editor that reads any line ends, writes line feeds, and makes `new` of `old`."""
    script = tmp_path / "editor.py"
    script.write_text(
        "import pathlib, sys\nfile = pathlib.Path(sys.argv[1])\n"
        "text = file.read_text('utf-8').replace('old', 'new')\nfile.write_bytes(text.encode())\n"
    )
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    monkeypatch.delenv("VISUAL", raising=False)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.usefixtures("editor")
def test_only_the_edited_line_of_a_file_changes(workspace, run, ends, codec):
    path = workspace / "USER.md"
    before = HIDDEN.replace("\n", ends).encode(codec)
    path.write_bytes(before)
    assert run("files", "edit", "USER.md").code == 0
    assert path.read_bytes() == HIDDEN.replace("old", "new").replace("\n", ends).encode(codec)
    assert run("undo").code == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_text_that_is_given_is_written_in_the_encoding_of_the_file(workspace, run, tmp_path, codec):
    path, given = workspace / "USER.md", tmp_path / "given.md"
    path.write_bytes("# User\r\n- café\r\n".encode("utf-16"))
    given.write_bytes("# User\n- thé\n".encode(codec))
    assert run("files", "edit", "USER.md", "--from", given).code == 0
    assert path.read_bytes() == "# User\r\n- thé\r\n".encode("utf-16")


@pytest.mark.parametrize(
    "text",
    ["one old\r\ntwo\r\n\r\nthree", "an old\nmixed\r\nend", "\ufeffold abc\u200f\xad\x1b[0m", "a old\u2028b\x85c"],
)
@pytest.mark.usefixtures("editor")
def test_only_the_edited_words_of_an_item_change(workspace, run, text):
    from nanomem_tui import open_workspace

    with open_workspace(workspace) as ws:
        key = ws.items.add(text)[0].changes[0].key
    assert run("memory", "edit", key).code == 0
    assert run("memory", "show", key, "--json").json["text"] == text.replace("old", "new")
