"""Tables of words and patterns: the files in `packs`, each of them read once, when it is first needed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "packs"
_PART = re.compile(r"<([a-z_]{2,})>")


@cache
def load(name: str) -> dict[str, Any]:
    """Return what stands in a pack, TOML or JSON; nobody may change it.

    >>> sorted(load("orders.json"))
    ['ways', 'words']
    """
    text = (_FOLDER / name).read_text("utf-8")
    if name.endswith(".json"):
        return dict(json.loads(text))
    import tomllib  # 2 ms, and many texts need no pack

    return tomllib.loads(text)


def expand(text: str, parts: Mapping[str, str]) -> str:
    """Return a text of a pack on one line, with the part of that name in place of each `<name>`.

    Nothing stands where a line ends: the text goes on with the first sign of the next line.
    """
    return _PART.sub(lambda found: expand(parts[found[1]], parts), text.replace("\n", ""))
