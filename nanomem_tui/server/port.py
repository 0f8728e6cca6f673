"""A port of this machine, 127.0.0.1, and of no other."""

from __future__ import annotations

import errno
import socket

from nanomem_tui.core import errors

HOST = "127.0.0.1"


def listen(port: int, option: str) -> socket.socket:
    """The port of this machine, taken; 0: any free one. Raises Refused in one line, which names the `option`, where it
    is not to be had."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a server may follow on one that just ended
        listening.bind((HOST, port))
        listening.listen()
    except OSError as error:
        listening.close()
        why = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
        raise errors.Refused(f"port {port} of {HOST} {why}", option, "give another, or 0 for any free one") from error
    return listening
