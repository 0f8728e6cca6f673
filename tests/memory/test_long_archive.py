"""An archive that is not held answers as one that is."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanomem_tui import open_workspace
from nanomem_tui.agents.archive import HistoryEntry, dump_entry, parse_history
from nanomem_tui.core import files
from nanomem_tui.core.paths import find_workspace
from nanomem_tui.memory.filters import matcher
from nanomem_tui.memory.sessions import archive
from nanomem_tui.memory.sessions.archive import History

SAID = (
    "The ferry leaves at nine", "Tea, no sugar 北京", "The window seat is ＬＥＦＴ",
    '[durable] "quoted" \\ path', "naïve café",
)  # fmt: skip
QUERIES = ("ferry", "left", "北京", '"no sugar"', "seat -left", "nothing at all")


def entry(cursor, session=None):
    return HistoryEntry(cursor, f"2026-05-01 10:{cursor % 60:02}", f"{SAID[cursor % 5]} {cursor}", session)


def lines(count):
    return [dump_entry(entry(n, f"cli:{n % 3}" if n % 4 else None)) for n in range(1, count + 1)]


@pytest.fixture
def small(monkeypatch):
    """Pieces of a few lines, two of which are held."""
    monkeypatch.setattr(archive, "WHOLE", 1_000)
    monkeypatch.setattr(archive, "NEWEST", 2)
    monkeypatch.setattr(files, "CHUNK", 700)


@pytest.fixture
def history(tmp_path, small):
    """The archive of these bytes, not held and held."""

    def of(data):
        made = [Archive(tmp_path / name / "workspace", most) for name, most in (("long", 1_000), ("short", 10**9))]
        for one in made:
            one.file.parent.mkdir(parents=True, exist_ok=True)
            one.file.write_bytes(data)
            one.file.with_name(".dream_cursor").write_text("37")
        return made

    return of


class Archive:
    """The archive of a workspace, which is long beyond its own size."""

    def __init__(self, workspace, most):
        self.file = workspace / "memory" / "history.jsonl"
        self._most = most
        self._history = None

    @contextlib.contextmanager
    def open(self):
        """It, where an archive is long beyond that size."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(archive, "WHOLE", self._most)
            self._history = self._history or History(find_workspace(self.file.parent.parent, starting=True))
            yield self._history


def asked(one):
    """What there is to ask."""
    with one.open() as history:
        return answers(history)


def answers(history):
    every = [1, 7, 38, 90, 119, 120, 500]
    return {
        "count": history.count(),
        "pages": [history.entries(limit=11, offset=at) for at in (0, 5, 40, 100, 115, 300)],
        "of": history.entries_of(every),
        "between": [history.read_between(a, b) for a, b in ((0, 5), (30, 64), (118, 400))],
        "lowest": history.lowest,
        "around": [history.neighbours(one) for one in history.entries_of([1, 2, 60, 119, 120]).values()],
        "found": [history.search(query, 30) for query in QUERIES],
        "problems": [one for one in history.problems() if one.severity != "note"],
    }


def test_it_answers_as_one_that_is_held(history):
    long, short = history(b"".join(lines(120)))
    assert asked(long) == asked(short)
    with short.open() as held:
        entries = held.in_order()
    with long.open() as history:
        assert history.older > 60
        assert history.in_order() == entries[history.older :]


def test_with_lines_that_cannot_be_read_and_cursors_that_go_back(
    history,
):
    every = lines(120)
    every[20:20] = [b"torn {\n", b"\n", b'{"cursor": "x", "timestamp": "t", "content": "c"}\n']
    every[80:80] = [dump_entry(entry(12)), b'{"cursor": 3000, "content": "no time"}\n']
    every.append(b'{"cursor": 121, "timestamp": "2026-05-01 10:00", "content": "no newline"}')
    long, short = history(b"".join(every))
    told, wanted = asked(long), asked(short)
    # A long archive goes by numbers alone: the entry 12 that stands behind others counts as read there.
    assert told["count"].pop("unprocessed") == wanted["count"].pop("unprocessed") - 1
    assert {(one.line, one.severity) for one in told.pop("problems")} >= {
        (one.line, one.severity) for one in wanted.pop("problems") if "twice" not in one.what
    }
    assert told == wanted


def test_what_is_added_is_seen_without_looking_through_all_again(history, monkeypatch):
    every = lines(120)
    long, short = history(b"".join(every[:100]))
    for one in (long, short):
        with one.open() as read:
            assert read.count()["entries"] == 100
    looked = []
    survey = archive.survey_lines

    def counted(data, *more):
        looked.append(len(data))
        return survey(data, *more)

    monkeypatch.setattr(archive, "survey_lines", counted)
    for one in (long, short):
        with one.file.open("ab") as file:
            file.write(b"".join(every[100:]))
    assert asked(long) == asked(short)
    assert sum(looked) < len(b"".join(every)) / 2
    long.file.write_bytes(b"".join(every[50:]))  # another file in its place
    short.file.write_bytes(b"".join(every[50:]))
    assert asked(long) == asked(short)


@given(st.lists(st.sampled_from("plain torn blank back late none".split()), max_size=40), st.integers(50, 900))
def test_of_any_lines_the_pieces_hold_the_same_entries(tmp_path_factory, kinds, size):
    made = {
        "plain": lambda n: dump_entry(entry(n)),
        "torn": lambda n: b'{"cursor": %d, "timest\n' % n,
        "blank": lambda _: b"\n",
        "back": lambda n: dump_entry(entry(max(1, n - 5))),
        "late": lambda n: json.dumps({"content": "c", "cursor": n, "timestamp": "t"}).encode() + b"\n",
        "none": lambda _: b'{"content": "c"}\n',
    }
    data = b"".join(made[kind](n) for n, kind in enumerate(kinds, 1))
    workspace = tmp_path_factory.mktemp("any") / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "memory" / "history.jsonl").write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archive, "WHOLE", 1)
        patch.setattr(archive, "NEWEST", 2)
        patch.setattr(files, "CHUNK", size)
        found = History(find_workspace(workspace, starting=True)).entries(limit=len(kinds))
    assert tuple(reversed(found)) == parse_history(data, "")[0]


def test_a_line_is_passed_by_only_where_it_cannot_hold_what_is_looked_for():
    wanted = matcher("left seat")
    assert wanted.may_be_in(b'{"content": "The SEAT on the Left"}')
    assert not wanted.may_be_in(b'{"content": "The seat"}')
    assert wanted.may_be_in('{"content": "ＳＥＡＴ ＬＥＦＴ"}'.encode())
    assert wanted.may_be_in(b'{"content": "\\uff33EAT on the left"}')


def test_a_dream_reads_on_where_it_is_and_counts_the_rest(sample_copy, small):
    workspace = sample_copy("nb035") / "home/.nanobot/workspace"
    memory = workspace / "memory"
    said = [HistoryEntry(n, "2026-05-01 10:00", f"We talked about the weather, {n}.") for n in range(1, 301)]
    every = map(dump_entry, said)
    (memory / "history.jsonl").write_bytes(b"".join(every))
    (memory / ".cursor").write_text("300")
    (memory / ".dream_cursor").write_text("100")
    with open_workspace(workspace) as ws:
        assert ws.dream.status()["unprocessed"] == 200
        done = ws.dream.run(max_batch_size=10)
        assert done.read == 10
        assert ws.dream.status()["unprocessed"] == 190
        assert (memory / ".dream_cursor").read_text().strip() == "110"
        assert [one for one in ws.doctor() if one.severity == "error"] == []
