"""A diff as values: files, hunks, lines and the words that changed. Pure text; knows no git and no screen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from nanomem_tui.widgets.document import Span

Sign = Literal[" ", "-", "+"]

# A word, a run of space, or a single other character; scripts without spaces go character by character.
_TOKEN = re.compile(r"[a-zA-Z0-9_\u00c0-\u024f\u0370-\u04ff]+|\s+|.", re.DOTALL)
_MOST_TOKENS = 2_000  # in one line; beyond that the words are not compared


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line: kept, removed or added, with its number in the new file (of the old one when removed), from 1."""

    sign: Sign
    text: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that changed together. `title` names the place, `evidence` says why, `mark` what was decided about it."""

    lines: tuple[DiffLine, ...]
    title: str = ""
    evidence: tuple[str, ...] = ()
    mark: str = ""


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file and its hunks; `note` says what else there is to say, such as "new file"."""

    path: str
    hunks: tuple[Hunk, ...]
    note: str = ""

    @property
    def counts(self) -> tuple[int, int]:
        """Lines added, lines removed."""
        signs = [line.sign for hunk in self.hunks for line in hunk.lines]
        return signs.count("+"), signs.count("-")


def diff_texts(path: str, before: str, after: str, context: int = 2) -> FileDiff:
    """The difference of two versions of a file, with `context` kept lines around each hunk."""
    old, new = _file_lines(before), _file_lines(after)
    hunks: list[Hunk] = []
    section = ""
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(context):
        lines: list[DiffLine] = []
        for kind, old_from, old_to, new_from, new_to in group:
            if kind == "equal":
                lines += [DiffLine(" ", line, new_from + n + 1) for n, line in enumerate(new[new_from:new_to])]
                continue
            lines += [DiffLine("-", line, old_from + n + 1) for n, line in enumerate(old[old_from:old_to])]
            lines += [DiffLine("+", line, new_from + n + 1) for n, line in enumerate(new[new_from:new_to])]
        start = group[0][3]
        section = next((line.lstrip("# ") for line in reversed(new[: start + 1]) if line.startswith("#")), "")
        hunks.append(Hunk(tuple(lines), f"line {start + 1}" + (f", {section}" if section else "")))
    note = "new file" if not before and after else "file removed" if before and not after else ""
    return FileDiff(path, tuple(hunks), note)


def _file_lines(text: str) -> list[str]:
    lines = text.split("\n")  # never splitlines: U+2028 and its kin are part of a line
    return lines[:-1] if lines[-1] == "" else lines


def spans_of(hunk: Hunk) -> Iterator[tuple[DiffLine, list[Span]]]:
    """Each line of a hunk with its text in tones; in lines that replace each other the changed words stand out."""
    lines = list(hunk.lines)
    at = 0
    while at < len(lines):
        removed = _run(lines, at, "-")
        added = _run(lines, at + len(removed), "+")
        if not removed and not added:
            yield lines[at], [(lines[at].text, "")]
            at += 1
            continue
        pairs = [_words(old.text, new.text) for old, new in zip(removed, added, strict=False)]
        for n, line in enumerate(removed):
            yield line, pairs[n][0] if n < len(pairs) else [(line.text, "removed")]
        for n, line in enumerate(added):
            yield line, pairs[n][1] if n < len(pairs) else [(line.text, "added")]
        at += len(removed) + len(added)


def _run(lines: list[DiffLine], start: int, sign: Sign) -> list[DiffLine]:
    end = start
    while end < len(lines) and lines[end].sign == sign:
        end += 1
    return lines[start:end]


def _words(old: str, new: str) -> tuple[list[Span], list[Span]]:
    """Both lines in parts, the words that differ marked; lines with little in common are marked as a whole."""
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    whole: tuple[list[Span], list[Span]] = ([(old, "removed")], [(new, "added")])
    if max(len(before), len(after)) > _MOST_TOKENS:
        return whole
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < 0.3:
        return whole
    removed: list[Span] = []
    added: list[Span] = []
    for kind, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        suffix = "" if kind == "equal" else "-word"
        removed.append(("".join(before[old_from:old_to]), "removed" + suffix))
        added.append(("".join(after[new_from:new_to]), "added" + suffix))
    return _filled(removed), _filled(added)


def _filled(spans: Iterable[Span]) -> list[Span]:
    return [span for span in spans if span[0]]
