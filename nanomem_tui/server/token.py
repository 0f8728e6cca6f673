"""The word that a program on this machine gives to be let in over a port: from the environment, else from a file of
ours, 0600, made at the first start.

Owns where it lies, how it is made, and the comparison. Must not know a protocol.
"""

from __future__ import annotations

import os
import secrets
import stat
from hmac import compare_digest
from pathlib import Path

from nanomem_tui.core import atomic
from nanomem_tui.core.errors import BadInput, Conflict, Refused, from_os_error

VARIABLE = "NANOMEM_TOKEN"
SHORTEST, LONGEST = 16, 1_000
"""Characters of a token."""


def token(file: Path) -> str:
    """The token of this start: what `NANOMEM_TOKEN` holds, else what the file holds, which is made when it is missing.

    Raises BadInput for one that cannot be used, Refused for a file that others may read, and what `from_os_error` does.
    """
    given = os.environ.get(VARIABLE)
    if given:
        return _checked(given.strip(), f"environment variable {VARIABLE}")
    try:
        return _read(file)
    except FileNotFoundError:
        atomic.make_folder(file.parent)
        made = secrets.token_urlsafe(32)
    try:
        atomic.write_atomic(file, f"{made}\n".encode(), expected="", mode=0o600)
    except Conflict:  # another server of ours made it in this moment
        return _read(file)
    return made


def source(file: Path) -> str:
    """Where the token of this start stands, for a person."""
    return VARIABLE if os.environ.get(VARIABLE) else str(file)


def matches(given: str, wanted: str) -> bool:
    """Whether that is the token, in a time that tells nothing of it."""
    return compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _read(file: Path) -> str:
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(handle, "rb") as opened:
            mode = os.fstat(handle).st_mode
            data = opened.read(LONGEST + 2) if stat.S_ISREG(mode) else b""
    except FileNotFoundError:
        raise
    except OSError as error:
        raise from_os_error(error, f"reading {file.name}") from error
    if mode & 0o077:
        raise Refused("others on this machine may read the token", str(file), f"chmod 600 {file}, or remove it")
    return _checked(data.decode("utf-8", "replace").strip(), str(file))


def _checked(text: str, where: str) -> str:
    fits = SHORTEST <= len(text) <= LONGEST and all("!" <= char <= "~" for char in text)
    if not fits:
        what = f"a token is {SHORTEST} to {LONGEST:,} characters of ASCII without blanks"
        raise BadInput(what, where, "remove it, and a new one is made")
    return text
