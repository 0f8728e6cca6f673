"""The one client of language models: asks an OpenAI-compatible endpoint for a JSON object of a given shape.

Owns the question: its time, the forms of answer an endpoint knows, and what was used. Nothing of the endpoint is
trusted. The key is sent to the configured host alone and stands in no error, answer or repr of ours.
Must not know what is asked for, nor read settings. httpx (the extra `llm`) is imported with the first question.
"""

from __future__ import annotations

import contextlib
import email.utils
import json
import math
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import util
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn
from urllib.parse import urlsplit

from nanomem_tui.core import clock
from nanomem_tui.core.errors import (
    BadAnswer,
    InvalidConfig,
    MissingExtra,
    ModelRefused,
    ModelTooLong,
    ModelUnavailable,
    NanomemError,
    extra_command,
)
from nanomem_tui.core.text import one_line

if TYPE_CHECKING:
    import httpx


# What an endpoint sent back, read with suspicion: the text of its answer, the object in it, what it says was used.

MAX_TOKENS_TOLD = 1_000_000_000
_MAX_SAID = 200
_MAX_TRIES = 20
_THOUGHT = re.compile(r"<(think|thinking|thought)>.*?</\1>", re.DOTALL)
_WIRE_LEFT_OUT = frozenset({"maxLength", "minLength", "maxItems", "minItems", "maximum", "minimum"})
_NEUTRAL: Mapping[str, Any] = {"string": "", "integer": 0, "array": ()}


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


class Unusable(ValueError):
    """An answer that cannot be used, and why, in words that the model can be told."""


class CutAnswer(Unusable):
    """An answer that ends in the middle, because it reached the limit of its length."""


class Declined(ValueError):
    """The model, or a filter before it, does not want to answer."""


class Reply(NamedTuple):
    """The text of an answer, and whether it was cut."""

    text: str
    cut: bool


class Counted(NamedTuple):
    """What the endpoint says was used; None where it says nothing that can be believed."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None


def parse_body(data: bytes) -> dict[str, Any]:
    """The body of a response as an object, `{}` when it is none."""
    try:
        value = _DECODER.decode(data.decode("utf-8").strip().removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def reply_of(body: Mapping[str, Any], secrets: tuple[str, ...]) -> Reply:
    """What the model wrote. Raises Unusable when there is nothing to read, Declined when it would not."""
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    if not isinstance(message, dict):
        said = _error_text(body, secrets)
        raise Unusable(f"the endpoint says: {said}" if said else "the response holds no answer")
    finish = choice.get("finish_reason")
    if finish == "content_filter":
        raise Declined("a content filter")
    text = _text(message.get("content"))
    refusal = message.get("refusal")
    if not text.strip() and isinstance(refusal, str) and refusal:
        raise Declined(_short(refusal, secrets))
    if not text.strip():
        if finish == "length":
            raise CutAnswer("it was cut before it began")
        raise Unusable("it calls a tool instead of answering" if message.get("tool_calls") else "it is empty")
    return Reply(without_secrets(text, secrets), finish == "length")


def value_of(reply: Reply, schema: Mapping[str, Any], secrets: tuple[str, ...] = ()) -> dict[str, Any]:
    """The one object in the answer that fits `schema`, without the fields that nobody asked for.

    Raises Unusable: no object, one that does not fit, or two different ones. CutAnswer when it ends in the middle."""
    fitting: list[dict[str, Any]] = []
    why = ""
    for found in _objects(_THOUGHT.sub("", reply.text)):
        try:
            value = _fitted(found, schema, "the answer")
        except Unusable as error:
            why = why or str(error)
            continue
        if value not in fitting:
            fitting.append(value)
    if len(fitting) > 1:
        raise Unusable("it holds more than one JSON object")
    if fitting:
        clean: dict[str, Any] = _cleaned(fitting[0], secrets)
        return clean
    if reply.cut:
        raise CutAnswer("it ends in the middle")
    raise Unusable(why or "it holds no complete JSON object")


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` as endpoints take it: every field required, no other allowed, and no limits, which many do not know.

    The words under `suggested` are all that is allowed there; here they are not, as one wrong word spoils one entry."""
    result: dict[str, Any] = {key: value for key, value in schema.items() if key not in _WIRE_LEFT_OUT}
    if "suggested" in result:
        result["enum"] = result.pop("suggested")
    if schema.get("type") == "object":
        result["properties"] = {name: strict_schema(inner) for name, inner in schema["properties"].items()}
        result |= {"required": list(result["properties"]), "additionalProperties": False}
    if schema.get("type") == "array":
        result["items"] = strict_schema(schema["items"])
    return result


