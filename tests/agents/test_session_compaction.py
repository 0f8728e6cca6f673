from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.agents import transcript_edits
from nanomem_tui.agents.jsonl import dump_line, parse_jsonl
from nanomem_tui.agents.session_file import parse_session
from nanomem_tui.agents.transcript_edits import compact_long
from nanomem_tui.agents.transcripts import BOUNDARY_TEXT, compact, uncompact, without_unreadable
from nanomem_tui.core.errors import BadInput

BOUNDARY = {"role": "user", "content": BOUNDARY_TEXT, "_hidden_history": True}
STATE = {"_type": "provider_state", "state": {"kind": "opaque", "payload": "x"}}


def metadata(archived=0, consolidated=0, **more):
    head = {"_type": "metadata", "key": "cli:direct", "created_at": "a", "updated_at": "b", "metadata": {"title": "é"}}
    return {**head, "last_archived": archived, "last_consolidated": consolidated, **more}


def transcript(head, *messages):
    return b"".join(map(dump_line, (head, *messages)))


def say(text, role="user"):
    return {"role": role, "content": text}


def call(*ids):
    return {"role": "assistant", "content": "", "tool_calls": [{"id": i, "function": {"name": "f"}} for i in ids]}


def result(of):
    return {"role": "tool", "tool_call_id": of, "content": "r"}


def contents(data):
    return [message.content for message in parse_session(data, "s", "k").messages]


def test_the_last_messages_stay_and_both_offsets_move_with_them():
    data = transcript(metadata(6, 7, extra={"kept": 1}), *(say(str(number)) for number in range(10)))
    done = compact(data, 5)
    assert contents(done.data) == ["5", "6", "7", "8", "9"]
    assert done.data.split(b"\n")[0] == json.dumps(metadata(1, 2, extra={"kept": 1}), ensure_ascii=False).encode()
    assert (done.last_archived, done.last_consolidated, done.before) == (1, 2, (6, 7))
    assert (done.removed_messages, done.kept_messages, done.removed_unarchived) == (5, 5, 0)
    assert done.removed == b"".join(dump_line(say(str(number))) for number in range(5))


def test_an_offset_before_the_cut_is_nought_and_what_no_summary_covers_is_counted():
    data = transcript(metadata(2, 2), *(say(str(number)) for number in range(10)))
    done = compact(data, 4)
    assert (done.last_archived, done.last_consolidated, done.removed_unarchived) == (0, 0, 4)


PAIR = [say("a"), call("1", "2"), result("1"), result("2"), say("b"), say("c")]
LATE = [say("a"), call("1"), say("between"), call("2"), result("2"), result("1"), say("end")]
NAMELESS = [say("a"), say("b"), {"role": "tool", "content": "r"}, say("end")]
USED_AGAIN = [call("1"), result("1"), say("x"), call("1"), result("1"), say("y")]


@pytest.mark.parametrize(
    ("messages", "keep", "kept"),
    [(PAIR, 3, 5), (PAIR, 2, 2), (LATE, 2, 6), (NAMELESS, 2, 3), (USED_AGAIN, 3, 3)],
    ids=["both results stay with their call", "a cut behind them", "a result that comes late keeps all between",
         "without an id it stays with what is before it", "an id used again is of the latest call"],
)  # fmt: skip
def test_a_result_is_never_without_its_call(messages, keep, kept):
    assert compact(transcript(metadata(), *messages), keep).kept_messages == kept


def test_the_boundary_stands_where_last_archived_points():
    messages = [say(str(number)) for number in range(6)]
    data = transcript(metadata(3, 3), *messages[:3], BOUNDARY, *messages[3:])
    kept = parse_session(compact(data, 5).data, "s", "k")
    assert kept.messages[kept.last_archived].boundary
    assert kept.last_archived == 1


def test_the_boundary_moves_to_the_head_when_the_cut_is_behind_it():
    messages = [say(str(number)) for number in range(6)]
    data = transcript(metadata(3, 3), *messages[:3], BOUNDARY, *messages[3:])
    done = compact(data, 2)
    kept = parse_session(done.data, "s", "k")
    assert contents(done.data) == [BOUNDARY_TEXT, "4", "5"]
    assert (kept.last_archived, kept.last_consolidated, done.boundary_at) == (0, 0, 3)
    assert done.removed_unarchived == 1
    assert uncompact(done.data, done.removed, *done.before, boundary_at=done.boundary_at) == data


def test_an_older_boundary_goes_with_its_messages():
    data = transcript(metadata(3, 3), BOUNDARY, say("1"), say("2"), say("3"), say("4"))
    assert contents(compact(data, 2).data) == ["3", "4"]


