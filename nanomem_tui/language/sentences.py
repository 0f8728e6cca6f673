"""Where a sentence ends: one splitter for what people write in chats, in English, Chinese and their neighbours.

The abbreviations are data (`packs/sentences.toml`). Between cutting too early and too late it chooses late: half a
sentence in memory is wrong, two sentences are only long. So a point ends a sentence only before white space, and not
within abbreviations, initials, numbers, versions, addresses and names of files. Must not know what a sentence says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from nanomem_tui.core.text import indent
from nanomem_tui.language import classify, pack_files, secrets
from nanomem_tui.language.classify import (
    cues_of,
    features,
    language_of,
    names_of_heading,
    tokens,
    topics_of_heading,
    topics_of_line,
)
from nanomem_tui.language.statements.statement import subject_of

_pattern = pack_files.patterns("sentences")
_words = partial(pack_files.words, "sentences")


def split(text: str, *, spaced: bool = False) -> list[str]:
    """The sentences of a text without the white space around them, none empty.

    A line ends one, and so does a Chinese end mark. `spaced`: only where an end mark is followed by white space.
    """
    cuts = [found.end() for found in _pattern("end").finditer(text) if _ends(text, found)]
    cuts += [found.end() for found in _pattern("wide_end_spaced" if spaced else "wide_end").finditer(text)]
    pieces, last = [], 0
    for cut in (*sorted(set(cuts)), len(text)):
        piece = text[last:cut].strip()
        last = cut
        if piece:
            pieces.append(piece)
    return pieces


def _ends(text: str, found: re.Match[str]) -> bool:
    """Whether a mark with white space after it ends a sentence."""
    rest = text[found.end() : found.end() + 40]
    if not rest or "\n" in found["gap"]:
        return True
    token = _pattern("token").search(text, max(0, found.start() - 40), found.start())
    word = token[0] if token is not None else ""
    bare, mark = word.lower(), found["mark"]
    if mark == "!":
        return not (bare in _words("exclaimed") and rest[0].islower())
    if "?" in mark or "!" in mark:
        return True
    starts = _pattern("starts").match(rest) is not None
    if mark != ".":
        return starts or _pattern("small_starts").match(rest) is not None
    before = text[text.rfind("\n", 0, found.start()) + 1 : found.start() - len(word)]
    if word.isdigit():
        marks_list = not before.strip(" -*•·\t")
        month = _pattern("month").match(rest)
        return marks_list and not month if len(word) <= 3 and (marks_list or month) else True
    if bare in _words("never") or (bare in _words("numbered") and (rest[0].isdigit() or rest[0] == "#")):
        return False
    before = before.rstrip()
    inside = word in ("No", "Nos") and before and before[-1] not in ".!?…\"'”’"
    return starts if inside or _is_short(word) else True


def _is_short(word: str) -> bool:
    """Whether a word may be an abbreviation that also ends sentences."""
    if word.lower() in _words("mostly") or word.lower().endswith("str") or _pattern("initial").fullmatch(word):
        return True
    return _pattern("no_vowel").fullmatch(word) is not None and not word.isupper()


# What a line of an archive or of notes is: a lasting fact and of what, a rule, narration, a dump, a label, chat.
# Learned from labelled lines of all languages in one pack (`packs/lines.json`), on top of what the reader of messages
# makes of the line's words (0102).

VERSION = 1
"""Changes when the features do: the pack is made anew."""
LASTING = ("person", "preference", "rule", "decision", "project", "event")
"""The labels of lines that are worth to be kept; the others are narration, result, label, moment, chat, instruction and
vague."""

_BULLET = re.compile(r"\s*(?:[-*+•·–—]|\d{1,3}[.)]|[（(]?\d{1,2}[)）、])\s+")
_BOX = re.compile(r"\[([ xX✓✔])\]\s*")
_MARK = re.compile(r"\[([^\]\d\s][^\]]{0,23})\]|【([^】]{1,12})】")
_STAMP = re.compile(
    r"\[?\b(?:\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{4}|\d{1,2}:\d{2}|"
    r"[0-3]?\d[-./][01]?\d(?:[-./]\d{2})?(?=[T ,]+\d{1,2}:\d{2}|\.?\]|\.?\s*[-–—:：,]))(?!\.?\d)\.?"
    r"(?:[T ,]+\d{1,2}:\d{2}(?::\d{2})?)?(?:Z| UTC)?\]?\s*[-–—:：,]?\s*"
)
_SPEAKER = re.compile(r"([^\W\d_][\w .'’-]{0,30}|\*\*[^*]{1,30}\*\*)\s*[:：]\s*")
_BOLD = re.compile(r"\*\*([^*]+?)[:：]?\*\*\s*[:：]?\s*")
_CELLS = re.compile(r"(?<!\\)\|")
_WORD = re.compile(r"\w")
_SIGNS = (
    ("arrow", re.compile(r"→|=>|->")),
    ("path", re.compile(r"(?:^|[\s`(])[~.]?/\w|\w\\\w|https?:")),
    ("call", re.compile(r"\w\(.*\)|[{}<>=;]{1}|\$ ")),
    ("tick", re.compile("[`✓✔✅☑]")),
    ("date", re.compile(r"\d{4}-\d\d|\d{1,2}[./]\d{1,2}|\d+\s?[月日]|\b(?:19|20)\d\d\b")),
    ("time", re.compile(r"\b\d{1,2}:\d\d\b")),
    ("money", re.compile(r"[$€£¥₽₩]|\b(?:EUR|USD|NOK|CHF)\b|[元块]")),
    ("asks", re.compile("[?？]")),
    ("open", re.compile(r"\.\.\.|…")),
)


class Line(NamedTuple):
    """A line as parts: its text without what stands before it, its marks in brackets, signs of how it is written."""

    text: str
    marks: tuple[str, ...]
    signs: frozenset[str]


class LineReading(NamedTuple):
    """What a line is: its likeliest label, how likely that is, and how likely each label is, 0 to 1."""

    label: str
    share: float
    shares: dict[str, float]

    @property
    def lasting(self) -> float:
        """How likely it is worth to be kept."""
        return sum(self.shares[label] for label in LASTING)


def parted(line: str) -> Line:
    """Take a line apart.

    >>> parted("- [durable] **Editor**: Helix").text
    '**Editor**: Helix'
    """
    text, signs, marks = line.rstrip(), set[str](), list[str]()
    if text[:1].isspace():
        signs.add("set in")
    text = text.strip()
    while text.startswith(">"):
        signs.add("quoted")
        text = text[1:].strip()
    if re.match(r"#{1,6}\s", text):
        signs.add("heading")
        text = text.lstrip("#").strip()
    while found := _BULLET.match(text):
        signs.add("numbered" if any(letter.isdigit() for letter in found[0]) else "bullet")
        text = text[found.end() :]
    if box := _BOX.match(text):
        signs.add("box" if box[1].isspace() else "ticked")
        text = text[box.end() :]
    for pattern, sign in ((_STAMP, "stamp"), (_MARK, ""), (_STAMP, "stamp")):
        while found := pattern.match(text):
            if sign:
                signs.add(sign)
            else:
                marks.append(next(filter(None, found.groups())).strip().lower())
            text = text[found.end() :].lstrip()
    if (found := re.search(r"\s*\[([^\]\d]{3,14})\]$", text)) and found.start():
        marks.append(found[1].strip().lower())
        text = text[: found.start()]
    if text.startswith("|"):
        signs.add("row")
    return Line(text, tuple(marks), frozenset(signs))


@lru_cache(4096)
def read(line: str, heading: str = "") -> LineReading:
    """Return what a line is that stands under `heading`."""
    learned = classify.pack("lines")
    shares = dict(zip(learned.labels, learned.probabilities(line_features(line, heading)), strict=True))
    best = max(shares, key=shares.__getitem__)
    return LineReading(best, shares[best], shares)


def line_features(line: str, heading: str) -> set[str]:
    """Return the features of a line: how it is written, its words, and what its words are in a message."""
    parts = parted(line)
    plain = parts.text.replace("**", "").replace("`", "").strip()
    language = language_of(plain)
    learned = classify.pack(language)
    own = features([plain], 0, (), learned.common)
    found = {name for name in own if not name.startswith(("of ", "last"))}
    found.update(f"said {one}" for one in _likely_labels(own, learned))
    found.update(f"is {sign}" for sign in parts.signs)
    found.update(f"mark {mark}" for mark in parts.marks)
    found.update(f"has {name}" for name, pattern in _SIGNS if pattern.search(plain))
    found.update(_of_shape(parts))
    cues = sorted(cues_of(plain))
    found.update(f"cue {cue}" for cue in cues)
    found.update(f"cues {one} {other}" for at, one in enumerate(cues) for other in cues[at + 1 :])
    found.update(f"begins {cue}" for cue in cues_of(" ".join(plain.split()[:2])[:12]))
    found.update(f"about {topic}" for topic in topics_of_line(plain))
    found.update(f"under about {topic}" for topic in topics_of_heading(heading))
    words = [word for word in tokens(heading) if word.isalpha()]
    found.update(f"under {word}" for word in words)
    found.add("under something" if words else "under nothing")
    found.add(f"in {language}")
    return found


def _likely_labels(own: set[str], learned: classify.Pack) -> Iterator[str]:
    """What the words are for the reader of messages, roughly: each label that is likely, and how likely."""
    for label, share in zip(learned.labels, learned.probabilities(own), strict=True):
        for step in (0.05, 0.15, 0.35, 0.6, 0.85):
            if share > step:
                yield f"{label} {step}"


def _of_shape(parts: Line) -> Iterator[str]:
    """How a line is put together: who speaks, what stands before a colon, what part of it is digits or signs."""
    text = parts.text
    if not _WORD.search(text):
        yield "no word"
        return
    if speaker := _SPEAKER.match(text):
        yield f"colon {len(speaker[1].split())}"
        yield "colon bold" if speaker[1].startswith("*") else "colon plain"
        yield "colon and nothing" if speaker.end() >= len(text.rstrip("* ")) else "colon and more"
        yield "colon shout" if speaker[1].isupper() else "colon quiet"
        yield from (f"before colon {word}" for word in tokens(speaker[1]))
    elif bold := _BOLD.match(text):
        yield "bold alone" if bold.end() >= len(text) else "bold and more"
    for name, kind in (("digits", str.isdigit), ("letters", str.isalpha), ("capitals", str.isupper)):
        yield f"{name} {round(5 * sum(map(kind, text)) / len(text))}"
    cells = len(_CELLS.findall(text))
    if cells:
        yield f"cells {min(cells, 6)}"
    first = tokens(text)[:2]
    yield from (f"first {word}" for word in first[:1])
    if len(first) > 1:
        yield f"first {first[0]} {first[1]}"
    yield f"length {min(len(text) // 25, 8)}"


# Markdown as an outline: bullets, paragraphs and rows of tables, each with the headings and the lines over it.

OPEN, DONE = "[ ]", "[x]"
"""The marks of boxes."""
ROW = "|"
DEEPEST = 20
"""Levels of bullets; what stands deeper is on the last one."""
WRAPPED = 55
"""Characters of a line that may be wrapped though it ends in no comma and the next one begins with a capital."""
_HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_OUTLINE_BULLET = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])[ \t]+(.*)")
_OUTLINE_BOX = re.compile(r"\[([ xX])\](?:\s|$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TABLE_RULE = re.compile(r"[|:\- \t]*\|[|:\- \t]*|\+(?:[-=:]+\+)+")
_RULE = re.compile(rf" {{0,3}}([-*_])[ \t]*(?:\1[ \t]*){{2,}}|{_TABLE_RULE.pattern}")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*")
_TAGS = re.compile(r"(?:\s*</?[A-Za-z][A-Za-z0-9-]*(?:\s[^<>]*)?/?>)+\s*")
_OUTLINE_BOLD = re.compile(r"(\*\*|__)(?!\1).+\1[:：]?")
_CELL = re.compile(r"(?<!\\)\|")
_END = re.compile(r"[.!?。！？…][\"'”’)\]*_]*$")
_GOES_ON = re.compile(r"[,，、;；:：–—-][*_]*$")
_WIDE = re.compile("[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]")
_FIELD = re.compile(r"[^\s:：][^:：]{0,30}[:：](?:\s|$)")
_COMMENT = re.compile(
    r"^- \[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\] .*$|(?:<!--(?s:.*?)(?:-->|\Z)|^%%[^%]*%%[ \t]*$"
    r"|^ {0,3}\[[^\]\n]*\]: *(?:<[^<>\n]*>|#|[^\s@]*[./][^\s@]*)(?: +[(\"'].*)?$"
    r"|^ {0,3}!\[[^\]\n]*\]\([^()\n]*\)[ \t]*$"
    r"|^ {0,3}(?:>[ \t]*)+\[![\w-]+\][-+]?.*$"
    r"|(?<!~)(?P<struck>~~?)(?=[^\s~])[^~\n]*(?<=[^\s~])(?P=struck)(?!~)"
    r"|(?i:<(?P<tag>del|s|strike)>.*?</(?P=tag)>))[ \t]*",
    re.MULTILINE,
)
"""A comment, the target of a link, a picture, the title of a callout, what is struck out, or a line of the mirrors'
form: what stands in such a line is the memory's own, also `<!--`."""
_FRONT_MATTER = re.compile(
    r"\s*(?:---[ \t]*\n(.*?)^(?:---|\.\.\.)|\+\+\+[ \t]*\n(.*?)^\+\+\+)[ \t]*$", re.DOTALL | re.MULTILINE
)
_FRONT_FIELD = re.compile(
    r"[ \t]*|[ \t]*#.*|[ \t]*-(?:[ \t].*)?|[ \t]+\S.*|[\w\"'][\w .\"'/-]*[ \t]*[:=].*|[\]}],?[ \t]*|\[[\w.-]+\]"
)
"""What a line of front matter may be."""


