"""A transcript whose oldest part was archived: offsets, boundary and summary, and not another byte changed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.agents.session_file import parse_session
from nanomem_tui.agents.transcript_edits import (
    RAW_CHARS,
    Splice,
    apply_splices,
    archivable,
    consolidation_splices,
    dump,
    fits_dump,
    inverse_splices,
    last_summary,
    merged_summary,
    oldest_slice,
    safe_ends,
    tokens,
)
from nanomem_tui.core.errors import BadInput

NOW = "2026-02-03T04:05:06.000007"


def head(**more):
    return {"_type": "metadata", "key": "cli:direct", "updated_at": "2026-01-01T00:00:00", "metadata": {"t": 1}, **more}


RECENT = {"last_archived": 0, "last_consolidated": 0}
STATE = {"_type": "provider_state", "state": {"payload": "x"}}
TALK = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n} \u2028 你"} for n in range(6)]


def data(*rows):
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def test_a_recent_file_gets_boundary_and_summary_and_loses_the_providers_state():
    before = data(head(**RECENT, later={"a": 1}), STATE, *TALK)
    after = apply_splices(before, consolidation_splices(before, 4, "- [durable] x", NOW))
    session = parse_session(after, "", "")
    assert (session.last_archived, session.last_consolidated, session.has_provider_state) == (4, 4, False)
    assert session.problems == ()
    assert session.messages[4].boundary
    assert session.messages[4].timestamp == NOW
    assert session.metadata == {
        "t": 1, "_last_summary": {"text": "- [durable] x", "last_active": "2026-01-01T00:00:00"},
    }  # fmt: skip
    assert session.updated_at == "2026-01-01T00:00:00", "nobody spoke"
    lines, old = after.split(b"\n"), before.split(b"\n")
    assert lines[1:5] == old[2:6]
    assert lines[6:] == old[6:]
    assert json.loads(lines[0])["later"] == {"a": 1}


def test_an_older_file_gets_its_offset_and_nothing_else():
    before = data(head(last_consolidated=2), *TALK)
    after = apply_splices(before, consolidation_splices(before, 4, "summary", NOW))
    assert after == before.replace(b'"last_consolidated": 2', b'"last_consolidated": 4')


def test_a_file_without_offsets_gets_the_one_that_all_releases_read():
    before = data(head(), *TALK)
    after = apply_splices(before, consolidation_splices(before, 4, "summary", NOW))
    assert parse_session(after, "", "").last_archived == 4
    assert len(parse_session(after, "", "").messages) == 6


@pytest.mark.parametrize("tail", [b"\n", b""])
def test_all_of_it_may_be_archived(tail):
    before = data(head(**RECENT), *TALK).removesuffix(b"\n") + tail
    session = parse_session(apply_splices(before, consolidation_splices(before, 6, "s", NOW)), "", "")
    assert session.messages[6].boundary
    assert session.problems == ()


def test_unreadable_lines_stay_where_they_are():
    before = data(head(**RECENT), *TALK[:2]) + b"\xff torn\n" + data(*TALK[2:])
    after = apply_splices(before, consolidation_splices(before, 4, "s", NOW))
    assert b"\xff torn\n" in after
    assert [message.content[:1] for message in parse_session(after, "", "").messages] == list("0123C45")


@pytest.mark.parametrize(("rows", "end"), [(TALK, 2), ([head(**RECENT), *TALK], 7), ([head(**RECENT), *TALK], 0)])
def test_what_cannot_be_noted_is_refused(rows, end):
    with pytest.raises(BadInput):
        consolidation_splices(data(*rows), end, "s", NOW)


@given(
    st.lists(st.sampled_from(["state", "bad", "talk", "late head"]), max_size=12),
    st.integers(1, 12),
    st.booleans(),
)
def test_the_inverse_gives_every_byte_back(shape, end, recent):
    kinds = {"state": STATE, "talk": TALK[0], "late head": head(**RECENT)}
    lines = [b"\xffbad\n" if kind == "bad" else data(kinds[kind]) for kind in shape]
    before = data(head(**(RECENT if recent else {}))) + b"".join(lines)
    count = shape.count("talk")
    if not 0 < end <= count:
        return
    splices = consolidation_splices(before, end, "s", NOW)
    after = apply_splices(before, splices)
    assert apply_splices(after, inverse_splices(before, splices)) == before
    session = parse_session(after, "", "")
    assert session.last_archived == end
    assert not session.has_provider_state


def test_splices_that_do_not_fit_are_refused():
    for splices in ([Splice(3, 2, b"")], [Splice(0, 9, b"")], [Splice(2, 3, b""), Splice(1, 2, b"")]):
        with pytest.raises(BadInput):
            apply_splices(b"12345", splices)


def test_summaries_are_merged_and_bounded_without_losing_the_newest():
    before = "- [permanent] tea\n- [ephemeral] writing\n- [durable] Oslo"
    assert merged_summary("", "- [durable] x") == "- [durable] x"
    assert merged_summary(before, "- [durable] Oslo\n- [durable] new").split("\n") == [
        "- [permanent] tea", "- [ephemeral] writing", "- [durable] Oslo", "- [durable] new",
    ]  # fmt: skip
    assert merged_summary(before, "- [durable] new", limit=55).split("\n") == [
        "- [permanent] tea", "- [durable] Oslo", "- [durable] new",
    ]  # fmt: skip
    assert merged_summary(before, "x" * 99, limit=50) == "x" * 99
    assert last_summary({"_last_summary": {"text": 3}}) == last_summary({}) == ""


# Which part of a transcript may be archived: whole turns, never a call without its result, every message once.


def said(role, text="", **more):
    return {"role": role, "content": text, "timestamp": "2026-01-02T03:04:05.000006", **more}


def call(*ids, text=""):
    function = {"name": "exec", "arguments": "{}"}
    return said("assistant", text, tool_calls=[{"id": one, "type": "function", "function": function} for one in ids])


def messages(*rows):
    data = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
    return parse_session(data, "", "cli:direct").messages


def test_a_slice_ends_before_a_turn_of_a_person():
    talk = messages(
        said("user", "one"), call("a"), said("tool", "done", tool_call_id="a"), said("assistant", "there"),
        said("user", "two"), said("assistant", "yes"), said("user", "three"),
    )  # fmt: skip
    assert safe_ends(talk, 0) == [4, 6]
    assert safe_ends(talk, 4) == [6]
    assert safe_ends(talk, 6) == []


def test_no_call_is_parted_from_a_result_that_comes_late():
    talk = messages(
        said("user", "one"), call("a", "b"), said("tool", tool_call_id="a"), said("user", "meanwhile"),
        said("tool", tool_call_id="b"), said("assistant", "both"), said("user", "two"), said("user", "three"),
    )  # fmt: skip
    assert safe_ends(talk, 0) == [6, 7]
    assert safe_ends(talk, 2) == [6, 7], "also where the slice begins between them"


def test_what_an_agent_puts_in_is_no_turn_of_a_person():
    talk = messages(
        said("user", "one"),
        said("user", "Continue", _hidden_history=True),
        said("user", "a result", injected_event="subagent_result"),
        said("user", "/dream", _command=True),
        said("assistant", "Dreaming", _command=True),
        said("user", "two"),
    )
    assert safe_ends(talk, 0) == [3, 5]
    assert [message.index for message in archivable(talk)] == [0, 2, 5]


@pytest.mark.parametrize(
    ("text", "count"), [("x" * 400, 104), ("你好" * 100, 154), ("", 4)], ids=["plain", "chinese", "empty"]
)
def test_tokens_are_reckoned_from_bytes(text, count):
    assert round(tokens(messages(said("user", text))[0], 4.0)) == count


def test_a_call_and_thoughts_cost_and_a_command_does_not():
    thinking = said("assistant", reasoning_content="x" * 40)
    plain, calling, thought, command = messages(
        said("assistant"), call("a"), thinking, said("user", "/x" * 50, _command=True)
    )
    assert tokens(command, 4.0) == 0 < tokens(plain, 4.0) < tokens(calling, 4.0) < tokens(thought, 4.0)


def test_room_is_made_for_half_a_budget():
    talk = messages(*(said("user" if n % 2 == 0 else "assistant", "x" * 384) for n in range(20)))
    cut = oldest_slice(talk, 0, 1000, 4.0)
    assert cut is not None
    assert (cut.start, cut.end, cut.tokens, cut.left) == (0, 16, 2000, 400)
    assert oldest_slice(talk, 0, 2000, 4.0) is None, "it fits"
    again = oldest_slice(talk, cut.end, 300, 4.0)
    assert again is not None
    assert (again.start, again.end) == (16, 18), "the newest turn stays, however small the budget"
    alone = oldest_slice(talk, 18, 10, 4.0)
    assert alone is not None
    assert alone.start == alone.end == 18, "there is no safe slice in one turn"


def test_a_dump_is_as_agents_write_it():
    talk = messages(
        said("user", "hello"),
        said("assistant", "<think>hm</think>hi", tools_used=["exec", "read_file"]),
        said("tool", ""),
        said("user", "/x", _command=True),
        {"role": "assistant", "content": "late"},
    )
    assert dump(talk).split("\n") == [
        "[RAW] 4 messages",
        "[2026-01-02T03:04] USER: hello",
        "[2026-01-02T03:04] ASSISTANT [tools: exec, read_file]: hi",
        "[?] ASSISTANT: late",
    ]


def test_a_dump_that_is_cut_says_so():
    talk = messages(said("user", "x" * 20_000))
    assert not fits_dump(talk)
    assert dump(talk).endswith("x\n... (truncated)")
    assert len(dump(talk)) == RAW_CHARS + 16


turns = st.lists(
    st.one_of(
        st.tuples(st.just("user"), st.integers(0, 300)),
        st.tuples(st.just("assistant"), st.integers(0, 300)),
        st.tuples(st.just("call"), st.integers(1, 3)),
        st.tuples(st.just("result"), st.integers(0, 6)),
        st.tuples(st.just("hidden"), st.just(0)),
        st.tuples(st.just("command"), st.just(0)),
    ),
    max_size=40,
)


def built(shape):
    rows: list[dict[str, Any]] = []
    ids: list[str] = []
    for kind, number in shape:
        if kind == "call":
            made = [f"c{len(ids) + place}" for place in range(number)]
            ids += made
            rows.append(call(*made))
        elif kind == "result":
            rows.append(said("tool", "r", tool_call_id=ids[-1 - number % len(ids)] if ids else "lost"))
        elif kind in ("hidden", "command"):
            rows.append(said("user", "x", **{"_hidden_history" if kind == "hidden" else "_command": True}))
        else:
            rows.append(said(kind, "x" * number))
    return messages(*rows)


@given(turns, st.integers(1, 400), st.sampled_from([1.0, 4.0]))
def test_slice_after_slice_every_message_is_archived_once_and_no_pair_is_parted(shape, budget, rate):
    talk = built(shape)
    owner = {one.id: message.index for message in talk for one in message.tool_calls}
    pairs = [(owner[m.tool_call_id], m.index) for m in talk if m.tool_call_id in owner]
    start, seen = 0, list[int]()
    while (cut := oldest_slice(talk, start, budget, rate)) is not None and cut.end > cut.start:
        assert cut.start == start < cut.end < len(talk)
        assert talk[cut.end].role == "user"
        assert not talk[cut.end].hidden
        assert not any(first < cut.end <= last for first, last in pairs), "a result stays with its call"
        assert cut.left == round(sum(tokens(message, rate) for message in talk[cut.end :]))
        seen += range(cut.start, cut.end)
        start = cut.end
    assert seen == list(range(start))
    if cut is None:
        assert sum(tokens(message, rate) for message in talk[start:]) <= budget
    else:
        assert safe_ends(talk, start) == [], "more could have been archived"
