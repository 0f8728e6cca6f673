"""What a file holds that is no UTF-8 as it lies there: packed by gzip or zlib (documents in `backups`, a log that a
person packed), or text in UTF-16. Pure."""

from __future__ import annotations

import zlib

from nanomem_tui import regular

GZIP, _ZLIB = b"\x1f\x8b", b"\x78"
OTHERS = (b"PK\x03\x04", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07")
"""How files begin that others pack, which are not looked into: zip, bzip2, xz, zstd, 7z, rar."""
_WIDE = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def unpacked(data: bytes) -> bytes | None:
    """What is packed in these bytes; None: nothing is, or not whole, or more than is held in memory."""
    if not data.startswith((GZIP, _ZLIB)):
        return None
    parts: list[bytes] = []
    size = 0
    while data.startswith((GZIP, _ZLIB)):  # gzip files one after another are one
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


def wide(data: bytes) -> str:
    """The encoding of a text in UTF-16, as its first bytes tell it; "" where it is none."""
    codec = _WIDE.get(data[:2], "")
    if codec:
        try:
            data.decode(codec, "surrogatepass")
        except UnicodeDecodeError:
            return ""
    return codec


def plain(data: bytes) -> bytes:
    """A text in UTF-16 as UTF-8; other bytes as they are."""
    codec = wide(data)
    return data.decode(codec, "surrogatepass").encode("utf-8", "surrogatepass") if codec else data


def as_it_was(text: bytes, before: bytes) -> bytes:
    """What `plain` made, in the encoding that it had."""
    codec = wide(before)
    return text.decode("utf-8", "surrogatepass").encode(codec, "surrogatepass") if codec else text
