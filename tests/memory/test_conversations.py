"""Recall in what was said and noted: which passages, in which order, with what around them, and within which bounds."""

import gc
import json
import os
import shutil
import time
import tracemalloc

import pytest

from nanomem_tui import open_workspace
from nanomem_tui.agents.session_names import key_to_name
from nanomem_tui.language.cues import asked_speaker, waits_for
from nanomem_tui.memory.filters import matcher, with_neighbours
from nanomem_tui.memory.recall import conversations, passages
from nanomem_tui.memory.recall.conversations import nearest_wanted

PUPPY = (
    ("user", "Where did you find the puppy adoption papers?"),
    ("assistant", "In the blue folder, under the passports."),
    ("user", "Thanks, I would never have looked there."),
)
CHINESE = (("user", "房租每个月五号交给房东王先生"), ("assistant", "好的"), ("user", "周末去爬山"))
THAI = (("user", "ฉันชอบที่นั่งริมหน้าต่างบนเครื่องบิน"), ("assistant", "รับทราบ"), ("user", "พรุ่งนี้ฝนตก"))
JAPANESE = (("user", "窓側の席が好きです"), ("assistant", "わかりました"))
FILLER = tuple(("user" if n % 2 else "assistant", f"nothing about number {n} at all") for n in range(30))


