"""Import and export: preview and perform an import as one operation, and write exports.

Secrets in records that nobody reviews one by one are masked on the way in, and items and lessons that instruct the
model wait in the inbox. The readers of each format find the rows, `plan` decides what becomes of each.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nanomem_tui.core import atomic, clock, files
from nanomem_tui.core.errors import BadInput, NanomemError, NothingToDo, Problem, Refused, from_os_error
from nanomem_tui.core.operations import Change, Operation, Perform, new_operation
from nanomem_tui.core.paths import Paths
from nanomem_tui.core.settings import Settings
from nanomem_tui.language.secrets import mask
from nanomem_tui.memory import retention
from nanomem_tui.memory.sessions.sessions import Sessions
from nanomem_tui.memory.transfer import backfill, crystallized, detect, foreign, markdown, work
from nanomem_tui.memory.transfer.detect import Candidate
from nanomem_tui.memory.transfer.import_plan import (
    NOUNS,
    STEP,
    Choices,
    Entry,
    Exported,
    Found,
    ImportPlan,
    ImportRow,
    Prefer,
    Reading,
    Tell,
    by_noun,
    kind_of,
    layer_of,
)
from nanomem_tui.memory.transfer.plan import Planner
from nanomem_tui.store import forgotten
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.snapshot import change_of, patched
from nanomem_tui.store.values import Item, Lesson, Record, Row
from nanomem_tui.store.work import layer as work_layer
from nanomem_tui.store.work.kinds import KINDS
from nanomem_tui.store.work.values import TierRecord, plain

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from nanomem_tui.store.work.work_store import WorkStore


READS_AS = "reads as an order to the model"


def hold_nothing(_row: Row) -> str:
    """That no row need wait."""
    return ""


def reason_to_hold(row: Row) -> str:
    """Return why an item or a lesson should wait for a person; empty when it need not."""
    from nanomem_tui.memory import safety

    words = row.text if isinstance(row, Item) else f"{row.trigger}\n{row.bad_action}\n{row.better_action}"
    return safety.reason_to_hold(words)


def mask_reading(reading: Reading, tell: Tell) -> Reading:
    """Return the reading with secrets of records and earlier values masked."""

    def masked(number: int, found: Found) -> Found:
        if number % STEP == 0:
            tell("Looking for secrets:", number, len(reading.rows))
        row: ImportRow
        if isinstance(found.row, Item):
            return found._replace(row=crystallized.mask_earlier(found.row))
        if isinstance(found.row, Record):
            row = crystallized.masked(found.row)
        elif isinstance(found.row, TierRecord):
            row = _masked(found.row)
        else:
            return found
        why = instructing_reason(row)
        notes = [found.note, "a secret in it is written as its name" if row != found.row else ""]
        notes += [f"{READS_AS}: it {why}" if why else ""]
        return found._replace(row=row, note="; ".join(filter(None, notes)))

    return reading._replace(rows=[masked(number, found) for number, found in enumerate(reading.rows)])


def instructing_reason(row: ImportRow) -> str:
    """Return how a record reads as an order to the model; empty when it does not."""
    if isinstance(row, Record):
        return crystallized.record_instructing(row)
    if not isinstance(row, TierRecord):
        return ""
    from nanomem_tui.language import injection

    return injection.reason("\n".join(filter(None, (plain(row.fields.get(name)) for name in KINDS[row.kind].words))))


def count_instructing(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Return how many records come in that read as orders to the model, if there are any."""
    coming = [entry.row for entry in entries if entry.verdict in ("new", "update") and READS_AS in entry.why]
    rows = [row for row in coming if isinstance(row, (Record, TierRecord))]
    if not rows:
        return ()
    what = "reads as an order" if len(rows) == 1 else "read as orders"
    they = "it comes in as a record" if len(rows) == 1 else "they come in as records"
    if any(isinstance(row, Record) for row in rows):
        they += ", and a lesson from such a one waits in the inbox"
    return (f"{by_noun(Counter(map(kind_of, rows)))} {what} to the model: {they}.",)


