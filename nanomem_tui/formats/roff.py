"""The language under man pages: requests, escapes, strings, registers, macros and conditions of roff.

`Roff` turns source into lines of text and calls of macros, and gives them to the reader of one macro package. It knows
what pages use, runs nothing, reads no other file, and ends whatever the page says: every step is counted. Must not know
what a macro package means.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from nanomem_tui.formats.roff_characters import CHARACTERS, PLAIN

MOST_STEPS = 300_000
"""Lines that are looked at, those of macros included: a page that calls itself ends there."""

MOST_DEPTH = 24
"""How deep macros may call macros."""

LONGEST_LINE = 20_000
"""Characters of a line after its strings were put in."""

_CALL = re.compile(r"[.'][ \t]*(\\?[^\s\\]*)(.*)", re.DOTALL)
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)\\[\"#].*", re.DOTALL)
_NAME = r"(?:\[([^\]\n]*)\]|\((..)|(.))"
_STRING = re.compile(r"\\\*" + _NAME)
_REGISTER = re.compile(r"\\n[+-]?" + _NAME)
_ARGUMENT = re.compile(r"\\\\?\$(?:([1-9*@])|\[(\d+)\]|\((\d\d))")
_BRACES = re.compile(r"\\[{}]")
_CONDITION = re.compile(
    r"[ \t]*(!?)[ \t]*(?:([ntoev])(?![\w'])|([drcFmS])[ \t]*(\S+)|'([^']*)'([^']*)'|\"([^\"]*)\"([^\"]*)\"|(\S+))"
)
_NUMBER = re.compile(r"\(?([-+]?[0-9.]+)[a-zA-Z]?(?:(<=|>=|==?|<|>|<>|[-+*/%&:])([-+]?[0-9.]+)[a-zA-Z]?)?\)?")
_ESCAPE = re.compile(
    r"\\(?:"
    r"[fFmMkgVYO](?:\[[^\]\n]*\]|\(..|.)"  # fonts, colours, positions
    r"|s(?:[+-]?\[[^\]\n]*\]|[+-]?\(..|\([+-]..|[+-]?'[^'\n]*'|[+-][0-9]|[0-3][0-9]|[0-9])"
    r"|\((?P<two>..)|\[(?P<long>[^\]\n]*)\]"
    r"|C'(?P<named>[^'\n]*)'|N'(?P<code>[0-9]{1,6})'"
    r"|o'(?P<over>[^'\n]*)'|h'(?P<gap>[^'\n]*)'"
    r"|[bDhlLRSvwxXZAB](?P<mark>[^\\\w\s])(?:(?!(?P=mark)).)*(?P=mark)"
    r"|z|(?P<one>.)|$)",
    re.DOTALL,
)
_ONE = {
    "-": "-", "&": "", "e": "\\", "E": "\\", "\\": "\\", "'": "'", "`": "`", " ": " ", "~": " ", "0": " ", "t": "\t",
    "|": "", "^": "", "%": "", ":": "", "/": "", ",": "", ")": "", "c": "", "d": "", "u": "", "r": "", "p": "",
    "a": "", "{": "", "}": "", ".": ".", "_": "_", "\n": "",
}  # fmt: skip


def _character(match: re.Match[str]) -> str:
    """What an escape looks like on a terminal."""
    if (one := match["one"]) is not None:
        return _ONE.get(one, one)
    if (two := match["two"]) is not None:
        return CHARACTERS.get(two, "")
    if (name := match["long"] if match["long"] is not None else match["named"]) is not None:
        return _named(name)
    if match["code"] is not None:
        code = int(match["code"])
        return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else ""
    if match["over"] is not None:
        return match["over"][-1:]
    if match["gap"] is not None:
        return "" if match["gap"].lstrip().startswith(("-", "|")) else " "
    return ""


def _named(name: str) -> str:
    if name in CHARACTERS:
        return CHARACTERS[name]
    if re.fullmatch(r"u[0-9A-Fa-f]{4,6}(?:_[0-9A-Fa-f]{4,6})*", name):
        codes = [int(part, 16) for part in name[1:].split("_")]
        return "".join(chr(code) for code in codes if code < 0x110000 and not 0xD800 <= code < 0xE000)
    if re.fullmatch(r"char[0-9]{1,3}", name):
        return chr(int(name[4:]))
    return name if len(name) == 1 else ""


def shown(text: str) -> str:
    """A text of roff as a terminal shows it: escapes done, fonts and motions left out."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def arguments(text: str) -> list[str]:
    """The arguments of a call: parted at spaces, those in quotation marks whole; escapes are still in them."""
    found: list[str] = []
    at, end = 0, len(text)
    while at < end:
        if text[at] in " \t":
            at += 1
        elif text[at] == '"':
            match = re.compile(r'"((?:[^"]|"")*)"?').match(text, at)
            assert match is not None
            found.append(match[1].replace('""', '"'))
            at = match.end()
        else:
            match = re.compile(r"(?:\\.|[^ \t\\]|\\$)+", re.DOTALL).match(text, at)
            assert match is not None
            found.append(match[0])
            at = match.end()
    return found


