"""`memory status`, `memory list` and `memory search`: what they do and print, without click or SQLAlchemy.

`fast_path` calls them where it can read the line, `commands/memory.py` where click did. Their JSON is made in
`json_objects`. The lines of items stand here, too, for other commands that print items.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nanomem_tui.cli import json_objects, output
from nanomem_tui.cli.state import State, page
from nanomem_tui.core.errors import BadInput, NanomemError
from nanomem_tui.core.text import counted

if TYPE_CHECKING:
    from nanomem_tui.language.times_asked import Span, TimeAsked
    from nanomem_tui.memory.scopes import Audience
    from nanomem_tui.store.values import Hit, Item, Row
    from nanomem_tui.workspace import Workspace


# Where else to look when the items have nothing: an agent that keeps its memory in files, and which of them say it.

SHORTEST = 3  # characters of a word that is looked for
_WHERE = "this agent keeps its memory in files (SOUL.md, USER.md, memory/MEMORY.md, history, sessions)"
_WAYS = "`nanomem recall --in all`, `nanomem session search`, `nanomem history search`, `nanomem memory backfill`"


def elsewhere_note(ws: Workspace, words: str = "", audience: Audience | None = None, *, ours_only: bool = False) -> str:
    """One line on where else to look: at another audience, in a database to import, in an agent's files; "" where
    nowhere. Counts the lines with `words`. `ours_only`: what the other systems' rows say was not looked at."""
    if audience is not None and audience.channel and audience.chat_id is None and audience.sender_id is None:
        return "Note: a channel alone sees what is global; give --chat-id or --sender-id too, or leave --channel out."
    if told := renamed_memory(ws) or _to_import(ws, with_rows=ours_only):
        return told
    if not ws.layout.has_history_jsonl:
        return ""
    counts = {name: _lines(ws, name, words) for name in ws.documents.names()}
    found = [f"{name} ({counted(lines, 'line')})" for name, lines in counts.items() if lines]
    here = f"; your words are in {', '.join(found)}" if found else ""
    return f"Note: {_WHERE}{here}: see {_WAYS}."


def renamed_memory(ws: Workspace) -> str:
    """That the agent's home has a memory that nothing shows; "" where it has none, or this workspace has one."""
    from nanomem_tui.store import storage

    return next((f"Note: {one.text()}" for one in storage.find_renamed_workspaces(ws.paths)), "")


def _to_import(ws: Workspace, *, with_rows: bool) -> str:
    """The databases of other systems whose rows are not ours yet, and the command that imports them; "" for none.
    `with_rows`: those too whose rows are listed and searched beside ours."""
    from nanomem_tui.memory.transfer.detect import candidates

    rows = len(ws.items.foreign()) if with_rows else 0
    empty = not ws.items.count()["total"]  # else what is in a database of facts may have come with an import
    wanted = {"scoped-db", "facts-db"} if rows else set[str]()
    wanted |= {"facts-db", "chroma"} if empty else set()
    found = [one for one in candidates(ws.paths, ws.settings) if one.format in wanted]
    if not found:
        return ""
    what = f"{counted(rows, 'row')} of" if rows else "what is in"
    ways = ", ".join(f"`nanomem memory import {shlex.quote(str(one.path))}`" for one in found)
    return f"Note: {what} {found[0].path.name} must be imported before recall gives it: {ways}."


def say(state: State, line: str) -> None:
    """Print the note on stderr, for a person."""
    if line and not state.json:
        output.notes([line])


def _lines(ws: Workspace, name: str, words: str) -> int:
    """How many lines of a document hold one of `words`."""
    wanted = [word for word in words.casefold().split() if len(word) >= SHORTEST]
    try:
        text = (ws.documents.read(name) or "").casefold() if wanted else ""
    except NanomemError:
        return 0
    return sum(any(word in line for word in wanted) for line in text.splitlines())


COUNTED_HITS = 200  # hits that are counted for "20 of 57"
COUNTED = ("items", "lessons")
SCOPES = ("chat", "user", "global", "all")
SORTS = {
    "updated": lambda row: row.updated_at,
    "created": lambda row: row.created_at,
    "hits": lambda row: row.hits,
    "importance": lambda row: row.importance,
}


NAMED = 5
"""Problems that the status names."""


