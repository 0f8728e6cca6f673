"""A real nanobot-ai with nanomem attached: its own loop and command line, our hook and tool, the real engine."""

from __future__ import annotations

import http.server
import json
import os
import shlex
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from nanomem_tui.attach import agents, tool
from tests.conftest import need
from tests.interop.real_agent import PEER, ROOT

pytestmark = pytest.mark.interop

DRIVER = Path(__file__).with_name("attached_driver.py")
WEBSOCKET = Path(__file__).with_name("websocket_client.py")
SERVE = ROOT / "tests" / "attach" / "serve.py"
START = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from nanomem_tui.__main__ import main; sys.exit(main())"
REAL = shlex.join([sys.executable, "-c", START])
PREFERENCE = "Remember that I prefer window seats on long flights"


class Attached:
    """The agent of a home with the environment that `nanomem attach run` gives it."""

    def __init__(self, agent):
        self.agent = agent
        self.log = agent.sample / "asked.jsonl"
        self.python = PEER

    def environment(self, command):
        nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
        base = {"HOME": str(self.agent.home), "PATH": os.environ["PATH"], "TZ": "UTC", "LC_ALL": "C.UTF-8", **nowhere}
        return {**base, "NO_PROXY": "127.0.0.1", "NANOMEM_COMMAND": command}

    def stand_in(self, fault=""):
        return shlex.join([sys.executable, str(SERVE), str(self.log), *([fault] if fault else [])])

    def asked(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def run(self, *steps, command=REAL, env=None):
        """One process of the agent that does `steps`."""
        done = subprocess.run(
            [self.python, DRIVER],
            input=json.dumps(steps),
            env=agents.environment(None, self.environment(command)) if env is None else env,
            cwd=self.agent.home,
            capture_output=True,
            encoding="utf-8",
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        self.said = done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        self.modules = result["modules"]
        steps_done: list[dict[str, Any]] = result["steps"]
        return steps_done


@pytest.fixture
def attached(agent):
    return Attached(agent)


def prompt(step):
    """What the user's message looked like to the model, in its first request of the step."""
    return str(step["calls"][0]["messages"][-1]["content"])


def test_a_preference_of_one_session_reaches_the_prompt_of_a_later_one(attached):
    [told] = attached.run({"say": PREFERENCE, "chat": "telegram:7", "sender": "u1"})
    assert told["reply"] == "ok"
    assert prompt(told).startswith(PREFERENCE)
    assert prompt(told).count("window seats") == 1, "there was nothing to recall yet"
    later, other = attached.run(
        {"say": "Which seats do I prefer?", "chat": "telegram:7", "sender": "u1", "session": "telegram:7:b"},
        {"say": "Which seats do I prefer?", "chat": "telegram:8", "sender": "u2"},
    )
    assert "window seats" in prompt(later)
    assert prompt(later).startswith("Which seats do I prefer?\n\n")
    assert "window seats" not in prompt(other), "what one user said in one chat is nobody else's"
    system = [message for message in later["calls"][0]["messages"] if message["role"] == "system"]
    assert len(system) == 1
    assert "window seats" not in system[0]["content"]
    messages = attached.agent.sessions()["telegram:7:b"]["messages"]
    assert [message["content"] for message in messages] == ["Which seats do I prefer?", "ok"], "the block is not saved"


def test_what_was_recalled_is_not_captured_again(attached):
    attached.run({"say": PREFERENCE})
    for _ in range(2):
        attached.run({"say": "Which seats do I prefer?", "answers": [{"text": "You prefer window seats."}]})
    listed = subprocess.run(
        [sys.executable, "-m", "nanomem_tui", "memory", "list", "--json", "--workspace", attached.agent.workspace],
        cwd=ROOT, capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    assert listed.stdout.count("window seats") == 1


def test_the_model_may_ask_and_gets_data_of_its_chat(attached):
    attached.run({"say": PREFERENCE})
    ask = [{"tool": "memory_recall", "arguments": {"query": "seats on flights"}}, {"text": "at the window"}]
    mine, other = attached.run(
        {"say": "book a flight", "answers": ask},
        {"say": "book a flight", "answers": ask, "chat": "telegram:9", "sender": "u9"},
    )
    assert "memory_recall" in mine["calls"][0]["tools"]
    answer = mine["calls"][1]["messages"][-1]["content"]
    assert answer.startswith(tool.OPENING)
    assert "window seats" in answer
    assert other["calls"][1]["messages"][-1]["content"] == tool.NOTHING
    assert mine["reply"] == "at the window"


def test_the_first_release_of_the_line_is_attached_too(attached):
    attached.python = PEER.parents[2] / "nanobot-0.3.0" / "bin" / "python"
    need(attached.python.exists(), "no nanobot 0.3.0: run `make peers`")
    ask = [{"tool": "memory_recall", "arguments": {"query": "seats"}}, {"text": "at the window"}]
    _, later = attached.run({"say": PREFERENCE}, {"say": "Which seats do I prefer?", "answers": ask})
    assert later["reply"] == "at the window"
    assert "window seats" in prompt(later)
    assert "window seats" in later["calls"][1]["messages"][-1]["content"]
    [alone] = attached.run({"say": "hello"}, command="/nowhere/nanomem")
    assert alone["reply"] == "ok"


@pytest.mark.parametrize("fault", ["missing", "exit", "die", "junk", "refuse"])
def test_the_agent_answers_without_a_memory(attached, fault):
    command = "/nowhere/nanomem" if fault == "missing" else attached.stand_in(fault)
    first, second = attached.run({"say": "hello"}, {"say": "again"}, command=command)
    assert (first["reply"], second["reply"]) == ("ok", "ok")
    assert prompt(first) == "hello"
    assert "memory_recall" in first["calls"][0]["tools"]
    assert attached.said.count(" - nanomem: ") == 1, "it is said, once"


def test_a_memory_killed_in_the_middle_of_a_turn_breaks_nothing(attached):
    steps = [{"say": PREFERENCE, "kill": True}, {"say": "Which seats do I prefer?"}]
    first, second = attached.run(*steps)
    assert (first["reply"], second["reply"]) == ("ok", "ok")
    assert "window seats" in prompt(second), "the turn was handed over to the next child"


def test_what_the_agent_says_to_itself_is_not_captured(attached):
    quiet = [
        {"say": PREFERENCE, "session": "dream:20260101"},
        {"say": PREFERENCE, "session": "heartbeat", "chat": "telegram:7"},
        {"say": PREFERENCE, "session": "cron:job1"},
        {"say": PREFERENCE, "sender": "cron"},
        {"say": PREFERENCE, "session": "cli:private", "ephemeral": True},
    ]
    done = attached.run(*quiet, {"say": "hello"}, command=attached.stand_in())
    assert {step["reply"] for step in done} == {"ok"}
    assert [(row["do"], row["text"]) for row in attached.asked()[:-1]] == [("begin", "hello"), ("end", "hello")]


def test_a_tool_that_fails_is_told(attached):
    answers = [{"tool": "read_file", "arguments": {"path": "nope.txt"}}, {"text": "no such file"}]
    attached.run({"say": "read nope.txt", "answers": answers}, command=attached.stand_in())
    end = attached.asked()[1]
    assert (end["do"], end["assistant"]) == ("end", "no such file")
    [used] = end["tools"]
    assert used["name"] == "read_file"
    assert "not found" in used["error"]


def test_installed_beside_the_agent_the_tool_is_there_and_the_hook_is_not(attached, tmp_path):
    site = tmp_path / "site"
    about = site / "nanomem_tui-0.1.0.dist-info"
    about.mkdir(parents=True)
    (site / "nanomem_tui").symlink_to(ROOT / "nanomem_tui")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: nanomem-tui\nVersion: 0.1.0\n")
    (about / "entry_points.txt").write_text("[nanobot.tools]\nmemory_recall = nanomem_tui.attach.tool:MemoryRecall\n")
    attached.run({"say": PREFERENCE})
    env = {**attached.environment(REAL), "PYTHONPATH": str(site)}
    ask = [{"tool": "memory_recall", "arguments": {"query": "seats"}}]
    [step] = attached.run({"say": "book a flight", "answers": ask}, env=env)
    assert "window seats" in step["calls"][1]["messages"][-1]["content"]
    assert "nanomem_tui.attach.hook" not in attached.modules
    assert {name.split(".")[1] for name in attached.modules if "." in name} == {"attach"}, "nothing else of ours"


# --- the agent's own command line


class Endpoint(http.server.BaseHTTPRequestHandler):
    """An OpenAI-compatible model on loopback that says "noted" and keeps what it was sent."""

    calls: list[dict[str, Any]] = []

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.calls.append(request)
        self.send_response(200)
        if request.get("stream"):
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for delta, reason in (({"role": "assistant", "content": "noted"}, None), ({}, "stop")):
                choice = {"index": 0, "delta": delta, "finish_reason": reason}
                body = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
                self.wfile.write(f"data: {json.dumps(body)}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")
            return
        choice = {"index": 0, "message": {"role": "assistant", "content": "noted"}, "finish_reason": "stop"}
        body = json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format, *args):
        pass


@pytest.fixture
def endpoint(attached):
    """The agent's config points at a model on loopback; yields what that model is sent."""
    Endpoint.calls = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    path = attached.agent.home / ".nanobot" / "config.json"
    config = json.loads(path.read_text())
    config["agents"]["defaults"].update(provider="custom", model="scripted")
    base = f"http://127.0.0.1:{server.server_port}/v1"
    config["providers"]["custom"].update(apiKey="none", apiBase=base)
    path.write_text(json.dumps(config))
    yield Endpoint.calls
    server.shutdown()
    server.server_close()


def free_port():
    """A port of loopback that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def nanomem(attached, *arguments):
    env = {**attached.environment(REAL), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "nanomem_tui", *arguments],
        env=env, cwd=attached.agent.home, capture_output=True, encoding="utf-8", timeout=180, check=False,
    )  # fmt: skip


def test_one_command_starts_the_agents_own_command_line_with_memory(attached, endpoint):
    program = str(PEER.with_name("nanobot"))
    for message in (PREFERENCE, "Which seats do I prefer?"):
        done = nanomem(attached, "attach", "run", "--agent", program, "agent", "-m", message, "-s", "cli:direct")
        assert done.returncode == 0, done.stderr[-4000:]
        assert "noted" in done.stdout
    last = endpoint[-1]["messages"][-1]["content"]
    assert str(last).startswith("Which seats do I prefer?\n\n")
    assert "memory_recall" in [tool["function"]["name"] for tool in endpoint[-1]["tools"]]
    assert "window seats" in str(last).partition("\n\n")[2]


def test_what_is_said_in_the_agents_web_interface_is_remembered(attached, endpoint):
    port, path = free_port(), attached.agent.home / ".nanobot" / "config.json"
    config = json.loads(path.read_text())
    config["channels"]["websocket"] = {"enabled": True, "port": port, "websocketRequiresToken": False}
    path.write_text(json.dumps(config))
    env = {**attached.environment(REAL), "PYTHONPATH": str(ROOT)}
    gateway = ["attach", "run", "--agent", str(PEER.with_name("nanobot")), "gateway", "--foreground"]
    with (attached.agent.home / "gateway.log").open("w+") as log:
        running = subprocess.Popen(
            [sys.executable, "-m", "nanomem_tui", *gateway, "--port", str(free_port())],
            env=env, cwd=attached.agent.home, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            address = f"ws://127.0.0.1:{port}/?client_id=ana"
            done = subprocess.run(
                [PEER, WEBSOCKET, address, PREFERENCE, "Which seats do I prefer?"],
                env=env, capture_output=True, encoding="utf-8", timeout=150, check=False,
            )  # fmt: skip
        finally:
            running.terminate()
            running.wait(60)
        log.seek(0)
        assert done.returncode == 0, done.stderr[-2000:] + log.read()[-2000:]
    assert done.stdout == "noted\nnoted\n"
    [asked] = [str(call["messages"][-1]["content"]) for call in endpoint if "Which seats" in str(call["messages"][-1])]
    assert "window seats" in asked.partition("Which seats do I prefer?")[2]
    listed = nanomem(attached, "memory", "list", "--json", "--workspace", str(attached.agent.workspace))
    [row] = [row for row in json.loads(listed.stdout) if "window seats" in row["text"]]
    assert (row["channel"], row["scope_key"]) == ("websocket", "channel:websocket:user:ana")


def test_status_names_the_agent_and_says_that_memory_answers(attached):
    done = nanomem(attached, "attach", "status", "--agent", str(PEER.with_name("nanobot")), "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["agent"]["version"] == "0.3.5"
    assert said["tested"] is True
    assert said["memory"]["answers"] is True
    assert said["running"] is None
