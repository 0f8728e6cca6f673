"""Man pages of this machine as documents: found where `man` looks for them, read by our own reader.

No program is run, neither `man` nor anything that a page names. Links to other pages stay within their folder of pages.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from nanomem_tui.errors import BadInput, NanomemError, NotFound, Problem
from nanomem_tui.formats.man_page import parse_man_page
from nanomem_tui.store.knowledge_values import Document
from nanomem_tui.tiers.knowledge_files import LARGEST, Found, is_binary, made, read
from nanomem_tui.tiers.knowledge_layer import Tell, quiet

_DEFAULT = ("/usr/local/share/man", "/usr/local/man", "/usr/share/man", "/usr/man")
_FILE = re.compile(r"(?P<name>.+?)\.(?P<section>[0-9nl][0-9A-Za-z+]*)(?P<packed>\.(?:gz|bz2|xz|lzma|zst|Z))?")
_ASKED = re.compile(r"(?P<name>[^()\s]+?)(?:\((?P<one>[0-9nl]\w*)\)|\.(?P<two>[0-9][a-z]*))?")
_LINK = re.compile(rb"(?:[.'][ \t]*\\\"[^\n]*\n|\n)*[.']so[ \t]+(\S+)\s*")
_LINKS = 5
ALL = "man pages"
"""What the pages are a part of that were added all at once."""


class ManualPage(NamedTuple):
    """A page and the file that it is in."""

    name: str
    section: str
    path: Path

    @property
    def title(self) -> str:
        """The page as one cites it: `nginx(8)`."""
        return f"{self.name}({self.section})"


def folders() -> list[Path]:
    """Where man pages lie: MANPATH (an empty part of it stands for what follows), beside the programs of PATH, and the
    usual places."""
    usual: list[str] = []
    for program in os.environ.get("PATH", "").split(os.pathsep):
        if os.path.isabs(program):
            parent = os.path.dirname(program.rstrip("/"))
            usual += [os.path.join(parent, "share", "man"), os.path.join(parent, "man")]
    usual += _DEFAULT
    named = os.environ.get("MANPATH", "")
    wanted: list[str] = []
    for part in named.split(os.pathsep) if named else [""]:
        wanted += [part] if part else usual
    found: dict[Path, None] = {}
    for folder in wanted:
        if os.path.isabs(folder) and os.path.isdir(folder):
            found[Path(os.path.realpath(folder))] = None
    return list(found)


def pages(name: str = "") -> Iterator[ManualPage]:
    """The pages of that name in every section, or all pages; of pages with the same name the first by MANPATH."""
    seen: set[tuple[str, str]] = set()
    for folder in folders():
        for section in sorted(entry for entry in os.listdir(folder) if re.fullmatch(r"man[0-9nl]\w*", entry)):
            try:
                files = sorted(os.listdir(folder / section))
            except OSError:
                continue
            for file in files:
                if name and not file.startswith(f"{name}."):
                    continue
                match = _FILE.fullmatch(file)
                if match is None or (name and match["name"] != name) or (match["name"], match["section"]) in seen:
                    continue
                seen.add((match["name"], match["section"]))
                yield ManualPage(match["name"], match["section"], folder / section / file)


def named(asked: str) -> list[ManualPage]:
    """The pages that `nginx`, `nginx.8` or `nginx(8)` names. Raises NotFound or BadInput."""
    match = _ASKED.fullmatch(asked.strip())
    if match is None or "/" in asked or asked.startswith("."):
        raise BadInput("not the name of a man page", asked, "name it like nginx, or nginx(8)")
    section = match["one"] or match["two"] or ""
    found = list(pages(asked.strip())) if match["two"] else []
    found = found or [page for page in pages(match["name"]) if page.section.startswith(section)]
    if not found:
        fix = "look with `man -k`, or name its folder in MANPATH"
        raise NotFound("no such man page", asked, fix)
    return found


def of_names(names: Iterable[str], tell: Tell = quiet) -> Found:
    """The pages of these names as documents. Raises NotFound for a name that no page has."""
    wanted = {page.path: page for name in names for page in named(name)}
    return documents(wanted.values(), "", tell)


def every(tell: Tell = quiet) -> Found:
    """All man pages of this machine as documents; raises NotFound where there are none."""
    wanted = list(pages())
    if not wanted:
        raise NotFound("no man pages on this machine", "", "install some, or name their folder in MANPATH")
    return documents(wanted, ALL, tell)


def documents(wanted: Iterable[ManualPage], part_of: str, tell: Tell = quiet) -> Found:
    """Pages as documents, each once, however many names lead to it."""
    found = Found([], [])
    seen: set[Path] = set()
    every_page = list(wanted)
    for number, page in enumerate(every_page):
        tell("Reading man pages", number, len(every_page))
        try:
            real, data = _resolved(page)
            if real.path in seen:
                continue
            seen.add(real.path)
            found.documents.append(document(real, data, part_of))
        except NanomemError as error:
            found.problems.append(Problem(error.what, str(page.path), severity="warning"))
    return found


def document(page: ManualPage, data: bytes, part_of: str = "") -> Document:
    """A page as a document. Raises BadInput for what is no text."""
    if is_binary(data):
        raise BadInput("no man page: it holds bytes that no text has", str(page.path))
    try:
        source = data.decode()
    except UnicodeDecodeError:  # pages older than UTF-8
        source = data.decode("latin-1")
    meta = {"path": str(page.path), **({"of": part_of} if part_of else {})}
    return made(parse_man_page(source, page.title), "man", str(page.path), meta)


def reread(path: Path) -> Document:
    """The page in a file. Raises NotFound or BadInput."""
    match = _FILE.fullmatch(path.name)
    if match is None:
        raise BadInput("not the file of a man page", str(path))
    return document(*_resolved(ManualPage(match["name"], match["section"], path)))


def _resolved(page: ManualPage) -> tuple[ManualPage, bytes]:
    """The page that a link or a page of one line `.so` leads to, with its text unpacked."""
    root = page.path.parent.parent
    for _ in range(_LINKS):
        real = Path(os.path.realpath(page.path))
        if real != page.path and real.is_relative_to(os.path.realpath(root)):
            match = _FILE.fullmatch(real.name)
            page = ManualPage(match["name"], match["section"], real) if match else page
        data = unpacked(page.path)
        link = _LINK.fullmatch(data) if len(data) < 2000 else None
        if link is None:
            return page, data
        name = link[1].decode("latin-1")
        folder = root if "/" in name else page.path.parent
        near = [folder / (name + ending) for ending in ("", ".gz", ".xz", ".bz2")]
        target = next((path for path in near if path.is_file()), None)
        inside = target is not None and Path(os.path.realpath(target)).is_relative_to(os.path.realpath(root))
        match = _FILE.fullmatch(target.name) if target is not None and inside else None
        if target is None or match is None:
            raise NotFound("a page that only leads to another one, which is not there", name)
        page = ManualPage(match["name"], match["section"], target)
    raise BadInput("pages that lead to each other", str(page.path))


def unpacked(path: Path) -> bytes:
    """The bytes of a file, of a packed one what is in it. Raises BadInput for more than any page has."""
    data = read(path)
    try:
        if path.suffix == ".gz":
            data = zlib.decompressobj(31).decompress(data, LARGEST + 1)
        elif path.suffix == ".bz2":
            import bz2

            data = bz2.BZ2Decompressor().decompress(data, LARGEST + 1)
        elif path.suffix in (".xz", ".lzma"):
            import lzma

            data = lzma.LZMADecompressor().decompress(data, LARGEST + 1)
        elif path.suffix in (".zst", ".Z"):
            raise BadInput(f"packed as {path.suffix}, which is not read", str(path))
    except (zlib.error, OSError, EOFError, ValueError) as error:
        raise BadInput("a packed file that cannot be unpacked", str(path)) from error
    except Exception as error:  # lzma.LZMAError, which is named only where lzma is there
        if type(error).__name__ != "LZMAError":
            raise
        raise BadInput("a packed file that cannot be unpacked", str(path)) from error
    if len(data) > LARGEST:
        raise BadInput(f"unpacked it is larger than {LARGEST // 2**20} MB", str(path))
    return data
