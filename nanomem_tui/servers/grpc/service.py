"""What each rpc of the memory service does, from message to message.

Owns the calls of the workspace's parts and the size of an answer. Must not know a connection: see `server`.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import quote, unquote

from nanomem_tui.core import clock, errors
from nanomem_tui.core.errors import BadInput, NotFound, Refused
from nanomem_tui.core.text import one_line
from nanomem_tui.language import secrets
from nanomem_tui.servers.grpc import memory_pb2 as pb
from nanomem_tui.store.work.kinds import KINDS, RECORD_KINDS, Kind, Tier, kind_of
from nanomem_tui.store.work.values import MAX_TEXT, plain
from nanomem_tui.tiers.context_fitting import instructing_reason
from nanomem_tui.tiers.operational import CATEGORIES

if TYPE_CHECKING:
    from nanomem_tui.store.work.values import KnowledgeHit, TierHit, TierRecord
    from nanomem_tui.workspace import Workspace


# -- Records as messages of the gRPC service, and back: JSON as bytes, times as seconds since 1970 --------------------

_NAMES = {"tool-call": "ToolCallRecord"}
MESSAGES: Mapping[str, Any] = {
    name: getattr(pb, _NAMES.get(name) or name.title().replace("-", "")) for name in RECORD_KINDS
}
"""The message of each kind of record."""
OURS = 20
"""From this number on the fields of a message are ours: another client does not know them, and clears none of them."""
RECENT, PAGE, FOUND, TOKENS = 100, 50, 5, 4_000
"""How many entries, records and hits, and how many tokens of context, where a client does not say."""
_COUNTED = frozenset({"avg_duration_ms", "last_used"})
"""What is counted of a procedure or a pattern beside what each must have: who stores its words anew clears no count."""


class _Member(NamedTuple):
    """A field of a kind and the field of its message. `keeps`: one that was not given leaves what is there."""

    name: str
    attribute: str
    type: str
    optional: bool
    keeps: bool


def _members(kind: Kind) -> tuple[_Member, ...]:
    found = []
    for message_field in MESSAGES[kind.name].DESCRIPTOR.fields:
        field = kind.field(message_field.name.removesuffix("_json"))
        if field is not None:
            type_ = "list" if field.type == "json" and not message_field.name.endswith("_json") else field.type
            keeps = message_field.number >= OURS or field.required or field.name in _COUNTED
            found.append(_Member(field.name, message_field.name, type_, message_field.has_presence, keeps))
    return tuple(found)


_MEMBERS = {name: _members(KINDS[name]) for name in RECORD_KINDS}


def fields_of(kind: str, message: Any) -> dict[str, Any]:
    """The fields of the record in a message. Raises BadInput for what is no JSON or no time."""
    fields: dict[str, Any] = {}
    for member in _MEMBERS[kind]:
        value = getattr(message, member.attribute)
        if member.optional and not message.HasField(member.attribute):
            value = None
        elif member.type == "json":
            value = from_json(value, member.attribute)
        elif member.type == "time":
            value = iso(value, member.attribute)
        elif member.type == "list":
            value = list(value) or None
        elif value == "":
            value = None
        if value is not None or not member.keeps:
            fields[member.name] = value
    if kind == "pattern" and fields.get("uses") and "success_rate" not in fields:
        fields["success_rate"] = 0.0  # a client of aiOS, which tells the uses of a pattern, does not send a 0
    return fields


def message_of(kind: str, record_id: str, fields: Mapping[str, Any]) -> Any:
    """The message of a record. Raises BadInput for a field that the message does not have, and what cannot be sent."""
    values: dict[str, Any] = {}
    given = {name: value for name, value in fields.items() if value is not None}
    for member in _MEMBERS[kind]:
        value = given.pop(member.name, None)
        if value is None:
            continue
        if member.type == "json":
            value = to_json(value, member.name)
        elif member.type == "time":
            value = seconds(value, member.name)
        values[member.attribute] = value
    if given:
        names = ", ".join(member.name for member in _MEMBERS[kind])
        raise BadInput(f"a {kind} has no field `{one_line(min(given), 40)}`", "", f"its fields: {names}")
    if record_id and kind != "agent-state":
        values["id"] = record_id
    try:
        return MESSAGES[kind](**values)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInput(f"that cannot be sent as a {kind}", error_words(error)) from error


def values_of(kind: str, message: Any) -> dict[str, Any]:
    """The record in a message as a client gets it: its id and its fields, absent ones None."""
    fields: dict[str, Any] = {"id": message.id} if kind != "agent-state" else {}
    return {**fields, **dict.fromkeys((member.name for member in _MEMBERS[kind]), None), **fields_of(kind, message)}


def from_json(data: bytes, name: str) -> Any:
    """The JSON value in a field; None where it is empty. Raises BadInput."""
    if not data:
        return None
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_no_number)
    except RecursionError:
        raise BadInput(f"{name} is nested too deeply", "", "give flatter JSON") from None
    except ValueError as error:
        raise BadInput(f"{name} is no JSON", error_words(error), "give UTF-8 JSON, one value") from None


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def to_json(value: Any, name: str) -> bytes:
    """A value as UTF-8 JSON without spacing. Raises BadInput for what is none."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"{name} cannot be written as JSON", error_words(error)) from None