def status(state: State) -> None:
    """Counts by kind, scope and source, and how the files and the database are.

    Raises NanomemError, once all is printed, where a part could not be counted.
    """
    with state.open() as ws, ws.store.kept_open():
        found = json_objects.plain(ws.status())
    state.show({**found, "problem_count": len(found["problems"])}, lambda: _status_lines(found))
    unread = [name for name in COUNTED if (found[name] or {}).get("total") is None] + [
        name for name in ("sessions", "notes") if found[name] is None
    ]
    unread += ["history"] if found["history"]["entries"] is None else []
    if unread and found["problems"]:
        first = found["problems"][0]
        raise NanomemError(f"{', '.join(unread)} could not be counted: {first['what']}", first["where"], first["fix"])


def metrics(state: State) -> None:
    """The counters of turns and checkpoints, and the counts of now, as OpenMetrics text."""
    from nanomem_tui.memory.turns.traces import openmetrics

    with state.open() as ws:
        found = ws.status()
    gauges = {
        "items": (found["items"]["total"], "items that are remembered"),
        "items_enabled": (found["items"]["enabled"], "items that may be recalled"),
        "lessons": (found["lessons"]["total"], "lessons"),
        "lessons_enabled": (found["lessons"]["enabled"], "lessons that may be shown"),
        "inbox": (found["inbox"], "items, lessons and edits of Dreams that wait for a person"),
        "wal_open_turns": (found["wal"]["open"], "turns that began and never ended"),
        "checkpoint_waiting": (found["checkpoint"]["dirty"], "operations that wait for a checkpoint"),
        "checkpoint_last_ms": (found["checkpoint"]["last_ms"], "milliseconds that the last checkpoint took"),
        "operations": ((found["store"] or {}).get("operations"), "operations in the database"),
        "problems": (len(found["problems"]), "things that want attention"),
    }
    output.lines(openmetrics(found["counters"] or {}, gauges).splitlines())


def _turns_line(counters: dict[str, int]) -> str:
    """What turns did, in words; empty where there was none."""
    if not counters.get("turns_begun"):
        return ""
    asked = counters["memory_recall_hit"] + counters["memory_recall_miss"]
    saved, known = counters["memory_capture_saved"], counters["memory_capture_deduped"]
    kept_back = counters["memory_capture_dropped_safety"]
    weak = counters["memory_capture_dropped_low_conf"]
    return (
        f"{counters['turns_ended']} of {output.counted(counters['turns_begun'], 'turn')} ended; recalled in "
        f"{counters['memory_recall_hit']} of {asked}; {saved} saved, {known} known, {weak} weak, {kept_back} kept back"
    )


def _records_line(tiers: dict[str, Any]) -> str:
    if not (tiers.get("bytes") or tiers.get("working") or tiers.get("longterm")):
        return ""
    about = "" if tiers["exact"] else "up to "
    size = f" ({output.size(tiers['bytes'])})" if tiers["bytes"] else ""
    return f"{about}{tiers['working']:,} in working memory, {tiers['longterm']:,} long-term{size}"


