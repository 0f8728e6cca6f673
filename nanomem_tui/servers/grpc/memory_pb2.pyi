from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Empty(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Event(_message.Message):
    __slots__ = ("id", "timestamp", "category", "source", "data_json", "critical")
    ID_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    CRITICAL_FIELD_NUMBER: _ClassVar[int]
    id: str
    timestamp: int
    category: str
    source: str
    data_json: bytes
    critical: bool
    def __init__(self, id: _Optional[str] = ..., timestamp: _Optional[int] = ..., category: _Optional[str] = ..., source: _Optional[str] = ..., data_json: _Optional[bytes] = ..., critical: _Optional[bool] = ...) -> None: ...

class GetRecentRequest(_message.Message):
    __slots__ = ("count", "category", "source", "since", "offset")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    count: int
    category: str
    source: str
    since: int
    offset: int
    def __init__(self, count: _Optional[int] = ..., category: _Optional[str] = ..., source: _Optional[str] = ..., since: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class EventList(_message.Message):
    __slots__ = ("events", "more")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[Event]
    more: bool
    def __init__(self, events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ..., more: _Optional[bool] = ...) -> None: ...

class MetricUpdate(_message.Message):
    __slots__ = ("key", "value", "timestamp", "unit", "source")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: float
    timestamp: int
    unit: str
    source: str
    def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ..., timestamp: _Optional[int] = ..., unit: _Optional[str] = ..., source: _Optional[str] = ...) -> None: ...

class MetricRequest(_message.Message):
    __slots__ = ("key",)
    KEY_FIELD_NUMBER: _ClassVar[int]
    key: str
    def __init__(self, key: _Optional[str] = ...) -> None: ...

class MetricValue(_message.Message):
    __slots__ = ("key", "value", "timestamp", "unit")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: float
    timestamp: int
    unit: str
    def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ..., timestamp: _Optional[int] = ..., unit: _Optional[str] = ...) -> None: ...

class SystemSnapshot(_message.Message):
    __slots__ = ("cpu_percent", "memory_used_mb", "memory_total_mb", "disk_used_gb", "disk_total_gb", "gpu_utilization", "active_tasks", "active_agents", "loaded_models", "snapshot_json")
    CPU_PERCENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_USED_MB_FIELD_NUMBER: _ClassVar[int]
    MEMORY_TOTAL_MB_FIELD_NUMBER: _ClassVar[int]
    DISK_USED_GB_FIELD_NUMBER: _ClassVar[int]
    DISK_TOTAL_GB_FIELD_NUMBER: _ClassVar[int]
    GPU_UTILIZATION_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_TASKS_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_AGENTS_FIELD_NUMBER: _ClassVar[int]
    LOADED_MODELS_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_JSON_FIELD_NUMBER: _ClassVar[int]
    cpu_percent: float
    memory_used_mb: float
    memory_total_mb: float
    disk_used_gb: float
    disk_total_gb: float
    gpu_utilization: float
    active_tasks: int
    active_agents: int
    loaded_models: _containers.RepeatedScalarFieldContainer[str]
    snapshot_json: bytes
    def __init__(self, cpu_percent: _Optional[float] = ..., memory_used_mb: _Optional[float] = ..., memory_total_mb: _Optional[float] = ..., disk_used_gb: _Optional[float] = ..., disk_total_gb: _Optional[float] = ..., gpu_utilization: _Optional[float] = ..., active_tasks: _Optional[int] = ..., active_agents: _Optional[int] = ..., loaded_models: _Optional[_Iterable[str]] = ..., snapshot_json: _Optional[bytes] = ...) -> None: ...

class Goal(_message.Message):
    __slots__ = ("id", "description", "status", "priority", "created_at", "completed_at", "result", "metadata_json")
    ID_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_AT_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    id: str
    description: str
    status: str
    priority: int
    created_at: int
    completed_at: int
    result: str
    metadata_json: bytes
    def __init__(self, id: _Optional[str] = ..., description: _Optional[str] = ..., status: _Optional[str] = ..., priority: _Optional[int] = ..., created_at: _Optional[int] = ..., completed_at: _Optional[int] = ..., result: _Optional[str] = ..., metadata_json: _Optional[bytes] = ...) -> None: ...

class GoalUpdate(_message.Message):
    __slots__ = ("id", "status", "result")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    id: str
    status: str
    result: str
    def __init__(self, id: _Optional[str] = ..., status: _Optional[str] = ..., result: _Optional[str] = ...) -> None: ...