def _masked(record: TierRecord) -> TierRecord:
    said = {
        field.name: record.fields.get(field.name)
        for field in KINDS[record.kind].fields
        if field.type in ("text", "json")
    }
    text = json.dumps(said, ensure_ascii=False)
    if mask(text) == text:  # as of almost every one
        return record
    return record._replace(fields={**record.fields, **{name: _without_secrets(value) for name, value in said.items()}})


def _without_secrets(value: Any) -> Any:
    """A text or JSON without secrets: what names one may stand beside it."""
    if isinstance(value, str):
        return mask(value)
    if not isinstance(value, (dict, list)):
        return value
    text = json.dumps(value, ensure_ascii=False)
    shown = mask(text)
    if shown == text:
        return value
    try:
        return files.loads(shown)
    except ValueError:  # a secret reached over a quotation mark
        return _each(value)


def _each(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _each(inner) for name, inner in value.items()}
    return [_each(inner) for inner in value] if isinstance(value, list) else _without_secrets(value)


# Import and export of one workspace's memories: a plan to look at, one operation that does it, files that are ours.

# Which messages of an import stand in a transcript of the agent already: no second copy of a conversation is made.


def find_doubled(sessions: Callable[[], Sessions], rows: Iterable[ImportRow]) -> dict[str, str]:
    """Return the messages of chats that the agent's own transcript holds whole, with its key."""
    chats: dict[str, list[Record]] = defaultdict(list)
    for row in rows:
        if isinstance(row, Record) and row.kind == "message":
            chats[row.about].append(row)
    found: dict[str, str] = {}
    for chat, messages in chats.items():
        said = Counter((str(row.meta.get("role")), row.text.strip()) for row in messages)
        if said <= _message_counts(sessions(), chat):
            found.update(dict.fromkeys((row.id for row in messages), chat))
    return found


def _message_counts(sessions: Sessions, key: str) -> Counter[tuple[str, str]]:
    """Return what was said in the agent's transcript of that key; nothing where it cannot be read."""
    try:
        session = sessions.of_agent(key)
    except NanomemError:
        return Counter()
    return Counter((message.role, message.content.strip()) for message in session.messages)


KIND = "memory.import"
EXPORT_FORMATS = ("jsonl", "ltm-snapshot", "lessons", "scoped-db", "facts-db", "markdown")
WIDE = frozenset({"jsonl", "scoped-db", "ltm-snapshot"})
"""The formats that know scopes or sessions: what belongs to a chat or a person stays theirs there."""
WITH_RECORDS = frozenset({"jsonl", "facts-db"})


class Rows(NamedTuple):
    """What is exported."""

    items: Sequence[Item]
    lessons: Sequence[Lesson] = ()
    records: Sequence[Record] = ()


