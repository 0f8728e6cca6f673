"""Which parts of a workspace changed on disk since the last look, told by `stat` alone; cheap enough for each second.

Must not read a file, and must not know what a file means: it names layers, the workspace reloads them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from nanomem_tui.paths import TRACKED_FILES, Paths

LAYERS = ("items", "lessons", "sessions", "wal", "history", "dream", "documents", "notes", "review", "usage", "tiers")

TICK = 10_000_000
"""Nanoseconds that the time of a file may lie behind the clock: kernels stamp files by the tick."""

Print = tuple[tuple[str, int, int, int], ...]
"""For each file its path, inode, size in bytes and time of change in nanoseconds."""


class Watch:
    """Remembers the files of each layer as they were when it was made or last asked.

    `sessions` tells where the transcripts lie now. `state_folder`: where the session state lies, when not in its usual
    place. `databases`: those of another system, beside the one in the agent's home. `since`: a time in nanoseconds,
    before it was made, from which changes count too: the first look names them, so that who opens a workspace need not
    look at every file before the first is read. Our own database is left out: it tells of foreign commits itself.
    `tiers.db` is not. Temporary files of anybody are ignored.
    """

    def __init__(
        self,
        paths: Paths,
        sessions: Callable[[], Path | None] = lambda: None,
        *,
        since: int | None = None,
        state_folder: Path | None = None,
        databases: Iterable[Path] = (),
    ) -> None:
        self._paths = paths
        self._state_folder = state_folder or paths.wal_dir
        usual = paths.home / "memory" / "longterm.db" if paths.home is not None else None
        self._databases = tuple(dict.fromkeys(filter(None, (usual, *databases))))
        self._sessions_now = sessions
        self._late = self._changed_since(since - TICK) if since is not None else set()
        self._seen = {layer: self._print(layer) for layer in LAYERS}

    def look(self) -> set[str]:
        """The names of the layers that changed since the last look."""
        changed, self._late = self._late, set()
        for layer in LAYERS:
            found = self._print(layer)
            if found != self._seen[layer]:
                self._seen[layer] = found
                changed.add(layer)
        return changed

    def seen(self, *layers: str) -> None:
        """Take those layers as they are now, without reporting them: for a change that we made ourselves."""
        for layer in layers:
            self._seen[layer] = self._print(layer)

    def _changed_since(self, moment: int) -> set[str]:
        """The layers with a file that was written since, or in whose folder of files one was removed."""
        folders = {
            "sessions": self._session_folders(),
            "wal": (self._state_folder,),
            "notes": (self._paths.memory / "episodic", self._paths.memory / "semantic"),
            "review": (self._paths.review,),
        }
        return {
            layer
            for layer in LAYERS
            if any(at.st_ctime_ns >= moment for _, at in (*self._files(layer), *_files(folders.get(layer, ()))))
        }

    def _print(self, layer: str) -> Print:
        found = ((path, at.st_ino, at.st_size, at.st_mtime_ns) for path, at in self._files(layer))
        return tuple(sorted(found))

    def _files(self, layer: str) -> Iterable[tuple[str, os.stat_result]]:
        sources: dict[str, Callable[[], Iterable[tuple[str, os.stat_result]]]] = {
            "items": self._items,
            "lessons": lambda: _files((self._paths.lessons,)),
            "sessions": self._sessions,
            "wal": lambda: _folder(self._state_folder, (".md",)),
            "history": lambda: _files((self._paths.history, self._paths.history_md, self._paths.cursor)),
            "dream": self._dream,
            "documents": lambda: _files(self._paths.workspace / name for name in TRACKED_FILES),
            "notes": self._notes,
            "review": lambda: _folder(self._paths.review, (".json",)),
            "usage": self._usage,
            "tiers": self._tiers,
        }
        return sources[layer]()

    def _items(self) -> Iterable[tuple[str, os.stat_result]]:
        beside = (path.with_name(f"{path.name}-wal") for path in self._databases)
        return _files((self._paths.ltm_snapshot, *self._databases, *beside))

    def _usage(self) -> Iterable[tuple[str, os.stat_result]]:
        log = self._paths.token_log
        return _files((log, log.with_name(f"{log.name}-wal"))) if log is not None else ()

    def _tiers(self) -> Iterable[tuple[str, os.stat_result]]:
        path = self._paths.tiers_database
        return _files((path, path.with_name(f"{path.name}-wal")))

    def _sessions(self) -> Iterable[tuple[str, os.stat_result]]:
        for folder in self._session_folders():
            yield from _folder(folder, (".jsonl", ".checkpoint.json"))

    def _session_folders(self) -> tuple[Path, ...]:
        folder = self._sessions_now()
        return (folder,) if folder is not None else ()

    def _dream(self) -> Iterable[tuple[str, os.stat_result]]:
        yield from _files((self._paths.dream_cursor,))
        for git in (*self._paths.git_dirs, *filter(None, [self._paths.outer_git_dir])):
            yield from _files((git / "HEAD", git / "packed-refs"))
            yield from _tree(git / "refs" / "heads")

    def _notes(self) -> Iterable[tuple[str, os.stat_result]]:
        for path, at in _folder(self._paths.memory, (".md",)):
            if not path.endswith(("/MEMORY.md", "/HISTORY.md")):
                yield path, at
        for name in ("episodic", "semantic"):
            yield from _folder(self._paths.memory / name, (".md",))


def _files(paths: Iterable[Path]) -> Iterable[tuple[str, os.stat_result]]:
    for path in paths:
        try:
            yield str(path), os.stat(path)
        except OSError:
            continue


def _folder(folder: Path, endings: tuple[str, ...]) -> Iterable[tuple[str, os.stat_result]]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.name.endswith(endings) and not entry.name.startswith("."):
            try:
                yield entry.path, entry.stat()
            except OSError:
                continue


def _tree(folder: Path) -> Iterable[tuple[str, os.stat_result]]:
    """Branches of every depth: `dream/x` is a folder in a folder."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        try:
            at = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if stat.S_ISDIR(at.st_mode):
            yield from _tree(Path(entry.path))
        elif not entry.name.endswith(".lock"):
            yield entry.path, at
