"""Every file of a memory without what is sought, each by its form: lines, JSON, text, archives of closed years, blobs;
and what else lies in an agent's home.

The two databases and the git history have parts of their own. What can be made anew (caches, copies) goes as a whole;
what nobody but its owner writes (the databases of other systems, backups) is told and left. Of the folder beside a
configuration that is no home (somebody's own home, perhaps) only what agents keep there counts.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.agents.releases import Layout, session_folders
from nanomem_tui.agents.session_names import (
    CHECKPOINT_SUFFIX,
    SUFFIX,
    key_to_lossy_name,
    key_to_own_name,
    lossy_name_to_key,
    name_to_key,
)
from nanomem_tui.agents.turn_log import wal_name
from nanomem_tui.core import atomic, clock
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import BadInput, from_os_error
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.text import FORGOTTEN
from nanomem_tui.purge import texts
from nanomem_tui.purge.matchers import Found, Marks, Sought, Tell, sender_of
from nanomem_tui.purge.texts import Line, in_bytes, in_value, lines_in, unpacked
from nanomem_tui.store import storage as store_place
from nanomem_tui.store.moving import backup
from nanomem_tui.store.moving.backup import SIDE_FILES
from nanomem_tui.store.work import year_archive

if TYPE_CHECKING:
    from nanomem_tui.agents.snapshot_files import LtmItem, LtmSnapshot


_BLOB = re.compile(r"[0-9a-f]{64}")
_LINE_ROWS = ("LESSONS.jsonl", "LESSONS_AUDIT.jsonl", "LTM_AUDIT.jsonl")
"""Files whose every line is a row, or says something of one."""


class Place(NamedTuple):
    """A file and how it is told of; `kind`: what it is, which says what becomes of it."""

    path: Path
    where: str
    kind: str


MOST_OF_A_TEXT = 16 << 20
"""Bytes of a file that belongs to no memory, above which it is named and not looked through."""
LOG = "operations.jsonl"
"""The log beside our database, which is written anew from it."""
TEMPORARY = ".nanomem-tmp"
"""What the name of half a file ends with, which a write that was interrupted left: it is of no use to anybody."""
LARGE = "larger than 16 MB"
PACKED = "packed"
LEADS_OUT = "of no memory to places outside"


class Listed(NamedTuple):
    """The files of a memory, the folders that cannot be read, the files of no memory that are not looked at, with the
    reasons, and the links in a memory that lead out of what is looked through: they may lead to a part of it."""

    places: list[Place]
    unread: list[tuple[str, str]]
    passed: list[tuple[str, str]]
    links: list[tuple[str, str]]


def listed(paths: Paths, layout: Layout) -> Listed:
    """Every file of the memory but the two databases of ours, the files of SQLite beside them, and `.git`; and every
    other text below the workspace, the sessions and what was sent, as a person may have put a copy there."""
    base = backup.base_of(paths)
    unread: dict[str, str] = {}
    links: dict[str, None] = {}

    def left_out(path: str, why: str) -> None:
        if why.startswith(backup.UNREADABLE):
            unread[os.path.relpath(path, base)] = why
        elif why == backup.OUTSIDE and os.path.exists(path) and path != str(layout.sessions_dir):
            unread[path] = f"{why}: look there yourself"
        elif why == backup.LINK:
            links[path] = None

    found = list(_places(paths, layout, left_out))
    of_memory = len(links)
    known = {place.path for place in found} | {paths.database, paths.work_database}
    passed: list[tuple[str, str]] = []
    others = ((path, False) for path in _others(paths, layout, left_out))
    for path, keys in chain(others, _files_of_home(paths, left_out, passed)):
        name = _named(path, base)
        if path in known or "/.git/" in f"/{name}" or name.endswith(SIDE_FILES):
            continue
        with contextlib.suppress(FileNotFoundError):
            if os.lstat(path).st_size > MOST_OF_A_TEXT:
                passed.append((name, LARGE))
            elif (kind := _kind_of_other(path)) == "packed" and not _begins(path, texts.GZIP):
                passed.append((name, PACKED))
            else:
                found.append(Place(path, name, "agent" if keys and kind == "other" else kind))
    found += [
        Place(path, _named(path, base), "cache")
        for top in dict.fromkeys((paths.workspace, paths.data, *session_folders(paths, layout)))
        for path in sorted(top.rglob(f"*{TEMPORARY}"))
        if path not in known and path.is_file() and not path.is_symlink() and ".git" not in path.parts
    ]
    out = _leading_out(paths, layout, found, list(links))
    passed += [(os.path.relpath(path, base), LEADS_OUT) for path in list(links)[of_memory:] if path in out]
    told = [
        (os.path.relpath(path, base), f"it is a link to {out[path]}, which is not looked at: look there yourself")
        for path in list(links)[:of_memory]
        if path in out
    ]
    return Listed(found, list(unread.items()), passed, told)


def log_of(paths: Paths) -> Place:
    """The log beside our database."""
    path = paths.store / LOG
    return Place(path, _named(path, backup.base_of(paths)), "log")


def _leading_out(paths: Paths, layout: Layout, found: list[Place], links: list[str]) -> dict[str, str]:
    """Where links lead that lead to what is there and is not looked through under its own name."""
    if not links:
        return {}
    tops = [paths.workspace, paths.data]
    tops += [folder / name for folder in paths.agent_folders for name in ("media", "sessions", *WORD_FOLDERS)]
    tops += [layout.sessions_dir] if layout.sessions_dir is not None else []
    inside = [os.path.realpath(top) for top in tops]
    files = {os.path.realpath(place.path) for place in found}
    targets = {path: os.path.realpath(path) for path in links}
    return {
        path: target
        for path, target in targets.items()
        if (os.path.isfile(target) or os.path.isdir(target))
        and target not in files
        and not any(target == top or target.startswith(top + os.sep) for top in inside)
    }


def _others(paths: Paths, layout: Layout, left_out: backup.LeftOut) -> Iterator[Path]:
    yield from backup.files_below(paths.workspace, left_out)
    if layout.sessions_dir is not None:
        yield from backup.files_below(layout.sessions_dir, left_out)
    for folder in paths.agent_folders:
        yield from backup.files_below(folder / "media", left_out)
        yield from backup.files_in(folder / "sessions", left_out)  # its folders are of other workspaces


def _places(paths: Paths, layout: Layout, left_out: backup.LeftOut) -> Iterator[Place]:
    base = backup.base_of(paths)
    archive = paths.data / "archive"
    folders = session_folders(paths, layout)
    found = backup.all_files(paths, layout, left_out)
    sessions = layout.sessions_dir
    if sessions is not None and not sessions.is_relative_to(base):
        found += [(str(path), path) for path in backup.files_below(sessions, left_out)]
    for name, path in found:
        if "/.git/" in f"/{name}" or path in (paths.database, paths.work_database, paths.vectors):
            continue
        if name == backup.SETTINGS:
            yield Place(path, str(path), "settings")
            continue
        quarantined = path.is_relative_to(paths.quarantine)
        if name.endswith(SIDE_FILES) and not quarantined:
            continue
        kind = "file"
        if path.is_relative_to(paths.data):
            top = path.relative_to(paths.data).parts[0]
            if path == paths.store / LOG:
                kind = "log"
            elif quarantined and (name.endswith(SIDE_FILES) or _is_database(path)):
                kind = "damaged"
            elif top == "backups":
                kind = "blob" if _BLOB.fullmatch(path.name) else "copy"
            elif path.is_relative_to(archive):
                kind = "year" if path.suffix == ".gz" else "manifest"
            elif top in ("chroma", "blame", "crystallize"):
                kind = "cache"
            elif top == store_place.SERVERS_FILE:
                kind = "settings"
            elif path.suffix == ".kept":
                kind = "copy"
            elif top == "sessions" and path.suffix == ".jsonl":
                kind = "transcript"
            elif _is_database(path):
                kind = "copy"
        elif _is_database(path):
            kind = "foreign"
        elif path.parent == paths.home:
            kind = "agent"
        elif _begins(path, texts.GZIP, *texts.OTHERS):
            kind = "packed"
        elif path.suffix == ".jsonl" and path.parent in folders:
            kind = "transcript"
        yield Place(path, _named(path, base), kind)


def _named(path: Path, base: Path) -> str:
    """A file as a person would name it: relative to the base where it lies there."""
    return path.relative_to(base).as_posix() if path.is_relative_to(base) else str(path)


def _kind_of_other(path: Path) -> str:
    """What a file of no memory is: nobody but a person changes one that is no text."""
    if _is_database(path):
        return "foreign"
    try:
        data = _read(path)
        if data.startswith((texts.GZIP, *texts.OTHERS)):
            return "packed"
        return "binary" if b"\0" in data else "other"
    except OSError:
        return "other"  # what hinders it is told where it is looked through


def _is_database(path: Path) -> bool:
    return _begins(path, texts.SQLITE)


def _begins(path: Path, *magic: bytes) -> bool:
    try:
        with core_files.opened(path) as file:
            return file.read(len(texts.SQLITE)).startswith(magic)
    except OSError:
        return False


def clean(place: Place, sought: Sought, tell: Tell, *, write: bool) -> None:
    """Look through one file, and with `write` take out of it what is sought. Raises the errors of `from_os_error`, and
    Conflict where somebody wrote the file meanwhile."""
    found: Found = Counter()
    if is_whole(place, sought):
        remove(place.path, tell, Path(place.where).parent.as_posix(), write=write)
        return
    try:
        if place.kind == "manifest":
            return
        if place.kind == "year":
            _year(place.path, sought, found, write=write)
        elif place.kind == "binary":
            _binary(place, sought, found)
        elif place.kind == "packed":
            _packed(place, sought, found)
        elif place.kind == "foreign" or (place.kind in ("copy", "cache", "damaged") and _is_database(place.path)):
            texts.look_in_database(place.path, sought, found)
            if place.kind != "foreign" and not found and (times := texts.times_freed(place.path, sought)):
                found["bytes"] = times
        else:
            _bytes(place, sought, found, write=write)
    except FileNotFoundError:
        return
    except OSError as error:
        raise from_os_error(error, f"reading {place.path.name}") from error
    if found and place.kind == "damaged":
        found["file"] = 1  # it goes as a whole: nobody can take a text out of it
    if found and write and place.kind in ("copy", "cache", "blob", "damaged"):
        for suffix in ("", *SIDE_FILES):
            place.path.with_name(f"{place.path.name}{suffix}").unlink(missing_ok=True)
        atomic.sync_folder(place.path.parent)
    tell(place.where, found)


def remove(path: Path, tell: Tell, folder: str, *, write: bool) -> None:
    """A file goes as a whole. It is told by its folder alone: its name says whose it was."""
    if write:
        path.unlink(missing_ok=True)
        atomic.sync_folder(path.parent)
    tell(f"{folder}/{FORGOTTEN}", Counter({"file": 1}))


def is_whole(place: Place, sought: Sought) -> bool:
    """Whether a file goes as a whole: the transcript of a session that goes, the checkpoint of its current turn, its
    log, or a backup of one of them."""
    if not sought.marks.sessions or place.kind not in ("file", "transcript", "other", "binary", "blob"):
        return False
    name, head = place.path.name, b""
    if place.kind in ("transcript", "blob") or ".jsonl" in name or name.endswith(".md"):
        with contextlib.suppress(OSError), core_files.opened(place.path) as file:
            head = file.read(1 << 12) if name.endswith(".md") else file.readline(1 << 20)
    return is_session(name, head, sought.marks)


def lines_of(place: Place, sought: Sought) -> list[Line]:
    """The lines of a file that hold it; none where it is no file of lines. Of the agent's snapshot its items."""
    if place.kind not in ("file", "transcript", "other", "agent", "settings") or not place.path.is_file():
        return []
    data = _read(place.path)
    if place.path.name == "LTM_SNAPSHOT.json" and sought.whole:
        goes, _ = _items(data, sought, Counter())
        return [Line(number, f"{item.id}: {item.text}") for number, item in goes]
    also = answer_lines_gone(data, sought) if place.kind == "transcript" else set()
    return list(lines_in(data, _sought_in(place, sought, data), also))


