"""The model of the extra: near to the one it was made of, offline, loaded late, and the same however texts come."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import threading
from importlib import util

import numpy as np
import pytest

from nanomem_tui.core.errors import MissingExtra
from nanomem_tui.vectors import embedders as minilm
from tests.vectors import offline
from tests.vectors.reference import FILE, LONG

ENTRIES = json.loads(FILE.read_text("utf-8"))["entries"]
TEXTS = [entry["text"] for entry in ENTRIES]
KNOWN = np.stack([np.frombuffer(base64.b64decode(entry["vector"]), "<f2") for entry in ENTRIES]).astype(np.float32)
NEAR = 0.995


@pytest.fixture(scope="module")
def model():
    return minilm.mini_lm()


def cosines(left, right):
    return (left * right).sum(axis=1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)


@pytest.mark.slow
def test_every_vector_is_near_that_of_the_model_with_all_its_bits(model):
    rows = model.embed(TEXTS)
    assert rows.shape == (len(TEXTS), model.dimension) == (len(TEXTS), 384)
    found = cosines(rows, KNOWN)
    assert {text[:40]: cosine for text, cosine in zip(TEXTS, found, strict=True) if cosine < NEAR} == {}
    assert np.median(found) > 0.999
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def test_like_meaning_is_nearer_than_like_words(model):
    asked, same, words = model.embed(["Where does she work?", "Her job is at the harbour.", "She asked where it was."])
    assert asked @ same > asked @ words


@pytest.mark.slow
def test_a_text_has_one_vector_whatever_it_comes_with(model):
    together = model.embed(TEXTS)
    alone = np.concatenate([model.embed([text]) for text in TEXTS[:12]])
    assert cosines(together[:12], alone).min() > 0.99999
    assert cosines(model.embed(TEXTS[::-1])[::-1], together).min() > 0.99999


def test_what_stands_after_the_limit_changes_nothing(model):
    cut, longer = model.embed([LONG * 8, LONG * 8 + "Something else stands here. " * 40_000])
    assert cut @ longer > 0.99999


@pytest.mark.slow
def test_many_threads_may_ask_one_embedder_that_was_never_asked():
    fresh = minilm.mini_lm()
    found: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: found.append(fresh.embed(["tea or coffee"]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 4
    assert all(np.array_equal(one, found[0]) for one in found)


def test_choosing_it_loads_nothing():
    code = (
        "import sys; from nanomem_tui.vectors.embedders import mini_lm; "
        "print(mini_lm().name, mini_lm().dimension, {'numpy', 'onnxruntime'} & set(sys.modules))"
    )
    environment = {**os.environ, "PYTHONPATH": str(offline.ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "all-MiniLM-L6-v2-int8 1.0.0 384 set()\n"


@pytest.mark.parametrize("lacking", ["onnxruntime", minilm.PACKAGE])
def test_what_is_not_installed_is_said_in_one_line(monkeypatch, lacking):
    find = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name, *rest: None if name == lacking else find(name, *rest))
    with pytest.raises(MissingExtra) as caught:
        minilm.mini_lm()
    assert caught.value.line().endswith("which is not installed. Fix: in a clone of nanomem: pip install '.[vector]'")


def test_a_library_that_is_there_and_cannot_be_loaded_is_said_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match="onnxruntime"):
        minilm.mini_lm().embed(["tea"])


needs_filter = pytest.mark.skipif(
    not offline.SUPPORTED, reason="the kernel's filter is known for Linux on two machines"
)


@needs_filter
def test_a_process_that_would_reach_out_is_ended(tmp_path):
    done = offline.run("import socket; socket.create_connection(('127.0.0.1', 9))", tmp_path)
    assert done.returncode == -signal.SIGSYS


@pytest.mark.slow
@needs_filter
def test_no_vector_needs_the_network_and_nobody_keeps_what_was_done(tmp_path):
    code = "from nanomem_tui.vectors import embedders as m; print(m.mini_lm().embed(['tea', 'milk' * 900]).shape)"
    done = offline.run(code, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "(2, 384)\n", "")
    assert list(tmp_path.rglob("*")) == []  # onnxruntime sends what it notes in the home, some time later
