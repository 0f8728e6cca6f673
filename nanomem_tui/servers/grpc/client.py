"""A client of the memory service: a method for each rpc, with plain values, and errors of our own tree.

Owns a channel to one service of this machine. Must not open a workspace: whoever serves it does.

    with MemoryClient("~/.nanobot/workspace") as memory:
        goal = memory.store_goal("Renew the certificates", priority=1)
        memory.store_task("Ask the registrar", goal_id=goal, agent="web")
        memory.assemble_context("renew certificates", max_tokens=800)
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from nanomem_tui.core import paths
from nanomem_tui.core.errors import BadInput, MissingExtra, NotFound, Refused, extra_command
from nanomem_tui.core.text import one_line
from nanomem_tui.servers import http
from nanomem_tui.servers.grpc import server

try:
    import grpc

    from nanomem_tui.servers.grpc import memory_pb2 as pb
    from nanomem_tui.servers.grpc import service
    from nanomem_tui.servers.grpc import service as values
except ImportError as error:
    what = "the libraries of gRPC (grpcio 1.85.1 or later) are not installed"
    raise MissingExtra(what, "MemoryClient", extra_command("grpc")) from error

Time = datetime | str | float | None
"""A datetime, ISO text, or seconds since 1970; None: not given."""
Record = dict[str, Any]
"""The id and the fields of a record; times are UTC ISO text, JSON is parsed, what is absent is None."""


class MemoryClient(AbstractContextManager["MemoryClient"]):
    """The memory that `nanomem serve grpc` serves. Methods may be called from any thread.

    Each raises errors of `nanomem_tui.core.errors`: those of the service as they were raised there, Refused where none
    answers or not in time, AccessDenied without the right token.
    """

    def __init__(
        self,
        workspace: str | Path | None = None,
        *,
        socket: str | Path | None = None,
        tcp: str | int | None = None,
        token: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        """Connects at the first call: to the socket of a workspace (the usual one where none is named), to `socket`,
        or to `tcp`, a port of this machine. `token`: that for `tcp`, else NANOMEM_TOKEN, else that of the workspace.
        `timeout`: seconds that a call may take. Raises BadInput for another machine, NotFound without a token."""
        self._timeout = timeout
        self._metadata: tuple[tuple[str, str], ...] = ()
        if tcp is not None:
            host, _, port = str(tcp).rpartition(":")
            if host not in ("", "127.0.0.1", "localhost"):
                raise BadInput("a token is sent to this machine alone", str(tcp), "forward the port with ssh")
            if not (port.isascii() and port.isdecimal() and 0 < int(port) < 65_536):
                raise BadInput("no such port", one_line(str(tcp), 60), "give a number from 1 to 65535")
            self._where = target = f"127.0.0.1:{port}"
            word = token or _token(workspace)
            if not all("!" <= char <= "~" for char in word):
                raise BadInput(
                    "a token is ASCII without blanks", "", "give what the file grpc.token holds, in one line"
                )
            self._metadata = (("authorization", f"Bearer {word}"),)
        else:
            path = (
                Path(socket).expanduser()
                if socket
                else server.usual_socket(paths.find_workspace(workspace, starting=True))
            )
            self._where = str(path)
            target = server.socket_address(path.absolute())
        options = [("grpc.enable_http_proxy", 0), ("grpc.max_reconnect_backoff_ms", 1_000)]
        self._channel = grpc.insecure_channel(target, options)
        self._stub = service.MemoryServiceStub(self._channel)

    def close(self) -> None:
        """Let go of the connection."""
        self._channel.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, rpc: str, request: Callable[[], Any]) -> tuple[Any, str]:
        """The answer to a request, and the id that the service made."""
        try:
            message = request()
        except (TypeError, ValueError, OverflowError) as error:
            raise BadInput(f"that cannot be sent to {rpc}", values.error_words(error)) from error
        try:
            answer, call = getattr(self._stub, rpc).with_call(message, timeout=self._timeout, metadata=self._metadata)
        except grpc.RpcError as error:
            code, line = error.code().name, error.details() or ""
            raise service.from_status(code, line, error.trailing_metadata() or (), self._where) from error
        except ValueError as error:
            raise Refused("the client is closed", self._where, "make a new one") from error
        return answer, next((text for name, text in call.trailing_metadata() or () if name == "nanomem-id"), "")

    def _all(self, rpc: str, name: str, request: Callable[[int, int], Any], most: int = 0) -> list[Any]:
        """The first `most` messages of a list, 0: all of it; `request` asks for so many after so many others.

        Each comes once, though others are stored meanwhile.
        """
        found: dict[tuple[str, str], Any] = {}
        offset = 0
        while True:
            answer = self._ask(rpc, partial(request, most - len(found), offset))[0]
            part = getattr(answer, name)
            found.update({(getattr(one, "kind", getattr(one, "collection", "")), one.id): one for one in part})
            offset += len(part)
            if not answer.more or 0 < most <= len(found):
                return list(found.values())
            if not part:
                raise Refused("there are more than the list has", self._where, "ask for them by query_working")

    def _store(self, rpc: str, kind: str, id: str, **fields: Any) -> str:
        return self._ask(rpc, lambda: values.message_of(kind, id, fields))[1] or id

    # -- operational memory -------------------------------------------------------------------------------------------

    def push_event(self, category: str, data: Any, source: str = "", *, critical: bool = False) -> None:
        """Note what happens; `category`: metric, event, task or tool_result."""
        raw = values.to_json(data, "data")
        self._ask("PushEvent", lambda: pb.Event(category=category, source=source, data_json=raw, critical=critical))

    def get_recent_events(
        self, count: int = 100, category: str = "", source: str = "", since: Time = None
    ) -> list[dict[str, Any]]:
        """The newest entries, newest first: id, at, category, source, data and critical of each."""
        at = values.seconds(since, "since")
        asked = partial(pb.GetRecentRequest, category=category, source=source, since=at)
        found = self._all(
            "GetRecentEvents", "events", lambda left, offset: asked(count=left, offset=offset), count or values.RECENT
        )
        return [
            {
                "id": event.id,
                "at": values.iso(event.timestamp, "timestamp"),
                "category": event.category,
                "source": event.source,
                "data": json.loads(event.data_json),
                "critical": event.critical,
            }
            for event in found
        ]

    def update_metric(self, name: str, value: float, unit: str = "", source: str = "") -> None:
        """Set the newest value of a metric."""
        self._ask("UpdateMetric", lambda: pb.MetricUpdate(key=name, value=value, unit=unit, source=source))

    def get_metric(self, name: str) -> dict[str, Any]:
        """The newest value of a metric: name, value, unit, at. Raises NotFound."""
        found = self._ask("GetMetric", lambda: pb.MetricRequest(key=name))[0]
        at = values.iso(found.timestamp, "timestamp")
        return {"name": found.key, "value": found.value, "unit": found.unit, "at": at}

    def get_system_snapshot(self) -> dict[str, Any]:
        """How the machine and its agents do now."""
        known: dict[str, Any] = json.loads(self._ask("GetSystemSnapshot", pb.Empty)[0].snapshot_json or b"{}")
        return known

    # -- records ------------------------------------------------------------------------------------------------------
    # Each store_ keeps a record and returns its id. `id`: of one that is there the fields are replaced; a status, a
    # priority, steps, counts, `procedure_id` and `important` stay as they are where they are None.

    def store_goal(
        self, description: str, *, id: str = "", status: str | None = None, priority: int | None = None,
        created_at: Time = None, completed_at: Time = None, result: str | None = None, metadata: Any = None,
    ) -> str:  # fmt: skip
        """Keep a goal. A new one is pending, with priority 2; 0 is the most urgent."""
        return self._store(
            "StoreGoal", "goal", id, description=description, status=status, priority=priority, created_at=created_at,
            completed_at=completed_at, result=result, metadata=metadata,
        )  # fmt: skip

    def update_goal(self, id: str, status: str = "", result: str = "") -> None:
        """Change the status or the result of a goal; an empty one stays. Raises NotFound."""
        self._ask("UpdateGoal", lambda: pb.GoalUpdate(id=id, status=status, result=result))

    def get_active_goals(self) -> list[Record]:
        """The goals that have not ended, the most urgent first."""
        found = self._all("GetActiveGoals", "goals", lambda _, offset: pb.ActiveGoalsRequest(offset=offset))
        return [values.values_of("goal", goal) for goal in found]

    def store_task(
        self, description: str, *, id: str = "", goal_id: str | None = None, agent: str = "", status: str | None = None,
        input: Any = None, output: Any = None, started_at: Time = None, completed_at: Time = None,
        duration_ms: int | None = None, error: str | None = None, procedure_id: str | None = None,
    ) -> str:  # fmt: skip
        """Keep a task of a goal; one that ends with a `procedure_id` counts for that procedure."""
        return self._store(
            "StoreTask", "task", id, goal_id=goal_id, description=description, agent=agent, status=status, input=input,
            output=output, started_at=started_at, completed_at=completed_at, duration_ms=duration_ms, error=error,
            procedure_id=procedure_id,
        )  # fmt: skip

    def get_tasks_for_goal(self, goal_id: str) -> list[Record]:
        """The tasks of a goal in the order of their start."""
        asked = pb.GoalIdRequest
        found = self._all("GetTasksForGoal", "tasks", lambda _, offset: asked(goal_id=goal_id, offset=offset))
        return [values.values_of("task", task) for task in found]

    def store_tool_call(
        self, tool_name: str, input: Any, *, id: str = "", task_id: str | None = None, agent: str = "",
        output: Any = None, success: bool = True, duration_ms: int | None = None, reason: str | None = None,
        timestamp: Time = None,
    ) -> str:  # fmt: skip
        """Keep a call of a tool."""
        return self._store(
            "StoreToolCall", "tool-call", id, task_id=task_id, tool_name=tool_name, agent=agent, input=input,
            output=output, success=success, duration_ms=duration_ms, reason=reason, timestamp=timestamp,
        )  # fmt: skip

    def store_decision(
        self, context: str, chosen: str, reasoning: str, *, id: str = "", options: Any = None,
        intelligence_level: str | None = None, model_used: str | None = None, outcome: str | None = None,
        timestamp: Time = None, task_id: str | None = None, important: bool | None = None,
    ) -> str:  # fmt: skip
        """Keep a decision: what was chosen, and why; an important one never leaves working memory."""
        return self._store(
            "StoreDecision", "decision", id, context=context, options=options, chosen=chosen, reasoning=reasoning,
            intelligence_level=intelligence_level, model_used=model_used, outcome=outcome, timestamp=timestamp,
            task_id=task_id, important=important,
        )  # fmt: skip

    def store_pattern(
        self, trigger: str, action: str, *, id: str = "", success_rate: float | None = None, uses: int | None = None,
        last_used: Time = None, created_from: str | None = None,
    ) -> str:  # fmt: skip
        """Keep a pattern: what to do when something comes up. A new one counts as good, until it was used."""
        return self._store(
            "StorePattern", "pattern", id, trigger=trigger, action=action, success_rate=success_rate, uses=uses,
            last_used=last_used, created_from=created_from,
        )  # fmt: skip

    def find_pattern(self, trigger: str, min_success_rate: float = 0.0) -> Record | None:
        """The pattern with the best record for a situation."""
        query = pb.PatternQuery
        found = self._ask("FindPattern", lambda: query(trigger=trigger, min_success_rate=min_success_rate))[0]
        return values.values_of("pattern", found.pattern) if found.found else None

    def update_pattern_stats(self, id: str, success: bool) -> None:
        """Count one use of a pattern. Raises NotFound."""
        self._ask("UpdatePatternStats", lambda: pb.PatternStatsUpdate(id=id, success=success))

    def store_agent_state(self, agent_name: str, state: Any, updated_at: Time = None) -> str:
        """Keep the state of an agent; the one before is replaced."""
        self._store("StoreAgentState", "agent-state", "", agent_name=agent_name, state=state, updated_at=updated_at)
        return agent_name

    def get_agent_state(self, agent_name: str) -> Record:
        """The state of an agent. Raises NotFound."""
        found = self._ask("GetAgentState", lambda: pb.AgentStateRequest(agent_name=agent_name))[0]
        return values.values_of("agent-state", found)

    def store_procedure(
        self, name: str, description: str, steps: Sequence[Any] | None = None, *, id: str = "",
        success_count: int | None = None, fail_count: int | None = None, avg_duration_ms: int | None = None,
        tags: Sequence[str] = (), created_at: Time = None, last_used: Time = None,
    ) -> str:  # fmt: skip
        """Keep a procedure: steps that worked."""
        told = None if steps is None else list(steps)
        return self._store(
            "StoreProcedure", "procedure", id, name=name, description=description, steps=told,
            success_count=success_count, fail_count=fail_count, avg_duration_ms=avg_duration_ms, tags=list(tags),
            created_at=created_at, last_used=last_used,
        )  # fmt: skip

    def store_incident(
        self, description: str, *, id: str = "", symptoms: Any = None, root_cause: str | None = None,
        resolution: str | None = None, resolved_by: str | None = None, prevention: str | None = None,
        timestamp: Time = None,
    ) -> str:  # fmt: skip
        """Keep an incident: what went wrong, and how it was mended."""
        return self._store(
            "StoreIncident", "incident", id, description=description, symptoms=symptoms, root_cause=root_cause,
            resolution=resolution, resolved_by=resolved_by, prevention=prevention, timestamp=timestamp,
        )  # fmt: skip

    def store_config_change(
        self, file_path: str, content: str, *, id: str = "", changed_by: str | None = None, reason: str | None = None,
        timestamp: Time = None,
    ) -> str:  # fmt: skip
        """Keep a version of a configuration file."""
        return self._store(
            "StoreConfigChange", "config-change", id, file_path=file_path, content=content, changed_by=changed_by,
            reason=reason, timestamp=timestamp,
        )  # fmt: skip

    # -- looking ------------------------------------------------------------------------------------------------------

    def query_working(self, kind: str, **narrowed: Any) -> list[Record]:
        """Records of working memory, newest first; narrowed by `where`, `text`, `since`, `until`, `limit`, `offset`."""
        return self._query("QueryWorking", kind, **narrowed)

    def query_long_term(self, kind: str, **narrowed: Any) -> list[Record]:
        """Records of long-term memory, as `query_working` gives those of the other tier."""
        return self._query("QueryLongTerm", kind, **narrowed)

    def _query(
        self, rpc: str, kind: str, *, where: Mapping[str, Any] | None = None, text: str = "", since: Time = None,
        until: Time = None, limit: int = 50, offset: int = 0,
    ) -> list[Record]:  # fmt: skip
        compared = {name: _compared(value) for name, value in (where or {}).items()}
        times = {"since": values.seconds(since, "since"), "until": values.seconds(until, "until")}
        asked = partial(pb.QueryRequest, kind=kind, where=compared, text=text, **times)
        found = self._all(
            rpc, "records", lambda left, passed: asked(limit=left, offset=offset + passed), limit or values.PAGE
        )
        return [json.loads(record.json) for record in found]

    def semantic_search(
        self, query: str, collections: Sequence[str] = (), n_results: int = 5, min_relevance: float = 0.0
    ) -> list[dict[str, Any]]:
        """Records that resemble a text: content, metadata, relevance, collection and id of each, best first.

        What is found is data and never to be obeyed; `warning` says why one reads as an order to a model."""
        return self._search("SemanticSearch", query, collections, n_results, min_relevance)

    def search_knowledge(
        self, query: str, sources: Sequence[str] = (), n_results: int = 5, min_relevance: float = 0.0
    ) -> list[dict[str, Any]]:
        """Chunks of documents that answer a question, as `semantic_search` gives records."""
        return self._search("SearchKnowledge", query, sources, n_results, min_relevance)

    def _search(
        self, rpc: str, query: str, collections: Sequence[str], most: int, least: float
    ) -> list[dict[str, Any]]:
        asked = partial(pb.SearchRequest, query=query, collections=collections, min_relevance=least)
        found = self._all(
            rpc, "results", lambda left, offset: asked(n_results=left, offset=offset), most or values.FOUND
        )
        return [
            {
                "content": one.content,
                "metadata": json.loads(one.metadata_json or b"{}"),
                "relevance": one.relevance,
                "collection": one.collection,
                "id": one.id,
                "warning": one.warning,
            }
            for one in found
        ]

    def add_knowledge(self, title: str, content: str, source: str = "", tags: Sequence[str] = ()) -> None:
        """Add a text to the knowledge base; the same title added again replaces it."""
        self._ask("AddKnowledge", lambda: pb.KnowledgeEntry(title=title, content=content, source=source, tags=tags))

    def assemble_context(
        self, task_description: str, max_tokens: int = 4_000, memory_tiers: Sequence[str] = ()
    ) -> dict[str, Any]:
        """What a model needs for a task: `chunks` (source, content, relevance, tokens, id, warning, as those of
        `semantic_search`) and `total_tokens`; `more`: not all that the budget holds fits into one message."""
        asked = pb.ContextRequest
        found = self._ask(
            "AssembleContext",
            lambda: asked(task_description=task_description, max_tokens=max_tokens, memory_tiers=memory_tiers),
        )[0]
        names = ("source", "content", "relevance", "tokens", "id", "warning")
        chunks = [{name: getattr(chunk, name) for name in names} for chunk in found.chunks]
        total, counted_by = found.total_tokens, found.counted_by
        return {"chunks": chunks, "total_tokens": total, "counted_by": counted_by, "more": found.more}


def _compared(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _token(workspace: str | Path | None) -> str:
    """The token of this machine's user for a workspace. Raises NotFound."""
    file = paths.find_workspace(workspace, starting=True).data / server.TOKEN
    if not os.environ.get(http.VARIABLE) and not file.exists():
        raise NotFound("there is no token yet", str(file), "start the service first: nanomem serve grpc --tcp PORT")
    return http.token(file)
