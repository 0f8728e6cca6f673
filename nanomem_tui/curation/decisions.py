"""What a decision about findings changes: rows that go, are switched off, reworded, moved or merged.

Owns the changes of the usual decisions. Must not perform them, mark a finding or look for one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nanomem_tui.core.errors import BadInput, NotFound, Refused
from nanomem_tui.core.operations import Change, Operation
from nanomem_tui.curation.values import Decision, Finding, How
from nanomem_tui.memory import scopes
from nanomem_tui.memory.items import Items
from nanomem_tui.memory.lessons import Lessons
from nanomem_tui.store.snapshot import change_of
from nanomem_tui.store.values import ROW_LAYERS, AnyRow, Item, Record

if TYPE_CHECKING:
    from nanomem_tui.workspace import Workspace

TOLD: Mapping[Decision, str] = {
    "keep": "keep", "reject": "reject", "merge": "merge", "edit": "edit", "disable": "disable", "delete": "delete",
    "split": "move", "snooze": "put off",
}  # fmt: skip
"""What a decision is called in the log."""
ROW_DECISIONS: frozenset[Decision] = frozenset({"reject", "merge", "edit", "disable", "delete", "split"})
SCOPE_HINT = "global, telegram:42 (that chat), telegram:@ana (that person)"


def changes_of(ws: Workspace, finding: Finding, decision: Decision, how: How) -> Sequence[Change]:
    """What the decision does to the rows of a finding. Raises Refused for what is no row, or waits in the inbox;
    NotFound, BadInput and NothingToDo as the services of items and lessons do."""
    if decision not in ROW_DECISIONS:
        return ()
    row = _row(ws, finding)
    if decision in ("reject", "delete"):
        return [change_of(finding.layer, row, row._replace(is_deleted=True))]
    if decision == "disable" and not isinstance(row, Record):
        return [change_of(finding.layer, row, row._replace(enabled=False))] if row.enabled else []
    if decision == "edit" and not isinstance(row, Record):
        return _edited(ws, finding, how.text or "")
    if decision == "split" and isinstance(row, Item):
        return planned(ws, lambda items, _: items.edit(row.id, **scope_fields(how.scope or "", ws.id)))
    if decision == "merge" and isinstance(row, Item):
        return _merged(ws, finding, how.into)
    raise Refused(f"{TOLD[decision]} does not fit a {finding.layer}", finding.ids[0], f"one of {words(finding.offers)}")


def scope_fields(text: str, workspace_id: str) -> dict[str, Any]:
    """The fields of the scope that a person names: `global`, `telegram:42` or `telegram:@ana`. Raises BadInput."""
    if text == "global":
        fields: dict[str, Any] = {"channel": None, "chat_id": None, "sender_id": None}
        return {"scope_type": "global", "scope_key": scopes.global_key(workspace_id), **fields}
    channel, colon, who = text.partition(":")
    if not colon or not channel or not who.removeprefix("@"):
        raise BadInput(f"no scope `{text}`", "scope", SCOPE_HINT)
    scope = "user" if who.startswith("@") else "chat"
    audience = scopes.Audience(channel, None, who[1:]) if scope == "user" else scopes.Audience(channel, who)
    named = {"channel": audience.channel, "chat_id": audience.chat_id, "sender_id": audience.sender_id}
    return {"scope_type": scope, "scope_key": scopes.key_for(scope, audience, workspace_id), **named}


def words(decisions: Sequence[Decision]) -> str:
    """Decisions as a list in a sentence."""
    return ", ".join(decisions)


def _row(ws: Workspace, finding: Finding) -> AnyRow:
    if finding.layer not in ROW_LAYERS or not finding.ids:
        raise Refused("it is no item and no lesson", finding.id, f"one of {words(finding.offers)}")
    row: AnyRow | None = ws.store.load().table(finding.layer).get(finding.ids[0])
    if row is None or row.is_deleted:
        raise NotFound("it is not there any more", finding.ids[0], "see `nanomem triage list`")
    if not isinstance(row, Record) and row.waits:
        raise Refused("it waits in the inbox", row.id, "accept or reject it there")
    return row


def _edited(ws: Workspace, finding: Finding, text: str) -> Sequence[Change]:
    key = finding.ids[0]
    if not text:
        raise BadInput("no words are given, and none are proposed", finding.id, "give the words")
    if finding.layer == "lesson":
        return planned(ws, lambda _, lessons: lessons.edit(key, better_action=text))
    return planned(ws, lambda items, _: items.edit(key, text=text))


def _merged(ws: Workspace, finding: Finding, into: str | None) -> Sequence[Change]:
    if into is not None and into not in finding.ids:
        raise BadInput("that is none of those to merge", into, f"one of {', '.join(finding.ids)}")
    rows = [ws.items.get(key) for key in finding.ids]
    if into is None and len({(row.scope_key, row.kind) for row in rows}) > 1:
        raise Refused("they differ in scope or kind", finding.id, "say into which one: `nanomem triage merge --into`")
    return planned(ws, lambda items, _: items.merge(finding.ids, into=into or finding.ids[-1]))


def planned(ws: Workspace, decide: Callable[[Items, Lessons], Operation]) -> Sequence[Change]:
    """The changes of what a service of items or lessons would do."""
    made: list[Operation] = []

    def keep(operation: Operation) -> Operation:
        made.append(operation)
        return operation

    decide(Items(ws.store, (), keep, lambda: ws.recall), Lessons(ws.store, keep))
    return [change for operation in made for change in operation.changes]
