"""`memory.db` of the crystallized system (seed 003), read and written: facts and every other table.

What its tables have no column for is left out, and said.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from nanomem_tui.agents import databases
from nanomem_tui.agents.databases import DOCUMENT, ChromaEntry, Raw, open_tables
from nanomem_tui.core import clock
from nanomem_tui.core.errors import BadInput, Problem
from nanomem_tui.core.text import counted, is_utf8, one_line
from nanomem_tui.language.secrets import mask
from nanomem_tui.memory.transfer import import_plan
from nanomem_tui.memory.transfer.import_plan import NOUNS, Found, Reading
from nanomem_tui.store.values import KINDS, Item, Record, checked_name, dumped, fact_of, id_of, identity, text_of

# Facts of the crystallized system (seed 003) as items, wherever it kept them: in its table, or in its index.

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
    """Return the facts as global items in the order of their rows, and why rows are left out."""
    problems: list[Problem] = []
    found: dict[str, list[Found]] = {}
    for place, raw in theirs:
        try:
            row, note = import_plan.item(_fact_rows_fields(raw), workspace_id)
        except import_plan.BadRow as error:
            problems.append(Problem(f"{place} ({show_name(raw.get('key'))}): {error}", where))
        else:
            found.setdefault(row.id, []).append(Found(row, place, note))
    return [_one(same) for same in found.values()], problems


def with_earlier(item: Item, told: object) -> tuple[Item, str]:
    """Return a fact with the older values that a file names, and how many were left out."""
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
    """Return the row of a fact with the older values of another row of it in place of its own."""
    if EARLIER not in item.meta_json and EARLIER not in other.meta_json:
        return item
    fact, ours = item.meta.get("fact"), other.meta.get("fact")
    if not isinstance(fact, dict) or not isinstance(ours, dict) or fact.get(EARLIER) == ours.get(EARLIER):
        return item
    return _set_earlier(item, ours.get(EARLIER))


def mask_earlier(item: Item) -> Item:
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


def show_name(name: object) -> str:
    """A name of theirs as a problem tells it, whatever it holds."""
    return one_line(str(name).encode("utf-8", "replace").decode(), SHOWN)


def _fact_rows_fields(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the item that a fact is."""
    names = {name: raw.get(name) for name in ("domain", "category", "sub_category", "key", "value")}
    missing = [name for name in ("category", "key", "value") if names[name] is None]
    wrong = [name for name, value in names.items() if value is not None and not isinstance(value, str)]
    if missing or wrong:
        raise import_plan.BadRow(f"{' and '.join(missing)} missing" if missing else f"{' and '.join(wrong)} is no text")
    times = {name: raw.get(name) or raw.get("updated_at") for name in ("created_at", "updated_at")}
    value = str(names["value"])
    if not value.strip():
        raise import_plan.BadRow("value is empty")
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
        raise import_plan.BadRow(f"{error.where}: {error.what}") from error
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
    """Return the key, and the scope fields, that a key of their table stands for."""
    key, domain = " ".join(name.split()), " ".join(domain.split())
    bare = key.removesuffix(f"{CLASH}{domain}").rstrip(CLASH) if domain and key.endswith(f"{CLASH}{domain}") else key
    key = bare or key
    if (found := _SCOPED.fullmatch(key)) is None:
        return key, {}
    who = {"chat_id" if found["type"] == "chat" else "sender_id": found["who"]}
    return found["key"], {"scope_type": found["type"], "scope_key": found["scope"], "channel": found["channel"], **who}


def names_there(key: str, domain: str, scope_key: str) -> Iterator[str]:
    """Yield the keys that a fact may have in their table, the plainest first: each is read back as what it is."""
    base = f"{key}{CLASH}{scope_key}" if scope_key else key
    marked = [f"{base}{':' * colons}{domain}" for colons in range(2, 9)] if domain else []
    for name in (base, *marked):
        found, scope = key_there(name, domain)
        if (found, scope.get("scope_key", "")) == (key, scope_key):
            yield name


def _one(same: list[Found]) -> Found:
    """Return the newest of several rows that are one fact, with the values of the others."""
    first, *older = sorted(same, key=lambda found: _item(found).updated_at, reverse=True)
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


