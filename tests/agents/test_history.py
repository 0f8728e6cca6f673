from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui.agents.archive import (
    HistoryEntry,
    clamp_cursor,
    dump_entry,
    marked_lines,
    parse_cursor,
    parse_history,
    parse_history_md,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
KNOWN = {"cursor", "timestamp", "content", "session_key"}
ENTRIES = st.builds(
    HistoryEntry,
    cursor=st.integers(0, 10**12),
    timestamp=st.datetimes().map(lambda at: at.isoformat(" ", "minutes")),
    content=TEXT,
    session_key=st.none() | TEXT,
    extra=st.dictionaries(TEXT.filter(lambda key: key not in KNOWN), st.integers() | TEXT, max_size=2),
)


@given(ENTRIES)
def test_an_entry_survives_its_line(entry):
    line = dump_entry(entry)
    (again,), problems = parse_history(line, "h")
    assert not problems
    assert dump_entry(again) == line
    assert (again.cursor, again.timestamp, again.content, again.session_key, again.extra) == (
        entry.cursor,
        entry.timestamp,
        entry.content,
        entry.session_key,
        entry.extra,
    )


def test_a_null_session_key_stays_null():
    line = b'{"cursor": 1, "timestamp": "2026-01-02 03:04", "content": "x", "session_key": null}\n'
    (entry,), _ = parse_history(line, "h")
    assert entry.session_key is None
    assert dump_entry(entry) == line


@pytest.mark.parametrize(("home", "count"), [("nb035", 282), ("v0_1_5", 149)])
def test_real_archives_come_back_byte_for_byte(samples, home, count):
    data = (samples / home / "home/.nanobot/workspace/memory/history.jsonl").read_bytes()
    entries, problems = parse_history(data, "memory/history.jsonl")
    assert len(entries) == count
    assert problems == ()
    assert b"".join(map(dump_entry, entries)) == data
    assert [entry.line for entry in entries] == list(range(1, count + 1))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"timestamp": "t", "content": "c"}', "no cursor"),
        (b'{"cursor": true, "timestamp": "t", "content": "c"}', "cursor is True"),
        (b'{"cursor": "7", "timestamp": "t", "content": "c"}', "cursor is '7'"),
        (b'{"cursor": -1, "timestamp": "t", "content": "c"}', "cursor is -1"),
        (b'{"cursor": 1.5, "timestamp": "t", "content": "c"}', "cursor is 1.5"),
        (b'{"cursor": 1, "content": "c"}', "no timestamp"),
        (b'{"cursor": 1, "timestamp": 5, "content": "c"}', "timestamp is no text"),
        (b'{"cursor": 1, "timestamp": "t"}', "no content"),
        (b'{"cursor": 1, "timestamp": "t", "content": ["c"]}', "content is no text"),
        (b'{"cursor": 1, "timestamp": "t", "content": "c", "session_key": 4}', "session_key is no text"),
    ],
)
def test_a_line_that_an_agent_skips_is_reported_and_the_rest_is_read(line, why):
    good = b'{"cursor": 9, "timestamp": "t", "content": "c"}'
    entries, problems = parse_history(line + b"\n" + good + b"\n", "h")
    assert [entry.cursor for entry in entries] == [9]
    assert len(problems) == 1
    assert problems[0].line == 1
    assert why in problems[0].what


def test_cursors_that_come_twice_or_go_back_are_warned_of_and_kept():
    lines = b"".join(dump_entry(HistoryEntry(cursor, "t", "c")) for cursor in (1, 3, 3, 2))
    entries, problems = parse_history(lines, "h")
    assert [entry.cursor for entry in entries] == [1, 3, 3, 2]
    assert [(problem.line, problem.severity) for problem in problems] == [(3, "warning"), (4, "warning")]


def test_a_torn_line_and_a_bad_byte_cost_one_entry_each():
    good = [dump_entry(HistoryEntry(cursor, "t", "c")) for cursor in range(1, 6)]
    good[2] = good[2].replace(b'"c"', b'"\xff"')
    entries, problems = parse_history(b"".join(good)[:-5], "h")
    assert [entry.cursor for entry in entries] == [1, 2, 4]
    assert [problem.line for problem in problems] == [3, 5]


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"42", 42),
        (b" 42 \n", 42),
        (b"-5", -5),
        (b"", None),
        (None, None),
        (b"x", None),
        (b"4.2", None),
        (b"\xff", None),
    ],
)
def test_a_cursor_is_read_as_an_agent_reads_it(data, value):
    assert parse_cursor(data) == value


