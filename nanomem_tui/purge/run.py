"""Find texts in everything that is stored, and remove them: the order, the locks, the receipt.

What is to stay forgotten is kept first, then come the databases and the files, and a search of all of it again.
Backups, histories in git and names of files are searched and reported, never changed. Killed at any step, the same
command again finishes it. Nothing here can be undone. A receipt says when, of what sort, from where, how often, what
is left and why; no word of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.agents import git
from nanomem_tui.agents.git_history import GitHistory, find_repository
from nanomem_tui.agents.releases import Layout, missing_sessions, session_folders
from nanomem_tui.agents.session_file import parse_session
from nanomem_tui.agents.session_names import (
    CHECKPOINT_SUFFIX,
    SUFFIX,
    key_to_lossy_name,
    lossy_name_to_key,
    name_to_key,
)
from nanomem_tui.core import atomic, clock
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import AccessDenied, BadInput, NanomemError, NotFound, Refused, from_os_error, shown_error
from nanomem_tui.core.files import read_log
from nanomem_tui.core.operations import new_operation
from nanomem_tui.core.paths import Paths, is_of_other_account
from nanomem_tui.core.text import FORGOTTEN, counted
from nanomem_tui.purge import databases, stored_files, texts
from nanomem_tui.purge.databases import Memory
from nanomem_tui.purge.matchers import (
    SHORTEST,
    Copied,
    Found,
    KeptWords,
    Marks,
    Sought,
    Tell,
    Words,
    is_long_enough,
    sender_of,
)
from nanomem_tui.purge.stored_files import is_session
from nanomem_tui.purge.texts import GZIP, Line, in_bytes, unpacked
from nanomem_tui.store import forgotten, processes
from nanomem_tui.store.forgotten import Runs, flatten, run_of, text_of_row
from nanomem_tui.store.moving import backup
from nanomem_tui.store.moving.backup import SUFFIX as BACKUP
from nanomem_tui.store.moving.backup import Archive
from nanomem_tui.store.values import ROW_LAYERS, AnyRow, Lesson

if TYPE_CHECKING:
    from nanomem_tui.memory.turns.traces import Injected
    from nanomem_tui.workspace import Workspace


# What is looked through and told, and never changed: backups, histories in git, and names of files and folders.


def in_archive(path: Path, sought: Sought) -> Found:
    """What a backup holds, also in names. Raises BadInput where it cannot be read."""
    found: Found = Counter()
    with Archive(path) as archive:
        for entry in archive.manifest.entries:
            data = b"".join(archive.data(entry))
            if data.startswith(texts.SQLITE):
                found.update(texts.in_database_bytes(data, sought))
            elif "/.git/" in f"/{entry.path}":
                found.update(_object(data, sought))
            elif is_session(Path(entry.path).name, data, sought.marks):
                found["file"] += 1
            else:
                in_bytes(unpacked(data) or data, sought.at(entry.path), found)
            if sought.whole and "/.git/" not in f"/{entry.path}" and masked_name(entry.path, sought) != entry.path:
                found["name"] += 1
    return found


def in_history(data: bytes, sought: Sought, found: Found) -> None:
    """What an object of a git history holds, which says no name: a database, a conversation, a text."""
    if data.startswith(texts.SQLITE):
        found.update(texts.in_database_bytes(data, sought))
    elif is_session("", data, sought.marks):
        found["file"] += 1
    else:
        inner = unpacked(data) if data.startswith(GZIP) else None
        name = "history.jsonl" if data[:1] == b"{" else "document.md"
        in_bytes(data if inner is None else inner, sought if inner is not None else sought.at(name), found)


def _object(data: bytes, sought: Sought) -> Found:
    found: Found = Counter()
    try:
        in_history(zlib.decompress(data).partition(b"\0")[2], sought, found)
    except zlib.error:
        in_history(data, sought, found)
    return found


OUTER = "the repository of a folder above the workspace holds versions of the memory files: look there yourself"
_OF_REFS = ("index", "packed-refs", "refs", "HEAD", "ORIG_HEAD", "MERGE_HEAD")
"""Files and folders of a repository that hold names of branches, tags and paths."""


def untouched_histories(paths: Paths) -> tuple[list[Path], list[tuple[str, str]]]:
    """The histories that can be looked through, and what of them cannot, with the reasons."""
    found: list[Path] = []
    unread: list[tuple[str, str]] = []
    for git_dir in filter(os.path.lexists, paths.git_dirs):
        if reason := _unread(git_dir, paths.workspace):
            unread.append((paths.relative(git_dir), reason))
            continue
        found.append(git_dir)
    if (outer := paths.outer_git_dir) is not None and (history := find_repository(paths).history) is not None:
        history.close()
        unread.append((str(outer), OUTER))
    return found, unread


def _unread(git_dir: Path, workspace: Path) -> str:
    try:
        return (git.why_unused(git_dir, workspace) or ("", ""))[0]
    except OSError as error:
        return shown_error(error, "reading the git repository").line()


def history_settings(git_dir: Path) -> Iterator[Path]:
    """The files of one that hold words and are no part of its history: addresses with their passwords, hooks."""
    folders = ("info", "hooks")
    for path in sorted((*git_dir.iterdir(), *(one for name in folders for one in (git_dir / name).glob("*")))):
        odd = path.name in _OF_REFS or path.name.endswith(("MSG", ".lock", ".sample"))
        if not odd and path.is_file() and not path.is_symlink():
            yield path
    yield from sorted((git_dir / "modules").rglob("config"))


def look_in_history(where: str, git_dir: Path, sought: Sought, tell: Callable[[str, Found, str], None]) -> None:
    """Tell what one holds, told of as `where`: blobs and messages, also those that nothing leads to any more, and the
    command that takes it out. Raises DamagedGit and the errors of `from_os_error`."""
    found: Found = Counter()
    with contextlib.closing(GitHistory(git_dir)) as objects:
        for sha in objects.ids():
            kind, data = objects.raw(sha)
            if kind != "tree":
                in_history(data if kind == "blob" else data.partition(b"\n\n")[2], sought, found)
    try:
        for _, said in git.kept_messages(git_dir):
            in_history(said, sought, found)
    except OSError as error:
        raise from_os_error(error, "reading the git history") from error
    place = shlex.quote(str(git_dir.parent))
    command = f"`git -C {place} filter-repo --force --replace-text FILE --replace-message FILE` does"
    tell(where, found, f"nanomem writes no history anew: {command}")


RENAME = "nanomem renames nothing of an agent: rename it"
_FIXED = frozenset(
    "memory sessions session-state skills prompts cron media workspace .nanobot workspace-id .gitignore .cursor"
    " .dream_cursor MEMORY.md HISTORY.md USER.md SOUL.md AGENTS.md TOOLS.md IDENTITY.md HEARTBEAT.md SKILL.md README.md"
    " history.jsonl LTM_SNAPSHOT.json LTM_AUDIT.jsonl LESSONS.jsonl LESSONS_AUDIT.jsonl longterm.db memory.db"
    " config.json llm_usage.sqlite3 jobs.json master main HEAD".split()
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?:\.[a-z]+)?")


class Named(NamedTuple):
    """A name that holds it: of what it is (untrusted), and what to do about it."""

    where: str
    way: str


def name_holds(name: str, sought: Sought) -> bool:
    """Whether a name, without the folders before it, holds what is sought."""
    if name in _FIXED or _DAY.fullmatch(name):
        return False
    found: Found = Counter()
    sought.clean(name, found)
    return bool(found)


def masked_name(where: str, sought: Sought) -> str:
    """A place without the names that hold what is sought, also where that of a session does in letters of its own."""

    def masked(part: str) -> str:
        if (key := _own_key(part)) and name_holds(key, sought):
            return FORGOTTEN
        return sought.clean(part, Counter()) if name_holds(part, sought) else part

    return "/".join(map(masked, where.split("/")))


def _own_key(name: str) -> str | None:
    """The session that a file is of by its name as it is made today; None where it is none."""
    stem = name.removesuffix(CHECKPOINT_SUFFIX).removesuffix(SUFFIX)
    return name_to_key(stem + SUFFIX) if stem != name else None


def names_on_disk(paths: Paths, layout: Layout, sought: Sought) -> Iterator[Named]:
    """Files, folders and sessions of the workspace and the agent's home whose name holds it; one may come twice."""
    base, own = backup.base_of(paths), os.path.realpath(paths.data)
    folders = session_folders(paths, layout)
    tops = [paths.workspace, *folders, paths.data / "sessions", paths.data / "quarantine"]
    tops += [folder / name for folder in paths.agent_folders for name in ("media", *stored_files.WORD_FOLDERS)]
    for path in (found for top in tops for found in _below(top, own if top == paths.workspace else "")):
        key = _own_key(path.name)
        if name_holds(path.name if key is None else key, sought):
            if key := _as_text(key or _lossy_key(path, folders, paths)):
                way = f"`nanomem forget --session {shlex.quote(key)}` takes it out, with its name"
                yield Named(f"the session {key}", way)
            else:
                yield Named(f"the name of {_as_text(os.path.relpath(path, base))}", RENAME)


