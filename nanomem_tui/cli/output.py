"""The one module that owns stdout and stderr: lines, JSON documents, errors, questions.

Every printed line passes `safe_text` here, and every JSON document leaves with the characters that a terminal obeys
escaped, so nothing a memory says can reach the terminal as a command. It must not know a workspace or an option.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TextIO

from nanomem_tui.core import clock, errors
from nanomem_tui.core.text import ELLIPSIS, cell_width, counted, cut_quoted, one_line, pad, safe_text, wrap

if TYPE_CHECKING:
    from nanomem_tui.model.client import Usage
    from nanomem_tui.store.values import Record


# What json leaves raw and a terminal or a reader must not meet: DEL and C1, joiners of lines, bidi and zero-width
# controls, tag characters, lone surrogates. Escaped they are the same value for every JSON parser.
_HOSTILE = (
    "[\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


_WHERE_TO_WRITE = "name a file in a folder that is there and that you may write to"


class Unwritten(errors.NanomemError):
    """The answer could not be written where it was to go: what the command did is done all the same."""

    def __init__(self, error: OSError) -> None:
        why = error.strerror or str(error)
        told = "what was asked for is done as far as it went: look before you do it again"
        super().__init__("the answer cannot be written", f"stdout: {why}", told)


class ReaderGone(Exception):
    """Whoever read our output closed the pipe: stop quietly."""


def lines(rows: Iterable[str]) -> None:
    """Print `rows` on stdout as plain safe text. Raises ReaderGone, Unwritten."""
    _write(sys.stdout, "".join(f"{safe_text(row)}\n" for row in rows))


def document(value: Any) -> None:
    """Print `value` as one JSON document on stdout; an array of objects takes one line per object."""
    _write(sys.stdout, json_text(value) + "\n", encoding="utf-8")


def json_line(value: Any) -> None:
    """Print `value` as JSON on one line, at once: for a program that waits for it."""
    text = json.dumps(value, ensure_ascii=False)
    _write(sys.stdout, (text if text.isascii() else re.sub(_HOSTILE, _escape, text)) + "\n", encoding="utf-8")


def to_file(path: str, data: bytes) -> None:
    """Write a file that the user named, whole or not at all. Raises an error that names that file."""
    from pathlib import Path

    from nanomem_tui.core.atomic import write_atomic

    if Path(path).is_dir():
        raise errors.NanomemError("a folder, where a file is to be written", path, "name a file in it")
    try:
        write_atomic(Path(path), data)
    except errors.NanomemError as error:  # names the temporary file beside it, which means nothing to who reads this
        raise type(error)(error.what, path, _WHERE_TO_WRITE) from error


def notes(rows: Iterable[str]) -> None:
    """Say something beside the data, on stderr; what cannot be said there stops nothing."""
    _write(sys.stderr, "".join(f"{safe_text(row)}\n" for row in rows))


_TONES = {
    "heading": "1", "dim": "2", "warn": "33", "removed": "31", "added": "32", "removed-word": "31;7",
    "added-word": "32;7",
}  # fmt: skip
_WITHOUT_COLOUR = {"removed-word": "[-{}-]", "added-word": "{{+{}+}}"}


def toned(rows: Iterable[Sequence[tuple[str, str]]]) -> None:
    """Say lines made of parts, each with its tone, on stderr: in colour where that is wanted and can be."""
    coloured = sys.stderr is not None and sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    coloured = coloured and os.environ.get("TERM", "dumb") != "dumb"

    def part(text: str, tone: str) -> str:
        shown = safe_text(text).replace("\n", " ")
        if coloured and tone in _TONES and shown:
            return f"\x1b[{_TONES[tone]}m{shown}\x1b[0m"
        return _WITHOUT_COLOUR.get(tone, "{}").format(shown)

    _write(sys.stderr, "".join(f"{''.join(part(*parts) for parts in row)}\n" for row in rows))


def error_line(line: str) -> None:
    """One line on stderr about what went wrong; never raises, because it is the last thing said."""
    with contextlib.suppress(ReaderGone):
        notes([f"nanomem: {' '.join(line.split())}"])


def json_text(value: Any) -> str:
    """`value` as JSON in unescaped UTF-8, but for the characters that a terminal obeys or a reader cannot see."""
    if isinstance(value, list) and value:
        body = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in value)
        text = f"[\n{body}\n]"
    else:
        text = json.dumps(value, ensure_ascii=False, indent=2)
    if text.isascii() and "\x7f" not in text:
        return text
    return re.sub(_HOSTILE, _escape, text)  # compiled here, and only here


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match.group())[1:-1] if match.group() != "\x7f" else "\\u007f"


def terminal_width() -> int | None:
    """The width that lines must fit, in cells: of the terminal, or of COLUMNS; None in a pipe, where nothing is cut."""
    named = os.environ.get("COLUMNS", "")
    columns = int(named) if named.isdecimal() else 0
    if not columns and sys.stdout is not None and sys.stdout.isatty():
        try:
            columns = os.get_terminal_size(sys.stdout.fileno()).columns or 80
        except OSError:
            columns = 80
    return max(columns, 20) if columns else None


def can_ask() -> bool:
    """Whether a person is there to answer."""
    return sys.stdin is not None and sys.stdin.isatty()


def ask(question: str) -> bool:
    """Ask on stderr, read one line; anything but y or yes is a no."""
    sys.stderr.write(f"{safe_text(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def quiet_stdout() -> None:
    """Where nothing can be written any more: let the interpreter's last flush go nowhere instead of failing."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return


