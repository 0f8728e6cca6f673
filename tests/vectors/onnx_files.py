"""Small ONNX models, written by hand: the vector of a token is a row of a table, and nothing else happens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "tea", "coffee", "milk", "##s", "Tea", "té")
INT64, INT32, FLOAT = 7, 6, 1


def table(size: int = 4) -> np.ndarray:
    """A row for each word, none like another."""
    return np.array([[np.sin(1.0 + word * 7 + place) for place in range(size)] for word in range(len(WORDS))])


def write_model(
    path: Path,
    rows: np.ndarray | None = None,
    *,
    inputs: Mapping[str, int] = {"input_ids": INT64, "attention_mask": INT64},
    output: str = "last_hidden_state",
    pooled: bool = False,
) -> Path:
    """A model file. `pooled`: it gives one vector a text itself, the largest numbers of its tokens."""
    rows = table() if rows is None else rows
    tensor = _ints(1, rows.shape) + _int(2, FLOAT) + _text(8, "rows") + _bytes(9, rows.astype("<f4").tobytes())
    nodes = [_node("Gather", ["rows", next(iter(inputs))], "tokens" if pooled else output)]
    if pooled:
        axes = _text(1, "axes") + _int(20, 7) + _ints(8, [1])
        keep = _text(1, "keepdims") + _int(20, 2) + _int(3, 0)
        nodes.append(_node("ReduceMax", ["tokens"], output) + _bytes(5, axes) + _bytes(5, keep))
    shape: list[int | str] = ["b", rows.shape[1]] if pooled else ["b", "s", rows.shape[1]]
    graph = b"".join(_bytes(1, node) for node in nodes) + _text(2, "g") + _bytes(5, tensor)
    graph += b"".join(_bytes(11, _value(name, kind, ["b", "s"])) for name, kind in inputs.items())
    graph += _bytes(12, _value(output, FLOAT, shape))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_int(1, 7) + _bytes(7, graph) + _bytes(8, _int(2, 12)))
    return path


def write_folder(folder: Path, *, words: Sequence[str] = WORDS, **files: object) -> Path:
    """A model with its vocabulary; `files`: JSON files beside it by name, `__` for a slash."""
    write_model(folder / "model.onnx")
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words), "utf-8")
    for name, body in files.items():
        file = folder / f"{name.replace('__', '/')}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(body if isinstance(body, str) else json.dumps(body), "utf-8")
    return folder


def _node(kind: str, inputs: list[str], output: str) -> bytes:
    return b"".join(_text(1, name) for name in inputs) + _text(2, output) + _text(4, kind)


def _value(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    sizes = b"".join(_bytes(1, _int(1, size) if isinstance(size, int) else _text(2, size)) for size in shape)
    return _text(1, name) + _bytes(2, _bytes(1, _int(1, kind) + _bytes(2, sizes)))


def _varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


def _int(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _ints(field: int, numbers: Sequence[int]) -> bytes:
    return b"".join(_int(field, number) for number in numbers)


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _text(field: int, text: str) -> bytes:
    return _bytes(field, text.encode())
