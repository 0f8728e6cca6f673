"""A man page as blocks: the macros of man(7), and what pod2man and its kin add to them. Changes nothing.

Pages in mdoc(7) are handed to their own reader. Lines are those of the source of the page, unpacked.
"""

from __future__ import annotations

import re

from nanomem_tui.formats.blocks import Blocks, Reading
from nanomem_tui.formats.roff import Roff, arguments, shown

_JOINED = frozenset(("BI", "BR", "IB", "IR", "RB", "RI"))
_SPACED = frozenset(("B", "I", "R", "SM", "SB", "CW", "C"))
_PARAGRAPH = frozenset(("PP", "P", "LP", "HP", "Sp", "sp", "PD0", "bp"))
_VERBATIM = frozenset(("nf", "EX", "Vb", "DS", "CS", "VS"))
_FILLED = frozenset(("fi", "EE", "Ve", "DE", "CE", "VE"))
_NOTHING = frozenset(
    "ad na hy nh ne PD DT UC AT IX ft fam ta ti in ll pl po lt ps vs cu ul ce rj ns rs tl ev it wh ch rt mk nx so "
    "TA FC OO zZ zY Id ds lf ecr eo ec cc c2 nop do device fl mc nm nn pm rd rchar sv ".split()
)
_BULLETS = frozenset(("•", "*", "-", "o", "·", "+", "–", "—", "○", "▪"))
_SUMMARY = re.compile(r"\s+(?:[-–—−]{1,3}|\\-)\s+")
_MDOC = re.compile(r"^[.'][ \t]*(?:Dd|Dt|Sh)\b", re.MULTILINE)
_MAN = re.compile(r"^[.'][ \t]*(?:TH|SH)\b", re.MULTILINE)


def parse_man_page(source: str, name: str) -> Reading:
    """The page as blocks. `name` ("nginx(8)") is its title; what its section NAME says it does is what it is about.

    Never raises on what a page says; a text that is no page comes as its lines.
    """
    mdoc, man = _MDOC.search(source), _MAN.search(source)
    if mdoc and not (man and man.start() < mdoc.start()):
        from nanomem_tui.formats.mdoc_page import MdocPage

        made = MdocPage(source, name.partition("(")[0]).blocks
    else:
        made = ManPage(source).blocks
    return Reading(name, tuple(made.made), _about(made))


def _about(made: Blocks) -> str:
    """The one line of the section NAME, without the names."""
    for block in made.made[:4]:
        text = " ".join(piece.text for piece in block.pieces)
        parts = _SUMMARY.split(text, maxsplit=1)
        if len(parts) == 2:
            return " ".join(parts[1].split())[:300]
    return ""


