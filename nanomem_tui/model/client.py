"""The one client of language models: asks an OpenAI-compatible endpoint for a JSON object of a given shape.

Owns the question: its time, the forms of answer an endpoint knows, and what was used. Nothing of the endpoint is
trusted. The key is sent to the configured host alone and stands in no error, answer or repr of ours.
Must not know what is asked for, nor read settings. httpx (the extra `llm`) is imported with the first question.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from nanomem_tui.core.errors import BadAnswer, ModelRefused, ModelTooLong
from nanomem_tui.model import answers
from nanomem_tui.model.endpoint import CHAT, Endpoint, Watch

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
        body = answers.parsed(self._completion(messages, schema, name, deadline, watch))
        secrets, text = self.config.secrets, ""
        try:
            reply = answers.reply_of(body, secrets)
            text = reply.text
            return _Tried(answers.value_of(reply, schema, secrets), text)
        except answers.CutAnswer as error:
            raise ModelTooLong(
                f"the answer was cut at {self.config.max_tokens} tokens", self._where, "raise model_max_tokens"
            ) from error
        except answers.Unusable as error:
            return _Tried(None, text, str(error))
        except answers.Declined as error:
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
            shape = {"name": name, "strict": True, "schema": answers.strict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        elif self._forms[0] == "json_object":
            body["response_format"] = {"type": "json_object"}
        if self._forms[0] != "json_schema":
            shown = json.dumps(answers.strict(schema), ensure_ascii=False)
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
        found = answers.counted(body)
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
