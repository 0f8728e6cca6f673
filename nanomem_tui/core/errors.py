"""The exception tree of nanomem and the value that reports a thing which could not be read.

Each error carries what went wrong, where, and what to do: the command line makes it one line, a screen a toast.

    NanomemError                exit code 2
    ├── BadInput                an argument, a file or a setting that cannot be used
    │   ├── WorkspaceMissing    the path does not exist
    │   ├── NotAWorkspace       the path exists and holds no memory
    │   └── InvalidConfig       a settings file that does not parse or does not fit
    ├── NotFound                no item, lesson, session or commit of that name
    ├── Refused                 allowed in principle, not now (an agent runs, no --yes)
    ├── Conflict                what is there is not what the change started from
    ├── AccessDenied            the file system said no
    ├── DiskFull                no space left
    ├── StoreError              the database
    │   ├── NewerDatabase       written by a later version
    │   ├── CorruptDatabase     cannot be read
    │   ├── ServerAway          the server does not answer, or hung up
    │   └── Moved               the memory lies in another one now
    ├── ModelError              the language model that was asked
    │   ├── ModelUnavailable    nobody answers, too late or too busy
    │   ├── ModelRefused        the endpoint or the model will not: the key, the model's name, a filter
    │   ├── ModelTooLong        the question or the answer is longer than the model can
    │   └── BadAnswer           what it answered cannot be used
    ├── MissingExtra            an optional part is not installed
    └── NothingToDo             exit code 1: the caller asked to be told
"""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Any, Literal, NamedTuple


class NanomemError(Exception):
    """An error a person can act on: what happened, where, and what to do about it."""

    exit_code = 2

    def __init__(self, what: str, where: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix

    def line(self) -> str:
        """Return the error as one line: ``what: where. Fix: what to do``."""
        text = f"{self.what}: {self.where}" if self.where else self.what
        return f"{text}. Fix: {self.fix}" if self.fix else text

    def __str__(self) -> str:
        return self.line()


class BadInput(NanomemError):
    """An argument, a file or a setting that cannot be used as it is."""


class WorkspaceMissing(BadInput):
    """The workspace path does not exist."""


class NotAWorkspace(BadInput):
    """The path exists and holds no agent's memory."""


class InvalidConfig(BadInput):
    """A settings file that does not parse or does not fit."""


class NotFound(NanomemError):
    """Nothing of that name is there."""


class Unsaved(NanomemError):
    """Changes that waited in RAM were lost when the process ended."""


class Refused(NanomemError):
    """The action is possible in principle, but not now."""


class Conflict(NanomemError):
    """What is there is not what the change started from."""


class AccessDenied(NanomemError):
    """The file system refused access."""


class DiskFull(NanomemError):
    """No space is left on the device."""


class StoreError(NanomemError):
    """The database could not do what was asked."""


class NewerDatabase(StoreError):
    """The database was written by a later version of nanomem."""


class CorruptDatabase(StoreError):
    """The database file cannot be read."""


class ServerAway(StoreError):
    """The database server does not answer, or hung up."""


class Moved(StoreError):
    """The memory lies in another store now, or is still on its way to this one."""


class ModelError(NanomemError):
    """A language model could not be asked, or not with success."""


class ModelUnavailable(ModelError):
    """Nobody answers, not in time, or the endpoint is too busy."""


class ModelRefused(ModelError):
    """The endpoint or the model will not answer this question."""


class ModelTooLong(ModelError):
    """The question or its answer is longer than the model can take or give."""


class BadAnswer(ModelError):
    """The model answered, and the answer cannot be used."""


class MissingExtra(NanomemError):
    """An optional part is not installed."""


class NothingToDo(NanomemError):
    """There was nothing to do where the caller asked to be told."""

    exit_code = 1


class NotYetWritten(UserWarning):
    """The last checkpoint of a workspace failed: its changes are in the database, its counters and exports are not."""


class Problem(NamedTuple):
    """One thing that could not be read, or that wants attention.

    `where` is a file name relative to the workspace or a table; `line` counts from 1. A "note" wants no attention: it
    is told, and not counted among the problems.
    """

    what: str
    where: str
    line: int | None = None
    fix: str = ""
    severity: Literal["error", "warning", "note"] = "error"

    def text(self) -> str:
        """The problem as one line."""
        place = f"{self.where}:{self.line}" if self.line is not None else self.where
        return f"{place}: {self.what}" + (f" ({self.fix})" if self.fix else "")

    def to_json(self) -> dict[str, Any]:
        """The fields as a JSON object."""
        return self._asdict()


def shown_error(error: BaseException, doing: str = "working on the workspace") -> NanomemError:
    """`error` as one of this tree, so that it can be shown to a person."""
    if isinstance(error, NanomemError):
        return error
    if isinstance(error, OSError):
        return from_os_error(error, doing)
    return NanomemError(f"that did not work ({type(error).__name__}: {error})")


def from_os_error(error: OSError, doing: str) -> NanomemError:
    """The error of this tree that says what `error` means to a person; `doing` is what was tried."""
    where = str(error.filename or "")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"no space left while {doing}", where, "free some space; nothing was changed")
    if error.errno == errno.EROFS:
        return AccessDenied(f"the disk is read-only while {doing}", where, "mount it for writing; nothing was changed")
    if error.errno in (errno.EACCES, errno.EPERM):
        return AccessDenied(f"no permission while {doing}", where, "check the owner and mode of that path")
    if error.errno == errno.EFBIG:
        what = f"{error.strerror}, so not read while {doing}"
        return NanomemError(what, where, "move it away, or cut what is not needed")
    return NanomemError(f"{error.strerror or error} while {doing}", where, "run `nanomem doctor`")


# The command that installs an optional part: composed here and nowhere else, so that every hint says the same.

NAME = "nanomem-tui"
PACKAGE = "."
"""What is installed: `.` is the clone of nanomem that the command is run in; on an index it is `NAME`."""


def extra_command(extra: str) -> str:
    """Return how to install an extra of this package, such as `vector`, into the environment that is running."""
    tool = _tool()
    command = f"{tool} install --force" if tool else "pip install"
    command = f"{command} '{PACKAGE}[{extra}]'"
    return f"in a clone of nanomem: {command}" if PACKAGE == "." else command


def library_command(name: str) -> str:
    """Return how to install a library that is part of no extra into the environment that is running."""
    return f"pipx inject {NAME} {name}" if _tool() == "pipx" else f"pip install {name}"


def _tool() -> str:
    """The program that made the environment, where it is one of those that keep programs apart."""
    parts = Path(sys.prefix).parts
    if "pipx" in parts and "venvs" in parts:
        return "pipx"
    return "uv tool" if parts[-3:-1] == ("uv", "tools") else ""
