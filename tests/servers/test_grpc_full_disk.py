"""The memory service on a disk that is full: what it cannot keep it says, and what it said it kept is there."""

from __future__ import annotations

import os
import subprocess

import grpc
import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import errors
from nanomem_tui.servers.grpc import server
from nanomem_tui.servers.grpc.client import MemoryClient
from nanomem_tui.servers.grpc.service import MemoryServiceStub
from tests.servers.grpc_serving import Process, in_thread
from tests.servers.test_grpc_kills import CASES

pytestmark = pytest.mark.slow


@pytest.fixture
def small_disk(short):
    place = short / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("cannot mount a small file system here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def place(small_disk):
    workspace = small_disk / "home" / "workspace"
    workspace.mkdir(parents=True)
    return workspace


def fill(disk):
    """Leave no byte of it."""
    with (disk / "of somebody").open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            pass


def make_room(disk):
    subprocess.run(["mount", "-o", "remount,size=16m", str(disk)], check=True)


def test_a_full_disk_is_told_and_costs_nothing_that_was_answered(small_disk, place, short):
    kept: dict[str, str] = {}
    socket = short / "s"
    with Process(place, "--socket", str(socket)) as process:
        process.began()
        with MemoryClient(socket=socket) as client:
            with pytest.raises(errors.DiskFull, match="no space left"):
                for number in range(1_000):
                    text = f"{number} " + "x" * 20_000
                    kept[client.store_goal(text, id=f"g{number}")] = text
            assert kept
            assert {record["id"] for record in client.query_working("goal", limit=1_000)} == set(kept)
            make_room(small_disk)
            kept[client.store_goal("there is room again", id="after")] = "there is room again"
        process.popen.terminate()
        assert process.ended()[0] == 0
    with open_workspace(place) as ws:
        assert {record.id: record.fields["description"] for record in ws.records.list_records("goal")} == kept


@pytest.mark.parametrize("name", CASES)
def test_on_a_full_disk_every_call_is_kept_or_refused_and_works_when_there_is_room(small_disk, place, short, name):
    case = CASES[name]
    socket = short / "s"
    with Process(place, "--socket", str(socket)) as process:
        process.began()
        with grpc.insecure_channel(server.socket_address(socket)) as channel:
            stub = MemoryServiceStub(channel)
            for rpc, request in case.before:
                getattr(stub, rpc)(request, timeout=60)
            fill(small_disk)
            call = getattr(stub, name.partition(",")[0])
            told = None
            try:
                call(case.request, timeout=60)
            except grpc.RpcError as error:
                told = error
            if told is not None:
                assert told.code() is grpc.StatusCode.RESOURCE_EXHAUSTED, told.details()
                assert dict(told.trailing_metadata())["nanomem-error-kind"] == "DiskFull"
                make_room(small_disk)
                call(case.request, timeout=60)
        process.popen.kill()
        process.popen.wait()
    make_room(small_disk)
    with open_workspace(place) as ws, in_thread(ws, short / "t") as served, served.client() as client:
        assert case.look(client) == case.seen
