"""A process that may only compute: the kernel ends it at any other system call. On Linux, without any right for it."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys

# What an interpreter needs to compute: memory, locks between its threads, the time; to tell its result; to end.
NUMBERS = {
    "x86_64": {
        "write": 1, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14,
        "rt_sigreturn": 15, "sched_yield": 24, "mremap": 25, "madvise": 28, "gettimeofday": 96, "futex": 202,
        "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231,
    },
    "aarch64": {
        "write": 64, "exit_group": 94, "futex": 98, "clock_gettime": 113, "clock_getres": 114, "clock_nanosleep": 115,
        "sched_yield": 124, "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139, "gettimeofday": 169,
        "brk": 214, "munmap": 215, "mremap": 216, "mmap": 222, "mprotect": 226, "madvise": 233,
    },
}  # fmt: skip
SECCOMP = {"x86_64": 317, "aarch64": 277}  # the call itself
ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, KILL = 0x7FFF0000, 0x80000000  # of SECCOMP_RET_*: the whole process is ended
LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06  # of BPF: a word of the call; jumps; the verdict
CALL, FROM, ARGUMENT = 0, 4, 16  # where seccomp_data holds the number, the architecture, the first of 8-byte arguments
ANONYMOUS = 0x20  # of MAP_*
STDOUT = 1
NO_FILTER = "the kernel takes no filter of system calls"


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def _filter(machine: str) -> bytes:
    """The program that the kernel runs before each system call."""
    steps: list[tuple[int, int, int, int]] = [
        (LOAD, 0, 0, FROM), (EQUAL, 1, 0, ARCHITECTURE[machine]), (RETURN, 0, 0, KILL), (LOAD, 0, 0, CALL),
    ]  # fmt: skip
    for name, number in NUMBERS[machine].items():
        if name == "write":
            verdict = [(LOAD, 0, 0, ARGUMENT), (EQUAL, 0, 1, STDOUT), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, KILL)]
        elif name == "mmap":  # memory, no file
            where = ARGUMENT + 3 * 8
            verdict = [(LOAD, 0, 0, where), (ANY_BIT, 0, 1, ANONYMOUS), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, KILL)]
        else:
            verdict = [(RETURN, 0, 0, ALLOW)]
        steps += [(EQUAL, 0, len(verdict), number), *verdict]
    steps.append((RETURN, 0, 0, KILL))
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def possible() -> bool:
    """Whether this machine can do it."""
    return sys.platform == "linux" and platform.machine() in SECCOMP and os.path.exists("/proc/sys/kernel/seccomp")


def from_now_on() -> None:
    """All threads may only compute and write to standard output, for good. Raises OSError with NO_FILTER."""
    machine = platform.machine()
    kernel = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_filter, all_threads = 38, 1, 1
    code = _filter(machine)
    program = _Program(len(code) // 8, code)
    failed = kernel.prctl(no_new_privileges, 1, 0, 0, 0) or kernel.syscall(
        SECCOMP[machine], set_filter, all_threads, ctypes.byref(program)
    )
    if failed:
        raise OSError(ctypes.get_errno(), NO_FILTER)