def error_text(data: bytes, secrets: tuple[str, ...]) -> str:
    """What the body of an error says, on one short line; nothing when it is a page for a browser."""
    found = _error_text(parse_body(data), secrets)
    if found:
        return found
    text = data[:4000].decode("utf-8", "replace").strip()
    return "" if text.startswith(("<", "{")) else _short(text, secrets)


def usage_of(body: Mapping[str, Any]) -> Counted:
    """The tokens and the price that the response tells."""
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return Counted()
    cost = usage.get("cost")
    believed = isinstance(cost, int | float) and not isinstance(cost, bool) and math.isfinite(cost) and cost >= 0
    return Counted(
        _number(usage.get("prompt_tokens")), _number(usage.get("completion_tokens")),
        float(cost) if believed and isinstance(cost, int | float) else None,
    )  # fmt: skip


def without_secrets(text: str, secrets: tuple[str, ...]) -> str:
    """`text` without any of `secrets`."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def _text(content: Any) -> str:
    """The text of a message: a string, or blocks of which some are text."""
    if isinstance(content, list):
        blocks = [block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"]
        return "".join(text for text in blocks if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects that stand in `text`, from left to right, those inside another left out."""
    at, tries = text.find("{"), 0
    while at >= 0 and tries < _MAX_TRIES:
        tries += 1
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value, dict):
                yield value
        at = text.find("{", end)


def _fitted(value: Any, schema: Mapping[str, Any], where: str) -> Any:
    """`value` as `schema` wants it, what is left out or null filled with nothing unless it is required."""
    kind = schema["type"]
    if kind == "object":
        if not isinstance(value, dict):
            raise Unusable(f"{where} is no object")
        fields = {}
        for name, inner in schema["properties"].items():
            given = value.get(name)
            if given is None:
                if name in schema.get("required", ()):
                    raise Unusable(f"{where} has no `{name}`")
                fields[name] = _NEUTRAL[inner["type"]]
            else:
                fields[name] = _fitted(given, inner, f"`{name}`")
        return fields
    if kind == "array":
        if not isinstance(value, list):
            raise Unusable(f"{where} is no list")
        if len(value) > schema.get("maxItems", len(value)):
            raise Unusable(f"{where} has more than {schema['maxItems']} entries")
        return tuple(_fitted(entry, schema["items"], f"an entry of {where}") for entry in value)
    return _string(value, schema, where) if kind == "string" else _integer(value, where)


def _string(value: Any, schema: Mapping[str, Any], where: str) -> str:
    if not isinstance(value, str):
        raise Unusable(f"{where} is no text")
    if len(value) > schema.get("maxLength", len(value)):
        raise Unusable(f"{where} is longer than {schema['maxLength']} characters")
    if "enum" in schema and value not in schema["enum"]:
        raise Unusable(f"{where} must be one of {', '.join(schema['enum'])}")
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise Unusable(f"{where} holds half a character")
    return value


def _integer(value: Any, where: str) -> int:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if not whole or isinstance(value, bool) or abs(value) > MAX_TOKENS_TOLD:
        raise Unusable(f"{where} is no number that can be meant")
    return int(value)


def _cleaned(value: Any, secrets: tuple[str, ...]) -> Any:
    """`value` with the secrets taken out of its texts: an escape in the JSON may have hidden one."""
    if isinstance(value, str):
        return without_secrets(value, secrets)
    if isinstance(value, dict):
        return {name: _cleaned(inner, secrets) for name, inner in value.items()}
    return tuple(_cleaned(inner, secrets) for inner in value) if isinstance(value, tuple) else value