def _value(item: Item) -> str:
    fact = item.meta.get("fact")
    return str(fact["value"]) if isinstance(fact, dict) else item.text


# Journal, conversations, reflections and token use of the crystallized system (seed 003) as records, and back. Pure.

COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens", "requests")
SOURCE = "import"


class Table(NamedTuple):
    """A table of theirs: the kind of record that a row of it is, its columns but the id, and how a row is read."""

    kind: str
    columns: tuple[str, ...]
    fields: Callable[[Raw], dict[str, Any]]


def _journal(raw: Raw) -> dict[str, Any]:
    fields = {"about": _day(raw), "text": raw.get("content"), "at": raw.get("created_at")}
    return _worded(fields, "content")


def _message(raw: Raw) -> dict[str, Any]:
    chat = _name(raw, "chat_id")
    fields = {"about": chat, "text": raw.get("message"), "at": raw.get("timestamp")}
    return {**_worded(fields, "message"), "session_key": chat, "meta": {"role": _name(raw, "role")}}


def _reflection(raw: Raw) -> dict[str, Any]:
    given = {"args": raw.get("tool_args"), "error": raw.get("error_text")}
    if not isinstance(given["error"], str) or not isinstance(given["args"] or "", str):
        raise import_plan.BadRow("tool_args or error_text is no text")
    tool = _name(raw, "tool_name")
    fields = {"about": tool, "text": raw.get("insight"), "at": raw.get("created_at")}
    meta = {name: text for name, text in given.items() if text}
    return {**_worded(fields, "insight"), "session_key": raw.get("session_key"), "meta": meta}


def _usage(raw: Raw) -> dict[str, Any]:
    counts = {name: raw.get(name) for name in COUNTS}
    for name, value in counts.items():
        if not isinstance(value, int) or value < 0:
            raise import_plan.BadRow(f"{name} is no count")
    times = {"at": raw.get("updated_at"), "created_at": raw.get("created_at"), "updated_at": raw.get("updated_at")}
    meta = {"model": _name(raw, "model"), "source": SOURCE, **counts}
    return {"about": _day(raw), "meta": meta, **times}


TABLES: Mapping[str, Table] = {
    "journal": Table("journal", ("date", "content", "created_at"), _journal),
    "conversations": Table("message", ("chat_id", "role", "message", "timestamp"), _message),
    "reflections": Table(
        "reflection", ("tool_name", "tool_args", "error_text", "insight", "session_key", "created_at"), _reflection
    ),
    "token_usage": Table("usage", ("date", "model", *COUNTS, "created_at", "updated_at"), _usage),
}


def read_record_rows(name: str, theirs: Iterable[tuple[int, Raw]], where: str) -> tuple[list[Found], list[Problem]]:
    """Return the records in the rows of one of their tables, and why rows are left out."""
    kind, columns, fields = TABLES[name]
    found: list[Found] = []
    problems: list[Problem] = []
    equal = Counter[str]()
    for number, raw in theirs:
        place = f"{NOUNS[kind][0]} {number}"
        said = [raw.get(column) for column in (columns[:2] if name == "token_usage" else columns)]
        try:
            made = fields(raw)
            told = json.dumps(said, default=repr)
            equal[told] += 1
            digest = hashlib.sha256(json.dumps([name, told, equal[told]]).encode()).hexdigest()[:20]
            row, note = import_plan.record({"source": SOURCE, "kind": kind, **made, "id": f"{kind}_{digest}"})
        except import_plan.BadRow as error:
            problems.append(Problem(f"{place}: {error}", where))
        else:
            if name == "conversations":  # two messages of one second keep their order
                row = row._replace(meta_json=json.dumps({**row.meta, "number": number}, ensure_ascii=False))
            found.append(Found(row, place, note))
    return found, problems


def masked(row: Record) -> Record:
    """Return the record with a name in place of each secret in what was said and done."""
    if row.kind == "reflection":
        meta = row.meta
        hidden = {name: mask(value) if isinstance(value, str) else value for name, value in meta.items()}
        row = row._replace(meta_json=json.dumps(hidden, ensure_ascii=False)) if hidden != meta else row
    return row._replace(text=mask(row.text)) if row.text else row


