"""Journal entries and reflections (seed 003): list, add, edit, delete and restore them, each change one operation.

`Records` is the service that both share with rules and token usage: rows of one kind, by id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NothingToDo, Refused
from nanomem_tui.core.operations import Actor, Change, Operation, new_key, new_operation
from nanomem_tui.core.text import counted
from nanomem_tui.memory.edit_conflicts import check_unchanged, quote_start, settle_conflict
from nanomem_tui.memory.items import check_text
from nanomem_tui.memory.lessons import Lessons
from nanomem_tui.memory.row_service import find_by_id, plural
from nanomem_tui.store import lookup
from nanomem_tui.store.database.operation_log import LogEntry
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Lesson, Record, dumped

# Records of one kind as a person works with them: what the journal, reflections and the use of tokens stand on.


class Records:
    """The records of one kind. `noun`: what a person calls one of them."""

    def __init__(
        self, store: MemoryStore, perform: Callable[[Operation], Operation], kind: str, noun: str, command: str
    ) -> None:
        self._store = store
        self._perform = perform
        self._kind = kind
        self._noun = noun
        self._command = command
        self._sorted: tuple[int, list[Record]] = (-1, [])

    def rows(self) -> list[Record]:
        """Return those that are not deleted, newest first by the time of the thing; the list must not be altered."""
        store, snapshot = self._store, self._store.snapshot
        if not store.loaded or self._sorted[0] != snapshot.counter:
            with snapshot.lock:
                rows = sorted(lookup.records(store, self._kind), key=lambda row: (row.at, row.id), reverse=True)
                self._sorted = (snapshot.counter if store.loaded else -1, rows)
        return self._sorted[1]

    def get(self, record_id: str) -> Record:
        """Return the record of that id, or of the one id that begins so. Raises NotFound or BadInput."""
        rows = self._store.load("record").records
        return find_by_id(
            {key: rows[key] for key in rows if rows[key].kind == self._kind}, record_id, self._noun, self._command
        )

    def history(self, record_id: str) -> list[LogEntry]:
        """Return every operation that touched the record, newest first."""
        return self._store.journal.log(10_000, key=record_id)

    def add_rows(
        self, records: Sequence[Record], label: str = "", actor: Actor = "human", beside: Sequence[Change] = ()
    ) -> Operation:
        """Keep new records as one operation. `beside`: changes of other layers that belong to it."""
        label = label or self._label("add", records)
        changes = [*(change_of("record", None, row) for row in records), *beside]
        return self._perform(new_operation(f"{self._kind}.add", label, changes, actor=actor))

    def change_row(
        self, before: Record, fields: dict[str, Any], actor: Actor = "human", beside: Sequence[Change] = ()
    ) -> Operation:
        """Change fields of a record. Raises NothingToDo."""
        if all(getattr(before, name) == value for name, value in fields.items()) and not beside:
            raise NothingToDo("nothing to change", before.id)
        after = before._replace(**fields, updated_at=clock.iso(clock.now()))
        changes = [change_of("record", before, after), *beside]
        label = self._label("edit", [after])
        return self._perform(new_operation(f"{self._kind}.edit", label, changes, actor=actor))

    def delete(self, ids: Sequence[str]) -> Operation:
        """Delete records; `undo` brings them back. Raises NotFound."""
        rows = list({row.id: row for row in map(self.get, ids)}.values())
        changes = [change_of("record", row, row._replace(is_deleted=True)) for row in rows]
        return self._perform(new_operation(f"{self._kind}.delete", self._label("delete", rows), changes))

    def _label(self, verb: str, rows: Sequence[Record]) -> str:
        noun = self._noun
        what = f"{noun} {quote_start(rows[0].text)}" if len(rows) == 1 else counted(len(rows), noun, plural(noun))
        return f"{verb} {what}"


KIND = "journal"


class Journal(Records):
    """The journal of one workspace. An entry is a Record: `about` is its day, `text` what was noted."""

    def __init__(self, store: MemoryStore, perform: Callable[[Operation], Operation]) -> None:
        super().__init__(store, perform, KIND, "journal entry", "nanomem journal list")

    # -- looking --------------------------------------------------------------------------------------------------

    def entries(self, since: str = "", until: str = "", words: str = "") -> list[Record]:
        """Return the entries, newest day first and within a day the newest first.

        `since`, `until`: days (`YYYY-MM-DD`), both included; `words`: what an entry must hold, in the language of
        searches (words, "a phrase", -without). Raises BadInput for what is no day.
        """
        first, last = (day_of(one) if one else one for one in (since, until))
        found = [row for row in self.rows() if row.about >= first and (not last or row.about <= last)]
        if words.strip():
            from nanomem_tui.memory.filters import matcher

            wanted = matcher(words)
            found = [row for row in found if wanted and wanted.matches(row.text)]
        return sorted(found, key=lambda row: row.about, reverse=True)  # the order within a day stays

    def days(self) -> dict[str, int]:
        """Return how many entries each day has, the newest day first."""
        counts = Counter(row.about for row in self.rows())
        return dict(sorted(counts.items(), reverse=True))

    def warnings(self, entry: Record) -> list[str]:
        """Return what a person should know of the text of an entry; it is kept as it was given all the same."""
        from nanomem_tui.memory import safety

        same = [
            row for row in self.rows()
            if row.about == entry.about and row.text == entry.text and row.id != entry.id
        ]  # fmt: skip
        return [*(f"the same text is already there as {row.id}" for row in same[:1]), *safety.warnings(entry.text)]

    # -- changing -------------------------------------------------------------------------------------------------

    def add(
        self, text: str, day: str = "", *, session_key: str = "", source: str = "manual", actor: Actor = "human"
    ) -> tuple[Operation, Record, list[str]]:
        """A new entry of a day, today without one: the operation, the entry, and warnings. Raises BadInput."""
        moment = clock.now()
        day = day_of(day) if day else clock.local_naive(moment)[:10]
        now = clock.iso(moment)
        entry = Record(
            new_key(KIND), KIND, day, check_text(text), session_key, source, _at(day, moment), created_at=now,
            updated_at=now,
        )  # fmt: skip
        warnings = self.warnings(entry)
        return self.add_rows([entry], actor=actor), entry, warnings

    def edit(
        self, entry_id: str, *, text: str | None = None, day: str | None = None, expected: Record | None = None
    ) -> Operation:
        """Change the text or the day of an entry. `expected`: the entry as it was shown to who edits it."""
        if expected is not None:
            self._store.see_others()
        row = self.get(entry_id)
        fields: dict[str, str] = {}
        if text is not None:
            fields["text"] = check_text(text)
        if day is not None:
            fields["about"] = day_of(day)
        check_unchanged(row, expected, fields)
        if "about" in fields and fields["about"] != row.about:
            fields["at"] = _at(fields["about"], clock.parse(row.at) or clock.now())
        if (meta := settle_conflict(row, fields)) != row.meta_json:  # who writes the text settles which one it is
            fields["meta_json"] = meta
        return self.change_row(row, fields)


def day_of(text: str) -> str:
    """A day as `YYYY-MM-DD`. Raises BadInput for what is none."""
    try:
        return date.fromisoformat(text.strip()).isoformat()
    except ValueError:
        raise BadInput(f"{text.strip()[:40]!r} is no day", "--day", "give it like 2026-02-15") from None


def _at(day: str, moment: datetime) -> str:
    """Return the time of day of `moment` on another day, so that entries of a day keep their order."""
    try:
        return clock.iso(datetime.combine(date.fromisoformat(day), moment.astimezone().time()).astimezone())
    except (ValueError, OverflowError, OSError):  # a day at the edge of the calendar has no such time everywhere
        return f"{day}T12:00:00+00:00"


# -- Reflections: a tool that failed, with what, what it said, and what follows from it (seed 003) --------------------

REFLECTIONS_KIND = "reflection"
LONGEST = {"tool": 200, "args": 20_000, "error": 20_000}
"""Characters that are kept."""
MASKED = "a secret in it was masked"


class Reflections(Records):
    """The reflections of one workspace. One is a Record: `about` is the tool, `text` the insight; `args`, `error` and
    `lesson` are in its free fields."""

    def __init__(self, store: MemoryStore, lessons: Lessons, perform: Callable[[Operation], Operation]) -> None:
        super().__init__(store, perform, REFLECTIONS_KIND, REFLECTIONS_KIND, "nanomem reflections list")
        self._lessons = lessons

    # -- looking --------------------------------------------------------------------------------------------------

    def all(self, tool: str = "", words: str = "") -> list[Record]:
        """Return the reflections, newest first; only of a tool, or with `words` in insight, error or arguments."""
        found = [row for row in self.rows() if not tool or row.about.casefold() == tool.strip().casefold()]
        if words.strip():
            from nanomem_tui.memory.filters import matcher

            wanted = matcher(words)
            found = [row for row in found if wanted and wanted.matches("\n".join(_text_warnings(row)))]
        return list(found)

    def tools(self) -> dict[str, int]:
        """Return how many reflections each tool has, the most first."""
        return dict(Counter(row.about for row in self.rows()).most_common())

    def lesson_of(self, reflection: Record) -> Lesson | None:
        """Return the lesson that it became, while that is there."""
        row = self._store.load("lesson").lessons.get(str(reflection.meta.get("lesson") or ""))
        return row if row is not None and not row.is_deleted else None

    def outdated(self, reflection: Record) -> Lesson | None:
        """Return the lesson that it became, where that says something else: one of them was edited since."""
        lesson = self.lesson_of(reflection)
        return lesson if lesson is not None and _words_of(lesson, reflection) != _words_for(reflection) else None

    # -- changing -------------------------------------------------------------------------------------------------

    def add(
        self,
        tool: str,
        args: str,
        error: str,
        insight: str,
        session_key: str = "",
        *,
        source: str = "manual",
        actor: Actor = "human",
    ) -> tuple[Operation, Record, list[str]]:
        """A new reflection: the operation, the row, and warnings. Raises BadInput: no tool, no error, no insight."""
        now = clock.iso(clock.now())
        given = {"tool": tool, "args": args, "error": error}
        kept, masked = _kept(given)
        meta = {name: kept[name] for name in ("args", "error") if kept[name]}
        row = Record(
            new_key(REFLECTIONS_KIND),
            REFLECTIONS_KIND,
            kept["tool"],
            check_text(insight),
            session_key,
            source,
            now,
            dumped(meta),
            now,
            now,
        )
        return self.add_rows([row], actor=actor), row, [*masked, *_warnings(row)]

    def edit(
        self, reflection_id: str, *, expected: Record | None = None, **fields: str
    ) -> tuple[Operation, Record, list[str]]:
        """Change `tool`, `args`, `error` or `insight`. `expected`: the row as it was shown to who edits it."""
        if unknown := fields.keys() - {"tool", "args", "error", "insight"}:
            raise BadInput(f"cannot edit {', '.join(sorted(unknown))}", reflection_id, "tool, args, error or insight")
        if expected is not None:
            self._store.see_others()
        row = self.get(reflection_id)
        kept, masked = _kept({name: text for name, text in fields.items() if name != "insight"})
        meta = row.meta | {name: kept[name] for name in ("args", "error") if name in kept}
        changed: dict[str, Any] = {"about": kept["tool"]} if "tool" in kept else {}
        if "insight" in fields:
            changed["text"] = check_text(fields["insight"])
            meta.pop("conflict", None)
        if meta != row.meta:
            changed["meta_json"] = dumped(meta)
        check_unchanged(row, expected, changed)
        operation = self.change_row(row, changed)
        after = self.get(row.id)
        return operation, after, [*masked, *_warnings(after), *self._apart(after)]

    def _apart(self, row: Record) -> list[str]:
        """Return what is to be told where the lesson does not say what its reflection says now."""
        lesson = self.outdated(row)
        if lesson is None:
            return []
        fix = f"`nanomem reflections lesson {row.id}` brings it up to date"
        return [f"its lesson {lesson.id} still says {quote_start(lesson.better_action)}: {fix}"]

    def lesson(self, reflection_id: str, scope: str = "global") -> tuple[Operation, Lesson]:
        """Make the lesson that follows from a reflection, link the one that says so already, or bring the one that it
        became up to date; one operation.

        Its trigger is that of a tool's failure, what went wrong is the error, what is better the insight. `scope` is
        `global`, or `session` for the session of the reflection. One that reads as an order to the model, or holds a
        secret, waits in the inbox. Raises NothingToDo when it became one already that says so, and Refused for one that
        waits.
        """
        from nanomem_tui.memory import safety, scopes

        row = self.get(reflection_id)
        known = self.outdated(row)
        if known is None and (known := self.lesson_of(row)):
            raise NothingToDo("it became a lesson already", known.id, f"`nanomem memory lessons show {known.id}`")
        session_key = row.session_key if scope == "session" else ""
        if known is not None:
            scope, session_key = known.scope, known.session_key
        made = self._lessons.new(*_words_for(row), scope, session_key)
        same = self._lessons.same(made)
        why = safety.reason_to_hold(f"{row.text}\n{made.better_action}\n{made.bad_action}")
        if known is not None and self._naming(known, row.id).meta.get("reflection") == row.id and same in (None, known):
            return self._renewed(row, known, made, why)
        if same is None and why:
            made = scopes.hold_for_review(made, why, by="reflection")
        linked = row._replace(
            meta_json=dumped({**row.meta, "lesson": (same or made).id}), updated_at=clock.iso(clock.now())
        )
        after = self._naming(same or made, row.id)
        changes = [change_of("record", row, linked)]
        changes += [change_of("lesson", same, after)] if after != same else []
        verb = "link" if same else "make"
        label = f"{verb} the lesson of reflection {quote_start(row.text)}"
        label += ", which waits in the inbox" if after.waits else ""
        return self._perform(new_operation("reflection.lesson", label, changes)), after

    def _renewed(self, row: Record, known: Lesson, made: Lesson, why: str) -> tuple[Operation, Lesson]:
        """Return the lesson of a reflection with the words of `made`; held back where there is a reason."""
        from nanomem_tui.memory import scopes

        if known.waits:
            raise Refused("it waits in the inbox", known.id, f"`nanomem inbox accept {known.id}`, or reject it")
        words = {name: getattr(made, name) for name in ("trigger", "better_action", "bad_action", "key", "updated_at")}
        after = self._naming(known, row.id)._replace(**words)
        after = scopes.hold_for_review(after, why, by="reflection") if why else after
        held = ", which waits in the inbox" if after.waits else ""
        label = f"bring the lesson of reflection {quote_start(row.text)} up to date{held}"
        return self._perform(new_operation("reflection.lesson", label, [change_of("lesson", known, after)])), after

    def _naming(self, lesson: Lesson, reflection_id: str) -> Lesson:
        """Return the lesson that names its reflection: the first one, as long as that is there."""
        named = self._store.load("record").records.get(str(lesson.meta.get("reflection") or ""))
        if named is not None and not named.is_deleted:
            return lesson
        return lesson._replace(meta_json=dumped({**lesson.meta, "reflection": reflection_id}))


def _words_for(reflection: Record) -> tuple[str, str, str]:
    """Trigger, better and bad action of the lesson that follows from a reflection."""
    from nanomem_tui.memory import lessons as memory_lessons

    trigger = f"tool:{memory_lessons.tool_name(reflection.about)}:error"[: memory_lessons.TRIGGER]
    error = memory_lessons.shorten(str(reflection.meta.get("error") or ""))
    return trigger, memory_lessons.shorten(reflection.text), error


def _words_of(lesson: Lesson, reflection: Record) -> tuple[str, str, str]:
    own = lesson.bad_action and lesson.meta.get("reflection") == reflection.id
    return lesson.trigger, lesson.better_action, lesson.bad_action if own else _words_for(reflection)[2]


def _kept(fields: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """Tool, arguments and error as they are kept, and what is to be told of them. Raises BadInput."""
    from nanomem_tui.language import secrets

    found: dict[str, str] = {}
    masked: list[str] = []
    for name, text in fields.items():
        required = name != "args"
        if required or text.strip():
            checked_text = _words(name, text)
            found[name] = secrets.mask(checked_text)
            if found[name] != checked_text:
                masked.append(f"{name}: {MASKED}")
        else:
            found[name] = ""
    return found, masked


def _words(name: str, text: str) -> str:
    if not text.strip():
        raise BadInput(f"the {name} is empty", f"--{name}", "give the words")
    if len(text) > LONGEST[name]:
        raise BadInput(f"{len(text):,} characters, at most {LONGEST[name]:,} are kept", f"--{name}", "shorten it")
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise BadInput("a lone surrogate, which is no UTF-8", f"--{name}", "remove it")
    return text.strip()


def _warnings(row: Record) -> list[str]:
    from nanomem_tui.memory import safety

    return safety.warnings(row.text)


def _text_warnings(row: Record) -> list[str]:
    meta = row.meta
    return [row.text, *(str(meta.get(name) or "") for name in ("error", "args"))]
