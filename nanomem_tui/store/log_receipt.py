"""The receipt of a log: how many operations a memory had at a time, and the head of their chain, in a file of its own.

Kept in another place, and signed there by whatever its owner signs with, it tells later what was changed since behind
everybody's back: the head covers every operation before it. Says nothing of what the memory holds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from nanomem_tui import json_text, regular
from nanomem_tui.errors import BadInput, Refused, from_os_error
from nanomem_tui.store import atomic

NAME = "nanomem_log"
_HEAD = 64
_DIGITS = frozenset("0123456789abcdef")


class LogReceipt(NamedTuple):
    """`workspace`: the memory's id; `operations`: how many it had; `head`: the last digest; `at`: when, in UTC."""

    workspace: str
    operations: int
    head: str
    at: str


def is_of_digits(head: str) -> bool:
    """Whether a head, or the begin of one, has no other signs than its digits."""
    return _DIGITS.issuperset(head)


def write(path: Path, receipt: LogReceipt) -> None:
    """Write it to a new file. Raises Refused where there is a file, and the errors of `from_os_error`."""
    body = json.dumps({NAME: 1, **receipt._asdict()}, ensure_ascii=False, indent=1)
    if path.exists():
        raise Refused("that file is there already", str(path), "name a new one: a receipt is never written over")
    atomic.write_atomic(path, f"{body}\n".encode(), expected="")


def read(path: Path) -> LogReceipt:
    """The receipt in a file. Raises BadInput where there is none in it, and the errors of `from_os_error`."""
    fix = "`nanomem log --verify --receipt FILE` writes one"
    try:
        told = json_text.loads(regular.read(path))
    except OSError as error:
        raise from_os_error(error, "reading the receipt") from error
    except (ValueError, RecursionError) as error:
        raise BadInput("not a receipt of a log", str(path), fix) from error
    fields = told if isinstance(told, dict) else {}
    head, workspace, at = (str(fields.get(name, "")) for name in ("head", "workspace", "at"))
    operations = fields.get("operations")
    if NAME not in fields or not isinstance(operations, int) or len(head) != _HEAD or not is_of_digits(head):
        raise BadInput("not a receipt of a log", str(path), fix)
    return LogReceipt(workspace, operations, head, at)
