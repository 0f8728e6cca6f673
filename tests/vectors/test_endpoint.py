"""An endpoint is asked for vectors: each way in which it can fail ends in one line or another try, without the key."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable

import numpy as np
import pytest

from nanomem_tui.core.errors import (
    BadAnswer,
    InvalidConfig,
    MissingExtra,
    ModelRefused,
    ModelTooLong,
    ModelUnavailable,
)
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.core.settings import Settings
from nanomem_tui.model.client import ModelConfig
from nanomem_tui.vectors.embedders import EndpointEmbedder, embedder_of
from tests.model.server import KEY, ModelServer, Reply, status
from tests.store.homes import make_home

Serve = Callable[..., tuple[ModelServer, EndpointEmbedder]]


@pytest.fixture
def serve():
    """`serve(reply, …)`: a server with that script, and an embedder that asks it."""
    opened: list[tuple[ModelServer, EndpointEmbedder]] = []

    def start(*script, **config):
        server = ModelServer(*script)
        server.__enter__()
        values = {"base_url": server.url, "model": "scripted", "api_key": KEY, "timeout": 10.0, **config}
        opened.append((server, EndpointEmbedder(ModelConfig(**values), backoff=0.01)))
        return opened[-1]

    yield start
    for server, embedder in opened:
        embedder.close()
        server.__exit__()


def vector(text):
    return [float(len(text)), 1.0, -2.0]


def good(asked):
    """The vectors in another order than the texts, as some endpoints give them."""
    entries = [{"object": "embedding", "index": place, "embedding": vector(text)}
               for place, text in enumerate(asked.body["input"])]  # fmt: skip
    return gives(*reversed(entries))


def gives(*entries):
    return Reply(data=json.dumps({"object": "list", "data": list(entries), "model": "scripted"}).encode())


def row(*numbers, index=0):
    return {"index": index, "embedding": list(numbers)}


def failing(embedder, kind, texts=("tea",)):
    """The line of the error that comes; the key is nowhere."""
    with pytest.raises(kind) as caught:
        embedder.embed(texts)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    line = caught.value.line()
    assert "\n" not in line
    return line


def test_texts_become_rows_in_their_order_and_the_key_goes_in_the_header_alone(serve):
    server, embedder = serve(good)
    texts = ["tea", "a cup of coffee", "水"]
    rows = embedder.embed(texts)
    expected = np.array([vector(text) for text in texts])
    np.testing.assert_allclose(rows, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
    assert rows.dtype == np.float32
    [asked] = server.asked
    assert (asked.path, asked.body) == ("/v1/embeddings", {"model": "scripted", "input": texts})
    assert asked.headers["Authorization"] == f"Bearer {KEY}"


def test_the_name_says_model_and_address_without_a_password(serve):
    names = [
        EndpointEmbedder(ModelConfig(base_url=url, model=model)).name
        for url, model in [
            ("http://me:hunter22@host:1/v1/", "one"),
            ("http://host:1/v1", "two"),
            ("http://host:2/v1", "one"),
            ("http://host:1/v2", "one"),
        ]
    ]
    assert names == ["one at host:1/v1", "two at host:1/v1", "one at host:2/v1", "one at host:1/v2"]


def test_the_dimension_is_asked_for_once(serve):
    server, embedder = serve(good)
    assert (embedder.dimension, embedder.dimension, len(server.asked)) == (3, 3, 1)
    assert embedder.embed([]).shape == (0, 3)


def test_many_texts_are_many_questions_and_a_long_text_is_cut(serve):
    server, embedder = serve(good)
    assert embedder.embed(["tea"] * 70 + ["x" * 1_000_000, ""]).shape == (72, 3)
    assert [len(asked.body["input"]) for asked in server.asked] == [32, 32, 8]
    assert [len(text) for text in server.asked[-1].body["input"][-2:]] == [8000, 1]


def test_a_text_that_is_too_long_for_the_endpoint_is_cut_until_it_fits_and_the_others_are_not(serve):
    def narrow(asked):
        if sum(map(len, asked.body["input"])) > 1000:
            return status(500, "input is too large to process. increase the physical batch size")
        return good(asked)

    _, embedder = serve(narrow)
    rows = embedder.embed(["tea", "x" * 3000, "y" * 990])
    expected = np.array([vector(text) for text in ("tea", "x" * 750, "y" * 990)])
    np.testing.assert_allclose(rows, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)


def test_an_endpoint_that_finds_every_text_too_long_is_believed_at_last(serve):
    server, embedder = serve(status(400, "maximum context length is 8 tokens"))
    assert "too long" in failing(embedder, ModelTooLong, ("x" * 8000,))
    assert len(server.asked) < 10


@pytest.mark.parametrize("passing", [status(429, "slow down"), status(503), Reply(cut=0), status(500, "oops")])
def test_what_passes_is_asked_again(serve, passing):
    server, embedder = serve(passing, passing, good)
    assert embedder.embed(["tea"]).shape == (1, 3)
    assert len(server.asked) == 3


BAD = [
    (gives(), "gave 0 vectors for 1 texts"),
    (gives(row(1, 2), row(1, 2, index=1)), "gave 2 vectors for 1 texts"),
    (gives(row(1, 2, index=7)), "does not say which vector is of which text"),
    (gives(row(1, 2, index="0")), "does not say which vector is of which text"),
    (gives(row()), "no lists of numbers"),
    (gives(row("a", "b")), "no lists of numbers"),
    (gives(row([1], [2])), "no lists of numbers"),
    (gives({"index": 0, "embedding": "AAAA"}), "no lists of numbers"),
    (gives({"index": 0}), "no lists of numbers"),
    (gives(row(10**400)), "no lists of numbers"),
    (gives(row(1, None)), "holds what is no number"),
    (Reply(data=b'{"data": [{"index": 0, "embedding": [NaN, 1]}]}'), "holds what is no number"),
    (Reply(data=b'{"data": [{"index": 0, "embedding": [-Infinity, 1]}]}'), "holds what is no number"),
    (Reply(data=b'{"data": [{"index": 0, "embedding": [1e999, 1]}]}'), "holds what is no number"),
    (gives(row(0, 0.0, -0.0)), "is zero and has no direction"),
    (Reply(data=b"<html>hello</html>"), "holds no vectors"),
    (Reply(data=b"[" * 100_000), "holds no vectors"),
    (Reply(data=b'{"choices": []}'), "holds no vectors"),
    (Reply(data=b'{"data": [[1, 2]]}'), "holds no vectors"),
]


@pytest.mark.parametrize(("reply", "said"), BAD, ids=[str(number) for number in range(len(BAD))])
def test_what_is_no_vector_is_refused_in_one_line(serve, reply, said):
    server, embedder = serve(reply)
    line = failing(embedder, BadAnswer)
    assert said in line
    assert f"scripted at {server.url.removeprefix('http://')}" in line


def test_vectors_of_two_sizes_are_refused_in_one_answer_and_in_two(serve):
    _, ragged = serve(gives(row(1, 2), row(1, 2, 3, index=1)))
    assert "of one length" in failing(ragged, BadAnswer, ("tea", "milk"))
    _, changed = serve(gives(row(1, 2)), gives(row(1, 2, 3)))
    changed.embed(["tea"])
    assert "vectors of 3 numbers after some of 2" in failing(changed, BadAnswer)


@pytest.mark.parametrize(
    ("reply", "kind", "said"),
    [
        (status(401, f"bad key {KEY}"), ModelRefused, "refuses the key"),
        (status(404, "no such model"), ModelRefused, "check embedding_model and embedding_base_url"),
        (status(302, "", Location="http://127.0.0.1:9/"), ModelRefused, "set embedding_base_url to the final address"),
        (Reply(data=b" " * 5_000_000), ModelRefused, "larger than"),
        (status(503), ModelUnavailable, "fails (503)"),
        (Reply(wait=30), ModelUnavailable, "no answer within"),
    ],
)
def test_an_endpoint_that_fails_is_told_in_one_line(serve, reply, kind, said):
    patient = {} if reply.wait == 0 else {"timeout": 0.4}
    _, embedder = serve(reply, **patient)
    assert said in failing(embedder, kind)


def test_the_settings_point_to_it_and_the_key_is_that_of_the_environment(serve, tmp_path, monkeypatch):
    server, _ = serve(good)
    monkeypatch.setenv("MY_KEY", f" {KEY} ")
    monkeypatch.setenv("NANOMEM_MODEL_KEY", "sk-the-key-of-another-address")
    settings = Settings(
        embedding_backend="endpoint", embedding_base_url=server.url, embedding_model="m", embedding_key_env="MY_KEY"
    )
    found = embedder_of(settings, find_workspace(make_home(tmp_path)))
    assert server.asked == []
    assert found.embed(["tea"]).shape == (1, 3)
    assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"


def test_an_address_that_is_none_is_said():
    embedder = EndpointEmbedder(ModelConfig(base_url="file:///etc/passwd", model="m"))
    with pytest.raises(InvalidConfig, match="no http address"):
        embedder.embed(["tea"])


def test_without_httpx_it_says_what_to_install(serve, monkeypatch):
    _, embedder = serve(good)
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[llm\]'"):
        embedder.embed(["tea"])