class ActiveGoalsRequest(_message.Message):
    __slots__ = ("offset",)
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    offset: int
    def __init__(self, offset: _Optional[int] = ...) -> None: ...

class GoalIdRequest(_message.Message):
    __slots__ = ("goal_id", "offset")
    GOAL_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    goal_id: str
    offset: int
    def __init__(self, goal_id: _Optional[str] = ..., offset: _Optional[int] = ...) -> None: ...

class GoalList(_message.Message):
    __slots__ = ("goals", "more")
    GOALS_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    goals: _containers.RepeatedCompositeFieldContainer[Goal]
    more: bool
    def __init__(self, goals: _Optional[_Iterable[_Union[Goal, _Mapping]]] = ..., more: _Optional[bool] = ...) -> None: ...

class Task(_message.Message):
    __slots__ = ("id", "goal_id", "description", "agent", "status", "input_json", "output_json", "started_at", "completed_at", "duration_ms", "error", "procedure_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    GOAL_ID_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    INPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_AT_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    PROCEDURE_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    goal_id: str
    description: str
    agent: str
    status: str
    input_json: bytes
    output_json: bytes
    started_at: int
    completed_at: int
    duration_ms: int
    error: str
    procedure_id: str
    def __init__(self, id: _Optional[str] = ..., goal_id: _Optional[str] = ..., description: _Optional[str] = ..., agent: _Optional[str] = ..., status: _Optional[str] = ..., input_json: _Optional[bytes] = ..., output_json: _Optional[bytes] = ..., started_at: _Optional[int] = ..., completed_at: _Optional[int] = ..., duration_ms: _Optional[int] = ..., error: _Optional[str] = ..., procedure_id: _Optional[str] = ...) -> None: ...

class TaskList(_message.Message):
    __slots__ = ("tasks", "more")
    TASKS_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    tasks: _containers.RepeatedCompositeFieldContainer[Task]
    more: bool
    def __init__(self, tasks: _Optional[_Iterable[_Union[Task, _Mapping]]] = ..., more: _Optional[bool] = ...) -> None: ...

class ToolCallRecord(_message.Message):
    __slots__ = ("id", "task_id", "tool_name", "agent", "input_json", "output_json", "success", "duration_ms", "reason", "timestamp")
    ID_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    INPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    id: str
    task_id: str
    tool_name: str
    agent: str
    input_json: bytes
    output_json: bytes
    success: bool
    duration_ms: int
    reason: str
    timestamp: int
    def __init__(self, id: _Optional[str] = ..., task_id: _Optional[str] = ..., tool_name: _Optional[str] = ..., agent: _Optional[str] = ..., input_json: _Optional[bytes] = ..., output_json: _Optional[bytes] = ..., success: _Optional[bool] = ..., duration_ms: _Optional[int] = ..., reason: _Optional[str] = ..., timestamp: _Optional[int] = ...) -> None: ...

class Decision(_message.Message):
    __slots__ = ("id", "context", "options_json", "chosen", "reasoning", "intelligence_level", "model_used", "outcome", "timestamp", "task_id", "important")
    ID_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_JSON_FIELD_NUMBER: _ClassVar[int]
    CHOSEN_FIELD_NUMBER: _ClassVar[int]
    REASONING_FIELD_NUMBER: _ClassVar[int]
    INTELLIGENCE_LEVEL_FIELD_NUMBER: _ClassVar[int]
    MODEL_USED_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    IMPORTANT_FIELD_NUMBER: _ClassVar[int]
    id: str
    context: str
    options_json: bytes
    chosen: str
    reasoning: str
    intelligence_level: str
    model_used: str
    outcome: str
    timestamp: int
    task_id: str
    important: bool
    def __init__(self, id: _Optional[str] = ..., context: _Optional[str] = ..., options_json: _Optional[bytes] = ..., chosen: _Optional[str] = ..., reasoning: _Optional[str] = ..., intelligence_level: _Optional[str] = ..., model_used: _Optional[str] = ..., outcome: _Optional[str] = ..., timestamp: _Optional[int] = ..., task_id: _Optional[str] = ..., important: _Optional[bool] = ...) -> None: ...

class Pattern(_message.Message):
    __slots__ = ("id", "trigger", "action", "success_rate", "uses", "last_used", "created_from")
    ID_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_RATE_FIELD_NUMBER: _ClassVar[int]
    USES_FIELD_NUMBER: _ClassVar[int]
    LAST_USED_FIELD_NUMBER: _ClassVar[int]
    CREATED_FROM_FIELD_NUMBER: _ClassVar[int]
    id: str
    trigger: str
    action: str
    success_rate: float
    uses: int
    last_used: int
    created_from: str
    def __init__(self, id: _Optional[str] = ..., trigger: _Optional[str] = ..., action: _Optional[str] = ..., success_rate: _Optional[float] = ..., uses: _Optional[int] = ..., last_used: _Optional[int] = ..., created_from: _Optional[str] = ...) -> None: ...

class PatternQuery(_message.Message):
    __slots__ = ("trigger", "min_success_rate")
    TRIGGER_FIELD_NUMBER: _ClassVar[int]
    MIN_SUCCESS_RATE_FIELD_NUMBER: _ClassVar[int]
    trigger: str
    min_success_rate: float
    def __init__(self, trigger: _Optional[str] = ..., min_success_rate: _Optional[float] = ...) -> None: ...

class PatternResult(_message.Message):
    __slots__ = ("pattern", "found")
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    pattern: Pattern
    found: bool
    def __init__(self, pattern: _Optional[_Union[Pattern, _Mapping]] = ..., found: _Optional[bool] = ...) -> None: ...

class PatternStatsUpdate(_message.Message):
    __slots__ = ("id", "success")
    ID_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    id: str
    success: bool
    def __init__(self, id: _Optional[str] = ..., success: _Optional[bool] = ...) -> None: ...

class AgentState(_message.Message):
    __slots__ = ("agent_name", "state_json", "updated_at")
    AGENT_NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_JSON_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    agent_name: str
    state_json: bytes
    updated_at: int
    def __init__(self, agent_name: _Optional[str] = ..., state_json: _Optional[bytes] = ..., updated_at: _Optional[int] = ...) -> None: ...

class AgentStateRequest(_message.Message):
    __slots__ = ("agent_name",)
    AGENT_NAME_FIELD_NUMBER: _ClassVar[int]
    agent_name: str
    def __init__(self, agent_name: _Optional[str] = ...) -> None: ...

class Procedure(_message.Message):
    __slots__ = ("id", "name", "description", "steps_json", "success_count", "fail_count", "avg_duration_ms", "tags", "created_at", "last_used")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    STEPS_JSON_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_COUNT_FIELD_NUMBER: _ClassVar[int]
    FAIL_COUNT_FIELD_NUMBER: _ClassVar[int]
    AVG_DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_USED_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    description: str
    steps_json: bytes
    success_count: int
    fail_count: int
    avg_duration_ms: int
    tags: _containers.RepeatedScalarFieldContainer[str]
    created_at: int
    last_used: int
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., steps_json: _Optional[bytes] = ..., success_count: _Optional[int] = ..., fail_count: _Optional[int] = ..., avg_duration_ms: _Optional[int] = ..., tags: _Optional[_Iterable[str]] = ..., created_at: _Optional[int] = ..., last_used: _Optional[int] = ...) -> None: ...

