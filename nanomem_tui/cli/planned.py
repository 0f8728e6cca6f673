"""Print a change: that it was made, or with `--dry-run` what it would do, in words and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nanomem_tui.cli import json_objects
from nanomem_tui.cli.state import State
from nanomem_tui.core.text import counted, one_line, quoted

if TYPE_CHECKING:
    from nanomem_tui.core.operations import Change, Operation

SHOWN = 20  # changes
WIDE = 60  # characters of a value
LINE = 200  # characters of a line of a file
NEW = (
    "text", "kind", "about", "args", "error", "importance", "scope_key", "trigger", "better_action", "bad_action",
    "scope", "confidence",
)  # fmt: skip
"""The fields that tell what a new row is."""
FLAGS = frozenset({"enabled", "pinned", "is_deleted"})
SILENT = frozenset({"at", "updated_at", "meta_json", "revision", "key"})
"""The fields that follow from a change and are none."""
FILED = ("domain", "category", "sub_category")
"""The names of a fact that its text does not tell."""


def show_changes(
    state: State, operations: Sequence[Operation], body: Mapping[str, Any], otherwise: str = "", *, dry_run: bool
) -> None:
    """Print the operations that were made (`dry_run`: would be made), with the `body` of the JSON object.

    `otherwise` is said where there are none.
    """
    last = json_objects.operation(operations[-1]) if operations and not dry_run else None
    found: dict[str, Any] = {"operation": last}
    if dry_run:
        found |= {"dry_run": True, "planned": [json_objects.operation(op) for op in operations]}
    lines = change_lines(operations) if dry_run else [op.label for op in operations]
    state.show({**found, **body}, lines or [otherwise])


def added(
    state: State,
    operation: Operation,
    row_id: str,
    body: Mapping[str, Any],
    more: Sequence[str] = (),
    *,
    dry_run: bool,
) -> None:
    """Print that something was added, with its id and what `more` there is to say; `dry_run`: what would be added."""
    if dry_run:
        show_changes(state, [operation], body, dry_run=True)
    else:
        told = [f"{operation.label}: {row_id}", *more]
        state.show({"operation": json_objects.operation(operation), **body}, told)


def change_lines(operations: Sequence[Operation]) -> list[str]:
    """What operations would change, in words."""
    lines: list[str] = []
    for operation in operations:
        lines.append(f"Would {operation.label}")
        for change in operation.changes[:SHOWN]:
            lines += [f"  {line}" for line in _change_lines(change, alone=len(operation.changes) == 1)]
        if len(operation.changes) > SHOWN:
            lines.append(f"  … and {counted(len(operation.changes) - SHOWN, 'more change')}")
    return lines


def _change_lines(change: Change, *, alone: bool) -> Iterator[str]:
    before, after = change.before, change.after
    if change.layer == "record":
        before, after = _spread(before), _spread(after)
    name = "" if alone and change.layer in ("item", "lesson", "record", "tier") else f"{change.key}: "
    if change.layer == "tier":
        yield from (f"{name}{line}" for line in _of_record(change, alone=alone))
    elif change.layer == "lifecycle":
        told = after or before or {}
        counts = ", ".join(
            counted(n, kind.replace("-", " ")) for kind, n in (told.get("rows") or told["counts"]).items()
        )
        yield f"{name}{counts} {'go back' if after is None else 'go'}"
    elif change.layer == "file":
        yield f"{name}{_document(before)} → {_document(after)}"
        yield from _lines_changed(before, after)
    elif change.layer == "session":
        yield name + _transcripts(before, after)
    elif change.layer == "hunk" and change.key.startswith("rejected"):
        yield f"{name}{'no longer' if after is None else 'is'} remembered as rejected"
    elif change.layer == "hunk" and change.key.startswith("unread"):
        number = len((after or before or {}).get("entries", ()))
        verb = "waits" if number == 1 else "wait"
        yield f"{counted(number, 'entry', 'entries')} {verb if after else f'no longer {verb}'} for a model"
    elif change.layer == "hunk":
        yield f"{name}{'leaves' if after is None else 'to'} the inbox"
    elif change.layer == "pending":
        yield from (f"{name}{line}" for line in _pending(before, after))
    elif after is None:
        yield f"{name}goes: {shown_value(_words_of(before or {}))}"
    elif before is None and not alone:
        yield f"{name}{after.get('kind') or 'lesson'}: {shown_value(_words_of(after))}"
    elif before is None:
        yield from (
            f"{name}{field}: {shown_value(after[field])}" for field in NEW if after.get(field) not in (None, "")
        )
        yield from (f"{name}{field}: {shown_value(value)}" for field, value in _filed(after).items())
    else:
        fields = {**before, **after} if change.layer == "record" else after
        changed = [field for field in fields if field not in SILENT and after.get(field) != before.get(field)]
        for field in changed:
            old, new = (bool(v) if field in FLAGS else v for v in (before.get(field), after.get(field)))
            if field == "is_deleted":
                yield name + ("there → deleted" if new else "deleted → back")
            else:
                yield f"{name}{field}: {shown_value(old)} → {shown_value(new)}"
        filed, now = (_filed(row) for row in (before, after))
        for field in [field for field in FILED if filed.get(field) != now.get(field)]:
            yield f"{name}{field}: {shown_value(filed.get(field))} → {shown_value(now.get(field))}"


def _of_record(change: Change, *, alone: bool) -> Iterator[str]:
    """What becomes of a record of an agent's work."""
    from nanomem_tui.store.work.layer import record_of

    before, after = (record_of(change.key, value) if value else None for value in (change.before, change.after))
    old, new = (record.fields if record else {} for record in (before, after))
    if before is not None and after is None:
        yield f"goes: {shown_value(before.title)}"
    elif after is not None and before is None and not alone:
        yield shown_value(after.title)
    elif before is None:
        yield from (f"{field}: {shown_value(value)}" for field, value in new.items() if value not in (None, ""))
    else:
        changed = [field for field in new if new[field] != old[field]]
        yield from (f"{field}: {shown_value(old[field])} → {shown_value(new[field])}" for field in changed)


