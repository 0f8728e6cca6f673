"""Small files of the user: bookmarks, named filters, workspaces that were opened, drafts, settings.

Owns these files. Each is made when the first thing is kept, never before; one that cannot be read is told, and counts
as empty. Must not know what a screen, a filter, an action or a setting means, nor open a workspace.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from nanomem_tui.core import atomic, clock, config, files, paths, settings
from nanomem_tui.core.errors import BadInput, Conflict, NanomemError, NotFound, NothingToDo, Problem
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.text import one_line

MOST = 1_000
"""Of each kind."""
MOST_BYTES = 4_000_000
LONGEST_NAME = 60
TRIES = 5
UNREAD = "bookmarks and filters cannot be read"
UNTIL_MOVED = "move that file away; nothing is kept until then"

K = TypeVar("K")


def _read_kept(file: Path, parse: Callable[[Any], K], nothing: K) -> tuple[K, bytes | None, str]:
    """What is kept in a file, its bytes (None: they were not read), and why they cannot be understood."""
    try:
        data = files.read(file, MOST_BYTES)
    except FileNotFoundError:
        return nothing, None, ""
    except OSError as error:
        return nothing, None, error.strerror or str(error)
    try:
        body = json.loads(data)
        if body["version"] != 1:
            return nothing, data, "it is of another version"
        return parse(body), data, ""
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        return nothing, data, f"it is no list of them ({one_line(str(error), 80)})"


# -- bookmarks and named filters --------------------------------------------------------------------------------------


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


class SavedHabits(NamedTuple):
    """All that is kept."""

    bookmarks: tuple[Bookmark, ...] = ()
    filters: tuple[NamedFilter, ...] = ()
    others: Mapping[str, Any] = {}
    """What else the file holds, such as the macros of older versions: written back as it is."""


class Habits:
    """What a person keeps in one workspace."""

    def __init__(self, paths: Paths) -> None:
        self._file = paths.habits
        self._paths = paths

    def read(self) -> SavedHabits:
        """All that is kept; nothing where there is no file, or none that can be read (see `problems`)."""
        return self._read()[0]

    def problems(self) -> list[Problem]:
        """Why the file cannot be read."""
        _, data, why = self._read()
        if not why:
            return []
        fix = "the next one that is kept begins a new file; this one goes to the quarantine then"
        if data is None:
            fix = UNTIL_MOVED
        return [Problem(f"{UNREAD}: {why}", str(self._file), fix=fix)]

    def set_bookmark(self, mark: Bookmark) -> None:
        """Keep a bookmark, or its new title. Raises BadInput when there are too many."""
        self._change(lambda kept: kept._replace(bookmarks=_with(kept.bookmarks, mark, _row_of, "bookmarks")))

    def remove_bookmark(self, mark: Bookmark) -> None:
        """Forget one. Raises NotFound."""
        if not self.has_bookmark(mark):
            raise NotFound("no such bookmark", f"{mark.screen} {mark.row}", "see `nanomem bookmarks list`")
        self._change(lambda kept: kept._replace(bookmarks=_without(kept.bookmarks, _row_of(mark), _row_of)))

    def has_bookmark(self, mark: Bookmark) -> bool:
        """Whether that row has one."""
        return _row_of(mark) in map(_row_of, self.read().bookmarks)

    def save_filter(self, entry: NamedFilter) -> NamedFilter | None:
        """Keep a filter under its name; the one that had the name on that screen, if any. Raises BadInput."""
        entry = entry._replace(name=checked_name(entry.name))
        if not entry.text.strip():
            raise BadInput("there is no filter to keep", entry.screen, "type one first (/)")
        was = self.filter_named(entry.name, entry.screen)
        self._change(lambda kept: kept._replace(filters=_with(kept.filters, entry, _name_of, "filters")))
        return was

    def filter_named(self, name: str, screen: str) -> NamedFilter | None:
        """The filter of that name on that screen."""
        return next((one for one in self.read().filters if (one.name, one.screen) == (name, screen)), None)

    def delete_filter(self, name: str, screen: str) -> NamedFilter:
        """Forget a filter; returns it. Raises NotFound."""
        found = self.filter_named(name, screen)
        if found is None:
            raise NotFound(f"no filter `{name}` on {screen}", "", "see `nanomem filters list`")
        self._change(lambda kept: kept._replace(filters=_without(kept.filters, _name_of(found), _name_of)))
        return found

    def _read(self) -> tuple[SavedHabits, bytes | None, str]:
        return _read_kept(self._file, _kept, SavedHabits())

    def _change(self, change: Callable[[SavedHabits], SavedHabits]) -> None:
        """Make `change`, on what another process left meanwhile too; what cannot be read goes to the quarantine. Raises
        what `change` does, and errors of the disk."""
        for left in reversed(range(TRIES)):
            kept, data, why = self._read()
            if why and data is None:
                raise NanomemError(f"{UNREAD}: {why}", str(self._file), UNTIL_MOVED)
            after = change(kept)
            atomic.make_folder(self._file.parent)
            if why and data is not None:
                atomic.quarantine(self._paths.quarantine, self._file.name, data)
            try:
                expected = "" if data is None else atomic.sha256(data)
                atomic.write_atomic(self._file, _written(after), expected=expected)
                return
            except Conflict:
                if not left:
                    raise


def checked_name(name: str) -> str:
    """A name as it is kept: one line, not long. Raises BadInput."""
    plain = one_line(name).strip()
    if not plain:
        raise BadInput("the name is empty", "name", "give it one")
    if len(plain) > LONGEST_NAME:
        raise BadInput(f"the name has {len(plain)} characters, at most {LONGEST_NAME} fit", "name", "shorten it")
    return plain


def _row_of(mark: Bookmark) -> tuple[str, ...]:
    return mark.screen, mark.row, mark.part


def _name_of(entry: NamedFilter) -> tuple[str, ...]:
    return entry.name, entry.screen


def _without(entries: Sequence[K], key: object, key_of: Callable[[K], object]) -> tuple[K, ...]:
    return tuple(one for one in entries if key_of(one) != key)


def _with(entries: Sequence[K], entry: K, key_of: Callable[[K], object], what: str) -> tuple[K, ...]:
    """The entries with one more, or with it in the place of one of the same key. Raises BadInput for too many."""
    others = _without(entries, key_of(entry), key_of)
    if len(others) >= MOST:
        raise BadInput(f"there are {MOST:,} {what} already", "", "delete one first")
    return (*others, entry)


def _written(kept: SavedHabits) -> bytes:
    body = {
        "version": 1,
        "bookmarks": [one._asdict() for one in kept.bookmarks],
        "filters": [one._asdict() for one in kept.filters],
        **kept.others,
    }
    return (json.dumps(body, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "backslashreplace")


def _kept(body: Any) -> SavedHabits:
    """What was written. Raises ValueError, TypeError, KeyError or AttributeError on another shape."""
    return SavedHabits(
        tuple(Bookmark(**_texts(one)) for one in _list(body.get("bookmarks", []))),
        tuple(NamedFilter(**_texts(one)) for one in _list(body.get("filters", []))),
        {name: value for name, value in body.items() if name not in ("version", "bookmarks", "filters")},
    )


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


# -- the workspaces that the console was opened on --------------------------------------------------------------------

MOST_WORKSPACES = 50
"""Workspaces that are kept."""

Dated = dict[str, str]
"""Workspaces by path, each with when it was opened last (UTC ISO), the newest first."""


def opened_workspaces() -> list[str]:
    """Their paths, the newest first; none where there is no file, or none that can be read (see `problems`)."""
    return list(_opened()[0])


def opened_workspaces_problems() -> list[Problem]:
    """Why the file cannot be read."""
    why, file = _opened()[2], paths.remembered_workspaces()
    return [Problem(f"the list of workspaces cannot be read: {why}", str(file), fix=f"remove {file}")] if why else []


def note_workspace(workspace: Path) -> None:
    """One was opened. Does nothing where the list cannot be read or written: nobody is kept from a memory by that."""
    with contextlib.suppress(NanomemError, OSError):
        _change_opened(lambda kept: {str(workspace): clock.iso(clock.now()), **_but(kept, str(workspace))})


def forget_workspace(path: str) -> None:
    """Take one out. Raises NotFound, NanomemError for a list that cannot be read, and the errors of the disk."""

    def without(kept: Dated) -> Dated:
        if path not in kept:
            raise NotFound("it is not remembered", path, "see `nanomem workspaces list`")
        return _but(kept, path)

    _change_opened(without)


def _but(kept: Dated, path: str) -> Dated:
    return {one: at for one, at in kept.items() if one != path}


def _opened() -> tuple[Dated, bytes | None, str]:
    def parse(body: Any) -> Dated:
        return {_filled(one["path"]): _filled(one["at"]) for one in body["workspaces"][:MOST_WORKSPACES]}

    return _read_kept(paths.remembered_workspaces(), parse, {})


def _change_opened(change: Callable[[Dated], Dated]) -> None:
    file = paths.remembered_workspaces()
    kept, data, why = _opened()
    if why:
        raise NanomemError(f"the list of workspaces cannot be read: {why}", str(file), "remove it")
    after = list(change(kept).items())[:MOST_WORKSPACES]
    atomic.make_folder(file.parent)
    body = {"version": 1, "workspaces": [{"path": path, "at": at} for path, at in after]}
    written = (json.dumps(body, indent=1) + "\n").encode()  # ASCII: a path may be no UTF-8
    atomic.write_atomic(file, written, expected="" if data is None else atomic.sha256(data), mode=0o600)


def _filled(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError("no text")
    return value


# -- drafts: texts that were being written when the console was ended from outside ------------------------------------


class Drafts:
    """The drafts of one workspace."""

    def __init__(self, paths: Paths) -> None:
        self._folder = paths.drafts

    def save(self, title: str, before: str, text: str) -> None:
        """Keep `text`, that was being made of `before`. Raises what a write raises."""
        atomic.make_folder(self._folder)
        atomic.write_atomic(self._folder / _draft_name(title, before), text.encode("utf-8", "surrogatepass"))

    def load(self, title: str, before: str) -> str | None:
        """What was being made of `before`; None for nothing that can be read."""
        if not self._folder.is_dir():
            return None
        with contextlib.suppress(OSError, UnicodeError, NanomemError):
            return files.read(self._folder / _draft_name(title, before)).decode("utf-8", "surrogatepass")
        return None

    def drop(self, title: str, before: str) -> None:
        """It was edited again, and saved or left."""
        with contextlib.suppress(OSError):
            (self._folder / _draft_name(title, before)).unlink()
            self._folder.rmdir()  # only the last one can

    def count(self) -> int:
        """How many there are."""
        with contextlib.suppress(OSError):
            return sum(1 for path in self._folder.iterdir() if path.suffix == ".txt")
        return 0


def _draft_name(title: str, before: str) -> str:
    key = f"{title}\0{before}".encode("utf-8", "surrogatepass")
    return f"{hashlib.sha256(key).hexdigest()[:24]}.txt"


# -- settings files: as one was, it stays beside it as `.bak`; comments in it are lost --------------------------------


class SavedSetting(NamedTuple):
    """What was set, and what stood there before (None: nothing)."""

    value: Any
    was: Any = None


def save_setting(
    file: Path, name: str, text: str, *, workspace: Path | None = None, dry_run: bool = False
) -> SavedSetting:
    """Set `name` to the value that `text` means; `workspace`: the one it is for. Nothing else is judged.

    Raises BadInput or InvalidConfig, and has written nothing then.
    """
    value = settings.checked_value(name, text, workspace)
    table = config.read_toml(file)
    if not dry_run:
        _write_settings(file, {**table, name: value})
    return SavedSetting(value, table.get(name))


def drop_setting(file: Path, name: str, *, dry_run: bool = False) -> Any:
    """Take `name` out of the file, so that its default holds again; returns the value that stood there.

    Also a name that is no setting (any more). Raises NothingToDo where it is not set, BadInput or InvalidConfig.
    """
    table = config.read_toml(file)
    if name not in table:
        if name not in settings.ABOUT:
            raise BadInput(f"no setting `{name}`", str(file), "`nanomem config show` lists them")
        raise NothingToDo(f"{name} is not set", str(file), "`nanomem config show` says where a value comes from")
    value = table.pop(name)
    if not dry_run:
        _write_settings(file, table)
    return value


def _write_settings(file: Path, table: dict[str, Any]) -> None:
    import tomli_w

    atomic.make_folder(file.parent)
    if file.exists():
        atomic.write_atomic(file.with_name(f"{file.name}.bak"), files.read(file))
    atomic.write_atomic(file, tomli_w.dumps(table).encode())
