"""What cannot be sent, or stored, is refused in words, by errors of our own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from nanomem_tui.core import errors
from nanomem_tui.servers.grpc import memory_pb2 as pb
from nanomem_tui.servers.grpc.client import MemoryClient
from tests.servers.grpc_serving import Process

SHARES_A_HOME = True
RAW = ("int_max_str_digits", "recursion", "codec", "OverflowError")
NESTED: list[Any] = []
for _ in range(100_000):
    NESTED = [NESTED]
UNSENT: dict[str, Callable[[MemoryClient], object]] = {
    "a number of 5,000 digits": lambda client: client.push_event("event", {"n": 10**5_000}),
    "nesting": lambda client: client.store_goal("x", metadata=NESTED),
    "half a character": lambda client: client.push_event("event", "\ud800"),
    "half a character in a text": lambda client: client.store_goal("\ud800"),
    "a metric that is too large": lambda client: client.update_metric("x", 10**400),
    "a priority that is too large": lambda client: client.store_goal("x", priority=10**400),
    "a time that never comes": lambda client: client.store_goal("x", created_at=float("inf")),
    "a time that is none": lambda client: client.get_recent_events(since=float("nan")),
}


@pytest.fixture
def served(kept_empty):
    return kept_empty


@pytest.mark.parametrize("name", UNSENT)
def test_what_cannot_be_sent_is_told_in_words(memory, name):
    with pytest.raises(errors.BadInput) as told:
        UNSENT[name](memory)
    assert not [word for word in RAW if word in told.value.line()], told.value.line()


def test_a_number_of_too_many_digits_is_refused_by_the_service_in_words(
    stub,
):
    with pytest.raises(Exception, match="metadata_json is no JSON: a number in it is too large") as told:
        stub.StoreGoal(pb.Goal(description="x", metadata_json=b"1" * (sys.get_int_max_str_digits() + 1)))
    assert "set_int_max" not in str(told.value)


def test_a_client_that_was_closed_says_so(served):
    client = served.client()
    client.close()
    with pytest.raises(errors.Refused, match="the client is closed"):
        client.get_active_goals()


@pytest.mark.parametrize("token", ["n\u00e4m", "a-token-0123456789\n", "a token of words"])
def test_a_token_that_cannot_be_one_is_refused_before_a_call(token):
    with pytest.raises(errors.BadInput, match="a token is ASCII without blanks"):
        MemoryClient(tcp=50053, token=token)


@pytest.mark.parametrize("port", ["foo", "127.0.0.1:foo", "", "0", "65536", "-1"])
def test_a_port_that_cannot_be_one_is_refused(port):
    with pytest.raises(errors.BadInput, match="no such port"):
        MemoryClient(tcp=port, token="a-token-0123456789")


def test_a_text_of_a_document_has_the_bytes_that_the_proto_says(memory):
    with pytest.raises(errors.BadInput, match="`content` has 1,000,001 bytes"):
        memory.add_knowledge("x", "x" * 1_000_001)


@pytest.mark.slow
def test_a_socket_in_a_folder_that_is_not_there_is_refused(short):
    place = short / "home" / "workspace"
    place.mkdir(parents=True)
    with Process(place, "--socket", str(short / "nothing" / "s")) as process:
        code, said = process.ended()
    assert (code, said.count("\n")) == (2, 1)
    assert "there is no such folder for the socket" in said
    assert not (short / "nothing").exists()
