"""The Markdown mirrors of seed 001: their form, when there are any, and that they never do harm."""

import os
import re
from datetime import UTC, datetime

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import clock
from nanomem_tui.core.operations import new_operation
from nanomem_tui.core.settings import Settings
from nanomem_tui.memory import notes
from nanomem_tui.memory.notes import MirrorLayer
from nanomem_tui.store.values import Item
from tests.store.homes import files, kill, make_home

AT = datetime(2026, 2, 10, 8, 46, tzinfo=UTC)


def opened(tmp_path, setting="on"):
    workspace = make_home(tmp_path)
    ws = open_workspace(workspace)
    ws.store.settings = ws.settings = ws.settings._replace(mirrors=setting)
    return ws


@pytest.fixture
def ws(tmp_path):
    with opened(tmp_path) as made:
        yield made


def add(ws, text, kind="fact"):
    with clock.at(AT):
        return ws.items.add(text, kind)[1]


def read(ws, name):
    return (ws.paths.memory / name).read_bytes().decode()


def test_each_kind_has_its_file_in_the_form_of_the_seed(ws):
    for kind in ("preference", "fact", "decision", "episodic"):
        add(ws, f"one  {kind}\nof two lines", kind)
    add(ws, "another", "fact")
    stamp = "- [2026-02-10 08:46:00 UTC]"
    assert read(ws, "semantic/preferences.md") == f"# Preferences\n\n{stamp} one preference of two lines\n"
    assert read(ws, "semantic/decisions.md") == f"# Decisions\n\n{stamp} one decision of two lines\n"
    assert read(ws, "episodic/2026-02-10.md") == f"# 2026-02-10\n\n{stamp} one episodic of two lines\n"
    assert read(ws, "semantic/facts.md") == f"# Facts\n\n{stamp} one fact of two lines\n{stamp} another\n"


def test_ours_is_what_the_agent_wrote_itself(sample_copy):
    workspace = sample_copy("ftswal") / "home" / ".nanobot" / "workspace"
    data = (workspace / "memory" / "semantic" / "facts.md").read_bytes()
    entries = re.findall(r"- \[(.{19}) UTC\] (.*)", data.decode())
    items = [Item("x", text, "fact", created_at=f"{at.replace(' ', 'T')}+00:00") for at, text in entries]
    ours = "".join(f"{notes.mirror_line(item).text}\n" for item in items)
    assert data.decode() == f"# Facts\n\n{ours}"


def test_mirrors_are_written_where_they_are_kept_or_wanted(tmp_path):
    with opened(tmp_path, "auto") as ws:
        add(ws, "not mirrored")
        assert not (ws.paths.memory / "semantic").exists()
        (ws.paths.memory / "episodic").mkdir()
        add(ws, "mirrored")
        assert "mirrored" in read(ws, "semantic/facts.md")
        ws.store.settings = ws.settings._replace(mirrors="off")
        add(ws, "switched off")
        assert "switched off" not in read(ws, "semantic/facts.md")


def test_a_line_is_put_behind_what_has_no_newline(ws):
    folder = ws.paths.memory / "semantic"
    folder.mkdir()
    (folder / "facts.md").write_bytes(b"# Facts\n\n- torn")
    add(ws, "x")
    assert read(ws, "semantic/facts.md") == "# Facts\n\n- torn\n- [2026-02-10 08:46:00 UTC] x\n"


def test_a_line_is_written_once_however_often_it_is_applied(ws):
    item = add(ws, "x")
    change = notes.mirror_changes(ws.paths, ws.store.settings, [item])
    layer = MirrorLayer(ws.paths)
    for _ in range(2):
        layer.apply(new_operation("items.add", "again", change), change)
    assert read(ws, "semantic/facts.md").count("] x\n") == 1


def test_a_deletion_leaves_the_line_and_undo_of_the_addition_takes_it_out(ws):
    kept = add(ws, "kept")
    gone = add(ws, "taken back")
    ws.items.delete([kept.id])
    assert "kept" in read(ws, "semantic/facts.md")
    ws.undo()
    ws.undo()
    assert read(ws, "semantic/facts.md") == "# Facts\n\n- [2026-02-10 08:46:00 UTC] kept\n"
    assert gone.id not in {row.id for row in ws.items.all()}
    ws.redo(2)
    assert read(ws, "semantic/facts.md").endswith("] taken back\n")


def test_undo_takes_out_only_its_own_line(ws):
    add(ws, "mine")
    path = ws.paths.memory / "semantic" / "facts.md"
    path.write_text(path.read_text().replace("] mine", "] mine, edited by a person"))
    before = path.read_bytes()
    ws.undo()
    assert path.read_bytes() == before