def record_instructing(row: Record) -> str:
    """Return how a journal entry or a reflection reads as an order to the model; empty when it does not."""
    if row.kind not in ("journal", "reflection"):
        return ""
    from nanomem_tui.language import injection

    return injection.reason("\n".join((row.text, str(row.meta.get("error") or ""))))


def record_values(row: Record) -> tuple[Any, ...]:
    """A record as a row of its table there, in the order of its columns."""
    meta = row.meta
    made, changed = clock_there(row.created_at or row.at), clock_there(row.updated_at or row.at)
    if row.kind == "journal":
        return row.about, row.text, clock_there(row.at)
    if row.kind == "message":
        return row.about, str(meta.get("role") or "user"), row.text, clock_there(row.at)
    if row.kind == "reflection":
        args = meta.get("args")
        given = args if isinstance(args, str) or args is None else json.dumps(args, ensure_ascii=False)
        return row.about, given, str(meta.get("error") or ""), row.text, row.session_key or None, clock_there(row.at)
    counts = [meta.get(name) for name in COUNTS]
    return row.about, str(meta.get("model") or ""), *(n if isinstance(n, int) else 0 for n in counts), made, changed


def clock_there(text: str) -> str:
    """A time as that system writes it: local, whole seconds."""
    moment = clock.parse(text) or clock.now()
    return clock.local_naive(moment.replace(microsecond=0))


def _day(raw: Raw) -> str:
    for text in (raw.get("date"), str(raw.get("created_at"))[:10]):
        try:
            return date.fromisoformat(str(text).strip()).isoformat()
        except ValueError:
            continue
    raise import_plan.BadRow("date is no day")


def _name(raw: Raw, column: str) -> str:
    value = raw.get(column)
    if not isinstance(value, str) or not value.strip():
        raise import_plan.BadRow(f"{column} is {'missing' if value is None else 'no name'}")
    return value


def _worded(fields: dict[str, Any], column: str) -> dict[str, Any]:
    """Return the fields of a record that has words and a time. Raises BadRow for one that has none."""
    if not isinstance(fields["text"], str):
        raise import_plan.BadRow(f"{column} is {'missing' if fields['text'] is None else 'no text'}")
    if clock.parse(fields["at"] if isinstance(fields["at"], str) else "") is None:
        raise import_plan.BadRow("its time is no time")
    return fields


NAMED = 10
LOST = (
    "lessons, what is disabled, importance, confidence, source, session, hits, pin, expiry, free fields and "
    "the earlier values of facts"
)
_COLUMNS = ("category", "key", "value", "domain", "sub_category", "created_at", "updated_at")
_DDL = """
CREATE TABLE facts (id INTEGER PRIMARY KEY AUTOINCREMENT, category TEXT NOT NULL, key TEXT NOT NULL, value TEXT
    NOT NULL, domain TEXT, sub_category TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, UNIQUE(category,
    key));
CREATE TABLE journal (id INTEGER PRIMARY KEY AUTOINCREMENT, date TEXT NOT NULL, content TEXT NOT NULL,
    created_at TEXT NOT NULL);
CREATE TABLE conversations (id INTEGER PRIMARY KEY AUTOINCREMENT, chat_id TEXT NOT NULL, role TEXT NOT NULL,
    message TEXT NOT NULL, timestamp TEXT NOT NULL);
CREATE TABLE token_usage (id INTEGER PRIMARY KEY AUTOINCREMENT, date TEXT NOT NULL, model TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL DEFAULT 0, completion_tokens INTEGER NOT NULL DEFAULT 0, total_tokens INTEGER NOT
    NULL DEFAULT 0, requests INTEGER NOT NULL DEFAULT 1, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
    UNIQUE(date, model));
CREATE TABLE reflections (id INTEGER PRIMARY KEY AUTOINCREMENT, tool_name TEXT NOT NULL, tool_args TEXT,
    error_text TEXT NOT NULL, insight TEXT NOT NULL, session_key TEXT, created_at TEXT NOT NULL);
CREATE INDEX idx_facts_category ON facts(category);
CREATE INDEX idx_journal_date ON journal(date);
CREATE INDEX idx_conversations_chat_id ON conversations(chat_id);
CREATE INDEX idx_token_usage_date ON token_usage(date);
CREATE INDEX idx_reflections_tool ON reflections(tool_name);
"""
FIELDS = frozenset({"text", "about", "at", "updated_at"})
"""What of a row that is here is compared with theirs."""


