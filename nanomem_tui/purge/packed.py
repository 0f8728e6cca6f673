"""What a file holds that gzip or zlib packed: a pack of documents in `backups`, a year of the archive, a log that a
person packed. Pure."""

from __future__ import annotations

import zlib

from nanomem_tui import regular

_GZIP, _ZLIB = b"\x1f\x8b", b"\x78"


def unpacked(data: bytes) -> bytes | None:
    """What is packed in these bytes; None: nothing is, or not whole, or more than is held in memory."""
    if not data.startswith((_GZIP, _ZLIB)):
        return None
    parts: list[bytes] = []
    size = 0
    while data.startswith((_GZIP, _ZLIB)):  # gzip files one after another are one
        reader = zlib.decompressobj(47)
        try:
            parts.append(reader.decompress(data, regular.MOST_OF_A_LOG - size + 1))
        except zlib.error:
            return None
        size += len(parts[-1])
        if not reader.eof or size > regular.MOST_OF_A_LOG:
            return None
        data = reader.unused_data
    return b"".join(parts)
