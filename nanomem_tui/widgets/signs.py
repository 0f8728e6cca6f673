"""The signs that the console and the command line draw with, in Unicode and in ASCII. Knows no widget."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The signs that carry meaning, each one cell wide."""

    cursor: str
    selected: str
    ellipsis: str
    ascending: str
    descending: str
    bullet: str
    rule: str
    separator: str
    steps: str
    eighths: str
    track: str


UNICODE = Glyphs("▸", "●", "…", "▴", "▾", "•", "─", "│", "▁▂▃▄▅▆▇█", "▏▎▍▌▋▊▉", "·")
ASCII = Glyphs(">", "*", "~", "^", "v", "-", "-", "|", ".:-=+*#@", "", ".")