def read_memory_db(path: Path, where: str, workspace_id: str) -> Reading:
    """Return every fact as a global item, and every row of the other tables as a record. Raises what opening does."""
    with open_tables(path, where) as source:
        facts = [FactRow(f"fact {number}", raw) for number, raw in source.rows("facts", _COLUMNS)]
        others = {name: list(source.rows(name, table.columns)) for name, table in TABLES.items()}
        problems = source.problems
    found, bad = read_fact_rows(facts, where, workspace_id)
    refused = {"fact": len(bad)}
    problems += bad
    for name, theirs in others.items():
        more, bad = read_record_rows(name, theirs, where)
        refused[TABLES[name].kind] = len(bad)
        found += more
        problems += bad
    return Reading("facts-db", found, problems, fields=FIELDS, times=clock_there, refused=refused)


def read_facts(path: Path, workspace_id: str) -> list[Item]:
    """Return the facts alone. Raises what opening does."""
    with open_tables(path, "") as source:
        facts = [FactRow("", raw) for _, raw in source.rows("facts", _COLUMNS)]
    return [found.row for found in read_fact_rows(facts, "", workspace_id)[0] if isinstance(found.row, Item)]


class Dumped(NamedTuple):
    """A database that was made: how many rows belong to a chat or a person, which facts have their domain in their key
    there (that key), and for which there was no key."""

    data: bytes
    scoped: int
    renamed: list[str]
    left: list[Item]


def dump(items: Iterable[Item], records: Iterable[Record] = ()) -> Dumped:
    """A database of the system with these items as facts, and these records."""
    rows = sorted(items, key=lambda row: (row.updated_at, row.id))
    named, renamed = _named(rows)
    facts = [_values(row, named[row.id]) for row in rows if row.id in named]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_DDL)
        _insert(connection, "facts", _COLUMNS, facts)
        for name, found in _by_table(records).items():
            _insert(connection, name, TABLES[name].columns, found)
        connection.commit()
        scoped = sum(row.scope_type != "global" for row in rows if row.id in named)
        return Dumped(connection.serialize(), scoped, renamed, [row for row in rows if row.id not in named])


def describe_losses(made: Dumped) -> tuple[str, ...]:
    """Return what is in it in another way than here, in sentences for a person."""
    found: list[str] = []
    if made.scoped:
        whose = "1 row belongs" if made.scoped == 1 else f"{made.scoped:,} rows belong"
        key = "its key names it" if made.scoped == 1 else "their keys name them"
        it = "it" if made.scoped == 1 else "each"
        found.append(
            f"{whose} to one chat or person, for which that table has no column: {key}, and `nanomem memory import` "
            f"gives {it} back to that chat or person alone; another system shows {it} to everybody."
        )
    if made.renamed:
        named = ", ".join(one_line(name, 60) for name in made.renamed[:NAMED])
        more = f" and {len(made.renamed) - NAMED:,} more" if len(made.renamed) > NAMED else ""
        what = "1 fact shares" if len(made.renamed) == 1 else f"{len(made.renamed):,} facts share"
        why = "category and key with one of another domain, for which that table has no room"
        found.append(f"{what} {why}: written as {named}{more}; an import reads the key without the domain.")
    return tuple(found)


def _insert(connection: sqlite3.Connection, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    marks = ", ".join("?" * len(columns))
    connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)


def _named(rows: Sequence[Item]) -> tuple[dict[str, str], list[str]]:
    """Return the keys of rows there, and those that had to take their domain in. `rows`: oldest first."""
    names: dict[str, str] = {}
    renamed: list[str] = []
    taken: set[tuple[str, str]] = set()
    newest = rows[::-1]
    for row in sorted(newest, key=lambda row: bool(_fields(row)[1])):
        category, domain, key = _fields(row)
        found = list(names_there(key, domain, row.scope_key if row.scope_type != "global" else ""))
        name = next((one for one in found if (category, one) not in taken), None)
        if name is None:
            continue
        taken.add((category, name))
        names[row.id] = name
        if name != found[0]:
            renamed.append(name)
    return names, sorted(renamed)


