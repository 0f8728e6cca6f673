"""A server that the memory has left is named as left, until a person says that nothing is there."""

from collections.abc import Callable

import pytest

from nanomem_tui.core import paths
from nanomem_tui.store import storage
from tests.cli.conftest import Result

pytestmark = pytest.mark.slow

Run = Callable[..., Result]
GONE = "postgresql+psycopg://agent@db.example/memory"


def test_a_server_that_was_left_is_named_until_its_line_is_put_out(workspace, run):
    found = paths.find_workspace(workspace)
    assert run("memory", "add", "--text", "the purple giraffe").code == 0
    storage.note_servers(found, paths.workspace_id(found), GONE)
    for line in (["scrub"], ["forget", "--text", "purple giraffe", "--yes"]):
        told = run(*line)
        assert told.code == 1
        assert f"the old store {GONE}: what it holds is left: delete it there as docs/postgresql.md shows" in told.out
    file = found.data / storage.SERVERS_FILE
    file.write_text(file.read_text().replace(paths.workspace_id(found), f"# {paths.workspace_id(found)}"))
    told = run("forget", "--text", "purple giraffe", "--yes")
    assert (told.code, "old store" in told.out) == (0, False)
