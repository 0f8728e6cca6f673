"""A record stored again, and what a field that was not given means: by our client, by messages, by a client of aiOS."""

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from nanomem_tui.servers.grpc import memory_pb2 as pb
from nanomem_tui.servers.grpc.service import MemoryServiceStub
from tests.servers.grpc_serving import serving

AT = 1_771_000_000
ISO = "2026-02-13T16:26:40+00:00"


@pytest.fixture
def served(short):
    with serving(short) as found:
        yield found


@pytest.fixture
def memory(served):
    with served.client() as client:
        yield client


@pytest.fixture
def stub(served):
    with grpc.insecure_channel(served.target) as channel:
        yield MemoryServiceStub(channel)


def one(memory, kind):
    """The only record of a kind."""
    ask = memory.query_long_term if kind == "procedure" else memory.query_working
    (found,) = ask(kind)
    return found


def test_a_goal_keeps_its_status_and_its_priority_where_neither_is_given(memory):
    memory.store_goal("Back up", id="g", status="active", priority=0, created_at=AT, result="half of it")
    memory.store_goal("Back up the disk", id="g")
    found = one(memory, "goal")
    assert (found["description"], found["status"], found["priority"]) == ("Back up the disk", "active", 0)
    assert (found["created_at"], found["result"]) == (ISO, None)


def test_a_new_goal_is_pending_and_neither_urgent_nor_not(stub, memory):
    stub.StoreGoal(pb.Goal(id="usual", description="x"))
    stub.StoreGoal(pb.Goal(id="urgent", description="x", priority=0))
    found = {goal["id"]: (goal["status"], goal["priority"]) for goal in memory.get_active_goals()}
    assert found == {"urgent": ("pending", 0), "usual": ("pending", 2)}


@pytest.mark.parametrize("kind", ["goal", "task"])
def test_what_has_ended_stays_ended_and_ended_when_it_did(memory, kind):
    store = memory.store_goal if kind == "goal" else memory.store_task
    store("Back up", id="x", status="failed", completed_at=AT)
    store("Back up the disk", id="x")
    found = one(memory, kind)
    assert (found["description"], found["status"], found["completed_at"]) == ("Back up the disk", "failed", ISO)
    store("Back up the disk", id="x", status="active")
    assert one(memory, kind)["completed_at"] is None


def test_a_pattern_in_other_words_keeps_what_was_counted(memory):
    memory.store_pattern("it is down", "restart it", id="p")
    for success in (True, False):
        memory.update_pattern_stats("p", success)
    used = one(memory, "pattern")["last_used"]
    memory.store_pattern("it is down", "reload it", id="p")
    found = one(memory, "pattern")
    assert (found["action"], found["uses"], found["success_rate"], found["last_used"]) == ("reload it", 2, 0.5, used)


def test_a_rate_of_nothing_is_one(memory):
    memory.store_pattern("it is down", "pray", id="p", success_rate=0.0)
    assert one(memory, "pattern")["success_rate"] == 0.0
    memory.store_pattern("it is down", "pray", id="p", success_rate=0.75, uses=4)
    memory.store_pattern("it is down", "pray", id="p", success_rate=0.0, uses=0)
    assert (one(memory, "pattern")["success_rate"], one(memory, "pattern")["uses"]) == (0.0, 0)


def test_a_procedure_in_other_words_keeps_its_steps_and_what_was_counted(memory):
    memory.store_procedure("restart", "Restart it", [{"do": "restart"}], id="p", created_at=AT)
    memory.store_task("it is down", status="completed", duration_ms=1500, procedure_id="p")
    memory.store_task("it is down", status="failed", duration_ms=500, procedure_id="p")
    memory.store_procedure("restart", "Restart it gently", id="p")
    found = one(memory, "procedure")
    assert (found["success_count"], found["fail_count"], found["avg_duration_ms"]) == (1, 1, 1000)
    assert (found["description"], found["steps"]) == ("Restart it gently", [{"do": "restart"}])
    assert (found["created_at"], bool(found["last_used"])) == (ISO, True)
    memory.store_procedure("restart", "Restart it", [], id="p", success_count=0)
    assert (one(memory, "procedure")["success_count"], one(memory, "procedure")["steps"]) == (0, [])


def test_a_decision_is_important_until_it_is_said_otherwise(memory):
    memory.store_decision("it is down", "reload", "gentler", id="d", important=True)
    memory.store_decision("it is down", "reload", "gentler", id="d", outcome="it worked")
    assert one(memory, "decision")["important"] is True
    memory.store_decision("it is down", "reload", "gentler", id="d", important=False)
    assert one(memory, "decision")["important"] is False


# -- a client of aiOS -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def theirs():
    """The messages as a client of aiOS has them: no field of ours, none that is optional."""
    file = descriptor_pb2.FileDescriptorProto()
    pb.DESCRIPTOR.CopyToProto(file)
    del file.service[:]
    for message in file.message_type:
        kept = [field for field in message.field if field.number < 20]
        del message.oneof_decl[:]
        for field in kept:
            field.ClearField("proto3_optional")
            field.ClearField("oneof_index")
        message.ClearField("field")
        message.field.extend(kept)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindFileByName(file.name).message_types_by_name
    return {name: message_factory.GetMessageClass(descriptor) for name, descriptor in found.items()}


@pytest.fixture
def aios(served, theirs):
    """Calls an rpc with a message of theirs, and reads the answer as one of theirs."""
    methods = pb.DESCRIPTOR.services_by_name["MemoryService"].methods_by_name
    with grpc.insecure_channel(served.target) as channel:

        def call(rpc, **fields):
            asked, told = (theirs[part.name] for part in (methods[rpc].input_type, methods[rpc].output_type))
            way = channel.unary_unary(f"/aios.memory.MemoryService/{rpc}", asked.SerializeToString, told.FromString)
            return way(asked(**fields))

        yield call


def test_a_client_of_aios_stores_and_reads_what_it_knows(aios):
    aios("StoreGoal", id="g", description="Back up", status="in_progress", priority=1, created_at=AT)
    (goal,) = aios("GetActiveGoals").goals
    assert (goal.id, goal.status, goal.priority, goal.created_at) == ("g", "in_progress", 1, AT)
    aios("StoreTask", id="t", goal_id="g", description="step", status="completed", duration_ms=12)
    aios("StoreTask", id="u", goal_id="g", description="step")
    assert [task.duration_ms for task in aios("GetTasksForGoal", goal_id="g").tasks] == [12, 0]


def test_what_a_client_of_aios_cannot_send_is_read_as_the_proto_says(aios, memory):
    aios("StoreGoal", id="g", description="Back up", status="pending", priority=0, created_at=AT)
    assert one(memory, "goal")["priority"] == 2
    aios("StoreToolCall", id="c", tool_name="fs.read", success=False, timestamp=AT)
    assert one(memory, "tool-call")["success"] is False
    aios("StorePattern", id="bad", trigger="it is down", action="pray", success_rate=0.0, uses=5)
    assert one(memory, "pattern")["success_rate"] == 0.0
    found = aios("FindPattern", trigger="it is down")
    assert (found.found, found.pattern.success_rate, found.pattern.uses) == (True, 0.0, 5)


def test_a_client_of_aios_does_not_reset_what_it_does_not_know(aios, memory):
    memory.store_decision("it is down", "reload", "gentler", id="d", important=True, task_id="t")
    aios("StoreDecision", id="d", context="it is down", chosen="reload", reasoning="gentler", outcome="it worked")
    found = one(memory, "decision")
    assert (found["outcome"], found["important"], found["task_id"]) == ("it worked", True, "t")