def _fields(item: Item) -> tuple[str, str, str]:
    """Category, domain and key of a row there, before any is changed."""
    fact = fact_of(item)
    if fact is None:
        return item.kind, "", item.id
    return fact.category, fact.domain or "", fact.key


def _values(item: Item, name: str) -> list[Any]:
    times = clock_there(item.created_at), clock_there(item.updated_at)
    fact = fact_of(item)
    if fact is None:
        return [item.kind, name, item.text, OWN, None, *times]
    return [fact.category, name, fact.value, fact.domain, fact.sub_category, *times]


def _by_table(records: Iterable[Record]) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of each of their tables, in the order in which things happened."""
    from nanomem_tui.memory.sessions.sessions import message_order  # who only looks for files does not wait for it

    found: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
    names = {"journal": "journal", "message": "conversations", "reflection": "reflections"}
    ordered = sorted(records, key=message_order)
    for row in ordered:
        if row.kind in names:
            found[names[row.kind]].append(record_values(row))
    found["token_usage"] = _summed(record_values(row) for row in ordered if row.kind == "usage")
    return found


def _summed(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """One row for a day and a model, whatever used it: their table has no more room."""
    totals: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    first: dict[tuple[str, str], str] = {}
    last: dict[tuple[str, str], str] = {}
    for day, model, *counts, made, changed in rows:
        key = day, model
        totals[key].update(dict(zip(COUNTS, counts, strict=True)))
        first[key] = min(first.get(key, made), made)
        last[key] = max(last.get(key, changed), changed)
    return [(*key, *(total[name] for name in COUNTS), first[key], last[key]) for key, total in totals.items()]


# A Chroma folder of the crystallized system (seed 003) as items: the facts that its index of vectors was made of.

CHROMA_FIELDS = frozenset({"text", "updated_at"})
_ID = re.compile(r"fact::(?P<category>.*?)::(?P<key>.*)", re.DOTALL)
_DOCUMENT = re.compile(
    r"(?:Domain: (?P<domain>[^\n]*)\n)?(?:Категория: (?P<category>[^\n]*)\n)?(?:Ключ: (?P<key>[^\n]*)\n)?"
    r"Значение: (?P<value>.*)",
    re.DOTALL,
)
_NAMES = ("category", "key", "value", "domain", "sub_category")


def read_chroma_facts(path: Path, where: str, workspace_id: str) -> Reading:
    """Return the facts in the database of such a folder."""
    folder = databases.read_chroma_folder(path, where)
    facts = [entry for entry in folder.entries if entry.metadata.get("type", "fact") == "fact"]
    found, problems = read_fact_rows(map(_row, facts), where, workspace_id)
    notes = [
        f"{counted(number, 'entry', 'entries')} of the collection {show_name(name)} are not those of an agent: "
        "left out."
        for name, number in folder.others.items()
        if number
    ]
    others = len(folder.entries) - len(facts)
    notes += [f"{counted(others, 'entry that is no fact', 'entries that are no facts')}: left out."] if others else []
    refused = {"fact": len(problems)}
    every = [*folder.problems, *problems]
    return Reading("chroma", found, every, fields=CHROMA_FIELDS, notes=notes, times=clock_there, refused=refused)


def _row(entry: ChromaEntry) -> FactRow:
    """An entry by the names of the table; what its metadata do not say is taken from the document, and from its id."""
    told: dict[str, Any] = {}
    for pattern, text in ((_ID, entry.id), (_DOCUMENT, entry.metadata.get(DOCUMENT))):
        match = pattern.fullmatch(text) if isinstance(text, str) else None
        told |= {name: value for name, value in match.groupdict().items() if value} if match is not None else {}
    meta = {name: _text(entry.metadata[name]) for name in _NAMES if entry.metadata.get(name) not in (None, "")}
    return FactRow(f"entry {show_name(entry.id)}", {**told, **meta, "updated_at": entry.metadata.get("updated_at")})


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