class Transfer:
    """The import and export of one workspace. `sessions`: the agent's own transcripts, of which no second copy is
    made; `earlier`: what facts were before, newest first, by their ids."""

    def __init__(
        self,
        store: MemoryStore,
        paths: Paths,
        settings: Settings,
        perform: Perform,
        sessions: Callable[[], Sessions],
        earlier: Callable[[Sequence[Item]], Mapping[str, Sequence[Mapping[str, Any]]]],
        tiers: WorkStore,
    ) -> None:
        self._store = store
        self._paths = paths
        self._settings = settings
        self._perform = perform
        self._sessions = sessions
        self.earlier = earlier
        self._tiers = tiers

    # -- import -----------------------------------------------------------------------------------------------------

    def candidates(self) -> list[Candidate]:
        """Return the databases of other systems that lie around this workspace or are named by the agent's settings."""
        return detect.candidates(self._paths, self._settings)

    def preview(
        self,
        path: Path | str,
        *,
        prefer: Prefer = "ours",
        restore: bool = False,
        trust: bool = False,
        source_workspace: str = "",
        tell: Tell = lambda what, done, total: None,
    ) -> ImportPlan:
        """Return what `run` would do with a file, or the known files of a folder; writes nothing.

        `prefer`: who wins where both sides have a row and differ. `restore`: bring back what was deleted here. `trust`:
        take what reads like orders or holds secrets as it is, without a look by a person. `tell` hears how far it is;
        what it raises ends the look.
        Raises NotFound, BadInput, AccessDenied, Refused and the store's errors.
        """
        if prefer not in ("ours", "theirs", "newer"):
            raise BadInput(f"unknown choice `{prefer}`", "--prefer", "ours, theirs or newer")
        source = Path(path).expanduser()
        tell(f"Reading {source.name}", 0, 0)
        read = detect.read(source, self._paths, self._store.workspace_id, source_workspace)
        snapshot = self._store.load()
        taken_back = self._store.journal.taken_back
        undone = frozenset() if restore else taken_back(KIND) | taken_back(backfill.KIND)
        entries: list[Entry] = []
        problems: list[Problem] = []
        notes: list[str] = []
        refused = Counter[str]()
        rows = [found.row for _, reading in read for found in reading.rows]
        there = find_doubled(self._sessions, rows)
        recorded = self._recorded(rows)
        with snapshot.lock:
            choices = Choices(prefer, restore, undone, forgotten.load(self._paths))
            planner = Planner(snapshot, choices, recorded)
            for reading in (self._dated(reading) for _, reading in read):
                total = len(reading.rows)
                believed = trust or reading.trusted
                shown = reading if believed else mask_reading(reading, tell)
                for entry in planner.entries(shown, hold_nothing if believed else reason_to_hold, there):
                    if len(entries) % STEP == 0:
                        tell("Comparing rows:", len(entries), total)
                    entries.append(entry)
                problems += [problem._replace(fix="") for problem in reading.problems]  # nobody writes that file
                notes += reading.notes
                refused.update(reading.refused)
            notes += [*self._expired(entries), *count_instructing(entries)]
            coming = (entry.row for entry in entries if entry.verdict in ("new", "update"))
            items = (row for row in coming if isinstance(row, Item))
            over = retention.plan_overflow(snapshot.items, items, self._settings.max_items)
        name = " and ".join(dict.fromkeys(reading.format for _, reading in read))
        deleted = sum(reading.deleted for _, reading in read)
        return ImportPlan(source, name, tuple(entries), tuple(problems), deleted, tuple(notes), over, refused)

    def run(self, plan: ImportPlan, *, tell: Tell = lambda what, done, total: None) -> Operation:
        """Do what the plan says, as one operation. Raises NothingToDo, or Conflict when things changed since.

        `tell` hears how far it is until the operation is recorded; what it raises ends the import, with nothing done.

        That there are then more items than the cap has room for is in the log before they are: no checkpoint between
        the two compacts them away.
        """
        changes: list[Change] = []
        for entry in plan.todo:
            if len(changes) % STEP == 0:
                tell("Importing rows:", len(changes), len(plan.todo))
            changes.append(_change(entry))
        if not changes:
            raise NothingToDo("nothing to import", str(plan.path), "all of it is here, or could not be read")
        kinds = Counter(kind_of(entry.row) for entry in plan.todo)
        items = {"item": kinds.pop("item", 0) + kinds.pop("fact", 0)}
        what = by_noun({**items, **dict(sorted(kinds.items()))})
        meta = {"started_by": "human", "path": str(plan.path), "format": plan.format}
        label = f"import {what} from {plan.name}"
        if plan.over_cap is not None:
            self._perform(retention.compaction_notice(plan.over_cap))
        return self._perform(new_operation(KIND, label, changes, actor="import", meta=meta))

    def _dated(self, reading: Reading) -> Reading:
        """Return the rows of a format that knows no expiry, kept from now on as long as their kind is (seed 001)."""
        if not reading.fields or "expires_at" in reading.fields:
            return reading
        now = clock.now()

        def dated(row: ImportRow) -> ImportRow:
            if not isinstance(row, Item):
                return row
            return row._replace(expires_at=retention.expires_at(row.kind, now, self._settings))

        return reading._replace(rows=[found._replace(row=dated(found.row)) for found in reading.rows])

    def _expired(self, entries: Iterable[Entry]) -> tuple[str, ...]:
        """That rows come in whose time is over, if there are any."""
        rows = [entry.row for entry in entries if entry.verdict in ("new", "update")]
        items = [row for row in rows if isinstance(row, Item)]
        number = len(retention.find_expired(items, self._settings, clock.now()))
        if not number:
            return ()
        fate = "the next turn deletes what is expired (`nanomem memory restore` brings it back)"
        if number == 1:
            return (f"1 is past its expiry: it comes in as expired and is not recalled; {fate}.",)
        return (f"{number:,} are past their expiry: they come in as expired and are not recalled; {fate}.",)

    def _recorded(self, rows: Iterable[ImportRow]) -> work.PresentRecords:
        """Return what is here of the records of an agent's work that come."""
        coming = [row for row in rows if isinstance(row, TierRecord)]
        if not coming:
            return work.PresentRecords()
        deleted = self._store.journal.taken_away(work_layer.NAME)
        return work.PresentRecords(work.here(self._tiers, coming), deleted)

    def records(self) -> list[Record]:
        """Return the records that are not deleted, in no order."""
        snapshot = self._store.load("record")
        with snapshot.lock:
            return [row for row in snapshot.records.values() if not row.is_deleted]

    # -- export -----------------------------------------------------------------------------------------------------

    def export(self, name: str, target: Path | str, *, every_scope: bool = False, force: bool = False) -> Exported:
        """Write what is remembered to a file of that format, 0600.

        A format without scopes gets what is global, unless `every_scope`. A file that is there is replaced with `force`
        only, and never one in the workspace or the agent's home. Raises BadInput, Refused, NothingToDo and the errors
        of the store and of `from_os_error`.
        """
        if name not in EXPORT_FORMATS:
            raise BadInput(f"unknown format `{name}`", "--format", f"one of {', '.join(EXPORT_FORMATS)}")
        path = Path(target).expanduser()
        self.check_target(path, force=force)
        left: dict[str, int] = {}
        chosen = self._rows(name, left, every_scope=every_scope)
        data, written, lost, notes = self._dump(name, chosen, left)
        if not written and not chosen.lessons and not chosen.records:
            raise NothingToDo("nothing to export", name, _why_empty(left))
        self.check_target(path, force=force)
        write_export(path, data)
        kinds = Counter(row.kind for row in chosen.records)
        return Exported(path, name, len(written), len(chosen.lessons), left, lost, dict(sorted(kinds.items())), notes)

    def export_work(self, target: Path | str, *, force: bool = False) -> dict[str, int]:
        """Write every work record to a file of JSON lines, 0600; return how many of each kind."""
        from nanomem_tui.memory.transfer import jsonl

        path, told = Path(target).expanduser(), Counter[str]()
        self.check_target(path, force=force)

        def read_records(connection: Connection) -> None:
            head = {**jsonl.head(self._store.workspace_id), jsonl.TYPE: jsonl.count(connection)}
            jsonl.write(path, jsonl.records(connection), head, told)

        if self._tiers.exists:
            self._tiers.read(read_records)
        if not told:
            raise NothingToDo("nothing to export", "", "no record of an agent's work is here")
        return dict(told)

    def check_target(self, path: Path, *, force: bool) -> None:
        """Raise Refused for a place that an export must not take."""
        if path.name == detect.FORBIDDEN:
            raise Refused("that file is the agent's reply context", str(path), "name a new file")
        if not path.parent.is_dir():
            fix = "make it, or name a file in a folder that is there"
            raise BadInput("its folder is not there", str(path), fix)
        if path.is_symlink():
            raise Refused("a link", str(path), "name the file itself")
        if not os.path.lexists(path):
            return
        inside = [base for base in (self._paths.workspace, self._paths.home) if base is not None]
        if not path.is_file() or any(path.resolve().is_relative_to(base) for base in inside):
            raise Refused("not a place for an export: it is the agent's", str(path), "name a new file")
        if not force:
            raise Refused("that file is there already", str(path), "name a new one, or add --force to replace it")

    def _rows(self, name: str, left: dict[str, int], *, every_scope: bool) -> Rows:
        """Return the rows that a format takes; `left` gets the counts of those it does not, by reason."""
        snapshot = self._store.load()
        with snapshot.lock:
            items = [row for row in snapshot.items.values() if not row.is_deleted]
            lessons = [row for row in snapshot.lessons.values() if not row.is_deleted]
        records = self.records()
        if name not in WITH_RECORDS:
            for kind, number in sorted(Counter(row.kind for row in records).items()):
                _count(left, NOUNS[kind][number != 1] if kind in NOUNS else kind, number)
            records = []
        waiting = sum(row.waits for row in items) + sum(row.waits for row in lessons)
        items, lessons = [row for row in items if not row.waits], [row for row in lessons if not row.waits]
        _count(left, "waiting in the inbox", waiting)
        if name == "lessons":
            _count(left, "items", len(items))
            return Rows([], lessons)
        if name != "jsonl":
            _count(left, "lessons", len(lessons))
            lessons = []
            enabled = [row for row in items if row.enabled]
            _count(left, "disabled", len(items) - len(enabled))
            items = enabled
        if name not in WIDE and not every_scope:
            everyone = [row for row in items if row.scope_type == "global"]
            _count(left, "of one chat or person", len(items) - len(everyone))
            items = everyone
        return Rows(items, lessons, records)

    def _dump(
        self, name: str, chosen: Rows, left: dict[str, int]
    ) -> tuple[bytes, Sequence[Item], str, tuple[str, ...]]:
        """Return the file, the items in it, what the format cannot say, and what there is to say of it."""
        from nanomem_tui.memory.transfer import jsonl, scoped

        items, lessons, records = chosen
        if name == "jsonl":
            data = jsonl.dump(items, lessons, self._store.workspace_id, records, self.earlier(items))
            return data, items, jsonl.LOST, ()
        if name == "ltm-snapshot":
            return scoped.dump_snapshot(items), items, scoped.LOST_IN_RAM_FIRST[name], ()
        if name == "lessons":
            return scoped.dump_lessons(lessons), items, scoped.LOST_IN_RAM_FIRST[name], ()
        if name == "facts-db":
            made = crystallized.dump(items, records)
            _count(left, "with a key that it has no room for", len(made.left))
            without = {row.id for row in made.left}
            return (
                made.data,
                [row for row in items if row.id not in without],
                crystallized.LOST,
                crystallized.describe_losses(made),
            )
        if name == "markdown":
            return markdown.dump(items), items, markdown.LOST, _told_to_all(items)
        backfilled = self._store.marker("backfill:v1") is not None
        data, same = scoped.dump_scoped(items, foreign.folder_id(self._paths), backfilled=backfilled)
        _count(left, "the same text as a newer one", len(same))
        gone = {row.id for row in same}
        return data, [row for row in items if row.id not in gone], scoped.LOST, ()


