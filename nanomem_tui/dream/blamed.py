"""A line of a memory file with who wrote it and why: the values of a blame, and what a commit says of who made it.

Pure; knows no repository, no ledger and no session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui.core.errors import BadInput
from nanomem_tui.core.paths import TRACKED_FILES

if TYPE_CHECKING:
    from nanomem_tui.agents.git import Commit
    from nanomem_tui.dream.evidence import EntryEvidence, MessageEvidence

Who = Literal["nanomem dream", "agent dream", "person", "outside", "agent", "before"]
"""A Dream of ours, one of the agent, a person through nanomem, an edit by another program, the agent itself; or, of a
line that was there when versions began to be kept, nobody knows who."""

_BACK = ("revert:", 'Revert "', "nanomem: undo", "nanomem: redo", "nanomem: take back", "nanomem: go back to")
_ACCEPTED = "nanomem: accept"
_KEPT_OUTSIDE = "nanomem: keep what was edited outside"


class Writer(NamedTuple):
    """The commit that wrote a line. `at` is UTC ISO, `author` is `Name <mail>`."""

    sha: str
    at: str
    author: str
    subject: str
    who: Who

    @property
    def short(self) -> str:
        """The first 8 digits of the id, as agents print it."""
        return self.sha[:8]

    @property
    def accepted(self) -> bool:
        """Whether a person accepted what had waited: the words are a Dream's, and so is the evidence."""
        return self.who == "person" and self.subject.startswith(_ACCEPTED)

    @property
    def dreamt(self) -> bool:
        """Whether a Dream found the words, whoever let them in."""
        return self.accepted or self.who in ("nanomem dream", "agent dream")

    @property
    def role(self) -> str:
        """Who, in a word or two; `accepted` for a person who let in what a Dream had proposed."""
        return "accepted" if self.accepted else self.who

    def to_json(self) -> dict[str, Any]:
        """The fields as a JSON object."""
        said = {"commit": self.sha, "at": self.at, "who": self.who, "author": self.author, "subject": self.subject}
        return {**said, "accepted": self.accepted}


class BlamedLine(NamedTuple):
    """One line of a memory file, counted from 1. `writer` is None for a line that is not committed yet.

    `first` is who wrote it before `writer` brought it back, None where that is the same. `entries` asked for it, the
    best first; `messages` are what these came from, where they were looked up. `gone`: the Dream behind it recorded
    none, and not all that it read is still in the archive.
    """

    file: str
    number: int
    text: str
    writer: Writer | None
    first: Writer | None = None
    entries: tuple[EntryEvidence, ...] = ()
    messages: tuple[MessageEvidence, ...] = ()
    gone: bool = False

    @property
    def sha(self) -> str | None:
        """The id of the commit that wrote it last."""
        return self.writer.sha if self.writer else None

    @property
    def origin(self) -> Writer | None:
        """Who wrote it first: the one who had a reason."""
        return self.first or self.writer

    @property
    def at(self) -> str:
        """When it was written, UTC ISO; "" when it is not committed."""
        return self.writer.at if self.writer else ""

    @property
    def who(self) -> str:
        """Who wrote it, `uncommitted` for nobody yet."""
        return self.writer.who if self.writer else "uncommitted"

    @property
    def role(self) -> str:
        """`who`; `accepted` for a person who let in what a Dream had proposed."""
        return self.writer.role if self.writer else self.who

    @property
    def cursors(self) -> tuple[int, ...]:
        """The history entries that asked for it, the best first."""
        return tuple(entry.cursor for entry in self.entries)

    @property
    def guessed(self) -> bool:
        """Whether its entries are those that share its words, and no Dream recorded them."""
        return bool(self.entries) and not any(entry.recorded for entry in self.entries)

    @property
    def doubt(self) -> str:
        """Why no entry is named, or another one may have asked for it, in a sentence; "" where a Dream named one."""
        if self.gone:
            left = "another may have asked for it" if self.entries else "none that is left shares enough words"
            return f"The archive no longer holds all entries that this Dream read: {left}."
        if self.entries:
            return ""
        dreamt = self.origin is not None and self.origin.dreamt
        return "No entry that this Dream read shares enough words with it." if dreamt else "No Dream wrote it."

    @property
    def named(self) -> str:
        """The entries, a `~` before those that are guessed: `~#12 #7`."""
        return ("~" if self.guessed else "") + " ".join(f"#{cursor}" for cursor in self.cursors)

    @property
    def session_key(self) -> str | None:
        """The session that the best entry came from, None when it is not known."""
        said = self.messages[0].session_key if self.messages else None
        return said or next((entry.session_key for entry in self.entries if entry.session_key), None)

    def to_json(self) -> dict[str, Any]:
        """The line as a JSON object."""
        nobody = {"commit": None, "at": None, "who": "uncommitted", "author": None, "subject": None, "accepted": False}
        return {
            "file": self.file,
            "line": self.number,
            "text": self.text,
            **(self.writer.to_json() if self.writer else nobody),
            "first": self.first.to_json() if self.first else None,
            "cursors": list(self.cursors),
            "guessed": self.guessed,
            "gone": self.gone,
            "entries": [entry._asdict() for entry in self.entries],
            "session_key": self.session_key,
            "messages": [message._asdict() for message in self.messages],
        }


def who_made(commit: Commit) -> Who:
    """Who is behind a commit, in the words that every list, log and blame uses."""
    ours = commit.author.startswith("nanomem <")
    if commit.message.startswith("dream:"):
        return "nanomem dream" if ours else "agent dream"
    if not commit.parents and commit.message.startswith("init:"):
        return "before"  # whoever made the repository, its lines were there
    if ours:
        return "outside" if commit.message.startswith(_KEPT_OUTSIDE) else "person"
    return "agent" if "nanobot@dream" in commit.author else "outside"


def brings_back(commit: Commit) -> bool:
    """Whether a commit only puts back what was there before."""
    return commit.message.startswith(_BACK)


def full_name(file: str) -> str:
    """The path of a memory file that may be named short, like `MEMORY.md`. Raises BadInput."""
    wanted = file.strip().removeprefix("./").casefold()
    for name in TRACKED_FILES:
        if wanted in (name.casefold(), name.rpartition("/")[2].casefold()):
            return name
    raise BadInput("not a file with versions", file, f"one of {', '.join(TRACKED_FILES)}")
