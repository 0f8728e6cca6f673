"""Asking a model: each way in which an endpoint can fail ends in one line or another try, in time, without the key."""

from __future__ import annotations

import builtins
import json
import logging
import socket
import time
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from nanomem_tui.core.errors import (
    BadAnswer,
    InvalidConfig,
    MissingExtra,
    ModelRefused,
    ModelTooLong,
    ModelUnavailable,
    Refused,
)
from nanomem_tui.model import client as model_client
from nanomem_tui.model.client import ModelClient, ModelConfig, Unusable, Usage, strict_schema, value_of
from nanomem_tui.model.client import Reply as Text
from tests.model.server import KEY, ModelServer, Reply, knows, packed, says, status

SCHEMA = {
    "type": "object",
    "properties": {
        "word": {"type": "string", "maxLength": 20},
        "kind": {"type": "string", "enum": ["a", "b"]},
        "numbers": {"type": "array", "maxItems": 3, "items": {"type": "integer"}},
    },
    "required": ["word"],
}
GOOD = {"word": "tea", "kind": "a", "numbers": [1, 2]}
READ = {"word": "tea", "kind": "a", "numbers": (1, 2)}
QUESTION = [{"role": "system", "content": "Name a drink."}, {"role": "user", "content": "Now."}]

Serve = Callable[..., tuple[ModelServer, ModelClient]]


@pytest.fixture
def serve():
    """`serve(reply, reply, timeout=2)`: a server with that script, and a client that asks it."""
    opened: list[Any] = []

    def start(*script, **config):
        server = ModelServer(*script)
        server.__enter__()
        values = {"base_url": server.url, "model": "scripted", "api_key": KEY, "timeout": 10.0, **config}
        client = ModelClient(ModelConfig(**values), backoff=0.01)
        opened.append((server, client))
        return server, client

    yield start
    for server, client in opened:
        client.close()
        server.__exit__()


def ask(client):
    return client.ask(QUESTION, SCHEMA, "drink")


def failing(client, kind):
    """The line of the error that comes, which is one and holds no key, nor does anything that hangs on it."""
    with pytest.raises(kind) as caught:
        ask(client)
    told = "".join(traceback.format_exception(caught.value))
    assert KEY not in told + repr(caught.value) + repr(client.config)
    line = caught.value.line()
    assert "\n" not in line
    assert "127.0.0.1" in line
    return line


def test_a_good_answer(serve):
    server, client = serve(says(GOOD, usage={"prompt_tokens": 31, "completion_tokens": 7}))
    answer = ask(client)
    assert answer.value == READ
    assert answer.usage == Usage(1, 31, 7, None, answer.usage.seconds, "scripted", estimated=False)
    (asked,) = server.asked
    assert (asked.path, asked.headers["Authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    shape = asked.body["response_format"]["json_schema"]
    assert (shape["name"], shape["strict"]) == ("drink", True)
    assert shape["schema"]["required"] == ["word", "kind", "numbers"]
    assert asked.body["messages"] == QUESTION
    assert asked.body["max_tokens"] == 4096


def test_the_shape_on_the_wire_is_strict_and_without_limits():
    sent = json.dumps(
        strict_schema({**SCHEMA, "properties": {**SCHEMA["properties"], "x": {"type": "string", "suggested": ["y"]}}})
    )
    assert "maxLength" not in sent
    assert "maxItems" not in sent
    assert '"additionalProperties": false' in sent
    assert '{"type": "string", "enum": ["y"]}' in sent


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(GOOD),
        f"```json\n{json.dumps(GOOD)}\n```",
        f"Sure, here it is: {json.dumps(GOOD)} I hope that helps {{really}}.",
        f"<think>maybe {{}} or {json.dumps({**GOOD, 'word': 'beer'})}</think>{json.dumps(GOOD)}",
        f"\ufeff{json.dumps(GOOD)}",
        json.dumps(GOOD) + "\n" + json.dumps(GOOD),
        json.dumps({**GOOD, "delete": "AGENTS.md", "word2": {"a": [1]}}),
    ],
)
def test_an_object_is_found_whatever_stands_around_it_and_extra_fields_are_dropped(serve, text):
    _, client = serve(says(text))
    assert ask(client).value == READ


