"""The memory service under load and under clients that misbehave: no wrong answer, no loss, nothing that grows."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time

import grpc
import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core import errors
from nanomem_tui.servers.grpc import memory_pb2 as pb
from nanomem_tui.servers.grpc import server
from nanomem_tui.servers.grpc.client import MemoryClient
from nanomem_tui.servers.grpc.service import MemoryServiceStub
from tests.servers.grpc_serving import Process, environment, serving

Stub = MemoryServiceStub


@pytest.fixture
def served(short):
    with serving(short) as found:
        yield found


def until(true):
    """Wait for what is bound to come."""
    while not true():
        time.sleep(0.005)


async def came(true):
    """Wait for it while the loop runs."""
    await asyncio.to_thread(until, true)


class Gate:
    """Holds back the writes of a service: the threads that came to it wait until it is opened."""

    def __init__(self, served, monkeypatch):
        self.began: list[str] = []
        self._open = threading.Event()
        real = served.ws.records.store

        def store(kind, fields, record_id=""):
            self.began.append(fields["description"])
            self._open.wait()
            return real(kind, fields, record_id)

        monkeypatch.setattr(served.ws.records, "store", store)

    def open(self):
        self._open.set()


@pytest.fixture
def gate(served, monkeypatch):
    made = Gate(served, monkeypatch)
    yield made
    made.open()


# -- many calls at once -----------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_thousand_calls_at_once_are_all_answered_and_none_is_lost(served):
    async with grpc.aio.insecure_channel(served.target) as channel:
        stub = Stub(channel)
        await stub.StoreGoal(pb.Goal(id="g", description="a thousand steps"))

        async def one(number):
            if number % 4 == 3:
                answer = await stub.QueryWorking(pb.QueryRequest(kind="goal", where={"status": "pending"}))
                assert [record.id for record in answer.records] == ["g"]
                return ""
            if number % 4 == 2:
                await stub.PushEvent(pb.Event(category="event", data_json=b'{"n":%d}' % number))
                return ""
            await stub.StoreTask(pb.Task(id=f"t{number}", goal_id="g", description=f"step {number}"))
            return f"t{number}"

        kept = set(filter(None, await asyncio.gather(*map(one, range(1_000)))))
        assert len(kept) == 500
        tasks = (await stub.GetTasksForGoal(pb.GoalIdRequest(goal_id="g"))).tasks
        assert {task.id for task in tasks} == kept
        assert all(task.description == f"step {task.id[1:]}" for task in tasks)
        events = (await stub.GetRecentEvents(pb.GetRecentRequest(count=1_000))).events
        assert len(events) == 250


@pytest.mark.slow
def test_threads_with_a_client_each_and_one_record_lose_no_count(served):
    with served.client() as client:
        pattern = client.store_pattern("it is down", "restart it")

    def use():
        with served.client() as client:
            for number in range(25):
                client.update_pattern_stats(pattern, number % 2 == 0)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = served.ws.records.get("pattern", pattern)
    assert found.fields["uses"] == 200
    assert found.fields["success_rate"] == pytest.approx(104 / 200)


async def test_more_calls_than_are_taken_are_refused_and_the_others_answered(short, monkeypatch):
    monkeypatch.setattr(server, "AT_ONCE", 4)
    with serving(short) as served:
        gate = Gate(served, monkeypatch)
        try:
            async with grpc.aio.insecure_channel(served.target) as channel:
                stub = Stub(channel)
                held = [asyncio.ensure_future(_stored(stub, f"held {number}")) for number in range(4)]
                await came(lambda: len(gate.began) == 4)
                with pytest.raises(grpc.aio.AioRpcError) as told:
                    await stub.GetActiveGoals(pb.ActiveGoalsRequest())
                assert told.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
                with served.client() as client, pytest.raises(errors.Refused, match="too many calls at once"):
                    await asyncio.to_thread(client.get_active_goals)
                gate.open()
                assert all(await asyncio.gather(*held))
                assert len((await stub.GetActiveGoals(pb.ActiveGoalsRequest())).goals) == 4
        finally:
            gate.open()


async def _stored(stub, description):
    call = stub.StoreGoal(pb.Goal(description=description))
    await call
    return str(dict(await call.trailing_metadata())["nanomem-id"])


# -- calls that end early ---------------------------------------------------------------------------------------------


async def test_a_call_whose_time_is_over_does_no_work_any_more(served, gate):
    async with grpc.aio.insecure_channel(served.target) as channel:
        stub = Stub(channel)

        async def taken():
            """Wait until the service has taken what was sent before: calls that need no thread are answered in turn."""
            for _ in range(5):
                await stub.GetRecentEvents(pb.GetRecentRequest(count=1))

        held = [asyncio.ensure_future(_stored(stub, f"held {number}")) for number in range(server.THREADS)]
        await came(lambda: len(gate.began) == server.THREADS)
        with pytest.raises(grpc.aio.AioRpcError) as told:
            await stub.StoreGoal(pb.Goal(description="late"), timeout=0.2)
        assert told.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        call = stub.StoreGoal(pb.Goal(description="unwanted"))
        await taken()
        call.cancel()
        await taken()
        gate.open()
        await asyncio.gather(*held)
    assert sorted(gate.began) == sorted(f"held {number}" for number in range(server.THREADS))
    assert {goal.fields["description"] for goal in served.ws.records.list_records("goal")} == set(gate.began)


async def test_a_write_that_began_is_whole_though_its_call_was_cancelled(served, gate):
    async with grpc.aio.insecure_channel(served.target) as channel:
        stub = Stub(channel)
        call = stub.StoreGoal(pb.Goal(id="g", description="began"))
        await came(lambda: gate.began)
        call.cancel()
        gate.open()
        await came(lambda: served.ws.records.list_records("goal"))
    assert served.ws.records.get("goal", "g").fields["description"] == "began"


@pytest.mark.slow
async def test_calls_that_are_cancelled_at_random_leave_whole_records(served):
    async with grpc.aio.insecure_channel(served.target) as channel:
        stub = Stub(channel)
        calls = [
            stub.StoreTask(pb.Task(id=f"t{number}", goal_id="g", description=f"step {number}", agent="x" * number))
            for number in range(300)
        ]
        for number, call in enumerate(calls):
            if number % 3 == 0:
                call.cancel()
            elif number % 3 == 1:
                await call
        answered = {number for number, call in enumerate(calls) if number % 3 and (await call) is not None}
        found = {task.id: task for task in (await stub.GetTasksForGoal(pb.GoalIdRequest(goal_id="g"))).tasks}
    assert {f"t{number}" for number in answered} <= set(found)
    for name, task in found.items():
        assert (task.description, len(task.agent)) == (f"step {name[1:]}", int(name[1:]))


# -- clients that misbehave -------------------------------------------------------------------------------------------

STORES = """
import sys
from nanomem_tui.servers.grpc.client import MemoryClient
with MemoryClient(socket=sys.argv[1]) as client:
    for number in range(1_000_000):
        print(client.store_task(f"step {number}", id=f"t{number}", goal_id="g"), flush=True)
