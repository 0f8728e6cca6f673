"""Who wrote each line as of one commit, kept on disk: a cache that may be deleted at any time.

What it says of a commit can never change, so it is good as long as it is whole: each file carries the commit, the blob
and a checksum of itself, and one that does not fit is as if it were not there. Files are 0600, in their own folder.
Must not walk a history; failing to write is no error.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nanomem_tui import json_text
from nanomem_tui.errors import NanomemError
from nanomem_tui.store import atomic
from nanomem_tui.store.git_objects import is_sha

_FORM = 1
_MOST_BYTES = 64 * 1024 * 1024


class Kept(NamedTuple):
    """The file `path` as of `commit`, where it was `blob`: who wrote each line, and who wrote it first."""

    path: str
    commit: str
    blob: str
    writers: tuple[str, ...]
    first: tuple[str, ...]


def load(folder: Path, git_dir: Path, path: str) -> Kept | None:
    """What was kept of `path`; None when nothing was, or it is damaged. Never raises."""
    try:
        handle = os.open(_file(folder, git_dir, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:
            data = file.read(_MOST_BYTES)
        checksum, _, body = data.partition(b"\n")
        if checksum.decode("ascii") != atomic.sha256(body):
            return None
        value = json_text.loads(body)
        names = [sha for sha in value["shas"] if is_sha(sha)]
        writers = tuple(names[number] for number in value["writers"])
        first = tuple(names[number] for number in value["first"])
        kept = Kept(value["path"], value["commit"], value["blob"], writers, first)
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None
    whole = value.get("form") == _FORM and kept.path == path and is_sha(kept.commit) and len(writers) == len(first)
    return kept if whole else None


def save(folder: Path, git_dir: Path, kept: Kept) -> None:
    """Keep it, durable and whole or not at all; quietly not at all where nothing can be written."""
    names: dict[str, int] = {}
    for sha in (*kept.writers, *kept.first):
        names.setdefault(sha, len(names))
    value = {
        "form": _FORM,
        "path": kept.path,
        "commit": kept.commit,
        "blob": kept.blob,
        "shas": list(names),
        "writers": _numbers(names, kept.writers),
        "first": _numbers(names, kept.first),
    }
    body = json.dumps(value, separators=(",", ":")).encode()
    with contextlib.suppress(NanomemError, OSError):
        atomic.make_folder(folder)
        atomic.write_atomic(_file(folder, git_dir, kept.path), atomic.sha256(body).encode() + b"\n" + body, mode=0o600)


def _numbers(names: dict[str, int], shas: Sequence[str]) -> list[int]:
    return [names[sha] for sha in shas]


def _file(folder: Path, git_dir: Path, path: str) -> Path:
    """One file for each file of each repository: several workspaces may share a home."""
    name = f"{git_dir}\0{path}".encode("utf-8", "surrogateescape")
    return folder / f"{atomic.sha256(name)[:24]}.json"
