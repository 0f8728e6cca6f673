"""What the service holds while clients crowd in, go away, are killed, or do not read: no more the tenth time than the
first, and every answer belongs to its question.
"""

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import grpc
import pytest

from nanomem_tui.core import errors
from nanomem_tui.servers.grpc import memory_pb2 as pb
from nanomem_tui.servers.grpc import server
from nanomem_tui.servers.grpc.client import MemoryClient
from nanomem_tui.servers.grpc.service import MemoryServiceStub
from tests.servers.grpc_serving import MAIN, Process, environment

MB = 1024 * 1024
BOUND = 24 * MB
SMALL = f"import nanomem_tui.servers.grpc.server as s; s.WAITING_BYTES = {BOUND}; {MAIN}"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell what a process holds"),
]


@pytest.fixture
def place(short):
    workspace = short / "home" / "workspace"
    workspace.mkdir(parents=True)
    return workspace


def held(process):
    """Bytes of memory that the service holds."""
    return int(Path(f"/proc/{process.popen.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_the_service_holds_no_more_after_many_calls_than_after_few(place):
    """4,500 calls: one that left 1 kB behind would add 4.5 MB."""

    def work(client, times):
        for number in range(times):
            client.store_goal("the same goal", id=f"g{number % 50}", metadata={"n": number})
            client.query_working("goal", limit=10)
            with contextlib.suppress(errors.BadInput):
                client.query_working("goats")

    with Process(place) as process:
        process.began()
        with MemoryClient(place) as client:
            work(client, 600)
            before = held(process)
            work(client, 1_500)
            for _ in range(100):
                with MemoryClient(place) as other:
                    other.get_active_goals()
            assert held(process) - before < 3 * MB


# -- a thousand at once -----------------------------------------------------------------------------------------------


async def a_thousand(stub, chance):
    """A thousand clients at once, each with a question of its own; a fifth of them go away before the answer."""

    async def one(number):
        name = f"x{number}"
        if number % 5 == 0:
            await stub.UpdateMetric(pb.MetricUpdate(key=name, value=number))
            assert (await stub.GetMetric(pb.MetricRequest(key=name))).value == number
        elif number % 5 == 1:
            await stub.StoreAgentState(pb.AgentState(agent_name=name, state_json=b"%d" % number))
            assert (await stub.GetAgentState(pb.AgentStateRequest(agent_name=name))).state_json == b"%d" % number
        elif number % 5 == 2:
            await stub.StoreTask(pb.Task(id=name, goal_id=name, description="step"))
            assert [task.id for task in (await stub.GetTasksForGoal(pb.GoalIdRequest(goal_id=name))).tasks] == [name]
        elif number % 5 == 3:
            with pytest.raises(grpc.aio.AioRpcError, match=f"no such kind of record: {name}"):
                await stub.QueryWorking(pb.QueryRequest(kind=name))
        else:
            call = stub.StoreTask(pb.Task(id=name, goal_id="left", description=f"step {name}"))
            await asyncio.sleep(chance.random() * 0.3)
            call.cancel()

    await asyncio.gather(*map(one, range(1_000)))
    left = (await stub.GetTasksForGoal(pb.GoalIdRequest(goal_id="left"))).tasks
    assert all(task.description == f"step {task.id}" for task in left)


async def test_a_thousand_calls_at_once_and_calls_that_are_cancelled_leave_nothing_behind(place):
    """1,800 calls a round: if each left 1 kB behind, eight rounds would add 14 MB."""
    chance = random.Random(3)
    found = []
    with Process(place) as process:
        process.began()
        for _ in range(14):
            async with grpc.aio.insecure_channel(target(place)) as channel:
                await a_thousand(MemoryServiceStub(channel), chance)
            found.append(held(process))
    assert min(found[10:]) - min(found[2:6]) < 12 * MB


def target(place):
    return server.socket_address(place / "memory" / "nanomem" / server.NAME)


# -- clients that do not read -----------------------------------------------------------------------------------------

READS = """
import itertools, os, signal, sys, threading
from nanomem_tui.core.errors import Refused
from nanomem_tui.servers.grpc.client import MemoryClient
answers = itertools.count()
def ask():
    with MemoryClient(sys.argv[1], timeout=600) as client:
        try:
            print(len(client.query_working("goal")), flush=True)
        except Refused as error:
            print(error.what, flush=True)
    if next(answers) == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
threads = [threading.Thread(target=ask) for _ in range(40)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
WAIT = "too many answers wait for their readers"
MOST = 2 * BOUND + 16 * 20 * MB
"""What waits for readers, and what sixteen threads are at."""


def suspended(client):
    return Path(f"/proc/{client.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def goals(client):
    """How many there are, as soon as there is room for so large an answer."""
    while True:
        with contextlib.suppress(errors.Refused):
            return len(client.query_working("goal"))
        time.sleep(0.005)


def test_clients_that_do_not_read_or_are_killed_fill_no_memory_and_hold_up_nobody(place):
    """A client asks for forty answers of 3 MB at once, and is suspended at the first; it is killed then, or goes on."""
    found = []
    with Process(place, code=SMALL, env={"MALLOC_ARENA_MAX": "2"}) as process:  # else what the threads freed varies
        process.began()
        with MemoryClient(place) as other:
            for number in range(5):
                other.store_goal("x" * 600_000, id=f"g{number}", status="failed")
            before = held(process)
            for turn in range(8):
                with subprocess.Popen(
                    [sys.executable, "-c", READS, str(place)],
                    stdout=subprocess.PIPE, text=True, env=environment(place),
                ) as client:  # fmt: skip
                    while not suspended(client):
                        time.sleep(0.005)
                    for _ in range(100):
                        assert other.get_active_goals() == []
                    assert held(process) - before < MOST
                    client.send_signal(signal.SIGKILL if turn % 2 else signal.SIGCONT)
                    assert client.stdout is not None
                    told = client.stdout.read().split()
                assert turn % 2 or told.count("5") + told.count("readers") == 40
                assert set(told) <= {"5", *WAIT.split()}
                assert goals(other) == 5
                found.append(held(process))
    # What the threads freed varies; the answers of a single turn are 120 MB.
    assert min(found[5:]) - min(found[:3]) < 100 * MB
