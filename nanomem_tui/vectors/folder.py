"""An embedding model that lies on this machine as an ONNX file, with its vocabulary and settings beside it.

Owns finding out how a model of that kind wants to be read, from the files that the library sentence-transformers
writes. What nanomem cannot do as the model wants it, is refused and never done otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from nanomem_tui.errors import BadInput, from_os_error
from nanomem_tui.vectors.fingerprint import fingerprint
from nanomem_tui.vectors.onnx_file import Model, OnnxEmbedder
from nanomem_tui.vectors.wordpiece import CLS, SEP, UNKNOWN, WordPiece

_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_LIMIT = 256
"""Tokens of a text where the model does not say how many it takes."""

_MOST = 8192
_LAYERS = frozenset({"Transformer", "Pooling", "Normalize"})
_FIX = "set embedding_path to an ONNX file with vocab.txt beside it"


def onnx_model(path: Path) -> OnnxEmbedder:
    """The model of a file, or of a folder that holds one. Raises BadInput when it is none, or not read as it wants."""
    try:
        return _found(path)
    except OSError as error:
        raise from_os_error(error, "reading an embedding model") from error


def _found(path: Path) -> OnnxEmbedder:
    file = _file(path).absolute()
    folder = file.parent.parent if file.parent.name == "onnx" else file.parent
    folders = (file.parent, folder)
    vocabulary, words, tokenizer = _vocabulary(folders)
    lower, accents = _writing(tokenizer, _object(_beside(folders, "tokenizer_config.json")))
    limit = _limit(folders)
    pooling = _pooling(folder)
    beside = sorted(file.parent.glob(f"{file.name}_data*")) + sorted(file.parent.glob(f"{file.name}.data*"))
    digest = fingerprint([file, *beside, vocabulary], str(limit), pooling, str(lower), str(accents))
    return OnnxEmbedder(
        Model(
            name=f"{folder.name} onnx {digest}",
            file=file,
            tokens=lambda: WordPiece(words, lower=lower, accents=accents),
            limit=limit,
            pooling=pooling,
        )
    )


def _file(path: Path) -> Path:
    """The model file. Raises BadInput when there is none, or more than one to choose from."""
    if path.is_file():
        return path
    if not path.is_dir():
        raise BadInput("there is no such embedding model", str(path), _FIX)
    for name in _FILES:
        if (path / name).is_file():
            return path / name
    found = sorted([*path.glob("*.onnx"), *path.glob("onnx/*.onnx")])
    if len(found) != 1:
        what = "the folder holds several ONNX files" if found else "the folder holds no ONNX file"
        raise BadInput(what, str(path), _FIX)
    return found[0]


def _vocabulary(folders: tuple[Path, ...]) -> tuple[Path, Mapping[str, int], Mapping[str, Any]]:
    """The file of the vocabulary, its words with their ids, and the tokenizer that it stands in (`{}` for a list)."""
    tokenizer = _object(_beside(folders, "tokenizer.json"))
    listed = _beside(folders, "vocab.txt")
    model = tokenizer.get("model", {})
    kind = model.get("type", "WordPiece") if isinstance(model, dict) else "WordPiece"
    if kind != "WordPiece":
        raise BadInput(f"the model cuts texts by {kind}, nanomem by WordPiece alone", str(folders[0]),
                       "serve it behind an endpoint (embedding_backend endpoint)")  # fmt: skip
    words: dict[str, int]
    if listed is not None:
        text = listed.read_bytes().decode("utf-8", "replace")
        words = {word.rstrip("\r"): number for number, word in enumerate(text.split("\n"))}
        words.pop("", None)
        file = listed
    else:
        found = model.get("vocab") if isinstance(model, dict) else None
        if not isinstance(found, dict):
            raise BadInput("there is no vocabulary beside the model (vocab.txt)", str(folders[0]), _FIX)
        words = {word: number for word, number in found.items() if isinstance(number, int)}
        file = next(folder / "tokenizer.json" for folder in folders if (folder / "tokenizer.json").is_file())
    if lacking := {CLS, SEP, UNKNOWN} - set(words):
        raise BadInput(f"the vocabulary lacks {min(lacking)}", str(file), _FIX)
    return file, words, tokenizer


def _writing(tokenizer: Mapping[str, Any], config: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether words are in lower case, and whether they keep their accents."""
    normal = tokenizer.get("normalizer")
    told: dict[str, Any] = {**config, **(normal if isinstance(normal, dict) else {})}
    lower = told.get("lowercase", told.get("do_lower_case", True)) is not False
    strip = told.get("strip_accents")
    return lower, not (lower if strip is None else strip is True)


def _limit(folders: tuple[Path, ...]) -> int:
    for name, key in (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        found = _object(_beside(folders, name)).get(key)
        if isinstance(found, int) and 2 < found <= _MOST:
            return found
    return _LIMIT


def _pooling(folder: Path) -> Literal["mean", "first"]:
    """How the vectors of the tokens become one. Raises BadInput for a way, or a layer, that nanomem does not know."""
    layers = _json(folder / "modules.json", [])
    names = [str(layer.get("type", "")).rpartition(".")[2] for layer in layers if isinstance(layer, dict)]
    if unknown := [name for name in names if name not in _LAYERS]:
        raise BadInput(f"the model has a layer {unknown[0]}, which nanomem does not know", str(folder),
                       "serve it behind an endpoint (embedding_backend endpoint)")  # fmt: skip
    told = _object(folder / "1_Pooling" / "config.json")
    ways = [name.removeprefix("pooling_mode_") for name, on in told.items() if name.startswith("pooling_mode_") and on]
    if ways == ["cls_token"]:
        return "first"
    if ways not in ([], ["mean_tokens"]):
        raise BadInput(f"the model pools by {', '.join(ways)}, nanomem by mean_tokens or cls_token", str(folder),
                       "serve it behind an endpoint (embedding_backend endpoint)")  # fmt: skip
    return "mean"


def _beside(folders: tuple[Path, ...], name: str) -> Path | None:
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def _object(path: Path | None) -> Mapping[str, Any]:
    found = _json(path, {}) if path is not None else {}
    return found if isinstance(found, dict) else {}


def _json(path: Path, otherwise: Any) -> Any:
    """What a file holds, `otherwise` when there is none. Raises BadInput when it does not parse."""
    if not path.is_file():
        return otherwise
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise BadInput("a file of the embedding model is no JSON", str(path), _FIX) from None