def test_the_private_state_of_the_provider_goes():
    data = transcript(metadata(), STATE, say("a"), say("b"))
    done = compact(data, 1)
    assert not parse_session(done.data, "s", "k").has_provider_state
    assert b"provider_state" not in done.data + done.removed


def test_nothing_to_cut_changes_nothing():
    data = transcript(metadata(1, 1), STATE, say("a"), say("b"))[:-1]
    done = compact(data, 2)
    assert (done.data, done.removed, done.removed_messages, done.kept_messages) == (data, b"", 0, 2)


def test_offsets_that_a_release_does_not_write_are_not_added():
    head = {"_type": "metadata", "created_at": "a", "updated_at": "b", "metadata": {}}
    done = compact(transcript(head, say("a"), say("b")), 1)
    assert done.data.split(b"\n")[0] + b"\n" == dump_line(head)
    assert (done.last_archived, done.last_consolidated) == (None, None)


def test_the_form_of_the_metadata_line_stays():
    line = b'{"_type":"metadata",  "metadata":{"t":"\\u00e9", "last_archived": 9},'
    line += b'"last_archived" : 3,"last_consolidated":3 }'
    done = compact(line + b"\n" + b"".join(dump_line(say(str(n))) for n in range(4)), 2)
    head = parse_jsonl(done.data, "s")[0].value
    assert head is not None
    assert (head["last_archived"], head["last_consolidated"], head["metadata"]["last_archived"]) == (1, 1, 9)
    plain = line.replace(b', "last_archived": 9', b"")
    done = compact(plain + b"\n" + b"".join(dump_line(say(str(n))) for n in range(4)), 2)
    assert done.data.split(b"\n")[0] == plain.replace(b"3", b"1")


def test_half_a_character_in_the_metadata_does_not_stop_it():
    line = b'{"_type": "metadata", "metadata": {"t": "\\ud83d"}, "last_archived": true, "last_consolidated": 2}\n'
    done = compact(line + dump_line(say("a")) + dump_line(say("b")), 1)
    assert done.data.split(b"\n")[0] + b"\n" == line.replace(b"true", b"0").replace(b"2}", b"1}")


def test_unreadable_lines_are_cut_or_kept_exactly_and_offsets_are_right_for_the_reader():
    lines = [dump_line(say(str(number))) for number in range(6)]
    lines[1] = b"\0" * 9 + b"\n"
    lines[4] = b"\xff\n"
    done = compact(dump_line(metadata(5, 5)) + b"".join(lines), 2)
    assert done.data == dump_line(metadata(1, 1)) + b"".join(lines[3:])
    assert done.removed == b"".join(lines[:3])
    assert (done.removed_messages, done.kept_messages) == (2, 2)


def test_messages_that_came_after_stay_when_the_old_ones_come_back():
    data = transcript(metadata(4, 4), *(say(str(number)) for number in range(6)))
    done = compact(data, 3)
    grown = done.data.replace(b'"updated_at": "b"', b'"updated_at": "c"') + dump_line(say("new"))
    back = uncompact(grown, done.removed, *done.before)
    assert contents(back) == ["0", "1", "2", "3", "4", "5", "new"]
    assert parse_session(back, "s", "k").last_archived == 4
    moved = grown.replace(b'"last_archived": 1', b'"last_archived": 4').replace(b'dated": 1', b'dated": 4')
    assert parse_session(uncompact(moved, done.removed, *done.before), "s", "k").last_archived == 7


def test_a_negative_number_is_refused():
    with pytest.raises(BadInput):
        compact(b"", -1)


@given(st.lists(st.booleans(), max_size=12), st.data())
def test_without_unreadable_lines_offsets_point_where_they_did_and_nothing_else_changes(readable, data):
    archived, consolidated = (data.draw(st.integers(0, len(readable))) for _ in range(2))
    lines = [dump_line(say(str(n))) if whole else f'{{"torn {n}\n'.encode() for n, whole in enumerate(readable)]
    before = dump_line(metadata(archived, consolidated)) + b"".join(lines)
    mended = without_unreadable(before)
    assert (mended.lines, mended.messages) == (readable.count(False), readable.count(True))
    if all(readable):
        assert mended.data is before
        return
    after = parse_session(mended.data, "", "")
    assert not any("not JSON" in problem.what for problem in after.problems)
    assert contents(mended.data) == [str(n) for n, whole in enumerate(readable) if whole]
    assert (after.last_archived, after.last_consolidated) == (sum(readable[:archived]), sum(readable[:consolidated]))