class Incident(_message.Message):
    __slots__ = ("id", "description", "symptoms_json", "root_cause", "resolution", "resolved_by", "prevention", "timestamp")
    ID_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    SYMPTOMS_JSON_FIELD_NUMBER: _ClassVar[int]
    ROOT_CAUSE_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_BY_FIELD_NUMBER: _ClassVar[int]
    PREVENTION_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    id: str
    description: str
    symptoms_json: bytes
    root_cause: str
    resolution: str
    resolved_by: str
    prevention: str
    timestamp: int
    def __init__(self, id: _Optional[str] = ..., description: _Optional[str] = ..., symptoms_json: _Optional[bytes] = ..., root_cause: _Optional[str] = ..., resolution: _Optional[str] = ..., resolved_by: _Optional[str] = ..., prevention: _Optional[str] = ..., timestamp: _Optional[int] = ...) -> None: ...

class ConfigChange(_message.Message):
    __slots__ = ("id", "file_path", "content", "changed_by", "reason", "timestamp")
    ID_FIELD_NUMBER: _ClassVar[int]
    FILE_PATH_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    CHANGED_BY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    id: str
    file_path: str
    content: str
    changed_by: str
    reason: str
    timestamp: int
    def __init__(self, id: _Optional[str] = ..., file_path: _Optional[str] = ..., content: _Optional[str] = ..., changed_by: _Optional[str] = ..., reason: _Optional[str] = ..., timestamp: _Optional[int] = ...) -> None: ...

