"""Vectors of texts, checked: what an embedder gives is taken only when it is so many numbers, of a direction.

Owns the check, and which text of many is the one that no vector can be made of. Must not know an index or a database.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nanomem_tui.errors import BadAnswer, NanomemError

if TYPE_CHECKING:
    from nanomem_tui.vectors.embedders import Embedder
    from nanomem_tui.vectors.index import Vectors

QUESTIONS = 32
"""Questions whose vectors are kept: a person who types asks the same again and again."""
PLAIN = "what is remembered"
"""A text of which every embedder can make a vector."""


class Maker:
    """One embedder, and the newest questions. Every method may be called from any thread."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self._questions: OrderedDict[str, Vectors] = OrderedDict()

    @property
    def dimension(self) -> int:
        """Numbers of a vector. Raises what the embedder does."""
        return self._embedder.dimension

    def question(self, text: str) -> Vectors:
        """The vector of a question. Raises what the embedder does, and BadAnswer when there is none."""
        found = self._questions.get(text)
        if found is None:
            (made,) = self.texts([text])
            if made is None:
                raise BadAnswer("no vector can be made of that question", self.name, "ask in other words")
            found = self._questions[text] = made
            while len(self._questions) > QUESTIONS:
                self._questions.popitem(last=False)
        return found

    def texts(self, texts: Sequence[str]) -> list[Vectors | None]:
        """A vector for each text; None for one of which none can be made, while others can.

        Raises what the embedder does, and BadAnswer when it can make no vector at all.
        """
        trouble: BadAnswer | None = None
        try:
            made = self._made(texts)
            if any(vector is not None for vector in made):
                return made
        except BadAnswer as error:
            trouble = error
        if self._made([PLAIN])[0] is None:  # raises when it is the embedder that fails, and not a text
            raise trouble or BadAnswer("the embedder gives numbers that are none", self.name, "use another model")
        if len(texts) == 1:
            return [None]
        half = len(texts) // 2
        return [*self.texts(texts[:half]), *self.texts(texts[half:])]

    def _made(self, texts: Sequence[str]) -> list[Vectors | None]:
        """The vectors as they come, None for one without a direction. Raises BadAnswer for anything else, and the
        errors of ours."""
        import numpy as np

        try:
            rows = np.asarray(self._embedder.embed(texts), np.float32)
        except NanomemError:
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            raise BadAnswer(f"the embedder failed ({said})", self.name, "see `embedding_backend`") from error
        wanted = (len(texts), self.dimension)
        if rows.shape != wanted:
            what = f"the embedder gave {_size(rows.shape)} numbers where {_size(wanted)} belong"
            raise BadAnswer(what, self.name, "use another embedding model")
        with np.errstate(all="ignore"):
            lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
        usable = np.isfinite(lengths) & (lengths > 1e-12)
        return [
            (rows[place] / np.float32(length)) if good else None
            for place, (length, good) in enumerate(zip(lengths.tolist(), usable.tolist(), strict=True))
        ]


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "no"
