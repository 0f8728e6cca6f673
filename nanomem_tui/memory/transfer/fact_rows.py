"""Facts of the crystallized system (seed 003) as items, wherever it kept them: in its table, or in its index.

A fact is known by domain, category and key, white space and case apart. Rows of theirs that are one by that are one
item: the newest value stands, the others go into its history. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, Problem
from nanomem_tui.core.text import counted, is_utf8, one_line
from nanomem_tui.language.secrets import mask
from nanomem_tui.memory.transfer import rows
from nanomem_tui.memory.transfer.values import Found
from nanomem_tui.store.values import KINDS, Item, checked_name, dumped, fact_of, id_of, identity, text_of

EARLIER = "earlier"
"""The field of a fact that holds its older values, newest first: `value`, `since`, and of ours `until`, `actor`,
`session_key` and `source_message_id`."""
MOST_EARLIER = 500_000
"""Characters of the older values that a fact brings with it; of more the newest."""
OWN = "nanomem"
"""The domain of a fact that is an item of ours: its category is the kind, its key the id."""
CLASH = "::"
"""Between a key and its domain, where the table of that system has room for one of two domains only; and between a key
and the scope of a fact that belongs to a chat or a person, for which it has no column."""
SHOWN = 60
_SCOPED = re.compile(
    r"(?P<key>.+?)::(?P<scope>channel:(?P<channel>[^:\s]{1,64}):(?P<type>chat|user):(?P<who>.+))", re.DOTALL
)


_OF_A_VALUE = ("value", "since", "until", "actor", "session_key", "source_message_id")


class FactRow(NamedTuple):
    """A row of theirs: where it stands, and its fields by the names of their table."""

    place: str
    fields: dict[str, Any]


def read_fact_rows(theirs: Iterable[FactRow], where: str, workspace_id: str) -> tuple[list[Found], list[Problem]]:
    """The facts as global items in the order of their rows, and why rows are left out."""
    problems: list[Problem] = []
    found: dict[str, list[Found]] = {}
    for place, raw in theirs:
        try:
            row, note = rows.item(_fields(raw), workspace_id)
        except rows.BadRow as error:
            problems.append(Problem(f"{place} ({shown(raw.get('key'))}): {error}", where))
        else:
            found.setdefault(row.id, []).append(Found(row, place, note))
    return [_one(same) for same in found.values()], problems


def with_earlier(item: Item, told: object) -> tuple[Item, str]:
    """A fact with the older values that a row of a file names, as far as they are any, and what was left out; any other
    item as it is."""
    if fact_of(item) is None or not isinstance(told, list):
        return item, ""
    kept: list[dict[str, str]] = []
    size = 0
    for one in told:
        known = {name: one.get(name) for name in _OF_A_VALUE} if isinstance(one, dict) else {}
        fields = {name: text for name, text in known.items() if isinstance(text, str) and text and is_utf8(text)}
        size += sum(map(len, fields.values()))
        if "value" in fields and clock.parse(fields.get("since")) is not None and size <= MOST_EARLIER:
            kept.append(fields)
    left = len(told) - len(kept)
    return _set_earlier(item, kept), f"{counted(left, 'earlier value')} left out" if left else ""


def with_earlier_of(item: Item, other: Item) -> Item:
    """The row of a fact with the older values of another row of it in place of its own."""
    if EARLIER not in item.meta_json and EARLIER not in other.meta_json:
        return item
    fact, ours = item.meta.get("fact"), other.meta.get("fact")
    if not isinstance(fact, dict) or not isinstance(ours, dict) or fact.get(EARLIER) == ours.get(EARLIER):
        return item
    return _set_earlier(item, ours.get(EARLIER))


def veiled(item: Item) -> Item:
    """A fact with a name in place of each secret in its older values: nobody looks at those."""
    fields = item.meta.get("fact") if EARLIER in item.meta_json else None
    told = fields.get(EARLIER) if isinstance(fields, dict) else None
    if not isinstance(told, list):
        return item
    hidden = [{**one, "value": mask(str(one.get("value")))} if isinstance(one, dict) else one for one in told]
    return _set_earlier(item, hidden) if hidden != told else item


def _set_earlier(item: Item, told: list[Any] | None) -> Item:
    fact = {name: value for name, value in item.meta["fact"].items() if name != EARLIER}
    meta = {**item.meta, "fact": {**fact, **({EARLIER: told} if told else {})}}
    return item._replace(meta_json=dumped(meta))


def shown(name: object) -> str:
    """A name of theirs as a problem tells it, whatever it holds."""
    return one_line(str(name).encode("utf-8", "replace").decode(), SHOWN)


def _fields(raw: dict[str, Any]) -> dict[str, Any]:
    """The fields of the item that a fact is. Raises BadRow for a fact without words, or with names that are none."""
    names = {name: raw.get(name) for name in ("domain", "category", "sub_category", "key", "value")}
    missing = [name for name in ("category", "key", "value") if names[name] is None]
    wrong = [name for name, value in names.items() if value is not None and not isinstance(value, str)]
    if missing or wrong:
        raise rows.BadRow(f"{' and '.join(missing)} missing" if missing else f"{' and '.join(wrong)} is no text")
    times = {name: raw.get(name) or raw.get("updated_at") for name in ("created_at", "updated_at")}
    value = str(names["value"])
    if not value.strip():
        raise rows.BadRow("value is empty")
    own = names["domain"] == OWN and names["category"] in KINDS
    key, scope = key_there(str(names["key"]), "" if own else str(names["domain"] or ""))
    if own:
        return {
            "id": key if scope else names["key"],
            "text": value,
            "kind": names["category"],
            "source": "import",
            **scope,
            **times,
        }
    try:
        needed = {name: checked_name(text, name) for name, text in (("category", str(names["category"])), ("key", key))}
        others = {name: checked_name(names[name] or "", name, needed=False) for name in ("domain", "sub_category")}
    except BadInput as error:
        raise rows.BadRow(f"{error.where}: {error.what}") from error
    fact = {**needed, "value": value, **{name: text for name, text in others.items() if text}}
    return {
        "id": id_of(identity(scope.get("scope_key", ""), others["domain"], needed["category"], needed["key"])),
        "text": text_of(needed["key"], value),
        "kind": "fact",
        "source": "crystallized",
        "meta": {"fact": fact},
        **scope,
        **times,
    }


def key_there(name: str, domain: str) -> tuple[str, dict[str, str]]:
    """The key that a key in their table stands for, and the fields of the scope that it names; none: it is global."""
    key, domain = " ".join(name.split()), " ".join(domain.split())
    bare = key.removesuffix(f"{CLASH}{domain}").rstrip(CLASH) if domain and key.endswith(f"{CLASH}{domain}") else key
    key = bare or key
    if (found := _SCOPED.fullmatch(key)) is None:
        return key, {}
    who = {"chat_id" if found["type"] == "chat" else "sender_id": found["who"]}
    return found["key"], {"scope_type": found["type"], "scope_key": found["scope"], "channel": found["channel"], **who}


def names_there(key: str, domain: str, scope_key: str) -> Iterator[str]:
    """The keys that a fact may have in their table, the plainest first: each is read back as what it is."""
    base = f"{key}{CLASH}{scope_key}" if scope_key else key
    marked = [f"{base}{':' * colons}{domain}" for colons in range(2, 9)] if domain else []
    for name in (base, *marked):
        found, scope = key_there(name, domain)
        if (found, scope.get("scope_key", "")) == (key, scope_key):
            yield name


def _one(same: list[Found]) -> Found:
    """The newest of several rows that are one fact, with the values of the others."""
    first, *older = sorted(same, key=_updated, reverse=True)
    item = _item(first)
    earlier: list[dict[str, str]] = []
    values = {_value(item)}
    for other in map(_item, older):
        if _value(other) not in values:
            values.add(_value(other))
            earlier.append({"value": mask(_value(other)), "since": other.updated_at})  # nobody looks at those
    if not older:
        return first
    notes = [first.note, f"{', '.join(one.place for one in older)} is the same fact, and older"]
    if earlier:
        item = _set_earlier(item, earlier)
        notes[1] += ": its value is kept in the history"
    return first._replace(row=item, note="; ".join(filter(None, notes)))


def _item(found: Found) -> Item:
    assert isinstance(found.row, Item)
    return found.row


def _updated(found: Found) -> str:
    return _item(found).updated_at


def _value(item: Item) -> str:
    fact = item.meta.get("fact")
    return str(fact["value"]) if isinstance(fact, dict) else item.text