def _sought_in(place: Place, sought: Sought, data: bytes) -> Sought:
    """What is looked for in a file by what it is: of a blob that is no name, which was a document or the archive."""
    if place.kind != "blob":
        return sought.at(place.where)
    return sought.at("history.jsonl" if data[:1] == b"{" else "blob.md")


def _bytes(place: Place, sought: Sought, found: Found, *, write: bool) -> None:
    data = _read(place.path)
    if place.kind == "blob":
        data = unpacked(data) or data
    sought = _sought_in(place, sought, data)
    rows = place.path.name in _LINE_ROWS and sought.whole
    redact = place.kind == "transcript"  # by the number of its messages the agent knows what it archived
    left = without_answers(data, sought, found) if redact else data
    cleaned = _rows(data, sought, found) if rows else in_bytes(left, sought, found, redact=redact)
    if place.path.name == "LTM_SNAPSHOT.json" and sought.whole:
        cleaned = _snapshot(data, sought, found)
    if cleaned != data and write and place.kind in ("file", "transcript", "other"):
        atomic.write_atomic(place.path, cleaned, expected=atomic.sha256(data))


def _binary(place: Place, sought: Sought, found: Found) -> None:
    data = _read(place.path)
    if texts.utf16_encoding(data):
        in_bytes(data, sought.at(place.where), found)
    elif number := texts.times_in_bytes(place.path, sought):
        found["bytes"] += number


