"""What makes vectors of texts: the protocol of an embedder, which one the settings choose, and the check of its rows.

Owns the choice. What an embedder is made of stands in a module of its own, imported when it is chosen: numpy and the
libraries of the models are loaded with the first text. Nothing here downloads anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from nanomem_tui.errors import BadAnswer, MissingExtra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]
    """Vectors, one a row, of length 1."""

INSTALL = "pip install 'nanomem-tui[vector]'"


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


def unit_rows(rows: np.ndarray[tuple[int, ...], np.dtype[np.floating]], name: str) -> Rows:
    """The rows brought to length 1. Raises BadAnswer for a vector that has no direction: zero, infinite, no number."""
    import numpy as np

    found = np.asarray(rows, dtype=np.float64)
    if not np.isfinite(found).all():
        raise BadAnswer("a vector holds what is no number", name, "use another embedding model")
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    if not (lengths > 1e-12).all():
        raise BadAnswer("a vector is zero and has no direction", name, "use another embedding model")
    return np.ascontiguousarray(found / lengths, dtype=np.float32)


def missing(what: str) -> MissingExtra:
    """The error for a part of search by meaning that is not installed."""
    return MissingExtra(f"search by meaning needs {what}, which is not installed", "", INSTALL)
