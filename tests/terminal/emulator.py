"""A terminal for tests: a grid of cells that obeys what the console writes, and refuses to guess at anything else.

It takes clusters for as wide as the console does, blanks the other half of a wide character that is overwritten, and
scrolls within margins.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rich.cells import split_graphemes

_TOKEN = re.compile(r"\x1b\[([?>]?[\d;]*)([A-Za-z])|([\r\n])|([^\x00-\x1f\x7f-\x9f]+)")
_LASTING = {"1", "2", "3", "4", "5", "6", "7", "8", "9"}
_OFF = {"22": "12", "23": "3", "24": "4", "25": "56", "27": "7", "28": "8", "29": "9"}
_ON_BLANKS = frozenset("45679")


class Look(NamedTuple):
    """The colours and marks of a cell."""

    ink: str = ""
    paper: str = ""
    marks: frozenset[str] = frozenset()


class Seen(NamedTuple):
    """One cell, as a reader sees it: the ink of a blank is no difference."""

    text: str
    look: Look

    @classmethod
    def of(cls, text: str, look: Look) -> Seen:
        return cls(text, Look(paper=look.paper) if text == " " and not look.marks & _ON_BLANKS else look)


class Emulator:
    """A terminal of `columns` and `lines`; every cell holds `filled` at first."""

    def __init__(self, columns: int, lines: int, filled: str = "#") -> None:
        self.columns, self.lines = columns, lines
        self.grid = [[Seen(filled, Look()) for _ in range(columns)] for _ in range(lines)]
        self.look = Look()
        self.y = self.x = 0
        self.margins = (0, lines - 1)

    @property
    def text(self) -> str:
        return "\n".join("".join(cell.text for cell in line).rstrip() for line in self.grid)

    def feed(self, data: str) -> None:
        at = 0
        while at < len(data):
            found = _TOKEN.match(data, at)
            assert found is not None, f"not understood: {data[at : at + 20]!r}"
            at = found.end()
            numbers, final, line, text = found.groups()
            if text is not None:
                self._write(text)
            elif line is not None:
                self._control(line)
            elif not numbers.startswith(("?", ">")):
                getattr(self, f"_{final}")(numbers)

    def _write(self, text: str) -> None:
        for start, end, width in split_graphemes(text)[0]:
            cluster = text[start:end]
            line = self.grid[self.y]
            if not width:
                before = next(at for at in range(max(self.x - 1, 0), -1, -1) if line[at].text or not at)
                line[before] = line[before]._replace(text=line[before].text + cluster)
                continue
            for at in range(self.x, min(self.x + width, self.columns)):
                self._clear(at)
                line[at] = Seen.of(cluster if at == self.x else "", self.look)
            self.x = min(self.x + width, self.columns - 1)

    def _clear(self, at: int) -> None:
        """Take away the other half of a wide character."""
        line = self.grid[self.y]
        if not line[at].text and at:
            line[at - 1] = Seen.of(" ", line[at - 1].look)
        if at + 1 < self.columns and not line[at + 1].text:
            line[at + 1] = Seen.of(" ", line[at + 1].look)

    def _control(self, control: str) -> None:
        if control == "\r":
            self.x = 0
        elif self.y == self.margins[1]:
            self._shift(self.margins[0], 1)
        else:
            self.y = min(self.y + 1, self.lines - 1)

    def _shift(self, top: int, count: int) -> None:
        """Lines from `top` to the lower margin go up by `count`, down when negative."""
        bottom = self.margins[1]
        band = self.grid[top : bottom + 1]
        blank = [[Seen.of(" ", Look(paper=self.look.paper))] * self.columns for _ in range(abs(count))]
        self.grid[top : bottom + 1] = [*band[count:], *blank] if count > 0 else [*blank, *band[:count]]

    def _H(self, numbers: str) -> None:  # noqa: N802 - named after what the terminal is told
        line, _, column = numbers.partition(";")
        self.y, self.x = min(int(line or 1), self.lines) - 1, min(int(column or 1), self.columns) - 1

    def _C(self, numbers: str) -> None:  # noqa: N802
        self.x = min(self.x + int(numbers or 1), self.columns - 1)

    def _K(self, numbers: str) -> None:  # noqa: N802
        assert not numbers
        self._clear(self.x)
        self.grid[self.y][self.x :] = [Seen.of(" ", Look(paper=self.look.paper))] * (self.columns - self.x)

    def _M(self, numbers: str) -> None:  # noqa: N802
        self._shift(self.y, int(numbers or 1))

    def _L(self, numbers: str) -> None:  # noqa: N802
        self._shift(self.y, -int(numbers or 1))

    def _r(self, numbers: str) -> None:
        top, _, bottom = numbers.partition(";")
        self.margins = (int(top or 1) - 1, int(bottom or self.lines) - 1)
        self.y = self.x = 0

    def _m(self, numbers: str) -> None:
        codes = iter((numbers or "0").split(";"))
        for code in codes:
            if code in {"38", "48"}:
                kind = next(codes)
                colour = ";".join((kind, *(next(codes) for _ in range(1 if kind == "5" else 3))))
                self.look = self.look._replace(**{"ink" if code == "38" else "paper": colour})
            else:
                self.look = self._marked(code)

    def _marked(self, code: str) -> Look:
        look = self.look
        if code in {"", "0"}:
            return Look()
        if code in _LASTING:
            return look._replace(marks=look.marks | {code})
        if code in _OFF:
            return look._replace(marks=look.marks - set(_OFF[code]))
        number = int(code)
        if 30 <= number <= 39 or 90 <= number <= 97:
            return look._replace(ink="" if number == 39 else code)
        assert 40 <= number <= 49 or 100 <= number <= 107, f"not understood: SGR {code}"
        return look._replace(paper="" if number == 49 else code)