def _told_to_all(items: Iterable[Item]) -> tuple[str, ...]:
    number = sum(row.scope_type != "global" for row in items)
    whose = "1 item belongs" if number == 1 else f"{number:,} items belong"
    return (f"{whose} to one chat or person, which the file does not say: who imports it tells all.",) if number else ()


def _change(entry: Entry) -> Change:
    row = entry.row
    if isinstance(row, TierRecord):
        return work_layer.change(entry.present if isinstance(entry.present, TierRecord) else None, row)
    layer = layer_of(row)
    assert not isinstance(entry.present, TierRecord)
    if entry.verdict == "update":
        return change_of(layer, entry.present, row)
    if entry.verdict == "inbox" and not isinstance(row, Record):
        row = _waiting(row, entry.why)
    change = change_of(layer, None, row)
    gone = entry.present
    if gone is None or not gone.is_deleted or type(gone) is not type(row):
        return change
    # An undo makes it what it was when it was deleted.
    return change_of(layer, gone, patched(gone, change, gone.revision))


def _waiting(row: Row, why: str) -> Row:
    from nanomem_tui.memory.scopes import hold_for_review

    if isinstance(row, Item):
        return hold_for_review(row, why, by="import")
    return hold_for_review(row, why, by="import")


def _count(left: dict[str, int], why: str, number: int) -> None:
    if number:
        left[why] = left.get(why, 0) + number


def _why_empty(left: dict[str, int]) -> str:
    told = ", ".join(f"{number:,} {why}" for why, number in left.items())
    return f"left out: {told}" if told else "nothing is remembered"


def write_export(path: Path, data: bytes) -> None:
    """Write an export, 0600, whole or not at all. Raises the errors of `from_os_error`."""
    try:
        if path.exists():
            os.chmod(path, atomic.PRIVATE_FILE)
        atomic.write_atomic(path, data)
    except OSError as error:
        raise from_os_error(error, f"writing {path.name}") from error
