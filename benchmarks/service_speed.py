"""What the memory service costs over gRPC, beside an empty rpc, a bare echo and the same work in this process.

    python benchmarks/service_speed.py [--n 20000] [--home FOLDER] [--rounds 400] [--way socket|port] [--json FILE]

One client asks one call after another, all kinds of them in turns and each turn in another order, with the same work
done here among them, so that what disturbs the machine disturbs all alike. "Added" is what a call takes at the 95th
percentile beyond the empty rpc of a bare grpc.aio server and its work done here; the goal is at most .3 ms. "Processor"
is what the server's process used for a call, its median: that says much on a busy machine too, where times do not.
Throughput: 64 calls at a time. The tiers hold n records each (`tiers.py` makes them); `--home` uses those of an earlier
run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import grpc
from tiers import filled

from nanomem_tui import open_workspace
from nanomem_tui.servers import http
from nanomem_tui.servers.grpc import memory_pb2 as pb
from nanomem_tui.servers.grpc import server
from nanomem_tui.servers.grpc.service import MemoryService, MemoryServiceStub

SEED = 11
GOAL = 0.3
"""Milliseconds at the 95th percentile that an rpc may take beyond the empty one and its work."""
AT_ONCE = 64
THROUGHPUT = ("empty rpc", "bare echo", "PushEvent", "GetMetric", "StoreTask", "QueryWorking, 20 of a tool")
MAIN = "import sys; from nanomem_tui.__main__ import main; sys.exit(main())"
BARE = """
import asyncio, sys, grpc
async def main():
    server = grpc.aio.server()
    async def same(request, context): return request
    async def empty(request, context): return b""
    handlers = {"Echo": grpc.unary_unary_rpc_method_handler(same), "Empty": grpc.unary_unary_rpc_method_handler(empty)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bare", handlers),))
    port = server.add_insecure_port(sys.argv[1])
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()
asyncio.run(main())
"""
Ask = Callable[[], Any]
Row = dict[str, float]


class Servers(NamedTuple):
    """The addresses and the processes of both, and the token of ours."""

    ours: str
    bare: str
    token: str
    pid: int
    bare_pid: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--way", choices=("socket", "port"), default="socket")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nm")))
        workspace = filled(options.home or scratch, options.n)
        both = stack.enter_context(servers(workspace, scratch, options.way))
        found = asyncio.run(measured(workspace, both, options.rounds, options.n))
    load = os.getloadavg()[0]
    print(f"{options.n:,} records in each tier, by {options.way}, load {load:.1f}; ms, median and 95th percentile")
    for name, row in found["ms"].items():
        parts = [f"{row['p50']:8.3f} {row['p95']:8.3f}"]
        told = ("here", "added") if "added p95" in row else ()
        parts += [f"{part} {row[f'{part} p50']:7.3f} {row[f'{part} p95']:7.3f}" for part in told]
        parts += [f"processor {row['processor']:.3f}"] if "processor" in row else []
        print(f"  {name:28}{'   '.join(parts)}")
    print(f"calls a second, {AT_ONCE} at a time")
    for name, rate in found["per second"].items():
        print(f"  {name:28}{rate:8,.0f}   {rate / found['per second']['bare echo']:.2f} of the bare echo")
    late = {name: row["added p95"] for name, row in found["ms"].items() if row.get("added p95", 0) > GOAL}
    print(f"goal: at most {GOAL} ms added: {'held' if not late else 'not held by ' + ', '.join(late)}")
    if options.json:
        body = {"benchmark": "service", "seed": SEED, "runs": options.rounds, "n": options.n, "way": options.way}
        body |= {"goal": GOAL, **found}
        options.json.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    return 0


@contextlib.contextmanager
def servers(workspace: Path, scratch: Path, way: str) -> Iterator[Servers]:
    """The service and a bare server, each a process."""
    ours, bare = (
        (["--socket", str(scratch / "s")], f"unix:{scratch / 'b'}")
        if way == "socket"
        else (["--tcp", "0"], "127.0.0.1:0")
    )
    command = [sys.executable, "-c", MAIN, "serve", "grpc", "--workspace", str(workspace), *ours]
    with (
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service,
        subprocess.Popen([sys.executable, "-c", BARE, bare], stdout=subprocess.PIPE, text=True) as floor,
    ):
        try:
            assert service.stderr is not None
            assert floor.stdout is not None
            address = service.stderr.readline().split()[3].rstrip(",")
            port = floor.stdout.readline().strip()
            with open_workspace(workspace) as ws:
                word = http.token(ws.paths.data / server.TOKEN) if way == "port" else ""
            yield Servers(address, bare if way == "socket" else f"127.0.0.1:{port}", word, service.pid, floor.pid)
        finally:
            service.terminate()
            floor.terminate()


def requests(chance: random.Random, count: int) -> dict[str, tuple[str, Callable[[], Any]]]:
    """What is asked, by the name that the table gives it: the rpc, and a new request each time."""
    tenth = max(1, count // 10)
    body = json.dumps({"what": "measured", "values": list(range(20))}).encode()

    def number() -> int:
        return chance.randrange(tenth)

    return {
        "PushEvent": ("PushEvent", lambda: pb.Event(category="event", source="bench", data_json=body)),
        "UpdateMetric": ("UpdateMetric", lambda: pb.MetricUpdate(key="cpu.percent", value=number())),
        "GetMetric": ("GetMetric", lambda: pb.MetricRequest(key="cpu.percent")),
        "StoreAgentState": ("StoreAgentState", lambda: pb.AgentState(agent_name="bench", state_json=body)),
        "GetAgentState": ("GetAgentState", lambda: pb.AgentStateRequest(agent_name="bench")),
        "GetRecentEvents, 20": ("GetRecentEvents", lambda: pb.GetRecentRequest(count=20)),
        "StoreTask": ("StoreTask", lambda: pb.Task(goal_id="bench", description=f"step {number()}", input_json=body)),
        "StoreToolCall": (
            "StoreToolCall", lambda: pb.ToolCallRecord(tool_name="fs.read", agent="b", input_json=body, success=True)),
        "GetTasksForGoal": ("GetTasksForGoal", lambda: pb.GoalIdRequest(goal_id=f"w{number() * 10 + 8}")),
        "QueryWorking, 20 of a tool": (
            "QueryWorking", lambda: pb.QueryRequest(kind="tool-call", where={"tool_name": "fs.read"}, limit=20)),
        "QueryLongTerm, 20 tasks": ("QueryLongTerm", lambda: pb.QueryRequest(kind="task", limit=20)),
        "FindPattern": ("FindPattern", lambda: pb.PatternQuery(trigger="restart nginx")),
    }  # fmt: skip


async def measured(workspace: Path, where: Servers, rounds: int, count: int) -> dict[str, Any]:
    metadata = (("authorization", f"Bearer {where.token}"),) if where.token else ()
    async with grpc.aio.insecure_channel(where.ours) as channel, grpc.aio.insecure_channel(where.bare) as floor:
        stub = MemoryServiceStub(channel)
        echo, empty = floor.unary_unary("/bare/Echo"), floor.unary_unary("/bare/Empty")
        payload = json.dumps({"what": "echoed", "values": list(range(20))}).encode()
        asked = requests(random.Random(SEED), count)
        calls: dict[str, Ask] = {"empty rpc": lambda: empty(b""), "bare echo": lambda: echo(payload)}
        for name, (rpc, made) in asked.items():
            calls[name] = _call(getattr(stub, rpc), made, metadata)
        for name in ("UpdateMetric", "StoreAgentState"):  # so that there is what the others ask for
            await calls[name]()
        with open_workspace(workspace) as ws:
            service = MemoryService(ws)
            here = {f"here {name}": _work(service.rpcs[rpc].answer, made) for name, (rpc, made) in asked.items()}
            pids = {name: where.pid if name in asked else where.bare_pid for name in calls}
            times, used = await _in_turns(calls, here, pids, rounds)
        rows: dict[str, Row] = {name: _row(times[name]) for name in calls}
        for name, spent in used.items():
            rows[name]["processor"] = _row(spent)["p50"]
        for name in asked:
            inside = _row(times[f"here {name}"])
            rows[name] |= {f"here {at}": inside[at] for at in inside}
            for at in inside:
                rows[name][f"added {at}"] = rows[name][at] - rows["empty rpc"][at] - inside[at]
        many = {name: calls[name] for name in THROUGHPUT}
        return {"ms": rows, "per second": {name: await _rate(call, 5 * rounds) for name, call in many.items()}}


def _call(rpc: Any, made: Callable[[], Any], metadata: Any) -> Ask:
    return lambda: rpc(made(), metadata=metadata)


def _work(work: Callable[[Any], Any], made: Callable[[], Any]) -> Ask:
    return lambda: work(made())


Times = dict[str, list[float]]


async def _in_turns(
    calls: dict[str, Ask], here: dict[str, Ask], pids: dict[str, int], rounds: int
) -> tuple[Times, Times]:
    """The times of each in milliseconds, after twenty turns that warm, and the processor time of a call's server."""
    chance = random.Random(SEED)
    found: Times = {name: [] for name in (*calls, *here)}
    used: Times = {name: [] for name in calls} if sys.platform == "linux" else {}
    names = list(found)
    for number in range(rounds + 20):
        chance.shuffle(names)
        for name in names:
            before = _processor(pids[name]) if name in used else 0.0
            started = time.perf_counter()
            if name in calls:
                await calls[name]()
            else:
                here[name]()
            if number >= 20:
                found[name].append((time.perf_counter() - started) * 1000)
                if name in used:
                    used[name].append(_processor(pids[name]) - before)
            await asyncio.sleep(0)
    return found, used


def _processor(pid: int) -> float:
    """Milliseconds of processor time that another process has used, by the clock that Linux has for each."""
    return time.clock_gettime((~pid << 3) | 2) * 1000


def _row(times: list[float]) -> Row:
    ordered = sorted(times)
    return {"p50": ordered[len(ordered) // 2], "p95": ordered[int(len(ordered) * 0.95)]}


async def _rate(call: Ask, number: int) -> float:
    """Calls a second, so many at a time."""
    left = iter(range(number))

    async def work() -> None:
        for _ in left:
            await call()

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return number / (time.perf_counter() - started)


if __name__ == "__main__":
    sys.exit(main())
