"""The lines of the memory files as statements: list lines and rows of tables, each with what it stands under.

Owns finding the lines that a new statement may repeat or change, and how a changed line is written. Whether two
statements say the same is `language.compare`'s to say.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from nanomem_tui.agents import markdown
from nanomem_tui.dream import titles
from nanomem_tui.dream.edits import opens_list
from nanomem_tui.dream.places import stems
from nanomem_tui.language import reader
from nanomem_tui.language.detect import language_of
from nanomem_tui.language.tokens import fold

LONGEST = 2_000
"""Characters of a line beyond which it is no statement, and compared with nothing."""
_MOST = 12  # lines that are looked at for one statement
FIELD = re.compile(
    r"(?P<key>\*\*[^*]+\*\*\s*[:：]|\*\*[^*]+[:：]\*\*|[^\s:：|*][^:：|*]{0,40}[:：](?!(?<=\d:)\d))(?P<gap>\s*)(?P<value>\S.*)"
)
_BOX = ("[ ]", "[x]", "[X]")


@dataclass(slots=True, eq=False)
class Known:
    """One line: all of it, its marks before the text, its text, and the headings and list lines over it.

    `section`: the title of its section. `head`: the cells of the table's head, for a row.
    """

    file: str
    number: int
    whole: str
    lead: str
    text: str
    under: str
    section: str
    head: tuple[str, ...] = ()

    @property
    def statement(self) -> str:
        """What it says, without marks of Markdown: a row as its cells."""
        if self.head:
            pairs = zip(self.head[1:], cells(self.whole)[1:], strict=False)
            return ", ".join([cells(self.whole)[0], *(f"{name}: {cell}" for name, cell in pairs if cell)])
        return self.text.replace("**", "").replace("`", "")

    @property
    def field(self) -> re.Match[str] | None:
        """The key and the value of `**Name**: Ana` or `Name: Ana`."""
        return None if self.head else FIELD.fullmatch(self.text)


def cells(row: str) -> list[str]:
    """Return the cells of a row of a table."""
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


class Lines:
    """The lines of all files, found by their words."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files: dict[str, dict[tuple[str, str, str, int], Known]] = {}
        self._texts: dict[str, str] = {}
        self._by_word: dict[str, dict[Known, None]] = {}
        self._by_text: dict[str, dict[Known, None]] = {}
        self.read(files)

    @property
    def all(self) -> list[Known]:
        """All lines."""
        return [line for lines in self._files.values() for line in lines.values()]

    def read(self, files: Mapping[str, str]) -> None:
        """Take over the files as they are now; lines that stay the same are not read again."""
        for name, text in files.items():
            if self._texts.get(name) is text:
                continue
            self._texts[name] = text
            before, now, seen = self._files.get(name, {}), {}, Counter[tuple[str, str, str]]()
            for line in _known_of(name, text):
                place = (line.whole, line.under, line.section)
                seen[place] += 1
                key = (*place, seen[place])
                if (same := before.get(key)) is not None:
                    same.number = line.number
                    now[key] = same
                else:
                    now[key] = line
                    self._by_text.setdefault(fold(line.text), {})[line] = None
                    for word in stems(line.statement):
                        self._by_word.setdefault(word, {})[line] = None
            for key in before.keys() - now.keys():
                self._by_text[fold(before[key].text)].pop(before[key], None)
                for word in stems(before[key].statement):
                    self._by_word[word].pop(before[key], None)
            self._files[name] = now
        self._count = sum(map(len, self._files.values()))

    def same(self, text: str) -> list[Known]:
        """Return the lines with the very words of a text."""
        return list(self._by_text.get(fold(text), ()))

    def near(self, text: str, owner: str = "") -> list[tuple[Known, float]]:
        """Return the lines with words of a text, and what share of the shorter one's words they have in common: rare
        words count more, the owner's name nothing. The likeliest come first."""
        said = stems(text) - stems(owner)
        weights = {word: self._weight(word) for word in said}
        shared: dict[Known, float] = {}
        for word, weight in weights.items():
            for line in self._by_word.get(word, ()):
                shared[line] = shared.get(line, 0.0) + weight
        whole = sum(weights.values())
        found = []
        for line, common in shared.items():
            own = sum(map(self._weight, stems(line.statement) - stems(owner)))
            found.append((line, common / (min(own, whole) or 1.0)))
        return sorted(found, key=lambda pair: -pair[1])[:_MOST]

    def _weight(self, word: str) -> float:
        return math.log(1 + (self._count + 1) / (len(self._by_word.get(word, ())) + 0.5))


def _known_of(name: str, text: str) -> tuple[Known, ...]:
    found: list[Known] = []
    rows = [line.removesuffix("\r") for line in text.split("\n")]
    bullets = {bullet.line: bullet for bullet in markdown.bullets(text)}
    within = markdown.blocks(text)
    own = next((part for part in markdown.sections(text) if part.level), None)
    headings = {part.start_line: part for part in markdown.sections(text) if part.level}
    above: list[tuple[int, str]] = []  # headings over the line, by level
    over: list[tuple[int, str]] = []  # list lines over the line, by indent
    opened, title, head = "", "", tuple[str, ...]()
    for number, whole in enumerate(rows, 1):
        if part := headings.get(number):
            title = part.title
            above = [one for one in above if one[0] < part.level]
            above += [(part.level, part.title)] if part is not own or part.level > 1 else []
            over, opened, head = [], "", ()
        elif bullet := bullets.get(number):
            over = [one for one in over if one[0] < bullet.indent]
            under = " ".join([*(one for _, one in above), opened, *(one for _, one in over)])
            over.append((bullet.indent, bullet.text))
            if bullet.text and len(bullet.text) <= LONGEST and not bullet.text.startswith(_BOX):
                lead = whole[: len(whole.rstrip()) - len(bullet.text)]
                found.append(Known(name, number, whole, lead, bullet.text, under, title))
        elif whole.lstrip().startswith("|") and number - 1 not in within:
            if head and len(whole) <= LONGEST and set(whole) - set("|-: "):
                found.append(Known(name, number, whole, "", whole, " ".join(one for _, one in above), title, head))
            head = head or tuple(cells(whole))
        elif whole.strip() and not whole[:1].isspace():
            opened, over, head = (whole.strip() if opens_list(whole) else ""), [], ()
    return tuple(found)


def telling(line: Known) -> frozenset[str]:
    """Return the names in the headings over a line: they say whom or what it is about."""
    learned = reader.pack(language_of(line.under))
    return frozenset(w for w in titles.telling(line.under) if w not in learned.weights or w in learned.names)
