"""An embedding model in an ONNX file, run on onnxruntime on this machine: the session, batches, and pooling.

Owns how texts go through such a model. Which file it is, and how it wants to be read, is a `Model`. Never reaches out.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui.errors import BadInput
from nanomem_tui.vectors.embedders import missing, unit_rows

if TYPE_CHECKING:
    from nanomem_tui.vectors.embedders import Rows
    from nanomem_tui.vectors.wordpiece import WordPiece

_TOKENS = 512
"""Of one run, the padding among them: beyond that a batch is no quicker, only larger."""

_THREADS = 4
"""At most; a search must leave the machine to the rest of what runs there."""


_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_TYPES = {"tensor(int64)": "int64", "tensor(int32)": "int32"}
_OUTPUTS = ("sentence_embedding", "last_hidden_state", "token_embeddings")
"""The best first; of a model that gives none of them its first."""


class Model(NamedTuple):
    """A model file and how it is read: `limit` tokens of a text, whose vectors become one as `pooling` says."""

    name: str
    file: Path
    tokens: Callable[[], WordPiece]
    limit: int = 256
    pooling: Literal["mean", "first"] = "mean"
    dimension: int = 0
    """0: asked of the file."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A session with the types of its inputs and the output that is wanted, and the tokens that belong to it."""

    session: Any
    inputs: dict[str, str]
    output: str
    tokens: WordPiece
    dimension: int


class OnnxEmbedder:
    """Vectors by a `Model`. The file is opened with the first text, once."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    @property
    def dimension(self) -> int:
        """Numbers of a vector; opens the file where nobody said it."""
        return self._model.dimension or self._ready.dimension

    def embed(self, texts: Sequence[str]) -> Rows:
        """A row for each text. Long texts go beside long ones, so that little is padded."""
        import numpy as np

        ready = self._ready
        ids = [ready.tokens.ids(text, self._model.limit) for text in texts]
        rows = np.zeros((len(ids), ready.dimension), dtype=np.float32)
        for batch in _batches([len(one) for one in ids]):
            rows[batch] = self._run(ready, [ids[number] for number in batch])
        return rows

    def _run(self, ready: _Loaded, ids: list[list[int]]) -> Rows:
        import numpy as np

        width = max(map(len, ids))
        tokens = np.zeros((len(ids), width), dtype=np.int64)
        mask = np.zeros_like(tokens)
        for row, one in enumerate(ids):
            tokens[row, : len(one)] = one
            mask[row, : len(one)] = 1
        given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        wanted = {name: given[name].astype(kind, copy=False) for name, kind in ready.inputs.items()}
        try:
            found = ready.session.run([ready.output], wanted)[0]
        except Exception as error:
            raise BadInput(f"the model cannot be run ({_said(error)})", str(self._model.file)) from error
        return unit_rows(self._pooled(found, mask), self.name)

    def _pooled(self, found: Any, mask: Any) -> Any:
        """One vector a text, of one that the model made itself or of those of its tokens."""
        if found.ndim == 2:
            return found
        if self._model.pooling == "first":
            return found[:, 0]
        weights = mask[..., None].astype("float32")
        return (found * weights).sum(axis=1) / weights.sum(axis=1)

    @property
    def _ready(self) -> _Loaded:
        with self._lock:
            return self._loaded

    @cached_property
    def _loaded(self) -> _Loaded:
        runtime = _runtime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads()
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            session = runtime.InferenceSession(str(self._model.file), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise BadInput(f"this is no ONNX model ({_said(error)})", str(self._model.file)) from error
        inputs = {one.name: _TYPES.get(one.type, "") for one in session.get_inputs()}
        if "input_ids" not in inputs or not all(name in _INPUTS and kind for name, kind in inputs.items()):
            raise BadInput(f"this model takes {', '.join(sorted(inputs))}: it is none for texts", str(self._model.file))
        outputs = {one.name: one.shape for one in session.get_outputs()}
        output = next((name for name in _OUTPUTS if name in outputs), next(iter(outputs)))
        shape = outputs[output]
        if len(shape) not in (2, 3) or not isinstance(shape[-1], int):
            raise BadInput(f"this model gives {output}, which is no vector of a text", str(self._model.file))
        return _Loaded(session, inputs, output, self._model.tokens(), shape[-1])


def threads() -> int:
    """How many a model runs on: the cores that this process may use, not more than a few."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    return max(1, min(_THREADS, cores))


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The numbers of texts that go through the model together, texts of like length side by side."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if batch and lengths[batch[0]] * (len(batch) + 1) > _TOKENS:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _runtime() -> Any:
    """The library, quiet also where it does not read the variable that this package sets."""
    try:
        import onnxruntime
    except ImportError as error:
        raise missing("onnxruntime") from error
    onnxruntime.disable_telemetry_events()
    return onnxruntime


def _said(error: Exception) -> str:
    """What onnxruntime says is wrong, in one short line."""
    return " ".join(str(error).split())[:160]