@st.composite
def transcripts(draw):
    body, ids = [], 0
    for kind in draw(st.lists(st.sampled_from("uuuatbx"), max_size=14)):
        if kind == "t":
            count = draw(st.integers(1, 3))
            names = [str(ids + n) for n in range(count)]
            ids += count
            body += [call(*names), *(result(name) for name in names)]
        else:
            body.append({"u": say("q"), "a": say("a", "assistant"), "b": BOUNDARY, "x": None}[kind])
    offset = draw(st.integers(-1, len(body) + 1))
    for at, message in enumerate(body):
        if message is not None and message is not BOUNDARY:
            body[at] = {**message, "n": at}
    head = [] if draw(st.integers(0, 5)) == 0 else [dump_line(metadata(offset, draw(st.integers(0, len(body)))))]
    if draw(st.booleans()):
        head.append(dump_line(STATE))
    lines = [b'{"torn": \n' if message is None else dump_line(message) for message in body]
    return head, lines


@given(transcripts(), st.integers(0, 16))
def test_any_compaction_keeps_every_rule_and_can_be_taken_back(parts, keep):
    head, lines = parts
    data = b"".join((*head, *lines))
    before, done = parse_session(data, "s", "k"), compact(data, keep)
    after = parse_session(done.data, "s", "k")

    kept = [line + b"\n" for line in done.data.split(b"\n")[:-1] if b'"_type"' not in line]
    removed = [line + b"\n" for line in done.removed.split(b"\n")[:-1]]
    assert sorted(kept + removed) == sorted(lines), "every line is kept or removed, byte for byte"
    tail = kept if done.boundary_at is None else kept[1:]
    assert tail == lines[len(lines) - len(tail) :]
    assert len(after.messages) == done.kept_messages >= min(keep, len(before.messages))
    assert done.removed_messages == len(before.messages) - done.kept_messages

    calls = {made.id for message in after.messages for made in message.tool_calls}
    assert {message.tool_call_id for message in after.messages if message.role == "tool"} <= calls

    back = uncompact(done.data, done.removed, *done.before, boundary_at=done.boundary_at)
    whole = parse_session(back, "s", "k")
    if not before.unreadable:
        assert [m.raw for m in whole.messages] == [m.raw for m in before.messages]
        assert (whole.last_archived, whole.last_consolidated) == (before.last_archived, before.last_consolidated)
        if removed:
            for name in ("last_archived", "last_consolidated"):
                old, new = getattr(before, name), getattr(after, name)
                gone = len(before.messages) - len(after.messages)
                assert new == max(0, old - gone) or done.boundary_at is not None


@given(transcripts(), st.integers(1, 6), st.integers(1, 3), st.data())
def test_a_long_transcript_is_cut_to_the_same_bytes_without_being_held(parts, keep, margin, data):
    head, lines = parts
    every = [*head, *lines]
    whole, done = b"".join(every), compact(b"".join(every), keep)
    at = sorted(data.draw(st.lists(st.integers(0, len(every)), max_size=4)))
    pieces = [b"".join(every[a:b]) for a, b in pairwise([0, *at, len(every)])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transcript_edits, "MARGIN", margin)
        found = compact_long(lambda: pieces, keep)
    if found is None:  # the last part does not tell
        return
    assert found.data == done.data
    assert (found.kept_messages, found.last_archived, found.last_consolidated, found.before) == (
        done.kept_messages, done.last_archived, done.last_consolidated, done.before,
    )  # fmt: skip
    if b"torn" not in whole:
        assert (found.removed_messages, found.removed_unarchived) == (done.removed_messages, done.removed_unarchived)


def test_most_long_transcripts_are_cut_without_being_held():
    lines = [dump_line({**say("q"), "n": n}) for n in range(5000)]
    data = b"".join((dump_line(metadata(4000, 4000)), *lines))
    pieces = [dump_line(metadata(4000, 4000)), *(b"".join(lines[at : at + 100]) for at in range(0, 5000, 100))]
    found, done = compact_long(lambda: pieces, 10), compact(data, 10)
    assert found is not None
    assert found.data == done.data
    assert found._replace(removed=b"", before=done.before) == done._replace(removed=b"")


@pytest.mark.parametrize("keep", [0, 1, 3, 10, 40])
def test_real_transcripts_are_cut_and_put_back_byte_for_byte(samples, keep):
    for path in [*(samples / "nb035").rglob("*.jsonl"), *(samples / "ramfirst/home/.nanobot/sessions").glob("*")]:
        if "sessions" not in path.parts:
            continue
        data = path.read_bytes()
        done = compact(data, keep)
        assert uncompact(done.data, done.removed, *done.before, boundary_at=done.boundary_at) == data
        session = parse_session(done.data, path.name, "k")
        assert session.problems == ()
        calls = {made.id for message in session.messages for made in message.tool_calls}
        assert {message.tool_call_id for message in session.messages if message.role == "tool"} <= calls
        if session.last_archived:
            assert session.messages[session.last_archived].boundary