def error_words(error: Exception) -> str:
    """What is wrong with a value that cannot be read or sent, in words."""
    said = str(error)
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UnicodeError):
        return "a text in it is no UTF-8"
    if isinstance(error, OverflowError) or "integer string conversion" in said:
        return "a number in it is too large"
    return one_line(said, 120)


def iso(moment: int, name: str) -> str | None:
    """Seconds since 1970 as the time of a record; None for 0, which stands for none. Raises BadInput."""
    if not moment:
        return None
    try:
        return clock.iso(datetime.fromtimestamp(moment, UTC))
    except (ValueError, OverflowError, OSError):
        raise BadInput(f"{name} is no time", str(moment), "give seconds since 1970, no milliseconds") from None


def seconds(value: Any, name: str) -> int:
    """A time as seconds since 1970: of a number of them, a datetime, or ISO text; 0 for None. Raises BadInput."""
    if value is None:
        return 0
    if isinstance(value, (int, float)) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return int(value)
    moment = value if isinstance(value, datetime) else clock.parse(value)
    if moment is None:
        raise BadInput(
            f"{name} is no time", one_line(str(value), 40), "give a datetime, ISO text, or seconds since 1970"
        )
    return int(moment.timestamp() // 1)


def seconds_of(text: str | None) -> int:
    """The time of a record as seconds since 1970; 0 where it has none."""
    moment = clock.parse(text)
    return int(moment.timestamp() // 1) if moment is not None else 0


def where_of(kind: Kind, where: Mapping[str, str]) -> dict[str, Any]:
    """What a query compares, in the types of the fields; an empty text stands for no value. Raises BadInput."""
    found: dict[str, Any] = {}
    for name, text in where.items():
        field = kind.field(name)
        if field is None:
            names = ", ".join(one.name for one in kind.fields if one.type != "json")
            raise BadInput(f"a {kind.name} has no field `{one_line(name, 40)}`", "where", f"one of {names}")
        if not text:
            found[name] = None
            continue
        try:
            found[name] = _READ[field.type](text)
        except (ValueError, KeyError):
            raise BadInput(f"{name} cannot be {one_line(text, 40)}", "where", _WANTED.get(field.type, "")) from None
    return found


_READ: Mapping[str, Any] = {
    "text": str, "json": str, "time": str, "int": int, "real": float, "bool": {"true": True, "false": False}.__getitem__
}  # fmt: skip
_WANTED = {"int": "give a whole number", "real": "give a number", "bool": "give true or false"}


def normalized_entry(category: str, data: Any) -> tuple[str, Any]:
    """Category and data of an entry as they are kept. Agents of the real system name categories of their own, such as
    `security.scan_complete`: those are events of that type."""
    if category in CATEGORIES:
        return category, data
    if isinstance(data, dict) and "type" not in data:
        return "event", {"type": category, **data}
    return "event", {"type": category, "data": data}


MOST_BYTES = 4 * 1024 * 1024
"""Bytes of a message, either way."""
_ROOM = MOST_BYTES - 64 * 1024
MOST_RECENT, MOST_PAGE, MOST_FOUND, MOST_TOKENS = 10_000, 1_000, 100, 1_000_000
MOST_LISTED = 20_000
"""Goals or tasks that are looked at for one list."""
KNOWLEDGE = "knowledge"
"""The collection of what SearchKnowledge finds."""
MIB, GIB = 2**20, 2**30
SLICE = 100
"""Records that are read at a time."""
QUICK = 200
"""So many entries are given without a thread."""
Where = Literal["here", "aside", "alone"]
"""Where an rpc is answered: on the loop, on a thread, on the one thread that uses the memory itself."""


class Rpc(NamedTuple):
    """How an rpc is answered: `work` from its request, at the place that `where` names for that request."""

    work: Callable[[Any], Any]
    where: Callable[[Any], Where]

    def answer(self, request: Any) -> tuple[bytes, str]:
        """The answer as it is sent, and the id that a record was given, empty where the client named it."""
        found = self.work(request)
        return (b"", found.id) if isinstance(found, Stored) else (found.SerializeToString(), "")


def _aside(_: Any) -> Where:
    return "aside"


def _alone(_: Any) -> Where:
    return "alone"


def _few(asked: pb.GetRecentRequest) -> Where:
    return "here" if asked.count + asked.offset <= QUICK else "aside"


class MemoryService:
    """The rpcs over one workspace. Each may be called from any thread."""

    def __init__(self, ws: Workspace) -> None:
        self._ws = ws
        _ = ws.records, ws.operational, ws.meaning  # made here, not by two threads at once
        stores = {
            "StoreGoal": "goal",
            "StoreTask": "task",
            "StoreToolCall": "tool-call",
            "StoreDecision": "decision",
            "StorePattern": "pattern",
            "StoreAgentState": "agent-state",
            "StoreProcedure": "procedure",
            "StoreIncident": "incident",
            "StoreConfigChange": "config-change",
        }
        self.rpcs: Mapping[str, Rpc] = {
            "PushEvent": Rpc(self._push_event, _aside),  # one that is critical, or for which there is no room, waits
            "GetRecentEvents": Rpc(self._recent, _few),
            "UpdateMetric": Rpc(self._update_metric, _aside),
            "GetMetric": Rpc(self._metric, lambda _: "here"),
            "GetSystemSnapshot": Rpc(self._snapshot, _aside),
            **{name: Rpc(self._storing(kind), _aside) for name, kind in stores.items()},
            "UpdateGoal": Rpc(self._update_goal, _aside),
            "GetActiveGoals": Rpc(self._active_goals, _aside),
            "GetTasksForGoal": Rpc(self._tasks, _aside),
            "FindPattern": Rpc(self._find_pattern, _aside),
            "UpdatePatternStats": Rpc(self._pattern_used, _aside),
            "GetAgentState": Rpc(self._agent_state, _aside),
            "QueryWorking": Rpc(lambda asked: self._query(asked, "working"), _aside),
            "QueryLongTerm": Rpc(lambda asked: self._query(asked, "longterm"), _aside),
            "SemanticSearch": Rpc(self._search, _alone),
            "SearchKnowledge": Rpc(self._search_knowledge, _aside),
            "AddKnowledge": Rpc(self._add_knowledge, _alone),
            "AssembleContext": Rpc(self._assemble, _alone),
        }

    # -- operational memory -------------------------------------------------------------------------------------------

    def _push_event(self, event: pb.Event) -> pb.Empty:
        data = from_json(event.data_json, "data_json")
        category, data = normalized_entry(_needed(event.category, "category"), {} if data is None else data)
        self._ws.operational.push(category, data, event.source, critical=event.critical)
        return pb.Empty()

    def _recent(self, asked: pb.GetRecentRequest) -> pb.EventList:
        count, offset = _number(asked.count, "count", RECENT, MOST_RECENT), _offset(asked, MOST_RECENT)
        since = iso(asked.since, "since")
        known = not asked.category or asked.category in CATEGORIES
        category = (asked.category if known else "event") or None
        found = self._ws.operational.recent(count + offset if known else None, category, asked.source or None, since)
        if not known:  # as `told` keeps it
            found = [one for one in found if isinstance(one.data, dict) and one.data.get("type") == asked.category]
        events, more = _fitting(
            pb.Event(
                id=entry.id,
                timestamp=seconds_of(entry.at),
                category=entry.category,
                source=entry.source,
                data_json=to_json(entry.data, "data_json"),
                critical=entry.critical,
            )
            for entry in found[offset : count + offset]
        )
        return pb.EventList(events=events, more=more)

    def _update_metric(self, told: pb.MetricUpdate) -> pb.Empty:
        data = {"name": _needed(told.key, "key"), "value": told.value}
        self._ws.operational.push("metric", {**data, "unit": told.unit} if told.unit else data, told.source)
        return pb.Empty()

    def _metric(self, asked: pb.MetricRequest) -> pb.MetricValue:
        found = self._ws.operational.metric(_needed(asked.key, "key"))
        if found is None:
            raise NotFound("no such metric", one_line(asked.key, 80), "nobody told its value within the last hour")
        at = seconds_of(found.at)
        return pb.MetricValue(key=found.name, value=found.value, timestamp=at, unit=found.unit or "")

    def _snapshot(self, _: pb.Empty) -> pb.SystemSnapshot:
        operational = self._ws.operational
        found = _snapshot_of(operational.snapshot(), {metric.name: metric.value for metric in operational.metrics()})
        if model := self._ws.meaning.model:
            found.loaded_models.append(one_line(model, 200))
        return found

    # -- records ------------------------------------------------------------------------------------------------------

    def _storing(self, kind: str) -> Callable[[Any], Stored]:
        def store(message: Any) -> Stored:
            given = "" if kind == "agent-state" else message.id
            record = self._ws.records.store(kind, fields_of(kind, message), given)
            return Stored("" if given else record.id)

        return store

    def _update_goal(self, told: pb.GoalUpdate) -> pb.Empty:
        fields = {name: text for name, text in (("status", told.status), ("result", told.result)) if text}
        self._ws.records.update("goal", _needed(told.id, "id"), fields)
        return pb.Empty()

    def _active_goals(self, asked: pb.ActiveGoalsRequest) -> pb.GoalList:
        found = self._ws.records.goals(limit=MOST_LISTED + 1)
        goals, more = _fitting(map(_message, found[_offset(asked) : MOST_LISTED]))
        return pb.GoalList(goals=goals, more=more or len(found) > MOST_LISTED)

    def _tasks(self, asked: pb.GoalIdRequest) -> pb.TaskList:
        found = self._ws.records.tasks_of(_needed(asked.goal_id, "goal_id"), MOST_LISTED + 1, _offset(asked))
        tasks, more = _fitting(map(_message, found[:MOST_LISTED]))
        return pb.TaskList(tasks=tasks, more=more or len(found) > MOST_LISTED)

    def _find_pattern(self, asked: pb.PatternQuery) -> pb.PatternResult:
        found = self._ws.records.find_pattern(_needed(asked.trigger, "trigger"), asked.min_success_rate)
        return pb.PatternResult(found=False) if found is None else pb.PatternResult(pattern=_message(found), found=True)

    def _pattern_used(self, told: pb.PatternStatsUpdate) -> pb.Empty:
        self._ws.records.pattern_used(_needed(told.id, "id"), told.success)
        return pb.Empty()

    def _agent_state(self, asked: pb.AgentStateRequest) -> pb.AgentState:
        name = _needed(asked.agent_name, "agent_name")
        record = self._ws.records.get("agent-state", name)
        if record.id != name:  # a name that only begins so is another agent's
            raise NotFound("no state of that agent", one_line(name, 80), "none was stored")
        state: pb.AgentState = _message(record)
        return state

    def _query(self, asked: pb.QueryRequest, tier: Tier) -> pb.QueryResponse:
        limit, offset = _number(asked.limit, "limit", PAGE, MOST_PAGE), _offset(asked)
        since, until = iso(asked.since, "since") or "", iso(asked.until, "until") or ""
        if asked.text:
            found = iter(self._by_words(asked, tier, limit + 1, since, until))
        else:
            kind = kind_of(_needed(asked.kind, "kind"))
            where = where_of(kind, asked.where)
            ask = partial(self._ws.records.list_records, kind.name, tier, where, since, until)
            found = _in_slices(ask, limit + 1, offset)
        records, more = _fitting(map(_record, itertools.islice(found, limit)))
        return pb.QueryResponse(records=records, more=more or next(found, None) is not None)

    def _by_words(self, asked: pb.QueryRequest, tier: Tier, limit: int, since: str, until: str) -> Sequence[TierRecord]:
        offset = _offset(asked, MOST_PAGE + 1 - limit)
        if asked.where and not asked.kind:
            raise BadInput("which fields there are depends on the kind", "where", "name a kind too")
        kinds = [kind_of(asked.kind).name] if asked.kind else []
        where = where_of(kind_of(asked.kind), asked.where) if kinds else {}
        hits = self._ws.records.search(asked.text, kinds, tier, offset + limit, where, since, until)
        return [hit.record for hit in hits[offset:]]

    # -- searching ----------------------------------------------------------------------------------------------------

    def _search(self, asked: pb.SearchRequest) -> pb.SearchResponse:
        number, offset = _results(asked)
        answer = self._ws.records.semantic_search(_needed(asked.query, "query"), list(asked.collections), number)
        found = [hit for hit in answer.hits if hit.score >= asked.min_relevance]
        results, more = _fitting(map(_result, found[offset:]))
        return pb.SearchResponse(results=results, note=one_line(answer.note, 300), more=more)

    def _search_knowledge(self, asked: pb.SearchRequest) -> pb.SearchResponse:
        number, offset = _results(asked)
        sources = [name for name in asked.collections if name != KNOWLEDGE]
        hits = self._ws.knowledge.search(_needed(asked.query, "query"), number, sources)
        found = [hit for hit in hits if hit.score >= asked.min_relevance]
        results, more = _fitting(map(_chunk, found[offset:]))
        return pb.SearchResponse(results=results, more=more)

    def _add_knowledge(self, entry: pb.KnowledgeEntry) -> pb.Empty:
        tags = f"\n\nTags: {', '.join(entry.tags)}\n" if entry.tags else ""
        for name in ("title", "content", "source"):
            if (size := len(getattr(entry, name).encode())) > MAX_TEXT:
                raise BadInput(f"`{name}` has {size:,} bytes", "", f"give at most {MAX_TEXT:,}, or several documents")
        text = _needed(entry.content, "content") + tags
        self._ws.knowledge.add_text(text, entry.source, entry.title, actor="agent")
        return pb.Empty()

    def _assemble(self, asked: pb.ContextRequest) -> pb.ContextResponse:
        task = _needed(asked.task_description, "task_description")
        most = _number(asked.max_tokens, "max_tokens", TOKENS, MOST_TOKENS)
        found = self._ws.context.assemble(task, most, list(asked.memory_tiers))
        chunks, more = _fitting(
            pb.ContextChunk(
                source=chunk.source,
                content=chunk.content,
                relevance=chunk.relevance,
                tokens=chunk.tokens,
                id=chunk.id,
                warning=instructing_reason(chunk.source, chunk.content),
            )
            for chunk in found.chunks
        )
        total = sum(chunk.tokens for chunk in chunks)
        return pb.ContextResponse(chunks=chunks, total_tokens=total, counted_by=found.counted_by, more=more)


class MemoryServiceStub(SimpleNamespace):
    """The rpcs of the service on a channel of gRPC, each a function from message to message by its name."""

    def __init__(self, channel: Any) -> None:
        service = pb.DESCRIPTOR.services_by_name["MemoryService"]
        for rpc in service.methods:
            asked, answered = (getattr(pb, message.name) for message in (rpc.input_type, rpc.output_type))
            path = f"/{service.full_name}/{rpc.name}"
            setattr(self, rpc.name, channel.unary_unary(path, asked.SerializeToString, answered.FromString))


class Stored(NamedTuple):
    """A record is kept; `id`: that which it was given, empty where the client named it."""

    id: str


def _message(record: TierRecord) -> Any:
    return message_of(record.kind, record.id, record.fields)


def _record(record: TierRecord) -> pb.Record:
    json = to_json(record.to_json(), "record")
    return pb.Record(kind=record.kind, id=record.id, tier=record.tier, json=json)


def _result(hit: TierHit) -> pb.SearchResult:
    record = hit.record
    content = "\n".join(filter(None, (plain(record.fields.get(name)) for name in KINDS[record.kind].words)))
    json = to_json(record.to_json(), "record")
    if len(json) + len(content.encode()) > _ROOM:  # what was found comes before what else is known of it
        json = b""
    return pb.SearchResult(
        content=secrets.mask(content), metadata_json=json, relevance=min(1.0, hit.score), collection=record.kind,
        id=record.id, warning=instructing_reason(f"{record.tier}/{record.kind}/{record.id}", content),
    )  # fmt: skip


def _chunk(hit: KnowledgeHit) -> pb.SearchResult:
    names = ("title", "source", "section", "line_from", "line_to", "kind", "document_id")
    place = to_json({name: getattr(hit, name) for name in names}, "place")
    why = instructing_reason(f"{KNOWLEDGE}/{hit.title}#{hit.section}", hit.text)
    return pb.SearchResult(
        content=secrets.mask(hit.text),
        metadata_json=place,
        relevance=hit.score,
        collection=KNOWLEDGE,
        id=hit.id,
        warning=why,
    )


def _in_slices(ask: Callable[..., list[TierRecord]], limit: int, offset: int) -> Iterator[TierRecord]:
    """Records as `ask` gives them, few of which are held at a time; each once, though the table grows meanwhile."""
    seen: set[str] = set()
    while limit > 0:
        found = ask(limit=min(limit, SLICE), offset=offset)
        yield from (record for record in found if record.id not in seen)
        seen.update(record.id for record in found)
        limit, offset = limit - len(found) if len(found) == SLICE else 0, offset + len(found)


def _fitting(messages: Iterable[Any]) -> tuple[list[Any], bool]:
    """The first messages that one answer has room for, and whether there are more."""
    kept: list[Any] = []
    room = _ROOM
    for message in messages:
        room -= message.ByteSize() + 8
        if room < 0 and not kept:
            size = _ROOM - room
            raise Refused(
                f"the record has {size:,} bytes, and a message 4 MB", message.id, "read it at the command line"
            )
        if room < 0:
            return kept, True
        kept.append(message)
    return kept, False


def _needed(text: str, name: str) -> str:
    if not text.strip():
        raise BadInput(f"`{name}` is empty", "", "give it")
    return text


def _number(number: int, name: str, otherwise: int, most: int) -> int:
    if not 0 <= number <= most:
        raise BadInput(f"`{name}` cannot be {number:,}", "", f"give at most {most:,}, or 0 for {otherwise:,}")
    return number or otherwise


def _offset(asked: Any, most: int = 2**31) -> int:
    if not 0 <= asked.offset <= most:
        raise BadInput(f"`offset` cannot be {asked.offset:,}", "", f"give at most {most:,}")
    return int(asked.offset)


def _results(asked: pb.SearchRequest) -> tuple[int, int]:
    """How many results a search is to find, and how many of them are passed over."""
    number = _number(asked.n_results, "n_results", FOUND, MOST_FOUND)
    offset = _offset(asked, MOST_FOUND - number)
    return number + offset, offset


def _snapshot_of(known: Mapping[str, Any], metrics: Mapping[str, float]) -> pb.SystemSnapshot:
    """What is known, in the fields of the message where they have one; else what a client of aiOS measured."""

    def metric_value(name: str, unit: int, metric: str) -> float:
        value = known.get(name)
        return value / unit if value is not None else metrics.get(metric, 0.0)

    gpus = (value for name, value in metrics.items() if name.startswith("gpu.") and name.endswith(("percent", "ation")))
    return pb.SystemSnapshot(
        cpu_percent=metric_value("cpu_percent", 1, "cpu.usage"),
        memory_used_mb=metric_value("memory_used", MIB, "memory.used_mb"),
        memory_total_mb=metric_value("memory_total", MIB, "memory.total_mb"),
        disk_used_gb=metric_value("disk_used", GIB, "disk.used_gb"),
        disk_total_gb=metric_value("disk_total", GIB, "disk.total_gb"),
        gpu_utilization=max(gpus, default=0.0),
        active_tasks=_integer(known.get("active_tasks") or metrics.get("tasks.active", 0)),
        active_agents=_integer(known.get("agents") or metrics.get("agents.active", 0)),
        snapshot_json=to_json(known, "snapshot"),
    )


def _integer(number: float) -> int:
    return int(max(0, min(number, 2**31 - 1)))


# Errors on their way through gRPC: as a status with one line and trailing metadata, and as errors of our tree again.

PREFIX = "nanomem-error-"
MOST = 500
"""Characters of each part of an error."""
PRINTABLE = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")


class Unauthenticated(errors.AccessDenied):
    """A call without the right token."""


_CODES: tuple[tuple[type[errors.NanomemError], str], ...] = (
    (Unauthenticated, "UNAUTHENTICATED"),
    (errors.NotFound, "NOT_FOUND"),
    (errors.Conflict, "ABORTED"),
    (errors.BadInput, "INVALID_ARGUMENT"),
    (errors.Refused, "FAILED_PRECONDITION"),
    (errors.NothingToDo, "FAILED_PRECONDITION"),
    (errors.MissingExtra, "FAILED_PRECONDITION"),
    (errors.NewerDatabase, "FAILED_PRECONDITION"),
    (errors.DiskFull, "RESOURCE_EXHAUSTED"),
    (errors.AccessDenied, "PERMISSION_DENIED"),
    (errors.CorruptDatabase, "DATA_LOSS"),
    (errors.StoreError, "UNAVAILABLE"),
    (errors.ModelError, "UNAVAILABLE"),
)
_KINDS: Mapping[str, type[errors.NanomemError]] = {
    name: kind
    for name, kind in {**vars(errors), "Unauthenticated": Unauthenticated}.items()
    if isinstance(kind, type) and issubclass(kind, errors.NanomemError)
}
UNFORESEEN = "the memory cannot answer that: the log of its service says why"


def status_of(error: BaseException, rpc: str) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """The name of the status code, the line and the trailing metadata for an error of a call of `rpc`."""
    known = _as_ours(error)
    if known is None:
        line = one_line(f"nanomem: {rpc}: {type(error).__name__}: {error}", MOST)
        print(line, file=sys.stderr, flush=True)
        return "INTERNAL", UNFORESEEN, ()
    code = next((name for kind, name in _CODES if isinstance(known, kind)), "INTERNAL")
    parts = {"kind": type(known).__name__, "what": known.what, "where": known.where, "fix": known.fix}
    told = ((f"{PREFIX}{name}", quote(one_line(text, MOST), PRINTABLE)[:1_500]) for name, text in parts.items() if text)
    return code, one_line(known.line(), MOST), tuple(told)


def _as_ours(error: BaseException) -> errors.NanomemError | None:
    """The error as one of our tree; None for one that nobody foresaw, of which the client is told nothing."""
    if isinstance(error, errors.NanomemError):
        return error
    if isinstance(error, OSError):
        found = errors.shown_error(error)
        return found if isinstance(found, (errors.DiskFull, errors.AccessDenied)) else None
    return None


def from_status(code: str, line: str, metadata: Iterable[tuple[str, Any]], where: str) -> errors.NanomemError:
    """The error of a call as one of our tree; `where`: the address that was called."""
    told = {name.removeprefix(PREFIX): unquote(str(text)) for name, text in metadata if name.startswith(PREFIX)}
    if kind := _KINDS.get(told.get("kind", "")):
        return kind(told.get("what", line), told.get("where", ""), told.get("fix", ""))
    said = one_line(line, 200)
    if code == "UNAVAILABLE":
        return errors.Refused("no service answers", where, "start it: nanomem serve grpc")
    if code == "DEADLINE_EXCEEDED":
        return errors.Refused("the service did not answer in time", where, "ask again, with a longer timeout")
    if code == "CANCELLED":
        return errors.Refused("the call was cancelled", where)
    if code == "RESOURCE_EXHAUSTED" and "larger than max" in line:
        return errors.BadInput("the message is larger than 4 MB", where, "send less at once")
    if code == "RESOURCE_EXHAUSTED":
        return errors.Refused("the service has too many calls at once", where, "ask again in a moment")
    return errors.NanomemError(f"the service failed ({code})", where, said)
