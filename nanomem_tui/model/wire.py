"""One request to one endpoint: bounded in time and in size, never redirected, and dropped at once when nobody waits.

Owns everything about httpx (imported here, when the first request is made). Must not know what is sent, nor show what
an error of the network says of itself: it may hold the key.
"""

from __future__ import annotations

import contextlib
import email.utils
import math
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import util
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from nanomem_tui.core import clock
from nanomem_tui.core.errors import (
    InvalidConfig,
    MissingExtra,
    ModelRefused,
    ModelUnavailable,
    NanomemError,
    extra_command,
)

if TYPE_CHECKING:
    import httpx

    from nanomem_tui.model.client import ModelConfig

MAX_BYTES = 4_000_000
"""Of a response, unpacked."""

_LOOPBACK = ("localhost", "127.0.0.1", "::1", "0.0.0.0")  # noqa: S104 - told from other hosts, never listened on
_POLL = 0.2
_CONNECT = 15.0


@dataclass(frozen=True, slots=True)
class Response:
    """A response, or status 0 when the connection broke. `retry_after`: seconds that the endpoint asks to wait."""

    status: int
    data: bytes = b""
    retry_after: float | None = None


@dataclass
class _Job:
    """A request under way in a thread of its own."""

    done: threading.Event = field(default_factory=threading.Event)
    dropped: threading.Event = field(default_factory=threading.Event)
    response: Response | None = None
    error: Exception | None = None