def _status_lines(found: dict[str, Any]) -> list[str]:
    def count(part: str, name: str, one: str = "", many: str = "") -> str:
        value = (found.get(part) or {}).get(name)
        if value is None:
            return f"? {many or one + 's'}" if one else "?"
        return output.counted(value, one, many) if one else f"{value:,}"

    items, lessons, agent, store = (found.get(part) or {} for part in ("items", "lessons", "agent", "store"))
    who = f"running ({agent.get('what') or 'agent'}, pid {agent.get('pid')})" if agent.get("running") else "not running"
    last = output.when((found.get("checkpoint") or {}).get("last_at"))
    index = ", search index old: `nanomem memory reindex`" if (store or {}).get("index") == "old" else ""
    engine = f"PostgreSQL {store['server']}" if store and store["server"] else f"SQLite {(store or {}).get('sqlite')}"
    database = f"{store['database'] or 'none yet'} ({engine}{index})" if store else "cannot be read"
    unread, cursor = f"{count('history', 'unprocessed')} not yet dreamt", count("dream", "cursor")
    if ahead := found["dream"].get("ahead"):
        unread = "how many not yet dreamt is not known"
        cursor = f"{ahead['cursor']:,}, {ahead['by']:,} ahead of the last entry"
    lines = output.fields(
        [
            ("Workspace", str(found["workspace"])),
            ("Agent", f"{found['release'] or 'unknown release'}, {who}"),
            ("Items", f"{count('items', 'total')} ({count('items', 'enabled')} enabled)"),
            ("  by kind", output.tally(items.get("by_kind") or {})),
            ("  by scope", output.tally(items.get("by_scope") or {})),
            ("  by source", output.tally(items.get("by_source") or {})),
            ("  foreign", str(items.get("foreign") or "")),
            ("Lessons", f"{count('lessons', 'total')} ({count('lessons', 'enabled')} enabled{_strong(lessons)})"),
            ("  by scope ", output.tally(lessons.get("by_scope") or {})),
            ("Sessions", "?" if found["sessions"] is None else str(found["sessions"])),
            ("History", f"{count('history', 'entries', 'entry', 'entries')}, {unread}"),
            ("Dream", f"{count('dream', 'runs', 'Dream')}, cursor {cursor}"),
            ("WAL", f"{count('wal', 'files', 'file')}, {count('wal', 'turns', 'turn')}, {count('wal', 'open')} open"),
            ("Turns", _turns_line(found["counters"] or {})),
            ("Notes", "?" if found["notes"] is None else str(found["notes"])),
            ("Journal", output.counted(found["journal"], "entry", "entries") if found["journal"] else ""),
            ("Reflections", str(found["reflections"] or "")),
            ("Tokens", _usage_line(found["usage"] or {})),
            ("Vectors", _vectors_line(found["vectors"] or {}, items.get("enabled"))),
            ("Records", _records_line(found["tiers"] or {})),
            ("Backfill", _backfill_line(found["backfill"] or {})),
            ("Checkpoint", f"{count('checkpoint', 'dirty', 'change')} waiting, last {last}"),
            ("Database", database),
        ]
    )
    for foreign in found["foreign"] or []:
        if foreign["format"] == "chroma":
            held = ", ".join(f"{number:,} in {name}" for name, number in foreign.get("collections", {}).items())
            why = foreign.get("why") or held or "empty"
            lines.append(f"Foreign Chroma folder, read only: {foreign['path']} ({why})")
            continue
        more = [f"{number:,} of {name}" for name, number in foreign.get("others", {}).items()]
        rows = ", ".join([output.counted(foreign["active"], "active row"), *more])
        lines.append(f"Foreign database, read only: {foreign['path']} ({rows})")
    if found["inbox"]:
        lines.append(f"{found['inbox']:,} wait{'s' * (found['inbox'] == 1)} in the inbox: nanomem inbox list")
    problems = found["problems"]
    if problems:
        lines.append(f"{output.counted(len(problems), 'problem')}:")
        lines.extend(f"  {problem_line(entry)}" for entry in problems[:NAMED])
        if len(problems) > NAMED:
            lines.append(f"  and {len(problems) - NAMED:,} more: nanomem doctor")
    return lines


def _strong(lessons: dict[str, Any]) -> str:
    """How many lessons are sure enough to be given, where that is not all that are enabled."""
    strong = lessons.get("strong")
    return "" if strong is None or strong == lessons["enabled"] else f", {strong:,} strong enough to be given"


def _usage_line(usage: dict[str, Any]) -> str:
    """The tokens that models used; nothing where none did."""
    if not usage.get("requests"):
        return ""
    tokens, requests = usage["total_tokens"], output.counted(usage["requests"], "request")
    whose = ", ".join(f"{origin} {number:,}" for origin, number in usage["by_origin"].items())
    return f"{tokens:,} in {requests} ({whose})"


def _vectors_line(vectors: dict[str, Any], items: int | None) -> str:
    """How many items have a vector, and of which model; nothing where none has one."""
    held: dict[str, int] = vectors.get("by_model") or {}
    if not held:
        return ""
    shown = ", ".join(f"{number:,} of {model}" for model, number in held.items())
    index = f", searched in {vectors['index']}" if vectors["index"] != "rows" else ""
    off = "" if vectors["enabled"] else ", switched off (embedding_enabled)"
    missing = f", {output.counted(items, 'item')} in all" if items and max(held.values()) < items else ""
    return f"{shown}{missing}{index}{off}"


