"""A picture of a screen as PNG, drawn from its SVG by a library, with a font of this machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nanomem_tui.core.errors import BadInput, MissingExtra, extra_command

FONTS = {
    "dejavusansmono.ttf": "DejaVu Sans Mono",
    "notosansmono-regular.ttf": "Noto Sans Mono",
    "liberationmono-regular.ttf": "Liberation Mono",
    "ubuntumono-r.ttf": "Ubuntu Mono",
    "menlo.ttc": "Menlo",
    "consola.ttf": "Consolas",
    "cour.ttf": "Courier New",
}
"""Files of fonts in which every character is as wide as the others, the best first, and what they call themselves."""
_FOLDERS = (
    "/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts", "/System/Library/Fonts",
    "/Library/Fonts", "C:/Windows/Fonts", "/mnt/c/Windows/Fonts",
)  # fmt: skip


def png_of(svg: str) -> bytes:
    """The picture. Raises MissingExtra without the library, and BadInput where no font of that kind is to be found."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        fix = f"{extra_command('png')}, or --svg"
        raise MissingExtra("the library resvg-py is not installed", "--png", fix) from error
    family = monospaced(map(Path, _FOLDERS))
    if family is None:
        raise BadInput("no font of even width on this machine", "--png", "install DejaVu Sans Mono, or use --svg")
    return bytes(svg_to_bytes(svg_string=svg, monospace_family=family, sans_serif_family=family))


def monospaced(folders: Iterable[Path]) -> str | None:
    """The best font of `FONTS` that lies in one of the folders."""
    there = {file.name.lower() for folder in folders for file in _files(folder.expanduser())}
    return next((family for name, family in FONTS.items() if name in there), None)


def _files(folder: Path) -> Iterable[Path]:
    return folder.rglob("*.tt[fc]") if folder.is_dir() else ()
