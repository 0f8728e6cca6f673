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
from collections.abc import Iterable, Sequence
from typing import Any, Self, TextIO

from nanomem_tui.core import errors
from nanomem_tui.core.text import safe_text

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


def error(line: str) -> None:
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