class Source(NamedTuple):
    """A line that waits to be read: its number in the page, and how many macros it is inside of."""

    number: int
    text: str
    depth: int


Call = Callable[[str, str, int], bool]
"""What a reader does at a macro: name, the rest of the line, line number; False: it knows no such macro."""


class Roff:
    """One page being read. `call` is asked at every macro, `text` gets every line of text; both may change `filled`."""

    def __init__(self, source: str, call: Call, text: Callable[[str, int], None]) -> None:
        self._call = call
        self._text = text
        self._waiting: deque[Source] = deque(Source(number, line, 0) for number, line in _lines(source))
        self._strings = dict(PLAIN)
        self._registers = {".g": "1", ".$": "0"}
        self._macros: dict[str, list[str]] = {}
        self._last_condition: list[bool] = []
        self._steps = 0

    def run(self) -> None:
        """Read the page to its end, or until it took more steps than any real page does."""
        while self._waiting and self._steps < MOST_STEPS:
            self._steps += 1
            self._line(self._waiting.popleft())

    def next_line(self) -> tuple[str, int] | None:
        """The next line as it stands, for a reader that wants to have it (a table)."""
        if not self._waiting:
            return None
        source = self._waiting.popleft()
        return self._filled_in(source.text), source.number

    # -- one line ---------------------------------------------------------------------------------------------------

    def _line(self, source: Source) -> None:
        text = source.text
        if text[:1] in (".", "'"):
            match = _CALL.match(_BRACES.sub("", text) if text[1:3] in ("\\}", "\\{") else text)
            assert match is not None
            name, rest = match[1], _COMMENT.sub(r"\1", match[2])
            if not name or name.startswith("\\"):
                return
            self._request(name, rest, source)
            return
        text = _COMMENT.sub(r"\1", text)
        if text != source.text and not text.strip():
            return
        self._text(_BRACES.sub("", self._filled_in(text)), source.number)

    def _request(self, name: str, rest: str, source: Source) -> None:
        if name in ("if", "ie"):
            holds, then = self._holds(rest)
            if name == "ie":
                self._last_condition = [*self._last_condition[-MOST_DEPTH:], holds]
            self._branch(then, source, holds)
        elif name == "el":
            self._branch(rest, source, not (self._last_condition.pop() if self._last_condition else True))
        elif name == "while":
            self._branch(self._holds(rest)[1], source, False)
        elif name in ("de", "de1", "am", "am1", "dei", "ig"):
            self._define(name, rest)
        elif name in ("ds", "ds1", "as", "as1"):
            key, _, value = rest.strip().partition(" ")
            value = value.lstrip(" ").removeprefix('"')
            before = self._strings.get(key, "") if name.startswith("as") else ""
            self._strings[key] = (before + value)[:LONGEST_LINE]
        elif name == "nr":
            key, value = [*self._filled_in(rest).split(), "", "0"][:2]
            number = _NUMBER.fullmatch(value)
            self._registers[key] = number[1].lstrip("+") if number else "0"
        elif name in ("tr", "rm", "rn", "als", "mso", "hw", "end", "ss", "cs", "fp", "tm", "ab", "pdfview", "\\}"):
            return
        elif not self._call(name, _BRACES.sub("", self._filled_in(rest)), source.number) and name in self._macros:
            self._expand(name, rest, source)

    def _filled_in(self, text: str) -> str:
        """`text` with its strings and registers put in."""
        if "\\" not in text:
            return text
        for _ in range(4):
            if "\\*" not in text or len(text) > LONGEST_LINE:
                break
            text = _STRING.sub(self._string, text)
        return _REGISTER.sub(self._register, text)[: LONGEST_LINE * 4]

    def _string(self, match: re.Match[str]) -> str:
        name = next(part for part in match.groups() if part is not None)
        return self._strings.get(name.split(" ")[0], "")[:LONGEST_LINE]

    def _register(self, match: re.Match[str]) -> str:
        name = next(part for part in match.groups() if part is not None)
        return self._registers.get(name, "0")

    # -- conditions -------------------------------------------------------------------------------------------------

    def _holds(self, rest: str) -> tuple[bool, str]:
        """Whether a condition holds on a terminal, and what follows it. One that is not understood does not hold."""
        text = self._filled_in(rest)
        match = _CONDITION.match(text)
        if match is None:
            return False, ""
        negated, letter, known, name, left, right, left2, right2, number = match.groups()
        if letter:
            holds = letter in "no"
        elif known:
            names = self._macros.keys() | self._strings.keys() if known == "d" else self._registers.keys()
            holds = known in "dr" and name in names
        elif left is not None or left2 is not None:
            holds = (left, left2) == (right, right2)
        else:
            holds = _true(number)
        return holds != bool(negated), text[match.end() :]

    def _branch(self, then: str, source: Source, taken: bool) -> None:
        """Read what follows a condition, or pass over it to the end of its block."""
        then = then.lstrip(" \t")
        if taken:
            if then.startswith("\\{"):
                then = then[2:].lstrip(" \t")
            if then and then != "\\":
                self._waiting.appendleft(source._replace(text=then))
            return
        depth = then.count("\\{") - then.count("\\}")
        while depth > 0 and self._waiting and self._steps < MOST_STEPS:
            self._steps += 1
            text = self._waiting.popleft().text
            depth += text.count("\\{") - text.count("\\}")

    # -- macros -----------------------------------------------------------------------------------------------------

    def _define(self, request: str, rest: str) -> None:
        names = rest.split()
        named = names[1:2] if request != "ig" else names[:1]
        ending = re.compile(rf"[.'][ \t]*{re.escape(named[0] if named else '.')}[ \t]*(?:\\[\"#].*)?")
        body: list[str] = []
        while self._waiting:
            line = self._waiting.popleft().text
            if ending.fullmatch(line):
                break
            body.append(line)
        if request != "ig" and names:
            before = self._macros.get(names[0], []) if request.startswith("am") else []
            self._macros[names[0]] = before + body

    def _expand(self, name: str, rest: str, source: Source) -> None:
        if source.depth >= MOST_DEPTH:
            return
        given = arguments(self._filled_in(rest))
        put_in = partial(_argument, given)
        lines = [_ARGUMENT.sub(put_in, line).replace("\\\\", "\\")[:LONGEST_LINE] for line in self._macros[name]]
        self._waiting.extendleft(Source(source.number, line, source.depth + 1) for line in reversed(lines))


def _argument(given: list[str], match: re.Match[str]) -> str:
    which = match[1] or match[2] or match[3]
    if which in ("*", "@"):
        return " ".join(given)
    place = int(which)
    return given[place - 1] if 0 < place <= len(given) else ""


def _true(text: str) -> bool:
    """Whether a number or a comparison of two is more than nothing."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return False
    try:
        left, right = float(match[1]), float(match[3] or 0)
    except ValueError:
        return False
    compared = {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right, "<>": left != right}
    if match[2] in ("=", "=="):
        return left == right
    return compared.get(match[2], left > 0)


def _lines(source: str) -> Iterator[tuple[int, str]]:
    """The lines of a page with their numbers; one that ends in a single backslash goes on in the next."""
    held, first = "", 0
    for number, raw in enumerate(source.split("\n"), 1):
        line = raw.rstrip("\r")
        first = first if held else number
        ends = len(line) - len(line.rstrip("\\"))
        if ends % 2 and len(held) < LONGEST_LINE:
            held += line[:-1] or " "
            continue
        yield first, held + line
        held = ""
    if held:
        yield first, held
