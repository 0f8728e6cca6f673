"""A model on this machine is read as it wants to be; what is none, or wants what we cannot, is said in one line."""

import json
import sys

import numpy as np
import pytest

from nanomem_tui.core.errors import BadAnswer, BadInput, MissingExtra, NanomemError
from nanomem_tui.vectors.embedders import onnx_model
from tests.vectors.onnx_files import INT32, INT64, WORDS, table, write_folder, write_model

ID = {word: number for number, word in enumerate(WORDS)}


def unit(row):
    return row / np.linalg.norm(row)


def mean_of(*words):
    return unit(np.mean([table()[ID[word]] for word in ("[CLS]", *words, "[SEP]")], axis=0))


def refusal(path):
    """What is said of a model that cannot be used, at the latest with the first text."""
    with pytest.raises(NanomemError) as caught:
        onnx_model(path).embed(["tea"])
    line = caught.value.line()
    assert "\n" not in line
    assert isinstance(caught.value, BadInput | BadAnswer)
    return line


@pytest.mark.parametrize("place", [".", "model.onnx"])
def test_a_folder_and_a_file_in_it_are_one_model(tmp_path, place):
    write_folder(tmp_path / "small")
    model = onnx_model(tmp_path / "small" / place)
    assert model.name.startswith("small onnx ")
    assert model.dimension == 4
    rows = model.embed(["Tea, coffees", "milk"])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows[0], mean_of("tea", "[UNK]", "coffee", "##s"), atol=1e-6)
    np.testing.assert_allclose(rows[1], mean_of("milk"), atol=1e-6)


def test_texts_of_every_length_come_back_in_their_order(tmp_path):
    model = onnx_model(write_folder(tmp_path / "small"))
    texts = [" ".join(["tea"] * many + ["milk"]) for many in (300, 1, 40, 0, 120, 7, 1, 90, 255, 2)]
    together = model.embed(texts)
    np.testing.assert_allclose(together, np.concatenate([model.embed([text]) for text in texts]), atol=1e-6)
    assert model.embed([]).shape == (0, 4)


def test_the_settings_beside_a_model_say_how_it_is_read(tmp_path):
    told = {
        "sentence_bert_config": {"max_seq_length": 4},
        "tokenizer_config": {"do_lower_case": False},
        "1_Pooling__config": {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False},
        "modules": [{"type": "sentence_transformers.models.Transformer"}, {"type": "x.Pooling"}, {"type": "Normalize"}],
    }  # fmt: skip
    cased = onnx_model(write_folder(tmp_path / "cased", **told))
    np.testing.assert_allclose(cased.embed(["Tea té"])[0], unit(table()[ID["[CLS]"]]), atol=1e-6)
    del told["1_Pooling__config"]
    mean = onnx_model(write_folder(tmp_path / "mean", **told)).embed(["Tea té tea tea"])
    np.testing.assert_allclose(mean[0], mean_of("Tea", "té"), atol=1e-6)


def test_a_vocabulary_may_stand_in_the_tokenizer_and_the_model_in_a_folder_of_its_own(tmp_path):
    tokenizer = {"model": {"type": "WordPiece", "vocab": ID}, "normalizer": {"lowercase": True, "strip_accents": False}}
    folder = write_folder(tmp_path / "small", tokenizer=tokenizer)
    (folder / "vocab.txt").unlink()
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    model = onnx_model(folder)
    assert model.name.startswith("small onnx ")
    np.testing.assert_allclose(model.embed(["Té"])[0], mean_of("té"), atol=1e-6)


@pytest.mark.parametrize(
    "inputs", [{"input_ids": INT32}, {"input_ids": INT64, "attention_mask": INT32, "token_type_ids": INT64}]
)
def test_the_inputs_of_a_model_are_found_out(tmp_path, inputs):
    write_model(write_folder(tmp_path / "small") / "model.onnx", inputs=inputs, output="anything")
    np.testing.assert_allclose(onnx_model(tmp_path / "small").embed(["tea"])[0], mean_of("tea"), atol=1e-6)


