"""`nanomem serve grpc` as a process: where it listens, who may, what a killed one leaves, and how it ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading

import grpc
import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import errors
from nanomem_tui.servers.grpc import server
from nanomem_tui.servers.grpc.client import MemoryClient
from tests.servers.grpc_serving import MAIN, ROOT, Process, environment


@pytest.fixture
def place(short):
    workspace = short / "home" / "workspace"
    workspace.mkdir(parents=True)
    return workspace


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.slow
def test_it_listens_on_a_private_socket_and_ends_in_order(place):
    path = place / "memory" / "nanomem" / "grpc.sock"
    with Process(place) as process:
        assert process.began() == f"nanomem: gRPC at unix:{path}, {place}"
        assert (mode(path), mode(path.parent)) == (0o600, 0o700)
        with MemoryClient(place) as client:
            goal = client.store_goal("Back up")
            client.push_event("event", {"what": "began"})
        process.popen.send_signal(signal.SIGTERM)
        assert process.ended() == (0, "")
    assert not path.exists()
    with open_workspace(place) as ws:
        assert ws.records.get("goal", goal).fields["status"] == "pending"
        assert [entry.data for entry in ws.operational.recent()] == [{"what": "began"}]


@pytest.mark.slow
@pytest.mark.sqlite
def test_all_that_was_answered_is_in_the_database_itself_when_it_ended(place, tmp_path):
    """The end is a checkpoint: nothing is left to a log beside the file."""
    with Process(place) as process:
        process.began()
        with MemoryClient(place) as client:
            client.store_goal("Back up", id="g")
        process.popen.terminate()
        assert process.ended() == (0, "")
    shutil.copy(place / "memory" / "nanomem" / "work.db", tmp_path / "copy.db")
    with contextlib.closing(sqlite3.connect(tmp_path / "copy.db")) as connection:
        assert connection.execute("SELECT id, description FROM goals").fetchall() == [("g", "Back up")]


@contextlib.contextmanager
def channel_to(place):
    with grpc.insecure_channel(server.socket_address(place / "memory" / "nanomem" / server.NAME)) as channel:
        yield channel


@pytest.mark.slow
def test_health_serves_until_the_end_begins(place):
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    state = health_pb2.HealthCheckResponse
    with Process(place) as process:
        process.began()
        with channel_to(place) as channel:
            health = health_pb2_grpc.HealthStub(channel)
            others = ["grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"]
            names = ["", "aios.memory.MemoryService", *others]
            watched = [health.Watch(health_pb2.HealthCheckRequest(service=name)) for name in names]
            assert [next(one).status for one in watched] == [state.SERVING] * 4
            assert health.Check(health_pb2.HealthCheckRequest()).status == state.SERVING
            process.popen.terminate()
            assert [next(one).status for one in watched] == [state.NOT_SERVING] * 4
            for one in watched:
                one.cancel()
        assert process.ended() == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["workspace", "memory"])
def test_a_memory_that_is_taken_away_is_told_and_not_made_anew(place, what):
    """An empty one in its place would look like one that forgot everything."""
    taken = place if what == "workspace" else place / "memory"
    with Process(place, "--socket", str(place.parent / "s")) as process:
        process.began()
        with MemoryClient(socket=place.parent / "s") as client:
            client.store_goal("Back up")
            taken.rename(place.parent / "elsewhere")
            with pytest.raises(errors.Refused, match="the memory is not there any more"):
                client.get_active_goals()
            with pytest.raises(errors.Refused, match="the memory is not there any more"):
                client.store_goal("x")
            with pytest.raises(errors.Refused, match="the memory is not there any more"):
                client.push_event("event", 1)
            assert not taken.exists()
            (place.parent / "elsewhere").rename(taken)
            assert [goal["description"] for goal in client.get_active_goals()] == ["Back up"]
            shutil.rmtree(taken)
        process.popen.terminate()
        code, said = process.ended()
    assert (code, said.count("\n") <= 1, "Traceback" in said) == (0, True, False)
    assert not taken.exists()


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act for another user")
def test_what_root_serves_for_a_user_is_that_users(place):
    for folder in (place.parent, place):
        os.chown(folder, 12_345, 12_345)
    with Process(place, "--tcp", "0", "--socket", str(place / "s")) as process:
        process.began()
        data = place / "memory" / "nanomem"
        assert {path.stat().st_uid for path in (place / "s", data, data / "grpc.token", data / "grpc.lock")} == {12_345}
        assert mode(place / "s") == 0o600


@pytest.mark.slow
def test_the_command_line_works_on_the_memory_that_is_served(place, run):
    with Process(place) as process, MemoryClient(place) as client:
        assert process.began().startswith("nanomem: gRPC at unix:")
        goal = client.store_goal("Back up")
        assert goal in run("record", "goal", "list", "--workspace", place).out
        assert run("record", "goal", "edit", goal, "--data", '{"status": "failed"}', "--workspace", place).code == 0
        assert client.get_active_goals() == []
        assert run("undo", "--workspace", place).code == 0
        assert [one["id"] for one in client.get_active_goals()] == [goal]


@pytest.mark.slow
def test_a_second_service_is_refused_in_one_line(place):
    with Process(place) as first:
        first.began()
        for options in ([], ["--tcp", "0"], ["--socket", str(place.parent / "other")]):
            with Process(place, *options) as second:
                said = second.began()
                assert second.ended() == (2, "")
            found = f"process {first.popen.pid}"
            what = f"a gRPC service of this memory runs already: {found}"
            assert said == f"nanomem: {what}. Fix: use it, or stop it first"
        with MemoryClient(place) as client:
            assert client.get_active_goals() == []


@pytest.mark.slow
def test_the_socket_of_a_killed_service_is_replaced(place):
    with Process(place) as first:
        first.began()
        with MemoryClient(place) as client:
            goal = client.store_goal("Back up")
        first.popen.kill()
        first.popen.wait()
    assert (place / "memory" / "nanomem" / "grpc.sock").is_socket()
    with Process(place) as second:
        assert second.began().startswith("nanomem: gRPC at unix:")
        with MemoryClient(place) as client:
            assert [one["id"] for one in client.get_active_goals()] == [goal]


def test_a_socket_where_somebody_else_listens_is_left_alone(place, tmp_path, run):
    path = tmp_path / "theirs"
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(str(path))
        theirs.listen()
        done = run("serve", "grpc", "--workspace", place, "--socket", path)
        assert done.code == 2
        assert done.err == f"nanomem: somebody listens there already: {path}. Fix: name another: --socket PATH\n"
        assert path.is_socket()


def test_a_file_at_the_place_of_the_socket_is_left_alone(place, tmp_path, run):
    path = tmp_path / "a file"
    path.write_text("of somebody")
    done = run("serve", "grpc", "--workspace", place, "--socket", path)
    assert (done.code, "there is a file at the place of the socket" in done.err) == (2, True)
    assert path.read_text() == "of somebody"


def test_a_path_that_is_too_long_for_a_socket_is_said(place, tmp_path, run):
    done = run("serve", "grpc", "--workspace", place, "--socket", tmp_path / ("x" * 120))
    assert (done.code, "the path of a socket has at most 107 bytes" in done.err) == (2, True)


@pytest.mark.slow
def test_a_memory_that_lies_deep_has_its_socket_elsewhere_and_its_client_finds_it(short, monkeypatch):
    place = short / ("deep" * 25) / "workspace"
    place.mkdir(parents=True)
    run_dir = short / "run"
    run_dir.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(run_dir))
    with Process(place, env={"XDG_RUNTIME_DIR": str(run_dir)}) as process:
        said = process.began()
        assert said.startswith(f"nanomem: gRPC at unix:{run_dir}/nanomem-{os.getuid()}/")
        assert "(in nanomem's folder the path is too long for a socket)" in said
        assert mode(run_dir / f"nanomem-{os.getuid()}") == 0o700
        with MemoryClient(place) as client:
            assert client.get_active_goals() == []


@pytest.mark.slow
def test_names_of_folders_that_mean_something_in_an_address_are_only_names_and_ctrl_c_ends_it(short):
    place = short / "a b#c?d%20é" / "workspace"
    place.mkdir(parents=True)
    with Process(place) as process:
        process.began()
        assert (place / "memory" / "nanomem" / "grpc.sock").is_socket()
        with MemoryClient(place) as client:
            assert client.get_active_goals() == []
        process.popen.send_signal(signal.SIGINT)
        assert process.ended() == (0, "")


@pytest.mark.slow
def test_a_port_comes_with_a_token_that_is_made_once(place, monkeypatch):
    monkeypatch.delenv("NANOMEM_TOKEN", raising=False)
    file = place / "memory" / "nanomem" / "grpc.token"
    words = []
    for _ in range(2):
        with Process(place, "--tcp", "0") as process:
            said = process.began()
            assert said.startswith("nanomem: gRPC at 127.0.0.1:")
            assert said.endswith(f", the token in {file}, {place}")
            assert (mode(file), mode(file.parent)) == (0o600, 0o700)
            words.append(file.read_text().strip())
            with MemoryClient(place, tcp=said.split()[3].rstrip(",")) as client:
                assert client.get_active_goals() == []
            process.popen.terminate()
            process.popen.wait()
    assert words[0] == words[1]
    assert words[0] not in said
    assert not (place / "memory" / "nanomem" / "grpc.sock").exists()


def test_a_port_that_is_taken_is_refused_in_one_line(place, run):
    with socket.socket() as theirs:
        theirs.bind(("127.0.0.1", 0))
        theirs.listen()
        port = theirs.getsockname()[1]
        done = run("serve", "grpc", "--workspace", place, "--tcp", str(port))
    said = f"nanomem: cannot listen there: 127.0.0.1:{port}. Fix: is it taken? name another\n"
    assert (done.code, done.err) == (2, said)


def test_a_token_that_others_may_read_is_refused(place, tmp_path, run):
    file = tmp_path / "token"
    file.write_text("0123456789abcdef0123456789abcdef")
    file.chmod(0o644)
    done = run("serve", "grpc", "--workspace", place, "--tcp", "0", "--token-file", file)
    assert (done.code, "others on this machine may read the token" in done.err) == (2, True)


@pytest.mark.slow
def test_nothing_of_a_call_without_a_token_is_read_or_held(place, monkeypatch):
    """Calls that never send their message are over at once: they hold up nobody who has the token."""
    monkeypatch.delenv("NANOMEM_TOKEN", raising=False)
    with Process(place, "--tcp", "0") as process:
        port = process.began().split()[3].rstrip(",")
        with grpc.insecure_channel(port) as channel:
            talk = channel.stream_stream("/aios.memory.MemoryService/StoreGoal")
            never = threading.Event()
            calls = [talk(iter(never.wait, True)) for _ in range(20)]
            assert {call.code().name for call in calls} == {"UNAUTHENTICATED"}
            never.set()
        with MemoryClient(place, tcp=port) as client:
            assert client.get_active_goals() == []


@pytest.mark.parametrize("address", ["0.0.0.0:50053", "192.0.2.1:50053", "[::]:50053", "example.org:80", "*:1"])
def test_other_machines_are_refused(place, run, address):
    done = run("serve", "grpc", "--workspace", place, "--tcp", address)
    assert (done.code, done.err.startswith("nanomem: no service for other machines: --tcp")) == (2, True)


@pytest.mark.parametrize("port", ["grpc", "70000", "-1", "", "127.0.0.1:", "٣"])
def test_what_is_no_port_is_refused(place, run, port):
    done = run("serve", "grpc", "--workspace", place, "--tcp", port)
    assert (done.code, "is no port from 0 to 65535" in done.err) == (2, True)


def test_the_proto_is_printed_whole(run):
    done = run("serve", "grpc", "--proto")
    assert done.code == 0
    assert done.out == (ROOT / "nanomem_tui/servers/grpc/memory.proto").read_text("utf-8")


@pytest.mark.slow
def test_without_its_libraries_it_says_what_to_install(place):
    without = "import sys; sys.modules['grpc'] = None; " + MAIN
    with Process(place, code=without) as process:
        said = process.began()
        assert process.ended() == (2, "")
    assert said == (
        "nanomem: the libraries of gRPC (grpcio 1.85.1 or later) are not installed: nanomem serve grpc"
        ". Fix: in a clone of nanomem: pip install '.[grpc]'"
    )


def test_a_client_without_its_libraries_says_what_to_install(place):
    code = "import sys; sys.modules['grpc'] = None; import nanomem_tui.servers.grpc.client"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(place), capture_output=True, text=True, check=False
    )
    assert "pip install '.[grpc]'" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_the_end_waits_for_calls_that_run_and_refuses_new_ones(place):
    """A write that began is whole: what was answered is there, and a call that came too late is told so."""
    kept: list[str] = []
    with Process(place) as process:
        process.began()
        with MemoryClient(place) as client:

            def work():
                while True:
                    try:
                        kept.append(client.store_task("step"))
                    except errors.NanomemError as error:
                        refused.append(error)
                        return

            refused: list[errors.NanomemError] = []
            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            while len(kept) < 50:
                assert not refused
            process.popen.terminate()
            for thread in threads:
                thread.join()
        assert process.ended() == (0, "")
    assert {type(error) for error in refused} == {errors.Refused}
    with open_workspace(place) as ws:
        assert set(kept) <= {record.id for record in ws.records.list_records("task")}