class Home:
    """A workspace with transcripts, an archive and notes of the test's own."""

    def __init__(self, workspace):
        self.workspace = workspace
        self.sessions = workspace / "sessions"
        self.memory = workspace / "memory"
        self.sessions.mkdir(parents=True)
        self.memory.mkdir()

    def path(self, key):
        return self.sessions / key_to_name(key)

    def talk(self, key, talk, day="2026-03-01", **more):
        lines = [{"_type": "metadata", "key": key, "created_at": f"{day}T10:00:00", "metadata": {}}]
        lines += [
            {"role": role, "content": text, "timestamp": f"{day}T10:{number // 60:02d}:{number % 60:02d}", **more}
            for number, (role, text) in enumerate(talk)
        ]
        self.path(key).write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        return self.path(key)

    def archive(self, *contents):
        entries = [
            {"cursor": n, "timestamp": "2026-01-02 03:04", "content": text} for n, text in enumerate(contents, 1)
        ]
        (self.memory / "history.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))

    def open(self):
        return open_workspace(self.workspace)


@pytest.fixture
def home(tmp_path):
    found = Home(tmp_path / "workspace")
    found.talk("cli:filler", FILLER, "2026-02-01")
    return found


def ids(recalled):
    return [hit.id for hit in recalled.hits]


def test_an_answer_that_shares_no_word_with_the_question_is_found_by_what_was_asked_before_it(home):
    home.talk("telegram:7", PUPPY)
    with home.open() as ws:
        hits = ws.conversations.recall("where are the papers of the puppy adoption").hits
    answer = next(hit for hit in hits if hit.id == "telegram:7#1")
    assert hits.index(answer) < 2
    assert answer.parts["terms"] == []
    assert answer.parts["near"] > 0.5
    assert [one.text for one in answer.before] == [PUPPY[0][1]]
    assert [(one.id, one.role) for one in answer.after] == [("telegram:7#2", "user")]
    assert (answer.source, answer.key, answer.number, answer.role) == ("sessions", "telegram:7", 1, "assistant")
    assert answer.at == "2026-03-01T10:00:01"
    assert answer.score == pytest.approx(sum(part for part in answer.parts.values() if isinstance(part, float)))


def test_a_typo_is_corrected_and_the_words_that_were_meant_are_told(home):
    home.talk("telegram:7", PUPPY)
    with home.open() as ws:
        hits = ws.conversations.recall("pupy adoptoin").hits
    assert sorted(hit.id for hit in hits[:2]) == ["telegram:7#0", "telegram:7#1"]
    asking = next(hit for hit in hits if hit.number == 0)
    assert {"puppi", "adopt"} <= set(asking.parts["terms"])


@pytest.mark.parametrize(
    ("talk", "question"),
    [(CHINESE, "我什么时候交房租?"), (THAI, "ที่นั่งริมหน้าต่าง"), (JAPANESE, "好きな席はどこですか")],
    ids=["Chinese", "Thai", "Japanese"],
)
def test_scripts_without_spaces_are_found_with_their_neighbours(home, talk, question):
    home.talk("telegram:7", talk)
    with home.open() as ws:
        best = ws.conversations.recall(question).hits[0]
    assert (best.id, best.text) == ("telegram:7#0", talk[0][1])
    assert best.after[0].text == talk[1][1]


def test_every_source_is_recalled_or_only_those_that_are_named(home):
    home.talk("telegram:7", (("user", "the zebra crossed the river"),))
    home.archive(
        "- [durable] Ann has a dog", "- [durable] Bob paints\n- [durable] Bob saw a zebra\n- [durable] Bob left"
    )
    (home.memory / "2026-01-05.md").write_text("# Day\n\nfed the zebra\n\nslept\n")
    with home.open() as ws:
        every = ws.conversations.recall("zebra", limit=20)
        archive = next(hit for hit in every.hits if hit.source == "history")
        note = next(hit for hit in every.hits if hit.source == "notes" and hit.parts["terms"])
        assert {hit.source for hit in every.hits} == {"sessions", "history", "notes"}
        assert [hit.source for hit in ws.conversations.recall("zebra", ["notes"], 1).hits] == ["notes"]
    assert (archive.id, archive.number, archive.text, archive.place) == ("2", 2, "Bob saw a zebra", "2:2:1")
    assert [one.text for one in archive.before] == ["Ann has a dog", "Bob paints"]
    assert (note.id, note.key, note.number) == ("2026-01-05.md:3", "2026-01-05.md", 3)
    assert (note.text, note.at) == ("fed the zebra", "2026-01-05")
    assert [one.text for one in note.before] == ["# Day"]


def test_an_entry_of_the_archive_comes_once_by_its_best_line(home):
    home.archive("- zebra food\n- zebra water\n- the zebra sleeps", "- a zebra")
    with home.open() as ws:
        assert sorted(ids(ws.conversations.recall("zebra", ["history"]))) == ["1", "2"]


def test_what_was_found_already_is_left_out(home):
    home.talk("telegram:7", PUPPY)
    with home.open() as ws:
        rest = ids(ws.conversations.recall("puppy adoption", limit=2, without={"telegram:7#0"}))
    assert rest == ["telegram:7#1", "telegram:7#2"]


def test_tools_hidden_messages_and_dreams_are_no_passages(home):
    home.talk("telegram:7", (("tool", "zebra"), ("system", "zebra"), ("user", "  "), ("user", "a zebra")))
    home.talk("telegram:8", (("user", "hidden zebra"),), _hidden_history=True)
    home.talk("dream:20260301-040000", (("user", "zebra of the archive"),))
    with home.open() as ws:
        assert ids(ws.conversations.recall("zebra")) == ["telegram:7#3"]
        assert len(ws.sessions.search("zebra")) == 5, "they are found by their words"


def test_a_long_silence_ends_what_is_near(home):
    path = home.talk("telegram:7", (("user", "the zebra ran"),), "2026-03-01")
    later = home.talk("telegram:x", (("assistant", "good morning"),), "2026-03-09").read_bytes().splitlines()[1]
    home.path("telegram:x").unlink()
    path.write_bytes(path.read_bytes() + later + b"\n")
    with home.open() as ws:
        (hit,) = ws.conversations.recall("zebra").hits
    assert (hit.id, hit.after) == ("telegram:7#0", ())


@pytest.mark.parametrize(
    ("question", "role"),
    [
        ("what did I say about the seat", "user"),
        ("which seat does the user like", "user"),
        ("what did you recommend", "assistant"),
        ("我上次说了什么", "user"),
        ("你推荐了哪家店", "assistant"),
        ("user table migration", ""),
        ("what did I say when you suggested it", ""),
    ],
)
def test_a_question_tells_whose_words_it_asks_for(question, role):
    assert asked_speaker(question) == role


def test_whose_words_are_asked_for_come_first(home):
    home.talk("telegram:7", (("user", "green tea is best"), *FILLER[:6], ("assistant", "green tea is best")))
    with home.open() as ws:
        assert ws.conversations.recall("what did I say about green tea").hits[0].role == "user"
        assert ws.conversations.recall("what did you say about green tea").hits[0].role == "assistant"
        assert ws.conversations.recall("the user green tea table", limit=1).hits


# -- kept up to date ---------------------------------------------------------------------------------------------------


def test_what_was_written_since_is_found_and_what_was_cut_is_not(home):
    path = home.talk("telegram:7", PUPPY)
    whole = path.read_bytes()
    with home.open() as ws:
        recall = ws.conversations.recall
        assert recall("zebra").hits == ()
        home.talk("telegram:7", (*PUPPY, ("user", "a zebra")))
        assert ids(recall("zebra"))[0] == "telegram:7#3"
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(lines[0] + b"".join(lines[3:]))
        assert ids(recall("zebra"))[0] == "telegram:7#1"
        assert all(hit.key != "telegram:7" or hit.number < 2 for hit in recall("papers of the puppy").hits)
        path.unlink()
        assert recall("zebra").hits == ()
        path.write_bytes(whole)
        assert "telegram:7#0" in ids(recall("puppy"))


def test_other_sources_are_renewed_too(home):
    with home.open() as ws:
        assert ws.conversations.recall("zebra").hits == ()
        home.archive("- a zebra")
        assert ids(ws.conversations.recall("zebra")) == ["1"]
        (home.memory / "2026-01-05.md").write_text("a zebra too\n")
        assert sorted(ids(ws.conversations.recall("zebra"))) == ["1", "2026-01-05.md:1"]
        home.archive("- a horse")
        assert ids(ws.conversations.recall("zebra")) == ["2026-01-05.md:1"]


def test_nothing_is_read_again_while_nothing_changed(home, monkeypatch):
    home.talk("telegram:7", PUPPY)
    with home.open() as ws:
        before = ids(ws.conversations.recall("puppy"))
        monkeypatch.setattr(type(ws.sessions), "end_of", None)
        assert ids(ws.conversations.recall("puppy")) == before


@pytest.mark.slow
def test_a_transcript_that_changes_all_the_time_takes_no_more_room(home):
    def held(ws):
        """Bytes that come to be held by asking."""
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        ws.conversations.recall("number")
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before

    tracemalloc.start()
    with home.open() as ws:
        grown = 0
        for number in range(80):
            home.talk("telegram:7", tuple((role, f"{text} {number}") for role, text in FILLER))
            grown += held(ws)
        tracemalloc.stop()
        assert grown < 2_000_000, "it is several times as much where what is gone is still held"
        assert ids(ws.conversations.recall("79", ["sessions"], 1))[0].startswith("telegram:7#")


def test_who_no_longer_waits_gets_nothing_and_the_next_gets_all(home):
    home.talk("telegram:7", (*(("user", f"word {n}") for n in range(500)), ("user", "the zebra")))
    with home.open() as ws:
        for _ in range(3):  # each goes a little further
            answers = iter([False] + [True] * 9)
            assert ws.conversations.recall("zebra", stop=answers.__next__).hits == ()
        assert ids(ws.conversations.recall("zebra"))[0] == "telegram:7#500"


# -- bounds ------------------------------------------------------------------------------------------------------------


def test_the_newest_sessions_are_kept_and_the_others_are_said(home, monkeypatch):
    monkeypatch.setattr(passages, "MOST_PASSAGES", 40)
    monkeypatch.setattr(passages, "STRIDE", 10)
    for number in range(5):
        path = home.talk(f"telegram:{number}", (*FILLER[:19], ("user", f"zebra {number}")))
        stamp = time.time() - 1_000 + 100 * number
        _touch(path, stamp)
    _touch(home.path("cli:filler"), time.time() - 9_000)
    with home.open() as ws:
        found = ws.conversations.recall("zebra", ["sessions"])
        assert {hit.key for hit in found.hits if hit.parts["terms"]} == {"telegram:4", "telegram:3"}
        assert found.left_out == ("4 older sessions",)
        assert len(ws.sessions.search("zebra")) == 5
        _touch(home.path("telegram:0"), time.time())
        hits = ws.conversations.recall("zebra", ["sessions"]).hits
        assert {hit.key for hit in hits if hit.parts["terms"]} == {"telegram:4", "telegram:0"}


def test_of_a_long_session_its_end_is_read_with_the_right_numbers(home, monkeypatch):
    monkeypatch.setattr(conversations, "MOST_BYTES", 4_000)
    home.talk("telegram:7", (("user", "a horse"), *FILLER * 10, ("user", "a zebra"), ("assistant", "striped")))
    for known in (False, True):
        with home.open() as ws:
            if known:
                ws.sessions.list()
            found = ws.conversations.recall("zebra")
            assert found.left_out == ("the beginning of 1 long session",)
            assert ids(found)[0] == "telegram:7#301"
            assert ws.sessions.get("telegram:7").messages[301].content == "a zebra"
            assert "telegram:7#0" not in ids(ws.conversations.recall("horse"))


def test_a_transcript_that_cannot_be_read_has_nothing_to_find(home):
    home.talk("telegram:7", PUPPY)
    home.path("telegram:8").mkdir()
    home.path("telegram:9").symlink_to(home.path("telegram:7"))
    home.path("telegram:10").write_bytes(b'\x00\xff{"role": "user"\n{"role": "user", "content": "a zebra"}\n')
    with home.open() as ws:
        assert ids(ws.conversations.recall("zebra")) == ["telegram:10#0"]


def test_no_words_no_limit_and_no_workspace_of_that_kind_find_nothing(home):
    shutil.rmtree(home.sessions)
    with home.open() as ws:
        assert ws.conversations.recall("").hits == ()
        assert ws.conversations.recall("zebra", limit=0).hits == ()
        assert ws.conversations.recall("zebra").hits == ()


# -- what follows an exact search --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "found", "wanted"),
    [
        ("window seat", 0, None),
        ("window seat", 3, conversations.FEW),
        ("window", 3, 0),
        ("window", 0, None),
        ('"window seat"', 0, 0),
        ("window -aisle", 0, 0),
        ("", 0, 0),
    ],
)
def test_how_many_follow(query, found, wanted):
    assert nearest_wanted(matcher(query), found) == wanted