@pytest.mark.parametrize("where", ["file", "folder", "pipe", "directory"])
def test_nothing_is_written_through_a_link_or_into_what_is_no_file(tmp_path, where):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "facts.md").write_text("theirs")
    with opened(tmp_path) as ws:
        folder = ws.paths.memory / "semantic"
        if where == "folder":
            folder.symlink_to(outside)
        else:
            folder.mkdir()
            target = folder / "facts.md"
            if where == "file":
                target.symlink_to(outside / "facts.md")
            elif where == "pipe":
                os.mkfifo(target)
            else:
                target.mkdir()
        item = add(ws, "x")
        assert ws.items.get(item.id), "the item itself is kept"
        assert [problem.where for problem in ws.problems()] == ["memory/semantic/facts.md"]
        assert [problem["where"] for problem in ws.status()["problems"]] == ["memory/semantic/facts.md"]
        ws.undo()
    assert (outside / "facts.md").read_text() == "theirs"


def test_a_recorded_value_that_leads_elsewhere_is_left_out(tmp_path):
    layer = MirrorLayer(open_workspace(make_home(tmp_path)).paths)
    before = files(tmp_path)
    for file in ("../evil.md", "semantic/../../evil.md", "/evil.md", "semantic/.hidden.md", "semantic/x", "", 7):
        change = notes.Change("mirror", "k", None, {"file": file, "title": "T", "text": "- x"})
        layer.apply(new_operation("x", "x", [change]), [change])
    change = notes.Change("mirror", "k", None, {"file": "semantic/x.md", "title": "T", "text": "- x\n# forged"})
    layer.apply(new_operation("x", "x", [change]), [change])
    assert files(tmp_path) == before


def test_characters_that_a_terminal_obeys_do_not_get_in(ws):
    add(ws, "a\x1b]52;c;aGk=\x07b \u202ec \x9b2J")
    assert not set("\x1b\x07\x9b\u202e") & set(read(ws, "semantic/facts.md"))


class _Killed(BaseException):
    """Nothing in the process may answer to it."""


def test_a_killed_process_leaves_item_and_line(tmp_path, monkeypatch):
    ws = opened(tmp_path)

    def kill_now(*_):
        raise _Killed

    monkeypatch.setattr(MirrorLayer, "apply", kill_now)  # between the record and the file
    with pytest.raises(_Killed):
        add(ws, "survives")
    [item] = [row for row in ws.items.all() if row.text == "survives"]
    workspace = ws.paths.workspace
    kill(ws)
    monkeypatch.undo()
    with open_workspace(workspace) as again:
        assert again.items.get(item.id).text == "survives"
        again.flush()
        assert [entry.operation.kind for entry in again.log()] == ["items.add"], "nothing was called off"
        assert "survives" in read(again, "semantic/facts.md")


def test_the_setting_is_auto():
    assert Settings().mirrors == "auto"


@pytest.mark.parametrize("later", ["another", "flush", "close"])
def test_a_line_that_could_not_be_written_is_written_later(later, tmp_path):
    ws = opened(tmp_path)
    add(ws, "the first")
    mirror = ws.paths.memory / "semantic" / "facts.md"
    kept = mirror.read_bytes()
    mirror.unlink()
    mirror.mkdir()
    add(ws, "the second")
    assert [one.where for one in ws.problems() if "mirror" in one.what] == ["memory/semantic/facts.md"]
    mirror.rmdir()
    mirror.write_bytes(kept)
    {"another": lambda: add(ws, "the third"), "flush": ws.flush, "close": ws.close}[later]()
    assert [line.partition(" UTC] ")[2] for line in read(ws, "semantic/facts.md").splitlines()[2:4]] == [
        "the first", "the second"
    ]  # fmt: skip
    assert [one for one in ws.problems() if "mirror" in one.what] == []
    ws.close()


def test_a_line_that_is_taken_back_before_it_was_written_is_not_there(ws):
    add(ws, "the first")
    mirror = ws.paths.memory / "semantic" / "facts.md"
    mirror.rename(mirror.with_suffix(".aside"))
    mirror.mkdir()
    add(ws, "the second")
    ws.undo()
    ws.redo()
    ws.undo()
    mirror.rmdir()
    mirror.with_suffix(".aside").rename(mirror)
    ws.flush()
    assert "the second" not in read(ws, "semantic/facts.md")
    ws.redo()
    assert read(ws, "semantic/facts.md").count("the second") == 1
