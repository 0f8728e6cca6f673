"""What a person keeps to move about: bookmarks, named filters and macros, in one small file of ours per workspace.

Owns that file. It is made when the first of them is kept, never before; one that cannot be read is told, counts as
empty, and moves to the quarantine with the next change. Must not know what a screen, a filter or an action means.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from nanomem_tui import regular
from nanomem_tui.errors import BadInput, Conflict, NanomemError, NotFound, Problem
from nanomem_tui.paths import Paths
from nanomem_tui.store import atomic
from nanomem_tui.text import one_line

MOST = 1_000
"""Of each kind."""
MOST_BYTES = 4_000_000
LONGEST_NAME = 60
TRIES = 5
UNREAD = "bookmarks, filters and macros cannot be read"


class Bookmark(NamedTuple):
    """A row of a screen. `part` tells which of several lists of that screen: the kind of a record."""

    screen: str
    row: str
    title: str = ""
    part: str = ""


class NamedFilter(NamedTuple):
    """A filter of a screen under a name."""

    name: str
    screen: str
    text: str


class Step(NamedTuple):
    """One action of a macro, by its meaning.

    `filter` is what the list was filtered by; `rows` are "cursor", "selection", "shown" (all that the filter lets
    through), or the ids themselves, separated by spaces. `values` are the fields that it sets, where it sets any.
    """

    action: str
    screen: str
    rows: str = "cursor"
    filter: str = ""
    values: dict[str, Any] = {}


class Macro(NamedTuple):
    """Actions under a name."""

    name: str
    steps: tuple[Step, ...]


class Kept(NamedTuple):
    """All that is kept."""

    bookmarks: tuple[Bookmark, ...] = ()
    filters: tuple[NamedFilter, ...] = ()
    macros: tuple[Macro, ...] = ()


Named = TypeVar("Named", NamedFilter, Macro)


class Habits:
    """What a person keeps in one workspace."""

    def __init__(self, paths: Paths) -> None:
        self._file = paths.habits
        self._paths = paths

    def read(self) -> Kept:
        """All that is kept; nothing where there is no file, or none that can be read (see `problems`)."""
        return self._look()[0]

    def problems(self) -> list[Problem]:
        """Why the file cannot be read."""
        why = self._look()[2]
        if not why:
            return []
        fix = "the next one that is kept begins a new file; this one goes to the quarantine then"
        return [Problem(f"{UNREAD}: {why}", str(self._file), fix=fix)]

    def set_bookmark(self, mark: Bookmark) -> None:
        """Keep a bookmark, or its new title. Raises BadInput when there are too many."""

        def change(kept: Kept) -> Kept:
            others = tuple(one for one in kept.bookmarks if not _same_row(one, mark))
            return kept._replace(bookmarks=_few((*others, mark), "bookmarks"))

        self._change(change)

    def remove_bookmark(self, mark: Bookmark) -> None:
        """Forget one. Raises NotFound."""

        def change(kept: Kept) -> Kept:
            left = tuple(one for one in kept.bookmarks if not _same_row(one, mark))
            if len(left) == len(kept.bookmarks):
                raise NotFound("no such bookmark", f"{mark.screen} {mark.row}", "see `nanomem bookmarks list`")
            return kept._replace(bookmarks=left)

        self._change(change)

    def has_bookmark(self, mark: Bookmark) -> bool:
        """Whether that row has one."""
        return any(_same_row(one, mark) for one in self.read().bookmarks)

    def save_filter(self, entry: NamedFilter) -> NamedFilter | None:
        """Keep a filter under its name; the one that had the name on that screen, if any. Raises BadInput."""
        entry = entry._replace(name=checked_name(entry.name))
        if not entry.text.strip():
            raise BadInput("there is no filter to keep", entry.screen, "type one first (/)")
        was = next((one for one in self.read().filters if _same_filter(one, entry)), None)

        def change(kept: Kept) -> Kept:
            others = tuple(one for one in kept.filters if not _same_filter(one, entry))
            return kept._replace(filters=_few((*others, entry), "filters"))

        self._change(change)
        return was

    def filter_named(self, name: str, screen: str) -> NamedFilter | None:
        """The filter of that name on that screen."""
        return next((one for one in self.read().filters if (one.name, one.screen) == (name, screen)), None)

    def delete_filter(self, name: str, screen: str) -> NamedFilter:
        """Forget a filter; returns it. Raises NotFound."""
        found = self.filter_named(name, screen)
        if found is None:
            raise NotFound(f"no filter `{name}` on {screen}", "", "see `nanomem filters list`")
        self._change(lambda kept: kept._replace(filters=tuple(one for one in kept.filters if one != found)))
        return found

    def save_macro(self, macro: Macro) -> Macro | None:
        """Keep a macro under its name; the one that had the name, if any. Raises BadInput."""
        macro = macro._replace(name=checked_name(macro.name))
        if not macro.steps:
            raise BadInput("nothing was recorded", macro.name, "do something that a macro can hold between # and #")
        was = next((one for one in self.read().macros if one.name == macro.name), None)

        def change(kept: Kept) -> Kept:
            others = tuple(one for one in kept.macros if one.name != macro.name)
            return kept._replace(macros=_few((*others, macro), "macros"))

        self._change(change)
        return was

    def macro(self, name: str) -> Macro:
        """The macro of that name. Raises NotFound."""
        found = next((one for one in self.read().macros if one.name == name), None)
        if found is None:
            known = ", ".join(one.name for one in self.read().macros)
            raise NotFound(f"no macro `{name}`", "", f"there are: {known}" if known else "# records one in the console")
        return found

    def delete_macro(self, name: str) -> Macro:
        """Forget a macro; returns it. Raises NotFound."""
        found = self.macro(name)
        self._change(lambda kept: kept._replace(macros=tuple(one for one in kept.macros if one.name != name)))
        return found

    # The file

    def _look(self) -> tuple[Kept, bytes | None, str]:
        """What is kept, the bytes of the file (None: there is none), and why they cannot be read."""
        try:
            with regular.opened(self._file) as file:
                data = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            return Kept(), None, ""
        except OSError as error:
            return Kept(), None, error.strerror or str(error)
        if len(data) > MOST_BYTES:
            return Kept(), data, f"more than {MOST_BYTES:,} bytes"
        try:
            return _kept(json.loads(data)), data, ""
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            return Kept(), data, f"it is no list of them ({one_line(str(error), 80)})"

    def _change(self, change: Callable[[Kept], Kept]) -> None:
        """Make `change`, on what another process left meanwhile too. Raises what it does, and errors of the disk."""
        for attempt in range(TRIES):
            kept, data, why = self._look()
            if why and data is None:
                raise NanomemError(f"{UNREAD}: {why}", str(self._file))
            after = change(kept)
            atomic.make_folder(self._file.parent)
            if why:
                atomic.quarantine(self._paths.quarantine, self._file.name, regular.read(self._file))
            expected = "" if data is None else atomic.sha256(regular.read(self._file) if why else data)
            try:
                atomic.write_atomic(self._file, _written(after), expected=expected)
            except Conflict:
                if attempt == TRIES - 1:
                    raise
            else:
                return


def checked_name(name: str) -> str:
    """A name as it is kept: one line, not long. Raises BadInput."""
    plain = one_line(name).strip()
    if not plain:
        raise BadInput("the name is empty", "name", "give it one")
    if len(plain) > LONGEST_NAME:
        raise BadInput(f"the name has {len(plain)} characters, at most {LONGEST_NAME} fit", "name", "shorten it")
    return plain


def _few(entries: Sequence[Any], what: str) -> tuple[Any, ...]:
    if len(entries) > MOST:
        raise BadInput(f"there are {MOST:,} {what} already", "", "delete one first")
    return tuple(entries)


def _same_row(one: Bookmark, other: Bookmark) -> bool:
    return (one.screen, one.row, one.part) == (other.screen, other.row, other.part)


def _same_filter(one: NamedFilter, other: NamedFilter) -> bool:
    return (one.name, one.screen) == (other.name, other.screen)


def _written(kept: Kept) -> bytes:
    body = {
        "version": 1,
        "bookmarks": [one._asdict() for one in kept.bookmarks],
        "filters": [one._asdict() for one in kept.filters],
        "macros": [{"name": one.name, "steps": [step._asdict() for step in one.steps]} for one in kept.macros],
    }
    return (json.dumps(body, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "backslashreplace")


def _kept(body: Any) -> Kept:
    """What was written. Raises ValueError, TypeError, KeyError or AttributeError on another shape."""
    if body.get("version") != 1:
        raise ValueError("of another version")
    macros = [
        Macro(_text(one["name"]), tuple(_step(step) for step in one["steps"])) for one in _list(body.get("macros", []))
    ]
    return Kept(
        tuple(Bookmark(**_texts(one)) for one in _list(body.get("bookmarks", []))),
        tuple(NamedFilter(**_texts(one)) for one in _list(body.get("filters", []))),
        tuple(macros),
    )


def _step(entry: Any) -> Step:
    values = entry.get("values", {})
    if not isinstance(values, dict):
        raise TypeError("the values of a step are no object")
    return Step(**_texts({key: value for key, value in entry.items() if key != "values"}), values=values)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("no list")
    return value[:MOST]


def _texts(entry: Any) -> dict[str, str]:
    return {key: _text(value) for key, value in entry.items()}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value
