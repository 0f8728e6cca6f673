"""What the git history shows: a commit, its statistics, and the text of a file before and after. Values only."""

from __future__ import annotations

import hashlib
import re
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from nanomem_tui.core.errors import NanomemError
from nanomem_tui.core.paths import DREAM_CURSOR
from nanomem_tui.formats.history import parse_cursor

if TYPE_CHECKING:
    from nanomem_tui.store.git_history import GitHistory
    from nanomem_tui.store.merge import Hunk

CommitActor = Literal["dream", "human", "agent"]
_ENTRIES = re.compile(r"\b(\d+) entr(?:y|ies)\b")
_SHA = re.compile(r"[0-9a-f]{40}")


class DamagedGit(NanomemError):
    """An object or a ref of the repository that cannot be read."""


class DamagedPack(DamagedGit):
    """A file of many objects that cannot be read."""


class ElsewhereHead(DamagedGit):
    """HEAD leads to a branch without commits, while others have some."""


class FileStat(NamedTuple):
    """Lines added to and removed from one file."""

    path: str
    added: int
    removed: int


class FileDiff(NamedTuple):
    """One file of a commit as text; `before` or `after` is None where the file was absent.

    `damage` says why the texts cannot be read: then both are empty, and mean nothing.
    """

    path: str
    before: str | None
    after: str | None
    damage: str = ""

    @property
    def hunks(self) -> tuple[Hunk, ...]:
        """The differences, three lines of context."""
        from nanomem_tui.store import merge

        return merge.hunks(self.before or "", self.after or "")

    def unified(self) -> str:
        """The differences as a unified diff, or why there is none."""
        if self.damage:
            return f"{self.path} cannot be read: {self.damage}\n"
        from nanomem_tui.store import merge

        return merge.unified(self.path, self.before, self.after)


class Commit:
    """One commit: its ids are 40 hex digits, `at` is the committer's time in UTC ISO, `author` is `Name <mail>`.

    What costs reading more than the commit itself is computed at the first look.
    """

    def __init__(
        self, git: GitHistory, sha: str, tree: str, parents: tuple[str, ...], author: str, at: str, message: str
    ) -> None:
        self._git = git
        self.sha = sha
        self.tree = tree
        self.parents = parents
        self.author = author
        self.at = at
        self.message = message

    def __eq__(self, other: object) -> bool:
        """The same commit, wherever it was read."""
        return isinstance(other, Commit) and self.sha == other.sha

    def __hash__(self) -> int:
        """As `==` compares."""
        return hash(self.sha)

    @property
    def short(self) -> str:
        """The first 8 digits of the id, as agents print it."""
        return self.sha[:8]

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.lstrip("\n").split("\n", 1)[0].rstrip()

    @property
    def parent(self) -> str | None:
        """The id of the first parent, None for the first commit."""
        return self.parents[0] if self.parents else None

    @property
    def is_dream(self) -> bool:
        """Whether a Dream made it: the prefix that the agent's own `/dream-log` looks for."""
        return self.message.startswith("dream:")

    @property
    def actor(self) -> CommitActor:
        """Who made it: a Dream, the agent otherwise (its first commit, its restores), or a person."""
        if self.is_dream:
            return "dream"
        return "agent" if "nanobot@dream" in self.author else "human"

    @cached_property
    def _counted(self) -> tuple[tuple[FileStat, ...], str]:
        return self._git.counted(self.sha)

    @property
    def files(self) -> tuple[FileStat, ...]:
        """The files it changed, with lines added and removed."""
        return self._counted[0]

    @property
    def damage(self) -> str:
        """Why the lines of some of its files cannot be counted, "" where all are."""
        return self._counted[1]

    @cached_property
    def cursor_before(self) -> int | None:
        """The Dream cursor in the parent's tree, None where it was not kept."""
        return self._git.cursor_at(self.parent) if self.parent else None

    @cached_property
    def cursor_after(self) -> int | None:
        """The Dream cursor in its own tree, None where it was not kept."""
        return self._git.cursor_at(self.sha)

    @cached_property
    def entries(self) -> int | None:
        """How many history entries a Dream went through, None when neither message nor cursor tell."""
        if not self.is_dream:
            return None
        if named := _ENTRIES.search(self.subject):
            return int(named[1])
        if self.cursor_after is None or not any(stat.path == DREAM_CURSOR for stat in self.files):
            return None
        if self.cursor_before is None and not self.is_first:  # no earlier commit kept it: its start is not known
            return None
        return max(0, self.cursor_after - (self.cursor_before or 0))

    @property
    def is_first(self) -> bool:
        """Whether only the commit that made the repository comes before it."""
        try:
            return self.parent is None or not self._git.read(self.parent).parents
        except NanomemError:  # the parent cannot be read
            return False


def is_sha(text: str) -> bool:
    """Whether `text` is a full id."""
    return _SHA.fullmatch(text) is not None


def id_of_blob(data: bytes) -> str:
    """The id that git gives to a file with these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def cursor_of(data: bytes | None) -> int | None:
    """The number in a cursor file, None when there is none or it is no number."""
    number = parse_cursor(data)
    return None if number is None else max(0, number)
