"""What tells one model's files from another's without reading all of them: their sizes and a sample of their bytes.

Weights of two models differ nearly everywhere, so that a sample finds it; a file of a gigabyte is told in milliseconds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

_SAMPLES = 64
_SAMPLE = 16_384


def fingerprint(files: Iterable[Path], *more: str) -> str:
    """Eight characters of the files in their order and of `more`. Raises OSError where one cannot be read."""
    found = hashlib.sha256("\0".join(more).encode())
    for file in files:
        with file.open("rb") as opened:
            size = opened.seek(0, 2)
            found.update(size.to_bytes(8, "little"))
            for start in range(0, size, max(size // _SAMPLES, _SAMPLE)):
                opened.seek(start)
                found.update(opened.read(_SAMPLE))
    return found.hexdigest()[:8]
