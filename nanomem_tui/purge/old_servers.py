"""The servers that the memory has left, without what is sought: nobody writes there any more but a purge.

Must not know the other places.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from nanomem_tui.errors import AccessDenied, InvalidConfig, MissingExtra, NanomemError, NewerDatabase
from nanomem_tui.purge import cleaning, databases, memory_rows, work_rows
from nanomem_tui.purge.texts import Found, Sought
from nanomem_tui.store import moved, old_stores, reader
from nanomem_tui.store.moving import places

if TYPE_CHECKING:
    from nanomem_tui.purge.databases import Memory
    from nanomem_tui.store.postgres.server import Server
    from nanomem_tui.store.sql import Connection

_MARKS = (moved.MOVED, moved.ARRIVING, moved.ARRIVED)


def clean(
    memory: Memory, sought: Sought, tell: cleaning.Tell, name: cleaning.Name, progress: Callable[[str], None],
    *, write: bool, anew: bool,
) -> list[tuple[str, str]]:  # fmt: skip
    """Look through what each of them still holds of the workspace, and with `write` take out what is sought. Which
    could not be looked through or written, and why: one that is away stops nothing."""
    left: list[tuple[str, str]] = []
    try:
        known = old_stores.known(memory.paths, memory.workspace_id)
    except NanomemError as error:
        return [(memory.paths.relative(memory.paths.data / old_stores.FILE), error.line())]
    done = [memory.server.settings] if memory.server is not None else []
    done += _parts(known.gone)
    wait = [*known.there, *_named_here(memory)]
    while wait:
        url = wait.pop(0)
        where = f"the old store {url}"
        try:
            with contextlib.closing(places.ServerPlace(url, memory.paths, memory.workspace_id)) as old:
                if old.server.settings in done:
                    continue
                done.append(old.server.settings)
                where = f"the old store {old.where}"
                progress(where)
                if write:
                    old_stores.note(memory.paths, memory.workspace_id, url)
                wait += _clean(memory, old, sought, databases.within(where, tell), name, write=write, anew=anew)
        except NanomemError as error:
            left.append((where, _why(error, memory)))
    return left


def _clean(
    memory: Memory, old: places.ServerPlace, sought: Sought, tell: cleaning.Tell, name: cleaning.Name,
    *, write: bool, anew: bool,
) -> list[str]:  # fmt: skip
    """Look through one of them; the servers that its own marks name."""
    from nanomem_tui.store.postgres import schema, tier_schema

    if not old.look():
        return []
    _refuse_unseen(old.server)
    with old.reading() as connection:
        more = _addresses(connection, memory.workspace_id)
    with contextlib.closing(places.WorkOnServer(old.label, memory.paths, memory.workspace_id)) as work:
        parts = [(old, memory_rows.clean, schema.TABLES), (work, work_rows.clean, tuple(tier_schema.tables()))]
        for place, rows, tables in parts:
            if not place.look():
                continue
            held: Found = Counter()
            with place.reading() as connection:  # first of all, as nothing is written where nothing is left
                told = _counted(held) if write else tell
                rows(connection, memory.workspace_id, sought, told, write=False, name=name)
            if write and held:
                with place.writing() as connection:
                    rows(connection, memory.workspace_id, sought, tell, write=True)
            if write and (held or anew):
                databases.vacuum(place.server, tables)
    return more


def _refuse_unseen(server: Server) -> None:
    """Raise AccessDenied where this role may not see the rows of the workspace: it would find none."""
    from nanomem_tui.store.postgres import health

    with server.alone() as raw:
        if not health.sees(raw, server.workspace_id):
            what = f"the role {raw.info.user} may not see the rows of this workspace there"
            fix = f"let its owner run: {health.joining(raw, server.workspace_id)}"
            raise AccessDenied(what, server.where, fix)


def _named_here(memory: Memory) -> list[str]:
    """The servers that are named by what moves left where the memory is, and in its file. What cannot be read is told
    where it is looked through."""
    found: list[str] = []
    with contextlib.suppress(NanomemError):
        if reader.is_made(memory.paths.database):
            with reader.open_database(memory.paths.database) as connection:
                found += _addresses(connection, memory.workspace_id)
    with contextlib.suppress(NanomemError):
        if memory.server is not None:
            with memory.server.reading() as connection:
                found += _addresses(connection, memory.workspace_id)
    return found


def _addresses(connection: Connection, workspace_id: str) -> list[str]:
    marks = [moved.read(connection, workspace_id, name) for name in _MARKS]
    named = [one for mark in marks if mark is not None for one in (mark.source, mark.target)]
    return [one for one in named if one not in ("", places.SQLITE)]


def _parts(urls: Iterable[str]) -> list[dict[str, Any]]:
    """The parts of addresses, as far as they are some."""
    from nanomem_tui.store.postgres.server import address

    found: list[dict[str, Any]] = []
    for url in urls:
        with contextlib.suppress(InvalidConfig, MissingExtra):
            found.append(address(url))
    return found


def _counted(held: Found) -> cleaning.Tell:
    return lambda _where, found: held.update(found)


def _why(error: NanomemError, memory: Memory) -> str:
    """What is the matter with one, and what to do."""
    says = isinstance(error, (AccessDenied, NewerDatabase, InvalidConfig, MissingExtra)) and error.fix
    file = memory.paths.relative(memory.paths.data / old_stores.FILE)
    again = f"{error.fix if says else 'let it answer'}, and do this again"
    gone = f"where it is gone for good, put a # before its line in {file}"
    return f"{error.what}; what it holds is left ({again}; {gone})"
