"""What another memory took the place of: kept, never given to an agent, and marked with what stands now.

Owns the mark. A superseded row is a disabled one, so that all that leaves out what is disabled leaves it out too
(docs/decisions/0104), and its free fields say by whom, when and why. Pure functions over rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple, TypeVar

from nanomem_tui.store.item_index import Candidate
from nanomem_tui.store.values import Item, Lesson, Row, dumped

R = TypeVar("R", Item, Lesson)
Why = Literal["outdated", "wrong"]
FIELD, WINNER = "superseded", "supersedes"
CHAIN = 20
"""How often one thing may have been said anew, for the words of the first time to find the last."""
TOLD: Mapping[str, str] = {"outdated": "it was so before", "wrong": "it was not so"}


class Superseded(NamedTuple):
    """By which row (its layer and id), when (UTC ISO), and why: `outdated` or `wrong`."""

    by: str
    layer: str
    at: str
    why: str


def superseded(row: Row, by: Row, layer: str, why: Why, at: str) -> Row:
    """The row once `by` stands in its place. `layer`: that of `by`."""
    meta = {**row.meta, FIELD: {"by": by.id, "layer": layer, "at": at, "why": why}}
    return row._replace(enabled=False, meta_json=dumped(meta))


def standing(row: Row, over: str) -> Row:
    """The row that stands, which remembers over which one."""
    meta = row.meta
    known = meta.get(WINNER)
    ids = [*(known if isinstance(known, list) else []), over]
    return row._replace(meta_json=dumped({**meta, WINNER: list(dict.fromkeys(ids))}))


def mark_of(row: Row) -> Superseded | None:
    """By what a row is superseded; None for one that is not, or that is enabled again."""
    if row.enabled or f'"{FIELD}"' not in row.meta_json:
        return None
    mark = row.meta.get(FIELD)
    if not isinstance(mark, dict) or not isinstance(mark.get("by"), str):
        return None
    return Superseded(*(str(mark.get(name) or "") for name in Superseded._fields))


def cleared(row: R) -> R:
    """The row without the mark, as who enables it wants it."""
    if f'"{FIELD}"' not in row.meta_json:
        return row
    return row._replace(meta_json=dumped({name: value for name, value in row.meta.items() if name != FIELD}))


def over(row: Row) -> list[str]:
    """The ids over which a row was made to stand; some may stand again."""
    known = row.meta.get(WINNER) if f'"{WINNER}"' in row.meta_json else None
    return [one for one in known if isinstance(one, str)] if isinstance(known, list) else []


def earlier(row: Item, items: Mapping[str, Item]) -> list[Item]:
    """The items in whose place a row stands, and those in whose place these stood, that are still there."""
    marked = [(mark.by, one) for one in items.values() if not one.is_deleted and (mark := mark_of(one)) is not None]
    found = {row.id: row}
    while more := {one.id: one for by, one in marked if by in found and one.id not in found}:
        found |= more
    del found[row.id]
    return [*found.values()]


def words(mark: Superseded, tables: Mapping[str, Mapping[str, Row]]) -> str:
    """The mark in words: by what, when, why. `tables`: the rows of each layer by id."""
    row = tables.get(mark.layer or "item", {}).get(mark.by)
    said = "" if row is None else f" “{text_of(row)}”"
    gone = " (deleted since)" if row is None or row.is_deleted else "" if row.enabled else " (disabled since)"
    why = f", {TOLD[mark.why]}" if mark.why in TOLD else ""
    return f"by {mark.by}{said}{gone} on {mark.at[:10]}{why}"


def noted(rows: Iterable[Row]) -> str:
    """What the label of an operation that enables rows says of those that were superseded; empty when none was."""
    marks = [mark for row in rows if (mark := mark_of(row)) is not None]
    if not marks:
        return ""
    return f", which {marks[0].by} had superseded" if len(marks) == 1 else f", {len(marks):,} of them superseded"


def text_of(row: Row) -> str:
    """The words of an item, or what a lesson says is better."""
    return row.text if isinstance(row, Item) else row.better_action


def in_their_place(found: Iterable[Candidate], rows: Callable[[list[str]], Mapping[str, Item]]) -> list[Candidate]:
    """Return the rows found, those that others took the place of replaced by these: the words of what was so before
    find what is so now. `rows` gives the items with some ids. One that stands nowhere any more is left out."""
    standing: dict[str, Candidate] = {}
    waiting = []
    for one in found:
        if (mark := mark_of(one.item)) is None:
            standing[one.item.id] = one
        else:
            waiting.append((mark, one))
    for _ in range(CHAIN):
        if not waiting:
            break
        known = rows([mark.by for mark, _ in waiting])
        several, waiting = waiting, []
        for mark, one in several:
            row = known.get(mark.by)
            if row is None or row.is_deleted:
                continue
            if (after := mark_of(row)) is not None:
                waiting.append((after, one))
            elif row.enabled and (row.id not in standing or standing[row.id].score < one.score):
                standing[row.id] = Candidate(row, one.score, one.item)
    return [*standing.values()]


def notes(row: Row, tables: Mapping[str, Mapping[str, Row]]) -> list[tuple[str, str]]:
    """What a person who looks at a row should know of it, each with a name: by what it is superseded, and what of
    that it supersedes stands back still. `tables` as in `words`."""
    mark = mark_of(row)
    found = [("Superseded", words(mark, tables))] if mark is not None else []
    for one in over(row):
        lost = tables["item"].get(one) or tables["lesson"].get(one)
        known = mark_of(lost) if lost is not None and not lost.is_deleted else None
        if lost is not None and known is not None and known.by == row.id:
            why = f", {TOLD[known.why]}" if known.why in TOLD else ""
            found.append(("Supersedes", f"{one} “{text_of(lost)}” on {known.at[:10]}{why}"))
    return found