class Block(NamedTuple):
    """A bullet, a paragraph or a row of a table.

    `line` counts from 1. `mark`: the sign of a bullet, a box, `>`, `|` or "". `headings`: those over it, the highest
    first. `parent`: the place of the block that it stands under in the list of blocks; None: under none. `cells`: of a
    row, the heading of each column, "" where there is none, and what stands in it.
    """

    line: int
    text: str
    mark: str
    headings: tuple[str, ...]
    parent: int | None = None
    cells: tuple[tuple[str, str], ...] = ()

    @property
    def is_bold(self) -> bool:
        """Whether all of it is in bold."""
        return _OUTLINE_BOLD.fullmatch(self.text) is not None

    @property
    def is_label(self) -> bool:
        """Whether it only announces what follows: it ends in a colon, or is a paragraph in bold."""
        return self.text.rstrip("*_ ").endswith((":", "：")) or (not self.mark and self.is_bold)


def readable(text: str) -> str:
    """Return a text, line by line, without encoding marks, front matter, comments and struck-out words."""
    text = text.replace("\0", "").replace("\ufeff", "").replace("\r\n", "\n").replace("\r", "\n")
    front = _FRONT_MATTER.match(text)
    if front and all(map(_FRONT_FIELD.fullmatch, (front[1] or front[2] or "").split("\n"))):
        text = "\n" * front[0].count("\n") + text[front.end() :]
    return _COMMENT.sub(lambda match: match[0] if match[0].startswith("- [") else re.sub(r"[^\n]+", "", match[0]), text)