def _packed(place: Place, sought: Sought, found: Found) -> None:
    inner = unpacked(_read(place.path))
    if inner is None:
        raise BadInput("it is packed, and cannot be looked into", place.where, "unpack it, or remove it")
    in_bytes(inner, sought.at(place.where.removesuffix(".gz")), found)


def _read(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        return core_files.read_all(file, path, core_files.MOST_OF_A_LOG)


def _rows(data: bytes, sought: Sought, found: Found) -> bytes:
    kept = []
    for line in data.split(b"\n"):
        mine: Found = Counter()
        in_bytes(line, sought, mine)
        found.update(mine)
        if not mine:
            kept.append(line)
    return b"\n".join(kept)


def _snapshot(data: bytes, sought: Sought, found: Found) -> bytes:
    """The agent's snapshot without the items that hold it or belong to it; what else it says stays."""
    from nanomem_tui.agents import snapshot_files

    found.clear()
    goes, snapshot = _items(data, sought, found)
    gone = {number for number, _ in goes}
    kept = tuple(item for number, item in enumerate(snapshot.items, 1) if number not in gone)
    return snapshot_files.dump_snapshot(snapshot._replace(items=kept)) if found else data


def _items(data: bytes, sought: Sought, found: Found) -> tuple[list[tuple[int, LtmItem]], LtmSnapshot]:
    """The items of a snapshot that go, with their numbers from 1, and the snapshot."""
    from nanomem_tui.agents import snapshot_files

    snapshot = snapshot_files.parse_snapshot(data, "LTM_SNAPSHOT.json")
    goes = []
    for number, item in enumerate(snapshot.items, 1):
        mine: Found = Counter()
        value = item.to_dict()
        if sought.takes(value):
            mine["row"] += 1
        else:
            in_value(value, sought, mine)
        found.update(mine)
        if mine:
            goes.append((number, item))
    return goes, snapshot


def _year(path: Path, sought: Sought, found: Found, *, write: bool) -> None:
    folder, name = path.parent, path.name.removesuffix(year_archive.SUFFIX)
    records = []
    for record in year_archive.lines(folder, name):
        mine: Found = Counter()
        fields = in_value(dict(record.fields), sought, mine)
        found.update(mine)
        if not mine:
            records.append(record)
        elif not sought.whole:
            records.append(record._replace(fields=fields))
    if found and write:
        before = year_archive.manifest_of(folder, name)
        made = year_archive.write(folder, name, before.year, before.workspace_id, clock.iso(clock.now()), records)
        year_archive.write_manifest(folder, made._replace(state=before.state))


_KEPT = ("role", "timestamp", "tool_call_id", "name")


def without_answers(data: bytes, sought: Sought, found: Found) -> bytes:
    """A transcript with `[forgotten]` in place of what they said and of the answers, without who asked."""
    changed = _answers_changed(data, sought)
    answers = sum(value["role"] != "user" for _, value in changed.values())
    found.update(+Counter(line=len(changed) - answers, answer=answers))
    lines = data.split(b"\n")
    for number, (before, value) in changed.items():
        told = json.dumps(value, ensure_ascii=before.isascii())
        lines[number - 1] = told.encode("utf-8", "surrogatepass")
    return b"\n".join(lines)


def answer_lines_gone(data: bytes, sought: Sought) -> set[int]:
    """The numbers of the lines that are answers to them, from 1."""
    return {number for number, (_, value) in _answers_changed(data, sought).items() if value["role"] != "user"}


def _answers_changed(data: bytes, sought: Sought) -> dict[int, tuple[bytes, dict[str, Any]]]:
    """By its number the line as it is, and the message as it is to be."""
    if not sought.marks.senders or b'"sender' not in data:
        return {}
    changed: dict[int, tuple[bytes, dict[str, Any]]] = {}
    theirs = False
    for number, line in enumerate(data.split(b"\n"), 1):
        message = _message(line)
        role = message.get("role")
        if role == "user":
            theirs = sought.takes({"sender_id": sender_of(message)})
        if theirs and role in ("user", "assistant", "tool") and (left := _answer(message)) != message:
            changed[number] = line, left
    return changed


def _message(line: bytes) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        value = core_files.loads(line) if b'"role"' in line else None
        return value if isinstance(value, dict) else {}
    return {}


def _answer(message: Mapping[str, Any]) -> dict[str, Any]:
    left = {name: message[name] for name in _KEPT if name in message} | {"content": FORGOTTEN}
    calls = message.get("tool_calls")
    return {**left, "tool_calls": [_call(one) for one in calls]} if isinstance(calls, list) else left


def _call(call: Any) -> Any:
    """A call with its id and its tool: a result without its call stops an agent."""
    if not isinstance(call, Mapping):
        return {}
    told = call.get("function")
    left = {name: call[name] for name in ("id", "type") if name in call}
    return (
        {**left, "function": {"name": told.get("name", ""), "arguments": "{}"}} if isinstance(told, Mapping) else left
    )


WORD_FOLDERS = ("history", "cron", "logs")
"""Folders of what people and the agent said: a copy of it is taken out there as elsewhere."""
PROGRAMS = "of programs"
WORKSPACE = "of another workspace"
_LOOKED_AT = ("sessions", "media", "memory", "memory.db", "config.json", "llm_usage.sqlite3", backup.FOLDER)
_PROGRAMS = ("cli-apps", "node_modules", ".git", ".venv", "venv", "site-packages")


def _files_of_home(
    paths: Paths, left_out: backup.LeftOut, passed: list[tuple[str, str]]
) -> Iterator[tuple[Path, bool]]:
    """The files there, and whether one is of what the agent needs as it is, which stays; `passed` gets the folders that
    are not looked at, with the reason."""
    for folder in paths.agent_folders:
        for entry in sorted(folder.iterdir()) if os.path.isdir(folder) else ():
            ours = any(own.is_relative_to(entry) for own in (paths.workspace, paths.data))
            if ours or entry.name in _LOOKED_AT or (folder != paths.home and entry.name not in WORD_FOLDERS):
                continue
            if os.path.isdir(entry / "memory") or os.path.isfile(entry / "SOUL.md"):
                passed.append((entry.name, WORKSPACE))
                continue
            for path in backup.files_below(entry, left_out):
                inside = path.relative_to(folder).parts
                at = next((number for number, name in enumerate(inside) if name in _PROGRAMS), None)
                if at is None:
                    yield path, entry.name not in WORD_FOLDERS
                elif (told := ("/".join(inside[: at + 1]), PROGRAMS)) not in passed:
                    passed.append(told)


def is_session(name: str, head: bytes, marks: Marks) -> bool:
    """Whether a file of that name, or none, that begins so belongs to one of these sessions. Two of them may have one
    name: a log of turns says itself whose it is."""
    if not marks.sessions:
        return False
    if texts.is_session_state(head) and (key := texts.session_state_key(head[: 1 << 12])):
        return marks.has_session(key)
    for key in marks.sessions:
        named = (key_to_own_name(key), key_to_lossy_name(key))
        if name in (*named, wal_name(key), *(one.removesuffix(".jsonl") + CHECKPOINT_SUFFIX for one in named)):
            return True
    if any(map(marks.has_session, _keys_of(name))):
        return True
    if head[:1] == b"{":
        with contextlib.suppress(ValueError):
            told = core_files.loads(head.partition(b"\n")[0])
            return isinstance(told, dict) and told.get("key") in marks.sessions
    return False


def _keys_of(name: str) -> list[str]:
    """Return the session keys that the name of a transcript, or of a file beside it, may stand for."""
    stem = name.removesuffix(CHECKPOINT_SUFFIX).removesuffix(SUFFIX)
    if stem == name:
        return []
    lossy = lossy_name_to_key(stem + SUFFIX)
    return [key for key in (name_to_key(stem + SUFFIX), lossy) if key]