@given(st.none() | st.integers(), st.integers(0, 10**6))
def test_a_clamped_cursor_lies_between_nothing_and_the_latest(value, latest):
    clamped = clamp_cursor(value, latest)
    assert 0 <= clamped <= latest
    if value is not None and 0 <= value <= latest:
        assert clamped == value


def test_marks_are_told_from_other_brackets():
    content = "- [durable] likes tea\n* [SKIP] noise\n\n- [x] done\nplain\n- [skill] deploy: how\n[permanent] name"
    assert marked_lines(content) == [
        ("durable", "likes tea"),
        ("skip", "noise"),
        (None, "[x] done"),
        (None, "plain"),
        ("SKILL", "deploy: how"),
        ("permanent", "name"),
    ]


MTIME = datetime(2026, 5, 6, 7, 8).timestamp()


def test_a_paragraph_belongs_to_the_date_above_it():
    data = (
        b"[2026-01-02 03:04] First day.\n\nStill the first day.\n\n- a list\n\n"
        b"[2026-01-03 05:06] Second day.\n\n\n[2026-01-04] Third, no time.\n[2026-01-05 09:10:11] Right below.\n"
    )
    entries, problems = parse_history_md(data, "HISTORY.md", MTIME)
    assert problems == ()
    assert [(entry.cursor, entry.timestamp, entry.content) for entry in entries] == [
        (1, "2026-01-02 03:04", "First day.\n\nStill the first day.\n\n- a list"),
        (2, "2026-01-03 05:06", "Second day."),
        (3, "2026-01-04 00:00", "Third, no time."),
        (4, "2026-01-05 09:10", "Right below."),
    ]
    assert [entry.line for entry in entries] == [1, 7, 10, 11]


def test_messages_dumped_into_an_entry_stay_in_it():
    data = b"[2026-01-02 03:04] [RAW] 2 messages\n[2026-01-02T03:00] USER: hi\n[2026-01-02T03:01] ASSISTANT: hello\n\n"
    entries, _ = parse_history_md(data, "h", MTIME)
    assert len(entries) == 1
    assert entries[0].raw
    assert entries[0].content.endswith("ASSISTANT: hello")


def test_text_without_a_stamp_has_the_date_of_the_file_and_a_heading_alone_is_no_entry():
    assert parse_history_md(b"# History\n\n", "h", MTIME)[0] == ()
    (entry,), _ = parse_history_md(b"# History\nold note\n", "h", MTIME)
    assert entry.timestamp == "2026-05-06 07:08"


def test_a_bad_byte_in_history_md_is_shown_and_reported():
    entries, problems = parse_history_md(b"[2026-01-02 03:04] a\xffb\n", "h", MTIME)
    assert entries[0].content == "a\ufffdb"
    assert problems[0].line == 1


@given(
    st.lists(
        st.tuples(
            st.datetimes(datetime(2020, 1, 1), datetime(2029, 1, 1)),
            st.lists(st.from_regex(r"[a-z ]{0,9}x", fullmatch=True), min_size=1, max_size=4),
        ),
        max_size=5,
    )
)
def test_entries_of_many_paragraphs_keep_their_own_date(entries):
    data = "".join(f"[{at:%Y-%m-%d %H:%M}] " + "\n\n".join(parts) + "\n\n" for at, parts in entries).encode()
    read, _ = parse_history_md(data, "h", MTIME)
    assert [(entry.timestamp, entry.content) for entry in read] == [
        (f"{at:%Y-%m-%d %H:%M}", "\n\n".join(parts).strip()) for at, parts in entries
    ]


def test_a_stamp_that_is_no_date_is_named_and_its_entry_gets_that_of_its_neighbour():
    data = (
        b"[2026-13-45 99:00] first\n\n[2026-02-01 10:00] second\n\n[2026-02-30 10:00] third\n\nmore\n\n"
        b"[2026-01-01 10:00] late\n\n[2026-02-02 10:00] last\n"
    )
    entries, problems = parse_history_md(data, "h", MTIME)
    first = entries[0].timestamp
    assert first == parse_history_md(b"# History\nold note\n", "h", MTIME)[0][0].timestamp
    assert [(entry.timestamp, entry.content) for entry in entries] == [
        (first, "[2026-13-45 99:00] first"),
        ("2026-02-01 10:00", "second"),
        ("2026-02-01 10:00", "[2026-02-30 10:00] third\n\nmore"),
        ("2026-01-01 10:00", "late"),
        ("2026-02-02 10:00", "last"),
    ]
    assert [(problem.what, problem.line, problem.severity) for problem in problems] == [
        ("no date: '[2026-13-45 99:00]'", 1, "warning"),
        ("no date: '[2026-02-30 10:00]'", 5, "warning"),
        ("out of order: 2026-01-01 10:00 after 2026-02-01 10:00", 9, "warning"),
    ]
