"""`nanomem memory lessons`: what the agent learned from failures and corrections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nanomem_tui.cli import json_objects, output
from nanomem_tui.cli.fast_commands import conflicts
from nanomem_tui.cli.options import (
    Count,
    Group,
    Words,
    agreed,
    completing,
    decided,
    paged,
    pass_state,
    rehearsable,
    warn,
)
from nanomem_tui.cli.output import Column
from nanomem_tui.cli.planned import added, show_changes
from nanomem_tui.cli.resource import Resource, typed
from nanomem_tui.cli.state import State, page

if TYPE_CHECKING:
    from nanomem_tui.store.values import Lesson

SCOPE = click.Choice(["session", "global"])


@click.group("lessons", cls=Group)
def lessons() -> None:
    """What the agent learned from its mistakes and from being corrected.

    \b
    Example:
      nanomem memory lessons list --include-disabled
    """


LESSONS = Resource(
    ("lesson",), "lessons", "lessons", lambda ws, row: json_objects.lesson(row, ws.lessons),
    lambda _, bodies: ["Would delete:", *_table(bodies)], completes="lessons",
)  # fmt: skip
_json = LESSONS.bodies


@lessons.command()
@pass_state
def status(state: State) -> None:
    """How many lessons there are, and of which scope.

    \b
    Example:
      nanomem memory lessons status
    """
    with state.open() as ws:
        found = {**json_objects.plain(ws.lessons.count()), "strong": ws.lessons.strong()}
    pairs = [
        ("Lessons", str(found.get("total", 0))),
        ("Enabled", str(found.get("enabled", 0))),
        ("Strong", f"{found['strong']} (sure enough to be given)"),
        ("By scope", output.tally(found.get("by_scope") or {})),
        ("Inbox", str(found.get("inbox") or "")),
    ]
    state.show(found, output.fields(pairs))


@lessons.command("list")
@click.option("--scope", type=SCOPE, help="Only this scope.")
@click.option("--session", type=Words(), help="Only lessons of this session.")
@click.option("--include-disabled", is_flag=True, help="Switched-off lessons too.")
@paged
@pass_state
def list_lessons(
    state: State, scope: str | None, session: str | None, include_disabled: bool, limit: int | None, offset: int
) -> None:
    """The lessons that are switched on, newest first.

    \b
    Example:
      nanomem memory lessons list --scope global --limit 20
    """
    with state.open() as ws:
        found = [
            row
            for row in ws.lessons.all(include_disabled=include_disabled)
            if (scope is None or row.scope == scope) and (session is None or row.session_key == session)
        ]
        shown = _json(ws, page(found, limit, offset))
        faded = 0 if state.json else len(ws.lessons.faded(ws.lessons.all()))
    state.show(shown, lambda: [*_table(shown), LESSONS.ending(len(shown), len(found))])
    if faded and not state.json:
        way = "`nanomem recall MESSAGE --why-not ID` says since when"
        output.notes([f"Note: {output.counted(faded, 'lesson')} faded and not given any more: {way}"])


def _table(shown: Sequence[dict[str, Any]]) -> list[str]:
    columns = [
        Column("ID", of=lambda row: row["id"]),
        Column("Scope", drop=2, of=lambda row: row["scope"]),
        Column("Enabled", optional=True, of=lambda row: ("yes" if row["enabled"] else "no") if mixed else ""),
        Column("Trigger", limit=40, least=14, of=lambda row: row["trigger"]),
        Column("Confidence", right=True, drop=4, of=lambda row: str(row["confidence"])),
        Column("Effective", right=True, drop=3, of=lambda row: f"{row['effective']:.1f}"),
        Column("Hits", right=True, of=lambda row: str(row["hits"])),
        Column("Updated At", drop=5, of=lambda row: output.when(row["updated_at"])),
        Column("Action", limit=72, least=24, of=lambda row: row["better_action"]),
    ]
    mixed = not all(row["enabled"] for row in shown)

    return output.columned(columns, shown)


@lessons.command()
@click.argument("lesson_id", metavar="ID", type=Words(), shell_complete=completing("lessons"))
@pass_state
def show(state: State, lesson_id: str) -> None:
    """One lesson: what happened, what is better, how sure it is.

    \b
    Example:
      nanomem memory lessons show lesson_1739443200123_1
    """
    from nanomem_tui.memory import lessons as memory_lessons
    from nanomem_tui.memory import retention

    with state.open() as ws:
        lesson = ws.lessons.get(lesson_id)
        record = memory_lessons.efficacy_of(lesson)
        row = {**_json(ws, [lesson])[0], "efficacy": record.to_json()}
        loaded = ws.store.load()
        told = retention.superseded_notes(lesson, {"item": loaded.items, "lesson": loaded.lessons})
    pairs = [
        ("ID", row["id"]),
        ("Trigger", row["trigger"]),
        ("Instead of", row["bad_action"]),
        ("Do", row["better_action"]),
        ("Enabled", "yes" if row["enabled"] else "no, it waits in the inbox" if lesson.waits else "no"),
        *told,
        *conflicts(lesson, f"nanomem memory lessons edit {lesson.id}"),
        ("Scope", f"{row['scope']} {row['session_key']}".strip()),
        ("Learned from", f"{row['source']} {row['actor_key']}".strip()),
        ("Reflection", str(lesson.meta.get("reflection") or "")),
        ("Confidence", f"{row['confidence']}, now {row['effective']:.1f}"),
        ("Hits", str(row["hits"])),
        ("Helps", memory_lessons.describe_efficacy(lesson)),
        ("Last shown", output.when(record.last_shown_at) if record.last_shown_at else ""),
        ("Created", output.when(row["created_at"])),
        ("Updated", output.when(row["updated_at"])),
        ("Applied", output.when(row["last_applied_at"]) if row["last_applied_at"] else ""),
    ]
    state.show(row, lambda: output.fields(pairs))


@lessons.command()
@click.option("--trigger", type=Words(), required=True, help="When it applies.")
@click.option("--action", "better_action", type=Words(), required=True, help="What to do then.")
@click.option("--bad-action", type=Words(), default="", help="What went wrong before.")
@click.option("--scope", type=SCOPE, default="global", show_default=True, help="Where it applies.")
@click.option("--session", "session_key", type=Words(), default="", help="The session it belongs to.")
@click.option("--confidence", type=click.IntRange(1, 10), default=5, show_default=True, help="1 to 10.")
@rehearsable
@pass_state
def add(state: State, dry_run: bool, **fields: Any) -> None:
    """Teach the agent something; safe on disk when the command returns.

    \b
    Example:
      nanomem memory lessons add --trigger "response:length" --action "Answer in two sentences"
    """
    with state.open(dry_run=dry_run, starting=True) as ws:
        op = ws.lessons.add(**fields)
        made = [ws.lessons.get(change.key) for change in op.changes if change.layer == "lesson"]
        rows = _json(ws, made)
    warnings = _warnings(made[0])
    warn(state, warnings)
    added(state, op, rows[0]["id"], {"lesson": rows[0], "warnings": warnings}, dry_run=dry_run)


@lessons.command()
@click.argument("lesson_id", metavar="ID", type=Words(), shell_complete=completing("lessons"))
@click.option("--trigger", type=Words(), help="When it applies.")
@click.option("--action", "better_action", type=Words(), help="What to do (without any option: edit it in $EDITOR).")
@click.option("--bad-action", type=Words(), help="What went wrong before.")
@click.option("--confidence", type=click.IntRange(1, 10), help="1 to 10; the one that it has confirms it.")
@rehearsable
@pass_state
def edit(state: State, lesson_id: str, dry_run: bool, **given: str | int | None) -> None:
    """Correct a lesson, here or in your editor.

    \b
    Example:
      nanomem memory lessons edit lesson_1739443200123_1 --confidence 9
    """
    with state.open(dry_run=dry_run) as ws:
        row = ws.lessons.get(lesson_id)
        new = typed(given, row, "better_action", row.better_action, "--action")
        # A confidence that it has already is a confirmation: the lesson does not fade before its time once more.
        changed = {
            name: value for name, value in new.fields.items() if name == "confidence" or value != getattr(row, name)
        }
        with new.kept():
            done = [ws.lessons.edit(row.id, expected=new.seen, **changed)] if changed else []
        lesson = ws.lessons.get(row.id)
        after = _json(ws, [lesson])[0]
    warnings = _warnings(lesson) if changed.keys() - {"confidence"} else []
    warn(state, warnings)
    show_changes(state, done, {"lesson": after, "warnings": warnings}, "Nothing changed.", dry_run=dry_run)


def _warnings(lesson: Lesson) -> list[str]:
    """What a person should know of the words that he gave a lesson."""
    from nanomem_tui.memory import safety

    return safety.check_secrets(f"{lesson.trigger}\n{lesson.better_action}\n{lesson.bad_action}")


lessons.add_command(
    LESSONS.switching(
        "enable",
        "enabled",
        """Switch lessons on again.

        \b
        Example:
          nanomem memory lessons enable lesson_1739443200123_1
        """,
    )
)
lessons.add_command(
    LESSONS.switching(
        "disable",
        "enabled",
        """Switch lessons off: kept, but the agent no longer follows them.

        \b
        Example:
          nanomem memory lessons disable lesson_1739443200123_1
        """,
    )
)
lessons.add_command(
    LESSONS.deleting(
        """Take lessons away. `nanomem undo` brings them back.

        \b
        Example:
          nanomem memory lessons delete lesson_1739443200123_1 --yes
        """
    )
)


@lessons.command()
@click.option("--max-lessons", type=Count(1), help="Keep this many (default: the setting `max_lessons`).")
@decided
@pass_state
def compact(state: State, max_lessons: int | None, yes: bool, dry_run: bool) -> None:
    """Merge lessons that say the same and keep the surest; switched-off ones are kept too.

    \b
    Example:
      nanomem memory lessons compact --max-lessons 200 --dry-run
    """
    with state.open() as ws:
        plan = ws.lessons.compact_preview(max_lessons)
        rows = _json(ws, [row for row, _ in plan.removed])
        removed = [{**row, "reason": reason} for row, (_, reason) in zip(rows, plan.removed, strict=True)]
        preview = {"kept": len(plan.kept), "max_lessons": plan.limit, "removed": removed}
        op = None
        if rows:
            question = f"Remove {output.counted(len(rows), 'lesson')} and keep {len(plan.kept)}?"
            if not agreed(state, preview, ["Would remove:", *_table(rows)], question, yes=yes, dry_run=dry_run):
                return
            op = ws.lessons.compact(max_lessons)
    state.show({"operation": json_objects.operation(op), **preview}, [op.label if op else "Nothing to remove."])


@lessons.command()
@decided
@pass_state
def reset(state: State, yes: bool, dry_run: bool) -> None:
    """Take every lesson away. `nanomem undo` brings them back.

    \b
    Example:
      nanomem memory lessons reset --dry-run
    """
    with state.open() as ws:
        rows = _json(ws, ws.lessons.all(include_disabled=True))
        op = None
        if rows:
            question = f"Delete every lesson ({len(rows):,})?"
            lines = ["Would delete every lesson:", *_table(rows)]
            if not agreed(state, {"lessons": rows}, lines, question, yes=yes, dry_run=dry_run):
                return
            op = ws.lessons.reset()
    state.show(
        {"operation": json_objects.operation(op), "lessons": rows}, [op.label if op else "There are no lessons."]
    )
