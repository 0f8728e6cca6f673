"""Every writer on a real file system that is full, with any room from none to enough, and on one that is read-only."""

import pytest

from tests.conftest import need
from tests.crash import disks, shim, writers
from tests.crash.disks import Disks
from tests.store.git_samples import needs_git

pytestmark = [pytest.mark.crash, needs_git]


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    need(shim.can_be_made(), "a C compiler on Linux counts the calls")
    if disks.way() is None:
        pytest.skip("this machine lets nobody mount a file system")
    full, folder = tmp_path_factory.mktemp("full"), tmp_path_factory.mktemp("disks")
    writers.full_home(full)
    with Disks(full, folder) as started:
        yield started


@pytest.mark.parametrize("name", writers.WRITERS)
def test_a_full_disk(name, machine):
    met = machine.run(name, "full")
    assert not met["failed"], met["failed"]
    assert met["tried"] >= 10
    assert 0 < met["refused"] < met["tried"]


@pytest.mark.parametrize("name", writers.WRITERS)
def test_a_read_only_disk(name, machine):
    met = machine.run(name, "read-only")
    assert not met["failed"], met["failed"]
    assert met["refused"] >= 1
