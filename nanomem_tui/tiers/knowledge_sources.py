"""Documents of the knowledge base out of what lies on this machine: files and folders, saved pages, packs, man pages,
what packages say of themselves, and the pages of this package; each cut into chunks.

Reads files, and runs `mandoc` or `man` for man pages, nothing else: an address of the web is refused, a link that leads
out of a folder is not followed, no archive is unpacked onto the disk, what is no text is refused in one line. Changes
nothing.

A chunk never goes across a heading. Neighbouring blocks of one section are put together until there are LEAST words; an
entry of a list, say an option of a man page, is never parted from what explains it, unless that is longer than WHOLE
words.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import json
import lzma
import os
import re
import shutil
import signal
import stat
import subprocess
import tarfile
import tempfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, cast

from nanomem_tui.agents.documents import (  # fmt: skip
    Block,
    Piece,
    Reading,
    decode_page,
    parse_man_page,
    parse_markdown,
    parse_saved_page,
    parse_text,
)
from nanomem_tui.agents.markdown import decode
from nanomem_tui.core.errors import BadInput, NanomemError, NotFound, Problem, from_os_error
from nanomem_tui.core.text import counted, one_line, safe_text
from nanomem_tui.store.work.values import PATH, Chunk, Document

Tell = Callable[[str, int, int], None]
"""Told of long work: what is done, how much of it is, and how much there is."""
LEAST, MOST, WHOLE = 60, 250, 400
"""Words of a chunk that nothing is added to, of one that is put together, and of a block that is not cut."""
LETTERS = 10
"""Characters that count as a word where there are no spaces between words."""
TAG = 80
"""Characters of an entry that its parts have in their section."""
LARGEST = 8 * 2**20
"""Bytes of a file that is read."""
MOST_FILES = 5_000
"""Files of a folder or a pack."""
MOST_UNPACKED = 256 * 2**20
"""Bytes of all the members of a pack."""
MANIFEST = "manifest.json"
MARKDOWN = (".md", ".markdown", ".mdown", ".mkd")
PAGES = (".html", ".htm", ".xhtml")
TEXT = (".txt", ".text", ".rst", ".asc", ".adoc", ".org", "")
"""What files of text are called; "" are those without an ending, in a folder only where they are called like README."""
ALL_MANUALS, OF_PACKAGE = "man pages", "package "
"""What the man pages are a part of that were added all at once, and how that begins where it is a package."""
MOST_OF_PACKAGE, DEEPEST = 60, 3
"""Files of one package that are read, those with the shortest paths, and folders below that of the package."""
PATIENCE = 30
"""Seconds that a program has for a man page."""
_PASSED_OVER = frozenset(("node_modules", "__pycache__", "venv", "site-packages"))
_SENTENCE = re.compile(r"(?<=[.!?。！？;:])\s+|(?<=[。！？])")


def no_progress(what: str, done: int, total: int) -> None:
    """Nobody is told."""


class Found(NamedTuple):
    """What was found of what is to be added: documents, and what of it could not be read."""

    documents: list[Document]
    problems: list[Problem]

    def take(self, more: Found) -> None:
        """Add what was found elsewhere."""
        self.documents.extend(more.documents)
        self.problems.extend(more.problems)

    def left_out(self, what: str, where: object, severity: str = "warning", fix: str = "") -> None:
        """Tell of something that is not read."""
        self.problems.append(Problem(what, str(where), None, fix, severity))  # type: ignore[arg-type]


# -- chunks ------------------------------------------------------------------------------------------------------------


def cut_chunks(reading: Reading) -> tuple[Chunk, ...]:
    """Return the chunks of a document, in its order."""
    return tuple(
        chunk
        for section, blocks in groupby(reading.blocks, lambda block: block.section)
        for chunk in _of_section(section, blocks)
    )


def words_in(text: str) -> int:
    """Return how many words a text counts as."""
    return max(len(text.split()), len(text) // LETTERS // 2)


def _of_section(section: tuple[str, ...], blocks: Iterable[Block]) -> Iterator[Chunk]:
    held: list[Block] = []
    size = 0
    for block in blocks:
        words = sum(words_in(piece.text) for piece in block.pieces)
        if held and (size >= LEAST or size + words > MOST):
            yield _chunk(section, held)
            held, size = [], 0
        if words > WHOLE:
            yield from _parts(section, block)
        else:
            held.append(block)
            size += words
    if held:
        yield _chunk(section, held)


def _parts(section: tuple[str, ...], block: Block) -> Iterator[Chunk]:
    """A long block in chunks; those of an entry are told with its name."""
    if block.entry and len(block.pieces) > 1:
        section = (*section, " ".join(block.pieces[0].text.split())[:TAG])
    held: list[Piece] = []
    size = 0
    for piece in (part for whole in block.pieces for part in _sentences(whole)):
        words = words_in(piece.text)
        if held and size + words > MOST:
            yield _chunk(section, [Block(section, tuple(held))])
            held, size = [], 0
        held.append(piece)
        size += words
    if held:
        yield _chunk(section, [Block(section, tuple(held))])


def _sentences(piece: Piece) -> Iterator[Piece]:
    """A piece that is no longer than a chunk: itself, else its sentences, else as many characters as go in."""
    if words_in(piece.text) <= MOST:
        yield piece
        return
    most = MOST * LETTERS
    for sentence in _SENTENCE.split(piece.text):
        for at in range(0, len(sentence), most):
            if part := sentence[at : at + most].strip():
                yield piece._replace(text=part)


def _chunk(section: tuple[str, ...], blocks: Sequence[Block]) -> Chunk:
    text = "\n\n".join("\n".join(piece.text for piece in block.pieces) for block in blocks)
    pieces = [piece for block in blocks for piece in block.pieces]
    first, last = min(piece.line_from for piece in pieces), max(piece.line_to for piece in pieces)
    return Chunk(PATH.join(section), first, last, text)


# -- files -------------------------------------------------------------------------------------------------------------


def document_of(data: bytes, name: str, kind: str, source: str, meta: dict[str, Any], title: str = "") -> Document:
    """A file as a document, read by what it is called. Raises BadInput for one that is no text, or is too large."""
    if len(data) > LARGEST:
        raise BadInput(f"larger than {LARGEST // 2**20} MB", source, "leave it out, or cut it into parts")
    if _is_binary(data):
        packed = name.lower().endswith((".zip", ".tar", ".tgz", ".tar.gz"))
        fix = "a pack goes in with --pack" if packed else "Markdown, text and HTML are read"
        raise BadInput("no text: it holds bytes that no text has", source, fix)
    ending = os.path.splitext(name)[1].lower()
    stem = os.path.basename(name)
    if kind == "page" or ending in PAGES:
        reading = parse_saved_page(decode_page(data), stem)
    else:
        reading = (parse_markdown if ending in MARKDOWN else parse_text)(decode(data, source)[0], stem)
    return _made(reading, kind, source, meta, title)


def _made(reading: Reading, kind: str, source: str, meta: dict[str, Any], title: str = "") -> Document:
    shown = " ".join(safe_text(title or reading.title).split())[:200]
    about = " ".join(safe_text(reading.about).split())
    return Document(kind, shown, safe_text(source), cut_chunks(reading), about, meta)


def _is_binary(data: bytes) -> bool:
    """Return whether bytes are no text: NUL, or many bytes of no UTF-8 and no old character set."""
    head = data[:65_536]
    odd = sum(head.count(bytes([code])) for code in (*range(1, 8), *range(14, 27), 28, 29, 30, 31))
    return b"\0" in head or odd * 20 > max(len(head), 20)


_UNPACKED: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".lzma": lzma.open,
}  # fmt: skip


def _read(path: Path) -> bytes:
    """Return the bytes of a file, of one that is packed alone what is in it. Raises NotFound, BadInput for what is no
    file or is too large, or as `from_os_error`."""
    refuse_address(str(path))
    fix = "leave it out, or cut it into parts"
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise BadInput("not a file", str(path))
        if found.st_size > LARGEST:
            raise BadInput(f"{found.st_size / 2**20:.0f} MB, the most is {LARGEST // 2**20} MB", str(path), fix)
        data = path.read_bytes()
        if path.suffix in _UNPACKED:
            with _UNPACKED[path.suffix](path) as packed:
                data = packed.read(LARGEST + 1)
    except FileNotFoundError:
        raise NotFound("no such file", str(path)) from None
    except (zlib.error, lzma.LZMAError, EOFError, gzip.BadGzipFile) as error:
        raise BadInput("a packed file that cannot be unpacked", str(path)) from error
    except OSError as error:
        raise from_os_error(error, "reading a document") from error
    return data


def refuse_address(text: str) -> None:
    """Raise BadInput for an address of the web: nothing is fetched."""
    if text.lower().startswith(("http:/", "https:/", "ftp:/")):
        raise BadInput("nothing is fetched from the web", text, "save the page, then: knowledge add --page FILE")


def read_path(path: Path) -> Found:
    """Return the documents of a path: of a file itself, of a folder all that can be read. Raises NotFound, BadInput,
    and what keeps a file from being read."""
    refuse_address(str(path))
    whole = Path(os.path.abspath(path))
    if not whole.is_dir():
        return Found([_file(whole)], [])
    found = Found([], [])
    for number, file in enumerate(_walk(whole)):
        if file.is_symlink():
            found.left_out("a link, which is not followed", file, "note")
            continue
        if number >= MOST_FILES:
            what = f"more than {counted(MOST_FILES, 'file')}: the others are left out"
            found.left_out(what, whole, fix="add its folders one by one")
            break
        try:
            document = _file(file, {"of": str(whole)})
            if not document.chunks:
                raise BadInput("nothing in it", str(file))
            found.documents.append(document)
        except (BadInput, NotFound) as error:
            found.left_out(error.what, file)
    if not found.documents:
        left = [f"{Path(problem.where).name} is left out: {problem.what}" for problem in found.problems[:3]]
        fix = "; ".join(left) or "Markdown, text and HTML are read"
        raise BadInput("nothing to read in that folder", str(whole), fix)
    return found


def _file(path: Path, meta: dict[str, Any] | None = None) -> Document:
    return document_of(_read(path), path.name, "file", str(path), {"path": str(path), **(meta or {})})


def _walk(folder: Path) -> Iterator[Path]:
    """Yield a folder's files that may be documents, sorted by name, and its links, which are not followed."""
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _PASSED_OVER)
        links = [name for name in folders if os.path.islink(os.path.join(at, name))]
        for name in sorted((*files, *links)):
            path = Path(at) / name
            plain = path.suffix.lower() in (*MARKDOWN, *PAGES, *TEXT) and (bool(path.suffix) or name.isupper())
            if name in links or (plain and not name.startswith(".") and (path.is_symlink() or path.is_file())):
                yield path