def _error_text(body: Mapping[str, Any], secrets: tuple[str, ...]) -> str:
    error = body.get("error")
    inner = error.get("message") if isinstance(error, dict) else error
    found = next((x for x in (inner, body.get("message"), body.get("detail")) if isinstance(x, str) and x), "")
    return _short(found, secrets)


def _short(text: str, secrets: tuple[str, ...]) -> str:
    return one_line(without_secrets(text[:4000], secrets), _MAX_SAID)


def _number(value: Any) -> int | None:
    fine = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS_TOLD
    return value if fine else None


# One service of an endpoint, asked until it answers: retries, waits, and what each refusal means to a person.

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
            told = error_text(response.data, self._config.secrets)
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
            self._wire = Wire(self._config, self._service.path, self.where)
        return self._wire


Form = Literal["json_schema", "json_object", "plain"]
_FORMS: tuple[Form, ...] = ("json_schema", "json_object", "plain")
_TRIES = 2
"""How often a model is asked until it gives an answer that can be used."""

_BYTES_A_TOKEN = 4
_SECRET = re.compile(r"(?i)auth|key|token|secret|cookie|pass|signature")
_SHORTEST_SECRET = 8
"""Shorter ones are the `none` and `ollama` of endpoints without keys, and words of any answer."""

_PROTECTED = ("model", "messages", "response_format", "stream", "tools", "tool_choice", "n")


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Where a model is asked and how. Secrets are left out of its repr.

    `base_url` is what `/chat/completions` is put behind. `timeout`: seconds for one question with all its retries;
    `max_tokens`: of one answer; `context_tokens`: of question and answer. Prices are per million tokens, None unknown.
    `headers`, `query` and `body` are added to each request. `source` says for people where the settings came from.
    """

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    timeout: float = 120.0
    max_tokens: int = 4096
    context_tokens: int = 32_000
    temperature: float | None = 0.1
    price_in: float | None = None
    price_out: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    proxy: str = field(default="", repr=False)
    source: str = ""

    @property
    def host(self) -> str:
        """The host (and port) that is asked, for messages: no user, no path, no query."""
        parts = urlsplit(self.base_url)
        return parts.netloc.rpartition("@")[2] or self.base_url.partition("?")[0]

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be shown: the key, keys among headers and query, passwords of the address and the proxy."""
        added = [text for name, text in (*self.headers.items(), *self.query.items()) if _SECRET.search(name)]
        passwords = [urlsplit(address).password or "" for address in (self.base_url, self.proxy)]
        found = {self.api_key, *added, *(text.removeprefix("Bearer ") for text in added), *passwords}
        return tuple(sorted((text for text in found if len(text) >= _SHORTEST_SECRET), key=len, reverse=True))


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used: questions asked, tokens, seconds. `cost` is None where nobody tells a price.

    `estimated`: the endpoint did not count (all of) the tokens, they are reckoned from the length of the texts.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    seconds: float = 0.0
    model: str = ""
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        """Both together; a cost that only one of them knows is no cost of both."""
        known = [one for one in (self, other) if one.calls]
        cost = None if any(one.cost is None for one in known) else sum(one.cost or 0.0 for one in known)
        return Usage(
            calls=self.calls + other.calls,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            cost=cost if known else None,
            seconds=self.seconds + other.seconds,
            model=other.model or self.model,
            estimated=self.estimated or other.estimated,
        )

    def __sub__(self, before: Usage) -> Usage:
        """What was used since `before`."""
        return Usage(
            calls=self.calls - before.calls,
            tokens_in=self.tokens_in - before.tokens_in,
            tokens_out=self.tokens_out - before.tokens_out,
            cost=None if self.cost is None else self.cost - (before.cost or 0.0),
            seconds=self.seconds - before.seconds,
            model=self.model,
            estimated=self.estimated,
        )

    def to_json(self) -> dict[str, Any]:
        """The fields as a JSON object, with the sum of the tokens."""
        return {
            "calls": self.calls, "tokens_in": self.tokens_in, "tokens_out": self.tokens_out,
            "tokens": self.tokens_in + self.tokens_out, "cost": None if self.cost is None else round(self.cost, 6),
            "seconds": round(self.seconds, 3), "model": self.model, "estimated": self.estimated,
        }  # fmt: skip