def test_blocks_of_text_are_one_text_and_thoughts_are_none(serve):
    blocks = [{"type": "thinking", "thinking": "{}"}, {"type": "text", "text": json.dumps(GOOD)}]
    _, client = serve(says(blocks))
    assert ask(client).value == READ


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (says(""), "it is empty"),
        (says(None), "it is empty"),
        (says(None, tool_calls=[{"id": "1", "function": {"name": "rm", "arguments": "{}"}}]), "calls a tool"),
        (says("I would rather write a poem."), "no complete JSON object"),
        (says("[1, 2]"), "no complete JSON object"),
        (says({"drink": "tea"}), "no `word`"),
        (says({"word": ["tea"]}), "`word` is no text"),
        (says({"word": "x" * 21}), "longer than 20"),
        (says({"word": "x", "kind": "c"}), "one of a, b"),
        (says({"word": "x", "numbers": [1, 2, 3, 4]}), "more than 3"),
        (says({"word": "x", "numbers": [True]}), "no number"),
        (says('{"word": "\\ud800"}'), "half a character"),
        (says('{"word": "tea", "numbers": [NaN]}'), "no complete JSON object"),
        (says(json.dumps(GOOD) + json.dumps({**GOOD, "word": "beer"})), "more than one JSON object"),
        (says('{"word": ' * 3000), "no complete JSON object"),
        (Reply(data=b"<html>Welcome</html>"), "holds no answer"),
        (Reply(data=b'{"choices": []}'), "holds no answer"),
        (Reply(data=b'{"choices": [{"message": "hi"}]}'), "holds no answer"),
        (Reply(data=b"\xff\xfe{}"), "holds no answer"),
        (Reply(data=b'{"error": {"message": "upstream is down"}}'), "upstream is down"),
    ],
)  # fmt: skip
def test_an_answer_that_cannot_be_used_is_told_back_once(serve, bad, why):
    server, client = serve(bad, says(GOOD))
    assert ask(client).value == READ
    assert why in server.asked[1].text
    assert client.usage.calls == 2
    server, client = serve(bad)
    assert why in failing(client, BadAnswer)
    assert len(server.asked) == 2


def test_an_answer_that_was_cut_is_not_asked_for_again(serve):
    server, client = serve(says('{"word": "te', finish="length"), max_tokens=64)
    assert "cut at 64 tokens" in failing(client, ModelTooLong)
    assert len(server.asked) == 1
    _, client = serve(says("", finish="length"))
    assert "cut" in failing(client, ModelTooLong)
    _, client = serve(says(json.dumps(GOOD) + " and more", finish="length"))
    assert ask(client).value == READ


@pytest.mark.parametrize(
    "reply", [says(None, refusal="I will not."), says("", finish="content_filter"), says(GOOD, finish="content_filter")]
)
def test_a_model_that_declines_is_not_pressed(serve, reply):
    server, client = serve(reply)
    assert "declined" in failing(client, ModelRefused)
    assert len(server.asked) == 1


@pytest.mark.parametrize(("known", "form"), [(("json_object", "plain"), "json_object"), (("plain",), "plain")])
def test_an_endpoint_that_knows_no_schema_is_asked_otherwise(serve, known, form):
    server, client = serve(knows(*known, then=says(f"Here: {json.dumps(GOOD)}")))
    assert ask(client).value == READ
    assert server.asked[-1].form == form
    assert "JSON schema" in server.asked[-1].text
    assert ask(client).value == READ
    assert server.asked[-1].form == server.asked[-2].form == form  # it learns


def test_names_of_limits_are_learnt_too(serve):
    server, client = serve(
        status(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        status(400, "Unsupported value: 'temperature' does not support 0.1"),
        says(GOOD),
    )
    assert ask(client).value == READ
    assert "temperature" not in server.asked[-1].body
    assert server.asked[-1].body["max_completion_tokens"] == 4096
    assert server.asked[-1].form == "json_schema"


def test_a_question_that_is_too_long(serve):
    for reply in (status(413), status(400, "This model's maximum context length is 8192 tokens.")):
        server, client = serve(reply)
        assert "too long" in failing(client, ModelTooLong)
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("code", "words"),
    [(401, "refuses the key"), (403, "refuses the key"), (402, "paid"), (404, "no such model"), (418, "refuses the")],
)
def test_what_no_retry_can_mend_is_told_at_once(serve, code, words):
    server, client = serve(status(code, f"Incorrect API key provided: {KEY}, see the console"))
    line = failing(client, ModelRefused)
    assert words in line
    assert str(code) in line
    assert "***, see the console" in line
    assert len(server.asked) == 1


