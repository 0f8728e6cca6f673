"""The console through SSH servers on loopback, asyncssh's and OpenSSH's: bytes on the wire, slow links, cut links."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from benchmarks._ssh import login
from nanomem_tui import open_workspace

pytestmark = pytest.mark.slow

READY = "no agent"  # what the app says when it has looked at the workspace
SLOW: dict[str, Any] = {"delay": 0.1, "bits": 56_000}  # 200 ms there and back
MODES_OFF = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1003l", b"\x1b[?2004l")


async def settled(session):
    await session.shows(READY)
    await session.quiet(0.6)


def enabled(workspace):
    with open_workspace(workspace) as ws:
        return [bool(item.enabled) for item in ws.items.all()]


def fill(workspace, count=200):
    with open_workspace(workspace) as ws:
        for number in range(count):
            ws.items.add(f"the paper of {number * number} is kept in drawer {number} of the 北京 office")
        ws.flush()


async def per_move(server_of, workspace, compressed, **env):
    """Bytes of the console's own and on the wire for one cursor down, scrolls included."""
    async with server_of(workspace, **env) as server, login(server, compressed=compressed) as session:
        await settled(session)
        answers = [await session.press("j") for _ in range(40)]
        return sum(one.size for one in answers) / 40, sum(one.wire for one in answers) / 40


@pytest.mark.slow
async def test_over_ssh_output_is_thin_and_in_the_terminals_own_colours(demo, server_of):
    fill(demo)
    async with server_of(demo) as server, login(server) as session:
        await settled(session)
        move = await session.press("j")
        assert move.size <= 300
        assert b"38;2;" not in session.output
        opened = await session.press("?", quiet=0.3)
        closed = await session.press("\x1b", quiet=0.3)
        assert opened.size < 6000
        assert closed.size < 6000


@pytest.mark.slow
async def test_moves_cost_few_bytes_on_the_wire_and_fewer_compressed(demo, server_of):
    fill(demo)
    own, wire = await per_move(server_of, demo, compressed=False)
    _, wire_compressed = await per_move(server_of, demo, compressed=True)
    plain_own, plain_wire = await per_move(
        server_of, demo, compressed=False, NANOMEM_THIN_OUTPUT="off", NANOMEM_THEME="dark"
    )
    assert own <= 300
    assert wire <= own + 150  # a packet has a head, padding and a mark that it is whole
    assert wire_compressed < wire * 0.7
    assert own < plain_own * 0.6
    assert wire < plain_wire * 0.7


@pytest.mark.slow
async def test_on_a_slow_link_keys_are_answered_and_none_is_lost(demo, server_of):
    fill(demo)
    async with server_of(demo) as server, login(server, **SLOW) as session:
        await session.shows("Memory")  # the first frame: the app is yet to come
        session.send("jjx")
        await session.shows("undoes it")
        await session.quiet(1.0)
        answer = await session.press("j", quiet=0.3)
        assert 200 <= answer.first_ms < 600
        before = len(session.output)
        started = asyncio.get_running_loop().time()
        for _ in range(30):  # as fast as a held key repeats
            session.send("j")
            await asyncio.sleep(0.04)
        session.send("/drawer 77\r")
        await session.shows("drawer 77", before)
        assert asyncio.get_running_loop().time() - started < 30 * 0.04 + 5
        await session.quiet(1.0)
        session.send("q")
        await session.until(lambda: session.status is not None)
        assert session.status == 0
    assert enabled(demo).count(False) == 1


@pytest.mark.parametrize("thin", ["on", "off"])
async def test_reload_paints_everything_for_who_was_written_over(demo, server_of, thin):
    async with server_of(demo, NANOMEM_THIN_OUTPUT=thin) as server, login(server) as session:
        await settled(session)
        before = len(session.output)
        await session.press("\x1b[15~", quiet=0.5)
        shown = session.text(before)
        assert "Memory" in shown
        assert READY in shown
        assert "q quit" in shown or "? help" in shown, shown


@pytest.mark.slow
async def test_on_a_slow_link_a_resize_is_drawn_afresh(demo, server_of):
    async with server_of(demo) as server, login(server, **SLOW) as session:
        await settled(session)
        before = len(session.output)
        session.resize(120, 40)
        await session.quiet(1.5)
        assert b"\x1b[40" in session.output[before:]
        assert len(session.output) - before > 2000


@pytest.mark.slow
async def test_a_connection_that_drops_loses_nothing_and_leaves_no_process(demo, server_of):
    async with server_of(demo) as server, login(server) as session:
        await settled(session)
        session.send("x")
        await session.shows("undoes it")
        pid = session.pid
        session.link.cut()
        await session.until(lambda: session.status is not None, seconds=4)  # before it is stopped hard
        assert session.status == 129  # it was told by SIGHUP and ended in order
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert enabled(demo).count(False) == 1


async def test_a_connection_that_drops_during_the_start_leaves_no_process(demo, server_of):
    before = enabled(demo)
    async with server_of(demo) as server, login(server) as session:
        await session.shows("Memory")
        session.link.cut()
        await session.until(lambda: session.status is not None)
        assert session.status == 129
    assert enabled(demo) == before


async def test_leaving_gives_the_terminal_back_as_it_was(demo, server_of):
    async with server_of(demo) as server, login(server) as session:
        await settled(session)
        session.send("q")
        await session.until(lambda: session.status is not None)
        await session.quiet(0.3)
        assert all(mode in session.output for mode in MODES_OFF)
        assert b"\x1b[m" in session.output[session.output.rindex(b"\x1b[?2004l") - 20 :]
        assert b";24r" not in session.output[session.output.rindex(b"\x1b[?1049l") :]


@pytest.mark.slow
@pytest.mark.parametrize("server_of", ["asyncssh"], indirect=True)
async def test_an_idle_console_sends_nothing_for_minutes(demo, server_of):
    async with server_of(demo, NANOMEM_FLUSH_INTERVAL_SECONDS="1") as server, login(server) as session:
        await settled(session)
        await session.quiet(10)  # what the start left to do is done
        before = session.link.down
        await asyncio.sleep(130)
        assert session.link.down == before, session.text()[-300:]