def outline(text: str, *, by_line: bool = False) -> tuple[list[Block], list[int]]:
    """Return the blocks of a readable text, and the lines at which code begins. `by_line`: no line goes on in the next
    one, as in plain text."""
    page = _Page(by_line)
    lines = text.split("\n")
    for at, line in enumerate(lines):
        page.add(at + 1, line, lines[at + 1] if at + 1 < len(lines) else "")
    return page.blocks, page.code


class _Page:
    """A page as it is read line by line."""

    def __init__(self, by_line: bool) -> None:
        self.blocks: list[Block] = []
        self.code: list[int] = []
        self._by_line = by_line
        self._headings: list[tuple[int, str]] = []
        self._fence = ""
        self._last = ""  # the line before, where it may go on
        self._set_in = 0  # how far the block that may go on is set in
        self._columns: list[str] = []
        self._label: int | None = None  # a paragraph that announces what follows
        self._above: list[tuple[int, int]] = []  # the bullets that are open: how far they are set in, their places

    def add(self, number: int, line: str, under: str) -> None:
        """Read the next line. `under`: the one after it."""
        last, self._last = self._last, ""
        if self._in_code(number, line):
            return
        if heading := _HEADING.fullmatch(line):
            self._head(len(heading[1]), heading[2] or "")
        elif not line.strip():
            self._columns = []
        elif any(pattern.fullmatch(line) for pattern in (_RULE, _UNDERLINE, _TAGS)):
            return
        elif "|" in line and ("|" in under or under.startswith("+=")) and _RULE.fullmatch(under):
            self._columns = _cells(line)
        elif self._columns or line.lstrip().startswith("|"):
            self._row(number, line)
        elif bullet := _OUTLINE_BULLET.fullmatch(line):
            self._bullet(number, line, bullet)
        elif not last and _UNDERLINE.fullmatch(under) and ("=" in under or not _END.search(line.rstrip())):
            self._head(1 if "=" in under else 2, line)
        else:
            self._words(number, line, last)

    def _in_code(self, number: int, line: str) -> bool:
        mark = _FENCE.match(line)
        if mark and not self._fence:
            self._fence = mark[1]
            self.code.append(number)
            return True
        if mark and mark[1].startswith(self._fence) and not line[mark.end() :].strip():
            self._fence = ""
            return True
        return bool(self._fence)

    def _head(self, level: int, title: str) -> None:
        self._headings = [one for one in self._headings if one[0] < level] + [(level, title.strip())]
        self._label, self._above, self._columns = None, [], []

    def _row(self, number: int, line: str) -> None:
        values = _cells(line)
        columns = [*self._columns, *[""] * len(values)]
        filled = [(name, value) for name, value in zip(columns, values, strict=False) if any(map(str.isalnum, value))]
        cells = tuple(filled) if len(filled) > 1 or len(values) == 1 else ()
        self._above = [one for one in self._above if one[0] < indent(line)]
        words = [f"{name}: {value}" if name and len(cells) > 1 else value for name, value in cells]
        if cells:
            self._append(number, ", ".join(words), ROW, cells)

    def _bullet(self, number: int, line: str, bullet: re.Match[str]) -> None:
        words, mark = bullet[3].strip(), bullet[2]
        if box := _OUTLINE_BOX.match(words):
            words, mark = words[box.end() :].strip(), OPEN if box[1] == " " else DONE
        if not words:
            return
        wide = len(bullet[1].expandtabs(4))
        self._above = [one for one in self._above if one[0] < wide][:DEEPEST]
        self._append(number, words, mark)
        self._above.append((wide, len(self.blocks) - 1))
        self._last, self._set_in = line, wide

    def _words(self, number: int, line: str, last: str) -> None:
        words = line.strip()
        mark = ">" if words.startswith(">") else ""
        words = words.lstrip("> ").strip()
        if not words:
            return
        self._last = line
        if last and not self._by_line and last.lstrip().startswith(">") == bool(mark) and self._goes_on(last, line):
            self.blocks[-1] = self.blocks[-1]._replace(text=_joined(self.blocks[-1].text, words))
        else:
            self._above, self._label, self._set_in = [], None, indent(line)
            self._append(number, words, mark)
        if self.blocks[-1].is_label and not self.blocks[-1].mark:
            self._label = len(self.blocks) - 1

    def _goes_on(self, line: str, following: str) -> bool:
        """Whether a line is wrapped, so that the next one belongs to it."""
        end, begin = line.rstrip(), following.lstrip("> \t")
        if indent(following) > self._set_in or _GOES_ON.search(end):
            return not (_FIELD.match(begin) and _END.search(end))
        if _FIELD.match(begin):
            return False
        return begin[0].islower() or (not _END.search(end) and len(end) >= WRAPPED)

    def _append(self, number: int, text: str, mark: str, cells: tuple[tuple[str, str], ...] = ()) -> None:
        parent = self._above[-1][1] if self._above else self._label
        headings = tuple(title for _, title in self._headings if title)
        self.blocks.append(Block(number, text, mark, headings, parent, cells))