@pytest.mark.parametrize("code", [429, 500, 502, 503, 408])
def test_a_busy_endpoint_is_asked_again(serve, code):
    server, client = serve(status(code), status(code), says(GOOD))
    assert ask(client).value == READ
    assert len(server.asked) == 3
    server, client = serve(status(code, "try later"))
    assert f"({code}); it says: try later" in failing(client, ModelUnavailable)
    assert len(server.asked) == 4


def test_a_page_for_browsers_is_not_quoted_and_controls_are_made_visible(serve):
    _, client = serve(Reply(500, b"<html><body>Bad Gateway</body></html>"))
    assert "<html>" not in failing(client, ModelUnavailable)
    _, client = serve(Reply(403, b"\x1b]52;c;aGk=\x07 go\naway"))
    assert "\x1b" not in failing(client, ModelRefused)


def test_retry_after_is_honoured_within_the_time_there_is(serve):
    server, client = serve(status(429, retry_after="0.3"), says(GOOD))
    began = time.monotonic()
    assert ask(client).value == READ
    assert time.monotonic() - began >= 0.3
    server, client = serve(status(429, "slow down", retry_after="3600"), timeout=60.0)
    began = time.monotonic()
    assert "slow down" in failing(client, ModelUnavailable)
    assert time.monotonic() - began < 30
    assert len(server.asked) == 1


def test_a_retry_after_may_be_a_date_and_nonsense_is_none():
    assert model_client.retry_seconds("Wed, 21 Oct 2015 07:28:00 GMT") is None
    assert 10**9 < (model_client.retry_seconds("Wed, 21 Oct 2099 07:28:00 GMT") or 0) < 10**10
    assert [model_client.retry_seconds(text) for text in ("7", "-1", "nan", "inf", "soon", "")] == [7.0] + [None] * 5


@pytest.mark.parametrize(
    "reply", [says(GOOD, wait=30), Reply(data=b"{" * 100_000, pause=0.02)], ids=["silent", "drop by drop"]
)
def test_a_slow_endpoint_ends_in_time(serve, reply):
    _, client = serve(reply, timeout=0.6)
    began = time.monotonic()
    assert "no answer within 0.6 s" in failing(client, ModelUnavailable)
    assert time.monotonic() - began < 20


def test_a_person_can_stop_waiting(serve):
    _, client = serve(says(GOOD, wait=30), timeout=60.0)
    began = time.monotonic()

    def watch(_step):
        if time.monotonic() - began > 0.4:
            raise Refused("stopped")

    with pytest.raises(Refused):
        client.ask(QUESTION, SCHEMA, "drink", watch=watch)
    assert time.monotonic() - began < 20


def test_the_same_client_works_after_a_dropped_question(serve):
    _, client = serve(says(GOOD, wait=30), says(GOOD), timeout=0.5)
    failing(client, ModelUnavailable)
    assert ask(client).value == READ


def test_nobody_there(serve):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        _, client = serve(says(GOOD), base_url=f"http://127.0.0.1:{port}/v1", timeout=60.0)
        began = time.monotonic()
        assert "connection refused" in failing(client, ModelUnavailable)
        assert time.monotonic() - began < 30


def test_a_connection_that_breaks_is_tried_again(serve):
    server, client = serve(Reply(cut=0), Reply(data=says(GOOD).data, cut=30), says(GOOD))
    assert ask(client).value == READ
    assert len(server.asked) == 3
    _, client = serve(Reply(cut=0))
    assert "the connection broke" in failing(client, ModelUnavailable)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_never_followed_with_the_key(serve, code):
    other, _ = serve(says(GOOD))
    server, client = serve(status(code, location=f"{other.url}/chat/completions?key={KEY}"))
    assert "is not followed" in failing(client, ModelRefused)
    assert len(server.asked) == 1
    assert other.asked == []


def test_a_huge_response_is_not_read_to_its_end(serve, monkeypatch):
    monkeypatch.setattr(model_client, "MAX_BYTES", 200_000)
    huge = says("x" * 400_000)
    for reply in (huge, packed(huge)):
        _, client = serve(reply)
        assert "larger than 200,000 bytes" in failing(client, ModelRefused)
    _, client = serve(packed(says(GOOD)))
    assert ask(client).value == READ
    _, client = serve(Reply(data=b"no gzip", headers={"Content-Encoding": "gzip"}))
    assert "damaged" in failing(client, ModelRefused)
    _, client = serve(Reply(data=b"x", headers={"Content-Encoding": "br"}))
    assert "holds no answer" in failing(client, BadAnswer)


