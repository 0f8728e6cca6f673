"""Documentation of installed packages: what a distribution keeps in `share/doc`, its man pages, and what Python
packages say of themselves. Reads files and metadata; imports and runs nothing of a package.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nanomem_tui.errors import NanomemError, NotFound, Problem
from nanomem_tui.formats.prose import parse_markdown, parse_text
from nanomem_tui.store.knowledge_values import Document
from nanomem_tui.tiers import knowledge_manuals
from nanomem_tui.tiers.knowledge_files import LARGEST, MARKDOWN, PAGES, TEXT, Found, document_of, made
from nanomem_tui.tiers.knowledge_layer import Tell, quiet

MOST_OF_ONE = 60
"""Files of one package that are read, those with the shortest paths."""

DEEPEST = 3
"""Folders below that of a package."""

_LISTS = Path("/var/lib/dpkg/info")
_NOT = re.compile(
    r"(?:changelog|changes|history|news|copyright|licen[cs]e|copying|authors|credits|thanks|todo|contributors|maintainers"
    r"|buildinfo|makefile)(?:[._-].*)?",
    re.IGNORECASE,
)
"""Files that tell how a package came to be, not how it is used."""

PART = "package "
"""How what a document is a part of begins, where that is a package."""


def installed() -> list[str]:
    """The names of the packages that have a folder of documentation, and of the Python packages."""
    names = {entry for folder in _folders() for entry in os.listdir(folder) if (folder / entry).is_dir()}
    return sorted(names | _python().keys())


def has_folders() -> bool:
    """Whether any installed package has a folder of documentation."""
    return any((folder / entry).is_dir() for folder in _folders() for entry in os.listdir(folder))


def every(tell: Tell = quiet) -> Found:
    """The documentation of all installed packages, without their man pages."""
    return of_names(installed(), tell, manuals=False)


def news(added: set[str], before: set[str] | None, tell: Tell = quiet) -> Found:
    """The documentation of the packages that were `added`, and of those installed since; `before`: what was installed
    then (None: nobody knows, so nothing is new)."""
    now = set(installed())
    there = {name for name in added if name in now or _normal(name) in now}
    new = now - before if before is not None else set()
    found = of_names(sorted(there | new), tell, manuals=False)
    gone = [Problem("no such package is installed any more", name, severity="warning") for name in added - there]
    found.problems.extend(sorted(gone))
    return found


def of_names(names: list[str], tell: Tell = quiet, *, manuals: bool = True) -> Found:
    """The documentation of packages. Raises NotFound for a name that no installed package has.

    `manuals`: their man pages too. Those that are installed and say nothing have no document.
    """
    python = _python()
    found = Found([], [])
    for number, name in enumerate(names):
        tell("Reading packages", number, len(names))
        known = [folder / name for folder in _folders() if "/" not in name and name not in ("", ".", "..")]
        places = [place for place in known if place.is_dir() and not place.is_symlink()]
        linked = any(place.is_symlink() for place in known)
        described = python.get(_normal(name), "")
        if not places and not linked and not described:
            raise NotFound("no such package is installed", name)
        for place in places:
            _read_folder(name, place, found)
        if described:
            document = _described(described)
            found.documents.extend([document] if document else [])
        if manuals and (pages := list(_manuals(name))):
            more = knowledge_manuals.documents(pages, PART + name)
            found.documents.extend(more.documents)
            found.problems.extend(more.problems)
    return found


def _folders() -> list[Path]:
    places = (os.environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(os.pathsep)
    return [Path(place) / "doc" for place in places if os.path.isabs(place) and os.path.isdir(f"{place}/doc")]


def _read_folder(name: str, folder: Path, found: Found) -> None:
    files = sorted(_files(folder), key=lambda path: (len(path.parts), str(path)))
    for path in files[:MOST_OF_ONE]:
        shown = path.name.removesuffix(".gz")
        try:
            data = knowledge_manuals.unpacked(path)
            title = f"{name}: {path.relative_to(folder).as_posix().removesuffix('.gz')}"
            meta = {"path": str(path), "of": PART + name}
            document = document_of(data, shown, "package", str(path), meta)
            if document.chunks:
                known = document.title if document.title != shown else ""
                found.documents.append(document._replace(title=title, about=known))
        except NanomemError as error:
            found.problems.append(Problem(error.what, str(path), severity="warning"))


def _files(folder: Path) -> Iterator[Path]:
    for at, folders, files in os.walk(folder):
        depth = len(Path(at).relative_to(folder).parts)
        folders[:] = sorted(entry for entry in folders if depth < DEEPEST - 1)
        for file in files:
            path = Path(at) / file
            shown = file.removesuffix(".gz")
            readme = shown.lower().startswith(("readme", "faq", "howto", "usage", "install"))
            ending = os.path.splitext(shown)[1].lower()
            wanted = readme or ending in (*MARKDOWN, *PAGES, *TEXT)
            if wanted and not _NOT.fullmatch(shown) and not path.is_symlink() and path.is_file():
                if path.stat().st_size <= LARGEST:
                    yield path


def _manuals(name: str) -> Iterator[knowledge_manuals.ManualPage]:
    """The man pages that a Debian package brought along."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]*", name) or not _LISTS.is_dir():
        return
    lists = [_LISTS / f"{name}.list", *_LISTS.glob(f"{name}:*.list")]
    for file in lists:
        if not file.is_file():
            continue
        for line in file.read_text("utf-8", "replace").splitlines():
            match = re.fullmatch(r"/usr/share/man/man\w+/(.+)\.([0-9]\w*)(?:\.gz)?", line)
            if match and os.path.isfile(line):
                yield knowledge_manuals.ManualPage(match[1], match[2], Path(line))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _python() -> dict[str, str]:
    """The Python packages of this environment: their names as one compares them, and as they call themselves."""
    from importlib.metadata import distributions

    names: list[Any] = [one.metadata["Name"] for one in distributions()]  # None where a package is damaged
    return {_normal(name): name for name in names if name}


def _described(name: str) -> Document | None:
    """What a Python package says of itself; None where it says nothing."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        told: Any = metadata(name)
    except PackageNotFoundError:
        return None
    text = told.get("Description") or told.get_payload()
    if not isinstance(text, str) or not text.strip() or len(text) > LARGEST:
        return None
    markdown = "markdown" in (told.get("Description-Content-Type") or "").lower()
    reading = (parse_markdown if markdown else parse_text)(text, name)
    reading = reading._replace(about=told.get("Summary") or "")
    return made(reading, "package", f"the Python package {name}", {"python": name, "of": PART + name}, name)