class Wire:
    """Posts to `path` behind the address of `config`. Raises MissingExtra when there is no httpx, InvalidConfig."""

    def __init__(self, config: ModelConfig, path: str, where: str) -> None:
        self._httpx = _module()
        self._config = config
        self._where = where
        parts = urlsplit(config.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidConfig("the address of the model is no http address", config.host, config.source)
        self._url = parts._replace(path=parts.path.rstrip("/") + path, fragment="").geturl()
        self._local = parts.hostname in _LOOPBACK
        self._plain = self._local and parts.scheme == "http" and not config.proxy
        self._client = self._opened()

    def post(self, body: bytes, deadline: float, watch: Callable[[], None]) -> Response:
        """The response to `body`. `watch` is called while it waits, and what it raises drops the request.

        `deadline` is a time of `time.monotonic`. Raises ModelUnavailable when it passes or nobody listens,
        ModelRefused for a response that is too large.
        """
        job = _Job()
        watch()
        thread = threading.Thread(target=self._run, args=(job, body, deadline), name="model request", daemon=True)
        thread.start()
        try:
            while not job.done.wait(max(0.0, min(_POLL, deadline - time.monotonic()))):
                watch()
                if time.monotonic() >= deadline:
                    raise ModelUnavailable(
                        f"no answer within {self._config.timeout:g} s", self._where, "raise model_timeout_seconds"
                    )
        except BaseException:
            job.dropped.set()
            self._renew()
            raise
        if job.error is not None:
            raise job.error
        return job.response or Response(0)

    def close(self) -> None:
        """Close what is open; a request under way ends with it."""
        with contextlib.suppress(Exception):
            self._client.close()

    def _renew(self) -> None:
        self.close()
        self._client = self._opened()

    def _opened(self) -> httpx.Client:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "nanomem"}
        if self._config.api_key:
            headers["Authorization"] = f"Bearer {self._config.api_key}"
        try:
            client: httpx.Client = self._httpx.Client(
                headers={**headers, **self._config.headers, "Content-Type": "application/json"},
                params=dict(self._config.query) or None,
                follow_redirects=False,
                proxy=self._config.proxy or None,
                verify=not self._plain,  # loading the certificates takes longer than asking; here nothing is encrypted
                trust_env=not self._local,  # a model on this machine is not behind the proxy of the environment
            )
            return client
        except (ValueError, TypeError, ImportError, self._httpx.InvalidURL):
            raise InvalidConfig("the key, a header or the proxy of the model cannot be sent", self._where,
                                self._config.source) from None  # fmt: skip

    def _run(self, job: _Job, body: bytes, deadline: float) -> None:
        try:
            job.response = self._sent(job, body, deadline)
        except NanomemError as error:
            job.error = error
        except self._httpx.ConnectTimeout:
            job.error = ModelUnavailable("the endpoint cannot be reached", self._where, "is the address right?")
        except self._httpx.TimeoutException:
            job.error = ModelUnavailable(f"no answer within {self._config.timeout:g} s", self._where,
                                         "raise model_timeout_seconds")  # fmt: skip
        except self._httpx.ConnectError as error:
            job.error = ModelUnavailable(_unreached(error), self._where, "is it running, and is the address right?")
        except (self._httpx.LocalProtocolError, self._httpx.UnsupportedProtocol, self._httpx.InvalidURL, UnicodeError):
            job.error = InvalidConfig("the key, a header or the address of the model cannot be sent", self._where,
                                      self._config.source)  # fmt: skip
        except Exception:  # noqa: BLE001 - whatever breaks in the network is one thing: no response
            job.response = Response(0)
        finally:
            job.done.set()

    def _sent(self, job: _Job, body: bytes, deadline: float) -> Response:
        left = max(0.05, deadline - time.monotonic())
        timeout = self._httpx.Timeout(left, connect=min(left, _CONNECT))
        with self._client.stream("POST", self._url, content=body, timeout=timeout) as response:
            data = self._read(job, response) if response.status_code == 200 else self._error_body(job, response)
            return Response(response.status_code, data, _seconds(response.headers.get("retry-after", "")))

    def _read(self, job: _Job, response: Any) -> bytes:
        """The body, unpacked, up to the limit."""
        packing = response.headers.get("content-encoding", "identity").strip().lower()
        if packing not in ("identity", "", "gzip", "x-gzip", "deflate"):
            raise ModelRefused("the response is packed in a way that was not asked for", self._where)
        unpack = None if packing in ("identity", "") else zlib.decompressobj(47 if "gzip" in packing else 15)
        found = bytearray()
        for chunk in response.iter_raw(65536):
            try:
                found += chunk if unpack is None else unpack.decompress(chunk, MAX_BYTES + 1)
            except zlib.error:
                raise ModelRefused("the response is damaged", self._where) from None
            if len(found) > MAX_BYTES:
                raise ModelRefused(f"the response is larger than {MAX_BYTES:,} bytes", self._where)
            if job.dropped.is_set():
                break
        return bytes(found)

    def _error_body(self, job: _Job, response: Any) -> bytes:
        """The beginning of the body of an error; that much says what is wrong."""
        found = b""
        for chunk in response.iter_raw(4096):
            found += chunk
            if len(found) >= 16384 or job.dropped.is_set():
                break
        return found


def needed() -> None:
    """Raise MissingExtra where httpx is not installed; imports nothing."""
    if util.find_spec("httpx") is None:
        raise _missing()


def _module() -> ModuleType:
    try:
        import httpx
    except ImportError as error:
        raise _missing() from error
    return httpx


def _missing() -> MissingExtra:
    return MissingExtra("an endpoint is asked through httpx, which is not installed", "", extra_command("llm"))


def _unreached(error: Exception) -> str:
    """Why nobody was reached, in our own words."""
    text = str(error).casefold()
    if "certificate" in text or "ssl" in text:
        return "the certificate of the endpoint cannot be trusted"
    if "refused" in text:
        return "nobody answers there (connection refused)"
    if "name or service" in text or "getaddrinfo" in text or "name resolution" in text or "nodename" in text:
        return "the host of the endpoint is not known"
    return "the endpoint cannot be reached"


def _seconds(text: str) -> float | None:
    """The time of a Retry-After header, in seconds from now: a number or a date."""
    try:
        found = float(text)
    except ValueError:
        try:
            found = (email.utils.parsedate_to_datetime(text) - clock.now()).total_seconds()
        except (ValueError, TypeError):
            return None
    return found if math.isfinite(found) and found >= 0 else None
