"""The file that keeps the id of a workspace: damaged, it hides no memory; the database tells the id."""

import shutil

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import StoreError
from tests.store.homes import make_home

DAMAGE = [b"", b"\0" * 16, b"\xff\xfe", b"0123456789abcdef", b"../../etc"]


@pytest.fixture
def workspace(tmp_path):
    """A memory that began elsewhere: only the file tells its id."""
    began = make_home(tmp_path / "began")
    with open_workspace(began) as ws:
        ws.items.add("what is remembered")
    shutil.move(tmp_path / "began", tmp_path / "moved")
    return tmp_path / "moved" / began.relative_to(tmp_path / "began")


def texts(workspace):
    with open_workspace(workspace) as ws:
        return {item.text for item in ws.items.all()}


@pytest.mark.sqlite("the database beside the file tells the id; on a server it is found by it")
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_id_hides_nothing_and_is_told_until_it_is_mended(workspace, damage):
    with open_workspace(workspace) as ws:
        file, whole = ws.paths.own_id, ws.paths.own_id.read_bytes()
    file.write_bytes(damage)
    with open_workspace(workspace) as ws:
        assert "what is remembered" in {item.text for item in ws.items.all()}
        assert [problem.severity for problem in ws.problems() if "the id of this workspace" in problem.what] == [
            "warning"
        ]
        assert file.read_bytes() == damage, "looking changes nothing"
        ws.items.add("more")
    assert file.read_bytes() == whole
    assert {"what is remembered", "more"} <= texts(workspace)
    with open_workspace(workspace) as ws:
        assert ws.problems() == []


def test_where_the_file_is_damaged_and_nothing_tells_the_id_none_is_shown(workspace):
    with open_workspace(workspace) as ws:
        file, database = ws.paths.own_id, ws.paths.database
    file.write_bytes(b"")
    for path in database.parent.glob("nanomem.db*"):
        path.unlink()
    with pytest.raises(StoreError, match="the id of this workspace cannot be read"):
        open_workspace(workspace)