def _cells(line: str) -> list[str]:
    bare = line.strip().removeprefix("|")
    return [cell.strip() for cell in _CELL.split(bare.removesuffix("|"))]


def _joined(text: str, words: str) -> str:
    """A line and the one that it goes on in: Chinese and Japanese put no space between."""
    return f"{text}{words}" if _WIDE.search(text[-2:]) and _WIDE.match(words[0]) else f"{text} {words}"


def children(blocks: Sequence[Block]) -> list[list[int]]:
    """Return the places of the blocks that stand directly under each block."""
    found: list[list[int]] = [[] for _ in blocks]
    for at, block in enumerate(blocks):
        if block.parent is not None:
            found[block.parent].append(at)
    return found


def parents(blocks: Sequence[Block], block: Block) -> Iterator[Block]:
    """The blocks over a block, the nearest first."""
    while block.parent is not None:
        block = blocks[block.parent]
        yield block


# -- What notes in Markdown say that lasts, each memory so that it can be read alone (0105) ---------------------------

LASTS = 0.6
"""How likely a block has to be worth keeping."""
MAY_LAST, BESIDE = 0.2, 0.75
"""How likely it has to be where those beside it in a list are that likely, or where it stands under one that lasts."""
BOXED = 0.85
"""How likely what stands beside a box has to be."""
SHORT = 4
"""Words of a block that is read with what it is about."""
LONGEST = 1_000
"""Characters beyond which a memory becomes several, at the ends of sentences."""
TOGETHER = 300
"""Characters of a memory that is made of a line and those under it."""
LABELS = 3
"""Lines over a block that stand before its words at most."""
CONTEXT = 80
"""Characters of a heading or a line that is put before those under it."""
_KINDS = {
    "person": "fact",
    "project": "fact",
    "preference": "preference",
    "rule": "preference",
    "decision": "decision",
    "event": "episodic",
}
"""The kind of a memory of each label of a line that lasts."""
_HEADED = {"preferences": "preference", "style": "preference", "decisions": "decision"}
"""The kind of what stands under a heading that is about one of these."""
_LISTED = frozenset({"-", "*", "+", ROW})
"""The marks of what stands in a list, and is no step."""
_notes_pattern = pack_files.patterns("notes")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_LABEL = re.compile(r"([^:：]{1,40})[:：]")
_NOTES_SIGNS = re.compile(r"^[^\w\s\"'“„«(（\[`~/.#-]+\s+")
_ASIDE = re.compile(r"\s*[(（][^()（）]*[)）]")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_INSIDE = re.compile(r"\(.*\)|([*_])(?!\1).*\1")
"""A paragraph that is all in parentheses or in italics: a hint to who fills in the page."""


