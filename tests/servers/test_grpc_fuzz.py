"""Whatever a message holds, an rpc answers it or refuses it with an error of ours: never one that nobody foresaw."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui import open_workspace
from nanomem_tui.core import errors
from nanomem_tui.servers.grpc import memory_pb2 as pb
from nanomem_tui.servers.grpc.service import MemoryService, status_of
from nanomem_tui.store.work.kinds import KINDS

SERVICE = pb.DESCRIPTOR.services_by_name["MemoryService"]
OTHERS = """metric event task tool_result working longterm operational knowledge status priority timestamp active
completed true 1 g1""".split()
WORDS = [*KINDS, *(kind.table for kind in KINDS.values()), *OTHERS]
TEXTS = st.one_of(st.sampled_from(WORDS), st.text(max_size=30), st.just(""), st.just("\x00"), st.just("  "))
JSON = st.sampled_from([b"", b"{}", b"null", b"[1,2]", b'{"name":"m","value":1.5}', b'{"id":"t","status":"active"}',
                        b'{"tool":"x","input":{}}', b'"\\ud800"', b"{", b"\xff", b"NaN", b"1e400", b"[" * 5_000,
                        b'{"level":"error"}', b'{"agent":"a","state":1}', b'{"name":1,"value":"x"}'])  # fmt: skip
NUMBERS = st.one_of(st.integers(-3, 3), st.sampled_from([50, 1_000, 2**31 - 1, -(2**31), 1_771_000_000]))
LARGE = st.one_of(NUMBERS, st.sampled_from([2**63 - 1, -(2**63), 1_771_000_000_000, 253_402_300_800]))
FLOATS = st.one_of(st.floats(), st.sampled_from([0.0, 0.5, 1.0, float("nan"), float("inf"), 1e308]))
VALUES = {
    FieldDescriptor.TYPE_STRING: TEXTS,
    FieldDescriptor.TYPE_BYTES: st.one_of(JSON, st.binary(max_size=10)),
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_INT32: NUMBERS,
    FieldDescriptor.TYPE_INT64: LARGE,
    FieldDescriptor.TYPE_DOUBLE: FLOATS,
}


def messages(name):
    """Requests of an rpc, each field there or not."""
    request = SERVICE.methods_by_name[name].input_type
    fields = {field.name: _values(field) for field in request.fields}
    return st.fixed_dictionaries({}, optional=fields).map(lambda given: getattr(pb, request.name)(**given))


def _values(field):
    if field.message_type is not None:  # the one map that there is
        return st.dictionaries(TEXTS, TEXTS, max_size=3)
    values = VALUES[field.type]
    return st.lists(values, max_size=3) if field.is_repeated else values


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("fuzz") / "home" / "workspace"
    folder.mkdir(parents=True)
    with open_workspace(folder) as ws:
        made = MemoryService(ws)
        made.rpcs["StoreGoal"].work(pb.Goal(id="g1", description="a goal", status="active"))
        yield made


@pytest.mark.parametrize("name", [method.name for method in SERVICE.methods])
@given(data=st.data())
def test_every_message_is_answered_or_refused(service, name, data):
    rpc = service.rpcs[name]
    request = data.draw(messages(name))
    assert rpc.where(request) in ("here", "aside", "alone")
    try:
        answer = rpc.work(request)
    except errors.NanomemError as error:
        code, line, metadata = status_of(error, name)
        assert code in ("INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION", "ABORTED"), line
        assert "\n" not in line
        assert all(text.isascii() and text.isprintable() for _, text in metadata)
    else:
        output = SERVICE.methods_by_name[name].output_type.name
        assert isinstance(answer, getattr(pb, output)) or name.startswith("Store")
