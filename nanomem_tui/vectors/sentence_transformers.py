"""A model of the library sentence-transformers, where the user has installed it and chose it. Never downloads one.

Owns how the library is made to stay at home and quiet. It is no part of an extra of ours: it weighs a gigabyte.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanomem_tui.errors import BadInput, MissingExtra, from_os_error
from nanomem_tui.installing import library_command
from nanomem_tui.vectors.embedders import LONGEST, fingerprint, unit_rows

if TYPE_CHECKING:
    from nanomem_tui.vectors.embedders import Rows

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