class Note(NamedTuple):
    """A memory in notes: its words, its line from 1, the headings over it, the highest first, its kind, and the words
    of the page that it is made of, as they stand there."""

    text: str
    line: int
    headings: tuple[str, ...]
    kind: str
    made_of: tuple[str, ...] = ()


class Notes(NamedTuple):
    """The memories of a page, what says nothing that lasts, and the lines at which code begins."""

    found: list[Note]
    left: list[Note]
    code: list[int]


def notes_read(text: str, *, titled: bool = True, by_line: bool = False) -> Notes:
    """Return the memories of a readable page. `titled`: its first heading may name what all of it is about. `by_line`:
    no line goes on in the next one."""
    blocks, code = outline(text, by_line=by_line)
    page = _NotesPage(blocks, titled)
    found = [note for at in range(len(blocks)) for note in page.notes(at)]
    return Notes(found, page.left, code)


class _NotesPage:
    """The blocks of a page, and which of them are in the memory of another."""

    def __init__(self, blocks: Sequence[Block], titled: bool) -> None:
        self.left: list[Note] = []
        self._blocks = blocks
        self._under = children(blocks)
        self._titled = titled
        self._taken: set[int] = set()
        self._shares: dict[int, float] = {}
        self._lists: dict[tuple[tuple[str, ...], int | None], tuple[float, int]] = {}

    def notes(self, at: int) -> Iterator[Note]:
        """The memories of a block that is not in one before."""
        block = self._blocks[at]
        if at in self._taken or self._is_label(at):
            return
        if not self._lasts(at):
            self.left.append(self._note(block, block.text))
            return
        text = ": ".join([*self._context(block), _notes_words(block)])
        made_of = [_notes_words(block)]
        for one in self._below(at):
            longer = f"{text.rstrip(' .。;；')}; {_notes_words(self._blocks[one])}"
            if len(longer) > TOGETHER:
                break
            text = longer
            made_of.append(_notes_words(self._blocks[one]))
            self._taken.add(one)
        for part in _parts(text):
            yield self._note(block, part)._replace(made_of=tuple(made_of))

    def _note(self, block: Block, text: str) -> Note:
        return Note(text, block.line, block.headings, self._kind(block))

    def _below(self, at: int) -> Iterator[int]:
        """The places of the blocks under one that last, with those under them."""
        for one in self._under[at]:
            if not self._is_label(one) and self._lasts(one):
                yield one
                yield from self._below(one)

    def _is_label(self, at: int) -> bool:
        """Whether a block only says what those under it are about."""
        block = self._blocks[at]
        if block.is_label or (block.is_bold and self._under[at]):
            return True
        short = len(block.text) <= CONTEXT and len(tokens(block.text)) <= 6
        return bool(self._under[at]) and short and read(_line(block, block.text), _over(block)).lasting < LASTS

    def _lasts(self, at: int) -> bool:
        """Whether a block is worth keeping: by its words, or where those beside it are, and it may be."""
        block, share = self._blocks[at], self._share(at)
        if block.mark in (OPEN, DONE):
            return share >= BOXED or _is_answer(block)
        if share >= LASTS or not block.mark or share < MAY_LAST:
            return share >= LASTS
        if block.parent is not None and not self._is_label(block.parent):
            return self._lasts(block.parent)
        total, count = self._list_of(block)
        return count > 2 and (total - share) / (count - 1) >= BESIDE

    def _list_of(self, block: Block) -> tuple[float, int]:
        """How likely the blocks of a list are worth keeping, added up, and how many they are."""
        if not self._lists:
            for at, one in enumerate(self._blocks):
                if one.mark:
                    total, count = self._lists.get((one.headings, one.parent), (0.0, 0))
                    self._lists[one.headings, one.parent] = (total + self._share(at), count + 1)
        return self._lists[block.headings, block.parent]

    def _share(self, at: int) -> float:
        """How likely a block is worth keeping, by its words; a short one also by what it is about."""
        block = self._blocks[at]
        if at not in self._shares:
            self._shares[at] = 0.0
            over = [*block.headings, *(one.text for one in parents(self._blocks, block))]
            text = _notes_words(block)
            label = _LABEL.match(text)
            is_open = any(map(_is_open, over)) or (label and _is_open(label[1], alone=True))
            if sum(map(str.isalnum, text)) > 1 and not is_open and not _is_placeholder(block):
                # What holds a secret waits for a person, whatever the line is.
                self._shares[at] = 1.0 if secrets.find(text) else self._read(block).lasting
        return self._shares[at]

    def _read(self, block: Block) -> LineReading:
        """What a block is, a short one also with what it is about: the likelier to last of both."""
        text = _notes_words(block)
        texts = [text]
        needs = self._says_what(block.parent) if block.parent is not None else block.mark in _LISTED
        if needs and block.mark not in (OPEN, DONE) and len(_WORDS.findall(text)) < SHORT:
            texts.append(": ".join([*self._context(block), text]))
        return max((read(_line(block, one), _over(block)) for one in texts), key=lambda one: one.lasting)

    def _says_what(self, parent: int) -> bool:
        """Whether the block over another says what that is about, and not where it was copied from or who told it."""
        if not self._is_label(parent):
            return False
        return read(self._blocks[parent].text, _over(self._blocks[parent])).label != "narration"

    def _context(self, block: Block) -> list[str]:
        """The heading and the labels that a block needs before its own words, the highest first."""
        found = [_plain(one.text) for one in parents(self._blocks, block) if is_name(one.text)][:LABELS]
        titles = block.headings if self._titled else block.headings[1:]
        named = next((_plain(title) for title in reversed(titles) if is_name(title)), "")
        if _is_of_somebody(block.text):
            return []
        if _is_answer(block):
            return [_plain(_over(block))]
        if named and not _names(named) & set(tokens(" ".join([block.text, *found]))):
            found.append(named)
        return found[::-1]

    def _kind(self, block: Block) -> str:
        above = (one.text for one in parents(self._blocks, block) if len(one.text) <= CONTEXT / 2)
        for title in [*above, *reversed(block.headings)]:
            kind = next((kind for topic, kind in _HEADED.items() if topic in topics_of_heading(title)), "")
            if kind:
                return kind
        shares: dict[str, float] = {}
        for label, share in self._read(block).shares.items():
            if label in _KINDS:
                shares[_KINDS[label]] = shares.get(_KINDS[label], 0.0) + share
        return max(shares, key=shares.__getitem__)


