"""What is forgotten, sought by the hashes that are kept of it: for what a restore brought back.

A text is met whole; of one that was cut in a label only the label of an operation that held it goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

from nanomem_tui.purge import archived, git_part, run
from nanomem_tui.purge.databases import Memory
from nanomem_tui.purge.texts import Found, Sought
from nanomem_tui.purge.wanted_words import Marks, Words, marked
from nanomem_tui.store import forgotten
from nanomem_tui.store.forgotten import Forgotten
from nanomem_tui.store.purge_marker import Mark

_NAMED = ("id", "session", "sender")


class _Hashed(frozenset[str]):
    """Names of which the hashes are kept: what is one of them can be asked, which they are cannot."""

    _what: str
    _kept: Forgotten

    @classmethod
    def of(cls, kept: Forgotten, what: str) -> _Hashed:
        """Those of a kind: `id`, `session`, `sender`."""
        made = cls()
        made._what, made._kept = what, kept
        return made

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._kept.named(self._what, name) is not None

    def __and__(self, others: AbstractSet[object]) -> frozenset[str]:
        return frozenset(name for name in others if isinstance(name, str) and name in self)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __bool__(self) -> bool:
        return any(mark.what == self._what for mark in self._kept.every)


class KeptWords(Words):
    """What `forgotten.json` says, as something to be looked for."""

    def __init__(self, kept: Forgotten, mark: Mark | None = None) -> None:
        """`mark`: of a forget that was interrupted, which tells what else it looked for."""
        if mark is not None:
            kept = _with(kept, mark.kept, mark.sought)
        ids, sessions, senders = (_Hashed.of(kept, what) for what in _NAMED)
        super().__init__((), Marks(ids, sessions, senders))
        self._kept = kept
        if mark is not None:
            self._document, self._archive = (KeptWords(_with(kept, *more)) for more in _copied(mark))
            self._document._everywhere = self._archive._everywhere = self

    @property
    def has_words(self) -> bool:
        """Whether a text is forgotten, or only what was named."""
        return any(mark.words and mark.what not in ("row", *_NAMED) for mark in self._kept.every)

    def in_binary(self) -> Sought:
        """The same: a hash is that of a word."""
        return self

    def clean(self, text: str, found: Found) -> str:
        """The text with `[forgotten]` in its place."""
        return marked(text, self._kept.places(text), found)

    def clean_lines(self, text: str, found: Found) -> str:
        """A document without the lines that hold it."""
        return marked(text, self._kept.places(text), found, lines=True)


def _copied(mark: Mark) -> tuple[tuple[Forgotten, ...], tuple[Forgotten, ...]]:
    """What was looked for in documents, and in the archive."""
    return (mark.rows,), (mark.rows, mark.said)


def _with(kept: Forgotten, *more: Forgotten) -> Forgotten:
    """What is forgotten, here and there."""
    for one in more:
        if not kept:
            kept = one
        elif one.salt == kept.salt:
            kept = kept._replace(marks=tuple(dict.fromkeys((*kept.marks, *one.marks))))
        elif one:
            kept = kept._replace(others=(*kept.others, one))
    return kept


class TakenOutAgain:
    """What a restore calls before its end: what is forgotten and came back is taken out. A history in git that held
    none of it is written anew, without a bundle, as the backup has what it was; one that held it before, because nobody
    asked for more, stays."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        kept = forgotten.load(memory.paths)
        self._held = bool(kept) and git_part.is_in(memory.paths, KeptWords(kept))
        self.places: tuple[run.Place, ...] = ()
        """What came back, and is gone again."""
        self.left: tuple[run.Place, ...] = ()

    def __call__(self) -> None:
        """Take it out. Raises the store's errors."""
        kept = forgotten.load(self._memory.paths)
        if kept:
            wanted = run.Wanted(git=not self._held, archives=False, bundle=False)
            done, after = run.clean(self._memory, KeptWords(kept), wanted)
            self.places, self.left = tuple(done.can_go), after.places

    def times_in(self, archive: Path) -> int:
        """How often a backup holds it: that of what was there before the restore, which nobody has looked at yet.
        Raises BadInput where it cannot be read."""
        kept = forgotten.load(self._memory.paths)
        return archived.in_archive(archive, KeptWords(kept)).total() if kept else 0
