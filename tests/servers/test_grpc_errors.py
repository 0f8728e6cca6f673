"""What a client is told when a call cannot be answered: the right status code and one clear line, whatever it sent."""

import errno
import json

import grpc
import pytest

from nanomem_tui.core import errors
from nanomem_tui.servers.grpc import memory_pb2 as pb
from nanomem_tui.servers.grpc import server
from nanomem_tui.servers.grpc.client import MemoryClient
from nanomem_tui.servers.grpc.service import UNFORESEEN, MemoryServiceStub, Unauthenticated, from_status, status_of
from tests.servers.grpc_serving import TOKEN, in_thread

Stub = MemoryServiceStub


SHARES_A_HOME = True


@pytest.fixture
def served(kept_empty):
    return kept_empty


def refused(call):
    """The status code and the line of a call that is refused."""
    with pytest.raises(grpc.RpcError) as told:
        call()
    line = told.value.details()
    assert line
    assert "\n" not in line
    assert "Traceback" not in line
    return told.value.code().name, line


INVALID = "INVALID_ARGUMENT"
BAD = {
    "an unknown kind": (
        lambda stub: stub.QueryWorking(pb.QueryRequest(kind="goats")), INVALID, "no such kind of record: goats"),
    "no kind": (lambda stub: stub.QueryLongTerm(pb.QueryRequest()), INVALID, "`kind` is empty"),
    "an unknown field": (
        lambda stub: stub.QueryWorking(pb.QueryRequest(kind="goal", where={"colour": "red"})), INVALID,
        "a goal has no field `colour`"),
    "a field of JSON compared": (
        lambda stub: stub.QueryWorking(pb.QueryRequest(kind="goal", where={"metadata": "{}"})), INVALID,
        "cannot be compared"),
    "broken JSON": (
        lambda stub: stub.StoreGoal(pb.Goal(description="x", metadata_json=b"{oops")), INVALID,
        "metadata_json is no JSON"),
    "two values": (
        lambda stub: stub.StoreTask(pb.Task(description="x", input_json=b"1 2")), INVALID, "input_json is no JSON"),
    "no UTF-8": (
        lambda stub: stub.StoreGoal(pb.Goal(description="x", metadata_json=b'"\xff"')), INVALID,
        "metadata_json is no JSON"),
    "not a number": (
        lambda stub: stub.StoreGoal(pb.Goal(description="x", metadata_json=b"[NaN]")), INVALID,
        "NaN is no number of JSON"),
    "half a character": (
        lambda stub: stub.StoreGoal(pb.Goal(description="x", metadata_json=b'"\\ud800"')), INVALID, "is no JSON"),
    "100,000 brackets": (
        lambda stub: stub.StoreGoal(pb.Goal(description="x", metadata_json=b"[" * 100_000)), INVALID, "metadata_json"),
    "a number of 10,000 digits": (
        lambda stub: stub.StoreGoal(pb.Goal(description="x", metadata_json=b"1" * 10_000)), INVALID, "metadata_json"),
    "what is needed": (lambda stub: stub.StoreDecision(pb.Decision(context="x")), INVALID, "needs `chosen`"),
    "a state that there is not": (
        lambda stub: stub.StoreGoal(pb.Goal(description="x", status="running")), INVALID, "give one of pending, "),
    "a rate of more than all": (
        lambda stub: stub.StorePattern(pb.Pattern(trigger="x", action="y", success_rate=1.5)), INVALID,
        "`success_rate` of a pattern cannot be 1.5. Fix: give 0 to 1"),
    "steps that are no list": (
        lambda stub: stub.StoreProcedure(pb.Procedure(name="x", description="y", steps_json=b'"stop"')), INVALID,
        "Fix: give a list"),
    "a file without its content": (
        lambda stub: stub.StoreConfigChange(pb.ConfigChange(file_path="/etc/hosts")), INVALID, "needs `content`"),
    "fewer than none": (
        lambda stub: stub.StoreGoal(pb.Goal(description="x", priority=-1)), INVALID, "Fix: give 0 or more"),
    "the year 9999": (
        lambda stub: stub.StoreGoal(pb.Goal(description="x", created_at=253_370_764_800)), INVALID, "before 2200"),
    "milliseconds": (
        lambda stub: stub.StoreGoal(pb.Goal(description="x", created_at=1_771_000_000_000)), INVALID,
        "seconds since 1970"),
    "a text above a megabyte": (
        lambda stub: stub.StoreGoal(pb.Goal(description="é" * 600_000)), INVALID, "1,200,000 bytes"),
    "an id of many lines": (
        lambda stub: stub.StoreGoal(pb.Goal(id="a\nb", description="x")), INVALID, "no usable id"),
    "a message of 5 MB": (
        lambda stub: stub.StoreGoal(pb.Goal(description="x" * 5_000_000)), "RESOURCE_EXHAUSTED",
        "message larger than max (5000005 vs. 4194304)"),
    "no category": (lambda stub: stub.PushEvent(pb.Event(data_json=b"{}")), INVALID, "`category` is empty"),
    "a metric that is none": (
        lambda stub: stub.PushEvent(pb.Event(category="metric", data_json=b"[]")), INVALID, "must be an object"),
    "an infinite metric": (
        lambda stub: stub.UpdateMetric(pb.MetricUpdate(key="x", value=float("inf"))), INVALID, "must be a number"),
    "more than there can be": (
        lambda stub: stub.GetRecentEvents(pb.GetRecentRequest(count=10_001)), INVALID, "give at most 10,000"),
    "less than nothing": (
        lambda stub: stub.QueryWorking(pb.QueryRequest(kind="goal", limit=-1)), INVALID, "`limit` cannot be -1"),
    "nobody's goal": (
        lambda stub: stub.UpdateGoal(pb.GoalUpdate(id="g", status="failed")), "NOT_FOUND", "no such goal: g"),
    "nobody's metric": (lambda stub: stub.GetMetric(pb.MetricRequest(key="x")), "NOT_FOUND", "no such metric: x"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_its_status_and_one_clear_line(stub, name):
    call, code, words = BAD[name]
    found = refused(lambda: call(stub))
    assert found[0] == code
    assert words in found[1]
    assert stub.GetActiveGoals(pb.ActiveGoalsRequest()).goals == []


def test_bytes_that_are_no_message_are_refused_and_the_service_goes_on(served, stub):
    with grpc.insecure_channel(served.target) as channel:
        raw = channel.unary_unary("/aios.memory.MemoryService/StoreGoal")
        assert refused(lambda: raw(b"\xff\xff\xff"))[0] in ("INTERNAL", "INVALID_ARGUMENT", "UNKNOWN")
        nothing = channel.unary_unary("/aios.memory.MemoryService/ForgetEverything")
        assert refused(lambda: nothing(b""))[0] == "UNIMPLEMENTED"
    assert stub.GetActiveGoals(pb.ActiveGoalsRequest()).goals == []


def test_an_error_names_its_parts_in_the_trailing_metadata(stub):
    with pytest.raises(grpc.RpcError) as told:
        stub.QueryWorking(pb.QueryRequest(kind="ziél 100%"))
    found = dict(told.value.trailing_metadata())
    assert found["nanomem-error-kind"] == "BadInput"
    assert found["nanomem-error-what"] == "no such kind of record"
    assert found["nanomem-error-where"] == "zi%C3%A9l 100%25"
    assert found["nanomem-error-fix"].startswith("one of goal, ")
    for kind in found["nanomem-error-fix"].removeprefix("one of ").split(", "):
        assert stub.QueryWorking(pb.QueryRequest(kind=kind)).records == []
        assert stub.QueryLongTerm(pb.QueryRequest(kind=f"{kind.replace('-', '_')}s")).records == []


def test_the_client_raises_the_error_that_the_service_raised(served):
    with served.client() as client, pytest.raises(errors.BadInput) as told:
        client.query_working("ziél 100%")
    assert (told.value.what, told.value.where) == ("no such kind of record", "ziél 100%")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.BadInput("x"), "INVALID_ARGUMENT"),
        (errors.NotFound("x"), "NOT_FOUND"),
        (errors.Conflict("x"), "ABORTED"),
        (errors.Refused("x"), "FAILED_PRECONDITION"),
        (errors.MissingExtra("x"), "FAILED_PRECONDITION"),
        (errors.DiskFull("x"), "RESOURCE_EXHAUSTED"),
        (errors.AccessDenied("x"), "PERMISSION_DENIED"),
        (errors.NewerDatabase("x"), "FAILED_PRECONDITION"),
        (errors.CorruptDatabase("x"), "DATA_LOSS"),
        (errors.StoreError("x"), "UNAVAILABLE"),
        (errors.ModelUnavailable("x"), "UNAVAILABLE"),
        (OSError(errno.ENOSPC, "no space"), "RESOURCE_EXHAUSTED"),
        (OSError(errno.EACCES, "no"), "PERMISSION_DENIED"),
        (errors.NanomemError("x"), "INTERNAL"),
    ],
)
def test_every_error_of_ours_has_its_status_and_comes_back_as_itself(error, code):
    found, line, metadata = status_of(error, "StoreGoal")
    assert found == code
    again = from_status(found, line, metadata, "here")
    assert type(again) is type(errors.shown_error(error))
    assert again.what == errors.shown_error(error).what


