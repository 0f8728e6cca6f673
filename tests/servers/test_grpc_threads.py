"""The threads beside a loop: each piece of work once, its result or its error back, nothing begun for nobody."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from nanomem_tui.servers.grpc.server import Threads


@pytest.fixture
async def threads() -> AsyncIterator[Threads]:
    made = Threads(3, "of a test")
    yield made
    await asyncio.to_thread(made.close)


async def test_results_and_errors_come_back(threads: Threads) -> None:
    assert await threads.submit(str, 7) == "7"
    with pytest.raises(ValueError, match="invalid literal"):
        await threads.submit(int, "seven")
    assert await threads.submit(int, "8") == 8


async def test_one_after_another_is_done_by_one_thread(threads: Threads) -> None:
    used = {await threads.submit(lambda _: threading.get_ident(), None) for _ in range(20)}
    assert len(used) == 1
    assert used != {threading.get_ident()}


async def test_more_work_than_threads_is_done_once_each_and_never_by_more(threads: Threads) -> None:
    lock, now, most, done = threading.Lock(), 0, 0, []
    everybody = threading.Barrier(3)

    def work(number: int) -> int:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        if number < 3:
            everybody.wait()  # three at a time, or this waits for ever
        with lock:
            now -= 1
            done.append(number)
        return number

    assert await asyncio.gather(*(threads.submit(work, number) for number in range(200))) == list(range(200))
    assert (sorted(done), most) == (list(range(200)), 3)


async def test_what_is_cancelled_before_its_turn_is_not_begun_and_what_began_is_ended(threads: Threads) -> None:
    gate, began, ended = threading.Event(), [], []
    all_began = threading.Barrier(4)

    def work(number: int) -> None:
        began.append(number)
        if number < 3:
            all_began.wait()
        gate.wait()
        ended.append(number)

    running = [threads.submit(work, number) for number in range(3)]
    waiting = [threads.submit(work, number) for number in range(3, 6)]
    await asyncio.to_thread(all_began.wait)
    running[0].cancel()
    waiting[0].cancel()
    gate.set()
    await asyncio.gather(running[1], running[2], waiting[1], waiting[2])
    await asyncio.to_thread(threads.close)
    assert sorted(began) == sorted(ended) == [0, 1, 2, 4, 5]


async def test_closing_waits_for_what_was_begun(threads: Threads) -> None:
    gate, ended = threading.Event(), []

    def work(_: None) -> None:
        gate.wait()
        ended.append(True)

    future = threads.submit(work, None)
    closing = asyncio.create_task(asyncio.to_thread(threads.close))
    gate.set()
    await closing
    await future
    assert ended == [True]