class _Tried(NamedTuple):
    """What one question gave: an object, or why there is none; and the text it was read from."""

    value: dict[str, Any] | None
    text: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON object of the shape that was asked for, what it took, and the text that it was read from."""

    value: dict[str, Any]
    usage: Usage
    text: str


def estimate_tokens(text: str) -> int:
    """About how many tokens a model counts in `text`: never far too few in any script."""
    return len(text.encode("utf-8", "replace")) // _BYTES_A_TOKEN + 1


def _nobody(_step: object) -> None:
    """Nobody watches."""


class ModelClient:
    """Asks one model at one endpoint. Learns which form of answer it knows; sums up what was used in `usage`.

    `spent` is told at each `close` what was used since the last one, also when a question failed.
    """

    def __init__(
        self, config: ModelConfig, spent: Callable[[Usage], None] = _nobody, *, backoff: float = 0.5, attempts: int = 4
    ) -> None:
        self.config = config
        self.usage = self._told = Usage()
        self._spent = spent
        self._endpoint = Endpoint(config, CHAT, backoff=backoff, attempts=attempts)
        self._forms = list(_FORMS)
        self._tokens_key = "max_tokens"
        self._temperature = config.temperature

    def ask(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], name: str, *, watch: Watch = _nobody
    ) -> Answer:
        """The model's answer to `messages` (`role`, `content`) as an object that fits `schema`; `name` names the shape.

        A schema is made of `object` (`properties`, `required`), `array` (`items`, `maxItems`), `string` (`enum`,
        `maxLength`) and `integer`; what is not required comes as "", 0 or (). `suggested` words bind the model, not us.
        An answer that does not fit is told back once. `watch` hears several times a second what is waited for; an error
        it raises ends the question at once. Raises ModelUnavailable (nobody there, no time, too busy), ModelRefused (a
        wrong key, no such model, a redirect), ModelTooLong, BadAnswer, MissingExtra.
        """
        deadline = time.monotonic() + self.config.timeout
        before, told, why = self.usage, list(messages), ""
        for _ in range(_TRIES):
            found = self._tried(told, schema, name, deadline, watch)
            if found.value is not None:
                return Answer(found.value, self.usage - before, found.text)
            why = found.why
            told = [*messages, *_told_back(why, found.text)]
        raise BadAnswer(f"the model gave no answer that can be used, {_TRIES} times: {why}", self._where)

    def close(self) -> None:
        """Give the connections back, and tell what was used."""
        self._endpoint.close()
        used, self._told = self.usage - self._told, self.usage
        if used.calls:
            self._spent(used)

    @property
    def _where(self) -> str:
        return self._endpoint.where

    def _tried(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], name: str, deadline: float, watch: Watch
    ) -> _Tried:
        """The object, or why there is none in what came. Raises what no further question can help."""
        started = time.monotonic()
        body = parse_body(self._completion(messages, schema, name, deadline, watch))
        secrets, text = self.config.secrets, ""
        try:
            reply = reply_of(body, secrets)
            text = reply.text
            return _Tried(value_of(reply, schema, secrets), text)
        except CutAnswer as error:
            raise ModelTooLong(
                f"the answer was cut at {self.config.max_tokens} tokens", self._where, "raise model_max_tokens"
            ) from error
        except Unusable as error:
            return _Tried(None, text, str(error))
        except Declined as error:
            raise ModelRefused(f"the model declined to answer ({error})", self._where) from error
        finally:
            self._count(messages, body, text, time.monotonic() - started)

    def _completion(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], name: str, deadline: float, watch: Watch
    ) -> bytes:
        """The body of a good response, after retries and with the form of answer that the endpoint knows."""
        return self._endpoint.response(lambda: self._body(messages, schema, name), deadline, watch, self._adapt)

    def _body(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], name: str) -> bytes:
        body: dict[str, Any] = {key: value for key, value in self.config.body.items() if key not in _PROTECTED}
        body |= {"model": self.config.model, "messages": list(messages), "stream": False}
        body[self._tokens_key] = self.config.max_tokens
        if self._temperature is not None:
            body["temperature"] = self._temperature
        if self._forms[0] == "json_schema":
            shape = {"name": name, "strict": True, "schema": strict_schema(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        elif self._forms[0] == "json_object":
            body["response_format"] = {"type": "json_object"}
        if self._forms[0] != "json_schema":
            shown = json.dumps(strict_schema(schema), ensure_ascii=False)
            text = f"Answer with one JSON object and nothing else. It must fit this JSON schema:\n{shown}"
            body["messages"] = [*messages, {"role": "user", "content": text}]
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")

    def _adapt(self, text: str) -> bool:
        """Ask otherwise what an endpoint did not take: whether there is another way left."""
        if "max_completion_tokens" in text and self._tokens_key == "max_tokens":
            self._tokens_key = "max_completion_tokens"
        elif "temperature" in text and self._temperature is not None:
            self._temperature = None
        elif len(self._forms) > 1:
            del self._forms[0]
        else:
            return False
        return True

    def _count(self, messages: Sequence[Mapping[str, str]], body: Mapping[str, Any], text: str, seconds: float) -> None:
        found = usage_of(body)
        asked = sum(estimate_tokens(message["content"]) for message in messages)
        tokens_in = asked if found.tokens_in is None else found.tokens_in
        tokens_out = estimate_tokens(text) if found.tokens_out is None else found.tokens_out
        cost = found.cost
        if cost is None and self.config.price_in is not None and self.config.price_out is not None:
            cost = (tokens_in * self.config.price_in + tokens_out * self.config.price_out) / 1_000_000
        guessed = found.tokens_in is None or found.tokens_out is None
        self.usage += Usage(1, tokens_in, tokens_out, cost, seconds, self.config.model, guessed)


def _told_back(why: str, text: str) -> list[dict[str, str]]:
    """The messages that tell a model why its answer could not be used."""
    said = f"Your answer could not be used: {why}. Answer again: one JSON object of the shape asked for, nothing else."
    answered = [{"role": "assistant", "content": text[:2000]}] if text.strip() else []
    return [*answered, {"role": "user", "content": said}]


# One request to one endpoint: bounded in time and in size, never redirected, and dropped at once when nobody waits.

MAX_BYTES = 4_000_000
"""Of a response, unpacked."""
_MOST_OF_AN_ERROR = 16_384
"""Bytes of the body of an error; that much says what is wrong."""

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
        except self._httpx.DecodingError:
            job.error = ModelRefused("the response is damaged", self._where)
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
            is_good = response.status_code == 200
            most, data = MAX_BYTES if is_good else _MOST_OF_AN_ERROR, bytearray()
            for chunk in response.iter_bytes(65536):
                data += chunk
                if len(data) > most or job.dropped.is_set():
                    break
            if is_good and len(data) > most:
                raise ModelRefused(f"the response is larger than {MAX_BYTES:,} bytes", self._where)
            return Response(response.status_code, bytes(data), retry_seconds(response.headers.get("retry-after", "")))


def require_httpx() -> None:
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


def retry_seconds(text: str) -> float | None:
    """The time of a Retry-After header, in seconds from now: a number or a date."""
    try:
        found = float(text)
    except ValueError:
        try:
            found = (email.utils.parsedate_to_datetime(text) - clock.now()).total_seconds()
        except (ValueError, TypeError):
            return None
    return found if math.isfinite(found) and found >= 0 else None


# -- Lines that set data off from our words in a question to a model. Pure; must not know what is asked ---------------


class Fence:
    """Lines that set data off from our words; nobody who wrote the data can know them."""

    def __init__(self, *texts: str) -> None:
        self.mark = f"=={secrets.token_hex(8)}=="
        while any(self.mark in text for text in texts):
            self.mark = f"=={secrets.token_hex(8)}=="

    def around(self, name: str, text: str) -> str:
        """`text` between two fences, the first with `name`."""
        return f"{self.mark} {name}\n{text}\n{self.mark} end of {name}"
