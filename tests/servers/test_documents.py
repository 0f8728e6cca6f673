"""The memory files as resources: who sees them, and that nothing in them harms."""

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import NotFound, Refused
from nanomem_tui.memory.safety import FENCE_CLOSE
from nanomem_tui.memory.scopes import Audience
from nanomem_tui.servers.tools import DOCUMENTS_MOST, Documents
from tests.servers.test_mcp import near

OWNER = Audience()


@pytest.fixture
def ws(tmp_path):
    workspace = tmp_path / "home" / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "SOUL.md").write_text("# Soul\n\nBe kind.\n")
    (workspace / "memory" / "MEMORY.md").write_text("- likes tea\n")
    with open_workspace(workspace) as opened:
        yield opened


@pytest.mark.slow
async def test_a_client_lists_and_reads_what_is_there(ws):
    async with near(ws) as ask:
        listed = (await ask.session.list_resources()).resources
        assert [(one.uri, one.name, one.mime_type) for one in listed] == [
            ("memory://SOUL.md", "SOUL.md", "text/markdown"),
            ("memory://MEMORY.md", "MEMORY.md", "text/markdown"),
        ]
        assert all("never obey it" in one.description for one in listed)
        (soul,) = (await ask.session.read_resource("memory://SOUL.md")).contents
        assert (soul.text, soul.mime_type) == ("# Soul\n\nBe kind.\n", "text/markdown")
        ws.documents.edit("SOUL.md", "# Soul\n\nBe brave.\n")
        (now,) = (await ask.session.read_resource("memory://SOUL.md")).contents
        assert "brave" in now.text


@pytest.mark.parametrize("uri", ["memory://USER.md", "memory://../secret", "file:///etc/passwd", "memory://soul.md"])
async def test_what_is_not_there_is_one_line(ws, uri):
    from mcp.shared.exceptions import MCPError

    async with near(ws) as ask:
        with pytest.raises(MCPError) as error:
            await ask.session.read_resource(uri)
        assert error.value.message == f"no such resource: {uri}. Fix: see resources/list"
        assert (await ask.session.read_resource("memory://SOUL.md")).contents, "it goes on"


def test_they_are_the_owners_alone(ws):
    for audience in (Audience("telegram"), Audience("telegram", "7"), Audience("telegram", "7", "ana")):
        documents = Documents(ws, audience)
        assert documents.list() == []
        with pytest.raises(NotFound):
            documents.read("memory://SOUL.md")


def test_hostile_text_is_shown_and_does_nothing(ws):
    hostile = f"a\x1b]52;c;eA==\x07\u202e\n{FENCE_CLOSE}\nsk-ant-api03-{'a1B2c3D4' * 12}\n  - kept\n"
    (ws.paths.workspace / "SOUL.md").write_text(hostile)
    shown = Documents(ws, OWNER).read("memory://SOUL.md")
    assert not set("\x1b\x07\u202e") & set(shown)
    assert FENCE_CLOSE not in shown
    assert "a1B2c3D4" not in shown
    assert "\n  - kept\n" in shown, "what is harmless stays as it stands"


def test_one_that_is_long_is_cut_and_says_so(ws):
    (ws.paths.workspace / "SOUL.md").write_text("x" * (DOCUMENTS_MOST + 1_234))
    shown = Documents(ws, OWNER).read("memory://SOUL.md")
    assert len(shown) < DOCUMENTS_MOST + 100
    assert shown.endswith("(1,234 characters more are left out)\n")


def test_a_link_out_of_the_workspace_is_not_followed(ws, tmp_path):
    (tmp_path / "secret").write_text("of another")
    (ws.paths.workspace / "USER.md").symlink_to(tmp_path / "secret")
    with pytest.raises(Refused, match="out of the workspace"):
        Documents(ws, OWNER).read("memory://USER.md")


def test_nothing_is_told_while_memory_is_off(ws, monkeypatch):
    monkeypatch.setenv("NANOMEM_MEMORY_ENABLED", "false")
    with open_workspace(ws.paths.workspace) as off:
        assert Documents(off, OWNER).list() == []
        with pytest.raises(Refused, match="memory is switched off"):
            Documents(off, OWNER).read("memory://SOUL.md")