def _below(top: Path, without: str) -> Iterator[Path]:
    """Every file and folder below one, but those of a repository, of backups and of the folder `without`."""
    for folder, names, files in os.walk(top):
        names[:] = sorted(
            name
            for name in names
            if name not in (".git", backup.FOLDER) and os.path.realpath(f"{folder}/{name}") != without
        )
        yield from (Path(folder, name) for name in (*names, *sorted(files)))


def _lossy_key(path: Path, folders: tuple[Path, ...], paths: Paths) -> str:
    """The session that a file is of by its name as old releases made it; "" where it is no such file."""
    if path.parent == paths.wal_dir and path.suffix == ".md":
        lossy = path.name.removesuffix(".md") + SUFFIX
    elif path.parent in folders and path.name.endswith((SUFFIX, CHECKPOINT_SUFFIX)):
        lossy = path.name.removesuffix(CHECKPOINT_SUFFIX).removesuffix(SUFFIX) + SUFFIX
    else:
        return ""
    key = lossy_name_to_key(lossy)
    return key if key_to_lossy_name(key) == lossy else ""


def _as_text(name: str) -> str:
    """A name as text: one of the disk or of git may be bytes that are none."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


Progress = Callable[[str], None]
FOREIGN = "a database of another system, which nanomem never writes"
BINARY = "a file of no memory that is no text: look at it yourself"
STAYS = {
    "foreign": FOREIGN,
    "binary": BINARY,
    "packed": "it is packed, and nanomem packs nothing of others anew: remove it, or pack it again without",
    "agent": "the agent's own settings and keys, which it needs: change them there",
    "others": "another workspace's, or this one's from before it was moved: name that one with `--workspace`",
    "settings": "your own settings of nanomem: take it out there",
    "repository": "settings of the repository: change them there (`git config`)",
}
"""Why a file stays as it is, by its kind."""
BACKUPS = "a backup: --backups removes those that hold it"


class FoundPlace(NamedTuple):
    """Where something was found, what and how often; `stays`: why it is not taken out, "" when it is."""

    where: str
    found: Mapping[str, int]
    stays: str = ""


class DeletedRow(NamedTuple):
    """A row that goes as a whole: its table, its id, what it says (untrusted)."""

    table: str
    id: str
    said: str


class FoundPlaces(NamedTuple):
    """What was found, place by place, and the files that could not be looked through, with the reason. `rows`: those
    that go as a whole; `lines`: of files that stay, the lines that hold it. `passed`: files that
    belong to no memory and were not looked at, with the reason."""

    places: tuple[FoundPlace, ...]
    unread: tuple[tuple[str, str], ...]
    rows: tuple[DeletedRow, ...] = ()
    lines: Mapping[str, Sequence[Line]] = {}
    passed: tuple[tuple[str, str], ...] = ()

    @property
    def can_go(self) -> list[FoundPlace]:
        """What is taken out when that is asked for."""
        return [place for place in self.places if not place.stays]

    @property
    def total(self) -> int:
        return sum(sum(place.found.values()) for place in self.places)


class BackupOptions(NamedTuple):
    """What else is to be dealt with: the backups. `archives`: these are looked through at all."""

    backups: bool = False
    archives: bool = True


def find_texts(
    memory: Memory, sought: Sought, wanted: BackupOptions, progress: Progress = lambda _what: None
) -> FoundPlaces:
    """Look through everything. Changes nothing; a file that cannot be read stops no other one."""
    return _search_and_clean(memory, sought, wanted, progress, write=False)


def remove_texts(
    memory: Memory,
    sought: Sought,
    wanted: BackupOptions,
    progress: Progress = lambda _what: None,
    begin: Callable[[], None] = lambda: None,
) -> tuple[FoundPlaces, FoundPlaces]:
    """Take out what is sought wherever it may be: what was found, and what is found by looking again. `begin` is called
    before anything is changed, with nobody else in the memory.

    The memory is closed. Raises Refused while another nanomem has it open or the agent runs, and the store's errors.
    """
    refuse_running(memory)
    with processes.exclusive_use(memory.paths):
        begin()
        return remove_alone(memory, sought, wanted, progress)


def remove_alone(
    memory: Memory, sought: Sought, wanted: BackupOptions, progress: Progress = lambda _what: None
) -> tuple[FoundPlaces, FoundPlaces]:
    """Take the texts out, alone with the memory."""
    done = _search_and_clean(memory, sought, wanted, progress, write=True)
    after = _search_and_clean(memory, sought, wanted, progress, write=False)
    hindered = dict(done.unread)
    places = [place._replace(stays=place.stays or _hindered(place, hindered)) for place in after.places]
    unmoved = [place for place in done.places if place.stays == databases.UNMOVED]
    return done, after._replace(places=(*places, *unmoved))


def _hindered(place: FoundPlace, reasons: Mapping[str, str]) -> str:
    """Why the store that a place is in could not be written, where that is so."""
    return next((why for where, why in reasons.items() if place.where.startswith(f"{where}, ")), "")


def refuse_running(memory: Memory) -> None:
    """Raise Refused where somebody else has the memory open, or the agent runs, who would write it back; AccessDenied
    for a folder of ours that cannot be read, as what it holds would be left."""
    if memory.agent.running:
        what = f"{memory.agent.what} runs (process {memory.agent.pid}): it would write back what it knows"
        raise Refused(what, str(memory.paths.workspace), "stop it first")
    for where, why in stored_files.listed(memory.paths, memory.layout).unread:
        if is_of_other_account(backup.base_of(memory.paths) / where):
            continue  # told as left
        raise AccessDenied(f"a folder that may hold it cannot be looked through: {why}", where, "let it be read first")
    with processes.exclusive_use(memory.paths):
        pass
    for pid in _holders(memory.paths.data):
        fix = "close it first: it would write back what it knows"
        raise Refused(f"another program has this memory open (process {pid})", str(memory.paths.data), fix)


def _holders(folder: Path) -> Iterator[int]:
    """The other processes that have a file below a folder open, where the system tells."""
    begin = os.path.realpath(folder) + os.sep
    for entry in sorted(Path("/proc").glob("[0-9]*")):
        if int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError), os.scandir(entry / "fd") as handles:
            if any(os.readlink(handle).startswith(begin) for handle in handles):
                yield int(entry.name)


def _search_and_clean(
    memory: Memory, sought: Sought, wanted: BackupOptions, progress: Progress, *, write: bool
) -> FoundPlaces:
    places: list[FoundPlace] = []
    unread: list[tuple[str, str]] = []
    rows: list[DeletedRow] = []
    lines: dict[str, Sequence[Line]] = {}

    def name(table: str, key: str, said: str) -> None:
        rows.append(DeletedRow(table, key, said))

    def tell(where: str, found: Found, stays: str = "") -> None:
        if found:
            places.append(FoundPlace(where, dict(found), stays))

    def tried(where: str, work: Callable[[], object], *, looks: bool = False) -> None:
        """`looks`: it only looks, so that what cannot be read is left and told, and stops nothing."""
        progress(where)
        try:
            work()
        except NanomemError as error:
            if write and not looks and not isinstance(error, BadInput):
                raise
            unread.append((where, error.line()))

    paths = memory.paths
    for path in (kept := databases.kept_transcripts(memory, sought)):  # as long as operations tell whose they are
        rows += [] if write else [DeletedRow("file", paths.relative(path), "the whole conversation")]
        stored_files.remove(path, tell, paths.relative(path.parent), write=write)
    tried("nanomem.db", partial(databases.memory_db, memory, sought, tell, name, write=write))
    tried("work.db", partial(databases.work_db, memory, sought, tell, name, write=write))
    unread += databases.old_servers(memory)
    files, beside, passed, links = stored_files.listed(paths, memory.layout)
    unread += [*beside, *links]
    if (missing := missing_sessions(memory.layout)) is not None:
        unread.append((f"sessions/{memory.layout.workspace_id}", f"{missing.what}; {missing.fix}"))
    if write and paths.database.exists():
        tried("copies of nanomem.db", partial(databases.copies, memory, sought, files, tell))
    for place in (one for one in files if one.path not in kept):
        others = databases.is_of_others(memory, place.path)
        told = partial(tell, stays=STAYS.get("others" if others else place.kind, ""))
        before = len(places)
        if not write and stored_files.is_whole(place, sought):
            rows.append(DeletedRow("file", place.where, "the whole conversation"))
        tried(place.where, partial(stored_files.clean, place, sought, told, write=write and not others))
        if len(places) > before and not write and (numbers := stored_files.lines_of(place, sought)):
            lines[place.where] = numbers
    histories, beside = untouched_histories(paths)
    unread += beside
    for git_dir in histories:
        for path in history_settings(git_dir):
            place = stored_files.Place(path, paths.relative(path), "repository")
            told = partial(tell, stays=STAYS[place.kind])
            tried(place.where, partial(stored_files.clean, place, sought, told, write=write))
        where = paths.relative(git_dir)
        tried(where, partial(look_in_history, where, git_dir, sought, tell), looks=True)
    if sought.has_words and not write:
        tried("names", partial(_names, memory, sought, tell))
    held: list[Path] = []
    for path in sorted(backup.folder_of(paths).glob(f"*{BACKUP}")) if wanted.archives else ():
        stays = "" if wanted.backups else BACKUPS
        tried(path.name, partial(_archive, path, sought, partial(tell, stays=stays), held))
    if write and wanted.backups:
        _remove_archives(held)
    return FoundPlaces(tuple(places), tuple(unread), tuple(dict.fromkeys(rows)), lines, tuple(passed))


def _names(memory: Memory, sought: Sought, tell: Callable[[str, Found, str], None]) -> None:
    """Names stay, and are told."""
    for one in dict.fromkeys(names_on_disk(memory.paths, memory.layout, sought)):
        tell(one.where, Counter({"name": 1}), one.way)


def _archive(path: Path, sought: Sought, tell: Tell, held: list[Path]) -> None:
    if found := in_archive(path, sought):
        held.append(path)
    tell(path.name, found)


def _remove_archives(held: list[Path]) -> None:
    """Remove backups, and those that build on one of them and cannot be read without it."""
    gone = {path.name for path in held}
    folders = {path.parent for path in held}
    for folder in folders:
        found = {made.path.name: made.base for made in backup.list_archives(folder)}
        while more := {name for name, base in found.items() if base in gone and name not in gone}:
            gone |= more
        for name in gone:
            (folder / name).unlink(missing_ok=True)
        atomic.sync_folder(folder)


class Receipt(NamedTuple):
    """One receipt. `kind`: forget or scrub; `asked`: how many texts, ids, sessions or persons; `taken` and `left`:
    place and how often, and of what is left why."""

    id: str
    at: str
    kind: str
    asked: Mapping[str, int]
    taken: tuple[tuple[str, int], ...]
    left: tuple[tuple[str, int, str], ...]

    @property
    def label(self) -> str:
        """One line for the log."""
        times = sum(number for _, number in self.taken)
        what = ", ".join(counted(number, name) for name, number in self.asked.items()) or "secrets"
        verb = "forgot" if self.kind == "forget" else "masked"
        rest = f"; {counted(len(self.left), 'place')} left" if self.left else ""
        return f"{verb} {what}: {counted(times, 'time')} in {counted(len(self.taken), 'place')}{rest}"

    def without(self, sought: Sought) -> Receipt:
        """It as it is kept: a name may say what was sought."""
        if not sought.whole:
            return self
        taken = tuple((masked_name(where, sought), times) for where, times in self.taken)
        left = []
        for where, times, why in self.left:
            told = masked_name(where, sought)
            left.append((told, times, why if told == where else sought.clean(why, Counter())))
        return self._replace(taken=taken, left=tuple(left))

    def to_json(self) -> dict[str, Any]:
        """The receipt as its file and the command line have it."""
        taken = [{"where": where, "times": times} for where, times in self.taken]
        left = [{"where": where, "times": times, "why": why} for where, times, why in self.left]
        return {**self._asdict(), "asked": dict(self.asked), "taken": taken, "left": left}


def receipt_of(key: str, kind: str, asked: Mapping[str, int], done: FoundPlaces, after: FoundPlaces) -> Receipt:
    """The receipt of what was done, and of what a look afterwards still found."""
    taken = tuple((place.where, sum(place.found.values())) for place in done.can_go)
    left = tuple((place.where, sum(place.found.values()), place.stays or "it came back") for place in after.places)
    left += tuple((where, 0, why) for where, why in after.unread)
    return Receipt(key, clock.iso(clock.now()), kind, asked, taken, left)


def keep_receipt(ws: Workspace, receipt: Receipt, sought: Sought) -> None:
    """Write the receipt, without the names that say what was sought, and tell of it in the log. Raises the errors of
    `from_os_error` and of the ledger."""
    folder = ws.paths.data / "receipts"
    atomic.make_folder(folder)
    body = json.dumps(receipt.without(sought).to_json(), ensure_ascii=False, indent=1)
    atomic.write_atomic(folder / f"{receipt.id}.json", f"{body}\n".encode())
    ws.perform(new_operation(receipt.kind, receipt.label, (), meta={"receipt": receipt.id}))


def lift_receipt(paths: Paths, key: str) -> None:
    """Note on a receipt that what it names may be remembered again. Raises the errors of `from_os_error`."""
    path = paths.data / "receipts" / f"{key}.json"
    told = next((one for one in receipts(paths) if one.get("id") == key), None)
    if told is not None:
        body = json.dumps({**told, "lifted": clock.iso(clock.now())}, ensure_ascii=False, indent=1)
        atomic.write_atomic(path, f"{body}\n".encode())


def receipts(paths: Paths) -> list[dict[str, Any]]:
    """The receipts that can be read, the newest first."""
    found: list[dict[str, Any]] = []
    for path in sorted((paths.data / "receipts").glob("*.json"), reverse=True):
        try:
            value = core_files.loads(core_files.read(path))
        except (OSError, ValueError):
            continue
        if isinstance(value, dict):
            found.append(value)
    return sorted(found, key=lambda one: str(one.get("at")), reverse=True)


class RemovedAgain:
    """What a restore calls before its end: what is forgotten and came back is taken out."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.places: tuple[FoundPlace, ...] = ()
        """What came back, and is gone again."""
        self.left: tuple[FoundPlace, ...] = ()

    def __call__(self) -> None:
        """Take it out. Raises the store's errors."""
        kept = forgotten.load(self._memory.paths)
        if kept:
            done, after = remove_alone(self._memory, KeptWords(kept), BackupOptions(archives=False))
            self.places, self.left = tuple(done.can_go), after.places

    def times_in(self, archive: Path) -> int:
        """How often a backup holds it: that of what was there before the restore, which nobody has looked at yet.
        Raises BadInput where it cannot be read."""
        kept = forgotten.load(self._memory.paths)
        return in_archive(archive, KeptWords(kept)).total() if kept else 0