def test_what_nobody_foresaw_is_told_to_the_log_alone(served, stub, monkeypatch, capfd):
    def broken(*_, **__):
        raise RuntimeError("the password is\nhunter2")

    monkeypatch.setattr(served.ws.records, "store", broken)
    assert refused(lambda: stub.StoreGoal(pb.Goal(description="x"))) == ("INTERNAL", UNFORESEEN)
    said = capfd.readouterr().err
    assert said.splitlines()[-1] == "nanomem: StoreGoal: RuntimeError: the password is hunter2"


def test_a_long_or_hostile_error_stays_one_harmless_line(stub):
    code, line = refused(lambda: stub.QueryWorking(pb.QueryRequest(kind="\x1b]0;x\x07" + "y" * 100_000)))
    assert code == "INVALID_ARGUMENT"
    assert len(line) <= 500
    assert "\x1b" not in line


NONE, WRONG = "a token is needed", "the token is wrong"


# -- the token --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ((), NONE),
        ((("authorization", "Bearer wrong-token-0123456789"),), WRONG),
        ((("authorization", TOKEN),), NONE),
        ((("authorization", f"Basic {TOKEN}"),), NONE),
        ((("authorization", f"Bearer {TOKEN}"), ("authorization", "Bearer x")), NONE),
    ],
    ids=["none", "wrong", "no scheme", "another scheme", "two"],
)
def test_over_the_port_nothing_is_answered_without_the_token(served, metadata, said):
    from grpc_health.v1 import health_pb2, health_pb2_grpc
    from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

    with grpc.insecure_channel(served.tcp) as channel:
        code, line = refused(lambda: Stub(channel).GetActiveGoals(pb.ActiveGoalsRequest(), metadata=metadata))
        assert (code, line.partition(". Fix: ")[0]) == ("UNAUTHENTICATED", said)
        health = health_pb2_grpc.HealthStub(channel)
        asked = health_pb2.HealthCheckRequest()
        assert refused(lambda: health.Check(asked, metadata=metadata))[0] == "UNAUTHENTICATED"
        assert refused(lambda: list(health.Watch(asked, metadata=metadata)))[0] == "UNAUTHENTICATED"
        listed = reflection_pb2.ServerReflectionRequest(list_services="")
        talk = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo
        assert refused(lambda: list(talk(iter([listed]), metadata=metadata)))[0] == "UNAUTHENTICATED"


