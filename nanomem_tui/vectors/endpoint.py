"""An endpoint that answers `/embeddings` as OpenAI's does: on this machine, in the house, or a service that is paid.

Owns what is asked and the check of what comes. Texts go where the user pointed, nowhere else; the key comes from the
environment alone. Must not know how an endpoint is reached: that is `model`.
"""

from __future__ import annotations

import json
import os
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from nanomem_tui.errors import BadAnswer, InvalidConfig, ModelTooLong
from nanomem_tui.model import wire
from nanomem_tui.model.client import ModelConfig
from nanomem_tui.model.endpoint import EMBEDDINGS, Endpoint
from nanomem_tui.vectors.embedders import LONGEST, missing, unit_rows

if TYPE_CHECKING:
    from nanomem_tui.settings import Settings
    from nanomem_tui.vectors.embedders import Rows

BATCH = 32
"""Texts of one question: the answer stays below the limit of a response, also with some thousand numbers a vector."""

_SHORTEST = 250
"""Characters below which a text is not cut further for an endpoint that finds it too long."""


class EndpointEmbedder:
    """Vectors by a model behind an endpoint. Asks first when there is a text, or when its dimension is asked for."""

    def __init__(self, config: ModelConfig, *, backoff: float = 0.5, attempts: int = 4) -> None:
        parts = urlsplit(config.base_url)
        self.name = f"{config.model} at {config.host}{parts.path.rstrip('/')}"
        self._config = config
        self._endpoint = Endpoint(config, EMBEDDINGS, backoff=backoff, attempts=attempts)
        self._dimension = 0
        self.close = weakref.finalize(self, self._endpoint.close)
        """Gives the connections back; at the latest when nobody needs the embedder."""

    @property
    def dimension(self) -> int:
        """Numbers of a vector: those of the first answer."""
        if not self._dimension:
            self.embed(["dimension"])
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Rows:
        """A row for each text, of its beginning where it is long; the endpoint is asked for some of them at a time."""
        numpy = _numpy()
        cut = [text[:LONGEST] if text.strip() else "." for text in texts]  # many refuse a text that is empty
        rows = [self._asked(cut[start : start + BATCH]) for start in range(0, len(cut), BATCH)]
        found: Rows = numpy.concatenate(rows) if rows else numpy.zeros((0, self.dimension), numpy.float32)
        return found

    def _asked(self, texts: list[str]) -> Rows:
        """The rows of some texts. What is too long for the endpoint is asked in parts, then cut."""
        try:
            data = self._response(texts)
        except ModelTooLong:
            if len(texts) > 1:
                rows: Rows = _numpy().concatenate([self._asked([text]) for text in texts])
                return rows
            if len(texts[0]) < 2 * _SHORTEST:
                raise
            return self._asked([texts[0][: len(texts[0]) // 2]])
        rows = unit_rows(self._matrix(data, len(texts)), self.name)
        if self._dimension not in (0, rows.shape[1]):
            raise BadAnswer(f"the endpoint gave vectors of {rows.shape[1]} numbers after some of {self._dimension}",
                            self.name, "is one model behind that address?")  # fmt: skip
        self._dimension = rows.shape[1]
        return rows

    def _response(self, texts: list[str]) -> bytes:
        body = {**self._config.body, "model": self._config.model, "input": texts}
        sent = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        deadline = time.monotonic() + self._config.timeout
        return self._endpoint.response(lambda: sent, deadline, lambda _step: None, lambda _told: False)

    def _matrix(self, data: bytes, count: int) -> Any:
        """The vectors of a response in the order of the texts. Raises BadAnswer for one that holds something else."""
        numpy = _numpy()
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            body = None
        entries = body.get("data") if isinstance(body, dict) else None
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise BadAnswer("the endpoint's response holds no vectors", self.name, "does it answer /embeddings?")
        if len(entries) != count:
            raise BadAnswer(f"the endpoint gave {len(entries)} vectors for {count} texts", self.name)
        vectors = [entry.get("embedding") for entry in _in_order(entries, self.name)]
        try:
            found = numpy.array(vectors, dtype=numpy.float64)
        except (ValueError, TypeError, OverflowError):
            found = None
        if found is None or found.ndim != 2 or not found.shape[1]:
            raise BadAnswer("the endpoint gave vectors that are no lists of numbers of one length", self.name)
        return found


def endpoint(settings: Settings, environ: Mapping[str, str] = os.environ) -> EndpointEmbedder:
    """The embedder that the settings point to. Raises InvalidConfig when they do not say which, MissingExtra."""
    if not (settings.embedding_base_url and settings.embedding_model):
        lacking = "embedding_model" if settings.embedding_base_url else "embedding_base_url"
        raise InvalidConfig(f"embedding_backend is endpoint and {lacking} is not set", "the settings",
                            f"nanomem config set {lacking} …")  # fmt: skip
    _numpy()
    wire.needed()
    return EndpointEmbedder(
        ModelConfig(
            base_url=settings.embedding_base_url,
            model=settings.embedding_model,
            api_key=environ.get(settings.embedding_key_env, "").strip(),
            timeout=settings.model_timeout_seconds,
            source=f"environment variable {settings.embedding_key_env}",
        )
    )


def _in_order(entries: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The entries by their index; one that has none stands where it belongs."""
    places = [entry.get("index", place) for place, entry in enumerate(entries)]
    if sorted(place for place in places if isinstance(place, int)) != list(range(len(entries))):
        raise BadAnswer("the endpoint does not say which vector is of which text", name)
    return [entry for _, entry in sorted(zip(places, entries, strict=True), key=lambda pair: pair[0])]


def _numpy() -> Any:
    try:
        import numpy as np
    except ImportError as error:
        raise missing("numpy") from error
    return np