def _backfill_line(state: dict[str, Any]) -> str:
    """What became of the Markdown from before there was a store; nothing where there is none."""
    if state.get("done"):
        when = f" {output.when(state['at'])}" if state.get("at") else ""
        brought = f"{output.counted(state['items'], 'item')}{', taken back' * state['undone']}"
        return f"done{when}, {brought if state['items'] else 'nothing to take in'}"
    files = state.get("files")
    return f"not yet, of {output.counted(files, 'Markdown file')}: nanomem memory backfill" if files else ""


def problem_line(entry: dict[str, Any]) -> str:
    """A problem's JSON object as one line."""
    place = str(entry["where"]) + (f":{entry['line']}" if entry.get("line") is not None else "")
    return f"{place}: {entry['what']}" + (f" ({entry['fix']})" if entry.get("fix") else "")


def list_items(
    state: State,
    kind: str | None = None,
    scope: str | None = None,
    session: str | None = None,
    source: str | None = None,
    disabled: bool = False,
    sort: str = "updated",
    limit: int | None = None,
    offset: int = 0,
    query: str = "",
) -> None:
    """The items that fit, sorted by `sort` (of SORTS), those of a foreign database too; `limit` None is all of them.

    `query`: a filter as the console takes it, or the name of one that is kept. Raises BadInput for what is neither.
    """
    with state.open() as ws:
        ws.items.known_kind(kind)
        found = [*ws.items.all(), *ws.items.foreign()]
        if query:
            found = _filtered(ws, found, query)
        note = "" if found or state.json else elsewhere_note(ws)
    if scope is not None and not (scope in SCOPES or ":" in scope or any(row.scope_key == scope for row in found)):
        raise BadInput(f"unknown scope `{scope}`", "--scope", f"one of {', '.join(SCOPES)}, or a whole scope key")
    rows = [
        row
        for row in found
        if (kind is None or row.kind == kind)
        and (scope in (None, "all", row.scope_type, row.scope_key))
        and (session is None or row.session_key == session)
        and (source is None or row.source == source)
        and not (disabled and row.enabled)
    ]
    rows.sort(key=SORTS[sort], reverse=True)
    shown = page(rows, limit, offset)
    state.show(
        [json_objects.item(row) for row in shown],
        lambda: [*item_lines(shown), output.of_total(len(shown), len(rows), "item")],
    )
    say(state, note)


def _filtered(ws: Workspace, rows: Sequence[Item], query: str) -> list[Item]:
    from nanomem_tui.memory.filters import ITEM_FIELDS, filter_rows, item_field

    named = ws.habits.filter_named(query.strip(), "items")
    return filter_rows(rows, named.text if named else query, ITEM_FIELDS, lambda row: row.text, item_field)


def item_lines(rows: Sequence[Item]) -> list[str]:
    """The items as a table; their kind and their scope only where these differ."""
    from nanomem_tui.cli.output import Column

    columns = [
        Column("ID", of=lambda row: row.id),
        Column("Text", limit=90, least=28, of=lambda row: row.text),
        Column("Kind", drop=6, optional=True, of=lambda row: row.kind if kinds else ""),
        Column("Scope", drop=5, optional=True, of=lambda row: row.scope_type if scopes else ""),
        Column("State", drop=2, optional=True, of=marks),
        Column("Source", limit=24, drop=3, of=lambda row: row.source),
        Column("Hits", right=True, of=lambda row: str(row.hits)),
        Column("Session", limit=28, least=12, drop=4, optional=True, of=lambda row: row.session_key or ""),
        Column("Updated At", drop=1, of=lambda row: output.when(row.updated_at)),
    ]
    kinds, scopes = len({row.kind for row in rows}) > 1, len({row.scope_type for row in rows}) > 1

    return output.columned(columns, rows)


def marks(row: Item) -> str:
    """What sets an item apart: disabled, superseded, waiting in the inbox, in conflict, pinned, foreign."""
    foreign = "foreign" if row.source.startswith(json_objects.FOREIGN) else ""
    from nanomem_tui.memory.retention import get_superseded

    off = "" if row.enabled else "waiting" if row.waits else "superseded" if get_superseded(row) else "disabled"
    conflict = "conflict" if "conflict" in row.meta else ""
    return " ".join(filter(None, [off, conflict, "pinned" if row.pinned else "", foreign]))