def saved_page(path: Path) -> Document:
    """A web page that was saved, whatever the file is called. Raises as `read_path`."""
    refuse_address(str(path))
    whole = Path(os.path.abspath(path))
    return document_of(_read(whole), whole.name, "page", str(whole), {"path": str(whole)})


def text_document(text: str, source: str, title: str = "") -> Document:
    """A text that somebody gives, with where it is from. Raises BadInput for an empty or too large one."""
    if not text.strip():
        raise BadInput("an empty text", "", "say what is to be known")
    data = text.encode("utf-8", "replace")
    if len(data) > LARGEST:
        raise BadInput(f"larger than {LARGEST // 2**20} MB", title or "solution")
    first = " ".join(safe_text(text.strip().split("\n")[0]).lstrip("# ").split())
    shown = title or (first if len(first) <= 80 else first[:79].rstrip() + "…")
    meta = {"said": "" if title else hashlib.blake2b(data, digest_size=8).hexdigest()}
    return _made(parse_markdown(text, shown), "solution", source or "no source named", meta, shown)


def own_pages() -> list[Document]:
    """Return the pages that this package brings along, or those of the source tree where it is run from that."""
    package = Path(str(resources.files("nanomem_tui")))
    folder = next((one for one in (package / "docs", package.parent / "docs") if one.is_dir()), package)
    return [
        document_of(path.read_bytes(), path.name, "nanomem", f"nanomem docs/{path.name}", {})
        for path in sorted(folder.glob("*.md"))
    ]


