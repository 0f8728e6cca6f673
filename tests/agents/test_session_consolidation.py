"""A transcript whose oldest part was archived: offsets, boundary and summary, and not another byte changed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.agents.messages import parse_session
from nanomem_tui.agents.transcript_edits import (
    Splice,
    apply_splices,
    consolidation_splices,
    inverse_splices,
    last_summary,
    merged_summary,
)
from nanomem_tui.core.errors import BadInput

NOW = "2026-02-03T04:05:06.000007"


def head(**more: Any) -> dict[str, Any]:
    return {"_type": "metadata", "key": "cli:direct", "updated_at": "2026-01-01T00:00:00", "metadata": {"t": 1}, **more}


RECENT = {"last_archived": 0, "last_consolidated": 0}
STATE = {"_type": "provider_state", "state": {"payload": "x"}}
TALK = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"{n} \u2028 你"} for n in range(6)]


def data(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def test_a_recent_file_gets_boundary_and_summary_and_loses_the_providers_state() -> None:
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


def test_an_older_file_gets_its_offset_and_nothing_else() -> None:
    before = data(head(last_consolidated=2), *TALK)
    after = apply_splices(before, consolidation_splices(before, 4, "summary", NOW))
    assert after == before.replace(b'"last_consolidated": 2', b'"last_consolidated": 4')


def test_a_file_without_offsets_gets_the_one_that_all_releases_read() -> None:
    before = data(head(), *TALK)
    after = apply_splices(before, consolidation_splices(before, 4, "summary", NOW))
    assert parse_session(after, "", "").last_archived == 4
    assert len(parse_session(after, "", "").messages) == 6


@pytest.mark.parametrize("tail", [b"\n", b""])
def test_all_of_it_may_be_archived(tail: bytes) -> None:
    before = data(head(**RECENT), *TALK).removesuffix(b"\n") + tail
    session = parse_session(apply_splices(before, consolidation_splices(before, 6, "s", NOW)), "", "")
    assert session.messages[6].boundary
    assert session.problems == ()


def test_unreadable_lines_stay_where_they_are() -> None:
    before = data(head(**RECENT), *TALK[:2]) + b"\xff torn\n" + data(*TALK[2:])
    after = apply_splices(before, consolidation_splices(before, 4, "s", NOW))
    assert b"\xff torn\n" in after
    assert [message.content[:1] for message in parse_session(after, "", "").messages] == list("0123C45")


@pytest.mark.parametrize(("rows", "end"), [(TALK, 2), ([head(**RECENT), *TALK], 7), ([head(**RECENT), *TALK], 0)])
def test_what_cannot_be_noted_is_refused(rows: list[dict[str, Any]], end: int) -> None:
    with pytest.raises(BadInput):
        consolidation_splices(data(*rows), end, "s", NOW)


@given(
    st.lists(st.sampled_from(["state", "bad", "talk", "late head"]), max_size=12),
    st.integers(1, 12),
    st.booleans(),
)
def test_the_inverse_gives_every_byte_back(shape: list[str], end: int, recent: bool) -> None:
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


def test_splices_that_do_not_fit_are_refused() -> None:
    for splices in ([Splice(3, 2, b"")], [Splice(0, 9, b"")], [Splice(2, 3, b""), Splice(1, 2, b"")]):
        with pytest.raises(BadInput):
            apply_splices(b"12345", splices)


def test_summaries_are_merged_and_bounded_without_losing_the_newest() -> None:
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