class QueryRequest(_message.Message):
    __slots__ = ("kind", "where", "text", "since", "until", "limit", "offset")
    class WhereEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    KIND_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    kind: str
    where: _containers.ScalarMap[str, str]
    text: str
    since: int
    until: int
    limit: int
    offset: int
    def __init__(self, kind: _Optional[str] = ..., where: _Optional[_Mapping[str, str]] = ..., text: _Optional[str] = ..., since: _Optional[int] = ..., until: _Optional[int] = ..., limit: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class QueryResponse(_message.Message):
    __slots__ = ("records", "more")
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    records: _containers.RepeatedCompositeFieldContainer[Record]
    more: bool
    def __init__(self, records: _Optional[_Iterable[_Union[Record, _Mapping]]] = ..., more: _Optional[bool] = ...) -> None: ...

class Record(_message.Message):
    __slots__ = ("kind", "id", "tier", "json")
    KIND_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    kind: str
    id: str
    tier: str
    json: bytes
    def __init__(self, kind: _Optional[str] = ..., id: _Optional[str] = ..., tier: _Optional[str] = ..., json: _Optional[bytes] = ...) -> None: ...

class SearchRequest(_message.Message):
    __slots__ = ("query", "collections", "n_results", "min_relevance", "offset")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    COLLECTIONS_FIELD_NUMBER: _ClassVar[int]
    N_RESULTS_FIELD_NUMBER: _ClassVar[int]
    MIN_RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    query: str
    collections: _containers.RepeatedScalarFieldContainer[str]
    n_results: int
    min_relevance: float
    offset: int
    def __init__(self, query: _Optional[str] = ..., collections: _Optional[_Iterable[str]] = ..., n_results: _Optional[int] = ..., min_relevance: _Optional[float] = ..., offset: _Optional[int] = ...) -> None: ...

class SearchResult(_message.Message):
    __slots__ = ("content", "metadata_json", "relevance", "collection", "id", "warning")
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    COLLECTION_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    WARNING_FIELD_NUMBER: _ClassVar[int]
    content: str
    metadata_json: bytes
    relevance: float
    collection: str
    id: str
    warning: str
    def __init__(self, content: _Optional[str] = ..., metadata_json: _Optional[bytes] = ..., relevance: _Optional[float] = ..., collection: _Optional[str] = ..., id: _Optional[str] = ..., warning: _Optional[str] = ...) -> None: ...

class SearchResponse(_message.Message):
    __slots__ = ("results", "note", "more")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[SearchResult]
    note: str
    more: bool
    def __init__(self, results: _Optional[_Iterable[_Union[SearchResult, _Mapping]]] = ..., note: _Optional[str] = ..., more: _Optional[bool] = ...) -> None: ...

class KnowledgeEntry(_message.Message):
    __slots__ = ("title", "content", "source", "tags")
    TITLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    title: str
    content: str
    source: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, title: _Optional[str] = ..., content: _Optional[str] = ..., source: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ...) -> None: ...

class ContextRequest(_message.Message):
    __slots__ = ("task_description", "max_tokens", "memory_tiers")
    TASK_DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_TIERS_FIELD_NUMBER: _ClassVar[int]
    task_description: str
    max_tokens: int
    memory_tiers: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, task_description: _Optional[str] = ..., max_tokens: _Optional[int] = ..., memory_tiers: _Optional[_Iterable[str]] = ...) -> None: ...

class ContextChunk(_message.Message):
    __slots__ = ("source", "content", "relevance", "tokens", "id", "warning")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    WARNING_FIELD_NUMBER: _ClassVar[int]
    source: str
    content: str
    relevance: float
    tokens: int
    id: str
    warning: str
    def __init__(self, source: _Optional[str] = ..., content: _Optional[str] = ..., relevance: _Optional[float] = ..., tokens: _Optional[int] = ..., id: _Optional[str] = ..., warning: _Optional[str] = ...) -> None: ...

class ContextResponse(_message.Message):
    __slots__ = ("chunks", "total_tokens", "counted_by", "more")
    CHUNKS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COUNTED_BY_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    chunks: _containers.RepeatedCompositeFieldContainer[ContextChunk]
    total_tokens: int
    counted_by: str
    more: bool
    def __init__(self, chunks: _Optional[_Iterable[_Union[ContextChunk, _Mapping]]] = ..., total_tokens: _Optional[int] = ..., counted_by: _Optional[str] = ..., more: _Optional[bool] = ...) -> None: ...
