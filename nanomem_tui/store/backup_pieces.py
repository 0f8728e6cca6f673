"""Read backups of the first edition: a tar of compressed pieces named by their SHA-256, which may build on another one.

The pieces that an archive lacks lie in the one that its manifest calls `base`, in the same folder. Writes nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nanomem_tui import json_text
from nanomem_tui.errors import BadInput, NotFound, from_os_error
from nanomem_tui.store import atomic

_MANIFEST = "manifest.json"
_LARGEST_MANIFEST = 1 << 28
_LARGEST_PIECE = 512 * 1024


class Pieces:
    """One archive and those that it builds on, open until `files` is closed. Raises BadInput where one is damaged and
    NotFound where one is gone."""

    def __init__(self, path: Path, files: contextlib.ExitStack) -> None:
        self._files = files
        self._members: dict[str, tuple[tarfile.TarFile, tarfile.TarInfo]] = {}
        self.manifest = self._open(path, ())
        self._names = {entry["path"]: entry["pieces"] for entry in self.manifest["entries"]}

    def data(self, path: str) -> Iterator[bytes]:
        """The file of that path, piece by piece. Raises BadInput where a piece is gone or not what it was."""
        for name in self._names[path]:
            yield self._piece(name)

    def _open(self, path: Path, above: tuple[str, ...]) -> dict[str, Any]:
        """Open one archive, called for by those `above`, and what it builds on; return its manifest."""
        fix = "it was copied in part, or damaged; take another one (`nanomem backup list`)"
        needs = f"needs {path.name}, which is" if above else ""
        try:
            file = self._files.enter_context(os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb"))
            tar = self._files.enter_context(tarfile.TarFile(path, fileobj=file, mode="r"))
            members = tar.getmembers()
            if not members or members[-1].name != _MANIFEST or members[-1].size > _LARGEST_MANIFEST:
                raise ValueError("no manifest")
            manifest = _manifest(tar.extractfile(members[-1]).read())  # type: ignore[union-attr]
        except FileNotFoundError:
            raise NotFound(f"{needs} gone" if needs else "no such backup", str(path), fix) from None
        except (tarfile.TarError, ValueError, KeyError, TypeError, AttributeError, EOFError) as error:
            what = f"{needs} damaged" if needs else "not a backup of nanomem, or a damaged one"
            raise BadInput(what, str(path), fix) from error
        except OSError as error:
            raise from_os_error(error, f"reading {path.name}") from error
        for member in members[:-1]:
            self._members.setdefault(member.name[2:], (tar, member))
        if base := manifest["base"]:
            if base in (*above, path.name) or os.path.basename(base) != base:
                raise BadInput("a backup that builds on itself", str(path), fix)
            self._open(path.with_name(base), (*above, path.name))
        return manifest

    def _piece(self, name: str) -> bytes:
        if name not in self._members:
            raise BadInput("a piece is gone", name[:16])
        tar, member = self._members[name]
        inside = f", in {os.path.basename(str(tar.name))}"
        try:
            stream = tar.extractfile(member)
            data = stream.read() if stream is not None else b""
            if member.name.startswith("z/"):
                data = zlib.decompressobj().decompress(data, _LARGEST_PIECE)
        except (OSError, tarfile.TarError, zlib.error) as error:
            raise BadInput(f"a piece cannot be read{inside}", name[:16]) from error
        if atomic.sha256(data) != name:
            raise BadInput(f"a piece is not what it was{inside}", name[:16])
        return data


def _manifest(data: bytes) -> dict[str, Any]:
    """The manifest, which has a hash of its own but in the first format. Raises ValueError where it does not fit."""
    manifest: dict[str, Any] = json_text.loads(data)
    given = manifest.pop("sha256", None)
    if manifest["format"] not in (1, 2) or not isinstance(manifest["base"], str):
        raise ValueError("not a manifest")
    if manifest["format"] == 2 and given != atomic.sha256(json.dumps(manifest, sort_keys=True).encode()):
        raise ValueError("not the manifest that was written")
    return manifest