def test_exact_hits_of_every_source_know_what_is_around_them(home):
    home.talk("telegram:7", PUPPY)
    home.archive("one", "two", "three zebras", "four")
    (home.memory / "2026-01-05.md").write_text("first\n\nzebra\nlast\n")
    with home.open() as ws:
        (hit,) = ws.sessions.search("blue folder")
        before, after = ws.history.neighbours(ws.history.get(3))
        beside = ws.notes.neighbours("2026-01-05.md", 3)
    assert [one.text for one in (*hit.before, *hit.after)] == [PUPPY[0][1], PUPPY[2][1]]
    assert ([one.cursor for one in before], [one.cursor for one in after]) == ([1, 2], [4])
    assert beside == ([("2026-01-05.md", 1, "first")], [("2026-01-05.md", 4, "last")])


def test_windows_over_a_stream_have_both_ends():
    windows = [(value, list(window)) for value, window in with_neighbours([1, 2, 3], 2)]
    assert windows == [(1, [None, None, 1, 2, 3]), (2, [None, 1, 2, 3, None]), (3, [1, 2, 3, None, None])]
    assert list(with_neighbours([])) == []


def _touch(path, moment):
    os.utime(path, (moment, moment))


@pytest.mark.parametrize(
    ("question", "months"),
    [
        ("what did we do in Novemqber?", {11}),
        ("the trip in ootober 2023", {10}),
        ("Deecmber parties", {12}),
        ("the january sale", {1}),
        ("a member of the octet", set()),
        ("embers in the chamber", set()),
    ],
)
def test_a_month_with_a_slip_is_that_month(question, months):
    assert waits_for(question).months == months
