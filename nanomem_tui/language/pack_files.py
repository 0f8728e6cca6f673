"""Tables of words and patterns: the files `packs/*.toml`, each of them read once, when it is first needed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "packs"
_PART = re.compile(r"<([a-z_]{2,})>")


@cache
def load(name: str) -> dict[str, Any]:
    """Return what stands in a pack, `name` without its ending."""
    import tomllib  # 2 ms, and many texts need no pack

    return tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8"))


def expand(text: str, parts: Mapping[str, str]) -> str:
    """Return a text of a pack on one line, with the part of that name in place of each `<name>`.

    Nothing stands where a line ends: the text goes on with the first sign of the next line.
    """
    return _PART.sub(lambda found: expand(parts[found[1]], parts), text.replace("\n", ""))
