"""The log of Dreams: the commits that Dreams made, as runs, with what the ledger holds of those of ours. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NotFound
from nanomem_tui.core.operations import Operation
from nanomem_tui.core.paths import DREAM_CURSOR, TRACKED_FILES

if TYPE_CHECKING:
    from nanomem_tui.agents.git import Commit, FileDiff
    from nanomem_tui.agents.git_history import GitHistory
    from nanomem_tui.dreams.blame import EntryEvidence, MessageEvidence


# A line of a memory file with who wrote it and why: the values of a blame, and what a commit says of who made it.

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


_SAME_TIME = 600.0  # seconds between an operation and its commit at most


class DreamRun(NamedTuple):
    """One Dream as it was committed. `at` is UTC ISO; the cursor file is not counted among `files`, `added`, `removed`.

    `who` is exact (`who_made`), `actor` its kind: dream, human or agent.

    `entries` is how many history entries it went through, None where neither its message nor the cursor tells.
    `tokens`, `cost`, `refused` (edits) and `dreamer` are None where the ledger does not hold them: of an agent's
    Dreams, and `tokens` and `cost` of one that asked no model.
    """

    sha: str
    at: str
    actor: str
    who: Who
    author: str
    message: str
    files: tuple[str, ...]
    added: int
    removed: int
    entries: int | None
    tokens: int | None = None
    cost: float | None = None
    refused: int | None = None
    dreamer: str | None = None

    @property
    def short(self) -> str:
        """The first 8 digits of the id, as agents print it."""
        return self.sha[:8]

    def to_json(self) -> dict[str, Any]:
        """The fields as a JSON object."""
        return {**self._asdict(), "files": list(self.files)}


def run_of(commit: Commit, meta: Mapping[str, Any] | None = None) -> DreamRun:
    """The Dream that made `commit`, `meta` being what its operation recorded; counts its lines."""
    usage = mapping((meta or {}).get("usage"))
    refused, tokens = (meta or {}).get("refused"), usage.get("tokens")
    stats = [stat for stat in commit.files if stat.path != DREAM_CURSOR]
    return DreamRun(
        sha=commit.sha,
        at=commit.at,
        actor=commit.actor,
        who=who_made(commit),
        author=commit.author,
        message=commit.subject,
        files=tuple(stat.path for stat in stats),
        added=sum(stat.added for stat in stats),
        removed=sum(stat.removed for stat in stats),
        entries=commit.entries,
        tokens=tokens if isinstance(tokens, int) else None,
        cost=float(usage["cost"]) if isinstance(usage.get("cost"), (int, float)) else None,
        refused=len(refused) if isinstance(refused, (list, tuple)) else None,
        dreamer=str((meta or {}).get("dreamer") or "") or None,
    )


def mapping(value: object) -> Mapping[str, Any]:
    """A JSON object as it was recorded; empty for anything else."""
    return value if isinstance(value, Mapping) else {}


def behind(commit: Commit, operations: Iterable[Operation]) -> list[Operation]:
    """Those of the operations that may have made a commit, the nearest in time first: two decisions within minutes may
    say the same. A commit comes after its operation, so it is known by what the operation said in it, and by the time.
    """
    at = clock.parse(commit.at)
    same = [
        (abs((made - at).total_seconds()), operation)
        for operation in operations
        if str(operation.meta.get("commit", "")).strip() == commit.message.strip()
        and at is not None
        and (made := clock.parse(operation.at)) is not None
    ]
    return [operation for apart, operation in sorted(same, key=lambda pair: pair[0]) if apart <= _SAME_TIME]


class Recorded:
    """What the operations of our Dreams recorded, found by the commit that each made."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._by_message: dict[str, list[Operation]] = {}
        for operation in operations:
            said = str(operation.meta.get("commit", "")).strip()
            if operation.kind == "dream.run" and said:
                self._by_message.setdefault(said, []).append(operation)

    def of(self, commit: Commit) -> Mapping[str, Any] | None:
        """What the operation behind a commit recorded; None where the ledger holds none."""
        found = behind(commit, self._by_message.get(commit.message.strip(), ()))
        return found[0].meta if found else None


def required(git: Callable[[], GitHistory | None], sha: str, why_none: Callable[[], str] = str) -> GitHistory:
    """Return the history that the commit `sha` is sought in. Raises NotFound where no versions are kept."""
    found = git()
    if found is None:
        if why := why_none().rstrip("."):
            raise NotFound("no such version", sha, why)
        raise NotFound("no versions of the memory files are kept here", sha, "a Dream begins to keep them")
    return found


class DreamLog:
    """What Dreams did, newest first. `why_none` says why no versions are kept."""

    def __init__(
        self,
        git: Callable[[], GitHistory | None],
        operations: Callable[[], Iterable[Operation]] = tuple,
        why_none: Callable[[], str] = str,
    ) -> None:
        self._git = git
        self._operations = operations
        self._why_none = why_none

    def commits(self, limit: int | None = None) -> list[Commit]:
        """Every commit of the memory files, whoever made it; their statistics are counted when asked."""
        git = self._git()
        return git.commits(limit) if git else []

    def dreams(self) -> list[Commit]:
        """The commits that Dreams made."""
        return [commit for commit in self.commits() if commit.is_dream]

    def runs(self, limit: int | None = None) -> list[DreamRun]:
        """The newest Dreams with files, lines and entries counted."""
        recorded = self.recorded()
        return [run_of(commit, recorded.of(commit)) for commit in self.dreams()[:limit]]

    def ran(self) -> int:
        """Return how many Dreams of ours are recorded, whether or not a commit holds them."""
        return sum(operation.kind == "dream.run" for operation in self._operations())

    def recorded(self) -> Recorded:
        """What the ledger holds of the Dreams of ours, as it is now."""
        return Recorded(self._operations())

    def commit(self, sha: str) -> Commit:
        """The one commit whose id begins so. Raises NotFound."""
        return self._history(sha).commit(sha)

    def show(self, sha: str) -> tuple[Commit, list[FileDiff]]:
        """A commit by the start of its id, and what it changed. Raises NotFound."""
        commit = self.commit(sha)
        return commit, self._history(sha).diff(commit.sha)

    def diff(self, first: str, second: str) -> list[FileDiff]:
        """The memory files as of one commit against another, those that differ. Raises NotFound."""
        git = self._history(first)
        return git.diff_between(git.commit(first).sha, git.commit(second).sha, TRACKED_FILES)

    def damage(self, shas: Iterable[str] = ()) -> list[str]:
        """Return what could not be read for the log: of these commits, and of all before the oldest one read."""
        if (git := self._git()) is None:
            return []
        found = [f"{sha[:8]}: not all lines are counted: {why}" for sha in shas if (why := git.read(sha).damage)]
        return [*found, *([f"older changes cannot be read: {git.cut}"] if git.cut else [])]

    def _history(self, sha: str) -> GitHistory:
        return required(self._git, sha, self._why_none)