def conflicts(row: Row, edit: str) -> list[tuple[str, str]]:
    """What somebody else made of each field at the same time, for a person to settle by the command `edit`."""
    from nanomem_tui.memory import edit_conflicts

    gone = f"it was deleted at the same time by who did not know what it says now ({edit} keeps it)"
    told = "the {} was changed at the same time to: {} ({} settles it)"
    said = edit_conflicts.conflicting_values(row).items()
    return [
        ("Conflict", gone if name == edit_conflicts.GONE else told.format(name, theirs, edit)) for name, theirs in said
    ]


def search(
    state: State,
    query: str,
    channel: str | None = None,
    chat_id: str | None = None,
    sender_id: str | None = None,
    scope: str = "all",
    kind: str | None = None,
    explain: bool = False,
    limit: int = 20,
    offset: int = 0,
    since: str = "",
    until: str = "",
) -> None:
    """The items that fit `query`, best first; `explain`: with the parts of each score. Raises BadInput: `since` or
    `until` is no date."""
    with state.open() as ws, ws.store.kept_open():
        asked = limit + offset if state.json else max(limit + offset, COUNTED_HITS)
        from nanomem_tui.memory.scopes import Audience

        span = within(ws, since, until)
        found = ws.items.asked(
            query,
            channel=channel,
            chat_id=chat_id,
            sender_id=sender_id,
            scope=scope,
            kind=kind,
            limit=asked,
            within=span,
        )
        every, time = found.hits, found.time
        hits = every[offset : offset + limit]
        note = "" if every or state.json else elsewhere_note(ws, query, Audience(channel, chat_id, sender_id))
    body = [json_objects.hit(one) | ({"time": time.to_json()} if time and "time" in one.parts else {}) for one in hits]
    state.show(body, lambda: [*time_lines(time, span), *(_hit_lines(hits, explain) or ["Nothing found."])])
    if len(every) > len(hits) and not state.json:
        total = f"more than {len(every):,}" if len(every) == asked else f"{len(every):,}"
        output.notes([f"{len(hits):,} of {total}: --limit N and --offset N show others"])
    if not state.json:
        output.notes(spelling_lines(found.corrected))
    say(state, note)


def within(ws: Workspace, since: str, until: str) -> Span | None:
    """The days of --since and --until; None where neither is given. Raises BadInput."""
    if not since and not until:
        return None
    from nanomem_tui.memory.recall import times

    return times.parse_span(ws.paths, since, until)


def time_lines(asked: TimeAsked | None, within: Span | None = None) -> list[str]:
    """The time that a question names, and the days that it is kept to, as they were understood."""
    told = [asked.line()] if asked is not None else []
    if within is not None:
        from nanomem_tui.language.times_asked import in_words

        told.append(f"only {in_words(within)}")
    return [f"Time: {', '.join(told)}"] if told else []


def spelling_lines(corrected: Mapping[str, str]) -> list[str]:
    """Which words of a query were read as others."""
    return [f"Read as: {', '.join(f'{word} → {meant}' for word, meant in corrected.items())}"] if corrected else []


def _hit_lines(hits: Sequence[Hit], explain: bool) -> list[str]:
    from nanomem_tui.cli.output import Column

    columns = [
        Column("Score", right=True, of=lambda h: f"{h.score:.3f}"),
        Column("ID", of=lambda h: h.item.id),
        Column("Kind", drop=2, of=lambda h: h.item.kind),
        Column("Scope", drop=3, of=lambda h: h.item.scope_type),
        Column("Updated", drop=1, of=lambda h: output.when(h.item.updated_at)),
        Column("Content", limit=120, least=28, of=lambda h: h.item.text),
    ]

    lines = output.columned(columns, hits)
    if not explain:
        return lines
    parts = ["       " + ", ".join(f"{name} {_part(value)}" for name, value in h.parts.items()) for h in hits]
    return lines[:1] + [line for pair in zip(lines[1:], parts, strict=True) for line in pair]


def _part(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, dict):
        return " ".join(f"{one} for {other}" for one, other in value.items())
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