def is_name(title: str) -> bool:
    """Whether a heading or a label names what those lines are about that stand under it.

    >>> is_name("Oma Truus (Ruben's mum)"), is_name("Important notes"), is_name("2026-03-01")
    (True, False, False)
    """
    plain = _plain(title)
    if len(plain) > CONTEXT:
        return False
    return bool(_names(_ASIDE.sub("", plain) or plain)) and not re.search(r"\w:\w", plain)


def _is_open(title: str, *, alone: bool = False) -> bool:
    """Whether nothing is settled of what stands under a heading or a label. `alone`: only where it says just that."""
    bare = _ASIDE.sub("", _plain(title)).strip(" *_!?")
    found = list(_notes_pattern("open").finditer(bare))
    ends = any(one.start() == 0 or one.end() == len(bare) for one in found)
    return any(one[0] == bare for one in found) if alone else ends


def _is_of_somebody(text: str) -> bool:
    """Whether a text begins with a name that is known as one, so that it needs no heading."""
    name = "" if any(map(str.isdigit, text)) else subject_of(text)
    return bool(name) and name.casefold() in classify.pack(language_of(text)).names


def _names(title: str) -> set[str]:
    rest = _notes_pattern("plain_unspaced").sub(" ", title)
    plain = pack_files.words("notes", "plain")
    words = (word for word in names_of_heading(rest) if not word.isdigit() and word not in plain)
    return {word for word in words if len(word) > 1 or _UNSPACED.match(word)}


