"""A diff to read and decide on: per file and hunk, word by word, with a cursor that stands on a hunk."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import ClassVar, Literal, NamedTuple

from textual.binding import BindingType
from textual.message import Message

from nanomem_tui.core.text import one_line, safe_text
from nanomem_tui.widgets.key_queue import widget_bindings
from nanomem_tui.widgets.text_view import Block, Line, Span, TextView, lay_out, wrap_spans
from nanomem_tui.widgets.theme import glyphs

# A diff as values: files, hunks, lines and the words that changed. Pure text; knows no git and no screen.

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


class DiffView(TextView):
    """Shows files with their hunks below some leading blocks. Every change has its sign; colour only helps."""

    BINDINGS: ClassVar[list[BindingType]] = [*widget_bindings("next_hunk", "previous_hunk")]
    DEFAULT_CSS = "DiffView { padding: 0 0 0 1; }"

    class HunkHighlighted(Message):
        """The cursor is on another hunk; `index` counts through all files."""

        def __init__(self, view: DiffView, index: int) -> None:
            super().__init__()
            self.view = view
            self.index = index

        @property
        def control(self) -> DiffView:
            """The view."""
            return self.view

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.files: tuple[FileDiff, ...] = ()
        self.blocks: tuple[Block, ...] = ()
        self._hunk = 0
        self._starts: list[int] = []

    def show(self, files: Sequence[FileDiff], blocks: Sequence[Block] = (), keep_place: bool = False) -> None:
        """Show `files` below `blocks` (who, when, what it cost); `keep_place` keeps view and hunk (a mark changed)."""
        same = (tuple(files), tuple(blocks)) == (self.files, self.blocks)
        if same and self._laid_out_at != -1:
            return
        self.files, self.blocks = tuple(files), tuple(blocks)
        if not keep_place:
            self._hunk = 0
        self._hunk = min(self._hunk, max(len(self.hunks) - 1, 0))
        self.lay_out_again(keep_place)

    @property
    def hunks(self) -> list[tuple[FileDiff, Hunk]]:
        """Every hunk with its file, in order."""
        return [(file, hunk) for file in self.files for hunk in file.hunks]

    @property
    def hunk_index(self) -> int | None:
        """The hunk under the cursor, counted through all files; None when there is none."""
        return self._hunk if self.hunks else None

    @property
    def current(self) -> tuple[FileDiff, Hunk] | None:
        """The hunk under the cursor, with its file."""
        return self.hunks[self._hunk] if self.hunks else None

    def move_to_hunk(self, index: int) -> None:
        """Put the cursor on a hunk (clamped) and bring it into view."""
        index = max(0, min(index, len(self.hunks) - 1))
        if not self.hunks or index == self._hunk:
            return
        self._hunk = index
        self.lay_out_again(keep_place=True)
        start = self._starts[index] if index < len(self._starts) else 0
        self.scroll_to(y=max(start - 2, 0), animate=False, force=True)
        self.post_message(self.HunkHighlighted(self, index))

    def action_next_hunk(self) -> None:
        """To the next hunk."""
        self.move_to_hunk(self._hunk + 1)

    def action_previous_hunk(self) -> None:
        """To the hunk before."""
        self.move_to_hunk(self._hunk - 1)

    def lay_out(self, width: int, wrapped: bool) -> list[Line]:
        """The lines of blocks, files and hunks; remembers where each hunk starts."""
        lines = lay_out(self.blocks, width, wrapped)
        self._starts = []
        for file in self.files:
            added, removed = file.counts
            note = f"  {file.note}" if file.note else ""
            if lines:
                lines.append(())
            lines.append(((one_line(file.path), "heading"), (f"  +{added} -{removed}{note}", "dim")))
            for hunk in file.hunks:
                lines.extend(self._hunk_lines(hunk, len(self._starts) == self._hunk, width, wrapped, len(lines)))
        return lines

    def _hunk_lines(self, hunk: Hunk, at_cursor: bool, width: int, wrapped: bool, start: int) -> list[Line]:
        self._starts.append(start)
        marker = glyphs(self).cursor if at_cursor else " "
        mark = f" [{hunk.mark}]" if hunk.mark else ""
        title = f"{marker} {hunk.title or 'change'}{mark} "
        lines: list[Line] = [
            ((one_line(title) if at_cursor else "  " + one_line(title), "cursor" if at_cursor else "dim"),)
        ]
        for line, spans in spans_of(hunk):
            tone = {"+": "added", "-": "removed"}.get(line.sign, "")
            parts: list[Span] = [(f"  {line.sign} ", tone)]
            parts += [(safe_text(text).replace("\t", "    "), name) for text, name in spans]
            lines.extend(wrap_spans(parts, width, 4) if wrapped else [tuple(parts)])
        for text in hunk.evidence:
            lines.extend(wrap_spans([("    from: ", "label"), (one_line(text), "dim")], width, 10))
        return lines


# One version of a file to read: every line, those that came and went with it, and those that are no longer there.

GONE = "x"
MARKS = f"+ came with it   - went with it   {GONE} not there any more"


class VersionLine(NamedTuple):
    """A line of the file, or one that went with this version; `gone`: it is in the file no more."""

    line: DiffLine
    gone: bool = False


class VersionView(TextView):
    """Shows a version below some leading blocks. Left and right ask for the version before and after."""

    BINDINGS: ClassVar[list[BindingType]] = [*widget_bindings("next_hunk", "previous_hunk")]
    DEFAULT_CSS = "VersionView { padding: 0 0 0 1; }"

    class Travel(Message):
        """Another version is wanted: -1 the one before, 1 the one after."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.version: tuple[VersionLine, ...] = ()
        self.blocks: tuple[Block, ...] = ()
        self._changes: list[int] = []

    def show(self, version: Sequence[VersionLine], blocks: Sequence[Block], keep_place: bool = False) -> None:
        """Show the lines of a version below `blocks`; `keep_place` stays where the view is."""
        self.version, self.blocks = tuple(version), tuple(blocks)
        self.lay_out_again(keep_place)

    def lay_out(self, width: int, wrapped: bool) -> list[Line]:
        """The blocks, then each line with its number and marks."""
        lines = lay_out(self.blocks, width, wrapped)
        self._changes = []
        numbers = len(str(max((row.line.number for row in self.version), default=1)))
        changing = False
        spans = spans_of(Hunk(tuple(row.line for row in self.version)))
        for row, (line, parts) in zip(self.version, spans, strict=True):
            if line.sign != " " and not changing:
                self._changes.append(len(lines))
            changing = line.sign != " "
            tone = {"+": "added", "-": "removed"}.get(line.sign, "dim" if row.gone else "")
            number = " " * numbers if line.sign == "-" else f"{line.number:>{numbers}}"
            mark = GONE if row.gone and line.sign != "-" else " "
            head: list[Span] = [(f"{number} ", "dim"), (line.sign, tone), (mark, "warn"), (" ", "")]
            text = [(safe_text(part).replace("\t", "    "), name or tone) for part, name in parts]
            spans_shown = [*head, *text]
            lines.extend(wrap_spans(spans_shown, width, numbers + 4) if wrapped else [tuple(spans_shown)])
        return lines

    def action_next_hunk(self) -> None:
        """To the next change."""
        top = int(self.scroll_offset.y)
        self._go(next((at for at in self._changes if at - 2 > top), None))

    def action_previous_hunk(self) -> None:
        """To the change before."""
        top = int(self.scroll_offset.y)
        self._go(next((at for at in reversed(self._changes) if at - 2 < top), None))

    def _go(self, line: int | None) -> None:
        if line is not None:
            self.scroll_to(y=max(line - 2, 0), animate=False, force=True)

    def action_scroll_left(self) -> None:
        """The version before; text that is not wrapped moves instead."""
        if self.wrapped:
            self.post_message(self.Travel(-1))
        else:
            super().action_scroll_left()

    def action_scroll_right(self) -> None:
        """The version after; text that is not wrapped moves instead."""
        if self.wrapped:
            self.post_message(self.Travel(1))
        else:
            super().action_scroll_right()
