"""The shapes of secrets and personal numbers: of each kind the words beside it, the pattern, and when a value is one.

The shapes are data, in the packs `secrets-*.toml`. What is told by how it begins is the table of prefixes in
`secrets-tokens.toml`; the rest is told by its name or a checksum: in sentences of ten languages, in Markdown, tables,
tags and files of programs. When a value is one says `checks`; where they stand and what becomes of them, `secrets`.

A shape in a pack has these fields:

- `kind`: what a report calls it. A kind may have several shapes.
- `words`: a text with the shape has one of these, separated by bars. A word in small letters stands for every way to
  write it. None: the shape is a long number.
- `pattern`: a regular expression; its group `v`, `w` or `x`, or all of it, is the value. `<name>` is one of `parts`.
- `check`: what else is asked of the value: `random` is the function `checks.is_random`.
- `unless`: what says right before the value that it is something else.
- `back`: how many characters before one of its words the pattern begins at most; it is tried there alone. -1: it
  begins in a long run of digits. None: anywhere.
- `unbroken`: it has no blank, nothing but ASCII, and `LONG` signs at least.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any

from nanomem_tui.language.pack_files import expand, table

LONG = 15
"""Signs that the shortest key or token has that is told by how it begins."""
DIGITS = -1
"""As `back` of a shape: it begins in a long run of digits."""
_PACKS = tuple(f"secrets-{name}" for name in ("tokens", "forms", "languages", "words", "numbers"))
"""In the order in which they are looked for: where two shapes have a place in common, the first one counts."""
_COLUMNS = re.compile(r"\s{2,}")


class Shape:
    """A kind of secret, and how it is told; the fields are those of a pack."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        words = tuple(filter(None, expand(row.get("words", ""), _parts()).split("|")))
        self.kind: str = row["kind"]
        self.words = tuple(word for word in words if is_small(word) or word.lower() not in words)
        self.unless: str = expand(row.get("unless", ""), {})
        self.back: int | None = row.get("back")
        self.unbroken: bool = row.get("unbroken", False)
        self._written: str = row["pattern"]
        self.check: str = row.get("check", "")

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when a text first may have it: most texts of a process need few of them."""
        return re.compile(expand(self._written, _parts()), re.ASCII)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The groups of which one is the value; none: all of it is."""
        return tuple(name for name in ("v", "w", "x") if name in self.pattern.groupindex)

    def is_valid(self, value: str) -> bool:
        """Whether what the pattern found is a secret."""
        if not self.check:
            return True
        from nanomem_tui.language.secrets import checks

        return bool(getattr(checks, f"is_{self.check}")(value))


def is_small(word: str) -> bool:
    """Whether a word is looked for however it is written."""
    return word == word.lower()


@cache
def shapes() -> tuple[Shape, ...]:
    """The shapes of secrets, in the order in which they are looked for."""
    packs = map(table, _PACKS)
    return tuple(Shape(row) for pack in packs for row in (*pack["shapes"], *_prefixes(pack)))


@cache
def personal_shapes() -> tuple[Shape, ...]:
    """The shapes of addresses and telephone numbers, which are looked for only where somebody asks for them."""
    return tuple(Shape(row) for pack in map(table, _PACKS) for row in pack.get("personal", ()))


def part(name: str) -> str:
    """A part of patterns by its name, as a regular expression."""
    return expand(f"<{name}>", _parts())


@cache
def _parts() -> dict[str, str]:
    return {name: text for pack in _PACKS for name, text in table(pack).get("parts", {}).items()}


def _prefixes(pack: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The shapes of the table of prefixes of a pack; a row goes on in a line that begins with blanks."""
    for row in filter(None, re.split(r"\n(?! )", pack.get("prefixes", ""))):
        kind, beginnings, rest, *check = _COLUMNS.split(row)
        begins = "|".join(map(re.escape, beginnings.split()))
        yield {
            "kind": kind,
            "words": beginnings.replace(" ", "|"),
            "pattern": rf"(?:(?<!\w)|(?<=\\[nrt]))(?:{begins}){rest}",
            "check": "".join(check),
            "back": 0,
            "unbroken": True,
        }


# Passwords in a column of a Markdown table whose head names them: the head and the value stand on different lines.

_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*|[ \t]*\|[ \t]*:?-+:?[ \t]*\|[ \t]*")
_VALUE = re.compile(r"[\s*_`]*([!-_a-{}~]{4,64}?)[\s*_`]*")


def passwords(text: str) -> Iterator[tuple[int, int]]:
    """The places of the values under a head that names a password."""
    if "|" not in text or "--" not in text:
        return
    from nanomem_tui.language.secrets.checks import is_told

    lines = text.split("\n")
    columns: list[int] = []
    at = 0
    for number, line in enumerate(lines):
        if _RULE.fullmatch(line) and number:
            columns = [place for place, (_, cell) in enumerate(_cells(lines[number - 1])) if _head().fullmatch(cell)]
        elif "|" not in line:
            columns = []
        elif columns:
            cells = list(_cells(line))
            for place in columns:
                value = _VALUE.fullmatch(cells[place][1]) if place < len(cells) else None
                if value and is_told(value[1]):
                    begin = at + cells[place][0]
                    yield begin + value.start(1), begin + value.end(1)
        at += len(line) + 1


@cache
def _head() -> re.Pattern[str]:
    """What stands in the head of a column of passwords."""
    return re.compile(rf"[\s*_`]*(?:[\w-]{{1,20}} )?(?:{part('named')}|(?i:pass|pw))[\s*_`]*")


def _cells(line: str) -> Iterator[tuple[int, str]]:
    """The cells of a row, and where each begins in it; those of a row that begins with a bar, behind it."""
    at = line.index("|") + 1 if line.lstrip().startswith("|") else 0
    for cell in line[at:].split("|"):
        yield at, cell
        at += len(cell) + 1
