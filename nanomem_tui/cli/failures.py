"""What an exception means to a person: one line and an exit code. Must not import click, a database or a workspace."""

from __future__ import annotations

import os
import sys

from nanomem_tui.cli import output
from nanomem_tui.core import errors

INTERRUPTED = 130


def report(error: BaseException) -> int:
    """Say what went wrong in one line on stderr; the exit code. A reader that went away is no error."""
    if isinstance(error, output.ReaderGone):
        output.quiet_stdout()
        return 0
    if isinstance(error, output.Unwritten):
        output.quiet_stdout()
    if _debugging():
        import traceback

        output.notes(traceback.format_exception(error))
    line, code = describe(error)
    output.error(line)
    return code


def describe(error: BaseException) -> tuple[str, int]:
    """The line to print and the exit code of `error`; an error nobody foresaw is named as such."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", INTERRUPTED
    known = as_known(error)
    if known is not None:
        return known.line(), known.exit_code
    return f"internal error: {type(error).__name__}: {error} (NANOMEM_DEBUG=1 shows where)", 2


def as_known(error: BaseException) -> errors.NanomemError | None:
    """`error` as one of our tree when it is one, or when it comes from the file system or a database; else None."""
    if isinstance(error, errors.NanomemError):
        return error
    if isinstance(error, OSError):
        return errors.from_os_error(error, "working on the workspace")
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("nanomem_tui"):
        fix = "install nanomem-tui again, with all that it needs"
        return errors.Refused(f"the Python package {error.name} is not installed", "", fix)
    if isinstance(error, RecursionError):
        return errors.BadInput("too deeply nested to read", "", "run `nanomem doctor`")
    cause = getattr(error, "orig", None)  # SQLAlchemy wraps what the driver raised
    return _from_database(cause if isinstance(cause, BaseException) else error)


def _debugging() -> bool:
    return os.environ.get("NANOMEM_DEBUG", "") not in ("", "0")


def _from_database(error: BaseException) -> errors.NanomemError | None:
    sqlite3 = sys.modules.get("sqlite3")
    if sqlite3 is None or not isinstance(error, sqlite3.Error):
        return None
    from nanomem_tui.store import engine

    text, code = str(error), engine.code_of(error)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return errors.CorruptDatabase("the database cannot be read", text, "run `nanomem doctor`; it was not changed")
    if code == engine.FULL:
        return errors.DiskFull("no space left for the database", text, "free some space; nothing was changed")
    if code in engine.BUSY:
        return errors.Refused("the database is busy", text, "try again in a moment")
    if code in engine.REFUSED:
        return errors.AccessDenied("the database cannot be opened", text, "check its owner and mode")
    return errors.StoreError("the database could not do that", text, "run `nanomem doctor`")
