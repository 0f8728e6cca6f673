"""What a line of an archive or of notes is: a lasting fact and of what, a rule, narration, a dump, a label, chat.
Learned from labelled lines of all languages in one pack (`packs/lines.json`), on top of what the reader of messages
makes of the line's words (0102).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from nanomem_tui.language import reader
from nanomem_tui.language.detect import language_of
from nanomem_tui.language.features import features, tokens
from nanomem_tui.language.topics import cues_of, topics_of_heading, topics_of_line

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
    learned = reader.pack("lines")
    shares = dict(zip(learned.labels, learned.probabilities(line_features(line, heading)), strict=True))
    best = max(shares, key=shares.__getitem__)
    return LineReading(best, shares[best], shares)


def line_features(line: str, heading: str) -> set[str]:
    """Return the features of a line: how it is written, its words, and what its words are in a message."""
    parts = parted(line)
    plain = parts.text.replace("**", "").replace("`", "").strip()
    language = language_of(plain)
    learned = reader.pack(language)
    own = features([plain], 0, (), learned.common)
    found = {name for name in own if not name.startswith(("of ", "last"))}
    found.update(f"said {one}" for one in _said(own, learned))
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


def _said(own: set[str], learned: reader.Pack) -> Iterator[str]:
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
