"""An empty workspace and one whose people talk, open for the tests of this folder, and a model that is asked."""

from contextlib import ExitStack

import pytest

from nanomem_tui import open_workspace
from tests.facts.talking import talking
from tests.model.dreams import endpoints


@pytest.fixture
def place(tmp_path):
    place = tmp_path / "home" / "workspace"
    place.mkdir(parents=True)
    return place


@pytest.fixture
def ws(place):
    with open_workspace(place) as opened:
        yield opened


@pytest.fixture
def workspace(tmp_path):
    """Where `talked` has its workspace."""
    return tmp_path / "workspace"


@pytest.fixture
def talked(tmp_path):
    """`talked(cli_direct=["I live in Rome"])`: the open workspace in which that was said."""
    with ExitStack() as opened:
        yield lambda **sessions: opened.enter_context(open_workspace(talking(tmp_path, **sessions)))


@pytest.fixture
def endpoint(monkeypatch):
    """`endpoint(reply, …)`: a server with that script, which is the model of this test's settings, priced."""
    with endpoints(monkeypatch) as serve:
        yield serve
