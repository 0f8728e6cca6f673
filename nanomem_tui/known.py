"""Which workspaces a person knows, and under which names: those of the settings, the agent's own, those opened before.

Owns that list and the way from a name to a path. Looks at names and a few small files; opens no workspace.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from nanomem_tui.core import config, paths
from nanomem_tui.core.errors import BadInput, NanomemError, NotFound, NothingToDo, Problem, Refused
from nanomem_tui.core.paths import Paths, usual_name
from nanomem_tui.core.settings import named_path
from nanomem_tui.core.text import one_line
from nanomem_tui.store.files import user

Origin = Literal["settings", "agent", "remembered", "opened"]
SETTING = "workspaces"


class Known(NamedTuple):
    """One workspace: its name, the path as it was given, who says so, and where it lies or why it cannot be opened."""

    name: str
    path: str
    origin: Origin
    found: Paths | None
    error: NanomemError | None = None

    @property
    def place(self) -> Path:
        """The folder itself; the path as it was given where there is none."""
        return self.found.workspace if self.found is not None else Path(self.path)

    def is_at(self, place: Path) -> bool:
        """Whether it is the workspace that lies there."""
        return self.found is not None and self.found.workspace == place


class Listed(NamedTuple):
    """All that are known, each once, with names that differ, and what of the lists could not be read."""

    workspaces: tuple[Known, ...]
    problems: tuple[Problem, ...] = ()

    def at(self, place: Path) -> Known | None:
        """The one that lies there."""
        return next((one for one in self.workspaces if one.is_at(place)), None)

    def named(self, name: str) -> Known | None:
        """The one of that name."""
        return next((one for one in self.workspaces if one.name == name), None)


def known(opened: Mapping[Path, str] | None = None) -> Listed:
    """Every workspace that is known, in the order of the settings; `opened`: those of this process, and what they are
    called where nobody named them. Never raises."""
    loaded = config.load(None, forgiving=True)
    problems = [one for one in loaded.problems if SETTING in one.what or one.what.endswith(config.NOTHING_USED)]
    if loaded.settings.remember_workspaces:
        problems += user.opened_workspaces_problems()
    rows: list[Known] = []
    for name, path, origin in _told(
        loaded.settings.workspaces, opened or {}, again=loaded.settings.remember_workspaces
    ):
        row = _row(name, path, origin)
        same = next((at for at, one in enumerate(rows) if one.place == row.place), None)
        if same is None:
            rows.append(row)
        elif name and not rows[same].name:
            rows[same] = rows[same]._replace(name=name)
    return Listed(tuple(_with_names(rows)), tuple(problems))


def _told(entries: Sequence[str], opened: Mapping[Path, str], *, again: bool) -> Iterator[tuple[str, str, Origin]]:
    for entry in entries:
        name, path = named_path(entry)
        yield name, path, "settings"
    usual = paths.default_workspace()
    if os.path.lexists(usual):
        yield "", str(usual), "agent"
    for path in user.opened_workspaces() if again else ():
        yield "", path, "remembered"
    for place, called in opened.items():
        yield called, str(place), "opened"


def _row(name: str, path: str, origin: Origin) -> Known:
    try:
        return Known(name, path, origin, paths.locate(path))
    except NanomemError as error:
        return Known(name, os.path.expanduser(path), origin, None, error)


def _with_names(rows: Sequence[Known]) -> Iterator[Known]:
    """Each with a name of its own: the one it was given, else that of its folder or its agent's home."""
    taken: set[str] = set()
    for row in sorted(rows, key=lambda one: not one.name):  # who was given a name keeps it
        name = next(name for name in _names(row) if name not in taken)
        taken.add(name)
        rows = [one._replace(name=name) if one is row else one for one in rows]
    yield from rows


def _names(row: Known) -> Iterator[str]:
    """What it may be called, the best first; none of these looks like a path."""
    folder = row.place
    usual = usual_name(row.found or Paths(folder, None, folder))
    around = [parent.name for parent in folder.parents if parent.name not in {"", usual} and parent.name[0] != "."]
    above = around[0] if around else ""
    name = one_line((row.name or usual).replace("/", "-"))
    yield name
    if above and not row.name:
        yield f"{one_line(above)}-{name}"
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def path_of(text: str) -> str:
    """The path that is meant by a path, or by the name of a workspace: a folder that is there comes first."""
    if "/" in text or text.startswith(("~", ".")) or os.path.lexists(text):
        return text
    found = known().named(text)
    return text if found is None else os.path.expanduser(found.path)


# Changing the list of the settings


def add(path: str, name: str = "", *, dry_run: bool = False) -> Known:
    """Put a workspace into the user's settings, or give one that is there another name; what is known of it then.

    Raises the errors of a folder that is no workspace, and BadInput for a name that another one has.
    """
    found = paths.locate(path)
    listed = known()
    other = listed.named(name) if name else None
    if "/" in name or "=" in name:
        raise BadInput("no name", name, "give one without / and =")
    if other is not None and not other.is_at(found.workspace) and other.origin == "settings":
        raise BadInput(f"{name} is another workspace", other.path, f"see `nanomem workspaces forget {name}`")
    rest = [entry for entry in _entries() if not _is(entry, found.workspace)]
    if len(rest) < len(_entries()) and not name:
        there = listed.at(found.workspace)
        raise NothingToDo(f"it is known as {there.name if there else path}", str(found.workspace))
    _save([*rest, f"{name}={found.workspace}" if name else str(found.workspace)], dry_run=dry_run)
    row = Known(name, str(found.workspace), "settings", found)
    return row if name or dry_run else known().at(found.workspace) or row


def forget(what: str, *, dry_run: bool = False) -> Known:
    """Take a workspace, by name or path, out of the lists; nothing of its memory changes. What was known of it.

    Raises NotFound, and Refused for the agent's own.
    """
    listed = known()
    row = listed.named(what) or next((one for one in listed.workspaces if _same(one, what)), None)
    if row is None:
        raise NotFound("no workspace of that name or path", what, "see `nanomem workspaces list`")
    if row.origin == "agent":
        raise Refused("it is the workspace that the agent is configured for", row.path, "it is known without a list")
    if dry_run:
        return row
    if row.origin == "settings":
        _save([entry for entry in _entries() if not _is(entry, row.place)], dry_run=False)
    if str(row.place) in user.opened_workspaces():
        user.forget_workspace(str(row.place))
    return row


def _entries() -> tuple[str, ...]:
    return config.load(None, forgiving=True).settings.workspaces


def _is(entry: str, place: Path) -> bool:
    return _row(*named_path(entry), "settings").place == place


def _same(row: Known, text: str) -> bool:
    asked = Path(os.path.abspath(os.path.expanduser(text)))
    return row.path == text or row.place in (asked, _row("", str(asked), "settings").place)


def _save(entries: Sequence[str], *, dry_run: bool) -> None:
    user.save_setting(paths.user_settings(), SETTING, json.dumps(list(entries)), dry_run=dry_run)