def _plain(title: str) -> str:
    """A heading or a label without its marks, the signs before it and its colon."""
    return _NOTES_SIGNS.sub("", title.replace("**", "").replace("__", "").strip()).rstrip(":： ")


def _over(block: Block) -> str:
    return block.headings[-1] if block.headings else ""


def _notes_words(block: Block) -> str:
    """What a block says; of a row, each value behind the heading of its column."""
    if block.mark != ROW:
        return block.text
    columns = _notes_pattern("columns")
    if len(block.cells) == 2 and all(columns.fullmatch(name.strip("* ")) for name, _ in block.cells):
        return f"{block.cells[0][1]}: {block.cells[1][1]}"
    return block.text


def _line(block: Block, text: str) -> str:
    """The line as it is known to the reader of lines."""
    mark = f"- {block.mark}" if block.mark in (OPEN, DONE) else "" if block.mark == ROW else block.mark
    return f"{mark} {text[:LONGEST]}" if mark else text[:LONGEST]


def _parts(text: str) -> Iterator[str]:
    """The text in parts of at most `LONGEST` characters, cut between sentences where there are any."""
    while len(text) > LONGEST:
        cut = max((end.end() for end in _SENTENCE.finditer(text, 0, LONGEST)), default=LONGEST)
        yield text[:cut].strip()
        text = text[cut:].strip()
    if text:
        yield text


def _is_answer(block: Block) -> bool:
    """Whether a block is the ticked answer to what the heading of a template asks."""
    return block.mark == DONE and bool(block.headings) and _notes_pattern("template").fullmatch(block.text) is not None


def _is_placeholder(block: Block) -> bool:
    """Whether a block stands where something is still to be written, or says what to write there."""
    bare = block.text.strip("*_ .")
    if len(bare) > LONGEST:
        return False
    if block.mark in ("", OPEN) and _notes_pattern("template").fullmatch(bare):
        return True
    if not block.mark and _INSIDE.fullmatch(block.text):
        return True
    return _notes_pattern("placeholder").fullmatch(block.text) is not None
