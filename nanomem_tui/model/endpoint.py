"""One service of an endpoint, asked until it answers: retries, waits, and what each refusal means to a person.

Owns which statuses may go better a second time. Must not know what is asked or what an answer looks like. The key
stands in no error of ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from nanomem_tui.core.errors import ModelRefused, ModelTooLong, ModelUnavailable
from nanomem_tui.model import answers

if TYPE_CHECKING:
    from nanomem_tui.model.client import ModelConfig
    from nanomem_tui.model.wire import Wire

Watch = Callable[[str], None]
_OTHERWISE = frozenset({400, 413, 415, 422, 501})
_RETRIED = frozenset({0, 408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_TOO_LONG = ("context length", "context_length", "maximum context", "context size", "context_size", "too many tokens",
             "prompt is too long", "input is too long", "input is too large", "too large to process",
             "input length exceeds")  # fmt: skip


def _too_long(status: int, told: str) -> bool:
    """Whether a question was too long; servers on one's own machine say so with a status of their own failure."""
    return status == 413 or (status in {*_OTHERWISE, 500} and any(words in told for words in _TOO_LONG))


class Service(NamedTuple):
    """What is asked of an endpoint: the path behind its address, and our settings of the model and the address."""

    path: str
    model_setting: str
    address_setting: str


CHAT = Service("/chat/completions", "model_name", "model_base_url")
EMBEDDINGS = Service("/embeddings", "embedding_model", "embedding_base_url")


class Endpoint:
    """Asks one service of one endpoint. Raises what `ModelClient.ask` does."""

    def __init__(self, config: ModelConfig, service: Service, *, backoff: float, attempts: int) -> None:
        self._config = config
        self._service = service
        self._backoff = backoff
        self._attempts = max(1, attempts)
        self._wire: Wire | None = None

    @property
    def where(self) -> str:
        """The model and the host, as errors name them."""
        return f"{self._config.model} at {self._config.host}"

    def response(
        self, body: Callable[[], bytes], deadline: float, watch: Watch, otherwise: Callable[[str], bool]
    ) -> bytes:
        """The body of a good response to what `body` gives, after retries.

        `otherwise` hears what the endpoint says against a question, and whether `body` gives another one now.
        `deadline` is a time of `time.monotonic`.
        """
        failures = 0
        while True:
            response = self._wired().post(body(), deadline, lambda: watch(f"asking {self._config.model}"))
            if response.status == 200:
                return response.data
            told = answers.told(response.data, self._config.secrets)
            if _too_long(response.status, told.casefold()):
                raise ModelTooLong("the endpoint says that the question is too long", self.where, told)
            if response.status in _OTHERWISE and otherwise(told.casefold()):
                continue
            failures += 1
            error = self._refusal(response.status, told)
            if response.status not in _RETRIED or failures >= self._attempts:
                raise error
            self._pause(response.retry_after, failures, deadline, watch, error)

    def close(self) -> None:
        """Give the connections back."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    def _refusal(self, status: int, told: str) -> ModelRefused | ModelUnavailable:
        said = f"; it says: {told}" if told else ""
        if status == 0:
            return ModelUnavailable("the connection broke", self.where, "try again later")
        if status in (401, 403):
            fix = f"check the key and its rights: {self._config.source}" if self._config.source else "check the key"
            return ModelRefused(f"the endpoint refuses the key ({status}){said}", self.where, fix)
        if status == 402:
            return ModelRefused(f"the endpoint wants to be paid (402){said}", self.where, "nothing was changed")
        if status == 404:
            return ModelRefused(f"the endpoint knows no such model or path (404){said}", self.where,
                                f"check {self._service.model_setting} and {self._service.address_setting}")  # fmt: skip
        if 300 <= status < 400:
            return ModelRefused(f"the endpoint sends elsewhere ({status}), which is not followed", self.where,
                                f"set {self._service.address_setting} to the final address")  # fmt: skip
        if status == 429:
            return ModelUnavailable(f"the endpoint is too busy (429){said}", self.where, "try again later")
        if status >= 500 or status in _RETRIED:
            return ModelUnavailable(f"the endpoint fails ({status}){said}", self.where, "try again later")
        return ModelRefused(f"the endpoint refuses the question ({status}){said}", self.where)

    def _pause(self, wanted: float | None, failures: int, deadline: float, watch: Watch, why: Exception) -> None:
        """Wait before the next try, as long as the endpoint asks. Raises `why` when there is not the time for it."""
        until = time.monotonic() + (self._backoff * 2 ** (failures - 1) if wanted is None else wanted)
        if until >= deadline:
            raise why
        while (left := until - time.monotonic()) > 0:
            watch("waiting for the endpoint")
            time.sleep(min(left, 0.2))

    def _wired(self) -> Wire:
        if self._wire is None:
            from nanomem_tui.model.wire import Wire

            self._wire = Wire(self._config, self._service.path, self.where)
        return self._wire
