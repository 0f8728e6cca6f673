"""Documents out of files: Markdown, text and saved pages, alone or in a folder; and the pages of this package.

Reads files and nothing else: an address of the web is refused, a link that leads out of a folder is not followed, what
is no text is refused in one line. Changes nothing.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.errors import BadInput, NotFound, Problem, from_os_error
from nanomem_tui.formats.blocks import Reading
from nanomem_tui.formats.markdown import decode
from nanomem_tui.formats.prose import parse_markdown, parse_text
from nanomem_tui.formats.saved_page import decode_page, parse_saved_page
from nanomem_tui.store.knowledge_values import Document
from nanomem_tui.text import counted, safe_text
from nanomem_tui.tiers.knowledge_chunks import cut

LARGEST = 8 * 2**20
"""Bytes of a file that is read."""

MOST_FILES = 5_000
"""Files of a folder or a pack."""

MARKDOWN = (".md", ".markdown", ".mdown", ".mkd")
PAGES = (".html", ".htm", ".xhtml")
TEXT = (".txt", ".text", ".rst", ".asc", ".adoc", ".org", "")
"""What files of text are called; "" are those without an ending, in a folder only where they are called like README."""

_PASSED_OVER = frozenset(("node_modules", "__pycache__", "venv", "site-packages"))


class Found(NamedTuple):
    """What was found of what is to be added: documents, and what of it could not be read."""

    documents: list[Document]
    problems: list[Problem]


def document_of(data: bytes, name: str, kind: str, source: str, meta: dict[str, Any], title: str = "") -> Document:
    """A file as a document, read by what it is called. Raises BadInput for one that is no text, or is too large."""
    if len(data) > LARGEST:
        raise BadInput(f"larger than {LARGEST // 2**20} MB", source, "leave it out, or cut it into parts")
    if is_binary(data):
        packed = name.lower().endswith((".zip", ".tar", ".tgz", ".tar.gz"))
        fix = "a pack goes in with --pack" if packed else "Markdown, text and HTML are read"
        raise BadInput("no text: it holds bytes that no text has", source, fix)
    ending = os.path.splitext(name)[1].lower()
    stem = os.path.basename(name)
    if ending in PAGES:
        reading = parse_saved_page(decode_page(data), stem)
    elif ending in MARKDOWN:
        reading = parse_markdown(decode(data, source)[0], stem)
    else:
        reading = parse_text(decode(data, source)[0], stem)
    return made(reading, kind, source, meta, title)


def made(reading: Reading, kind: str, source: str, meta: dict[str, Any], title: str = "") -> Document:
    """A document of what was read."""
    shown = " ".join(safe_text(title or reading.title).split())[:200]
    about = " ".join(safe_text(reading.about).split())
    return Document(kind, shown, safe_text(source), cut(reading), about, meta)


def is_binary(data: bytes) -> bool:
    """Whether bytes are no text: NUL in them, or many bytes that are no UTF-8 and no old character set either."""
    head = data[:65_536]
    odd = sum(head.count(bytes([code])) for code in (*range(1, 8), *range(14, 27), 28, 29, 30, 31))
    return b"\0" in head or odd * 20 > max(len(head), 20)


def read(path: Path) -> bytes:
    """The bytes of a file. Raises NotFound, BadInput for what is no file or is too large, or as `from_os_error`."""
    refuse_address(str(path))
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise BadInput("not a file", str(path))
        if found.st_size > LARGEST:
            fix = "leave it out, or cut it into parts"
            raise BadInput(f"{found.st_size / 2**20:.0f} MB, the most is {LARGEST // 2**20} MB", str(path), fix)
        return path.read_bytes()
    except FileNotFoundError:
        raise NotFound("no such file", str(path)) from None
    except OSError as error:
        raise from_os_error(error, "reading a document") from error


def refuse_address(text: str) -> None:
    """Raise BadInput for an address of the web: nothing is fetched."""
    if text.lower().startswith(("http:/", "https:/", "ftp:/")):
        raise BadInput("nothing is fetched from the web", text, "save the page, then: knowledge add --page FILE")


def added(path: Path) -> Found:
    """The documents of a path: of a file itself, of a folder all that can be read. Raises the errors of `read`."""
    refuse_address(str(path))
    whole = Path(os.path.abspath(path))
    if not whole.is_dir():
        return Found([_file(whole)], [])
    found = Found([], [])
    for number, file in enumerate(_walk(whole)):
        if file.is_symlink():
            found.problems.append(Problem("a link, which is not followed", str(file), severity="note"))
            continue
        if number >= MOST_FILES:
            what = f"more than {counted(MOST_FILES, 'file')}: the others are left out"
            found.problems.append(Problem(what, str(whole), fix="add its folders one by one", severity="warning"))
            break
        try:
            document = _file(file, {"of": str(whole)})
            if not document.chunks:
                raise BadInput("nothing in it", str(file))
            found.documents.append(document)
        except (BadInput, NotFound) as error:
            found.problems.append(Problem(error.what, str(file), severity="warning"))
    if not found.documents:
        left = [f"{Path(problem.where).name} is left out: {problem.what}" for problem in found.problems[:3]]
        raise BadInput(
            "nothing to read in that folder", str(whole), "; ".join(left) or "Markdown, text and HTML are read"
        )
    return found


def saved_page(path: Path) -> Document:
    """A web page that was saved, whatever the file is called. Raises the errors of `read`."""
    whole = Path(os.path.abspath(path)) if "://" not in str(path) else path
    refuse_address(str(path))
    data = read(whole)
    if is_binary(data):
        raise BadInput("no page: it holds bytes that no text has", str(whole))
    return made(parse_saved_page(decode_page(data), whole.name), "page", str(whole), {"path": str(whole)})


def text_document(text: str, source: str, title: str = "", kind: str = "solution") -> Document:
    """A text that somebody gives, with where it is from. Raises BadInput for an empty or too large one."""
    if not text.strip():
        raise BadInput("an empty text", "", "say what is to be known")
    if len(text.encode("utf-8", "replace")) > LARGEST:
        raise BadInput(f"larger than {LARGEST // 2**20} MB", title or kind)
    first = " ".join(safe_text(text.strip().split("\n")[0]).lstrip("# ").split())
    shown = title or (first if len(first) <= 80 else first[:79].rstrip() + "…")
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
    meta = {"said": digest if not title else ""}
    return made(parse_markdown(text, shown), kind, source or "no source named", meta, shown)


def own_pages() -> list[Document]:
    """The pages that this package brings along, and those of the source tree where it is run from that."""
    package = Path(str(resources.files("nanomem_tui")))
    for folder in (package / "docs", package.parent / "docs"):
        if folder.is_dir():
            pages = sorted(folder.glob("*.md"))
            return [
                document_of(path.read_bytes(), path.name, "nanomem", f"nanomem docs/{path.name}", {}) for path in pages
            ]
    return []


def _file(path: Path, meta: dict[str, Any] | None = None) -> Document:
    return document_of(read(path), path.name, "file", str(path), {"path": str(path), **(meta or {})})


def _walk(folder: Path) -> Iterator[Path]:
    """The files of a folder that may be documents, in the order of their names, and the links; none is followed."""
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _PASSED_OVER)
        links = [name for name in folders if os.path.islink(os.path.join(at, name))]
        for name in sorted((*files, *links)):
            path = Path(at) / name
            plain = path.suffix.lower() in (*MARKDOWN, *PAGES, *TEXT) and (bool(path.suffix) or name.isupper())
            if name in links or (plain and not name.startswith(".") and (path.is_symlink() or path.is_file())):
                yield path
