"""Time travel: items, lessons and work records as they were at any moment, what differs, and the way back.

Owns naming a moment and restoring to one. What no operation recorded is not rebuilt: hit counters, and the work records
that only an agent wrote. Files come from their versions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, Conflict, NanomemError, NotFound, NothingToDo
from nanomem_tui.core.operations import Change, Operation, failed_in, new_operation
from nanomem_tui.core.paths import TRACKED_FILES
from nanomem_tui.core.text import counted
from nanomem_tui.memory import scopes
from nanomem_tui.memory.scopes import is_in_scope
from nanomem_tui.store.database.operation_log import WINDOWS
from nanomem_tui.store.snapshot import NOT_COMPARED, RowKey, change_of, patched
from nanomem_tui.store.values import ROW_LAYERS, AnyRow, Item, layer_of
from nanomem_tui.store.work import layer as work_layer
from nanomem_tui.store.work.values import COUNTERS, TierRecord, differing

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from nanomem_tui.agents.git import Commit, FileDiff
    from nanomem_tui.review.parts import ReviewedMemory


# Rows and work records as they were, found by going backwards from now through what operations recorded. Pure.

WORK = "work"
"""What the layer of work records is called here; their key is `<kind>/<id>`."""
LAYERS = (*ROW_LAYERS, WORK)
Kept = AnyRow | TierRecord
"""A row, or a work record."""
Fate = Literal["added", "removed", "changed"]


class Difference(NamedTuple):
    """A row that differs between two moments; None on a side where it was not there. `fields`: those that differ,
    counters left out."""

    layer: str
    key: str
    then: Kept | None
    now: Kept | None
    fields: tuple[str, ...] = ()

    @property
    def fate(self) -> Fate:
        """What became of it from the one moment to the other."""
        if self.then is None:
            return "added"
        return "removed" if self.now is None else "changed"


def rewind(tables: Mapping[str, Mapping[str, Any]], later: Iterable[Operation]) -> dict[RowKey, Any]:
    """Return the rows and work records as they were before `later` operations, newest first."""
    found: dict[RowKey, Any] = {}
    for operation in later:
        for change in reversed(operation.changes):
            layer = WORK if change.layer == work_layer.NAME else change.layer
            if layer in LAYERS:
                place = (layer, change.key)
                row = found[place] if place in found else tables[layer].get(change.key)
                found[place] = work_layer.rewound(row, change) if layer == WORK else _made(row, change.inverse())
    return found


def _made(row: AnyRow | None, change: Change) -> AnyRow | None:
    if row is None and (change.before is not None or change.after is None):
        return None
    return patched(row, change, row.revision if row is not None else 0)


def difference(place: RowKey, then: Kept | None, now: Kept | None) -> Difference | None:
    """Return what differs between a row then and now, counters aside; a deleted row is absent."""
    before, after = (None if getattr(row, "is_deleted", False) else row for row in (then, now))
    if before is None and after is None:
        return None
    if before is None or after is None:
        return Difference(*place, before, after)
    if isinstance(before, TierRecord) and isinstance(after, TierRecord):
        names = [*(name for name in differing(before, after) if name not in COUNTERS), "tier"]
    else:
        names = [name for name in after._fields if name not in NOT_COMPARED]
    fields = tuple(name for name in names if value_of(before, name) != value_of(after, name))
    return Difference(*place, before, after, fields) if fields else None


def value_of(row: Kept, name: str) -> Any:
    """Return the value of a field."""
    if isinstance(row, TierRecord) and name in row.fields:
        return row.fields[name]
    return getattr(row, name)


def words_of(row: Kept) -> str:
    """Return what a row or a record says."""
    if isinstance(row, TierRecord):
        return row.title
    return str(getattr(row, "text", "") or getattr(row, "trigger", "") or getattr(row, "about", ""))


def layer_name(row: Kept) -> str:
    """Return the layer of a row or a record."""
    return WORK if isinstance(row, TierRecord) else layer_of(row)


NAMES = "an operation's id, a Dream's SHA, a time (2026-11-20, yesterday 18:00, 14:05, 2h ago), checkpoint-3 or now"
_AGO = re.compile(r"(\d{1,6}) ?(m|mins?|minutes?|h|hours?|d|days?|w|weeks?)(?: ago)?")
_DAY = re.compile(r"(?:(today|yesterday)(?: |$))?(?:(\d{1,2}):(\d{2})(?::(\d{2}))?)?")
_CHECKPOINT = re.compile(r"checkpoint[ -]?-?(\d{1,4})")
MOST_WITH_FILES = 1_000
"""Changes of an operation: one of more, an import, touched no file, and is not read whole to see that."""
_NEVER = datetime.min.replace(tzinfo=UTC)
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Moment(NamedTuple):
    """A point in time: after everything that was done up to `at` (UTC ISO); of an operation, right after it (`after`:
    its id). `commit`: the SHA that holds the memory's files of then, where the moment itself made one. `now` is the
    present."""

    name: str
    at: str
    after: str = ""
    now: bool = False
    commit: str = ""


class PastChange(NamedTuple):
    """Something that was done, after which there is a moment: its `name` is one that `Moments.named` knows, `kind` is
    operation, checkpoint, Dream or commit; `undone`: an operation that was taken back since."""

    at: str
    kind: str
    name: str
    label: str
    undone: bool = False

    @property
    def id(self) -> str:
        """The name that stays: that of a checkpoint counts from the newest, and is another one after the next."""
        return f"checkpoint {self.at}" if self.kind == "checkpoint" else self.name


class RowFilter(NamedTuple):
    """Which rows are meant: each of these that is not empty lets only such rows through."""

    layer: str = ""
    kind: str = ""
    scope_key: str = ""
    ids: frozenset[str] = frozenset()

    def row(self, row: Kept) -> bool:
        """Return whether a row is meant; a work record by its id, or with its kind before it as `moments` prints it."""
        return (
            (not self.layer or layer_name(row) == self.layer)
            and (not self.kind or getattr(row, "kind", "") == self.kind)
            and (
                not self.scope_key
                or (isinstance(row, Item) and is_in_scope(row.scope_type, row.scope_key, self.scope_key))
            )
            and (not self.ids or not self.ids.isdisjoint((row.id, getattr(row, "key", ""))))
        )

    def difference(self, one: Difference) -> bool:
        """Return whether a row that differs is meant, by what it was or by what it is."""
        return any(self.row(row) for row in (one.then, one.now) if row is not None)


class Plan(NamedTuple):
    """What restoring to a moment would do: the rows that change, as they were then and are now."""

    moment: Moment
    differences: tuple[Difference, ...]

    @property
    def label(self) -> str:
        """What the operation is called."""
        return f"restore {counted(len(self.differences), 'row')} as of {self.moment.name}"


class Moments:
    """The past of one workspace."""

    def __init__(self, ws: ReviewedMemory) -> None:
        self._ws = ws
        self.unread: NanomemError | None = None
        """Why the last `marks` are without the versions of the memory's files; None where they have them."""

    def marks(self, limit: int = 50, offset: int = 0) -> list[PastChange]:
        """Return operations, checkpoints and commits, newest first; after each is a moment."""
        ends = limit + offset
        found = [
            PastChange(e.operation.at, "operation", e.operation.id, e.operation.label, e.undone)
            for e in self._ws.log(ends)
        ]
        for back, one in enumerate(reversed(self._ws.traces.checkpoints.last()), 1):
            found.append(PastChange(one.at, "checkpoint", f"checkpoint-{back}", f"{counted(one.rows, 'row')} saved"))
        for commit in self._versions(ends):
            kind = "Dream" if commit.is_dream else "commit"
            found.append(PastChange(commit.at, kind, commit.short, commit.subject))
        # Operations of one time stay in the order of the ledger.
        found.sort(key=lambda mark: clock.parse(mark.at) or _NEVER, reverse=True)
        return found[offset:ends]

    def _versions(self, limit: int) -> Sequence[Commit]:
        """Return the newest file versions; none, with `unread`, where they cannot be read."""
        self.unread = None
        try:
            return self._ws.dream.commits(limit)
        except NanomemError as error:
            self.unread = error
            return ()

    def chosen(
        self, layer: str | None = None, kind: str | None = None, scope: str | None = None, ids: Sequence[str] = ()
    ) -> RowFilter:
        """Return the rows that a person names."""
        if layer is not None and layer not in LAYERS:
            raise BadInput("no such layer", layer, f"name {', '.join(LAYERS)}")
        scope_key = scopes.parse_scope(scope, self._ws.id).scope_key if scope is not None else ""
        return RowFilter(layer or "", kind or "", scope_key, frozenset(ids))

    def at_change(self, mark: PastChange) -> Moment:
        """Return the moment right after what a mark tells of."""
        return self.named(mark.id)

    def named(self, when: str) -> Moment:
        """Return the moment that a person names. Raises BadInput for what is none, NotFound for what never was."""
        text = " ".join(when.split())
        if text == "now":
            return Moment("now", clock.iso(clock.now()), now=True)
        if text.startswith("op_"):
            entry = self._ws.store.journal.find(text)
            if entry is None:
                raise NotFound("no such operation", text, "see `nanomem moments list`")
            done = entry.operation
            return Moment(done.label, done.at, text, commit=self._made_by(done))
        if found := _CHECKPOINT.fullmatch(text):
            return self._checkpoint(int(found[1]))
        moment = _time(text.removeprefix("checkpoint "))
        if moment is not None:
            return Moment(f"{moment.astimezone():%Y-%m-%d %H:%M}", clock.iso(moment.astimezone(UTC)))
        if re.fullmatch(r"[0-9a-fA-F]{4,40}", text):
            commit = self._ws.dream.commit(text)
            at = clock.parse(commit.at)
            if at is not None:
                # A commit tells whole seconds: all that was done within its own one is before its end.
                end = at.replace(microsecond=0) + timedelta(microseconds=999_999)
                return Moment(
                    f"{'Dream' if commit.is_dream else 'commit'} {commit.short}", clock.iso(end), commit=commit.sha
                )
        raise BadInput("that names no moment", when, f"name {NAMES}")

    def _checkpoint(self, back: int) -> Moment:
        found = self._ws.traces.checkpoints.last()
        if not 0 < back <= len(found):
            raise NotFound("no such checkpoint", f"-{back}", f"{counted(len(found), 'checkpoint')} are known")
        return Moment(f"checkpoint-{back}", found[-back].at)

    def recorded_since(self) -> str:
        """Return when the oldest operation was made (UTC ISO), empty when there is none."""
        entries = self._ws.log(WINDOWS[-1])
        return entries[-1].operation.at if entries else ""

    def rows_at(self, moment: Moment) -> dict[RowKey, Kept]:
        """Return every row that was there then, and of an agent's work the records that operations touched since."""
        tables, past = self._read_rows(moment)
        places = dict.fromkeys([*((layer, key) for layer in ROW_LAYERS for key in tables[layer]), *past])
        found = {place: past[place] if place in past else tables[place[0]][place[1]] for place in places}
        return {place: row for place, row in found.items() if row and not getattr(row, "is_deleted", False)}

    def diff(self, first: Moment, second: Moment | None = None) -> list[Difference]:
        """Return what operations changed between two moments (None: now), by layer and id."""
        second = second or Moment("now", "", now=True)
        tables, before, after = self._read_rows(first, second)
        found: list[Difference] = []
        for layer, key in sorted({*before, *after}):
            present = tables[layer].get(key)
            place = (layer, key)
            one = difference(place, before.get(place, present), after.get(place, present))
            found += [one] if one is not None else []
        return found

    def files(self, first: Moment, second: Moment | None = None) -> list[FileDiff]:
        """Return SOUL, USER and MEMORY where they differ between two moments (None: now)."""
        from nanomem_tui.agents.git import FileDiff
        from nanomem_tui.dreams.blame import NOW

        if not (commits := self._ws.dream.commits()):
            return []
        ends = [self._version_at(moment, commits) for moment in (first, second or Moment("now", "", now=True))]
        texts = self._ws.dream.versions.text

        def text(end: str | None, path: str) -> str | None:
            return texts(NOW if end is None else end, path) if end != "" else None

        found = (FileDiff(path, text(ends[0], path), text(ends[1], path)) for path in TRACKED_FILES)
        return [one for one in found if one.before != one.after]

    def texts(self, moment: Moment) -> dict[str, str]:
        """Return SOUL, USER and MEMORY as they were then, by path; empty where no version was kept."""
        from nanomem_tui.dreams.blame import NOW

        commits = self._ws.dream.commits()
        sha = self._version_at(moment, commits) if commits else ""
        if sha == "":
            return {}
        texts = self._ws.dream.versions.text
        found = {path: texts(NOW if sha is None else sha, path) for path in TRACKED_FILES}
        return {path: text for path, text in found.items() if text is not None}

    def version(self, moment: Moment) -> str:
        """Return the SHA of the file version of a moment; empty for now and before the first."""
        return self._version_at(moment, self._ws.dream.commits()) or ""

    def _version_at(self, moment: Moment, commits: Sequence[Commit]) -> str | None:
        """Return the SHA of the newest version that was there at a moment; None for now, empty before the first."""
        if moment.now:
            return None
        if moment.commit:
            return moment.commit
        at = clock.parse(moment.at) or _NEVER
        return next((one.sha for one in commits if (clock.parse(one.at) or _NEVER) <= at), "")

    def _made_by(self, done: Operation) -> str:
        """Return the commit that an operation on files made, found by the text that it left."""
        changes = done.changes if len(done.changes) <= MOST_WITH_FILES else ()
        left = {change.key: change.after for change in changes if change.layer == "file"}
        path = next((key for key in left if key in TRACKED_FILES), None)
        made = clock.parse(done.at)
        if path is None or made is None:
            return ""
        begin, end = made.replace(microsecond=0), made + timedelta(minutes=1)
        wanted = (left[path] or {}).get("text")
        texts = self._ws.dream.versions.text
        try:
            near = [one for one in self._ws.dream.commits() if begin <= (clock.parse(one.at) or _NEVER) <= end]
            return next((one.sha for one in reversed(near) if texts(one.sha, path) == wanted), "")
        except NanomemError:
            return ""  # who asks for the files is told

    def plan(self, moment: Moment, wanted: Callable[[Difference], bool] | None = None) -> Plan:
        """Return what restoring to a moment changes: all that differs, or what is `wanted` of it."""
        found = tuple(one for one in self.diff(moment) if wanted is None or wanted(one))
        if not found:
            raise NothingToDo("nothing differs from then", moment.name)
        return Plan(moment, found)

    def restore(self, plan: Plan) -> Operation:
        """Do what `plan` shows, as one operation. What it does not name stays as it is, and so do counts of hits."""
        ws = self._ws
        with ws.store.deciding.alone():
            ws.store.refresh()
            tables = self._tables({one.key for one in plan.differences if one.layer == WORK})
            changes: list[Change] = []
            for one in plan.differences:
                present = tables[one.layer].get(one.key)
                shown = difference((one.layer, one.key), one.now, present)
                if shown is not None:
                    raise Conflict(f"{one.layer} was changed since you looked", one.key, "look at the difference again")
                changes.append(_change(one, present))
            return ws.perform(new_operation("moments.restore", plan.label, changes, meta={"moment": plan.moment.at}))

    def _read_rows(self, *moments: Moment) -> tuple[Any, ...]:
        """Return the rows of now, and of each moment the rows that changed since, from one state."""
        store = self._ws.store
        store.load()
        store.refresh()
        while True:
            later = [() if moment.now else self._later(moment) for moment in moments]
            if not store.refresh():
                break
        changes = (change for part in later for done in part for change in done.changes)
        tables = self._tables({change.key for change in changes if change.layer == work_layer.NAME})
        return tables, *(rewind(tables, operations) for operations in later)

    def _tables(self, of_work: Collection[str]) -> dict[str, dict[str, Any]]:
        """Return the rows of now by layer and id, and the work records of these keys."""
        snapshot = self._ws.store.load()
        with snapshot.lock:
            tables: dict[str, dict[str, Any]] = {layer: dict(snapshot.table(layer)) for layer in ROW_LAYERS}
        return {**tables, WORK: self._work(of_work)}

    def _work(self, keys: Collection[str]) -> dict[str, TierRecord]:
        if not keys or not self._ws.tier_database.exists:
            return {}
        from nanomem_tui.store.work import records

        def read_records(connection: Connection) -> dict[str, TierRecord]:
            found = (records.get(connection, *work_layer.split(key)) for key in keys)
            return {record.key: record for record in found if record is not None}

        return self._ws.tier_database.read(read_records)

    def _later(self, moment: Moment) -> Sequence[Operation]:
        """Return the operations after a moment, newest first, without those that could not be done."""
        for limit in WINDOWS:
            entries = self._ws.log(limit)
            at = next((place for place, entry in enumerate(entries) if _reached(entry.operation, moment)), None)
            if at is not None:
                return _done([entry.operation for entry in entries[:at]])
            if len(entries) < limit:
                break
        first = clock.parse(self.recorded_since())
        since = f"the first change was recorded {first.astimezone():%Y-%m-%d %H:%M}" if first else "no change was yet"
        raise NotFound("nothing is recorded of that time", moment.name, since)


