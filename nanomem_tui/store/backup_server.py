"""The rows of a memory that lies on a server, as the files nanomem.db and tiers.db of a backup, and back from there.

Owns both ways, each of one moment. Must not know what else a backup holds.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from nanomem_tui import config
from nanomem_tui.errors import Conflict, Refused
from nanomem_tui.paths import Paths, user_settings, workspace_id
from nanomem_tui.setting_checks import without_password
from nanomem_tui.store import backup_files, here, reader, tier_schema
from nanomem_tui.store.backup_archive import Archive, Entry
from nanomem_tui.store.counters import AHEAD
from nanomem_tui.store.database import Database
from nanomem_tui.store.markers import PUT
from nanomem_tui.store.moving import copying, index
from nanomem_tui.store.moving.copying import Copying, End, Part
from nanomem_tui.store.moving.naming import Naming
from nanomem_tui.store.moving.places import ServerPlace, WorkOnServer
from nanomem_tui.store.sql import Connection
from nanomem_tui.store.tier_database import LOCK


def url_now(paths: Paths) -> str:
    """The address of the server where the rows lie; empty where they lie in a file."""
    return config.load(paths, forgiving=True).settings.database_url


def server_of(paths: Paths, archive: Archive, then: Mapping[str, Entry], *, with_user: bool) -> tuple[str, str]:
    """The server where the rows lie, empty for a file, and what is to be said of it; `then`: the entries of a backup,
    `with_user`: whether the user's own settings are replaced by those of then. Raises Refused where the settings would
    name another place after it."""
    url, of_user = url_now(paths), config.load(None, forgiving=True)
    named, source = of_user.settings.database_url, of_user.sources.get("database_url")
    theirs = _url_in(archive, then.get(backup_files.SETTINGS), named if source == config.ENVIRONMENT else "")
    own = then.get(paths.settings.relative_to(backup_files.base_of(paths)).as_posix())
    lay, after = _url_in(archive, own, theirs), _url_in(archive, own, theirs if with_user else named)
    places = [without_password(one) or "the file nanomem.db" for one in (lay, after, url)]
    if url != after:
        lies = f"lies in {places[2]} now" + ("" if lay == after else f", and would lie in {places[1]}")
        what = f"the memory lay in {places[0]} then, and {lies}"
        raise Refused(what, str(archive.path), "`nanomem migrate-store` moves it there first, or use --to FOLDER")
    if lay == url or backup_files.SETTINGS not in then:
        return url, ""
    if not os.path.lexists(user_settings()):
        return url, f"the settings that come back name {places[0]}; what is brought back lies in {places[2]}"
    return url, f"the memory lay in {places[0]} then; it is brought back to where it lies now, {places[2]}"


def _url_in(archive: Archive, entry: Entry | None, otherwise: str) -> str:
    """The address by the settings of the workspace in a backup, whose `entry` that is."""
    if entry is None:
        return otherwise
    import tomllib

    try:
        table = tomllib.loads(b"".join(archive.data(entry)).decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        return otherwise
    return str(table.get("database_url", otherwise))


def part_of(paths: Paths, file: Path) -> Part | None:
    """The part of the memory that a file of ours holds; None for another file."""
    return {paths.database: copying.THE_MEMORY, paths.tiers_database: copying.THE_WORK}.get(file)


@contextlib.contextmanager
def as_file(paths: Paths, url: str, part: Part) -> Iterator[Path | None]:
    """The rows of one moment as a file of ours, in a folder that goes at the end; None where nothing was ever written.
    Raises the errors of the server."""
    found = workspace_id(paths)
    with contextlib.closing(_place(paths, url, part)) as place, tempfile.TemporaryDirectory() as folder:
        if not place.look():
            yield None
            return
        target = _file_of(part, Path(folder))
        with place.reading() as held, target.writing(durable=False) as connection:
            if part is copying.THE_MEMORY:
                copying.begin_index(connection, found)
            _same(_copying(paths, part, held, connection, to_server=False))
            if part is copying.THE_WORK:
                index.finish(connection, found)
            is_empty = part is copying.THE_MEMORY and not reader.revision(held, found)
        target.close()
        yield None if is_empty else target.path


def differs(paths: Paths, url: str, part: Part, archive: Archive, entry: Entry) -> bool:
    """Whether the rows on the server are not those of a file in a backup."""
    with contextlib.closing(_place(paths, url, part)) as place, archive.taken_out(entry) as file:
        if not place.look():
            return True
        with place.reading() as held, reader.open_database(file, _newest(part)) as connection:
            here_, there = _copying(paths, part, connection, held, to_server=True).sums()
    return here_ != there


def bring_back(paths: Paths, url: str, part: Part, archive: Archive, entry: Entry) -> None:
    """Make the rows on the server those of a file in a backup, in one transaction: all of them, or none. Raises the
    errors of the server."""
    found = workspace_id(paths)
    with contextlib.closing(_place(paths, url, part)) as place, contextlib.ExitStack() as stack:
        file = stack.enter_context(archive.taken_out(entry))
        connection = stack.enter_context(reader.open_database(file, _newest(part)))
        connection.text_factory = reader.tolerant
        held = stack.enter_context(place.writing())
        one = _copying(paths, part, connection, held, to_server=True)
        if part is copying.THE_WORK:
            _same(one)
            index.finish(held, found)
            return
        newest = max(reader.revision(held, found), reader.revision(connection, found))
        copying.begin_index(held, found)
        _same(one)
        held.execute(PUT, (f"{found}:revision", str(newest + AHEAD)))


def _place(paths: Paths, url: str, part: Part) -> ServerPlace:
    kind = ServerPlace if part is copying.THE_MEMORY else WorkOnServer
    return kind(url, paths, workspace_id(paths))


def _file_of(part: Part, folder: Path) -> Database:
    if part is copying.THE_MEMORY:
        return Database(folder / part.file, folder)
    return Database(folder / part.file, folder, LOCK, tier_schema.schema)


def _newest(part: Part) -> int:
    """The schema of a file that we know."""
    return reader.SCHEMA_VERSION if part is copying.THE_MEMORY else tier_schema.VERSION


def _copying(paths: Paths, part: Part, source: Connection, target: Connection, *, to_server: bool) -> Copying:
    home = here.made(paths)
    names = {on_server: Naming(home, adds=not on_server, all_homes=False) for on_server in (True, False)}
    ends = (
        End(lambda: contextlib.nullcontext(source), names[not to_server]),
        End(lambda: contextlib.nullcontext(target), names[to_server]),
    )
    return Copying(workspace_id(paths), *ends, ends[1].reading, on_server=to_server, part=part)


def _same(one: Copying) -> None:
    one.run(lambda *_: None, lightly=False)
    source, target = one.sums()
    if source != target:
        raise Conflict("the rows did not come out the same", "nanomem.db", "`nanomem doctor` says what is wrong")
    one.markers()
