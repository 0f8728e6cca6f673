"""The pipe: answers in order, every failure is no answer, one new child, and one line in the log."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from nanomem_tui.attach import child
from nanomem_tui.attach import client as attached
from nanomem_tui.attach.client import Client

Make = Callable[..., Client]
PATIENCE = 120.0
"""Seconds that an answer is waited for, however busy the machine."""
ASK = {"do": "begin", "channel": "cli", "chat_id": "direct", "text": "hello"}


async def test_answers_come_in_order_over_one_child(make_client, server):
    client = make_client()
    answers = await asyncio.gather(*(client.ask({**ASK, "do": "turn", "text": str(n)}, 10) for n in range(20)))
    assert [answer and answer["turn"] for answer in answers] == [f"t{n}" for n in range(20)]
    assert [row["text"] for row in server.asked] == [str(n) for n in range(20)]
    assert len({row["pid"] for row in server.asked}) == 1
    assert server.asked[0]["argv"][-4:] == ["turn", "serve", "--workspace", "/somewhere"]


async def test_text_of_every_script_and_a_megabyte_arrive(make_client, server):
    text = "座席\u2028\n\x00" + "x" * 1_000_000
    client = make_client()
    assert await client.ask({**ASK, "do": "turn", "text": text}, PATIENCE) is not None
    assert server.asked[0]["text"] == text


@pytest.mark.parametrize("fault", ["exit", "die", "junk", "refuse"])
async def test_a_broken_server_is_no_answer_and_said_once(make_client, caplog, fault):
    client = make_client(fault)
    with caplog.at_level(logging.INFO, "nanomem"):
        assert await client.ask(ASK, PATIENCE) is None
        assert await client.ask(ASK, PATIENCE) is None
    assert len(caplog.records) == 1
    expected = {
        "exit": "no such thing as a memory",
        "die": "the last words",
        "junk": "",
        "refuse": "the store is locked",
    }
    assert expected[fault] in caplog.text


async def test_no_nanomem_at_all_is_no_answer(make_client, monkeypatch, caplog):
    client = make_client()
    monkeypatch.setenv("NANOMEM_COMMAND", "/nowhere/nanomem")
    assert await client.ask(ASK, PATIENCE) is None
    assert "/nowhere/nanomem" in caplog.text


async def test_a_child_that_dies_is_replaced_once(make_client, server):
    client = make_client("die-once")
    assert await client.ask(ASK, PATIENCE) is not None
    assert len({row["pid"] for row in server.asked}) == 2


async def test_a_dead_memory_rests_and_comes_back(make_client, monkeypatch, server, caplog):
    now = [0.0]
    monkeypatch.setattr(attached, "time", SimpleNamespace(monotonic=lambda: now[0]))
    client = make_client("die", rest=30)
    with caplog.at_level(logging.INFO, "nanomem"):
        assert await client.ask(ASK, PATIENCE) is None
        tried = len(server.asked)
        monkeypatch.setenv("NANOMEM_COMMAND", server.command())
        assert await client.ask(ASK, PATIENCE) is None
        assert len(server.asked) == tried, "it was asked while it rests"
        now[0] += 30
        assert await client.ask(ASK, PATIENCE) is not None
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


async def test_a_killed_child_costs_no_answer(make_client):
    client = make_client()
    assert await client.ask(ASK, PATIENCE) is not None
    assert client.pid is not None
    os.kill(client.pid, signal.SIGKILL)
    assert await client.ask(ASK, PATIENCE) is not None


@pytest.mark.slow
async def test_a_hung_child_costs_no_more_than_its_time_and_is_killed(make_client, server):
    client = make_client("hang", answer=6.0)
    hanging = client.send(lambda: ASK)
    while not server.asked:  # noqa: ASYNC110  the server is another process
        await asyncio.sleep(0.01)
    assert await client.wait(hanging, 0.2) is None
    pid = client.pid
    assert await client.ask({**ASK, "do": "turn"}, PATIENCE) is None
    assert not hanging.done(), "nobody waits long behind one that is overdue"
    assert await asyncio.to_thread(client.send(lambda: ASK).result, PATIENCE) is None
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_what_was_sent_arrives_though_nobody_waits_for_it(make_client, server):
    client = make_client()
    client.send(lambda: {**ASK, "do": "turn"})
    client.close(60)
    assert server.dos() == ["turn", "eof"]
    assert await client.ask(ASK, 1) is None, "a closed client starts nothing"


def test_a_loop_that_ended_before_the_answer_disturbs_nobody(make_client, server, capsys):
    client = make_client("hang", answer=0.5)
    asyncio.run(client.ask(ASK, 0.05))
    client.close()
    assert capsys.readouterr().err == ""


def test_the_child_is_not_attached_itself(monkeypatch):
    monkeypatch.setenv("NANOMEM_ATTACH", "/p/attach")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["/p/attach/startup", "/their/own"]))
    values = child.environment()
    assert "NANOMEM_ATTACH" not in values
    assert values["PYTHONPATH"] == "/their/own"


def test_the_command_is_the_environments_then_the_paths_then_the_module(monkeypatch, tmp_path):
    monkeypatch.setenv("NANOMEM_COMMAND", "'/a b/nanomem' --x")
    assert child.command() == ["/a b/nanomem", "--x"]
    monkeypatch.delenv("NANOMEM_COMMAND")
    program = tmp_path / "nanomem"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert child.command() == [str(program)]
    monkeypatch.setenv("PATH", "")
    assert child.command()[-2:] == ["-m", "nanomem_tui"]