def _filed(row: Mapping[str, Any]) -> dict[str, str]:
    """Where a fact is filed, of the fields of its row; nothing for a row that is none."""
    if '"fact"' not in str(row.get("meta_json")):
        return {}
    import json

    fact = json.loads(row["meta_json"]).get("fact") or {}
    return {field: fact[field] for field in FILED if fact.get(field)}


def _spread(value: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """A record with the fields of its kind among the others."""
    from nanomem_tui.store.values import Record

    if value is None or "meta_json" not in value:
        return value
    meta = Record("", meta_json=str(value["meta_json"])).meta
    return {**meta, **{name: entry for name, entry in value.items() if name != "meta_json"}}


def _pending(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Iterator[str]:
    """What becomes of the recovered turns of a session: each row is when it began, what was asked, and whether it was
    answered since."""
    old, new = ([(row[0], row[1], row[2:3] == [True]) for row in _rows(value)] for value in (before, after))
    yield from (f"pending: {shown_value(text)}" for at, text, done in new if not done and (at, text, done) not in old)
    yield from (f"answered: {shown_value(text)}" for at, text, done in new if done and (at, text, done) not in old)
    left = {(at, text) for at, text, _ in new}
    yield from (f"no longer pending: {shown_value(text)}" for at, text, _ in old if (at, text) not in left)


def _rows(value: Mapping[str, Any] | None) -> list[list[Any]]:
    return [list(row) for row in (value or {}).get("items", ())]


def _words_of(row: Mapping[str, Any]) -> Any:
    return row.get("text") or row.get("trigger") or ""


def _document(value: Mapping[str, Any] | None) -> str:
    """A file by its number of lines, one with a single short line (a cursor) by that."""
    if value is None:
        return "absent"
    lines = str(value.get("text", "")).splitlines()
    return quoted(lines[0], WIDE) if len(lines) == 1 else counted(len(lines), "line")


def _lines_changed(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Iterator[str]:
    """The lines of a file that go and come, each with its sign; those of a file of one line were said."""
    from nanomem_tui.core import merge

    old, new = (str((value or {}).get("text", "")) for value in (before, after))
    if max(old.count("\n"), new.count("\n")) < 1 or "raw" in {**(before or {}), **(after or {})}:
        return
    signs = {"delete": "-", "insert": "+"}
    lines = [line for hunk in merge.hunks(old, new, 0) for line in hunk.lines if line.tag != "equal"]
    yield from (f"  {signs[line.tag]} {one_line(line.text, LINE)}".rstrip() for line in lines[:SHOWN])
    if len(lines) > SHOWN:
        yield f"  … and {counted(len(lines) - SHOWN, 'more line')}"


def _transcripts(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> str:
    """How many messages it has; the file is told only where it comes, goes or gets another name."""
    files = {None if value is None else str(value.get("path")) for value in (before, after)}

    def side(value: Mapping[str, Any] | None) -> str:
        if value is None:
            return "no file"
        messages = counted(int(value.get("messages", 0)), "message")
        return messages if len(files) == 1 else f"{messages} in {value.get('path')}"

    return f"{side(before)} → {side(after)}"


def shown_value(value: Any) -> str:
    """A value of a field, on one line."""
    if isinstance(value, str):
        return quoted(value, WIDE)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (dict, list)):
        import json

        return one_line(json.dumps(value, ensure_ascii=False), WIDE)
    return "none" if value is None else f"{value}"