# -- What a person wants to be forgotten: the words and rows that are meant by a text, an id, a session or a person,
# the words that stay forgotten, and whether a name was mistyped.

TELLING = 12
"""Characters from which the text of a row that is forgotten is looked for elsewhere: a shorter one says nothing."""
_SAID_BY = ("text", "bad_action", "better_action")
"""The fields of a row that somebody said; when a lesson holds is said by many."""


def is_long_enough_alone(text: str) -> bool:
    """Whether a text is long enough to be looked for wherever it may stand."""
    return len(text.strip()) >= TELLING


def _words(value: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """What a row says in the fields of these names, and in the file that it was made of."""
    return [*(value[name] for name in names if isinstance(value.get(name), str)), *_made_of(value)]


def _made_of(value: Mapping[str, Any]) -> list[str]:
    """The words of the Markdown file that a memory was made of, where it says them in other words."""
    meta = value.get("meta")
    source = meta.get("from") if isinstance(meta, Mapping) else None
    words = source.get("words") if isinstance(source, Mapping) else None
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else []


def kept_of_row(values: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """(texts, whole rows) of one row, of which `values` are what it says now and said before, or parts of that."""
    of_tool = any(str(value.get("trigger", "")).startswith("tool:") for value in values)
    every = [text for value in values for text in _words(value, _SAID_BY)]
    texts = [] if of_tool else list(filter(is_long_enough_alone, every))
    whole = [value for value in values if "text" in value or {"trigger", "better_action"} <= value.keys()]
    rows = [said for value in whole if (said := text_of_row(value)) and said not in texts]
    return texts, rows


class _Heard(NamedTuple):
    """What was said: by whom ("" where that is not known), in which session, in which role."""

    sender: str
    session: str
    role: str
    text: str


def _heard(ws: Workspace) -> Iterator[_Heard]:
    """All that was said in the conversations of the agent, and in turns, as an agent may keep no conversation. What was
    imported is left out: its messages are records, which go by their session."""
    for turn in ws.traces.injections.turns():
        yield _Heard(turn.sender_id or "", turn.session_key, "user", turn.user)
    for info in ws.sessions.list():
        if not info.imported:
            for message in parse_session(read_log(Path(info.path)), info.path, info.key).messages:
                yield _Heard(sender_of(message.raw), info.key, message.role, message.content)


SAID = 16
"""Characters from which a message of a session is looked for elsewhere."""
_CATEGORY = re.compile(r"[a-z_]+(?::[\w-]+)+")
"""What many lessons are about (`response:language`, `tool:exec:error`): no words of anybody."""
_SAYS = ("text", "trigger", "bad_action", "better_action")


class Request(NamedTuple):
    """What a person asked to forget."""

    texts: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    persons: tuple[str, ...] = ()


class Targets(NamedTuple):
    """What is looked for, and by what it stays forgotten: the things that `forgotten.add` keeps."""

    sought: Words
    kept: Mapping[str, Sequence[str]]


def find_targets(ws: Workspace, wish: Request, *, parts: bool = False) -> Targets:
    """What is to be looked for, and by what it stays forgotten: what was asked, the ids of the rows that go, and what
    these say. `parts`: texts also where they stand inside longer words.

    Raises BadInput for a text or a name that says nothing, NotFound for an id that is nowhere, in no operation
    either, and was never forgotten.
    """
    for text in wish.texts:
        if not is_long_enough(text):
            fix = f"give at least {SHORTEST} characters (2 of Chinese, Japanese, Thai): less stands in everything"
            raise BadInput("a text too short to be forgotten", repr(text), fix)
    for what, names in (("id", wish.ids), ("session", wish.sessions), ("person", wish.persons)):
        if not all(name.strip() for name in names):
            raise BadInput(f"an empty --{what} names nothing", "", "say which one is to be forgotten")
    ws.flush()
    marks = Marks(frozenset(wish.ids), frozenset(wish.sessions), frozenset(wish.persons))
    if wish.persons:
        marks = marks._replace(ids=marks.ids | set(_of_turns(ws, wish)))
    known = list(_rows(ws, marks))
    there = {row.id for row in known}
    for key in wish.ids:
        if key not in there and not _is_known(ws, key) and forgotten.load(ws.paths).named("id", key) is None:
            raise NotFound("nothing of that id is remembered", key, "`nanomem find` looks for anything by its words")
    said = [[*(row.to_json() for row in known if row.id == key), *_was(ws, key)] for key in wish.ids]
    texts = [text for values in said for value in values for text in _texts(value) if is_long_enough_alone(text)]
    copied = Copied()
    if wish.sessions or wish.persons:
        copied = Copied(_of_rows(ws, known), _said_there_alone(ws, wish))
    turns = {one.turn for one in ws.traces.injections.turns() if _is_theirs(wish, one)}
    ids = tuple(sorted(there | marks.ids | (turns & _recovered(ws))))  # the end of a turn comes back nowhere by itself
    every = Marks(frozenset({*ids, *turns}), marks.sessions, marks.senders)
    by_id = [kept_of_row(values) for values in said]
    of_persons = _of_persons(ws, wish, known, copied.rows) if wish.persons else []
    kept = {
        "text": [*wish.texts, *(text for long, _ in by_id for text in long), *of_persons],
        "row": [text for _, rows in by_id for text in rows],
        "id": ids,
        "session": wish.sessions,
        "sender": wish.persons,
    }
    return Targets(Words([*wish.texts, *texts], every, copied, wish.texts if parts else ()), kept)


def _of_persons(ws: Workspace, wish: Request, known: Sequence[AnyRow], alone: Sequence[str]) -> list[str]:
    """What the memories and the lessons of the persons say and nobody else said; who does not say his name in a session
    where they spoke may be one of them. `alone`: what no row says that stays."""
    marks = Marks(senders=frozenset(wish.persons))
    rows = [row for row in known if databases.belongs(row, marks)]
    turns = [one for one in ws.traces.injections.turns() if one.sender_id in wish.persons]
    chats = {one.session_key for one in turns} | {row.session_key for row in rows if row.session_key}
    theirs = {row.better_action if isinstance(row, Lesson) else row.text for row in rows}
    texts = [text for text in alone if text in theirs]
    runs = Runs(map(run_of, texts))
    said_by_others = {
        run_of(one.text[begin:end])
        for one in (_heard(ws) if texts else ())
        if one.role == "user" and one.sender not in wish.persons and (one.sender or one.session not in chats)
        for begin, end in runs.found_in(one.text)
    }
    return [text for text in texts if run_of(text) not in said_by_others]


def _of_turns(ws: Workspace, wish: Request) -> Iterator[str]:
    """The ids of the reflections that say what went wrong in a turn of theirs: who asked for it no row says, and the
    change does that it was last seen in."""
    turns = {one.turn for one in ws.traces.injections.turns() if one.sender_id in wish.persons}
    rows = ws.store.load("record").records.values() if turns else ()
    for row in rows:
        newest = next(iter(ws.log(limit=1, key=row.id)), None) if row.kind == "reflection" else None
        if newest is not None and newest.operation.meta.get("turn") in turns:
            yield row.id


def _is_theirs(wish: Request, turn: Injected) -> bool:
    return turn.session_key in wish.sessions or turn.sender_id in wish.persons


def _recovered(ws: Workspace) -> set[str]:
    return {one.turn for items in ws.traces.pending.all().values() for one in items}


def _of_rows(ws: Workspace, gone: Sequence[AnyRow]) -> tuple[str, ...]:
    """What rows say that go, and none that stays."""
    ids = {row.id for row in gone}
    rows = ws.store.load()
    stay = {
        flatten(text)
        for layer in ROW_LAYERS
        for row in rows.table(layer).values()
        if row.id not in ids
        for text in _row_texts(row)
    }
    told = [text for row in gone for text in _row_texts(row)]
    return tuple(text for text in told if is_long_enough_alone(text) and flatten(text) not in stay)


def _rows(ws: Workspace, marks: Marks) -> Iterator[AnyRow]:
    if any(marks):
        rows = ws.store.load()  # of what is not written yet too: an agent's files
        for layer in ROW_LAYERS:
            yield from (row for row in rows.table(layer).values() if databases.belongs(row, marks))


def _row_texts(row: AnyRow) -> list[str]:
    return _texts(row.to_json())


def _texts(value: Mapping[str, Any]) -> list[str]:
    """The words of a row, or of a patch of one, and those of the file that it was made of."""
    return [text for text in _words(value, _SAYS) if text and not _CATEGORY.fullmatch(text)]


def _was(ws: Workspace, key: str) -> Iterator[Mapping[str, Any]]:
    """What a row was before, as the operations that touched it know: whole, or what was changed."""
    for entry in ws.log(limit=10_000, key=key):
        for change in entry.operation.changes_of(key):
            yield from filter(None, (change.before, change.after))


def _is_known(ws: Workspace, key: str) -> bool:
    from nanomem_tui.store.work import records
    from nanomem_tui.store.work.kinds import KINDS

    if ws.log(limit=1, key=key):
        return True
    if not ws.tier_database.exists:
        return False
    name = key.rpartition("/")[2]
    return ws.tier_database.read(
        lambda connection: any(records.get(connection, kind, name) is not None for kind in KINDS.values())
    )


def _said_there_alone(ws: Workspace, wish: Request) -> tuple[str, ...]:
    """What was said in the sessions, and by the persons, and by nobody else anywhere: an everyday sentence that stands
    in another conversation too tells nothing of where it is from."""
    meant: dict[str, str] = {}
    others: set[str] = set()
    for one in _heard(ws):
        there = one.session in wish.sessions and one.role in ("user", "assistant")
        if not (there or one.sender in wish.persons):
            others.add(flatten(one.text))
        elif len(one.text.strip()) >= SAID:
            meant[flatten(one.text)] = one.text
    return tuple(text for key, text in meant.items() if key not in others)


_LISTS = {
    "session": "`nanomem session list` names those that there are",
    "person": "`nanomem scopes list` names those that there are",
}
Name = tuple[str, str]
"""What it is, "session" or "person", and which."""


def unknown_names(ws: Workspace, wish: Request) -> list[Name]:
    """The names that no conversation, turn or row says, and that were not forgotten before: what was forgotten is
    nowhere, and the same command again is no mistake."""
    kept = forgotten.load(ws.paths)
    sessions = {key for key in wish.sessions if kept.named("session", key) is None}
    persons = {sender for sender in wish.persons if kept.named("sender", sender) is None}
    if sessions:
        sessions -= {one.key for one in ws.sessions.list()} | {one.session_key for one in ws.wal.list()}
    if sessions or persons:
        turns = ws.traces.injections.turns()
        sessions -= {turn.session_key for turn in turns}
        items = ws.store.load().items.values()
        persons -= {turn.sender_id for turn in turns} | {item.sender_id for item in items}
    return [*(("session", key) for key in sorted(sessions)), *(("person", sender) for sender in sorted(persons))]


def refuse_unknown(names: list[Name], look: Callable[[Words], FoundPlaces]) -> None:
    """Raise NotFound for the first name that nothing says in all that can be looked through."""
    for what, name in names:
        one = frozenset({name})
        found = look(Words((), Marks(sessions=one) if what == "session" else Marks(senders=one)))
        if not found.places:
            where = f" that can be looked through (not {found.unread[0][0]})" if found.unread else ""
            raise NotFound(f"nothing of that {what} is anywhere{where}, and nothing was done", name, _LISTS[what])
