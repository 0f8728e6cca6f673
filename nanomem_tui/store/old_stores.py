"""Where a memory was before: the servers that it moved from, and workspaces whose folder was renamed.

Owns one file of ours with the addresses, a line for each workspace and server, which a person may put a # before. No
password is ever in an address. Must not know what lies there.
"""

from __future__ import annotations

import os
import shlex
from typing import NamedTuple

from nanomem_tui.core import atomic, files
from nanomem_tui.core.errors import Problem, from_os_error
from nanomem_tui.core.paths import Paths

FILE = "old-stores.txt"
_HEAD = (
    "# Servers that a memory was moved to or from: `nanomem forget` and `nanomem scrub` name them as left.\n"
    "# Put a # before the line of one that holds nothing any more.\n"
)


class Known(NamedTuple):
    """The addresses of a workspace. `gone`: those that a person put a # before."""

    there: tuple[str, ...]
    gone: tuple[str, ...]


def known(paths: Paths, workspace_id: str) -> Known:
    """What is known of a workspace. Raises the errors of `from_os_error`."""
    there: list[str] = []
    gone: list[str] = []
    for line in _text(paths).splitlines():
        key, _, address = line.lstrip("# \t").partition(" ")
        if key == workspace_id and address.strip():
            (gone if line.lstrip().startswith("#") else there).append(address.strip())
    return Known(tuple(dict.fromkeys(there)), tuple(dict.fromkeys(gone)))


def note(paths: Paths, workspace_id: str, *addresses: str) -> None:
    """Keep these; one that was gone is there again. Raises the errors of `from_os_error`."""
    there = known(paths, workspace_id).there
    new = [f"{workspace_id} {one}" for one in addresses if one not in there]
    if new:
        text = _text(paths) or _HEAD
        lines = [line for line in text.splitlines() if line.lstrip("# \t").rstrip() not in new]
        atomic.make_folder(paths.data)
        atomic.write_atomic(paths.data / FILE, "".join(f"{line}\n" for line in [*lines, *new]).encode())


def _text(paths: Paths) -> str:
    try:
        return files.read(paths.data / FILE).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise from_os_error(error, "reading which servers the memory was on") from error


# -- a workspace whose folder was renamed -----------------------------------------------------------------------------


def renamed(paths: Paths) -> list[Problem]:
    """Name memories in the agent's home whose workspace is not there any more, where this one has none of its own: its
    folder was renamed, perhaps to this one."""
    if paths.home is None or paths.database.exists():
        return []
    own = sorted(paths.data.glob("workspace-*/nanomem.db"))
    places = {paths.home / "workspace": paths.first_edition_database}
    places |= {paths.home / database.parent.name.removeprefix("workspace-"): database for database in own}
    found = []
    for folder, database in places.items():
        if database.exists() and not os.path.lexists(folder):
            what = f"the memory of a workspace that is not this one: {folder}, which is not there any more"
            back = f"mv {shlex.quote(str(paths.workspace))} {shlex.quote(str(folder))}"
            fix = f"if this is that workspace, renamed, `{back}` gives it its name and its memory back"
            found.append(Problem(what, paths.relative(database), None, fix))
    return found
