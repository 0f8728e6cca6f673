"""What makes vectors of texts: the protocol of an embedder, which one the settings choose, and the check of its rows.

Owns the choice. What an embedder is made of stands in a module of its own, imported when it is chosen: numpy and the
libraries of the models are loaded with the first text. Nothing here downloads anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from nanomem_tui.errors import BadAnswer, InvalidConfig, MissingExtra
from nanomem_tui.installing import extra_command

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nanomem_tui.paths import Paths
    from nanomem_tui.settings import Settings

    Rows = NDArray[np.float32]
    """Vectors, one a row, of length 1."""

LONGEST = 8000
"""Characters of a text that are given to a model which cuts it itself: its meaning is taken from its beginning."""


class Embedder(Protocol):
    """Makes a vector of a text, so that texts of like meaning have vectors of like direction.

    `name` says model and version: vectors of two names are never compared. Both are known without a text, where the
    model can tell them; asking for them may load it.
    """

    @property
    def name(self) -> str:
        """Which model it is, in one line."""

    @property
    def dimension(self) -> int:
        """Numbers of a vector."""

    def embed(self, texts: Sequence[str]) -> Rows:
        """A row for each text, in their order: float32, length 1, `dimension` numbers. May be called in any thread.

        Raises MissingExtra, BadInput (a file that is no model), ModelError (an endpoint, a vector that is none).
        """


def embedder_of(settings: Settings, paths: Paths) -> Embedder:
    """The embedder that the settings choose; nothing of it is loaded yet.

    Raises MissingExtra when it is not installed, InvalidConfig when it is switched off or not said which, BadInput for
    a path that holds no model.
    """
    if not settings.embedding_enabled:
        raise InvalidConfig("search by meaning is switched off (embedding_enabled)", "the settings")
    backend = settings.embedding_backend
    if backend == "endpoint":
        from nanomem_tui.vectors.endpoint import endpoint

        return endpoint(settings)
    if backend == "onnx":
        from nanomem_tui.vectors.folder import onnx_model

        return onnx_model(_path(settings, paths))
    if backend == "sentence-transformers":
        from nanomem_tui.vectors.sentence_transformers import SentenceTransformers

        return SentenceTransformers(settings.embedding_model or str(_path(settings, paths)))
    from nanomem_tui.vectors.minilm import mini_lm

    return mini_lm()


def _path(settings: Settings, paths: Paths) -> Path:
    """The place of the model; a relative one is inside the workspace. Raises InvalidConfig when there is none."""
    if not settings.embedding_path:
        raise InvalidConfig(f"embedding_backend is {settings.embedding_backend} and embedding_path is not set",
                            "the settings", "nanomem config set embedding_path …")  # fmt: skip
    return paths.workspace / Path(settings.embedding_path).expanduser()


def unit_rows(rows: Any, name: str) -> Rows:
    """The rows brought to length 1. Raises BadAnswer for a vector that has no direction: zero, infinite, no number."""
    import numpy as np

    found = np.asarray(rows, dtype=np.float64)
    if not np.isfinite(found).all():
        raise BadAnswer("a vector holds what is no number", name, "use another embedding model")
    largest = np.abs(found).max(axis=1, keepdims=True, initial=0.0)
    if not largest.all():
        raise BadAnswer("a vector is zero and has no direction", name, "use another embedding model")
    found /= largest  # squares of what is left neither overflow nor vanish
    return np.ascontiguousarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)


def missing(what: str) -> MissingExtra:
    """The error for a part of search by meaning that is not installed."""
    return MissingExtra(f"search by meaning needs {what}, which is not installed", "", extra_command("vector"))