class ManPage:
    """The reader of man(7)."""

    def __init__(self, source: str) -> None:
        self.blocks = Blocks()
        self._depth = 0
        self._entry_depth: int | None = None
        self._set_in = False
        self._filled = True
        self._heading = 0
        self._tag = False
        self._link = ""
        self._roff = Roff(source, self._call, self._text)
        self._roff.run()
        self.blocks.end()

    def _text(self, text: str, line: int) -> None:
        shows = shown(text)
        glued = text.endswith("\\c")
        if self._heading:
            self.blocks.heading(self._heading, shows)
            self._heading = 0
        elif not shows.strip():
            self._part()
        elif self._tag:
            self.blocks.add(" ".join(shows.split()), line)
            if not glued:
                self._tag = False
                self.blocks.end_piece()
        elif not self._filled:
            self.blocks.row(shows, line)
        else:
            if text[:1] in (" ", "\t"):
                self.blocks.end_piece()
            self.blocks.add(" ".join(shows.split()), line)
        if glued:
            self.blocks.glue()

    def _part(self) -> None:
        """A paragraph ends; inside an entry it is a piece of it."""
        if self._deeper or not self._filled:
            self.blocks.end_piece()
        else:
            self._end_entry()

    @property
    def _deeper(self) -> bool:
        """Whether what comes is set in under an entry, and so belongs to it."""
        return self._entry_depth is not None and self._depth > self._entry_depth

    def _end_entry(self) -> None:
        self.blocks.end()
        self._entry_depth, self._set_in = None, False

    def _call(self, name: str, rest: str, line: int) -> bool:
        if name in _JOINED or name in _SPACED:
            words = arguments(rest)
            if words:
                text = ("" if name in _JOINED else " ").join(words)
                self._text(text, line)
        elif name in ("SH", "SS"):
            self._section(1 if name == "SH" else 2, " ".join(map(shown, arguments(rest))))
        elif name == "TP":
            self._entry()
            self._tag = True
        elif name == "TQ":
            self.blocks.end_piece()
            self._tag = True
        elif name == "IP":
            self._indented([shown(word) for word in arguments(rest)[:1]], line)
        elif name in _PARAGRAPH:
            self._tag = False
            self._part_of(name)
        elif name == "RS":
            if self._entry_depth is None and self.blocks.make_entry():
                self._entry_depth, self._set_in = self._depth, True
            self.blocks.end_piece()
            self._depth += 1
        elif name == "RE":
            self.blocks.end_piece()
            self._depth = max(self._depth - 1, 0)
            if self._set_in and self._depth == self._entry_depth:
                self._end_entry()
        elif name in _VERBATIM:
            self.blocks.end_piece()
            self._filled = False
        elif name in _FILLED:
            self.blocks.end_piece()
            self._filled = True
        elif name == "br":
            self.blocks.end_piece()
        elif name in ("UR", "MT"):
            self._link = shown(rest.strip())
        elif name in ("UE", "ME"):
            punctuation = "".join(map(shown, arguments(rest)))
            self.blocks.add(f"<{self._link}>{punctuation}" if self._link else punctuation, line)
            self._link = ""
        elif name in ("URL", "MTO"):
            words = [*map(shown, arguments(rest)), "", "", ""]
            self.blocks.add(f"{words[1]} <{words[0]}>{words[2]}".strip(), line)
        elif name == "MR":
            words = [*map(shown, arguments(rest)), "", "", ""]
            self.blocks.add(f"{words[0]}({words[1]}){words[2]}" if words[1] else words[0], line)
        elif name == "SY":
            self.blocks.end_piece()
            self._text(rest, line)
        elif name == "YS":
            self.blocks.end_piece()
        elif name == "OP":
            self.blocks.add("[" + " ".join(map(shown, arguments(rest))) + "]", line)
        elif name == "TS":
            self._table()
        elif name in ("EQ", "PS", "GS"):
            self._pass_over({"EQ": ".EN", "PS": ".PE", "GS": ".GE"}[name])
        elif name != "TH" and name not in _NOTHING:
            return False
        return True

    def _section(self, level: int, title: str) -> None:
        self._tag, self._filled, self._depth, self._entry_depth, self._set_in = False, True, 0, None, False
        if title.strip():
            self.blocks.heading(level, title)
        else:
            self._heading = level

    def _entry(self) -> None:
        """An entry begins; one that is set in deeper than the entry around it is a piece of that one."""
        self._tag = False
        if self._deeper:
            self.blocks.end_piece()
        else:
            self.blocks.begin_entry()
            self._entry_depth, self._set_in = self._depth, False

    def _indented(self, tag: list[str], line: int) -> None:
        """`.IP`: without a tag the entry goes on, with a bullet a point of a list begins."""
        text = tag[0].strip() if tag else ""
        if not text:
            self._tag = False
            self.blocks.end_piece()
        elif text in _BULLETS or re.fullmatch(r"\(?[0-9a-z]{1,3}[.)]\)?|[0-9]{1,2}", text):
            self._tag = False
            self.blocks.end_piece()
            self.blocks.add("•" if text in _BULLETS else text, line)
        else:
            self._entry()
            self.blocks.add(text, line)
            self.blocks.end_piece()

    def _part_of(self, name: str) -> None:
        """A paragraph macro. `.sp` and `.Sp` only leave a line out: what an entry says goes on after them."""
        if self._deeper or (name in ("sp", "Sp") and self._entry_depth is not None):
            self.blocks.end_piece()
        else:
            self._end_entry()

    # -- tables -----------------------------------------------------------------------------------------------------

    def _pass_over(self, ending: str) -> None:
        while (found := self._roff.next_line()) is not None and not found[0].startswith(ending):
            continue

    def _table(self) -> None:
        """Rows of tbl: cells with two spaces between them; what lays the table out is left out."""
        self.blocks.end_piece()
        separator, layout = "\t", True
        held: list[str] | None = None
        while (found := self._roff.next_line()) is not None:
            text, line = found
            if text.startswith(".TE"):
                break
            if layout:
                if match := re.search(r"\btab\s*\((.)\)", text):
                    separator = match[1]
                layout = not text.rstrip().endswith(".")
            elif text.startswith(".T&"):
                layout = True
            elif held is not None:
                ended = text.startswith("T}")
                held.append(text[2:] if ended else "" if text[:1] in ".'" and not _font(text) else _font(text) or text)
                if ended:
                    whole, held = " ".join(held), None
                    if whole.rstrip().endswith("T{"):
                        held = [whole.rstrip()[:-2]]
                    else:
                        self._row(whole, separator, line)
            elif text.rstrip().endswith("T{"):
                held = [text.rstrip()[:-2]]
            elif text.strip() in ("_", "=", ""):
                continue
            elif text[:1] in ".'" and len(text) > 1 and text[1].isalpha():
                self._row(_font(text), separator, line)
            else:
                self._row(text, separator, line)
        if held:
            self._row(" ".join(held), separator, line)
        self.blocks.end_piece()

    def _row(self, text: str, separator: str, line: int) -> None:
        cells = [" ".join(shown(cell).split()) for cell in text.split(separator)]
        shows = "  ".join(cell for cell in cells if cell and cell not in ("_", "=", "\\^"))
        self.blocks.row(shows, line)


def _font(text: str) -> str:
    """What a call of a font macro says; "" for any other call."""
    match = re.fullmatch(r"[.'][ \t]*([A-Z]{1,2})[ \t]+(.*)", text, re.DOTALL)
    if match is None or match[1] not in _JOINED | _SPACED:
        return ""
    return ("" if match[1] in _JOINED else " ").join(arguments(match[2]))
