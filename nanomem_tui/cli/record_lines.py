"""How the records of an agent's work read in a terminal. Prints nothing."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nanomem_tui.cli import output, words
from nanomem_tui.cli.planned import shown_value
from nanomem_tui.cli.tables import Column, paragraph, table
from nanomem_tui.language.tokens import tokens
from nanomem_tui.store.work.kinds import KINDS, Kind
from nanomem_tui.store.work.values import plain

if TYPE_CHECKING:
    from nanomem_tui.store.work.values import TierRecord
    from nanomem_tui.tiers.records import Past
    from nanomem_tui.workspace import Workspace

SHORT = 60  # characters of a value that stands beside its name
AROUND = 100  # characters of what stands around a word that was found
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "goal": ("status", "priority"),
    "task": ("goal_id", "agent", "status"),
    "tool-call": ("task_id", "agent", "success", "duration_ms", "reason"),
    "agent-state": ("state",),
    "decision": ("chosen", "outcome"),
    "pattern": ("success_rate", "uses", "action"),
    "procedure": ("success_count", "fail_count"),
    "incident": ("root_cause", "resolution"),
    "config-change": ("changed_by", "reason"),
}
"""What a list shows beside the id, the time and the title."""
_RIGHT = frozenset({"priority", "duration_ms", "success_rate", "uses", "success_count", "fail_count"})


def records_table(kind: Kind, rows: Sequence[TierRecord]) -> list[str]:
    """A line for each record."""
    columns = [
        Column("ID", limit=36),
        Column("Time"),
        *(Column(name, limit=40, least=8, drop=2, right=name in _RIGHT, optional=True) for name in _COLUMNS[kind.name]),
        Column(kind.title, limit=120, least=16),
    ]
    cells = [
        (row.id, words.when(row.at), *(_cell(row.fields[name]) for name in _COLUMNS[kind.name]), row.title)
        for row in rows
    ]
    return table(columns, cells, output.terminal_width())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def found_in(record: TierRecord, held: Collection[str]) -> str:
    """The field that holds most of these tokens, and its words around the first of them; nothing where the title shows
    them."""
    kind = KINDS[record.kind]
    texts = {name: plain(record.fields.get(name)) for name in kind.words}
    name = max(texts, key=lambda one: len({*held}.intersection(tokens(texts[one]))))
    text = " ".join(texts[name].split())
    at = _place(text, held)
    if name == kind.title and at < AROUND:
        return ""
    start = max(0, at - AROUND // 3)
    part = text[start : start + AROUND]
    return f"{name}: {'…' * (start > 0)}{part.strip()}{'…' * (start + AROUND < len(text))}"


def _place(text: str, held: Collection[str]) -> int:
    """Where the first of the tokens stands in a text; 0 where that is not known."""
    for word in re.finditer(r"\w+", text):
        found = tokens(word.group())
        if len(found) == 1 and found[0] in held:
            return word.start()
        if len(found) > 1 and (inside := [word.group().find(one) for one in held if one in word.group()]):
            return word.start() + min(inside)  # a script that sets no spaces
    return 0


def lines(kind: Kind, found: TierRecord) -> list[str]:
    """The short values beside their names, then the long ones below theirs."""
    shown = {field.name: _whole(field.type, found.fields[field.name]) for field in kind.fields}
    long = {name: text for name, text in shown.items() if "\n" in text or len(text) > SHORT}
    pairs = [("id", found.id), ("tier", found.tier)]
    pairs += [(name, text) for name, text in shown.items() if name not in long]
    pairs += [("origin", found.origin), ("stored", words.when(found.stored_at))]
    pairs += [("changed", words.when(found.changed_at))] if found.changed_at != found.stored_at else []
    told = output.fields(pairs)
    width = output.terminal_width()
    for name, text in long.items():
        told += ["", f"{name}:", *(f"  {line}" for line in paragraph(text, width - 2 if width else None))]
    return told


def _whole(type_: str, value: Any) -> str:
    if type_ == "time":
        return words.when(value) if value else ""
    if isinstance(value, (dict, list)):
        text = json.dumps(value, ensure_ascii=False)
        return text if len(text) <= SHORT else json.dumps(value, ensure_ascii=False, indent=2)
    return _cell(value)


def links(ws: Workspace, found: TierRecord) -> list[dict[str, Any]]:
    """What hangs together with a record; of the tasks of a goal also their own."""
    linked = []
    for relation, other in ws.records.links(found):
        below = links(ws, other) if relation == "task" and found.kind == "goal" else []
        below = [one for one in below if one["relation"] != "goal"]
        linked.append({"relation": relation, **other.to_json(), "links": below})
    return linked


def link_lines(linked: Sequence[Mapping[str, Any]]) -> list[str]:
    """What hangs together with a record, as `links` gives it."""
    from nanomem_tui.tiers.records import LINKED

    rows = [(("", one), *(("↳ ", below) for below in one["links"])) for one in linked]
    cells = [
        (f"{indent}{one['relation']}", one["id"], words.when(one[KINDS[one["kind"]].when]), _state(one),
         str(one[KINDS[one["kind"]].title] or ""))
        for group in rows
        for indent, one in group
    ]  # fmt: skip
    columns = [
        Column("Linked"),
        Column("ID", limit=36),
        Column("Time", drop=1),
        Column("", limit=20, optional=True),
        Column("What", limit=100, least=16),
    ]
    many = [name for name, number in Counter(one["relation"] for one in linked).items() if number >= LINKED]
    told = [f"Of its {name}s the newest {LINKED} are named." for name in many]
    return ["", *table(columns, cells, output.terminal_width()), *told] if cells else []


def _state(one: Mapping[str, Any]) -> str:
    if one["kind"] == "tool-call":
        return {True: "worked", False: "failed"}.get(one["success"], "")
    return str(one.get("status") or "")


def past_lines(past: Sequence[Past]) -> list[str]:
    """The changes of a record, with the fields that changed; what came or went whole is told by its label."""
    told: list[str] = []
    for one in past:
        told.append(f"{words.when(one.at)}  {one.actor}: {one.label}{' (taken back)' * one.undone}")
        if any(value is not None for value in one.before.values()) and any(
            value is not None for value in one.after.values()
        ):
            told += [
                f"  {name}: {shown_value(one.before.get(name))} → {shown_value(value)}"
                for name, value in one.after.items()
            ]
    return told


def counted_of(kind: Kind, number: int) -> str:
    """So many records of a kind, in words."""
    return words.counted(number, kind.name.replace("-", " "))
