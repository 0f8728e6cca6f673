"""The .proto of the service, which clients are written against, and the stubs that were made from it."""

import importlib.metadata
import re
import subprocess
import sys

import pytest

from tests.conftest import need
from tests.hygiene.repository import ROOT

PROTO = ROOT / "nanomem_tui/servers/grpc/memory.proto"
OF_THE_SEED = """PushEvent GetRecentEvents GetMetric StoreGoal StoreTask StoreToolCall StoreDecision QueryWorking
SemanticSearch StoreProcedure StoreIncident QueryLongTerm SearchKnowledge AddKnowledge AssembleContext""".split()
OF_AIOS = """UpdateMetric GetSystemSnapshot UpdateGoal GetActiveGoals GetTasksForGoal StorePattern FindPattern
UpdatePatternStats StoreAgentState GetAgentState StoreConfigChange""".split()

WIRE = {
    "Event": "id timestamp category source data_json critical",
    "GetRecentRequest": "count category source",
    "EventList": "events",
    "MetricUpdate": "key value timestamp",
    "MetricRequest": "key",
    "MetricValue": "key value timestamp",
    "SystemSnapshot": """cpu_percent memory_used_mb memory_total_mb disk_used_gb disk_total_gb gpu_utilization
        active_tasks active_agents loaded_models""",
    "Goal": "id description status priority created_at completed_at result metadata_json",
    "GoalUpdate": "id status result",
    "GoalIdRequest": "goal_id",
    "GoalList": "goals",
    "Task": """id goal_id description agent status input_json output_json started_at completed_at duration_ms error""",
    "TaskList": "tasks",
    "ToolCallRecord": "id task_id tool_name agent input_json output_json success duration_ms reason timestamp",
    "Decision": "id context options_json chosen reasoning intelligence_level model_used outcome timestamp",
    "Pattern": "id trigger action success_rate uses last_used created_from",
    "PatternQuery": "trigger min_success_rate",
    "PatternResult": "pattern found",
    "PatternStatsUpdate": "id success",
    "AgentState": "agent_name state_json updated_at",
    "AgentStateRequest": "agent_name",
    "SearchRequest": "query collections n_results min_relevance",
    "SearchResult": "content metadata_json relevance collection id",
    "SearchResponse": "results",
    "Procedure": """id name description steps_json success_count fail_count avg_duration_ms tags created_at
        last_used""",
    "Incident": "id description symptoms_json root_cause resolution resolved_by prevention timestamp",
    "ConfigChange": "id file_path content changed_by reason timestamp",
    "KnowledgeEntry": "title content source tags",
    "ContextRequest": "task_description max_tokens memory_tiers",
    "ContextChunk": "source content relevance tokens",
    "ContextResponse": "chunks total_tokens",
}
"""The fields of the real system's messages, in the order of their numbers from 1."""


def test_the_stubs_are_what_the_proto_says():
    text = (PROTO.parent / "memory_pb2.py").read_text()
    made_for = re.search(r"Protobuf Python Version: ([\d.]+)", text)
    assert made_for is not None
    needs = importlib.metadata.requires("grpcio-tools") or []
    need(any(f">={made_for[1]}" in one for one in needs), f"grpcio-tools that makes code for protobuf {made_for[1]}")
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/stubs.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_the_service_has_the_rpcs_of_the_seed_and_of_the_real_system():
    from nanomem_tui.servers.grpc import memory_pb2

    service = memory_pb2.DESCRIPTOR.services_by_name["MemoryService"]
    assert service.full_name == "aios.memory.MemoryService"
    assert sorted(method.name for method in service.methods) == sorted(OF_THE_SEED + OF_AIOS)
    assert len(service.methods) == 26
    stores = {method.output_type.name for method in service.methods if method.name.startswith("Store")}
    assert stores == {"Empty"}


@pytest.mark.parametrize("name", WIRE)
def test_on_the_wire_a_message_is_that_of_the_real_system_and_ours_stand_apart(name):
    from nanomem_tui.servers.grpc import memory_pb2

    fields = memory_pb2.DESCRIPTOR.message_types_by_name[name].fields
    theirs = [field.name for field in sorted(fields, key=lambda field: field.number) if field.number < 20]
    assert theirs == WIRE[name].split()
    assert [field.number for field in fields if field.number < 20] == list(range(1, len(theirs) + 1))


def test_a_record_has_a_message_field_for_each_of_its_fields():
    """What is kept of a kind comes in and goes out by the service."""
    from nanomem_tui.servers.grpc.service import MESSAGES
    from nanomem_tui.store.work.kinds import KINDS, RECORD_KINDS

    assert set(MESSAGES) == set(RECORD_KINDS)
    for name, message in MESSAGES.items():
        fields = {field.name.removesuffix("_json") for field in message.DESCRIPTOR.fields}
        assert fields - {"id"} == {field.name for field in KINDS[name].fields}


def test_every_rpc_and_every_message_says_what_it_is_for():
    lines = PROTO.read_text().splitlines()
    rpcs = [number for number, line in enumerate(lines) if line.strip().startswith("rpc ")]
    assert len(rpcs) == 26
    assert [lines[number] for number in rpcs if not lines[number - 1].strip().startswith("//")] == []