def _write(stream: TextIO | None, text: str, encoding: str | None = None) -> None:
    if stream is None:  # started with the descriptor closed
        return
    data = text.encode(encoding or stream.encoding or "utf-8", "backslashreplace")
    try:
        stream.flush()
        stream.buffer.write(data)
        stream.buffer.flush()
    except BrokenPipeError as gone:
        raise ReaderGone from gone
    except OSError as error:
        if stream is sys.stdout:
            raise Unwritten(error) from error


class Progress:
    """One line on stderr that says how far long work is, replaced as it goes on and gone at its end.

    Nothing is said where stderr is no terminal, nor before `PATIENCE` seconds.
    """

    PATIENCE = 0.5
    OFTEN = 0.1

    def __init__(self) -> None:
        self._shown = False
        self._next = time.monotonic() + self.PATIENCE
        self._speaks = sys.stderr is not None and sys.stderr.isatty()

    def __call__(self, what: str, done: int = 0, total: int = 0) -> None:
        """Say what is done now; with a `total` also how much of it is."""
        now = time.monotonic()
        if self._speaks and now >= self._next:
            self._next, self._shown = now + self.OFTEN, True
            how_far = f" {done:,} of {total:,}" if total else ""
            self._put(f"\r\x1b[K{safe_text(what)}{how_far} …")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Take the line away: something else is to be said."""
        if self._shown:
            self._shown = False
            self._put("\r\x1b[K")

    def _put(self, text: str) -> None:
        with contextlib.suppress(ReaderGone):
            _write(sys.stderr, text)


def fields(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """`name  value` lines with the values aligned, each on one line; an empty value is left out."""
    shown = [(name, " ".join(value.split())) for name, value in pairs if value != ""]
    width = max((len(name) for name, _ in shown), default=0)
    return [f"{name:<{width}}  {value}" for name, value in shown]


# -- Plain-text tables that fit a terminal: rows of untrusted cells in, lines out. Pure, knows no stream --------------

GAP = "  "


class Column(NamedTuple):
    """One column. Widths are terminal cells.

    `limit`: never wider than this. `least`: a column that may shrink gives way down to this. `drop`: columns with the
    highest number go first when the line is too long (0: never).
    """

    title: str
    limit: int = 0
    least: int = 0
    drop: int = 0
    right: bool = False
    optional: bool = False
    """Left out when every cell of it is empty."""
    of: Callable[[Any], str] | None = None
    """What a row has in it, where the rows are given and not their cells."""


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], width: int | None) -> list[str]:
    """The header and one line per row, at most `width` cells wide where that can be done (None: as wide as it needs).

    No row at all gives no line at all.
    """
    cells = [[_cell(value, column.limit) for column, value in zip(columns, row, strict=True)] for row in rows]
    if not cells:
        return []
    natural = [
        max(cell_width(column.title), *(cell_width(row[at]) for row in cells)) for at, column in enumerate(columns)
    ]
    shown = [at for at, column in enumerate(columns) if not (column.optional and not any(row[at] for row in cells))]
    widths = _fit(columns, natural, shown, width)
    return [
        _line([column.title for column in columns], columns, widths),
        *(_line(row, columns, widths) for row in cells),
    ]


def columned(columns: Sequence[Column], rows: Iterable[Any]) -> list[str]:
    """As `table`, of rows from which each column takes its cell, as wide as the terminal."""
    return table(
        columns, [[column.of(row) if column.of else "" for column in columns] for row in rows], terminal_width()
    )


def paragraph(text: str, width: int | None) -> list[str]:
    """A text in full: its own lines, broken to `width` cells (None: not broken)."""
    shown = safe_text(text)
    return shown.split("\n") if width is None else wrap(shown, width)


def _cell(value: str, limit: int) -> str:
    """A value as one safe line of at most `limit` cells (0: any); a quotation that is cut ends in its mark."""
    shown = one_line(value, limit)
    if limit and shown.endswith(ELLIPSIS) and shown.count("“") > shown.count("”"):
        shorter = one_line(value, limit - 1)
        return f"{shorter}”" if "“" in shorter else shorter
    return shown


def _fit(columns: Sequence[Column], natural: list[int], shown: list[int], width: int | None) -> dict[int, int]:
    """The width of each column that stays."""
    while True:
        widths = {at: natural[at] for at in shown}
        over = sum(widths.values()) + len(GAP) * (len(shown) - 1) - width if width else 0
        if over <= 0:
            return widths
        # What could go altogether gives way before what must stay; then the widest.
        for at in sorted(shown, key=lambda at: (columns[at].drop > 0, natural[at]), reverse=True):
            column = columns[at]
            if column.least and over > 0:
                give = min(over, max(widths[at] - max(column.least, cell_width(column.title)), 0))
                widths[at] -= give
                over -= give
        droppable = [at for at in shown if columns[at].drop]
        if over <= 0 or not droppable:
            return widths
        shown = [at for at in shown if at != max(droppable, key=lambda at: columns[at].drop)]


def _line(row: Sequence[str], columns: Sequence[Column], widths: dict[int, int]) -> str:
    parts = [
        pad(cut_quoted(row[at], size), size, "right" if columns[at].right else "left") for at, size in widths.items()
    ]
    return GAP.join(parts).rstrip()


def of_total(shown: int, total: int, *nouns: str) -> str:
    """The last line of a list: how many there are, and how many of them it shows."""
    return counted(total, *nouns) if shown == total else f"{shown:,} of {counted(total, *nouns)}"


# -- How values read in a terminal: counts, times and sizes in few cells. Pure ----------------------------------------

__all__ = ["counted", "reads_as", "size", "spent", "tally", "when"]


def when(text: Any) -> str:
    """A time as `YYYY-MM-DD HH:MM` of here; what is no time stays as it is; `-` for nothing."""
    if not text:
        return "-"
    moment = clock.parse(str(text))
    return clock.local_minute(moment) if moment else str(text)


def size(count: int) -> str:
    """Bytes as `812 B`, `1.5 kB`, `2.0 MB`."""
    number = float(count)
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{count} B" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


def tally(counts: Mapping[str, int]) -> str:
    """`fact 3, decision 1`: the largest first."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name or '-'} {number}" for name, number in ordered)


