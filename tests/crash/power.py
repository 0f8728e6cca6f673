"""What a power cut leaves: the folder rebuilt out of a log of every call, as it stood after each of them.

A file holds what it held at its last fsync, a folder the names that it had at its own. Three systems are modelled.
`strict`: nothing else is kept. `names ahead`: names are written at once, bytes only when they are fsynced, as ext4 may
without its guard for renames. `bytes ahead`: bytes are written at once, names only when their folder is fsynced.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

SYSTEMS = ("strict", "names ahead", "bytes ahead")
HEAD = struct.Struct("=cQQII")


class Call(NamedTuple):
    """One call that succeeded: see `note` in `shim.c` for its kinds."""

    kind: str
    inode: int
    value: int
    path: str
    more: bytes


def calls(log: Path) -> Iterator[Call]:
    """Every call of a log, in order."""
    data = log.read_bytes()
    at = 0
    while at < len(data):
        kind, inode, value, path, more = HEAD.unpack_from(data, at)
        at += HEAD.size
        yield Call(kind.decode(), inode, value, data[at : at + path].decode(), data[at + path : at + path + more])
        at += path + more


@dataclass
class File:
    """A file: its bytes now, and those that were fsynced."""

    now: bytearray = field(default_factory=bytearray)
    kept: bytes = b""
    mode: int = 0o600
    link: str = ""


@dataclass
class Folder:
    """A folder: its names now, and those that were fsynced."""

    now: dict[str, File | Folder] = field(default_factory=dict)
    kept: dict[str, File | Folder] = field(default_factory=dict)


class Disk:
    """The folder at `root` as it is now, and what of it a power cut leaves while calls are replayed on it."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._inodes: dict[int, File | Folder] = {}
        self._top = self._read(root)

    def _read(self, path: Path) -> Folder:
        folder = Folder()
        self._inodes[path.stat().st_ino] = folder
        for entry in os.scandir(path):
            if entry.is_symlink():
                node: File | Folder = File(link=os.readlink(entry.path))
            elif entry.is_dir():
                node = self._read(Path(entry.path))
            else:
                data = Path(entry.path).read_bytes()
                node = File(bytearray(data), data, entry.stat().st_mode & 0o7777)
                self._inodes[entry.inode()] = node
            folder.now[entry.name] = node
        folder.kept = dict(folder.now)
        return folder

    def replay(self, call: Call) -> None:
        """Do it again. A file that no name leads to any more is as good as gone."""
        node = self._inodes.get(call.inode)
        match call.kind:
            case "o":
                folder, name = self._place(call.path)
                folder.now[name] = self._inodes[call.inode] = File()
            case "m":
                folder, name = self._place(call.path)
                folder.now[name] = self._inodes[call.inode] = Folder()
            case "k":
                folder, name = self._place(call.path)
                folder.now[name] = File(link=call.more.decode())
            case "w" if isinstance(node, File):
                node.now.extend(bytes(max(0, call.value - len(node.now))))
                node.now[call.value : call.value + len(call.more)] = call.more
            case "t" if isinstance(node, File):
                node.now.extend(bytes(max(0, call.value - len(node.now))))
                del node.now[call.value :]
            case "c" if isinstance(node, File):
                node.mode = call.value & 0o7777
            case "s" if isinstance(node, File):
                node.kept = bytes(node.now)
            case "s" if isinstance(node, Folder):
                node.kept = dict(node.now)
            case "r" | "l":
                here, name = self._place(call.path)
                there, new = self._place(call.more.decode())
                there.now[new] = here.now[name] if call.kind == "l" else here.now.pop(name)
            case "x":
                here, name = self._place(call.path)
                there, new = self._place(call.more.decode())
                here.now[name], there.now[new] = there.now[new], here.now[name]
            case "u":
                folder, name = self._place(call.path)
                del folder.now[name]

    def _place(self, path: str) -> tuple[Folder, str]:
        *folders, name = path.removeprefix(self._root + "/").split("/")
        found: File | Folder = self._top
        for part in folders:
            assert isinstance(found, Folder)
            found = found.now[part]
        assert isinstance(found, Folder)
        return found, name

    def cut(self, target: Path, system: str) -> None:
        """Write what a power cut would leave now into the new folder `target`. Nobody's shared memory survives one."""
        self._write(self._top, target, names=system == "names ahead", data=system == "bytes ahead")

    def _write(self, folder: Folder, target: Path, *, names: bool, data: bool) -> None:
        target.mkdir(mode=0o700)
        for name, node in (folder.now if names else folder.kept).items():
            if isinstance(node, Folder):
                self._write(node, target / name, names=names, data=data)
            elif node.link:
                (target / name).symlink_to(node.link)
            elif not name.endswith("-shm"):
                (target / name).write_bytes(node.now if data else node.kept)
                (target / name).chmod(node.mode)
