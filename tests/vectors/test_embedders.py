"""Which embedder the settings choose, what is said when there is none, and what counts as a vector."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nanomem_tui.core.errors import BadAnswer, BadInput, InvalidConfig, MissingExtra
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.core.settings import ABOUT, Settings
from nanomem_tui.vectors.embedders import embedder_of, unit_rows
from tests.store.homes import make_home
from tests.vectors.onnx_files import write_folder


@pytest.fixture
def paths(tmp_path):
    return find_workspace(make_home(tmp_path))


@pytest.mark.parametrize("backend", ["auto", "minilm", "reserved_hybrid"])
def test_minilm_is_what_is_taken_where_nothing_else_is_asked_for(paths, backend):
    found = embedder_of(Settings(embedding_backend=backend), paths)
    assert (found.name, found.dimension) == ("all-MiniLM-L6-v2-int8 1.0.0", 384)


def test_a_path_may_be_in_the_workspace_in_the_home_or_anywhere(paths, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    places = {"models/m": paths.workspace / "models/m", "~/m": tmp_path / "home/m", str(tmp_path / "m"): tmp_path / "m"}
    names = set()
    for told, folder in places.items():
        write_folder(folder)
        names.add(embedder_of(Settings(embedding_backend="onnx", embedding_model=told), paths).name)
    assert len(names) == 1
    assert names.pop().startswith("m onnx ")


@pytest.mark.parametrize(
    ("settings", "kind", "said"),
    [
        ({"embedding_enabled": False}, InvalidConfig, "search by meaning is switched off (embedding_enabled)"),
        ({"embedding_backend": "onnx"}, InvalidConfig, "embedding_model is not set"),
        ({"embedding_backend": "onnx", "embedding_model": "nothing"}, BadInput, "there is no such embedding model"),
        ({"embedding_backend": "endpoint"}, InvalidConfig, "embedding_base_url is not set"),
        (
            {"embedding_backend": "endpoint", "embedding_base_url": "http://127.0.0.1:1/v1"},
            InvalidConfig,
            "embedding_model is not set",
        ),
        ({"embedding_backend": "sentence-transformers"}, InvalidConfig, "embedding_model is not set"),
    ],
)
def test_what_cannot_be_chosen_is_said_in_one_line(paths, settings, kind, said):
    with pytest.raises(kind) as caught:
        embedder_of(Settings(**settings), paths)
    assert said in caught.value.line()
    assert "\n" not in caught.value.line()


def test_every_backend_that_may_be_set_is_one_that_can_be_chosen(paths, monkeypatch, library):
    write_folder(paths.workspace / "m")
    more = {"embedding_base_url": "http://127.0.0.1:1/v1", "embedding_model": "m"}
    names = [
        embedder_of(Settings(embedding_backend=backend, **more), paths).name
        for backend in ABOUT["embedding_backend"].choices
    ]
    assert len(set(names)) == 4  # auto, minilm and reserved_hybrid are one
    assert library == []  # nothing is loaded before there is a text


rows = arrays(np.float64, (2, 3), elements=st.floats(allow_nan=True, allow_infinity=True))


@examples(deadline=None)
@given(rows)
def test_a_row_is_brought_to_length_one_or_refused(given_rows):
    good = np.isfinite(given_rows).all() and given_rows.any(axis=1).all()
    if not good:
        with pytest.raises(BadAnswer):
            unit_rows(given_rows, "model")
        return
    found = unit_rows(given_rows, "model")
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert ((np.sign(found) == np.sign(given_rows)) | (np.abs(found) < 1e-30)).all()


@pytest.fixture
def library(monkeypatch):
    """A library `sentence_transformers` that notes how it is used."""
    used: list[Any] = []

    class Model:
        def __init__(self, name, **options):
            import os

            used.append((name, options, os.environ.get("HF_HUB_OFFLINE"), os.environ.get("TRANSFORMERS_OFFLINE")))
            if name == "none":
                raise OSError("We couldn't connect to the hub\nto load the files")

        def encode(self, texts, **options):
            used.append((texts, options))
            return np.array([[len(text), 1.0, 2.0] for text in texts])

    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = Model
    module.__spec__ = types.SimpleNamespace()
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    return used


def chosen(paths, **settings):
    return embedder_of(Settings(embedding_backend="sentence-transformers", **settings), paths)


def test_the_library_is_kept_from_the_network_and_quiet(paths, library):
    import os

    model = chosen(paths, embedding_model="all-MiniLM-L6-v2")
    rows = model.embed(["tea", "x" * 1_000_000])
    assert (model.name, model.dimension) == ("all-MiniLM-L6-v2 sentence-transformers", 3)
    np.testing.assert_allclose(rows[0], np.array([3, 1, 2]) / np.sqrt(14), atol=1e-6)
    assert library[0] == ("all-MiniLM-L6-v2", {"local_files_only": True, "trust_remote_code": False}, "1", "1")
    assert [len(text) for text in library[1][0]] == [3, 8000]
    assert library[1][1]["show_progress_bar"] is False
    assert [len(one) for one in library].count(4) == 1  # the model is loaded once
    assert "HF_HUB_OFFLINE" not in os.environ


def test_a_model_that_the_library_does_not_have_is_said_and_not_fetched(paths, library):
    with pytest.raises(BadInput) as caught:
        chosen(paths, embedding_model="none").embed(["tea"])
    assert "has no such model on this machine, and nothing is downloaded: none" in caught.value.line()


def test_a_folder_of_the_library_is_told_from_another_by_what_it_holds(paths, library):
    folder = write_folder(paths.workspace / "m")
    (folder / "model.safetensors").write_bytes(b"one")
    first = chosen(paths, embedding_model="m").name
    (folder / "model.safetensors").write_bytes(b"two")
    assert chosen(paths, embedding_model="m").name != first
    assert first.startswith("m sentence-transformers ")


def test_the_library_that_is_not_installed_is_named(paths, monkeypatch):
    from importlib import util

    monkeypatch.setattr(util, "find_spec", lambda *_: None)
    with pytest.raises(MissingExtra, match="sentence-transformers is not installed"):
        chosen(paths, embedding_model="m")
