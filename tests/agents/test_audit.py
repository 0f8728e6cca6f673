from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.agents.snapshot_files import LESSON_TYPES, MEMORY_TYPES, AuditEvent, dump_event, parse_audit
from nanomem_tui.core.errors import BadInput

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
EVENTS = st.builds(
    lambda **fields: AuditEvent(**fields),
    type=st.sampled_from([*MEMORY_TYPES, *LESSON_TYPES, "later_kind"]),
    at=TEXT,
    fields=st.dictionaries(TEXT.filter(lambda key: key not in {"type", "at"}), TEXT | st.integers(), max_size=3),
)


@given(st.lists(EVENTS, max_size=5))
def test_events_survive_their_lines(events):
    data = b"".join(map(dump_event, events))
    again, problems = parse_audit(data, "a")
    assert [event._replace(line=0) for event in again] == events
    assert problems == ()
    assert b"".join(map(dump_event, again)) == data


@pytest.mark.parametrize(("name", "count", "types"), [("LTM", 160, MEMORY_TYPES), ("LESSONS", 198, LESSON_TYPES)])
def test_real_logs_come_back_byte_for_byte(samples, name, count, types):
    data = (samples / f"ramfirst/home/.nanobot/workspace/memory/{name}_AUDIT.jsonl").read_bytes()
    events, problems = parse_audit(data, "a")
    assert (len(events), problems) == (count, ())
    assert {event.type for event in events} <= set(types)
    assert b"".join(map(dump_event, events)) == data


def test_a_bad_byte_and_half_a_line_cost_a_line_each(samples):
    data = (samples / "torn/home/.nanobot/workspace/memory/LTM_AUDIT.jsonl").read_bytes()
    events, problems = parse_audit(data, "a")
    assert (len(events), [problem.line for problem in problems]) == (159, [11, 31])


def test_an_event_names_what_it_is_about_and_must_have_a_type():
    events, problems = parse_audit(b'{"type": "memory_add", "id": "ltm_1"}\n{"id": "x"}\n{"type": "t", "id": 4}\n', "a")
    assert [(event.id, event.at, event.line) for event in events] == [("ltm_1", "", 1), ("", "", 3)]
    assert [problem.line for problem in problems] == [2]


def test_text_that_is_no_utf8_is_refused():
    with pytest.raises(BadInput):
        dump_event(AuditEvent("memory_add", "t", {"text": "\udfff"}))