"""


def run(served, code, *arguments):
    command = [sys.executable, "-c", code, str(served.socket), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(served.ws.paths.workspace))


@pytest.mark.slow
def test_what_was_answered_to_a_client_that_was_killed_is_there(served):
    with run(served, STORES) as client:
        assert client.stdout is not None
        told = [client.stdout.readline().strip() for _ in range(40)]
        client.kill()
        told += client.stdout.read().split("\n")
    answered = {name for name in told[:-1] if name}  # the last one may be torn
    with served.client() as other:
        found = {task["id"]: task for task in other.get_tasks_for_goal("g")}
        assert answered <= set(found)
        assert all(task["description"] == f"step {name[1:]}" for name, task in found.items())
        assert len(found) <= len(answered) + 2
        assert other.store_goal("life goes on")


def is_answered(client):
    try:
        return len(client.query_working("goal", limit=1)) == 1
    except errors.Refused:
        return False


def test_answers_that_nobody_reads_are_counted_and_refused_beyond_a_bound(served, monkeypatch):
    monkeypatch.setattr(server, "WAITING_BYTES", 100_000)
    with served.client() as client:
        client.store_goal("x" * 90_000, id="small")
        assert len(client.query_working("goal")) == 1
        until(lambda: is_answered(client))  # once the first answer is read to its end
        client.store_goal("x" * 90_000, id="more")
        with pytest.raises(errors.Refused, match="too many answers wait"):
            client.query_working("goal")
        until(lambda: is_answered(client))


@pytest.mark.slow
def test_a_service_that_is_killed_again_and_again_loses_nothing_that_it_answered(short):
    place = short / "home" / "workspace"
    place.mkdir(parents=True)
    kept: set[str] = set()
    for round_ in range(6):
        with Process(place) as process:
            process.began()

            def work(number, round_=round_):
                with MemoryClient(place) as client:
                    for step in range(10_000):
                        try:
                            made = client.store_task(f"{round_} {number} {step}", id=f"{round_}-{number}-{step}")
                        except errors.NanomemError:
                            return
                        kept.add(made)

            threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
            before = len(kept)
            for thread in threads:
                thread.start()
            until(lambda before=before: len(kept) >= before + 40)
            process.popen.kill()
            for thread in threads:
                thread.join()
    with open_workspace(place) as ws:
        found = {record.id: record.fields["description"] for record in ws.records.list_records("task")}
    assert kept <= set(found)
    assert all(text == name.replace("-", " ") for name, text in found.items())
    assert len(found) <= len(kept) + 6 * 4