def spent(usage: Usage) -> str:
    """What a model took: `Asked qwen3 2 times: 3,120 tokens in, 240 out, 4.1 s, cost 0.0012`."""
    about = "about " if usage.estimated else ""
    cost = "" if usage.cost is None else f", cost {usage.cost:.4f}"
    times = counted(usage.calls, "time", "times")
    counts = f"{about}{usage.tokens_in:,} tokens in, {usage.tokens_out:,} out"
    return f"Asked {one_line(usage.model, 80)} {times}: {counts}, {usage.seconds:.1f} s{cost}"


def reads_as(row: Record) -> str:
    """How what was noted or imported reads as an order to the model, for a person; empty when it does not."""
    from nanomem_tui.memory.transfer.crystallized import record_instructing

    why = record_instructing(row)
    return f"it {why}: it is data, and put before no model" if why else ""


# What an exception means to a person: one line and an exit code. Must not import click, a database or a workspace.

INTERRUPTED = 130


def report(error: BaseException) -> int:
    """Say what went wrong in one line on stderr; the exit code. A reader that went away is no error."""
    if isinstance(error, ReaderGone):
        quiet_stdout()
        return 0
    if isinstance(error, Unwritten):
        quiet_stdout()
    if _debugging():
        import traceback

        notes(traceback.format_exception(error))
    line, code = describe(error)
    error_line(line)
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
    from nanomem_tui.store.database import reading

    text, code = str(error), reading.code_of(error)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return errors.CorruptDatabase("the database cannot be read", text, "run `nanomem doctor`; it was not changed")
    if code == reading.FULL:
        return errors.DiskFull("no space left for the database", text, "free some space; nothing was changed")
    if code in reading.BUSY:
        return errors.Refused("the database is busy", text, "try again in a moment")
    if code in reading.REFUSED:
        return errors.AccessDenied("the database cannot be opened", text, "check its owner and mode")
    return errors.StoreError("the database could not do that", text, "run `nanomem doctor`")
