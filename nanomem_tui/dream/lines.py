"""The list lines of the memory files as a Dreamer looks for them: by their words, by what they claim, by section.

Owns keeping that true edit by edit without reading a file again. Decides nothing about what a line means for a fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from nanomem_tui.dream import details, titles
from nanomem_tui.dream.claims import Claim, claim_of, parts_of
from nanomem_tui.dream.edits import LineEdit, apply_edits, opens_list
from nanomem_tui.formats import markdown
from nanomem_tui.store.merge import common_start

_MISSING = 2  # words that a line may say otherwise and still be the same: see `details.says`
Words = frozenset[str]


class Line:
    """A list line: its file, its number from 1, the whole line, what stands before its text, and the text."""

    __slots__ = ("file", "lead", "number", "text", "whole")

    def __init__(self, file: str, number: int, whole: str, text: str) -> None:
        self.file = file
        self.number = number
        self.whole = whole
        self.text = text
        self.lead = whole[: len(whole.rstrip()) - len(text)]


class Part:
    """A section of a file: its title ("" before the first heading), its level, where it starts, and the words in it."""

    def __init__(self, section: markdown.Section) -> None:
        self.title = section.title
        self.level = section.level
        self.start = section.start_line
        self._lines = section.lines

    @cached_property
    def words(self) -> Words:
        """The words of all its lines."""
        return frozenset[str]().union(*map(details.words, self._lines))

    @cached_property
    def has_list(self) -> bool:
        """Whether a list line is in it."""
        return bool(markdown.bullets("\n".join(self._lines)))


class Lines:
    """The texts of the files, and their list lines."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = dict(files)
        self._order = {name: at for at, name in enumerate(files)}
        self._rows: dict[str, list[Line]] = {}
        self._parts: dict[str, list[Part]] = {}
        self._split: dict[str, tuple[str, list[str]]] = {}
        self._by_word: dict[str, set[Line]] = {}
        self._short: set[Line] = set()
        self._claims: dict[str, dict[Line, Claim]] | None = None
        self._claims_behind: dict[str, dict[Line, Claim]] = {}
        for name in files:
            self._rows[name] = []
            self._read(name)

    def make(self, edit: LineEdit, after: Mapping[str, str] | None = None) -> None:
        """Make the edit; `after` are the texts that come of it, where they are known."""
        after = after or apply_edits(self.files, [edit])
        changed = [name for name in self.files if after[name] is not self.files[name]]
        for name in changed:
            before, self.files[name] = self.files[name], after[name]
            if not self._patch(name, before):
                self._read(name)
            self._parts.pop(name, None)

    def parts(self, file: str) -> list[Part]:
        """The sections of a file."""
        if file not in self._parts:
            self._parts[file] = [Part(section) for section in markdown.sections(self.files[file])]
        return self._parts[file]

    def under(self, line: Line) -> Words:
        """The words of what stands over a line that say of whom or what it may be: headings but the file's own, the
        lines of which it is an entry, and what opens its list (`Bob:`)."""
        above: list[Part] = []
        own = next((part for part in self.parts(line.file) if part.level), None)
        for part in self.parts(line.file):
            if part.start > line.number:
                break
            if part.level and (part is not own or part.level > 1):
                above = [*(one for one in above if one.level < part.level), part]
        over = [part.title for part in above] + self._opening(line, above[-1].start if above else 0)
        return frozenset[str]().union(*map(titles.scope, over))

    def stands_in(self, line: Line, title: str) -> bool:
        """Whether a line is an entry of the section `title` ("": of the file itself), and of nothing in it."""
        above = [part for part in self.parts(line.file) if part.start <= line.number][-1:]
        same = any(part.title.casefold() == title.casefold() if title else part.level <= 1 for part in above)
        return same and not self._opening(line, above[0].start if above[0].level else 0)

    def _opening(self, line: Line, start: int) -> list[str]:
        """The texts of the list lines, behind line `start`, of which a line is an entry, and of what opens the list."""
        found: list[str] = []
        indent = markdown.indent(line.whole)
        if self._split.get(line.file, ("",))[0] is not self.files[line.file]:
            self._split[line.file] = (self.files[line.file], self.files[line.file].split("\n"))
        rows = self._split[line.file][1]
        for at in range(line.number - 2, start - 1, -1):
            whole = rows[at]
            if not indent and whole.startswith(("- ", "* ")):  # almost every line
                continue
            text = whole.strip()
            if not text or text.startswith("#"):
                continue
            if bullets := markdown.bullets(whole):
                if markdown.indent(whole) < indent:
                    indent = markdown.indent(whole)
                    found.append(bullets[0].text)
            elif markdown.indent(whole) <= indent:
                return [*found, text] if opens_list(text) else found
        return found

    def alike(self, text: str) -> list[Line]:
        """The lines that may say all that `text` says, in the order of the files."""
        words = details.words(text)
        if len(words) <= _MISSING:
            return self._sorted(line for rows in self._rows.values() for line in rows)
        rarest = sorted(words, key=lambda word: (len(self._by_word.get(word, ())), word))[: _MISSING + 1]
        return self._sorted(set[Line]().union(*(self._by_word.get(word, ()) for word in rarest)))

    def sharing(self, words: Iterable[str]) -> list[Line]:
        """The lines that hold one of `words`, and those with hardly a word, in the order of the files."""
        return self._sorted(self._short.union(*(self._by_word.get(word, ()) for word in words)))

    def claiming(self, subject: str, *, behind: bool = False) -> list[tuple[Line, Claim]]:
        """The lines that claim something of `subject`, in the order of the files; with `behind` those that do so behind
        what they say of another."""
        if self._claims is None:
            self._claims = {}
            for rows in self._rows.values():
                for line in rows:
                    self._claim(line)
        found = (self._claims_behind if behind else self._claims).get(subject, {})
        return [(line, found[line]) for line in self._sorted(found)]

    def _sorted(self, lines: Iterable[Line]) -> list[Line]:
        return sorted(lines, key=lambda line: (self._order[line.file], line.number))

    def _read(self, name: str) -> None:
        for line in self._rows[name]:
            self._forget(line)
        text = self.files[name]
        lines = text.split("\n")
        self._rows[name] = []
        for bullet in markdown.bullets(text):
            self._add(name, len(self._rows[name]), bullet, lines[bullet.line - 1])

    def _patch(self, name: str, before: str) -> bool:
        """Take over what changed since `before`; False where that depends on lines elsewhere."""
        text = self.files[name]
        if markdown.has_blocks(text) or markdown.has_blocks(before):
            return False
        old, new = before.split("\n"), text.split("\n")
        first = common_start(old, new)
        same = common_start(old[first:][::-1], new[first:][::-1])
        rows = self._rows[name]
        at = next((at for at, line in enumerate(rows) if line.number > first), len(rows))
        end = at
        while end < len(rows) and rows[end].number <= len(old) - same:
            self._forget(rows[end])
            end += 1
        for line in rows[end:]:
            line.number += len(new) - len(old)
        del rows[at:end]
        for bullet in markdown.bullets("\n".join(new[first : len(new) - same])):
            whole = new[first + bullet.line - 1]
            at += self._add(name, at, bullet._replace(line=first + bullet.line), whole)
        return True

    def _add(self, name: str, at: int, bullet: markdown.Bullet, whole: str) -> bool:
        if not bullet.text or bullet.text.startswith(("[ ]", "[x]", "[X]")):
            return False
        line = Line(name, bullet.line, whole.removesuffix("\r"), bullet.text)
        self._rows[name].insert(at, line)
        words = details.words(line.text)
        for word in words:
            self._by_word.setdefault(word, set()).add(line)
        if len(words) <= _MISSING:
            self._short.add(line)
        if self._claims is not None:
            self._claim(line)
        return True

    def _claim(self, line: Line) -> None:
        claim = claim_of(line.text)
        if claim is not None and self._claims is not None:
            self._claims.setdefault(claim.subject, {})[line] = claim
        for claim in filter(None, map(claim_of, parts_of(line.text)[1:])):
            self._claims_behind.setdefault(claim.subject, {})[line] = claim

    def _forget(self, line: Line) -> None:
        for word in details.words(line.text):
            self._by_word[word].discard(line)
        self._short.discard(line)
        if self._claims is None:
            return
        if (claim := claim_of(line.text)) is not None:
            self._claims[claim.subject].pop(line, None)
        for behind in filter(None, map(claim_of, parts_of(line.text)[1:])):
            self._claims_behind[behind.subject].pop(line, None)
