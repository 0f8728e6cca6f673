"""A process that can make no socket to anywhere: the kernel ends it when it tries, whichever library it was.

    run("the_code_of_a_program()", tmp_path)

A patched `socket` module would not see a library in another language; the filter of the kernel does.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_SOCKET = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""The kernel's number of the architecture, and of the call `socket` there."""

SUPPORTED = sys.platform == "linux" and platform.machine() in _SOCKET
_AF_INET, _AF_INET6 = 2, 10
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_KILL, _ALLOW = 0x80000000, 0x7FFF0000
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def forbid() -> None:
    """From now on this process ends with SIGSYS when it makes a socket of the internet."""
    architecture, call = _SOCKET[platform.machine()]
    steps = [
        (_LOAD, 0, 0, 4), (_EQUAL, 0, 6, architecture),
        (_LOAD, 0, 0, 0), (_EQUAL, 0, 4, call),
        (_LOAD, 0, 0, 16), (_EQUAL, 1, 0, _AF_INET), (_EQUAL, 0, 1, _AF_INET6),
        (_RETURN, 0, 0, _KILL), (_RETURN, 0, 0, _ALLOW),
    ]  # fmt: skip
    program = _Program(len(steps), b"".join(struct.pack("HBBI", *step) for step in steps))
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or library.prctl(_SECCOMP, _FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel takes no filter")


def run(code: str, home: Path) -> subprocess.CompletedProcess[str]:
    """`code` in a process of its own that cannot reach out, with a home of its own.

    It has the environment of a person: some libraries behave where a variable says that tests run.
    """
    return subprocess.run(
        [sys.executable, "-c", f"from tests.vectors.offline import forbid\nforbid()\n{code}"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
