"""A small home of the RAM-first agent, and its memory open."""

import pytest

from nanomem_tui import open_workspace
from tests.store.homes import make_home


@pytest.fixture
def workspace(tmp_path, request):
    """The home of a test; a module says with `HOME` what is in it."""
    return make_home(tmp_path, **getattr(request.module, "HOME", {}))


@pytest.fixture
def ws(workspace):
    with open_workspace(workspace) as opened:
        yield opened