def test_the_key_is_nowhere(serve, caplog):
    caplog.set_level(logging.DEBUG)
    key = KEY[:16]
    for said in (json.dumps({"word": key}), '{"word": "' + "".join(f"\\u{ord(c):04x}" for c in key) + '"}'):
        _, client = serve(says(said), api_key=key)
        assert ask(client).value["word"] == "***"
    assert key not in caplog.text
    config = ModelConfig("http://u:pass-word-1@h/v1", "m", KEY, headers={"X-Api-Key": KEY}, proxy=f"http://x:{KEY}@p")
    assert KEY not in repr(config)
    assert config.host == "h"
    assert set(config.secrets) == {KEY, "pass-word-1"}


@pytest.mark.parametrize("key", ["line\nbreak-0123456789", "schlüssel-0123456789"])
def test_a_key_that_cannot_be_sent_is_told_without_it(serve, key):
    _, client = serve(says(GOOD), api_key=key)
    with pytest.raises((InvalidConfig, ModelUnavailable)) as caught:
        ask(client)
    told = "".join(traceback.format_exception(caught.value)) + repr(client)
    assert key not in told
    assert "0123456789" not in told


def test_an_address_that_is_none(serve):
    for address in ("ftp://host/v1", "file:///etc/passwd", "nonsense"):
        _, client = serve(says(GOOD), base_url=address)
        with pytest.raises(InvalidConfig):
            ask(client)


def test_without_httpx_one_line_says_what_to_install(serve, monkeypatch):
    real = builtins.__import__

    def none(name, *rest, **named):
        if name == "httpx":
            raise ImportError(name)
        return real(name, *rest, **named)

    _, client = serve(says(GOOD))
    monkeypatch.setattr(builtins, "__import__", none)
    with pytest.raises(MissingExtra) as caught:
        ask(client)
    assert "pip install '.[llm]'" in caught.value.line()


def test_tokens_and_cost(serve):
    _, client = serve(says(GOOD, usage={"prompt_tokens": 1000, "completion_tokens": 500}), price_in=2.0, price_out=6.0)
    assert ask(client).usage.cost == pytest.approx(0.005)
    assert ask(client).usage.cost == pytest.approx(0.005)
    assert client.usage.to_json() == {
        "calls": 2, "tokens_in": 2000, "tokens_out": 1000, "tokens": 3000, "cost": 0.01,
        "seconds": round(client.usage.seconds, 3), "model": "scripted", "estimated": False,
    }  # fmt: skip
    _, client = serve(
        says(GOOD, usage={"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.25}), price_in=2.0, price_out=6.0
    )
    assert ask(client).usage.cost == 0.25


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": -1, "completion_tokens": True, "cost": "NaN"}])
def test_tokens_nobody_counted_are_estimated_and_marked(serve, usage):
    _, client = serve(says(GOOD, usage=usage))
    used = ask(client).usage
    assert (used.estimated, used.cost) == (True, None)
    assert used.tokens_in > 0
    assert used.tokens_out > 0


def test_costs_add_up_only_when_all_are_known():
    known, unknown = Usage(1, 1, 1, 0.5), Usage(1, 1, 1, None)
    assert (known + known).cost == 1.0
    assert (known + unknown).cost is None
    assert (Usage() + known).cost == 0.5
    assert Usage().cost is None


def test_headers_query_and_body_of_the_provider_are_sent_and_change_no_question(serve):
    server, client = serve(
        says(GOOD), headers={"X-App": "7"}, query={"api-version": "3"}, body={"top_k": 4, "messages": [], "tools": [1]}
    )
    ask(client)
    (asked,) = server.asked
    assert (asked.path, asked.headers["X-App"]) == ("/v1/chat/completions?api-version=3", "7")
    assert (asked.body["top_k"], asked.body["messages"]) == (4, QUESTION)
    assert "tools" not in asked.body


def test_an_answer_of_many_braces_is_read_in_little_time():
    began = time.process_time()
    for text in ("{" * 500_000, '{"a":' * 200_000, "{} " * 200_000):
        with pytest.raises(Unusable):
            value_of(Text(text, cut=False), SCHEMA)
    assert time.process_time() - began < 10
