"""Errors on their way through gRPC: as a status with one line and trailing metadata, and as errors of our tree again.

Owns which error is which status code. Must not tell a client what nobody foresaw: that stands in the server's log.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote

from nanomem_tui.core import errors
from nanomem_tui.core.text import one_line

PREFIX = "nanomem-error-"
MOST = 500
"""Characters of each part of an error."""
PRINTABLE = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")


class Unauthenticated(errors.AccessDenied):
    """A call without the right token."""


_CODES: tuple[tuple[type[errors.NanomemError], str], ...] = (
    (Unauthenticated, "UNAUTHENTICATED"),
    (errors.NotFound, "NOT_FOUND"),
    (errors.Conflict, "ABORTED"),
    (errors.BadInput, "INVALID_ARGUMENT"),
    (errors.Refused, "FAILED_PRECONDITION"),
    (errors.NothingToDo, "FAILED_PRECONDITION"),
    (errors.MissingExtra, "FAILED_PRECONDITION"),
    (errors.NewerDatabase, "FAILED_PRECONDITION"),
    (errors.DiskFull, "RESOURCE_EXHAUSTED"),
    (errors.AccessDenied, "PERMISSION_DENIED"),
    (errors.CorruptDatabase, "DATA_LOSS"),
    (errors.StoreError, "UNAVAILABLE"),
    (errors.ModelError, "UNAVAILABLE"),
)
_KINDS: Mapping[str, type[errors.NanomemError]] = {
    name: kind
    for name, kind in {**vars(errors), "Unauthenticated": Unauthenticated}.items()
    if isinstance(kind, type) and issubclass(kind, errors.NanomemError)
}
UNFORESEEN = "the memory cannot answer that: the log of its service says why"


def status_of(error: BaseException, rpc: str) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """The name of the status code, the line and the trailing metadata for an error of a call of `rpc`."""
    known = _known(error)
    if known is None:
        line = one_line(f"nanomem: {rpc}: {type(error).__name__}: {error}", MOST)
        print(line, file=sys.stderr, flush=True)
        return "INTERNAL", UNFORESEEN, ()
    code = next((name for kind, name in _CODES if isinstance(known, kind)), "INTERNAL")
    parts = {"kind": type(known).__name__, "what": known.what, "where": known.where, "fix": known.fix}
    told = ((f"{PREFIX}{name}", quote(one_line(text, MOST), PRINTABLE)[:1_500]) for name, text in parts.items() if text)
    return code, one_line(known.line(), MOST), tuple(told)


def _known(error: BaseException) -> errors.NanomemError | None:
    """The error as one of our tree; None for one that nobody foresaw, of which the client is told nothing."""
    if isinstance(error, errors.NanomemError):
        return error
    if isinstance(error, OSError):
        found = errors.in_words(error)
        return found if isinstance(found, (errors.DiskFull, errors.AccessDenied)) else None
    return None


def from_status(code: str, line: str, metadata: Iterable[tuple[str, Any]], where: str) -> errors.NanomemError:
    """The error of a call as one of our tree; `where`: the address that was called."""
    told = {name.removeprefix(PREFIX): unquote(str(text)) for name, text in metadata if name.startswith(PREFIX)}
    if kind := _KINDS.get(told.get("kind", "")):
        return kind(told.get("what", line), told.get("where", ""), told.get("fix", ""))
    said = one_line(line, 200)
    if code == "UNAVAILABLE":
        return errors.Refused("no service answers", where, "start it: nanomem serve grpc")
    if code == "DEADLINE_EXCEEDED":
        return errors.Refused("the service did not answer in time", where, "ask again, with a longer timeout")
    if code == "CANCELLED":
        return errors.Refused("the call was cancelled", where)
    if code == "RESOURCE_EXHAUSTED" and "larger than max" in line:
        return errors.BadInput("the message is larger than 4 MB", where, "send less at once")
    if code == "RESOURCE_EXHAUSTED":
        return errors.Refused("the service has too many calls at once", where, "ask again in a moment")
    return errors.NanomemError(f"the service failed ({code})", where, said)
