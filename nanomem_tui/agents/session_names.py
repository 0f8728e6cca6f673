"""Names of session files: the base64url of today, the lossy names of old releases, and the hash that our own
transcripts have where a key is too long for a name. Strings, no folder; light, for every command looks at them.
"""

from __future__ import annotations

import re

from nanomem_tui.core.errors import BadInput

SUFFIX = ".jsonl"
CHECKPOINT_SUFFIX = ".checkpoint.json"
MAX_NAME = 255
"""Characters of a file name."""
_HASH = 64
_UNSAFE = re.compile(r'[<>:"/\\|?*\x00-\x1f]')


def key_to_name(key: str) -> str:
    """The file name of session `key`: base64url without padding. Raises BadInput for a key that no name can hold."""
    return _stem(key) + SUFFIX


def key_to_own_name(key: str) -> str:
    """The file name of our own transcript of session `key`: that of today, or a hash where it would be too long. The
    metadata line says whose it is. Raises BadInput for a key that no name can hold."""
    name = key_to_name(key)
    return name if len(name) <= MAX_NAME else _hashed(key)


def is_own_name(name: str, key: str) -> bool:
    """Whether a file name is the hash of a key: only our own transcripts have such names."""
    return len(name) == _HASH + len(SUFFIX) and name == _hashed(key)


def name_to_key(name: str) -> str | None:
    """The key in a file name; None when the stem is not canonical base64url of UTF-8, which agents then ignore."""
    stem = name.removesuffix(SUFFIX)
    if not stem or stem == name:
        return None
    import base64

    try:
        key = base64.urlsafe_b64decode(stem + "=" * (-len(stem) % 4)).decode("utf-8")
        return key if _stem(key) == stem else None
    except (ValueError, BadInput):
        return None


def key_to_lossy_name(key: str) -> str:
    """The file name that old releases gave to `key`. Keys collide: `slack:T1_C2` and `slack_T1:C2` share one."""
    return _UNSAFE.sub("_", key).strip() + SUFFIX


def lossy_name_to_key(name: str) -> str:
    """The likeliest key behind an old name: its first `_` was the `:` after the channel. Metadata knows better."""
    return name.removesuffix(SUFFIX).replace("_", ":", 1)


def _hashed(key: str) -> str:
    from hashlib import sha256  # few keys are that long

    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest() + SUFFIX


def _stem(key: str) -> str:
    if not key:
        raise BadInput("a session without a key")
    import base64

    try:
        return base64.urlsafe_b64encode(key.encode("utf-8")).decode("ascii").rstrip("=")
    except UnicodeEncodeError:
        raise BadInput("a session key that is not UTF-8", repr(key)) from None