def _reached(operation: Operation, moment: Moment) -> bool:
    if moment.after:
        return operation.id == moment.after
    made, at = clock.parse(operation.at), clock.parse(moment.at)
    return made is not None and at is not None and made <= at


def _done(operations: Sequence[Operation]) -> list[Operation]:
    failed = failed_in(operations)
    return [operation for operation in operations if operation.id not in failed and operation.kind != "void"]


def _change(one: Difference, present: Any) -> Change:
    if one.layer == WORK:
        return _change_of_work(one.then, present)
    assert not isinstance(one.then, TierRecord)
    if one.then is None:
        assert present is not None
        return change_of(one.layer, present, present._replace(is_deleted=True))
    if present is None:
        return change_of(one.layer, None, one.then)
    kept = {name: getattr(present, name) for name in NOT_COMPARED if name in present._fields}
    return change_of(one.layer, present, one.then._replace(**kept))


def _change_of_work(then: Any, present: TierRecord | None) -> Change:
    if then is not None and present is not None:
        counts = {name: value for name, value in present.fields.items() if name in COUNTERS}
        fields = {**then.fields, **counts}
        then = present._replace(tier=then.tier, fields=fields, changed_at=clock.iso(clock.now()))
    return work_layer.change(present, then)


def _time(text: str) -> datetime | None:
    try:
        if found := _AGO.fullmatch(text):
            return clock.now() - timedelta(**{_UNITS[found[2][0]]: int(found[1])})
        if text and (found := _DAY.fullmatch(text)):
            now = clock.now().astimezone()
            hour, minute, second = (int(part or 0) for part in found.groups()[1:])
            at = now.replace(hour=hour, minute=minute, second=second, microsecond=0)
            last_night = not found[1] and at > now  # a time alone is the last one that there was
            return at - timedelta(days=found[1] == "yesterday" or last_night)
    except (ValueError, OverflowError):
        return None
    return clock.parse(text)
