"""A client in another language: every rpc from Node, with the .proto and nothing else of ours."""

import os
import shutil
import subprocess

import pytest

from tests.conftest import need
from tests.servers.grpc_serving import ROOT, Process
from tests.servers.test_stubs import OF_AIOS, OF_THE_SEED

CLIENT = ROOT / "tests/servers/node/client.js"
MODULES = ROOT / ".peers/node/node_modules"
pytestmark = pytest.mark.interop


@pytest.mark.parametrize("way", ["socket", "port"])
def test_every_rpc_is_answered_to_a_client_in_javascript(short, way, monkeypatch):
    node = shutil.which("node") or ""
    need(bool(node), "no node on this machine: it runs the client in another language")
    need(MODULES.is_dir(), "no gRPC for node: run `make peers`")
    monkeypatch.delenv("NANOMEM_TOKEN", raising=False)
    place = short / "home" / "workspace"
    place.mkdir(parents=True)
    proto = short / "memory.proto"
    shutil.copy(ROOT / "nanomem_tui/servers/grpc/memory.proto", proto)
    with Process(place, *([] if way == "socket" else ["--tcp", "0"])) as process:
        said = process.began().split()
        word = [] if way == "socket" else [(place / "memory/nanomem/grpc.token").read_text().strip()]
        done = subprocess.run(
            [node, CLIENT, proto, said[3].rstrip(","), *word],
            env={"PATH": os.environ["PATH"], "NODE_PATH": str(MODULES)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted(OF_THE_SEED + OF_AIOS)
