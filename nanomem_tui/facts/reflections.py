"""Reflections: a tool that failed, with what, what it said, and what follows from it (seed 003).

A reflection may have become a lesson, which is what the agent is given; the two name each other (`meta.lesson` of the
reflection, `meta.reflection` of the lesson). Secrets in arguments and errors are masked before they are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, NothingToDo, Refused
from nanomem_tui.core.operations import Actor, Operation, new_key, new_operation
from nanomem_tui.facts.records import Records
from nanomem_tui.memory.expected import as_shown
from nanomem_tui.memory.items import checked
from nanomem_tui.memory.labels import told
from nanomem_tui.memory.lessons import Lessons
from nanomem_tui.store.memory_store import MemoryStore
from nanomem_tui.store.operations import LogEntry
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import Lesson, Record, dumped

KIND = "reflection"
LONGEST = {"tool": 200, "args": 20_000, "error": 20_000}
"""Characters that are kept."""
MASKED = "a secret in it was masked"


class Reflections:
    """The reflections of one workspace. One is a Record: `about` is the tool, `text` the insight; `args`, `error` and
    `lesson` are in its free fields."""

    def __init__(self, store: MemoryStore, lessons: Lessons, perform: Callable[[Operation], Operation]) -> None:
        self._store = store
        self._lessons = lessons
        self._perform = perform
        self._records = Records(store, perform, KIND, KIND, "nanomem reflections list")

    # -- looking --------------------------------------------------------------------------------------------------

    def all(self, tool: str = "", words: str = "") -> list[Record]:
        """The reflections, newest first; only those of a tool (exact, without regard to case), or that hold `words` in
        their insight, error or arguments."""
        found = [row for row in self._records.all() if not tool or row.about.casefold() == tool.strip().casefold()]
        if words.strip():
            from nanomem_tui.memory.matching import matcher

            wanted = matcher(words)
            found = [row for row in found if wanted and wanted.matches("\n".join(_said(row)))]
        return list(found)

    def tools(self) -> dict[str, int]:
        """How many reflections each tool has, the most first."""
        return dict(Counter(row.about for row in self._records.all()).most_common())

    def get(self, reflection_id: str) -> Record:
        """The reflection of that id, or of the one id that begins so. Raises NotFound or BadInput."""
        return self._records.get(reflection_id)

    def history(self, reflection_id: str) -> list[LogEntry]:
        """Every operation that touched the reflection, newest first."""
        return self._records.history(reflection_id)

    def lesson_of(self, reflection: Record) -> Lesson | None:
        """The lesson that it became, while that is there."""
        row = self._store.load("lesson").lessons.get(str(reflection.meta.get("lesson") or ""))
        return row if row is not None and not row.is_deleted else None

    def outdated(self, reflection: Record) -> Lesson | None:
        """The lesson that it became, where that says something else: one of them was edited since."""
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
            new_key(KIND), KIND, kept["tool"], checked(insight), session_key, source, now, dumped(meta), now, now
        )
        return self._records.add([row], actor=actor), row, [*masked, *_warnings(row)]

    def edit(
        self, reflection_id: str, *, expected: Record | None = None, **fields: str
    ) -> tuple[Operation, Record, list[str]]:
        """Change `tool`, `args`, `error` or `insight`. `expected`: the row as it was shown to who edits it.

        Raises Conflict when somebody changed it since, BadInput, NotFound, NothingToDo.
        """
        if unknown := fields.keys() - {"tool", "args", "error", "insight"}:
            raise BadInput(f"cannot edit {', '.join(sorted(unknown))}", reflection_id, "tool, args, error or insight")
        if expected is not None:
            self._store.see_others()
        row = self.get(reflection_id)
        kept, masked = _kept({name: text for name, text in fields.items() if name != "insight"})
        meta = row.meta | {name: kept[name] for name in ("args", "error") if name in kept}
        changed: dict[str, Any] = {"about": kept["tool"]} if "tool" in kept else {}
        if "insight" in fields:
            changed["text"] = checked(fields["insight"])
            meta.pop("conflict", None)
        if meta != row.meta:
            changed["meta_json"] = dumped(meta)
        as_shown(row, expected, changed)
        operation = self._records.change(row, changed)
        after = self.get(row.id)
        return operation, after, [*masked, *_warnings(after), *self._apart(after)]

    def _apart(self, row: Record) -> list[str]:
        """What is to be told where the lesson does not say what its reflection says now."""
        lesson = self.outdated(row)
        if lesson is None:
            return []
        fix = f"`nanomem reflections lesson {row.id}` brings it up to date"
        return [f"its lesson {lesson.id} still says {told(lesson.better_action)}: {fix}"]

    def delete(self, ids: Sequence[str]) -> Operation:
        """Delete reflections; `undo` brings them back, and the lessons that they became stay. Raises NotFound."""
        return self._records.delete(ids)

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
        why = safety.held(f"{row.text}\n{made.better_action}\n{made.bad_action}")
        if known is not None and self._naming(known, row.id).meta.get("reflection") == row.id and same in (None, known):
            return self._renewed(row, known, made, why)
        if same is None and why:
            made = scopes.waiting(made, why, by="reflection")
        linked = row._replace(
            meta_json=dumped({**row.meta, "lesson": (same or made).id}), updated_at=clock.iso(clock.now())
        )
        after = self._naming(same or made, row.id)
        changes = [change_of("record", row, linked)]
        changes += [change_of("lesson", same, after)] if after != same else []
        verb = "link" if same else "make"
        label = f"{verb} the lesson of reflection {told(row.text)}{', which waits in the inbox' if after.waits else ''}"
        return self._perform(new_operation("reflection.lesson", label, changes)), after

    def _renewed(self, row: Record, known: Lesson, made: Lesson, why: str) -> tuple[Operation, Lesson]:
        """The lesson of a reflection with the words that `made` has of it; waiting where there is a reason (`why`)."""
        from nanomem_tui.memory import scopes

        if known.waits:
            raise Refused("it waits in the inbox", known.id, f"`nanomem inbox accept {known.id}`, or reject it")
        words = {name: getattr(made, name) for name in ("trigger", "better_action", "bad_action", "key", "updated_at")}
        after = self._naming(known, row.id)._replace(**words)
        after = scopes.waiting(after, why, by="reflection") if why else after
        held = ", which waits in the inbox" if after.waits else ""
        label = f"bring the lesson of reflection {told(row.text)} up to date{held}"
        return self._perform(new_operation("reflection.lesson", label, [change_of("lesson", known, after)])), after

    def _naming(self, lesson: Lesson, reflection_id: str) -> Lesson:
        """The lesson that names its reflection: the first one, as long as that is there."""
        named = self._store.load("record").records.get(str(lesson.meta.get("reflection") or ""))
        if named is not None and not named.is_deleted:
            return lesson
        return lesson._replace(meta_json=dumped({**lesson.meta, "reflection": reflection_id}))


def _words_for(reflection: Record) -> tuple[str, str, str]:
    """Trigger, better and bad action of the lesson that follows from a reflection."""
    from nanomem_tui.memory import learning

    trigger = f"tool:{learning.tool_name(reflection.about)}:error"[: learning.TRIGGER]
    error = learning.shorten(str(reflection.meta.get("error") or ""))
    return trigger, learning.shorten(reflection.text), error


def _words_of(lesson: Lesson, reflection: Record) -> tuple[str, str, str]:
    """Those that a lesson has; the error of one that another reflection, or nobody, told stands for any."""
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


def _said(row: Record) -> list[str]:
    meta = row.meta
    return [row.text, *(str(meta.get(name) or "") for name in ("error", "args"))]
