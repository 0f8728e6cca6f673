"""A man page in mdoc(7) as blocks: the macros that name what a word is, and lists. Changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nanomem_tui.formats.blocks import Blocks
from nanomem_tui.formats.roff import Roff, arguments, shown

_ENCLOSED = {
    "Op": "[]", "Aq": "<>", "Bq": "[]", "Brq": "{}", "Dq": "“”", "Pq": "()", "Qq": '""', "Sq": "‘’", "Ql": "‘’",
}  # fmt: skip
_OPENING = {
    "Oo": "[", "Ao": "<", "Bo": "[", "Bro": "{", "Do": "“", "Po": "(", "Qo": '"', "So": "‘", "Xo": "", "Eo": "",
}  # fmt: skip
_CLOSING = {
    "Oc": "]", "Ac": ">", "Bc": "]", "Brc": "}", "Dc": "”", "Pc": ")", "Qc": '"', "Sc": "’", "Xc": "", "Ec": "",
}  # fmt: skip
_NAMES = {
    "Ux": "UNIX", "Bx": "BSD", "Bsx": "BSD/OS", "Nx": "NetBSD", "Fx": "FreeBSD", "Ox": "OpenBSD", "Dx": "DragonFly",
    "At": "AT&T UNIX",
}  # fmt: skip
_WORDS = frozenset(
    "Ad An Ar Cd Cm Dv Em Er Ev Fa Fd Fl Ft Ic In Lb Li Lk Ms Mt Nm No Ns Pa Pf St Sy Ta Tn Va Vt Xr Ap Fn Bt Ud Hf Eq "
    "Es En Fr".split()
)
_CALLABLE = _WORDS | _ENCLOSED.keys() | _OPENING.keys() | _CLOSING.keys() | _NAMES.keys()
_REFERENCE = re.compile(r"%[A-Z]")
_CLOSES = frozenset((".", ",", ":", ";", ")", "]", "?", "!"))
_OPENS = frozenset(("(", "["))
_BULLET_LISTS = ("-bullet", "-dash", "-hyphen")


class MdocPage:
    """The reader of mdoc(7)."""

    def __init__(self, source: str, name: str) -> None:
        self.blocks = Blocks()
        self._name = name
        self._named = False
        self._lists: list[tuple[str, int]] = []
        self._display = 0
        self._tag = False
        self._numbers: list[int] = []
        self._spacing = True
        Roff(source, self._call, self._text).run()
        self.blocks.end()

    def _text(self, text: str, line: int) -> None:
        shows = shown(text)
        if self._display:
            self.blocks.row(shows, line)
        elif not shows.strip():
            self._part()
        else:
            self.blocks.add(" ".join(shows.split()), line)
            if not self._spacing or text.endswith("\\c"):
                self.blocks.glue()

    def _part(self) -> None:
        """A paragraph ends; inside a list it is a piece of the entry."""
        if self._lists:
            self.blocks.end_piece()
        else:
            self.blocks.end()

    def _call(self, name: str, rest: str, line: int) -> bool:
        if name in ("Sh", "Ss"):
            self._lists.clear()
            self._display, self._tag = 0, False
            self.blocks.heading(1 if name == "Sh" else 2, " ".join(self._inline(arguments(rest), called=False)))
        elif name in ("Pp", "Lp", "sp", "br"):
            self._part() if name != "br" else self.blocks.end_piece()
        elif name == "Nd":
            self.blocks.add("– " + " ".join(map(shown, arguments(rest))), line)
        elif name == "Bl":
            words = arguments(rest)
            kind = next((word for word in words if word.startswith("-")), "-tag")
            kind = next((word for word in words if word in ("-column", "-enum", *_BULLET_LISTS)), kind)
            self._lists.append((kind, 0))
            self.blocks.end_piece()
        elif name == "It":
            self._item(rest, line)
        elif name == "El":
            self.blocks.end_piece()
            if self._lists:
                self._lists.pop()
            if not self._lists:
                self.blocks.end()
        elif name in ("Bd", "nf"):
            self.blocks.end_piece()
            self._display += name == "nf" or any(word in rest for word in ("-literal", "-unfilled"))
        elif name in ("Ed", "fi"):
            self.blocks.end_piece()
            self._display = 0
        elif name in ("Dl", "D1"):
            self.blocks.row(self._line(rest), line)
        elif name in ("Fo", "Fc"):
            self._function(name, rest, line)
        elif name == "Nm" and not rest.strip() and self.blocks.section[-1:] == ("SYNOPSIS",):
            self.blocks.end_piece()
            self.blocks.add(self._name, line)
        elif name in _CALLABLE or _REFERENCE.fullmatch(name):
            self._words([name, *arguments(rest)], line)
        elif name == "Sm":
            self._spacing = not self._spacing if not rest.strip() else rest.strip() == "on"
            if self._spacing:
                self.blocks.glue(glued=False)
        elif name not in (
            "Dd",
            "Dt",
            "Os",
            "Rs",
            "Re",
            "Bk",
            "Ek",
            "Bf",
            "Ef",
            "Ex",
            "Rv",
            "Db",
            "ad",
            "na",
            "nh",
            "in",
        ):
            return False
        if name == "Ex":
            self.blocks.add(f"The {self._name} utility exits 0 on success, and >0 if an error occurs.", line)
        return True

    def _item(self, rest: str, line: int) -> None:
        kind, count = self._lists[-1] if self._lists else ("-tag", 0)
        if self._lists:
            self._lists[-1] = (kind, count + 1)
        self._display = 0
        if kind == "-column":
            cells = re.split(r"\t|[ ]Ta(?:[ ]|$)", rest)
            self.blocks.row("  ".join(filter(None, (self._line(cell) for cell in cells))), line)
            return
        nested = len(self._lists) > 1
        if kind in _BULLET_LISTS or kind in ("-enum", "-item"):
            if kind == "-item" and not nested:
                self.blocks.end()
            self.blocks.end_piece()
            self.blocks.add("•" if kind in _BULLET_LISTS else f"{count + 1}." if kind == "-enum" else "", line)
            return
        if nested:
            self.blocks.end_piece()
        else:
            self.blocks.begin_entry()
        words = arguments(rest)
        self._tag = "Xo" in words and "Xc" not in words
        self._words(words, line)
        if not self._tag:
            self.blocks.end_piece()

    def _function(self, name: str, rest: str, line: int) -> None:
        if name == "Fo":
            self.blocks.add(self._line(rest) + "(", line)
        else:
            self.blocks.glue()
            self.blocks.add(")", line)

    def _words(self, words: list[str], line: int) -> None:
        glued = words[:1] == ["Ns"]
        if glued:
            self.blocks.glue()
        text = self._joined(words)
        if text[:1] in _CLOSES and len(text) <= 2:
            self.blocks.glue()
        self.blocks.add(text, line)
        if words[-1:] == ["Ns"] or not self._spacing or (words[:1] and words[0] in _OPENING and len(words) == 1):
            self.blocks.glue()
        if self._tag and "Xc" in words:
            self._tag = False
            self.blocks.end_piece()
        if words[:1] == ["Nm"] and len(words) > 1 and not self._named:
            self._name, self._named = shown(words[1]), True

    def _line(self, rest: str) -> str:
        return self._joined(arguments(rest))

    def _joined(self, words: list[str]) -> str:
        """The words of a line with the spaces that belong between them."""
        out: list[str] = []
        glued = True
        for word in self._inline(words, called=True):
            if word == "\0":
                glued = True
                continue
            if not word:
                continue
            if not glued and word not in _CLOSES and self._spacing:
                out.append(" ")
            out.append(word)
            glued = word in _OPENS
        return "".join(out)

    def _inline(self, words: list[str], *, called: bool) -> Iterator[str]:
        """What the words of a line show, in order; "\\0" glues what is around it together."""
        macro, taken, prefix = "", 0, False
        ends: list[str] = []
        for at, raw in enumerate([*words, ""]):
            if at == len(words) or (called and raw in _CALLABLE) or _REFERENCE.fullmatch(raw):
                if not taken:
                    yield from self._alone(macro)
                if at == len(words):
                    break
                macro, taken = raw, 0
                if raw in _ENCLOSED:
                    yield from (_ENCLOSED[raw][0], "\0")
                    ends.append(_ENCLOSED[raw][1])
                elif raw in _OPENING:
                    yield from (_OPENING[raw], "\0") if _OPENING[raw] else ()
                elif raw in _CLOSING:
                    yield from ("\0", _CLOSING[raw]) if _CLOSING[raw] else ()
                elif raw in _NAMES:
                    yield _NAMES[raw]
                elif raw in ("Ns", "Ap"):
                    yield from ("\0", "'", "\0") if raw == "Ap" else ("\0",)
                continue
            word = shown(raw)
            if word in _CLOSES and all(other in _CLOSES for other in words[at:]):
                if not taken:
                    yield from self._alone(macro)
                    taken = 1
                yield from self._closed(ends)
            taken += 1
            if macro == "Fl" and word not in _CLOSES and word not in _OPENS and word != "|":
                yield f"-{word}"
            elif macro == "Xr" and taken == 2 and re.fullmatch(r"[0-9]\w*", word):
                yield from ("\0", f"({word})")
            elif macro == "Fn" and taken == 1:
                prefix = True
                yield f"{word}("
                yield "\0"
            elif macro == "In":
                yield f"<{word}>"
            elif macro == "Pf" and taken == 1:
                yield from (word, "\0")
            else:
                yield word
        if prefix:
            yield from ("\0", ")")
        yield from self._closed(ends)

    def _closed(self, ends: list[str]) -> Iterator[str]:
        while ends:
            yield from ("\0", ends.pop())

    def _alone(self, macro: str) -> Iterator[str]:
        """What a macro without words shows."""
        if macro == "Fl":
            yield "-"
        elif macro == "Ar":
            yield "file ..."
        elif macro == "Nm":
            yield self._name
        elif macro == "Pa":
            yield "~"