def test_a_model_that_pools_by_itself_is_believed(tmp_path):
    write_model(write_folder(tmp_path / "small") / "model.onnx", output="sentence_embedding", pooled=True)
    expected = np.max([table()[ID[word]] for word in ("[CLS]", "tea", "[SEP]")], axis=0)
    np.testing.assert_allclose(onnx_model(tmp_path / "small").embed(["tea"])[0], unit(expected), atol=1e-6)


def test_another_model_has_another_name_and_the_same_one_elsewhere_the_same_digest(tmp_path):
    names = {
        "one": onnx_model(write_folder(tmp_path / "a" / "m")).name,
        "again": onnx_model(write_folder(tmp_path / "b" / "m")).name,
        "words": onnx_model(write_folder(tmp_path / "c" / "m", words=[*WORDS, "more"])).name,
        "limit": onnx_model(write_folder(tmp_path / "d" / "m", sentence_bert_config={"max_seq_length": 9})).name,
    }
    write_model(write_folder(tmp_path / "e" / "m") / "model.onnx", table() + 0.5)
    names["weights"] = onnx_model(tmp_path / "e" / "m").name
    assert names.pop("again") == names["one"]
    assert len(set(names.values())) == len(names)


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
def test_a_vector_without_direction_is_refused(tmp_path, value):
    write_model(write_folder(tmp_path / "small") / "model.onnx", np.full((len(WORDS), 4), value))
    assert ("no number" if value else "zero") in refusal(tmp_path / "small")


def _nothing(folder):
    for file in folder.iterdir():
        file.unlink()


def _without_words(folder):
    (folder / "vocab.txt").unlink()


def _two(folder):
    (folder / "model.onnx").rename(folder / "one.onnx")
    write_model(folder / "two.onnx")


def _text(folder):
    (folder / "model.onnx").write_text("this is a page\nof text")


def _cut(folder):
    (folder / "model.onnx").write_bytes((folder / "model.onnx").read_bytes()[:120])


def _empty(folder):
    (folder / "model.onnx").write_bytes(b"")


def _pictures(folder):
    write_model(folder / "model.onnx", inputs={"pixel_values": INT64})


def _few_rows(folder):
    write_model(folder / "model.onnx", table()[:3])


def _no_marks(folder):
    (folder / "vocab.txt").write_text("tea\ncoffee\n")


def _tokenizer(kind):
    return lambda folder: (folder / "tokenizer.json").write_text(json.dumps({"model": {"type": kind}})) and None


def _broken_settings(folder):
    (folder / "sentence_bert_config.json").write_text("{")


def _pooled_otherwise(folder):
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_lasttoken": True}))


def _more_layers(folder):
    (folder / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.models.Dense"}]))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_nothing, "the folder holds no ONNX file"),
        (_two, "the folder holds several ONNX files"),
        (_without_words, "there is no vocabulary beside the model"),
        (_no_marks, "the vocabulary lacks [CLS]"),
        (_text, "this is no ONNX model"),
        (_cut, "this is no ONNX model"),
        (_empty, "this is no ONNX model"),
        (_pictures, "this model takes pixel_values: it is none for texts"),
        (_few_rows, "the model cannot be run"),
        (_broken_settings, "a file of the embedding model is no JSON"),
        (_pooled_otherwise, "the model pools by lasttoken"),
        (_more_layers, "the model has a layer Dense"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(tmp_path, spoil, said, capfd):
    folder = write_folder(tmp_path / "small")
    spoil(folder)
    line = refusal(folder)
    assert said in line
    assert str(folder) in line
    assert capfd.readouterr() == ("", "")  # the library would write over a screen


@pytest.mark.parametrize("kind", ["BPE", "Unigram"])
def test_a_model_with_another_tokenizer_says_which_library_reads_it(tmp_path, kind, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)  # as if it were not installed
    folder = write_folder(tmp_path / "small")
    _tokenizer(kind)(folder)
    with pytest.raises(MissingExtra) as caught:
        onnx_model(folder)
    line = caught.value.line()
    assert f"the model cuts texts by {kind}, and the library tokenizers is not installed: {folder}" in line
    assert "tokenizers" in caught.value.fix
    assert "endpoint" in caught.value.fix


def test_a_path_that_is_not_there_is_said(tmp_path):
    assert "there is no such embedding model" in refusal(tmp_path / "none.onnx")