def test_the_client_says_that_the_token_is_wrong(served):
    with MemoryClient(tcp=served.tcp, token="wrong") as client, pytest.raises(Unauthenticated) as told:
        client.get_active_goals()
    assert (told.value.what, "grpc.token" in told.value.fix) == (WRONG, True)


def test_the_client_sends_its_token_to_no_other_machine():
    with pytest.raises(errors.BadInput, match="this machine alone"):
        MemoryClient(tcp="192.0.2.1:50053", token=TOKEN)


def test_the_client_takes_the_token_of_the_workspace(served, monkeypatch):
    monkeypatch.delenv("NANOMEM_TOKEN", raising=False)
    workspace = served.ws.paths.workspace
    with pytest.raises(errors.NotFound, match="no token yet"):
        MemoryClient(workspace, tcp=served.tcp)
    file = served.ws.paths.data / server.TOKEN
    file.write_text(TOKEN)
    file.chmod(0o600)
    with MemoryClient(workspace, tcp=served.tcp) as client:
        assert client.get_active_goals() == []


# -- where nobody answers ---------------------------------------------------------------------------------------------


def test_no_service_is_told_in_one_line(short):
    with MemoryClient(socket=short / "nothing", timeout=20) as client, pytest.raises(errors.Refused) as told:
        client.get_active_goals()
    assert told.value.line() == f"no service answers: {short / 'nothing'}. Fix: start it: nanomem serve grpc"


def test_what_a_client_cannot_send_is_refused_before_it_is_sent(served):
    with served.client() as client:
        for call in (
            lambda: client.store_goal("half \ud800 a character"),
            lambda: client.store_goal("x", metadata={1, 2}),
            lambda: client.store_goal("x", created_at="yesterday"),
            lambda: client.store_goal("x", priority="high"),
            lambda: client.push_event("event", float("nan")),
            lambda: client.query_working("goal", limit=2**40),
        ):
            with pytest.raises(errors.BadInput):
                call()
        with pytest.raises(errors.BadInput, match="larger than 4 MB"):
            client.store_goal("x" * 5_000_000)


def test_a_record_that_no_message_can_hold_says_so(short):
    from nanomem_tui import open_workspace

    workspace = short / "home" / "workspace"
    workspace.mkdir(parents=True)
    with open_workspace(workspace) as ws:
        text = "\x01" * 900_000
        ws.records.store("incident", {"description": text, "resolution": "é" * 400_000}, "big")
        assert len(json.dumps(text)) > 5_000_000
        with (
            in_thread(ws, short / "s") as served,
            served.client() as client,
            pytest.raises(errors.Refused, match="and a message 4 MB"),
        ):
            client.query_long_term("incident")