# -- packs -------------------------------------------------------------------------------------------------------------


_UNREADABLE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError,
    UnicodeDecodeError,
)  # fmt: skip
_OPENED: dict[bytes, Callable[[Path], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
"""What opens a packed .tar, by how it begins."""


class _Member(NamedTuple):
    """A file of a pack: its path in it, its bytes unpacked, what reads it, and whether it is a link."""

    name: str
    size: int
    read: Callable[[], bytes]
    is_link: bool = False


def read_pack(path: Path, tell: Tell = no_progress) -> Found:
    """Return the documents of a folder, a .zip or a .tar archive with text, Markdown and HTML in it.

    A file `manifest.json` at its root may say the pack's title and source, and those of its files:
    `{"title": …, "source": …, "files": {"path": {"title": …, "source": …}}}`. Raises NotFound, and BadInput for what is
    no pack, or one that is larger than a pack may be.
    """
    refuse_address(str(path))
    whole = Path(os.path.abspath(path))
    if not whole.exists():
        raise NotFound("no such pack", str(path))
    manifest: dict[str, Any] = {}
    texts: dict[str, bytes] = {}
    found = Found([], [])
    unpacked = 0
    try:
        for member in _members(whole):
            tell("Reading the pack", len(texts), 0)
            unpacked += member.size  # what is skipped of a .tar is unpacked too
            if unpacked > MOST_UNPACKED:
                raise _too_large(whole)
            name = PurePosixPath(member.name)
            hidden = any(part.startswith(".") for part in name.parts)
            if hidden or (str(name) != MANIFEST and name.suffix.lower() not in (*MARKDOWN, *PAGES, *TEXT)):
                continue
            if member.is_link or member.size > LARGEST:
                what = "a link, which is not followed" if member.is_link else f"larger than {LARGEST // 2**20} MB"
                found.left_out(what, f"{whole.name}: {name}")
            elif str(name) == MANIFEST:
                manifest = _manifest(member.read(), str(whole))
            else:
                texts[str(name)] = member.read()
            if len(texts) > MOST_FILES:
                raise BadInput(f"more than {counted(MOST_FILES, 'file')}", str(whole), "nothing was added")
    except tarfile.ReadError as error:
        raise BadInput("neither a folder, a .zip nor a .tar archive that can be read", str(path)) from error
    except _UNREADABLE as error:
        raise BadInput(f"an archive that cannot be read ({one_line(str(error), 80)})", str(path)) from error
    except OSError as error:
        raise BadInput(f"an archive that cannot be read ({error.strerror or error})", str(path)) from error
    for inside, data in texts.items():
        try:
            found.documents.append(_of_pack(inside, data, manifest, whole))
        except NanomemError as error:
            found.left_out(error.what, f"{whole.name}: {inside}")
    if not found.documents:
        left = "; ".join(f"{problem.where}: {problem.what}" for problem in found.problems[:3])
        raise BadInput("nothing to read in that pack", str(whole), left or "Markdown, text and HTML are read")
    return found


def _of_pack(name: str, data: bytes, manifest: dict[str, Any], pack: Path) -> Document:
    said = manifest.get("files", {}).get(name, {})
    source = said.get("source") or (f"{manifest['source']}: {name}" if "source" in manifest else f"{pack}: {name}")
    meta = {"of": str(pack), "member": name, **({"pack": manifest["title"]} if "title" in manifest else {})}
    return document_of(data, name, "pack", source, meta, said.get("title", ""))


def _manifest(data: bytes, where: str) -> dict[str, Any]:
    """Return what a manifest says, of which only texts are taken. Raises BadInput for one that is no JSON object."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"its {MANIFEST} is no JSON", where) from error
    if not isinstance(body, dict):
        raise BadInput(f"its {MANIFEST} is no JSON object", where)

    def texts(said: dict[str, Any]) -> dict[str, Any]:
        return {key: said[key][:400] for key in ("title", "source") if isinstance(said.get(key), str) and said[key]}

    files = body.get("files")
    files = files if isinstance(files, dict) else {}
    return {**texts(body), "files": {name: texts(said) for name, said in files.items() if isinstance(said, dict)}}


def _members(path: Path) -> Iterator[_Member]:
    if path.is_dir():
        for at, folders, files in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for file in (Path(at) / name for name in sorted(files)):
                name, is_link = file.relative_to(path).as_posix(), file.is_symlink() or not file.is_file()
                yield _Member(name, 0 if is_link else file.stat().st_size, file.read_bytes, is_link)
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for one in archive.infolist():
                if one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    what = "a file in it is packed in a way that may fill the memory"
                    raise BadInput(what, f"{path}: {one.filename}", "pack it as a usual .zip, by deflate")
                if not one.is_dir():
                    is_link = stat.S_ISLNK(one.external_attr >> 16)
                    yield _Member(one.filename, one.file_size, lambda one=one: archive.read(one), is_link)  # type: ignore[misc]
    else:
        with path.open("rb") as head:
            begins = head.read(6)
        opened = next((opened for magic, opened in _OPENED.items() if begins.startswith(magic)), None)
        with (
            opened(path) if opened else path.open("rb") as whole,
            tarfile.open(fileobj=cast("IO[bytes]", _Bounded(whole, path)), mode="r:") as packed,
        ):
            for entry in packed:
                packed.members = []  # type: ignore[attr-defined]  # nobody asks for them by name
                if entry.isdir():
                    continue
                data = packed.extractfile(entry) if entry.isreg() else None
                yield _Member(entry.name, entry.size, data.read if data is not None else bytes, data is None)


class _Bounded:
    """What a .tar holds, unpacked, as far as a pack may reach: names and what is skipped count as what is read. The
    library's own streams unpack without a bound, and stop in silence where a file of several parts goes on."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file, self._path = file, path
        self.tell = file.tell

    def seek(self, place: int) -> int:
        """Go to a place. Raises BadInput beyond the bound."""
        if place > MOST_UNPACKED:
            raise _too_large(self._path)
        return self._file.seek(place)

    def read(self, size: int) -> bytes:
        """Return the next bytes. Raises BadInput for more at once than a file may have: it is a name."""
        if size > LARGEST + tarfile.BLOCKSIZE or self._file.tell() + size > MOST_UNPACKED:
            raise _too_large(self._path)
        return self._file.read(size)


def _too_large(pack: Path) -> BadInput:
    return BadInput(f"unpacked it is larger than {MOST_UNPACKED // 2**20} MB", str(pack), "nothing was added")


# -- man pages ---------------------------------------------------------------------------------------------------------

_USUAL_FOLDERS = ("/usr/local/share/man", "/usr/local/man", "/usr/share/man", "/usr/man")
_PAGE = re.compile(r"(?P<name>.+?)\.(?P<section>[0-9nl][0-9A-Za-z+]*)(?:\.(?:gz|bz2|xz|lzma|zst|Z))?")
_ASKED = re.compile(r"(?P<name>[^()\s]+?)(?:\((?P<one>[0-9nl]\w*)\)|\.(?P<two>[0-9][a-z]*))?")
_LINK = re.compile(rb"(?:[.'][ \t]*\\\"[^\n]*\n|\n)*[.']so[ \t]+((?:man\w+/)?[^/\s]+)\s*")
_TAKES_IN = re.compile(
    rb"^[.'][ \t]*(?:do[ \t]+|(?:if|ie|el|while|nop)\b[^\n]*[.'][ \t]*)?(?:"
    rb"(?:so|mso|cf|trf|open|opena)[ \t]+(?:[^\n]*[ \t\"])?(?:/|[^ \t\n]*\.\./)|(?:pi|sy)[ \t])",
    re.MULTILINE,
)
"""A request of roff that takes in a file by a path that leads out of the folder, or runs a program."""
_WIDE = "1000"
"""Columns of a page: no line is broken, so that each is a paragraph."""


class ManualPage(NamedTuple):
    """A page and the file that it is in."""

    name: str
    section: str
    path: Path


def manual_pages(name: str = "") -> Iterator[ManualPage]:
    """Yield the pages of that name in every section, or all pages; of pages with the same name the first by MANPATH."""
    seen: set[tuple[str, str]] = set()
    for folder in _manual_folders():
        for section in sorted(entry for entry in os.listdir(folder) if re.fullmatch(r"man[0-9nl]\w*", entry)):
            try:
                files = sorted(os.listdir(folder / section))
            except OSError:
                continue
            for file in files:
                if name and not file.startswith(f"{name}."):
                    continue
                match = _PAGE.fullmatch(file)
                if match is None or (name and match["name"] != name) or (match["name"], match["section"]) in seen:
                    continue
                seen.add((match["name"], match["section"]))
                yield ManualPage(match["name"], match["section"], folder / section / file)


def _manual_folders() -> list[Path]:
    """List the folders of man pages: MANPATH, beside the programs of PATH, and the usual places."""
    usual: list[str] = []
    for program in os.environ.get("PATH", "").split(os.pathsep):
        if os.path.isabs(program):
            parent = os.path.dirname(program.rstrip("/"))
            usual += [os.path.join(parent, "share", "man"), os.path.join(parent, "man")]
    wanted: list[str] = []
    for part in os.environ.get("MANPATH", "").split(os.pathsep):
        wanted += [part] if part else [*usual, *_USUAL_FOLDERS]
    return list({Path(os.path.realpath(one)): None for one in wanted if os.path.isabs(one) and os.path.isdir(one)})


def _named(asked: str) -> list[ManualPage]:
    """Return the pages that `nginx`, `nginx.8` or `nginx(8)` names. Raises NotFound or BadInput."""
    match = _ASKED.fullmatch(asked.strip())
    if match is None or "/" in asked or asked.startswith("."):
        raise BadInput("not the name of a man page", asked, "name it like nginx, or nginx(8)")
    section = match["one"] or match["two"] or ""
    found = list(manual_pages(asked.strip())) if match["two"] else []
    found = found or [page for page in manual_pages(match["name"]) if page.section.startswith(section)]
    if not found:
        raise NotFound("no such man page", asked, "look with `man -k`, or name its folder in MANPATH")
    return found


def named_manuals(names: Iterable[str], tell: Tell = no_progress) -> Found:
    """Return the man pages of these names as documents. Raises NotFound for a name that no page has, or BadInput."""
    return read_manuals({page.path: page for name in names for page in _named(name)}.values(), "", tell)


def all_manuals(tell: Tell = no_progress) -> Found:
    """Return all man pages of this machine as documents; raises NotFound where there are none."""
    wanted = list(manual_pages())
    if not wanted:
        raise NotFound("no man pages on this machine", "", "install some, or name their folder in MANPATH")
    return read_manuals(wanted, ALL_MANUALS, tell)


def read_manuals(wanted: Iterable[ManualPage], part_of: str, tell: Tell = no_progress) -> Found:
    """Pages as documents, each once, however many names lead to it."""
    pages = list({real.path: real for real in map(_leads_to, wanted)}.values())
    found = Found([], [])
    workers = ThreadPoolExecutor(os.cpu_count())
    try:
        reading = [(page, workers.submit(_manual, page, part_of)) for page in pages]
        for number, (page, made) in enumerate(reading):
            tell("Reading man pages", number, len(pages))
            try:
                found.documents.append(made.result())
            except NanomemError as error:
                found.left_out(error.what, page.path, fix=error.fix)
    finally:
        workers.shutdown(cancel_futures=True)  # who interrupts waits for those that are being read alone
    return found


def manual_in(path: Path) -> ManualPage:
    """Return the page that is in a file. Raises NotFound or BadInput."""
    match = _PAGE.fullmatch(path.name)
    if match is None:
        raise BadInput("not the file of a man page", str(path))
    if not path.exists():
        raise NotFound("no such file", str(path))
    return ManualPage(match["name"], match["section"], path)


def _leads_to(page: ManualPage) -> ManualPage:
    """Return the page that a link, or a page of the one line `.so`, leads to; itself where it is no such page."""
    real = Path(os.path.realpath(page.path))
    folder, link = page.path.parent.parent, None
    try:
        if real.stat().st_size < 500:
            link = _LINK.fullmatch(_read(real))
    except NanomemError:  # told when it is read
        return page
    except OSError:
        return page
    if link is not None:
        name = link[1].decode("latin-1")
        target = (folder if "/" in name else page.path.parent) / name
        near = [target.with_name(target.name + ending) for ending in ("", ".gz", ".xz", ".bz2", ".zst")]
        real = next((path for path in near if path.is_file()), real)
    match = _PAGE.fullmatch(real.name) if real.is_relative_to(os.path.realpath(folder)) else None
    return ManualPage(match["name"], match["section"], real) if match else page


def _manual(page: ManualPage, part_of: str) -> Document:
    """A page as `mandoc` or `man` shows it. Raises BadInput where neither is installed, it cannot show the page, or the
    page wants a file or a program of its own choice; and as `_read`."""
    source = _read(page.path)
    if len(source) > LARGEST:
        raise BadInput(f"larger than {LARGEST // 2**20} MB", str(page.path))
    if b"\0" in source:
        raise BadInput("no text, or packed in a way that is not read", str(page.path))
    if _TAKES_IN.search(source):
        raise BadInput("it takes in a file from elsewhere, or runs a program", str(page.path))
    if shutil.which("mandoc"):
        command = ["mandoc", "-Tutf8", f"-Owidth={_WIDE}"]
    elif shutil.which("man"):
        command = ["man", "--no-hyphenation", "--no-justification", "--local-file", "-"]
    else:
        raise BadInput("neither man nor mandoc is installed to read it with", str(page.path), "install man or mandoc")
    try:
        data, told = _output(command, source, page.path.parent.parent)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"{command[0]} does not show it ({type(error).__name__})", str(page.path)) from error
    shown = re.sub(".\b", "", data.decode("utf-8", "replace"))
    if not shown.strip() or len(shown) > LARGEST:  # its exit code tells of mistakes in the page too
        said = told.decode("utf-8", "replace").strip().split("\n")[0][:160]
        raise BadInput(f"{command[0]} does not show it ({said or 'no text'})", str(page.path))
    meta = {"path": str(page.path), **({"of": part_of} if part_of else {})}
    document = _made(parse_man_page(shown, f"{page.name}({page.section})"), "man", str(page.path), meta)
    if not document.chunks:  # a `man` that was taken out says so, and nothing else
        said = one_line(shown.strip(), 160)
        raise BadInput(f"{command[0]} shows nothing of it ({said})", str(page.path))
    return document


def _output(command: list[str], source: bytes, folder: Path) -> tuple[bytes, bytes]:
    """Return what a program makes of a page in `folder`, not much more than may be read, and what it complains of. All
    that it started has ended then. Raises OSError, and TimeoutExpired after PATIENCE."""
    environment = {**os.environ, "MANWIDTH": _WIDE, "LC_ALL": "C.UTF-8", "MANOPT": "", "MAN_KEEP_FORMATTING": ""}
    with tempfile.TemporaryFile() as page, tempfile.TemporaryFile() as errors:
        page.write(source)
        page.seek(0)
        begun = time.monotonic()
        with subprocess.Popen(
            command, env=environment, cwd=folder, stdin=page, stdout=subprocess.PIPE, stderr=errors,
            start_new_session=True,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            timer = threading.Timer(PATIENCE, os.killpg, (process.pid, signal.SIGKILL))
            timer.start()
            try:
                data = process.stdout.read(4 * LARGEST)  # bold letters are there three times
            finally:
                timer.cancel()
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        if time.monotonic() - begun >= PATIENCE:
            raise subprocess.TimeoutExpired(command, PATIENCE)
        errors.seek(0)
        return data, errors.read(1000)


# -- packages ----------------------------------------------------------------------------------------------------------

_NOT = re.compile(
    r"(?:changelog|changes|history|news|copyright|licen[cs]e|copying|authors|credits|thanks|todo|contributors|maintainers"
    r"|buildinfo|makefile)(?:[._-].*)?",
    re.IGNORECASE,
)
"""Files that tell how a package came to be, not how it is used."""


def installed_packages() -> list[str]:
    """Return the names of the packages that have a folder of documentation, and of the Python packages."""
    names = {entry for folder in _package_folders() for entry in os.listdir(folder) if (folder / entry).is_dir()}
    return sorted(names | _python().keys())


def has_package_folders() -> bool:
    """Return whether any installed package has a folder of documentation."""
    return any((folder / entry).is_dir() for folder in _package_folders() for entry in os.listdir(folder))


def all_packages(tell: Tell = no_progress) -> Found:
    """Return the documentation of all installed packages, without their man pages."""
    return named_packages(installed_packages(), tell, manuals=False)


def new_packages(added: set[str], before: set[str] | None, tell: Tell = no_progress) -> Found:
    """Return the documentation of the packages that were `added`, and of those installed since; `before`: what was
    installed then (None: nobody knows, so nothing is new)."""
    now = set(installed_packages())
    there = {name for name in added if name in now or _normal(name) in now}
    new = now - before if before is not None else set()
    found = named_packages(sorted(there | new), tell, manuals=False)
    for name in sorted(added - there):
        found.left_out("no such package is installed any more", name)
    return found


def named_packages(names: Sequence[str], tell: Tell = no_progress, *, manuals: bool = True) -> Found:
    """Return the documentation of packages: what a distribution keeps in `share/doc`, their man pages (`manuals`), and
    what Python packages say of themselves. Raises NotFound for a name that no installed package has."""
    python = _python()
    found = Found([], [])
    for number, name in enumerate(names):
        tell("Reading packages", number, len(names))
        known = [folder / name for folder in _package_folders() if "/" not in name and name not in ("", ".", "..")]
        known = [place for place in known if place.is_dir()]
        described = python.get(_normal(name), "")
        if not known and not described:
            raise NotFound("no such package is installed", name)
        for place in known:
            if not place.is_symlink():
                _read_package(name, place, found)
        if described and (document := _description(described)):
            found.documents.append(document)
        if manuals and (pages := list(_manuals_of_package(name))):
            found.take(read_manuals(pages, OF_PACKAGE + name))
    return found


def _package_folders() -> list[Path]:
    places = (os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(os.pathsep)
    return [Path(place) / "doc" for place in places if os.path.isabs(place) and os.path.isdir(f"{place}/doc")]


def _read_package(name: str, folder: Path, found: Found) -> None:
    files: list[Path] = []
    for at, folders, inside in os.walk(folder):
        if len(Path(at).relative_to(folder).parts) >= DEEPEST - 1:
            folders.clear()
        for file in inside:
            shown, path = file.removesuffix(".gz"), Path(at) / file
            ending = os.path.splitext(shown)[1].lower()
            is_readme = shown.lower().startswith(("readme", "faq", "howto", "usage", "install"))
            is_wanted = is_readme or ending in (*MARKDOWN, *PAGES, *TEXT)
            if is_wanted and not _NOT.fullmatch(shown) and not path.is_symlink() and path.is_file():
                files.append(path)
    for path in sorted(files, key=lambda path: (len(path.parts), str(path)))[:MOST_OF_PACKAGE]:
        shown = path.name.removesuffix(".gz")
        try:
            meta = {"path": str(path), "of": OF_PACKAGE + name}
            document = document_of(_read(path), shown, "package", str(path), meta)
        except NanomemError as error:
            found.left_out(error.what, path)
            continue
        if document.chunks:
            title = f"{name}: {path.relative_to(folder).as_posix().removesuffix('.gz')}"
            about = document.title if document.title != shown else ""
            found.documents.append(document._replace(title=title, about=about))


def _manuals_of_package(name: str) -> Iterator[ManualPage]:
    if re.fullmatch(r"[a-z0-9][a-z0-9+.-]*", name):
        lists = Path(os.environ.get("DPKG_ADMINDIR") or "/var/lib/dpkg", "info")
        for file in (lists / f"{name}.list", *lists.glob(f"{name}:*.list")):
            for line in file.read_text("utf-8", "replace").splitlines() if file.is_file() else ():
                match = re.fullmatch(r"/usr/share/man/man\w+/(.+)\.([0-9]\w*)(?:\.gz)?", line)
                if match and os.path.isfile(line):
                    yield ManualPage(match[1], match[2], Path(line))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _python() -> dict[str, str]:
    """Return the Python packages of this environment: their names as one compares them, and as they call themselves."""
    from importlib.metadata import distributions

    names: list[Any] = [one.metadata["Name"] for one in distributions()]  # None where a package is damaged
    return {_normal(name): name for name in names if name}


def _description(name: str) -> Document | None:
    """Return what a Python package says of itself; None where it says nothing."""
    from importlib.metadata import metadata

    told: Any = metadata(name)
    text = told.get("Description") or told.get_payload()
    if not isinstance(text, str) or not text.strip() or len(text) > LARGEST:
        return None
    is_markdown = "markdown" in (told.get("Description-Content-Type") or "").lower()
    reading = (parse_markdown if is_markdown else parse_text)(text, name)._replace(about=told.get("Summary") or "")
    meta = {"python": name, "of": OF_PACKAGE + name}
    return _made(reading, "package", f"the Python package {name}", meta, name)
