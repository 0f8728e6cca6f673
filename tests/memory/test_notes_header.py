"""The beginning of MEMORY.md stands before every turn; what a link leads to outside of the workspace does not."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.memory.turns.request import turn_input
from tests.memory.turns import begin, said
from tests.store.homes import make_home


@pytest.mark.parametrize("link", ["file", "folder"])
def test_no_file_from_elsewhere_gets_into_a_block(tmp_path, link):
    workspace = make_home(tmp_path / "home", items=1, lessons=0)
    away = tmp_path / "away"
    away.mkdir()
    (away / "MEMORY.md").write_text("# Theirs\n\n- root:x:0:0\n")
    notes = workspace / "memory" / "MEMORY.md"
    notes.write_text("# Ours\n\n- tea at four\n")
    with open_workspace(workspace) as ws:
        assert "tea at four" in begin(ws).block
        notes.unlink()
        if link == "file":
            notes.symlink_to(away / "MEMORY.md")
        else:
            (workspace / "memory").rename(workspace / "was")
            (workspace / "memory").symlink_to(away)
        assert "root:x" not in ws.engine.preview(turn_input(said("hello"))).block
    with open_workspace(workspace) as ws:
        assert "root:x" not in ws.engine.preview(turn_input(said("hello"))).block


def test_a_link_within_the_workspace_is_followed(tmp_path):
    workspace = make_home(tmp_path / "home", items=1, lessons=0)
    notes = workspace / "memory" / "MEMORY.md"
    notes.unlink(missing_ok=True)
    (workspace / "kept.md").write_text("# Ours\n\n- tea at four\n")
    notes.symlink_to(workspace / "kept.md")
    with open_workspace(workspace) as ws:
        assert "tea at four" in begin(ws).block
