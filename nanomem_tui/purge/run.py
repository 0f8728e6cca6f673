"""Looking through everything that is stored for what is sought, and taking it out: the order, the locks, the receipt.

First what is to stay forgotten is kept, then come the databases and the files, and a look through all of it again.
Histories in git are looked through and told. Killed at any step, the same command again finishes it. Nothing here can
be undone. A receipt says when, of what sort, from where, how often, what is left and why; no word of it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.agents.layout import missing_sessions
from nanomem_tui.core import atomic, clock
from nanomem_tui.core import files as core_files
from nanomem_tui.core.errors import AccessDenied, BadInput, NanomemError, Refused
from nanomem_tui.core.operations import new_operation
from nanomem_tui.core.paths import is_of_other_account
from nanomem_tui.core.text import counted
from nanomem_tui.purge import cleaning, databases, stored_files, untouched
from nanomem_tui.purge.databases import Memory
from nanomem_tui.purge.texts import Line
from nanomem_tui.purge.wanted_words import Found, KeptWords, Sought
from nanomem_tui.store import processes
from nanomem_tui.store.erasure import forgotten
from nanomem_tui.store.moving import backup

if TYPE_CHECKING:
    from nanomem_tui.core.paths import Paths
    from nanomem_tui.workspace import Workspace


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


class Place(NamedTuple):
    """Where something was found, what and how often; `stays`: why it is not taken out, "" when it is."""

    where: str
    found: Mapping[str, int]
    stays: str = ""


class Goes(NamedTuple):
    """A row that goes as a whole: its table, its id, what it says (untrusted)."""

    table: str
    id: str
    said: str


class Looked(NamedTuple):
    """What was found, place by place, and the files that could not be looked through, with the reason. `rows`: those
    that go as a whole; `lines`: of files that stay, the lines that hold it. `passed`: files that
    belong to no memory and were not looked at, with the reason."""

    places: tuple[Place, ...]
    unread: tuple[tuple[str, str], ...]
    rows: tuple[Goes, ...] = ()
    lines: Mapping[str, Sequence[Line]] = {}
    passed: tuple[tuple[str, str], ...] = ()

    @property
    def can_go(self) -> list[Place]:
        """What is taken out when that is asked for."""
        return [place for place in self.places if not place.stays]

    @property
    def total(self) -> int:
        return sum(sum(place.found.values()) for place in self.places)


class Wanted(NamedTuple):
    """What else is to be dealt with: the backups. `archives`: these are looked through at all."""

    backups: bool = False
    archives: bool = True


def look(memory: Memory, sought: Sought, wanted: Wanted, progress: Progress = lambda _what: None) -> Looked:
    """Look through everything. Changes nothing; a file that cannot be read stops no other one."""
    return _through(memory, sought, wanted, progress, write=False)


def take_out(
    memory: Memory,
    sought: Sought,
    wanted: Wanted,
    progress: Progress = lambda _what: None,
    begin: Callable[[], None] = lambda: None,
) -> tuple[Looked, Looked]:
    """Take out what is sought wherever it may be: what was found, and what is found by looking again. `begin` is called
    before anything is changed, with nobody else in the memory.

    The memory is closed. Raises Refused while another nanomem has it open or the agent runs, and the store's errors.
    """
    refuse(memory)
    with processes.exclusive_use(memory.paths):
        begin()
        return clean(memory, sought, wanted, progress)


def clean(
    memory: Memory, sought: Sought, wanted: Wanted, progress: Progress = lambda _what: None
) -> tuple[Looked, Looked]:
    """`take_out` for who is alone with the memory."""
    done = _through(memory, sought, wanted, progress, write=True)
    after = _through(memory, sought, wanted, progress, write=False)
    hindered = dict(done.unread)
    places = [place._replace(stays=place.stays or _hindered(place, hindered)) for place in after.places]
    unmoved = [place for place in done.places if place.stays == databases.UNMOVED]
    return done, after._replace(places=(*places, *unmoved))


def _hindered(place: Place, reasons: Mapping[str, str]) -> str:
    """Why the store that a place is in could not be written, where that is so."""
    return next((why for where, why in reasons.items() if place.where.startswith(f"{where}, ")), "")


def refuse(memory: Memory) -> None:
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


def _through(memory: Memory, sought: Sought, wanted: Wanted, progress: Progress, *, write: bool) -> Looked:
    places: list[Place] = []
    unread: list[tuple[str, str]] = []
    rows: list[Goes] = []
    lines: dict[str, Sequence[Line]] = {}

    def name(table: str, key: str, said: str) -> None:
        rows.append(Goes(table, key, said))

    def tell(where: str, found: Found, stays: str = "") -> None:
        if found:
            places.append(Place(where, dict(found), stays))

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
        rows += [] if write else [Goes("file", paths.relative(path), "the whole conversation")]
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
        if place.kind == "copy" and databases.is_old(place.path):  # its rows are cleaned where it lies
            told = partial(tell, stays=STAYS["others"])
            tried(place.where, partial(databases.of_first_edition, memory, place, sought, tell, told, write=write))
            continue
        others = databases.is_of_others(memory, place.path)
        told = partial(tell, stays=STAYS.get("others" if others else place.kind, ""))
        before = len(places)
        if not write and stored_files.is_whole(place, sought):
            rows.append(Goes("file", place.where, "the whole conversation"))
        tried(place.where, partial(stored_files.clean, place, sought, told, write=write and not others))
        if len(places) > before and not write and (numbers := stored_files.lines_of(place, sought)):
            lines[place.where] = numbers
    histories, beside = untouched.histories(paths)
    unread += beside
    for git_dir in histories:
        for path in untouched.history_settings(git_dir):
            place = stored_files.Place(path, paths.relative(path), "repository")
            told = partial(tell, stays=STAYS[place.kind])
            tried(place.where, partial(stored_files.clean, place, sought, told, write=write))
        where = paths.relative(git_dir)
        tried(where, partial(untouched.look_in_history, where, git_dir, sought, tell), looks=True)
    if sought.has_words and not write:
        tried("names", partial(_names, memory, histories, sought, tell))
    held: list[Path] = []
    for path in untouched.archives(paths) if wanted.archives else ():
        stays = "" if wanted.backups else BACKUPS
        tried(path.name, partial(_archive, path, sought, partial(tell, stays=stays), held))
    if write and wanted.backups:
        _remove_archives(held)
    return Looked(tuple(places), tuple(unread), tuple(dict.fromkeys(rows)), lines, tuple(passed))


def _names(memory: Memory, histories: Iterable[Path], sought: Sought, tell: Callable[[str, Found, str], None]) -> None:
    """Names stay, and are told; also those in these histories in git."""
    paths = memory.paths
    in_git = (untouched.names_in_git(git_dir, paths.relative(git_dir), sought) for git_dir in histories)
    for one in dict.fromkeys(chain(untouched.names_on_disk(paths, memory.layout, sought), *in_git)):
        tell(one.where, Counter({"name": 1}), one.way)


def _archive(path: Path, sought: Sought, tell: cleaning.Tell, held: list[Path]) -> None:
    if found := untouched.in_archive(path, sought):
        held.append(path)
    tell(path.name, found)


def _remove_archives(held: list[Path]) -> None:
    """Remove backups, and those that build on one of them and cannot be read without it."""
    gone = {path.name for path in held}
    folders = {path.parent for path in held}
    for folder in folders:
        found = {made.path.name: made.base for made in backup.listed(folder)}
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
        taken = tuple((untouched.masked_name(where, sought), times) for where, times in self.taken)
        left = []
        for where, times, why in self.left:
            told = untouched.masked_name(where, sought)
            left.append((told, times, why if told == where else sought.clean(why, Counter())))
        return self._replace(taken=taken, left=tuple(left))

    def to_json(self) -> dict[str, Any]:
        """The receipt as its file and the command line have it."""
        taken = [{"where": where, "times": times} for where, times in self.taken]
        left = [{"where": where, "times": times, "why": why} for where, times, why in self.left]
        return {**self._asdict(), "asked": dict(self.asked), "taken": taken, "left": left}


def receipt_of(key: str, kind: str, asked: Mapping[str, int], done: Looked, after: Looked) -> Receipt:
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


class TakenOutAgain:
    """What a restore calls before its end: what is forgotten and came back is taken out."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.places: tuple[Place, ...] = ()
        """What came back, and is gone again."""
        self.left: tuple[Place, ...] = ()

    def __call__(self) -> None:
        """Take it out. Raises the store's errors."""
        kept = forgotten.load(self._memory.paths)
        if kept:
            done, after = clean(self._memory, KeptWords(kept), Wanted(archives=False))
            self.places, self.left = tuple(done.can_go), after.places

    def times_in(self, archive: Path) -> int:
        """How often a backup holds it: that of what was there before the restore, which nobody has looked at yet.
        Raises BadInput where it cannot be read."""
        kept = forgotten.load(self._memory.paths)
        return untouched.in_archive(archive, KeptWords(kept)).total() if kept else 0
